"""Chats in tests: by either kind of client, with a model that answers from a script."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

from msgspec.structs import replace

from llm_rest import Chat, simulator
from llm_rest.responses import FunctionCall, Message, Response, Usage
from llm_rest.responses.request import items_of
from llm_rest.testing import FakeModel
from llm_rest.vendors.rows import VENDORS
from tests.callers import AwaitedStream

sent: list[bytes] = []
"""The bodies of the requests to `RECORDED`, in order."""


def handle(method: str, path: str, headers: Any, body: bytes) -> Any:
    sent.append(body)
    return simulator.handle(method, path, headers, body)


def handle_stream(method: str, path: str, headers: Any, body: bytes) -> Any:
    sent.append(body)
    return simulator.handle_stream(method, path, headers, body)


RECORDED = replace(VENDORS["simulator"], base_url=f"inproc:{__name__}")
"""The simulator, with a record of what it gets."""


class Host(FakeModel):
    """A model that gives these answers, one after the other, and remembers the requests."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(answers)

    @property
    def texts(self) -> list[str]:
        """What the last request held, as texts and names."""
        return texts_of(items_of(self.requests[-1]))

    @property
    def sizes(self) -> list[int]:
        """The number of items of each request."""
        return [len(items_of(request)) for request in self.requests]


def texts_of(items: Any) -> list[str]:
    found: list[str] = []
    for item in (item.to_dict() for item in items):
        content: Any = item.get("content", item.get("output", item.get("name")))
        found.append(content if isinstance(content, str) else "".join(part["text"] for part in content))
    return found


def counted(said: str | FunctionCall, tokens: int) -> Response:
    """An answer for so many tokens of input."""
    item = Message(role="assistant", content=said) if isinstance(said, str) else said
    return Response(id="r", status="completed", output=[item], usage=Usage(input_tokens=tokens, output_tokens=3))


def client(way: str, host: FakeModel | None = None, **options: Any) -> Any:
    """A client of this model."""
    host = FakeModel() if host is None else host
    return (host.client if way == "sync" else host.async_client)("openai/gpt-4o", retry=1, **options)


async def done(result: Any) -> Any:
    """What a method of either kind of chat gives."""
    return await result if isawaitable(result) else result


async def asked(chat: Any, *arguments: Any, **options: Any) -> Any:
    return await done(chat.ask(*arguments, **options))


async def pieces(chat: Any, *arguments: Any, most: int = 10_000, **options: Any) -> tuple[list[str], Any]:
    """The pieces of text of a streamed turn, and the stream."""
    found, stream = list[str](), chat.stream(*arguments, **options)
    awaited = AwaitedStream(stream) if isinstance(chat, Chat) else stream
    async with awaited:
        async for piece in awaited.text:
            found.append(piece)
            if len(found) == most:
                break
    return found, stream
