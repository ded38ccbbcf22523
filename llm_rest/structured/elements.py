"""The elements of a list that is still being written: each as a typed value as soon as all of it came.

An element that does not fit by itself is not handed out, nor what follows it: whether it is wrong is decided once, by the
check of the whole answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..forms import DoesNotFit
from .reading import json_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .output import Output
    from .partial import PartialJSON


class Elements:
    """One iteration over the elements. Raises `ConfigError` where the answer is no list."""

    def __init__(self, output: Output[Any], partial: PartialJSON) -> None:
        if not output.is_list:
            hint = "iterate over the stream itself for snapshots of any other type"
            raise ConfigError("elements() needs a list: list[T], Sequence[T] or tuple[T, ...]", hint=hint)
        self._output, self._partial = output, partial
        self._count = 0
        self._unfit = False
        self._value: Sequence[Any] | None = None

    @property
    def over(self) -> bool:
        """Whether all elements were handed out."""
        return self._value is not None and self._count == len(self._value)

    def next(self) -> list[Any]:
        """The next element, if all of it came: one or none."""
        if self._value is not None:
            self._count += 1
            return [self._value[self._count - 1]]
        entries = self._output.entries(self._partial.root)
        if self._unfit or self._partial.complete(entries) <= self._count:
            return []
        try:
            found = self._output.entry(entries[self._count])
        except DoesNotFit:
            self._unfit = True
            return []
        self._count += 1
        return [found]

    def finish(self, value: Sequence[Any], text: str) -> None:
        """All came: what was not handed out yet is taken from the checked value in this text.

        Raises `DoesNotFit` where what was handed out is not of this value: a list among the prose before it.
        """
        shown = self._output.entries(self._partial.root)[: self._count]
        if shown and shown != self._output.entries(json_in(text).value)[: self._count]:
            raise DoesNotFit(["the elements that were handed out are not those of the answer"])
        self._value = value
