"""The conventions for generative AI as tables: the attributes of spans, and the metrics with their old and new names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from ..responses.items import AnyItem, Compaction, CustomToolCall, FunctionCall
from ..responses.request import Request, items_of
from ..unknown import given
from .content import as_json, field_at, listed, messages, text_part

if TYPE_CHECKING:
    from ..client.hooks import WatchedCall

Table = Mapping[str, "str | Callable[[Any], Any]"]
"""Attributes and the sources of their values: the path of a field, or a function."""

PROVIDERS = {
    "google": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
    "mistral": "mistral_ai",
    "azure_openai": "azure.ai.openai",
    "moonshot": "moonshot_ai",
    "bedrock_mantle": "aws.bedrock",
}
"""`gen_ai.provider.name` of vendors; for others it is this library's name of the vendor."""

OPERATIONS = {"generate": "chat", "retrieve": "fetch_response"}
"""`gen_ai.operation.name` of calls; other calls have no span."""


@cache
def server_of(base_url: str) -> tuple[str | None, int | None]:
    """Host and port of a base URL; nothing for a URL without a host."""
    url = urlsplit(base_url)
    return url.hostname, (url.port or (443 if url.scheme == "https" else 80)) if url.hostname else None


CREATION: Table = {
    "gen_ai.operation.name": lambda call: (
        "generate_content"
        if (call.operation, call.target.endpoint.wire) == ("generate", "gemini_generate_content")
        else OPERATIONS[call.operation]
    ),
    "gen_ai.provider.name": lambda call: PROVIDERS.get(call.target.vendor, call.target.vendor),
    "gen_ai.request.model": "target.model",
    "server.address": lambda call: server_of(call.target.endpoint.base_url)[0],
    "server.port": lambda call: server_of(call.target.endpoint.base_url)[1],
}
"""Attributes of a model call for samplers and metrics."""

MEASURED: Table = {
    "gen_ai.response.model": "reply.model",
    "error.type": lambda call: "cancelled" if call.outcome == "cancelled" else call.error_kind,
}
"""Further attributes of the metrics of a model call, at its end."""

USAGE: Table = {
    "gen_ai.usage.input_tokens": "reply.usage.input_tokens",
    "gen_ai.usage.output_tokens": "reply.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "reply.usage.input_tokens_details.cached_tokens",
    "gen_ai.usage.cache_write.input_tokens": "reply.usage.input_tokens_details.cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reply.usage.output_tokens_details.reasoning_tokens",
}

_DETAILS = {
    "input_tokens": "input_tokens_details.",
    "output_tokens": "output_tokens_details.",
    "cache_read.input_tokens": "input_tokens_details.cached_",
}
MODALITIES: Table = {
    f"gen_ai.usage.{kind}.{name}": f"reply.usage.{path}{kind}_tokens"
    for kind in ("text", "image", "audio")
    for name, path in _DETAILS.items()
}
"""Tokens by modality, where the vendor counts them separately."""

CALL: Table = {
    "gen_ai.request.stream": lambda call: call.stream or None,
    "gen_ai.request.temperature": "request.temperature",
    "gen_ai.request.top_p": "request.top_p",
    "gen_ai.request.top_k": "request.top_k",
    "gen_ai.request.frequency_penalty": "request.frequency_penalty",
    "gen_ai.request.presence_penalty": "request.presence_penalty",
    "gen_ai.request.max_tokens": "request.max_output_tokens",
    "gen_ai.request.seed": "request.seed",
    "gen_ai.request.stop_sequences": lambda call: listed(getattr(call.request, "stop", None)),
    "gen_ai.request.reasoning.level": "request.reasoning.effort",
    "gen_ai.request.previous_response.id": "request.previous_response_id",
    "gen_ai.output.type": lambda call: _output_type(call.request),
    "gen_ai.conversation.id": lambda call: _conversation(call),
    "gen_ai.conversation.compacted": lambda call: any(isinstance(one, Compaction) for one in _input(call)) or None,
    "gen_ai.prompt.name": "request.prompt.id",
    "gen_ai.prompt.version": "request.prompt.version",
    "gen_ai.response.id": "reply.id",
    "gen_ai.response.finish_reasons": lambda call: listed(_finish_reason(call)),
    "gen_ai.response.time_to_first_chunk": "first_event",
    "llm_rest.attempts": "attempts",
    "llm_rest.losses": lambda call: len(getattr(call.reply, "losses", ())),
    "llm_rest.losses.kinds": lambda call: [*dict.fromkeys(loss.kind for loss in getattr(call.reply, "losses", ()))],
    "llm_rest.request_id": "request_id",
    "operation.cost": lambda call: None if (nano := getattr(call.reply, "cost", None)) is None else nano / 1e9,
}
"""Further attributes of a model call."""

