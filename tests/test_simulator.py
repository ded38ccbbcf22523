"""The simulator over the wires of the vendors: it answers as each vendor does, signs reasoning and checks what is returned."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from llm_rest import AuthenticationError, Client, simulator, wires
from llm_rest.client.reply import Reply
from llm_rest.responses import FunctionCallOutput, Message
from tests import peers

Plain = dict[str, Any]
Change = Callable[[Any], Any]

SCRIPT = (
    'reason The user asks for the weather.\ncall get_weather {"city": "Oslo"}\nreason It is cold.\nsay Four degrees.'
)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
VERSION = ("anthropic-version", "2026-10-21")

server: list[Any] = [simulator]


@pytest.fixture(autouse=True, params=[simulator, peers], ids=["sealed alike", "sealed as the vendors do"])
def answering(request: pytest.FixtureRequest) -> Any:
    """The simulator, and the one with the signatures of the vendors."""
    server[:] = [request.param]
    return request.param


VENDORS = pytest.mark.parametrize("answering", [peers], indirect=True)
"""For what a single vendor's signatures cover beyond the text and the turn."""


def post(path: str, document: Plain, **headers: str) -> tuple[int, Plain]:
    """The simulator's answer to a vendor's own JSON."""
    sent = [VERSION, *((name.replace("_", "-"), value) for name, value in headers.items())]
    status, _, body = server[0].handle("POST", path, sent, json.dumps(document).encode())
    return status, json.loads(body)


def accepted(path: str, document: Plain) -> Plain:
    status, body = post(path, document)
    assert status == 200, body
    return body


def refused(path: str, document: Plain, status: int = 400) -> str:
    found, body = post(path, document)
    assert found == status, body
    return str(body["error"]["message"])


def changed(document: Plain, change: Change, *place: str | int) -> Plain:
    """The document with what is at a place changed."""
    other: Any = deepcopy(document)
    inner = other
    for step in place:
        inner = inner[step]
    change(inner)
    return other


# --- Messages -------------------------------------------------------------------------------------------------------

MESSAGES = "/v1/messages"


def asked(*messages: Plain, model: str = "claude-sonnet-5", **fields: Any) -> Plain:
    return {"model": model, "max_tokens": 2000, "messages": list(messages), **fields}


def user(content: Any) -> Plain:
    return {"role": "user", "content": content}


def assistant(content: Any) -> Plain:
    return {"role": "assistant", "content": content}


def thinking_turn(script: str = SCRIPT, **fields: Any) -> tuple[list[Plain], Plain]:
    """The content of an answer that thinks and calls a tool, and the request that returns the result."""
    answer = accepted(MESSAGES, asked(user(script), **fields))
    assert (answer["type"], answer["id"][:4], answer["stop_reason"]) == ("message", "msg_", "tool_use")
    call = answer["content"][-1]
    result = user([{"type": "tool_result", "tool_use_id": call["id"], "content": "4"}])
    return answer["content"], asked(user(script), assistant(deepcopy(answer["content"])), result, **fields)


def test_a_conversation_with_thinking_and_a_tool_is_accepted() -> None:
    (thought, call), follow_up = thinking_turn()
    assert thought["thinking"] == "The user asks for the weather."
    assert (call["type"], call["name"], call["input"]) == ("tool_use", "get_weather", {"city": "Oslo"})
    assert call["id"].startswith("toolu_")
    final = accepted(MESSAGES, follow_up)
    assert [block["type"] for block in final["content"]] == ["thinking", "text"]
    assert (final["content"][1]["text"], final["stop_reason"]) == ("Four degrees.", "end_turn")
    assert final["usage"]["output_tokens"] > 0
    accepted(MESSAGES, asked(*follow_up["messages"], assistant(final["content"]), user("Thanks")))
    # Of a finished turn the thinking may be left out.
    accepted(
        MESSAGES, asked(user(SCRIPT), assistant([call]), follow_up["messages"][2], assistant("4."), user("Thanks"))
    )


