"""The sources and the images of an answer in one shape for every wire: `Citation` and `Image`.

Before changing this file, know that nothing is stored here: both lists are made from the items of an answer when they
are read, so that a program that changes an item changes its citations too; and that offsets in an annotation count the
characters of its part, those of a citation the characters of the whole `output_text`.
"""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from ..unknown import Unknown
from .items import FileSearchCall, ImageGenerationCall, Message, OpenPage, Search, UrlSource, WebSearchCall
from .parts import (
    DOCUMENT,
    SOURCE_FIELDS,
    ContainerFileCitation,
    FileCitation,
    FilePath,
    OutputText,
    SourceCitation,
    UrlCitation,
    parse_data_url,
    standard,
    type_by_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .items import AnyItem
    from .parts import AnyAnnotation


class Citation(Struct, frozen=True, kw_only=True):
    """A source of an answer: a page, a file, or a document of the request. A vendor gives some of the fields."""

    title: str | None = None
    """Title of the page or document, or name of the file."""
    url: str | None = None
    """URL of the page."""
    file_id: str | None = None
    """Id of the file."""
    document_index: int | None = None
    """Position of the document among those of the request, from 0."""
    cited_text: str | None = None
    """The cited text of the source."""
    unit: Literal["characters", "pages", "blocks"] | str | None = None
    """What `start` and `end` count: characters or blocks of the source from 0, or its pages from 1."""
    start: int | None = None
    """Where the cited range begins in the source."""
    end: int | None = None
    """Where it ends: the first position behind it."""
    output_start: int | None = None
    """Where the text that cites the source begins in `output_text`, in characters. None for a source of the answer
    as a whole."""
    output_end: int | None = None
    """Where that text ends: the first character behind it."""


class FilePathLike(Protocol):
    """A path such as a `pathlib.Path`."""

    def __fspath__(self) -> str: ...


class Image(Struct, frozen=True):
    """An image of an answer."""

    data: bytes
    """The bytes of its file."""
    media_type: str
    """Its media type, such as `image/png`."""

    def save(self, path: str | FilePathLike) -> None:
        """Write the bytes to a file at `path`."""
        with open(path, "wb") as file:  # noqa: PTH123 - converters import no file system
            file.write(self.data)

    def __repr__(self) -> str:
        return f"<Image: {self.media_type}, {len(self.data):,} bytes; see .data .save(path)>"


def citations_of(output: Iterable[AnyItem]) -> list[Citation]:
    """What the texts of an answer cite, in their order; then the sources of its searches that no text cites."""
    cited: list[Citation] = []
    searched: list[Citation] = []
    length = 0
    for item in output:
        if isinstance(item, Message) and item.role == "assistant":
            for part in (OutputText(text=item.content),) if isinstance(item.content, str) else item.content:
                if isinstance(part, OutputText):
                    cited += filter(None, (_citation(note, length) for note in part.annotations or ()))
                    length += len(part.text)
        elif isinstance(item, WebSearchCall | FileSearchCall):
            searched += _sources(item)
    named = {name for one in cited for name in (one.url, one.file_id) if name}
    others = dict.fromkeys(one for one in searched if one.url not in named and one.file_id not in named)
    return [*cited, *others]


def _citation(note: AnyAnnotation, offset: int) -> Citation | None:
    start: int | None = None
    end: int | None = None
    match note:
        case UrlCitation():
            names = {"url": None if note.url.startswith(DOCUMENT) else note.url, "title": note.title}
            if note.end_index:  # the format requires a position, so that sources of the whole answer have an empty one
                start, end = note.start_index or 0, note.end_index
        case FileCitation():
            names = {"file_id": note.file_id, "title": note.filename}
            start, end = note.start_index, note.index if note.end_index is None else note.end_index
        case ContainerFileCitation():
            names = {"file_id": note.file_id, "title": note.filename}
            start, end = note.start_index, note.end_index
        case FilePath():
            names = {"file_id": note.file_id}
        case Unknown():
            names = {name: value for name in TEXTS if isinstance(value := note.get(name), str)}
    source: dict[str, Any] = {name: value for name, value in names.items() if value}
    if isinstance(note, SourceCitation):
        source |= {name: value for name in SOURCE_FIELDS if (value := getattr(note, name)) is not None}
    if not source:
        return None
    return Citation(
        **source,
        output_start=None if start is None else start + offset,
        output_end=None if end is None else end + offset,
    )


TEXTS = ("title", "url", "file_id", "cited_text")
"""Fields of a citation that an annotation of an unknown kind may have too."""


def _sources(item: WebSearchCall | FileSearchCall) -> Iterator[Citation]:
    """The sources that a search found."""
    if isinstance(item, FileSearchCall):
        for found in item.results or ():
            yield Citation(file_id=found.file_id, title=found.filename, cited_text=found.text)
    elif isinstance(item.action, Search):
        for source in item.action.sources or ():
            if isinstance(source, UrlSource):
                yield Citation(url=source.url, title=source.title or None)
    elif isinstance(item.action, OpenPage) and item.action.url and item.status != "failed":
        yield Citation(url=item.action.url)


def images_of(output: Iterable[AnyItem]) -> list[Image]:
    """The images that an answer holds as base64, in their order."""
    return [image for item in output if isinstance(item, ImageGenerationCall) and (image := _image(item))]


def _image(item: ImageGenerationCall) -> Image | None:
    media = parse_data_url(item.result or "")
    try:
        data = binascii.a2b_base64(standard(media.data if media else item.result or ""), strict_mode=True)
    except ValueError:
        return None
    named = item.output_format and f"image/{TYPES.get(item.output_format, item.output_format)}"
    kind = type_by_bytes(data) or (media and media.type) or named or "application/octet-stream"
    return Image(data, kind) if data else None


TYPES = {"svg": "svg+xml", "jpg": "jpeg"}
"""Media types of images whose file format has another name."""
