"""What people and tools say: parts of messages and of tool outputs, and the blocks they are on this wire.

A block that Responses has no part for is shown as the nearest part (often an empty text) with the whole block among its
leftovers, and comes back as long as the part still says what the block says. Before changing this file, know that parts are
encoded far more often than anything else here, so what is rare stays behind one check. Follows the vision, PDF, citations and
prompt caching guides of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...dialects import MessagesDialect, MessagesModel
from ...losses import Losses
from ...responses.leftovers import SPELLING
from ...responses.media import data_url, parse_data_url
from ...unknown import Opt, Unknown, extras, given
from . import types
from .carried import decode_block, document_fields, kinds, left, merged, own_fields, plain, report_extras, rest

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"
MAX_MARKS = 4

TTL = {"30m": "1h", "12h": "1h", "5m": "5m", "1h": "1h"}
"""How long a cached stretch lives, ours on the left. The way back prefers the shorter of ours."""
TTL_BACK = {"1h": "30m"}

_PARTS = kinds(ours.ContentPart)
_TEXT_SUFFIXES = (".txt", ".md", ".csv", ".html", ".htm", ".xml", ".json", ".py", ".log")


class Context:
    """What every part of one encoding shares: the losses, the facts, and the cache marks as they come."""

    __slots__ = ("dialect", "lost", "marks", "model", "replay")

    def __init__(self, lost: Losses, dialect: MessagesDialect, model: MessagesModel, *, replay: bool) -> None:
        self.lost = lost
        self.replay = replay  # a history on its way back to the vendor, which refuses blank texts
        self.dialect = dialect
        self.model = model
        self.marks: list[tuple[str, types.MarkableBlock | types.Tool]] = []

    def thin_marks(self, automatic: bool) -> None:
        """Take the marks beyond the vendor's four away: the first three and the newest stay."""
        most = MAX_MARKS - automatic
        for path, marked in self.marks[most - 1 : -1] if len(self.marks) > most else ():
            marked.cache_control = UNSET
            self.lost.dropped(path, "a cache mark beyond the four this wire takes")


# --- cache marks ----------------------------------------------------------------------------------------------------


def cache_control(mark: ours.CacheBreakpoint, path: str, lost: Losses) -> types.CacheControl:
    """A cache breakpoint on this wire."""
    if not given(mark.ttl):
        return types.CacheControl()
    ttl = TTL.get(mark.ttl)
    if ttl is None or mark.ttl == "12h":
        lost.changed(f"{path}.prompt_cache_breakpoint.ttl", f"{mark.ttl} became one hour, the longest there is")
    return types.CacheControl(ttl=ttl or "1h")


def breakpoint_of(mark: types.CacheControl) -> ours.CacheBreakpoint:
    """The breakpoint that `mark` is in Responses."""
    return (
        ours.CacheBreakpoint(ttl=TTL_BACK[mark.ttl])
        if given(mark.ttl) and mark.ttl in TTL_BACK
        else ours.CacheBreakpoint()
    )


# --- parts to blocks ------------------------------------------------------------------------------------------------


def blocks_of(parts: Iterable[ours.ContentPart], path: str, context: Context) -> list[types.AnyBlock]:
    """Content blocks from the parts at `path`."""
    blocks: list[types.AnyBlock] = []
    block: types.AnyBlock | None
    for j, part in enumerate(parts):
        # Plain text without anything on it is nearly everything there is.
        if type(part) is ours.InputText and part.leftovers is UNSET and part.prompt_cache_breakpoint is UNSET:
            block = text_block(part.text, f"{path}[{j}]", context)
        else:
            block = block_of(part, f"{path}[{j}]", context)
        if block is not None:
            blocks.append(block)
    return blocks


def block_of(part: ours.ContentPart, path: str, context: Context) -> types.AnyBlock | None:
    """The block a part is on this wire; nothing, and a loss, where it is none."""
    lost = context.lost
    if isinstance(part, Unknown):
        lost.dropped(path, f"a part of type {part.type!r}, which this wire does not know")
        return None
    left_here = own_fields(part.leftovers, path, lost) if part.leftovers else {}
    if "type" in left_here:
        whole = _whole(part, left_here)
        if whole is not None:
            return _marked(whole, path, context)
    if type(part) not in _PARTS:
        report_extras(part, path, lost)
    block = _new_block(part, path, context)
    if block is None:
        return None
    mark = getattr(part, "prompt_cache_breakpoint", UNSET)
    if given(mark):
        block.cache_control = cache_control(mark, path, lost)
    fields = {} if "type" in left_here else document_fields(left_here)
    spelled = left_here.get(SPELLING, {}).get("cache_control")
    if spelled is not None and given(mark) and _spells(spelled, mark):
        fields["cache_control"] = spelled
    if fields:
        block = merged(block, fields, path, lost)
    return _marked(block, path, context)


