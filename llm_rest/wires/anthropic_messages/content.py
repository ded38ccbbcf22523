"""Conversion of content parts and blocks, calls and results, both ways; and the shared context of one encoding.

Before changing this file, know that the vendor rejects blank texts in a history, so that these are left out there; that
arguments are validated, never parsed and rewritten; that ids are made the same way every time; and that a block without
an equivalent in Responses is stored with its part, and restored while the part is unchanged. Follows the Messages
reference and the vision, PDF, citations and caching guides of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses, not_in, not_taken
from ...responses.carriers import BLOCK, NEAR, SPELLING
from ...responses.parts import data_url, parse_data_url
from ...unknown import Decoder, Model, Opt, Unknown, base, extras, given, or_none, or_unset, with_extras
from ...vendors.dialects import MessagesDialect, MessagesModel, messages_model
from ..kept import Rules, diff, note, own_leftovers, patch, recall
from ..leftovers import report_unknown, struct_of
from ..tools import Call, SentTools, call_arguments, json_value, object_arguments, restore_tool, wire_name
from . import types
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

_B = TypeVar("_B")
M = TypeVar("M", bound=Model)

ANTHROPIC = MessagesDialect()
"""The wire's own vendor."""

Output = ours.FunctionCallOutput | ours.CustomToolCallOutput

encode = msgspec.json.Encoder().encode
__all__ = ["ANTHROPIC", "call_id", "wire_id"]

NOTHING = Raw(b"{}")
"""The input of a tool that has none."""


def as_leftovers(left: Json) -> ours.Leftovers | None:
    """The result of `diff`, as leftovers of this wire."""
    return {WIRE: left} if left else None


def comparing() -> Context:
    """A context for encoding only to compare with a document."""
    return Context(Losses(), ANTHROPIC, _ANY, replay=True)


def set_fields(struct: M, least: Json, fields: Json, decoder: Decoder[Any], path: str, lost: Losses) -> M:
    """A document with plain `fields` set; unchanged, with a loss, where they are invalid. `least` are required ones."""
    try:
        found = decoder.decode(encode({**least, **fields}))
    except (DecodeError, TypeError, ValueError):
        lost.dropped(path, f"fields that do not fit: {', '.join(fields)}")
        return struct
    for name in fields.keys() & set(base(struct).__struct_fields__):
        setattr(struct, name, getattr(found, name))
    return with_extras(struct, extras(struct) | extras(found))


# --- the context of one encoding -------------------------------------------------------------------------------------

MAX_MARKS = 4

CODE = "code_execution"
"""Code execution in the version that the model decides, which a document's own version replaces."""
_ANY = replace(messages_model(""), code_execution=CODE)


class Context:
    """The shared state of one encoding: the losses, dialect and model, and the cache breakpoints so far."""

    __slots__ = ("dialect", "first_marks", "keeps_blank", "lost", "marks", "model", "replay")

    def __init__(self, lost: Losses, dialect: MessagesDialect, model: MessagesModel, *, replay: bool) -> None:
        self.lost = lost
        self.replay = replay  # a history sent to the vendor, which rejects blank texts
        self.keeps_blank = False  # except those that models write beside other blocks
        self.dialect = dialect
        self.model = model
        self.marks: list[tuple[str, types.MarkableBlock | types.Tool]] = []
        self.first_marks = MAX_MARKS - 1  # which are never removed

    def marked(self, block: _B, path: str) -> _B:
        """`block`, recorded if it has a cache breakpoint."""
        if given(getattr(block, "cache_control", None)):
            self.marks.append((path, cast("Any", block)))
        return block

    def path(self, i: int) -> str:
        """The path of the item at position `i`."""
        return f"{'input' if self.replay else 'output'}[{i}]"

    def thin_marks(self) -> None:
        """Remove cache breakpoints beyond the vendor's limit of four: the first three and the newest stay."""
        for path, marked in self.marks[self.first_marks : -1]:
            marked.cache_control = UNSET
            self.lost.dropped(path, "a cache mark beyond the four that Anthropic supports")
        del self.marks[self.first_marks : -1]


