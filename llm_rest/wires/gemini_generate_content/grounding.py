"""The sources of an answer: what grounding and citations say about its texts, and annotations.

Before changing this file, know that segments count bytes of UTF-8 while annotations count characters, that a segment may mean
another part than it names (thoughts and streams shift the count), which its own text tells, and that all of it is known only
when the answer is over, so the search it tells of stands behind the text. Follows Google's pages on grounding with Google
Search and file search (read 2026-11-20).
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ...losses import not_in
from ...responses.items import Message, Search, UrlSource, WebSearchCall
from ...responses.leftovers import own, report_foreign
from ...responses.parts import FileCitation, OutputText, UrlCitation
from ...unknown import given, or_none
from .._left import report_unknown
from . import types
from .carried import left, spelling, stated
from .types import WIRE
from .writer import GROUNDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Losses
    from ...responses.items import AnyItem
    from ...responses.parts import AnyAnnotation, ContentPart
    from ...unknown import Opt

Said = tuple[int, OutputText]
"""A text of an answer and the place of its part."""


# --- this wire to Responses -----------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A stretch of the text number `text`, in characters; else all of it."""

    text: int
    start: Opt[int] = UNSET
    end: Opt[int] = UNSET


def annotated(items: list[AnyItem], said: Sequence[Said], candidate: types.Candidate) -> list[AnyItem]:
    """The items with the sources of their texts; the texts are those `said`, in their order."""
    sourced: dict[int, ContentPart] = {}
    for (_, part), sources in zip(said, sources_of(said, candidate), strict=True):
        if sources:
            kept = own(part.leftovers, WIRE)
            notes = left(kept, {**spelling(kept), GROUNDED: True})
            sourced[id(part)] = replace(part, annotations=sources, leftovers=notes)
    return [
        replace(item, content=[sourced.get(id(part), part) for part in item.content])
        if isinstance(item, Message) and not isinstance(item.content, str)
        else item
        for item in items
    ]


def sources_of(said: Sequence[Said], candidate: types.Candidate) -> list[list[AnyAnnotation]]:
    """The sources of each of the texts."""
    found: list[list[AnyAnnotation]] = [[] for _ in said]
    grounding, citations = candidate.grounding_metadata, candidate.citation_metadata
    if not said:
        return found
    if given(grounding):
        chunks, texts = grounding.grounding_chunks or [], _Texts(said)
        for support in grounding.grounding_supports or ():
            place = _locate(support.segment if given(support.segment) else types.Segment(), texts)
            for index in support.grounding_chunk_indices or ():
                source = _source(chunks[index], place) if 0 <= index < len(chunks) else None
                if source is not None:
                    found[place.text].append(source)
    if given(citations):
        for cited in citations.citation_sources or citations.citations or ():
            if given(cited.uri):
                start, end = cited.start_index or 0, cited.end_index
                title = cited.title if given(cited.title) else cited.uri
                found[0].append(UrlCitation(url=cited.uri, title=title, start_index=start, end_index=or_none(end)))
    return found


def _source(chunk: types.GroundingChunk, place: Place) -> AnyAnnotation | None:
    uri: Opt[str] = UNSET
    title: Opt[str] = UNSET
    if given(chunk.web):
        uri, title = chunk.web.uri, chunk.web.title
    elif given(chunk.retrieved_context):
        passage = chunk.retrieved_context
        uri, title = passage.uri, passage.title
        if not given(uri):
            file_id = passage.document_name or passage.file_search_store or ""
            return FileCitation(file_id=file_id, filename=or_none(title), index=or_none(place.end))
    else:
        found = chunk.maps or chunk.image or {}
        uri = next((u for u in (found.get("uri"), found.get("sourceUri")) if isinstance(u, str)), UNSET)
        title = found["title"] if isinstance(found.get("title"), str) else UNSET
    return (
        UrlCitation(url=uri, title=or_none(title), start_index=or_none(place.start), end_index=or_none(place.end))
        if given(uri)
        else None
    )


MOST_TEXTS = 64
"""In so many texts a segment is looked for that is not where it says; in more, every segment would cost all of them."""
MOST_QUOTED = 1_000_000
"""So many characters of a text are repeated in the segments about it, beside the text itself."""
MOST_SEARCHED = 4_000_000
"""So many characters are searched for segments that are not where they say, beside one search of every text."""


