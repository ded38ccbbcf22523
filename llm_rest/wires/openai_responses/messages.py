"""Conversion of items for a host or a client, and back.

An item with nothing to change is returned as the same object. Before changing this file, know two rules of the hosts:
an id must have the prefix of its type; reasoning must be followed by the very items it produced, so the items after a
reasoning item that is not sent lose their ids, and reasoning that no item follows is not sent. Follows the OpenAI
Responses reference (read 2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from ... import responses as rs
from ...losses import Losses, not_in
from ...responses import FunctionCall, FunctionCallOutput, Message  # an attribute of `rs` takes longer
from ...responses.carriers import ISSUER, digest, own
from ...unknown import Unknown, given
from ...vendors.dialects import ResponsesDialect
from ..leftovers import struct_of
from ..tools import sent_name, wire_name
from .content import OUTPUTS, ItemT, encode_failure, fitting_content, report_repairs, without_leftovers
from .reasoning import STATE, decode_thinking, encode_thinking, has_own_id, unsealed
from .tools import renamed
from .types import WIRE

# Tuples, because `isinstance(x, A | B)` builds the union anew for every item.
CALLS = (rs.FunctionCall, rs.CustomToolCall)
CALLS_AND_OUTPUTS = (*CALLS, *OUTPUTS)
# Records of hosted tools. One is identified by its id alone, so that one without the id of this host is another vendor's.
HOSTED = {
    rs.WebSearchCall,
    rs.FileSearchCall,
    rs.CodeInterpreterCall,
    rs.ImageGenerationCall,
    rs.McpCall,
    rs.McpListTools,
    rs.McpApprovalRequest,
}


_derived = re.compile(r"[a-z]+_.+_\d{1,4}").fullmatch
"""Ids as `wires.leftovers.item_id` makes them."""


def _is_derived(item: Any, dialect: ResponsesDialect) -> bool:
    """Whether the id of a record was made here, for a vendor of another wire, and did not come from this host."""
    return bool(_derived(item.id or "")) and own(item.leftovers, WIRE).get(ISSUER) != dialect.issuer


# --- to a host ------------------------------------------------------------------------------------------------------


class MessageWriter:
    """Writes the items of a request as the host supports them; `changed` is whether any of them differs.

    `stored`: the host may have stored ids. `reasons`: the model may have reasoned before its output.
    """

    state = changing = None  # a turn needs no state of those before it

    def __init__(
        self, items: Sequence[rs.AnyItem], dialect: ResponsesDialect, lost: Losses, *, stored: bool, reasons: bool
    ) -> None:
        self.messages: list[rs.AnyItem] = []
        self.changed = False
        self._items = items
        self._dialect = dialect
        self._lost = lost
        self._stored = stored
        self._binds = reasons and dialect.checks_ids
        self._following = 0  # the position of the first item after the last examined one that is not reasoning
        self._loose = False  # whether reasoning was left out in this answer, so that its items lose their ids
        self._turn: list[tuple[int, rs.AnyItem]] = []  # for a host that groups calls

    def write(self, start: int, end: int) -> None:
        """Write the items from `start` up to `end`."""
        longest, groups, messages = self._dialect.longest_call_id, self._dialect.groups_calls, self.messages
        items: Any = self._items
        for i in range(start, end):
            item = sent = items[i]
            kind: object = item.__class__
            # Most items have no field that a host may treat differently. Reading a field is fast where the type is known.
            plain = False
            if kind is Message:
                if type(item.content) is str:
                    plain = item.id is item.leftovers is item.created_by is None
            elif kind is FunctionCall:
                if len(item.call_id) <= longest and wire_name(item.name) == item.name:
                    plain = item.id is item.leftovers is item.created_by is item.namespace is item.caller is None
            elif kind is FunctionCallOutput and type(item.output) is str and len(item.call_id or "") <= longest:
                plain = item.id is item.leftovers is item.created_by is None
                plain = plain and item.is_error is item.name is item.caller is None
            if not plain:
                sent = self._encode(item, i)
                self.changed = self.changed or sent is not item
            elif self._loose:
                self._loose = not _ends_answer(item)
            if groups and sent is not None:
                self._turn.append((i, sent))
            elif sent is not None:
                messages.append(sent)

    def settled(self, end: int) -> bool:
        """End the turn before the item at `end`; later items change nothing of it."""
        self.finish()
        return True

    def finish(self) -> None:
        """End the turn."""
        if self._dialect.groups_calls:
            self.changed = True
            self.messages += _grouped(self._turn, self._lost)
            self._turn = []

    def _encode(self, item: rs.AnyItem, i: int) -> rs.AnyItem | None:
        if isinstance(item, Unknown):
            return item
        self._loose = self._loose and not _ends_answer(item)
        path = f"input[{i}]"
        if self._binds and isinstance(item, rs.Reasoning) and self._is_last(i):
            self._lost.dropped(path, "reasoning without the item that followed it")
            return None
        sent = _encode_item(item, path, self._dialect, self._lost, self._stored, self._loose)
        if isinstance(item, rs.Reasoning):
            self._loose = sent is None
        return None if sent is None else renamed(sent, sent_name)

    def _is_last(self, i: int) -> bool:
        """Whether no item of its answer follows a reasoning item, but another item does."""
        while self._following <= i or isinstance(self._item(self._following), rs.Reasoning):
            self._following = max(i, self._following) + 1
        item = self._item(self._following)
        return item is not None and _ends_answer(item)

    def _item(self, i: int) -> rs.AnyItem | None:
        return self._items[i] if i < len(self._items) else None


def _encode_item(
    item: ItemT, path: str, dialect: ResponsesDialect, lost: Losses, stored: bool, without_id: bool
) -> ItemT | None:
    if isinstance(item, STATE):
        found = encode_thinking(item, path, dialect, lost, stored=stored)
        if found is None:
            without_leftovers(item, path, lost)
            return None
        item, without_id = cast("ItemT", found), False
    elif dialect.stateless and isinstance(item, rs.ItemReference):
        lost.refused(path, "an item by id, which needs a server that stores items")
        return None
    if given(item.id) and (without_id or not has_own_id(item, dialect)):
        item = item if isinstance(item, rs.ItemReference) else replace(item, id=None)
    if dialect.checks_ids and struct_of(item) in HOSTED and (not given(item.id) or _is_derived(item, dialect)):
        lost.dropped(path, "the record of a tool that another vendor ran")
        without_leftovers(item, path, lost)
        return None
    if item.created_by is not None:
        item = replace(item, created_by=None)
    if isinstance(item, rs.WebSearchCall):
        item = cast("ItemT", _known_search(item, path, lost))
    had_content = isinstance(item, rs.Message) and bool(item.content)
    item = without_leftovers(item, path, lost)
    if had_content and not cast("rs.Message", item).content:
        lost.dropped(path, "a message of which nothing is left")
        return None
    if isinstance(item, CALLS_AND_OUTPUTS):
        item = encode_failure(item, path, lost)
        if (
            item.call_id is not None and len(item.call_id) > dialect.longest_call_id
        ):  # a call and its output get the same
            lost.changed(f"{path}.call_id", f"longer than {dialect.longest_call_id} characters")
            item = replace(item, call_id=f"call_{digest(item.call_id)}")
    return fitting_content(item, path, dialect, lost)


def _known_search(item: rs.WebSearchCall, path: str, lost: Losses) -> rs.WebSearchCall:
    """A web search with the fields that hosts have."""
    if item.rendered_content is not None:
        lost.dropped(f"{path}.rendered_content", "search suggestions of Google, which are for the user")
        item = replace(item, rendered_content=None)
    sources: list[Any] = (item.action.sources if isinstance(item.action, rs.Search) else None) or []
    titled = [isinstance(source, rs.UrlSource) and source.title is not None for source in sources]
    if not any(titled):
        return item
    for k, has_title in enumerate(titled):
        if has_title:
            lost.dropped(f"{path}.action.sources[{k}].title", not_in("the title of a source", "Responses"))
    known = [replace(source, title=None) if has else source for source, has in zip(sources, titled, strict=True)]
    return replace(item, action=replace(cast("rs.Search", item.action), sources=known))


def _ends_answer(item: rs.AnyItem) -> bool:
    """Whether an item ends what the model said before it."""
    return isinstance(item, OUTPUTS) or _is_input_message(item)


def _is_input_message(item: rs.AnyItem) -> bool:
    return isinstance(item, rs.Message) and item.role != "assistant"


def _grouped(items: list[tuple[int, rs.AnyItem]], lost: Losses) -> list[rs.AnyItem]:
    """Each turn's calls side by side, then their outputs: what the model said in between comes before them."""
    grouped: list[rs.AnyItem] = []
    before: list[rs.AnyItem] = []
    calls: list[rs.AnyItem] = []
    outputs: list[rs.AnyItem] = []
    waiting: set[str | None] = set()
    for i, item in items:
        if isinstance(item, CALLS):
            if calls and not waiting:
                grouped += before + calls + outputs
                before, calls, outputs = [], [], []
            calls.append(item)
            waiting.add(item.call_id)
        elif isinstance(item, OUTPUTS):
            outputs.append(item)
            waiting.discard(item.call_id)
        elif waiting and isinstance(item, rs.Reasoning | rs.Message) and not _is_input_message(item):
            before.append(item)
            lost.changed(f"input[{i}]", "moved before the calls of its turn, which the host requires side by side")
        else:
            grouped += before + calls + outputs
            before, calls, outputs = [], [], []
            waiting.clear()
            grouped.append(item)
    return grouped + before + calls + outputs


