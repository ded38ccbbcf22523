"""Requests on their way to a host of the Responses wire."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from llm_rest.losses import Loss
from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
    ReasoningOptions,
    Request,
    WebSearchCall,
)
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.wires import openai_responses as wire
from tests.support.facts import plain
from tests.support.hosts import facts

# --- hosts ----------------------------------------------------------------------------------------------------------


ITEMS: dict[str, Any] = {
    "r1": Reasoning(id="rs_1", encrypted_content="g1"),
    "r2": Reasoning(id="rs_2", encrypted_content="g2"),
    "foreign": Reasoning(id="rs_3", encrypted_content="llm_rest.1.openai_responses.xai.e30"),
    "c1": FunctionCall(id="fc_1", call_id="call_1", name="f", arguments="{}"),
    "c2": FunctionCall(id="fc_2", call_id="call_2", name="f", arguments="{}"),
    "o1": FunctionCallOutput(call_id="call_1", output="1"),
    "o2": FunctionCallOutput(call_id="call_2", output="2"),
    "m": Message(id="msg_1", role="assistant", content="Hi"),
    "u": Message(id="msg_2", role="user", content="Hi"),
    "search": WebSearchCall(id="ws_1", status="completed"),
}


@pytest.mark.parametrize(
    ("items", "sent_items"),
    [
        ("u r1 c1 o1 r2 m u", "u+ r1+ c1+ o1 r2+ m+ u+"),
        ("u r1 r2 c1 o1", "u+ r1+ r2+ c1+ o1"),
        ("u r1 c1 c2 o1 o2", "u+ r1+ c1+ c2+ o1 o2"),
        ("u c1 o1 r2 m", "u+ c1+ o1 r2+ m+"),  # as recorded where the model did not reason
        ("u r1 c1 c2 o1 o2 m", "u+ r1+ c1+ c2+ o1 o2 m+"),
        ("u r1 m c1 o1 u", "u+ r1+ m+ c1+ o1 u+"),
        ("u r1 o1 r2 u", "u+ o1 u+"),  # what followed reasoning was taken out
        ("u r1 m r2 u", "u+ r1+ m+ u+"),
        ("u foreign r1 c1 o1", "u+ r1+ c1+ o1"),
        ("u foreign c1 c2 o1 o2 m", "u+ c1 c2 o1 o2 m+"),
        ("u r1 search m", "u+ r1+ search+ m+"),
        ("u foreign search m u search", "u+ m u+ search+"),
    ],
)
def test_what_followed_reasoning_that_is_not_sent_loses_its_id(items: str, sent_items: str) -> None:
    """`+` marks an item that is sent with its id."""
    request = Request(input=[ITEMS[name] for name in items.split()], reasoning=ReasoningOptions(effort="low"))
    names = {msgspec.json.encode(replace(item, id=None)): name for name, item in ITEMS.items()}
    body, _ = wire.encode_request(request)
    assert isinstance(body.input, list)
    sent: list[Any] = body.input
    found = [f"{names[msgspec.json.encode(replace(item, id=None))]}{'+' * bool(item.id)}" for item in sent]
    assert " ".join(found) == sent_items


# --- the way back ---------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("dialect", "path"),
    [
        (ResponsesDialect(), "/responses"),
        (ResponsesDialect(path="/x/responses"), "/x/responses"),
        (facts("ollama", "openai_responses"), "/v1/responses"),
    ],
)
def test_the_request_goes_where_the_dialect_says(dialect: ResponsesDialect, path: str) -> None:
    assert wire.route(Request(), dialect=dialect).path == path
    assert wire.route(Request(), dialect=dialect, stream=True).path == path


def test_ollama_keeps_nothing_and_gets_the_ids_of_messages() -> None:
    """responses.request.33"""
    message = Message(id="x", role="user", content="Hi")
    body, _ = wire.encode_request(Request(input=[message]), dialect=facts("ollama", "openai_responses"))
    assert plain(body)["input"][0]["id"] == "x"
