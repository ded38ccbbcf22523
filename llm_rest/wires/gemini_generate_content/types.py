"""The documents of `generateContent` as structs, in the order of the vendor's reference, and their decoders.

Names are camelCase on the wire, also in answers; requests may have snake_case names, null for absent values, one value
in place of a list of one, and numbers in place of enum names (ProtoJSON). Before changing this file, know that only
`contents` of a request is required, that a `Literal` lists the enum names by their numbers (where only the first is
listed, other numbers stay, or become text), and that the caller's own data (arguments, outputs, schemas, labels) is no struct
and is preserved byte for byte. Follows the Gemini API reference v1beta, the Vertex AI reference v1beta1, google-genai
3.4.0 (read 2026-11-22), and the ProtoJSON format of protobuf.dev (read 2026-11-20).
"""

from __future__ import annotations

import re
from copy import copy
from functools import lru_cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from ...errors import DecodeError
from ...unknown import MOST_IN_ANSWER, MOST_UNKNOWN, Bounded, Decoder, Model, base, check_depth, extras, with_extras

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
S = TypeVar("S", bound=Model)

__all__ = ["COUNT", "COUNT_REQUEST", "EVENT", "MODEL", "MODELS", "REQUEST", "RESPONSE"]

WIRE = "gemini_generate_content"

NULL = Raw(b"null")
"""A field that is not set, where a client writes it."""

encode = msgspec.json.Encoder().encode
_arrays = msgspec.json.Decoder(list[Raw])
_objects = msgspec.json.Decoder(dict[str, Raw])
_whole = re.compile(rb"-?[0-9]{1,15}").fullmatch


class ProtoDecoder(Decoder[T]):
    """Decodes a document of this wire in any ProtoJSON notation. A list of one error, as some hosts send, is the error."""

    __slots__ = ()

    def _decode_open(self, data: bytes | bytearray | str) -> T:
        raw = data if isinstance(data, str) else bytes(data)
        try:
            raw = (raw.encode() if isinstance(raw, str) else raw).removeprefix(b"\xef\xbb\xbf").strip()
            check_depth(raw)
            if raw.startswith(b"[") and "error" in _objects.decode(first := _arrays.decode(raw)[0]):
                raw = first
            raw = encode(_value(Raw(raw), self._type))
        except (msgspec.MsgspecError, UnicodeError, RecursionError, IndexError):
            pass  # its defect is reported by the decoder
        return super()._decode_open(raw)


@lru_cache(maxsize=512)
def _form(declared: Any) -> Any:
    """The parts of a declared type that have other notations: a struct, a list, enum names by number; else `None`."""
    origin, inner = get_origin(declared), get_args(declared)
    if origin is Union or origin is UnionType:
        arms: list[Any] = [_form(arm) for arm in inner]
        return next((arm for arm in arms if arm is not None), None)
    if origin is Literal:
        return inner
    if origin is list:
        return None if inner == (Any,) else declared
    return declared if isinstance(declared, type) and issubclass(declared, Struct) else None


@lru_cache(maxsize=512)
def _holds_number(declared: Any) -> bool:
    return int in get_args(declared) or any(_holds_number(arm) for arm in get_args(declared) if get_origin(arm))


@lru_cache(maxsize=64)
def _fields(model: type[Struct]) -> dict[str, tuple[str, Any]]:
    """The fields of a struct by either notation: the name on the wire, and the type."""
    hints = get_type_hints(model)
    found: dict[str, tuple[str, Any]] = {}
    for ours, theirs in zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True):
        found[ours] = found[theirs] = theirs, hints[ours]
    return found


def _value(raw: Raw, declared: Any) -> Any:
    form = _form(declared)
    if form is None:
        return raw
    text = bytes(raw)
    if isinstance(form, tuple):
        words, number = cast("tuple[str, ...]", form), int(text) if _whole(text) else None
        # A number that is not listed stays one where the field may hold it.
        other = raw if _holds_number(declared) else str(number)
        return raw if number is None else words[number] if 0 <= number < len(words) else other
    if get_origin(form) is list:
        found = _arrays.decode(raw) if text[:1] == b"[" else [raw]
        # Longer ones come from servers, which use one notation, or are rejected.
        return raw if len(found) > MOST_IN_ANSWER else [_value(one, get_args(form)[0]) for one in found]
    return _object(_objects.decode(raw), form) if text[:1] == b"{" else raw


