"""The official `ollama` package."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx
import ollama

from .neutral import ABOUT, CITY, TOOL, Answer, Attached, Call, Client, Person, Results, Said, each, got, left

ENDS = {"stop": "stop", "length": "length"}


class Ollama(Client):
    """`client.chat`."""

    wire = "ollama_chat"
    errors: ClassVar = dict.fromkeys((0, 400, 401, 429, 529), ollama.ResponseError)

    def __init__(self, url: str, token: str, *, waits: bool) -> None:
        kind: Any = ollama.AsyncClient if waits else ollama.Client
        headers = {"Authorization": f"Bearer {token}"}
        super().__init__(kind(host=url, headers=headers))
        self._http: Any = (httpx.AsyncClient if waits else httpx.Client)(base_url=url, headers=headers, timeout=60)

    def user(self, text: str, attached: Attached | None = None) -> Said:
        if attached is None or not attached.kind.startswith("image/"):
            return super().user(text, attached)
        return [{"role": "user", "content": text, "images": [attached.data]}]

    def results(self, results: Results) -> Said:
        return [{"role": "tool", "tool_name": call.name, "content": text} for call, text, _ in results]

    async def ask(self, model: str, said: Said, **asked: Any) -> Answer:
        return _answered([await got(self._sdk.chat(model=model, messages=said, **_options(**asked)))])

    async def stream(self, model: str, said: Said, **asked: Any) -> Answer:
        stream = await got(self._sdk.chat(model=model, messages=said, stream=True, **_options(**asked)))
        return _answered([line async for line in each(stream)])

    async def leave(self, model: str, said: Said) -> None:
        await left(await got(self._sdk.chat(model=model, messages=said, stream=True)))

    async def person(self, model: str, said: Said) -> Person:
        answer = await got(self._sdk.chat(model=model, messages=said, format=Person.model_json_schema()))
        return Person.model_validate_json(answer.message.content)

    async def models(self) -> list[str]:
        return [model.model for model in (await got(self._sdk.list())).models]

    async def capabilities(self, model: str) -> list[str]:
        """What the model can do, by `show`."""
        return (await got(self._sdk.show(model))).capabilities

    async def running(self) -> list[str]:
        """The models that are loaded."""
        return [model.model for model in (await got(self._sdk.ps())).models]

    async def generate(self, model: str, prompt: str, *, stream: bool) -> tuple[str, str]:
        """The answer to a prompt, and why it ended."""
        answer = await got(self._sdk.generate(model=model, prompt=prompt, stream=stream))
        lines = [line async for line in each(answer)] if stream else [answer]
        return "".join(line.response for line in lines), lines[-1].done_reason

    async def http(self, method: str, path: str, body: Any = None) -> Any:
        """What the SDK has no way of asking, by plain HTTP."""
        response = await got(self._http.request(method, path, json=body))
        assert response.status_code == 200, response.text
        return response.json()

    def wait(self, error: Any) -> str | None:
        return None  # the SDK keeps no headers

    async def close(self) -> None:
        await super().close()
        await got(self._http.aclose() if isinstance(self._http, httpx.AsyncClient) else self._http.close())


def _options(*, tools: bool = False, thinking: bool = False, most: int | None = None) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if tools:
        function = {"name": TOOL, "description": ABOUT, "parameters": CITY}
        asked["tools"] = [{"type": "function", "function": function}]
    if thinking:
        asked["think"] = True
    if most:
        asked["options"] = {"num_predict": most}
    return asked


def _answered(lines: list[ollama.ChatResponse]) -> Answer:
    texts = [line.message.content for line in lines if line.message.content]
    thoughts = [line.message.thinking for line in lines if line.message.thinking]
    calls = [call for line in lines for call in line.message.tool_calls or ()]
    last = lines[-1]
    ended = ENDS.get(last.done_reason or "", str(last.done_reason))
    said = ollama.Message(
        role="assistant",
        content="".join(texts),
        thinking="".join(thoughts) or None,
        tool_calls=calls or None,
    )
    return Answer(
        text="".join(texts),
        ended="tools" if calls and ended == "stop" else ended,
        tokens=(last.prompt_eval_count, last.eval_count),
        calls=[Call(call.function.arguments, None, call.function.name) for call in calls],
        said=[said],
        pieces=len(texts),
    )
