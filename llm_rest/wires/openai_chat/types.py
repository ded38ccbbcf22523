"""The documents of Chat Completions: the request, the answer and the chunks of a streamed answer.

Follows `POST /v1/chat/completions` of the OpenAI API reference and the references of the hosts that serve it (read
2026-11-20). Nearly every field is optional, because some host leaves it out; hosts' own fields are after OpenAI's, each
group in the order of the host's reference. Before changing this file, know that a value of another type than the
field's makes the decoder use the slow path, and that a declared field without an equivalent in Responses becomes a
leftover, so it has to be plain JSON (`Any`).
"""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import UNSET, Raw, UnsetType

from ... import responses as ours
from ...unknown import MOST_IN_ANSWER, MOST_UNKNOWN, Bounded, Decoder, Model, Open, Opt

__all__ = ["EVENT", "REQUEST", "RESPONSE"]

WIRE = "openai_chat"

Json = dict[str, Any]

USED = "used"
"""Key in `spelling`: the field or form that a document used, where several have one meaning and it is not the usual one."""


FUNCTION, FUNCTION_CALL, FUNCTIONS = "function", "function_call", "functions"
"""The legacy forms of tools, among those under `USED`: of an output, of a call, and of the offered tools."""


# --- content parts --------------------------------------------------------------------------------------------------


class Part(Model, tag_field="type", kw_only=True):
    """The common fields of content parts. `cache_control` is the cache breakpoint of hosts in front of Anthropic."""

    prompt_cache_breakpoint: Opt[Json] = UNSET
    cache_control: Opt[Json] = UNSET


class Text(Part, tag="text", kw_only=True):
    text: str
    image_url: Opt[Any] = UNSET  # a client of Hugging Face writes the fields of the other kinds as null


class ImageUrl(Model, kw_only=True):
    """`url` is http(s) or a data URL."""

    url: str
    detail: Opt[Literal["auto", "low", "high", "original"] | str] = UNSET


class Image(Part, tag="image_url", kw_only=True):
    """An image; some hosts require a bare string."""

    image_url: ImageUrl | str
    text: Opt[Any] = UNSET


class Audio(Part, tag="input_audio", kw_only=True):
    """Sound; a bare string is Mistral's form."""

    input_audio: ours.AudioData | str


class FileData(Model, kw_only=True):
    """`file_data` is a data URL; some hosts support an http(s) URL there."""

    file_id: Opt[str] = UNSET
    file_data: Opt[str] = UNSET
    filename: Opt[str] = UNSET


class File(Part, tag="file", kw_only=True):
    file: FileData


class Refusal(Part, tag="refusal", kw_only=True):
    refusal: str


class VideoUrl(Model, kw_only=True):
    url: str


class Video(Part, tag="video_url", kw_only=True):
    video_url: VideoUrl | str


class Document(Part, tag="document_url", kw_only=True):
    """Mistral: a document by URL."""

    document_url: str
    document_name: Opt[str] = UNSET


class Thinking(Part, tag="thinking", kw_only=True):
    """Mistral: the model's thinking, as a part of the content."""

    thinking: str | list[Json]
    signature: Opt[str] = UNSET
    closed: Opt[bool] = UNSET


KnownPart = Text | Image | Audio | File | Refusal | Video | Document | Thinking

AnyPart = Open[KnownPart]

Content = str | Bounded[AnyPart]

JsonValue = dict[str, Raw]
"""A JSON object, whose notation is preserved here."""


# --- calls ----------------------------------------------------------------------------------------------------------

Arguments = str | JsonValue | list[Raw]
"""JSON text; some hosts send the value itself."""


class FunctionBody(Model, kw_only=True):
    name: Opt[str] = UNSET
    arguments: Opt[Arguments] = UNSET


class CustomBody(Model, kw_only=True):
    name: Opt[str] = UNSET
    input: Opt[Arguments] = UNSET


