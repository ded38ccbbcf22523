"""Conversion of content, both ways: texts, images, audio and files, and the sources of texts (grounding).

A part of ours becomes `inlineData` (data URLs, base64) or `fileData` (URIs), which require a media type; without one it is
derived from the end of the URI. Before changing this file, know that a part without an equivalent is decoded as an empty
text whose leftovers hold it; that segments of grounding count bytes of UTF-8 while annotations count characters; and that a
segment may mean another part than its index (thoughts and streams shift it), which its own text shows. Follows Google's
pages on file input methods, media resolution, grounding with Google Search and file search (read 2026-11-20).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Losses, no_such, not_in
from ...responses.carriers import SPELLING, digest, own, report_foreign
from ...responses.parts import DOCUMENT, SOURCE_FIELDS, data_url, parse_data_url, standard
from ...unknown import Unknown, as_list, as_object, given, or_none, or_unset
from ...vendors.dialects import GeminiDialect, GeminiModel
from ..kept import Rules, diff, own_leftovers, patch
from ..leftovers import ID_PREFIXES, kind_of, report_unknown
from . import types
from .types import WIRE, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...unknown import Opt

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
"""Media types by file extension."""

VENDOR = ("gs://", "https://generativelanguage.googleapis.com/")
"""Prefixes of URIs that the vendor stores itself, and others cannot fetch."""
VIDEO_HOSTS = ("youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be")

DETAILS = {
    "low": "MEDIA_RESOLUTION_LOW",
    "high": "MEDIA_RESOLUTION_HIGH",
    "original": "MEDIA_RESOLUTION_ULTRA_HIGH",
}
"""Detail levels of images, ours on the left. Without one the model decides, which is our `auto`."""
DETAILS_BACK = {theirs: our for our, theirs in DETAILS.items()}


class Context(NamedTuple):
    """The shared state of one encoding. `replay`: it is a history sent to the vendor, not an answer."""

    lost: Losses
    dialect: GeminiDialect
    model: GeminiModel
    replay: bool


def comparing() -> Context:
    """A context for encoding only to compare with a document: everything is supported, and losses are not reported."""
    return Context(Losses(), GeminiDialect(lacks=()), GeminiModel(), replay=False)


MEDIA = Rules(apart=frozenset({"data"}))
"""Base64 for URLs and standard base64 of media are the same."""
URL_SAFE = "base64url"
"""Key of the note that base64 has the alphabet for URLs: whether it is padded."""
_TO_URL = str.maketrans("+/", "-_")
FILES = Rules(words=frozenset({"mimeType"}))
SIGNED = Rules(apart=frozenset({"data", "thoughtSignature"}))
"""Signatures of the model's parts are in envelopes."""
GROUNDED = "grounded"
"""Key of the note on grounding sources and searches: they describe an answer, and the vendor accepts none in a request."""


def is_grounded(leftovers: ours.Leftovers | None) -> bool:
    """Whether sources, or a search, are from the grounding of an answer."""
    return bool(leftovers) and bool(as_object(own(leftovers, WIRE).get(SPELLING)).get(GROUNDED))


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_content(
    content: Sequence[ours.ContentPart], path: str, context: Context, first: int = 0
) -> list[types.Part]:
    """The parts of a content at `path`, from position `first`; empty texts are left out, since the vendor rejects them."""
    parts: list[types.Part] = []
    for j, part in enumerate(content, first):
        if type(part) is ours.InputText and part.leftovers is None and part.prompt_cache_breakpoint is None:
            if part.text:
                parts.append(types.Part(text=part.text))
        else:
            found = _encode(part, f"{path}[{j}]", context)
            if found is not None:
                parts.append(found)
    return parts


