"""The pool of threads of a run: how many sync tools run at a time, and that a full pool holds up nothing that must go on."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from llm_rest import AsyncClient, CallCancelledError, Client, ConfigError, ToolContext, tool
from llm_rest.loop import Limits, RunState, Turn
from llm_rest.loop import inputs as h
from llm_rest.responses import FunctionCallOutput, Request
from llm_rest.tools import ToolFacts
from tests.loop.support import Model, call, new_run, result, says

pytestmark = pytest.mark.anyio


class Crowd:
    """Counts who is inside at the same time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = self.most = self.came = 0

    @contextmanager
    def visit(self) -> Iterator[None]:
        with self.lock:
            self.inside += 1
            self.came += 1
            self.most = max(self.most, self.inside)
        try:
            yield
        finally:
            with self.lock:
                self.inside -= 1


def calls(name: str, number: int, first: int = 0) -> list[Any]:
    return [call(name, call_id=f"{name}_{i}") for i in range(first, first + number)]


def tool_threads() -> int:
    """How many threads there are that run tools or ask about them."""
    return sum(thread.name.startswith("llm_rest") for thread in threading.enumerate())


@pytest.mark.sample(4)
@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(("limits", "most"), [({}, 32), ({"max_tool_threads": 3}, 3)])
async def test_many_calls_of_a_sync_tool_share_few_threads(
    way: str, blocking: bool, limits: dict[str, Any], most: int
) -> None:
    crowd, threads = Crowd(), list[int]()

    @tool(blocking=blocking)
    def work() -> str:
        with crowd.visit():
            threads.append(tool_threads())
            time.sleep(0.002)
        return "done"

    asked = says(*calls("work", 500))
    model = Model(asked, *[says("Done")] * 600)
    run = new_run(way, model, [work], max_iterations=1000, **limits)
    await result(run)
    assert (run.statistics.completed, crowd.came) == (500, 500)
    assert crowd.most <= most
    assert max(threads) <= 2 * most + 4, "a thread that has reported may not have ended yet"
    assert [one.call_id for one in run.calls if one.runs != 1] == []


async def test_coroutine_tools_hold_no_thread_of_an_async_client(way: str) -> None:
    crowd = Crowd()

    @tool
    async def work() -> str:
        with crowd.visit():
            await anyio.sleep(0.05)
        return "done"

    await result(new_run(way, Model(says(*calls("work", 20)), says("Done")), [work], max_tool_threads=4))
    assert crowd.came == 20
    assert crowd.most <= 4 if way == "sync" else crowd.most == 20


async def test_results_of_calls_that_waited_for_a_thread_stand_in_the_order_of_the_calls(way: str) -> None:
    @tool
    def name(context: ToolContext) -> str:
        time.sleep(0.02 if context.call_id == "name_0" else 0)
        return context.call_id

    model = Model(says(*calls("name", 6)), says("Done"))
    await result(new_run(way, model, [name], max_tool_threads=2))
    assert [item.output for item in model.seen if isinstance(item, FunctionCallOutput)] == [
        f"name_{i}" for i in range(6)
    ]


async def test_background_tools_that_fill_their_pool_hold_up_no_blocking_call(way: str) -> None:
    release = threading.Event()

    @tool(blocking=False, timeout=None)
    def watch() -> str:
        assert release.wait(10)
        return "seen"

    @tool
    def ring() -> str:
        release.set()
        return "rung"

    model = Model(says(*calls("watch", 5), call("ring")), *[says("Done")] * 6)
    run = new_run(way, model, [watch, ring], max_tool_threads=2)
    await result(run)
    assert [one.output for one in run.calls] == ["seen"] * 5 + ["rung"]


async def test_tools_that_hang_give_their_place_back_when_they_time_out(way: str) -> None:
    release = threading.Event()

    @tool(timeout=0.05)
    def hang() -> str:
        release.wait(10)
        return "too late"

    @tool
    def quick() -> str:
        return "here"

    model = Model(says(*calls("hang", 4), *calls("quick", 3)), says("Done"))
    run = new_run(way, model, [hang, quick], max_tool_threads=2)
    await result(run)
    release.set()
    assert [one.state for one in run.calls] == ["timeout"] * 4 + ["completed"] * 3


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_tool_may_run_tools_itself_while_the_pool_is_full(way: str, kind: str) -> None:
    @tool
    def inner() -> str:
        time.sleep(0.001)
        return "inner"

    def ask(llm: Any) -> Any:
        return llm.generate_with_tools("call inner {}\ncall inner {}\nsay Inside.", [inner], max_tool_threads=1)

    @tool
    def outer() -> str:
        with Client("simulator/any") as llm:
            return str(ask(llm).output_text)

    @tool(name="outer")
    async def outer_async() -> str:
        async with AsyncClient("simulator/any") as llm:
            return str((await ask(llm)).output_text)

    model = Model(says(*calls("outer", 3)), says("Done"))
    run = new_run(way, model, [outer if kind == "sync" else outer_async], max_tool_threads=1)
    await result(run)
    assert [one.output for one in run.calls] == ["Inside."] * 3


