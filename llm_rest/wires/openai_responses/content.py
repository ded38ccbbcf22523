"""Preparation of parts for a host or a client: without leftovers, and only those that the role of a message may have.

An item with nothing to change is returned as the same object. Before changing this file, know that `without_leftovers`
serves requests and answers alike, `fitting_content` requests only. Follows the content parts of the OpenAI Responses
reference (read 2026-11-20).
"""

from __future__ import annotations

import operator
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ... import responses as rs
from ...losses import Losses, not_in
from ...responses.carriers import NAMES, own, report_foreign
from ...responses.lenient import REPAIRED
from ...responses.parts import DOCUMENT, SOURCE_FIELDS, Leftovers
from ...responses.received import report_received
from ...unknown import Unknown, as_list, given
from ...vendors.dialects import ResponsesDialect
from ..leftovers import kind_of, stands_for_another, struct_of
from .types import WIRE

ItemT = TypeVar("ItemT", bound=rs.ItemBase)
S = TypeVar("S", bound=Struct)

# A tuple, because `isinstance(x, A | B)` builds the union anew for every item.
OUTPUTS = (rs.FunctionCallOutput, rs.CustomToolCallOutput)


# --- leftovers ------------------------------------------------------------------------------------------------------

INNER: dict[type, tuple[str, ...]] = {
    rs.FunctionCall: (),
    rs.Message: ("content",),
    rs.FunctionCallOutput: ("output",),
    rs.CustomToolCallOutput: ("output",),
    rs.ComputerCallOutput: ("output",),
    rs.Reasoning: ("summary", "content"),
    rs.OutputText: ("annotations",),
}
"""The fields of items and parts whose values may have leftovers too."""


def report_repairs(leftovers: Leftovers | None, path: str, lost: Losses, repaired: str = "") -> Leftovers | None:
    """Report what the document's decoder left out at `path`, and its repairs; returns the leftovers of other wires.

    Repairs of a document, which has no path of its own, are reported at the path `repaired`.
    """
    if leftovers is None:
        return None
    report_received(leftovers, path, lost)
    for fault in as_list(own(leftovers, WIRE).get(REPAIRED)):
        lost.changed(repaired or path, str(fault))
    return {wire: fields for wire, fields in leftovers.items() if wire != WIRE} or None


def without_leftovers(value: S, path: str, lost: Losses) -> S:
    """The item or part without leftovers, which are reported; the same object if it has none."""
    fields = INNER.get(type(value))
    if fields is None:
        fields = INNER.get(struct_of(value), ())
    changes: dict[str, Any] = {}
    left: Leftovers | None = getattr(value, "leftovers", None)
    if left is not None:
        report_foreign(report_repairs(left, path, lost), WIRE, path, lost)
        changes["leftovers"] = None
    for name in fields:
        inner = getattr(value, name)
        if isinstance(inner, list):
            for j, part in enumerate(cast("Any", inner)):
                # Nearly every part has none, and its path is then not built.
                if type(part) is Unknown or (part.leftovers is None and not getattr(part, "annotations", None)):
                    continue
                if (new := without_leftovers(part, f"{path}.{name}[{j}]", lost)) is not part:
                    new = None if stands_for_another(part, WIRE) else new
                    changes.setdefault(name, list(cast("Any", inner)))[j] = new
            if name in changes and None in changes[name]:
                changes[name] = [part for part in changes[name] if part is not None]
        elif isinstance(inner, Struct) and (new := without_leftovers(inner, f"{path}.{name}", lost)) is not inner:
            changes[name] = new
    return replace(value, **changes) if changes else value


# --- failures of tools ----------------------------------------------------------------------------------------------

_ERROR = "Error: "


def encode_failure(item: ItemT, path: str, lost: Losses) -> ItemT:
    """The output of a tool without `is_error`, which becomes a prefix of the text."""
    if not isinstance(item, OUTPUTS) or item.is_error is None:
        return item
    if not item.is_error:
        return replace(item, is_error=None)
    lost.changed(path, "a failure, which the text of the output has")
    output = item.output
    if isinstance(output, str):
        return replace(item, is_error=None, output=output if output.startswith(_ERROR) else _ERROR + output)
    if not (output and isinstance(output[0], rs.InputText) and output[0].text.startswith(_ERROR)):
        output = [rs.InputText(text=_ERROR), *output]
    return replace(item, is_error=None, output=output)


# --- parts by role --------------------------------------------------------------------------------------------------

_INPUT = frozenset({rs.InputText, rs.InputImage, rs.InputFile})
_OUTPUT = frozenset({rs.OutputText, rs.RefusalPart})


