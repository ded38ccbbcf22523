"""TLS: certificate authorities, client certificates (mTLS), and the encryption of any stream.

The encryption is written once for threads and tasks, over `ssl.MemoryBIO`. Before changing this file, know that the end
of a stream is valid only with a `close_notify` of the peer: any other end may be a truncation attack.
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
from .sockets import READ_AT_ONCE, Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from .deadlines import Deadline


class TLS(Struct, frozen=True, kw_only=True):
    """The TLS configuration of a client: trusted authorities and a client certificate, as paths.

    For a private key with a password, pass an `ssl.SSLContext` as `tls=` instead.
    """

    ca: str | os.PathLike[str] | None = None
    """A PEM file or a folder of certificate authorities to trust instead of the default ones; `None` for those."""
    cert: str | os.PathLike[str] | None = None
    """A PEM file with the client's certificate and its chain (mutual TLS); `None` for no client certificate."""
    key: str | os.PathLike[str] | None = None
    """A PEM file with the client's private key, without a password; `None` where it is in the file of `cert`."""


TLSOption = TLS | str | os.PathLike[str] | ssl.SSLContext
"""The type of `tls=`: `TLS(...)`, the path of the authorities alone, or an `ssl.SSLContext` that is used unchanged."""


def context_of(option: object) -> ssl.SSLContext:
    """The SSL context for `tls=`, created once per process. Raises `ConfigError` for an unusable file."""
    if isinstance(option, ssl.SSLContext):
        return option
    if isinstance(option, str | os.PathLike):
        option = TLS(ca=cast("str | os.PathLike[str]", option))
    if not isinstance(option, TLS):
        raise ConfigError(f"tls= takes a path, TLS(...) or an ssl.SSLContext, not a {type(option).__name__}")
    if option.key is not None and option.cert is None:
        raise ConfigError("tls: a key goes with a certificate", hint="give cert= too")
    cert, key = _file("tls cert", option.cert), _file("tls key", option.key)
    if option.ca is None:
        return _context(*_default_authorities(), cert, key)
    ca = _file("tls ca", option.ca)
    return _context(None, ca, cert, key) if Path(option.ca).is_dir() else _context(ca, None, cert, key)


def default_context() -> ssl.SSLContext:
    """The default SSL context: `SSL_CERT_FILE` and `SSL_CERT_DIR`, else certifi's authorities."""
    return _context(*_default_authorities(), None, None)


_File = tuple[str, str, int]
"""The purpose of a path, the path, and its modification time: new clients read a changed file again."""


def _file(what: str, path: str | os.PathLike[str] | None) -> _File | None:
    if path is None:
        return None
    try:
        return what, os.fspath(path), Path(path).stat().st_mtime_ns
    except OSError as problem:
        text = problem.strerror
    raise _unusable((what, os.fspath(path), 0), text)


def _default_authorities() -> tuple[_File | None, _File | None]:
    file, folder = (_file(name, os.environ.get(name) or None) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    if file is None and folder is None:
        import certifi  # a dependency of the HTTP client

        file = _file("certifi", certifi.where())
    return file, folder


@lru_cache(maxsize=16)
def _context(file: _File | None, folder: _File | None, cert: _File | None, key: _File | None) -> ssl.SSLContext:
    used, hint = file or folder, None
    try:
        context = ssl.create_default_context(cafile=file and file[1], capath=folder and folder[1])
        context.set_alpn_protocols(["http/1.1"])
        if cert is not None:
            used, hint = cert, "a key that needs a password takes an ssl.SSLContext"
            # Without a password callback OpenSSL would prompt on the terminal.
            context.load_cert_chain(cert[1], key and key[1], password=b"")
        return context
    except (ssl.SSLError, OSError, ValueError) as problem:
        text = str(getattr(problem, "reason", None) or problem)
    raise _unusable(used, text, hint)


def _unusable(file: _File | None, why: str | None, hint: str | None = None) -> ConfigError:
    what, path = file[:2] if file else ("certifi", "")
    # No colon between the path and the text after it: behind a path that ends with "key" it would look like a secret.
    return ConfigError(f"{what} names {path!r}, which cannot be used ({why})", hint=hint)


# --- the encryption ---------------------------------------------------------------------------------------------------


class TLSStream(Stream):
    """TLS over another stream; closing it closes the other."""

    __slots__ = ("_in", "_out", "_tls", "_under")

    def __init__(self, under: Stream, context: ssl.SSLContext, host: str) -> None:
        self._under = under
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=host)

    async def handshake(self, deadline: Deadline) -> None:
        """Perform the TLS handshake, and verify the certificate of the peer."""
        try:
            await self._until_done(deadline, self._tls.do_handshake)
        except ssl.SSLError:
            # Send the alert to the peer.
            with suppress(OSError):
                await self._flush(deadline)
            raise

    async def read(self, deadline: Deadline) -> bytes:
        try:
            received: bytes = await self._until_done(deadline, self._tls.read, READ_AT_ONCE)
            return received
        except ssl.SSLZeroReturnError:
            return b""

    async def write(self, data: memoryview, deadline: Deadline) -> int:
        count: int = await self._until_done(deadline, self._tls.write, data[:READ_AT_ONCE])
        return count

    def read_available(self) -> bytes | None:
        while True:
            try:
                return self._tls.read(READ_AT_ONCE)
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLWantReadError:
                received = self._under.read_available()
            if received is None:
                return None
            self._feed(received)

    async def _until_done(self, deadline: Deadline, step: Callable[..., Any], *given: Any) -> Any:
        while True:
            done: Any = self
            with suppress(ssl.SSLWantReadError):
                done = step(*given)
            await self._flush(deadline)
            if done is not self:
                return done
            self._feed(await self._under.read(deadline))

    def _feed(self, received: bytes) -> None:
        if received:
            self._in.write(received)
        else:
            self._in.write_eof()

    async def _flush(self, deadline: Deadline) -> None:
        if self._out.pending:
            await self._under.write_all(memoryview(self._out.read()), deadline)

    def quiet(self) -> bool:
        return not self._in.pending and not self._tls.pending() and self._under.quiet()

    def close(self) -> None:
        self._under.close()
