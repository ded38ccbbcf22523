"""Runs of sync and async clients on a fake model, and reading their results and events alike."""

from __future__ import annotations

from typing import Any

from llm_rest import Run
from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    IncompleteDetails,
    Message,
    OutputText,
    Response,
)
from llm_rest.testing import FakeModel
from tests.callers import AwaitedStream


async def result(run: Any) -> Any:
    """The result of a run of either kind of client."""
    return run.result() if isinstance(run, Run) else await run.result()


def opened(run: Any, how: str = "events") -> Any:
    """The events of a run, or its stream, for `async with`."""
    found = getattr(run, how)()
    return AwaitedStream(found) if isinstance(run, Run) else found


async def watched(run: Any, *, streams: bool = False) -> list[Any]:
    """All events of a run."""
    async with opened(run, "stream" if streams else "events") as events:
        return [event async for event in events]


async def streamed_text(run: Any) -> list[str]:
    """The pieces of text of a run."""
    async with opened(run, "stream") as stream:
        return [piece async for piece in stream.text]


def call(name: str, arguments: str = "{}", call_id: str = "c1", **fields: Any) -> FunctionCall:
    return FunctionCall(call_id=call_id, name=name, arguments=arguments, **fields)


def says(*output: Any, why: str | None = None) -> Response:
    """An answer with these items and texts; incomplete where a reason is given."""
    items = [
        Message(role="assistant", status="completed", content=[OutputText(text=item, annotations=[])])
        if isinstance(item, str)
        else item
        for item in output
    ]
    details = IncompleteDetails(reason=why) if why else None
    return Response(id="resp", status="incomplete" if why else "completed", output=items, incomplete_details=details)


def new_run(way: str, answers: FakeModel | list[Any], tools: Any = (), input: Any = "go", **options: Any) -> Any:
    """A run of a client of this kind, with these answers of the model."""
    model = answers if isinstance(answers, FakeModel) else FakeModel(answers)
    client = model.client(retry=1) if way == "sync" else model.async_client(retry=1)
    return client.run(None if "state" in options else input, tools, **options)


def outputs(run: Any) -> list[Any]:
    """The outputs of the function calls of a run, in their order."""
    return [item.output for item in run.state.items if isinstance(item, FunctionCallOutput)]
