"""Conversion of messages, both ways: assistant messages, and the order of the roles.

Before changing this file, know that the vendor binds thinking to the exact conversation before it: appending items may
change only the message that is still open, and nothing is ever sorted; that the results of calls are right behind them; and
that the first cases of a handler are the plain ones, which are most of a long conversation. Follows the Messages reference,
and the guides to citations, thinking and system messages within a conversation, of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, cast

from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from ... import responses as ours
from ...responses.carriers import digest, seal, unseal
from ...unknown import Unknown, given, or_none
from ..call_ids import PlacedOutputs
from ..kept import diff, keep_message, kept_message, own_leftovers, patch, unknown
from ..leftovers import (
    as_list,
    carrier,
    kind_of,
    opened,
    report_unknown,
    report_unopened,
    struct_of,
)
from ..tools import Call, SentTools
from . import types
from .content import (
    RULES,
    Output,
    as_leftovers,
    decode_call,
    decode_part,
    decode_result,
    encode,
    encode_call,
    encode_content,
    encode_part,
    encode_result,
    encode_text,
    wire_id,
)
from .reasoning import (
    CITATIONS,
    VISIBLE,
    AnyPayload,
    Blocks,
    Citations,
    Payload,
    begins_with_thinking,
    decode_foreign_item,
    decode_thinking,
    encode_foreign_item,
    encode_thinking,
    fingerprint,
    returning_blocks,
    run_items,
    unsealed,
)
from .tools import tool_additions
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from .content import Context

# --- assistant messages ----------------------------------------------------------------------------------------------

OUTPUT_BLOCKS = (types.Text, types.ToolUse, types.Thinking, types.RedactedThinking, types.Compaction)
"""The blocks that end a run of hosted tools."""

NO_NAMES: SentTools = {}


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
            self.items.append(decode_foreign_item(block) or decode_thinking(block, self._issuer, self.id_of("rs", i)))
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
            if self._citations is not None:
                text = "".join(part.text for part in parts if isinstance(part, ours.OutputText))
                self._carry(Citations(digest=digest(text), citations=Raw(encode(self._citations))), self._first)
                self._citations = None
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
    """The annotations for citations: pages by URL, files by id. Each covers its whole text."""
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


class AssistantMessage:
    """Turns items of an assistant into blocks: `write` each item, then `close`.

    In a history that is sent back to the vendor a refusal is plain text; in an answer `refusals` collects them.
    """

    __slots__ = ("_content", "_issuer", "_texts", "_uncited", "context", "is_open", "lost", "pending")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.is_open = False  # whether pending items may still be completed
        self.lost = context.lost
        self._issuer = context.dialect.issuer
        self.pending: list[tuple[str, ours.AnyItem]] = []
        self._content: list[ours.ContentPart] = []
        self._texts: list[types.Text | None] = []
        self._uncited: list[str] = []

    def write(self, item: ours.AnyItem, path: str) -> list[types.AnyBlock]:
        """The blocks of one item, at `path`, after those of pending items that can no longer be completed."""
        self.is_open = True
        if isinstance(item, ours.Message):
            before = self.flush() if self.pending or self._uncited else []
            if type(item) is not ours.Message or item.leftovers is not None:
                own_leftovers(item, WIRE, path, self.lost)
            blocks = self._message(item, path)
            return before + blocks if before else blocks
        if isinstance(item, Call):
            id = wire_id(item.call_id)
            return [*self.flush(), encode_call(item, id, path, self.context)]
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
        return self.flush()

    def flush(self) -> list[types.AnyBlock]:
        """End the pending items, because another kind of item follows; returns their blocks."""
        self._drop_citations()
        return self._release_pending() if self.pending else []

    def _drop_citations(self) -> None:
        for path in self._uncited:
            self.lost.dropped(path, "sources without the citations they were made from")
        self._uncited = []

    def _release_pending(self) -> list[types.AnyBlock]:
        """Resolve items whose carrier did not follow: they are another vendor's, or cannot be rebuilt."""
        pending, self.pending = self.pending, []
        return [block for path, item in pending for block in self._foreign(item, path)]

    def _foreign(self, item: ours.AnyItem, path: str) -> list[types.AnyBlock]:
        foreign = None if self.context.replay else encode_foreign_item(item, path, self.lost)
        if foreign is not None:
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
        before = self.flush()
        if payload is None:
            return before + self._foreign(item, path)
        block = encode_thinking(item, payload, path, self.lost)
        return before if block is None else [*before, block]

    def _run(self, payload: Blocks, path: str) -> list[types.AnyBlock]:
        blocks = returning_blocks(payload.blocks)
        if blocks is None:
            self.lost.dropped(path, "opaque state that was damaged on the way")
            return self._release_pending()
        # Items of other vendors may be before those of this run.
        start = len(self.pending) - len(run_items([*enumerate(blocks)], None))
        if start < 0 or fingerprint([item for _, item in self.pending[start:]]) != payload.digest:
            self.lost.dropped(path, "the blocks of items that were changed or left out since")
            return self._release_pending()
        del self.pending[start:]
        return [*self._release_pending(), *blocks]

    def _restore_citations(self, payload: Citations, path: str) -> None:
        citations = unsealed(CITATIONS, payload.citations)
        said = digest("".join(part.text for part in self._content if isinstance(part, ours.OutputText)))
        if citations is None or len(citations) != len(self._texts) or said != payload.digest:
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


