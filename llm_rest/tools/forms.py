"""Types as JSON Schema, and JSON values as these types.

A *form* is a type that msgspec supports (structs, dataclasses, TypedDicts, attrs classes, enums, unions, lists ...), a path, any
class with the methods of a pydantic model (pydantic itself is never imported), and a union of any of these, also where msgspec
cannot distinguish them. Before changing this file, know that schemas made here are sent to models: they reject undeclared
fields and repeat nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec

from ..errors import ConfigError
from ..unknown import first_use
from .schema import Schema, problems, walk


class DoesNotFit(ValueError):
    """A value that does not match the form; `problems` lists why, as text for a model."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def schema_of(form: Any) -> Schema:
    """The JSON Schema of a form, self-contained, its definitions under `$defs`. Raises `ConfigError` if it has none."""
    (schema,), definitions = schemas_of([form])
    reference = str(schema.get("$ref"))
    if len(schema) == 1 and reference.startswith("#/$defs/"):
        # Vendors want an object at the top, not a reference to one; where others refer to it, it stays below too.
        schema = definitions[reference.removeprefix("#/$defs/")]
        if not any(inner.get("$ref") == reference for one in definitions.values() for _, inner in walk(one)):
            del definitions[reference.removeprefix("#/$defs/")]
    return {**schema, "$defs": definitions} if definitions else schema


