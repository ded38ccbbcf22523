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
from tests.gateway.upstreams import VERSION, question

Plain = dict[str, Any]

SCRIPT = (
    'reason The user asks for the weather.\ncall get_weather {"city": "Oslo"}\nreason It is cold.\nsay Four degrees.'
)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

server: list[Any] = [simulator]


@pytest.fixture(autouse=True, params=[simulator, peers], ids=["sealed alike", "sealed as the vendors do"])
def answering(request: pytest.FixtureRequest) -> Any:
    """The simulator, and the one with the signatures of the vendors."""
    server[:] = [request.param]
    return request.param


def post(path: str, document: Plain, **headers: str) -> tuple[int, Plain]:
    """The simulator's answer to a vendor's own JSON."""
    sent = [*VERSION.items(), *((name.replace("_", "-"), value) for name, value in headers.items())]
    status, _, body = server[0].handle("POST", path, sent, json.dumps(document).encode())
    return status, json.loads(body)


def accepted(path: str, document: Plain) -> Plain:
    status, body = post(path, document)
    assert status == 200, body
    return body


def refused(path: str, document: Plain, status: int = 400) -> str:
    found, body = post(path, document)
    assert found == status, body
    return message_of(body)


def message_of(body: Plain) -> str:
    error = body["error"]
    return error if isinstance(error, str) else str(error["message"])


# --- conversations --------------------------------------------------------------------------------------------------

MESSAGES, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"
DEEPSEEK, MISTRAL, OPENROUTER = (f"/{host}/chat/completions" for host in ("deepseek", "mistral", "openrouter"))
GEMINI, OLDER_GEMINI = (f"/v1beta/models/gemini-{version}-flash:generateContent" for version in ("3", "2.0"))


def user(content: Any) -> Plain:
    return {"role": "user", "content": content}


def asked(path: str, script: str, **fields: Any) -> Plain:
    """The first request of a conversation."""
    if "generateContent" in path:
        return {"contents": [{"role": "user", "parts": [{"text": script}]}], **fields}
    if path == MESSAGES:
        return {"model": "claude-sonnet-5", "max_tokens": 2000, "messages": [user(script)], **fields}
    return {"model": "m", "input" if path == RESPONSES else "messages": [user(script)], **fields}


def conversation(document: Plain) -> list[Plain]:
    return next(document[name] for name in ("contents", "input", "messages") if name in document)


def said_in(answer: Plain) -> list[Plain]:
    """The output of the model, as it is returned in the next request."""
    match answer:
        case {"candidates": [{"content": content}]}:
            return [content]
        case {"choices": [{"message": message}]}:
            return [message]
        case {"output": output}:
            return output
        case _:
            return [{"role": "assistant", "content": answer["content"]}]


def results(said: list[Plain]) -> list[Plain]:
    """The results of the calls."""
    found: list[Plain] = []
    for entry in said:
        match entry:
            case {"type": "function_call", "call_id": id}:
                found.append({"type": "function_call_output", "call_id": id, "output": "4"})
            case {"tool_calls": calls}:
                found += [{"role": "tool", "tool_call_id": call["id"], "content": "4"} for call in calls]
            case {"parts": parts}:
                calls = [part["functionCall"] for part in parts if "functionCall" in part]
                named = [{name: call[name] for name in ("id", "name") if name in call} for call in calls]
                responses = [{"functionResponse": {**call, "response": {"output": "4"}}} for call in named]
                found.append({"role": "user", "parts": responses})
            case {"content": [*blocks]}:
                ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
                found.append(user([{"type": "tool_result", "tool_use_id": id, "content": "4"} for id in ids]))
            case _:
                pass
    return found


def turn(path: str, script: str = SCRIPT, **fields: Any) -> tuple[list[Plain], Plain]:
    """The output of the model, and the request that returns it with the results of its calls."""
    document = asked(path, script, **fields)
    said = said_in(accepted(path, document))
    follow_up = deepcopy(document)
    conversation(follow_up).extend([*deepcopy(said), *results(said)])
    return said, follow_up


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES, CHAT, DEEPSEEK, MISTRAL, OPENROUTER, GEMINI, OLDER_GEMINI])
def test_a_conversation_with_reasoning_and_a_tool_is_accepted(path: str) -> None:
    _, follow_up = turn(path)
    said = said_in(accepted(path, follow_up))
    assert "Four degrees." in json.dumps(said)
    conversation(follow_up).extend([*said, *conversation(asked(path, "Thanks"))])
    accepted(path, follow_up)


