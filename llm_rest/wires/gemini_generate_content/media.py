"""What a user or a tool shows: texts, images, sound, files, both ways.

A part of ours becomes `inlineData` (data URLs, base64) or `fileData` (URIs), whose media type the vendor insists on; where
ours names none it is read off the end of the URI. Before changing this file, know that media types decide which part of ours
comes back, and that a part which nothing of ours resembles comes back as an empty text whose leftovers hold it. Follows
Google's pages on file input methods and media resolution (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from ...losses import no_such, not_in
from ...responses.media import data_url, parse_data_url, standard
from ...responses.parts import (
    AudioData,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    OutputText,
    PlainText,
    RefusalPart,
)
from ...unknown import Unknown, given, or_unset
from .._left import report_unknown
from . import types
from .carried import document_fields, left, merged, own_fields, rest, spelling, unsaid, unsay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from ...responses.parts import ContentPart
    from ...unknown import Opt
    from ...vendors.dialects import GeminiDialect, GeminiModel

MEDIA_TYPES = {
    **{end: f"image/{end}" for end in ("png", "jpeg", "webp", "gif", "heic", "heif")},
    "jpg": "image/jpeg",
    "pdf": "application/pdf",
    "json": "application/json",
    **{end: f"text/{end}" for end in ("html", "csv")},
    "txt": "text/plain",
    "md": "text/markdown",
    **{end: f"audio/{end}" for end in ("wav", "flac", "ogg")},
    "mp3": "audio/mpeg",
    **{end: f"video/{end}" for end in ("mp4", "mov", "webm")},
}
"""Media types by the end of a name."""

VENDOR = ("gs://", "https://generativelanguage.googleapis.com/")
"""How URIs begin that the vendor keeps itself, and nobody else could fetch."""
VIDEO_HOSTS = ("youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be")

DETAILS = {
    "low": "MEDIA_RESOLUTION_LOW",
    "high": "MEDIA_RESOLUTION_HIGH",
    "original": "MEDIA_RESOLUTION_ULTRA_HIGH",
}
"""How closely an image is looked at, ours on the left. Without a word the model decides, which is our `auto`."""
DETAILS_BACK = {theirs: ours for ours, theirs in DETAILS.items()}


class Context(NamedTuple):
    """What every step of an encoding needs. `replay` tells a history that goes to the vendor from an answer."""

    lost: Losses
    dialect: GeminiDialect
    model: GeminiModel
    replay: bool


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_parts(content: str | Sequence[ContentPart], path: str, context: Context, first: int = 0) -> list[types.Part]:
    """The parts of a content at `path`, from position `first`; empty texts are left out, since the vendor refuses them."""
    if isinstance(content, str):
        return [types.Part(text=content)] if content else []
    parts: list[types.Part] = []
    for j, part in enumerate(content, first):
        if type(part) is InputText and part.leftovers is None and part.prompt_cache_breakpoint is None:
            if part.text:
                parts.append(types.Part(text=part.text))
        else:
            found = _encode(part, f"{path}[{j}]", context)
            if found is not None:
                parts.append(found)
    return parts


def _encode(part: ContentPart, path: str, context: Context) -> types.Part | None:
    lost = context.lost
    if isinstance(part, Unknown):
        lost.dropped(path, not_in(f"a part of type {part.kind!r}", "Gemini"))
        return None
    report_unknown(part, path, lost)
    own = own_fields(part.leftovers, path, lost)
    if given(getattr(part, "prompt_cache_breakpoint", None)):
        lost.dropped(f"{path}.prompt_cache_breakpoint", "Gemini caches by itself and knows no marks")
    encoded: types.Part | None
    match part:
        case InputText(text=text) | OutputText(text=text) | PlainText(text=text) | RefusalPart(refusal=text):
            encoded = types.Part(text=text) if text or "text" in spelling(own) else None
            if encoded and not text:
                unsay(encoded, ("text",), spelling(own))
        case InputImage():
            encoded = _by_url(
                or_unset(part.image_url or part.file_id), "image/jpeg", own, path, context, id=not part.image_url
            )
            if encoded is not None and given(part.detail) and part.detail != "auto":
                if context.model.media_resolution and part.detail in DETAILS:
                    encoded.media_resolution = types.MediaResolution(level=DETAILS[part.detail])
                else:
                    lost.dropped(f"{path}.detail", "this model looks at all images of a request alike")
        case InputFile():
            encoded = _file(part, own, path, context)
        case InputAudio(input_audio=sound):
            kind = MEDIA_TYPES["mp3"] if sound.format == "mp3" else f"audio/{sound.format}"
            encoded = types.Part(inline_data=types.Blob(mime_type=kind, data=sound.data))
        case InputVideo(video_url=url):
            encoded = _by_url(url, "video/mp4", own, path, context)
        case _:
            lost.dropped(path, not_in(f"a part of type {part.__struct_config__.tag!r}", "Gemini"))
            return None
    return merged(encoded, document_fields(own), path, lost) if encoded is not None else None


def _file(part: InputFile, own: types.Json, path: str, context: Context) -> types.Part | None:
    lost, name = context.lost, part.filename or ""
    kind, data = media_type(name), part.file_data
    if data and not data.startswith("data:"):
        kind = kind or "application/pdf"
        lost.changed(f"{path}.file_data", f"bare base64, sent as {kind}")
        data = data_url(kind, data)
    places = {"file_data": data, "file_url": part.file_url, "file_id": part.file_id}
    first, *others = [place for place, value in places.items() if given(value)] or [""]
    encoded = _by_url(
        or_unset(places.get(first)), "application/pdf", own, path, context, named=kind, id=first == "file_id"
    )
    for other in others:
        lost.dropped(f"{path}.{other}", "a second place of the same file")
    if given(part.detail) and part.detail != "auto":
        lost.dropped(f"{path}.detail", no_such("option", "Gemini"))
    media = (encoded.inline_data or encoded.file_data) if encoded else None
    if name and media:
        if "displayName" in context.dialect.lacks:
            lost.dropped(f"{path}.filename", "this host takes no names of files")
        else:
            media.display_name = name
    return encoded


def _by_url(
    url: Opt[str],
    guess: str,
    own: types.Json,
    path: str,
    context: Context,
    *,
    named: str | None = None,
    id: bool = False,
) -> types.Part | None:
    """What is at a URL, or under the `id` of a file. Its type is what `named` or its name tells, else a guess."""
    lost = context.lost
    if not url:
        lost.dropped(path, "media without its data")
        return None
    media = parse_data_url(url)
    if media is not None:
        return types.Part(inline_data=types.Blob(mime_type=media.type, data=media.data))
    ours = url.startswith(VENDOR) or _host(url) in VIDEO_HOSTS
    if not ours and (id or not url.startswith(("https://", "http://"))):
        what = "a file of another vendor" if id else "a URL this vendor cannot fetch"
        lost.refused(path, f"{what}: {url[:40]!r}; send its bytes, or its URI at Google")
        return None
    if not (ours or context.model.external_urls or context.dialect.fetches_urls):
        lost.refused(path, "this model fetches nothing itself; send the bytes, `fetch_image(url)` gets them")
    kind = named or media_type(url)
    if kind is None and "fileData" not in own:
        lost.changed(path, f"nothing says what kind of media this is; it is sent as {guess}")
    return types.Part(file_data=types.FileData(mime_type=kind or guess, file_uri=url))


def _host(uri: str) -> str:
    try:
        return urlsplit(uri).hostname or ""
    except ValueError:
        return ""


def media_type(uri: str) -> str | None:
    """The media type that the end of a name or URI tells, if it tells one."""
    if _host(uri) in VIDEO_HOSTS:
        return "video/mp4"
    name = uri.partition("?")[0].partition("#")[0].rpartition("/")[2]
    return MEDIA_TYPES.get(name.rpartition(".")[2].lower())


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_parts(parts: Sequence[types.Part]) -> list[ContentPart]:
    """The parts of a user's content, without outputs of functions."""
    return [_decode(part) for part in parts]


