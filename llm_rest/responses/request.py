"""A request to a model: `Request`, its options, and the decoder, which also accepts older notations.

Follows the parameters of `POST /v1/responses` in the OpenAI reference (read 2026-11-20). The last fields are never sent
as Responses: options that several wires share and Responses lacks, the caller's additions, and leftovers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import compress
from operator import not_
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, field

from ..unknown import MOST_UNKNOWN, Decoder, Open, ResponsesModel, decoder_of
from .items import AnyItem, Message
from .lenient import UNDECLARED
from .normalize import normalize
from .parts import Leftovers
from .tools import AnyTool, Schema, ToolChoice


class TextFormat(ResponsesModel, kw_only=True, tag="text"):
    """Plain text, the default format."""

    type: ClassVar[Literal["text"]] = "text"


class JsonSchemaFormat(ResponsesModel, kw_only=True, tag="json_schema"):
    """JSON that fits a schema."""

    type: ClassVar[Literal["json_schema"]] = "json_schema"
    name: str | None = None
    """Name of the schema: up to 64 letters, digits, underscores and dashes."""
    schema: Schema | None = None
    """The JSON Schema."""
    description: str | None = None
    """What the schema is for, for the model."""
    strict: bool | None = None
    """Whether the answer must fit the schema exactly. None means false."""


class JsonObjectFormat(ResponsesModel, kw_only=True, tag="json_object"):
    """Any JSON object; the word "json" must occur in the input."""

    type: ClassVar[Literal["json_object"]] = "json_object"


class TextOptions(ResponsesModel, kw_only=True):
    """Format and length of the answer's text."""

    format: Open[TextFormat | JsonSchemaFormat | JsonObjectFormat] | None = None
    """Plain text (the default), JSON of a schema, or any JSON object."""
    verbosity: Literal["low", "medium", "high"] | str | None = None
    """How long the text should be: `low`, `medium` (the default) or `high`."""


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Known reasoning efforts, from least to most. Each model supports some of them."""


class ReasoningOptions(ResponsesModel, kw_only=True):
    """Reasoning effort, the summary of the reasoning, and which earlier reasoning the model sees."""

    effort: Effort | str | None = None
    """Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; models support some of these."""
    summary: Literal["auto", "concise", "detailed"] | str | None = None
    """Kind of summary to return: `auto`, `concise` or `detailed`."""
    generate_summary: str | None = None
    """Deprecated: use `summary`."""
    context: Literal["auto", "current_turn", "all_turns"] | str | None = None
    """Which earlier reasoning the model sees: `auto`, `current_turn` or `all_turns`."""
    mode: Literal["standard", "pro"] | str | None = None
    """Reasoning mode: `standard` or `pro`."""


class StreamOptions(ResponsesModel, kw_only=True):
    """Options of a streamed answer."""

    include_obfuscation: bool | None = None
    """Whether events are padded against traffic analysis. OpenAI's default is true."""


class CacheOptions(ResponsesModel, kw_only=True):
    """How the vendor caches the prompt."""

    mode: Literal["implicit", "explicit"] | str | None = None
    """`implicit`: the vendor adds a breakpoint (the default); `explicit`: only breakpoints on parts count."""
    ttl: Literal["30m", "12h"] | str | None = None
    """Least lifetime of the cache entries: `30m` (the default) or `12h` at OpenAI."""
    prewarm: bool | None = None
    """Whether to fill the cache without generating an answer."""
    comparison_response_id: str | None = None
    """Id of an earlier response; the new one reports why the cache matched or missed it."""


class ConversationRef(ResponsesModel, kw_only=True):
    """A conversation that the vendor stores."""

    id: str
    """Id of the conversation."""


class Prompt(ResponsesModel, kw_only=True):
    """A prompt template that the vendor stores."""

    id: str
    """Id of the template."""
    version: str | None = None
    """Version of the template."""
    variables: dict[str, Any] | None = None
    """Values by variable: text, or an input part."""


class BackgroundOptions(ResponsesModel, kw_only=True):
    """How soon a background response is needed; a longer window costs less."""

    completion_window: Literal["soonest", "2h", "8h"] | str | None = None
    """Time within which the response is needed: `soonest`, `2h` or `8h`."""
    continuation_id: str | None = None
    """Same value for background requests that belong together: they share a priority, not a history."""


