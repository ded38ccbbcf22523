"""Parts of Responses and blocks of this wire, and what blocks say that Responses has no word for.

Before changing this file, know that a history goes back to a vendor that refuses blank texts, so that these are left out there,
and that leftovers may be forged. Follows the vision, PDF, citations and caching guides of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses, not_in, not_taken
from ...responses.leftovers import NEAR, SPELLING, report_foreign
from ...responses.media import data_url, parse_data_url
from ...unknown import Decoder, Model, Opt, Unknown, base, convert, extras, given, or_none, or_unset
from ...vendors.dialects import MessagesDialect, MessagesModel
from .._left import ABSENT, as_object, as_plain, report_unknown, sent
from . import types

T = TypeVar("T", bound=Struct)

WIRE = "anthropic_messages"
DEFAULT = MessagesDialect()
"""The wire's own vendor."""

encode = msgspec.json.Encoder().encode
plain = as_plain

NOTHING = Raw(b"{}")
"""The input of a tool that was not given any."""
EMPTY = (UNSET, None, "", 0, NOTHING)
"""What says nothing, however it is written."""

_objects = msgspec.json.Decoder(dict[str, Raw])
_decoders: dict[type, Decoder[Any]] = {}


def merged(struct: T, fields: dict[str, Any], path: str, lost: Losses) -> T:
    """`struct` with plain `fields` set, added or taken away; unchanged, and reported, where they do not fit it."""
    if not fields:
        return struct
    kind = type(base(struct)) if isinstance(struct, Model) else type(struct)
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = Decoder(kind)
    try:
        whole = _objects.decode(encode(struct))
        for name, value in fields.items():
            inner = getattr(struct, name, None)
            if value == ABSENT:
                whole.pop(name, None)
            elif isinstance(inner, Model) and isinstance(value, dict):
                whole[name] = Raw(encode({**plain(inner), **value}))
            else:
                whole[name] = Raw(encode(value))
        return cast("T", decoder.decode(encode(whole)))
    except (DecodeError, TypeError, ValueError):
        lost.dropped(path, f"fields that do not fit: {', '.join(fields)}")
        return struct


def returned(struct: T, kept: dict[str, Any], path: str, lost: Losses) -> T:
    """`struct` with the fields that its document had; where it says nothing itself, that is written as it was there."""
    spelled: dict[str, Any] = kept.get(SPELLING, {})
    empty = {name: value for name, value in spelled.items() if getattr(struct, name, True) in EMPTY}
    fields = {name: value for name, value in kept.items() if name not in (SPELLING, "message")}
    return merged(struct, fields | empty, path, lost)


