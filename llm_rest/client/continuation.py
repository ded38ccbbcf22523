"""Long answers that a vendor sends in several hops: the request of the next hop, and its time limit.

A hop ends, or a stream breaks off, at a token; the same request with that token continues there. The wire defines the
place of the token (`LongWire`). Before changing this file, know that a hop is billed like any request, that one
deadline covers all hops, and that a connection that breaks again and again without a new token ends the call.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ..errors import APIConnectionError, APITimeoutError
from ..responses.stream import Assembler
from ..transport import limit, remaining
from ..wires import long_wire
from .events import StreamReader

if TYPE_CHECKING:
    from ..errors import LLMError
    from ..losses import Loss
    from ..responses.events import AnyEvent
    from ..responses.request import Request
    from ..responses.response import Response
    from ..transport import Timeouts
    from .target import OutgoingRequest, Target

RECONNECTS = 3
"""How often a stream is resumed at the same token."""


class Parts:
    """A long answer in several whole documents: `add` each of them; `response` is all of them joined."""

    def __init__(self, target: Target, request: Request) -> None:
        self._reader = StreamReader(target.wire, request=request, now=int(time.time()), **target.decoding)
        self._seen = Assembler()
        self._any = False

    @property
    def losses(self) -> list[Loss]:
        """The conversion losses."""
        return self._reader.losses

    def add(self, document: Any) -> str | None:
        """Add the next part, and return the token of the part after it."""
        if self._any:
            self._reader.resume()
        self._any = True
        self._take(self._reader.document(document))
        return self._reader.checkpoint()

    def response(self) -> Response:
        """The whole answer, or the parts received so far."""
        self._take(self._reader.close())
        return self._seen.response

    def _take(self, events: list[AnyEvent]) -> None:
        for event in events:
            self._seen.feed(event)


class Hop(NamedTuple):
    """The request for the next part of an answer, and its timeout."""

    outgoing: OutgoingRequest
    timeouts: Timeouts


class Hops:
    """The hops of one answer. `timeouts` are those of the whole call; `count` is how many requests have brought parts of it."""

    def __init__(
        self, target: Target, timeouts: Timeouts, outgoing: OutgoingRequest, started: float | None = None
    ) -> None:
        self.count = 1
        self._wire = long_wire(target.wire)
        self._timeouts = timeouts
        self._outgoing = outgoing
        self._started = time.monotonic() if started is None else started
        self._token = ""
        self._reconnects = 0

    def next(self, token: str | None) -> Hop | None:
        """The hop that begins at a token; `None` without a token, or after too many hops at the same one."""
        if self._wire is None or token is None:
            return None
        self._reconnects = self._reconnects + 1 if token == self._token else 0
        if self._reconnects > RECONNECTS:
            return None
        self._token = token
        self.count += 1
        body = self._wire.continued(self._outgoing.body, token)
        total = self._timeouts.total
        limits = self._timeouts if total is None else remaining(self._timeouts, limit(total, None), self._started)
        return Hop(replace(self._outgoing, body=body), limits)


def is_resumable(problem: LLMError) -> bool:
    """Whether an answer that ended with this error can be resumed: a broken or silent connection, with time left."""
    return isinstance(problem, APIConnectionError) and not (
        isinstance(problem, APITimeoutError) and problem.phase == "total"
    )
