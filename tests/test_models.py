"""Models: the facts about each, and what `check` finds wrong with a request before it is sent."""

from __future__ import annotations

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
    Row,
    capabilities,
    capability_error,
    check,
    without,
)
from llm_rest.vendors.rows import VENDORS
from tests.corpus import exchanges

EFFORTS = {"none", "minimal", "low", "medium", "high", "xhigh", "max", "default"}


ALWAYS = ("low", "medium", "high", "xhigh", "max")
"""The efforts of models whose reasoning cannot be switched off."""


def request(**fields: Any) -> Request:
    return REQUEST.decode(msgspec.json.encode({"input": "hi", **fields}))


def paths(fields: dict[str, Any], known: Capabilities) -> list[str]:
    return [problem.path for problem in check(request(**fields), known)]


# --- the table ------------------------------------------------------------------------------------------------------


def faults(row: Row) -> list[str]:
    """What is wrong with a row of the table."""
    facts, efforts = row.facts, set(row.facts.efforts or ())
    sound = {
        "the source says where the facts come from and when they were read": "2026" in facts.source,
        "a prefix is in lower case": row.prefix == row.prefix.lower().strip(),
        "it is at vendors of the table": row.at is None or set(row.at) <= {*VENDORS, ""},
        "efforts are words of the API": efforts <= EFFORTS,
        "efforts belong to a model that reasons": facts.reasoning is not False or not efforts,
        "a default effort belongs to a model that reasons": facts.default_effort is None or facts.reasoning,
        "a default effort is one of its efforts": facts.default_effort in (None, "none", *efforts),
        "an answer fits into the context": (facts.max_output or 0) <= (facts.context_window or 10**9),
    }
    return [name for name, holds in sound.items() if not holds]


def test_a_row_has_a_source_and_consistent_facts() -> None:
    assert {(row.prefix, row.at): found for row in ROWS if (found := faults(row))} == {}


def test_no_two_rows_say_something_about_the_same_models() -> None:
    seen = [(row.prefix, vendor) for row in ROWS for vendor in (row.at or ("anywhere",))]
    assert sorted({place for place in seen if seen.count(place) > 1}) == []


KNOWN: dict[tuple[str, str | None], dict[str, Any]] = {
    ("gpt-5", "openai"): {"efforts": ("minimal", "low", "medium", "high"), "sampling": False, "vision": True},
    ("gpt-5-mini-2025-08-07", "openai"): {"efforts": ("minimal", "low", "medium", "high"), "max_output": 128_000},
    ("gpt-5-pro", "openai"): {"efforts": ("high",), "max_output": 272_000},
    ("gpt-6-astra", "openai"): {"efforts": ALWAYS, "reasoning": "always", "sampling": False},
    ("gpt-6.1-terra", "openai"): {"efforts": None, "default_effort": None, "reasoning": True},
    ("gpt-4o-2024-05-13", "openai"): {"json_schema": False},
    ("gemini-4-carbon", "vertex"): {"whole_output": 32_768, "penalties": False, "context_window": 1_048_576},
    ("gemma-3-27b-it", "google"): {"instructions": False, "tools": False},
    ("gemma-4-31b-it", "google"): {"instructions": None, "tools": None},
    ("deepseek-v4-flash", "deepseek"): {"vision": False, "forced_tools": "without_reasoning"},
    # A host has facts of its own, of a model or of all of them, and those of the maker of the model.
    ("openai/gpt-oss-120b", "groq"): {"efforts": ("low", "medium", "high"), "logprobs": False},
    ("whatever-new", "groq"): {"logprobs": False, "vision": None},
    ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "together"): {"vision": False},
    ("gpt-oss-120b", None): {"efforts": None},
    ("anthropic/claude-haiku-4-5", None): {"max_output": 64_000},
    # A prefix ends at the end of a word.
    ("glm-4.6v", "zai"): {"vision": None},
    ("glm-4.6", "zai"): {"vision": False},
    ("minimax/minimax-m2:free", "openrouter"): {"vision": False},
}


def test_the_facts_of_a_model_are_found_by_its_name_and_vendor() -> None:
    found = {
        (model, vendor): {name: getattr(capabilities(model, vendor), name) for name in facts}
        for (model, vendor), facts in KNOWN.items()
    }
    assert found == KNOWN


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("gpt-4.1x", "openai"),
        ("gpt-5", "azure_openai"),
        ("openai/gpt-5", "openrouter"),
        ("", None),
    ],
)
def test_nothing_is_refused_of_a_model_that_is_not_in_the_table(model: str, vendor: str | None) -> None:
    known = capabilities(model, vendor)
    everything = request(temperature=0.2, stop=["x"], reasoning={"effort": "odd"}, max_output_tokens=10**9)
    assert check(everything, known) == []
    assert known.vision is None


