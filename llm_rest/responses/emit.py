"""Events in legal order: numbers, places and the steps that every item goes through.

A wire's stream decoder says what happens (`add`, `text`, `done`), an `Emitter` turns it into events. Before changing this file,
know the order it keeps (Responses reference, "Streaming", read 2026-11-20): created, in_progress, then for each item added,
its inner events and done, then exactly one terminal event. Items may be open side by side; `output_index` tells them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

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
    McpCall,
    McpListTools,
    Message,
    Reasoning,
    WebSearchCall,
)
from .parts import OutputText, ReasoningText, RefusalPart, SummaryText

if TYPE_CHECKING:
    from collections.abc import Callable

    from .parts import AnyAnnotation, ContentPart, Logprob
    from .response import Response, Usage


class Step(Protocol):
    """An event class that says only which item it is about."""

    def __call__(self, *, sequence_number: int, item_id: str, output_index: int) -> Any: ...


D = TypeVar(
    "D",
    ev.OutputTextDelta,
    ev.RefusalDelta,
    ev.ReasoningTextDelta,
    ev.ReasoningSummaryTextDelta,
    ev.FunctionCallArgumentsDelta,
)
"""An event with a piece of text."""

_ENDING = ("completed_at", "error", "incomplete_details")
"""What only the end of a response tells."""


class Emitter:
    """Collects the events of one answer. `take` hands over what has come together since the last time."""

    __slots__ = ("_events", "_items", "_next")

    def __init__(self) -> None:
        self._events: list[ev.AnyEvent] = []
        self._next = 0
        self._items = 0

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
        """Begin: `response` is what is known before any output, and `usage` what was counted by then."""
        ending = {name: None for name in _ENDING if given(getattr(response, name))}
        begun = replace(response, status="in_progress", output=[], usage=usage, **ending)
        self.send(ev.ResponseCreated(sequence_number=self.number(), response=begun))
        self.send(ev.ResponseInProgress(sequence_number=self.number(), response=begun))

    def add(self, item: AnyItem) -> OpenItem:
        """Begin an item. `item` is what is known of it, under the id that its events will name."""
        index = self._items
        self._items = index + 1
        self.send(ev.OutputItemAdded(sequence_number=self.number(), output_index=index, item=item))
        found = item.get("id") if isinstance(item, Unknown) else item.id
        return OpenItem(self, index, found if isinstance(found, str) else "")

    def whole(self, item: AnyItem) -> None:
        """Begin and end an item that is known completely, with every step on the way."""
        opened = self.add(_skeleton(item))
        tell(opened, item)
        opened.done(item)

    def finish(self, response: Response) -> None:
        """End with the complete response; its status chooses the event."""
        kind = _TERMINAL.get(response.status, ev.ResponseIncomplete)
        self.send(kind(sequence_number=self.number(), response=response))

    def error(self, error: ev.StreamError) -> None:
        """Say what went wrong; `finish` with a failed response follows."""
        self.send(ev.ErrorEvent(sequence_number=self.number(), error=error))


_TERMINAL: dict[str, type[ev.ResponseCompleted | ev.ResponseIncomplete | ev.ResponseFailed]] = {
    "completed": ev.ResponseCompleted,
    "failed": ev.ResponseFailed,
}


class OpenItem:
    """An item whose events are under way. Parts come one after another; each has its own index."""

    __slots__ = ("_annotations", "_like", "_part", "_summary", "_to", "id", "index")

    def __init__(self, to: Emitter, index: int, item_id: str) -> None:
        self._to = to
        self.index = index
        self.id = item_id
        self._part = -1
        self._summary = -1
        self._annotations = 0
        self._like: Any = None  # an event with a piece of what is open: copies of it are cheap

    # -- parts of content

    def part(self, part: ContentPart) -> None:
        """Begin a part; `part` is empty but for its kind."""
        self._part += 1
        self._annotations = 0
        self._like = None
        self._to.send(ev.ContentPartAdded(**self._place(), part=part))

    def text(self, delta: str, logprobs: list[Logprob] | None = None) -> None:
        """A piece of text; an empty one says nothing."""
        if delta:
            event = self._piece(ev.OutputTextDelta, self._place, delta)
            event.logprobs = logprobs or []

    def refusal(self, delta: str) -> None:
        """A piece of a refusal."""
        if delta:
            self._piece(ev.RefusalDelta, self._place, delta)

    def reasoning(self, delta: str) -> None:
        """A piece of raw reasoning."""
        if delta:
            self._piece(ev.ReasoningTextDelta, self._place, delta)

    def annotation(self, annotation: AnyAnnotation) -> None:
        """A source of the text of the open part."""
        index = self._annotations
        self._annotations = index + 1
        self._to.send(ev.OutputTextAnnotationAdded(**self._place(), annotation_index=index, annotation=annotation))

    def end_part(self, part: ContentPart) -> None:
        """The open part is complete: this is all of it."""
        match part:
            case OutputText(text=text):
                logprobs = part.logprobs if given(part.logprobs) else []
                self._to.send(ev.OutputTextDone(**self._place(), text=text, logprobs=logprobs))
            case RefusalPart(refusal=refusal):
                self._to.send(ev.RefusalDone(**self._place(), refusal=refusal))
            case ReasoningText(text=text):
                self._to.send(ev.ReasoningTextDone(**self._place(), text=text))
            case _:
                pass
        self._to.send(ev.ContentPartDone(**self._place(), part=part))

    # -- a summary of reasoning

    def summary_part(self) -> None:
        """Begin a part of the summary."""
        self._summary += 1
        self._like = None
        self._to.send(ev.ReasoningSummaryPartAdded(**self._summary_place(), part=SummaryText(text="")))

    def summary(self, delta: str) -> None:
        """A piece of the open summary part."""
        if delta:
            self._piece(ev.ReasoningSummaryTextDelta, self._summary_place, delta)

    def end_summary(self, part: SummaryText) -> None:
        """The open summary part is complete."""
        self._to.send(ev.ReasoningSummaryTextDone(**self._summary_place(), text=part.text))
        self._to.send(ev.ReasoningSummaryPartDone(**self._summary_place(), part=part))

    # -- calls

    def arguments(self, delta: str) -> None:
        """A piece of a function call's arguments."""
        if delta:
            self._piece(ev.FunctionCallArgumentsDelta, self._item_place, delta)

    def end_arguments(self, text: str) -> None:
        """The arguments of a function call are complete."""
        self._to.send(ev.FunctionCallArgumentsDone(**self._item_place(), arguments=text))

    def input(self, delta: str) -> None:
        """A piece of a custom call's input."""
        if delta:
            self._to.send(ev.CustomToolCallInputDelta(**self._item_place(), delta=delta))

    def end_input(self, text: str) -> None:
        """The input of a custom call is complete."""
        self._to.send(ev.CustomToolCallInputDone(**self._item_place(), input=text))

    def mcp_arguments(self, delta: str) -> None:
        """A piece of a remote call's arguments."""
        if delta:
            self._to.send(ev.McpCallArgumentsDelta(**self._item_place(), delta=delta))

    def end_mcp_arguments(self, text: str) -> None:
        """The arguments of a remote call are complete."""
        self._to.send(ev.McpCallArgumentsDone(**self._item_place(), arguments=text))

    def code(self, delta: str) -> None:
        """A piece of the code an interpreter will run."""
        if delta:
            self._to.send(ev.CodeInterpreterCodeDelta(**self._item_place(), delta=delta))

    def end_code(self, text: str) -> None:
        """The code is complete."""
        self._to.send(ev.CodeInterpreterCodeDone(**self._item_place(), code=text))

    def step(self, kind: Step) -> None:
        """A built-in tool has come to this point."""
        self._to.send(kind(**self._item_place()))

    def done(self, item: AnyItem) -> None:
        """The item is complete: this is all of it."""
        to = self._to
        to.send(ev.OutputItemDone(sequence_number=to.number(), output_index=self.index, item=item))

    def _piece(self, kind: type[D], place: Callable[[], dict[str, Any]], delta: str) -> D:
        """Send an event with a piece of what is open."""
        to, like = self._to, self._like
        if type(like) is kind:
            event = replace(like, sequence_number=to.number(), delta=delta)
        else:
            like = self._like = kind(**place(), delta="")
            event = replace(like, delta=delta)
        to.send(event)
        return event

    def _item_place(self) -> dict[str, Any]:
        return {"sequence_number": self._to.number(), "item_id": self.id, "output_index": self.index}

    def _place(self) -> dict[str, Any]:
        return {**self._item_place(), "content_index": self._part}

    def _summary_place(self) -> dict[str, Any]:
        return {**self._item_place(), "summary_index": self._summary}