def schemas_of(forms: Sequence[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    """The JSON Schemas of forms, and the definitions they refer to as `#/$defs/<name>`. Raises `ConfigError`."""
    try:
        known = [_known(form) for form in forms]
        made, found = msgspec.json.schema_components(known, schema_hook=_own_schema, ref_template="#/$defs/{name}")
    except (TypeError, ValueError, NameError, RecursionError) as problem:
        hint = "use types of JSON data, enums, dates, Structs, dataclasses, TypedDicts, attrs or pydantic models"
        raise ConfigError(f"no JSON Schema: {str(problem).splitlines()[-1]}", hint=hint) from None
    schemas = list(made)
    definitions = {name: _tidied(one, name) for name, one in found.items()}
    for _, inner in [each for one in (*schemas, *found.values()) for each in walk(one)]:
        for name, one in inner.pop("$defs", {}).items():
            if definitions.setdefault(name, one) != _tidied(one, name):
                raise ConfigError(f"two different types are called {name!r}", hint="rename one of them")
    for one in schemas:
        _tidied(one, "")
    return schemas, definitions


class _Anything(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True  # msgspec asks whether what was made for it is one


class _Either(metaclass=_Anything):
    """A union whose classes msgspec cannot distinguish: the first that a value matches is used."""

    arms: tuple[Any, ...]


def _known(form: Any) -> Any:
    """The form for msgspec: with its kind of constraints, and with an `_Either` for a union that it cannot distinguish."""
    form = _limited(getattr(form, "__value__", form))  # of `type Name = ...`, what it is a name for
    origin, args = get_origin(form), get_args(form)
    if origin is Annotated:
        return Annotated[_known(form.__origin__), *form.__metadata__]
    if origin is Literal or not args:
        return form
    known = tuple(_known(arg) for arg in args)
    if origin in (Union, UnionType):
        return Union[known] if _are_distinguishable(known) else _Anything("Either", (_Either,), {"arms": known})  # noqa: UP007
    return form if known == args else origin[known]


def _are_distinguishable(arms: tuple[Any, ...]) -> bool:
    if len(arms) > 2 - (NoneType not in arms) and any(get_origin(arm) is Annotated for arm in arms):
        return False  # msgspec, up to 0.22, writes over memory where a list stands beside a text with limits
    try:
        with first_use:
            msgspec.json.Decoder(Union[arms])  # noqa: UP007
    except TypeError:
        return False
    return True


_LIMITS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")


def _limited(form: Any) -> Any:
    """The form with constraints of other libraries' annotations, such as pydantic's `Field(ge=1)`."""
    if get_origin(form) is not Annotated:
        return form
    notes = [each for note in form.__metadata__ for each in (note, *getattr(note, "metadata", ()))]
    bounds = {name: getattr(note, name) for note in notes for name in _LIMITS if getattr(note, name, None) is not None}
    known = [
        name for note in notes if isinstance(note, msgspec.Meta) for name in bounds if getattr(note, name) is not None
    ]
    limits = {name: limit for name, limit in bounds.items() if name not in known}
    if not limits:
        return form
    limit: Any = msgspec.Meta(**limits)
    if get_origin(form.__origin__) not in (Union, UnionType):
        return Annotated[form, limit]
    # msgspec limits what is a number or a text, and not what may also be null.
    arms = tuple(arm if arm is NoneType else Annotated[arm, limit] for arm in get_args(form.__origin__))
    return Annotated[Union[arms], *form.__metadata__]  # noqa: UP007


def _own_schema(form: Any) -> Schema:
    """The schema of a path, of an `_Either`, or of a class with its own schema, such as a pydantic model."""
    if issubclass(form, _Either):
        arms, definitions = schemas_of(form.arms)
        return {"anyOf": arms, "$defs": definitions}
    if _is_path(form):
        return {"type": "string", "format": "path"}
    make = getattr(form, "model_json_schema", None)
    if make is None:
        raise NotImplementedError
    return cast("Schema", make())


def _is_path(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, PurePath)


def _tidied(whole: Schema, name: str) -> Schema:
    """The schema with closed objects where fields are declared, with the type of enums, without redundant keywords."""
    for inner_name, schema in walk(whole, name):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        choices: list[Any] = schema.get("enum", [])
        for kind, word in ((str, "string"), (int, "integer")):
            if choices and "type" not in schema and all(type(choice) is kind for choice in choices):
                schema["type"] = word
        if _folded(schema.get("title", "")) == _folded(inner_name):
            schema.pop("title", None)
        schema.pop("discriminator", None)  # which is OpenAPI's; each alternative says it by itself
    return whole


def _folded(text: str) -> str:
    return text.rpartition(".")[2].replace("_", "").replace(" ", "").lower()


def convert(value: Any, form: Any) -> Any:
    """A plain JSON value as the form. Raises `DoesNotFit`."""
    form = _known(form)
    with first_use:
        msgspec.json.Decoder(form)
    try:
        return msgspec.convert(value, form, dec_hook=_validated)
    except msgspec.ValidationError as problem:
        mismatch = str(problem)
    try:
        # By JSON Schema 3.0 is an integer; the lax mode is the one that agrees.
        return msgspec.convert(value, form, dec_hook=_validated, strict=False)
    except msgspec.ValidationError:
        what, _, place = mismatch.partition(" - at `")
        of_name, _, inside = place.rpartition("` in `")
        what = f"{what[:1].lower()}{what[1:]}"
        raise DoesNotFit([f"{inside.rstrip('`') or '$'}: {'as a name: ' if of_name else ''}{what}"]) from None


def _validated(form: Any, value: Any) -> Any:
    if _is_path(form):
        return form(value)
    if issubclass(form, _Either):
        return _first(form.arms, value)
    check = getattr(form, "model_validate_json", None)
    if check is None:
        raise NotImplementedError
    try:
        # As JSON, in which a strict model takes the text of a date and the items of a tuple.
        return check(msgspec.json.encode(value))
    except ValueError as problem:
        errors = getattr(problem, "errors", None)
        if errors is None:
            raise
        problems = cast("list[dict[str, Any]]", errors())
    words = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}".removeprefix(": ") for one in problems)
    raise ValueError("; ".join(words))


def _first(arms: tuple[Any, ...], value: Any) -> Any:
    """The value as the first of the types that it matches. Raises `ValueError` with the problems of each candidate."""
    fitting = [arm for arm in arms if not problems(schema_of(arm), value)] or arms
    found: list[str] = []
    for arm in fitting:
        try:
            return convert(value, arm)
        except DoesNotFit as mismatch:
            found += mismatch.problems
    raise ValueError("; ".join(found))
