"""The messages of a request, both ways: items in the order of a conversation, messages in the order this wire demands.

An assistant message with calls is followed at once by one tool message per call, and by nothing else before that. So calls
are gathered into the message they belong to, outputs that come too late are moved up, and images in outputs wait until the
last output of the turn is placed. Before changing this file, know that appending items must not change the messages made of
earlier ones: vendors' prompt caches depend on it. Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from ...responses import items as it
from ...responses.items import (
    AnyItem,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
)
from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.parts import ContentPart
from ...unknown import Unknown, extras, given
from . import types
from .calls import fit_call_id
from .content import FOREIGN, decode_parts, encode_parts
from .left import absent, known, put_back, sent, unspelled
from .reasoning import CallState, MessageState, Thought, put_text, state_of, text_of
from .spoken import Turn, decode_spoken
from .types import WIRE, AnyMessage, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dialects import ChatDialect
    from ...losses import Losses

Output = FunctionCallOutput | CustomToolCallOutput

ROLES: dict[str, type[types.SystemMessage] | type[types.DeveloperMessage] | type[types.UserMessage]] = {
    "system": types.SystemMessage,
    "developer": types.DeveloperMessage,
    "user": types.UserMessage,
}
"""The messages that are nobody's answer, by role."""

_PLAIN = frozenset({Message, FunctionCall, FunctionCallOutput, CustomToolCall, CustomToolCallOutput, Reasoning})
_HOSTED = (
    it.WebSearchCall
    | it.FileSearchCall
    | it.CodeInterpreterCall
    | it.ImageGenerationCall
    | it.McpListTools
    | it.McpCall
    | it.ToolSearchCall
    | it.ToolSearchOutput
)
"""Records of what a vendor did on its own; their effect is in the text that follows."""


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_messages(items: Sequence[AnyItem], dialect: ChatDialect, lost: Losses) -> list[AnyMessage]:
    """The items as messages in an order that this wire accepts."""
    writer = _Writer(items, dialect, lost)
    for i, item in enumerate(items):
        writer.add(i, item)
    return writer.finish()