def _marked(block: types.AnyBlock, path: str, context: Context) -> types.AnyBlock:
    if isinstance(block, types.MarkableBlock) and given(block.cache_control):
        context.marks.append((path, block))
    return block


def _spells(spelled: dict[str, Any], mark: ours.CacheBreakpoint) -> bool:
    return TTL_BACK.get(spelled.get("ttl", ""), UNSET) == mark.ttl


def _whole(part: ours.ContentPart, block: dict[str, Any]) -> types.AnyBlock | None:
    """The block among a part's leftovers, as long as the part still says what the block says."""
    try:
        decoded = decode_block(block)
    except (ValueError, TypeError):
        return None
    return decoded if part_of(decoded) == part else None


def _new_block(part: ours.ContentPart, path: str, context: Context) -> types.Text | types.Image | types.Document | None:
    match part:
        case (
            ours.InputText(text=text)
            | ours.OutputText(text=text)
            | ours.PlainText(text=text)
            | ours.RefusalPart(refusal=text)
        ):
            return text_block(text, path, context)
        case ours.SummaryText(text=text) | ours.ReasoningText(text=text):
            return text_block(text, path, context)
        case ours.InputImage() | ours.ComputerScreenshot():
            return _image(part, path, context)
        case ours.InputFile():
            return _document(part, path, context)
        case ours.InputAudio():
            context.lost.refused(path, "audio, which this wire does not take")
        case ours.InputVideo():
            context.lost.refused(path, "video, which this wire does not take")
        case Unknown():
            pass
    return None


def text_block(text: str, path: str, context: Context) -> types.Text | None:
    """A text block; nothing for blank text that would go back to the vendor, which refuses it."""
    if context.replay and (not text or text.isspace()):
        if text:
            context.lost.dropped(path, "blank text, which this wire refuses")
        return None
    return types.Text(text=text)


def _image(part: ours.InputImage | ours.ComputerScreenshot, path: str, context: Context) -> types.Image | None:
    if given(part.detail) and part.detail != "auto":
        context.lost.dropped(f"{path}.detail", "this wire has no levels of detail")
    source: types.Base64Source | types.UrlSource | types.FileSource | None
    if given(part.file_id):
        source = _file(part.file_id, path, context)
    elif not given(part.image_url):
        context.lost.refused(path, "an image without a source")
        return None
    elif part.image_url.startswith("data:"):
        media = parse_data_url(part.image_url)
        if media is None or media.type not in IMAGE_TYPES:
            context.lost.refused(path, f"an image that is not base64 of one of {', '.join(IMAGE_TYPES)}")
            return None
        source = types.Base64Source(media_type=media.type, data=media.data)
    else:
        source = _url(part.image_url, path, context)
    return None if source is None else types.Image(source=source)


def _url(url: str, path: str, context: Context) -> types.UrlSource | None:
    if not context.dialect.url_sources:
        context.lost.refused(path, "a URL, which this host does not fetch; send the data itself")
        return None
    return types.UrlSource(url=url)


def _file(file_id: str, path: str, context: Context) -> types.FileSource | None:
    if not context.dialect.url_sources or not file_id.startswith("file_"):
        context.lost.refused(path, f"the file {file_id!r}, which is not one of this vendor's")
        return None
    return types.FileSource(file_id=file_id)


def _document(part: ours.InputFile, path: str, context: Context) -> types.Document | None:
    if given(part.detail) and part.detail != "auto":
        context.lost.dropped(f"{path}.detail", "this wire has no levels of detail")
    source: types.Base64Source | types.TextSource | types.UrlSource | types.FileSource | None
    if given(part.file_id):
        source = _file(part.file_id, path, context)
    elif given(part.file_url):
        source = _url(part.file_url, path, context)
    elif given(part.file_data):
        source = _data(part.file_data, part.filename, path, context)
    else:
        context.lost.refused(path, "a file without a source")
        return None
    return None if source is None else types.Document(source=source, title=part.filename)


