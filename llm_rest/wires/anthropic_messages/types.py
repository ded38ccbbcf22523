"""The documents of the Anthropic Messages API: requests, answers, stream events and errors.

Follows the Messages reference of Anthropic and the types of its SDK 2.10.0 (both read 2026-11-20), in their order. One
struct serves a block wherever it occurs, sent or received. Before changing this file, know that tool inputs stay `Raw`
(the text that the model wrote), and that data describing only one document (usage details, container, diagnostics)
stays plain JSON, because it is stored unchanged. In the four structs that are most of a long conversation the vendor's
fields come first in JSON, before those of their bases; they may be given by position.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from msgspec import UNSET, Raw, field

from ...unknown import MOST_IN_ANSWER, MOST_UNKNOWN, Bounded, Decoder, Model, Open, Opt

__all__ = ["COUNT", "COUNT_REQUEST", "EVENT", "MODEL", "MODELS", "REQUEST", "RESPONSE"]

WIRE = "anthropic_messages"
Json = dict[str, Any]

# --- fields of many blocks ------------------------------------------------------------------------------------------


class CacheControl(Model, kw_only=True):
    """Ends a stretch of the prompt that may be cached; `ttl` is five minutes unless given."""

    type: Literal["ephemeral"] | str = "ephemeral"
    ttl: Opt[Literal["5m", "1h"] | str] = UNSET


class Block(Model, tag_field="type", kw_only=True):
    """One piece of a message's content."""


class MarkableBlock(Block, kw_only=True):
    """A block that may end a cached stretch."""

    cache_control: Opt[CacheControl] = UNSET


class Caller(Model, kw_only=True):
    """Who made a call: the model (`direct`), or code it runs, by the id of that run."""

    type: Literal["direct", "code_execution_20250825", "code_execution_20260120"] | str
    tool_id: Opt[str] = UNSET


# --- sources of images and documents --------------------------------------------------------------------------------


class Base64Source(Model, tag_field="type", tag="base64", kw_only=True):
    media_type: str
    data: str


class TextSource(Model, tag_field="type", tag="text", kw_only=True):
    media_type: str
    data: str


class UrlSource(Model, tag_field="type", tag="url", kw_only=True):
    url: str


class FileSource(Model, tag_field="type", tag="file", kw_only=True):
    file_id: str


class ContentSource(Model, tag_field="type", tag="content", kw_only=True):
    """A document given as blocks."""

    content: str | list[Open[Text | Image]]


ImageSource = Open[Base64Source | UrlSource | FileSource]
DocumentSource = Open[Base64Source | TextSource | ContentSource | UrlSource | FileSource]


# --- citations ------------------------------------------------------------------------------------------------------


class Citation(Model, tag_field="type", kw_only=True):
    """The source of a statement; ends are exclusive."""

    cited_text: str


class DocumentCitation(Citation, kw_only=True):
    document_index: int
    document_title: Opt[str] = UNSET
    file_id: Opt[str] = UNSET  # in answers only; rejected in requests


class CharLocation(DocumentCitation, tag="char_location", kw_only=True):
    start_char_index: int
    end_char_index: int


class PageLocation(DocumentCitation, tag="page_location", kw_only=True):
    start_page_number: int
    end_page_number: int


class ContentBlockLocation(DocumentCitation, tag="content_block_location", kw_only=True):
    start_block_index: int
    end_block_index: int


class SearchResultLocation(Citation, tag="search_result_location", kw_only=True):
    search_result_index: int
    source: str
    title: Opt[str] = UNSET
    start_block_index: int
    end_block_index: int


class WebSearchResultLocation(Citation, tag="web_search_result_location", kw_only=True):
    url: str
    title: Opt[str] = UNSET
    encrypted_index: str


AnyCitation = Open[CharLocation | PageLocation | ContentBlockLocation | SearchResultLocation | WebSearchResultLocation]


# --- blocks people and models write ---------------------------------------------------------------------------------


class Text(MarkableBlock, tag="text", kw_only=False):
    text: str
    citations: Opt[list[AnyCitation]] = UNSET


class Image(MarkableBlock, tag="image", kw_only=True):
    source: ImageSource
    transformations: Opt[Json] = UNSET


class Document(MarkableBlock, tag="document", kw_only=True):
    source: DocumentSource
    title: Opt[str] = UNSET
    context: Opt[str] = UNSET
    citations: Opt[Json] = UNSET


