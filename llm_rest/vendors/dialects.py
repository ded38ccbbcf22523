"""Dialects: facts in which vendors and models differ on one wire.

A converter branches on a fact, never on a vendor. A field is named after what is different, so that the next vendor with the
same difference reuses it; the defaults are those of the wire's own vendor. A new host is a row in `rows.py` with facts
from here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

OPENAI = "openai"


REFERENCE = "the host's reference, read 2026-11-20"
"""The source of a claim that the vendor's own documentation makes."""


class Refusal(Struct, frozen=True):
    """An error with which a vendor rejects a request: its message, with names in braces where it varies, and its source."""

    message: str
    source: str


REFUSALS: dict[str, Refusal] = {
    "encrypted_reasoning": Refusal(
        "Encrypted content is not supported with this model.",
        "reported by users of several clients for gpt-4o, gpt-4.1-mini and gpt-5-chat-latest, at Azure too; read 2026-11-22",
    ),
    "reasoning_status": Refusal(
        "Unknown parameter: '{path}.status'.",
        "reported for OpenAI: jcode#1028, BerriAI/litellm#13420, Bifrost#7835; read 2026-11-22",
    ),
    "reasoning_content": Refusal(
        "Invalid '{path}.content': array too long. Expected an array with maximum length 0, but got an array with length "
        "{length} instead.",
        "reported for OpenAI: Switchyard#645; read 2026-11-22",
    ),
    "chat_tools": Refusal(
        "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function tools, use "
        "/v1/responses or set reasoning_effort to 'none'.",
        "github.com/pipecat-ai/pipecat/issues/4043 (gpt-5.4), github.com/laurent22/joplin/pull/16451 (gpt-5.6, where the effort "
        "is the default), github.com/Wei-Shaw/sub2api/issues/6740 (gpt-6-astra); read 2026-11-22",
    ),
    "whole_output": Refusal(
        "max_output_tokens above {limit} is supported only by streamGenerateContent or with a continuation token.",
        "Google's page on long decode and the client code of google-genai 3.4.0 (our words); read 2026-11-22",
    ),
    "instructions": Refusal(
        "Developer instruction is not enabled for models/{model}",
        "github.com/0xPlaygrounds/rig/issues/788 (gemma-3-27b-it); read 2026-11-22",
    ),
    "tools": Refusal(
        "Function calling is not enabled for models/{model}",
        "github.com/BerriAI/litellm/issues/10313 (gemma-3-27b-it); read 2026-11-22",
    ),
    "empty_details": Refusal(
        "{path}.reasoning_details: Too small: expected array to have >=1 items",
        "a request with reasoning_details: [] was answered with 400 by OpenRouter (our words); read 2026-11-22",
    ),
}
"""Rejections of vendors, by the fact of a model (`models.Capabilities`) or of a dialect that has them. The simulator
answers with these messages; `models.check` finds the same before anything is sent."""

REASONING_LACKS: dict[str, tuple[str, ...]] = dict.fromkeys(
    (OPENAI, "azure_openai", "simulator"), ("status", "content")
)
"""The fields of a reasoning item that a host rejects in a request, by issuer; `REFUSALS` has the sources. The simulator behaves
like OpenAI where no other vendor is named."""

NOT_IN_RESPONSES = ("stop", "seed", "top_k")
"""Options of a request that other wires share and the Responses format lacks; some of its hosts support them."""


class Escapes(Struct, frozen=True, kw_only=True):
    """Fields with which a request could get around what a gateway allows: its output limit, its models, its costs.

    Names are compared without case and underscores, since hosts read other notations too (Google's JSON, Go's JSON).
    """

    limits: tuple[str, ...]
    """The fields of the output limit, by their paths; all other spellings are omitted."""
    other_limits: tuple[str, ...] = (
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "max_new_tokens", "n_predict"),
        *("max_tokens_to_sample", "max_length", "max_gen_tokens", "max_decode_tokens", "max_generated_tokens"),
    )
    """Spellings of the output limit at other hosts."""
    multiplies: tuple[str, ...] = ("n", "candidate_count", "best_of", "num_return_sequences", "num_completions")
    """Fields for several answers, each as long as the limit."""
    leaves: tuple[str, ...] = (
        *("models", "route", "fallbacks", "fallback_credit_token", "preset", "prompt"),
        *("routing_config", "model_selection_config"),
    )
    """Fields that choose another model, also by a prompt that is stored at the vendor."""
    prices: tuple[str, ...] = (
        *("plugins", "provider", "service_tier", "background", "inference_geo", "speed", "transforms"),
    )
    """Fields that choose another price, or add to the request what is not in it."""
    harmless: tuple[tuple[str, str], ...] = (
        *(("service_tier", tier) for tier in ("auto", "default", "standard_only", "standard", "unspecified", "flex")),
        ("speed", "standard"),
    )
    """Fields of `prices` with values at no higher price."""
    state: tuple[str, ...] = ("container", "cached_content", "conversation", "continuation_token")
    """Fields that name state at the vendor, which belongs to the key and so to all callers."""


