"""Hosts of the Responses format number items and parts as they like: a stream of any wire says everything once all the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from llm_rest.responses import AnyEvent, Message, OutputText, Reasoning, ReasoningText, Response, SummaryText
from llm_rest.responses.stream import disassemble
from tests.laws.harness import every_wire
from tests.support.hosts import facts
from tests.support.streams import assembled, read, written

TOLD = ("created", "output_item.added", "output_item.done", "delta", "completed")
"""The last words of the types of events that every host sends."""


def renumbered(event: AnyEvent, item: int, part: int) -> Iterator[Any]:
    """The event of a host that counts items and parts from other numbers; a delta in two pieces."""
    moved = {"output_index": item, "content_index": part, "summary_index": part}
    changed = {name: getattr(event, name) + by for name, by in moved.items() if hasattr(event, name)}
    delta: Any = getattr(event, "delta", None)
    for fields in [{"delta": delta[:2]}, {"delta": delta[2:]}] if delta else [{}]:
        yield replace(event, **changed, **fields)  # type: ignore[type-var]


@every_wire
@pytest.mark.parametrize("shown", ["summary", "content"])
@pytest.mark.parametrize("item", [0, 1, 2])
@pytest.mark.parametrize("part", [0, 1, 3])
def test_a_stream_says_everything_once_whatever_its_numbers_are(name: str, shown: str, item: int, part: int) -> None:
    for texts, thoughts in product((["Hello"], ["Hello", "World"]), ([], ["Think"], ["Think", "again"])):
        output: list[Reasoning | Message] = []
        if thoughts:
            summary = [SummaryText(text=text) for text in thoughts if shown == "summary"]
            inner = [ReasoningText(text=text) for text in thoughts if shown == "content"]
            output.append(Reasoning(id="rs", summary=summary, content=inner or None))
        output.append(Message(id="msg", role="assistant", content=[OutputText(text=t, annotations=[]) for t in texts]))
        events = disassemble(Response(id="r", model="m", status="completed", output=[*output]))
        told = [made for event in events if event.type.endswith(TOLD) for made in renumbered(event, item, part)]
        assert len(told) > len(thoughts) * 2 + len(texts) * 2
        dialect = facts("compatible", name)
        pieces, _ = written(name, told, dialect=dialect)
        said, thought = "", ""
        for found in assembled(read(name, pieces, dialect=dialect)).output:
            if isinstance(found, Message):
                said += "".join(getattr(one, "text", "") for one in found.content)
            elif isinstance(found, Reasoning):
                thought += "".join(one.text for one in (*(found.summary or ()), *(found.content or ())))
        assert (said.replace("\n", ""), thought.replace("\n", "")) == ("".join(texts), "".join(thoughts))
