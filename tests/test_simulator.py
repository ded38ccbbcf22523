"""The simulator over the real wires: it answers as each vendor does, signs what it thinks and notices what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from llm_rest import (
    AuthenticationError,
    BadRequestError,
    Client,
    OverloadedError,
    ReasoningStateError,
    simulator,
    wires,
)
from llm_rest.client.reply import Reply
from llm_rest.responses import FunctionCallOutput, Message, Reasoning
from tests import peers

Plain = dict[str, Any]

SCRIPT = (
    'reason The user asks for the weather.\ncall get_weather {"city": "Oslo"}\nreason It is cold.\nsay Four degrees.'
)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


server: list[Any] = [simulator]


@pytest.fixture(autouse=True, params=[simulator, peers], ids=["sealed alike", "sealed as the vendors do"])
def answering(request: pytest.FixtureRequest) -> Any:
    """What answers: the simulator, and the one with the signatures of the vendors."""
    server[:] = [request.param]
    return request.param


VENDORS = pytest.mark.parametrize("answering", [peers], indirect=True)
"""For what a single vendor's signatures cover beyond the text and the turn."""


def post(path: str, document: Plain, **headers: str) -> tuple[int, Plain]:
    """The simulator's answer to a vendor's own JSON."""
    sent = [("anthropic-version", "2026-10-21"), *((name.replace("_", "-"), value) for name, value in headers.items())]
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


# --- Messages -------------------------------------------------------------------------------------------------------


def asked(*messages: Plain, model: str = "claude-sonnet-5", **fields: Any) -> Plain:
    return {"model": model, "max_tokens": 2000, "messages": list(messages), **fields}


def user(content: Any) -> Plain:
    return {"role": "user", "content": content}


def assistant(content: Any) -> Plain:
    return {"role": "assistant", "content": content}


def result(call: Plain) -> Plain:
    return user([{"type": "tool_result", "tool_use_id": call["id"], "content": "4"}])


def thinking_turn(script: str = SCRIPT, **fields: Any) -> tuple[Plain, Plain]:
    """A request whose answer thinks and calls a tool, and the request that sends the result back."""
    first = asked(user(script), **fields)
    answer = accepted("/v1/messages", first)
    call = answer["content"][-1]
    return answer, asked(user(script), assistant(answer["content"]), result(call), **fields)


def test_messages_answers_as_anthropic_does() -> None:
    answer, follow_up = thinking_turn()
    thought, call = answer["content"]
    assert answer["type"] == "message"
    assert answer["id"].startswith("msg_")
    assert answer["stop_reason"] == "tool_use"
    assert thought["thinking"] == "The user asks for the weather."
    assert call["type"] == "tool_use"
    assert (call["name"], call["input"]) == ("get_weather", {"city": "Oslo"})
    assert call["id"].startswith("toolu_")
    final = accepted("/v1/messages", follow_up)
    assert [block["type"] for block in final["content"]] == ["thinking", "text"]
    assert final["content"][1]["text"] == "Four degrees."
    assert final["stop_reason"] == "end_turn"
    assert final["usage"]["output_tokens"] > 0


def test_a_whole_conversation_with_thoughts_comes_back_accepted() -> None:
    _, follow_up = thinking_turn()
    final = accepted("/v1/messages", follow_up)
    accepted(
        "/v1/messages", {**follow_up, "messages": [*follow_up["messages"], assistant(final["content"]), user("Thanks")]}
    )


def edit_text(content: list[Plain]) -> None:
    content[0]["thinking"] += "!"


def edit_signature(content: list[Plain]) -> None:
    content[0]["signature"] = content[0]["signature"][:-8] + "AAAAAAA="


def swap(content: list[Plain]) -> None:
    content[0], content[1] = content[1], content[0]