def _data(data: str, name: Opt[str], path: str, context: Context) -> types.Base64Source | types.TextSource | None:
    url = parse_data_url(data)
    media, content = url or (_guessed(data, name or ""), data)
    if url is None and media:
        context.lost.changed(f"{path}.file_data", f"came without a type and is taken for {media}")
    if media == PDF:
        return types.Base64Source(media_type=PDF, data=content)
    if media.startswith("text/"):
        if media != "text/plain":
            context.lost.changed(path, f"{media} is sent as text/plain")
        try:
            return types.TextSource(media_type="text/plain", data=binascii.a2b_base64(content).decode())
        except ValueError:
            context.lost.refused(path, "a text file that is not base64 of UTF-8")
            return None
    context.lost.refused(path, f"a file of type {media or 'unknown'}; this wire takes PDF and text")
    return None


def _guessed(data: str, name: str) -> str:
    """The media type of base64 that came without one, from its first bytes or the file's name."""
    if data.startswith("JVBERi0") or name.lower().endswith(".pdf"):
        return PDF
    return "text/plain" if name.lower().endswith(_TEXT_SUFFIXES) else ""


# --- blocks to parts ------------------------------------------------------------------------------------------------


def parts_of(blocks: Iterable[types.AnyBlock]) -> list[ours.ContentPart]:
    """The parts that blocks of a user, a system or a tool are in Responses."""
    return [part_of(block) for block in blocks]


def part_of(block: types.AnyBlock) -> ours.ContentPart:
    """The part a block is in Responses."""
    match block:
        case types.Text():
            part = ours.InputText(text=block.text)
            if type(block) is types.Text and block.cache_control is UNSET and block.citations is UNSET:
                return part
            return _dressed(part, block, rest(block, ("citations",)))
        case types.Image(source=types.Base64Source(media_type=media, data=data)):
            return _dressed(ours.InputImage(image_url=data_url(media, data)), block, rest(block, ("transformations",)))
        case types.Image(source=types.UrlSource(url=url)):
            return _dressed(ours.InputImage(image_url=url), block, rest(block, ("transformations",)))
        case types.Image(source=types.FileSource(file_id=file_id)):
            return _dressed(ours.InputImage(file_id=file_id), block, rest(block, ("transformations",)))
        case types.Document():
            file = _file_part(block)
            return _shown(block) if file is None else _dressed(file, block, rest(block, ("context", "citations")))
        case _:
            return _shown(block)


def _file_part(block: types.Document) -> ours.InputFile | None:
    match block.source:
        case types.Base64Source(media_type=media, data=data):
            return ours.InputFile(file_data=data_url(media, data), filename=block.title)
        case types.TextSource(media_type="text/plain" as media, data=text):
            data = binascii.b2a_base64(text.encode(), newline=False).decode()
            return ours.InputFile(file_data=data_url(media, data), filename=block.title)
        case types.UrlSource(url=url):
            return ours.InputFile(file_url=url, filename=block.title)
        case types.FileSource(file_id=file_id):
            return ours.InputFile(file_id=file_id, filename=block.title)
        case _:
            return None


def _dressed(
    part: ours.InputText | ours.InputImage | ours.InputFile, block: types.MarkableBlock, fields: dict[str, Any]
) -> ours.ContentPart:
    """`part` with the cache mark of `block`, and `fields` among its leftovers."""
    mark = block.cache_control
    if given(mark):
        part.prompt_cache_breakpoint = found = breakpoint_of(mark)
        if extras(mark) or mark != types.CacheControl(ttl=TTL["30m"] if found.ttl else UNSET):
            fields[SPELLING] = {"cache_control": plain(mark)}
    elif mark is None:
        fields["cache_control"] = None
    part.leftovers = left(fields)
    return part


def _shown(block: types.AnyBlock) -> ours.ContentPart:
    """What can be shown of a block that Responses has no part for; the block itself is among the leftovers."""
    match block:
        case types.SearchResult():
            text = "\n\n".join((f"{block.title}\n{block.source}", *(piece.text for piece in block.content)))
            part: ours.InputText | ours.InputFile = ours.InputText(text=text)
        case types.Document(source=types.ContentSource(content=str(text))):
            part = ours.InputText(text=text)
        case types.Document(source=types.ContentSource(content=[*pieces])):
            part = ours.InputText(text="\n\n".join(piece.text for piece in pieces if isinstance(piece, types.Text)))
        case types.ToolReference(tool_name=name):
            part = ours.InputText(text=name)
        case types.ContainerUpload(file_id=file_id):
            part = ours.InputFile(file_id=file_id)
        case _:
            part = ours.InputText(text="")
    part.leftovers = left(plain(block))
    return part
