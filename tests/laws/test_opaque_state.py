"""Signatures, encrypted reasoning and server-tool blocks return to the vendor that issued them, and to nobody else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.losses import Loss
from llm_rest.responses import REQUEST, AnyItem, FunctionCall, FunctionCallOutput, Message, Request, Response
from tests.laws.harness import WIRES
from tests.laws.rows import REPLAY, ROWS, Thinking
from tests.support.facts import plain

CASES = [(name, case) for name, row in ROWS.items() for case in row.thinking]
PAIRS = [(name, case, other) for name, case in CASES for other in WIRES if other != name]


def ids(cases: Iterable[tuple[Any, ...]]) -> list[str]:
    return ["-".join([name, case.opaque[0].strip("="), *other]) for name, case, *other in cases]


every_case = pytest.mark.parametrize(("name", "case"), CASES, ids=ids(CASES))
every_pair = pytest.mark.parametrize(("name", "case", "other"), PAIRS, ids=ids(PAIRS))


def decoded(name: str, case: Thinking) -> tuple[Response, list[Loss]]:
    """The vendor's answer as a response."""
    wire = wires.load(name)
    return wire.decode_response(wire.RESPONSE.decode(json.dumps(case.answer).encode()), dialect=case.dialect)


def answered(name: str, case: Thinking) -> list[AnyItem]:
    """The items of the vendor's answer, and outputs for its calls."""
    response, lost = decoded(name, case)
    assert lost == []
    calls = [item for item in response.output if isinstance(item, FunctionCall)]
    return [*response.output, *(FunctionCallOutput(call_id=call.call_id, output="4") for call in calls)]


def conversation(name: str, case: Thinking) -> Request:
    return Request(
        model=ROWS[name].models[0],
        input=[Message(role="user", content="Think."), *answered(name, case), Message(role="user", content="And now?")],
    )


def sent(name: str, request: Request, dialect: Any = None) -> tuple[bytes, list[Any]]:
    options = {} if dialect is None else {"dialect": dialect}
    body, lost = wires.load(name).encode_request(request, **options)
    return msgspec.json.encode(body), lost


def missing(case: Thinking, body: bytes) -> list[str]:
    """The opaque strings that are not in a body exactly once."""
    return [text for text in case.opaque if body.count(text.encode()) != 1]


@every_case
def test_opaque_state_returns_to_its_vendor(name: str, case: Thinking) -> None:
    """BUGS 8 and 11"""
    body, lost = sent(name, conversation(name, case), case.dialect)
    assert missing(case, body) == []
    assert lost == []


def rewritten(i: int, item: dict[str, Any]) -> dict[str, Any]:
    """An item in the file of a client that gives ids of its own."""
    ids = {"id": f"{item['id'].split('_')[0]}_{i}"} if "id" in item else {}
    return {name: value for name, value in item.items() if name != "status"} | ids


def argued(arguments: str) -> Callable[[int, dict[str, Any]], dict[str, Any]]:
    """What the model got wrong goes back with an error, what a caller put right with its output: the thought is the same."""
    new = {"arguments": arguments, "output": "Error: the arguments are no JSON object", "is_error": True}
    fields = {"function_call": ("arguments",), "function_call_output": ("output", "is_error")}
    return lambda i, item: item | {name: new[name] for name in fields.get(item["type"], ())}


@every_case
@pytest.mark.parametrize("way", [rewritten, *map(argued, ['{"q": "x"}', '{"q": 1', "no JSON", "[1]", "", "null"])])
def test_opaque_state_survives_what_a_client_does_to_its_items(
    name: str, case: Thinking, way: Callable[[int, dict[str, Any]], dict[str, Any]]
) -> None:
    """BUGS 11"""
    document = plain(conversation(name, case))
    document["input"] = [way(i, item) for i, item in enumerate(document["input"])]
    body, _ = sent(name, REQUEST.decode(json.dumps(document, indent=1).encode()), case.dialect)
    assert missing(case, body) == []


REPAIRED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "openai_responses": ("arguments", ({"q": 1}, None, '{"q": 1', "")),
    "openai_chat": ("arguments", ({"q": 1}, None, '{"q": 1', "")),
    "anthropic_messages": ("input", (None, "no object", [1])),
    "gemini_generate_content": ("args", (None, {"q": 1})),
    "ollama_chat": ("arguments", (None, "{}", '{"q": 1', [1])),
}
"""The field of a call's arguments on each wire, and what hosts put there instead of what belongs there."""


