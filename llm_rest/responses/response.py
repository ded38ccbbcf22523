"""A model's response: `Response`, its token usage and errors, and the fields of the request that a server repeats.

Follows the Response object of the OpenAI reference (read 2026-11-20). Hosts leave out almost anything, so only `id`,
`output` and `status` are required; repeated request fields may be absent or null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from msgspec import field
from msgspec.structs import replace

from ..unknown import MOST_IN_ANSWER, Bounded, Decoder, ResponsesModel, given
from .citations import Citation, Image, citations_of, images_of
from .items import AnyItem, FunctionCall, Message, Reasoning
from .lenient import UNDECLARED, lenient_response
from .parts import ContentPart, Leftovers, OutputText, RefusalPart
from .request import CacheOptions, ConversationRef, ReasoningOptions, TextOptions
from .tools import AnyTool, McpTool, ToolChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .request import Request

ResponseStatus = Literal["completed", "failed", "in_progress", "cancelled", "queued", "incomplete"]
"""Known statuses of a response. Other values are preserved."""


class InputTokensDetails(ResponsesModel, kw_only=True):
    """Breakdown of the input tokens."""

    cached_tokens: int | None = None
    """Input tokens read from the prompt cache."""
    cache_write_tokens: int | None = None
    """Input tokens written to the prompt cache."""
    cache_write_tokens_details: dict[str, Any] | None = None
    """Tokens written by lifetime: `ttl_30m_tokens`, `ttl_12h_tokens`."""


class OutputTokensDetails(ResponsesModel, kw_only=True):
    """Breakdown of the output tokens."""

    reasoning_tokens: int | None = None
    """Output tokens of reasoning."""


_SUM = -(2**62)
"""Marker for a total that was not given, until the sum replaces it."""


class Usage(ResponsesModel, kw_only=True):
    """Token counts of a response. Some hosts add its cost."""

    input_tokens: int
    """Tokens of the input, cached ones included."""
    output_tokens: int
    """Tokens of the output, reasoning included."""
    total_tokens: int = _SUM
    """Sum of input and output tokens; computed if the host leaves it out."""
    input_tokens_details: InputTokensDetails | None = None
    """Breakdown of the input tokens."""
    output_tokens_details: OutputTokensDetails | None = None
    """Breakdown of the output tokens."""
    cost: float | int | None = None
    """Price of the response in the unit of the host, from hosts such as OpenRouter."""
    cost_details: dict[str, Any] | None = None
    """Parts of the price, in the same unit."""
    is_byok: bool | None = None
    """Whether the caller's own key at the upstream vendor was used ("bring your own key")."""
    leftovers: Leftovers | None = None
    """Data of other wires about the usage. Never sent in the Responses format."""

    def __post_init__(self) -> None:
        # Hosts that leave the total out mean the sum.
        if self.total_tokens == _SUM:
            self.total_tokens = self.input_tokens + self.output_tokens

    @property
    def counts(self) -> dict[str, int]:
        """The counts that are summed over calls; 0 for those that the host did not send."""
        inside, outside = self.input_tokens_details, self.output_tokens_details
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "total_tokens": self.total_tokens,
            "cached_input_tokens": (inside.cached_tokens or 0) if inside else 0,
            "reasoning_tokens": (outside.reasoning_tokens or 0) if outside else 0,
        }


class ResponseError(ResponsesModel, kw_only=True):
    """Why a response failed."""

    code: str | int | None = None
    """The vendor's error code, such as `server_error` or `rate_limit_exceeded`; an open list."""
    message: str | None = None
    """The error message."""
    param: str | None = None
    """Name of the invalid request field."""
    type: str | None = None
    """The vendor's class of the error, such as `invalid_request_error`."""
    misalignment: Any | None = None
    """Details of a `misalignment_policy_violation`, as the vendor sends them."""


class IncompleteDetails(ResponsesModel, kw_only=True):
    """Why a response is incomplete."""

    reason: Literal["max_output_tokens", "max_messages", "content_filter", "steered"] | str | None = None
    """Cause: `max_output_tokens`, `max_messages`, `content_filter`, `steered`, or another value of the vendor."""


