"""What an item says, on its way to a host and back: without the fields of ours, and in parts that its role may have.

An item with nothing to change is passed through as the same object. Before changing this file, know that `strip` serves
requests and answers alike, while what a role may say is asked of requests only. Follows the content parts of the OpenAI
Responses reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...losses import Losses
from ...responses import (
    ComputerCallOutput,
    CustomToolCallOutput,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    ItemBase,
    Message,
    OutputText,
    PlainText,
    Reasoning,
    RefusalPart,
)
from ...responses.leftovers import own, report_foreign
from ...responses.lenient import REPAIRED, WIRE
from ...responses.parts import Leftovers
from ...unknown import Unknown, given
from ...vendors.dialects import ResponsesDialect
from .._left import as_list

ItemT = TypeVar("ItemT", bound=ItemBase)

# A tuple, because `isinstance(x, A | B)` builds the union anew for every item.
OUTPUTS = (FunctionCallOutput, CustomToolCallOutput)


def kind_of(model: Struct) -> str:
    """The `type` a tagged struct has on the wire."""
    return str(model.__struct_config__.tag)


# --- what is ours ---------------------------------------------------------------------------------------------------


def report_repairs(leftovers: Leftovers | None, path: str, lost: Losses) -> Leftovers | None:
    """Report what the document's decoder had to put right; what is left over otherwise."""
    if leftovers is None:
        return None
    for fault in as_list(own(leftovers, WIRE).get(REPAIRED)):
        lost.changed(path, str(fault))
    return {wire: fields for wire, fields in leftovers.items() if wire != WIRE} or None


def report_leftovers(leftovers: Leftovers | None, path: str, lost: Losses) -> None:
    """Report what other wires left, and what had to be put right where no converter has read the document since."""
    report_foreign(report_repairs(leftovers, path, lost), WIRE, path, lost)


def strip(item: ItemT, field: str, i: int, lost: Losses) -> ItemT:
    """The item without the fields of ours, for a request and an answer alike; what was left over of other wires is lost."""
    changes: dict[str, Any] = {}
    if item.leftovers is not None:
        report_leftovers(item.leftovers, f"{field}[{i}]", lost)
        changes["leftovers"] = None
    if isinstance(item, Message):
        if not isinstance(item.content, str):
            strip_parts(item.content, "content", f"{field}[{i}]", lost, changes)
    elif isinstance(item, OUTPUTS):
        _strip_output(item, f"{field}[{i}]", lost, changes)
    elif isinstance(item, Reasoning):
        if item.summary:
            strip_parts(item.summary, "summary", f"{field}[{i}]", lost, changes)
        if item.content:
            strip_parts(item.content, "content", f"{field}[{i}]", lost, changes)
    elif isinstance(item, ComputerCallOutput) and item.output.leftovers is not None:
        report_foreign(item.output.leftovers, WIRE, f"{field}[{i}].output", lost)
        changes["output"] = replace(item.output, leftovers=None)
    return replace(item, **changes) if changes else item


def _strip_output(item: Any, path: str, lost: Losses, changes: dict[str, Any]) -> None:
    if not isinstance(item.output, str):
        strip_parts(item.output, "output", path, lost, changes)
    if item.is_error is not None:
        changes["is_error"] = None
    if item.is_error is True:
        changes["output"] = _said_to_be_an_error(changes.get("output", item.output))
        lost.changed(path, "that the tool failed is said in the text of its output")


def strip_parts(parts: Any, field: str, path: str, lost: Losses, changes: dict[str, Any]) -> None:
    """Puts the parts without leftovers into `changes`, if any had some."""
    stripped: list[Any] | None = None
    for j, part in enumerate(parts):
        if isinstance(part, Unknown):
            continue
        new = part
        if part.leftovers is not None:
            report_foreign(part.leftovers, WIRE, f"{path}.{field}[{j}]", lost)
            new = replace(part, leftovers=None)
        if isinstance(part, OutputText) and part.annotations:
            annotations: dict[str, Any] = {}
            strip_parts(part.annotations, "annotations", f"{path}.{field}[{j}]", lost, annotations)
            new = replace(new, **annotations) if annotations else new
        if new is not part:
            stripped = list(parts) if stripped is None else stripped
            stripped[j] = new
    if stripped is not None:
        changes[field] = stripped


_ERROR = "Error: "


def _said_to_be_an_error(output: str | list[Any]) -> str | list[Any]:
    if isinstance(output, str):
        return output if output.startswith(_ERROR) else _ERROR + output
    first = output[0] if output else None
    if isinstance(first, InputText) and first.text.startswith(_ERROR):
        return output
    return [InputText(text=_ERROR), *output]


# --- what a role may say --------------------------------------------------------------------------------------------

_TOLD = frozenset({InputText, InputImage, InputFile})
_SAID = frozenset({OutputText, RefusalPart})


def fitting_content(item: ItemT, i: int, dialect: ResponsesDialect, lost: Losses) -> ItemT | None:
    """The item with parts its role may have; `None` where nothing of a message is left."""
    field, parts, allowed = "content", None, _TOLD
    if isinstance(item, Message):
        parts = item.content
        allowed = _SAID if item.role == "assistant" else _TOLD
    elif isinstance(item, OUTPUTS):
        field, parts = "output", item.output
    if not isinstance(parts, list):
        return item
    path = f"input[{i}].{field}"
    fitting = _with_lifetimes(parts, path, dialect, lost)
    if not allowed.issuperset(map(type, fitting)):
        fitting = _fitting(fitting, allowed is _SAID, path, dialect, lost)
    if fitting is parts:
        return item
    if not fitting and isinstance(item, Message):
        lost.dropped(f"input[{i}]", "a message of which nothing is left")
        return None
    return replace(item, **{field: fitting})


def _with_lifetimes(parts: list[Any], path: str, dialect: ResponsesDialect, lost: Losses) -> list[Any]:
    """The parts with cache lifetimes the host knows; the same list where there are no others."""
    fitting = parts
    for j, part in enumerate(parts):
        mark = getattr(part, "prompt_cache_breakpoint", None)
        if given(mark) and mark.ttl in dialect.cache_ttls:
            nearest = dialect.cache_ttls[mark.ttl]
            lost.changed(
                f"{path}[{j}].prompt_cache_breakpoint.ttl", f"{mark.ttl} is not known here; {nearest} was asked for"
            )
            fitting = list(parts) if fitting is parts else fitting
            fitting[j] = replace(part, prompt_cache_breakpoint=replace(mark, ttl=nearest))
    return fitting


def _fitting(parts: list[Any], said: bool, path: str, dialect: ResponsesDialect, lost: Losses) -> list[Any]:
    fitting: list[Any] = []
    for j, part in enumerate(parts):
        place = f"{path}[{j}]"
        match part:
            case InputAudio() | InputVideo() if kind_of(part) not in dialect.parts:
                lost.dropped(place, f"a part of kind {kind_of(part)}, which the host does not take")
            case InputText() | PlainText() if said:
                lost.changed(place, "sent as output_text, the text of an assistant")
                fitting.append(OutputText(text=part.text, annotations=[]))
            case InputImage() | InputFile() if said:
                lost.dropped(place, f"a part of kind {kind_of(part)} in what an assistant said")
            case OutputText() | PlainText() if not said:
                lost.changed(place, "sent as input_text, without annotations")
                fitting.append(InputText(text=part.text))
            case RefusalPart() if not said:
                lost.changed(place, "sent as input_text")
                fitting.append(InputText(text=part.refusal))
            case _:
                fitting.append(part)
    return fitting
