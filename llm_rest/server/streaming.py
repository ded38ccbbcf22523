"""Streaming: encodes the events of an answer as bytes, in pieces, and a failure in the middle as error events.

Before changing this file, know that only the handler waits. A `Pause` is passed to the caller, so that a server can
sleep without a thread for every stream, and a caller of the in-process simulator sleeps itself.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import wires
from ..errors import LLMError
from ..responses import Response, ResponseError, Usage
from ..responses import events as ev
from ..responses.stream import disassemble
from ..transport.framing import NDJSON
from ..wires.ollama_chat import generated
from .handler import Pause, Refused
from .logs import log_usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from ..client.events import StreamWriter
    from ..errors import ErrorFacts
    from ..responses.events import AnyEvent
    from .handler import Context, HandlerEvent
    from .seals import SealingWriter

_encode = msgspec.json.Encoder().encode

TOKEN = 4
"""The default number of characters in a piece of text."""

PIECES = (
    ev.OutputTextDelta,
    ev.RefusalDelta,
    ev.ReasoningSummaryTextDelta,
    ev.ReasoningTextDelta,
    ev.FunctionCallArgumentsDelta,
    ev.CustomToolCallInputDelta,
)
"""The events with a piece of text."""


class Pace(Struct, frozen=True):
    """The pace of a stream: the characters in a piece of text, and the seconds before each piece."""

    size: int = TOKEN
    delay: float = 0


def stream_events(response: Response, pace: Pace, *, unfinished: bool = False) -> Generator[AnyEvent | Pause]:
    """The events of `response`, its texts in pieces; an unfinished one ends after its last piece of text."""
    events = disassemble(response)
    if unfinished:
        del events[max(i for i, event in enumerate(events) if i == 1 or isinstance(event, PIECES)) + 1 :]
    number = 0
    for event in events:
        for piece in _in_pieces(event, pace.size):
            if pace.delay and isinstance(piece, PIECES):
                yield Pause(pace.delay)
            if isinstance(piece, ev.ResponseCreated | ev.ResponseInProgress):
                # These fields are set only at the end.
                piece.response = replace(piece.response, completed_at=None, incomplete_details=None)
            piece.sequence_number = number
            yield piece
            number += 1


def _in_pieces(event: Any, size: int) -> list[Any]:
    """The event, or several with its text in pieces of `size` characters."""
    if not isinstance(event, PIECES) or len(event.delta) <= size:
        return [event]
    return [replace(event, delta=event.delta[i : i + size]) for i in range(0, len(event.delta), size)]


async def encoded_stream(
    events: AsyncGenerator[HandlerEvent],
    writer: StreamWriter | SealingWriter,
    context: Context,
    facts_of: Callable[[LLMError], ErrorFacts],
    input_tokens: Callable[[], int] | None = None,
) -> AsyncGenerator[bytes | Pause]:
    """The bytes of the stream: first an empty piece, once there is an event; or an error that the handler raises before that.

    `input_tokens` estimates the input tokens for wires that report them before the answer, where the vendor did not.
    A later error becomes an error event of the wire. A stream of events without a terminal one is cut off here too.
    Closing this closes `events`, if the first piece was taken.
    """
    started, number = Response(id="", status="in_progress", output=[]), 0
    async with aclosing(events):
        item = await anext(events, None)
        yield b""
        try:
            while item is not None:
                if isinstance(item, Pause):
                    yield item
                elif batch := item if isinstance(item, list) else [item]:
                    last = batch[-1]
                    if not started.id:
                        started = next((e.response for e in batch if isinstance(e, ev.ResponseCreated)), started)
                        if input_tokens is not None and started.id and not started.usage:
                            batch = _estimated(batch, input_tokens())
                    number += len(batch)
                    piece = b"".join([writer.feed(event) for event in batch])
                    if isinstance(last, ev.TERMINAL):
                        log_usage(context.facts, last.response.usage)
                        yield piece + writer.close()
                        return
                    if piece:
                        yield piece
                item = await anext(events, None)
        except Refused as refusal:
            facts = refusal.facts
        except LLMError as error:
            context.facts["error"] = error.kind
            facts = facts_of(error)
        else:
            return
        finally:
            context.late.extend(writer.losses)
        yield b"".join([writer.feed(event) for event in failed(started, number, as_wire_error(facts, context.wire))])


async def as_array(events: AsyncGenerator[bytes | Pause]) -> AsyncGenerator[bytes | Pause]:
    """The documents of an event stream as one growing JSON array."""
    before = b"["
    async with aclosing(events):
        async for piece in events:
            lines = piece.splitlines() if isinstance(piece, bytes) else ()
            documents = [line[6:] for line in lines if line.startswith(b"data: ")]
            yield before + b",\r\n".join(documents) if documents else piece
            before = b",\r\n" if documents else before
    yield b"]" if before != b"[" else b"[]"


async def as_generated(events: AsyncGenerator[bytes | Pause]) -> AsyncGenerator[bytes | Pause]:
    """The stream of `/api/chat` converted to that of `/api/generate`."""
    async with aclosing(events):
        async for piece in events:
            lines = piece.splitlines() if isinstance(piece, bytes) else ()
            encoded = [NDJSON.encode(_encode(generated(msgspec.json.decode(line)))) for line in lines]
            yield b"".join(encoded) if encoded else piece


def _estimated(batch: list[AnyEvent], tokens: int) -> list[AnyEvent]:
    usage = Usage(input_tokens=tokens, output_tokens=0, total_tokens=tokens)
    return [
        replace(event, response=replace(event.response, usage=usage))
        if isinstance(event, ev.ResponseCreated)
        else event
        for event in batch
    ]


CODES = {429: "rate_limit_exceeded", 529: "server_overloaded"}
"""The code of an error without one, by its status, which a stream has no field for; any other is a `server_error`."""


def as_wire_error(facts: ErrorFacts, wire: str) -> ErrorFacts:
    """The facts with the type that the wire has for an error of that status, and with a code."""
    module = wires.load(wire)
    status, document = module.encode_error(facts)
    decoded = module.decode_error(status, {}, msgspec.json.encode(document))
    return replace(decoded, code=decoded.code or CODES.get(facts.status))


def failed(started: Response, number: int, facts: ErrorFacts) -> list[AnyEvent]:
    """The events that end a stream with an error."""
    failure: dict[str, Any] = {"code": facts.code, "message": facts.message, "type": facts.type}
    response = replace(started, status="failed", error=ResponseError(**failure), usage=None)
    return [
        ev.ErrorEvent(sequence_number=number, error=ev.StreamError(**failure, param=facts.param)),
        ev.ResponseFailed(sequence_number=number + 1, response=response),
    ]
