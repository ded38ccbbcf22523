"""One request that is under way: who is told of it, and what is remembered of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from .errors import Attempt
from .observers import EventHook, RequestCancelled, RequestEnd, RequestStart, notify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .auth import Secret
    from .errors import LLMError
    from .losses import Loss
    from .target import Target


CANCELLED = "cancelled"
"""The outcome of a request that was given up."""


class Trial:
    """One request from the moment it is sent. It tells event hooks of its beginning and its end, and becomes an `Attempt`.

    `secrets` is what was sent that an answer must not show; `attempts` are those before it, and itself as far as it has come;
    `losses` is what it leaves out because the vendor refused it in an earlier one.
    """

    __slots__ = ("_clock", "_earlier", "_ended", "_event_hooks", "_first", "_started", "_target", "losses", "secrets")

    def __init__(
        self,
        target: Target,
        event_hooks: tuple[EventHook, ...],
        *,
        method: str,
        url: str,
        secrets: Mapping[str, str | Secret],
        earlier: tuple[Attempt, ...] = (),
        losses: Sequence[Loss] = (),
    ) -> None:
        self.secrets = secrets
        self.losses = losses
        self._target = target
        self._event_hooks = event_hooks
        self._earlier = earlier
        self._ended: Attempt | None = None
        self._first: float | None = None
        self._tell(RequestStart, method=method, url=url)
        self._started, self._clock = time.time(), time.perf_counter()

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts so far, this one with them."""
        return (*self._earlier, self._ended or Attempt(self._started, self._took(), "under way"))

    def began(self) -> None:
        """The first event of a stream is there."""
        if self._first is None:
            self._first = self._took()

    def end(self, status: int | None, error: LLMError | None = None) -> tuple[Attempt, ...]:
        """The request has ended with an answer, or with an error; the attempts with it.

        It ends once; an answer that turns out to be none later changes only how the attempt is remembered.
        """
        kind = error.kind if error else None
        if self._ended is not None and self._ended.outcome != CANCELLED and kind is not None:
            self._ended = replace(self._ended, outcome=kind)
        if self._ended is None:
            took = self._took()
            self._ended = Attempt(self._started, took, kind or str(status))
            self._tell(RequestEnd, seconds=took, status=status, error=kind, first_event=self._first)
        return self.attempts

    def cancel(self) -> tuple[Attempt, ...]:
        """The request, or the wait after it, was cancelled; the attempts with it."""
        took = self._took()
        if self._ended is None:
            self._ended = Attempt(self._started, took, CANCELLED)
        self._tell(RequestCancelled, seconds=took)
        return self.attempts

    def _took(self) -> float:
        return time.perf_counter() - self._clock

    def _tell(self, event: type[RequestStart | RequestEnd | RequestCancelled], **facts: Any) -> None:
        if self._event_hooks:
            target = self._target
            facts |= {"vendor": target.vendor, "model": target.model, "wire": target.endpoint.wire}
            notify(self._event_hooks, event(**facts))