KNOWN_TO_BOTH = [name for name in MESSAGES_MODELS if capabilities(name, "anthropic") is not UNKNOWN]


def test_the_table_agrees_with_the_facts_of_the_messages_wire() -> None:
    assert len(KNOWN_TO_BOTH) >= 15
    for name in KNOWN_TO_BOTH:
        ours, theirs = capabilities(name, "anthropic"), MESSAGES_MODELS[name]
        assert ours.max_output in (None, theirs.max_tokens), name
        assert (ours.sampling is False) == (theirs.sampling == "no"), name
        assert theirs.forced_tools or ours.forced_tools is False, name
        assert "disabled" not in theirs.thinking or ours.reasoning not in (None, "always"), name


# --- what a request may not have -------------------------------------------------------------------------------------

REASONS = Capabilities(reasoning="always", sampling=False, penalties=False, logprobs=False, stop=False)
OPTIONAL = Capabilities(reasoning=True, efforts=("none", "low"), sampling="without_reasoning")
BY_DEFAULT = msgspec.structs.replace(OPTIONAL, default_effort="medium")
ON_DEMAND = msgspec.structs.replace(OPTIONAL, default_effort="none")
NEVER = Capabilities(reasoning=False)
LOW_HIGH = Capabilities(reasoning=True, efforts=("low", "high"))
UNFORCED = Capabilities(forced_tools=False)
UNFORMATTED = Capabilities(json_schema=False, json_mode=False)
ANY = {"temperature": 0.2, "tools": [{"type": "function", "name": "f"}], "reasoning": {"effort": "high"}}
LOW, NONE = {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "none"}}
TOOL = {"type": "function", "name": "f", "parameters": {}}
SCHEMA = {"text": {"format": {"type": "json_schema", "name": "n", "schema": {}}}}
JSON = {"text": {"format": {"type": "json_object"}}}
DEEPSEEK = capabilities("deepseek-v4-flash", "deepseek")


def allowed(mode: str) -> dict[str, Any]:
    return {"tool_choice": {"type": "allowed_tools", "mode": mode, "tools": []}}


CHECKED: list[tuple[Capabilities, dict[str, Any], list[str]]] = [
    (Capabilities(), ANY, []),
    (REASONS, {"temperature": 0}, ["temperature"]),
    (REASONS, {"top_p": 0.5, "top_k": 3}, ["top_p", "top_k"]),
    (REASONS, {"presence_penalty": 1, "frequency_penalty": -1}, ["presence_penalty", "frequency_penalty"]),
    (REASONS, {"top_logprobs": 5}, ["top_logprobs"]),
    (REASONS, {"stop": ["x"]}, ["stop"]),
    # the default values, and what is not given
    (REASONS, {"temperature": 1, "top_p": 1.0, "presence_penalty": 0, "frequency_penalty": 0.0, "top_logprobs": 0}, []),
    (REASONS, {"top_p": 0.98, "stop": [], "temperature": None}, []),
    # sampling that depends on whether the model reasons
    (ON_DEMAND, {"temperature": 0.2, **NONE}, []),
    (ON_DEMAND, {"temperature": 0.2, **LOW}, ["temperature"]),
    (ON_DEMAND, {"temperature": 0.2, "reasoning": {"summary": "auto"}}, []),
    (BY_DEFAULT, {"temperature": 0.2, "reasoning": {"effort": None}}, ["temperature"]),
    (BY_DEFAULT, {"temperature": 0.2, **NONE}, []),
    (OPTIONAL, {"temperature": 0.2}, []),
    # efforts
    (NEVER, {"reasoning": {"effort": "high"}}, ["reasoning.effort"]),
    (NEVER, NONE, []),
    (Capabilities(reasoning=False, efforts=()), NONE, ["reasoning.effort"]),
    (LOW_HIGH, {"reasoning": {"effort": "xhigh"}}, ["reasoning.effort"]),
    (LOW_HIGH, LOW, []),
    (msgspec.structs.replace(LOW_HIGH, nearest_effort=True), {"reasoning": {"effort": "xhigh"}}, []),
    (Capabilities(reasoning=True), {"reasoning": {"effort": "xhigh"}}, []),
    # output
    (Capabilities(max_output=1000), {"max_output_tokens": 1001}, ["max_output_tokens"]),
    (Capabilities(max_output=1000), {"max_output_tokens": 1000}, []),
    (Capabilities(json_schema=False), SCHEMA, ["text.format"]),
    (Capabilities(json_mode=False), SCHEMA, []),
    (Capabilities(json_mode=False), JSON, ["text.format"]),
    (Capabilities(json_schema=False), JSON, []),
    (UNFORMATTED, {"text": {"format": {"type": "text"}}}, []),
    # tools
    (Capabilities(tools=False), {"tools": [TOOL]}, ["tools"]),
    (Capabilities(tools=False), {"tools": []}, []),
    (Capabilities(tools=False), {"tools": [{"type": "web_search"}]}, []),
    (Capabilities(tools=False, forced_tools=False), {"tools": [TOOL], "tool_choice": "required"}, ["tools"]),
    (UNFORCED, {"tools": [TOOL], "tool_choice": "required"}, ["tool_choice"]),
    (UNFORCED, {"tool_choice": {"type": "function", "name": "f"}}, ["tool_choice"]),
    (UNFORCED, allowed("required"), ["tool_choice"]),
    (UNFORCED, allowed("auto"), []),
    (UNFORCED, {"tool_choice": "auto"}, []),
    (Capabilities(parallel_tools=False), {"parallel_tool_calls": True}, ["parallel_tool_calls"]),
    (Capabilities(parallel_tools=False), {"parallel_tool_calls": False}, []),
    (DEEPSEEK, {"tools": [TOOL], "tool_choice": "required"}, ["tool_choice"]),
    (DEEPSEEK, {"tools": [TOOL], "tool_choice": "required", **NONE}, []),
    (capabilities("deepseek-chat", "deepseek"), {"tools": [TOOL], "tool_choice": "required"}, []),
    # encrypted reasoning, instructions
    (capabilities("gpt-4.1", "openai"), {"include": ["a", "reasoning.encrypted_content"]}, ["include"]),
    (capabilities("gpt-4.1", "openai"), {"include": ["a"]}, []),
    (Capabilities(instructions=False), {"instructions": ""}, []),
]  # fmt: skip
"""The facts of a model, the fields of a request, and the paths of the problems."""


