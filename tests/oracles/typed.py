"""Checks JSON against the request types of a client library, with keys it does not know forbidden at every depth.

The libraries describe requests as TypedDicts or models, which no validator at hand checks strictly through lazy iterables,
aliases and unions; walking the types is short enough to do here.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, TypeVar, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

NUMBERS: dict[Any, tuple[type, ...]] = {float: (int, float), int: (int,)}


def problems(value: Any, form: Any, path: str = "$", *, optional: frozenset[str] = frozenset()) -> list[str]:
    """Where `value` does not fit `form`; empty where it does. Keys named in `optional` may be missing anywhere."""
    origin = get_origin(form)
    if origin in (Required, NotRequired, Annotated):
        return problems(value, get_args(form)[0], path, optional=optional)
    if form in (Any, object) or isinstance(form, TypeVar):
        return []
    if origin is Union or origin is types.UnionType:
        return _best(value, get_args(form), path, optional)
    if origin is Literal:
        return [] if value in get_args(form) else [f"{path}: {value!r} is none of {get_args(form)}"]
    if is_typeddict(form) or hasattr(form, "model_fields"):
        return _object(value, form, path, optional)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return [f"{path}: not an object"]
        form = get_args(form)[1]
        return [p for name, v in value.items() for p in problems(v, form, f"{path}.{name}", optional=optional)]
    if origin is not None and isinstance(origin, type) and issubclass(origin, Iterable):
        if not isinstance(value, list):
            return [f"{path}: not a list"]
        form = get_args(form)[0]
        return [p for i, v in enumerate(value) for p in problems(v, form, f"{path}[{i}]", optional=optional)]
    if form is None or form is type(None):
        return [] if value is None else [f"{path}: not null"]
    if isinstance(value, bool) and form is not bool:
        return [f"{path}: a truth value"]
    if isinstance(form, type):
        return [] if isinstance(value, NUMBERS.get(form, form)) else [f"{path}: {value!r:.60} is no {form.__name__}"]
    return [f"{path}: a form that is not understood: {form}"]


def _best(value: Any, arms: tuple[Any, ...], path: str, optional: frozenset[str]) -> list[str]:
    """What is wrong according to the arm that fits best: one of the value's own kind before any other."""
    found = [problems(value, arm, path, optional=optional) for arm in arms]
    kinds = [_kind(arm) for arm in arms]
    kind = value.get("type", value.get("role")) if isinstance(value, dict) else None

    def misfit(i: int) -> tuple[bool, bool, bool, int]:
        stranger = kind is None or kind not in kinds[i]
        outright = any(problem.startswith(f"{path}:") for problem in found[i])
        return bool(found[i]), stranger, outright, len(found[i])

    return found[min(range(len(arms)), key=misfit)]


def _kind(form: Any) -> tuple[Any, ...]:
    if not is_typeddict(form):
        return ()
    hints = _fields(form)
    form = hints["type"][0] if "type" in hints else hints["role"][0] if "role" in hints else Any
    return get_args(form) if get_origin(form) is Literal else ()


def _object(value: Any, form: Any, path: str, optional: frozenset[str]) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: not an object"]
    fields = _fields(form)
    found = [f"{path}.{name}: unknown to {form.__name__}" for name in value if name not in fields]
    needed = (name for name, (_, required) in fields.items() if required and name not in optional)
    found += [f"{path}.{name}: missing" for name in needed if name not in value]
    for name, inner in value.items():
        if name in fields:
            found += problems(inner, fields[name][0], f"{path}.{name}", optional=optional)
    return found


@cache
def _fields(form: Any) -> dict[str, tuple[Any, bool]]:
    """The keys of a TypedDict or model as they are on the wire, each with its form and whether it must be there."""
    if hasattr(form, "model_fields"):
        return {f.alias or name: (f.annotation, f.is_required()) for name, f in form.model_fields.items()}
    fields: dict[str, tuple[Any, bool]] = {}
    for name, hint in get_type_hints(form, include_extras=True).items():
        needed = False  # the libraries mark what must be there, whatever the class says of its other keys
        while get_origin(hint) in (Required, NotRequired, Annotated):
            needed = {Required: True, NotRequired: False}.get(get_origin(hint), needed)
            inner, *notes = get_args(hint)
            name = next((note.alias for note in notes if getattr(note, "alias", None)), name)
            hint = inner
        fields[name] = (hint, needed)
    return fields
