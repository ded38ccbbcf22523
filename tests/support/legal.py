"""One checker of legal event order, for everything that is decoded, encoded or recorded.

Follows "Streaming" of the OpenAI Responses reference (read 2026-11-20): sequence numbers, created before all else, every item
added, filled and done, every part likewise, exactly one terminal event, and nothing behind it.
"""

from __future__ import annotations

from collections.abc import Iterable

from llm_rest.responses import events as ev
from llm_rest.responses.events import TERMINAL
from llm_rest.unknown import Unknown, given

OPENING = (ev.ResponseCreated, ev.ResponseQueued, ev.ResponseInProgress)


def faults(events: Iterable[object], *, numbered: bool = True) -> list[str]:
    """The faults in the order of a whole stream; empty when it is legal.

    `numbered=False` leaves sequence numbers out, for hosts that do not count.
    """
    found: list[str] = []
    open_items: set[int] = set()
    done_items: set[int] = set()
    open_parts: set[tuple[int, str, int]] = set()
    told: dict[int, object] = {}
    begun = ended = False
    number = -1
    for position, event in enumerate(events):
        name = event.kind if isinstance(event, Unknown) else type(event).__name__
        at = f"{position} {name}"
        if numbered:
            sent = (
                event.get("sequence_number") if isinstance(event, Unknown) else getattr(event, "sequence_number", None)
            )
            if not given(sent) or sent != number + 1:
                found.append(f"{at}: sequence number {sent} follows {number}")
            number = sent if isinstance(sent, int) else number + 1
        if ended:
            found.append(f"{at}: after the terminal event")
        if not begun and not isinstance(event, ev.ResponseCreated | ev.ErrorEvent):
            found.append(f"{at}: before response.created")
        begun = True
        if isinstance(event, OPENING) and (open_items or done_items):
            found.append(f"{at}: after an item")
        elif isinstance(event, TERMINAL):
            ended = True
            # A failure may come at any moment; what it left open was never finished.
            if not isinstance(event, ev.ResponseFailed):
                found += [f"{at}: item {index} is still open" for index in sorted(open_items)]
        elif isinstance(event, ev.OutputItemAdded):
            if event.output_index != len(open_items) + len(done_items):
                found.append(f"{at}: item {event.output_index} is not the next one")
            open_items.add(event.output_index)
            told[event.output_index] = event.item
        elif isinstance(event, ev.OutputItemDone):
            if event.output_index not in open_items:
                found.append(f"{at}: item {event.output_index} is not open")
            found += [f"{at}: part {part} is still open" for part in open_parts if part[0] == event.output_index]
            open_items.discard(event.output_index)
            begun_as = told.get(event.output_index)
            if type(event.item) is not type(begun_as):
                found.append(f"{at}: item {event.output_index} began as {_of(begun_as)}")
            told[event.output_index] = event.item
            done_items.add(event.output_index)
        elif isinstance(event, ev.OfItem):
            if event.output_index not in open_items:
                found.append(f"{at}: item {event.output_index} is not open")
            found += _part_faults(at, event, open_parts)
    if not ended:
        found.append("the stream has no terminal event")
    return found


def _of(item: object) -> tuple[str, object]:
    return type(item).__name__, getattr(item, "id", None)


def _part_faults(at: str, event: ev.OfItem, open_parts: set[tuple[int, str, int]]) -> list[str]:
    if isinstance(event, ev.OfPart):
        part = (event.output_index, "part", event.content_index)
    elif isinstance(event, ev.OfSummary):
        part = (event.output_index, "summary", event.summary_index)
    else:
        return []
    if isinstance(event, ev.ContentPartAdded | ev.ReasoningSummaryPartAdded):
        wrong = part in open_parts
        open_parts.add(part)
        return [f"{at}: part {part} is already open"] if wrong else []
    if part not in open_parts:
        return [f"{at}: part {part} is not open"]
    if isinstance(event, ev.ContentPartDone | ev.ReasoningSummaryPartDone):
        open_parts.discard(part)
    return []
