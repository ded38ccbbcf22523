"""What the vendors here have in common: marks on names, turns of a conversation, and items in the wire's own envelopes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec

from llm_rest import wires
from llm_rest.simulator.refusals import canonical
from llm_rest.simulator.signatures import mac
from llm_rest.simulator.turns import Turn, turns

if TYPE_CHECKING:
    from llm_rest.responses import AnyItem
    from llm_rest.server.handler import Context
    from llm_rest.simulator.plain import Plain


def mark(issuer: str, name: str) -> str:
    """Four digits by which `issuer` recognises that a name is of its own making."""
    return mac("mark", issuer, name)[:4]


def turns_of(document: Plain, wire: str) -> list[Turn]:
    """The conversation: neighbouring messages of one role are one turn; each block with its path."""
    place: Any = SimpleNamespace(document=canonical(document, wire), context=SimpleNamespace(wire=wire))
    return turns(place)


def wire_item(wire: str, document: dict[str, Any], context: Context) -> AnyItem:
    """The first item that the wire reads out of an answer of its vendor.

    So a thought that was signed as the vendor signs rides in the wire's own envelope, whatever that holds.
    """
    module = wires.load(wire)
    response, _ = module.decode_response(module.RESPONSE.decode(msgspec.json.encode(document)), dialect=context.dialect)
    return response.output[0]