class ResponsesDialect(Struct, frozen=True, kw_only=True):
    """How a host of the wire `openai_responses` differs from OpenAI, whose facts are the defaults."""

    path: str = "/responses"
    """The path of requests below the base URL."""
    issuer: str = OPENAI
    """The issuer that can decrypt the `encrypted_content` of this host; hosts of one issuer can exchange it."""
    escapes: Escapes = Escapes(limits=("max_output_tokens",))
    """Fields that a gateway checks in a caller's request."""
    lacks: tuple[str, ...] = (*NOT_IN_RESPONSES, "presence_penalty", "frequency_penalty")
    """Fields of a request that the host does not support. They are omitted and reported as losses; a stored `prompt` is `refused`
    instead."""
    only: dict[str, Any] = {}
    """Fields with one supported value; any other is omitted and reported as a loss."""
    stateless: bool = False
    """Stores nothing between calls: `previous_response_id`, `conversation` and item references cannot be used."""
    tools: tuple[str, ...] | None = None
    """The types of tools the host supports; `None` for all."""
    parts: tuple[str, ...] = ()
    """The types of input parts the host supports beyond text, images and files: `input_audio`, `input_video`."""
    efforts: dict[str, str] = {}
    """Unsupported reasoning efforts, and the nearest supported one."""
    cache_ttls: dict[str, str] = field(default_factory=lambda: {"5m": "30m", "1h": "30m"})
    """Unsupported lifetimes of a prompt cache entry, and the nearest supported one."""
    checks_ids: bool = True
    """Rejects an item whose id lacks the prefix of its type (`msg_`, `rs_`, `fc_`)."""
    longest_call_id: int = 64
    """The most characters of a `call_id`; longer ones are sent as a shorter id."""
    strict_schemas: bool = True
    """A strict schema closes every object and requires all its properties."""
    takes_reasoning_text: bool = False
    """Needs its own raw reasoning (`reasoning_text`) in the input, which other hosts reject."""
    groups_calls: bool = False
    """Needs the calls of a turn directly after one another, followed by all their outputs."""
    stores_nothing: bool = False
    """A default of the client, not of the host: a request without `store` is sent with `store: false`, and with
    `include: ["reasoning.encrypted_content"]` where the model reasons."""
    model_reasons: bool | None = None
    """Whether the model reasons; `None` where that is unknown; the request's `reasoning` then decides."""
    sources: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys(
            (*NOT_IN_RESPONSES, "presence_penalty", "frequency_penalty"),
            "no field of OpenAI's reference, read 2026-11-20",
        )
    )
    """The source of each claim that the host does not support something, by the name of the option or the fact."""

    @property
    def reasoning_lacks(self) -> tuple[str, ...]:
        """Fields of a reasoning item that the host rejects in a request; `REFUSALS` has the sources."""
        return REASONING_LACKS.get(self.issuer, ())

    @property
    def seals(self) -> bool:
        """Whether opaque state of this host is in an envelope in the history; OpenAI's is unchanged."""
        return self.issuer != OPENAI


