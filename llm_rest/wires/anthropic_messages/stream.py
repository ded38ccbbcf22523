"""Decoding of the vendor's streams to Responses events; the other direction is in `stream_encoder`.

Blocks are read by the `BlockReader` of whole answers, and the end by the function of `decode_response`; this module
emits events for a block before it is complete. Before changing this file, know that the end of an answer may contradict
its beginning, that a stream without `message_stop` broke off, that a tool's input may never come, that hosted tools are
reported while they run, and that an annotation covers text that has not arrived yet. Follows Anthropic's guide to
streaming (read 2026-11-20).
"""

from __future__ import annotations

from collections import OrderedDict
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from ... import responses as ours
from ...responses import events as ev
from ...responses.emit import OpenItem, tell
from ...unknown import Model, Unknown, base, extras
from ...vendors.dialects import MessagesDialect
from .. import stream
from ..leftovers import as_plain, kind_of, struct_of
from ..tools import sent_tools, wire_name
from . import types
from .content import ANTHROPIC, NOTHING, decode_call, encode
from .reasoning import OUTPUT_BLOCKS, BlockReader
from .response import (
    begin_response,
    change_message,
    decode_failure,
    decode_usage,
    finish_response,
    id_of,
    overwrite,
    report_unshown,
)
from .tools import Use, block_items
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Callable

    from .stream_encoder import StreamEncoder

__all__ = ["decode_stream", "encode_stream"]

CITATION = f"{WIRE}:citation"
"""An additional event of this library: a citation in the vendor's format, when it arrives. Its carrier follows the message."""

GROWS: dict[type, tuple[str, str]] = {
    types.TextDelta: ("text", "text"),
    types.ThinkingDelta: ("thinking", "thinking"),
    types.InputJsonDelta: ("partial_json", "input"),
}
"""Pieces of text: the field of the piece, and the field of the block that it extends."""

Start, Delta, Stop = types.ContentBlockStart, types.ContentBlockDelta, types.ContentBlockStop
OfBlock = types.ContentBlockStart | types.ContentBlockDelta | types.ContentBlockStop
UNBEGUN: dict[type, Callable[[], types.AnyBlock]] = {
    types.TextDelta: partial(types.Text, text=""),
    types.ThinkingDelta: partial(types.Thinking, thinking="", signature=""),
}
"""The blocks for hosts that omit their beginnings, by the types of their pieces."""

_raw = msgspec.json.Decoder(Raw)


