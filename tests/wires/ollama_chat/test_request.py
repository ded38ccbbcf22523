"""Requests on their way to a server of Ollama."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.responses import (
    AdditionalTools,
    AudioData,
    ByProgram,
    CacheBreakpoint,
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    ChooseMcp,
    Compaction,
    CustomTool,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    Grammar,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    ItemReference,
    JsonObjectFormat,
    JsonSchemaFormat,
    Logprob,
    McpTool,
    Message,
    NamespaceTool,
    OutputText,
    Prompt,
    Reasoning,
    ReasoningOptions,
    ReasoningText,
    RefusalPart,
    Request,
    SummaryText,
    TextFormat,
    TextOptions,
    UrlCitation,
    WebSearchCall,
    WebSearchTool,
)
from llm_rest.unknown import Unknown, with_extras
from llm_rest.vendors.dialects import OllamaDialect
from llm_rest.wires import ollama_chat as wire
from llm_rest.wires.tools import INPUT
from tests.support.facts import plain
from tests.support.ollama import thought

PNG = "iVBORw0KGgo="
JPEG = "/9j/4AAQSkZJRg=="
WAV = "UklGRiQAAABXQVZFZm10IA=="
OLDER = OllamaDialect(tool_images=False, efforts={"minimal": "low", "xhigh": "high", "max": "high"})
CLOUD = OllamaDialect(loads_models=False)


def sent(request: Request, dialect: OllamaDialect | None = None) -> tuple[dict[str, Any], list[str]]:
    """The body as plain values, and every loss as `path (kind)`."""
    body, lost = wire.encode_request(request, dialect=dialect or OllamaDialect())
    return plain(body), [f"{loss.path} ({loss.kind})" for loss in lost]


def messages(*items: Any, dialect: OllamaDialect | None = None, **options: Any) -> tuple[list[Any], list[str]]:
    body, lost = sent(Request(input=list(items), **options), dialect)
    return body["messages"], lost


def user(*parts: Any) -> Message:
    return Message(role="user", content=list(parts))


def said(text: str) -> Message:
    return Message(role="assistant", content=[OutputText(text=text, annotations=[])])


def call(call_id: str, name: str = "f", arguments: str = "{}") -> FunctionCall:
    return FunctionCall(call_id=call_id, name=name, arguments=arguments)


def output(call_id: str, text: Any = "4", **more: Any) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=call_id, output=text, **more)


def made(call_id: str, name: str = "f", **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}}


def tool(call_id: str, content: str = "4", name: str = "f", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_name": name, "tool_call_id": call_id, **more}


# --- what is said ---------------------------------------------------------------------------------------------------


def test_a_small_request_is_a_model_one_message_and_what_the_server_would_do_otherwise() -> None:
    """ollama.request.1, ollama.request.3, ollama.request.41, ollama.request.42"""
    assert sent(Request(model="qwen3:8b", input="Hi")) == (
        {
            "model": "qwen3:8b",
            "messages": [{"role": "user", "content": "Hi"}],
            "stream": False,
            "truncate": False,
        },
        [],
    )
    assert sent(Request(model="m", input="Hi", stream=True))[0]["stream"] is True


def test_what_is_said_before_anybody_speaks_is_one_system_message() -> None:
    """ollama.request.2"""
    hi = Message(role="user", content="Hi")
    assert messages(hi, instructions="A")[0][0] == {"role": "system", "content": "A"}
    found, lost = messages(
        Message(role="developer", content="B"), Message(role="system", content=""), hi, instructions="A"
    )
    assert found == [{"role": "system", "content": "A\n\nB"}, {"role": "user", "content": "Hi"}]
    assert lost == ["instructions (changed)", "input[0] (changed)"]
    assert messages(Message(role="developer", content="B"), hi) == (
        [{"role": "system", "content": "B"}, {"role": "user", "content": "Hi"}],
        [],
    )


def test_a_system_message_in_the_middle_stays_there() -> None:
    """ollama.request.4, ollama.hard.5. BUGS 42"""
    found, lost = messages(
        Message(role="user", content="Hi"),
        Message(role="developer", content="Be brief."),
        Message(role="system", content=[InputImage(image_url=f"data:image/png;base64,{PNG}")]),
    )
    assert [(one["role"], one["content"]) for one in found] == [("user", "Hi"), ("system", "Be brief."), ("system", "")]
    assert lost == ["input[1].role (changed)", "input[2].content (refused)"]


def test_texts_are_joined_and_images_stand_beside_them() -> None:
    """ollama.request.5, ollama.request.8"""
    image = InputImage(image_url=f"data:image/png;base64,{PNG}")
    assert messages(user(InputText(text="Look"), image)) == (
        [{"role": "user", "content": "Look", "images": [PNG]}],
        [],
    )
    assert messages(user(image, InputText(text="and"), InputText(text="look"))) == (
        [{"role": "user", "content": "and\nlook", "images": [PNG]}],
        ["input[0].content[1] (changed)", "input[0].content[2] (changed)", "input[0].content (changed)"],
    )
    mistaken = InputImage(image_url=f"data:image/png;base64,{JPEG}")
    assert messages(user(mistaken)) == (
        [{"role": "user", "content": "", "images": [JPEG]}],
        ["input[0].content[0] (changed)"],
    )


def test_messages_that_say_nothing_are_not_sent() -> None:
    """ollama.hard.6. BUGS 47"""
    assert messages(Message(role="user", content=""), Message(role="user", content="Hi"), said("")) == (
        [{"role": "user", "content": "Hi"}],
        [],
    )


@pytest.mark.parametrize(
    ("part", "kind", "hint"),
    [
        pytest.param(InputImage(image_url="https://a.b/c.png"), "refused", "fetch_image", id="ollama.request.9"),
        pytest.param(InputImage(file_id="file_1"), "refused", "inline", id="ollama.request.9-file"),
        pytest.param(InputFile(file_data="data:application/pdf;base64,JVBERg=="), "refused", "text", id="pdf"),
        pytest.param(InputFile(file_url="https://a.b/c.txt"), "refused", "text", id="file-url"),
        pytest.param(
            InputVideo(video_url="https://a.b/c.mp4"), "refused", "which Ollama does not have", id="ollama.request.13"
        ),
        pytest.param(Unknown({"type": "acme:part"}), "dropped", "acme:part", id="ollama.request.13-unknown"),
    ],
)
def test_what_a_message_cannot_hold_is_refused_or_reported(part: Any, kind: str, hint: str) -> None:
    """ollama.request.11. BUGS 77: an image by URL is refused, with a word about what to do."""
    _, lost = wire.encode_request(Request(input=[user(InputText(text="Look"), part)]))
    assert [(loss.path, loss.kind) for loss in lost] == [("input[0].content[1]", kind)]
    assert hint in lost[0].what


def test_a_file_of_text_becomes_part_of_the_message() -> None:
    """ollama.request.11"""
    file = InputFile(file_data="data:text/plain;base64,aGk=", filename="a.txt")
    assert messages(user(file)) == (
        [{"role": "user", "content": "a.txt:\nhi"}],
        ["input[0].content[0] (emulated)"],
    )


def test_options_of_parts_have_no_place() -> None:
    """ollama.request.10"""
    part = with_extras(
        InputText(text="Hi", prompt_cache_breakpoint=CacheBreakpoint(), leftovers={"x": {"y": 1}}), {"z": 1}
    )
    image = InputImage(image_url=f"data:image/png;base64,{PNG}", detail="low")
    assert set(messages(user(part, image))[1]) == {
        "input[0].content[0].y (dropped)",
        "input[0].content[0].z (dropped)",
        "input[0].content[0].prompt_cache_breakpoint (dropped)",
        "input[0].content[1].detail (dropped)",
    }


def test_sound_travels_among_the_images() -> None:
    """ollama.request.12"""
    for data, lost in ((WAV, []), ("AAAA", ["input[0].content[0] (changed)"])):
        sound = InputAudio(input_audio=AudioData(data=data, format="wav"))
        assert messages(user(sound)) == ([{"role": "user", "content": "", "images": [data]}], lost)


# --- what the assistant did -----------------------------------------------------------------------------------------


def test_a_turn_of_the_assistant_is_one_message() -> None:
    """ollama.request.6, ollama.request.14. BUGS 5 and 6"""
    found, lost = messages(
        Message(role="user", content="Hi"),
        thought("Hm.", "ollama"),
        thought("Well.", "ollama"),
        said("Let me see."),
        call("a", arguments='{"x":1.0}'),
        call("b"),
        output("a"),
        output("b", "5"),
        said("Done."),
        said("Really."),
    )
    assert found[1:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "thinking": "Hm.\n\nWell.",
            "tool_calls": [made("a", x=1.0), made("b")],
        },
        tool("a"),
        tool("b", "5"),
        {"role": "assistant", "content": "Done."},
        {"role": "assistant", "content": "Really."},
    ]
    assert lost == ["input[1] (changed)", "input[2] (changed)"]


def test_a_thought_alone_is_a_message_and_the_beginning_of_nothing() -> None:
    """ollama.request.14. BUGS 6 and 45"""
    hm, hi = thought("Hm.", "ollama"), Message(role="user", content="Hi")
    assert messages(hi, hm, hi)[0][1] == {"role": "assistant", "content": "", "thinking": "Hm."}
    assert messages(hi, hm) == ([{"role": "user", "content": "Hi"}], ["input[1] (dropped)"])


def test_thoughts_of_others_are_withheld() -> None:
    """ollama.request.15. BUGS 3 and 4"""
    foreign = [
        Reasoning(summary=[SummaryText(text="Hm.")]),
        Reasoning(summary=[], content=[ReasoningText(text="Hm.")]),
        Reasoning(summary=[], content=[ReasoningText(text="Hm.")], encrypted_content="gAAAA"),
        thought("Hm.", "somebody-else"),
    ]
    for item in foreign:
        assert messages(item, said("Well.")) == (
            [{"role": "assistant", "content": "Well."}],
            ["input[0] (withheld)"],
        )


def test_a_text_after_a_call_and_a_thought_after_a_text_move_to_the_front() -> None:
    """ollama.request.6, ollama.hard.3"""
    found, lost = messages(
        call("a"), said("One moment."), thought("Hm.", "ollama"), call("b"), output("a"), output("b")
    )
    assert found[0] == {
        "role": "assistant",
        "content": "One moment.",
        "thinking": "Hm.",
        "tool_calls": [made("a"), made("b")],
    }
    assert lost == ["input[1] (changed)", "input[2] (changed)"]
    split, lost = messages(said("First."), thought("Hm.", "ollama"), call("a"), output("a"))
    assert [one.get("thinking") for one in split] == [None, "Hm.", None]
    assert lost == []


def test_what_text_of_the_assistant_had_beside_it_is_reported() -> None:
    """ollama.request.7"""
    part = OutputText(text="Hi", annotations=[UrlCitation(url="u")], logprobs=[Logprob(token="Hi", logprob=-1)])
    found, lost = messages(
        Message(role="assistant", content=[part, RefusalPart(refusal=" No.")], phase="commentary"),
    )
    assert found == [{"role": "assistant", "content": "Hi No."}]
    assert lost == [
        "input[0].content[0].annotations (dropped)",
        "input[0].content[0].logprobs (dropped)",
        "input[0].content[1] (changed)",
        "input[0].content (changed)",
        "input[0].phase (dropped)",
    ]
    image = InputImage(image_url=f"data:image/png;base64,{PNG}")
    assert messages(Message(role="assistant", content=[image]))[1] == ["input[0].content (refused)"]


# --- calls and their outputs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sent_as"),
    [
        ("", b"{}"),
        (" \n", b"{}"),
        ("null", b"{}"),
        ('{"b":1.0,"a":12345678901234567890}', b'{"b":1.0,"a":12345678901234567890}'),
        ('{"c": "\\u00e9 \U0001f600"}', '{"c": "\\u00e9 \U0001f600"}'.encode()),
    ],
)
def test_arguments_keep_the_models_spelling(text: str, sent_as: bytes) -> None:
    """ollama.request.16, ollama.hard.13"""
    body, lost = wire.encode_request(Request(input=[call("a", arguments=text), output("a")]))
    assert lost == []
    assert body.messages
    assert body.messages[0].tool_calls
    assert bytes(body.messages[0].tool_calls[0].function.arguments) == sent_as  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("text", ["[1]", '"x"', '{"a":', "not json", '{"a":1}x', "[" * 100_000])
def test_arguments_that_are_no_object_are_sent_as_the_text_of_one(text: str) -> None:
    """ollama.request.16"""
    found, lost = messages(call("a", arguments=text), output("a"))
    assert found[0]["tool_calls"][0]["function"]["arguments"] == {"INVALID_JSON": text}
    assert lost == ["input[0].arguments (changed)"]


def test_outputs_follow_their_calls_in_the_order_of_the_calls() -> None:
    """ollama.request.17, ollama.hard.4. BUGS 31"""
    hurry = Message(role="user", content="Hurry!")
    found, lost = messages(call("a"), call("b"), hurry, output("b", "5"), output("a"))
    assert found[1:] == [tool("a"), tool("b", "5"), {"role": "user", "content": "Hurry!"}]
    assert lost == ["input[4] (emulated)", "input[3] (emulated)"]


def test_the_same_id_in_two_turns_is_paired_turn_by_turn() -> None:
    """ollama.hard.1"""
    found, lost = messages(call("a"), output("a", "1"), call("a", "g"), output("a", "2"))
    assert [(one["role"], one["content"]) for one in found[1::2]] == [("tool", "1"), ("tool", "2")]
    assert lost == []


def test_every_call_needs_its_output_and_every_output_its_call() -> None:
    """ollama.request.18"""
    assert messages(call("a"))[1] == ["input[0] (refused)"]
    found, lost = messages(output("a", name="f"), call("a"), output("a", "5"))
    assert lost == ["input[0] (refused)"]
    assert [one["content"] for one in found] == ["4", "", "5"]


def test_a_failure_is_told_in_the_text() -> None:
    """ollama.request.19. BUGS 38"""
    assert messages(call("a"), output("a", "no", is_error=True)) == (
        [{"role": "assistant", "content": "", "tool_calls": [made("a")]}, tool("a", "Error: no")],
        ["input[1].is_error (changed)"],
    )
    assert messages(call("a"), output("a", "no", status="incomplete"))[1] == ["input[1].status (changed)"]


def test_images_in_outputs_stand_where_the_server_takes_them() -> None:
    """ollama.request.20"""
    parts = [InputText(text="a map"), InputImage(image_url=f"data:image/png;base64,{PNG}")]
    assert messages(call("a"), output("a", parts))[0][1:] == [tool("a", "a map", images=[PNG])]
    found, lost = messages(call("a"), call("b"), output("a", parts), output("b"), dialect=OLDER)
    assert found[1:] == [tool("a", "a map"), tool("b"), {"role": "user", "content": "", "images": [PNG]}]
    assert lost == ["input[2].output (changed)"]


def test_custom_calls_are_functions_with_one_text() -> None:
    """ollama.request.21"""
    custom = CustomToolCall(call_id="a", name="sh", input="ls -l")
    assert messages(custom, CustomToolCallOutput(call_id="a", output="x")) == (
        [{"role": "assistant", "content": "", "tool_calls": [made("a", "sh", input="ls -l")]}, tool("a", "x", "sh")],
        ["input[0] (emulated)"],
    )


def test_what_else_a_call_says_is_reported() -> None:
    """ollama.request.36, ollama.request.46"""
    item = FunctionCall(
        call_id="a", name="f", arguments="{}", namespace="ns", caller=ByProgram(caller_id="p"), async_=True
    )
    found, lost = messages(with_extras(item, {"z": 1}), output("a"))
    assert found == [{"role": "assistant", "content": "", "tool_calls": [made("a", "ns__f")]}, tool("a", name="ns__f")]
    assert lost == [
        "input[0].z (dropped)",
        "input[0].namespace (emulated)",
        "input[0].caller (dropped)",
        "input[0].async (dropped)",
    ]


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        pytest.param(WebSearchCall(id="ws_1"), "dropped", id="ollama.request.22"),
        pytest.param(ItemReference(id="msg_1"), "refused", id="ollama.request.23"),
        pytest.param(Compaction(encrypted_content="gAAA"), "refused", id="ollama.request.23-compaction"),
        pytest.param(Unknown({"type": "acme:item"}), "dropped", id="ollama.request.46"),
    ],
)
def test_items_without_a_place_are_dropped_or_refused(item: Any, kind: str) -> None:
    assert messages(Message(role="user", content="Hi"), item) == (
        [{"role": "user", "content": "Hi"}],
        [f"input[1] ({kind})"],
    )


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "body", "lost"),
    [
        pytest.param({"max_output_tokens": 5}, {"options": {"num_predict": 5}}, [], id="ollama.request.24"),
        pytest.param(
            {"temperature": 0, "top_p": 0.5, "top_k": 3, "seed": 1, "stop": "END", "presence_penalty": 1},
            {
                "options": {
                    "temperature": 0,
                    "top_p": 0.5,
                    "top_k": 3,
                    "seed": 1,
                    "stop": ["END"],
                    "presence_penalty": 1,
                }
            },
            [],
            id="ollama.request.25",
        ),
        pytest.param(
            {"top_logprobs": 2, "include": ["message.output_text.logprobs", "reasoning.encrypted_content", "x"]},
            {"logprobs": True, "top_logprobs": 2},
            ["include[2] (dropped)"],
            id="ollama.request.26",
        ),
        pytest.param(
            {"top_logprobs": 2},
            {"logprobs": True, "top_logprobs": 2},
            ["top_logprobs (emulated)"],
            id="ollama.request.26-alone",
        ),
        pytest.param(
            {"text": TextOptions(format=JsonSchemaFormat(name="n", schema={"type": "object"}, description="d"))},
            {"format": {"type": "object"}},
            ["text.format.description (dropped)"],
            id="ollama.request.27",
        ),
        pytest.param(
            {"text": TextOptions(format=JsonSchemaFormat(name="n", strict=False))},
            {"format": "json"},
            ["text.format (changed)", "text.format.strict (changed)"],
            id="ollama.request.27-without-a-schema",
        ),
        pytest.param({"text": TextOptions(format=JsonObjectFormat())}, {"format": "json"}, [], id="ollama.request.28"),
        pytest.param({"text": TextOptions(format=TextFormat())}, {"format": ""}, [], id="ollama.request.29"),
        pytest.param(
            {"text": TextOptions(format=Unknown({"type": "acme:xml"}))},
            {},
            ["text.format (refused)"],
            id="unknown-format",
        ),
        pytest.param({"text": TextOptions(verbosity="low")}, {}, ["text.verbosity (dropped)"], id="ollama.request.30"),
        pytest.param({"reasoning": ReasoningOptions(summary="auto")}, {"think": True}, [], id="ollama.request.33"),
        pytest.param(
            {"reasoning": ReasoningOptions(effort="low", summary="auto", context="auto")},
            {"think": "low"},
            ["reasoning.context (dropped)", "reasoning.summary (changed)"],
            id="ollama.request.33-beside-an-effort",
        ),
        pytest.param({"truncation": "auto"}, {"truncate": True}, [], id="ollama.request.41"),
        pytest.param({"truncation": "middle"}, {}, ["truncation (dropped)"], id="ollama.request.41-unknown"),
        pytest.param({"parallel_tool_calls": False}, {}, ["parallel_tool_calls (dropped)"], id="ollama.request.40"),
        pytest.param(
            {"metadata": {"a": "b"}, "store": True, "user": "u", "service_tier": "flex", "max_tool_calls": 2},
            {},
            [f"{name} (dropped)" for name in ("max_tool_calls", "metadata", "store", "service_tier", "user")],
            id="ollama.request.43",
        ),
        pytest.param({"store": False, "background": False, "metadata": {}}, {}, [], id="asking-for-nothing"),
        pytest.param(
            {"previous_response_id": "r", "conversation": "c", "background": True, "prompt": Prompt(id="p")},
            {},
            [f"{name} (refused)" for name in ("previous_response_id", "conversation", "prompt", "background")],
            id="ollama.request.23",
        ),
    ],
)
def test_options(options: dict[str, Any], body: dict[str, Any], lost: list[str]) -> None:
    """BUGS 13 and 87"""
    found, complaints = sent(Request(model="m", input="Hi", **options))
    usual = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": False, "truncate": False}
    assert found == {**usual, **body}
    assert sorted(complaints) == sorted(lost)


@pytest.mark.parametrize(
    ("effort", "think", "older", "changed"),
    [
        (None, "absent", "absent", False),
        ("none", False, False, False),
        ("minimal", "low", "low", True),
        ("low", "low", "low", False),
        ("medium", "medium", "medium", False),
        ("high", "high", "high", False),
        ("xhigh", "max", "high", True),
        ("max", "max", "high", False),
    ],
)
def test_an_effort_says_how_to_think(effort: Any, think: Any, older: Any, changed: bool) -> None:
    """ollama.request.32"""
    request = Request(input="Hi", reasoning=ReasoningOptions(effort=effort))
    body, lost = sent(request)
    assert body.get("think", "absent") == think
    assert lost == (["reasoning.effort (changed)"] if changed else [])
    assert sent(request, OLDER)[0].get("think", "absent") == older


def test_an_effort_the_server_would_refuse_is_not_sent() -> None:
    """ollama.request.32"""
    body, lost = sent(Request(input="Hi", reasoning=ReasoningOptions(effort="extreme")))
    assert "think" not in body
    assert lost == ["reasoning.effort (dropped)"]


def test_the_callers_own_additions_win_and_join_the_other_options() -> None:
    """ollama.request.44. BUGS 82: the window is set here."""
    extra = {"options": {"num_ctx": 32768, "temperature": 1, "newer": 2}, "keep_alive": "1h", "newest": 3}
    request = Request(input="Hi", temperature=0, seed=1, extra={"ollama_chat": extra, "openai_chat": {"n": 2}})
    body, lost = sent(request)
    assert body["options"] == {"temperature": 1, "seed": 1, "num_ctx": 32768, "newer": 2}
    assert (body["keep_alive"], body["newest"]) == ("1h", 3)
    assert lost == []
    assert sent(Request(input="Hi", extra={"ollama_chat": {"options": None}}))[0]["options"] is None


def came(fields: dict[str, Any]) -> Request:
    """A request as it came from a client of this wire."""
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **fields}
    return wire.decode_request(wire.REQUEST.decode(json.dumps(document).encode()))[0]


def test_leftovers_return_to_this_wire_and_are_reported_otherwise() -> None:
    """ollama.request.45"""
    request = came({"options": {"num_ctx": 9000}, "keep_alive": 5, "shift": False})
    request.leftovers = {**(request.leftovers or {}), "openai_chat": {"logit_bias": {"1": 2}}}
    body, lost = sent(request)
    assert (body["options"], body["keep_alive"], body["shift"]) == ({"num_ctx": 9000}, 5, False)
    assert lost == ["logit_bias (dropped)"]


def test_the_cloud_takes_no_options_of_loading_a_model() -> None:
    """ollama.request.45, ollama.hard.17"""
    request = came({"options": {"num_ctx": 9000, "seed": 1}})
    request.extra = {"ollama_chat": {"options": {"num_gpu": 1}}}
    body, lost = sent(request, CLOUD)
    assert body["options"] == {"seed": 1}
    assert lost == ["options.num_ctx (dropped)", "extra.ollama_chat.options.num_gpu (dropped)"]


def test_unknown_fields_are_reported() -> None:
    """ollama.request.46"""
    request = with_extras(Request(input=[with_extras(Message(role="user", content="Hi"), {"y": 1})]), {"z": 1})
    assert set(sent(request)[1]) == {"input[0].y (dropped)", "z (dropped)"}


# --- tools ----------------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def offered(*tools: Any, **options: Any) -> tuple[Any, list[str]]:
    body, lost = sent(Request(input="Hi", tools=list(tools), **options))
    return body.get("tools"), lost


def function(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, **more, "parameters": schema or {"type": "object", "properties": {}}},
    }


def test_a_function_is_nested_and_always_has_properties() -> None:
    """ollama.request.34"""
    assert offered(FunctionTool(name="f", description="d", parameters=SCHEMA), FunctionTool(name="g")) == (
        [function("f", SCHEMA, description="d"), function("g")],
        [],
    )
    assert offered(FunctionTool(name="f", parameters={"title": "T"})) == (
        [function("f", {"type": "object", "title": "T", "properties": {}})],
        [],
    )
    assert offered(FunctionTool(name="f", parameters={})) == ([function("f")], ["tools[0].parameters (changed)"])
    assert offered() == ([], [])


def test_what_else_a_tool_says_is_reported() -> None:
    """ollama.request.34"""
    tool = FunctionTool(name="f", strict=True, defer_loading=True, output_schema={"a": 1}, async_=True)
    assert set(offered(with_extras(tool, {"z": 1}))[1]) == {
        "tools[0].defer_loading (dropped)",
        "tools[0].output_schema (dropped)",
        "tools[0].async (dropped)",
        "tools[0].z (dropped)",
        "tools[0].strict (dropped)",
    }


def test_custom_tools_and_namespaces_become_functions() -> None:
    """ollama.request.36"""
    grammar = Grammar(definition="a: /x/", syntax="lark")
    found, lost = offered(
        CustomTool(name="sh", description="d", format=grammar),
        CustomTool(name="x", format=Unknown({"type": "acme"})),
        NamespaceTool(name="ns", tools=[FunctionTool(name="f"), Unknown({"type": "acme"})]),
    )
    told = "d\n\nThe input follows this lark grammar:\na: /x/"
    assert found == [function("sh", INPUT, description=told), function("x", INPUT), function("ns__f")]
    assert lost == [
        "tools[0] (emulated)",
        "tools[0].format (changed)",
        "tools[1] (emulated)",
        "tools[1].format (dropped)",
        "tools[2] (emulated)",
        "tools[2].tools[1] (refused)",
    ]


def test_tools_of_vendors_and_doubled_names_are_refused() -> None:
    """ollama.request.37. BUGS 41 and 90"""
    f = FunctionTool(name="f")
    assert offered(WebSearchTool(), McpTool(server_label="s"), Unknown({"type": "acme"}))[1] == [
        f"tools[{i}] (refused)" for i in range(3)
    ]
    assert offered(f, f)[1] == ["tools[1].name (refused)"]
    assert offered(FunctionTool(name=""))[1] == ["tools[0].name (refused)"]


@pytest.mark.parametrize(
    ("choice", "names", "note", "lost"),
    [
        pytest.param("auto", "fg", "", [], id="ollama.request.38"),
        pytest.param("none", "", "", ["tool_choice (emulated)"], id="ollama.request.38-none"),
        pytest.param("required", "fg", "Call at least one", ["tool_choice (emulated)"], id="ollama.request.39"),
        pytest.param(ChooseFunction(name="g"), "g", "Call the tool g", ["tool_choice (emulated)"], id="function"),
        pytest.param(ChooseCustom(name="g"), "g", "Call the tool g", ["tool_choice (emulated)"], id="custom"),
        pytest.param(
            ChooseAllowed(tools=[{"type": "function", "name": "f"}, {"type": "mcp"}], mode="required"),
            "f",
            "Call at least one",
            ["tool_choice.tools[1] (dropped)", "tool_choice (emulated)", "tool_choice (emulated)"],
            id="allowed",
        ),
        pytest.param(ChooseMcp(server_label="s"), "fg", "", ["tool_choice (refused)"], id="mcp"),
        pytest.param("sometimes", "fg", "", ["tool_choice (dropped)"], id="unknown"),
    ],
)
def test_a_choice_is_made_by_offering_less_and_by_a_word(choice: Any, names: str, note: str, lost: list[str]) -> None:
    tools: list[Any] = [FunctionTool(name="f"), FunctionTool(name="g")]
    body, complaints = sent(Request(input="Hi", tools=tools, tool_choice=choice))
    assert "".join(one["function"]["name"] for one in body.get("tools", ())) == names
    assert complaints == lost
    system = body["messages"][0]["content"] if body["messages"][0]["role"] == "system" else ""
    assert system.startswith(note)
    assert bool(system) == bool(note)


def test_a_choice_among_no_tools_is_reported() -> None:
    """ollama.request.39"""
    assert sent(Request(input="Hi", tool_choice="required"))[1] == ["tool_choice (dropped)"]


def test_a_format_beside_tools_is_reported() -> None:
    """ollama.request.31"""
    options = TextOptions(format=JsonObjectFormat())
    assert offered(FunctionTool(name="f"), text=options)[1] == ["text.format (changed)"]
    assert offered(FunctionTool(name="f"), text=options, tool_choice="none")[1] == ["tool_choice (emulated)"]


def test_tools_added_later_are_offered_from_the_beginning() -> None:
    """ollama.request.47"""
    later = AdditionalTools(role="developer", tools=[FunctionTool(name="late")])
    body, lost = sent(Request(input=[Message(role="user", content="Hi"), later]))
    assert body["tools"] == [function("late")]
    assert lost == ["input[1] (emulated)"]


# --- schemas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ({"type": "string", "title": "T", "additionalProperties": False}, None, ""),
        ({"const": 5}, {"enum": [5]}, ".const"),
        (
            {"oneOf": [{"type": "string"}, {"const": 1}]},
            {"anyOf": [{"type": "string"}, {"enum": [1]}]},
            ".oneOf .oneOf[1].const",
        ),
        (
            {"type": "integer", "description": "Age.", "minimum": 0, "format": "int32"},
            {"type": "integer", "description": 'Age.\n\n(minimum: 0, format: "int32")'},
            ".minimum .format",
        ),
        ({"$ref": "#/$defs/s", "description": "D"}, {"type": "string", "description": "D"}, ".$ref"),
        ({"allOf": [{"$ref": "#/$defs/s"}]}, {"type": "string"}, ".allOf .$ref"),
        ({"$ref": "#/$defs/gone"}, {"description": '($ref: "#/$defs/gone")'}, ".$ref"),
        (
            {"$ref": "#/$defs/node"},
            {"type": "object", "properties": {"next": {"description": '($ref: "#/$defs/node")'}}},
            ".$ref .properties.next.$ref",
        ),
        (
            {"type": "object", "properties": {"x": {"const": 1}}, "additionalProperties": {"type": "string"}},
            {
                "type": "object",
                "properties": {"x": {"enum": [1]}},
                "description": '(additionalProperties: {"type":"string"})',
            },
            ".properties.x.const .additionalProperties",
        ),
        ({"type": "array", "items": {"$ref": "#/$defs/s", "minLength": 1}}, None, ""),
        (True, None, ""),
    ],
)
def test_a_schema_says_the_same_in_words_the_server_keeps(before: Any, after: Any, places: str) -> None:
    """ollama.request.35. BUGS 49"""
    defs = {
        "s": {"type": "string"},
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}},
    }
    schema = {"type": "object", "properties": {"p": before}, "$defs": defs}
    untouched = json.dumps(schema)
    body, lost = wire.encode_request(Request(input="Hi", tools=[FunctionTool(name="f", parameters=schema)]))
    assert body.tools
    found = body.tools[0].function.parameters
    assert isinstance(found, dict)
    assert found == {**schema, "properties": {"p": before if after is None else after}}
    assert [loss.path for loss in lost] == [f"tools[0].parameters.properties.p{place}" for place in places.split()]
    assert json.dumps(schema) == untouched, "the caller's schema stays as it is"
    again, lost = wire.encode_request(Request(input="Hi", tools=[FunctionTool(name="f", parameters=found)]))
    assert again.tools == body.tools
    assert lost == []


def test_words_at_the_top_that_have_no_other_place_are_reported() -> None:
    """ollama.request.35"""
    schema = {"type": "object", "properties": {}, "not": {"required": ["a"]}, "patternProperties": {}}
    assert offered(FunctionTool(name="f", parameters=schema))[1] == [
        "tools[0].parameters.not (dropped)",
        "tools[0].parameters.patternProperties (dropped)",
    ]


def test_references_that_double_at_every_step_come_to_an_end() -> None:
    """ollama.request.35. BUGS 49"""
    two = lambda i: {"properties": {x: {"$ref": f"#/$defs/d{i + 1}"} for x in "ab"}}  # noqa: E731
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": {f"d{i}": two(i) for i in range(60)},
    }
    body, _ = wire.encode_request(Request(input="Hi", tools=[FunctionTool(name="f", parameters=schema)]))
    assert len(json.dumps(plain(body))) < 200_000
