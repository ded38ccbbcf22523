"""What the simulated vendors refuse: everything the real ones refuse, and nothing that they accepted."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.errors import ErrorFacts
from llm_rest.server.handler import Context
from llm_rest.simulator import MAKERS
from llm_rest.simulator.refusals import TESTS, problems, reserved, rules
from llm_rest.vendors.dialects import CHAT_HOSTS, ResponsesDialect
from llm_rest.vendors.models import UNKNOWN, capabilities, check
from llm_rest.vendors.rows import DIALECTS
from tests.corpus import RENAMED, exchanges

VERSION = {"anthropic-version": "2026-10-21"}
TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
TIFF = {"type": "base64", "media_type": "image/tiff", "data": ""}
THOUGHT = {"type": "thinking", "thinking": "x", "signature": "c2ln"}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "1"}


def context(wire: str, dialect: Any = None, headers: dict[str, str] | None = None, model: str | None = None) -> Context:
    spoken = dialect or DIALECTS[wire]()
    return Context(wire=wire, dialect=spoken, vendor=None, model=model, headers=headers or {}, body=b"")


def refusal(document: dict[str, Any], context: Context) -> ErrorFacts | None:
    return next(problems(document, context, "~*"), None)


def says(facts: ErrorFacts | None) -> str:
    assert facts is not None, "accepted"
    assert facts.status in (400, 404)
    return facts.message


# --- nothing that was accepted --------------------------------------------------------------------------------------


def complaints(wire: str) -> dict[str, list[str]]:
    """What the peer has against recorded requests that the real host answered, by the name of the recording."""
    # The recordings lost their headers; the SDK that made some of them asks for betas in the query.
    betas = "mcp-client-2025-11-20,context-management-2025-06-27"
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": betas}
    accepted = [one for one in exchanges(wire) if one.question and one.response.status == 200]
    assert len(accepted) > 200
    found = {}
    for one in accepted:
        # As a client resolves it: opaque state belongs to the host itself.
        dialect = msgspec.structs.replace(one.dialect, issuer=one.vendor)
        asked = json.loads(one.question or b"")
        found[one.id] = [found.message for found in problems(asked, context(wire, dialect, headers, one.model))]
    return {name: wrong for name, wrong in found.items() if wrong}


# The reference requires that the user begins; one model was seen to accept something else.
EXCEPTIONS = {"anthropic_messages": [['messages: first message must use the "user" role']]}


@pytest.mark.parametrize("wire", [name for name in wires.NAMES if name != "ollama_chat"])
def test_every_recorded_request_is_accepted(wire: str) -> None:
    assert list(complaints(wire).values()) == EXCEPTIONS.get(wire, [])


@pytest.mark.parametrize("wire", wires.NAMES)
def test_no_recorded_request_is_refused_for_its_model(wire: str) -> None:
    module, seen = wires.load(wire), 0
    for exchange in exchanges(wire):
        if exchange.question is None or exchange.response.status != 200:
            continue
        asked = module.REQUEST.decode(exchange.question)
        request, _ = module.decode_request(asked, dialect=exchange.dialect, model=exchange.model)
        vendor = RENAMED.get(exchange.vendor, exchange.vendor)
        known = capabilities(str(request.model), MAKERS.get(vendor, vendor))
        assert check(request, known, wire) == [], exchange.id
        seen += known is not UNKNOWN
    assert wire == "ollama_chat" or seen >= 100


# --- Messages -------------------------------------------------------------------------------------------------------


def messages(*said: Any, **fields: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    told = [
        m if isinstance(m, dict) and "role" in m else {"role": roles[i % 2], "content": m} for i, m in enumerate(said)
    ]
    return {"model": "claude-sonnet-5", "max_tokens": 4096, "messages": told, **fields}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (messages(), "messages: at least one message is required"),
        (messages("hi", temperature=1.0), "temperature: Extra inputs are not permitted"),
        (messages("hi", mcp_servers=[]), "mcp_servers: Extra inputs are not permitted"),
        (messages("hi", nonsense=1), "nonsense: Extra inputs are not permitted"),
        (messages("hi", stop_sequences=["a", " "]), "stop_sequences.1"),
        (messages({"role": "assistant", "content": "hi"}, "ho"), 'first message must use the "user" role'),
        (messages({"role": "system", "content": "hi"}), 'first message must use the "user" role'),
        (messages({"role": "tool", "content": "hi"}), "messages.0.role"),
        (messages([{"type": "text", "text": ""}]), "text content blocks must be non-empty"),
        (messages(" \n"), "text content blocks must contain non-whitespace text"),
        (messages("hi", [], "ho"), "messages.1: all messages must have non-empty content"),
        (messages("hi", "ho"), "does not support assistant message prefill"),
        (messages("hi", "ho ", model="claude-haiku-4-5"), "cannot end with trailing whitespace"),
        (messages("hi", [CALL]), "`tool_use` ids were found without `tool_result` blocks immediately after: a"),
        (messages("hi", [CALL], "ho"), "`tool_use` ids were found without `tool_result` blocks immediately after: a"),
        (messages("hi", [CALL], [{"type": "text", "text": "ho"}, RESULT]), "`tool_use` ids were found without"),
        (messages("hi", [CALL], [RESULT, RESULT]), "must have a single result"),
        (messages([RESULT]), "unexpected `tool_use_id` found in `tool_result` blocks: a"),
        (messages("hi", [CALL], [RESULT], "ho", [RESULT]), "unexpected `tool_use_id` found in `tool_result` blocks: a"),
        (messages("hi", [CALL, CALL], [RESULT]), "`tool_use` ids must be unique"),
        (messages("hi", [{**CALL, "id": "a.b"}], [{**RESULT, "tool_use_id": "a.b"}]), "tool_use.id: String should match"),
        (messages([CALL]), "`tool_use` blocks can only be in `assistant` messages"),
        (messages("hi", [RESULT], "ho"), "`tool_result` blocks can only be in `user` messages"),
        (messages("hi", {"role": "system", "content": "be"}, {"role": "user", "content": "ho"}), "followed by an `assistant`"),
        (messages("hi", "ho", {"role": "system", "content": "be"}), "must follow a `user` message"),
        (messages([{"type": "image", "source": TIFF}]), "media_type: Input should be"),
        (messages("hi", tools=[TOOL, TOOL]), "Tool names must be unique"),
        (messages("hi", tools=[{**TOOL, "name": "a b"}]), "tools.0.custom.name: String should match pattern"),
        (messages("hi", tools=[{"name": "f"}]), "tools.0.custom.input_schema: Field required"),
        (messages("hi", tools=[{"name": "f", "input_schema": {}}]), "input_schema.type: Input should be 'object'"),
        (messages("hi", tools=[{**TOOL, "strict": True}]), "'additionalProperties' must be explicitly set to false"),
        (messages("hi", tool_choice={"type": "any"}), "may only be specified while providing tools"),
        (messages("hi", tools=[TOOL], tool_choice={"type": "tool", "name": "g"}), "Tool 'g' not found"),
        (messages("hi", tools=[TOOL], tool_choice={"type": "any"}, model="claude-opus-5-5"), "not supported for this model"),
        (messages("hi", thinking={"type": "enabled", "budget_tokens": 1000}), "greater than or equal to 1024"),
        (messages("hi", thinking={"type": "enabled", "budget_tokens": 4096}), "`max_tokens` must be greater than"),
        (messages("hi", thinking={"type": "enabled"}), "budget_tokens: Field required"),
        (
            messages("hi", tools=[TOOL], tool_choice={"type": "any"}, thinking={"type": "enabled", "budget_tokens": 1024}),
            "Thinking may not be enabled when tool_choice forces tool use",
        ),
        (
            messages("hi", [CALL], [RESULT], thinking={"type": "enabled", "budget_tokens": 1024}),
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
        (
            messages([{"type": "text", "text": str(i), "cache_control": {"type": "ephemeral"}} for i in range(5)]),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            messages("hi", output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}}),
            "'additionalProperties' must be explicitly set to false",
        ),
        (
            messages("hi", output_config={"format": {"type": "json_schema", "schema": {"type": "integer", "minimum": 1}}}),
            "For 'integer' type, property 'minimum' is not supported",
        ),
        (messages("hi", [THOUGHT], "ho"), "Invalid `signature` in `thinking` block"),
        (messages("hi", [{"type": "redacted_thinking", "data": "?"}], "ho"), "Invalid `data` in `redacted_thinking` block"),
    ],
)  # fmt: skip
def test_messages_refuses(document: dict[str, Any], message: str) -> None:
    """BUGS 34, 35, 47"""
    assert message in says(refusal(document, context("anthropic_messages", headers=VERSION)))


BETAS = {"anthropic-version": "2023-06-01", "anthropic-beta": "x, mcp-client-2025-11-20"}
TURN = ({"role": "assistant", "content": "ok"}, {"role": "user", "content": "ho"})


@pytest.mark.parametrize(
    ("document", "headers"),
    [
        (messages("hi", [CALL], [RESULT, {"type": "text", "text": "ho"}]), VERSION),
        (messages({"role": "user", "content": "hi"}, {"role": "user", "content": "ho"}), VERSION),
        (messages("hi", {"role": "system", "content": "be brief"}), VERSION),
        (messages("hi", {"role": "system", "content": "be brief"}, *TURN), VERSION),
        (messages("hi", "Once upon", model="claude-haiku-4-5-20251001"), VERSION),
        (messages("hi", [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]), VERSION),
        (messages("hi", tools=[TOOL], tool_choice={"type": "any"}), VERSION),
        (messages("hi", tools=[{"type": "web_search_20260318", "name": "web_search"}]), VERSION),
        # sampling is for the older version, beta fields for requests that name the beta
        (messages("hi", temperature=0.5, mcp_servers=[]), BETAS),
    ],
)
def test_messages_accepts(document: dict[str, Any], headers: dict[str, str]) -> None:
    assert refusal(document, context("anthropic_messages", headers=headers)) is None


def test_messages_requires_a_version_and_has_no_threads() -> None:
    for headers, message in (({}, "header is required"), ({"anthropic-version": "1"}, "not a valid version")):
        assert message in says(refusal(messages("hi"), context("anthropic_messages", headers=headers)))
    headers = {"anthropic-version": "2026-10-21", "anthropic-beta": "message-threads-2026-08-12"}
    facts = refusal(messages("hi", thread={"type": "create"}), context("anthropic_messages", headers=headers))
    assert facts is not None
    assert (facts.status, facts.code) == (400, "thread_unsupported_request"), "which clients know"


# --- Responses ------------------------------------------------------------------------------------------------------

FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
FUNCTION_CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "1"}


def responses(input: Any = "hi", **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "input": input, **fields}


@pytest.mark.parametrize(
    ("document", "message", "code"),
    [
        ({"model": "m"}, 'One of "input"', "missing_required_parameter"),
        ({"input": "hi"}, "Missing required parameter: 'model'.", "missing_required_parameter"),
        (responses(stop=["a"]), "Unknown parameter: 'stop'.", "unknown_parameter"),
        (responses(extra={}), "Unknown parameter: 'extra'.", "unknown_parameter"),
        (responses(max_output_tokens=5), "integer below minimum value. Expected a value >= 16", "integer_below_min_value"),
        (responses(temperature=-1), "decimal below minimum value. Expected a value >= 0, but got -1", "decimal_below_min_value"),
        (responses(top_p=1.5), "decimal above maximum value", "decimal_above_max_value"),
        (responses(metadata={"a": "b" * 513}), "Invalid 'metadata'", "invalid_value"),
        (responses(text={"format": {"type": "json_object"}}), "must contain the word 'json'", None),
        (responses(text={"format": {"type": "json_schema", "schema": {}}}), "'text.format.name'", "missing_required_parameter"),
        (
            responses(text={"format": {"type": "json_schema", "name": "n", "strict": True, "schema": {"type": "object"}}}),
            "'additionalProperties' is required to be supplied and to be false",
            "invalid_json_schema",
        ),
        (responses(tools=[{**FUNCTION, "strict": True}]), "Invalid schema for function 'f'", "invalid_function_parameters"),
        (responses(tools=[FUNCTION, FUNCTION]), "Duplicate tool name: 'f'.", "invalid_value"),
        (responses(tools=[{**FUNCTION, "name": "a b"}]), "Invalid 'tools[0].name'", "invalid_value"),
        (responses(tools=[{"type": "function"}]), "Missing required parameter: 'tools[0].name'.", "missing_required_parameter"),
        (responses(tool_choice={"type": "function", "function": {"name": "f"}}), "'tool_choice.function'", "unknown_parameter"),
        (responses(tool_choice={"type": "function", "name": "g"}), "Tool choice 'g' not found", None),
        (responses(tool_choice="required"), "must be specified with 'tools'", None),
        (responses([FUNCTION_CALL]), "No tool output found for function call a.", None),
        (responses([OUTPUT]), "No tool call found for function call output with call_id a.", None),
        (responses([OUTPUT, FUNCTION_CALL]), "No tool call found for function call output with call_id a.", None),
        (responses([{**FUNCTION_CALL, "id": "toolu_1"}, OUTPUT]), "Expected an ID that begins with 'fc'", "invalid_value"),
        (responses([FUNCTION_CALL, {**OUTPUT, "is_error": True}]), "'input[1].is_error'", "unknown_parameter"),
        (responses([{"role": "user", "content": "hi", "leftovers": {}}]), "'input[0].leftovers'", "unknown_parameter"),
        (responses([{"type": "nonsense"}]), "Invalid value: 'nonsense'.", "invalid_value"),
        (responses([{"role": "tool", "content": "hi"}]), "Invalid value: 'tool'.", "invalid_value"),
        (
            responses([{"role": "assistant", "content": [{"type": "input_text", "text": "hi"}]}]),
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
            "invalid_value",
        ),
        (responses([{"role": "user", "content": [{"type": "input_image"}]}]), "image_url", "missing_required_parameter"),
        (
            responses([{"role": "user", "content": [{"type": "input_text", "text": "hi", "leftovers": {}}]}]),
            "Unknown parameter: 'input[0].content[0].leftovers'.",
            "unknown_parameter",
        ),
        (responses(previous_response_id="resp_1"), "id 'resp_1' not found.", "previous_response_not_found"),
        (responses(conversation="conv_1"), "Conversation not found.", None),
        (responses([{"type": "item_reference", "id": "msg_1"}]), "Item with id 'msg_1' not found.", None),
        (responses([{}]), "Item with id 'None' not found.", None),
        (responses([{"type": "reasoning", "id": "rs_1", "summary": []}]), "Item with id 'rs_1' not found.", None),
        (
            responses([{"type": "reasoning", "summary": [], "encrypted_content": "llm_rest.1.anthropic_messages.x.y"}]),
            "could not be verified",
            "invalid_encrypted_content",
        ),
    ],
)  # fmt: skip
def test_responses_refuses(document: dict[str, Any], message: str, code: str | None) -> None:
    facts = refusal(document, context("openai_responses"))
    assert message in says(facts)
    assert facts
    assert facts.code == code


def test_responses_accepts_outputs_in_any_order_and_refuses_what_a_host_lacks() -> None:
    other = {**FUNCTION_CALL, "call_id": "b"}, {**OUTPUT, "call_id": "b"}
    document = responses([FUNCTION_CALL, other[0], other[1], {"role": "user", "content": "Hurry"}, OUTPUT])
    assert refusal(document, context("openai_responses")) is None
    lacking = context("openai_responses", ResponsesDialect(lacks=("truncation",)))
    assert "Unknown parameter: 'truncation'." in says(refusal(responses(truncation="auto"), lacking))
    assert refusal(responses(presence_penalty=1), lacking) is None


# --- Chat -----------------------------------------------------------------------------------------------------------

CHAT_TOOL = {"type": "function", "function": {"name": "f"}}
CHAT_CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "1"}
USER = {"role": "user", "content": "hi"}


def chat(*said: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": list(said), **fields}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (chat(), "Invalid 'messages': empty array"),
        (chat(USER, nonsense=1, top_k=2), "Unrecognized request arguments supplied: nonsense, top_k"),
        (chat(USER, model="o3", max_tokens=5), "'max_tokens' is not supported with this model"),
        (chat(USER, stream_options={"include_usage": True}), "only allowed when 'stream' is enabled"),
        (chat(USER, parallel_tool_calls=False), "'parallel_tool_calls' is only allowed when 'tools' are specified"),
        (chat(USER, top_logprobs=2), "only allowed when 'logprobs' is enabled"),
        (chat(USER, stop=list("abcde")), "array too long"),
        (chat(USER, metadata={"a": "b"}), "only allowed when 'store' is enabled"),
        (chat(USER, response_format={"type": "json_object"}), "must contain the word 'json'"),
        (chat(USER, response_format={"type": "json_schema", "json_schema": {}}), "'response_format.json_schema.name'"),
        (
            chat(USER, response_format={"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {}}}),
            "Invalid schema for response_format 'n'",
        ),
        (chat(USER, tools=[CHAT_TOOL, CHAT_TOOL]), "Duplicate function name: 'f'."),
        (chat(USER, tools=[{"type": "function", "function": {}}]), "'tools[0].function.name'"),
        (chat(USER, tools=[{"type": "function", "function": {"name": "a b"}}]), "string does not match pattern"),
        (chat(USER, tools=[{"type": "function", "function": {"name": "f", "strict": True}}]), "Invalid schema for function 'f'"),
        (chat(USER, tool_choice="required"), "'tool_choice' is only allowed when 'tools' are specified"),
        (chat(USER, tools=[CHAT_TOOL], tool_choice={"type": "function", "function": {"name": "g"}}), "no tool named 'g'"),
        (chat({"role": "user", "content": None}), "expected a string, got null"),
        (chat({"role": "nobody", "content": "hi"}), "Invalid value: 'nobody'."),
        (chat(USER, CALLING, {**ANSWER, "content": [{"type": "image_url"}]}), "'image_url'. Supported values are: 'text'."),
        (chat({"role": "user", "content": [{"type": "image_url", "image_url": "https://x"}]}), "expected an object"),
        (chat(USER, CALLING), "did not have response messages: a"),
        (chat(USER, CALLING, USER, ANSWER), "did not have response messages: a"),
        (chat(USER, ANSWER), "must be a response to a preceding message with 'tool_calls'"),
        (chat(USER, CALLING, ANSWER, ANSWER), "must be a response to a preceding message with 'tool_calls'"),
        (chat(USER, {**CALLING, "tool_calls": []}, USER), "expected a string, got null"),
        (chat(USER, {"role": "assistant", "content": "x", "tool_calls": []}, USER), "'messages.[1].tool_calls': empty array"),
        (
            chat(USER, {**CALLING, "tool_calls": [{**CHAT_CALL, "id": "a" * 41}]}, {**ANSWER, "tool_call_id": "a" * 41}),
            "but got 41 instead",
        ),
    ],
)  # fmt: skip
def test_chat_refuses(document: dict[str, Any], message: str) -> None:
    """BUGS 31, 34"""
    assert message in says(refusal(document, context("openai_chat")))


def test_chat_accepts_a_tool_conversation() -> None:
    both = {**CALLING, "tool_calls": [CHAT_CALL, {**CHAT_CALL, "id": "b"}]}
    document = chat({"role": "developer", "content": "be"}, USER, both, {**ANSWER, "tool_call_id": "b"}, ANSWER, USER)
    assert refusal(document, context("openai_chat")) is None


@pytest.mark.parametrize(
    ("host", "document", "message"),
    [
        ("groq", chat({"role": "developer", "content": "be"}, USER), "Invalid value: 'developer'."),
        ("groq", chat(USER, store=False), "Unrecognized request argument supplied: store"),
        (
            "mistral",
            chat(USER, max_completion_tokens=5),
            "Unrecognized request argument supplied: max_completion_tokens",
        ),
        ("mistral", chat(USER, CALLING, ANSWER), "Tool call id was a but must be a-z, A-Z, 0-9, with a length of 9"),
        ("mistral", chat(USER, tools=[CHAT_TOOL]), "parameters: Field required"),
        ("perplexity", chat(USER, USER), "user and assistant roles should alternate"),
        ("deepseek", chat(USER, CALLING, ANSWER), "The `reasoning_content` in the thinking mode must be passed back"),
        ("meta", chat(USER, tools=[CHAT_TOOL], tool_choice="required"), "Invalid value: 'required'."),
        (
            "openrouter",
            chat(
                USER,
                {**CALLING, "reasoning_details": [{"type": "reasoning.text", "text": "x", "signature": "y"}]},
                ANSWER,
            ),
            "Invalid `signature` in `thinking` block",
        ),
    ],
)
def test_hosts_of_chat_refuse(host: str, document: dict[str, Any], message: str) -> None:
    """BUGS 5"""
    assert message in says(refusal(document, context("openai_chat", CHAT_HOSTS[host])))


# --- Gemini ---------------------------------------------------------------------------------------------------------

FUNCTION = {"functionDeclarations": [{"name": "f"}]}
ASKS = {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"}
GAVE = {"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}}


def gemini(*said: Any, **fields: Any) -> dict[str, Any]:
    roles = ("user", "model")
    parts = [[{"text": one}] if isinstance(one, str) else one for one in said]
    return {"contents": [{"role": roles[i % 2], "parts": one} for i, one in enumerate(parts)], **fields}


def configured(**config: Any) -> dict[str, Any]:
    return gemini("hi", generationConfig=config)


def calling(**config: Any) -> dict[str, Any]:
    return gemini("hi", tools=[FUNCTION], toolConfig={"functionCallingConfig": config})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (gemini(), "contents is not specified"),
        (gemini("hi", nonsense=1), 'Unknown name "nonsense": Cannot find field.'),
        (gemini("hi", labels={"a": "b"}), 'Unknown name "labels"'),
        (configured(nonsense=1), "Unknown name \"nonsense\" at 'generation_config'"),
        (gemini([{"text": "hi", "nonsense": 1}]), "Unknown name \"nonsense\" at 'contents[0].parts[0]'"),
        (gemini([]), "contents[0].parts must not be empty"),
        (gemini([{}]), "must have one initialized field"),
        (gemini([{"text": "hi", "inlineData": {"mimeType": "image/png", "data": ""}}]), "is already set"),
        (gemini([{"inlineData": {"data": ""}}]), "mime_type: must be set"),
        ({"contents": [{"role": "system", "parts": [{"text": "hi"}]}]}, "Please use a valid role: user, model."),
        (gemini([ASKS]), "functionCall stands in a content of the role 'model'"),
        (gemini("hi", [GAVE]), "functionResponse stands in a content of the role 'user'"),
        (gemini("hi", [{**ASKS, "functionCall": {"name": "f", "args": [1]}}], [GAVE]), "protobuf.Struct"),
        (gemini("hi", [ASKS], [{"functionResponse": {"id": "a", "name": "f", "response": "1"}}]), "protobuf.Struct"),
        (gemini("hi", [ASKS], [{"functionResponse": {"id": "a", "response": {}}}]), "Name cannot be empty"),
        (gemini("hi", [ASKS], [{"functionResponse": {"id": "b", "name": "f", "response": {}}}]), "the name and the id"),
        (gemini("hi", [ASKS], [{"functionResponse": {"name": "g", "response": {}}}]), "the name and the id"),
        (gemini("hi", [ASKS], "ho"), "number of function response parts is equal"),
        (gemini("hi", [ASKS, ASKS], [GAVE]), "number of function response parts is equal"),
        (gemini([GAVE]), "number of function response parts is equal"),
        ({"contents": gemini("hi", [ASKS])["contents"][1:]}, "immediately after a user turn"),
        (gemini("hi", [{"functionCall": {"id": "a", "name": "f"}}], [GAVE]), "`f` in the 2. content block is missing"),
        (gemini("hi", "ho"), "ends with a content of the role 'model'"),
        (configured(thinkingConfig={"thinkingBudget": 1, "thinkingLevel": "LOW"}), "only one of thinking budget"),
        (configured(logprobs=2), "only be set when response_logprobs is true"),
        (configured(stopSequences=list("abcdef")), "at most 5"),
        (configured(responseSchema={}, responseJsonSchema={}, responseMimeType="application/json"), "Only one of"),
        (configured(responseJsonSchema={}), "only with the response mime type 'application/json'"),
        (gemini("hi", tools=[FUNCTION, FUNCTION]), "Duplicate function declaration found: f"),
        (gemini("hi", tools=[{"functionDeclarations": [{"name": "1f"}]}]), "Invalid function name '1f'"),
        (
            gemini("hi", tools=[{"functionDeclarations": [{"name": "f", "parameters": {}, "parametersJsonSchema": {}}]}]),
            "only one of parameters and parameters_json_schema",
        ),
        (
            gemini("hi", tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "array"}}]}]),
            "should be of type OBJECT",
        ),
        (gemini("hi", tools=[FUNCTION], cachedContent="c"), "CachedContent can not be used"),
        (gemini("hi", toolConfig={"functionCallingConfig": {"mode": "ANY"}}), "set without function_declarations"),
        (calling(mode="SOMETIMES"), "'SOMETIMES'"),
        (calling(mode="AUTO", allowedFunctionNames=["f"]), "may only be set when the mode is ANY or VALIDATED"),
        (calling(mode="ANY", allowedFunctionNames=["g"]), "no tool named so is declared"),
    ],
)  # fmt: skip
def test_gemini_refuses(document: dict[str, Any], message: str) -> None:
    """BUGS 47, 51"""
    assert message in says(refusal(document, context("gemini_generate_content")))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            gemini("hi", tools=[FUNCTION, {"googleSearch": {}}]),
            "(googleSearch) and Function Calling cannot be combined",
        ),
        (
            gemini("hi", tools=[FUNCTION], generationConfig={"responseMimeType": "application/json"}),
            "Function calling with a response mime type",
        ),
    ],
)
def test_older_models_of_gemini_refuse_what_newer_ones_take(document: dict[str, Any], message: str) -> None:
    wire = "gemini_generate_content"
    assert message in says(refusal(document, context(wire, model="gemini-2.5-flash")))
    assert refusal(document, context(wire, model="gemini-3-flash")) is None


def test_gemini_accepts_results_without_ids_as_the_vendors_own_client_sends_them() -> None:
    document = gemini("hi", [ASKS], [{"functionResponse": {"name": "f", "response": {}}}])
    assert refusal(document, context("gemini_generate_content")) is None


def test_gemini_accepts_a_conversation_in_either_spelling() -> None:
    said = gemini("hi", [ASKS], [GAVE, {"text": "Hurry"}], generationConfig={"topP": 0.5})
    assert refusal(said, context("gemini_generate_content")) is None
    snake = {
        "contents": [{"role": "user", "parts": {"inline_data": {"mime_type": "image/png", "data": ""}}}],
        "generation_config": {"top_p": 0.5},
        "system_instruction": {"parts": [{"text": "be"}]},
    }
    assert refusal(snake, context("gemini_generate_content")) is None


# --- all of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", wires.NAMES)
def test_every_wire_has_rows_and_errors_of_its_own(wire: str) -> None:
    assert len(rules(wire)) > 10
    assert reserved(wire, "key", "invalid").status == (400 if wire == "gemini_generate_content" else 401)
    assert "missing" in reserved(wire, "model", "missing").message


def test_every_test_of_a_row_exists_and_none_is_left_over() -> None:
    assert {rule.test for wire in wires.NAMES for rule in rules(wire)} == set(TESTS)
    assert rules("smoke_signals") == []


@pytest.mark.parametrize("wire", wires.NAMES)
def test_no_row_fails_on_values_of_any_type(wire: str) -> None:
    """What the converters cannot read is refused before; what they can read may still hold anything."""
    names = ("input", "messages", "contents", "tools", "tool_choice", "text", "metadata", "generationConfig", "system")
    values: list[Any] = [
        None,
        True,
        1,
        "x",
        [],
        [1],
        [None],
        [{}],
        {},
        {"a": [None]},
        [{"type": "tool_use"}],
        [{"text": 1}],
    ]
    for value in values:
        item = {"type": "reasoning", "id": value, "encrypted_content": value, "content": value, "summary": value}
        kept = dict.fromkeys(("content", "tool_calls", "reasoning_details", "parts"), value)
        message = {"role": "assistant", **kept}
        block = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": value, "text": value, "id": value}]}
        part = {"parts": [{"functionCall": value, "functionResponse": value, "thoughtSignature": value, "text": value}]}
        tool = {"function": value, "functionDeclarations": value, "name": value, "strict": True, "parameters": value}
        mixed = {"input": [item, message], "messages": [block, message], "contents": [part, message], "tools": [tool]}
        for document in ({"model": "m", **mixed, "metadata": value}, *({"model": "m", name: value} for name in names)):
            list(problems(document, context(wire), "~*"))
