"""Conversion of the messages of a request and of an answer, both ways: items in the order of a conversation, messages in
this wire's.

An assistant message with calls is followed directly by one tool message per call. So calls are collected in their message,
outputs that come too late are moved up, and images in outputs are deferred until the last output of the turn is placed. An
assistant message holds its thoughts, one text and its calls in this order: items in another order are joined, and the lost
order is reported. A tool message holds text only and has no field for failure. Before changing this file, know that
appending items must not change the messages made of earlier ones, since vendors' prompt caches depend on it, and that the
same message is in a request (as history) and in an answer. Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Losses
from ...responses.carriers import BEGINS, SPELLING, digest, own, report_foreign
from ...responses.lenient import derived_call_id
from ...unknown import Unknown, as_object, given
from ..call_ids import PlacedOutputs
from ..kept import Rules, diff, patch, unknown
from ..leftovers import UNISSUED, is_unissued, known, report_item, report_unknown
from ..tools import ONE_CALL, Call
from . import reasoning, types
from .content import (
    FOREIGN,
    Output,
    alternating,
    decode_output,
    decode_plain_message,
    decode_text,
    encode_annotations,
    encode_output,
    encode_part,
    encode_plain_message,
    unlimited,
)
from .hosts import host_leftovers, with_host
from .media import decode_executed, decode_images, decode_sound, encode_image, executed, is_from
from .reasoning import (
    CallState,
    MessageState,
    SoundState,
    Thought,
    decode_thinking,
    has_state,
    message_state,
    notes_of,
    text_of,
)
from .tools import add_call, call_state, decode_call, encode_call, fit_call_id
from .types import FUNCTION_CALL, USED, WIRE, AnyMessage, AnyPart, AssistantFields, Json, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...vendors.dialects import ChatDialect

S = TypeVar("S", bound=AssistantFields)

MESSAGE = f"{FOREIGN}message"
"""The type of an item for a message that only this wire has."""

CONTINUES, APART = "continues", "apart"
"""Key in the `spelling` of an item: whether it belongs to the message of the item before, or begins a new one."""

RULES = Rules(words=frozenset({"role", "type"}))
REPEATED = (("reasoning_details", "reasoning_content", "reasoning"),)
FLAT = (("function", "name", "arguments"),)

_NOTHING = types.AssistantMessage(content=None)


def _note(item: ours.AnyItem, **notes: Any) -> None:
    """Add a note on an item about its document's notation."""
    if not isinstance(item, Unknown):
        item.leftovers = {WIRE: {**own(item.leftovers, WIRE), SPELLING: {**notes_of(item), **notes}}}


def keep_message(items: list[ours.AnyItem], left: Json, issuer: str) -> None:
    """Store the leftovers of a message of `issuer` on its items: on the text or the first call, if there is either."""
    if not left:
        return
    left = with_host(left, issuer)
    # Thoughts may be left out of a later request.
    texts: list[ours.AnyItem] = [item for item in items if isinstance(item, ours.Message)]
    others = [item for item in items if not isinstance(item, ours.Reasoning)]
    msg = next(iter((*texts, *others, *items[-1:])), None)
    if msg is None or isinstance(msg, Unknown):
        return
    kept = own(msg.leftovers, WIRE)
    if isinstance(msg, ours.Message):
        notes = {**notes_of(msg), **as_object(left.get(SPELLING))}
        msg.leftovers = {WIRE: {**kept, **left, **({SPELLING: notes} if notes else {})}}
    else:
        msg.leftovers = {WIRE: {**kept, BEGINS: left}}


# --- one assistant message: Chat -> Responses -----------------------------------------------------------------------


