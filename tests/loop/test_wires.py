"""Runs from end to end: every wire, whole answers and streams, every kind of caller, against the simulator."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import msgspec
import pytest
from pytest_httpx import HTTPXMock

from llm_rest import (
    MCP,
    APITimeoutError,
    AsyncClient,
    CallCancelledError,
    Client,
    ConfigError,
    Reply,
    StreamInterruptedError,
    Timeouts,
    ToolArgumentsError,
    ToolContext,
    ToolRegistry,
    image,
    tool,
    wires,
)
from llm_rest.responses import Request
from llm_rest.responses.request import items_of
from llm_rest.simulator import handle
from llm_rest.testing import FakeModel, ToolCall
from tests.loop.support import opened, outputs, result, watched
from tests.loopback import loopback, send_and_stall

pytestmark = pytest.mark.anyio


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"4 degrees in {city}"


@tool(blocking=False)
def report(city: str, context: ToolContext) -> str:
    """A long report, which is ready once the model was asked again."""
    while context.run.state.iteration < 2:
        time.sleep(0.001)
    return f"All about {city}"


class Airline(msgspec.Struct):
    name: str


@tool(needs_approval=True)
def fly(city: str, context: ToolContext[Airline]) -> str:
    """Book a flight with the airline of the run."""
    return f"{context.deps.name} flies to {city}"


@tool(needs_approval=True, on_resume="restart")
def book(city: str) -> str:
    """Book a flight."""
    return f"A seat to {city}"


def noted(ran: list[str], text: str) -> None:
    ran.append(text)


SCRIPT = """\
reason Two cities, and a report on the side.
call get_weather {"city": "Oslo"}
call report {"city": "Oslo"}
call get_weather {"city": "Bergen"}
reason The report is not here yet.
say Cold in both.
then
say And there is the report.
"""


def client(way: str, wire: str = "openai_responses", **options: Any) -> Any:
    # Nothing may be lost on the way: every request of a run is one that the wire carries whole.
    options = {"on_loss": "raise", "retry": 1, **options}
    return (Client if way == "sync" else AsyncClient)("simulator/any", wire=wire, **options)


each_wire = pytest.mark.parametrize("wire", wires.NAMES)
whole_and_streamed = pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])


@whole_and_streamed
@each_wire
async def test_a_run_with_blocking_and_background_tools(way: str, wire: str, streams: bool) -> None:
    run = client(way, wire).run(SCRIPT, [get_weather, report])
    events = await watched(run, streams=streams)
    answer = await result(run)
    assert isinstance(answer, Reply)
    assert answer.output_text == "And there is the report."
    assert outputs(run)[0::2] == ["4 degrees in Oslo", "4 degrees in Bergen"]
    assert str(run.state.items).count("All about Oslo") == 1
    kinds = {"tool:completed", "result:arrived", "nonblocking:result", "nonblocking:llm_response"}
    assert kinds <= {event.type for event in events}
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == ("Cold in both.And there is the report." if streams else "")
    known = answer.info.metadata
    assert (known["api_calls"], known["tool_rounds"], known["provider"]) == ("3", "1", "simulator")
    assert int(known["total_tokens"]) == int(known["input_tokens"]) + int(known["output_tokens"]) > 100


@each_wire
async def test_a_waiting_run_is_saved_and_resumed_on_any_wire(way: str, wire: str) -> None:
    """What the vendor signed survives the file. BUGS 11"""
    llm = client(way, wire)
    run = llm.run('reason Shall I?\ncall book {"city": "Oslo"}\nsay Booked.', [book], reasoning={"effort": "high"})
    await result(run)
    assert [call.name for call in run.pending_calls] == ["book"]
    again = llm.run(state=msgspec.json.encode(run.state), tools=[book], model="simulator/second")
    again.approve(again.pending_calls[0].call_id)
    answer = await result(again)
    assert (answer.output_text, answer.info.metadata["model"]) == ("Booked.", "second")
    assert (again.state.request.model, again.state.totals.api_calls) == ("simulator/second", 2)


async def test_deps_are_not_saved_and_are_given_again_to_resume_a_run(way: str) -> None:
    llm = client(way)
    asked = 'call fly {"city": "Oslo"}\nsay Done.'
    with pytest.raises(ConfigError, match="'fly' needs deps, and this run has none"):
        llm.run(asked, [fly])
    run = llm.run(asked, [fly], deps=Airline("Widerøe"))
    await result(run)
    saved = msgspec.json.encode(run.state)
    assert "Widerøe" not in saved.decode()
    with pytest.raises(ConfigError, match="not saved with a run, so give them again"):
        llm.run(state=saved, tools=[fly])
    run = llm.run(state=saved, tools=[fly], deps=Airline("Norwegian"))
    run.approve(run.pending_calls[0].call_id)
    await result(run)
    assert run.calls[0].output == "Norwegian flies to Oslo"
    found: Any = llm.generate_with_tools(asked, [fly], deps=Airline("SAS"), approve=lambda asked: True)
    assert (found if way == "sync" else await found).output_text == "Done."


async def test_a_conversation_stored_at_one_vendor_is_not_resumed_at_another(way: str) -> None:
    llm = client(way)
    run = llm.run('call book {"city": "Oslo"}\nsay Booked.', [book], use_previous_response_id=True)
    await result(run)
    with pytest.raises(ConfigError, match="the conversation of this run is stored at simulator") as caught:
        llm.run(state=run.state, tools=[book], model="openai/gpt-4.1")
    assert "use_previous_response_id=False" in str(caught.value)
    llm.run(state=run.state, tools=[book], model="openai/gpt-4.1", use_previous_response_id=False)


def test_a_state_is_resumed_from_plain_data_and_from_nothing_else() -> None:
    with client("sync") as llm:
        run = llm.run("say Hello.", [get_weather])
        run.result()
        data = msgspec.to_builtins(run.state)
        assert llm.run(None, [get_weather], state=data).state.items == run.state.items
        with pytest.raises(ConfigError, match="not a int"):
            llm.run(None, [get_weather], state=5)
        with pytest.raises(ConfigError, match="state= brings its own input"):
            llm.run("Hi", [get_weather], state=run.state)


@whole_and_streamed
@each_wire
async def test_the_problems_of_invalid_calls_reach_the_model_on_every_wire(way: str, wire: str, streams: bool) -> None:
    """On a wire without a mark for a failed call the output reports the failure as text. BUGS 38"""
    run = client(way, wire).run('call get_weather {"city": 5, "x": 1}\ncall get_wether {', [get_weather])
    await watched(run, streams=streams)
    text = (await result(run)).output_text
    assert "The call was not run:\n1. $.city: expected a string, got 5\n2. $.x: not a property here" in text
    assert "The call was not run:\n1. there is no tool called 'get_wether'; did you mean get_weather?" in text
    assert [(call.state, call.runs, len(call.problems)) for call in run.calls] == [("failed", 0, 2), ("failed", 0, 1)]


@whole_and_streamed
@each_wire
async def test_a_call_that_the_token_limit_cut_never_runs(way: str, wire: str, streams: bool) -> None:
    """BUGS 28 and 44"""
    ran: list[str] = []
    llm = client(way, wire, on_loss="ignore")
    run = llm.run('call note {"text": "a long text"}\nlength', [tool(name="note")(partial(noted, ran))])
    await watched(run, streams=streams)
    assert (ran, (await result(run)).stop_reason) == ([], "max_output_tokens")
    assert [call.state for call in run.calls] == ["cancelled"]
    assert {*outputs(run)} == {"not run: the answer was cut (max_output_tokens)"}


@each_wire
async def test_a_stream_that_is_cut_in_a_call_ends_the_run(way: str, wire: str) -> None:
    """BUGS 28"""
    ran: list[str] = []
    script = 'say Wait.\ncall note {"text": "a long text"}\nbreak'
    run = client(way, wire).run(script, [tool(name="note")(partial(noted, ran))])
    await watched(run, streams=True)
    with pytest.raises(StreamInterruptedError) as caught:
        await result(run)
    assert (ran, run.calls, caught.value.run.outcome) == ([], [], "failed")


class Trip(msgspec.Struct):
    city: str
    days: int


@each_wire
async def test_a_run_may_end_in_a_value_of_a_type(way: str, wire: str) -> None:
    """Only the last answer has to be one."""
    script = 'call get_weather {"city": "Oslo"}\njson {"city": "Oslo", "days": 3}'
    run = client(way, wire, on_loss="ignore").run(script, [get_weather], output=Trip)
    assert (await result(run)).parsed == Trip("Oslo", 3)
    assert await watched(run, streams=True) == []
    assert run.calls[0].state == "completed"


@each_wire
def test_an_answer_of_the_wrong_type_stays_before_the_call_that_corrects_it(wire: str) -> None:
    run = client("sync", wire, on_loss="ignore").run(
        'json {"days": "q"}', [get_weather], output=Trip, strategy="native"
    )
    assert isinstance(run.result().parsed, Trip)
    kinds = [getattr(item, "role", None) or item.type for item in run.state.items]
    assert [kind for kind in kinds if kind != "reasoning"] == [
        "user",
        "assistant",
        "user",
        "function_call",
        "function_call_output",
        "assistant",
    ]


@each_wire
def test_the_model_sees_an_image_of_a_tool_where_the_wire_has_them(wire: str) -> None:
    shows = tool(name="shows")(lambda: ["a dot", image(b"\x89PNG\r\n\x1a\n" + bytes(24))])
    with client("sync", wire, on_loss="ignore") as llm:
        text = llm.generate_with_tools("call shows", [shows]).output_text
    # Outputs of tools are text in Chat Completions.
    assert text == "shows said: a dot" + ("" if wire == "openai_chat" else "\n[image]")


# --- what is sent ---------------------------------------------------------------------------------------------------


VENDORS = {
    "openai_responses": ("openai/gpt-5.2", "input"),
    "openai_chat": ("openai/gpt-5.2", "messages"),
    "anthropic_messages": ("anthropic/claude-haiku-4-5", "messages"),
    "gemini_generate_content": ("google/gemini-2.5-flash", "contents"),
    "ollama_chat": ("ollama/qwen3", "messages"),
}
"""A vendor of each wire, and the field of the conversation."""


@each_wire
def test_every_request_of_a_run_begins_with_the_one_before(wire: str, httpx_mock: HTTPXMock) -> None:
    """Vendors' prompt caches depend on it. BUGS 81"""

    def simulated(request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        status, headers, body = handle(request.method, path, dict(request.headers), request.content)
        return httpx.Response(status, headers=headers, content=body)

    httpx_mock.add_callback(simulated, is_reusable=True)
    model, conversation = VENDORS[wire]
    with Client(model, wire=wire, on_loss="raise", api_key="any") as llm:
        llm.run(SCRIPT, [get_weather, report]).result()
    bodies = [json.loads(request.content) for request in httpx_mock.get_requests()]
    assert len(bodies) == 3
    for before, after in itertools.pairwise(bodies):
        earlier, later = before.pop(conversation), after[conversation]
        if wire == "anthropic_messages":  # where the user's turn may go on
            *earlier, last = earlier
            assert later[len(earlier)]["content"][: len(last["content"])] == last["content"] or isinstance(
                last["content"], str
            )
        assert later[: len(earlier)] == earlier
        assert {name: value for name, value in after.items() if name != conversation} == before


async def test_a_run_that_is_closed_before_the_model_answers_leaves_nothing_open(way: str) -> None:
    """Nothing would close it later but the garbage collector, and trio warns of that."""
    async with opened(client(way).run("say Hi.", [get_weather]), "stream") as stream:
        assert (await anext(stream)).type == "iteration:start"
    gc.collect()


def fake(way: str, model: FakeModel, **options: Any) -> Any:
    return (model.client if way == "sync" else model.async_client)("openai/gpt-5.2", **options)


async def test_the_vendor_stores_nothing_by_default(way: str) -> None:
    model = FakeModel([ToolCall("get_weather", {"city": "Oslo"}), "Cold"] * 2)
    for chain in (False, True):
        await result(fake(way, model).run("Weather?", [get_weather], use_previous_response_id=chain))
    first, second, chained, more = model.requests
    assert (first.store, first.include, second.store) == (False, ["reasoning.encrypted_content"], False)
    assert (len(items_of(second)), second.previous_response_id) == (3, None)
    assert (chained.store, more.store) == (True, True)
    assert more.previous_response_id
    assert [item.type for item in items_of(more)] == ["function_call_output"]


async def test_the_defaults_of_a_client_hold_for_its_runs(way: str) -> None:
    model = FakeModel([ToolCall("get_weather", {"city": "Oslo"}), "Cold"])
    run = fake(way, model).with_options(tools=[get_weather], tool_choice="required").run("Weather?")
    await result(run)
    first, second = model.requests
    assert run.calls[0].output == "4 degrees in Oslo"
    assert (first.tool_choice, second.tool_choice) == ("required", None), "else it would never end"
    assert first.tools == second.tools


def test_default_tools_and_repairs_can_be_replaced() -> None:
    with client("sync", defaults={"tools": [get_weather], "max_repairs": 0}) as llm:
        assert not llm.run("say Hi.", []).result().tools
        assert llm.run("say Hi.", None).result().tools == [get_weather.definition], "None is not given"
        with pytest.raises(ToolArgumentsError):
            llm.generate_with_tools("call get_weather {\nsay Hi.", [get_weather])


WEATHER = 'call get_weather {"city": "Oslo"}\nsay Cold.'


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        (Request(input=WEATHER, tools=[get_weather.definition]), {"executor": ToolRegistry(get_weather)}),
        (WEATHER, {"executor": ToolRegistry(get_weather)}),
        (WEATHER, {"tools": get_weather}),
        (WEATHER, {"tools": ToolRegistry(get_weather)}),
    ],
    ids=["tools-of-a-request", "executor-alone", "one-tool", "registry"],
)
def test_tools_are_given_as_a_tool_a_registry_a_request_or_an_executor(asked: Any, options: Any) -> None:
    with client("sync") as llm:
        run = llm.run(asked, **options)
        assert (run.result().output_text, run.calls[0].output) == ("Cold.", "4 degrees in Oslo")