def leave_out(content: list[Plain]) -> None:
    del content[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit_text, "Invalid `signature` in `thinking` block"),
        (edit_signature, "Invalid `signature` in `thinking` block"),
        (swap, "blocks in the latest assistant message cannot be modified"),
        (leave_out, "blocks in the latest assistant message cannot be modified"),
    ],
)
def test_messages_notices_what_became_of_a_thought(change: Callable[[list[Plain]], None], message: str) -> None:
    """BUGS 1"""
    _, follow_up = thinking_turn("reason One.\nreason Two.\ncall f")
    content = follow_up["messages"][1]["content"]
    change(content)
    assert message in refused("/v1/messages", follow_up)


def test_a_thought_in_another_turn_is_noticed() -> None:
    answer, _ = thinking_turn()
    moved = asked(user("hi"), assistant([answer["content"][0], {"type": "text", "text": "ho"}]), user("and?"))
    assert "cannot be modified" in refused("/v1/messages", moved)


def test_a_thought_of_a_finished_turn_may_be_left_out() -> None:
    answer, follow_up = thinking_turn()
    said = [
        user(SCRIPT),
        assistant(answer["content"][1:]),
        *follow_up["messages"][2:],
        assistant("Four degrees."),
        user("Thanks"),
    ]
    accepted("/v1/messages", asked(*said))


def test_a_hidden_thought_is_redacted_and_comes_back_untouched() -> None:
    """BUGS 8"""
    answer, follow_up = thinking_turn("reason\ncall f")
    assert answer["content"][0]["type"] == "redacted_thinking"
    accepted("/v1/messages", follow_up)
    follow_up["messages"][1]["content"][0]["data"] += "A"
    assert "Invalid `data` in `redacted_thinking` block" in refused("/v1/messages", follow_up)


def test_a_thought_whose_text_is_omitted_is_signed_all_the_same() -> None:
    answer, follow_up = thinking_turn(thinking={"type": "adaptive", "display": "omitted"})
    assert answer["content"][0]["thinking"] == ""
    accepted("/v1/messages", follow_up)


def test_marks_for_the_cache_and_spelling_do_not_count_as_changes() -> None:
    _, follow_up = thinking_turn(model="claude-opus-5-5", system="Be brief.")
    mark = {"cache_control": {"type": "ephemeral"}}
    follow_up["messages"][0]["content"] = [{"type": "text", "text": SCRIPT, **mark}]
    follow_up["system"] = [{"type": "text", "text": "Be brief.", **mark}]
    accepted("/v1/messages", follow_up)