class ToolCall(Model, kw_only=True):
    """A call, or a piece of one in a stream. Only OpenAI itself always sends `id` and `type`; some send a number as the id."""

    id: Opt[str | int | float] = UNSET
    type: Opt[Literal["function", "custom"] | str] = UNSET
    function: Opt[FunctionBody] = UNSET
    custom: Opt[CustomBody] = UNSET
    index: Opt[int | float] = UNSET
    extra_content: Opt[Json] = UNSET
    """Gemini: `{"google": {"thought_signature": ...}}`, to be sent back with the call."""
    name: Opt[str] = UNSET
    arguments: Opt[Arguments] = UNSET


# --- messages of a request ------------------------------------------------------------------------------------------


class Message(Model, tag_field="role", kw_only=True):
    """What every message has."""

    content: Opt[Content] = UNSET
    name: Opt[str] = UNSET


class DeveloperMessage(Message, tag="developer", kw_only=True):
    """Instructions, at OpenAI."""


class SystemMessage(Message, tag="system", kw_only=True):
    """Instructions, everywhere else."""

    tool_calls: Opt[Any] = UNSET


class UserMessage(Message, tag="user", kw_only=True):
    tool_calls: Opt[Any] = UNSET


class AssistantFields(Model, kw_only=True):
    """The fields of assistant messages, in requests and answers. Those after `function_call` are the hosts' own."""

    content: Opt[Content | JsonValue] = UNSET
    """Text or parts; some hosts send the object of an answer in JSON, whose text is meant."""
    refusal: Opt[str] = UNSET
    tool_calls: Opt[Bounded[ToolCall] | ToolCall] = UNSET
    """The calls; small models write one call in place of the list."""
    annotations: Opt[list[Any]] = UNSET
    """`{"type": "url_citation", "url_citation": {"url", "title", "start_index", "end_index"}}`: nested, flat in Responses."""
    audio: Opt[Json] = UNSET
    function_call: Opt[FunctionBody] = UNSET

    reasoning_content: Opt[str] = UNSET
    reasoning: Opt[str] = UNSET
    reasoning_details: Opt[list[Json]] = UNSET
    extra_content: Opt[Json] = UNSET
    thought_signature: Opt[str] = UNSET
    images: Opt[Any] = UNSET
    executed_tools: Opt[Any] = UNSET
    channel: Opt[Any] = UNSET

    @property
    def calls(self) -> list[ToolCall]:
        """The calls, also where there is one in place of the list."""
        found = self.tool_calls or []
        return [found] if isinstance(found, ToolCall) else found


class AssistantMessage(AssistantFields, tag_field="role", tag="assistant", kw_only=True):
    """`prefix` makes Mistral and DeepSeek continue this text, `partial` Moonshot."""

    name: Opt[str] = UNSET
    prefix: Opt[bool] = UNSET
    partial: Opt[bool] = UNSET
    stop_reason: Opt[str] = UNSET


class ToolMessage(Message, tag="tool", kw_only=True):
    """What a tool gave, for the call `tool_call_id`."""

    tool_call_id: Opt[str] = UNSET


class FunctionMessage(Message, tag="function", kw_only=True):
    """What a function gave, in the legacy form."""


AnyMessage = Open[DeveloperMessage | SystemMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage]


# --- tools and formats ----------------------------------------------------------------------------------------------


class Function(Model, kw_only=True):
    name: str
    description: Opt[str] = UNSET
    parameters: Opt[Json] = UNSET
    strict: Opt[bool] = UNSET


class Grammar(Model, kw_only=True):
    definition: str
    syntax: Literal["lark", "regex"] | str


class TextFormat(Model, tag_field="type", tag="text", kw_only=True):
    """Any text."""


class GrammarFormat(Model, tag_field="type", tag="grammar", kw_only=True):
    grammar: Grammar


class Custom(Model, kw_only=True):
    name: str
    description: Opt[str] = UNSET
    format: Opt[Open[TextFormat | GrammarFormat]] = UNSET


