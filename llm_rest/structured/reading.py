"""The JSON value in what a model wrote, as strictly as JSON is and as leniently as models need.

Text around one object is left out and told of; everything that JSON does not allow, or allows and means two things by (a key
that occurs twice), is refused in words for the model. Before changing this file, know that an object inside a broken one must
never be taken for the answer, and that nobody limits how long a text is.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, NamedTuple

import msgspec

_TRIES = 100
"""How many brackets that begin no JSON are looked behind; saying where one breaks takes time in proportion to the text."""
_START = re.compile(r"[{\[]")
_GOES_ON = re.compile(r"\s*[,\]}:]")
"""What follows a value that is a part of another."""


class NotJSON(ValueError):
    """A text without one JSON value in it; says why in words for the model."""


class Found(NamedTuple):
    """A value, and whether there was more in the text than the value."""

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
            # All before the place where it breaks belongs to it.
            fault, at, broken = (problem if at == 0 else fault), max(problem.pos, start.end()), broken + 1
        except (ValueError, RecursionError) as problem:
            raise NotJSON(_said(problem)) from None
        else:
            if not _GOES_ON.match(text, at):
                (objects if isinstance(value, dict) else others).append(value)
    found = objects or others
    if len(found) != 1:
        raise NotJSON("there is more than one JSON value in the answer" if found else _said(fault))
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


def _said(problem: Exception) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"not JSON: {problem.msg} at line {problem.lineno} column {problem.colno}"
    return "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
