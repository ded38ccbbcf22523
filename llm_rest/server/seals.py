"""Signatures of the simulator: it recognises what it said, unchanged and in its place.

Real vendors sign or encrypt a model's thoughts and refuse them when they come back altered. So does the simulator, with a
key that is published here: a seal proves nothing to anybody but a test. `mac` covers plain values, spelled canonically, so
that the order of keys and the escaping a client chose do not count.
"""

from __future__ import annotations

import binascii
import hmac
from typing import TYPE_CHECKING, Any

import msgspec

from .. import wires

if TYPE_CHECKING:
    from ..responses import AnyItem
    from .handler import Context

KEY = b"llm_rest simulator: this key is public"

_CANONICAL = msgspec.json.Encoder(order="sorted")


def mac(*covered: Any) -> str:
    """16 hexadecimal digits that depend on every one of the plain values `covered`, and on their order."""
    return hmac.digest(KEY, _CANONICAL.encode(covered), "sha256")[:8].hex()


def wrap(text: str) -> str:
    """`text` in an opaque spelling, as base64."""
    return binascii.b2a_base64(text.encode(), newline=False).decode()


def unwrap(text: str) -> str | None:
    """What `wrap` was given; `None` for anything it did not make."""
    try:
        return binascii.a2b_base64(text.encode(), strict_mode=True).decode()
    except (binascii.Error, UnicodeError):
        return None


def wire_item(wire: str, document: dict[str, Any], context: Context) -> AnyItem:
    """The first item that the wire reads out of an answer of its vendor.

    So a thought that was signed as the vendor signs rides in the wire's own envelope, whatever that holds.
    """
    module = wires.load(wire)
    response, _ = module.decode_response(module.RESPONSE.decode(msgspec.json.encode(document)), dialect=context.dialect)
    return response.output[0]
