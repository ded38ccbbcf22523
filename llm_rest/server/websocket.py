"""Responses over a WebSocket: each message is a request, each event of its stream a message back.

What a message asks for is answered as the same request over HTTP would be. Besides, a connection remembers its own turns, also
those that asked not to be stored. Before changing this file, know that there is one turn at a time, and that a turn which fails
makes the one it goes on from be forgotten, as Open Responses has it (2026-04-24).
"""

from __future__ import annotations

from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from ..errors import DecodeError, ErrorFacts
from ..transport.framing import SSE
from ..unknown import check_depth
from .exchange import Answer, Streamed, refused
from .handler import Pause, Refused

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping

    from .access import Reading
    from .stored import Session

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

WIRE = "openai_responses"

LONGEST = 60 * 60
"""Seconds after which a connection ends."""

REMEMBERED = 64 * 1024 * 1024
"""The most bytes of their own turns that all connections together remember."""

RESTART = 1012
"""The code with which a server that is told to stop closes connections."""

_WAITING = 16
"""The most messages that wait for the turn before them."""

_NOT_HERE = ("stream", "stream_options", "background")

_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")
"""The messages after which nothing more comes of a turn, those of a good one first."""


class Ask(Protocol):
    """Answers the body of a request, on behalf of a connection."""

    def __call__(self, body: bytes, session: Session) -> Awaitable[Answer | Streamed]: ...


class Talk:
    """The turns of one connection."""

    def __init__(self, ask: Ask, scope: str, own: Session) -> None:
        self._ask = ask
        self._scope = scope
        self._own = own

    async def turn(self, message: bytes | Refused) -> AsyncGenerator[str | Pause]:
        """The messages that answer one, or say why it was not taken."""
        try:
            if isinstance(message, Refused):
                raise message
            asked = _request(message)
        except Refused as refusal:
            yield _error(refused(WIRE, refusal.facts, ""))
            return
        before = asked.get("previous_response_id")
        answer = await self._ask(msgspec.json.encode(asked), self._own)
        kind = ""
        if isinstance(answer, Answer):
            kind = "error"
            yield _error(answer)
        else:
            frames = SSE()
            async with aclosing(answer.body):
                async for piece in answer.body:
                    if isinstance(piece, Pause):
                        yield piece
                        continue
                    for frame in frames.feed(piece):
                        if frame.event:  # the end mark has no name
                            kind = frame.event
                            yield frame.data.decode()
        if kind not in _ENDS:
            yield _error(refused(WIRE, ErrorFacts(status=500, message="The answer broke off."), ""))
        if kind not in _ENDS[:2] and isinstance(before, str):
            await self._own.forget(before)


def _request(message: bytes) -> dict[str, Any]:
    """The request in a message, to be streamed. Raises `Refused` for any other message."""
    try:
        check_depth(message)
        asked = msgspec.json.decode(message)
    except (msgspec.DecodeError, UnicodeError, DecodeError):
        raise _invalid("The message is not JSON.") from None
    if not isinstance(asked, dict) or cast("dict[str, Any]", asked).get("type") != "response.create":
        raise _invalid("A message is an object with the type response.create.")
    found = cast("dict[str, Any]", asked)
    for name in _NOT_HERE:
        if name in found:
            raise _invalid(f"{name} does not belong into a message; every answer is a stream.", name)
    del found["type"]
    return {**found, "stream": True}


def _invalid(message: str, param: str | None = None) -> Refused:
    return Refused(ErrorFacts(status=400, message=message, type="invalid_request_error", param=param))


def _error(answer: Answer) -> str:
    """An error answer as a message."""
    body: dict[str, Any] = msgspec.json.decode(answer.body)
    error: dict[str, Any] = body["error"]
    error["code"] = error.get("code") or error.get("type") or "server_error"
    return msgspec.json.encode({"type": "error", "status": answer.status, "error": error}).decode()


# --- the connection -------------------------------------------------------------------------------------------------


async def converse(
    receive: Receive, send: Send, talk: Talk, reading: Reading, *, stall: float, longest: float = LONGEST
) -> None:
    """Accept a WebSocket and answer its messages, until its client goes away or its time is up."""
    await receive()  # the wish to connect
    await send({"type": "websocket.accept"})
    putting, taking = anyio.create_memory_object_stream[bytes | Refused](_WAITING)
    async with anyio.create_task_group() as tasks, putting, taking:
        tasks.start_soon(_hear, receive, reading, putting, tasks.cancel_scope)
        with anyio.move_on_after(longest) as lasting:
            async for message in taking:
                if not await _answered(message, talk, send, stall):
                    tasks.cancel_scope.cancel()
                if isinstance(message, bytes):
                    reading.release(len(message))
                del message
        with suppress(OSError):
            if lasting.cancelled_caught:
                await send({"type": "websocket.send", "text": _error(refused(WIRE, _TOO_LONG, ""))})
            await send({"type": "websocket.close", "code": 1000 if lasting.cancelled_caught else RESTART})
        tasks.cancel_scope.cancel()


_TOO_LONG = ErrorFacts(
    status=400,
    message="This connection has lasted as long as it may; open another.",
    type="invalid_request_error",
    code="websocket_connection_limit_reached",
)


async def decline(receive: Receive, send: Send, answer: Answer) -> None:
    """Answer the wish to connect with an error."""
    await receive()
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
    await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": answer.body})


async def _answered(message: bytes | Refused, talk: Talk, send: Send, stall: float) -> bool:
    """Send all that answers the message; whether the client took it. Who does not read is as good as gone."""
    async with aclosing(talk.turn(message)) as answer:
        async for said in answer:
            if isinstance(said, Pause):
                await anyio.sleep(said.seconds)
                continue
            taken = False
            with anyio.move_on_after(stall), suppress(OSError):  # what servers raise where the client is gone
                await send({"type": "websocket.send", "text": said})
                taken = True
            if not taken:
                return False
            await checkpoint()
    return True


async def _hear(receive: Receive, reading: Reading, putting: Any, scope: anyio.CancelScope) -> None:
    """Take in what the client says while it is being answered, as far as there is room.

    A server that is told to stop hears no more, and lets what runs come to its end.
    """
    while (message := await receive())["type"] != "websocket.disconnect":
        await putting.send(_said(message, reading))
        del message  # what is answered is not to be held until the next message
    if message.get("code") == RESTART:
        putting.close()
        while (await receive())["type"] != "websocket.disconnect":
            pass
    scope.cancel()


def _said(message: Message, reading: Reading) -> bytes | Refused:
    """What a client says, or why it cannot be taken."""
    text = message.get("text")
    said: bytes = message.get("bytes") or b"" if text is None else text.encode()
    try:
        reading.check_entries(said)
        reading.hold(len(said))
    except Refused as refusal:
        return refusal
    return said
