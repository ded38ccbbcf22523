"""Arguments of a call that Vertex streams piece by piece: a path into the arguments, and a value there.

The first chunk names the function, the next ones give values, those of texts in fragments, and an empty call ends it. Before
changing this file, know that paths come from outside: a place far beyond the end of a list is the next place. Follows Vertex's
guide to streaming function call arguments (read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec import Raw

from ...unknown import given
from . import types
from .carried import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"]([^'\"]*)['\"]\]")
_DEEPEST = 100


class PartialCall:
    """A call whose arguments are still coming: `feed` it, then read `part`."""

    def __init__(self, part: types.Part) -> None:
        self._first = part
        self._args: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}

    def feed(self, call: types.FunctionCall) -> bool:
        """Take the next piece; true where it was the last."""
        for piece in call.partial_args or ():
            path = piece.json_path if given(piece.json_path) else "$"
            if given(piece.string_value):
                self._texts.setdefault(path, []).append(piece.string_value)
                if not piece.will_continue:
                    self._set(path, "".join(self._texts.pop(path)))
            elif given(piece.number_value):
                self._set(path, piece.number_value)
            elif given(piece.bool_value):
                self._set(path, piece.bool_value)
            else:
                self._set(path, None)
        return not call.will_continue

    def part(self) -> types.Part:
        """The part of the whole call, as it would have come in one piece."""
        for path, pieces in self._texts.items():
            self._set(path, "".join(pieces))
        call = self._first.function_call or types.FunctionCall()
        whole = types.FunctionCall(id=call.id, name=call.name, args=Raw(encode(self._args)))
        return types.Part(function_call=whole, thought_signature=self._first.thought_signature)

    def _set(self, path: str, value: Any) -> None:
        steps = [_step(found.groups()) for found in _STEP.finditer(path)][:_DEEPEST]
        if steps and isinstance(steps[0], str):
            _put(self._args, steps, value)


def _step(groups: Sequence[str | None]) -> str | int:
    name, index, quoted = groups
    return int(index) if index is not None else quoted if quoted is not None else name or ""


def _put(place: Any, steps: list[str | int], value: Any) -> None:
    """Put a value where the steps lead, making objects and lists on the way."""
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        new: Any = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(step, str) and isinstance(place, dict):
            there = cast("dict[str, Any]", place)
            if following is None or type(there.get(step)) is not type(new):
                there[step] = new
            place = there[step]
        elif isinstance(step, int) and isinstance(place, list):
            entries: list[Any] = cast("Any", place)
            if step >= len(entries):
                step = len(entries)
                entries.append(new)
            elif following is None or type(entries[step]) is not type(new):
                entries[step] = new
            place = entries[step]
        else:
            return
