"""The vendor's own client reads the streams we write, and makes of them what it makes of the vendor's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.responses.stream import disassemble
from llm_rest.wires import anthropic_messages as wire
from tests.laws.rows import ROWS, thoughts
from tests.laws.strategies import responses
from tests.support.documents import differences
from tests.support.facts import plain
from tests.wires.anthropic_messages.streamed import (
    Plain,
    decoded,
    encoded,
    recorded_streams,
)

anthropic = pytest.importorskip("anthropic", reason="the Anthropic client is a development-only peer")
httpx2 = pytest.importorskip("httpx2", reason="the Anthropic client speaks through it")

NAME = "anthropic_messages"


def read_by_the_client(events: list[Plain]) -> Plain:
    """The message that the vendor's client makes of a stream."""
    lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)

    def respond(request: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=lines)

    http = httpx2.Client(transport=httpx2.MockTransport(respond))
    with (
        anthropic.Anthropic(api_key="any", max_retries=0, http_client=http) as client,
        client.beta.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]) as stream,
    ):
        read: Plain = stream.get_final_message().model_dump(mode="json", exclude_unset=True, by_alias=True)
        return read


def told_late(message: Plain) -> Plain:
    """The message without the counts that the client reads from the first event only, where nobody knows them yet."""
    usage = {name: count for name, count in message["usage"].items() if name not in NOT_READ}
    return {**message, "usage": usage}


NOT_READ = ("cache_creation", "service_tier", "speed", "inference_geo")


@given(st.data())
def test_the_vendors_client_reads_the_message_of_the_whole_answer(data: st.DataObject) -> None:
    response = data.draw(responses(ROWS[NAME].models, thoughts(NAME, "anthropic")))
    found, _ = encoded(disassemble(response))
    body, _ = wire.encode_response(response)
    read, want = told_late(read_by_the_client(found)), told_late(plain(body))
    for one in read["content"]:
        one.pop("parsed_output", None)
    read = {name: value for name, value in read.items() if value is not None or name in want}
    assert list(differences(want, read)) == []


@pytest.mark.parametrize("exchange", recorded_streams(), ids=lambda exchange: exchange.id[-40:])
def test_the_vendors_client_reads_a_recorded_stream_the_same_when_we_pass_it_on(exchange: Any) -> None:
    events = [json.loads(data) for data in exchange.events()]
    passed, _ = encoded(decoded(events)[0])
    assert told_late(read_by_the_client(passed)) == told_late(read_by_the_client(events))
