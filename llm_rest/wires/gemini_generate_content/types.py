"""The documents of `generateContent` as structs, in the order of the vendor's reference.

Names are camelCase on the wire. Every field is optional there, because unset fields are left out and never null; only `contents`
of a request is asked for. Before changing this file, know that a field whose words are a `Literal` lists them by their
numbers, which `spelling.py` reads, and that objects we only pass on stay plain. Follows the Gemini API reference v1beta, the
Vertex AI reference v1beta1 and google-genai 3.3.0 (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Raw, UnsetType

from ...unknown import Decoder, Model, Opt
from .spelling import spelled

WIRE = "gemini_generate_content"

Json = dict[str, Any]
"""A JSON object that nobody here needs to look into."""


class Document(Model, rename="camel"):
    """What every object of this wire is."""


# --- parts ----------------------------------------------------------------------------------------------------------


class Blob(Document):
    """Media as base64."""

    mime_type: Opt[str] = UNSET
    data: Opt[str] = UNSET
    display_name: Opt[str] = UNSET


class FileData(Document):
    """Media by URI: of the Files API, of a bucket, or any URL the model can fetch."""

    file_uri: Opt[str] = UNSET
    mime_type: Opt[str] = UNSET
    display_name: Opt[str] = UNSET


class PartialArg(Document):
    """A piece of streamed arguments: the value at `json_path`, or with `will_continue` the next piece of its text."""

    json_path: Opt[str] = UNSET
    string_value: Opt[str] = UNSET
    number_value: Opt[float | int] = UNSET
    bool_value: Opt[bool] = UNSET
    null_value: Opt[str] = UNSET
    will_continue: Opt[bool] = UNSET


class FunctionCall(Document):
    """The model asks for a function. The last two fields are of streams of Vertex only."""

    id: Opt[str] = UNSET
    name: Opt[str] = UNSET
    args: Raw | UnsetType = UNSET
    partial_args: Opt[list[PartialArg]] = UNSET
    will_continue: Opt[bool] = UNSET


class FunctionResponse(Document):
    """What a function gave. `response` is an object; `output` or `error` in it is what counts, and `parts` are its media."""

    id: Opt[str] = UNSET
    name: Opt[str] = UNSET
    response: Raw | UnsetType = UNSET
    parts: Opt[list[Part]] = UNSET
    scheduling: Opt[str] = UNSET
    will_continue: Opt[bool] = UNSET


class ExecutableCode(Document):
    """Code that the model had run."""

    id: Opt[str] = UNSET
    language: Opt[Literal["LANGUAGE_UNSPECIFIED", "PYTHON"] | str] = UNSET
    code: Opt[str] = UNSET


class CodeExecutionResult(Document):
    id: Opt[str] = UNSET
    outcome: Opt[Literal["OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"] | str] = (
        UNSET
    )
    output: Opt[str] = UNSET


ToolType = (
    Literal[
        "TOOL_TYPE_UNSPECIFIED",
        "GOOGLE_SEARCH_WEB",
        "GOOGLE_SEARCH_IMAGE",
        "URL_CONTEXT",
        "GOOGLE_MAPS",
        "FILE_SEARCH",
        "MEDIA_PROCESSING",
    ]
    | str
)


class ToolCall(Document):
    """The model used a tool that the vendor runs."""

    id: Opt[str] = UNSET
    tool_type: Opt[ToolType] = UNSET
    args: Opt[Json] = UNSET


class ToolResponse(Document):
    id: Opt[str] = UNSET
    tool_type: Opt[ToolType] = UNSET
    response: Opt[Json] = UNSET


class MediaResolution(Document):
    """How closely the media of a part is looked at."""

    level: Opt[
        Literal[
            "MEDIA_RESOLUTION_UNSPECIFIED",
            "MEDIA_RESOLUTION_LOW",
            "MEDIA_RESOLUTION_MEDIUM",
            "MEDIA_RESOLUTION_HIGH",
            "MEDIA_RESOLUTION_ULTRA_HIGH",
        ]
        | str
    ] = UNSET
    num_tokens: Opt[int] = UNSET


class VideoMetadata(Document):
    """Which stretch of a video is meant, and how many frames of it."""

    start_offset: Opt[str] = UNSET
    end_offset: Opt[str] = UNSET
    fps: Opt[float | int] = UNSET


class Part(Document):
    """A piece of a content: one payload, and what is said about it. A thought is marked `thought`."""

    text: Opt[str] = UNSET
    thought: Opt[bool] = UNSET
    thought_signature: Opt[str] = UNSET
    function_call: Opt[FunctionCall] = UNSET
    function_response: Opt[FunctionResponse] = UNSET
    inline_data: Opt[Blob] = UNSET
    file_data: Opt[FileData] = UNSET
    executable_code: Opt[ExecutableCode] = UNSET
    code_execution_result: Opt[CodeExecutionResult] = UNSET
    tool_call: Opt[ToolCall] = UNSET
    tool_response: Opt[ToolResponse] = UNSET
    video_metadata: Opt[VideoMetadata] = UNSET
    media_resolution: Opt[MediaResolution] = UNSET
    part_metadata: Opt[Json] = UNSET
    audio_transcription: Opt[Json] = UNSET
    media_processing: Opt[Json] = UNSET
    speech_metadata: Opt[Json] = UNSET


class Content(Document):
    """What one side said in one go. Without a role it is the user."""

    role: Opt[Literal["user", "model"] | str] = UNSET
    parts: Opt[list[Part]] = UNSET


# --- tools ----------------------------------------------------------------------------------------------------------


class FunctionDeclaration(Document):
    """A function: its parameters as a JSON Schema, or in the vendor's own older dialect (`parameters`)."""

    name: Opt[str] = UNSET
    description: Opt[str] = UNSET
    parameters: Opt[Json] = UNSET
    parameters_json_schema: Opt[Any] = UNSET
    response: Opt[Json] = UNSET
    response_json_schema: Opt[Any] = UNSET
    behavior: Opt[str] = UNSET