def _encode(part: ours.ContentPart, path: str, context: Context) -> types.Part | None:
    lost = context.lost
    if isinstance(part, Unknown):
        lost.dropped(path, not_in(f"a part of type {part.kind!r}", "Gemini"))
        return None
    left = own_leftovers(part, WIRE, path, lost)
    if given(getattr(part, "prompt_cache_breakpoint", None)):
        lost.dropped(f"{path}.prompt_cache_breakpoint", "Gemini caches automatically and has no cache marks")
    encoded: types.Part | None
    match part:
        case (
            ours.InputText(text=text)
            | ours.OutputText(text=text)
            | ours.PlainText(text=text)
            | ours.RefusalPart(refusal=text)
        ):
            encoded = types.Part(text=text) if text or WIRE in (part.leftovers or ()) else None
        case ours.InputImage():
            encoded = _by_url(
                or_unset(part.image_url or part.file_id), "image/jpeg", left, path, context, id=not part.image_url
            )
            if encoded is not None and given(part.detail) and part.detail != "auto":
                if context.model.media_resolution and part.detail in DETAILS:
                    encoded.media_resolution = types.MediaResolution(level=DETAILS[part.detail])
                else:
                    lost.dropped(f"{path}.detail", "this model has one resolution for all images of a request")
        case ours.InputFile():
            encoded = _file(part, left, path, context)
        case ours.InputAudio(input_audio=sound):
            kind = MEDIA_TYPES["mp3"] if sound.format == "mp3" else f"audio/{sound.format}"
            encoded = types.Part(inline_data=types.Blob(mime_type=kind, data=sound.data))
        case ours.InputVideo(video_url=url):
            encoded = _by_url(url, "video/mp4", left, path, context)
        case _:
            lost.dropped(path, not_in(f"a part of type {kind_of(part)!r}", "Gemini"))
            return None
    if encoded is None or not left:
        return encoded
    encoded = patch(encoded, left)
    if encoded.inline_data and (padding := as_object(left.get(SPELLING)).get(URL_SAFE)) is not None:
        encoded.inline_data.data = _url_safe(encoded.inline_data.data or "", padded=bool(padding))
    return encoded


def _url_safe(data: str, *, padded: bool) -> str:
    """Standard base64 in the alphabet for URLs."""
    found = data.translate(_TO_URL)
    return found if padded else found.rstrip("=")


def _file(part: ours.InputFile, left: types.Json, path: str, context: Context) -> types.Part | None:
    lost, name = context.lost, part.filename or ""
    kind, data = media_type(name), part.file_data
    if data and not data.startswith("data:"):
        kind = kind or "application/pdf"
        lost.changed(f"{path}.file_data", f"bare base64, sent as {kind}")
        data = data_url(kind, data)
    places = {"file_data": data, "file_url": part.file_url, "file_id": part.file_id}
    first, *others = [place for place, value in places.items() if given(value)] or [""]
    encoded = _by_url(
        or_unset(places.get(first)), "application/pdf", left, path, context, named=kind, id=first == "file_id"
    )
    for other in others:
        lost.dropped(f"{path}.{other}", "a second place of the same file")
    if given(part.detail) and part.detail != "auto":
        lost.dropped(f"{path}.detail", no_such("option", "Gemini"))
    media = (encoded.inline_data or encoded.file_data) if encoded else None
    if name and media:
        if "displayName" in context.dialect.lacks:
            lost.dropped(f"{path}.filename", "this host does not support file names")
        else:
            media.display_name = name
    return encoded


