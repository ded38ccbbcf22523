"""The Responses API over a WebSocket: each client message is a request, each event of its stream a server message.

A message is answered like the same request over HTTP; one with `generate: false` by the server itself, without output. A
connection also stores its own turns, even those with `store: false`. Before changing this file, know that there is one turn
at a time, and that a failed turn deletes the turn that it continues, as specified by Open Responses (2026-04-24).
"""

from __future__ import annotations

from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from ..errors import DecodeError, ErrorFacts
from ..transport.framing import SSE
from ..unknown import check_depth
from .exchange import Answer, Streamed, error_answer
from .handler import Pause, Refused, invalid_request

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping

    from .access import Reading
    from .stored import Session

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Exchange = Callable[[bytes | Refused, bool], Awaitable[Answer | Streamed]]
    """The answer to a request, or to one that was rejected; without output where the second argument is false."""

WIRE = "openai_responses"

MAX_SECONDS = 60 * 60
"""The maximum duration of a connection, in seconds."""

MAX_SESSION_BYTES = 64 * 1024 * 1024
"""The maximum size of the stored turns of all connections together, in bytes."""

RESTART = 1012
"""The close code of a server that is being stopped."""

_MAX_QUEUED = 16
"""The maximum number of messages that wait for the turns before them."""

_IGNORED = ("stream", "stream_options")
"""Fields that clients must not send, since every answer is a stream; Codex 0.169 does."""

_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")
"""The types of the last message of a turn, those of a successful one first."""


async def answer(message: bytes | Refused, exchange: Exchange, session: Session) -> AsyncGenerator[str | Pause]:
    """The messages that answer a message of the client, or an error where it was rejected."""
    request: dict[str, Any] = {}
    generate, body = True, message
    if isinstance(message, bytes):
        try:
            request = _request(message)
            generate = request.pop("generate", None) is not False
            body = msgspec.json.encode(request)
        except Refused as refusal:
            body = refusal
    before = request.get("previous_response_id")
    response = await exchange(body, generate)
    kind = ""
    if isinstance(response, Answer):
        kind = "error"
        yield _error(response)
    else:
        frames = SSE()
        async with aclosing(response.body):
            async for piece in response.body:
                if isinstance(piece, Pause):
                    yield piece
                    continue
                for frame in frames.feed(piece):
                    if frame.event:  # the end mark has no event name
                        kind = frame.event
                        yield frame.data.decode()
    if kind not in _ENDS:
        yield _error(error_answer(WIRE, ErrorFacts(status=500, message="The answer broke off."), ""))
    if kind not in _ENDS[:2] and isinstance(before, str):
        await session.forget(before)


def _request(message: bytes) -> dict[str, Any]:
    """The request in a message, to be streamed. Raises `Refused` for any other message."""
    try:
        check_depth(message)
        document = msgspec.json.decode(message)
    except (msgspec.DecodeError, UnicodeError, DecodeError):
        raise invalid_request("The message is not JSON.") from None
    if not isinstance(document, dict) or cast("dict[str, Any]", document).get("type") != "response.create":
        raise invalid_request("A message is an object with the type response.create.")
    found = cast("dict[str, Any]", document)
    if "background" in found:
        raise invalid_request("background does not belong into a message; every answer is a stream.", "background")
    for name in _IGNORED:
        found.pop(name, None)
    del found["type"]
    return {**found, "stream": True}


def _error(answer: Answer) -> str:
    """An error answer as a WebSocket message."""
    body: dict[str, Any] = msgspec.json.decode(answer.body)
    error: dict[str, Any] = body["error"]
    error["code"] = error.get("code") or error.get("type") or "server_error"
    return msgspec.json.encode({"type": "error", "status": answer.status, "error": error}).decode()


# --- the connection -------------------------------------------------------------------------------------------------


async def serve_connection(
    receive: Receive,
    send: Send,
    exchange: Exchange,
    session: Session,
    reading: Reading,
    *,
    stall: float,
    longest: float = MAX_SECONDS,
) -> None:
    """Accept a WebSocket and answer its messages by `ask`, until its client disconnects or after `MAX_SECONDS`."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})
    queue, messages = anyio.create_memory_object_stream[bytes | Refused](_MAX_QUEUED)
    async with anyio.create_task_group() as tasks, queue, messages:
        tasks.start_soon(_receive_messages, receive, reading, queue, tasks.cancel_scope)
        with anyio.move_on_after(longest) as lasting:
            async for message in messages:
                if not await _answered(message, exchange, session, send, stall):
                    tasks.cancel_scope.cancel()
                if isinstance(message, bytes):
                    reading.release(len(message))
                del message
        with suppress(OSError):
            if lasting.cancelled_caught:
                await send({"type": "websocket.send", "text": _error(error_answer(WIRE, _TOO_LONG, ""))})
            await send({"type": "websocket.close", "code": 1000 if lasting.cancelled_caught else RESTART})
        tasks.cancel_scope.cancel()


_TOO_LONG = ErrorFacts(
    status=400,
    message="This connection has lasted as long as it may; open another.",
    type="invalid_request_error",
    code="websocket_connection_limit_reached",
)


async def decline(receive: Receive, send: Send, answer: Answer) -> None:
    """Reject a connection with an error answer."""
    await receive()  # websocket.connect
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
    await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": answer.body})


async def _answered(message: bytes | Refused, exchange: Exchange, session: Session, send: Send, stall: float) -> bool:
    """Send the answer to the message; whether the client read it. One that does not read counts as disconnected."""
    async with aclosing(answer(message, exchange, session)) as messages:
        async for outgoing in messages:
            if isinstance(outgoing, Pause):
                await anyio.sleep(outgoing.seconds)
                continue
            taken = False
            with anyio.move_on_after(stall), suppress(OSError):  # raised by servers where the client has disconnected
                await send({"type": "websocket.send", "text": outgoing})
                taken = True
            if not taken:
                return False
            await checkpoint()
    return True


async def _receive_messages(receive: Receive, reading: Reading, queue: Any, scope: anyio.CancelScope) -> None:
    """Queue the client's messages during an answer, as far as there is room.

    A server that is being stopped receives no more, and finishes the running turn.
    """
    while (message := await receive())["type"] != "websocket.disconnect":
        await queue.send(_content(message, reading))
        del message  # its memory is released before the next message
    if message.get("code") == RESTART:
        queue.close()
        while (await receive())["type"] != "websocket.disconnect":
            pass
    scope.cancel()


def _content(message: Message, reading: Reading) -> bytes | Refused:
    """The content of a message, or the reason for its rejection."""
    text = message.get("text")
    content: bytes = message.get("bytes") or b"" if text is None else text.encode()
    try:
        reading.check_entries(content)
        reading.hold(len(content))
    except Refused as refusal:
        return refusal
    return content
