"""`record` and `replay`: cassettes of the HTTP exchanges of this process, as JSON lines, replayed without network.

The file holds no secrets (`redaction.py`). Its first line is the version, its last one all times, so that recording
again changes as few lines as the answers changed. Before changing this file, know that both replace connections below
retries and conversion, for every client of the process.
"""

from __future__ import annotations

import json
import os
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from .. import wires
from ..client.events import StreamReader, StreamWriter
from ..errors import ConfigError, DecodeError, ErrorFacts
from ..responses import Response
from ..responses.stream import Assembler
from ..server.routes import find
from ..server.streaming import as_wire_error, failed
from ..transport import HTTPRequest
from ..transport.address import origin_of
from ..transport.connection import Connection, plain
from ..transport.exchange import INTERCEPTORS
from ..unknown import decoder_of
from ..vendors.rows import DIALECTS
from .fake import FakeModel
from .fake import handle as answer_whole
from .fake import handle_stream as answer_streamed
from .redaction import HEADERS, redacted_body, redacted_pieces, redacted_url, secrets_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from ..transport.deadlines import Deadline
    from ..transport.sockets import RawHeaders, Waiter

VERSION = 1


class CassetteError(ConfigError):
    """The error for a cassette that cannot be read or replayed: with the file, the line, and the difference."""


class Fault(Struct, frozen=True, kw_only=True):
    """A fault that is injected into an answer when it is replayed."""

    exchange: int = 0
    """The number of the exchange, from 0 in the order of the recording."""
    cut: int | None = None
    """The number of bytes of the body after which the connection breaks."""
    stall: float | None = None
    """Seconds of silence before the last piece."""
    duplicate: bool = False
    """Whether every piece is sent twice."""
    status: int | None = None
    """An HTTP status instead of the answer; with `cut`, an error event of that status in the stream, in the wire's format."""


