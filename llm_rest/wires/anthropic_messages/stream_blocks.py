"""The open block of a streamed answer, and the items that its blocks become: when each is announced, and when it is over.

A block that is over goes to the `BlockReader` that whole answers use, so both give the same items. Before changing this file,
know what is only known late: a signature comes last and whole, a tool's input may never come (then the one its block began
with holds), an annotation covers a text that has not come yet; and that an item is over when the next one begins or the
answer ends, since only then it is known that it was not cut short. Follows Anthropic's guide to streaming (read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Raw

from ... import responses as ours
from ...losses import Losses
from ...responses import events as ev
from ...responses.emit import Emitter, OpenItem, Step, tell
from ...unknown import Model, Unknown, base, given, or_none
from . import types
from .assistant import SAID, BlockReader
from .calls import decode_call
from .carriers import CITATION
from .hosted import Use, shown
from .leftovers import encode, kinds, left, plain, rest

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
