"""Conversion of messages, both ways: the order of the roles, of calls and their results, and of system messages.

Before changing this file, know that the vendor binds thinking to the exact conversation before it: appending items may
change only the message that is still open, and nothing is ever sorted; that the results of calls are right behind them; and
that the first cases of a handler are the plain ones, which are most of a long conversation. Follows the Messages reference,
and the guides to thinking and system messages within a conversation, of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, cast

from msgspec import Raw, Struct
from msgspec.structs import replace

from ... import responses as ours
from ...unknown import Unknown, as_list, given
from ..call_ids import PlacedOutputs
from ..kept import diff, keep_message, kept_message, own_leftovers, patch, unknown
from ..leftovers import report_unknown, struct_of
from ..tools import Call
from . import types
from .content import (
    RULES,
    Output,
    decode_part,
    decode_result,
    encode_call,
    encode_content,
    encode_result,
    encode_text,
    wire_id,
)
from .reasoning import AssistantMessage, BlockReader
from .tools import VISIBLE, decode_tool_addition, tool_additions
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from .content import Context

Content = str | list[types.AnyBlock]


def _is_output(item: ours.AnyItem) -> bool:
    """Whether an item is of an assistant's turn."""
    if isinstance(item, ours.Message):
        return item.role == "assistant"
    return isinstance(item, (Call, ours.Reasoning, ours.Compaction, *VISIBLE))


def as_blocks(content: Content) -> list[types.AnyBlock]:
    """A message's content as blocks."""
    return [types.Text(text=content)] if isinstance(content, str) else content


# --- items to messages -----------------------------------------------------------------------------------------------

SYSTEM = ("system", "developer")


class Earlier(Struct, frozen=True):
    """The state of earlier turns that the writer of a turn needs."""

    ids: set[str] = set()
    """The ids of their calls."""
    repeated: dict[str, int] = {}
    """The number of times each call id was repeated."""
    system: list[types.Text] = []
    marks: list[tuple[str, Any, Any]] = []
    """The cache breakpoints: those that are never removed, and the newest, which a newer one replaces."""
    begins_alone: bool = False
    """Whether the first message is the assistant's, and nothing represents earlier turns."""
    begins_with_thinking: bool | None = None
    """Whether the assistant's turn began with thinking and waits for results at the end; `None` without such a turn."""


