"""Generated JSON Schemas, each with values that fit it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from llm_rest.tools.schema import problems

Schema = dict[str, Any]
NAMES = ("a", "b", "c d")
DEFS: Schema = {
    "Leaf": {"type": "object", "properties": {"n": {"type": "integer"}, "note": {"type": "string"}}, "required": ["n"]},
    "Tree": {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
        "additionalProperties": False,
    },
}

Pair = tuple[Schema, Any]
"""A schema and a value that was made for it; `fitting` sees to it that it fits."""


def _with(schema: Schema, value: Any, **words: list[Any]) -> st.SearchStrategy[Pair]:
    """The schema with some of these words, and the value."""
    choices = {word: st.sampled_from(values) for word, values in words.items()}
    return st.fixed_dictionaries({}, optional=choices).map(lambda more: ({**schema, **more}, value))


TEXTS = st.sampled_from(["", "Oslo", "2026-01-02", "a@b.no", "x" * 40])
STRINGS = TEXTS.flatmap(
    lambda value: _with(
        {"type": "string"},
        value,
        minLength=[0, 3],
        maxLength=[10, 50],
        pattern=["^O", "[a-z]", r"^(?!x)"],
        format=["date", "email", "made-up"],
        default=["Oslo"],
        description=["A text."],
        title=["T"],
    )
)
NUMBERS = st.sampled_from([("integer", 3), ("integer", -7), ("number", 2.5), ("number", 4)]).flatmap(
    lambda pair: _with(
        {"type": pair[0]},
        pair[1],
        minimum=[-10, 3],
        maximum=[3, 99],
        exclusiveMinimum=[-8, 2],
        exclusiveMaximum=[100],
        multipleOf=[1, 0.5],
        examples=[[1]],
    )
)
CHOICES = st.sampled_from(
    [
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "string", "enum": ["a"]}, "a"),
        ({"enum": [1, None, True]}, None),
        ({"const": "k"}, "k"),
        ({"const": {"n": 1}}, {"n": 1}),
        ({"type": ["string", "null"]}, None),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({}, [1, "x"]),
        ({"$ref": "#/$defs/Leaf"}, {"n": 1}),
        ({"$ref": "#/$defs/Leaf", "description": "d"}, {"n": 1, "note": "x"}),
        ({"$ref": "#/$defs/Tree"}, {"kids": [{"kids": []}, {}]}),
        ({"type": "string", "not": {"const": "x"}}, "y"),
    ]
)


def _arrays(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    return inner.flatmap(
        lambda pair: st.integers(0, 2).flatmap(
            lambda n: _with(
                {"type": "array", "items": pair[0]}, [pair[1]] * n, minItems=[0, 1, 2], maxItems=[2], uniqueItems=[True]
            )
        )
    ) | inner.map(lambda pair: ({"type": "array", "prefixItems": [pair[0]], "items": False}, [pair[1]]))


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    members = {name: draw(inner) for name in draw(st.lists(st.sampled_from(NAMES), unique=True))}
    required = [name for name in members if draw(st.booleans())]
    schema: Schema = {"type": "object", "properties": {name: one for name, (one, _) in members.items()}}
    value = {name: one for name, (_, one) in members.items() if name in required or draw(st.booleans())}
    if required:
        schema["required"] = required
    match draw(st.sampled_from(["open", "closed", "map", "patterns"])):
        case "closed":
            schema["additionalProperties"] = False
        case "map":
            other, one = draw(inner)
            schema["additionalProperties"] = other
            value["other"] = one
        case "patterns":
            schema["patternProperties"] = {"^zz": {"type": "integer"}}
        case _:
            pass
    return schema, value


def _unions(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    word = st.sampled_from(["anyOf", "oneOf", "anyOf"])
    of_two = st.tuples(word, inner, inner).map(lambda t: ({t[0]: [t[1][0], t[2][0]]}, t[1][1]))
    of_all = st.tuples(inner, inner).map(lambda t: ({"allOf": [t[0][0], t[1][0]]}, _joined(t[0][1], t[1][1])))
    return of_two | of_all


def _joined(one: Any, other: Any) -> Any:
    return {**other, **one} if isinstance(one, dict) and isinstance(other, dict) else one


PAIRS: st.SearchStrategy[Pair] = st.recursive(
    STRINGS | NUMBERS | CHOICES, lambda inner: _arrays(inner) | _objects(inner) | _unions(inner), max_leaves=6
)


def fitting(roots: st.SearchStrategy[Pair] = PAIRS) -> st.SearchStrategy[Pair]:
    """A whole schema with the definitions it needs, and a value that fits it."""
    return roots.map(_whole).filter(lambda pair: not problems(*pair))


def _whole(pair: Pair) -> Pair:
    schema, value = pair
    used = {name: one for name, one in DEFS.items() if f"#/$defs/{name}" in str(schema)}
    return ({**schema, "$defs": used} if used else schema), value
