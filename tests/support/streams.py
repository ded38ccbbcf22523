"""Streams of any wire as bytes and events, cut anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llm_rest import wires
from llm_rest.client.events import StreamReader, StreamWriter
from llm_rest.responses.response import Response
from llm_rest.responses.stream import Assembler
from llm_rest.vendors.rows import DIALECTS
from tests.support import WIRES

STREAMING = tuple(name for name in WIRES if hasattr(wires.load(name), "decode_stream"))
"""The wires that stream."""


def slices(stream: bytes, cuts: Iterable[int]) -> list[bytes]:
    """The stream in pieces, cut at these places."""
    ends = sorted({cut % (len(stream) + 1) for cut in cuts} | {len(stream)})
    return [stream[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def read(name: str, pieces: Iterable[bytes], **options: Any) -> list[Any]:
    """The events in the bytes of a wire's stream."""
    reader = StreamReader(wires.load(name), **{"dialect": DIALECTS[name](), **options})
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.close()


def written(name: str, events: Sequence[Any], **options: Any) -> tuple[list[bytes], list[Any]]:
    """What goes out for each event and at the end, and what could not be carried."""
    writer = StreamWriter(wires.load(name), **{"dialect": DIALECTS[name](), **options})
    pieces = [writer.feed(event) for event in events]
    return [*pieces, writer.close()], writer.losses


def assembled(events: Iterable[Any]) -> Response:
    """The response that the events assemble to."""
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler.response
