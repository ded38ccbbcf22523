"""What an answer holds beside text and calls, both ways: images, sound, and the tools that its host ran.

OpenRouter sends images in `images` of the message, OpenAI sound and its transcript in `audio`, Groq the searches and programs
of its own tools in `executed_tools`. Images become items, tools the calls of hosted tools, and a transcript the text; sound has
no item and stays in a carrier. Before changing this file, know that a host gets sound back by its id alone, that few hosts
accept an image in a message of the assistant (`dialect.images`), and that none accepts its executed tools back. Follows the
Chat Completions reference, and the typed clients openrouter 1.3.84 and groq 1.7.0 (read 2026-11-23).
"""

from __future__ import annotations

import binascii
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from ... import responses as ours
from ...responses.carriers import SPELLING, digest, own
from ...responses.parts import parse_data_url
from ...unknown import as_list, as_object
from ..images import FORMATS_BACK, image_data, image_type
from ..leftovers import carrier, is_object
from .reasoning import SoundState
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses

IMAGE, EXECUTED = "image", "executed"
"""Keys in the `spelling` of an item: its entry in `images` without the data, or its entry in `executed_tools`."""


# --- images ---------------------------------------------------------------------------------------------------------


def decode_images(images: Any, path: str, lost: Losses, *, issuer: str = "") -> list[ours.AnyItem]:
    """The images of a message that come as data; the others are reported.

    `issuer` is the host of a request, whose message keeps its images if one of them is no data.
    """
    items: list[ours.AnyItem] = []
    for k, entry in enumerate(as_list(images)):
        url = _url(entry)
        media = parse_data_url(url)
        if media is None or not media.type.startswith("image/"):
            if issuer:
                return []
            lost.dropped(f"{path}.images[{k}]", "an image that is not sent as data, for which there is no item")
            continue
        item = ours.ImageGenerationCall(result=media.data, output_format=FORMATS_BACK.get(media.type))
        bare = _with_url(entry, url.removesuffix(media.data))
        notes: Json = {"issuer": issuer} if issuer else {}
        if bare != _usual(item):
            notes[IMAGE] = bare
        others = {name: value for name, value in as_object(entry).items() if name not in ("type", "image_url", "index")}
        if notes or others:
            item.leftovers = {WIRE: {**others, SPELLING: notes} if notes else others}
        items.append(item)
    return items


def encode_image(item: ours.ImageGenerationCall, path: str, lost: Losses) -> Any:
    """The entry of `images` for an image; `None` for one without data."""
    data = image_data(item, path, WIRE, lost)
    if data is None:
        return None
    bare = as_object(own(item.leftovers, WIRE).get(SPELLING)).get(IMAGE)
    entry = bare if _url(bare).startswith("data:") else _usual(item)
    return _with_url(entry, _url(entry) + data)


def is_from(item: ours.ImageGenerationCall, issuer: str) -> bool:
    """Whether the item was in a request to this host."""
    return as_object(own(item.leftovers, WIRE).get(SPELLING)).get("issuer") == issuer


def _usual(item: ours.ImageGenerationCall) -> Json:
    return {"type": "image_url", "image_url": {"url": f"data:{image_type(item)};base64,"}}


def _url(entry: Any) -> str:
    """The URL in an entry of `images`, in any of the forms that hosts use."""
    inner = as_object(entry)
    value = inner.get("image_url", inner.get("url", entry))
    found = value.get("url") if is_object(value) else value
    return found if isinstance(found, str) else ""


def _with_url(entry: Any, url: str) -> Any:
    if not is_object(entry):
        return url
    name = "image_url" if "image_url" in entry else "url"
    value = entry[name]
    return {**entry, name: {**value, "url": url} if is_object(value) else url}


# --- sound ----------------------------------------------------------------------------------------------------------


def decode_sound(audio: Json, items: list[ours.AnyItem], issuer: str, path: str, lost: Losses) -> ours.Reasoning | None:
    """A carrier of a sound, whose transcript is added as text if there is no other; `None` where there is no sound."""
    transcript = audio.get("transcript")
    transcript = transcript if isinstance(transcript, str) else ""
    if not (audio.get("data") or transcript):
        return None
    texts = [item.text for item in items if isinstance(item, ours.Message)]
    is_spoken = bool(transcript) and not texts
    if is_spoken:
        part = ours.OutputText(text=transcript, annotations=[])
        items.append(ours.Message(role="assistant", content=[part]))
    what = "sound, for which the output has no item; it stays in a reasoning item, and goes back with it"
    if transcript and not is_spoken and transcript not in texts:
        what = f"the transcript beside another text, and {what}"
    lost.dropped(f"{path}.audio", what)
    kept = dict(sorted((audio | {"transcript": True} if is_spoken else audio).items()))  # whole or streamed, the same
    shown = digest(transcript if is_spoken else "".join(texts[-1:]))
    return carrier(SoundState(audio=kept, shown=shown), WIRE, issuer)


