"""The gateway over real HTTP: any client in front, the simulated vendor of every wire behind it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from itertools import product
from typing import Any

import httpx
import pytest

from llm_rest import ConfigError, wires
from llm_rest.responses import events as ev
from llm_rest.server.access import Limits
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Upstream
from llm_rest.server.gateway import Gateway
from llm_rest.server.logs import JSONLines
from llm_rest.vendors.models import capabilities
from tests.gateway.attacks.raw import Line, asked
from tests.gateway.attacks.world import eventually
from tests.gateway.upstreams import (
    Busy,
    Echo,
    before,
    events_of,
    everything,
    gateway,
    message_of,
    post,
    question,
    text_of,
    told,
)
from tests.support.streams import read
from tests.transport.support import nobody

Plain = dict[str, Any]


# --- every client, every vendor -------------------------------------------------------------------------------------


@pytest.mark.parametrize("behind", wires.NAMES)
@pytest.mark.parametrize("wire", wires.NAMES)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_any_client_reaches_any_vendor(http: httpx.Client, wire: str, behind: str, stream: bool) -> None:
    answer = post(http, wire, behind, "reason Hm.\nsay Hello, world.", stream=stream)
    assert answer.status_code == 200, answer.text
    response = told(wire, answer)
    assert (response.status, text_of(response)) == ("completed", "Hello, world.")
    assert response.model == behind, "the answer has the name that was requested"
    assert answer.headers["request-id" if wire == "anthropic_messages" else "x-request-id"].startswith("req_")


@pytest.mark.parametrize("behind", wires.NAMES)
@pytest.mark.parametrize("wire", wires.NAMES)
def test_an_error_of_the_vendor_keeps_its_status_in_the_callers_words(
    http: httpx.Client, wire: str, behind: str
) -> None:
    answer = post(http, wire, behind, "fail 400 context_length_exceeded Too long.")
    assert (answer.status_code, message_of(answer)) == (400, "Too long.")
    late = post(http, wire, behind, "say Hello.\nfail 503 server_error Broke.", stream=True)
    assert late.status_code == 200
    events = read(wire, [late.content])
    assert isinstance(events[-1], ev.ResponseFailed)
    assert events[-1].response.error
    assert events[-1].response.error.message == "Broke."


@pytest.mark.parametrize("behind", wires.NAMES)
def test_clients_of_anthropic_learn_the_input_tokens_when_an_answer_begins(http: httpx.Client, behind: str) -> None:
    """From the vendor where it tells them then, else an estimate; the end tells what the vendor counted."""
    streamed = post(http, "anthropic_messages", behind, "say Hello.", stream=True)
    documents = {document["type"]: document for document in events_of(streamed.text)}
    ended = documents["message_delta"]["usage"]
    whole = post(http, "anthropic_messages", behind, "say Hello.").json()["usage"]
    assert documents["message_start"]["message"]["usage"]["input_tokens"] > 0
    assert (ended["input_tokens"], ended["output_tokens"]) == (whole["input_tokens"], whole["output_tokens"])
    assert "usage" not in streamed.headers.get("x-llm-rest-losses", "")


@pytest.mark.parametrize("wire", wires.NAMES)
def test_an_answer_that_breaks_off_is_an_error_and_no_end(http: httpx.Client, wire: str) -> None:
    for behind in wires.NAMES:
        events = read(wire, [post(http, wire, behind, "say Hello.\nbreak", stream=True).content])
        assert "".join(event.delta for event in events if isinstance(event, ev.OutputTextDelta)) == "Hello."
        assert isinstance(events[-1], ev.ResponseFailed)
        assert events[-1].response.error
        assert events[-1].response.error.message == "The answer of simulator broke off."


def test_a_name_may_stand_for_several_models(upstream: str) -> None:
    down = Upstream(model="compatible/secret-name", base_url=nobody())
    up = Upstream(model="simulator/x", base_url=upstream, wire="openai_chat")
    with gateway(Config(models={"m": (down, up), "none": (down,)}, default=(down, up))) as client:
        for wire, stream, model in product(wires.NAMES, (False, True), ("m", "anything")):
            answer = post(client, wire, model, "hi", stream=stream)
            assert (answer.status_code, told(wire, answer).output_text) == (200, "hi")
        answer = post(client, "openai_chat", "none", "hi")
        assert (answer.status_code, answer.json()["error"]["type"]) == (502, "server_error")
        assert message_of(answer) == "compatible could not be reached."
    one, two = (Upstream(model=f"simulator/secret{i}", base_url=upstream) for i in range(2))
    with gateway(Config(models={"m": (one, two), "half": (one, down)})) as client:
        for model in ("m", "half"):
            answer = post(client, "openai_chat", model, "fail 402 insufficient_quota No credit.")
            assert (answer.status_code, message_of(answer)) == (402, "No credit.")


def test_a_key_of_the_gateway_that_is_refused_is_no_fault_of_the_caller(
    upstream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAD_KEY", "invalid")
    bad = Upstream(model="anthropic/claude-haiku-4-5", base_url=upstream, key_env="BAD_KEY")
    with gateway(Config(models={"m": bad})) as client:
        for wire, stream in product(wires.NAMES, (False, True)):
            answer = post(client, wire, "m", "hi", stream=stream, headers={"authorization": "Bearer mine"})
            assert (answer.status_code, answer.headers["x-should-retry"]) == (502, "false")
            assert message_of(answer) == "This server's own access to anthropic was refused."


@pytest.mark.parametrize("behind", wires.NAMES)
@pytest.mark.parametrize("wire", ["openai_responses", "anthropic_messages", "gemini_generate_content"])
def test_tokens_are_counted_by_the_vendor_or_estimated(http: httpx.Client, wire: str, behind: str) -> None:
    path, document = question(wire, behind, "Count me, please.")
    path = {"openai_responses": path + "/input_tokens", "anthropic_messages": path + "/count_tokens"}.get(
        wire, path.replace(":generateContent", ":countTokens")
    )
    answer = http.post(path, json=document)
    assert answer.status_code == 200, answer.text
    assert answer.json().get("input_tokens", answer.json().get("totalTokens")) > 0
    estimated = any("estimated" in loss for loss in json.loads(answer.headers.get("x-llm-rest-losses", "[]")))
    assert estimated == (behind in ("openai_chat", "ollama_chat"))


@pytest.mark.parametrize("pace", ["", "pieces 1\ndelay 0.01\n"], ids=["at once", "slowly"])
def test_the_header_of_a_stream_tells_the_way_there_and_the_log_the_way_back_as_well(
    http: httpx.Client, caplog: pytest.LogCaptureFixture, pace: str
) -> None:
    caplog.set_level(logging.DEBUG, "llm_rest.server.requests")
    script = f"{pace}reason Hm.\nsay One.\ncite https://example.com/ Page"
    streamed = post(http, "anthropic_messages", "openai_chat", script, stream=True, top_k=5)
    assert [loss.partition(":")[0] for loss in json.loads(streamed.headers["x-llm-rest-losses"])] == ["top_k"]
    (line,) = logged(caplog, streamed.headers["request-id"])
    assert [loss.partition(":")[0] for loss in line["lost"]] == ["top_k", "output[0].content[0].annotations"]
    assert line["losses"] == 2


# --- names ----------------------------------------------------------------------------------------------------------


def test_a_name_leads_where_the_operator_said(upstream: str) -> None:
    config = Config(
        default=Upstream(model="simulator/first", base_url=upstream, wire="openai_chat"),
        models={"fast": "simulator/quick"},
    )
    with gateway(config) as client:
        shown = {
            "fast": "fast",
            "simulator/any": "simulator/any",
            "gpt-9": "simulator/first",
            "claude": "simulator/first",
        }
        for name in shown:
            assert told("openai_chat", post(client, "openai_chat", name, "hi")).model == shown[name]
        listed = [model["id"] for model in client.get("/v1/models", headers={"anthropic-version": ""}).json()["data"]]
        assert listed == ["fast", "simulator/first"]
        refused = post(client, "openai_chat", "openai/gpt-5.2", "hi")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")
    assert "fast, simulator/first" in message_of(refused)


def test_ollamas_clients_learn_what_the_model_behind_a_name_can_do(upstream: str) -> None:
    models: dict[str, str | Upstream] = {"old": Upstream(model="simulator/gpt-3.5-turbo", base_url=upstream)}
    with gateway(Config(models=models)) as client:
        shown = client.post("/api/show", json={"model": "old"}).json()
    known = capabilities("gpt-3.5-turbo", "simulator")
    assert shown["model_info"].get("llm_rest.context_length") == known.context_window
    assert ("vision" in shown["capabilities"]) == (known.vision is not False)


def test_a_request_without_a_model_goes_to_the_default_one(upstream: str, http: httpx.Client) -> None:
    answer = http.post("/v1/responses", json={"input": "hi"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")
    with gateway(Config(default=Upstream(model="simulator/x", base_url=upstream))) as client:
        assert client.post("/v1/responses", json={"input": "hi"}).json()["model"] == "simulator/x"


def test_a_vendor_without_a_key_is_no_fault_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with gateway(Config(models={"m": "simulator/x"}, vendors=("*",))) as client:
        answer = post(client, "openai_chat", "groq/llama", "hi")
    assert answer.status_code == 502
    assert "GROQ_API_KEY" not in answer.text


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (Config(default="groq/llama"), "GROQ_API_KEY"),
        (Config(models={"m": "nobody/x"}), "nobody"),
        (Config(models={"m": "gpt-5"}), "names no vendor"),
        (Config(models={"m": Upstream(model="simulator/x", key_env="UNSET_KEY")}), "UNSET_KEY"),
        (Config(vendors=("nobody",)), "nobody"),
    ],
)
def test_a_gateway_that_cannot_answer_does_not_start(
    config: Config, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=problem):
        Gateway(config)


# --- what stays on which side ---------------------------------------------------------------------------------------


def test_what_a_vendor_keeps_is_not_for_callers() -> None:
    echo = Echo()
    with before(echo, wire="openai_responses") as client:
        for field in ({"background": True}, {"conversation": "conv_1"}, {"previous_response_id": "resp_1"}):
            answer = post(client, "openai_responses", "m", "hi", **field)
            assert (answer.status_code, answer.json()["error"]["param"]) == (400, *field)
        assert post(client, "openai_responses", "m", "hi", store=True).status_code == 200
    assert [request.store for request in echo.asked] == [False]


EVIL = '{"anthropic_messages":{"model":"opus","system":"evil"},"openai_responses":{"repaired":5}}'


@pytest.mark.parametrize(
    "said",
    [
        '{"model":"m","input":"hi","extra":@}',
        '{"model":"m","input":"hi","leftovers":@}',
        r'{"model":"m","input":"hi","left\u006fvers":@}',
        '{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"hi","leftovers":@}],"leftovers":@}]}',
        '{"model":"m","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f",'
        '"arguments":"{}","leftovers":@},{"type":"function_call_output","call_id":"c","output":"ok"}]}',
    ],
)
def test_fields_of_ours_mean_nothing_in_a_body(said: str) -> None:
    echo = Echo()
    with before(echo, wire="anthropic_messages") as client:
        answer = client.post("/v1/responses", content=said.replace("@", EVIL))
    assert answer.status_code == 200, answer.text
    assert echo.body["model"] == "x"
    assert "evil" not in json.dumps(echo.body)


def test_options_that_other_wires_share_may_be_set_in_responses() -> None:
    echo = Echo()
    with before(echo, wire="anthropic_messages") as client:
        assert post(client, "openai_responses", "m", "hi", stop=["END"], top_k=5).status_code == 200
    assert (echo.body["stop_sequences"], echo.body["top_k"]) == (["END"], 5)


# --- limits ---------------------------------------------------------------------------------------------------------


def test_the_output_of_a_model_is_capped() -> None:
    echo = Echo()
    with before(echo, limits=Limits(output_tokens=50)) as client:
        more = post(client, "openai_responses", "m", "hi", max_output_tokens=60)
        post(client, "openai_responses", "m", "hi", max_output_tokens=40)
        post(client, "openai_responses", "m", "hi")
    assert [request.max_output_tokens for request in echo.asked] == [50, 40, 50]
    assert "the server allows 50" in more.headers["x-llm-rest-losses"]


def test_a_model_that_takes_too_long_is_a_timeout_of_the_gateway() -> None:
    with before(Busy(), limits=Limits(seconds=0.3)) as client:
        assert post(client, "openai_chat", "m", "hi").status_code == 504


def test_a_caller_has_only_so_many_requests_at_a_time() -> None:
    busy = Busy(3600)
    with before(busy, limits=Limits(concurrent=1)) as client:
        path, document = question("anthropic_messages", "m", "hi", stream=True)
        with client.stream("POST", path, json=document) as first:
            assert first.status_code == 200
            second = post(client, "anthropic_messages", "m", "hi")
            assert (second.status_code, second.headers["retry-after"]) == (429, "1")
            assert second.json()["error"]["type"] == "rate_limit_error"
        assert busy.left.wait(60)
        with client.stream("POST", path, json=document) as third:
            assert third.status_code == 200


# --- who goes away --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("behind_wire", wires.NAMES)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_the_upstream_call_stops_when_the_caller_leaves(behind_wire: str, stream: bool) -> None:
    """On every wire behind the gateway, in the middle of a stream and before a whole answer."""
    busy = Busy(0.01)
    with serve_in_thread(busy) as behind, gateway(everything(behind)) as http:
        path, document = question("openai_responses", behind_wire, "hi", stream=stream)
        if stream:
            with http.stream("POST", path, json=document) as answer:
                assert next(answer.iter_bytes())
        else:
            with pytest.raises(httpx.ReadTimeout):
                http.post(path, json=document, timeout=0.3)
        assert busy.left.wait(20)
        assert len(busy.asked) == 1


def test_a_client_that_never_reads_holds_back_the_vendor() -> None:
    busy = Busy()
    with serve_in_thread(busy) as url, gateway(everything(url)) as client:
        line = Line(client.base_url.port or 0, window=4096).send(
            asked("openai_responses", "openai_responses", stream=True)
        )
        assert busy.came.wait(60)
        unchanged, said = 0, -1
        while unchanged < 5:
            unchanged, said = unchanged + 1 if busy.said == said else 0, busy.said
            time.sleep(0.1)
        assert busy.said < 30_000, "what is on its way fits the buffers of the sockets"
        assert post(client, "openai_chat", "nope", "hi").status_code == 404, "others are served"
        line.close()
        assert busy.left.wait(60)


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_request_whose_conversion_takes_long_does_not_stop_the_event_loop(
    http: httpx.Client, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of kinds that are unknown, 40 KB take some 0.3 s: such a request is converted in a thread."""
    module, threads = wires.load(wire), set[str]()
    decode = module.decode_request

    def noting(*args: Any, **options: Any) -> Any:
        threads.add(threading.current_thread().name.partition("-")[0])
        return decode(*args, **options)

    monkeypatch.setattr(module, "decode_request", noting)
    post(http, wire, wire, "hi", many=[{"type": "x"}] * 3000)
    assert threads == {"AnyIO worker thread"}
    post(http, wire, wire, "hi")
    assert "Thread" in "".join(threads - {"AnyIO worker thread"})


