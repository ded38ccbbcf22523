"""What a document of a wire says and Responses cannot: taken out of it, and put back.

Leftovers are plain JSON and may have come from anywhere. `spelling` among them notes how a document was written where it says
nothing by that. Before changing this file, know that an ordinary document must pay next to nothing here: `Rest` reads all
fields in question at once and compares them with nothing.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..errors import DecodeError
from ..responses.echo import ECHOED
from ..responses.items import Reasoning
from ..responses.leftovers import SPELLING, own, report_foreign
from ..responses.response import Response
from ..responses.tools import ChooseAllowed
from ..unknown import Model, base, extras, given, with_extras

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..losses import Losses
    from ..responses.parts import Leftovers
    from ..responses.response import Usage

Json = dict[str, Any]
S = TypeVar("S", bound=Model)

ABSENT: Json = {"absent": True}
"""How a leftover says that a field was not there, which null would not."""

INSTEAD = "instead"
"""The note of fields that a document wrote otherwise than we do: each with the value that came, and ours in its place."""


def is_object(value: Any) -> TypeGuard[Json]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def as_object(value: Any) -> Json:
    """A JSON value where it is an object; empty otherwise. A leftover may have come from anywhere."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A JSON value where it is a list; empty otherwise."""
    return cast("Any", value) if isinstance(value, list) else []


def absent(value: Any) -> Any:
    """The value of a leftover."""
    return UNSET if value == ABSENT else value


def copies(struct: S) -> Callable[[], S]:
    """Makes structs like this one. With its fields set, such a copy costs half of what a new struct costs."""
    return cast("Callable[[], S]", getattr(struct, "__copy__"))  # noqa: B009 - msgspec's types do not know it


def sent(value: Any) -> Any:
    """A field's value as a leftover."""
    if value is UNSET:
        return ABSENT
    return as_plain(value) if isinstance(value, Struct | list | dict) else value


class Rest:
    """The fields of a struct that Responses has no word for: all but those that are `taken`."""

    __slots__ = ("_model", "_names", "_nothing", "_values")

    def __init__(self, model: type[Model], *taken: str) -> None:
        self._model = model
        self._names = tuple(name for name in model.__struct_fields__ if name not in taken)
        # Read together they come as one tuple; a lone one would come bare.
        self._values: Callable[[Any], tuple[Any, ...]] = attrgetter(*self._names, *self._names[:1])
        self._nothing = (UNSET,) * (len(self._names) + 1)

    def of(self, value: Model) -> Json:
        """Those of the fields that are set, and the fields that no struct declares."""
        values = self._values(value)
        found = (
            {}
            if values == self._nothing
            else {name: each for name, each in zip(self._names, values, strict=False) if each is not UNSET}
        )
        if type(value) is not self._model and (unknown := extras(value)):
            found.update(unknown)
        return found


def as_plain(value: Any) -> Any:
    """Structs as plain JSON. Arguments that are no text are slices of the document, which only encoding can read."""
    return msgspec.json.decode(msgspec.json.encode(value))


def notes(left: Json) -> Json:
    """How the document was written, of a leftover that may have come from anywhere."""
    return as_object(left.get(SPELLING))


def noting(left: Json) -> Json:
    """Where to note how the document is written."""
    if not isinstance(left.get(SPELLING), dict):
        left[SPELLING] = {}
    return cast("Json", left[SPELLING])


def put_back(model: S, fields: Json) -> S:
    """`model` with the fields of a leftover; what it already says itself stays, unless it is as `beyond` found it."""
    unknown: Json = {}
    if SPELLING in fields:
        _respell(model, as_object(notes(fields).get(INSTEAD)))
    passed = (SPELLING, model.__struct_config__.tag_field)
    for name, value in fields.items():
        if name in passed:
            continue
        if name not in model.__struct_fields__:
            unknown[name] = value
        elif (inner := getattr(model, name)) is UNSET:
            if INSTEAD not in notes(as_object(value)):  # what is beyond a struct says nothing without it
                setattr(model, name, value)
        elif isinstance(inner, Model) and isinstance(value, dict):
            setattr(model, name, put_back(replace(inner), cast("Json", value)))
    if not unknown:
        return model
    try:
        return with_extras(model, {**extras(model), **unknown})
    except DecodeError:
        # No document of this wire has such a name, so this leftover was made up.
        return model


def _respell(model: Model, instead: Json) -> None:
    optional = dict(zip(model.__struct_fields__[::-1], model.__struct_defaults__[::-1], strict=False))
    for name, pair in instead.items():
        came, ours = pair if len(as_list(pair)) == 2 else (None, ABSENT)
        # A note may be forged: what is required stays, and neither an object nor another type comes in its place.
        alike = came is None or came == ABSENT or (type(came) is type(ours) and isinstance(came, str | list))
        if alike and optional.get(name) is UNSET and sent(getattr(model, name)) == ours:
            setattr(model, name, absent(came))


