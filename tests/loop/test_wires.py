"""The loop from end to end: every wire, whole answers and streams, every kind of caller, against the simulator."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import msgspec
import pytest
from pytest_httpx import HTTPXMock

from llm_rest import (
    APITimeoutError,
    AsyncClient,
    CallCancelledError,
    Client,
    ConfigError,
    OverloadedError,
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
from llm_rest.responses import FunctionCallOutput, Request
from llm_rest.simulator import handle
from tests.callers import answer
from tests.loop.support import result, streamed_text, watched
from tests.loopback import loopback
from tests.loopback import watched as silent

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


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
    """Fly with whoever there is."""
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


def client(way: str, wire: str, **options: Any) -> Any:
    # Nothing may be lost on the way: every request of a run is one that the wire carries whole.
    return (Client if way == "sync" else AsyncClient)("simulator/any", wire=wire, on_loss="raise", retry=1, **options)


async def closed(llm: Any) -> None:
    if isinstance(llm, Client):
        llm.close()
    else:
        await llm.aclose()


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", wires.NAMES)
async def test_a_run_with_calls_of_both_kinds_comes_to_its_end(way: str, wire: str, streams: bool) -> None:
    llm = client(way, wire)
    run = llm.run(SCRIPT, [get_weather, report])
    told = [type(event).__struct_config__.tag for event in await watched(run, streams=streams)]
    answer = await result(run)
    await closed(llm)
    assert isinstance(answer, Reply)
    assert answer.output_text == "And there is the report."
    outputs = [item.output for item in run.state.items if isinstance(item, FunctionCallOutput)]
    assert outputs[0::2] == ["4 degrees in Oslo", "4 degrees in Bergen"]
    assert str(run.state.items).count("All about Oslo") == 1
    assert {"tool:completed", "result:arrived", "nonblocking:result", "nonblocking:llm_response"} <= set(told)
    assert ("response.output_text.delta" in told) is streams
    known = answer.info.metadata
    assert (known["api_calls"], known["tool_rounds"], known["provider"]) == ("3", "1", "simulator")
    assert int(known["total_tokens"]) == int(known["input_tokens"]) + int(known["output_tokens"]) > 100


@pytest.mark.parametrize("wire", wires.NAMES)
async def test_the_text_of_a_run_is_streamed(way: str, wire: str) -> None:
    llm = client(way, wire)
    pieces = await streamed_text(llm.run(SCRIPT, [get_weather, report]))
    await closed(llm)
    assert "".join(pieces) == "Cold in both.And there is the report."
    assert len(pieces) > 2


@pytest.mark.parametrize("wire", wires.NAMES)
async def test_a_run_that_waits_goes_on_in_another_process_on_any_wire(way: str, wire: str) -> None:
    """What the vendor signed survives the file. BUGS 11"""
    llm = client(way, wire)
    script = 'reason Shall I?\ncall book {"city": "Oslo"}\nsay Booked.'
    run = llm.run(script, [book], reasoning={"effort": "high"})
    await result(run)
    assert [call.name for call in run.pending_calls] == ["book"]
    saved = msgspec.json.encode(run.state)
    again = llm.run(state=saved, tools=[book])
    again.approve(again.pending_calls[0].call_id)
    assert (await result(again)).output_text == "Booked."
    assert again.state.totals.api_calls == 2
    await closed(llm)


async def test_deps_are_not_saved_and_are_given_again_to_resume_a_run(way: str) -> None:
    llm = client(way, "openai_responses")
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
    reply = await answered(llm, asked, [fly], deps=Airline("SAS"), approve=lambda asked: True)
    assert reply.output_text == "Done."
    await closed(llm)


async def answered(llm: Any, *args: Any, **options: Any) -> Reply:
    found: Any = llm.generate_with_tools(*args, **options)
    return found if isinstance(llm, Client) else await found


async def test_a_saved_run_is_resumed_with_another_model(way: str) -> None:
    llm = client(way, "openai_responses")
    run = llm.run('call book {"city": "Oslo"}\nsay Booked.', [book], model="simulator/first")
    await result(run)
    saved = msgspec.json.encode(run.state)
    again = llm.run(state=saved, tools=[book], model="simulator/second")
    again.approve(again.pending_calls[0].call_id)
    answer = await result(again)
    assert (answer.output_text, answer.info.metadata["model"]) == ("Booked.", "second")
    assert again.state.request.model == "simulator/second"
    await closed(llm)


async def test_a_conversation_stored_at_one_vendor_is_not_resumed_at_another(way: str) -> None:
    llm = client(way, "openai_responses")
    run = llm.run('call book {"city": "Oslo"}\nsay Booked.', [book], use_previous_response_id=True)
    await result(run)
    with pytest.raises(ConfigError, match="the conversation of this run is stored at simulator") as caught:
        llm.run(state=run.state, tools=[book], model="openai/gpt-4.1")
    assert "use_previous_response_id=False" in str(caught.value)
    llm.run(state=run.state, tools=[book], model="openai/gpt-4.1", use_previous_response_id=False)
    await closed(llm)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", wires.NAMES)
async def test_what_is_wrong_with_a_call_reaches_the_model_on_every_wire(way: str, wire: str, streams: bool) -> None:
    """A wire without a mark for a failed call loses nothing, as its output says so in words. BUGS 38"""
    llm = client(way, wire)
    run = llm.run('call get_weather {"city": 5}\ncall get_wether {', [get_weather])
    if streams:
        await watched(run, streams=True)
    text = (await result(run)).output_text
    await closed(llm)
    assert "The call was not run:\n1. $.city: expected a string, got 5" in text
    assert "there is no tool called 'get_wether'" in text
    assert [call.state for call in run.calls] == ["failed", "failed"]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", wires.NAMES)
async def test_a_call_that_the_token_limit_cut_never_runs(way: str, wire: str, streams: bool) -> None:
    """BUGS 28"""
    ran: list[str] = []
    llm = (Client if way == "sync" else AsyncClient)("simulator/any", wire=wire, on_loss="ignore")
    run = llm.run('call note {"text": "a long text"}\nlength', [tool(name="note")(partial(noted, ran))])
    await watched(run, streams=streams)
    cut = await result(run)
    await closed(llm)
    assert (ran, cut.stop_reason) == ([], "max_output_tokens")
    assert all(call.state == "cancelled" for call in run.calls)


@pytest.mark.parametrize("wire", wires.NAMES)
async def test_a_stream_that_is_cut_in_a_call_ends_the_run(way: str, wire: str) -> None:
    """BUGS 28"""
    ran: list[str] = []
    llm = client(way, wire)
    run = llm.run('say Wait.\ncall note {"text": "a long text"}\nbreak', [tool(name="note")(partial(noted, ran))])
    await watched(run, streams=True)
    with pytest.raises(StreamInterruptedError) as caught:
        await result(run)
    await closed(llm)
    assert (ran, run.calls, caught.value.run.outcome) == ([], [], "failed")


async def test_an_error_of_the_vendor_is_raised_as_it_is_and_names_the_run(way: str) -> None:
    llm = client(way, "openai_chat")
    run = llm.run('call get_weather {"city": "Oslo"}\nfail 529 Busy.', [get_weather])
    with pytest.raises(OverloadedError, match="Busy") as caught:
        await result(run)
    await closed(llm)
    assert caught.value.run.calls[0].state == "completed"
    assert [call.name for call in caught.value.partial.function_calls] == ["get_weather"], "the last answer there was"


async def test_tools_may_be_given_by_keyword_and_options_are_those_of_generate(way: str) -> None:
    llm = client(way, "openai_responses")
    run = llm.run(input="Weather?", tools=[get_weather], instructions="Be brief", max_output_tokens=500)
    await result(run)
    assert run.state.request.instructions == "Be brief"
    assert run.calls[0].name == "get_weather"
    for wrong in ({"max_iteration": 3}, {"stream": True}):
        with pytest.raises(ConfigError, match="there is no option"):
            llm.run("Hi", [], **wrong)
    for wrong in ({"max_iterations": 0}, {"timeout": -1}, {"tool_timeout": "soon"}, {"max_iterations": True}):
        with pytest.raises(ConfigError, match=f"{next(iter(wrong))}: Expected"):
            llm.run("Hi", [], **wrong)
    with pytest.raises(ConfigError, match="state= brings its own input"):
        llm.run("Hi", [get_weather], state=run.state)
    await closed(llm)


class Trip(msgspec.Struct):
    city: str
    days: int


@pytest.mark.parametrize("wire", wires.NAMES)
async def test_a_run_may_end_in_a_value_of_a_type(way: str, wire: str) -> None:
    """Only the last answer is held to it; one that does not fit is asked for again."""
    script = 'call get_weather {"city": "Oslo"}\njson {"city": "Oslo", "days": 3}'
    llm = (Client if way == "sync" else AsyncClient)("simulator/any", wire=wire, on_loss="ignore")
    run = llm.run(script, [get_weather], output=Trip)
    reply = await result(run)
    assert reply.parsed == Trip("Oslo", 3)
    assert await watched(run, streams=True) == []
    assert run.calls[0].state == "completed"
    await closed(llm)


async def test_an_image_a_tool_gives_is_seen(way: str) -> None:
    llm = client(way, "openai_responses")
    shows = tool(name="shows")(lambda: ["a dot", image(b"\x89PNG\r\n\x1a\n" + bytes(24))])
    text = (await result(llm.run("call shows", [shows]))).output_text
    await closed(llm)
    assert text == "shows said: a dot\n[image]"


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_run_goes_on_after_an_image_on_every_wire(wire: str) -> None:
    shows = tool(name="shows")(lambda: ["a dot", image(b"\x89PNG\r\n\x1a\n" + bytes(24))])
    with Client("simulator/any", wire=wire, on_loss="ignore") as llm:
        assert llm.generate_with_tools("call shows\nsay A dot.", [shows]).output_text == "A dot."


# --- the very bytes -------------------------------------------------------------------------------------------------


def seen(bodies: list[Any]) -> Any:
    """An `httpx` client that answers as the simulator does and notes what it was asked."""

    def serve(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        status, headers, body = handle(
            request.method, request.url.raw_path.decode(), dict(request.headers), request.content
        )
        return httpx.Response(status, headers=headers, content=body)

    return httpx.Client(transport=httpx.MockTransport(serve))


VENDORS = {
    "openai_responses": ("openai/gpt-5.2", "input"),
    "openai_chat": ("openai/gpt-5.2", "messages"),
    "anthropic_messages": ("anthropic/claude-haiku-4-5", "messages"),
    "gemini_generate_content": ("google/gemini-2.5-flash", "contents"),
    "ollama_chat": ("ollama/qwen3", "messages"),
}
"""Who speaks a wire, and where it holds the conversation."""


@pytest.mark.parametrize("wire", wires.NAMES)
def test_every_request_of_a_run_begins_with_the_one_before(wire: str) -> None:
    """Vendors' prompt caches depend on it. BUGS 81"""
    bodies: list[Any] = []
    model, conversation = VENDORS[wire]
    with seen(bodies) as http, Client(model, wire=wire, http=http, on_loss="raise", api_key="any") as llm:
        llm.run(SCRIPT, [get_weather, report]).result()
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