@contextmanager
def streaming(url: str, text: str) -> Generator[httpx.Response]:
    """A stream that was begun; the server may stop before it is read."""
    path, document = question("openai_chat", "openai_chat", text, stream=True)
    with httpx.Client() as client, client.stream("POST", url + path, json=document) as answer:
        yield answer


def test_streams_that_run_are_finished_when_the_server_stops(upstream: str) -> None:
    with ExitStack() as open_:
        with serve_in_thread(Gateway(everything(upstream)), grace=20) as url:
            answer = open_.enter_context(streaming(url, "pieces 1\ndelay 0.05\nsay 12345678"))
        # The block waits for the server to end, which waits for this stream.
        body = answer.read()
    assert "".join(e.delta for e in read("openai_chat", [body]) if isinstance(e, ev.OutputTextDelta)) == "12345678"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz")


def test_a_stream_that_does_not_end_is_cut_when_the_grace_is_over() -> None:
    busy = Busy(0.01)
    with serve_in_thread(busy) as behind, ExitStack() as open_:
        with serve_in_thread(Gateway(everything(behind)), grace=1) as url:
            answer = open_.enter_context(streaming(url, "hi"))
        assert busy.left.wait(60)
        with pytest.raises(httpx.RemoteProtocolError):
            answer.read()


