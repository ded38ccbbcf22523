"""A server on this machine that does with each request what a test gives it: bytes, pauses, breaks.

Every act ends when the client closes its connection, and when the test is over.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Act = Callable[[socket.socket, "Loopback"], bool]
"""Does something with a connection; whether the server reads another request from it."""

LONGEST = 30.0
"""Seconds after which any act ends."""
ROOM = 65_536
"""Bytes that the kernel receives for a server that does not read them."""


@dataclass(eq=False)
class Loopback:
    """What it received; `acts` is what it does with each request in turn, the last again and again."""

    acts: list[Act]
    before: Act | None = None
    """Done with a connection before anything is read from it."""
    by_head: Callable[[bytes], Act] | None = None
    """What is done with a request that begins so, instead of `acts`."""
    tls: ssl.SSLContext | None = None
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    """Of the requests that were received whole."""
    connections: int = 0
    sent: int = 0
    """The bytes that `flood` sent."""
    stopped: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    """What `gated` waits for."""
    heard: threading.Event = field(default_factory=threading.Event)
    """Set when a request was received."""
    left: threading.Event = field(default_factory=threading.Event)
    """Set when a client closed a connection while an act answered on it, or waited."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    sockets: list[socket.socket] = field(default_factory=list)
    workers: list[threading.Thread] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        """How many connections are open."""
        return sum(worker.is_alive() for worker in self.workers)

    def wait_closed(self, seconds: float = 10.0) -> int:
        """How many connections are still open after the clients had time to close them."""
        until = time.monotonic() + seconds
        while (count := self.open) and time.monotonic() < until:
            time.sleep(0.002)
        return count

    def next_act(self, head: bytes) -> Act:
        if self.by_head:
            return self.by_head(head)
        with self.lock:
            return self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]


# --- answers ----------------------------------------------------------------------------------------------------------


def http(body: bytes = b"", status: str = "200 OK", *headers: str, length: int | None = None) -> bytes:
    """An answer with its length, which may be wrong."""
    named = [] if any(h.lower().startswith("content-type") for h in headers) else ["content-type: application/json"]
    size = len(body) if length is None else length
    return "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {size}", *named, *headers, "", ""]).encode() + body


def head(kind: str = "application/json", *headers: str, status: str = "200 OK") -> bytes:
    """The head of an answer in chunks."""
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", "transfer-encoding: chunked", *headers, "", ""]
    return "\r\n".join(lines).encode()


STREAM = head("text/event-stream")
END = b"0\r\n\r\n"
"""The last of the chunks of an answer."""


def chunks(*pieces: bytes) -> bytes:
    """Pieces of a body, each in a chunk of its own."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)


def each_byte(data: bytes) -> list[bytes]:
    """Pieces of one byte."""
    return [data[i : i + 1] for i in range(len(data))]


# --- acts -------------------------------------------------------------------------------------------------------------


def send(*pieces: bytes, close: bool = False) -> Act:
    """Send these bytes and read the next request, or close the connection."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        for piece in pieces:
            connection.sendall(piece)
        return not close

    return act


def send_and_close(*pieces: bytes) -> Act:
    return send(*pieces, close=True)


def send_and_stall(*pieces: bytes) -> Act:
    """Send these bytes and nothing more."""
    return drip(pause=LONGEST, first=b"".join(pieces), again=True)


def reset(*pieces: bytes) -> Act:
    """Send these bytes and break the connection off."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        for piece in pieces:
            connection.sendall(piece)
        if pieces:
            time.sleep(0.02)  # what was sent shall arrive
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    return act


def drip(*pieces: bytes, pause: float = 0.05, first: bytes = b"", again: bool = False) -> Act:
    """Send the pieces one by one with a pause after each, without an end with `again`."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(first)
        until = time.monotonic() + LONGEST
        while True:
            for piece in pieces or [b""]:
                connection.sendall(piece)
                if gone(connection, server, pause) or time.monotonic() > until:
                    return False
            if not again:
                return True

    return act


