"""The parts of an item's content: text, images, files, refusals, annotations; and the bytes in data URLs (RFC 2397).

Follows the content parts and annotations of the OpenAI Responses reference (read 2026-11-20). A part preserves
undeclared fields; `leftovers` holds other wires' data that Responses has no field for.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal, cast

import msgspec
from msgspec import Struct, field

from ..errors import DecodeError, ToolArgumentsError
from ..unknown import Open, ResponsesModel, check_depth

Leftovers = dict[str, dict[str, Any]]
"""Data of other wires that the Responses format has no field for, by the name of the wire."""


class CacheBreakpoint(ResponsesModel, kw_only=True):
    """A cache breakpoint: the vendor may cache the prompt up to the end of the part that has it."""

    mode: Literal["explicit"] | str = field(default_factory=lambda: "explicit")
    """`explicit`: set by the caller, not chosen by the vendor."""
    ttl: Literal["30m", "12h"] | str | None = None
    """Lifetime of the cache entry: `30m` or `12h` at OpenAI, `5m` or `1h` at Anthropic."""


class Part(ResponsesModel, kw_only=True):
    """Base of every content part."""

    leftovers: Leftovers | None = None
    """Data of other wires about the part. Never sent in the Responses format."""


class InputText(Part, kw_only=True, tag="input_text"):
    """Text of a user, a system or developer message, or a tool's output."""

    type: ClassVar[Literal["input_text"]] = "input_text"
    text: str
    """The text."""
    prompt_cache_breakpoint: CacheBreakpoint | None = None
    """Where given, the vendor may cache the prompt up to the end of this part."""


class InputImage(Part, kw_only=True, tag="input_image"):
    """An image by URL (`https:` or `data:`) or by file id."""

    type: ClassVar[Literal["input_image"]] = "input_image"
    image_url: str | None = None
    """URL of the image, or a `data:` URL with its base64. Either this or `file_id`."""
    file_id: str | None = None
    """Id of a file uploaded to the vendor."""
    detail: Literal["low", "high", "auto", "original"] | str | None = None
    """Level of detail at which the model reads it: `low`, `high`, `original` or `auto` (the default)."""
    prompt_cache_breakpoint: CacheBreakpoint | None = None
    """Where given, the vendor may cache the prompt up to the end of this part."""


class InputFile(Part, kw_only=True, tag="input_file"):
    """A file by its data (a data URL or base64), by file id or by URL."""

    type: ClassVar[Literal["input_file"]] = "input_file"
    file_data: str | None = None
    """The content, as a `data:` URL or as base64. One of this, `file_id` and `file_url`."""
    file_id: str | None = None
    """Id of a file uploaded to the vendor."""
    file_url: str | None = None
    """URL from which the vendor downloads the file."""
    filename: str | None = None
    """Name of the file with its extension."""
    detail: Literal["auto", "low", "high"] | str | None = None
    """Level of detail at which the model reads the file: `auto`, `low` or `high`."""
    prompt_cache_breakpoint: CacheBreakpoint | None = None
    """Where given, the vendor may cache the prompt up to the end of this part."""


class InputVideo(Part, kw_only=True, tag="input_video"):
    """A video by URL; in tool outputs of Open Responses hosts only."""

    type: ClassVar[Literal["input_video"]] = "input_video"
    video_url: str
    """URL of the video, or a `data:` URL with its base64."""


class AudioData(ResponsesModel, kw_only=True):
    """Audio and its encoding."""

    data: str
    """The audio as base64."""
    format: Literal["mp3", "wav"] | str
    """Encoding of the audio, such as `mp3` or `wav`."""


class InputAudio(Part, kw_only=True, tag="input_audio"):
    """Audio as base64. OpenAI's Responses API does not support it; other wires do."""

    type: ClassVar[Literal["input_audio"]] = "input_audio"
    input_audio: AudioData
    """The audio and its encoding."""


class TopLogprob(ResponsesModel, kw_only=True):
    """A token that was likely at its position, and its log probability."""

    token: str
    """The token as text."""
    logprob: float
    """Natural logarithm of the token's probability: 0 is certain, lower is less likely."""
    bytes: list[int] | None = None
    """The token's UTF-8 bytes as integers. Not given in stream events."""


