"""A thought between `<think>` tags at the beginning of a streamed text, told from the text that follows.

Before changing this file, know that a tag may be cut anywhere: what could still become one is held back.
"""

from __future__ import annotations

OPENING, CLOSING = "<think>", "</think>"


class ThinkTags:
    """`feed` takes pieces of text and gives pairs: whether it is thought, and the text."""

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = "before"
        self._held: str = ""

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """What is certain by now."""
        if self._state == "after":
            return [(False, text)]
        text = self._held + text
        self._held = ""
        if self._state == "before":
            if not text.startswith(OPENING):
                if OPENING.startswith(text):
                    self._held = text
                    return []
                self._state = "after"
                return [(False, text)]
            self._state = "inside"
            text = text[len(OPENING) :]
        if self._state == "inside":
            thought, found, rest = text.partition(CLOSING)
            if not found:
                kept = next((n for n in range(len(CLOSING) - 1, 0, -1) if text.endswith(CLOSING[:n])), 0)
                self._held = text[len(text) - kept :]
                thought = text[: len(text) - kept]
                return [(True, thought)] if thought else []
            self._state = "gap"
            return [*([(True, thought)] if thought else []), *self.feed(rest)]
        # The white space behind the closing tag belongs to neither.
        text = text.lstrip()
        if not text:
            return []
        self._state = "after"
        return [(False, text)]

    def close(self) -> list[tuple[bool, str]]:
        """What was held back."""
        held = self._held
        self._held = ""
        return [(self._state == "inside", held)] if held and self._state != "gap" else []
