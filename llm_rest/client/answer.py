"""Decoding an answer: the document in its body, the events of a stream, or an error.

An answer may be an error with any status, and a body may not be the requested stream (a whole answer or an
error as one document, a page of HTML, nothing): its first bytes decide, because the content type is often wrong. Before changing
this file, know that a server's text is part of an error only truncated, printable and without the secrets that were sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ..errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    Attempt,
    DecodeError,
    ErrorFacts,
    LLMError,
    MalformedResponseError,
    ProtocolError,
    ResponseTooLargeError,
    StreamInterruptedError,
)
from ..responses import events as ev
from ..responses.response import RESPONSE, ResponseError
from ..responses.stream import Assembler, disassemble
from ..transport import HTTPAnswer
from ..unknown import Unknown, check_depth, extras, given
from ..vendor_errors import api_error, error_class
from ..vendors.auth import Secret, bytes_without_secrets, text_without_secrets, without_secrets
from ..wires import long_wire
from .events import SplitSurrogates, StreamReader, check_size
from .reply import Reply, reply

if TYPE_CHECKING:
    from ..losses import Loss
    from ..responses.events import AnyEvent
    from ..responses.request import Request
    from ..responses.response import Response
    from ..transport.exchange import Incoming
    from ..unknown import Decoder
    from .send import RunningAttempt
    from .target import Target

D = TypeVar("D")


class ReceivedAnswer(NamedTuple):
    """A successful answer, and how it was received."""

    answer: HTTPAnswer
    secrets: Mapping[str, str | Secret]
    """The secrets of the request that must be redacted: the headers, and the tokens in the body."""
    attempts: tuple[Attempt, ...]
    losses: Sequence[Loss] = ()
    """Losses: options omitted because the vendor rejected them in an earlier attempt."""


class FirstPart(NamedTuple):
    """A document that is one part of a long answer, and how it was received."""

    document: Any
    sent: ReceivedAnswer


class _Verdict(Struct):
    """The status of the request in each answer of a vendor."""

    status_code: int | str = 0


_encode = msgspec.json.Encoder().encode
_peek = msgspec.json.Decoder(dict[str, Raw])
_verdict = msgspec.json.Decoder(_Verdict)
_EMPTY = b"{}"

_STATUS = re.compile("[45][0-9]{2}")
_NO_ERROR = (b"null", b"false", b'""', b"{}", b"[]", b"0")


def error_of_answer(target: Target, answer: HTTPAnswer, sent: Mapping[str, str | Secret]) -> LLMError:
    """The exception for an answer with an error in it."""
    facts = target.wire.decode_error(answer.status, answer.headers, answer.body)
    facts = without_secrets(facts, sent)
    if answer.status < 400 and facts.code is not None and _STATUS.fullmatch(facts.code):
        # Routers answer 200 and put the HTTP status of the upstream vendor into the body.
        facts = replace(facts, status=int(facts.code))
    return api_error(facts, vendor=target.vendor, model=target.model, rules=target.endpoint.vendor.errors)


def redirect_error(answer: HTTPAnswer) -> LLMError:
    """The error for a redirect, which is not followed: keys are sent to one host only."""
    try:
        host = urlsplit(answer.headers.get("location", "")).hostname
    except ValueError:
        host = None
    where = f"to {host}" if host else "elsewhere"
    return ProtocolError(f"the server redirects {where}, which is not followed", retryable=False, hint="check base_url")


def decode_document(target: Target, sent: ReceivedAnswer, decoder: Decoder[D]) -> D:
    """The document of an answer, as the wire's struct. Raises the vendor's error where it holds one instead."""
    try:
        check_size(sent.answer.body)
        document = decode_body(sent.answer.body, decoder)
        # Some hosts send an empty error field beside a valid answer to mean that there was none.
        if not ("error" in getattr(type(document), "__extras__", ()) and extras(cast("Struct", document))["error"]):
            return document
        problem, limited = "it holds an error", False
    except ResponseTooLargeError as fault:
        fault.status = sent.answer.status
        raise with_context(fault, target, sent.attempts) from None
    except DecodeError as fault:
        problem, limited = fault.message, fault.limited
    failed = _is_error(sent.answer.body, target.endpoint.vendor.errors.verdict)
    error = error_of_answer(target, sent.answer, sent.secrets) if failed else malformed_error(target, sent, problem)
    if limited:
        error.retryable = False  # a limit of this library, which another attempt exceeds as well
    raise with_context(error, target, sent.attempts)


def decode_body(body: bytes, decoder: Decoder[D]) -> D:
    """The document in a body. Raises `DecodeError` where it is none."""
    if len(body) < len(_EMPTY) + 16 and body.strip() == _EMPTY:
        raise DecodeError("it is empty")  # matches a wire whose fields are all optional
    try:
        return decoder.decode(body)
    except DecodeError:
        whole = SplitSurrogates().joined(body)
        if whole == body:
            raise
    return decoder.decode(whole)


def _is_error(raw: bytes, verdict: str) -> bool:
    try:
        check_depth(raw)
        fields = _peek.decode(raw)
        verdict_found = _verdict.decode(fields[verdict]) if verdict in fields else _Verdict()
    except (msgspec.MsgspecError, DecodeError, UnicodeDecodeError):
        return False
    return verdict_found.status_code != 0 or bytes(fields.get("error", b"null")) not in _NO_ERROR


def malformed_error(target: Target, sent: ReceivedAnswer, problem: str) -> MalformedResponseError:
    """The error for a malformed answer, with the beginning of its body."""
    answer = sent.answer
    kind = answer.headers.get("content-type", "no content type")
    facts = target.wire.decode_error(answer.status, answer.headers, answer.body)
    what = f"an answer of {kind}" if answer.body else "an empty answer"
    message = f"{what} instead of a document of {target.endpoint.wire} ({problem}): {facts.message}"
    facts = without_secrets(replace(facts, message=message.removesuffix(": ")), sent.secrets)
    return MalformedResponseError(facts.message, status=answer.status, request_id=facts.request_id, body=facts.body)


def redact(error: LLMError, sent: Mapping[str, str | Secret]) -> LLMError:
    """The error without the secrets that were sent, which a server may have repeated in any field."""
    error.message = text_without_secrets(error.message, sent)
    error.args = (error.message,)
    return error


def with_context(error: LLMError, target: Target, attempts: tuple[Attempt, ...]) -> LLMError:
    """The error with the context of the call."""
    error.vendor = error.vendor or target.vendor
    error.model = error.model or target.model
    error.attempts = attempts
    error.facts = target.facts()
    return error


def generation_error(target: Target, response: Response, sent: Mapping[str, str | Secret]) -> LLMError:
    """The exception for a failed generation, which has HTTP status 200."""
    error = response.error if given(response.error) else ResponseError()
    facts = ErrorFacts(
        status=200,
        message=error.message or "the generation failed",
        code=None if not given(error.code) else str(error.code),
        type=error.type or None,
    )
    # Without a code that identifies the cause, the error is counted as the vendor's.
    rules = target.endpoint.vendor.errors
    facts = facts if error_class(facts, rules) is not APIStatusError else replace(facts, status=500)
    facts = without_secrets(facts, sent)
    made = api_error(facts, vendor=target.vendor, model=target.model, rules=rules)
    made.status = 200
    return made


def partial_reply(found: Reply, error: LLMError, sent: Mapping[str, str | Secret]) -> Reply:
    """The partial reply of an error. The vendor's message is redacted as in the error."""
    if given(found.error):
        found.error = replace(found.error, message=error.message)
    if found.status != "failed":
        return found
    how, document = found.info, _encode(found)
    how.raw, safe = bytes_without_secrets(how.raw, sent), bytes_without_secrets(document, sent)
    if how.source is not None:
        frames = tuple(bytes_without_secrets(frame, sent) for frame in how.source.frames)
        how.source = replace(how.source, frames=frames)
    return found if safe == document else reply(RESPONSE.decode(safe), how)


