"""JSON in the text of a model: the value of a whole answer, and the value so far of one that is still streaming.

An incremental parser: it returns a snapshot of the value whenever it changed. Snapshots share complete parts, so that
all of them together take linear time. Before changing this file, know that streaming is lenient about commas and
colons, because the whole text is checked at its end; that text around one object is left out and reported, while a key
that occurs twice is an error; and that an object inside a broken one is never used as the answer.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import UNSET

_START = re.compile(r"[{\[]")
_GAP = re.compile(r"[\s,:]*")
_WORD = re.compile(r"[^\s,:\[\]{}\"]+")
_UP_TO_QUOTE = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_WHOLE_ESCAPES = re.compile(r'[^\\]*+(?:\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])[^\\]*+)*+', re.DOTALL)

_lenient = json.JSONDecoder(strict=False)
_LONGEST_WORD = 400
_DEEPEST = 400
_SMALL = 4096
"""Bytes that may be copied for a snapshot whenever the value changed. One that copies more is made only when the text grew by
a sixteenth of that.
"""
_ENTRY = 8
"""The cost of copying an entry of a container."""


class PartialJSON:
    """Parses the first object or array in a streamed text."""

    def __init__(self) -> None:
        self.root: Any = UNSET
        """The value so far; the text that is being read is still empty in it. It is modified in place."""
        self._open: list[dict[str, Any] | list[Any]] = []
        self._slots: list[str | int] = []  # the position of each open container in its parent
        self._name: str | None = None  # the member whose value comes next
        self._rest = ""
        self._text: list[str] | None = None  # the decoded part of the text that is being read
        self._length = self._shown = 0  # the length of that text as written, and its length in the last snapshot
        self._is_name = False
        self._slot: str | int = 0  # the place of the last value
        self._fresh = 0  # the number of characters since the last snapshot
        self._changed = False
        self._over = False

    def feed(self, piece: str) -> list[Any]:
        """A snapshot of the value, if this piece changed it: a list of none or one."""
        if self._over:
            return []
        self._fresh += len(piece)
        try:
            self._read(self._rest + piece)
        except ValueError:
            self._over = True  # invalid JSON; reported when the whole text is validated
        size = _ENTRY * sum(map(len, self._open)) + (self._length if self._in_value_text else 0)
        due = self._over or size <= max(_SMALL, self._fresh * 16)
        return self._snapshot() if due else []

    def close(self) -> list[Any]:
        """The last snapshot at the end of the text, if it was not returned yet."""
        self._over = True
        return self._snapshot()

    def complete(self, entries: list[Any]) -> int:
        """How many entries of a list in `root` are complete."""
        unfinished = (self._open and self._open[-1] is entries and self._in_value_text) or any(
            one is entries for one in self._open[:-1]
        )
        return len(entries) - bool(unfinished)

    @property
    def _in_value_text(self) -> bool:
        return self._text is not None and not self._is_name

    def _snapshot(self) -> list[Any]:
        """A snapshot of the current value, unless the last one was the same."""
        text: str | None = None
        if self._in_value_text and self._text is not None:
            written = "".join(self._text)
            self._text, text = [written], _characters(written)
            self._changed |= len(text) > self._shown
            self._shown = len(text)
        if not self._changed:
            return []
        self._changed, self._fresh = False, 0
        inner: Any = text
        slot = self._slot
        for container, outside in zip(reversed(self._open), reversed(self._slots), strict=True):
            made: Any = container.copy()
            if inner is not None:
                made[slot] = inner
            inner, slot = made, outside
        return [self.root if inner is None else inner]

    def _read(self, text: str) -> None:
        self._rest = ""
        at = 0
        if self.root is UNSET:
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
                self._slots.append(self._slot)
                self._open.append(made)
                if len(self._open) > _DEEPEST:
                    raise ValueError("nested too deeply")
            case "}" | "]" as closing:
                if isinstance(self._open[-1], dict) != (closing == "}"):
                    raise ValueError("one kind of bracket closes the other")
                self._open.pop()
                self._slots.pop()
                self._name, self._over = None, not self._open
            case '"':
                self._text, self._length, self._shown = [], 0, 0
                self._is_name = isinstance(self._open[-1], dict) and self._name is None
                if not self._is_name:
                    self._place("")
            case _:
                return self._word(text, at)
        return at + 1

    def _word(self, text: str, at: int) -> int:
        found = _WORD.match(text, at)
        if found is None or len(found[0]) > _LONGEST_WORD:
            raise ValueError("not a JSON literal")
        if found.end() == len(text):
            self._rest = found[0]  # a number may continue: 12 may become 123
        else:
            self._place(STRICT.decode(found[0]))
        return found.end()

    def _more_text(self, text: str, at: int) -> int:
        """Continue to read a text."""
        assert self._text is not None
        end = _end(_UP_TO_QUOTE, text, at)
        self._text.append(text[at:end])
        self._length += end - at
        if text[end : end + 1] == '"':
            written = "".join(self._text)
            if _end(_WHOLE_ESCAPES, written) < len(written):
                raise ValueError("not a JSON escape")
            self._text = None
            if self._is_name:
                self._name = _characters(written)
            else:
                into: Any = self._open[-1]
                into[self._slot] = whole = _characters(written)
                self._changed |= len(whole) > self._shown
            return end + 1
        self._rest = text[end:]  # empty, or a backslash
        return len(text)

    def _place(self, value: Any) -> None:
        """Put a value in the place of the next one."""
        self._changed = True
        if not self._open:
            self.root = value
            return
        into = self._open[-1]
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
    assert found is not None  # these patterns match the empty text, too
    return found.end()


def _characters(written: str) -> str:
    """The decoded characters of a JSON text, without an incomplete escape at its end."""
    if "\\" not in written:
        return written
    text = cast("str", _lenient.decode(f'"{written[: _end(_WHOLE_ESCAPES, written)]}"'))
    return text[:-1] if "\ud800" <= text[-1:] <= "\udbff" else text


_TRIES = 100
"""The maximum number of brackets tried that begin no JSON; locating an error takes time in proportion to the text."""

_GOES_ON = re.compile(r"\s*[,\]}:]")
"""Characters that follow a value inside another."""


class NotJSON(ValueError):
    """The error for a text without exactly one JSON value; the message is for the model."""


class Found(NamedTuple):
    """A value, and whether the text has other content beside it."""

    value: Any
    amid_text: bool


def json_in(text: str) -> Found:
    """The one JSON value in a text: all of it, or the only object or array in a fence or among prose. Raises `NotJSON`."""
    text = text.strip().removeprefix("\ufeff")
    if not text:
        raise NotJSON("the answer is empty")
    try:
        return Found(_whole(text), amid_text=False)
    except (ValueError, RecursionError) as problem:
        fault: Exception = problem
    objects: list[Any] = []
    others: list[Any] = []
    at = broken = 0
    while broken < _TRIES and (start := _START.search(text, at)):
        try:
            value, at = STRICT.raw_decode(text, start.start())
        except json.JSONDecodeError as problem:
            # All text before the syntax error belongs to the broken value.
            fault, at, broken = (problem if at == 0 else fault), max(problem.pos, start.end()), broken + 1
        except (ValueError, RecursionError) as problem:
            raise NotJSON(_reason(problem)) from None
        else:
            if not _GOES_ON.match(text, at):
                (objects if isinstance(value, dict) else others).append(value)
    found = objects or others
    if len(found) != 1:
        raise NotJSON("there is more than one JSON value in the answer" if found else _reason(fault))
    _checked(found[0])
    return Found(found[0], amid_text=True)


def _whole(text: str) -> Any:
    value, end = STRICT.raw_decode(text)
    if end < len(text):
        raise ValueError(f"not JSON: more text after the value, at character {end}")
    _checked(value)
    return value


def _checked(value: Any) -> None:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise NotJSON("a text holds half of a surrogate pair, which is no character") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"not JSON with one meaning: {next(n for n in names if names.count(n) > 1)!r} occurs twice")
    return made


def _no_number(word: str) -> Any:
    raise ValueError(f"not JSON: {word} is no number")


def _number(word: str) -> float:
    value = float(word)
    return value if isfinite(value) else _no_number(word)


STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number, parse_float=_number)


def _reason(problem: Exception) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"not JSON: {problem.msg} at line {problem.lineno} column {problem.colno}"
    return "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