def fitting_content(item: ItemT, path: str, dialect: ResponsesDialect, lost: Losses) -> ItemT | None:
    """The item with the parts that its role may have; `None` if no part of a message is left."""
    field, parts, allowed = "content", None, _INPUT
    if isinstance(item, rs.Message):
        parts = item.content
        allowed = _OUTPUT if item.role == "assistant" else _INPUT
    elif isinstance(item, OUTPUTS):
        field, parts = "output", item.output
    if not isinstance(parts, list):
        return item
    place = f"{path}.{field}"
    fitting = _with_lifetimes(parts, place, dialect, lost)
    if allowed is _OUTPUT:
        fitting = _with_known_annotations(fitting, place, lost)
    if not allowed.issuperset(map(type, fitting)):
        assistant = allowed is _OUTPUT
        found = [_fitting_part(part, assistant, f"{place}[{j}]", dialect, lost) for j, part in enumerate(fitting)]
        fitting = [part for part in found if part is not None]
    if fitting is parts:
        return item
    if not fitting and isinstance(item, rs.Message):
        lost.dropped(path, "a message of which nothing is left")
        return None
    return replace(item, **{field: fitting})


def _with_lifetimes(parts: list[Any], path: str, dialect: ResponsesDialect, lost: Losses) -> list[Any]:
    """The parts with cache lifetimes that the host supports; the same list if there are no others."""
    fitting = parts
    for j, part in enumerate(parts):
        mark = getattr(part, "prompt_cache_breakpoint", None)
        if given(mark) and mark.ttl in dialect.cache_ttls:
            nearest = dialect.cache_ttls[mark.ttl]
            what = f"{mark.ttl} is not known here; {nearest} was requested"
            lost.changed(f"{path}[{j}].prompt_cache_breakpoint.ttl", what)
            fitting = list(parts) if fitting is parts else fitting
            fitting[j] = replace(part, prompt_cache_breakpoint=replace(mark, ttl=nearest))
    return fitting


OURS: dict[type, tuple[str, ...]] = {
    rs.UrlCitation: SOURCE_FIELDS,
    rs.FileCitation: ("start_index", "end_index", *SOURCE_FIELDS),
}
"""The fields of annotations that hosts do not have."""


def _with_known_annotations(parts: list[Any], path: str, lost: Losses) -> list[Any]:
    """The parts with annotations as hosts have them; the same list if there are no others."""
    fitting = parts
    for j, part in enumerate(parts):
        if type(part) is rs.OutputText and not part.annotations:
            continue  # as most
        if notes := getattr(part, "annotations", None):
            found = [_known_annotation(note, f"{path}[{j}].annotations[{k}]", lost) for k, note in enumerate(notes)]
            if any(map(operator.is_not, found, notes)):
                fitting = list(parts) if fitting is parts else fitting
                fitting[j] = replace(part, annotations=[note for note in found if note is not None])
    return fitting


def _known_annotation(note: Any, path: str, lost: Losses) -> Any:
    """An annotation as hosts have it; `None` for one of another wire, or of a document that hosts cannot find."""
    if isinstance(note, Unknown):
        if note.kind.partition(":")[0] in NAMES:
            lost.dropped(path, not_in("a citation of this kind", "Responses"))
            return None
        return note
    if note.url.startswith(DOCUMENT) if isinstance(note, rs.UrlCitation) else getattr(note, "file_id", None) == "":
        lost.dropped(path, not_in("a citation of a document without an id", "Responses"))
        return None
    more = [name for name in OURS.get(struct_of(note), ()) if getattr(note, name) is not None]
    for name in more:
        lost.dropped(f"{path}.{name}", not_in("the place of a citation in its source", "Responses"))
    return replace(note, **dict.fromkeys(more)) if more else note


def _fitting_part(part: Any, assistant: bool, path: str, dialect: ResponsesDialect, lost: Losses) -> Any:
    """The part as the role of its message may have it; `None` where it may not."""
    match part:
        case rs.InputAudio() | rs.InputVideo() if kind_of(part) not in dialect.parts:
            lost.dropped(path, f"a part of kind {kind_of(part)}, which the host does not support")
        case rs.InputText() | rs.PlainText() if assistant:
            lost.changed(path, "sent as output_text, the text of an assistant")
            return rs.OutputText(text=part.text, annotations=[])
        case rs.InputImage() | rs.InputFile() if assistant:
            lost.dropped(path, f"a part of kind {kind_of(part)} in an assistant message")
        case rs.OutputText() | rs.PlainText() if not assistant:
            lost.changed(path, "sent as input_text, without annotations")
            return rs.InputText(text=part.text)
        case rs.RefusalPart() if not assistant:
            lost.changed(path, "sent as input_text")
            return rs.InputText(text=part.refusal)
        case _:
            return part
    return None
