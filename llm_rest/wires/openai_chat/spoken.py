"""What the assistant said, as one message of this wire and as several items of Responses, both ways.

The same message stands in a request (as history) and in an answer; both directions of both use this file. Before changing
it, know that a message holds its thoughts, one text and its calls in this order: items in another order are joined, and the
lost order is reported. Follows the assistant message of the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import UNSET

from ...responses.carriers import digest
from ...responses.items import AnyItem, Message, Reasoning
from ...responses.leftovers import report_foreign
from ...responses.parts import ContentPart, OutputText, PlainText, RefusalPart
from ...responses.repair import derived_call_id
from ...unknown import Opt, Unknown, given
from . import types
from .about import encode_annotations
from .calls import Call, decode_call, encode_call, spell_call
from .content import FOREIGN, decode_parts, encode_parts
from .left import Rest, absent, as_plain, notes, noting, put_back, sent
from .reasoning import (
    CallState,
    MessageState,
    Place,
    Thought,
    carrier,
    decode_thinking,
    decode_thoughts,
    put_text,
    put_thought,
    split_think,
    text_of,
    thought,
)
from .types import WIRE, Json, Spoken, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dialects import ChatDialect
    from ...losses import Losses

S = TypeVar("S", bound=Spoken)

_MAPPED = ("role", "content", "refusal", "tool_calls", "function_call")
_HOSTS = ("reasoning_content", "reasoning", "reasoning_details", "extra_content", "thought_signature")
_ANSWER = Rest(types.Answer, *_MAPPED, *_HOSTS)
_MESSAGE = Rest(types.AssistantMessage, *_MAPPED, *_HOSTS)
_thoughts = attrgetter(*_HOSTS)
_NO_THOUGHTS = (UNSET,) * len(_HOSTS)


class Heard:
    """A message taken apart: its items, the calls' leftovers by call id, and the message's own."""

    __slots__ = ("calls", "items", "left")

    def __init__(self) -> None:
        self.items: list[AnyItem] = []
        self.calls: dict[str, Json] = {}
        self.left: Json = {}


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_spoken(
    said: Spoken, dialect: ChatDialect, origin: str, path: str, lost: Losses, *, answer: bool = False
) -> Heard:
    """The items of a message. In an `answer` text becomes a part; in a request a string stays a string."""
    heard = Heard()
    heard.left = (_ANSWER if answer else _MESSAGE).of(said)
    thinks = _thoughts(said) != _NO_THOUGHTS
    if thinks:
        _decode_thoughts(said, dialect, heard, answer)
    if said.refusal is not UNSET and not said.refusal:
        heard.left["refusal"] = said.refusal
    _decode_content(said.content, said.refusal or "", dialect, heard, answer)
    if thinks:
        _decode_state(said, dialect, heard)
    if said.tool_calls:
        _decode_calls(said.tool_calls, dialect, origin, path, heard, lost)
    elif said.tool_calls is not UNSET:
        heard.left["tool_calls"] = said.tool_calls
    if said.function_call is not UNSET:
        _decode_legacy(said.function_call, dialect, origin, path, heard, lost)
    return heard


def _decode_thoughts(said: Spoken, dialect: ChatDialect, heard: Heard, answer: bool) -> None:
    thoughts = decode_thoughts(said, dialect)
    heard.items.extend(thoughts.items)
    heard.left.update(thoughts.left)
    unmarked = dialect.replay_reasoning == "never" and not answer
    if thoughts.places and (unmarked or thoughts.places != [dialect.reasoning_field]):
        noting(heard.left)["reasoning"] = {"issuer": dialect.issuer, "places": thoughts.places}


def _decode_content(
    content: Opt[types.Content], refusal: str, dialect: ChatDialect, heard: Heard, answer: bool
) -> None:
    if isinstance(content, list):
        _decode_list(content, dialect, heard)
        if refusal:
            noting(heard.left)["refusal"] = True
            heard.items.append(Message(role="assistant", content=[RefusalPart(refusal=refusal)]))
        return
    if content and dialect.think_tags and answer and (found := split_think(content)):
        shown, gap, content = found
        heard.items.append(thought(shown, "think", dialect, gap))
        noting(heard.left)["think"] = gap
    if content and not refusal:
        said: str | list[ContentPart] = [OutputText(text=content, annotations=[])] if answer else content
        heard.items.append(Message(role="assistant", content=said))
    elif refusal:
        parts: list[ContentPart] = [OutputText(text=content, annotations=[])] if content else []
        heard.items.append(Message(role="assistant", content=[*parts, RefusalPart(refusal=refusal)]))
    if not content and content is not None:
        noting(heard.left)["content"] = sent(content)


def _decode_list(content: list[types.AnyPart], dialect: ChatDialect, heard: Heard) -> None:
    """Thinking parts become items; what stands between two of them becomes a message."""
    kept: list[types.AnyPart] = []
    noting(heard.left)["parts"] = True
    for part in [*content, None]:
        if part is not None and not isinstance(part, Thinking):
            kept.append(part)
            continue
        if kept:
            heard.items.append(Message(role="assistant", content=decode_parts(kept, dialect, spoken=True)))
            kept = []
        if part is not None:
            heard.items.append(decode_thinking(part, dialect))


def _decode_calls(
    calls: list[types.ToolCall], dialect: ChatDialect, origin: str, path: str, heard: Heard, lost: Losses
) -> None:
    for position, call in enumerate(calls):
        item, left = decode_call(call, dialect, origin, position, f"{path}.tool_calls[{position}]", lost)
        if item.call_id in heard.calls:
            lost.changed(f"{path}.tool_calls[{position}]", f"a second call of the id {item.call_id!r}")
            noting(left)["id"] = call.id
            item.call_id = derived_call_id(origin, position)
        if call.extra_content and call.extra_content != dialect.missing_call_state:
            heard.items.append(carrier(CallState(call_id=item.call_id, extra_content=call.extra_content), dialect))
        elif dialect.missing_call_state:
            noting(left)["extra_content"] = sent(call.extra_content)
        heard.calls[item.call_id] = left
        heard.items.append(item)


def _decode_legacy(
    call: types.FunctionBody | None, dialect: ChatDialect, origin: str, path: str, heard: Heard, lost: Losses
) -> None:
    if call is None or not call.name:
        heard.left["function_call"] = as_plain(call)
        return
    modern = types.ToolCall(type="function", function=call)
    item, left = decode_call(modern, dialect, origin, 0, f"{path}.function_call", lost)
    noting(left)["legacy"] = True
    heard.calls[item.call_id] = left
    heard.items.append(item)


def _decode_state(said: Spoken, dialect: ChatDialect, heard: Heard) -> None:
    if said.extra_content is UNSET and said.thought_signature is UNSET:
        return
    texts = [item for item in heard.items if isinstance(item, Message)]
    state = MessageState(shown=digest(text_said(texts[-1])) if texts else "")
    if given(said.extra_content):
        state.extra_content = said.extra_content
    if given(said.thought_signature):
        state.thought_signature = said.thought_signature
    heard.items.append(carrier(state, dialect))


def text_said(message: Message) -> str:
    """The text of a message, its parts joined."""
    if isinstance(message.content, str):
        return message.content
    return "".join(part.text for part in message.content if isinstance(part, OutputText | PlainText))


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


_NOTHING: Json = {}


class Turn(Generic[S]):
    """One message of the assistant, put together from the items at places `i`; `finish` gives it."""

    # What most messages never change is no attribute of its own: there are as many of these as messages.
    has_text = False
    left: Json = _NOTHING
    spelling: Json = _NOTHING
    _late: tuple[tuple[Reasoning, Thought | None, Sequence[Place], int], ...] = ()
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
            last = said.content[-1] if said.content else None
            if text and isinstance(last, Text):
                last.text = f"{last.text}\n\n{text}"
                self._joined(i)
            elif text:
                self._add(Text(text=text))
        elif self.has_text:
            said.content = f"{said.content}\n\n{text}"
            self._joined(i)
        else:
            # A thought between tags may stand there already.
            if text or not said.refusal:
                said.content = f"{said.content}{text}" if said.content else text
            if self.calls:
                self._lost.changed(self._path(i), "a text after a call, sent before it")
        self.has_text = True
        self._at = i

    def _joined(self, i: int) -> None:
        self._lost.changed(self._path(self._at), "joined with the text after it")
        self._lost.changed(self._path(i), "joined with the text before it, with a blank line between them")

    def _take_parts(self, parts: list[ContentPart], path: str) -> str:
        """The texts of the parts; refusals, sources and what only this wire knows go into their own places."""
        texts: list[str] = []
        for j, part in enumerate(parts):
            place = f"{path}.content[{j}]"
            match part:
                case OutputText(text=text):
                    if part.annotations:
                        self._cite(part, texts, place)
                    if part.logprobs and not self._answer:
                        self._lost.dropped(f"{place}.logprobs", "log probabilities")
                    if WIRE in (part.leftovers or {}) or "parts" in self.spelling:
                        for made in encode_parts([part], self._dialect, f"{path}.content", self._lost):
                            self._add(made)
                    else:
                        report_foreign(part.leftovers, WIRE, place, self._lost)
                        texts.append(text)
                case RefusalPart(refusal=refusal):
                    if "parts" in self.spelling and "refusal" not in self.spelling:
                        self._add(types.Refusal(refusal=refusal))
                    elif self._dialect.refusals or self._answer:
                        if self.said.refusal:
                            self._lost.changed(f"{path}.content", "several refusals, joined to one")
                        self.said.refusal = f"{self.said.refusal or ''}{refusal}"
                    else:
                        self._lost.changed(place, "a refusal, sent as text")
                        texts.append(refusal)
                case Unknown() if part.type.startswith(FOREIGN):
                    for made in encode_parts([part], self._dialect, f"{path}.content", self._lost):
                        self._add(made)
                case _:
                    for made in encode_parts([part], self._dialect, f"{path}.content", self._lost):
                        if isinstance(made, Text):
                            texts.append(made.text)
                        else:
                            self._lost.refused(place, "something other than text in a message of the assistant")
        if len(texts) > 1:
            self._lost.changed(f"{path}.content", "several parts, joined to one text")
        return "".join(texts)

    def _cite(self, part: OutputText, before: list[str], place: str) -> None:
        if not self._answer:
            self._lost.dropped(f"{place}.annotations", "the sources of an earlier text")
            return
        content = self.said.content
        offset = len(content) + 2 if self.has_text and isinstance(content, str) else 0
        offset += sum(map(len, before))
        made = encode_annotations(part.annotations or (), offset, place, self._lost)
        if made:
            self.said.annotations = [*(self.said.annotations or ()), *made]

    def _add(self, part: types.AnyPart) -> None:
        said = self.said
        if not isinstance(said.content, list):
            said.content = [Text(text=said.content)] if said.content else []
        said.content.append(part)

    def call(self, item: Call, left: Json, i: int) -> types.ToolCall:
        """Add a call, written as `left` says its document had it."""
        made = encode_call(item, self._dialect, i, self._lost, answer=self._answer)
        self.calls.append(made.id or "")
        if left:
            made = spell_call(made, left)
            if "legacy" in notes(left) and given(made.function):
                self.said.function_call = made.function
                return made
        if self.said.tool_calls:
            self.said.tool_calls.append(made)
        else:
            self.said.tool_calls = [made]
        return made

    def think(self, item: Reasoning, state: Thought | None, places: Sequence[Place], i: int) -> None:
        """Add a thought where `state` says, and its bare text to these places."""
        if places or (state is not None and state.place != "thinking"):
            self._thinks(i)
        if self._dialect.replay_reasoning == "with_tools" and not self._answer:
            self._late = (*self._late, (item, state, places, i))
        else:
            self._put(item, state, places, i)

    def _put(self, item: Reasoning, state: Thought | None, places: Sequence[Place], i: int) -> None:
        if state is not None:
            put_thought(self.said, item, state, self._path(i), self._lost)
        for place in places:
            put_text(self.said, place, text_of(item))

    def _thinks(self, i: int) -> None:
        if self._thought is not None:
            self._lost.changed(self._path(self._thought), "joined with the reasoning after it")
            self._lost.changed(self._path(i), "joined with the reasoning before it")
        self._thought = i

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
        for item, state, places, i in self._late:
            if self.calls:
                self._put(item, state, places, i)
            else:
                self._lost.withheld(
                    self._path(i), "reasoning of a message without calls, which the host does not want back"
                )
        if dialect.requires_reasoning and self.calls and not self._answer:
            field = dialect.reasoning_field
            if getattr(said, field) is UNSET:
                setattr(said, field, "")
        if self.spelling:
            self._spell()
        return put_back(said, self.left) if self.left else said

    def _spell(self) -> None:
        said = self.said
        if "content" in self.spelling and not said.content:
            said.content = absent(self.spelling["content"])
        elif "parts" in self.spelling and not said.content:
            said.content = []
