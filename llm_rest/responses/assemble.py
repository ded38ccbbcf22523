"""From events to the response they tell, and from a response to the events that would have told it.

Before changing this file, know what hosts do: items are tied together by `output_index`, since some hosts give a new
`item_id` in every event, and a terminal event is the truth, unless its output is empty where items were collected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from . import events as ev
from .collect import HANDLERS, Collected
from .emit import Emitter
from .response import Response, ResponseError

if TYPE_CHECKING:
    from .items import AnyItem


def disassemble(response: Response) -> list[ev.AnyEvent]:
    """The events of a stream that tells `response`, every text in one piece."""
    emitter = Emitter()
    emitter.start(response)
    for item in response.output:
        emitter.whole(item)
    emitter.finish(response)
    return emitter.take()


class Assembler:
    """Collects the events of one stream into the `Response` they tell.

    `response` can be read at any time: it holds what has come so far, and an item that was not ended is `incomplete`.
    """

    __slots__ = ("_begun", "_end", "_error", "_items")

    def __init__(self) -> None:
        self._items: dict[int, Collected] = {}
        self._begun: Response | None = None
        self._end: Response | None = None
        self._error: ev.StreamError | None = None

    def feed(self, event: ev.AnyEvent) -> None:
        """Take one event into account; what is unknown or says nothing about the response changes nothing."""
        handler = HANDLERS.get(type(event)) or HANDLERS.get(type(event).__mro__[1])  # one with unknown fields
        if handler is not None:
            told: Any = event
            item = self._items.get(told.output_index)
            if item is None:
                item = self._items[told.output_index] = Collected()
            handler(item, event)
            return
        match event:
            case ev.ResponseCreated() | ev.ResponseQueued() | ev.ResponseInProgress():
                self._begun = event.response
            case ev.ResponseCompleted() | ev.ResponseIncomplete() | ev.ResponseFailed():
                self._end = self._end or event.response
            case ev.ErrorEvent():
                self._error = event.details
            case _:
                pass

    @property
    def finished(self) -> bool:
        """Whether the stream told its end: a terminal event or an error came."""
        return self._end is not None or self._error is not None

    @property
    def error(self) -> ResponseError | None:
        """What went wrong, where the stream said so."""
        if self._error is not None:
            return self._error
        return (self._end.error or None) if self._end is not None else None

    @property
    def response(self) -> Response:
        """The response as far as it has come."""
        if self._end is None:
            begun = self._begun or Response(id="", status="in_progress", output=[])
            if self._error is not None:
                begun = replace(begun, status="failed", error=self._told())
            return replace(begun, output=self._output())
        end = self._end
        if end.status == "failed" and not end.error and self._error is not None:
            end = replace(end, error=self._told())
        return end if end.output or not self._items else replace(end, output=self._output())

    def _told(self) -> ResponseError | None:
        """The error event as the error of a response."""
        told = self._error
        return told and ResponseError(code=told.code, message=told.message, param=told.param, type=told.type)

    def _output(self) -> list[AnyItem]:
        items = (self._items[index].item() for index in sorted(self._items))
        return [item for item in items if item is not None]
