"""A request with an `EncodedPrefix` is the request without one: the same bytes, losses and route.

Whatever is added, edited, cut off or asked otherwise between two requests of a conversation. That the encoding of the first turns
is the beginning of every longer one is the law of `test_history.py`; here it also holds for recorded conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.responses import (
    AnyItem,
    CacheBreakpoint,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    InputText,
    JsonObjectFormat,
    Message,
    ReasoningOptions,
    Request,
    TextOptions,
)
from llm_rest.wires.prefix import EncodedPrefix
from tests.corpus import Exchange, groups
from tests.corpus.test_recorded import failures
from tests.laws.growth import HISTORIES, history
from tests.laws.harness import every_wire
from tests.laws.rows import ROWS, dialects, thoughts, vendors
from tests.laws.strategies import SCHEMA, conversations
from tests.support import WIRES
from tests.support.counting import steps

encode = msgspec.json.Encoder().encode
TOOL = FunctionTool(name="search", parameters=SCHEMA)


def sent(name: str, request: Request, dialect: Any, prefix: EncodedPrefix | None = None) -> Any:
    """What goes out for a request: the JSON of its body, its losses and its route."""
    wire = wires.load(name)
    body, lost = wire.encode_request(request, dialect=dialect, prefix=prefix)
    return encode(body), {*lost}, wire.route(request, dialect=dialect, prefix=prefix)


# --- what happens to a conversation between two requests ------------------------------------------------------------

OPTIONS: list[dict[str, Any]] = [
    {"instructions": "Be brief."},
    {"tools": [TOOL]},
    {"temperature": 0.5, "stream": True},
    {"reasoning": ReasoningOptions(effort="high"), "max_output_tokens": 4000},
    {"text": TextOptions(format=JsonObjectFormat())},
    {"extra": {name: {"metadata": {"user_id": "u"}} for name in WIRES}},
    {"store": True},
]
QUESTION = Message(role="user", content="And then?")


@st.composite
def changes(draw: st.DrawFn, items: list[AnyItem], options: dict[str, Any]) -> tuple[list[AnyItem], dict[str, Any]]:
    """Something else than a new turn."""
    i = draw(st.integers(0, max(0, len(items) - 1)))
    match draw(st.sampled_from("edit cut-front cut-end insert swap again late options copy".split())):
        case "edit":
            items = [*items[:i], Message(role="user", content="[removed]"), *items[i + 1 :]]
        case "cut-front":
            items = items[i:]
        case "cut-end":
            items = items[: i + 1]
        case "insert":
            items = [*items[:i], Message(role="developer", content="Answer in verse."), *items[i:]]
        case "swap":
            items = [*items[:i], *items[i + 1 : i + 2], *items[i : i + 1], *items[i + 2 :]]
        case "again":  # the ids of calls among them
            items = [*items, *items[i:]]
        case "late":
            items = [*items, FunctionCallOutput(call_id=draw(st.sampled_from(["call_0", "call_1"])), output="late")]
        case "options":
            options = draw(st.sampled_from(OPTIONS))
        case _:
            items = deepcopy(items)
    return items, options


@every_wire
@given(data=st.data(), rich=st.booleans())
def test_a_prefix_changes_nothing_of_a_request(name: str, data: st.DataObject, rich: bool) -> None:
    dialect = dialects(name)[data.draw(vendors(name))]
    models = ROWS[name].models
    options: dict[str, Any] = {}
    items: list[AnyItem] = []
    prefix = EncodedPrefix()
    for turn in data.draw(conversations(thoughts(name, dialect.issuer), rich=rich, most=6)):
        if items and data.draw(st.integers(0, 3)) == 0:
            items, options = data.draw(changes(items, options))
        model = data.draw(st.sampled_from([models[0], models[0], models[0], *models]))
        asked = data.draw(st.integers(1, len(turn)))  # also in the middle of a turn, as a run of tools does
        for some in ([*items, *turn[:asked]], [*items, *turn, QUESTION]):
            request = Request(model=model, input=some, **options)
            assert sent(name, request, dialect, prefix) == sent(name, request, dialect)
        items = [*items, *turn]


MARKED = b'{"tools": [{"type": "bash_20250124", "name": "bash", "cache_control": {"type": "ephemeral"}}]}'
"""A tool of Anthropic with a cache mark."""


@every_wire
@given(data=st.data(), marked_tool=st.booleans())
def test_a_prefix_changes_nothing_of_cache_marks(name: str, data: st.DataObject, marked_tool: bool) -> None:
    """Wherever they are, whichever is the newest, and wherever the conversation goes on from."""
    request = replace(
        wires.load("openai_responses").REQUEST.decode(MARKED) if marked_tool else Request(), model=ROWS[name].models[0]
    )
    prefix, dialect, items = EncodedPrefix(), next(iter(dialects(name).values())), list[AnyItem]()
    for i, (marked, called, kept) in enumerate(data.draw(st.lists(st.tuples(*[st.booleans()] * 3), max_size=12))):
        mark = CacheBreakpoint() if marked else None
        turn: list[AnyItem] = [Message(role="user", content=[InputText(text=f"Hi {i}", prompt_cache_breakpoint=mark)])]
        if called:
            output: list[Any] = [InputText(text="4", prompt_cache_breakpoint=mark)]
            turn.append(FunctionCall(call_id=f"c{i}", name="search", arguments="{}"))
            turn.append(FunctionCallOutput(call_id=f"c{i}", output=output))
        for some in ([*items, *turn], [*items, *turn, QUESTION]):
            asked = replace(request, input=some)
            assert sent(name, asked, dialect, prefix) == sent(name, asked, dialect)
        if kept:  # and not given up
            items += [*turn, Message(role="assistant", content="Hello.")]


@every_wire
@pytest.mark.parametrize("shape", HISTORIES)
def test_a_prefix_changes_nothing_while_a_history_grows(name: str, shape: str) -> None:
    request = wires.load("openai_responses").REQUEST.decode(encode(history("openai_responses", HISTORIES[shape](4))))
    grown, prefix, dialect = list(request.input or ()), EncodedPrefix(), next(iter(dialects(name).values()))
    for n in range(1, len(grown) + 1):
        for behind in ([], [QUESTION]):
            some = replace(request, input=[*grown[:n], *behind])
            assert sent(name, some, dialect, prefix) == sent(name, some, dialect)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "vendor"), groups())
def test_recorded_conversations_grow_by_their_new_turns(name: str, vendor: str) -> None:
    def check(exchange: Exchange) -> Iterator[str]:
        if exchange.question is None:
            return
        wire = wires.load(name)
        found, _ = wire.decode_request(
            wire.REQUEST.decode(exchange.question), dialect=exchange.dialect, model="m", keep=False
        )
        items = list(found.input) if isinstance(found.input, list) else []
        for other in WIRES:
            prefix, dialect = (
                EncodedPrefix(),
                exchange.dialect if other == name else next(iter(dialects(other).values())),
            )
            for n in sorted({*range(1, len(items) + 1, max(1, len(items) // 12)), len(items)}):
                some = replace(found, input=items[:n])
                if sent(other, some, dialect, prefix) != sent(other, some, dialect):
                    yield f"{other}: the first {n} items"

    assert failures(name, vendor, check) == []


# --- what it saves --------------------------------------------------------------------------------------------------


def chat(n: int) -> list[AnyItem]:
    said: list[AnyItem] = [Message(role="user", content="Hi"), Message(role="assistant", content="Hello.")]
    return said * n


def run(n: int) -> list[AnyItem]:
    items: list[AnyItem] = [Message(role="user", content="Hi")]
    for i in range(n):
        items += [
            FunctionCall(call_id=f"call_{i}", name="search", arguments="{}"),
            FunctionCallOutput(call_id=f"call_{i}", output="4"),
        ]
    return items


@every_wire
@pytest.mark.parametrize("grown", [chat, run])
def test_a_turn_of_a_long_conversation_takes_the_steps_of_a_turn(
    name: str, grown: Callable[[int], list[AnyItem]]
) -> None:
    """And its bytes hold those of the turns before it."""

    def turn(n: int) -> tuple[int, bytes, bytes]:
        dialect, prefix = next(iter(dialects(name).values())), EncodedPrefix()
        items = grown(n + 2)
        first = Request(model=ROWS[name].models[0], tools=[TOOL], input=[*items[: 2 * n], *items[2 * n : 2 * n + 1]])
        later = replace(first, input=items[: 2 * n + 3])
        before = sent(name, first, dialect, prefix)[0]
        made: list[bytes] = []
        count = steps(lambda: made.append(sent(name, later, dialect, prefix)[0]))
        return count, before, made[0]

    turn(3)
    few, many = turn(20), turn(200)
    assert many[0] <= few[0] * 1.05
    assert few[0] < turn(2)[0] * 1.5
