"""Another wire's leftovers are reported by path, and mere spelling is not."""

from __future__ import annotations

from llm_rest.losses import Loss, Losses
from llm_rest.responses.carriers import own, report_foreign
from llm_rest.responses.request import Request


def test_what_another_wire_left_is_reported_by_its_path() -> None:
    lost = Losses()
    report_foreign({"openai_chat": {"logit_bias": {"50256": -100}}}, "anthropic_messages", "", lost, Request())
    report_foreign({"openai_chat": {"name": "ada"}}, "anthropic_messages", "input[0]", lost)
    assert list(lost) == [
        Loss("logit_bias", "Anthropic has no such option", "dropped"),
        Loss("input[0].name", "Anthropic has no such field", "dropped"),
    ]


def test_a_wire_does_not_report_its_own() -> None:
    lost = Losses()
    report_foreign({"openai_chat": {"name": "ada"}}, "openai_chat", "", lost)
    report_foreign(None, "openai_chat", "", lost)
    assert lost == []
    assert own({"openai_chat": {"name": "ada"}}, "openai_chat") == {"name": "ada"}
    assert own(None, "openai_chat") == {}


def test_values_are_reported_and_nulls_and_spelling_are_not() -> None:
    said = {"enable_thinking": False, "keep_alive": 0, "provider": {}, "models": [], "user_tag": ""}
    unsaid = {"seed_word": None, "spelling": {"n": 1}}
    lost = Losses()
    report_foreign({"openai_chat": {**said, **unsaid}}, "anthropic_messages", "", lost, Request())
    assert [loss.path for loss in lost] == [*said]


def test_a_tool_that_only_one_vendor_has_is_refused() -> None:
    lost = Losses()
    report_foreign({"gemini_generate_content": {"tools": [{"urlContext": {}}]}}, "openai_chat", "", lost, Request())
    report_foreign(
        {"anthropic_messages": {"other_tools": [[3, {"type": "memory"}]]}}, "openai_chat", "", lost, Request()
    )
    assert [(loss.path, loss.kind) for loss in lost] == [("tools[0]", "refused"), ("tools[3]", "refused")]