class ChatDialect(Struct, frozen=True, kw_only=True):
    """How a host of the wire `openai_chat` differs from OpenAI, whose facts are the defaults.

    Fields of the request have the names of that wire.
    """

    path: str = "/chat/completions"
    """The path of requests below the base URL."""
    issuer: str = OPENAI
    """The issuer that can use the opaque reasoning state of this host; hosts of one issuer can exchange it."""
    escapes: Escapes = Escapes(limits=("max_completion_tokens", "max_tokens"))
    """Fields that a gateway checks in a caller's request."""

    # --- the request ---
    lacks: tuple[str, ...] = ("top_k",)
    """Fields of a request that the host does not support, also `name` of a message and `include_obfuscation` of a
    stream. They are omitted and reported as losses."""
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The name of the field for the output limit: `max_tokens` at most compatible hosts."""
    seed_field: Literal["seed", "random_seed"] = "seed"
    """The name of the field for the seed: `random_seed` at Mistral."""
    counts_logprobs: bool = False
    """`logprobs` is the number of alternatives, not a switch beside `top_logprobs`."""
    formats: tuple[str, ...] = ("text", "json_object", "json_schema")
    """The types of `response_format` the host supports."""
    strict_schemas: bool = True
    """A strict schema closes every object and requires all its properties."""
    metadata_needs_store: bool = True
    """Rejects `metadata` on answers that are not stored."""
    search_models: tuple[str, ...] = ("gpt-4o-search-preview", "gpt-4o-mini-search-preview", "gpt-5-search-api")
    """Prefixes of the names of models that support `web_search_options`."""

    # --- messages ---
    system_role: Literal["developer", "system"] = "developer"
    """The role of instructions."""
    developer_role: bool = True
    """Supports messages with the role `developer`; elsewhere they are sent as `system`."""
    parts: tuple[str, ...] = ("image_url", "image_data", "file_data", "file_id", "input_audio")
    """The parts of a user message beside text: images by URL or as base64, files as data, by id or by URL, audio, video."""
    details: tuple[str, ...] = ("auto", "low", "high", "original")
    """The supported values of an image's `detail`."""
    plain_text: tuple[str, ...] = ()
    """Roles whose content has to be a string, not a list of parts."""
    images: bool = False
    """Accepts `images` in an assistant message, as its answers have them."""
    media_in_outputs: bool = False
    """Whether a tool message may hold the parts of a user message; otherwise only text."""
    documents_by_url: bool = False
    """A file by URL is sent as a `document_url` part; elsewhere the URL is sent in `file_data`."""
    cache_mark: Literal["prompt_cache_breakpoint", "cache_control", ""] = "prompt_cache_breakpoint"
    """The field of a part that marks a prompt cache breakpoint; empty where the host has none."""
    cache_ttls: dict[str, str] = field(default_factory=lambda: {"5m": "30m", "1h": "30m"})
    """Unsupported lifetimes of a prompt cache entry, and the nearest supported one."""
    refusals: bool = True
    """An assistant message has a `refusal`; elsewhere it is sent as content."""
    alternates: bool = False
    """Rejects two messages of the same role in a row."""

    # --- tools ---
    tool_choices: tuple[str, ...] = ("none", "auto", "required", "function", "custom", "allowed_tools")
    """The supported kinds of `tool_choice`: strings, and kinds of named tools. Others are changed or dropped as losses."""
    custom_tools: bool = True
    """Supports custom tools (free text input); elsewhere they are sent as functions with one text argument."""
    strict_tools: bool = True
    """Supports `strict` on functions; elsewhere it is omitted and reported."""
    needs_parameters: bool = False
    """Rejects a function without `parameters`."""
    untyped_calls: bool = False
    """Returns calls without a `type`; elsewhere that is reported as a repair."""
    longest_call_id: int = 40
    """The most characters of a call's id; longer ones are sent as a shorter id."""
    exact_call_id: bool = False
    """A call's id has to be letters and digits, exactly as many as `longest_call_id` (Mistral: 9)."""
    missing_call_state: dict[str, Any] = {}
    """The `extra_content` that the first call of a turn has to carry where the host's own was lost."""

    # --- reasoning ---
    efforts: dict[str, str] = {}
    """Unsupported reasoning efforts, and the nearest supported one."""
    effort_field: Literal["reasoning_effort", "reasoning"] = "reasoning_effort"
    """The field of the effort: `reasoning_effort`, or in `reasoning.effort`."""
    effort_none: dict[str, Any] = {}
    """The fields sent for the effort `none` where the host has no such value."""
    reasoning_field: Literal["", "reasoning_content", "reasoning", "reasoning_details", "thinking"] = ""
    """The field of a message with the model's reasoning; `thinking` is a content part, empty for a host without one."""
    replay_reasoning: Literal["never", "with_tools", "always"] = "never"
    """Which messages of the history are sent with the host's own reasoning: none, those that call tools, or all."""
    empty_details: bool = True
    """Accepts `reasoning_details: []`."""
    requires_reasoning: bool = False
    """Rejects a message with calls that lacks the reasoning field; an empty text is sent where there is no reasoning."""
    think_tags: bool = False
    """Text may begin with `<think>...</think>`, which is reasoning."""

    # --- usage ---
    output_tokens: Literal["completion", "completion_and_reasoning", "total_minus_prompt"] = "completion"
    """How output tokens are counted: `completion_tokens` alone, plus reasoning tokens, or total minus prompt."""

    sources: dict[str, str] = field(
        default_factory=lambda: {"top_k": "no field of OpenAI's reference, read 2026-11-20"}
    )
    """The source of each claim that the host does not support something, by the name of the option or the fact."""


_OPENAI_OPTIONS = (
    "top_k",
    "store",
    "metadata",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prompt_cache_options",
    "moderation",
    "verbosity",
    "service_tier",
    "modalities",
    "audio",
    "prediction",
    "web_search_options",
    "include_obfuscation",
)
_THINKING_OFF = {"thinking": {"type": "disabled"}}
_TEMPLATE_OFF = {"chat_template_kwargs": {"enable_thinking": False}}


