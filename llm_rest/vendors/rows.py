"""One row per vendor: its base URL, wires, authentication and dialects.

Rows are data and hold no functions; what differs on one wire is a fact of `dialects`, what differs in authentication or in
the meaning of an error is a field here. Before changing a row, know that `base_url` is what a user replaces and the path of
a dialect is appended to it: `https://host/v1` for OpenAI-compatible hosts, the bare origin where the wires of one
host have different prefixes. State of knowledge: 2026-11-20, from the vendors' references (`docs_url`) and
their published clients.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from ..errors import ConfigError, ErrorRules
from .dialects import (
    CHAT_HOSTS,
    COMPATIBLE,
    NOT_IN_RESPONSES,
    REFERENCE,
    VERTEX,
    ChatDialect,
    GeminiDialect,
    MessagesDialect,
    OllamaDialect,
    ResponsesDialect,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

Dialect = ResponsesDialect | ChatDialect | MessagesDialect | OllamaDialect | GeminiDialect
"""The facts of a host, of any wire."""

DIALECTS: dict[str, type[Dialect]] = {
    "openai_responses": ResponsesDialect,
    "openai_chat": ChatDialect,
    "anthropic_messages": MessagesDialect,
    "ollama_chat": OllamaDialect,
    "gemini_generate_content": GeminiDialect,
}
"""The class of dialects of each wire."""


# --- authentication -------------------------------------------------------------------------------------------------


class Bearer(Struct, frozen=True, kw_only=True):
    """Authentication by `Authorization: Bearer <key>`."""

    env: str | tuple[str, ...] = ()
    """The environment variable with the key, or several, of which the first that is set is used; empty for none."""
    optional: bool = False
    """Whether calls without a key are made, without the header."""
    hosts: tuple[str, ...] = ()
    """The hosts to which a key from the environment is sent; empty for any."""


class Header(Struct, frozen=True, kw_only=True):
    """Authentication by a header of its own, whose value is the key."""

    name: str
    """The name of the header."""
    env: str | tuple[str, ...] = ()
    """The environment variable with the key, or several, of which the first that is set is used; empty for none."""
    optional: bool = False
    """Whether calls without a key are made, without the header."""
    hosts: tuple[str, ...] = ()
    """The hosts to which a key from the environment is sent; empty for any."""


class NoAuth(Struct, frozen=True):
    """No authentication."""


Auth = Bearer | Header | NoAuth
"""How a vendor authenticates requests."""


class URLEnv(Struct, frozen=True):
    """An environment variable that holds a base URL, or a part of it."""

    name: str
    """The name of the environment variable."""
    path: str = ""
    """Appended to the variable's value where it does not end with it already."""
    port: int | None = None
    """The port of a value without one; then a bare `host` or `host:port` means `http://host:port`. `None`: a URL."""
    within: str = ""
    """A URL with `{}`, where the variable holds a name (a region, an account) to put there; empty for a URL as value."""


# --- the row --------------------------------------------------------------------------------------------------------


class Surface(Struct, frozen=True):
    """One wire of a vendor, with its differences from the vendor's row."""

    wire: str
    """The wire format, such as `openai_chat`."""
    dialect: Dialect | None = None
    """The host's dialect of that wire; `None` for the wire's default."""
    base_url: str | None = None
    """The base URL; `None` for the vendor's."""
    auth: Auth | tuple[Auth, ...] | None = None
    """How to authenticate; `None` for the vendor's method."""

    def __post_init__(self) -> None:
        _check_surface(self.wire, self.dialect)


class LimitRules(Struct, frozen=True, kw_only=True):
    """How one vendor's rate limits differ from others."""

    windows: dict[str, float] = {}
    """Seconds in which `requests` or `tokens` are counted where the header names do not have the window; else a minute."""
    reserves_output: bool = False
    """Whether `max_output_tokens` counts when a request is sent, instead of the tokens of its answer."""


