"""The gateway that the SDKs are pointed at, and the simulated vendors behind it, who tell what they were sent."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import aclosing, contextmanager
from typing import Any, cast

import msgspec
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from llm_rest import wires
from llm_rest.errors import ErrorFacts
from llm_rest.responses import Request, Response
from llm_rest.responses import events as ev
from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Upstream
from llm_rest.server.gateway import Gateway
from llm_rest.server.handler import Context, HandlerEvent, Refused
from llm_rest.server.history import StoredHistory
from llm_rest.simulator.signatures import opened
from llm_rest.sync import drive
from tests.peers import Peers

from .neutral import Client
from .of_anthropic import Messages
from .of_google import Gemini
from .of_ollama import Ollama
from .of_openai import Chat, Responses

CLIENTS: dict[str, Callable[..., Client]] = {
    "openai.responses": Responses,
    "openai.chat": Chat,
    "anthropic": Messages,
    "google-genai": Gemini,
    "ollama": Ollama,
}
WAYS = {"sync": False, "async": True}

TOKENS = {"alice": "token-of-alice-0123", "bob": "token-of-bob-45678"}

SIGNING = {
    "anthropic_messages": "simulator/claude-opus-5-5",
    "gemini_generate_content": "simulator/gemini-3-pro-preview",
    "openai_chat": "openrouter/anthropic/claude-opus-5-5",
}
"""The models that sign their thoughts and want them back in their very place, where a wire has stricter ones than others.

The Chat wire has them at hosts that route to other vendors; OpenAI itself gives no thoughts out there.
"""


class Spy(Peers):
    """The simulated vendors, who refuse what they did not sign; tells what came, and which signatures went out and came back."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.bodies: list[Any] = []
        self.issued: list[str] = []
        self.failing: ErrorFacts | None = None
        self.left = threading.Event()

    def returned(self) -> list[str]:
        """The signatures in the last request."""
        return [found for found in _strings(self.bodies[-1]) if found in self.issued]

    async def answer(self, request: Request, context: Context) -> Response:
        self._heard(context)
        response = await super().answer(request, context)
        self._gave(response, request, context)
        return response

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        self._heard(context)
        finished = False
        try:
            async with aclosing(super().stream(request, context)) as stream:
                async for told in stream:
                    for event in told if isinstance(told, list) else [told]:
                        if isinstance(event, ev.TERMINAL):
                            self._gave(event.response, request, context)
                            finished = True
                    yield told
        finally:
            if not finished:
                self.left.set()

    def _heard(self, context: Context) -> None:
        self.bodies.append(msgspec.json.decode(context.body))
        if self.failing is not None:
            raise Refused(self.failing)

    def _gave(self, response: Response, request: Request, context: Context) -> None:
        wire: Any = wires.load(context.wire)
        document, _ = wire.encode_response(response, request=request, dialect=context.dialect)
        for text in _strings(msgspec.json.decode(msgspec.json.encode(document))):
            if opened(context.dialect.issuer, text) and text not in self.issued:
                self.issued.append(text)


def _strings(value: Any) -> Generator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _strings(inner)


class World:
    """A gateway with every simulated vendor behind it, and SDK clients for it, made once each."""

    def __init__(self, url: str, spy: Spy, portal: BlockingPortal) -> None:
        self.url = url
        self.spy = spy
        self._portal = portal
        self._clients: dict[tuple[str, bool, str], Client] = {}

    def client(self, name: str, way: str, token: str = TOKENS["alice"]) -> Client:
        """The client of that name, sync or async."""
        key = name, WAYS[way], token
        if key not in self._clients:
            self._clients[key] = CLIENTS[name](self.url, token, waits=WAYS[way])
        return self._clients[key]

    def run(self, way: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do it, in an event loop or without one."""
        if WAYS[way]:
            self._portal.call(work)
        else:
            drive(work())

    def close(self) -> None:
        """Close every client where it was used."""
        for (_, waits, _), client in self._clients.items():
            self.run("async" if waits else "sync", client.close)


@contextmanager
def world(history: StoredHistory | None = None) -> Generator[World]:
    """A gateway that remembers, unless told otherwise, for two callers, with the vendors of all wires behind it."""
    spy = Spy()
    with pytest.MonkeyPatch.context() as patch, serve_in_thread(spy) as behind, start_blocking_portal() as portal:
        patch.setenv("UPSTREAM_KEY", "key-of-the-gateway")
        models: dict[str, str | Upstream] = {}
        for wire in wires.NAMES:
            models[wire] = Upstream(model="simulator/x", base_url=behind, wire=wire, key_env="UPSTREAM_KEY")
            model = SIGNING.get(wire, "simulator/x")
            base = f"{behind}/openrouter" if model.startswith("openrouter") else behind
            models[f"{wire}.signing"] = Upstream(model=model, base_url=base, wire=wire, key_env="UPSTREAM_KEY")
        gateway = Gateway(Config(models=models), history=history or StoredHistory())
        with serve_in_thread(gateway, access=AccessControl.at("127.0.0.1", tokens=TOKENS)) as url:
            found = World(url, spy, portal)
            yield found
            found.close()
