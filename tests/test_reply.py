"""A reply is a response with readers, and the info of its call that travels with it; and what a shell and a notebook show of
replies, clients, streams and runs: one line each that says what it is and what to look at, without secrets.
"""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from llm_rest import AsyncClient, Client, ContentGenerator, PromptContext, tool, wires
from llm_rest.client.reply import CallInfo, Reply, metadata, reply
from llm_rest.errors import Attempt, ConfigError, ToolArgumentsError
from llm_rest.loop import STATE
from llm_rest.losses import Loss
from llm_rest.responses import (
    FunctionCall,
    IncompleteDetails,
    Message,
    OutputText,
    Reasoning,
    ReasoningText,
    RefusalPart,
    Response,
    ResponseError,
    SummaryText,
    Usage,
)
from llm_rest.responses.response import RESPONSE
from llm_rest.unknown import Unknown, extras, with_extras
from tests.callers import NewClient
from tests.support import WIRES

pytestmark = pytest.mark.anyio

KEY = "sk-live-0123456789abcdef"
FACTS = {"provider": "openai", "model": "gpt-5", "total_tokens": "12", "api_calls": "1"}


INFO = CallInfo(
    losses=[Loss("seed", "gone", "dropped")],
    attempts=(Attempt(1.0, 2.0, "200"),),
    raw=b"{}",
    duration=2.0,
    metadata={"provider": "openai"},
)


def made(*output: Any, info: CallInfo | None = None, **fields: Any) -> Reply:
    response = Response(**{"id": "r", "status": "completed", "output": list(output), **fields})
    return reply(response, info or CallInfo(metadata=FACTS))


def said(*parts: Any, role: str = "assistant") -> Message:
    return Message(role=role, content=list(parts))


def refusal(text: str) -> Message:
    return said(RefusalPart(refusal=text))


def says(text: str) -> Message:
    return said(OutputText(text=text))


def calls(name: str, arguments: str = "{}") -> FunctionCall:
    return FunctionCall(call_id="c", name=name, arguments=arguments)


@tool(needs_approval=True)
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sun in {city}"


# --- readers --------------------------------------------------------------------------------------------------------


def test_the_text_is_that_of_all_messages_of_the_assistant() -> None:
    found = made(
        Reasoning(summary=[SummaryText(text="hm")]),
        said(OutputText(text="Hel"), RefusalPart(refusal="no"), Unknown(type="new")),
        Unknown(type="new"),
        Message(role="assistant", content="lo"),
        said(OutputText(text="never"), role="user"),
    )
    assert (found.output_text, made().output_text) == ("Hello", "")
    assert (found.refusal, made().refusal) == ("no", None)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"city": "Oslo", "days": [1, 2]}', {"city": "Oslo", "days": [1, 2]}),
        *((empty, {}) for empty in ("{}", "", " \n", "null")),
        ("[1]", r"weather: the arguments must be a JSON object, not \[1\]"),
        ('"Oslo"', "must be a JSON object"),
        ('{"city": "Os', "weather: the arguments are no valid JSON: they end too early"),
        ('{"city": Oslo}', "no valid JSON: .* at byte 9"),
        ("[" * 100_000, "nested deeper"),
    ],
    ids=range(10),
)
def test_the_arguments_of_a_call_are_a_dict_or_a_typed_error(arguments: str, value: Any) -> None:
    (call,) = made(calls("weather", arguments)).function_calls
    if isinstance(value, dict):
        assert call.parsed_arguments == value
    else:
        with pytest.raises(ToolArgumentsError, match=value):
            _ = call.parsed_arguments
    assert call.arguments == arguments


def test_the_reasoning_is_the_text_itself_else_its_summary() -> None:
    """BUGS 7."""
    found = made(
        Reasoning(summary=[SummaryText(text="short")], content=[ReasoningText(text="long")]),
        Reasoning(summary=[SummaryText(text="a"), SummaryText(text="b")]),
        Reasoning(encrypted_content="x"),
    )
    assert (found.reasoning_text, made().reasoning_text) == ("long\n\na\n\nb", "")


