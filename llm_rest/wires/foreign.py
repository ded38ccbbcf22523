"""Messages of other formats as input: Chat, Anthropic, Gemini and Ollama messages, and flat rows, converted to items.

A message is read as Responses unless it has a mark of another format (`message_formats.py`); a message with marks of
two formats is rejected, and so is any message that no decoder accepts. All messages of one format in a list are decoded
at once by the decoder of that wire, which is loaded only then, so that calls and results pair as in a whole request.
Before changing this file, know that Responses structs in a list are unchanged, and that every error has the path by
which the caller would index the list.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import DecodeError, LossError
from ..losses import Loss, Losses, LossWarning
from ..responses.items import ROLES as CONVERSATION_ROLES
from ..responses.items import AnyItem, FunctionCall, FunctionCallOutput, Message, Reasoning
from ..responses.normalize import json_text
from ..responses.parts import InputText, Part, SummaryText
from ..responses.request import REQUEST, Request
from ..unknown import Unknown
from . import load
from .leftovers import as_list, as_object
from .message_formats import (
    ANSWERED,
    ANTHROPIC,
    ASSISTANT_BLOCKS,
    CHAT,
    COLUMNS,
    GEMINI,
    KNOWN_ROLES,
    OLLAMA,
    PARTS,
    PAYLOADS,
    RESPONSES,
    ROWS,
    SOURCES,
    SPEAKERS,
    TITLES,
    UNTRANSLATED,
    USER_BLOCKS,
    Formats,
    Plain,
    candidates,
    part_formats,
    refuse,
)

# --- a list of anything ---------------------------------------------------------------------------------------------


def _item_types() -> frozenset[str]:
    arms = get_args(get_args(AnyItem)[0])
    return frozenset(
        str(arm.__struct_config__.tag) for arm in arms if isinstance(arm, type) and issubclass(arm, Struct)
    )


ITEM_TYPES = _item_types()


def read_input(
    entries: Sequence[Any], *, wire: str = "", dialect: Any = None, path: str = "input"
) -> tuple[list[Any], list[Loss], Origins]:
    """The entries as Responses items and plain messages, the repairs and losses, and the origin of each item.

    Entries are items, parts and strings, as structs or plain values, and messages of any format. `wire` and `dialect`
    are the receiver's: opaque state in that wire's messages is that host's. Raises `DecodeError` for invalid entries.
    """
    reader = _Reader(entries, wire, dialect, path)
    chosen: dict[int, Formats] = {}
    for k, entry in enumerate(entries):
        if isinstance(entry, dict) and not isinstance(entry, Unknown):
            chosen[k] = reader.formats(k, cast("Plain", entry))
    clear = dict.fromkeys(formats[0] for formats in chosen.values() if len(formats) == 1 and formats[0] != RESPONSES)
    last = ""
    for k, formats in chosen.items():
        # Where several formats have all marks, the messages around it decide.
        near = next((name for name in (last, *clear) if name in formats), formats[0])
        last = near if near != RESPONSES else last
        reader.take(k, near)
    return reader.items(), reader.lost, reader.origins


class Origins:
    """The caller's entry for each item: an entry may become several items, and several entries one item."""

    def __init__(self, path: str, made_of: Callable[[list[tuple[int, Plain]], str], list[int]]) -> None:
        self._path = path
        self._made_of = made_of  # the number of items for each message of a stretch
        self._items: list[tuple[int, int]] = []  # the index of each item in the result of its stretch
        self._stretches: dict[int, tuple[str, list[tuple[int, Plain]], int]] = {}  # by their first entry
        self._counts: dict[int, list[int]] = {}
        self._parts: dict[int, list[int]] = {}  # the entries of the parts of a message, by the item's index

    def item(self, k: int, at: int = 0) -> None:
        """The next item is number `at` in the result of entry `k`, or of the stretch that begins there."""
        self._items.append((k, at))

    def parts(self, entries: list[int]) -> None:
        """The next item is a message made of those entries."""
        self._parts[len(self._items)] = entries
        self.item(entries[0])

    def stretch(self, format: str, messages: list[tuple[int, Plain]], size: int) -> None:
        """Messages of one format that were decoded together, and the number of items they became."""
        self._stretches[messages[0][0]] = format, messages, size

    def path(self, path: str) -> str:
        """A path into the items as a path into the caller's entries."""
        found = _ITEM.match(path)
        if found is None or int(found[1]) >= len(self._items):
            return path
        i, rest = int(found[1]), path[found.end() :]
        k, at = self._items[i]
        if i in self._parts:
            part = _CONTENT.match(rest)
            if part is None or int(part[1]) >= len(self._parts[i]):
                return f"{self._path}[{k}]"
            return f"{self._path}[{self._parts[i][int(part[1])]}]{rest[part.end() :]}"
        if k not in self._stretches:
            return f"{self._path}[{k}]{rest}"
        format, messages, size = self._stretches[k]
        if k not in self._counts:
            self._counts[k] = [size] if len(messages) == 1 else self._made_of(messages, format)
        counts = self._counts[k]
        if sum(counts) != size:
            return self._path  # a message became other items because of its neighbours
        for (entry, _), count in zip(messages, counts, strict=True):
            if at < count:
                # If one message became several items, none is at an index that the caller has.
                return f"{self._path}[{entry}]" + (rest if count == 1 else "")
            at -= count
        return self._path

    def losses(self, losses: Iterable[Loss]) -> list[Loss]:
        """Losses of the items as losses of the entries."""
        return [replace(loss, path=self.path(loss.path)) for loss in losses]


