"""The parameters of a call: the input, every field of a request as a keyword, and the settings of the call.

All input goes through `to_request`: structs and plain values are checked against the structs of the Responses
format before anything is sent. Before changing this file, know that `Options` repeats the fields of `Request` for type
checkers and editors; `tests/test_options.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import ConfigError, DecodeError
from ..responses.items import AnyItem
from ..responses.parts import ContentPart, Part
from ..responses.request import (
    REQUEST,
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
from ..unknown import Unknown, convert, given
from .content import MCP

if TYPE_CHECKING:
    from ..losses import Loss
    from ..policy.budget import Budget
    from ..policy.cache import AnswerCache
    from ..policy.prices import Prices
    from ..policy.rate_limit import RateLimit
    from ..tools import ToolExecutor
    from ..transport import Timeouts
    from ..transport.retry import RetryPolicy
    from ..vendors.auth import Token
    from ..wires.foreign import Origins
    from .structured import Strategy

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

Receiver = Callable[[], tuple[str, Any]]
"""Returns the wire and the dialect of a request's target; called where its input has messages of other formats."""

OnLoss = Literal["warn", "raise", "ignore"]
"""What to do about conversion losses: warn with a `LossWarning`, raise a `LossError`, or nothing."""
InvalidOptions = Literal["raise", "drop", "send"]
"""What to do with options that the model does not support: raise a `CapabilityError`, leave them out, or send them."""


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
    "on_loss": ("warn", "raise", "ignore"),
    "invalid_options": ("raise", "drop", "send"),
    "strategy": ("native", "tool", "instructions"),
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


_encoder = msgspec.json.Encoder()


def to_request(input: Input | None, options: Mapping[str, Any]) -> Request:
    """The request from the input and the fields among these options. Raises `ConfigError` naming the field."""
    return read_request(input, options)[0]


def read_request(
    input: Input | None, options: Mapping[str, Any], receiver: Receiver = lambda: ("", None)
) -> tuple[Request, list[Loss], Origins | None]:
    """The same request, the losses of messages in other formats, and the input entry of each item.

    The last is `None` where each entry is one item.
    """
    fields = {name: value for name, value in options.items() if value is not None and name not in SETTINGS}
    document: Any = fields
    lost: list[Loss] = []
    origins: Origins | None = None
    if "tools" in fields:
        fields["tools"] = [one for i, tool in enumerate(as_list(fields["tools"])) for one in _definitions(tool, i)]
    if isinstance(input, Request):
        if isinstance(input.input, list) and not all(map(_is_item_type, {*map(type, input.input)})):
            fields["input"], lost, origins = _items(input.input, receiver)
        document = replace(input, **fields) if fields else input
    elif input is not None:
        fields["input"], lost, origins = _items(input, receiver)
    request = _checked(document)
    if isinstance(request, str):
        from .keywords import misplaced  # needed only for this message

        raise misplaced(fields) or ConfigError(request)
    _refuse_empty(request)
    return request, lost, origins


def as_list(tools: Any) -> Iterable[Any]:
    """The tools as a list, where one alone was given or none."""
    if tools is None:
        return ()
    several = isinstance(tools, Iterable) and not isinstance(tools, str | Mapping)
    return cast("Iterable[Any]", tools if several else (tools,))


def _definitions(offered: Any, i: int) -> Sequence[Any]:
    """The definitions of a tool: a function's from its signature and docstring, all definitions of an executor."""
    if not callable(offered) and not hasattr(offered, "definition") and not isinstance(offered, MCP):
        return (offered,)
    from ..tools import Toolbox  # needed for values that are not plain

    try:
        return Toolbox([offered]).definitions
    except ConfigError as problem:
        raise ConfigError(f"tools[{i}]: {problem.message}", hint=problem.hint) from None


def _is_item_type(kind: type) -> bool:
    """Whether entries of this type are items already: structs, or items of an unknown kind."""
    return issubclass(kind, Unknown) or (issubclass(kind, Struct) and not issubclass(kind, Part))


