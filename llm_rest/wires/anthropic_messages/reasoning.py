"""Conversion of thinking, both ways, and of the assistant messages that hold it: options, blocks, envelopes, items.

Before changing this file, know that supported options depend on the model; that envelopes may be forged: their payloads are
typed, and whole blocks are restored only if their types are listed. Follows the Messages reference, and the guides to
extended thinking, effort and citations, of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses
from ...responses.carriers import digest, nested, seal, unseal
from ...responses.parts import DOCUMENT
from ...unknown import Decoder, Model, Opt, Unknown, extras, given, or_none, or_unset
from ...vendors.dialects import MessagesModel, messages_model
from ..kept import diff, own_leftovers, patch, unknown
from ..leftovers import carrier, kind_of, opened, report_unopened
from ..tools import Call, SentTools
from . import types
from .content import RULES, as_leftovers, decode_call, encode, encode_call, encode_part, encode_text, wire_id
from .tools import VISIBLE, fingerprint, run_items
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .content import Context

# --- thinking and effort ---------------------------------------------------------------------------------------------

LEAST_BUDGET = 1024
BUDGETS = {"minimal": 0.0, "low": 0.0, "medium": 0.4, "high": 0.7, "xhigh": 0.9, "max": 0.95}
"""The thinking budget of older models as a share of the answer's tokens, by effort; at least `LEAST_BUDGET` tokens."""
BUDGETS_BACK = ((0.25, "low"), (0.6, "medium"))
"""The effort for a share below the number; a larger share is high."""
NEAREST = {"minimal": ("low",), "xhigh": ("high", "max"), "max": ("xhigh", "high")}
"""The replacements for an effort that a model lacks, the nearest first."""

SUMMARIES = {"auto": "summarized", "concise": "summarized", "detailed": "summarized"}
"""Forms of visible thinking, ours on the left. Decoding gives `auto`: there is one kind of summary."""

KINDS = ("adaptive", "enabled", "disabled", "between_tools")
"""The known types of `thinking`."""
EFFORTS = ("low", "medium", "high", "xhigh", "max")
NOT_THINKING = ("disabled", "between_tools")
"""Types of `thinking` without thinking before an answer."""
CHANGED = "not supported by this model or for an answer of this length; the nearest is sent"
DROP_BLOCK: Json = {"prefix_mismatch_behavior": "drop_block"}
"""`thinking.block_binding`: what happens to a thinking block whose prefix has changed."""


class ThinkingOptions(Model, kw_only=True):
    """`thinking`, and `output_config.effort`, which have one joint meaning."""

    thinking: Opt[types.ThinkingConfig] = UNSET
    effort: Opt[str] = UNSET


class OriginalThinking(ThinkingOptions, kw_only=True):
    """The thinking options of a document, with its fields that decide which of them are valid."""

    model: Opt[str] = UNSET
    max_tokens: int = 0


ORIGINAL_THINKING: Decoder[OriginalThinking] = Decoder(OriginalThinking)


def binds(request: ours.Request) -> bool:
    """Whether the model rejects thinking blocks with a changed prefix, and drops them in a request with thinking."""
    model = messages_model(request.model or "")
    is_off = request.reasoning is not None and request.reasoning.effort == "none"
    return model.binds_prefix and not (is_off and any(kind in model.thinking for kind in NOT_THINKING))


