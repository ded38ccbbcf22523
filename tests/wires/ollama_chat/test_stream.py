"""Streams of Ollama: what the rows of the mapping tables do not show."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.responses import ResponseCreated
from llm_rest.unknown import Unknown
from llm_rest.wires import ollama_chat as wire
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.legal import faults
from tests.support.streams import assembled

META = ("done_reason", "logprobs", "eval_count", "prompt_eval_count", "new")


def line(content: str = "", *, done: bool = False, **more: Any) -> dict[str, Any]:
    fields = {name: more.pop(name) for name in list(more) if name in META}
    said = {"role": "assistant", "content": content, **more}
    return {"model": "m", "created_at": "2026-09-21T14:13:20Z", "message": said, "done": done, **fields}


END = line(done=True, done_reason="stop")


def read(*lines: Any, **options: Any) -> list[Any]:
    """The events of a whole stream."""
    machine = wire.decode_stream(**options)
    events = [event for each in lines for event in machine.feed(wire.EVENT.decode(msgspec.json.encode(each)))]
    return events + machine.close()


def test_lines_that_say_nothing_tell_nothing_and_others_are_surfaced() -> None:
    """ollama.stream.12. BUGS 61"""
    events = read(line("Hi"), line(), {"model": "m", "done": False}, {"status": "pulling", "completed": 5}, END)
    assert faults(events) == []
    assert [dict(event) for event in events if isinstance(event, Unknown)] == [
        {"status": "pulling", "completed": 5, "sequence_number": 5}
    ]
    response = assembled(read(line("Hi", new=1), line("Ho", images=["AAAA"], x=2), END))
    assert response.leftovers
    assert response.leftovers["ollama_chat"]["new"] == 1
    said = plain(wire.encode_response(response)[0].message)
    assert said == {"role": "assistant", "content": "HiHo", "images": ["AAAA"], "x": 2}


def test_what_was_handed_over_does_not_change_later() -> None:
    events = read(line("Hi"), END)
    created = events[0]
    assert isinstance(created, ResponseCreated)
    assert (created.response.status, created.response.output) == ("in_progress", [])
    assert wire.encode_response(created.response)[0].created_at == "2026-09-21T14:13:20Z"


PIECES = st.lists(st.sampled_from(["", " ", "\n", "a", "b c", "\U0001f30a"]), max_size=4)
REASONS = st.sampled_from(["stop", "length", "load", "bored", "", None])


@given(PIECES, PIECES, st.lists(st.sampled_from(["f", "g"]), max_size=3), st.booleans(), REASONS)
def test_an_answer_cut_into_lines_anywhere_is_the_whole_answer(
    thoughts: list[str], texts: list[str], names: list[str], last: bool, reason: str | None
) -> None:
    """ollama.stream.8. BUGS 79: the counts are those of the whole answer too."""
    calls = [{"function": {"name": name, "arguments": {"i": i}}} for i, name in enumerate(names)]
    end = {"done_reason": reason, "eval_count": 3, "prompt_eval_count": 4}
    lines = [line(thinking=piece) for piece in thoughts] + [line(piece) for piece in texts]
    lines += [line(tool_calls=[call]) for call in calls if not last]
    late: dict[str, Any] = {"tool_calls": calls} if last and calls else {}
    lines.append(line(done=True, **end, **late))
    said: dict[str, Any] = {"thinking": "".join(thoughts)} if any(thoughts) else {}
    said |= {"tool_calls": calls} if calls else {}
    events = read(*lines)
    document = line("".join(texts), done=True, **end, **said)
    response, _ = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)))
    assert faults(events) == []
    assert list(differences(plain(response), plain(assembled(events)))) == []