def beyond(was: Model, same: Model, spelled: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What `was` says that `same`, encoded from what it means, does not: of `spelled` fields, and absent ones, as spelling."""
    found, differs = extras(was), dict[str, Any]()
    for name in same.__struct_fields__:
        value = getattr(was, name)
        if value != getattr(same, name):
            (differs if value is UNSET or name in spelled else found)[name] = sent(value)
    return found | ({SPELLING: differs} if differs else {})


def kinds(form: Any) -> frozenset[type]:
    """The structs of an open union: a value of another type is `Unknown`, or has fields its struct does not declare."""
    return frozenset(get_args(get_args(form)[0]))


def kind_of(struct: Model | Unknown) -> str:
    """The `type` of an item, a part or a tool."""
    return struct.kind if isinstance(struct, Unknown) else str(struct.__struct_config__.tag)


def left(fields: dict[str, Any]) -> ours.Leftovers | None:
    """`fields` as leftovers of this wire."""
    return {WIRE: fields} if fields else None


_Placed = tuple[Annotated[int, Meta(ge=0, lt=2**31)], dict[str, Any]]
"""Something that is put back at a place in a list."""


class _Notes(Struct):
    """How a document was written."""

    empty: dict[str, Any] | UnsetType = UNSET
    reasoning: dict[str, Any] | UnsetType = UNSET
    messages: list[_Placed] | UnsetType = UNSET
    tool_choice: dict[str, bool | None] | UnsetType = UNSET
    cache_control: dict[str, Any] | UnsetType = UNSET
    mcp_servers: dict[str, dict[str, Any]] | UnsetType = UNSET
    allowed_callers: Opt[list[str]] = UNSET
    stop_reason: Opt[str | dict[Literal["absent"], Any]] = UNSET


class _ToolNotes(Struct):
    spelling: _Notes | UnsetType = UNSET


class _Own(Struct):
    """Leftovers that are looked into, not only put back."""

    spelling: _Notes | UnsetType = UNSET
    block: dict[str, Any] | UnsetType = UNSET
    message: dict[str, Any] | UnsetType = UNSET
    messages: list[_Placed] | UnsetType = UNSET
    tools: dict[str, _ToolNotes] | UnsetType = UNSET
    other_tools: list[_Placed] | UnsetType = UNSET
    mcp_servers: dict[str, dict[str, Any]] | UnsetType = UNSET
    output_config: dict[str, Any] | UnsetType = UNSET
    stop_details: dict[str, Any] | UnsetType | None = UNSET
    error: dict[str, Any] | UnsetType = UNSET


def own(leftovers: ours.Leftovers | None) -> dict[str, Any]:
    """What this wire left; nothing where somebody else wrote what it could not have."""
    fields = leftovers.get(WIRE) if leftovers else None
    if not fields:
        return {}
    try:
        convert(fields, _Own)
    except msgspec.ValidationError:
        return {}
    return fields


def own_fields(
    leftovers: ours.Leftovers | None, path: str, lost: Losses, request: ours.Request | None = None
) -> dict[str, Any]:
    """What this wire left, with what others left, and what does not fit, reported."""
    if leftovers is None:
        return {}
    report_foreign(leftovers, WIRE, path, lost, request)
    fields = own(leftovers)
    if not fields and leftovers.get(WIRE):
        lost.dropped(f"{path}{'.' if path else ''}leftovers.{WIRE}", "fields that do not fit")
    return fields


def rest(struct: Struct, names: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of `struct` named, where they are present, and those it does not declare; as plain values."""
    found = extras(struct) if hasattr(struct, "__extras__") else {}
    for name in names:
        if (value := getattr(struct, name)) is not UNSET:
            found[name] = plain(value) if isinstance(value, Struct | list) else value
    return found


IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"
MAX_MARKS = 4

TTL = {"30m": "1h", "12h": "1h", "5m": "5m", "1h": "1h"}
"""How long a cached stretch lives, ours on the left. The way back prefers the shorter of ours."""
TTL_BACK = {"1h": "30m"}

_block: Decoder[types.AnyBlock] = Decoder(types.AnyBlock)
_PARTS = kinds(ours.ContentPart)
_TEXT_SUFFIXES = (".txt", ".md", ".csv", ".html", ".htm", ".xml", ".json", ".py", ".log")
_B = TypeVar("_B")


class Context:
    """What every part of one encoding shares: the losses, the facts, and the cache marks as they come."""

    __slots__ = ("beside_call", "dialect", "lost", "marks", "model", "replay")

    def __init__(self, lost: Losses, dialect: MessagesDialect, model: MessagesModel, *, replay: bool) -> None:
        self.lost = lost
        self.replay = replay  # a history on its way back to the vendor, which refuses blank texts
        self.beside_call = False  # except beside a call, where models say them
        self.dialect = dialect
        self.model = model
        self.marks: list[tuple[str, types.MarkableBlock | types.Tool]] = []

    def marked(self, block: _B, path: str) -> _B:
        """`block`, noted where it ends a cached stretch."""
        if isinstance(block, types.MarkableBlock) and given(block.cache_control):
            self.marks.append((path, block))
        return block

    def thin_marks(self, automatic: bool) -> None:
        """Take the marks beyond the vendor's four away: the first three and the newest stay."""
        most = MAX_MARKS - automatic
        for path, marked in self.marks[most - 1 : -1] if len(self.marks) > most else ():
            marked.cache_control = UNSET
            self.lost.dropped(path, "a cache mark beyond the four Anthropic takes")


# --- parts to blocks ------------------------------------------------------------------------------------------------


def blocks_of(parts: Iterable[ours.ContentPart], path: str, context: Context) -> list[types.AnyBlock]:
    """Content blocks from the parts at `path`."""
    blocks = [block_of(part, f"{path}[{j}]", context) for j, part in enumerate(parts)]
    return [block for block in blocks if block is not None]


def block_of(part: ours.ContentPart, path: str, context: Context) -> types.AnyBlock | None:
    """The block a part is on this wire; nothing, and a loss, where it is none."""
    # Plain text without anything on it is nearly everything there is.
    if type(part) is ours.InputText and part.leftovers is None and part.prompt_cache_breakpoint is None:
        return text_block(part.text, path, context)
    lost = context.lost
    if isinstance(part, Unknown):
        lost.dropped(path, not_in(f"a part of type {part.kind!r}", "Anthropic"))
        return None
    fields = own_fields(part.leftovers, path, lost)
    if "block" in fields:
        whole = _whole(part, fields["block"])
        if whole is not None:
            return context.marked(whole, path)
        lost.dropped(path, "the block of a part that was changed since")
        fields = {}
    if type(part) not in _PARTS:
        report_unknown(part, path, lost)
    block, mark = _new_block(part, path, context), getattr(part, "prompt_cache_breakpoint", None)
    if block is None:
        if getattr(part, "text", None) == "" and (given(mark) or fields):
            lost.dropped(path, not_taken("what hangs on an empty text", "Anthropic"))
        return None
    if given(mark):
        report_unknown(mark, f"{path}.prompt_cache_breakpoint", lost)
        if mark.mode != "explicit":
            lost.dropped(f"{path}.prompt_cache_breakpoint.mode", not_in(repr(mark.mode), "Anthropic"))
        block.cache_control = mark_of(mark.ttl, fields, f"{path}.prompt_cache_breakpoint.ttl", lost)
    if hasattr(part, "prompt_cache_breakpoint") and fields.get(
        "cache_control"
    ):  # which was looked at, or is no longer meant
        fields = {name: value for name, value in fields.items() if name != "cache_control"}
    return context.marked(returned(block, fields, path, lost), path)


def _whole(part: ours.ContentPart, block: dict[str, Any]) -> types.AnyBlock | None:
    """The block among a part's leftovers, as long as the part still says what the block says."""
    try:
        decoded = _block.decode(encode(block))
    except (ValueError, TypeError):
        return None
    return decoded if part_of(decoded) == part else None


def mark_of(ttl: str | None, kept: dict[str, Any], path: str, lost: Losses) -> types.CacheControl:
    """A cache mark for so long; as it was written on this wire, where that still says the same."""
    said = as_object(kept.get("cache_control") or kept.get(SPELLING, {}).get("cache_control"))
    if said and TTL_BACK.get(str(said.get("ttl"))) == ttl:
        return merged(types.CacheControl(), said, path, lost)
    if given(ttl) and (ttl not in TTL or ttl == "12h"):
        lost.changed(path, f"{ttl} became one hour, the longest there is")
    return types.CacheControl(ttl=TTL.get(ttl, "1h") if given(ttl) else UNSET)


def ttl_of(mark: types.CacheControl, kept: dict[str, Any], spelled: dict[str, Any]) -> str | None:
    """How long a mark lasts in Responses; what that has no word for goes to `kept`, how it was written to `spelled`."""
    ttl = TTL_BACK.get(mark.ttl or "")
    if extras(mark) or mark.type != "ephemeral":
        kept["cache_control"] = plain(mark)
    elif mark.ttl is not UNSET and ttl is None:
        spelled["cache_control"] = plain(mark)
        if mark.ttl != "5m":
            spelled[NEAR] = {**spelled.get(NEAR, {}), "cache_control.ttl": f"a cache lifetime of {mark.ttl}"}
    if ttl is not None:
        spelled[NEAR] = {**spelled.get(NEAR, {}), "cache_control.ttl": f"a cache lifetime of {mark.ttl}, read as {ttl}"}
    return ttl


def _new_block(part: ours.ContentPart, path: str, context: Context) -> types.Text | types.Image | types.Document | None:
    match part:
        case ours.InputText() | ours.OutputText() | ours.PlainText() | ours.SummaryText() | ours.ReasoningText():
            return text_block(part.text, path, context)
        case ours.RefusalPart():
            return text_block(part.refusal, path, context)
        case ours.InputImage() | ours.ComputerScreenshot() | ours.InputFile():
            return _media(part, path, context)
        case ours.InputAudio():
            context.lost.refused(path, not_taken("audio", "Anthropic"))
        case ours.InputVideo():
            context.lost.refused(path, not_taken("video", "Anthropic"))
        case Unknown():
            pass
    return None


def text_block(text: str, path: str, context: Context) -> types.Text | None:
    """A text block; nothing for blank text that would go back to the vendor, which refuses it."""
    if context.replay and (not text or (text.isspace() and not context.beside_call)):
        if text:
            context.lost.dropped(path, not_taken("blank text", "Anthropic"))
        return None
    return types.Text(text=text)


def _media(
    part: ours.InputImage | ours.ComputerScreenshot | ours.InputFile, path: str, context: Context
) -> types.Image | types.Document | None:
    lost, by_reference = context.lost, context.dialect.url_sources
    if given(part.detail) and part.detail != "auto":
        lost.dropped(f"{path}.detail", "Anthropic has no levels of detail")
    is_file = isinstance(part, ours.InputFile)
    url, data = (part.file_url, part.file_data) if isinstance(part, ours.InputFile) else (part.image_url, None)
    source: Any = None
    if given(part.file_id):
        if by_reference and part.file_id.startswith("file_"):
            source = types.FileSource(file_id=part.file_id)
        else:
            lost.refused(path, f"the file {part.file_id!r}, which is not one of this vendor's")
    elif given(url) and url.startswith("data:") and not is_file:
        media = parse_data_url(url)
        if media is None or media.type not in IMAGE_TYPES:
            lost.refused(path, f"an image that is not base64 of one of {', '.join(IMAGE_TYPES)}")
        else:
            source = types.Base64Source(media_type=media.type, data=media.data)
    elif given(url):
        if by_reference:
            source = types.UrlSource(url=url)
        else:
            lost.refused(path, "a URL, which this host does not fetch; send the data itself")
    elif isinstance(part, ours.InputFile) and given(data):
        source = _data(data, or_unset(part.filename), path, lost)
    else:
        lost.refused(path, f"{'a file' if is_file else 'an image'} without a source")
    if source is None:
        return None
    return (
        types.Document(source=source, title=or_unset(part.filename))
        if isinstance(part, ours.InputFile)
        else types.Image(source=source)
    )


def _data(data: str, name: Opt[str], path: str, lost: Losses) -> types.Base64Source | types.TextSource | None:
    url = parse_data_url(data)
    media, content = url or (_guessed(data, (name or "").lower()), data)
    if url is None and media:
        lost.changed(f"{path}.file_data", f"came without a type and is taken for {media}")
    if media == PDF:
        return types.Base64Source(media_type=PDF, data=content)
    if not media.startswith("text/"):
        lost.refused(path, f"a file of type {media or 'unknown'}; Anthropic takes PDF and text")
        return None
    if media != "text/plain":
        lost.changed(path, f"{media} is sent as text/plain")
    try:
        return types.TextSource(media_type="text/plain", data=binascii.a2b_base64(content).decode())
    except ValueError:
        lost.refused(path, "a text file that is not base64 of UTF-8")
        return None


def _guessed(data: str, name: str) -> str:
    """The media type of base64 that came without one, from its first bytes or the file's name."""
    if data.startswith("JVBERi0") or name.endswith(".pdf"):
        return PDF
    return "text/plain" if name.endswith(_TEXT_SUFFIXES) else ""


# --- blocks to parts ------------------------------------------------------------------------------------------------


def part_of(block: types.AnyBlock) -> ours.ContentPart:
    """The part that a block of a user, a system or a tool is in Responses."""
    match block:
        case types.Text():
            text = ours.InputText(text=block.text)
            if type(block) is types.Text and block.cache_control is UNSET and block.citations is UNSET:
                return text
            return _dressed(text, block, "citations")
        case types.Image(source=types.Base64Source(media_type=media, data=data)):
            return _dressed(ours.InputImage(image_url=data_url(media, data)), block, "transformations")
        case types.Image(source=types.UrlSource(url=url)):
            return _dressed(ours.InputImage(image_url=url), block, "transformations")
        case types.Image(source=types.FileSource(file_id=file_id)):
            return _dressed(ours.InputImage(file_id=file_id), block, "transformations")
        case types.Document(source=source, title=title):
            file = ours.InputFile(filename=or_none(title))
            match source:
                case types.Base64Source(media_type=media, data=data):
                    file.file_data = data_url(media, data)
                case types.TextSource(media_type="text/plain" as media, data=data):
                    file.file_data = data_url(media, binascii.b2a_base64(data.encode(), newline=False).decode())
                case types.UrlSource(url=url):
                    file.file_url = url
                case types.FileSource(file_id=file_id):
                    file.file_id = file_id
                case _:
                    return _shown(block)
            return _dressed(file, block, "context", "citations")
        case _:
            return _shown(block)


def _dressed(
    part: ours.InputText | ours.InputImage | ours.InputFile, block: types.MarkableBlock, *kept: str
) -> ours.ContentPart:
    """`part` with the cache mark of `block`, and the fields to be `kept` among its leftovers."""
    fields, mark, spelled = rest(block, kept), block.cache_control, dict[str, Any]()
    source: Any = getattr(block, "source", None)
    if more := extras(source):
        fields["source"] = more
    if given(mark):
        part.prompt_cache_breakpoint = ours.CacheBreakpoint(ttl=ttl_of(mark, fields, spelled))
    elif mark is None:
        fields["cache_control"] = None
    if isinstance(block, types.Document) and block.title is None:
        fields["title"] = None
    if spelled:
        fields[SPELLING] = spelled
    part.leftovers = left(fields)
    return part


def _shown(block: types.AnyBlock) -> ours.ContentPart:
    """What can be shown of a block that Responses has no part for; the block itself is among the leftovers."""
    text = ""
    match block:
        case types.ContainerUpload(file_id=file_id):
            return ours.InputFile(file_id=file_id, leftovers=left({"block": plain(block)}))
        case types.SearchResult():
            text = "\n\n".join((f"{block.title}\n{block.source}", *(piece.text for piece in block.content)))
        case types.Document(source=types.ContentSource(content=str(text))):
            pass
        case types.Document(source=types.ContentSource(content=[*pieces])):
            text = "\n\n".join(piece.text for piece in pieces if isinstance(piece, types.Text))
        case types.ToolReference(tool_name=text):
            pass
        case _:
            pass
    return ours.InputText(text=text, leftovers=left({"block": plain(block)}))
