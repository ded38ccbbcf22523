"""What stands behind a gateway in these tests, and how clients of each wire ask it."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx
from anyio import sleep
from websockets.sync.client import ClientConnection, connect

from llm_rest import wires
from llm_rest.responses import Message, OutputText, Request, Response
from llm_rest.responses import events as ev
from llm_rest.responses.stream import Assembler, disassemble
from llm_rest.server.access import Limits
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Upstream, access_control
from llm_rest.server.gateway import Gateway
from llm_rest.server.handler import Context, HandlerEvent, Pause
from tests.support.streams import read

Plain = dict[str, Any]

ALICE, BOB = "alice-has-a-long-token", "bob-has-a-longer-token"
ENDS = ("error", "response.completed", "response.incomplete", "response.failed")
VERSION = {"anthropic-version": "2026-10-21"}
TURNS = dict.fromkeys(wires.NAMES, "messages") | {"openai_responses": "input", "gemini_generate_content": "contents"}
"""The field of the conversation on each wire."""


def question(wire: str, model: str, text: str, *, stream: bool = False, **fields: Any) -> tuple[str, Plain]:
    """The path and body with which a client of the wire asks."""
    said = [{"role": "user", "content": text}]
    if wire == "gemini_generate_content":
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{quote(model, safe='')}:{verb}", {
            "contents": [{"role": "user", "parts": [{"text": text}]}],
            **fields,
        }
    document = {"model": model, "stream": stream, **fields}
    if wire == "openai_responses":
        return "/v1/responses", {**document, "input": text}
    if wire == "anthropic_messages":
        return "/v1/messages", {"max_tokens": 900, **document, "messages": said}
    return {"openai_chat": "/v1/chat/completions", "ollama_chat": "/api/chat"}[wire], {**document, "messages": said}


def post(http: httpx.Client, wire: str, model: str, text: str, **more: Any) -> httpx.Response:
    """The answer to a question."""
    headers = more.pop("headers", {})
    path, document = question(wire, model, text, **more)
    return http.post(path, json=document, headers=headers)


def told(wire: str, answer: httpx.Response) -> Response:
    """What a whole answer or a stream says."""
    module = wires.load(wire)
    if answer.headers["content-type"] == "application/json":
        return module.decode_response(module.RESPONSE.decode(answer.content))[0]
    seen = Assembler()
    for event in read(wire, [answer.content]):
        seen.feed(event)
    return seen.response


def text_of(response: Response) -> str:
    """Its text."""
    parts = [part for item in response.output if isinstance(item, Message) for part in item.content]
    return "".join(part.text for part in parts if isinstance(part, OutputText))


def message_of(answer: httpx.Response) -> str:
    """What an error says, on any wire."""
    error = answer.json()["error"]
    return error if isinstance(error, str) else str(error["message"])


def everything(url: str) -> Config:
    """Models named after the wires, on which a simulated vendor at that URL is asked."""
    return Config(models={wire: Upstream(model="simulator/x", base_url=url, wire=wire) for wire in wires.NAMES})


@contextmanager
def gateway(config: Config, **how: Any) -> Generator[httpx.Client]:
    """An HTTP client of a gateway."""
    with serve_in_thread(Gateway(config), access=access_control(config, "127.0.0.1"), **how) as url:
        with httpx.Client(base_url=url, headers=VERSION, timeout=60) as http:
            yield http


@contextmanager
def before(
    vendor: Any, *, limits: Limits | None = None, model: str = "simulator/x", **way: Any
) -> Generator[httpx.Client]:
    """An HTTP client of a gateway whose model `m` is that vendor's, served here."""
    with serve_in_thread(vendor) as url:
        base_url = f"{url}/v1" if model.startswith("openai/") else url
        models = {"m": Upstream(model=model, base_url=base_url, **way)}
        with gateway(Config(models=models, limits=limits or Limits())) as client:
            yield client


def events_of(text: str) -> list[Plain]:
    """The documents in a stream of events."""
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


@contextmanager
def talk(url: str, token: str = "") -> Generator[ClientConnection]:
    """A WebSocket of that server."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    with connect(url.replace("http", "ws", 1) + "/v1/responses", proxy=None, additional_headers=headers) as socket:
        yield socket


def turn(socket: ClientConnection, said: Any, *, model: str = "anthropic_messages", **fields: Any) -> list[Plain]:
    """The events that answer one message, to the last."""
    socket.send(json.dumps({"type": "response.create", "model": model, "input": said, "store": False, **fields}))
    return [*to_the_end(socket)]


def to_the_end(socket: ClientConnection) -> Generator[Plain]:
    while True:
        event: Plain = json.loads(socket.recv(timeout=60))
        yield event
        if event["type"] in ENDS:
            return


class Busy:
    """A vendor that never finishes: it notes who comes, how much it has said, and that its caller went away."""

    def __init__(self, pause: float = 0) -> None:
        self.pause = pause
        self.asked: list[Request] = []
        self.came = threading.Event()
        self.left = threading.Event()
        self.said = 0

    def reset(self) -> None:
        """Forget who came and who left."""
        self.came.clear()
        self.left.clear()

    async def answer(self, request: Request, context: Context) -> Response:
        self.asked.append(request)
        self.came.set()
        try:
            await sleep(3600)
        finally:
            self.left.set()
        raise AssertionError

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        events = disassemble(saying("word " * 200, request))
        delta = next(event for event in events if isinstance(event, ev.OutputTextDelta))
        self.asked.append(request)
        self.came.set()
        try:
            yield events[: events.index(delta)]
            while True:
                self.said += 1
                yield delta
                yield Pause(self.pause)
        finally:
            self.left.set()

    async def count(self, request: Request, context: Context) -> int:
        return 42

    def models(self) -> list[str]:
        return ["x"]

    def has_model(self, name: str) -> bool:
        return True


class Echo(Busy):
    """A vendor that answers what it was asked, as JSON of ours, and remembers who asked."""

    def __init__(self) -> None:
        super().__init__()
        self.contexts: list[Context] = []

    async def answer(self, request: Request, context: Context) -> Response:
        self.asked.append(request)
        self.contexts.append(context)
        return saying("fine", request)

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        yield disassemble(await self.answer(request, context))

    @property
    def body(self) -> Plain:
        """The last body that came."""
        document: Plain = json.loads(self.contexts[-1].body)
        return document


def saying(text: str, request: Request) -> Response:
    """A response of that text."""
    said = Message(id="msg_1", role="assistant", status="completed", content=[OutputText(text=text, annotations=[])])
    return Response(id="resp_1", created_at=1, status="completed", model=request.model or "", output=[said])