def decode_message(
    msg: AssistantFields, dialect: ChatDialect, origin: str, path: str, lost: Losses, *, answer: bool = False
) -> list[ours.AnyItem]:
    """The items of an assistant message. In an `answer` text becomes a part; in a request a string stays a string."""
    items: list[ours.AnyItem] = []
    stateful = has_state(msg)
    if stateful:
        items += decode_thinking(msg, dialect, answer=answer)
    if answer and msg.executed_tools:
        items += decode_executed(msg.executed_tools, path, dialect.issuer, lost)
    if msg.content or msg.refusal or isinstance(msg.content, dict):
        decode_text(items, msg, dialect, path, lost, answer=answer)
    if stateful:
        items += message_state(msg, [item.text for item in items if isinstance(item, ours.Message)], dialect)
    sound = decode_sound(msg.audio, items, dialect.issuer, path, lost) if answer and msg.audio else None
    if msg.images:
        items += decode_images(msg.images, path, lost, issuer="" if answer else dialect.issuer)
    if msg.function_call and is_legacy(msg):
        modern = types.ToolCall(type="function", function=msg.function_call)
        items.append(decode_call(modern, dialect, origin, 0, path, lost, legacy=True))
    if msg.tool_calls:
        seen: set[str] = set()
        if isinstance(msg.tool_calls, types.ToolCall):
            lost.changed(f"{path}.tool_calls[0]", ONE_CALL)
        for position, call in enumerate(msg.calls):
            item = decode_call(call, dialect, origin, position, path, lost)
            if item.call_id in seen:
                lost.changed(f"{path}.tool_calls[{position}]", f"a second call of the id {item.call_id!r}")
                item.call_id = derived_call_id(origin, position)
            seen.add(item.call_id)
            if call.extra_content:
                items += call_state(call, item.call_id, dialect)
            items.append(item)
    if sound is not None:
        items.append(sound)
    return items


def used_forms(msg: AssistantFields) -> str:
    """The forms that an assistant message has, where several have one meaning and it is not the usual one."""
    forms = {
        "parts": isinstance(msg.content, list),
        "refusal": isinstance(msg.content, list) and bool(msg.refusal),
        FUNCTION_CALL: is_legacy(msg),
    }
    return " ".join(name for name, is_used in forms.items() if is_used)


def is_legacy(msg: AssistantFields) -> bool:
    """Whether a message has a call in the legacy form."""
    return bool(msg.function_call and msg.function_call.name)


def message_rules(msg: AssistantFields) -> Rules:
    """The rules to compare an assistant message: repeated fields, and fields of a call beside its id, are one unit."""
    texts = {text for text in (msg.reasoning_content, msg.reasoning) if text}
    if shown := reasoning.readable_text(msg.reasoning_details or ()):
        texts = {*(text.replace("\n", "") for text in texts), shown}
    flat = any(call.function is UNSET and call.custom is UNSET for call in msg.calls)
    together = (REPEATED if len(texts) == 1 else ()) + (FLAT if flat else ())
    return replace(RULES, together=together) if together else RULES


# --- one assistant message: Responses -> Chat -----------------------------------------------------------------------


