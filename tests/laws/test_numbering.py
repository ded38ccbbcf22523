"""Hosts of the Responses format number items and parts as they like: a stream of any wire says everything once all the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from llm_rest import wires
from llm_rest.client.events import StreamReader, StreamWriter
from llm_rest.responses import (
    AnyEvent,
    Message,
    OutputItemAdded,
    OutputItemDone,
    OutputText,
    OutputTextDelta,
    Reasoning,
    ReasoningSummaryTextDelta,
    ReasoningText,
    ReasoningTextDelta,
    Response,
    ResponseCompleted,
    ResponseCreated,
    SummaryText,
)
from llm_rest.responses.stream import Assembler
from tests.support import WIRES
from tests.support.hosts import facts

TEXTS, THOUGHTS = ["Hello", "World"], ["Think", "again"]


def events(texts: list[str], thoughts: list[str], *, item: int, part: int, shown: str) -> Iterator[AnyEvent]:
    """The events of a thought and a message, whose numbers begin at `item` and `part`."""
    number, place = count(), count(item)
    output: list[Reasoning | Message] = []
    yield ResponseCreated(
        sequence_number=next(number), response=Response(id="r", model="m", status="in_progress", output=[])
    )
    if thoughts:
        index = next(place)
        yield OutputItemAdded(sequence_number=next(number), output_index=index, item=Reasoning(id="rs", summary=[]))
        for i, text in enumerate(thoughts, part):
            for delta in (text[:2], text[2:]):
                if shown == "summary":
                    yield ReasoningSummaryTextDelta(
                        sequence_number=next(number), item_id="rs", output_index=index, summary_index=i, delta=delta
                    )
                else:
                    yield ReasoningTextDelta(
                        sequence_number=next(number), item_id="rs", output_index=index, content_index=i, delta=delta
                    )
        if shown == "summary":
            output.append(Reasoning(id="rs", summary=[SummaryText(text=text) for text in thoughts]))
        else:
            output.append(Reasoning(id="rs", summary=[], content=[ReasoningText(text=text) for text in thoughts]))
        yield OutputItemDone(sequence_number=next(number), output_index=index, item=output[-1])
    index = next(place)
    yield OutputItemAdded(
        sequence_number=next(number), output_index=index, item=Message(id="msg", role="assistant", content=[])
    )
    for i, text in enumerate(texts, part):
        for delta in (text[:2], text[2:]):
            yield OutputTextDelta(
                sequence_number=next(number), item_id="msg", output_index=index, content_index=i, delta=delta
            )
    output.append(Message(id="msg", role="assistant", content=[OutputText(text=t, annotations=[]) for t in texts]))
    yield OutputItemDone(sequence_number=next(number), output_index=index, item=output[-1])
    done = Response(id="r", model="m", status="completed", output=[*output])
    yield ResponseCompleted(sequence_number=next(number), response=done)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("shown", ["summary", "content"])
@pytest.mark.parametrize("item", [0, 1, 2])
@pytest.mark.parametrize("part", [0, 1, 3])
def test_a_stream_says_everything_once_whatever_its_numbers_are(wire: str, shown: str, item: int, part: int) -> None:
    for texts in (TEXTS[:1], TEXTS):
        for thoughts in ([], THOUGHTS[:1], THOUGHTS):
            made, dialect = wires.load(wire), facts("compatible", wire)
            writer, reader = StreamWriter(made, dialect=dialect), StreamReader(made, dialect=dialect)
            told = events(texts, thoughts, item=item, part=part, shown=shown)
            body = b"".join([*map(writer.feed, told), writer.close()])
            seen = Assembler()
            for event in reader.feed(body) + reader.close():
                seen.feed(event)
            said, thought = "", ""
            for found in seen.response.output:
                if isinstance(found, Message):
                    said += "".join(getattr(one, "text", "") for one in found.content)
                elif isinstance(found, Reasoning):
                    thought += "".join(one.text for one in (*(found.summary or ()), *(found.content or ())))
            assert (said.replace("\n", ""), thought.replace("\n", "")) == ("".join(texts), "".join(thoughts))
