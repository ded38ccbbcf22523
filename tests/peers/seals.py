"""How the peers seal: each recognises what it said, unchanged and in its place.

Real vendors sign or encrypt a model's thoughts and refuse them when they come back altered. So does the simulator, with a
key that is published here: a seal proves nothing to anybody but a test. `mac` covers plain values, spelled canonically, so
that the order of keys and the escaping a client chose do not count.
"""

from __future__ import annotations

import binascii
import hmac
from typing import TYPE_CHECKING, Any

import msgspec

from llm_rest import wires

if TYPE_CHECKING:
    from llm_rest.responses import AnyItem
    from llm_rest.server.handler import Context

KEY = b"llm_rest simulator: this key is public"

_CANONICAL = msgspec.json.Encoder(order="sorted")


def mac(*covered: Any) -> str:
    """16 hexadecimal digits that depend on every one of the plain values `covered`, and on their order."""
    return hmac.digest(KEY, _CANONICAL.encode(covered), "sha256")[:8].hex()


def mark(issuer: str, name: str) -> str:
    """Four digits by which `issuer` recognises that a name is of its own making."""
    return mac("mark", issuer, name)[:4]


def seal(issuer: str, *fields: str) -> str:
    """`fields` in an opaque spelling that only `issuer` opens again. A field must not hold a colon."""
    whole = ":".join((*fields, mac("seal", issuer, *fields)))
    return binascii.b2a_base64(whole.encode(), newline=False).decode()


def opened(issuer: str, sealed: str) -> list[str] | None:
    """What `issuer` sealed; `None` for anything else, whatever was changed in it."""
    try:
        *fields, whole = binascii.a2b_base64(sealed.encode(), strict_mode=True).decode().split(":")
    except (binascii.Error, UnicodeError):
        return None
    return fields if whole == mac("seal", issuer, *fields) else None


def wire_item(wire: str, document: dict[str, Any], context: Context) -> AnyItem:
    """The first item that the wire reads out of an answer of its vendor.

    So a thought that was signed as the vendor signs rides in the wire's own envelope, whatever that holds.
    """
    module = wires.load(wire)
    response, _ = module.decode_response(module.RESPONSE.decode(msgspec.json.encode(document)), dialect=context.dialect)
    return response.output[0]
