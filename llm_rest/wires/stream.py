"""What the stream machines of the wires share: the open item with its parts, and documents taken apart and put together.

Before changing this file, know that an item has at most one open part, which is of one kind: a piece of another kind ends it and
begins the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET

from ..responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText
from ..responses.response import ResponseError
from ..unknown import Model, given, with_extras
from .leftovers import as_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..errors import ErrorFacts
    from ..losses import Loss, Losses
    from ..responses.emit import OpenItem
    from ..responses.parts import Logprob
    from ..responses.response import Response

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


def report_failure(response: Response, encoded: Iterable[Loss], lost: Losses, *sent: str) -> None:
    """Report what a stream that ends with an error does not say: what the whole answer loses, and fields of the error.

    `encoded` is what `encode_response` loses of the failed answer, and `sent` are the fields of an error that this wire has.
    """
    lost += [loss for loss in encoded if loss.kind != "refused" and loss.path != "error"]
    error = response.error or ResponseError()
    for name in ("code", "type", "param", "misalignment"):
        value = getattr(error, name)
        if name not in sent and given(value) and (name != "type" or value != error.code):
            lost.dropped(f"error.{name}", "the error at the end of this stream has no such field")


def report_error(facts: ErrorFacts, wire: str, lost: Losses) -> None:
    """Report the fields of an error in a stream that no event has a place for."""
    left: Json = facts.leftovers.get(wire, {})
    for path in (
        *(f"error.{name}" for name in as_object(left.get("error"))),
        *(name for name in left if name != "error"),
    ):
        lost.dropped(path, "only this format has such a field of an error")


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