class MessageWriter:
    """Writes the messages of a request, and the system prompt in `system`. `state` is of the turns before."""

    changing: int | None = None
    compacts = False
    _role = ""  # of the open message
    _results = 0  # the number of results it begins with
    _joins = False  # whether the next content of a user belongs to it
    _closed = False  # whether the next item begins a message in any case
    _fell_back = False  # whether the open message changes the model

    def __init__(
        self,
        items: Sequence[ours.AnyItem],
        context: Context,
        offered: Collection[Any] = (),
        state: Earlier | None = None,
    ) -> None:
        self.context = context
        self.messages: list[types.InputMessage] = []
        self.state = state
        self._marks_before = len(context.marks)  # those of tools
        earlier = state or Earlier()
        for path, block, mark in earlier.marks:
            block.cache_control = mark
            context.marks.append((path, block))
        self._writer = AssistantMessage(context)
        self._waiting: dict[str, deque[tuple[types.ToolUse, int]]] = {}  # calls without a result yet
        self._ids: set[str] = set()  # of calls in these turns
        self._earlier = earlier.ids  # of calls in earlier turns
        self._deferred: list[tuple[types.InputMessage, str]] = []  # system messages that wait for a legal position
        self.lost = context.lost
        self.system: list[types.Text] = [*earlier.system]
        self._offered = offered
        self._items = items
        self._outputs = PlacedOutputs(items)  # those that were moved up
        self._repeated = {**earlier.repeated}
        self._left: Json = {}  # leftovers of a message that has not begun yet

    def write(self, start: int, end: int) -> None:
        """Write the items from `start` up to `end`."""
        items, handlers = self._items, self.HANDLERS
        for i in range(start, end):
            item = items[i]
            add: Any = handlers.get(type(item))
            if add is None or self._left or item.leftovers is not None:
                self._write_with_leftovers(item, i)
            else:
                add(self, item, i)

    def settled(self, end: int) -> bool:
        """End the turn before the item at `end`; returns whether later items can no longer change it."""
        if self._waiting or self._deferred or self._left or max(self._outputs.places, default=0) >= end:
            return False
        self._end_answer(end)
        marks = self.context.marks
        if len(marks) > self.context.first_marks:  # the newest of them is removed when another is added
            self.context.thin_marks()
            places = (i for i, message in enumerate(self.messages) if _holds(message.content, marks[-1][1]))
            self.changing = next(places, None)
        before = self.state or Earlier(begins_alone=begins_alone(self.messages[0]))
        before.ids.update(self._ids)
        self.state = replace(
            before,
            repeated={**self._repeated},
            system=[*self.system],
            marks=[(path, block, block.cache_control) for path, block in marks[self._marks_before :]],
            begins_with_thinking=begins_with_thinking(self.messages, before.begins_with_thinking),
        )
        self._ids, self._earlier, self._role = set(), before.ids, ""
        return True

    def finish(self) -> None:
        """End the conversation."""
        self._end_answer(len(self._items))
        if self._role == "user":
            self._place_system()
        self._release_system()

    def _write_with_leftovers(self, item: ours.AnyItem, i: int) -> None:
        """Write an item whose message may have leftovers."""
        left = kept_message(item, WIRE)
        self._closed |= left is not None
        before = len(self.messages)
        self.HANDLERS.get(struct_of(item), MessageWriter._add_other)(self, item, i)
        message = left or (self._left if self._role == "assistant" else {})
        self._left = {}
        if self._deferred and self._deferred[-1][1] == f"input[{i}]":
            self._deferred[-1] = patch(self._deferred[-1][0], message), self._deferred[-1][1]
        elif len(self.messages) > before:
            self.messages[-1] = patch(self.messages[-1], message)
        else:
            self._left = message  # of a message that has not begun yet

    def _add_other(self, item: ours.AnyItem, i: int) -> None:
        match item:
            case ours.AdditionalTools(tools=tools):
                self._end_answer(i)
                path = f"input[{i}]"
                report_unknown(item, path, self.lost)
                self._add_system(tool_additions(tools, path, self._offered, self.context), path)
            case ours.CompactionTrigger():
                self.compacts = True
            case ours.ItemReference():
                self.lost.refused(f"input[{i}]", "an item by its id; Anthropic stores nothing between calls")
            case _:
                blocks = self._writer.write(item, i)
                self._fell_back |= any(isinstance(block, types.Fallback) for block in blocks)
                if blocks:
                    self._answer_with(blocks, i)

    def _add_message(self, item: ours.Message, i: int) -> None:
        role: str = item.role
        content: Any = item.content
        if type(content) is str and role != self._role and (role == "user" or role == "assistant"):
            bare = item.leftovers is None and item.phase is None and type(item) is ours.Message
            has_text = bool(content) and not content.isspace()
            if bare and has_text and not (self._waiting or self._deferred or self._writer.is_open):
                self._open(role, content)
                return
        if role == "assistant":
            self.context.keeps_blank = self._is_beside_call(i) or self._is_own(item, i)
            blocks = self._writer.write(item, i)
            self.context.keeps_blank = False
            if blocks:
                self._answer_with(blocks, i)
                if isinstance(content, str) and self.messages[-1].content is blocks:
                    self.messages[-1].content = content
            elif self._role == "user":
                # An empty assistant message still ends its turn, so that later items leave that unchanged.
                self._release_system()
                self._closed = True
            return
        if self._waiting or self._writer.is_open:
            self._end_answer(i)
        path = f"input[{i}]"
        own_leftovers(item, WIRE, path, self.lost)
        if not isinstance(content, str):
            content = encode_content(content, f"{path}.content", self.context)
        else:
            content = content if encode_text(content, f"{path}.content", self.context) else ""
        if role in SYSTEM:
            self._add_system(content, path)
        elif not content:
            self.lost.refused(path, "an empty message")
        else:
            if role != "user":
                self.lost.changed(f"{path}.role", f"{role!r} is sent as a user")
            self._add_user_content(content)

    def _is_beside_call(self, i: int) -> bool:
        """Whether the item at `i` is in one message with a call directly before or after it."""
        items, behind = self._items, i + 1
        while behind < len(items) and isinstance(items[behind], ours.Reasoning):
            behind += 1
        return (i > 0 and isinstance(items[i - 1], Call)) or (behind < len(items) and isinstance(items[behind], Call))

    def _is_own(self, item: ours.Message, i: int) -> bool:
        """Whether the blank texts of the item at `i` are the vendor's own: their carrier follows, and so may more text."""
        content = item.content
        if isinstance(content, str):
            return False
        for part in content:
            if isinstance(part, ours.OutputText) and part.text.isspace():
                break
        else:  # as nearly always
            return False
        items, shows = self._items, any(isinstance(p, ours.OutputText) and p.text.strip() for p in content)
        following = items[i + 1 : i + 3]
        if (
            not following
            or not isinstance(following[0], ours.Reasoning)
            or not self._writer.cites(following[0], content)
        ):
            return False
        # A message of blank text alone is rejected.
        return shows or any(_is_output(one) for one in (*items[max(i - 1, 0) : i], *following[1:]))

    def _blocks(self) -> list[types.AnyBlock]:
        """The blocks of the open message."""
        message = self.messages[-1]
        message.content = found = as_blocks(message.content or "")
        return found

    def _open(self, role: str, content: Content) -> None:
        """Begin a message."""
        self.messages.append(types.InputMessage(role, content))
        self._role, self._results = role, 0
        self._joins = self._closed = False

    # --- assistant messages

    def _answer_with(self, blocks: list[types.AnyBlock], i: int) -> None:
        """Add to the assistant message, which is begun if none is open."""
        if self._role == "assistant" and not self._closed:
            self._blocks().extend(blocks)
            return
        if self._role == "assistant":
            self._close_answer(i)
        elif self._waiting:
            self._place_results(i)
        if self._role == "user":
            self._place_system()
        self._open("assistant", blocks)

    def _end_answer(self, i: int) -> None:
        """End the assistant message before the item at `i`: it is complete, and its calls need their results now."""
        if self._writer.is_open:
            self._close_answer(i)
        if self._waiting:
            self._place_results(i)

    def _close_answer(self, i: int) -> None:
        self._writer.close()
        if self._fell_back:
            self._drop_declined(i)

    def _drop_declined(self, i: int) -> None:
        """Leave out content from before a fallback model that the vendor rejects: thinking and unanswered calls."""
        content = self._blocks()
        last = max(n for n, block in enumerate(content) if isinstance(block, types.Fallback))
        answered = {block.tool_use_id for block in content if isinstance(block, types.ServerToolResult)}
        handed_over = {block.id for block in content[:last] if isinstance(block, types.ToolUse)}
        for call_id, is_open in [*self._waiting.items()]:
            if self._outputs.find(call_id, i) is None and is_open[0][0].id in handed_over:
                del self._waiting[call_id]
            else:
                answered.update(block.id for block, _ in is_open)
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

    def _add_call(self, item: Call, i: int) -> None:
        if item.status == "incomplete" and self._outputs.find(item.call_id, i) is None:
            self.lost.dropped(f"input[{i}]", "a call that was cut short and never answered")
            return
        if self._writer.is_open:
            self._writer.flush()
        call_id, repeated = item.call_id, 0
        while (id := wire_id(call_id, repeated)) in self._ids or id in self._earlier:
            repeated = self._repeated[call_id] = self._repeated.get(call_id, 0) + 1
        self._ids.add(id)
        block = encode_call(item, id, i, self.context)
        self._answer_with([block], i)
        self._waiting.setdefault(call_id, deque()).append((block, i))

    # --- results

    def _add_output(self, item: Output, i: int) -> None:
        if i in self._outputs.places:
            return
        if self._writer.is_open:
            self._close_answer(i)
        call_id = item.call_id or ""
        waiting = self._waiting.pop(call_id, None)
        if waiting is None:
            self.lost.refused(f"input[{i}]", f"a result for {call_id!r}, without a call before it")
            call = types.ToolUse(wire_id(call_id), "", Raw(b"{}"))
        else:
            call, _ = waiting.popleft()
            if waiting:
                self._waiting[call_id] = waiting
        block = encode_result(item, call, i, self.context)
        if self._role == "user" and not self._closed and self._results == len(blocks := self._blocks()):
            blocks.append(block)
            self._results += 1
        else:
            self.messages.append(types.InputMessage("user", [block]))
            self._role, self._results = "user", 1
            self._joins, self._closed = True, False

    def _place_results(self, start: int) -> None:
        """Place the result of every call now: a later one is moved up, and a missing one makes the request invalid."""
        for call_id in [*self._waiting]:
            while call_id in self._waiting:
                j = self._outputs.find(call_id, start)
                if j is None:
                    for _, i in self._waiting.pop(call_id):
                        self.lost.refused(f"input[{i}]", "a call without a result, which Anthropic requires")
                    continue
                self.lost.changed(f"input[{j}]", "a result moves up to its call, where Anthropic requires it")
                self._add_output(cast("Output", self._items[j]), j)
                self._outputs.places.add(j)

    # --- user and system messages

    def _add_user_content(self, content: Content) -> None:
        """Add user content to the open message if that has only results, else to a new message."""
        if self._role == "user" and self._joins and not self._closed:
            self._blocks().extend(as_blocks(content))
            self._joins = False
            return
        if self._role == "user":
            for _, path in self._deferred:
                self.lost.changed(path, "a system message, moved after the user's turn")
        self._open("user", content)

    def _add_system(self, content: Content, path: str) -> None:
        """Add system content: before the conversation to `system`, later to a message if this model supports it."""
        if not content:
            return
        if not self.messages and self.state is None and not self._deferred:
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
            self.lost.changed(path, "a system message, moved after the next user's turn")
        self._deferred.append((message, path))

    def _place_system(self) -> None:
        """Place the waiting system messages here."""
        if self._deferred:
            self.messages += [message for message, _ in self._deferred]
            self._deferred, self._role = [], "system"

    def _release_system(self) -> None:
        """Place the waiting system messages where no legal position is left."""
        held, self._deferred = self._deferred, []
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
        self.lost.changed(path, "no system message is possible here; sent as a user message, in <system> tags")
        if self._role == "user":
            self._blocks().extend(texts)
        else:
            self.messages.append(types.InputMessage("user", texts))
            self._role, self._results, self._joins = "user", 0, True

    HANDLERS: ClassVar[dict[type, Callable[[MessageWriter, Any, int], None]]] = {
        ours.Message: _add_message,
        **dict.fromkeys((ours.FunctionCall, ours.CustomToolCall), _add_call),
        **dict.fromkeys((ours.FunctionCallOutput, ours.CustomToolCallOutput), _add_output),
    }


