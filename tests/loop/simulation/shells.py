"""The real shells on a virtual clock: what is simulated is the model, the tools, and when a decision is made."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random
from typing import Any

import anyio
import msgspec

import llm_rest.loop.engine as engine_module
from llm_rest.loop import STATE, Limits, RunState, ToolCall, Turn, snapshot
from llm_rest.loop.engine import Engine
from llm_rest.loop.events import AnyLoopEvent
from llm_rest.loop.tasks import AsyncRun, TaskShell
from llm_rest.loop.threads import Run, ThreadShell
from llm_rest.responses.items import Message
from llm_rest.responses.request import Request
from llm_rest.responses.response import Response
from llm_rest.responses.tools import FunctionTool, ShellTool
from llm_rest.sync import drive
from llm_rest.tools import Tool, Toolbox, ToolContext
from tests.loop.simulation.ledger import Ledger, rule
from tests.loop.simulation.world import FACTS, answer
from tests.loop.support import opened, result


class Play:
    """One schedule for a shell: everything is chosen by the seed, so the same seed gives the same schedule."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.ledger = Ledger()
        self.active: set[str] = set()
        self.asked = 0
        self.drives = 0
        self.heard: Counter[tuple[str, str]] = Counter()
        rng = self.rng("start")
        limits = Limits(
            max_iterations=rng.choice((1, 3, 6, 12)),
            tool_timeout=rng.choice((4.0, 30.0)),
            timeout=rng.choice((None, 8.0, 20.0)),
            max_repairs=rng.choice((0, 1, 3)),
            max_tool_threads=rng.choice((1, 2, 32)),
            use_previous_response_id=rng.random() < 0.1,
        )
        self.eager = rng.choice((0.4, 0.7, 0.9))
        self.way = rng.choice(("result", "events", "stream"))
        self.answers_at_once = rng.random() < 0.3
        self.state = RunState(id="run", request=Request(), items=[Message(role="user", content="go")], limits=limits)

    def rng(self, name: str) -> Random:
        """Chance for one question, whatever was asked before."""
        return Random(f"{self.seed}/{name}")

    def watched(self, state: RunState, tools: Any, **how: Any) -> Turn:
        """A turn whose every step goes through the ledger."""
        ledger = self.ledger

        class Watched(Turn):
            def take(self, input: Any) -> Any:
                before = snapshot(self.state)
                actions = super().take(input)
                ledger.saw(before, input, snapshot(self.state), actions)
                return actions

        return Watched(state, tools, **how)

    def seconds(self, name: str) -> float:
        """How long something takes."""
        return self.rng(name).choice((0.0, 0.5, 1.0, 2.0, 3.5, 7.0))

    def answer(self) -> Response:
        """The next answer of the model, or its error."""
        self.asked += 1
        rng = self.rng(f"answer {self.asked}")
        if rng.random() < 0.04:
            raise RuntimeError("overloaded")
        return answer(rng, self.asked, eager=self.eager)

    def outcome(self, context: ToolContext) -> str:
        """What a tool gives."""
        if self.rng(context.execution_id).random() < 0.15:
            raise ValueError("no")
        return f"result of {context.execution_id}."

    def verdict(self, call: ToolCall) -> bool | None:
        """The decision of an approve callback."""
        verdict = self.rng(f"verdict {call.execution_id}").choice((True, True, False, None))
        if verdict:
            self.ledger.allowed.add(call.execution_id)
        return verdict

    def decide(self, run: Any) -> None:
        """Say something about the calls of a run at rest."""
        for call in run.pending_calls:
            rng = self.rng(f"decision {self.drives} {call.execution_id}")
            if call.waiting_for == "output":
                run.submit_output(call.call_id, "by hand")
            elif rng.random() < 0.6:
                run.approve(call.call_id)
            elif rng.random() < 0.7:
                run.deny(call.execution_id, "not today")

    def toolbox(self, run_tool: Callable[[ToolContext], Any]) -> Toolbox:
        """The tools of the world, each with this function."""
        tools: list[Any] = []
        for name, facts in FACTS.items():
            if facts.runs:
                options = {
                    field: getattr(facts, field) for field in ("blocking", "timeout", "needs_approval", "on_resume")
                }
                tools.append(Tool(run_tool, name=name, **options))
        return Toolbox([*tools, FunctionTool(name="theirs", parameters={"type": "object"}), ShellTool()])

    def hear(self, event: Any) -> None:
        """An event came out of the run."""
        if isinstance(event, AnyLoopEvent):
            self.heard[event.type, event.execution_id] += 1

    def heard_all(self) -> None:
        """The run was watched to its rest: every event was handed out, unless an earlier drive was left early."""
        if self.drives == 0:
            ends = [count for (kind, _), count in self.heard.items() if kind == "run:end"]
            rule(ends == [1], "a run ends once")  # while the step stops whenever calls wait
            heard, told = (
                {key: count for key, count in events.items() if key[0] != "run:end"}
                for events in (self.heard, self.ledger.events)
            )
            rule(heard == told, "no event is lost on the way out")

    def rested(self, state: RunState) -> bool:
        """The run came to rest: check it; whether it is to be taken up again."""
        rule(not self.active, "nothing is left running")
        rule(not state.running, "a run at rest knows it")
        self.drives += 1
        self.state = state
        again = state.outcome == "waiting" or self.rng(f"again {self.drives}").random() < 0.3
        return again and state.outcome != "completed" and self.drives < 6

    def restored(self) -> RunState:
        """The state as another process finds it."""
        if self.rng(f"saved {self.drives}").random() < 0.5:
            return self.state
        return STATE.decode(msgspec.json.encode(self.state))

    def run(self, kind: Any, shell: Any, run_tool: Callable[[ToolContext], Any], ask: Any, approve: Any) -> Any:
        """A run of this kind, from where the last one came to rest."""
        approve = approve if self.answers_at_once else None
        state = self.restored()
        engine = partial(Engine, shell, state, self.toolbox(run_tool), ask, None, (), approve, None)
        return kind(engine, lambda state, answers: state.response)

    async def drive(self, run: Any, rng: Random) -> None:
        """Drive a run until it rests, or until its events are left."""
        if self.way == "result":
            try:
                await result(run)
            except Exception as error:  # a limit, or the model's
                rule(run.state.outcome not in ("completed", "waiting"), f"an error has a reason: {error}")
            return
        left = rng.randrange(1, 40) if rng.random() < 0.2 else 1000
        async with opened(run, self.way) as events:
            async for event in events:
                self.hear(event)
                left -= 1
                if not left:
                    return
        self.heard_all()