class SearchResult(MarkableBlock, tag="search_result", kw_only=True):
    """A finding of the caller's own search, which the model can cite."""

    source: str
    title: str
    content: list[Text]
    citations: Opt[Json] = UNSET


class ToolReference(MarkableBlock, tag="tool_reference", kw_only=True):
    """A tool found by a search over deferred tools."""

    tool_name: str


class ContainerUpload(MarkableBlock, tag="container_upload", kw_only=True):
    """A file for, or from, the container that runs code."""

    file_id: str


class Thinking(Block, tag="thinking", kw_only=True):
    """The model's thinking, or a summary of it; must be sent back unchanged or left out."""

    thinking: str
    signature: str


class RedactedThinking(Block, tag="redacted_thinking", kw_only=True):
    data: str


class ToolUse(MarkableBlock, tag="tool_use", kw_only=False):
    """A tool call by the model."""

    id: str
    name: str
    input: Raw
    caller: Opt[Caller] = UNSET
    toolset_name: Opt[str] = UNSET


class ToolResult(MarkableBlock, tag="tool_result", kw_only=False):
    """What the tool gave; is first in the user message right after its call."""

    tool_use_id: str
    content: Opt[str | list[Open[Text | Image | Document | SearchResult | ToolReference]]] = UNSET
    is_error: Opt[bool] = UNSET
    toolset_name: Opt[str] = UNSET


# --- blocks of tools the vendor runs --------------------------------------------------------------------------------


class ServerToolUse(MarkableBlock, tag="server_tool_use", kw_only=True):
    id: str
    name: str
    input: Raw
    caller: Opt[Caller] = UNSET


class ServerToolResult(MarkableBlock, kw_only=True):
    """What a tool of the vendor gave."""

    tool_use_id: str


class WebSearchToolResult(ServerToolResult, tag="web_search_tool_result", kw_only=True):
    content: Any  # pages as `web_search_result`, or an error
    caller: Opt[Caller] = UNSET


class WebFetchToolResult(ServerToolResult, tag="web_fetch_tool_result", kw_only=True):
    content: Json  # a `web_fetch_result`, or an error
    caller: Opt[Caller] = UNSET


class CodeExecutionToolResult(ServerToolResult, tag="code_execution_tool_result", kw_only=True):
    content: Json  # `stdout`, `stderr`, `return_code`, or an error


class BashCodeExecutionToolResult(ServerToolResult, tag="bash_code_execution_tool_result", kw_only=True):
    content: Json  # the same


class TextEditorCodeExecutionToolResult(ServerToolResult, tag="text_editor_code_execution_tool_result", kw_only=True):
    content: Json


class ToolSearchToolResult(ServerToolResult, tag="tool_search_tool_result", kw_only=True):
    content: Json  # `tool_references`, or an error


class AdvisorToolResult(ServerToolResult, tag="advisor_tool_result", kw_only=True):
    content: Json


class McpToolUse(MarkableBlock, tag="mcp_tool_use", kw_only=True):
    id: str
    name: str
    server_name: str
    input: Raw


class McpToolResult(ServerToolResult, tag="mcp_tool_result", kw_only=True):
    is_error: Opt[bool] = UNSET
    content: Opt[str | list[Open[Text]]] = UNSET


class McpListedTool(Model, kw_only=True):
    name: str
    description: Opt[str] = UNSET
    input_schema: Any = UNSET


class McpToolListing(Block, tag="mcp_tool_listing", kw_only=True):
    """The tools of an MCP server as the model saw them."""

    mcp_server_name: str
    tools: list[McpListedTool]


# --- blocks that change the conversation itself ---------------------------------------------------------------------


class Compaction(MarkableBlock, tag="compaction", kw_only=True):
    """Represents everything before it; null content is a compaction that failed."""

    content: Opt[str] = UNSET
    encrypted_content: Opt[str] = UNSET
    signature: Opt[str] = UNSET
    tool_changes: Opt[list[Json]] = UNSET


class FallbackModel(Model, kw_only=True):
    model: str


class Fallback(Block, tag="fallback", kw_only=True):
    """Another model went on from here."""

    from_: FallbackModel = field(name="from")
    to: FallbackModel
    trigger: Opt[Json] = UNSET


