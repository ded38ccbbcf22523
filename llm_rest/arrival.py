"""The events in the body of an answer, as its bytes arrive, or what is wrong with it.

A body may be no stream although one was asked for: a whole answer or an error as one document, a page of HTML, nothing. Before
changing this file, know that how a body begins says what it is; its content type says it wrong too often.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .answers import Sent, document_of, failure, hushed, malformed
from .errors import (
    APIConnectionError,
    APITimeoutError,
    DecodeError,
    LLMError,
    MalformedResponseError,
    ResponseTooLargeError,
    StreamInterruptedError,
)
from .responses import events as ev
from .responses.assemble import Assembler, disassemble
from .streams import StreamReader
from .transport import HTTPAnswer
from .unknown import Unknown
from .wires import long_wire

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

LINGER = 2.0
"""How long counts and sources are waited for behind the end of an answer, where a server keeps its body open."""

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
        "_continues",
        "_document",
        "_fault",
        "_frames",
        "_lingers",
        "_lost",
        "_request",
        "_start",
        "_target",
        "ended",
        "incoming",
        "raw",
        "trial",
    )

    def __init__(
        self, target: Target, request: Request, incoming: Incoming, trial: Trial, frames: StreamReader | None = None
    ) -> None:
        """`frames` has read what came before of a long answer."""
        self.incoming = incoming
        self.trial = trial
        self.ended = False
        self.raw = b""
        self._target = target
        self._request = request
        self._continues = frames is not None
        self._frames = frames or StreamReader(target.wire, request=request, now=int(time.time()), **target.decoding)
        self._document: list[bytes] | None = None
        self._start = b""
        self._any = False
        self._begun: list[AnyEvent] | None = None
        self._fault: LLMError | None = None
        self._lost: list[Loss] = []
        self._lingers = False

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far."""
        return [*self.trial.losses, *(self._lost or self._frames.losses)]

    @property
    def frames(self) -> StreamReader:
        """What reads the body, and the bodies of a long answer's later hops."""
        return self._frames

    async def begin(self, *, whole: bool = False) -> LLMError | None:
        """Wait for the first event that brings something of the answer, or for the last one of a `whole` answer.

        The error where none came. `more` tells both later.
        """
        begun: list[AnyEvent] = []
        self._begun = begun
        try:
            while not self.ended:
                events = await self._next()
                begun += events
                for event in events:
                    if isinstance(event, FAILURES):
                        return self._failure(begun)
                    if isinstance(event, ev.TERMINAL) or not (whole or isinstance(event, NO_PROGRESS)):
                        return None
            return self.cut() if self._frames.checkpoint() is None else None
        except LLMError as problem:
            self.ended = False  # the error is still to be raised
            self._fault = problem
        if self._frames.checkpoint() is not None:
            return None  # the answer is resumed instead
        if isinstance(self._fault, StreamInterruptedError):
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
                    self.incoming.progressed()
            return events
        raise fault

    def _linger(self, events: list[AnyEvent]) -> None:
        """Wait no longer than a moment for what follows the end that was told; keep-alives make it no longer."""
        finished = self._frames.finished
        if finished and (events or not self._lingers):
            self.incoming.linger(LINGER)
        elif self._lingers and not finished:
            self.incoming.linger(None)
        self._lingers = finished

    async def _read(self) -> bytes | None:
        """The next bytes. Once the end was told, whatever stops more from coming is the end of the body."""
        try:
            return await self.incoming.read()
        except (APIConnectionError, ResponseTooLargeError):
            if not self._frames.finished:
                raise
            return None

    def cut(self) -> LLMError:
        """The error for a body that ended before its last event came."""
        if self._any:
            what = f"the stream from {self.incoming.peer} ended before its last event; make the call again"
            return StreamInterruptedError(what, retryable=self._begun is not None)
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
            return self._frames.close() if self._frames.checkpoint() is None else []
        body = b"".join(self._document)
        wire = self._target.wire
        document = document_of(self._target, self._sent(body), wire.RESPONSE)
        self.raw = body
        long = long_wire(wire)
        if self._continues or (long is not None and long.goes_on(document)):
            events = self._frames.document(document)
            return events + (self._frames.close() if self._frames.checkpoint() is None else [])
        response, self._lost = wire.decode_response(
            document, request=self._request, now=int(time.time()), **self._target.decoding
        )
        return disassemble(response)

    def _sent(self, body: bytes) -> Sent:
        answer = HTTPAnswer(self.incoming.status, self.incoming.headers, body)
        return Sent(answer, self.trial.secrets, self.trial.attempts)