# --- logs -----------------------------------------------------------------------------------------------------------


def logged(caplog: pytest.LogCaptureFixture, request_id: str) -> list[Plain]:
    """The lines about a request, waited for: they are written when its answer has gone."""

    def found() -> list[Plain]:
        records = [record for record in caplog.records if getattr(record, "request_id", "") == request_id]
        return [json.loads(JSONLines().format(record)) for record in records]

    assert eventually(lambda: bool(found()))
    return found()


def test_a_request_is_one_line_of_json_without_what_was_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ALICE", "token-of-alice-0123")
    monkeypatch.setenv("THE_KEY", "key-of-the-gateway")
    caplog.set_level(logging.INFO, "llm_rest.server.requests")
    with serve_in_thread(Echo()) as url:
        caplog.clear()
        way = Upstream(model="openai/gpt-5.2", base_url=url + "/v1", key_env="THE_KEY")
        with gateway(Config(models={"m": way}, tokens={"alice": "ALICE"})) as client:
            headers = {"authorization": "Bearer token-of-alice-0123"}
            post(client, "openai_chat", "m", "a secret question", headers=headers, logit_bias={"1": 1})
            post(client, "openai_chat", "m", "a secret question", headers=headers, stream=True)
            post(client, "openai_chat", "m", "a secret question")
            post(client, "openai_chat", "m" * 10_000, "a secret question", headers=headers)
    lines = [json.loads(JSONLines().format(record)) for record in caplog.records]
    found = [line for line in lines if line.get("scope") == "alice" or line.get("status") == 401]
    # A line is written when its answer has gone, so the next request may be quicker.
    whole, streamed, refused, unknown = sorted(found, key=lambda line: (line["status"], "streamed" in line))
    named = [whole[name] for name in ("wire", "model", "vendor", "upstream_model")]
    assert named == ["openai_chat", "m", "openai", "gpt-5.2"]
    assert (whole["status"], whole["losses"], whole["attempts"]) == (200, 1, 1)
    assert whole["request_id"].startswith("req_")
    assert whole["seconds"] > 0
    assert streamed["streamed"] is True
    assert (refused["status"], "scope" in refused) == (401, False)
    assert (unknown["status"], len(unknown["model"])) == (404, 200)
    assert not any(word in json.dumps(lines) for word in ("question", "fine", "token-of", "key-of"))


