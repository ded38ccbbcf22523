"""The base of the wires' stream decoders and encoders: items that begin, grow and end, their order, and the end of the answer.

A wire's `StreamDecoder` splits its events into pieces of items, and its `StreamEncoder` writes pieces of one item after
another; this module does the rest. Before changing this file, know that an item has at most one open part of one type, which a
piece of another type ends; and that `feed` runs once for every token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec.structs import replace

from ..losses import Losses
from ..responses import events as ev
from ..responses.emit import Emitter
from ..responses.items import Message, Reasoning
from ..responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText
from ..responses.response import Response, ResponseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..responses.emit import OpenItem
    from ..responses.items import AnyItem
    from ..responses.parts import Logprob
    from ..responses.request import Request

D = TypeVar("D")
E = TypeVar("E")
Part = OutputText | RefusalPart | ReasoningText | SummaryText


# --- events of a wire -> Responses events ---------------------------------------------------------------------------


def _part(kind: type[Part], text: str) -> Any:
    if kind is RefusalPart:
        return RefusalPart(refusal=text)
    if kind is OutputText:
        return OutputText(text=text, annotations=[])
    return SummaryText(text=text) if kind is SummaryText else ReasoningText(text=text)


class OpenParts:
    """A reasoning item or a message in progress: its open part, and the parts that ended."""

    __slots__ = ("_kind", "_pieces", "item", "kind", "parts")

    def __init__(self, item: OpenItem, kind: type[Message | Reasoning]) -> None:
        self.item = item
        self.kind = kind
        self.parts: list[Any] = []
        self._kind: type[Part] | None = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The text of the open part."""
        return "".join(self._pieces)

    def add(self, text: str, kind: type[Part], logprobs: list[Logprob] | None = None) -> None:
        """Add a piece of text, in a part of this type."""
        item = self.item
        if self._kind is not kind:
            self.end_part()
            self._kind = kind
            item.part(_part(kind, ""))
        self._pieces.append(text)
        item.grow(kind, text, logprobs)

    def end_part(self, final: Sequence[Any] = ()) -> None:
        """End the open part, with its value in `final` if it is there."""
        kind, at = self._kind, len(self.parts)
        if kind is None:
            return
        part = final[at] if at < len(final) and type(final[at]) is kind else _part(kind, self.text)
        self.item.end(part)
        self.parts.append(part)
        self._kind, self._pieces = None, []


class StreamDecoder(Generic[D]):
    """Converts the events of a wire to Responses events; after the terminal one there are none.

    `request` reverses the encoding's emulations and is echoed, `now` dates undated answers. `DIALECT` is the wire's own.
    """

    DIALECT: D

    def __init__(
        self, *, request: Request | None = None, dialect: D | None = None, now: float = 0, keep: bool = True
    ) -> None:
        self.losses: Losses = Losses()
        self._request = request
        self._dialect: D = dialect or self.DIALECT
        self._now = now
        self._keep = keep
        self._emitter = Emitter()
        self._output: list[AnyItem | None] = []  # by position; `None` while it is open
        self._open: OpenParts | None = None  # the open message or reasoning item
        self._ended = False
        self._prepare()

    def _prepare(self) -> None:
        """Initialize the state of the wire's own decoder."""

    def feed(self, event: Any) -> list[ev.AnyEvent]:
        """The Responses events for this event."""
        if not self._ended:
            self._feed(event)
        return self._emitter.take()

    def close(self) -> list[ev.AnyEvent]:
        """No events: an answer without an end was cut off."""
        return []

    def _feed(self, event: Any) -> None:
        raise NotImplementedError

    # -- items

    def _set_id(self, item: Any) -> None:
        """Give an item that begins at the next position its id."""

    def _finished_item(self, opened: OpenParts) -> AnyItem:
        """The message or reasoning item as in the whole answer, once it is complete."""
        raise NotImplementedError

    def _emit_added(self, item: Any) -> OpenItem:
        """Begin an item."""
        self._set_id(item)
        self._output.append(None)
        return self._emitter.add(item)

    def _emit_whole(self, item: Any) -> None:
        """Begin and end an item at once."""
        self._output.append(item)
        self._emitter.whole(item)

    def _emit_done(self, opened: OpenItem, item: AnyItem) -> None:
        """End a complete item."""
        self._output[opened.index] = item
        opened.done(item)

    def _append(
        self,
        kind: type[Message | Reasoning],
        text: str,
        part: type[Part] = OutputText,
        logprobs: list[Logprob] | None = None,
    ) -> None:
        """Add a piece to a message or a reasoning item, and begin one if none of its type is open."""
        opened = self._open
        if opened is None or opened.kind is not kind:
            opened = self._begin(kind)
        opened.add(text, part, logprobs)

    def _begin(self, kind: type[Message | Reasoning]) -> OpenParts:
        """Begin a message or a reasoning item, and end the one before."""
        self._end_open()
        empty = Message(role="assistant", content=[]) if kind is Message else Reasoning(summary=[])
        empty.status = "in_progress"
        self._open = OpenParts(self._emit_added(empty), kind)
        return self._open

    def _end_open(self) -> None:
        """End the open message or reasoning item."""
        opened, self._open = self._open, None
        if opened is not None:
            item: Any = self._finished_item(opened)
            opened.end_part(item.content or ())
            self._emit_done(opened.item, item)

    # -- the end

    def _finish(self, response: Response) -> None:
        self._ended = True
        self._emitter.finish(response)

    def _fail(self, error: Any, response: Response) -> None:
        """End with an error of the vendor, and the failed response for it."""
        about = {"code": error.code, "message": error.message, "param": error.param, "type": error.type}
        self._emitter.error(ev.StreamError(**about))
        self._finish(response)


