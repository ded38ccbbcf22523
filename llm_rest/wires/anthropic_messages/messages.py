"""Messages, both ways: what the assistant says, and who speaks when.

Before changing this file, know that the vendor binds thinking to the exact conversation before it: appending items may touch
only the message that is still open, and nothing is ever sorted. Follows the Messages reference and the thinking guide of
Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, cast

from msgspec import UNSET, Raw

from ... import responses as ours
from ...losses import Losses
from ...responses.carriers import digest, seal, sender, unseal
from ...responses.leftovers import SPELLING
from ...unknown import Opt, Unknown, given, or_none
from .._left import copies, report_cost, report_unknown, sent
from . import types
from .content import (
    WIRE,
    Context,
    block_of,
    blocks_of,
    encode,
    kind_of,
    kinds,
    left,
    merged,
    own,
    own_fields,
    part_of,
    rest,
    returned,
    text_block,
)
from .reasoning import (
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
from .tools import (
    VISIBLE,
    Call,
    Named,
    Output,
    decode_call,
    decode_result,
    encode_call,
    encode_result,
    fingerprint,
    plain_call,
    run_items,
    tool_additions,
    wire_id,
)

TIERS = {"standard": "default", "priority": "priority", "batch": "default"}
"""The tier an answer was given in, theirs on the left; the way back prefers the first."""
TIERS_BACK = {"default": "standard", "priority": "priority"}
EXACT = frozenset(TIERS_BACK.values())
"""Tiers that come back as they were."""
ABOUT = ("cache_creation", "server_tool_use", "inference_geo", "speed", "iterations")
"""Fields that describe one answer, and wait in leftovers."""
CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
COUNTS = ("input_tokens", "output_tokens", *CACHED)

_usage = copies(ours.Usage(input_tokens=0, output_tokens=0, total_tokens=0))


def decode_usage(used: types.Usage) -> ours.Usage:
    """Token counts as Responses counts them: input with what the cache gave and took."""
    input, output, thought = used.input_tokens or 0, used.output_tokens or 0, used.output_tokens_details
    read, written = used.cache_read_input_tokens, used.cache_creation_input_tokens
    if read is not UNSET or written is not UNSET:
        input += (read or 0) + (written or 0)
    usage = _usage()
    usage.input_tokens, usage.output_tokens, usage.total_tokens = input, output, input + output
    if (
        read is written is thought is used.service_tier is used.speed is UNSET
        and used.cache_creation is used.server_tool_use is used.inference_geo is used.iterations is UNSET
        and type(used) is types.Usage
        and input
        and output
    ):
        return usage
    fields = rest(used, ABOUT)
    if read is not UNSET or written is not UNSET:
        usage.input_tokens_details = ours.InputTokensDetails(cached_tokens=read or 0, cache_write_tokens=written or 0)
    counted = COUNTS if given(usage.input_tokens_details) else COUNTS[:2]
    complete = input and output and type(read) is type(written) is int
    if not complete and (odd := {name: sent(value) for name in counted if not given(value := getattr(used, name))}):
        fields[SPELLING] = odd
    if thought is not UNSET:
        thinking = thought.get("thinking_tokens") if thought else None
        if thinking is not None:
            usage.output_tokens_details = ours.OutputTokensDetails(reasoning_tokens=thinking)
        if thought is None or thinking is None or len(thought) > 1:
            fields["output_tokens_details"] = thought
    if used.service_tier is not UNSET and used.service_tier not in EXACT:
        fields["service_tier"] = used.service_tier
    usage.leftovers = left(fields)
    return usage


def encode_usage(response: ours.Response, lost: Losses) -> types.Usage:
    """Token counts of this wire: input without what the cache gave and took."""
    used, body = response.usage, types.Usage(input_tokens=0, output_tokens=0)
    kept: dict[str, Any] = own_fields(used.leftovers, "usage", lost) if given(used) else {}
    tier = response.service_tier
    if given(tier) and tier != kept.get("service_tier", UNSET):
        if tier in TIERS_BACK:
            body.service_tier = TIERS_BACK[tier]
        else:
            lost.dropped("service_tier", f"Anthropic has no tier {tier!r}")
    if not given(used):
        return body
    report_cost(used, lost)
    input, body.output_tokens = used.input_tokens, used.output_tokens
    cached = used.input_tokens_details
    if given(cached):
        body.cache_read_input_tokens = int(cached.cached_tokens or 0)
        body.cache_creation_input_tokens = int(cached.cache_write_tokens or 0)
        input -= body.cache_read_input_tokens + body.cache_creation_input_tokens
    body.input_tokens = max(input, 0)
    if input < 0:
        lost.changed(
            "usage.input_tokens", "less than what of it came from the cache; it is said to be none beside that"
        )
    if used.total_tokens != used.input_tokens + used.output_tokens:
        lost.dropped("usage.total_tokens", "a total that is not the sum of input and output")
    if given(used.output_tokens_details) and given(used.output_tokens_details.reasoning_tokens):
        body.output_tokens_details = {"thinking_tokens": int(used.output_tokens_details.reasoning_tokens)}
    return returned(body, kept, "usage.leftovers", lost)


SAID = (types.Text, types.ToolUse, types.Thinking, types.RedactedThinking, types.Compaction)
"""What ends a run of tools that the vendor runs."""

THOUGHTS = (types.Thinking, types.RedactedThinking)
_ITEMS = kinds(ours.AnyItem)
_TOLD = (Unknown, ours.FunctionCall, ours.CustomToolCall)
Text = types.Text
ToolUse = types.ToolUse


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


Content = str | list[types.AnyBlock]

BESIDE = ("stop_details", "container", "context_management", "diagnostics", "input_transformations")
"""Fields that describe one answer, and wait in leftovers."""

Answer = types.Message
InputMessage, ToolResult = types.InputMessage, types.ToolResult


Message, OutputText = ours.Message, ours.OutputText
FunctionCall, FunctionCallOutput = ours.FunctionCall, ours.FunctionCallOutput

_message = copies(Message(role="assistant", status="completed", content=[]))
_response = copies(ours.Response(id="", status="completed", output=[]))
_text = copies(OutputText(text=""))


def plain_answer(body: types.Message | types.Error, now: float) -> ours.Response | None:
    """The Response for an answer of plain texts and calls that ended as answers do; `None` for any other."""
    if type(body) is not Answer or body.stop_sequence is not None or body.role != "assistant":
        return None
    id, model, used, ended = body.id, body.model, body.usage, "end_turn"
    if type(id) is not str or type(model) is not str or not used or body.input_transformations is not UNSET:
        return None
    bare = body.stop_details is body.container is body.diagnostics is body.context_management is UNSET
    about = {} if bare else rest(body, BESIDE)
    if about and any(about.values()):
        return None
    output: list[ours.AnyItem] = []
    parts: list[ours.ContentPart] | None = None
    for i, block in enumerate(body.content):
        if type(block) is Text and block.citations is block.cache_control is UNSET:
            if parts is None:
                message, parts = _message(), []
                message.id, message.content = f"msg_{id}_{i}", parts
                output.append(message)
            part = _text()
            part.text, part.annotations = block.text, []
            parts.append(part)
        elif type(block) is ToolUse:
            output.append(decode_call(block, f"fc_{id}_{i}", "completed"))
            parts, ended = None, "tool_use"
        else:
            return None
    if body.stop_reason != ended:
        return None
    response, tier = _response(), used.service_tier
    response.id, response.created_at, response.model = id, now, model
    response.output, response.usage = output, decode_usage(used)
    if about:
        response.leftovers = left(about)
    if tier is not UNSET and tier is not None:
        response.service_tier = TIERS.get(tier, tier)
    return response


class OpenTurn:
    """The messages of a request so far, of which the last is open."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.messages: list[types.InputMessage] = []
        self._writer = BlockWriter(context)
        self._role = ""  # of the open message
        self._results = 0  # how many results it begins with
        self._joins = False  # whether what a user says next belongs to it
        self._closed = False  # whether the next item begins a message in any case
        self._waiting: dict[str, deque[tuple[types.ToolUse, int]]] = {}  # calls without a result yet
        self._ids: set[str] = set()
        self._taken: set[int] = set()  # results that moved up
        self._held: list[tuple[types.InputMessage, str]] = []  # system messages that wait for a legal place

    def _ordinary(self, items: Sequence[ours.AnyItem], start: int) -> int:
        """Take the plain texts, calls and results that nearly every conversation is made of, up to the place returned.

        It does what the rest of this class does with them, as long as nothing waits that could make a difference.
        """
        if self._held or self._closed or self._taken or self._writer.waits:
            return start
        messages, waiting, ids = self.messages, self._waiting, self._ids
        role, results, joins = self._role, self._results, self._joins
        i = start
        for i in range(start, len(items)):
            item = items[i]
            if type(item) is Message:
                said, text = item.role, item.content
                if waiting or item.leftovers is not None or item.phase is not None:
                    break
                if (joins or said != "user") and (role != "user" or said != "assistant"):
                    break
                if type(text) is str:
                    if not text or text.isspace():
                        break
                    messages.append(InputMessage(said, text))
                else:
                    texts = None if said == "user" or _may_carry(items, i + 1) else _plain_texts(text)
                    if not texts:
                        break
                    messages.append(InputMessage(said, texts))
                role, results, joins = said, 0, False
            elif type(item) is FunctionCall:
                call = plain_call(item)
                if call is None or call.id in ids:
                    break
                if role == "assistant":
                    self._blocks().append(call)
                elif role == "user" and not waiting:
                    messages.append(InputMessage("assistant", [call]))
                    role, joins = "assistant", False
                else:
                    break
                ids.add(call.id)
                waiting[call.id] = deque(((call, i),))
            elif type(item) is FunctionCallOutput:
                output, waits = item.output, waiting.get(item.call_id or "")
                if waits is None or type(output) is not str or len(waits) > 1:
                    break
                call = waits[0][0]
                bare = item.leftovers is None and item.namespace is None and item.is_error is None
                if not bare or call.toolset_name is not UNSET:
                    break
                del waiting[item.call_id or ""]
                result = ToolResult(call.id, output or UNSET)
                if role == "user":
                    self._blocks().append(result)
                    results += 1
                else:
                    messages.append(InputMessage("user", [result]))
                    role, results, joins = "user", 1, True
            else:
                break
        else:
            i = len(items)
        self._role, self._results, self._joins = role, results, joins
        return i

    def _blocks(self) -> list[types.AnyBlock]:
        """The blocks of the open message."""
        message = self.messages[-1]
        message.content = found = as_blocks(message.content or "")
        return found


