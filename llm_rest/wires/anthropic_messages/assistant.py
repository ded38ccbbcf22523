"""What the model says: content blocks of an assistant message, and the items they are in Responses.

`BlockReader` turns blocks into items one block at a time, so that a whole answer and a streamed one give the same items;
`BlockWriter` turns items back into blocks. Requests and answers both use them. Before changing this file, know that carriers
follow the items they belong to: a run of vendor's tools, or a message with citations, is complete only one item later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw

from ...responses.carriers import digest, sender, unseal
from ...responses.items import (
    AnyItem,
    Compaction,
    CustomToolCall,
    FunctionCall,
    Message,
    Reasoning,
)
from ...responses.parts import (
    AnyAnnotation,
    ContentPart,
    FileCitation,
    OutputText,
    RefusalPart,
    UrlCitation,
)
from ...unknown import Unknown, given
from . import types
from .calls import decode_call, encode_call
from .carried import (
    WIRE,
    Cited,
    Sealed,
    carrier,
    encode,
    kind_of,
    kinds,
    left,
    opened,
    reasoning_of,
    report_extras,
    rest,
    returning_blocks,
    returning_citations,
    thinking_of,
    unopened,
)
from .content import Context, block_of, text_block
from .names import Named, wire_id
from .server_tools import VISIBLE, fingerprint, run_items

if TYPE_CHECKING:
    from ...unknown import Opt

_ITEMS = kinds(AnyItem)
TOOLSETS = ("computer", "browser")
_json = msgspec.json.Decoder(Raw)


# --- blocks to items ------------------------------------------------------------------------------------------------


class BlockReader:
    """Turns the blocks of one assistant message into items: `add` each block, then `close`.

    With the id of an answer the items get ids and statuses; `unfinished` is the status of a vendor's tool without result.
    """

    __slots__ = (
        "_citations", "_first", "_issuer", "_parts", "_run", "_status", "container", "id", "items", "renamed", "unfinished"
    )  # fmt: skip

    def __init__(self, issuer: str, id: str | None = None, renamed: dict[str, Named] | None = None) -> None:
        self.id = id
        self.items: list[AnyItem] = []
        self.renamed = renamed or {}
        self.container: Opt[str] = UNSET
        self.unfinished = "in_progress"
        self._issuer = issuer
        self._status: Opt[str] = UNSET if id is None else "completed"
        self._first = 0
        self._parts: list[ContentPart] | None = None
        self._citations: list[list[types.AnyCitation] | None] | None = None
        self._run: list[tuple[int, types.AnyBlock]] = []

    def add(self, i: int, block: types.AnyBlock) -> None:
        """Take the block at position `i`."""
        if isinstance(block, types.Text):
            if self._run:
                self._close_run()
            self._add_text(i, block)
            return
        if self._parts is not None:
            self._close_text()
        if isinstance(block, types.ToolUse):
            if self._run:
                self._close_run()
            self.items.append(decode_call(block, self._id("fc", i), self._status, self.renamed))
        elif isinstance(block, types.Thinking | types.RedactedThinking):
            if self._run:
                self._close_run()
            self.items.append(reasoning_of(block, self._issuer, self._id("rs", i)))
        elif isinstance(block, types.Compaction):
            if self._run:
                self._close_run()
            sealed = (
                carrier(Sealed(digest="", blocks=Raw(encode([block]))), self._issuer, UNSET).encrypted_content or ""
            )
            self.items.append(Compaction(id=self._id("cmp", i), encrypted_content=sealed))
        else:
            self._run.append((i, block))

    def close(self) -> list[AnyItem]:
        """The items of the blocks so far."""
        if self._parts is not None:
            self._close_text()
        if self._run:
            self._close_run()
        return self.items

    def _id(self, prefix: str, i: int) -> Opt[str]:
        return UNSET if self.id is None else f"{prefix}_{self.id}_{i}"

    def _add_text(self, i: int, block: types.Text) -> None:
        if self._parts is None:
            self._parts = []
            self._first = i
        text = block.text
        if block.citations is UNSET and block.cache_control is UNSET and type(block) is types.Text:
            self._parts.append(OutputText(text=text, annotations=[]))
            if self._citations is not None:
                self._citations.append(None)
            return
        citations = block.citations or None
        fields = rest(block, ("cache_control",) if citations else ("cache_control", "citations"))
        annotations = [] if citations is None else annotations_of(citations, text)
        self._parts.append(OutputText(text=text, annotations=annotations, leftovers=left(fields)))
        if citations is not None and self._citations is None:
            self._citations = [None for _ in self._parts[1:]]
        if self._citations is not None:
            self._citations.append(citations)

    def _close_text(self) -> None:
        parts = self._parts or []
        message = Message(id=self._id("msg", self._first), role="assistant", status=self._status, content=parts)
        self.items.append(message)
        if self._citations is not None:
            text = "".join(part.text for part in parts if isinstance(part, OutputText))
            cited = Cited(digest=digest(text), citations=Raw(encode(self._citations)))
            self.items.append(carrier(cited, self._issuer, self._id("rs", self._first)))
        self._parts = self._citations = None

    def _close_run(self) -> None:
        self.items += run_items(self._run, self._issuer, self.id, self.container, self.unfinished)
        self._run = []


def annotations_of(citations: list[types.AnyCitation], text: str) -> list[AnyAnnotation]:
    """What can be shown of citations: pages by URL, files by id. Each covers its whole text."""
    found: list[AnyAnnotation] = []
    for citation in citations:
        match citation:
            case types.WebSearchResultLocation():
                found.append(_page(citation.url, citation.title, text))
            case types.SearchResultLocation() if citation.source.startswith(("http://", "https://")):
                found.append(_page(citation.source, citation.title, text))
            case types.DocumentCitation(file_id=str(file_id)):
                found.append(FileCitation(file_id=file_id, filename=citation.document_title, index=len(text)))
            case _:
                pass
    return found


def _page(url: str, title: Opt[str], text: str) -> UrlCitation:
    return UrlCitation(url=url, title=title, start_index=0, end_index=len(text))


# --- items to blocks ------------------------------------------------------------------------------------------------


class BlockWriter:
    """Turns assistant items into blocks: `write` each item, then `close`.

    In a history that goes back to the vendor a refusal is plain text; in an answer `refusals` collects them.
    """

    __slots__ = ("_issuer", "_pending", "_said", "_texts", "_uncited", "context", "lost", "refusals")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.lost = context.lost
        self.refusals: list[str] = []
        self._issuer = context.dialect.issuer
        self._pending: list[tuple[str, AnyItem]] = []
        self._said: list[ContentPart] = []
        self._texts: list[types.Text | None] = []
        self._uncited = ""

    def write(self, item: AnyItem, path: str) -> list[types.AnyBlock]:
        """The blocks of one item, which stands at `path`."""
        if isinstance(item, Reasoning):
            return self._reasoning(item, path)
        if self._pending and not isinstance(item, VISIBLE):
            self._drop_pending()
        if self._uncited:
            self._drop_citations()
        if type(item) not in _ITEMS and not isinstance(item, Unknown):
            report_extras(item, path, self.lost)
        match item:
            case Message():
                return self._message(item, path)
            case FunctionCall() | CustomToolCall():
                return [encode_call(item, wire_id(item.call_id), path, self.context)]
            case Compaction():
                return self._compaction(item, path)
            case _ if isinstance(item, VISIBLE):
                self._pending.append((path, item))
            case _:
                self.lost.dropped(path, f"an item of type {kind_of(item)!r}, which cannot be rebuilt on this wire")
        return []

    def close(self) -> None:
        """The message ends here; report what was still waiting for its carrier."""
        self._said, self._texts = [], []
        self.settle()

    def settle(self) -> None:
        """An item that is no carrier follows; report what was still waiting for one."""
        if self._pending:
            self._drop_pending()
        if self._uncited:
            self._drop_citations()

    def _drop_pending(self) -> None:
        for path, item in self._pending:
            self.lost.dropped(path, f"an item of type {kind_of(item)!r} without the blocks it was made from")
        self._pending = []

    def _drop_citations(self) -> None:
        self.lost.dropped(self._uncited, "sources without the citations they were made from")
        self._uncited = ""

    # --- messages

    def _message(self, item: Message, path: str) -> list[types.AnyBlock]:
        if given(item.phase):
            self.lost.dropped(f"{path}.phase", "this wire has no phases")
        content = item.content
        if isinstance(content, str):
            block = text_block(content, f"{path}.content", self.context)
            self._said, self._texts = [], []
            return [] if block is None else [block]
        self._said = content
        self._texts = texts = [self._part(part, f"{path}.content[{j}]") for j, part in enumerate(content)]
        return [block for block in texts if block is not None]

    def _part(self, part: ContentPart, path: str) -> types.Text | None:
        if isinstance(part, OutputText):
            if part.annotations:
                self._uncited = f"{path}.annotations"
            if part.logprobs:
                self.lost.dropped(f"{path}.logprobs", "this wire has no log probabilities")
            if type(part) is OutputText and part.leftovers is UNSET:
                return text_block(part.text, path, self.context)
        elif isinstance(part, RefusalPart) and not self.context.replay:
            self.refusals.append(part.refusal)
            return None
        block = block_of(part, path, self.context)
        if block is None or isinstance(block, types.Text):
            return block
        self.lost.dropped(path, "something the model cannot have said on this wire")
        return None

    # --- carriers

    def _reasoning(self, item: Reasoning, path: str) -> list[types.AnyBlock]:
        payload = opened(item, self._issuer)
        if isinstance(payload, Sealed):
            return self._run(payload, path)
        if isinstance(payload, Cited):
            self._cite(payload, path)
            return []
        self.settle()
        if payload is None:
            unopened(item, self._issuer, path, self.lost)
            return []
        block = thinking_of(item, payload, path, self.lost)
        return [] if block is None else [block]

    def _run(self, payload: Sealed, path: str) -> list[types.AnyBlock]:
        if self._uncited:
            self._drop_citations()
        items = [item for _, item in self._pending]
        # Items of other vendors may stand before those of this run.
        start = next((n for n in range(len(items) + 1) if fingerprint(items[n:]) == payload.digest), None)
        del self._pending[start if start is not None else len(items) :]
        self._drop_pending()
        if start is None:
            self.lost.dropped(path, "the blocks of items that were changed or left out since")
            return []
        blocks = returning_blocks(payload.blocks)
        if blocks is None:
            self.lost.dropped(path, "opaque state that was damaged on the way")
            return []
        return [*blocks]

    def _cite(self, payload: Cited, path: str) -> None:
        citations = returning_citations(payload.citations)
        said = digest("".join(part.text for part in self._said if isinstance(part, OutputText)))
        if citations is None or len(citations) != len(self._texts) or said != payload.digest:
            self.lost.dropped(path, "citations of a text that was changed or left out since")
            return
        for block, cited in zip(self._texts, citations, strict=True):
            if block is not None and cited:
                block.citations = [self._citation(citation) for citation in cited] if self.context.replay else cited
        self._uncited = ""

    def _citation(self, citation: types.AnyCitation) -> types.AnyCitation:
        # An answer names the file; sent back, the name is refused.
        if isinstance(citation, types.DocumentCitation):
            citation.file_id = UNSET
        return citation

    def _compaction(self, item: Compaction, path: str) -> list[types.AnyBlock]:
        payload: Sealed | None = unseal(item.encrypted_content, WIRE, self._issuer, Sealed)
        blocks = None if payload is None else returning_blocks(payload.blocks)
        if blocks is not None and all(isinstance(block, types.Compaction) for block in blocks):
            return [*blocks]
        if sender(item.encrypted_content) == (WIRE, self._issuer):
            self.lost.dropped(path, "opaque state that was damaged on the way")
        else:
            self.lost.withheld(path, "a compaction of another vendor")
        return []
