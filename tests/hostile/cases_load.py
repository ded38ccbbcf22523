"""`R` what would exhaust memory, sockets and time; `C` cancellation and concurrency."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio

from llm_rest import RetryPolicy
from llm_rest.transport import exchange
from tests.callers import together
from tests.hostile.cases_http import reads_nothing
from tests.hostile.cases_streams import opened
from tests.hostile.documents import LONG, Documents, bomb, long
from tests.hostile.table import KEY, Ask, Case, Seen, World, bad, good, locals_of, streamed, whole
from tests.loopback import END, chunks, flood, full, head, http, send, send_and_stall

MiB = 1024 * 1024
CAP = 64
SMALL = 16
HELD = 24
TWICE = 164
"""An answer of 60 MB as bytes and as text (115 MiB) and what else a call takes; a third copy would make it 172 and more."""


def ok(d: Documents) -> list[Any]:
    return [send(http(d.good()))]


def peak(*, forget: bool = False) -> int:
    """The most memory this process ever had, in MiB, since it was forgotten."""
    if forget:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    return 0


def bounded(ask: Ask, most: int) -> Ask:
    """The process grows by no more than so many MiB."""

    async def measured(world: World) -> Any:
        before = peak(forget=True)
        try:
            return await ask(world)
        finally:
            grown = peak() - before
            assert grown <= most, f"grew by {grown} MiB"

    return measured


async def held_once(world: World) -> Any:
    """A stream that is left after a long text: it is in memory once."""
    before, seen = peak(forget=True), 0
    async with world.client(timeout=120).stream("Hi") as stream:
        async for event in stream:
            seen += len(getattr(event, "delta", ""))
            if seen >= HELD * MiB:
                break
    grown = peak() - before
    assert grown <= 1.5 * HELD + 4, f"grew by {grown} MiB"
    assert len(stream.response.output_text) == seen


async def unkept(world: World) -> Any:
    """A stream that is read and not kept, by a client whose limit is lower than usual."""
    llm = world.client()
    world.clients[-1]._caller.transport._max_body = SMALL * MiB
    before, exchange.MAX_STREAM = exchange.MAX_STREAM, SMALL * MiB
    try:
        async with llm.stream("Hi") as stream:
            async for _ in stream:
                pass
    finally:
        exchange.MAX_STREAM = before
    return stream.response


def at_once(count: int) -> Ask:
    """So many calls of one client at the same time, from 16 threads or as many tasks."""

    async def ask(world: World) -> Any:
        llm = world.client(max_connections=20)
        replies = await together(world.mode, [lambda: llm.generate("Hi")] * count)
        assert [reply.output_text for reply in replies] == ["Hello"] * count
        return replies[0]

    return ask


def endless_text(d: Documents) -> list[Any]:
    return [flood(opened(d) + chunks(*d.begin()), chunks(d.delta("x" * 1000)) * 60, most=400 * MiB)]


def crumbs(d: Documents) -> list[Any]:
    body = d.good("x" * 200_000)
    return [send(head(), b"".join(b"1\r\n%c\r\n" % byte for byte in body), END)]


def short_body(seen: Seen) -> bool:
    return len(str(seen.error.body)) < 70_000


TOO_LARGE = bad("response_too_large", attempts=1, retryable=False)

BELOW = dict.fromkeys(
    ("openai_responses", "anthropic_messages", "gemini_generate_content"), "a body is read before its wire matters"
)

R = [
    Case("R01", "a JSON body without end", lambda d: [flood(head() + chunks(b'{"id": "'), chunks(b"x" * 65_536), most=400 * MiB)], TOO_LARGE, ask=bounded(whole, CAP + 64), cannot=BELOW),
    Case("R02", "an event or line without end", lambda d: [flood(opened(d) + chunks(b"data: " if not d.ndjson else b'{"'), chunks(b"x" * 65_536), most=400 * MiB)], bad("response_too_large", "malformed_response", attempts=1), ask=bounded(streamed, CAP + 64), cannot=BELOW),
    Case("R03", "a gzip bomb, 1 MB to 1 GB", lambda d: [send(http(bomb(1000), "200 OK", "content-encoding: gzip"))], TOO_LARGE, ask=bounded(whole, CAP + 64), cannot=BELOW),
    Case("R04", "a gzip bomb as a stream", lambda d: [send(opened(d, "content-encoding: gzip") + chunks(bomb(1000)) + END)], bad("response_too_large", "malformed_response", attempts=1), ask=bounded(streamed, CAP + 64), cannot=BELOW),
    Case("R05", "200 000 chunks of one byte", crumbs, good(text=None, then=lambda s: len(s.reply.output_text) == 200_000), cannot=BELOW),
    Case("R06", "a model that never stops", endless_text, bad("response_too_large", attempts=1, then=lambda s: s.error.partial is not None), ask=bounded(unkept, SMALL + 64), modes=("sync",)),
    Case("R10", "an error body without end, in memory", lambda d: [flood(head(status="400 No"), chunks(b"x" * 262_144), most=400 * MiB)], bad("bad_request", status=400, then=short_body), ask=bounded(whole, 64), cannot=BELOW),
    Case("R11", "a gzip bomb as an error body, in memory", lambda d: [send(http(bomb(256, b" "), "500 No", "content-encoding: gzip"))], bad("internal_server", attempts=3, status=500, then=short_body), ask=bounded(whole, 64), cannot=BELOW),
    Case("R12", "a head without end, in memory", lambda d: [flood(b"HTTP/1.1 200 OK\r\n", b"x-more: y\r\n" * 1000, most=400 * MiB)], bad("protocol", attempts=1), ask=bounded(whole, 64), cannot=BELOW),
    Case("R09", "an answer of 60 MB", lambda d: [long(d.good(LONG), 60)], good(text=None, then=lambda s: len(s.reply.output_text) == 60_000_000), ask=bounded(whole, TWICE), modes=("sync",), cannot=BELOW),
]  # fmt: skip


LONG_TEXT = Case(
    "S141", "a stream that is left after a text of 24 MB", endless_text, good(text=None), ask=held_once, modes=("sync",)
)
"""An `S`, because each wire has an assembly of its own."""


# --- cancellation ---------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def given_up(world: World, seconds: float = 0.1) -> AsyncIterator[None]:
    """What is inside is cancelled, as a task or by Ctrl-C, ends at once, and says so as the caller's cancellation does."""
    if world.mode == "sync":
        with contextlib.suppress(KeyboardInterrupt), ended_by(seconds), ctrl_c(seconds):
            yield
            raise AssertionError("it came to its end")
    else:
        with anyio.move_on_after(seconds) as scope, ended_by(seconds):
            yield
        assert scope.cancelled_caught, "it came to its end"


