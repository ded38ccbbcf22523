"""What a type checker sees of the tool loop. Checked by `make check`, never run."""

from __future__ import annotations

from typing import assert_type

from llm_rest import (
    AnyLoopEvent,
    AsyncClient,
    AsyncRun,
    CallCompleted,
    CallExecuting,
    CallFailed,
    Client,
    IterationStart,
    LLMResponse,
    NonblockingError,
    NonblockingResponse,
    NonblockingResult,
    Reply,
    Response,
    ResultArrived,
    Run,
    RunEnd,
    RunState,
    Timeouts,
    ToolCall,
    tool,
)
from llm_rest.responses import AnyEvent


@tool
def weather(city: str) -> str:
    return city


def a_run_of_a_sync_client(llm: Client) -> None:
    run = llm.run("Hi", [weather], max_iterations=3, temperature=0.5, timeout=60, use_previous_response_id=True)
    llm.run("Hi", [weather], timeout=Timeouts(read=5, stall=60))
    assert_type(run, Run[Reply])
    assert_type(run.result(), Reply)
    assert_type(run.state, RunState)
    assert_type(run.calls, list[ToolCall])
    assert_type(run.pending_calls, list[ToolCall])
    run.submit_output("call_1", {"degrees": 4})
    assert_type(llm.generate_with_tools("Hi", [weather]), Reply)
    with run.events() as events:
        for event in events:
            assert_type(event, AnyLoopEvent)
    with run.stream() as pieces:
        for piece in pieces:
            assert_type(piece, AnyLoopEvent | AnyEvent)


async def a_run_of_an_async_client(llm: AsyncClient) -> None:
    run = llm.run("Hi", [weather], on_event=[print])
    assert_type(run, AsyncRun[Reply])
    assert_type(await run.result(), Reply)
    assert_type(await llm.generate_with_tools("Hi", [weather]), Reply)


def every_event_says_what_it_is_about(event: AnyLoopEvent) -> ToolCall | Response | None:
    match event:
        case IterationStart() | NonblockingError() | RunEnd():
            return None
        case LLMResponse() | NonblockingResponse():
            return event.response
        case CallExecuting() | CallCompleted() | CallFailed() | ResultArrived():
            return event.call
        case NonblockingResult():
            return event.call
