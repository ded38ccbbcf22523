"""What every client under test does, in words that belong to none of them, sync and async in one spelling.

A `Client` wraps one vendor's own SDK, unmodified, pointed at a gateway by its base URL. Its methods are coroutines around
calls that may or may not have to be awaited, so a case is written once; for a sync SDK nothing in it ever waits.
Before changing this file, know that a conversation is kept as that SDK's users keep it, by what its documentation shows:
what came is put into the history unchanged, and results are added in the SDK's own form.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from anyio import CancelScope, to_thread
from msgspec import Struct, field
from pydantic import BaseModel

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"

TOOL = "get_weather"
ABOUT = "The weather of a city."
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Person(BaseModel):
    """What structured output is asked for."""

    name: str
    born: int


class Call(Struct):
    """A tool call; without an id on wires that have none."""

    arguments: Any
    id: str | None = None
    name: str = TOOL


class Answer(Struct, kw_only=True):
    """What an SDK gave: `ended` is `stop`, `tools`, `length`, `refusal` or the SDK's own word for something else."""

    text: str
    ended: str
    tokens: tuple[int | None, int | None]
    calls: list[Call] = field(default_factory=list[Call])
    said: list[Any]
    pieces: int = 1


class Attached(Struct, frozen=True):
    """A file that goes with a question."""

    kind: str
    data: bytes


IMAGE = Attached("image/png", PNG)
PAPER = Attached("application/pdf", PDF)

Said = list[Any]
Results = Sequence[tuple[Call, str, bool]]
"""Calls, what they gave, and whether they failed."""


class Unsayable(Exception):
    """There are no words for that: the SDK has none, or the answer comes without the vendor's."""


class Client:
    """One SDK in front of a gateway; what most of them have in common. What it has no way of asking raises `Unsayable`."""

    wire: str
    text = "text"
    """The type of a text beside a file."""
    errors: ClassVar[dict[int, Any]]
    """The SDK's own exception class by status; 0 is an error in a stream."""

    def __init__(self, sdk: Any) -> None:
        self._sdk = sdk

    def user(self, text: str, attached: Attached | None = None) -> Said:
        """A turn of the user."""
        content = text if attached is None else [{"type": self.text, "text": text}, self.part(attached)]
        return [{"role": "user", "content": content}]

    def part(self, attached: Attached) -> dict[str, Any]:
        """A file as a part of a message."""
        raise Unsayable

    def results(self, results: Results) -> Said:
        """A turn with what tools gave."""
        raise NotImplementedError

    async def ask(self, model: str, said: Said, **asked: Any) -> Answer:
        """The whole answer. `tools`, `thinking` and `most` (tokens) may be asked for."""
        raise NotImplementedError

    async def stream(self, model: str, said: Said, **asked: Any) -> Answer:
        """The same from a stream."""
        raise NotImplementedError

    async def leave(self, model: str, said: Said) -> None:
        """Take the first piece of a stream and go."""
        raise NotImplementedError

    async def person(self, model: str, said: Said) -> Person:
        """Structured output, by the SDK's own helper where it has one."""
        raise NotImplementedError

    async def count(self, model: str, said: Said) -> int:
        """How many tokens that has."""
        raise Unsayable

    async def models(self) -> list[str]:
        """The models there are."""
        return [model.id async for model in each(self._sdk.models.list())]

    def status(self, error: Any) -> int:
        """The status that an exception of the SDK tells."""
        return error.status_code

    def wait(self, error: Any) -> str | None:
        """The server's word when to come back, where the SDK shows it."""
        return error.response.headers.get("retry-after")

    async def close(self) -> None:
        """Let go of the connections."""
        await got(self._sdk.close())


async def got(value: Any) -> Any:
    """What a call gives, awaited if need be."""
    return await value if inspect.isawaitable(value) else value


async def each(stream: Any) -> AsyncGenerator[Any]:
    """The entries of a stream of either kind."""
    if hasattr(stream, "__aiter__"):
        async for entry in stream:
            yield entry
    else:
        for entry in stream:
            yield entry


@asynccontextmanager
async def inside(manager: Any) -> AsyncGenerator[Any]:
    """The inside of a context of either kind."""
    if hasattr(manager, "__aenter__"):
        async with manager as found:
            yield found
    else:
        with manager as found:
            yield found


async def happened(event: threading.Event) -> bool:
    """Whether it happens in time. An event loop, where there is one, goes on meanwhile."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return event.wait(60)
    return await to_thread.run_sync(event.wait, 60)


async def left(stream: Any) -> None:
    """Take one entry of a stream that is a generator of either kind, and go: close it, or cancel whoever waits for more.

    Closing is not enough for async generators: `google-genai` then leaves the connection to the garbage collector.
    """
    if hasattr(stream, "__aiter__"):
        with CancelScope() as scope:
            async for _ in stream:
                scope.cancel()
    else:
        next(stream)
        stream.close()
