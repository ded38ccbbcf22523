"""Documents of any kind, made from the types of its struct: as odd as the types allow, and the same for the same seed."""

from __future__ import annotations

import types as python_types
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct, UnsetType

from llm_rest.unknown import Decoder, Model, Unknown

JSON = Any


@cache
def hints(kind: type[Struct]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def arms(form: Any) -> list[Any]:
    """The types that a type form takes, those that absence and openness add left out."""
    origin = get_origin(form)
    if origin is Annotated:
        return arms(get_args(form)[0])
    if origin is Union or origin is python_types.UnionType:
        return [arm for each in get_args(form) for arm in arms(each)]
    return [] if form is UnsetType else [form]


class Maker:
    """Makes documents of any kind from a seed: the same for the same seed, and quickly."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def document(self, kind: type[Struct], *, unknown: bool, depth: int = 2) -> JSON:
        """A document with some of its fields, and perhaps unknown ones."""
        config, chance = kind.__struct_config__, self._random.random
        made: dict[str, JSON] = {config.tag_field: config.tag} if config.tag_field else {}
        for field in msgspec.structs.fields(kind):
            if field.required or (depth > 0 and chance() < 0.3):
                arm = self._random.choice(arms(hints(kind)[field.name]))
                made[field.encode_name] = self._value(arm, unknown, depth - 1)
        if unknown and chance() < 0.3:
            declared = {*kind.__struct_encode_fields__, config.tag_field}
            made |= {name: value for name, value in self.json({}).items() if name not in declared}
        return made

    def _value(self, form: Any, unknown: bool, depth: int) -> JSON:
        origin, choice = get_origin(form), self._random.choice
        if origin is Literal:
            return choice(get_args(form))
        if origin in (list, Sequence):
            inner = arms(get_args(form)[0])
            return [self._value(choice(inner), unknown, depth) for _ in range(choice((0, 1, 2)) if depth >= 0 else 0)]
        if origin is dict:
            return {self._word(): self._value(choice(arms(get_args(form)[1])), unknown, depth)}
        if isinstance(form, type) and issubclass(form, Struct):
            return self.document(form, unknown=unknown, depth=depth)
        return choice(SAMPLES[form]) if form in SAMPLES else self.json()

    def _word(self) -> str:
        return self._random.choice(("spelling", "brand_new", "name", "id", "a b", "", "within"))

    def json(self, like: Any = None) -> JSON:
        """Any JSON value, or an object."""
        kind = 7 if like == {} else self._random.randrange(9)
        if kind == 6:
            return [self.json() for _ in range(self._random.randrange(3))]
        if kind == 7:
            return {self._word(): self.json() for _ in range(self._random.randrange(3))}
        return (None, False, 0, -1.0, "", "b", 0, 0, "note")[kind]


SAMPLES: dict[Any, tuple[JSON, ...]] = {
    str: ("", "a", "b c", "ä\n"),
    bool: (False, True),
    int: (0, 1, -2),
    float: (0.0, 1.0, 2.5),
    type(None): (None,),
    Unknown: ({"type": "acme:new", "x": 1},),
}


@cache
def decoder(kind: type[Model]) -> Decoder[Model]:
    return Decoder(kind)
