"""An exception of sockets, TLS, the parser or an HTTP client as one of ours.

Classes are told by name, because `httpx` and `httpx2` spell the same tree. The result keeps text only, never the exception
it came from: its frames hold requests with their headers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import (
    APIConnectionError,
    APITimeoutError,
    ClientClosedError,
    ConfigError,
    ConnectError,
    LLMError,
    ProtocolError,
    ProxyError,
    TLSError,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    from .deadlines import Deadline

PHASES = {"ConnectTimeout": "connect", "PoolTimeout": "pool"}
"""What was waited for when a timeout of that name passed; any other is a wait for the answer."""

WAITED_FOR = {
    "connect": "connecting took too long",
    "pool": "no connection became free in time",
    "first_byte": "the answer did not begin in time",
    "read": "the stream went silent",
    "stall": "the stream brought nothing but keep-alives for too long",
    "total": "the call took too long",
}


def timed_out(phase: str) -> APITimeoutError:
    """The error for a deadline that passed."""
    return APITimeoutError(WAITED_FOR[phase], phase=phase)


def as_ours(problem: Exception, deadline: Deadline) -> LLMError:
    """The error of ours that `problem` is, at this moment of the exchange."""
    if isinstance(problem, LLMError):
        return problem
    import ssl  # not needed before something fails

    names = [kind.__name__ for kind in type(problem).__mro__]
    text = str(problem) or names[0]
    if "TimeoutException" in names or isinstance(problem, TimeoutError):
        return timed_out(PHASES.get(names[0], deadline.phase))
    if "ProxyError" in names:
        return ProxyError(f"the proxy: {text}")
    connecting = deadline.connecting or "ConnectError" in names
    refusal = next((cause for cause in _causes(problem) if isinstance(cause, ssl.SSLError)), None)
    if refusal is not None and _is_verdict(refusal, connecting=connecting):
        return TLSError(f"TLS: {refusal}")
    if connecting and ("ConnectError" in names or isinstance(problem, OSError)):
        return ConnectError(f"cannot connect: {text}")
    if isinstance(problem, OSError) or not {"NetworkError", "ClosedResourceError"}.isdisjoint(names):
        return ConnectError(f"the connection broke: {text}")
    if "RemoteProtocolError" in names:
        too_large = (
            getattr(problem, "error_status_hint", None) == 431
        )  # a limit of ours, which the next one passes as well
        text = text.partition(": bytearray(")[0]  # what came may repeat what was sent
        return ProtocolError(text, retryable=False if too_large else None)
    if names[0] in ("LocalProtocolError", "UnsupportedProtocol", "InvalidURL", "UnicodeEncodeError"):
        return ConfigError(f"the request cannot be sent: {text}")
    if isinstance(problem, RuntimeError) and "closed" in text:
        return ClientClosedError("the HTTP client given as http= is closed")
    return APIConnectionError(f"{names[0]}: {text}")


def _is_verdict(refusal: ssl.SSLError, *, connecting: bool) -> bool:
    """Whether TLS failed for a reason that another attempt does not change, and not because the connection broke.

    A server may refuse a client's certificate, or the lack of one, when it reads the request: that comes as an alert.
    """
    import ssl

    if isinstance(refusal, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError):
        return False
    return connecting or "ALERT" in (refusal.reason or "")


def _causes(problem: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = problem
    for _ in range(10):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__