class _Writer:
    __slots__ = (
        "_after",
        "_attached",
        "_dialect",
        "_items",
        "_lost",
        "_messages",
        "_moved",
        "_place",
        "_thoughts",
        "_turn",
        "_waiting",
    )

    def __init__(self, items: Sequence[AnyItem], dialect: ChatDialect, lost: Losses) -> None:
        self._items = items
        self._dialect = dialect
        self._lost = lost
        self._messages: list[AnyMessage] = []
        self._turn: Turn[types.AssistantMessage] | None = None
        self._place = 0  # where the open turn's message stands
        self._thoughts: list[tuple[Reasoning, Thought | Json | None, str]] = []  # for the turn to come
        self._attached: dict[str, Json] = {}  # what calls carry, by call id
        self._waiting: dict[str, int] = {}  # calls without an output yet, and where they stand
        self._moved: set[int] = set()  # outputs that were placed before their turn
        self._after: list[types.AnyPart] = []  # images of outputs, for a message after the last of them

    def add(self, i: int, item: AnyItem) -> None:
        if type(item) not in _PLAIN and not isinstance(item, Unknown):
            item = known(item, f"input[{i}]", self._lost)
        match item:
            case Message(role="assistant"):
                self._say(i, item)
            case Message():
                self._close(i)
                self._messages.append(self._message(item, f"input[{i}]"))
            case FunctionCall() | CustomToolCall():
                self._call(i, item)
            case FunctionCallOutput() | CustomToolCallOutput():
                if i not in self._moved:
                    self._output(i, item)
            case Reasoning():
                self._think(i, item)
            case _:
                self._other(f"input[{i}]", item)

    def finish(self) -> list[AnyMessage]:
        self._close(len(self._items))
        if self._thoughts:
            self._open(len(self._items))
            self._close(len(self._items))
        for call_id in self._attached:
            self._lost.dropped("input", f"what the host attached to the call {call_id}, which is gone")
        return _alternating(self._messages, self._lost) if self._dialect.alternates else self._messages

    # --- the assistant's turn ---

    def _open(self, i: int) -> Turn[types.AssistantMessage]:
        """The turn that the item at `i` belongs to."""
        turn = self._turn
        if turn is None:
            self._settle(i)
            turn = self._turn = Turn(types.AssistantMessage(content=None), self._dialect, self._lost)
            self._place = len(self._messages)
            self._messages.append(turn.said)
        thoughts, self._thoughts = self._thoughts, []
        for item, state, path in thoughts:
            self._keep_spoken(turn, item, path)
            if isinstance(state, Thought):
                turn.think(item, state, path)
            else:
                for place in state or ():
                    put_text(turn.said, place, text_of(item))
        return turn

    def _keep_spoken(self, turn: Turn[types.AssistantMessage], item: AnyItem, path: str) -> Json:
        """Take what the document said about the whole message; give what it said about the item."""
        if isinstance(item, Unknown) or item.leftovers is UNSET:
            return {}
        report_foreign(item.leftovers, WIRE, path, self._lost)
        left = dict(own(item.leftovers, WIRE))
        message: Json = left if isinstance(item, Message) else left.pop("message", {})
        turn.spelling.update(message.get(SPELLING, {}))
        turn.left.update((name, value) for name, value in message.items() if name != SPELLING)
        return left

    def _say(self, i: int, item: Message) -> None:
        turn, spelling = self._turn, self._marks(item)
        split = turn is not None and turn.has_text and not turn.calls and "continues" not in spelling
        if split or "apart" in spelling:
            self._finish_turn()
        turn = self._open(i)
        path = f"input[{i}]"
        self._keep_spoken(turn, item, path)
        turn.say(item, path)

    def _call(self, i: int, item: FunctionCall | CustomToolCall) -> None:
        path = f"input[{i}]"
        if "apart" in self._marks(item):
            self._finish_turn()
        elif self._turn is None and self._dialect.groups_calls and not self._thoughts:
            self._rejoin(path)
        turn = self._open(i)
        left = self._keep_spoken(turn, item, path)
        made = turn.call(item, left, path)
        state = self._attached.pop(item.call_id, None)
        if state is not None:
            made.extra_content = state
        elif self._dialect.missing_call_state and len(turn.calls) == 1:
            made.extra_content = absent(left.get(SPELLING, {}).get("extra_content", self._dialect.missing_call_state))
        self._waiting[made.id or ""] = i

    def _rejoin(self, path: str) -> None:
        """Open the message of the calls just answered again, for one more call of the same turn."""
        for place in range(len(self._messages) - 1, -1, -1):
            message = self._messages[place]
            if isinstance(message, types.AssistantMessage) and message.tool_calls:
                self._turn = Turn(message, self._dialect, self._lost)
                self._turn.calls.extend(call.id or "" for call in message.tool_calls)
                self._place = place
                self._lost.changed(path, "gathered with the calls before it, whose outputs stand between them")
            if not isinstance(message, types.ToolMessage):
                return

    @staticmethod
    def _marks(item: Message | FunctionCall | CustomToolCall | Reasoning) -> Json:
        marks: Json = own(item.leftovers, WIRE).get(SPELLING, {})
        return marks

    def _think(self, i: int, item: Reasoning) -> None:
        path = f"input[{i}]"
        marks = self._marks(item)
        if "apart" in marks:
            self._finish_turn()
        state = state_of(item, self._dialect)
        match state:
            case Thought():
                self._thoughts.append((item, state, path))
                if "continues" in marks and self._turn is not None:
                    self._open(i)
            case CallState(call_id=call_id, extra_content=extra_content):
                self._attached[call_id] = extra_content
            case MessageState():
                turn = self._turn
                (turn if turn is not None and state.shown else self._open(i)).attach(state, path)
            case None:
                self._think_foreign(item, marks, path)

    def _think_foreign(self, item: Reasoning, marks: Json, path: str) -> None:
        came: Json = marks.get("reasoning", {})
        if came and came["issuer"] == self._dialect.issuer and not given(item.encrypted_content):
            self._thoughts.append((item, dict.fromkeys(came["places"]), path))
        elif given(item.encrypted_content):
            self._lost.withheld(path, "reasoning that only its issuer can read")
        elif text_of(item):
            self._lost.withheld(path, "reasoning that this host did not issue, or does not take back")

    # --- what stands between the turns ---

    def _finish_turn(self) -> None:
        if self._turn is not None:
            self._messages[self._place] = self._turn.finish()
            self._turn = None

    def _close(self, i: int) -> None:
        """Close the open turn before the item at `i`, so that what is not the assistant's may follow."""
        if self._thoughts:
            self._open(i)
        self._finish_turn()
        self._settle(i)

    def _settle(self, i: int) -> None:
        """Place the outputs of all calls made so far, wherever they stand."""
        if self._waiting:
            for k in range(i, len(self._items)):
                item = self._items[k]
                if isinstance(item, Output) and k not in self._moved and self._answers(item):
                    self._lost.emulated(f"input[{k}]", "an output, moved up to its call")
                    self._moved.add(k)
                    self._output(k, item)
            for k in self._waiting.values():
                self._lost.refused(f"input[{k}]", "a call without an output")
            self._waiting.clear()
        if self._after:
            self._messages.append(types.UserMessage(content=self._after))
            self._after = []

    def _answers(self, item: Output) -> bool:
        return fit_call_id(item.call_id or "", self._dialect) in self._waiting

    def _output(self, i: int, item: Output) -> None:
        path, lost = f"input[{i}]", self._lost
        if self._turn is not None:
            self._finish_turn()
        call_id = fit_call_id(item.call_id or "", self._dialect)
        if self._waiting.pop(call_id, None) is None:
            lost.refused(path, "an output without a call before it")
        elif call_id != item.call_id:
            lost.changed(f"{path}.call_id", f"an id this host does not take, sent as {call_id}")
        left = own(item.leftovers, WIRE)
        report_foreign(item.leftovers, WIRE, path, lost)
        message = types.ToolMessage(content=self._output_content(item, path), tool_call_id=call_id)
        if isinstance(item, FunctionCallOutput) and item.name is not UNSET:
            message.name = item.name
        if item.is_error:
            lost.changed(f"{path}.is_error", 'an error, told by the words "Error: " before the text')
            message.content = _as_error(message.content)
        self._messages.append(_spell_output(message, left) if left else message)

    def _output_content(self, item: Output, path: str) -> types.Content:
        if isinstance(item.output, str):
            return item.output
        parts = encode_parts(item.output, self._dialect, f"{path}.output", self._lost)
        texts: list[types.AnyPart] = [part for part in parts if isinstance(part, types.Text)]
        others = [part for part in parts if not isinstance(part, types.Text)]
        if others:
            self._lost.changed(f"{path}.output", "images and files, sent in a user message after the outputs")
            self._after += [types.Text(text=f"From the tool call {item.call_id}:"), *others]
            texts = texts or [types.Text(text="See the next user message.")]
        return _joined(texts) if "tool" in self._dialect.plain_text else texts

    def _message(self, item: Message, path: str) -> AnyMessage:
        role, lost = item.role, self._lost
        if role == "developer" and self._dialect.system_role == "system":
            lost.changed(f"{path}.role", "the role developer, sent as system")
            role = "system"
        content: types.Content = (
            item.content
            if isinstance(item.content, str)
            else encode_parts(item.content, self._dialect, f"{path}.content", lost)
        )
        if role in self._dialect.plain_text and not isinstance(content, str):
            content = _joined(content)
        kind = ROLES.get(role)
        if kind is None:
            return Unknown({"role": role, "content": msgspec.to_builtins(content)})
        message = kind(content=content)
        if item.leftovers is UNSET:
            return message
        report_foreign(item.leftovers, WIRE, path, lost)
        left = own(item.leftovers, WIRE)
        if "name" in left and "name" in self._dialect.lacks:
            lost.dropped(f"{path}.leftovers.{WIRE}.name", "the name of a message, which this host does not take")
            left = {name: value for name, value in left.items() if name != "name"}
        message = put_back(message, unspelled(left))
        _spell(message, left)
        return message

    def _other(self, path: str, item: AnyItem) -> None:
        match item:
            case Unknown():
                if item.type.startswith(FOREIGN):
                    self._messages.append(Unknown(item["message"]))
                else:
                    self._lost.dropped(path, f"an item of type {item.type!r}")
            case it.AdditionalTools():
                pass  # offered with the other tools
            case _ if isinstance(item, _HOSTED):
                self._lost.dropped(path, f"the record {item.__struct_config__.tag!r} of what a vendor did")
            case _:
                self._lost.refused(path, f"{item.__struct_config__.tag!r}, which only a Responses host understands")