BETA = "thinking-binding-controls-2026-08-01"
DROP: Plain = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize(
    ("model", "changed", "says"),
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
def test_newer_models_bind_a_thought_to_everything_before_it(model: str, changed: Plain, says: str) -> None:
    _, follow_up = thinking_turn(model=model, system="Be brief.")
    beta = {"anthropic_beta": changed["beta"]} if "beta" in changed else {}
    status, body = post("/v1/messages", {**follow_up, **{k: v for k, v in changed.items() if k != "beta"}}, **beta)
    assert (status, says in str(body)) == (400 if says else 200, True)


# --- Responses ------------------------------------------------------------------------------------------------------


def reasoned() -> tuple[list[Plain], Plain]:
    """The output of an answer that reasons and calls a tool, and the request that sends the result back."""
    answer = accepted("/v1/responses", {"model": "m", "input": SCRIPT})
    output = answer["output"]
    result = {"type": "function_call_output", "call_id": output[1]["call_id"], "output": "4"}
    return output, {"model": "m", "input": [{"role": "user", "content": SCRIPT}, *output, result]}


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


def test_responses_notices_altered_reasoning() -> None:
    _, follow_up = reasoned()
    thought = follow_up["input"][1]
    thought["encrypted_content"] = thought["encrypted_content"][:-8] + "AAAAAAA="
    assert "could not be verified" in refused("/v1/responses", follow_up)


def test_responses_notices_reasoning_without_the_item_it_produced() -> None:
    _, follow_up = reasoned()
    del follow_up["input"][2:]
    follow_up["input"].append({"role": "user", "content": "hi"})
    assert "was provided without its required following item" in refused("/v1/responses", follow_up)


def test_responses_notices_an_item_without_its_reasoning_unless_it_lost_its_id() -> None:
    _, follow_up = reasoned()
    del follow_up["input"][1]
    assert "without its required 'reasoning' item: 'rs_" in refused("/v1/responses", follow_up)
    del follow_up["input"][1]["id"]
    accepted("/v1/responses", follow_up)


def test_responses_has_not_stored_what_is_only_named() -> None:
    _, follow_up = reasoned()
    del follow_up["input"][1]["encrypted_content"]
    assert "not found. Items are not persisted" in refused("/v1/responses", follow_up, 404)


# --- Chat -----------------------------------------------------------------------------------------------------------


def chatted(vendor: str, script: str = SCRIPT) -> tuple[Plain, Plain]:
    """The message of an answer that thinks and calls a tool, and the request that sends the result back."""
    said = [{"role": "user", "content": script}]
    message = accepted(f"{vendor}/chat/completions", {"model": "m", "messages": said})["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "4"}
    return message, {"model": "m", "messages": [*said, deepcopy(message), result]}


def test_openai_shows_nothing_of_its_reasoning_over_chat() -> None:
    message, follow_up = chatted("/v1")
    assert message["content"] is None
    assert not any("reasoning" in name for name in message)
    assert accepted("/v1/chat/completions", follow_up)["choices"][0]["message"]["content"] == "Four degrees."


def test_a_host_that_wants_its_reasoning_text_back_gets_it_or_refuses() -> None:
    """BUGS 5"""
    message, follow_up = chatted("/deepseek")
    assert message["reasoning_content"] == "The user asks for the weather."
    accepted("/deepseek/chat/completions", follow_up)
    del follow_up["messages"][1]["reasoning_content"]
    assert "must be passed back" in refused("/deepseek/chat/completions", follow_up)


def test_a_host_that_signs_details_takes_them_back_unchanged_only() -> None:
    message, follow_up = chatted("/openrouter", "reason One.\nreason\ncall f")
    shown, hidden = message["reasoning_details"]
    assert (shown["type"], hidden["type"]) == ("reasoning.text", "reasoning.encrypted")
    path = "/openrouter/chat/completions"
    accepted(path, follow_up)

    def changed(change: Callable[[list[Plain]], Any]) -> Plain:
        other = deepcopy(follow_up)
        change(other["messages"][1]["reasoning_details"])
        return other

    assert "Invalid `signature`" in refused(path, changed(lambda details: details[0].update(text="Two.")))
    assert "Invalid `signature`" in refused(path, changed(lambda details: details[1].update(data="c2lt")))
    assert "must be passed back unchanged" in refused(path, changed(lambda details: details.pop()))
    assert "must be passed back unchanged" in refused(path, changed(lambda details: details.reverse()))
    moved = deepcopy(follow_up)
    moved["messages"][0]["content"] = "Something else"
    assert "cannot be modified or moved" in refused(path, moved)


def test_a_host_with_short_call_ids_makes_and_takes_them() -> None:
    message, follow_up = chatted("/mistral", "call f {}")
    assert len(message["tool_calls"][0]["id"]) == 9
    accepted("/mistral/chat/completions", follow_up)


# --- Gemini ---------------------------------------------------------------------------------------------------------


def contents(*said: str | list[Plain], **fields: Any) -> Plain:
    """A request of the user and the model in turn: texts, or parts."""
    roles = ("user", "model")
    parts: list[list[Plain]] = [[{"text": one}] if isinstance(one, str) else one for one in said]
    return {"contents": [{"role": roles[i % 2], "parts": one} for i, one in enumerate(parts)], **fields}


def result_of(call: Plain, **fields: Any) -> Plain:
    """What a call gave."""
    return {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "4"}, **fields}}


GEMINI = "/v1beta/models/gemini-3-flash:generateContent"
SHOWN: Any = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def said_by_gemini(script: str = SCRIPT, path: str = GEMINI, **fields: Any) -> tuple[list[Plain], Plain]:
    """The parts of an answer that calls functions, and the request that sends back what they gave."""
    (candidate,) = accepted(path, contents(script, **fields))["candidates"]
    parts = candidate["content"]["parts"]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return parts, contents(script, deepcopy(parts), [result_of(call) for call in calls], **fields)


