"""Calls that are cancelled at any moment leave nothing behind, however often.

Over connections of our own: the pool of `httpx` loses places when its requests are cancelled (encode/httpcore 1093).
"""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from llm_rest import AsyncClient, RetryPolicy
from llm_rest.errors import LLMError
from tests.hostile.documents import GEMINI
from tests.loopback import END, STREAM, Act, Loopback, chunks, full, http, loopback, send, send_and_stall
from tests.support import WHOLE
from tests.transport.support import open_sockets

pytestmark = pytest.mark.anyio

SEED = 20261120
AT_ONCE = 60
CONNECTIONS = 45
HOW_MANY = {
    ways: number if WHOLE else number // 4
    for ways, number in {("asyncio", "native"): 4000, ("asyncio", "scope"): 4000, ("trio", "scope"): 2000}.items()
}
"""Ten thousand of them in `make test-whole`, a quarter of that otherwise."""


def stuck(chance: random.Random) -> Callable[[bytes], Act]:
    """Sends an answer up to a random byte, or all of it; some are errors that are retried."""

    def by_head(head: bytes) -> Act:
        streamed = b":streamGenerateContent" in head
        whole = STREAM + chunks(*GEMINI.frames()) + END if streamed else http(GEMINI.good())
        cut = chance.choice([0, 0, len(whole) // 9, chance.randrange(len(whole)), len(whole)])
        size = 100 if streamed else len(whole)

        def act(connection: socket.socket, server: Loopback) -> bool:
            for at in range(0, cut, size):
                connection.sendall(whole[at : min(cut, at + size)])
                time.sleep(0.001)
            return cut == len(whole) or send_and_stall()(connection, server)

        return send(http(b"{}", "503 Busy", "retry-after-ms: 20")) if chance.random() < 0.25 else act

    return by_head


async def call(llm: AsyncClient, stream: bool) -> None:
    """One call, to its end if it is let."""
    try:
        if not stream:
            await llm.generate("Hi")
            return
        async with llm.stream("Hi") as events:
            async for _ in events:
                pass
    except LLMError:
        pass


async def cancelled_natively(work: Coroutine[Any, Any, None], after: float) -> bool:
    """Whether the work was cancelled, by its task."""
    task = asyncio.get_running_loop().create_task(work)
    await asyncio.sleep(after)
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()


async def cancelled_by_scope(work: Coroutine[Any, Any, None], after: float) -> bool:
    """Whether the work was cancelled, by a scope around it."""
    with anyio.move_on_after(after) as scope:
        await work
    return scope.cancelled_caught


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize(("backend", "how"), HOW_MANY)
def test_ten_thousand_cancellations_leave_nothing_behind(backend: str, how: str) -> None:
    cancelled: Callable[..., Any] = cancelled_natively if how == "native" else cancelled_by_scope
    chance = random.Random(SEED)
    counted = 0

    async def main(good: str, never: str) -> None:
        options: dict[str, Any] = {
            "api_key": "sk-test-0123456789",
            "retry": RetryPolicy(base_delay=0.02),
            "max_connections": CONNECTIONS,
        }
        clients = [AsyncClient(GEMINI.model, base_url=url, **options) for url in (good, never)]

        async def worker() -> None:
            nonlocal counted
            while counted < HOW_MANY[backend, how]:
                llm = clients[chance.random() < 0.1]
                if await cancelled(call(llm, chance.random() < 0.5), chance.random() * 0.05):
                    counted += 1

        async with anyio.create_task_group() as tasks:
            for _ in range(AT_ONCE):
                tasks.start_soon(worker)
        if backend == "asyncio":
            assert asyncio.all_tasks() == {asyncio.current_task()}
        await still_works(clients[0])
        for llm in clients:
            await llm.aclose()

    async def still_works(llm: AsyncClient) -> None:
        """Every place is free, and calls are answered again, as far as this server answers: about one in seven."""
        for home in llm._caller.transport._pools():  # type: ignore[attr-defined]
            assert home.slots.value == CONNECTIONS
        seen: list[object] = []
        for _ in range(200):
            with anyio.move_on_after(0.3):
                reply = await llm.try_generate("Hi", retry=1)
                if not isinstance(reply, dict):
                    return
                seen.append(reply["description"])
        raise AssertionError(f"no call was answered any more: {seen}")

    before = open_sockets()
    with loopback(by_head=stuck(random.Random(SEED))) as good, full() as never:
        anyio.run(main, good.url, never, backend=backend)
    gc.collect()
    assert open_sockets() == before
