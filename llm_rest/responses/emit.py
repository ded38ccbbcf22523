"""Emission of Responses events in the required order, with sequence numbers, indices and all steps of every item.

A wire's stream decoder calls `add`, `text`, `done`, and an `Emitter` makes the events. Before changing this file, know
their order (Responses reference, "Streaming", read 2026-11-20): created, in_progress, then for each item added, its
inner events and done, then exactly one terminal event. Items may be open side by side, distinguished by `output_index`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from ..unknown import Unknown, given
from . import events as ev
from .items import (
    AnyItem,
    CodeInterpreterCall,
    Compaction,
    CustomToolCall,
    FunctionCall,
    ImageGenerationCall,
    ItemBase,
    McpCall,
    McpListTools,
    Message,
    Reasoning,
    WebSearchCall,
)
from .parts import OutputText, ReasoningText, RefusalPart, SummaryText

if TYPE_CHECKING:
    from .parts import AnyAnnotation, ContentPart, Logprob
    from .response import Response, Usage


class Step(Protocol):
    """An event class whose only data is its item."""

    def __call__(self, *, sequence_number: int, item_id: str, output_index: int) -> Any: ...


TEXTS: dict[type, tuple[type, type, str]] = {
    OutputText: (ev.OutputTextDelta, ev.OutputTextDone, "text"),
    RefusalPart: (ev.RefusalDelta, ev.RefusalDone, "refusal"),
    ReasoningText: (ev.ReasoningTextDelta, ev.ReasoningTextDone, "text"),
    SummaryText: (ev.ReasoningSummaryTextDelta, ev.ReasoningSummaryTextDone, "text"),
    FunctionCall: (ev.FunctionCallArgumentsDelta, ev.FunctionCallArgumentsDone, "arguments"),
    CustomToolCall: (ev.CustomToolCallInputDelta, ev.CustomToolCallInputDone, "input"),
    McpCall: (ev.McpCallArgumentsDelta, ev.McpCallArgumentsDone, "arguments"),
    CodeInterpreterCall: (ev.CodeInterpreterCodeDelta, ev.CodeInterpreterCodeDone, "code"),
}
"""The events of incremental texts, by item or part: of a piece, of the end, and its field with the complete text."""

STEPS: dict[type, tuple[Step, Step | None, Step]] = {
    WebSearchCall: (ev.WebSearchInProgress, ev.WebSearchSearching, ev.WebSearchCompleted),
    CodeInterpreterCall: (ev.CodeInterpreterInProgress, ev.CodeInterpreterInterpreting, ev.CodeInterpreterCompleted),
    McpCall: (ev.McpCallInProgress, None, ev.McpCallCompleted),
    McpListTools: (ev.McpListToolsInProgress, None, ev.McpListToolsCompleted),
    ImageGenerationCall: (
        ev.ImageGenerationInProgress,
        ev.ImageGenerationGenerating,
        ev.ImageGenerationCompleted,
    ),
}
"""The progress events of a hosted tool: when it is chosen, when its input is complete, when its result is available."""

FAILED: dict[type, Step] = {McpCall: ev.McpCallFailed, McpListTools: ev.McpListToolsFailed}
"""The last progress event of a tool that failed, where there is a separate one."""

PARTS = (OutputText, RefusalPart, ReasoningText)
"""The parts of content with incremental text."""

_ENDING = ("completed_at", "error", "incomplete_details")
"""The fields that are known only at the end of a response."""


class Emitter:
    """Collects the events of one answer. `take` returns those added since the last call."""

    __slots__ = ("_events", "_items", "_next")

    def __init__(self, number: int = 0, items: int = 0) -> None:
        """`number` and `items` are those of a stream that is continued."""
        self._events: list[ev.AnyEvent] = []
        self._next = number
        self._items = items

    def take(self) -> list[ev.AnyEvent]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    def number(self) -> int:
        """The next sequence number."""
        number = self._next
        self._next = number + 1
        return number

    def send(self, event: ev.AnyEvent) -> None:
        """Add an event that was made elsewhere."""
        self._events.append(event)

    def start(self, response: Response, usage: Usage | None = None) -> None:
        """Begin: `response` is what is known before any output, and `usage` the token counts so far."""
        ending = {name: None for name in _ENDING if given(getattr(response, name))}
        started = replace(response, status="in_progress", output=[], usage=usage, **ending)
        self.send(ev.ResponseCreated(sequence_number=self.number(), response=started))
        self.send(ev.ResponseInProgress(sequence_number=self.number(), response=started))

    def add(self, item: AnyItem) -> OpenItem:
        """Begin an item. `item` is its known part, with the id that its events will have."""
        index = self._items
        self._items = index + 1
        self.send(ev.OutputItemAdded(sequence_number=self.number(), output_index=index, item=item))
        return OpenItem(self, index, item.id or "")

    def whole(self, item: AnyItem) -> None:
        """Begin and end an item that is known completely, with every event between."""
        opened = self.add(_skeleton(item))
        tell(opened, item)
        opened.done(item)

    def finish(self, response: Response) -> None:
        """End with the complete response; its status selects the event."""
        kind = _TERMINAL.get(response.status, ev.ResponseIncomplete)
        self.send(kind(sequence_number=self.number(), response=response))

    def error(self, error: ev.StreamError) -> None:
        """Emit an error event; `finish` with a failed response follows."""
        self.send(ev.ErrorEvent(sequence_number=self.number(), error=error))


_TERMINAL: dict[str, type[ev.ResponseCompleted | ev.ResponseIncomplete | ev.ResponseFailed]] = {
    "completed": ev.ResponseCompleted,
    "failed": ev.ResponseFailed,
}


class OpenItem:
    """An item in progress. Its parts are sequential; each has its own index."""

    __slots__ = ("_annotations", "_kind", "_like", "_part", "_summary", "_to", "id", "index")

    def __init__(self, to: Emitter, index: int, item_id: str, part: int = -1, summary: int = -1) -> None:
        self._to = to
        self.index = index
        self.id = item_id
        self._part = part
        self._summary = summary
        self._annotations = 0
        self._kind: type | None = None  # of the incremental text
        self._like: Any = None  # an event with a piece of it: copies are cheap

    def part(self, part: ContentPart | SummaryText) -> None:
        """Begin a part; `part` is empty except for its type."""
        self._kind = None
        if isinstance(part, SummaryText):
            self._summary += 1
            self._to.send(ev.ReasoningSummaryPartAdded(**self._place(SummaryText), part=part))
        else:
            self._part += 1
            self._annotations = 0
            self._to.send(ev.ContentPartAdded(**self._place(OutputText), part=part))

    def grow(self, kind: type, delta: str, logprobs: list[Logprob] | None = None) -> None:
        """Add a piece to the text of a part or an item of this type; an empty piece adds no event."""
        if not delta:
            return
        to = self._to
        if self._kind is kind:
            event = replace(self._like, sequence_number=to.number(), delta=delta)
        else:
            self._kind, self._like = kind, TEXTS[kind][0](**self._place(kind), delta="")
            event = replace(self._like, delta=delta)
        if kind is OutputText:
            event.logprobs = logprobs or []
        to.send(event)

    def annotation(self, annotation: AnyAnnotation) -> None:
        """Add an annotation (a source) to the text of the open part."""
        index = self._annotations
        self._annotations = index + 1
        place = self._place(OutputText)
        self._to.send(ev.OutputTextAnnotationAdded(**place, annotation_index=index, annotation=annotation))

    def end(self, whole: AnyItem | ContentPart | SummaryText) -> None:
        """End the text of the open part or of the item; `text` is the complete text."""
        kind = _found(TEXTS, whole)
        if kind is not None:
            _, done, field = TEXTS[kind]
            event = done(**self._place(kind), **{field: getattr(whole, field) or ""})
            if isinstance(whole, OutputText):
                event.logprobs = whole.logprobs or []
            self._to.send(event)
        self.end_part(whole)

    def end_part(self, whole: AnyItem | ContentPart | SummaryText) -> None:
        """End the open part; its item stays open."""
        if isinstance(whole, SummaryText):
            self._to.send(ev.ReasoningSummaryPartDone(**self._place(SummaryText), part=whole))
        elif not isinstance(whole, ItemBase):
            self._to.send(ev.ContentPartDone(**self._place(OutputText), part=whole))

    def step(self, kind: Step) -> None:
        """Emit a progress event of a built-in tool."""
        self._to.send(kind(**self._place(None)))

    def begin_tool(self, item: AnyItem) -> bool:
        """Emit the event that a hosted tool was chosen; returns whether its progress is reported."""
        kind = _found(STEPS, item)
        if kind is not None:
            self.step(STEPS[kind][0])
        return kind is not None

    def end_input(self, item: AnyItem, *, streamed: bool = False) -> None:
        """End the input of a hosted tool; input that was already `streamed` is not repeated."""
        if (text := _found(TEXTS, item)) is not None:
            self.grow(text, "" if streamed else getattr(item, TEXTS[text][2]) or "")
            self.end(item)
        if (kind := _found(STEPS, item)) is not None and (step := STEPS[kind][1]):
            self.step(step)

    def end_tool(self, item: AnyItem) -> None:
        """Emit the event that the result of a hosted tool is available."""
        kind = _found(STEPS, item)
        if kind is not None:
            self.step(FAILED[kind] if kind in FAILED and given(getattr(item, "error", None)) else STEPS[kind][2])

    def done(self, item: AnyItem) -> None:
        """End the item; `item` is the complete item."""
        to = self._to
        to.send(ev.OutputItemDone(sequence_number=to.number(), output_index=self.index, item=item))

    def _place(self, kind: type | None) -> dict[str, Any]:
        place: dict[str, Any] = {"sequence_number": self._to.number(), "item_id": self.id, "output_index": self.index}
        if kind is SummaryText:
            place["summary_index"] = self._summary
        elif kind in PARTS:
            place["content_index"] = self._part
        return place


def _found(table: dict[type, Any], item: object) -> type | None:
    """The entry of a table for an item, whose type may be a subclass with undeclared fields."""
    return next((kind for kind in table if isinstance(item, kind)), None)


# --- a whole item ---------------------------------------------------------------------------------------------------


def _skeleton(item: AnyItem) -> AnyItem:
    """The item as it is announced: in progress and empty."""
    match item:
        case Message():
            return replace(item, status="in_progress", content=[])
        case FunctionCall() | McpCall():
            return replace(item, status="in_progress", arguments="")
        case CustomToolCall():
            return replace(item, input="")
        case Reasoning():
            return replace(item, status="in_progress", summary=[], content=None, encrypted_content=None)
        case CodeInterpreterCall():
            return replace(item, status="in_progress", code="", outputs=None)
        case WebSearchCall() | ImageGenerationCall():
            return replace(item, status="in_progress")
        case _:
            return item


def tell(opened: OpenItem, item: AnyItem) -> None:
    """The events between an item's beginning and its end, every text in one piece."""
    match item:
        case Message(content=content):
            for part in [OutputText(text=content, annotations=[])] if isinstance(content, str) else content:
                _part(opened, part)
        case Reasoning():
            for part in (*(item.summary or ()), *(item.content or ())):
                _part(opened, part)
        case FunctionCall() | CustomToolCall():
            opened.end_input(item)
        case Compaction():
            opened.step(ev.CompactionCompacting)
        case Unknown():
            pass
        case _ if opened.begin_tool(item):
            opened.end_input(item)
            opened.end_tool(item)
        case _:
            pass


def _part(opened: OpenItem, part: ContentPart | SummaryText) -> None:
    match part:
        case OutputText(text=text):
            opened.part(OutputText(text="", annotations=[]))
            opened.grow(OutputText, text, part.logprobs or None)
            for annotation in part.annotations or ():
                opened.annotation(annotation)
        case RefusalPart(refusal=refusal):
            opened.part(RefusalPart(refusal=""))
            opened.grow(RefusalPart, refusal)
        case ReasoningText(text=text):
            opened.part(ReasoningText(text=""))
            opened.grow(ReasoningText, text)
        case SummaryText(text=text):
            opened.part(SummaryText(text=""))
            opened.grow(SummaryText, text)
        case _:
            opened.part(part)
    opened.end(part)
