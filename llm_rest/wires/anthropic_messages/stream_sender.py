"""Blocks as a server of this wire streams them: one open at a time, each with its own number, and texts in pieces.

Before changing this file, know that what was sent cannot be taken back: a piece goes out only if every way on from it is
legal. Follows Anthropic's guide to streaming (read 2026-11-20).
"""

from __future__ import annotations

from copy import copy

from msgspec import UNSET
from msgspec.structs import replace

from ...unknown import base, extras, with_extras
from . import types
from .carriers import GAP
from .leftovers import NOTHING, encode, plain


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