_ITEM = re.compile(r"input\[(\d+)\]")
_CONTENT = re.compile(r"\.content\[(\d+)\]")


class _Reader:
    """Passes each entry of a list to the decoder of its format, and restores the order of the items."""

    def __init__(self, entries: Sequence[Any], wire: str, dialect: Any, path: str) -> None:
        self.lost = Losses()
        self._entries = entries
        self._wire = wire
        self._dialect = dialect
        self._path = path
        self._loose = {k for k, entry in enumerate(entries) if _is_loose(entry)}
        self._taken: dict[str, list[tuple[int, Plain]]] = {}  # by format
        self._found: dict[int, list[Any]] = {}
        self._rows: set[str] = set()  # calls of flat rows
        self.origins = Origins(path, self._counts)

    def _at(self, k: int) -> str:
        return f"{self._path}[{k}]"

    def formats(self, k: int, entry: Plain) -> Formats:
        """The possible formats of an entry."""
        if k in self._loose:
            return candidates({"content": [entry]}, self._at(k))
        kind = entry.get("type", "message")
        if kind == "message":
            return candidates(entry, self._at(k))
        if not isinstance(kind, str):
            refuse(
                self._at(k), f"expected a type that is a word, got {_kind(kind)}", "a message has a role and content"
            )
        if kind not in ITEM_TYPES and ("role" in entry or "content" in entry) and self._wire not in ("", RESPONSES):
            refuse(self._at(k), f"no format has an item of type {kind!r}", "a message has a role and content")
        return (RESPONSES,)

    def take(self, k: int, format: str) -> None:
        """Add the entry in this format."""
        entry: Plain = self._entries[k]
        if k in self._loose:
            said = entry["type"] in ASSISTANT_BLOCKS or entry["type"] in ("output_text", "refusal")
            entry = {"role": "assistant" if said else "user", "content": [entry]}
        path = self._at(k)
        if format == RESPONSES:
            self._found[k] = [_ours(entry, path, strict=self._wire not in ("", RESPONSES))]
        elif format == ROWS:
            self._found[k] = _row(entry, path, self._rows, self.lost)
        else:
            message = _checked(entry, format, path, self._wire)
            self._taken.setdefault(format, []).append((k, message))

    def items(self) -> list[Any]:
        """All entries as items, in their order."""
        for format, messages in self._taken.items():
            self._decode(format, messages)
        decoded = {k for messages in self._taken.values() for k, _ in messages}
        items: list[Any] = []
        loose: list[Any] = []
        origins: list[int] = []

        def close() -> None:
            if loose:
                alone = loose[0] if len(loose) == 1 else None
                items.append(Message(role="user", content=alone if isinstance(alone, str) else _as_parts(loose)))
                self.origins.parts([*origins])
                loose.clear()
                origins.clear()

        for k, entry in enumerate(self._entries):
            if k not in self._loose:
                close()
                for at, item in enumerate(self._found.get(k, () if k in decoded else (entry,))):
                    items.append(item)
                    self.origins.item(k, at)
                continue
            for item in self._found.get(k, (entry,)):
                content = _user_content(item)
                if content is None:
                    close()
                    items.append(item)
                    self.origins.item(k)
                else:
                    loose.extend(content)
                    origins += [k] * len(content)
        close()
        return items

    def _decode(self, format: str, messages: list[tuple[int, Plain]]) -> None:
        """Decode all messages of a format, and note the items of each stretch at its beginning."""
        spacer = "spacer"
        whole = msgspec.json.encode([message for _, message in messages])
        while spacer.encode() in whole:
            spacer += "-"
        between = {"parts": [{"text": spacer}]} if format == GEMINI else {"role": "user", "content": spacer}
        apart = {k for k, message in messages if k in self._loose or (format == GEMINI and _is_system(message))}
        body: list[Any] = []
        places: list[int] = []
        begins: list[int] = []
        for k, message in messages:
            before = places[-1] if places else k
            if not begins or before != k - 1 or k in apart or before in apart:
                if begins:
                    body.append(between)
                    places.append(k)
                begins.append(k)
            body.append({**message, "role": "user"} if format == GEMINI and _is_system(message) else message)
            places.append(k)
        for k, items in zip(begins, _split(self._read(format, body, places), spacer), strict=True):
            is_system = format == GEMINI and k in apart and k not in self._loose
            self._found[k] = [_system(item) for item in items] if is_system else items
        begun = [bisect_left(messages, k, key=itemgetter(0)) for k in begins]
        for k, start, end in zip(begins, begun, [*begun[1:], len(messages)], strict=True):
            self.origins.stretch(format, messages[start:end], len(self._found[k]))

    def _counts(self, messages: list[tuple[int, Plain]], format: str) -> list[int]:
        """The number of items that each message becomes by itself; empty if one of them cannot be decoded alone."""
        lost, self.lost = self.lost, Losses()
        try:
            return [len(self._read(format, [message], [k])) for k, message in messages]
        except DecodeError:
            return []
        finally:
            self.lost = lost

    def _read(self, format: str, body: list[Any], places: list[int]) -> list[Any]:
        wire = load(format)
        document = msgspec.json.encode(
            {"contents" if format == GEMINI else "messages": body, **_REQUIRED.get(format, {})}
        )
        try:
            decoded = wire.REQUEST.decode(document)
        except DecodeError as problem:
            what = problem.message.removeprefix(f"{problem.path}: ")
            path = self._place(problem.path.removeprefix("$").lstrip("."), places)
            error = DecodeError(
                f"not a message of {TITLES[format]}: {what}",
                path=path,
                hint="a message is written as its own format documents it",
            )
        else:
            options = {"dialect": self._dialect} if format == self._wire and self._dialect is not None else {}
            request, lost = wire.decode_request(decoded, **options)
            self.lost += [replace(loss, path=self._place(loss.path, places)) for loss in lost]
            # The system prompt before the conversation may have become the instructions.
            first = [Message(role=body[0]["role"], content=request.instructions)] if request.instructions else []
            return [*first, *cast("Any", request.input or [])]
        raise error

    def _place(self, path: str, places: list[int]) -> str:
        """A path in the body as the caller would index it."""
        found = _INDEX.match(path)
        if found is None or int(found[1]) >= len(places):
            return self._path
        k = places[int(found[1])]
        rest = path[found.end() :]
        return self._at(k) + (rest.removeprefix(".content[0]") if k in self._loose else rest)


