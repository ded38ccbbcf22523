"""Runs of the tool loop: their calls, approvals, limits and events, for each kind of caller.

What holds whatever happens and in whatever order is proved in `simulation`: outputs and deliveries of every call, their
order, what is sent and when. Here are the results and events of a run, and real threads and tasks.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from llm_rest import (
    CallCancelledError,
    ConfigError,
    LLMError,
    MaxIterationsError,
    OverloadedError,
    ToolArgumentsError,
    ToolContext,
    ToolNotFoundError,
    Unknown,
    tool,
)
from llm_rest.loop import PENDING, STATE
from llm_rest.loop.inputs import Finished
from llm_rest.loop.threads import ThreadWorkers
from llm_rest.responses import (
    ApplyPatchCall,
    ComputerCall,
    CustomToolCall,
    FunctionCallOutput,
    InputImage,
    LocalShellCall,
    LocalShellCallOutput,
    McpApprovalRequest,
    McpApprovalResponse,
    Message,
    ShellCall,
)
from llm_rest.responses.tools import (
    ApplyPatchTool,
    ChooseAllowed,
    ChooseFunction,
    ComputerTool,
    CustomTool,
    FunctionTool,
    LocalShellTool,
    ShellTool,
)
from llm_rest.testing import FakeModel, Streamed
from tests.loop.support import call, new_run, opened, outputs, result, says, streamed_text, watched
from tests.support.counting import MOST, growth

pytestmark = pytest.mark.anyio

ADD = '{"a":1,"b":2}'


@tool
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@tool(blocking=False)
def later(n: int = 0) -> str:
    """Something that takes its time."""
    time.sleep(0.01)
    return f"later {n}"


@tool(needs_approval=True)
def delete(name: str = "x") -> str:
    """Delete something."""
    return f"{name} is gone"


# --- calls ----------------------------------------------------------------------------------------------------------


async def test_calls_run_at_the_same_time_and_their_results_go_back_in_the_order_of_the_calls(way: str) -> None:
    """BUGS 31"""
    gate = threading.Event()

    @tool
    def first() -> str:
        gate.wait(5)
        return "first"

    @tool
    def second() -> str:
        gate.set()
        return "second"

    run = new_run(way, [says(call("first"), call("second", call_id="c2")), "Done"], [first, second])
    assert (await result(run)).output_text == "Done"
    assert outputs(run) == ["first", "second"]
    assert (await result(run)).output_text == "Done", "a run that ended is not run again"


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (ValueError("no such city"), "broken failed with ValueError: no such city"),
        (asyncio.CancelledError(), "the tool was cancelled"),
    ],
)
async def test_a_tool_error_is_an_output_of_the_call(way: str, problem: BaseException, said: str) -> None:
    """BUGS 38"""

    @tool
    async def broken() -> str:
        raise problem

    if way == "trio" and isinstance(problem, asyncio.CancelledError):
        pytest.skip("there it is an exception like any other")
    run = new_run(way, [says(call("broken")), "Sorry"], [broken])
    assert (await result(run)).status == "completed"
    item = run.state.items[2]
    assert (item.is_error, item.output) == (True, said)
    assert (run.calls[0].state, run.calls[0].error) == ("failed", said)


async def test_tools_see_the_context_of_the_caller_and_their_call(way: str) -> None:
    mood: ContextVar[str] = ContextVar("mood", default="none")
    mood.set("good")

    @tool
    def look(context: ToolContext) -> list[str]:
        return [mood.get(), context.execution_id, context.call_id, context.run.state.id]

    run = new_run(way, [says(call("look")), "Done"], [look])
    await result(run)
    assert outputs(run) == [f'["good","{run.state.id}:1.1","c1","{run.state.id}"]']


ALLOWED = [{"type": "function", "name": "add"}]


@pytest.mark.parametrize(
    ("choice", "after"),
    [
        ("required", None),
        (ChooseFunction(name="add"), None),
        (Unknown(type="shell"), None),
        ("none", "none"),
        (ChooseAllowed(mode="required", tools=ALLOWED), ChooseAllowed(mode="auto", tools=ALLOWED)),
        ("auto", "auto"),
    ],
)
async def test_a_forced_tool_choice_holds_for_the_first_request_alone(way: str, choice: Any, after: Any) -> None:
    """Otherwise the model would have to call tools without end."""
    model = FakeModel([says(call("add", ADD)), "Done"])
    await result(new_run(way, model, [add], tool_choice=choice))
    assert [request.tool_choice for request in model.requests] == [choice, after]


async def test_calls_that_the_input_ends_with_are_run_first(way: str) -> None:
    done = [call("add", '{"a":1,"b":1}', call_id="c0"), FunctionCallOutput(call_id="c0", output="2")]
    model = FakeModel(["Done"])
    run = new_run(
        way, model, [add], [Message(role="user", content="go"), *done, call("add", ADD)], tool_choice="required"
    )
    await result(run)
    assert [one.call_id for one in run.calls] == ["c1"]
    assert outputs(run) == ["2", "3"]
    assert model.requests[0].tool_choice == "required"


async def test_a_background_result_is_delivered_as_json_that_names_its_call(way: str) -> None:
    model = FakeModel([says(call("later", '{"n":1}')), "Started", "Done"])
    run = new_run(way, model, [later])
    assert (await result(run)).output_text == "Done"
    assert outputs(run) == [PENDING]
    delivered: Any = [*(model.requests[-1].input or ())][-1]
    wrapped = '{"type":"tool_result","call_id":"c1","name":"later","status":"completed","output":"later 1"}'
    assert (delivered.role, [part.text for part in delivered.content]) == ("user", [wrapped])
    assert run.statistics == type(run.statistics)(total=1, completed=1, non_blocking=1)


async def test_images_of_a_background_result_follow_its_text(way: str) -> None:
    picture = InputImage(image_url="data:image/png;base64,AA==")
    draw = tool(name="draw", blocking=False)(lambda: ["a dot", picture])
    run = new_run(way, [says(call("draw")), "Started", "Done"], [draw])
    await result(run)
    text, shown = run.state.items[-2].content
    assert '"output":"a dot"' in text.text
    assert shown == picture


@pytest.mark.parametrize(("asked", "kind"), [(call("add"), ToolArgumentsError), (call("ad"), ToolNotFoundError)])
async def test_invalid_calls_are_repaired_only_so_often(way: str, asked: Any, kind: type[LLMError]) -> None:
    model = FakeModel([says(asked)] * 3)
    with model, pytest.raises(kind) as caught:
        await result(new_run(way, model, [add], max_repairs=2))
    assert caught.value.run.outcome == "invalid_calls"


async def test_a_valid_answer_starts_the_count_of_repairs_again(way: str) -> None:
    bad, good = says(call("add")), says(call("add", ADD))
    assert (await result(new_run(way, [bad, good, bad, good, "Done"], [add], max_repairs=1))).status == "completed"


# --- approval -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("verdict", "outcome", "state", "output", "logged"),
    [
        (True, "completed", "completed", "x is gone", ""),
        (False, "completed", "cancelled", "denied: this call is not allowed", ""),
        (None, "waiting", "pending", None, ""),
        ("no", "waiting", "pending", None, "returns True, False or None, not 'no'"),
        (RuntimeError("out of order"), "waiting", "pending", None, "out of order"),
    ],
)
async def test_the_approve_callback_decides(
    way: str,
    is_async: bool,
    verdict: Any,
    outcome: str,
    state: str,
    output: str | None,
    logged: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def approve(asked: Any) -> Any:
        if asked.parsed_arguments:
            return True
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    async def approve_async(asked: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return approve(asked)

    asked = says(call("delete"), call("delete", '{"name":"y"}', call_id="c2"))
    run = new_run(way, [asked, "Done"], [delete], approve=approve_async if is_async else approve)
    ends = [event for event in await watched(run) if event.type == "run:end" or event.type.startswith("tool:")]
    assert [event.type for event in ends].count("run:end") == 1
    assert ends[-1].outcome == outcome
    assert [(one.state, one.output) for one in run.calls] == [(state, output), ("completed", "y is gone")]
    assert [one.waiting_for for one in run.pending_calls] == ["approval"] * (outcome == "waiting")
    assert logged in caplog.text


async def test_a_waiting_call_is_approved_or_denied_by_either_id(way: str) -> None:
    run = new_run(way, [says(call("delete"), call("delete", call_id="c2")), "Done"], [delete])
    stopped = await result(run)
    assert (len(stopped.function_calls), run.state.outcome, len(run.pending_calls)) == (2, "waiting", 2)
    with pytest.raises(ConfigError, match=r"no call 'c7' is waiting \(waiting: c1, c2\)"):
        run.approve("c7")
    run.approve("c1")
    run.deny(run.calls[1].execution_id, "not on a Friday")
    assert (await result(run)).output_text == "Done"
    assert outputs(run) == ["x is gone", "not on a Friday"]
    assert run.calls[1].state == "cancelled"


def test_approvals_from_many_threads_are_all_received() -> None:
    waiting = [call("delete", call_id=f"c{i}") for i in range(24)]
    run = new_run("sync", [says(*waiting)], [delete])
    run.result()
    together = threading.Barrier(8)

    def approve(first: int) -> None:
        together.wait(10)
        for one in waiting[first::8]:
            run.approve(one.call_id)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=approve, args=(first,)) for first in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    finally:
        sys.setswitchinterval(interval)
    assert run.pending_calls == []


@pytest.mark.parametrize("verdict", [True, False])
async def test_a_remote_mcp_server_needs_approval_too(way: str, verdict: bool) -> None:
    asked = McpApprovalRequest(id="mcpr_1", server_label="docs", name="drop", arguments="{}")
    run = new_run(way, [says(asked), "Done"], approve=lambda one: verdict)
    await result(run)
    item = run.state.items[2]
    assert isinstance(item, McpApprovalResponse)
    assert (item.approval_request_id, item.approve) == ("mcpr_1", verdict)
    assert run.calls[0].name == "docs.drop"


@pytest.mark.parametrize("word", ["cancel", "approve"])
async def test_a_run_is_cancelled_and_approved_from_other_threads_at_once(word: str, way: str) -> None:
    late: list[str] = []

    @tool(timeout="none")
    async def waits() -> str:
        await anyio.sleep(20)
        late.append("not cancelled")
        return "late"

    @tool(needs_approval=True)
    def guarded(context: ToolContext) -> str:
        context.run.cancel()  # in a thread for every kind of caller
        return "done"

    run = new_run(way, [says(call("waits"), call("guarded", call_id="c2"))], [waits, guarded])
    said = run.cancel if word == "cancel" else lambda: run.approve("c2")

    def say_soon() -> None:
        while not run.pending_calls:
            time.sleep(0.005)
        time.sleep(0.05)
        said()

    thread = threading.Thread(target=say_soon)
    thread.start()
    with pytest.raises(CallCancelledError, match="the run was cancelled"):
        await result(run)
    thread.join()
    assert not late
    assert run.calls[1].runs == (word == "approve")
    assert outputs(run)[0] == "cancelled: the run was cancelled"


# --- calls that the caller runs ---------------------------------------------------------------------------------------

THEIRS = [
    (ShellTool(), ShellCall(call_id="c1", action={"commands": ["ls"]}), "shell"),
    (LocalShellTool(), LocalShellCall(call_id="c1", action={"command": ["ls"]}), "local_shell"),
    (ApplyPatchTool(), ApplyPatchCall(call_id="c1", operation={"type": "delete_file", "path": "x"}), "apply_patch"),
    (ComputerTool(), ComputerCall(call_id="c1", actions=[{"type": "screenshot"}]), "computer"),
    (FunctionTool(name="theirs", parameters={"type": "object"}), call("theirs"), "theirs"),
    (CustomTool(name="grammar"), CustomToolCall(call_id="c1", name="grammar", input="free text"), "grammar"),
]


@pytest.mark.parametrize("executes", [False, True], ids=["by-hand", "executor"])
@pytest.mark.parametrize(("offered", "asked", "name"), THEIRS, ids=[name for *_, name in THEIRS])
async def test_a_call_without_a_function_is_run_by_an_executor_or_waits_for_its_output(
    way: str, offered: Any, asked: Any, name: str, executes: bool
) -> None:
    class Executor:
        def execute(self, name: str, arguments: dict[str, Any]) -> str:
            return f"{name} ran {sorted(arguments)}"

        def has_tool(self, name: str) -> bool:
            return True

        def definition(self, name: str) -> Any:
            return offered

    run = new_run(way, [says(asked), "Done"], [offered], executor=Executor() if executes else None)
    await result(run)
    if not executes:
        assert [(one.name, one.waiting_for) for one in run.pending_calls] == [(name, "output")]
        run.submit_output("c1", "by hand")
        await result(run)
    assert (run.calls[0].state, run.calls[0].runs) == ("completed", executes)
    item = run.state.items[2]
    assert type(item).__name__ == f"{type(asked).__name__}Output"
    if name == "shell":
        assert item.output[0].stdout == ("shell ran ['commands']" if executes else "by hand")


@pytest.mark.parametrize("typed", [False, True])
async def test_a_submitted_output_is_what_a_tool_may_return_or_the_item_of_that_call(way: str, typed: bool) -> None:
    run = new_run(way, [says(call("theirs")), "Done"], [FunctionTool(name="theirs", parameters={"type": "object"})])
    await result(run)
    for wrong in (FunctionCallOutput(call_id="c2", output="4"), LocalShellCallOutput(call_id="c1", output="4"), b"4"):
        with pytest.raises(LLMError, match=r"does not answer 'c1'|returned bytes"):
            run.submit_output("c1", wrong)
    given = FunctionCallOutput(call_id="c1", output="4", is_error=True)
    run.submit_output("c1", given if typed else {"degrees": 4})
    await result(run)
    assert run.state.items[2] is given if typed else outputs(run) == ['{"degrees":4}']
    assert STATE.decode(msgspec.json.encode(run.state)) == run.state


async def test_waiting_calls_are_run_where_the_run_is_resumed_with_tools_for_them(way: str) -> None:
    model = FakeModel([says(call("add", ADD), call("delete", call_id="c2")), "Done"])
    run = new_run(way, model, [{"type": "function", "name": name} for name in ("add", "delete")])
    await result(run)
    run = new_run(way, model, [add, delete], state=run.state)
    await result(run)
    assert [(one.state, one.waiting_for) for one in run.calls] == [("completed", None), ("pending", "approval")]
    run.approve("c2")
    await result(run)
    assert outputs(run) == ["3", "x is gone"]


async def test_a_resumed_run_without_the_tool_of_a_call_reports_an_unknown_tool(way: str) -> None:
    model = FakeModel([says(call("delete")), "Done"])
    run = new_run(way, model, [delete])
    await result(run)
    run.approve("c1")
    run = new_run(way, model, [add], state=msgspec.json.encode(run.state))
    await result(run)
    assert "there is no tool called 'delete'" in outputs(run)[0]


async def test_a_paused_answer_is_sent_back_and_continued(way: str) -> None:
    pauses = [says("Searching", why="pause_turn"), says("Still", why="pause_turn")]
    run = new_run(way, [*pauses, "Found"])
    assert [item.text for item in (await result(run)).output] == ["Searching", "Still", "Found"]
    assert [item.text for item in run.state.items] == ["go", "Searching", "Still", "Found"]
    with pytest.raises(MaxIterationsError):
        await result(new_run(way, pauses, max_iterations=2))


# --- limits and cancellation ----------------------------------------------------------------------------------------


def test_reading_events_slowly_makes_no_timeout_of_a_tool_that_ended_in_time() -> None:
    seconds, reported = [0.0], threading.Event()

    class Workers(ThreadWorkers):
        def now(self) -> float:
            return seconds[0]

        def put(self, report: Any) -> None:
            super().put(report)
            if isinstance(report, Finished):
                reported.set()

    run = new_run("sync", [says(call("add", ADD)), "Done"], [add], tool_timeout=1)
    run.workers = Workers
    with run.events() as events:
        for event in events:
            if event.type == "tool:executing":
                assert reported.wait(10)
                seconds[0] = 100.0
    assert [(one.state, one.output) for one in run.calls] == [("completed", "3")]


async def test_a_run_that_used_up_its_iterations_can_be_resumed(way: str) -> None:
    again = call("add", ADD)
    model = FakeModel([says(again), says("So far", again), "Done"])
    with pytest.raises(MaxIterationsError) as caught:
        await result(new_run(way, model, [add], max_iterations=2))
    error = caught.value
    assert error.partial.output_text == "So far"
    assert [one.state for one in error.run.calls] == ["completed", "cancelled"]
    error.run.limits.max_iterations = 5
    assert (await result(new_run(way, model, [add], state=error.run))).output_text == "Done"


@pytest.mark.parametrize("how", ["timeout", "scope", "task"])
async def test_async_tools_are_cancelled_with_their_call_their_scope_and_their_task(way: str, how: str) -> None:
    if way == "sync" or (way, how) == ("trio", "task"):
        pytest.skip("a thread cannot be stopped, and trio cancels scopes")
    active: set[str] = set()

    @tool(timeout=0.01 if how == "timeout" else None)
    async def hangs(name: str) -> str:
        active.add(name)
        if len(active) == 2:
            cancel()
        try:
            await anyio.sleep(60)
        finally:
            active.discard(name)
        return ""

    calls = [call("hangs", '{"name":"a"}'), call("hangs", '{"name":"b"}', call_id="c2")]
    run = new_run(way, [says(*calls), "Done"], [hangs])
    if how == "task":
        task = asyncio.ensure_future(run.result())
        cancel: Any = task.cancel
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [one for one in asyncio.all_tasks() if "llm_rest" in one.get_name()] == []
    else:
        with anyio.CancelScope() as scope:
            cancel = scope.cancel if how == "scope" else lambda: None
            await run.result()
        assert scope.cancelled_caught == (how == "scope")
    assert active == set()
    said = "timed out after 0.01 seconds" if how == "timeout" else "cancelled: the run was cancelled"
    assert outputs(run) == [said] * 2


async def test_a_scope_that_is_cancelled_at_a_background_result_cancels_the_run(way: str) -> None:
    if way == "sync":
        pytest.skip("no scope cancels a thread")
    calls = [call("later", '{"n":1}'), call("later", '{"n":2}', call_id="c2")]
    run = new_run(way, [says(*calls), Streamed("Started", delay=60)], [later])
    with anyio.CancelScope() as scope:
        async with run.stream() as events:
            async for event in events:
                if event.type == "result:arrived":
                    scope.cancel()
    assert scope.cancelled_caught
    assert (run.state.outcome, run.state.error) == ("cancelled", "the run was cancelled")


async def test_a_run_has_one_reader_at_a_time_and_ends_when_its_events_are_left(way: str) -> None:
    run = new_run(way, [says(call("add", ADD)), "Done"], [add])
    async with opened(run) as events:
        await anext(events)
        with pytest.raises(ConfigError, match="being driven already"):
            await result(run)
    assert run.state.outcome == "cancelled"
    with pytest.raises(CallCancelledError, match="cancelled"):
        await result(run)


async def test_a_run_that_was_cancelled_before_it_began_sends_nothing(way: str) -> None:
    run = new_run(way, model := FakeModel(["never"]))
    run.cancel()
    with pytest.raises(CallCancelledError):
        await result(run)
    assert model.requests == []


async def test_a_failed_request_ends_the_run_which_can_be_resumed(way: str) -> None:
    model = FakeModel([says(call("add", ADD)), OverloadedError("overloaded"), "Done"])
    run = new_run(way, model, [add])
    for _ in range(2):
        with pytest.raises(OverloadedError, match="overloaded") as caught:
            await result(run)
        assert caught.value.run.calls[0].state == "completed"
        assert [call.name for call in caught.value.partial.function_calls] == ["add"], "the last answer there was"
    again = new_run(way, model, [add], state=run.state)
    assert (await result(again)).output_text == "Done"
    assert again.state.iteration == 2, "the same request is no new iteration"


async def test_a_failed_answer_to_the_last_background_result_ends_the_run(way: str) -> None:
    run = new_run(way, [says(call("later")), "Started", OverloadedError("overloaded")], [later])
    events = await watched(run)
    assert [event.type for event in events[-2:]] == ["nonblocking:error", "run:end"]
    assert (events[-2].error, [one.call_id for one in events[-2].calls]) == ("overloaded", ["c1"])
    assert (events[-1].outcome, events[-1].error) == ("failed", "overloaded")
    with pytest.raises(OverloadedError, match="overloaded"):
        await result(run)


def test_the_work_of_a_run_grows_with_the_calls_of_an_answer_and_not_with_their_square() -> None:
    def work(n: int) -> Any:
        return new_run("sync", [says(*[call("add", ADD, call_id=f"c{i}") for i in range(n)]), "Done"], [add]).result

    assert growth(work) < MOST


@pytest.mark.parametrize("way", ["asyncio", "trio"])
def test_an_interrupt_inside_a_tool_is_raised_as_it_is(way: str) -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        await result(new_run(way, [says(call("interrupted"))], [interrupted]))

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main, backend=way)


async def test_an_exception_while_a_run_is_watched_is_raised_as_it_is(way: str) -> None:
    with pytest.raises(ZeroDivisionError):
        async with opened(new_run(way, [says(call("add", ADD))], [add])):
            raise ZeroDivisionError


# --- events and streams ---------------------------------------------------------------------------------------------


async def test_all_ten_kinds_of_events_come_in_order_with_ids_and_times(way: str) -> None:
    answered = threading.Event()

    @tool(blocking=False)
    def fails() -> str:
        answered.wait(10)
        raise ValueError("no")

    def hook(event: Any) -> None:
        if event.type == "llm:response" and event.iteration == 2:
            answered.set()

    answers = [says(call("add", ADD), call("fails", call_id="c2")), "Started", "Done"]
    run = new_run(way, answers, [add, fails], on_event=[hook])
    events = await watched(run)
    assert [(event.type, event.execution_id.removeprefix(run.state.id)) for event in events] == [
        ("iteration:start", ":1"),
        ("llm:response", ":1"),
        ("tool:executing", ":1.1"),
        ("tool:executing", ":1.2"),
        ("tool:completed", ":1.1"),
        ("iteration:start", ":2"),
        ("llm:response", ":2"),
        ("tool:failed", ":1.2"),
        ("result:arrived", ":1.2"),
        ("iteration:start", ":3"),
        ("nonblocking:result", ":1.2"),
        ("llm:response", ":3"),
        ("nonblocking:llm_response", ":3"),
        ("run:end", ""),
    ]
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert events[-4].call.state == "failed"
    assert events[-2].calls[0].call_id == "c2"
    assert (events[-1].outcome, events[-1].error) == ("completed", None)
    assert events[2].call.state == "executing", "an event holds the call as it was"
    plain = msgspec.json.decode(msgspec.json.encode(events[4]))
    assert (plain["type"], plain["call"]["state"]) == ("tool:completed", "completed")


async def test_event_hooks_get_every_event_and_may_fail(way: str, caplog: pytest.LogCaptureFixture) -> None:
    received: list[Any] = []

    def fails(event: Any) -> None:
        raise RuntimeError("deaf")

    run = new_run(way, [says(call("later")), "Started", "Done"], [later], on_event=(fails, received.append))
    events = await watched(run)
    assert [event for event in received if event.type[0] in "itlnr"] == events
    assert "deaf" in caplog.text


async def test_a_stream_has_the_events_of_its_answers_and_of_the_run_in_order(way: str) -> None:
    events = await watched(new_run(way, [says(call("add", ADD)), "Done"], [add]), streams=True)
    kinds = [type(event).__struct_config__.tag for event in events]
    assert kinds[:2] == ["iteration:start", "response.created"]
    first, last = "iteration:start response.completed llm:response".split(), ["run:end"]
    shown = [kind for kind in kinds if ":" in kind or kind == "response.completed"]
    assert shown == [*first, "tool:executing", "tool:completed", *first, *last]


async def test_the_text_of_a_streamed_run_is_that_of_its_answers_up_to_an_approval(way: str) -> None:
    run = new_run(
        way, [says("Let me add. ", call("add", ADD)), says("May I?", call("delete")), "Three."], [add, delete]
    )
    pieces = await streamed_text(run)
    assert "".join(pieces) == "Let me add. May I?"
    assert all(pieces)
    run.approve(run.pending_calls[0].call_id)
    assert "".join(await streamed_text(run)) == "Three."
    assert await streamed_text(run) == [], "a run that has ended has no more text"
    assert (await result(run)).output_text == "Three."


async def test_the_text_of_a_run_ends_with_the_error_of_its_result(way: str) -> None:
    with pytest.raises(OverloadedError):
        await streamed_text(new_run(way, [OverloadedError("gone")]))
    run = new_run(way, [says("Hm. ", call("add", ADD))] * 2, [add], max_iterations=1)
    with pytest.raises(MaxIterationsError) as caught:
        await streamed_text(run)
    assert caught.value.run.outcome == "max_iterations"


@pytest.mark.parametrize("how", ["events", "stream", "text"])
async def test_events_outside_of_a_with_are_refused_and_not_empty(how: str, way: str) -> None:
    run = new_run(way, ["Hello"])
    events = run.stream().text if how == "text" else getattr(run, how)()
    with pytest.raises(ConfigError, match="with"):
        next(events) if way == "sync" else await anext(events)


# --- other options --------------------------------------------------------------------------------------------------


async def test_a_stored_conversation_gets_only_what_is_new(way: str) -> None:
    model = FakeModel([says(call("add", ADD)), "Done"])
    await result(new_run(way, model, [add], conversation="conv_1"))
    assert [request.previous_response_id for request in model.requests] == [None] * 2
    assert [item.type for item in model.requests[-1].input or () if not isinstance(item, str)] == [
        "function_call_output"
    ]


async def test_an_infinite_timeout_is_no_timeout(way: str) -> None:
    quick = tool(name="quick", timeout=float("inf"))(lambda: "done")
    run = new_run(way, [says(call("quick")), "ok"], [quick], timeout=float("inf"))
    await result(run)
    assert run.calls[0].output == "done"