def encode_effort(
    options: ours.ReasoningOptions,
    max_tokens: int,
    context: Context,
    *,
    drops: bool = False,
    original: OriginalThinking | None = None,
    renamed: bool | None = None,
) -> ThinkingOptions:
    """The thinking options for `reasoning`; with `drops`, thinking blocks with a changed prefix are to be dropped.

    `original` are those of the document that the request was decoded from. They stand, unless `renamed` is `None`: the
    effort is another one. If it is true, the model is not the one that the document names.
    """
    lost, model = context.lost, context.model
    if original is not None and renamed is not None:
        encoded = _encode_original(original, options.effort, max_tokens, context, renamed=renamed)
    else:
        encoded = _encode_effort(or_unset(options.effort), max_tokens, model, lost)
        if original is not None:
            encoded.thinking = _with_rest(encoded.thinking, original.thinking)
    if drops and not (given(encoded.thinking) and given(encoded.thinking.block_binding)):
        encoded.thinking = encoded.thinking or types.ThinkingConfig(type="adaptive")  # this model thinks by default
        encoded.thinking.block_binding = DROP_BLOCK
    if original is not None and given(encoded.thinking):
        if options.summary == summary_of(original.thinking):
            return encoded
        encoded.thinking.display = UNSET
    if not given(options.summary):
        return encoded
    if encoded.thinking is UNSET and "adaptive" in model.thinking and model.thinks == "yes":
        encoded.thinking = types.ThinkingConfig(type="adaptive")
    if not given(encoded.thinking) or encoded.thinking.type not in ("adaptive", "enabled"):
        lost.dropped("reasoning.summary", "the model does not think for this request")
        return encoded
    encoded.thinking.display = SUMMARIES.get(options.summary, "summarized")
    if options.summary != "auto":
        lost.changed("reasoning.summary", "Anthropic has one kind of summary")
    return encoded


def _encode_original(
    original: OriginalThinking, effort: str | None, max_tokens: int, context: Context, *, renamed: bool
) -> ThinkingOptions:
    """The thinking options of a document; those that its model, or an answer of this length, cannot have are replaced."""
    model, thinking, lost = context.model, original.thinking, context.lost
    budget = thinking.budget_tokens if given(thinking) else UNSET
    known = renamed and model is not messages_model("")  # which is all that is known of other vendors' models
    no_effort = known and original.effort in EFFORTS and original.effort not in model.efforts
    no_thinking = known and given(thinking) and thinking.type in KINDS and thinking.type not in model.thinking
    no_thinking = no_thinking or (no_effort and not model.efforts)
    no_thinking = no_thinking or (given(budget) and original.max_tokens > budget >= max_tokens)
    encoded = ThinkingOptions(thinking=replace(thinking) if given(thinking) else thinking, effort=original.effort)
    if not no_effort and not no_thinking:
        return encoded
    nearest = _encode_effort(or_unset(effort), max_tokens, model, Losses())
    if no_effort or not given(original.effort):
        encoded.effort = nearest.effort
    if no_thinking:
        encoded.thinking = _with_rest(nearest.thinking, thinking)
    if encoded.effort != original.effort:
        lost.changed("output_config.effort", CHANGED)
    for name in ("type", "budget_tokens"):
        if getattr(encoded.thinking, name, UNSET) != getattr(thinking, name, UNSET):
            lost.changed(f"thinking.{name}", CHANGED)
    return encoded


def _with_rest(encoded: Opt[types.ThinkingConfig], original: Opt[types.ThinkingConfig]) -> Opt[types.ThinkingConfig]:
    """Thinking for an effort, with the fields of the original that are not about effort."""
    if not given(encoded) or not given(original):
        return encoded
    found = replace(original, type=encoded.type, budget_tokens=encoded.budget_tokens)
    if found.type in NOT_THINKING:
        found.display = found.block_binding = UNSET
    return found


def _encode_effort(effort: Opt[str], max_tokens: int, model: MessagesModel, lost: Losses) -> ThinkingOptions:
    if not given(effort):
        return ThinkingOptions()
    if effort == "none":
        off = next((kind for kind in NOT_THINKING if kind in model.thinking), None)
        if off is not None:
            return ThinkingOptions(thinking=types.ThinkingConfig(type=off))
        lost.changed("reasoning.effort", "this model always thinks; the lowest effort is requested")
        return ThinkingOptions(effort="low")
    nearest: Opt[str] = UNSET
    if model.efforts:
        others = [effort, *NEAREST[effort]] if effort in NEAREST else [effort]
        nearest = next((one for one in others if one in model.efforts), model.efforts[-1] if others[1:] else effort)
        if nearest != effort:
            lost.changed("reasoning.effort", f"this model has no effort {effort!r}; it is asked for {nearest!r}")
    if "adaptive" in model.thinking:
        return ThinkingOptions(thinking=types.ThinkingConfig(type="adaptive"), effort=nearest)
    if "enabled" not in model.thinking:
        lost.dropped("reasoning.effort", "this model does not think")
        return ThinkingOptions(effort=nearest)
    budget = max(LEAST_BUDGET, int(max_tokens * BUDGETS.get(effort, 0.7)))
    if budget >= max_tokens:
        lost.changed("reasoning.effort", f"an answer of {max_tokens} tokens is too short for thinking")
        return ThinkingOptions(thinking=types.ThinkingConfig(type="disabled"), effort=nearest)
    encoded = ThinkingOptions(thinking=types.ThinkingConfig(type="enabled", budget_tokens=budget), effort=nearest)
    expected = decode_effort(encoded, max_tokens, model)
    if expected and expected.effort != effort:
        what = f"thinking with {budget} of {max_tokens} tokens, which reads as {expected.effort!r}"
        lost.changed("reasoning.effort", what)
    return encoded