class Vendor(Struct, frozen=True, kw_only=True):
    """A vendor or host: base URL, wires, authentication and dialects. `Client(..., vendor=Vendor(...))` uses your own.

    Raises `ConfigError` for an invalid name, an unknown wire, and a dialect of another wire.
    """

    name: str
    """The first segment of its models: letters, digits, dots, dashes and underscores."""
    wire: str
    """The preferred wire format, such as `openai_chat`."""
    base_url: str = ""
    """The base URL. Empty where the caller gives it; may hold `{resource}`, which `base_url_env` or the caller fills."""
    auth: Auth | tuple[Auth, ...] = NoAuth()
    """How to authenticate, or several methods: a key argument uses the first, a key of the environment its own."""
    dialect: Dialect | None = None
    """The host's dialect of `wire`; `None` for the wire's default."""
    other_wires: tuple[Surface, ...] = ()
    """The other wires of the vendor, in order of preference."""
    headers: dict[str, str] = {}
    """HTTP headers sent with every request; not for secrets."""
    header_env: dict[str, str] = {}
    """HTTP headers by name that are filled from these environment variables, where they are set."""
    base_url_env: tuple[str | URLEnv, ...] = ()
    """Environment variables with another base URL; the first that is set is used."""
    first_byte: float = 60.0
    """Seconds that the vendor may take to begin a stream, where `Timeouts.first_byte` is not set."""
    errors: ErrorRules = ErrorRules()
    """The classification of the vendor's errors where it deviates."""
    limits: LimitRules = LimitRules()
    """How the vendor's rate limits differ from others."""
    reports_cost: bool = False
    """Whether `usage` of its answers has the cost in US dollars: as `cost`, or as xAI's `cost_in_usd_ticks`."""
    allow_insecure: bool = False
    """Whether an API key may be sent over plain HTTP, for hosts in a private network. Loopback always may."""
    start: str = ""
    """The command that starts it, where it is a server on the user's own machine; empty elsewhere."""
    docs_url: str = ""
    """The vendor's API reference."""

    def __post_init__(self) -> None:
        if not self.name or not re.fullmatch(_NAME, self.name):
            raise ConfigError(
                f"a vendor cannot be named {self.name!r}", hint="use letters, digits, dots, dashes and underscores"
            )
        _check_surface(self.wire, self.dialect)

    @property
    def surfaces(self) -> tuple[Surface, ...]:
        """Every wire of the vendor, preferred first."""
        return Surface(self.wire, self.dialect), *self.other_wires

    @property
    def wires(self) -> tuple[str, ...]:
        """The names of the vendor's wires, preferred first."""
        return tuple(surface.wire for surface in self.surfaces)

    def ways(self, wire: str) -> tuple[Auth, ...]:
        """The methods of authentication on one of its wires, preferred first."""
        own = next((surface.auth for surface in self.surfaces if surface.wire == wire), None)
        auth = self.auth if own is None else own
        return auth if isinstance(auth, tuple) else (auth,)


_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


def _check_surface(wire: str, dialect: Dialect | None) -> None:
    kind = DIALECTS.get(wire)
    if kind is None:
        raise ConfigError(f"there is no wire {wire!r}", hint=f"choose one of {', '.join(DIALECTS)}")
    if dialect is not None and not isinstance(dialect, kind):
        raise ConfigError(
            f"the wire {wire} takes a {kind.__name__}, not a {type(dialect).__name__}", hint="change dialect="
        )


RESPONSES, CHAT, MESSAGES, OLLAMA = "openai_responses", "openai_chat", "anthropic_messages", "ollama_chat"
GEMINI = "gemini_generate_content"
_FORMAT = ResponsesDialect().sources
_STATELESS = ResponsesDialect(stateless=True, sources={**_FORMAT, "stateless": REFERENCE})
_OPENROUTER_RESPONSES = ResponsesDialect(
    stateless=True,
    only={"store": False},
    lacks=("stop", "seed", "presence_penalty", "frequency_penalty"),
    sources={**_FORMAT, "stateless": REFERENCE, "only": f"`store: true` is answered with 400: {REFERENCE}"},
)
_VLLM_RESPONSES = ResponsesDialect(lacks=("stop", "seed"), checks_ids=False, takes_reasoning_text=True)

_GRPC = {
    "Client specified an invalid argument": "invalid_argument",
    "Deadline expired before operation could complete": "deadline_exceeded",
    "Internal error": "internal",
    "Operation was attempted past the valid range": "out_of_range",
    "Some requested entity was not found": "not_found",
    "Some resource has been exhausted": "resource_exhausted",
    "The caller does not have permission to execute the specified operation": "permission_denied",
    "The operation was aborted": "aborted",
    "The request does not have valid authentication credentials": "unauthenticated",
    "The service is currently unavailable": "unavailable",
    "The system is not in a state required for the operation's execution": "failed_precondition",
}
"""The codes of gRPC, as `retryable` and `means`."""


