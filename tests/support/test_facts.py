"""The measure itself is measured: it finds what is missing and accepts what a loss names."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.losses import Loss
from tests.support.facts import unaccounted

BEFORE: dict[str, Any] = {
    "input": [{"role": "user", "content": [{"text": "a"}, {"text": "a"}]}],
    "top_k": 3,
    "stop": [],
}


@pytest.mark.parametrize(
    ("after", "paths", "missing"),
    [
        (BEFORE, [], []),
        ({**BEFORE, "more": 1}, [], []),
        ({"input": BEFORE["input"], "stop": []}, [], ["top_k: 3"]),
        ({"input": BEFORE["input"], "stop": []}, ["top_k"], []),
        ({"input": BEFORE["input"], "stop": []}, ["top_kk", "input"], ["top_k: 3"]),
        ({**BEFORE, "top_k": 4}, [], ["top_k: 3"]),
        ({**BEFORE, "stop": None}, [], ["stop: []"]),
        ({**BEFORE, "input": [{"role": "user", "content": [{"text": "a"}]}]}, [], ["input.0.content.0.text: \"a\""]),
        ({**BEFORE, "input": [{"role": "user", "content": [{"text": "a"}]}]}, ["input[0].content[1]"], []),
        ({**BEFORE, "input": [{"role": "user", "content": [{"text": "a"}]}]}, ["input[0].content[1].text.x"], []),
        ({**BEFORE, "input": []}, ["input[0].content[1]"], ["input.0.role: \"user\"", "input.0.content.0.text: \"a\""]),
        ({**BEFORE, "input": []}, ["input[0]"], []),
    ],
)  # fmt: skip
def test_what_is_missing_and_unnamed_is_found(after: Any, paths: list[str], missing: list[str]) -> None:
    assert unaccounted(BEFORE, after, [Loss(path, "", "dropped") for path in paths]) == missing
