"""`convert`: a document of one wire, from stdin, as a document of another, to stdout; losses go to stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from .. import wires
from ..errors import DecodeError
from . import LOST, note

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from ..losses import Loss


def run(arguments: Namespace) -> int:
    """Convert what stands on stdin."""
    lost = False
    for place, document in _documents(arguments.lines):
        try:
            converted, losses = convert(document, arguments.source, arguments.target, arguments.kind)
        except DecodeError as problem:
            raise DecodeError(f"{place}{problem.message.partition(': ')[2]}", path=problem.path) from None
        for loss in losses:
            note(f"{place}{loss}")
        lost = lost or bool(losses)
        encoded = msgspec.json.encode(converted)
        sys.stdout.write((encoded if arguments.lines else msgspec.json.format(encoded)).decode() + "\n")
    return LOST if lost and arguments.strict else 0


def convert(document: bytes, source: str, target: str, kind: str) -> tuple[Any, list[Loss]]:
    """A document as another wire spells it, and what was lost on the way. Raises `DecodeError` for other bytes."""
    here, there = wires.load(source), wires.load(target)
    if kind == "request":
        request, before = here.decode_request(here.REQUEST.decode(document))
        asked, after = there.encode_request(request)
        return asked, [*before, *after]
    response, before = here.decode_response(here.RESPONSE.decode(document))
    answer, after = there.encode_response(response)
    return answer, [*before, *after]


def _documents(lines: bool) -> Iterator[tuple[str, bytes]]:
    """Each document on stdin, and how to name it in a message."""
    if sys.stdin.isatty():
        note("reading JSON from the terminal; end with Ctrl-D")
    if not lines:
        yield "", sys.stdin.buffer.read()
        return
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            yield f"line {number}: ", line
