"""Laws between the converters and the simulated vendors, which read nothing but the bytes that are sent to them.

The vendors judge the plain JSON by their own references, so what a converter gets wrong in both directions shows here.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest import simulator, wires
from llm_rest.responses import REQUEST, CustomToolCall, FunctionCall, FunctionCallOutput, Message, Request
from llm_rest.server.handler import Context
from llm_rest.simulator.refusals import problems
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.vendors.rows import DIALECTS, VENDORS
from tests import peers
from tests.laws import strategies

MODELS = ("gpt-5", "claude-haiku-4-5", "claude-opus-5-5", "some-model")

CALLERS_FAULT = re.compile(
    r"'.*\.x_|'x_|: x_|vendor:|word 'json'|[Tt]ool.choice|no tool named|below minimum value|Invalid schema|Invalid '(text|tools)"
    r"|must be provided|'sometimes'|not found in provided tools|at least one message|does not support assistant message prefill"
)
"""What generated requests do wrong by themselves: unknown fields, tools that are not offered, limits, no message."""


def dialects(wire: str) -> list[Any]:
    """The dialect of every vendor of a wire, each once."""
    spoken = [surface.dialect for vendor in VENDORS.values() for surface in vendor.surfaces if surface.wire == wire]
    found: list[Any] = [DIALECTS[wire]()]
    found += [dialect for i, dialect in enumerate(spoken) if dialect is not None and dialect not in spoken[:i]]
    return found


@pytest.mark.sample(2)
@pytest.mark.parametrize("rich", [False, True], ids=["plain", "rich"])
@pytest.mark.parametrize("wire", wires.NAMES)
@given(data=st.data())
def test_what_we_encode_is_accepted_by_the_vendor_it_is_for(wire: str, rich: bool, data: st.DataObject) -> None:
    """BUGS 31, 34, 35, 42, 47"""
    module = wires.load(wire)
    request = data.draw(strategies.requests(MODELS, rich=rich))
    dialect = data.draw(st.sampled_from(dialects(wire)))
    body, lost = module.encode_request(request, dialect=dialect)
    if any(loss.kind == "refused" for loss in lost):
        return
    document = json.loads(msgspec.json.encode(body))
    route = module.route(request, dialect=dialect)
    headers = {name.lower(): value for name, value in route.headers.items()}
    # A model whose name is in the path is not in the document.
    context = Context(wire=wire, dialect=dialect, vendor=None, model=request.model or None, headers=headers, body=b"")
    wrong = [problem.message for problem in problems(document, context)]
    assert [message for message in wrong if not CALLERS_FAULT.search(message)] == []


# --- a walk from vendor to vendor -----------------------------------------------------------------------------------


class Stop(NamedTuple):
    """A vendor on one of its wires, called as our client calls it."""

    vendor: str
    wire: str

    def answer(self, items: list[Any], server: Any) -> list[Any]:
        """The answer to the conversation so far, over the bytes that a client and a server would exchange."""
        surface = next(s for s in VENDORS[self.vendor].surfaces if s.wire == self.wire)
        dialect: Any = msgspec.structs.replace(surface.dialect or DIALECTS[self.wire](), issuer=self.vendor)
        if isinstance(dialect, ResponsesDialect):
            dialect = msgspec.structs.replace(dialect, stores_nothing=True)  # as the client does
        wire, request = wires.load(self.wire), Request(model="claude-opus-5-5", input=items, max_output_tokens=4000)
        body, lost = wire.encode_request(request, dialect=dialect)
        assert [loss for loss in lost if loss.kind == "refused"] == []
        route = wire.route(request, dialect=dialect)
        sent = msgspec.json.encode(body)
        status, _, received = server.handle("POST", f"/{self.vendor}{route.path}", route.headers, sent)
        assert status == 200, (self, received.decode(), sent.decode())
        response, _ = wire.decode_response(wire.RESPONSE.decode(received), request=request, dialect=dialect)
        return response.output


WALKED = "openai anthropic google xai deepseek openrouter mistral groq cerebras together simulator vertex".split()
STOPS = [Stop(vendor, wire) for vendor in WALKED for wire in VENDORS[vendor].wires if wire in wires.NAMES]


def saved_and_loaded(items: list[Any]) -> list[Any]:
    """The conversation after a stay in a file."""
    loaded = REQUEST.decode(msgspec.json.encode({"input": items})).input
    assert isinstance(loaded, list)
    return loaded


SCRIPTS = (
    "say A.",
    "reason T.\nsay A.",
    "reason\nsay A.",
    'call f {"city": "Oslo"}\nsay A.',
    'reason T.\ncall f {"n": 1.0}\nreason U.\nsay A.',
    "reason T.\nreason\ncall f\ncall g\nthen\nreason V.\ncall f\nsay A.",
    "say First.\nreason T.\nsay Then.\ncall f\nsay A.",
    "refuse No.",
)


WALKS = st.lists(
    st.tuples(st.sampled_from(SCRIPTS), st.lists(st.sampled_from(STOPS), min_size=1, max_size=3)),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("server", [peers, simulator], ids=["sealed as the vendors do", "sealed alike"])
@given(walk=WALKS)
def test_a_conversation_that_changes_vendors_is_accepted_by_each(
    server: Any, walk: list[tuple[str, list[Stop]]]
) -> None:
    """BUGS 1, 3, 4, 5, 6, 8, 11: signatures come back to their issuer whole and in place, and to no other vendor."""
    items: list[Any] = []
    for turn, (script, stops) in enumerate(walk):
        items.append(Message(role="user", content=script))
        for answers in range(6):
            # As a conversation is kept: in a file, between two answers.
            items = saved_and_loaded(items)
            said = stops[answers % len(stops)].answer(items, server)
            items = [*items, *said]
            calls = [item for item in said if isinstance(item, FunctionCall | CustomToolCall)]
            if not calls:
                break
            items += [FunctionCallOutput(call_id=call.call_id, output=f"{turn}") for call in calls]
        else:
            pytest.fail("the script did not come to an end")
