"""Requests on their way to a host of the Responses wire."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.losses import Loss
from llm_rest.responses import (
    AudioData,
    BackgroundOptions,
    CacheBreakpoint,
    CodeInterpreterCall,
    CodeInterpreterTool,
    CustomToolCall,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    InputAudio,
    InputImage,
    InputText,
    InputVideo,
    ItemReference,
    McpCall,
    Message,
    OutputText,
    PlainText,
    Prompt,
    Reasoning,
    ReasoningOptions,
    RefusalPart,
    Request,
    UrlCitation,
    WebSearchCall,
)
from llm_rest.unknown import Unknown, with_extras
from llm_rest.vendors.dialects import NOT_IN_RESPONSES, ResponsesDialect
from llm_rest.wires import openai_responses as wire

STATELESS = ResponsesDialect(stateless=True)


def sent(request: Request, dialect: ResponsesDialect | None = None) -> tuple[dict[str, Any], list[str]]:
    """The body as plain values, and every loss as `path (kind)`."""
    body, lost = wire.encode_request(request, dialect=dialect or ResponsesDialect())
    return msgspec.json.decode(msgspec.json.encode(body)), [f"{loss.path} ({loss.kind})" for loss in lost]


def items(*given: Any, dialect: ResponsesDialect | None = None, **options: Any) -> tuple[list[Any], list[str]]:
    body, lost = sent(Request(input=list(given), **options), dialect)
    return body["input"], lost


# --- nothing to do --------------------------------------------------------------------------------------------------


def test_a_request_in_the_format_is_passed_through_as_the_same_object() -> None:
    """responses.request.1"""
    request = Request(
        model="m",
        input=[
            Message(role="user", content=[InputText(text="Hi"), InputImage(image_url="data:image/png;base64,AA==")]),
            Reasoning(id="rs_1", summary=[], encrypted_content="gAAA"),
            FunctionCall(id="fc_1", call_id="c", name="f", arguments=""),
            FunctionCallOutput(call_id="c", output="4"),
            Message(id="msg_1", role="assistant", content=[OutputText(text="4", annotations=[])], phase="final_answer"),
            WebSearchCall(id="ws_1"),
            Unknown({"type": "acme:search_call"}),
        ],
        tools=[FunctionTool(name="f")],
        temperature=0.5,
    )
    body, lost = wire.encode_request(request)
    assert body is request
    assert lost == []


def test_unknown_fields_are_sent_back_where_they_were() -> None:
    """responses.request_back.16"""
    document = b'{"input":[{"type":"message","role":"user","content":"Hi","mood":"good"}],"provider":{"only":["a"]}}'
    body, lost = wire.encode_request(wire.decode_request(wire.REQUEST.decode(document))[0])
    assert msgspec.json.decode(msgspec.json.encode(body)) == msgspec.json.decode(document)
    assert lost == []


def test_the_object_for_reasoning_is_sent_as_it_is() -> None:
    body, _ = sent(Request(reasoning=ReasoningOptions(effort="low", summary="auto")))
    assert body == {"reasoning": {"effort": "low", "summary": "auto"}}


def test_a_string_of_content_stays_a_string() -> None:
    """responses.request_back.2"""
    assert items(Message(role="user", content="Hi"))[0] == [{"type": "message", "role": "user", "content": "Hi"}]


# --- fields of ours -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NOT_IN_RESPONSES)
def test_an_option_the_format_lacks_is_a_loss(name: str) -> None:
    """responses.request.2, BUGS 87"""
    given: dict[str, Any] = {name: {"stop": ["END"]}.get(name, 1)}
    assert sent(Request(model="m", **given)) == ({"model": "m"}, [f"{name} (dropped)"])


@pytest.mark.parametrize("name", ["presence_penalty", "frequency_penalty"])
def test_penalties_go_only_to_hosts_that_take_them(name: str) -> None:
    """responses.request.3"""
    given: dict[str, Any] = {name: 0.5}
    request = Request(**given)
    assert sent(request) == ({}, [f"{name} (dropped)"])
    assert sent(request, ResponsesDialect(lacks=NOT_IN_RESPONSES)) == ({name: 0.5}, [])


def test_an_option_that_is_null_is_left_out_without_a_word() -> None:
    assert sent(Request(stop=None, seed=None)) == ({}, [])


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("no such city", "Error: no such city"),
        ("Error: no such city", "Error: no such city"),
        ([], [{"type": "input_text", "text": "Error: "}]),
        (
            [InputText(text="no")],
            [{"type": "input_text", "text": "Error: "}, {"type": "input_text", "text": "no"}],
        ),
        ([InputText(text="Error: no")], [{"type": "input_text", "text": "Error: no"}]),
    ],
)
def test_a_failed_tool_is_said_in_the_text_of_its_output(output: Any, said: Any) -> None:
    """responses.request.4, BUGS 38"""
    (item,), lost = items(FunctionCallOutput(call_id="c", output=output, is_error=True))
    assert item == {"type": "function_call_output", "call_id": "c", "output": said}
    assert lost == ["input[0] (changed)"]


def test_an_output_that_is_no_error_is_sent_without_the_flag() -> None:
    (item,), lost = items(FunctionCallOutput(call_id="c", output="4", is_error=False))
    assert item == {"type": "function_call_output", "call_id": "c", "output": "4"}
    assert lost == []


def test_what_another_wire_left_over_is_a_loss_by_name_at_every_level() -> None:
    """responses.request.5"""
    chat = {"openai_chat": {"logit_bias": {"5": 1}}}
    citation = UrlCitation(url="u", leftovers={"anthropic_messages": {"cited_text": "t"}})
    request = Request(
        input=[
            Message(role="user", content=[InputText(text="Hi", leftovers={"anthropic_messages": {"x": 1}})]),
            Message(
                role="assistant",
                content=[OutputText(text="a", annotations=[citation])],
                leftovers={"openai_chat": {"name": "ada"}},
            ),
        ],
        leftovers=chat,
    )
    body, lost = sent(request)
    assert "leftovers" not in msgspec.json.encode(body).decode()
    assert lost == [
        "input[0].content[0].x (dropped)",
        "input[1].name (dropped)",
        "input[1].content[0].annotations[0].cited_text (dropped)",
        "logit_bias (dropped)",
    ]
    assert request.leftovers == chat, "the request itself is not touched"


def test_extra_is_merged_last_and_only_for_this_wire() -> None:
    """responses.request.6"""
    extra = {"openai_responses": {"temperature": 0, "x_new": [1]}, "openai_chat": {"n": 2}}
    assert sent(Request(temperature=1.0, extra=extra)) == ({"temperature": 0, "x_new": [1]}, [])


def test_extra_keeps_the_unknown_fields_that_are_there() -> None:
    request = with_extras(Request(extra={"openai_responses": {"b": 2}}), {"a": 1})
    assert sent(request) == ({"a": 1, "b": 2}, [])


def test_an_extra_name_that_json_cannot_spell_plainly_is_refused() -> None:
    """responses.request.6"""
    assert sent(Request(extra={"openai_responses": {'a"b': 1}})) == ({}, ["extra.openai_responses (refused)"])


# --- bookkeeping ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [
        Message(id="chatcmpl-1", role="assistant", content="Hi"),
        FunctionCall(id="toolu_1", call_id="c", name="f", arguments="{}"),
        with_extras(FunctionCall(id="toolu_1", call_id="c", name="f", arguments="{}"), {"new": 1}),
    ],
)
def test_an_id_without_the_prefix_of_its_kind_is_left_out(item: Any) -> None:
    """responses.request.7"""
    (found,), lost = items(item)
    assert "id" not in found
    assert lost == []


@pytest.mark.parametrize("name", [None, "srvtoolu_1"])
def test_the_record_of_another_vendors_tool_stays_behind(name: Any) -> None:
    """responses.request.39"""
    ran: list[Any] = [
        CodeInterpreterCall(id=name, code="1+1", container_id="c"),
        McpCall(id=name, server_label="s", name="n", arguments="{}"),
    ]
    assert items(*ran) == ([], ["input[0] (dropped)", "input[1] (dropped)"])
    assert len(items(*ran, dialect=ResponsesDialect(checks_ids=False))[0]) == 2


def test_an_id_stays_where_the_host_does_not_check_it() -> None:
    """responses.request.7"""
    (found,), _ = items(Message(id="uuid", role="user", content=""), dialect=ResponsesDialect(checks_ids=False))
    assert found["id"] == "uuid"


def test_who_created_an_item_is_not_sent_back() -> None:
    """responses.request.8"""
    assert items(Message(role="user", content="", created_by="me")) == (
        [{"type": "message", "role": "user", "content": ""}],
        [],
    )


def test_a_call_id_of_any_length_is_the_same_for_the_call_and_its_output() -> None:
    """responses.request.13, BUGS 34"""
    long = "call_|" + "é" * 70
    (call, output), lost = items(
        FunctionCall(call_id=long, name="f", arguments="{}"), FunctionCallOutput(call_id=long, output="")
    )
    assert call["call_id"] == output["call_id"]
    assert len(call["call_id"]) <= 64
    assert lost == ["input[0].call_id (changed)", "input[1].call_id (changed)"]


def test_parallel_calls_keep_the_ids_that_tie_them_to_their_outputs() -> None:
    """BUGS 31"""
    given = [
        FunctionCall(call_id="a", name="f", arguments="{}"),
        FunctionCall(call_id="b", name="f", arguments="{}"),
        FunctionCallOutput(call_id="b", output="2"),
        FunctionCallOutput(call_id="a", output="1"),
    ]
    body, lost = wire.encode_request(Request(input=given))
    assert body.input is given
    assert lost == []


# --- what a role may say --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "part", "found", "kind"),
    [
        ("assistant", InputText(text="a"), [{"type": "output_text", "text": "a", "annotations": []}], "changed"),
        ("assistant", PlainText(text="a"), [{"type": "output_text", "text": "a", "annotations": []}], "changed"),
        ("user", OutputText(text="a", annotations=[]), [{"type": "input_text", "text": "a"}], "changed"),
        ("system", PlainText(text="a"), [{"type": "input_text", "text": "a"}], "changed"),
        ("user", RefusalPart(refusal="a"), [{"type": "input_text", "text": "a"}], "changed"),
    ],
)
def test_text_is_sent_as_the_text_of_its_role(role: str, part: Any, found: Any, kind: str) -> None:
    """responses.request.14"""
    (item,), lost = items(Message(role=role, content=[part]))
    assert item["content"] == found
    assert lost == [f"input[0].content[0] ({kind})"]


def test_an_image_of_an_assistant_stays_behind() -> None:
    """responses.request.14"""
    shown = Message(role="assistant", content=[OutputText(text="a", annotations=[]), InputImage(image_url="u")])
    (item,), lost = items(shown)
    assert [part["type"] for part in item["content"]] == ["output_text"]
    assert lost == ["input[0].content[1] (dropped)"]


def test_the_text_of_an_output_is_input_text() -> None:
    """responses.request.14"""
    (item,), lost = items(FunctionCallOutput(call_id="c", output=[PlainText(text="4")]))
    assert item["output"] == [{"type": "input_text", "text": "4"}]
    assert lost == ["input[0].output[0] (changed)"]


@pytest.mark.parametrize(
    "part", [InputAudio(input_audio=AudioData(data="AA==", format="wav")), InputVideo(video_url="u")]
)
def test_sound_and_video_go_only_to_hosts_that_take_them(part: Any) -> None:
    """responses.request.15"""
    message = Message(role="user", content=[InputText(text="Hi"), part])
    (item,), lost = items(message)
    assert len(item["content"]) == 1
    assert lost == ["input[0].content[1] (dropped)"]
    (item,), lost = items(message, dialect=ResponsesDialect(parts=("input_audio", "input_video")))
    assert len(item["content"]) == 2
    assert lost == []


def test_a_message_of_which_nothing_is_left_is_not_sent() -> None:
    """responses.request.15"""
    found, lost = items(Message(role="user", content=[InputVideo(video_url="u")]))
    assert found == []
    assert lost == ["input[0].content[0] (dropped)", "input[0] (dropped)"]


def test_a_stretch_of_the_prompt_is_cached_for_the_nearest_time_the_host_knows() -> None:
    """responses.request.38"""
    parts: list[Any] = [InputText(text=ttl, prompt_cache_breakpoint=CacheBreakpoint(ttl=ttl)) for ttl in ("12h", "5m")]
    (item,), lost = items(Message(role="user", content=parts))
    assert [part["prompt_cache_breakpoint"]["ttl"] for part in item["content"]] == ["12h", "30m"]
    assert lost == ["input[0].content[1].prompt_cache_breakpoint.ttl (changed)"]
    assert parts[1].prompt_cache_breakpoint.ttl == "5m"


# --- tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tools",
    [
        [FunctionTool(name="f"), FunctionTool(name="f")],
        [FunctionTool(name="")],
    ],
)
def test_tools_nobody_could_tell_apart_or_call_are_refused(tools: list[Any]) -> None:
    """responses.request.16, BUGS 41"""
    body, lost = wire.encode_request(Request(tools=tools))
    assert [loss.kind for loss in lost] == ["refused"]
    assert body.tools == tools


def test_a_kind_of_tool_the_host_lacks_is_a_loss() -> None:
    """responses.request.21"""
    tools: list[Any] = [FunctionTool(name="f"), CodeInterpreterTool(container="c"), Unknown({"type": "x_search"})]
    body, lost = sent(Request(tools=tools), ResponsesDialect(tools=("function",)))
    assert [tool["type"] for tool in body["tools"]] == ["function"]
    assert lost == ["tools[1] (dropped)", "tools[2] (dropped)"]
    assert len(tools) == 3


# --- hosts ----------------------------------------------------------------------------------------------------------


def test_a_field_the_host_lacks_is_left_out_and_reported() -> None:
    """responses.request.17"""
    dialect = ResponsesDialect(lacks=("store", "truncation", "include"))
    assert sent(Request(store=True, truncation="auto", include=["a"]), dialect) == (
        {},
        ["store (dropped)", "truncation (dropped)", "include (dropped)"],
    )


def test_a_value_that_asks_for_what_the_host_does_anyway_is_no_loss() -> None:
    """responses.request.17"""
    dialect = ResponsesDialect(lacks=("store", "truncation", "background"))
    assert sent(Request(store=False, truncation="disabled", background=False), dialect) == ({}, [])


def test_a_host_that_takes_one_value_gets_no_other() -> None:
    """responses.request.18"""
    dialect = ResponsesDialect(only={"store": False, "tool_choice": "auto"})
    assert sent(Request(store=False, tool_choice="auto"), dialect) == ({"store": False, "tool_choice": "auto"}, [])
    assert sent(Request(store=True, tool_choice="required"), dialect) == (
        {},
        ["store (dropped)", "tool_choice (dropped)"],
    )


@pytest.mark.parametrize("name", ["previous_response_id", "conversation"])
def test_a_host_that_keeps_nothing_cannot_be_tied_to_what_was_kept(name: str) -> None:
    """responses.request.19"""
    given: dict[str, Any] = {name: "resp_1"}
    assert sent(Request(**given), STATELESS) == ({}, [f"{name} (refused)"])


def test_a_host_that_keeps_nothing_cannot_look_up_an_item() -> None:
    """responses.request.19"""
    found, lost = items(ItemReference(id="msg_1"), Message(role="user", content="Hi"), dialect=STATELESS)
    assert len(found) == 1
    assert lost == ["input[0] (refused)"]


def test_a_reference_keeps_its_id_whatever_it_begins_with() -> None:
    assert items(ItemReference(id="x"))[0] == [{"type": "item_reference", "id": "x"}]


def test_a_stored_prompt_is_refused_by_a_host_without() -> None:
    """responses.request.20"""
    assert sent(Request(prompt=Prompt(id="p")), ResponsesDialect(lacks=("prompt",))) == ({}, ["prompt (refused)"])


def test_the_nearest_effort_is_asked_for() -> None:
    """responses.request.22"""
    dialect = ResponsesDialect(efforts={"medium": "high"})
    body, lost = sent(Request(reasoning=ReasoningOptions(effort="medium", summary="auto")), dialect)
    assert body == {"reasoning": {"effort": "high", "summary": "auto"}}
    assert lost == ["reasoning.effort (changed)"]
    assert sent(Request(reasoning=ReasoningOptions(effort="low")), dialect)[1] == []


GROUPED = ResponsesDialect(groups_calls=True)


def call(name: str) -> FunctionCall:
    return FunctionCall(call_id=name, name=name, arguments="{}")


def output(name: str) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=name, output=name)


def said(text: str) -> Message:
    return Message(role="assistant", content=text)


def order(found: list[Any]) -> str:
    return " ".join(item.get("content") or item["call_id"] for item in found)


def test_what_was_said_between_calls_moves_before_them() -> None:
    """responses.request.23"""
    given = [said("one"), call("a"), said("two"), call("b"), output("a"), said("three"), output("b"), said("end")]
    found, lost = items(*given, dialect=GROUPED)
    assert order(found) == "one two three a b a b end"
    assert lost == ["input[2] (changed)", "input[5] (changed)"]


def test_rounds_that_are_closed_stay_as_they_are() -> None:
    """responses.request.23"""
    custom = CustomToolCall(call_id="c", name="x", input="")
    given = [call("a"), output("a"), call("b"), output("b"), said("x"), custom, Message(role="user", content="stop")]
    found, lost = items(*given, dialect=GROUPED)
    assert order(found) == "a a b b x c stop"
    assert lost == []


# --- the client's wish ----------------------------------------------------------------------------------------------

KEEPING_NOTHING = ResponsesDialect(asks_to_keep_nothing=True, model_reasons=True)


def test_nothing_is_kept_where_the_client_wants_it_and_the_request_says_nothing() -> None:
    """responses.request.25"""
    assert sent(Request(model="m"), KEEPING_NOTHING) == (
        {"model": "m", "store": False, "include": ["reasoning.encrypted_content"]},
        [],
    )


def test_what_the_request_includes_stays() -> None:
    """responses.request.25"""
    body, _ = sent(Request(include=["a", "reasoning.encrypted_content"]), KEEPING_NOTHING)
    assert body == {"store": False, "include": ["a", "reasoning.encrypted_content"]}
    body, _ = sent(Request(include=["a"]), KEEPING_NOTHING)
    assert body["include"] == ["a", "reasoning.encrypted_content"]


@pytest.mark.parametrize(
    "options",
    [{"store": True}, {"previous_response_id": "resp_1"}, {"conversation": "c"}, {"background": True}],
)
def test_a_request_that_says_where_it_is_kept_is_left_alone(options: dict[str, Any]) -> None:
    """responses.request.25"""
    assert sent(Request(**options), KEEPING_NOTHING) == (options, [])


@pytest.mark.parametrize(
    ("reasons", "asked", "included"),
    [
        (True, {}, True),
        (True, {"include": None}, True),
        (True, {"include": []}, False),
        (None, {}, False),
        (None, {"reasoning": ReasoningOptions(effort="low")}, True),
        (None, {"reasoning": None}, False),
        (None, {"reasoning": ReasoningOptions(effort="low"), "include": []}, False),
        (False, {}, False),
        (False, {"reasoning": ReasoningOptions(summary="auto")}, False),
    ],
)
def test_encrypted_reasoning_is_asked_for_only_where_the_model_is_known_or_told_to_reason(
    reasons: bool | None, asked: dict[str, Any], included: bool
) -> None:
    """responses.request.25"""
    dialect = ResponsesDialect(asks_to_keep_nothing=True, model_reasons=reasons)
    body, lost = sent(Request(model="gpt-4.1", **asked), dialect)
    assert (body["store"], lost) == (False, [])
    assert ("reasoning.encrypted_content" in (body.get("include") or ())) is included


def test_what_the_caller_includes_is_sent_whatever_the_model_is() -> None:
    """responses.request.25"""
    dialect = ResponsesDialect(asks_to_keep_nothing=True, model_reasons=False)
    asked = Request(include=["reasoning.encrypted_content"])
    assert sent(asked, dialect) == ({"store": False, "include": ["reasoning.encrypted_content"]}, [])


def test_a_host_that_cannot_include_is_not_asked_to() -> None:
    """responses.request.25"""
    dialect = ResponsesDialect(asks_to_keep_nothing=True, model_reasons=True, lacks=("include",))
    assert sent(Request(), dialect) == ({"store": False}, [])


# --- the way back ---------------------------------------------------------------------------------------------------


def test_the_model_of_the_url_fills_in_for_a_body_without_one() -> None:
    """responses.request_back.18"""
    assert wire.decode_request(Request(), model="m")[0].model == "m"
    assert wire.decode_request(Request(model="own"), model="m")[0].model == "own"


def test_what_had_to_be_put_right_in_a_call_is_told() -> None:
    """responses.request_back.15"""
    document = b'{"input":[{"type":"function_call","call_id":"c","name":"f","arguments":{"a":1}}]}'
    request, lost = wire.decode_request(wire.REQUEST.decode(document))
    assert request.input == [FunctionCall(call_id="c", name="f", arguments='{"a":1}')]
    assert lost == [Loss("input[0]", "its arguments were an object instead of text", "changed")]


@pytest.mark.parametrize(
    ("item", "what"),
    [
        ('{"type":null,"role":"user","content":"Hi"}', "it had no type"),
        ('{"type":"message","role":"user","content":null}', "its content was null"),
        ('{"type":"function_call_output","output":"4"}', "it had no call_id"),
        ('{"type":"function_call","id":"fc_1","name":"f","arguments":"{}"}', "it had no call_id, read as its other id"),
    ],
)
def test_what_had_to_be_put_right_is_told_once(item: str, what: str) -> None:
    """responses.request_back.19, BUGS 87"""
    written = wire.REQUEST.decode(f'{{"input":[{item}]}}')
    request, lost = wire.decode_request(written)
    sent, more = wire.encode_request(request)
    assert ([*lost, *more], wire.encode_request(written)) == ([Loss("input[0]", what, "changed")], (sent, lost))


def test_a_note_about_repairs_that_somebody_made_up_is_no_trouble() -> None:
    item = '{"type":"message","role":"user","content":"Hi","leftovers":{"openai_responses":{"repaired":5}}}'
    request, lost = wire.decode_request(wire.REQUEST.decode(f'{{"input":[{item}]}}'))
    assert (request.input, lost) == ([Message(role="user", content="Hi")], [])


def test_the_request_goes_where_the_dialect_says() -> None:
    assert wire.route(Request()).path == "/responses"
    assert wire.route(Request(), dialect=ResponsesDialect(path="/v1/responses"), stream=True).path == "/v1/responses"


def test_instructions_in_the_middle_of_a_conversation_stay_where_they_are() -> None:
    """BUGS 42"""
    given: list[Any] = [
        Message(role="user", content="Hi"),
        Message(role="developer", content="Be brief."),
        Message(role="assistant", content="Hm."),
        Message(role="system", content="Be kind."),
    ]
    assert wire.encode_request(Request(input=given))[0].input is given


def test_how_soon_a_background_response_is_needed_is_said_in_the_format_itself() -> None:
    """responses.request.1"""
    document = {"background": True, "background_options": {"completion_window": "8h", "continuation_id": "job-1"}}
    request = wire.REQUEST.decode(msgspec.json.encode(document))
    assert request.background_options == BackgroundOptions(completion_window="8h", continuation_id="job-1")
    assert sent(request) == (document, [])