class Exchange(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One recorded exchange: a line of the cassette."""

    method: str
    url: str
    headers: dict[str, str]
    body: Any = None
    status: int = 0
    answer_headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    chunks: list[str | dict[str, str]] = field(default_factory=list["str | dict[str, str]"])
    """The pieces of the body: text, or `{"base64": ...}` where it is not UTF-8."""
    cut: bool = False
    """Whether the answer was not read to its end."""


def _request(request: HTTPRequest, secrets: Sequence[str]) -> Exchange:
    headers = {name.lower(): plain(value) for name, value in request.headers.items() if name.lower() in HEADERS}
    return Exchange(
        method=request.method,
        url=redacted_url(request.url, secrets),
        headers=dict(sorted(headers.items())),
        body=redacted_body(request.body, secrets),
    )


class _Recording(Connection):
    """A connection whose exchange is recorded."""

    def __init__(
        self, origin: str, waiter: Waiter, real: Callable[[], Awaitable[Connection]], all: list[_Recording]
    ) -> None:
        super().__init__(origin, waiter)
        self._make, self._all = real, all
        self._inner: Connection | None = None
        self._exchange: Exchange
        self.times: list[float] = []
        self._pieces: list[bytes] = []

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        self._inner = await self._make()
        self._secrets = secrets_in(request.headers)
        self._exchange = _request(request, self._secrets)
        self._exchange.cut = True
        self._all.append(self)
        headers = {name: value for name, value in request.headers.items() if name.lower() != "accept-encoding"}
        readable = msgspec.structs.replace(request, headers={**headers, "accept-encoding": "identity"})
        self._started = time.monotonic()
        status, raw = await self._inner.open(readable, deadline)
        raw = list(raw)
        self._exchange.status = status
        named = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]
        self._exchange.answer_headers = [(name, value) for name, value in named if name in HEADERS]
        return status, raw

    async def read(self) -> bytes | None:
        assert self._inner is not None
        piece = await self._inner.read()
        if piece is None:
            self._exchange.cut = False
        else:
            self._pieces.append(piece)
            self.times.append(round(time.monotonic() - self._started, 3))
        return piece

    def exchange(self) -> Exchange:
        """The recorded exchange, without secrets."""
        self._exchange.chunks = [_chunk(piece) for piece in redacted_pieces(self._pieces, self._secrets)]
        return self._exchange

    async def finish(self) -> Any:
        assert self._inner is not None
        return await self._inner.finish()

    async def close(self) -> None:
        if self._inner is not None:
            await self._inner.close()

    def drop(self) -> None:
        if self._inner is not None:
            self._inner.drop()


def _chunk(piece: bytes) -> str | dict[str, str]:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(piece).decode()}


@contextmanager
def record(path: str | os.PathLike[str]) -> Generator[None]:
    """Record every HTTP exchange of this process to a file, which is written at the end of the block, also after an error."""
    made: list[_Recording] = []
    with _intercepted(partial(_Recording, all=made)):
        try:
            yield
        finally:
            first, last = {"llm_rest_cassette": VERSION}, {"times": [one.times for one in made]}
            documents = [first, *(one.exchange() for one in made), last]
            new = Path(f"{os.fspath(path)}.new")
            new.write_bytes(b"".join(msgspec.json.encode(document) + b"\n" for document in documents))
            new.replace(path)


@contextmanager
def _intercepted(make: Callable[..., Connection]) -> Generator[None]:
    INTERCEPTORS.append(make)
    try:
        yield
    finally:
        INTERCEPTORS.remove(make)


class Replay:
    """The result of `replay`: the exchanges of the cassette, and which of them were replayed."""

    def __init__(self, path: Path, match: Literal["strict", "order"], *, timing: bool, faults: Sequence[Fault]) -> None:
        self.path = path
        """The path of the cassette."""
        self.exchanges, self.times = _read(path)
        """The recorded exchanges, in order."""
        self._left = list(range(len(self.exchanges)))
        self._match, self._timing = match, timing
        self._faults = {fault.exchange: fault for fault in faults}
        if nowhere := self._faults.keys() - {*self._left}:
            count = len(self.exchanges)
            raise CassetteError(
                f"{path}: there is no exchange {min(nowhere)} for a fault, the file has {count}, from 0"
            )
        self._lock = Lock()

    @property
    def unused(self) -> int:
        """The number of exchanges that were not replayed."""
        return len(self._left)

    def take(self, request: HTTPRequest) -> tuple[Exchange, list[float], Fault]:
        """The exchange that answers a request. Raises `CassetteError` with the difference from the nearest exchange."""
        actual = _request(request, secrets_in(request.headers))
        with self._lock:
            if not self._left:
                text = (
                    f"{self.path}: {actual.method} {actual.url} comes after the last of {len(self.exchanges)} exchanges"
                )
                raise CassetteError(text, hint="record the file again")
            number = self._left[0]
            if self._match == "strict":
                found = [one for one in self._left if not _differences(self.exchanges[one], actual)]
                if not found:
                    what = "; ".join(_differences(self.exchanges[number], actual)[:3])
                    hint = 'record the file again, or match="order" takes the answers in their order'
                    raise CassetteError(f"{self.path}, line {number + 2}: the request differs: {what}", hint=hint)
                number = found[0]
            self._left.remove(number)
        times = self.times[number] if self._timing and number < len(self.times) else []
        return self.exchanges[number], times, self._faults.get(number, Fault())


def _read(path: Path) -> tuple[list[Exchange], list[list[float]]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as problem:
        raise CassetteError(f"{path} cannot be read: {problem.strerror}", hint="record it first") from None
    number = 1
    try:
        version = decoder_of(dict[str, int]).decode(lines[0] if lines else b"").get("llm_rest_cassette")
        if version != VERSION:
            raise CassetteError(f"{path}, line 1: version {version}, not {VERSION}", hint="record the file again")
        exchanges, decode = list[Exchange](), decoder_of(Exchange).decode
        for line in lines[1:-1]:
            number += 1
            exchanges.append(decode(line))
        number += 1
        return exchanges, decoder_of(dict[str, list[list[float]]]).decode(lines[-1])["times"]
    except (msgspec.MsgspecError, KeyError) as problem:
        raise CassetteError(f"{path}, line {number}: {problem}", hint="record the file again") from None


def _differences(recorded: Exchange, actual: Exchange) -> list[str]:
    """The differences of two requests, each with its path, the recorded and the actual value."""
    recorded_target, actual_target = ((one.method, urlsplit(one.url)[2:4]) for one in (recorded, actual))
    found = (
        []
        if recorded_target == actual_target
        else [f"{recorded.method} {recorded.url} was recorded, {actual.method} {actual.url} came"]
    )
    return found + list(_differing(recorded.body, actual.body, "body"))


def _differing(recorded: Any, actual: Any, path: str) -> Iterator[str]:
    if isinstance(recorded, dict) and isinstance(actual, dict):
        one, other = cast("dict[str, Any]", recorded), cast("dict[str, Any]", actual)
        for name in {**one, **other}:
            yield from _differing(one.get(name), other.get(name), f"{path}.{name}")
    elif isinstance(recorded, list) and isinstance(actual, list):
        first, second = cast("list[object]", recorded), cast("list[object]", actual)
        if len(first) != len(second):
            yield f"{path} had {len(first)} entries, and has {len(second)}"
        for index, pair in enumerate(zip(first, second, strict=False)):
            yield from _differing(*pair, f"{path}[{index}]")
    elif recorded != actual:
        yield f"{path} was {json.dumps(recorded)[:80]}, and is {json.dumps(actual)[:80]}"


class _Replaying(Connection):
    """A connection that answers from a cassette."""

    ends_in_time = False

    def __init__(self, origin: str, waiter: Waiter, played: Replay) -> None:
        super().__init__(origin, waiter)
        self._played = played
        self._pieces: Iterator[bytes | float | Exception] = iter(())

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        self._deadline = deadline
        exchange, times, fault = self._played.take(request)
        if fault.status is not None and fault.cut is None:
            self._pieces = iter([b'{"error": {"message": "a fault of the replay"}}'])
            return fault.status, [(b"content-type", b"application/json")]
        if not exchange.status:
            raise ConnectionRefusedError("the request failed when it was recorded")
        status, headers, pieces = _in_wire_of(request, exchange)
        if fault.status is not None:
            pieces, fault = _with_error(b"".join(pieces), fault, _wire(request.url)[0]), Fault(stall=fault.stall)
        self._pieces = _paced(pieces, times, fault)
        return status, [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]

    async def read(self) -> bytes | None:
        await self._waiter.sleep(0)
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, bytes):
                return piece
            left = self._deadline.allowed()
            await self._waiter.sleep(piece if left is None else min(piece, left))
            self._deadline.allowed()
        return None


def _paced(pieces: list[bytes], times: list[float], fault: Fault) -> Iterator[bytes | float | Exception]:
    """The pieces with the waits between them, and with the injected fault."""
    before, left = 0.0, fault.cut
    for number, piece in enumerate(pieces):
        if number < len(times):
            yield max(0.0, times[number] - before)
            before = times[number]
        if fault.stall is not None and number == len(pieces) - 1:
            yield fault.stall
        if left is not None and len(piece) >= left:
            yield piece[:left]
            yield ConnectionResetError("a fault of the replay: the connection was cut")
            return
        left = None if left is None else left - len(piece)
        if piece:
            yield piece
        if fault.duplicate:
            yield piece


def _with_error(whole: bytes, fault: Fault, wire: str | None) -> list[bytes]:
    """A stream with an error event after the event in which it is cut."""
    if wire is None or fault.status is None:
        return [whole]
    end = re.compile(rb"\r?\n\r?\n|\n(?=\{)").search(whole, fault.cut or 0)
    facts = ErrorFacts(status=fault.status, message="a fault of the replay")
    writer = StreamWriter(wires.load(wire), dialect=DIALECTS[wire]())
    events = failed(Response(id="", status="in_progress", output=[]), 0, as_wire_error(facts, wire))
    return [whole[: end.end()] if end else whole, b"".join([writer.feed(event) for event in events])]


def _in_wire_of(request: HTTPRequest, exchange: Exchange) -> tuple[int, list[tuple[str, str]], list[bytes]]:
    """The recorded answer, converted where the request uses another wire than the recorded one."""
    pieces = [chunk.encode() if isinstance(chunk, str) else b64decode(chunk["base64"]) for chunk in exchange.chunks]
    (recorded, _), (actual, path) = _wire(exchange.url), _wire(request.url)
    if recorded == actual or recorded is None or actual is None or exchange.status >= 300:
        return exchange.status, exchange.answer_headers, pieces
    model = FakeModel([_response(recorded, b"".join(pieces))])
    path = f"/{model.name}{path}"
    headers = {name: plain(value) for name, value in request.headers.items()}
    if request.stream:
        status, named, streamed = answer_streamed(request.method, path, headers, request.body)
        return status, list(named.items()), [piece for piece in streamed if isinstance(piece, bytes)]
    status, named, body = answer_whole(request.method, path, headers, request.body)
    return status, list(named.items()), [body]


def _wire(url: str) -> tuple[str | None, str]:
    """The wire of a URL and its path in that wire, without the host's prefix."""
    parts = url[len(origin_of(url)) :].split("/")
    for first in range(1, len(parts)):
        path = f"/{'/'.join(parts[first:])}"
        if place := next((place for place in find(path.partition("?")[0], {}) if place.purpose == "answer"), None):
            return place.wire, path
    return None, ""


def _response(wire: str, body: bytes) -> Response:
    """The response in a recorded answer of this wire, whole or streamed."""
    module, dialect = wires.load(wire), DIALECTS[wire]()
    with suppress(DecodeError, msgspec.MsgspecError):
        return module.decode_response(module.RESPONSE.decode(body), dialect=dialect)[0]
    reader, assembler = StreamReader(module, dialect=dialect), Assembler()
    for event in (*reader.feed(body), *reader.close()):
        assembler.feed(event)
    return assembler.response


@contextmanager
def replay(
    path: str | os.PathLike[str],
    *,
    match: Literal["strict", "order"] = "strict",
    timing: bool = False,
    faults: Sequence[Fault] = (),
) -> Generator[Replay]:
    """Answer every HTTP request of this process from a cassette; nothing is sent.

    `match="strict"` takes the first exchange with the same method, path and body that was not played yet, `"order"` the
    next one. A request on another wire than the recorded one gets the answer converted (with `match="order"`). `timing`
    waits as long before each piece as the vendor did. `faults` are injected into answers. Raises `CassetteError` (a
    `ConfigError`) for a file that is none, and in the call for a request that is not in it.
    """
    played = Replay(Path(path), match, timing=timing, faults=faults)

    def connection(origin: str, waiter: Waiter, real: Callable[[], Awaitable[Connection]]) -> Connection:
        return _Replaying(origin, waiter, played)

    with _intercepted(connection):
        yield played
