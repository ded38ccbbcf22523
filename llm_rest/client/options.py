"""The options of a call: the input, every field of a request as a keyword, and the settings of the call, read into `Settings`.

Before changing this file, know that `Options` repeats the fields of `Request` for type checkers and editors
(`tests/test_options.py` compares the two), and that secrets are wrapped (`wrap_secrets`) before any other code reads the
options: tracebacks are recorded with the local variables of every frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypedDict, cast, get_args

from ..errors import ConfigError
from ..responses.items import AnyItem
from ..responses.parts import ContentPart
from ..responses.request import (
    BackgroundOptions,
    CacheOptions,
    ContextManagement,
    ConversationRef,
    Effort,
    Prompt,
    ReasoningOptions,
    Request,
    StreamOptions,
    TextOptions,
)
from ..responses.tools import AnyTool, ToolChoice
from ..transport import WHOLE, Timeouts, is_duration, limit, remaining
from ..transport.retry import RetryPolicy, policy_of
from ..vendors.auth import Secret, checked_headers
from .content import MCP, hidden

if TYPE_CHECKING:
    from ..policy.budget import Budget
    from ..policy.cache import AnswerCache
    from ..policy.gate import Gates
    from ..policy.prices import Prices, Pricing
    from ..policy.rate_limit import RateLimit
    from ..tools import ToolExecutor
    from ..vendors.auth import Token
    from .target import Target

    Offer = AnyTool | MCP | Callable[..., Any] | ToolExecutor | Mapping[str, Any]
    """A tool in `tools=`: a function, a definition (struct or plain), an MCP server, or an executor of several."""

Plain = Mapping[str, Any]
"""A struct as plain data: its fields by name."""


class Dumpable(Protocol):
    """An object of a vendor's SDK (pydantic model) that can be converted to plain data."""

    def model_dump(self, *, mode: str = ..., by_alias: bool = ..., exclude_unset: bool = ...) -> dict[str, Any]:
        """The object as plain data, as pydantic models give it."""
        ...


InputItem = str | PathLike[str] | AnyItem | ContentPart | Plain | Dumpable
"""One entry of an input: a text, the path of a file, a part, an item, or a message of any format as a struct, a dict or an object
of a vendor's SDK. `history: list[InputItem] = []` is the annotation of a list that mixes them."""

Input = InputItem | Sequence[InputItem] | Request
"""The first argument of every call: an `InputItem`, a list or another sequence of them, or a whole `Request`."""

OnLoss = Literal["warn", "raise", "ignore"]
"""What to do about conversion losses: warn with a `LossWarning`, raise a `LossError`, or nothing."""
InvalidOptions = Literal["raise", "drop", "send"]
"""What to do with options that the model does not support: raise a `CapabilityError`, leave them out, or send them."""
Strategy = Literal["native", "tool", "instructions"]
"""How a schema is enforced: by the vendor, by a forced tool call, or by instructions."""


