"""Streams, both ways.

Before changing this file, know that the end of an answer may contradict its beginning, that a stream without `message_stop`
broke off, and that what was sent cannot be taken back; that a signature comes last and whole, a tool's input may never come,
and an annotation covers a text that has not come yet. Follows Anthropic's guide to streaming (read 2026-11-20).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses
from ...responses import events as ev
from ...responses.emit import Emitter, OpenItem, Step, tell
from ...unknown import Decoder, Model, Unknown, base, extras, given, or_none, with_extras
from ...vendors.dialects import MessagesDialect, messages_model
from . import types
from .content import NOTHING, Context, block_of, encode, kind_of, kinds, left, merged, own_fields, plain, rest
from .messages import SAID, BlockReader, BlockWriter, decode_usage, encode_usage
from .reasoning import CITATION, GAP, Cited, Sealed, guest_thought, opened, returning_blocks
from .response import answered, decode_failure, encode_end, encode_failure, id_of, model_of
from .tools import VISIBLE, Call, Use, decode_call, encode_call, is_json, renamed, shown, wire_id

Takes = dict[type, Callable[[Any, Any], None]]
"""What the pieces of a block do, by their kinds."""

STEPS: dict[type, tuple[Step, Step | None, Step]] = {
    ours.WebSearchCall: (ev.WebSearchInProgress, ev.WebSearchSearching, ev.WebSearchCompleted),
    ours.CodeInterpreterCall: (
        ev.CodeInterpreterInProgress,
        ev.CodeInterpreterInterpreting,
        ev.CodeInterpreterCompleted,
    ),
    ours.McpCall: (ev.McpCallInProgress, None, ev.McpCallCompleted),
}
"""What is said when a tool of the vendor is chosen, when it runs, and when its result is there."""

_raw = msgspec.json.Decoder(Raw)


class OpenBlock:
    """The blocks of an answer, one at a time: `open` one, let it `takes` its pieces, and `close` it.

    `place` is where the block stands in the content, `model` the one that went on with the answer.
    """

    def __init__(self, to: Emitter, reader: BlockReader, losses: Losses) -> None:
        self.reader = reader
        self.place = 0
        self.block: types.AnyBlock | None = None
        self.takes: Takes = {}
        self.model = ""
        self._to = to
        self._losses = losses
        self._item = OpenItem(to, 0, "")
        self._pieces: list[str] = []
        self._input = Raw()  # of a tool, as its block began
        self._more: dict[str, list[str]] = {}  # texts of a block of a kind nobody knows
        # Items: how many were announced, how many of the reader's were told, and those that are not over.
        self._announced = 0
        self._told = 0
        self._open: dict[int, OpenItem] = {}
        self._uses: dict[str, tuple[int, Use, OpenItem]] = {}  # tools that wait for their results, by their ids
        self._ready: list[tuple[OpenItem, ours.AnyItem]] = []  # what their results made of them
        self._stalled = False

    # -- blocks

    def open(self, block: types.AnyBlock) -> None:
        """A block begins, perhaps with something in it."""
        i, id_of = self.place, self.reader.id_of
        self.reader.settle(block)
        if isinstance(block, SAID):
            self._uses.clear()
            self._stalled = False
        block = self.block = Unknown(block) if isinstance(block, Unknown) else copy(block)
        self._pieces = []
        self.takes = self._TAKES.get(kind(block), {})
        match block:
            case types.Text():
                if self.reader.parts is None:
                    self._announce(
                        ours.Message(id=or_none(id_of("msg", i)), role="assistant", status="in_progress", content=[])
                    )
                fields = rest(block, ("cache_control", "citations"))
                self._item.part(ours.OutputText(text="", annotations=[], leftovers=left(fields)))
                if block.citations:
                    block.citations = list(block.citations)
                self._on_text(types.TextDelta(text=block.text))
            case types.Thinking():
                self._announce(ours.Reasoning(id=or_none(id_of("rs", i)), status="in_progress", summary=[]))
                self._on_thinking(types.ThinkingDelta(thinking=block.thinking))
            case types.ToolUse():
                self._input, block.input = block.input, Raw()
                call = decode_call(block, id_of("fc", i), "in_progress", self.reader.renamed)
                self._announce(call)
                if not isinstance(call, ours.FunctionCall):
                    self.takes = self._KEPT
            case types.Compaction():
                self._announce(ours.Compaction(id=or_none(id_of("cmp", i)), encrypted_content=""))
                self._item.step(ev.CompactionCompacting)
            case types.ServerToolUse() | types.McpToolUse():
                self._input, block.input = block.input, Raw()
                if not self._use(i, block):
                    self.takes = self._KEPT
            case types.McpToolListing():
                self._use(i, block)
            case types.Fallback():
                self.model = block.to.model
            case Unknown():
                self._more = {}
            case _:
                pass

    def close(self) -> None:
        """The block is over."""
        block, text = self.block, "".join(self._pieces)
        match block:
            case None:
                return
            case types.Text():
                block.text = text
            case types.Thinking():
                block.thinking = text
            case types.ToolUse():
                block.input = Raw(text.encode("utf-8", "replace")) if text else self._input
            case types.ServerToolUse() | types.McpToolUse():
                block.input = self._json(text) if text else self._input
            case Unknown():
                for name, pieces in self._more.items():
                    text = "".join(pieces)
                    whole = msgspec.json.decode(self._json(text)) if name == "input" else f"{block.get(name, '')}{text}"
                    block[name] = whole
            case _:
                pass
        self.reader.add(self.place, block)
        self._tell_end(block, text)
        self.block = None
        self.place += 1

    def _tell_end(self, block: types.AnyBlock, text: str) -> None:
        match block:
            case types.Text():
                part: Any = self.reader.parts[-1] if self.reader.parts else None
                for annotation in part.annotations:
                    self._item.annotation(annotation)
                self._item.end_part(part)
            case types.Thinking() if text:
                self._item.end_summary(ours.SummaryText(text=text))
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
                self._runs(block, text)
            case types.ServerToolResult():
                self._result(block)
            case _:
                pass

    def _json(self, text: str) -> Raw:
        """The input of a tool that the vendor runs; where it was cut it is no JSON, and could not be kept as it is."""
        try:
            return _raw.decode(text)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            self._losses.changed(f"content[{self.place}].input", "not JSON; kept as the text of INVALID_JSON")
            return Raw(encode({"INVALID_JSON": text.encode("utf-8", "replace").decode()}))

    # -- pieces

    def _on_text(self, delta: types.TextDelta) -> None:
        self._pieces.append(delta.text)
        self._item.text(delta.text)

    def _on_citation(self, delta: types.CitationsDelta) -> None:
        block: Any = self.block
        if block.citations:
            block.citations.append(delta.citation)
        else:
            block.citations = [delta.citation]
        # Its annotation, if it has one, covers a text that has not come yet.
        event = Unknown(type=CITATION, sequence_number=self._to.number(), item_id=self._item.id)
        event |= {"output_index": self._item.index, "content_index": len(self.reader.parts or ())}
        event["citation"] = plain(delta.citation)
        self._to.send(event)

    def _on_thinking(self, delta: types.ThinkingDelta) -> None:
        if delta.thinking:
            if not self._pieces:
                self._item.summary_part()
            self._pieces.append(delta.thinking)
            self._item.summary(delta.thinking)

    def _on_signature(self, delta: types.SignatureDelta) -> None:
        block: Any = self.block
        block.signature = delta.signature

    def _on_arguments(self, delta: types.InputJsonDelta) -> None:
        self._pieces.append(delta.partial_json)
        self._item.arguments(delta.partial_json)

    def _on_mcp_arguments(self, delta: types.InputJsonDelta) -> None:
        self._pieces.append(delta.partial_json)
        self._item.mcp_arguments(delta.partial_json)

    def _on_input(self, delta: types.InputJsonDelta) -> None:
        self._pieces.append(delta.partial_json)

    def _on_compaction(self, delta: types.CompactionDelta) -> None:
        overwrite(self.block, delta)

    def _on_unknown(self, delta: Any) -> None:
        """A block of a kind nobody knows grows by the pieces that are known, and keeps what else they say."""
        block: Any = self.block
        match delta:
            case types.TextDelta(text=piece):
                self._more.setdefault("text", []).append(piece)
            case types.ThinkingDelta(thinking=piece):
                self._more.setdefault("thinking", []).append(piece)
            case types.InputJsonDelta(partial_json=piece):
                self._more.setdefault("input", []).append(piece)
            case types.CitationsDelta():
                block["citations"] = [*(block.get("citations") or ()), plain(delta.citation)]
            case _:
                block.update(rest(delta, delta.__struct_fields__))

    _KEPT: ClassVar[Takes] = {types.InputJsonDelta: _on_input}
    _TAKES: ClassVar[dict[type, Takes]] = {
        types.Text: {types.TextDelta: _on_text, types.CitationsDelta: _on_citation},
        types.Thinking: {types.ThinkingDelta: _on_thinking, types.SignatureDelta: _on_signature},
        types.ToolUse: {types.InputJsonDelta: _on_arguments},
        types.McpToolUse: {types.InputJsonDelta: _on_mcp_arguments},
        types.ServerToolUse: _KEPT,
        types.Compaction: {types.CompactionDelta: _on_compaction},
        Unknown: dict.fromkeys(kinds(types.AnyDelta), _on_unknown),
    }

    # -- items

    def _announce(self, item: ours.AnyItem) -> None:
        """Begin an item; those before it are over."""
        self.settle()
        self._item = self._open[self._announced] = self._to.add(item)
        self._announced += 1

    def settle(self, *, last: bool = False) -> None:
        """Tell what is over; all of it where this was the `last` of the answer."""
        items = self.reader.items
        for index in range(self._told, len(items)):
            if index >= self._announced:
                self._to.whole(items[index])
                self._announced += 1
            elif index in self._open and (last or not _open_until_the_end(items[index])):
                self._open.pop(index).done(items[index])
        self._told = len(items)
        if last:
            for index, opened in self._open.items():
                opened.done(items[index])
            self._open.clear()
        for opened, item in self._ready:
            if self._open.pop(opened.index, None) is not None:
                opened.done(item)
        self._ready.clear()

    def _use(self, i: int, block: Use | types.McpToolListing) -> bool:
        """Announce the item of a tool that was chosen at position `i`, where it has one already."""
        items = [] if self._stalled else shown(i, block, {}, self.reader.id)
        if not items:
            return False
        (item,) = items
        self._announce(item)
        if isinstance(block, types.McpToolListing):
            tell(self._item, item)
            self._ready.append((self._item, item))
        elif type(item) in STEPS:
            self._uses[block.id] = (i, block, self._item)
            self._item.step(STEPS[type(item)][0])
        # What a search over tools finds is an item between this one and the next, so that one has to wait.
        self._stalled = isinstance(item, ours.ToolSearchCall)
        return True

    def _runs(self, block: Use, text: str) -> None:
        """The input of a tool is complete, and `text` is what came of it in pieces."""
        if block.id not in self._uses:
            return
        i, _, opened = self._uses[block.id]
        (item,) = shown(i, block, {}, self.reader.id)
        if isinstance(item, ours.McpCall):
            if not text:
                opened.mcp_arguments(item.arguments)
            opened.end_mcp_arguments(item.arguments)
        elif isinstance(item, ours.CodeInterpreterCall):
            opened.code(item.code or "")
            opened.end_code(item.code or "")
        if step := STEPS[type(item)][1]:
            opened.step(step)

    def _result(self, block: types.ServerToolResult) -> None:
        """The result of a tool is there."""
        if block.tool_use_id not in self._uses:
            return
        i, use, opened = self._uses.pop(block.tool_use_id)
        (item,) = shown(i, use, {block.tool_use_id: block}, self.reader.id)
        failed = isinstance(item, ours.McpCall) and given(item.error)
        opened.step(ev.McpCallFailed if failed else STEPS[type(item)][2])
        if not _open_until_the_end(item):
            self._ready.append((opened, item))


def _open_until_the_end(item: ours.AnyItem) -> bool:
    """Only the end of an answer tells where its code ran, and whether a tool without result still goes on."""
    return isinstance(item, ours.CodeInterpreterCall) or (
        not isinstance(item, Unknown) and item.status == "in_progress"
    )


def kind(struct: object) -> type:
    """The kind of a block or piece, whether or not it came with unknown fields."""
    found = type(struct)
    return found.__mro__[1] if hasattr(found, "__extras__") else found


def overwrite(struct: Any, news: Model, names: tuple[str, ...] = ()) -> None:
    """Set in `struct` what `news` says (of `names`, where given); a null says nothing that was not known."""
    for name in names or base(news).__struct_fields__:
        value = getattr(news, name)
        if value is not UNSET and (value is not None or getattr(struct, name) is UNSET):
            setattr(struct, name, value)


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


class BlockSender:
    """Collects the events of blocks in `out`: `start` one, send its pieces, and `stop` it; the next one stops it too.

    `block` is the open block as it began, `sent` the number of characters of its text that were sent.
    """

    __slots__ = ("_head", "_thought", "as_it_comes", "block", "index", "model", "out", "part", "sent", "shown")

    def __init__(self) -> None:
        self.out: list[types.AnyEvent] = []
        self.block: types.AnyBlock | None = None
        self.index = -1
        self.sent = 0
        self.part = -1  # of the message that the open text is
        self.model = ""  # that went on with the answer
        self.shown = ""  # what of an item the open thought shows
        self._thought = 0
        self._head: list[str] = []
        self.as_it_comes: bool | None = None

    def start(self, block: types.AnyBlock) -> None:
        """A block begins."""
        self.stop()
        self.index += 1
        self.sent = 0
        self.block = block
        self.out.append(types.ContentBlockStart(index=self.index, content_block=copy(block)))

    def delta(self, delta: types.AnyDelta) -> None:
        """A piece of the open block."""
        self.out.append(types.ContentBlockDelta(index=self.index, delta=delta))

    def stop(self) -> None:
        """The open block, if there is one, is over."""
        if self.block is not None:
            self.block = None
            self.part = -1
            self.out.append(types.ContentBlockStop(index=self.index))

    def take(self) -> list[types.AnyEvent]:
        """The events since the last call."""
        out, self.out = self.out, []
        return out

    def whole(self, *blocks: types.AnyBlock) -> None:
        """Blocks that are known completely."""
        for block in blocks:
            self._whole(block)

    def _whole(self, block: types.AnyBlock) -> None:
        match block:
            case types.Thinking():
                self.start(replace(block, thinking="", signature=""))
                self.think(block.thinking, "", 0)
                self.delta(types.SignatureDelta(signature=block.signature))
            case types.ToolUse() | types.ServerToolUse() | types.McpToolUse():
                self.start(replace(block, input=NOTHING))
                if block.input != NOTHING:
                    self.delta(types.InputJsonDelta(partial_json=bytes(block.input).decode()))
            case types.Compaction():
                content = block.content if block.content is UNSET else None
                self.start(replace(block, content=content, encrypted_content=UNSET))
                self.delta(types.CompactionDelta(content=block.content, encrypted_content=block.encrypted_content))
            case types.Fallback():
                self.model = block.to.model
                self.start(block)
            case _:
                self.start(block)
        self.stop()

    # -- pieces

    def text(self, text: str) -> None:
        """A piece of the open text."""
        if text and self.part >= 0:
            self.sent += len(text)
            self.delta(types.TextDelta(text=text))

    def think(self, text: str, shown: str, part: int) -> None:
        """A piece of a thought, which shows an item's summary or its content; what is not shown is left out."""
        if not isinstance(self.block, types.Thinking):
            self.start(types.Thinking(thinking="", signature=""))
        if not self.sent:
            self.shown, self._thought = shown, part
        if text and shown == self.shown:
            text = text if part == self._thought else GAP + text
            self._thought = part
            self.sent += len(text)
            self.delta(types.ThinkingDelta(thinking=text))

    def call(self, block: types.ToolUse) -> None:
        """A call begins."""
        self.start(replace(block, input=NOTHING))
        self._head, self.as_it_comes = [], None

    def arguments(self, text: str) -> None:
        """A piece of a call's arguments. They are sent as they come if they begin as an object; other ones have to be mended."""
        if self.as_it_comes is None:
            self._head.append(text)
            if not text or text.isspace():
                return
            text = "".join(self._head)
            self.as_it_comes = text.lstrip()[0] == "{"
        if self.as_it_comes and text:
            self.sent += len(text)
            self.delta(types.InputJsonDelta(partial_json=text))

    def input(self, text: str) -> None:
        """A piece of a custom call's free text, which is the one argument of a function."""
        head = "" if self.sent else '{"input":"'
        self.sent += len(text)
        self.delta(types.InputJsonDelta(partial_json=head + encode(text).decode()[1:-1]))


