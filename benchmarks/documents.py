"""The documents the conversions are measured on: what a small answer, a tool call and a long conversation look like."""

from __future__ import annotations

import msgspec

from llm_rest.client.events import StreamWriter
from llm_rest.responses.emit import Emitter
from llm_rest.responses.items import AnyItem, FunctionCall, FunctionCallOutput, Message
from llm_rest.responses.parts import OutputText
from llm_rest.responses.request import Request
from llm_rest.responses.response import Response, Usage
from llm_rest.responses.tools import FunctionTool
from llm_rest.vendors.rows import DIALECTS
from llm_rest.wires import load

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

SENTENCE = "The weather over the North Atlantic stays unsettled, with rain from the west. "
LONG = (SENTENCE * 42).strip()


PROSE = "The sea is salt because rivers carry minerals into it. " * 8


def answer(wire: str, *, calls: bool = False, unknown: bool = False) -> bytes:
    """A small answer on a wire: a text, or a text and two calls; with a field that nobody knows on it, if asked for."""
    text = "I look at both cities." if calls else PROSE
    output: list[AnyItem] = [
        Message(id="msg_1", role="assistant", status="completed", content=[OutputText(text=text, annotations=[])])
    ]
    if calls:
        for city in ("Oslo", "Rome"):
            arguments = f'{{"city":"{city}","days":[1,2,3]}}'
            output.append(FunctionCall(call_id=f"call_{city}", name="weather", arguments=arguments, status="completed"))
    usage = Usage(input_tokens=421, output_tokens=96, total_tokens=517)
    response = Response(
        id="resp_01", created_at=1763600000, model="some-model", status="completed", output=output, usage=usage
    )
    document = msgspec.json.encode(load(wire).encode_response(response)[0])
    if unknown:
        document = msgspec.json.encode({**msgspec.json.decode(document), "new_field": {"of": "a vendor"}})
    return document


def conversation(items: int = 201, text: str = (SENTENCE * 4).strip()) -> Request:
    """A request with `items` items: questions, calls, their outputs and answers, in turn, all around `text`, and a question."""
    made: list[AnyItem] = []
    for i in range(items // 4):
        made += [
            Message(role="user", content=f"Question {i}: {text}"),
            FunctionCall(call_id=f"call_{i}", name="weather", arguments=f'{{"city":"Oslo","day":{i}}}'),
            FunctionCallOutput(call_id=f"call_{i}", output=text),
            Message(role="assistant", content=f"Answer {i}: {text}"),
        ]
    made.append(Message(role="user", content=text))
    return Request(
        model="claude-haiku-4-5",
        instructions="Answer briefly.",
        input=made,
        max_output_tokens=1000,
        tools=[FunctionTool(name="weather", description="The weather of a city.", parameters=WEATHER)],
    )


WORDS = 1000
"""The text deltas of a stream."""


def stream(wire: str, words: int = WORDS) -> list[bytes]:
    """A streamed answer on a wire, as the frames it is sent in: one delta for each word."""
    pieces = [f" word{i}" for i in range(words)]
    text = OutputText(text="".join(pieces), annotations=[])
    item = Message(id="msg_0123456789abcdef0123456789abcdef", role="assistant", status="completed", content=[text])
    usage = Usage(input_tokens=21, output_tokens=words, total_tokens=21 + words)
    response = Response(
        id="resp_01", created_at=1763600000, model="some-model", status="completed", output=[item], usage=usage
    )
    emitter = Emitter()
    emitter.start(response)
    opened = emitter.add(Message(id=item.id, role="assistant", status="in_progress", content=[]))
    opened.part(OutputText(text="", annotations=[]))
    for piece in pieces:
        opened.grow(OutputText, piece)
    opened.end(text)
    opened.done(item)
    emitter.finish(response)
    writer = StreamWriter(load(wire), dialect=DIALECTS[wire]())
    return [frame for frame in (*map(writer.feed, emitter.take()), writer.close()) if frame]