Content = str | list[types.AnyBlock]


def as_blocks(content: Content) -> list[types.AnyBlock]:
    """A message's content as blocks."""
    return [types.Text(text=content)] if isinstance(content, str) else content


# --- items to messages -----------------------------------------------------------------------------------------------

SYSTEM = ("system", "developer")


class Earlier(Struct, frozen=True):
    """The state of earlier turns that the writer of a turn needs."""

    ids: set[str]
    """The ids of their calls."""
    repeated: dict[str, int]
    """The number of times each call id was repeated."""
    system: list[types.Text]
    marks: list[tuple[str, Any, Any]]
    """The cache breakpoints: those that are never removed, and the newest, which a newer one replaces."""
    begins_alone: bool
    """Whether the first message is the assistant's, and nothing represents earlier turns."""
    begins_with_thinking: bool | None
    """Whether the assistant's turn began with thinking and waits for results at the end; `None` without such a turn."""


class MessageWriter:
    """Writes the messages of a request, and the system prompt in `system`. `state` is of the turns before."""

    changing: int | None = None
    compacts = False
    _role = ""  # of the open message
    _results = 0  # the number of results it begins with
    _joins = False  # whether the next content of a user belongs to it
    _closed = False  # whether the next item begins a message in any case
    _fell_back = False  # whether the open message changes the model

    def __init__(
        self,
        items: Sequence[ours.AnyItem],
        context: Context,
        offered: Collection[Any] = (),
        state: Earlier | None = None,
    ) -> None:
        self.context = context
        self.messages: list[types.InputMessage] = []
        self.state = state
        self._marks_before = len(context.marks)  # those of tools
        for path, block, mark in state.marks if state is not None else ():
            block.cache_control = mark
            context.marks.append((path, block))
        self._writer = AssistantMessage(context)
        self._waiting: dict[str, deque[tuple[types.ToolUse, int]]] = {}  # calls without a result yet
        self._ids: set[str] = set()  # of calls in these turns
        self._earlier = state.ids if state is not None else ()  # of calls in earlier turns
        self._deferred: list[tuple[types.InputMessage, str]] = []  # system messages that wait for a legal position
        self.lost = context.lost
        self.system: list[types.Text] = [*state.system] if state is not None else []
        self._offered = offered
        self._items = items
        self._outputs = PlacedOutputs(items)  # those that were moved up
        self._repeated = {**state.repeated} if state is not None else {}  # the number of times a call id was repeated
        self._left: Json = {}  # leftovers of a message that has not begun yet

    def write(self, start: int, end: int) -> None:
        """Write the items from `start` up to `end`."""
        items, handlers = self._items, self.HANDLERS
        for i in range(start, end):
            item = items[i]
            add: Any = handlers.get(type(item))
            if add is None or self._left or item.leftovers is not None:
                self._write_with_leftovers(item, i)
            else:
                add(self, item, i)

    def settled(self, end: int) -> bool:
        """End the turn before the item at `end`; returns whether later items can no longer change it."""
        if self._waiting or self._deferred or self._left or max(self._outputs.places, default=0) >= end:
            return False
        self._end_answer(end)
        marks = self.context.marks
        if len(marks) > self.context.first_marks:  # the newest of them is removed when another is added
            self.context.thin_marks()
            places = (i for i, message in enumerate(self.messages) if _holds(message.content, marks[-1][1]))
            self.changing = next(places, None)
        before = self.state or Earlier(set(), {}, [], [], begins_alone(self.messages[0]), None)
        before.ids.update(self._ids)
        self.state = replace(
            before,
            repeated={**self._repeated},
            system=[*self.system],
            marks=[(path, block, block.cache_control) for path, block in marks[self._marks_before :]],
            begins_with_thinking=begins_with_thinking(self.messages, before.begins_with_thinking),
        )
        self._ids, self._earlier, self._role = set(), before.ids, ""
        return True

    def finish(self) -> None:
        """End the conversation."""
        self._end_answer(len(self._items))
        if self._role == "user":
            self._place_system()
        self._release_system()

    def _write_with_leftovers(self, item: ours.AnyItem, i: int) -> None:
        """Write an item whose message may have leftovers."""
        left = kept_message(item, WIRE)
        self._closed |= left is not None
        before = len(self.messages)
        self.HANDLERS.get(struct_of(item), MessageWriter._add_other)(self, item, i)
        message = left or (self._left if self._role == "assistant" else {})
        self._left = {}
        if self._deferred and self._deferred[-1][1] == f"input[{i}]":
            self._deferred[-1] = patch(self._deferred[-1][0], message), self._deferred[-1][1]
        elif len(self.messages) > before:
            self.messages[-1] = patch(self.messages[-1], message)
        else:
            self._left = message  # of a message that has not begun yet

    def _add_other(self, item: ours.AnyItem, i: int) -> None:
        match item:
            case ours.AdditionalTools(tools=tools):
                self._end_answer(i)
                path = f"input[{i}]"
                report_unknown(item, path, self.lost)
                self._add_system(tool_additions(tools, path, self._offered, self.context), path)
            case ours.CompactionTrigger():
                self.compacts = True
            case ours.ItemReference():
                self.lost.refused(f"input[{i}]", "an item by its id; Anthropic stores nothing between calls")
            case _:
                blocks = self._writer.write(item, f"input[{i}]")
                self._fell_back |= any(isinstance(block, types.Fallback) for block in blocks)
                if blocks:
                    self._answer_with(blocks, i)

    def _add_message(self, item: ours.Message, i: int) -> None:
        role: str = item.role
        content: Any = item.content
        if type(content) is str and role != self._role and (role == "user" or role == "assistant"):
            bare = item.leftovers is None and item.phase is None and type(item) is ours.Message
            said = bare and content and not content.isspace()
            if said and not (self._waiting or self._deferred or self._writer.is_open):
                self._open(role, content)
                return
        if role == "assistant":
            self.context.beside_call = self._is_beside_call(i)
            blocks = self._writer.write(item, f"input[{i}]")
            self.context.beside_call = False
            if blocks:
                self._answer_with(blocks, i)
                if isinstance(content, str) and self.messages[-1].content is blocks:
                    self.messages[-1].content = content
            elif self._role == "user":
                # An empty assistant message still ends its turn, so that later items leave that unchanged.
                self._release_system()
                self._closed = True
            return
        if self._waiting or self._writer.is_open:
            self._end_answer(i)
        path = f"input[{i}]"
        own_leftovers(item, WIRE, path, self.lost)
        if not isinstance(content, str):
            content = encode_content(content, f"{path}.content", self.context)
        else:
            content = content if encode_text(content, f"{path}.content", self.context) else ""
        if role in SYSTEM:
            self._add_system(content, path)
        elif not content:
            self.lost.refused(path, "an empty message")
        else:
            if role != "user":
                self.lost.changed(f"{path}.role", f"{role!r} is sent as a user")
            self._ask(content)

    def _is_beside_call(self, i: int) -> bool:
        """Whether the item at `i` is in one message with a call directly before or after it."""
        items, behind = self._items, i + 1
        while behind < len(items) and isinstance(items[behind], ours.Reasoning):
            behind += 1
        return (i > 0 and isinstance(items[i - 1], Call)) or (behind < len(items) and isinstance(items[behind], Call))

    def _blocks(self) -> list[types.AnyBlock]:
        """The blocks of the open message."""
        message = self.messages[-1]
        message.content = found = as_blocks(message.content or "")
        return found

    def _open(self, role: str, content: Content) -> None:
        """Begin a message."""
        self.messages.append(types.InputMessage(role, content))
        self._role, self._results = role, 0
        self._joins = self._closed = False

    # --- assistant messages

    def _answer_with(self, blocks: list[types.AnyBlock], i: int) -> None:
        """Add to the assistant message, which is begun if none is open."""
        if self._role == "assistant" and not self._closed:
            self._blocks().extend(blocks)
            return
        if self._role == "assistant":
            self._close_answer(i)
        elif self._waiting:
            self._place_results(i)
        if self._role == "user":
            self._place_system()
        self._open("assistant", blocks)

    def _end_answer(self, i: int) -> None:
        """End the assistant message before the item at `i`: it is complete, and its calls need their results now."""
        if self._writer.is_open:
            self._close_answer(i)
        if self._waiting:
            self._place_results(i)

    def _close_answer(self, i: int) -> None:
        self._writer.close()
        if self._fell_back:
            self._drop_declined(i)

    def _drop_declined(self, i: int) -> None:
        """Leave out content from before a fallback model that the vendor rejects: thinking and unanswered calls."""
        content = self._blocks()
        last = max(n for n, block in enumerate(content) if isinstance(block, types.Fallback))
        answered = {block.tool_use_id for block in content if isinstance(block, types.ServerToolResult)}
        handed_over = {block.id for block in content[:last] if isinstance(block, types.ToolUse)}
        for call_id, is_open in [*self._waiting.items()]:
            if self._outputs.find(call_id, i) is None and is_open[0][0].id in handed_over:
                del self._waiting[call_id]
            else:
                answered.update(block.id for block, _ in is_open)
        kept = [
            block
            for block in content[:last]
            if not isinstance(block, types.Thinking | types.RedactedThinking)
            and not (isinstance(block, types.ToolUse | types.ServerToolUse) and block.id not in answered)
        ]
        if len(kept) < last:
            self.lost.withheld("input", "thinking and calls of a model that handed over, which do not go back")
        content[:last] = kept
        self._fell_back = False

    def _add_call(self, item: Call, i: int) -> None:
        if item.status == "incomplete" and self._outputs.find(item.call_id, i) is None:
            self.lost.dropped(f"input[{i}]", "a call that was cut short and never answered")
            return
        if self._writer.is_open:
            self._writer.flush()
        call_id, repeated = item.call_id, 0
        while (id := wire_id(call_id, repeated)) in self._ids or id in self._earlier:
            repeated = self._repeated[call_id] = self._repeated.get(call_id, 0) + 1
        self._ids.add(id)
        block = encode_call(item, id, f"input[{i}]", self.context)
        self._answer_with([block], i)
        self._waiting.setdefault(call_id, deque()).append((block, i))

    # --- results

    def _add_output(self, item: Output, i: int) -> None:
        if i in self._outputs.places:
            return
        if self._writer.is_open:
            self._close_answer(i)
        call_id = item.call_id or ""
        waiting = self._waiting.pop(call_id, None)
        if waiting is None:
            self.lost.refused(f"input[{i}]", f"a result for {call_id!r}, without a call before it")
            call = types.ToolUse(wire_id(call_id), "", Raw(b"{}"))
        else:
            call, _ = waiting.popleft()
            if waiting:
                self._waiting[call_id] = waiting
        block = encode_result(item, call, f"input[{i}]", self.context)
        if self._role == "user" and not self._closed and self._results == len(blocks := self._blocks()):
            blocks.append(block)
            self._results += 1
        else:
            self.messages.append(types.InputMessage("user", [block]))
            self._role, self._results = "user", 1
            self._joins, self._closed = True, False

    def _place_results(self, start: int) -> None:
        """Place the result of every call now: a later one is moved up, and a missing one makes the request invalid."""
        for call_id in [*self._waiting]:
            while call_id in self._waiting:
                j = self._outputs.find(call_id, start)
                if j is None:
                    for _, i in self._waiting.pop(call_id):
                        self.lost.refused(f"input[{i}]", "a call without a result, which Anthropic requires")
                    continue
                self.lost.changed(f"input[{j}]", "a result moves up to its call, where Anthropic requires it")
                self._add_output(cast("Output", self._items[j]), j)
                self._outputs.places.add(j)

    # --- user and system messages

    def _ask(self, content: Content) -> None:
        """Add user content to the open message if that has only results, else to a new message."""
        if self._role == "user" and self._joins and not self._closed:
            self._blocks().extend(as_blocks(content))
            self._joins = False
            return
        if self._role == "user":
            for _, path in self._deferred:
                self.lost.changed(path, "a system message, moved after the user's turn")
        self._open("user", content)

    def _add_system(self, content: Content, path: str) -> None:
        """Add system content: before the conversation to `system`, later to a message if this model supports it."""
        if not content:
            return
        if not self.messages and self.state is None and not self._deferred:
            blocks = as_blocks(content)
            texts = [block for block in blocks if isinstance(block, types.Text)]
            self.system += texts
            if len(texts) < len(blocks):
                self.lost.dropped(path, "instructions that are not text")
            return
        message = types.InputMessage("system", content)
        if not self.context.model.system_turns:
            self._as_user_text(message, path)
            return
        if self._role != "user":
            self.lost.changed(path, "a system message, moved after the next user's turn")
        self._deferred.append((message, path))

    def _place_system(self) -> None:
        """Place the waiting system messages here."""
        if self._deferred:
            self.messages += [message for message, _ in self._deferred]
            self._deferred, self._role = [], "system"

    def _release_system(self) -> None:
        """Place the waiting system messages where no legal position is left."""
        held, self._deferred = self._deferred, []
        for message, path in held:
            self._as_user_text(message, path)

    def _as_user_text(self, message: types.InputMessage, path: str) -> None:
        texts: list[types.AnyBlock] = []
        for block in as_blocks(message.content or ""):
            if isinstance(block, types.Text):
                block.text = f"<system>\n{block.text}\n</system>"
                texts.append(block)
            else:
                self.lost.dropped(path, "the tools of this model cannot change within a conversation")
        if not texts:
            return
        self.lost.changed(path, "no system message is possible here; sent as a user message, in <system> tags")
        if self._role == "user":
            self._blocks().extend(texts)
        else:
            self.messages.append(types.InputMessage("user", texts))
            self._role, self._results, self._joins = "user", 0, True

    HANDLERS: ClassVar[dict[type, Callable[[MessageWriter, Any, int], None]]] = {
        ours.Message: _add_message,
        **dict.fromkeys((ours.FunctionCall, ours.CustomToolCall), _add_call),
        **dict.fromkeys((ours.FunctionCallOutput, ours.CustomToolCallOutput), _add_output),
    }


