"""What SDKs do on their own beyond one request: loops that run tools, chats that keep their history, responses that are kept."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from llm_rest import wires

from .neutral import CITY
from .test_state import SCRIPT
from .world import TOKENS, Spy, World


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"4 degrees in {city}"


behind = pytest.mark.parametrize("model", [f"{wire}.signing" for wire in wires.NAMES])


@pytest.fixture
def claude(gateway: World) -> Generator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=gateway.url, api_key=TOKENS["alice"], max_retries=0) as client:
        yield client


@behind
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_the_tool_runner_of_anthropic_does_without_threads(
    claude: anthropic.Anthropic, spy: Spy, model: str, stream: bool
) -> None:
    """It asks for a thread kept by the server first, and sends the whole conversation once it is told that there are none."""
    said: Any = [{"role": "user", "content": SCRIPT}]
    tool = anthropic.beta_tool(get_weather)
    runner: Any = claude.beta.messages.tool_runner(
        model=model, max_tokens=4000, tools=[tool], messages=said, stream=stream
    )
    final: Any = None
    for turn in runner:
        final = turn.get_final_message() if stream else turn
    assert [block.text for block in final.content if block.type == "text"] == ["Cold and wet."]
    assert "4 degrees in Oslo" in str(spy.bodies[-1])


@behind
def test_a_chat_of_google_runs_functions_and_keeps_its_history(gateway: World, spy: Spy, model: str) -> None:
    with genai.Client(api_key=TOKENS["alice"], http_options=types.HttpOptions(base_url=gateway.url)) as client:
        config = types.GenerateContentConfig(tools=[get_weather], system_instruction="Be brief.")
        chat = client.chats.create(model=model, config=config)
        assert chat.send_message(SCRIPT).text == "Cold and wet."
        assert "".join(chunk.text or "" for chunk in chat.send_message_stream("say More.")) == "More."
        assert chat.send_message(SCRIPT).text == "Cold and wet."
    assert str(spy.bodies[-1]).count("4 degrees in Oslo") == 2


@behind
def test_a_response_is_gone_on_from_with_its_reasoning(gateway: World, spy: Spy, model: str) -> None:
    tool: Any = {"type": "function", "name": "get_weather", "parameters": CITY, "strict": True}
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=TOKENS["alice"], max_retries=0) as client:
        first = client.responses.create(model=model, input=SCRIPT, tools=[tool])
        call_id = next(item.call_id for item in first.output if item.type == "function_call")
        output: Any = [{"type": "function_call_output", "call_id": call_id, "output": "4 degrees"}]
        issued = [*spy.issued]
        second = client.responses.create(model=model, previous_response_id=first.id, input=output, tools=[tool])
        assert (second.output_text, spy.returned()) == ("Cold and wet.", issued)
        asked: Any = {"previous_response_id": second.id, "input": "say Bye.", "tools": [tool]}
        assert client.responses.create(model=model, **asked, instructions="Be polite.").output_text == "Bye."
