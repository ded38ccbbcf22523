"""Token counts of every host, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.losses import Losses
from llm_rest.responses import InputTokensDetails, OutputTokensDetails, Usage
from llm_rest.responses.carriers import report_foreign
from llm_rest.vendors.dialects import CHAT_HOSTS
from tests.wires.openai_chat import OPENAI, answered, output, said, shown


def counted(usage: Any, dialect: Any = OPENAI) -> Any:
    """The counts of an answer with this usage, which comes back as it came."""
    return answered({**said(content="a"), "usage": usage}, dialect)[0].usage


BASE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def test_counts_have_other_names() -> None:
    """chat.usage.1, chat.usage.2, chat.usage.3 and chat.response.16"""
    assert counted(BASE) == Usage(input_tokens=10, output_tokens=5, total_tokens=15)
    body, lost = shown(output(usage=Usage(input_tokens=10, output_tokens=5, total_tokens=15)))
    assert (body["usage"], lost) == (BASE, [])


@pytest.mark.parametrize(
    ("host", "usage", "tokens"),
    [
        ("xai", {"prompt_tokens": 307, "completion_tokens": 26, "total_tokens": 560}, 253),
        ("google", {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}, 74),
        ("openai", {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}, 12),
    ],
)
def test_what_counts_as_output_is_a_fact_of_the_host(host: str, usage: dict[str, Any], tokens: int) -> None:
    """chat.usage.2 and chat.reader.20"""
    details = {"completion_tokens_details": {"reasoning_tokens": 227}} if host == "xai" else {}
    assert counted({**usage, **details}, CHAT_HOSTS[host]).output_tokens == tokens


def test_xai_is_told_its_completion_without_reasoning() -> None:
    """chat.usage.2"""
    details = OutputTokensDetails(reasoning_tokens=227)
    usage = Usage(input_tokens=307, output_tokens=253, total_tokens=560, output_tokens_details=details)
    body, _ = shown(output(usage=usage), CHAT_HOSTS["xai"])
    assert body["usage"]["completion_tokens"] == 26


def test_a_total_that_nobody_gave_is_the_sum() -> None:
    """chat.usage.3"""
    assert counted({"prompt_tokens": 10, "completion_tokens": 5}).total_tokens == 15


@pytest.mark.parametrize(
    "more",
    [
        {"prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6},
        {"cached_tokens": 4, "prompt_tokens_details": None},
        {"num_cached_tokens": 4},
        {"prompt_tokens_details": {"cached_tokens": 4}, "prompt_cache_hit_tokens": 5},
    ],
)
def test_cached_tokens_are_found_wherever_a_host_counts_them(more: dict[str, Any]) -> None:
    """chat.usage.4"""
    assert counted({**BASE, **more}).input_tokens_details == InputTokensDetails(cached_tokens=4)


def test_written_and_reasoning_tokens_stand_in_the_details() -> None:
    """chat.usage.5 and chat.usage.6"""
    more = {"prompt_tokens_details": {"cache_write_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2}}
    usage = counted({**BASE, **more})
    assert usage.input_tokens_details == InputTokensDetails(cache_write_tokens=3)
    assert usage.output_tokens_details == OutputTokensDetails(reasoning_tokens=2)


def test_counts_that_responses_has_no_field_for_are_kept_for_this_wire() -> None:
    """chat.usage.7"""
    more = {"completion_tokens_details": {"audio_tokens": 2}, "cost": 0.5, "queue_time": 1.5, "later": 1}
    lost = Losses()
    report_foreign(counted({**BASE, **more}).leftovers, "ollama_chat", "usage", lost)
    fields = ["completion_tokens_details.audio_tokens", "cost", "later", "queue_time"]
    assert sorted(loss.path for loss in lost) == [f"usage.{name}" for name in fields]


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"prompt_tokens": None, "completion_tokens": 0, "total_tokens": 0},
        {**BASE, "prompt_tokens_details": {}, "completion_tokens_details": None},
        {**BASE, "completion_tokens_details": {"reasoning_tokens": None}},
        {"prompt_tokens": 10.0, "completion_tokens": 5, "total_tokens": 15},
    ],
)
def test_unusual_counts_come_back_as_they_came(usage: dict[str, Any]) -> None:
    """chat.usage.7"""
    counted(usage)


def test_counts_are_not_invented() -> None:
    """chat.usage.8"""
    assert answered(said(content="a"))[0].usage is None
    assert counted(None) is None
    assert "usage" not in shown(output())[0]


def test_cache_writes_by_their_lifetime_are_told() -> None:
    """chat.usage.7"""
    details = InputTokensDetails(cached_tokens=1, cache_write_tokens_details={"ttl_30m_tokens": 1})
    usage = Usage(input_tokens=1, output_tokens=1, input_tokens_details=details, leftovers={"other": {"speed": 2}})
    assert shown(output(usage=usage))[1] == [
        "usage.input_tokens_details.cache_write_tokens_details (dropped)",
        "usage.speed (dropped)",
    ]
