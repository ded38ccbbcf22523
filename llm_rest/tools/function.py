"""`@tool`: a function as a tool that a model may call.

The schema comes from the signature, the descriptions from the docstring, and arguments are converted to the types of the
signature. Before changing this file, know that a tool is called with keywords only, and that omitted arguments
get the function's own defaults.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from ..errors import ConfigError
from ..losses import Losses
from ..responses.tools import FunctionTool
from ..wires.schema import NotStrict, strict_form
from .context import OnResume, Timeout, ToolContext, ToolFacts, may_be_none, valid
from .forms import DoesNotFit, convert
from .schema import Schema, checked, walk
from .signature import name_of, schema_of, signature_of

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Tool(Generic[P, R_co]):
    """A function that a model may call; Python code calls it like the function itself.

    Raises `ConfigError` where no JSON Schema can be made of its signature.
    """

    __name__: str

    def __init__(
        self,
        function: Callable[P, R_co],
        *,
        name: str | None = None,
        description: str | None = None,
        blocking: bool = True,
        timeout: Timeout = None,
        needs_approval: bool = False,
        on_resume: OnResume = "fail",
        strict: bool | None = None,
    ) -> None:
        if isinstance(function, Tool):
            function = cast("Tool[P, R_co]", function).function
        self.function: Callable[P, R_co] = function
        """The function itself; a bound method where the tool is a method of an object."""
        self.name = name_of(function, name)
        """The name that the model sees."""
        self._signature = signature_of(function, self.name)
        documented, parameters = schema_of(self._signature, self.name)
        self.parameters = parameters
        """The JSON Schema of the arguments, made from the signature."""
        self.description = documented if description is None else description
        """The description that the model sees: the docstring, unless it was given; empty for none."""
        self.blocking = blocking
        """Whether the model waits for the result. `False`: it gets "pending" as the output, and the result later."""
        self.timeout: Timeout = timeout
        """The most seconds a call may take; `"none"` for no limit, `None` for the run's `tool_timeout`."""
        self.needs_approval = needs_approval
        """Whether a call waits for approval before it runs."""
        self.on_resume: OnResume = on_resume
        """What a resumed run does with a call that was running when the state was saved: `"restart"` or `"fail"`."""
        self.strict = strict
        """Whether the vendor shall enforce the schema of the arguments; `None` leaves it to the vendor."""
        valid(self.facts)
        self._offered = _enforced(self.parameters, self.name) if strict is True else self.parameters
        # It still looks like the function; attributes of the function's own stay there.
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self: Tool[Concatenate[Any, Q], R], instance: object, owner: type | None = None) -> Tool[Q, R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The tool of one object, where the function is a method."""
        if instance is None or not self.is_method:
            return self
        bound = copy(self)
        bound.function = cast("Any", self.function).__get__(instance, owner)
        bound._signature = self._signature._replace(lacks_self=False)
        functools.update_wrapper(bound, bound.function, updated=())
        return bound

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    @property
    def is_method(self) -> bool:
        """Whether it is a method that is not bound to an object yet, which a run cannot call."""
        return self._signature.lacks_self

    @property
    def definition(self) -> FunctionTool:
        """The tool as a `FunctionTool` of a request: name, description, JSON Schema of the parameters."""
        strict = self.strict
        if strict is None and any(_optional(one) for _, one in walk(self.parameters)):
            strict = False  # or a Responses host would have the model fill in what may be left out
        return FunctionTool(
            name=self.name, description=self.description or None, parameters=self._offered, strict=strict
        )

    @property
    def facts(self) -> ToolFacts:
        """The settings of the tool for its calls in a run."""
        return ToolFacts(
            name=self.name,
            blocking=self.blocking,
            timeout=self.timeout,
            needs_approval=self.needs_approval,
            on_resume=self.on_resume,
            runs=True,
            is_async=is_coroutine_function(self.function),
        )

    @property
    def needs_deps(self) -> bool:
        """Whether it takes a `ToolContext[MyDeps]`, so that a run with it needs `deps=`."""
        return self._signature.deps not in (Any, object) and not may_be_none(self._signature.deps)

    def typed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """JSON arguments converted to the types of the signature, by name. Raises `DoesNotFit`, a `ValueError`."""
        converted, found = checked(self.parameters, dict(arguments))
        values: dict[str, Any] = {}
        for name, value in converted.items() if not found else ():
            try:
                values[name] = convert(value, self._signature.forms[name])
            except DoesNotFit as mismatch:
                found += [f"$.{name}{problem.removeprefix('$')}" for problem in mismatch.problems]
        if found:
            raise DoesNotFit(found)
        return values

    def call(self, values: Mapping[str, Any], context: ToolContext | None = None) -> R_co:
        """Call the function with converted arguments (`typed`): its result, or an awaitable. Raises what the function raises."""
        injected, more = self._signature.context, dict[str, Any]()
        if injected is not None:
            context = context or ToolContext()
            more[injected] = context.optional() if may_be_none(self._signature.deps) else context
        return cast("Callable[..., R_co]", self.function)(**values, **more)


def is_coroutine_function(function: Any) -> bool:
    """Whether calling it returns a coroutine, so that it needs a running event loop."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _optional(schema: Schema) -> bool:
    """Whether one of its properties is optional."""
    return bool(schema.get("properties", {}).keys() - schema.get("required", ()))


def _enforced(schema: Schema, name: str) -> Schema:
    """The strict schema: optional properties are required and nullable; null counts as left out."""
    try:
        return strict_form(schema, Losses(), "its parameters")
    except NotStrict as problem:
        raise ConfigError(f"{name}: strict=True is more than hosts enforce: {problem}", hint="leave it out") from None


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    blocking: bool = True,
    timeout: Timeout = None,
    needs_approval: bool = False,
    on_resume: OnResume = "fail",
    strict: bool | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """A function as a `Tool`: `@tool`, or `@tool(blocking=False, timeout=30.0, ...)`; `timeout` is in seconds.

    Every parameter needs an annotation; the docstring is the description. Raises `ConfigError` where no JSON Schema can be
    made of the signature.
    """
    return Tool(function, **options) if function is not None else functools.partial(Tool[..., Any], **options)