def _object(values: dict[str, Raw], model: type[Struct]) -> dict[str, Any]:
    fields = _fields(model)
    rewritten: dict[str, Any] = {}
    for name, raw in values.items():
        theirs, declared = fields.get(name, (name, None))
        if declared is None or (theirs != name and theirs in values):
            rewritten[name] = raw  # unknown; or both notations are there, of which the wire's own counts
        elif raw != NULL:
            rewritten[theirs] = _value(raw, declared)
    return rewritten


Maybe: TypeAlias = T | UnsetType
"""An optional field. No struct of this wire holds a null, which here means that a field is absent."""

Json = dict[str, Any]
"""A JSON object that is not read here."""
Value = Json | list[Any] | str | bool | int | float
"""Any JSON value."""


class Document(Model, rename="camel", gc=False, kw_only=True):
    """What every object of this wire is. JSON has no reference cycles, so that the garbage collector need not look at it."""


# --- parts ----------------------------------------------------------------------------------------------------------


class Blob(Document, kw_only=True):
    """Media as base64."""

    mime_type: Maybe[str] = UNSET
    data: Maybe[str] = UNSET
    display_name: Maybe[str] = UNSET


class FileData(Document, kw_only=True):
    """Media by URI: of the Files API, of a bucket, or any URL the model can fetch."""

    file_uri: Maybe[str] = UNSET
    mime_type: Maybe[str] = UNSET
    display_name: Maybe[str] = UNSET


class PartialArg(Document, kw_only=True):
    """A piece of streamed arguments: the value at `json_path`, or with `will_continue` the next piece of its text."""

    json_path: Maybe[str] = UNSET
    string_value: Maybe[str] = UNSET
    number_value: Maybe[float | int] = UNSET
    bool_value: Maybe[bool] = UNSET
    null_value: Maybe[Literal["NULL_VALUE"] | str] = UNSET
    will_continue: Maybe[bool] = UNSET


class FunctionCall(Document, kw_only=True):
    """A function call by the model. The last two fields are in streams of Vertex only."""

    id: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    args: Maybe[Raw] = UNSET
    partial_args: Maybe[list[PartialArg]] = UNSET
    will_continue: Maybe[bool] = UNSET

    def __post_init__(self) -> None:
        if self.args == NULL:
            self.args = UNSET


class FunctionResponse(Document, kw_only=True):
    """The output of a function. `response` is an object, in which `output` or `error` counts; `parts` are its media."""

    id: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    response: Maybe[Raw] = UNSET
    parts: Maybe[list[Part]] = UNSET
    scheduling: Maybe[Literal["SCHEDULING_UNSPECIFIED"] | str | int] = UNSET
    will_continue: Maybe[bool] = UNSET

    def __post_init__(self) -> None:
        if self.response == NULL:
            self.response = UNSET


class ExecutableCode(Document, kw_only=True):
    """Code that the model had run."""

    id: Maybe[str] = UNSET
    language: Maybe[Literal["LANGUAGE_UNSPECIFIED", "PYTHON"] | str] = UNSET
    code: Maybe[str] = UNSET


class CodeExecutionResult(Document, kw_only=True):
    id: Maybe[str] = UNSET
    outcome: Maybe[
        Literal["OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"] | str
    ] = UNSET
    output: Maybe[str] = UNSET


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


class ToolCall(Document, kw_only=True):
    """The model used a tool that the vendor runs."""

    id: Maybe[str] = UNSET
    tool_type: Maybe[ToolType] = UNSET
    args: Maybe[Json] = UNSET


class ToolResponse(Document, kw_only=True):
    id: Maybe[str] = UNSET
    tool_type: Maybe[ToolType] = UNSET
    response: Maybe[Json] = UNSET


MediaLevel = (
    Literal[
        "MEDIA_RESOLUTION_UNSPECIFIED",
        "MEDIA_RESOLUTION_LOW",
        "MEDIA_RESOLUTION_MEDIUM",
        "MEDIA_RESOLUTION_HIGH",
        "MEDIA_RESOLUTION_ULTRA_HIGH",
    ]
    | str
)


class MediaResolution(Document, kw_only=True):
    """How closely the media of a part is looked at."""

    level: Maybe[MediaLevel] = UNSET
    num_tokens: Maybe[int] = UNSET