# --- ids and names ---------------------------------------------------------------------------------------------------

MARK = "llmr-"
"""Prefix of an id that replaces one this wire does not support; the rest is its base64url."""

_legal_id = re.compile(r"[a-zA-Z0-9_-]+").fullmatch
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")


def wire_id(call_id: str, repeated: int = 0) -> str:
    """A call id for this wire: itself where it is legal and was not used before, else one made from it."""
    if not repeated and call_id.isidentifier() and call_id.isascii():  # as nearly all are
        return call_id
    if not repeated and _legal_id(call_id) and not call_id.startswith(MARK):
        return call_id
    text = f"{call_id}\0{repeated}" if repeated else call_id
    data = binascii.b2a_base64(text.encode("utf-8", "surrogatepass"), newline=False)
    return MARK + data.translate(_TO_URL).rstrip(b"=").decode()


def call_id(wire: str) -> str:
    """The original id for a result of `wire_id`."""
    if not wire.startswith(MARK):
        return wire
    data = wire[len(MARK) :].encode("ascii", "replace").translate(_FROM_URL)
    try:
        text = binascii.a2b_base64(data + b"=" * (-len(data) % 4)).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError):
        return wire
    original, _, count = text.partition("\0")
    repeated = int(count) if len(count) < 8 and count.isascii() and count.isdigit() else 0
    return original if wire_id(original, repeated) == wire else wire


# --- parts and blocks ------------------------------------------------------------------------------------------------

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"

TTL = {"30m": "1h", "12h": "1h", "5m": "5m", "1h": "1h"}
"""Lifetimes of a cache entry, ours on the left. Decoding prefers the shorter of ours."""
TTL_BACK = {"1h": "30m"}

RULES = Rules(
    groups=frozenset({"output_config"}),
    defaults={"strict": False, "ttl": "5m"},
    words=frozenset({"type", "role"}),
)
"""For all documents: five minutes is the default lifetime of a cache entry."""

_block: Decoder[types.AnyBlock] = Decoder(types.AnyBlock)
_TEXT_SUFFIXES = (".txt", ".md", ".csv", ".html", ".htm", ".xml", ".json", ".py", ".log")


def encode_content(parts: Sequence[ours.ContentPart], path: str, context: Context) -> list[types.AnyBlock]:
    """The blocks for the content parts at `path`."""
    blocks = [encode_part(part, f"{path}[{j}]", context) for j, part in enumerate(parts)]
    return [block for block in blocks if block is not None]


def encode_part(part: ours.ContentPart, path: str, context: Context) -> types.AnyBlock | None:
    """The block for a part; `None`, and a loss, where there is none."""
    # Nearly every part is plain text without any other field.
    if type(part) is ours.InputText and part.leftovers is None and part.prompt_cache_breakpoint is None:
        return encode_text(part.text, path, context)
    lost = context.lost
    if isinstance(part, Unknown):
        lost.dropped(path, not_in(f"a part of type {part.kind!r}", "Anthropic"))
        return None
    left = own_leftovers(part, WIRE, path, lost)
    block, mark = _encode_part(part, path, context), getattr(part, "prompt_cache_breakpoint", None)
    if block is None and getattr(part, "text", None) == "" and (given(mark) or left.keys() - {BLOCK, SPELLING}):
        lost.dropped(path, not_taken("fields of an empty text", "Anthropic"))
    elif block is not None and given(mark):
        report_unknown(mark, f"{path}.prompt_cache_breakpoint", lost)
        if mark.mode != "explicit":
            lost.dropped(f"{path}.prompt_cache_breakpoint.mode", not_in(repr(mark.mode), "Anthropic"))
        block.cache_control = encode_mark(mark.ttl, f"{path}.prompt_cache_breakpoint.ttl", lost)
    if BLOCK in left:
        whole = recall(left[BLOCK], block, _block)
        if whole is block:
            lost.dropped(path, "the block of a part that was changed since")
        block = whole
    elif block is not None:
        block = patch(block, left)
    return None if block is None else context.marked(block, path)