# With a `__dict__`, so that a response can become a `Reply`, which has one, in place.
class Response(ResponsesModel, dict=True, kw_only=True):
    """One response of a model.

    Many fields repeat the request; hosts may leave them out. `output_text` and similar properties do not exist in JSON.
    An `incomplete` or `failed` response comes with HTTP status 200.
    """

    id: str
    """Id of the response; derived from its content if the host sends none."""
    object: Literal["response"] | str = field(default_factory=lambda: "response")
    """Type of the object: `response`."""
    created_at: int | float | None = None
    """When the response was created, in seconds since 1970."""
    completed_at: int | float | None = None
    """When the response was completed, in seconds since 1970. None if it was not."""
    status: ResponseStatus | str
    """State of the response: `completed`, `failed`, `in_progress`, `cancelled`, `queued` or `incomplete`."""
    error: ResponseError | None = None
    """Why the response failed. None if it did not."""
    incomplete_details: IncompleteDetails | None = None
    """Why the response is incomplete. None if it is not."""
    model: str = ""
    """The model that answered, often a dated version of the requested name. Empty if the host sends none."""
    output: Bounded[AnyItem]
    """The items that the model made, in order."""
    usage: Usage | None = None
    """Token counts. None until the response ends, and sometimes if it failed."""
    instructions: str | list[AnyItem] | None = None
    """System instructions of the request; items if a stored prompt was used."""
    previous_response_id: str | None = None
    """Id of the response that this one continues."""
    conversation: ConversationRef | None = None
    """The stored conversation that the response belongs to."""
    tools: list[AnyTool] | None = None
    """Tools of the request."""
    tool_choice: ToolChoice | None = None
    """Tool choice of the request."""
    parallel_tool_calls: bool | None = None
    """Whether the model was allowed several calls at once."""
    temperature: float | int | None = None
    """Temperature that was used, 0 to 2."""
    top_p: float | int | None = None
    """Nucleus sampling that was used, 0 to 1."""
    top_logprobs: int | None = None
    """Number of likely tokens reported per position."""
    presence_penalty: float | int | None = None
    """Presence penalty that was used, -2 to 2."""
    frequency_penalty: float | int | None = None
    """Frequency penalty that was used, -2 to 2."""
    max_output_tokens: int | None = None
    """Most tokens that the request allowed, reasoning included."""
    max_tool_calls: int | None = None
    """Most calls of hosted tools that the request allowed."""
    truncation: str | None = None
    """Truncation of the request: `auto` or `disabled`."""
    text: TextOptions | None = None
    """Text options of the request."""
    reasoning: ReasoningOptions | None = None
    """Reasoning options that were used."""
    metadata: dict[str, Any] | None = None
    """Metadata of the request, by key."""
    user: str | None = None
    """End user, as in the request."""
    service_tier: str | None = None
    """The processing tier that was used."""
    background: bool | None = None
    """Whether the response ran in the background."""
    store: bool | None = None
    """Whether the vendor stores the response."""
    prompt_cache_key: str | None = None
    """Cache key of the request."""
    prompt_cache_retention: str | None = None
    """Cache retention of the request."""
    prompt_cache_options: CacheOptions | None = None
    """Cache options of the request."""
    safety_identifier: str | None = None
    """Safety identifier of the request."""
    billing: dict[str, Any] | None = None
    """Who pays: `payer`. Not documented by OpenAI."""
    moderation: Any | None = None
    """Moderation results for `input` and `output`."""
    tool_usage: dict[str, Any] | None = None
    """Usage of hosted tools: tokens of `image_gen`, `num_requests` of `web_search`."""
    prompt_cache_diagnostics: Any | None = None
    """Whether the prompt cache matched `comparison_response_id`, and if not, why."""
    input_transformations: list[Any] | None = None
    """Input items that the server removed, each with `type`, `id`, `action` and `reason`."""
    content_filters: list[Any] | None = None
    """Content filter results of Azure."""
    access_programs: dict[str, Any] | None = None
    """Access programs of the request."""
    image: dict[str, Any] | None = None
    """Image options of the request."""

    leftovers: Leftovers | None = None
    """Data of other wires about the response. Never sent in the Responses format."""

    @property
    def output_text(self) -> str:
        """The text of the response; empty where there is none."""
        texts = (
            part if isinstance(part, str) else part.text
            for part in self._message_parts()
            if isinstance(part, str | OutputText)
        )
        return "".join(texts)

    @property
    def refusal(self) -> str | None:
        """The model's refusal text; `None` where it did not refuse."""
        refusals = [part.refusal for part in self._message_parts() if isinstance(part, RefusalPart)]
        return "".join(refusals) if refusals else None

    @property
    def function_calls(self) -> list[FunctionCall]:
        """The function calls in the output, in order."""
        return [item for item in self.output if isinstance(item, FunctionCall)]

    @property
    def citations(self) -> list[Citation]:
        """What the texts cite, in order, then the sources of searches that no text cites; the same on every wire."""
        return citations_of(self.output)

    @property
    def images(self) -> list[Image]:
        """The images that the model made, in order, each with its bytes. One that is no base64 is in `output` alone."""
        return images_of(self.output)

    @property
    def reasoning_text(self) -> str:
        """The visible reasoning: the raw text where there is one, else its summary."""
        thoughts: list[str] = []
        for item in self.output:
            if isinstance(item, Reasoning):
                shown = item.content or item.summary or ()
                thoughts.append("\n\n".join(part.text for part in shown))
        return "\n\n".join(filter(None, thoughts))

    @property
    def stop_reason(self) -> str:
        """The finish reason: `stop`, `tool_calls`, `refusal`, the reason it is incomplete, or its status otherwise."""
        if self.status == "incomplete":
            details = self.incomplete_details
            return details.reason if details and details.reason else "incomplete"
        if self.status != "completed":
            return self.status
        if any(isinstance(item, FunctionCall) for item in self.output):
            return "tool_calls"
        return "stop" if self.refusal is None else "refusal"

    def _message_parts(self) -> Iterator[str | ContentPart]:
        """The parts of the assistant's messages; for a message that is a string, that string."""
        for item in self.output:
            if isinstance(item, Message) and item.role == "assistant":
                yield from [item.content] if isinstance(item.content, str) else item.content