def joined_audio(pieces: list[Json]) -> Json:
    """A sound from the pieces of a stream. Each piece of its data is base64 of its own, with padding."""
    joined: Json = {}
    for piece in pieces:
        joined |= {name: value for name, value in piece.items() if value is not None or name not in joined}
    for name in ("transcript", "data"):
        texts = [text for piece in pieces if isinstance(text := piece.get(name), str)]
        if texts:
            joined[name] = "".join(texts)
        if name == "data" and any(text.endswith("=") for text in texts[:-1]):
            with suppress(binascii.Error, ValueError):
                joined[name] = binascii.b2a_base64(b"".join(map(binascii.a2b_base64, texts)), newline=False).decode()
    return joined


# --- tools that the host ran ----------------------------------------------------------------------------------------

SEARCHES = ("search", "web_search", "browser_search", "browser.search")
VISITS = ("visit", "visit_website", "browser.open", "open")
PROGRAMS = ("python", "code_interpreter", "code_execution")
"""The types of executed tools, with the calls of hosted tools that they become."""


def decode_executed(tools: Any, path: str, issuer: str, lost: Losses) -> list[ours.AnyItem]:
    """The calls of hosted tools; those of other kinds are reported."""
    items: list[ours.AnyItem] = []
    for k, entry in enumerate(as_list(tools)):
        item = _hosted(as_object(entry))
        if item is None:
            kind = as_object(entry).get("type")
            lost.dropped(f"{path}.executed_tools[{k}]", f"a tool of type {kind!r} that the host ran, without an item")
            continue
        item.leftovers = {WIRE: {SPELLING: {EXECUTED: entry, "issuer": issuer}}}
        items.append(item)
    return items


def executed(item: ours.AnyItem) -> Json | None:
    """The entry of `executed_tools` that an item was made from, with its host under `issuer`; `None` for any other item."""
    if not isinstance(item, ours.WebSearchCall | ours.CodeInterpreterCall) or not item.leftovers:
        return None
    notes = as_object(own(item.leftovers, WIRE).get(SPELLING))
    return notes if is_object(notes.get(EXECUTED)) else None


def _hosted(entry: Json) -> ours.WebSearchCall | ours.CodeInterpreterCall | None:
    kind, arguments = entry.get("type"), _arguments(entry.get("arguments"))
    if kind in SEARCHES:
        query = _text(arguments.get("query"))
        results = [as_object(each) for each in _results(entry)]
        sources = [ours.UrlSource(url=url) for each in results if (url := _text(each.get("url")))]
        action = ours.Search(query=query, queries=[query] if query else None, sources=[*sources] or None)
        return ours.WebSearchCall(action=action)
    if kind in VISITS:
        return ours.WebSearchCall(action=ours.OpenPage(url=_text(arguments.get("url")) or _text(arguments.get("id"))))
    if kind in PROGRAMS:
        output = _text(entry.get("output"))
        logs = [ours.CodeLogs(logs=output)] if output else []
        return ours.CodeInterpreterCall(code=_text(arguments.get("code")), outputs=[*logs] or None)
    return None


def _results(entry: Json) -> Sequence[Any]:
    found = entry.get("search_results")
    return as_list(found.get("results") if is_object(found) else found)


def _arguments(arguments: Any) -> Json:
    if isinstance(arguments, str):
        try:
            return as_object(msgspec.json.decode(arguments))
        except (msgspec.MsgspecError, RecursionError):
            return {}
    return as_object(arguments)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def merge_tools(found: dict[str, Any], pieces: list[Any]) -> None:
    """Add executed tools of a stream to those so far, by their `index`: a later piece completes an earlier one."""
    for piece in pieces:
        key = str(as_object(piece).get("index", f"[{len(found)}]"))
        before = found.get(key)
        found[key] = {**before, **piece} if is_object(before) and is_object(piece) else piece