class TurnFields(TypedDict, total=False):
    """The fields of a request that are keywords of a chat, too, which stores and continues conversations itself."""

    model: str | None
    """The model as `"vendor/model"`, instead of the client's."""
    instructions: str | None
    """The system prompt of this request. Not carried over by `previous_response_id`."""
    max_output_tokens: int | None
    """The most tokens of the answer, those of reasoning included."""
    max_tool_calls: int | None
    """The most calls of the vendor's hosted tools in one response; functions do not count."""
    temperature: float | None
    """Randomness, 0 to 2 (0 to 1 at some vendors); many reasoning models reject it."""
    top_p: float | None
    """Nucleus sampling: the probability mass to choose tokens from, 0 to 1. Many reasoning models reject it."""
    top_k: int | None
    """How many of the likeliest tokens to choose from. Not supported by OpenAI."""
    top_logprobs: int | None
    """How many likely tokens to return at each position, with log probabilities: 0 to 20."""
    presence_penalty: float | None
    """Penalty for tokens that occurred before, -2 to 2."""
    frequency_penalty: float | None
    """Penalty for tokens by how often they occurred before, -2 to 2."""
    stop: str | Sequence[str] | None
    """Texts that end the answer where they occur. OpenAI supports up to four, on Chat Completions only."""
    seed: int | None
    """Seed of the sampling, for reproducible answers as far as the vendor supports that."""
    tool_choice: ToolChoice | Plain | None
    """`"auto"`, `"none"`, `"required"`, or the tool that must be called."""
    parallel_tool_calls: bool | None
    """Whether one answer may hold several tool calls. Default: the vendor's, usually yes."""
    text: TextOptions | Plain | None
    """The text format (`{"format": {...}}`) and its `verbosity`. For typed output use `output=`."""
    reasoning: ReasoningOptions | _Reasoning | Plain | None
    """Reasoning options: `{"effort": "low"}`, `{"summary": "auto"}`."""
    include: Sequence[str] | None
    """Further output to include, such as `"reasoning.encrypted_content"`."""
    truncation: Literal["auto", "disabled"] | str | None
    """`"auto"` drops the oldest items of an input that is too long; `"disabled"` (default) is an error instead."""
    metadata: Mapping[str, str] | None
    """Up to 16 names and values (64 and 512 characters) that the vendor stores with the response."""
    previous_response_id: str | None
    """The id of a stored response that this request continues. Not together with `conversation`."""
    background: bool | None
    """Whether the vendor answers in the background: the reply is returned at once, and `responses.poll` waits for its end."""
    background_options: BackgroundOptions | Plain | None
    """How soon a background response is needed; a longer window costs less."""
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] | str | None
    """The service tier, which decides price and speed; the response names the one that was used."""
    prompt_cache_key: str | None
    """A key for requests that share the beginning of their prompt, which improves prompt cache hits."""
    prompt_cache_options: CacheOptions | Plain | None
    """Options of the prompt cache: mode and lifetime."""
    prompt_cache_retention: Literal["in_memory", "24h"] | str | None
    """How long the prompt cache keeps the prompt: `"in_memory"` or `"24h"`."""
    safety_identifier: str | None
    """A stable id of the end user (a hash, say), for the vendor's abuse detection."""
    user: str | None
    """An id of the end user; OpenAI replaces it with `safety_identifier` and `prompt_cache_key`."""
    prompt: Prompt | Plain | None
    """A prompt template stored with the vendor: id, version, variables."""
    context_management: Sequence[ContextManagement | Plain] | None
    """Compaction of the conversation by the vendor (`{"type": "compaction", ...}`); the threshold is in tokens."""
    moderation: Plain | None
    """OpenAI's moderation of input and output: a model, and policies that score or block."""
    image: Plain | None
    """OpenAI's options for images in the input: `{"context_compression": "auto"}`."""
    access_programs: Plain | None
    """OpenAI's access programs, by subject: `{"cyber": "standard"}`."""
    extra: Mapping[str, Plain] | None
    """Vendor-specific fields by wire, such as `{"anthropic_messages": {...}}`: merged into that wire's body last."""
    leftovers: Mapping[str, Plain] | None
    """Fields of a request of another wire without a field in the Responses format, as its `decode_request` returned them."""


class Fields(TurnFields, total=False):
    """The fields of a request as keywords. `None` is the same as leaving one out, and removes a default of the client."""

    store: bool | None
    """Whether the vendor stores the response. `None`: the default of the client or the vendor."""
    conversation: str | ConversationRef | Plain | None
    """The id of a conversation stored with the vendor, whose items come first. Not with `previous_response_id`."""


class Options(Fields, total=False):
    """The fields of a request and its tools."""

    # Entries of any type: mypy infers `function` or `object` for a list of functions with different signatures.
    tools: Offer | Iterable[Any] | None
    """The tools that the model may call: functions with type hints, `@tool`s, definitions, executors; several or one."""


class _Reasoning(TypedDict, total=False):
    """A `TypedDict` for completion in editors."""

    effort: Effort | str | None
    summary: Literal["auto", "concise", "detailed"] | str | None


