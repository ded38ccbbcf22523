"""What the model says: content blocks of an assistant message, and the items they are in Responses.

`BlockReader` turns blocks into items one block at a time, so that a whole answer and a streamed one give the same items;
`BlockWriter` turns items back into blocks. Requests and answers both use them. Before changing this file, know that carriers
follow the items they belong to: a run of vendor's tools, or a message with citations, is complete only one item later.
"""

from __future__ import annotations

from msgspec import UNSET, Raw

from ... import responses as ours
from ...responses.carriers import digest, seal, sender, unseal
from ...unknown import Opt, Unknown, given, or_none
from .._left import report_unknown
from . import types
from .calls import Named, decode_call, encode_call, wire_id
from .carriers import (
    Cited,
    Payload,
    Sealed,
    carrier,
    guest_block,
    guest_item,
    opened,
    reasoning_of,
    returning_blocks,
    returning_citations,
    thinking_of,
    unopened,
)
from .content import Context, block_of, text_block
from .hosted import VISIBLE, fingerprint, run_items
from .leftovers import WIRE, encode, kind_of, kinds, left, own_fields, rest

SAID = (types.Text, types.ToolUse, types.Thinking, types.RedactedThinking, types.Compaction)
"""What ends a run of tools that the vendor runs."""

THOUGHTS = (types.Thinking, types.RedactedThinking)
_ITEMS = kinds(ours.AnyItem)
_TOLD = (Unknown, ours.FunctionCall, ours.CustomToolCall)
Text, ToolUse = types.Text, types.ToolUse


# --- blocks to items ------------------------------------------------------------------------------------------------


class BlockReader:
    """Turns the blocks of one assistant message into items: `add` each block, then `close`.

    With the id of an answer the items get ids and statuses. `parts` are those of the message that is not closed yet, `hosted`
    the items of tools the vendor ran, `carriers` the items that show nothing.
    """

    parts: list[ours.ContentPart] | None = None
    _first = 0
    _citations: list[list[types.AnyCitation] | None] | None = None
    _run: list[tuple[int, types.AnyBlock]] | None = None

    def __init__(self, issuer: str, id: str | None = None, renamed: dict[str, Named] | None = None) -> None:
        self.id = id
        self.items: list[ours.AnyItem] = []
        self.hosted: list[ours.AnyItem] = []
        self.carriers: list[ours.AnyItem] = []
        self.renamed = renamed or {}
        self._issuer = issuer
        self._status: Opt[str] = UNSET if id is None else "completed"

    def add(self, i: int, block: types.AnyBlock) -> None:
        """Take the block at position `i`."""
        if self._run is not None or self.parts is not None:
            self.settle(block)
        if isinstance(block, Text):
            if self.parts is None:
                self.parts, self._first = [], i
            # Text without anything on it is nearly all text.
            if block.citations is block.cache_control is UNSET and self._citations is None and type(block) is Text:
                self.parts.append(ours.OutputText(text=block.text, annotations=[]))
            else:
                self._add_text(block, self.parts)
        elif isinstance(block, ToolUse):
            self.items.append(decode_call(block, self.id_of("fc", i), self._status, self.renamed))
        elif isinstance(block, THOUGHTS):
            self.items.append(guest_item(block) or reasoning_of(block, self._issuer, self.id_of("rs", i)))
        elif isinstance(block, types.Compaction):
            sealed = seal(WIRE, self._issuer, Sealed(digest="", blocks=Raw(encode([block]))))
            self.items.append(ours.Compaction(id=or_none(self.id_of("cmp", i)), encrypted_content=sealed))
        elif self._run is None:
            self._run = [(i, block)]
        else:
            self._run.append((i, block))

    def settle(self, block: types.AnyBlock | None = None) -> None:
        """Close what does not go on with `block`: the texts of a message, or a run of the vendor's tools."""
        if self.parts is not None and not isinstance(block, Text):
            parts, self.parts = self.parts, None
            id = self.id_of("msg", self._first)
            self.items.append(
                ours.Message(id=or_none(id), role="assistant", status=or_none(self._status), content=parts)
            )
            if self._citations is not None:
                text = "".join(part.text for part in parts if isinstance(part, ours.OutputText))
                self._carry(Cited(digest=digest(text), citations=Raw(encode(self._citations))), self._first)
                self._citations = None
        elif self._run is not None and (block is None or isinstance(block, SAID)):
            run, self._run = self._run, None
            shown = run_items(run, self.id)
            self.hosted += shown
            self.items += shown
            self._carry(Sealed(digest=fingerprint(shown), blocks=Raw(encode([block for _, block in run]))), run[0][0])

    def close(self) -> list[ours.AnyItem]:
        """The items of the blocks so far."""
        self.settle()
        return self.items

    def id_of(self, prefix: str, i: int) -> Opt[str]:
        """The id of the item that begins with the block at position `i`."""
        return UNSET if self.id is None else f"{prefix}_{self.id}_{i}"

    def _add_text(self, block: types.Text, parts: list[ours.ContentPart]) -> None:
        """Text with citations, or with fields that output text has no word for."""
        citations = block.citations or None
        fields = rest(block, ("cache_control",) if citations else ("cache_control", "citations"))
        if self._citations is None and citations is not None:
            self._citations = [None for _ in parts]
        if self._citations is not None:
            self._citations.append(citations)
        annotations = _annotations(citations or [], block.text)
        parts.append(ours.OutputText(text=block.text, annotations=annotations, leftovers=left(fields)))

    def _carry(self, payload: Payload, i: int) -> None:
        item = carrier(payload, self._issuer, self.id_of("rs", i))
        self.carriers.append(item)
        self.items.append(item)