def decode_part(block: types.AnyBlock) -> ours.ContentPart:
    """The part for a block of a user, a system or a tool; the nearest one where there is no equivalent."""
    if type(block) is types.Text and block.cache_control is block.citations is UNSET:
        return ours.InputText(text=block.text)
    part, mark = _decode_part(block), getattr(block, "cache_control", None)
    if given(mark):
        part.prompt_cache_breakpoint = ours.CacheBreakpoint(ttl=TTL_BACK.get(mark.ttl or ""))
    made = encode_part(part, "", comparing())
    same = made is not None and type(made) is struct_of(block)
    left = diff(cast("Model", block), cast("Model", made), RULES) if same else {BLOCK: note(block, made)}
    part.leftovers = as_leftovers(left | inexact_ttl(mark, left))
    return part


def encode_mark(ttl: str | None, path: str, lost: Losses) -> types.CacheControl:
    """A cache breakpoint with that lifetime."""
    if given(ttl) and (ttl not in TTL or ttl == "12h"):
        lost.changed(path, f"{ttl} became one hour, the longest there is")
    return types.CacheControl(ttl=TTL.get(ttl, "1h") if given(ttl) else UNSET)


def inexact_ttl(mark: Opt[types.CacheControl], left: Json) -> Json:
    """The notes in `left`, with the lifetime of a cache breakpoint that Responses has only approximately."""
    if not given(mark) or not given(mark.ttl) or mark.ttl not in TTL_BACK:
        return {}
    near = {"cache_control.ttl": f"a cache lifetime of {mark.ttl}, read as {TTL_BACK[mark.ttl]}"}
    return {SPELLING: {**left.get(SPELLING, {}), NEAR: near}}


def _encode_part(
    part: ours.ContentPart, path: str, context: Context
) -> types.Text | types.Image | types.Document | None:
    match part:
        case ours.InputText() | ours.OutputText() | ours.PlainText() | ours.SummaryText() | ours.ReasoningText():
            return encode_text(part.text, path, context)
        case ours.RefusalPart():
            return encode_text(part.refusal, path, context)
        case ours.InputImage() | ours.ComputerScreenshot() | ours.InputFile():
            return _encode_media(part, path, context)
        case ours.InputAudio() | ours.InputVideo():
            context.lost.refused(path, not_taken(part.type.removeprefix("input_"), "Anthropic"))
        case Unknown():
            pass
    return None


def encode_text(text: str, path: str, context: Context) -> types.Text | None:
    """A text block; `None` for blank text that would be sent back to the vendor, which rejects it."""
    if context.replay and (not text or (text.isspace() and not context.keeps_blank)):
        if text:
            context.lost.dropped(path, not_taken("blank text", "Anthropic"))
        return None
    return types.Text(text=text)


def _encode_media(
    part: ours.InputImage | ours.ComputerScreenshot | ours.InputFile, path: str, context: Context
) -> types.Image | types.Document | None:
    lost, by_reference = context.lost, context.dialect.url_sources
    if given(part.detail) and part.detail != "auto":
        lost.dropped(f"{path}.detail", "Anthropic has no levels of detail")
    file = part if isinstance(part, ours.InputFile) else None
    url = file.file_url if file else cast("ours.InputImage", part).image_url
    source: Any = None
    if given(part.file_id):
        if by_reference and part.file_id.startswith("file_"):
            source = types.FileSource(file_id=part.file_id)
        else:
            lost.refused(path, f"the file {part.file_id!r}, which is not one of this vendor's")
    elif given(url) and url.startswith("data:") and not file:
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
    elif file and given(file.file_data):
        source = _encode_data(file.file_data, file.filename or "", path, lost)
    else:
        lost.refused(path, f"{'a file' if file else 'an image'} without a source")
    if source is None:
        return None
    return types.Document(source=source, title=or_unset(file.filename)) if file else types.Image(source=source)


