"""The messages of a request, both ways: items in the order of a conversation, messages in the order this wire demands.

An assistant message with calls is followed at once by one tool message per call, and by nothing else before that. So calls
are gathered into the message they belong to, outputs that come too late are moved up, and images in outputs wait until the
last output of the turn is placed. Before changing this file, know that appending items must not change the messages made of
earlier ones: vendors' prompt caches depend on it. Follows the Chat Completions reference (read 2026-11-20).

Messages that are nobody's answer, both ways: what the user says, what the model is told, and what tools gave.

A tool message holds text only and has no word for failure. Before changing this file, know that an output is tied to its
call by the id that the call was sent with. Follows the developer, system, user and tool messages of the Chat Completions
reference (read 2026-11-20).

What the assistant said, as one message of this wire and as several items of Responses, both ways.

The same message stands in a request (as history) and in an answer; both directions of both use this file. Before changing
it, know that a message holds its thoughts, one text and its calls in this order: items in another order are joined, and the
lost order is reported. Follows the assistant message of the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeGuard, TypeVar, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ...responses import items as it
from ...responses.carriers import digest
from ...responses.items import AnyItem, CustomToolCallOutput, FunctionCall, FunctionCallOutput, Message, Reasoning
from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.parts import ContentPart, OutputText, PlainText, RefusalPart
from ...responses.repair import derived_call_id
from ...unknown import Opt, Unknown, extras, given, or_none, or_unset
from .._left import (
    ABSENT,
    Rest,
    absent,
    as_object,
    as_plain,
    known,
    notes,
    noting,
    put_back,
    report_unknown,
    returned,
    sent,
)
from .._renamed import Call, sent_name
from . import reasoning, types
from .content import FOREIGN, decode_parts, encode_annotations, encode_part, encode_parts
from .reasoning import CallState, MessageState, Place, Thought, carrier, state_of, text_of, text_places
from .tools import decode_call, encode_call, fit_call_id, json_text, json_value, spell_call
from .types import WIRE, AnyMessage, AnyPart, Json, Spoken, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from ...vendors.dialects import ChatDialect

MESSAGE = f"{FOREIGN}message"
"""The type of an item that is a message only this wire knows."""

_TAKEN = frozenset(
    {Message, FunctionCall, FunctionCallOutput, it.CustomToolCall, it.CustomToolCallOutput, it.Reasoning}
)
_HOSTED = frozenset(
    "web_search_call file_search_call code_interpreter_call image_generation_call mcp_list_tools mcp_call "
    "tool_search_call tool_search_output".split()
)
"""Records of what a vendor did on its own; their effect is in the text that follows."""


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


_NOTHING = types.AssistantMessage(content=None)
_NO_MARKS: Json = {}


def encode_messages(items: Sequence[it.AnyItem], dialect: ChatDialect, lost: Losses) -> list[AnyMessage]:
    """The items as messages in an order that this wire accepts."""
    writer = _Writer(items, dialect, lost)
    for i, item in enumerate(items):
        writer.add(i, item)
    return writer.finish()


class _Writer:
    __slots__ = tuple(
        "_after _attached _dialect _items _lost _messages _moved _outputs _place _thoughts _turn _waiting".split()
    )

    def __init__(self, items: Sequence[it.AnyItem], dialect: ChatDialect, lost: Losses) -> None:
        self._items = items
        self._dialect = dialect
        self._lost = lost
        self._messages: list[AnyMessage] = []
        self._turn: Turn[types.AssistantMessage] | None = None
        self._place = 0  # where the open turn's message stands
        self._thoughts: list[tuple[it.Reasoning, Thought | None, list[Place], int]] = []  # for the turn to come
        self._attached: dict[str, Json] = {}  # what calls carry, by call id
        self._waiting: dict[str, deque[int]] = {}  # where calls without an output yet stand; some hosts use an id twice
        self._moved: set[int] = set()  # outputs that were placed before their turn
        self._outputs: dict[str, deque[int]] | None = None  # where outputs stand that may yet be moved, by call id
        self._after: list[types.AnyPart] = []  # images of outputs, for a message after the last of them

    def add(self, i: int, item: it.AnyItem) -> None:
        if type(item) not in _TAKEN and not isinstance(item, Unknown):
            item = known(item, f"input[{i}]", self._lost)
        if type(item) is Message:
            self._message(i, item)
        elif type(item) is FunctionCall or type(item) is it.CustomToolCall:
            self._call(i, item)
        elif type(item) is FunctionCallOutput or type(item) is it.CustomToolCallOutput:
            self._output(i, item)
        elif type(item) is it.Reasoning:
            self._think(i, item)
        else:
            self._other(i, item)

    def finish(self) -> list[AnyMessage]:
        self._close(len(self._items))
        if self._thoughts:
            self._open(len(self._items))
            self._close(len(self._items))
        for call_id in self._attached:
            self._lost.dropped("input", f"what the host attached to the call {call_id}, which is gone")
        return alternating(self._messages, self._lost) if self._dialect.alternates else self._messages

    # --- the assistant's turn ---

    def _open(self, i: int) -> Turn[types.AssistantMessage]:
        """The turn that the item at `i` belongs to."""
        turn = self._turn
        if turn is None:
            if self._waiting or self._after:
                self._settle(i)
            turn = self._turn = Turn(replace(_NOTHING), self._dialect, self._lost)
            self._place = len(self._messages)
            self._messages.append(turn.said)
        if self._thoughts:
            thoughts, self._thoughts = self._thoughts, []
            for item, state, places, k in thoughts:
                self._keep_spoken(turn, item, k)
                turn.think(item, state, places, k)
        return turn

    def _keep_spoken(self, turn: Turn[types.AssistantMessage], item: it.AnyItem, i: int) -> Json:
        """Take what the document said about the whole message; give what it said about the item."""
        if isinstance(item, Unknown) or not item.leftovers:
            return {}
        report_foreign(item.leftovers, WIRE, f"input[{i}]", self._lost)
        left = dict(own(item.leftovers, WIRE))
        message = left if isinstance(item, Message) else as_object(left.pop("message", None))
        turn.spelling = {**turn.spelling, **notes(message)}
        turn.left = {**turn.left, **message}
        return left

    def _message(self, i: int, item: Message) -> None:
        if item.role == "assistant":
            self._say(i, item)
        else:
            self._close(i)
            self._messages.append(encode_told(item, self._dialect, i, self._lost))

    def _say(self, i: int, item: Message) -> None:
        turn, marks = self._turn, self._marks(item) if item.leftovers else _NO_MARKS
        split = turn is not None and turn.has_text and not turn.calls and "continues" not in marks
        if split or "apart" in marks:
            self._finish_turn()
        turn = self._open(i)
        if item.leftovers:
            self._keep_spoken(turn, item, i)
        turn.say(item, i)

    def _call(self, i: int, item: FunctionCall | it.CustomToolCall) -> None:
        if item.leftovers and "apart" in self._marks(item):
            self._finish_turn()
        turn = self._open(i)
        left = self._keep_spoken(turn, item, i) if item.leftovers else _NO_MARKS
        turn.call(item, left, self._attached, i)
        self._waiting.setdefault(turn.calls[-1], deque()).append(i)

    @staticmethod
    def _marks(item: Message | FunctionCall | it.CustomToolCall | it.Reasoning) -> Json:
        return notes(own(item.leftovers, WIRE)) if item.leftovers else {}

    def _think(self, i: int, item: it.Reasoning) -> None:
        marks = self._marks(item)
        if "apart" in marks:
            self._finish_turn()
        came = as_object(marks.get("reasoning"))
        places = text_places(came) if came.get("issuer") == self._dialect.issuer else []
        state = state_of(item, self._dialect)
        match state:
            case Thought():
                # A host may repeat the text of one field in another.
                self._thoughts.append((item, state, [place for place in places if place != state.place], i))
                if "continues" in marks and self._turn is not None:
                    self._open(i)
            case CallState(call_id=call_id, extra_content=extra_content):
                self._attached[call_id] = extra_content
            case MessageState():
                turn = self._turn if self._turn is not None and state.shown else self._open(i)
                self._keep_spoken(turn, item, i)
                turn.attach(state, i)
            case None if given(item.encrypted_content):
                self._lost.withheld(f"input[{i}]", "reasoning that only its issuer can read")
            case None if places:
                self._thoughts.append((item, None, places, i))
            case None:
                if text_of(item):
                    self._lost.withheld(f"input[{i}]", "reasoning that this host did not issue, or does not take back")

    # --- what stands between the turns ---

    def _finish_turn(self) -> None:
        turn = self._turn
        if turn is not None:
            said = turn.finish()
            if turn.has_text or turn.calls or said != _NOTHING:
                self._messages[self._place] = said
                if said.content is None and not (turn.calls or said.refusal or "content" in turn.spelling):
                    said.content = ""  # null is for messages with calls
            else:
                # Its thoughts stay behind, and a message that says nothing is refused.
                del self._messages[self._place]
            self._turn = None

    def _close(self, i: int) -> None:
        """Close the open turn before the item at `i`, so that what is not the assistant's may follow."""
        if self._thoughts:
            self._open(i)
        if self._turn is not None:
            self._finish_turn()
        if self._waiting or self._after:
            self._settle(i)

    def _settle(self, i: int) -> None:
        """Place the outputs of all calls made so far, wherever they stand."""
        if self._waiting:
            for k in self._late_outputs(i):
                self._lost.emulated(f"input[{k}]", "an output, moved up to its call")
                self._output(k, cast("Output", self._items[k]))
                self._moved.add(k)
            for k in chain.from_iterable(self._waiting.values()):
                self._lost.refused(f"input[{k}]", "a call without an output")
            self._waiting.clear()
        if self._after:
            self._messages.append(types.UserMessage(content=self._after))
            self._after = []

    def _late_outputs(self, i: int) -> list[int]:
        """Where from `i` on outputs stand for the calls that wait."""
        if self._outputs is None:
            self._outputs = {}
            for k, item in enumerate(self._items):
                if isinstance(item, Output):
                    self._outputs.setdefault(fit_call_id(item.call_id or "", self._dialect), deque()).append(k)
        late: list[int] = []
        for call_id, calls in self._waiting.items():
            places = self._outputs.get(call_id) or deque[int]()
            while places and places[0] < i:
                places.popleft()
            late += [places.popleft() for _ in range(min(len(calls), len(places)))]
        return sorted(late)

    def _output(self, i: int, item: Output) -> None:
        if i in self._moved:
            return
        if self._turn is not None:
            self._finish_turn()
        call_id = fit_call_id(item.call_id or "", self._dialect)
        calls = self._waiting.get(call_id)
        if calls is None:
            self._lost.refused(f"input[{i}]", "an output without a call before it")
        else:
            if call_id != item.call_id:
                self._lost.changed(f"input[{i}].call_id", f"an id this host does not take, sent as {call_id}")
            calls.popleft()
            if not calls:
                del self._waiting[call_id]
        self._messages.append(encode_output(item, call_id, self._after, self._dialect, i, self._lost))

    def _other(self, i: int, item: it.AnyItem) -> None:
        path = f"input[{i}]"
        match item:
            case Unknown():
                message = item.get("message")
                if item.kind == MESSAGE and isinstance(message, dict):
                    self._close(i)
                    self._messages.append(Unknown(cast("Json", message)))
                else:
                    self._lost.dropped(path, f"an item of type {item.kind!r}")
            case it.AdditionalTools():
                pass  # offered with the other tools
            case _ if (kind := item.__struct_config__.tag) in _HOSTED:
                self._lost.dropped(path, f"the record {kind!r} of what a vendor did")
            case _:
                self._lost.refused(path, f"an item of type {kind!r}, which only Responses has")


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_messages(messages: Sequence[AnyMessage], dialect: ChatDialect, lost: Losses) -> list[it.AnyItem]:
    """The messages as items in the same order."""
    reader = _Reader(dialect, lost)
    for k, message in enumerate(messages):
        reader.add(k, message)
    return reader.items


