"""What a tool returns becomes the output of its call: text, JSON or parts."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from llm_rest import ToolFailedError, image
from llm_rest.responses.parts import InputFile, InputText
from llm_rest.tools import output_of

from .shapes import Node, Person, Point, Unit

PIXEL = image(b"\x89PNG\r\n\x1a\n")
FILE = InputFile(file_id="f1")


SENT: list[tuple[Any, Any]] = [
    ("text stays", "text stays"),
    ("", ""),
    ("half \ud83d", "half ?"),
    ({"names": ["ø", "\udcff", Unit.CELSIUS]}, '{"names":["ø","?","C"]}'),
    (None, "null"),
    (True, "true"),
    (3.5, "3.5"),
    ({"b": [1, None], "a": "æ"}, '{"b":[1,null],"a":"æ"}'),
    ([], "[]"),
    (["a", 1], '["a",1]'),
    (date(2026, 1, 2), '"2026-01-02"'),
    (Node("a"), '{"name":"a","children":[]}'),
    (Point(1, 2), '{"x":1,"y":2,"tags":[]}'),
    (Unit.CELSIUS, '"C"'),
    ([Path("a/b")], '["a/b"]'),
    ([Person(first_name="Ada")], '[{"first_name":"Ada","boss":null}]'),
    (PIXEL, [PIXEL]),
    ([FILE, "two", {"n": 3}], [FILE, InputText(text="two"), InputText(text='{"n":3}')]),
    ((InputText(text="a"),), [InputText(text="a")]),
]
"""What a tool returns, and the output of its call."""


def test_what_a_tool_returns_can_be_sent() -> None:
    assert [(value, output_of(value)) for value, _ in SENT] == SENT


class Circle:
    def __init__(self) -> None:
        self.me = self


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"\x89PNG", "bytes"),
        (Circle(), "returned a Circle"),
        ([1, {"p": Circle()}], "returned a list, which cannot be sent: a Circle"),
        ((n for n in [1]), "returned a generator"),
        ({(1, 2): 3}, "returned a dict"),
        (CIRCLE, "returned a list"),
        ([PIXEL, object()], "returned a object"),
    ],
)
def test_what_cannot_be_sent_is_named(value: Any, words: str) -> None:
    with pytest.raises(ToolFailedError) as caught:
        output_of(value)
    assert words in caught.value.message
    assert caught.value.hint
