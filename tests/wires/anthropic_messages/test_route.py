"""Where a request goes: its path, the version of the API, and the betas it needs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from llm_rest.responses import (
    AdditionalTools,
    CompactionTrigger,
    ContextManagement,
    FunctionTool,
    McpTool,
    Message,
    Reasoning,
    ReasoningOptions,
    Request,
)
from llm_rest.unknown import Unknown
from llm_rest.vendors.dialects import MessagesDialect
from llm_rest.wires import anthropic_messages as wire
from tests.wires.anthropic_messages.steps import NEW, OLD, answered, read, user

F = FunctionTool(name="f")


def headers(**options: Any) -> dict[str, str]:
    asked: dict[str, Any] = {"model": NEW, "input": "Hi"} | options
    return wire.route(Request(**asked)).headers


def test_a_request_goes_to_messages_in_the_newest_version() -> None:
    there = wire.route(Request(model=NEW, input="Hi"))
    assert (there.path, there.query, there.headers) == ("/v1/messages", {}, {"anthropic-version": "2026-10-21"})


def test_sampling_needs_the_older_version_where_the_model_takes_it() -> None:
    assert headers(model=OLD, temperature=0.5)["anthropic-version"] == "2023-06-01"
    assert headers(model=OLD, top_k=5)["anthropic-version"] == "2023-06-01"
    assert headers(model=NEW, temperature=0.5)["anthropic-version"] == "2026-10-21"
    assert headers(extra={"anthropic_messages": {"top_p": 0.5}})["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize(
    ("options", "betas"),
    [
        ({"tools": [McpTool(server_label="w", server_url="https://w.org")]}, "mcp-client-2025-11-20"),
        ({"tools": [F], "tool_choice": "auto"}, None),
        ({"tools": [Unknown({"type": "advisor_20260301", "name": "advisor"})]}, "advisor-tool-2026-03-01"),
        ({"context_management": [ContextManagement()]}, "compact-2026-01-12"),
        ({"service_tier": "fast"}, "fast-mode-2026-02-01"),
        ({"input": [user(), CompactionTrigger()]}, "compact-2026-09-04"),
        (
            {"tools": [F], "input": [user(), AdditionalTools(role="developer", tools=[F])]},
            "mid-conversation-tool-changes-2026-07-01",
        ),
        (
            {"input": [user(), AdditionalTools(role="developer", tools=[F])]},
            "inline-tools-2026-09-15,mid-conversation-tool-changes-2026-07-01",
        ),
        (
            {"extra": {"anthropic_messages": {"betas": ["b", "a", 7], "thread": {"type": "create"}}}},
            "a,b,message-threads-2026-08-12",
        ),
        ({"extra": {"anthropic_messages": {"metadata": {"thread": 1}, "speed": "fast"}}}, "fast-mode-2026-02-01"),
    ],
)
def test_betas(options: dict[str, Any], betas: str | None) -> None:
    assert headers(**options).get("anthropic-beta") == betas


@pytest.mark.parametrize(
    ("fields", "betas"),
    [
        ({"mcp_servers": [{"type": "url", "url": "https://w.org", "name": "w"}]}, "mcp-client-2025-04-04"),
        ({"context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}, "context-management-2025-06-27"),
        ({"fallbacks": "default"}, "server-side-fallback-2026-07-01"),
        ({"output_config": {"task_budget": {"type": "tokens", "total": 9}}}, "task-budgets-2026-03-13"),
        ({"container": {"skills": [{"type": "custom", "skill_id": "s"}]}}, "skills-2025-10-02"),
        (
            {
                "messages": [
                    {"role": "user", "content": "Hi"},
                    {
                        "role": "system",
                        "content": [{"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}],
                    },
                ]
            },
            "mid-conversation-tool-changes-2026-07-01",
        ),
    ],
)
def test_betas_of_a_document_that_came_without_its_headers(fields: dict[str, Any], betas: str) -> None:
    assert wire.route(read(**fields)).headers["anthropic-beta"] == betas


def test_a_compaction_in_the_history_needs_its_beta() -> None:
    response = answered({"type": "compaction", "content": "So far."})
    assert headers(input=[*response.output, user()])["anthropic-beta"] == "compact-2026-01-12"
    assert "anthropic-beta" not in headers(input=[user(), Reasoning(summary=[]), Message(role="assistant", content=[])])


DROP = {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize(
    ("model", "effort", "thinking"),
    [
        ("claude-opus-5-5", None, {"type": "adaptive", "block_binding": DROP}),
        ("claude-mythos-5-2", "low", {"type": "adaptive", "block_binding": DROP}),
        ("claude-haiku-5-5", "high", {"type": "adaptive", "block_binding": DROP}),
        ("claude-haiku-5-5", "none", {"type": "disabled"}),
        ("claude-sonnet-5-5", "none", {"type": "between_tools"}),
        ("claude-fable-5-1", "none", {"type": "adaptive", "block_binding": DROP}),
        ("claude-fable-5", None, None),
        ("claude-sonnet-5", "low", {"type": "adaptive"}),
        ("claude-opus-4-8", None, None),
        ("other", None, None),
    ],
)
def test_models_that_bind_thoughts_to_their_prefix_drop_those_that_no_longer_fit(
    model: str, effort: str | None, thinking: Any
) -> None:
    thought = answered({"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "4"})
    reasoning = None if effort is None else ReasoningOptions(effort=effort)
    request = Request(model=model, reasoning=reasoning, input=[user(), *thought.output, user()])
    body, _ = wire.encode_request(request)
    assert msgspec.to_builtins(body).get("thinking") == thinking
    beta = "thinking-binding-controls-2026-08-01" if thinking and "block_binding" in thinking else None
    assert wire.route(request).headers.get("anthropic-beta") == beta
    first, _ = wire.encode_request(replace(request, input=[user()]))
    assert "block_binding" not in str(first.thinking)
    there, _ = wire.decode_request(body)
    assert there.reasoning == wire.decode_request(first)[0].reasoning
    assert wire.encode_request(there)[0] == body


@pytest.mark.parametrize("thinking", [None, {"type": "adaptive"}, {"type": "adaptive", "block_binding": {"x": 1}}])
def test_a_document_says_itself_what_happens_to_thoughts_of_another_prefix(thinking: Any) -> None:
    blocks = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "4"}]
    said: list[Any] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": blocks}]
    given = {"thinking": thinking} if thinking else {}
    request = read(messages=[*said, {"role": "user", "content": "And?"}], model="claude-opus-5-5", **given)
    assert msgspec.to_builtins(wire.encode_request(request)[0]).get("thinking") == thinking
    asked = "block_binding" in str(thinking)
    assert ("thinking-binding" in wire.route(request).headers.get("anthropic-beta", "")) is asked


def test_a_cloud_has_the_model_in_its_path_and_the_rest_in_the_body() -> None:
    cloud = MessagesDialect(
        path="/model/{model}/invoke",
        stream_path="/model/{model}/invoke-with-response-stream",
        body_version="bedrock-2023-05-31",
        betas_in_body=True,
    )
    request = Request(model="a/b:c", input="Hi", service_tier="fast")
    there = wire.route(request, dialect=cloud, stream=True)
    assert (there.path, there.headers) == ("/model/a%2Fb%3Ac/invoke-with-response-stream", {})
    assert wire.route(request, dialect=cloud).path == "/model/a%2Fb%3Ac/invoke"
    body, _ = wire.encode_request(request, dialect=cloud)
    assert (body.anthropic_version, body.anthropic_beta) == ("bedrock-2023-05-31", ["fast-mode-2026-02-01"])
