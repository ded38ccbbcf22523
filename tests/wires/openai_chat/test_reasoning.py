"""Reasoning and the state of its issuer: read, shown, sent back to whom it belongs, and to nobody else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import (
    REQUEST,
    FunctionCall,
    FunctionCallOutput,
    Message,
    OutputText,
    Reasoning,
    ReasoningText,
    Request,
    Response,
    SummaryText,
)
from llm_rest.responses.carriers import seal
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
from tests.support.streams import assembled
from tests.wires.openai_chat import CALL, answered, asked, messages, plain, said, told

TOLD = FunctionCallOutput(call_id="c1", output="Rain")
SIGNED = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln/+==", "format": "anthropic-claude-v1", "index": 0}
HIDDEN = {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "rs_1", "format": "openai-responses-v1", "index": 1}
SUMMARY = {"type": "reasoning.summary", "summary": "**Hm**", "format": "openai-responses-v1", "index": 0}


def replayed(host: str, message: dict[str, Any], *after: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """What is sent back of a host's answer on the next turn, after a walk through a file, and the losses."""
    dialect = CHAT_HOSTS[host]
    response, _ = answered(said(**message), dialect)
    request = Request(input=[*response.output, *after])
    body, lost = wire.encode_request(REQUEST.decode(msgspec.json.encode(request)), dialect=dialect)
    return plain(body)["messages"], told(lost)


# --- back to the host that issued it --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "field"),
    [
        ("deepseek", "reasoning_content"),
        ("moonshot", "reasoning_content"),
        ("groq", "reasoning"),
        ("vllm", "reasoning"),
    ],
)
def test_text_goes_back_with_the_calls_it_led_to(host: str, field: str) -> None:
    """chat.request.21 and BUGS 5"""
    message = {"content": "I look.", field: "Hm.", "tool_calls": [CALL], "finish_reason": "tool_calls"}
    sent, lost = replayed(host, message, TOLD)
    assert sent[0] == {"role": "assistant", "content": "I look.", field: "Hm.", "tool_calls": [CALL]}
    assert lost == []


def test_without_calls_it_goes_back_only_where_it_is_wanted() -> None:
    """chat.request.21 and BUGS 5"""
    message = {"content": "a", "reasoning_content": "Hm."}
    assert replayed("deepseek", message) == ([{"role": "assistant", "content": "a"}], ["input[0] (withheld)"])
    assert replayed("zai", message) == ([{"role": "assistant", **message}], [])
    assert replayed("xai", message) == ([{"role": "assistant", "content": "a"}], ["input[0] (withheld)"])


def test_where_nothing_is_known_a_host_that_requires_the_field_gets_an_empty_text() -> None:
    """chat.request.21 and BUGS 5"""
    ask = FunctionCall(call_id="c1", name="weather", arguments='{"city":"Oslo"}')
    found, lost = messages(ask, TOLD, dialect=CHAT_HOSTS["deepseek"])
    assert found[0] == {"role": "assistant", "content": None, "reasoning_content": "", "tool_calls": [CALL]}
    assert lost == []


def test_details_go_back_unchanged() -> None:
    """chat.request.21, BUGS 1 and 8"""
    for details in ([SIGNED], [SUMMARY, HIDDEN], [HIDDEN], [{**SIGNED, "text": None}, {"type": "later", "x": [1]}]):
        sent, lost = replayed("openrouter", {"content": "a", "reasoning_details": details})
        assert sent == [{"role": "assistant", "content": "a", "reasoning_details": details}]
        assert lost == []


def test_what_can_be_read_in_details_is_read() -> None:
    """chat.response.4"""
    response, _ = answered(said(content="a", reasoning_details=[SUMMARY, SIGNED, HIDDEN]), CHAT_HOSTS["openrouter"])
    thought = response.output[0]
    assert isinstance(thought, Reasoning)
    assert thought.summary == [SummaryText(text="**Hm**")]
    assert thought.content == [ReasoningText(text="Hm.")]


def test_thinking_parts_go_back_as_parts() -> None:
    """chat.request.21"""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "signature": "s", "closed": False}
    content = [thought, {"type": "text", "text": "a"}]
    assert replayed("mistral", {"content": content}) == ([{"role": "assistant", "content": content}], [])