def _lacks(*more: str, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The options that only OpenAI is known to support, except `but`, and `more`."""
    return (*(name for name in _OPENAI_OPTIONS if name not in but), *more)


_UNKNOWN_FIELDS = (
    "many hosts reject fields they do not know: Groq and Cerebras (github.com/livekit/agents/pull/1276), Google "
    "(github.com/tailscale/tailscale/issues/19629), Mistral (422, its reference); read 2026-11-23"
)
_COMPATIBLE_SOURCES = {
    **dict.fromkeys(_OPENAI_OPTIONS, _UNKNOWN_FIELDS),
    "developer_role": (
        "rejected by DeepSeek (github.com/losesky/ai-auto-trading/issues/14), Alibaba (github.com/DayuanJiang/next-ai-draw-io/"
        "issues/304) and routes to GLM models (github.com/vastsa/PI-Desktop/issues/30); read 2026-11-23"
    ),
    **dict.fromkeys(
        ("parts", "details", "cache_mark", "refusals", "tool_choices", "custom_tools", "strict_tools"),
        "in OpenAI's reference and in no compatible host's, but for the rows that set it; read 2026-11-20",
    ),
}


def _sources(*more: tuple[str, str], of: ChatDialect | None = None) -> dict[str, str]:
    """The sources of the dialect `of`, and `more`: pairs of names, separated by spaces, and their source."""
    found = dict(of.sources if of else _COMPATIBLE_SOURCES)
    for names, source in more:
        found |= dict.fromkeys(names.split(), source)
    return found


COMPATIBLE = ChatDialect(
    issuer="compatible",
    lacks=_lacks(),
    max_tokens_field="max_tokens",
    metadata_needs_store=False,
    search_models=(),
    system_role="system",
    developer_role=False,
    parts=("image_url", "image_data"),
    details=("auto", "low", "high"),
    cache_mark="",
    refusals=False,
    tool_choices=("none", "auto", "required", "function"),
    custom_tools=False,
    strict_tools=False,
    longest_call_id=200,
    sources=_COMPATIBLE_SOURCES,
)
"""The dialect of an unknown compatible host: the basics, without options that only OpenAI is known to support."""

_VLLM = replace(
    COMPATIBLE,
    lacks=_lacks(but=("top_k",)),
    parts=("image_url", "image_data", "input_audio", "video_url"),
    strict_tools=True,
    effort_none=_TEMPLATE_OFF,
    reasoning_field="reasoning",
    replay_reasoning="always",
    sources=_sources(("parts effort_none", REFERENCE)),
)

_OPENROUTER = replace(
    COMPATIBLE,
    lacks=_lacks(
        but=(
            *("top_k", "metadata", "prompt_cache_key", "modalities", "audio", "prediction", "verbosity"),
            "web_search_options",
        )
    ),
    max_tokens_field="max_completion_tokens",
    search_models=("",),  # of any name
    developer_role=True,  # answered with 200
    images=True,  # "assistant message for requests and responses": ChatAssistantMessage of openrouter 1.3.84
    media_in_outputs=True,
    parts=("image_url", "image_data", "file_data", "file_url", "input_audio", "video_url"),
    cache_mark="cache_control",
    cache_ttls={},
    strict_tools=True,
    effort_field="reasoning",
    reasoning_field="reasoning_details",
    replay_reasoning="always",
    sources=_sources(("parts", REFERENCE)),
)

CHAT_HOSTS: dict[str, ChatDialect] = {
    "openai": ChatDialect(),
    "azure_openai": ChatDialect(issuer="azure_openai"),
    "anthropic": replace(
        COMPATIBLE,
        path="/v1/chat/completions",
        issuer="anthropic",
        lacks=_lacks("user", "frequency_penalty", "presence_penalty", "seed", "logprobs", "top_logprobs", "logit_bias"),
        developer_role=True,
        formats=("text",),
        sources=_sources(
            (
                "user frequency_penalty presence_penalty seed logprobs top_logprobs logit_bias formats strict_tools",
                '"Ignored" in docs.claude.com/en/api/openai-sdk, read 2026-11-23',
            )
        ),
    ),
    "google": replace(
        COMPATIBLE,
        path="/v1beta/openai/chat/completions",
        issuer="google",
        lacks=_lacks("logit_bias", "logprobs", "top_logprobs"),
        parts=("image_url", "image_data", "input_audio"),
        missing_call_state={"google": {"thought_signature": "skip_thought_signature_validator"}},
        output_tokens="total_minus_prompt",
        sources=_sources(
            (
                "store metadata",
                "github.com/ed-donner/agents/issues/45 (Unknown name: Cannot find field); read 2026-11-23",
            ),
            ("top_k", "github.com/MinLL/SkyrimNet-GamePlugin/issues/77 (Unknown name); read 2026-11-23"),
            ("logit_bias logprobs top_logprobs parts", REFERENCE),
        ),
    ),
    "xai": replace(
        COMPATIBLE,
        issuer="xai",
        max_tokens_field="max_completion_tokens",
        strict_tools=True,
        reasoning_field="reasoning_content",
        output_tokens="completion_and_reasoning",
    ),
    "groq": replace(
        COMPATIBLE,
        issuer="groq",
        lacks=_lacks("logprobs", "top_logprobs", "logit_bias", "name", but=("service_tier",)),
        max_tokens_field="max_completion_tokens",
        strict_tools=True,
        reasoning_field="reasoning",
        replay_reasoning="with_tools",
        sources=_sources(
            ("logprobs top_logprobs logit_bias name", f"answered with 400: {REFERENCE}"),
            ("metadata", "github.com/skye-harris/hass_local_openai_llm/issues/59, read 2026-11-23"),
        ),
    ),
    "deepseek": replace(
        COMPATIBLE,
        issuer="deepseek",
        lacks=_lacks("logit_bias"),
        formats=("text", "json_object"),
        parts=(),
        strict_tools=True,
        # Efforts other than its own are mapped by the host itself; `medium`, `seed`, `user` and reasoning without calls were
        # answered with 200.
        effort_none=_THINKING_OFF,
        reasoning_field="reasoning_content",
        replay_reasoning="always",
        requires_reasoning=True,
        sources=_sources(
            ("developer_role", "github.com/losesky/ai-auto-trading/issues/14 (unknown variant); read 2026-11-23"),
            ("logit_bias formats parts", "api-docs.deepseek.com/api/create-chat-completion, read 2026-11-20"),
            ("effort_none", REFERENCE),
        ),
    ),
    "sambanova": replace(
        COMPATIBLE,
        issuer="sambanova",
        lacks=_lacks("frequency_penalty", "presence_penalty", "logit_bias", "seed", "n", but=("top_k",)),
        formats=("json_object", "json_schema"),
        parts=("image_data",),
        effort_none=_TEMPLATE_OFF,
        reasoning_field="reasoning",
        replay_reasoning="with_tools",
        sources=_sources(
            ("frequency_penalty presence_penalty logit_bias seed n", f"accepted and ignored: {REFERENCE}"),
            ("formats parts effort_none", REFERENCE),
        ),
    ),
    "together": replace(
        COMPATIBLE,
        issuer="together",
        lacks=_lacks(but=("top_k",)),
        counts_logprobs=True,
        parts=("image_url", "image_data", "input_audio", "video_url"),
        plain_text=("system", "tool"),
        reasoning_field="reasoning",
        replay_reasoning="with_tools",
        think_tags=True,
        sources=_sources(("parts plain_text", "docs.together.ai/reference/chat-completions, read 2026-11-20")),
    ),
    "fireworks": replace(
        COMPATIBLE,
        issuer="fireworks",
        lacks=_lacks(but=("top_k", "metadata", "prompt_cache_key", "prediction", "service_tier")),
        strict_tools=True,
        reasoning_field="reasoning_content",
        replay_reasoning="always",
    ),
    "cerebras": replace(
        COMPATIBLE,
        issuer="cerebras",
        lacks=_lacks(but=("prediction", "service_tier", "prompt_cache_key")),
        max_tokens_field="max_completion_tokens",
        strict_tools=True,
        reasoning_field="reasoning",
        replay_reasoning="always",
    ),
    "openrouter": replace(
        _OPENROUTER,
        issuer="openrouter",
        empty_details=False,
        sources=_sources(("empty_details", REFUSALS["empty_details"].source), of=_OPENROUTER),
    ),
    "mistral": replace(
        COMPATIBLE,
        issuer="mistral",
        lacks=_lacks(
            "user",
            "logit_bias",
            "logprobs",
            "top_logprobs",
            "stream_options",
            but=("top_k", "prompt_cache_key", "prediction", "service_tier", "metadata"),
        ),
        seed_field="random_seed",
        parts=("image_url", "image_data", "file_id", "file_url", "input_audio"),
        documents_by_url=True,
        strict_tools=True,
        needs_parameters=True,
        untyped_calls=True,
        longest_call_id=9,
        exact_call_id=True,
        reasoning_field="thinking",
        replay_reasoning="always",
        sources=_sources(
            (
                "user logit_bias logprobs top_logprobs stream_options parts needs_parameters",
                f"unknown fields are answered with 422: {REFERENCE}",
            ),
            (
                "exact_call_id",
                "its error message: Tool call id must be a-z, A-Z, 0-9, with a length of 9; read 2026-11-20",
            ),
        ),
    ),
    "meta": replace(
        COMPATIBLE,
        issuer="meta",
        lacks=_lacks("stop"),
        max_tokens_field="max_completion_tokens",
        tool_choices=("auto",),
        efforts={"none": "minimal"},
        reasoning_field="reasoning_content",
        sources=_sources(("stop tool_choices efforts", REFERENCE)),
    ),
    "huggingface": replace(COMPATIBLE, issuer="huggingface", lacks=_lacks(but=("top_k",)), reasoning_field="reasoning"),
    "ollama": replace(
        COMPATIBLE,
        path="/v1/chat/completions",
        issuer="ollama",
        lacks=_lacks("user", "logit_bias", "n", "parallel_tool_calls"),
        parts=("image_data",),
        media_in_outputs=True,  # an image is read in a message of any role: openai/openai.go of ollama/ollama, read 2026-11-23
        reasoning_field="reasoning",
        sources=_sources(
            (
                "user logit_bias n parallel_tool_calls parts",
                "docs/api/openai-compatibility.mdx and openai/openai.go of github.com/ollama/ollama, read 2026-11-23",
            )
        ),
    ),
    "vllm": replace(_VLLM, issuer="vllm"),
    "llamacpp": replace(
        _VLLM,
        issuer="llamacpp",
        tool_choices=("none", "auto", "required"),
        reasoning_field="reasoning_content",
        replay_reasoning="with_tools",
        sources=_sources(("tool_choices", f"a named tool silently becomes auto: {REFERENCE}"), of=_VLLM),
    ),
    "lmstudio": replace(
        COMPATIBLE,
        issuer="lmstudio",
        lacks=_lacks(but=("top_k",)),
        formats=("text", "json_schema"),
        reasoning_field="reasoning_content",
        think_tags=True,
        sources=_sources(("formats", REFERENCE)),
    ),
    "alibaba": replace(
        COMPATIBLE,
        issuer="alibaba",
        lacks=_lacks(but=("top_k",)),
        effort_none={"enable_thinking": False},
        reasoning_field="reasoning_content",
        sources=_sources(
            ("developer_role", "github.com/DayuanJiang/next-ai-draw-io/issues/304, read 2026-11-23"),
            ("effort_none", REFERENCE),
        ),
    ),
    "moonshot": replace(
        COMPATIBLE,
        issuer="moonshot",
        parts=("image_data",),
        effort_none=_THINKING_OFF,
        reasoning_field="reasoning_content",
        replay_reasoning="with_tools",
        requires_reasoning=True,
        sources=_sources(("parts effort_none", REFERENCE)),
    ),
    "zai": replace(
        COMPATIBLE,
        issuer="zai",
        effort_none=_THINKING_OFF,
        reasoning_field="reasoning_content",
        replay_reasoning="always",
        sources=_sources(
            ("developer_role", "github.com/vastsa/PI-Desktop/issues/30 (GLM-5.3), read 2026-11-23"),
            ("effort_none", REFERENCE),
        ),
    ),
    "minimax": replace(
        COMPATIBLE, issuer="minimax", reasoning_field="reasoning_details", replay_reasoning="always", think_tags=True
    ),
    "perplexity": replace(
        COMPATIBLE,
        issuer="perplexity",
        lacks=_lacks("tools", "tool_choice", "parallel_tool_calls", but=("top_k", "web_search_options")),
        alternates=True,
        sources=_sources(
            ("tools tool_choice parallel_tool_calls", REFERENCE),
            ("alternates", "its error message: user and assistant roles should alternate; read 2026-11-20"),
        ),
    ),
    "snowflake": replace(_OPENROUTER, issuer="snowflake"),
    "vercel_gateway": replace(_OPENROUTER, issuer="vercel_gateway"),
    "nebius": replace(_VLLM, issuer="nebius"),
    "deepinfra": replace(_VLLM, issuer="deepinfra"),
    "crusoe": replace(_VLLM, issuer="crusoe"),
    "heroku": replace(COMPATIBLE, issuer="heroku", reasoning_field="reasoning"),
    "bedrock_mantle": replace(_VLLM, issuer="bedrock_mantle", max_tokens_field="max_completion_tokens"),
    "github_copilot": replace(COMPATIBLE, issuer="github_copilot"),
    "compatible": COMPATIBLE,
}
"""The dialect of every known host, by the vendor's name."""


class MessagesDialect(Struct, frozen=True, kw_only=True):
    """How a host of the wire `anthropic_messages` differs from Anthropic, whose facts are the defaults."""

    path: str = "/v1/messages"
    """The path of requests below the base URL; `{model}` in it is the model, which is then omitted from the body."""
    stream_path: str | None = None
    """The path of streamed requests; `None` where it is the same."""
    issuer: str = "anthropic"
    """The issuer that can verify the signatures of this host; hosts of one issuer can exchange them."""
    escapes: Escapes = Escapes(limits=("max_tokens",))
    """Fields that a gateway checks in a caller's request."""
    body_version: str | None = None
    """The value of `anthropic_version` in the body, for hosts that require it there; `None` sends it as a header."""
    betas_in_body: bool = False
    """Expects the betas in the body's field `anthropic_beta` instead of as a header."""
    stream_in_body: bool = True
    """Requires `stream` in the body, not only in the path."""
    url_sources: bool = True
    """Supports images and documents by URL and by file id, not only as data."""
    sources: dict[str, str] = {}
    """The source of each claim that the host does not support something, by the name of the option or the fact."""


class MessagesModel(Struct, frozen=True, kw_only=True):
    """The capabilities of a model family on `anthropic_messages`; the defaults are the newest family's."""

    thinking: tuple[Literal["adaptive", "enabled", "disabled", "between_tools"], ...] = ("adaptive",)
    """The types of `thinking` that a request may set."""
    thinks: Literal["no", "yes"] = "yes"
    """Whether it thinks by default, without `thinking`."""
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh", "max")
    default_effort: str = "high"
    max_tokens: int = 128_000
    sampling: Literal["no", "one", "yes"] = "no"
    """Whether `temperature` and `top_p` are supported: never, one of the two, or both. Needs the older API version."""
    forced_tools: bool = True
    """Whether a tool choice may force a call."""
    system_turns: bool = True
    """Whether system messages between turns are supported."""
    prefill: bool = False
    """Whether the last message may be the beginning of the answer."""
    binds_prefix: bool = True
    """Whether it accepts a thinking block only while everything before the block is unchanged ("Preserved thinking" in the
    guide to extended thinking). Such a request may have other blocks dropped instead of rejected."""
    web_search: str = "web_search_20260318"
    code_execution: str = "code_execution_20260521"


_OLD = MessagesModel(
    thinking=("enabled", "disabled"),
    thinks="no",
    efforts=(),
    max_tokens=64_000,
    sampling="one",
    system_turns=False,
    prefill=True,
    binds_prefix=False,
    web_search="web_search_20250305",
    code_execution="code_execution_20250825",
)
_4_6 = replace(
    _OLD,
    thinking=("adaptive", "enabled", "disabled"),
    efforts=("low", "medium", "high", "max"),
    max_tokens=128_000,
    prefill=False,
    web_search="web_search_20260209",
    code_execution="code_execution_20260120",
)
_4_7 = MessagesModel(thinking=("adaptive", "disabled"), thinks="no", binds_prefix=False)
_5 = MessagesModel(binds_prefix=False)
_NEWEST = MessagesModel(forced_tools=False)

MESSAGES_MODELS: dict[str, MessagesModel] = {
    # The older name of a family also covers the newer models that have no row of their own.
    "claude-3": replace(_OLD, thinking=("disabled",), max_tokens=4096, sampling="yes"),
    "claude-3-5": replace(_OLD, thinking=("disabled",), max_tokens=8192, sampling="yes"),
    "claude-3-7": replace(_OLD, sampling="yes"),
    "claude-sonnet-4": replace(_OLD, sampling="yes"),
    "claude-opus-4": replace(_OLD, max_tokens=32_000, sampling="yes"),
    "claude-opus-4-1": replace(_OLD, max_tokens=32_000),
    "claude-sonnet-4-5": _OLD,
    "claude-haiku-4-5": _OLD,
    "claude-opus-4-5": replace(_OLD, efforts=("low", "medium", "high")),
    "claude-sonnet-4-6": _4_6,
    "claude-opus-4-6": _4_6,
    "claude-opus-4-7": replace(_4_7, system_turns=False),
    "claude-opus-4-8": _4_7,
    "claude-sonnet-5": replace(_4_7, thinks="yes", system_turns=False),
    "claude-opus-5": replace(_4_7, thinks="yes"),
    "claude-fable-5": _5,
    "claude-mythos-5": _5,
    "claude-mythos-preview": replace(_5, thinking=("adaptive", "enabled"), forced_tools=False, system_turns=False),
    "claude-haiku-5-5": MessagesModel(thinking=("adaptive", "disabled"), system_turns=False),
    "claude-sonnet-5-5": replace(_NEWEST, thinking=("adaptive", "between_tools")),
    "claude-opus-5-5": replace(_NEWEST, default_effort="medium"),
    "claude-fable-5-1": _NEWEST,
    "claude-fable-5-2": _NEWEST,
    "claude-mythos-5-1": _NEWEST,
    "claude-mythos-5-2": _NEWEST,
    "claude": _NEWEST,
}
"""Capabilities of models, by the longest prefix of their name; the vendor's model pages and guides, read 2026-11-20."""

_FOREIGN = MessagesModel(
    thinking=("adaptive", "disabled"),
    thinks="no",
    sampling="yes",
    system_turns=False,
    prefill=True,
    binds_prefix=False,
)


@lru_cache(maxsize=256)
def messages_model(model: str) -> MessagesModel:
    """The capabilities of `model`: its family's row, the newest family's for an unknown Claude, all for other models."""
    name = model.lower().replace(".", "-").replace("@", "-")
    start = name.find("claude")  # clouds and routers put regions and makers before it
    if start < 0:
        return _FOREIGN
    name = name[start:]
    best = max((prefix for prefix in MESSAGES_MODELS if f"{name}-".startswith(f"{prefix}-")), key=len, default="claude")
    return MESSAGES_MODELS[best]


class GeminiDialect(Struct, frozen=True, kw_only=True):
    """How a host of the wire `gemini_generate_content` differs from Google's Developer API, whose facts are the defaults."""

    root: str = "/v1beta"
    """The path before the collection of models: the API version, where the base URL does not hold it."""
    collection: str = "models"
    """The collection of models that are named without one."""
    issuer: str = "google"
    """The issuer that can use the thought signatures of this host; hosts of one issuer can exchange them."""
    escapes: Escapes = Escapes(limits=("generation_config.max_output_tokens",))
    """Fields that a gateway checks in a caller's request."""
    lacks: tuple[str, ...] = ("labels", "displayName", "excludeDomains")
    """Fields and tools that the host does not support. They are omitted and reported as losses; without `toolCall` it does not
    return the steps of its hosted tools either."""
    fetches_urls: bool = False
    """Fetches media from any public URL for models that cannot do so themselves."""
    is_vertex: bool = False
    """Serves the models as Vertex does, which supports some options that the Developer API rejects."""
    stores_nothing: bool = False
    """A default of the client, not of the host: a request without `store` is sent with `store: false`. Paid projects made since
    2026-10-26 store answers by default (Google's API changelog)."""
    sources: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys(
            ("labels", "displayName", "excludeDomains"), "Vertex alone in Google's references, read 2026-11-20"
        )
    )
    """The source of each claim that the host does not support something, by the name of the option or the fact."""

    @property
    def path(self) -> str:
        """The path of requests below the base URL; the model replaces `{model}`, and the method follows it after a colon."""
        return f"{self.root}/{self.collection}/{{model}}"


