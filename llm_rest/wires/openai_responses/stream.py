"""Streams of `POST /v1/responses`, which are the events of the format itself, in the required order.

Before changing this file, know what hosts leave out or get wrong ("Streaming" of the OpenAI reference, the Open
Responses document and recorded traffic, read 2026-11-20): sequence numbers, the announcement of an item or a part, all
deltas of a text, the name of raw reasoning, an `item_id` that stays the same, the output of the terminal event. Valid
events are unchanged, with their numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...losses import Losses
from ...responses import events as ev
from ...responses.emit import TEXTS, Emitter, OpenItem, tell
from ...responses.estimate import text_of
from ...responses.items import Message
from ...responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText
from ...responses.received import ReceivedDecoder
from ...responses.stream import UNANNOUNCED, Assembler
from ...unknown import Decoder, Unknown, extras, with_extras
from ...vendors.dialects import ResponsesDialect
from ..leftovers import struct_of
from .content import report_repairs, without_leftovers
from .messages import decode_messages, encode_item
from .request import OPENAI
from .response import decode_response, encode_response, with_required, writing
from .tools import names_of, original, with_original_names

if TYPE_CHECKING:
    from ...responses.items import AnyItem
    from ...responses.request import Request
    from ...responses.response import Response

__all__ = ["EVENT", "decode_stream", "encode_stream"]


# --- from a host ----------------------------------------------------------------------------------------------------

GROWS = frozenset(delta for delta, _, _ in TEXTS.values())

EVENT: Decoder[ev.AnyEvent] = ReceivedDecoder(ev.EVENT, notes=False, without=GROWS)
"""Decodes one event of a stream."""

ABOUT: dict[type, type] = {
    ev.ContentPartAdded: Message,
    ev.OutputTextAnnotationAdded: OutputText,
    ev.ReasoningSummaryPartAdded: SummaryText,
    **{event: about for about, (delta, done, _) in TEXTS.items() for event in (delta, done)},
}
"""The item or part for an event, if none was announced."""

DELTAS = {done: (delta, field) for delta, done, field in TEXTS.values()}
HELD: dict[type, str] = {
    **dict.fromkeys((ev.ContentPartAdded, ev.ContentPartDone), "part"),
    **dict.fromkeys((ev.ReasoningSummaryPartAdded, ev.ReasoningSummaryPartDone), "part"),
    ev.OutputTextAnnotationAdded: "annotation",
}
"""The events inside an item with a part or an annotation."""

EMPTY: dict[type, Any] = {
    OutputText: OutputText(text="", annotations=[]),
    RefusalPart: RefusalPart(refusal=""),
    ReasoningText: ReasoningText(text=""),
}

# Tuples, because `isinstance(x, A | B)` builds the union anew for every event.
ITEM = (ev.OutputItemAdded, ev.OutputItemDone)
PART = (ev.ContentPartAdded, ev.ContentPartDone)
PART_ADDED = (ev.ContentPartAdded, ev.ReasoningSummaryPartAdded)
PART_DONE = (ev.ContentPartDone, ev.ReasoningSummaryPartDone)
OLD_NAMES = (ev.ReasoningDelta, ev.ReasoningDone)


OTHER_TEXT = "the complete text, which differs from its deltas"


class _OutputItem:
    """One item of the output; `parts` holds whether each part that was announced is still open."""

    __slots__ = ("ended", "has_events", "id", "index", "item", "open", "parts")

    def __init__(self, index: int, item_id: str) -> None:
        self.index = index
        self.id = item_id
        self.open = True
        self.has_events = False  # between its beginning and its end
        self.parts: dict[tuple[str, int], bool] = {}
        self.ended: set[tuple[str, int]] = set()  # the parts whose text has its end event
        self.item: AnyItem | None = None  # the complete item

    def place(self, key: tuple[str, int]) -> dict[str, Any]:
        """The fields of an event that identify its part."""
        place: dict[str, Any] = {"item_id": self.id, "output_index": self.index}
        return {**place, f"{key[0]}_index": key[1]} if key[0] else place


class StreamDecoder:
    """Converts a host's events to events in the required order; after the terminal event there are none."""

    def __init__(
        self,
        *,
        request: Request | None = None,
        dialect: ResponsesDialect = OPENAI,
        now: float = 0,
        keep: bool = True,
    ) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        self._emitter = Emitter()
        self._assembler = Assembler()
        self._items: dict[int, _OutputItem] = {}
        self._started_response: Response | None = None
        self._has_failed = False
        self._ended = False
        self._names = names_of(request)

    def feed(self, event: ev.AnyEvent) -> list[ev.AnyEvent]:
        """The Responses events for this event."""
        if self._ended or (self._has_failed and not isinstance(event, ev.ResponseFailed)):
            return []
        if isinstance(event, ev.OfItem):
            self._of_item(event)
        elif isinstance(event, ITEM):
            return self._of_whole_item(event)
        elif isinstance(event, ev.TERMINAL):
            self._end(event)
        elif isinstance(event, ev.ErrorEvent):
            self._fail(event)
        elif isinstance(event, ev.OfResponse):
            self._begin(event)
        else:
            self._start()
            self._forward(event)
        return self._emitter.take()

    def close(self) -> list[ev.AnyEvent]:
        """The failed response for an error, if none followed; none for a stream without an end, which was cut off."""
        if self._has_failed and not self._ended:
            failed, _ = decode_response(self._assembler.response, request=self._request, dialect=self._dialect)
            self._emitter.finish(failed)
            self._ended = True
        return self._emitter.take()

    def _forward(self, event: Any) -> None:
        number = self._emitter.number()
        if isinstance(event, Unknown):
            event["sequence_number"] = number
        else:
            event.sequence_number = number
        self._emitter.send(event)

    # -- the response

    def _begin(self, event: Any) -> None:
        self._assembler.feed(event)
        if event.response.output or event.response.leftovers is not None:
            event.response, _ = decode_response(event.response, request=self._request, dialect=self._dialect)
        elif self._names and self._request is not None:
            event.response = with_original_names(event.response, self._request, self._names)
        if self._items or (self._started_response is not None and isinstance(event, ev.ResponseCreated)):
            return
        if self._started_response is None and not isinstance(event, ev.ResponseCreated):
            self._emitter.send(ev.ResponseCreated(sequence_number=self._emitter.number(), response=event.response))
        self._started_response = event.response
        self._forward(event)

    def _start(self) -> None:
        """Begin the response, if the host omitted that."""
        if self._started_response is None:
            self._started_response = self._assembler.response
            self._emitter.start(self._started_response)

    def _fail(self, event: ev.ErrorEvent) -> None:
        self._start()
        self._assembler.feed(event)
        self._forward(event)
        # Most hosts send the failed response next, which has more data than the error.
        self._has_failed = True

    def _end(self, event: Any) -> None:
        if self._started_response is None:
            self._started_response = event.response
            self._emitter.start(event.response)
        self._assembler.feed(event)
        response, lost = decode_response(self._assembler.response, request=self._request, dialect=self._dialect)
        reported = {loss.path for loss in lost}
        self.losses[:] = [*lost, *(loss for loss in self.losses if loss.path not in reported)]
        for index, item in enumerate(response.output):
            output = self._items.get(index)
            if (output is None or output.open) and response.status != "failed":
                self._end_item(index, item, decoded=True)
            elif (
                output is not None
                and isinstance(item, Message)
                and isinstance(output.item, Message)
                and text_of(item.content) != text_of(output.item.content)
            ):
                self.losses.changed(f"output[{index}]", OTHER_TEXT)
        event.response = response
        self._forward(event)
        self._ended = True

    # -- items

    def _of_whole_item(self, event: ev.OutputItemAdded | ev.OutputItemDone) -> list[ev.AnyEvent]:
        """The events for an item's beginning or end, with the host's other fields of the item."""
        if isinstance(event, ev.OutputItemAdded):
            self._assembler.feed(event)
            if event.item is not None:
                self._emit_added(event.output_index, event.item)
        elif event.item is not None:
            self._end_item(event.output_index, event.item)
        made: list[Any] = self._emitter.take()
        unknown = extras(event)
        return [with_extras(one, unknown) if unknown and isinstance(event, type(one)) else one for one in made]

    def _emit_added(self, source_index: int, item: AnyItem) -> _OutputItem:
        self._start()
        if source_index in self._items:
            return self._items[source_index]
        opened = self._emitter.add(self._decode_item(item))
        output = self._items[source_index] = _OutputItem(opened.index, opened.id)
        return output

    def _decode_item(self, item: AnyItem) -> AnyItem:
        return original(decode_messages([item], "output", self._dialect, Losses(), answer=True)[0], self._names)

    def _end_item(self, source_index: int, item: AnyItem, *, decoded: bool = False) -> None:
        output = self._items.get(source_index) or self._emit_added(source_index, item)
        if not output.open:
            return
        self._assembler.feed(ev.OutputItemDone(output_index=source_index, item=item))
        item = item if decoded else self._decode_item(item)
        opened = OpenItem(self._emitter, output.index, output.id)
        if not output.has_events:
            tell(opened, item)
        for key, still_open in output.parts.items():
            if still_open:
                self._end_part(source_index, output, key, item)
        if output.has_events and not output.parts:
            self._send_rest(source_index, output, ("", 0), item)
        output.open, output.item = False, item
        opened.done(item)

    def _end_part(self, source_index: int, output: _OutputItem, key: tuple[str, int], item: AnyItem) -> None:
        kind, index = key
        parts: Any = getattr(item, kind, None) or []
        part = parts[index] if not isinstance(parts, str) and index < len(parts) else None
        if part is not None:
            self._send_rest(source_index, output, key, part)
        done = ev.ReasoningSummaryPartDone if kind == "summary" else ev.ContentPartDone
        self._forward(done(**output.place(key), part=part))

    # -- events inside an item

    def _of_item(self, event: Any) -> None:
        kind: type = event.__class__
        if kind not in ABOUT:
            event = _renamed(event) if isinstance(event, OLD_NAMES) else event
            kind = struct_of(event)
        output = self._items.get(event.output_index)
        if output is None:
            about = ABOUT.get(kind)
            item = UNANNOUNCED.get(about, UNANNOUNCED[OutputText]) if about is not None else None
            if item is None or isinstance(item, Unknown):
                return
            output = self._emit_added(event.output_index, replace(item, status="in_progress"))
        grows = kind in GROWS
        if not grows and kind in HELD:
            self._strip(event, HELD[kind])
        key = _key(event)
        source_index = event.output_index
        sent = "" if grows or kind not in DELTAS else self._assembler.sent(source_index, *key)
        self._assembler.feed(event)
        if not output.open:
            return
        output.has_events = True
        event.output_index = output.index
        if self._names and isinstance(event, ev.FunctionCallArgumentsDone) and event.name:
            event.name = self._names.get(event.name, event.name)
        if output.id:
            event.item_id = output.id
        # Nearly every event is another piece of an open part.
        if key[0] and not (grows and output.parts.get(key)) and not self._in_its_part(event, output, key):
            return
        if kind in DELTAS:
            delta, field = DELTAS[kind]
            self._complete(output, key, delta, getattr(event, field) or "", sent)
            output.ended.add(key)
        elif isinstance(event, PART_DONE) and event.part is not None:
            self._send_rest(source_index, output, key, event.part)
        self._forward(event)

    def _strip(self, event: Any, field: str) -> None:
        """Report what the event's decoder left out of its part or annotation."""
        held = getattr(event, field)
        if held is not None and held.leftovers is not None:
            kind, index = _key(event)
            path = f"output[{event.output_index}].{kind}[{index}]"
            path += f".annotations[{event.annotation_index}]" if field == "annotation" else ""
            setattr(event, field, replace(held, leftovers=report_repairs(held.leftovers, path, self.losses)))

    def _in_its_part(self, event: Any, output: _OutputItem, key: tuple[str, int]) -> bool:
        """Whether the event is valid here; opens its part if it was not announced."""
        still_open = output.parts.get(key)
        if isinstance(event, PART_ADDED):
            output.parts[key] = True
            return still_open is None
        if still_open is None:
            self._open_part(event, output, key)
        elif not still_open:
            return False
        output.parts[key] = not isinstance(event, PART_DONE)
        return True

    def _open_part(self, event: Any, output: _OutputItem, key: tuple[str, int]) -> None:
        if key[0] == "summary":
            self._forward(ev.ReasoningSummaryPartAdded(**output.place(key), part=SummaryText(text="")))
            return
        part = event.part if isinstance(event, ev.ContentPartDone) else None
        about = ABOUT.get(struct_of(event), OutputText) if part is None else struct_of(part)
        self._forward(ev.ContentPartAdded(**output.place(key), part=EMPTY.get(about, EMPTY[OutputText])))

    def _send_rest(self, source_index: int, output: _OutputItem, key: tuple[str, int], whole: Any) -> None:
        """Send what a complete part or item has beyond its deltas."""
        kind = next((kind for kind in TEXTS if isinstance(whole, kind)), None)
        if kind is not None:
            delta, _, field = TEXTS[kind]
            self._complete(output, key, delta, getattr(whole, field) or "", self._assembler.sent(source_index, *key))

    def _complete(self, output: _OutputItem, key: tuple[str, int], delta: Any, text: str, sent: str) -> None:
        """Send the rest of a complete text as a delta. One that does not begin with what was sent is reported."""
        if text == sent:
            return
        if text.startswith(sent) and key not in output.ended:
            self._forward(delta(**output.place(key), delta=text[len(sent) :]))
        else:
            self.losses.changed(
                ".".join([f"output[{output.index}]", *([f"{key[0]}[{key[1]}]"] if key[0] else [])]), OTHER_TEXT
            )