class GoogleSearch(Document):
    search_types: Opt[Json] = UNSET
    time_range_filter: Opt[Json] = UNSET
    exclude_domains: Opt[list[str]] = UNSET
    blocking_confidence: Opt[str] = UNSET


class FileSearch(Document):
    file_search_store_names: Opt[list[str]] = UNSET
    top_k: Opt[int] = UNSET
    metadata_filter: Opt[str] = UNSET


class StreamableHttpTransport(Document):
    url: Opt[str] = UNSET
    headers: Opt[dict[str, str]] = UNSET
    timeout: Opt[str] = UNSET
    sse_read_timeout: Opt[str] = UNSET
    terminate_on_close: Opt[bool] = UNSET


class McpServer(Document):
    name: Opt[str] = UNSET
    streamable_http_transport: Opt[StreamableHttpTransport] = UNSET


class Tool(Document):
    """One or more tools, each under its own key."""

    function_declarations: Opt[list[FunctionDeclaration]] = UNSET
    google_search: Opt[GoogleSearch] = UNSET
    code_execution: Opt[Json] = UNSET
    url_context: Opt[Json] = UNSET
    file_search: Opt[FileSearch] = UNSET
    mcp_servers: Opt[list[McpServer]] = UNSET
    google_maps: Opt[Json] = UNSET
    computer_use: Opt[Json] = UNSET
    google_search_retrieval: Opt[Json] = UNSET
    retrieval: Opt[Json] = UNSET
    enterprise_web_search: Opt[Json] = UNSET
    parallel_ai_search: Opt[Json] = UNSET
    exa_ai_search: Opt[Json] = UNSET


class FunctionCallingConfig(Document):
    mode: Opt[Literal["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"] | str] = UNSET
    allowed_function_names: Opt[list[str]] = UNSET
    stream_function_call_arguments: Opt[bool] = UNSET


class ToolConfig(Document):
    function_calling_config: Opt[FunctionCallingConfig] = UNSET
    retrieval_config: Opt[Json] = UNSET
    include_server_side_tool_invocations: Opt[bool] = UNSET


# --- the request ----------------------------------------------------------------------------------------------------


class ThinkingConfig(Document):
    """How much the model thinks, by a level or a number of tokens, and whether it shows a summary."""

    include_thoughts: Opt[bool] = UNSET
    thinking_budget: Opt[int] = UNSET
    thinking_level: Opt[Literal["THINKING_LEVEL_UNSPECIFIED", "LOW", "MEDIUM", "HIGH", "MINIMAL", "XHIGH"] | str] = (
        UNSET
    )