def _host(name: str, base_url: str, key_env: str | tuple[str, ...], **facts: Any) -> Vendor:
    """The row of an OpenAI-compatible host with Chat Completions and bearer keys; `facts` are more fields of it."""
    dialect = CHAT_HOSTS[name]
    return Vendor(name=name, wire=CHAT, base_url=base_url, dialect=dialect, auth=Bearer(env=key_env), **facts)


_ROWS = (
    Vendor(
        name="openai",
        wire=RESPONSES,
        base_url="https://api.openai.com/v1",
        auth=Bearer(env="OPENAI_API_KEY"),
        other_wires=(Surface(CHAT, CHAT_HOSTS["openai"]),),
        header_env={"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"},
        base_url_env=("OPENAI_BASE_URL",),
        limits=LimitRules(reserves_output=True),
        docs_url="https://platform.openai.com/docs/api-reference",
    ),
    Vendor(
        name="azure_openai",
        wire=RESPONSES,
        base_url="https://{resource}.openai.azure.com/openai/v1",
        auth=(Header(name="api-key", env="AZURE_OPENAI_API_KEY"), Bearer(env="AZURE_OPENAI_AD_TOKEN")),
        other_wires=(Surface(CHAT, CHAT_HOSTS["azure_openai"]),),
        base_url_env=(URLEnv("AZURE_OPENAI_ENDPOINT", path="/openai/v1"),),
        limits=LimitRules(reserves_output=True),
        docs_url="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
    ),
    Vendor(
        name="anthropic",
        wire=MESSAGES,
        base_url="https://api.anthropic.com",
        auth=(Header(name="x-api-key", env="ANTHROPIC_API_KEY"), Bearer(env="ANTHROPIC_AUTH_TOKEN")),
        other_wires=(Surface(CHAT, CHAT_HOSTS["anthropic"], auth=Bearer(env="ANTHROPIC_API_KEY")),),
        base_url_env=("ANTHROPIC_BASE_URL",),
        docs_url="https://docs.claude.com/en/api/messages",
    ),
    Vendor(
        name="google",
        wire=GEMINI,
        base_url="https://generativelanguage.googleapis.com",
        auth=Header(name="x-goog-api-key", env=("GOOGLE_API_KEY", "GEMINI_API_KEY")),
        other_wires=(Surface(CHAT, CHAT_HOSTS["google"], auth=Bearer(env=("GOOGLE_API_KEY", "GEMINI_API_KEY"))),),
        first_byte=600,
        errors=ErrorRules(quota_words=("PerDay",)),
        docs_url="https://ai.google.dev/api/generate-content",
    ),
    Vendor(
        name="vertex",
        wire=GEMINI,
        # Express mode, with a key. A project is below .../v1beta1/projects/{project}/locations/{location}; it needs a token.
        base_url="https://aiplatform.googleapis.com/v1beta1",
        dialect=VERTEX,
        auth=(
            Header(name="x-goog-api-key", env="GOOGLE_VERTEX_API_KEY"),
            Bearer(env="GOOGLE_OAUTH_ACCESS_TOKEN"),
        ),
        base_url_env=(
            URLEnv(
                "GOOGLE_CLOUD_PROJECT",
                within="https://aiplatform.googleapis.com/v1beta1/projects/{}/locations/global",
            ),
        ),
        first_byte=600,
        errors=ErrorRules(quota_words=("PerDay",)),
        docs_url="https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
    ),
    Vendor(
        name="xai",
        wire=RESPONSES,
        base_url="https://api.x.ai/v1",
        auth=Bearer(env="XAI_API_KEY"),
        other_wires=(Surface(CHAT, CHAT_HOSTS["xai"]), Surface(MESSAGES, MessagesDialect(path="/messages"))),
        errors=ErrorRules(means=_GRPC),
        reports_cost=True,
        docs_url="https://docs.x.ai/docs/api-reference",
    ),
    _host(
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        other_wires=(
            Surface(
                RESPONSES,
                ResponsesDialect(
                    stateless=True,
                    lacks=(*_STATELESS.lacks, "truncation", "include", "safety_identifier", "prompt_cache_key"),
                    sources=_STATELESS.sources
                    | dict.fromkeys(("truncation", "include", "safety_identifier", "prompt_cache_key"), REFERENCE),
                ),
            ),
        ),
        base_url_env=(URLEnv("GROQ_BASE_URL", path="/openai/v1"),),
        first_byte=600,
        errors=ErrorRules(retryable=("tool_use_failed", "json_validate_failed", 498), final=(413,)),
        limits=LimitRules(windows={"requests": 86400}),
        docs_url="https://console.groq.com/docs/api-reference",
    ),
    _host(
        "deepseek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        other_wires=(
            Surface(
                RESPONSES,
                ResponsesDialect(
                    stateless=True,
                    takes_reasoning_text=True,
                    groups_calls=True,
                    checks_ids=False,
                    sources=_STATELESS.sources,
                ),
            ),
            Surface(MESSAGES, MessagesDialect(path="/anthropic/v1/messages")),
        ),
        first_byte=600,
        errors=ErrorRules(retryable=("insufficient_system_resource",), final=(402,)),
        docs_url="https://api-docs.deepseek.com/api/create-chat-completion",
    ),
    _host(
        "sambanova",
        "https://api.sambanova.ai/v1",
        "SAMBANOVA_API_KEY",
        other_wires=(Surface(RESPONSES, _STATELESS), Surface(MESSAGES, MessagesDialect(path="/messages"))),
        base_url_env=("SAMBA_NOVA_BASE_URL",),
        docs_url="https://docs.sambanova.ai/docs/en/api-reference/overview",
    ),
    _host(
        "together",
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        base_url_env=("TOGETHER_BASE_URL",),
        first_byte=600,
        limits=LimitRules(windows={"requests": 1, "tokens": 1}),
        docs_url="https://docs.together.ai/reference/chat-completions",
    ),
    _host(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        other_wires=(Surface(RESPONSES, _STATELESS), Surface(MESSAGES, MessagesDialect(path="/messages"))),
        base_url_env=(URLEnv("FIREWORKS_BASE_URL", path="/inference/v1"),),
        first_byte=600,
        docs_url="https://docs.fireworks.ai/api-reference/post-chatcompletions",
    ),
    _host(
        "cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        base_url_env=(URLEnv("CEREBRAS_BASE_URL", path="/v1"),),
        first_byte=600,
        limits=LimitRules(reserves_output=True),
        docs_url="https://inference-docs.cerebras.ai/api-reference/chat-completions",
    ),
    _host(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        other_wires=(
            Surface(RESPONSES, _OPENROUTER_RESPONSES),
            Surface(MESSAGES, MessagesDialect(path="/messages")),
        ),
        errors=ErrorRules(final=("402", "403")),
        reports_cost=True,
        docs_url="https://openrouter.ai/docs/api-reference/overview",
    ),
    _host(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        other_wires=(
            Surface(
                RESPONSES,
                ResponsesDialect(
                    stateless=True,
                    only={"store": False, "background": False, "truncation": "disabled", "top_logprobs": 0},
                    tools=("function", "namespace"),
                    sources=_STATELESS.sources | {"only": REFERENCE, "tools": REFERENCE},
                ),
            ),
        ),
        docs_url="https://docs.mistral.ai/api",
    ),
    Vendor(
        name="meta",
        wire=RESPONSES,
        base_url="https://api.meta.ai/v1",
        auth=Bearer(env="MODEL_API_KEY"),
        dialect=ResponsesDialect(only={"tool_choice": "auto"}, sources={**_FORMAT, "only": REFERENCE}),
        other_wires=(Surface(CHAT, CHAT_HOSTS["meta"]), Surface(MESSAGES, MessagesDialect(path="/messages"))),
    ),
    _host(
        "huggingface",
        "https://router.huggingface.co/v1",
        "HF_TOKEN",
        other_wires=(Surface(RESPONSES, _STATELESS),),
        docs_url="https://huggingface.co/docs/inference-providers",
    ),
    # --- local servers ---
    Vendor(
        name="ollama",
        wire=OLLAMA,
        base_url="http://localhost:11434",
        auth=Bearer(env="OLLAMA_API_KEY", optional=True, hosts=("ollama.com",)),
        other_wires=(
            Surface(CHAT, CHAT_HOSTS["ollama"]),
            Surface(RESPONSES, replace(_STATELESS, path="/v1/responses", checks_ids=False)),
            Surface(MESSAGES),
        ),
        base_url_env=(URLEnv("OLLAMA_HOST", port=11434),),
        first_byte=600,
        start="ollama serve",
        docs_url="https://docs.ollama.com/api/chat",
    ),
    Vendor(
        name="vllm",
        wire=CHAT,
        base_url="http://localhost:8000/v1",
        dialect=CHAT_HOSTS["vllm"],
        auth=Bearer(env="VLLM_API_KEY", optional=True),
        other_wires=(Surface(RESPONSES, _VLLM_RESPONSES),),
        first_byte=600,
        start="vllm serve <model>",
        docs_url="https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    ),
    Vendor(
        name="llamacpp",
        wire=CHAT,
        base_url="http://127.0.0.1:8080/v1",
        dialect=CHAT_HOSTS["llamacpp"],
        auth=Bearer(optional=True),
        other_wires=(Surface(RESPONSES), Surface(MESSAGES, MessagesDialect(path="/messages"))),
        first_byte=600,
        start="llama-server -m <model>.gguf",
        docs_url="https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
    ),
    Vendor(
        name="lmstudio",
        wire=RESPONSES,
        base_url="http://localhost:1234/v1",
        auth=Bearer(optional=True),
        dialect=ResponsesDialect(lacks=NOT_IN_RESPONSES, checks_ids=False),
        other_wires=(Surface(CHAT, CHAT_HOSTS["lmstudio"]),),
        first_byte=600,
        start="lms server start",
        docs_url="https://lmstudio.ai/docs/app/api/endpoints/openai",
    ),
    Vendor(
        name="simulator",
        wire=RESPONSES,
        base_url="inproc:llm_rest.simulator",
        auth=Bearer(optional=True),
        other_wires=(Surface(CHAT, ChatDialect()), Surface(MESSAGES), Surface(OLLAMA), Surface(GEMINI)),
    ),
    # --- more OpenAI-compatible hosts ---
    _host(
        "alibaba",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        errors=ErrorRules(
            means={
                "Arrearage": "insufficient_quota",
                "data_inspection_failed": "content_filter",
                "limit_requests": "rate_limit_exceeded",
                "insufficient_quota": "rate_limit_exceeded",  # too many tokens a minute
            }
        ),
        docs_url="https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope",
    ),
    _host(
        "moonshot",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY"),
        errors=ErrorRules(
            means={
                "exceeded_current_quota_error": "insufficient_quota",
                "engine_overloaded_error": "server_overloaded",
            }
        ),
        docs_url="https://platform.moonshot.ai/docs/api/chat",
    ),
    _host(
        "zai",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        errors=ErrorRules(
            means={
                **dict.fromkeys(("1000", "1001", "1002", "1003", "1004"), "invalid_api_key"),
                **dict.fromkeys(("1110", "1111", "1112", "1121", "1220", "1311"), "permission_denied"),
                **dict.fromkeys(("1113", "1304", "1308", "1309", "1310"), "insufficient_quota"),
                "1211": "model_not_found",
                "1261": "context_length_exceeded",
                "1301": "content_filter",
                **dict.fromkeys(("1302", "1303", "1313"), "rate_limit_exceeded"),
                **dict.fromkeys(("1305", "1312"), "server_overloaded"),
            },
        ),
        docs_url="https://docs.z.ai/api-reference/llm/chat-completion",
    ),
    _host(
        "minimax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        other_wires=(Surface(MESSAGES, MessagesDialect(path="/anthropic/v1/messages"), "https://api.minimax.io"),),
        errors=ErrorRules(
            verdict="base_resp",
            means={
                **dict.fromkeys(("1000", "1001", "1024", "1033"), "server_error"),
                **dict.fromkeys(("1002", "1039", "1041", "2045"), "rate_limit_exceeded"),
                **dict.fromkeys(("1004", "2049"), "invalid_api_key"),
                **dict.fromkeys(("1008", "2056"), "insufficient_quota"),
                **dict.fromkeys(("1026", "1027"), "content_filter"),
                **dict.fromkeys(("1042", "2013"), "invalid_request_error"),
            },
        ),
        docs_url="https://platform.minimax.io/docs/api-reference/text-openai-api",
    ),
    _host(
        "perplexity",
        "https://api.perplexity.ai",
        ("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
        reports_cost=True,
        docs_url="https://docs.perplexity.ai/api-reference/chat-completions-post",
    ),
    _host("nebius", "https://api.studio.nebius.com/v1", "NEBIUS_API_KEY"),
    _host("deepinfra", "https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN")),
    _host(
        "vercel_gateway",
        "https://ai-gateway.vercel.sh/v1",
        "AI_GATEWAY_API_KEY",
        other_wires=(Surface(RESPONSES, _STATELESS), Surface(MESSAGES, MessagesDialect(path="/messages"))),
        docs_url="https://vercel.com/docs/ai-gateway",
    ),
    Vendor(
        name="github_copilot",
        wire=CHAT,
        base_url="https://api.githubcopilot.com",
        dialect=replace(CHAT_HOSTS["github_copilot"], max_tokens_field="max_completion_tokens"),
        auth=Bearer(env=("GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN")),
        other_wires=(Surface(RESPONSES, _STATELESS),),
    ),
    _host("crusoe", "https://api.inference.crusoecloud.com/v1", "CRUSOE_API_KEY"),
    _host(
        "heroku",
        "https://us.inference.heroku.com/v1",
        "HEROKU_INFERENCE_KEY",
        base_url_env=(URLEnv("HEROKU_INFERENCE_URL", path="/v1"),),
    ),
    _host(
        "snowflake",
        "https://{account}.snowflakecomputing.com/api/v2/cortex/v1",
        ("SNOWFLAKE_TOKEN", "SNOWFLAKE_CORTEX_PAT"),
        base_url_env=(URLEnv("SNOWFLAKE_ACCOUNT", within="https://{}.snowflakecomputing.com/api/v2/cortex/v1"),),
        docs_url="https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api",
    ),
    Vendor(
        name="bedrock_mantle",
        wire=RESPONSES,
        base_url="https://bedrock-mantle.{region}.api.aws",
        dialect=ResponsesDialect(path="/openai/v1/responses"),
        auth=Bearer(env="AWS_BEARER_TOKEN_BEDROCK"),
        other_wires=(Surface(CHAT, replace(CHAT_HOSTS["bedrock_mantle"], path="/v1/chat/completions")),),
        base_url_env=tuple(
            URLEnv(name, within="https://bedrock-mantle.{}.api.aws") for name in ("AWS_DEFAULT_REGION", "AWS_REGION")
        ),
        docs_url="https://docs.aws.amazon.com/bedrock/latest/userguide/",
    ),
    # --- any other host; a key is given by argument only ---
    Vendor(
        name="compatible",
        wire=CHAT,
        dialect=CHAT_HOSTS["compatible"],
        auth=Bearer(optional=True),
        other_wires=(Surface(RESPONSES), Surface(MESSAGES), Surface(GEMINI)),
    ),
)

