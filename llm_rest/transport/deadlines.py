"""Timeouts of a call, and error mapping: from exceptions of sockets, TLS, parser and HTTP clients to errors of this library.

Nothing here waits: the connections wait as long as `left` allows. Before changing this file, know that exception classes are
recognised by name, because `httpx` and `httpx2` have the same tree, and that an error keeps text only, never the exception it
came from: its frames hold requests with their headers. The message has the peer (scheme, host, port, vendor), the timeout and
its seconds, and a suggestion.
"""

from __future__ import annotations

import time
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
from . import WHOLE, limit, total_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import Timeouts

_NEVER = float("inf")
_CLOCK_TOLERANCE = 0.95
"""The part of a timeout after which an HTTP client's timeout counts as ours: its clock started slightly later."""


class Deadline:
    """The time that is left for the current step, and the limit that ends it. `peer` names the other side in errors.

    For a stream the time between two waits does not count, and bytes without content do not end a stall.
    """

    def __init__(self, timeouts: Timeouts, peer: str = "the server", *, stream: bool = False) -> None:
        self.peer = peer
        self._started = self._wait_started = time.monotonic()
        self._stream = stream
        total = limit(timeouts.total, None if stream else WHOLE)
        stall = limit(timeouts.stall, None) if stream else None
        self._limits = {
            "connect": _or_never(limit(timeouts.connect, None)),
            "first_byte": _or_never(limit(timeouts.first_byte, stall)),
            "read": _or_never(limit(timeouts.read, None)),
            "stall": _or_never(stall),
            "total": _or_never(total_of(timeouts, total)),
        }
        self._step, self._step_end = "first_byte", _NEVER
        self._end = self._started + _or_never(total)
        self._stall_left = self._limits["stall"]
        self._rest_end = _NEVER
        self._for_client: dict[str, float | None] = {}

    def connect(self) -> None:
        """Begin to connect, DNS lookup and TLS handshake included."""
        self._step, self._step_end = "connect", time.monotonic() + self._limits["connect"]

    def connected(self) -> None:
        """The connection is established."""
        self._step, self._step_end = "first_byte", _NEVER

    def sent(self) -> None:
        """The request was sent: begin to wait for the head of the answer."""
        self._step_end = time.monotonic() + self._limits["first_byte"]

    def answered(self) -> None:
        """The head of the answer was received."""
        self._step_end = _NEVER

    def begin_wait(self) -> None:
        """Begin to wait for more of the body. Raises where a timeout has passed."""
        self._wait_started = now = time.monotonic()
        if self._step == "read" and self._stall_left < self._limits["read"]:
            self._step, self._step_end = "stall", now + self._stall_left
            if self._stall_left <= 0:
                raise timed_out(self, "stall")
        elif self._step == "read" or self._stream:
            # Some hosts send the head at once, and the first bytes of the body as late as other hosts send the head.
            self._step_end = now + self._limits[self._step]
        if now >= self._rest_end:
            raise timed_out(self, "read")
        self._step_end = min(self._step_end, self._rest_end)
        if self._stream:
            self._for_client["read"] = _for_client(self._until() - now)

    def received(self) -> None:
        """More of the body was received. Raises where a timeout has passed meanwhile."""
        if self._stream:
            self._step_end = _NEVER
            self._stall_left -= time.monotonic() - self._wait_started
        self.allowed()
        self._step, self._step_end = "read", _NEVER

    def progressed(self) -> None:
        """Content was received, not only a keep-alive."""
        self._stall_left = self._limits["stall"]

    def limit_rest(self, seconds: float | None) -> None:
        """Limit the waits for the rest of the answer to this many seconds in all; `None` removes this limit."""
        self._rest_end = _NEVER if seconds is None else time.monotonic() + seconds

    def _until(self) -> float:
        return min(self._end, self._step_end)

    def left(self) -> float | None:
        """Seconds until the nearest timeout, not above zero when it has passed; `None` without a timeout."""
        until = self._until()
        return None if until == _NEVER else until - time.monotonic()

    def allowed(self) -> float | None:
        """Seconds that a wait may take, `None` without a timeout. Raises where one has passed."""
        left = self.left()
        if left is not None and left <= 0:
            raise timed_out(self)
        return left

    @property
    def phase(self) -> str:
        """The name of the nearest timeout: `total`, or that of the step."""
        return "total" if self._end <= self._step_end else self._step

    def limit(self, phase: str) -> tuple[str, float]:
        """The name of the timeout that ends a phase, and its seconds."""
        # The pool has no timeout of its own, and an earlier one may end connecting in an HTTP client.
        if phase == "pool" or (phase == "connect" and self._until() <= time.monotonic()):
            phase = self.phase
        return phase, self._limits[phase]

    def passed(self, phase: str) -> bool:
        """Whether the timeout of a phase can have passed since the exchange began."""
        now = time.monotonic()
        return now >= self._end or now - self._started >= _CLOCK_TOLERANCE * self.limit(phase)[1]

    def for_client(self) -> dict[str, float | None]:
        """The timeouts for an HTTP client, each for a single wait. Later waits change them in place."""
        left = self._until() - time.monotonic()
        wait = _for_client(min(left, self._limits["first_byte"]))
        connect = _for_client(min(left, self._limits["connect"]))
        self._for_client.update(connect=connect, read=wait, write=wait, pool=wait)
        return self._for_client

    @property
    def connecting(self) -> bool:
        """Whether a connection is being made."""
        return self._step == "connect"


def _or_never(seconds: float | None) -> float:
    return _NEVER if seconds is None else seconds


def _for_client(seconds: float) -> float | None:
    # A timeout of zero would make a socket non-blocking, which raises another error.
    return None if seconds == _NEVER else max(seconds, 0.001)


