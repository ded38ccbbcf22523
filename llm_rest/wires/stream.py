"""What the stream machines of the wires share: the open item with its parts, and documents taken apart and put together.

Before changing this file, know that an item has at most one open part, which is of one kind: a piece of another kind ends it and
begins the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET

from ..responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText
from ..unknown import Model, with_extras

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..responses.emit import OpenItem
    from ..responses.parts import Logprob

Json = dict[str, Any]
M = TypeVar("M", bound=Model)
Part = OutputText | RefusalPart | ReasoningText | SummaryText


def present(model: Model, *but: str) -> Json:
    """The fields of a document that are there, those that no struct declares among them, without those named."""
    fields = zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True)
    return {name: v for name, field in fields if name not in but and (v := getattr(model, field)) is not UNSET}


def built(kind: type[M], fields: Json) -> M:
    """The document with these fields, whether its struct declares them or not."""
    declared = kind.__struct_fields__
    others = {name: value for name, value in fields.items() if name not in declared}
    return with_extras(kind(**{name: value for name, value in fields.items() if name in declared}), others)


def _part(kind: type[Part], text: str) -> Any:
    if kind is RefusalPart:
        return RefusalPart(refusal=text)
    if kind is OutputText:
        return OutputText(text=text, annotations=[])
    return SummaryText(text=text) if kind is SummaryText else ReasoningText(text=text)


class OpenParts:
    """A thought or a message in progress: its open part, and the parts that were ended."""

    __slots__ = ("_kind", "_pieces", "item", "parts")

    def __init__(self, item: OpenItem) -> None:
        self.item = item
        self.parts: list[Any] = []
        self._kind: type[Part] | None = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The text of the open part."""
        return "".join(self._pieces)

    def add(self, text: str, kind: type[Part], logprobs: list[Logprob] | None = None) -> None:
        """Tell a piece of text, in a part of this kind."""
        item = self.item
        if self._kind is not kind:
            self.end_part()
            self._kind = kind
            if kind is SummaryText:
                item.summary_part()
            else:
                item.part(_part(kind, ""))
        self._pieces.append(text)
        if kind is OutputText:
            item.text(text, logprobs)
        elif kind is ReasoningText:
            item.reasoning(text)
        elif kind is SummaryText:
            item.summary(text)
        else:
            item.refusal(text)

    def end_part(self, final: Sequence[Any] = ()) -> None:
        """End the open part, as it stands among the `final` ones if it is there."""
        kind, at = self._kind, len(self.parts)
        if kind is None:
            return
        part = final[at] if at < len(final) and type(final[at]) is kind else _part(kind, self.text)
        if kind is SummaryText:
            self.item.end_summary(part)
        else:
            self.item.end_part(part)
        self.parts.append(part)
        self._kind, self._pieces = None, []
