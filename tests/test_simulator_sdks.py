"""The vendors' own clients talk to the simulator over a socket and are content with what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from llm_rest.server.app import running

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
    with running() as url:
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
    with pytest.raises(openai.BadRequestError, match="Streaming is not available"):
        ask("hi", stream=True)
    with pytest.raises(openai.LengthFinishReasonError):
        gpt.chat.completions.parse(model="m", messages=[{"role": "user", "content": "say {\nlength"}])


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
