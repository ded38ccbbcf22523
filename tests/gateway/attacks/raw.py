"""Connections on which anything may be said, and what is heard on them: no HTTP library between."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from llm_rest import wires
from tests.gateway.upstreams import question

HOST = "Host: localhost"
LONG = 60
"""Seconds after which something that was to happen does not: far more than it takes on the busiest machine."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Line:
    """One connection; `heard` is all that came on it."""

    def __init__(self, port: int, *, window: int | None = None) -> None:
        self.socket = socket.socket()
        if window is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.settimeout(LONG)
        self.socket.connect(("127.0.0.1", port))
        self.heard = bytearray()
        self.closed = False
        self.sent = 0

    def send(self, *pieces: bytes, pause: float = 0) -> Line:
        """Send as much as the server takes."""
        try:
            for piece in pieces:
                self.socket.sendall(piece)
                self.sent += len(piece)
                time.sleep(pause)
        except OSError:
            self.closed = True
        return self

    def hear(self, enough: Callable[[Line], bool] = lambda line: False, *, seconds: float = LONG) -> Line:
        """Listen until that is enough, the server closes, or nothing more comes."""
        until, usual = time.monotonic() + seconds, self.socket.gettimeout()
        while not enough(self) and (left := until - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                piece = self.socket.recv(65536)
            except TimeoutError:
                break
            except OSError:
                piece = b""
            if not piece:
                self.closed = True
                break
            self.heard += piece
        with contextlib.suppress(OSError):
            self.socket.settimeout(usual)
        return self

    @property
    def answers(self) -> list[Answer]:
        """The complete answers, 1xx among them."""
        found: list[Answer] = []
        rest = bytes(self.heard)
        while (cut := _answer(rest)) is not None:
            answer, rest = cut
            found.append(answer)
        return found

    @property
    def statuses(self) -> list[int]:
        return [answer.status for answer in self.answers]

    def close(self) -> None:
        # Whatever is on its way is thrown away, as when a process is killed.
        with contextlib.suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def _answer(raw: bytes) -> tuple[Answer, bytes] | None:
    head, end, rest = raw.partition(b"\r\n\r\n")
    if not end:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    status = int(first.split()[1])
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while True:
            size, end, rest = rest.partition(b"\r\n")
            if not end:
                return None
            length = int(size, 16)
            if len(rest) < length + 2:
                return None
            body, rest = body + rest[:length], rest[length + 2 :]
            if not length:
                return Answer(status, headers, body), rest
    if status < 200 or status == 204:
        return Answer(status, headers, b""), rest
    if "content-length" not in headers:
        return Answer(status, headers, rest), b""  # to the end of the connection
    length = int(headers["content-length"])
    return (Answer(status, headers, rest[:length]), rest[length:]) if len(rest) >= length else None


def one(line: Line) -> bool:
    """An answer came that is more than a 100."""
    return any(status >= 200 for status in line.statuses)


def http(
    body: bytes | None = b"{}",
    *more: str | bytes,
    method: str = "POST",
    path: str = "/v1/chat/completions",
    length: str | None = "",
    host: str = HOST,
    version: str = "HTTP/1.1",
) -> bytes:
    """A request as it is sent: its length is told unless it is `None`, or as something else than it is."""
    lines: list[str | bytes] = [f"{method} {path} {version}", host, *more]
    if body is not None and length is not None:
        lines.append(f"Content-Length: {length or len(body)}")
    raw = [line.encode("latin-1") if isinstance(line, str) else line for line in lines if line]
    return b"\r\n".join([*raw, b"", b""]) + (body or b"")


VERSION = "anthropic-version: 2026-10-21"


def asked(wire: str, model: str, text: str = "hi", *more: str | bytes, said: Any = None, **fields: Any) -> bytes:
    """What a client of the wire sends, with these headers; `said` takes the place of some of its fields."""
    path, document = question(wire, model, text, **fields)
    return http(json.dumps({**document, **(said or {})}).encode(), VERSION, *more, path=path)


CHUNKED = "Transfer-Encoding: chunked"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


END = chunk(b"")

PATHS = {wire: question(wire, wire, "hi")[0] for wire in wires.NAMES}
"""Where a client of each wire asks; the models of the gateway are named after the wires behind them."""


# --- WebSocket ------------------------------------------------------------------------------------------------------

TEXT, BYTES, CLOSE, PING = 1, 2, 8, 9


def upgrade(*more: str, path: str = "/v1/responses", host: str = HOST, version: str = "13") -> bytes:
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    wish = ("Upgrade: websocket", "Connection: Upgrade", key, f"Sec-WebSocket-Version: {version}")
    return http(None, *wish, *more, method="GET", path=path, host=host)


def frame(opcode: int, data: bytes = b"", *, fin: int = 0x80, mask: int = 0x80, length: int | None = None) -> bytes:
    """A frame as clients send it, masked with zeros; `length` is what it says of itself."""
    size = len(data) if length is None else length
    if size < 126:
        head = bytes([fin | opcode, mask | size])
    elif size < 65536:
        head = bytes([fin | opcode, mask | 126]) + size.to_bytes(2)
    else:
        head = bytes([fin | opcode, mask | 127]) + size.to_bytes(8)
    return head + (bytes(4) if mask else b"") + data


def messages(line: Line) -> list[tuple[int, bytes]]:
    """What the server said after the handshake, by opcode."""
    _, _, rest = bytes(line.heard).partition(b"\r\n\r\n")
    found: list[tuple[int, bytes]] = []
    while len(rest) >= 2:
        size, at = rest[1] & 127, 2
        if size >= 126:
            wide = 2 if size == 126 else 8
            size, at = int.from_bytes(rest[2 : 2 + wide]), 2 + wide
        if len(rest) < at + size:
            break
        found.append((rest[0] & 15, rest[at : at + size]))
        rest = rest[at + size :]
    return found


def code(line: Line) -> int:
    """Why the server closed, 0 where it has not said."""
    return next((int.from_bytes(data[:2]) for opcode, data in messages(line) if opcode == CLOSE), 0)