class Tool(Model, kw_only=True):
    """A function, a custom tool, or a tool of the host, whose fields are then undeclared ones."""

    type: Opt[Literal["function", "custom"] | str] = UNSET
    function: Opt[Function] = UNSET
    custom: Opt[Custom] = UNSET
    parameters: Opt[Json] = UNSET
    cache_control: Opt[Json] = UNSET
    eager_input_streaming: Opt[bool] = UNSET


class Named(Model, kw_only=True):
    name: str


class AllowedTools(Model, kw_only=True):
    mode: Opt[Literal["auto", "required"] | str] = UNSET
    tools: Opt[list[Json]] = UNSET


class ToolChoice(Model, kw_only=True):
    """A named tool, or a set of tools, depending on `type`."""

    type: Opt[Literal["function", "custom", "allowed_tools"] | str] = UNSET
    function: Opt[Named] = UNSET
    custom: Opt[Named] = UNSET
    allowed_tools: Opt[AllowedTools] = UNSET


class JsonSchema(Model, kw_only=True):
    name: Opt[str] = UNSET
    schema: Opt[Json] = UNSET
    description: Opt[str] = UNSET
    strict: Opt[bool] = UNSET


class ResponseFormat(Model, kw_only=True):
    type: Literal["text", "json_object", "json_schema"] | str
    json_schema: Opt[JsonSchema] = UNSET


# --- the request ----------------------------------------------------------------------------------------------------


class StreamOptions(Model, kw_only=True):
    include_usage: Opt[bool] = UNSET
    include_obfuscation: Opt[bool] = UNSET


class Location(Model, kw_only=True):
    city: Opt[str] = UNSET
    country: Opt[str] = UNSET
    region: Opt[str] = UNSET
    timezone: Opt[str] = UNSET


class UserLocation(Model, kw_only=True):
    type: Opt[Literal["approximate"] | str] = UNSET
    approximate: Opt[Location] = UNSET


class WebSearchOptions(Model, kw_only=True):
    search_context_size: Opt[Literal["low", "medium", "high"] | str] = UNSET
    user_location: Opt[UserLocation] = UNSET


class CacheOptions(Model, kw_only=True):
    mode: Opt[str] = UNSET
    ttl: Opt[str] = UNSET


class Reasoning(Model, kw_only=True):
    """OpenRouter and Vercel: how much to think."""

    effort: Opt[str] = UNSET
    summary: Opt[str] = UNSET
    max_tokens: Opt[int] = UNSET
    enabled: Opt[bool] = UNSET
    exclude: Opt[bool] = UNSET


