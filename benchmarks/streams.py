"""One streamed delta: in a burst over loopback against plain `httpx` and `msgspec` without conversion, the pure part alone, and
decoding a frame with one unknown field against the same frame without.

The floor of a stream is `iter_lines` and a typed decode of each line's data; ours are full Responses events. The floor of the
pure part is that decode. Times are of one delta; a stream has `documents.WORDS` of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import httpx
import msgspec

from llm_rest import AsyncClient, Client, Vendor
from llm_rest.client.events import StreamReader
from llm_rest.responses import OutputTextDelta
from llm_rest.transport.framing import NDJSON, SSE
from llm_rest.vendors.rows import DIALECTS
from llm_rest.wires import NAMES, load

from .calls import server
from .documents import WORDS, stream
from .floors import EVENTS
from .measure import Case
from .server import path

QUESTION = "Why is the sea salt?"
ASKED = {"model": "some-model", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
READ = 65_536
"""How many bytes one read of a socket brings."""

SPOKEN = [name for name in NAMES if name in EVENTS]


def pure() -> Iterator[Case]:
    """Frame -> wire event -> Responses event, for each wire."""
    for name in SPOKEN:
        body = b"".join(stream(name))
        yield Case(
            f"{name}: one delta, bytes to events",
            partial(decoded, EVENTS[name], documents(name, body)),
            partial(converted, name, [body[i : i + READ] for i in range(0, len(body), READ)]),
            target=12.0,
            per=WORDS,
        )


PLACES: dict[str, dict[str, tuple[str | int, ...]]] = {
    "openai_responses": {"event": ()},
    "openai_chat": {"chunk": (), "delta": ("choices", 0, "delta")},
    "anthropic_messages": {"event": (), "delta": ("delta",)},
    "gemini_generate_content": {"chunk": (), "part": ("candidates", 0, "content", "parts", 0)},
    "ollama_chat": {"line": (), "message": ("message",)},
}
"""Objects of a text delta of each wire, in each of which an unknown field may come."""


def unknown_fields() -> Iterator[Case]:
    """The bytes of one delta -> wire event, with an unknown field in every one; the floor is the same without it."""
    for name in SPOKEN:
        plain = deltas(name)
        for object_name, place in PLACES[name].items():
            decode = load(name).EVENT.decode
            yield Case(
                f"{name}: decode a delta with an unknown field in its {object_name}",
                partial(all_decoded, decode, plain),
                partial(all_decoded, decode, [with_field(data, place) for data in plain]),
                target=1.5,
                per=len(plain),
            )


def deltas(name: str) -> list[bytes]:
    """The documents of a stream that carry a piece of its text, beginning with the second."""
    found = documents(name, b"".join(stream(name)))
    return [data for data in found if b" word" in data and data.count(b" word") == 1][1:]


def with_field(data: bytes, place: tuple[str | int, ...]) -> bytes:
    """The document with an unknown field at a place."""
    document: Any = msgspec.json.decode(data)
    inside = document
    for step in place:
        inside = inside[step]
    inside["brand_new"] = "something"
    return msgspec.json.encode(document)


def all_decoded(decode: Callable[[bytes], object], documents: list[bytes]) -> int:
    """Decode every document; how many there are."""
    for data in documents:
        decode(data)
    return len(documents)


def documents(name: str, body: bytes) -> list[bytes]:
    """The documents in a stream, ready to be decoded."""
    frames = NDJSON() if load(name).FRAMING == "ndjson" else SSE()
    return [frame.data for frame in frames.feed(body) if frame.data != b"[DONE]"]


def decoded(decoder: msgspec.json.Decoder[Any], documents: list[bytes]) -> int:
    """Decode every document; how many have a text."""
    return sum(1 for data in documents if decoder.decode(data).text)


def converted(name: str, pieces: list[bytes]) -> int:
    """Read a stream in pieces; how many text deltas it has."""
    reader = StreamReader(load(name), dialect=DIALECTS[name]())
    events = [event for piece in pieces for event in reader.feed(piece)] + reader.close()
    return sum(1 for event in events if type(event) is OutputTextDelta)


# --- over loopback --------------------------------------------------------------------------------------------------


@contextmanager
def cases() -> Iterator[list[Case]]:
    """The cases over loopback, while their server runs."""
    with ExitStack() as at_the_end:
        url = at_the_end.enter_context(server())
        runner = at_the_end.enter_context(asyncio.Runner())
        http, later = at_the_end.enter_context(httpx.Client()), httpx.AsyncClient()
        at_the_end.callback(lambda: runner.run(later.aclose()))
        made: list[Case] = []
        for name in SPOKEN:
            base = f"{url}/{name}"
            vendor = Vendor(name="bench", wire=name, base_url=base)
            asked = partial(floor, http, base + path(name), EVENTS[name])
            asked_async = partial(floor_async, later, base + path(name), EVENTS[name])
            one = at_the_end.enter_context(Client("some-model", vendor=vendor))
            two = AsyncClient("some-model", vendor=vendor)
            at_the_end.callback(lambda two=two: runner.run(two.aclose()))
            made += [
                Case(
                    f"{name}: one delta, sync",
                    asked,
                    partial(ours, one),
                    target=1.0,
                    per=WORDS,
                ),
                Case(
                    f"{name}: one delta, async",
                    partial(running, runner, asked_async),
                    partial(running, runner, ours_async, two),
                    target=1.0,
                    per=WORDS,
                ),
            ]
        yield made


def running(runner: asyncio.Runner, work: Any, *arguments: Any) -> int:
    """What `work` gives in the one loop that all cases share."""
    count: int = runner.run(work(*arguments))
    return count


def floor(http: httpx.Client, address: str, decoder: msgspec.json.Decoder[Any]) -> int:
    """What a program does that knows this vendor only, and no events: how many lines have a text."""
    with http.stream("POST", address, json=ASKED) as answer:
        return sum(1 for line in answer.iter_lines() if has_text(line, decoder))


async def floor_async(http: httpx.AsyncClient, address: str, decoder: msgspec.json.Decoder[Any]) -> int:
    """The same in a loop."""
    count = 0
    async with http.stream("POST", address, json=ASKED) as answer:
        async for line in answer.aiter_lines():
            if has_text(line, decoder):
                count += 1
    return count


def has_text(line: str, decoder: msgspec.json.Decoder[Any]) -> bool:
    """Whether a line of a stream, with or without the name of its field, holds a document with a text."""
    if line.startswith("data: "):
        return line != "data: [DONE]" and bool(decoder.decode(line[6:]).text)
    return line.startswith("{") and bool(decoder.decode(line).text)


def ours(llm: Client) -> int:
    """How many text deltas a stream of ours has."""
    with llm.stream(QUESTION, on_loss="ignore") as events:
        return sum(1 for event in events if type(event) is OutputTextDelta)


async def ours_async(llm: AsyncClient) -> int:
    """The same in a loop."""
    count = 0
    async with llm.stream(QUESTION, on_loss="ignore") as events:
        async for event in events:
            if type(event) is OutputTextDelta:
                count += 1
    return count