class ChangedTool(Model, kw_only=True):
    """A tool by its name, its MCP server, or its whole definition, depending on `type`."""

    type: Literal["tool_reference", "mcp_tool_reference", "mcp_toolset_reference", "tool_definition"] | str
    name: Opt[str] = UNSET
    server_name: Opt[str] = UNSET
    definition: Opt[Tool] = UNSET


class ToolAddition(MarkableBlock, tag="tool_addition", kw_only=True):
    """From here on a tool can be called; in system messages."""

    tool: ChangedTool


class ToolRemoval(MarkableBlock, tag="tool_removal", kw_only=True):
    """From here on a tool can no longer be called; in system messages."""

    tool: ChangedTool


AnyBlock = Open[
    Text
    | Image
    | Document
    | SearchResult
    | ToolReference
    | ContainerUpload
    | Thinking
    | RedactedThinking
    | ToolUse
    | ToolResult
    | ServerToolUse
    | WebSearchToolResult
    | WebFetchToolResult
    | CodeExecutionToolResult
    | BashCodeExecutionToolResult
    | TextEditorCodeExecutionToolResult
    | ToolSearchToolResult
    | AdvisorToolResult
    | McpToolUse
    | McpToolResult
    | McpToolListing
    | Compaction
    | Fallback
    | ToolAddition
    | ToolRemoval
]


# --- the request ----------------------------------------------------------------------------------------------------


class InputMessage(Model, kw_only=False):
    """One turn, or part of one. The last two fields belong to system messages."""

    role: Literal["user", "assistant", "system"] | str
    content: Opt[str | list[AnyBlock]] = UNSET
    clear_at: Opt[Literal["next_user_message", "never"] | str] = UNSET
    output_config: Opt[Json] = UNSET


class UserLocation(Model, kw_only=True):
    type: Opt[Literal["approximate"] | str] = UNSET
    city: Opt[str] = UNSET
    region: Opt[str] = UNSET
    country: Opt[str] = UNSET
    timezone: Opt[str] = UNSET


class McpToolConfig(Model, kw_only=True):
    enabled: Opt[bool] = UNSET
    defer_loading: Opt[bool] = UNSET


class Tool(Model, kw_only=True):
    """A tool of the caller, or of the vendor, by `type`. A caller's tool needs no tag, so one struct has all fields."""

    type: Opt[str] = UNSET
    name: Opt[str] = UNSET
    description: Opt[str] = UNSET
    input_schema: Opt[Json] = UNSET
    strict: Opt[bool] = UNSET
    cache_control: Opt[CacheControl] = UNSET
    input_examples: Opt[list[Json]] = UNSET
    eager_input_streaming: Opt[bool] = UNSET
    defer_loading: Opt[bool] = UNSET
    allowed_callers: Opt[list[str]] = UNSET
    # web search and fetch
    max_uses: Opt[int] = UNSET
    allowed_domains: Opt[list[str]] = UNSET
    blocked_domains: Opt[list[str]] = UNSET
    user_location: Opt[UserLocation] = UNSET
    response_inclusion: Opt[str] = UNSET
    citations: Opt[Json] = UNSET
    max_content_tokens: Opt[int] = UNSET
    use_cache: Opt[bool] = UNSET
    url_sources: Opt[Json] = UNSET
    # editor, computer and browser
    max_characters: Opt[int] = UNSET
    display_width_px: Opt[int] = UNSET
    display_height_px: Opt[int] = UNSET
    display_number: Opt[int] = UNSET
    enable_zoom: Opt[bool] = UNSET
    # advisor
    model: Opt[str] = UNSET
    max_tokens: Opt[int] = UNSET
    caching: Opt[CacheControl] = UNSET
    # toolsets
    mcp_server_name: Opt[str] = UNSET
    default_config: Opt[McpToolConfig] = UNSET
    configs: Opt[dict[str, Json]] = UNSET
    tools: Opt[list[McpListedTool]] = UNSET


class ToolChoice(Model, kw_only=True):
    type: Literal["auto", "any", "tool", "none"] | str
    name: Opt[str] = UNSET
    disable_parallel_tool_use: Opt[bool] = UNSET


class ThinkingConfig(Model, kw_only=True):
    type: Literal["adaptive", "enabled", "disabled", "between_tools"] | str
    budget_tokens: Opt[int] = UNSET
    display: Opt[Literal["summarized", "omitted", "updates"] | str] = UNSET
    block_binding: Opt[Json] = UNSET