# --- Responses events -> events of a wire ---------------------------------------------------------------------------


class StreamEncoder(Generic[D, E]):
    """Converts Responses events to events of a wire; items come one after another, in their order.

    `request` has the model where the response does not. `DIALECT` is the wire's own, and `breaks_off` whether a stream
    without an end becomes an error.
    """

    DIALECT: D
    breaks_off = False

    def __init__(self, *, request: Request | None = None, dialect: D | None = None) -> None:
        self.losses: Losses = Losses()
        self._request = request
        self._dialect: D = dialect or self.DIALECT
        self._out: list[E] = []
        self._ended = False
        self._error: Any = None
        self._at = 0  # the item that is being written
        self._later: dict[int, list[Any]] = {}  # events of later items
        self._prepare()

    def _prepare(self) -> None:
        """Initialize the state of the wire's own encoder."""

    def feed(self, event: ev.AnyEvent) -> list[E]:
        """The wire's events for this one."""
        if not self._ended:
            match event:
                case ev.OfItem() | ev.OutputItemAdded() | ev.OutputItemDone():
                    self._in_order(event, event.output_index)
                case ev.ResponseCompleted() | ev.ResponseIncomplete() if not self._error:
                    self._ended = True
                    self._end(event.response)
                case ev.ResponseFailed(response=failed):
                    self._ended = True
                    self._fail(replace(failed, error=failed.error or self._error))
                case ev.ErrorEvent():
                    self._error = event.details  # the failed response that follows has more data
                case ev.OfResponse():
                    self._begin(event.response)
                case _:
                    self._other(event)
        return self._take()

    def close(self) -> list[E]:
        """The error that no failed response followed, or an error for an answer that broke off."""
        if not self._ended and (self._error or self.breaks_off):
            self._ended = True
            known = len(self.losses)
            self._break_off(self._error or ResponseError(message="the answer broke off", code="server_error"))
            if self._error is None:
                # This error is made here, so its fields are no losses.
                self.losses[known:] = [loss for loss in self.losses[known:] if not loss.path.startswith("error.")]
        return self._take()

    def _take(self) -> list[E]:
        made, self._out = self._out, []
        return made

    def _in_order(self, event: Any, index: int) -> None:
        if index > self._at:
            self._later.setdefault(index, []).append(event)
            return
        self._encode(event)
        if index == self._at and isinstance(event, ev.OutputItemDone):
            self._advance()

    def _advance(self) -> None:
        """Advance to the next item, and past those that are already complete."""
        complete = True
        while complete:
            self._at += 1
            events = self._later.pop(self._at, ())
            for event in events:
                self._encode(event)
            complete = any(isinstance(event, ev.OutputItemDone) for event in events)

    def _encode_late(self) -> None:
        """Write the events of items that never became current."""
        for index in sorted(self._later):
            self._at = max(self._at, index)
            for event in self._later.pop(index):
                self._encode(event)

    def _begin(self, response: Response) -> None:
        """Encode the beginning of the answer."""

    def _encode(self, event: Any) -> None:
        """Encode an event of the current item."""
        raise NotImplementedError

    def _other(self, event: ev.AnyEvent) -> None:
        """Encode an event that belongs neither to an item nor to the response."""

    def _end(self, response: Response) -> None:
        """Encode the end of a complete answer."""
        raise NotImplementedError

    def _fail(self, response: Response) -> None:
        """Encode the end of a failed answer."""
        raise NotImplementedError

    def _break_off(self, error: Any) -> None:
        """Encode the end of an answer with an error but no failed response."""
        self._fail(Response(id="", status="failed", error=error, output=[]))


def unsent(whole: str, sent: list[str]) -> str:
    """The rest of a text after the part that was sent; empty where another text was sent."""
    before = "".join(sent)
    return whole[len(before) :] if whole.startswith(before) else ""
