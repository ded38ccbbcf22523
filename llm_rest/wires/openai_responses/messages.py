"""Items on their way to a host and back: what is ours stays behind, opaque state goes only to who issued it.

An item with nothing to change is passed through as the same object. Before changing this file, know the three rules of the
host it follows (OpenAI Responses reference, read 2026-11-20): an id must carry the prefix of its kind; reasoning must be
followed by the very items it produced, so what follows a reasoning item that is held back loses its id; reasoning without
encrypted content can only be named to a server that kept it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from ...losses import Losses
from ...responses import (
    AnyItem,
    CodeInterpreterCall,
    CustomToolCall,
    FileSearchCall,
    FunctionCall,
    ImageGenerationCall,
    ItemBase,
    ItemReference,
    McpApprovalRequest,
    McpCall,
    McpListTools,
    Message,
    Reasoning,
    WebSearchCall,
)
from ...responses.carriers import digest
from ...unknown import Unknown, given
from ...vendors.dialects import ResponsesDialect
from .content import OUTPUTS, ItemT, fitting_content, report_repairs, strip
from .reasoning import STATE, decode_thinking, encode_thinking, without_refused_fields
from .types import id_prefix

# Tuples, because `isinstance(x, A | B)` builds the union anew for every item.
CALLS = (FunctionCall, CustomToolCall)
CALLS_AND_OUTPUTS = (*CALLS, *OUTPUTS)
# What a vendor's own tools did. Its id is all that makes it good, so without one it is another vendor's.
RECORDS = (
    WebSearchCall,
    FileSearchCall,
    CodeInterpreterCall,
    ImageGenerationCall,
    McpCall,
    McpListTools,
    McpApprovalRequest,
)


def encode_items(items: Sequence[AnyItem], dialect: ResponsesDialect, lost: Losses, *, kept: bool) -> Sequence[AnyItem]:
    """`items` as the host takes them; the same list where nothing had to change. `kept`: the host may know ids."""
    encoded: list[AnyItem] = []
    places: list[int] = []
    changed = loose = False
    for i, item in enumerate(items):
        sent: AnyItem | None = item
        if not isinstance(item, Unknown):
            # What a reasoning item produced ends where somebody else speaks.
            loose = loose and not isinstance(item, OUTPUTS) and not _is_said_to_model(item)
            sent = _encode_item(item, i, dialect, lost, kept, loose)
            changed = changed or sent is not item
            loose = loose or (sent is None and isinstance(item, Reasoning))
        if sent is not None:
            encoded.append(sent)
            places.append(i)
    if dialect.groups_calls:
        return _grouped(encoded, places, lost)
    return encoded if changed else items


def _encode_item(item: ItemT, i: int, dialect: ResponsesDialect, lost: Losses, kept: bool, loose: bool) -> ItemT | None:
    if isinstance(item, STATE):
        found = encode_thinking(item, i, dialect, lost, kept)
        if found is None:
            return None
        item = cast("ItemT", found)
        if isinstance(item, Reasoning) and dialect.reasoning_lacks:
            item = without_refused_fields(item, i, dialect, lost)
    elif dialect.stateless and isinstance(item, ItemReference):
        lost.refused(f"input[{i}]", "an item that only a server which keeps items can find")
        return None
    if given(item.id) and (loose or (dialect.checks_ids and not item.id.startswith(id_prefix(item)))):
        item = item if isinstance(item, ItemReference) else replace(item, id=None)
    if dialect.checks_ids and isinstance(item, RECORDS) and not given(item.id):
        lost.dropped(f"input[{i}]", "the record of a tool that another vendor ran")
        return None
    if item.created_by is not None:
        item = replace(item, created_by=None)
    if isinstance(item, CALLS_AND_OUTPUTS):
        item = _call_id(item, i, dialect, lost)
    return fitting_content(strip(item, "input", i, lost), i, dialect, lost)


def _is_said_to_model(item: ItemBase) -> bool:
    return isinstance(item, Message) and item.role != "assistant"


def _call_id(item: Any, i: int, dialect: ResponsesDialect, lost: Losses) -> Any:
    """The item with a `call_id` the host has room for; a call and its output get the same one."""
    call_id = item.call_id
    if call_id is None or len(call_id) <= dialect.longest_call_id:
        return item
    lost.changed(f"input[{i}].call_id", f"longer than {dialect.longest_call_id} characters")
    return replace(item, call_id=f"call_{digest(call_id)}")


def _grouped(items: list[AnyItem], places: list[int], lost: Losses) -> list[AnyItem]:
    """Each turn's calls side by side, then their outputs: what the model said in between comes before them."""
    grouped: list[AnyItem] = []
    before: list[AnyItem] = []
    calls: list[AnyItem] = []
    outputs: list[AnyItem] = []
    waiting: set[str | None] = set()
    for i, item in zip(places, items, strict=True):
        if isinstance(item, CALLS):
            if calls and not waiting:
                grouped += before + calls + outputs
                before, calls, outputs = [], [], []
            calls.append(item)
            waiting.add(item.call_id)
        elif isinstance(item, OUTPUTS):
            outputs.append(item)
            waiting.discard(item.call_id)
        elif waiting and isinstance(item, Reasoning | Message) and not _is_said_to_model(item):
            before.append(item)
            lost.changed(f"input[{i}]", "moved before the calls of its turn, which the host wants side by side")
        else:
            grouped += before + calls + outputs
            before, calls, outputs = [], [], []
            waiting.clear()
            grouped.append(item)
    return grouped + before + calls + outputs


# --- from a host ----------------------------------------------------------------------------------------------------


def decode_items(items: list[AnyItem], field: str, dialect: ResponsesDialect, lost: Losses) -> list[AnyItem]:
    """`items` with the host's opaque state in envelopes that return to it alone; the same list where nothing is to do.

    What the document's decoder had to put right is reported.
    """
    decoded: list[AnyItem] | None = None
    for i, item in enumerate(items):
        new = item
        if isinstance(item, STATE):
            new = decode_thinking(item, dialect)
        elif not isinstance(item, Unknown) and item.leftovers is not None:
            new = replace(item, leftovers=report_repairs(item.leftovers, f"{field}[{i}]", lost))
        if new is not item:
            decoded = list(items) if decoded is None else decoded
            decoded[i] = new
    return items if decoded is None else decoded
