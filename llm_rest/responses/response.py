"""What a model answered: `Response`, its usage and its errors.

Follows the Response object of the OpenAI reference (read 2026-11-20). Hosts leave out almost anything, so only `id`, `output`
and `status` are required; the echo of the request may be absent or null.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from ..unknown import MOST_IN_ANSWER, Bounded, Decoder, ResponsesModel
from .items import AnyItem
from .lenient import lenient_response
from .parts import Leftovers
from .request import CacheOptions, ConversationRef, ReasoningOptions, TextOptions
from .tools import AnyTool, ToolChoice

ResponseStatus = Literal["completed", "failed", "in_progress", "cancelled", "queued", "incomplete"]


class InputTokensDetails(ResponsesModel):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_tokens_details: dict[str, Any] | None = None


class OutputTokensDetails(ResponsesModel):
    reasoning_tokens: int | None = None


_SUM = -(2**62)
"""Stands for a total that was not given until the sum replaces it."""


class Usage(ResponsesModel):
    """Token counts. Input includes cached tokens, output includes reasoning tokens. Some hosts add what it cost."""

    input_tokens: int
    output_tokens: int
    total_tokens: int = _SUM
    input_tokens_details: InputTokensDetails | None = None
    output_tokens_details: OutputTokensDetails | None = None
    cost: float | int | None = None
    cost_details: dict[str, Any] | None = None
    is_byok: bool | None = None
    leftovers: Leftovers | None = None

    def __post_init__(self) -> None:
        # Hosts that leave the total out mean the sum.
        if self.total_tokens == _SUM:
            self.total_tokens = self.input_tokens + self.output_tokens


class ResponseError(ResponsesModel):
    """Why a response failed; `code` is an open list of the vendor's words."""

    code: str | int | None = None
    message: str | None = None
    param: str | None = None
    type: str | None = None
    misalignment: Any | None = None


class IncompleteDetails(ResponsesModel):
    reason: Literal["max_output_tokens", "max_messages", "content_filter", "steered"] | str | None = None


# With a `__dict__`, so that a response can become a `Reply`, which has one, in place.
class Response(ResponsesModel, dict=True):
    """One answer of a model. `output` holds the items in the order they were made.

    `output_text` and its siblings are readers of `Reply`; on the wire they do not exist. `incomplete` and `failed` come with
    HTTP status 200.
    """

    id: str
    object: Literal["response"] | str = field(default_factory=lambda: "response")
    created_at: int | float | None = None
    completed_at: int | float | None = None
    status: ResponseStatus | str
    error: ResponseError | None = None
    incomplete_details: IncompleteDetails | None = None
    model: str = ""
    output: Bounded[AnyItem]
    usage: Usage | None = None
    instructions: str | list[AnyItem] | None = None
    previous_response_id: str | None = None
    conversation: ConversationRef | None = None
    tools: list[AnyTool] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    temperature: float | int | None = None
    top_p: float | int | None = None
    top_logprobs: int | None = None
    presence_penalty: float | int | None = None
    frequency_penalty: float | int | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    truncation: str | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    metadata: dict[str, Any] | None = None
    user: str | None = None
    service_tier: str | None = None
    background: bool | None = None
    store: bool | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: CacheOptions | None = None
    safety_identifier: str | None = None
    billing: dict[str, Any] | None = None
    moderation: Any | None = None
    tool_usage: dict[str, Any] | None = None
    prompt_cache_diagnostics: Any | None = None
    input_transformations: list[Any] | None = None
    content_filters: list[Any] | None = None
    access_programs: dict[str, Any] | None = None
    image: dict[str, Any] | None = None

    leftovers: Leftovers | None = None


class CompactedResponse(ResponsesModel):
    """The answer of the compaction endpoint: items to send instead of the conversation before."""

    id: str
    output: list[AnyItem]
    object: Literal["response.compaction"] | str = field(default_factory=lambda: "response.compaction")
    created_at: int | float | None = None
    usage: Usage | None = None


RESPONSE: Decoder[Response] = Decoder(Response, repair=lenient_response, most_unknown=MOST_IN_ANSWER)
"""Decodes a response object as a Responses host sends it."""