def test_gemini_signs_a_call_and_shows_its_thoughts_where_they_are_asked_for() -> None:
    parts, follow_up = said_by_gemini()
    assert [part.get("thought") for part in parts] == [None]
    assert parts[0]["thoughtSignature"]
    parts, follow_up = said_by_gemini(**SHOWN)
    assert parts[0] == {"text": "The user asks for the weather.", "thought": True}
    final = accepted(GEMINI, follow_up)
    thought, text, tail = final["candidates"][0]["content"]["parts"]
    assert (thought["thought"], text["text"], tail["text"]) == (True, "Four degrees.", "")
    said = [*follow_up["contents"], final["candidates"][0]["content"], *contents("Thanks")["contents"]]
    accepted(GEMINI, {"contents": said})


def test_gemini_signs_only_the_first_of_parallel_calls() -> None:
    parts, follow_up = said_by_gemini("call f\ncall g\nsay A.")
    assert ["thoughtSignature" in part for part in parts] == [True, False]
    accepted(GEMINI, follow_up)


def test_gemini_does_not_ask_where_the_thoughts_of_a_finished_turn_are() -> None:
    _, follow_up = said_by_gemini()
    del follow_up["contents"][1]["parts"][0]["thoughtSignature"]
    assert "missing a `thought_signature`" in refused(GEMINI, follow_up)
    follow_up["contents"] += contents([], "Four.", "Thanks")["contents"][1:]
    accepted(GEMINI, {"contents": follow_up["contents"]})


@pytest.mark.parametrize("dummy", ["skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="])
def test_gemini_takes_a_call_of_another_vendor_with_the_word_for_it(dummy: str) -> None:
    _, follow_up = said_by_gemini()
    follow_up["contents"][1]["parts"][0]["thoughtSignature"] = dummy
    accepted(GEMINI, follow_up)


def test_gemini_notices_what_became_of_a_signature() -> None:
    """BUGS 15"""
    script = 'call f {"n": 1}\ncall g\nsay A.'
    _, follow_up = said_by_gemini(script)

    def changed(change: Callable[[list[Plain]], Any]) -> Plain:
        other = deepcopy(follow_up)
        change(other["contents"][1]["parts"])
        return other

    def swap(parts: list[Plain]) -> None:
        parts[1]["thoughtSignature"] = parts[0].pop("thoughtSignature")

    assert "missing a `thought_signature`" in refused(GEMINI, changed(swap))
    accepted(GEMINI, changed(lambda parts: parts[0]["functionCall"]["args"].update(n=2)))
    edited = changed(lambda parts: parts[0]["functionCall"].update(name="h"))
    edited["contents"][2]["parts"][0]["functionResponse"]["name"] = "h"
    assert "Corrupted thought signature" in refused(GEMINI, edited)
    forged = changed(lambda parts: parts[0].update(thoughtSignature="c2lt"))
    assert "Corrupted thought signature" in refused(GEMINI, forged)
    moved = {"contents": [*contents("hi")["contents"], *follow_up["contents"][1:]]}
    assert "not valid in this turn" in refused(GEMINI, moved)


@VENDORS
def test_gemini_notices_a_text_that_is_not_the_one_it_signed() -> None:
    answer = accepted(GEMINI, contents("say One.\nsay Two."))["candidates"][0]["content"]["parts"]
    accepted(GEMINI, contents("say One.\nsay Two.", answer, "Thanks"))
    answer[0]["text"] = "Three."
    assert "Corrupted thought signature" in refused(GEMINI, contents("say One.\nsay Two.", answer, "Thanks"))