def message_delta(begun: types.Message, body: types.Message) -> types.MessageDelta:
    """What became known of an answer after it had begun."""
    ending = types.Ending(
        stop_reason=body.stop_reason,
        stop_sequence=body.stop_sequence,
        stop_details=body.stop_details,
        container=body.container,
    )
    more = extras(body) | ({} if body.diagnostics is UNSET else {"diagnostics": plain(body.diagnostics)})
    if body.role != begun.role:
        more["role"] = body.role
    counts = body.usage or types.Usage()
    usage, news = types.DeltaUsage(output_tokens=counts.output_tokens), base(counts)
    for name in types.Usage.__struct_fields__:
        if name == "input_tokens" or getattr(news, name) != getattr(begun.usage, name):
            setattr(usage, name, getattr(news, name))
    return types.MessageDelta(
        delta=with_extras(ending, more),
        usage=with_extras(usage, extras(counts)),
        context_management=body.context_management,
        input_transformations=body.input_transformations,
    )


_citation: Decoder[types.AnyCitation] = Decoder(types.AnyCitation)


class StreamEncoder:
    """`feed` takes an event and gives the events of this wire that it makes; `close` ends a stream that has no end."""

    def __init__(self, request: ours.Request | None, dialect: MessagesDialect) -> None:
        self.losses = Losses()
        self._request = request
        self._context = Context(self.losses, dialect, messages_model(""), replay=False)
        self._writer = BlockWriter(self._context)
        self._to = BlockSender()
        self._message: types.Message | None = None  # as it began
        self._error: ev.StreamError | None = None
        self._over = False
        # The item whose turn it is: its place, and itself as it was announced.
        self._at = 0
        self._item: ours.AnyItem | None = None
        self._later: dict[int, list[Any]] = {}
        # The texts of the last message as they were sent, and as they turned out to be.
        self._texts: list[types.Text] = []
        self._meant: list[types.Text] = []

    def feed(self, event: ev.AnyEvent) -> list[types.AnyEvent]:
        """What is sent for `event`."""
        to = self._to
        if type(event) is ev.OutputTextDelta and event.output_index == self._at and event.content_index == to.part:
            to.sent += len(event.delta)
            return [types.ContentBlockDelta(index=to.index, delta=types.TextDelta(text=event.delta))]
        if not self._over:
            self._feed(event)
        return to.take()

    def close(self) -> list[types.AnyEvent]:
        """What ends the stream of an answer that broke off: an error."""
        if not self._over and (self._message is not None or self._error is not None):
            broke_off = self._error or ours.ResponseError(message="the answer broke off", code="server_error")
            self._fail(ours.Response(id="", status="failed", error=broke_off, output=[]))
        return self._to.take()

    def _feed(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.OfItem() | ev.OutputItemAdded() | ev.OutputItemDone():
                self._of_item(event, event.output_index)
            case ev.ResponseCompleted() | ev.ResponseIncomplete():
                self._end(event.response)
            case ev.ResponseFailed():
                self._fail(event.response)
            case ev.ErrorEvent():
                self._error = event.details  # the failed response that follows says more
            case ev.OfResponse():
                self._begin(event.response)
            case Unknown() if event.kind == CITATION and isinstance(event.get("output_index"), int):
                self._of_item(event, event["output_index"])
            case _:
                self.losses.dropped(kind_of(event), "an event Anthropic does not have")

    # -- the message

    def _begin(self, response: ours.Response) -> types.Message:
        if self._message is None:
            self._to.model = model = model_of(response, self._request)
            self._context.model = messages_model(model)
            usage = encode_usage(response, Losses())
            self._message = types.Message(
                id=response.id, model=model, content=[], stop_reason=None, stop_sequence=None, usage=usage
            )
            self._to.out.append(types.MessageStart(message=self._message))
        return self._message

    def _end(self, response: ours.Response) -> None:
        begun = self._begin(response)
        if self._later and max(self._later) >= len(response.output):
            self._at = min(self._later)  # the host numbers its items otherwise: all of them are waiting
            self._catch_up()
        while self._at < len(response.output):
            self._done(response.output[self._at])
            self._catch_up()
        for at in sorted(self._later):
            self._at = max(self._at, at)
            self._catch_up()
        self._to.stop()
        self._to.whole(*self._writer.close())
        body = encode_end(response, self._to.model, [], self._writer.refusals, self.losses)
        if begun.id != response.id:
            self.losses.changed("id", "not known when the answer began")
        if self._to.model != model_of(response, self._request):
            self.losses.changed("model", "not known when the answer began")
        self._to.out += [message_delta(begun, body), types.MessageStop()]
        self._over = True

    def _fail(self, response: ours.Response) -> None:
        if not response.error and self._error is not None:
            response = replace(response, error=self._error)
        own_fields(response.leftovers, "", self.losses)
        if response.usage:
            self.losses.dropped("usage", "a failed answer is an error at Anthropic and nothing else")
        self._to.out.append(encode_failure(response))
        self._over = True
        self._to.part = -1

    # -- items, one after another

    @property
    def _path(self) -> str:
        return f"output[{self._at}]"

    def _of_item(self, event: Any, index: int) -> None:
        self._begin(ours.Response(id="", status="in_progress", output=[]))
        if index == self._at:
            self._play(event)
        elif index > self._at:
            self._later.setdefault(index, []).append(event)
            if isinstance(event, ev.OutputItemDone) and isinstance(event.item, ours.Reasoning):
                self._overtake(event.item, index)
        self._catch_up()

    def _catch_up(self) -> None:
        while self._at in self._later:
            for event in self._later.pop(self._at):
                self._play(event)

    def _overtake(self, item: ours.Reasoning, index: int) -> None:
        """A run whose blocks are there needs no end of the items that show it, which may take as long as the answer."""
        payload = opened(item, self._context.dialect.issuer)
        blocks = returning_blocks(payload.blocks) if isinstance(payload, Sealed) else None
        if blocks is None or not isinstance(self._item, VISIBLE):
            return
        between = (self._later.get(k, ()) for k in range(self._at + 1, index))
        if all(any(isinstance(getattr(event, "item", None), VISIBLE) for event in events) for events in between):
            for k in range(self._at, index + 1):
                self._later.pop(k, None)
            self._writer.forget()
            self._at = index
            self._to.whole(*blocks)
            self._next()

    def _play(self, event: Any) -> None:
        match event:
            case ev.OutputItemAdded(item=item):
                self._announce(item)
            case ev.ContentPartAdded(part=part):
                self._open_part(part, event.content_index)
            case ev.OutputTextDelta(delta=delta):
                if self._to.part != event.content_index:
                    self._open_part(ours.OutputText(text=""), event.content_index)
                self._to.text(delta)
            case ev.ContentPartDone(part=part):
                self._end_part(part, event.content_index)
            case Unknown():
                self._cite(event)
            case ev.ReasoningSummaryTextDelta(delta=delta):
                self._think(delta, "summary", event.summary_index)
            case ev.ReasoningTextDelta(delta=delta):
                self._think(delta, "content", event.content_index)
            case ev.FunctionCallArgumentsDelta(delta=delta) if isinstance(self._to.block, types.ToolUse):
                self._to.arguments(delta)
            case ev.CustomToolCallInputDelta(delta=delta) if isinstance(self._to.block, types.ToolUse):
                self._to.input(delta)
            case ev.OutputItemDone(item=item):
                self._done(item)
            case _:
                pass  # the end of the item says the same

    def _announce(self, item: ours.AnyItem | None) -> None:
        self._item = item
        if item is None or isinstance(item, ours.Reasoning):
            return  # which may belong to what stands before it
        self._to.stop()
        self._texts = []
        if isinstance(item, VISIBLE):
            return
        self._to.whole(*self._writer.settle())
        if isinstance(item, Call):
            self._call(item)

    def _done(self, item: ours.AnyItem | None) -> None:
        match item:
            case None:
                pass
            case ours.Message():
                self._end_message(item)
            case ours.FunctionCall() | ours.CustomToolCall():
                self._end_call(item)
            case ours.Reasoning():
                self._end_reasoning(item)
            case _:
                self._send_all(item)
        self._next()

    def _next(self) -> None:
        self._at += 1
        self._item = None
        self._to.part = -1

    def _send_all(self, item: ours.AnyItem) -> None:
        self._to.whole(*self._writer.write(item, self._path))

    def _scratch(self) -> Context:
        """For what is encoded before it is complete: its losses are reported when it is."""
        return Context(Losses(), self._context.dialect, self._context.model, replay=False)

    # -- messages

    def _open_part(self, part: ours.ContentPart | None, index: int) -> None:
        if self._item is None:
            self._announce(ours.Message(role="assistant", content=[]))
        if part is None or not isinstance(self._item, ours.Message) or not isinstance(getattr(part, "text", None), str):
            return
        block = block_of(part, self._path, self._scratch())
        if isinstance(block, types.Text):
            block.text = ""
            self._texts.append(block)
            self._to.start(block)
            block.citations = [*block.citations] if block.citations else block.citations  # what was sent stays as it is
            self._to.part = index

    def _end_part(self, part: ours.ContentPart | None, index: int) -> None:
        text = getattr(part, "text", None)
        if isinstance(text, str):
            if self._to.part != index:
                self._open_part(part, index)
            self._to.text(text[self._to.sent :])

    def _cite(self, event: Unknown) -> None:
        try:
            citation = _citation.decode(encode(event.get("citation")))
        except DecodeError:
            return
        if self._texts and self._to.block is self._texts[-1]:
            self._send_citation(self._texts[-1], citation)

    def _send_citation(self, text: types.Text, citation: types.AnyCitation) -> None:
        if text.citations:
            text.citations.append(citation)
        else:
            text.citations = [citation]
        self._to.delta(types.CitationsDelta(citation=citation))

    def _end_message(self, item: ours.Message) -> None:
        parts = [ours.OutputText(text=item.content)] if isinstance(item.content, str) else item.content
        if self._item is None:
            self._announce(item)
        for index in range(max(self._to.part, 0), len(parts)):
            self._end_part(parts[index], index)
        self._meant = [block for block in self._writer.write(item, self._path) if isinstance(block, types.Text)]
        for sent, meant in zip(self._texts, self._meant, strict=False):
            self._compare(replace(sent, citations=UNSET), replace(meant, text="", citations=UNSET))

    def _compare(self, sent: types.AnyBlock, meant: types.AnyBlock) -> None:
        if sent != meant:
            self.losses.changed(self._path, "what became known of it after it had begun")

    # -- reasoning, and what it carries

    def _think(self, text: str, shown: str, part: int) -> None:
        if text and not isinstance(self._to.block, types.Thinking):
            self._to.whole(*self._writer.settle())
        if text:
            self._to.think(text, shown, part)

    def _end_reasoning(self, item: ours.Reasoning) -> None:
        if isinstance(self._to.block, types.Thinking):
            self._sign(item, self._to.block)
        elif isinstance(opened(item, self._context.dialect.issuer), Cited):
            self._writer.write(item, self._path)
            self._cite_late()
        else:
            self._send_all(item)

    def _sign(self, item: ours.Reasoning, sent: types.Thinking) -> None:
        """End a thought with its vendor's signature; one of another vendor, or that does not hold, goes as a guest."""
        text = GAP.join(part.text for part in getattr(item, self._to.shown) or ())
        blocks = self._writer.write(item, self._path)
        told = (block for block in blocks if isinstance(block, types.Thinking) and block.thinking == text)
        block = next(told, None) or guest_thought(item, self._to.shown)
        if text[self._to.sent :]:
            self._to.delta(types.ThinkingDelta(thinking=text[self._to.sent :]))
        self._to.delta(types.SignatureDelta(signature=block.signature))
        self._compare(sent, replace(block, thinking="", signature=""))
        self._to.stop()

    def _cite_late(self) -> None:
        """Citations that did not come with their texts reach the last one, which is still open."""
        for sent, meant in zip(self._texts, self._meant, strict=False):
            for citation in (meant.citations or [])[len(sent.citations or ()) :]:
                if sent is self._to.block:
                    self._send_citation(sent, citation)
                else:
                    self.losses.dropped(self._path, "a citation that came when its text was over")

    # -- calls

    def _call(self, item: Call) -> None:
        empty = replace(item, arguments="{}") if isinstance(item, ours.FunctionCall) else replace(item, input="")
        self._to.call(encode_call(empty, wire_id(item.call_id), self._path, self._scratch()))

    def _end_call(self, item: Call) -> None:
        if not isinstance(self._to.block, types.ToolUse):
            self._announce(item)
        sent: Any = self._to.block
        meant: Call = item
        if isinstance(item, ours.CustomToolCall):
            if item.input[self._to.sent :] or not self._to.sent:
                self._to.input(item.input[self._to.sent :])
            self._to.delta(types.InputJsonDelta(partial_json='"}'))
        else:
            self._to.arguments(item.arguments[self._to.sent :] if self._to.as_it_comes else item.arguments)
            if self._to.as_it_comes:
                meant = replace(item, arguments="{}")
                if not is_json(item.arguments):
                    self.losses.changed(f"{self._path}.arguments", "not a JSON object; streamed as it came")
        block: Any = self._writer.write(meant, self._path)[-1]
        if isinstance(item, ours.FunctionCall) and block.input != NOTHING:
            self._to.delta(types.InputJsonDelta(partial_json=bytes(block.input).decode()))
        self._compare(sent, replace(block, input=NOTHING))
        self._to.stop()
