"""Opaque state of a vendor, carried through a Responses conversation, and what else a document said that Responses cannot.

What must return to the vendor that issued it (signatures, redacted thinking, server-tool blocks) and has no field in the
Responses format is in the `encrypted_content` of a `reasoning` or `compaction` item, as an *envelope*: a prefix that names
us, the version, the wire and the issuer, then base64url of compact JSON. Before changing this file, know that a client may
forge an envelope: what comes out is decoded through a typed payload with a size cap, and never trusted further.

`leftovers` hold under the name of a wire what that wire will put back itself; another wire reports every field of it, whatever
its value (false, zero and empty say something; null is the same as absent).
"""

from __future__ import annotations

import binascii
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from ..errors import DecodeError
from ..unknown import check_depth, decoder_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..errors import ErrorFacts
    from ..losses import Loss, Losses
    from .parts import Leftovers
    from .request import Request
    from .response import Response

P = TypeVar("P")

PREFIX = "llm_rest.1."
MAX_SIZE = 8 * 1024 * 1024

_ENCODER = msgspec.json.Encoder()


def seal(wire: str, issuer: str, payload: Any) -> str:
    """`payload` (a tagged struct) as an envelope that only `wire` and `issuer` open again."""
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

    `payload` is the struct, or union of tagged structs, that may come out.
    """
    if sender(text) != (wire, issuer) or len(text) > MAX_SIZE:
        return None
    body = text[text.rfind(".") + 1 :].encode("ascii", "replace").translate(_FROM_URL)
    try:
        data = binascii.a2b_base64(body + b"=" * (-len(body) % 4))
        data.decode()
        check_depth(data)
        return cast("P", decoder_of(cast("Any", payload)).decode(data))
    except (binascii.Error, msgspec.MsgspecError, UnicodeError, DecodeError):
        return None


def digest(text: str) -> str:
    """A short, stable name for a piece of visible text: 16 hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")

SPELLING = "spelling"

WITHIN, GROUP, ENTRIES = "within", "group", "entries"
"""In the spelling: a field holds what is left of an object that we write too, of a mere group of fields, of entries of a list."""

PLACE = "[]"
"""In the spelling of an entry of a list without a name or id: its index in the document, by which other wires report it."""

NEAR = "near"
"""In the spelling: fields that Responses says only nearly or not at all, each with what other wires get in its place, or null."""

NAMES = {
    "openai_responses": "Responses",
    "openai_chat": "Chat Completions",
    "anthropic_messages": "Anthropic",
    "gemini_generate_content": "Gemini",
    "ollama_chat": "Ollama",
}
"""What callers call the wires."""

BEGINS = "message"
"""Among the leftovers of an item: those of the message that begins with it."""

UNMAPPED = ("tools", "other_tools")
"""Lists of tools that Responses has no word for."""

BLOCK = "block"
"""The note of a whole part that Responses has no word for; its text, if it has one, is the text of the part."""

SHOWN = {
    "tool_reference": ("tool_name",),
    "container_upload": ("file_id",),
    "search_result": ("title", "source", "content"),
    "document": ("source",),
}
"""Fields of such a part that the part in Responses shows, by its type."""

NOTHING = frozenset(
    """
    annotations applied_edits audio function_call reasoning reasoning_content reasoning_details refusal thinking
    tool_calls tool_plan executed_tools images
    """.split()
)
"""Fields of messages that other wires have a word for, where empty says the same as absent."""

ORDER = frozenset({"index"})
"""Fields whose value is the position, which the order says on other wires."""