class ContextManagement(ResponsesModel, kw_only=True):
    """Compaction by the server when the conversation becomes long."""

    type: Literal["compaction"] | str = field(default_factory=lambda: "compaction")
    """Kind of management; only `compaction` exists."""
    compact_threshold: int | None = None
    """Number of tokens at which the server compacts."""


_INPUTS = (list, str, type(None))


class Request(ResponsesModel, kw_only=True):
    """One request to a model, in the Responses format.

    Fields have the names, shapes and ranges of OpenAI's reference; None means the vendor's default. The last five are
    not part of the format: `stop`, `seed` and `top_k` are options that other wires share, `extra` and `leftovers` hold
    data of single wires.
    """

    model: str | None = None
    """Name of the model."""
    input: str | Sequence[AnyItem] | None = None
    """The conversation as items; a string is one user message."""
    instructions: str | None = None
    """System instructions for this response only; `previous_response_id` does not carry them over."""
    stream: bool | None = None
    """Whether the answer is streamed as events. The default is false."""
    stream_options: StreamOptions | None = None
    """Options of a streamed answer."""
    max_output_tokens: int | None = None
    """Most tokens to generate, reasoning included; at OpenAI 16 or more."""
    max_tool_calls: int | None = None
    """Most calls of hosted tools in the whole response, 1 or more."""
    temperature: float | int | None = None
    """Randomness of sampling, 0 to 2. Many reasoning models do not support it."""
    top_p: float | int | None = None
    """Nucleus sampling: share of probability to sample from, 0 to 1. Many reasoning models do not support it."""
    top_logprobs: int | None = None
    """Number of likely tokens to report per position, 0 to 20, if `include` asks for logprobs."""
    presence_penalty: float | int | None = None
    """Penalty for tokens that occurred before, -2 to 2. OpenAI's Responses API does not support it."""
    frequency_penalty: float | int | None = None
    """Penalty by how often a token occurred, -2 to 2. OpenAI's Responses API does not support it."""
    tools: Sequence[AnyTool] | None = None
    """Tools offered to the model."""
    tool_choice: ToolChoice | None = None
    """Whether the model calls tools: `auto` (the default), `none`, `required`, or a tool or set of tools."""
    parallel_tool_calls: bool | None = None
    """Whether the model may make several calls at once. OpenAI's default is true."""
    text: TextOptions | None = None
    """Format (plain text, JSON, a JSON Schema) and verbosity of the answer."""
    reasoning: ReasoningOptions | None = None
    """Reasoning effort and summary."""
    include: Sequence[str] | None = None
    """Additional data to return, such as `reasoning.encrypted_content` or `message.output_text.logprobs`."""
    truncation: Literal["auto", "disabled"] | str | None = None
    """If the input is too long: `auto` drops its oldest items, `disabled` (the default) fails."""
    metadata: dict[str, str] | None = None
    """Up to 16 strings by key, stored with the response; keys up to 64 characters, values up to 512."""
    store: bool | None = None
    """Whether the vendor stores the response, so that its id can be used later. OpenAI's default is true."""
    previous_response_id: str | None = None
    """Id of a stored response to continue. Not together with `conversation`."""
    conversation: str | ConversationRef | None = None
    """Stored conversation to continue and to append to, or its id."""
    background: bool | None = None
    """Whether to return at once with status `queued`; the response is then polled or streamed. The default is false."""
    background_options: BackgroundOptions | None = None
    """Completion window of a background response."""
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] | str | None = None
    """Processing tier: `auto` (the default), `default`, `flex`, `scale`, `priority`, `fast` or `ultrafast`."""
    prompt_cache_key: str | None = None
    """Groups requests that share a beginning, so that more of them match the prompt cache."""
    prompt_cache_options: CacheOptions | None = None
    """How the vendor caches the prompt."""
    prompt_cache_retention: Literal["in_memory", "24h"] | str | None = None
    """How long cache entries live: `in_memory` or `24h`. Deprecated: use `prompt_cache_options.ttl`."""
    safety_identifier: str | None = None
    """Stable id of the end user for abuse detection; at OpenAI up to 128 characters."""
    user: str | None = None
    """Id of the end user. `safety_identifier` and `prompt_cache_key` replace it."""
    prompt: Prompt | None = None
    """A prompt template stored with the vendor, which may also set model and input."""
    context_management: Sequence[ContextManagement] | None = None
    """When the server compacts the conversation."""
    moderation: dict[str, Any] | None = None
    """Moderation by the vendor: `model`, and `policy` with a `mode` (`score`, `block`) for input and output."""
    image: dict[str, Any] | None = None
    """Options for images in the input: `context_compression` (`auto`, `enabled`, `disabled`)."""
    access_programs: dict[str, Any] | None = None
    """Access programs of the organization: `cyber` (`standard`, `daybreak_blue`, `daybreak_red`)."""

    stop: str | Sequence[str] | None = None
    """Strings, up to four, that end the text. Not a field of the Responses format."""
    seed: int | None = None
    """Seed for repeatable sampling on hosts that support it. Not a field of the Responses format."""
    top_k: int | None = None
    """Number of likely tokens to sample from. Not a field of the Responses format."""
    extra: dict[str, dict[str, Any]] | None = None
    """Fields by wire name, merged last into that wire's body: `{"anthropic_messages": {...}}`."""
    leftovers: Leftovers | None = None
    """Data of other wires about the request. Never sent in the Responses format."""

    def __post_init__(self) -> None:
        # The input of a decoded request is a text, a list or None.
        if not isinstance(self.input, _INPUTS):
            self.input = list(self.input)


