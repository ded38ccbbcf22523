"""The messages of a request from items of Responses: who spoke when, and what belongs into one message (back: `history`).

Results stand first in the user message right after the calls they answer; system messages stand only behind a user's turn;
what the model did in one go is one message. Before changing this file, know that the vendor binds thinking to the exact
conversation before it: appending items may touch only the message that is still open, and nothing is ever sorted. Follows the
Messages reference on roles and tool results, and the guide to system messages in a conversation (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Raw

from ... import responses as ours
from ...responses.leftovers import SPELLING
from ...unknown import Unknown
from .._left import report_unknown
from . import types
from .calls import Call, Output, encode_call, encode_result, wire_id
from .content import Context, blocks_of, text_block
from .leftovers import merged, own, own_fields
from .ordinary import Content, OpenTurn, as_blocks
from .tools import tool_additions

SYSTEM = ("system", "developer")
SEPARATE = "separate"
"""Spelling of an item that begins a message although it could stand in the one before."""


class Turns(OpenTurn):
    """The messages of a request: `write` the items, then read `system` and `messages`."""

    def __init__(self, context: Context, offered: frozenset[str] = frozenset()) -> None:
        super().__init__(context)
        self.lost = context.lost
        self.system: list[types.Text] = []
        self.compacts = False
        self._offered = offered
        self._items: Sequence[ours.AnyItem] = ()
        self._outputs: dict[str, deque[int]] | None = None  # where the outputs of a call id are that did not come yet
        self._repeated: dict[str, int] = {}  # how often a call id came again
        self._fell_back = False  # whether the open message changes the model
        self._about: dict[str, Any] = {}  # fields of a message that did not begin yet

    def write(self, items: Sequence[ours.AnyItem]) -> None:
        """Take the whole input."""
        self._items = items
        i = 0
        while (i := self._ordinary(items, i)) < len(items):
            self._rarer(items[i], i)
            i += 1
        self._leave_answer(len(items))
        if self._role == "user":
            self._place_held()
        self._release_held()

    def _rarer(self, item: ours.AnyItem, i: int) -> None:
        path = f"input[{i}]"
        fields = {} if isinstance(item, Unknown) else own(item.leftovers)
        self._closed |= bool(fields.get(SPELLING, {}).get(SEPARATE))
        before = len(self.messages)
        match item:
            case ours.Message():
                self._message(item, i)
            case ours.FunctionCall() | ours.CustomToolCall():
                self._call(item, i)
            case ours.FunctionCallOutput() | ours.CustomToolCallOutput():
                self._answer(item, i)
            case ours.AdditionalTools(tools=tools):
                self._leave_answer(i)
                self._instruct(tool_additions(tools, path, self._offered, self.context), path)
            case ours.CompactionTrigger():
                self.compacts = True
            case ours.ItemReference():
                self.lost.refused(path, "an item by its id; Anthropic keeps nothing between calls")
            case _:
                blocks = self._writer.write(item, path)
                self._fell_back |= any(isinstance(block, types.Fallback) for block in blocks)
                if blocks:
                    self._answer_with(blocks, i)
        about: dict[str, Any] = fields.get("message") or (self._about if self._role == "assistant" else {})
        self._about = {}
        if self._held and self._held[-1][1] == path:
            self._held[-1] = merged(self._held[-1][0], about, path, self.lost), path
        elif len(self.messages) > before:
            self.messages[-1] = merged(self.messages[-1], about, path, self.lost)
        else:
            self._about = about

    def _message(self, item: ours.Message, i: int) -> None:
        path, content = f"input[{i}]", item.content
        if item.role == "assistant":
            self.context.beside_call = self._stands_beside_call(i)
            blocks = self._writer.write(item, path)
            self.context.beside_call = False
            if blocks:
                self._answer_with(blocks, i)
                if isinstance(content, str) and self.messages[-1].content is blocks:
                    self.messages[-1].content = content
            elif self._role == "user":
                # An answer that says nothing still ends the turn it answers, so that what follows leaves that as it is.
                self._release_held()
                self._closed = True
            return
        self._leave_answer(i)
        report_unknown(item, path, self.lost)
        own_fields(item.leftovers, path, self.lost)
        if not isinstance(content, str):
            said: Content = blocks_of(content, f"{path}.content", self.context)
        else:
            said = content if text_block(content, f"{path}.content", self.context) else ""
        if item.role in SYSTEM:
            self._instruct(said, path)
        elif not said:
            self.lost.refused(path, "a message that says nothing")
        else:
            if item.role != "user":
                self.lost.changed(f"{path}.role", f"{item.role!r} is sent as a user")
            self._ask(said)

    def _stands_beside_call(self, i: int) -> bool:
        """Whether the item at `i` is in one message with a call, which stands right before it or behind it."""
        items, behind = self._items, i + 1
        while behind < len(items) and isinstance(items[behind], ours.Reasoning):
            behind += 1
        return (i > 0 and isinstance(items[i - 1], Call)) or (behind < len(items) and isinstance(items[behind], Call))

    def _open(self, role: str, content: Content) -> None:
        """Begin a message."""
        self.messages.append(types.InputMessage(role, content))
        self._role, self._results = role, 0
        self._joins = self._closed = False

    # --- the model

    def _answer_with(self, blocks: list[types.AnyBlock], i: int) -> None:
        """Add to the model's message, which is begun where it is not open."""
        if self._role == "assistant" and not self._closed:
            self._blocks().extend(blocks)
            return
        if self._role == "assistant":
            self._close_answer(i)
        else:
            if self._waiting:
                self._settle(i)
            if self._held and self._role == "user":
                self._place_held()
        self._open("assistant", blocks)

    def _leave_answer(self, i: int) -> None:
        """What follows at `i` is not the model's: its message is complete, and its calls need their results now."""
        if self._writer.waits:
            self._close_answer(i)
        if self._waiting:
            self._settle(i)

    def _close_answer(self, i: int) -> None:
        self._writer.close()
        if self._fell_back:
            self._drop_declined(i)

    def _drop_declined(self, i: int) -> None:
        """Leave out what the vendor does not take back of a model that handed over: its thinking and unanswered calls."""
        content = self._blocks()
        last = max(n for n, block in enumerate(content) if isinstance(block, types.Fallback))
        answered = {block.tool_use_id for block in content if isinstance(block, types.ServerToolResult)}
        handed_over = {block.id for block in content[:last] if isinstance(block, types.ToolUse)}
        for call_id, waits in [*self._waiting.items()]:
            if self._answer_of(call_id, i) is None and waits[0][0].id in handed_over:
                del self._waiting[call_id]
            else:
                answered.update(block.id for block, _ in waits)
        kept = [
            block
            for block in content[:last]
            if not isinstance(block, types.Thinking | types.RedactedThinking)
            and not (isinstance(block, types.ToolUse | types.ServerToolUse) and block.id not in answered)
        ]
        if len(kept) < last:
            self.lost.withheld("input", "thinking and calls of a model that handed over, which do not go back")
        content[:last] = kept
        self._fell_back = False

    def _call(self, item: Call, i: int) -> None:
        if item.status == "incomplete" and self._answer_of(item.call_id, i) is None:
            self.lost.dropped(f"input[{i}]", "a call that was cut short and never answered")
            return
        if self._writer.waits:
            self._writer.settle()
        call_id, repeated = item.call_id, self._repeated.get(item.call_id, 0)
        while (id := wire_id(call_id, repeated)) in self._ids:
            repeated += 1
        self._repeated[call_id] = repeated
        self._ids.add(id)
        block = encode_call(item, id, f"input[{i}]", self.context)
        self._answer_with([block], i)
        self._waiting.setdefault(call_id, deque()).append((block, i))

    # --- results

    def _answer(self, item: Output, i: int) -> None:
        if i in self._taken:
            return
        if self._writer.waits:
            self._close_answer(i)
        call_id = item.call_id or ""
        waiting = self._waiting.pop(call_id, None)
        if waiting is None:
            self.lost.refused(f"input[{i}]", f"a result for {call_id!r}, which no call before it asks for")
            call = types.ToolUse(wire_id(call_id), "", Raw(b"{}"))
        else:
            call, _ = waiting.popleft()
            if waiting:
                self._waiting[call_id] = waiting
        block = encode_result(item, call, f"input[{i}]", self.context)
        if self._role == "user" and not self._closed and self._results == len(blocks := self._blocks()):
            blocks.append(block)
            self._results += 1
        else:
            self.messages.append(types.InputMessage("user", [block]))
            self._role, self._results = "user", 1
            self._joins, self._closed = True, False

    def _answer_of(self, call_id: str, start: int) -> int | None:
        """Where the next output for a call id is, at `start` or later; asked in the order of the items."""
        if self._outputs is None:
            self._outputs = {}
            for j in range(start, len(self._items)):
                if isinstance(item := self._items[j], Output):
                    self._outputs.setdefault(item.call_id or "", deque()).append(j)
        places = self._outputs.get(call_id)
        while places and (places[0] < start or places[0] in self._taken):
            places.popleft()
        return places[0] if places else None

    def _settle(self, start: int) -> None:
        """Give every call its result now: one that comes later moves up, one that never comes makes the request invalid."""
        for call_id in [*self._waiting]:
            while call_id in self._waiting:
                j = self._answer_of(call_id, start)
                if j is None:
                    for _, i in self._waiting.pop(call_id):
                        self.lost.refused(f"input[{i}]", "a call without a result, which Anthropic requires")
                    continue
                self.lost.changed(f"input[{j}]", "a result moves up to its call, where Anthropic requires it")
                self._answer(cast("Output", self._items[j]), j)
                self._taken.add(j)

    # --- everybody else

    def _ask(self, content: Content) -> None:
        """What a user says, in the open message where that holds results only, else in one of its own."""
        if self._role == "user" and self._joins and not self._closed:
            self._blocks().extend(as_blocks(content))
            self._joins = False
            return
        if self._role == "user":
            for _, path in self._held:
                self.lost.changed(path, "a system message moves behind the user's turn")
        self._open("user", content)

    def _instruct(self, content: Content, path: str) -> None:
        """What stands above the user: before the conversation in `system`, else where this model takes it."""
        if not content:
            return
        if not self.messages and not self._held:
            blocks = as_blocks(content)
            texts = [block for block in blocks if isinstance(block, types.Text)]
            self.system += texts
            if len(texts) < len(blocks):
                self.lost.dropped(path, "instructions that are not text")
            return
        message = types.InputMessage("system", content)
        if not self.context.model.system_turns:
            self._as_user_text(message, path)
            return
        if self._role != "user":
            self.lost.changed(path, "a system message moves behind the next user's turn")
        self._held.append((message, path))

    def _place_held(self) -> None:
        """The system messages stand here."""
        if self._held:
            self.messages += [message for message, _ in self._held]
            self._held = []
            self._role = "system"

    def _release_held(self) -> None:
        """No place is left for the system messages that wait."""
        held, self._held = self._held, []
        for message, path in held:
            self._as_user_text(message, path)

    def _as_user_text(self, message: types.InputMessage, path: str) -> None:
        texts: list[types.AnyBlock] = []
        for block in as_blocks(message.content or ""):
            if isinstance(block, types.Text):
                block.text = f"<system>\n{block.text}\n</system>"
                texts.append(block)
            else:
                self.lost.dropped(path, "the tools of this model cannot change within a conversation")
        if not texts:
            return
        self.lost.changed(path, "no system message can stand here; it is sent as the user's, in <system> tags")
        if self._role == "user":
            self._blocks().extend(texts)
        else:
            self.messages.append(types.InputMessage("user", texts))
            self._role, self._results, self._joins = "user", 0, True
