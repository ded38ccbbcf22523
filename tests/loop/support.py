"""Runs in tests: by either kind of caller, against the simulator or against a model that is a list of answers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from llm_rest.loop import Limits, RunState
from llm_rest.loop.engine import Engine
from llm_rest.loop.tasks import AsyncRun, TaskShell
from llm_rest.loop.threads import Run, ThreadShell
from llm_rest.responses import FunctionCall, IncompleteDetails, Message, OutputText, Request, Response
from llm_rest.tools import Toolbox


async def result(run: Any) -> Any:
    """The result of a run, whoever's it is."""
    return run.result() if isinstance(run, Run) else await run.result()


async def watched(run: Any, *, streams: bool = False) -> list[Any]:
    """All events of a run that is watched to its end."""
    events = run.stream() if streams else run.events()
    if isinstance(run, Run):
        with events:
            return list(events)
    async with events:
        return [event async for event in events]


async def streamed_text(run: Any) -> list[str]:
    """The pieces of text of a run, for every kind of caller."""
    events = run.stream()
    if isinstance(run, Run):
        with events:
            return list(events.text)
    async with events:
        return [piece async for piece in events.text]


def call(name: str, arguments: str = "{}", call_id: str = "c1", **fields: Any) -> FunctionCall:
    return FunctionCall(call_id=call_id, name=name, arguments=arguments, **fields)


def says(*output: Any, why: str | None = None, **fields: Any) -> Response:
    """A response with these items, or with a text; incomplete where a reason is given."""
    items = [
        Message(role="assistant", status="completed", content=[OutputText(text=item, annotations=[])])
        if isinstance(item, str)
        else item
        for item in output
    ]
    details = {"incomplete_details": IncompleteDetails(reason=why)} if why else {}
    return Response(id="resp", status="incomplete" if why else "completed", output=items, **details, **fields)


class Model:
    """Answers with what it was given, one after the other, and remembers what it was asked."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def seen(self) -> list[Any]:
        """The input of the last request."""
        found: Any = self.asked[-1].input
        return found


def new_run(
    way: str,
    model: Any,
    tools: Iterable[Any] = (),
    *,
    state: RunState | None = None,
    executor: Any = None,
    **options: Any,
) -> Any:
    """A run with this model, for a caller of this way."""
    limits = {name: options.pop(name) for name in Limits.__struct_fields__ if name in options}
    if state is None:
        request = options.pop("request", Request())
        said = Message(role="user", content="go")
        state = RunState(id="run", request=request, items=[said], limits=Limits(**limits))
    engine = partial(
        Engine,
        ThreadShell() if way == "sync" else TaskShell(),
        state,
        Toolbox(tools, executor),
        model,
        options.pop("stream", None),
        options.pop("on_event", ()),
        options.pop("approve", None),
        options.pop("hang_up", None),
        **{name: options.pop(name) for name in ("deps",) if name in options},
    )
    assert not options
    return (Run if way == "sync" else AsyncRun)(engine, lambda state, answers: state.response)
