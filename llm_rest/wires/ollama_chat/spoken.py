"""What the assistant thought, said and called: one message of this wire, several items of Responses, both ways.

The same message stands in a request (as history) and in an answer. Thoughts are plain text, which nothing signs: a mark in
`encrypted_content` tells whose they are, so that no model is given another's as its own. Before changing this file, know that
a message holds thoughts, one text and calls in this order: items in another order are joined, and the lost order is
reported. Follows Ollama's pages on thinking and tool calling (read 2026-11-20).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from ...responses.carriers import seal
from ...responses.items import AnyItem, CustomToolCall, FunctionCall, ItemBase, Message, Reasoning
from ...responses.leftovers import own, report_foreign
from ...responses.parts import OutputText, ReasoningText
from ...unknown import given
from .._left import notes, rest, sent, spell
from . import types
from .calls import CALL, decode_call, encode_call
from .content import encode_content
from .types import WIRE, Json

if TYPE_CHECKING:
    from ...losses import Losses


BESIDE = ("annotations", "logprobs")
"""What hangs on a text."""


class Thought(Struct, tag="thought"):
    """Says nothing but whose thought it is: the issuer's that sealed it."""


@lru_cache(maxsize=64)
def mark(issuer: str) -> str:
    """What `encrypted_content` holds of the thoughts of `issuer`."""
    return seal(WIRE, issuer, Thought())


def thought(text: str, issuer: str) -> Reasoning:
    """A reasoning item with the words of a model of `issuer`."""
    return Reasoning(summary=[], content=[ReasoningText(text=text)], encrypted_content=mark(issuer))


def text_of(item: Reasoning) -> str:
    """What can be read in a reasoning item: the words themselves, else their summary."""
    return "\n\n".join(part.text for part in item.content or item.summary or ())


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


class Turn:
    """One message of the assistant, put together from items; `finish` gives it."""

    __slots__ = ("_content", "_left", "_lost", "_texts", "_thinking", "calls", "said", "thoughts")

    def __init__(self, lost: Losses, left: Json | None = None) -> None:
        self.said = types.Message(role="assistant", content="")
        self.calls: list[tuple[FunctionCall | CustomToolCall, str]] = []  # each with its path
        self.thoughts: list[str] = []  # the paths of the thoughts
        self._texts: list[str] = []  # the paths of the texts
        self._content: list[str] = []  # the texts themselves
        self._thinking: list[str] = []
        self._left = left or {}
        self._lost = lost

    @property
    def has_text(self) -> bool:
        """Whether something was said."""
        return bool(self._texts)

    def _add(self, text: str, pieces: list[str], path: str, paths: list[str]) -> None:
        """`text` after the `pieces` that stand there already. What is joined to one is no longer told apart."""
        pieces.append(text)
        paths.append(path)
        if len(pieces) > 1:
            for each in paths if len(paths) == 2 else paths[-1:]:
                self._lost.changed(each, "joined with its neighbour to one text, with a blank line between them")

    def keep(self, item: AnyItem, path: str) -> None:
        """Take what the document said about the whole message."""
        if isinstance(item, FunctionCall | CustomToolCall | Message | Reasoning) and item.leftovers:
            report_foreign(item.leftovers, WIRE, path, self._lost)
            left = own(item.leftovers, WIRE)
            self._left = {**self._left, **{name: value for name, value in left.items() if name != CALL}}

    def think(self, text: str, path: str) -> None:
        """Add a thought."""
        if self.has_text or self.calls:
            self._lost.changed(path, "a thought after a text or call, put before them")
        self._add(text, self._thinking, path, self.thoughts)

    def say(self, item: Message, path: str, *, keeps: tuple[str, ...] = ()) -> None:
        """Add the text of a message; one that says nothing adds nothing. What `keeps` names is told elsewhere."""
        lost = self._lost
        for j, part in enumerate(item.content if isinstance(item.content, list) else ()):
            for name in BESIDE if isinstance(part, OutputText) else ():
                if name not in keeps and getattr(part, name):
                    lost.dropped(f"{path}.content[{j}].{name}", "what stands beside a text has no place at Ollama")
        text, images = encode_content(item.content, f"{path}.content", lost, between="")
        if images:
            lost.refused(f"{path}.content", "something other than text in a message of the assistant")
        if given(item.phase):
            lost.dropped(f"{path}.phase", f"that the text is {item.phase}")
        if not text:
            return
        if self.calls:
            lost.changed(path, "a text after a call, put before it")
        self._add(text, self._content, path, self._texts)

    def call(self, item: FunctionCall | CustomToolCall, path: str) -> None:
        """Add a call."""
        self.calls.append((item, path))
        made = encode_call(item, path, self._lost)
        if self.said.tool_calls:
            self.said.tool_calls.append(made)
        else:
            self.said.tool_calls = [made]

    def finish(self) -> types.Message:
        """The message."""
        if self._content:
            self.said.content = "\n\n".join(self._content)
        if self._thinking:
            self.said.thinking = "\n\n".join(self._thinking)
        if self._texts and is_blank(self.said.content or "", self.calls):
            self._lost.changed(self._texts[0], "nothing but space beside calls, which is read as no message")
        if not self._left:
            return self.said
        content, thinking, calls = self.said.content, self.said.thinking, self.said.tool_calls
        said = spell(self.said, self._left)
        # What was noted about a place that was empty holds for as long as it is.
        said.content, said.thinking = content or said.content, thinking or said.thinking
        said.tool_calls = calls or said.tool_calls
        return said

    @property
    def is_noted(self) -> bool:
        """Whether the message comes from a document of this wire that said more of it than its items do."""
        return bool(self._left)


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def is_blank(text: str, calls: object) -> bool:
    """Whether a text is nothing but the space that some models put before their calls."""
    return bool(calls) and text.isspace()


def decode_spoken(
    said: types.Message, issuer: str, origin: str, taken: set[str], path: str, lost: Losses
) -> tuple[list[AnyItem], Json, Json]:
    """The items of a message, and what it said beyond them: fields, and how those the items tell were written.

    `origin` names the message and `taken` the ids of calls there were before it.
    """
    items: list[AnyItem] = []
    if said.thinking:
        items.append(thought(said.thinking, issuer))
    if said.content and not is_blank(said.content, said.tool_calls):
        items.append(Message(role="assistant", content=said.content))
    for position, call in enumerate(said.tool_calls or ()):
        items.append(decode_call(call, origin, position, taken, f"{path}.tool_calls[{position}]", lost))
    return items, *beyond(said)


def beyond(said: types.Message) -> tuple[Json, Json]:
    """What a message of the assistant says beyond its items: fields, and how those the items tell were written."""
    spelling: Json = {}
    if not given(said.content) or is_blank(said.content, said.tool_calls):
        spelling["content"] = sent(said.content)
    if said.thinking is not UNSET and not said.thinking:
        spelling["thinking"] = said.thinking
    if said.tool_calls is not UNSET and not said.tool_calls:
        spelling["tool_calls"] = said.tool_calls
    if said.role != "assistant":
        spelling["role"] = said.role
    if type(said) is types.Message and said.images is said.tool_name is said.tool_call_id is UNSET:
        return {}, spelling
    return rest(said, "role", "content", "thinking", "tool_calls"), spelling


def marked(item: AnyItem, name: str) -> bool:
    """Whether an item notes this about the document it came from."""
    return isinstance(item, ItemBase) and bool(item.leftovers) and name in notes(own(item.leftovers, WIRE))