def test_references_in_a_thought_go_back_where_they_stood() -> None:
    """chat.request.21"""
    pieces = [
        {"type": "text", "text": "See"},
        {"type": "reference", "reference_ids": [1]},
        {"type": "text", "text": ".", "a": 1},
    ]
    content = [{"type": "thinking", "thinking": pieces}, {"type": "text", "text": "a"}]
    assert replayed("mistral", {"content": content}) == ([{"role": "assistant", "content": content}], [])
    request, _ = asked(CHAT_HOSTS["mistral"], messages=[{"role": "assistant", "content": content}])
    (thought,) = [item for item in request.input or () if isinstance(item, Reasoning)]
    assert [part.text for part in thought.content or ()] == ["See", "."]


def test_a_thought_without_text_or_calls_survives() -> None:
    """chat.request.21 and BUGS 6"""
    sent, lost = replayed("zai", {"content": "", "reasoning_content": "Hm."}, Message(role="user", content="Go on."))
    assert sent[0] == {"role": "assistant", "content": "", "reasoning_content": "Hm."}
    assert lost == []


def test_a_message_that_would_say_nothing_without_its_thought_is_not_sent() -> None:
    """chat.request.21"""
    message = {"content": "", "reasoning_content": "Hm."}
    assert replayed("deepseek", message, Message(role="user", content="Go on.")) == (
        [{"role": "user", "content": "Go on."}],
        ["input[0] (withheld)"],
    )


def test_think_tags_go_back_as_tags() -> None:
    """chat.request.21"""
    content = "<think>Hm.</think>\n\na"
    dialect = CHAT_HOSTS["minimax"]
    response, _ = answered(said(content=content), dialect)
    body, _ = wire.encode_request(Request(input=[*response.output]), dialect=dialect)
    assert plain(body)["messages"][0]["content"] == content


# --- signatures on calls and messages -------------------------------------------------------------------------------

STATE = {"google": {"thought_signature": "c2ln"}}
GOOGLE = CHAT_HOSTS["google"]


def test_the_signature_of_a_call_stands_before_it_and_goes_back_with_it() -> None:
    """chat.response.23 and chat.request.21"""
    call = {**CALL, "extra_content": STATE}
    response, _ = answered(said(content=None, tool_calls=[call], finish_reason="tool_calls"), GOOGLE)
    assert [type(item) for item in response.output] == [Reasoning, FunctionCall]
    sent, lost = replayed("google", {"content": None, "tool_calls": [call], "finish_reason": "tool_calls"}, TOLD)
    assert sent[0]["tool_calls"] == [call]
    assert lost == []


def test_the_signature_of_a_text_stands_after_it_and_goes_back_with_it() -> None:
    """chat.response.23 and chat.request.21"""
    message = {"content": "a", "extra_content": STATE, "thought_signature": "c2ln"}
    sent, lost = replayed("google", message, Message(role="user", content="Hi"))
    assert sent[0] == {"role": "assistant", **message}
    assert lost == []


def test_the_signature_of_a_text_that_was_edited_stays_behind() -> None:
    """chat.request.21"""
    response, _ = answered(said(content="a", extra_content=STATE), GOOGLE)
    message, carrier = response.output
    message = Message(role="assistant", content=[OutputText(text="b")])
    sent, lost = messages(message, carrier, dialect=GOOGLE)
    assert "extra_content" not in sent[0]
    assert lost == ["input[1].encrypted_content (dropped)"]


def test_a_call_whose_signature_was_lost_gets_the_documented_dummy_once_per_turn() -> None:
    """chat.request.21"""
    calls = [FunctionCall(call_id=name, name="now", arguments="{}") for name in ("c1", "c2")]
    outputs = [FunctionCallOutput(call_id=name, output="12") for name in ("c1", "c2")]
    sent, _ = messages(*calls, *outputs, dialect=GOOGLE)
    first, second = sent[0]["tool_calls"]
    assert first["extra_content"] == GOOGLE.missing_call_state
    assert "extra_content" not in second


