"""The server: one exchange for every wire, what it says when something is wrong, and the application around it."""

from __future__ import annotations

import http.client
import json
import logging
import re
import socket
import threading
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

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
from llm_rest.sync import drive
from tests.support.legal import faults
from tests.support.streams import read

Plain = dict[str, Any]

BODIES: dict[str, Plain] = {
    "openai_responses": {"model": "m", "input": "hi"},
    "openai_chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "anthropic_messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "ollama_chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": False},
    "gemini_generate_content": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
PATHS = {
    "openai_responses": "/v1/responses",
    "openai_chat": "/v1/chat/completions",
    "anthropic_messages": "/v1/messages",
    "ollama_chat": "/api/chat",
    "gemini_generate_content": "/v1beta/models/m:generateContent",
}
STREAMED = {**PATHS, "gemini_generate_content": "/v1beta/models/m:streamGenerateContent?alt=sse"}
VERSION = {"anthropic-version": "2026-10-21"}


class Scripted:
    """A handler that does what it is told and remembers what it was asked."""

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


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("form", ["{}", "{}/", "{}?beta=true"])
def test_a_path_leads_to_its_wire_with_and_without_the_version(wire: str, form: str) -> None:
    for path in (PATHS[wire], re.sub("^/v1(beta)?", "", PATHS[wire])):
        handler = Scripted()
        answer, body = ask(form.format(path), BODIES[wire], handler)
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
def test_a_vendor_in_front_of_the_path_is_spoken_to_in_its_dialect(path: str, wire: str, vendor: str) -> None:
    handler = Scripted()
    assert ask(path, BODIES[wire], handler)[0].status == 200
    context = handler.asked[0][1]
    assert (context.wire, context.vendor) == (wire, vendor)


def test_a_vendor_is_not_spoken_to_on_a_wire_it_does_not_speak() -> None:
    answer, body = ask("/anthropic/v1/responses", BODIES["openai_responses"])
    assert answer.status == 404
    assert "/anthropic/v1/messages" in message_of(body)


def test_an_unknown_path_is_answered_as_the_caller_spells_errors() -> None:
    openai, body = ask("/v1/nonsense", {}, headers={"authorization": "Bearer x"})
    assert (openai.status, body["error"]["type"]) == (404, "invalid_request_error")
    assert "/v1/chat/completions" in message_of(body)
    anthropic, body = ask("/v1/nonsense", {}, headers={"x-api-key": "x"})
    assert (anthropic.status, body["type"], body["error"]["type"]) == (404, "error", "not_found_error")
    assert "request-id" in anthropic.headers


def test_the_wrong_method_is_named() -> None:
    for method, path in (("GET", "/v1/responses"), ("POST", "/v1/models")):
        answer, body = ask(path, {}, method=method, headers={})
        assert answer.status == 405
        assert method in message_of(body)


# --- what comes out -------------------------------------------------------------------------------------------------


def test_each_wire_answers_in_its_own_document() -> None:
    chat = ask(PATHS["openai_chat"], BODIES["openai_chat"])[1]
    assert chat["choices"][0]["message"]["content"] == "ho"
    messages = ask(PATHS["anthropic_messages"], BODIES["anthropic_messages"])[1]
    assert messages["content"][0]["text"] == "ho"
    responses = ask(PATHS["openai_responses"], BODIES["openai_responses"])[1]
    assert responses["output"][0]["content"][0]["text"] == "ho"
    ollama = ask(PATHS["ollama_chat"], BODIES["ollama_chat"])[1]
    assert ollama["message"]["content"] == "ho"


def test_an_answer_names_its_request() -> None:
    assert ask("/v1/responses", BODIES["openai_responses"])[0].headers["x-request-id"].startswith("req_")
    assert ask("/v1/messages", BODIES["anthropic_messages"])[0].headers["request-id"].startswith("req_")


def test_what_could_not_be_carried_stands_in_a_header() -> None:
    answer, _ = ask("/v1/chat/completions", {**BODIES["openai_chat"], "logit_bias": {"1": 5}})
    assert answer.headers.get("x-llm-rest-losses") is None, "the wire's own options come back to it"
    said = Message(role="assistant", content=[OutputText(text="ho", annotations=[])], phase="commentary")
    found = Response(id="r", status="completed", output=[said], model="m")
    answer, _ = ask("/v1/messages", BODIES["anthropic_messages"], Scripted(found))
    losses = json.loads(answer.headers["x-llm-rest-losses"])
    assert any("phase" in loss for loss in losses)