_INDEX = re.compile(r"(?:messages|contents)\[(\d+)\]")
_REQUIRED: dict[str, Plain] = {ANTHROPIC: {"model": "", "max_tokens": 1}}


def _is_loose(entry: Any) -> bool:
    """Whether an entry is a string or a part, which becomes one user message with its neighbours."""
    if isinstance(entry, str | Part):
        return True
    if not isinstance(entry, dict) or isinstance(entry, Unknown) or "role" in entry:
        return False
    kind = cast("Plain", entry).get("type")
    return isinstance(kind, str) and kind in PARTS and kind not in ITEM_TYPES


def _is_system(message: Plain) -> bool:
    return message.get("role") in ("system", "developer")


def _system(item: Any) -> Any:
    return replace(item, role="system") if isinstance(item, Message) else item


def _split(items: list[Any], spacer: str) -> list[list[Any]]:
    """The items between the spacers."""
    stretches: list[list[Any]] = [[]]
    for item in items:
        content: Any = item.content if isinstance(item, Message) else None
        if content == spacer or content == [InputText(text=spacer)]:
            stretches.append([])
        else:
            stretches[-1].append(item)
    return stretches


def _user_content(item: Any) -> list[Any] | None:
    """The user content of an entry; `None` if it is something else."""
    if isinstance(item, str | Part):
        return [item]
    if isinstance(item, dict) and not isinstance(item, Unknown):
        message = cast("Plain", item)
        return message["content"] if message.get("role") == "user" else None
    if isinstance(item, Message) and item.role == "user":
        return [item.content] if isinstance(item.content, str) else list(item.content)
    return None


