"""Another wire's leftovers are reported by path, and mere spelling is not."""

from __future__ import annotations

from msgspec import UNSET

from llm_rest.losses import Loss, Losses
from llm_rest.responses.leftovers import own, report_foreign


def test_what_another_wire_left_is_reported_by_its_path() -> None:
    lost = Losses()
    report_foreign({"openai_chat": {"logit_bias": {"50256": -100}}}, "anthropic_messages", "", lost)
    report_foreign({"openai_chat": {"name": "ada"}}, "anthropic_messages", "input[0]", lost)
    assert list(lost) == [
        Loss("leftovers.openai_chat.logit_bias", "logit_bias of a document of openai_chat", "dropped"),
        Loss("input[0].leftovers.openai_chat.name", "name of a document of openai_chat", "dropped"),
    ]


def test_a_wire_does_not_report_its_own() -> None:
    lost = Losses()
    report_foreign({"openai_chat": {"name": "ada"}}, "openai_chat", "", lost)
    report_foreign(UNSET, "openai_chat", "", lost)
    assert lost == []
    assert own({"openai_chat": {"name": "ada"}}, "openai_chat") == {"name": "ada"}
    assert own(UNSET, "openai_chat") == {}


def test_nulls_empties_and_spelling_are_not_information() -> None:
    lost = Losses()
    left = {"message": {"refusal": None, "annotations": [], "audio": {"id": "", "expires_at": 0}}, "spelling": {"n": 1}}
    report_foreign({"openai_chat": left}, "anthropic_messages", "", lost)
    assert lost == []