def _encode_data(data: str, name: str, path: str, lost: Losses) -> types.Base64Source | types.TextSource | None:
    url = parse_data_url(data)
    media, content = (url.type, url.data) if url else (_guessed_type(data, name.lower()), data)
    if url is None and media:
        lost.changed(f"{path}.file_data", f"has no media type and is treated as {media}")
    if media == PDF:
        return types.Base64Source(media_type=PDF, data=content)
    if not media.startswith("text/"):
        lost.refused(path, f"a file of type {media or 'unknown'}; Anthropic supports PDF and text")
        return None
    if media != "text/plain":
        lost.changed(path, f"{media} is sent as text/plain")
    try:
        return types.TextSource(media_type="text/plain", data=binascii.a2b_base64(content).decode())
    except ValueError:
        lost.refused(path, "a text file that is not base64 of UTF-8")
        return None


def _guessed_type(data: str, name: str) -> str:
    """The media type of base64 data without one, from its first bytes or the file's name."""
    if data.startswith("JVBERi0") or name.endswith(".pdf"):
        return PDF
    return "text/plain" if name.endswith(_TEXT_SUFFIXES) else ""


def _decode_part(block: types.AnyBlock) -> ours.InputText | ours.InputImage | ours.InputFile:
    match block:
        case types.Image(source=types.Base64Source(media_type=media, data=data)):
            return ours.InputImage(image_url=data_url(media, data))
        case types.Image(source=types.UrlSource(url=url)):
            return ours.InputImage(image_url=url)
        case types.Image(source=types.FileSource(file_id=file_id)):
            return ours.InputImage(file_id=file_id)
        case types.Document(source=types.Base64Source(media_type=media, data=data), title=title):
            return ours.InputFile(filename=or_none(title), file_data=data_url(media, data))
        case types.Document(source=types.TextSource(media_type="text/plain" as media, data=data), title=title):
            data = binascii.b2a_base64(data.encode(), newline=False).decode()
            return ours.InputFile(filename=or_none(title), file_data=data_url(media, data))
        case types.Document(source=types.UrlSource(url=url), title=title):
            return ours.InputFile(filename=or_none(title), file_url=url)
        case types.Document(source=types.FileSource(file_id=file_id), title=title):
            return ours.InputFile(filename=or_none(title), file_id=file_id)
        case types.ContainerUpload(file_id=file_id):
            return ours.InputFile(file_id=file_id)
        case types.SearchResult(title=title, source=source, content=pieces):
            return ours.InputText(text="\n\n".join((f"{title}\n{source}", *(piece.text for piece in pieces))))
        case types.Document(source=types.ContentSource(content=[*pieces])):
            return ours.InputText(text="\n\n".join(one.text for one in pieces if isinstance(one, types.Text)))
        case (
            types.Text(text=text)
            | types.Document(source=types.ContentSource(content=str(text)))
            | types.ToolReference(tool_name=text)
        ):
            return ours.InputText(text=text)
        case _:
            return ours.InputText(text="")


# --- calls and results -----------------------------------------------------------------------------------------------

TOOLSETS = ("computer", "browser")
"""Groups of the vendor's tools, which are namespaces in Responses."""


def _namespace(toolset: Opt[str]) -> str | None:
    return toolset if given(toolset) and toolset in TOOLSETS else None


def encode_call(item: Call, id: str, i: int, context: Context) -> types.ToolUse:
    """The block of the call at position `i`, with its id at Anthropic."""
    text = item.arguments if type(item) is ours.FunctionCall else ""
    input = json_value(text) if text.startswith("{") else None
    block = types.ToolUse(id, wire_name(item.name), input or NOTHING)
    if input and item.leftovers is None and item.caller is None and item.namespace is None and item.async_ is None:
        return block  # as nearly all
    lost, path = context.lost, context.path(i)
    if not input:
        block.input = object_arguments(call_arguments(item, path, lost), path, lost)
    if item.namespace in TOOLSETS:
        block.toolset_name = item.namespace
    elif item.namespace is not None:
        block.name = wire_name(item.name, item.namespace)
        lost.emulated(f"{path}.namespace", "a tool of a namespace is called by both names in one")
    if item.async_:
        lost.dropped(f"{path}.async", "Anthropic waits for every call")
    if item.caller is not None:
        block.caller = _encode_caller(item.caller, path, context)
    block = patch(block, own_leftovers(item, WIRE, path, lost))
    if block.caller and block.caller.type == CODE:
        block.caller.type = context.model.code_execution
    return context.marked(block, path)


