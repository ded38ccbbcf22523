"""Messages of other formats as input: Chat, Anthropic, Gemini and Ollama messages, and flat rows, converted to items.

The format of each message is detected and checked in `message_formats.py`. All messages of one format in a list are
decoded at once by the decoder of that wire, which is loaded only then, so that calls and results pair as in a whole
request; a message that no decoder accepts is rejected.
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
from ..responses.items import AnyItem, Message
from ..responses.parts import InputText, Part
from ..responses.request import REQUEST, Request
from ..unknown import Unknown
from . import load
from .message_formats import (
    ANTHROPIC,
    ASSISTANT_BLOCKS,
    CHAT,
    GEMINI,
    PARTS,
    RESPONSES,
    ROWS,
    TITLES,
    Formats,
    Plain,
    candidates,
    checked_item,
    checked_message,
    json_type,
    read_row,
    refuse,
)

# --- a list of anything ---------------------------------------------------------------------------------------------


ITEM_TYPES = frozenset(
    str(kind.__struct_config__.tag)
    for kind in get_args(get_args(AnyItem)[0])
    if isinstance(kind, type) and issubclass(kind, Struct)
)
"""The types of items that are known."""


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
        reader.add(k, near)
    return reader.items(), reader.lost, reader.origins


class Origins:
    """The caller's entry for each item: an entry may become several items, and several entries one item."""

    def __init__(self, path: str, count_items: Callable[[list[tuple[int, Plain]], str], list[int]]) -> None:
        self._path = path
        self._count_items = count_items  # the number of items for each message of a stretch
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
            self._counts[k] = [size] if len(messages) == 1 else self._count_items(messages, format)
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
        self._messages: dict[str, list[tuple[int, Plain]]] = {}  # by format
        self._items_of: dict[int, list[Any]] = {}
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
                self._at(k),
                f"expected a type that is a word, got {json_type(kind)}",
                "a message has a role and content",
            )
        if kind not in ITEM_TYPES and ("role" in entry or "content" in entry) and self._wire not in ("", RESPONSES):
            refuse(self._at(k), f"no format has an item of type {kind!r}", "a message has a role and content")
        return (RESPONSES,)

    def add(self, k: int, format: str) -> None:
        """Add the entry in this format."""
        entry: Plain = self._entries[k]
        if k in self._loose:
            is_assistant = entry["type"] in ASSISTANT_BLOCKS or entry["type"] in ("output_text", "refusal")
            entry = {"role": "assistant" if is_assistant else "user", "content": [entry]}
        path = self._at(k)
        if format == RESPONSES:
            self._items_of[k] = [checked_item(entry, path, strict=self._wire not in ("", RESPONSES))]
        elif format == ROWS:
            self._items_of[k] = read_row(entry, path, self._rows, self.lost)
        else:
            message = checked_message(entry, format, path, self._wire)
            self._messages.setdefault(format, []).append((k, message))

    def items(self) -> list[Any]:
        """All entries as items, in their order."""
        for format, messages in self._messages.items():
            self._decode(format, messages)
        decoded = {k for messages in self._messages.values() for k, _ in messages}
        items: list[Any] = []
        loose: list[Any] = []
        origins: list[int] = []

        def close() -> None:
            if loose:
                parts = [InputText(text=piece) if isinstance(piece, str) else piece for piece in loose]
                alone = loose[0] if len(loose) == 1 else None
                items.append(Message(role="user", content=alone if isinstance(alone, str) else parts))
                self.origins.parts([*origins])
                loose.clear()
                origins.clear()

        for k, entry in enumerate(self._entries):
            if k not in self._loose:
                close()
                for at, item in enumerate(self._items_of.get(k, () if k in decoded else (entry,))):
                    items.append(item)
                    self.origins.item(k, at)
                continue
            for item in self._items_of.get(k, (entry,)):
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
            self._items_of[k] = items
            if is_system:
                self._items_of[k] = [replace(i, role="system") if isinstance(i, Message) else i for i in items]
        starts = [bisect_left(messages, k, key=itemgetter(0)) for k in begins]
        for k, start, end in zip(begins, starts, [*starts[1:], len(messages)], strict=True):
            self.origins.stretch(format, messages[start:end], len(self._items_of[k]))

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
            refuse(f"messages[{k}]", f"expected a message, got {json_type(entry)}", "an object with a role")
        reader.add(k, wire)
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
        system = document.get("systemInstruction")
        messages: list[Plain] = [{**system, "role": "system"}] if system else []
        return [*messages, *document.get("contents", [])]
    system = document.get("system") if wire == ANTHROPIC else None
    messages = [{"role": "system", "content": system}] if system else []
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
