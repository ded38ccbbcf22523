"""Streams of this wire: events of the vendor as Responses events, and back.

A block that is complete goes to the `BlockReader` that whole answers use, so both give the same items; here is what is said
while it grows. Before changing this file, know what is only known late: a signature comes last and whole, a tool's input may
never come, the end may contradict the beginning (usage, model), and a stream without `message_stop` broke off. Follows
Anthropic's guide to streaming (read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import UNSET, Raw

from ...dialects import MessagesDialect
from ...losses import Losses
from ...responses import events as ev
from ...responses.emit import Emitter, OpenItem
from ...responses.items import Compaction, CustomToolCall, FunctionCall, Message, Reasoning
from ...responses.parts import OutputText, SummaryText
from ...unknown import Model, Unknown, base, extras, given
from . import types
from .assistant import SAID, BlockReader
from .calls import decode_call
from .carried import CITATION, DEFAULT, encode, kind_of, kinds, left, merged, plain, rest
from .errors import decode_failure
from .names import renamed
from .response import begin, decode_usage, end
from .stream_back import StreamEncoder
from .stream_items import OpenItems

if TYPE_CHECKING:
    from ...responses.items import AnyItem
    from ...responses.request import Request

Delta = types.ContentBlockDelta
OfBlock = types.ContentBlockStart | types.ContentBlockDelta | types.ContentBlockStop
Takes = dict[type, Callable[[Any, Any], None]]

_raw = msgspec.json.Decoder(Raw)


def decode_stream(
    *, request: Request | None = None, dialect: MessagesDialect = DEFAULT, now: float = 0
) -> StreamDecoder:
    """A machine from the vendor's events to Responses events. `request` undoes what sending it renamed, and is echoed."""
    return StreamDecoder(request, dialect, now)


def encode_stream(*, request: Request | None = None, dialect: MessagesDialect = DEFAULT) -> StreamEncoder:
    """A machine from Responses events to events of this wire. `request` names the model where the response does not."""
    return StreamEncoder(request, dialect)