VENDORS: dict[str, Vendor] = {row.name: row for row in _ROWS}
"""Every vendor by its name, the first segment of a model."""

OTHER_NAMES = {
    "azure": "azure_openai",
    "claude": "anthropic",
    "dashscope": "alibaba",
    "fireworks_ai": "fireworks",
    "gemini": "google",
    "gpt": "openai",
    "grok": "xai",
    "hf": "huggingface",
    "kimi": "moonshot",
    "llama.cpp": "llamacpp",
    "mistralai": "mistral",
    "qwen": "alibaba",
    "together_ai": "together",
    "x-ai": "xai",
}
"""Names of vendors elsewhere; used to suggest a name, never to accept one."""


# --- from a name to an endpoint -------------------------------------------------------------------------------------


class Endpoint(Struct, frozen=True, kw_only=True):
    """The endpoint of a client: vendor, wire, dialect, base URL and model."""

    vendor: Vendor
    wire: str
    dialect: Dialect
    base_url: str
    model: str

    @property
    def ways(self) -> tuple[Auth, ...]:
        """The methods of authentication there, preferred first."""
        return self.vendor.ways(self.wire)

    @property
    def key_optional(self) -> bool:
        """Whether calls without a key are possible."""
        return _key_optional(self.ways)


def _key_optional(ways: tuple[Auth, ...]) -> bool:
    return any(isinstance(way, NoAuth) or way.optional for way in ways)


