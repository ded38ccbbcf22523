"""Types and schemas as questions, and answers as values of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import msgspec
import pydantic
import pytest
from typing_extensions import TypeAliasType

from llm_rest.client.structured import Output
from llm_rest.errors import ConfigError
from llm_rest.responses import Request
from llm_rest.tools.forms import DoesNotFit
from llm_rest.tools.schema import UNCHECKED as UNCHECKED_KEYWORDS
from tests.tools.shapes import Node, Options, Size, Unit


class Person(msgspec.Struct):
    name: str
    born: Annotated[int, msgspec.Meta(ge=1)] = 1900


@dataclass
class Dog:
    name: str
    good: bool = True


class Model(pydantic.BaseModel):
    name: str
    tags: list[str] = []

    @pydantic.field_validator("name")
    @classmethod
    def no_digits(cls, name: str) -> str:
        if any(map(str.isdigit, name)):
            raise ValueError("a name has no digits")
        return name


class Cat(msgspec.Struct, tag=True):
    lives: int


class Cow(msgspec.Struct, tag=True):
    milk: float


Number = TypeAliasType("Number", int | None)


def read(form: Any, text: str) -> Any:
    return Output[Any](form).value(text)[0]


def wrong(form: Any, text: str) -> list[str]:
    with pytest.raises(DoesNotFit) as problem:
        read(form, text)
    return problem.value.problems


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (Person, '{"name": "Ada", "born": 1815}', Person("Ada", 1815)),
        (Dog, '{"name": "Rex"}', Dog("Rex")),
        (Options, '{"depth": 1}', {"depth": 1}),
        (Size, '{"width": 2}', Size(2)),
        (Model, '{"name": "Ada"}', Model(name="Ada")),
        (list[Person], '{"value": [{"name": "Ada"}]}', [Person("Ada")]),
        (list[Model], '{"value": [{"name": "Ada"}]}', [Model(name="Ada")]),
        (Person | None, '{"value": null}', None),
        (Model | None, '{"value": {"name": "Ada"}}', Model(name="Ada")),
        (Cat | Cow, '{"value": {"type": "Cow", "milk": 1.5}}', Cow(1.5)),
        (Dog | Person, '{"value": {"name": "Ada", "born": 1815}}', Person("Ada", 1815)),
        (Model | Size, '{"value": {"width": 1}}', Size(1)),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (tuple[int, str], '{"value": [1, "a"]}', (1, "a")),
        (Unit, '{"value": "C"}', Unit.CELSIUS),
        (Literal["a", "b"], '{"value": "b"}', "b"),
        (int, '{"value": 4}', 4),
        (str, '{"value": "x"}', "x"),
        (list[Number], '{"value": [1, null]}', [1, None]),
        (bool, '{"value": true}', True),
        (date, '{"value": "1815-12-10"}', date(1815, 12, 10)),
        (Node, '{"name": "a", "children": [{"name": "b"}]}', Node("a", [Node("b")])),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, '{"a": 1}', {"a": 1}),
        ({"type": "array", "items": {"type": "integer"}}, '{"value": [1]}', [1]),
        ({"type": "array", "items": {"$ref": "#"}}, '{"value": [[], [[]]]}', [[], [[]]]),
    ],
    ids=lambda form: getattr(form, "__name__", str(form))[:40],
)
def test_every_type_of_json_data_can_be_asked_for(form: Any, text: str, value: Any) -> None:
    output = Output[Any](form)
    assert output.sent_schema["type"] == "object"
    assert output.value(text) == (value, [])


class Strictly(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    day: date
    place: tuple[int, str]


def test_a_model_that_is_strict_about_types_reads_json() -> None:
    value = Strictly(day=date(2026, 1, 2), place=(1, "a"))
    assert Output(Strictly).value('{"day": "2026-01-02", "place": [1, "a"]}') == (value, [])


def test_limits_of_other_libraries_hold_and_stand_beside_other_types() -> None:
    text = Annotated[str, pydantic.Field(max_length=3, pattern="^a")]
    forms: list[Any] = [text, list[int] | text, Union[tuple[int, str], text, None]]  # noqa: UP007
    for form in forms:
        assert Output[Any](form).value('{"value": "ab"}') == ("ab", [])
        assert wrong(form, '{"value": "abcd"}')


def test_a_wrapped_value_that_does_not_fit_is_not_taken_for_an_object_without_its_wrap() -> None:
    assert Output[Any](dict | None).value('{"value": {"a": 1}}') == ({"a": 1}, [])
    assert wrong(dict | None, '{"value": 1}')


class Boxed(pydantic.BaseModel):
    model: Model


def test_unions_that_nothing_tells_apart_may_stand_in_lists_and_maps() -> None:
    form = list[Model | Boxed | Dog] | dict[str, tuple[Model | Boxed, ...]]
    assert read(form, '{"value": [{"name": "a"}, {"model": {"name": "b"}}, {"name": "c", "good": false}]}') == [
        Model(name="a"),
        Boxed(model=Model(name="b")),
        Dog(name="c", good=False),
    ]
    assert read(form, '{"value": {"k": [{"name": "a"}]}}') == {"k": (Model(name="a"),)}
    assert wrong(form, '{"value": [{"nam": "a"}]}')


def test_what_has_no_schema_is_an_error_of_the_caller() -> None:
    class Dangling(msgspec.Struct):
        other: Nowhere  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    for form in (object, Dangling, Dangling | None, list[object]):
        with pytest.raises(ConfigError, match="no JSON Schema"):
            Output(form)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object", "properties": 5}, r"\$\.properties: expected an object, got 5"),
        ({"type": "objekt"}, r'\$\.type: .*"objekt"'),
        (
            {"anyOf": [{"properties": {"a": {"required": True}}}]},
            r"\$\.anyOf\[0\]\.properties\.a\.required: expected an array",
        ),
        ({"enum": [1], "default": object()}, "is JSON data"),
    ],
)
def test_a_schema_that_is_none_is_an_error_of_the_caller(schema: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Output(schema)


@pytest.mark.parametrize(
    ("form", "name"),
    [(Person, "Person"), (list[int], "list"), ({"title": "What is it?"}, "What_is_it_"), ({}, "answer")],
)
def test_the_name_is_one_that_vendors_take(form: Any, name: str) -> None:
    assert Output(form).name == name


def test_what_does_not_fit_is_said_place_by_place() -> None:
    assert wrong(Person, '{"born": 0, "x": 1}') == [
        "$.name: missing, and required",
        "$.born: expected at least 1, got 0",
        "$.x: not a property here; there are name, born",
    ]
    assert wrong(list[int], '{"value": ["a"]}') == ['$.value[0]: expected an integer, got "a"']
    assert "a name has no digits" in wrong(Model, '{"name": "4da"}')[0]
    assert "not JSON" in wrong(Person, "Ada")[0]


def test_a_null_for_an_optional_property_is_nothing() -> None:
    assert read(Person, '{"name": "Ada", "born": null}') == Person("Ada")
    assert read(Dog | Person, '{"value": {"name": "Ada", "good": null}}') == Dog("Ada")
    assert read(list[Dog], '{"value": [{"name": "a", "good": null}, {"name": "b", "good": false}]}') == [
        Dog("a"),
        Dog("b", good=False),
    ]
    assert wrong(Person, '{"name": null}') == ["$.name: missing, and required"]


def test_what_was_overlooked_is_recorded() -> None:
    value, notes = Output[Any](Person).value('Sure:\n```json\n{"name": "Ada"}\n```')
    assert (value, [(note.path, note.kind) for note in notes]) == (Person("Ada"), [("output_text", "changed")])
    value, notes = Output[Any](list[int]).value("[1, 2]")
    assert value == [1, 2]
    assert "not wrapped in the requested object" in notes[0].what


UNCHECKED: list[tuple[Any, list[str]]] = [
    (timedelta, []),  # a type checks its own values
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, ["if", "then"]),
    ({"properties": {"a": {"type": "array", "contains": {"type": "integer"}}}}, ["contains"]),
    ({"properties": {"a": {"type": "string"}}, "unevaluatedProperties": False}, ["unevaluatedProperties"]),
    ({"properties": {"a": {"format": "ipv4"}, "b": {"format": "ipv4"}, "if": {}}}, ["format ipv4"]),
    ({"properties": {"a": {"$ref": "https://a/b"}, "b": {"$ref": "#/$defs/c"}}}, ["$ref https://a/b"]),
    ({"properties": {"contains": {"format": "date", "pattern": "x"}}, "required": ["contains"]}, []),
]


@pytest.mark.parametrize(("schema", "names"), UNCHECKED)
def test_keywords_that_are_not_checked_are_one_loss(schema: Any, names: list[str]) -> None:
    form = {"type": "object", **schema} if isinstance(schema, dict) else schema
    for way in Output(form).ways(Request(input="hi")):
        found = [loss for loss in way.lost if loss.path == "output"]
        assert [(loss.kind, loss.what) for loss in found] == [
            ("dropped", f"the answer is not checked against: {', '.join(names)}") for _ in names[:1]
        ]


def test_the_page_names_what_is_checked_and_what_is_not() -> None:
    page = (Path(__file__).parents[2] / "docs" / "typed-output.md").read_text()
    rows = [row.split("|") for row in page.splitlines() if row.count("|") == 4]
    words = " ".join(row[3] for row in rows)
    assert [name for name in UNCHECKED_KEYWORDS - {"$recursiveRef"} if name not in words] == []
