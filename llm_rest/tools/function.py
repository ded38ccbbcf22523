"""`@tool`: a function as something a model may call.

The schema comes from the signature, the descriptions from the docstring, and arguments arrive as the types that the
signature names. Before changing this file, know that a tool is called with keywords only, and that what the caller leaves
out is left to the function's own defaults.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import msgspec
from msgspec import UNSET, UnsetType

from ..errors import ConfigError
from ..forms import DoesNotFit, convert, schemas_of
from ..json_schema import Schema, problems
from ..responses.tools import FunctionTool
from . import docstrings
from .context import OnResume, Timeout, ToolContext, ToolFacts

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Tool(Generic[P, R_co]):
    """A function that a model may call, and that programs call as before."""

    def __init__(
        self,
        function: Callable[P, R_co],
        *,
        name: str | None = None,
        description: str | None = None,
        blocking: bool = True,
        timeout: Timeout = UNSET,
        needs_approval: bool = False,
        on_resume: OnResume = "lost",
        strict: bool | UnsetType = UNSET,
    ) -> None:
        self.function = function
        self.name = _checked(name or _name_of(function))
        self.strict = strict
        self.blocking = blocking
        self.timeout = timeout
        self.needs_approval = needs_approval
        self.on_resume: OnResume = on_resume
        if on_resume not in ("lost", "rerun"):
            raise ConfigError(f"{self.name}: on_resume is 'lost' or 'rerun', not {on_resume!r}")
        said, described = docstrings.read(_docstring(function))
        self.description = said if description is None else description
        self.forms, self.context, self.unbound = _parameters(function, self.name)
        self.parameters = _schema(function, self.forms, described, self.name)
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.function(*args, **kwargs)

    def __get__(self: Tool[Concatenate[Any, Q], R], instance: object, owner: type | None = None) -> Tool[Q, R]:
        """The tool of one object, where the function is a method."""
        if instance is None:
            return cast("Tool[Q, R]", self)
        bound = cast("Tool[Q, R]", object.__new__(type(self)))
        bound.__dict__.update(
            self.__dict__, function=cast("Any", self.function).__get__(instance, owner), unbound=False
        )
        return bound

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    @property
    def definition(self) -> FunctionTool:
        """The tool as a request offers it."""
        return FunctionTool(
            name=self.name,
            description=self.description or UNSET,
            parameters=self.parameters,
            strict=self.strict,
        )

    @property
    def facts(self) -> ToolFacts:
        """How a run treats its calls."""
        return ToolFacts(
            name=self.name,
            blocking=self.blocking,
            timeout=self.timeout,
            needs_approval=self.needs_approval,
            on_resume=self.on_resume,
            runs=True,
        )

    @property
    def is_async(self) -> bool:
        """Whether calling it gives something to await."""
        return is_async(self.function)

    def typed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Plain JSON arguments as the types of the signature. Raises `DoesNotFit`."""
        given = optional_left_out(self.parameters, arguments)
        found = problems(self.parameters, given)
        values: dict[str, Any] = {}
        for name, value in given.items() if not found else ():
            try:
                values[name] = convert(value, self.forms[name])
            except DoesNotFit as mismatch:
                found += [f"$.{name}{problem.removeprefix('$')}" for problem in mismatch.problems]
        if found:
            raise DoesNotFit(found)
        return values