def _is_plain(entry: Any) -> bool:
    """Whether plain values are an item of the Responses format: a call, an output, or a message."""
    if type(entry) is not dict:
        return False
    item = cast("Plain", entry)
    kind = item.get("type", "message")
    if kind != "message":
        return kind in ("function_call", "reasoning") or (
            kind == "function_call_output" and type(item.get("output")) is str
        )
    if not item.keys() <= _PLAIN or item.get("role") not in _PLAIN_ROLES:
        return False
    content: Any = item.get("content")
    if type(content) is not list:
        return type(content) is str
    parts: list[Any] = cast("Any", content)
    return all(type(part) is dict and cast("Plain", part).get("type") in _PLAIN_PARTS for part in parts)


_PLAIN = {"type", "id", "role", "content", "status", "phase"}
_PLAIN_ROLES = ("user", "assistant", "system", "developer", "agent", "human")
_PLAIN_PARTS = ("input_text", "output_text", "input_image", "input_file")


def _typed(message: Plain) -> Plain:
    """A message with its `type`, which is optional in the input."""
    return message if "type" in message else {"type": "message", **message}


def _items(input: Any, receiver: Receiver) -> tuple[Any, list[Loss], Origins | None]:
    """The input as a text or a list of items, what was changed in messages of other formats, and what items were made of."""
    if isinstance(input, str):
        return input, [], None
    alone = isinstance(input, Mapping | Struct | PathLike) or hasattr(input, "model_dump")
    if not alone and (not isinstance(input, Iterable) or isinstance(input, bytes | bytearray)):
        raise ConfigError(f"input: expected a text or a list of items, got {type(cast('object', input)).__name__}")
    given: list[Any] = [input] if alone else list(cast("Iterable[Any]", input))
    given = [_typed(entry) if _is_plain(entry) else entry for entry in given]
    if all(_is_item_type(type(entry)) or _is_plain(entry) for entry in given):
        return given, [], None
    from ..wires.foreign import read_input  # needed for plain values only

    problem: Any = "a number that is none"
    try:
        entries = [_entry(entry, k) for k, entry in enumerate(given)]
        if not _has_odd_number([entry for entry in entries if isinstance(entry, dict)]):
            wire, dialect = receiver()
            return read_input(entries, wire=wire, dialect=dialect)
    except DecodeError as found:
        raise ConfigError(found.message, hint=found.hint) from None
    except (TypeError, ValueError, OverflowError, RecursionError) as found:
        if isinstance(found, ConfigError):
            raise
        problem = found
    raise ConfigError(_fault(given, "input") or f"input cannot be written as JSON: {problem}")


def _entry(entry: Any, k: int) -> Any:
    """An entry of the input with plain values for what is neither a struct nor a text, and parts for files."""
    if isinstance(entry, str | Struct | Unknown):
        return cast("Any", entry)
    if isinstance(entry, PathLike):
        return _attached(cast("PathLike[str]", entry), f"input[{k}]")
    from ..wires.foreign import dumped

    if isinstance(entry, Mapping):
        message = dict(cast("Plain", entry))
        for name in ("content", "parts", "images", "tool_calls"):
            if isinstance(message.get(name), list | tuple):
                message[name] = [
                    _attached(cast("PathLike[str]", piece), f"input[{k}].{name}[{j}]", data=name == "images")
                    if isinstance(piece, PathLike)
                    else piece
                    for j, piece in enumerate(message[name])
                ]
        entry = message
    plain = msgspec.to_builtins(entry, str_keys=True, enc_hook=dumped)
    if not isinstance(plain, dict):
        what = type(cast("object", entry)).__name__
        raise ConfigError(f"input[{k}]: expected a text, a part, an item or a message, got {what}")
    return cast("Plain", plain)