def _as_error(content: Any) -> Any:
    if isinstance(content, str):
        return f"Error: {content}"
    return [types.Text(text="Error: "), *content]


def _joined(parts: Sequence[Any]) -> str:
    return "".join(part.text for part in parts if isinstance(part, types.Text))


def _spell(message: types.Message, left: Json) -> None:
    spelling: Json = left.get(SPELLING, {})
    if "content" in spelling and not message.content:
        message.content = absent(spelling["content"])


def _spell_output(message: types.ToolMessage, left: Json) -> AnyMessage:
    spelling: Json = left.get(SPELLING, {})
    message = put_back(message, unspelled(left))
    _spell(message, left)
    if "tool_call_id" in spelling:
        message.tool_call_id = absent(spelling["tool_call_id"])
    if "legacy" in spelling:
        return types.FunctionMessage(content=message.content, name=message.name)
    return message


def _alternating(messages: list[AnyMessage], lost: Losses) -> list[AnyMessage]:
    """The messages with neighbours of one role joined."""
    joined: list[AnyMessage] = []
    for k, message in enumerate(messages):
        before = joined[-1] if joined else None
        if isinstance(message, types.UserMessage) and isinstance(before, types.UserMessage):
            joined[-1] = types.UserMessage(content=_both(before.content, message.content))
        elif isinstance(message, types.AssistantMessage) and isinstance(before, types.AssistantMessage):
            joined[-1] = types.AssistantMessage(content=_both(before.content, message.content))
        else:
            joined.append(message)
            continue
        lost.changed(f"messages[{k}]", "joined to the message of the same role before it")
    return joined


