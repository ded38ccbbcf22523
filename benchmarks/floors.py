"""The floors: each conversion written by hand for its one document, with closed structs and nothing else in mind.

They know no unknown kinds, no losses, no dialects and no opaque state. A general converter cannot be faster; the ratio says
what generality costs.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from llm_rest.responses.items import FunctionCall, FunctionCallOutput, Message
from llm_rest.responses.request import Request
from llm_rest.responses.tools import FunctionTool

# --- answers: bytes of the vendor -> a Responses-like struct ----------------------------------------------------------


class Text(Struct, tag_field="type", tag="output_text"):
    text: str


class Said(Struct, tag_field="type", tag="message"):
    content: list[Text]
    role: str = "assistant"


class Call(Struct, tag_field="type", tag="function_call"):
    call_id: str
    name: str
    arguments: str


class Usage(Struct):
    input_tokens: int
    output_tokens: int
    total_tokens: int


class Answer(Struct):
    id: str
    status: str
    model: str
    output: list[Said | Call]
    usage: Usage


class AnthropicText(Struct, tag_field="type", tag="text"):
    text: str


class AnthropicToolUse(Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: Raw


class AnthropicUsage(Struct):
    input_tokens: int
    output_tokens: int


class AnthropicAnswer(Struct):
    id: str
    model: str
    content: list[AnthropicText | AnthropicToolUse]
    stop_reason: str
    usage: AnthropicUsage


_anthropic_answer = msgspec.json.Decoder(AnthropicAnswer)


def anthropic_answer(data: bytes) -> Answer:
    body = _anthropic_answer.decode(data)
    output: list[Said | Call] = []
    for block in body.content:
        if isinstance(block, AnthropicText):
            output.append(Said([Text(block.text)]))
        else:
            output.append(Call(block.id, block.name, bytes(block.input).decode()))
    used = body.usage
    usage = Usage(used.input_tokens, used.output_tokens, used.input_tokens + used.output_tokens)
    return Answer(body.id, "completed", body.model, output, usage)


class ChatFunction(Struct):
    name: str
    arguments: str


class ChatCall(Struct):
    id: str
    function: ChatFunction


class ChatMessage(Struct):
    content: str | None = None
    tool_calls: list[ChatCall] = []


class ChatChoice(Struct):
    message: ChatMessage
    finish_reason: str


class ChatUsage(Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatAnswer(Struct):
    id: str
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage


_chat_answer = msgspec.json.Decoder(ChatAnswer)


def chat_answer(data: bytes) -> Answer:
    body = _chat_answer.decode(data)
    message = body.choices[0].message
    output: list[Said | Call] = []
    if message.content is not None:
        output.append(Said([Text(message.content)]))
    output += [Call(c.id, c.function.name, c.function.arguments) for c in message.tool_calls]
    used = body.usage
    usage = Usage(used.prompt_tokens, used.completion_tokens, used.total_tokens)
    return Answer(body.id, "completed", body.model, output, usage)


# --- requests: our Request -> bytes of the vendor --------------------------------------------------------------------


class ToolUse(Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: Raw


class ToolResult(Struct, tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: str


class Turn(Struct):
    role: str
    content: str | list[ToolUse | ToolResult]


class AnthropicTool(Struct):
    name: str
    description: str
    input_schema: dict[str, object]


class AnthropicRequest(Struct):
    model: str
    max_tokens: int
    system: str
    messages: list[Turn]
    tools: list[AnthropicTool]


_encoder = msgspec.json.Encoder()


def anthropic_request(request: Request) -> bytes:
    assert isinstance(request.input, list)
    turns: list[Turn] = []
    for item in request.input:
        if isinstance(item, Message):
            assert isinstance(item.content, str)
            turns.append(Turn(item.role, item.content))
        elif isinstance(item, FunctionCall):
            turns.append(Turn("assistant", [ToolUse(item.call_id, item.name, Raw(item.arguments.encode()))]))
        elif isinstance(item, FunctionCallOutput):
            assert item.call_id is not None
            assert isinstance(item.output, str)
            turns.append(Turn("user", [ToolResult(item.call_id, item.output)]))
    tools: list[AnthropicTool] = []
    for tool in request.tools or ():
        assert isinstance(tool, FunctionTool)
        tools.append(AnthropicTool(tool.name, tool.description or "", tool.parameters or {}))
    assert request.model
    body = AnthropicRequest(request.model, request.max_output_tokens or 0, request.instructions or "", turns, tools)
    return _encoder.encode(body)


# --- streams: one event of the vendor -> its text --------------------------------------------------------------------


class ResponsesEvent(Struct):
    type: str
    delta: str = ""

    @property
    def text(self) -> str:
        return self.delta


class ChatDelta(Struct):
    content: str | None = None


class ChatChoiceDelta(Struct):
    delta: ChatDelta


class ChatChunk(Struct):
    choices: list[ChatChoiceDelta]

    @property
    def text(self) -> str | None:
        return self.choices[0].delta.content if self.choices else None


class AnthropicDelta(Struct):
    text: str = ""


class AnthropicEvent(Struct):
    type: str
    delta: AnthropicDelta | None = None

    @property
    def text(self) -> str:
        return self.delta.text if self.delta is not None else ""


class GeminiPart(Struct, frozen=True):
    text: str = ""


class GeminiContent(Struct, frozen=True):
    parts: list[GeminiPart] = []


class GeminiCandidate(Struct):
    content: GeminiContent = GeminiContent()


class GeminiChunk(Struct):
    candidates: list[GeminiCandidate] = []

    @property
    def text(self) -> str:
        return "".join(part.text for candidate in self.candidates for part in candidate.content.parts)


class OllamaMessage(Struct):
    content: str = ""


class OllamaLine(Struct):
    message: OllamaMessage

    @property
    def text(self) -> str:
        return self.message.content


AnyChunk = ResponsesEvent | ChatChunk | AnthropicEvent | GeminiChunk | OllamaLine

EVENTS: dict[str, msgspec.json.Decoder[AnyChunk]] = {
    "openai_responses": msgspec.json.Decoder(ResponsesEvent),
    "openai_chat": msgspec.json.Decoder(ChatChunk),
    "anthropic_messages": msgspec.json.Decoder(AnthropicEvent),
    "gemini_generate_content": msgspec.json.Decoder(GeminiChunk),
    "ollama_chat": msgspec.json.Decoder(OllamaLine),
}
"""Decoders of one event each, which read its text and nothing else."""
