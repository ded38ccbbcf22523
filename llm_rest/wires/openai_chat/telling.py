"""Texts of a streamed answer as they are told: part after part, and thoughts between `<think>` tags apart from the text.

Before changing this file, know that a tag may be cut anywhere: what could still become one is held back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...responses.emit import OpenItem

Part = OutputText | RefusalPart | ReasoningText | SummaryText

_TELLS: dict[type[Part], str] = {
    OutputText: "text",
    RefusalPart: "refusal",
    ReasoningText: "reasoning",
    SummaryText: "summary",
}
"""What tells a piece of each kind of part."""


def _made(kind: type[Part], text: str) -> Any:
    if kind is RefusalPart:
        return RefusalPart(refusal=text)
    return OutputText(text=text, annotations=[]) if kind is OutputText else ReasoningText(text=text)


class Telling:
    """A thought or a message under way: its open part, which is of one kind, and the parts that were ended."""

    __slots__ = ("_kind", "_pieces", "_tell", "item", "parts")

    def __init__(self, item: OpenItem) -> None:
        self.item = item
        self.parts: list[Any] = []
        self._kind: type[Part] | None = None
        self._pieces: list[str] = []
        self._tell = item.text

    def say(self, text: str, kind: type[Part]) -> None:
        """Tell a piece of text, in a part of this kind."""
        if self._kind is not kind:
            self.end_part()
            self._kind, self._tell = kind, getattr(self.item, _TELLS[kind])
            if kind is SummaryText:
                self.item.summary_part()
            else:
                self.item.part(_made(kind, ""))
        self._pieces.append(text)
        self._tell(text)

    def end_part(self, final: Sequence[Any] = ()) -> None:
        """End the open part, as it stands among the `final` ones if it is there."""
        kind, at, text = self._kind, len(self.parts), "".join(self._pieces)
        if kind is None:
            return
        part = final[at] if at < len(final) and type(final[at]) is kind else _made(kind, text)
        if kind is SummaryText:
            part = SummaryText(text=text)
            self.item.end_summary(part)
        else:
            self.item.end_part(part)
        self.parts.append(part)
        self._kind, self._pieces = None, []


class Repeated:
    """Recognises a text that was told in one field and comes again in another. Line breaks do not count."""

    __slots__ = ("_at", "_pieces", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._at = 0  # how much of it was repeated
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        """Note a piece that was told."""
        self._pieces.append(text.replace("\n", ""))

    def repeats(self, text: str) -> bool:
        """Whether this piece only repeats what was told next. One that does not ends the repetition."""
        if self._pieces:
            self._text, self._at = self._text[self._at :] + "".join(self._pieces), 0
            self._pieces = []
        wanted = text.replace("\n", "")
        if self._at < len(self._text) and self._text.startswith(wanted, self._at):
            self._at += len(wanted)
            return True
        self._text = ""
        return False


OPENING, CLOSING = "<think>", "</think>"


class ThinkTags:
    """`feed` takes pieces of text and gives pairs: whether it is thought, and the text."""

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = "before"
        self._held: str = ""

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """What is certain by now."""
        found: list[tuple[bool, str]] = []
        text, self._held = self._held + text, ""
        if self._state == "before":
            if text.startswith(OPENING):
                self._state, text = "inside", text[len(OPENING) :]
            elif OPENING.startswith(text):
                self._held = text
                return []
            else:
                self._state = "after"
        if self._state == "inside":
            thought, tag, rest = text.partition(CLOSING)
            if not tag:
                kept = next(n for n in range(len(CLOSING) - 1, -1, -1) if text.endswith(CLOSING[:n]))
                thought, self._held = text[: len(text) - kept], text[len(text) - kept :]
            if thought:
                found.append((True, thought))
            if not tag:
                return found
            self._state, text = "gap", rest
        if self._state == "gap":
            # The white space behind the closing tag belongs to neither.
            text = text.lstrip()
            self._state = "after" if text else "gap"
        return [*found, (False, text)] if text else found

    def close(self) -> list[tuple[bool, str]]:
        """What was held back."""
        held, self._held = self._held, ""
        return [(self._state == "inside", held)] if held else []
