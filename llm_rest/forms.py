"""What a type looks like as JSON Schema, and a JSON value as that type.

A *form* is anything msgspec takes (structs, dataclasses, TypedDicts, attrs classes, enums, unions, lists ...) and any class
with the two methods of a pydantic model; pydantic itself is never imported. Before changing this file, know that schemas
made here are sent to models: they refuse fields nobody declared, and say nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from .errors import ConfigError
from .json_schema import Schema, walk


class DoesNotFit(ValueError):
    """A value that is not of the form; `problems` says why, in words for a model."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def schema_of(form: Any) -> Schema:
    """The JSON Schema of a form: complete in itself, its definitions under `$defs`."""
    (schema,), definitions = schemas_of([form])
    reference = schema.get("$ref")
    if len(schema) == 1 and isinstance(reference, str):
        # Most vendors want an object at the top; the definition stays where others refer to it.
        name = reference.removeprefix("#/$defs/")
        schema = definitions[name]
        if not any(one.get("$ref") == reference for each in definitions.values() for _, one in walk(each)):
            del definitions[name]
    return {**schema, "$defs": definitions} if definitions else schema


def schemas_of(forms: Sequence[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    """The JSON Schemas of forms, and the definitions they refer to as `#/$defs/<name>`.

    Raises `ConfigError` for a type that has none.
    """
    try:
        made, found = msgspec.json.schema_components(forms, schema_hook=_hook, ref_template="#/$defs/{name}")
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigError(f"no JSON Schema: {str(problem).rpartition('- type ')[2] or problem}") from None
    schemas = [dict(one) for one in made]
    definitions: dict[str, Schema] = {}
    for name, one in [("", one) for one in schemas] + list(found.items()):
        if name:
            _define(definitions, name, one)
        for _, inner in list(walk(one)):
            for key, value in cast("dict[str, Schema]", inner.pop("$defs", {})).items():
                _define(definitions, key, value)
    for name, one in [("", one) for one in schemas] + list(definitions.items()):
        _tidy(name, one)
    return schemas, definitions


def _define(definitions: dict[str, Schema], name: str, schema: Schema) -> None:
    if definitions.setdefault(name, schema) != schema:
        raise ConfigError(f"two different types are called {name!r}", hint="rename one of them")


def _hook(form: Any) -> Schema:
    """The schema of a class that makes its own, as pydantic's models do."""
    make = getattr(form, "model_json_schema", None)
    if make is None:
        raise NotImplementedError
    return make()


def _tidy(name: str, schema: Schema) -> None:
    """Close objects that declare their fields, name the type of plain choices, drop titles that repeat the name."""
    for key, one in walk(schema, name):
        if "properties" in one:
            one.setdefault("additionalProperties", False)
        kinds = {type(choice) for choice in one.get("enum", ())}
        if "type" not in one and kinds in ({str}, {int}):
            one["type"] = "string" if kinds == {str} else "integer"
        title = one.get("title")
        if isinstance(title, str) and _folded(title) == _folded(key):
            del one["title"]


def _folded(text: str) -> str:
    return text.rpartition(".")[2].replace("_", "").replace(" ", "").lower()


def convert(value: Any, form: Any) -> Any:
    """A plain JSON value as the form. Raises `DoesNotFit`."""
    try:
        return msgspec.convert(value, form, dec_hook=_validated)
    except msgspec.ValidationError as problem:
        said = str(problem)
    try:
        return msgspec.convert(value, form, dec_hook=_validated, strict=False)
    except msgspec.ValidationError:
        raise DoesNotFit([said]) from None


def _validated(form: Any, value: Any) -> Any:
    check = getattr(form, "model_validate", None)
    if check is None:
        raise NotImplementedError
    return check(value)