def _as_parts(pieces: list[Any]) -> list[Any]:
    return [InputText(text=piece) if isinstance(piece, str) else piece for piece in pieces]


# --- one message of each format -------------------------------------------------------------------------------------


def _ours(item: Plain, path: str, *, strict: bool) -> Plain:
    """A Responses message or output, if all its parts are. `strict`: the receiver is not a host of this format."""
    field = "output" if str(item.get("type", "")).endswith("call_output") else "content"
    found = item.get(field)
    if not isinstance(found, list) or item.get("type", "message") not in _WITH_PARTS:
        return {"type": "message", **item} if "role" in item and "type" not in item else item
    pieces = cast("Any", found)
    if field == "output" and not any(isinstance(piece, dict) and "type" in piece for piece in pieces):
        return item
    text = "output_text" if item.get("role") in SPEAKERS else "input_text"
    parts: list[Any] = []
    for j, part in enumerate(pieces):
        if isinstance(part, dict):
            part = _our_part(cast("Plain", part), text, f"{path}.{field}[{j}]", strict)
        parts.append(part)
    return {"type": "message", **item, field: parts}


_WITH_PARTS = ("message", "function_call_output", "custom_tool_call_output")


def _our_part(part: Plain, text: str, path: str, strict: bool) -> Plain:
    kind, formats = part.get("type"), part_formats(part)
    if not isinstance(kind, str):
        refuse(path, "expected a part with a type", 'a text is {"type": "input_text", "text": ...}')
    if formats is None and strict:
        refuse(path, f"no format has a part of type {kind!r}", "text, images and files are what every wire knows")
    if formats is not None and RESPONSES not in formats:
        refuse(path, f"a part of {TITLES[formats[0]]} in an item of Responses", "write each message in one format")
    return {**part, "type": text} if kind == "text" else part