# --- a whole item ---------------------------------------------------------------------------------------------------


def _skeleton(item: AnyItem) -> AnyItem:
    """The item as it is announced: under way and empty."""
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
    """The steps between an item's beginning and its end, every text in one piece."""
    match item:
        case Message(content=str(text)):
            _part(opened, OutputText(text=text, annotations=[]))
        case Message(content=list(parts)):
            for part in parts:
                _part(opened, part)
        case Reasoning():
            _reasoning(opened, item)
        case FunctionCall(arguments=text):
            opened.arguments(text)
            opened.end_arguments(text)
        case CustomToolCall(input=text):
            opened.input(text)
            opened.end_input(text)
        case McpCall(arguments=text):
            opened.step(ev.McpCallInProgress)
            opened.mcp_arguments(text)
            opened.end_mcp_arguments(text)
            opened.step(ev.McpCallFailed if given(item.error) else ev.McpCallCompleted)
        case McpListTools():
            opened.step(ev.McpListToolsInProgress)
            opened.step(ev.McpListToolsFailed if given(item.error) else ev.McpListToolsCompleted)
        case WebSearchCall():
            opened.step(ev.WebSearchInProgress)
            opened.step(ev.WebSearchSearching)
            opened.step(ev.WebSearchCompleted)
        case CodeInterpreterCall():
            opened.step(ev.CodeInterpreterInProgress)
            opened.code(item.code or "")
            opened.end_code(item.code or "")
            opened.step(ev.CodeInterpreterInterpreting)
            opened.step(ev.CodeInterpreterCompleted)
        case ImageGenerationCall():
            opened.step(ev.ImageGenerationInProgress)
            opened.step(ev.ImageGenerationGenerating)
            opened.step(ev.ImageGenerationCompleted)
        case Compaction():
            opened.step(ev.CompactionCompacting)
        case _:
            pass


def _part(opened: OpenItem, part: ContentPart) -> None:
    match part:
        case OutputText(text=text):
            opened.part(OutputText(text="", annotations=[]))
            opened.text(text, part.logprobs or None)
            for annotation in part.annotations or ():
                opened.annotation(annotation)
        case RefusalPart(refusal=refusal):
            opened.part(RefusalPart(refusal=""))
            opened.refusal(refusal)
        case ReasoningText(text=text):
            opened.part(ReasoningText(text=""))
            opened.reasoning(text)
        case _:
            opened.part(part)
    opened.end_part(part)


def _reasoning(opened: OpenItem, item: Reasoning) -> None:
    for summary in item.summary or ():
        opened.summary_part()
        opened.summary(summary.text)
        opened.end_summary(summary)
    for text in item.content or ():
        _part(opened, text)