class OutputFormat(Model, kw_only=True):
    type: Literal["json_schema"] | str
    schema: Opt[Json] = UNSET


class OutputConfig(Model, kw_only=True):
    effort: Opt[Literal["low", "medium", "high", "xhigh", "max"] | str] = UNSET
    format: Opt[OutputFormat] = UNSET
    task_budget: Opt[Json] = UNSET


class Metadata(Model, kw_only=True):
    user_id: Opt[str] = UNSET


class McpServerTools(Model, kw_only=True):
    enabled: Opt[bool] = UNSET
    allowed_tools: Opt[list[str]] = UNSET


class McpServer(Model, kw_only=True):
    """A remote MCP server. `authorization_token` is a secret; `tool_configuration` is of the first connector."""

    type: Literal["url"] | str
    url: str
    name: str
    authorization_token: Opt[str] = UNSET
    tool_configuration: Opt[McpServerTools] = UNSET


class Threshold(Model, kw_only=True):
    type: Literal["input_tokens", "tool_uses"] | str
    value: int


class ContextEdit(Model, kw_only=True):
    """One way to shorten the context, as `type` names it."""

    type: Literal["clear_tool_uses_20250919", "clear_thinking_20251015", "compact_20260112"] | str
    trigger: Opt[Threshold] = UNSET
    keep: Any = UNSET
    clear_at_least: Opt[Threshold] = UNSET
    exclude_tools: Opt[list[str]] = UNSET
    clear_tool_inputs: Opt[bool | list[str]] = UNSET
    pause_after_compaction: Opt[bool] = UNSET
    instructions: Opt[str] = UNSET


class ContextManagement(Model, kw_only=True):
    edits: Opt[list[ContextEdit]] = UNSET


class CountRequest(Model, kw_only=True):
    """`POST /v1/messages/count_tokens`: a request without the options that only affect generation."""

    model: Opt[str] = UNSET
    messages: list[InputMessage]
    system: Opt[str | list[Text]] = UNSET
    tools: Opt[list[Tool]] = UNSET
    tool_choice: Opt[ToolChoice] = UNSET
    thinking: Opt[ThinkingConfig] = UNSET
    output_config: Opt[OutputConfig] = UNSET
    cache_control: Opt[CacheControl] = UNSET
    speed: Opt[Literal["standard", "fast"] | str] = UNSET
    mcp_servers: Opt[list[McpServer]] = UNSET
    context_management: Opt[ContextManagement] = UNSET


class Request(CountRequest, kw_only=True):
    """`POST /v1/messages`. On clouds the model is in the URL, and the version and betas are in the body."""

    anthropic_version: Opt[str] = UNSET
    anthropic_beta: Opt[list[str]] = UNSET
    max_tokens: int
    stream: Opt[bool] = UNSET
    stop_sequences: Opt[list[str]] = UNSET
    temperature: Opt[float | int] = UNSET
    top_p: Opt[float | int] = UNSET
    top_k: Opt[int] = UNSET
    metadata: Opt[Metadata] = UNSET
    service_tier: Opt[Literal["auto", "standard_only"] | str] = UNSET
    inference_geo: Opt[str] = UNSET
    container: Opt[str | Json] = UNSET
    diagnostics: Opt[Json] = UNSET  # previous_message_id
    compaction: Opt[Json] = UNSET  # type, which is "summarize", and instructions
    fallbacks: Opt[str | list[Json]] = UNSET
    fallback_credit_token: Opt[Any] = UNSET
    thread: Opt[Json] = UNSET
    billing_policy: Opt[Json] = UNSET
    output_format: Opt[OutputFormat] = UNSET


REQUEST: Decoder[Request] = Decoder(Request, most_unknown=MOST_UNKNOWN)


# --- the answer -----------------------------------------------------------------------------------------------------