LIMITED = IncompleteDetails(reason="max_output_tokens")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (made(says("x")), "stop"),
        (made(calls("f")), "tool_calls"),
        (made(refusal("no")), "refusal"),
        (made(status="incomplete", incomplete_details=LIMITED), "max_output_tokens"),
        (made(status="incomplete"), "incomplete"),
        (made(status="queued"), "queued"),
    ],
)
def test_why_it_ends_is_one_word(found: Reply, reason: str) -> None:
    assert found.stop_reason == reason


# --- a response like any other --------------------------------------------------------------------------------------


def test_the_generation_is_never_encoded() -> None:
    found = made(says("x"))
    assert RESPONSE.decode(msgspec.json.encode(found)) == found
    assert b"info" not in msgspec.json.encode(found)
    assert "info" not in msgspec.to_builtins(found)
    assert "info" not in found.to_dict()


def test_equality_looks_at_the_response_only() -> None:
    found = made(says("x"))
    plain = Response(id="r", status="completed", output=[says("x")])
    assert found == plain
    assert plain == found
    assert found == reply(plain, CallInfo())
    assert found != made()
    assert not found != plain  # noqa: SIM202 - it is the operator that is tested
    assert found != "r"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize("unknown", [{}, {"brand_new": [1]}])
def test_copies_and_pickles_keep_the_generation(again: Callable[[Reply], Reply], unknown: dict[str, Any]) -> None:
    found = reply(with_extras(Response(id="r", status="completed", output=[]), unknown), INFO)
    twin = again(found)
    assert isinstance(twin, Reply)
    assert twin == found
    assert twin.info == INFO
    assert msgspec.structs.replace(twin, id="other").info == CallInfo()
    assert extras(twin) == extras(found) == unknown


@pytest.mark.parametrize(("usage", "total"), [(None, "0"), (Usage(input_tokens=7, output_tokens=3), "10")])
def test_counts_that_are_missing_are_zero_or_the_sum(usage: Usage | None, total: str) -> None:
    found = metadata(made(usage=usage), vendor="p", model="m", seconds=0.0126)
    assert (found["latency_ms"], found["total_tokens"]) == ("13", total)


# --- what is shown of a reply --------------------------------------------------------------------------------------

PARSED = CallInfo(metadata={**FACTS, "api_calls": "3"}, parsed=4, losses=[Loss("seed", "gone", "dropped")])
BARE = CallInfo()

REPLIES = [
    (made(says("Hi there.")), "from openai/gpt-5: completed, 'Hi there.', 12 tokens; see .output_text"),
    (
        made(calls("weather"), calls("time")),
        "from openai/gpt-5: completed, 2 calls: weather, time, 12 tokens; see .function_calls",
    ),
    (made(refusal("No.")), "from openai/gpt-5: completed, refusal 'No.', 12 tokens; see .refusal"),
    (
        made(status="incomplete", incomplete_details=LIMITED),
        "from openai/gpt-5: incomplete (max_output_tokens), 12 tokens; see .output .info",
    ),
    (
        made(status="failed", error=ResponseError(code="server_error", message="It broke.")),
        "from openai/gpt-5: failed (It broke.), 12 tokens; see .output .info",
    ),
    (
        made(says("4"), info=PARSED),
        "from openai/gpt-5: completed, '4', a int, 12 tokens, 3 model calls, 1 loss; see .output_text .parsed .info.losses",
    ),
    (
        made(says("Hi"), model="m", usage=Usage(input_tokens=1, output_tokens=2), info=BARE),
        "from m: completed, 'Hi', 3 tokens; see .output_text",
    ),
]