def _holds(content: Any, block: object) -> bool:
    """Whether the block is in this content, or in a result there."""
    return any(one is block or _holds(getattr(one, "content", None), block) for one in as_list(content))


def begins_alone(message: types.InputMessage) -> bool:
    """Whether it is an assistant message without a user message before it; a compaction represents earlier turns."""
    content = message.content
    begun = isinstance(content, list) and content and isinstance(content[0], types.Compaction)
    return message.role == "assistant" and not begun


# --- messages to items -----------------------------------------------------------------------------------------------

ROLES = {"user": "user", "assistant": "assistant", "system": "developer"}
"""Roles, those of Anthropic on the left; any other is treated as a user."""


def decode_messages(
    messages: Sequence[types.InputMessage], issuer: str, tools: Sequence[ours.AnyTool], *, keep: bool
) -> list[ours.AnyItem]:
    """The items for `messages`; an empty message becomes none."""
    items: list[ours.AnyItem] = []
    before = ""
    for message in messages:
        role, content = message.role, message.content
        if not content:
            continue
        if role not in ROLES:
            role = "user"
        if isinstance(content, str):
            found: list[ours.AnyItem] = [ours.Message(role=ROLES[role], content=content)]
        elif role == "assistant":
            reader = BlockReader(issuer, keep=keep)
            for i, block in enumerate(content):
                reader.add(i, block)
            found = reader.close()
        else:
            found = _decode_blocks(content, role, tools)
        if not isinstance(first := found[0], Unknown):
            left = diff(message, types.InputMessage(role, content), RULES) if keep else unknown(message)
            joins = items and role == before != "system"  # whether encoding would merge it into the message before
            if joins and isinstance(first, ours.Message) and first.role != "assistant":
                joins = isinstance(items[-1], ours.FunctionCallOutput)
            if left or joins:
                keep_message(first, WIRE, left)
        items += found
        before = role
    return items


