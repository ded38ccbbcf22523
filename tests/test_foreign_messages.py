"""Messages of other formats as input: the same meaning on every wire as if that wire's own decoder had read a request."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from llm_rest import ConfigError, LossError, LossWarning, Message, from_messages, image, to_messages, user, wires
from llm_rest.client.inputs import read_request
from llm_rest.errors import DecodeError
from llm_rest.responses import AnyItem, FunctionCall, FunctionCallOutput, InputImage, InputText, Reasoning, Request
from llm_rest.wires.message_formats import part_formats
from tests.callers import NewClient
from tests.support import WIRES
from tests.support.counting import steps
from tests.test_imports import fresh

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

DOCUMENTS = json.loads((Path(__file__).parent / "documents" / "messages.json").read_text())
HISTORIES: dict[str, dict[str, list[Any]]] = DOCUMENTS["histories"]
CHAT = HISTORIES["openai_chat"]
TURNS: dict[str, list[Any]] = DOCUMENTS["turns"]
"""Conversations whose last message has a document as its second part."""

pytestmark = pytest.mark.anyio

CASES = [(wire, case) for wire, cases in HISTORIES.items() for case in cases]
FIELD = {"openai_responses": "input", "gemini_generate_content": "contents"}


def default_dialect(wire: str) -> Any:
    """The dialect of the vendor that a wire is named after."""
    return inspect.signature(wires.load(wire).encode_request).parameters["dialect"].default


def read(input: Any, target: str = "openai_responses") -> list[AnyItem]:
    """The items that an input is for a host of this wire."""
    request, lost, _ = read_request(input, {}, lambda: (target, default_dialect(target)))
    assert lost == []
    assert isinstance(request.input, list)
    return request.input


def sent(items: list[Any], wire: str) -> tuple[Any, set[tuple[str, str]]]:
    """What a wire sends for items, and what it loses."""
    body, lost = wires.load(wire).encode_request(Request(model="m", input=items))
    return msgspec.json.decode(msgspec.json.encode(body)), {(loss.path, loss.kind) for loss in lost}


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize(("wire", "case"), CASES)
def test_messages_reach_every_wire_as_their_own_decoder_reads_a_request(wire: str, case: str, target: str) -> None:
    """B5."""
    messages = HISTORIES[wire][case]
    own = wires.load(wire)
    body = {FIELD.get(wire, "messages"): messages, "model": "m", "max_tokens": 1}
    whole, _ = own.decode_request(own.REQUEST.decode(msgspec.json.encode(body)))
    assert isinstance(whole.input, list)
    expected = [*([Message(role="system", content=whole.instructions)] if whole.instructions else []), *whole.input]
    assert sent(read(messages, target), target) == sent(expected, target)


@pytest.mark.parametrize("target", WIRES)
def test_flat_rows_reach_every_wire(target: str) -> None:
    call = {"toolId": "c1", "toolName": "weather"}
    rows: list[dict[str, Any]] = [
        {"role": "human", "content": "Weather?"},
        {"role": "agent", "content": "Let me see.", "reasoning": "A tool."},
        {"role": "agent", "content": "", **call, "toolInput": {"city": "Oslo"}},
        {"role": "tool", "content": "", **call, "toolResult": {"c": 4}},
        {"role": "agent", "content": "4 degrees."},
    ]
    items = [
        Message(role="user", content="Weather?"),
        Reasoning(summary=[msgspec.convert({"type": "summary_text", "text": "A tool."}, Any)]),
        Message(role="assistant", content="Let me see."),
        FunctionCall(call_id="c1", name="weather", arguments='{"city":"Oslo"}'),
        FunctionCallOutput(call_id="c1", output='{"c":4}'),
        Message(role="assistant", content="4 degrees."),
    ]
    columns = dict.fromkeys(["reasoning", "toolId", "toolName", "toolInput", "toolResult"])
    found = read([{**columns, **row} for row in rows], target)
    assert msgspec.to_builtins(found) == msgspec.to_builtins(items)


# --- lists of several formats ---------------------------------------------------------------------------------------

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}


def plain(items: list[AnyItem]) -> list[Any]:
    """Items as plain values, without what describes the document they came in."""
    found = msgspec.to_builtins(items)
    for item in found:
        item.pop("leftovers", None)
    return found


def test_a_list_may_mix_formats_items_strings_and_parts() -> None:
    found = read(
        (
            Message(role="developer", content="Be brief."),
            "What is this?",
            image(f"data:image/png;base64,{PNG}"),
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "4"},
            FunctionCall(call_id="r1", name="f", arguments="{}"),
            {"type": "function_call_output", "call_id": "r1", "output": {"celsius": 4}},
            {"role": "assistant", "content": [USE]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "5"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            "And now?",
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "6"}}}]},
            {"role": "agent", "toolId": "z1", "toolName": "f", "toolInput": {}},
            {"role": "tool", "toolId": "z1", "toolResult": "7"},
        )
    )
    calls = [(item.call_id, item.name) for item in found if isinstance(item, FunctionCall)]
    outputs = [(item.call_id, item.output) for item in found if isinstance(item, FunctionCallOutput)]
    assert [name for _, name in calls] == ["f"] * 5
    assert [call for call, _ in calls] == [call for call, _ in outputs]
    assert [output for _, output in outputs] == ["4", '{"celsius":4}', "5", "6", "7"]
    assert plain(found[:2]) == [
        {"type": "message", "role": "developer", "content": "Be brief."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
            ],
        },
    ]


def test_calls_and_results_of_one_format_pair_across_other_messages() -> None:
    """Gemini pairs by name and order, over all messages between."""
    call = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    result = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]}
    found = read([call, "Wait.", result, call, result])
    ids = [item.call_id for item in found if isinstance(item, FunctionCall | FunctionCallOutput)]
    assert len(set(ids)) == 2
    assert ids[0] == ids[1]
    assert ids[2] == ids[3]


def test_paths_are_images_and_files_inside_a_message_too(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    picture, paper = tmp_path / "a.png", tmp_path / "a.pdf"
    inputs: dict[tuple[str, ...], list[Any]] = {
        ("text", "image", "file"): [["See:", picture, paper], {"role": "user", "content": ("See:", picture, paper)}],
        ("text", "image"): [{"role": "user", "content": "See:", "images": [picture]}],
        ("image",): [picture],
    }
    for kinds, written in inputs.items():
        for input in written:
            (found,) = plain(read(input))
            assert [part["type"] for part in found["content"]] == [f"input_{kind}" for kind in kinds]
    with pytest.raises(ConfigError, match=r"input\[0\]\.content\[1\].*no file"):
        read([{"role": "user", "content": ["See:", tmp_path / "missing.png"]}])


def test_objects_of_sdks_are_read() -> None:
    anthropic = pytest.importorskip("anthropic")
    openai = pytest.importorskip("openai")
    block = anthropic.types.ToolUseBlock(type="tool_use", id="t1", name="f", input={})
    answer = {"id": "msg_1", "model": "m", "stop_reason": "end_turn", "stop_sequence": None}
    usage = anthropic.types.Usage(input_tokens=1, output_tokens=1)
    text = anthropic.types.TextBlock(type="text", text="Hi", citations=None)
    whole = anthropic.types.Message(**answer, type="message", role="assistant", content=[text, block], usage=usage)
    said = openai.types.chat.ChatCompletionMessage.model_validate({"role": "assistant", "tool_calls": [CALL]})
    found = read(["Hi", {"role": "assistant", "content": [block]}, said, whole])
    assert [item.call_id for item in found if isinstance(item, FunctionCall)] == ["t1", "c1", "t1"]
    body, _ = sent(found, "anthropic_messages")
    assert {name for message in body["messages"] for name in message} == {"role", "content"}


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_data_as_the_output_of_a_call_is_its_json_text(kind: str) -> None:
    """B5. responses.request_back.20"""
    texts: dict[str, Any] = {'{"a":1}': {"a": 1}, "[1,2]": [1, 2], '[{"a":1}]': [{"a": 1}], "4": 4, "true": True}
    found = plain(read([{"type": kind, "call_id": "c", "output": output} for output in texts.values()]))
    assert [item["output"] for item in found] == [*texts]
    (found,) = plain(read([{"role": "tool", "tool_call_id": "c", "content": {"a": 1}}]))
    assert found["output"] == '{"a":1}'


def test_reading_is_linear_in_the_number_of_messages() -> None:
    mixed = [message for cases in HISTORIES.values() for message in cases["calls"]]
    mixed += ["And?", {"role": "tool", "content": "4"}, {"type": "text", "text": "Hm."}]
    assert steps(lambda: read(mixed * 40)) < 4.5 * steps(lambda: read(mixed * 10))


# --- every way of calling -------------------------------------------------------------------------------------------


async def test_a_run_reports_repairs_of_its_messages(new_client: NewClient) -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    async with new_client(on_loss="raise") as llm:
        with pytest.raises(LossError, match=r"input\[0\]\.tool_calls\[0\]: it had no id"):
            await llm.generate_with_tools([{"role": "assistant", "tool_calls": [call]}, "Hi"], [])


# --- what cannot be read --------------------------------------------------------------------------------------------

IMAGE = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
REFUSED: list[tuple[Any, str]] = [
    ({"role": "user", "content": ["a", IMAGE, {"type": "image", "source": {}}]}, r"\[1\]: holds marks of two formats"),
    ({"role": "user", "content": [IMAGE], "parts": [{"text": "a"}]}, r"\[1\]: holds marks of two formats"),
    ({"role": "tool", "content": [USE]}, r"\[1\]: holds marks of two formats"),
    ({"role": "user", "content": [{"type": "input_text", "text": "a"}, IMAGE]}, r"\[1\]: holds marks of two formats"),
    ({"role": "user", "content": [{"type": "video", "video": "a"}]}, r"\[1\]\.content\[0\]: no format"),
    ({"role": "user", "content": [{"text": "a"}]}, r"\[1\]\.content\[0\]: expected a part with a type"),
    ({"role": "user", "content": [IMAGE, {"type": "image_url"}]}, r"\[1\]\.content\[1\]: not a message of Chat"),
    ({"role": "user", "content": [IMAGE, {"type": "hologram"}]}, r"\[1\]\.content\[1\]: Chat Completions has no part"),
    ({"role": "user", "content": [{"type": "image", "image": "a"}]}, r"\[1\]\.content\[0\]\.source: expected"),
    ({"role": "user", "content": [{"type": "thinking", "thinking": "a"}]}, r"\[1\]\.content\[0\]: a thinking block"),
    ({"role": "critic", "content": [IMAGE]}, r"\[1\]\.role: expected a role"),
    ({"role": "assistant", "tool_calls": [{"name": "f", "args": {}, "id": "c"}]}, r"\[1\]\.tool_calls\[0\]: expected"),
    ({"role": "model", "content": "Hi"}, r"\[1\]: a message of the role model has parts"),
    ({"role": "model", "parts": [{"text": "a"}, {"hologram": 1}]}, r"\[1\]\.parts\[1\]: expected one of text"),
    ({"role": "user", "parts": [{"type": "text", "text": "a"}]}, r"\[1\]\.parts\[0\]: expected one of text"),
    ({"parts": [{"inlineData": {"data": "AA=="}}]}, r"\[1\]\.parts\[0\]\.inlineData: expected mimeType and data"),
    ({"role": "user", "content": "a", "images": ["./photo.png"]}, r"\[1\]\.images\[0\]: expected the bytes"),
    ({"role": "agent", "toolName": "f", "toolInput": {}}, r"\[1\]\.toolId: expected the id of the call"),
    ({"type": "human", "content": "Hi"}, r"\[1\]: no format has an item of type 'human'"),
    ({"type": "function_call_output", "call_id": "c", "output": [IMAGE]}, r"\[1\]\.output\[0\]: a part of Chat"),
    ({"role": "user", "content": [{"type": "video_url", "video_url": {"url": "a"}}]}, r"\[1\]\.content\[0\]: a part"),
    (b"Hi", r"\[1\]: expected a text, a part, an item or a message, got bytes"),
]


def test_what_cannot_be_read_is_refused_with_its_place() -> None:
    """B5."""
    for entry, place in REFUSED:
        with pytest.raises(ConfigError, match=rf"^input{place}"):
            read(["Hi", entry], "anthropic_messages")


def test_columns_that_no_message_has_are_a_loss() -> None:
    row = {"role": "agent", "content": "Hi", "toolId": None, "createdAt": "2026-11-22"}
    _, lost, _ = read_request([row], {})
    assert [(loss.path, loss.kind) for loss in lost] == [("input[0].createdAt", "dropped")]


def test_a_converter_is_loaded_only_for_a_message_of_its_format() -> None:
    program = (
        "import sys\n"
        "from llm_rest.client.inputs import read_request\n"
        "loaded = lambda: {name.split('.')[2] for name in sys.modules if name.startswith('llm_rest.wires.')}\n"
        "read_request(['Hi', {'role': 'user', 'content': [{'type': 'text', 'text': 'Hi'}]}], {})\n"
        "before = loaded()\n"
        "read_request([{'role': 'tool', 'tool_call_id': 'c', 'content': 'Hi'}], {})\n"
        "print(*before & {*WIRES}, *(loaded() & {*WIRES}))\n"
    )
    assert fresh(f"WIRES = {WIRES!r}\n{program}") == "openai_chat"


def test_the_blocks_of_anthropic_are_known() -> None:
    types = importlib.import_module("llm_rest.wires.anthropic_messages.types")
    blocks = {
        arm.__struct_config__.tag for arm in get_args(get_args(types.AnyBlock)[0]) if hasattr(arm, "__struct_config__")
    }
    assert {name for name in blocks if "anthropic_messages" not in (part_formats({"type": name}) or ())} == set()


# --- by name --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wire", "case"), CASES)
def test_messages_become_items_and_messages_again(wire: str, case: str) -> None:
    messages = HISTORIES[wire][case]
    items = from_messages(messages, wire=wire)
    again = to_messages(items, wire=wire)
    assert sent(from_messages(again, wire=wire), wire) == sent(items, wire)
    assert plain(from_messages(again, wire=wire)) == plain(items)


def test_a_system_message_is_the_first_message() -> None:
    items: list[AnyItem] = [Message(role="system", content="Be brief."), Message(role="user", content="Hi")]
    for wire in WIRES:
        messages = to_messages(items, wire=wire)
        assert len(messages) == 2
        assert "Be brief." in json.dumps(messages[0])
        assert plain(from_messages(messages, wire=wire))[1]["role"] == "user"


def test_content_that_messages_cannot_hold_is_reported() -> None:
    with pytest.raises(ConfigError, match="file"):
        to_messages([user("See:", InputImage(file_id="file-1"))], wire="openai_chat")
    with pytest.warns(LossWarning, match="detail"):
        to_messages([user(InputImage(image_url=f"data:image/png;base64,{PNG}", detail="low"))], wire="ollama_chat")
    with pytest.raises(DecodeError, match=r"^messages\[0\]\.content\[0\]: Chat Completions has no part"):
        from_messages([{"role": "user", "content": [{"type": "hologram"}]}])
    with pytest.raises(KeyError, match="no wire 'chat'"):
        from_messages([], wire="chat")


# --- outputs that name the item of their call (A9) ------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_an_output_that_names_the_item_of_its_call_is_paired(wire: str) -> None:
    """A9. responses.request.40"""
    call = FunctionCall(id="fc_1", call_id="call_1", name="f", arguments="{}")
    wrong, right = (
        [Message(role="user", content="Hi"), call, FunctionCallOutput(call_id=id, output="4")]
        for id in ("fc_1", "call_1")
    )
    body, lost = sent(wrong, wire)
    expected, fewer = sent(right, wire)
    assert body == expected
    assert lost - fewer == {("input[2].call_id", "changed")}
    assert msgspec.to_builtins(wrong[2])["call_id"] == "fc_1", "the caller's own item stays as it is"


# --- places --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["anthropic", "chat", "gemini"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_loss_of_the_request_names_the_entry_of_the_caller(
    format: str, streamed: bool, new_client: NewClient
) -> None:
    """Messages before it became several items each."""
    turns = TURNS[format]
    async with new_client("ollama/m", on_loss="raise") as llm:

        async def ask() -> None:
            await (llm.stream(turns).__aenter__() if streamed else llm.generate(turns))

        with pytest.raises(LossError) as caught:
            await ask()
    paths = [loss.path for loss in caught.value.losses if "content" in loss.path]
    assert paths == [f"input[{len(turns) - 1}].content[1]"]


def test_entries_that_become_one_message_keep_their_places() -> None:
    entries = ["Hi", image("https://a.b/c.png"), TURNS["anthropic"][1], "And?", InputText(text="So?")]
    _, _, origins = read_request(entries, {"model": "m"})
    assert origins is not None
    assert [origins.path(f"input[{i}].content[{j}].x") for i, j in ((0, 0), (0, 1), (1, 0), (2, 0), (4, 1))] == [
        "input[0].x",
        "input[1].x",
        "input[2]",
        "input[2]",
        "input[4].x",
    ]


# --- a call and its result in one flat row --------------------------------------------------------------------------

MOVE = {
    "role": "agent",
    "reasoning": "I look it up.",
    "toolId": "search",
    "toolInput": {"q": "a"},
    "toolResult": {"n": 1},
}


@pytest.mark.parametrize("target", WIRES)
def test_a_row_with_a_call_and_its_result_needs_no_call_id(target: str) -> None:
    ends = [{"role": "agent", "content": "Done."}, {"role": "user", "content": "And now?"}]
    history = [{"role": "user", "content": "Go."}, MOVE, MOVE, *ends]
    found = read(history, target)
    calls = [item for item in found if isinstance(item, FunctionCall)]
    outputs = [item for item in found if isinstance(item, FunctionCallOutput)]
    assert [type(item).__name__ for item in found[1:4]] == ["Message", "FunctionCall", "FunctionCallOutput"]
    assert [(call.name, call.arguments) for call in calls] == [("search", '{"q":"a"}')] * 2
    assert [call.call_id for call in calls] == [output.call_id for output in outputs]
    assert len({call.call_id for call in calls}) == 2
    assert read(history, target) == found
    _, lost = wires.load(target).encode_request(Request(model="m", input=found, max_output_tokens=99))
    assert [loss for loss in lost if loss.kind != "emulated"] == []  # the signature of a foreign call


def test_the_reasoning_of_a_row_with_a_call_and_its_result_is_text_before_the_call() -> None:
    assert read([MOVE], WIRES[0])[0] == Message(role="assistant", content="I look it up.")


@pytest.mark.parametrize("target", WIRES)
def test_reasoning_that_no_vendor_issued_is_reported_as_dropped(target: str) -> None:
    rows = [{"role": "user", "content": "Go."}, {"role": "agent", "content": "Gone.", "reasoning": "Hm."}]
    found = read([*rows, {"role": "user", "content": "Again."}], target)
    _, lost = wires.load(target).encode_request(Request(model="m", input=found, max_output_tokens=99))
    assert {(loss.path, loss.kind) for loss in lost} == {("input[1]", "dropped")}


def test_a_row_with_a_call_that_has_neither_a_name_nor_a_result_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"toolName: expected the name of the tool"):
        read([{"role": "agent", "toolId": "search", "toolInput": {}}], WIRES[0])
