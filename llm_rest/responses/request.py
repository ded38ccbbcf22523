"""What is asked of a model: `Request`, its options, and the decoder that accepts what people write.

Follows the parameters of `POST /v1/responses` in the OpenAI reference (read 2026-11-20). The fields of ours at the end never
travel as Responses: options that several wires share and Responses lacks, the caller's own additions, and leftovers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from msgspec import field

from ..unknown import MOST_UNKNOWN, Decoder, Open, ResponsesModel
from .items import AnyItem, Message
from .normalize import normalize
from .parts import Leftovers
from .tools import AnyTool, Schema, ToolChoice


class TextFormat(ResponsesModel):
    """Plain text."""

    type: ClassVar[Literal["text"]] = "text"


class JsonSchemaFormat(ResponsesModel):
    """JSON that fits a schema. `name` is up to 64 letters, digits, underscores and dashes."""

    type: ClassVar[Literal["json_schema"]] = "json_schema"
    name: str | None = None
    schema: Schema | None = None
    description: str | None = None
    strict: bool | None = None


class JsonObjectFormat(ResponsesModel):
    """Any JSON object; the word "json" must occur in the input."""

    type: ClassVar[Literal["json_object"]] = "json_object"


class TextOptions(ResponsesModel):
    format: Open[TextFormat | JsonSchemaFormat | JsonObjectFormat] | None = None
    verbosity: Literal["low", "medium", "high"] | str | None = None


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ReasoningOptions(ResponsesModel):
    effort: Effort | str | None = None
    summary: Literal["auto", "concise", "detailed"] | str | None = None
    generate_summary: str | None = None
    context: Literal["auto", "current_turn", "all_turns"] | str | None = None
    mode: Literal["standard", "pro"] | str | None = None


class StreamOptions(ResponsesModel):
    include_obfuscation: bool | None = None


class CacheOptions(ResponsesModel):
    mode: Literal["implicit", "explicit"] | str | None = None
    ttl: Literal["30m", "12h"] | str | None = None
    prewarm: bool | None = None
    comparison_response_id: str | None = None


class ConversationRef(ResponsesModel):
    id: str


class Prompt(ResponsesModel):
    """A prompt stored with the vendor."""

    id: str
    version: str | None = None
    variables: dict[str, Any] | None = None


class BackgroundOptions(ResponsesModel):
    """How soon a response in the background is needed; a longer window costs less.

    Requests with the same `continuation_id` belong to one piece of work and get a common priority; no history comes with it.
    """

    completion_window: Literal["soonest", "2h", "8h"] | str | None = None
    continuation_id: str | None = None


class ContextManagement(ResponsesModel):
    type: Literal["compaction"] | str = field(default_factory=lambda: "compaction")
    compact_threshold: int | None = None


_INPUTS = (list, str, type(None))


class Request(ResponsesModel):
    """One request to a model, in the Responses format.

    Fields have the names, shapes and ranges of the vendor's reference. `stop` (up to four strings), `seed` and `top_k` are
    options that other wires share; `extra` is merged into one wire's body last (`{"anthropic_messages": {...}}`).
    """

    model: str | None = None
    input: str | Sequence[AnyItem] | None = None
    instructions: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    temperature: float | int | None = None
    top_p: float | int | None = None
    top_logprobs: int | None = None
    presence_penalty: float | int | None = None
    frequency_penalty: float | int | None = None
    tools: Sequence[AnyTool] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    include: Sequence[str] | None = None
    truncation: Literal["auto", "disabled"] | str | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    conversation: str | ConversationRef | None = None
    background: bool | None = None
    background_options: BackgroundOptions | None = None
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] | str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    prompt: Prompt | None = None
    context_management: Sequence[ContextManagement] | None = None
    moderation: dict[str, Any] | None = None
    image: dict[str, Any] | None = None
    access_programs: dict[str, Any] | None = None

    stop: str | Sequence[str] | None = None
    seed: int | None = None
    top_k: int | None = None
    extra: dict[str, dict[str, Any]] | None = None
    leftovers: Leftovers | None = None

    def __post_init__(self) -> None:
        # Whoever reads the input finds a text, a list or nothing.
        if not isinstance(self.input, _INPUTS):
            self.input = list(self.input)


def items_of(request: Request) -> list[AnyItem]:
    """The input as items; a text is what the user says."""
    if isinstance(request.input, str):
        return [Message(role="user", content=request.input)]
    said = request.input
    return said if isinstance(said, list) else list(said or ())


OURS = ("stop", "seed", "top_k", "extra", "leftovers")
"""The fields of `Request` that are not part of the Responses format."""

REQUEST: Decoder[Request] = Decoder(Request, repair=normalize, most_unknown=MOST_UNKNOWN)
"""Decodes a request as it stands, and what people write instead of it (`responses/normalize.py`)."""