def _checked(message: Plain, format: str, path: str, wire: str) -> Plain:
    """The message in the format of its wire. Raises `DecodeError` where its decoder would."""
    role: Any = message.get("role", "user" if format == GEMINI else None)
    if role not in KNOWN_ROLES:
        refuse(
            f"{path}.role", f"expected a role such as user or assistant, got {role!r}", "each message says who speaks"
        )
    message = {name: value for name, value in message.items() if name != "type" or value != "message"}
    if format == GEMINI:
        return _gemini(message, role, path)
    if "stop_sequence" in message:  # a whole answer of Anthropic
        message = {name: value for name, value in message.items() if name not in ANSWERED}
    role = CONVERSATION_ROLES.get(role, role)
    if format != CHAT and role == "developer":
        role = "system"
    message["role"] = role
    content = message.get("content")
    if role in ("tool", "function"):
        message["content"] = content = None if content is None else json_text(content)
    if isinstance(content, list):
        if format == OLLAMA:
            content = _joined(cast("Any", content), path)
        else:
            content = [_text_part(piece) for piece in cast("Any", content)]
            for j, part in enumerate(content):
                _check_part(part, format, role, f"{path}.content[{j}]", wire)
        message["content"] = content
    elif content is not None and not isinstance(content, str):
        refuse(f"{path}.content", f"expected text or parts, got {_kind(content)}", "a list of parts, or a string")
    _check_calls(message, path)
    if format == OLLAMA:
        _check_images(message.get("images"), f"{path}.images")
    return message


def _kind(value: Any) -> str:
    kind = type(value).__name__
    return {"dict": "an object", "list": "a list", "bool": "a boolean"}.get(kind, kind)


def _text_part(piece: Any) -> Any:
    return {"type": "text", "text": piece} if isinstance(piece, str) else piece


def _joined(pieces: list[Any], path: str) -> str:
    """The joined text of parts, which a message of Ollama does not have."""
    for j, piece in enumerate(pieces):
        if not isinstance(piece, str) and as_object(piece).get("type") != "text":
            refuse(f"{path}.content[{j}]", "a message of Ollama holds text and images=[...]", "write one format")
    return "".join(piece if isinstance(piece, str) else str(piece.get("text", "")) for piece in pieces)


def _check_part(piece: Any, format: str, role: str, path: str, wire: str) -> None:
    part = as_object(piece)
    formats, kind = part_formats(part), part.get("type")
    if formats is None or format not in formats:
        named = f"of type {kind!r}" if kind else "without a type"
        refuse(path, f"{TITLES[format]} has no part {named}", "text, images and files are what every wire knows")
    if kind in UNTRANSLATED and format != wire:
        refuse(path, f"a part of type {kind!r}, which only {TITLES[format]} has", "send it to a host of that format")
    if format == ANTHROPIC:
        speaks = role == "assistant"
        if kind in ASSISTANT_BLOCKS and not speaks:
            refuse(path, f"a {kind} block in a message of the role {role}", "it belongs to the assistant")
        if kind in USER_BLOCKS and speaks and kind != "container_upload":
            refuse(path, f"a {kind} block in a message of the assistant", "it belongs to the user")
        if kind in ("image", "document") and as_object(part.get("source")).get("type") not in SOURCES:
            refuse(f"{path}.source", f"expected one of the types {', '.join(SOURCES)}", f"a source for the {kind}")
        if kind == "tool_result" and isinstance(part.get("content"), list):
            part["content"] = [_text_part(inner) for inner in part["content"]]
            for i, inner in enumerate(part["content"]):
                _check_part(inner, format, "user", f"{path}.content[{i}]", wire)