def _encode_caller(caller: ours.Caller, path: str, context: Context) -> Opt[types.Caller]:
    match caller:
        case ours.Direct():
            return types.Caller(type="direct")
        case ours.ByProgram(caller_id=run) if run.startswith("srvtoolu_"):
            return types.Caller(type=CODE, tool_id=run)
        case _:
            context.lost.dropped(f"{path}.caller", "a caller that this vendor does not support")
            return UNSET


def decode_call(block: types.ToolUse, id: str | None, status: str | None, names: SentTools) -> Call:
    """The item of a call; `names` maps tools with another name or type in the request."""
    text, caller = str(block.input, "utf-8", "replace"), block.caller
    arguments = "{}" if text == "null" else text
    call = ours.FunctionCall(id=id, status=status, call_id=call_id(block.id), name=block.name, arguments=arguments)
    bare = caller is block.toolset_name is block.cache_control is UNSET and type(block) is types.ToolUse
    if bare and text == arguments and not names:
        return call
    if given(caller):
        call.caller = ours.Direct() if caller.type == "direct" else None
        if given(caller.tool_id):
            call.caller = ours.ByProgram(caller_id=caller.tool_id)
    call.namespace = _namespace(block.toolset_name)
    found = restore_tool(call, names, "", Losses())
    found.caller = call.caller
    made = encode_call(found, block.id, 0, comparing())
    if text != "null":
        made.input = block.input  # its text is the call's, JSON or not
    found.leftovers = as_leftovers(diff(block, made, RULES))
    return found


def encode_result(item: Output, call: types.ToolUse, i: int, context: Context) -> types.ToolResult:
    """The block of the output at position `i`, for the block of its call."""
    output = item.output
    block = types.ToolResult(call.id, output if output and type(output) is str else UNSET)
    bare = item.leftovers is None and item.is_error is None and call.toolset_name is UNSET
    named = item.namespace is not None or item.name is not None if type(item) is ours.FunctionCallOutput else True
    if bare and not named and type(output) is str:
        return block  # as nearly all
    path = context.path(i)
    if isinstance(item, ours.FunctionCallOutput) and item.name and wire_name(item.name) != call.name:
        context.lost.dropped(f"{path}.name", "another name than that of the call")
    block.is_error = or_unset(item.is_error)
    if not isinstance(output, str):
        block.content = _encode_output(output, f"{path}.output", context)
    if isinstance(item, ours.FunctionCallOutput) and item.namespace in TOOLSETS:
        block.toolset_name = item.namespace
    elif call.toolset_name in TOOLSETS:
        block.toolset_name = call.toolset_name
    return context.marked(patch(block, own_leftovers(item, WIRE, path, context.lost)), path)


def _encode_output(output: Sequence[ours.ContentPart], path: str, context: Context) -> Any:
    blocks = encode_content(output, path, context)
    if len(blocks) < len(output) > 1:
        for j, part in enumerate(output):
            if getattr(part, "text", None) == "":
                context.lost.dropped(f"{path}[{j}]", not_taken("an empty text", "Anthropic"))
    return blocks if blocks or not output else UNSET


def decode_result(block: types.ToolResult) -> ours.FunctionCallOutput:
    """The output for a block."""
    content = block.content
    item = ours.FunctionCallOutput(
        call_id=call_id(block.tool_use_id),
        output=[decode_part(piece) for piece in content] if isinstance(content, list) else content or "",
        is_error=or_none(block.is_error),
        namespace=_namespace(block.toolset_name),
    )
    bare = type(block) is types.ToolResult and block.cache_control is block.is_error is block.toolset_name is UNSET
    if not bare or type(content) is not str or not content:
        call = types.ToolUse(block.tool_use_id, "", NOTHING)
        item.leftovers = as_leftovers(diff(block, encode_result(item, call, 0, comparing()), RULES))
    return item