@pytest.mark.parametrize(("found", "line"), REPLIES, ids=range(len(REPLIES)))
def test_a_reply_is_one_line_that_says_how_it_ended_and_what_to_look_at(found: Reply, line: str) -> None:
    assert repr(found) == str(found) == f"<Reply {line}>"
    for name in line.rpartition("see ")[2].split():
        value: Any = found
        for step in name.split(".")[1:]:
            value = getattr(value, step)


@pytest.mark.parametrize("text", ["a" * 5000, "one\ntwo\r\n\x1b[31mthree", f"the key is {KEY}", "\ud800", "\u202eabc"])
def test_a_long_or_odd_text_stays_one_short_line_without_secrets(text: str) -> None:
    found = made(says(text), calls(text), refusal(text), model=text)
    assert len(repr(found)) < 400
    assert repr(found).isprintable()
    assert KEY not in repr(found)


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (made(says("# Title\n\ntext")), ["# Title\n\ntext"]),
        (made(says("Wait."), calls("weather", '{"city":"Oslo"}')), ["Wait.", "weather", '{"city":"Oslo"}']),
        (made(refusal("No.\nNever.")), ["RefusalError:", "No.\n> Never."]),
        (made(calls("write", '{"text":"```"}')), ['````json\n{"text":"```"}\n````']),
        (made(says("Hi"), status="cancelled", info=CallInfo(interrupted=True)), ["Hi", "[Request cancelled]"]),
        (made(status="failed", error=ResponseError(message="It broke.")), ["failed (It broke.)"]),
        (made(Reasoning(summary=[])), ["completed"]),
    ],
)
def test_a_notebook_shows_the_text_the_calls_and_how_it_ended(found: Reply, shown: list[str]) -> None:
    markdown = found._repr_markdown_()
    at = 0
    for piece in shown:
        assert piece in markdown[at:]
        at = markdown.index(piece, at)


# --- cancelled calls ------------------------------------------------------------------------------------------------


def test_the_text_to_show() -> None:
    cancelled = CallInfo(interrupted=True)
    assert made(status="cancelled", info=cancelled).display_text == "[Request cancelled]"
    assert made(status="cancelled", info=cancelled).output_text == ""
    assert made(says("Hi")).display_text == "Hi"
    assert made(refusal("No.")).display_text == "No."
    assert made(calls("weather")).display_text == ""


# --- plain data -----------------------------------------------------------------------------------------------------


def encoded(found: Response) -> Any:
    """What the Responses wire writes."""
    return json.loads(msgspec.json.encode(wires.load("openai_responses").encode_response(found)[0]))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("asked", ["Hi", "reason Two and two.\nsay Four.", 'call weather {"city": "Oslo"}', "length"])
@pytest.mark.filterwarnings("ignore::llm_rest.losses.LossWarning")
async def test_a_reply_as_plain_data_is_the_json_of_the_responses_wire(
    new_client: NewClient, wire: str, asked: str
) -> None:
    options: dict[str, Any] = {"tools": [weather]} if asked.startswith("call") else {}
    async with new_client("simulator/demo", api_key=None, wire=wire) as llm:
        found = await llm.generate(asked, max_output_tokens=4000, **options)
        assert found.to_dict() == encoded(found)
        assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
        if found.stop_reason == "stop":
            again = await llm.generate([asked, *found.to_dict()["output"], "say Now."], max_output_tokens=4000)
            assert again.output_text == "Now."


def test_items_parts_and_responses_are_plain_data_too() -> None:
    call = calls("weather", '{"city":"Oslo"}')
    plain = {"type": "function_call", "call_id": "c", "name": "weather", "arguments": '{"city":"Oslo"}'}
    assert call.to_dict() == plain
    assert with_extras(call, {"brand_new": 1}).to_dict() == {**plain, "brand_new": 1}
    assert OutputText(text="Hi").to_dict()["text"] == "Hi"
    response = Response(id="r", status="completed", output=[call])
    assert response.to_dict() == encoded(response)
    unknown = Unknown(type="new", more=[1]).to_dict()
    assert (type(unknown), unknown) == (dict, {"type": "new", "more": [1]})