@pytest.mark.parametrize("headers", [{"authorization": "Bearer x"}, {"anthropic-version": "2023-06-01"}])
def test_models_are_listed_in_the_callers_words(headers: dict[str, str]) -> None:
    _, body = ask("/v1/models", b"", method="GET", headers=headers)
    assert [model["id"] for model in body["data"]] == ["one", "two"]
    kinds = {model.get("object") or model.get("type") for model in body["data"]}
    assert kinds == {"model"}
    assert ("has_more" in body) == ("anthropic-version" in headers)
    assert ask("/models/one", b"", method="GET", headers=headers)[1]["id"] == "one"
    answer, body = ask("/v1/models/three", b"", method="GET", headers=headers)
    assert answer.status == 404
    assert "three" in message_of(body)


def test_a_wire_with_a_list_of_models_of_its_own_is_asked_there() -> None:
    for path in ("/api/tags", "/ollama/api/tags"):
        answer, body = ask(path, b"", method="GET", headers={})
        assert answer.status == 200
        assert [model["name"] for model in body["models"]] == ["one", "two"]
    assert ask("/api/tags", b"", headers={})[0].status == 405


# --- what Ollama's clients ask beside the chat ----------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "/ollama"])
def test_ollamas_clients_learn_the_version_and_what_is_loaded(prefix: str) -> None:
    assert set(ask(f"{prefix}/api/version", b"", method="GET", headers={})[1]) == {"version"}
    _, body = ask(f"{prefix}/api/ps", b"", method="GET", headers={})
    assert [model["name"] for model in body["models"]] == ["one", "two"]
    _, tags = ask(f"{prefix}/api/tags", b"", method="GET", headers={})
    assert len({model["digest"] for model in tags["models"]}) == 2, "clients keep what they know of a model by it"


def test_ollamas_clients_learn_what_a_model_can_do() -> None:
    answer, body = ask("/api/show", {"model": "one"}, headers={})
    assert answer.status == 200
    assert body["capabilities"] == ["completion", "tools", "vision", "thinking"]
    assert "tools" in body["template"].lower()
    answer, body = ask("/api/show", {"model": "three"}, headers={})
    assert answer.status == 404
    assert "three" in message_of(body)
    assert ask("/api/show", {}, headers={})[0].status == 400
    assert ask("/api/show", b"", method="GET", headers={})[0].status == 405


def test_a_prompt_of_ollamas_is_answered_as_a_chat_of_one_message() -> None:
    handler = Scripted()
    document = {"model": "m", "prompt": "Hi", "system": "Be brief.", "stream": False, "options": {"num_predict": 5}}
    answer, body = ask("/api/generate", document, handler, headers={})
    assert answer.status == 200
    assert (body["response"], body["done"], "message" in body) == ("ho", True, False)
    (request, _) = handler.asked[0]
    assert request.instructions == "Be brief."
    assert request.input == [Message(role="user", content="Hi")]
    assert (request.model, request.max_output_tokens) == ("m", 5)


def test_a_prompt_of_ollamas_is_streamed_unless_it_says_otherwise() -> None:
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


def test_a_prompt_of_ollamas_without_words_loads_the_model() -> None:
    answer, body = ask("/api/generate", {"model": "one"}, headers={})
    assert (answer.status, body["done"], body["done_reason"], body["response"]) == (200, True, "load", "")
    assert ask("/api/generate", {"model": "three"}, headers={})[0].status == 404


@pytest.mark.parametrize("field", [{"suffix": "b"}, {"template": "{{ .Prompt }}"}, {"context": [1]}])
def test_what_only_a_server_with_the_model_can_take_is_refused(field: Plain) -> None:
    answer, body = ask("/api/generate", {"model": "m", "prompt": "Hi", **field}, headers={})
    assert answer.status == 400
    assert message_of(body).startswith(next(iter(field)))


@pytest.mark.parametrize("path", ["/api/embed", "/api/pull", "/ollama/api/delete"])
def test_a_path_that_is_not_there_is_told_to_ollamas_clients_in_their_words(path: str) -> None:
    answer, body = ask(path, {"model": "m"}, headers={})
    assert answer.status == 404
    assert isinstance(body["error"], str)
    answer, body = ask("/api/v1/chat/completions", {"model": "m"}, headers={})
    assert isinstance(body["error"], dict)


COUNTED = {
    "anthropic_messages": "/v1/messages/count_tokens",
    "gemini_generate_content": "/v1beta/models/m:countTokens",
}


@pytest.mark.parametrize("headers", [{"x-goog-api-key": "x"}, {"authorization": "Bearer x"}, {}])
def test_models_are_listed_for_gemini_with_their_collection(headers: dict[str, str]) -> None:
    _, body = ask("/v1beta/models", b"", method="GET", headers=headers)
    assert [model["name"] for model in body["models"]] == ["models/one", "models/two"]
    assert ask("/v1beta/models/one", b"", method="GET", headers=headers)[1]["name"] == "models/one"
    answer, body = ask("/v1beta/models/three", b"", method="GET", headers=headers)
    assert (answer.status, body["error"]["status"]) == (404, "NOT_FOUND")