async def hook(event: Any) -> None: ...


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_iteration": 3}, "there is no option"),
        ({"stream": True}, "there is no option"),
        ({"max_iterations": 0}, "max_iterations: Expected"),
        ({"max_iterations": True}, "max_iterations: Expected"),
        ({"timeout": -1}, "timeout: Expected"),
        ({"tool_timeout": "soon"}, "tool_timeout: Expected"),
        *[({"max_tool_threads": number}, "max_tool_threads") for number in (0, -1, None, "many")],
        ({"approve": "yes"}, "approve"),
        ({"executor": print}, "executor"),
        ({"executor": ToolRegistry}, "executor"),
        ({"on_event": hook}, r"event hooks are not awaited .*run\.events"),
    ],
    ids=str,
)
def test_an_invalid_option_is_refused(options: dict[str, Any], words: str) -> None:
    with client("sync") as llm, pytest.raises(ConfigError, match=words):
        llm.run("Hi", [get_weather], **options)


@pytest.mark.parametrize("wire", [name for name in wires.NAMES if name != "openai_responses"])
def test_chaining_is_refused_on_a_wire_without_earlier_responses(wire: str) -> None:
    with client("sync", wire) as llm, pytest.raises(ConfigError, match=r"use_previous_response_id=True: .*without it"):
        llm.run("call get_weather", [get_weather], use_previous_response_id=True)


