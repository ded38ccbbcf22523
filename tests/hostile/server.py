"""A server on this machine that does to each request what a case says: one for a whole session, many cases at once.

The first segment of the path names the script of a case, which counts what was heard. What happens before a request can be
read, or below HTTP, needs a port of its own (`own=`). Every act ends when the client leaves, and when the script is over.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.loopback import END as END
from tests.loopback import chunks as chunks

Act = Callable[[socket.socket, "Script"], bool]
"""Does something with a connection; whether it goes on listening to it."""

LONGEST = 30.0
"""Seconds after which any act ends."""
ROOM = 65_536
"""Bytes that the kernel receives for a server that does not read them."""
MOST_HEARD = 64 * 1024 * 1024


@dataclass(eq=False)
class Script:
    """What is done with each request in turn, the last again and again; and what was heard."""

    acts: list[Act]
    url: str = ""
    before: Act | None = None
    """Done with a connection before anything is heard on it."""
    by_head: Callable[[bytes], Act] | None = None
    """What is done with a request that begins so, instead of `acts`."""
    early: bool = False
    """Act when the head is there, without waiting for the body."""
    tls: ssl.SSLContext | None = None
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    sent: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)
    heard: threading.Event = field(default_factory=threading.Event)
    """Set when a request was heard."""
    go: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_act(self) -> Act:
        with self.lock:
            return self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]

    def wait_closed(self, seconds: float = 10.0) -> int:
        """How many connections are open still once every chance was given to close them."""
        until = time.monotonic() + seconds
        while self.open and time.monotonic() < until:
            time.sleep(0.002)
        return self.open


class Server:
    """Listens until it is closed."""

    def __init__(self) -> None:
        self._scripts: dict[bytes, Script] = {}
        self._count = 0
        self._listening = self._listen(None)
        self.port = self._listening.getsockname()[1]

    def close(self) -> None:
        self._listening.close()

    @contextlib.contextmanager
    def script(self, script: Script, *, own: bool = False) -> Iterator[Script]:
        listening: socket.socket | None = None
        name = b""
        if own or script.before or script.tls:
            listening = self._listen(script)
            scheme = "https" if script.tls else "http"
            script.url = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
        else:
            self._count += 1
            name = b"k%d" % self._count
            self._scripts[name] = script
            script.url = f"http://127.0.0.1:{self.port}/{name.decode()}"
        try:
            yield script
        finally:
            script.stopped.set()
            self._scripts.pop(name, None)  # with all that it said and heard
            if listening is not None:
                with contextlib.suppress(OSError):
                    listening.shutdown(socket.SHUT_RDWR)
                listening.close()

    def _listen(self, script: Script | None) -> socket.socket:
        listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        if script is not None and script.early:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        threading.Thread(target=self._accept, args=(listening, script), daemon=True).start()
        return listening

    def _accept(self, listening: socket.socket, script: Script | None) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection, script), daemon=True).start()

    def _serve(self, connection: socket.socket, script: Script | None) -> None:
        connection.settimeout(LONGEST)
        pending = b""
        known = script
        if known is not None:
            _begun(known)
        try:
            with contextlib.suppress(OSError):
                if known is not None and known.tls is not None:
                    connection = known.tls.wrap_socket(connection, server_side=True)
                if known is not None and known.before is not None and not known.before(connection, known):
                    return
                while True:
                    head, end, rest = pending.partition(b"\r\n\r\n")
                    if end and known is None:
                        known = self._scripts.get(head[:80].partition(b" /")[2].partition(b"/")[0])
                        if known is None:
                            return
                        _begun(known)
                    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
                    if end and known is not None and (known.early or len(rest) >= length):
                        pending = rest[length:]
                        with known.lock:
                            known.heads.append(head)
                            known.bodies.append(rest[:length])
                        known.heard.set()
                        act = known.by_head(head) if known.by_head else known.next_act()
                        if not act(connection, known):
                            return
                        continue
                    data = connection.recv(262_144)
                    if not data or len(pending) > MOST_HEARD:
                        return
                    pending += data
        finally:
            connection.close()
            if known is not None:
                with known.lock:
                    known.open -= 1


def _begun(script: Script) -> None:
    with script.lock:
        script.connections += 1
        script.open += 1


# --- acts -----------------------------------------------------------------------------------------------------------


def _sending(pieces: Sequence[bytes], then: Callable[[socket.socket, Script], object]) -> Act:
    """Send these, and do that, which says whether to go on listening."""

    def act(connection: socket.socket, script: Script) -> bool:
        for piece in pieces:
            connection.sendall(piece)
        return bool(then(connection, script))

    return act


def say(*pieces: bytes) -> Act:
    """Send this and listen on."""
    return _sending(pieces, lambda connection, script: True)


def fin(*pieces: bytes) -> Act:
    """Send this and close the connection."""
    return _sending(pieces, lambda connection, script: False)


def stall(*pieces: bytes) -> Act:
    """Send this and nothing more, until the client leaves."""
    return _sending(pieces, lambda connection, script: gone(connection, script, LONGEST) and False)


def rst(*pieces: bytes, late: float = 0.02) -> Act:
    """Send this and break the connection off."""

    def reset(connection: socket.socket, script: Script) -> None:
        if pieces:
            time.sleep(late)  # what was sent shall arrive
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return _sending(pieces, reset)


def drip(*pieces: bytes, pause: float, first: bytes = b"", again: bool = False) -> Act:
    """Send the pieces one by one with a pause after each, for ever with `again`."""

    def act(connection: socket.socket, script: Script) -> bool:
        if first:
            connection.sendall(first)
        until = time.monotonic() + LONGEST
        while True:
            for piece in pieces:
                connection.sendall(piece)
                if gone(connection, script, pause) or time.monotonic() > until:
                    return False
            if not again:
                return True

    return act


def flood(first: bytes, piece: bytes, *, most: int) -> Act:
    """Send `piece` again and again until the client leaves, at most so many bytes; `sent` says how many."""

    def act(connection: socket.socket, script: Script) -> bool:
        connection.sendall(first)
        script.sent = 0
        while script.sent < most and not script.stopped.is_set():
            connection.sendall(piece)
            script.sent += len(piece)
        return False

    return act


def gone(connection: socket.socket, script: Script, seconds: float) -> bool:
    """Whether the client left, or the case is over, within so many seconds."""
    until = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while not script.stopped.is_set() and (left := until - time.monotonic()) > 0:
            readable, _, _ = select.select([connection], [], [], min(left, 0.05))
            if readable and connection.recv(65_536) == b"":
                return True
        return script.stopped.is_set()
    return True


def http(body: bytes = b"", status: str = "200 OK", *headers: str, length: int | None = None) -> bytes:
    """An answer with its length, which may be a lie."""
    named = [] if any(h.lower().startswith("content-type") for h in headers) else ["content-type: application/json"]
    size = len(body) if length is None else length
    return "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {size}", *named, *headers, "", ""]).encode() + body


LONG = "@@long@@"


def long(document: bytes, millions: int, letter: bytes = b"x") -> Act:
    """A good answer with so many million letters where the document says `LONG`, sent in pieces that share their bytes."""
    before, _, after = document.partition(LONG.encode())
    pieces = [before, *[letter * 1_000_000] * millions, after]
    return say(http(length=sum(map(len, pieces))), *pieces)


def head(kind: str = "application/json", *headers: str, status: str = "200 OK") -> bytes:
    """The head of an answer in chunks."""
    return "\r\n".join(
        [f"HTTP/1.1 {status}", f"content-type: {kind}", "transfer-encoding: chunked", *headers, "", ""]
    ).encode()
