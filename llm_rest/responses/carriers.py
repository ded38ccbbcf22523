"""Opaque state of a vendor, carried through a Responses conversation in a string.

What must return to the vendor that issued it (signatures, redacted thinking, server-tool blocks) and has no field in the
Responses format rides in the `encrypted_content` of a `reasoning` or `compaction` item, as an *envelope*: a prefix that
names us, the version, the wire and the issuer, then base64url of compact JSON. Before changing this file, know that a
client may forge an envelope: what comes out is decoded through a typed payload with a size cap, and never trusted further.
"""

from __future__ import annotations

import binascii
from hashlib import blake2b
from typing import Any, TypeVar, cast

import msgspec

from ..errors import DecodeError
from ..unknown import check_depth, decoder_of

P = TypeVar("P")

PREFIX = "llm_rest.1."
MAX_SIZE = 8 * 1024 * 1024

_ENCODER = msgspec.json.Encoder()


def seal(wire: str, issuer: str, payload: Any) -> str:
    """`payload` (a tagged struct) as an envelope that only `wire` and `issuer` open again."""
    body = binascii.b2a_base64(_ENCODER.encode(payload), newline=False).translate(_TO_URL).rstrip(b"=").decode()
    return f"{PREFIX}{wire}.{issuer}.{body}"


def sender(text: str) -> tuple[str, str] | None:
    """The wire and issuer an envelope names; `None` for any other string."""
    # The wire's name and the body have no dots, so an issuer may (a host name, for example).
    start, end = text.find(".", len(PREFIX)), text.rfind(".")
    if not text.startswith(PREFIX) or not len(PREFIX) < start < end:
        return None
    return text[len(PREFIX) : start], text[start + 1 : end]


def unseal(text: str, wire: str, issuer: str, payload: type[P] | Any) -> P | None:
    """The payload of an envelope that `issuer` sealed on `wire`; `None` for foreign, forged or oversized ones.

    `payload` is the struct, or union of tagged structs, that may come out.
    """
    if sender(text) != (wire, issuer) or len(text) > MAX_SIZE:
        return None
    body = text[text.rfind(".") + 1 :].encode("ascii", "replace").translate(_FROM_URL)
    try:
        data = binascii.a2b_base64(body + b"=" * (-len(body) % 4))
        data.decode()
        check_depth(data)
        return cast("P", decoder_of(cast("Any", payload)).decode(data))
    except (binascii.Error, msgspec.MsgspecError, UnicodeError, DecodeError):
        return None


def digest(text: str) -> str:
    """A short, stable name for a piece of visible text: 16 hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")