TWO, MIXED, PARALLEL = (
    "reason One.\nreason Two.\ncall f",
    "reason One.\nreason\ncall f",
    'call f {"n": 1}\ncall g\nsay A.',
)
MARK = {"cache_control": {"type": "ephemeral"}}
ANSWERED = ({"role": "assistant", "content": "4."}, user("Thanks"))
GEMINI_ANSWERED = ({"role": "model", "parts": [{"text": "4."}]}, {"role": "user", "parts": [{"text": "Thanks"}]})
DUMMIES = ("skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")


def renamed(said: list[Plain]) -> None:
    """Another name of a function, in its call and in its response."""
    said[1]["parts"][0]["functionCall"]["name"] = said[2]["parts"][0]["functionResponse"]["name"] = "h"


def moved(parts: list[Plain]) -> None:
    """The signature of the first part on the second."""
    parts[1]["thoughtSignature"] = parts[0].pop("thoughtSignature")


CHANGES: list[tuple[str, str, Callable[[Any], Any], str]] = [
    (MESSAGES, TWO, lambda said: said[1]["content"][0].update(thinking="One!"), "Invalid `signature` in `thinking`"),
    (MESSAGES, TWO, lambda said: said[1]["content"][0].update(signature="AAAA"), "Invalid `signature` in `thinking`"),
    (MESSAGES, TWO, lambda said: said[1]["content"].insert(0, said[1]["content"].pop(1)), "cannot be modified"),
    (MESSAGES, TWO, lambda said: said[1]["content"].pop(0), "cannot be modified"),
    (MESSAGES, TWO, lambda said: said[0].update(content="hi"), "cannot be modified"),
    (MESSAGES, TWO, lambda said: said[0].update(content=[{"type": "text", "text": TWO, **MARK}]), ""),
    (MESSAGES, TWO, lambda said: (said[1]["content"].pop(0), said.extend(ANSWERED)), ""),
    (MESSAGES, "reason\ncall f", lambda said: said[1]["content"][0].update(data="AAAA"), "Invalid `data`"),
    (RESPONSES, SCRIPT, lambda said: said[1].update(encrypted_content="gAAAAAAA="), "could not be verified"),
    (RESPONSES, SCRIPT, lambda said: said.__setitem__(slice(2, None), [user("hi")]), "without its required following item"),
    (RESPONSES, SCRIPT, lambda said: said.pop(1), "without its required 'reasoning' item: 'rs_"),
    (RESPONSES, SCRIPT, lambda said: said[1].pop("encrypted_content"), "not found. Items are not persisted"),
    (RESPONSES, SCRIPT, lambda said: (said.pop(1), said[1].pop("id")), ""),
    (DEEPSEEK, SCRIPT, lambda said: said[1].pop("reasoning_content"), "must be passed back"),
    (OPENROUTER, MIXED, lambda said: said[1]["reasoning_details"][0].update(text="Two."), "Invalid `signature`"),
    (OPENROUTER, MIXED, lambda said: said[1]["reasoning_details"][1].update(data="c2lt"), "Invalid `signature`"),
    (OPENROUTER, MIXED, lambda said: said[1]["reasoning_details"].pop(), "must be passed back unchanged"),
    (OPENROUTER, MIXED, lambda said: said[1]["reasoning_details"].reverse(), "must be passed back unchanged"),
    (OPENROUTER, MIXED, lambda said: said[0].update(content="Something else"), "cannot be modified or moved"),
    (GEMINI, SCRIPT, lambda said: said[1]["parts"][0].pop("thoughtSignature"), "missing a `thought_signature`"),
    (GEMINI, SCRIPT, lambda said: (said[1]["parts"][0].pop("thoughtSignature"), said.extend(GEMINI_ANSWERED)), ""),
    (GEMINI, SCRIPT, lambda said: said[1]["parts"][0].update(thoughtSignature=DUMMIES[0]), ""),
    (GEMINI, SCRIPT, lambda said: said[1]["parts"][0].update(thoughtSignature=DUMMIES[1]), ""),
    (GEMINI, PARALLEL, lambda said: said[1]["parts"][0]["functionCall"]["args"].update(n=2), ""),
    (GEMINI, PARALLEL, lambda said: moved(said[1]["parts"]), "missing a `thought_signature`"),
    (GEMINI, PARALLEL, renamed, "Corrupted thought signature"),
    (GEMINI, PARALLEL, lambda said: said[1]["parts"][0].update(thoughtSignature="c2lt"), "Corrupted thought signature"),
    (GEMINI, PARALLEL, lambda said: said[0].update(parts=[{"text": "hi"}]), "not valid in this turn"),
]  # fmt: skip
"""The path, the script, what a client changes in the conversation that it returns, and the error, if it is one."""