def _holds(content: Any, block: object) -> bool:
    """Whether the block is in this content, or in a result there."""
    return any(one is block or _holds(getattr(one, "content", None), block) for one in as_list(content))


def begins_alone(message: types.InputMessage) -> bool:
    """Whether it is an assistant message without a user message before it; a compaction represents earlier turns."""
    content = message.content
    is_compacted = isinstance(content, list) and content and isinstance(content[0], types.Compaction)
    return message.role == "assistant" and not is_compacted


def finish_thinking(
    body: types.Request, messages: list[types.InputMessage], earlier: bool | None, context: Context
) -> None:
    """Disable thinking for a request whose history or tool choice forbids it; and make its last message valid.

    `messages` are those after the turns that were encoded before, `earlier` is `begins_with_thinking` of these.
    """
    thinking = body.thinking
    if given(thinking) and thinking.type == "enabled":
        forced = given(body.tool_choice) and body.tool_choice.type in ("any", "tool")
        if forced or begins_with_thinking(messages, earlier) is False:
            why = "a call is forced" if forced else "the thoughts before the last calls are missing"
            context.lost.changed("reasoning", f"no thinking for this request, because {why}")
            body.thinking = types.ThinkingConfig(type="disabled")
    if messages and messages[-1].role == "assistant":
        _finish_prefill(messages[-1], context)


