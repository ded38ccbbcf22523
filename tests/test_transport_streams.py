"""What the transport promises of an answer that is read as it comes, over real sockets, in three ways to call."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import h11
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.errors import LLMError, MalformedResponse, ProtocolError, ResponseTooLarge, TimeoutError_, TransportError
from llm_rest.transport import HttpAnswer, HttpRequest, Timeouts, drive
from llm_rest.transport.asynchronous import AsyncTransport
from llm_rest.transport.blocking import SyncTransport
from llm_rest.transport.deadlines import Deadline, StreamDeadline
from llm_rest.transport.http11 import Http11
from tests.loopback import (
    END,
    STREAM,
    chunks,
    drip,
    gated,
    http,
    loopback,
    send,
    send_and_close,
    send_and_stall,
    watched,
)
from tests.support.streams import slices

pytestmark = pytest.mark.anyio

NewTransport = Callable[..., Any]
SOON = Timeouts(first_byte=10, silence=10, idle=10)


def post(url: str) -> HttpRequest:
    return HttpRequest("POST", url, {"Authorization": "Bearer k"}, b"{}", stream=True)


async def rest(incoming: Any) -> bytes:
    pieces: list[bytes] = []
    while (piece := await incoming.read()) is not None:
        pieces.append(piece)
    return b"".join(pieces)


# --- as it comes ----------------------------------------------------------------------------------------------------


async def test_the_first_bytes_are_there_before_the_last_are_sent(new_transport: NewTransport) -> None:
    with loopback(gated(STREAM + chunks(b"one"), chunks(b"two") + END)) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        assert (incoming.status, incoming.headers["content-type"]) == (200, "text/event-stream")
        assert await incoming.read() == b"one"
        server.go.set()
        assert await rest(incoming) == b"two"
        assert await incoming.read() is None
        await transport.close()


async def test_a_stream_read_to_its_end_leaves_its_connection_for_the_next(new_transport: NewTransport) -> None:
    with loopback(send(STREAM + chunks(b"one", b"two") + END)) as server:
        transport = new_transport(max_connections=1)
        for _ in range(3):
            assert await rest(await transport.open(post(server.url), SOON)) == b"onetwo"
        assert (await transport.send(post(server.url), SOON)).body == b"onetwo"
        await transport.close()
    assert server.connections == 1


async def test_a_stream_that_is_finished_leaves_its_connection_where_the_end_comes_soon(
    new_transport: NewTransport,
) -> None:
    with loopback(send(STREAM + chunks(b"one", b"[DONE]") + END)) as server:
        transport = new_transport()
        for _ in range(2):
            incoming = await transport.open(post(server.url), SOON)
            await incoming.read()
            await incoming.finish()
        await transport.close()
    assert server.connections == 1


async def test_a_stream_whose_end_does_not_come_is_closed_when_it_is_finished(new_transport: NewTransport) -> None:
    with loopback(watched(STREAM + chunks(b"one"))) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        await incoming.finish()
        assert server.left.wait(5)
        await transport.close()


async def test_leaving_a_stream_closes_its_connection_and_frees_its_place(new_transport: NewTransport) -> None:
    with loopback(watched(STREAM + chunks(b"one"), every=chunks(b"more")), send(http(b"good"))) as server:
        transport = new_transport(max_connections=1)
        incoming = await transport.open(post(server.url), SOON)
        assert (await incoming.read()).startswith(b"one")
        await incoming.close()
        await incoming.close()
        assert server.left.wait(5)
        assert await incoming.read() is None
        assert (await transport.send(post(server.url), SOON)).body == b"good"
        await transport.close()
    assert server.connections == 2


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_an_answer_that_is_no_good_one_comes_whole(new_transport: NewTransport, status: int) -> None:
    with loopback(send(http(b"no", f"HTTP/1.1 {status} No"))) as server:
        transport = new_transport(max_connections=1)
        for _ in range(2):
            answer = await transport.open(post(server.url), SOON)
            assert isinstance(answer, HttpAnswer)
            assert (answer.status, answer.body) == (status, b"no")
        await transport.close()
    assert server.connections == 1


async def test_a_stream_may_be_ended_by_the_close_of_http_1_0(new_transport: NewTransport) -> None:
    with loopback(send_and_close(b"HTTP/1.0 200 OK\r\n\r\nbody")) as server:
        transport = new_transport()
        assert await rest(await transport.open(post(server.url), SOON)) == b"body"
        await transport.close()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (STREAM + chunks(b"one"), ProtocolError),
        (STREAM + chunks(b"one") + b"5\r\ntw", ProtocolError),
        (STREAM + chunks(b"one") + b"ZZ\r\n", ProtocolError),
        (STREAM + b"3\r\nonetwo", ProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\none", ProtocolError),
    ],
    ids=["no-last-chunk", "half-a-chunk", "no-length", "too-long-a-chunk", "short"],
)
async def test_what_came_before_a_broken_end_is_read_first(
    new_transport: NewTransport, data: bytes, kind: type[LLMError]
) -> None:
    with loopback(send_and_close(data)) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        assert (await incoming.read() or b"")[:3] == b"one"
        with pytest.raises(kind) as caught:
            await rest(incoming)
        assert caught.value.__context__ is None
        assert await incoming.read() is None
        await transport.close()


# --- codings and sizes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coding", "wbits"), [("gzip", 31), ("deflate", 15)])
async def test_a_coding_is_undone_piece_by_piece(new_transport: NewTransport, coding: str, wbits: int) -> None:
    pack = zlib.compressobj(wbits=wbits)
    one, two = [pack.compress(text) + pack.flush(zlib.Z_SYNC_FLUSH) for text in (b"one", b"two")]
    head = STREAM.replace(b"\r\n\r\n", f"\r\ncontent-encoding: {coding}\r\n\r\n".encode())
    with loopback(gated(head + chunks(one[:5], one[5:]), chunks(two, pack.flush()) + END)) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        came = b""
        while came != b"one":
            came += await incoming.read()
        server.go.set()
        assert await rest(incoming) == b"two"
        await transport.close()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (gzip.compress(b"hello" * 99)[:-9], MalformedResponse),
        (b"plain", MalformedResponse),
        (gzip.compress(b"\0" * 300_000_000), ResponseTooLarge),
    ],
    ids=["cut", "untrue", "bomb"],
)
async def test_a_coding_that_is_not_right_ends_the_stream(
    new_transport: NewTransport, body: bytes, kind: type[LLMError]
) -> None:
    head = STREAM.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    with loopback(send(head + chunks(body) + END)) as server:
        transport = new_transport()
        incoming = await transport.open(post(server.url), SOON)
        with pytest.raises(kind):
            await rest(incoming)
        await transport.close()


# --- how long -------------------------------------------------------------------------------------------------------

PING = chunks(b": ping\n\n")


@pytest.mark.parametrize(
    ("act", "timeouts", "phase"),
    [
        (send_and_stall(b""), Timeouts(first_byte=0.2), "first_byte"),
        (send_and_stall(STREAM), Timeouts(first_byte=0.2), "first_byte"),
        (send_and_stall(STREAM + chunks(b"one")), Timeouts(first_byte=9, silence=0.2), "silence"),
        (watched(STREAM + chunks(b"one"), every=PING), Timeouts(silence=9, idle=0.3), "idle"),
        (watched(STREAM + chunks(b"one"), every=PING), Timeouts(total=0.3), "total"),
        (drip(b"x" * 99, first=STREAM + chunks(b"one") + b"63\r\n"), Timeouts(silence=9, total=0.3), "total"),
        (send_and_stall(b""), Timeouts(first_byte=None, silence=None, idle=None, total=0.3), "total"),
    ],
    ids=["no-head", "no-body", "silent", "pings", "pings-total", "drip-total", "total-alone"],
)
async def test_a_wait_has_its_limit(new_transport: NewTransport, act: Any, timeouts: Timeouts, phase: str) -> None:
    """BUGS 62 and 67. Keep-alives end a silence, and not the wait for something of the answer."""
    with loopback(act) as server:
        transport = new_transport()
        with pytest.raises(TimeoutError_) as caught:
            await rest(await transport.open(post(server.url), timeouts))
        assert caught.value.phase == phase
        await transport.close()


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("llm_rest.transport.deadlines.time.monotonic", lambda: self.now)

    def wait(self, deadline: StreamDeadline, seconds: float, *, progress: bool = False) -> float | None:
        """Wait so long for bytes that come; how long the wait might have been."""
        deadline.wait()
        left = deadline.left()
        self.now += seconds
        deadline.came()
        if progress:
            deadline.progressed()
        return left


def test_keep_alives_end_a_silence_and_only_more_of_the_answer_ends_idleness(monkeypatch: pytest.MonkeyPatch) -> None:
    """BUGS 62 and 67."""
    clock = Clock(monkeypatch)
    deadline = StreamDeadline(Timeouts(first_byte=7, silence=3, idle=5))
    assert [clock.wait(deadline, 2) for _ in range(3)] == [7, 3, 1]
    with pytest.raises(TimeoutError_) as caught:
        clock.wait(deadline, 9)
    assert caught.value.phase == "idle"
    deadline = StreamDeadline(Timeouts(first_byte=7, silence=3, idle=5))
    assert [clock.wait(deadline, 2, progress=True) for _ in range(9)] == [7, *[3] * 8]


def test_the_time_between_two_waits_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    deadline = StreamDeadline(Timeouts(first_byte=7, silence=3, idle=5))
    for allowed in (7, 3, 3):
        clock.now += 100
        assert clock.wait(deadline, 1) == allowed


def test_a_total_counts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    deadline = StreamDeadline(Timeouts(total=10))
    clock.wait(deadline, 1)
    clock.now += 8
    assert clock.wait(deadline, 0) == 1
    assert Deadline(Timeouts()).left() == 600
    assert StreamDeadline(Timeouts()).left() is None


# --- left behind ----------------------------------------------------------------------------------------------------


async def test_a_stream_that_is_forgotten_is_closed(new_transport: NewTransport) -> None:
    with loopback(watched(STREAM + chunks(b"one")), send(http(b"good"))) as server:
        transport = new_transport(max_connections=1)
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        del incoming
        gc.collect()
        assert (await transport.send(post(server.url), SOON)).body == b"good"
        assert server.left.wait(5)
        await transport.close()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_stream_forgotten_in_another_thread_is_closed_in_its_loop(backend: str) -> None:
    async def main() -> None:
        transport = AsyncTransport()
        held = [await transport.open(post(server.url), SOON)]
        await anyio.to_thread.run_sync(held.clear)
        while not server.left.is_set():  # noqa: ASYNC110 - the server is a thread
            await anyio.sleep(0.01)
        await transport.close()

    with loopback(watched(STREAM)) as server:
        anyio.run(main, backend=backend)


def test_a_stream_that_outlives_its_loop_does_no_harm() -> None:
    async def main() -> None:
        held.append(await AsyncTransport().open(post("inproc:tests.test_transport_streams"), SOON))

    held: list[Any] = []
    for backend in ("asyncio", "trio"):
        anyio.run(main, backend=backend)
    held.clear()
    gc.collect()


@pytest.mark.parametrize(("backend", "how"), [("asyncio", "scope"), ("asyncio", "native"), ("trio", "scope")])
def test_a_cancelled_read_closes_the_connection_and_frees_its_place(backend: str, how: str) -> None:
    async def read_on(transport: Any, begun: anyio.Event) -> None:
        incoming = await transport.open(post(server.url), SOON)
        while True:
            await incoming.read()
            begun.set()

    async def main() -> None:
        begun = anyio.Event()
        transport = AsyncTransport(max_connections=1)
        if how == "native":
            task = asyncio.get_running_loop().create_task(read_on(transport, begun))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_on, transport, begun)
                await begun.wait()
                tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(server.left.wait, 5)
        assert (await transport.send(post(server.url), SOON)).body == b"good"
        await transport.close()

    with loopback(watched(STREAM + chunks(b"one")), send(http(b"good"))) as server:
        anyio.run(main, backend=backend)


def test_a_sync_stream_is_closed_by_another_thread() -> None:
    with loopback(watched(STREAM + chunks(b"one"))) as server:
        transport = SyncTransport()
        incoming: Any = drive(transport.open(post(server.url), SOON))
        assert drive(incoming.read()) == b"one"
        timer = threading.Timer(0.1, lambda: drive(incoming.close()))
        timer.start()
        with contextlib.suppress(TransportError):
            assert drive(incoming.read()) is None
        timer.join()
        assert server.left.wait(5)
        drive(transport.close())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_async_stream_is_closed_by_another_task(backend: str) -> None:
    async def main() -> None:
        transport = AsyncTransport()
        incoming: Any = await transport.open(post(server.url), SOON)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(incoming.close)
            with pytest.raises(TransportError):
                await rest(incoming)
        await transport.close()

    with loopback(watched(STREAM + chunks(b"one"))) as server:
        anyio.run(main, backend=backend)
        assert server.left.wait(5)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_many_streams_left_at_once_leave_nothing_open(backend: str) -> None:
    async def leave(transport: Any) -> None:
        incoming = await transport.open(post(endless.url), SOON)
        await incoming.read()
        await incoming.close()

    async def main() -> None:
        transport = AsyncTransport(max_connections=8)
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(leave, transport)
        assert (await transport.send(post(good.url), SOON)).body == b"good"
        [home] = transport._homes()
        assert [len(idle) for idle in home.idle.values()] == [1]
        await transport.close()

    with loopback(watched(STREAM + chunks(b"one"), every=PING)) as endless, loopback(send(http(b"good"))) as good:
        anyio.run(main, backend=backend)


# --- through others -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
async def test_a_client_of_the_callers_streams(new_transport: NewTransport, way: str, library: str) -> None:
    module = pytest.importorskip(library)
    kind = module.Client if way == "sync" else module.AsyncClient
    http_client = kind(headers={"x-mine": "1"})
    gate = gated(STREAM + chunks(b"one"), chunks(b"two") + END)
    with loopback(gate, watched(STREAM + chunks(b"one")), send_and_stall(STREAM + chunks(b"one"))) as server:
        transport = new_transport(http=http_client)
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        server.go.set()
        assert await rest(incoming) == b"two"
        incoming = await transport.open(post(server.url), SOON)
        assert await incoming.read() == b"one"
        await incoming.close()
        assert server.left.wait(5)
        # What an `httpx.Client` once began to read, it reads with the one limit of its beginning.
        incoming = await transport.open(post(server.url), Timeouts(first_byte=0.3, silence=0.2))
        with pytest.raises(TimeoutError_) as caught:
            await rest(incoming)
        assert caught.value.phase == "silence"
        await transport.close()
    assert b"x-mine: 1" in server.heads[0]
    await http_client.aclose() if way != "sync" else http_client.close()


def test_what_intercepts_httpx_intercepts_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from (b"mock", b"ed")

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"mock"
            yield b"ed"

    def intercepted(self: Any, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Body())

    async def intercepted_async(self: Any, request: httpx.Request) -> httpx.Response:
        return intercepted(self, request)

    async def main(transport: Any) -> bytes:
        first = await rest(await transport.open(post("https://vendor.example"), SOON))
        return first + await rest(await transport.open(post("https://vendor.example"), SOON))

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", intercepted)
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", intercepted_async)
    assert drive(main(SyncTransport())) == b"mocked" * 2
    for backend in ("asyncio", "trio"):
        assert anyio.run(main, AsyncTransport(), backend=backend) == b"mocked" * 2


closed: list[str] = []


def handle(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, b"whole"


def handle_stream(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        try:
            yield from (b"one", b"two", b"three")
        finally:
            closed.append(path)

    return 200, [("X-Seen", f"{method} {path}")], pieces()


async def test_a_server_in_this_process_streams(new_transport: NewTransport) -> None:
    transport = new_transport()
    incoming = await transport.open(post(f"inproc:{__name__}/a"), SOON)
    assert incoming.headers["x-seen"] == "POST /a"
    assert [await incoming.read(), await incoming.read()] == [b"one", b"two"]
    assert await rest(incoming) == b"three"
    incoming = await transport.open(post(f"inproc:{__name__}/b"), SOON)
    assert await incoming.read() == b"one"
    closed.clear()
    await incoming.close()
    assert closed == ["/b"]
    assert (await transport.send(HttpRequest("POST", f"inproc:{__name__}/", {}), SOON)).body == b"whole"


async def test_a_server_in_this_process_may_know_whole_answers_only(new_transport: NewTransport) -> None:
    incoming = await new_transport().open(post("inproc:tests.test_transport/x"), SOON)
    assert await rest(incoming) == b"}{"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_server_in_this_process_lets_other_tasks_run(backend: str) -> None:
    turns: list[str] = []

    async def other() -> None:
        while len(turns) < 3:
            turns.append("other")
            await anyio.lowlevel.checkpoint()

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            assert await rest(await AsyncTransport().open(post(f"inproc:{__name__}/"), SOON)) == b"onetwothree"
            assert turns

    anyio.run(main, backend=backend)


# --- chunks ---------------------------------------------------------------------------------------------------------

TARGET = b"POST", b"/", [(b"host", b"x"), (b"content-length", b"0")], b""


def by_the_parser(pieces: list[bytes]) -> tuple[bytes, bool]:
    """What the parser alone makes of an answer: its body as far as it came, and whether it is whole."""
    parser = h11.Connection(h11.CLIENT)
    parser.send(h11.Request(method="POST", target="/", headers=TARGET[2]))
    parser.send(h11.EndOfMessage())
    body = b""
    try:
        for piece in [*filter(None, pieces), b""]:
            if not piece and parser.their_state is h11.SEND_RESPONSE:
                return body, False
            parser.receive_data(piece)
            while (event := parser.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    return body, True
    except h11.RemoteProtocolError:
        pass
    return body, False


def by_us(pieces: list[bytes]) -> tuple[bytes, bool]:
    machine = Http11()
    machine.ask(*TARGET)
    coming = iter([*filter(None, pieces), b""])
    body = b""
    try:
        while machine.head() is None:
            machine.feed(next(coming))
        while True:
            piece = machine.piece()
            if piece is None:
                machine.feed(next(coming))
            elif piece:
                body += piece
            else:
                return body, True
    except h11.RemoteProtocolError:
        return body, False


HEADS = [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n",
]
SIZES = ["{:x}", "{:X}", "{:06x}", "{:x};a=b", "{:x} ", "+{:x}", "0x{:x}", "{:x}_0", "", "{:010x}"]


LINE_ENDS = [b"\r\n"] * 9 + [b"\n", b"", b"xy"]
ENDS = [b"0\r\n\r\n", b"0\r\na: b\r\n\r\n", b"00\r\n\r\n", b"", b"0\r\n", b"HTTP/1.1 200 OK\r\n\r\n"]
CHUNK = st.tuples(st.sampled_from(SIZES[:3] * 5 + SIZES[3:]), st.binary(max_size=40), st.sampled_from(LINE_ENDS))


@given(
    head=st.sampled_from(HEADS),
    body=st.lists(CHUNK),
    end=st.sampled_from(ENDS),
    cuts=st.lists(st.integers(0, 400), max_size=5),
    cut=st.integers(0, 400) | st.none(),
)
def test_chunks_are_read_as_the_parser_reads_them(
    head: bytes, body: list[tuple[str, bytes, bytes]], end: bytes, cuts: list[int], cut: int | None
) -> None:
    """Wherever the bytes are cut, and whatever is wrong with them."""
    sent = head + b"".join(size.format(len(d)).encode() + b"\r\n" + d + line for size, d, line in body) + end
    pieces = slices(sent[:cut], cuts)
    assert by_us(pieces) == by_the_parser(pieces)


def test_plain_chunks_never_reach_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Http11()
    machine.ask(*TARGET)
    machine.feed(STREAM + chunks(b"one"))
    assert machine.head() is not None
    monkeypatch.setattr(h11.Connection, "next_event", None)
    monkeypatch.setattr(h11.Connection, "receive_data", None)
    assert machine.piece() == b"one"
    machine.feed(chunks(b"two", b"three"))
    assert machine.piece() == b"twothree"


def test_what_follows_a_stream_is_not_the_next_answer() -> None:
    machine = Http11()
    machine.ask(*TARGET)
    machine.feed(STREAM + chunks(b"one") + END + http(b"forged"))
    assert machine.head() is not None
    assert [machine.piece(), machine.piece()] == [b"one", b""]
    assert not machine.again()