async def test_a_run_that_is_left_before_the_model_answers_leaves_nothing_open(way: str) -> None:
    """Nothing would close it later but the garbage collector, and trio warns of that."""
    client: Any = (Client if way == "sync" else AsyncClient)("simulator/any")
    stream = client.run("say Hi.", [get_weather]).stream()
    if way == "sync":
        with stream:
            assert next(stream).type == "iteration:start"
    else:
        async with stream:
            assert (await anext(stream)).type == "iteration:start"
    await closed(client)
    gc.collect()


async def test_nothing_is_kept_by_the_vendor_unless_asked(way: str, httpx_mock: HTTPXMock) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city":"Oslo"}'}
    for _ in range(2):
        httpx_mock.add_response(json=answer(id="resp_1", output=[call]))
        httpx_mock.add_response(json=answer("Cold", id="resp_2"))
    llm = (Client if way == "sync" else AsyncClient)("openai/gpt-5.2", api_key="sk-test-0123456789")
    for chain in (False, True):
        await result(llm.run("Weather?", [get_weather], use_previous_response_id=chain))
    await closed(llm)
    first, second, chained, more = (json.loads(request.content) for request in httpx_mock.get_requests())
    assert (first["store"], first["include"]) == (False, ["reasoning.encrypted_content"])
    assert (second["store"], len(second["input"]), "previous_response_id" in second) == (False, 3, False)
    assert (chained["store"], more["store"]) == (True, True)
    assert more["previous_response_id"] == "resp_1"
    assert [item["type"] for item in more["input"]] == ["function_call_output"]


