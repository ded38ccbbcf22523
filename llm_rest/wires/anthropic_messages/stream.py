"""Streams from the vendor: each event as the Responses events it makes; the way back is in `stream_encoder`.

The blocks of an answer are read by the `BlockReader` that whole answers are read by, and the end is the end of `decode_response`;
here is what is told of a block before it is over. Before changing this file, know that the end of an answer may contradict its
beginning, that a stream without `message_stop` broke off, that a tool's input may never come, that tools which the vendor
runs are told while they run, and that an annotation covers a text that has not come yet. Follows Anthropic's guide to streaming
(read 2026-11-20).
"""

from __future__ import annotations

from collections import OrderedDict
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Losses
from ...responses import events as ev
from ...responses.emit import Emitter, OpenItem, Step, tell
from ...unknown import Model, Unknown, base, extras, given, with_extras
from ..leftovers import as_plain
from ..tool_names import names_sent, wire_name
from . import types
from .content import NOTHING, decode_call, encode, kind_of, set_fields, struct_of
from .messages import SAID, BlockReader
from .reasoning import Use, block_items
from .response import begin_response, decode_failure, decode_usage, finish_response, id_of
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...vendors.dialects import MessagesDialect

CITATION = f"{WIRE}:citation"
"""An event of ours: a citation as the vendor gave it, when it comes. Its carrier stands behind the whole message."""

STEPS: dict[type, tuple[Step, Step | None, Step]] = {
    ours.WebSearchCall: (ev.WebSearchInProgress, ev.WebSearchSearching, ev.WebSearchCompleted),
    ours.CodeInterpreterCall: (
        ev.CodeInterpreterInProgress,
        ev.CodeInterpreterInterpreting,
        ev.CodeInterpreterCompleted,
    ),
    ours.McpCall: (ev.McpCallInProgress, None, ev.McpCallCompleted),
}
"""What is told of a tool when it is chosen, when its input is complete, and when its result is there."""

GROWS: dict[type, tuple[str, str]] = {
    types.TextDelta: ("text", "text"),
    types.ThinkingDelta: ("thinking", "thinking"),
    types.InputJsonDelta: ("partial_json", "input"),
}
"""Pieces of text: the field of the piece, and the one of a block that it grows."""

_raw = msgspec.json.Decoder(Raw)


# --- open blocks ----------------------------------------------------------------------------------------------------


