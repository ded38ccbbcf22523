"""What a user or a tool shows: texts, images, sound, files, both ways.

A part of ours becomes `inlineData` (data URLs, base64) or `fileData` (URIs), whose media type the vendor insists on; where
ours names none it is read off the end of the URI. Before changing this file, know that media types decide which part of ours
comes back, and that a part which nothing of ours resembles comes back as an empty text whose leftovers hold it. Follows
Google's pages on file input methods and media resolution (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET

from ...responses.media import Media, data_url, parse_data_url
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
from ...unknown import Unknown, given
from . import types
from .carried import ABSENT, document_fields, left, merged, own_fields, report_extras, rest, restored, spelling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dialects import GeminiDialect, GeminiModel
    from ...losses import Losses
    from ...responses.parts import ContentPart

MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "html": "text/html",
    "csv": "text/csv",
    "json": "application/json",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "mp4": "video/mp4",
    "mov": "video/mov",
    "webm": "video/webm",
}
"""Media types by the end of a name."""

VIDEO_HOSTS = ("youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be")

DETAILS = {
    "low": "MEDIA_RESOLUTION_LOW",
    "high": "MEDIA_RESOLUTION_HIGH",
    "original": "MEDIA_RESOLUTION_ULTRA_HIGH",
}
"""How closely an image is looked at, ours on the left. Without a word the model decides, which is our `auto`."""
DETAILS_BACK = {theirs: ours for ours, theirs in DETAILS.items()}

AUDIO = {"mp3": "audio/mpeg"}
"""Formats of sound whose media type is not `audio/` and their name."""
AUDIO_BACK = {theirs: ours for ours, theirs in AUDIO.items()}


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
        if type(part) is InputText and part.leftovers is part.prompt_cache_breakpoint is UNSET:
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
        lost.dropped(path, f"a part of type {part.type!r}, which this wire does not know")
        return None
    report_extras(part, path, lost)
    own = own_fields(part.leftovers, path, lost)
    if given(getattr(part, "prompt_cache_breakpoint", None)):
        lost.dropped(f"{path}.prompt_cache_breakpoint", "this wire caches by itself and knows no marks")
    encoded: types.Part | None
    match part:
        case InputText(text=text) | OutputText(text=text) | PlainText(text=text):
            if not text and spelling(own).get("text") == ABSENT:
                return restored(types.Part, document_fields(own))
            encoded = types.Part(text=text) if text or spelling(own).get("empty") else None
        case RefusalPart(refusal=text):
            encoded = types.Part(text=text) if text else None
        case InputImage():
            encoded = _image(part, own, path, context)
        case InputFile():
            encoded = _file(part, own, path, context)
        case InputAudio(input_audio=sound):
            kind = AUDIO.get(sound.format, f"audio/{sound.format}")
            encoded = types.Part(inline_data=types.Blob(mime_type=kind, data=sound.data))
        case InputVideo(video_url=url):
            encoded = _by_url(url, None, "video/mp4", own, path, context)
        case _:
            lost.dropped(path, f"a part of type {part.__struct_config__.tag!r}, which this wire does not know")
            return None
    if encoded is None:
        return None
    return merged(encoded, document_fields(own), path, lost)


def _image(part: InputImage, own: types.Json, path: str, context: Context) -> types.Part | None:
    if given(part.image_url):
        encoded = _by_url(part.image_url, None, "image/jpeg", own, path, context)
    elif given(part.file_id):
        encoded = _by_id(part.file_id, None, "image/jpeg", own, path, context)
    else:
        context.lost.dropped(path, "an image without its data")
        return None
    if encoded is not None and given(part.detail) and part.detail != "auto":
        if context.model.media_resolution and part.detail in DETAILS:
            encoded.media_resolution = types.MediaResolution(level=DETAILS[part.detail])
        else:
            context.lost.dropped(f"{path}.detail", "this model looks at all images of a request alike")
    return encoded


def _file(part: InputFile, own: types.Json, path: str, context: Context) -> types.Part | None:
    name = part.filename if given(part.filename) else ""
    kind = media_type(name)
    if given(part.file_data):
        media = parse_data_url(part.file_data)
        if media is None and part.file_data.startswith("data:"):
            context.lost.refused(f"{path}.file_data", "a data URL that is not base64")
            return None
        if media is None:
            media = Media(kind or "application/pdf", part.file_data)
            context.lost.changed(f"{path}.file_data", f"bare base64, sent as {media.type}")
        encoded: types.Part | None = types.Part(inline_data=types.Blob(mime_type=media.type, data=media.data))
        _drop_others(part, ("file_url", "file_id"), path, context)
    elif given(part.file_url):
        encoded = _by_url(part.file_url, kind, "application/pdf", own, path, context)
        _drop_others(part, ("file_id",), path, context)
    elif given(part.file_id):
        encoded = _by_id(part.file_id, kind, "application/pdf", own, path, context)
    else:
        context.lost.dropped(path, "a file without its data")
        return None
    if given(part.detail) and part.detail != "auto":
        context.lost.dropped(f"{path}.detail", "this wire has no such option of a file")
    if name and encoded is not None:
        if "displayName" in context.dialect.lacks:
            context.lost.dropped(f"{path}.filename", "this host takes no names of files")
        elif given(encoded.inline_data):
            encoded.inline_data.display_name = name
        elif given(encoded.file_data):
            encoded.file_data.display_name = name
    return encoded


def _drop_others(part: InputFile, names: tuple[str, ...], path: str, context: Context) -> None:
    for name in names:
        if given(getattr(part, name)):
            context.lost.dropped(f"{path}.{name}", "a second place of the same file")


def _by_url(url: str, named: str | None, guess: str, own: types.Json, path: str, context: Context) -> types.Part | None:
    media = parse_data_url(url)
    if media is not None:
        return types.Part(inline_data=types.Blob(mime_type=media.type, data=media.data))
    if not url.startswith(("https://", "http://", "gs://")):
        context.lost.refused(path, f"a URL this vendor cannot fetch: {url[:12]!r}")
        return None
    if not (context.model.external_urls or context.dialect.fetches_urls or _of_the_vendor(url)):
        context.lost.refused(path, "this model fetches nothing itself; send the bytes, `fetch_image(url)` gets them")
    return _at_uri(url, named, guess, own, path, context)


def _by_id(
    file_id: str, named: str | None, guess: str, own: types.Json, path: str, context: Context
) -> types.Part | None:
    if not _of_the_vendor(file_id):
        context.lost.refused(path, f"the file {file_id[:40]!r} of another vendor; send its bytes, or its URI at Google")
        return None
    return _at_uri(file_id, named, guess, own, path, context)


def _at_uri(uri: str, named: str | None, guess: str, own: types.Json, path: str, context: Context) -> types.Part:
    """What is at `uri`. Its media type is what its name tells, or its file name (`named`), else a guess."""
    kind = named or media_type(uri)
    if kind is None and "fileData" not in own:
        context.lost.changed(path, f"nothing says what kind of media this is; it is sent as {guess}")
    return types.Part(file_data=types.FileData(mime_type=kind or guess, file_uri=uri))


def _of_the_vendor(uri: str) -> bool:
    return uri.startswith(("gs://", "https://generativelanguage.googleapis.com/")) or _host(uri) in VIDEO_HOSTS


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
    if given(part.text):
        fields = rest(part, ("text",))
        return InputText(text=part.text, leftovers=left(fields, None if part.text else {"empty": True}))
    blob, file = part.inline_data, part.file_data
    if given(blob) and given(blob.mime_type) and given(blob.data):
        return _decode_blob(part, blob.mime_type, blob.data)
    if given(file) and given(file.file_uri) and given(file.mime_type):
        return _decode_file(part, file, file.file_uri, file.mime_type)
    return InputText(text="", leftovers=left(rest(part), {"text": ABSENT}))


def _decode_blob(part: types.Part, kind: str, data: str) -> ContentPart:
    fields = rest(part, ("inlineData",))
    more = rest(part.inline_data or types.Blob(), ("mimeType", "data"))
    found: InputImage | InputAudio | InputFile
    if kind.startswith("image/"):
        found = InputImage(image_url=data_url(kind, data))
        _detail(found, fields)
    elif kind.startswith("audio/"):
        format = AUDIO_BACK.get(kind, kind.removeprefix("audio/"))
        found = InputAudio(input_audio=AudioData(data=data, format=format))
    else:
        name = more.pop("displayName", UNSET)
        found = InputFile(file_data=data_url(kind, data), filename=name)
    if more:
        fields["inlineData"] = more
    found.leftovers = left(fields)
    return found


def _decode_file(part: types.Part, file: types.FileData, uri: str, kind: str) -> ContentPart:
    fields = rest(part, ("fileData",))
    more = rest(file, ("fileUri",))
    # `gs://` and the vendor's own files are nothing another vendor could fetch.
    own = uri.startswith(("gs://", "https://generativelanguage.googleapis.com/"))
    found: InputImage | InputFile
    if kind.startswith("image/"):
        found = InputImage(file_id=uri) if own else InputImage(image_url=uri)
        _detail(found, fields)
    else:
        name = more.pop("displayName", UNSET)
        found = InputFile(file_id=uri, filename=name) if own else InputFile(file_url=uri, filename=name)
    if media_type(uri) == kind:
        del more["mimeType"]
    if more:
        fields["fileData"] = more
    found.leftovers = left(fields)
    return found


def _detail(image: InputImage, fields: types.Json) -> None:
    told: types.Json = fields.get("mediaResolution") or {}
    if len(told) == 1 and told.get("level") in DETAILS_BACK:
        image.detail = DETAILS_BACK[told["level"]]
        del fields["mediaResolution"]