def _both(one: Any, other: Any) -> types.Content:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [
        part
        for content in (one, other)
        for part in ([types.Text(text=content)] if isinstance(content, str) else content)
    ]


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_messages(
    messages: Sequence[AnyMessage], dialect: ChatDialect, lost: Losses, *, first: int = 0
) -> list[AnyItem]:
    """The messages as items in the same order; `first` is the place of the first of them in the document."""
    reader = _Reader(dialect, lost)
    for k, message in enumerate(messages, first):
        reader.add(k, message)
    return reader.items


class _Reader:
    __slots__ = ("_after_assistant", "_asked", "_dialect", "_lost", "items")

    def __init__(self, dialect: ChatDialect, lost: Losses) -> None:
        self.items: list[AnyItem] = []
        self._dialect = dialect
        self._lost = lost
        self._after_assistant: list[AnyItem] | None = None  # the items of the message before, where it was one
        self._asked: list[tuple[str, Any, bool]] = []  # open calls: their id, the id in the document, whether custom

    def add(self, k: int, message: AnyMessage) -> None:
        match message:
            case types.AssistantMessage():
                self._assistant(k, message)
                return
            case types.ToolMessage() | types.FunctionMessage():
                self.items.append(self._output(k, message))
            case Unknown():
                self.items.append(Unknown({"type": f"{FOREIGN}message", "message": dict(message)}))
            case _:
                role = str(message.__struct_config__.tag)
                self.items.append(self._plain(Message(role=role, content=""), message))
        self._after_assistant = None

    def _plain(self, item: Message, message: types.Message) -> Message:
        content = message.content
        left: Json = {}
        if isinstance(content, str):
            item.content = content
        elif isinstance(content, list):
            item.content = decode_parts(content, self._dialect)
        else:
            left[SPELLING] = {"content": sent(content)}
        if message.name is not UNSET:
            left["name"] = message.name
        if isinstance(message, types.SystemMessage | types.UserMessage) and message.tool_calls is not UNSET:
            left["tool_calls"] = message.tool_calls
        left.update(extras(message))
        if left:
            item.leftovers = {WIRE: left}
        return item

    def _assistant(self, k: int, message: types.AssistantMessage) -> None:
        path = f"messages[{k}]"
        heard = decode_spoken(message, self._dialect, path, path, self._lost)
        left = heard.left
        items = heard.items or [Message(role="assistant", content="")]
        self._mark(items, message, left)
        for item in items:
            if isinstance(item, FunctionCall | CustomToolCall):
                kept = heard.calls[item.call_id]
                sent = kept.get(SPELLING, {}).get("id", item.call_id)
                legacy = "legacy" in kept.get(SPELLING, {})
                self._asked.append((item.call_id, item.name if legacy else sent, isinstance(item, CustomToolCall)))
                if kept:
                    _leave(item, kept)
        self.items += items
        self._after_assistant = items

    def _mark(self, items: list[AnyItem], message: types.AssistantMessage, left: Json) -> None:
        """Leave with the items what only the message said, and how they have to be gathered again."""
        spelling: Json = left.get(SPELLING, {})
        reasoning = spelling.pop("reasoning", None)
        if spelling.get("content", UNSET) == "" and not message.tool_calls and len(items) == 1:
            spelling.pop("content")
        if SPELLING in left and not spelling:
            del left[SPELLING]
        spoken = next((item for item in items if isinstance(item, Message)), items[0])
        if left:
            _leave(spoken, left if isinstance(spoken, Message) else {"message": left})
        for item in items:
            if reasoning and isinstance(item, Reasoning) and not given(item.encrypted_content):
                _leave(item, {SPELLING: {"reasoning": reasoning}})
        if "parts" in spelling:
            for item in items[1:]:
                _leave(item, {SPELLING: {"continues": True}})
        before = self._after_assistant
        if before is None:
            apart = self._dialect.groups_calls and isinstance(items[0], FunctionCall | CustomToolCall)
        else:
            apart = not isinstance(items[0], Message) or not isinstance(before[-1], Message)
        if apart:
            _leave(items[0], {SPELLING: {"apart": True}})

    def _output(self, k: int, message: types.ToolMessage | types.FunctionMessage) -> Output:
        left: Json = extras(message)
        spelling: Json = {}
        named = message.tool_call_id if isinstance(message, types.ToolMessage) else message.name
        asked = next((call for call in self._asked if call[1] == named or (not named and not call[1])), None)
        if asked is not None:
            self._asked.remove(asked)
        call_id = asked[0] if asked else named or ""
        if isinstance(message, types.FunctionMessage):
            spelling["legacy"] = True
        elif named != call_id:
            spelling["tool_call_id"] = sent(named)
        output: str | list[ContentPart] = ""
        if isinstance(message.content, list):
            output = decode_parts(message.content, self._dialect)
        elif isinstance(message.content, str):
            output = message.content
        else:
            spelling["content"] = sent(message.content)
        if spelling:
            left[SPELLING] = spelling
        item: Output
        if asked and asked[2]:
            item = CustomToolCallOutput(call_id=call_id, output=output)
            if message.name is not UNSET:
                left["name"] = message.name
        else:
            item = FunctionCallOutput(call_id=call_id, output=output, name=message.name)
        if left:
            item.leftovers = {WIRE: left}
        return item


def _leave(item: AnyItem, left: Json) -> None:
    """Add to what the document said about the item."""
    if isinstance(item, Unknown):
        return
    kept: Json = own(item.leftovers, WIRE)
    item.leftovers = {WIRE: kept}
    spelling: Json = {**kept.get(SPELLING, {}), **left.get(SPELLING, {})}
    kept.update(left)
    if spelling:
        kept[SPELLING] = spelling