def _annotations(citations: list[types.AnyCitation], text: str) -> list[ours.AnyAnnotation]:
    """What can be shown of citations: pages by URL, files by id. Each covers its whole text."""
    found: list[ours.AnyAnnotation] = []
    end = len(text)
    for citation in citations:
        match citation:
            case types.WebSearchResultLocation(url=url, title=title):
                found.append(ours.UrlCitation(url=url, title=or_none(title), start_index=0, end_index=end))
            case types.SearchResultLocation(source=url, title=title) if url.startswith(("http://", "https://")):
                found.append(ours.UrlCitation(url=url, title=or_none(title), start_index=0, end_index=end))
            case types.DocumentCitation(file_id=str(file_id)):
                found.append(ours.FileCitation(file_id=file_id, filename=or_none(citation.document_title), index=end))
            case _:
                pass
    return found


# --- items to blocks ------------------------------------------------------------------------------------------------


class BlockWriter:
    """Turns assistant items into blocks: `write` each item, then `close`.

    In a history that goes back to the vendor a refusal is plain text; in an answer `refusals` collects them.
    """

    __slots__ = ("_issuer", "_pending", "_said", "_texts", "_uncited", "context", "lost", "refusals", "waits")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.waits = False  # whether anything may still come for what was written
        self.lost = context.lost
        self.refusals: list[tuple[str, str]] = []
        self._issuer = context.dialect.issuer
        self._pending: list[tuple[str, ours.AnyItem]] = []
        self._said: list[ours.ContentPart] = []
        self._texts: list[types.Text | None] = []
        self._uncited: list[str] = []

    def write(self, item: ours.AnyItem, path: str) -> list[types.AnyBlock]:
        """The blocks of one item, which stands at `path`, after those of items that waited for what did not come."""
        self.waits = True
        if not isinstance(item, _TOLD):  # which is reported with its fields
            own_fields(item.leftovers, path, self.lost)
            if isinstance(item, ours.Reasoning):
                return self._reasoning(item, path)
            if isinstance(item, VISIBLE):
                self._leave_citations()
                self._pending.append((path, item))
                return []
            if type(item) not in _ITEMS:
                report_unknown(item, path, self.lost)
        before = self.settle()
        match item:
            case ours.Message():
                return before + self._message(item, path)
            case ours.FunctionCall() | ours.CustomToolCall():
                return [*before, encode_call(item, wire_id(item.call_id), path, self.context)]
            case ours.Compaction():
                return before + self._compaction(item, path)
            case _:
                return before + self._foreign(item, path)

    def close(self) -> list[types.AnyBlock]:
        """The message ends here; the blocks of what still waited."""
        self.waits = False
        self._said, self._texts = [], []
        return self.settle()

    def settle(self) -> list[types.AnyBlock]:
        """Something else follows; the blocks of what still waited."""
        self._leave_citations()
        return self._leave_pending() if self._pending else []

    def forget(self) -> None:
        """The blocks of what waited have gone out another way."""
        self._pending = []

    def _leave_citations(self) -> None:
        for path in self._uncited:
            self.lost.dropped(path, "sources without the citations they were made from")
        self._uncited = []

    def _leave_pending(self) -> list[types.AnyBlock]:
        """What becomes of items whose carrier did not come: they are another vendor's, or cannot be rebuilt."""
        pending, self._pending = self._pending, []
        return [block for path, item in pending for block in self._foreign(item, path)]

    def _foreign(self, item: ours.AnyItem, path: str) -> list[types.AnyBlock]:
        guest = None if self.context.replay else guest_block(item, path, self.lost)
        if guest is not None:
            return [guest]
        if isinstance(item, ours.Reasoning):
            unopened(item, self._issuer, path, self.lost)
        else:
            self.lost.dropped(path, f"an item of type {kind_of(item)!r}, which cannot be rebuilt at Anthropic")
        return []

    # --- messages

    def _message(self, item: ours.Message, path: str) -> list[types.AnyBlock]:
        if given(item.phase):
            self.lost.dropped(f"{path}.phase", "Anthropic has no phases")
        content = item.content
        if isinstance(content, str):
            self._said, texts = [], [text_block(content, f"{path}.content", self.context)]
            self._texts = []
        else:
            self._said = content
            self._texts = texts = [self._part(part, f"{path}.content[{j}]") for j, part in enumerate(content)]
        return [block for block in texts if block is not None]

    def _part(self, part: ours.ContentPart, path: str) -> types.Text | None:
        if isinstance(part, ours.OutputText):
            if part.annotations:
                self._uncited.append(f"{path}.annotations")
            if part.logprobs:
                self.lost.dropped(f"{path}.logprobs", "Anthropic has no log probabilities")
            if type(part) is ours.OutputText and part.leftovers is None:
                return text_block(part.text, path, self.context)
        elif isinstance(part, ours.RefusalPart):
            if not self.context.replay:
                self.refusals.append((path, part.refusal))
                return None
            self.lost.changed(path, "a refusal is sent back as plain text")
        block = block_of(part, path, self.context)
        if block is None or isinstance(block, types.Text):
            return block
        self.lost.dropped(path, "a part that Anthropic does not take from an assistant")
        return None

    # --- carriers

    def _reasoning(self, item: ours.Reasoning, path: str) -> list[types.AnyBlock]:
        payload = opened(item, self._issuer)
        if isinstance(payload, Cited):
            self._cite(payload, path)
            return []
        if isinstance(payload, Sealed):
            self._leave_citations()
            return self._run(payload, path)
        before = self.settle()
        if payload is None:
            return before + self._foreign(item, path)
        block = thinking_of(item, payload, path, self.lost)
        return before if block is None else [*before, block]

    def _run(self, payload: Sealed, path: str) -> list[types.AnyBlock]:
        blocks = returning_blocks(payload.blocks)
        if blocks is None:
            self.lost.dropped(path, "opaque state that was damaged on the way")
            return self._leave_pending()
        # Items of other vendors may stand before those of this run.
        start = len(self._pending) - len(run_items([*enumerate(blocks)], None))
        if start < 0 or fingerprint([item for _, item in self._pending[start:]]) != payload.digest:
            self.lost.dropped(path, "the blocks of items that were changed or left out since")
            return self._leave_pending()
        del self._pending[start:]
        return [*self._leave_pending(), *blocks]

    def _cite(self, payload: Cited, path: str) -> None:
        citations = returning_citations(payload.citations)
        said = digest("".join(part.text for part in self._said if isinstance(part, ours.OutputText)))
        if citations is None or len(citations) != len(self._texts) or said != payload.digest:
            self.lost.dropped(path, "citations of a text that was changed or left out since")
            return
        for block, cited in zip(self._texts, citations, strict=True):
            if block is not None and cited:
                block.citations = cited
            for citation in cited or () if self.context.replay else ():
                # An answer names the file; sent back, the name is refused.
                if isinstance(citation, types.DocumentCitation):
                    citation.file_id = UNSET
        self._uncited = []

    def _compaction(self, item: ours.Compaction, path: str) -> list[types.AnyBlock]:
        payload: Sealed | None = unseal(item.encrypted_content, WIRE, self._issuer, Sealed)
        blocks = None if payload is None else returning_blocks(payload.blocks)
        if blocks is not None and all(isinstance(block, types.Compaction) for block in blocks):
            return [*blocks]
        if sender(item.encrypted_content) == (WIRE, self._issuer):
            self.lost.dropped(path, "opaque state that was damaged on the way")
        elif self.context.replay:
            self.lost.withheld(path, "a compaction of another vendor")
        else:
            return self._foreign(item, path)
        return []
