"""Encrypted reasoning and compactions: they return to who issued them, unchanged, and to nobody else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Struct

from llm_rest.responses import (
    Compaction,
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
    ReasoningText,
    Request,
    Response,
    SummaryText,
)
from llm_rest.responses.carriers import PREFIX, seal
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.wires import openai_responses as wire

XAI = ResponsesDialect(issuer="xai")
RAW_REASONING = ResponsesDialect(issuer="deepseek", takes_reasoning_text=True, checks_ids=False, stateless=True)


class Signature(Struct, tag="signature"):
    value: str


FOREIGN = seal("anthropic_messages", "anthropic", Signature("EqQB"))


def answer(*output: Any) -> Response:
    return Response(id="resp_1", status="completed", output=list(output))


def replayed(dialect: ResponsesDialect, *items: Any, **options: Any) -> tuple[list[Any], list[str]]:
    body, lost = wire.encode_request(Request(input=list(items), **options), dialect=dialect)
    assert isinstance(body.input, list)
    return body.input, [f"{loss.path} ({loss.kind})" for loss in lost]


# --- the wire's own vendor ------------------------------------------------------------------------------------------


def test_ciphertext_of_the_own_vendor_stays_raw_on_both_ways() -> None:
    """responses.request.9, responses.response.1, BUGS 8"""
    reasoning = Reasoning(id="rs_1", summary=[], encrypted_content="gAAAAB-_==")
    decoded, _ = wire.decode_response(answer(reasoning))
    assert decoded.output == [reasoning]
    assert replayed(ResponsesDialect(), *decoded.output) == ([reasoning], [])


@pytest.mark.parametrize(
    "item", [Reasoning(summary=[], encrypted_content="gAAA"), Compaction(encrypted_content="gAAA")]
)
def test_ciphertext_of_the_own_vendor_goes_to_no_other(item: Any) -> None:
    """responses.request.9"""
    assert replayed(XAI, item) == ([], ["input[0].encrypted_content (withheld)"])


@pytest.mark.parametrize("issuer", ["openai", "azure_openai", "simulator"])
@pytest.mark.parametrize("fields", ['"status":"completed"', '"status":null,"content":null', '"content":[]'])
def test_a_reasoning_item_returns_to_openai_and_azure_without_what_they_refuse(issuer: str, fields: str) -> None:
    """responses.request.41"""
    item = f'{{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA",{fields}}}'
    request = wire.REQUEST.decode(f'{{"model":"m","input":[{item}]}}')
    dialect = ResponsesDialect(issuer=issuer)
    if dialect.seals:
        assert isinstance(request.input, list)
        request.input = wire.decode_response(answer(*request.input), dialect=dialect)[0].output
    body, lost = wire.encode_request(request, dialect=dialect)
    assert msgspec.json.decode(msgspec.json.encode(body))["input"] == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    ]
    assert lost == [], "a status of reasoning says nothing"


def test_the_text_of_reasoning_that_openai_refuses_is_lost() -> None:
    """responses.request.41"""
    thought = Reasoning(id="rs_1", summary=[], content=[ReasoningText(text="Hm.")], encrypted_content="gAAA")
    left = Reasoning(id="rs_1", summary=[], encrypted_content="gAAA")
    assert replayed(ResponsesDialect(), thought) == ([left], ["input[0].content (dropped)"])


def test_other_hosts_get_the_status_of_reasoning_back() -> None:
    thought = Reasoning(id="rs_1", summary=[], status="completed")
    assert replayed(ResponsesDialect(issuer="meta"), thought) == ([thought], [])


# --- others ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [Reasoning(id="rs_1", summary=[], encrypted_content="opaque"), Compaction(id="cmp_1", encrypted_content="o")],
)
def test_ciphertext_of_another_host_returns_to_it_alone(item: Any) -> None:
    """responses.response.2, responses.request.11, BUGS 11"""
    decoded, _ = wire.decode_response(answer(item), dialect=XAI)
    (carrier,) = decoded.output
    assert isinstance(carrier, Reasoning | Compaction)
    assert str(carrier.encrypted_content).startswith(PREFIX)
    # A walk through a file.
    kept = wire.RESPONSE.decode(msgspec.json.encode(decoded)).output
    assert replayed(XAI, *kept) == ([item], [])
    assert replayed(ResponsesDialect(), *kept) == ([], ["input[0].encrypted_content (withheld)"])
    assert wire.encode_response(decoded, dialect=XAI)[0].output == [item]


def test_a_request_that_arrives_for_a_host_is_wrapped_as_well() -> None:
    """responses.request_back.17"""
    item = Reasoning(id="rs_1", summary=[], encrypted_content="opaque")
    request, _ = wire.decode_request(Request(input=[item]), dialect=XAI)
    assert isinstance(request.input, list)
    assert replayed(ResponsesDialect(), *request.input)[0] == []
    assert replayed(XAI, *request.input) == ([item], [])


def test_an_envelope_in_an_answer_is_not_wrapped_twice() -> None:
    item = Reasoning(id="rs_1", summary=[], encrypted_content=FOREIGN)
    assert wire.decode_response(answer(item), dialect=XAI)[0].output == [item]


def test_foreign_thoughts_stay_behind_and_are_told() -> None:
    """responses.request.10, BUGS 3 and 4"""
    thought = Reasoning(
        summary=[SummaryText(text="Hm.")], content=[ReasoningText(text="Hm")], encrypted_content=FOREIGN
    )
    found, lost = replayed(ResponsesDialect(), Message(role="user", content="Hi"), thought)
    assert found == [Message(role="user", content="Hi")]
    assert lost == ["input[1].encrypted_content (withheld)"]


def test_what_a_held_back_thought_produced_loses_the_ids_that_name_it() -> None:
    """responses.request.10"""
    found, _ = replayed(
        ResponsesDialect(),
        Reasoning(id="rs_1", summary=[], encrypted_content=FOREIGN),
        Message(id="msg_1", role="assistant", content="Hm"),
        FunctionCall(id="fc_1", call_id="c", name="f", arguments="{}"),
        FunctionCallOutput(id="fc_2", call_id="c", output=""),
        FunctionCall(id="fc_3", call_id="d", name="f", arguments="{}"),
    )
    ids = [item.id for item in found]
    assert [bool(name) for name in ids] == [False, False, True, True]


@pytest.mark.parametrize(
    "forged",
    [f"{PREFIX}openai_responses.xai.bm9wZQ", f"{PREFIX}openai_responses.xai.!", f"{PREFIX}nonsense", PREFIX],
)
def test_a_forged_envelope_is_held_back(forged: str) -> None:
    """responses.request.10"""
    found, lost = replayed(XAI, Reasoning(summary=[], encrypted_content=forged))
    assert found == []
    assert lost == ["input[0].encrypted_content (withheld)"]


# --- without encryption ---------------------------------------------------------------------------------------------


def test_reasoning_nobody_kept_and_nobody_can_read_is_dropped() -> None:
    """responses.request.12"""
    thought = Reasoning(id="rs_1", summary=[SummaryText(text="Hm.")])
    assert replayed(ResponsesDialect(), thought, store=False) == ([], ["input[0] (dropped)"])
    assert replayed(ResponsesDialect(stateless=True), thought) == ([], ["input[0] (dropped)"])
    assert replayed(ResponsesDialect(), thought) == ([thought], [])


@pytest.mark.parametrize("name", [None, "think_1"])
def test_reasoning_the_server_could_not_have_kept_is_dropped(name: str | None) -> None:
    """responses.request.12"""
    assert replayed(ResponsesDialect(), Reasoning(id=name, summary=[]))[1] == ["input[0] (dropped)"]


def test_raw_reasoning_returns_to_the_host_that_wants_it_back() -> None:
    """responses.request.24"""
    thought = Reasoning(id="1e97", summary=[], content=[ReasoningText(text="Hm.")])
    decoded, _ = wire.decode_response(answer(thought), dialect=RAW_REASONING)
    assert replayed(RAW_REASONING, *decoded.output) == ([thought], [])
    assert replayed(ResponsesDialect(), *decoded.output)[0] == []


def test_raw_reasoning_of_unknown_origin_is_not_passed_off_as_the_hosts_own() -> None:
    """responses.request.24, BUGS 3"""
    thought = Reasoning(id="1e97", summary=[], content=[ReasoningText(text="Hm.")])
    assert replayed(RAW_REASONING, thought) == ([], ["input[0] (dropped)"])


def test_a_null_in_the_place_of_ciphertext_comes_back_as_null() -> None:
    """responses.request.11"""
    thought = Reasoning(id="1e97", summary=[], content=[ReasoningText(text="Hm.")], encrypted_content=None)
    decoded, _ = wire.decode_response(answer(thought), dialect=RAW_REASONING)
    assert replayed(RAW_REASONING, *decoded.output) == ([thought], [])


def test_a_thought_without_a_word_survives() -> None:
    """BUGS 6"""
    thought = Reasoning(id="rs_1", summary=[], encrypted_content="gAAA")
    assert replayed(ResponsesDialect(), thought) == ([thought], [])


def test_raw_reasoning_without_a_summary_is_kept_in_an_answer() -> None:
    """BUGS 7"""
    thought = Reasoning(id="rs_1", summary=[], content=[ReasoningText(text="Hm.")])
    assert wire.encode_response(wire.decode_response(answer(thought))[0])[0].output == [thought]


@pytest.mark.parametrize("arguments", [{"a": 1}, None, '{"a'])
def test_a_call_that_was_repaired_or_refused_keeps_the_reasoning_before_it(arguments: Any) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAB-_=="}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": arguments}
    document = {"id": "resp_1", "status": "completed", "output": [thought, call]}
    response, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)))
    refused = FunctionCallOutput(call_id="c1", output="not its arguments", is_error=True)
    items, _ = replayed(ResponsesDialect(), *response.output, refused)
    assert [type(item) for item in items] == [Reasoning, FunctionCall, FunctionCallOutput]
    assert items[0].encrypted_content == "gAAAAB-_=="


def test_raw_reasoning_that_comes_back_without_its_text_stays_behind() -> None:
    """responses.request.24"""
    thought = Reasoning(summary=[], content=[ReasoningText(text="Hm.")])
    decoded, _ = wire.decode_response(answer(thought), dialect=RAW_REASONING)
    bare = decoded.output[0]
    assert isinstance(bare, Reasoning)
    bare.content = None
    call = FunctionCall(call_id="c1", name="f", arguments="{}")
    assert replayed(RAW_REASONING, bare, call) == ([call], ["input[0] (dropped)"])
