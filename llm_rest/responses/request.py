"""What is asked of a model: `Request`, its options, and the decoder that accepts what people write.

Follows the parameters of `POST /v1/responses` in the OpenAI reference (read 2026-11-20). The fields of ours at the end never
travel as Responses: options that several wires share and Responses lacks, the caller's own additions, and leftovers.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from ..unknown import MOST_UNKNOWN, Decoder, Model, Open, Opt
from .items import AnyItem, Message
from .normalize import normalize
from .parts import Leftovers
from .tools import AnyTool, Schema, ToolChoice


class TextFormat(Model, tag_field="type", tag="text"):
    """Plain text."""


class JsonSchemaFormat(Model, tag_field="type", tag="json_schema"):
    """JSON that fits a schema. `name` is up to 64 letters, digits, underscores and dashes."""

    name: Opt[str] = UNSET
    schema: Opt[Schema] = UNSET
    description: Opt[str] = UNSET
    strict: Opt[bool] = UNSET


class JsonObjectFormat(Model, tag_field="type", tag="json_object"):
    """Any JSON object; the word "json" must occur in the input."""


class TextOptions(Model):
    format: Opt[Open[TextFormat | JsonSchemaFormat | JsonObjectFormat]] = UNSET
    verbosity: Opt[Literal["low", "medium", "high"] | str] = UNSET


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ReasoningOptions(Model):
    effort: Opt[Effort | str] = UNSET
    summary: Opt[Literal["auto", "concise", "detailed"] | str] = UNSET
    generate_summary: Opt[str] = UNSET
    context: Opt[Literal["auto", "current_turn", "all_turns"] | str] = UNSET
    mode: Opt[Literal["standard", "pro"] | str] = UNSET


class StreamOptions(Model):
    include_obfuscation: Opt[bool] = UNSET


class CacheOptions(Model):
    mode: Opt[Literal["implicit", "explicit"] | str] = UNSET
    ttl: Opt[Literal["30m", "12h"] | str] = UNSET
    prewarm: Opt[bool] = UNSET
    comparison_response_id: Opt[str] = UNSET


class ConversationRef(Model):
    id: str


class Prompt(Model):
    """A prompt stored with the vendor."""

    id: str
    version: Opt[str] = UNSET
    variables: Opt[dict[str, Any]] = UNSET


class BackgroundOptions(Model):
    """How soon a response in the background is needed; a longer window costs less.

    Requests with the same `continuation_id` belong to one piece of work and get a common priority; no history comes with it.
    """

    completion_window: Opt[Literal["soonest", "2h", "8h"] | str] = UNSET
    continuation_id: Opt[str] = UNSET


class ContextManagement(Model):
    type: Literal["compaction"] | str = "compaction"
    compact_threshold: Opt[int] = UNSET


class Request(Model):
    """One request to a model, in the Responses format.

    Fields have the names, shapes and ranges of the vendor's reference. `stop` (up to four strings), `seed` and `top_k` are
    options that other wires share; `extra` is merged into one wire's body last (`{"anthropic_messages": {...}}`).
    """

    model: Opt[str] = UNSET
    input: Opt[str | list[AnyItem]] = UNSET
    instructions: Opt[str] = UNSET
    stream: Opt[bool] = UNSET
    stream_options: Opt[StreamOptions] = UNSET
    max_output_tokens: Opt[int] = UNSET
    max_tool_calls: Opt[int] = UNSET
    temperature: Opt[float | int] = UNSET
    top_p: Opt[float | int] = UNSET
    top_logprobs: Opt[int] = UNSET
    presence_penalty: Opt[float | int] = UNSET
    frequency_penalty: Opt[float | int] = UNSET
    tools: Opt[list[AnyTool]] = UNSET
    tool_choice: Opt[ToolChoice] = UNSET
    parallel_tool_calls: Opt[bool] = UNSET
    text: Opt[TextOptions] = UNSET
    reasoning: Opt[ReasoningOptions] = UNSET
    include: Opt[list[str]] = UNSET
    truncation: Opt[Literal["auto", "disabled"] | str] = UNSET
    metadata: Opt[dict[str, str]] = UNSET
    store: Opt[bool] = UNSET
    previous_response_id: Opt[str] = UNSET
    conversation: Opt[str | ConversationRef] = UNSET
    background: Opt[bool] = UNSET
    background_options: Opt[BackgroundOptions] = UNSET
    service_tier: Opt[Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] | str] = UNSET
    prompt_cache_key: Opt[str] = UNSET
    prompt_cache_options: Opt[CacheOptions] = UNSET
    prompt_cache_retention: Opt[Literal["in_memory", "24h"] | str] = UNSET
    safety_identifier: Opt[str] = UNSET
    user: Opt[str] = UNSET
    prompt: Opt[Prompt] = UNSET
    context_management: Opt[list[ContextManagement]] = UNSET
    moderation: Opt[dict[str, Any]] = UNSET
    image: Opt[dict[str, Any]] = UNSET
    access_programs: Opt[dict[str, Any]] = UNSET

    stop: Opt[str | list[str]] = UNSET
    seed: Opt[int] = UNSET
    top_k: Opt[int] = UNSET
    extra: dict[str, dict[str, Any]] | UnsetType = UNSET
    leftovers: Leftovers | UnsetType = UNSET


def items_of(request: Request) -> list[AnyItem]:
    """The input as items; a text is what the user says."""
    if isinstance(request.input, str):
        return [Message(role="user", content=request.input)]
    return request.input or []


OURS = ("stop", "seed", "top_k", "extra", "leftovers")
"""The fields of `Request` that are not part of the Responses format."""

REQUEST: Decoder[Request] = Decoder(Request, repair=normalize, most_unknown=MOST_UNKNOWN)
"""Decodes a request as it stands, and what people write instead of it (`responses/normalize.py`)."""