async def test_calls_that_wait_for_a_thread_never_run_once_the_run_is_cancelled(way: str) -> None:
    started, release = list[str](), threading.Event()

    @tool
    def hang(context: ToolContext) -> str:
        started.append(context.call_id)
        if len(started) == 2:
            context.run.cancel()
        release.wait(10)
        return "too late"

    run = new_run(way, Model(says(*calls("hang", 10))), [hang], max_tool_threads=2)
    with pytest.raises(CallCancelledError):
        await result(run)
    release.set()
    await anyio.sleep(0.05)
    assert sorted(started) == ["hang_0", "hang_1"]
    assert {one.state for one in run.calls} == {"cancelled"}
    assert [one.runs for one in run.calls] == [1] * 2 + [0] * 8
    assert sum(isinstance(item, FunctionCallOutput) for item in run.state.items) == 10


async def test_calls_that_waited_for_a_thread_are_run_where_the_run_is_resumed(way: str) -> None:
    ran = list[str]()

    @tool(on_resume="restart")
    def work(context: ToolContext) -> str:
        if not ran:
            saved.append(context.run.state)
        ran.append(context.call_id)
        return context.call_id

    saved = list[RunState]()
    await result(new_run(way, Model(says(*calls("work", 4)), says("Done")), [work], max_tool_threads=1))
    assert [one.state for one in saved[0].calls] == ["executing"] + ["pending"] * 3
    ran[:] = ["again"]
    run = new_run(way, Model(says("Done")), [work], state=saved[0])
    await result(run)
    assert ran == ["again", "work_0", "work_1", "work_2", "work_3"]
    assert [one.runs for one in run.calls] == [2, 1, 1, 1]


def test_approvals_of_a_sync_client_share_few_threads_too() -> None:
    crowd = Crowd()

    @tool(needs_approval=True)
    def delete() -> str:
        return "gone"

    def approve(asked: Any) -> bool:
        with crowd.visit():
            time.sleep(0.002)
        return True

    run = new_run(
        "sync", Model(says(*calls("delete", 100)), says("Done")), [delete], approve=approve, max_tool_threads=5
    )
    run.result()
    assert (crowd.came, run.statistics.completed) == (100, 100)
    assert crowd.most <= 5


class Known:
    """One sync tool that is only known."""

    def facts(self, name: str) -> ToolFacts:
        return ToolFacts(name=name, runs=True, timeout=5.0)

    def prepare(self, name: str, arguments: str) -> Any:
        return {}


def test_the_time_of_a_tool_begins_when_it_is_started() -> None:
    turn = Turn(RunState(id="run", request=Request(), items=[], limits=Limits(max_tool_threads=1)), Known())
    turn.take(h.Begun(at=0.0))
    turn.take(h.Answered(at=1.0, response=says(*calls("work", 2))))
    first, second = turn.state.calls
    assert (first.state, second.state, turn.deadline) == ("executing", "pending", 6.0)
    turn.take(h.Finished(at=5.5, execution_id=first.execution_id, output="done"))
    assert (second.state, second.started, turn.deadline) == ("executing", 5.5, 10.5)
    turn.take(h.Ticked(at=10.5))
    assert second.state == "timeout"


@pytest.mark.parametrize("number", [0, -1, None, "many"])
def test_a_pool_has_at_least_one_thread(number: Any) -> None:
    with pytest.raises(ConfigError, match="max_tool_threads"):
        Client("simulator/any").run("Hi", max_tool_threads=number)


HANGS = """
import sys, threading, anyio
from llm_rest import AsyncClient, CallCancelledError, Client, ToolContext, tool

started = []

@tool(timeout=None)
def hang(context: ToolContext) -> str:
    started.append(context.call_id)
    if len(started) == 2:
        context.run.cancel()
    threading.Event().wait()

script = "call hang {}\\n" * 5 + "say Done."
options = {"max_tool_threads": 2}

async def ask() -> None:
    await AsyncClient("simulator/any").generate_with_tools(script, [hang], **options)

try:
    if sys.argv[1] == "sync":
        Client("simulator/any").generate_with_tools(script, [hang], **options)
    else:
        anyio.run(ask, backend=sys.argv[1])
except CallCancelledError as error:
    print(error.run.outcome, len(started))
"""


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", ["sync", "asyncio", "trio"])
def test_hung_tools_in_a_full_pool_keep_no_program_from_ending(way: str) -> None:
    done = subprocess.run([sys.executable, "-c", HANGS, way], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("cancelled 2\n", "", 0)