VERTEX = GeminiDialect(
    root="",
    collection="publishers/google/models",
    lacks=("store", "serviceTier", "partMetadata", "fileSearch", "mcpServers", "toolCall", "generateContentRequest"),
    fetches_urls=True,
    is_vertex=True,
    sources=dict.fromkeys(
        ("store", "serviceTier", "partMetadata", "fileSearch", "mcpServers", "toolCall", "generateContentRequest"),
        "the Developer API alone in Google's references, read 2026-11-20",
    ),
)
"""Gemini models on Vertex. The version and the project are in the base URL."""


class GeminiModel(Struct, frozen=True, kw_only=True):
    """The capabilities of a model family on `gemini_generate_content`; the defaults are the newest family's."""

    levels: tuple[str, ...] = ("minimal", "low", "medium", "high", "xhigh")
    """The supported thinking levels, from little to much."""
    budgets: tuple[int, int] | None = None
    """The smallest and the largest thinking budget in tokens; `None` for models with a level instead."""
    always_thinks: bool = True
    """Thinking cannot be turned off."""
    prefill: bool = False
    """Supports a conversation that ends with the beginning of the answer."""
    sampling: bool = False
    """Supports `temperature`, `topP` and `topK`."""
    penalties: bool = False
    """Supports `presencePenalty` and `frequencyPenalty`."""
    penalties_on_vertex: bool = False
    """Supports them on Vertex, though the Developer API rejects them."""
    signs_calls: bool = True
    """Rejects the first call of a step without its thought signature."""
    mixes_tools: bool = True
    """Supports hosted tools beside functions, and a schema for the answer beside tools."""
    media_in_outputs: tuple[str, ...] = ("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")
    """The media supported inside a function's output; other media are sent beside it."""
    media_resolution: bool = True
    """Supports a resolution for each image."""
    external_urls: bool = True
    """Fetches media from any public URL itself."""
    draws: bool = False
    """Generates images, as every model with `image` in its name does."""