def test_a_document_of_the_host_itself_gets_no_dummy() -> None:
    asked(
        GOOGLE,
        messages=[{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c1", "content": ""}],
    )


def test_state_of_a_call_that_is_gone_is_told() -> None:
    """chat.request.21"""
    call = {**CALL, "extra_content": STATE}
    response, _ = answered(said(content=None, tool_calls=[call], finish_reason="tool_calls"), GOOGLE)
    assert messages(response.output[0], dialect=GOOGLE) == ([], ["input (dropped)"])


# --- not to anybody else --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["openai", "deepseek", "openrouter", "mistral", "ollama", "compatible"])
@pytest.mark.parametrize(
    "thought",
    [
        Reasoning(summary=[SummaryText(text="Hm.")]),
        Reasoning(summary=[], content=[ReasoningText(text="Hm.")], encrypted_content="gAAAA"),
        Reasoning(summary=[], encrypted_content=seal("anthropic_messages", "anthropic", {"type": "x"})),
        Reasoning(summary=[], encrypted_content=seal("openai_chat", "somebody", {"type": "thought"})),
    ],
)
def test_reasoning_of_others_is_withheld_and_never_told_as_ones_own(host: str, thought: Reasoning) -> None:
    """chat.request.21, BUGS 3 and 4"""
    found, lost = messages(thought, Message(role="assistant", content="a"), dialect=CHAT_HOSTS[host])
    assert found == [{"role": "assistant", "content": "a"}]
    assert lost == ["input[0] (withheld)"]


def test_a_forged_envelope_is_withheld() -> None:
    for body in ("e30", "!!!", "bnVsbA"):
        thought = Reasoning(summary=[], encrypted_content=f"llm_rest.1.openai_chat.deepseek.{body}")
        assert messages(thought, dialect=CHAT_HOSTS["deepseek"]) == ([], ["input[0] (withheld)"])


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("openrouter", {"reasoning_details": [SIGNED]}),
        ("openrouter", {"reasoning_details": [SUMMARY, HIDDEN]}),
        ("minimax", {"reasoning_details": [SIGNED]}),
        ("zai", {"reasoning_content": "Hm."}),
        ("vllm", {"reasoning": "Hm."}),
        ("mistral", {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}),
    ],
)
def test_reasoning_that_comes_back_without_its_text_stays_behind(host: str, message: dict[str, Any]) -> None:
    """chat.request.21"""
    dialect = CHAT_HOSTS[host]
    response, _ = answered(said(**{"content": None, **message}, tool_calls=[{**CALL, "id": "abcdefghi"}]), dialect)
    for item in response.output:
        if isinstance(item, Reasoning):
            item.summary, item.content = [], None
    result = FunctionCallOutput(call_id="abcdefghi", output="12")
    found, lost = messages(*response.output, result, dialect=dialect)
    assert set(found[0]) <= {"role", "content", "tool_calls"}
    assert (found[0].get("content"), found[0]["tool_calls"][0]["id"]) == (None, "abcdefghi")
    assert lost == ["input[0] (dropped)"]


def test_signed_reasoning_whose_text_was_edited_goes_back_unsigned() -> None:
    """chat.request.21"""
    dialect = CHAT_HOSTS["openrouter"]
    response, _ = answered(said(content="a", reasoning_details=[SIGNED]), dialect)
    thought = response.output[0]
    assert isinstance(thought, Reasoning)
    thought.content = [ReasoningText(text="Hmm.")]
    found, lost = messages(*response.output, dialect=dialect)
    assert found[0]["reasoning_details"] == [{"type": "reasoning.text", "text": "Hmm."}]
    assert lost == ["input[0].encrypted_content (dropped)"]


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("openai", {"content": "a", "reasoning_content": "Hm."}),
        ("ollama", {"content": "a", "reasoning": "Hm."}),
        ("deepseek", {"content": None, "reasoning_content": "Hm.", "tool_calls": [CALL]}),
        ("openrouter", {"content": "a", "reasoning": "Hm.", "reasoning_details": [SIGNED]}),
        ("openrouter", {"content": "a", "reasoning": "Other.", "reasoning_details": [SIGNED]}),
        ("openrouter", {"content": "a", "reasoning_details": []}),
        ("mistral", {"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "a"}]}),
        ("huggingface", {"content": "a", "reasoning": None, "reasoning_content": "Hm."}),
    ],
)
def test_reasoning_in_a_request_comes_back_as_it_came(host: str, message: dict[str, Any]) -> None:
    """chat.request_back.8"""
    after = [{"role": "tool", "tool_call_id": "c1", "content": ""}] if "tool_calls" in message else []
    request, lost = asked(CHAT_HOSTS[host], messages=[{"role": "assistant", **message}, *after])
    assert lost == []
    assert isinstance(request.input, list)