def resolve(
    model: str | None,
    *,
    wire: str | None = None,
    base_url: str | None = None,
    vendor: Vendor | None = None,
    environ: Mapping[str, str] | None = None,
) -> Endpoint:
    """The endpoint that `"vendor/model"` names. Raises `ConfigError` with the problem and what to write instead.

    With `vendor`, your own row, the model may omit its first segment. The base URL is the argument, else the
    first environment variable of the row that is set, else the row's. Without `wire`, a base URL that holds the beginning of
    one wire's path selects that wire: Ollama's own API is not at `https://host/v1`.
    """
    row, name = _split(model, vendor)
    base, source = base_url, "base_url"
    if base is None:
        base, source = _from_environment(row, environ)
    base = base and _with_scheme(base)
    surface = _surface(row, wire, base)
    if base is None:
        base, source = surface.base_url or row.base_url, f"the base URL of {row.name}"
    if not base:
        raise ConfigError(f"{row.name}/{name} needs a base URL", hint="pass base_url=, such as https://host/v1")
    if "{" in base and base == row.base_url:
        raise ConfigError(f"{row.name} has no host of its own: {base}", hint=_how_to_fill(row))
    dialect = _dialect(surface)
    base = _checked(base, source, row, surface.wire, dialect.path)
    return Endpoint(vendor=row, wire=surface.wire, dialect=_issued(dialect, row, base), base_url=base, model=name)