_GEMINI_OLD = GeminiModel(
    levels=(),
    always_thinks=False,
    prefill=True,
    sampling=True,
    penalties=True,
    signs_calls=False,
    mixes_tools=False,
    media_in_outputs=(),
    media_resolution=False,
    external_urls=False,
)
# "Penalty is not enabled for models/gemini-2.5-pro": github.com/vercel/ai/issues/8943 and google-gemini/cookbook/issues/1290 for
# the Developer API; answers of Vertex to requests with penalties are recorded with status 200.
_GEMINI_2_5 = replace(_GEMINI_OLD, budgets=(1, 24_576), penalties=False, penalties_on_vertex=True, external_urls=True)
_GEMINI_3 = GeminiModel(levels=("minimal", "low", "medium", "high"), sampling=True, prefill=True)
_GEMINI_3_NO_MINIMAL = replace(_GEMINI_3, levels=("low", "medium", "high"))

GEMINI_MODELS: dict[str, GeminiModel] = {
    "gemini-1.0": _GEMINI_OLD,
    "gemini-1.5": _GEMINI_OLD,
    "gemini-2.0": _GEMINI_OLD,
    "gemini-2.5": _GEMINI_2_5,
    "gemini-2.5-pro": replace(_GEMINI_2_5, budgets=(128, 32_768), always_thinks=True),
    "gemini-2.5-flash-lite": replace(_GEMINI_2_5, budgets=(512, 24_576)),
    "gemini-2.5-flash-image": replace(_GEMINI_2_5, budgets=None),
    "gemini-3": _GEMINI_3_NO_MINIMAL,
    "gemini-3-flash": _GEMINI_3,
    "gemini-3.1": _GEMINI_3_NO_MINIMAL,
    "gemini-3.1-flash-lite": _GEMINI_3,
    "gemini-3.5": _GEMINI_3,
    "gemini-3.5-flash-lite": replace(_GEMINI_3, sampling=False, prefill=False),
    "gemini-3.6": replace(_GEMINI_3, sampling=False, prefill=False),
    "gemini-3.7": replace(_GEMINI_3_NO_MINIMAL, sampling=False, prefill=False),
    "gemini-3.8": replace(_GEMINI_3_NO_MINIMAL, sampling=False, prefill=False),
    "gemini-4": GeminiModel(levels=("low", "medium", "high")),
    "gemini-4-hydrogen": GeminiModel(levels=("low", "medium", "high", "xhigh")),
    "gemini-4-neon": GeminiModel(levels=("low", "medium", "high", "xhigh")),
    "gemini": GeminiModel(),
    "gemma": replace(_GEMINI_OLD, penalties=False),
}
"""Capabilities of models, by the longest prefix of their name; Google's pages on thinking, models and tools, read 2026-11-20."""