class _Reader:
    def __init__(self, dialect: ChatDialect, lost: Losses) -> None:
        self.items: list[it.AnyItem] = []
        self._dialect = dialect
        self._lost = lost
        self._after_assistant: list[it.AnyItem] | None = None  # the items of the message before, where it was one
        # Open calls by the id in the document, the earliest first: their own id, and whether they are custom.
        self._asked: dict[str, deque[tuple[str, bool]]] = {}

    def add(self, k: int, message: AnyMessage) -> None:
        match message:
            case types.AssistantMessage():
                self._assistant(k, message)
                return
            case types.ToolMessage() | types.FunctionMessage():
                self.items.append(self._output(message))
            case Unknown():
                self.items.append(Unknown({"type": MESSAGE, "message": dict(message)}))
            case _:
                self.items.append(decode_told(message, self._dialect))
        self._after_assistant = None

    def _assistant(self, k: int, message: types.AssistantMessage) -> None:
        path = f"messages[{k}]"
        heard = Heard(message, self._dialect, path, path, self._lost)
        left = heard.left
        items = heard.items or [Message(role="assistant", content="")]
        if message.content is None and not (message.tool_calls or message.function_call or message.refusal):
            noting(left)["content"] = None
        self._mark(items, message, left)
        for item in items:
            if isinstance(item, FunctionCall | it.CustomToolCall):
                kept = heard.calls[item.call_id]
                came = item.name if "legacy" in notes(kept) else absent(notes(kept).get("id", item.call_id))
                asked = item.call_id, isinstance(item, it.CustomToolCall)
                self._asked.setdefault(came if isinstance(came, str) else "", deque()).append(asked)
                if kept:
                    _leave(item, kept)
        self.items += items
        self._after_assistant = items

    def _mark(self, items: list[it.AnyItem], message: types.AssistantMessage, left: Json) -> None:
        """Leave with the items what only the message said, and how they have to be gathered again."""
        spelling = noting(left)
        reasoning = spelling.pop("reasoning", None)
        if spelling.get("content") == "" and not message.tool_calls and len(items) == 1:
            spelling.pop("content")
        if not spelling:
            del left[SPELLING]
        if left:
            # Thoughts may stay behind, so it hangs on the text or the first call, if there is either.
            said = next((item for item in items if isinstance(item, Message)), None)
            spoken = said or next((item for item in items if not isinstance(item, it.Reasoning)), items[-1])
            _leave(spoken, {"message": left} if said is None else left)
        for item in items:
            if reasoning and isinstance(item, it.Reasoning):
                _leave(item, {SPELLING: {"reasoning": reasoning}})
        if "parts" in spelling:
            for item in items[1:]:
                _leave(item, {SPELLING: {"continues": True}})
        before = self._after_assistant
        if before is not None and (not isinstance(items[0], Message) or not isinstance(before[-1], Message)):
            _leave(items[0], {SPELLING: {"apart": True}})

    def _output(self, message: types.ToolMessage | types.FunctionMessage) -> Output:
        named = message.tool_call_id if isinstance(message, types.ToolMessage) else message.name
        asked = self._asked.get(named or "")
        call_id, custom = asked.popleft() if asked else (named or "", False)
        return decode_output(message, call_id, custom, self._dialect)


