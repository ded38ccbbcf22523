"""An exception of sockets, TLS, the parser or an HTTP client as one of ours, and the texts of all errors of the transport.

Classes are told by name, because `httpx` and `httpx2` spell the same tree. The result keeps text only, never the exception
it came from: its frames hold requests with their headers. A text names the peer (scheme, host, port and vendor), the limit
and its seconds where one passed, and what to try; `suggestions.py` has the longer advice.
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

LATE = {
    "connect": "no connection to {peer} after {limit}; check the host and the network, or allow more time",
    "pool": "no connection became free for {peer} after {limit}; make fewer calls at once, or raise max_connections=",
    "first_byte": "no answer from {peer} after {limit}; allow more time if the model is loading or thinking",
    "read": "no bytes for {limit} from {peer}; check the network, or allow more time",
    "stall": "no content for {limit} from {peer}, keep-alives at most; make the call again, or allow more time",
    "total": "no complete answer from {peer} after {limit}; ask for less, or allow more time",
}
"""What a limit that passed means, by the phase it passed in."""


def timed_out(deadline: Deadline, phase: str | None = None) -> APITimeoutError:
    """The error for a deadline that passed, in the phase at hand or the one given."""
    phase = phase or deadline.phase
    return APITimeoutError(
        LATE[phase].format(peer=deadline.peer, limit=limit_text(*deadline.limit(phase))), phase=phase
    )


def limit_text(name: str, seconds: float | None) -> str:
    """A limit of `Timeouts` as it is written in errors, such as `60 s (Timeouts.read)`."""
    return "too long" if seconds is None else f"{seconds:g} s (Timeouts.{name})"


def proxy_refused(proxy: str, variable: str, status: int, *, unauthorized: bool) -> ProxyError:
    """The error for the status with which a proxy refused; `variable` of the environment named it."""
    return ProxyError(
        f"{proxy} refused with status {status}",
        status=status,
        retryable=status >= 500,
        hint=f"look at the user and password in {variable}" if unauthorized else None,
    )


def as_ours(problem: Exception, deadline: Deadline) -> LLMError:
    """The error of ours that `problem` is, at this moment of the exchange."""
    if isinstance(problem, LLMError):
        return problem
    import ssl  # not needed before something fails

    names = [kind.__name__ for kind in type(problem).__mro__]
    peer, text = deadline.peer, _said(problem)
    if "TimeoutException" in names:
        error = timed_out(deadline, PHASES.get(names[0]))
        if not deadline.passed(error.phase):
            return APITimeoutError(f"the HTTP client stopped waiting for {peer}: {text}", phase=error.phase)
        return error
    if isinstance(problem, TimeoutError) and problem.errno is None:  # one with a number is the system's
        return timed_out(deadline)
    if "ProxyError" in names:
        return ProxyError(f"the proxy of the HTTP client failed for {peer}: {text}; check its address and password")
    connecting = deadline.connecting or "ConnectError" in names
    refusal = next((cause for cause in _causes(problem) if isinstance(cause, ssl.SSLError)), None)
    if refusal is not None and _is_verdict(refusal, connecting=connecting):
        return TLSError(f"TLS with {peer} failed: {refusal}; {_about_tls(refusal)}")
    if connecting and ("ConnectError" in names or isinstance(problem, OSError)):
        return _unconnected(problem, peer, text)
    if isinstance(problem, OSError) or not {"NetworkError", "ClosedResourceError"}.isdisjoint(names):
        return ConnectError(f"the connection to {peer} broke: {text}; check the network, and the log of the server")
    if "RemoteProtocolError" in names:
        too_large = (
            getattr(problem, "error_status_hint", None) == 431
        )  # a limit of ours, which the next one passes as well
        text = text.partition(": bytearray(")[0]  # what came may repeat what was sent
        return ProtocolError(f"no complete HTTP answer from {peer}: {text}", retryable=False if too_large else None)
    if names[0] in ("LocalProtocolError", "UnsupportedProtocol", "InvalidURL", "UnicodeEncodeError"):
        return ConfigError(f"the request cannot be sent: {text}")
    if isinstance(problem, RuntimeError) and "closed" in text:
        return ClientClosedError("the HTTP client given as http= is closed")
    return APIConnectionError(f"the exchange with {peer} failed: {names[0]}: {text}")


def _unconnected(problem: Exception, peer: str, text: str) -> ConnectError:
    from errno import EMFILE, ENFILE
    from socket import gaierror

    for cause in _causes(problem):
        if isinstance(cause, ConnectionRefusedError):
            return ConnectError(f"cannot connect to {peer}: {text}; is it running?", reason="refused")
        if isinstance(cause, gaierror):
            return ConnectError(f"cannot connect to {peer}: {text}; check the name of the host", reason="name")
    full = getattr(problem, "errno", None) in (EMFILE, ENFILE)
    advice = "close files and streams that are not used" if full else "check the host, the port and the network"
    return ConnectError(f"cannot connect to {peer}: {text}; {advice}")


def _about_tls(refusal: ssl.SSLError) -> str:
    if getattr(refusal, "verify_message", None):
        return "check the certificate, and the authorities that tls= or SSL_CERT_FILE names"
    return "check that the server expects TLS at this port, and tls="


def _is_verdict(refusal: ssl.SSLError, *, connecting: bool) -> bool:
    """Whether TLS failed for a reason that another attempt does not change, and not because the connection broke.

    A server may refuse a client's certificate, or the lack of one, when it reads the request: that comes as an alert.
    """
    import ssl

    if isinstance(refusal, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError):
        return False
    return connecting or "ALERT" in (refusal.reason or "")


def _said(problem: BaseException) -> str:
    """What the system said, without the number of its error, else what the exception says."""
    from errno import errorcode
    from os import strerror
    from socket import gaierror
    from ssl import SSLError

    for cause in _causes(problem):
        if isinstance(cause, OSError) and isinstance(text := cause.strerror, str) and text:
            if cause.errno is not None and cause.errno in errorcode and not isinstance(cause, gaierror | SSLError):
                text = strerror(cause.errno)  # event loops write longer ones
            return text[0].lower() + text[1:] if text[1:2].islower() else text
    return str(problem) or type(problem).__name__


def _causes(problem: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = problem
    for _ in range(10):
        if seen is None:
            return
        yield seen
        # Where several addresses were tried at once, the first failure stands for all.
        (inner, *_) = getattr(seen, "exceptions", None) or (None,)
        seen = inner or seen.__cause__ or seen.__context__