def _by_url(
    url: Opt[str],
    guess: str,
    left: types.Json,
    path: str,
    context: Context,
    *,
    named: str | None = None,
    id: bool = False,
) -> types.Part | None:
    """The part for a URL or a file `id`. Its media type is from `named` or its name, else a guess."""
    lost = context.lost
    if not url:
        lost.dropped(path, "media without its data")
        return None
    if (media := parse_data_url(url)) is not None:
        return types.Part(inline_data=types.Blob(mime_type=media.type, data=media.data))
    our = url.startswith(VENDOR) or _host(url) in VIDEO_HOSTS
    if not our and (id or not url.startswith(("https://", "http://"))):
        what = "a file of another vendor" if id else "a URL this vendor cannot fetch"
        lost.refused(path, f"{what}: {url[:40]!r}; send its bytes, or its URI at Google")
        return None
    if not (our or context.model.external_urls or context.dialect.fetches_urls):
        lost.refused(path, "this model fetches nothing itself; send the bytes, `fetch_image(url)` gets them")
    kind = named or media_type(url)
    if kind is None and "fileData" not in left:
        lost.changed(path, f"a file of unknown media type, sent as {guess}")
    return types.Part(file_data=types.FileData(mime_type=kind or guess, file_uri=url))


def _host(uri: str) -> str:
    from urllib.parse import urlsplit  # not needed for most conversions

    try:
        return urlsplit(uri).hostname or ""
    except ValueError:
        return ""


def media_type(uri: str) -> str | None:
    """The media type for the extension of a name or URI, if it is known."""
    if _host(uri) in VIDEO_HOSTS:
        return "video/mp4"
    name = uri.partition("?")[0].partition("#")[0].rpartition("/")[2]
    return MEDIA_TYPES.get(name.rpartition(".")[2].lower())


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_content(parts: Sequence[types.Part]) -> list[ours.ContentPart]:
    """The parts of a user's content, without outputs of functions."""
    return [_decode(part) for part in parts]


def _decode(part: types.Part) -> ours.ContentPart:
    if part.text and part == types.Part(text=part.text):
        return ours.InputText(text=part.text)
    blob, file = part.inline_data, part.file_data
    found: ours.InputText | ours.InputImage | ours.InputFile | ours.InputAudio
    if part.text:
        found = ours.InputText(text=part.text)
    elif blob and blob.mime_type and blob.data and blob.mime_type.startswith("audio/"):
        format = "mp3" if blob.mime_type == MEDIA_TYPES["mp3"] else blob.mime_type.removeprefix("audio/")
        found = ours.InputAudio(input_audio=ours.AudioData(data=standard(blob.data), format=format))
    elif blob and blob.mime_type and blob.data:
        found = _visible_parts(blob.mime_type, data_url(blob.mime_type, standard(blob.data)), part, blob.display_name)
    elif file and file.file_uri and file.mime_type:
        found = _visible_parts(file.mime_type, file.file_uri, part, file.display_name)
    else:
        found = ours.InputText(text="", leftovers={WIRE: {}})
    left = diff(part, _encode(found, "", comparing()) or types.Part(), FILES if given(file) else MEDIA)
    data = blob.data if blob and blob.data else ""
    if ("-" in data or "_" in data) and data == _url_safe(standard(data), padded=(padded := data.endswith("="))):
        left = {**left, SPELLING: {**as_object(left.get(SPELLING)), URL_SAFE: padded}}
    if left or found.leftovers:
        found.leftovers = {WIRE: left}
    return found


def _visible_parts(kind: str, url: str, part: types.Part, name: Opt[str]) -> ours.InputImage | ours.InputFile:
    """The content parts for media at a URL."""
    kept = url.startswith(VENDOR)
    if kind.startswith("image/"):
        level = part.media_resolution.level if given(part.media_resolution) else None
        detail = DETAILS_BACK.get(level or "")
        return ours.InputImage(file_id=url, detail=detail) if kept else ours.InputImage(image_url=url, detail=detail)
    if url.startswith("data:"):
        return ours.InputFile(file_data=url, filename=or_none(name))
    named = or_none(name)
    return ours.InputFile(file_id=url, filename=named) if kept else ours.InputFile(file_url=url, filename=named)


# --- sources of an answer: this wire to Responses -------------------------------------------------------------------

PlacedText = tuple[int, ours.OutputText]
"""A text of an answer and the place of its part."""


