"""Every recorded answer goes through every other wire and back: what a caller sees returns, or a loss says where it stayed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.losses import Loss
from llm_rest.responses import FunctionCall, Message, Response
from tests.corpus import Exchange, groups
from tests.corpus.test_recorded import failures
from tests.support import WIRES
from tests.support.facts import places_of, plain, related, steps_of, unaccounted

every_pair = pytest.mark.parametrize(
    ("name", "vendor", "other"),
    [(name, vendor, other) for (name, vendor), other in product(groups(), WIRES) if other != name],
)


def seen(response: Response) -> dict[str, Any]:
    """What a caller acts on, at the places where it stands: calls, token counts and how it ended."""
    document = plain(response)
    output: list[dict[str, Any]] = []
    for item in document["output"]:
        if item.get("type") != "function_call":
            output.append({})
            continue
        try:
            arguments = json.loads(item["arguments"])
        except ValueError:
            arguments = item["arguments"]
        output.append({"call_id": item["call_id"], "name": item["name"], "arguments": json.dumps(arguments)})
    usage = document.get("usage") or {}
    return {
        "status": document["status"],
        "incomplete_details": document.get("incomplete_details") or {},
        "usage": {name: int(value) for name, value in usage.items() if name.endswith("_tokens") and value is not None},
        "output": output,
    }


def texts(response: Response) -> Iterator[tuple[str, str]]:
    """The visible texts in their order, each with its path."""
    for i, item in enumerate(response.output):
        if isinstance(item, Message) and isinstance(item.content, str) and item.content:
            yield f"output[{i}].content", item.content
        elif isinstance(item, Message):
            for j, part in enumerate(item.content):
                text = getattr(part, "text", None) or getattr(part, "refusal", None)
                if text:
                    yield f"output[{i}].content[{j}]", text


def silent(before: Response, after: Response, lost: list[Loss]) -> Iterator[str]:
    """What a caller saw before, does not see after, and is not told about."""
    yield from (missing for missing in unaccounted(seen(before), seen(after), lost) if missing[-2:] not in ("{}", "[]"))
    rest = "".join(text for _, text in texts(after))
    for path, text in texts(before):
        head, found, tail = rest.partition(text)
        if found:
            rest = tail
        elif not any(related(steps_of(path), steps) for loss in lost for steps in places_of(loss)):
            yield f"{path}: {text[:80]!r} is not in {head[:80]!r}"


@pytest.mark.sample(4)
@every_pair
def test_what_a_caller_sees_returns_from_another_wire_or_is_a_loss(name: str, vendor: str, other: str) -> None:
    here, there = wires.load(name), wires.load(other)

    def check(exchange: Exchange) -> Iterator[str]:
        if exchange.answer is None:
            return
        response, _ = here.decode_response(here.RESPONSE.decode(exchange.answer), dialect=exchange.dialect)
        body, lost = there.encode_response(response)
        back, _ = there.decode_response(there.RESPONSE.decode(msgspec.json.encode(body)))
        yield from silent(response, back, lost)

    assert failures(name, vendor, check) == []


@pytest.mark.sample(4)
@every_pair
def test_a_recorded_request_reaches_every_wire(name: str, vendor: str, other: str) -> None:
    here, there = wires.load(name), wires.load(other)

    def check(exchange: Exchange) -> Iterator[str]:
        if exchange.question is None:
            return
        request, _ = here.decode_request(
            here.REQUEST.decode(exchange.question), dialect=exchange.dialect, model=exchange.model
        )
        body, lost = there.encode_request(request)
        there.decode_request(there.REQUEST.decode(msgspec.json.encode(body)))
        calls = sum(isinstance(item, FunctionCall) for item in request.input) if isinstance(request.input, list) else 0
        kept = msgspec.json.encode(body).count(b'"function_call"') if other == "openai_responses" else calls
        if kept < calls and not lost:
            yield "calls are gone without a loss"

    assert failures(name, vendor, check) == []


@pytest.mark.parametrize(
    ("after", "lost", "complaints"),
    [
        ({}, [], 0),
        ({"text": "other"}, [], 1),
        ({"text": "other"}, ["output[0].content[0]"], 0),
        ({"arguments": '{"a": 1}'}, [], 0),
        ({"arguments": '{"a":2}'}, [], 1),
        ({"arguments": '{"a":2}'}, ["output[1].arguments"], 0),
        ({"tokens": 8}, [], 1),
    ],
)
def test_the_check_sees_what_is_missing(after: dict[str, Any], lost: list[str], complaints: int) -> None:
    def answer(text: str = "hi", arguments: str = '{"a":1}', tokens: int = 7) -> Response:
        document = {
            "id": "r",
            "status": "completed",
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments},
            ],
            "usage": {"input_tokens": tokens, "output_tokens": 1, "total_tokens": 8},
        }
        return msgspec.convert(document, Response)

    losses = [Loss(path, "", "dropped") for path in lost]
    assert len(list(silent(answer(), answer(**after), losses))) == complaints
