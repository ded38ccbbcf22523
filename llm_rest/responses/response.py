"""What a model answered: `Response`, its usage and its errors.

Follows the Response object of the OpenAI reference (read 2026-11-20). Hosts leave out almost anything, so only `id`, `output`
and `status` are required; the echo of the request may be absent or null.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from ..unknown import MOST_IN_ANSWER, Bounded, Decoder, Model, Opt
from .items import AnyItem
from .lenient import lenient_response
from .parts import Leftovers
from .request import CacheOptions, ConversationRef, ReasoningOptions, TextOptions
from .tools import AnyTool, ToolChoice

ResponseStatus = Literal["completed", "failed", "in_progress", "cancelled", "queued", "incomplete"]


class InputTokensDetails(Model):
    cached_tokens: Opt[int | float] = UNSET
    cache_write_tokens: Opt[int | float] = UNSET
    cache_write_tokens_details: Opt[dict[str, Any]] = UNSET


class OutputTokensDetails(Model):
    reasoning_tokens: Opt[int | float] = UNSET


class Usage(Model):
    """Token counts. Input includes cached tokens, output includes reasoning tokens. Some hosts add what it cost."""

    input_tokens: int | float
    output_tokens: int | float
    total_tokens: Opt[int | float] = UNSET
    input_tokens_details: Opt[InputTokensDetails] = UNSET
    output_tokens_details: Opt[OutputTokensDetails] = UNSET
    cost: Opt[float | int] = UNSET
    cost_details: Opt[dict[str, Any]] = UNSET
    is_byok: Opt[bool] = UNSET
    leftovers: Leftovers | UnsetType = UNSET


class ResponseError(Model):
    """Why a response failed; `code` is an open list of the vendor's words."""

    code: Opt[str | int] = UNSET
    message: Opt[str] = UNSET
    param: Opt[str] = UNSET
    type: Opt[str] = UNSET
    misalignment: Opt[Any] = UNSET


class IncompleteDetails(Model):
    reason: Opt[Literal["max_output_tokens", "max_messages", "content_filter", "steered"] | str] = UNSET


# With a `__dict__`, so that a response can become a `Reply`, which has one, in place.
class Response(Model, dict=True):
    """One answer of a model. `output` holds the items in the order they were made.

    `output_text` and its siblings are readers of `Reply`; on the wire they do not exist. `incomplete` and `failed` come with
    HTTP status 200.
    """

    id: str
    object: Literal["response"] | str = "response"
    created_at: Opt[int | float] = UNSET
    completed_at: Opt[int | float] = UNSET
    status: ResponseStatus | str
    error: Opt[ResponseError] = UNSET
    incomplete_details: Opt[IncompleteDetails] = UNSET
    model: Opt[str] = UNSET
    output: Bounded[AnyItem]
    usage: Opt[Usage] = UNSET
    instructions: Opt[str | list[AnyItem]] = UNSET
    previous_response_id: Opt[str] = UNSET
    conversation: Opt[ConversationRef] = UNSET
    tools: Opt[list[AnyTool]] = UNSET
    tool_choice: Opt[ToolChoice] = UNSET
    parallel_tool_calls: Opt[bool] = UNSET
    temperature: Opt[float | int] = UNSET
    top_p: Opt[float | int] = UNSET
    top_logprobs: Opt[int] = UNSET
    presence_penalty: Opt[float | int] = UNSET
    frequency_penalty: Opt[float | int] = UNSET
    max_output_tokens: Opt[int] = UNSET
    max_tool_calls: Opt[int] = UNSET
    truncation: Opt[str] = UNSET
    text: Opt[TextOptions] = UNSET
    reasoning: Opt[ReasoningOptions] = UNSET
    metadata: Opt[dict[str, Any]] = UNSET
    user: Opt[str] = UNSET
    service_tier: Opt[str] = UNSET
    background: Opt[bool] = UNSET
    store: Opt[bool] = UNSET
    prompt_cache_key: Opt[str] = UNSET
    prompt_cache_retention: Opt[str] = UNSET
    prompt_cache_options: Opt[CacheOptions] = UNSET
    safety_identifier: Opt[str] = UNSET
    billing: Opt[dict[str, Any]] = UNSET
    moderation: Opt[Any] = UNSET
    tool_usage: Opt[dict[str, Any]] = UNSET
    prompt_cache_diagnostics: Opt[Any] = UNSET
    input_transformations: Opt[list[Any]] = UNSET
    content_filters: Opt[list[Any]] = UNSET
    access_programs: Opt[dict[str, Any]] = UNSET
    image: Opt[dict[str, Any]] = UNSET

    leftovers: Leftovers | UnsetType = UNSET


class CompactedResponse(Model):
    """The answer of the compaction endpoint: items to send instead of the conversation before."""

    id: str
    output: list[AnyItem]
    object: Literal["response.compaction"] | str = "response.compaction"
    created_at: Opt[int | float] = UNSET
    usage: Opt[Usage] = UNSET


RESPONSE: Decoder[Response] = Decoder(Response, repair=lenient_response, most_unknown=MOST_IN_ANSWER)
"""Decodes a response object as a Responses host sends it."""
