"""Documents of Ollama's clients as requests."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.errors import DecodeError
from llm_rest.losses import Loss
from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    InputAudio,
    InputImage,
    InputText,
    Message,
    Reasoning,
    ReasoningOptions,
    Request,
)
from llm_rest.wires import ollama_chat as wire
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.ollama import thought

HI = {"role": "user", "content": "Hi"}
PNG, WEBP, GIF, WAV, MP3 = (
    "iVBORw0KGgo=",
    "UklGRiQAAABXRUJQVlA4",
    "R0lGODlhAQ==",
    "UklGRiQAAABXQVZFZm10IA==",
    "SUQzBAAA",
)


def read(*messages: Any, **fields: Any) -> tuple[Request, list[Loss]]:
    document = json.dumps({"model": "m", "messages": list(messages), **fields}).encode()
    return wire.decode_request(wire.REQUEST.decode(document))


def items(*messages: Any) -> list[Any]:
    found = read(*messages)[0].input
    assert isinstance(found, list)
    return found


def comes_back(*messages: Any, **fields: Any) -> list[str]:
    """Where the document differs after a walk through Responses; empty where it is the same, and nothing was lost."""
    document = {"model": "m", "messages": list(messages), **fields}
    request, lost = wire.decode_request(wire.REQUEST.decode(json.dumps(document).encode()))
    body, more = wire.encode_request(request)
    told = [str(loss) for loss in [*lost, *more] if loss.kind not in ("changed", "refused")]
    return [*differences(document, plain(body)), *told]


def told_elsewhere(request: Request) -> set[str]:
    """What another wire, which has the usual options, says it could not take."""
    _, lost = wires.load("openai_chat").encode_request(request)
    return {f"{loss.path} ({loss.kind})" for loss in lost}


def calling(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls), **more}


def call(name: str = "f", arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": {} if arguments is None else arguments}, **more}


# --- messages -------------------------------------------------------------------------------------------------------


def test_the_first_system_message_is_the_instructions() -> None:
    """ollama.request_back.1"""
    request, _ = read({"role": "system", "content": "A"}, {"role": "system", "content": "B"}, HI)
    assert request.instructions == "A"
    assert isinstance(request.input, list)
    assert [(item.role, item.content) for item in request.input if isinstance(item, Message)] == [
        ("system", "B"),
        ("user", "Hi"),
    ]


@pytest.mark.parametrize(
    "messages",
    [
        (
            {"role": "system", "content": "A"},
            {"role": "system", "content": "B"},
            HI,
            {"role": "system", "content": "C"},
        ),
        ({"role": "system", "content": ""}, HI),
        ({"role": "system", "content": "A", "images": [PNG]}, HI),
        ({"role": "System", "content": "A"}, {"role": "USER", "content": "Hi"}, {"role": "Assistant", "content": "Ho"}),
        (HI, HI, {"role": "assistant", "content": "Ho"}, {"role": "assistant", "content": "Ho"}),
        (HI, {"role": "assistant"}, {"role": "user", "content": None}, {"role": "user", "content": ""}),
        (
            HI,
            {"role": "assistant", "content": "", "thinking": "Hm."},
            {"role": "assistant", "content": "", "thinking": ""},
        ),
        (HI, {"role": "assistant", "content": "a", "tool_calls": [], "new": {"x": 1}}),
        (HI, {"role": "assistant", "content": "a", "tool_calls": None, "thinking": None, "images": [PNG]}),
        ({"role": "user", "content": "Hi", "images": [], "new": 1}, {"role": "user", "images": [PNG, WAV]}),
        ({"role": "critic", "content": "Hm."},),
        (calling(call()), {"role": "assistant", "content": "then"}),
        (calling(call(arguments={"a": 1.0, "b": 12345678901234567890})), {"role": "tool", "content": "4"}),
        (
            calling(call(id=""), call(id="a", type="function")),
            {"role": "tool", "content": None},
            {"role": "tool", "images": []},
        ),
        (calling(call(id="a"), content=" \n"), {"role": "tool", "content": "4", "tool_call_id": "a", "new": 1}),
        (calling({"function": {"name": "f"}}), {"role": "tool", "content": "4", "tool_name": "g"}),
        (calling({"function": {"name": "f", "arguments": None, "index": 0, "new": 1}, "new": 2}),),
        (calling(call(arguments='{"a": 1.0}')), {"role": "Tool", "content": "4", "tool_name": "f"}),
        ({"role": "tool", "content": "4", "tool_name": "f", "tool_call_id": "x"}, {"role": "tool", "content": "5"}),
        (
            calling(call(id="a")),
            {"role": "tool", "content": "4"},
            calling(call(id="a")),
            {"role": "tool", "content": "5"},
        ),
        ({"role": "user", "content": "Hi", "tool_calls": [call(arguments={"a": 1.0})]},),
    ],
    ids=range(21),
)
def test_messages_come_back_as_they_came(messages: Any) -> None:
    """ollama.request_back.7"""
    assert comes_back(*messages) == []


def test_images_are_told_apart_by_their_bytes() -> None:
    """ollama.request_back.2"""
    (message,) = items(
        {"role": "user", "content": "Look", "images": [PNG, WEBP, GIF, "/9j/4AAQ", "AAAA", "?", WAV, MP3]}
    )
    text, *media = message.content
    assert text == InputText(text="Look")
    assert [str(part.image_url).partition(";")[0] for part in media if isinstance(part, InputImage)] == [
        f"data:{kind}"
        for kind in (
            "image/png",
            "image/webp",
            "image/gif",
            "image/jpeg",
            "application/octet-stream",
            "application/octet-stream",
        )
    ]
    assert [part.input_audio.format for part in media if isinstance(part, InputAudio)] == ["wav", "mp3"]


def test_an_assistant_message_is_thoughts_text_and_calls() -> None:
    """ollama.request_back.3, ollama.hard.7"""
    found = items({"role": "assistant", "content": "Let me see.", "thinking": "Hm.", "tool_calls": [call(id="a")]})
    thinking, said, asked = found
    assert isinstance(thinking, Reasoning)
    assert thinking == thought("Hm.", "ollama")
    assert thinking != thought("Hm.", "somebody-else")
    assert (said.role, said.content) == ("assistant", "Let me see.")
    assert asked == FunctionCall(call_id="a", name="f", arguments="{}")


def test_calls_without_an_id_get_one_from_their_place() -> None:
    """ollama.request_back.4, ollama.hard.1, ollama.hard.2"""
    conversation = (calling(call(), call()), {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"})
    one, other, first, second = items(*conversation)
    assert one.call_id != other.call_id
    assert [(item.call_id, item.output) for item in (first, second)] == [(one.call_id, "1"), (other.call_id, "2")]
    assert items(*conversation, HI)[:4] == [one, other, first, second], "a longer conversation has the same ids"


def test_a_second_call_of_one_id_gets_another() -> None:
    """ollama.request_back.4, ollama.hard.1"""
    turn = (calling(call(id="a")), {"role": "tool", "content": "4", "tool_call_id": "a"})
    request, lost = read(*turn, *turn)
    assert isinstance(request.input, list)
    calls = [item for item in request.input if isinstance(item, FunctionCall)]
    outputs = [item for item in request.input if isinstance(item, FunctionCallOutput)]
    assert [item.call_id for item in calls] == [item.call_id for item in outputs]
    assert len({item.call_id for item in calls}) == 2
    assert [(loss.path, loss.kind) for loss in lost] == [("messages[2].tool_calls[0]", "changed")]
    assert comes_back(*turn, *turn) == []


@pytest.mark.parametrize(
    ("arguments", "text", "changed"),
    [
        ({"b": 1, "a": 2}, '{"b": 1, "a": 2}', False),
        (None, "{}", False),
        ('{"a":1}', '{"a":1}', True),
        ("", "{}", True),
        ([1], "[1]", True),
    ],
)
def test_arguments_of_any_form_become_text(arguments: Any, text: str, changed: bool) -> None:
    """ollama.request_back.5, ollama.hard.14"""
    request, lost = read(calling({"function": {"name": "f", "arguments": arguments}}))
    assert isinstance(request.input, list)
    assert request.input[0].arguments == text  # pyright: ignore[reportAttributeAccessIssue]
    assert [loss.kind for loss in lost] == (["changed"] if changed else [])


def test_a_tool_message_is_paired_by_id_by_name_or_by_order() -> None:
    """ollama.request_back.6. BUGS 31"""
    found = items(
        calling(call("f", id="1"), call("g", id="2"), call("h", id="3")),
        {"role": "tool", "content": "third", "tool_call_id": "3", "tool_name": "f"},
        {"role": "tool", "content": "second", "tool_name": "g"},
        {"role": "tool", "content": "first"},
        {"role": "tool", "content": "nobody's"},
    )
    outputs = [(item.output, item.call_id) for item in found if isinstance(item, FunctionCallOutput)]
    assert outputs[:3] == [("third", "3"), ("second", "2"), ("first", "1")]
    assert outputs[3][1] not in ("1", "2", "3")


@pytest.mark.parametrize("ids", [(), ("1", "2", "3")], ids=["calls without ids", "calls with ids"])
def test_a_tool_message_with_an_id_of_no_call_answers_the_next_call_of_its_name_or_the_next(ids: Any) -> None:
    """Clients make up ids for calls that came without, and the server looks at none."""
    names = zip(("f", "g", "f"), ids or ("", "", ""), strict=True)
    messages = (
        HI,
        calling(*(call(name, **({"id": id} if id else {})) for name, id in names)),
        {"role": "tool", "content": "second", "tool_call_id": "x1", "tool_name": "g"},
        {"role": "tool", "content": "first", "tool_call_id": "x2"},
        {"role": "tool", "content": "third", "tool_call_id": "x3", "tool_name": "f"},
    )
    found = items(*messages)
    called = [item.call_id for item in found if isinstance(item, FunctionCall)]
    outputs = {item.call_id: item.output for item in found if isinstance(item, FunctionCallOutput)}
    assert outputs == dict(zip(called, ("first", "second", "third"), strict=True))
    for name in wires.NAMES:
        _, lost = wires.load(name).encode_request(read(*messages)[0])
        assert [loss for loss in lost if loss.kind == "refused"] == []


def test_results_in_another_order_are_written_in_the_order_of_the_calls() -> None:
    results = [{"role": "tool", "content": name, "tool_call_id": name} for name in "ba"]
    request, _ = read(calling(call(id="a"), call(id="b")), *results)
    body, lost = wire.encode_request(request)
    assert [message.content for message in body.messages or ()] == ["", "a", "b"]
    assert {loss.kind for loss in lost} == {"emulated"}


def test_images_of_earlier_turns_are_sent_again() -> None:
    """ollama.hard.11"""
    shown = {"role": "user", "content": "Look", "images": [PNG]}
    assert comes_back(shown, {"role": "assistant", "content": "A dot."}, shown) == []


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"stream": None, "format": None, "tools": None, "think": None, "options": None, "keep_alive": None},
        {"stream": False, "format": "", "tools": [], "options": {}, "keep_alive": 0, "truncate": None},
        {"stream": True, "format": "json", "think": False, "truncate": True, "shift": True},
        {"think": "extreme", "logprobs": False, "top_logprobs": 3, "_debug_render_only": True},
        {
            "think": True,
            "logprobs": True,
            "top_logprobs": 3,
            "truncate": False,
            "keep_alive": "1h30m",
            "temperature": 1,
        },
        {"format": {"type": "object"}, "options": {"num_predict": -1, "temperature": None, "stop": []}},
        {"options": {"num_predict": -2, "num_ctx": 4096.0, "mirostat": 2, "penalize_newline": True, "new": {"a": 1}}},
        {"options": {"num_predict": 5.5}, "format": "xml"},
        {"options": {"num_predict": 7, "top_k": 1, "seed": -1, "numa": False}},
        {"options": {"new": 1}, "new": 2},
    ],
    ids=range(11),
)
def test_options_come_back_as_they_came(fields: dict[str, Any]) -> None:
    """ollama.request_back.8, ollama.request_back.14"""
    assert comes_back(HI, **fields) == []


@pytest.mark.parametrize(
    "document", [b'{"model":"m"}', b'{"messages":[]}', b'{"messages":null,"model":"m","stream":true}']
)
def test_a_request_without_messages_comes_back(document: bytes) -> None:
    """ollama.request_back.7"""
    request, lost = wire.decode_request(wire.REQUEST.decode(document))
    assert (request.input, lost) == ([], [])
    assert plain(wire.encode_request(request)[0]) == json.loads(document)


def test_options_are_those_of_responses() -> None:
    """ollama.request_back.8"""
    request, _ = read(HI, options={"num_predict": 5, "top_k": 3, "stop": ["a"], "num_ctx": 9000, "min_p": 0.1})
    assert (request.max_output_tokens, request.top_k, request.stop) == (5, 3, ["a"])
    assert told_elsewhere(request) == {"options.num_ctx (dropped)", "options.min_p (dropped)", "top_k (dropped)"}
    request.max_output_tokens = request.top_k = request.stop = None
    assert plain(wire.encode_request(request)[0].options) == {"num_ctx": 9000, "min_p": 0.1}
    assert not read(HI, options={"num_predict": -1})[0].max_output_tokens


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        pytest.param({}, "stream", True, id="ollama.request_back.11"),
        pytest.param({"stream": False}, "stream", False, id="ollama.request_back.11-false"),
        pytest.param({"truncate": True}, "truncation", "auto", id="ollama.request_back.12"),
        pytest.param({"truncate": False}, "truncation", "disabled", id="ollama.request_back.12-false"),
        pytest.param({"logprobs": True}, "include", ["message.output_text.logprobs"], id="ollama.request_back.13"),
        pytest.param({"think": False}, "reasoning", ReasoningOptions(effort="none"), id="ollama.request_back.10"),
        pytest.param({"think": "max"}, "reasoning", ReasoningOptions(effort="max"), id="ollama.request_back.10-max"),
        pytest.param({"think": True}, "reasoning", ReasoningOptions(summary="auto"), id="ollama.request_back.10-true"),
    ],
)
def test_an_option_means(fields: dict[str, Any], name: str, value: Any) -> None:
    assert getattr(read(HI, **fields)[0], name) == value


def test_a_schema_is_a_format_that_is_strict_where_openai_takes_it() -> None:
    """ollama.request_back.9"""
    for schema, strict in (
        ({"type": "object"}, {}),
        ({"type": "object", "additionalProperties": False}, {"strict": True}),
    ):
        request, _ = read(HI, format=schema)
        assert plain(request.text) == {"format": {"type": "json_schema", "name": "answer", "schema": schema, **strict}}
    assert plain(read(HI, format="json")[0].text) == {"format": {"type": "json_object"}}


def test_tools_are_functions_and_keep_their_schema() -> None:
    """ollama.request_back.15"""
    schema = {"type": "object", "properties": {"a": {"const": 1, "minimum": 0}}, "description": "d"}
    tools = [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}},
        {"function": {"name": "g", "parameters": None, "new": 1}, "type": "", "new": 2},
        {"function": {"name": "h"}},
    ]
    request, lost = read(HI, tools=tools)
    assert request.tools
    assert request.tools[0] == FunctionTool(name="f", description="d", parameters=schema, strict=False)
    assert lost == []
    assert comes_back(HI, tools=tools) == []


def test_what_was_noted_holds_until_somebody_says_otherwise() -> None:
    """ollama.request_back.11, ollama.request_back.12"""
    request, _ = read(HI)
    request.stream, request.truncation = False, "disabled"
    body, _ = wire.encode_request(request)
    assert (body.stream, body.truncate) == (False, False)


def test_a_model_from_elsewhere_is_used_where_none_is_named() -> None:
    """ollama.request_back.16"""
    assert wire.decode_request(wire.REQUEST.decode(b"{}"), model="x")[0].model == "x"
    assert wire.decode_request(wire.REQUEST.decode(b'{"model":"m"}'), model="x")[0].model == "m"


@pytest.mark.parametrize("messages", [[{"role": "user", "content": [{"type": "text"}]}], [{"content": "Hi"}], {}])
def test_what_the_server_would_not_read_is_no_request(messages: Any) -> None:
    with pytest.raises(DecodeError):
        wire.REQUEST.decode(json.dumps({"model": "m", "messages": messages}).encode())


def test_how_options_were_written_is_no_loss_elsewhere() -> None:
    fields: dict[str, Any] = {"options": {"num_predict": -1}, "logprobs": False, "format": None, "messages": [HI]}
    for body in (fields, {**fields, "options": {}, "think": None, "tools": None, "truncate": None, "stream": None}):
        request, _ = wire.decode_request(wire.REQUEST.decode(json.dumps({"model": "m", **body}).encode()))
        assert told_elsewhere(request) == set()


def test_a_request_is_the_same_in_meaning_where_nothing_is_kept() -> None:
    fields: dict[str, Any] = {
        "options": {"num_ctx": 5, "seed": 1},
        "keep_alive": 5,
        "tools": [{"function": {"name": "f"}}],
    }
    document = wire.REQUEST.decode(json.dumps({"model": "m", "messages": [HI, calling(call())], **fields}).encode())
    request, _ = wire.decode_request(document, keep=False)
    assert "leftovers" not in json.dumps(plain(request))
    body = plain(wire.encode_request(request)[0])
    assert (body["options"], body["stream"], "keep_alive" in body) == ({"seed": 1}, True, False)


@pytest.mark.parametrize(
    "left",
    [
        {"spelling": 5, "tools": [], "options": "x", "num_ctx": "many", "stream": {}},
        {
            "tools": {"f": {"function": {"parameters": 5, "spelling": {"parameters": ["5", ""]}}}},
            "spelling": {"tools": "entries"},
        },
        {"messages": [], "model": 5, "spelling": {"messages": [None, ""], "options": "group", "done reason": [1, 2]}},
        5,
    ],
)
def test_leftovers_of_any_shape_do_no_harm(left: Any) -> None:
    left = {"ollama_chat": left}
    body, _ = wire.encode_request(Request(input="Hi", tools=[FunctionTool(name="f")], leftovers=left))
    assert body.messages
    wire.REQUEST.decode(msgspec.json.encode(body))
    bads: tuple[Any, ...] = (
        {"spelling": []},
        {"message": 5},
        {"function": 5, "spelling": "x"},
        {"id": 5, "message": {"role": 5}},
        5,
    )
    for bad in bads:
        item = FunctionCall(call_id="a", name="f", arguments="{}", leftovers={"ollama_chat": bad})
        out = FunctionCallOutput(call_id="a", output="4", leftovers={"ollama_chat": bad})
        made, _ = wire.encode_request(Request(input=[item, out]))
        assert made.messages
        wire.REQUEST.decode(msgspec.json.encode(made))
