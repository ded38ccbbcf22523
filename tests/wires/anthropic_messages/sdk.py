"""Whether a document is what the vendor's own SDK says it may be, checked strictly: no field too many, none missing."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming

BODY = MessageCreateParamsNonStreaming


def faults(body: Any, form: Any = BODY, path: str = "$") -> list[str]:
    """Each place where `body` is not a `form`; empty where it is one."""
    return list(_faults(body, form, path))


def _faults(value: Any, form: Any, path: str) -> Iterator[str]:
    origin = get_origin(form)
    if form is Any or form is object:
        return
    if origin in (Annotated, typing_extensions.Required, typing_extensions.NotRequired):
        yield from _faults(value, get_args(form)[0], path)
    elif origin in (Union, types.UnionType):
        found = [list(_faults(value, arm, path)) for arm in get_args(form)]
        if all(found):
            # The arm that fits the deepest is the one that was meant.
            yield max((problems[0] for problems in found), key=lambda problem: len(problem.partition(": ")[0]))
    elif origin is Literal:
        if value not in get_args(form):
            yield f"{path}: {value!r} is not one of {get_args(form)}"
    elif typing_extensions.is_typeddict(form):
        yield from _object(value, form, path)
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{path}: not an object"
        else:
            for name, inner in value.items():
                yield from _faults(inner, get_args(form)[1], f"{path}.{name}")
    elif isinstance(origin, type) and issubclass(origin, Iterable):
        if not isinstance(value, list):
            yield f"{path}: not a list"
        else:
            for i, inner in enumerate(value):
                yield from _faults(inner, get_args(form)[0], f"{path}[{i}]")
    elif form is type(None):
        if value is not None:
            yield f"{path}: not null"
    elif form is float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            yield f"{path}: not a number"
    elif isinstance(form, type) and (not isinstance(value, form) or (form is int and isinstance(value, bool))):
        yield f"{path}: not a {form.__name__}"


def _object(value: Any, form: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: not an object"
        return
    hints = typing_extensions.get_type_hints(form, include_extras=True)
    tag = hints.get("type")
    if tag is not None and "type" in value:
        problems = list(_faults(value["type"], tag, f"{path}.type"))
        if problems:
            yield from problems
            return
    for name in value.keys() - hints.keys():
        yield f"{path}.{name}: a field too many"
    # The SDK's annotations are text, so that the type itself does not know which fields it requires.
    required = {name for name, hint in hints.items() if get_origin(hint) is typing_extensions.Required}
    for name in sorted(required - value.keys()):
        yield f"{path}.{name}: missing"
    for name in value.keys() & hints.keys():
        yield from _faults(value[name], hints[name], f"{path}.{name}")