# --- clients, streams, runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_says_whom_it_calls_and_where(kind: Any) -> None:
    name = kind.__name__
    assert repr(kind("openai/gpt-5", api_key=KEY)) == (
        f"<{name} for openai/gpt-5 at https://api.openai.com/v1 (openai_responses);"
        " see .generate .stream .run .with_options>"
    )
    assert repr(kind()) == f"<{name} without a model; name one in each call: .generate(..., model='vendor/model')>"


async def test_a_stream_says_how_far_it_came(new_client: NewClient) -> None:
    async with new_client("simulator/demo", api_key=None) as llm:
        made = llm.stream("Good morning!")
        stream = getattr(made, "_inner", made)
        kind = type(stream).__name__
        assert repr(stream).startswith(f"<{kind} from simulator/demo: not started;")
        async with made as events:
            async for _ in events.text:
                assert repr(stream).startswith(f"<{kind} from simulator/demo: in progress, 'Good'")
                break
        assert repr(stream) == f"<{kind} from simulator/demo: incomplete, 'Good'; see .response>"


def test_a_run_and_its_saved_state_say_how_it_stands() -> None:
    llm = Client("simulator/demo", api_key=None)
    run = llm.run('call weather {"city": "Oslo"}', [weather])
    assert "not started; start it with .result()" in repr(run)
    run.result()
    (call,) = run.pending_calls
    assert f"approval needed for weather ({call.call_id}), 1 model call, 1 tool call" in repr(run)
    assert ".approve(id)" in repr(run)
    saved = STATE.decode(msgspec.json.encode(run.state))
    assert f"approval needed for weather ({call.call_id})" in repr(saved)
    assert "resume it with run(state=...)" in repr(saved)
    resumed = llm.run(tools=[weather], state=saved)
    resumed.approve(call.call_id)
    resumed.result()
    assert "completed, 2 model calls, 1 tool call" in repr(resumed)
    assert "see .result()" in repr(resumed)


@pytest.mark.parametrize("method", ["stream", "stream_json", "run"])
def test_what_was_refused_while_it_was_made_has_a_repr_for_tracebacks(method: str) -> None:
    arguments = ["Hi", dict] if method == "stream_json" else ["Hi"]
    with pytest.raises(ConfigError) as caught:
        getattr(Client("simulator/demo"), method)(*arguments, temperature="hot")
    for frame, _ in traceback.walk_tb(caught.value.__traceback__):
        assert all(isinstance(repr(value), str) for value in frame.f_locals.values())


def test_no_repr_shows_a_key_or_what_was_said() -> None:
    server = {"type": "mcp", "server_label": "wiki", "server_url": "https://host/mcp", "authorization": KEY}
    with Client("openai/gpt-5", api_key=KEY, defaults={"extra_headers": {"x-key": KEY}, "user_token": KEY}) as llm:
        run = llm.run("my private question", [server], instructions="private instructions")
        stream = llm.stream("my private question", tools=[server])
        for shown in (llm, run, run.state, run.events(), stream, llm.with_options(user_token=KEY)):
            assert KEY not in repr(shown)
            assert "private" not in repr(shown)
            assert "\n" not in repr(shown)
            assert len(repr(shown)) < 400


# --- prompts --------------------------------------------------------------------------------------------------------


def test_a_prompt_and_its_context_have_one_line_each() -> None:
    context = PromptContext([("system", "Be brief.")], [lambda: "It rains."])
    assert repr(context) == "<PromptContext: entries 1, providers 1; see .add .add_provider>"
    with Client("simulator/simulator") as llm:
        generator = ContentGenerator(llm, "say " + "sun " * 50, str, context=context)
        assert repr(generator) == (
            "<ContentGenerator: 'say sun sun sun sun sun sun sun sun sun sun sun sun sun sun…', items 1; "
            "see .generate .history>"
        )
