"""The ASGI application: access control, reading a request, the answer in pieces, and the request log.

Before changing this file, know that a request is one task, which is cancelled when its client disconnects, and that a
piece of an answer is made only after the one before it was sent. Nothing here needs Starlette or uvicorn.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack, aclosing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from anyio import CancelScope, CapacityLimiter, create_task_group, move_on_after, sleep, to_thread
from anyio.lowlevel import checkpoint

from ..errors import ErrorFacts
from . import websocket
from .exchange import Answer, Streamed, error_answer, exchange
from .handler import Pause, Refused
from .logs import log_request
from .routes import find, not_found, wire_of
from .store import MemoryStore
from .stored import Session

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, MutableMapping

    from .access import AccessControl
    from .handler import Handler, Hold

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

T = TypeVar("T")

_log = logging.getLogger(__name__)

LARGE = 32 * 1024
"""The size of a body, in bytes, from which it is decoded in a thread: about 5 ms of work, or 250 for unknown kinds."""


class Endpoint:
    """The ASGI application for every path."""

    def __init__(self, handler: Handler, access: AccessControl) -> None:
        self._handler = handler
        self._access = access
        self._session_store = MemoryStore(websocket.MAX_SESSION_BYTES)
        self._one_at_a_time: CapacityLimiter | None = None  # belongs to the event loop

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, cancelled where its client disconnects; answer on a WebSocket as long as it is open."""
        path = scope["raw_path"].decode("latin-1")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["type"] == "websocket":
            await self._websocket(path, headers, receive, send)
            return
        with _log_line(scope["method"]) as facts:
            query = scope["query_string"].decode("latin-1")
            cors = self._access.cors(headers)
            sending = _Sending(send, facts, self._access.limits.stall, cors)
            pieces = _received(receive)
            try:
                _check_head(scope["headers"], headers, scope["http_version"])
                public = _PUBLIC.get((scope["method"], path)) or _PUBLIC.get(("", path))
                if scope["method"] == "OPTIONS" and "access-control-allow-methods" in cors:
                    public = Answer(204, {}, b"")
                caller = facts["scope"] = self._access.scope(headers, public=public is not None)
                if public is not None:
                    if public.status == 200:  # other paths may contain keys
                        facts["path"] = path
                    await sending.answer(
                        public._replace(headers={**public.headers, "x-request-id": facts["request_id"]})
                    )
                    return
                with self._access.admitted(caller) as reading:
                    body = await reading.body(pieces, headers, scope.get("state"))
                    async with create_task_group() as tasks:
                        tasks.start_soon(_watch, receive, tasks.cancel_scope)
                        answer = await self._exchange(
                            scope["method"], f"{path}?{query}", headers, body, facts, reading.hold
                        )
                        tasks.start_soon(sending.watch, tasks.cancel_scope)
                        await sending.answer(answer)
                        tasks.cancel_scope.cancel()
            except Refused as refusal:
                facts["wire"] = wire_of(path, headers)
                # With `expect` the client sends nothing more; beyond the memory limit its body must not be held either.
                if "expect" not in headers and refusal.facts.status < 500:
                    await _drain(pieces, self._access.limits.body)
                await sending.answer(error_answer(facts["wire"], refusal.facts, facts["request_id"], close=True))
            except ConnectionError:
                pass  # the client disconnected before the end of its request
            if not sending.complete:
                facts.setdefault("error", "gone")

    async def _websocket(self, path: str, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Answer on a WebSocket, where each message is a request of its own."""

        async def exchange_message(body: bytes | Refused, generate: bool) -> Answer | Streamed:
            with ExitStack() as held:
                facts = held.enter_context(_log_line("", scope=caller))
                if isinstance(body, Refused):
                    facts.update(wire=websocket.WIRE, status=body.facts.status)
                    return error_answer(websocket.WIRE, body.facts, facts["request_id"])
                room = held.enter_context(self._access.room())
                answer = await self._exchange("POST", path, headers, body, facts, room.hold, session, generate)
                facts["status"] = answer.status
                if isinstance(answer, Streamed):
                    facts["streamed"] = True
                    return answer._replace(body=_held(answer.body, facts, held.pop_all()))
                return answer

        try:
            caller = self._access.scope(headers)
            if not any(place.wire == websocket.WIRE for place in find(path, headers)):
                raise Refused(not_found("GET", path, websocket.WIRE))
            with self._access.admitted(caller) as reading:
                session = Session(self._session_store)
                stall = self._access.limits.stall
                try:
                    await websocket.serve_connection(receive, send, exchange_message, session, reading, stall=stall)
                finally:
                    await session.end()
        except Refused as refusal:
            with _log_line("GET", wire=websocket.WIRE, status=refusal.facts.status) as facts:
                answer = error_answer(websocket.WIRE, refusal.facts, facts["request_id"])
                await websocket.decline(receive, send, answer)

    async def _exchange(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        facts: dict[str, Any],
        hold: Hold,
        session: Session | None = None,
        generate: bool = True,
    ) -> Answer | Streamed:
        name = facts["request_id"]
        how: dict[str, Any] = {"in_thread": self._in_thread} if len(body) > LARGE else {}
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
                generate=generate,
                hold=hold,
                limits=self._access.limits,
                **how,
            )
        except Exception:
            _log.exception("a request failed", extra={"request_id": name})
            return error_answer(facts["wire"], ErrorFacts(status=500, message="The server failed."), name)

    async def _in_thread(self, work: Callable[[], T], /) -> T:
        """The result of `work` in a thread, one at a time: a running thread makes the loop wait for the interpreter."""
        if self._one_at_a_time is None:
            self._one_at_a_time = CapacityLimiter(1)
        return await to_thread.run_sync(work, limiter=self._one_at_a_time)


@contextmanager
def _log_line(method: str, **more: Any) -> Generator[dict[str, Any]]:
    """Log a request at the end of the block, with the fields in the dict; `error` is `gone` where it was cancelled."""
    facts = {"request_id": f"req_{uuid4().hex}", "method": method, **more}
    started = time.perf_counter()
    try:
        yield facts
    except BaseException:
        facts.setdefault("error", "gone")
        raise
    finally:
        facts["seconds"] = round(time.perf_counter() - started, 6)
        log_request(facts)


async def _held(
    body: AsyncGenerator[bytes | Pause], facts: dict[str, Any], held: ExitStack
) -> AsyncGenerator[bytes | Pause]:
    """The pieces of a stream; the contexts in `held` are closed at its end."""
    with held:
        try:
            async with aclosing(body):
                async for piece in body:
                    yield piece
        except Exception:
            facts["error"] = "fault"
            _log.exception("a stream failed", extra={"request_id": facts["request_id"]})


def _check_head(lines: list[tuple[bytes, bytes]], headers: dict[str, str], version: str) -> None:
    """Return if the head of a request is valid. Raises `Refused` for too many headers, two lengths, or an unknown version."""
    if version not in VERSIONS:
        raise Refused(ErrorFacts(status=505, message=f"HTTP/{version} is not supported; use HTTP/1.1."))
    if len(lines) > _MAX_HEADERS:
        raise Refused(ErrorFacts(status=431, message="The request has too many headers."))
    if "content-length" in headers and "transfer-encoding" in headers:
        # A proxy in between may have used the other length: request smuggling (RFC 9112, 6.1).
        raise Refused(ErrorFacts(status=400, message="The request has both Content-Length and Transfer-Encoding."))


_MAX_HEADERS = 500

VERSIONS = ("1.0", "1.1", "2", "2.0", "3", "3.0")
"""The supported versions of HTTP, in the notation of ASGI servers."""

HEALTH = "/healthz"
"""The path of the health check, which needs no access token."""

_PUBLIC = {
    ("", HEALTH): Answer(200, {"content-type": "application/json"}, b'{"status":"ok"}'),
    ("HEAD", "/"): Answer(200, {}, b""),
}
"""The answers that need no access token, by method (any if empty) and path. Claude Code sends `HEAD /` first."""


async def _received(receive: Receive) -> AsyncIterator[bytes]:
    """The pieces of a request's body. Raises `ConnectionError` where the client disconnects before its end."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


async def _drain(pieces: AsyncIterator[bytes], most: int) -> None:
    """Read a part of an unused body: a client that still sends when the connection closes receives no answer."""
    size = 0
    with suppress(ConnectionError), move_on_after(1):
        async for piece in pieces:
            size += len(piece)
            if size > most:
                return


async def _watch(receive: Receive, scope: CancelScope) -> None:
    """Cancel the request of a client that disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


YIELD_EVERY = 16
"""The number of pieces after which a stream lets other tasks run, if it did not wait for anything."""


class _Sending:
    """Sends an answer to the client piece by piece, at the speed at which the client reads."""

    def __init__(self, send: Send, facts: dict[str, Any], stall: float, more: dict[str, str]) -> None:
        self._send = send
        self._more = more  # headers of every answer
        self._facts = facts
        self._stall = stall
        self._sent = 0
        self._since: float | None = None  # when the piece was sent that the client has not read yet
        self.complete = False

    async def watch(self, scope: CancelScope) -> None:
        """Cancel the request of a client that does not read for `stall` seconds."""
        while True:
            await sleep(self._stall / 2)
            if self._since is not None and time.monotonic() - self._since > self._stall:
                self._facts["error"] = "stalled"
                scope.cancel()

    async def answer(self, answer: Answer | Streamed) -> None:
        """Send the whole answer; of a stream that fails, the part before the failure."""
        self._facts["status"] = answer.status
        named = {**answer.headers, **self._more} if self._more else answer.headers
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named.items()]
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
        if more and self._sent % YIELD_EVERY == 0:
            # Let other tasks run, and notice a disconnect.
            await checkpoint()

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
