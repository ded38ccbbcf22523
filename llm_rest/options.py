"""What a call takes: the input, every field of a request as a keyword, and how the call is made.

`to_request` is the one door: whatever was given, structs or plain values, is checked against the structs of the Responses
format before anything is sent. Before changing this file, know that `Options` repeats the fields of `Request` for type
checkers and editors; `tests/test_options.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .errors import ConfigError, DecodeError
from .mcp import MCP
from .responses.items import AnyItem
from .responses.parts import ContentPart, Part
from .responses.request import (
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
from .responses.tools import AnyTool, ToolChoice
from .unknown import Unknown, convert, given

if TYPE_CHECKING:
    from .auth import Token
    from .losses import Loss
    from .retry import RetryPolicy
    from .structured.output import Strategy
    from .tools import ToolExecutor
    from .transport import Timeouts
    from .wires.foreign import Origins

    Offer = AnyTool | MCP | Callable[..., Any] | ToolExecutor | Mapping[str, Any]

Plain = Mapping[str, Any]


class Dumpable(Protocol):
    """An object of a vendor's SDK, which pydantic writes as plain values."""

    def model_dump(self, *, mode: str = ..., by_alias: bool = ..., exclude_unset: bool = ...) -> dict[str, Any]: ...


Piece = str | PathLike[str] | AnyItem | ContentPart | Plain | Dumpable
Input = Piece | Sequence[Piece] | Request
"""What is asked: a text, the path of a file, a part, an item or a message of any format, several of these, or a whole
`Request`; structs or plain values."""

Receiver = Callable[[], tuple[str, Any]]
"""Gives the wire and the dialect of who gets a request; called where its input has messages of other formats."""

OnLoss = Literal["warn", "raise", "ignore"]
InvalidOptions = Literal["raise", "drop", "send"]


class Fields(TypedDict, total=False):
    """The fields of a request as keywords. `None` is the same as leaving one out, and takes back a default."""

    model: str | None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    top_logprobs: int | None
    presence_penalty: float | None
    frequency_penalty: float | None
    stop: str | Sequence[str] | None
    seed: int | None
    tool_choice: ToolChoice | Plain | None
    parallel_tool_calls: bool | None
    text: TextOptions | Plain | None
    reasoning: ReasoningOptions | _Reasoning | Plain | None
    include: Sequence[str] | None
    truncation: Literal["auto", "disabled"] | str | None
    metadata: Mapping[str, str] | None
    store: bool | None
    previous_response_id: str | None
    conversation: str | ConversationRef | Plain | None
    background: bool | None
    background_options: BackgroundOptions | Plain | None
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] | str | None
    prompt_cache_key: str | None
    prompt_cache_options: CacheOptions | Plain | None
    prompt_cache_retention: Literal["in_memory", "24h"] | str | None
    safety_identifier: str | None
    user: str | None
    prompt: Prompt | Plain | None
    context_management: Sequence[ContextManagement | Plain] | None
    moderation: Plain | None
    image: Plain | None
    access_programs: Plain | None
    extra: Mapping[str, Plain] | None
    """Fields in a wire's own words, by wire: merged into that wire's body last and never sent on another."""
    leftovers: Mapping[str, Plain] | None
    """What a document of another wire said and this format cannot, as `decode_request` of that wire left it."""


class Options(Fields, total=False):
    """All of them; a run takes other tools than a single request."""

    tools: Offer | Iterable[Offer] | None
    """What the model may call: functions with type hints, `@tool`s, definitions, executors; several or one."""


class _Reasoning(TypedDict, total=False):
    """Spelled out so that editors complete it."""

    effort: Effort | str | None
    summary: Literal["auto", "concise", "detailed"] | str | None


class RequestSettings(TypedDict, total=False):
    """How the requests of a call are made."""

    retry: RetryPolicy | int | None
    """How many requests may be made in all, or a whole policy. 1 means no retries."""
    on_loss: OnLoss | None
    invalid_options: InvalidOptions | None
    extra_headers: Mapping[str, str] | None
    account: str | None
    """Whose token to ask the token provider for."""
    user_token: Token | None
    """An access token for this call, instead of the client's key."""
    strategy: Strategy | None
    """How typed output is asked for, instead of the best way the model has."""
    max_repairs: int | None
    """How often an answer that does not fit its type is asked for again. Each time is a call; 1 unless said otherwise."""


class CallSettings(RequestSettings, total=False):
    """How a call is made."""

    timeout: float | Timeouts | None
    """Seconds for the whole call, or each limit by name."""


class CallOptions(Options, CallSettings, total=False):
    """The fields of a request, and how the call is made."""


class OutputOptions(CallOptions, total=False):
    """The same, and what the answer shall be."""

    output: Any
    """A type, or a JSON Schema: the reply's `parsed` is a value of it."""


class StreamCallOptions(CallOptions, total=False):
    """The same, and how a stream is sent."""

    stream_options: StreamOptions | Plain | None


SETTINGS = frozenset(CallSettings.__annotations__)
"""The keywords that are not fields of a request."""

