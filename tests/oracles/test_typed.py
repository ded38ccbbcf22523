"""The measure itself is measured: strict at every depth, and pointing at the place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Required

import pytest
from typing_extensions import TypedDict

from tests.oracles.typed import problems


class Alias:
    alias = "from"


class Text(TypedDict, total=False):
    type: Required[Literal["text"]]
    text: Required[str]


class Image(TypedDict, total=False):
    type: Required[Literal["image"]]
    url: str | None
    origin: Annotated[str, Alias()]


class Body(TypedDict, total=False):
    content: Required[str | Iterable[Text | Image]]
    scores: dict[str, float]
    seed: int


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"content": "a"}, []),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image", "url": None, "from": "b"}]}, []),
        ({}, ["$.content: missing"]),
        ({"content": "a", "more": 1}, ["$.more: unknown to Body"]),
        ({"content": [{"type": "text", "text": "a", "more": 1}]}, ["$.content[0].more: unknown to Text"]),
        ({"content": [{"type": "image", "origin": "b"}]}, ["$.content[0].origin: unknown to Image"]),
        ({"content": [{"type": "text"}]}, ["$.content[0].text: missing"]),
        ({"content": "a", "scores": {"x": "1"}}, ["$.scores.x: '1' is no float"]),
        ({"content": "a", "scores": {"x": 1}}, []),
        ({"content": "a", "seed": True}, ["$.seed: a truth value"]),
        ({"content": "a", "seed": 1.5}, ["$.seed: 1.5 is no int"]),
        ([], ["$: not an object"]),
    ],
)
def test_what_does_not_fit_is_named(value: Any, found: list[str]) -> None:
    assert problems(value, Body) == found
