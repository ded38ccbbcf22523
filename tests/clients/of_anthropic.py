"""The official `anthropic` package."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, ClassVar

import anthropic

from .neutral import ABOUT, CITY, TOOL, Answer, Attached, Call, Client, Person, Results, Said, each, got, inside

ENDS = {"end_turn": "stop", "tool_use": "tools", "max_tokens": "length", "refusal": "refusal"}


class Messages(Client):
    """`client.messages`."""

    wire = "anthropic_messages"
    errors: ClassVar = {
        0: anthropic.APIStatusError,
        400: anthropic.BadRequestError,
        401: anthropic.AuthenticationError,
        429: anthropic.RateLimitError,
        529: anthropic.OverloadedError,
    }

    def __init__(self, url: str, token: str, *, waits: bool) -> None:
        kind: Any = anthropic.AsyncAnthropic if waits else anthropic.Anthropic
        super().__init__(kind(base_url=url, api_key=token, max_retries=0))

    def part(self, attached: Attached) -> dict[str, Any]:
        source = {"type": "base64", "media_type": attached.kind, "data": b64encode(attached.data).decode()}
        return {"type": "document" if attached.kind == "application/pdf" else "image", "source": source}

    def results(self, results: Results) -> Said:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": failed}
            for call, text, failed in results
        ]
        return [{"role": "user", "content": blocks}]

    async def ask(self, model: str, said: Said, **asked: Any) -> Answer:
        return _answered(await got(self._sdk.messages.create(model=model, messages=said, **_options(**asked))), 1)

    async def stream(self, model: str, said: Said, **asked: Any) -> Answer:
        pieces = 0
        async with inside(self._sdk.messages.stream(model=model, messages=said, **_options(**asked))) as stream:
            async for event in each(stream):
                pieces += event.type == "text"
            return _answered(await got(stream.get_final_message()), pieces)

    async def leave(self, model: str, said: Said) -> None:
        async with inside(self._sdk.messages.stream(model=model, messages=said, max_tokens=4000)) as stream:
            async for event in each(stream):
                if event.type == "text":
                    break

    async def person(self, model: str, said: Said) -> Person:
        asked = self._sdk.messages.parse(model=model, messages=said, max_tokens=900, output_format=Person)
        return (await got(asked)).parsed_output

    async def count(self, model: str, said: Said) -> int:
        return (await got(self._sdk.messages.count_tokens(model=model, messages=said))).input_tokens


def _options(*, tools: bool = False, thinking: bool = False, most: int | None = None) -> dict[str, Any]:
    asked: dict[str, Any] = {"max_tokens": most or 4000}
    if tools:
        asked["tools"] = [{"name": TOOL, "description": ABOUT, "input_schema": CITY, "strict": True}]
    if thinking:
        asked["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    return asked


def _answered(message: Any, pieces: int) -> Answer:
    why = message.stop_details.explanation if message.stop_reason == "refusal" and message.stop_details else ""
    return Answer(
        text="".join(block.text for block in message.content if block.type == "text") or why,
        ended=ENDS.get(message.stop_reason, message.stop_reason),
        tokens=(message.usage.input_tokens, message.usage.output_tokens),
        calls=[Call(block.input, block.id, block.name) for block in message.content if block.type == "tool_use"],
        said=[{"role": "assistant", "content": message.content}],
        pieces=pieces,
    )
