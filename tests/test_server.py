"""The server: one exchange for every wire, its errors, and the application around it."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx
import pytest
from anyio import create_task_group, sleep_forever
from anyio.lowlevel import checkpoint

from llm_rest import RateLimitError, wires
from llm_rest.errors import ErrorFacts
from llm_rest.responses import Message, OutputText, Reasoning, ReasoningText, Request, Response, ResponseError
from llm_rest.responses import events as ev
from llm_rest.responses.stream import disassemble
from llm_rest.server import app, asgi
from llm_rest.server.access import AccessControl, Limits
from llm_rest.server.app import serve_in_thread
from llm_rest.server.exchange import Answer, Streamed, exchange
from llm_rest.server.handler import Context, HandlerEvent, Pause, Refused
from llm_rest.simulator import Simulator
from llm_rest.sync import drive
from tests.gateway.upstreams import VERSION, question
from tests.support.legal import faults
from tests.support.streams import read

Plain = dict[str, Any]

every_wire = pytest.mark.parametrize("wire", wires.NAMES)


class Scripted:
    """A handler that raises or returns what it is given, and records the requests."""

    def __init__(
        self, does: Exception | Response | None = None, *, cut_at: int | None = None, then: Exception | None = None
    ) -> None:
        self.does = does
        self.cut_at = cut_at
        self.then = then
        self.asked: list[tuple[Request, Context]] = []

    async def answer(self, request: Request, context: Context) -> Response:
        self.asked.append((request, context))
        if isinstance(self.does, Exception):
            raise self.does
        said = Message(role="assistant", content=[OutputText(text="ho", annotations=[])])
        return self.does or Response(id="resp_1", status="completed", model=request.model or "", output=[said])

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        for event in disassemble(await self.answer(request, context))[: self.cut_at]:
            yield event
        if self.then is not None:
            raise self.then

    async def count(self, request: Request, context: Context) -> int:
        return 42

    def models(self) -> list[str]:
        return ["one", "two"]

    def has_model(self, name: str) -> bool:
        return name in self.models()


def ask(
    path: str,
    document: Any,
    handler: Scripted | None = None,
    *,
    method: str = "POST",
    headers: Mapping[str, str] = VERSION,
) -> tuple[Answer, Plain]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    answer = drive(exchange(method, path, headers, body, handler or Scripted()))
    assert isinstance(answer, Answer)
    return answer, json.loads(answer.body)


def message_of(body: Plain) -> str:
    error = body["error"]
    return error if isinstance(error, str) else str(error["message"])


# --- where a request goes -------------------------------------------------------------------------------------------


@every_wire
@pytest.mark.parametrize("form", ["{}", "{}/", "{}?beta=true"])
def test_a_path_leads_to_its_wire_with_and_without_the_version(wire: str, form: str) -> None:
    whole, document = question(wire, "m", "hi")
    for path in (whole, re.sub("^/v1(beta)?", "", whole)):
        handler = Scripted()
        answer, body = ask(form.format(path), document, handler)
        assert answer.status == 200
        assert "ho" in json.dumps(body)
        (request, context) = handler.asked[0]
        assert request.model == "m"
        assert (context.wire, context.vendor) == (wire, None)


@pytest.mark.parametrize(
    ("path", "wire", "vendor"),
    [
        ("/groq/chat/completions", "openai_chat", "groq"),
        ("/openrouter/v1/chat/completions", "openai_chat", "openrouter"),
        ("/anthropic/v1/messages", "anthropic_messages", "anthropic"),
        ("/deepseek/anthropic/v1/messages", "anthropic_messages", "deepseek"),
        ("/xai/responses", "openai_responses", "xai"),
    ],
)
def test_a_vendor_before_the_path_sets_the_dialect_and_has_its_own_wires_alone(
    path: str, wire: str, vendor: str
) -> None:
    handler = Scripted()
    assert ask(path, question(wire, "m", "hi")[1], handler)[0].status == 200
    context = handler.asked[0][1]
    assert (context.wire, context.vendor) == (wire, vendor)
    answer, body = ask("/anthropic/v1/responses", {"model": "m", "input": "hi"})
    assert answer.status == 404
    assert "/anthropic/v1/messages" in message_of(body)


# --- what comes out -------------------------------------------------------------------------------------------------


def test_losses_are_in_a_header() -> None:
    own, _ = ask(*question("openai_chat", "m", "hi", logit_bias={"1": 5}))
    assert own.headers.get("x-llm-rest-losses") is None, "an option of the wire itself"
    said = Message(role="assistant", content=[OutputText(text="ho", annotations=[])], phase="commentary")
    found = Response(id="r", status="completed", output=[said], model="m")
    answer, _ = ask(*question("anthropic_messages", "m", "hi"), Scripted(found))
    assert any("phase" in loss for loss in json.loads(answer.headers["x-llm-rest-losses"]))


BEARER, ANTHROPIC = {"authorization": "Bearer x"}, {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    ("path", "headers", "names"),
    [
        ("/v1/models", BEARER, ["one", "two"]),
        ("/v1/models", ANTHROPIC, ["one", "two"]),
        ("/v1beta/models", {"x-goog-api-key": "x"}, ["models/one", "models/two"]),
        ("/v1beta/models", BEARER, ["models/one", "models/two"]),
        ("/v1beta/models", {}, ["models/one", "models/two"]),
        ("/api/tags", {}, ["one", "two"]),
        ("/ollama/api/tags", {}, ["one", "two"]),
        ("/api/ps", {}, ["one", "two"]),
        ("/ollama/api/ps", {}, ["one", "two"]),
    ],
)
def test_models_are_listed_in_the_format_of_the_wire(path: str, headers: dict[str, str], names: list[str]) -> None:
    answer, body = ask(path, b"", method="GET", headers=headers)
    assert answer.status == 200
    assert [model.get("id") or model["name"] for model in body.get("data") or body["models"]] == names
    assert ("has_more" in body) == (headers is ANTHROPIC)
    if "tags" in path:
        assert len({model["digest"] for model in body["models"]}) == 2, "clients cache by it what they learn of a model"
    elif "ps" not in path:
        one = ask(f"{path}/one", b"", method="GET", headers=headers)[1]
        assert (one.get("id") or one["name"]) == names[0]
        answer, body = ask(f"{path}/three", b"", method="GET", headers=headers)
        assert (answer.status, "three" in message_of(body)) == (404, True)


# --- other endpoints of Ollama --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "document", "status", "words"),
    [
        ("POST", "/api/show", {"model": "three"}, 404, "three"),
        ("POST", "/api/show", {}, 400, "model"),
        ("GET", "/api/show", {}, 405, ""),
        ("POST", "/api/tags", {}, 405, ""),
        ("POST", "/api/generate", {"model": "three"}, 404, "three"),
        # needs the template or tokens of the model
        ("POST", "/api/generate", {"model": "m", "prompt": "Hi", "suffix": "b"}, 400, "suffix"),
        ("POST", "/api/generate", {"model": "m", "prompt": "Hi", "template": "{{ .Prompt }}"}, 400, "template"),
        ("POST", "/api/generate", {"model": "m", "prompt": "Hi", "context": [1]}, 400, "context"),
        ("POST", "/api/embed", {"model": "m"}, 404, ""),
        ("POST", "/ollama/api/delete", {"model": "m"}, 404, ""),
    ],
)
def test_errors_have_the_format_of_ollama(method: str, path: str, document: Any, status: int, words: str) -> None:
    answer, body = ask(path, document, method=method, headers={})
    assert (answer.status, type(body["error"]), words in body["error"]) == (status, str, True)


def test_ollamas_clients_get_the_version_and_what_a_model_can_do() -> None:
    for prefix in ("", "/ollama"):
        assert set(ask(f"{prefix}/api/version", b"", method="GET", headers={})[1]) == {"version"}
    _, body = ask("/api/show", {"model": "one"}, headers={})
    assert body["capabilities"] == ["completion", "tools", "vision", "thinking"]
    assert "tools" in body["template"].lower()


def test_a_prompt_of_ollama_is_a_chat_of_one_message() -> None:
    handler = Scripted()
    document = {"model": "m", "prompt": "Hi", "system": "Be brief.", "stream": False, "options": {"num_predict": 5}}
    _, body = ask("/api/generate", document, handler, headers={})
    assert (body["response"], body["done"], "message" in body) == ("ho", True, False)
    (request, _) = handler.asked[0]
    assert (request.instructions, request.input) == ("Be brief.", [Message(role="user", content="Hi")])
    assert (request.model, request.max_output_tokens) == ("m", 5)
    _, body = ask("/api/generate", {"model": "one"}, headers={})
    assert (body["done"], body["done_reason"], body["response"]) == (True, "load", ""), "no prompt"


def test_a_prompt_of_ollama_is_streamed_by_default() -> None:
    thought = Reasoning(summary=[], content=[ReasoningText(text="Hm.")])
    said = Message(role="assistant", content=[OutputText(text="ho", annotations=[])])
    handler = Scripted(Response(id="resp_1", status="completed", model="m", output=[thought, said]))
    body = json.dumps({"model": "m", "prompt": "Hi", "think": True}).encode()
    answer = drive(exchange("POST", "/api/generate", {}, body, handler))
    assert isinstance(answer, Streamed)
    lines = [json.loads(line) for line in b"".join(drive(pieces(answer.body))).splitlines()]
    assert [line.get("thinking", "") + line["response"] for line in lines] == ["Hm.", "ho", ""]
    assert [line["done"] for line in lines] == [False, False, True]
    assert not any("message" in line for line in lines)


def test_tokens_are_counted_where_a_wire_has_a_path_for_it() -> None:
    said = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert ask("/v1/messages/count_tokens", said)[1] == {"input_tokens": 42}
    counted = ask("/v1/responses/input_tokens", {"model": "m", "input": "hi"})[1]
    assert counted == {"object": "response.input_tokens", "input_tokens": 42}
    alone = question("gemini_generate_content", "m", "hi")[1]
    for asked in (alone, {"generateContentRequest": {"model": "models/m", **alone}}):
        assert ask("/v1beta/models/m:countTokens", asked)[1] == {"totalTokens": 42}


# --- what goes wrong ------------------------------------------------------------------------------------------------


FAILED = Response(id="resp_1", status="failed", model="m", output=[], error=ResponseError(message="Slow down."))
ERRORS: list[tuple[Exception | Response, int, str | None]] = [
    (Refused(ErrorFacts(status=429, message="Slow down.", code="rate_limit_exceeded", retry_after=2.5)), 429, "2.5"),
    (RateLimitError("Slow down.", status=429, retry_after=3), 429, "3"),
    (RateLimitError("Slow down."), 429, None),
    (FAILED, 500, None),
]
"""What a handler raises or returns, and the status and header of the answer."""


@every_wire
@pytest.mark.parametrize(("does", "status", "retry_after"), ERRORS, ids=["refused", "error", "no status", "failed"])
def test_an_error_of_the_handler_has_its_status_and_message(
    wire: str, does: Exception | Response, status: int, retry_after: str | None
) -> None:
    answer, body = ask(*question(wire, "m", "hi"), Scripted(does))
    # Responses has failed responses; the other wires have errors alone.
    assert answer.status == (200 if does is FAILED and wire == "openai_responses" else status)
    assert answer.headers.get("retry-after") == retry_after
    assert message_of(body) == "Slow down."


def test_an_answer_that_a_wire_cannot_express_is_an_error() -> None:
    queued = Response(id="resp_1", status="queued", model="m", output=[])
    answer, body = ask(*question("openai_chat", "m", "hi"), Scripted(queued))
    assert (answer.status, "queued" in message_of(body)) == (500, True)


# --- streams --------------------------------------------------------------------------------------------------------


async def pieces(body: AsyncGenerator[bytes | Pause]) -> list[bytes]:
    return [piece async for piece in body if isinstance(piece, bytes)]


def stream(wire: str, handler: Scripted | None = None) -> tuple[Streamed, list[Any]]:
    """The head of a streamed answer, and its events."""
    path, document = question(wire, "m", "hi", stream=True)
    answer = drive(exchange("POST", path, VERSION, json.dumps(document).encode(), handler or Scripted()))
    assert isinstance(answer, Streamed)
    return answer, read(wire, drive(pieces(answer.body)))


@every_wire
def test_the_events_of_the_handler_are_streamed(wire: str) -> None:
    answer, events = stream(wire)
    kind = "application/x-ndjson" if wires.load(wire).FRAMING == "ndjson" else "text/event-stream"
    assert (answer.status, answer.headers["content-type"], answer.headers["cache-control"]) == (200, kind, "no-store")
    assert [event.delta for event in events if isinstance(event, ev.OutputTextDelta)] == ["ho"]
    assert isinstance(events[-1], ev.ResponseCompleted)
    assert faults(events) == []


# --- over a socket --------------------------------------------------------------------------------------------------


class Endless(Scripted):
    """Streams one word for ever, until the client disconnects."""

    def __init__(self, pause: float) -> None:
        super().__init__()
        self.pause = pause
        self.left = threading.Event()

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        events = disassemble(await self.answer(request, context))
        try:
            yield events[:5]
            while True:
                yield events[4]
                yield Pause(self.pause)
        finally:
            self.left.set()


@pytest.mark.parametrize("pause", [0, 3600])
@every_wire
def test_a_client_that_disconnects_ends_the_stream_of_the_handler(wire: str, pause: float) -> None:
    """BUGS 74"""
    handler = Endless(pause)
    with serve_in_thread(handler) as url:
        path, document = question(wire, "m", "hi", stream=True)
        with httpx.stream("POST", f"{url}{path}", json=document, headers=VERSION) as answer:
            pieces = answer.iter_text()
            while '"ho"' not in next(pieces):
                pass
            assert not handler.left.is_set()
        assert handler.left.wait(60)


@every_wire
def test_a_fault_in_the_middle_of_a_stream_cuts_it(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    with serve_in_thread(Scripted(cut_at=5, then=RuntimeError("a secret"))) as url:
        path, document = question(wire, "m", "hi", stream=True)
        answer = httpx.post(f"{url}{path}", json=document, headers=VERSION)
    assert "ho" in answer.text
    assert "secret" not in answer.text
    assert "a secret" in caplog.text
    assert not any(isinstance(event, ev.TERMINAL) for event in read(wire, [answer.content]))


def test_a_stream_that_was_sent_whole_is_not_logged_as_one_whose_client_went_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "llm_rest.server.requests")
    with serve_in_thread() as url, httpx.Client(base_url=url) as http:
        for count in range(1, asgi.YIELD_EVERY + 1):
            path, body = question("openai_responses", "m", "pieces 1\nsay " + "x" * count, stream=True)
            assert http.post(path, json=body).status_code == 200
    assert len(caplog.records) == asgi.YIELD_EVERY
    assert not [record for record in caplog.records if hasattr(record, "error")]


@pytest.mark.anyio
async def test_a_stream_that_never_waits_lets_other_tasks_run_now_and_then() -> None:
    path, document = question("openai_responses", "m", "pieces 1\nsay " + "x" * 320, stream=True)
    left = [{"type": "http.request", "body": json.dumps(document).encode()}]
    sent = turns = 0

    async def receive() -> Any:
        return left.pop() if left else await sleep_forever()

    async def send(message: Any) -> None:
        nonlocal sent
        sent += 1

    async def others() -> None:
        nonlocal turns
        while True:
            await checkpoint()
            turns += 1

    scope = {"type": "http", "method": "POST", "http_version": "1.1", "raw_path": path.encode(), "query_string": b""}
    async with create_task_group() as tasks:
        tasks.start_soon(others)
        await asgi.Endpoint(Simulator(), AccessControl())({**scope, "headers": []}, receive, send)
        tasks.cancel_scope.cancel()
    assert sent > 320
    assert sent // asgi.YIELD_EVERY <= turns < 2 * sent // asgi.YIELD_EVERY, turns


def test_sockets_are_of_tcp_so_that_answers_are_not_delayed_and_have_the_time_limit_of_slow_clients() -> None:
    """asyncio switches Nagle's algorithm off for sockets of this protocol alone; it costs 40 ms for every answer."""
    _, bound, _ = app._server(None, AccessControl(limits=Limits(stall=4)), "127.0.0.1", 0, 1)
    with bound:
        assert bound.proto == socket.IPPROTO_TCP
        if hasattr(
            socket, "TCP_USER_TIMEOUT"
        ):  # Linux closes connections whose data is not read, also those being closed
            assert bound.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 4000