def begins_with_thinking(messages: list[types.InputMessage], earlier: bool | None = None) -> bool | None:
    """Whether the assistant's turn that waits for results began with thinking, as it must while thinking is on.

    `earlier` is the same of the messages before these; `None` where the turn has no assistant message.
    """
    first: types.InputMessage | None = None
    for message in reversed(messages):
        content = message.content if isinstance(message.content, list) else []
        if message.role == "assistant":
            first = message
        elif message.role == "user" and not (content and isinstance(content[0], types.ToolResult)):
            break
    else:
        if earlier is not None:
            return earlier
    if first is None:
        return None
    blocks = first.content if isinstance(first.content, list) else []
    return bool(blocks) and isinstance(blocks[0], types.Thinking | types.RedactedThinking)


def _finish_prefill(last: types.InputMessage, context: Context) -> None:
    blocks = last.content if isinstance(last.content, list) else []
    # The vendor paused here and continues, or a call without its result was rejected already.
    if any(
        isinstance(block, types.ServerToolUse | types.ServerToolResult | types.McpToolUse | types.ToolUse)
        for block in blocks
    ):
        return
    if not context.model.prefill:
        context.lost.refused("input", "this model does not go on with an answer; the input must end with a user's turn")
        return
    text = last.content if isinstance(last.content, str) else getattr(blocks[-1], "text", "") if blocks else ""
    if text == text.rstrip():
        return
    context.lost.changed("input", "an answer to go on with may not end in white space")
    if isinstance(last.content, str):
        last.content = text.rstrip()
    elif isinstance(blocks[-1], types.Text):
        blocks[-1].text = text.rstrip()