class OpenBlock:
    """The blocks of an answer, one at a time: `open` one, let it `grow` by its pieces, and `close` it.

    `place` is where the block stands in the content, `model` the one that went on with the answer.
    """

    def __init__(self, to: Emitter, reader: BlockReader, losses: Losses) -> None:
        self.reader = reader
        self.place = 0
        self.block: Any = None
        self.model = ""
        self._to = to
        self._losses = losses
        self._item = OpenItem(to, 0, "")
        self._pieces: dict[str, list[str]] = {}  # by the field of the block that they grow
        self._text: list[str] = []  # those of an open text
        # Items: how many were announced, how many of the reader's were done, and those that are not over.
        self._announced = 0
        self._done = 0
        self._open: dict[int, OpenItem] = {}
        self._uses: dict[str, tuple[int, Use, OpenItem]] = {}  # tools that wait for their results, by their ids
        self._ready: list[tuple[OpenItem, ours.AnyItem]] = []  # what their results made of them
        self._stalled = False

    def open(self, block: types.AnyBlock) -> None:
        """A block begins, perhaps with something in it."""
        i, id_of = self.place, self.reader.id_of
        self.reader.settle(block)
        if isinstance(block, SAID):
            self._uses.clear()
            self._stalled = False
        block = self.block = Unknown(block) if isinstance(block, Unknown) else copy(block)
        self._pieces = {}
        match block:
            case types.Text():
                self._text = self._pieces["text"] = []
                if self.reader.parts is None:
                    self._announce(ours.Message(id=id_of("msg", i), role="assistant", status="in_progress", content=[]))
                leftovers = self.reader.text_leftovers(block)
                self._item.part(ours.OutputText(text="", annotations=[], leftovers=leftovers))
                if block.citations:
                    block.citations = list(block.citations)
                self.grow(types.TextDelta(text=block.text))
            case types.Thinking():
                self._announce(ours.Reasoning(id=id_of("rs", i), status="in_progress", summary=[]))
                self.grow(types.ThinkingDelta(thinking=block.thinking))
            case types.ToolUse():
                empty = replace(block, input=NOTHING)
                call = decode_call(empty, id_of("fc", i), "in_progress", self.reader.names)
                if isinstance(call, ours.FunctionCall):
                    call.arguments = ""
                else:
                    call.input = ""
                self._announce(call)
            case types.Compaction():
                self._announce(ours.Compaction(id=id_of("cmp", i), encrypted_content=""))
                self._item.step(ev.CompactionCompacting)
            case types.ServerToolUse() | types.McpToolUse() | types.McpToolListing():
                self._begin_run(i, block)
            case types.Fallback():
                self.model = block.to.model
            case _:
                pass

    def grow(self, delta: types.AnyDelta) -> bool:
        """A piece of the open block; whether it fits there."""
        block = self.block
        if type(delta) is types.TextDelta and type(block) is types.Text:  # nearly every piece
            self._text.append(delta.text)
            self._item.text(delta.text)
            return True
        grows = GROWS.get(struct_of(delta))
        if grows is not None and (isinstance(block, Unknown) or hasattr(block, grows[1])):
            self._grow_text(block, grows[1], getattr(delta, grows[0]))
        elif isinstance(delta, types.CitationsDelta) and isinstance(block, types.Text):
            if block.citations:
                block.citations.append(delta.citation)
            else:
                block.citations = [delta.citation]
            # Its annotation, if it has one, covers a text that has not come yet.
            event = Unknown(type=CITATION, sequence_number=self._to.number(), item_id=self._item.id)
            event |= {"output_index": self._item.index, "content_index": len(self.reader.parts or ())}
            event["citation"] = as_plain(delta.citation)
            self._to.send(event)
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
        pieces = self._pieces.setdefault(field, [])
        match block:
            case types.Text():
                self._item.text(piece)
            case types.Thinking() if piece:
                if not pieces:
                    self._item.summary_part()
                self._item.summary(piece)
            case types.ToolUse(name=name) if name not in self.reader.names or not self.reader.names[name].custom:
                self._item.arguments(piece)
            case types.McpToolUse(id=id) if id in self._uses:
                self._item.mcp_arguments(piece)
            case _:
                pass
        if piece:
            pieces.append(piece)

    def close(self) -> None:
        """The block is over."""
        block = self.block
        if block is None:
            return
        for name, pieces in self._pieces.items():
            whole: Any = "".join(pieces)
            if isinstance(block, Unknown):
                block[name] = msgspec.json.decode(self._json(whole)) if name == "input" else block.get(name, "") + whole
            elif name != "input":
                setattr(block, name, whole)
            elif whole:
                is_call = isinstance(block, types.ToolUse)
                block.input = Raw(whole.encode("utf-8", "replace")) if is_call else self._json(whole)
        self.reader.add(self.place, block)
        self._end(block)
        self.block = None
        self.place += 1

    def _end(self, block: types.AnyBlock) -> None:
        """Tell the end of a block, and what of it did not come in pieces."""
        text = "".join(self._pieces.get("input", ()))
        match block:
            case types.Text():
                part: Any = self.reader.parts[-1] if self.reader.parts else None
                for annotation in part.annotations:
                    self._item.annotation(annotation)
                self._item.end_part(part)
            case types.Thinking(thinking=thought) if thought:
                self._item.end_summary(ours.SummaryText(text=thought))
            case types.ToolUse():
                match self.reader.items[-1]:
                    case ours.FunctionCall(arguments=whole):
                        if not text:
                            self._item.arguments(whole)
                        self._item.end_arguments(whole)
                    case ours.CustomToolCall(input=whole):
                        self._item.input(whole)
                        self._item.end_input(whole)
                    case _:
                        pass
            case types.ServerToolUse() | types.McpToolUse():
                self._end_input(block, text)
            case types.ServerToolResult():
                self._end_run(block)
            case _:
                pass

    def _json(self, text: str) -> Raw:
        """The input of a tool that the vendor runs; where it was cut it is no JSON, and could not be kept as it is."""
        try:
            return _raw.decode(text)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            self._losses.changed(f"content[{self.place}].input", "not JSON; kept as the text of INVALID_JSON")
            return Raw(encode({"INVALID_JSON": text.encode("utf-8", "replace").decode()}))

    # -- items

    def _announce(self, item: ours.AnyItem) -> None:
        """Begin an item; those before it are over."""
        self.settle()
        self._item = self._open[self._announced] = self._to.add(item)
        self._announced += 1

    def settle(self, *, last: bool = False) -> None:
        """End the items that are over; all of them where this was the `last` of the answer."""
        items = self.reader.items
        for index in range(self._done, len(items)):
            if index >= self._announced:
                self._to.whole(items[index])
                self._announced += 1
            elif index in self._open and (last or not _is_open_until_the_end(items[index])):
                self._open.pop(index).done(items[index])
        self._done = len(items)
        if last:
            for index, opened in self._open.items():
                opened.done(items[index])
            self._open.clear()
        for opened, item in self._ready:
            if self._open.pop(opened.index, None) is not None:
                opened.done(item)
        self._ready.clear()

    # -- tools that the vendor runs, told while they run

    def _begin_run(self, i: int, block: Use | types.McpToolListing) -> None:
        """A tool was chosen at position `i`: announce its item, where it has one already."""
        items = [] if self._stalled else block_items(i, block, None, self.reader.id)
        for item in items:
            self._announce(item)
            if isinstance(block, types.McpToolListing):
                tell(self._item, item)
                self._ready.append((self._item, item))
            elif type(item) in STEPS:
                self._uses[block.id] = (i, block, self._item)
                self._item.step(STEPS[type(item)][0])
            # What a search over tools finds is an item between this one and the next, so that one has to wait.
            self._stalled = isinstance(item, ours.ToolSearchCall)

    def _end_input(self, block: Use, text: str) -> None:
        """The input of a tool is complete, and `text` is what came of it in pieces."""
        if block.id not in self._uses:
            return
        i, _, opened = self._uses[block.id]
        (item,) = block_items(i, block, None, self.reader.id)
        if isinstance(item, ours.McpCall):
            if not text:
                opened.mcp_arguments(item.arguments)
            opened.end_mcp_arguments(item.arguments)
        elif isinstance(item, ours.CodeInterpreterCall):
            opened.code(item.code or "")
            opened.end_code(item.code or "")
        if step := STEPS[type(item)][1]:
            opened.step(step)

    def _end_run(self, block: types.ServerToolResult) -> None:
        """The result of a tool is there."""
        if block.tool_use_id not in self._uses:
            return
        i, use, opened = self._uses.pop(block.tool_use_id)
        (item,) = block_items(i, use, block, self.reader.id)
        failed = isinstance(item, ours.McpCall) and given(item.error)
        opened.step(ev.McpCallFailed if failed else STEPS[type(item)][2])
        if not _is_open_until_the_end(item):
            self._ready.append((opened, item))