def _split(model: str | None, vendor: Vendor | None) -> tuple[Vendor, str]:
    if not model:
        raise ConfigError("no model was given", hint='pass one as "vendor/model"; there is no default')
    first, slash, rest = model.partition("/")
    if vendor is not None:
        row, name = vendor, rest if slash and first == vendor.name else model
    elif not slash:
        raise ConfigError(
            f"the model {model!r} names no vendor", hint=f'write "vendor/{model}", such as "openai/{model}"'
        )
    else:
        row, name = vendor_named(first), rest
    _check_model(name)
    return row, name


def vendor_named(name: str) -> Vendor:
    """The vendor of this name. Raises `ConfigError`, naming similar ones, where there is none."""
    if name in VENDORS:
        return VENDORS[name]
    from difflib import get_close_matches  # only for this message

    lowered = name.lower()
    near = [OTHER_NAMES[lowered]] if OTHER_NAMES.get(lowered) else get_close_matches(lowered, VENDORS, n=3)
    hint = f'there are {", ".join(VENDORS)}; for any other host write "compatible/<model>" and pass base_url='
    raise ConfigError(f"there is no vendor {name!r}", hint=f"did you mean {' or '.join(near)}?" if near else hint)


_NOT_IN_A_MODEL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029?#%\\]|(^|/)\.\.?(/|$)|^\s|\s$"