class ImageConfig(Document):
    aspect_ratio: Opt[str] = UNSET
    image_size: Opt[str] = UNSET
    person_generation: Opt[str] = UNSET
    prominent_people: Opt[str] = UNSET
    output_mime_type: Opt[str] = UNSET
    output_compression_quality: Opt[int] = UNSET
    image_output_options: Opt[Json] = UNSET


Modality = Literal["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO"] | str


class GenerationConfig(Document):
    temperature: Opt[float | int] = UNSET
    top_p: Opt[float | int] = UNSET
    top_k: Opt[float | int] = UNSET
    candidate_count: Opt[int] = UNSET
    max_output_tokens: Opt[int] = UNSET
    stop_sequences: Opt[list[str]] = UNSET
    seed: Opt[int] = UNSET
    presence_penalty: Opt[float | int] = UNSET
    frequency_penalty: Opt[float | int] = UNSET
    response_logprobs: Opt[bool] = UNSET
    logprobs: Opt[int] = UNSET
    response_mime_type: Opt[str] = UNSET
    response_schema: Opt[Json] = UNSET
    response_json_schema: Opt[Any] = UNSET
    response_format: Opt[Any] = UNSET
    thinking_config: Opt[ThinkingConfig] = UNSET
    response_modalities: Opt[list[Modality]] = UNSET
    media_resolution: Opt[str] = UNSET
    speech_config: Opt[Json] = UNSET
    image_config: Opt[ImageConfig] = UNSET
    audio_transcription_config: Opt[Json] = UNSET
    enable_enhanced_civic_answers: Opt[bool] = UNSET
    audio_timestamp: Opt[bool] = UNSET
    routing_config: Opt[Json] = UNSET
    model_selection_config: Opt[Json] = UNSET


class ModelArmorConfig(Document):
    prompt_template_name: Opt[str] = UNSET
    response_template_name: Opt[str] = UNSET


class Request(Document):
    """The body of `:generateContent` and `:streamGenerateContent`. The model stands in the URL."""

    contents: list[Content]
    system_instruction: Opt[Content] = UNSET
    tools: Opt[list[Tool]] = UNSET
    tool_config: Opt[ToolConfig] = UNSET
    safety_settings: Opt[list[Json]] = UNSET
    cached_content: Opt[str] = UNSET
    generation_config: Opt[GenerationConfig] = UNSET
    labels: Opt[dict[str, str]] = UNSET
    service_tier: Opt[Literal["unspecified", "flex", "standard", "priority"] | str] = UNSET
    store: Opt[bool] = UNSET
    continuation_token: Opt[str] = UNSET
    model_armor_config: Opt[ModelArmorConfig] = UNSET
    model: Opt[str] = UNSET


# --- the answer -----------------------------------------------------------------------------------------------------


class WebChunk(Document):
    uri: Opt[str] = UNSET
    title: Opt[str] = UNSET
    domain: Opt[str] = UNSET


class RetrievedContext(Document):
    uri: Opt[str] = UNSET
    title: Opt[str] = UNSET
    text: Opt[str] = UNSET
    file_search_store: Opt[str] = UNSET
    document_name: Opt[str] = UNSET
    page_number: Opt[int] = UNSET
    media_id: Opt[str] = UNSET
    custom_metadata: Opt[list[Json]] = UNSET
    rag_chunk: Opt[Json] = UNSET


class GroundingChunk(Document):
    """A source: a page, a passage of a file, a place or an image."""

    web: Opt[WebChunk] = UNSET
    retrieved_context: Opt[RetrievedContext] = UNSET
    maps: Opt[Json] = UNSET
    image: Opt[Json] = UNSET


class Segment(Document):
    """A stretch of a part's text. The places count bytes of its UTF-8; a place that is 0 is left out."""

    part_index: Opt[int] = UNSET
    start_index: Opt[int] = UNSET
    end_index: Opt[int] = UNSET
    text: Opt[str] = UNSET


class GroundingSupport(Document):
    """Which sources a stretch of text rests on."""

    segment: Opt[Segment] = UNSET
    grounding_chunk_indices: Opt[list[int]] = UNSET
    confidence_scores: Opt[list[float | int]] = UNSET
    rendered_parts: Opt[list[int]] = UNSET