def optional_left_out(schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without a null where a value is optional and not nullable: models write null for "not given"."""
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: value
        for name, value in arguments.items()
        if value is not None
        or name in required
        or name not in properties
        or not problems_of_null(schema, properties[name])
    }


def problems_of_null(root: Schema, schema: Schema) -> list[str]:
    return problems({**schema, "$defs": root.get("$defs", {})}, None)


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    blocking: bool = True,
    timeout: Timeout = UNSET,
    needs_approval: bool = False,
    on_resume: OnResume = "lost",
    strict: bool | UnsetType = UNSET,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """A function as a `Tool`: `@tool`, or `@tool(blocking=False, timeout=30.0, ...)`.

    Every parameter needs an annotation. Raises `ConfigError` for what a model cannot be offered.
    """
    if function is not None:
        return Tool(function, **options)
    return lambda function: Tool(function, **options)


def is_async(function: Any) -> bool:
    """Whether a callable is a coroutine function, also as an object or wrapped in a partial."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


# --- from a signature to a schema -----------------------------------------------------------------------------------


def _name_of(function: Any) -> str:
    inner = _inner(function)
    return getattr(inner, "__name__", type(inner).__name__)


def _checked(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise ConfigError(
            f"{name!r} is no name for a tool", hint="give name= with letters, digits, _ and -, at most 64 of them"
        )
    return name


def _inner(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = cast("Any", function).func
    return function


def _docstring(function: Any) -> str | None:
    inner = _inner(function)
    if inspect.isroutine(inner):
        return inspect.getdoc(inner)
    return inspect.getdoc(type(inner).__call__) if type(inner).__call__.__doc__ else inspect.getdoc(type(inner))


def _parameters(function: Any, name: str) -> tuple[dict[str, Any], str | None, bool]:
    """The forms of the parameters a model fills, the parameter that takes the context, and whether `self` is still open."""
    inner = _inner(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
        hints = get_type_hints(inner if inspect.isroutine(inner) else type(inner).__call__, include_extras=True)
    except (TypeError, ValueError) as problem:
        raise ConfigError(f"{name}: its signature cannot be read: {problem}") from None
    except NameError as problem:
        raise ConfigError(
            f"{name}: an annotation cannot be resolved: {problem}",
            hint="types of a tool's parameters are imported at the top of a module or defined there",
        ) from None
    bound = function.keywords if isinstance(function, functools.partial) else {}
    forms: dict[str, Any] = {}
    context, unbound = None, False
    for i, parameter in enumerate(parameters):
        place = f"{name}: parameter {parameter.name!r}"
        if parameter.name in bound:
            continue
        if i == 0 and parameter.name in ("self", "cls") and parameter.name not in hints:
            unbound = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigError(f"{place} takes any number of values, which a schema cannot name", hint="name each one")
        elif parameter.kind == parameter.POSITIONAL_ONLY:
            raise ConfigError(f"{place} is positional only; tools are called with keywords")
        elif parameter.name not in hints:
            raise ConfigError(f"{place} has no annotation")
        elif ToolContext in (hints[parameter.name], *get_args(hints[parameter.name])):
            context = parameter.name
        else:
            forms[parameter.name] = hints[parameter.name]
    return forms, context, unbound


def _schema(function: Any, forms: dict[str, Any], described: dict[str, str], name: str) -> Schema:
    try:
        schemas, definitions = schemas_of(list(forms.values()))
    except ConfigError as problem:
        raise ConfigError(f"{name}: {problem.message}", hint=problem.hint) from None
    defaults = {p.name: p.default for p in inspect.signature(function).parameters.values() if p.default is not p.empty}
    properties: dict[str, Schema] = {}
    for (key, form), schema in zip(forms.items(), schemas, strict=True):
        words = _note(form) or described.get(key)
        if words and "description" not in schema:
            schema = {"description": words, **schema}
        if key in defaults:
            try:
                schema["default"] = msgspec.to_builtins(defaults[key])
            except (TypeError, ValueError, RecursionError):
                pass  # a default that JSON cannot say is the function's own affair
        properties[key] = schema
    made: Schema = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in defaults],
        "additionalProperties": False,
    }
    return {**made, "$defs": definitions} if definitions else made


def _note(form: Any) -> str | None:
    """The description in `Annotated[str, "the city"]`, also as an object with a `description`."""
    if get_origin(form) is not Annotated:
        return None
    for note in form.__metadata__:
        words = note if isinstance(note, str) else getattr(note, "description", None)
        if isinstance(words, str):
            return words
    return None