class StreamDecoder:
    """`feed` takes an event of the vendor and gives the events it makes; after the terminal one there are none."""

    def __init__(self, request: Request | None, dialect: MessagesDialect, now: float) -> None:
        self.losses = Losses()
        self._request = request
        self._now = now
        self._to = Emitter()
        named = renamed(request.tools) if request and request.tools else None
        self._reader = BlockReader(dialect.issuer, "", named)
        self._items = OpenItems(self._to, self._reader)
        self._message: types.Message | None = None
        self._over = False
        self._noted: set[str] = set()
        # The open block: its index on the wire, its place in the content, the text that came of it.
        self._block: types.AnyBlock | None = None
        self._index = -1
        self._place = 0
        self._pieces: list[str] = []
        self._item = OpenItem(self._to, 0, "")
        self._takes: Takes = {}
        self._input = Raw()  # of a tool, as its block began
        self._more: dict[str, list[str]] = {}  # texts of a block of a kind nobody knows
        self._later: dict[int, list[OfBlock]] = {}  # of blocks that began while another was open

    def feed(self, event: types.AnyEvent) -> list[ev.AnyEvent]:
        """The events that this one makes."""
        if type(event) is Delta and event.index == self._index:
            take = self._takes.get(type(event.delta))
            if take is not None:
                take(self, event.delta)
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
            self._lose(f"{kind_of(struct)}.{name}", "a field of events that this wire does not know")

    def _lose(self, path: str, what: str) -> None:
        if path not in self._noted:
            self._noted.add(path)
            self.losses.dropped(path, what)

    def _surface(self, event: dict[str, Any]) -> None:
        self._to.send(Unknown({**event, "sequence_number": self._to.number()}))

    # -- the message

    def _begun(self) -> types.Message:
        """The message so far; one that tells nothing where the host forgot to begin."""
        if self._message is None:
            self._begin(types.Message(id="", model="", content=[], usage=types.Usage(input_tokens=0, output_tokens=0)))
        assert self._message is not None
        return self._message

    def _begin(self, message: types.Message) -> None:
        first = self._message is None
        if not first and (self._reader.id or self._block is not None or self._place):
            return
        self._message = copy(message)
        self._message.content = []
        self._message.usage = copy(message.usage)
        self._reader.id = message.id
        if first:
            self._to.start(begin(message, self._request, self._now))
        for block in message.content:
            self._open(block)
            self._close()

    def _change(self, message: types.Message, event: types.MessageDelta) -> None:
        """What the end of an answer says replaces what was said at its beginning; null says nothing that was not known."""
        _overwrite(message, event.delta)
        _overwrite(message, event, ("context_management", "input_transformations"))
        fields = extras(event) | extras(event.delta)
        if given(event.usage):
            _overwrite(message.usage, event.usage)
            more = extras(event.usage)
            if more:
                message.usage = merged(message.usage, more, "usage", self.losses)
        if fields:
            self._message = merged(message, fields, "message_delta", self.losses)

    def _end(self, message: types.Message) -> None:
        while self._block is not None:
            self._close()
            self._catch_up()
        self._reader.close()
        response = begin(message, self._request, self._now)
        end(response, message, self._reader, self._place)
        self._items.settle(last=True)
        self._to.finish(response)
        self._stop()

    def _fail(self, event: types.Error) -> None:
        failed = decode_failure(event, self._request, self._now)
        message, error = self._message, failed.error
        if message is not None:
            failed.id = message.id or failed.id
            failed.model = message.model
            failed.usage = decode_usage(message.usage)
        if given(error):
            self._to.error(ev.StreamError(code=error.code, type=error.type, message=error.message))
        self._to.finish(failed)
        self._stop()

    def _stop(self) -> None:
        self._over = True
        self._index = -1

    # -- blocks, one after another

    def _of_block(self, event: OfBlock) -> None:
        if self._block is not None and event.index == self._index:
            if isinstance(event, Delta):
                self._grow(event)
                return
            self._close()
        if isinstance(event, types.ContentBlockStart) and self._block is None:
            self._index = event.index
            self._open(event.content_block)
        elif isinstance(event, types.ContentBlockStart) or event.index in self._later:
            self._later.setdefault(event.index, []).append(event)
        elif isinstance(event, Delta):
            self._lose(f"content[{event.index}]", "a piece of a block that did not begin")

    def _catch_up(self) -> None:
        while self._block is None and self._later:
            for event in self._later.pop(next(iter(self._later))):
                self._of_block(event)

    def _grow(self, event: Delta) -> None:
        delta = event.delta
        kind = _kind(delta)
        take = self._takes.get(kind)
        if take is None:
            self._surface(plain(event))
            self._lose(f"content[{self._place}]", f"a piece of type {kind_of(delta)!r}, which does not fit the block")
            return
        if not isinstance(delta, Unknown):
            self._note(delta)
        take(self, delta)

    # -- one block, from its beginning to its end

    def _open(self, block: types.AnyBlock) -> None:
        i, id_of = self._place, self._reader.id_of
        self._reader.settle(block)
        if isinstance(block, SAID):
            self._items.new_run()
        block = self._block = Unknown(block) if isinstance(block, Unknown) else copy(block)
        self._pieces = []
        self._takes = self._TAKES.get(_kind(block), {})
        match block:
            case types.Text():
                self._open_text(block)
            case types.Thinking():
                self._item = self._items.announce(Reasoning(id=id_of("rs", i), status="in_progress", summary=[]))
                if block.thinking:
                    self._on_thinking(types.ThinkingDelta(thinking=block.thinking))
            case types.ToolUse():
                self._input, block.input = block.input, Raw()
                call = decode_call(block, id_of("fc", i), "in_progress", self._reader.renamed)
                self._item = self._items.announce(call)
                if not isinstance(call, FunctionCall):
                    self._takes = self._KEPT
            case types.Compaction():
                self._item = self._items.announce(Compaction(id=id_of("cmp", i), encrypted_content=""))
                self._item.step(ev.CompactionCompacting)
            case types.ServerToolUse() | types.McpToolUse():
                self._input, block.input = block.input, Raw()
                item = self._items.use(i, block)
                if item is None:
                    self._takes = self._KEPT
                else:
                    self._item = item
            case types.McpToolListing():
                self._items.use(i, block)
            case types.Fallback():
                self._begun().model = block.to.model
            case Unknown():
                self._more = {}
            case _:
                pass

    def _open_text(self, block: types.Text) -> None:
        if self._reader.parts is None:
            id = self._reader.id_of("msg", self._place)
            self._item = self._items.announce(Message(id=id, role="assistant", status="in_progress", content=[]))
        self._item.part(
            OutputText(text="", annotations=[], leftovers=left(rest(block, ("cache_control", "citations"))))
        )
        if block.citations:
            block.citations = list(block.citations)
        if block.text:
            self._on_text(types.TextDelta(text=block.text))

    def _close(self) -> None:
        block, text = self._block, "".join(self._pieces)
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
                    grown = "".join(pieces)
                    block[name] = (
                        msgspec.json.decode(self._json(grown)) if name == "input" else f"{block.get(name, '')}{grown}"
                    )
            case _:
                pass
        self._reader.add(self._place, block)
        self._tell_end(block, text)
        self._block = None
        self._index = -1
        self._place += 1

    def _tell_end(self, block: types.AnyBlock, text: str) -> None:
        match block:
            case types.Text():
                part: Any = self._reader.parts[-1] if self._reader.parts else None
                for annotation in part.annotations:
                    self._item.annotation(annotation)
                self._item.end_part(part)
            case types.Thinking() if text:
                self._item.end_summary(SummaryText(text=text))
            case types.ToolUse():
                self._end_call(self._reader.items[-1], text)
            case types.ServerToolUse() | types.McpToolUse():
                self._items.runs(block, text)
            case types.ServerToolResult():
                self._items.result(block)
            case _:
                pass

    def _end_call(self, call: AnyItem, text: str) -> None:
        if isinstance(call, FunctionCall):
            if not text:
                self._item.arguments(call.arguments)
            self._item.end_arguments(call.arguments)
        elif isinstance(call, CustomToolCall):
            self._item.input(call.input)
            self._item.end_input(call.input)

    def _json(self, text: str) -> Raw:
        """The input of a tool that the vendor runs; where it was cut it is no JSON, and could not be kept as it is."""
        try:
            return _raw.decode(text)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            self.losses.changed(f"content[{self._place}].input", "not JSON; kept as the text of INVALID_JSON")
            return Raw(encode({"INVALID_JSON": text.encode("utf-8", "replace").decode()}))

    # -- the pieces of a block

    def _on_text(self, delta: types.TextDelta) -> None:
        self._pieces.append(delta.text)
        self._item.text(delta.text)

    def _on_citation(self, delta: types.CitationsDelta) -> None:
        block: Any = self._block
        found: list[types.AnyCitation] = block.citations or []
        block.citations = found
        found.append(delta.citation)
        # Its annotation covers a text that has not come yet, and many citations have none.
        place = {
            "item_id": self._item.id,
            "output_index": self._item.index,
            "content_index": len(self._reader.parts or ()),
        }
        self._surface({"type": CITATION, **place, "citation": plain(delta.citation)})

    def _on_thinking(self, delta: types.ThinkingDelta) -> None:
        if delta.thinking:
            if not self._pieces:
                self._item.summary_part()
            self._pieces.append(delta.thinking)
            self._item.summary(delta.thinking)

    def _on_signature(self, delta: types.SignatureDelta) -> None:
        block: Any = self._block
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
        _overwrite(self._block, delta)

    def _on_unknown(self, delta: Any) -> None:
        """A block of a kind nobody knows grows by the pieces that are known, and keeps what else they say."""
        block: Any = self._block
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
    """What the pieces of a block do, by the kind of the block and of the piece."""


def _kind(struct: object) -> type:
    """The kind of a block or piece, whether or not it came with unknown fields."""
    kind = type(struct)
    return kind.__mro__[1] if hasattr(kind, "__extras__") else kind


def _overwrite(struct: Any, news: Model, names: tuple[str, ...] = ()) -> None:
    """Set what `news` says in `struct`; null says nothing that was not known."""
    for name in names or base(news).__struct_fields__:
        value = getattr(news, name)
        if value is not UNSET and (value is not None or getattr(struct, name) is UNSET):
            setattr(struct, name, value)