@pytest.mark.parametrize("behind", ["gemini_generate_content", "openai_chat"])
def test_a_gemini_stream_is_an_array_for_who_does_not_ask_for_events(http: httpx.Client, behind: str) -> None:
    path, document = question("gemini_generate_content", behind, "pieces 1\ndelay 0.01\nsay 1234", stream=True)
    answer = http.post(path.removesuffix("?alt=sse"), json=document)
    assert answer.headers["content-type"] == "application/json"
    parts = [part for chunk in answer.json() for part in chunk["candidates"][0].get("content", {}).get("parts", [])]
    assert len(parts) > 3
    assert "".join(part.get("text", "") for part in parts) == "1234"
    assert answer.json()[-1]["candidates"][0]["finishReason"] == "STOP"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"},
    ],
    ids=["image", "file"],
)
def test_new_content_that_the_model_cannot_read_is_a_bad_request_and_never_left_out(
    upstream: str, part: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(
        models={"texts": Upstream(model="deepseek/deepseek-chat", base_url=f"{upstream}/deepseek", key_env="K")}
    )
    content = [{"type": "input_text", "text": "What is this?"}, part]
    monkeypatch.setenv("K", "any")
    earlier = [{"role": "user", "content": content}, {"role": "assistant", "content": "A hat."}]
    with gateway(config) as client:
        answer = client.post("/v1/responses", json={"model": "texts", "input": earlier[:1]})
        later = client.post(
            "/v1/responses", json={"model": "texts", "input": [*earlier, {"role": "user", "content": "hi"}]}
        )
    assert (answer.status_code, "input[0].content[1]" in message_of(answer)) == (400, True), answer.text
    # A conversation that another model began continues, and what it read is told to be left out.
    assert (later.status_code, "input[0].content[1]" in later.headers["x-llm-rest-losses"]) == (200, True), later.text
