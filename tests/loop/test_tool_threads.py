"""The thread pool of a run: how many sync tools run at a time, and that a full pool delays nothing else."""

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

from llm_rest import AsyncClient, CallCancelledError, Client, ToolContext, tool
from llm_rest.loop import Limits, RunState, Turn
from llm_rest.loop import inputs as h
from llm_rest.responses import Request
from llm_rest.testing import FakeModel
from tests.loop.simulation.world import BOX
from tests.loop.support import call, new_run, outputs, result, says

pytestmark = pytest.mark.anyio


class Counter:
    """Counts how many are inside at the same time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = self.most = self.total = 0

    @contextmanager
    def visit(self) -> Iterator[None]:
        with self.lock:
            self.inside += 1
            self.total += 1
            self.most = max(self.most, self.inside)
        try:
            yield
        finally:
            with self.lock:
                self.inside -= 1


def calls(name: str, number: int) -> list[Any]:
    return [call(name, call_id=f"{name}_{i}") for i in range(number)]


@pytest.mark.sample(4)
@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(("limits", "most"), [({}, 32), ({"max_tool_threads": 3}, 3)])
async def test_many_calls_of_a_sync_tool_share_few_threads(
    way: str, blocking: bool, limits: dict[str, Any], most: int
) -> None:
    counter, threads = Counter(), list[int]()

    @tool(blocking=blocking)
    def work() -> str:
        with counter.visit():
            threads.append(sum(thread.name.startswith("llm_rest") for thread in threading.enumerate()))
            time.sleep(0.002)
        return "done"

    run = new_run(way, [says(*calls("work", 200)), *["Done"] * 201], [work], max_iterations=1000, **limits)
    await result(run)
    assert (run.statistics.completed, counter.total) == (200, 200)
    assert counter.most <= most
    assert max(threads) <= 2 * most + 4, "a thread that has reported may not have ended yet"
    assert [one.call_id for one in run.calls if one.runs != 1] == []


async def test_coroutine_tools_hold_no_thread_of_an_async_client(way: str) -> None:
    counter = Counter()

    @tool
    async def work() -> str:
        with counter.visit():
            await anyio.sleep(0.05)
        return "done"

    await result(new_run(way, [says(*calls("work", 20)), "Done"], [work], max_tool_threads=4))
    assert counter.total == 20
    assert counter.most <= 4 if way == "sync" else counter.most == 20


async def test_background_tools_that_fill_their_pool_delay_no_blocking_call(way: str) -> None:
    release = threading.Event()

    @tool(blocking=False, timeout=None)
    def watch() -> str:
        assert release.wait(10)
        return "seen"

    @tool
    def ring() -> str:
        release.set()
        return "rung"

    run = new_run(way, [says(*calls("watch", 5), call("ring")), *["Done"] * 6], [watch, ring], max_tool_threads=2)
    await result(run)
    assert [one.output for one in run.calls] == ["seen"] * 5 + ["rung"]


async def test_tools_that_time_out_leave_their_place_to_others(way: str) -> None:
    release = threading.Event()

    @tool(timeout=0.05)
    def hang() -> str:
        release.wait(10)
        return "too late"

    @tool
    def quick() -> str:
        return "here"

    run = new_run(way, [says(*calls("hang", 4), *calls("quick", 3)), "Done"], [hang, quick], max_tool_threads=2)
    await result(run)
    release.set()
    assert [one.state for one in run.calls] == ["timeout"] * 4 + ["completed"] * 3


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_tool_may_run_tools_itself_while_the_pool_is_full(way: str, kind: str) -> None:
    inner = tool(name="inner")(lambda: "inner")

    def ask(llm: Any) -> Any:
        return llm.generate_with_tools("call inner {}\ncall inner {}\nsay Inside.", [inner], max_tool_threads=1)

    @tool(name="outer")
    def outer() -> str:
        with Client("simulator/any") as llm:
            return str(ask(llm).output_text)

    @tool(name="outer")
    async def outer_async() -> str:
        async with AsyncClient("simulator/any") as llm:
            return str((await ask(llm)).output_text)

    run = new_run(
        way, [says(*calls("outer", 3)), "Done"], [outer if kind == "sync" else outer_async], max_tool_threads=1
    )
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

    run = new_run(way, [says(*calls("hang", 10))], [hang], max_tool_threads=2)
    with pytest.raises(CallCancelledError):
        await result(run)
    release.set()
    await anyio.sleep(0.05)
    assert sorted(started) == ["hang_0", "hang_1"]
    assert [one.runs for one in run.calls] == [1] * 2 + [0] * 8
    assert len(outputs(run)) == 10


@pytest.mark.parametrize("on_resume", ["restart", "fail"])
async def test_calls_that_ran_when_the_process_ended_are_run_again_or_lost_and_those_that_waited_are_run(
    way: str, on_resume: Any
) -> None:
    saved = list[RunState]()

    @tool(on_resume=on_resume)
    def work(context: ToolContext) -> str:
        saved.append(context.run.state)
        return context.call_id

    model = FakeModel([says(*calls("work", 4)), "Done", "Done"])
    await result(new_run(way, model, [work], max_tool_threads=1))
    assert [one.state for one in saved[0].calls] == ["executing"] + ["pending"] * 3
    run = new_run(way, model, [work], state=saved[0])
    await result(run)
    restarted = on_resume == "restart"
    assert [one.runs for one in run.calls] == [1 + restarted, 1, 1, 1]
    lost = "lost: the process that ran it ended before it did"
    assert outputs(run) == ["work_0" if restarted else lost, "work_1", "work_2", "work_3"]


def test_approvals_of_a_sync_client_share_few_threads_too() -> None:
    counter = Counter()
    delete = tool(name="delete", needs_approval=True)(lambda: "gone")

    def approve(asked: Any) -> bool:
        with counter.visit():
            time.sleep(0.002)
        return True

    run = new_run("sync", [says(*calls("delete", 100)), "Done"], [delete], approve=approve, max_tool_threads=5)
    run.result()
    assert (counter.total, run.statistics.completed) == (100, 100)
    assert counter.most <= 5


def test_the_time_of_a_tool_begins_when_it_is_started() -> None:
    turn = Turn(RunState(id="run", request=Request(), items=[], limits=Limits(max_tool_threads=1)), BOX)
    turn.take(h.Started(at=0.0))
    turn.take(h.Answered(at=1.0, response=says(*calls("slow", 2))))
    first, second = turn.state.calls
    assert (first.state, second.state, turn.deadline) == ("executing", "pending", 6.0)
    turn.take(h.Finished(at=5.5, execution_id=first.execution_id, output="done"))
    assert (second.state, second.started, turn.deadline) == ("executing", 5.5, 10.5)
    turn.take(h.Ticked(at=10.5))
    assert second.state == "timeout"


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