class Usage(Model, kw_only=True):
    """Token counts. `input_tokens` excludes cache reads and writes; some hosts leave counts out."""

    input_tokens: Opt[int] = UNSET
    cache_creation_input_tokens: Opt[int] = UNSET
    cache_read_input_tokens: Opt[int] = UNSET
    cache_creation: Opt[dict[str, int]] = UNSET  # ephemeral_5m_input_tokens, ephemeral_1h_input_tokens
    output_tokens: Opt[int] = UNSET
    output_tokens_details: Opt[dict[str, int]] = UNSET  # thinking_tokens
    server_tool_use: Opt[dict[str, int]] = UNSET  # web_search_requests, web_fetch_requests
    service_tier: Opt[Literal["standard", "priority", "batch"] | str] = UNSET
    speed: Opt[str] = UNSET
    inference_geo: Opt[str] = UNSET
    iterations: Opt[list[Json]] = UNSET


StopReason = Literal[
    "end_turn",
    "stop_sequence",
    "tool_use",
    "max_tokens",
    "model_context_window_exceeded",
    "pause_turn",
    "refusal",
    "compaction",
]


class Message(Model, tag_field="type", tag="message", kw_only=True):
    """The answer. `stop_reason` is null only at the start of a stream; some hosts leave id, model and usage out."""

    id: Opt[str | int] = UNSET
    role: Literal["assistant"] | str = "assistant"
    model: Opt[str] = UNSET
    content: Bounded[AnyBlock]
    stop_reason: Opt[StopReason | str] = UNSET
    stop_sequence: Opt[str] = UNSET
    stop_details: Opt[Json] = UNSET  # type, category, explanation of a refusal
    container: Opt[Json] = UNSET  # id, expires_at, skills
    diagnostics: Opt[Any] = UNSET
    context_management: Opt[Json] = UNSET  # applied_edits
    input_transformations: Opt[list[Json]] = UNSET  # type, path, reason
    usage: Opt[Usage] = UNSET


class ErrorDetail(Model, kw_only=True):
    type: str
    message: str
    details: Opt[Any] = UNSET


class Error(Model, tag_field="type", tag="error", kw_only=True):
    """An error: the body of a rejected request, and an event of a stream that breaks off."""

    error: ErrorDetail
    request_id: Opt[str] = UNSET


def _typed(document: Any) -> Any:
    """The document with the type of an answer, if it is one and its host left the type out."""
    answer = cast("Json", document if isinstance(document, dict) else {})
    if "type" not in answer and isinstance(answer.get("content"), list) and not answer.get("error"):
        return {**answer, "type": "message"}
    return cast("Any", document)


RESPONSE: Decoder[Message | Error] = Decoder(Message | Error, repair=_typed, most_unknown=MOST_IN_ANSWER)
"""Decodes an answer, and the error body that is in its place."""


# --- stream events --------------------------------------------------------------------------------------------------


class Event(Model, tag_field="type", kw_only=True):
    """One step of a streamed answer."""


class MessageStart(Event, tag="message_start", kw_only=True):
    """The answer so far: no content, input counts only."""

    message: Message


class ContentBlockStart(Event, tag="content_block_start", kw_only=True):
    """The beginning of a block; a tool's result is complete here, any other block nearly empty."""

    index: int
    content_block: AnyBlock


class TextDelta(Model, tag_field="type", tag="text_delta", kw_only=True):
    text: str


class InputJsonDelta(Model, tag_field="type", tag="input_json_delta", kw_only=True):
    partial_json: str


class ThinkingDelta(Model, tag_field="type", tag="thinking_delta", kw_only=True):
    thinking: str
    estimated_tokens: Opt[int] = UNSET


class SignatureDelta(Model, tag_field="type", tag="signature_delta", kw_only=True):
    """The whole signature, once."""

    signature: str


class CitationsDelta(Model, tag_field="type", tag="citations_delta", kw_only=True):
    citation: AnyCitation


class CompactionDelta(Model, tag_field="type", tag="compaction_delta", kw_only=True):
    """The whole compaction, once."""

    content: Opt[str] = UNSET
    encrypted_content: Opt[str] = UNSET


AnyDelta = Open[TextDelta | InputJsonDelta | ThinkingDelta | SignatureDelta | CitationsDelta | CompactionDelta]


class ContentBlockDelta(Event, tag="content_block_delta", kw_only=True):
    index: int
    delta: AnyDelta


class ContentBlockStop(Event, tag="content_block_stop", kw_only=True):
    index: int


class Ending(Model, kw_only=True):
    """How the answer ended."""

    stop_reason: Opt[StopReason | str] = UNSET
    stop_sequence: Opt[str] = UNSET
    stop_details: Opt[Json] = UNSET
    container: Opt[Json] = UNSET