@pytest.mark.parametrize(("path", "script", "change", "message"), CHANGES)
def test_what_is_returned_is_checked(path: str, script: str, change: Callable[[Any], Any], message: str) -> None:
    """BUGS 1, 5, 8, 15"""
    _, follow_up = turn(path, script)
    accepted(path, follow_up)
    change(conversation(follow_up))
    if message:
        assert message in refused(path, follow_up, 404 if "not found" in message else 400)
    else:
        accepted(path, follow_up)


@pytest.mark.parametrize("answering", [peers], indirect=True)
def test_the_signature_of_gemini_covers_a_text() -> None:
    """In the format of the vendor; the simulator signs calls alone."""
    script = "say One.\nsay Two."
    (said,) = said_in(accepted(GEMINI, asked(GEMINI, script)))
    follow_up = {"contents": [*asked(GEMINI, script)["contents"], said, GEMINI_ANSWERED[1]]}
    accepted(GEMINI, follow_up)
    said["parts"][0]["text"] = "Three."
    assert "Corrupted thought signature" in refused(GEMINI, follow_up)


# --- the formats of the vendors -------------------------------------------------------------------------------------


def test_messages_answers_as_anthropic_does() -> None:
    (message,), follow_up = turn(MESSAGES)
    thought, call = message["content"]
    assert thought["thinking"] == "The user asks for the weather."
    assert (call["type"], call["name"], call["input"]) == ("tool_use", "get_weather", {"city": "Oslo"})
    assert call["id"].startswith("toolu_")
    final = accepted(MESSAGES, follow_up)
    assert (final["type"], final["id"][:4], final["stop_reason"]) == ("message", "msg_", "end_turn")
    assert [block["type"] for block in final["content"]] == ["thinking", "text"]
    assert final["usage"]["output_tokens"] > 0
    (message,), follow_up = turn(MESSAGES, thinking={"type": "adaptive", "display": "omitted"})
    assert message["content"][0]["thinking"] == ""
    accepted(MESSAGES, follow_up)


BETA = "thinking-binding-controls-2026-08-01"
DROP: Plain = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BOUND = "bound to a different conversation"


@pytest.mark.parametrize(
    ("model", "fields", "message"),
    [
        ("claude-opus-5-5", {"system": "Be long."}, BOUND),
        ("claude-opus-5-5", {"tools": [{"name": "f", "input_schema": PARAMETERS}]}, BOUND),
        ("claude-opus-5-5", {"system": [{"type": "text", "text": "Be brief.", **MARK}]}, ""),
        ("claude-sonnet-5", {"system": "Be long."}, ""),
        ("claude-opus-5-5", {"max_tokens": 3000, "output_config": {"effort": "low"}}, ""),
        ("claude-opus-5-5", {"system": "Be long.", "thinking": DROP, "beta": BETA}, ""),
        ("claude-opus-5-5", {"thinking": DROP}, "thinking.block_binding: Extra inputs are not permitted"),
        ("claude-sonnet-5-5", {"thinking": {**DROP, "type": "between_tools"}, "beta": BETA}, "Extra inputs"),
    ],
)
def test_newer_models_bind_thinking_to_everything_before_it(model: str, fields: Plain, message: str) -> None:
    _, follow_up = turn(MESSAGES, model=model, system="Be brief.")
    beta = {"anthropic_beta": fields["beta"]} if "beta" in fields else {}
    status, body = post(MESSAGES, {**follow_up, **{k: v for k, v in fields.items() if k != "beta"}}, **beta)
    assert (status, message in str(body)) == (400 if message else 200, True)


def test_responses_answers_as_openai_does() -> None:
    """BUGS 7"""
    (thought, call), follow_up = turn(RESPONSES)
    assert thought["summary"] == [{"type": "summary_text", "text": "The user asks for the weather."}]
    assert thought["encrypted_content"].startswith("gAAAA")
    assert call["arguments"] == '{"city": "Oslo"}'
    assert [item["type"] for item in said_in(accepted(RESPONSES, follow_up))] == ["reasoning", "message"]


