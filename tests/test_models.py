"""Models: what each is known to take, and what is said of a request before it is sent."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from llm_rest.errors import CapabilityError
from llm_rest.losses import Loss
from llm_rest.responses.request import REQUEST, Request
from llm_rest.vendors.dialects import MESSAGES_MODELS
from llm_rest.vendors.models import (
    ROWS,
    UNKNOWN,
    Capabilities,
    Problem,
    Row,
    capabilities,
    capability_error,
    check,
    without,
)
from llm_rest.vendors.rows import VENDORS

CORPUS = Path(os.environ.get("LLM_REST_CORPUS", Path(__file__).parents[2] / "shared" / "corpus"))

EFFORTS = {"none", "minimal", "low", "medium", "high", "xhigh", "max", "default"}


ALWAYS = ("low", "medium", "high", "xhigh", "max")
"""The efforts of models that cannot be told not to reason."""


def request(**fields: Any) -> Request:
    return REQUEST.decode(msgspec.json.encode({"input": "hi", **fields}))


def paths(fields: dict[str, Any], known: Capabilities) -> list[str]:
    return [problem.path for problem in check(request(**fields), known)]


# --- the table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.prefix or 'any'}@{','.join(row.at or ('anywhere',))}")
def test_a_row_names_its_source_and_says_something_sensible(row: Row) -> None:
    facts = row.facts
    assert "2026" in facts.source, "where the facts come from and when they were read"
    assert row.prefix == row.prefix.lower().strip()
    assert row.at is None or set(row.at) <= {*VENDORS, ""}
    assert set(facts.efforts or ()) <= EFFORTS
    if facts.default_effort is not None:
        assert facts.reasoning, "a default effort belongs to a model that reasons"
        assert facts.default_effort in (facts.efforts or ()) or facts.default_effort == "none"
    assert not (facts.reasoning is False and facts.efforts), "efforts belong to a model that reasons"
    if facts.context_window and facts.max_output:
        assert facts.max_output <= facts.context_window


def test_no_two_rows_say_something_about_the_same_models() -> None:
    seen = [(row.prefix, vendor) for row in ROWS for vendor in (row.at or ("anywhere",))]
    assert sorted({place for place in seen if seen.count(place) > 1}) == []


@pytest.mark.parametrize(
    ("model", "vendor", "facts"),
    [
        ("gpt-5", "openai", {"efforts": ("minimal", "low", "medium", "high"), "sampling": False, "vision": True}),
        ("gpt-5-mini-2025-08-07", "openai", {"efforts": ("minimal", "low", "medium", "high"), "max_output": 128_000}),
        ("gpt-5-pro", "openai", {"efforts": ("high",), "max_output": 272_000}),
        ("gpt-5.1", "openai", {"efforts": ("none", "low", "medium", "high"), "sampling": "without_reasoning"}),
        ("gpt-5.4-mini", "openai", {"default_effort": "none", "context_window": 400_000}),
        (
            "gpt-5.6-sol",
            "openai",
            {
                "default_effort": "medium",
                "sampling": "without_reasoning",
                "context_window": 1_050_000,
                "max_output": 128_000,
            },
        ),
        (
            "gpt-6-astra",
            "openai",
            {"efforts": ALWAYS, "default_effort": "medium", "reasoning": "always", "sampling": False},
        ),
        (
            "gpt-6-sol",
            "openai",
            {"efforts": ("none", *ALWAYS), "default_effort": "medium", "context_window": 1_050_000},
        ),
        ("gpt-6-luna", "openai", {"efforts": ("none", *ALWAYS), "chat_tools": "without_reasoning"}),
        ("gpt-6.1-sol", "openai", {"efforts": ALWAYS, "chat_tools": False}),
        ("gpt-6.1-terra", "openai", {"efforts": None, "default_effort": None, "reasoning": True}),
        ("gpt-6.2-astra", "openai", {"efforts": ALWAYS, "default_effort": None, "chat_tools": False}),
        ("gpt-6.2-sol", "openai", {"efforts": ALWAYS, "max_output": 128_000, "reasoning": "always"}),
        ("gpt-6.2-astra-law", "openai", {"efforts": ALWAYS, "chat_tools": False}),
        ("gpt-4o-mini", "openai", {"reasoning": False, "efforts": (), "sampling": True, "json_schema": True}),
        ("gpt-4o-2024-05-13", "openai", {"json_schema": False}),
        ("o3-mini", "openai", {"vision": False, "reasoning": "always"}),
        ("claude-haiku-4-5", "anthropic", {"reasoning": True, "default_effort": "none", "max_output": 64_000}),
        ("claude-opus-4-7", "anthropic", {"sampling": False, "context_window": 1_000_000}),
        ("claude-fable-5-1", "anthropic", {"forced_tools": False, "reasoning": "always"}),
        ("gemini-2.5-flash", "google", {"audio": True, "reasoning": True}),
        ("gemini-3.6-flash", "google", {"sampling": False}),
        ("gemini-3.8-flash", "google", {"sampling": False, "efforts": ("low", "medium", "high")}),
        (
            "gemini-4-argon",
            "google",
            {"efforts": ("low", "medium", "high"), "default_effort": "medium", "sampling": True},
        ),
        ("gemini-4-carbon", "vertex", {"whole_output": 32_768, "penalties": False, "context_window": 1_048_576}),
        ("gemini-4-hydrogen", "google", {"efforts": ("low", "medium", "high", "xhigh"), "default_effort": "high"}),
        ("gemini-4-neon", "google", {"efforts": ("low", "medium", "high", "xhigh"), "default_effort": "high"}),
        ("gemma-3-27b-it", "google", {"instructions": False, "tools": False}),
        ("gemma-4-31b-it", "google", {"instructions": None, "tools": None}),
        ("grok-4.5", "xai", {"efforts": ("low", "medium", "high"), "stop": False}),
        ("deepseek-v4-flash", "deepseek", {"vision": False, "forced_tools": "without_reasoning"}),
        ("openai/gpt-oss-120b", "groq", {"efforts": ("low", "medium", "high"), "logprobs": False}),
        ("llama-3.3-70b-versatile", "groq", {"vision": False, "max_output": 32_768}),
        ("whatever-new", "groq", {"logprobs": False, "vision": None}),
        ("sonar-pro", "perplexity", {"tools": False}),
        ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "together", {"vision": False}),
        ("Meta-Llama-3.3-70B-Instruct", "sambanova", {"vision": False}),
        ("openai/gpt-oss-20b", "openrouter", {"vision": False, "efforts": None}),
    ],
)
def test_what_is_known_of_a_model(model: str, vendor: str, facts: dict[str, Any]) -> None:
    known = capabilities(model, vendor)
    assert {name: getattr(known, name) for name in facts} == facts


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("gpt-7", "openai"),
        ("gpt-4.1x", "openai"),
        ("my-deployment", "azure_openai"),
        ("gpt-5", "azure_openai"),
        ("openai/gpt-5", "openrouter"),
        ("claude-opus-4-8", "github_copilot"),
        ("my-finetune", None),
        ("", None),
        ("demo", "simulator"),
        ("moonshotai/kimi-k2.5", "moonshot"),
        ("kimi-k2-5", "heroku"),
        ("llama-3.1-nemotron-nano-vl-8b", "compatible"),
    ],
)
def test_what_is_not_in_the_table_passes(model: str, vendor: str | None) -> None:
    known = capabilities(model, vendor)
    everything = request(temperature=0.2, stop=["x"], reasoning={"effort": "odd"}, max_output_tokens=10**9)
    assert check(everything, known) == []
    assert known.vision is None


def test_gemini_3_7_is_another_name_of_the_model_it_is_routed_to() -> None:
    assert capabilities("gemini-3.7-flash", "google") == capabilities("gemini-3.8-flash", "google") != UNKNOWN


def test_without_a_vendor_the_makers_facts_are_given() -> None:
    assert capabilities("claude-haiku-4-5") == capabilities("claude-haiku-4-5", "anthropic")
    assert capabilities("anthropic/claude-haiku-4-5") == capabilities("claude-haiku-4-5", "anthropic")
    assert capabilities("gpt-oss-120b").efforts is None, "a host's own facts are not given for every host"


def test_a_prefix_ends_where_a_word_ends() -> None:
    assert capabilities("gpt-5.1", "openai") != capabilities("gpt-5", "openai")
    assert capabilities("glm-4.6v", "zai").vision is None
    assert capabilities("glm-4.6", "zai").vision is False
    assert capabilities("minimax/minimax-m2:free", "openrouter").vision is False


KNOWN_TO_BOTH = [name for name in MESSAGES_MODELS if capabilities(name, "anthropic") is not UNKNOWN]


def test_both_tables_know_the_current_models() -> None:
    assert len(KNOWN_TO_BOTH) >= 15


@pytest.mark.parametrize("name", KNOWN_TO_BOTH)
def test_the_table_agrees_with_what_the_messages_wire_knows(name: str) -> None:
    ours, theirs = capabilities(name, "anthropic"), MESSAGES_MODELS[name]
    assert ours.max_output in (None, theirs.max_tokens)
    assert (ours.sampling is False) == (theirs.sampling == "no")
    if not theirs.forced_tools:
        assert ours.forced_tools is False
    if "disabled" in theirs.thinking:
        assert ours.reasoning is not None
        assert ours.reasoning != "always"


# --- a request that fits --------------------------------------------------------------------------------------------


def test_a_plain_request_fits_every_model() -> None:
    for row in ROWS:
        assert check(request(), row.facts) == []


def test_nothing_is_wrong_where_nothing_is_known() -> None:
    everything = request(temperature=0.2, tools=[{"type": "function", "name": "f"}], reasoning={"effort": "high"})
    assert check(everything, UNKNOWN) == []
    assert check(everything, Capabilities()) == []


REASONS = Capabilities(reasoning="always", sampling=False, penalties=False, logprobs=False, stop=False)
OPTIONAL = Capabilities(
    reasoning=True,
    efforts=("none", "low"),
    sampling="without_reasoning",
    penalties="without_reasoning",
    logprobs="without_reasoning",
)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"temperature": 0.2}, ["temperature"]),
        ({"temperature": 0}, ["temperature"]),
        ({"top_p": 0.5, "top_k": 3}, ["top_p", "top_k"]),
        ({"presence_penalty": 1, "frequency_penalty": -1}, ["presence_penalty", "frequency_penalty"]),
        ({"top_logprobs": 5}, ["top_logprobs"]),
        ({"stop": "x"}, ["stop"]),
        ({"stop": ["x"]}, ["stop"]),
        # What would happen anyway is no problem.
        ({"temperature": 1, "top_p": 1.0, "presence_penalty": 0, "frequency_penalty": 0.0, "top_logprobs": 0}, []),
        ({"top_p": 0.98}, []),
        ({"stop": []}, []),
        ({"temperature": None, "top_p": None, "stop": None}, []),
    ],
)
def test_options_that_a_reasoning_model_refuses(fields: dict[str, Any], found: list[str]) -> None:
    assert paths(fields, REASONS) == found


@pytest.mark.parametrize(
    ("default", "reasoning", "refused"),
    [
        ("none", None, False),
        ("none", {"effort": "none"}, False),
        ("none", {"effort": "low"}, True),
        ("none", {"summary": "auto"}, False),
        ("medium", None, True),
        ("medium", {"effort": None}, True),
        ("medium", {"effort": "none"}, False),
        (None, None, False),
    ],
)
def test_sampling_may_depend_on_whether_the_model_reasons(
    default: str | None, reasoning: dict[str, Any] | None, refused: bool
) -> None:
    known = msgspec.structs.replace(OPTIONAL, default_effort=default)
    assert paths({"temperature": 0.2, "reasoning": reasoning}, known) == (["temperature"] if refused else [])


@pytest.mark.parametrize(
    ("effort", "known", "refused"),
    [
        ("high", Capabilities(reasoning=False), True),
        ("none", Capabilities(reasoning=False), False),
        ("none", Capabilities(reasoning=False, efforts=()), True),
        ("xhigh", Capabilities(reasoning=True, efforts=("low", "high")), True),
        ("low", Capabilities(reasoning=True, efforts=("low", "high")), False),
        ("xhigh", Capabilities(reasoning=True, efforts=("low", "high"), nearest_effort=True), False),
        ("xhigh", Capabilities(reasoning=True), False),
        ("new", Capabilities(), False),
    ],
)
def test_efforts(effort: str, known: Capabilities, refused: bool) -> None:
    assert paths({"reasoning": {"effort": effort}}, known) == (["reasoning.effort"] if refused else [])


def test_a_refused_effort_names_those_that_are_taken() -> None:
    (problem,) = check(request(reasoning={"effort": "minimal"}), capabilities("gpt-5.1", "openai"))
    assert problem.what == "'minimal' is not supported by this model; it supports none, low, medium, high"
    assert str(problem) == f"reasoning.effort: {problem.what}"


def test_more_output_than_the_model_gives() -> None:
    known = Capabilities(max_output=1000)
    (problem,) = check(request(max_output_tokens=1001), known)
    assert (problem.path, problem.instead) == ("max_output_tokens", 1000)
    assert check(request(max_output_tokens=1000), known) == []


@pytest.mark.parametrize(
    ("format", "known", "refused"),
    [
        ({"type": "json_schema", "name": "n", "schema": {}}, Capabilities(json_schema=False), True),
        ({"type": "json_schema", "name": "n", "schema": {}}, Capabilities(json_mode=False), False),
        ({"type": "json_object"}, Capabilities(json_mode=False), True),
        ({"type": "json_object"}, Capabilities(json_schema=False), False),
        ({"type": "text"}, Capabilities(json_schema=False, json_mode=False), False),
        ({"type": "new"}, Capabilities(json_schema=False, json_mode=False), False),
    ],
)
def test_formats(format: dict[str, Any], known: Capabilities, refused: bool) -> None:
    assert paths({"text": {"format": format}}, known) == (["text.format"] if refused else [])


TOOL = {"type": "function", "name": "f", "parameters": {}}


@pytest.mark.parametrize(
    ("fields", "known", "found"),
    [
        ({"tools": [TOOL]}, Capabilities(tools=False), ["tools"]),
        ({"tools": []}, Capabilities(tools=False), []),
        ({"tools": [TOOL], "tool_choice": "required"}, Capabilities(tools=False, forced_tools=False), ["tools"]),
        ({"tools": [TOOL], "tool_choice": "required"}, Capabilities(forced_tools=False), ["tool_choice"]),
        ({"tool_choice": {"type": "function", "name": "f"}}, Capabilities(forced_tools=False), ["tool_choice"]),
        ({"tool_choice": {"type": "shell"}}, Capabilities(forced_tools=False), ["tool_choice"]),
        (
            {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": []}},
            Capabilities(forced_tools=False),
            ["tool_choice"],
        ),
        ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, Capabilities(forced_tools=False), []),
        ({"tool_choice": "auto"}, Capabilities(forced_tools=False), []),
        ({"tool_choice": "none"}, Capabilities(forced_tools=False), []),
        ({"parallel_tool_calls": True}, Capabilities(parallel_tools=False), ["parallel_tool_calls"]),
        ({"parallel_tool_calls": False}, Capabilities(parallel_tools=False), []),
    ],
)
def test_tools(fields: dict[str, Any], known: Capabilities, found: list[str]) -> None:
    assert paths(fields, known) == found


@pytest.mark.parametrize(
    ("chat_tools", "options", "found"),
    [
        (False, {}, ["tools"]),
        (False, {"reasoning": {"effort": "none"}}, ["tools"]),
        ("without_reasoning", {}, ["reasoning.effort"]),
        ("without_reasoning", {"reasoning": {"effort": "low"}}, ["reasoning.effort"]),
        ("without_reasoning", {"reasoning": {"effort": "none"}}, []),
        (None, {"reasoning": {"effort": "low"}}, []),
    ],
)
def test_tools_on_the_chat_wire_may_need_another_wire_or_no_reasoning(
    chat_tools: Any, options: dict[str, Any], found: list[str]
) -> None:
    known = Capabilities(reasoning=True, default_effort="medium", chat_tools=chat_tools)
    asked = request(tools=[TOOL], **options)
    problems = check(asked, known, "openai_chat")
    assert [problem.path for problem in problems] == found
    assert all("openai_responses" in problem.what for problem in problems), "the way out"
    assert check(asked, known, "openai_responses") == check(asked, known) == []
    assert check(request(tools=[{"type": "web_search"}], **options), known, "openai_chat") == []
    left, lost = without(asked, problems)
    assert check(left, known, "openai_chat") == []
    assert [loss.path for loss in lost] == found


def test_tools_on_the_chat_wire_are_taken_where_the_model_does_not_reason_by_default() -> None:
    assert check(request(tools=[TOOL]), capabilities("gpt-5.4", "openai"), "openai_chat") == []


def test_encrypted_reasoning_is_not_asked_of_a_model_that_does_not_reason() -> None:
    asked = request(include=["a", "reasoning.encrypted_content"])
    problems = check(asked, capabilities("gpt-4.1", "openai"))
    assert [problem.path for problem in problems] == ["include"]
    assert without(asked, problems)[0].include == ["a"]
    assert check(request(include=["a"]), capabilities("gpt-4.1", "openai")) == []
    assert check(asked, capabilities("gpt-5", "openai")) == []


def test_instructions_that_a_model_refuses_are_found_where_they_stand() -> None:
    known = Capabilities(instructions=False)
    said = {"type": "message", "role": "system", "content": "Be brief."}
    asked = request(instructions="Be kind.", input=[said, user(TEXT), {**said, "role": "developer"}])
    problems = check(asked, known)
    assert [problem.path for problem in problems] == ["instructions", "input[0]", "input[2]"]
    assert msgspec.to_builtins(without(asked, problems)[0]) == {"input": [user(TEXT)]}
    assert check(request(instructions="", input=[user(TEXT)]), known) == []


def test_the_tools_of_the_vendor_are_not_meant_where_functions_are_refused() -> None:
    hosted = {"type": "web_search"}
    asked = request(tools=[TOOL, hosted])
    problems = check(asked, Capabilities(tools=False))
    assert [problem.path for problem in problems] == ["tools"]
    left, lost = without(asked, problems)
    assert msgspec.to_builtins(left.tools) == [hosted]
    assert [(loss.path, loss.kind) for loss in lost] == [("tools", "dropped")]
    assert check(request(tools=[hosted]), Capabilities(tools=False)) == []


def test_a_forced_call_may_exclude_reasoning() -> None:
    known = Capabilities(reasoning=True, default_effort="none", forced_tools="without_reasoning")
    assert paths({"tool_choice": "required"}, known) == []
    assert paths({"tool_choice": "required", "reasoning": {"effort": "low"}}, known) == ["tool_choice"]


TEXT, IMAGE = {"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "https://h/i.png"}
FILE = {"type": "input_file", "file_url": "https://h/f.pdf"}
AUDIO = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
BLIND = Capabilities(vision=False, pdf=False, audio=False)


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(parts)}


def output(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "c", "output": list(parts)}


def test_content_is_found_where_it_stands() -> None:
    items = [user(TEXT), user(IMAGE, TEXT, FILE, AUDIO), CALL, output(TEXT, IMAGE)]
    assert paths({"input": items}, BLIND) == [
        "input[1].content[0]",
        "input[1].content[2]",
        "input[1].content[3]",
        "input[3].output[1]",
    ]
    assert paths({"input": items}, Capabilities(vision=False)) == ["input[1].content[0]", "input[3].output[1]"]
    assert paths({"input": items}, Capabilities(vision=True, pdf=True, audio=True)) == []


# --- what to do about it --------------------------------------------------------------------------------------------


def test_the_error_names_every_problem_and_the_ways_out() -> None:
    problems = check(request(temperature=0.2, reasoning={"effort": "none"}), capabilities("gpt-5", "openai"))
    error = capability_error(problems, model="gpt-5", vendor="openai")
    assert isinstance(error, CapabilityError)
    assert (error.model, error.vendor, error.code, error.retryable) == ("gpt-5", "openai", "invalid_request", False)
    assert error.message.startswith("gpt-5 does not support this request: temperature: ")
    assert "; reasoning.effort: 'none' is not supported" in error.message
    assert error.hint is not None
    assert 'invalid_options="drop"' in error.hint


def test_offending_options_are_left_out_and_reported() -> None:
    asked = request(
        temperature=0.2,
        stop=["x"],
        reasoning={"effort": "odd", "summary": "auto"},
        text={"format": {"type": "json_object"}, "verbosity": "low"},
        metadata={"a": "b"},
    )
    known = msgspec.structs.replace(REASONS, efforts=("low",), json_mode=False)
    left, lost = without(asked, check(asked, known))
    assert msgspec.to_builtins(left) == {
        "input": "hi",
        "reasoning": {"summary": "auto"},
        "text": {"verbosity": "low"},
        "metadata": {"a": "b"},
    }
    assert [(loss.path, loss.kind) for loss in lost] == [
        ("temperature", "dropped"),
        ("stop", "dropped"),
        ("reasoning.effort", "dropped"),
        ("text.format", "dropped"),
    ]
    assert asked.temperature == 0.2, "the request that was given is not changed"


def test_a_close_value_is_taken_where_there_is_one() -> None:
    asked = request(max_output_tokens=2000, tools=[TOOL], tool_choice="required", parallel_tool_calls=True)
    known = Capabilities(max_output=1000, forced_tools=False, parallel_tools=False)
    left, lost = without(asked, check(asked, known))
    assert (left.max_output_tokens, left.tool_choice, left.parallel_tool_calls) == (1000, "auto", False)
    assert {loss.kind for loss in lost} == {"changed"}
    assert lost[0] == Loss(
        "max_output_tokens", "this model gives at most 1000 tokens; ask for no more; sent as 1000", "changed"
    )


def test_tools_go_with_everything_that_speaks_of_them() -> None:
    asked = request(tools=[TOOL], tool_choice="auto", parallel_tool_calls=True)
    left, lost = without(asked, check(asked, Capabilities(tools=False, parallel_tools=False)))
    assert msgspec.to_builtins(left) == {"input": "hi"}
    assert [loss.path for loss in lost] == ["tools"]


def test_content_is_left_out_and_every_call_keeps_an_output() -> None:
    asked = request(input=[user(TEXT, IMAGE), user(IMAGE), user(TEXT), CALL, output(IMAGE), user()])
    left, lost = without(asked, check(asked, BLIND))
    assert msgspec.to_builtins(left.input) == [
        user(TEXT),
        user(TEXT),
        CALL,
        {"type": "function_call_output", "call_id": "c", "output": ""},
        user(),
    ]
    assert [loss.path for loss in lost] == ["input[0].content[1]", "input[1].content[0]", "input[4].output[0]"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.prefix or 'any'}@{','.join(row.at or ('anywhere',))}")
def test_what_is_left_fits(row: Row) -> None:
    asked = request(
        input=[user(TEXT, IMAGE, FILE, AUDIO)],
        temperature=0.2,
        top_p=0.1,
        top_k=3,
        top_logprobs=3,
        presence_penalty=1,
        frequency_penalty=1,
        stop=["x"],
        max_output_tokens=10**7,
        reasoning={"effort": "odd"},
        text={"format": {"type": "json_schema", "name": "n", "schema": {}}},
        tools=[TOOL],
        tool_choice="required",
        parallel_tool_calls=True,
    )
    problems = check(asked, row.facts)
    left, lost = without(asked, problems)
    assert check(left, row.facts) == []
    assert len(lost) == len(problems)


def test_without_problems_the_request_stays() -> None:
    asked = request(temperature=0.2)
    assert without(asked, []) == (asked, [])


def test_a_problem_is_a_value() -> None:
    assert Problem(path="a", what="b", option="a") == Problem(path="a", what="b", option="a")


# --- recorded -------------------------------------------------------------------------------------------------------


def recorded(wire: str) -> list[dict[str, Any]]:
    with gzip.open(CORPUS / f"{wire}.jsonl.gz") as lines:
        found = [msgspec.json.decode(line) for line in lines]
    return [e for e in found if e["request"] and isinstance(e["request"]["body"], dict)]


def options_of(wire: str, body: dict[str, Any]) -> dict[str, Any]:
    """The options of a recorded request by their names in Responses; what they say to the model, not how it is spelled."""
    if wire == "openai_responses":
        return body
    same = (
        "model temperature top_p top_k top_logprobs presence_penalty frequency_penalty stop parallel_tool_calls".split()
    )
    fields = {name: body[name] for name in same if name in body}
    fields["max_output_tokens"] = body.get("max_completion_tokens") or body.get("max_tokens")
    if wire == "openai_chat":
        effort, choice = body.get("reasoning_effort"), body.get("tool_choice")
        fields["tool_choice"] = {"type": "function", "name": "f"} if isinstance(choice, dict) else choice
        kind = (body.get("response_format") or {}).get("type")
        if kind is not None:
            fields["text"] = {"format": {"type": kind}}
    else:
        thinking = (body.get("thinking") or {}).get("type")
        effort = (body.get("output_config") or {}).get("effort") or ("high" if thinking == "enabled" else None)
        fields["tool_choice"] = {"any": "required", "tool": "required"}.get(
            (body.get("tool_choice") or {}).get("type", "")
        )
        if thinking == "disabled":
            effort = "none"
        if (body.get("output_config") or {}).get("format"):
            fields["text"] = {"format": {"type": "json_schema"}}
    fields["reasoning"] = {"effort": effort} if effort else None
    fields["tools"] = [TOOL for _ in body.get("tools") or []]
    text = msgspec.json.encode(body["messages"])
    pictures = b'"type":"image_url"' in text or b'"type":"image"' in text
    fields["input"] = [user(IMAGE)] if pictures else "hi"
    return {name: value for name, value in fields.items() if value is not None}


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recorded traffic at {CORPUS}")
@pytest.mark.parametrize(
    ("wire", "at_least"), [("openai_responses", 150), ("openai_chat", 150), ("anthropic_messages", 200)]
)
def test_no_request_that_a_vendor_accepted_is_refused(wire: str, at_least: int) -> None:
    seen = 0
    for exchange in recorded(wire):
        if exchange["response"]["status"] == 200:
            asked = REQUEST.decode(msgspec.json.encode(options_of(wire, exchange["request"]["body"])))
            known = capabilities(str(asked.model), exchange["vendor"])
            assert check(asked, known) == [], exchange["id"]
            seen += known is not UNKNOWN
    assert seen >= at_least


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recorded traffic at {CORPUS}")
def test_the_default_efforts_are_those_the_vendor_answered_with() -> None:
    seen: set[str] = set()
    for exchange in recorded("openai_responses"):
        body, answer = exchange["request"]["body"], exchange["response"].get("body")
        if exchange["vendor"] != "openai" or exchange["response"]["status"] != 200 or not isinstance(answer, dict):
            continue
        known = capabilities(body["model"], "openai")
        if (body.get("reasoning") or {}).get("effort") is None and known is not UNKNOWN:
            assert (answer.get("reasoning") or {}).get("effort") == known.default_effort, exchange["id"]
            seen.add(body["model"])
    assert {"gpt-4o", "gpt-5", "gpt-5-pro", "gpt-5.2", "gpt-5.4", "gpt-5.5", "gpt-5.6"} <= seen


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recorded traffic at {CORPUS}")
def test_the_efforts_of_a_model_are_those_its_vendor_listed_when_it_refused_another() -> None:
    refusals = [e["response"]["body"] for e in recorded("anthropic_messages") if e["response"]["status"] == 400]
    (message,) = [body["error"]["message"] for body in refusals if "effort level" in body["error"]["message"]]
    listed = set(message.partition("Supported levels: ")[2].rstrip(".").split(", "))
    assert listed == set(capabilities("claude-opus-4-6", "anthropic").efforts or ()) - {"none"}


def test_deepseek_refuses_a_forced_call_only_while_it_thinks() -> None:
    def problems(model: str, **more: Any) -> list[str]:
        known = capabilities(model, "deepseek")
        request = msgspec.convert({"model": model, "input": "Hi", "tools": [TOOL], **more}, Request)
        return [problem.path for problem in check(request, known)]

    for choice in ("required", {"type": "function", "name": "f"}):
        assert problems("deepseek-v4-flash", tool_choice=choice) == ["tool_choice"]
        assert problems("deepseek-v4-flash", tool_choice=choice, reasoning={"effort": "none"}) == []
        assert problems("deepseek-chat", tool_choice=choice) == []
