"""Another wire's leftovers are reported by path, and mere spelling is not."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.losses import Losses
from llm_rest.responses.carriers import own, report_foreign
from llm_rest.responses.request import Request

SAID = {"enable_thinking": False, "keep_alive": 0, "provider": {}, "models": [], "user_tag": ""}
UNSAID = {"seed_word": None, "spelling": {"n": 1}}


@pytest.mark.parametrize(
    ("left", "path", "reported"),
    [
        ({"openai_chat": {"logit_bias": {"50256": -100}}}, "", ["logit_bias: Anthropic has no such option (dropped)"]),
        ({"openai_chat": {"name": "ada"}}, "input[0]", ["input[0].name: Anthropic has no such field (dropped)"]),
        ({"openai_chat": {**SAID, **UNSAID}}, "", [f"{name}: Anthropic has no such option (dropped)" for name in SAID]),
        ({"gemini_generate_content": {"tools": [{"urlContext": {}}]}}, "", ["tools[0]"]),
        ({"anthropic_messages": {"name": "ada"}}, "", []),
        (None, "", []),
    ],
)
def test_what_another_wire_left_is_reported_by_its_path(left: Any, path: str, reported: list[str]) -> None:
    lost = Losses()
    report_foreign(left, "anthropic_messages", path, lost, None if path else Request())
    assert [str(loss)[: len(said)] for loss, said in zip(lost, reported, strict=True)] == reported
    assert all((loss.kind == "refused") is ("tools" in loss.path) for loss in lost)
    assert own(left, "anthropic_messages") == (left or {}).get("anthropic_messages", {})
