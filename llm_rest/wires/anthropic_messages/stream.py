"""Streams of this wire: events of the vendor as Responses events, and back (`stream_back`).

Before changing this file, know that the end of an answer may contradict its beginning (token counts, the model), and that a
stream without `message_stop` broke off. What single blocks do is in `stream_blocks`, when their items are over in
`stream_items`. Follows Anthropic's guide to streaming (read 2026-11-20).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from msgspec.structs import replace

from ... import responses as ours
from ...losses import Losses
from ...responses import events as ev
from ...responses.emit import Emitter
from ...unknown import Model, Unknown, extras, given
from ...vendors.dialects import MessagesDialect
from . import types
from .assistant import BlockReader
from .calls import renamed
from .errors import decode_failure
from .leftovers import kind_of, merged, plain
from .response import answered, id_of
from .stream_blocks import OpenBlock, kind, overwrite
from .usage import decode_usage

Delta = types.ContentBlockDelta
OfBlock = types.ContentBlockStart | types.ContentBlockDelta | types.ContentBlockStop
FORGOTTEN: dict[type, Callable[[], types.AnyBlock]] = {
    types.TextDelta: partial(types.Text, text=""),
    types.ThinkingDelta: partial(types.Thinking, thinking="", signature=""),
}
"""The blocks of hosts that forget to begin them, by their pieces."""


class StreamDecoder:
    """`feed` takes an event of the vendor and gives the events it makes; after the terminal one there are none."""

    def __init__(self, request: ours.Request | None, dialect: MessagesDialect, now: float) -> None:
        self.losses = Losses()
        self._request = request
        self._now = now
        self._to = Emitter()
        named = renamed(request.tools) if request and request.tools else None
        self._open = OpenBlock(self._to, BlockReader(dialect.issuer, "", named), self.losses)
        self._index: int | None = None  # of the open block, as the vendor counts
        self._later: OrderedDict[int, list[OfBlock]] = OrderedDict()  # of blocks that began while another was open
        self._message: types.Message | None = None
        self._noted: set[str] = set()
        self._over = False

    def feed(self, event: types.AnyEvent) -> list[ev.AnyEvent]:
        """The events that this one makes."""
        if type(event) is Delta and event.index == self._index:
            take = self._open.takes.get(type(event.delta))
            if take is not None:
                take(self._open, event.delta)
                return self._to.take()
        if not self._over:
            self._feed(event)
        return self._to.take()

    def close(self) -> list[ev.AnyEvent]:
        """Nothing: an answer that did not tell its end was cut."""
        return []

    def _feed(self, event: types.AnyEvent) -> None:
        match event:
            case types.ContentBlockStart() | types.ContentBlockDelta() | types.ContentBlockStop():
                self._note(event)
                self._begun()
                self._of_block(event)
                self._catch_up()
            case types.MessageStart():
                self._note(event)
                self._begin(event.message)
            case types.MessageDelta():
                self._change(self._begun(), event)
            case types.MessageStop():
                self._note(event)
                self._end(self._begun())
            case types.Error():
                self._fail(event)
            case types.Ping():
                pass
            case Unknown():
                self._begun()
                self._surface(event)

    def _note(self, struct: Model) -> None:
        """Report, once, the fields of an event that it does not declare."""
        for name in extras(struct):
            self._lose(f"{kind_of(struct)}.{name}", "a field of events that Anthropic does not know")

    def _lose(self, path: str, what: str) -> None:
        if path not in self._noted:
            self._noted.add(path)
            self.losses.dropped(path, what)

    def _surface(self, event: dict[str, Any]) -> None:
        self._to.send(Unknown({**event, "sequence_number": self._to.number()}))

    # -- the message

    def _begun(self) -> types.Message:
        """The message so far; one that tells nothing where the host forgot to begin."""
        return self._message or self._begin(types.Message(content=[]))

    def _begin(self, message: types.Message) -> types.Message:
        if self._message is not None and (self._message.id or self._open.place or self._open.block is not None):
            return self._message
        if self._message is None:
            response = begun(message, self._request, self._now)
            self._to.start(response, response.usage or None)
        content, message = message.content, copy(message)
        message.content, message.usage = [], copy(message.usage)
        self._message = message
        self._open.reader.id = id_of(message)
        for block in content:
            self._open.open(block)
            self._open.close()
        return message

    def _change(self, message: types.Message, event: types.MessageDelta) -> None:
        """The end of an answer replaces what was said at its beginning."""
        overwrite(message, event.delta)
        overwrite(message, event, ("context_management", "input_transformations"))
        if given(event.usage):
            message.usage = message.usage or types.Usage()
            overwrite(message.usage, event.usage)
            message.usage = merged(message.usage, extras(event.usage), "usage", self.losses)
        self._message = merged(message, extras(event) | extras(event.delta), "message_delta", self.losses)

    def _end(self, message: types.Message) -> None:
        while self._open.block is not None:
            self._open.close()
            self._catch_up()
        reader = self._open.reader
        message.model = self._open.model or message.model
        response = answered(message, reader, self._open.place, self._request, self._now)
        self._open.settle(last=True)
        if response.status == "in_progress":  # its host never says why it ended
            response.status = "incomplete"
        self._finish(response)

    def _fail(self, event: types.Error) -> None:
        failed = decode_failure(event, self._request, self._now)
        message, error = self._message, failed.error
        if message is not None:
            failed.id = self._open.reader.id or failed.id
            failed.model = message.model or ""
            failed.usage = decode_usage(message.usage) if message.usage else None
        if given(error):
            self._to.error(ev.StreamError(code=error.code, type=error.type, message=error.message))
        self._finish(failed)

    def _finish(self, response: ours.Response) -> None:
        self._to.finish(response)
        self._over = True
        self._index = None

    # -- blocks, one after another

    def _of_block(self, event: OfBlock) -> None:
        if self._open.block is not None and event.index == self._index:
            if isinstance(event, Delta):
                self._grow(event)
                return
            self._open.close()
            self._index = None
        if isinstance(event, types.ContentBlockStart) and self._open.block is None:
            self._index = event.index
            self._open.open(event.content_block)
        elif isinstance(event, types.ContentBlockStart) or event.index in self._later:
            self._later.setdefault(event.index, []).append(event)
        elif isinstance(event, Delta) and event.index >= self._open.place and type(event.delta) in FORGOTTEN:
            self._of_block(types.ContentBlockStart(index=event.index, content_block=FORGOTTEN[type(event.delta)]()))
            self._of_block(event)
        elif isinstance(event, Delta):
            self._lose(f"content[{event.index}]", "a piece of a block that did not begin")

    def _catch_up(self) -> None:
        while self._open.block is None and self._later:
            for event in self._later.popitem(last=False)[1]:
                self._of_block(event)

    def _grow(self, event: Delta) -> None:
        delta = event.delta
        take = self._open.takes.get(kind(delta))
        if take is None:
            self._surface(plain(event))
            path = f"content[{self._open.place}]"
            self._lose(path, f"a piece of type {kind_of(delta)!r}, which does not fit the block")
        else:
            if isinstance(delta, Model):
                self._note(delta)
            take(self._open, delta)


def begun(message: types.Message, request: ours.Request | None, now: float) -> ours.Response:
    """An answer before anything was said."""
    response = answered(message, BlockReader("", id_of(message)), 0, request, now)
    return replace(response, status="in_progress", leftovers=None, input_transformations=None)
