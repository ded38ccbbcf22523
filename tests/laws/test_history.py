"""A conversation grows at its end only: what was sent before is sent again byte for byte, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from llm_rest import wires
from llm_rest.responses import AdditionalTools, AnyItem, CacheBreakpoint, FunctionTool, Message, Request
from tests.laws.harness import every_wire
from tests.laws.rows import ROWS, dialects, thoughts, vendors
from tests.laws.strategies import PLAIN_PARTS, SCHEMA, conversations, user_messages
from tests.support.facts import plain

ROOT = Path(__file__).parents[2]


def encoded(name: str, items: Sequence[AnyItem], dialect: Any, model: str) -> tuple[list[bytes], dict[str, Any]]:
    """The entries of the history as bytes, and the rest of the body; of requests that would be sent."""
    request = Request(
        model=model, instructions="Be brief.", input=list(items), tools=[FunctionTool(name="search", parameters=SCHEMA)]
    )
    body, lost = wires.load(name).encode_request(request, dialect=dialect)
    assume(all(loss.kind != "refused" for loss in lost))
    rest = plain(body)
    rest.pop(ROWS[name].history)
    return [msgspec.json.encode(entry) for entry in getattr(body, ROWS[name].history)], rest


@every_wire
@given(data=st.data(), rich=st.booleans())
def test_a_new_turn_leaves_the_bytes_of_earlier_turns_untouched(name: str, data: st.DataObject, rich: bool) -> None:
    """BUGS 81"""
    dialect = dialects(name)[data.draw(vendors(name))]
    model = data.draw(st.sampled_from(ROWS[name].models))
    turns = data.draw(conversations(thoughts(name, dialect.issuer), rich=rich))
    # Where tools that are added on the way can only join the others, everything after them changes; that is reported.
    turns = [[item for item in turn if not isinstance(item, AdditionalTools)] for turn in turns]
    for turn in turns:
        _unmark(turn)
    asked = data.draw(user_messages(PLAIN_PARTS))
    items = [item for turn in turns[:-1] for item in turn]
    before, rest = encoded(name, items, dialect, model)
    after, rest_after = encoded(name, [*items, *turns[-1], asked], dialect, model)
    assert rest_after == rest
    assert after[: len(before)] == before
    assert len(after) > len(before)


def _unmark(items: list[AnyItem]) -> None:
    """Marks for the vendor's cache are about the newest turns, so they are the one thing that may move."""
    for item in items:
        content = getattr(item, "content", None) or getattr(item, "output", None)
        for part in content if isinstance(content, list) else ():
            if isinstance(getattr(part, "prompt_cache_breakpoint", None), CacheBreakpoint):
                part.prompt_cache_breakpoint = None


@every_wire
@given(data=st.data())
def test_answers_to_calls_leave_all_entries_but_the_last_untouched(name: str, data: st.DataObject) -> None:
    """BUGS 81"""
    dialect = dialects(name)[data.draw(vendors(name))]
    model = data.draw(st.sampled_from(ROWS[name].models))
    items = [item for turn in data.draw(conversations(thoughts(name, dialect.issuer))) for item in turn]
    cut = data.draw(st.integers(1, len(items)))
    while cut < len(items) and not _asks(items[:cut]):
        cut += 1
    before, rest = encoded(name, items[:cut], dialect, model)
    after, rest_after = encoded(name, [*items, Message(role="user", content="Go on.")], dialect, model)
    assert rest_after == rest
    assert after[: len(before) - 1] == before[:-1]


def _asks(items: list[AnyItem]) -> bool:
    """Whether a conversation may be sent as it is: it ends with what a user or a tool said, every call has its output."""
    kinds = [type(item).__name__ for item in items]
    paired = kinds.count("FunctionCall") == kinds.count("FunctionCallOutput")
    last = items[-1]
    return paired and (kinds[-1] == "FunctionCallOutput" or (isinstance(last, Message) and last.role == "user"))


PROGRAM = """
import json, sys
import msgspec
from llm_rest import wires
from llm_rest.responses import REQUEST, RESPONSE
from tests.laws.harness import WIRES
from tests.laws.rows import ROWS, dialects, thoughts
for name in WIRES:
    wire = wires.load(name)
    print(name, msgspec.json.encode(thoughts(name)))
    for origin in WIRES:
        source = wires.load(origin)
        for document in ROWS[origin].requests:
            request, lost = source.decode_request(source.REQUEST.decode(json.dumps(document).encode()))
            for dialect in dialects(name).values():
                body, more = wire.encode_request(request, dialect=dialect)
                print(name, origin, msgspec.json.encode(body), msgspec.json.encode([*lost, *more]))
        for document in ROWS[origin].answers:
            response, lost = source.decode_response(source.RESPONSE.decode(json.dumps(document).encode()))
            body, more = wire.encode_response(response)
            print(name, origin, msgspec.json.encode(body), msgspec.json.encode([*lost, *more]))
"""


@pytest.mark.slow
def test_every_process_encodes_the_same_bytes() -> None:
    """BUGS 81"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for seed in ("0", "1", "4242")
    ]
    outputs = [process.communicate() for process in running]
    assert [error for _, error in outputs] == [b"", b"", b""]
    first = outputs[0][0]
    assert len(first.splitlines()) > 20
    assert {output for output, _ in outputs} == {first}