@lru_cache(maxsize=256)
def gemini_model(model: str) -> GeminiModel:
    """The capabilities of `model`: its family's row, the newest family's for any other name."""
    name = model.lower().rpartition("/")[2].partition("@")[0]
    known = [prefix for prefix in GEMINI_MODELS if f"{name}-".startswith(f"{prefix}-")]
    found = GEMINI_MODELS[max(known, key=len, default="gemini")]
    return replace(found, draws=True) if "image" in name.split("-") else found


class OllamaDialect(Struct, frozen=True, kw_only=True):
    """How a host of the wire `ollama_chat` differs from a local Ollama server, whose facts are the defaults."""

    path: str = "/api/chat"
    """The path of requests below the base URL."""
    issuer: str = "ollama"
    """The issuer of reasoning that may be sent back; hosts of one issuer can exchange it."""
    escapes: Escapes = Escapes(limits=("options.num_predict",))
    """Fields that a gateway checks in a caller's request."""
    loads_models: bool = True
    """Supports the options for loading a model (`num_ctx`, `num_gpu`, ...), which Ollama's cloud does not."""
    tool_images: bool = True
    """A tool's output may hold images; for older servers they are sent in a user message after the outputs."""
    efforts: dict[str, str] = field(default_factory=lambda: {"minimal": "low", "xhigh": "max"})
    """Unsupported reasoning efforts, and the nearest supported one. Older servers reject `max`."""
    sources: dict[str, str] = field(
        default_factory=lambda: {
            "efforts": "the values of `think` in docs/api.md of github.com/ollama/ollama, read 2026-11-20"
        }
    )
    """The source of each claim that the host does not support something, by the name of the option or the fact."""