def _is_open_until_the_end(item: ours.AnyItem) -> bool:
    """Only the end of an answer tells where its code ran, and whether a tool without result still goes on."""
    return isinstance(item, ours.CodeInterpreterCall) or (
        not isinstance(item, Unknown) and item.status == "in_progress"
    )


def overwrite(struct: Any, news: Model, names: tuple[str, ...] = ()) -> None:
    """Set in `struct` what `news` says (of `names`, where given); a null says nothing that was not known."""
    for name in names or base(news).__struct_fields__:
        value = getattr(news, name)
        if value is not UNSET and (value is not None or getattr(struct, name) is UNSET):
            setattr(struct, name, value)


# --- the decoder -----------------------------------------------------------------------------------------------------

Delta = types.ContentBlockDelta
OfBlock = types.ContentBlockStart | types.ContentBlockDelta | types.ContentBlockStop
FORGOTTEN: dict[type, Callable[[], types.AnyBlock]] = {
    types.TextDelta: partial(types.Text, text=""),
    types.ThinkingDelta: partial(types.Thinking, thinking="", signature=""),
}
"""The blocks of hosts that forget to begin them, by their pieces."""


class StreamDecoder:
    """`feed` takes an event of the vendor and gives the events it makes; after the terminal one there are none."""

    def __init__(self, request: ours.Request | None, dialect: MessagesDialect, now: float, keep: bool) -> None:
        self.losses = Losses()
        self._request = request
        self._now = now
        self._keep = keep
        self._to = Emitter()
        names = names_sent(request, custom_tools=False, naming=wire_name)
        reader = BlockReader(dialect.issuer, "", names, keep=keep)
        self._open = OpenBlock(self._to, reader, self.losses)
        self._index: int | None = None  # of the open block, as the vendor counts
        self._later: OrderedDict[int, list[OfBlock]] = OrderedDict()  # of blocks that began while another was open
        self._message: types.Message | None = None
        self._noted: set[str] = set()
        self._over = False

    def feed(self, event: types.AnyEvent) -> list[ev.AnyEvent]:
        """The events that this one makes."""
        if type(event) is Delta and event.index == self._index:
            delta = event.delta
            if type(delta) in GROWS and self._open.grow(delta):
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
            response = begin_response(message, self._request, self._now)
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
            if more := extras(event.usage):
                message.usage = with_extras(message.usage, extras(message.usage) | more)
        if more := extras(event) | extras(event.delta):
            least: Json = {"type": "message", "content": []}
            self._message = set_fields(message, least, more, types.RESPONSE, "message_delta", self.losses)

    def _end(self, message: types.Message) -> None:
        while self._open.block is not None:
            self._open.close()
            self._catch_up()
        reader = self._open.reader
        message.model = self._open.model or message.model
        response = finish_response(message, reader, self._open.place, self._request, self._now)
        self._open.settle(last=True)
        if response.status == "in_progress":  # its host never says why it ended
            response.status = "incomplete"
        self._finish(response)

    def _fail(self, event: types.Error) -> None:
        failed = decode_failure(event, self._request, self._now, keep=self._keep)
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
        if self._open.grow(delta):
            if isinstance(delta, Model):
                self._note(delta)
            return
        self._surface(as_plain(event))
        path = f"content[{self._open.place}]"
        self._lose(path, f"a piece of type {kind_of(delta)!r}, which does not fit the block")