class CompactedResponse(ResponsesModel, kw_only=True):
    """The response of the compaction endpoint."""

    id: str
    """Id of the answer."""
    output: list[AnyItem]
    """Items to send, unchanged, in place of the conversation before."""
    object: Literal["response.compaction"] | str = field(default_factory=lambda: "response.compaction")
    """Type of the object: `response.compaction`."""
    created_at: int | float | None = None
    """When the answer was created, in seconds since 1970."""
    usage: Usage | None = None
    """Token counts of the compaction."""


RESPONSE: Decoder[Response] = Decoder(
    Response, repair=lenient_response, repaired=UNDECLARED, most_unknown=MOST_IN_ANSWER
)
"""Decodes a response object as a Responses host sends it."""

ECHOED = (
    "background",
    "frequency_penalty",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
)
_read_echoed = attrgetter(*ECHOED)


def echo(request: Request | None) -> dict[str, Any]:
    """The fields of a `Response` that repeat what `request` set; nothing without a request."""
    if request is None:
        return {}
    values = zip(ECHOED, _read_echoed(request), strict=True)
    return {name: echoed_tools(value) if name == "tools" else value for name, value in values if value is not None}


def echoed_tools(tools: Sequence[AnyTool]) -> list[AnyTool]:
    """The tools as a server repeats them: secrets of MCP servers are redacted, also those in a path."""
    return [_blotted(tool) if isinstance(tool, McpTool) else tool for tool in tools]


def _blotted(tool: McpTool) -> McpTool:
    changes: dict[str, Any] = {}
    if given(tool.authorization):
        changes["authorization"] = "REDACTED"
    if given(tool.headers):
        changes["headers"] = dict.fromkeys(tool.headers, "<redacted>")
    if given(tool.server_url):
        changes["server_url"] = re.sub(r"(?s)(?<=[^/:])/.+", "/<redacted>", tool.server_url, count=1)
    return replace(tool, **changes)
