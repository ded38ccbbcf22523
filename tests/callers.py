"""One test, three ways to call: the sync client, and the async one on asyncio and on trio.

A test with one of these fixtures is an `async def`; a sync client is wrapped so that it can be awaited. It then runs inside
a running event loop, which it must not mind. Every test loads this file, so it imports what it needs where it needs it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest


@pytest.fixture(params=["sync", "asyncio", "trio"])
def way(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def anyio_backend(way: str) -> str:
    return "trio" if way == "trio" else "asyncio"


class AwaitedStream:
    """A sync stream that is used as an async one."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "text":
            return AwaitedStream(found)
        return (lambda: AwaitedStream(found())) if name == "elements" else found

    async def __aenter__(self) -> Any:
        self._inner.__enter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        self._inner.__exit__(*failure)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        found = next(self._inner, self)
        if found is self:
            raise StopAsyncIteration
        return found

    async def aclose(self) -> None:
        self._inner.close()


class Awaited:
    """A sync client whose methods are awaited."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in ("responses", "models"):
            return Awaited(found)
        if not callable(found) or name in ("capabilities", "estimate_tokens"):
            return found
        if name == "with_options":
            return lambda **options: Awaited(found(**options))
        if name in ("stream", "stream_json"):
            return lambda *args, **options: AwaitedStream(found(*args, **options))

        async def call(*args: Any, **options: Any) -> Any:
            return found(*args, **options)

        return call

    async def aclose(self) -> None:
        self._inner.close()

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._inner.close()


NewClient = Callable[..., Any]


@pytest.fixture
def new_client(way: str) -> NewClient:
    """Makes a client of this way, without retries unless the test gives them. Use it with `async with`."""
    from llm_rest.client.client import AsyncClient, Client

    def make(model: str | None = "openai/gpt-4o", **options: Any) -> Any:
        options.setdefault("api_key", "sk-test-0123456789")
        options.setdefault("retry", 1)
        return Awaited(Client(model, **options)) if way == "sync" else AsyncClient(model, **options)

    return make


@pytest.fixture
def new_transport(way: str) -> Callable[..., Any]:
    """Makes a transport of this way."""
    from llm_rest.transport.asynchronous import AsyncTransport
    from llm_rest.transport.blocking import SyncTransport

    return SyncTransport if way == "sync" else AsyncTransport


async def together(way: str, works: list[Callable[[], Awaitable[Any]]]) -> list[Any]:
    """The results of calls that are made at the same time, in threads or as tasks."""
    import anyio

    from llm_rest.sync import drive

    found: list[Any] = []

    async def one(work: Callable[[], Awaitable[Any]]) -> None:
        found.append(await work())

    if way == "sync":
        with ThreadPoolExecutor(len(works)) as pool:
            list(pool.map(lambda work: drive(one(work)), works))
    else:
        async with anyio.create_task_group() as group:
            for work in works:
                group.start_soon(one, work)
    return found


def answer(text: str = "Hello", **fields: Any) -> dict[str, Any]:
    """A response object as a server of the Responses wire sends it."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    return {"id": "resp_1", "object": "response", "status": "completed", "output": [message], "usage": usage, **fields}


def event(kind: str, **fields: Any) -> bytes:
    """An event of the Responses wire as it is sent."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def delta(text: str) -> bytes:
    """A piece of the text of the first item."""
    return event("response.output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta=text)


BEGIN = event("response.created", response={"id": "resp_1", "status": "in_progress", "output": []}) + event(
    "response.in_progress", response={"id": "resp_1", "status": "in_progress", "output": []}
)
"""How a stream begins; what follows may be deltas at once, since hosts leave the announcements out."""


def completed(text: str = "Hello", **fields: Any) -> bytes:
    """The end of a stream, with the whole answer."""
    return event("response.completed", response=answer(text, **fields))


def frames(*texts: str) -> list[bytes]:
    """A whole stream with these texts."""
    return [BEGIN, *map(delta, texts), completed("".join(texts))]