OPENAI: Table = {
    "openai.api.type": lambda call: "responses" if "responses" in call.target.endpoint.wire else "chat_completions",
    "openai.request.service_tier": "request.service_tier",
    "openai.response.service_tier": "reply.service_tier",
    "openai.response.system_fingerprint": "reply.system_fingerprint",
}
"""Further attributes of model calls at `openai` and `azure_openai`."""

CONTENT: Table = {
    "gen_ai.input.messages": lambda call: as_json(messages(_input(call))),
    "gen_ai.output.messages": lambda call: as_json(
        [
            {**one, "finish_reason": _finish_reason(call) or "error"}
            for one in messages(getattr(call.reply, "output", ()))
        ]
    ),
    "gen_ai.system_instructions": lambda call: as_json(listed(text_part(getattr(call.request, "instructions", None)))),
    "gen_ai.tool.definitions": lambda call: as_json(
        [
            {name: tool[name] for name in tool if name not in ("authorization", "headers", "leftovers")}
            for tool in msgspec.to_builtins([*(getattr(call.request, "tools", None) or ())])
        ]
    ),
}
"""Attributes with the content of a model call, where content is recorded."""

RUN: Table = {
    "gen_ai.operation.name": lambda run: "invoke_agent",
    "gen_ai.agent.name": "telemetry.agent_name",
    "gen_ai.request.model": "model",
    "gen_ai.conversation.id": "conversation",
    "gen_ai.output.type": lambda run: _output_type(run.request),
}

TOOL: Table = {
    "gen_ai.operation.name": lambda call: "execute_tool",
    "gen_ai.tool.name": "name",
    "gen_ai.tool.type": lambda call: "function",
}
"""Attributes of the spans and metrics of a tool."""

FINISH_REASONS = {"max_output_tokens": "length", "max_messages": "length", "content_filter": "content_filter"}
"""`gen_ai.response.finish_reasons` of answers that are incomplete for these reasons."""

SECONDS = tuple(0.01 * 2**i for i in range(14))
TOKENS = tuple(4**i for i in range(14))
RUN_SECONDS = tuple(0.1 * 2**i for i in range(13))


class Instrument(NamedTuple):
    """A metric: its name, its new name if there is one, and a description."""

    name: str
    new_name: str | None = None
    unit: str = "s"
    buckets: tuple[float, ...] | None = SECONDS
    counter: bool = False


_CLIENT = "gen_ai.client.inference"
EVENT = f"{_CLIENT}.operation.details"
"""The name of the event of a model call."""
INSTRUMENTS = {
    "generate": Instrument("gen_ai.client.operation.duration", f"{_CLIENT}.duration"),
    "retrieve": Instrument("gen_ai.client.operation.duration"),
    "first": Instrument("gen_ai.client.operation.time_to_first_chunk", f"{_CLIENT}.time_to_first_chunk"),
    "chunk": Instrument("gen_ai.client.operation.time_per_output_chunk", f"{_CLIENT}.time_per_output_chunk"),
    "tool": Instrument("gen_ai.execute_tool.duration"),
    "run": Instrument("gen_ai.invoke_agent.duration", buckets=RUN_SECONDS),
    "run calls": Instrument("gen_ai.invoke_agent.inference_calls", unit="{call}", buckets=None),
    "run tools": Instrument("gen_ai.invoke_agent.tool_calls", unit="{call}", buckets=None),
    "input": Instrument("gen_ai.client.token.usage", f"{_CLIENT}.operation.input_tokens", "{token}", TOKENS),
    "output": Instrument("gen_ai.client.token.usage", f"{_CLIENT}.operation.output_tokens", "{token}", TOKENS),
    **{name: Instrument("", name.replace("gen_ai", _CLIENT, 1), "{token}", None, counter=True) for name in USAGE},
}


def values_of(struct: Any, table: Table) -> dict[str, Any]:
    """The attributes of a table that have a value."""
    found = ((name, field_at(struct, how) if isinstance(how, str) else how(struct)) for name, how in table.items())
    return {name: value for name, value in found if given(value) and value not in ("", [])}


def _conversation(call: WatchedCall) -> str | None:
    return call.conversation or field_at(call, "request.conversation.id") or field_at(call, "request.conversation")


def _output_type(request: Request | None) -> str | None:
    kind = str(field_at(request, "text.format.type"))
    return "json" if kind.startswith("json") else "image" if given(field_at(request, "image")) else None


def _finish_reason(call: WatchedCall) -> str | None:
    """The finish reason by the conventions; `None` for an answer that was closed early or cancelled."""
    status, output = field_at(call.reply, "status"), getattr(call.reply, "output", ())
    if status == "completed":
        if any(isinstance(item, FunctionCall | CustomToolCall) for item in output):
            return "tool_call"
        return "compaction" if output and isinstance(output[-1], Compaction) else "stop"
    reason = field_at(call.reply, "incomplete_details.reason")
    return "error" if status == "failed" else FINISH_REASONS.get(reason, reason)


def _input(call: WatchedCall) -> list[AnyItem]:
    return [] if call.request is None else items_of(call.request)