class RequestSettings(TypedDict, total=False):
    """The settings of a call's requests: retries, losses, headers, credentials."""

    retry: RetryPolicy | int | None
    """How many requests may be made in all, or a `RetryPolicy`. 1 means no retries."""
    on_loss: OnLoss | None
    """What to do about conversion losses: `"warn"` (default), `"raise"` a `LossError`, or `"ignore"`."""
    invalid_options: InvalidOptions | None
    """Options that the model does not support: `"raise"` a `CapabilityError` (default), `"drop"` or `"send"` them."""
    extra_headers: Mapping[str, str] | None
    """More HTTP headers, which override those of the library."""
    account: str | None
    """The account that the token provider (`credentials=`) returns a token for. Raises `ConfigError` without one."""
    user_token: Token | None
    """An access token for this call, instead of the client's key."""
    strategy: Strategy | None
    """How typed output is requested: `"native"`, `"tool"` or `"instructions"`. `None`: the best one that the model supports."""
    cache: AnswerCache | Literal[False] | None
    """The cache of answers; `False` bypasses it for this call."""
    max_repairs: int | None
    """How often the model is re-prompted where the answer does not match its type. Each re-prompt is a model call; default 1."""
    budget: Budget | None
    """The spending limit that calls share; raises `BudgetError` before a request that would exceed it."""
    prices: Prices | str | PathLike[str] | None
    """The file with prices for `reply.cost`, in the format of genai-prices, or `Prices`. `None`: only what vendors report."""
    rate_limit: RateLimit | Literal["learn"] | None
    """Wait for rate limits instead of failing: `"learn"` them from the headers of answers, or a `RateLimit`."""


class CallSettings(RequestSettings, total=False):
    """The settings of a call: those of its requests, and its timeout."""

    timeout: float | Timeouts | None
    """Seconds for the whole call, or `Timeouts` for each limit. Raises `APITimeoutError` when one passes."""


class CallOptions(Options, CallSettings, total=False):
    """The fields of a request, and the settings of the call."""


class OutputOptions(CallOptions, total=False):
    """The options of a call, and the type of the answer."""

    output: Any
    """A type, or a JSON Schema: the reply's `parsed` is a value of it. Raises `OutputError` where the answer does not match."""


class StreamCallOptions(CallOptions, total=False):
    """The options of a call, and the options of a stream."""

    stream_options: StreamOptions | Plain | None
    """Options of the stream: `{"include_obfuscation": False}`."""


SETTINGS = frozenset(CallSettings.__annotations__)
"""The keywords that are not fields of a request."""

FIELDS = frozenset(Request.__struct_fields__) - {"input", "stream", "stream_options"}
"""The fields of a request that are keywords; whether to stream is decided by the method."""

GATES = frozenset({"rate_limit", "budget"})
"""The settings that delay or count requests."""

CHOICES = {
    "on_loss": get_args(OnLoss),
    "invalid_options": get_args(InvalidOptions),
    "strategy": get_args(Strategy),
}
"""The allowed values of a setting."""


def check_names(options: dict[str, Any], *, stream: bool = False) -> None:
    """Return if every keyword is known, else raise `ConfigError` with the equivalent here. The other values are discarded."""
    if not options:
        return
    unknown = options.keys() - FIELDS - SETTINGS - ({"stream_options"} if stream else set())
    if unknown:
        from .keywords import refusal  # needed only for this message

        for name in unknown:  # may be a key, and tracebacks are recorded with local variables
            options[name] = None
        raise refusal(min(unknown), FIELDS | SETTINGS)
    for name, words in CHOICES.items():
        if options.get(name) not in (None, *words):
            raise ConfigError(f"{name} is one of {', '.join(words)}, not {options[name]!r}")
    repairs = options.get("max_repairs")
    if repairs is not None and (not isinstance(repairs, int) or repairs < 0):
        raise ConfigError(f"max_repairs is a number from 0, not {repairs!r}")


def plain(options: CallOptions | CallSettings | RequestSettings) -> dict[str, Any]:
    """The dict of a method's keywords itself (not a copy), so that its token is wrapped in the caller's frame too."""
    return cast("dict[str, Any]", options)


def as_list(tools: Any) -> Iterable[Any]:
    """The tools as a list, where one alone was given or none."""
    if tools is None:
        return ()
    several = isinstance(tools, Iterable) and not isinstance(tools, str | Mapping)
    return cast("Iterable[Any]", tools if several else (tools,))