def test_tokens_are_counted_where_a_wire_has_a_path_for_it() -> None:
    document = {name: value for name, value in BODIES["anthropic_messages"].items() if name != "max_tokens"}
    assert ask("/v1/messages/count_tokens", document)[1] == {"input_tokens": 42}
    counted = ask("/v1/responses/input_tokens", BODIES["openai_responses"])[1]
    assert counted == {"object": "response.input_tokens", "input_tokens": 42}
    alone = BODIES["gemini_generate_content"]
    for asked in (alone, {"generateContentRequest": {"model": "models/m", **alone}}):
        assert ask(COUNTED["gemini_generate_content"], asked)[1] == {"totalTokens": 42}


# --- what goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", PATHS)
def test_a_refusal_of_the_handler_keeps_its_facts(wire: str) -> None:
    facts = ErrorFacts(status=429, message="Slow down.", code="rate_limit_exceeded", retry_after=2.5)
    answer, body = ask(PATHS[wire], BODIES[wire], Scripted(Refused(facts)))
    assert (answer.status, answer.headers["retry-after"]) == (429, "2.5")
    assert message_of(body) == "Slow down."


@pytest.mark.parametrize("wire", PATHS)
def test_an_error_of_somebody_behind_the_handler_keeps_its_status(wire: str) -> None:
    answer, body = ask(PATHS[wire], BODIES[wire], Scripted(RateLimitError("Slow down.", status=429, retry_after=3)))
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")
    assert message_of(body) == "Slow down."
    assert ask(PATHS[wire], BODIES[wire], Scripted(RateLimitError("Slow down.")))[0].status == 429


@pytest.mark.parametrize("wire", PATHS)
def test_a_failed_answer_is_an_error_where_the_wire_has_no_word_for_it(wire: str) -> None:
    error = ResponseError(code="server_error", message="The model broke.")
    failed = Response(id="resp_1", status="failed", model="m", output=[], error=error)
    answer, body = ask(PATHS[wire], BODIES[wire], Scripted(failed))
    assert answer.status == (200 if wire == "openai_responses" else 500)
    assert message_of(body) == "The model broke."


def test_an_answer_that_a_wire_cannot_tell_is_an_error() -> None:
    queued = Response(id="resp_1", status="queued", model="m", output=[])
    answer, body = ask("/v1/chat/completions", BODIES["openai_chat"], Scripted(queued))
    assert answer.status == 500
    assert "queued" in message_of(body)


# --- streams --------------------------------------------------------------------------------------------------------


def streaming(wire: str) -> Plain:
    """A request for a stream; on one wire only its path says so."""
    return BODIES[wire] if STREAMED[wire] != PATHS[wire] else {**BODIES[wire], "stream": True}


async def pieces(body: AsyncGenerator[bytes | Pause]) -> list[bytes]:
    return [piece async for piece in body if isinstance(piece, bytes)]


def stream(wire: str, handler: Scripted | None = None) -> tuple[Streamed, list[Any]]:
    """The head of a streamed answer, and the events it tells."""
    body = json.dumps(streaming(wire)).encode()
    answer = drive(exchange("POST", STREAMED[wire], VERSION, body, handler or Scripted()))
    assert isinstance(answer, Streamed)
    return answer, read(wire, drive(pieces(answer.body)))


@pytest.mark.parametrize("wire", PATHS)
def test_a_stream_tells_what_the_handler_tells(wire: str) -> None:
    answer, events = stream(wire)
    kind = "application/x-ndjson" if wires.load(wire).FRAMING == "ndjson" else "text/event-stream"
    assert (answer.status, answer.headers["content-type"], answer.headers["cache-control"]) == (200, kind, "no-store")
    assert [event.delta for event in events if isinstance(event, ev.OutputTextDelta)] == ["ho"]
    assert isinstance(events[-1], ev.ResponseCompleted)
    assert faults(events) == []


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize(
    "error",
    [Refused(ErrorFacts(status=429, message="Slow down.")), RateLimitError("Slow down.", status=429)],
    ids=["refused", "an error of ours"],
)
def test_an_error_before_the_first_event_is_no_stream_and_later_one_inside_it(wire: str, error: Exception) -> None:
    answer, body = ask(STREAMED[wire], streaming(wire), Scripted(error))
    assert (answer.status, message_of(body)) == (429, "Slow down.")
    _, events = stream(wire, Scripted(cut_at=5, then=error))
    assert faults(events) == []
    assert isinstance(events[-2], ev.ErrorEvent)
    assert isinstance(events[-1], ev.ResponseFailed)
    assert events[-1].response.error
    assert events[-1].response.error.message == "Slow down."