def decode_effort(options: ThinkingOptions, max_tokens: int, model: MessagesModel) -> ours.ReasoningOptions | None:
    """The reasoning options; `None` where thinking and effort are absent."""
    thinking, effort = options.thinking, or_none(options.effort)
    if given(thinking) and thinking != types.ThinkingConfig(type="adaptive", block_binding=DROP_BLOCK):
        if thinking.type in NOT_THINKING:
            effort = "none"
        elif effort is None and given(thinking.budget_tokens):
            share = thinking.budget_tokens / max(max_tokens, 1)
            effort = next((name for most, name in BUDGETS_BACK if share < most), "high")
        elif effort is None:
            effort = model.default_effort
    return None if effort is None else ours.ReasoningOptions(effort=effort, summary=summary_of(thinking))


def summary_of(thinking: Opt[types.ThinkingConfig]) -> str | None:
    """The kind of visible thinking, in Responses."""
    return "auto" if given(thinking) and thinking.display == "summarized" else None


# --- carriers --------------------------------------------------------------------------------------------------------

_A = TypeVar("_A")


class Payload(Struct, tag_field="kind", omit_defaults=True, kw_only=True):
    """The payload of an envelope of this wire."""


class Signed(Payload, tag="thinking"):
    """A thinking block without its text."""

    signature: str
    digest: str
    rest: Json = {}


class Redacted(Payload, tag="redacted_thinking"):
    """A redacted thinking block."""

    data: str
    rest: Json = {}


class Citations(Payload, tag="citations"):
    """The citations of a message's texts, one list (or null) for each; also of a message with blank texts, without any."""

    digest: str
    citations: Raw


class Blocks(Payload, tag="blocks"):
    """Whole blocks; `digest` names the visible items before them that show what they did."""

    digest: str
    blocks: Raw


AnyPayload = Signed | Redacted | Citations | Blocks

FORGED = (types.Text, types.ToolUse, types.ToolResult, types.Thinking, types.RedactedThinking)
"""The blocks that are never sealed, but converted to items."""

BLOCKS: Decoder[list[types.AnyBlock]] = Decoder(list[types.AnyBlock])
CITATIONS: Decoder[list[list[types.AnyCitation] | None]] = Decoder(list[list[types.AnyCitation] | None])


def returning_blocks(raw: Raw) -> list[types.AnyBlock] | None:
    """The blocks in an envelope, or `None` if it has another or a forged payload."""
    blocks = unsealed(BLOCKS, raw)
    return None if any(isinstance(block, FORGED) for block in blocks or ()) else blocks


def unsealed(decoder: Decoder[_A], raw: Raw) -> _A | None:
    """The payload of an envelope, or `None` if it has another or a forged one."""
    try:
        return decoder.decode(bytes(raw))
    except DecodeError:
        return None


def decode_thinking(block: types.Thinking | types.RedactedThinking, issuer: str, id: str | None) -> ours.Reasoning:
    """A thinking block as a reasoning item: its text as the summary, the rest in an envelope."""
    if isinstance(block, types.RedactedThinking):
        sealed = seal(WIRE, issuer, Redacted(data=block.data, rest=extras(block)))
        return ours.Reasoning(id=id, summary=[], encrypted_content=sealed)
    text = block.thinking
    sealed = seal(WIRE, issuer, Signed(signature=block.signature, digest=digest(text), rest=extras(block)))
    return ours.Reasoning(id=id, summary=[ours.SummaryText(text=text)] if text else [], encrypted_content=sealed)


