"""The official `google-genai` package."""

from __future__ import annotations

from typing import Any, ClassVar

from google import genai
from google.genai import errors, types

from .neutral import ABOUT, CITY, TOOL, Answer, Attached, Call, Client, Person, Results, Said, each, got, left

ENDS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "refusal"}


class Gemini(Client):
    """`client.models`, and `client.aio.models`."""

    wire = "gemini_generate_content"
    errors: ClassVar = {0: errors.ServerError, 529: errors.ServerError} | dict.fromkeys(
        (400, 401, 429), errors.ClientError
    )

    def __init__(self, url: str, token: str, *, waits: bool) -> None:
        self._client = genai.Client(api_key=token, http_options=types.HttpOptions(base_url=url))
        super().__init__(self._client.aio.models if waits else self._client.models)
        self._waits = waits

    def user(self, text: str, attached: Attached | None = None) -> Said:
        parts = [types.Part.from_text(text=text)]
        if attached is not None:
            parts.append(types.Part.from_bytes(data=attached.data, mime_type=attached.kind))
        return [types.Content(role="user", parts=parts)]

    def results(self, results: Results) -> Said:
        parts: list[types.Part] = []
        for call, text, failed in results:
            given = types.FunctionResponse(id=call.id, name=call.name, response={"error" if failed else "output": text})
            parts.append(types.Part(function_response=given))
        return [types.Content(role="user", parts=parts)]

    async def ask(self, model: str, said: Said, **asked: Any) -> Answer:
        made = self._sdk.generate_content(model=model, contents=said, config=_config(**asked))
        return _answered([await got(made)])

    async def stream(self, model: str, said: Said, **asked: Any) -> Answer:
        stream = await got(self._sdk.generate_content_stream(model=model, contents=said, config=_config(**asked)))
        return _answered([chunk async for chunk in each(stream)])

    async def leave(self, model: str, said: Said) -> None:
        await left(await got(self._sdk.generate_content_stream(model=model, contents=said)))

    async def person(self, model: str, said: Said) -> Person:
        config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Person)
        return (await got(self._sdk.generate_content(model=model, contents=said, config=config))).parsed

    async def count(self, model: str, said: Said) -> int:
        return (await got(self._sdk.count_tokens(model=model, contents=said))).total_tokens

    async def models(self) -> list[str]:
        return [model.name.removeprefix("models/") async for model in each(await got(self._sdk.list()))]

    def status(self, error: Any) -> int:
        return error.code

    async def close(self) -> None:
        if self._waits:
            await self._client.aio.aclose()
        self._client.close()


def _config(*, tools: bool = False, thinking: bool = False, most: int | None = None) -> types.GenerateContentConfig:
    config = types.GenerateContentConfig(max_output_tokens=most)
    if tools:
        weather = types.FunctionDeclaration(name=TOOL, description=ABOUT, parameters_json_schema=CITY)
        config.tools = [types.Tool(function_declarations=[weather])]
        config.automatic_function_calling = types.AutomaticFunctionCallingConfig(disable=True)
    if thinking:
        config.thinking_config = types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.LOW)
    return config


def _answered(chunks: list[types.GenerateContentResponse]) -> Answer:
    parts = [part for chunk in chunks for part in chunk.parts or ()]
    texts = [part.text for part in parts if part.text and not part.thought]
    calls = [part.function_call for part in parts if part.function_call]
    last = chunks[-1]
    assert last.candidates
    assert last.usage_metadata
    reason = last.candidates[0].finish_reason
    word = reason.value if reason else "none"
    usage = last.usage_metadata
    ended = ENDS.get(word, word)
    return Answer(
        text="".join(texts),
        ended="tools" if calls and ended == "stop" else ended,
        tokens=(usage.prompt_token_count, (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)),
        calls=[Call(call.args, call.id, call.name or "") for call in calls],
        said=[types.Content(role="model", parts=parts)],
        pieces=len(texts),
    )