def as_blocks(content: Content) -> list[types.AnyBlock]:
    """A message's content as blocks."""
    return [types.Text(text=content)] if isinstance(content, str) else content


def _may_carry(items: Sequence[ours.AnyItem], i: int) -> bool:
    """Whether the item at `i` may hold citations of the message before it."""
    return i < len(items) and isinstance(items[i], ours.Reasoning)


def _plain_texts(parts: str | list[ours.ContentPart]) -> list[types.AnyBlock] | None:
    """The blocks of what a model said, where nothing hangs on its texts."""
    blocks: list[types.AnyBlock] = []
    for part in parts:
        if type(part) is not OutputText or part.annotations or part.logprobs or part.leftovers is not None:
            return None
        if not part.text or part.text.isspace():
            return None
        blocks.append(Text(part.text))
    return blocks


SYSTEM = ("system", "developer")
SEPARATE = "separate"
"""Spelling of an item that begins a message although it could stand in the one before."""


class Turns(OpenTurn):
    """The messages of a request: `write` the items, then read `system` and `messages`."""

    def __init__(self, context: Context, offered: frozenset[str] = frozenset()) -> None:
        super().__init__(context)
        self.lost = context.lost
        self.system: list[types.Text] = []
        self.compacts = False
        self._offered = offered
        self._items: Sequence[ours.AnyItem] = ()
        self._outputs: dict[str, deque[int]] | None = None  # where the outputs of a call id are that did not come yet
        self._repeated: dict[str, int] = {}  # how often a call id came again
        self._fell_back = False  # whether the open message changes the model
        self._about: dict[str, Any] = {}  # fields of a message that did not begin yet

    def write(self, items: Sequence[ours.AnyItem]) -> None:
        """Take the whole input."""
        self._items = items
        i = 0
        while (i := self._ordinary(items, i)) < len(items):
            self._rarer(items[i], i)
            i += 1
        self._leave_answer(len(items))
        if self._role == "user":
            self._place_held()
        self._release_held()

    def _rarer(self, item: ours.AnyItem, i: int) -> None:
        path = f"input[{i}]"
        fields = {} if isinstance(item, Unknown) else own(item.leftovers)
        self._closed |= bool(fields.get(SPELLING, {}).get(SEPARATE))
        before = len(self.messages)
        match item:
            case ours.Message():
                self._message(item, i)
            case ours.FunctionCall() | ours.CustomToolCall():
                self._call(item, i)
            case ours.FunctionCallOutput() | ours.CustomToolCallOutput():
                self._answer(item, i)
            case ours.AdditionalTools(tools=tools):
                self._leave_answer(i)
                self._instruct(tool_additions(tools, path, self._offered, self.context), path)
            case ours.CompactionTrigger():
                self.compacts = True
            case ours.ItemReference():
                self.lost.refused(path, "an item by its id; Anthropic keeps nothing between calls")
            case _:
                blocks = self._writer.write(item, path)
                self._fell_back |= any(isinstance(block, types.Fallback) for block in blocks)
                if blocks:
                    self._answer_with(blocks, i)
        about: dict[str, Any] = fields.get("message") or (self._about if self._role == "assistant" else {})
        self._about = {}
        if self._held and self._held[-1][1] == path:
            self._held[-1] = merged(self._held[-1][0], about, path, self.lost), path
        elif len(self.messages) > before:
            self.messages[-1] = merged(self.messages[-1], about, path, self.lost)
        else:
            self._about = about

    def _message(self, item: ours.Message, i: int) -> None:
        path, content = f"input[{i}]", item.content
        if item.role == "assistant":
            self.context.beside_call = self._stands_beside_call(i)
            blocks = self._writer.write(item, path)
            self.context.beside_call = False
            if blocks:
                self._answer_with(blocks, i)
                if isinstance(content, str) and self.messages[-1].content is blocks:
                    self.messages[-1].content = content
            elif self._role == "user":
                # An answer that says nothing still ends the turn it answers, so that what follows leaves that as it is.
                self._release_held()
                self._closed = True
            return
        self._leave_answer(i)
        report_unknown(item, path, self.lost)
        own_fields(item.leftovers, path, self.lost)
        if not isinstance(content, str):
            said: Content = blocks_of(content, f"{path}.content", self.context)
        else:
            said = content if text_block(content, f"{path}.content", self.context) else ""
        if item.role in SYSTEM:
            self._instruct(said, path)
        elif not said:
            self.lost.refused(path, "a message that says nothing")
        else:
            if item.role != "user":
                self.lost.changed(f"{path}.role", f"{item.role!r} is sent as a user")
            self._ask(said)

    def _stands_beside_call(self, i: int) -> bool:
        """Whether the item at `i` is in one message with a call, which stands right before it or behind it."""
        items, behind = self._items, i + 1
        while behind < len(items) and isinstance(items[behind], ours.Reasoning):
            behind += 1
        return (i > 0 and isinstance(items[i - 1], Call)) or (behind < len(items) and isinstance(items[behind], Call))

    def _open(self, role: str, content: Content) -> None:
        """Begin a message."""
        self.messages.append(types.InputMessage(role, content))
        self._role, self._results = role, 0
        self._joins = self._closed = False

    # --- the model

    def _answer_with(self, blocks: list[types.AnyBlock], i: int) -> None:
        """Add to the model's message, which is begun where it is not open."""
        if self._role == "assistant" and not self._closed:
            self._blocks().extend(blocks)
            return
        if self._role == "assistant":
            self._close_answer(i)
        else:
            if self._waiting:
                self._settle(i)
            if self._held and self._role == "user":
                self._place_held()
        self._open("assistant", blocks)

    def _leave_answer(self, i: int) -> None:
        """What follows at `i` is not the model's: its message is complete, and its calls need their results now."""
        if self._writer.waits:
            self._close_answer(i)
        if self._waiting:
            self._settle(i)

    def _close_answer(self, i: int) -> None:
        self._writer.close()
        if self._fell_back:
            self._drop_declined(i)

    def _drop_declined(self, i: int) -> None:
        """Leave out what the vendor does not take back of a model that handed over: its thinking and unanswered calls."""
        content = self._blocks()
        last = max(n for n, block in enumerate(content) if isinstance(block, types.Fallback))
        answered = {block.tool_use_id for block in content if isinstance(block, types.ServerToolResult)}
        handed_over = {block.id for block in content[:last] if isinstance(block, types.ToolUse)}
        for call_id, waits in [*self._waiting.items()]:
            if self._answer_of(call_id, i) is None and waits[0][0].id in handed_over:
                del self._waiting[call_id]
            else:
                answered.update(block.id for block, _ in waits)
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

    def _call(self, item: Call, i: int) -> None:
        if item.status == "incomplete" and self._answer_of(item.call_id, i) is None:
            self.lost.dropped(f"input[{i}]", "a call that was cut short and never answered")
            return
        if self._writer.waits:
            self._writer.settle()
        call_id, repeated = item.call_id, self._repeated.get(item.call_id, 0)
        while (id := wire_id(call_id, repeated)) in self._ids:
            repeated += 1
        self._repeated[call_id] = repeated
        self._ids.add(id)
        block = encode_call(item, id, f"input[{i}]", self.context)
        self._answer_with([block], i)
        self._waiting.setdefault(call_id, deque()).append((block, i))

    # --- results

    def _answer(self, item: Output, i: int) -> None:
        if i in self._taken:
            return
        if self._writer.waits:
            self._close_answer(i)
        call_id = item.call_id or ""
        waiting = self._waiting.pop(call_id, None)
        if waiting is None:
            self.lost.refused(f"input[{i}]", f"a result for {call_id!r}, which no call before it asks for")
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

    def _answer_of(self, call_id: str, start: int) -> int | None:
        """Where the next output for a call id is, at `start` or later; asked in the order of the items."""
        if self._outputs is None:
            self._outputs = {}
            for j in range(start, len(self._items)):
                if isinstance(item := self._items[j], Output):
                    self._outputs.setdefault(item.call_id or "", deque()).append(j)
        places = self._outputs.get(call_id)
        while places and (places[0] < start or places[0] in self._taken):
            places.popleft()
        return places[0] if places else None

    def _settle(self, start: int) -> None:
        """Give every call its result now: one that comes later moves up, one that never comes makes the request invalid."""
        for call_id in [*self._waiting]:
            while call_id in self._waiting:
                j = self._answer_of(call_id, start)
                if j is None:
                    for _, i in self._waiting.pop(call_id):
                        self.lost.refused(f"input[{i}]", "a call without a result, which Anthropic requires")
                    continue
                self.lost.changed(f"input[{j}]", "a result moves up to its call, where Anthropic requires it")
                self._answer(cast("Output", self._items[j]), j)
                self._taken.add(j)

    # --- everybody else

    def _ask(self, content: Content) -> None:
        """What a user says, in the open message where that holds results only, else in one of its own."""
        if self._role == "user" and self._joins and not self._closed:
            self._blocks().extend(as_blocks(content))
            self._joins = False
            return
        if self._role == "user":
            for _, path in self._held:
                self.lost.changed(path, "a system message moves behind the user's turn")
        self._open("user", content)

    def _instruct(self, content: Content, path: str) -> None:
        """What stands above the user: before the conversation in `system`, else where this model takes it."""
        if not content:
            return
        if not self.messages and not self._held:
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
            self.lost.changed(path, "a system message moves behind the next user's turn")
        self._held.append((message, path))

    def _place_held(self) -> None:
        """The system messages stand here."""
        if self._held:
            self.messages += [message for message, _ in self._held]
            self._held = []
            self._role = "system"

    def _release_held(self) -> None:
        """No place is left for the system messages that wait."""
        held, self._held = self._held, []
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
        self.lost.changed(path, "no system message can stand here; it is sent as the user's, in <system> tags")
        if self._role == "user":
            self._blocks().extend(texts)
        else:
            self.messages.append(types.InputMessage("user", texts))
            self._role, self._results, self._joins = "user", 0, True