def flood(first: bytes, piece: bytes, *, most: int) -> Act:
    """Send `piece` again and again until the client leaves, at most so many bytes."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(first)
        server.sent = 0
        while server.sent < most and not server.stopped.is_set():
            connection.sendall(piece)
            server.sent += len(piece)
        return False

    return act


def gated(first: bytes, rest: bytes = b"", then: Act | None = None) -> Act:
    """Send the first bytes, and once the test sets `go` the rest, or act."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(first)
        server.go.wait(10)
        return (then or send(rest))(connection, server)

    return act


def half_closed(*pieces: bytes, seconds: float = 5) -> Act:
    """Send these bytes, end one side of the connection, and the other a moment later."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        gone(connection, server, seconds)
        return False

    return act


def early(act: Act) -> Act:
    """The same as soon as the head of a request is there; its body is not read."""

    def at_once(connection: socket.socket, server: Loopback) -> bool:
        return act(connection, server)

    at_once.__dict__["early"] = True
    return at_once


def _early(act: Act) -> bool:
    return hasattr(act, "early")


def gone(connection: socket.socket, server: Loopback, seconds: float) -> bool:
    """Whether the client closes the connection, or the test ends, within so many seconds."""
    until = time.monotonic() + seconds
    while not server.stopped.is_set() and (left := until - time.monotonic()) > 0:
        readable, _, _ = select.select([connection], [], [], min(left, 0.05))
        if readable and connection.recv(65_536) == b"":
            server.left.set()
            return True
    return server.stopped.is_set()


# --- servers ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def loopback(
    *acts: Act,
    before: Act | None = None,
    by_head: Callable[[bytes], Act] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Loopback]:
    """A running server; the last act is repeated."""
    server = Loopback(list(acts), before, by_head, tls)
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        if any(map(_early, acts)):
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        server.port = listening.getsockname()[1]
        accepts = threading.Thread(target=_accept, args=(server, listening), daemon=True)
        accepts.start()
        try:
            yield server
        finally:
            server.stopped.set()
            server.go.set()
            _shut_down(listening)
            accepts.join(10)
            for each in server.sockets:
                _shut_down(each)
            for worker in server.workers:
                worker.join(10)


def _shut_down(each: socket.socket) -> None:
    """Wake the thread that waits for this socket; TLS is not ended in its own way."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(each, socket.SHUT_RDWR)


def _accept(server: Loopback, listening: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listening.accept()
            server.connections += 1
            server.workers.append(threading.Thread(target=_serve, args=(server, connection), daemon=True))
            server.workers[-1].start()


def _serve(server: Loopback, connection: socket.socket) -> None:
    with contextlib.ExitStack() as at_the_end:
        connection.settimeout(LONGEST)
        if server.tls is not None:
            connection = server.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        at_the_end.enter_context(connection)
        server.sockets.append(connection)
        try:
            if isinstance(connection, ssl.SSLSocket):
                connection.do_handshake()
            if server.before is None or server.before(connection, server):
                _answer_requests(server, connection)
        except OSError:
            server.left.set()


def _answer_requests(server: Loopback, connection: socket.socket) -> None:
    came = bytearray()
    while True:
        while b"\r\n\r\n" not in came:
            came += (piece := connection.recv(262_144))
            if not piece:
                return
        start, _, _ = bytes(came).partition(b"\r\n\r\n")
        del came[: len(start) + 4]
        act = server.next_act(start)
        length = int(start.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        while len(came) < length and not _early(act):
            came += (piece := connection.recv(262_144))
            if not piece:
                return
        with server.lock:
            server.heads.append(start)
            if len(came) >= length:
                server.bodies.append(bytes(came[:length]))
        del came[:length]
        server.heard.set()
        if not act(connection, server):
            return


@contextlib.contextmanager
def full() -> Iterator[str]:
    """The URL of a server that accepts no more connections, and refuses none."""
    with contextlib.ExitStack() as at_the_end, socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        for _ in range(4):
            waiting = at_the_end.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