FIELDS = frozenset(Request.__struct_fields__) - {"input", "stream", "stream_options"}
"""The fields of a request that are keywords; whether to stream is said by the method that is called."""

CHOICES = {
    "on_loss": ("warn", "raise", "ignore"),
    "invalid_options": ("raise", "drop", "send"),
    "strategy": ("native", "tool", "instructions"),
}
"""The words that a setting may be."""


def checked_names(options: dict[str, Any], *, stream: bool = False) -> None:
    """Return if every keyword is known, else raise `ConfigError` with the word here. What the others held is forgotten."""
    if not options:
        return
    unknown = options.keys() - FIELDS - SETTINGS - ({"stream_options"} if stream else set())
    if unknown:
        from .keywords import refusal  # only for this message

        for name in unknown:  # it may have been a key, and tracebacks are recorded with local variables
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
    """The request that the input and the fields among these options make. Raises `ConfigError` naming the field."""
    return read_request(input, options)[0]


def read_request(
    input: Input | None, options: Mapping[str, Any], receiver: Receiver = lambda: ("", None)
) -> tuple[Request, list[Loss], Origins | None]:
    """The same request, what was changed in messages of other formats, and which entry of the input each item was made of.

    Where that is `None`, each entry is an item.
    """
    fields = {name: value for name, value in options.items() if value is not None and name not in SETTINGS}
    document: Any = fields
    lost: list[Loss] = []
    origins: Origins | None = None
    if "tools" in fields:
        fields["tools"] = [one for i, tool in enumerate(listed(fields["tools"])) for one in _definitions(tool, i)]
    if isinstance(input, Request):
        if isinstance(input.input, list) and not all(map(_is_item, input.input)):
            fields["input"], lost, origins = _items(input.input, receiver)
        document = replace(input, **fields) if fields else input
    elif input is not None:
        fields["input"], lost, origins = _items(input, receiver)
    request = _checked(document)
    if isinstance(request, str):
        from .keywords import misplaced  # only for this message

        raise misplaced(fields) or ConfigError(request)
    _refuse_empty(request)
    return request, lost, origins


def listed(tools: Any) -> Iterable[Any]:
    """The tools as a list, where one alone was given or none."""
    if tools is None:
        return ()
    several = isinstance(tools, Iterable) and not isinstance(tools, str | Mapping)
    return cast("Iterable[Any]", tools if several else (tools,))


def _definitions(offered: Any, i: int) -> Sequence[Any]:
    """What a request says of a tool: of a function what its signature and docstring say, of an executor all it has."""
    if not callable(offered) and not hasattr(offered, "definition") and not isinstance(offered, MCP):
        return (offered,)
    from .tools import Toolbox  # needed for what is not plain

    try:
        return Toolbox([offered]).definitions
    except ConfigError as problem:
        raise ConfigError(f"tools[{i}]: {problem.message}", hint=problem.hint) from None


def _is_item(entry: Any) -> bool:
    """Whether an entry is an item already, as a struct or of an unknown kind."""
    return isinstance(entry, Unknown) or (isinstance(entry, Struct) and not isinstance(entry, Part))


def _is_plain(entry: Any) -> bool:
    """Whether plain values are an item as they stand: a call, an output, or a message with a text or parts of Responses."""
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
    """A message with its type; it may have been written without."""
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
    if all(_is_item(entry) or _is_plain(entry) for entry in given):
        return given, [], None
    from .wires.foreign import read_input  # needed for plain values only

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
    from .wires.foreign import dumped

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
    """The document as a request that shares no struct, list or dict with the caller's, or what is wrong with it."""
    # Nothing is raised here: the plain values may hold an MCP server's token, which no frame of an error shows.
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
        # Kinds and fields that are not known, and older spellings: the decoder keeps and reads those.
        return REQUEST.decode(_encoder.encode(plain))


def _has_odd_number(plain: Any) -> bool:
    """Whether plain values hold a number that is none; JSON would make it null without a word."""
    waiting: list[Any] = [plain]
    while waiting:
        value = waiting.pop()
        inside: Iterable[Any] = cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
        for inner in inside:
            if isinstance(inner, float):
                if not isfinite(inner):
                    return True
            elif isinstance(inner, dict | list):
                waiting.append(cast("Any", inner))
    return False


def surrogates_in(request: Request) -> ConfigError:
    """The error that names where a request holds what UTF-8 cannot spell."""
    return ConfigError(_fault(request, "") or "the request holds half of a surrogate pair, which is no character")


def _refuse_empty(request: Request) -> None:
    asked = request.input
    if (isinstance(asked, str) and not asked.strip()) or (not asked and not given(request.prompt)):
        raise ConfigError("input is empty", hint="give a text or items")
    for name, entries in (("input", asked), ("tools", request.tools)):
        for i, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, Unknown) and not entry.kind:
                raise ConfigError(
                    f"{name}[{i}]: expected an object with a type, got {', '.join(entry) or 'an empty one'}"
                )


def _fault(value: Any, path: str, depth: int = 0) -> str | None:
    """The first place in plain values and structs that JSON cannot carry, in words; `None` where all is well."""
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
