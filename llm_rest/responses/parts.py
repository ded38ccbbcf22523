"""The pieces of an item's content: text, images, files, refusals, and what hangs on them.

Follows the content parts and annotations of the OpenAI Responses reference (read 2026-11-20). A part keeps the fields it
does not know; `leftovers` holds what another wire said about it and Responses has no word for.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import field

from ..unknown import Open, ResponsesModel

Leftovers = dict[str, dict[str, Any]]
"""What one document of one wire said and Responses cannot: by wire name."""


class CacheBreakpoint(ResponsesModel):
    """Marks the end of a stretch of the prompt that the vendor may cache."""

    mode: Literal["explicit"] | str = field(default_factory=lambda: "explicit")
    ttl: Literal["30m", "12h"] | str | None = None


class Part(ResponsesModel):
    """What every content part has."""

    leftovers: Leftovers | None = None


class InputText(Part):
    type: ClassVar[Literal["input_text"]] = "input_text"
    text: str
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class InputImage(Part):
    """An image by URL (`https:` or `data:`) or by file id."""

    type: ClassVar[Literal["input_image"]] = "input_image"
    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["low", "high", "auto", "original"] | str | None = None
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class InputFile(Part):
    """A file by its data (a data URL or base64), by file id or by URL."""

    type: ClassVar[Literal["input_file"]] = "input_file"
    file_data: str | None = None
    file_id: str | None = None
    file_url: str | None = None
    filename: str | None = None
    detail: Literal["auto", "low", "high"] | str | None = None
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class InputVideo(Part):
    """A video by URL; in tool outputs of Open Responses hosts only."""

    type: ClassVar[Literal["input_video"]] = "input_video"
    video_url: str


class AudioData(ResponsesModel):
    data: str
    format: Literal["mp3", "wav"] | str


class InputAudio(Part):
    """Sound as base64. No Responses host takes it; other wires do."""

    type: ClassVar[Literal["input_audio"]] = "input_audio"
    input_audio: AudioData


class TopLogprob(ResponsesModel):
    token: str
    logprob: float
    bytes: list[int] | None = None


class Logprob(TopLogprob):
    top_logprobs: list[TopLogprob] | None = None


class Annotation(ResponsesModel):
    """A source of a text. Indices are character offsets into the text of the part."""

    leftovers: Leftovers | None = None


class UrlCitation(Annotation):
    type: ClassVar[Literal["url_citation"]] = "url_citation"
    url: str
    title: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class FileCitation(Annotation):
    type: ClassVar[Literal["file_citation"]] = "file_citation"
    file_id: str
    filename: str | None = None
    index: int | None = None


class ContainerFileCitation(Annotation):
    type: ClassVar[Literal["container_file_citation"]] = "container_file_citation"
    container_id: str
    file_id: str
    filename: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class FilePath(Annotation):
    type: ClassVar[Literal["file_path"]] = "file_path"
    file_id: str
    index: int | None = None


AnyAnnotation = Open[UrlCitation | FileCitation | ContainerFileCitation | FilePath]


class OutputText(Part):
    type: ClassVar[Literal["output_text"]] = "output_text"
    text: str
    annotations: list[AnyAnnotation] | None = None
    logprobs: list[Logprob] | None = None


class RefusalPart(Part):
    type: ClassVar[Literal["refusal"]] = "refusal"
    refusal: str


class SummaryText(Part):
    type: ClassVar[Literal["summary_text"]] = "summary_text"
    text: str


class ReasoningText(Part):
    type: ClassVar[Literal["reasoning_text"]] = "reasoning_text"
    text: str


class PlainText(Part):
    """Plain text, as the Open Responses core lists it."""

    type: ClassVar[Literal["text"]] = "text"
    text: str


class ComputerScreenshot(Part):
    type: ClassVar[Literal["computer_screenshot"]] = "computer_screenshot"
    image_url: str | None = None
    file_id: str | None = None
    detail: str | None = None


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
"""A part of a message or of a tool's output."""
