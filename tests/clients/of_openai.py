"""The official `openai` package: Responses and Chat Completions."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import openai

from .neutral import ABOUT, CITY, TOOL, Answer, Attached, Call, Client, Person, Results, Said, each, got, inside


class _OpenAI(Client):
    errors: ClassVar = {
        0: openai.APIError,
        400: openai.BadRequestError,
        401: openai.AuthenticationError,
        429: openai.RateLimitError,
        529: openai.InternalServerError,
    }

    def __init__(self, url: str, token: str, *, waits: bool) -> None:
        kind: Any = openai.AsyncOpenAI if waits else openai.OpenAI
        super().__init__(kind(base_url=f"{url}/v1", api_key=token, max_retries=0))


def _data(attached: Attached) -> str:
    return f"data:{attached.kind};base64,{b64encode(attached.data).decode()}"


class Responses(_OpenAI):
    """`client.responses`."""

    wire = "openai_responses"
    text = "input_text"

    def part(self, attached: Attached) -> dict[str, Any]:
        if attached.kind == "application/pdf":
            return {"type": "input_file", "filename": "paper.pdf", "file_data": _data(attached)}
        return {"type": "input_image", "image_url": _data(attached), "detail": "auto"}

    def results(self, results: Results) -> Said:
        return [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text, _ in results]

    async def ask(self, model: str, said: Said, **asked: Any) -> Answer:
        return _answered(await got(self._sdk.responses.create(model=model, input=said, **_options(**asked))), 1)

    async def stream(self, model: str, said: Said, **asked: Any) -> Answer:
        pieces, event = 0, None
        async with inside(self._sdk.responses.stream(model=model, input=said, **_options(**asked))) as stream:
            async for event in each(stream):
                pieces += event.type == "response.output_text.delta"
        # `get_final_response` takes no response that was cut at its limit.
        return _answered(getattr(event, "response", None), pieces)

    @asynccontextmanager
    async def socket(self) -> AsyncGenerator[Callable[..., Awaitable[Answer]]]:
        """What does over one WebSocket what `stream` does over HTTP."""
        async with inside(self._sdk.responses.connect()) as connection:

            async def asked(model: str, said: Said, **options: Any) -> Answer:
                await got(connection.response.create(model=model, input=said, **_options(**options)))
                pieces = 0
                while (event := await got(connection.recv())).type != "response.completed":
                    assert event.type not in ("error", "response.failed", "response.incomplete"), event
                    pieces += event.type == "response.output_text.delta"
                return _answered(event.response, pieces)

            yield asked

    async def leave(self, model: str, said: Said) -> None:
        stream = await got(self._sdk.responses.create(model=model, input=said, stream=True))
        async for event in each(stream):
            if event.type == "response.output_text.delta":
                break
        await got(stream.close())

    async def person(self, model: str, said: Said) -> Person:
        parsed = await got(self._sdk.responses.parse(model=model, input=said, text_format=Person))
        return parsed.output_parsed

    async def count(self, model: str, said: Said) -> int:
        return (await got(self._sdk.responses.input_tokens.count(model=model, input=said))).input_tokens


def _options(
    *,
    tools: bool = False,
    thinking: bool = False,
    summary: bool = True,
    most: int | None = None,
    stored: bool = False,
) -> dict[str, Any]:
    asked: dict[str, Any] = {"store": stored}
    if tools:
        asked["tools"] = [{"type": "function", "name": TOOL, "description": ABOUT, "parameters": CITY, "strict": True}]
    if thinking:
        asked["reasoning"] = {"effort": "low", "summary": "auto"} if summary else {"effort": "low"}
        if not stored:
            asked["include"] = ["reasoning.encrypted_content"]
    if most:
        asked["max_output_tokens"] = most
    return asked


CUT = {"max_output_tokens": "length", "content_filter": "refusal"}


def _answered(response: Any, pieces: int) -> Answer:
    calls = [item for item in response.output if item.type == "function_call"]
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    refused = "".join(part.refusal for part in parts if part.type == "refusal")
    ended = "refusal" if refused else "tools" if calls else "stop"
    if response.status == "incomplete":
        ended = CUT[response.incomplete_details.reason]
    return Answer(
        text=response.output_text or refused,
        ended=ended,
        tokens=(response.usage.input_tokens, response.usage.output_tokens),
        calls=[Call(json.loads(call.arguments), call.call_id, call.name) for call in calls],
        said=[_returned(item) for item in response.output],
        pieces=pieces,
    )


def _returned(item: Any) -> Any:
    """An item as it is sent back; the SDK's own parsed form of arguments is not the API's."""
    return {k: v for k, v in item.model_dump(exclude_none=True).items() if k not in ("parsed_arguments", "parsed")}


class Chat(_OpenAI):
    """`client.chat.completions`."""

    wire = "openai_chat"

    def part(self, attached: Attached) -> dict[str, Any]:
        if attached.kind == "application/pdf":
            return {"type": "file", "file": {"filename": "paper.pdf", "file_data": _data(attached)}}
        return {"type": "image_url", "image_url": {"url": _data(attached)}}

    def results(self, results: Results) -> Said:
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text, _ in results]

    async def ask(self, model: str, said: Said, **asked: Any) -> Answer:
        completions = self._sdk.chat.completions
        return _completed(await got(completions.create(model=model, messages=said, **_chat_options(**asked))), 1)

    async def stream(self, model: str, said: Said, **asked: Any) -> Answer:
        options = {**_chat_options(**asked), "stream_options": {"include_usage": True}}
        pieces = 0
        async with inside(self._sdk.chat.completions.stream(model=model, messages=said, **options)) as stream:
            async for event in each(stream):
                pieces += event.type == "content.delta" and bool(event.delta)
            # `get_final_completion` raises where an answer was cut or filtered.
            return _completed(stream.current_completion_snapshot, pieces)

    async def read(self, model: str, said: Said, chunks: list[Any]) -> None:
        """Add the chunks of a stream to a list as they arrive, without the SDK's helper."""
        async for chunk in each(await got(self._sdk.chat.completions.create(model=model, messages=said, stream=True))):
            chunks.append(chunk)

    async def leave(self, model: str, said: Said) -> None:
        stream = await got(self._sdk.chat.completions.create(model=model, messages=said, stream=True))
        async for chunk in each(stream):
            if chunk.choices[0].delta.content:
                break
        await got(stream.close())

    async def person(self, model: str, said: Said) -> Person:
        parsed = await got(self._sdk.chat.completions.parse(model=model, messages=said, response_format=Person))
        return parsed.choices[0].message.parsed


def _chat_options(*, tools: bool = False, thinking: bool = False, most: int | None = None) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if tools:
        function = {"name": TOOL, "description": ABOUT, "parameters": CITY, "strict": True}
        asked["tools"] = [{"type": "function", "function": function}]
    if thinking:
        asked["reasoning_effort"] = "low"
    if most:
        asked["max_completion_tokens"] = most
    return asked


ENDS = {"stop": "stop", "tool_calls": "tools", "length": "length", "content_filter": "refusal"}


def _completed(completion: Any, pieces: int) -> Answer:
    choice: Any = completion.choices[0]
    message, calls = choice.message, choice.message.tool_calls or []
    ended = "refusal" if message.refusal else ENDS.get(choice.finish_reason, str(choice.finish_reason))
    said = {k: v for k, v in message.model_dump(exclude_none=True).items() if k != "parsed"}
    for call in said.get("tool_calls", ()):
        call["function"].pop("parsed_arguments", None)
    return Answer(
        text=message.content or message.refusal or "",
        ended=ended,
        tokens=(completion.usage.prompt_tokens, completion.usage.completion_tokens),
        calls=[Call(json.loads(call.function.arguments), call.id, call.function.name) for call in calls],
        said=[said],
        pieces=pieces,
    )
