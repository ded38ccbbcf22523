"""How long an exchange may still take, step by step. Nothing here waits: the connections do, for as long as `left` says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Literal

from . import WHOLE, limit, total_of
from .problems import timed_out

if TYPE_CHECKING:
    from . import Timeouts

_FOREVER = float("inf")
_ROUNDED = 0.95
"""How much of a limit has passed when an HTTP client may say that it has: its clock began a little later."""


def _or_forever(seconds: float | Literal["none"] | None) -> float:
    lasts = limit(seconds, None)
    return _FOREVER if lasts is None else lasts


class Deadline:
    """How long the step at hand may still take, and which limit it is that ends it. `peer` is the other side in errors."""

    __slots__ = (
        "_begun",
        "_connect",
        "_end",
        "_first_byte",
        "_limits",
        "_read",
        "_step",
        "_step_end",
        "_whole",
        "peer",
    )

    def __init__(self, timeouts: Timeouts, peer: str = "the server") -> None:
        self.peer = peer
        self._begun = time.monotonic()
        self._connect = limit(timeouts.connect, None)
        self._first_byte = limit(timeouts.first_byte, None)
        self._read = _or_forever(timeouts.read)
        self._step = "first_byte"
        self._step_end = _FOREVER
        total = limit(timeouts.total, self._otherwise)
        self._end = _FOREVER if total is None else self._begun + total
        self._whole = total_of(timeouts, total)
        self._limits: dict[str, float | None] = {}

    _otherwise: ClassVar[float | None] = WHOLE
    """The total where none is given."""

    def connect(self) -> None:
        """A connection is made, names looked up and encryption agreed on included."""
        self._step = "connect"
        self._step_end = _FOREVER if self._connect is None else time.monotonic() + self._connect

    def connected(self) -> None:
        """The connection is there."""
        self._step, self._step_end = "first_byte", _FOREVER

    def sent(self) -> None:
        """The request is out: the wait for the head of the answer begins."""
        if self._first_byte is not None:
            self._step_end = time.monotonic() + self._first_byte

    def answered(self) -> None:
        """The head of the answer is there."""
        self._step_end = _FOREVER

    def wait(self) -> None:
        """More of the body is waited for. Raises where that is no longer allowed."""
        if self._step == "read":
            self._step_end = time.monotonic() + self._read

    def came(self) -> None:
        """More of the body came. Raises where the limit has passed meanwhile."""
        self.allowed()
        self._step, self._step_end = "read", _FOREVER

    def progressed(self) -> None:
        """What came was more than a keep-alive."""

    def linger(self, seconds: float | None) -> None:
        """All that matters came: what may follow is waited for no longer than this, unless more of the answer comes."""

    def hurry(self, seconds: float) -> None:
        """What remains is worth no more than `seconds`."""
        self._end = min(self._end, time.monotonic() + seconds)

    def left(self) -> float | None:
        """Seconds until the nearer limit, not above zero when it has passed; `None` without a limit."""
        until = min(self._end, self._step_end)
        return None if until == _FOREVER else until - time.monotonic()

    def allowed(self) -> float | None:
        """Seconds that a wait may take, `None` without a limit. Raises where one has passed."""
        left = self.left()
        if left is not None and left <= 0:
            raise timed_out(self)
        return left

    @property
    def connecting(self) -> bool:
        """Whether a connection is being made."""
        return self._step == "connect"

    @property
    def phase(self) -> str:
        """The nearer limit: `total`, or that of the step."""
        return "total" if self._end <= self._step_end else self._step

    def limit(self, phase: str) -> tuple[str, float | None]:
        """The name of the limit that ends a phase, and its seconds."""
        left = self.left()
        if phase == "pool" or (phase == "connect" and left is not None and left <= 0):
            phase = (
                self.phase
            )  # there is none for the first alone, and a nearer one may end the second in an HTTP client
        limits = {"connect": self._connect, "first_byte": self._first_byte, "read": _seconds(self._read)}
        return phase, self._whole if phase == "total" else limits[phase]

    def passed(self, phase: str) -> bool:
        """Whether the limit of a phase can have passed since the exchange began."""
        _, seconds = self.limit(phase)
        waited = time.monotonic() - self._begun
        return time.monotonic() >= self._end or (seconds is not None and waited >= _ROUNDED * seconds)

    def for_client(self) -> dict[str, float | None]:
        """The limits as the HTTP client takes them: for each single wait. A later wait may change them."""
        left = self.left()
        wait = _nearer(left, self._first_byte)
        self._limits.update(connect=_nearer(left, self._connect), read=wait, write=wait, pool=wait)
        return self._limits


class StreamDeadline(Deadline):
    """The same where an answer comes as a stream: each wait for more is limited, and not the time between two."""

    __slots__ = ("_linger_end", "_since", "_stall", "_stall_left")

    _otherwise = None

    def __init__(self, timeouts: Timeouts, peer: str = "the server") -> None:
        super().__init__(timeouts, peer)
        if timeouts.first_byte is None:
            self._first_byte = limit(timeouts.stall, None)
        self._stall = self._stall_left = _or_forever(timeouts.stall)
        self._since = 0.0
        self._linger_end = _FOREVER

    def limit(self, phase: str) -> tuple[str, float | None]:
        return (phase, _seconds(self._stall)) if phase == "stall" else super().limit(phase)

    def wait(self) -> None:
        self._since = time.monotonic()
        patience = self._read
        if self._step == "first_byte":
            # Hosts that send the head at once are silent after it for as long as others are before.
            patience = _FOREVER if self._first_byte is None else self._first_byte
        elif self._stall_left < patience:
            self._step, patience = "stall", self._stall_left
            if patience <= 0:
                raise timed_out(self, "stall")  # keep-alives came until no patience was left
        self._step_end = min(self._since + patience, self._linger_end)
        if self._since >= self._linger_end:
            raise timed_out(self, "read")  # keep-alives came until nothing was waited for any more
        self._limits["read"] = _nearer(self.left(), None)

    def came(self) -> None:
        self._step, self._step_end = "read", _FOREVER
        self._stall_left -= time.monotonic() - self._since
        super().came()

    def progressed(self) -> None:
        self._stall_left = self._stall

    def linger(self, seconds: float | None) -> None:
        self._linger_end = _FOREVER if seconds is None else time.monotonic() + seconds


def _seconds(limit: float) -> float | None:
    return None if limit == _FOREVER else limit


def _nearer(left: float | None, limit: float | None) -> float | None:
    if left is None:
        return limit
    # Zero would mean "do not wait" to a socket, which is another kind of failure.
    return max(left if limit is None or left < limit else limit, 0.001)
