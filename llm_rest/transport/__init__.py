"""HTTP transport: sends one request and returns its answer, whole or streamed, for sync and async callers by the same code.

A call is written once as a coroutine over `exchange.Transport`; `sync.py` runs it for sync callers, whose transport never
suspends, so no thread and no event loop is involved. Nothing here depends on vendors or wires. Before changing this package,
know that importing it loads neither sockets nor an event loop: a new client imports `blocking` or `asynchronous`.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from ..errors import ConfigError, LLMError

if TYPE_CHECKING:
    from types import TracebackType

WHOLE = 600.0
"""The default total timeout of a call for a whole answer, in seconds."""


class Hidden(Protocol):
    """A secret header value, which is unwrapped only while the request is written."""

    def reveal(self) -> str: ...


class HTTPRequest(Struct, frozen=True):
    """A request as bytes. Its repr shows neither headers nor body, because tracebacks are recorded with local variables."""

    method: str
    url: str
    headers: Mapping[str, str | Hidden]
    body: bytes = b""
    stream: bool = False
    """Whether it requests a stream; used only by in-process servers."""
    vendor: str = ""
    """The vendor, for errors."""

    def __repr__(self) -> str:
        return f"<{self.method} {self.url}, {len(self.body)} bytes>"


class HTTPAnswer(Struct, frozen=True):
    """A complete HTTP answer, decompressed. Header names are lower case; repeated headers are joined with commas."""

    status: int
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"<{self.status}, {len(self.body)} bytes>"


class Timeouts(Struct, frozen=True, kw_only=True):
    """The timeouts of a call, in seconds. `"none"` is no limit, `None` is the default.

    When one expires, `APITimeoutError` is raised and names it in `phase`.

    Most vendors send the head of a whole answer only when it is complete, so for those `first_byte` is unlimited unless
    it is given; for streams its default is in the vendor's row. The caller's own time between two waits does not count.
    Raises `ConfigError` for anything else than a positive number or `"none"`.
    """

    connect: float | Literal["none"] | None = 10.0
    """The connect timeout: seconds for one attempt to connect."""
    first_byte: float | Literal["none"] | None = None
    """Seconds from the end of the request to the first bytes of the answer."""
    read: float | Literal["none"] | None = 60.0
    """The read timeout: the longest time without any byte, once the answer has begun."""
    stall: float | Literal["none"] | None = 600.0
    """The stall timeout: the longest time of a stream without content; keep-alives count as bytes, not as content."""
    total: float | Literal["none"] | None = None
    """The total timeout of the call with all attempts: 600 for a whole answer and unlimited for a stream, unless given."""

    def __post_init__(self) -> None:
        for name, default in zip(self.__struct_fields__, self.__struct_defaults__, strict=True):
            value: object = getattr(self, name)
            if value is None:
                force_setattr(self, name, default)
            elif value != "none" and not is_duration(value):
                raise ConfigError(f'timeout {name} must be a positive number of seconds or "none", not {value!r}')


def limit(value: float | Literal["none"] | None, usual: float | None) -> float | None:
    """The seconds of a timeout; `usual` where it is not given, and `None` for no limit."""
    return usual if value is None else None if value == "none" else value


class Remaining(Timeouts, frozen=True, kw_only=True):
    """The remaining timeouts of a call in progress: `total` is the rest of the `whole`, which errors name."""

    whole: float | None = None


def remaining(timeouts: Timeouts, total: float | None, started: float) -> Timeouts:
    """The remaining timeouts of a call that may take `total` seconds since `started`, a time of `time.monotonic`."""
    if total is None:
        return replace(timeouts, total="none")
    whole = timeouts.whole if isinstance(timeouts, Remaining) else total
    limits = {name: getattr(timeouts, name) for name in Timeouts.__struct_fields__}
    return Remaining(**{**limits, "total": max(total - (time.monotonic() - started), 0.001), "whole": whole})


def total_of(timeouts: Timeouts, otherwise: float | None) -> float | None:
    """The total timeout of the whole call, without subtracting elapsed time; `otherwise` where it is not given."""
    return timeouts.whole if isinstance(timeouts, Remaining) else limit(timeouts.total, otherwise)


def is_duration(value: object) -> bool:
    """Whether `value` is a positive, finite number of seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and math.isfinite(value)


class Stopped(BaseException):
    """Ends the waits of a thread whose call was stopped (cancellation). Handled inside this package."""


class Call(ABC):
    """A cancellable call in flight: `stop` ends it from outside, as `client.cancel()` does.

    Use it in a `with` around every wait of the call. The `with` suppresses the errors that `stop` causes. No stop is
    missed: `stop` first sets `stopped` and then wakes the call, while every wait first sets how to wake it and then
    checks `stopped`. Native cancellation passes through untouched.
    """

    def __init__(self) -> None:
        self.stopped = False
        """Whether it was stopped."""
        self.trial: Any = None
        """The request in flight, set by the client."""
        self.watch: Any = None
        """The watched call for event hooks, set by the client; `None` without watchers."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> bool: ...

    @abstractmethod
    def stop(self) -> None:
        """Cancel it, from any thread."""

    def _ended_by(self, problem: BaseException | None) -> bool:
        # Waking it may close its connection, which raises another error.
        return self.stopped and isinstance(problem, Stopped | LLMError)
