"""What holds for the answers of every wire: their ids, their counts, and the fields that nobody knows yet."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from llm_rest import wires
from llm_rest.responses import FunctionCall, FunctionCallOutput, Message, Request, Response
from tests.laws.rows import REPLAY, ROWS
from tests.support import WIRES
from tests.support.documents import Place, at, places, replaced
from tests.support.facts import plain

every_wire = pytest.mark.parametrize("name", WIRES)


def decoded(name: str, document: Any, **options: Any) -> Response:
    wire = wires.load(name)
    return wire.decode_response(wire.RESPONSE.decode(json.dumps(document).encode()), **options)[0]


ABSENT = "(absent)"


@pytest.mark.parametrize(
    ("name", "id"),
    [*((name, ABSENT) for name in WIRES), ("openai_chat", ""), ("openai_responses", ""), ("openai_responses", None)],
)
def test_an_answer_without_an_id_gets_the_same_one_every_time(name: str, id: str | None) -> None:
    """anthropic.response.23, chat.response.1, gemini.response.1, ollama.response.1, responses.response.3"""
    document = {n: v for n, v in deepcopy(ROWS[name].answers[0]).items() if n not in ("id", "responseId")}
    document |= {} if id == ABSENT else {"id": id}
    other = json.loads(json.dumps(document).replace('"index": 0', '"index": 1').replace(":20", ":21"))
    texts = [place for place in places(document) if place and place[-1] in ("text", "content")]
    for place in texts:
        other = replaced(other, place, "Another.") if isinstance(at(other, place), str) else other
    first, again, changed = (decoded(name, each).id for each in (document, document, other))
    assert first
    assert first == again != changed


def counted(name: str, change: Callable[[int], Any]) -> Any:
    """The counts of the first answer of a wire, where each is written as `change` has it."""
    document: Any = ROWS[name].answers[0]
    for place in places(document):
        value = at(document, place)
        if isinstance(value, int) and str(place[-1]).lower().endswith(("tokens", "count")):
            document = replaced(document, place, change(value))
    usage = plain(decoded(name, document).usage)
    usage.pop("leftovers", None)
    return usage


@every_wire
def test_counts_are_integers_however_the_host_writes_them(name: str) -> None:
    usage = counted(name, int)
    assert usage["total_tokens"] > 0
    for change in (float, lambda count: count - 0.4, str):
        found = counted(name, change)
        assert found == usage
        assert json.dumps(found) == json.dumps(usage), "no count is a fraction"


NEW = "brand_new"
CALLERS = {"args", "input", "arguments"}
"""Fields whose objects are the caller's own JSON."""


def objects(document: Any) -> list[Place]:
    """The places of the objects that a wire's own structs are for."""
    return [
        place
        for place in places(document)
        if isinstance(at(document, place), dict) and not CALLERS & {*map(str, place)}
    ]


@every_wire
def test_fields_that_nobody_knows_return_with_the_next_turn(name: str) -> None:
    """What a client keeps of an answer is content: a new vendor's signature is such a field. chat.response.18"""
    wire, row = wires.load(name), ROWS[name]
    for document in (deepcopy(row.answers[0]), *(deepcopy(case.answer) for case in row.thinking)):
        said = REPLAY[name](document)
        for place in objects(said):
            at(said, place)[NEW] = [1, 2.50]
        response = decoded(name, document, keep=False)
        calls = [item for item in response.output if isinstance(item, FunctionCall)]
        outputs = [FunctionCallOutput(call_id=call.call_id, output="4") for call in calls]
        items = [Message(role="user", content="Hi"), *response.output, *outputs]
        body = plain(wire.encode_request(Request(model=row.models[0], input=items))[0])
        assert json.dumps(body[row.history]).count(NEW) == json.dumps(document).count(NEW) > 0