class AssistantMessage(Generic[S]):
    """One assistant message, built from items, each with its path; `finish` returns it."""

    def __init__(
        self, msg: S, dialect: ChatDialect, lost: Losses, *, answer: bool = False, text_path: str = ""
    ) -> None:
        self.msg = msg
        self._dialect = dialect
        self._lost = lost
        self._answer = answer
        self.has_text = isinstance(msg.content, str)
        self.left: Json = {}
        self.used = ""
        self._text = msg.content if isinstance(msg.content, str) else ""  # the last text
        self._at = text_path  # and its path
        self._more: list[str] = []  # texts that follow the one in the message
        self._length = 0  # of those texts
        self._late: list[tuple[ours.Reasoning, Thought | None, str, str]] = []
        self._thought = ""  # the position of reasoning that shares a field with later text

    @property
    def is_legacy(self) -> bool:
        """Whether its first call has the legacy form."""
        return FUNCTION_CALL in self.used

    def keep(self, left: Json) -> None:
        """Add the leftovers of the whole message."""
        self.left = {**self.left, **left}
        self.used = f"{self.used} {as_object(left.get(SPELLING)).get(USED, '')}"

    def add_text(self, item: ours.Message, path: str) -> None:
        """Add the text of a message."""
        content, msg = item.content, self.msg
        text = content if isinstance(content, str) else self._add_parts(content, path)
        self._text = item.text if isinstance(msg.content, list) else text
        if given(item.phase):
            self._lost.dropped(f"{path}.phase", f"that the text is {item.phase}")
        if isinstance(msg.content, list) or "parts" in self.used:
            last = msg.content[-1] if isinstance(msg.content, list) and msg.content else None
            if text and isinstance(last, Text):
                last.text = f"{last.text}\n\n{text}"
                self._joined("text", self._at, path)
            elif text:
                reasoning.add_part(self.msg, Text(text=text))
        elif self.has_text:
            self._more += ["\n\n", text]
            self._length += len(text) + 2
            self._joined("text", self._at, path)
        else:
            # A thought between tags may be there already.
            if text or not msg.refusal:
                msg.content = f"{msg.content}{text}" if msg.content else text
            if msg.tool_calls:
                self._lost.changed(path, "a text after a call, sent before it")
        self.has_text = True
        self._at = path

    def _joined(self, what: str, before: str, path: str) -> None:
        self._lost.changed(before, f"joined with the {what} after it")
        self._lost.changed(path, f"joined with the {what} before it")

    def _add_parts(self, parts: list[ours.ContentPart], path: str) -> str:
        """Add the texts of the parts; refusals, sources and parts of this wire alone go to their own fields."""
        texts: list[str] = []
        listed = "parts" in self.used
        for j, part in enumerate(parts):
            place = f"{path}.content[{j}]"
            if isinstance(part, ours.OutputText):
                if part.annotations:
                    self._cite(part, texts, place)
                if part.logprobs and not self._answer:
                    self._lost.dropped(f"{place}.logprobs", "log probabilities")
            match part:
                case ours.OutputText(text=text) if not listed and WIRE not in (part.leftovers or {}):
                    report_unknown(part, place, self._lost)
                    report_foreign(part.leftovers, WIRE, place, self._lost)
                    texts.append(text)
                case ours.RefusalPart(refusal=refusal) if listed and "refusal" not in self.used:
                    reasoning.add_part(self.msg, patch(types.Refusal(refusal=refusal), own(part.leftovers, WIRE)))
                case ours.RefusalPart(refusal=refusal) if self._dialect.refusals or self._answer:
                    if self.msg.refusal:
                        self._lost.changed(f"{path}.content", "several refusals, joined to one")
                    self.msg.refusal = f"{self.msg.refusal or ''}{refusal}"
                case ours.RefusalPart(refusal=refusal):
                    self._lost.changed(place, "a refusal, sent as text")
                    texts.append(refusal)
                case _:
                    self._join()
                    made = encode_part(part, self._dialect, place, self._lost)
                    if isinstance(made, Unknown) or (made is not None and isinstance(part, ours.OutputText)):
                        reasoning.add_part(self.msg, made)
                    elif isinstance(made, Text):
                        texts.append(made.text)
                    elif made is not None:
                        self._lost.refused(place, "something other than text in a message of the assistant")
        if len(texts) > 1:
            self._lost.changed(f"{path}.content", "several parts, joined to one text")
        return "".join(texts)

    def _cite(self, part: ours.OutputText, before: list[str], place: str) -> None:
        if not self._answer:
            self._lost.dropped(f"{place}.annotations", "the sources of an earlier text")
            return
        content = self.msg.content
        offset = len(content) + self._length + 2 if self.has_text and isinstance(content, str) else 0
        if made := encode_annotations(part, offset + sum(map(len, before)), place, self._lost):
            self.msg.annotations = [*(self.msg.annotations or ()), *made]

    def add_thinking(self, item: ours.Reasoning, state: Thought | None, place: str, path: str) -> None:
        """Add a thought at the place in `state`, or its bare text to the field `place`."""
        if place or (state is not None and state.place != "thinking"):
            if self._thought:
                self._joined("reasoning", self._thought, path)
            self._thought = path
        if self._dialect.replay_reasoning == "with_tools" and not self._answer:
            self._late.append((item, state, place, path))
        else:
            self._put(item, state, place, path)

    def _join(self) -> None:
        """Append the later texts to the message: all at once, since there may be many."""
        if self._more:
            self.msg.content = "".join([str(self.msg.content or ""), *self._more])
            self._more, self._length = [], 0

    def _put(self, item: ours.Reasoning, state: Thought | None, place: str, path: str) -> None:
        if state is not None and state.place in ("thinking", "think"):
            self._join()
        if state is not None:
            reasoning.put_thought(self.msg, item, state, path, self._lost)
        elif place:
            reasoning.put_text(self.msg, place, text_of(item))

    def add_image(self, item: ours.ImageGenerationCall, path: str) -> None:
        """Add an image."""
        entry = encode_image(item, path, self._lost)
        if entry is not None:
            self.msg.images = [*(self.msg.images or ()), entry]

    def attach(self, state: MessageState | SoundState, path: str) -> None:
        """Add the host's state of the message."""
        if isinstance(state, SoundState):
            self._attach_sound(state, path)
            return
        if state.shown and digest(self._text) != state.shown:
            self._lost.dropped(f"{path}.encrypted_content", "a signature on a text that was edited")
            return
        if state.extra_content is not None:
            self.msg.extra_content = state.extra_content
        if state.thought_signature is not None:
            self.msg.thought_signature = state.thought_signature

    def _attach_sound(self, state: SoundState, path: str) -> None:
        """Add a sound: whole to an answer, by its id to a request. Its transcript takes the place of the text."""
        is_spoken = state.audio.get("transcript") is True
        if digest(self._text) != state.shown or (is_spoken and (self._more or self.msg.content != self._text)):
            self._lost.dropped(f"{path}.encrypted_content", "a sound, whose text was edited")
            return
        audio = {**state.audio, "transcript": self._text} if is_spoken else state.audio
        if not self._answer:
            if not audio.get("id"):
                self._lost.dropped(f"{path}.encrypted_content", "a sound without an id, by which its host knows it")
                return
            audio = {"id": audio["id"]}
        self.msg.audio = audio
        if is_spoken:
            self.msg.content = None

    def finish(self) -> S:
        """The message."""
        msg, dialect = self.msg, self._dialect
        self._join()
        for item, state, place, path in self._late:
            if msg.tool_calls:
                self._put(item, state, place, path)
            else:
                self._lost.withheld(path, "reasoning of a message without calls, which the host does not accept")
        if not self._answer:
            shows = self.has_text or any(name != SPELLING for name in self.left) or msg != _NOTHING
            if shows and msg.content is None and not (msg.tool_calls or msg.refusal or msg.audio or msg.function_call):
                msg.content = ""  # null is for messages with calls
        if "parts" in self.used and not msg.content:
            msg.content = []
        msg = patch(msg, self.left) if self.left else msg
        required = dialect.requires_reasoning and not self._answer and msg.tool_calls
        # Also where the host's own document lacks it, since the client may have dropped it.
        if required and not given(getattr(msg, dialect.reasoning_field)):
            setattr(msg, dialect.reasoning_field, "")
        return msg