def _check_calls(message: Plain, path: str) -> None:
    calls = message.get("tool_calls")
    for j, call in enumerate(as_list(calls)):
        held = as_object(call)
        if not as_object(held.get("function") or held.get("custom")).get("name"):
            refuse(
                f"{path}.tool_calls[{j}]",
                "expected a function with a name and arguments",
                '{"id": ..., "type": "function", "function": {"name": ..., "arguments": ...}}',
            )


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def _check_images(images: Any, path: str) -> None:
    for j, image in enumerate(as_list(images)):
        if not isinstance(image, str) or not _BASE64.fullmatch(image[:4096]):
            refuse(f"{path}[{j}]", "expected the bytes of an image as base64", "give bytes, a Path, or base64 text")


def _gemini(message: Plain, role: str, path: str) -> Plain:
    parts = message.get("parts")
    if not isinstance(parts, list):
        if parts is None:
            refuse(path, "a message of the role model has parts", '{"role": "model", "parts": [{"text": ...}]}')
        parts = [parts]
    if "content" in message:
        refuse(path, "has both content, as other formats do, and parts, as Gemini", "write each message in one format")
    speaker = "model" if role in SPEAKERS else "user"
    found: list[Any] = []
    for j, part in enumerate(cast("Any", parts)):
        part = {"text": part} if isinstance(part, str) else part
        _check_gemini(part, speaker, f"{path}.parts[{j}]")
        found.append(part)
    with_role = {"role": role if role in ("system", "developer") else speaker} if "role" in message else {}
    return {**message, **with_role, "parts": found}


_GEMINI = '{"text": ...}, {"inlineData": {"mimeType", "data"}}, {"functionResponse": {...}} and so on'


def _check_gemini(part: Any, speaker: str, path: str) -> None:
    if not isinstance(part, dict):
        refuse(path, f"expected an object, got {_kind(part)}", _GEMINI)
    found = {_camel(name): value for name, value in cast("Plain", part).items() if value is not None}
    if "type" in found or not any(name in found for name in PAYLOADS[speaker]):
        held = ", ".join(found) or "nothing"
        refuse(path, f"expected one of {', '.join(PAYLOADS[speaker])} for the role {speaker}, got {held}", _GEMINI)
    for name, needed in (("inlineData", ("mimeType", "data")), ("fileData", ("mimeType", "fileUri"))):
        media = as_object(found.get(name))
        if name in found and not {*needed} <= {_camel(key) for key in media if media[key]}:
            refuse(f"{path}.{name}", f"expected {' and '.join(needed)}", _GEMINI)


def _camel(name: Any) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), str(name))


# --- flat rows ------------------------------------------------------------------------------------------------------

_ROW = {"type", "role", "content", "reasoning", *COLUMNS}


def _row(row: Plain, path: str, calls: set[str], lost: Losses) -> list[Any]:
    """The items of a flat row: reasoning, text, call and tool result."""
    held = {name: value for name, value in row.items() if value is not None}
    role = held.get("role", "tool" if "toolId" in held else None)
    if role not in KNOWN_ROLES:
        refuse(f"{path}.role", f"expected a role such as user or agent, got {role!r}", "each row says who speaks")
    for name in ("content", "reasoning", "toolId", "toolName"):
        if not isinstance(held.get(name, ""), str):
            refuse(f"{path}.{name}", f"expected text, got {_kind(held[name])}", "a flat row holds text there")
    for name in held:
        if name not in _ROW:
            lost.dropped(f"{path}.{name}", "a column that no message has")
    items: list[Any] = []
    if held.get("reasoning"):
        items.append(Reasoning(summary=[SummaryText(text=held["reasoning"])]))
    content, call_id = held.get("content", ""), held.get("toolId")
    result = held.get("toolResult", content if role == "tool" and "toolInput" not in held else None)
    if content and result is not content:
        role = CONVERSATION_ROLES.get(role, "assistant" if role in ("tool", "function", "model") else role)
        items.append(Message(role=role, content=content))
    if not any(name in held for name in COLUMNS):
        if role == "tool":
            refuse(f"{path}.toolId", "expected the id of the call", "a row of the role tool says which call it answers")
        return items or [Message(role=CONVERSATION_ROLES.get(role, role), content="")]
    if not call_id:
        refuse(f"{path}.toolId", "expected the id of the call", "calls and their results are paired by it")
    if "toolName" in held and call_id not in calls and ("toolInput" in held or "toolResult" not in held):
        items.append(FunctionCall(call_id=call_id, name=held["toolName"], arguments=_arguments(held.get("toolInput"))))
        calls.add(call_id)
    if result is not None:
        items.append(FunctionCallOutput(call_id=call_id, output=_result(result)))
    return items