class Part(Document, kw_only=True):
    """A part of a content: one payload, and fields that describe it. A thought is marked `thought`."""

    text: Maybe[str] = UNSET
    thought: Maybe[bool] = UNSET
    thought_signature: Maybe[str] = UNSET
    function_call: Maybe[FunctionCall] = UNSET
    function_response: Maybe[FunctionResponse] = UNSET
    inline_data: Maybe[Blob] = UNSET
    file_data: Maybe[FileData] = UNSET
    executable_code: Maybe[ExecutableCode] = UNSET
    code_execution_result: Maybe[CodeExecutionResult] = UNSET
    tool_call: Maybe[ToolCall] = UNSET
    tool_response: Maybe[ToolResponse] = UNSET
    video_metadata: Maybe[Json] = UNSET
    audio_metadata: Maybe[Json] = UNSET
    document_metadata: Maybe[Json] = UNSET
    spreadsheet_metadata: Maybe[Json] = UNSET
    media_resolution: Maybe[MediaResolution] = UNSET
    part_metadata: Maybe[Json] = UNSET
    audio_transcription: Maybe[Json] = UNSET
    media_processing: Maybe[Literal["MEDIA_PROCESSING_UNSPECIFIED"] | str | int | Json] = UNSET
    speech_metadata: Maybe[Json] = UNSET


class Content(Document, kw_only=True):
    """One turn of one side. Without a role it is the user."""

    role: Maybe[Literal["user", "model"] | str] = UNSET
    parts: Maybe[Bounded[Part]] = UNSET


# --- tools ----------------------------------------------------------------------------------------------------------


class FunctionDeclaration(Document, kw_only=True):
    """A function: its parameters as a JSON Schema, or in the vendor's own older dialect (`parameters`)."""

    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    parameters: Maybe[Json] = UNSET
    parameters_json_schema: Maybe[Value] = UNSET
    response: Maybe[Json] = UNSET
    response_json_schema: Maybe[Value] = UNSET
    behavior: Maybe[Literal["UNSPECIFIED"] | str] = UNSET


class GoogleSearch(Document, kw_only=True):
    search_types: Maybe[Json] = UNSET
    time_range_filter: Maybe[Json] = UNSET
    exclude_domains: Maybe[list[str]] = UNSET
    blocking_confidence: Maybe[Literal["PHISH_BLOCK_THRESHOLD_UNSPECIFIED"] | str | int] = UNSET


class FileSearch(Document, kw_only=True):
    file_search_store_names: Maybe[list[str]] = UNSET
    top_k: Maybe[int] = UNSET
    metadata_filter: Maybe[str] = UNSET


class StreamableHttpTransport(Document, kw_only=True):
    url: Maybe[str] = UNSET
    headers: Maybe[dict[str, str]] = UNSET
    timeout: Maybe[str] = UNSET
    sse_read_timeout: Maybe[str] = UNSET
    terminate_on_close: Maybe[bool] = UNSET


class McpServer(Document, kw_only=True):
    name: Maybe[str] = UNSET
    streamable_http_transport: Maybe[StreamableHttpTransport] = UNSET


class Tool(Document, kw_only=True):
    """One or more tools, each under its own key."""

    function_declarations: Maybe[list[FunctionDeclaration]] = UNSET
    google_search: Maybe[GoogleSearch] = UNSET
    code_execution: Maybe[Json] = UNSET
    url_context: Maybe[Json] = UNSET
    file_search: Maybe[FileSearch] = UNSET
    mcp_servers: Maybe[list[McpServer]] = UNSET
    google_maps: Maybe[Json] = UNSET
    computer_use: Maybe[Json] = UNSET
    google_search_retrieval: Maybe[Json] = UNSET
    retrieval: Maybe[Json] = UNSET
    enterprise_web_search: Maybe[Json] = UNSET
    parallel_ai_search: Maybe[Json] = UNSET
    exa_ai_search: Maybe[Json] = UNSET


class FunctionCallingConfig(Document, kw_only=True):
    mode: Maybe[Literal["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"] | str] = UNSET
    allowed_function_names: Maybe[list[str]] = UNSET
    stream_function_call_arguments: Maybe[bool] = UNSET


