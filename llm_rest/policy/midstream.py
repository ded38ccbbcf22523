"""Failover in the middle of a stream: another model continues the text, in one sequence of events.

Pure: `client/stream.py` detects the broken stream, calls the next model, and yields the events made here. Before
changing this file, know that only plain text is continued (never a call or a refusal), that the continuing model's
reasoning is omitted, and that a model often repeats the end of a text, or all of it, before it continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..losses import Loss
from ..responses import events as ev
from ..responses.emit import Emitter, OpenItem
from ..responses.items import AnyItem, Message, Reasoning
from ..responses.parts import OutputText, ReasoningText, SummaryText
from ..responses.request import Request, items_of

if TYPE_CHECKING:
    from ..client.call import PreparedCall
    from ..client.target import Target
    from ..responses.events import AnyEvent
    from ..responses.response import Response


CONTINUE = (
    "Your last message was cut off. Continue it exactly where it ends: begin with the very next characters, repeat nothing, "
    "and say nothing about the interruption."
)
"""The instruction to the continuing model, after the text so far."""

SHORTEST = 12
"""The fewest characters that count as a repetition of the end of a text; a repetition of the whole text may be shorter."""

_TEXT_ENDS = (ev.OutputTextDone, ev.ReasoningTextDone, ev.ReasoningDone, ev.ReasoningSummaryTextDone)
_PART_ENDS = (ev.ContentPartDone, ev.ReasoningSummaryPartDone)
_TEXTS = (OutputText, ReasoningText, SummaryText)


class Trail:
    """The state of a stream after the events that were yielded."""

    def __init__(self) -> None:
        self.number = 0
        """The next sequence number."""
        self.items = 0
        """The number of items that were begun."""
        self.has_started = False
        """Whether the response was begun."""
        self.open: dict[int, AnyEvent | None] = {}
        """The items without an end, by index, each with the last event about a part of it."""
        self._plain = True

    def feed(self, events: list[AnyEvent]) -> None:
        """Add events that were yielded."""
        for event in events:
            number = getattr(event, "sequence_number", None)
            self.number = number + 1 if isinstance(number, int) else self.number + 1
            self.has_started = self.has_started or isinstance(event, ev.ResponseCreated)
            index, part = getattr(event, "output_index", None), getattr(event, "part", None)
            if isinstance(index, int) and index >= self.items:
                self._plain = self._plain and index == self.items
                self.items, self.open[index] = index + 1, None
            if isinstance(event, ev.OutputItemAdded):
                self._plain = self._plain and isinstance(event.item, Message | Reasoning)
            elif isinstance(event, ev.OutputItemDone):
                self.open.pop(event.output_index, None)
            elif isinstance(event, ev.OfPart | ev.OfSummary) and event.output_index in self.open:
                self.open[event.output_index] = event
                others = part is not None and not isinstance(part, _TEXTS)
                self._plain = self._plain and not others and not isinstance(event, ev.RefusalDelta)

    def continuable(self, request: Request) -> bool:
        """Whether only text and reasoning were yielded, so that another model can continue."""
        form = None if request.text is None else request.text.format
        return self._plain and (form is None or form.type == "text")

    def continued(self, prepared: PreparedCall, text: str) -> PreparedCall:
        """The request to the next model to continue after this text."""
        if not text:
            return prepared
        end = [Message(role="assistant", content=text), Message(role="user", content=CONTINUE)]
        request = prepared.request
        return prepared._replace(request=replace(request, input=[*items_of(request), *end]))

    def continuation(self, seen: Response, before: Target, after: Target) -> Continuation:
        """Converts the next model's answer to the events that follow those of `seen`."""
        made, cause = Continuation(self, seen), f"{before.vendor}/{before.model} broke off"
        what = f"{cause} after {len(seen.output_text)} characters, and {after.vendor}/{after.model} continued the text"
        made.losses.append(Loss("output", what, "emulated"))
        return made


class Overlap:
    """Removes from a continuation the repeated end of the text before it."""

    def __init__(self, text: str) -> None:
        self._text, self._held, self._settled = text, "", not text

    def feed(self, piece: str) -> str:
        """The new part of the continuation, as far as it can be determined; the rest is held back."""
        if self._settled:
            return piece
        self._held += piece
        # While the text continues with words that also occur before its end, they may be a repetition.
        place = self._text.find(self._held)
        return "" if 0 <= place < len(self._text) - len(self._held) else self.close()

    def close(self) -> str:
        """The text that was held back."""
        held, self._held, self._settled = self._held, "", True
        text = self._text
        if held.startswith(text):
            return held[len(text) :]
        sizes = range(min(len(held), len(text)), SHORTEST - 1, -1)
        return held[next((size for size in sizes if text.endswith(held[:size])), 0) :]


