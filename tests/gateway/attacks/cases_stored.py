"""`R` requests that name what is stored, in memory and in a file, and `Y` requests in very small pieces: what each costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from llm_rest import wires
from llm_rest.server.access import Limits
from tests.gateway.attacks import canned
from tests.gateway.attacks.cases_entries import cost, empties, keys
from tests.gateway.attacks.cases_sockets import ended, opened
from tests.gateway.attacks.raw import CHUNKED, END, TEXT, VERSION, chunk, code, frame, http, one
from tests.gateway.attacks.table import CLOSED, Attack, Does, judged
from tests.gateway.attacks.world import Place
from tests.gateway.upstreams import TURNS, question

Plain = dict[str, Any]

STORES = ("default", "filed")
SAMPLE = ("openai_chat",)


def posted(document: Plain) -> bytes:
    return http(json.dumps(document).encode(), path="/v1/responses")


def stored(place: Place, **fields: Any) -> Plain:
    """A stored answer."""
    answer = place.ask(posted({"input": "hi", **fields}))
    assert answer is not None, fields
    assert answer.status == 200, answer
    return dict(json.loads(answer.body))


def references(model: str, many: int, *expected: int) -> Callable[[Place, str], list[str]]:
    """So many references to one stored item, and nothing larger than the limit `body` that went to the vendor."""

    def does(place: Place, behind: str) -> list[str]:
        (item,) = stored(place, model=model + behind)["output"]
        reference = {"type": "item_reference", "id": item["id"]}
        user = {"role": "user", "content": "hi"}
        canned.sizes.clear()
        found = cost(place, posted({"model": behind, "input": [user, *[reference] * many, user]}), expected)
        sent = max(canned.sizes, default=0)
        return [*found, *([f"{sent} bytes are sent to the vendor"] if sent > Limits().body else [])]

    return does


def turns(place: Place, behind: str) -> list[str]:
    """6,000 turns of the model from clients of each wire: each is looked up."""
    found: list[str] = []
    for wire in wires.NAMES:
        path, document = question(wire, behind, "")
        gemini = wire == "gemini_generate_content"
        said = [
            {"role": role, **({"parts": [{"text": f"{n}"}]} if gemini else {"content": f"{n}"})}
            for n in range(6000)
            for role in ("user", "model" if gemini else "assistant")
        ]
        body = json.dumps({**document, TURNS[wire]: [*said, said[0]]}).encode()
        found += [f"{wire}: {fault}" for fault in cost(place, http(body, VERSION, path=path), (200, 400))]
    return found


def long(place: Place, behind: str) -> list[str]:
    """A conversation of 1,000 turns is continued, read and deleted."""
    before: Plain = {}
    for _ in range(1000):
        before = stored(place, model=behind, **({"previous_response_id": before["id"]} if before else {}))
    name = before["id"]
    found = cost(place, posted({"model": behind, "input": "hi", "previous_response_id": name, "store": False}), (200,))
    return [*found, *cost(place, http(None, method="GET", path=f"/v1/responses/{name}/input_items"), (200,))]


def lists(place: Place, behind: str) -> list[str]:
    """6,000 input items are listed, and 1,000 output items are referenced and deleted."""
    name = stored(place, model=behind, input=[{"role": "user", "content": "x"}] * 6000)["id"]
    found: list[str] = []
    for limit, expected in (("100", 200), ("1", 200), ("9" * 5000, 400), ("x", 400)):
        path = f"/v1/responses/{name}/input_items?limit={limit}"
        found += cost(place, http(None, method="GET", path=path), (expected,))
    calls = stored(place, model=f"calls-{behind}")
    outputs = [{"type": "function_call_output", "call_id": item["call_id"], "output": "1"} for item in calls["output"]]
    named = [{"type": "item_reference", "id": item["id"]} for item in calls["output"]]
    user = {"role": "user", "content": "hi"}
    found += cost(place, posted({"model": behind, "input": [user, *named, *outputs], "store": False}), (200,))
    return [*found, *cost(place, http(None, method="DELETE", path=f"/v1/responses/{calls['id']}"), (200, 404))]


def on_a_socket(place: Place, behind: str) -> list[str]:
    """JSON in a string, and many references, in a message of a WebSocket."""
    (item,) = stored(place, model=f"large-{behind}")["output"]
    reference = {"type": "item_reference", "id": item["id"]}
    user = {"role": "user", "content": "hi"}
    found: list[str] = []
    for said in ([user, *[reference] * 850, user], *(inside(of(5_000_000)) for of in (keys, empties))):
        message = json.dumps({"type": "response.create", "model": behind, "input": said}).encode()
        found += cost(place, frame(TEXT, message), (101,), enough=ended, begin=opened)
    return found


def inside(text: str) -> list[Plain]:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": text}
    return [{"role": "user", "content": "hi"}, call, {"type": "function_call_output", "call_id": "c", "output": "1"}]


def behind(names: Iterable[str], does: Callable[[Place, str], list[str]]) -> Does:
    """On models of each of these wires."""
    return lambda place: [f"{name}: {fault}" for name in names for fault in does(place, name)]


def chunks(many: int) -> Does:
    """A body in so many chunks of one byte, on each wire."""

    def does(place: Place) -> list[str]:
        found: list[str] = []
        for wire in wires.NAMES:
            path, document = question(wire, "openai_chat", "x" * many)
            body = b"".join(map(chunk, map(bytes, zip(json.dumps(document).encode()))))
            raw = http(None, CHUNKED, VERSION, path=path) + body + END
            found += [f"{wire}: {fault}" for fault in cost(place, raw, (400, CLOSED))]
        return found

    return does


def fragments(many: int) -> Does:
    """A message in so many fragments of one byte: the connection is closed with the reason."""

    def does(place: Place) -> list[str]:
        raw = frame(TEXT, b"{", fin=0) + frame(0, b" ", fin=0) * many + frame(0, b"}")
        found = cost(place, raw, (101,), enough=lambda line: code(line) != 0, begin=opened)
        line = opened(place).send(raw).hear(lambda line: code(line) != 0)
        return [*found, *([] if code(line) == 1008 else [f"ends with {code(line)}"])]

    return does


def larger_chunks(place: Place) -> list[str]:
    """A body of 8 MB in chunks of 1 kB is nothing special."""
    path, document = question("openai_chat", "openai_chat", "x" * 8_000_000)
    body = json.dumps(document).encode()
    raw = b"".join(chunk(body[start : start + 1000]) for start in range(0, len(body), 1000))
    line = place.line(http(None, CHUNKED, path=path) + raw + END).hear(one)
    return judged(line, (200,), closes=False)


def _on(id: str, given: str, does: Callable[[Place, str], list[str]], **more: Any) -> list[Attack]:
    return [
        Attack(f"{id}", given, behind(SAMPLE, does), on=STORES, mib=400, **more),
        Attack(f"{id}w", f"{given}, on each wire", behind(wires.NAMES, does), on=STORES, mib=400, whole=True, **more),
    ]


CASES = [
    *_on("R01", "850 references to an item of 300 kB", references("large-", 850, 413)),
    *_on("R02", "13,000 references to a small item", references("", 13_000, 200, 400)),
    *_on("R03", "6,000 turns of the model", turns),
    *_on("R04", "lists of items, and items that are listed", lists),
    *_on("R06", "JSON in strings and references on a WebSocket", on_a_socket),
    Attack("R05", "a conversation of 1,000 turns", behind(SAMPLE, long), on=STORES, mib=400, whole=True),
    Attack("Y01", "200,000 chunks of one byte", chunks(200_000), on=("default",), mib=128),
    Attack("Y02", "a million chunks of one byte", chunks(1_000_000), on=("default",), mib=128, whole=True),
    Attack("Y03", "200,000 fragments of one byte", fragments(200_000), on=("default",), mib=128),
    Attack("Y04", "8,000 chunks of 1 kB", larger_chunks, on=("default",), mib=256),
]  # fmt: skip