ROLES = {"user": "user", "assistant": "assistant", "system": "developer"}
"""Who speaks, theirs on the left; anybody else is taken for a user."""


def decode_messages(
    messages: Sequence[types.InputMessage], issuer: str, tools: Sequence[ours.AnyTool]
) -> list[ours.AnyItem]:
    """The items that `messages` are in Responses; one that says nothing is none."""
    items: list[ours.AnyItem] = []
    before = ""
    for message in messages:
        role, content = message.role, message.content
        if not content:
            continue
        fields = rest(message, ("clear_at", "output_config"))
        if role not in ROLES:
            role, fields["role"] = "user", role
        if isinstance(content, str):
            found: list[ours.AnyItem] = [ours.Message(role=ROLES[role], content=content)]
        elif role == "assistant":
            reader = BlockReader(issuer)
            for i, block in enumerate(content):
                reader.add(i, block)
            found = reader.close()
        else:
            found = _heard(content, role, tools)
        if fields:
            _note(found[0], "message", fields)
        if items and role == before != "system" and _would_join(items[-1], found[0]):
            _note(found[0], SPELLING, {SEPARATE: True})
        items += found
        before = role
    return items


def _would_join(last: ours.AnyItem, first: ours.AnyItem) -> bool:
    """Whether the item after the last one would be sent in the same message, within turns of one role."""
    if isinstance(first, ours.Message) and first.role != "assistant":
        return isinstance(last, ours.FunctionCallOutput)
    return True


def _note(item: ours.AnyItem, name: str, fields: dict[str, Any]) -> None:
    if not isinstance(item, Unknown):
        kept = own(item.leftovers)
        item.leftovers = {WIRE: {**kept, name: {**kept.get(name, {}), **fields}}}


def _heard(blocks: Sequence[types.AnyBlock], role: str, tools: Sequence[ours.AnyTool]) -> list[ours.AnyItem]:
    """What was not said by the model. Tools that a system message adds are an item of their own, where they are described."""
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
            parts.append(part_of(block))
        else:
            items.append(decode_result(block))
            parts = []
    return items


def _added(block: types.AnyBlock, named: dict[str, ours.FunctionTool]) -> ours.FunctionTool | None:
    """The tool that becomes callable with a block that says nothing else."""
    if type(block) is not types.ToolAddition or block.cache_control is not UNSET:
        return None
    tool = named.get(block.tool.name or "")
    same = tool is not None and block.tool == types.ChangedTool(type="tool_reference", name=tool.name)
    return tool if same else None