def test_older_models_of_gemini_sign_nothing_and_give_calls_no_ids() -> None:
    path = "/v1beta/models/gemini-2.0-flash:generateContent"
    (candidate,) = accepted(path, contents("call f\nsay A."))["candidates"]
    assert candidate["content"]["parts"] == [{"functionCall": {"name": "f", "args": {}}}]
    gave = [{"functionResponse": {"name": "f", "response": {"output": "4"}}}]
    final = accepted(path, contents("call f\nsay A.", candidate["content"]["parts"], gave))
    assert final["candidates"][0]["content"]["parts"] == [{"text": "A."}]


def test_what_gemini_has_and_the_simulator_has_not_is_said() -> None:
    assert "one candidate" in refused(GEMINI, contents("hi", generationConfig={"candidateCount": 2}))
    assert "does not speak" in refused(GEMINI, contents("hi", generationConfig={"responseModalities": ["AUDIO"]}))
    assert "CachedContent not found" in refused(GEMINI, contents("hi", cachedContent="cachedContents/x"), 403)


def test_gemini_counts_what_stands_inside_and_what_stands_alone() -> None:
    path = GEMINI.replace("generateContent", "countTokens")
    assert accepted(path, contents("12345678")) == {"totalTokens": 2}
    asked = {"model": "models/gemini-3-flash", **contents("12345678")}
    assert accepted(path, {"generateContentRequest": asked}) == {"totalTokens": 2}
    assert "contents is not specified" in refused(path, contents())


# --- what all have in common ----------------------------------------------------------------------------------------

PATHS = {
    "openai_responses": "/v1/responses",
    "openai_chat": "/v1/chat/completions",
    "anthropic_messages": "/v1/messages",
    "ollama_chat": "/api/chat",
    "gemini_generate_content": "/v1beta/models/m:generateContent",
}


def plainly(wire: str, text: str, **fields: Any) -> Plain:
    if wire == "gemini_generate_content":
        return {**contents(text), **fields}
    said = {"input": text} if wire == "openai_responses" else {"messages": [{"role": "user", "content": text}]}
    needed: Plain = {"anthropic_messages": {"max_tokens": 999}, "ollama_chat": {"stream": False}}.get(wire, {})
    return {"model": "m", **said, **needed, **fields}


def message_of(body: Plain) -> str:
    error = body["error"]
    return error if isinstance(error, str) else str(error["message"])


@pytest.mark.parametrize("wire", PATHS)
def test_errors_are_spelled_as_the_vendor_spells_them(wire: str) -> None:
    """BUGS 48"""
    status, body = post(PATHS[wire], plainly(wire, "fail 529 Too much."))
    assert (status, message_of(body)) == (529, "Too much.")
    if wire == "anthropic_messages":
        assert (body["type"], body["error"]["type"]) == ("error", "overloaded_error")
        assert body["request_id"].startswith("req_")


def test_what_is_not_simulated_is_said() -> None:
    for fields, message in (({"n": 2}, "one choice"), ({"modalities": ["text", "audio"]}, "text only")):
        assert message in refused("/v1/chat/completions", plainly("openai_chat", "hi", **fields))


@pytest.mark.parametrize("wire", PATHS)
def test_reserved_words_stand_for_a_wrong_key_and_an_unknown_model(wire: str) -> None:
    wrong = 400 if wire == "gemini_generate_content" else 401
    assert post(PATHS[wire], plainly(wire, "hi"), authorization="Bearer invalid")[0] == wrong
    assert post(PATHS[wire], plainly(wire, "hi"), x_api_key="invalid")[0] == wrong
    assert post(PATHS[wire], plainly(wire, "hi"), x_api_key="anything")[0] == 200
    named = {} if "/m:" in PATHS[wire] else {"model": "missing"}
    status, body = post(PATHS[wire].replace("/m:", "/missing:"), plainly(wire, "hi", **named))
    assert status in (400, 404)
    assert "missing" in message_of(body)


@pytest.mark.parametrize("wire", PATHS)
def test_the_key_invalid_is_refused_in_process_too(wire: str) -> None:
    with Client("simulator/x", wire=wire, api_key="invalid") as llm, pytest.raises(AuthenticationError):
        llm.generate("hi")
    with Client("simulator/x", wire=wire, api_key="any") as llm:
        assert llm.generate("hi").output_text == "hi"