FAILURES = (ev.ResponseFailed, ev.ErrorEvent)
"""Events of a failure."""
NO_PROGRESS = (ev.ResponseCreated, ev.ResponseQueued, ev.ResponseInProgress, Unknown)
"""Events without content: life-cycle events, and unknown kinds, which some hosts send as keep-alives."""

LINGER = 2.0
"""Seconds to wait for token counts and sources after the last event, where a server keeps the body open."""

_BLANK = b" \t\r\n\xef\xbb\xbf"
_DOCUMENTS = {"sse": (b"{", b"[", b"<"), "ndjson": (b"[", b"<")}
"""The first bytes of a body that is one document, not a stream."""
_EXCERPT = 4096


class IncomingEvents:
    """The events in the body of a successful answer: of a stream, or of a whole document sent instead of one."""

    # With slots, error reporters that show object attributes do not show what a server sent.
    __slots__ = (
        "_any",
        "_continues",
        "_document",
        "_fault",
        "_lingers",
        "_lost",
        "_request",
        "_start",
        "_target",
        "_unread",
        "ended",
        "frames",
        "incoming",
        "raw",
        "trial",
    )

    def __init__(
        self,
        target: Target,
        request: Request,
        incoming: Incoming,
        trial: RunningAttempt,
        frames: StreamReader | None = None,
    ) -> None:
        """`frames` has read the earlier hops of a long answer, and reads its later ones."""
        self.incoming = incoming
        self.trial = trial
        self.ended = False
        self.raw = b""
        self._target = target
        self._request = request
        self._continues = frames is not None
        self.frames = frames or StreamReader(target.wire, **target.decoding(request))
        self._document: list[bytes] | None = None
        self._start = b""
        self._any = False
        self._unread: list[AnyEvent] | None = None
        self._fault: LLMError | None = None
        self._lost: list[Loss] = []
        self._lingers = False

    @property
    def losses(self) -> list[Loss]:
        """The conversion losses so far."""
        return [*self.trial.losses, *(self._lost or self.frames.losses)]

    async def begin(self, *, whole: bool = False) -> LLMError | None:
        """Wait for the first event with content, or for the last one of a `whole` answer; the error where none arrived.

        `more` yields both later.
        """
        received: list[AnyEvent] = []
        self._unread = received
        try:
            while not self.ended:
                events = await self._next()
                received += events
                for event in events:
                    if isinstance(event, FAILURES):
                        return self._failure(received)
                    if isinstance(event, ev.TERMINAL) or not (whole or isinstance(event, NO_PROGRESS)):
                        return None
            return self.cut() if self.frames.checkpoint() is None else None
        except LLMError as problem:
            self.ended = False  # the error is raised later
            self._fault = problem
        if self.frames.checkpoint() is not None:
            return None  # the answer is resumed in another hop instead
        if isinstance(self._fault, StreamInterruptedError):
            self._fault.retryable = True
        return self._fault

    def _failure(self, events: list[AnyEvent]) -> LLMError:
        seen = Assembler()
        for event in events:
            seen.feed(event)
        return generation_error(self._target, seen.response, self.trial.secrets)

    async def more(self) -> list[AnyEvent]:
        """The events in the next bytes, or none; `ended` is true after the last. Raises the error that ends the stream."""
        if self._unread is not None:
            events, self._unread = self._unread, None
            return events
        if self._fault is not None:
            raise self._fault
        return await self._next()

    async def _next(self) -> list[AnyEvent]:
        try:
            piece = await self._read()
            self.ended = piece is None
            events = self._close() if piece is None else self._feed(piece)
            self._linger(events)
        except DecodeError as problem:
            what = f"a frame of the stream is no event of {self._target.endpoint.wire}: {problem.message}"
            fault: LLMError = MalformedResponseError(what, retryable=False)
        except MalformedResponseError as problem:
            problem.retryable = problem.retryable and not self._any
            raise
        except APITimeoutError:
            raise
        except APIConnectionError as problem:
            fault = StreamInterruptedError(f"the stream broke off: {problem.message}")
        else:
            if events:
                self._any = True
                self.trial.began()
                if not all(isinstance(event, NO_PROGRESS) or getattr(event, "delta", None) == "" for event in events):
                    self.incoming.deadline.progressed()
            return events
        raise fault

    def _linger(self, events: list[AnyEvent]) -> None:
        """After the last event, limit the wait for details to `LINGER` seconds; keep-alives do not extend it."""
        finished = self.frames.finished
        if finished and (events or not self._lingers):
            self.incoming.deadline.limit_rest(LINGER)
        elif self._lingers and not finished:
            self.incoming.deadline.limit_rest(None)
        self._lingers = finished

    async def _read(self) -> bytes | None:
        """The next bytes. After the last event, a connection failure counts as the end of the body."""
        try:
            return await self.incoming.read()
        except (APIConnectionError, ResponseTooLargeError):
            if not self.frames.finished:
                raise
            return None

    def cut(self) -> LLMError:
        """The error for a body that ended before its last event."""
        if self._any:
            what = f"the stream from {self.incoming.deadline.peer} ended before its last event; make the call again"
            return StreamInterruptedError(what, retryable=self._unread is not None)
        return malformed_error(self._target, self._sent(self._start), "it holds no event")

    async def leave(self, error: LLMError | None = None, *, complete: bool = False) -> None:
        """End the exchange; the connection of a `complete` answer may be used again."""
        await (self.incoming.finish() if complete else self.incoming.close())
        self.trial.end(self.incoming.status, error)

    def name(self, error: LLMError) -> None:
        """Add the context of the call to the error, and redact secrets."""
        redact(error, self.trial.secrets)
        incoming = self.incoming
        error.status = error.status or incoming.status
        named = self._target.wire.decode_error(incoming.status, incoming.headers, b"")
        error.request_id = error.request_id or named.request_id

    def _feed(self, piece: bytes) -> list[AnyEvent]:
        if not self._start:
            self._start = piece.lstrip(_BLANK)[:_EXCERPT]
            if self._start.startswith(_DOCUMENTS[self._target.wire.FRAMING]):
                self._document = []
        if self._document is None:
            return self.frames.feed(piece)
        self._document.append(piece)
        return []

    def _close(self) -> list[AnyEvent]:
        if self._document is None:
            return self.frames.close() if self.frames.checkpoint() is None else []
        body = b"".join(self._document)
        wire = self._target.wire
        document = decode_document(self._target, self._sent(body), wire.RESPONSE)
        self.raw = body
        long = long_wire(wire)
        if self._continues or (long is not None and long.goes_on(document)):
            events = self.frames.document(document)
            return events + (self.frames.close() if self.frames.checkpoint() is None else [])
        response, self._lost = wire.decode_response(document, **self._target.decoding(self._request))
        return disassemble(response)

    def _sent(self, body: bytes) -> ReceivedAnswer:
        answer = HTTPAnswer(self.incoming.status, self.incoming.headers, body)
        return ReceivedAnswer(answer, self.trial.secrets, self.trial.attempts)
