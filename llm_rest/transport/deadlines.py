"""The time limits of a call, and the exceptions of sockets, TLS, parser and HTTP clients as errors of this library.

Nothing here waits: the connections wait for as long as `left` gives them. Before changing this file, know that exception
classes are recognised by name, because `httpx` and `httpx2` have the same tree, and that an error keeps text only, never the
exception it came from: its frames hold requests with their headers. The text names the peer (scheme, host, port, vendor), the
limit and its seconds, and what to try.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Literal

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
    import ssl
    from collections.abc import Iterator

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