@pytest.mark.parametrize("wire", PATHS)
def test_the_same_request_gets_the_same_bytes(wire: str) -> None:
    """BUGS 81"""
    sent = json.dumps(plainly(wire, SCRIPT)).encode()
    headers = [("anthropic-version", "2026-10-21")]
    assert server[0].handle("POST", PATHS[wire], headers, sent) == server[0].handle("POST", PATHS[wire], headers, sent)


# --- through the client ---------------------------------------------------------------------------------------------

TOOLS = [{"type": "function", "name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}]


def continued(said: list[Any], reply: Reply) -> list[Any]:
    """The conversation with the answer and what its calls gave."""
    outputs = [FunctionCallOutput(call_id=call.call_id, output="4") for call in reply.function_calls]
    return [*said, *reply.output, *outputs]


def check(first: Reply, second: Reply) -> None:
    (call,) = first.function_calls
    assert (call.name, msgspec.json.decode(call.arguments)) == ("get_weather", {"city": "Oslo"})
    assert second.output_text == "Four degrees."
    assert first.status == second.status == "completed"
    assert int(second.info.metadata["total_tokens"]) > 0


@pytest.mark.parametrize("wire", PATHS)
def test_the_client_has_a_tool_conversation_in_process(wire: str) -> None:
    said: list[Any] = [Message(role="user", content=SCRIPT)]
    with Client("simulator/x", wire=wire, on_loss="raise") as llm:
        first = llm.generate(said, tools=TOOLS)
        check(first, llm.generate(continued(said, first), tools=TOOLS))


@pytest.mark.parametrize("wire", PATHS)
def test_every_wire_counts_the_same(wire: str) -> None:
    with Client("simulator/x", wire=wire) as llm:
        usage = llm.generate("say Hello, world.", tools=TOOLS).usage
    assert usage
    assert (usage.input_tokens, usage.output_tokens) == (5 + 3 + 3 + 20, 4)


def test_errors_arrive_as_the_classes_of_their_kind() -> None:
    with Client("simulator/x", wire="anthropic_messages") as llm:
        with pytest.raises(OverloadedError, match="Busy"):
            llm.generate("fail 529 Busy.")
        with pytest.raises(BadRequestError, match="Not like this"):
            llm.generate("fail 400 Not like this.")


def test_a_thought_out_of_its_place_is_an_invalid_reasoning_state() -> None:
    """BUGS 14"""
    said: list[Any] = [Message(role="user", content=SCRIPT)]
    with Client("simulator/x", wire="openai_responses") as llm:
        thought = llm.generate(said, tools=TOOLS).output[0]
        assert isinstance(thought, Reasoning)
        with pytest.raises(ReasoningStateError, match="without its required following item"):
            llm.generate([Message(role="user", content="hi"), thought, Message(role="user", content="ho")])


@pytest.mark.parametrize("other", ["openai_chat", "openai_responses"])
def test_thoughts_survive_a_walk_through_another_wire_and_a_file(other: str) -> None:
    """BUGS 11"""
    said: list[Any] = [Message(role="user", content=SCRIPT)]
    with Client("simulator/x", wire="anthropic_messages") as llm:
        first = llm.generate(said, tools=TOOLS)
        history = continued(said, first)
        last = llm.generate(history, tools=TOOLS)
        history += [*last.output, Message(role="user", content="say Noted.")]
    history = msgspec.json.decode(msgspec.json.encode(history))
    with Client("simulator/x", wire=other, on_loss="ignore") as llm:
        history += llm.generate(history, tools=TOOLS).output
    history.append(Message(role="user", content="say Welcome back."))
    with Client("simulator/x", wire="anthropic_messages", on_loss="raise") as llm:
        reply = llm.generate(history, tools=TOOLS)
    assert reply.output_text == "Welcome back."
    assert [loss for loss in reply.info.losses if loss.kind != "withheld"] == []


def test_every_wire_can_be_spoken_to() -> None:
    assert set(PATHS) == set(wires.NAMES)