def test_two_thoughts_of_one_turn_are_joined_and_told() -> None:
    """chat.request.21"""
    dialect = CHAT_HOSTS["zai"]
    first, _ = answered(said(content=None, reasoning_content="One.", tool_calls=[CALL]), dialect)
    second, _ = answered(said(content=None, reasoning_content="Two.", tool_calls=[{**CALL, "id": "c2"}]), dialect)
    outputs = [FunctionCallOutput(call_id=name, output="12") for name in ("c1", "c2")]
    found, lost = messages(*first.output, *second.output, *outputs, dialect=dialect)
    assert found[0]["reasoning_content"] == "One.\n\nTwo."
    assert lost == ["input[0] (changed)", "input[2] (changed)"]


def test_the_state_of_other_vendors_has_details_that_clients_can_put_together() -> None:
    """chat.response_back.12: clients join the details of a stream by `index`, so no two of ours have the same"""
    sealed = [seal("anthropic_messages", "anthropic", {"type": name}) for name in "xy"]
    items = [
        Reasoning(summary=[SummaryText(text=f"{i}.")], encrypted_content=state) for i, state in enumerate(sealed, 1)
    ]
    body, _ = wire.encode_response(Response(id="r", status="completed", output=[*items]))
    details = plain(body)["choices"][0]["message"]["reasoning_details"]
    assert [detail["index"] for detail in details] == [0, 1, 2, 3]
    again = {"model": "m", "messages": [{"role": "assistant", "content": "Hi", "reasoning_details": details}]}
    request, _ = wire.decode_request(wire.REQUEST.decode(msgspec.json.encode(again)))
    assert [item.encrypted_content for item in request.input or () if isinstance(item, Reasoning)] == sealed


SIGNATURE = {"google": {"thought_signature": "c2ln"}}
MALFORMED: list[dict[str, Any]] = [
    {"id": "", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}},
    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a'}},
    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": None}},
    {"id": "c1", "type": "function", "function": {"name": "nowhere", "arguments": "null"}},
    {"id": "c1", "name": "f", "arguments": "{}"},
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("call", MALFORMED)
@pytest.mark.parametrize("host", ["google", "openrouter"])
def test_a_call_that_was_repaired_or_refused_keeps_its_signature(
    host: str, call: dict[str, Any], streamed: bool
) -> None:
    dialect = CHAT_HOSTS[host]
    message: dict[str, Any] = {"tool_calls": [call], "reasoning_details": [SIGNED]}
    if host == "google":
        message = {"tool_calls": [{**call, "extra_content": SIGNATURE}]}
    document = said(content=None, finish_reason="tool_calls", **message)
    if streamed:
        choice = {"index": 0, "delta": message, "finish_reason": "tool_calls"}
        machine = wire.decode_stream(dialect=dialect)
        events = machine.feed(wire.EVENT.decode(msgspec.json.encode({**document, "choices": [choice]})))
        items = assembled([*events, *machine.end()]).output
    else:
        items = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)), dialect=dialect)[0].output
    last = items[-1]
    assert isinstance(last, FunctionCall)
    refused = FunctionCallOutput(call_id=last.call_id, output="not a tool, or not its arguments", is_error=True)
    found, _ = messages(*items, refused, dialect=dialect)
    if host == "google":
        assert found[0]["tool_calls"][0]["extra_content"] == SIGNATURE
    else:
        assert found[0]["reasoning_details"] == [SIGNED]