class GroundingMetadata(Document):
    web_search_queries: Opt[list[str]] = UNSET
    image_search_queries: Opt[list[str]] = UNSET
    retrieval_queries: Opt[list[str]] = UNSET
    grounding_chunks: Opt[list[GroundingChunk]] = UNSET
    grounding_supports: Opt[list[GroundingSupport]] = UNSET
    search_entry_point: Opt[Json] = UNSET
    retrieval_metadata: Opt[Json] = UNSET
    google_maps_widget_context_token: Opt[str] = UNSET
    source_flagging_uris: Opt[list[Json]] = UNSET


class CitationSource(Document):
    start_index: Opt[int] = UNSET
    end_index: Opt[int] = UNSET
    uri: Opt[str] = UNSET
    title: Opt[str] = UNSET
    license: Opt[str] = UNSET
    publication_date: Opt[Json] = UNSET


class CitationMetadata(Document):
    """Known texts that the answer recites; Vertex calls the list `citations`."""

    citation_sources: Opt[list[CitationSource]] = UNSET
    citations: Opt[list[CitationSource]] = UNSET


class ScoredToken(Document):
    token: Opt[str] = UNSET
    token_id: Opt[int] = UNSET
    log_probability: Opt[float | int] = UNSET


class TopCandidates(Document):
    candidates: Opt[list[ScoredToken]] = UNSET


class LogprobsResult(Document):
    chosen_candidates: Opt[list[ScoredToken]] = UNSET
    top_candidates: Opt[list[TopCandidates]] = UNSET
    log_probability_sum: Opt[float | int] = UNSET


FinishReason = Literal["FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"] | str
"""The reasons whose numbers are the same everywhere; the others are in `response.py`."""


class Candidate(Document):
    content: Opt[Content] = UNSET
    finish_reason: Opt[FinishReason] = UNSET
    finish_message: Opt[str] = UNSET
    index: Opt[int] = UNSET
    safety_ratings: Opt[list[Json]] = UNSET
    citation_metadata: Opt[CitationMetadata] = UNSET
    grounding_metadata: Opt[GroundingMetadata] = UNSET
    url_context_metadata: Opt[Json] = UNSET
    avg_logprobs: Opt[float | int] = UNSET
    logprobs_result: Opt[LogprobsResult] = UNSET
    token_count: Opt[int] = UNSET
    continuation_token: Opt[str] = UNSET


class PromptFeedback(Document):
    """Why the prompt was not answered."""

    block_reason: Opt[str] = UNSET
    block_reason_message: Opt[str] = UNSET
    safety_ratings: Opt[list[Json]] = UNSET


class UsageMetadata(Document):
    """Token counts; a count of 0 is left out. Thoughts are not among the candidates' tokens."""

    prompt_token_count: Opt[int] = UNSET
    cached_content_token_count: Opt[int] = UNSET
    candidates_token_count: Opt[int] = UNSET
    thoughts_token_count: Opt[int] = UNSET
    tool_use_prompt_token_count: Opt[int] = UNSET
    total_token_count: Opt[int] = UNSET
    prompt_tokens_details: Opt[list[Json]] = UNSET
    candidates_tokens_details: Opt[list[Json]] = UNSET
    cache_tokens_details: Opt[list[Json]] = UNSET
    tool_use_prompt_tokens_details: Opt[list[Json]] = UNSET
    traffic_type: Opt[str] = UNSET
    service_tier: Opt[str] = UNSET


class Status(Document):
    """What went wrong: the HTTP status, its word, and details of `google.rpc`."""

    code: Opt[int] = UNSET
    message: Opt[str] = UNSET
    status: Opt[str] = UNSET
    details: Opt[list[Json]] = UNSET


class Response(Document):
    """A whole answer, or one chunk of a stream, or an error in the place of either."""

    error: Opt[Status] = (
        UNSET  # first, because the vendor's Python SDK sees an error in a stream by how its line begins
    )
    candidates: list[Candidate] | UnsetType = UNSET
    prompt_feedback: Opt[PromptFeedback] = UNSET
    usage_metadata: Opt[UsageMetadata] = UNSET
    model_version: Opt[str] = UNSET
    response_id: Opt[str] = UNSET
    create_time: Opt[str] = UNSET
    model_status: Opt[Json] = UNSET


REQUEST: Decoder[Request] = Decoder(Request, repair=spelled(Request))
"""Decodes a request, in snake_case too."""

RESPONSE: Decoder[Response] = Decoder(Response, repair=spelled(Response))
"""Decodes an answer."""

EVENT: Decoder[Response] = RESPONSE
"""Decodes a chunk of a stream, which has the shape of an answer."""
