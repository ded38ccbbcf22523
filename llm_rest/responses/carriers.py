"""Carriers: opaque state of a vendor in a Responses conversation; and leftovers, fields that Responses does not have.

State that must return to the vendor that issued it (signatures, redacted thinking, server-tool blocks) and has no field
in the Responses format is in the `encrypted_content` of a `reasoning` or `compaction` item, as an *envelope*: a prefix
with library, version, wire and issuer, then base64url of compact JSON. Before changing this file, know that clients may
forge envelopes: the content is decoded through a typed payload with a size cap, and never trusted further.

`leftovers` hold, by wire, fields that this wire restores; other wires report each as a loss, also false, zero and empty
values; null is the same as absent.
"""

from __future__ import annotations

import binascii
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from ..errors import DecodeError
from ..unknown import as_object, check_depth, decoder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..errors import ErrorFacts
    from ..losses import Loss, Losses
    from .parts import Leftovers
    from .request import Request
    from .response import Response

P = TypeVar("P")

PREFIX = "llm_rest.1."
SEAL = "~"
"""What a server appends to an envelope for its clients, and its seal after it (`server/seals.py`). No envelope has it."""
MAX_SIZE = 8 * 1024 * 1024

_ENCODER = msgspec.json.Encoder()


def seal(wire: str, issuer: str, payload: Any) -> str:
    """`payload` (a tagged struct) as an envelope that only `wire` and `issuer` can open."""
    body = binascii.b2a_base64(_ENCODER.encode(payload), newline=False).translate(_TO_URL).rstrip(b"=").decode()
    return f"{PREFIX}{wire}.{issuer}.{body}"


def sender(text: str) -> tuple[str, str] | None:
    """The wire and issuer an envelope names; `None` for any other string."""
    # The wire's name and the body have no dots, so an issuer may (a host name, for example).
    start, end = text.find(".", len(PREFIX)), text.rfind(".")
    if not text.startswith(PREFIX) or not len(PREFIX) < start < end:
        return None
    return text[len(PREFIX) : start], text[start + 1 : end]


def unseal(text: str, wire: str, issuer: str, payload: type[P] | Any) -> P | None:
    """The payload of an envelope that `issuer` sealed on `wire`; `None` for foreign, forged or oversized ones.

    `payload` is the struct, or union of tagged structs, to decode to.
    """
    if sender(text) != (wire, issuer) or len(text) > MAX_SIZE:
        return None
    body = text[text.rfind(".") + 1 :].partition(SEAL)[0].encode("ascii", "replace").translate(_FROM_URL)
    try:
        data = binascii.a2b_base64(body + b"=" * (-len(body) % 4))
        data.decode()
        check_depth(data)
        return cast("P", decoder_of(cast("Any", payload)).decode(data))
    except (binascii.Error, msgspec.MsgspecError, UnicodeError, DecodeError):
        return None


def nested(text: str, inner: str) -> bool:
    """Whether the `inner` state of the envelope `text` must stay in it, since a client would return it as state of ours.

    It looks like an envelope of ours, and came from a vendor, such as another gateway.
    """
    return inner.startswith(PREFIX) and SEAL in text


