"""The schema checker names each problem with its place, and agrees with the reference implementation on what is valid."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_rest.tools.schema import checked, problems, walk

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "role": {"enum": ["admin", "guest"]},
        "friends": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2, "uniqueItems": True},
    },
    "required": ["name"],
    "additionalProperties": False,
}


PEOPLE: list[tuple[Any, list[str]]] = [
    ({"name": "Ada"}, []),
    ({"name": "Ada", "age": 36.0, "friends": [{"name": "Bo"}]}, []),
    ({}, ["$.name: missing, and required"]),
    ({"name": ""}, ["$.name: expected at least 1 characters, got 0"]),
    ({"name": "Ada", "age": "36"}, ['$.age: expected an integer, got "36"']),
    ({"name": "Ada", "age": True}, ["$.age: expected an integer, got true"]),
    ({"name": "Ada", "age": -1}, ["$.age: expected at least 0, got -1"]),
    ({"name": "Ada", "role": "root"}, ['$.role: expected one of "admin", "guest", got "root"']),
    (
        {"name": "Ada", "nam": 1},
        ["$.nam: not a property here; did you mean name? there are name, age, role, friends"],
    ),
    ({"name": "Ada", "friends": [{"name": "Bo"}, {"name": 3}]}, ["$.friends[1].name: expected a string, got 3"]),
    ({"name": "Ada", "friends": [{"name": "Bo"}] * 2}, ["$.friends: its items must differ from each other"]),
    (
        {"name": "A", "age": 1.5, "x y": 0},
        ["$.age: expected an integer, got 1.5", '$["x y"]: not a property here; ...'],
    ),
    ([], ["$: expected an object, got []"]),
]
"""Values, and the problems of each; dots match anything."""


def fits(pattern: str, text: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\.\.\.", ".*"), text) is not None


def test_a_problem_names_its_place() -> None:
    for value, expected in PEOPLE:
        found = problems(PERSON, value)
        assert len(found) == len(expected), value
        assert all(map(fits, expected, found)), (value, found)


KEYWORDS: list[tuple[dict[str, Any], Any, Any, str]] = [
    ({"const": 1}, 1.0, True, "expected 1, got true"),
    ({"type": ["string", "null"]}, None, 1, "expected a string or null, got 1"),
    ({"exclusiveMinimum": 0}, 0.1, 0, "expected more than 0, got 0"),
    ({"maximum": 5}, 5, 6, "expected at most 5, got 6"),
    ({"exclusiveMaximum": 5}, 4, 5, "expected less than 5, got 5"),
    ({"multipleOf": 0.1}, 0.3, 0.35, "expected a multiple of 0.1, got 0.35"),
    ({"maxLength": 2}, "æø", "abc", "expected at most 2 characters, got 3"),
    ({"pattern": "^a+$"}, "aa", "ab", 'expected text matching the pattern ^a+$, got "ab"'),
    ({"prefixItems": [{"type": "string"}], "items": False}, ["a"], ["a", 1], "[1]: nothing is allowed here"),
    ({"items": [{"type": "string"}], "additionalItems": False}, ["a"], ["a", 1], "[1]: nothing is allowed here"),
    ({"minItems": 1}, [1], [], "expected at least 1 items, got 0"),
    ({"minProperties": 1}, {"a": 1}, {}, "expected at least 1 properties, got 0"),
    ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 1}, "expected at most 1 properties, got 2"),
    ({"patternProperties": {"^n": {"type": "null"}}}, {"n": None}, {"n": 1}, ".n: expected null, got 1"),
    (
        {"propertyNames": {"maxLength": 1}},
        {"n": 0},
        {"nn": 0},
        ".nn: as a name: expected at most 1 characters, got 2",
    ),
    ({"dependentRequired": {"a": ["b"]}}, {"b": 0}, {"a": 0}, ".b: missing, and required"),
    ({"additionalProperties": {"type": "null"}}, {"a": None}, {"a": 1}, ".a: expected null, got 1"),
    ({"not": {"type": "string"}}, 1, "a", '"a" is not allowed here'),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 2, 3, "expected at most 2, got 3"),
    ({"anyOf": [{"type": "null"}, {"type": "array"}]}, [], 1, "fits no alternative: expected null, got 1; ..."),
    ({"anyOf": [{"type": "null"}, {"required": ["a"]}]}, None, {}, ".a: missing, and required"),
    ({"oneOf": [{"minimum": 1}, {"maximum": 3}]}, 0, 2, "fits alternatives 1 and 2, and may fit one only"),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "null"}}}, None, 1, "expected null, got 1"),
]
"""Schemas, a valid value, an invalid one, and its problem."""


def test_each_keyword_has_its_message() -> None:
    for schema, right, wrong, expected in KEYWORDS:
        assert problems(schema, right) == [], schema
        (found,) = problems(schema, wrong)
        assert fits(f"${expected}" if expected[0] in ".[" else f"$: {expected}", found), (schema, found)


FORMATS = [
    ("date", "2024-02-29", "2023-02-29"),
    ("date-time", "2026-01-02T03:04:05.6+01:00", "2026-01-02T03:04:05"),
    ("date-time", "2026-01-02t03:04:05z", "2026-01-02T25:04:05Z"),
    ("email", "ada@example.com", "ada at example.com"),
    ("uuid", "00000000-0000-4000-8000-00000000000A", "00000000-0000-4000-8000-0000"),
    ("uri", "https://example.com/a?b#c", "/a"),
    ("hostname", "a format without a check", None),
]


def test_formats_are_checked() -> None:
    for name, right, wrong in FORMATS:
        assert problems({"format": name}, right) == [], name
        assert wrong is None or len(problems({"format": name}, wrong)) == 1, name


def test_the_problems_of_a_tagged_union_are_those_of_the_tagged_alternative() -> None:
    kinds = [
        {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind", "lives"]},
        {"properties": {"kind": {"const": "dog"}, "tricks": {"type": "array"}}, "required": ["kind", "tricks"]},
    ]
    assert problems({"anyOf": kinds}, {"kind": "cat", "lives": "nine"}) == ['$.lives: expected an integer, got "nine"']


def test_a_null_for_what_may_be_left_out_counts_as_left_out() -> None:
    inner = {"items": {"properties": {"d": {"type": "string"}}}}
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": ["null", "string"]}, "c": inner}, "required": ["b"]}
    asked = {"a": None, "b": None, "c": [{"d": None}, {"d": "e"}]}
    assert checked(schema, asked) == ({"b": None, "c": [{}, {"d": "e"}]}, [])
    assert asked["c"] == [{"d": None}, {"d": "e"}], "the caller's value stays as it was"


def test_a_null_for_what_is_required_is_a_problem() -> None:
    assert checked(PERSON, {"name": None}) == ({}, ["$.name: missing, and required"])


@pytest.mark.parametrize(
    "schema", [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}]}, {"$ref": "#/nowhere"}, {"$ref": "http://x/y"}]
)
def test_a_reference_that_leads_nowhere_or_to_itself_allows_everything(schema: dict[str, Any]) -> None:
    assert problems(schema, 1) == []


def test_a_value_that_is_nested_too_deeply_is_a_problem() -> None:
    deep: Any = 1
    for _ in range(3000):
        deep = [deep]
    assert problems({"items": {"$ref": "#"}}, deep)[-1].endswith("nested too deeply")
    assert problems({"const": 1, "items": {"$ref": "#"}}, deep) == ["$: nested too deeply"]


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "(a|a)*$",
        "^(a|aa)+$",
        "(.*)*b",
        "(a?){40}a{40}",
        "^(a*a*)*$",
        "a*a*a*a*a*a*b",
        "(?=(a+)+b)",
        r"^(\w+\s?)*$",
    ],
)
@pytest.mark.parametrize("text", ["a" * 30 + "!", "a" * 5000 + "!"])
def test_no_pattern_hangs(pattern: str, text: str) -> None:
    """Where trying could take too long, the text passes; a test that is stuck here has found one that was tried."""
    assert problems({"pattern": pattern}, text) == []


PATTERNS = [
    (r"^[a-z0-9]+(-[a-z0-9]+)*$", "a-slug", "A slug"),
    (r"^(\d{1,3}\.){3}\d{1,3}$", "192.168.100.200", "192.168.100"),
    (r"^[\w.+-]+@[\w-]+\.[\w.-]+$", "ada.with-a.long+name@" + "x" * 60 + ".example.com", "nobody" * 20),
    (r"^(red|green|blue)(,(red|green|blue))*$", "red,green,blue", "red,grey"),
    (r"^(?=.*\d)(?=.*[a-z]).{8,}$", "passw0rd", "password"),
    ("^[A-Z]{2}$", "NO", "NOR"),
    ("", "anything", None),
    (r"\p{L}", "no pattern of Python", None),
    ("[[a]", "a pattern with a warning", None),
]


def test_usual_patterns_are_tried() -> None:
    for pattern, right, wrong in PATTERNS:
        assert problems({"pattern": pattern}, right) == [], pattern
        assert wrong is None or len(problems({"pattern": pattern}, wrong)) == 1, pattern


def test_a_schema_that_doubles_with_every_level_is_left_before_it_hangs() -> None:
    value: Any = {}
    for _ in range(60):
        value = {"a": value}
    level = {"properties": {"a": {"$ref": "#"}}, "required": ["b"]}
    assert isinstance(problems({"anyOf": [level, level]}, value), list)


def test_every_schema_inside_a_schema_is_walked_with_its_name() -> None:
    schema = {
        "properties": {"items": {"items": {"anyOf": [{"type": "null"}, True]}}},
        "$defs": {"A": {"not": {}}},
        "const": {"properties": {"no": {}}},
    }
    assert [name for name, _ in walk(schema)] == ["", "A", "", "items", "", ""]


# --- the reference ----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "ab", "c d"])
SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from([0.5, 1.0, -2.5]) | st.text("abc", max_size=4)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
SIZES = st.integers(0, 3)
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.integers(-2, 8)),
    "multipleOf": st.sampled_from([2, 3, 0.5]),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), SIZES),
    "pattern": st.sampled_from(["^a", "b$", "a|c", "^(a|b)+$", "[^c]", "a.?b"]),
    "uniqueItems": st.booleans(),
    "required": st.lists(NAMES, max_size=2, unique=True),
    "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
    "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
}


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    many, named = st.lists(inner, min_size=1, max_size=3), st.dictionaries(NAMES, inner, max_size=3)
    ones = ("items", "additionalProperties", "not", "propertyNames")
    nested = {**dict.fromkeys(ones, inner), **dict.fromkeys(("prefixItems", "anyOf", "oneOf", "allOf"), many)}
    nested |= {
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
    }
    return st.fixed_dictionaries({}, optional=nested | {"type": TYPES})


SCHEMAS = st.recursive(st.booleans() | st.fixed_dictionaries({}, optional=LEAVES), _deeper, max_leaves=6)


@pytest.mark.slow
@settings(max_examples=150)
@given(SCHEMAS, SCHEMAS, SCHEMAS.filter(lambda one: "$ref" not in str(one)), VALUES)
def test_the_reference_implementation_finds_the_same_values_right(schema: Any, one: Any, two: Any, value: Any) -> None:
    whole = {"allOf": [schema], "$defs": {"one": {"items": one, "properties": {"a": one}}, "two": two}}
    assert (problems(whole, value) == []) == jsonschema.Draft202012Validator(whole).is_valid(value)


@settings(max_examples=100)
@given(
    st.dictionaries(st.sampled_from([*LEAVES, "properties", "items", "anyOf", "not", "format"]), VALUES, max_size=5),
    VALUES,
)
def test_keywords_with_any_value_never_raise(schema: dict[str, Any], value: Any) -> None:
    assert all(one.startswith("$") for one in problems(schema, value))