def _leave(item: it.AnyItem, left: Json) -> None:
    """Add to what the document said about the item."""
    if isinstance(item, Unknown):
        return
    kept: Json = own(item.leftovers, WIRE)
    item.leftovers = {WIRE: kept}
    spelling = {**notes(kept), **notes(left)}
    kept.update(left)
    if spelling:
        kept[SPELLING] = spelling


Told = types.SystemMessage | types.DeveloperMessage | types.UserMessage
Output = FunctionCallOutput | CustomToolCallOutput

KINDS: dict[str, Told] = {
    "system": types.SystemMessage(),
    "developer": types.DeveloperMessage(),
    "user": types.UserMessage(),
}
"""An empty message of each role; a copy of it with a content costs a third of what making a struct costs."""
_OUTPUT, _MESSAGE, _TOOL = FunctionCallOutput(call_id="", output=""), Message(role="", content=""), types.ToolMessage()
_KNOWN = frozenset({*map(type, KINDS.values()), types.ToolMessage, types.FunctionMessage})


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_told(item: Message, dialect: ChatDialect, i: int, lost: Losses) -> AnyMessage:
    """The message for the item at place `i`, which is neither the assistant's nor a tool's."""
    role = item.role
    if role == "developer" and dialect.system_role == "system":
        lost.changed(f"input[{i}].role", "the role developer, sent as system")
        role = "system"
    content: types.Content
    if isinstance(item.content, str):
        content = item.content
    else:
        path = f"input[{i}].content"
        content = encode_parts(item.content, dialect, path, lost)
        if role in dialect.plain_text:
            content = _joined(content, path, lost)
    kind = KINDS.get(role)
    if kind is None:
        return Unknown({"role": role, "content": msgspec.to_builtins(content)})
    message = replace(kind, content=content)
    if item.leftovers:
        message = returned(message, item.leftovers, WIRE, f"input[{i}]", lost)
        if message.name is not UNSET and "name" in dialect.lacks:
            lost.dropped(f"input[{i}].name", "the name of a message, which this host does not take")
            message.name = UNSET
    return message


