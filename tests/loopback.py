"""A server on this machine that answers with the very bytes a test gives it, one entry per request."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Act = Callable[[socket.socket, "Loopback"], bool]
"""Does something with a connection; whether it goes on listening to it."""


@dataclass
class Loopback:
    """What it heard, and how many connections it saw; `acts` is what it does with each request in turn."""

    acts: list[Act]
    greeting: bytes = b""
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    """What `gated` waits for."""
    left: threading.Event = field(default_factory=threading.Event)
    """Set once a client closed a connection that `watched` answers on."""
    sockets: list[socket.socket] = field(default_factory=list)
    tls: ssl.SSLContext | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"


def http(body: bytes, head: str = "HTTP/1.1 200 OK", *headers: str) -> bytes:
    """An answer with its length."""
    return "\r\n".join([head, f"content-length: {len(body)}", *headers, "", ""]).encode() + body


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
"""The head of an answer in chunks, and the last of them."""


def chunks(*pieces: bytes) -> bytes:
    """Pieces of a body, each in a chunk of its own."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)


def send(data: bytes, *, close: bool = False) -> Act:
    """Send these bytes and wait for the next request, or end the connection."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(data)
        return not close

    return act


def send_and_close(data: bytes) -> Act:
    return send(data, close=True)


def send_and_stall(data: bytes) -> Act:
    """Send these bytes and nothing more."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(data)
        server.stopped.wait(20)
        return False

    return act


def drip(data: bytes, pause: float = 0.05, *, first: bytes = b"") -> Act:
    """Send these bytes one at a time, after those that come first."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(first)
        for i in range(len(data)):
            if server.stopped.wait(pause):
                break
            connection.sendall(data[i : i + 1])
        return False

    return act


def gated(first: bytes, rest: bytes) -> Act:
    """Send the first bytes, and the rest once the test says `go`."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(first)
        server.go.wait(10)
        connection.sendall(rest)
        return True

    return act


def watched(data: bytes, *, every: bytes = b"") -> Act:
    """Send these bytes, and then `every` again and again, until the other side closes the connection."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.sendall(data)
        with contextlib.suppress(OSError):
            while not server.stopped.is_set():
                readable, _, _ = select.select([connection], [], [], 0.02)
                if readable and connection.recv(65536) == b"":
                    break
                connection.sendall(every)
        server.left.set()
        return False

    return act


def reset(connection: socket.socket, server: Loopback) -> bool:
    """Break the connection off."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


@contextlib.contextmanager
def loopback(*acts: Act, greeting: bytes = b"", tls: ssl.SSLContext | None = None) -> Iterator[Loopback]:
    """A running server; the last act is repeated. It sends `greeting` to whoever connects."""
    server = Loopback(list(acts), greeting, tls=tls)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.01)
        server.port = listening.getsockname()[1]
        thread = threading.Thread(target=_listen, args=(server, listening), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.stopped.set()
            thread.join(10)


@contextlib.contextmanager
def accepting(act: Callable[[socket.socket], object]) -> Iterator[str]:
    """The URL of a server that reads nothing by itself: it does this with each connection, one after the other, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, contextlib.suppress(OSError):
                        act(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@contextlib.contextmanager
def full() -> Iterator[str]:
    """The URL of a server that accepts no more connections, and refuses none."""
    with contextlib.ExitStack() as at_the_end, socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        for _ in range(4):
            waiting = at_the_end.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def _listen(server: Loopback, listening: socket.socket) -> None:
    workers: list[threading.Thread] = []
    while not server.stopped.is_set():
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            continue
        connection.setblocking(True)
        server.connections += 1
        workers.append(threading.Thread(target=_serve, args=(server, connection), daemon=True))
        workers[-1].start()
    for worker in workers:
        worker.join(10)


def _serve(server: Loopback, connection: socket.socket) -> None:
    pending = b""
    with contextlib.ExitStack() as at_the_end, contextlib.suppress(OSError):
        at_the_end.enter_context(connection)
        if server.tls is not None:
            connection = at_the_end.enter_context(server.tls.wrap_socket(connection, server_side=True))
        connection.sendall(server.greeting)
        while True:
            head, end, rest = pending.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            if end and len(rest) >= length:
                pending = rest[length:]
                server.heads.append(head)
                server.bodies.append(rest[:length])
                act = server.acts.pop(0) if len(server.acts) > 1 else server.acts[0]
                if not act(connection, server):
                    return
                continue
            readable, _, _ = select.select([connection], [], [], 0.01)
            if server.stopped.is_set():
                return
            data = connection.recv(65536) if readable else None
            if data == b"":
                return
            pending += data or b""
