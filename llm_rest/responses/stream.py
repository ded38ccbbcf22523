"""Assembly of a `Response` from streamed events, and of the events for a complete response.

Before changing this file, know what hosts do: a delta may refer to an item or a part that was never added, every `done`
replaces the collected text, items are identified by `output_index` (some hosts send a new `item_id` in every event),
and the terminal event takes precedence, unless its output is empty where items were collected. An item without an end
event is `incomplete`, so a call that was cut off never looks finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..unknown import Unknown
from . import events as ev
from .emit import Emitter
from .items import AnyItem, CodeInterpreterCall, CustomToolCall, FunctionCall, McpCall, Message, Reasoning
from .parts import OutputText, ReasoningText, RefusalPart, SummaryText
from .response import Response, ResponseError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .parts import AnyAnnotation, ContentPart, Logprob

UNANNOUNCED: dict[type, AnyItem] = {
    OutputText: Message(role="assistant", content=[]),
    RefusalPart: Message(role="assistant", content=[]),
    ReasoningText: Reasoning(summary=[]),
    SummaryText: Reasoning(summary=[]),
    FunctionCall: FunctionCall(call_id="", name="", arguments=""),
    CustomToolCall: CustomToolCall(call_id="", name="", input=""),
    McpCall: McpCall(server_label="", name="", arguments=""),
    CodeInterpreterCall: CodeInterpreterCall(),
}
"""The type of an item that was announced only by its deltas, by the first of them."""


_MANY = 4096
_SHORT = 64


class Growing:
    """An incremental text. It holds the pieces themselves, which other collectors of the same events hold too, so that
    the text is in memory once; only short pieces, which take more memory than their text, are joined.
    """

    __slots__ = ("_look", "_pieces")

    def __init__(self, text: str = "") -> None:
        self._pieces = [text]
        self._look = _MANY

    def write(self, piece: str) -> None:
        """Add a piece."""
        pieces = self._pieces
        pieces.append(piece)
        if len(pieces) >= self._look:
            if sum(map(len, pieces[-_MANY:])) < _MANY * _SHORT:
                pieces[-_MANY:] = ["".join(pieces[-_MANY:])]
            self._look = len(pieces) + _MANY

    def getvalue(self) -> str:
        """The complete text."""
        text = "".join(self._pieces)
        self._pieces[:], self._look = [text], _MANY
        return text


class Text:
    """An incremental text with its annotations and log probabilities."""

    __slots__ = ("annotations", "known", "logprobs", "text")

    def __init__(self) -> None:
        self.text = Growing()
        self.known: ContentPart | None = None  # the part of its end event
        self.annotations: list[AnyAnnotation] = []
        self.logprobs: list[Logprob] = []

    def replace(self, text: str) -> None:
        """Replace the collected text by the complete one."""
        self.text = Growing(text)


class Collected:
    """The collected state of one item; `item` is the item as received so far."""

    __slots__ = ("added", "ended", "first", "parts", "summary", "text")

    def __init__(self) -> None:
        self.added: AnyItem | None = None
        self.ended: AnyItem | None = None
        self.first: type | None = None  # the subject of the first delta
        self.parts: dict[int, tuple[type, Text]] = {}
        self.summary: dict[int, Text] = {}
        self.text: Growing | None = None  # arguments, input or code of a call

    def item(self) -> AnyItem | None:
        """The item of its end event, else as received so far, marked incomplete."""
        if self.ended is not None:
            return self.ended
        added = self.added
        if added is None:
            added = UNANNOUNCED.get(self.first) if self.first is not None else None
        text = "" if self.text is None else self.text.getvalue()
        match added:
            case None | Unknown():
                return added
            case Message():
                return replace(added, status="incomplete", content=self._content())
            case Reasoning():
                summary = [SummaryText(text=self.summary[index].text.getvalue()) for index in sorted(self.summary)]
                content = [part for part in self._content() if isinstance(part, ReasoningText)]
                return replace(added, status="incomplete", summary=summary, content=content or None)
            case FunctionCall() | McpCall():
                return replace(added, status="incomplete", arguments=text or added.arguments)
            case CustomToolCall():
                return replace(added, status="incomplete", input=text or added.input)
            case CodeInterpreterCall():
                return replace(added, status="incomplete", code=text or added.code)
            case _:
                return replace(added, status="incomplete")

    def _content(self) -> list[ContentPart]:
        return [_part(*self.parts[index]) for index in sorted(self.parts)]

    def sent(self, kind: str, index: int) -> str:
        """The text of a part of the content or summary so far, or of a call."""
        if kind == "summary":
            growing = self.summary[index].text if index in self.summary else None
        elif kind:
            growing = self.parts[index][1].text if index in self.parts else None
        else:
            growing = self.text
        return "" if growing is None else growing.getvalue()

    # -- the item

    def on_added(self, event: ev.OutputItemAdded) -> None:
        self.added = event.item

    def on_done(self, event: ev.OutputItemDone) -> None:
        self.ended = event.item

    # -- its parts

    def on_part_added(self, event: ev.ContentPartAdded) -> None:
        if event.part is not None:
            self.part(event.content_index, type(event.part)).known = _unless_text(event.part)

    def on_part_done(self, event: ev.ContentPartDone) -> None:
        if event.part is not None:
            self.part(event.content_index, type(event.part)).known = event.part

    def on_text(self, event: ev.OutputTextDelta) -> None:
        part = self.part(event.content_index, OutputText)
        part.text.write(event.delta)
        if event.logprobs:
            part.logprobs.extend(event.logprobs)

    def on_text_done(self, event: ev.OutputTextDone) -> None:
        part = self.part(event.content_index, OutputText)
        part.replace(event.text)
        if event.logprobs:
            part.logprobs = list(event.logprobs)

    def on_annotation(self, event: ev.OutputTextAnnotationAdded) -> None:
        if event.annotation is not None:
            self.part(event.content_index, OutputText).annotations.append(event.annotation)

    def on_refusal(self, event: ev.RefusalDelta) -> None:
        self.part(event.content_index, RefusalPart).text.write(event.delta)

    def on_refusal_done(self, event: ev.RefusalDone) -> None:
        self.part(event.content_index, RefusalPart).replace(event.refusal)

    def on_reasoning(self, event: ev.ReasoningTextDelta | ev.ReasoningDelta) -> None:
        self.part(event.content_index, ReasoningText).text.write(event.delta)

    def on_reasoning_done(self, event: ev.ReasoningTextDone | ev.ReasoningDone) -> None:
        self.part(event.content_index, ReasoningText).replace(event.text)

    def part(self, index: int, kind: type) -> Text:
        """The part at `index`, created as a `kind` where it is new."""
        found = self.parts.get(index)
        if found is None:
            found = self.parts[index] = (kind, Text())
            self.first = self.first or kind
        return found[1]

    # -- its summary

    def on_summary_added(self, event: ev.ReasoningSummaryPartAdded) -> None:
        self.summary_part(event.summary_index)

    def on_summary(self, event: ev.ReasoningSummaryTextDelta) -> None:
        self.summary_part(event.summary_index).text.write(event.delta)

    def on_summary_done(self, event: ev.ReasoningSummaryTextDone) -> None:
        self.summary_part(event.summary_index).replace(event.text)

    def summary_part(self, index: int) -> Text:
        """The part of the summary at `index`."""
        found = self.summary.get(index)
        if found is None:
            found = self.summary[index] = Text()
            self.first = self.first or SummaryText
        return found

    # -- the text of a call

    def grow(self, kind: type, delta: str) -> None:
        """Add to the arguments, input or code of a call of that kind."""
        self.first = self.first or kind
        if self.text is None:
            self.text = Growing()
        self.text.write(delta)

    def settle(self, kind: type, text: str) -> None:
        """Set the complete arguments, input or code of a call."""
        self.text = None
        self.grow(kind, text)


def _unless_text(part: ContentPart) -> ContentPart | None:
    """The part itself where no deltas fill it: it is complete when it is announced."""
    return None if isinstance(part, OutputText | RefusalPart | ReasoningText) else part


def _part(kind: type, collected: Text) -> ContentPart:
    if collected.known is not None:
        return collected.known
    text = collected.text.getvalue()
    if issubclass(kind, RefusalPart):
        return RefusalPart(refusal=text)
    if issubclass(kind, ReasoningText):
        return ReasoningText(text=text)
    return OutputText(text=text, annotations=collected.annotations, logprobs=collected.logprobs or None)


HANDLERS: dict[type, Callable[[Collected, Any], None]] = {
    ev.OutputTextDelta: Collected.on_text,
    ev.FunctionCallArgumentsDelta: lambda item, event: item.grow(FunctionCall, event.delta),
    ev.ReasoningSummaryTextDelta: Collected.on_summary,
    ev.ReasoningTextDelta: Collected.on_reasoning,
    ev.ReasoningDelta: Collected.on_reasoning,
    ev.RefusalDelta: Collected.on_refusal,
    ev.CustomToolCallInputDelta: lambda item, event: item.grow(CustomToolCall, event.delta),
    ev.McpCallArgumentsDelta: lambda item, event: item.grow(McpCall, event.delta),
    ev.CodeInterpreterCodeDelta: lambda item, event: item.grow(CodeInterpreterCall, event.delta),
    ev.OutputItemAdded: Collected.on_added,
    ev.OutputItemDone: Collected.on_done,
    ev.ContentPartAdded: Collected.on_part_added,
    ev.ContentPartDone: Collected.on_part_done,
    ev.OutputTextDone: Collected.on_text_done,
    ev.OutputTextAnnotationAdded: Collected.on_annotation,
    ev.RefusalDone: Collected.on_refusal_done,
    ev.ReasoningTextDone: Collected.on_reasoning_done,
    ev.ReasoningDone: Collected.on_reasoning_done,
    ev.ReasoningSummaryPartAdded: Collected.on_summary_added,
    ev.ReasoningSummaryTextDone: Collected.on_summary_done,
    ev.FunctionCallArgumentsDone: lambda item, event: item.settle(FunctionCall, event.arguments),
    ev.CustomToolCallInputDone: lambda item, event: item.settle(CustomToolCall, event.input),
    ev.McpCallArgumentsDone: lambda item, event: item.settle(McpCall, event.arguments),
    ev.CodeInterpreterCodeDone: lambda item, event: item.settle(CodeInterpreterCall, event.code),
}
"""The handler of each event about an item; other events do not change the item."""


def disassemble(response: Response) -> list[ev.AnyEvent]:
    """The events of a stream for `response`, every text in one piece."""
    emitter = Emitter()
    emitter.start(response)
    for item in response.output:
        emitter.whole(item)
    emitter.finish(response)
    return emitter.take()


class Assembler:
    """Collects the events of one stream into a `Response`.

    `response` can be read at any time: it has the output so far, and an item without an end event is `incomplete`.
    """

    __slots__ = ("_end", "_error", "_items", "_started")

    def __init__(self) -> None:
        self._items: dict[int, Collected] = {}
        self._started: Response | None = None
        self._end: Response | None = None
        self._error: ev.StreamError | None = None

    def feed(self, event: ev.AnyEvent) -> None:
        """Add one event; an unknown event, or one without data of the response, has no effect."""
        handler = HANDLERS.get(type(event)) or HANDLERS.get(type(event).__mro__[1])  # one with unknown fields
        if handler is not None:
            known: Any = event
            item = self._items.get(known.output_index)
            if item is None:
                item = self._items[known.output_index] = Collected()
            handler(item, event)
            return
        match event:
            case ev.ResponseCreated() | ev.ResponseQueued() | ev.ResponseInProgress():
                self._started = event.response
            case ev.ResponseCompleted() | ev.ResponseIncomplete() | ev.ResponseFailed():
                self._end = self._end or event.response
            case ev.ErrorEvent():
                self._error = event.details
            case _:
                pass

    def sent(self, output_index: int, kind: str, index: int) -> str:
        """The text so far of a part of an item's `content` or `summary`, or, with an empty kind, of a call."""
        item = self._items.get(output_index)
        return "" if item is None else item.sent(kind, index)

    def reopen(self) -> None:
        """Clear the failure of the stream, because another stream continues it."""
        self._end = self._error = None

    @property
    def finished(self) -> bool:
        """Whether the terminal event or an error event has arrived."""
        return self._end is not None or self._error is not None

    @property
    def error(self) -> ResponseError | None:
        """The error of the stream: of its error event or terminal event; `None` without one."""
        if self._error is not None:
            return self._error
        return (self._end.error or None) if self._end is not None else None

    @property
    def response(self) -> Response:
        """The response as far as it has arrived."""
        if self._end is None:
            response = self._started or Response(id="", status="in_progress", output=[])
            if self._error is not None:
                response = replace(response, status="failed", error=self._stream_error())
            return replace(response, output=self._output())
        end = self._end
        if end.status == "failed" and not end.error and self._error is not None:
            end = replace(end, error=self._stream_error())
        return end if end.output or not self._items else replace(end, output=self._output())

    def _stream_error(self) -> ResponseError | None:
        """The error event as the error of a response."""
        error = self._error
        return error and ResponseError(code=error.code, message=error.message, param=error.param, type=error.type)

    def _output(self) -> list[AnyItem]:
        items = (self._items[index].item() for index in sorted(self._items))
        return [item for item in items if item is not None]