def encode_output(
    item: Output, call_id: str, after: list[AnyPart], dialect: ChatDialect, i: int, lost: Losses
) -> types.ToolMessage | types.FunctionMessage:
    """The message for the output at place `i`. What it cannot hold goes to `after`, for a user message that follows."""
    content = item.output if isinstance(item.output, str) else _encode_parts(item, after, dialect, i, lost)
    spelling = notes(own(item.leftovers, WIRE)) if item.leftovers else {}
    message: types.ToolMessage | types.FunctionMessage
    if "legacy" in spelling:
        message = types.FunctionMessage(content=content)
    else:
        message = replace(_TOOL, content=content, tool_call_id=call_id)
    if isinstance(item, FunctionCallOutput):
        message.name = or_unset(sent_name(item.name) if given(item.name) else item.name)
    if item.is_error:
        lost.changed(f"input[{i}]", 'a failure, told by the words "Error: " before the text')
        message.content = f"Error: {content}" if isinstance(content, str) else [types.Text(text="Error: "), *content]
    if item.leftovers:
        message = returned(message, item.leftovers, WIRE, f"input[{i}]", lost)
        if isinstance(message, types.ToolMessage) and "tool_call_id" in spelling:
            message.tool_call_id = absent(spelling["tool_call_id"])
    return message