class Place(NamedTuple):
    """A range of the text number `text`, in characters; else all of it."""

    text: int
    start: int | None = None
    end: int | None = None


def annotated(
    items: list[ours.AnyItem], outputs: Sequence[PlacedText], candidate: types.Candidate
) -> list[ours.AnyItem]:
    """The items with the sources of their texts; `outputs` has the texts in their order."""
    sourced: dict[int, ours.ContentPart] = {}
    for (_, part), sources in zip(outputs, sources_of(outputs, candidate), strict=True):
        if sources:
            left = own(part.leftovers, WIRE)
            left = {**left, SPELLING: {**as_object(left.get(SPELLING)), GROUNDED: True}}
            sourced[id(part)] = replace(part, annotations=sources, leftovers={WIRE: left})
    return [
        replace(item, content=[sourced.get(id(part), part) for part in item.content])
        if isinstance(item, ours.Message) and not isinstance(item.content, str)
        else item
        for item in items
    ]


def sources_of(outputs: Sequence[PlacedText], candidate: types.Candidate) -> list[list[ours.AnyAnnotation]]:
    """The sources of each of the texts."""
    found: list[list[ours.AnyAnnotation]] = [[] for _ in outputs]
    grounding, citations = candidate.grounding_metadata, candidate.citation_metadata
    if not outputs:
        return found
    texts = _Texts(outputs)
    if given(grounding):
        chunks = grounding.grounding_chunks or []
        for support in grounding.grounding_supports or ():
            place = _locate(support.segment if given(support.segment) else types.Segment(), texts)
            for index in support.grounding_chunk_indices or ():
                source = _source(chunks[index], place) if 0 <= index < len(chunks) else None
                if source is not None:
                    found[place.text].append(source)
    if given(citations):
        for cited in citations.citation_sources or citations.citations or ():
            if given(cited.uri):
                segment = types.Segment(start_index=cited.start_index, end_index=cited.end_index)
                place = _locate_bytes(segment, texts)
                title = cited.title if given(cited.title) else cited.uri
                source = ours.UrlCitation(url=cited.uri, title=title, start_index=place.start, end_index=place.end)
                found[place.text].append(source)
    return found


def _source(chunk: types.GroundingChunk, place: Place) -> ours.UrlCitation | ours.FileCitation | None:
    span: types.Json = {"start_index": place.start, "end_index": place.end}
    if given(chunk.web):
        uri, title = chunk.web.uri, chunk.web.title
    elif given(passage := chunk.retrieved_context):
        uri, title, page = passage.uri, passage.title, passage.page_number
        span["cited_text"] = or_none(passage.text)
        if given(page):
            span |= {"unit": "pages", "start": page, "end": page + 1}
        if not given(uri):
            file_id = passage.document_name or passage.file_search_store or ""
            return ours.FileCitation(file_id=file_id, filename=or_none(title), index=place.end, **span)
    else:
        found = chunk.maps or chunk.image or {}
        uri = next((u for u in (found.get("uri"), found.get("sourceUri")) if isinstance(u, str)), UNSET)
        title = found["title"] if isinstance(found.get("title"), str) else UNSET
    return ours.UrlCitation(url=uri, title=or_none(title), **span) if given(uri) else None


MOST_TEXTS = 64
"""The most texts to search for a segment that is not at its position; beyond, every segment would cost all of them."""
MOST_QUOTED = 1_000_000
"""The most characters of a text that are repeated in its segments, beside the text itself."""
MOST_SEARCHED = 4_000_000
"""The most characters to search for segments that are not at their positions, beside one search of every text."""