class ToolConfig(Document, kw_only=True):
    function_calling_config: Maybe[FunctionCallingConfig] = UNSET
    retrieval_config: Maybe[Json] = UNSET
    include_server_side_tool_invocations: Maybe[bool] = UNSET


# --- the request ----------------------------------------------------------------------------------------------------


class ThinkingConfig(Document, kw_only=True):
    """How much the model thinks, by a level or a number of tokens, and whether it shows a summary."""

    include_thoughts: Maybe[bool] = UNSET
    thinking_budget: Maybe[int] = UNSET
    thinking_level: Maybe[Literal["THINKING_LEVEL_UNSPECIFIED", "LOW", "MEDIUM", "HIGH", "MINIMAL", "XHIGH"] | str] = (
        UNSET
    )


Modality = Literal["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO"] | str


class GenerationConfig(Document, kw_only=True):
    temperature: Maybe[float | int] = UNSET
    top_p: Maybe[float | int] = UNSET
    top_k: Maybe[float | int] = UNSET
    candidate_count: Maybe[int] = UNSET
    max_output_tokens: Maybe[int] = UNSET
    stop_sequences: Maybe[list[str]] = UNSET
    seed: Maybe[int] = UNSET
    presence_penalty: Maybe[float | int] = UNSET
    frequency_penalty: Maybe[float | int] = UNSET
    response_logprobs: Maybe[bool] = UNSET
    logprobs: Maybe[int] = UNSET
    response_mime_type: Maybe[str] = UNSET
    response_schema: Maybe[Json] = UNSET
    response_json_schema: Maybe[Value] = UNSET
    response_format: Maybe[Value] = UNSET
    thinking_config: Maybe[ThinkingConfig] = UNSET
    response_modalities: Maybe[list[Modality]] = UNSET
    media_resolution: Maybe[MediaLevel] = UNSET
    speech_config: Maybe[Json] = UNSET
    image_config: Maybe[Json] = UNSET
    audio_transcription_config: Maybe[Json] = UNSET
    enable_enhanced_civic_answers: Maybe[bool] = UNSET
    enable_affective_dialog: Maybe[bool] = UNSET
    translation_config: Maybe[Json] = UNSET
    audio_timestamp: Maybe[bool] = UNSET
    routing_config: Maybe[Json] = UNSET
    model_selection_config: Maybe[Json] = UNSET


ServiceTier = Literal["unspecified", "flex", "standard", "priority"] | str


class Request(Document, kw_only=True):
    """The body of `:generateContent` and `:streamGenerateContent`. The model is in the URL."""

    contents: list[Content]
    system_instruction: Maybe[Content] = UNSET
    tools: Maybe[list[Tool]] = UNSET
    tool_config: Maybe[ToolConfig] = UNSET
    safety_settings: Maybe[list[Json]] = UNSET
    cached_content: Maybe[str] = UNSET
    generation_config: Maybe[GenerationConfig] = UNSET
    labels: Maybe[dict[str, str]] = UNSET
    service_tier: Maybe[ServiceTier] = UNSET
    store: Maybe[bool] = UNSET
    continuation_token: Maybe[str] = UNSET
    model_armor_config: Maybe[Json] = UNSET
    model: Maybe[str] = UNSET


# --- the answer -----------------------------------------------------------------------------------------------------


class WebChunk(Document, kw_only=True):
    uri: Maybe[str] = UNSET
    title: Maybe[str] = UNSET
    domain: Maybe[str] = UNSET


class RetrievedContext(Document, kw_only=True):
    uri: Maybe[str] = UNSET
    title: Maybe[str] = UNSET
    text: Maybe[str] = UNSET
    file_search_store: Maybe[str] = UNSET
    document_name: Maybe[str] = UNSET
    page_number: Maybe[int] = UNSET
    media_id: Maybe[str] = UNSET
    custom_metadata: Maybe[list[Json]] = UNSET
    rag_chunk: Maybe[Json] = UNSET


class GroundingChunk(Document, kw_only=True):
    """A source: a page, a passage of a file, a place or an image."""

    web: Maybe[WebChunk] = UNSET
    retrieved_context: Maybe[RetrievedContext] = UNSET
    maps: Maybe[Json] = UNSET
    image: Maybe[Json] = UNSET