def test_a_request_is_checked_against_the_facts_of_the_model() -> None:
    found = [(fields, paths(fields, known)) for known, fields, _ in CHECKED]
    assert found == [(fields, expected) for _, fields, expected in CHECKED]


@pytest.mark.parametrize(
    ("chat_tools", "options", "found"),
    [
        (False, {}, ["tools"]),
        (False, NONE, ["tools"]),
        ("without_reasoning", {}, ["reasoning.effort"]),
        ("without_reasoning", LOW, ["reasoning.effort"]),
        ("without_reasoning", NONE, []),
        (None, LOW, []),
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


TEXT, IMAGE = {"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "https://h/i.png"}
FILE = {"type": "input_file", "file_url": "https://h/f.pdf"}
AUDIO = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
BLIND = Capabilities(vision=False, pdf=False, audio=False)


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(parts)}


def output(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "c", "output": list(parts)}


# --- what to do about it --------------------------------------------------------------------------------------------


def test_the_error_names_every_problem_and_the_ways_out() -> None:
    problems = check(request(temperature=0.2, **NONE), capabilities("gpt-5", "openai"))
    error = capability_error(problems, model="gpt-5", vendor="openai")
    assert isinstance(error, CapabilityError)
    assert (error.model, error.vendor, error.code, error.retryable) == ("gpt-5", "openai", "invalid_request", False)
    start, *others = error.message.split("; ")
    assert start.startswith("gpt-5 does not support this request: temperature: ")
    assert others[-2:] == [
        "reasoning.effort: 'none' is not supported by this model",
        "it supports minimal, low, medium, high",
    ]
    assert 'invalid_options="drop"' in str(error.hint)


SAID = {"type": "message", "role": "system", "content": "Be brief."}
HOSTED = {"type": "web_search"}


@pytest.mark.parametrize(
    ("known", "dropped", "left"),
    [
        (
            msgspec.structs.replace(REASONS, efforts=("low",), json_mode=False),
            {"temperature": 0.2, "stop": ["x"], "reasoning.effort": "odd", "text.format": {"type": "json_object"}},
            {"input": "hi", "reasoning": {"summary": "auto"}, "text": {"verbosity": "low"}, "metadata": {"a": "b"}},
        ),
        (
            Capabilities(instructions=False),
            {"instructions": "Be kind.", "input[0]": SAID, "input[2]": {**SAID, "role": "developer"}},
            {"input": [user(TEXT)]},
        ),
        (Capabilities(tools=False), {"tools": [TOOL, HOSTED]}, {"input": "hi", "tools": [HOSTED]}),
    ],
    ids=["options", "instructions", "functions"],
)
def test_what_a_model_does_not_take_is_left_out_and_reported(
    known: Capabilities, dropped: dict[str, Any], left: dict[str, Any]
) -> None:
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(left))
    for path, value in dropped.items():
        name, _, inner = path.partition(".")
        if name.startswith("input["):
            fields["input"].insert(int(name[6:-1]), value)
        elif inner:
            fields[name][inner] = value
        else:
            fields[name] = value
    asked = request(**fields)
    found, lost = without(asked, check(asked, known))
    assert msgspec.to_builtins(found) == left
    assert [(loss.path, loss.kind) for loss in lost] == [(path, "dropped") for path in dropped]
    assert asked == request(**fields), "the request that was given is not changed"


def test_a_close_value_is_taken_where_there_is_one() -> None:
    asked = request(max_output_tokens=2000, tools=[TOOL], tool_choice="required", parallel_tool_calls=True)
    known = Capabilities(max_output=1000, forced_tools=False, parallel_tools=False)
    left, lost = without(asked, check(asked, known))
    assert (left.max_output_tokens, left.tool_choice, left.parallel_tool_calls) == (1000, "auto", False)
    assert {loss.kind for loss in lost} == {"changed"}
    assert lost[0] == Loss(
        "max_output_tokens", "this model gives at most 1000 tokens; ask for no more; sent as 1000", "changed"
    )


def test_without_tools_the_options_about_them_are_left_out() -> None:
    asked = request(tools=[TOOL], tool_choice="auto", parallel_tool_calls=True)
    left, lost = without(asked, check(asked, Capabilities(tools=False, parallel_tools=False)))
    assert (msgspec.to_builtins(left), [loss.path for loss in lost]) == ({"input": "hi"}, ["tools"])


def test_new_content_is_refused_and_content_of_earlier_turns_is_left_out() -> None:
    asked = request(input=[user(TEXT, IMAGE), user(IMAGE), user(TEXT), CALL, output(IMAGE), user()])
    left, lost = without(asked, check(asked, BLIND))
    assert msgspec.to_builtins(left.input) == [user(TEXT), user(TEXT), CALL, output(IMAGE), user()]
    images = ["input[0].content[1]", "input[1].content[0]", "input[4].output[0]"]
    assert [(loss.path, loss.kind) for loss in lost] == [
        (images[0], "dropped"),
        (images[1], "dropped"),
        (images[2], "refused"),
    ]
    later = request(input=[*msgspec.to_builtins(asked.input), {"role": "assistant", "content": "Seen."}, user(TEXT)])
    left, lost = without(later, check(later, BLIND))
    assert {loss.kind for loss in lost} == {"dropped"}
    assert msgspec.to_builtins(left.input)[3]["output"] == "", "every call keeps an output"
    more = {"input": [*msgspec.to_builtins(asked.input), user(FILE, AUDIO)]}
    assert paths(more, BLIND) == [*images, "input[6].content[0]", "input[6].content[1]"]
    assert paths(more, Capabilities(vision=False)) == images
    assert paths(more, Capabilities(vision=True, pdf=True, audio=True)) == []


def test_what_is_left_fits() -> None:
    numbers = {"temperature": 0.2, "top_p": 0.1, "top_k": 3, "top_logprobs": 3, "max_output_tokens": 10**7}
    penalties = {"presence_penalty": 1, "frequency_penalty": 1, "stop": ["x"], "reasoning": {"effort": "odd"}}
    tools = {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": True}
    asked = request(input=[user(TEXT)], **numbers, **penalties, **tools, **SCHEMA)
    for row in ROWS:
        problems = check(asked, row.facts)
        left, lost = without(asked, problems)
        assert (check(left, row.facts), len(lost)) == ([], len(problems)), (row.prefix, row.at)


# --- recorded -------------------------------------------------------------------------------------------------------


def test_the_default_efforts_are_those_the_vendor_answered_with() -> None:
    seen: set[str] = set()
    for exchange in exchanges("openai_responses"):
        if exchange.vendor != "openai" or exchange.question is None or exchange.answer is None:
            continue
        asked, answer = msgspec.json.decode(exchange.question), msgspec.json.decode(exchange.answer)
        known = capabilities(asked.get("model", ""), "openai")
        if (asked.get("reasoning") or {}).get("effort") is None and known is not UNKNOWN and isinstance(answer, dict):
            assert (answer.get("reasoning") or {}).get("effort") == known.default_effort, exchange.id
            seen.add(asked["model"])
    assert {"gpt-4o", "gpt-5", "gpt-5-pro", "gpt-5.2", "gpt-5.4", "gpt-5.5", "gpt-5.6"} <= seen


def test_the_efforts_of_a_model_are_those_its_vendor_listed_when_it_refused_another() -> None:
    refusals = [
        msgspec.json.decode(e.error) for e in exchanges("anthropic_messages") if e.response.status == 400 and e.error
    ]
    (message,) = [body["error"]["message"] for body in refusals if "effort level" in body["error"]["message"]]
    listed = set(message.partition("Supported levels: ")[2].rstrip(".").split(", "))
    assert listed == set(capabilities("claude-opus-4-6", "anthropic").efforts or ()) - {"none"}