def encode_thinking(item: ours.Reasoning, payload: Signed | Redacted, path: str, lost: Losses) -> types.AnyBlock | None:
    """The block that `decode_thinking` made the item from; `None` if its text was edited, which breaks the signature."""
    if isinstance(payload, Redacted):
        return patch(types.RedactedThinking(data=payload.data), payload.rest)
    text = "".join(part.text for part in item.summary or ())
    if digest(text) != payload.digest:
        lost.dropped(path, "thinking whose text was changed, so that its signature no longer holds")
        return None
    return patch(types.Thinking(thinking=text, signature=payload.signature), payload.rest)


# --- foreign items: items of other vendors sent through a client of this wire ----------------------------------------
#
# A gateway answers such a client on behalf of another vendor, and the client sends the answer back. Data that this wire does
# not have (reasoning, searches, compactions of that vendor) is sent as thinking, which clients store and return unread: with its
# text where it has one, else redacted, and the item in an envelope in place of the signature. These blocks never reach
# this wire's own vendor: in a request they become items again, and their vendor is another.
# A client that did not ask for thinking gets none of these blocks, and one that did gets no unreadable block as the last of an
# answer: both read the answer at a fixed place, `content[0].text` or the last block. A gateway stores what is left out, and
# finds it again by the content of the turn.

CLIENT = "client"
"""The issuer of these envelopes: any server that answers the client."""
GAP = "\n\n"

FOREIGN_ITEMS = (
    ours.Reasoning
    | ours.Compaction
    | ours.WebSearchCall
    | ours.FileSearchCall
    | ours.CodeInterpreterCall
    | ours.ImageGenerationCall
    | ours.McpCall
    | ours.McpListTools
    | ours.McpApprovalRequest
    | ours.ToolSearchCall
    | ours.ToolSearchOutput
    | ours.Program
    | ours.ProgramOutput
)
"""The items that may be sent this way: opaque items of a vendor, and records of its hosted tools."""

_item: Decoder[ours.AnyItem] = Decoder(ours.AnyItem)


class ForeignItem(Payload, tag="item"):
    """An item without the text that its block shows; `lengths` splits that into the parts named `shown`."""

    item: Raw
    shown: str = ""
    lengths: list[int] = []
    digest: str = ""


SENT = "goes to the client as thinking, and back to its vendor when the client returns it"
UNASKED = "thinking or hosted tools of another vendor, for which the client did not ask; a gateway stores it for the next turn"
LAST = "opaque state of another vendor behind the text, where clients expect the text; a gateway stores it for the next turn"


def encode_foreign_item(item: ours.AnyItem) -> types.AnyBlock | None:
    """The block for an item of another vendor, to be sent through a client; `None` for items that need not return."""
    if not isinstance(item, FOREIGN_ITEMS):
        return None
    if isinstance(item, ours.Reasoning) and (item.summary or item.content):
        return encode_foreign_thinking(item, "summary" if item.summary else "content")
    # The status is the answer's, and set again on decoding.
    unseen = replace(item, status=None, leftovers=None)
    return types.RedactedThinking(data=seal(WIRE, CLIENT, ForeignItem(item=Raw(encode(unseen)))))


def encode_foreign_thinking(item: ours.Reasoning, shown: str) -> types.Thinking:
    """Reasoning of another vendor as thinking that shows its `summary` or its `content`."""
    texts = [part.text for part in getattr(item, shown) or ()]
    text = GAP.join(texts)
    unseen = replace(item, status=None, leftovers=None)
    setattr(unseen, shown, None)
    foreign = ForeignItem(
        item=Raw(encode(unseen)), shown=shown, lengths=[len(text) for text in texts], digest=digest(text)
    )
    return types.Thinking(thinking=text, signature=seal(WIRE, CLIENT, foreign))


