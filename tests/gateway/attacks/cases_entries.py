"""`Q` bodies of very many entries, to a gateway with the default limits: what one costs the process, and how long others wait."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import json
import os
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

import msgspec

from llm_rest import wires
from llm_rest.responses import (
    AnyItem,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    InputImage,
    InputText,
    McpCall,
    Message,
    Request,
)
from llm_rest.server.access import Limits
from llm_rest.transport.framing import EntryCounter
from llm_rest.unknown import MOST_UNKNOWN
from tests.gateway.attacks.raw import VERSION, Line, asked, http, one
from tests.gateway.attacks.table import CLOSED, Attack, Does
from tests.gateway.attacks.world import Place
from tests.gateway.upstreams import TURNS, question

MILLION = 1_000_000
LARGEST = 27_000_000
CPU = 1.0
"""The most seconds of CPU that one body may cost the process, and the most that anybody waits for `/healthz` meanwhile."""
TIMES = 6
"""How many times its size a body may cost of memory, beside what any costs."""
BESIDE = 64
"""MiB that a small body may cost: a hundred thousand objects, and what the interpreter keeps."""
TRIES = 3
"""A busy machine makes everything seem to cost more, and nothing less."""

Plain = dict[str, Any]


def turns(wire: str, said: list[Any], **more: Any) -> Plain:
    """A request of those turns."""
    document = question(wire, "@", "")[1]
    return {**document, TURNS[wire]: said, **more}


# --- shapes: each is a request of about n of something --------------------------------------------------------------


def parts(wire: str, those: list[Any]) -> Plain:
    """One turn of those parts."""
    return turns(wire, [{"role": "user", "parts" if wire == "gemini_generate_content" else "content": those}])


def schema(wire: str, many: Any) -> Plain:
    """A tool whose schema has that in it."""
    said = {"type": "object", "properties": {}, "x-many": many}
    tool = {"name": "f", "input_schema": said, "parameters": said, "function": {"name": "f", "parameters": said}}
    if wire == "gemini_generate_content":
        tool = {"functionDeclarations": [{"name": "f", "parametersJsonSchema": said}]}
    elif wire != "anthropic_messages":
        tool["type"] = "function"
    return {**question(wire, "@", "hi")[1], "tools": [tool]}


def _user(wire: str, text: str = "hi") -> Any:
    said = {"parts": [{"text": text}]} if wire == "gemini_generate_content" else {"content": text}
    return {"role": "user", **said}


def said_by(wire: str, items: list[AnyItem]) -> Plain:
    """What our own client sends for these items."""
    document, _ = wires.load(wire).encode_request(Request(model="@", input=items, max_output_tokens=900))
    return dict(msgspec.json.decode(msgspec.json.encode(document)))


def parallel(wire: str, n: int, *, reverse: bool = False) -> Plain:
    """n calls in one turn and their results."""
    calls = [FunctionCall(call_id=f"call_{i}", name=f"f{i}", arguments="{}") for i in range(n)]
    results = [FunctionCallOutput(call_id=call.call_id, output="1") for call in calls]
    document = said_by(wire, [Message(role="user", content="hi"), *calls, *results])
    listed: list[Any] = document[TURNS[wire]]
    inside = listed[-1].get("parts") or listed[-1].get("content")
    held = inside if isinstance(inside, list) else listed
    held[-n:] = held[-n:][:: -1 if reverse else 1]
    return document


def equal_ids(wire: str, n: int) -> Plain:
    """n turns of one call, all under one id."""
    first, *once = parallel(wire, 1)[TURNS[wire]]
    return turns(wire, [first, *(once * n)])


def talk(wire: str, n: int) -> Plain:
    """n turns of one word."""
    return turns(wire, [_user(wire, "")] * n)


def inside(wire: str, text: str, kind: str) -> Plain:
    """A call and its result, with that text as what `kind` names: JSON in a string, where the wire has it in one."""
    item: AnyItem = FunctionCall(call_id="call_1", name="f", arguments=text if kind == "arguments" else "{}")
    output: AnyItem = FunctionCallOutput(call_id="call_1", output=text if kind == "output" else "1")
    if kind == "custom":
        item = CustomToolCall(call_id="call_1", name="f", input=text)
        output = CustomToolCallOutput(call_id="call_1", output="1")
    elif kind == "mcp":
        item = McpCall(id="mcp_1", server_label="s", name="f", arguments=text, output=text[:100])
    return said_by(wire, [Message(role="user", content="hi"), item, output])


def keys(size: int) -> str:
    """A JSON object of that many bytes whose keys differ."""
    return "{" + ",".join(f'"{i:x}":1' for i in range(size // 11)) + "}"


def empties(size: int) -> str:
    """A JSON list of that many bytes of empty objects."""
    return '{"a":[' + ",".join(["{}"] * (size // 3)) + "]}"


INSIDE: dict[str, Callable[[str, int], Plain]] = {
    f"{name} in the {kind} of a call": partial(lambda wire, n, of, kind: inside(wire, of(n), kind), of=of, kind=kind)
    for name, of in {"keys": keys, "empty objects": empties}.items()
    for kind in ("arguments", "output", "custom", "mcp")
}
"""JSON in strings: these take the number of bytes."""


def _nested(depth: int) -> Any:
    found: Any = {}
    for _ in range(depth):
        found = [found]
    return found


SHAPES: dict[str, Callable[[str, int], Plain]] = {
    "empty objects as turns": lambda wire, n: turns(wire, [{}] * n),
    "empty lists as turns": lambda wire, n: turns(wire, [[]] * n),
    "numbers as turns": lambda wire, n: turns(wire, [9] * n),
    "turns of an unknown kind": lambda wire, n: turns(wire, [{"type": "x"}] * n),
    "turns of an unknown role": lambda wire, n: turns(wire, [{"role": "x", "content": "", "parts": []}] * n),
    "empty objects as parts": lambda wire, n: parts(wire, [{}] * n),
    "parts of an unknown kind": lambda wire, n: parts(wire, [{"type": "x"}] * n),
    "texts": lambda wire, n: parts(wire, [{"text": ""} if wire == "gemini_generate_content" else {"type": "text", "text": ""}] * n),
    "numbers in a schema": lambda wire, n: schema(wire, [9] * n),
    "empty objects in a schema": lambda wire, n: schema(wire, [{}] * n),
    "deep and wide in a schema": lambda wire, n: schema(wire, [_nested(300)] * (n // 300)),
    "empty objects as tools": lambda wire, n: turns(wire, [_user(wire)], tools=[{}] * n),
    "unknown fields": lambda wire, n: turns(wire, [_user(wire)], **{f"x{i}": {} for i in range(n)}),
    "another unknown field on each turn": lambda wire, n: turns(wire, [{**_user(wire), f"x{i}": i} for i in range(n)]),
    "one unknown field on each turn": lambda wire, n: turns(wire, [{**_user(wire), "x": i} for i in range(n)]),
    "turns of one word": talk,
    "turns whose calls share an id": equal_ids,
    "parallel calls": parallel,
    "parallel calls, answered in reverse": lambda wire, n: parallel(wire, n, reverse=True),
    "metadata": lambda wire, n: turns(wire, [_user(wire)], metadata={f"x{i}": "" for i in range(n)}),
}  # fmt: skip

TAKEN: dict[str, Callable[[str, int], Plain]] = {
    **SHAPES,
    "as many unknown turns as may be": lambda wire, n: turns(wire, [{"type": "x"}] * min(n, MOST_UNKNOWN - 1)),
    "as many unknown parts as may be": lambda wire, n: parts(wire, [{"type": "x"}] * min(n, MOST_UNKNOWN - 1)),
    "as many unknown fields as may be": lambda wire, n: turns(wire, [{**_user(wire), "x": i} for i in range(min(n, MOST_UNKNOWN - 1))]),
}  # fmt: skip
"""Those, and some that are larger than another limit lets them be."""


# --- what a body costs ----------------------------------------------------------------------------------------------


def encoded(document: Plain) -> bytes:
    return msgspec.json.encode(document)


def entries(body: bytes) -> int:
    return EntryCounter().feed(body)


def as_large_as_may_be(shape: Callable[[str, int], Plain], wire: str) -> bytes:
    """A body with hardly fewer entries than are allowed."""
    most, few, more = Limits().entries, 600, 1200
    each = (entries(encoded(shape(wire, more))) - entries(encoded(shape(wire, few)))) / (more - few)
    count = int(most / each) if each else few
    while entries(body := encoded(shape(wire, count))) > most:
        count -= 1 + count // 200
    return body


@contextmanager
def others(place: Place) -> Generator[list[float]]:
    """How long each of those waits who ask meanwhile whether the server runs."""
    waited: list[float] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            line, began = Line(place.port), time.monotonic()
            line.send(http(None, method="GET", path="/healthz")).hear(one)
            waited.append(time.monotonic() - began)
            line.close()
            over.wait(0.05)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waited
    finally:
        over.set()
        asking.join()


def cost(
    place: Place,
    raw: bytes,
    expected: tuple[int, ...],
    *,
    enough: Callable[[Line], bool] = one,
    begin: Callable[[Place], Line] = Place.line,
) -> list[str]:
    """What is wrong with how one request is answered, on a line that is begun so, until what was heard is `enough`."""
    found: list[str] = []
    for _ in range(TRIES):
        before, memory = place.world.cpu(), place.world.peak(forget=True)
        with others(place) as waited:
            line = begin(place).send(raw).hear(enough)
        statuses = line.statuses or [CLOSED]
        line.close()
        spent, grown = place.world.cpu() - before, place.world.peak() - memory
        found = [] if statuses[-1] in expected else [f"answered {statuses} {bytes(line.heard[-300:])!r}"]
        found += [f"costs {spent:.2f} s of CPU"] if spent > CPU else []
        # Where others keep the machine busy, too, everybody waits so many times as long.
        busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        found += [f"others wait {max(waited):.2f} s"] if max(waited, default=0) > CPU * busy else []
        found += [f"costs {grown} MiB"] if grown > BESIDE + TIMES * len(raw) // 2**20 else []
        if not found:
            return []
    return found


def posted(wire: str, behind: str, body: bytes) -> bytes:
    """The request of a client on that wire, for a model behind that one."""
    return http(body.replace(b'"@"', json.dumps(behind).encode(), 1), VERSION, path=question(wire, behind, "")[0])


def over(names: Iterable[str], size: Callable[[str, str], bytes], callers: Iterable[str] = wires.NAMES) -> Does:
    """Bodies that are refused before they are decoded, for their entries or for their size."""

    def does(place: Place) -> list[str]:
        found: list[str] = []
        for name, wire in product(names, callers):
            body = size(name, wire)
            expected = (413 if len(body) > Limits().body else 400, CLOSED)
            faults = cost(place, posted(wire, "openai_chat", body), expected)
            found += [f"{name} on {wire}: {fault}" for fault in faults]
        return found

    return does


def swollen(size: int) -> Callable[[str, str], bytes]:
    """A body of a shape that has about that size, and no more."""

    def body(name: str, wire: str) -> bytes:
        few, more = (len(encoded(SHAPES[name](wire, n))) for n in (600, 1200))
        count = size * 600 // (more - few)
        while len(found := encoded(SHAPES[name](wire, count))) > size:  # each has a longer name than those before
            count = count * size // len(found) - 600
        return found

    return body


def million(name: str, wire: str) -> bytes:
    """A body of a million of it."""
    return encoded(SHAPES[name](wire, MILLION))


def within(names: Iterable[str], pairs: Callable[[int], Iterable[tuple[str, str]]]) -> Does:
    """Bodies that are taken, with as many entries as may be."""

    def does(place: Place) -> list[str]:
        return [
            f"{name} on {wire} for {behind}: {fault}"
            for n, name in enumerate(names)
            for wire, behind in pairs(n)
            for fault in cost(place, posted(wire, behind, as_large_as_may_be(TAKEN[name], wire)), (200, 400, 422))
        ]

    return does


def images(place: Place) -> list[str]:
    """27 MB that are nothing special: they are taken."""
    data = b64encode(b"\x89PNG\r\n\x1a\n" + os.urandom(LARGEST // 4 * 3 // 4)).decode()
    image = InputImage(image_url=f"data:image/png;base64,{data}", detail="auto")
    question: list[AnyItem] = [Message(role="user", content=[InputText(text="What is it?"), *[image] * 4])]
    return [
        f"{wire} for {behind}: {fault}"
        for wire, behind in product(wires.NAMES, wires.NAMES)
        for fault in cost(place, posted(wire, behind, encoded(said_by(wire, question))), (200,))
    ]


def calls(place: Place) -> list[str]:
    """A vendor that answers with a thousand calls."""
    return [
        f"{behind} for {wire}: {fault}"
        for wire, behind, streamed in product(wires.NAMES, wires.NAMES, (False, True))
        for fault in cost(place, asked(wire, f"calls-{behind}", stream=streamed), (200,))
    ]


def strings(size: int, names: Iterable[str], pairs: Callable[[int], Iterable[tuple[str, str]]]) -> Does:
    """JSON in strings, of which a body has few entries and many bytes."""

    def does(place: Place) -> list[str]:
        found: list[str] = []
        for n, name in enumerate(names):
            for wire, behind in pairs(n):
                body = encoded(INSIDE[name](wire, size))
                expected = (200, 400, 413, 422)
                found += [
                    f"{name} on {wire} for {behind}: {f}" for f in cost(place, posted(wire, behind, body), expected)
                ]
        return found

    return does


SAMPLE = ("empty objects as turns", "as many unknown parts as may be", "turns of one word", "turns whose calls share an id", "parallel calls, answered in reverse")  # fmt: skip
UNKNOWN = ("empty objects as turns", "empty lists as turns", "numbers as turns", "empty objects as parts")


def _on_default(id: str, given: str, does: Does, **more: Any) -> Attack:
    return Attack(id, given, does, on=("default",), mib=400, **more)


CASES = [
    _on_default("Q01", "a million of {}, [] and numbers", over(UNKNOWN, million, ("openai_responses", "gemini_generate_content"))),
    _on_default("Q02", "as many as 27 MB hold", over(("empty objects as turns", "deep and wide in a schema"), swollen(LARGEST), ("openai_responses",)), whole=True),
    _on_default("Q08", "JSON in strings, on some wires", strings(LARGEST // 4, INSIDE, lambda n: [(wires.NAMES[n % 5], wires.NAMES[(2 * n) % 5])])),
    _on_default("Q09", "JSON in strings", strings(LARGEST, INSIDE, lambda n: [*product(wires.NAMES, wires.NAMES)]), whole=True),
    _on_default("Q03", "as many as may be, on some wires", within(SAMPLE, lambda n: [(wires.NAMES[n % 5], wires.NAMES[(2 * n) % 5])])),
    _on_default("Q04", "27 MB of images", images, whole=True),
    _on_default("Q05", "1,000 calls in one answer", calls, whole=True),
    _on_default("Q06", "a million of everything", over(SHAPES, million), whole=True),
    _on_default("Q07", "27 MB of everything", over(SHAPES, swollen(LARGEST)), whole=True),
    *(_on_default(f"Q{n:02}", f"as many as may be: {name}", within([name], lambda n: [*product(wires.NAMES, wires.NAMES)]), whole=True) for n, name in enumerate(TAKEN, 10)),
]  # fmt: skip