def _encode_parts(item: Output, after: list[AnyPart], dialect: ChatDialect, i: int, lost: Losses) -> types.Content:
    path = f"input[{i}].output"
    parts = encode_parts(cast("list[ContentPart]", item.output), dialect, path, lost)
    if dialect.media_in_outputs:
        return parts
    texts: list[AnyPart] = [part for part in parts if isinstance(part, types.Text)]
    others: list[AnyPart] = [part for part in parts if not isinstance(part, types.Text)]
    if others:
        lost.changed(path, "images and files, sent in a user message after the outputs")
        after += [types.Text(text=f"From the tool call {item.call_id}:"), *others]
        texts = texts or [types.Text(text="See the next user message.")]
    return _joined(texts, path, lost) if "tool" in dialect.plain_text else texts


def _joined(parts: Sequence[AnyPart], path: str, lost: Losses) -> str:
    """The texts of the parts, for hosts that take nothing but a string."""
    texts = [part.text for part in parts if isinstance(part, types.Text)]
    if len(texts) < len(parts):
        lost.dropped(path, "all but the text, which is all this host takes here")
    elif len(parts) != 1:
        lost.changed(path, "several texts, sent as one")
    return "".join(texts)


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_told(message: Told, dialect: ChatDialect) -> Message:
    """The item for a message that is neither the assistant's nor a tool's."""
    content, left = _decode_content(message, dialect)
    for name in ("name", "tool_calls"):
        if (value := getattr(message, name, UNSET)) is not UNSET:
            left[name] = value
    item = replace(_MESSAGE, role=str(message.__struct_config__.tag), content=content)
    if left:
        item.leftovers = {WIRE: left}
    return item


def decode_output(
    message: types.ToolMessage | types.FunctionMessage, call_id: str, custom: bool, dialect: ChatDialect
) -> Output:
    """The output that a message holds, for the call `call_id`, which may be a custom tool's."""
    output, left = _decode_content(message, dialect)
    spelling: Json = {}
    if isinstance(message, types.FunctionMessage):
        spelling["legacy"] = True
    elif message.tool_call_id != call_id:
        spelling["tool_call_id"] = sent(message.tool_call_id)
    if spelling:
        left[SPELLING] = {**notes(left), **spelling}
    if custom and message.name is not UNSET:
        left["name"] = message.name
    item: Output = (
        CustomToolCallOutput(call_id=call_id, output=output)
        if custom
        else replace(_OUTPUT, call_id=call_id, output=output, name=or_none(message.name))
    )
    if left:
        item.leftovers = {WIRE: left}
    return item


def _decode_content(message: types.Message, dialect: ChatDialect) -> tuple[str | list[ContentPart], Json]:
    """The content of a message, and what the document said beyond it."""
    content: Opt[types.Content] = message.content
    left: Json = extras(message) if type(message) not in _KNOWN else {}
    if isinstance(content, str):
        return content, left
    if isinstance(content, list):
        return decode_parts(content, dialect), left
    return "", {**left, SPELLING: {"content": sent(content)}}


# --- roles that take turns ------------------------------------------------------------------------------------------


def alternating(messages: list[AnyMessage], lost: Losses) -> list[AnyMessage]:
    """The messages with neighbours of one role joined, for hosts that want roles to take turns."""
    kept: list[AnyMessage] = []
    for message in messages:
        before = kept[-1] if kept else None
        if isinstance(message, types.UserMessage) and isinstance(before, types.UserMessage):
            kept[-1] = types.UserMessage(content=_both(before.content, message.content))
        elif isinstance(message, types.AssistantMessage) and _only_speaks(before):
            kept[-1] = replace(message, content=_both(before.content, message.content))
        else:
            kept.append(message)
    if len(kept) < len(messages):
        lost.changed("input", "messages of one role side by side, joined to one")
    return kept


def _only_speaks(message: AnyMessage | None) -> TypeGuard[types.AssistantMessage]:
    """Whether what an assistant said is a text and nothing else, such as calls or thoughts."""
    return isinstance(message, types.AssistantMessage) and message == types.AssistantMessage(content=message.content)


def _both(one: Any, other: Any) -> types.Content:
    if not one or not other:
        return one or other or ""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    parts = [[types.Text(text=each)] if isinstance(each, str) else each for each in (one, other)]
    return [*parts[0], *parts[1]]


S = TypeVar("S", bound=Spoken)