def _key(event: object) -> tuple[str, int]:
    """The part of an event; `None` for an event of the item itself."""
    if isinstance(event, ev.OfPart):
        return "content", event.content_index
    if isinstance(event, ev.OfSummary):
        return "summary", event.summary_index
    return "", 0


def _renamed(event: Any) -> Any:
    """An event of raw reasoning with its present name."""
    fields = {name: getattr(event, name) for name in struct_of(event).__struct_fields__}
    return (ev.ReasoningTextDelta if isinstance(event, ev.ReasoningDelta) else ev.ReasoningTextDone)(**fields)


# --- to a client ------------------------------------------------------------------------------------------------------


class StreamEncoder:
    """Converts events to those of a server: without leftovers, and with every key that a strict client expects."""

    def __init__(self, *, request: Request | None = None, dialect: ResponsesDialect = OPENAI) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect

    def feed(self, event: ev.AnyEvent) -> list[ev.AnyEvent]:
        """The event to send; the same object if it has no leftovers."""
        if isinstance(event, ev.OfResponse):
            response, lost = encode_response(event.response, request=self._request, dialect=self._dialect)
            if isinstance(event, ev.TERMINAL):
                self.losses += lost
            return [replace(event, response=response)]
        if isinstance(event, ev.ErrorEvent):
            # The vendor's own client requires these keys in either shape.
            if event.error is None:
                return [writing(event, ("code", "message", "param"))]
            return [replace(event, error=with_required(event.error))]
        if isinstance(event, ITEM) and event.item is not None:
            item = encode_item(event.item, event.output_index, self._dialect, Losses())
            return [event if item is event.item else replace(event, item=item)]
        if isinstance(event, PART) and event.part is not None:
            return [self._without_leftovers(event, "part", event.part)]
        if isinstance(event, ev.OutputTextAnnotationAdded) and event.annotation is not None:
            return [self._without_leftovers(event, "annotation", event.annotation)]
        return [event]

    def close(self) -> list[ev.AnyEvent]:
        """No events: none are held back."""
        return []

    def _without_leftovers(self, event: Any, field: str, part: Any) -> Any:
        # Losses are reported once, with the terminal event's response.
        found = part if isinstance(part, Unknown) else without_leftovers(part, "", Losses())
        return event if found is part else replace(event, **{field: found})


decode_stream = StreamDecoder
encode_stream = StreamEncoder