class MessageDelta(Event, tag="message_delta", kw_only=True):
    """One or more near the end."""

    delta: Ending
    usage: Opt[Usage] = UNSET
    context_management: Opt[Json] = UNSET
    input_transformations: Opt[list[Json]] = UNSET


class MessageStop(Event, tag="message_stop", kw_only=True):
    """The stream is complete; without it, it broke off."""


class Ping(Event, tag="ping", kw_only=True):
    """Nothing happened."""


AnyEvent = Open[
    MessageStart | ContentBlockStart | ContentBlockDelta | ContentBlockStop | MessageDelta | MessageStop | Ping | Error
]


def _lenient(document: Any) -> Any:
    """A step of a stream; an error of a router, which has no type, is this wire's."""
    event = cast("Json", document if isinstance(document, dict) else {})
    error = event.get("error")
    if not error or "type" in event:
        return cast("Any", document)
    inside = cast("Json", error) if isinstance(error, dict) else {"message": str(error)}
    return {**event, "type": "error", "error": {"type": "api_error", "message": "", **inside}}


EVENT: Decoder[AnyEvent] = Decoder(AnyEvent, repair=_lenient, most_unknown=MOST_IN_ANSWER)


# --- counting and models --------------------------------------------------------------------------------------------


class Count(Model, kw_only=True):
    """An estimate; `context_management` has the count before editing."""

    input_tokens: int
    context_management: Opt[Json] = UNSET


COUNT_REQUEST: Decoder[CountRequest] = Decoder(CountRequest, most_unknown=MOST_UNKNOWN)
COUNT: Decoder[Count] = Decoder(Count)


class ModelInfo(Model, kw_only=True):
    """One model. `capabilities` is a tree whose leaves are `{"supported": ...}`."""

    id: str
    type: Literal["model"] | str = "model"
    display_name: Opt[str] = UNSET
    created_at: Opt[str] = UNSET
    max_input_tokens: Opt[int] = UNSET
    max_tokens: Opt[int] = UNSET
    lifecycle: Opt[Literal["active", "deprecated", "retired"] | str] = UNSET
    deprecated_at: Opt[str] = UNSET
    retires_at: Opt[str] = UNSET
    line: Opt[str] = UNSET
    capabilities: Opt[Json] = UNSET


class ModelList(Model, kw_only=True):
    """One page of `GET /v1/models`; the next one starts with `after_id=last_id`."""

    data: list[ModelInfo]
    first_id: Opt[str] = UNSET
    last_id: Opt[str] = UNSET
    has_more: bool = False


MODELS: Decoder[ModelList] = Decoder(ModelList)
MODEL: Decoder[ModelInfo] = Decoder(ModelInfo)


# --- versions and betas -----------------------------------------------------------------------------------------------

NEWEST = "2026-10-21"
OLDER = "2023-06-01"
"""The version that still supports sampling options."""

MCP_BETA = "mcp-client-2025-11-20"
FIRST_MCP = "mcp-client-2025-04-04"
"""The first connector: for servers that choose their tools themselves, without a toolset."""
EDITS = "context-management-2025-06-27"
TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"
BINDING = "thinking-binding-controls-2026-08-01"

BETA_FIELDS = {
    "compaction": "compact-2026-09-04",
    "fallbacks": "server-side-fallback-2026-07-01",
    "fallback_credit_token": "fallback-credit-2026-07-01",
    "mcp_servers": MCP_BETA,
    "thread": "message-threads-2026-08-12",
    "task_budget": "task-budgets-2026-03-13",
    "block_binding": BINDING,
    "clear_at": "mid-conversation-system-clear-at-2026-08-21",
    "skills": "skills-2025-10-02",
}
"""Fields of this wire that need a beta, wherever they are."""

BETA_VALUES = {
    "advisor_20260301": "advisor-tool-2026-03-01",
    "clear_tool_uses_20250919": EDITS,
    "clear_thinking_20251015": EDITS,
    "compact_20260112": "compact-2026-01-12",
    "mcp_toolset": MCP_BETA,
    "tool_addition": TOOL_CHANGES,
    "tool_removal": TOOL_CHANGES,
    "tool_definition": "inline-tools-2026-09-15",
    "updates": "thinking-display-updates-2026-08-18",
    "fast": "fast-mode-2026-02-01",
}
"""Values of `type`, `display` and `speed` that need one."""
