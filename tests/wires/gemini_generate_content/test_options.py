"""Options of a request on their way to the vendor: numbers, thinking, the form of the answer, and what stands beside."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.client.target import Targets
from llm_rest.responses import (
    ContextManagement,
    FunctionTool,
    JsonObjectFormat,
    JsonSchemaFormat,
    Prompt,
    ReasoningOptions,
    Request,
    StreamOptions,
    TextFormat,
    TextOptions,
)
from llm_rest.unknown import Unknown, with_extras
from llm_rest.vendors.dialects import VERTEX
from tests.wires.gemini_generate_content import BUDGETED, NEWEST, OLD, SCHEMA, THREE, config, option, sent

GEMINI = "gemini_generate_content"

# --- numbers --------------------------------------------------------------------------------------------------------


def test_limits_and_seeds() -> None:
    """gemini.request.40"""
    assert config(max_output_tokens=9, seed=7, stop="END") == (
        {"maxOutputTokens": 9, "seed": 7, "stopSequences": ["END"]},
        [],
    )
    assert config(stop=["a", "b"]) == ({"stopSequences": ["a", "b"]}, [])


def test_sampling_is_for_the_models_that_take_it() -> None:
    """gemini.request.41"""
    asked: Any = {"temperature": 0.5, "top_p": 0.9, "top_k": 3}
    assert config(BUDGETED, **asked) == ({"temperature": 0.5, "topP": 0.9, "topK": 3}, [])
    assert config(NEWEST, **asked) == ({}, ["temperature (dropped)", "top_p (dropped)", "top_k (dropped)"])


def test_penalties_are_for_the_models_that_take_them() -> None:
    """gemini.request.42"""
    asked: Any = {"presence_penalty": 0.5, "frequency_penalty": 0}
    assert config(OLD, **asked) == ({"presencePenalty": 0.5, "frequencyPenalty": 0}, [])
    assert config(THREE, **asked) == ({}, ["presence_penalty (dropped)"])


def test_penalties_reach_gemini_2_5_on_vertex_alone() -> None:
    """gemini.request.42: Vertex answered such requests, and the Developer API refuses them"""
    asked: Any = {"presence_penalty": 0.5}
    found, lost = sent(Request(model="gemini-2.5-pro", input="Hi", **asked), VERTEX)
    assert (found["generationConfig"], lost) == ({"presencePenalty": 0.5}, [])
    assert sent(Request(model="gemini-2.5-pro", input="Hi", **asked))[1] == ["presence_penalty (dropped)"]


def test_probabilities_are_asked_for() -> None:
    """gemini.request.43"""
    asked = "message.output_text.logprobs"
    assert config(include=[asked], top_logprobs=2) == ({"responseLogprobs": True, "logprobs": 2}, [])
    assert config(top_logprobs=2) == ({"responseLogprobs": True, "logprobs": 2}, ["top_logprobs (emulated)"])
    assert config(top_logprobs=0) == ({}, ["top_logprobs (dropped)"])


def test_what_else_is_to_be_included_is_told_anyway_or_cannot_be() -> None:
    """gemini.request.44"""
    assert config(include=["reasoning.encrypted_content", "web_search_call.results"]) == ({}, ["include[1] (dropped)"])


# --- thinking -------------------------------------------------------------------------------------------------------


def thinking(model: str, **reasoning: Any) -> tuple[Any, list[str]]:
    found, lost = config(model, reasoning=ReasoningOptions(**reasoning))
    return found.get("thinkingConfig"), lost


@pytest.mark.parametrize(
    ("model", "effort", "level", "lost"),
    [
        (THREE, "minimal", "MINIMAL", False),
        (THREE, "medium", "MEDIUM", False),
        (THREE, "none", "MINIMAL", True),
        (THREE, "xhigh", "HIGH", True),
        (NEWEST, "minimal", "LOW", True),
        ("gemini-5-pro", "xhigh", "XHIGH", False),
        ("gemini-5-pro", "max", "XHIGH", True),
        (THREE, "boundless", "BOUNDLESS", False),
    ],
)
def test_an_effort_is_the_next_level_of_the_model(model: str, effort: str, level: str, lost: bool) -> None:
    """gemini.request.45"""
    assert thinking(model, effort=effort) == ({"thinkingLevel": level}, ["reasoning.effort (changed)"] if lost else [])


@pytest.mark.parametrize(
    ("model", "effort", "budget", "lost"),
    [
        (BUDGETED, "none", 0, False),
        (BUDGETED, "minimal", 512, False),
        (BUDGETED, "low", 1024, False),
        (BUDGETED, "medium", 8192, False),
        (BUDGETED, "high", 24576, False),
        (BUDGETED, "max", 24576, True),
        (BUDGETED, "boundless", 8192, True),
        ("gemini-2.5-pro", "none", 128, True),
        ("gemini-2.5-pro", "xhigh", 28672, False),
        ("gemini-2.5-pro", "max", 32768, False),
        ("gemini-2.5-flash-lite", "minimal", 512, False),
    ],
)
def test_an_effort_is_a_budget_on_models_that_are_told_a_number(
    model: str, effort: str, budget: int, lost: bool
) -> None:
    """gemini.request.46"""
    assert thinking(model, effort=effort) == (
        {"thinkingBudget": budget},
        ["reasoning.effort (changed)"] if lost else [],
    )


def test_a_summary_is_the_thoughts() -> None:
    """gemini.request.47"""
    assert thinking(THREE, summary="auto") == ({"includeThoughts": True}, [])
    assert thinking(THREE, summary="concise") == ({"includeThoughts": True}, ["reasoning.summary (changed)"])


def test_a_model_that_does_not_think_is_not_told_how() -> None:
    """gemini.request.48"""
    assert thinking(OLD, effort="low", summary="auto") == (
        None,
        ["reasoning.effort (dropped)", "reasoning.summary (dropped)"],
    )
    assert thinking(THREE, generate_summary="auto")[1] == ["reasoning.generate_summary (dropped)"]


# --- the form of the answer -----------------------------------------------------------------------------------------


def form(**text: Any) -> tuple[Any, list[str]]:
    return config(text=TextOptions(**text))


def test_a_schema_for_the_answer_goes_as_json_schema() -> None:
    """gemini.request.49"""
    asked = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    assert form(format=JsonSchemaFormat(name="n", schema=SCHEMA, strict=True)) == (asked, [])
    assert form(format=JsonSchemaFormat(name="n", schema=SCHEMA, strict=False, description="d")) == (
        asked,
        ["text.format.strict (changed)", "text.format.description (dropped)"],
    )


def test_any_json_is_a_media_type_and_text_is_nothing() -> None:
    """gemini.request.50"""
    assert form(format=JsonObjectFormat()) == ({"responseMimeType": "application/json"}, [])
    assert form(format=TextFormat()) == ({}, [])
    assert form(format=JsonSchemaFormat(name="n")) == (
        {"responseMimeType": "application/json"},
        ["text.format (changed)"],
    )
    assert form(format=Unknown({"type": "poem"})) == ({}, ["text.format (refused)"])


def test_a_form_beside_tools_is_refused_by_older_models() -> None:
    """gemini.request.51"""
    asked: Any = {"tools": [FunctionTool(name="f")], "text": TextOptions(format=JsonObjectFormat())}
    assert option(THREE, **asked)[1] == []
    assert option(BUDGETED, **asked)[1] == ["text.format (refused)"]


def test_how_much_is_said_cannot_be_asked_for() -> None:
    """gemini.request.52"""
    assert form(verbosity="low") == ({}, ["text.verbosity (dropped)"])


# --- what stands beside ---------------------------------------------------------------------------------------------


def test_metadata_are_labels_where_the_host_keeps_them() -> None:
    """gemini.request.53"""
    metadata = {"team": "blue_1", "Team": "x", "mail": "a@b"}
    assert option(metadata=metadata) == ({}, ["metadata (dropped)"])
    assert option(metadata=metadata, dialect=VERTEX) == (
        {"labels": {"team": "blue_1"}},
        ["metadata.Team (dropped)", "metadata.mail (dropped)"],
    )


@pytest.mark.parametrize(
    ("tier", "theirs", "lost"),
    [
        ("default", "standard", []),
        ("flex", "flex", []),
        ("priority", "priority", []),
        ("auto", None, []),
        ("scale", None, ["service_tier (dropped)"]),
    ],
)
def test_the_service_tier(tier: str, theirs: str | None, lost: list[str]) -> None:
    """gemini.request.54"""
    assert option(service_tier=tier) == ({"serviceTier": theirs} if theirs else {}, lost)


def test_vertex_takes_no_service_tier_in_the_body() -> None:
    """gemini.request.54, gemini.hard.16"""
    assert option(service_tier="flex", dialect=VERTEX) == ({}, ["service_tier (dropped)"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user", "u"),
        ("safety_identifier", "u"),
        ("prompt_cache_key", "k"),
        ("prompt_cache_retention", "24h"),
        ("max_tool_calls", 3),
        ("context_management", [ContextManagement(type="compaction")]),
        ("stream_options", StreamOptions(include_obfuscation=True)),
    ],
)
def test_options_the_wire_does_not_have_are_dropped(name: str, value: Any) -> None:
    """gemini.request.55"""
    options: Any = {name: value}
    path = "stream_options.include_obfuscation" if name == "stream_options" else name
    assert option(**options) == ({}, [f"{path} (dropped)"])


@pytest.mark.parametrize("value", [True, False])
def test_storing_is_sent_as_it_is_asked_for(value: bool) -> None:
    """gemini.request.61: Vertex has no such option"""
    assert option(store=value) == ({"store": value}, [])
    assert option(store=value, dialect=VERTEX) == ({}, ["store (dropped)"])


@pytest.mark.parametrize(("vendor", "stores"), [("google", False), ("vertex", None)])
def test_a_client_asks_that_nothing_is_stored_unless_the_call_says_so(vendor: str, stores: bool | None) -> None:
    """gemini.request.61: new projects of the Developer API store answers by default"""
    targets = Targets(None, api_key=None, base_url=None, wire=None, vendor=None, provider=None)
    dialect = targets.find(f"{vendor}/gemini-3.8-flash").dialect
    found, lost = sent(Request(model="gemini-3.8-flash", input="Hi"), dialect)
    assert (found.get("store"), lost) == (stores, [])


def test_what_asks_for_nothing_is_no_loss() -> None:
    """gemini.request.55"""
    assert option(truncation="disabled", background=False, parallel_tool_calls=True) == ({}, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("previous_response_id", "resp_1"),
        ("conversation", "conv_1"),
        ("prompt", Prompt(id="p")),
        ("background", True),
        ("truncation", "auto"),
    ],
)
def test_what_cannot_be_done_without_is_refused(name: str, value: Any) -> None:
    """gemini.request.56"""
    options: Any = {name: value}
    assert option(**options) == ({}, [f"{name} (refused)"])


def test_the_wires_own_options_go_through_extra() -> None:
    """gemini.request.57, gemini.hard.15"""
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]
    extra = {GEMINI: {"safetySettings": safety, "generationConfig": {"mediaResolution": "MEDIA_RESOLUTION_LOW"}}}
    assert option(temperature=1, extra=extra) == (
        {
            "generationConfig": {"temperature": 1, "mediaResolution": "MEDIA_RESOLUTION_LOW"},
            "safetySettings": safety,
        },
        [],
    )
    assert option(extra={GEMINI: {"safetySettings": "off"}, "ollama_chat": {"keep_alive": 1}}) == (
        {},
        [f"extra.{GEMINI} (dropped)"],
    )


def test_nothing_is_said_again_that_is_cached() -> None:
    """gemini.request.58"""
    extra = {GEMINI: {"cachedContent": "cachedContents/1"}}
    assert option(extra=extra) == ({"cachedContent": "cachedContents/1"}, [])
    tools: Any = [FunctionTool(name="f")]
    assert option(instructions="a", tools=tools, tool_choice="required", extra=extra)[1] == [
        "instructions (refused)",
        "tools (refused)",
        "tool_choice (refused)",
    ]


def test_leftovers_of_this_wire_return_and_those_of_others_are_told() -> None:
    """gemini.request.59"""
    leftovers = {
        GEMINI: {"safetySettings": [{"category": "c"}], "labels": {"a": "b"}},
        "openai_chat": {"logit_bias": {"1": 2}},
    }
    assert option(leftovers=leftovers) == (
        {"safetySettings": [{"category": "c"}]},
        ["logit_bias (dropped)", "labels (dropped)"],
    )


def test_unknown_fields_of_a_request_stay_behind() -> None:
    """gemini.request.60"""
    request = with_extras(Request(model=THREE, input="Hi"), {"mood": "glad"})
    assert sent(request)[1] == ["mood (dropped)"]
