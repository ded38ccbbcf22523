"""Thousands of schedules of the pure step, and of the shells on a virtual clock: the rules of the ledger hold in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from msgspec.structs import replace

import llm_rest.loop.engine as engine_module
from llm_rest import wires
from llm_rest.loop import RunState, Turn, snapshot, step
from llm_rest.responses.items import Message
from llm_rest.responses.request import Request
from llm_rest.responses.tools import FunctionTool
from llm_rest.simulator import handle
from tests.loop.simulation.shells import Play, play_async, play_sync
from tests.loop.simulation.world import BOX, World
from tests.support import WHOLE

SCHEDULES = 24_000 if WHOLE else 6000
BATCHES = 4


@pytest.mark.sample(4)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_rule_holds_in_every_schedule(batch: int) -> None:
    """Calls and outputs are paired by id and complete in every request; calls that were cut never run, and what the vendor
    ran itself gets no output. BUGS 28, 31, 37 and 81.
    """
    for seed in range(batch, SCHEDULES, BATCHES):
        World(seed).run()


REACHED = """
    completed waiting max_iterations invalid_calls timeout failed cancelled
    iteration:start llm:response tool:executing tool:completed tool:failed result:arrived nonblocking:result
    nonblocking:error nonblocking:llm_response run:end
    call:pending call:completed call:failed call:timeout call:cancelled
    reported:nothing reported:pending reported:answer reported:delivered
    FunctionCall CustomToolCall ShellCall McpApprovalRequest
    restarted taken-over repaired unsuitable denied
"""
"""Outcomes, events, the states of calls, their kinds, and what else may happen to a call."""


@pytest.mark.slow
def test_the_schedules_reach_everything_that_can_happen() -> None:
    """Rules that nothing reaches would hold in vain."""
    seen: Counter[str] = Counter()
    for seed in range(2000):
        world = World(seed).run()
        seen[str(world.state.outcome)] += 1
        for (kind, _), n in world.ledger.events.items():
            seen[kind] += n
        for call in world.state.calls:
            facts = {
                "restarted": call.runs > 1,
                "taken-over": call.iteration == 0,
                "repaired": bool(call.repairs),
                "unsuitable": bool(call.problems),
                "denied": call.approved is False,
            }
            seen.update([f"call:{call.state}", f"reported:{call.reported}", type(call.item).__name__])
            seen.update(name for name, holds in facts.items() if holds)
    assert {name for name in REACHED.split() if seen[name] < 10} == set()
    assert set(seen) == set(REACHED.split())


@pytest.mark.sample(4)
@pytest.mark.parametrize("wire", wires.NAMES)
def test_every_wire_takes_the_conversation_of_a_run_as_it_is(wire: str) -> None:
    """Every request can be sent whole, and is one that the simulated vendor accepts, which checks like the real one."""
    spoken = wires.load(wire)
    tools = [FunctionTool(name="read", parameters={"type": "object"})]
    for seed in range(250 if WHOLE else 80):
        world = World(seed, everywhere=True).run()
        if world.state.outcome != "waiting":
            after = Message(role="user", content="go on")
            world.requests.append(Request(input=[*world.state.items, after]))
        for request in world.requests:
            request = replace(request, model="m", tools=tools)
            body, lost = spoken.encode_request(request)
            assert [str(loss) for loss in lost if loss.kind == "refused"] == [], seed
            route = spoken.route(request)
            path = route.path if route.path.startswith(("/v1", "/api")) else f"/v1{route.path}"
            status, _, said = handle("POST", path, route.headers, msgspec.json.encode(body))
            assert status == 200, (seed, said)


def test_a_step_leaves_its_state_and_gives_what_one_turn_for_the_whole_run_gives() -> None:
    """Runs work on one turn, `step` on one of its own for each input."""
    turn = Turn(RunState(id="", request=Request(), items=[]), BOX)
    last: RunState | None = None

    def both(state: RunState, input: Any, tools: Any) -> tuple[RunState, list[Any]]:
        nonlocal turn, last
        if state is not last:  # it was loaded, or the caller changed it
            turn = Turn(snapshot(state), tools)
        before = msgspec.json.encode(state)
        last, actions = step(state, input, tools)
        assert msgspec.json.encode(state) == before
        assert turn.take(input) == actions
        assert msgspec.json.encode(turn.state) == msgspec.json.encode(last)
        return last, actions

    for seed in range(1000 if WHOLE else 200):
        World(seed, both).run()


@pytest.fixture
def turn_is_put_back() -> Iterator[None]:
    turn = engine_module.Turn
    yield
    engine_module.Turn = turn


def play_on_a_clock(seed: int) -> Play:
    return trio.run(play_async, seed, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.slow
@pytest.mark.usefixtures("turn_is_put_back")
@pytest.mark.parametrize("play", [play_on_a_clock, play_sync], ids=["async", "sync"])
def test_every_rule_holds_through_the_shell_of_either_kind_of_client(play: Callable[[int], Play]) -> None:
    outcomes = {str(play(seed).state.outcome) for seed in range(1000)}
    assert len(outcomes) == 7, "every outcome is reached"
