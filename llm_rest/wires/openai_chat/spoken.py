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
from ...responses.leftovers import own, report_foreign
from ...responses.parts import ContentPart, OutputText, PlainText, RefusalPart
from ...responses.repair import derived_call_id
from ...unknown import Opt, Unknown, given
from .._left import ABSENT, Rest, absent, as_plain, notes, noting, put_back, report_unknown, sent
from .._renamed import Call
from . import reasoning, types
from .about import encode_annotations
from .calls import decode_call, encode_call, json_text, json_value, spell_call
from .content import decode_parts, encode_part
from .reasoning import CallState, MessageState, Place, Thought, carrier, text_of
from .types import WIRE, Json, Spoken, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from ...vendors.dialects import ChatDialect

S = TypeVar("S", bound=Spoken)

_MAPPED = ("role", "content", "refusal", "tool_calls", "function_call")
_HOSTS = ("reasoning_content", "reasoning", "reasoning_details", "extra_content", "thought_signature")
_ANSWER = Rest(types.Answer, *_MAPPED, *_HOSTS)
_MESSAGE = Rest(types.AssistantMessage, *_MAPPED, *_HOSTS)
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
        self.left: Json = (_ANSWER if answer else _MESSAGE).of(said)
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


_NOTHING: Json = {}


class Turn(Generic[S]):
    """One message of the assistant, put together from the items at places `i`; `finish` gives it."""

    # What most messages never change is no attribute of its own: there are as many of these as messages.
    has_text = False
    left: Json = _NOTHING
    spelling: Json = _NOTHING
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