def items_of(request: Request) -> list[AnyItem]:
    """The input as items; a text is one user message."""
    if isinstance(request.input, str):
        return [Message(role="user", content=request.input)]
    found = request.input
    return found if isinstance(found, list) else list(found or ())


OURS = ("stop", "seed", "top_k", "extra", "leftovers")
"""The fields of `Request` that are not part of the Responses format."""


# --- messages without a type ----------------------------------------------------------------------------------------


class _OfMessages(Request, kw_only=True):
    """A request whose items are all messages, which msgspec decodes without their type."""

    input: str | list[Message] | None = None  # pyright: ignore[reportIncompatibleVariableOverride]  (only decoded)


class _Tag(Struct):
    type: Any = UNSET


_MISFITS = (msgspec.MsgspecError, UnicodeError, RecursionError)
_fields = msgspec.json.Decoder(dict[str, Raw])
_entries = msgspec.json.Decoder(list[Raw])
_tags = msgspec.json.Decoder(list[_Tag])


class _RequestDecoder(Decoder[Request]):
    """Decoder for messages without a `type`, which most clients send: whole lists are decoded at once."""

    __slots__ = ()

    def _decode_open(self, data: bytes | bytearray | str) -> Request:
        with suppress(*_MISFITS):
            request: Request = decoder_of(_OfMessages).decode(data)
            request.__class__ = Request  # which has the same fields
            return request
        with suppress(*_MISFITS):
            return _mixed(data)
        return super()._decode_open(data)


def _mixed(data: bytes | bytearray | str) -> Request:
    """A request with items of several types and messages without one, each kind decoded as one list."""
    fields = _fields.decode(data)
    raw = fields.get("input", Raw(b"null"))
    untyped = [tag.type is UNSET for tag in _tags.decode(raw)]
    entries = _entries.decode(raw)
    messages: Iterator[AnyItem] = iter(decoder_of(list[Message]).decode(_array(compress(entries, untyped))))
    others: Iterator[AnyItem] = iter(decoder_of(list[AnyItem]).decode(_array(compress(entries, map(not_, untyped)))))
    request: Request = decoder_of(Request).decode(msgspec.json.encode({**fields, "input": Raw(b"null")}))
    request.input = [next(messages if alone else others) for alone in untyped]
    return request


def _array(entries: Iterable[Raw]) -> bytes:
    return b"[" + b",".join(entries) + b"]"


REQUEST: Decoder[Request] = _RequestDecoder(Request, repair=normalize, repaired=UNDECLARED, most_unknown=MOST_UNKNOWN)
"""Decodes a request as it is, or in the notations of `responses/normalize.py`."""
