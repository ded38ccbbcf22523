"""TLS: whom a connection trusts and who it says it is, and the encryption itself over any stream.

The encryption is written once for threads and tasks, over `ssl.MemoryBIO`. Before changing this file, know that the end of
a stream counts only when the other side says it (`close_notify`): anything else may be an attacker's cut.
"""

from __future__ import annotations

import os
import ssl
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ..errors import ConfigError
from .sockets import READ_AT_ONCE, write_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from .deadlines import Deadline
    from .sockets import Stream


class TLS(Struct, frozen=True, kw_only=True):
    """The TLS configuration of a client: trusted authorities and a client certificate, as paths.

    For a private key with a password, pass an `ssl.SSLContext` as `tls=` instead.
    """

    ca: str | os.PathLike[str] | None = None
    """A PEM file or a folder of certificate authorities to trust instead of the usual ones; `None` for those."""
    cert: str | os.PathLike[str] | None = None
    """A PEM file with the client's certificate and its chain (mutual TLS); `None` for no client certificate."""
    key: str | os.PathLike[str] | None = None
    """A PEM file with the client's private key, without a password; `None` where it is in the file of `cert`."""


TLSOption = TLS | str | os.PathLike[str] | ssl.SSLContext
"""What `tls=` takes: `TLS(...)`, the path of the authorities alone, or an `ssl.SSLContext` that is used as it is."""


def context_of(option: object) -> ssl.SSLContext:
    """The TLS configuration for `tls=`, made once per process. Raises `ConfigError` for an unusable file."""
    if isinstance(option, ssl.SSLContext):
        return option
    if isinstance(option, str | os.PathLike):
        option = TLS(ca=cast("str | os.PathLike[str]", option))
    if not isinstance(option, TLS):
        raise ConfigError(f"tls= takes a path, TLS(...) or an ssl.SSLContext, not a {type(option).__name__}")
    if option.key is not None and option.cert is None:
        raise ConfigError("tls: a key goes with a certificate", hint="give cert= too")
    return _context(_stamp("tls ca", option.ca), _stamp("tls cert", option.cert), _stamp("tls key", option.key))


def usual_context() -> ssl.SSLContext:
    """The TLS configuration where nobody asks for another: `SSL_CERT_FILE` and `SSL_CERT_DIR`, else certifi's authorities."""
    file, folder = (os.environ.get(name) or None for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return _usual(_stamp("SSL_CERT_FILE", file), _stamp("SSL_CERT_DIR", folder))


# --- contexts, one for each configuration ----------------------------------------------------------------------------

_Stamped = tuple[str, str, int] | None
"""What a path is for, the path, and when it was last written: one written anew is read anew, by new clients."""


def _stamp(what: str, path: str | os.PathLike[str] | None) -> _Stamped:
    if path is None:
        return None
    try:
        return what, os.fspath(path), Path(path).stat().st_mtime_ns
    except OSError as problem:
        text = problem.strerror
    raise _unusable(what, os.fspath(path), text)


@lru_cache(maxsize=8)
def _usual(file: _Stamped, folder: _Stamped) -> ssl.SSLContext:
    if file is None and folder is None:
        import certifi  # comes with the HTTP client

        return _trusting(None, None, certifi.where())
    return _trusting(file, folder)


@lru_cache(maxsize=8)
def _context(ca: _Stamped, cert: _Stamped, key: _Stamped) -> ssl.SSLContext:
    if ca is None:
        # Not the usual context itself, which must not come to hold somebody's certificate.
        file, folder = (os.environ.get(name) or None for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
        context = _usual.__wrapped__(_stamp("SSL_CERT_FILE", file), _stamp("SSL_CERT_DIR", folder))
    elif Path(ca[1]).is_dir():
        context = _trusting(None, ca)
    else:
        context = _trusting(ca, None)
    if cert is not None:
        try:
            # Without a password of some kind OpenSSL would ask for one on the terminal.
            context.load_cert_chain(cert[1], key[1] if key else None, password=b"")
            return context
        except (ssl.SSLError, OSError, ValueError) as problem:
            text = _reason(problem)
        raise _unusable("tls cert", cert[1], text, hint="a key that needs a password takes an ssl.SSLContext")
    return context


def _trusting(file: _Stamped, folder: _Stamped, known: str | None = None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(
            cafile=known or (file[1] if file else None), capath=folder[1] if folder else None
        )
        context.set_alpn_protocols(["http/1.1"])
        return context
    except (ssl.SSLError, OSError) as problem:
        text = _reason(problem)
    what, path, _ = file or folder or ("certifi", known, 0)
    raise _unusable(what, path, text)


def _unusable(what: str, path: str | None, why: str | None, *, hint: str | None = None) -> ConfigError:
    # No colon between the path and what follows: behind a path that ends with "key" it would look like a secret.
    return ConfigError(f"{what} names {path!r}, which cannot be used ({why})", hint=hint)


def _reason(problem: Exception) -> str:
    return str(getattr(problem, "reason", None) or problem)


# --- the encryption ---------------------------------------------------------------------------------------------------


class Sealed:
    """TLS over a stream, which becomes its own: closing one closes the other."""

    __slots__ = ("_in", "_out", "_tls", "_under")

    def __init__(self, under: Stream, context: ssl.SSLContext, host: str) -> None:
        self._under = under
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=host)

    async def shake_hands(self, deadline: Deadline) -> None:
        """Agree on the encryption, and verify who the other side is."""
        try:
            await self._until_done(deadline, self._tls.do_handshake)
        except ssl.SSLError:
            # What is wrong is of interest to the other side as well.
            with suppress(OSError):
                await self._flush(deadline)
            raise

    async def read(self, deadline: Deadline) -> bytes:
        """The next bytes; none at the end, if it is the end that the other side meant."""
        try:
            came: bytes = await self._until_done(deadline, self._tls.read, READ_AT_ONCE)
            return came
        except ssl.SSLZeroReturnError:
            return b""

    async def write(self, data: memoryview, deadline: Deadline) -> int:
        """Send some of it: how many bytes."""
        count: int = await self._until_done(deadline, self._tls.write, data[:READ_AT_ONCE])
        return count

    def take(self) -> bytes | None:
        """What came and was not read, without a wait: none at the end, `None` where nothing came."""
        while True:
            try:
                return self._tls.read(READ_AT_ONCE)
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLWantReadError:
                came = self._under.take()
            if came is None:
                return None
            self._feed(came)

    async def _until_done(self, deadline: Deadline, step: Callable[..., Any], *given: Any) -> Any:
        while True:
            done: Any = self
            with suppress(ssl.SSLWantReadError):
                done = step(*given)
            await self._flush(deadline)
            if done is not self:
                return done
            self._feed(await self._under.read(deadline))

    def _feed(self, came: bytes) -> None:
        if came:
            self._in.write(came)
        else:
            self._in.write_eof()

    async def _flush(self, deadline: Deadline) -> None:
        if self._out.pending:
            await write_all(self._under, memoryview(self._out.read()), deadline)

    def quiet(self) -> bool:
        """Whether nothing came that was not read: no more bytes, and not the end."""
        return not self._in.pending and not self._tls.pending() and self._under.quiet()

    def close(self) -> None:
        """Close it, whatever its state."""
        self._under.close()