def decode_foreign_item(block: types.Thinking | types.RedactedThinking) -> ours.AnyItem | None:
    """The item that `encode_foreign_item` made the block from; `None` for a block of this wire's own vendor."""
    sealed = block.signature if isinstance(block, types.Thinking) else block.data
    foreign: ForeignItem | None = unseal(sealed, WIRE, CLIENT, ForeignItem)
    if foreign is None:
        return None
    item = unsealed(_item, foreign.item)
    if not isinstance(item, FOREIGN_ITEMS):
        return None
    item.leftovers = None  # which a client may have forged
    if isinstance(item, ours.Reasoning) and isinstance(block, types.Thinking):
        text = block.thinking
        if digest(text) != foreign.digest:
            return ours.Reasoning(summary=[ours.SummaryText(text=text)])
        texts: list[str] = []
        for length in foreign.lengths:
            start = sum(map(len, texts)) + len(GAP) * len(texts)
            texts.append(text[start : start + length])
        if foreign.shown == "summary":
            item.summary = [ours.SummaryText(text=text) for text in texts]
        else:
            item.content = [ours.ReasoningText(text=text) for text in texts]
    return item


def _is_nested(item: ours.Reasoning, payload: Signed | Redacted) -> bool:
    """Whether a client would return the state of a block as ours."""
    return nested(item.encrypted_content or "", payload.signature if isinstance(payload, Signed) else payload.data)


# --- assistant messages ----------------------------------------------------------------------------------------------

OUTPUT_BLOCKS = (types.Text, types.ToolUse, types.Thinking, types.RedactedThinking, types.Compaction)
"""The blocks that end a run of hosted tools."""

NO_NAMES: SentTools = {}


def _text(parts: Sequence[ours.ContentPart]) -> str:
    return "".join(part.text for part in parts if isinstance(part, ours.OutputText))


def _text_digest(parts: Sequence[ours.ContentPart]) -> str:
    return digest(_text(parts))


class BlockReader:
    """Turns the blocks of one assistant message into items: `add` each block, then `close`.

    With the id of an answer the items get ids and statuses. `parts` are those of the message that is still open,
    `hosted` the items of hosted tools, `carriers` the items without visible content, `names` the tools with another
    name in the request. Without `keep` the leftovers of texts hold no more than unknown fields.
    """

    parts: list[ours.ContentPart] | None = None
    hosted: list[ours.AnyItem] | None = None
    carriers: list[ours.AnyItem] | None = None
    _first = 0
    _citations: list[list[types.AnyCitation] | None] | None = None
    _has_blank = False  # whether one of the parts is blank
    _run: list[tuple[int, types.AnyBlock]] | None = None

    def __init__(self, issuer: str, id: str | None = None, names: SentTools | None = None, *, keep: bool) -> None:
        self.id = id
        self.keep = keep
        self.items: list[ours.AnyItem] = []
        self.names = names or NO_NAMES
        self._issuer = issuer
        self._status = None if id is None else "completed"

    def add(self, i: int, block: types.AnyBlock) -> None:
        """Add the block at position `i`."""
        if self._run is not None or (self.parts is not None and type(block) is not types.Text):
            self.flush(block)
        if isinstance(block, types.Text):
            if self.parts is None:
                self.parts, self._first = [], i
            self._add_text(block, self.parts)
        elif isinstance(block, types.ToolUse):
            self.items.append(decode_call(block, self.id_of("fc", i), self._status, self.names))
        elif isinstance(block, types.Thinking | types.RedactedThinking):
            # In an answer it is the vendor's own state, whatever it looks like: it may be a gateway that we know nothing of.
            foreign = decode_foreign_item(block) if self.id is None else None
            self.items.append(foreign or decode_thinking(block, self._issuer, self.id_of("rs", i)))
        elif isinstance(block, types.Compaction):
            sealed = seal(WIRE, self._issuer, Blocks(digest="", blocks=Raw(encode([block]))))
            self.items.append(ours.Compaction(id=self.id_of("cmp", i), encrypted_content=sealed))
        elif self._run is None:
            self._run = [(i, block)]
        else:
            self._run.append((i, block))

    def flush(self, block: types.AnyBlock | None = None) -> None:
        """Close what `block` does not continue: the texts of a message, or a run of hosted tools."""
        if self.parts is not None and (block is None or not isinstance(block, types.Text)):
            parts, self.parts = self.parts, None
            id = self.id_of("msg", self._first)
            self.items.append(ours.Message(id=id, role="assistant", status=self._status, content=parts))
            citations, self._citations = self._citations, None
            if self._has_blank:
                self._has_blank = False
                alone = not _text(parts).strip() and isinstance(block, types.ToolUse)
                if citations is None and not alone:
                    citations = [None for _ in parts]  # the blank texts of others are not sent to the vendor
            if citations is not None:
                self._carry(Citations(digest=_text_digest(parts), citations=Raw(encode(citations))), self._first)
        elif self._run is not None and (block is None or isinstance(block, OUTPUT_BLOCKS)):
            run, self._run = self._run, None
            shown = run_items(run, self.id)
            self.hosted = self.hosted or []
            self.hosted += shown
            self.items += shown
            self._carry(Blocks(digest=fingerprint(shown), blocks=Raw(encode([block for _, block in run]))), run[0][0])

    def close(self) -> list[ours.AnyItem]:
        """The items of the blocks so far."""
        if self.parts is not None or self._run is not None:
            self.flush()
        return self.items

    def id_of(self, prefix: str, i: int) -> str | None:
        """The id of the item that begins with the block at position `i`."""
        return None if self.id is None else f"{prefix}_{self.id}_{i}"

    def _add_text(self, block: types.Text, parts: list[ours.ContentPart]) -> None:
        citations = block.citations or None
        if block.text.isspace():
            self._has_blank = True
        if self._citations is None and citations is not None:
            self._citations = [None for _ in parts]
        if self._citations is not None:
            self._citations.append(citations)
        annotations = _annotations(citations, block.text) if citations else []
        parts.append(ours.OutputText(text=block.text, annotations=annotations, leftovers=self.text_leftovers(block)))

    def text_leftovers(self, block: types.Text) -> ours.Leftovers | None:
        """The fields of a text block beyond its text and its citations."""
        if type(block) is types.Text and block.citations is block.cache_control is UNSET:
            return None  # as nearly all
        made = types.Text(text=block.text, citations=block.citations or UNSET)
        return as_leftovers(diff(block, made, RULES) if self.keep else unknown(block, "cache_control"))

    def _carry(self, payload: Payload, i: int) -> None:
        item = carrier(payload, WIRE, self._issuer, self.id_of("rs", i))
        self.carriers = self.carriers or []
        self.carriers.append(item)
        self.items.append(item)