class Segment(Document, kw_only=True):
    """A stretch of a part's text. The places count bytes of its UTF-8; a place that is 0 is left out."""

    part_index: Maybe[int] = UNSET
    start_index: Maybe[int] = UNSET
    end_index: Maybe[int] = UNSET
    text: Maybe[str] = UNSET


class GroundingSupport(Document, kw_only=True):
    """Which sources a stretch of text rests on."""

    segment: Maybe[Segment] = UNSET
    grounding_chunk_indices: Maybe[list[int]] = UNSET
    confidence_scores: Maybe[list[float | int]] = UNSET
    rendered_parts: Maybe[list[int]] = UNSET


class GroundingMetadata(Document, kw_only=True):
    web_search_queries: Maybe[list[str]] = UNSET
    image_search_queries: Maybe[list[str]] = UNSET
    retrieval_queries: Maybe[list[str]] = UNSET
    grounding_chunks: Maybe[list[GroundingChunk]] = UNSET
    grounding_supports: Maybe[list[GroundingSupport]] = UNSET
    search_entry_point: Maybe[Json] = UNSET
    retrieval_metadata: Maybe[Json] = UNSET
    google_maps_widget_context_token: Maybe[str] = UNSET
    source_flagging_uris: Maybe[list[Json]] = UNSET


class CitationSource(Document, kw_only=True):
    start_index: Maybe[int] = UNSET
    end_index: Maybe[int] = UNSET
    uri: Maybe[str] = UNSET
    title: Maybe[str] = UNSET
    license: Maybe[str] = UNSET
    publication_date: Maybe[Json] = UNSET


class CitationMetadata(Document, kw_only=True):
    """Known texts that the answer recites; Vertex calls the list `citations`."""

    citation_sources: Maybe[list[CitationSource]] = UNSET
    citations: Maybe[list[CitationSource]] = UNSET


class ScoredToken(Document, kw_only=True):
    token: Maybe[str] = UNSET
    token_id: Maybe[int] = UNSET
    log_probability: Maybe[float | int] = UNSET


class TopCandidates(Document, kw_only=True):
    candidates: Maybe[list[ScoredToken]] = UNSET


class LogprobsResult(Document, kw_only=True):
    chosen_candidates: Maybe[list[ScoredToken]] = UNSET
    top_candidates: Maybe[list[TopCandidates]] = UNSET
    log_probability_sum: Maybe[float | int] = UNSET


FinishReason = Literal["FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"] | str
"""The reasons whose numbers are the same everywhere; the others are in `response.py`."""


class Candidate(Document, kw_only=True):
    content: Maybe[Content] = UNSET
    finish_reason: Maybe[FinishReason] = UNSET
    finish_message: Maybe[str] = UNSET
    index: Maybe[int] = UNSET
    safety_ratings: Maybe[list[Json]] = UNSET
    citation_metadata: Maybe[CitationMetadata] = UNSET
    grounding_metadata: Maybe[GroundingMetadata] = UNSET
    url_context_metadata: Maybe[Json] = UNSET
    avg_logprobs: Maybe[float | int] = UNSET
    logprobs_result: Maybe[LogprobsResult] = UNSET
    token_count: Maybe[int] = UNSET
    continuation_token: Maybe[str] = UNSET


class PromptFeedback(Document, kw_only=True):
    """Why the prompt was not answered."""

    block_reason: Maybe[Literal["BLOCKED_REASON_UNSPECIFIED"] | str] = UNSET
    block_reason_message: Maybe[str] = UNSET
    safety_ratings: Maybe[list[Json]] = UNSET


class UsageMetadata(Document, kw_only=True):
    """Token counts; a count of 0 is left out. Thoughts are not among the candidates' tokens."""

    prompt_token_count: Maybe[int] = UNSET
    cached_content_token_count: Maybe[int] = UNSET
    candidates_token_count: Maybe[int] = UNSET
    thoughts_token_count: Maybe[int] = UNSET
    tool_use_prompt_token_count: Maybe[int] = UNSET
    total_token_count: Maybe[int] = UNSET
    prompt_tokens_details: Maybe[list[Json]] = UNSET
    candidates_tokens_details: Maybe[list[Json]] = UNSET
    cache_tokens_details: Maybe[list[Json]] = UNSET
    tool_use_prompt_tokens_details: Maybe[list[Json]] = UNSET
    traffic_type: Maybe[Literal["TRAFFIC_TYPE_UNSPECIFIED"] | str | int] = UNSET
    service_tier: Maybe[ServiceTier] = UNSET
    initial_prompt_token_count: Maybe[int] = UNSET