def test_hosts_of_chat_return_reasoning_in_fields_of_their_own_or_not_at_all() -> None:
    (message,), _ = turn(CHAT)
    assert message["content"] is None
    assert not any("reasoning" in name for name in message)
    assert turn(DEEPSEEK)[0][0]["reasoning_content"] == "The user asks for the weather."
    assert len(turn(MISTRAL)[0][0]["tool_calls"][0]["id"]) == 9
    (message,), _ = turn(OPENROUTER, MIXED)
    assert [detail["type"] for detail in message["reasoning_details"]] == ["reasoning.text", "reasoning.encrypted"]


def test_gemini_signs_the_first_call_and_returns_thoughts_where_they_are_requested() -> None:
    (content,), _ = turn(GEMINI, PARALLEL)
    assert ["thoughtSignature" in part for part in content["parts"]] == [True, False], "the first of parallel calls"
    (content,), _ = turn(GEMINI)
    assert [part.get("thought") for part in content["parts"]] == [None]
    (content,), follow_up = turn(GEMINI, generationConfig={"thinkingConfig": {"includeThoughts": True}})
    assert content["parts"][0] == {"text": "The user asks for the weather.", "thought": True}
    (content,) = said_in(accepted(GEMINI, follow_up))
    thought, text, tail = content["parts"]
    assert (thought["thought"], text["text"], tail["text"]) == (True, "Four degrees.", "")


def test_older_models_of_gemini_have_neither_signatures_nor_call_ids() -> None:
    (content,), follow_up = turn(OLDER_GEMINI, "call f\nsay A.")
    assert content["parts"] == [{"functionCall": {"name": "f", "args": {}}}]
    assert said_in(accepted(OLDER_GEMINI, follow_up))[0]["parts"] == [{"text": "A."}]


def test_gemini_counts_tokens_in_both_forms_of_a_request() -> None:
    path = GEMINI.replace("generateContent", "countTokens")
    assert accepted(path, asked(GEMINI, "12345678")) == {"totalTokens": 2}
    request = {"model": "models/gemini-3-flash", **asked(GEMINI, "12345678")}
    assert accepted(path, {"generateContentRequest": request}) == {"totalTokens": 2}
    assert "contents is not specified" in refused(path, {"contents": []})


# --- every wire -----------------------------------------------------------------------------------------------------

every_wire = pytest.mark.parametrize("wire", wires.NAMES)


@every_wire
def test_an_error_has_the_format_of_the_vendor(wire: str) -> None:
    """BUGS 48"""
    status, body = post(*question(wire, "m", "fail 529 Too much."))
    assert (status, message_of(body)) == (529, "Too much.")
    if wire == "anthropic_messages":
        assert (body["type"], body["error"]["type"]) == ("error", "overloaded_error")
        assert body["request_id"].startswith("req_")


@pytest.mark.parametrize(
    ("path", "fields", "message", "status"),
    [
        (CHAT, {"n": 2}, "one choice", 400),
        (CHAT, {"modalities": ["text", "audio"]}, "text only", 400),
        (GEMINI, {"generationConfig": {"candidateCount": 2}}, "one candidate", 400),
        (GEMINI, {"generationConfig": {"responseModalities": ["AUDIO"]}}, "does not speak", 400),
        (GEMINI, {"cachedContent": "cachedContents/x"}, "CachedContent not found", 403),
    ],
)
def test_what_is_not_simulated_is_refused(path: str, fields: Plain, message: str, status: int) -> None:
    assert message in refused(path, asked(path, "hi", **fields), status)


@every_wire
def test_a_key_and_a_model_are_reserved_for_errors(wire: str) -> None:
    path, document = question(wire, "m", "hi")
    wrong = 400 if wire == "gemini_generate_content" else 401
    assert post(path, document, authorization="Bearer invalid")[0] == wrong
    assert post(path, document, x_api_key="invalid")[0] == wrong
    assert post(path, document, x_api_key="anything")[0] == 200
    status, body = post(*question(wire, "missing", "hi"))
    assert status in (400, 404)
    assert "missing" in message_of(body)
    with Client("simulator/x", wire=wire, api_key="invalid") as llm, pytest.raises(AuthenticationError):
        llm.generate("hi")


@every_wire
def test_the_same_request_gets_the_same_bytes(wire: str) -> None:
    """BUGS 81"""
    path, document = question(wire, "m", SCRIPT)
    one, same = (server[0].handle("POST", path, VERSION, json.dumps(document).encode()) for _ in range(2))
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
