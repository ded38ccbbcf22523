"""The body of an answer: collected under a cap, its content coding undone by us.

An HTTP client's own decoding inflates without bound and takes a truncated gzip for a whole one, so bodies are read raw.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from ..errors import MalformedResponse, ProtocolError, ResponseTooLarge

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BODY = 64 * 1024 * 1024
"""The largest answer that is read, decoded."""
MAX_ERROR_BODY = 64 * 1024
"""How much of an error's body is read; the rest is not waited for."""

ACCEPTED = "gzip"
"""The content coding we ask for."""

_ZLIB = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class Body:
    """Collects a body: `feed` takes what arrives, `close` gives the whole.

    With `cut`, a body above the limit is cut there and `full` says so; without, it raises `ResponseTooLarge`.
    """

    __slots__ = ("_coding", "_cut", "_inflate", "_left", "_limit", "_pieces", "full")

    def __init__(self, headers: Mapping[str, str], limit: int, *, cut: bool) -> None:
        self._coding = headers.get("content-encoding", "identity").strip().lower()
        self._inflate = None
        self._limit = self._left = limit
        self._cut = cut
        self._pieces: list[bytes] = []
        self.full = False
        if self._coding in _ZLIB:
            self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        elif self._coding not in ("identity", ""):
            raise ProtocolError(f"the answer has a content coding nobody asked for: {self._coding[:100]}")

    def feed(self, piece: bytes) -> None:
        """Take the next bytes as they came."""
        if self._inflate is not None:
            piece = self._inflated(piece)
        self._left -= len(piece)
        if self._left < 0:
            if not self._cut:
                raise ResponseTooLarge(f"the answer is larger than {self._limit} bytes")
            piece = piece[: self._left]
            self.full = True
        self._pieces.append(piece)

    def _inflated(self, piece: bytes) -> bytes:
        assert self._inflate is not None
        try:
            # One byte more than may come shows that the limit is passed, without inflating the rest.
            return self._inflate.decompress(piece, self._left + 1)
        except zlib.error as problem:
            raise MalformedResponse(f"the answer says it is {self._coding} and is not: {problem}") from None

    def close(self) -> bytes:
        """The whole body."""
        if self._inflate is not None and not self._cut and self._pieces:
            if not self._inflate.eof:
                raise MalformedResponse(f"the {self._coding} of the answer ends early")
            if self._inflate.unused_data:
                raise MalformedResponse(f"bytes follow the {self._coding} of the answer")
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