# --- the messages of a request: Responses -> Chat -------------------------------------------------------------------


class MessageWriter:
    """Writes the items of a request as messages in an order that this wire accepts."""

    state = changing = None  # a turn needs no state of those before it

    def __init__(self, items: Sequence[ours.AnyItem], dialect: ChatDialect, lost: Losses) -> None:
        self.messages: list[AnyMessage] = []
        self._items = items
        self._dialect = dialect
        self._lost = lost
        self._open: types.AssistantMessage | None = None  # the last of the messages, if items may be added to it
        self._builder: AssistantMessage[types.AssistantMessage] | None = None  # if it has more than a text and calls
        self._text_position = 0  # the position of that text
        self._thoughts: list[tuple[ours.Reasoning, Thought, int]] = []  # for the next message
        self._attached: dict[str, Json] = {}  # the state of calls, by call id
        self._waiting: dict[str, deque[int]] = {}  # positions of open calls; some hosts use an id twice
        self._outputs = PlacedOutputs(items)  # those that were placed before their turn
        self._after: list[AnyPart] = []  # images of outputs, for a message after the last of them

    def write(self, start: int, end: int) -> None:
        """Write the items from `start` up to `end`."""
        handlers = self.HANDLERS
        for i, item in enumerate(islice(self._items, start, end), start):
            add = handlers.get(type(item))
            if add is None:
                item = item if isinstance(item, Unknown) else known(item, f"input[{i}]", self._lost)
                add = handlers.get(type(item), MessageWriter._add_other)
            add(self, i, item)

    def settled(self, end: int) -> bool:
        """End the turn before the item at `end`; returns whether later items can no longer change it."""
        if self._waiting or self._thoughts or self._attached or max(self._outputs.places, default=0) >= end:
            return False
        self._close(end)
        self.messages = alternating(self.messages, self._dialect, self._lost)
        return True

    def finish(self) -> None:
        """End the conversation."""
        self._close(len(self._items))
        for call_id in self._attached:
            self._lost.dropped("input", f"what the host attached to the call {call_id}, which is gone")
        self.messages = alternating(self.messages, self._dialect, self._lost)

    # --- the assistant's message ---

    def _begin(self, i: int) -> types.AssistantMessage:
        """The message for the item at `i`."""
        msg = self._open
        if msg is None:
            if self._waiting or self._after:
                self._place_outputs(i)
            msg = self._open = types.AssistantMessage(content=None)
            self.messages.append(msg)
            if self._dialect.requires_reasoning:
                self._builder = AssistantMessage(msg, self._dialect, self._lost)
        if self._thoughts:
            thoughts, self._thoughts = self._thoughts, []
            for item, state, k in thoughts:
                self._keep(msg, item, k).add_thinking(item, state, "", f"input[{k}]")
        return msg

    def _keep(self, msg: types.AssistantMessage, item: Any, i: int) -> AssistantMessage[types.AssistantMessage]:
        """The builder of the open message, with the document's leftovers of the whole message on the item at `i`."""
        builder = self._builder
        if builder is None:
            builder = self._builder = AssistantMessage(
                msg, self._dialect, self._lost, text_path=f"input[{self._text_position}]"
            )
        if item.leftovers:
            report_foreign(item.leftovers, WIRE, f"input[{i}]", self._lost)
            left = own(item.leftovers, WIRE)
            left = left if isinstance(item, ours.Message) else as_object(left.get(BEGINS))
            builder.keep(host_leftovers(left, self._dialect.issuer, f"input[{i}]", self._lost))
        return builder

    def _add_message(self, i: int, item: ours.Message) -> None:
        if item.role != "assistant":
            if self._builder is not None or self._thoughts or self._waiting or self._after:
                self._close(i)
            self._open = None
            if (message := encode_plain_message(item, self._dialect, i, self._lost)) is not None:
                self.messages.append(message)
            return
        msg = self._open
        content: Any = item.content
        if msg is not None:
            has_text = msg.content is not None if self._builder is None else self._builder.has_text
            if APART in notes_of(item) or (has_text and not msg.tool_calls and CONTINUES not in notes_of(item)):
                self._finish_message()
        msg = self._begin(i)
        bare = type(content) is str and item.leftovers is None and item.phase is None
        if bare and self._builder is None and msg.content is None and not msg.tool_calls:
            msg.content, self._text_position = content, i
        else:
            self._keep(msg, item, i).add_text(item, f"input[{i}]")

    def _add_call(self, i: int, item: Call) -> None:
        if item.leftovers and APART in notes_of(item):
            self._finish_message()
        msg = self._begin(i)
        if item.leftovers:
            self._keep(msg, item, i)
        made = encode_call(item, self._dialect, i, self._lost)
        legacy = self._builder is not None and self._builder.is_legacy
        add_call(msg, item, made, self._attached, self._dialect.missing_call_state, legacy=legacy)
        self._waiting.setdefault(str(made.id or ""), deque()).append(i)

    def _add_image(self, i: int, item: ours.ImageGenerationCall) -> None:
        if not (self._dialect.images or is_from(item, self._dialect.issuer)):
            self._lost.dropped(f"input[{i}]", "an image of the assistant, which this host does not accept")
            return
        if not given(item.result):
            encode_image(item, f"input[{i}]", self._lost)
            return
        if item.leftovers and APART in notes_of(item):
            self._finish_message()
        self._keep(self._begin(i), item, i).add_image(item, f"input[{i}]")

    def _add_reasoning(self, i: int, item: ours.Reasoning) -> None:
        notes = notes_of(item)
        if APART in notes:
            self._finish_message()
        state = reasoning.state_of(item, self._dialect)
        if isinstance(state, Thought):
            self._thoughts.append((item, state, i))
            if CONTINUES in notes and self._open is not None:
                self._begin(i)
        elif isinstance(state, CallState):
            self._attached[state.call_id] = state.extra_content
        elif isinstance(state, MessageState | SoundState):
            msg = self._open if self._open is not None and state.shown else self._begin(i)
            self._keep(msg, item, i).attach(state, f"input[{i}]")
        else:
            self._drop_reasoning(i, item)

    def _drop_reasoning(self, i: int, item: ours.Reasoning) -> None:
        report_foreign(item.leftovers, WIRE, f"input[{i}]", self._lost)
        if given(item.encrypted_content):
            self._lost.withheld(f"input[{i}]", "reasoning that only its issuer can read")
        elif text_of(item) and is_unissued(item):
            self._lost.dropped(f"input[{i}]", UNISSUED)
        elif text_of(item):
            self._lost.withheld(f"input[{i}]", "reasoning that this host did not issue, or does not accept")

    def _finish_message(self) -> None:
        builder = self._builder
        self._open = self._builder = None
        if builder is not None:
            self.messages[-1] = made = builder.finish()
            # Without its thoughts a message may be empty, which is rejected.
            if not (builder.has_text or made.tool_calls or made != _NOTHING):
                self.messages.pop()

    # --- between the assistant's messages ---

    def _close(self, i: int) -> None:
        """Close the open message before the item at `i`, so that other roles may follow."""
        if self._thoughts:
            self._begin(i)
        self._finish_message()
        if self._waiting or self._after:
            self._place_outputs(i)

    def _place_outputs(self, i: int) -> None:
        """Place the outputs of all calls so far, wherever they are."""
        if self._waiting:
            items: Any = self._items
            for call in [*chain.from_iterable(self._waiting.values())]:
                k = self._outputs.find(items[call].call_id, i)
                if k is None:
                    self._lost.refused(f"input[{call}]", "a call without an output")
                    continue
                self._lost.emulated(f"input[{k}]", "an output, moved up to its call")
                self._add_output(k, items[k])
                self._outputs.places.add(k)
            self._waiting.clear()
        if self._after:
            self.messages.append(types.UserMessage(content=self._after))
            self._after = []

    def _add_output(self, i: int, item: Output) -> None:
        if i in self._outputs.places:
            return
        if self._builder is not None:
            self._finish_message()
        self._open = None
        call_id = item.call_id or ""
        calls = self._waiting.get(call_id)
        if calls is None:
            call_id = fit_call_id(call_id, self._dialect)
            calls = self._waiting.get(call_id)
            if calls is None:
                self._lost.refused(f"input[{i}]", "an output without a call before it")
            else:
                self._lost.changed(f"input[{i}].call_id", f"an id this host does not support, sent as {call_id}")
        if calls is not None:
            calls.popleft()
            if not calls:
                del self._waiting[call_id]
        self.messages.append(encode_output(item, call_id, self._after, self._dialect, i, self._lost))

    def _add_other(self, i: int, item: ours.AnyItem) -> None:
        message = item.get("message") if isinstance(item, Unknown) and item.kind == MESSAGE else None
        if isinstance(message, dict):
            self._close(i)
            self.messages.append(Unknown(cast("Json", message)))
        elif (notes := executed(item)) is not None and notes.get("issuer") == self._dialect.issuer:
            pass  # its host takes no record of it back
        elif not isinstance(item, ours.AdditionalTools):  # which are offered with the other tools
            report_item(item, f"input[{i}]", WIRE, self._lost, history=True)

    HANDLERS: ClassVar[dict[type, Callable[[MessageWriter, int, Any], None]]] = {
        ours.Message: _add_message,
        **dict.fromkeys((ours.FunctionCall, ours.CustomToolCall), _add_call),
        **dict.fromkeys((ours.FunctionCallOutput, ours.CustomToolCallOutput), _add_output),
        ours.Reasoning: _add_reasoning,
        ours.ImageGenerationCall: _add_image,
    }