class _Text:
    """A text and its UTF-8, to convert ranges between bytes and characters."""

    __slots__ = ("_ends", "size", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        # The size in bytes of that many first characters; in ASCII the same number.
        sizes = (1 + (c > "\x7f") + (c > "\u07ff") + (c > "\uffff") for c in text)
        self._ends = None if text.isascii() else array("Q", accumulate(sizes, initial=0))
        self.size = len(text) if self._ends is None else self._ends[-1]

    def stretch(self, start: int, end: int) -> tuple[int, int] | None:
        """A range of bytes as a range of characters; `None` if it is not in the text."""
        if not 0 <= start <= end <= self.size:
            return None
        if self._ends is None:
            return start, end
        return bisect_right(self._ends, start) - 1, bisect_right(self._ends, end) - 1

    def has(self, stretch: tuple[int, int] | None, text: str) -> bool:
        """Whether that text is in this range."""
        return stretch is not None and stretch[1] - stretch[0] == len(text) and self.text[slice(*stretch)] == text

    def bytes_to(self, to: int) -> int:
        """The size in bytes of the first characters."""
        return to if self._ends is None else self._ends[to]


class _Texts:
    """The texts of an answer: each `named` by the place of its part, with the offset of its bytes."""

    def __init__(self, outputs: Sequence[PlacedText]) -> None:
        self.all = [_Text(part.text) for _, part in outputs]
        self.named: dict[int, int] = {}
        for k, (place, _) in enumerate(outputs):
            self.named.setdefault(place, k)
        self.begins = [0, *accumulate(text.size for text in self.all)]
        self._searched = -sum(len(text.text) for text in self.all)

    def find(self, text: str, k: int) -> int:
        """The position of a text in text number `k`; -1 if it is not there, or if the search limit was reached."""
        if self._searched > MOST_SEARCHED:
            return -1
        whole = self.all[k].text
        at = whole.find(text)
        self._searched += len(whole) if at < 0 else at + len(text)
        return at


def _locate(segment: types.Segment, texts: _Texts) -> Place:
    """The place of a segment: in the part of its index if its text is there, else wherever it is, else at its byte offsets."""
    outputs, named = texts.all, texts.named.get(segment.part_index or 0, 0)
    if not given(segment.end_index):
        return Place(named)
    start, end = segment.start_index or 0, segment.end_index
    there = outputs[named].stretch(start, end)
    if given(segment.text):
        others = range(len(outputs)) if len(outputs) <= MOST_TEXTS else ()
        for k in (named, *others):
            found = outputs[k].stretch(start, end)
            if found is not None and outputs[k].has(found, segment.text):
                return Place(k, *found)
        # Streamed texts are cut into parts where the whole answer has one.
        k = bisect_right(texts.begins, start) - 1
        if 0 <= k < len(outputs):
            before, size = texts.begins[k], texts.begins[k + 1] - texts.begins[k]
            found = outputs[k].stretch(start - before, min(end - before, size))
            if found is not None and outputs[k].has(found, segment.text[: found[1] - found[0]]):
                return Place(k, *found)
        for k in (named, *others):
            at = texts.find(segment.text, k)
            if at >= 0:
                return Place(k, at, at + len(segment.text))
    return Place(named, *(there or ()))


def _locate_bytes(segment: types.Segment, texts: _Texts) -> Place:
    """The place of a range of bytes of the whole answer; as it is where the answer is shorter."""
    start, end = segment.start_index or 0, or_none(segment.end_index)
    k = min(bisect_right(texts.begins, start), len(texts.all)) - 1
    before = texts.begins[k]
    found = None if end is None else texts.all[k].stretch(start - before, min(end - before, texts.all[k].size))
    return Place(k, *found) if found else Place(0, start, end)


FETCHED = {
    "URL_RETRIEVAL_STATUS_SUCCESS": "completed",
    "URL_RETRIEVAL_STATUS_ERROR": "failed",
}
"""Statuses of a page in the URL context, those of Gemini on the left; any other is a failure."""
FETCHED_BACK = {our: theirs for theirs, our in FETCHED.items()}


def reported_tools(candidate: types.Candidate, output: Sequence[ours.AnyItem], origin: str) -> list[VisibleItem]:
    """The hosted tools that the data beside an answer reports, and its `output` does not show."""
    grounding = candidate.grounding_metadata or types.GroundingMetadata()
    shown = [item.action for item in output if isinstance(item, ours.WebSearchCall)]
    suggested = {item.rendered_content for item in output if isinstance(item, ours.WebSearchCall)}
    items: list[VisibleItem] = []
    pages = {action.url for action in shown if isinstance(action, ours.OpenPage)}
    for page in as_list(as_object(candidate.url_context_metadata or {}).get("urlMetadata")):
        url, status = as_object(page).get("retrievedUrl"), as_object(page).get("urlRetrievalStatus")
        if isinstance(url, str) and url not in pages:
            pages.add(url)
            word = FETCHED.get(status, "failed") if isinstance(status, str) else "completed"
            items.append(ours.WebSearchCall(status=word, action=ours.OpenPage(url=url)))
    chunks, supports = grounding.grounding_chunks or (), grounding.grounding_supports or ()
    cited = {index for support in supports for index in support.grounding_chunk_indices or ()}
    found = [(i in cited, _source(chunk, Place(0))) for i, chunk in enumerate(chunks)]
    queries, entry = grounding.web_search_queries or None, as_object(grounding.search_entry_point or {})
    rendered = html if isinstance(html := entry.get("renderedContent"), str) and html not in suggested else None
    read = [(known, one) for known, one in found if isinstance(one, ours.UrlCitation)]
    searched = queries and not any(isinstance(action, ours.Search) for action in shown)
    if searched or rendered or any(not known and one.url not in pages for known, one in read):
        titles = {one.url: one.title for _, one in reversed(read)}
        sources = [ours.UrlSource(url=url, title=titles[url]) for url in dict.fromkeys(one.url for _, one in read)]
        action = ours.Search(queries=queries, sources=[*sources] or None)
        items.append(ours.WebSearchCall(status="completed", action=action, rendered_content=rendered))
    passages = [(known, one) for known, one in found if isinstance(one, ours.FileCitation)]
    retrieval_queries = grounding.retrieval_queries or []
    if retrieval_queries or not all(known for known, _ in passages):
        results = [
            ours.FileSearchResult(file_id=one.file_id or None, filename=one.filename, text=one.cited_text)
            for _, one in passages
        ]
        items.append(ours.FileSearchCall(status="completed", queries=retrieval_queries, results=results or None))
    for n, item in enumerate(items, len(output)):
        item.id, item.leftovers = f"{ID_PREFIXES[item.type]}_{origin}_{n}", {WIRE: {SPELLING: {GROUNDED: True}}}
    return items


# --- sources of an answer: Responses to this wire -------------------------------------------------------------------


def grounding_of(
    outputs: Sequence[tuple[int, ours.OutputText, str]], reported: Sequence[VisibleItem], lost: Losses
) -> types.Maybe[types.GroundingMetadata]:
    """The grounding for searches and the sources of texts, each with the place of its part and its path."""
    chunks: list[types.GroundingChunk] = []
    supports: list[types.GroundingSupport] = []
    places: dict[bytes, int] = {}
    indices: list[int] = []  # of the last support
    for place, part, path in outputs:
        text, quoted = _Text(part.text), -len(part.text)
        for j, source in enumerate(part.annotations or ()):
            at = f"{path}.annotations[{j}]"
            if not isinstance(source, ours.UrlCitation | ours.FileCitation):
                lost.dropped(at, not_in("a source that is neither a page nor a document", "Gemini"))
                continue
            report_foreign(source.leftovers, WIRE, at, lost)
            report_unknown(source, at, lost)
            segment = types.Segment(part_index=place or UNSET)
            last = (
                source.index if isinstance(source, ours.FileCitation) and source.end_index is None else source.end_index
            )
            if last is not None:
                size = len(part.text)
                start, end = (min(max(at, 0), size) for at in (source.start_index or 0, last))
                if (start, end) != (source.start_index or 0, last) or start > end:
                    lost.changed(f"{path}.annotations[{j}]", "a source of a stretch that is not in the text")
                segment.start_index, segment.end_index = text.bytes_to(start) or UNSET, text.bytes_to(end)
                quoted += max(end - start, 0)
                # Ranges may overlap, and a hostile answer has many of the whole text.
                segment.text = part.text[start:end] if quoted <= MOST_QUOTED else UNSET
            chunk = _chunk(source, at, lost)
            index = places.setdefault(encode(chunk), len(chunks))
            if index == len(chunks):
                chunks.append(chunk)
            if not supports or supports[-1].segment != segment:
                indices = []
                supports.append(types.GroundingSupport(segment=segment, grounding_chunk_indices=indices))
            indices.append(index)
    made = types.GroundingMetadata(grounding_chunks=chunks or UNSET, grounding_supports=supports or UNSET)
    _add_reported(made, reported, chunks)
    return made if made != types.GroundingMetadata() else UNSET


def _chunk(source: ours.UrlCitation | ours.FileCitation, path: str, lost: Losses) -> types.GroundingChunk:
    """The source of a text: a page, or a passage of a document."""
    sent = set[str]()
    if isinstance(source, ours.UrlCitation) and not source.url.startswith(DOCUMENT):
        chunk = types.GroundingChunk(web=types.WebChunk(uri=source.url, title=or_unset(source.title)))
    else:
        named = (
            (source.title, source.url) if isinstance(source, ours.UrlCitation) else (source.filename, source.file_id)
        )
        passage = types.RetrievedContext(title=or_unset(named[0]), text=or_unset(source.cited_text))
        passage.document_name = named[1] or UNSET
        sent.add("cited_text")
        if source.unit == "pages" and source.start is not None and source.end == source.start + 1:
            passage.page_number = source.start
            sent |= {"unit", "start", "end"}
        chunk = types.GroundingChunk(retrieved_context=passage)
    for name in SOURCE_FIELDS:
        if name not in sent and getattr(source, name) is not None:
            lost.dropped(f"{path}.{name}", no_such("field", "Gemini"))
    return chunk


def _add_reported(
    made: types.GroundingMetadata, reported: Sequence[VisibleItem], chunks: list[types.GroundingChunk]
) -> None:
    """Add searches, and the sources that no text cites, to the grounding."""
    known = {(chunk.web or types.WebChunk()).uri for chunk in chunks}
    passages = [chunk.retrieved_context for chunk in chunks if given(chunk.retrieved_context)]
    quoted = {(passage.document_name or None, passage.text or None) for passage in passages}
    for item in reported:
        if isinstance(item, ours.FileSearchCall):
            made.retrieval_queries = [*(made.retrieval_queries or ()), *item.queries] or UNSET
            for result in item.results or ():
                if (result.file_id, result.text) not in quoted:
                    passage = types.RetrievedContext(title=or_unset(result.filename), text=or_unset(result.text))
                    passage.document_name = or_unset(result.file_id)
                    chunks.append(types.GroundingChunk(retrieved_context=passage))
        elif isinstance(item, ours.WebSearchCall) and isinstance(item.action, ours.Search):
            made.web_search_queries = [*(made.web_search_queries or ()), *(item.action.queries or ())] or UNSET
            if item.rendered_content is not None:
                made.search_entry_point = {"renderedContent": item.rendered_content}
            for source in item.action.sources or ():
                if isinstance(source, ours.UrlSource) and source.url not in known:
                    chunks.append(
                        types.GroundingChunk(web=types.WebChunk(uri=source.url, title=or_unset(source.title)))
                    )
    made.grounding_chunks = chunks or UNSET


def pages_of(reported: Sequence[VisibleItem]) -> types.Maybe[types.Json]:
    """The pages that the model read by their URLs."""
    opened = [
        (item.action.url, item.status)
        for item in reported
        if isinstance(item, ours.WebSearchCall) and isinstance(item.action, ours.OpenPage)
    ]
    pages = [
        {"retrievedUrl": url, "urlRetrievalStatus": FETCHED_BACK.get(str(status), FETCHED_BACK["failed"])}
        for url, status in opened
    ]
    return {"urlMetadata": pages} if pages else UNSET


# --- hosted tools ---------------------------------------------------------------------------------------------------

VisibleItem = ours.WebSearchCall | ours.FileSearchCall | ours.CodeInterpreterCall
"""The visible items of a run."""

VISIBLE = frozenset({ours.WebSearchCall.type, ours.FileSearchCall.type, ours.CodeInterpreterCall.type})
"""The types of visible items."""

OUTCOMES = {"OUTCOME_OK": "completed", "OUTCOME_FAILED": "completed", "OUTCOME_DEADLINE_EXCEEDED": "incomplete"}
"""Outcomes of code execution, those of Gemini on the left; code that failed has completed."""


def fingerprint(items: Sequence[ours.AnyItem]) -> str:
    """A digest of the visible items of a run, without ids and statuses, since clients rewrite them."""
    return digest("\n".join(f"{type(item).__name__} {_visible_text(item)}" for item in items))


def _visible_text(item: ours.AnyItem) -> str:
    match item:
        case ours.CodeInterpreterCall():
            return "\n".join(
                (item.code or "", *(out.logs for out in item.outputs or () if isinstance(out, ours.CodeLogs)))
            )
        case ours.WebSearchCall(action=ours.Search(queries=queries)):
            return "\n".join(queries or ())
        case ours.WebSearchCall(action=ours.OpenPage(url=url)):
            return url or ""
        case ours.FileSearchCall(queries=queries):
            return "\n".join(queries)
        case _:
            return ""


def visible_items(parts: list[types.Part]) -> list[VisibleItem]:
    """The visible items of a run, one for each use of a tool."""
    items: list[VisibleItem] = []
    code: ours.CodeInterpreterCall | None = None
    answered = {part.tool_response.id: part.tool_response.response for part in parts if given(part.tool_response)}
    for part in parts:
        if given(part.executable_code):
            code = ours.CodeInterpreterCall(status="incomplete", code=part.executable_code.code or "", outputs=None)
            items.append(code)
        elif given(part.code_execution_result):
            if code is None:
                code = ours.CodeInterpreterCall(code="")
                items.append(code)
            result = part.code_execution_result
            code.status = OUTCOMES.get(result.outcome, "incomplete") if given(result.outcome) else "completed"
            code.outputs = [ours.CodeLogs(logs=result.output)] if given(result.output) else []
            code = None
        elif given(part.tool_call):
            status = "completed" if part.tool_call.id in answered else "in_progress"
            items += _tool_items(part.tool_call, status, answered.get(part.tool_call.id) or {})
    return items


def _tool_items(call: types.ToolCall, status: str, result: types.Json) -> list[VisibleItem]:
    args: types.Json = call.args or {}
    match call.tool_type:
        case "GOOGLE_SEARCH_WEB" | "GOOGLE_SEARCH_IMAGE":
            search = ours.WebSearchCall(status=status, action=ours.Search(queries=_texts(args.get("queries"))))
            search.rendered_content = html if isinstance(html := result.get("search_suggestions"), str) else None
            return [search]
        case "URL_CONTEXT":
            urls = _texts(args.get("urls")) or _texts([args.get("url")])
            return [ours.WebSearchCall(status=status, action=ours.OpenPage(url=url)) for url in urls]
        case "FILE_SEARCH":
            return [ours.FileSearchCall(status=status, queries=_texts(args.get("queries")))]
        case _:
            return []


def _texts(value: Any) -> list[str]:
    return [text for text in cast("Any", value) if isinstance(text, str)] if isinstance(value, list) else []
