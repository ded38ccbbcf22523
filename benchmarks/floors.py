"""The floors: each conversion written by hand for its one document, with closed structs and nothing else in mind.

They know no unknown kinds, no losses, no dialects and no opaque state. A general converter cannot be faster; the ratio says
what generality costs.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Raw, Struct, field

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


class GeminiCall(Struct):
    name: str
    args: Raw
    id: str = ""


class GeminiAnswerPart(Struct, rename="camel"):
    text: str = ""
    function_call: GeminiCall | None = None


class GeminiAnswerContent(Struct):
    parts: list[GeminiAnswerPart]


class GeminiAnswerCandidate(Struct, rename="camel"):
    content: GeminiAnswerContent
    finish_reason: str


class GeminiUsage(Struct, rename="camel"):
    prompt_token_count: int
    candidates_token_count: int
    total_token_count: int


class GeminiAnswer(Struct, rename="camel"):
    candidates: list[GeminiAnswerCandidate]
    usage_metadata: GeminiUsage
    model_version: str
    response_id: str


_gemini_answer = msgspec.json.Decoder(GeminiAnswer)


def gemini_answer(data: bytes) -> Answer:
    body = _gemini_answer.decode(data)
    output: list[Said | Call] = []
    for part in body.candidates[0].content.parts:
        if part.function_call is not None:
            call = part.function_call
            output.append(Call(call.id, call.name, bytes(call.args).decode()))
        else:
            output.append(Said([Text(part.text)]))
    used = body.usage_metadata
    usage = Usage(used.prompt_token_count, used.candidates_token_count, used.total_token_count)
    return Answer(body.response_id, "completed", body.model_version, output, usage)


class OllamaFunction(Struct):
    name: str
    arguments: Raw


class OllamaCall(Struct):
    function: OllamaFunction
    id: str = ""


class OllamaAnswerMessage(Struct):
    content: str = ""
    tool_calls: list[OllamaCall] = []


class OllamaAnswer(Struct):
    model: str
    created_at: str
    message: OllamaAnswerMessage
    prompt_eval_count: int
    eval_count: int


_ollama_answer = msgspec.json.Decoder(OllamaAnswer)


def ollama_answer(data: bytes) -> Answer:
    body = _ollama_answer.decode(data)
    output: list[Said | Call] = [Said([Text(body.message.content)])] if body.message.content else []
    output += [Call(c.id, c.function.name, bytes(c.function.arguments).decode()) for c in body.message.tool_calls]
    usage = Usage(body.prompt_eval_count, body.eval_count, body.prompt_eval_count + body.eval_count)
    return Answer(body.created_at, "completed", body.model, output, usage)


_responses_answer = msgspec.json.Decoder(Answer)


def responses_answer(data: bytes) -> Answer:
    return _responses_answer.decode(data)


ANSWERS = {
    "openai_responses": responses_answer,
    "openai_chat": chat_answer,
    "anthropic_messages": anthropic_answer,
    "ollama_chat": ollama_answer,
    "gemini_generate_content": gemini_answer,
}


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


class OpenRequest(Struct):
    model: str
    instructions: str
    input: list[Message | FunctionCall | FunctionCallOutput]
    max_output_tokens: int
    tools: list[FunctionTool]


def responses_request(request: Request) -> bytes:
    model, items, tools = _said(request)
    return _encoder.encode(OpenRequest(model, request.instructions or "", items, request.max_output_tokens or 0, tools))


class ChatRequestCall(Struct):
    id: str
    function: ChatFunction
    type: str = field(default_factory=lambda: "function")


class ChatTurn(Struct, omit_defaults=True):
    role: str
    content: str | None
    tool_calls: list[ChatRequestCall] = []
    tool_call_id: str = ""


class ChatToolFunction(Struct):
    name: str
    description: str
    parameters: dict[str, object]


class ChatTool(Struct):
    function: ChatToolFunction
    type: str = "function"


class ChatRequest(Struct):
    model: str
    max_completion_tokens: int
    tools: list[ChatTool]
    messages: list[ChatTurn]


def chat_request(request: Request) -> bytes:
    model, items, tools = _said(request)
    turns = [ChatTurn("developer", request.instructions)]
    for item in items:
        if isinstance(item, Message):
            turns.append(ChatTurn(item.role, _text(item.content)))
        elif isinstance(item, FunctionCall):
            call = ChatRequestCall(item.call_id, ChatFunction(item.name, item.arguments))
            turns.append(ChatTurn("assistant", None, [call]))
        else:
            turns.append(ChatTurn("tool", _text(item.output), tool_call_id=item.call_id or ""))
    return _encoder.encode(ChatRequest(model, request.max_output_tokens or 0, _chat_tools(tools), turns))


def _chat_tools(tools: list[FunctionTool]) -> list[ChatTool]:
    return [ChatTool(ChatToolFunction(tool.name, tool.description or "", tool.parameters or {})) for tool in tools]


class OllamaTurn(Struct, omit_defaults=True):
    role: str
    content: str
    tool_calls: list[OllamaCall] = []
    tool_name: str = ""
    tool_call_id: str = ""


class OllamaOptions(Struct):
    num_predict: int


class OllamaRequest(Struct):
    model: str
    messages: list[OllamaTurn]
    tools: list[ChatTool]
    options: OllamaOptions
    stream: bool = False


def ollama_request(request: Request) -> bytes:
    model, items, tools = _said(request)
    turns, names = [OllamaTurn("system", request.instructions or "")], dict[str, str]()
    for item in items:
        if isinstance(item, Message):
            turns.append(OllamaTurn(item.role, _text(item.content)))
        elif isinstance(item, FunctionCall):
            names[item.call_id] = item.name
            call = OllamaCall(OllamaFunction(item.name, Raw(item.arguments.encode())), item.call_id)
            turns.append(OllamaTurn("assistant", "", [call]))
        else:
            known = item.call_id or ""
            turns.append(OllamaTurn("tool", _text(item.output), tool_name=names[known], tool_call_id=known))
    options = OllamaOptions(request.max_output_tokens or 0)
    return _encoder.encode(OllamaRequest(model, turns, _chat_tools(tools), options))


class GeminiResult(Struct):
    output: str


class GeminiResponsePart(Struct):
    id: str
    name: str
    response: GeminiResult


class GeminiRequestPart(Struct, rename="camel", omit_defaults=True):
    text: str = ""
    thought_signature: str = ""
    function_call: GeminiCall | None = None
    function_response: GeminiResponsePart | None = None


class GeminiTurn(Struct, omit_defaults=True):
    parts: list[GeminiRequestPart]
    role: str = ""


class GeminiFunction(Struct, rename="camel"):
    name: str
    description: str
    parameters_json_schema: dict[str, object]


class GeminiTools(Struct, rename="camel"):
    function_declarations: list[GeminiFunction]


class GeminiConfig(Struct, rename="camel"):
    max_output_tokens: int


class GeminiRequest(Struct, rename="camel"):
    contents: list[GeminiTurn]
    system_instruction: GeminiTurn
    tools: list[GeminiTools]
    generation_config: GeminiConfig


def gemini_request(request: Request) -> bytes:
    _, items, tools = _said(request)
    turns, names = list[GeminiTurn](), dict[str, str]()
    for item in items:
        if isinstance(item, Message):
            role = "model" if item.role == "assistant" else "user"
            turns.append(GeminiTurn([GeminiRequestPart(text=_text(item.content))], role))
        elif isinstance(item, FunctionCall):
            names[item.call_id] = item.name
            call = GeminiCall(item.name, Raw(item.arguments.encode()), item.call_id)
            part = GeminiRequestPart(thought_signature="skip_thought_signature_validator", function_call=call)
            turns.append(GeminiTurn([part], "model"))
        else:
            known = item.call_id or ""
            found = GeminiResponsePart(known, names[known], GeminiResult(_text(item.output)))
            turns.append(GeminiTurn([GeminiRequestPart(function_response=found)], "user"))
    functions = [GeminiFunction(tool.name, tool.description or "", tool.parameters or {}) for tool in tools]
    system = GeminiTurn([GeminiRequestPart(text=request.instructions or "")])
    config = GeminiConfig(request.max_output_tokens or 0)
    return _encoder.encode(GeminiRequest(turns, system, [GeminiTools(functions)], config))


def _said(request: Request) -> tuple[str, list[Message | FunctionCall | FunctionCallOutput], list[FunctionTool]]:
    found: Any = request.model, request.input, request.tools
    return cast("tuple[str, list[Message | FunctionCall | FunctionCallOutput], list[FunctionTool]]", found)


def _text(content: object) -> str:
    return cast("str", content)


REQUESTS = {
    "openai_responses": responses_request,
    "openai_chat": chat_request,
    "anthropic_messages": anthropic_request,
    "ollama_chat": ollama_request,
    "gemini_generate_content": gemini_request,
}


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