def _check_model(name: str) -> None:
    if not name:
        raise ConfigError("the model has no name after its vendor", hint='write "vendor/model"')
    if len(name) > 512 or re.search(_NOT_IN_A_MODEL, name):
        raise ConfigError(
            f"the model name {name[:80]!r} cannot be sent",
            hint="it must not contain control characters, any of ? # % \\, or the path segments . and ..",
        )


def _dialect(surface: Surface) -> Dialect:
    return surface.dialect or (COMPATIBLE if surface.wire == CHAT else DIALECTS[surface.wire]())


def _surface(row: Vendor, wire: str | None, base: str | None) -> Surface:
    if wire is None:
        return next((surface for surface in row.surfaces if base and _has_path_of(row, surface, base)), row.surfaces[0])
    for surface in row.surfaces:
        if surface.wire == wire:
            return surface
    raise ConfigError(f"{row.name} does not speak the wire {wire!r}", hint=f"it speaks {', '.join(row.wires)}")


def _has_path_of(row: Vendor, surface: Surface, base: str) -> bool:
    """Whether `base` holds the beginning of the surface's path, or all of it where bases commonly end in a version."""
    path = _dialect(surface).path
    home = surface.base_url or row.base_url
    bare = bool(home) and not urlsplit(home).path
    found = base.rstrip("/")
    return found.endswith(path) or (bare and _without_repetition(found, path) != found)


