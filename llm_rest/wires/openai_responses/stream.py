"""Streams of `POST /v1/responses`, which are the events of the format itself, put into legal order.

Before changing this file, know what hosts leave out or get wrong ("Streaming" of the OpenAI reference, the Open Responses
document and recorded traffic, read 2026-11-20): sequence numbers, the announcement of an item or a part, all deltas of a
text, the name of raw reasoning, an `item_id` that stays the same, the output of the terminal event. What is in order passes
as it came, with its number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...losses import Losses
from ...responses import events as ev
from ...responses.assemble import Assembler
from ...responses.collect import UNANNOUNCED
from ...responses.emit import Emitter, OpenItem, tell
from ...responses.items import CodeInterpreterCall, CustomToolCall, FunctionCall, McpCall, Message
from ...responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText
from ...unknown import Unknown, base, extras, with_extras
from ...vendors.dialects import ResponsesDialect
from .content import strip_parts
from .messages import decode_items
from .response import decode_response, encode_item, encode_response, with_required, writing
from .tools import names_of, original, with_original_names

if TYPE_CHECKING:
    from ...responses.items import AnyItem
    from ...responses.request import Request
    from ...responses.response import Response


# --- from a host ----------------------------------------------------------------------------------------------------

ABOUT: dict[type, type] = {
    ev.ContentPartAdded: Message,
    ev.OutputTextDelta: OutputText,
    ev.OutputTextDone: OutputText,
    ev.OutputTextAnnotationAdded: OutputText,
    ev.RefusalDelta: RefusalPart,
    ev.RefusalDone: RefusalPart,
    ev.ReasoningTextDelta: ReasoningText,
    ev.ReasoningTextDone: ReasoningText,
    ev.ReasoningSummaryPartAdded: SummaryText,
    ev.ReasoningSummaryTextDelta: SummaryText,
    ev.ReasoningSummaryTextDone: SummaryText,
    ev.FunctionCallArgumentsDelta: FunctionCall,
    ev.FunctionCallArgumentsDone: FunctionCall,
    ev.CustomToolCallInputDelta: CustomToolCall,
    ev.CustomToolCallInputDone: CustomToolCall,
    ev.McpCallArgumentsDelta: McpCall,
    ev.McpCallArgumentsDone: McpCall,
    ev.CodeInterpreterCodeDelta: CodeInterpreterCall,
    ev.CodeInterpreterCodeDone: CodeInterpreterCall,
}
"""What an event is about, for the item or part that nobody announced."""

EMPTY: dict[type, Any] = {
    OutputText: OutputText(text="", annotations=[]),
    RefusalPart: RefusalPart(refusal=""),
    ReasoningText: ReasoningText(text=""),
}

DELTAS: dict[type, tuple[type, str]] = {
    ev.OutputTextDone: (ev.OutputTextDelta, "text"),
    ev.RefusalDone: (ev.RefusalDelta, "refusal"),
    ev.ReasoningTextDone: (ev.ReasoningTextDelta, "text"),
    ev.ReasoningSummaryTextDone: (ev.ReasoningSummaryTextDelta, "text"),
    ev.FunctionCallArgumentsDone: (ev.FunctionCallArgumentsDelta, "arguments"),
    ev.CustomToolCallInputDone: (ev.CustomToolCallInputDelta, "input"),
    ev.McpCallArgumentsDone: (ev.McpCallArgumentsDelta, "arguments"),
    ev.CodeInterpreterCodeDone: (ev.CodeInterpreterCodeDelta, "code"),
}
"""The delta that an end stands for where none came, and the field that holds the whole."""

GROWS = frozenset(delta for delta, _ in DELTAS.values())

# Tuples, because `isinstance(x, A | B)` builds the union anew for every event.
ITEM = (ev.OutputItemAdded, ev.OutputItemDone)
PART = (ev.ContentPartAdded, ev.ContentPartDone)
PART_ADDED = (ev.ContentPartAdded, ev.ReasoningSummaryPartAdded)
PART_DONE = (ev.ContentPartDone, ev.ReasoningSummaryPartDone)


class _Place:
    """Where one item of the output stands; `parts` says of each part that was announced whether it is still open."""

    __slots__ = ("grown", "heard", "id", "index", "open", "parts")

    def __init__(self, index: int, item_id: str) -> None:
        self.index = index
        self.id = item_id
        self.open = True
        self.heard = False  # whether anything was said between its beginning and its end
        self.parts: dict[tuple[str, int], bool] = {}
        self.grown: set[tuple[str, int]] = set()


class StreamDecoder:
    """`feed` takes a host's event and gives the events it makes; after the terminal event there are none."""

    def __init__(self, request: Request | None, dialect: ResponsesDialect) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        self._to = Emitter()
        self._seen = Assembler()
        self._places: dict[int, _Place] = {}
        self._begun: Response | None = None
        self._failing = False
        self._over = False
        self._names = names_of(request)

    def feed(self, event: ev.AnyEvent) -> list[ev.AnyEvent]:
        """The events that this one makes."""
        if self._over or (self._failing and not isinstance(event, ev.ResponseFailed)):
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
            self._pass(event)
        return self._to.take()

    def close(self) -> list[ev.AnyEvent]:
        """The failed response an error stands for, where none followed; a stream that did not tell its end was cut."""
        if self._failing and not self._over:
            failed, _ = decode_response(self._seen.response, request=self._request, dialect=self._dialect)
            self._to.finish(failed)
            self._over = True
        return self._to.take()

    def _pass(self, event: Any) -> None:
        number = self._to.number()
        if isinstance(event, Unknown):
            event["sequence_number"] = number
        else:
            event.sequence_number = number
        self._to.send(event)

    # -- the response

    def _begin(self, event: Any) -> None:
        self._seen.feed(event)
        if self._names and self._request is not None:
            event.response = with_original_names(event.response, self._request, self._names)
        if self._places or (self._begun is not None and isinstance(event, ev.ResponseCreated)):
            return
        if self._begun is None and not isinstance(event, ev.ResponseCreated):
            self._to.send(ev.ResponseCreated(sequence_number=self._to.number(), response=event.response))
        self._begun = event.response
        self._pass(event)

    def _start(self) -> None:
        """Begin, where the host forgot to."""
        if self._begun is None:
            self._begun = self._seen.response
            self._to.start(self._begun)

    def _fail(self, event: ev.ErrorEvent) -> None:
        self._start()
        self._seen.feed(event)
        self._pass(event)
        # Most hosts send the failed response next, which knows more than the error.
        self._failing = True

    def _end(self, event: Any) -> None:
        if self._begun is None:
            self._begun = event.response
            self._to.start(event.response)
        self._seen.feed(event)
        response, self.losses[:] = decode_response(self._seen.response, request=self._request, dialect=self._dialect)
        for index, item in enumerate(response.output):
            place = self._places.get(index)
            if (place is None or place.open) and response.status != "failed":
                self._end_item(index, item, decoded=True)
        event.response = response
        self._pass(event)
        self._over = True

    # -- items

    def _of_whole_item(self, event: ev.OutputItemAdded | ev.OutputItemDone) -> list[ev.AnyEvent]:
        """The events for an item's beginning or end, which has what else the host said with it."""
        if isinstance(event, ev.OutputItemAdded):
            self._seen.feed(event)
            if event.item is not None:
                self._announce(event.output_index, event.item)
        elif event.item is not None:
            self._end_item(event.output_index, event.item)
        made: list[Any] = self._to.take()
        unknown = extras(event)
        return [with_extras(one, unknown) if unknown and isinstance(event, type(one)) else one for one in made]

    def _announce(self, theirs: int, item: AnyItem) -> _Place:
        self._start()
        if theirs in self._places:
            return self._places[theirs]
        opened = self._to.add(self._decoded(item))
        place = self._places[theirs] = _Place(opened.index, opened.id)
        return place

    def _decoded(self, item: AnyItem) -> AnyItem:
        return original(decode_items([item], "output", self._dialect, Losses())[0], self._names)

    def _end_item(self, theirs: int, item: AnyItem, *, decoded: bool = False) -> None:
        place = self._places.get(theirs) or self._announce(theirs, item)
        if not place.open:
            return
        self._seen.feed(ev.OutputItemDone(output_index=theirs, item=item))
        item = item if decoded else self._decoded(item)
        opened = OpenItem(self._to, place.index, place.id)
        if not place.heard:
            tell(opened, item)
        for (kind, index), still_open in place.parts.items():
            if still_open:
                self._end_part(place, kind, index, item)
        place.open = False
        opened.done(item)

    def _end_part(self, place: _Place, kind: str, index: int, item: AnyItem) -> None:
        parts: Any = getattr(item, "summary" if kind == "summary" else "content", None) or []
        part = parts[index] if not isinstance(parts, str) and index < len(parts) else None
        where: dict[str, Any] = {"item_id": place.id, "output_index": place.index}
        if kind == "summary":
            self._pass(ev.ReasoningSummaryPartDone(**where, summary_index=index, part=part))
        else:
            self._pass(ev.ContentPartDone(**where, content_index=index, part=part))

    # -- what happens inside an item

    def _of_item(self, event: Any) -> None:
        kind: type = event.__class__
        if kind not in ABOUT:
            event = _by_its_name_here(event) if isinstance(event, OLD_NAMES) else event
            kind = _kind(event)
        place = self._places.get(event.output_index)
        if place is None:
            about = ABOUT.get(kind)
            item = UNANNOUNCED.get(about, UNANNOUNCED[OutputText]) if about is not None else None
            if item is None or isinstance(item, Unknown):
                return
            place = self._announce(event.output_index, replace(item, status="in_progress"))
        self._seen.feed(event)
        if not place.open:
            return
        place.heard = True
        event.output_index = place.index
        if self._names and isinstance(event, ev.FunctionCallArgumentsDone) and event.name:
            event.name = self._names.get(event.name, event.name)
        if place.id:
            event.item_id = place.id
        key = _key(event)
        grows = kind in GROWS
        # Nearly every event is one more piece of a part that is open.
        if key[0] and not (grows and place.parts.get(key)) and not self._in_its_part(event, place, key):
            return
        if grows:
            place.grown.add(key)
        elif kind in DELTAS and key not in place.grown:
            self._grow(event, *DELTAS[kind])
        self._pass(event)

    def _in_its_part(self, event: Any, place: _Place, key: tuple[str, int]) -> bool:
        """Whether the event may stand here; opens its part where nobody announced it."""
        still_open = place.parts.get(key)
        if isinstance(event, PART_ADDED):
            place.parts[key] = True
            return still_open is None
        if still_open is None:
            self._open_part(event, place, key)
        elif not still_open:
            return False
        place.parts[key] = not isinstance(event, PART_DONE)
        return True

    def _open_part(self, event: Any, place: _Place, key: tuple[str, int]) -> None:
        where: dict[str, Any] = {"item_id": place.id, "output_index": place.index}
        if key[0] == "summary":
            self._pass(ev.ReasoningSummaryPartAdded(**where, summary_index=key[1], part=SummaryText(text="")))
            return
        about = _kind(event.part) if isinstance(event, ev.ContentPartDone) else ABOUT.get(_kind(event), OutputText)
        self._pass(ev.ContentPartAdded(**where, content_index=key[1], part=EMPTY.get(about, EMPTY[OutputText])))

    def _grow(self, event: Any, kind: type, field: str) -> None:
        """The one delta that a whole text stands for."""
        text = getattr(event, field)
        if text:
            places = ("item_id", "output_index", "content_index", "summary_index")
            where = {name: getattr(event, name) for name in places if hasattr(event, name)}
            self._pass(kind(**where, delta=text))