# --- messages to items -----------------------------------------------------------------------------------------------

ROLES = {"user": "user", "assistant": "assistant", "system": "developer"}
"""Roles, those of Anthropic on the left; any other is treated as a user."""


def decode_messages(
    messages: Sequence[types.InputMessage], issuer: str, tools: Sequence[ours.AnyTool], *, keep: bool
) -> list[ours.AnyItem]:
    """The items for `messages`; an empty message becomes none."""
    items: list[ours.AnyItem] = []
    before = ""
    for message in messages:
        role, content = message.role, message.content
        if not content:
            continue
        if role not in ROLES:
            role = "user"
        if isinstance(content, str):
            found: list[ours.AnyItem] = [ours.Message(role=ROLES[role], content=content)]
        elif role == "assistant":
            reader = BlockReader(issuer, keep=keep)
            for i, block in enumerate(content):
                reader.add(i, block)
            found = reader.close()
        else:
            found = _decode_blocks(content, role, tools)
        if not isinstance(first := found[0], Unknown):
            left = diff(message, types.InputMessage(role, content), RULES) if keep else unknown(message)
            joins = items and role == before != "system"  # whether encoding would merge it into the message before
            if joins and isinstance(first, ours.Message) and first.role != "assistant":
                joins = isinstance(items[-1], ours.FunctionCallOutput)
            if left or joins:
                keep_message(first, WIRE, left)
        items += found
        before = role
    return items


def _decode_blocks(blocks: Sequence[types.AnyBlock], role: str, tools: Sequence[ours.AnyTool]) -> list[ours.AnyItem]:
    """Items of the user and the system. Tools that a system message adds are an item of their own, if they are described."""
    items: list[ours.AnyItem] = []
    if role == "system" and blocks:
        named = {tool.name: tool for tool in tools if isinstance(tool, ours.FunctionTool)}
        added = [decode_tool_addition(block, named) for block in blocks]
        if all(added):
            return [ours.AdditionalTools(role="developer", tools=[tool for tool in added if tool is not None])]
    parts: list[ours.ContentPart] = []
    for block in blocks:
        if role == "system" or not isinstance(block, types.ToolResult):
            if not parts:
                items.append(ours.Message(role=ROLES[role], content=parts))
            parts.append(decode_part(block))
        else:
            items.append(decode_result(block))
            parts = []
    return items
