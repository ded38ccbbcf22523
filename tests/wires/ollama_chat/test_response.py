"""Whole answers, both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.losses import Loss
from llm_rest.responses import (
    CustomTool,
    CustomToolCall,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    IncompleteDetails,
    InputTokensDetails,
    Logprob,
    Message,
    NamespaceTool,
    OutputText,
    OutputTokensDetails,
    Reasoning,
    ReasoningText,
    RefusalPart,
    Request,
    Response,
    SummaryText,
    UrlCitation,
    Usage,
    WebSearchCall,
)
from llm_rest.responses.carriers import seal
from llm_rest.unknown import Unknown, with_extras
from llm_rest.vendors.dialects import OllamaDialect
from llm_rest.wires import ollama_chat as wire
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.ollama import thought

CREATED = "2026-09-21T14:13:20.123456789Z"
SECONDS = 1790000000


def answer(content: str | None = "Hi.", *, message: Any = None, **fields: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **(message or {})}
    usual = {"model": "m", "created_at": CREATED, "message": said, "done": True, "done_reason": "stop"}
    return {name: value for name, value in {**usual, **fields}.items() if value is not UNSET}


def read(document: dict[str, Any], **options: Any) -> tuple[Response, list[Loss]]:
    return wire.decode_response(wire.RESPONSE.decode(json.dumps(document).encode()), **options)


def told(lost: list[Loss]) -> list[str]:
    return [f"{loss.path} ({loss.kind})" for loss in lost]


def call(name: str = "f", arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments or {}}, **more}


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def test_an_answer_becomes_items_in_order() -> None:
    """ollama.response.1, ollama.response.2, ollama.response.4, ollama.response.5, ollama.response.6, ollama.response.9"""
    said = {"thinking": "Hm.", "tool_calls": [call("f", {"b": 1.0, "a": 2}, id="c1"), call("now")]}
    document = answer("Let me see.", message=said, prompt_eval_count=3, eval_count=4)
    response, lost = read(document)
    assert (response.status, response.model, response.created_at) == ("completed", "m", SECONDS)
    assert response.usage == Usage(input_tokens=3, output_tokens=4, total_tokens=7)
    thinking, text, first, second = response.output
    origin = response.id.removeprefix("resp_")
    assert thinking == replace(thought("Hm.", "ollama"), id=f"rs_{origin}_0", status="completed")
    assert text == Message(
        id=f"msg_{origin}_1",
        status="completed",
        role="assistant",
        content=[OutputText(text="Let me see.", annotations=[])],
    )
    assert first == FunctionCall(
        id=f"fc_{origin}_2", status="completed", call_id="c1", name="f", arguments='{"b": 1.0, "a": 2}'
    )
    assert isinstance(second, FunctionCall)
    assert second.call_id.startswith("call_")
    assert lost == []
    assert read(document)[0] == response, "the same every time"


def test_answers_of_other_moments_have_other_ids() -> None:
    """ollama.response.1"""
    ids = {read(answer(created_at=f"2026-09-21T14:13:20.{i}Z"))[0].id for i in range(9)}
    assert len(ids) == 9
    assert read(answer("a", created_at=UNSET))[0].id != read(answer("b", created_at=UNSET))[0].id


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("2024-05-24T20:01:31.01558Z", 1716580891),
        ("2024-05-24T22:01:31.999999999+02:00", 1716580891),
        ("2024-05-24T20:01:31", 1716580891),
        ("1969-12-31T23:59:59.5Z", -1),
        ("0001-01-01T00:00:00+14:00", -62135647200),
        ("yesterday", 7),
        (UNSET, 7),
        (None, 7),
    ],
)
def test_times_are_read_to_the_second(stamp: Any, seconds: int) -> None:
    """ollama.response.2"""
    document = answer(created_at=stamp)
    response, _ = read(document, now=7.9)
    assert response.created_at == seconds
    assert list(differences(document, plain(wire.encode_response(response)[0]))) == []


def test_what_describes_one_answer_only_is_left_over() -> None:
    """ollama.response.3, ollama.response.11, ollama.response.17, ollama.response_back.11"""
    document = answer(
        remote_model="r",
        remote_host="h",
        total_duration=5,
        load_duration=1,
        message={"images": ["AAAA"], "new": 1},
        _debug_info={"rendered_template": "x"},
        newer={"a": 1},
    )
    response, lost = read(document)
    assert response.leftovers
    assert response.leftovers["ollama_chat"]["total_duration"] == 5
    assert lost == []
    assert list(differences(document, plain(wire.encode_response(response)[0]))) == []
    _, elsewhere = wires.load("openai_chat").encode_response(response)
    assert {loss.path for loss in elsewhere} == {
        *("remote_model", "remote_host", "total_duration", "load_duration", "_debug_info", "newer"),
        *("output[0].images", "output[0].new"),
    }
    plainly, _ = read(document, keep=False)
    assert plainly.leftovers is None
    assert list(differences(plain(plainly.output), plain(read(answer(message={"new": 1}), keep=False)[0].output))) == []


@pytest.mark.parametrize(
    "document",
    [
        answer("", message={"tool_calls": [], "thinking": ""}),
        answer(None, message={"tool_calls": [call(id="a", type="function", new=1)], "thinking": None}),
        answer(" \n", message={"tool_calls": [call(id="a")]}),
        answer(message={"role": "tool"}, done_reason="unload"),
        answer(logprobs=[], done_reason=UNSET),
        answer(logprobs=None, done_reason=None),
        answer(done=UNSET, done_reason=UNSET, model=UNSET),
        answer("", done_reason=UNSET),
        answer(done_reason="new_reason", prompt_eval_count=0, eval_count=0),
        answer(done=False, done_reason=""),
        answer(done=False),
        answer(done=None, done_reason="load"),
        answer(done=UNSET, done_reason="length"),
        answer(prompt_eval_count=None),
        answer(prompt_eval_count=None, eval_count=None),
        answer(
            "Hi. ",
            message={"thinking": "Hm."},
            logprobs=[{"token": "Hm.", "logprob": -1.0}, {"token": "Hi. ", "logprob": -1.0}],
        ),
    ],
    ids=range(16),
)
def test_an_odd_answer_comes_back_as_it_came(document: dict[str, Any]) -> None:
    """ollama.response_back.11"""
    response, _ = read(document)
    again, lost = wire.encode_response(response)
    assert list(differences(document, plain(again))) == []
    assert lost == []


def test_space_beside_calls_is_no_message() -> None:
    """ollama.response.7"""
    response, _ = read(answer(" \n", message={"tool_calls": [call(id="a")]}))
    assert [type(item) for item in response.output] == [FunctionCall]
    assert len(read(answer(" \n"))[0].output) == 1
    body, lost = given(said(OutputText(text=" ")), FunctionCall(call_id="a", name="f", arguments="{}"))
    assert (body["message"]["content"], lost) == (" ", ["output[0] (changed)"])


LOGPROBS = [{"token": "H", "logprob": -0.5, "bytes": [72]}, {"token": "i.", "logprob": -0.25}]


def test_log_probabilities_are_those_of_the_text() -> None:
    """ollama.response.8, ollama.response_back.9"""
    rest = {"token": "<tool_call>", "logprob": -1.0}
    document = answer(message={"tool_calls": [call(id="a")]}, logprobs=[*LOGPROBS, rest])
    response, _ = read(document)
    assert plain(response.output[0])["content"][0]["logprobs"] == LOGPROBS
    assert list(differences(document, plain(wire.encode_response(response)[0]))) == []
    assert "logprobs[2] (dropped)" in told(wires.load("openai_chat").encode_response(response)[1])
    thinking, _ = read(answer(message={"thinking": "H"}, logprobs=LOGPROBS))
    assert "logprobs" not in plain(thinking.output[1])["content"][0]


def counts_of(read: int, made: int) -> dict[str, int]:
    return {"input_tokens": read, "output_tokens": made, "total_tokens": read + made}


@pytest.mark.parametrize(
    ("counts", "content", "usage", "lost"),
    [
        ({}, "Hi.", None, []),
        (
            {"eval_count": 4},
            "Hi.",
            counts_of(0, 4),
            ["usage.input_tokens (changed)"],
        ),
        (
            {"prompt_eval_count": 3},
            "Hi.",
            counts_of(3, 0),
            ["usage.output_tokens (changed)"],
        ),
        ({"prompt_eval_count": 3}, "", counts_of(3, 0), []),
        ({"prompt_eval_count": 0, "eval_count": 0}, "", counts_of(0, 0), []),
    ],
)
def test_counts_the_server_left_out_are_not_invented(
    counts: dict[str, int], content: str, usage: dict[str, int] | None, lost: list[str]
) -> None:
    """ollama.response.10"""
    response, complaints = read(answer(content, **counts))
    found = plain(response.usage) if response.usage else None
    assert {n: v for n, v in (found or {}).items() if n != "leftovers"} == (usage or {})
    assert told(complaints) == lost
    again = plain(wire.encode_response(response)[0])
    assert {name: again[name] for name in ("prompt_eval_count", "eval_count") if name in again} == counts


@pytest.mark.parametrize(
    ("fields", "status", "reason", "lost"),
    [
        pytest.param({"done_reason": "stop"}, "completed", None, [], id="ollama.response.12"),
        pytest.param({"done_reason": "load", "content": ""}, "completed", None, [], id="load"),
        pytest.param({"done_reason": "unload", "content": ""}, "completed", None, [], id="unload"),
        pytest.param({"done_reason": "length"}, "incomplete", "max_output_tokens", [], id="length"),
        pytest.param(
            {"done_reason": "length", "content": ""}, "incomplete", "max_output_tokens", [], id="nothing-said"
        ),
        pytest.param({"done_reason": "bored"}, "incomplete", "bored", ["done_reason (changed)"], id="unknown"),
        pytest.param({"done_reason": UNSET}, "completed", None, ["done_reason (changed)"], id="ollama.response.13"),
        pytest.param({"done_reason": "", "content": ""}, "failed", None, ["done_reason (changed)"], id="empty"),
        pytest.param({"done": False, "done_reason": UNSET}, "failed", None, ["done (changed)"], id="without-an-end"),
    ],
)
def test_why_it_ended(fields: dict[str, Any], status: str, reason: str | None, lost: list[str]) -> None:
    """BUGS 44 and 45"""
    response, complaints = read(answer(fields.pop("content", "Hi."), **fields))
    assert response.status == status
    details = response.incomplete_details
    assert (details.reason if details else None) == reason
    assert (response.error.code if response.error else None) == ("server_error" if status == "failed" else None)
    assert told(complaints) == lost
    assert {item.status for item in response.output if isinstance(item, Message)} <= {
        "completed" if status == "completed" else "incomplete"
    }


def test_a_call_of_an_answer_that_was_cut_is_whole() -> None:
    response, _ = read(answer("Hi.", message={"tool_calls": [call(id="a")]}, done_reason="length"))
    assert [item.status for item in response.output if not isinstance(item, Unknown)] == ["completed", "completed"]


LONG = "word " * 8000


@pytest.mark.parametrize(
    ("request_", "counted", "cut"),
    [
        pytest.param(Request(input=LONG), 4096, True, id="ollama.response.14"),
        pytest.param(Request(input=[Message(role="user", content=LONG)]), 4096, True, id="items"),
        pytest.param(Request(input=[Message(role="user", content=[OutputText(text=LONG)])]), 4096, True, id="parts"),
        pytest.param(
            Request(input=[FunctionCall(call_id="a", name="f", arguments=LONG), WebSearchCall()]), 4096, True, id="call"
        ),
        pytest.param(Request(input="Hi", instructions=LONG), 4096, True, id="instructions"),
        pytest.param(Request(input=LONG), 8000, False, id="read"),
        pytest.param(Request(input=LONG), 0, False, id="not-counted"),
        pytest.param(Request(input="word " * 1000), 5, False, id="short"),
        pytest.param(Request(input="Hi", extra={"ollama_chat": {"options": {"num_ctx": 64}}}), 63, True, id="full"),
        pytest.param(
            wire.decode_request(wire.REQUEST.decode(b'{"messages":[],"options":{"num_ctx":64}}'))[0],
            64,
            True,
            id="full-too",
        ),
        pytest.param(
            Request(input="Hi", extra={"ollama_chat": {"options": {"num_ctx": 64}}}), 62, False, id="not-full"
        ),
    ],
)
def test_a_conversation_that_was_cut_is_reported(request_: Request, counted: int, cut: bool) -> None:
    """ollama.hard.10. BUGS 82"""
    _, lost = read(answer(prompt_eval_count=counted, eval_count=1), request=request_)
    assert told(lost) == (["input (changed)"] if cut else [])
    assert not cut or "num_ctx" in lost[0].what
    assert told(read(answer(prompt_eval_count=counted, eval_count=1))[1]) == []


def test_calls_of_emulated_tools_are_calls_of_the_tools_that_were_given() -> None:
    """ollama.response.15, ollama.hard.15"""
    asked = Request(
        input="Hi",
        tools=[
            CustomTool(name="sh"),
            NamespaceTool(name="ns", tools=[FunctionTool(name="f"), CustomTool(name="g"), Unknown({"type": "x"})]),
        ],
    )
    calls = [call("sh", {"input": "ls"}), call("ns__f"), call("ns__g", {"x": 1}), call("never_offered")]
    response, lost = read(answer("", message={"tool_calls": calls}), request=asked)
    shell, inner, custom, other = response.output
    assert isinstance(shell, CustomToolCall)
    assert (shell.name, shell.input, shell.id) == ("sh", "ls", f"ctc_{response.id[5:]}_0")
    assert isinstance(inner, FunctionCall)
    assert (inner.name, inner.namespace) == ("f", "ns")
    assert isinstance(custom, CustomToolCall)
    assert (custom.name, custom.namespace, custom.input) == ("g", "ns", '{"x": 1}')
    assert isinstance(other, FunctionCall)
    assert other.name == "never_offered"
    assert told(lost) == ["output[2] (changed)"]


def test_the_request_is_echoed() -> None:
    response, _ = read(answer(), request=Request(input="Hi", temperature=0.5))
    assert response.temperature == 0.5


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def given(*output: Any, status: str = "completed", **fields: Any) -> tuple[dict[str, Any], list[str]]:
    response = Response(id="resp_1", status=status, model="m", output=list(output), **fields)
    body, lost = wire.encode_response(response)
    return plain(body), told(lost)


def said(*parts: Any, **more: Any) -> Message:
    return Message(role="assistant", content=list(parts), **more)


HI = said(OutputText(text="Hi.", annotations=[]))


def test_an_answer_as_the_server_gives_it() -> None:
    """ollama.response_back.1, ollama.response_back.3, ollama.response_back.5, ollama.response_back.7, ollama.response_back.8"""
    usage = Usage(input_tokens=3, output_tokens=4, total_tokens=7)
    asked = FunctionCall(call_id="c1", name="f", arguments='{"a":1.0}')
    body, lost = given(thought("Hm.", "ollama"), HI, asked, created_at=SECONDS, usage=usage)
    stamp = body.pop("created_at")
    assert body == {
        "model": "m",
        "message": {
            "role": "assistant",
            "content": "Hi.",
            "thinking": "Hm.",
            "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": 1.0}}}],
        },
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 3,
        "eval_count": 4,
    }
    assert stamp.startswith("2026-09-21T14:13:20.")
    assert len(stamp) == len(CREATED)
    assert lost == []


def test_answers_of_one_second_are_told_apart() -> None:
    """ollama.response_back.8"""
    stamps = {
        wire.encode_response(Response(id=f"resp_{i}", status="completed", output=[], created_at=5))[0].created_at
        for i in range(9)
    }
    assert len(stamps) == 9
    assert {given(created_at=value)[0]["created_at"][:10] for value in (-1, 1e300, None)} == {"1970-01-01"}


def test_what_is_said_in_pieces_is_one_text() -> None:
    """ollama.response_back.1, ollama.response_back.4"""
    assert given(HI, said(RefusalPart(refusal="No.")))[1] == [
        "output[1].content[0] (changed)",
        "output[0] (changed)",
        "output[1] (changed)",
    ]
    body, lost = given(FunctionCall(call_id="a", name="f", arguments="{}"), HI, thought("Hm.", "ollama"))
    assert (body["message"]["content"], body["message"]["thinking"]) == ("Hi.", "Hm.")
    assert lost == ["output[1] (changed)", "output[2] (changed)"]


def test_thoughts_are_shown_and_their_opaque_state_is_not() -> None:
    """ollama.response_back.2. BUGS 4 and 7"""
    summary = Reasoning(summary=[SummaryText(text="A"), SummaryText(text="B")], encrypted_content="gAAAA")
    body, lost = given(summary, HI)
    assert body["message"]["thinking"] == "A\n\nB"
    assert lost == ["output[0].summary (changed)", "output[0].encrypted_content (dropped)"]
    both = Reasoning(summary=[SummaryText(text="A")], content=[ReasoningText(text="B")])
    assert given(both)[0]["message"]["thinking"] == "B"
    sealed = Reasoning(summary=[], encrypted_content=seal("anthropic_messages", "anthropic", {"kind": "x"}))
    body, lost = given(sealed, HI)
    assert "thinking" not in body["message"]
    assert lost == ["output[0] (dropped)"]
    elsewhere, _ = wire.encode_response(
        Response(id="r", status="completed", output=[thought("Hm.", "x")]), dialect=OllamaDialect(issuer="x")
    )
    assert elsewhere.message.thinking == "Hm."


def test_a_call_that_is_no_json_is_told_as_the_text_of_one() -> None:
    """ollama.response_back.3"""
    body, lost = given(FunctionCall(call_id="a", name="f", arguments='{"a":'))
    assert body["message"]["tool_calls"][0]["function"]["arguments"] == {"INVALID_JSON": '{"a":'}
    assert lost == ["output[0].arguments (changed)"]
    body, lost = given(CustomToolCall(call_id="a", name="sh", input="ls"))
    assert body["message"]["tool_calls"][0]["function"]["arguments"] == {"input": "ls"}
    assert lost == ["output[0] (emulated)"]


@pytest.mark.parametrize(
    ("status", "reason", "done", "lost"),
    [
        ("incomplete", "max_output_tokens", [True, "length"], []),
        ("incomplete", "content_filter", [True, "length"], ["incomplete_details.reason (changed)"]),
        ("failed", None, [False, None], ["status (refused)"]),
        ("queued", None, [False, None], ["status (refused)"]),
    ],
)
def test_how_an_answer_ended(status: str, reason: str | None, done: list[Any], lost: list[str]) -> None:
    """ollama.response_back.5, ollama.response_back.6"""
    details = IncompleteDetails(reason=reason) if reason else None
    body, complaints = given(HI, status=status, incomplete_details=details)
    assert [body["done"], body.get("done_reason")] == done
    assert complaints == lost


def test_what_the_server_would_have_written_gives_way_to_what_happened_since() -> None:
    """ollama.response_back.11"""
    response, _ = read(answer(done_reason="load"))
    response.status, response.incomplete_details = "incomplete", IncompleteDetails(reason="max_output_tokens")
    assert wire.encode_response(response)[0].done_reason == "length"


def test_counts_that_have_no_place_are_reported() -> None:
    """ollama.response_back.7"""
    usage = Usage(
        input_tokens=3,
        output_tokens=4,
        total_tokens=9,
        input_tokens_details=InputTokensDetails(cached_tokens=2, cache_write_tokens=0),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=1),
        cost=0.1,
        leftovers={"openai_chat": {"queue_time": 1}},
    )
    body, lost = given(HI, usage=with_extras(usage, {"z": 1}))
    assert (body["prompt_eval_count"], body["eval_count"]) == (3, 4)
    assert set(lost) == {
        "usage.total_tokens (dropped)",
        "usage.input_tokens_details.cached_tokens (dropped)",
        "usage.output_tokens_details.reasoning_tokens (dropped)",
        "usage.cost (dropped)",
        "usage.z (dropped)",
        "usage.queue_time (dropped)",
    }


def test_what_hangs_on_a_text_is_told_or_reported() -> None:
    """ollama.response_back.9"""
    logprobs = [Logprob(token="Hi", logprob=-1), Logprob(token=".", logprob=-2)]
    body, lost = given(said(OutputText(text="Hi.", logprobs=logprobs)))
    assert (body["logprobs"], lost) == (plain(logprobs), [])
    part = OutputText(text="Hi.", annotations=[UrlCitation(url="u")], logprobs=logprobs)
    body, lost = given(thought("Hm.", "ollama"), said(part, phase="final_answer"))
    assert "logprobs" not in body
    assert lost == [
        "output[1].content[0].annotations (dropped)",
        "output[1].phase (dropped)",
        "output[1].content[0].logprobs (dropped)",
    ]


def test_items_and_fields_without_a_place_are_reported() -> None:
    """ollama.response_back.10, ollama.response_back.13"""
    left = {"anthropic_messages": {"container": "c"}}
    response = Response(
        id="r",
        status="completed",
        output=[WebSearchCall(), Unknown({"type": "acme:item"}), with_extras(said(), {"y": 1})],
        service_tier="flex",
        moderation={"input": 1},
        leftovers=left,
    )
    assert set(told(wire.encode_response(with_extras(response, {"z": 1}))[1])) == {
        "output[0] (dropped)",
        "output[1] (dropped)",
        "output[2].y (dropped)",
        "service_tier (dropped)",
        "moderation (dropped)",
        "z (dropped)",
        "container (dropped)",
    }


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
def test_fields_nobody_knows_of_what_was_said_go_back_on_the_next_turn(keep: bool, streamed: bool) -> None:
    """A new vendor's signature is such a field."""
    said = {
        "signature": "s",
        "tool_calls": [call(id="a", new=1) | {"function": {"name": "f", "arguments": {}, "x": 2}}],
    }
    document = answer("Hi.", message={"thinking": "Hm.", **said}, odd=3)
    if streamed:
        machine = wire.decode_stream(keep=keep)
        (*_, last) = machine.feed(wire.EVENT.decode(json.dumps(document).encode()))
        response = last.response  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    else:
        response, _ = read(document, keep=keep)
    assert bool(response.leftovers) is keep
    turn = [*response.output, FunctionCallOutput(call_id="a", output="4"), Message(role="user", content="And now?")]
    body, lost = wire.encode_request(Request(input=turn))
    assert lost == []
    assert body.messages
    assert plain(body.messages[0]) == document["message"]