class StreamDecoder(stream.StreamDecoder[MessagesDialect]):
    """Converts the vendor's events to Responses events, one block after another."""

    DIALECT = ANTHROPIC

    def _prepare(self) -> None:
        names = sent_tools(self._request, custom_tools=False, naming=wire_name)
        self._reader = BlockReader(self._dialect.issuer, "", names, keep=self._keep)
        self._message: types.Message | None = None
        self._model = ""  # that continued the answer
        self._reported: set[str] = set()
        # The open block, where it is in the content, its number, and its pieces by the field that they grow.
        self._block: Any = None
        self._place = 0
        self._index: int | None = None
        self._pieces: dict[str, list[str]] = {}
        self._waiting: OrderedDict[int, list[OfBlock]] = OrderedDict()  # of blocks that began while another was open
        # Items: the last one, the open ones, and the number of the reader's items already handled.
        self._last_item = OpenItem(self._emitter, 0, "")
        self._open_items: dict[int, OpenItem] = {}
        self._handled_items = 0
        self._running_tools: dict[str, tuple[int, Use, OpenItem]] = {}  # tools without a result yet, by their ids
        self._complete_items: list[tuple[int, ours.AnyItem]] = []  # what their results made of them
        self._defers_items = False

    def feed(self, event: types.AnyEvent) -> list[ev.AnyEvent]:
        """The Responses events for this event."""
        if type(event) is Delta and event.index == self._index:
            delta = event.delta
            if type(delta) is types.TextDelta and type(self._block) is types.Text:  # nearly every piece
                self._pieces["text"].append(delta.text)
                self._last_item.grow(ours.OutputText, delta.text)
                return self._emitter.take()
        return super().feed(event)

    def _feed(self, event: types.AnyEvent) -> None:
        match event:
            case types.ContentBlockStart() | types.ContentBlockDelta() | types.ContentBlockStop():
                self._report_unknown(event)
                self._started_message()
                self._of_block(event)
                self._catch_up()
            case types.MessageStart():
                self._report_unknown(event)
                self._start(event.message)
            case types.MessageDelta():
                self._message = change_message(self._started_message(), event, self.losses)
            case types.MessageStop():
                self._report_unknown(event)
                self._end(self._started_message())
            case types.Error():
                self._end_with_error(event)
            case types.Ping():
                pass
            case Unknown():
                self._started_message()
                self._pass_on(event)

    def _report_unknown(self, struct: Model) -> None:
        for name in extras(struct):
            self._report_once(f"{kind_of(struct)}.{name}", "a field of events that Anthropic does not know")

    def _report_once(self, path: str, what: str) -> None:
        if path not in self._reported:
            self._reported.add(path)
            self.losses.dropped(path, what)

    def _pass_on(self, event: dict[str, Any]) -> None:
        self._emitter.send(Unknown({**event, "sequence_number": self._emitter.number()}))

    # -- the message

    def _started_message(self) -> types.Message:
        """The message so far; an empty one if the host omitted its beginning."""
        return self._message or self._start(types.Message(content=[]))

    def _start(self, message: types.Message) -> types.Message:
        if self._message is not None and (self._message.id or self._place or self._block is not None):
            return self._message
        if self._message is None:
            response = begin_response(message, self._request, self._now)
            self._emitter.start(response, response.usage or None)
        content, message = message.content, copy(message)
        message.content, message.usage = [], copy(message.usage)
        self._message = message
        self._reader.id = id_of(message)
        for block in content:
            self._begin_block(block)
            self._end_block()
        return message

    def _end(self, message: types.Message) -> None:
        while self._block is not None:
            self._end_block()
            self._catch_up()
        message.model = self._model or message.model
        response = finish_response(message, self._reader, self._place, self._request, self._now)
        self._end_items(last=True)
        if response.status == "in_progress":  # its host never sends a stop reason
            response.status = "incomplete"
        self._index = None
        self._finish(response)

    def _end_with_error(self, event: types.Error) -> None:
        failed = decode_failure(event, self._request, self._now, keep=self._keep)
        if (message := self._message) is not None:
            failed.id = self._reader.id or failed.id
            failed.model = message.model or ""
            failed.usage = decode_usage(message.usage) if message.usage else None
        self._index = None
        self._fail(failed.error, failed)

    # -- blocks, one after another

    def _of_block(self, event: OfBlock) -> None:
        if self._block is not None and event.index == self._index:
            if isinstance(event, Delta):
                self._add_piece(event)
                return
            self._end_block()
            self._index = None
        if isinstance(event, Start) and self._block is None:
            self._index = event.index
            self._begin_block(event.content_block)
        elif isinstance(event, Start) or event.index in self._waiting:
            self._waiting.setdefault(event.index, []).append(event)
        elif isinstance(event, Delta) and event.index >= self._place and type(event.delta) in UNBEGUN:
            self._of_block(Start(index=event.index, content_block=UNBEGUN[type(event.delta)]()))
            self._of_block(event)
        elif isinstance(event, Delta):
            self._report_once(f"content[{event.index}]", "a piece of a block that did not begin")

    def _catch_up(self) -> None:
        while self._block is None and self._waiting:
            for event in self._waiting.popitem(last=False)[1]:
                self._of_block(event)

    def _add_piece(self, event: types.ContentBlockDelta) -> None:
        delta = event.delta
        if self._grow_block(delta):
            if isinstance(delta, Model):
                self._report_unknown(delta)
            return
        self._pass_on(as_plain(event))
        what = f"a piece of type {kind_of(delta)!r}, which does not fit the block"
        self._report_once(f"content[{self._place}]", what)

    def _begin_block(self, block: types.AnyBlock) -> None:
        """Begin a block, which may already have content."""
        i, reader = self._place, self._reader
        reader.flush(block)
        if isinstance(block, OUTPUT_BLOCKS):
            self._running_tools.clear()
            self._defers_items = False
        block = self._block = Unknown(block) if isinstance(block, Unknown) else copy(block)
        self._pieces = {}
        match block:
            case types.Text():
                if reader.parts is None:
                    empty = ours.Message(id=reader.id_of("msg", i), role="assistant", status="in_progress", content=[])
                    self._emit_added(empty)
                leftovers = reader.text_leftovers(block)
                self._last_item.part(ours.OutputText(text="", annotations=[], leftovers=leftovers))
                if block.citations:
                    block.citations = list(block.citations)
                self._pieces["text"] = []
                self._grow_block(types.TextDelta(text=block.text))
            case types.Thinking():
                self._emit_added(ours.Reasoning(id=reader.id_of("rs", i), status="in_progress", summary=[]))
                self._grow_block(types.ThinkingDelta(thinking=block.thinking))
            case types.ToolUse():
                call = decode_call(replace(block, input=NOTHING), reader.id_of("fc", i), "in_progress", reader.names)
                setattr(call, "arguments" if isinstance(call, ours.FunctionCall) else "input", "")
                self._emit_added(call)
            case types.Compaction():
                self._emit_added(ours.Compaction(id=reader.id_of("cmp", i), encrypted_content=""))
                self._last_item.step(ev.CompactionCompacting)
            case types.ServerToolUse() | types.McpToolUse() | types.McpToolListing():
                self._begin_run(i, block)
            case types.Fallback():
                self._model = block.to.model
            case _:
                pass

    def _grow_block(self, delta: types.AnyDelta) -> bool:
        """Add a piece to the open block; returns whether it fits there."""
        block, grows = self._block, GROWS.get(struct_of(delta))
        if grows is not None and (isinstance(block, Unknown) or hasattr(block, grows[1])):
            self._grow_text(block, grows[1], getattr(delta, grows[0]))
        elif isinstance(delta, types.CitationsDelta) and isinstance(block, types.Text):
            block.citations = block.citations or []
            block.citations.append(delta.citation)
            # Its annotation, if it has one, covers text that has not arrived yet.
            event = {"type": CITATION, "item_id": self._last_item.id, "output_index": self._last_item.index}
            self._pass_on(
                {**event, "content_index": len(self._reader.parts or ()), "citation": as_plain(delta.citation)}
            )
        elif isinstance(block, Unknown) and not isinstance(delta, Unknown):
            fields = {name: value for name, value in as_plain(delta).items() if name != "type"}
            if "citation" in fields:
                fields = {"citations": [*(block.get("citations") or ()), fields["citation"]]}
            block.update(fields)
        elif not isinstance(delta, Unknown) and all(hasattr(block, name) for name in base(delta).__struct_fields__):
            overwrite(block, delta)
        else:
            return False
        return True

    def _grow_text(self, block: types.AnyBlock, field: str, piece: str) -> None:
        if not piece:
            return
        pieces = self._pieces.setdefault(field, [])
        match block:
            case types.Text():
                self._last_item.grow(ours.OutputText, piece)
            case types.Thinking():
                if not pieces:
                    self._last_item.part(ours.SummaryText(text=""))
                self._last_item.grow(ours.SummaryText, piece)
            case types.ToolUse(name=name) if name not in self._reader.names or not self._reader.names[name].custom:
                self._last_item.grow(ours.FunctionCall, piece)
            case types.McpToolUse(id=id) if id in self._running_tools:
                self._last_item.grow(ours.McpCall, piece)
            case _:
                pass
        pieces.append(piece)

    def _end_block(self) -> None:
        """End the block: read it, and send the rest that was not sent in pieces."""
        block = self._block
        for name, pieces in self._pieces.items():
            whole: Any = "".join(pieces)
            if isinstance(block, Unknown):
                block[name] = msgspec.json.decode(self._json(whole)) if name == "input" else block.get(name, "") + whole
            elif name != "input":
                setattr(block, name, whole)
            else:
                is_call = isinstance(block, types.ToolUse)
                block.input = Raw(whole.encode("utf-8", "replace")) if is_call else self._json(whole)
        self._reader.add(self._place, block)
        if not self._reader.keep:
            report_unshown(block, self._place, self.losses)
        match block:
            case types.Text():
                part: Any = self._reader.parts[-1] if self._reader.parts else None
                for annotation in part.annotations:
                    self._last_item.annotation(annotation)
                self._last_item.end(part)
            case types.Thinking(thinking=thought) if thought:
                self._last_item.end(ours.SummaryText(text=thought))
            case types.ToolUse():
                call: Any = self._reader.items[-1]
                streamed = isinstance(call, ours.FunctionCall) and "input" in self._pieces
                self._last_item.end_input(call, streamed=streamed)
            case types.ServerToolUse() | types.McpToolUse():
                self._end_input(block)
            case types.ServerToolResult():
                self._end_run(block)
            case _:
                pass
        self._block = None
        self._place += 1

    def _json(self, text: str) -> Raw:
        """The input of a hosted tool; one that was cut off is not JSON, and could not be stored."""
        try:
            return _raw.decode(text)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            self.losses.changed(f"content[{self._place}].input", "not JSON; sent as the text of INVALID_JSON")
            return Raw(encode({"INVALID_JSON": text.encode("utf-8", "replace").decode()}))

    # -- items

    def _emit_added(self, item: ours.AnyItem) -> OpenItem:
        self._end_items()
        self._last_item = opened = super()._emit_added(item)
        self._open_items[opened.index] = opened
        return opened

    def _end_items(self, *, last: bool = False) -> None:
        """End the items that are complete; all of them if this was the `last` of the answer."""
        items = self._reader.items
        for index in range(self._handled_items, len(items)):
            if index == len(self._output):
                self._emit_whole(items[index])
            elif last or not _is_open_until_the_end(items[index]):
                self._end_item(index, items[index])
        self._handled_items = len(items)
        for index in [*self._open_items] if last else ():
            self._end_item(index, items[index])
        for index, item in self._complete_items:
            self._end_item(index, item)
        self._complete_items.clear()

    def _end_item(self, index: int, item: ours.AnyItem) -> None:
        opened = self._open_items.pop(index, None)
        if opened is not None:
            self._emit_done(opened, item)

    # -- hosted tools, reported while they run

    def _begin_run(self, i: int, block: Use | types.McpToolListing) -> None:
        """A tool was chosen at position `i`: announce its item, where it has one already."""
        items = [] if self._defers_items else block_items(i, block, None, self._reader.id)
        for item in items:
            self._emit_added(item)
            if isinstance(block, types.McpToolListing):
                tell(self._last_item, item)
                self._complete_items.append((self._last_item.index, item))
            elif self._last_item.begin_tool(item):
                self._running_tools[block.id] = (i, block, self._last_item)
            # The result of a tool search is an item between this one and the next, so that one has to wait.
            self._defers_items = isinstance(item, ours.ToolSearchCall)

    def _end_input(self, block: Use) -> None:
        """End the input of a tool."""
        if block.id in self._running_tools:
            i, _, opened = self._running_tools[block.id]
            (item,) = block_items(i, block, None, self._reader.id)
            opened.end_input(item, streamed="input" in self._pieces and isinstance(item, ours.McpCall))

    def _end_run(self, block: types.ServerToolResult) -> None:
        """Process the result of a tool."""
        if block.tool_use_id in self._running_tools:
            i, use, opened = self._running_tools.pop(block.tool_use_id)
            (item,) = block_items(i, use, block, self._reader.id)
            opened.end_tool(item)
            if not _is_open_until_the_end(item):
                self._complete_items.append((opened.index, item))


def _is_open_until_the_end(item: ours.AnyItem) -> bool:
    """Whether the item stays open until the answer's end, which has the container and the state of tools without result."""
    return isinstance(item, ours.CodeInterpreterCall) or (
        not isinstance(item, Unknown) and item.status == "in_progress"
    )


decode_stream = StreamDecoder


def encode_stream(*, request: ours.Request | None = None, dialect: MessagesDialect = ANTHROPIC) -> StreamEncoder:
    """A machine from Responses events to events of this wire."""
    from .stream_encoder import StreamEncoder

    return StreamEncoder(request=request, dialect=dialect)
