"""Recorded traffic with vendors, read from `../shared/corpus` beside the project or from `LLM_REST_CORPUS`.

The recordings are no part of the project; where they are absent, what needs them is skipped and says so.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct, field

from llm_rest import wires
from llm_rest.transport.framing import NDJSON, SSE
from tests.support import WIRES
from tests.support.hosts import facts

CORPUS = Path(os.environ.get("LLM_REST_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")

RENAMED = {"azure": "azure_openai", "bedrock-mantle": "bedrock_mantle"}
"""Vendors that the recordings call otherwise than our table."""


class Sent(Struct):
    url: str
    headers: dict[str, str]
    body: Raw


class Answer(Struct):
    status: int
    headers: dict[str, str]
    body: Raw = Raw(b"null")
    stream_text: str | None = None


class Exchange(Struct):
    """One request and its answer."""

    id: str
    vendor: str
    wire: str
    streaming: bool
    response: Answer
    request: Sent | None = None
    notes: list[str] = field(default_factory=list[str])

    @property
    def dialect(self) -> Any:
        """What our table knows about this vendor on this wire."""
        return facts(RENAMED.get(self.vendor, self.vendor), self.wire)

    @property
    def model(self) -> str | None:
        """The model, where the URL names it and not the body."""
        named = re.search(r"/models/([^/:?]+):", self.request.url) if self.request is not None else None
        return named[1] if named else None

    @property
    def question(self) -> bytes | None:
        """The body of the request."""
        body = None if self.request is None else bytes(self.request.body)
        return None if body == b"null" else body

    @property
    def answer(self) -> bytes | None:
        """The body of an answer that is not a stream and not an error."""
        body = bytes(self.response.body)
        return None if body == b"null" or self.response.status >= 400 else body

    @property
    def error(self) -> bytes | None:
        """The body of an error answer."""
        return bytes(self.response.body) if self.response.status >= 400 else None

    def events(self) -> Iterator[bytes]:
        """The data of each event of a streamed answer, without the end marker."""
        if self.response.stream_text is None:
            return
        wire = wires.load(self.wire)
        machine = SSE() if wire.FRAMING == "sse" else NDJSON()
        frames = [*machine.feed(self.response.stream_text.encode()), *machine.close()]
        yield from (frame.data for frame in frames if frame.data != wire.END)


def file_of(wire: str) -> Path:
    return CORPUS / f"{wire}.jsonl.gz"


@cache
def exchanges(wire: str) -> tuple[Exchange, ...]:
    """Every recorded exchange of a wire; skips the test where there are no recordings."""
    if not file_of(wire).exists():
        pytest.skip(f"recorded traffic is not here: {file_of(wire)} (set LLM_REST_CORPUS to its directory)")
    decoder = msgspec.json.Decoder(Exchange)
    with gzip.open(file_of(wire)) as lines:
        return tuple(decoder.decode(line) for line in lines)


def groups() -> list[tuple[str, str]]:
    """Each wire and vendor there are recordings of, so that a failing test names them."""
    found = {
        name: {exchange.vendor for exchange in exchanges(name)} if file_of(name).exists() else {"no recordings"}
        for name in WIRES
    }
    return [(name, vendor) for name, vendors in found.items() for vendor in sorted(vendors)]


def recorded(wire: str, vendor: str) -> list[Exchange]:
    """The exchanges of one vendor on one wire."""
    return [exchange for exchange in exchanges(wire) if exchange.vendor == vendor]
