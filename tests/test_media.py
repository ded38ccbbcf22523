"""Pictures, sound and the tools that a host ran are in the reply, or told: nothing in an answer vanishes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from llm_rest import AsyncClient, Client
from llm_rest.errors import LossError

PNG = "iVBORw0KGgo="
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
SEARCH = {
    "index": 0,
    "type": "search",
    "arguments": '{"query": "q"}',
    "search_results": {"results": [{"url": "https://a"}]},
}
SOUND = {"id": "audio_1", "data": "AAAA", "expires_at": 9, "transcript": "Hello."}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def lines(deltas: list[dict[str, Any]]) -> Iterator[str]:
    for delta in [*deltas, {}]:
        choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


class Host:
    """A host that answers with a message, streams the deltas, and records what it was sent."""

    def __init__(self, message: dict[str, Any], deltas: list[dict[str, Any]] | None = None) -> None:
        self.bodies: list[Any] = []
        self._message, self._deltas = message, deltas or [{"role": "assistant"}, message]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        if not self.bodies[-1].get("stream"):
            return httpx.Response(200, json=answer(self._message))
        text = "".join(lines(self._deltas))
        return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


def client(model: str, host: Host, **options: Any) -> Client:
    return Client(model, api_key="k", http=httpx.Client(transport=httpx.MockTransport(host)), **options)


def output(reply: Any) -> list[Any]:
    items = reply.to_dict()["output"]
    return [{k: v for k, v in item.items() if k not in ("leftovers", "encrypted_content")} for item in items]


@pytest.mark.parametrize("vendor", ["openrouter", "openai", "compatible"])
def test_a_picture_in_a_chat_answer_is_an_item_whole_and_streamed(vendor: str) -> None:
    options = {"base_url": "http://localhost:9/v1"} if vendor == "compatible" else {"wire": "openai_chat"}
    with client(f"{vendor}/m", Host({"content": "Here.", "images": [IMAGE]}), on_loss="raise", **options) as llm:
        whole = llm.generate("Draw")
        with llm.stream("Draw") as stream:
            for _ in stream:
                pass
            streamed = stream.response
    assert [item.type for item in whole.output] == ["message", "image_generation_call"]
    assert output(whole)[1]["result"] == PNG
    assert output(whole) == output(streamed)
    assert whole.losses == []


@pytest.mark.parametrize("way", ["asyncio", "trio"])
@pytest.mark.anyio
async def test_a_picture_is_an_item_in_an_async_client() -> None:
    http = httpx.AsyncClient(transport=httpx.MockTransport(Host({"content": None, "images": [IMAGE]})))
    async with AsyncClient("openrouter/m", api_key="k", http=http) as llm:
        reply = await llm.generate("Draw")
        async with llm.stream("Draw") as stream:
            async for _ in stream:
                pass
            streamed = stream.response
    assert [item.type for item in reply.output] == ["image_generation_call"]
    assert output(reply) == output(streamed)


def test_a_picture_goes_back_to_its_host_as_it_came() -> None:
    host = Host({"content": "Here.", "images": [IMAGE]})
    with client("openrouter/m", host, on_loss="raise") as llm:
        chat = llm.chat()
        chat.ask("Draw")
        chat.ask("Bluer")
    assert host.bodies[1]["messages"][1] == {"role": "assistant", "content": "Here.", "images": [IMAGE]}


def test_the_transcript_of_a_sound_is_text_and_the_sound_goes_back_by_its_id() -> None:
    pieces = [
        {"id": "audio_1", "transcript": "Hel"},
        {"data": "AA=="},
        {"transcript": "lo.", "data": "AA=="},
        {"expires_at": 9},
    ]
    host = Host({"content": None, "audio": {**SOUND, "data": "AAA="}}, [{"audio": piece} for piece in pieces])
    with client("openai/gpt-audio", host, wire="openai_chat", on_loss="ignore") as llm:
        whole = llm.generate("Speak")
        with llm.stream("Speak") as stream:
            text = "".join(stream.text)
            streamed = stream.response
        llm.generate([{"role": "user", "content": "Speak"}, *streamed.output, {"role": "user", "content": "Louder"}])
    assert text == whole.output_text == "Hello."
    assert whole.to_dict()["output"] == streamed.to_dict()["output"]
    assert [(loss.path, loss.kind) for loss in whole.losses] == [("choices[0].message.audio", "dropped")]
    assert host.bodies[2]["messages"][1] == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}


def test_a_sound_that_cannot_be_shown_is_raised_where_losses_are() -> None:
    with client(
        "openai/gpt-audio", Host({"content": None, "audio": SOUND}), wire="openai_chat", on_loss="raise"
    ) as llm:
        with pytest.raises(LossError, match="sound"):
            llm.generate("Speak")


def test_tools_that_groq_ran_are_calls_of_hosted_tools_and_trouble_no_later_turn() -> None:
    program = {"index": 1, "type": "python", "arguments": '{"code": "1+1"}', "output": "2"}
    message = {"content": "Two.", "executed_tools": [SEARCH, program]}
    begun = {**SEARCH, "search_results": {"results": []}}
    host = Host(
        message,
        [{"executed_tools": [begun]}, {"executed_tools": [SEARCH]}, {"executed_tools": [program]}, {"content": "Two."}],
    )
    with client("groq/groq/compound", host, on_loss="raise") as llm:
        whole = llm.generate("?")
        with llm.stream("?") as stream:
            for _ in stream:
                pass
            streamed = stream.response
        llm.generate([{"role": "user", "content": "?"}, *whole.output, {"role": "user", "content": "More"}])
    assert [item.type for item in whole.output] == ["web_search_call", "code_interpreter_call", "message"]
    assert output(whole) == output(streamed)
    assert host.bodies[2]["messages"][1] == {"role": "assistant", "content": "Two."}


def test_sources_that_come_without_a_list_of_urls_are_cited() -> None:
    document = {**answer({"content": "21 degrees."}), "search_results": [{"title": "Yr", "url": "https://yr.no"}]}
    http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=document)))
    with Client("perplexity/sonar", api_key="k", http=http) as llm:
        reply = llm.generate("How warm?")
    (cited,) = reply.to_dict()["output"][0]["content"][0]["annotations"]
    assert (cited["url"], cited["title"]) == ("https://yr.no", "Yr")


def test_a_picture_of_ollama_is_an_item_and_goes_back() -> None:
    bodies: list[Any] = []

    def host(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        message = {"role": "assistant", "content": "Here.", "images": [PNG]}
        return httpx.Response(200, json={"model": "m", "message": message, "done": True, "done_reason": "stop"})

    with Client("ollama/m", http=httpx.Client(transport=httpx.MockTransport(host))) as llm:
        chat = llm.chat()
        reply = chat.ask("Draw")
        chat.ask("Bluer")
    assert [item.type for item in reply.output] == ["message", "image_generation_call"]
    assert bodies[1]["messages"][1] == {"role": "assistant", "content": "Here.", "images": [PNG]}