@pytest.mark.parametrize(
    ("script", "change", "message"),
    [
        ("reason One.\nreason Two.\ncall f", lambda b: b[0].update(thinking="One!"), "Invalid `signature` in `thinking`"),
        ("reason One.\nreason Two.\ncall f", lambda b: b[0].update(signature="AAAA"), "Invalid `signature` in `thinking`"),
        ("reason One.\nreason Two.\ncall f", lambda b: b.insert(0, b.pop(1)), "latest assistant message cannot be modified"),
        ("reason One.\nreason Two.\ncall f", lambda b: b.pop(0), "latest assistant message cannot be modified"),
        ("reason\ncall f", lambda b: b[0].update(data=b[0]["data"] + "A"), "Invalid `data` in `redacted_thinking` block"),
    ],
)  # fmt: skip
def test_changed_thinking_is_refused(script: str, change: Change, message: str) -> None:
    """BUGS 1, 8"""
    _, follow_up = thinking_turn(script)
    accepted(MESSAGES, follow_up)
    assert message in refused(MESSAGES, changed(follow_up, change, "messages", 1, "content"))


def test_thinking_in_another_turn_is_refused() -> None:
    (thought, _), _ = thinking_turn()
    moved = asked(user("hi"), assistant([thought, {"type": "text", "text": "ho"}]), user("and?"))
    assert "cannot be modified" in refused(MESSAGES, moved)


def test_omitted_thinking_is_signed_and_cache_marks_are_no_change() -> None:
    content, follow_up = thinking_turn(thinking={"type": "adaptive", "display": "omitted"})
    assert content[0]["thinking"] == ""
    accepted(MESSAGES, follow_up)
    _, follow_up = thinking_turn(model="claude-opus-5-5", system="Be brief.")
    mark = {"cache_control": {"type": "ephemeral"}}
    follow_up["messages"][0]["content"] = [{"type": "text", "text": SCRIPT, **mark}]
    follow_up["system"] = [{"type": "text", "text": "Be brief.", **mark}]
    accepted(MESSAGES, follow_up)


BETA = "thinking-binding-controls-2026-08-01"
DROP: Plain = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize(
    ("model", "fields", "says"),
    [
        ("claude-opus-5-5", {"system": "Be long."}, "bound to a different conversation"),
        (
            "claude-opus-5-5",
            {"tools": [{"name": "f", "input_schema": PARAMETERS}]},
            "bound to a different conversation",
        ),
        ("claude-sonnet-5", {"system": "Be long."}, ""),
        ("claude-opus-5-5", {"max_tokens": 3000, "output_config": {"effort": "low"}}, ""),
        ("claude-opus-5-5", {"system": "Be long.", "thinking": DROP, "beta": BETA}, ""),
        ("claude-opus-5-5", {"thinking": DROP}, "thinking.block_binding: Extra inputs are not permitted"),
        ("claude-sonnet-5-5", {"thinking": {**DROP, "type": "between_tools"}, "beta": BETA}, "Extra inputs"),
    ],
)
def test_newer_models_bind_thinking_to_everything_before_it(model: str, fields: Plain, says: str) -> None:
    _, follow_up = thinking_turn(model=model, system="Be brief.")
    beta = {"anthropic_beta": fields["beta"]} if "beta" in fields else {}
    status, body = post(MESSAGES, {**follow_up, **{k: v for k, v in fields.items() if k != "beta"}}, **beta)
    assert (status, says in str(body)) == (400 if says else 200, True)


# --- Responses ------------------------------------------------------------------------------------------------------


def reasoned() -> tuple[list[Plain], Plain]:
    """The output of an answer that reasons and calls a tool, and the request that returns the result."""
    output = accepted("/v1/responses", {"model": "m", "input": SCRIPT})["output"]
    result = {"type": "function_call_output", "call_id": output[1]["call_id"], "output": "4"}
    return output, {"model": "m", "input": [{"role": "user", "content": SCRIPT}, *deepcopy(output), result]}


def test_responses_answers_as_openai_does() -> None:
    """BUGS 7"""
    (thought, call), follow_up = reasoned()
    assert thought["summary"] == [{"type": "summary_text", "text": "The user asks for the weather."}]
    assert thought["encrypted_content"].startswith("gAAAA")
    assert call["arguments"] == '{"city": "Oslo"}'
    final = accepted("/v1/responses", follow_up)
    assert [item["type"] for item in final["output"]] == ["reasoning", "message"]
    said = [*follow_up["input"], *final["output"], {"role": "user", "content": "Thanks"}]
    accepted("/v1/responses", {"model": "m", "input": said})


