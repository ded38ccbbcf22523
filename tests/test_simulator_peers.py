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
from llm_rest.simulator.refusals import TESTS, problems, rules
from llm_rest.vendors.dialects import CHAT_HOSTS, ResponsesDialect
from llm_rest.vendors.models import UNKNOWN, capabilities, check
from llm_rest.vendors.rows import DIALECTS
from tests.corpus import RENAMED, exchanges

VERSION = {"anthropic-version": "2026-10-21"}


def context(wire: str, dialect: Any = None, headers: dict[str, str] | None = None, model: str | None = None) -> Context:
    spoken = dialect or DIALECTS[wire]()
    return Context(
        wire=wire, dialect=spoken, vendor=None, model=model, headers=VERSION if headers is None else headers, body=b""
    )


def host(name: str) -> Context:
    return context("openai_chat", CHAT_HOSTS[name])


OLDER = context("gemini_generate_content", model="gemini-2.5-flash")
JSON = {"responseMimeType": "application/json"}


def refusal(document: dict[str, Any], context: Context) -> ErrorFacts | None:
    return next(problems(document, context, "~*"), None)


def says(facts: ErrorFacts | None) -> str:
    assert facts is not None, "accepted"
    assert facts.status in (400, 404)
    return facts.message


# --- nothing that was accepted --------------------------------------------------------------------------------------


def refusals(wire: str) -> dict[str, list[str]]:
    """The errors of the peer for recorded requests that the real host answered, by the name of the recording."""
    # The recordings have no headers; the SDK that made some of them requested betas in the query.
    betas = "mcp-client-2025-11-20,context-management-2025-06-27"
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": betas}
    accepted = [one for one in exchanges(wire) if one.question and one.response.status == 200]
    assert len(accepted) > 200
    found = {}
    for one in accepted:
        # As a client resolves it: opaque state belongs to the host itself.
        dialect = msgspec.structs.replace(one.dialect, issuer=one.vendor)
        asked = json.loads(one.question or b"")
        found[one.id] = [error.message for error in problems(asked, context(wire, dialect, headers, one.model))]
    return {name: wrong for name, wrong in found.items() if wrong}


# The reference requires that the user begins; one model was seen to accept something else.
EXCEPTIONS = {"anthropic_messages": [['messages: first message must use the "user" role']]}


@pytest.mark.parametrize("wire", [name for name in wires.NAMES if name != "ollama_chat"])
def test_every_recorded_request_is_accepted(wire: str) -> None:
    assert list(refusals(wire).values()) == EXCEPTIONS.get(wire, [])


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


# --- requests ---------------------------------------------------------------------------------------------------------

TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
TIFF = {"type": "base64", "media_type": "image/tiff", "data": ""}
ENABLED = {"type": "enabled", "budget_tokens": 1024}
MARK = {"cache_control": {"type": "ephemeral"}}


def messages(*said: Any, **fields: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    turns = [
        m if isinstance(m, dict) and "role" in m else {"role": roles[i % 2], "content": m} for i, m in enumerate(said)
    ]
    return {"model": "claude-sonnet-5", "max_tokens": 4096, "messages": turns, **fields}


def formatted(schema: dict[str, Any]) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": schema}}


FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
FUNCTION_CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "1"}
INPUT = {"type": "input_text", "text": "hi"}
STRICT = {"type": "json_schema", "name": "n", "strict": True, "schema": {"type": "object"}}


def responses(input: Any = "hi", **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "input": input, **fields}


CHAT_TOOL = {"type": "function", "function": {"name": "f"}}
CHAT_CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}
LONG = "a" * 41
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "1"}
USER, DEVELOPER = {"role": "user", "content": "hi"}, {"role": "developer", "content": "be"}
SIGNED = {**CALLING, "reasoning_details": [{"type": "reasoning.text", "text": "x", "signature": "y"}]}