def _kind(event: object) -> type:
    """The class of an event or part, whether or not it came with unknown fields."""
    kind = type(event)
    return kind.__mro__[1] if hasattr(kind, "__extras__") else kind


def _key(event: object) -> tuple[str, int]:
    if isinstance(event, ev.OfPart):
        return "part", event.content_index
    if isinstance(event, ev.OfSummary):
        return "summary", event.summary_index
    return "", 0


OLD_NAMES = (ev.ReasoningDelta, ev.ReasoningDone)


def _by_its_name_here(event: Any) -> ev.ReasoningTextDelta | ev.ReasoningTextDone:
    plain: Any = base(event)
    fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
    return ev.ReasoningTextDelta(**fields) if isinstance(plain, ev.ReasoningDelta) else ev.ReasoningTextDone(**fields)


# --- towards a client -----------------------------------------------------------------------------------------------


class StreamEncoder:
    """`feed` takes an event and gives the event that is sent for it."""

    def __init__(self, request: Request | None, dialect: ResponsesDialect) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect

    def feed(self, event: ev.AnyEvent) -> list[ev.AnyEvent]:
        """The event as it is sent; the very same where nothing of ours is in it."""
        if isinstance(event, ev.OfResponse):
            response, lost = encode_response(event.response, request=self._request, dialect=self._dialect)
            if isinstance(event, ev.TERMINAL):
                self.losses += lost
            return [replace(event, response=response)]
        if isinstance(event, ev.ErrorEvent):
            # The vendor's own client wants these keys in either shape.
            if event.error is None:
                return [writing(event, "code", "message", "param")]
            return [replace(event, error=with_required(event.error))]
        if isinstance(event, ITEM) and event.item is not None:
            item = encode_item(event.item, event.output_index, self._dialect, Losses())
            return [event if item is event.item else replace(event, item=item)]
        if isinstance(event, PART) and event.part is not None:
            return [self._without_ours(event, "part", event.part)]
        if isinstance(event, ev.OutputTextAnnotationAdded) and event.annotation is not None:
            return [self._without_ours(event, "annotation", event.annotation)]
        return [event]

    def close(self) -> list[ev.AnyEvent]:
        """Nothing is held back."""
        return []

    def _without_ours(self, event: Any, field: str, part: Any) -> Any:
        changes: dict[str, Any] = {}
        # What is lost is reported once, with the terminal event's response.
        strip_parts([part], field, "", Losses(), changes)
        return replace(event, **{field: changes[field][0]}) if changes else event