def _attached(path: PathLike[str], place: str, *, data: bool = False) -> Any:
    """The part that holds a file, or its bare bytes. Raises `ConfigError` naming the place."""
    from .content import attachment

    try:
        return attachment(path, data=data)
    except ConfigError as problem:
        raise ConfigError(f"{place}: {problem.message}", hint=problem.hint) from None


def _checked(document: Any) -> Request | str:
    """The validated request, which shares no struct, list or dict with the caller's, or the error as a text."""
    # Nothing is raised here: the plain values may hold an MCP server's token, which no traceback may show.
    try:
        plain = msgspec.to_builtins(document, str_keys=True)
        if not _has_odd_number(plain):
            return _converted(plain)
        return _fault(document, "") or "the request holds a number that is none"
    except DecodeError as problem:
        return problem.message.removeprefix("$").lstrip(".")
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        return _fault(document, "") or f"input or an option cannot be written as JSON: {problem}"


def _converted(plain: Any) -> Request:
    try:
        return convert(plain, Request)
    except msgspec.ValidationError:
        # Unknown kinds and fields, and older notations: the decoder keeps the first and converts the others.
        return REQUEST.decode(_encoder.encode(plain))


def _has_odd_number(plain: Any) -> bool:
    """Whether plain values hold NaN or an infinity, which JSON would silently encode as null."""
    level: list[Any] = [plain]
    while level:  # one level of the document after the other, since a loop over each object takes ten times as long
        kinds = {*map(type, level)}
        if float in kinds and not all(isfinite(value) for value in level if type(value) is float):
            return True
        dicts = [value.values() for value in level if type(value) is dict] if dict in kinds else []
        lists = [value for value in level if type(value) is list] if list in kinds else []
        level = [*chain.from_iterable(dicts), *chain.from_iterable(lists)]
    return False


def surrogates_in(request: Request) -> ConfigError:
    """The error for text in a request that UTF-8 cannot encode, with its path."""
    return ConfigError(_fault(request, "") or "the request contains a lone surrogate, which is not a valid character")


def _refuse_empty(request: Request) -> None:
    asked = request.input
    if (isinstance(asked, str) and not asked.strip()) or (not asked and not given(request.prompt)):
        raise ConfigError("input is empty", hint="give a text or items")
    for name, entries in (("input", asked), ("tools", request.tools)):
        if not isinstance(entries, list) or Unknown not in map(type, entries):
            continue
        for i, entry in enumerate(entries):
            if isinstance(entry, Unknown) and not entry.kind:
                raise ConfigError(
                    f"{name}[{i}]: expected an object with a type, got {', '.join(entry) or 'an empty one'}"
                )


def _fault(value: Any, path: str, depth: int = 0) -> str | None:
    """A description of the first value that JSON cannot encode; `None` without one."""
    where = path or "the request"
    if value is None or isinstance(value, int):
        return None
    if isinstance(value, str):
        if value.isascii():
            return None
        try:
            value.encode()
        except UnicodeEncodeError:
            return f"{where}: holds half of a surrogate pair, which is no character"
        return None
    if isinstance(value, float):
        return None if isfinite(value) else f"{where}: expected a number, got {value}"
    if depth > 200:
        return f"{path[:40]}…: nested too deeply"
    for name, inner in _inside(value):
        fault = _fault(inner, f"{path}{name}" if path or not name.startswith(".") else name[1:], depth + 1)
        if fault:
            return fault
    if isinstance(value, Struct | Mapping | list | tuple | set | frozenset):
        return None
    try:
        _encoder.encode(value)
    except (TypeError, ValueError):
        return f"{where}: a {type(cast('object', value)).__name__} cannot be written as JSON"
    return None


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield f".{name}", getattr(value, name)
    elif isinstance(value, Mapping):
        for name, inner in cast("dict[Any, Any]", value).items():
            yield f".{name}", name
            yield f".{name}", inner
    elif isinstance(value, list | tuple | set | frozenset):
        for i, inner in enumerate(cast("Iterable[Any]", value)):
            yield f"[{i}]", inner