def chat(*said: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": list(said), **fields}


ASKS = {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"}
GAVE = {"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}}


def gemini(*said: Any, **fields: Any) -> dict[str, Any]:
    roles = ("user", "model")
    parts = [[{"text": one}] if isinstance(one, str) else one for one in said]
    return {"contents": [{"role": roles[i % 2], "parts": one} for i, one in enumerate(parts)], **fields}


def configured(**config: Any) -> dict[str, Any]:
    return gemini("hi", generationConfig=config)


def declared(**fields: Any) -> dict[str, Any]:
    return {"functionDeclarations": [{"name": "f", **fields}]}


DECLARED = declared()


def calling(**config: Any) -> dict[str, Any]:
    return gemini("hi", tools=[DECLARED], toolConfig={"functionCallingConfig": config})


REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "anthropic_messages": [
        (messages(), "messages: at least one message is required"),
        (messages("hi", temperature=1.0), "temperature: Extra inputs are not permitted"),
        (messages("hi", mcp_servers=[]), "mcp_servers: Extra inputs are not permitted"),
        (messages("hi", stop_sequences=["a", " "]), "stop_sequences.1"),
        (messages({"role": "assistant", "content": "hi"}, "ho"), 'first message must use the "user" role'),
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
        (messages("hi", tools=[TOOL], tool_choice={"type": "any"}, thinking=ENABLED), "Thinking may not be enabled"),
        (messages("hi", [CALL], [RESULT], thinking=ENABLED), "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
        (messages([{"type": "text", "text": str(i), **MARK} for i in range(5)]), "maximum of 4 blocks with cache_control"),
        (messages("hi", output_config=formatted({"type": "object"})), "'additionalProperties' must be explicitly set to false"),
        (messages("hi", output_config=formatted({"type": "integer", "minimum": 1})), "property 'minimum' is not supported"),
    ],
    "openai_responses": [
        ({"model": "m"}, 'One of "input"'),
        ({"input": "hi"}, "Missing required parameter: 'model'."),
        (responses(stop=["a"]), "Unknown parameter: 'stop'."),
        (responses(extra={}), "Unknown parameter: 'extra'."),
        (responses(max_output_tokens=5), "integer below minimum value. Expected a value >= 16"),
        (responses(temperature=-1), "decimal below minimum value. Expected a value >= 0, but got -1"),
        (responses(top_p=1.5), "decimal above maximum value"),
        (responses(metadata={"a": "b" * 513}), "Invalid 'metadata'"),
        (responses(text={"format": {"type": "json_object"}}), "must contain the word 'json'"),
        (responses(text={"format": {"type": "json_schema", "schema": {}}}), "'text.format.name'"),
        (responses(text={"format": STRICT}), "'additionalProperties' is required to be supplied and to be false"),
        (responses(tools=[{**FUNCTION, "strict": True}]), "Invalid schema for function 'f'"),
        (responses(tools=[FUNCTION, FUNCTION]), "Duplicate tool name: 'f'."),
        (responses(tools=[{**FUNCTION, "name": "a b"}]), "Invalid 'tools[0].name'"),
        (responses(tools=[{"type": "function"}]), "Missing required parameter: 'tools[0].name'."),
        (responses(tool_choice={"type": "function", "function": {"name": "f"}}), "'tool_choice.function'"),
        (responses(tool_choice={"type": "function", "name": "g"}), "Tool choice 'g' not found"),
        (responses(tool_choice="required"), "must be specified with 'tools'"),
        (responses([FUNCTION_CALL]), "No tool output found for function call a."),
        (responses([OUTPUT, FUNCTION_CALL]), "No tool call found for function call output with call_id a."),
        (responses([{**FUNCTION_CALL, "id": "toolu_1"}, OUTPUT]), "Expected an ID that begins with 'fc'"),
        (responses([FUNCTION_CALL, {**OUTPUT, "is_error": True}]), "'input[1].is_error'"),
        (responses([{"type": "nonsense"}]), "Invalid value: 'nonsense'."),
        (responses([{"role": "tool", "content": "hi"}]), "Invalid value: 'tool'."),
        (responses([{"role": "assistant", "content": [INPUT]}]), "Supported values are: 'output_text' and 'refusal'."),
        (responses([{"role": "user", "content": [{"type": "input_image"}]}]), "image_url"),
        (responses([{"role": "user", "content": [{**INPUT, "leftovers": {}}]}]), "'input[0].content[0].leftovers'"),
        (responses(previous_response_id="resp_1"), "id 'resp_1' not found."),
        (responses(conversation="conv_1"), "Conversation not found."),
        (responses([{"type": "item_reference", "id": "msg_1"}]), "Item with id 'msg_1' not found."),
        (responses([{}]), "Item with id 'None' not found."),
        (responses([{"type": "reasoning", "id": "rs_1", "summary": []}]), "Item with id 'rs_1' not found."),
    ],
    "openai_chat": [
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
        (chat(USER, response_format={"type": "json_schema", "json_schema": {**STRICT, "schema": {}}}), "for response_format 'n'"),
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
        (chat(USER, {"role": "assistant", "content": "x", "tool_calls": []}, USER), "'messages.[1].tool_calls': empty array"),
        (chat(USER, {**CALLING, "tool_calls": [{**CHAT_CALL, "id": LONG}]}, {**ANSWER, "tool_call_id": LONG}), "but got 41"),
    ],
    "gemini_generate_content": [
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
        (gemini("hi", tools=[DECLARED, DECLARED]), "Duplicate function declaration found: f"),
        (gemini("hi", tools=[declared(name="1f")]), "Invalid function name '1f'"),
        (gemini("hi", tools=[declared(parameters={}, parametersJsonSchema={})]), "only one of parameters and"),
        (gemini("hi", tools=[declared(parametersJsonSchema={"type": "array"})]), "should be of type OBJECT"),
        (gemini("hi", tools=[DECLARED], cachedContent="c"), "CachedContent can not be used"),
        (gemini("hi", toolConfig={"functionCallingConfig": {"mode": "ANY"}}), "set without function_declarations"),
        (calling(mode="SOMETIMES"), "'SOMETIMES'"),
        (calling(mode="AUTO", allowedFunctionNames=["f"]), "may only be set when the mode is ANY or VALIDATED"),
        (calling(mode="ANY", allowedFunctionNames=["g"]), "no tool named so is declared"),
    ],
}  # fmt: skip
"""Requests of each wire, and what is in the error of the vendor."""


def test_errors_have_the_codes_that_clients_compare() -> None:
    document = responses(max_output_tokens=5, stop=["a"])
    codes = [found.code for found in problems(document, context("openai_responses"))]
    assert codes == ["unknown_parameter", "integer_below_min_value"]
    beta = {**VERSION, "anthropic-beta": "message-threads-2026-08-12"}
    facts = refusal(messages("hi", thread={"type": "create"}), context("anthropic_messages", headers=beta))
    assert facts is not None
    assert (facts.status, facts.code) == (400, "thread_unsupported_request")


OF_HOSTS = [
    (context("anthropic_messages", headers={}), messages("hi"), "header is required"),
    (context("anthropic_messages", headers={"anthropic-version": "1"}), messages("hi"), "not a valid version"),
    (context("openai_responses", ResponsesDialect(lacks=("truncation",))), responses(truncation="auto"), "'truncation'"),
    (host("groq"), chat(DEVELOPER, USER), "Invalid value: 'developer'."),
    (host("groq"), chat(USER, store=False), "Unrecognized request argument supplied: store"),
    (host("mistral"), chat(USER, max_completion_tokens=5), "argument supplied: max_completion_tokens"),
    (host("mistral"), chat(USER, CALLING, ANSWER), "Tool call id was a but must be a-z, A-Z, 0-9, with a length of 9"),
    (host("mistral"), chat(USER, tools=[CHAT_TOOL]), "parameters: Field required"),
    (host("perplexity"), chat(USER, USER), "user and assistant roles should alternate"),
    (host("deepseek"), chat(USER, CALLING, ANSWER), "The `reasoning_content` in the thinking mode must be passed back"),
    (host("meta"), chat(USER, tools=[CHAT_TOOL], tool_choice="required"), "Invalid value: 'required'."),
    (host("openrouter"), chat(USER, SIGNED, ANSWER), "Invalid `signature` in `thinking` block"),
    (OLDER, gemini("hi", tools=[DECLARED, {"googleSearch": {}}]), "(googleSearch) and Function Calling cannot be combined"),
    (OLDER, gemini("hi", tools=[DECLARED], generationConfig=JSON), "Function calling with a response mime type"),
]  # fmt: skip
"""What a host, a version or an older model refuses."""


def test_what_a_vendor_refuses() -> None:
    """BUGS 5, 31, 34, 35, 47, 51"""
    rows = [(context(wire), document, message) for wire in REFUSED for document, message in REFUSED[wire]]
    answers = [(document, message, says(refusal(document, asked))) for asked, document, message in [*rows, *OF_HOSTS]]
    assert [row for row in answers if row[1] not in row[2]] == []


CALLS = {**CALLING, "tool_calls": [CHAT_CALL, {**CHAT_CALL, "id": "b"}]}
ANSWERED = {**ANSWER, "tool_call_id": "b"}
OTHER = [{**FUNCTION_CALL, "call_id": "b"}, {**OUTPUT, "call_id": "b"}]
SYSTEM = {"role": "system", "content": "be brief"}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
BETAS = {"anthropic-version": "2023-06-01", "anthropic-beta": "x, mcp-client-2025-11-20"}
UNNAMED = {"functionResponse": {"name": "f", "response": {}}}
SNAKE = {
    "contents": [{"role": "user", "parts": {"inline_data": {"mime_type": "image/png", "data": ""}}}],
    "generation_config": {"top_p": 0.5},
    "system_instruction": {"parts": [{"text": "be"}]},
}

ACCEPTED: dict[str, list[dict[str, Any]]] = {
    "anthropic_messages": [
        messages("hi", [CALL], [RESULT, {"type": "text", "text": "ho"}]),
        messages(USER, USER),
        messages("hi", SYSTEM),
        messages("hi", SYSTEM, {"role": "assistant", "content": "ok"}, USER),
        messages("hi", "Once upon", model="claude-haiku-4-5-20251001"),
        messages("hi", [SEARCH]),
        messages("hi", tools=[TOOL], tool_choice={"type": "any"}),
        messages("hi", tools=[{"type": "web_search_20260318", "name": "web_search"}]),
    ],
    "openai_responses": [responses([FUNCTION_CALL, *OTHER, {"role": "user", "content": "Hurry"}, OUTPUT])],
    "openai_chat": [chat(DEVELOPER, USER, CALLS, ANSWERED, ANSWER, USER)],
    "gemini_generate_content": [
        SNAKE,
        gemini("hi", [ASKS], [GAVE, {"text": "Hurry"}], generationConfig={"topP": 0.5}),
        gemini("hi", [ASKS], [UNNAMED]),  # as the vendor's own client sends it
        gemini("hi", tools=[DECLARED, {"googleSearch": {}}]),
        gemini("hi", tools=[DECLARED], generationConfig=JSON),
    ],
}


@pytest.mark.parametrize("wire", ACCEPTED)
def test_what_a_vendor_accepts(wire: str) -> None:
    answers = [(document, refusal(document, context(wire))) for document in ACCEPTED[wire]]
    assert [(document, answer) for document, answer in answers if answer] == []


def test_sampling_is_for_the_older_version_and_beta_fields_for_requests_that_name_the_beta() -> None:
    document = messages("hi", temperature=0.5, mcp_servers=[])
    assert refusal(document, context("anthropic_messages", headers=BETAS)) is None


# --- all of them ----------------------------------------------------------------------------------------------------


def test_every_test_of_a_row_exists_and_none_is_left_over() -> None:
    assert {rule.test for wire in wires.NAMES for rule in rules(wire)} == set(TESTS)
    assert rules("smoke_signals") == []


@pytest.mark.parametrize("wire", wires.NAMES)
def test_no_row_fails_on_values_of_any_type(wire: str) -> None:
    """What the converters cannot read is refused before; what they can read may still hold anything."""
    names = ("input", "messages", "contents", "tools", "tool_choice", "text", "metadata", "generationConfig", "system")
    for value in json.loads(
        '[null, true, 1, "x", [], [1], [null], [{}], {}, {"a": [null]}, [{"type": "tool_use"}], [{"text": 1}]]'
    ):
        item = {"type": "reasoning", "id": value, "encrypted_content": value, "content": value, "summary": value}
        kept = dict.fromkeys(("content", "tool_calls", "reasoning_details", "parts"), value)
        message = {"role": "assistant", **kept}
        block = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": value, "text": value, "id": value}]}
        part = {"parts": [{"functionCall": value, "functionResponse": value, "thoughtSignature": value, "text": value}]}
        tool = {"function": value, "functionDeclarations": value, "name": value, "strict": True, "parameters": value}
        mixed = {"input": [item, message], "messages": [block, message], "contents": [part, message], "tools": [tool]}
        for document in ({"model": "m", **mixed, "metadata": value}, *({"model": "m", name: value} for name in names)):
            list(problems(document, context(wire), "~*"))