@pytest.mark.parametrize(
    ("change", "message", "status"),
    [
        (lambda said: said[1].update(encrypted_content="gAAAAAAA="), "could not be verified", 400),
        (lambda said: said.__setitem__(slice(2, None), [user("hi")]), "without its required following item", 400),
        (lambda said: said.pop(1), "without its required 'reasoning' item: 'rs_", 400),
        (lambda said: said[1].pop("encrypted_content"), "not found. Items are not persisted", 404),
    ],
)
def test_responses_refuses_changed_reasoning(change: Change, message: str, status: int) -> None:
    _, follow_up = reasoned()
    assert message in refused("/v1/responses", changed(follow_up, change, "input"), status)


def test_responses_accepts_a_call_without_its_reasoning_and_id() -> None:
    _, follow_up = reasoned()
    del follow_up["input"][1], follow_up["input"][1]["id"]
    accepted("/v1/responses", follow_up)


# --- Chat -----------------------------------------------------------------------------------------------------------


def chatted(path: str, script: str = SCRIPT) -> tuple[Plain, Plain]:
    """The message of an answer that thinks and calls a tool, and the request that returns the result."""
    said = [user(script)]
    message = accepted(path, {"model": "m", "messages": said})["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "4"}
    return message, {"model": "m", "messages": [*said, deepcopy(message), result]}


def test_openai_returns_no_reasoning_over_chat() -> None:
    message, follow_up = chatted("/v1/chat/completions")
    assert message["content"] is None
    assert not any("reasoning" in name for name in message)
    assert accepted("/v1/chat/completions", follow_up)["choices"][0]["message"]["content"] == "Four degrees."


def test_deepseek_requires_its_reasoning_text_and_mistral_short_call_ids() -> None:
    """BUGS 5"""
    path = "/deepseek/chat/completions"
    message, follow_up = chatted(path)
    assert message["reasoning_content"] == "The user asks for the weather."
    accepted(path, follow_up)
    without = changed(follow_up, lambda said: said.pop("reasoning_content"), "messages", 1)
    assert "must be passed back" in refused(path, without)
    message, follow_up = chatted("/mistral/chat/completions", "call f {}")
    assert len(message["tool_calls"][0]["id"]) == 9
    accepted("/mistral/chat/completions", follow_up)


def test_openrouter_refuses_changed_reasoning_details() -> None:
    path = "/openrouter/chat/completions"
    message, follow_up = chatted(path, "reason One.\nreason\ncall f")
    assert [detail["type"] for detail in message["reasoning_details"]] == ["reasoning.text", "reasoning.encrypted"]
    accepted(path, follow_up)
    changes: list[tuple[Change, str]] = [
        (lambda details: details[0].update(text="Two."), "Invalid `signature`"),
        (lambda details: details[1].update(data="c2lt"), "Invalid `signature`"),
        (lambda details: details.pop(), "must be passed back unchanged"),
        (lambda details: details.reverse(), "must be passed back unchanged"),
    ]
    for change, message_of_it in changes:
        assert message_of_it in refused(path, changed(follow_up, change, "messages", 1, "reasoning_details"))
    moved = changed(follow_up, lambda said: said.update(content="Something else"), "messages", 0)
    assert "cannot be modified or moved" in refused(path, moved)


# --- Gemini ---------------------------------------------------------------------------------------------------------


def contents(*said: str | list[Plain], **fields: Any) -> Plain:
    """A request of the user and the model in turn: texts, or parts."""
    roles = ("user", "model")
    parts: list[list[Plain]] = [[{"text": one}] if isinstance(one, str) else one for one in said]
    return {"contents": [{"role": roles[i % 2], "parts": one} for i, one in enumerate(parts)], **fields}


GEMINI = "/v1beta/models/gemini-3-flash:generateContent"
SHOWN: Any = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def said_by_gemini(script: str = SCRIPT, **fields: Any) -> tuple[list[Plain], Plain]:
    """The parts of an answer that calls functions, and the request that returns their results."""
    (candidate,) = accepted(GEMINI, contents(script, **fields))["candidates"]
    parts = candidate["content"]["parts"]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [{**{k: call[k] for k in ("id", "name")}, "response": {"output": "4"}} for call in calls]
    return parts, contents(script, deepcopy(parts), [{"functionResponse": result} for result in results], **fields)


def test_gemini_signs_a_call_and_returns_thoughts_where_they_are_requested() -> None:
    parts, _ = said_by_gemini()
    assert [(part.get("thought"), bool(part["thoughtSignature"])) for part in parts] == [(None, True)]
    parts, follow_up = said_by_gemini(**SHOWN)
    assert parts[0] == {"text": "The user asks for the weather.", "thought": True}
    final = accepted(GEMINI, follow_up)
    thought, text, tail = final["candidates"][0]["content"]["parts"]
    assert (thought["thought"], text["text"], tail["text"]) == (True, "Four degrees.", "")
    said = [*follow_up["contents"], final["candidates"][0]["content"], *contents("Thanks")["contents"]]
    accepted(GEMINI, {"contents": said})


def test_gemini_requires_signatures_of_the_current_turn_alone() -> None:
    _, follow_up = said_by_gemini()
    del follow_up["contents"][1]["parts"][0]["thoughtSignature"]
    assert "missing a `thought_signature`" in refused(GEMINI, follow_up)
    for dummy in ("skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="):
        follow_up["contents"][1]["parts"][0]["thoughtSignature"] = dummy
        accepted(GEMINI, follow_up)
    del follow_up["contents"][1]["parts"][0]["thoughtSignature"]
    follow_up["contents"] += contents([], "Four.", "Thanks")["contents"][1:]
    accepted(GEMINI, {"contents": follow_up["contents"]})


def test_gemini_refuses_a_changed_signature() -> None:
    """BUGS 15"""
    parts, follow_up = said_by_gemini('call f {"n": 1}\ncall g\nsay A.')
    assert ["thoughtSignature" in part for part in parts] == [True, False], "the first of parallel calls"
    place = ("contents", 1, "parts")
    accepted(GEMINI, follow_up)
    accepted(GEMINI, changed(follow_up, lambda parts: parts[0]["functionCall"]["args"].update(n=2), *place))
    swapped = changed(follow_up, lambda p: p[1].update(thoughtSignature=p[0].pop("thoughtSignature")), *place)
    assert "missing a `thought_signature`" in refused(GEMINI, swapped)
    edited = changed(follow_up, lambda parts: parts[0]["functionCall"].update(name="h"), *place)
    edited["contents"][2]["parts"][0]["functionResponse"]["name"] = "h"
    assert "Corrupted thought signature" in refused(GEMINI, edited)
    forged = changed(follow_up, lambda parts: parts[0].update(thoughtSignature="c2lt"), *place)
    assert "Corrupted thought signature" in refused(GEMINI, forged)
    moved = {"contents": [*contents("hi")["contents"], *follow_up["contents"][1:]]}
    assert "not valid in this turn" in refused(GEMINI, moved)


@VENDORS
def test_gemini_refuses_a_text_that_is_not_the_signed_one() -> None:
    answer = accepted(GEMINI, contents("say One.\nsay Two."))["candidates"][0]["content"]["parts"]
    accepted(GEMINI, contents("say One.\nsay Two.", answer, "Thanks"))
    answer[0]["text"] = "Three."
    assert "Corrupted thought signature" in refused(GEMINI, contents("say One.\nsay Two.", answer, "Thanks"))


def test_older_models_of_gemini_have_neither_signatures_nor_call_ids() -> None:
    path = "/v1beta/models/gemini-2.0-flash:generateContent"
    (candidate,) = accepted(path, contents("call f\nsay A."))["candidates"]
    assert candidate["content"]["parts"] == [{"functionCall": {"name": "f", "args": {}}}]
    gave = [{"functionResponse": {"name": "f", "response": {"output": "4"}}}]
    final = accepted(path, contents("call f\nsay A.", candidate["content"]["parts"], gave))
    assert final["candidates"][0]["content"]["parts"] == [{"text": "A."}]


def test_gemini_counts_tokens_in_both_forms_of_a_request() -> None:
    path = GEMINI.replace("generateContent", "countTokens")
    assert accepted(path, contents("12345678")) == {"totalTokens": 2}
    request = {"model": "models/gemini-3-flash", **contents("12345678")}
    assert accepted(path, {"generateContentRequest": request}) == {"totalTokens": 2}
    assert "contents is not specified" in refused(path, contents())


# --- every wire -----------------------------------------------------------------------------------------------------

PATHS = {
    "openai_responses": "/v1/responses",
    "openai_chat": "/v1/chat/completions",
    "anthropic_messages": "/v1/messages",
    "ollama_chat": "/api/chat",
    "gemini_generate_content": "/v1beta/models/m:generateContent",
}
every_wire = pytest.mark.parametrize("wire", wires.NAMES)


def plainly(wire: str, text: str, **fields: Any) -> Plain:
    if wire == "gemini_generate_content":
        return {**contents(text), **fields}
    said = {"input": text} if wire == "openai_responses" else {"messages": [user(text)]}
    needed: Plain = {"anthropic_messages": {"max_tokens": 999}, "ollama_chat": {"stream": False}}.get(wire, {})
    return {"model": "m", **said, **needed, **fields}


def message_of(body: Plain) -> str:
    error = body["error"]
    return error if isinstance(error, str) else str(error["message"])


@every_wire
def test_an_error_has_the_format_of_the_vendor(wire: str) -> None:
    """BUGS 48"""
    status, body = post(PATHS[wire], plainly(wire, "fail 529 Too much."))
    assert (status, message_of(body)) == (529, "Too much.")
    if wire == "anthropic_messages":
        assert (body["type"], body["error"]["type"]) == ("error", "overloaded_error")
        assert body["request_id"].startswith("req_")


@pytest.mark.parametrize(
    ("path", "document", "message", "status"),
    [
        (PATHS["openai_chat"], plainly("openai_chat", "hi", n=2), "one choice", 400),
        (PATHS["openai_chat"], plainly("openai_chat", "hi", modalities=["text", "audio"]), "text only", 400),
        (GEMINI, contents("hi", generationConfig={"candidateCount": 2}), "one candidate", 400),
        (GEMINI, contents("hi", generationConfig={"responseModalities": ["AUDIO"]}), "does not speak", 400),
        (GEMINI, contents("hi", cachedContent="cachedContents/x"), "CachedContent not found", 403),
    ],
)
def test_what_is_not_simulated_is_refused(path: str, document: Plain, message: str, status: int) -> None:
    assert message in refused(path, document, status)


@every_wire
def test_a_key_and_a_model_are_reserved_for_errors(wire: str) -> None:
    wrong = 400 if wire == "gemini_generate_content" else 401
    assert post(PATHS[wire], plainly(wire, "hi"), authorization="Bearer invalid")[0] == wrong
    assert post(PATHS[wire], plainly(wire, "hi"), x_api_key="invalid")[0] == wrong
    assert post(PATHS[wire], plainly(wire, "hi"), x_api_key="anything")[0] == 200
    named = {} if "/m:" in PATHS[wire] else {"model": "missing"}
    status, body = post(PATHS[wire].replace("/m:", "/missing:"), plainly(wire, "hi", **named))
    assert status in (400, 404)
    assert "missing" in message_of(body)
    with Client("simulator/x", wire=wire, api_key="invalid") as llm, pytest.raises(AuthenticationError):
        llm.generate("hi")


@every_wire
def test_the_same_request_gets_the_same_bytes(wire: str) -> None:
    """BUGS 81"""
    sent = json.dumps(plainly(wire, SCRIPT)).encode()
    one, same = (server[0].handle("POST", PATHS[wire], [VERSION], sent) for _ in range(2))
    assert one == same


TOOLS = [{"type": "function", "name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}]


@every_wire
def test_a_client_has_a_tool_conversation_whose_tokens_are_counted_alike(wire: str) -> None:
    said: list[Any] = [Message(role="user", content=SCRIPT)]
    with Client("simulator/x", wire=wire, api_key="any", on_loss="raise") as llm:
        first: Reply = llm.generate(said, tools=TOOLS)
        (call,) = first.function_calls
        assert (call.name, msgspec.json.decode(call.arguments)) == ("get_weather", {"city": "Oslo"})
        output = FunctionCallOutput(call_id=call.call_id, output="4")
        second = llm.generate([*said, *first.output, output], tools=TOOLS)
        usage = llm.generate("say Hello, world.", tools=TOOLS).usage
    assert (first.status, second.status, second.output_text) == ("completed", "completed", "Four degrees.")
    assert usage
    assert (usage.input_tokens, usage.output_tokens) == (5 + 3 + 3 + 20, 4)