# --- to a client ----------------------------------------------------------------------------------------------------


def encode_item(item: rs.AnyItem, i: int, dialect: ResponsesDialect, lost: Losses) -> rs.AnyItem:
    """One item of an answer, without the fields of ours."""
    if isinstance(item, Unknown):
        return item
    path = f"output[{i}]"
    return encode_failure(without_leftovers(unsealed(item, dialect), path, lost), path, lost)


# --- from a host ----------------------------------------------------------------------------------------------------


def decode_messages(
    items: list[rs.AnyItem], field: str, dialect: ResponsesDialect, lost: Losses, *, answer: bool
) -> list[rs.AnyItem]:
    """`items` with the host's opaque state in envelopes that return to it alone; the same list where nothing is to do.

    What the document's decoder repaired or left out is reported. In an `answer` every state is the host's own.
    """
    decoded = items
    for i, item in enumerate(items):
        new = item
        if not isinstance(item, Unknown) and item.leftovers is not None:
            new = replace(item, leftovers=report_repairs(item.leftovers, f"{field}[{i}]", lost))
        if answer and struct_of(item) in HOSTED and _derived(cast("Any", item).id or ""):  # such as a gateway's
            hosted: Any = new
            new = replace(hosted, leftovers={**(hosted.leftovers or {}), WIRE: {ISSUER: dialect.issuer}})
        if isinstance(new, STATE):
            new = decode_thinking(new, dialect, answer=answer)
        if new is not item:
            decoded = list(items) if decoded is items else decoded
            decoded[i] = new
    return decoded