TIMEOUT_MESSAGES = {
    "connect": "no connection to {peer} after {limit}; check the host and the network, or allow more time",
    "pool": "no connection became free for {peer} after {limit}; make fewer calls at once, or raise max_connections=",
    "first_byte": "no answer from {peer} after {limit}; allow more time if the model is loading or thinking",
    "read": "no bytes for {limit} from {peer}; check the network, or allow more time",
    "stall": "no content for {limit} from {peer}, keep-alives at most; make the call again, or allow more time",
    "total": "no complete answer from {peer} after {limit}; ask for less, or allow more time",
}
"""The error messages of timeouts, by phase."""


def timed_out(deadline: Deadline, phase: str | None = None) -> APITimeoutError:
    """The error for an expired timeout, in the current phase or in the given one."""
    phase = phase or deadline.phase
    text = TIMEOUT_MESSAGES[phase].format(peer=deadline.peer, limit=limit_text(*deadline.limit(phase)))
    return APITimeoutError(text, phase=phase)


def limit_text(name: str, seconds: float | None) -> str:
    """A timeout of `Timeouts` as text for errors, such as `60 s (Timeouts.read)`."""
    return "too long" if seconds in (None, _NEVER) else f"{seconds:g} s (Timeouts.{name})"


def map_error(problem: Exception, deadline: Deadline) -> LLMError:
    """Map an exception, at this moment of the exchange, to an error of this library."""
    if isinstance(problem, LLMError):
        return problem
    from ssl import SSLEOFError, SSLError, SSLSyscallError, SSLZeroReturnError  # not needed before an error

    names = [kind.__name__ for kind in type(problem).__mro__]
    peer, text = deadline.peer, _reason(problem)
    if "TimeoutException" in names:
        error = timed_out(deadline, {"ConnectTimeout": "connect", "PoolTimeout": "pool"}.get(names[0]))
        if not deadline.passed(error.phase):
            return APITimeoutError(f"the HTTP client stopped waiting for {peer}: {text}", phase=error.phase)
        return error
    if isinstance(problem, TimeoutError) and problem.errno is None:  # one with a number is a system error
        return timed_out(deadline)
    if "ProxyError" in names:
        return ProxyError(f"the proxy of the HTTP client failed for {peer}: {text}; check its address and password")
    connecting = "ConnectError" in names or (deadline.connecting and isinstance(problem, OSError))
    refusal = next((cause for cause in _causes(problem) if isinstance(cause, SSLError)), None)
    # A TLS error, not a broken connection. A server may reject a client certificate, or its absence, with an alert only
    # when it reads the request.
    broke = isinstance(refusal, SSLEOFError | SSLZeroReturnError | SSLSyscallError)
    if refusal and not broke and (connecting or "ALERT" in (refusal.reason or "")):
        advice = "check that the server expects TLS at this port, and tls="
        if getattr(refusal, "verify_message", None):
            advice = "check the certificate, and the authorities that tls= or SSL_CERT_FILE names"
        return TLSError(f"TLS with {peer} failed: {refusal}; {advice}")
    if connecting:
        return _connect_error(problem, f"cannot connect to {peer}: {text}; ")
    if isinstance(problem, OSError) or not {"NetworkError", "ClosedResourceError"}.isdisjoint(names):
        return ConnectError(f"the connection to {peer} broke: {text}; check the network, and the log of the server")
    if "RemoteProtocolError" in names:
        too_large = getattr(problem, "error_status_hint", None) == 431  # the next attempt would fail in the same way
        text = text.partition(": bytearray(")[0]  # the received bytes may repeat the request, with its secrets
        return ProtocolError(f"no complete HTTP answer from {peer}: {text}", retryable=False if too_large else None)
    if names[0] in ("LocalProtocolError", "UnsupportedProtocol", "InvalidURL", "UnicodeEncodeError"):
        return ConfigError(f"the request cannot be sent: {text}")
    if isinstance(problem, RuntimeError) and "closed" in text:
        return ClientClosedError("the HTTP client passed as http= is closed")
    return APIConnectionError(f"the exchange with {peer} failed: {names[0]}: {text}")


def _connect_error(problem: Exception, text: str) -> ConnectError:
    from errno import EMFILE, ENFILE
    from socket import gaierror

    for cause in _causes(problem):
        if isinstance(cause, ConnectionRefusedError):
            return ConnectError(f"{text}is it running?", reason="refused")
        if isinstance(cause, gaierror):
            return ConnectError(f"{text}check the name of the host", reason="name")
    if getattr(problem, "errno", None) in (EMFILE, ENFILE):
        return ConnectError(f"{text}close files and streams that are not used")
    return ConnectError(f"{text}check the host, the port and the network")


def _reason(problem: BaseException) -> str:
    """The system's message without the error number, else the message of the exception."""
    from errno import errorcode
    from os import strerror
    from socket import gaierror
    from ssl import SSLError

    for cause in _causes(problem):
        if isinstance(cause, OSError) and isinstance(text := cause.strerror, str) and text:
            if cause.errno is not None and cause.errno in errorcode and not isinstance(cause, gaierror | SSLError):
                text = strerror(cause.errno)  # event loops prepend text to it
            return text[0].lower() + text[1:] if text[1:2].islower() else text
    return str(problem) or type(problem).__name__


def _causes(problem: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = problem
    for _ in range(10):
        if cause is not None:
            yield cause
            # Of several addresses tried at once, the first failure is reported.
            (inner, *_) = getattr(cause, "exceptions", None) or (None,)
            cause = inner or cause.__cause__ or cause.__context__
