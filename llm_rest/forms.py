"""What a type looks like as JSON Schema, and a JSON value as that type.

A *form* is anything msgspec takes (structs, dataclasses, TypedDicts, attrs classes, enums, unions, lists ...), a path, any
class with the methods of a pydantic model (pydantic itself is never imported), and a union of any of these, whether msgspec can
tell them apart or not. Before changing this file, know that schemas made here are sent to models: they refuse fields nobody
declared, and say nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec

from .errors import ConfigError
from .json_schema import Schema, problems, walk
from .unknown import first_use


class DoesNotFit(ValueError):
    """A value that is not of the form; `problems` says why, in words for a model."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def schema_of(form: Any) -> Schema:
    """The JSON Schema of a form: complete in itself, its definitions under `$defs`. Raises `ConfigError` if it has none."""
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
        arms = [_arms(form) for form in forms]
        flat, found = msgspec.json.schema_components(
            [arm for each in arms for arm in each], schema_hook=_own_schema, ref_template="#/$defs/{name}"
        )
    except (TypeError, ValueError, NameError, RecursionError) as problem:
        hint = "use types of JSON data, enums, dates, Structs, dataclasses, TypedDicts, attrs or pydantic models"
        raise ConfigError(f"no JSON Schema: {str(problem).splitlines()[-1]}", hint=hint) from None
    rest = iter(flat)
    schemas = [next(rest) if len(each) == 1 else {"anyOf": [next(rest) for _ in each]} for each in arms]
    definitions = dict(found)
    for _, inner in [each for one in (*schemas, *found.values()) for each in walk(one)]:
        for name, definition in inner.pop("$defs", {}).items():
            if definitions.setdefault(name, definition) != definition:
                raise ConfigError(f"two different types are called {name!r}", hint="rename one of them")
    for name, one in [("", one) for one in schemas] + list(definitions.items()):
        for inner_name, inner in walk(one, name):
            _tidy(inner, inner_name)
    return schemas, definitions


_LIMITS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")


def _limited(form: Any) -> Any:
    """The form with the limits that notes of other libraries put on it, such as pydantic's `Field(ge=1)`."""
    if get_origin(form) in (Union, UnionType):
        return Union[tuple(_limited(arm) for arm in get_args(form))]  # noqa: UP007
    if get_origin(form) is not Annotated:
        return form
    notes = [each for note in form.__metadata__ for each in (note, *getattr(note, "metadata", ()))]
    said = {name: getattr(note, name) for note in notes for name in _LIMITS if getattr(note, name, None) is not None}
    known = [
        name for note in notes if isinstance(note, msgspec.Meta) for name in said if getattr(note, name) is not None
    ]
    limits = {name: limit for name, limit in said.items() if name not in known}
    if not limits:
        return form
    limit: Any = msgspec.Meta(**limits)
    if get_origin(form.__origin__) not in (Union, UnionType):
        return Annotated[form, limit]
    # msgspec limits what is a number or a text, and not what may also be null.
    arms = tuple(arm if arm is NoneType else Annotated[arm, limit] for arm in get_args(form.__origin__))
    return Annotated[Union[arms], *form.__metadata__]  # noqa: UP007


def _arms(form: Any) -> tuple[Any, ...]:
    """The arms of a union whose classes msgspec cannot tell apart; else the form as it is."""
    form = _limited(form)
    union = form.__origin__ if get_origin(form) is Annotated else form
    arms = get_args(union)
    if get_origin(union) not in (Union, UnionType) or (len(arms) == 2 and NoneType in arms):
        return (form,)
    if any(get_origin(arm) is Annotated for arm in arms):
        return arms  # msgspec, up to 0.22, writes over memory where a list stands beside a text with limits
    try:
        with first_use:
            msgspec.json.Decoder(form)
    except TypeError:
        return arms
    return (form,)


def _own_schema(form: Any) -> Schema:
    """The schema of a path, or of a class that makes its own, as pydantic's models do."""
    if _is_path(form):
        return {"type": "string", "format": "path"}
    make = getattr(form, "model_json_schema", None)
    if make is None:
        raise NotImplementedError
    return cast("Schema", make())


def _is_path(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, PurePath)


def _tidy(schema: Schema, name: str) -> None:
    """Close an object that declares its fields, say the type of plain choices, drop what repeats what stands there."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    choices: list[Any] = schema.get("enum", [])
    for kind, word in ((str, "string"), (int, "integer")):
        if choices and "type" not in schema and all(type(choice) is kind for choice in choices):
            schema["type"] = word
    if _folded(schema.get("title", "")) == _folded(name):
        schema.pop("title", None)
    schema.pop("discriminator", None)  # which is OpenAPI's; each alternative says it by itself


def _folded(text: str) -> str:
    return text.rpartition(".")[2].replace("_", "").replace(" ", "").lower()


def convert(value: Any, form: Any) -> Any:
    """A plain JSON value as the form. Raises `DoesNotFit`."""
    arms = _arms(form)
    # Of arms that msgspec cannot tell apart, those whose schema the value fits.
    fitting = [arm for arm in arms if len(arms) == 1 or not problems(schema_of(arm), value)]
    found: list[str] = []
    for arm in fitting or arms:
        try:
            return _converted(value, arm)
        except DoesNotFit as mismatch:
            found += mismatch.problems
    raise DoesNotFit(found)


def _converted(value: Any, form: Any) -> Any:
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
        said = cast("list[dict[str, Any]]", errors())
    words = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}".removeprefix(": ") for one in said)
    raise ValueError("; ".join(words))