def _arguments(value: Any) -> str:
    return (
        value
        if isinstance(value, str) and value
        else "{}"
        if value in (None, "")
        else msgspec.json.encode(value).decode()
    )


def _result(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


# --- conversion both ways, by name of the wire ----------------------------------------------------------------------


def from_messages(messages: Iterable[Any], wire: str = CHAT, *, dialect: Any = None) -> list[AnyItem]:
    """Convert messages of a wire (`"rows"` for flat rows) to Responses items. Warns with `LossWarning` of changes.

    `dialect` is that of the host they come from; `None` for the wire's default. Raises `DecodeError` with the path for
    invalid messages, and `KeyError` for an unknown wire.
    """
    if wire != ROWS:
        load(wire)
    entries = [msgspec.to_builtins(message, str_keys=True, enc_hook=dumped) for message in messages]
    reader = _Reader(entries, wire, dialect, "messages")
    for k, entry in enumerate(entries):
        if not isinstance(entry, dict):
            refuse(f"messages[{k}]", f"expected a message, got {_kind(entry)}", "an object with a role")
        reader.take(k, wire)
    items = reader.items()
    _warn(reader.lost)
    if wire == RESPONSES:
        return cast("list[AnyItem]", REQUEST.decode(msgspec.json.encode({"input": items})).input)
    return items


def to_messages(items: Iterable[Any], wire: str = CHAT, *, dialect: Any = None) -> list[Plain]:
    """Convert Responses items to messages of a wire, as plain values. Warns with `LossWarning` of losses.

    The system prompt, which Anthropic and Gemini have beside the messages, is the first message here, of the role
    `system`. Raises `LossError` for items that cannot be left out, and `KeyError` for an unknown wire.
    """
    found = load(wire)
    request = Request(model="", input=list(items))
    body, lost = found.encode_request(request, **({} if dialect is None else {"dialect": dialect}))
    # Messages alone are no request: their first and last role is not checked.
    lost = [loss for loss in lost if loss.path != "input"]
    refused = [loss for loss in lost if loss.kind == "refused"]
    if refused:
        listed = "; ".join(map(str, refused))
        raise LossError(f"{TITLES[wire]} cannot hold these items: {listed}", losses=tuple(lost))
    _warn(lost)
    document: Plain = msgspec.json.decode(msgspec.json.encode(body))
    if wire == GEMINI:
        said = document.get("systemInstruction")
        messages: list[Plain] = [{**said, "role": "system"}] if said else []
        return [*messages, *document.get("contents", [])]
    said = document.get("system") if wire == ANTHROPIC else None
    messages = [{"role": "system", "content": said}] if said else []
    return [*messages, *document["input" if wire == RESPONSES else "messages"]]


def _warn(lost: Iterable[Loss]) -> None:
    for loss in lost:
        if loss.kind != "withheld":
            warnings.warn(str(loss), LossWarning, stacklevel=3)


def dumped(value: Any) -> Any:
    """The plain values of an object of a vendor's SDK, as pydantic dumps it."""
    dump = getattr(value, "model_dump", None)
    if isinstance(value, type) or not callable(dump):
        raise TypeError(f"a {type(value).__name__} cannot be written as JSON")
    return cast("Any", dump)(mode="json", by_alias=True, exclude_unset=True)
