"""`convert`: a document or a stream of one wire, from stdin, as one of another, to stdout; losses go to stderr.

A stream is converted incrementally: each event is converted and printed before the next one is read.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import msgspec

from .. import wires
from ..client.events import StreamReader, StreamWriter
from ..errors import ConfigError, DecodeError
from ..responses.events import TERMINAL, ErrorEvent
from ..vendors.rows import DIALECTS
from . import CUT, LOST, complain, note, write_document
from .tables import show_losses

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from io import BufferedReader

    from ..losses import Loss
    from ..responses.events import AnyEvent


def run(arguments: Namespace) -> int:
    """Convert the documents or the stream on stdin."""
    if arguments.kind == "stream":
        return _stream(arguments)
    lost: list[Loss] = []
    for place, document in _documents(arguments.lines):
        try:
            converted, losses = convert(document, arguments.source, arguments.target, arguments.kind)
        except DecodeError as problem:
            raise _at(place, problem) from None
        lost += losses
        for loss in losses if not arguments.report else ():
            note(f"{place}{loss}")
        encoded = msgspec.json.encode(converted)
        write_document((encoded if arguments.lines else msgspec.json.format(encoded)) + b"\n")
    if arguments.report:
        show_losses(lost)
    return LOST if lost and arguments.strict else 0


def convert(document: bytes, source: str, target: str, kind: str) -> tuple[Any, list[Loss]]:
    """A document in the format of another wire, and the losses. Raises `DecodeError` for invalid bytes."""
    here, there = wires.load(source), wires.load(target)
    if kind == "request":
        request, before = here.decode_request(here.REQUEST.decode(document))
        sent, after = there.encode_request(request)
        return sent, [*before, *after]
    response, before = here.decode_response(here.RESPONSE.decode(document))
    answer, after = there.encode_response(response)
    return answer, [*before, *after]


def _stream(arguments: Namespace) -> int:
    """Convert the stream on stdin incrementally."""
    if arguments.lines:
        raise ConfigError("--lines is for documents", hint="a stream is cut the way its wire cuts it")
    here, there = wires.load(arguments.source), wires.load(arguments.target)
    reader = StreamReader(here, dialect=DIALECTS[arguments.source]())
    writer = StreamWriter(there, dialect=DIALECTS[arguments.target]())
    ended = False
    for events in _events(reader):
        for event in events:
            ended = ended or isinstance(event, _ENDS)
            if converted := writer.feed(event):
                write_document(converted)
    if ended:
        write_document(writer.close())
    losses = [*reader.losses, *writer.losses]
    if arguments.report:
        show_losses(losses)
    for loss in losses if not arguments.report else ():
        note(str(loss))
    if not ended:
        complain("the stream ended before its last event")
        return CUT
    return LOST if losses and arguments.strict else 0


_ENDS = (*TERMINAL, ErrorEvent)


def _events(reader: StreamReader) -> Iterator[list[AnyEvent]]:
    """The events in each line on stdin, as soon as it is complete. Raises `DecodeError` with the line."""
    _prompt_for_input()
    stdin = cast("BufferedReader", sys.stdin.buffer)  # which it is, whatever its annotation says
    number = line_number = 1
    try:
        while chunk := stdin.read1():
            for line in chunk.splitlines(keepends=True):
                if line.strip():
                    line_number = number
                yield reader.feed(line)
                number += line.endswith(b"\n")
        yield reader.close()
    except DecodeError as problem:
        raise _at(f"line {line_number}: ", problem) from None


def _at(place: str, problem: DecodeError) -> DecodeError:
    return DecodeError(f"{place}{problem.message.partition(': ')[2]}", path=problem.path)


def _documents(lines: bool) -> Iterator[tuple[str, bytes]]:
    """Each document on stdin, and its name for messages."""
    _prompt_for_input()
    if not lines:
        yield "", sys.stdin.buffer.read()
        return
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            yield f"line {number}: ", line


def _prompt_for_input() -> None:
    if sys.stdin.isatty():
        note("reading from the terminal; end with Ctrl-D")