def beyond(came: Model, made: Model) -> Json:
    """What `came` says and `made`, which is written anew from what Responses keeps of it, does not: what `put_back` takes.

    For what is rare or small, since it looks at every field.
    """
    left: Json = extras(came)
    instead: Json = {}
    for name in made.__struct_fields__:
        one, other = getattr(came, name), getattr(made, name)
        if one == other:
            continue
        if other is UNSET:
            left[name] = sent(one)
        elif isinstance(one, Model) and isinstance(other, Model):
            if inner := beyond(one, other):
                left[name] = inner
        else:
            instead[name] = [sent(one), sent(other)]
    return {**left, SPELLING: {INSTEAD: instead}} if left or instead else {}


def rest(model: Model, *taken: str) -> Json:
    """The fields that are set and not `taken`, those that no struct declares among them; for documents that are rare."""
    unknown = extras(model)
    names = model.__struct_fields__[: len(model.__struct_fields__) - len(unknown)]
    found = {name: getattr(model, name) for name in names if name not in taken}
    return {name: sent(value) for name, value in found.items() if value is not UNSET} | unknown


def nulls(model: Model, *names: str) -> Json:
    """Those of the fields that are null; the Responses format, where null is absent, does not keep them."""
    return {name: None for name in names or model.__struct_fields__ if getattr(model, name) is None}


def returned(model: S, leftovers: Leftovers | None, wire: str, path: str, lost: Losses) -> S:
    """`model` as its document had it: with what that said beyond the item, and empty where it was empty in another way.

    What other wires left with the item is reported.
    """
    report_foreign(leftovers, wire, path, lost)
    left = own(leftovers, wire)
    for name, value in notes(left).items():
        if name in model.__struct_fields__ and not getattr(model, name):
            setattr(model, name, absent(value))
    return put_back(model, left)


def known(value: S, path: str, lost: Losses) -> S:
    """The item or part without the fields that its struct does not declare, which are reported."""
    return base(value) if report_unknown(value, path, lost) else value


SETTINGS = (
    *("text", "reasoning", "tool_choice", "stream_options", "prompt_cache_options", "prompt", "context_management"),
    *("conversation", "usage", "incomplete_details", "error"),
)
"""Fields of requests and answers whose values are objects of their own."""

NEWS = (
    *("moderation", "tool_usage", "content_filters", "prompt_cache_diagnostics", "billing", "input_transformations"),
    *("access_programs", "image", "conversation", "service_tier"),
)
"""Fields of an answer, beside those that repeat the request, that few wires have a word for."""


def says(value: Any) -> bool:
    """Whether the value of an option of Responses asks for something: false, zero and no entries are what all wires do anyway."""
    return bool(value) or value == ""


def report_answer(response: Response, lost: Losses, *told: str) -> None:
    """Report the fields of an answer that are not `told` by a wire, and those that its structs do not declare."""
    for name in NEWS:
        if name not in told and says(getattr(response, name)):
            lost.dropped(name, "only Responses has such a field of an answer")
    report_unknown(response, "", lost)


def report_cost(usage: Usage, lost: Losses) -> None:
    """Report what an answer cost, which few wires tell."""
    for name in ("cost", "cost_details", "is_byok"):
        if given(getattr(usage, name)):
            lost.dropped(f"usage.{name}", "only Responses tells what an answer cost")


def report_unknown(value: Struct, path: str, lost: Losses) -> bool:
    """Report the fields of an item or part, or of a whole document, that its struct does not declare; whether there are any."""
    unknown: Json = extras(value) if hasattr(type(value), "__extras__") else {}
    for name in unknown:
        lost.dropped(f"{path}.{name}" if path else name, "only Responses has such a field")
    if isinstance(value, Reasoning):
        for field in ("summary", "content"):
            for i, part in enumerate(getattr(value, field) or ()):
                report_unknown(part, f"{path}.{field}[{i}]", lost)
    if not path:
        repeated = ECHOED if isinstance(value, Response) else ()
        for name in SETTINGS:
            if name not in repeated and (inner := getattr(value, name, UNSET)) is not UNSET:
                _report_below(inner, name, lost)
        if isinstance(choice := getattr(value, "tool_choice", UNSET), ChooseAllowed) and "tool_choice" not in repeated:
            for i, entry in enumerate(choice.tools):
                for name in sorted(entry.keys() - {"type", "name", "server_label"}):
                    lost.dropped(f"tool_choice.tools[{i}].{name}", "only Responses has such a field")
    return bool(unknown)


def _report_below(value: Any, path: str, lost: Losses) -> None:
    """Report the unknown fields of an object and of the objects in it."""
    if isinstance(value, list):
        for i, entry in enumerate(cast("Any", value)):
            _report_below(entry, f"{path}[{i}]", lost)
    elif isinstance(value, Struct):
        report_unknown(value, path, lost)
        for name in value.__struct_fields__:
            if isinstance(inner := getattr(value, name), Struct):
                _report_below(inner, f"{path}.{name}", lost)