class Logprob(TopLogprob, kw_only=True):
    """A generated token, its log probability, and the likely alternatives at its position."""

    top_logprobs: list[TopLogprob] | None = None
    """The likeliest tokens at this position, at most `Request.top_logprobs` of them."""


class Annotation(ResponsesModel, kw_only=True):
    """Base of the annotations of a text. Indices are character offsets into the text of the part."""

    leftovers: Leftovers | None = None
    """Data of other wires about the annotation. Never sent in the Responses format."""


class SourceCitation(Annotation, kw_only=True):
    """A citation and its place in the source, from vendors that give one.

    OpenAI has none of these fields, and no request to a Responses host has them.
    """

    cited_text: str | None = None
    """The cited text of the source."""
    document_index: int | None = None
    """Position of the cited document among those of the request, or of a search result among these, from 0."""
    unit: Literal["characters", "pages", "blocks"] | str | None = None
    """What `start` and `end` count in the source: its characters or blocks from 0, or its pages from 1."""
    start: int | None = None
    """Where the cited range begins in the source."""
    end: int | None = None
    """Where it ends: the first position behind it."""


SOURCE_FIELDS = ("cited_text", "document_index", "unit", "start", "end")
"""The fields of a citation that OpenAI does not have."""


DOCUMENT = "document:"
"""Scheme of the `url` of a document that was sent with the request; its position follows."""


class UrlCitation(SourceCitation, kw_only=True, tag="url_citation"):
    """A web page, or a document of the request, that a span of the text cites."""

    type: ClassVar[Literal["url_citation"]] = "url_citation"
    url: str
    """URL of the page; `document:` and a position for a document that was sent with the request."""
    title: str | None = None
    """Title of the page. Some hosts leave it out."""
    start_index: int | None = None
    """Offset in characters where the span begins."""
    end_index: int | None = None
    """Offset in characters where the span ends."""


class FileCitation(SourceCitation, kw_only=True, tag="file_citation"):
    """A file that the text cites."""

    type: ClassVar[Literal["file_citation"]] = "file_citation"
    file_id: str
    """Id of the file. Empty for a passage of a file without one."""
    filename: str | None = None
    """Name of the file."""
    index: int | None = None
    """Place of the citation: in recorded answers its offset in characters."""
    start_index: int | None = None
    """Offset in characters where the span begins, from vendors other than OpenAI."""
    end_index: int | None = None
    """Offset in characters where the span ends, from vendors other than OpenAI."""


class ContainerFileCitation(Annotation, kw_only=True, tag="container_file_citation"):
    """A file in a container of the code interpreter that a span of the text cites."""

    type: ClassVar[Literal["container_file_citation"]] = "container_file_citation"
    container_id: str
    """Id of the container."""
    file_id: str
    """Id of the file in the container."""
    filename: str | None = None
    """Name of the file."""
    start_index: int | None = None
    """Offset in characters where the span begins."""
    end_index: int | None = None
    """Offset in characters where the span ends."""


class FilePath(Annotation, kw_only=True, tag="file_path"):
    """A file that the text refers to by its path."""

    type: ClassVar[Literal["file_path"]] = "file_path"
    file_id: str
    """Id of the file."""
    index: int | None = None
    """Position among the listed files."""


AnyAnnotation = Open[UrlCitation | FileCitation | ContainerFileCitation | FilePath]
"""Any annotation of an output text."""


class OutputText(Part, kw_only=True, tag="output_text"):
    """Text written by the model."""

    type: ClassVar[Literal["output_text"]] = "output_text"
    text: str
    """The text."""
    annotations: list[AnyAnnotation] | None = None
    """Citations and file references in the text."""
    logprobs: list[Logprob] | None = None
    """The tokens with their log probabilities, given if `include` has `message.output_text.logprobs`."""


class RefusalPart(Part, kw_only=True, tag="refusal"):
    """A refusal, in place of the text that was requested."""

    type: ClassVar[Literal["refusal"]] = "refusal"
    refusal: str
    """The model's explanation."""


class SummaryText(Part, kw_only=True, tag="summary_text"):
    """One part of a reasoning summary."""

    type: ClassVar[Literal["summary_text"]] = "summary_text"
    text: str
    """The text."""


class ReasoningText(Part, kw_only=True, tag="reasoning_text"):
    """One part of the raw reasoning text."""

    type: ClassVar[Literal["reasoning_text"]] = "reasoning_text"
    text: str
    """The text."""


