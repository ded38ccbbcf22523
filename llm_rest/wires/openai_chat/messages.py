"""The messages of a request, both ways: items in the order of a conversation, messages in the order this wire demands.

An assistant message with calls is followed at once by one tool message per call, and by nothing else before that. So calls
are gathered into the message they belong to, outputs that come too late are moved up, and images in outputs wait until the
last output of the turn is placed. Before changing this file, know that appending items must not change the messages made of
earlier ones: vendors' prompt caches depend on it. Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from ...responses import items as it
from ...responses.items import FunctionCall, FunctionCallOutput, Message
from ...responses.leftovers import SPELLING, own, report_foreign
from ...unknown import Unknown, given
from .._left import absent, as_object, known, notes, noting
from . import types
from .calls import fit_call_id
from .content import FOREIGN
from .others import Output, alternating, decode_output, decode_told, encode_output, encode_told
from .reasoning import CallState, MessageState, Place, Thought, state_of, text_of, text_places
from .spoken import Heard, Turn
from .types import WIRE, AnyMessage, Json

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