class _Text:
    """A text and its UTF-8: where a stretch in bytes stands in characters, and the other way round."""

    __slots__ = ("_counts", "_data", "_sizes", "size", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._data = b"" if text.isascii() else text.encode("utf-8", "surrogatepass")
        self.size = len(self._data) or len(text)
        blocks = (self._data[start : start + _BLOCK] for start in range(0, len(self._data), _BLOCK))
        self._counts = [0, *accumulate(len(block.translate(None, _CONTINUATION)) for block in blocks)]
        self._sizes: list[int] | None = None

    def stretch(self, start: int, end: int) -> tuple[int, int] | None:
        """A stretch in bytes as one in characters; `None` where it is not in the text."""
        if not 0 <= start <= end <= self.size:
            return None
        return (self._characters(start), self._characters(end)) if self._data else (start, end)

    def says(self, stretch: tuple[int, int] | None, text: str) -> bool:
        """Whether that stands in this stretch."""
        return stretch is not None and stretch[1] - stretch[0] == len(text) and self.text[slice(*stretch)] == text

    def bytes_to(self, to: int) -> int:
        """The size of so many characters."""
        if not self._data:
            return to
        if self._sizes is None:
            blocks = (self.text[start : start + _BLOCK] for start in range(0, len(self.text), _BLOCK))
            self._sizes = [0, *accumulate(len(block.encode("utf-8", "surrogatepass")) for block in blocks)]
        block = to // _BLOCK
        return self._sizes[block] + len(self.text[block * _BLOCK : to].encode("utf-8", "surrogatepass"))

    def _characters(self, to: int) -> int:
        """How many characters end before that byte."""
        block = to // _BLOCK
        begun = self._counts[block] + len(self._data[block * _BLOCK : to].translate(None, _CONTINUATION))
        cut = self._data[to : to + 1] in _CONTINUING
        return begun - cut


_BLOCK = 1024
_CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""
_CONTINUING = frozenset(bytes([byte]) for byte in _CONTINUATION)


class _Texts:
    """The texts of an answer: each `named` by the place of its part, and where its bytes begin."""

    def __init__(self, said: Sequence[Said]) -> None:
        self.all = [_Text(part.text) for _, part in said]
        self.named: dict[int, int] = {}
        for k, (place, _) in enumerate(said):
            self.named.setdefault(place, k)
        self.begins = [0, *accumulate(text.size for text in self.all)]
        self._searched = -sum(len(text.text) for text in self.all)

    def find(self, text: str, k: int) -> int:
        """Where a text stands in the text number `k`; -1 where it does not, or where too much was searched before."""
        if self._searched > MOST_SEARCHED:
            return -1
        whole = self.all[k].text
        at = whole.find(text)
        self._searched += len(whole) if at < 0 else at + len(text)
        return at


def _locate(segment: types.Segment, texts: _Texts) -> Place:
    """Where a segment stands: in the part it names if its text is there, else wherever it is, else where its bytes lead."""
    said, named = texts.all, texts.named.get(segment.part_index or 0, 0)
    if not given(segment.end_index):
        return Place(named)
    start, end = segment.start_index or 0, segment.end_index
    there = said[named].stretch(start, end)
    if given(segment.text):
        if there is not None and said[named].says(there, segment.text):
            return Place(named, *there)
        others = range(len(said)) if len(said) <= MOST_TEXTS else ()
        for k in others:
            found = said[k].stretch(start, end)
            if found is not None and said[k].says(found, segment.text):
                return Place(k, *found)
        # Streamed texts are cut into parts where the whole answer has one.
        k = bisect_right(texts.begins, start) - 1
        if 0 <= k < len(said):
            before, size = texts.begins[k], texts.begins[k + 1] - texts.begins[k]
            found = said[k].stretch(start - before, min(end - before, size))
            if found is not None and said[k].says(found, segment.text[: found[1] - found[0]]):
                return Place(k, *found)
        for k in (named, *others):
            at = texts.find(segment.text, k)
            if at >= 0:
                return Place(k, at, at + len(segment.text))
    return Place(named, *(there or ()))


def search_of(candidate: types.Candidate, id: Opt[str]) -> WebSearchCall | None:
    """The search that grounding tells of."""
    grounding = candidate.grounding_metadata
    if not given(grounding) or not grounding.web_search_queries:
        return None
    pages = [chunk.web.uri for chunk in grounding.grounding_chunks or () if given(chunk.web)]
    sources = [UrlSource(url=uri) for uri in pages if given(uri)]
    action = Search(queries=grounding.web_search_queries, sources=[*sources] or None)
    return WebSearchCall(id=or_none(id), status="completed", action=action, leftovers=left({}, {GROUNDED: True}))


# --- Responses to this wire -----------------------------------------------------------------------------------------


def grounding_of(said: Sequence[tuple[int, OutputText, str]], lost: Losses) -> types.GroundingMetadata | None:
    """The grounding that tells of the sources of texts, each with the place of its part and its path."""
    chunks: list[types.GroundingChunk] = []
    supports: list[types.GroundingSupport] = []
    for place, part, path in said:
        text, quoted = _Text(part.text), -len(part.text)
        for j, source in enumerate(part.annotations or ()):
            if not isinstance(source, UrlCitation):
                lost.dropped(f"{path}.annotations[{j}]", not_in("a source that is no page", "Gemini"))
                continue
            report_foreign(source.leftovers, WIRE, f"{path}.annotations[{j}]", lost)
            report_unknown(source, f"{path}.annotations[{j}]", lost)
            segment = types.Segment(part_index=place or UNSET)
            if given(source.end_index):
                size = len(part.text)
                start, end = (min(max(at, 0), size) for at in (source.start_index or 0, source.end_index))
                if (start, end) != (source.start_index or 0, source.end_index) or start > end:
                    lost.changed(f"{path}.annotations[{j}]", "a source of a stretch that is not in the text")
                segment.start_index, segment.end_index = text.bytes_to(start) or UNSET, text.bytes_to(end)
                quoted += max(end - start, 0)
                # Stretches may overlap, and a hostile answer has many of the whole text.
                segment.text = part.text[start:end] if quoted <= MOST_QUOTED else UNSET
            supports.append(types.GroundingSupport(segment=segment, grounding_chunk_indices=[len(chunks)]))
            chunks.append(types.GroundingChunk(web=types.WebChunk(uri=source.url, title=stated(source.title))))
    if not chunks:
        return None
    return types.GroundingMetadata(grounding_chunks=chunks, grounding_supports=supports)
