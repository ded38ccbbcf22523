"""The vendors' own clients talk to the simulator over a socket and are content with what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest
from google import genai

from llm_rest import wires
from llm_rest.server.app import serve_in_thread

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "born": {"type": "integer"}},
    "required": ["name", "born"],
    "additionalProperties": False,
}
BOTH = 'call get_weather {"city": "Oslo"}\ncall get_weather {"city": "Bergen"}\nsay Cold and wet.'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve_in_thread() as url:
        yield url


@pytest.fixture
def gpt(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(url: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=url, api_key="any", max_retries=0) as client:
        yield client


# --- openai, Responses ----------------------------------------------------------------------------------------------

RESPONSES_TOOL: Any = {"type": "function", "name": "get_weather", "parameters": CITY, "strict": True}


def test_openai_responses_text(gpt: openai.OpenAI) -> None:
    answer = gpt.responses.create(model="m", input="hi", instructions="Be brief.")
    assert answer.output_text == "hi"
    assert answer.usage
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens


def test_openai_responses_parallel_tools_with_reasoning(gpt: openai.OpenAI) -> None:
    said: list[Any] = [{"role": "user", "content": f"reason Two cities.\n{BOTH}"}]
    first = gpt.responses.create(model="m", input=said, tools=[RESPONSES_TOOL], store=False)
    calls = [item for item in first.output if item.type == "function_call"]
    assert [call.arguments for call in calls] == ['{"city": "Oslo"}', '{"city": "Bergen"}']
    said += [item.model_dump(exclude_none=True) for item in first.output]
    said += [{"type": "function_call_output", "call_id": call.call_id, "output": "4"} for call in calls]
    assert gpt.responses.create(model="m", input=said, tools=[RESPONSES_TOOL]).output_text == "Cold and wet."


def test_openai_responses_structured_output(gpt: openai.OpenAI) -> None:
    format: Any = {"type": "json_schema", "name": "person", "schema": PERSON, "strict": True}
    assert (
        gpt.responses.create(model="m", input="Who?", text={"format": format}).output_text == '{"name":"name","born":1}'
    )


def test_openai_responses_counts_and_lists(gpt: openai.OpenAI) -> None:
    assert gpt.responses.input_tokens.count(model="m", input="12345678").input_tokens == 2
    assert [model.id for model in gpt.models.list()] == ["simulator"]
    assert gpt.models.retrieve("simulator").id == "simulator"


def test_openai_responses_errors(gpt: openai.OpenAI) -> None:
    with pytest.raises(openai.RateLimitError) as limited:
        gpt.responses.create(model="m", input="fail 429 rate_limit_exceeded Slow down.")
    assert limited.value.code == "rate_limit_exceeded"
    assert limited.value.request_id
    with pytest.raises(openai.BadRequestError, match="No tool call found"):
        gpt.responses.create(model="m", input=[{"type": "function_call_output", "call_id": "c", "output": ""}])
    with pytest.raises(openai.InternalServerError):
        gpt.responses.create(model="m", input="fail 503")
    with pytest.raises(openai.AuthenticationError):
        gpt.with_options(api_key="invalid").responses.create(model="m", input="hi")
    with pytest.raises(openai.BadRequestError, match="does not exist"):
        gpt.responses.create(model="missing", input="hi")


def test_openai_responses_streams(gpt: openai.OpenAI) -> None:
    with gpt.responses.stream(
        model="m", input="pieces 5\nreason Let me see.\nsay Hello, world.", store=False
    ) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["Hello", ", wor", "ld."]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert final.output_text == "Hello, world."
    assert [item.type for item in final.output] == ["reasoning", "message"]
    assert final.usage
    assert final.usage.output_tokens == 7


def test_openai_responses_streams_tool_calls(gpt: openai.OpenAI) -> None:
    said: list[Any] = [{"role": "user", "content": f"reason Two cities.\n{BOTH}"}]
    with gpt.responses.stream(model="m", input=said, tools=[RESPONSES_TOOL], store=False) as stream:
        deltas = [event.delta for event in stream if event.type == "response.function_call_arguments.delta"]
        final = stream.get_final_response()
    calls = [item for item in final.output if item.type == "function_call"]
    assert "".join(deltas) == "".join(call.arguments for call in calls) == '{"city": "Oslo"}{"city": "Bergen"}'
    said += [
        {name: value for name, value in item.model_dump(exclude_none=True).items() if name != "parsed_arguments"}
        for item in final.output
    ]
    said += [{"type": "function_call_output", "call_id": call.call_id, "output": "4"} for call in calls]
    assert gpt.responses.create(model="m", input=said, tools=[RESPONSES_TOOL]).output_text == "Cold and wet."


def test_openai_responses_streams_errors(gpt: openai.OpenAI) -> None:
    events: list[Any] = []
    with pytest.raises(openai.APIError, match="Busy"):
        events.extend(gpt.responses.create(model="m", input="say Hello.\nfail 503 Busy.", stream=True))
    with pytest.raises(openai.RateLimitError):
        gpt.responses.create(model="m", input="fail 429", stream=True)
    came = list(gpt.responses.create(model="m", input="say Hello.\nbreak", stream=True))
    assert came[-1].type == "response.output_text.delta"


# --- openai, Chat ---------------------------------------------------------------------------------------------------

CHAT_TOOL: Any = {"type": "function", "function": {"name": "get_weather", "parameters": CITY, "strict": True}}


def test_openai_chat_text(gpt: openai.OpenAI) -> None:
    answer = gpt.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    assert answer.choices[0].message.content == "hi"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage
    assert answer.usage.prompt_tokens == 1


def test_openai_chat_parallel_tools(gpt: openai.OpenAI) -> None:
    said: list[Any] = [{"role": "user", "content": BOTH}]
    message = gpt.chat.completions.create(model="m", messages=said, tools=[CHAT_TOOL]).choices[0].message
    assert message.tool_calls
    assert [call.function.arguments for call in message.tool_calls if call.type == "function"] == [
        '{"city": "Oslo"}',
        '{"city": "Bergen"}',
    ]
    said.append(message.model_dump(exclude_none=True))
    said += [{"role": "tool", "tool_call_id": call.id, "content": "4"} for call in message.tool_calls]
    answer = gpt.chat.completions.create(model="m", messages=said, tools=[CHAT_TOOL])
    assert answer.choices[0].message.content == "Cold and wet."


def test_openai_chat_structured_output_and_refusal(gpt: openai.OpenAI) -> None:
    format: Any = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": True}}
    answer = gpt.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Who?"}], response_format=format
    )
    assert answer.choices[0].message.content == '{"name":"name","born":1}'
    refused = gpt.chat.completions.create(model="m", messages=[{"role": "user", "content": "refuse No."}])
    assert refused.choices[0].message.refusal == "No."


def test_openai_chat_errors(gpt: openai.OpenAI) -> None:
    def ask(text: str, **fields: Any) -> Any:
        return gpt.chat.completions.create(**{"model": "m", "messages": [{"role": "user", "content": text}], **fields})

    with pytest.raises(openai.RateLimitError):
        ask("fail 429")
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        ask("hi", model="missing")
    with pytest.raises(openai.LengthFinishReasonError):
        gpt.chat.completions.parse(model="m", messages=[{"role": "user", "content": "say {\nlength"}])


def test_openai_chat_streams(gpt: openai.OpenAI) -> None:
    said: Any = [{"role": "user", "content": "pieces 5\nsay Hello, world."}]
    with gpt.chat.completions.stream(model="m", messages=said, stream_options={"include_usage": True}) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert deltas == ["", "Hello", ", wor", "ld."], "as at OpenAI, the first says who speaks"
    assert final.choices[0].finish_reason == "stop"
    assert final.usage
    assert final.usage.completion_tokens == 4
    plain = list(gpt.chat.completions.create(model="m", messages=said, stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in plain), "counts are for those who ask for them"


def test_openai_chat_streams_tool_calls(gpt: openai.OpenAI) -> None:
    said: list[Any] = [{"role": "user", "content": BOTH}]
    with gpt.chat.completions.stream(model="m", messages=said, tools=[CHAT_TOOL]) as stream:
        for _ in stream:
            pass
        message = stream.get_final_completion().choices[0].message
    assert message.tool_calls
    assert [call.function.arguments for call in message.tool_calls] == ['{"city": "Oslo"}', '{"city": "Bergen"}']
    calls: list[Any] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in message.tool_calls
    ]
    said.append({"role": "assistant", "content": None, "tool_calls": calls})
    said += [{"role": "tool", "tool_call_id": call["id"], "content": "4"} for call in calls]
    answer = gpt.chat.completions.create(model="m", messages=said, tools=[CHAT_TOOL])
    assert answer.choices[0].message.content == "Cold and wet."


def test_openai_chat_streams_errors(gpt: openai.OpenAI) -> None:
    def ask(text: str) -> Any:
        return gpt.chat.completions.create(model="m", messages=[{"role": "user", "content": text}], stream=True)

    with pytest.raises(openai.APIError, match="Busy"):
        list(ask("say Hello.\nfail 503 Busy."))
    with pytest.raises(openai.RateLimitError):
        ask("fail 429")
    assert all(chunk.choices[0].finish_reason is None for chunk in ask("say Hello.\nbreak"))


# --- anthropic ------------------------------------------------------------------------------------------------------

CLAUDE_TOOL: Any = {"name": "get_weather", "input_schema": CITY}


def test_anthropic_text(claude: anthropic.Anthropic) -> None:
    answer = claude.messages.create(model="m", max_tokens=99, messages=[{"role": "user", "content": "hi"}])
    assert [block.text for block in answer.content if block.type == "text"] == ["hi"]
    assert answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens == 1


def test_anthropic_parallel_tools_with_thoughts(claude: anthropic.Anthropic) -> None:
    said: list[Any] = [{"role": "user", "content": f"reason Two cities.\nreason\n{BOTH}"}]
    first = claude.messages.create(model="m", max_tokens=999, messages=said, tools=[CLAUDE_TOOL])
    assert [block.type for block in first.content] == ["thinking", "redacted_thinking", "tool_use", "tool_use"]
    assert first.stop_reason == "tool_use"
    calls = [block for block in first.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "4"} for call in calls]
    said += [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    second = claude.messages.create(model="m", max_tokens=999, messages=said, tools=[CLAUDE_TOOL])
    assert [block.text for block in second.content if block.type == "text"] == ["Cold and wet."]


def test_anthropic_structured_output(claude: anthropic.Anthropic) -> None:
    config: Any = {"format": {"type": "json_schema", "schema": PERSON}}
    answer = claude.messages.create(
        model="m", max_tokens=99, messages=[{"role": "user", "content": "Who?"}], output_config=config
    )
    assert [block.text for block in answer.content if block.type == "text"] == ['{"name":"name","born":1}']


def test_anthropic_counts_and_lists(claude: anthropic.Anthropic) -> None:
    counted = claude.messages.count_tokens(model="m", messages=[{"role": "user", "content": "12345678"}])
    assert counted.input_tokens == 2
    assert [model.id for model in claude.models.list()] == ["simulator"]


def test_anthropic_limits(claude: anthropic.Anthropic) -> None:
    answer = claude.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "say 123456"}])
    assert answer.stop_reason == "max_tokens"
    assert [block.text for block in answer.content if block.type == "text"] == ["1234"]


def test_anthropic_errors(claude: anthropic.Anthropic) -> None:
    def ask(text: str, **fields: Any) -> Any:
        return claude.messages.create(
            **{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}], **fields}
        )

    with pytest.raises(anthropic.InternalServerError) as overloaded:
        ask("fail 529 Busy.")
    assert overloaded.value.status_code == 529
    assert overloaded.value.request_id
    with pytest.raises(anthropic.RateLimitError):
        ask("fail 429")
    with pytest.raises(anthropic.NotFoundError, match="missing"):
        ask("hi", model="missing")
    with pytest.raises(anthropic.BadRequestError, match="non-empty"):
        ask("")
    with pytest.raises(anthropic.AuthenticationError):
        claude.with_options(api_key="invalid").messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        )


def test_anthropic_streams(claude: anthropic.Anthropic) -> None:
    said: Any = [{"role": "user", "content": "pieces 5\nreason Let me see.\nsay Hello, world."}]
    with claude.messages.stream(model="m", max_tokens=999, messages=said) as stream:
        assert list(stream.text_stream) == ["Hello", ", wor", "ld."]
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "text"]
    assert final.stop_reason == "end_turn"
    assert (final.usage.input_tokens, final.usage.output_tokens) == (12, 7)
    said += [{"role": "assistant", "content": final.content}, {"role": "user", "content": "say Welcome."}]
    answer = claude.messages.create(model="m", max_tokens=999, messages=said)
    assert [block.text for block in answer.content if block.type == "text"] == ["Welcome."]


def test_anthropic_streams_tool_calls(claude: anthropic.Anthropic) -> None:
    said: list[Any] = [{"role": "user", "content": f"reason Two cities.\nreason\n{BOTH}"}]
    with claude.messages.stream(model="m", max_tokens=999, messages=said, tools=[CLAUDE_TOOL]) as stream:
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "redacted_thinking", "tool_use", "tool_use"]
    assert final.stop_reason == "tool_use"
    calls = [block for block in final.content if block.type == "tool_use"]
    assert [call.input for call in calls] == [{"city": "Oslo"}, {"city": "Bergen"}]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "4"} for call in calls]
    said += [{"role": "assistant", "content": final.content}, {"role": "user", "content": results}]
    with claude.messages.stream(model="m", max_tokens=999, messages=said, tools=[CLAUDE_TOOL]) as stream:
        assert stream.get_final_text() == "Cold and wet."


def test_anthropic_streams_errors(claude: anthropic.Anthropic) -> None:
    def ask(text: str) -> Any:
        said: Any = [{"role": "user", "content": text}]
        return claude.messages.create(model="m", max_tokens=99, messages=said, stream=True)

    with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
        list(ask("say Hello.\nfail 529 Busy."))
    with pytest.raises(anthropic.RateLimitError):
        ask("fail 429")
    assert [event.type for event in ask("say Hello.\nbreak")][-1] == "content_block_delta"


# --- google-genai ---------------------------------------------------------------------------------------------------

needs_gemini = pytest.mark.skipif("gemini_generate_content" not in wires.NAMES, reason="the wire is not served yet")


@pytest.fixture
def gemini(url: str) -> genai.Client:
    return genai.Client(api_key="any", http_options={"base_url": url})


@needs_gemini
def test_gemini_streams(gemini: genai.Client) -> None:
    script = "pieces 5\nreason Let me see.\nsay Hello, world."
    chunks = list(gemini.models.generate_content_stream(model="m", contents=script))
    assert [chunk.text for chunk in chunks if chunk.text] == ["Hello", ", wor", "ld."]
    last = chunks[-1]
    assert last.candidates
    assert last.candidates[0].finish_reason == "STOP"
    assert last.usage_metadata
    assert last.usage_metadata.total_token_count == 19
    assert gemini.models.generate_content(model="m", contents="hi").text == "hi"


@needs_gemini
def test_gemini_streams_tool_calls(gemini: genai.Client) -> None:
    chunks = list(gemini.models.generate_content_stream(model="m", contents=BOTH))
    calls = [call for chunk in chunks for call in chunk.function_calls or ()]
    assert [(call.name, call.args) for call in calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Bergen"}),
    ]


@needs_gemini
def test_gemini_streams_errors(gemini: genai.Client) -> None:
    with pytest.raises(genai.errors.ClientError, match="429"):
        list(gemini.models.generate_content_stream(model="m", contents="fail 429"))
    chunks = list(gemini.models.generate_content_stream(model="m", contents="say Hello.\nbreak"))
    assert not any(candidate.finish_reason for chunk in chunks for candidate in chunk.candidates or ())


# --- ollama ---------------------------------------------------------------------------------------------------------

needs_ollama = pytest.mark.skipif("ollama_chat" not in wires.NAMES, reason="the wire is not served yet")


@pytest.fixture
def llama(url: str) -> Iterator[ollama.Client]:
    with ollama.Client(host=url) as client:
        yield client


def told(llama: ollama.Client, text: str) -> list[ollama.ChatResponse]:
    return list(llama.chat(model="m", messages=[{"role": "user", "content": text}], stream=True))


@needs_ollama
def test_ollama_streams(llama: ollama.Client) -> None:
    lines = told(llama, "pieces 5\nreason Hm.\nsay Hello, world.")
    assert [line.message.content for line in lines if line.message.content] == ["Hello", ", wor", "ld."]
    assert [line.message.thinking for line in lines if line.message.thinking] == ["Hm."]
    assert [line.done for line in lines][-2:] == [False, True]
    assert (lines[-1].done_reason, lines[-1].eval_count) == ("stop", 5)
    whole = llama.chat(model="m", messages=[{"role": "user", "content": "hi"}])
    assert whole.message.content == "hi"


@needs_ollama
def test_ollama_streams_tool_calls(llama: ollama.Client) -> None:
    calls = [call.function for line in told(llama, BOTH) for call in line.message.tool_calls or ()]
    assert [(call.name, call.arguments) for call in calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Bergen"}),
    ]


@needs_ollama
def test_ollama_streams_errors(llama: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="Busy"):
        told(llama, "say Hello.\nfail 503 Busy.")
    with pytest.raises(ollama.ResponseError) as limited:
        told(llama, "fail 429")
    assert limited.value.status_code == 429
    assert not any(line.done for line in told(llama, "say Hello.\nbreak"))