async def play_async(seed: int) -> Play:
    """The schedule through the shell for async callers."""
    play = Play(seed)
    play.ledger.in_threads = False
    engine_module.Turn = play.watched  # type: ignore[assignment]

    async def run_tool(context: ToolContext) -> str:
        play.active.add(context.execution_id)
        try:
            await anyio.sleep(play.seconds(context.execution_id))
            return play.outcome(context)
        finally:
            play.active.discard(context.execution_id)

    async def ask(request: Request) -> Response:
        play.active.add("model")
        try:
            await anyio.sleep(play.seconds(f"model {play.asked}"))
            return play.answer()
        finally:
            play.active.discard("model")

    async def approve(call: ToolCall) -> bool | None:
        await anyio.sleep(play.seconds(f"approval {call.execution_id}"))
        return play.verdict(call)

    going = True
    while going:
        run = play.run(AsyncRun, TaskShell(), run_tool, ask, approve)
        rng = play.rng(f"drive {play.drives}")
        play.decide(run)
        with anyio.move_on_after(rng.uniform(0, 12) if rng.random() < 0.15 else None):
            async with anyio.create_task_group() as group:
                if rng.random() < 0.15:

                    async def cancel(run: Any = run, after: float = rng.uniform(0, 12)) -> None:
                        await anyio.sleep(after)
                        run.cancel()

                    group.start_soon(cancel)
                if rng.random() < 0.4:

                    async def decide(run: Any = run, every: float = rng.choice((0.5, 1.7))) -> None:
                        while True:
                            await anyio.sleep(every)
                            play.decide(run)

                    group.start_soon(decide)
                await play.drive(run, rng)
                group.cancel_scope.cancel()
        going = play.rested(run.state)
    return play


class VirtualWorkers:
    """Jobs that take virtual time: each is done at once, at the moment at which it would have ended."""

    def __init__(self, play: Play, clock: list[float]) -> None:
        self.play = play
        self.clock = clock
        self.numbers = count()
        self.jobs: list[tuple[float, int, Callable[[], None]]] = []
        self.left: list[Callable[[], None]] = []
        self.reports: deque[Any] = deque()

    def now(self) -> float:
        return self.clock[0]

    def start(self, name: str, job: Callable[[], Any]) -> None:
        seconds = self.play.seconds(name if name != "model" else f"model {self.play.asked}")
        work = lambda: drive(job())  # noqa: E731
        self.left.append(work)
        self.at(seconds, work)

    def at(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self.jobs, (self.clock[0] + seconds, next(self.numbers), what))

    def cancel(self, name: str) -> None:
        """As with threads: it continues, and its result is ignored."""

    def put(self, report: Any) -> None:
        self.reports.append(report)

    async def receive(self, within: float | None) -> Any:
        limit = None if within is None else self.clock[0] + within
        while not self.reports:
            if self.jobs and (limit is None or self.jobs[0][0] <= limit):
                self.clock[0], _, what = heapq.heappop(self.jobs)
                what()
            else:
                rule(limit is not None, "somebody waits for what will never happen")
                self.clock[0] = limit or 0.0
                return None
        return self.reports.popleft()

    def finish(self) -> None:
        """Let every job end that was left behind."""
        for _, _, what in sorted(self.jobs, key=lambda job: job[:2]):
            if what in self.left:
                what()


def play_sync(seed: int) -> Play:
    """The schedule through the shell for sync callers."""
    play = Play(seed)
    engine_module.Turn = play.watched  # type: ignore[assignment]
    clock = [0.0]

    def run_tool(context: ToolContext) -> str:
        return play.outcome(context)

    going = True
    while going:
        run = play.run(Run, ThreadShell(), run_tool, lambda request: play.answer(), play.verdict)
        rng = play.rng(f"drive {play.drives}")
        play.decide(run)
        workers = VirtualWorkers(play, clock)
        if rng.random() < 0.2:
            workers.at(rng.uniform(0, 12), run.cancel)
        if rng.random() < 0.4:
            for i in range(8):
                workers.at(i * 1.5 + 0.5, partial(play.decide, run))
        run.workers = lambda workers=workers: workers
        drive(play.drive(run, rng))
        at_rest = msgspec.json.encode(run.state)
        workers.finish()
        rule(msgspec.json.encode(run.state) == at_rest, "what comes after the end changes nothing")
        going = play.rested(run.state)
    return play
