"""The definition of a tool from a function's signature: name, description, schema.

Before changing this file, know that a parameter without a schema is an error when the tool is made, not
when it is called.
"""

from __future__ import annotations

import functools
import inspect
import re
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, cast, get_origin, get_type_hints

import msgspec

from ..errors import ConfigError
from . import docstrings
from .context import deps_form
from .forms import schemas_of
from .schema import Schema


class Signature(NamedTuple):
    """The parameters of a function."""

    docstring: str | None
    forms: dict[str, Any]
    """The types of the parameters for the model, by name."""
    defaults: dict[str, Any]
    context: str | None = None
    """The parameter for the `ToolContext`."""
    deps: Any = Any
    """The type of the deps in it."""
    lacks_self: bool = False
    """Whether the function is a method that still lacks its object."""


def name_of(function: Any, given_name: str | None) -> str:
    """The tool name of the function. Raises `ConfigError` for a name that no vendor supports."""
    if isinstance(function, type):
        raise ConfigError(f"{function.__name__} is a class; a tool is a function")
    inner = _inner(function)
    name = given_name or (inner.__name__ if inspect.isroutine(inner) else type(inner).__name__)
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise ConfigError(
            f"{name!r} is no name for a tool", hint="give name= with letters, digits, _ and -, at most 64 of them"
        )
    return name


def _inner(function: Any) -> Any:
    """The function inside partials and decorators."""
    below: Any = getattr(function, "func" if isinstance(function, functools.partial) else "__wrapped__", None)
    return _inner(below) if below is not None else cast("Any", function)


def signature_of(function: Any, name: str) -> Signature:
    """The parameters of the function. Raises `ConfigError` naming a parameter without a schema."""
    inner = _inner(function)
    # Of an object that can be called, what calling it runs.
    written = inner if inspect.isroutine(inner) else type(inner).__call__
    docstring = inspect.getdoc(written) or (inspect.getdoc(cast("Any", type(inner))) if written is not inner else None)
    try:
        parameters = inspect.signature(function).parameters
        hints = _hints(written)
    except NameError as problem:
        raise ConfigError(
            f"{name}: an annotation cannot be resolved: {problem}",
            hint="import or define the types of its parameters at the top of the module",
        ) from None
    except (TypeError, ValueError) as problem:
        hint = "@tool goes below @classmethod" if isinstance(function, classmethod) else "give a function"
        raise ConfigError(f"{name}: its signature cannot be read: {problem}", hint=hint) from None
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"{name} is a generator, and a tool returns once", hint="return a list, or the whole text")
    found = Signature(docstring, {}, {})
    filled = function.keywords if isinstance(function, functools.partial) else {}
    for i, parameter in enumerate(parameters.values()):
        key, kind, form = parameter.name, parameter.kind, hints.get(parameter.name)
        if key in filled:
            continue
        if i == 0 and key in ("self", "cls") and form is None:
            found = found._replace(lacks_self=True)
        elif kind in (kind.VAR_POSITIONAL, kind.VAR_KEYWORD):
            raise ConfigError(f"{name}: parameter {key!r} is variadic (*args or **kwargs)", hint="name each of them")
        elif kind is kind.POSITIONAL_ONLY:
            raise ConfigError(
                f"{name}: parameter {key!r} is positional only", hint="tools are called with keywords: drop the /"
            )
        elif form is None:
            raise ConfigError(f"{name}: parameter {key!r} has no annotation", hint=f"such as {key}: str")
        elif (deps := deps_form(form)) is not msgspec.UNSET:
            found = found._replace(context=key, deps=deps)
        else:
            found.forms[key] = form
            if parameter.default is not parameter.empty:
                found.defaults[key] = parameter.default
    return found


def _hints(function: Any) -> dict[str, Any]:
    """The types of the parameters. What the function returns may be known to type checkers only, such as its own class."""

    def stub() -> None: ...

    written = getattr(function, "__annotations__", {})
    stub.__annotations__ = {name: form for name, form in written.items() if name != "return"}
    return get_type_hints(stub, getattr(function, "__globals__", {}), include_extras=True)


def schema_of(signature: Signature, name: str) -> tuple[str, Schema]:
    """The description and the JSON Schema of a function's parameters. Raises `ConfigError` for a type without one."""
    description, described = docstrings.read(signature.docstring)
    properties: dict[str, Schema] = {}
    for key, form in signature.forms.items():
        try:
            schemas_of([form])
        except ConfigError as problem:
            raise ConfigError(f"{name}: parameter {key!r}: {problem.message}", hint=problem.hint) from None
    schemas, definitions = schemas_of(list(signature.forms.values()))
    for (key, form), schema in zip(signature.forms.items(), schemas, strict=True):
        words = _note(form) or described.get(key)
        properties[key] = {"description": words, **schema} if words else schema
        with suppress(TypeError, ValueError, RecursionError):  # a default that JSON cannot say is left unsaid
            if key in signature.defaults:
                properties[key]["default"] = msgspec.to_builtins(signature.defaults[key])
    made: Schema = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in signature.defaults],
        "additionalProperties": False,
    }
    return description, {**made, "$defs": definitions} if definitions else made


def _note(form: Any) -> str | None:
    """The description in `Annotated[str, "the city"]`, also as a note that has a `description`."""
    notes = form.__metadata__ if get_origin(form) is Annotated else ()
    texts = (note if isinstance(note, str) else getattr(note, "description", None) for note in notes)
    return next((words for words in texts if isinstance(words, str)), None)