_MAPPED = ("role", "content", "refusal", "tool_calls", "function_call")
_HOSTS = ("reasoning_content", "reasoning", "reasoning_details", "extra_content", "thought_signature")
_ANSWER = Rest(types.Answer, *_MAPPED, *_HOSTS)
_SPOKEN = Rest(types.AssistantMessage, *_MAPPED, *_HOSTS)
_thoughts = attrgetter(*_HOSTS)
_NO_THOUGHTS = (UNSET,) * len(_HOSTS)


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


class Heard:
    """A message taken apart: its items, its own leftovers, and the calls' leftovers by call id.

    `origin` names the document, for ids. In an `answer` text becomes a part; in a request a string stays a string.
    """

    def __init__(
        self, said: Spoken, dialect: ChatDialect, origin: str, path: str, lost: Losses, *, answer: bool = False
    ) -> None:
        self.items: list[AnyItem] = []
        self.calls: dict[str, Json] = {}
        self.left: Json = (_ANSWER if answer else _SPOKEN).of(said)
        self._dialect = dialect
        self._origin = origin
        self._path = path
        self._lost = lost
        self._answer = answer
        thinks = _thoughts(said) != _NO_THOUGHTS
        if thinks:
            self._take_thoughts(said)
        if dialect.requires_reasoning and not answer and getattr(said, dialect.reasoning_field) is UNSET:
            noting(self.left)[dialect.reasoning_field] = ABSENT
        if said.refusal is not UNSET and not said.refusal:
            self.left["refusal"] = said.refusal
        self._take_content(said.content, said.refusal or "")
        if thinks:
            self._take_state(said)
        if said.tool_calls:
            for position, call in enumerate(said.tool_calls):
                self._take_call(call, position)
        elif said.tool_calls is not UNSET:
            self.left["tool_calls"] = said.tool_calls
        if said.function_call is not UNSET:
            self._take_legacy(said.function_call)

    def _take_thoughts(self, said: Spoken) -> None:
        dialect = self._dialect
        thoughts = reasoning.decode_thoughts(said, dialect)
        self.items += thoughts.items
        self.left.update(thoughts.left)
        unmarked = dialect.replay_reasoning == "never" and not self._answer
        if thoughts.places and (unmarked or thoughts.places != [dialect.reasoning_field]):
            noting(self.left)["reasoning"] = {"issuer": dialect.issuer, "places": thoughts.places}

    def _take_content(self, content: Opt[types.Content | types.JsonValue], refusal: str) -> None:
        if isinstance(content, dict):
            noting(self.left)["object"] = True
            content = json_text(content)
        if isinstance(content, list):
            self._take_list(content)
            if refusal:
                noting(self.left)["refusal"] = True
                self._say([RefusalPart(refusal=refusal)])
            return
        if content and self._dialect.think_tags and self._answer and (found := reasoning.split_think(content)):
            shown, gap, content = found
            self.items.append(reasoning.thought(shown, "think", self._dialect, gap))
            noting(self.left)["think"] = gap
        if content and not refusal:
            self._say([OutputText(text=content, annotations=[])] if self._answer else content)
        elif refusal:
            texts: list[ContentPart] = [OutputText(text=content, annotations=[])] if content else []
            self._say([*texts, RefusalPart(refusal=refusal)])
        if not content and content is not None:
            noting(self.left)["content"] = sent(content)

    def _take_list(self, content: list[types.AnyPart]) -> None:
        """Thinking parts become items; what stands between two of them becomes a message."""
        kept: list[types.AnyPart] = []
        noting(self.left)["parts"] = True
        for part in [*content, None]:
            if part is not None and not isinstance(part, Thinking):
                kept.append(part)
                continue
            if kept:
                self._say(decode_parts(kept, self._dialect, spoken=True))
                kept = []
            if part is not None:
                self.items.append(reasoning.decode_thinking(part, self._dialect))

    def _say(self, content: str | list[ContentPart]) -> None:
        self.items.append(Message(role="assistant", content=content))

    def _take_call(self, call: types.ToolCall, position: int) -> None:
        dialect, path = self._dialect, f"{self._path}.tool_calls[{position}]"
        item, left = decode_call(call, dialect, self._origin, position, path, self._lost)
        if item.call_id in self.calls:
            self._lost.changed(path, f"a second call of the id {item.call_id!r}")
            noting(left)["id"] = call.id
            item.call_id = derived_call_id(self._origin, position)
        if call.extra_content and call.extra_content != dialect.missing_call_state:
            self.items.append(carrier(CallState(call_id=item.call_id, extra_content=call.extra_content), dialect))
        elif dialect.missing_call_state:
            noting(left)["extra_content"] = sent(call.extra_content)
        self.calls[item.call_id] = left
        self.items.append(item)

    def _take_legacy(self, call: types.FunctionBody | None) -> None:
        if call is None or not call.name:
            self.left["function_call"] = as_plain(call)
            return
        modern = types.ToolCall(type="function", function=call)
        item, left = decode_call(modern, self._dialect, self._origin, 0, f"{self._path}.function_call", self._lost)
        noting(left)["legacy"] = True
        self.calls[item.call_id] = left
        self.items.append(item)

    def _take_state(self, said: Spoken) -> None:
        extra, signature = said.extra_content, said.thought_signature
        found = {"extra_content": extra, "thought_signature": signature}
        self.left.update({name: None for name, value in found.items() if value is None})
        if given(extra) or given(signature):
            texts = [item for item in self.items if isinstance(item, Message)]
            state = MessageState(shown=digest(text_said(texts[-1])) if texts else "")
            state.extra_content = extra if given(extra) else None
            state.thought_signature = signature if given(signature) else None
            self.items.append(carrier(state, self._dialect))


