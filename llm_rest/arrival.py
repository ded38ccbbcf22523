"""The events in the body of an answer, as its bytes arrive, or what is wrong with it.

A body may be no stream although one was asked for: a whole answer or an error as one document, a page of HTML, nothing. Before
changing this file, know that how a body begins says what it is; its content type says it wrong too often.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .answers import Sent, document_of, failure, hushed, malformed
from .errors import DecodeError, LLMError, MalformedResponse, StreamInterrupted, TimeoutError_, TransportError
from .responses import events as ev
from .responses.assemble import Assembler, disassemble
from .streams import StreamReader
from .transport import HttpAnswer
from .unknown import Unknown

if TYPE_CHECKING:
    from .losses import Loss
    from .responses.events import AnyEvent
    from .responses.request import Request
    from .target import Target
    from .transport.exchange import Incoming
    from .trials import Trial

FAILURES = (ev.ResponseFailed, ev.ErrorEvent)
"""Events that tell of a failure."""
NO_PROGRESS = (ev.ResponseCreated, ev.ResponseQueued, ev.ResponseInProgress, Unknown)
"""Events that bring nothing of the answer: mere life-cycle, and kinds nobody knows, which some hosts' keep-alives are."""

_BLANK = b" \t\r\n\xef\xbb\xbf"
_DOCUMENTS = {"sse": (b"{", b"[", b"<"), "ndjson": (b"[", b"<")}
"""How a body begins that is no stream of the framing, but one document."""
_EXCERPT = 4096


class Arrival:
    """The events in the body of a good answer: of a stream, or of a whole document that came in spite of what was asked for."""

    # With slots, an error reporter that unfolds objects shows nothing of what a server wrote.
    __slots__ = (
        "_any",
        "_begun",
        "_document",
        "_fault",
        "_frames",
        "_lost",
        "_request",
        "_start",
        "_target",
        "ended",
        "incoming",
        "raw",
        "trial",
    )

    def __init__(self, target: Target, request: Request, incoming: Incoming, trial: Trial) -> None:
        self.incoming = incoming
        self.trial = trial
        self.ended = False
        self.raw = b""
        self._target = target
        self._request = request
        self._frames = StreamReader(target.wire, dialect=target.dialect, request=request, now=int(time.time()))
        self._document: list[bytes] | None = None
        self._start = b""
        self._any = False
        self._begun: list[AnyEvent] | None = None
        self._fault: LLMError | None = None
        self._lost: list[Loss] = []

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far."""
        return [*self.trial.losses, *(self._lost or self._frames.losses)]

    async def begin(self) -> LLMError | None:
        """Wait for the first event that brings something of the answer; the error where none came. `more` tells both later."""
        begun: list[AnyEvent] = []
        self._begun = begun
        try:
            while not self.ended:
                events = await self._next()
                begun += events
                for event in events:
                    if isinstance(event, FAILURES):
                        return self._failure(begun)
                    if not isinstance(event, NO_PROGRESS):
                        return None
            return self.cut()
        except LLMError as problem:
            self.ended = False  # the error is still to be raised
            self._fault = problem
        if isinstance(self._fault, StreamInterrupted):
            self._fault.retryable = True
        return self._fault

    def _failure(self, events: list[AnyEvent]) -> LLMError:
        seen = Assembler()
        for event in events:
            seen.feed(event)
        return failure(self._target, seen.response, self.trial.secrets)

    async def more(self) -> list[AnyEvent]:
        """The events in the next bytes, perhaps none; `ended` says whether there are more bytes. Raises what ends it instead."""
        if self._begun is not None:
            events, self._begun = self._begun, None
            return events
        if self._fault is not None:
            raise self._fault
        return await self._next()

    async def _next(self) -> list[AnyEvent]:
        try:
            piece = await self.incoming.read()
            self.ended = piece is None
            events = self._close() if piece is None else self._feed(piece)
        except DecodeError as problem:
            what = f"a frame of the stream is no event of {self._target.endpoint.wire}: {problem.message}"
            fault: LLMError = MalformedResponse(what, retryable=False)
        except MalformedResponse as problem:
            problem.retryable = problem.retryable and not self._any
            raise
        except TimeoutError_:
            raise
        except TransportError as problem:
            fault = StreamInterrupted(f"the stream broke off: {problem.message}")
        else:
            if events:
                self._any = True
                self.trial.began()
                if not all(isinstance(event, NO_PROGRESS) or getattr(event, "delta", None) == "" for event in events):
                    self.incoming.progressed()
            return events
        raise fault

    def cut(self) -> LLMError:
        """The error for a body that ended before its last event came."""
        if self._any:
            return StreamInterrupted("the stream ended before its last event", retryable=self._begun is not None)
        return malformed(self._target, self._sent(self._start), "it holds no event")

    def name(self, error: LLMError) -> None:
        """Say on the error which answer it is about, and nothing that was sent in secret."""
        hushed(error, self.trial.secrets)
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
            return self._frames.feed(piece)
        self._document.append(piece)
        return []

    def _close(self) -> list[AnyEvent]:
        if self._document is None:
            return self._frames.close()
        body = b"".join(self._document)
        wire, dialect = self._target.wire, self._target.dialect
        document = document_of(self._target, self._sent(body), wire.RESPONSE)
        self.raw = body
        response, self._lost = wire.decode_response(
            document, request=self._request, dialect=dialect, now=int(time.time())
        )
        return disassemble(response)

    def _sent(self, body: bytes) -> Sent:
        answer = HttpAnswer(self.incoming.status, self.incoming.headers, body)
        return Sent(answer, self.trial.secrets, self.trial.attempts)
