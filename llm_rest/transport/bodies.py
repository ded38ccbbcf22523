"""The body of an answer: capped, its content coding undone by us.

An HTTP client's own decoding inflates without bound and takes a truncated gzip for a whole one, so bodies are read raw.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from ..errors import MalformedResponseError, ProtocolError, ResponseTooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BODY = 64 * 1024 * 1024
"""The largest answer that is read, decoded."""
MAX_STREAM = 128 * 1024 * 1024
"""The same of an answer that comes as a stream, where every word of it has a frame around it."""
MAX_ERROR_BODY = 64 * 1024
"""How much of an error's body is read; the rest is not waited for."""

ACCEPTED = "gzip"
"""The content coding we ask for."""

_ZLIB = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_MEMBER = b"\x1f"
"""How each member of a gzip begins: there may be several, as from servers that compress what they have at the moment."""
_STEP = 1024 * 1024
"""How much is inflated at once."""


_PORTION = 16 * 1024
"""How many bytes of a stream with a content coding are inflated before what they hold is read: to 16 MiB at most."""


class Body:
    """Undoes the coding of a body: `feed` gives what a piece of it holds, `close` says whether it was whole.

    With `cut`, a body above the limit is cut there and `full` says so; without, it raises `ResponseTooLargeError`.
    """

    __slots__ = ("_behind", "_coding", "_cut", "_empty", "_inflate", "_left", "_limit", "full")

    def __init__(self, headers: Mapping[str, str], limit: int, *, cut: bool = False) -> None:
        self._coding = headers.get("content-encoding", "identity").strip().lower()
        self._inflate = None
        self._limit = self._left = limit
        self._cut = cut
        self._empty = True
        self._behind = False  # something follows the end of the coding
        self.full = False
        if self._coding in _ZLIB:
            self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        elif self._coding not in ("identity", ""):
            raise ProtocolError(
                f"the answer has a content coding nobody asked for: {self._coding[:100]}", retryable=False
            )

    @property
    def portion(self) -> int | None:
        """How many bytes of a piece to feed at once, so that little is held before it is read; `None` is all of them."""
        return None if self._inflate is None else _PORTION

    def feed(self, piece: bytes) -> bytes:
        """The next bytes, given them as they came."""
        if self._inflate is not None:
            piece = self._inflated(piece)
        self._left -= len(piece)
        if self._left < 0:
            if not self._cut:
                raise self._too_large()
            piece = piece[: self._left]
            self.full = True
        return piece

    def _inflated(self, piece: bytes) -> bytes:
        assert self._inflate is not None
        self._empty = False
        pieces: list[bytes] = []
        room = self._left
        try:
            # In steps, because what one call gives is in memory twice while it is put together; and no further than one step
            # past the limit, which then is known to be passed.
            while room >= 0 and (len(pieces) == 0 or len(pieces[-1]) == _STEP or piece):
                if self._inflate.eof and piece:
                    if self._coding == "deflate" or not piece.startswith(_MEMBER):
                        # It counts, because it may have no end, and is not kept.
                        self._behind = True
                        room -= len(piece)
                        self._left -= len(piece)
                        break
                    self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
                pieces.append(self._inflate.decompress(piece, _STEP))
                piece = self._inflate.unused_data or self._inflate.unconsumed_tail
                room -= len(pieces[-1])
        except zlib.error as problem:
            raise MalformedResponseError(f"the answer says it is {self._coding} and is not: {problem}") from None
        if room < 0 and not self._cut:
            raise self._too_large()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _too_large(self) -> ResponseTooLargeError:
        return ResponseTooLargeError(f"the answer is larger than {self._limit} bytes")

    def close(self) -> None:
        """Return if the coding came to its end. Raises `MalformedResponseError` otherwise."""
        if self._inflate is not None and not self._empty:
            if not self._inflate.eof:
                raise MalformedResponseError(f"the {self._coding} of the answer ends early")
            if self._behind:
                raise MalformedResponseError(f"bytes follow the {self._coding} of the answer")