class Request(Model, kw_only=True):
    """The body of a request. `messages` comes last, so that a longer conversation begins with the same bytes."""

    model: Opt[str] = UNSET
    max_completion_tokens: Opt[int] = UNSET
    max_tokens: Opt[int] = UNSET
    temperature: Opt[float | int] = UNSET
    top_p: Opt[float | int] = UNSET
    frequency_penalty: Opt[float | int] = UNSET
    presence_penalty: Opt[float | int] = UNSET
    stop: Opt[str | list[str]] = UNSET
    n: Opt[int] = UNSET
    seed: Opt[int] = UNSET
    logit_bias: Opt[Any] = UNSET
    logprobs: Opt[bool | int] = UNSET
    top_logprobs: Opt[int] = UNSET
    stream: Opt[bool] = UNSET
    stream_options: Opt[StreamOptions] = UNSET
    tools: Opt[list[Tool]] = UNSET
    tool_choice: Opt[str | ToolChoice] = UNSET
    parallel_tool_calls: Opt[bool] = UNSET
    functions: Opt[list[Function]] = UNSET
    function_call: Opt[str | Named] = UNSET
    response_format: Opt[ResponseFormat] = UNSET
    reasoning_effort: Opt[str] = UNSET
    verbosity: Opt[str] = UNSET
    modalities: Opt[Any] = UNSET
    audio: Opt[Any] = UNSET
    prediction: Opt[Any] = UNSET
    web_search_options: Opt[WebSearchOptions] = UNSET
    service_tier: Opt[str] = UNSET
    store: Opt[bool] = UNSET
    metadata: Opt[dict[str, str]] = UNSET
    prompt_cache_key: Opt[str] = UNSET
    prompt_cache_retention: Opt[str] = UNSET
    prompt_cache_options: Opt[CacheOptions] = UNSET
    safety_identifier: Opt[str] = UNSET
    user: Opt[str] = UNSET
    moderation: Opt[Json] = UNSET

    top_k: Opt[int] = UNSET
    random_seed: Opt[int] = UNSET
    """Mistral's name for `seed`."""
    reasoning: Opt[Reasoning] = UNSET
    thinking: Opt[Any] = UNSET
    enable_thinking: Opt[Any] = UNSET
    clear_thinking: Opt[Any] = UNSET
    disable_reasoning: Opt[Any] = UNSET
    reasoning_format: Opt[Any] = UNSET
    include_reasoning: Opt[Any] = UNSET
    chat_template_kwargs: Opt[Any] = UNSET
    search_settings: Opt[Any] = UNSET
    models: Opt[Any] = UNSET
    preset: Opt[Any] = UNSET
    provider: Opt[Any] = UNSET
    plugins: Opt[Any] = UNSET
    transforms: Opt[Any] = UNSET
    usage: Opt[Any] = UNSET
    safe_prompt: Opt[Any] = UNSET
    prompt_mode: Opt[Any] = UNSET
    min_p: Opt[Any] = UNSET
    repetition_penalty: Opt[Any] = UNSET
    search_parameters: Opt[Any] = UNSET

    messages: list[AnyMessage]


# --- the answer -----------------------------------------------------------------------------------------------------


class PromptDetails(Model, kw_only=True):
    cached_tokens: Opt[int] = UNSET
    cache_write_tokens: Opt[int] = UNSET
    audio_tokens: Opt[Any] = UNSET
    image_tokens: Opt[Any] = UNSET
    text_tokens: Opt[Any] = UNSET
    video_tokens: Opt[Any] = UNSET
    multimodal_tokens: Opt[Any] = UNSET


class CompletionDetails(Model, kw_only=True):
    reasoning_tokens: Opt[int] = UNSET
    audio_tokens: Opt[Any] = UNSET
    accepted_prediction_tokens: Opt[Any] = UNSET
    rejected_prediction_tokens: Opt[Any] = UNSET
    text_tokens: Opt[Any] = UNSET
    image_tokens: Opt[Any] = UNSET
    video_tokens: Opt[Any] = UNSET


class Usage(Model, kw_only=True):
    """Token counts. Whether `completion_tokens` includes reasoning is a fact of the host."""

    prompt_tokens: Opt[int] = UNSET
    completion_tokens: Opt[int] = UNSET
    total_tokens: Opt[int] = UNSET
    prompt_tokens_details: Opt[PromptDetails] = UNSET
    completion_tokens_details: Opt[CompletionDetails] = UNSET

    cached_tokens: Opt[Any] = UNSET
    num_cached_tokens: Opt[Any] = UNSET
    prompt_cache_hit_tokens: Opt[Any] = UNSET
    prompt_cache_miss_tokens: Opt[Any] = UNSET
    queue_time: Opt[Any] = UNSET
    prompt_time: Opt[Any] = UNSET
    completion_time: Opt[Any] = UNSET
    total_time: Opt[Any] = UNSET
    cost: Opt[Any] = UNSET
    cost_details: Opt[Any] = UNSET
    is_byok: Opt[Any] = UNSET
    server_tool_use_details: Opt[Any] = UNSET
    num_sources_used: Opt[Any] = UNSET
    cost_in_usd_ticks: Opt[Any] = UNSET
    pydantic_ai_gateway: Opt[Any] = UNSET