def _annotations(citations: list[types.AnyCitation], text: str) -> list[ours.AnyAnnotation]:
    """The annotations for citations, each of its whole text: pages and documents by URL, files by id."""
    return [_annotation(citation, len(text)) for citation in citations]


def _annotation(citation: types.AnyCitation, length: int) -> ours.AnyAnnotation:
    if isinstance(citation, Unknown):
        return Unknown({**citation, "type": f"{WIRE}:{citation.kind}"})
    place: Json = {"start_index": 0, "end_index": length, "cited_text": citation.cited_text}
    match citation:
        case types.WebSearchResultLocation(url=url, title=title):
            return ours.UrlCitation(url=url, title=or_none(title), **place)
        case types.SearchResultLocation(source=source, title=title):
            place |= {"document_index": citation.search_result_index, "unit": "blocks"}
            place |= {"start": citation.start_block_index, "end": citation.end_block_index}
            return ours.UrlCitation(url=source, title=or_none(title), **place)
        case types.CharLocation(start_char_index=start, end_char_index=end):
            unit = "characters"
        case types.PageLocation(start_page_number=start, end_page_number=end):
            unit = "pages"
        case types.ContentBlockLocation(start_block_index=start, end_block_index=end):
            unit = "blocks"
    place |= {"document_index": citation.document_index, "unit": unit, "start": start, "end": end}
    name = or_none(citation.document_title)
    if given(citation.file_id):
        return ours.FileCitation(file_id=citation.file_id, filename=name, index=length, **place)
    # The core of the format has this type of annotation alone.
    return ours.UrlCitation(url=f"{DOCUMENT}{citation.document_index}", title=name, **place)


