"""The request of a call from its input and options: all input goes through `read_request`.

Structs and plain values are checked against the structs of the Responses format before anything is sent. Before changing this
file, know that the request shares nothing with the caller's values, which may change while it is retried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import ConfigError, DecodeError
from ..responses.parts import Part
from ..responses.request import REQUEST, Request
from ..unknown import Unknown, convert, given
from .content import MCP
from .options import SETTINGS, as_list

if TYPE_CHECKING:
    from ..losses import Loss
    from ..wires.foreign import Origins
    from .options import Input, Plain

Receiver = Callable[[], tuple[str, Any]]
"""Returns the wire and the dialect of a request's target; called where its input has messages of other formats."""

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
    if all(_is_item_type(type(cast("object", entry))) or _is_plain(entry) for entry in given):
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
    while level:  # one level of the document after the other, since a loop over each object takes several times as long
        kinds = {*map(type, level)}
        if float in kinds and not all(isfinite(value) for value in level if type(value) is float):
            return True
        dicts: list[Any] = [value.values() for value in level if type(value) is dict] if dict in kinds else []
        lists: list[Any] = [value for value in level if type(value) is list] if list in kinds else []
        level = [*chain.from_iterable(dicts), *chain.from_iterable(lists)]
    return False


def surrogates_in(request: Request) -> ConfigError:
    """The error for text in a request that UTF-8 cannot encode, with its path."""
    return ConfigError(_fault(request, "") or "the request contains a lone surrogate, which is not a valid character")


def _refuse_empty(request: Request) -> None:
    input = request.input
    if (isinstance(input, str) and not input.strip()) or (not input and not given(request.prompt)):
        raise ConfigError("input is empty", hint="give a text or items")
    for name, entries in (("input", input), ("tools", request.tools)):
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
