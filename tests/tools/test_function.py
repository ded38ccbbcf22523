"""A function becomes a tool: its definition, and how the arguments of a call are converted."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Union
from uuid import UUID

import msgspec
import pytest
from annotated_types import Ge, MaxLen
from msgspec import Meta
from pydantic import Field

from llm_rest import ConfigError, FunctionTool, Tool, ToolContext, tool
from llm_rest.tools import ToolFacts
from llm_rest.tools.forms import DoesNotFit

from .shapes import Node, Options, Person, Point, Size, Unit

ROOT = Path(__file__).parents[2]


@tool
def weather(city: Annotated[str, "Where."], unit: Literal["C", "F"] = "C") -> str:
    """The weather now.

    Args:
        city: Not said twice.
        unit: Celsius or Fahrenheit.
    """
    return f"{city}: 7 {unit}"


def test_a_tool_is_still_the_function() -> None:
    assert weather("Oslo", unit="F") == "Oslo: 7 F"
    assert (weather.__name__, weather.__doc__, weather.__module__) == ("weather", weather.function.__doc__, __name__)
    assert list(inspect.signature(weather).parameters) == ["city", "unit"]


def test_its_definition_is_made_of_the_signature_and_the_docstring() -> None:
    assert weather.definition == FunctionTool(
        name="weather",
        description="The weather now.",
        parameters={
            "type": "object",
            "properties": {
                "city": {"description": "Where.", "type": "string"},
                "unit": {
                    "description": "Celsius or Fahrenheit.",
                    "enum": ["C", "F"],
                    "type": "string",
                    "default": "C",
                },
            },
            "required": ["city"],
            "additionalProperties": False,
        },
        strict=False,
    )


def test_optional_parameters_are_not_made_required_by_strict_hosts_by_default() -> None:
    """BUGS 52"""

    def whole(at: Node) -> None: ...
    def all_given(city: str, days: int) -> None: ...

    functions: list[Callable[..., Any]] = [weather, whole, all_given]
    assert [tool(function).definition.strict for function in functions] == [False, False, None]


def test_a_strict_tool_is_offered_as_hosts_enforce_it_and_takes_null_for_what_may_be_left_out() -> None:
    """BUGS 52"""
    strict = tool(strict=True)(weather)
    sent: Any = strict.definition.parameters
    assert (strict.definition.strict, sent["required"]) == (True, ["city", "unit"])
    assert strict.parameters == weather.parameters
    assert strict.call(strict.typed({"city": "Oslo", "unit": None})) == "Oslo: 7 C"

    def takes_any_names(rates: dict[str, int]) -> None: ...

    with pytest.raises(ConfigError, match=r"strict=True is more than hosts enforce: its parameters\.properties\.rates"):
        tool(strict=True)(takes_any_names)


def test_the_options_of_a_tool_are_its_facts() -> None:
    options: dict[str, Any] = {"blocking": False, "timeout": 3, "needs_approval": True, "on_resume": "restart"}
    slow = tool(name="slow-one", description="Slow.", strict=True, **options)(weather)
    assert (slow.definition.name, slow.definition.description, slow.definition.strict) == ("slow-one", "Slow.", True)
    assert slow.facts == ToolFacts(name="slow-one", runs=True, **options)
    assert weather.facts == ToolFacts(name="weather", runs=True)


# --- what arrives -----------------------------------------------------------------------------------------------------

NUMBER, TEXT, NULL = {"type": "integer"}, {"type": "string"}, {"type": "null"}


def closed(required: str, **properties: Any) -> Any:
    """The schema of a class with one required property."""
    return {"type": "object", "properties": properties, "required": [required], "additionalProperties": False}


NODE = closed("name", name=TEXT, children={"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []})
PERSON = closed(
    "first_name",
    first_name={"type": "string", "minLength": 1},
    boss={"anyOf": [{"$ref": "#/$defs/Person"}, NULL], "default": None},
)
ADA = Person(first_name="Ada")


TYPES: list[tuple[Any, Any, Any, Any]] = [
    (int, NUMBER, 3.0, 3),
    (float, {"type": "number"}, 3, 3.0),
    (bool, {"type": "boolean"}, True, True),
    (Annotated[int, Meta(ge=1, description="n")], {"description": "n", **NUMBER, "minimum": 1}, 2, 2),
    (Annotated[int, Field(ge=1, description="n")], {"description": "n", **NUMBER, "minimum": 1}, 2, 2),
    (Annotated[str, MaxLen(3)], {**TEXT, "maxLength": 3}, "abc", "abc"),
    (Union[Annotated[int, Ge(0)], None], {"anyOf": [{**NUMBER, "minimum": 0}, NULL]}, None, None),  # noqa: UP007
    (
        Annotated[int | None, Field(ge=0, description="n")],
        {"description": "n", "anyOf": [{**NUMBER, "minimum": 0}, NULL]},
        None,
        None,
    ),
    (str | None, {"anyOf": [TEXT, NULL]}, "a", "a"),
    (Path, {**TEXT, "format": "path"}, "a/b", Path("a/b")),
    (Literal[1, 2], {"enum": [1, 2], **NUMBER}, 2, 2),
    (Literal["a", 1], {"enum": [1, "a"]}, 1, 1),
    (list[int], {"type": "array", "items": NUMBER}, [1], [1]),
    (set[str], {"type": "array", "items": TEXT, "uniqueItems": True}, ["a"], {"a"}),
    (dict[str, int], {"type": "object", "additionalProperties": NUMBER}, {"a": 1}, {"a": 1}),
    (dict, {"type": "object"}, {"a": 1}, {"a": 1}),
    (Any, {}, [1, None], [1, None]),
    (date, {**TEXT, "format": "date"}, "2026-01-02", date(2026, 1, 2)),
    (UUID, {**TEXT, "format": "uuid"}, f"{UUID(int=1)}", UUID(int=1)),
    (bytes, {**TEXT, "contentEncoding": "base64"}, "YQ==", b"a"),
    (Unit, ("Unit", {"enum": ["C", "F"], **TEXT}), "F", Unit.FAHRENHEIT),
    (
        Node,
        ("Node", {"description": "A tree.", **NODE}),
        {"name": "a", "children": [{"name": "b"}]},
        Node("a", [Node("b")]),
    ),
    (
        Person,
        ("Person", PERSON),
        {"first_name": "Bo", "boss": {"first_name": "Ada"}},
        Person(first_name="Bo", boss=ADA),
    ),
    (
        Options,
        ("Options", closed("depth", depth=NUMBER, deep={"type": "boolean"})),
        {"depth": 1},
        {"depth": 1},
    ),
    (Size, ("Size", closed("width", width=NUMBER, height={**NUMBER, "default": 1})), {"width": 2}, Size(2)),
]
"""The type of a parameter, its schema (with a name, where it is a definition), the JSON of an argument, and its value."""


def test_a_parameter_has_the_schema_of_its_type_and_its_argument_is_converted() -> None:
    def take(x: int) -> Any:
        return x

    for form, schema, sent, value in TYPES:
        take.__annotations__["x"] = form
        made = tool(take)
        name, definition = schema if isinstance(schema, tuple) else (None, schema)
        assert made.parameters["properties"]["x"] == ({"$ref": f"#/$defs/{name}"} if name else schema), form
        assert made.parameters.get("$defs") == ({name: definition} if name else None), form
        values = made.typed({"x": sent})
        assert (values, type(values["x"])) == ({"x": value}, type(value)), form


def test_a_value_of_an_untagged_union_becomes_the_class_that_fits() -> None:
    def take(x: Point | Node | Person | None) -> None: ...

    made = tool(take)
    assert [list(arm) for arm in made.parameters["properties"]["x"]["anyOf"][:2]] == [["$ref"], ["$ref"]]
    for sent, arrives in (({"x": 1}, Point(1)), ({"name": "a"}, Node("a")), ({"first_name": "Ada"}, ADA), (None, None)):
        assert made.typed({"x": sent}) == {"x": arrives}
    with pytest.raises(DoesNotFit, match="fits no alternative"):
        made.typed({"x": {}})


class Left(msgspec.Struct, tag=True):
    steps: int


class Right(msgspec.Struct, tag=True):
    steps: int


def test_a_tagged_union_is_one_anyOf() -> None:
    def turn(where: Left | Right) -> None: ...

    assert list(tool(turn).parameters["properties"]["where"]) == ["anyOf"]
    assert tool(turn).typed({"where": {"type": "Right", "steps": 1}}) == {"where": Right(1)}


def test_an_invalid_name_in_a_map_is_reported_as_a_name() -> None:
    def take(x: dict[int, str]) -> None: ...

    with pytest.raises(DoesNotFit, match=r"^\$\.x: as a name: expected `int`, got `str`$"):
        tool(take).typed({"x": {"a": "b"}})


def test_defaults_that_json_can_say_are_in_the_schema() -> None:
    nowhere, at, tags = object(), Point(1), ["a"]

    def find(at: Point = at, unit: Unit = Unit.CELSIUS, where: Any = nowhere, tags: list[str] = tags) -> None: ...

    shown = tool(find).parameters["properties"]
    assert {key: schema.get("default") for key, schema in shown.items()} == {
        "at": {"x": 1, "y": 0.0, "tags": []},
        "unit": "C",
        "where": None,
        "tags": ["a"],
    }
    assert "default" not in shown["where"]


def test_absent_and_null_arguments_have_the_default_of_the_function() -> None:
    assert weather.typed({"city": "Oslo"}) == {"city": "Oslo"}
    assert weather.typed({"city": "Oslo", "unit": None}) == {"city": "Oslo"}, (
        "null is what many models write for absent"
    )


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({}, ["$.city: missing, and required"]),
        ({"city": 1, "unit": "K"}, ["$.city: expected a string, got 1", '$.unit: expected one of "C", "F", got "K"']),
        ({"city": "Oslo", "untt": "C"}, ["$.untt: not a property here; did you mean unit? there are city, unit"]),
    ],
)
def test_arguments_that_do_not_fit_are_named_one_by_one(arguments: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(DoesNotFit) as caught:
        weather.typed(arguments)
    assert caught.value.problems == problems


def test_errors_of_validators_are_reported_too() -> None:
    def hire(who: Person, at: list[UUID]) -> None: ...

    class Even(Person):
        def model_post_init(self, context: Any) -> None:
            if self.first_name == "Bo":
                raise ValueError("Bo has left")

    hire.__annotations__["who"] = Even
    with pytest.raises(DoesNotFit) as caught:
        tool(hire).typed({"who": {"first_name": "Bo"}, "at": []})
    (problem,) = caught.value.problems
    assert problem.startswith("$.who: ")
    assert "Bo has left" in problem
    assert "pydantic.dev" not in problem


def several(a: Node, b: Person, c: Unit, d: Literal["x", "y", "z"], e: Point, f: Size | None, g: Options) -> None: ...


def test_the_schema_is_the_same_in_every_process() -> None:
    code = f"from {__name__} import *; print(msgspec.json.encode(tool(several).parameters).decode())"
    said = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": "1"})
    assert said.strip() == msgspec.json.encode(tool(several).parameters)


# --- what may be a tool -----------------------------------------------------------------------------------------------


class Station:
    def __init__(self, name: str) -> None:
        self.name = name

    @tool
    def read(self, hour: int, context: ToolContext) -> str:
        """What was measured."""
        return f"{self.name} {hour} {context.call_id}"

    @classmethod
    @tool
    def create(cls, name: str) -> Station:
        return cls(name)

    @staticmethod
    @tool
    def count(of: str) -> int:
        return len(of)

    def plain(self, hour: int) -> str:
        return f"{self.name} {hour}"

    def __call__(self, city: str) -> str:
        """What is forecast."""
        return city + self.name


def test_a_method_is_the_tool_of_its_object() -> None:
    read = Station("Blindern").read
    assert list(read.parameters["properties"]) == ["hour"], "neither self nor the context is the model's to fill in"
    assert read.call({"hour": 3}, ToolContext(call_id="c1")) == "Blindern 3 c1"
    assert read(3, ToolContext()) == "Blindern 3 "
    assert list(inspect.signature(read).parameters) == ["hour", "context"]
    assert not read.is_method
    assert Station.read.is_method
    assert Station.count("abc") == 3


def test_a_class_method_gets_its_class() -> None:
    from llm_rest.tools.registry import as_tool

    create = as_tool(Station.create)
    assert list(create.parameters["properties"]) == ["name"]
    assert create.call({"name": "A"}).name == "A"


@functools.wraps(weather.function)
def wrapped(*args: Any, **kwargs: Any) -> str:
    return weather(*args, **kwargs)


@pytest.mark.parametrize(
    ("function", "name", "description", "parameters", "gives"),
    [
        (Station("A").plain, "plain", "", {"hour": 3}, "A 3"),
        (Station("A"), "Station", "What is forecast.", {"city": "Oslo"}, "OsloA"),
        (functools.partial(weather.function, unit="F"), "weather", "The weather now.", {"city": "Oslo"}, "Oslo: 7 F"),
        (functools.partial(weather.function, "Oslo"), "weather", "The weather now.", {"unit": "C"}, "Oslo: 7 C"),
        (wrapped, "weather", "The weather now.", {"city": "Oslo", "unit": "C"}, "Oslo: 7 C"),
    ],
)
def test_any_callable_can_be_a_tool(
    function: Callable[..., Any], name: str, description: str, parameters: dict[str, Any], gives: str
) -> None:
    made: Tool[..., Any] = tool(function)
    assert (made.name, made.description) == (name, description)
    assert list(made.parameters["properties"]) == list(parameters)
    assert made.call(made.typed(parameters)) == gives


def unknown_type(x: Nowhere) -> None: ...  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


def without_annotation(x) -> None: ...  # pyright: ignore[reportMissingParameterType]


def any_number(*cities: str) -> None: ...


def anything(**options: str) -> None: ...


def by_position(city: str, /) -> None: ...


def no_schema(city: str, way: Callable[[], None]) -> None: ...


def mixed(x: Literal["a"] | Station) -> None: ...


def each(n: int) -> Iterator[int]:
    yield n


async def each_async(n: int) -> AsyncIterator[int]:
    yield n


UNSUITABLE: list[tuple[Any, str]] = [
    (unknown_type, "unknown_type: an annotation cannot be resolved: name 'Nowhere'"),
    (without_annotation, "without_annotation: parameter 'x' has no annotation"),
    (any_number, "any_number: parameter 'cities' is variadic (*args or **kwargs)"),
    (anything, "anything: parameter 'options' is variadic (*args or **kwargs)"),
    (by_position, "by_position: parameter 'city' is positional only"),
    (no_schema, "no_schema: parameter 'way': no JSON Schema: type"),
    (mixed, "mixed: parameter 'x': no JSON Schema: "),
    (lambda: None, "'<lambda>' is no name for a tool"),
    (Station, "Station is a class"),
    (functools.partial(int), "signature"),
    (each, "each is a generator, and a tool returns once"),
    (each_async, "each_async is a generator"),
    (classmethod(without_annotation), "@tool goes below @classmethod"),
]
"""Functions that cannot be tools, and the error."""


def test_an_unsuitable_function_is_refused_when_the_tool_is_made() -> None:
    for function, words in UNSUITABLE:
        with pytest.raises(ConfigError) as caught:
            tool(function)
        assert words in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"name": "no spaces"},
        {"name": "x" * 65},
        {"on_resume": "repeat"},
        {"blocking": "no"},
        *[{"timeout": seconds} for seconds in (0, -1, "3", float("nan"))],
    ],
    ids=str,
)
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options)) if "name" not in options else "no name for a tool"):
        tool(**options)(weather)