def digest(text: str) -> str:
    """A short, stable digest of a visible text: 16 hexadecimal digits."""
    found: str = _blake2b()(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return found


@cache
def _blake2b() -> Callable[..., Any]:
    from hashlib import blake2b  # slow to load, and needed for opaque state only

    return blake2b


_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")

SPELLING = "spelling"

WITHIN, GROUP, EMPTIED, ENTRIES = "within", "group", "emptied", "entries"
"""Keys in `spelling`: leftovers of an object that is written too, of a mere group of fields, of a group that the document
lacks, of entries of a list."""

PLACE = "[]"
"""Key in `spelling`, in an entry of a list without a name or id: its index in the document, for loss reports."""

NEAR = "near"
"""Key in `spelling`: fields that Responses has only approximately or not at all, each with its replacement, or null."""

NAMES = {
    "openai_responses": "Responses",
    "openai_chat": "Chat Completions",
    "anthropic_messages": "Anthropic",
    "gemini_generate_content": "Gemini",
    "ollama_chat": "Ollama",
}
"""The display names of the wires."""

BEGINS = "message"
"""Key in the leftovers of an item: those of the message that begins with it."""

UNMAPPED = ("tools", "other_tools")
"""Lists of tools that have no equivalent in Responses."""

BLOCK = "block"
"""Key of a whole part that has no equivalent in Responses; its text, if it has one, is the text of the part."""

SHOWN = {
    "tool_reference": ("tool_name",),
    "container_upload": ("file_id",),
    "search_result": ("title", "source", "content"),
    "document": ("source",),
}
"""Fields of such a part that the part in Responses has too, by its type."""

NOTHING = frozenset(
    """
    annotations applied_edits audio function_call reasoning reasoning_content reasoning_details refusal thinking
    tool_calls tool_plan executed_tools images
    """.split()
)
"""Fields of messages that other wires have too, where empty means the same as absent."""

ISSUER = "issuer"
"""Key in the leftovers of an item: the host that its id is of."""

ORDER = frozenset({"index", ISSUER})
"""Fields whose value is the position, which other wires express by the order, and the one that says nothing elsewhere."""


def own(leftovers: Leftovers | None, wire: str) -> dict[str, Any]:
    """The leftovers of `wire`; empty where there are none, or where they are not an object."""
    return {} if leftovers is None else as_object(leftovers.get(wire))


def report_foreign(
    leftovers: Leftovers | None, wire: str, path: str, lost: Losses, request: Request | None = None
) -> None:
    """Report other wires' leftovers at `path` as losses; empty is the document itself: `request` or an answer."""
    if leftovers is None:
        return
    for other, fields in leftovers.items():
        if other == wire or not isinstance(fields, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            continue
        name, kind = NAMES.get(wire, wire), "option" if request is not None else "field"
        tools = (request.tools or ()) if request is not None else ()
        for field, value in _fields(fields, path, other, tools, requested=request is not None):
            if value is not None:
                lost.changed(field, str(value))
            elif field.endswith("]") and field.startswith("tools["):
                lost.refused(field, f"{name} has no such tool")
            else:
                lost.dropped(field, f"{name} has no such {kind}")


def _fields(
    fields: dict[str, Any], path: str, wire: str, tools: Sequence[Any], *, requested: bool = False
) -> Iterator[tuple[str, Any]]:
    """The path of each field that has a value, and its loss, unless the field is left out."""
    notes = own(fields, SPELLING)
    for name, value in fields.items():
        if name == SPELLING:
            yield from _odd_words(value, path)
        elif isinstance(value, dict) and (notes.get(name) in (WITHIN, GROUP, EMPTIED) or (path and name == BEGINS)):
            begins = path and name == BEGINS and name not in notes
            yield from _fields(cast("Any", value), path if begins else _joined(path, name), wire, ())
        elif isinstance(value, dict) and notes.get(name) == ENTRIES:
            yield from _entries(cast("Any", value), _joined(path, name), wire, tools if name == "tools" else ())
        elif value is None or name in ORDER or (name in NOTHING and not requested and _is_empty(value)):
            continue
        elif not path and name in UNMAPPED and isinstance(value, list):
            for i, entry in enumerate(cast("Any", value)):
                place: Any = cast("Any", entry)[0] if isinstance(entry, list) and entry else len(tools) + i
                yield f"tools[{place}]", None
        elif name == BLOCK and isinstance(inner := noted(value), dict):
            inner = cast("dict[str, Any]", inner)
            shown = SHOWN.get(str(inner.get("type")))
            source = inner.get("source")
            if inner.get("type") == "document" and isinstance(source, dict):
                shown = SHOWN["document"] if cast("Any", source).get("type") == "content" else ()
            unread = [each for each in inner if each != "type" and each not in (shown or ("text",))]
            for place in ("content", "source.content") if shown else ():
                unread += _beside_texts(inner, place)
            if shown and isinstance(source, dict):
                unread += [f"source.{each}" for each in cast("Any", source) if each not in ("type", "content")]
            yield from ((_joined(path, each), None) for each in unread or ([] if shown else ["type"]))
        else:
            yield _joined(path, name), None


def _beside_texts(block: dict[str, Any], place: str) -> Iterator[str]:
    """The fields beside the texts that a block holds at `place`."""
    *outer, last = place.split(".")
    for name in outer:
        block = as_object(block.get(name))
    pieces: Any = block.get(last)
    for i, piece in enumerate(pieces if isinstance(pieces, list) else ()):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        yield from (f"{place}[{i}].{name}" for name in as_object(piece) if name not in ("type", "text"))


def report_failure(response: Response, encoded: Iterable[Loss], lost: Losses, *sent: object) -> None:
    """Report the losses of a stream that ends with an error: those of the whole answer, and fields of the error.

    `encoded` is what `encode_response` loses of the failed answer; `sent` are the values of its error in the stream.
    """
    lost += [loss for loss in encoded if loss.kind != "refused" and loss.path != "error"]
    error = response.error
    for name in ("code", "type", "param", "misalignment"):
        value = getattr(error, name, None)
        if error is not None and value is not None and value not in sent and (name != "type" or value != error.code):
            lost.dropped(f"error.{name}", "the error event of this stream has no such field")


def report_error(facts: ErrorFacts, wire: str, lost: Losses) -> None:
    """Report the fields of a stream's error that no event has a field for."""
    left = own(facts.leftovers, wire)
    for path in [f"error.{name}" for name in own(left, "error")] + [name for name in left if name != "error"]:
        lost.dropped(path, "only this format has such a field of an error")


def noted(note: Any) -> Any:
    """The value in a note of `wires.kept`: JSON text, beside a digest of the value that is written in its place."""
    text = cast("Any", note)[0] if isinstance(note, list) and note else None
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def _entries(entries: dict[str, Any], path: str, wire: str, tools: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The leftovers of the entries of a list, by their keys, and the positions of entries that have no equivalent."""
    for key, left in entries.items():
        if key and isinstance(left, dict):
            named = (i for i, one in enumerate(tools) if getattr(one, "name", None) == key)
            place = next(named, own(cast("Any", left), SPELLING).get(PLACE, key))
            yield from _fields(cast("Any", left), f"{path}[{place}]", wire, ())
        for pair in cast("Any", left) if not key and isinstance(left, list) else ():
            if isinstance(pair, list) and pair:
                yield f"{path}[{cast('Any', pair)[0]}]", None


def _odd_words(notes: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Notes in `spelling` that are more than notation: values other than those written, and approximate fields."""
    notes = cast("Any", notes) if isinstance(notes, dict) else {}
    near = notes.get(NEAR)
    for name, kept in cast("dict[str, Any]", notes).items():
        if isinstance(kept, list) and len(cast("Any", kept)) == 3:
            yield _joined(path, name), inexact(cast("Any", kept)[2])
    for name, what in cast("dict[str, Any]", near).items() if isinstance(near, dict) else ():
        yield _joined(path, name), what


def unsaid(original: Any, made: Any, path: str, *apart: str) -> dict[str, Any]:
    """The fields of a document that its re-encoding lacks or has with other values, for a note under `NEAR`.

    By path: null for a field that is left out, and a sentence for another value. Fields named in `apart` are skipped.
    """
    found: dict[str, Any] = {}
    if isinstance(original, dict) and isinstance(made, dict):
        ours = cast("dict[str, Any]", made)
        for name, value in cast("dict[str, Any]", original).items():
            if name in apart or value is None:
                continue
            if name in ours:
                found |= unsaid(value, ours[name], _joined(path, name), *apart)
            else:
                found[_joined(path, name)] = None
    elif isinstance(original, list) and isinstance(made, list):
        others = cast("Any", made)
        for i, value in enumerate(cast("Any", original)):
            if i < len(others):
                found |= unsaid(value, others[i], f"{path}[{i}]", *apart)
            else:
                found[f"{path}[{i}]"] = None
    elif isinstance(original, str | int | float) and isinstance(made, str | int | float) and original != made:
        found[path] = inexact(original)
    return found


def inexact(original: Any) -> str:
    """The text of the loss for a value that exists only on its own wire."""
    return f"{original!r}, which has no exact counterpart; the nearest is sent"


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_empty(inner) for inner in cast("dict[str, Any]", value).values())
    return not value
