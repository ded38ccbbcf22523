"""Each host's row in the documentation says what a request or an answer shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from llm_rest.responses import (
    CacheBreakpoint,
    FunctionCall,
    FunctionTool,
    InputImage,
    InputText,
    JsonSchemaFormat,
    Message,
    ReasoningOptions,
    Request,
    TextFormat,
    TextOptions,
)
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.vendors.rows import VENDORS
from tests.wires.openai_chat import CALL, answered, said, sent

DOCS = Path(__file__).parents[3] / "docs" / "wires" / "openai_chat.md"
HERE = Path(__file__).parent

NOW = FunctionTool(name="now", strict=False)
SHORT: dict[str, Any] = {"max_output_tokens": 9}
BY_URL = Request(input=[Message(role="user", content=[InputImage(image_url="https://a/b.png")])])
MARKED = Request(input=[Message(role="user", content=[InputText(text="a", prompt_cache_breakpoint=CacheBreakpoint())])])
TOLD = Request(input=[Message(role="system", content=[InputText(text="a"), InputText(text="b")])])
TWICE = Request(input=[Message(role="user", content="a"), Message(role="user", content="b")])
ASKED = Request(input=[FunctionCall(call_id="c1", name="now", arguments="{}")])
SCHEMA = TextOptions(format=JsonSchemaFormat(name="n", schema={}))


def refused(request: Request, host: str) -> list[str]:
    return sent(request, CHAT_HOSTS[host])[1]


@pytest.mark.parametrize(
    ("host", "request_", "body"),
    [
        (
            "openai",
            Request(instructions="Hi", **SHORT),
            {"max_completion_tokens": 9, "messages": [{"role": "developer", "content": "Hi"}]},
        ),
        ("azure_openai", Request(user="u", **SHORT), {"max_completion_tokens": 9, "user": "u", "messages": []}),
        ("anthropic", Request(seed=1, text=SCHEMA, frequency_penalty=1), {}),
        ("google", ASKED, {"tool_calls": [{"extra_content": CHAT_HOSTS["google"].missing_call_state}]}),
        ("xai", Request(**SHORT), {"max_completion_tokens": 9}),
        (
            "groq",
            Request(include=["message.output_text.logprobs"], top_logprobs=1, **SHORT),
            {"max_completion_tokens": 9},
        ),
        (
            "deepseek",
            Request(tools=[NOW], tool_choice="required", text=SCHEMA, **SHORT),
            {"max_tokens": 9, "response_format": {"type": "json_object"}, "tool_choice": "required"},
        ),
        ("sambanova", Request(text=TextOptions(format=TextFormat()), seed=1, **SHORT), {"max_tokens": 9}),
        ("together", TOLD, {"messages": [{"role": "system", "content": "ab"}]}),
        ("fireworks", Request(**SHORT), {"max_tokens": 9}),
        ("cerebras", Request(**SHORT), {"max_completion_tokens": 9}),
        ("openrouter", MARKED, {"content": [{"cache_control": {"type": "ephemeral"}}]}),
        (
            "mistral",
            Request(stream=True, seed=1, tools=[NOW], tool_choice="auto"),
            {"random_seed": 1, "stream": True, "tool_choice": "auto"},
        ),
        (
            "meta",
            Request(reasoning=ReasoningOptions(effort="none"), tools=[NOW], tool_choice="required"),
            {"reasoning_effort": "minimal"},
        ),
        ("huggingface", Request(top_k=3, **SHORT), {"max_tokens": 9, "top_k": 3}),
        ("ollama", Request(tools=[NOW], tool_choice="required", parallel_tool_calls=False), {}),
        (
            "vllm",
            Request(reasoning=ReasoningOptions(effort="none"), top_k=3),
            {"top_k": 3, "chat_template_kwargs": {"enable_thinking": False}},
        ),
        ("llamacpp", Request(tools=[NOW], tool_choice="required"), {"tool_choice": "required"}),
        (
            "lmstudio",
            Request(text=SCHEMA),
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}},
        ),
        ("alibaba", Request(reasoning=ReasoningOptions(effort="none")), {"enable_thinking": False}),
        ("moonshot", Request(reasoning=ReasoningOptions(effort="none")), {"thinking": {"type": "disabled"}}),
        ("zai", Request(reasoning=ReasoningOptions(effort="none")), {"thinking": {"type": "disabled"}}),
        ("perplexity", TWICE, {"messages": [{"role": "user", "content": "a\n\nb"}]}),
        ("heroku", Request(**SHORT), {"max_tokens": 9}),
        ("bedrock_mantle", Request(**SHORT), {"max_completion_tokens": 9}),
        ("github_copilot", Request(user="u", **SHORT), {"max_tokens": 9}),
        ("compatible", Request(user="u", service_tier="flex", **SHORT), {"max_tokens": 9}),
    ],
)
def test_a_request_shows_the_facts_of_its_host(host: str, request_: Request, body: dict[str, Any]) -> None:
    found, _ = sent(request_, CHAT_HOSTS[host])
    found.pop("tools", None)
    assert holds(found, body), found
    # What is not in the small body above is nothing but messages.
    assert found.keys() - body.keys() <= {"messages"}


def holds(found: Any, part: Any) -> bool:
    """Whether a JSON value has this part; what stands in a message is looked for in the first one."""
    if isinstance(part, dict) and isinstance(found, dict):
        inner = found if part.keys() <= found.keys() or "messages" not in found else found["messages"][0]
        return all(name in inner and holds(inner[name], value) for name, value in part.items())
    if isinstance(part, list) and isinstance(found, list):
        return len(found) >= len(part) and all(holds(one, other) for one, other in zip(found, part, strict=False))
    return bool(found == part)


@pytest.mark.parametrize("host", ["ollama", "sambanova", "moonshot"])
def test_images_by_url_are_refused_where_only_data_is_taken(host: str) -> None:
    assert refused(BY_URL, host) == ["input[0].content[0] (refused)"]


def test_a_host_without_tools_gets_none() -> None:
    assert refused(Request(tools=[NOW]), "perplexity") == ["tools (dropped)"]


@pytest.mark.parametrize(
    ("host", "field"),
    [
        ("xai", "reasoning_content"),
        ("fireworks", "reasoning_content"),
        ("cerebras", "reasoning"),
        ("heroku", "reasoning"),
    ],
)
def test_reasoning_stands_where_the_host_puts_it(host: str, field: str) -> None:
    message = {"content": "a", field: "Hm.", "tool_calls": [CALL], "finish_reason": "tool_calls"}
    response, lost = answered(said(**message), CHAT_HOSTS[host])
    assert len(response.output) == 3
    assert lost == []


@pytest.mark.parametrize(
    ("host", "like"),
    [
        ("nebius", "vllm"),
        ("deepinfra", "vllm"),
        ("crusoe", "vllm"),
        ("snowflake", "openrouter"),
        ("vercel_gateway", "openrouter"),
    ],
)
def test_some_hosts_are_like_others_but_for_their_opaque_state(host: str, like: str) -> None:
    # That an empty list of details is refused is known of OpenRouter alone.
    assert CHAT_HOSTS[host] == replace(CHAT_HOSTS[like], issuer=host, empty_details=True)


def test_minimax_tells_its_errors_in_status_200() -> None:
    """The body is in test_errors.py."""
    assert CHAT_HOSTS["minimax"].reasoning_field == "reasoning_details"


def test_every_issuer_is_the_host_itself() -> None:
    """BUGS 11"""
    assert {host for host, dialect in CHAT_HOSTS.items() if dialect.issuer != host} == set()


# --- the documentation ----------------------------------------------------------------------------------------------


def rows(kind: str) -> list[str]:
    return re.findall(rf"^\| (chat\.{kind}\.\w+) \|", DOCS.read_text(), re.MULTILINE)


def test_every_host_has_a_row() -> None:
    assert rows("dialect") == [f"chat.dialect.{host}" for host in CHAT_HOSTS]


def test_every_vendor_that_speaks_this_wire_has_facts() -> None:
    speakers = {name for name, vendor in VENDORS.items() if "openai_chat" in vendor.wires}
    assert speakers - CHAT_HOSTS.keys() <= {"simulator"}


@pytest.mark.parametrize("kind", ["usage", "reader"])
def test_every_other_row_is_named_by_a_test(kind: str) -> None:
    texts = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    named = set(re.findall(rf"\bchat\.{kind}\.\d+\b", texts))
    assert set(rows(kind)) <= named
    assert len(rows(kind)) == len(set(rows(kind)))