class Status(Document, kw_only=True):
    """An error: the HTTP status, its name, and details of `google.rpc`."""

    code: Maybe[int] = UNSET
    message: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
    details: Maybe[list[Json]] = UNSET


class Response(Document, kw_only=True):
    """A whole answer, or one chunk of a stream, or an error in the place of either."""

    # First, because the vendor's Python SDK sees an error in a stream by how its line begins.
    error: Maybe[Status] = UNSET
    candidates: Maybe[list[Candidate]] = UNSET
    prompt_feedback: Maybe[PromptFeedback] = UNSET
    usage_metadata: Maybe[UsageMetadata] = UNSET
    model_version: Maybe[str] = UNSET
    response_id: Maybe[str] = UNSET
    create_time: Maybe[str] = UNSET
    model_status: Maybe[Json] = UNSET


REQUEST: Decoder[Request] = ProtoDecoder(Request, most_unknown=MOST_UNKNOWN)
"""Decodes a request, in snake_case too."""


class _Answers(ProtoDecoder[Response]):
    """Decodes whole answers; a null in place of the candidates, without a block reason, is rejected."""

    __slots__ = ()

    def _decode_open(self, data: bytes | bytearray | str) -> Response:
        found = super()._decode_open(data)
        if found.candidates is found.prompt_feedback is found.error is UNSET and "candidates" in _objects.decode(data):
            raise DecodeError("expected a list, got null", path="$.candidates")
        return found


RESPONSE: Decoder[Response] = _Answers(Response, most_unknown=MOST_IN_ANSWER)
"""Decodes an answer."""

EVENT: Decoder[Response] = ProtoDecoder(Response, most_unknown=MOST_IN_ANSWER)
"""Decodes a chunk of a stream, which has the shape of an answer."""


# --- other endpoints ------------------------------------------------------------------------------------------------


class CountRequest(Document, kw_only=True):
    """`POST {model}:countTokens`: a whole request, or the fields of one that have a size."""

    contents: Maybe[list[Content]] = UNSET
    system_instruction: Maybe[Content] = UNSET
    tools: Maybe[list[Tool]] = UNSET
    generation_config: Maybe[GenerationConfig] = UNSET
    model: Maybe[str] = UNSET
    instances: Maybe[list[Json]] = UNSET
    generate_content_request: Maybe[Request] = UNSET


class Count(Document, kw_only=True):
    """How many tokens an input has."""

    total_tokens: int = 0
    total_billable_characters: Maybe[int] = UNSET
    cached_content_token_count: Maybe[int] = UNSET
    prompt_tokens_details: Maybe[list[Json]] = UNSET
    cache_tokens_details: Maybe[list[Json]] = UNSET

    @property
    def input_tokens(self) -> int:
        """The tokens of the input, by the name other wires have for it."""
        return self.total_tokens


COUNT_REQUEST: Decoder[CountRequest] = ProtoDecoder(CountRequest, most_unknown=MOST_UNKNOWN)
COUNT: Decoder[Count] = ProtoDecoder(Count)


class ModelInfo(Document, kw_only=True):
    """One model, named with its collection: `models/...`."""

    name: str
    base_model_id: Maybe[str] = UNSET
    version: Maybe[str] = UNSET
    display_name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    input_token_limit: Maybe[int] = UNSET
    output_token_limit: Maybe[int] = UNSET
    supported_generation_methods: Maybe[list[str]] = UNSET
    thinking: Maybe[bool] = UNSET
    temperature: Maybe[float] = UNSET
    max_temperature: Maybe[float] = UNSET
    top_p: Maybe[float] = UNSET
    top_k: Maybe[int] = UNSET


class ModelList(Document, kw_only=True):
    """One page of the models; the next one starts with `pageToken=nextPageToken`."""

    models: Maybe[list[ModelInfo]] = UNSET
    next_page_token: Maybe[str] = UNSET


MODELS: Decoder[ModelList] = ProtoDecoder(ModelList)
MODEL: Decoder[ModelInfo] = ProtoDecoder(ModelInfo)


# --- plain JSON and structs -----------------------------------------------------------------------------------------