def own(leftovers: Leftovers | None, wire: str) -> dict[str, Any]:
    """What `wire` itself left; empty where it left nothing, or nothing that it could have left."""
    found: Any = None if leftovers is None else leftovers.get(wire)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def report_foreign(
    leftovers: Leftovers | None, wire: str, path: str, lost: Losses, request: Request | None = None
) -> None:
    """Report as lost what other wires left at `path`, which is empty for the document itself: for `request` or an answer."""
    if leftovers is None:
        return
    for other, fields in leftovers.items():
        if other == wire or not isinstance(fields, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            continue
        name, kind = NAMES.get(wire, wire), "option" if request is not None else "field"
        tools = (request.tools or ()) if request is not None else ()
        for field, came in _fields(fields, path, other, tools, asked=request is not None):
            if came is not None:
                lost.changed(field, str(came))
            elif field.endswith("]") and field.startswith("tools["):
                lost.refused(field, f"{name} has no such tool")
            else:
                lost.dropped(field, f"{name} has no such {kind}")


def _fields(
    fields: dict[str, Any], path: str, wire: str, tools: Sequence[Any], *, asked: bool = False
) -> Iterator[tuple[str, Any]]:
    """The path of each field that says something, and what happened to it, where it is not left out."""
    notes = own(fields, SPELLING)
    for name, value in fields.items():
        if name == SPELLING:
            yield from _odd_words(value, path)
        elif isinstance(value, dict) and (notes.get(name) in (WITHIN, GROUP) or (path and name == BEGINS)):
            begins = path and name == BEGINS and name not in notes
            yield from _fields(cast("Any", value), path if begins else _joined(path, name), wire, ())
        elif isinstance(value, dict) and notes.get(name) == ENTRIES:
            yield from _entries(cast("Any", value), _joined(path, name), wire, tools if name == "tools" else ())
        elif value is None or name in ORDER or (name in NOTHING and not asked and _is_empty(value)):
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
            yield from ((_joined(path, each), None) for each in unread or ([] if shown else ["type"]))
        else:
            yield _joined(path, name), None


def report_failure(response: Response, encoded: Iterable[Loss], lost: Losses, *sent: object) -> None:
    """Report what a stream that ends with an error does not say: what the whole answer loses, and fields of the error.

    `encoded` is what `encode_response` loses of the failed answer, and `sent` are the values of its error that the stream says.
    """
    lost += [loss for loss in encoded if loss.kind != "refused" and loss.path != "error"]
    error = response.error
    for name in ("code", "type", "param", "misalignment"):
        value = getattr(error, name, None)
        if error is not None and value is not None and value not in sent and (name != "type" or value != error.code):
            lost.dropped(f"error.{name}", "the error event of this stream has no such field")


def report_error(facts: ErrorFacts, wire: str, lost: Losses) -> None:
    """Report the fields of an error in a stream that no event has a place for."""
    left = own(facts.leftovers, wire)
    for path in [f"error.{name}" for name in own(left, "error")] + [name for name in left if name != "error"]:
        lost.dropped(path, "only this format has such a field of an error")


def noted(note: Any) -> Any:
    """The value that a note of `wires.kept` holds: JSON text, beside a digest of what is written in its place."""
    text = cast("Any", note)[0] if isinstance(note, list) and note else None
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def _entries(entries: dict[str, Any], path: str, wire: str, tools: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """What is left of the entries of a list, by what they are known by, and where those are that we had nothing for."""
    for key, left in entries.items():
        if key and isinstance(left, dict):
            named = (i for i, one in enumerate(tools) if getattr(one, "name", None) == key)
            place = next(named, own(cast("Any", left), SPELLING).get(PLACE, key))
            yield from _fields(cast("Any", left), f"{path}[{place}]", wire, ())
        for pair in cast("Any", left) if not key and isinstance(left, list) else ():
            if isinstance(pair, list) and pair:
                yield f"{path}[{cast('Any', pair)[0]}]", None


def _odd_words(notes: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What is noted with the spelling and is more than that: words that came where we write another, and what is near."""
    notes = cast("Any", notes) if isinstance(notes, dict) else {}
    near = notes.get(NEAR)
    for name, kept in cast("dict[str, Any]", notes).items():
        if isinstance(kept, list) and len(cast("Any", kept)) == 3:
            yield _joined(path, name), inexact(cast("Any", kept)[2])
    for name, what in cast("dict[str, Any]", near).items() if isinstance(near, dict) else ():
        yield _joined(path, name), what


def unsaid(came: Any, made: Any, path: str, *apart: str) -> dict[str, Any]:
    """What a document says in one place and our own writing of its meaning does not, for a note under `NEAR`.

    By path: null for what we leave out, and a sentence where we write another value. Fields named in `apart` are passed over.
    """
    found: dict[str, Any] = {}
    if isinstance(came, dict) and isinstance(made, dict):
        ours = cast("dict[str, Any]", made)
        for name, value in cast("dict[str, Any]", came).items():
            if name in apart or value is None:
                continue
            if name in ours:
                found |= unsaid(value, ours[name], _joined(path, name), *apart)
            else:
                found[_joined(path, name)] = None
    elif isinstance(came, list) and isinstance(made, list):
        others = cast("Any", made)
        for i, value in enumerate(cast("Any", came)):
            if i < len(others):
                found |= unsaid(value, others[i], f"{path}[{i}]", *apart)
            else:
                found[f"{path}[{i}]"] = None
    elif isinstance(came, str | int | float) and isinstance(made, str | int | float) and came != made:
        found[path] = inexact(came)
    return found


def inexact(came: Any) -> str:
    """What happened to a value that only its own wire knows."""
    return f"{came!r}, which has no exact counterpart; the nearest is sent"


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_empty(inner) for inner in cast("dict[str, Any]", value).values())
    return not value
