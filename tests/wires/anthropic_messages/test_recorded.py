"""Recorded exchanges: what the vendor's own SDK takes is what we send, and token counts are read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from llm_rest.wires import anthropic_messages as endpoints
from llm_rest.wires import anthropic_messages as wire
from tests.corpus import CORPUS, Exchange, exchanges
from tests.support.facts import plain
from tests.wires.anthropic_messages.sdk import faults

NOT_THERE = {"stream", "temperature", "top_k", "top_p"}
"""What the SDK's newest types have elsewhere, or not any more."""


def sent_again(exchange: Exchange) -> dict[str, Any]:
    """A recorded request, without anything of this wire among its leftovers: as if it had been written for Responses."""
    assert exchange.question is not None
    request, _ = wire.decode_request(wire.REQUEST.decode(exchange.question))
    document = json.loads(json.dumps(plain(request)))
    _strip(document)
    from llm_rest.responses import REQUEST

    return plain(wire.encode_request(REQUEST.decode(json.dumps(document)))[0])


def _strip(value: Any) -> None:
    if isinstance(value, dict):
        value.pop("leftovers", None)
        for inner in value.values():
            _strip(inner)
    elif isinstance(value, list):
        for inner in value:
            _strip(inner)


@pytest.mark.sample(4)
@pytest.mark.parametrize("part", range(4))
def test_what_we_send_is_what_the_sdk_would_send(part: int) -> None:
    found: dict[str, list[str]] = {}
    for exchange in exchanges("anthropic_messages")[part::4]:
        body = {name: value for name, value in sent_again(exchange).items() if name not in NOT_THERE}
        problems = faults(body)
        if problems:
            found[exchange.id] = problems
    assert found == {}


def test_the_check_finds_what_the_sdk_would_not_send() -> None:
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text"}]}]}
    assert faults(body) == ["$.messages[0].content[0].text: missing"]
    assert faults({**body, "messages": [], "new": 1}) == ["$.new: a field too many"]


def counts() -> Iterator[tuple[Any, Any]]:
    path = CORPUS / "misc.jsonl.gz"
    if not path.exists():
        pytest.skip(f"recorded traffic is not here: {path} (set LLM_REST_CORPUS to its directory)")
    with gzip.open(path) as lines:
        for line in lines:
            exchange = json.loads(line)
            if exchange["wire"] == "anthropic_count_tokens":
                yield exchange["request"]["body"], exchange["response"]


def test_recorded_token_counts_are_read_and_asked_again() -> None:
    read = 0
    for question, answer in counts():
        request, lost = endpoints.decode_count(endpoints.COUNT_REQUEST.decode(json.dumps(question)))
        back, more = endpoints.encode_count(request)
        assert (plain(back), lost, more) == (question, [], [])
        if answer["status"] == 200:
            assert endpoints.COUNT.decode(json.dumps(answer["body"])).input_tokens == answer["body"]["input_tokens"]
            read += 1
    assert read > 3