async def test_the_defaults_of_a_client_hold_for_its_runs(way: str, httpx_mock: HTTPXMock) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city":"Oslo"}'}
    httpx_mock.add_response(json=answer(id="resp_1", output=[call]))
    httpx_mock.add_response(json=answer("Cold", id="resp_2"))
    defaults = {"tools": [get_weather], "tool_choice": "required"}
    llm: Any = (Client if way == "sync" else AsyncClient)("openai/gpt-5.2", api_key="sk-test-0123456789")
    run = llm.with_options(**defaults).run("Weather?")
    await result(run)
    await closed(llm)
    first, second = (json.loads(request.content) for request in httpx_mock.get_requests())
    assert run.calls[0].output == "4 degrees in Oslo"
    assert (first["tool_choice"], "tool_choice" in second) == ("required", False), "else it would never end"
    assert first["tools"] == second["tools"]


def test_tools_by_default_can_be_taken_back() -> None:
    with Client("simulator/any", defaults={"tools": [get_weather]}) as llm:
        assert not llm.run("say Hi.", []).result().tools
        assert llm.run("say Hi.", None).result().tools == [get_weather.definition], "None is not given"


def test_a_whole_request_brings_its_tools_along() -> None:
    asked = Request(input='call get_weather {"city": "Oslo"}\nsay Cold.', tools=[get_weather.definition])
    with Client("simulator/any") as llm:
        run = llm.run(asked, executor=ToolRegistry(get_weather))
        assert (run.result().output_text, run.calls[0].output) == ("Cold.", "4 degrees in Oslo")