class PlainText(Part, kw_only=True, tag="text"):
    """Plain text, a part type of the Open Responses core."""

    type: ClassVar[Literal["text"]] = "text"
    text: str
    """The text."""


class ComputerScreenshot(Part, kw_only=True, tag="computer_screenshot"):
    """An image of the computer's screen, by URL or by file id."""

    type: ClassVar[Literal["computer_screenshot"]] = "computer_screenshot"
    image_url: str | None = None
    """URL of the image, or a `data:` URL with its base64. Either this or `file_id`."""
    file_id: str | None = None
    """Id of a file uploaded to the vendor."""
    detail: str | None = None
    """Level of detail at which the model reads it, as in `InputImage.detail`."""


ContentPart = Open[
    InputText
    | InputImage
    | InputFile
    | InputVideo
    | InputAudio
    | OutputText
    | RefusalPart
    | SummaryText
    | ReasoningText
    | PlainText
    | ComputerScreenshot
]
"""Any part of a message's content or of a tool's output."""


class Media(Struct, frozen=True):
    """A media type such as `image/png`, and the bytes as base64 text."""

    type: str
    data: str


def parse_data_url(url: str) -> Media | None:
    """The media type and the bytes of a base64 data URL; `None` for any other URL."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url[5:].partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return Media(head[:-7], data)


def data_url(media_type: str, data: str) -> str:
    """A data URL from a media type and base64 text."""
    return f"data:{media_type};base64,{data}"


def standard(data: str) -> str:
    """Base64 text in the standard alphabet; some clients use the URL-safe one."""
    if "-" not in data and "_" not in data:
        return data
    return data.translate(_STANDARD) + "=" * (-len(data) % 4)


_STANDARD = str.maketrans("-_", "+/")


SIGNATURES = {
    rb"\x89PNG\r\n\x1a\n": "image/png",
    rb"\xff\xd8\xff": "image/jpeg",
    rb"GIF8[79]a": "image/gif",
    rb"RIFF....WEBP": "image/webp",
    rb"....ftyp(heic|heix|hevc|heim|heis)": "image/heic",
    rb"....ftyp(mif1|msf1)": "image/heif",
    rb"....ftyp(avif|avis)": "image/avif",
    rb"BM....\x00\x00\x00\x00": "image/bmp",
    rb"II\*\x00|MM\x00\*": "image/tiff",
    rb"%PDF-": "application/pdf",
}
"""Magic bytes of file types, as patterns, which are compiled on first use."""


def type_by_bytes(data: bytes) -> str | None:
    """The media type of a file from its first bytes; `None` where they are unknown."""
    return next((kind for pattern, kind in SIGNATURES.items() if re.match(pattern, data, re.DOTALL)), None)


def parsed(name: str, arguments: str) -> dict[str, Any]:
    """The arguments as a dict; empty text and null, as some models write, are an empty dict.

    Raises `ToolArgumentsError` for any other text that is not a JSON object.
    """
    try:
        return json_object(arguments)
    except ValueError as problem:
        raise ToolArgumentsError(f"{name}: {problem}", hint="call.arguments has the original text") from None


def json_object(arguments: str) -> dict[str, Any]:
    """The same, raising a `ValueError` whose message is for the model."""
    try:
        check_depth(arguments.encode())
        value: Any = msgspec.json.decode(arguments) if arguments.strip() else None
    except (msgspec.MsgspecError, DecodeError, UnicodeError) as problem:
        raise ValueError(f"the arguments are no valid JSON: {_where(str(problem), arguments)}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be a JSON object, not {arguments[:80]}")
    return cast("dict[str, Any]", value)


def _where(problem: str, text: str) -> str:
    """The excerpt around the error, as far as the decoder gives its position."""
    found = re.search(r"^(.*) \(byte (\d+)\)$", problem.removeprefix("JSON is malformed: "))
    if not found:
        return f"they end too early, after {text[-30:]!r}" if "truncated" in problem else problem
    raw, at = text.encode(errors="replace"), int(found[2])
    before, after = raw[max(0, at - 20) : at].decode(errors="ignore"), raw[at : at + 20].decode(errors="ignore")
    return f"{found[1]} at byte {at}, between {before!r} and {after!r}"