def _decode(part: types.Part) -> ContentPart:
    blob, file = part.inline_data, part.file_data
    if part.text:
        return InputText(text=part.text, leftovers=left(rest(part, ("text",))))
    if blob and blob.mime_type and blob.data:
        fields, more = rest(part, ("inlineData",)), rest(blob, ("mimeType", "data"))
        found: InputImage | InputFile | InputAudio
        if blob.mime_type.startswith("audio/"):
            format = "mp3" if blob.mime_type == MEDIA_TYPES["mp3"] else blob.mime_type.removeprefix("audio/")
            found = InputAudio(input_audio=AudioData(data=standard(blob.data), format=format))
        else:
            found = _shown(blob.mime_type, data_url(blob.mime_type, standard(blob.data)), fields, more)
        found.leftovers = left({**fields, "inlineData": more} if more else fields)
        return found
    if file and file.file_uri and file.mime_type:
        fields, more = rest(part, ("fileData",)), rest(file, ("fileUri",))
        found = _shown(file.mime_type, file.file_uri, fields, more)
        if media_type(file.file_uri) == file.mime_type:
            del more["mimeType"]
        found.leftovers = left({**fields, "fileData": more} if more else fields)
        return found
    return InputText(text="", leftovers=left(rest(part, ("text",)), unsaid(part, ("text",))))


def _shown(kind: str, url: str, fields: types.Json, more: types.Json) -> InputImage | InputFile:
    """The part of ours for media at a URL; what it says itself is taken from `fields` of the part and `more` of the media."""
    own = url.startswith(VENDOR)
    if kind.startswith("image/"):
        image = InputImage(file_id=url) if own else InputImage(image_url=url)
        told: types.Json = fields.get("mediaResolution") or {}
        if len(told) == 1 and told.get("level") in DETAILS_BACK:
            image.detail = DETAILS_BACK[told["level"]]
            del fields["mediaResolution"]
        return image
    name = more.pop("displayName", None)
    if url.startswith("data:"):
        return InputFile(file_data=url, filename=name)
    return InputFile(file_id=url, filename=name) if own else InputFile(file_url=url, filename=name)
