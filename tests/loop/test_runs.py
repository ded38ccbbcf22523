"""What a run does, one sentence at a time: with a model that is a list of answers, for every kind of caller."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from contextvars import ContextVar
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from llm_rest import (
    APITimeoutError,
    CallCancelledError,
    ConfigError,
    LLMError,
    MaxIterationsError,
    ToolArgumentsError,
    ToolContext,
    ToolNotFoundError,
    Unknown,
    tool,
)
from llm_rest.client.reply import CallInfo, reply
from llm_rest.loop import PENDING, STATE, RunState
from llm_rest.loop.inputs import Finished
from llm_rest.loop.threads import ThreadWorkers
from llm_rest.losses import Loss
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
    McpCall,
    Message,
    Request,
    ShellCall,
    ShellCallOutput,
)
from llm_rest.responses.stream import disassemble
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
from tests.loop.support import Model, call, new_run, result, says, streamed_text, watched

pytestmark = pytest.mark.anyio


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


class Gate:
    """An event hook that lets tools go on once so many events of a kind were told."""

    def __init__(self, kind: str, times: int = 1) -> None:
        self.kind, self.left, self.opened = kind, times, threading.Event()

    def __call__(self, event: Any) -> None:
        self.left -= event.type == self.kind
        if not self.left:
            self.opened.set()

    def wait(self) -> None:
        assert self.opened.wait(10)


def outputs(model: Model) -> list[Any]:
    """What the model was last told about its calls."""
    return [item.output for item in model.seen if isinstance(item, FunctionCallOutput)]


def texts(items: list[Any]) -> list[str]:
    parts: list[Any] = [
        item.content[0] for item in items if isinstance(item, Message) and isinstance(item.content, list)
    ]
    return [part.text for part in parts]


# --- blocking calls -------------------------------------------------------------------------------------------------


async def test_a_run_without_calls_is_one_answer(way: str) -> None:
    model = Model(says("Hello"))
    run = new_run(way, model)
    assert (await result(run)).output == says("Hello").output
    assert len(model.asked) == 1
    assert await result(run) is run.state.response, "and it is there to be looked at again"
    assert len(model.asked) == 1


async def test_results_go_back_together_in_the_order_of_the_calls(way: str) -> None:
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

    model = Model(says(call("first"), call("second", call_id="c2")), says("Done"))
    await result(new_run(way, model, [first, second]))
    assert outputs(model) == ["first", "second"]


async def test_async_tools_run_side_by_side(way: str) -> None:
    if way == "sync":
        pytest.skip("there an async tool has an event loop of its own")
    gate = anyio.Event()

    @tool
    async def waits() -> str:
        await gate.wait()
        return "waited"

    @tool
    async def opens() -> str:
        gate.set()
        return "opened"

    model = Model(says(call("waits"), call("opens", call_id="c2")), says("Done"))
    await result(new_run(way, model, [waits, opens]))
    assert outputs(model) == ["waited", "opened"]


async def test_a_tool_that_fails_is_told_to_the_model_as_an_error(way: str) -> None:
    """BUGS 38"""

    @tool
    def broken() -> str:
        raise ValueError("no such city")

    model = Model(says(call("broken")), says("Sorry"))
    run = new_run(way, model, [broken])
    assert (await result(run)).status == "completed"
    (item,) = [item for item in model.seen if isinstance(item, FunctionCallOutput)]
    assert (item.is_error, item.output) == (True, "broken failed with ValueError: no such city")
    assert (run.calls[0].state, run.calls[0].error) == ("failed", item.output)


async def test_a_tool_that_cancels_itself_has_failed(way: str) -> None:
    @tool
    async def gives_up() -> str:
        raise asyncio.CancelledError

    if way == "trio":
        pytest.skip("there it is an exception like any other")
    model = Model(says(call("gives_up")), says("Sorry"))
    run = new_run(way, model, [gives_up])
    await result(run)
    assert run.calls[0].state == "failed"


async def test_tools_see_the_context_of_the_caller_and_their_call(way: str) -> None:
    mood: ContextVar[str] = ContextVar("mood", default="none")
    mood.set("good")

    @tool
    def look(context: ToolContext) -> list[str]:
        return [mood.get(), context.execution_id, context.call_id, context.run.state.id]

    model = Model(says(call("look")), says("Done"))
    await result(new_run(way, model, [look]))
    assert outputs(model) == ['["good","run:1.1","c1","run"]']


async def test_a_model_that_was_made_to_call_may_answer_next(way: str) -> None:
    """Otherwise it would be made to call for ever."""
    allowed = [{"type": "function", "name": "add"}]
    for choice, after in (
        ("required", None),
        (ChooseFunction(name="add"), None),
        (Unknown(type="shell"), None),
        ("none", "none"),
        (ChooseAllowed(mode="required", tools=allowed), ChooseAllowed(mode="auto", tools=allowed)),
        ("auto", "auto"),
    ):
        model = Model(says(call("add", '{"a":1,"b":2}')), says("Done"))
        await result(new_run(way, model, [add], request=Request(tool_choice=choice)))
        assert [request.tool_choice for request in model.asked] == [choice, after]


async def test_calls_that_a_conversation_ends_with_are_run_first(way: str) -> None:
    done = [call("add", '{"a":1,"b":1}', call_id="c0"), FunctionCallOutput(call_id="c0", output="2")]
    state = RunState(
        id="run",
        request=Request(tool_choice="required"),
        items=[Message(role="user", content="go"), *done, call("add", '{"a":1,"b":2}'), call("ad", call_id="c2")],
    )
    model = Model(says("Done"))
    run = new_run(way, model, [add], state=state)
    await result(run)
    assert [one.call_id for one in run.calls] == ["c1", "c2"]
    assert outputs(model)[:2] == ["2", "3"]
    assert model.asked[0].tool_choice == "required"


# --- calls that do not block ----------------------------------------------------------------------------------------


async def test_a_result_that_comes_later_is_delivered_once_as_json_that_names_its_call(way: str) -> None:
    model = Model(says(call("later", '{"n":1}')), says("Started"), says("Done"))
    run = new_run(way, model, [later])
    assert (await result(run)).output == says("Done").output
    assert outputs(model) == [PENDING]
    wrapped = '{"type":"tool_result","call_id":"c1","name":"later","status":"completed","output":"later 1"}'
    assert texts(model.seen[-1:]) == [wrapped]
    assert model.seen[-1].role == "user"
    assert run.statistics == type(run.statistics)(total=1, completed=1, non_blocking=1)


async def test_a_result_that_is_there_in_time_is_an_output_like_any_other(way: str) -> None:
    gate = Gate("tool:completed")

    @tool(blocking=False)
    def quick() -> str:
        return "quick"

    @tool
    def slow() -> str:
        gate.wait()
        return "slow"

    model = Model(says(call("quick"), call("slow", call_id="c2")), says("Done"))
    await result(new_run(way, model, [quick, slow], on_event=[gate]))
    assert outputs(model) == ["quick", "slow"]


async def test_a_late_result_waits_while_a_blocking_call_of_a_later_round_runs(way: str) -> None:
    """A request in between would hold a call without its output, which vendors refuse."""
    asked_twice, arrived = Gate("tool:executing", 2), Gate("result:arrived")

    @tool(blocking=False)
    def report() -> str:
        asked_twice.wait()  # until `add` of the second round runs
        return "the report"

    @tool
    def slow() -> str:
        arrived.wait()
        requests.append(len(model.asked))
        return "slow"

    requests: list[int] = []
    model = Model(
        says(call("report", call_id="late")), says(call("slow", call_id="later")), says("Both."), says("unused")
    )
    run = new_run(way, model, [report, slow], on_event=(asked_twice, arrived))
    assert (await result(run)).output == says("Both.").output
    assert requests == [2], "the result had arrived, and the model was not asked while the call ran"
    assert len(model.asked) == 3
    output, delivered = model.seen[-2:]
    assert (output.call_id, output.output) == ("later", "slow"), "the output of the call comes first"
    assert texts([delivered])[0].startswith('{"type":"tool_result","call_id":"late"')
    kinds = [(call.name, call.reported) for call in run.calls]
    assert kinds == [("report", "delivered"), ("slow", "answer")]


async def test_results_that_arrive_during_a_model_call_go_together_in_the_next(way: str) -> None:
    @tool(blocking=False)
    def note(n: int) -> str:
        return f"note {n}"

    gate = Gate("result:arrived", 2)
    calls = [call("note", '{"n":1}'), call("note", '{"n":2}', call_id="c2")]
    model = Model(says(*calls), says("Started"), says("Done"))

    def ask(request: Request) -> Any:
        if len(model.asked) == 1:
            gate.wait()
        return model(request)

    async def ask_async(request: Request) -> Any:
        return await anyio.to_thread.run_sync(ask, request)

    await result(new_run(way, ask if way == "sync" else ask_async, [note], on_event=[gate]))
    assert len(model.asked) == 3
    assert sorted(msgspec.json.decode(text)["output"] for text in texts(model.seen)[-2:]) == ["note 1", "note 2"]


async def test_images_that_come_later_stand_beside_their_text(way: str) -> None:
    @tool(blocking=False)
    def draw() -> list[Any]:
        time.sleep(0.01)
        return ["a dot", InputImage(image_url="data:image/png;base64,AA==")]

    model = Model(says(call("draw")), says("Started"), says("Done"))
    await result(new_run(way, model, [draw]))
    text, shown = model.seen[-1].content
    assert '"output":"a dot"' in text.text
    assert shown == InputImage(image_url="data:image/png;base64,AA==")


async def test_deliveries_count_as_iterations(way: str) -> None:
    gate = Gate("never")

    @tool(blocking=False)
    def hangs() -> None:
        gate.wait()

    model = Model(says(call("hangs")), says("Started"))
    with pytest.raises(MaxIterationsError) as caught:
        await result(new_run(way, model, [hangs], max_iterations=2))
    gate.opened.set()
    assert caught.value.run.calls[0].state == "cancelled"


# --- what cannot be run ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (call("add", '{"a": 1, '), "1. the arguments are no"),
        (call("add", '{"a": "one"}'), "1. "),
        (call("ad"), "1. there is no tool called 'ad'; did you mean add?"),
        (call("search"), "1. there is no tool called 'search'; there are add"),
    ],
)
async def test_what_is_wrong_with_a_call_goes_back_as_its_own_output(way: str, asked: Any, told: str) -> None:
    good = call("add", '{"a":1,"b":2}', call_id="c2")
    model = Model(says(asked, good), says("Done"))
    run = new_run(way, model, [add])
    await result(run)
    wrong, right = outputs(model)
    assert wrong.startswith(f"The call was not run:\n{told}")
    assert right == "3"
    assert run.calls[0].problems
    assert run.calls[0].runs == 0


async def test_every_problem_of_a_call_is_listed_by_number(way: str) -> None:
    model = Model(says(call("add", '{"a": "one", "c": 3}')), says("Done"))
    run = new_run(way, model, [add])
    await result(run)
    lines = outputs(model)[0].splitlines()[1:]
    assert [line.partition(".")[0] for line in lines] == [str(i + 1) for i in range(len(run.calls[0].problems))]
    assert len(lines) >= 2


@pytest.mark.parametrize(("asked", "kind"), [(call("add"), ToolArgumentsError), (call("ad"), ToolNotFoundError)])
async def test_a_model_that_does_not_learn_is_not_asked_for_ever(way: str, asked: Any, kind: type[LLMError]) -> None:
    model = Model(*[says(asked)] * 5)
    with pytest.raises(kind) as caught:
        await result(new_run(way, model, [add], max_repairs=2))
    assert len(model.asked) == 3
    assert caught.value.run.outcome == "invalid_calls"


async def test_a_good_answer_in_between_starts_the_count_again(way: str) -> None:
    bad, good = says(call("add")), says(call("add", '{"a":1,"b":2}'))
    model = Model(bad, good, bad, good, says("Done"))
    assert (await result(new_run(way, model, [add], max_repairs=1))).status == "completed"


@pytest.mark.parametrize("why", ["max_output_tokens", "content_filter", "a reason nobody knows"])
async def test_the_calls_of_an_answer_that_was_cut_never_run(way: str, why: str) -> None:
    """BUGS 28 and 44"""
    ran: list[int] = []
    model = Model(says("Let me", call("count"), call("count", '{"a"', call_id="c2"), why=why))
    run = new_run(way, model, [tool(name="count")(lambda: ran.append(1))])
    answer = await result(run)
    assert (ran, answer.status) == ([], "incomplete")
    assert [(one.state, one.error) for one in run.calls] == [
        ("cancelled", f"not run: the answer was cut ({why})"),
    ] * 2
    assert [type(item).__name__ for item in run.state.items[-2:]] == ["FunctionCallOutput"] * 2


async def test_a_call_that_was_cut_in_an_answer_that_was_not_never_runs(way: str) -> None:
    """BUGS 28"""
    model = Model(says(call("add", '{"a":1,"b":2}', status="incomplete")), says("Again"))
    run = new_run(way, model, [add])
    await result(run)
    assert run.calls[0].runs == 0
    assert outputs(model) == ["not run: the call was cut before it was complete"]


async def test_what_the_vendor_ran_itself_gets_no_output_from_here(way: str) -> None:
    """BUGS 37"""
    theirs = McpCall(id="mcp_1", server_label="docs", name="find", arguments="{", error="invalid arguments")
    hosted = [ShellCall(call_id="sh", action={}), ShellCallOutput(call_id="sh", output=[])]
    model = Model(says(theirs, *hosted, "Found nothing"))
    run = new_run(way, model)
    await result(run)
    assert (run.calls, len(run.state.items)) == ([], 5)


async def test_what_a_decoder_put_right_is_seen_on_the_call(way: str) -> None:
    answer = says("Hm", call("add", '{"a":1,"b":2}'))
    losses = [
        Loss("output[1]", "it had no id", "changed"),
        Loss("choices[0].message.tool_calls[0].type", "it had no type, read as a function", "changed"),
        Loss("output[1].x", "gone", "dropped"),
        Loss("input[0]", "something else", "changed"),
    ]
    run = new_run(way, Model(reply(answer, CallInfo(losses=losses)), says("Done")), [add])
    await result(run)
    assert run.calls[0].repairs == ["it had no id", "it had no type, read as a function"]


# --- approval -------------------------------------------------------------------------------------------------------


async def test_a_call_that_is_not_approved_does_not_run(way: str) -> None:
    model = Model(says(call("delete")), says("Done"))
    run = new_run(way, model, [delete])
    stopped = await result(run)
    assert (stopped.output, run.state.outcome) == ([call("delete")], "waiting")
    assert [one.call_id for one in run.pending_calls] == ["c1"]
    assert len(model.asked) == 1
    run.approve("c1")
    assert (await result(run)).output == says("Done").output
    assert outputs(model) == ["x is gone"]


async def test_a_call_that_is_denied_is_told_why(way: str) -> None:
    model = Model(says(call("delete")), says("Done"))
    run = new_run(way, model, [delete])
    await result(run)
    run.deny("run:1.1", "not on a Friday")
    await result(run)
    assert outputs(model) == ["not on a Friday"]
    assert run.calls[0].state == "cancelled"


@pytest.mark.parametrize("says_async", [False, True])
async def test_a_callback_decides_at_once(way: str, says_async: bool) -> None:
    asked: list[str] = []

    def approve(one: Any) -> Any:
        asked.append(one.arguments)
        return "good" in one.arguments

    async def approve_later(one: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return approve(one)

    calls = [call("delete", '{"name":"good"}'), call("delete", '{"name":"bad"}', call_id="c2")]
    model = Model(says(*calls), says("Done"))
    await result(new_run(way, model, [delete], approve=approve_later if says_async else approve))
    assert sorted(asked) == ['{"name":"bad"}', '{"name":"good"}']
    assert outputs(model) == ["good is gone", "denied: this call is not allowed"]


def test_words_of_many_threads_to_a_run_at_rest_are_all_heard() -> None:
    waiting = [call("delete", call_id=f"c{i}") for i in range(24)]
    run = new_run("sync", Model(says(*waiting), says("Done")), [delete])
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


async def test_only_a_plain_yes_lets_a_call_run(way: str, caplog: pytest.LogCaptureFixture) -> None:
    run = new_run(way, Model(says(call("delete"))), [delete], approve=lambda _: "no")
    await result(run)
    assert [(one.state, one.waiting_for) for one in run.calls] == [("pending", "approval")]
    assert "returns True, False or None, not 'no'" in caplog.text


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [((True,), "completed"), ((None,), "waiting"), ((True, None), "waiting"), ((None, None), "waiting")],
)
async def test_a_run_ends_once_and_after_its_approvals(way: str, verdicts: tuple[Any, ...], outcome: str) -> None:
    calls = [call("delete", f'{{"name": "{i}"}}', f"c{i}") for i in range(len(verdicts))]
    model = Model(says(*calls), says("Done"))
    run = new_run(way, model, [delete], approve=lambda asked: verdicts[int(asked.parsed_arguments["name"])])
    events = await watched(run)
    ends = [event for event in events if event.type == "run:end"]
    assert ends == [events[-1]]
    assert ends[0].outcome == outcome


async def test_a_callback_may_leave_it_open(way: str, caplog: pytest.LogCaptureFixture) -> None:
    def fails(one: Any) -> bool:
        raise RuntimeError("nobody is there")

    for approve in (lambda one: None, fails):
        run = new_run(way, Model(says(call("delete"))), [delete], approve=approve)
        await result(run)
        assert len(run.pending_calls) == 1
    assert "nobody is there" in caplog.text


async def test_only_what_waits_can_be_decided(way: str) -> None:
    run = new_run(way, Model(says(call("delete"))), [delete])
    await result(run)
    with pytest.raises(ConfigError, match=r"no call 'c7' is waiting \(waiting: c1\)"):
        run.approve("c7")


async def test_a_remote_mcp_server_asks_for_approval_too(way: str) -> None:
    asked = McpApprovalRequest(id="mcpr_1", server_label="docs", name="drop", arguments="{}")
    for verdict in (True, False):
        model = Model(says(asked), says("Done"))
        run = new_run(way, model, approve=lambda one, verdict=verdict: verdict)
        await result(run)
        (item,) = [item for item in model.seen if isinstance(item, McpApprovalResponse)]
        assert (item.approval_request_id, item.approve) == ("mcpr_1", verdict)
        assert run.calls[0].name == "docs.drop"


# --- tools of the vendor that the caller runs -----------------------------------------------------------------------

THEIRS = [
    (ShellTool(), ShellCall(call_id="c1", action={"commands": ["ls"]}), "shell"),
    (LocalShellTool(), LocalShellCall(call_id="c1", action={"command": ["ls"]}), "local_shell"),
    (ApplyPatchTool(), ApplyPatchCall(call_id="c1", operation={"type": "delete_file", "path": "x"}), "apply_patch"),
    (ComputerTool(), ComputerCall(call_id="c1", actions=[{"type": "screenshot"}]), "computer"),
    (FunctionTool(name="theirs", parameters={"type": "object"}), call("theirs"), "theirs"),
    (CustomTool(name="grammar"), CustomToolCall(call_id="c1", name="grammar", input="free text"), "grammar"),
]


@pytest.mark.parametrize(("offered", "asked", "name"), THEIRS, ids=[name for *_, name in THEIRS])
async def test_what_nothing_here_runs_waits_for_its_output(way: str, offered: Any, asked: Any, name: str) -> None:
    model = Model(says(asked), says("Done"))
    run = new_run(way, model, [offered])
    await result(run)
    assert [(one.name, one.waiting_for) for one in run.pending_calls] == [(name, "output")]
    run.submit_output("c1", "by hand")
    await result(run)
    assert type(model.seen[-1]).__name__ == f"{type(asked).__name__}Output"
    assert run.calls[0].state == "completed"


@pytest.mark.parametrize(("offered", "asked", "name"), THEIRS, ids=[name for *_, name in THEIRS])
async def test_an_executor_that_knows_it_runs_it(way: str, offered: Any, asked: Any, name: str) -> None:
    class Executor:
        def execute(self, name: str, arguments: dict[str, Any]) -> str:
            return f"{name} ran {sorted(arguments)}"

        def has_tool(self, name: str) -> bool:
            return True

        def definition(self, name: str) -> Any:
            return offered

    model = Model(says(asked), says("Done"))
    run = new_run(way, model, [offered], executor=Executor())
    await result(run)
    assert (run.calls[0].state, run.calls[0].runs) == ("completed", 1)
    if name == "shell":
        assert model.seen[-1].output[0].stdout == "shell ran ['commands']"


async def test_the_very_item_can_be_supplied(way: str) -> None:
    given = FunctionCallOutput(call_id="c1", output="4", is_error=True)
    model = Model(says(call("theirs")), says("Done"))
    run = new_run(way, model, [FunctionTool(name="theirs", parameters={"type": "object"})])
    await result(run)
    run.submit_output("c1", given)
    await result(run)
    assert model.seen[-1] is given


async def test_what_is_supplied_is_what_a_tool_may_return_or_answers_that_very_call(way: str) -> None:
    model = Model(says(call("theirs")), says("Done"))
    run = new_run(way, model, [FunctionTool(name="theirs", parameters={"type": "object"})])
    await result(run)
    for wrong in (FunctionCallOutput(call_id="c2", output="4"), LocalShellCallOutput(call_id="c1", output="4"), b"4"):
        with pytest.raises(LLMError, match=r"does not answer 'c1'|returned bytes"):
            run.submit_output("c1", wrong)
    run.submit_output("c1", {"degrees": 4})
    await result(run)
    assert outputs(model) == ['{"degrees":4}']
    assert STATE.decode(msgspec.json.encode(run.state)) == run.state


async def test_a_call_that_nothing_ran_is_run_where_the_state_is_taken_up_with_a_tool_for_it(way: str) -> None:
    asked = Model(says(call("add", '{"a":1,"b":2}'), call("delete", call_id="c2")))
    run = new_run(way, asked, [{"type": "function", "name": name} for name in ("add", "delete")])
    await result(run)
    run = new_run(way, model := Model(says("Done")), [add, delete], state=run.state)
    await result(run)
    assert [(one.state, one.waiting_for) for one in run.calls] == [("completed", None), ("pending", "approval")]
    run.approve("c2")
    await result(run)
    assert outputs(model) == ["3", "x is gone"]


async def test_a_vendor_that_paused_gets_its_answer_back_and_goes_on(way: str) -> None:
    model = Model(says("Searching", why="pause_turn"), says("Still", why="pause_turn"), says("Found"))
    answer = await result(new_run(way, model))
    assert [part.text for item in answer.output for part in item.content] == ["Searching", "Still", "Found"]
    assert model.seen[1:] == [*says("Searching").output, *says("Still").output]
    with pytest.raises(MaxIterationsError):
        await result(new_run(way, Model(*[says("...", why="pause_turn")] * 3), max_iterations=3))


# --- limits and cancellation ----------------------------------------------------------------------------------------


def test_whoever_watches_slowly_makes_no_timeout_of_what_ended_in_time() -> None:
    seconds, reported = [0.0], threading.Event()

    class Workers(ThreadWorkers):
        def now(self) -> float:
            return seconds[0]

        def put(self, report: Any) -> None:
            super().put(report)
            if isinstance(report, Finished):
                reported.set()

    run = new_run("sync", Model(says(call("add", '{"a":1,"b":2}')), says("Done")), [add], tool_timeout=1)
    run.workers = Workers
    with run.events() as events:
        for event in events:
            if event.type == "tool:executing":
                assert reported.wait(10)
                seconds[0] = 100.0
    assert [(one.state, one.output) for one in run.calls] == [("completed", "3")]


async def test_a_run_that_used_up_its_iterations_carries_itself(way: str) -> None:
    again = call("add", '{"a":1,"b":2}')
    model = Model(says(again), says("So far", again), says("Done"))
    with pytest.raises(MaxIterationsError) as caught:
        await result(new_run(way, model, [add], max_iterations=2))
    error = caught.value
    assert error.partial.output[0].content[0].text == "So far"
    assert [one.state for one in error.run.calls] == ["completed", "cancelled"]
    error.run.limits.max_iterations = 5
    assert (await result(new_run(way, model, [add], state=error.run))).output == says("Done").output


async def test_a_tool_that_takes_too_long_is_given_up_and_the_others_are_not(way: str) -> None:
    release = threading.Event()

    @tool(timeout=0.02)
    def hangs() -> str:
        release.wait(10)
        return "too late"

    model = Model(says(call("hangs"), call("add", '{"a":1,"b":2}', call_id="c2")), says("Done"))
    run = new_run(way, model, [hangs, add])
    await result(run)
    release.set()
    assert outputs(model) == ["timed out after 0.02 seconds", "3"]
    assert run.calls[0].state == "timeout"


async def test_an_async_tool_that_takes_too_long_is_cancelled(way: str) -> None:
    if way == "sync":
        pytest.skip("a thread cannot be stopped")
    ended: list[str] = []

    @tool
    async def hangs() -> str:
        try:
            await anyio.sleep(60)
        finally:
            ended.append("cancelled")
        return ""

    model = Model(says(call("hangs")), says("Done"))
    await result(new_run(way, model, [hangs], tool_timeout=0.01))
    assert ended == ["cancelled"]


async def test_the_whole_run_has_a_limit_too(way: str) -> None:
    release = threading.Event()
    model = Model(says(call("hangs")))
    with pytest.raises(APITimeoutError, match=r"longer than 0\.02 seconds") as caught:
        await result(new_run(way, model, [tool(name="hangs")(lambda: str(release.wait(10)))], timeout=0.02))
    release.set()
    assert (caught.value.phase, caught.value.run.calls[0].state) == ("total", "cancelled")


async def test_a_run_is_cancelled_by_a_word(way: str) -> None:
    release = threading.Event()

    @tool
    def stop(context: ToolContext) -> str:
        context.run.cancel()
        release.wait(10)
        return "too late"

    run = new_run(way, Model(says(call("stop"))), [stop])
    if way == "sync":
        with pytest.raises(CallCancelledError, match="the run was cancelled"):
            run.result()
    else:

        @tool(name="stop")
        async def stop_async(context: ToolContext) -> str:
            context.run.cancel()
            await anyio.sleep(60)
            return "too late"

        run = new_run(way, Model(says(call("stop"))), [stop_async])
        with pytest.raises(CallCancelledError, match="the run was cancelled"):
            await run.result()
    release.set()
    assert run.state.items[-1].output == "cancelled: the run was cancelled"


async def test_a_cancelled_scope_leaves_nothing_running_and_the_conversation_complete(way: str) -> None:
    if way == "sync":
        pytest.skip("nothing waits there that could be cancelled")
    active: set[str] = set()

    @tool
    async def hangs(name: str) -> str:
        active.add(name)
        if len(active) == 2:
            scope.cancel()
        try:
            await anyio.sleep(60)
        finally:
            active.discard(name)
        return ""

    calls = [call("hangs", '{"name":"a"}'), call("hangs", '{"name":"b"}', call_id="c2")]
    run = new_run(way, Model(says(*calls)), [hangs])
    with anyio.CancelScope() as scope:
        await run.result()
    assert scope.cancelled_caught
    assert active == set()
    assert [item.output for item in run.state.items[-2:]] == ["cancelled: the run was cancelled"] * 2


async def test_a_reader_that_cancels_its_scope_at_a_late_result_ends_the_run_as_cancelled(way: str) -> None:
    if way == "sync":
        pytest.skip("no scope cancels a thread")
    calls = [call("later", '{"n":1}'), call("later", '{"n":2}', call_id="c2")]
    model = Model(says(*calls))

    async def ask(request: Request) -> Any:
        if not model.answers:
            await anyio.sleep(60)
        return model(request)

    run = new_run(way, ask, [later])
    with anyio.CancelScope() as scope:
        async with run.events() as events:
            async for event in events:
                if event.type == "result:arrived":
                    scope.cancel()
    assert scope.cancelled_caught
    assert (run.state.outcome, run.state.error) == ("cancelled", "the run was cancelled")


async def test_a_native_cancellation_passes_through(way: str) -> None:
    if way != "asyncio":
        pytest.skip("there is none")
    run = new_run(way, lambda request: anyio.sleep(60))
    task = asyncio.ensure_future(run.result())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.state.outcome == "cancelled"
    assert [one.get_name() for one in asyncio.all_tasks() if "llm_rest" in one.get_name()] == []


async def test_leaving_the_events_early_cancels_the_run(way: str) -> None:
    run = new_run(way, Model(says(call("add", '{"a":1,"b":2}')), says("Done")), [add])
    if way == "sync":
        with run.events() as events:
            next(events)
    else:
        async with run.events() as events:
            await anext(events)
    assert run.state.outcome == "cancelled"
    with pytest.raises(CallCancelledError, match="cancelled"):
        await result(run)


async def test_a_model_that_fails_ends_the_run_which_can_be_taken_up(way: str) -> None:
    model = Model(says(call("add", '{"a":1,"b":2}')), RuntimeError("overloaded"), says("Done"))
    run = new_run(way, model, [add])
    with pytest.raises(RuntimeError, match="overloaded"):
        await result(run)
    with pytest.raises(RuntimeError, match="overloaded"):
        await result(run)
    again = new_run(way, model, [add], state=run.state)
    assert (await result(again)).output == says("Done").output
    assert again.state.iteration == 2, "asking again is no new iteration"


async def test_a_failed_answer_to_a_late_result_does_not_end_a_run_that_waits_for_others(way: str) -> None:
    failed = Gate("nonblocking:error")

    @tool(blocking=False)
    def slow() -> str:
        failed.wait()
        return "slow"

    calls = [call("later", '{"n":1}'), call("slow", call_id="c2")]
    model = Model(says(*calls), says("Started"), RuntimeError("overloaded"), says("Done"))
    run = new_run(way, model, [later, slow], on_event=[failed])
    events = await watched(run)
    assert [event.type for event in events if event.iteration >= 3] == [
        "iteration:start",
        "nonblocking:result",
        "nonblocking:error",
        "tool:completed",
        "result:arrived",
        "iteration:start",
        "nonblocking:result",
        "llm:response",
        "nonblocking:llm_response",
        "run:end",
    ]
    error = next(event for event in events if event.type == "nonblocking:error")
    assert (error.error, [one.call_id for one in error.calls]) == ("overloaded", ["c1"])
    assert [one.call_id for one in events[-2].calls] == ["c1", "c2"], "this answer is to both results"
    assert [msgspec.json.decode(text)["output"] for text in texts(model.seen)[-2:]] == ["later 1", "slow"]
    assert (await result(run)).output == says("Done").output


async def test_a_failed_answer_to_the_last_late_result_ends_the_run(way: str) -> None:
    model = Model(says(call("later")), says("Started"), RuntimeError("overloaded"))
    run = new_run(way, model, [later])
    events = await watched(run)
    assert [event.type for event in events[-2:]] == ["nonblocking:error", "run:end"]
    assert (events[-1].outcome, events[-1].error) == ("failed", "overloaded")
    with pytest.raises(RuntimeError, match="overloaded"):
        await result(run)


def test_the_work_of_the_loop_grows_with_the_calls_of_an_answer_and_not_with_their_square() -> None:
    def work(n: int) -> int:
        """How many functions the reader of the run calls."""
        calls = [call("add", '{"a":1,"b":2}', call_id=f"c{i}") for i in range(n)]
        counted = 0

        def count(frame: Any, event: str, arg: Any) -> None:
            nonlocal counted
            counted += 1

        run = new_run("sync", Model(says(*calls), says("Done")), [add])
        sys.setprofile(count)  # of this thread alone
        try:
            run.result()
        finally:
            sys.setprofile(None)
        assert len(run.calls) == n
        return counted

    assert work(200) < 5 * work(50)


async def test_a_run_is_driven_by_one_at_a_time(way: str) -> None:
    run = new_run(way, Model(says("Hi")))

    def inside(event: Any) -> None:
        with pytest.raises(ConfigError, match="being driven already"):
            run._engine.begin(run._engine._workers, streams=False)

    run._engine.event_hooks = (inside,)
    await result(run)


# --- states ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_resume", ["restart", "fail"])
async def test_what_was_running_when_the_process_ended_is_run_again_or_lost(way: str, on_resume: Any) -> None:
    for blocking in (True, False):
        gate = threading.Event()

        def waits(gate: threading.Event) -> str:
            return str(gate.wait(5))

        options: dict[str, Any] = {"name": "work", "on_resume": on_resume, "blocking": blocking}
        model = Model(says(call("work")), *([] if blocking else [says("Started")]), says("Done"))
        first = new_run(way, model, [tool(**options)(partial(waits, gate))])
        # In the middle of things: the tool runs, and the model has been told what there is to tell.
        answers = 1 if blocking else 2
        saved = b""
        events = first.events()
        async with contextlib.AsyncExitStack() as stack:
            if way == "sync":
                stack.enter_context(events)
            else:
                await stack.enter_async_context(events)
            while not (len(model.asked) == answers and first.state.asked is None):
                next(events) if way == "sync" else await anext(events)
            saved = msgspec.json.encode(first.state)
        gate.set()
        again = new_run(way, model, [tool(**options)(lambda: "done")], state=STATE.decode(saved))
        assert (await result(again)).output == says("Done").output
        told = "done" if on_resume == "restart" else "lost: the process that ran it ended before it did"
        assert told in str(model.seen[-1])
        assert again.calls[0].runs == (2 if on_resume == "restart" else 1)


async def test_a_saved_run_whose_tool_is_gone_is_told_so(way: str) -> None:
    model = Model(says(call("delete")), says("Done"))
    run = new_run(way, model, [delete])
    await result(run)
    run.approve("c1")
    state = STATE.decode(msgspec.json.encode(run.state))
    await result(new_run(way, model, [add], state=state))
    assert "there is no tool called 'delete'" in outputs(model)[0]


# --- events ---------------------------------------------------------------------------------------------------------


async def test_all_ten_kinds_of_events_come_in_order_with_ids_and_times(way: str) -> None:
    gate = Gate("llm:response", 2)

    @tool(blocking=False)
    def fails() -> str:
        gate.wait()
        raise ValueError("no")

    model = Model(says(call("add", '{"a":1,"b":2}'), call("fails", call_id="c2")), says("Started"), says("Done"))
    events = await watched(new_run(way, model, [add, fails], on_event=[gate]))
    assert [(event.type, event.execution_id) for event in events] == [
        ("iteration:start", "run:1"),
        ("llm:response", "run:1"),
        ("tool:executing", "run:1.1"),
        ("tool:executing", "run:1.2"),
        ("tool:completed", "run:1.1"),
        ("iteration:start", "run:2"),
        ("llm:response", "run:2"),
        ("tool:failed", "run:1.2"),
        ("result:arrived", "run:1.2"),
        ("iteration:start", "run:3"),
        ("nonblocking:result", "run:1.2"),
        ("llm:response", "run:3"),
        ("nonblocking:llm_response", "run:3"),
        ("run:end", "run"),
    ]
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert events[-4].call.state == "failed"
    assert events[-2].calls[0].call_id == "c2"
    assert (events[-1].outcome, events[-1].error) == ("completed", None)
    assert events[2].call.state == "executing", "an event holds the call as it was"
    plain = msgspec.json.decode(msgspec.json.encode(events[4]))
    assert (plain["type"], plain["call"]["state"]) == ("tool:completed", "completed")


async def test_listeners_hear_everything_and_may_fail(way: str, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    def fails(event: Any) -> None:
        raise RuntimeError("deaf")

    model = Model(says(call("later")), says("Started"), says("Done"))
    run = new_run(way, model, [later], on_event=(fails, lambda event: heard.append(event.type)))
    await result(run)
    assert heard[:3] == ["iteration:start", "llm:response", "tool:executing"]
    assert heard[-3:] == ["llm:response", "nonblocking:llm_response", "run:end"]
    assert "nonblocking:result" in heard
    assert "deaf" in caplog.text


async def test_a_stream_tells_the_answers_and_the_run_in_order(way: str) -> None:
    model = Model(says(call("add", '{"a":1,"b":2}')), says("Done"))
    events = await watched(new_run(way, model, [add]), streams=True)
    told = [type(event).__struct_config__.tag for event in events]
    assert told[:2] == ["iteration:start", "response.created"]
    assert [kind for kind in told if ":" in kind or kind == "response.completed"] == [
        "iteration:start",
        "response.completed",
        "llm:response",
        "tool:executing",
        "tool:completed",
        "iteration:start",
        "response.completed",
        "llm:response",
        "run:end",
    ]


def streamed_model(*answers: Any) -> Any:
    """What streams these answers, each in its events."""

    class Streamed:
        def __init__(self, request: Request) -> None:
            self.response = answers_left.pop(0)

        def __enter__(self) -> Any:
            if isinstance(self.response, Exception):
                raise self.response
            self.events = iter(disassemble(self.response))
            return self

        def __exit__(self, *failure: object) -> None: ...
        def __iter__(self) -> Any:
            return self.events

        async def __aenter__(self) -> Any:
            return self.__enter__()

        async def __aexit__(self, *failure: object) -> None: ...
        async def __aiter__(self) -> Any:
            for event in self.events:
                yield event

    answers_left = list(answers)
    return Streamed


async def test_the_text_of_a_streamed_run_is_that_of_all_its_answers(way: str) -> None:
    stream = streamed_model(says("Let me add. ", call("add", '{"a": 1, "b": 2}')), says("Three."))
    run = new_run(way, Model(), [add], stream=stream)
    pieces = await streamed_text(run)
    assert "".join(pieces) == "Let me add. Three."
    assert all(pieces)
    assert await streamed_text(run) == [], "a run that has ended has nothing more to say"
    assert (await result(run)).output == says("Three.").output


async def test_the_text_of_a_run_ends_with_what_result_raises(way: str) -> None:
    with pytest.raises(ConnectionError):
        await streamed_text(new_run(way, Model(), stream=streamed_model(ConnectionError("gone"))))
    asked = says("Hm. ", call("add", '{"a": 1, "b": 2}'))
    run = new_run(way, Model(), [add], stream=streamed_model(asked, asked), max_iterations=1)
    with pytest.raises(MaxIterationsError) as caught:
        await streamed_text(run)
    assert caught.value.run.outcome == "max_iterations"


async def test_the_text_of_a_run_ends_where_a_call_waits_for_approval(way: str) -> None:
    run = new_run(way, Model(), [delete], stream=streamed_model(says("May I?", call("delete")), says("Done.")))
    assert "".join(await streamed_text(run)) == "May I?"
    run.approve(run.pending_calls[0].call_id)
    assert "".join(await streamed_text(run)) == "Done."


async def test_the_text_of_a_run_is_read_inside_a_with(way: str) -> None:
    text = new_run(way, Model(says("Hello"))).stream().text
    with pytest.raises(ConfigError, match="with"):
        next(text) if way == "sync" else await anext(text)


async def test_what_is_raised_while_a_run_is_watched_comes_out_as_it_is(way: str) -> None:
    run = new_run(way, Model(says(call("add", '{"a":1,"b":2}'))), [add])

    async def watch() -> None:
        if way == "sync":
            with run.events():
                raise ZeroDivisionError
        async with run.events():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await watch()


@pytest.mark.parametrize("way", ["asyncio", "trio"])
def test_an_interrupt_inside_a_tool_comes_out_as_it_is(way: str) -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        await result(new_run(way, Model(says(call("interrupted"))), [interrupted]))

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main, backend=way)


# --- chained responses ----------------------------------------------------------------------------------------------


async def test_a_stored_conversation_gets_only_what_is_new(way: str) -> None:
    model = Model(says(call("add", '{"a":1,"b":2}')), says("Done"))
    await result(new_run(way, model, [add], request=Request(conversation="conv_1")))
    assert [request.previous_response_id for request in model.asked] == [None] * 2
    assert len(model.seen) == 1


@pytest.mark.parametrize("word", ["cancel", "approve"])
async def test_a_run_hears_words_from_other_threads_at_once(word: str, way: str) -> None:
    late: list[str] = []

    @tool(timeout="none")
    async def waits() -> str:
        await anyio.sleep(20)
        late.append("the word was not heard")
        return "late"

    @tool(needs_approval=True)
    def guarded(context: ToolContext) -> str:
        context.run.cancel()  # in a thread for every kind of caller
        return "done"

    run = new_run(way, Model(says(call("waits"), call("guarded", call_id="c2"))), [waits, guarded])
    said = run.cancel if word == "cancel" else lambda: run.approve("c2")

    def say_soon() -> None:
        while not run.pending_calls:
            time.sleep(0.005)
        time.sleep(0.05)
        said()

    thread = threading.Thread(target=say_soon)
    thread.start()
    with pytest.raises(CallCancelledError):
        await result(run)
    assert not late
    assert run.calls[1].runs == (word == "approve")
    thread.join()


async def test_a_run_that_was_cancelled_before_it_began_asks_nobody(way: str) -> None:
    model = Model(says("never"))
    run = new_run(way, model)
    run.cancel()
    with pytest.raises(CallCancelledError):
        await result(run)
    assert model.asked == []


async def test_without_end_is_a_limit_like_any_other(way: str) -> None:
    @tool(timeout=float("inf"))
    def quick() -> str:
        return "done"

    run = new_run(way, Model(says(call("quick")), says("ok")), [quick], timeout=float("inf"))
    await result(run)
    assert run.calls[0].output == "done"


@pytest.mark.parametrize("how", ["events", "stream"])
async def test_events_outside_of_a_with_are_refused_and_not_empty(how: str, way: str) -> None:
    events = getattr(new_run(way, Model(says("hi"))), how)()
    with pytest.raises(ConfigError, match="with"):
        next(events) if way == "sync" else await anext(events)
