"""The items of an answer that is still under way: when each is announced, and when it is over.

Before changing this file, know its rule: an item is over when the next one begins or the answer ends, since only then it is
known that it was not cut short. What only the end of an answer tells (where its code ran, whether a tool without result still
goes on) keeps an item open until then. Follows Anthropic's guide to streaming (read 2026-11-20).
"""

from __future__ import annotations

from ... import responses as ours
from ...responses import events as ev
from ...responses.emit import Emitter, OpenItem, Step, tell
from ...unknown import Unknown, given
from . import types
from .assistant import BlockReader
from .hosted import Use, shown

STEPS: dict[type, tuple[Step, Step | None, Step]] = {
    ours.WebSearchCall: (ev.WebSearchInProgress, ev.WebSearchSearching, ev.WebSearchCompleted),
    ours.CodeInterpreterCall: (
        ev.CodeInterpreterInProgress,
        ev.CodeInterpreterInterpreting,
        ev.CodeInterpreterCompleted,
    ),
    ours.McpCall: (ev.McpCallInProgress, None, ev.McpCallCompleted),
}
"""What is said when a tool is chosen, when it runs, and when its result is there."""


class OpenItems:
    """The items that `reader` makes of an answer's blocks, told to `to` as far as they are known."""

    __slots__ = ("_announced", "_open", "_reader", "_ready", "_stalled", "_to", "_told", "_uses")

    def __init__(self, to: Emitter, reader: BlockReader) -> None:
        self._to = to
        self._reader = reader
        self._announced = 0
        self._told = 0  # of the reader's items
        self._open: dict[int, OpenItem] = {}
        self._uses: dict[str, tuple[int, Use, OpenItem]] = {}  # tools that wait for their results, by their ids
        self._ready: list[tuple[OpenItem, ours.AnyItem]] = []  # what their results made of them
        self._stalled = False

    def announce(self, item: ours.AnyItem) -> OpenItem:
        """Begin an item; those before it are over."""
        self.settle()
        opened = self._open[self._announced] = self._to.add(item)
        self._announced += 1
        return opened

    def settle(self, *, last: bool = False) -> None:
        """Tell what is over; all of it where this was the `last` of the answer."""
        items = self._reader.items
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

    # -- tools the vendor runs

    def new_run(self) -> None:
        """What comes next belongs to no tool before it."""
        self._uses.clear()
        self._stalled = False

    def use(self, i: int, block: Use | types.McpToolListing) -> OpenItem | None:
        """The item of a tool that was chosen at position `i`; nothing where it has none, or none yet."""
        items = [] if self._stalled else shown(i, block, {}, self._reader.id)
        if not items:
            return None
        (item,) = items
        opened = self.announce(item)
        if isinstance(block, types.McpToolListing):
            tell(opened, item)
            self._ready.append((opened, item))
            return opened
        if type(item) in STEPS:
            self._uses[block.id] = (i, block, opened)
            opened.step(STEPS[type(item)][0])
        # What a search over tools finds is an item between this one and the next, so that one has to wait.
        self._stalled = isinstance(item, ours.ToolSearchCall)
        return opened

    def runs(self, block: Use, text: str) -> None:
        """The input of a tool is complete, and `text` is what came of it in pieces."""
        if block.id not in self._uses:
            return
        i, _, opened = self._uses[block.id]
        (item,) = shown(i, block, {}, self._reader.id)
        if isinstance(item, ours.McpCall):
            if not text:
                opened.mcp_arguments(item.arguments)
            opened.end_mcp_arguments(item.arguments)
        elif isinstance(item, ours.CodeInterpreterCall):
            opened.code(item.code or "")
            opened.end_code(item.code or "")
        if step := STEPS[type(item)][1]:
            opened.step(step)

    def result(self, block: types.ServerToolResult) -> None:
        """The result of a tool is there."""
        if block.tool_use_id not in self._uses:
            return
        i, use, opened = self._uses.pop(block.tool_use_id)
        (item,) = shown(i, use, {block.tool_use_id: block}, self._reader.id)
        failed = isinstance(item, ours.McpCall) and given(item.error)
        opened.step(ev.McpCallFailed if failed else STEPS[type(item)][2])
        if not _open_until_the_end(item):
            self._ready.append((opened, item))


def _open_until_the_end(item: ours.AnyItem) -> bool:
    return isinstance(item, ours.CodeInterpreterCall) or (
        not isinstance(item, Unknown) and item.status == "in_progress"
    )
