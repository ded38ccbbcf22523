"""Limits: whole turns from the front, calls with their outputs, and no loss that was not there before."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from llm_rest import ConfigError, FunctionCall, FunctionCallOutput, HistoryLimits, Message, wires
from llm_rest.conversation.limits import CutPoints
from llm_rest.responses import AdditionalTools, AnyItem, FunctionTool, Reasoning, Request
from llm_rest.responses.estimate import item_tokens
from tests.laws.harness import every_wire
from tests.laws.rows import dialects, thoughts, vendors
from tests.laws.strategies import conversations


def user(text: str) -> Message:
    return Message(role="user", content=text)


def agent(text: str) -> Message:
    return Message(role="assistant", content=text)


def call(name: str) -> FunctionCall:
    return FunctionCall(call_id=name, name="f", arguments="{}")


def output(name: str) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=name, output="x")


TALK: list[AnyItem] = [
    *(user("1"), agent("one")),
    *(user("2"), call("a"), output("a"), Reasoning(summary=[]), call("b"), output("b"), agent("two")),
    *(user("3"), agent("three")),
]


REPEATED: list[AnyItem] = [user("1"), call("a"), output("a"), user("2"), call("a"), output("a"), user("3")]
RESULT = '{"type":"tool_result","call_id":"a","name":"f","status":"completed"}'
LATE: list[AnyItem] = [user("1"), call("a"), user("2"), output("a"), agent("x"), user("3")]


@pytest.mark.parametrize(
    ("items", "turns", "rounds"),
    [
        (TALK, [0, 2, 9], [0, 2, 5, 8, 9]),
        (LATE, [0, 5], None),  # a call stays in front of its output
        ([user("1"), call("a"), output("a"), agent("x"), user(RESULT), agent("y")], [0], None),
        (REPEATED, [0, 3, 6], None),  # ids that are used again tie no turns together
    ],
)
def test_a_conversation_is_cut_where_a_turn_or_a_round_begins(
    items: list[AnyItem], turns: list[int], rounds: list[int] | None
) -> None:
    points = CutPoints(items)
    assert points.turns == turns
    assert rounds in (None, points.rounds)


def test_tools_that_were_added_on_the_way_and_the_question_in_progress_are_kept() -> None:
    tools = AdditionalTools(role="developer", tools=[FunctionTool(name="late")])
    items = [user("1"), tools, agent("one"), user("2"), call("a"), output("a"), call("b"), output("b")]
    assert CutPoints(items).cut(3) == ([user("2"), tools], 4)
    assert CutPoints(items).cut(6) == ([user("2"), tools], 6)
    assert CutPoints(TALK).cut(9) == ([], 9)


@pytest.mark.parametrize(
    "fields", [{"max_items": 0}, {"max_tokens": -1}, {"max_items": True}, {"count": "words"}, {"compact": "zip"}]
)
def test_what_is_no_limit_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        HistoryLimits(**fields)
    assert next(iter(fields)) in str(caught.value)


# --- laws -----------------------------------------------------------------------------------------------------------


def histories(name: str, issuer: str | None) -> st.SearchStrategy[list[AnyItem]]:
    """Turns as people and models make them, and now and then with items moved or left out."""

    def mixed(turns: list[list[AnyItem]], moves: list[tuple[float, float]]) -> list[AnyItem]:
        items = [item for turn in turns for item in turn]
        for source, target in moves:
            items.insert(int(target * len(items)), items.pop(int(source * len(items))))
        return items

    places = st.floats(0, 0.999)
    moves = st.one_of(st.just([]), st.just([]), st.lists(st.tuples(places, places), max_size=3))
    return st.builds(mixed, conversations(thoughts(name, issuer), rich=True, most=4), moves)


def losses(name: str, items: list[AnyItem], dialect: Any, places: list[int]) -> set[tuple[str, str, str]]:
    """The losses of a request, at the places that its items had before.

    What is put before the first item belongs to the beginning, whichever item that is.
    """
    _, lost = wires.load(name).encode_request(Request(model="m", input=items), dialect=dialect)

    def moved(path: str, what: str) -> str:
        if "speak first" in what:
            return "the beginning"
        return re.sub(r"^input\[(\d+)\]", lambda found: f"input[{places[int(found[1])]}]", path)

    return {(moved(loss.path, loss.what), re.sub(r"input\[\d+\]", "input[]", loss.what), loss.kind) for loss in lost}


@pytest.mark.sample(4)
@every_wire
@given(data=st.data())
def test_a_cut_brings_no_loss_that_was_not_there_before(name: str, data: st.DataObject) -> None:
    dialect = dialects(name)[data.draw(vendors(name))]
    items = data.draw(histories(name, dialect.issuer))
    before = losses(name, items, dialect, list(range(len(items))))
    assume(all(kind != "refused" for _, _, kind in before))  # which would not be sent, cut or not
    points = CutPoints(items)
    for start in points.rounds:
        front, rest = points.cut(start)
        places = [next(i for i, item in enumerate(items) if item is one) for one in front]
        after = losses(name, [*front, *items[rest:]], dialect, [*places, *range(rest, len(items))])
        assert after <= before, (start, after - before)


@every_wire
@given(data=st.data())
def test_calls_and_outputs_stay_together_wherever_a_history_is_cut(name: str, data: st.DataObject) -> None:
    items = data.draw(histories(name, None))
    most, rounds = data.draw(st.integers(1, 30)), data.draw(st.booleans())
    start = CutPoints(items).shorten(max_items=most, rounds=rounds)
    points = CutPoints(items).rounds if rounds else CutPoints(items).turns
    assert start in points or (start == 0 and not points)
    gone, rest = items[:start], items[start:]
    assert not set(pairs(gone)) & set(pairs(rest)) - repeated(items)
    # As little as possible is left out.
    nearer = [i for i in points if i < start]
    assert all(len(items) - i > most for i in nearer)


def pairs(items: list[AnyItem]) -> list[str]:
    return [name for item in items if isinstance(name := getattr(item, "call_id", None), str)]


def repeated(items: list[AnyItem]) -> set[str]:
    names = pairs(items)
    return {name for name in names if names.count(name) > 2}


@given(items=histories("openai_responses", None), most=st.integers(1, 60))
def test_tokens_are_within_the_limit_or_only_the_last_turn_is_left(items: list[AnyItem], most: int) -> None:
    start = CutPoints(items).shorten(max_tokens=most)
    fits = sum(map(item_tokens, items[start:])) <= most
    assert fits or start == max(CutPoints(items).turns, default=0)


@given(items=histories("openai_responses", None), data=st.data())
def test_where_a_history_may_be_cut_does_not_depend_on_how_it_grew(items: list[AnyItem], data: st.DataObject) -> None:
    grown = CutPoints()
    for end in sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=4))):
        grown.grow(items[:end])
    grown.grow(items)
    whole = CutPoints(items)
    assert (grown.turns, grown.rounds, grown.tokens) == (whole.turns, whole.rounds, whole.tokens)
