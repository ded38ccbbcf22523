"""One request or one WebSocket as ASGI has it: let in, read, answered, sent piece by piece, and written into the log.

Before changing this file, know that a request is one task, which is cancelled when its client goes away, whatever it is doing,
and that no piece of an answer is made before the one before it was taken. Nothing here is Starlette's or uvicorn's.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack, aclosing, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from anyio import CancelScope, CapacityLimiter, create_task_group, move_on_after, sleep, to_thread
from anyio.lowlevel import checkpoint

from ..errors import ErrorFacts
from . import websocket
from .exchange import Answer, Streamed, exchange, refused
from .handler import Pause, Refused
from .logs import finished
from .routes import find, nowhere, spoken
from .store import MemoryStore
from .stored import Session

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, MutableMapping

    from .access import Door
    from .handler import Handler, Hold

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

T = TypeVar("T")

_log = logging.getLogger(__name__)

LARGE = 32 * 1024
"""How many bytes a body has that is converted in a thread: some 5 ms of work, or 250 where its kinds are unknown."""


class Endpoint:
    """What answers on every path: an ASGI application of its own."""

    def __init__(self, handler: Handler, door: Door) -> None:
        self._handler = handler
        self._door = door
        self._remembered = MemoryStore(websocket.REMEMBERED)
        self._one_at_a_time: CapacityLimiter | None = None  # belongs to the event loop

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or stop where its client goes away first; answer on a WebSocket for as long as it is open."""
        path = scope["raw_path"].decode("latin-1")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["type"] == "websocket":
            await self._talk(path, headers, receive, send)
            return
        facts = _facts(scope["method"])
        query = scope["query_string"].decode("latin-1")
        sending = _Sending(send, facts, self._door.limits.stall)
        pieces = _received(receive)
        begun = time.perf_counter()
        try:
            _check_head(scope["headers"], headers, scope["http_version"])
            caller = facts["scope"] = self._door.scope(headers, public=path == HEALTH)
            if path == HEALTH:
                facts["path"] = path
                named = {**_HEALTHY.headers, "x-request-id": facts["request_id"]}
                await sending.answer(_HEALTHY._replace(headers=named))
                return
            with self._door.admitted(caller) as reading:
                body = await reading.body(pieces, headers)
                async with create_task_group() as tasks:
                    tasks.start_soon(_watch, receive, tasks.cancel_scope)
                    answer = await self._exchange(
                        scope["method"], f"{path}?{query}", headers, body, facts, reading.hold
                    )
                    tasks.start_soon(sending.watch, tasks.cancel_scope)
                    await sending.answer(answer)
                    tasks.cancel_scope.cancel()
        except Refused as refusal:
            facts["wire"] = spoken(path, headers)
            # With `expect` the client sends nothing more; where there is no room, what it sends must not be held either.
            if "expect" not in headers and refusal.facts.status < 500:
                await _drain(pieces, self._door.limits.body)
            await sending.answer(refused(facts["wire"], refusal.facts, facts["request_id"], close=True))
        except ConnectionError:
            pass  # the client went away before it had asked
        finally:
            if not sending.complete:
                facts.setdefault("error", "gone")
            _finish(facts, begun)

    async def _talk(self, path: str, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Answer on a WebSocket, each message as a request of its own."""

        async def ask(body: bytes, session: Session) -> Answer | Streamed:
            facts = _facts("", scope=caller)
            begun = time.perf_counter()
            with ExitStack() as held:
                room = held.enter_context(self._door.room())
                answer = await self._exchange("POST", path, headers, body, facts, room.hold, session)
                facts["status"] = answer.status
                if isinstance(answer, Streamed):
                    facts["streamed"] = True
                    return answer._replace(body=_logged(answer.body, facts, begun, held.pop_all()))
            _finish(facts, begun)
            return answer

        try:
            caller = self._door.scope(headers)
            if not any(place.wire == websocket.WIRE for place in find(path, headers)):
                raise Refused(nowhere("GET", path, websocket.WIRE))
            with self._door.admitted(caller) as reading:
                own = Session(self._remembered)
                try:
                    talk = websocket.Talk(ask, caller, own)
                    await websocket.converse(receive, send, talk, reading, stall=self._door.limits.stall)
                finally:
                    await own.end()
        except Refused as refusal:
            facts = _facts("GET", wire=websocket.WIRE, status=refusal.facts.status)
            await websocket.decline(receive, send, refused(websocket.WIRE, refusal.facts, facts["request_id"]))
            finished(facts)

    async def _exchange(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        facts: dict[str, Any],
        hold: Hold,
        session: Session | None = None,
    ) -> Answer | Streamed:
        name = facts["request_id"]
        how: dict[str, Any] = {"aside": self._aside} if len(body) > LARGE else {}
        try:
            return await exchange(
                method,
                path,
                headers,
                body,
                self._handler,
                scope=facts["scope"],
                request_id=name,
                facts=facts,
                session=session,
                hold=hold,
                **how,
            )
        except Exception:
            _log.exception("a request failed", extra={"request_id": name})
            return refused(facts["wire"], ErrorFacts(status=500, message="The server failed."), name)

    async def _aside(self, work: Callable[[], T], /) -> T:
        """What `work` gives, in a thread. One at a time: each that runs makes the loop wait for the interpreter."""
        if self._one_at_a_time is None:
            self._one_at_a_time = CapacityLimiter(1)
        return await to_thread.run_sync(work, limiter=self._one_at_a_time)


def _facts(method: str, **more: Any) -> dict[str, Any]:
    """What the log is to say of a request."""
    return {"request_id": f"req_{uuid4().hex}", "method": method, **more}


def _finish(facts: dict[str, Any], begun: float) -> None:
    facts["seconds"] = round(time.perf_counter() - begun, 6)
    finished(facts)


async def _logged(
    body: AsyncGenerator[bytes | Pause], facts: dict[str, Any], begun: float, held: ExitStack
) -> AsyncGenerator[bytes | Pause]:
    """The pieces of a stream, with its line in the log at the end, when the room it `held` is given back."""
    complete = False
    try:
        with held:
            async with aclosing(body):
                async for piece in body:
                    yield piece
        complete = True
    except Exception:
        facts["error"] = "fault"
        _log.exception("a stream failed", extra={"request_id": facts["request_id"]})
    finally:
        if not complete:
            facts.setdefault("error", "gone")
        _finish(facts, begun)


def _check_head(lines: list[tuple[bytes, bytes]], headers: dict[str, str], version: str) -> None:
    """Return if the head of a request is one. Raises `Refused` for too long a one, one with two ends, an unknown version."""
    if version not in VERSIONS:
        raise Refused(ErrorFacts(status=505, message=f"HTTP/{version} is not supported; use HTTP/1.1."))
    if len(lines) > _MOST_HEADERS:
        raise Refused(ErrorFacts(status=431, message="The request has too many headers."))
    if "content-length" in headers and "transfer-encoding" in headers:
        # Somebody between the client and here may have believed the other one (RFC 9112, 6.1).
        raise Refused(ErrorFacts(status=400, message="The request says in two ways how long it is."))


_MOST_HEADERS = 500

VERSIONS = ("1.0", "1.1", "2", "2.0", "3", "3.0")
"""The versions of HTTP that are answered, as servers name them."""

HEALTH = "/healthz"
"""Where the server says that it runs, to anybody."""

_HEALTHY = Answer(200, {"content-type": "application/json"}, b'{"status":"ok"}')


async def _received(receive: Receive) -> AsyncIterator[bytes]:
    """The pieces of a request's body. Raises `ConnectionError` where the client goes away before its end."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


async def _drain(pieces: AsyncIterator[bytes], most: int) -> None:
    """Take in some of a body that nobody wants: a client that is still sending when the connection closes sees no answer."""
    size = 0
    with suppress(ConnectionError), move_on_after(1):
        async for piece in pieces:
            size += len(piece)
            if size > most:
                return


async def _watch(receive: Receive, asked: CancelScope) -> None:
    """Cancel what is done for a client that went away."""
    while (await receive())["type"] != "http.disconnect":
        pass
    asked.cancel()


TURN = 16
"""How many pieces of a stream are sent before others get a turn, if nothing had to be waited for."""


class _Sending:
    """An answer on its way to the client, piece by piece as the client takes them."""

    def __init__(self, send: Send, facts: dict[str, Any], stall: float) -> None:
        self._send = send
        self._facts = facts
        self._stall = stall
        self._sent = 0
        self._since: float | None = None  # when the client was given what it has not taken yet
        self.complete = False

    async def watch(self, asked: CancelScope) -> None:
        """Cancel what is done for a client that does not read: it is as good as gone, and would hold up the rest for ever."""
        while True:
            await sleep(self._stall / 2)
            if self._since is not None and time.monotonic() - self._since > self._stall:
                self._facts["error"] = "stalled"
                asked.cancel()

    async def answer(self, answer: Answer | Streamed) -> None:
        """Send all of it; of a stream that fails, what there is."""
        self._facts["status"] = answer.status
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
        if isinstance(answer, Streamed):
            self._facts["streamed"] = True
            try:
                await self._start(answer.status, headers)
                async for piece in answer.body:
                    if isinstance(piece, Pause):
                        await sleep(piece.seconds)
                        continue
                    await self._body(piece, more=True)
            except Exception:
                self._facts["error"] = "fault"
                _log.exception("a stream failed", extra={"request_id": self._facts["request_id"]})
            finally:
                with CancelScope(shield=True):
                    await answer.body.aclose()
            last = b""
        else:
            if answer.status != 204:
                headers.append((b"content-length", b"%d" % len(answer.body)))
            await self._start(answer.status, headers)
            last = answer.body
        await self._body(last, more=False)
        self.complete = "error" not in self._facts

    async def _body(self, piece: bytes, *, more: bool) -> None:
        self._since = time.monotonic()
        await self._send({"type": "http.response.body", "body": piece, "more_body": more})
        self._since = None
        self._sent += 1
        if more and self._sent % TURN == 0:
            # Others get their turn, and the news that nobody listens any more gets through; after the last piece nobody does.
            await checkpoint()

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
