"""Documents of many hosts with one thing changed, as tomorrow's traffic may have it: nothing of that is lost silently."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from llm_rest.responses import (
    ChooseFunction,
    FunctionTool,
    InputText,
    JsonSchemaFormat,
    Message,
    OutputText,
    Request,
    TextOptions,
)
from llm_rest.responses.stream import disassemble
from llm_rest.unknown import Unknown
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
from tests.corpus import Answer, Exchange, Sent
from tests.corpus.test_changed import changes, walked
from tests.support.streams import assembled
from tests.wires.openai_chat import CALL, HI, OPENAI, Plain, answered, asked, plain, said, told

SCHEMA: Plain = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL: Plain = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": SCHEMA}}
STATE: Plain = {"google": {"thought_signature": "s"}}
CITED: Plain = {"url": "https://a", "title": "A", "start_index": 0, "end_index": 1}
THOUGHT: Plain = {"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "signature": "s", "closed": True}
ALLOWED: Plain = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "weather"}}]},
}
DETAILS: list[Plain] = [
    {"type": "reasoning.text", "text": "a", "signature": "s", "index": 0},
    {"type": "reasoning.encrypted", "data": "d", "index": 1},
]


def after(*calls: Plain, **message: Any) -> Plain:
    """A conversation with this message of the assistant."""
    outputs = [{"role": "tool", "tool_call_id": call["id"], "content": "4"} for call in calls]
    message = {"role": "assistant", **message, **({"tool_calls": list(calls)} if calls else {})}
    return {"messages": [HI, message, *outputs, HI]}


def parts(*content: Plain) -> Plain:
    return {"messages": [{"role": "user", "name": "ada", "content": list(content)}]}


REQUESTS: list[tuple[str, Plain]] = [
    ("openai", {"stream": True, "stream_options": {"include_usage": True, "include_obfuscation": False}}),
    ("openai", {"max_tokens": 5, "stop": ["x"], "n": 1, "logprobs": True, "top_logprobs": 2, "metadata": {"a": "b"}}),
    ("openai", {"prompt_cache_options": {"mode": "implicit", "ttl": "30m"}, "prediction": {"content": "x"}}),
    ("openai", {"reasoning": {"effort": "low"}, "verbosity": "low", "audio": {"voice": "x"}, "seed": 1}),
    ("openai", {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "weather"}}}),
    ("openai", {"tools": [{**TOOL, "cache_control": {"type": "x"}}], "tool_choice": ALLOWED}),
    (
        "openai",
        {"tools": [{"type": "custom", "custom": {"name": "c", "description": "d", "format": {"type": "text"}}}]},
    ),
    (
        "openai",
        {
            "tools": [
                {
                    "type": "custom",
                    "custom": {
                        "name": "c",
                        "format": {"type": "grammar", "grammar": {"definition": "a", "syntax": "lark"}},
                    },
                }
            ]
        },
    ),
    ("openai", {"functions": [TOOL["function"]], "function_call": {"name": "weather"}}),
    ("mistral", {"tools": [TOOL], "tool_choice": "any", "parallel_tool_calls": True}),
    (
        "openai",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}}},
    ),
    ("openai", {"response_format": {"type": "json_object"}}),
    (
        "openai",
        {
            "web_search_options": {
                "search_context_size": "low",
                "user_location": {"type": "approximate", "approximate": {"city": "Oslo"}},
            }
        },
    ),
    ("openrouter", {"reasoning": {"effort": "low", "max_tokens": 5, "exclude": False}}),
    ("zai", {"thinking": {"type": "disabled"}}),
    ("openai", parts({"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}})),
    ("openai", parts({"type": "image_url", "image_url": {"url": "https://a", "detail": "low"}})),
    ("openai", parts({"type": "file", "file": {"file_id": "f"}}, {"type": "new", "a": 1})),
    ("openai", parts({"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}})),
    ("openrouter", parts({"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}})),
    ("openrouter", parts({"type": "video_url", "video_url": {"url": "https://a"}})),
    ("mistral", parts({"type": "document_url", "document_url": "https://a", "document_name": "n"})),
    ("mistral", parts({"type": "image_url", "image_url": "https://a"}, {"type": "input_audio", "input_audio": "AA"})),
    ("openai", after(CALL, content="a", annotations=[], audio={"id": "a"})),
    ("openai", after({"id": "c1", "type": "custom", "custom": {"name": "c", "input": "a"}}, content=None)),
    ("openai", after(content=[{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}])),
    (
        "openai",
        {
            "messages": [
                {"role": "assistant", "content": None, "function_call": CALL["function"]},
                {"role": "function", "name": "weather", "content": "4"},
            ]
        },
    ),
    ("mistral", after({"id": "calling01", "function": {"name": "f", "arguments": {"a": 1}}, "index": 0}, content="")),
    ("mistral", after(content=[THOUGHT, {"type": "text", "text": "b"}], prefix=True)),
    (
        "mistral",
        after(content=[{**THOUGHT, "thinking": [*THOUGHT["thinking"], {"type": "tool_reference", "tool": "x"}]}]),
    ),
    ("mistral", after(content=[{"type": "thinking", "thinking": "a"}, {"type": "reference", "reference_ids": [1]}])),
    ("deepseek", after(CALL, content="a", reasoning_content="b")),
    ("openrouter", after(CALL, content=None, reasoning="a", reasoning_details=DETAILS)),
    ("zai", after(content=None, reasoning_content="b")),
    ("google", after({**CALL, "extra_content": STATE}, content="a", extra_content=STATE, thought_signature="s")),
    ("compatible", {"messages": [{"role": "new", "content": "a"}, {**HI, "tool_calls": []}]}),
]

ANSWERS: list[tuple[str, Plain]] = [
    ("openai", said(content="a", refusal=None, annotations=[{"type": "url_citation", "url_citation": CITED}])),
    (
        "openai",
        said(content="a", annotations=[{"type": "file", "file": {"hash": "h"}}, {"type": "file_citation", "a": 1}]),
    ),
    ("openai", said(finish_reason="tool_calls", content=None, tool_calls=[CALL, {**CALL, "id": "c2"}])),
    ("openai", said(content=None, tool_calls=[{"id": "c1", "type": "custom", "custom": {"name": "c", "input": "a"}}])),
    ("openai", said(finish_reason="function_call", content=None, function_call=CALL["function"])),
    ("openai", said(content=None, refusal="no", audio={"id": "a", "transcript": "b"})),
    (
        "openai",
        {
            **said(content="a"),
            "moderation": {
                "input": {
                    "type": "moderation_results",
                    "model": "o",
                    "results": [{"type": "moderation_result", "model": "o", "flagged": False}],
                }
            },
        },
    ),
    (
        "deepseek",
        {
            **said(content="a", reasoning_content="b"),
            "usage": {
                "prompt_tokens": 1,
                "completion_tokens": 2,
                "total_tokens": 3,
                "prompt_cache_hit_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 1},
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
        },
    ),
    (
        "google",
        said(content="a", extra_content=STATE, thought_signature="s", tool_calls=[{**CALL, "extra_content": STATE}]),
    ),
    ("mistral", said(content=[THOUGHT, {"type": "text", "text": "b"}, {"type": "reference", "reference_ids": [1]}])),
    ("openrouter", {**said(content="a", reasoning="a", reasoning_details=DETAILS), "provider": "p"}),
    (
        "perplexity",
        {**said(content="a"), "citations": ["https://a"], "search_results": [{"url": "https://a", "title": "A"}]},
    ),
    ("together", said(content="<think>a</think>\n\nb", tool_calls=[])),
    ("ollama", said(content="", reasoning="a", tool_calls=[{"id": "", "name": "f", "arguments": {"a": 1.50}}])),
]


@pytest.mark.parametrize(("host", "body"), REQUESTS)
def test_a_change_of_a_request_is_not_lost_silently(host: str, body: Plain) -> None:
    """chat.request_back.26, chat.request_back.27 and BUGS 87"""
    document = {"model": "m", "messages": [HI], **body}
    exchange = Exchange(host, host, "openai_chat", False, Answer(200, {}), Sent("", {}, Raw(b"null")))
    assert walked(exchange, "request", document) == []
    found = [walked(exchange, "request", changed) for _, _, changed in changes(document)]
    assert [problem for problems in found for problem in problems] == []


@pytest.mark.parametrize(("host", "document"), ANSWERS)
def test_a_change_of_an_answer_is_not_lost_silently(host: str, document: Plain) -> None:
    """chat.response.17 and BUGS 87"""
    exchange = Exchange(host, host, "openai_chat", False, Answer(200, {}))
    assert walked(exchange, "response", document) == []
    found = [walked(exchange, "response", changed) for _, _, changed in changes(document)]
    assert [problem for problems in found for problem in problems] == []


def test_a_tool_without_its_object_is_refused() -> None:
    """chat.request_back.32"""
    for tool in ({"type": "function"}, {"type": "custom"}, {"name": "flat"}, {"type": None}):
        body = wire.REQUEST.decode(json.dumps({"model": "m", "messages": [HI], "tools": [TOOL, tool]}))
        request, lost = wire.decode_request(body)
        assert told(lost) == ["tools[1] (refused)"]
        assert request.tools == [FunctionTool(name="weather", description="d", parameters=SCHEMA, strict=False)]
    for kind in ("function", "custom", "allowed_tools"):
        body = wire.REQUEST.decode(
            json.dumps({"model": "m", "messages": [HI], "tools": [TOOL], "tool_choice": {"type": kind}})
        )
        request, lost = wire.decode_request(body)
        assert (request.tool_choice, told(lost)) == (None, ["tool_choice (refused)"])


def test_what_has_no_kind_is_kept_whole() -> None:
    """chat.request_back.26"""
    content: list[Plain] = [{"text": "a"}, {"type": None}, {"type": ""}, {"type": 1}]
    request, _ = asked(messages=[{"role": "user", "content": content}])
    (message,) = request.input if isinstance(request.input, list) else []
    assert getattr(message, "content", None) == [Unknown({"type": "openai_chat:", "value": part}) for part in content]
    answer, _ = answered(said(content="a", annotations=[None, "a", {"type": None, "a": 1}]))
    (spoken,) = answer.output
    (text,) = getattr(spoken, "content", [])
    assert isinstance(text, OutputText)
    assert text.annotations == [
        Unknown({"type": "openai_chat:", "value": value}) for value in (None, "a", {"type": None, "a": 1})
    ]


def test_what_was_left_beyond_a_struct_does_not_come_back_without_it() -> None:
    """chat.request.51"""
    form = {"type": "json_schema", "json_schema": {"name": "n", "later": 1}}
    request, _ = asked(
        tools=[TOOL],
        response_format=form,
        tool_choice={"type": "function", "function": {"name": "weather", "later": 1}},
    )
    assert request.tool_choice == ChooseFunction(name="weather")
    body, _ = wire.encode_request(request, dialect=CHAT_HOSTS["deepseek"])
    assert plain(body)["response_format"] == {"type": "json_object"}
    request.text = request.tool_choice = None
    assert plain(wire.encode_request(request, dialect=OPENAI)[0]).keys() == {
        "model",
        "messages",
        "tools",
    }
    request.tool_choice = "required"
    assert plain(wire.encode_request(request, dialect=OPENAI)[0])["tool_choice"] == "required"


def test_what_a_document_left_out_stays_out_only_while_it_is_not_said() -> None:
    """chat.request.30 and chat.request_back.27"""
    request, _ = asked(response_format={"type": "json_schema", "json_schema": {"schema": {}}})
    request.text = TextOptions(format=JsonSchemaFormat(name="n", schema={}))
    body, _ = wire.encode_request(request)
    assert plain(body)["response_format"]["json_schema"] == {"name": "n", "schema": {}}


def test_a_forged_note_takes_away_nothing_that_is_required() -> None:
    """chat.request.51"""
    forgeries: list[Any] = [5, None, {"absent": True}, {}, [], "other"]
    for forged in forgeries:
        left = {"openai_chat": {"spelling": {"instead": {"text": [forged, "a"], "content": forged, "no": [1, 2]}}}}
        request = Request(input=[Message(role="user", content=[InputText(text="a", leftovers=left)], leftovers=left)])
        body, _ = wire.encode_request(request, dialect=CHAT_HOSTS["perplexity"])
        assert plain(body)["messages"] == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]


def test_a_thought_that_nothing_follows_stands_before_a_message_of_an_unknown_role() -> None:
    """chat.request_back.26"""
    asked(
        CHAT_HOSTS["mistral"], messages=[{"role": "assistant", "content": [THOUGHT]}, {"role": "new", "content": "a"}]
    )


def test_a_choice_among_tools_goes_to_hosts_that_lack_its_form_in_another() -> None:
    """chat.request.28"""
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]}
    request, _ = asked(tools=[TOOL], tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    body, _ = wire.encode_request(request, dialect=CHAT_HOSTS["mistral"])
    assert plain(body)["tool_choice"] == "required"


def test_what_chunks_say_beyond_what_is_known_is_in_the_answer_and_in_its_chunks() -> None:
    """chat.stream.14 and chat.stream_back.8"""
    call = {"index": 0, **CALL, "new_call": 1, "function": {**CALL["function"], "new_function": 2}}
    logprobs = {"content": [], "refusal": [{"token": "no", "logprob": -1}], "new_logprobs": 3}
    thoughts = [{"type": "thinking", "thinking": text, "new_part": 4} for text in ("a", "b")]
    deltas: list[Plain] = [{"content": thoughts[:1]}, {"content": thoughts[1:]}, {"tool_calls": [call], "new_delta": 5}]
    choices: list[Plain] = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls", "logprobs": logprobs, "new_choice": 6})
    about = {"id": "c", "created": 1, "model": "m", "new_chunk": 7}
    decoder, encoder = wire.decode_stream(), wire.encode_stream()
    chunks = [wire.EVENT.decode(json.dumps({**about, "choices": [choice]})) for choice in choices]
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
    body, _ = wire.encode_response(assembled(events))
    whole = said(
        finish_reason="tool_calls", content=[{**thoughts[0], "thinking": "ab"}], tool_calls=[call], new_delta=5
    )
    whole["choices"][0].update(logprobs=logprobs, new_choice=6)
    assert plain(body) == {**whole, **about}
    told = json.dumps([plain(chunk) for event in events for chunk in encoder.feed(event)])
    kinds = ("call", "function", "logprobs", "part", "delta", "choice", "chunk")
    assert [kind for kind in kinds if f'"new_{kind}"' not in told] == []


@pytest.mark.parametrize(
    "spelling", [{"choices": 5}, {"choices": [], "message": None}, {"message": 5}, {"id": 5, "created": []}]
)
def test_a_forged_note_about_an_answer_raises_nothing(spelling: Plain) -> None:
    """chat.response_back.11"""
    response = wire.decode_response(wire.RESPONSE.decode(json.dumps(said(content="a"))))[0]
    response.leftovers = {"openai_chat": {"spelling": spelling}}
    encoder = wire.encode_stream()
    assert plain(wire.encode_response(response)[0])["model"] == "m"
    assert [plain(chunk)["model"] for event in disassemble(response) for chunk in encoder.feed(event)][-1] == "m"