class AssistantMessage:
    """Turns items of an assistant into blocks: `write` each item, then `close`.

    In a history that is sent back to the vendor a refusal is plain text; in an answer `refusals` collects them.
    `wants_thinking` is whether the client of an answer asked for thinking; `None` if its request is not known.
    """

    __slots__ = (
        *("_behind", "_content", "_has_text", "_issuer", "_texts", "_uncited"),
        *("context", "is_open", "lost", "pending", "wants_thinking"),
    )

    def __init__(self, context: Context, *, wants_thinking: bool | None = None) -> None:
        self.context = context
        self.wants_thinking = wants_thinking
        self.is_open = False  # whether pending items may still be completed
        self.lost = context.lost
        self._issuer = context.dialect.issuer
        self.pending: list[tuple[str, ours.AnyItem]] = []
        self._content: list[ours.ContentPart] = []
        self._texts: list[types.Text | None] = []
        self._uncited: list[str] = []
        self._has_text = False
        self._behind: list[
            tuple[str, types.AnyBlock]
        ] = []  # unreadable blocks after a text, sent if another block follows

    def write(self, item: ours.AnyItem, i: int) -> list[types.AnyBlock]:
        """The blocks of the item at position `i`, after those of pending items that can no longer be completed."""
        self.is_open = True
        if isinstance(item, Call):
            return [*self.flush(), encode_call(item, wire_id(item.call_id), i, self.context)]
        path = self.context.path(i)
        if isinstance(item, ours.Message):
            before = self.flush() if self.pending or self._uncited or self._behind else []
            if type(item) is not ours.Message or item.leftovers is not None:
                own_leftovers(item, WIRE, path, self.lost)
            blocks = self._message(item, path)
            self._has_text = self._has_text or bool(blocks)
            return before + blocks if before else blocks
        if not isinstance(item, Unknown):
            own_leftovers(item, WIRE, path, self.lost)
        if isinstance(item, ours.Reasoning):
            return self._reasoning(item, path)
        if isinstance(item, VISIBLE):
            self._drop_citations()
            self.pending.append((path, item))
            return []
        before = self.flush()
        return before + (
            self._compaction(item, path) if isinstance(item, ours.Compaction) else self._foreign(item, path)
        )

    def close(self) -> list[types.AnyBlock]:
        """End the message; returns the blocks of the pending items."""
        self.is_open = False
        self._content, self._texts = [], []
        blocks = self._end_pending()
        for path, _ in self._behind:
            self.lost.withheld(path, LAST)
        self._behind, self._has_text = [], False
        return blocks

    def flush(self) -> list[types.AnyBlock]:
        """End the pending items, because another kind of item follows; returns their blocks."""
        return self._end_pending() + self._release_behind()

    def _end_pending(self) -> list[types.AnyBlock]:
        self._drop_citations()
        return self._release_pending() if self.pending else []

    def _release_behind(self) -> list[types.AnyBlock]:
        """The blocks that waited for another one to follow."""
        if not self._behind:
            return []
        behind, self._behind = self._behind, []
        for path, _ in behind:
            self.lost.withheld(path, SENT)
        return [block for _, block in behind]

    def _drop_citations(self) -> None:
        for path in self._uncited:
            self.lost.dropped(path, "sources without the citations they were made from")
        self._uncited = []

    def _release_pending(self) -> list[types.AnyBlock]:
        """Resolve items whose carrier did not follow: they are another vendor's, or cannot be rebuilt."""
        pending, self.pending = self.pending, []
        return [block for path, item in pending for block in self._foreign(item, path)]

    def _foreign(self, item: ours.AnyItem, path: str) -> list[types.AnyBlock]:
        foreign = None if self.context.replay else encode_foreign_item(item)
        if foreign is not None:
            if self.wants_thinking is not None and not isinstance(item, ours.Compaction):
                if not self.wants_thinking:
                    self.lost.withheld(path, UNASKED)
                    return []
                if self._has_text and isinstance(foreign, types.RedactedThinking):
                    self._behind.append((path, foreign))
                    return []
            self.lost.withheld(path, SENT)
            return [foreign]
        if isinstance(item, ours.Reasoning | ours.Compaction):
            report_unopened(item, WIRE, self._issuer, path, self.lost)
        else:
            self.lost.dropped(path, f"an item of type {kind_of(item)!r}, which cannot be rebuilt at Anthropic")
        return []

    # --- messages

    def _message(self, item: ours.Message, path: str) -> list[types.AnyBlock]:
        if given(item.phase):
            self.lost.dropped(f"{path}.phase", "Anthropic has no phases")
        content = item.content
        if isinstance(content, str):
            self._content, self._texts = [], []
            texts = [encode_text(content, f"{path}.content", self.context)]
        else:
            self._content = content
            self._texts = texts = [self._part(part, f"{path}.content[{j}]") for j, part in enumerate(content)]
        return [block for block in texts if block is not None]

    def _part(self, part: ours.ContentPart, path: str) -> types.Text | None:
        if isinstance(part, ours.OutputText):
            if part.annotations:
                self._uncited.append(f"{path}.annotations")
            if part.logprobs:
                self.lost.dropped(f"{path}.logprobs", "Anthropic has no log probabilities")
            if type(part) is ours.OutputText and part.leftovers is None:
                return encode_text(part.text, path, self.context)
        elif isinstance(part, ours.RefusalPart):
            if not self.context.replay:
                return None  # the end of the answer has it too
            self.lost.changed(path, "a refusal is sent back as plain text")
        block = encode_part(part, path, self.context)
        if block is None or isinstance(block, types.Text):
            return block
        self.lost.dropped(path, "a part that Anthropic does not support in an assistant message")
        return None

    # --- carriers

    def _reasoning(self, item: ours.Reasoning, path: str) -> list[types.AnyBlock]:
        payload: AnyPayload | None = opened(item, WIRE, self._issuer, AnyPayload)
        if isinstance(payload, Citations):
            self._restore_citations(payload, path)
            return []
        if isinstance(payload, Blocks):
            self._drop_citations()
            return self._run(payload, path)
        if payload is None or (not self.context.replay and _is_nested(item, payload)):
            before = self._end_pending()
            foreign = self._foreign(item, path)
            return before + self._release_behind() + foreign if foreign else before
        before = self.flush()
        block = encode_thinking(item, payload, path, self.lost)
        return before if block is None else [*before, block]

    def _run(self, payload: Blocks, path: str) -> list[types.AnyBlock]:
        blocks = returning_blocks(payload.blocks)
        if blocks is None:
            self.lost.dropped(path, "opaque state that was damaged on the way")
            return self._release_pending()
        # What the blocks did is visible, and was not changed. Items of other vendors may be before those of this run.
        shown = run_items([*enumerate(blocks)], None)
        start = len(self.pending) - len(shown)
        done = fingerprint(shown)
        if start < 0 or not done == payload.digest == fingerprint([item for _, item in self.pending[start:]]):
            self.lost.dropped(path, "the blocks of items that were changed or left out since")
            return self._release_pending()
        del self.pending[start:]
        return [*self._release_pending(), *blocks]

    def cites(self, item: ours.Reasoning, content: Sequence[ours.ContentPart]) -> bool:
        """Whether an item is the carrier that this vendor's answer has behind a message with this content."""
        payload = opened(item, WIRE, self._issuer, AnyPayload)
        return isinstance(payload, Citations) and payload.digest == _text_digest(content)

    def _restore_citations(self, payload: Citations, path: str) -> None:
        citations = unsealed(CITATIONS, payload.citations)
        if citations is not None and not any(citations):
            return  # of blank texts
        if citations is None or len(citations) != len(self._texts) or _text_digest(self._content) != payload.digest:
            self.lost.dropped(path, "citations of a text that was changed or left out since")
            return
        for block, cited in zip(self._texts, citations, strict=True):
            if block is not None and cited:
                block.citations = cited
            for citation in cited or () if self.context.replay else ():
                # An answer has the file's name; a request with it is rejected.
                if isinstance(citation, types.DocumentCitation):
                    citation.file_id = UNSET
        self._uncited = []

    def _compaction(self, item: ours.Compaction, path: str) -> list[types.AnyBlock]:
        payload: Blocks | None = unseal(item.encrypted_content, WIRE, self._issuer, Blocks)
        blocks = None if payload is None else returning_blocks(payload.blocks)
        if blocks is not None and all(isinstance(block, types.Compaction) for block in blocks):
            return blocks
        return self._foreign(item, path)