def _from_environment(row: Vendor, environ: Mapping[str, str] | None) -> tuple[str | None, str]:
    """The first base URL in the environment, and the variable's name."""
    # This frame alone holds the environment and never raises, so no traceback shows its variables.
    for entry in row.base_url_env:
        rule = URLEnv(entry) if isinstance(entry, str) else entry
        value = (os.environ if environ is None else environ).get(rule.name, "").strip().rstrip("/")
        # A region or an account is a name; anything else in its place could lead to another host.
        if not value or (rule.within and not re.fullmatch(_NAME, value)):
            continue
        if rule.within:
            return rule.within.format(value), rule.name
        if rule.port is not None and "://" not in value:
            value = f"http://{value}" if re.search(r":\d+$", value) else f"http://{value}:{rule.port}"
        if rule.path and not value.endswith(rule.path):
            value += rule.path
        return value, rule.name
    return None, ""


def url_variables(row: Vendor) -> list[str]:
    """The environment variables that a base URL, or a part of it, is read from."""
    return [entry if isinstance(entry, str) else entry.name for entry in row.base_url_env]


def _how_to_fill(row: Vendor) -> str:
    return " or ".join(["pass base_url=", *(f"set {name}" for name in url_variables(row))])


def _checked(base: str, source: str, row: Vendor, wire: str, path: str) -> str:
    """`base` as a valid base URL, without the part that `path` repeats."""
    if base.startswith("inproc:"):
        if base != row.base_url:
            raise ConfigError(f"{source}: an inproc: address is part of a vendor's row", hint="pass a https:// URL")
        return base
    try:
        url = urlsplit(base)
        host, _ = url.hostname, url.port
    except ValueError:
        raise ConfigError(f"{source} is not a URL", hint="such as https://host/v1") from None
    if url.scheme not in ("https", "http") or not host:
        hint = "such as https://host/v1, or http://localhost:1234 for a server on this machine"
        raise ConfigError(f"{source} must begin with https:// or http:// and name a host", hint=hint)
    # The URL itself is not in these messages: its invalid part may be a secret.
    if url.username is not None or url.password is not None:
        raise ConfigError(f"{source} must not contain a user name or password", hint="pass the key as api_key=")
    if url.query or url.fragment or "?" in base or "#" in base:
        raise ConfigError(f"{source} must not contain a query or fragment", hint="give the part before the ? or #")
    if re.search(_NOT_IN_A_URL, base) or ".." in url.path.split("/"):
        raise ConfigError(f"{source} contains invalid characters or path segments", hint="such as https://host/v1")
    if url.scheme == "http" and not (is_loopback(host) or _key_optional(row.ways(wire)) or row.allow_insecure):
        raise ConfigError(
            f"{source} must be https://: a key never travels over plain http, except to this machine",
            hint="for a host of your own network, use a Vendor(..., allow_insecure=True)",
        )
    return _without_repetition(base.rstrip("/"), path)


def _with_scheme(base: str) -> str:
    """`base` with http:// where it names this machine without a scheme, as in `localhost:1234`."""
    try:
        host = "" if "://" in base else urlsplit(f"//{base}").hostname
    except ValueError:
        return base
    return f"http://{base}" if host and is_loopback(host) else base


_NOT_IN_A_URL = r"[\x00-\x20\x7f-\uffff\\<>\"{}|^`]"
_LOOPBACK = r"(?i)localhost|.+\.localhost|127(\.\d{1,3}){3}|::1"


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    return re.fullmatch(_LOOPBACK, host) is not None


def _without_repetition(base: str, path: str) -> str:
    """`base` without the end that `path` begins with: `https://host/v1` below `/v1/messages` means `https://host`."""
    origin = f"{base}/".find("/", base.find("//") + 2)
    for end in range(len(path), 0, -1):
        if (end == len(path) or path[end] == "/") and base[origin:].endswith(path[:end]):
            return base[:-end]
    return base


def _issued(dialect: Dialect, row: Vendor, base: str) -> Dialect:
    """The dialect with its issuer of opaque state, which is the row's name unless the dialect sets one."""
    if dialect.issuer not in (type(dialect)().issuer, COMPATIBLE.issuer):
        return dialect
    issuer = row.name if row.base_url else f"{row.name}:{urlsplit(base).netloc}"
    return dialect if issuer == dialect.issuer else replace(dialect, issuer=issuer)
