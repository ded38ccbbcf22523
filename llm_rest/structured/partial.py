"""The object in a JSON text that is still being written, as far as it came.

Feed pieces of text; what comes back is the value as it stands now, whenever it changed. It is one object that grows, so that
everything together takes time in proportion to the text: who keeps an earlier state copies it. Before changing this file, know
that it is lenient about commas and colons: whether the text is right is decided when all of it is there (`reading.py`).
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from msgspec import UNSET

from .reading import STRICT

_START = re.compile(r"[{\[]")
_GAP = re.compile(r"[\s,:]*")
_WORD = re.compile(r"[^\s,:\[\]{}\"]+")
_UP_TO_QUOTE = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_WHOLE_ESCAPES = re.compile(r"[^\\]*+(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^\\]*+)*+", re.DOTALL)

_lenient = json.JSONDecoder(strict=False)
_LONGEST_WORD = 400
_DEEPEST = 400
_SHORT = 4096
"""A longer text is shown anew only when it grew by a sixteenth: showing it means copying it."""


class PartialJSON:
    """Reads the first object or array in a text that comes in pieces."""

    def __init__(self) -> None:
        self._inside: list[dict[str, Any] | list[Any]] = []
        self._root: Any = UNSET
        self._name: str | None = None  # of the member whose value comes next
        self._rest = ""
        self._text: list[str] | None = None  # what came of the text that is being read
        self._length = self._shown = 0
        self._is_name = False
        self._slot: str | int = 0  # where the last value was put
        self._changed = False
        self._over = False

    def feed(self, piece: str) -> list[Any]:
        """The value as far as it came, if this piece changed it."""
        if self._over:
            return []
        self._changed = False
        try:
            self._read(self._rest + piece)
        except ValueError:
            self._over = True  # no JSON; the whole text will tell
        return [self._root] if self._changed else []

    def close(self) -> list[Any]:
        """Nothing more: what came last was handed out."""
        self._over = True
        return []

    def _read(self, text: str) -> None:
        self._rest = ""
        at = 0
        if self._root is UNSET:
            start = _START.search(text)
            if start is None:
                return
            at = start.start()
        while at < len(text) and not self._over:
            at = self._more_text(text, at) if self._text is not None else self._token(text, at)

    def _token(self, text: str, at: int) -> int:
        at = _end(_GAP, text, at)
        match text[at : at + 1]:
            case "":
                pass
            case "{" | "[" as opening:
                made: dict[str, Any] | list[Any] = {} if opening == "{" else []
                self._place(made)
                self._inside.append(made)
                if len(self._inside) > _DEEPEST:
                    raise ValueError("nested too deeply")
            case "}" | "]" as closing:
                if isinstance(self._inside.pop(), dict) != (closing == "}"):
                    raise ValueError("one kind of bracket closes the other")
                self._name, self._over = None, not self._inside
            case '"':
                self._text, self._length, self._shown = [], 0, 0
                self._is_name = isinstance(self._inside[-1], dict) and self._name is None
                if not self._is_name:
                    self._place("")
            case _:
                return self._word(text, at)
        return at + 1

    def _word(self, text: str, at: int) -> int:
        found = _WORD.match(text, at)
        if found is None or len(found[0]) > _LONGEST_WORD:
            raise ValueError("no word of JSON")
        if found.end() == len(text):
            self._rest = found[0]  # 12 may become 123
        else:
            self._place(STRICT.decode(found[0]))
        return found.end()

    def _more_text(self, text: str, at: int) -> int:
        """Read on in a text."""
        assert self._text is not None
        end = _end(_UP_TO_QUOTE, text, at)
        self._text.append(text[at:end])
        self._length += end - at
        if text[end : end + 1] == '"':
            written, self._text = "".join(self._text), None
            if self._is_name:
                self._name = _characters(written)
            elif self._length > self._shown:
                self._show(_characters(written))
            return end + 1
        self._rest = text[end:]  # nothing, or a backslash
        step = 1 if self._shown < _SHORT else self._shown // 16
        if not self._is_name and self._length - self._shown >= step:
            written = "".join(self._text)
            self._text = [written]
            self._show(_characters(written))
        return len(text)

    def _show(self, text: str) -> None:
        """Put the text over what was there of it before."""
        into: Any = self._inside[-1]
        into[self._slot] = text
        self._shown, self._changed = self._length, True

    def _place(self, value: Any) -> None:
        """Put a value where the next one belongs."""
        self._changed = True
        if not self._inside:
            self._root = value
            return
        into = self._inside[-1]
        if isinstance(into, list):
            self._slot = len(into)
            into.append(value)
        elif self._name is None:
            raise ValueError("a member without a name")
        else:
            self._slot, self._name = self._name, None
            into[self._slot] = value


def _end(pattern: re.Pattern[str], text: str, at: int = 0) -> int:
    found = pattern.match(text, at)
    assert found is not None  # these match the empty text, too
    return found.end()


def _characters(written: str) -> str:
    """The characters of a text as JSON writes it, without the half of one at its end."""
    if "\\" not in written:
        return written
    text = cast("str", _lenient.decode(f'"{written[: _end(_WHOLE_ESCAPES, written)]}"'))
    return text[:-1] if "\ud800" <= text[-1:] <= "\udbff" else text
