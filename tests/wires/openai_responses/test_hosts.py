"""The hosts of the table in the documentation, as their rows describe them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    InputFile,
    InputImage,
    Message,
    Reasoning,
    ReasoningOptions,
    ReasoningText,
    Request,
    WebSearchCall,
    WebSearchTool,
)
from llm_rest.unknown import Unknown
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.vendors.rows import resolve
from llm_rest.wires import openai_responses as wire


def dialect(vendor: str) -> ResponsesDialect:
    found = resolve(f"{vendor}/m", wire="openai_responses", base_url="https://a.b/v1", environ={}).dialect
    assert isinstance(found, ResponsesDialect)
    return found


def sent(vendor: str, **fields: Any) -> tuple[dict[str, Any], list[str]]:
    body, lost = wire.encode_request(Request(**fields), dialect=dialect(vendor))
    return msgspec.json.decode(msgspec.json.encode(body)), [f"{loss.path} ({loss.kind})" for loss in lost]


def thought(vendor: str) -> list[Any]:
    """Opaque reasoning of a host, as it is kept."""
    reasoning = Reasoning(id="rs_1", summary=[], encrypted_content="opaque")
    request, _ = wire.decode_request(Request(input=[reasoning]), dialect=dialect(vendor))
    assert isinstance(request.input, list)
    return request.input


@pytest.mark.parametrize(("one", "other"), [("openai", "azure_openai"), ("azure_openai", "openai"), ("xai", "meta")])
def test_opaque_state_of_one_host_never_goes_to_another(one: str, other: str) -> None:
    """responses.request.26"""
    assert len(sent(one, input=thought(one))[0]["input"]) == 1
    assert sent(other, input=thought(one)) == ({"input": []}, ["input[0].encrypted_content (withheld)"])


def test_tools_and_searches_of_xai_pass() -> None:
    """responses.request.27"""
    body, lost = sent(
        "xai", tools=[Unknown({"type": "x_search"})], input=[WebSearchCall(id="ws_1", call_id="", name="x")]
    )
    assert body == {
        "tools": [{"type": "x_search"}],
        "input": [{"type": "web_search_call", "id": "ws_1", "call_id": "", "name": "x"}],
    }
    assert lost == []


def test_deepseek_gets_its_raw_reasoning_and_its_calls_side_by_side() -> None:
    """responses.request.28"""
    items: list[Any] = [
        Reasoning(id="1e97", summary=[], content=[ReasoningText(text="Hm.")]),
        FunctionCall(id="2f08", call_id="a", name="f", arguments="{}"),
        Message(role="assistant", content="And"),
        FunctionCall(call_id="b", name="f", arguments="{}"),
        FunctionCallOutput(call_id="a", output=""),
        FunctionCallOutput(call_id="b", output=""),
    ]
    request, _ = wire.decode_request(Request(input=items), dialect=dialect("deepseek"))
    body, lost = sent("deepseek", input=request.input, reasoning=ReasoningOptions(effort="minimal"))
    assert [item["type"] for item in body["input"]] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert (body["input"][0]["id"], body["input"][2]["id"], body["reasoning"]) == ("1e97", "2f08", {"effort": "low"})
    assert lost == ["input[2] (changed)", "reasoning.effort (changed)"]


def test_groq_lacks_fields() -> None:
    """responses.request.29"""
    fields = {"truncation": "auto", "include": ["a"], "safety_identifier": "s", "prompt_cache_key": "k"}
    assert sent("groq", **fields) == ({}, [f"{name} (dropped)" for name in fields])


def test_mistral_takes_one_value_and_two_kinds_of_tools() -> None:
    """responses.request.30"""
    taken = {"store": False, "background": False, "truncation": "disabled", "top_logprobs": 0}
    assert sent("mistral", **taken) == (taken, [])
    body, lost = sent("mistral", top_logprobs=3, store=True, tools=[FunctionTool(name="f"), WebSearchTool()])
    assert body == {"tools": [{"type": "function", "name": "f"}]}
    assert sorted(lost) == ["store (dropped)", "tools[1] (dropped)", "top_logprobs (dropped)"]


def test_openrouter_keeps_nothing_and_takes_top_k() -> None:
    """responses.request.31"""
    assert sent("openrouter", store=True, top_k=4) == ({"top_k": 4}, ["store (dropped)"])


def test_lm_studio_takes_the_penalties_and_any_id() -> None:
    """responses.request.32"""
    fields: dict[str, Any] = {"presence_penalty": 0.5, "input": [Message(id="x", role="user", content="Hi")]}
    body, lost = sent("lmstudio", previous_response_id="resp_1", **fields)
    assert (body["presence_penalty"], body["input"][0]["id"], body["previous_response_id"]) == (0.5, "x", "resp_1")
    assert lost == []


def test_ollama_keeps_nothing_below_another_path() -> None:
    """responses.request.33"""
    assert wire.route(Request(), dialect=dialect("ollama")).path == "/v1/responses"
    assert sent("ollama", input=[Message(id="x", role="user", content="Hi")])[0]["input"][0]["id"] == "x"


def test_vllm_takes_sampling_options_and_its_raw_reasoning() -> None:
    """responses.request.34"""
    items: list[Any] = [Reasoning(id="r", summary=[], content=[ReasoningText(text="Hm.")])]
    request, _ = wire.decode_request(Request(input=items), dialect=dialect("vllm"))
    body, lost = sent("vllm", top_k=4, frequency_penalty=0.5, input=request.input)
    assert (body["top_k"], body["frequency_penalty"], len(body["input"])) == (4, 0.5, 1)
    assert lost == []


def test_meta_chooses_tools_by_itself() -> None:
    """responses.request.35"""
    assert sent("meta", tool_choice="auto") == ({"tool_choice": "auto"}, [])
    assert sent("meta", tool_choice="required") == ({}, ["tool_choice (dropped)"])


@pytest.mark.parametrize(
    "vendor",
    [
        "sambanova",
        "fireworks",
        "huggingface",
        "vercel_gateway",
        "github_copilot",
        "deepseek",
        "groq",
        "mistral",
        "openrouter",
        "ollama",
    ],
)
def test_a_host_that_keeps_nothing_refuses_to_be_tied_to_what_was_kept(vendor: str) -> None:
    """responses.request.36"""
    assert sent(vendor, previous_response_id="resp_1") == ({}, ["previous_response_id (refused)"])


def test_what_only_one_vendor_has_is_sent_as_it_is() -> None:
    """responses.request.37"""
    content: list[Any] = [InputImage(file_id="file_1", detail="original"), InputFile(file_id="file_2", detail="low")]
    request = Request(
        input=[Message(role="user", content=content)],
        reasoning=ReasoningOptions(effort="max"),
        service_tier="ultrafast",
        tools=[Unknown({"type": "acme:search"})],
        include=["file_search_call.results"],
    )
    assert wire.encode_request(request) == (request, [])


def test_a_stream_of_ours_ends_as_the_core_asks() -> None:
    """responses.response_back.13"""
    assert (wire.FRAMING, wire.END) == ("sse", b"[DONE]")