async def test_a_malformed_call_is_repaired_and_lists_its_repairs(way: str, httpx_mock: HTTPXMock) -> None:
    flat = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    for message, reason in (({"tool_calls": [flat]}, "tool_calls"), ({"content": "Cold"}, "stop")):
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
        httpx_mock.add_response(json={"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]})
    llm: Any = (Client if way == "sync" else AsyncClient)("groq/m", api_key="sk-test-0123456789", on_loss="ignore")
    run = llm.run("Weather?", [get_weather])
    assert (await result(run)).output_text == "Cold"
    assert run.calls[0].state == "completed"
    assert run.calls[0].repairs == [
        "it had no id",
        "it had no type, read as a function",
        "name and arguments stood beside the id",
        "its arguments were an object instead of text",
    ]


# --- threads and cancellation ---------------------------------------------------------------------------------------


def test_no_secret_is_part_of_a_saved_run() -> None:
    with client("sync") as llm:
        docs = MCP("docs", "https://example.com/mcp", headers={"Authorization": "Bearer hush-hush"})
        run = llm.run("say Hi.", [get_weather, docs], user_token="tok-hush", extra_headers={"x-secret": "hush"})
        run.result()
    assert b"hush" not in msgspec.json.encode(run.state)


def test_twenty_threads_run_tools_with_one_client_and_leave_none_behind() -> None:
    """BUGS 72"""
    before = threading.active_count()
    found: list[str] = []
    with client("sync", "openai_chat") as llm:

        def one(n: int) -> None:
            script = f'call get_weather {{"city": "Oslo {n}"}}'
            found.append(llm.run(script, [get_weather]).result().output_text)

        threads = [threading.Thread(target=one, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == sorted(f"get_weather said: 4 degrees in Oslo {n}" for n in range(20))
    assert threading.active_count() <= before + 1  # the last one may be on its way out


def until(true: Callable[[], Any]) -> None:
    """Return as soon as it is."""
    for _ in range(10_000):
        if true():
            return
        time.sleep(0.001)
    pytest.fail("it never was")


def test_control_c_ends_a_run() -> None:
    release = threading.Event()

    def interrupts() -> str:
        os.kill(os.getpid(), signal.SIGINT)  # to the process, as a terminal does
        return str(release.wait(10))

    with client("sync") as llm:
        run = llm.run("call interrupts", [interrupts])
        with pytest.raises(KeyboardInterrupt):
            run.result()
    release.set()
    assert (run.state.outcome, run.calls[0].state) == ("cancelled", "cancelled")


async def closed(llm: Any) -> None:
    llm.close() if isinstance(llm, Client) else await llm.aclose()


def silent_client(way: str, url: str) -> Any:
    return (Client if way == "sync" else AsyncClient)("compatible/m", base_url=url, api_key="any", retry=1)


@pytest.mark.parametrize("whose", ["run", "client"])
@whole_and_streamed
async def test_cancelling_ends_the_model_call_in_flight(way: str, whose: str, streams: bool) -> None:
    """The call is not left to run until the server answers."""
    with loopback(send_and_stall()) as server:
        llm = silent_client(way, server.url)
        run = llm.run("Hi", [get_weather])

        def cancel() -> None:
            until(lambda: server.heads)
            (run if whose == "run" else llm).cancel()

        before = threading.active_count()
        threading.Thread(target=cancel).start()
        await watched(run, streams=streams)
        with pytest.raises(CallCancelledError):
            await result(run)
        assert server.left.wait(10), "the connection is closed"
        until(lambda: way != "sync" or threading.active_count() <= before)
        await closed(llm)


@pytest.mark.parametrize(
    ("limit", "phase", "outcome"),
    [(0.2, "total", "timeout"), (Timeouts(first_byte=0.2), "first_byte", "failed")],
    ids=["seconds", "timeouts"],
)
async def test_seconds_limit_a_run_and_timeouts_each_of_its_model_calls(
    way: str, limit: Any, phase: str, outcome: str
) -> None:
    with loopback(send_and_stall()) as server:
        llm = silent_client(way, server.url)
        with pytest.raises(APITimeoutError) as caught:
            await result(llm.run("Hi", [get_weather], timeout=limit))
        assert (caught.value.phase, caught.value.run.outcome) == (phase, outcome)
        await closed(llm)


async def test_cancelling_all_that_a_client_does_ends_its_runs_while_their_tools_run(way: str) -> None:
    release = threading.Event()
    llm = client(way)

    @tool
    def waits() -> str:
        llm.cancel()
        return str(release.wait(10))

    run = llm.run("call waits\nsay Done.", [waits])
    with pytest.raises(CallCancelledError):
        await result(run)
    release.set()
    assert [call.state for call in run.calls] == ["cancelled"]
