"""Chats in tests: by either kind of client, with a model in memory that is a list of answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

import httpx

from llm_rest import AsyncClient, Chat, Client
from llm_rest.responses import RESPONSE
from llm_rest.server.streaming import Pace, stream_events
from tests.callers import AwaitedStream
from tests.support.streams import written

Plain = dict[str, Any]


class Host:
    """A Responses host that gives its answers one after the other, and remembers the requests."""

    def __init__(self, *answers: str | Plain | tuple[int, Plain] | Callable[[Plain], Any]) -> None:
        self.answers = list(answers)
        self.bodies: list[Plain] = []
        self.paths: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.bodies.append(body)
        self.paths.append(request.url.path)
        answer: Any = self.answers.pop(0) if self.answers else "fine"
        if callable(answer):
            answer = answer(body)
        status, document = answer if isinstance(answer, tuple) else (200, answer)
        if isinstance(document, str):
            document = said(document)
        if body.get("stream"):
            if status != 200:
                return httpx.Response(status, json=document)
            return httpx.Response(200, text=streamed(document), headers={"content-type": "text/event-stream"})
        return httpx.Response(status, json=document)

    @property
    def texts(self) -> list[str]:
        """What the last request held, as texts and names."""
        return texts_of(self.bodies[-1]["input"])


def texts_of(items: Any) -> list[str]:
    found: list[str] = []
    entries: list[Plain] = items if isinstance(items, list) else [{"content": items}]
    for item in entries:
        content: Any = item.get("content", item.get("output", item.get("name")))
        found.append(content if isinstance(content, str) else "".join(part["text"] for part in content))
    return found


def said(text: str, *calls: tuple[str, Plain], tokens: int = 7, status: str = "completed") -> Plain:
    """An answer with a text, calls, or both."""
    output: list[Plain] = []
    for i, (name, arguments) in enumerate(calls):
        call = {"call_id": f"call_{name}_{i}", "name": name, "arguments": json.dumps(arguments)}
        output.append({"type": "function_call", "id": f"fc_{i}", **call})
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        output.append({**head, "content": content})
    usage = {"input_tokens": tokens, "output_tokens": 3, "total_tokens": tokens + 3}
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-4o", "status": status}
    return {**whole, "output": output, "usage": usage}


def streamed(document: Plain) -> str:
    """The answer as a stream; one with the status `broken` ends before its end."""
    broken = document["status"] == "broken"
    response = RESPONSE.decode(json.dumps({**document, "status": "completed"}))
    events = stream_events(response, Pace(size=3), unfinished=broken)
    return b"".join(written("openai_responses", [*events])[0]).decode()


TOO_LONG = (400, {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}})


def client(way: str, host: Host | None = None, **options: Any) -> Any:
    """A client whose requests go to this host."""
    if host is None:
        return Client("simulator/any") if way == "sync" else AsyncClient("simulator/any")
    transport = httpx.MockTransport(host)
    http: Any = httpx.Client(transport=transport) if way == "sync" else httpx.AsyncClient(transport=transport)
    kind: Any = Client if way == "sync" else AsyncClient
    return kind("openai/gpt-4o", api_key="sk-test-0123456789", retry=1, http=http, **options)


async def done(result: Any) -> Any:
    """What a method of either kind of chat gives."""
    return await result if isawaitable(result) else result


async def asked(chat: Any, *arguments: Any, **options: Any) -> Any:
    return await done(chat.ask(*arguments, **options))


async def pieces(chat: Any, *arguments: Any, most: int = 10_000, **options: Any) -> tuple[list[str], Any]:
    """The pieces of text of a streamed turn, and the stream."""
    found, stream = list[str](), chat.stream(*arguments, **options)
    awaited = AwaitedStream(stream) if isinstance(chat, Chat) else stream
    async with awaited:
        async for piece in awaited.text:
            found.append(piece)
            if len(found) == most:
                break
    return found, stream