def _decode_blocks(blocks: Sequence[types.AnyBlock], role: str, tools: Sequence[ours.AnyTool]) -> list[ours.AnyItem]:
    """Items of the user and the system. Tools that a system message adds are an item of their own, if they are described."""
    items: list[ours.AnyItem] = []
    if role == "system" and blocks:
        named = {tool.name: tool for tool in tools if isinstance(tool, ours.FunctionTool)}
        added = [_added(block, named) for block in blocks]
        if all(added):
            return [ours.AdditionalTools(role="developer", tools=[tool for tool in added if tool is not None])]
    parts: list[ours.ContentPart] = []
    for block in blocks:
        if role == "system" or not isinstance(block, types.ToolResult):
            if not parts:
                items.append(ours.Message(role=ROLES[role], content=parts))
            parts.append(decode_part(block))
        else:
            items.append(decode_result(block))
            parts = []
    return items


def _added(block: types.AnyBlock, named: dict[str, ours.FunctionTool]) -> ours.FunctionTool | None:
    """The tool that a block adds, if the block has no other field."""
    if type(block) is not types.ToolAddition or block.cache_control is not UNSET:
        return None
    tool = named.get(block.tool.name or "")
    same = tool is not None and block.tool == types.ChangedTool(type="tool_reference", name=tool.name)
    return tool if same else None