def test_the_default_number_of_repairs_holds_for_runs() -> None:
    with Client("simulator/any", defaults={"max_repairs": 0}) as llm, pytest.raises(ToolArgumentsError):
        llm.generate_with_tools("call get_weather {\nsay Hi.", [get_weather])


async def test_a_malformed_call_is_repaired_and_says_so(way: str, httpx_mock: HTTPXMock) -> None:
    flat = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    message = {"role": "assistant", "content": None, "tool_calls": [flat]}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    httpx_mock.add_response(
        json={**whole, "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    )
    said = {"role": "assistant", "content": "Cold"}
    httpx_mock.add_response(json={**whole, "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]})
    llm = (Client if way == "sync" else AsyncClient)("groq/m", api_key="sk-test-0123456789", on_loss="ignore")
    run = llm.run("Weather?", [get_weather])
    assert (await result(run)).output_text == "Cold"
    await closed(llm)
    assert run.calls[0].state == "completed"
    assert len(run.calls[0].repairs) >= 2
    assert "it had no id" in run.calls[0].repairs


# --- other processes, threads and loops -----------------------------------------------------------------------------

ELSEWHERE = """
import sys
from llm_rest import Client, tool

@tool(needs_approval=True)
def book(city: str) -> str:
    return f"A seat to {city}"

with Client("simulator/any", wire="anthropic_messages") as llm, open(sys.argv[1], "rb") as saved:
    run = llm.run(state=saved.read(), tools=[book])
    run.approve(run.pending_calls[0].call_id)
    print(run.result().output_text)
"""


def test_a_run_that_waits_is_taken_up_by_another_process(tmp_path: Path) -> None:
    with Client("simulator/any", wire="anthropic_messages") as llm:
        run = llm.run('reason Shall I?\ncall book {"city": "Oslo"}\nsay Booked.', [book])
        run.result()
    (tmp_path / "run.json").write_bytes(msgspec.json.encode(run.state))
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "run.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("Booked.\n", "")


def test_no_secret_is_part_of_a_saved_run() -> None:
    from llm_rest import MCP

    with Client("simulator/any", wire="openai_responses") as llm:
        docs = MCP("docs", "https://example.com/mcp", headers={"Authorization": "Bearer hush-hush"})
        run = llm.run("say Hi.", [get_weather, docs], user_token="tok-hush", extra_headers={"x-secret": "hush"})
        run.result()
    assert b"hush" not in msgspec.json.encode(run.state)


def test_twenty_threads_run_tools_with_one_client_and_leave_none_behind() -> None:
    """BUGS 72"""
    before = threading.active_count()
    found: list[str] = []
    with Client("simulator/any", wire="openai_chat", on_loss="raise") as llm:

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


async def test_a_sync_run_works_inside_a_running_loop_with_async_tools(way: str) -> None:
    """BUGS 72"""

    @tool
    async def nap() -> str:
        await anyio.lowlevel.checkpoint()
        return "rested"

    with Client("simulator/any") as llm:
        assert llm.generate_with_tools("call nap", [nap]).output_text == "nap said: rested"


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

    with Client("simulator/any") as llm:
        run = llm.run("call interrupts", [interrupts])
        with pytest.raises(KeyboardInterrupt):
            run.result()
    release.set()
    assert (run.state.outcome, run.calls[0].state) == ("cancelled", "cancelled")


# --- cancelling -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whose", ["run", "client"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_cancelling_ends_the_model_call_that_is_under_way(way: str, whose: str, streams: bool) -> None:
    """What nobody waits for any more is not left to run until the server answers."""
    with loopback(silent(b"")) as server:
        llm = (Client if way == "sync" else AsyncClient)("compatible/m", base_url=server.url, api_key="any", retry=1)
        run = llm.run("Hi", [get_weather])

        def cancel() -> None:
            until(lambda: server.heads)
            (run if whose == "run" else llm).cancel()

        before = threading.active_count()
        if way == "sync":
            threading.Thread(target=cancel).start()
            await watched(run, streams=streams)
        else:
            async with anyio.create_task_group() as group:

                async def cancel_in_loop() -> None:
                    await anyio.to_thread.run_sync(until, lambda: server.heads)
                    (run if whose == "run" else llm).cancel()

                group.start_soon(cancel_in_loop)
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
    with loopback(silent(b"")) as server:
        llm = (Client if way == "sync" else AsyncClient)("compatible/m", base_url=server.url, api_key="any", retry=1)
        with pytest.raises(APITimeoutError) as caught:
            await result(llm.run("Hi", [get_weather], timeout=limit))
        assert (caught.value.phase, caught.value.run.outcome) == (phase, outcome)
        await closed(llm)


async def test_cancelling_all_that_a_client_does_ends_its_runs_while_their_tools_run(way: str) -> None:
    heard: list[Any] = []
    release = threading.Event()

    @tool
    def waits() -> str:
        client.cancel()
        return str(release.wait(10))

    client: Any = (Client if way == "sync" else AsyncClient)("simulator/any")
    run = client.run("call waits\nsay Done.", [waits], on_event=heard.append)
    with pytest.raises(CallCancelledError):
        await result(run)
    release.set()
    assert [call.state for call in run.calls] == ["cancelled"]
    await closed(client)


@pytest.mark.parametrize("offered", [get_weather, ToolRegistry(get_weather)], ids=["tool", "registry"])
def test_one_tool_or_registry_needs_no_list_around_it(offered: Any) -> None:
    with Client("simulator/any") as llm:
        assert llm.generate_with_tools('call get_weather {"city": "Oslo"}\nsay Cold.', offered).output_text == "Cold."
        assert llm.generate_with_tools("say Hi.", None).output_text == "Hi."


def test_an_executor_alone_offers_what_it_names() -> None:
    with Client("simulator/any") as llm:
        run = llm.run('call get_weather {"city": "Oslo"}\nsay Cold.', executor=ToolRegistry(get_weather))
        assert (run.result().output_text, run.calls[0].state) == ("Cold.", "completed")


def test_a_listener_that_would_have_to_be_awaited_is_refused() -> None:
    async def hook(event: Any) -> None: ...

    with Client("simulator/any") as llm, pytest.raises(ConfigError, match=r"event hooks are not awaited .*run\.events"):
        llm.run("say Hi.", on_event=hook)


@pytest.mark.parametrize("name", [name for name in wires.NAMES if name != "openai_responses"])
def test_a_wire_without_earlier_responses_is_not_asked_to_chain(name: str) -> None:
    with (
        Client("simulator/any", wire=name) as llm,
        pytest.raises(ConfigError, match=r"use_previous_response_id=True: .*without it"),
    ):
        llm.run("call get_weather", [get_weather], use_previous_response_id=True)


@pytest.mark.parametrize("options", [{"approve": "yes"}, {"executor": print}, {"executor": ToolRegistry}])
def test_what_cannot_decide_or_run_is_refused_at_once(options: dict[str, Any]) -> None:
    with Client("simulator/any") as llm, pytest.raises(ConfigError):
        llm.run("say Hi.", [get_weather], **options)