def text_of(raw: Raw) -> str:
    """The JSON text of a value, unchanged; msgspec does not check whether it is UTF-8."""
    return bytes(raw).decode("utf-8", "replace")


@lru_cache(maxsize=64)
def _decoder(kind: type[S]) -> ProtoDecoder[S]:
    return ProtoDecoder(kind)


def restored(kind: type[S], value: Any) -> S | None:
    """The struct for plain JSON; `None` if the JSON is invalid for it."""
    try:
        return cast("S", _decoder(kind).decode(encode(value)))
    except (DecodeError, TypeError, ValueError):
        return None


def merged(struct: S, fields: Mapping[str, Any]) -> S | None:
    """`struct` with plain `fields` set or added, objects within objects; `None` where they do not fit."""
    try:
        return restored(type(base(struct)), _merge(_objects.decode(encode(struct)), fields))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None


def _merge(whole: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in fields.items():
        there = whole.get(name)
        if isinstance(value, dict) and isinstance(there, Raw) and bytes(there)[:1] == b"{":
            value = _merge(_objects.decode(there), cast("Json", value))
        whole[name] = value
    return whole


Join: TypeAlias = "Callable[[list[Any], list[Any]], list[Any]]"
"""Joins two lists to one."""


def merge(before: Maybe[S], after: S, join: Join | None = None) -> S:
    """`after` with the fields it lacks from `before`; with `join`, lists are joined."""
    if isinstance(before, UnsetType):
        return copy(after)
    changes: dict[str, Any] = {}
    for name in type(base(after)).__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if new is UNSET:
            changes[name] = old
        elif join and isinstance(old, list) and isinstance(new, list):
            changes[name] = join(cast("Any", old), cast("Any", new))
    whole = replace(after, **changes)
    return with_extras(whole, {**extras(before), **extras(after)}) if extras(before) else whole


# --- schemas of the older dialect ------------------------------------------------------------------------------------

TYPES = ("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
"""Types by their numbers."""

MAX_DEPTH = 200

_CAMEL = {
    "any_of": "anyOf",
    "property_ordering": "propertyOrdering",
    "additional_properties": "additionalProperties",
    **{f"{end}_{what}": f"{end}{what.title()}" for end in ("min", "max") for what in ("items", "length", "properties")},
}
_WHOLE = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_OURS = {"defs": "$defs", "ref": "$ref", "example": "examples"}


def from_openapi(schema: Json, depth: int = 0) -> Json:
    """A schema of `parameters` or `responseSchema` as JSON Schema."""
    if depth > MAX_DEPTH:
        return {}
    found: Json = {}
    for keyword, value in schema.items():
        name = _CAMEL.get(keyword, keyword)
        if name in ("items", "additionalProperties") and isinstance(value, dict):
            value = from_openapi(cast("Json", value), depth + 1)
        elif name in ("properties", "defs") and isinstance(value, dict):
            value = {key: _inner(one, depth) for key, one in cast("Json", value).items()}
        elif name == "anyOf" and isinstance(value, list):
            value = [_inner(one, depth) for one in cast("Any", value)]
        elif name == "type":
            value = _type(value)
        elif name == "ref" and isinstance(value, str):
            value = value.replace("#/defs/", "#/$defs/", 1)
        elif name == "example":
            value = [value]
        elif name in _WHOLE and isinstance(value, str) and value.isdecimal() and len(value) < 20:
            value = int(value)
        if name != "nullable":
            found[_OURS.get(name, name)] = value
    if found.get("type") in ("integer", "number") and isinstance(found.get("enum"), list):
        # The older dialect writes every enum as text.
        found["enum"] = [_number(one) for one in found["enum"]]
    if schema.get("nullable") is True:
        _or_null(found)
    return found


def _inner(value: Any, depth: int) -> Any:
    return from_openapi(cast("Json", value), depth + 1) if isinstance(value, dict) else value


def _type(value: Any) -> Any:
    if type(value) is int and 0 <= value < len(TYPES):
        value = TYPES[value]
    return value.lower() if isinstance(value, str) else value


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return int(value) if value.lstrip("-").isdecimal() and len(value) < 20 else float(value)
    except ValueError:
        return value


def _or_null(schema: Json) -> None:
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    elif isinstance(schema.get("anyOf"), list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