# --- the messages of a request: Chat -> Responses -------------------------------------------------------------------


def decode_messages(
    messages: Sequence[AnyMessage], dialect: ChatDialect, lost: Losses, *, keep: bool
) -> list[ours.AnyItem]:
    """The messages as items in the same order."""
    reader = _Reader(dialect, lost, keep)
    for k, message in enumerate(messages):
        reader.add(k, message)
    return reader.items


class _Reader:
    def __init__(self, dialect: ChatDialect, lost: Losses, keep: bool) -> None:
        self.items: list[ours.AnyItem] = []
        self._dialect = dialect
        self._unlimited = unlimited(dialect)
        self._lost = lost
        self._keep = keep
        self._before: list[ours.AnyItem] = []  # the items of the message before, if it was the assistant's
        # Open calls by the id in the document, the earliest first: their own id, and whether they are custom.
        self._calls_by_id: dict[str, deque[tuple[str, bool]]] = {}

    def add(self, k: int, message: AnyMessage) -> None:
        found: list[ours.AnyItem] = []
        match message:
            case types.AssistantMessage():
                found = self._decode_assistant(k, message)
                self.items += found
            case types.ToolMessage() | types.FunctionMessage():
                named = message.tool_call_id if isinstance(message, types.ToolMessage) else message.name
                calls = self._calls_by_id.get(named or "")
                call_id, custom = calls.popleft() if calls else (named or "", False)
                self.items.append(decode_output(message, call_id, custom, self._dialect))
            case Unknown():
                self.items.append(Unknown({"type": MESSAGE, "message": dict(message)}))
            case _:
                self.items.append(decode_plain_message(message, self._dialect))
        self._before = found

    def _decode_assistant(self, k: int, message: types.AssistantMessage) -> list[ours.AnyItem]:
        path = f"messages[{k}]"
        items = decode_message(message, self._dialect, path, path, self._lost) or [
            ours.Message(role="assistant", content="")
        ]
        if isinstance(message.content, list):
            for item in items[1:]:
                _note(item, **{CONTINUES: True})
        if self._before and not (isinstance(items[0], ours.Message) and isinstance(self._before[-1], ours.Message)):
            _note(items[0], **{APART: True})
        ids = [call.id for call in message.calls]
        calls = [item for item in items if isinstance(item, ours.FunctionCall | ours.CustomToolCall)]
        for j, item in enumerate(calls):
            id = ids[j] if j < len(ids) else item.name
            call = item.call_id, isinstance(item, ours.CustomToolCall)
            self._calls_by_id.setdefault(str(id or ""), deque()).append(call)
        if self._keep:
            self._keep_document(message, items)
        else:
            keep_message(items, unknown(message), self._dialect.issuer)
        return items

    def _keep_document(self, message: types.AssistantMessage, items: list[ours.AnyItem]) -> None:
        used = used_forms(message)
        lost, dialect = Losses(), self._unlimited
        attached: dict[str, Json] = {}
        made = AssistantMessage(types.AssistantMessage(content=None), dialect, lost)
        made.used = used
        for item in items:
            if isinstance(item, ours.Message):
                made.add_text(item, "")
            elif isinstance(item, ours.FunctionCall | ours.CustomToolCall):
                call = encode_call(item, dialect, 0, lost, "output")
                add_call(made.msg, item, call, attached, dialect.missing_call_state, legacy=made.is_legacy)
            elif isinstance(item, ours.ImageGenerationCall):
                made.add_image(item, "")
            elif isinstance(item, ours.Reasoning):
                state = reasoning.state_of(item, self._dialect)
                if isinstance(state, CallState):
                    attached[state.call_id] = state.extra_content
                elif isinstance(state, MessageState | SoundState):
                    made.attach(state, "")
                elif state is not None:
                    made.add_thinking(item, state, "", "")
        msg = made.finish()
        # Without state of a host equal structs are equal JSON.
        same = message == msg and not has_state(message)
        left = {} if same else diff(message, msg, message_rules(message))
        if used:
            left[SPELLING] = {**as_object(left.get(SPELLING)), USED: used}
        keep_message(items, left, self._dialect.issuer)