def with_arguments(document: Any, field: str, arguments: Any) -> Any:
    """The document with other arguments in all calls of the tool that the answers call."""
    if isinstance(document, list):
        return [with_arguments(each, field, arguments) for each in document]
    if not isinstance(document, dict):
        return document
    changed = {key: with_arguments(value, field, arguments) for key, value in document.items()}
    return {**changed, field: arguments} if document.get("name") == "search" and field in document else changed


@every_case
def test_opaque_state_returns_with_a_call_that_its_host_misspelled(name: str, case: Thinking) -> None:
    field, values = REPAIRED[name]
    for value in values:
        odd = replace(case, answer=with_arguments(case.answer, field, value))
        response, _ = decoded(name, odd)
        calls = [item for item in response.output if isinstance(item, FunctionCall)]
        outputs = [FunctionCallOutput(call_id=call.call_id, output="no", is_error=True) for call in calls]
        items = [Message(role="user", content="Think."), *response.output, *outputs]
        body, _ = sent(name, Request(model=ROWS[name].models[0], input=[*items]), case.dialect)
        assert missing(case, body) == [], value


STRANGERS = [*PAIRS, *((name, case, name) for name, case in CASES)]


@pytest.mark.parametrize(("name", "case", "other"), STRANGERS, ids=ids(STRANGERS))
def test_another_wire_or_issuer_never_sees_opaque_state(name: str, case: Thinking, other: str) -> None:
    """BUGS 3 and 4"""
    body, lost = sent(
        other, conversation(name, case), type(case.dialect)(issuer="a-stranger") if name == other else None
    )
    assert [text for text in case.opaque if text.encode() in body] == []
    assert b"llm_rest.1." not in body
    assert [loss.kind for loss in lost if loss.kind == "withheld"] != []


@every_pair
def test_opaque_state_survives_a_turn_with_another_vendor(name: str, case: Thinking, other: str) -> None:
    """BUGS 11"""
    request = conversation(name, case)
    before, _ = sent(name, request, case.dialect)
    wire = wires.load(other)
    answer, _ = wire.decode_response(wire.RESPONSE.decode(json.dumps(ROWS[other].answers[0]).encode()))
    calls = [item for item in answer.output if isinstance(item, FunctionCall)]
    assert isinstance(request.input, list)
    items = [
        *request.input,
        *answer.output,
        *(FunctionCallOutput(call_id=call.call_id, output="5") for call in calls),
        Message(role="user", content="Back to you."),
    ]
    saved = REQUEST.decode(msgspec.json.encode(Request(model=request.model, input=items)))
    after, _ = sent(name, saved, case.dialect)
    assert missing(case, after) == []
    field = ROWS[name].history
    earlier, later = json.loads(before)[field], json.loads(after)[field]
    assert later[: len(earlier)] == earlier


@every_pair
def test_opaque_state_shown_to_a_client_of_another_wire_comes_back_or_is_reported(
    name: str, case: Thinking, other: str
) -> None:
    """BUGS 4 and 11"""
    there = wires.load(other)
    response, _ = decoded(name, case)
    shown, lost = there.encode_response(response)
    history = [*REPLAY[other](plain(shown)), {"role": "user", "content": "And now?"}]
    document = {**ROWS[other].requests[1], ROWS[other].history: history}
    request, _ = there.decode_request(there.REQUEST.decode(json.dumps(document).encode()))
    body, _ = sent(name, msgspec.structs.replace(request, model=ROWS[name].models[0]), case.dialect)
    back = [text for text in case.opaque if body.count(text.encode()) == 1]
    assert back == list(case.opaque) or [loss for loss in lost if loss.kind in ("withheld", "dropped")]


@every_case
def test_a_forged_carrier_is_withheld_and_never_an_error(name: str, case: Thinking) -> None:
    request = conversation(name, case)
    for damage in (lambda text: text[:-4], lambda text: text.replace("A", "B"), lambda text: f"{text}é"):
        document = plain(request)
        forged = 0
        for item in document["input"]:
            if str(item.get("encrypted_content", "")).startswith("llm_rest."):
                item["encrypted_content"] = damage(item["encrypted_content"])
                forged += 1
        body, _ = sent(name, REQUEST.decode(json.dumps(document).encode()), case.dialect)
        assert forged == 0 or b"llm_rest.1." not in body