@contextlib.contextmanager
def ended_by(seconds: float) -> Iterator[None]:
    """The block ends by then, and the exception shows no key: a reporter of errors may look at cancellations too."""
    began = time.monotonic()
    try:
        yield
    except BaseException as ended:
        if time.monotonic() - began > seconds + 3:
            raise AssertionError("it did not end at once") from ended
        if [text for text in locals_of(ended) if KEY in text]:
            raise AssertionError("the key is shown") from ended
        raise


@contextlib.contextmanager
def ctrl_c(seconds: float) -> Any:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


async def connecting(world: World) -> Any:
    with full() as url:
        async with given_up(world):
            await world.client(base_url=url).generate("Hi")
    return await world.client().generate("Hi")


async def waiting(world: World) -> Any:
    """Cancelled while the answer is awaited; the connection is closed, and the next call is good."""
    llm = world.client()
    async with given_up(world):
        await llm.generate("Hi")
    assert world.server.wait_closed() == 0
    return await llm.generate("Hi")


async def for_a_connection(world: World) -> Any:
    llm = world.client(max_connections=1)
    async with llm.stream("Hi"):
        async with given_up(world):
            await llm.generate("Hi")
    return await llm.generate("Hi")


async def backing_off(world: World) -> Any:
    llm = world.client(really=True, retry=RetryPolicy(base_delay=30, max_delay=30, jitter="none"))
    async with given_up(world):
        await llm.generate("Hi")
    return await llm.generate("Hi")


async def streaming(world: World) -> Any:
    llm = world.client()
    async with given_up(world):
        async with llm.stream("Hi") as stream:
            async for _ in stream:
                pass
    assert world.server.wait_closed() == 0
    return await llm.generate("Hi")