class Continuation:
    """Converts the events of a continuing answer to those that follow the yielded ones."""

    def __init__(self, trail: Trail, seen: Response) -> None:
        self._seen, self._has_started = seen, trail.has_started
        self._to = Emitter(trail.number, trail.items)
        self._output: dict[int, AnyItem] = dict(enumerate(seen.output))
        self._overlap = Overlap(seen.output_text)
        self._joined: int | None = None  # the item of the other answer that continues the text
        self._item: OpenItem | None = None  # the message that is continued,
        self._message = Message(role="assistant", content=[])  # its completed parts,
        self._part: OutputText | None = None  # its current part,
        self._pieces: list[str] = []  # and the new text of that part
        self.losses: list[Loss] = []
        for index, end in trail.open.items():
            last: Any = self._output[index]
            parts: list[Any] = getattr(last, "content", None) or []
            summary: list[Any] = getattr(last, "summary", None) or []
            item = OpenItem(self._to, index, last.id or "", len(parts) - 1, len(summary) - 1)
            if isinstance(last, Message) and self._item is None:
                self._continue(item, last, end)
            else:
                if end is not None and not isinstance(end, _PART_ENDS):
                    part = (parts or summary)[-1]
                    (item.end_part if isinstance(end, _TEXT_ENDS) else item.end)(part)
                item.done(last)

    def _continue(self, item: OpenItem, message: Any, end: AnyEvent | None) -> None:
        if isinstance(end, _TEXT_ENDS):
            item.end_part(message.content[-1])
        elif end is not None and not isinstance(end, _PART_ENDS):
            *parts, self._part = message.content
            message = replace(message, content=parts)
        self._item, self._message = item, message

    def feed(self, events: list[AnyEvent]) -> list[AnyEvent]:
        """The events to yield for these events of the other answer."""
        for event in events:
            self._feed(event)
        return self._to.take()

    def _feed(self, event: AnyEvent) -> None:
        match event:
            case ev.OutputItemAdded(item=Message()) if self._joined is None:
                self._joined = event.output_index
            case ev.OutputTextDelta() if self._joined in (None, event.output_index):
                self._joined = event.output_index
                self._send_text(self._overlap.feed(event.delta))
            case ev.OutputItemDone(item=Reasoning()):
                pass
            case ev.OutputItemDone(item=Message(content=list(parts)) as message) if event.output_index == self._joined:
                self._end_message()
                if any(isinstance(part, OutputText) and part.annotations for part in parts):
                    self.losses.append(Loss("output", "the sources of the continued text", "dropped"))
                if others := [part for part in parts if not isinstance(part, OutputText)]:
                    self._whole(replace(message, content=others))
            case ev.OutputItemDone(item=item) if item is not None:
                self._end_message()
                self._whole(item)
            case ev.ResponseCompleted() | ev.ResponseIncomplete():
                self._end_message()
                seen = self._seen
                output = [self._output[index] for index in sorted(self._output)]
                ended = replace(event.response, output=output)
                self._to.finish(replace(ended, id=seen.id, created_at=seen.created_at) if self._has_started else ended)
            case ev.ResponseCreated() | ev.ResponseInProgress() if not self._has_started:
                self._to.send(replace(event, sequence_number=self._to.number()))
            case ev.ResponseFailed() | ev.ErrorEvent():
                self._to.send(event)
            case _:
                pass

    def _whole(self, item: AnyItem) -> None:
        self._to.whole(item)
        self._output[len(self._output)] = item

    def _send_text(self, text: str) -> None:
        if not text:
            return
        if self._item is None:
            name = f"msg_{self._seen.id}_{len(self._output)}"
            self._message = Message(role="assistant", status="in_progress", content=[], id=name)
            self._item = self._to.add(self._message)
        if self._part is None:
            self._part = OutputText(text="", annotations=[])
            self._item.part(self._part)
        self._item.grow(OutputText, text)
        self._pieces.append(text)

    def _end_message(self) -> None:
        """End the message that was continued."""
        self._send_text(self._overlap.close())
        if self._item is None:
            return
        parts: list[Any] = [*self._message.content]
        if self._part is not None:
            parts.append(replace(self._part, text=self._part.text + "".join(self._pieces)))
            self._item.end(parts[-1])
        whole = replace(self._message, status="completed", content=parts)
        self._item.done(whole)
        self._output[self._item.index] = whole
        self._item, self._part, self._pieces = None, None, []
