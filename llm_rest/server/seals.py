"""Seals on the envelopes that a server gives to its clients, so that no client can forge, copy or move opaque state.

An envelope (`responses/carriers.py`) is readable and can be written by anyone. What opens on the way to a vendor may hold
parts that fetch, execute or call, so an envelope from a client counts only with the seal of this server: HMAC-SHA256, cut
to 128 bits, over the type of the item, the wire and the issuer, the caller, a digest of the text that the item shows, and
the payload. A seal is not bound to a turn: clients fork, edit and compact their conversations. Before changing this file,
know that inside the server envelopes have no seals: they are checked and removed once, after a request was decoded, and
added once, before an answer is encoded, whatever the wires are; and that state of a vendor's own wire, which a client of
that wire can write anyway, is checked by that vendor alone.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..responses.carriers import PREFIX, SEAL, digest, sender, unseal
from ..responses.events import OfResponse, OutputItemAdded, OutputItemDone
from ..responses.items import Compaction, Reasoning
from ..unknown import Unknown, as_list, as_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..client.events import StreamWriter
    from ..losses import Loss
    from ..responses import Request, Response
    from ..responses.events import AnyEvent
    from ..responses.items import AnyItem
    from ..responses.response import CompactedResponse
    from .handler import Context
    from .stored import Turn

State = TypeVar("State", bound=Reasoning | Compaction)

STATE = (Reasoning, Compaction)
_BITS = 128


class Seals:
    """Seals by secret keys: the first one signs, and seals of all of them are valid."""

    def __init__(self, keys: Sequence[bytes] = (), stored: bytes | None = None) -> None:
        """Without `keys` the `stored` one counts, and without that a random one."""
        self.lasting = bool(keys) or stored is not None
        """Whether seals are valid after the end of the process."""
        self._keys = [sha256(b"llm_rest seal\0" + key).digest() for key in keys or [stored or token_bytes(32)]]

    def __repr__(self) -> str:
        return f"Seals({len(self._keys)} keys)"

    # --- to a client

    def item(self, item: AnyItem, caller: str) -> AnyItem:
        """The item for a client; the same object where it has no envelope."""
        if not isinstance(item, STATE) or not (text := item.encrypted_content) or not text.startswith(PREFIX):
            return item
        shown = _shown(item)
        return replace(
            item, encrypted_content=f"{text}{SEAL}{shown}{SEAL}{_mac(self._keys[0], item, text, shown, caller)}"
        )

    def items(self, items: list[AnyItem], caller: str) -> list[AnyItem]:
        """The items for a client."""
        return [self.item(item, caller) for item in items]

    def response(self, response: Response, caller: str) -> Response:
        """The answer for a client; the same object where it has no envelope."""
        output = self.items(response.output, caller)
        changed = any(new is not old for new, old in zip(output, response.output, strict=True))
        return replace(response, output=output) if changed else response

    def compacted(self, compacted: CompactedResponse, caller: str) -> CompactedResponse:
        """The compacted conversation for a client."""
        return replace(compacted, output=self.items(compacted.output, caller))

    def turn(self, turn: Turn, caller: str) -> Turn:
        """A stored turn for a client."""
        return replace(turn, response=self.response(turn.response, caller), input=self.items(turn.input, caller))

    def event(self, event: AnyEvent, caller: str) -> AnyEvent:
        """An event for a client; the same object where it has no envelope."""
        if isinstance(event, OfResponse):
            response = self.response(event.response, caller)
            return event if response is event.response else replace(event, response=response)
        if isinstance(event, OutputItemAdded | OutputItemDone) and event.item is not None:
            item = self.item(event.item, caller)
            return event if item is event.item else replace(event, item=item)
        return event

    # --- from a client

    def opened(self, request: Request, context: Context, document: Any = None) -> Request:
        """The request of a client with the seals checked and removed; without the state whose seal is not valid.

        Such an item is treated as one that never had state: its text stays, and each is reported once. State that has no
        seal may be the vendor's own, which was decoded from the `document`, but not an envelope in it.
        """
        if not isinstance(request.input, list):
            return request
        native = (context.wire, getattr(context.dialect, "issuer", ""))
        written = _envelopes(document)
        items: list[AnyItem] | None = None
        for i, item in enumerate(request.input):
            if isinstance(item, STATE) and (text := item.encrypted_content) and text.startswith(PREFIX):
                opened = self._opened(item, text, context.scope, None if text in written else native)
                if opened is item:
                    continue
                if opened is None:
                    what = "opaque state without a valid seal of this server; the item is sent without it"
                    context.losses.dropped(f"input[{i}].encrypted_content", what)
                items = list(request.input) if items is None else items
                items[i] = _without_state(item) if opened is None else opened
        return request if items is None else replace(request, input=items)

    def _opened(self, item: State, text: str, caller: str, native: tuple[str, str] | None) -> State | None:
        """The item without its seal; `None` where that is not valid."""
        envelope, sealed, seal = text.partition(SEAL)
        if not sealed:
            return item if sender(text) == native else None
        shown, _, mac = seal.partition(SEAL)
        valid = [
            hmac.compare_digest(_mac(key, item, envelope, shown, caller).encode(), mac.encode()) for key in self._keys
        ]
        # Many clients do not return the text of reasoning; the wires report that where it matters.
        if not any(valid) or _shown(item) not in (shown, ""):
            return None
        return replace(item, encrypted_content=envelope)


class _InBlock(Struct):
    """The content of a thinking block that holds an item of another vendor for a client."""

    item: dict[str, Any] = {}


def _envelopes(document: Any) -> set[str]:
    """The envelopes that a client wrote into a request, on the wires whose clients have a place for them."""
    found: list[Any] = [getattr(item, "encrypted_content", None) for item in as_list(getattr(document, "input", None))]
    for message in as_list(getattr(document, "messages", None)):
        details = as_list(getattr(message, "reasoning_details", None))
        found += [as_object(detail).get("data") for detail in details]
        for block in as_list(getattr(message, "content", None)):
            sealed = getattr(block, "signature", None) or getattr(block, "data", None)
            if isinstance(sealed, str) and sealed.startswith(PREFIX):
                inner: _InBlock | None = unseal(sealed, "anthropic_messages", "client", _InBlock)
                found += [inner.item.get("encrypted_content")] if inner is not None else []
    return {text for text in found if isinstance(text, str) and text.startswith(PREFIX)}


def _mac(key: bytes, item: Reasoning | Compaction, envelope: str, shown: str, caller: str) -> str:
    wire, issuer = sender(envelope) or ("", "")
    body = envelope[envelope.rfind(".") + 1 :]
    message = msgspec.json.encode([item.type, wire, issuer, caller, shown, body])
    return urlsafe_b64encode(hmac.digest(key, message, "sha256")[: _BITS // 8]).rstrip(b"=").decode()


def _shown(item: Reasoning | Compaction) -> str:
    """A digest of the text that an item shows; empty where it shows none."""
    if isinstance(item, Compaction):
        return ""
    text = "".join(
        part.text for part in (*(item.summary or ()), *(item.content or ())) if not isinstance(part, Unknown)
    )
    return digest(text) if text else ""


def _without_state(item: AnyItem) -> AnyItem:
    """The item as one that never had state. It stays in its place, so that later items keep theirs in reports."""
    if isinstance(item, Reasoning):
        return replace(item, id=None, encrypted_content=None)
    return Reasoning(summary=[])


class SealingWriter:
    """Encodes events as a `StreamWriter` does, with seals for a caller."""

    def __init__(self, writer: StreamWriter, seals: Seals, caller: str) -> None:
        self._writer = writer
        self._seals = seals
        self._caller = caller

    @property
    def losses(self) -> list[Loss]:
        """The losses so far."""
        return self._writer.losses

    def feed(self, event: AnyEvent) -> bytes:
        """The bytes for an event."""
        if isinstance(event, _SEALED):
            event = self._seals.event(event, self._caller)
        return self._writer.feed(event)

    def close(self) -> bytes:
        """The bytes at the end of the stream."""
        return self._writer.close()


_SEALED = (OutputItemAdded, OutputItemDone, OfResponse)
