"""Conversion of message content: one text and any number of images, where Responses has an ordered list of parts.

Images are bare base64: their media type is detected from their bytes, by the server and on decoding. The server fetches
nothing, so an image by URL is rejected. Audio is sent among the images. Before changing this file, know that a text is
one string here: parts are joined by line breaks, and their boundaries and positions are reported as losses. Follows
Ollama's API reference and its page on vision (read 2026-11-20).
"""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any

from ... import responses as ours
from ...losses import no_such, not_in
from ...responses.carriers import SPELLING, own
from ...responses.parts import data_url, parse_data_url
from ...unknown import Unknown, as_object, given
from ..images import FORMATS_BACK
from ..kept import own_leftovers
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses


HEADS = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "wav"),
    (0, b"ID3", "mp3"),
    (0, b"\xff\xfb", "mp3"),
)
"""The bytes of a media type and their offset; a type without a slash is audio."""

ISSUER = "issuer"
"""Key in the `spelling` of a generated image: who made it."""

ANY_KIND = "application/octet-stream"
READABLE = ("text/", "application/json")
"""Types of files whose text can be in the message."""

INLINE = "which this server does not fetch; inline it, for example with fetch_image(url)"


def kind_of(data: str) -> str:
    """The media type of base64 data by its first bytes, or the format if it is audio."""
    try:
        head = binascii.a2b_base64(data[:16])
    except (binascii.Error, ValueError):
        return ANY_KIND
    return next((kind for place, mark, kind in HEADS if head.startswith(mark, place)), ANY_KIND)


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def encode_content(
    content: Sequence[ours.ContentPart], path: str, lost: Losses, *, between: str = "\n"
) -> tuple[str, list[str]]:
    """The text and the images of a content; `between` joins its texts."""
    texts: list[str] = []
    images: list[str] = []
    for j, part in enumerate(content):
        place = f"{path}[{j}]"
        text, image = _encode_part(part, place, lost)
        if text is not None:
            if images:
                lost.changed(place, "a text after an image, whose order Ollama cannot express")
            texts.append(text)
        elif image is not None:
            images.append(image)
    if len(texts) > 1:
        lost.changed(path, "several texts, joined to one")
    return between.join(texts), images


def _encode_part(part: Any, path: str, lost: Losses) -> tuple[str | None, str | None]:
    """The part as text or as an image; neither if it is not supported."""
    if isinstance(part, Unknown):
        lost.dropped(path, f"a part of type {part.kind!r}")
        return None, None
    own_leftovers(part, WIRE, path, lost)
    for name in ("prompt_cache_breakpoint", "detail"):
        if given(getattr(part, name, None)):
            lost.dropped(f"{path}.{name}", no_such("option", "Ollama"))
    match part:
        case ours.InputText(text=text) | ours.OutputText(text=text) | ours.PlainText(text=text):
            return text, None
        case ours.InputImage():
            return None, _encode_image(part, path, lost)
        case ours.InputAudio(input_audio=sound):
            if kind_of(sound.data) != sound.format:
                lost.changed(path, f"sound of the format {sound.format!r}, which the server detects from its bytes")
            return None, sound.data
        case ours.InputFile():
            return _encode_file(part, path, lost), None
        case ours.SummaryText(text=text) | ours.ReasoningText(text=text) | ours.RefusalPart(refusal=text):
            lost.changed(path, f"{part.__struct_config__.tag}, sent as plain text")
            return text, None
        case _:
            lost.refused(path, not_in(f"a part of type {part.__struct_config__.tag!r}", "Ollama"))
            return None, None


def _encode_image(part: ours.InputImage, path: str, lost: Losses) -> str | None:
    if not given(part.image_url):
        lost.refused(path, "an image by file id, which this server does not keep; inline it")
        return None
    media = parse_data_url(part.image_url)
    if media is None:
        lost.refused(path, f"an image by URL, {INLINE}")
        return None
    if kind_of(media.data) != media.type:
        lost.changed(path, f"an image called {media.type!r}, whose type the server detects from its bytes")
    return media.data


def _encode_file(part: ours.InputFile, path: str, lost: Losses) -> str | None:
    """The text of a file that is text, under its name; any other is rejected."""
    media = parse_data_url(part.file_data) if given(part.file_data) else None
    if media is not None and media.type.startswith(READABLE):
        try:
            text = binascii.a2b_base64(media.data).decode()
        except (binascii.Error, ValueError):
            text = None
        if text is not None:
            lost.emulated(path, "a file of text, sent as part of the message")
            return f"{part.filename}:\n{text}" if given(part.filename) else text
    lost.refused(path, "a file, which Ollama supports only as text data")
    return None


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def decode_content(text: str, images: list[str] | None) -> str | list[ours.ContentPart]:
    """The parts for a text and images; a text alone stays a string."""
    if not images:
        return text
    parts: list[ours.ContentPart] = [ours.InputText(text=text)] if text else []
    return [*parts, *map(_decode_image, images)]


def decode_images(images: list[str], issuer: str, path: str, lost: Losses) -> list[ours.AnyItem]:
    """The images of an assistant message, made by the model of `issuer`. Sound has no item, and is reported."""
    items: list[ours.AnyItem] = []
    for k, data in enumerate(images):
        kind = kind_of(data)
        if "/" not in kind:
            lost.dropped(f"{path}.images[{k}]", "sound, for which the output has no item")
            continue
        left: Any = {WIRE: {SPELLING: {ISSUER: issuer}}}
        items.append(ours.ImageGenerationCall(result=data, output_format=FORMATS_BACK.get(kind), leftovers=left))
    return items


def is_from(item: ours.ImageGenerationCall, issuer: str) -> bool:
    """Whether a model of `issuer` made this image."""
    return as_object(own(item.leftovers, WIRE).get(SPELLING)).get(ISSUER) == issuer


def _decode_image(data: str) -> ours.InputImage | ours.InputAudio:
    kind = kind_of(data)
    if "/" in kind:
        return ours.InputImage(image_url=data_url(kind, data))
    return ours.InputAudio(input_audio=ours.AudioData(data=data, format=kind))
