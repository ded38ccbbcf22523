"""The pieces of an item's content: text, images, files, refusals, and what hangs on them.

Follows the content parts and annotations of the OpenAI Responses reference (read 2026-11-20). A part keeps the fields it
does not know; `leftovers` holds what another wire said about it and Responses has no word for.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from ..unknown import Model, Open, Opt

Leftovers = dict[str, dict[str, Any]]
"""What one document of one wire said and Responses cannot: by wire name."""


class CacheBreakpoint(Model):
    """Marks the end of a stretch of the prompt that the vendor may cache."""

    mode: Literal["explicit"] | str = "explicit"
    ttl: Opt[Literal["30m", "12h"] | str] = UNSET


class Part(Model, tag_field="type"):
    """What every content part has."""

    leftovers: Leftovers | UnsetType = UNSET


class InputText(Part, tag="input_text"):
    text: str
    prompt_cache_breakpoint: Opt[CacheBreakpoint] = UNSET


class InputImage(Part, tag="input_image"):
    """An image by URL (`https:` or `data:`) or by file id."""

    image_url: Opt[str] = UNSET
    file_id: Opt[str] = UNSET
    detail: Opt[Literal["low", "high", "auto", "original"] | str] = UNSET
    prompt_cache_breakpoint: Opt[CacheBreakpoint] = UNSET


class InputFile(Part, tag="input_file"):
    """A file by its data (a data URL or base64), by file id or by URL."""

    file_data: Opt[str] = UNSET
    file_id: Opt[str] = UNSET
    file_url: Opt[str] = UNSET
    filename: Opt[str] = UNSET
    detail: Opt[Literal["auto", "low", "high"] | str] = UNSET
    prompt_cache_breakpoint: Opt[CacheBreakpoint] = UNSET


class InputVideo(Part, tag="input_video"):
    """A video by URL; in tool outputs of Open Responses hosts only."""

    video_url: str


class AudioData(Model):
    data: str
    format: Literal["mp3", "wav"] | str


class InputAudio(Part, tag="input_audio"):
    """Sound as base64. No Responses host takes it; other wires do."""

    input_audio: AudioData


class TopLogprob(Model):
    token: str
    logprob: float
    bytes: Opt[list[int]] = UNSET


class Logprob(TopLogprob):
    top_logprobs: Opt[list[TopLogprob]] = UNSET


class Annotation(Model, tag_field="type"):
    """A source of a text. Indices are character offsets into the text of the part."""

    leftovers: Leftovers | UnsetType = UNSET


class UrlCitation(Annotation, tag="url_citation"):
    url: str
    title: Opt[str] = UNSET
    start_index: Opt[int] = UNSET
    end_index: Opt[int] = UNSET


class FileCitation(Annotation, tag="file_citation"):
    file_id: str
    filename: Opt[str] = UNSET
    index: Opt[int] = UNSET


class ContainerFileCitation(Annotation, tag="container_file_citation"):
    container_id: str
    file_id: str
    filename: Opt[str] = UNSET
    start_index: Opt[int] = UNSET
    end_index: Opt[int] = UNSET


class FilePath(Annotation, tag="file_path"):
    file_id: str
    index: Opt[int] = UNSET


AnyAnnotation = Open[UrlCitation | FileCitation | ContainerFileCitation | FilePath]


class OutputText(Part, tag="output_text"):
    text: str
    annotations: Opt[list[AnyAnnotation]] = UNSET
    logprobs: Opt[list[Logprob]] = UNSET


class RefusalPart(Part, tag="refusal"):
    refusal: str


class SummaryText(Part, tag="summary_text"):
    text: str


class ReasoningText(Part, tag="reasoning_text"):
    text: str


class PlainText(Part, tag="text"):
    """Plain text, as the Open Responses core lists it."""

    text: str


class ComputerScreenshot(Part, tag="computer_screenshot"):
    image_url: Opt[str] = UNSET
    file_id: Opt[str] = UNSET
    detail: Opt[str] = UNSET


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
