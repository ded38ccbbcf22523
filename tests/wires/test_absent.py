"""What is `None` in a Responses document is left out on every wire: a null would say something to a vendor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from llm_rest import wires
from llm_rest.responses import (
    CacheBreakpoint,
    CacheOptions,
    ChooseAllowed,
    CustomTool,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    InputFile,
    InputImage,
    InputText,
    InputTokensDetails,
    JsonSchemaFormat,
    Logprob,
    Message,
    OutputText,
    OutputTokensDetails,
    Reasoning,
    ReasoningOptions,
    ReasoningText,
    Request,
    Response,
    StreamOptions,
    TextOptions,
    UrlCitation,
    Usage,
    WebSearchTool,
)
from llm_rest.responses.stream import disassemble
from tests.support import WIRES
from tests.support.documents import at, places
from tests.support.facts import plain
from tests.support.streams import STREAMING, written

MEANT = {
    "anthropic_messages": {"stop_reason", "stop_sequence"},
    "openai_chat": {"content", "refusal", "finish_reason", "logprobs", "usage"},
}
"""Fields that are null in the vendor's own documents."""

QUESTIONS: list[Any] = [
    Message(
        role="user",
        content=[
            InputText(text="Hi", prompt_cache_breakpoint=CacheBreakpoint()),
            InputImage(image_url="data:image/png;base64,AAAA"),
            InputFile(file_data="data:application/pdf;base64,AAAA"),
        ],
    ),
    Reasoning(content=[ReasoningText(text="Hm.")]),
    FunctionCall(call_id="c", name="f", arguments="{}"),
    FunctionCallOutput(call_id="c", output="4"),
    Message(role="assistant", content=[OutputText(text="4")]),
    Message(role="user", content="Go on."),
]
TOOLS = [FunctionTool(name="f"), CustomTool(name="g"), WebSearchTool()]
REQUESTS = {
    "items": Request(model="m", input=QUESTIONS),
    "tools": Request(model="m", input="Hi", tools=TOOLS[:2]),
    "a choice": Request(model="m", input="Hi", tools=TOOLS[:1], tool_choice=ChooseAllowed(tools=[{"name": "f"}])),
    "a hosted tool": Request(model="m", input="Hi", tools=TOOLS[2:]),
    "objects that say nothing": Request(
        model="m",
        input="Hi",
        stream=True,
        text=TextOptions(),
        reasoning=ReasoningOptions(),
        prompt_cache_options=CacheOptions(),
        stream_options=StreamOptions(),
    ),
    "a schema": Request(model="m", input="Hi", text=TextOptions(format=JsonSchemaFormat(name="n", schema={}))),
    "an effort": Request(model="m", input="Hi", reasoning=ReasoningOptions(effort="low")),
    "a summary": Request(model="m", input="Hi", reasoning=ReasoningOptions(summary="auto")),
    "probabilities": Request(model="m", input="Hi", include=["message.output_text.logprobs"]),
}
ANSWERS = {
    "little": Response(id="r", status="completed", output=[]),
    "texts": Response(
        id="r",
        status="completed",
        output=[
            Message(
                role="assistant",
                content=[
                    OutputText(
                        text="Hi",
                        annotations=[UrlCitation(url="https://a.test")],
                        logprobs=[Logprob(token="Hi", logprob=-0.1)],
                    )
                ],
            )
        ],
        usage=Usage(
            input_tokens=1,
            output_tokens=2,
            input_tokens_details=InputTokensDetails(),
            output_tokens_details=OutputTokensDetails(),
        ),
    ),
    "a call": Response(id="r", status="completed", output=[FunctionCall(call_id="c", name="f", arguments="{}")]),
    "thoughts": Response(id="r", status="completed", output=[Reasoning(content=[ReasoningText(text="Hm.")])]),
}


def nulls(name: str, document: Any) -> Iterator[str]:
    for place in places(document):
        if place and at(document, place) is None and place[-1] not in MEANT.get(name, ()):
            yield ".".join(map(str, place))


@pytest.mark.parametrize("about", REQUESTS)
@pytest.mark.parametrize("name", WIRES)
def test_a_request_says_nothing_of_what_is_absent(name: str, about: str) -> None:
    body, _ = wires.load(name).encode_request(REQUESTS[about])
    assert list(nulls(name, plain(body))) == []


@pytest.mark.parametrize("about", ANSWERS)
@pytest.mark.parametrize("name", WIRES)
def test_an_answer_says_nothing_of_what_is_absent(name: str, about: str) -> None:
    body, _ = wires.load(name).encode_response(ANSWERS[about])
    assert list(nulls(name, plain(body))) == []


@pytest.mark.parametrize("about", ANSWERS)
@pytest.mark.parametrize("name", STREAMING)
def test_a_stream_says_nothing_of_what_is_absent(name: str, about: str) -> None:
    pieces, _ = written(name, disassemble(ANSWERS[about]))
    lines = [line.removeprefix(b"data: ") for piece in pieces for line in piece.splitlines()]
    documents = [msgspec.json.decode(line) for line in lines if line.startswith(b"{")]
    assert documents
    assert [found for document in documents for found in nulls(name, document)] == []