def text_said(message: Message) -> str:
    """The text of a message, its parts joined."""
    if isinstance(message.content, str):
        return message.content
    return "".join(part.text for part in message.content if isinstance(part, OutputText | PlainText))


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


_NO_LEFTOVERS: Json = {}


class Turn(Generic[S]):
    """One message of the assistant, put together from the items at places `i`; `finish` gives it."""

    # What most messages never change is no attribute of its own: there are as many of these as messages.
    has_text = False
    left: Json = _NO_LEFTOVERS
    spelling: Json = _NO_LEFTOVERS
    _late: list[tuple[Reasoning, Thought | None, Sequence[Place], int]] | None = None
    _more: list[str] | None = None  # texts that follow the one in the message
    _length = 0  # of those texts
    _text = ""  # what was said last
    _at = 0  # and where
    _thought: int | None = None  # where the reasoning stands that shares a field with what follows

    def __init__(self, said: S, dialect: ChatDialect, lost: Losses, *, answer: bool = False) -> None:
        self.said = said
        self.calls: list[str] = []
        self._dialect = dialect
        self._lost = lost
        self._answer = answer

    def _path(self, i: int) -> str:
        return f"output[{i}]" if self._answer else f"input[{i}]"

    def say(self, item: Message, i: int) -> None:
        """Add the text of a message."""
        content, said = item.content, self.said
        if isinstance(content, str):
            text = content
        else:
            text = self._take_parts(content, self._path(i))
        self._text = text_said(item) if isinstance(said.content, list) else text
        if given(item.phase):
            self._lost.dropped(f"{self._path(i)}.phase", f"that the text is {item.phase}")
        if isinstance(said.content, list) or "parts" in self.spelling:
            last = said.content[-1] if isinstance(said.content, list) and said.content else None
            if text and isinstance(last, Text):
                last.text = f"{last.text}\n\n{text}"
                self._joined("text", self._at, i)
            elif text:
                reasoning.add_part(self.said, Text(text=text))
        elif self.has_text:
            self._more = self._more or []
            self._more += ["\n\n", text]
            self._length += len(text) + 2
            self._joined("text", self._at, i)
        else:
            # A thought between tags may stand there already.
            if text or not said.refusal:
                said.content = f"{said.content}{text}" if said.content else text
            if self.calls:
                self._lost.changed(self._path(i), "a text after a call, sent before it")
        self.has_text = True
        self._at = i

    def _joined(self, what: str, before: int, i: int) -> None:
        self._lost.changed(self._path(before), f"joined with the {what} after it")
        self._lost.changed(self._path(i), f"joined with the {what} before it")

    def _take_parts(self, parts: list[ContentPart], path: str) -> str:
        """The texts of the parts; refusals, sources and what only this wire knows go into their own places."""
        texts: list[str] = []
        listed = "parts" in self.spelling
        for j, part in enumerate(parts):
            place = f"{path}.content[{j}]"
            if isinstance(part, OutputText):
                if part.annotations:
                    self._cite(part, texts, place)
                if part.logprobs and not self._answer:
                    self._lost.dropped(f"{place}.logprobs", "log probabilities")
            match part:
                case OutputText(text=text) if not listed and WIRE not in (part.leftovers or {}):
                    report_unknown(part, place, self._lost)
                    report_foreign(part.leftovers, WIRE, place, self._lost)
                    texts.append(text)
                case RefusalPart(refusal=refusal) if listed and "refusal" not in self.spelling:
                    reasoning.add_part(self.said, put_back(types.Refusal(refusal=refusal), own(part.leftovers, WIRE)))
                case RefusalPart(refusal=refusal) if self._dialect.refusals or self._answer:
                    if self.said.refusal:
                        self._lost.changed(f"{path}.content", "several refusals, joined to one")
                    self.said.refusal = f"{self.said.refusal or ''}{refusal}"
                case RefusalPart(refusal=refusal):
                    self._lost.changed(place, "a refusal, sent as text")
                    texts.append(refusal)
                case _:
                    self._join()
                    made = encode_part(part, self._dialect, place, self._lost)
                    if isinstance(made, Unknown) or (made is not None and isinstance(part, OutputText)):
                        reasoning.add_part(self.said, made)
                    elif isinstance(made, Text):
                        texts.append(made.text)
                    elif made is not None:
                        self._lost.refused(place, "something other than text in a message of the assistant")
        if len(texts) > 1:
            self._lost.changed(f"{path}.content", "several parts, joined to one text")
        return "".join(texts)

    def _cite(self, part: OutputText, before: list[str], place: str) -> None:
        if not self._answer:
            self._lost.dropped(f"{place}.annotations", "the sources of an earlier text")
            return
        for k, source in enumerate(part.annotations or ()):
            if not isinstance(source, Unknown):
                report_unknown(source, f"{place}.annotations[{k}]", self._lost)
        content = self.said.content
        offset = len(content) + self._length + 2 if self.has_text and isinstance(content, str) else 0
        offset += sum(map(len, before))
        made = encode_annotations(part.annotations or (), offset, place, self._lost)
        if made:
            self.said.annotations = self.said.annotations or []
            self.said.annotations += made

    def call(self, item: Call, left: Json, attached: dict[str, Json], i: int) -> None:
        """Add a call, written as `left` says its document had it, with what its host `attached` to it."""
        dialect, said = self._dialect, self.said
        made = encode_call(item, dialect, i, self._lost, answer=self._answer)
        self.calls.append(made.id or "")
        if left:
            made = spell_call(made, left)
            if "legacy" in notes(left) and given(made.function):
                said.function_call = made.function
                return
        if item.call_id in attached:
            made.extra_content = attached.pop(item.call_id)
        elif dialect.missing_call_state:
            first = len(self.calls) == 1 and not self._answer
            usual = dialect.missing_call_state if first else UNSET
            made.extra_content = absent(notes(left).get("extra_content", usual))
        if said.tool_calls:
            said.tool_calls.append(made)
        else:
            said.tool_calls = [made]

    def think(self, item: Reasoning, state: Thought | None, places: Sequence[Place], i: int) -> None:
        """Add a thought where `state` says, and its bare text to these places."""
        if places or (state is not None and state.place != "thinking"):
            if self._thought is not None:
                self._joined("reasoning", self._thought, i)
            self._thought = i
        if self._dialect.replay_reasoning == "with_tools" and not self._answer:
            self._late = self._late or []
            self._late.append((item, state, places, i))
        else:
            self._put(item, state, places, i)

    def _join(self) -> None:
        """Put the texts that follow into the message: all at once, since there may be many."""
        if self._more:
            self.said.content = "".join([str(self.said.content or ""), *self._more])
            self._more, self._length = None, 0

    def _put(self, item: Reasoning, state: Thought | None, places: Sequence[Place], i: int) -> None:
        if state is not None and state.place in ("thinking", "think"):
            self._join()
        if state is not None:
            reasoning.put_thought(self.said, item, state, self._path(i), self._lost)
        for place in places:
            reasoning.put_text(self.said, place, text_of(item))

    def attach(self, state: MessageState, i: int) -> None:
        """Add what the host attached to the message."""
        if state.shown and digest(self._text) != state.shown:
            self._lost.dropped(f"{self._path(i)}.encrypted_content", "a signature on a text that was edited")
            return
        if state.extra_content is not None:
            self.said.extra_content = state.extra_content
        if state.thought_signature is not None:
            self.said.thought_signature = state.thought_signature

    def finish(self) -> S:
        """The message."""
        said, dialect = self.said, self._dialect
        self._join()
        for item, state, places, i in self._late or ():
            if self.calls:
                self._put(item, state, places, i)
            else:
                what = "reasoning of a message without calls, which the host does not want back"
                self._lost.withheld(self._path(i), what)
        if dialect.requires_reasoning and self.calls and not self._answer:
            field = dialect.reasoning_field
            if getattr(said, field) is UNSET and field not in self.left:
                setattr(said, field, absent(self.spelling.get(field, "")))
        if self.spelling and not said.content:
            if "content" in self.spelling:
                said.content = absent(self.spelling["content"])
            elif "parts" in self.spelling:
                said.content = []
        if "object" in self.spelling and isinstance(said.content, str):
            said.content = json_value(said.content)
        return put_back(said, self.left) if self.left else said