async def uploading(world: World) -> Any:
    llm = world.client()
    async with given_up(world, 0.3):  # a busy machine takes a while to begin
        await llm.generate("x" * 6_000_000)
    return await llm.generate("Hi")


async def one_of_many(world: World) -> Any:
    """One call is cancelled, its neighbours are not."""
    llm = world.client()
    found: list[Any] = []

    async def given() -> None:
        with anyio.move_on_after(0.1):
            await llm.generate("Hi")

    async def kept() -> None:
        await anyio.sleep(0.05)
        found.append(await llm.generate("Hi"))

    async with anyio.create_task_group() as group:
        group.start_soon(given)
        for _ in range(5):
            group.start_soon(kept)
    assert [reply.output_text for reply in found] == ["Hello"] * 5
    return found[0]


async def fifty_left(world: World) -> Any:
    llm = world.client()

    async def leave() -> None:
        async with llm.stream("Hi") as stream:
            async for _ in stream:
                break

    await together(world.mode, [leave] * 50)
    assert world.server.wait_closed() == 0
    world.server.acts[:] = [send(http(world.documents.good()))]
    return await llm.generate("Hi")


async def two_loops_at_once(world: World) -> Any:
    """One client in two event loops, in two threads, at the same time."""
    world.client()
    real, found = world.clients[-1], list[Any]()

    async def work() -> None:
        for _ in range(4):
            found.append(real.generate("Hi") if world.mode == "sync" else await real.generate("Hi"))

    def loop() -> None:
        anyio.run(work, backend="asyncio" if world.mode == "sync" else world.mode)

    running = [threading.Thread(target=loop) for _ in range(2)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join() if world.mode == "sync" else await anyio.to_thread.run_sync(thread.join)
    assert [reply.output_text for reply in found] == ["Hello"] * 8
    return found[0]


async def closed_meanwhile(world: World) -> Any:
    """The client is closed while a call is in progress: that call ends, with an answer or an error, and never hangs."""
    llm = world.client(timeout=0.5)

    def close() -> None:
        world.server.heard.wait(5)
        world.clients[-1].close()

    thread = threading.Thread(target=close)
    thread.start()
    try:
        return await llm.generate("Hi")
    finally:
        thread.join()


def once(*acts: Any) -> Any:
    return lambda d: [*(act(d) for act in acts), send(http(d.good()))]


def silent(d: Documents) -> Any:
    return send_and_stall()


def busy(d: Documents) -> Any:
    return send(http(d.error(503), "503 Busy"))


def begun(d: Documents) -> Any:
    return send_and_stall(opened(d) + chunks(*d.begin(), d.delta("one"), d.delta("two")))


TASKS = ("asyncio", "trio")

C = [
    Case("C01", "cancelled while connecting", ok, good(), ask=connecting),
    Case("C02", "cancelled while the answer is awaited", once(silent), good(2), ask=waiting, counted=False),
    Case("C03", "cancelled in mid body", once(lambda d: send_and_stall(http(d.good()[:20], length=500))), good(2), ask=waiting, counted=False),
    Case("C04", "cancelled while waiting for a connection", once(begun), good(2), ask=for_a_connection, counted=False),
    Case("C05", "cancelled while backing off", once(busy), good(2), ask=backing_off, counted=False),
    Case("C06", "cancelled while reading a stream", once(begun), good(2), ask=streaming, counted=False),
    Case("C07", "16 threads, or 160 tasks, share one client", ok, good(160, then=lambda s: s.connections <= 20), ask=at_once(160), counted=False),
    Case("C08", "one of several calls is cancelled", once(silent), good(6), ask=one_of_many, counted=False, modes=TASKS),
    Case("C13", "50 streams at once, each left after one delta", lambda d: [begun(d)], good(51), ask=fifty_left, counted=False),
    Case("C17", "cancelled while a large request is sent", lambda d: [reads_nothing, *ok(d)], good(2), ask=uploading, counted=False, lingers=True),
    Case("C15", "one client, two event loops in two threads at the same time", ok, good(8), ask=two_loops_at_once, counted=False),
    Case("C16", "the client is closed while a call is under way", lambda d: [send_and_stall()], bad("api_timeout", "client_closed", "connect", "api_connection", attempts=1), ask=closed_meanwhile, counted=False, slow=True, modes=("sync",)),
]  # fmt: skip