@pytest.mark.parametrize("wire", PATHS)
def test_a_stream_that_the_handler_leaves_has_no_end(wire: str) -> None:
    _, events = stream(wire, Scripted(cut_at=5))
    assert any(isinstance(event, ev.OutputTextDelta) for event in events)
    assert not any(isinstance(event, ev.TERMINAL) for event in events)


def test_a_stream_that_nobody_reads_is_left_when_it_is_closed() -> None:
    handler = Endless(0)
    answer = drive(
        exchange("POST", STREAMED["openai_chat"], VERSION, json.dumps(streaming("openai_chat")).encode(), handler)
    )
    assert isinstance(answer, Streamed)
    drive(answer.body.aclose())
    assert handler.left.is_set()


def test_the_head_of_a_stream_lists_what_was_lost_on_the_way_to_the_model() -> None:
    body = {**BODIES["openai_chat"], "stream": True, "functions": [{"name": "f"}]}
    answer = drive(exchange("POST", PATHS["openai_chat"], VERSION, json.dumps(body).encode(), Scripted()))
    assert isinstance(answer, Streamed)
    assert any("functions" in loss for loss in json.loads(answer.headers["x-llm-rest-losses"]))


# --- over a socket --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", PATHS)
def test_the_application_answers_over_http(wire: str) -> None:
    with serve_in_thread() as url, httpx.Client(base_url=url, headers=VERSION) as http:
        answer = http.post(PATHS[wire], json=BODIES[wire])
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert "hi" in answer.text
        assert http.post(PATHS[wire], content=b"{").status_code == 400
        assert http.get("/").status_code == 404
        assert http.delete(PATHS[wire]).status_code == 405


def test_a_body_that_is_too_large_is_not_read_to_its_end() -> None:
    with serve_in_thread(access=AccessControl(limits=Limits(body=1000))) as url:
        answer = httpx.post(f"{url}/v1/messages", content=b"x" * 1001, headers=VERSION)
    assert answer.status_code == 413
    assert answer.json()["error"]["type"] == "request_too_large"


def test_a_fault_in_the_handler_is_a_server_error_without_details(caplog: pytest.LogCaptureFixture) -> None:
    with serve_in_thread(Scripted(RuntimeError("a secret"))) as url:
        answer = httpx.post(f"{url}/v1/responses", json=BODIES["openai_responses"])
    assert answer.status_code == 500
    assert answer.json()["error"]["message"] == "The server failed."
    assert "a secret" in caplog.text


class Endless(Scripted):
    """Tells one word for ever, until nobody listens."""

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


@pytest.mark.parametrize("pause", [0, 0.01, 3600])
@pytest.mark.parametrize("wire", PATHS)
def test_a_client_that_goes_away_ends_the_work_for_it(wire: str, pause: float) -> None:
    """BUGS 74"""
    handler = Endless(pause)
    with serve_in_thread(handler) as url:
        with httpx.stream("POST", f"{url}{STREAMED[wire]}", json=streaming(wire), headers=VERSION) as answer:
            pieces = answer.iter_text()
            while '"ho"' not in next(pieces):
                pass
            assert not handler.left.is_set()
        assert handler.left.wait(60)


@pytest.mark.parametrize("wire", PATHS)
def test_a_fault_in_the_middle_of_a_stream_cuts_it(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    with serve_in_thread(Scripted(cut_at=5, then=RuntimeError("a secret"))) as url:
        answer = httpx.post(f"{url}{STREAMED[wire]}", json=streaming(wire), headers=VERSION)
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
            body = {**BODIES["openai_responses"], "input": "pieces 1\nsay " + "x" * count, "stream": True}
            assert http.post("/v1/responses", json=body).status_code == 200
    assert len(caplog.records) == asgi.YIELD_EVERY
    assert not [record for record in caplog.records if hasattr(record, "error")]


def test_connections_are_kept_between_requests() -> None:
    with serve_in_thread() as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc)
        sockets = set()
        for _ in range(3):
            connection.request("GET", "/v1/models")
            assert connection.getresponse().read()
            sockets.add(connection.sock)
        assert len(sockets) == 1
        assert None not in sockets
        connection.close()


def test_an_answer_is_not_held_up_by_the_system() -> None:
    """A socket that is not said to be TCP keeps Nagle's algorithm in asyncio, which costs 40 ms for every answer."""
    with app._bind("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_two_servers_run_side_by_side() -> None:
    with serve_in_thread() as one, serve_in_thread() as two:
        assert one != two
        assert httpx.get(f"{one}/v1/models").json() == httpx.get(f"{two}/v1/models").json()


def test_every_wire_is_served() -> None:
    assert set(PATHS) == set(wires.NAMES)