class Answer(AssistantFields, kw_only=True):
    """The message of a choice."""

    role: Opt[str] = UNSET


class _ChoiceFields(Model, kw_only=True):
    index: Opt[int] = UNSET
    finish_reason: Opt[Literal["stop", "length", "tool_calls", "content_filter", "function_call"] | str] = UNSET
    logprobs: Opt[Any] = UNSET

    content_filter_results: Opt[Any] = UNSET
    native_finish_reason: Opt[Any] = UNSET
    seed: Opt[Any] = UNSET
    stop_reason: Opt[Any] = UNSET
    token_ids: Opt[Any] = UNSET
    routed_experts: Opt[Any] = UNSET
    text: Opt[Any] = UNSET


class Choice(_ChoiceFields, kw_only=True):
    message: Opt[Answer] = UNSET


class _Document(Model, kw_only=True):
    """What an answer and a chunk have in common."""

    id: Opt[str] = UNSET
    object: Opt[Literal["chat.completion", "chat.completion.chunk"] | str] = UNSET
    created: Opt[int | float] = UNSET
    model: Opt[str] = UNSET
    usage: Opt[Usage] = UNSET
    service_tier: Opt[str] = UNSET
    system_fingerprint: Opt[Any] = UNSET
    metadata: Opt[Any] = UNSET
    moderation: Opt[Any] = UNSET

    provider: Opt[Any] = UNSET
    openrouter_metadata: Opt[Any] = UNSET
    x_groq: Opt[Any] = UNSET
    usage_breakdown: Opt[Any] = UNSET
    time_info: Opt[Any] = UNSET
    timings: Opt[Any] = UNSET
    citations: Opt[Any] = UNSET
    search_results: Opt[Any] = UNSET
    prompt_filter_results: Opt[Any] = UNSET
    request_id: Opt[Any] = UNSET
    kv_transfer_params: Opt[Any] = UNSET
    metrics: Opt[Any] = UNSET
    sla_metrics: Opt[Any] = UNSET
    prompt: Opt[Any] = UNSET
    prompt_logprobs: Opt[Any] = UNSET
    prompt_text: Opt[Any] = UNSET
    prompt_token_ids: Opt[Any] = UNSET
    base_resp: Opt[Json] = UNSET  # how the request went: `status_code` is 0 where it went well


class Completion(_Document, kw_only=True):
    """The whole answer. A document without `choices`, or with an error beside them, is an error and no answer."""

    choices: list[Choice]
    error: None | UnsetType = UNSET


# --- the stream -----------------------------------------------------------------------------------------------------


class Delta(Answer, kw_only=True):
    """What is new in the message of a choice."""

    token_id: Opt[Any] = UNSET


class ChunkChoice(_ChoiceFields, kw_only=True):
    delta: Opt[Delta] = UNSET
    usage: Opt[Usage] = UNSET


class Chunk(_Document, kw_only=True):
    """One piece of a streamed answer. `choices` may be empty, null or absent, and an error may be beside it."""

    choices: Opt[list[ChunkChoice]] = UNSET
    error: Opt[Any] = UNSET
    obfuscation: Opt[Any] = UNSET
    status_code: Opt[Any] = UNSET


REQUEST: Decoder[Request] = Decoder(Request, most_unknown=MOST_UNKNOWN)
EVENT: Decoder[Chunk] = Decoder(Chunk, most_unknown=MOST_IN_ANSWER)

_COMMENTS = re.compile(rb"\A(?:\s*:[^\n]*\n)+")
"""Keep-alives that hosts send while they think, which may precede an answer that is no stream."""


class _AnswerDecoder(Decoder[Completion]):
    __slots__ = ()

    def _decode_open(self, data: bytes | bytearray | str) -> Completion:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
        return super()._decode_open(_COMMENTS.sub(b"", raw, count=1))


RESPONSE: Decoder[Completion] = _AnswerDecoder(Completion, most_unknown=MOST_IN_ANSWER)