# --- settings of one call --------------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """The settings of one call."""

    timeouts: Timeouts
    stream_timeouts: Timeouts
    retry: RetryPolicy
    on_loss: OnLoss
    invalid_options: InvalidOptions
    headers: Mapping[str, str | Secret]
    account: str | None
    user_token: Secret | None
    strategy: Strategy | None
    max_repairs: int
    gates: Gates | None = None
    """The gates of its requests: rate limits and budgets."""
    cache: AnswerCache | None = None
    """The answer cache."""
    prices: Prices | None = None
    """The price table, where the vendor does not report costs."""

    def pricing(self, target: Target, request: Request | None) -> Pricing | None:
        """The prices of a target for a request; `None` where they are unknown."""
        if self.prices is None and not target.endpoint.vendor.reports_cost:
            return None
        try:
            from ..policy.prices import Pricing  # not needed by most calls
        except ModuleNotFoundError:  # in a deployment without `policy/`
            return None
        return Pricing(self.prices, target, request)


def timeouts_of(value: object) -> Timeouts:
    """The value of `timeout=` as `Timeouts`: seconds are for the whole call."""
    if value is None:
        return Timeouts()
    if isinstance(value, Timeouts):
        return value
    if not isinstance(value, int | float) or not is_duration(value):
        hint = "such as timeout=30, or timeout=Timeouts(connect=5, total=60)"
        raise ConfigError(f"timeout is a positive number of seconds or Timeouts(...), not {value!r}", hint=hint)
    return Timeouts(connect=min(10.0, value), total=value)


def stream_timeouts_of(value: object) -> Timeouts:
    """The value of `timeout=` of a stream as `Timeouts`: seconds are for each wait, not for the whole call."""
    timeouts = timeouts_of(value)
    if not isinstance(value, int | float):
        return timeouts
    return Timeouts(connect=timeouts.connect, first_byte=value, read=value, stall=value)


def wrap_secrets(options: dict[str, Any]) -> None:
    """Wrap the secrets among the options, in place: tracebacks are recorded with the local variables of every frame."""
    if options.get("user_token") is not None:
        options["user_token"] = _secret(options.pop("user_token"))
    if options.get("extra_headers") is not None:
        more: Any = options["extra_headers"]
        if not isinstance(more, Mapping):
            raise ConfigError(f"extra_headers: expected names and values, got {type(more).__name__}")
        options["extra_headers"] = {name: _secret(value) for name, value in cast("Mapping[str, Any]", more).items()}
    if options.get("tools") is not None:
        options["tools"] = [hidden(tool) for tool in as_list(options["tools"])]


def _secret(value: Any) -> Any:
    return Secret(value) if isinstance(value, str) else value


def settings_of(options: Mapping[str, Any]) -> Settings:
    """The settings among the options of a call."""
    gates: Gates | None = None
    if any(options.get(name) is not None for name in GATES):
        from ..policy.gate import Gates  # not needed by most calls

        gates = Gates(options)
    cache: AnswerCache | None = options.get("cache")
    if cache is not None:
        from ..policy.cache import cache_of  # not needed by most calls

        cache = cache_of(cache)
    return Settings(
        timeouts=timeouts_of(options.get("timeout")),
        stream_timeouts=stream_timeouts_of(options.get("timeout")),
        retry=policy_of(options.get("retry")),
        on_loss=options.get("on_loss") or "warn",
        invalid_options=options.get("invalid_options") or "raise",
        headers=checked_headers(options["extra_headers"]) if options.get("extra_headers") else {},
        account=options.get("account"),
        user_token=options.get("user_token"),
        strategy=options.get("strategy"),
        max_repairs=1 if options.get("max_repairs") is None else options["max_repairs"],
        gates=gates,
        cache=cache,
        prices=options.get("prices"),
    )


def with_time_left(settings: Settings, started: float) -> Settings:
    """The settings with the time that is left for a whole answer requested at `started`."""
    timeouts = settings.timeouts
    return settings._replace(timeouts=remaining(timeouts, limit(timeouts.total, WHOLE), started))
