"""Who may ask a server and how: tokens, names, methods, bodies."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from llm_rest import ConfigError, wires
from llm_rest.server.access import AccessControl, Limits
from llm_rest.server.app import create_app, serve_in_thread
from llm_rest.server.config import Config, Upstream, access_control, load
from llm_rest.server.gateway import Gateway
from tests.gateway.upstreams import ALICE, VERSION, Echo, message_of, post, question

TOKENS = {"alice": "token-of-alice-0123", "bob": "token-of-bob-45678"}


@pytest.fixture(scope="module")
def echo() -> Echo:
    return Echo()


@pytest.fixture(scope="module")
def guarded(echo: Echo) -> Generator[httpx.Client]:
    with (
        serve_in_thread(echo, access=AccessControl(tokens=TOKENS)) as url,
        httpx.Client(base_url=url, headers=VERSION) as http,
    ):
        yield http


@pytest.fixture(scope="module")
def local() -> Generator[httpx.Client]:
    with serve_in_thread(Echo(), access=AccessControl.at("127.0.0.1", limits=Limits(body=5000))) as url:
        with httpx.Client(base_url=url, headers=VERSION) as http:
            yield http


# --- tokens ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["authorization", "Authorization", "x-api-key", "x-goog-api-key", "api-key"])
def test_a_token_says_whose_request_it_is(guarded: httpx.Client, echo: Echo, header: str) -> None:
    scheme = {"authorization": "bearer  ", "Authorization": "Bearer "}.get(header, "")
    assert post(guarded, "openai_chat", "m", "hi", headers={header: scheme + TOKENS["alice"]}).status_code == 200
    assert echo.contexts[-1].scope == "alice"


def test_the_error_for_a_wrong_token_is_the_one_that_each_client_knows(guarded: httpx.Client) -> None:
    """Attacks K01 to K06 come with tokens of every shape, in other places."""
    wrong = {"authorization": f"Bearer {TOKENS['alice'][:-1]}"}
    answers = {wire: post(guarded, wire, "m", "hi", headers=wrong) for wire in wires.NAMES}
    for answer in answers.values():
        assert (answer.status_code, answer.headers["connection"]) == (401, "close")
        assert message_of(answer) == "A valid access token of this server is needed, as an API key."
    bodies = {wire: answer.json() for wire, answer in answers.items()}
    assert bodies["openai_responses"]["error"]["code"] == "invalid_api_key"
    assert bodies["openai_chat"]["error"]["code"] == "invalid_api_key"
    assert bodies["anthropic_messages"]["error"]["type"] == "authentication_error"
    assert bodies["gemini_generate_content"]["error"]["status"] == "UNAUTHENTICATED"
    assert isinstance(bodies["ollama_chat"]["error"], str)


def test_anybody_may_ask_whether_it_runs(guarded: httpx.Client) -> None:
    assert guarded.head("/healthz").status_code == 200
    assert guarded.get("/healthz").json() == {"status": "ok"}


def test_a_gateway_that_others_can_reach_needs_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.com"):
        with pytest.raises(ConfigError, match="needs access tokens"):
            access_control(Config(), host)
    for host in ("127.0.0.1", "localhost", "::1"):
        access_control(Config(), host)
    config = Config(tokens={"alice": "ALICE"})
    for token in ("", "short"):
        monkeypatch.setenv("ALICE", token)
        with pytest.raises(ConfigError, match="ALICE"):
            access_control(config, "0.0.0.0")
    monkeypatch.setenv("ALICE", TOKENS["alice"])
    found = access_control(config, "0.0.0.0")
    assert found.scope({"authorization": f"Bearer {TOKENS['alice']}"}) == "alice"


def test_the_tokens_of_a_set_up_are_asked_for_however_it_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE", TOKENS["alice"])
    config = Config(default="simulator/x", tokens={"alice": "ALICE"}, limits=Limits(body=1000))
    alice = {"authorization": f"Bearer {TOKENS['alice']}"}
    with serve_in_thread(Gateway(config)) as url:
        statuses = [httpx.get(f"{url}/v1/models", headers=headers).status_code for headers in ({}, alice)]
        assert statuses == [401, 200]
        assert httpx.post(f"{url}/api/chat", headers=alice, content=b" " * 1001).status_code == 413
    with TestClient(create_app(Gateway(config))) as client:
        assert [client.get("/v1/models", headers=headers).status_code for headers in ({}, alice)] == [401, 200]
    with TestClient(create_app(Gateway(Config(default="simulator/x")))) as client:
        assert client.get("/v1/models").status_code == 200, "who may reach that server may ask"


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8000"])
def test_its_own_names_are_answered_to(local: httpx.Client, host: str) -> None:
    """Attacks D01 and D02 come with other names."""
    headers = {"host": host, "origin": f"http://{host}", "content-encoding": "identity"}
    assert post(local, "openai_chat", "m", "hi", headers=headers).status_code == 200


# --- methods --------------------------------------------------------------------------------------------------------

READ = ("/v1/models", "/v1beta/models", "/api/tags", "/v1/models/x")
ASKED = [question(wire, "m", "hi")[0] for wire in wires.NAMES]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_every_path_says_which_methods_it_has(local: httpx.Client, method: str) -> None:
    for path in (*ASKED, *READ, "/v1/responses/input_tokens", "/nowhere", "/"):
        answer = local.request(method, path, content=b"[]" if method == "POST" else None)
        has = ("POST",) if path in ASKED or "input_tokens" in path else ("GET", "HEAD") if path in READ else ()
        if not has:
            assert answer.status_code == (200 if (method, path) == ("HEAD", "/") else 404)
        elif method == "OPTIONS":
            assert (answer.status_code, answer.content) == (204, b"")
            assert answer.headers["allow"] == ", ".join([*has, "OPTIONS"])
        elif method in has:
            assert answer.status_code == (400 if method == "POST" else 200)
            assert method != "HEAD" or answer.headers["content-length"] == local.get(path).headers["content-length"]
        else:
            assert answer.status_code == 405
            assert answer.headers["allow"] == ", ".join([*has, "OPTIONS"])
        if method != "HEAD" and answer.status_code >= 400:
            assert message_of(answer)
        if method == "TRACE":
            assert "anthropic-version" not in answer.text


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_every_answer_has_the_id_of_its_request(guarded: httpx.Client, method: str) -> None:
    alice = {"authorization": f"Bearer {TOKENS['alice']}"}
    for path in ("/healthz", "/nowhere", "/v1/models", "/v1/chat/completions", "/v1/responses/x"):
        for headers in ({}, alice):
            answer = guarded.request(method, path, headers=headers)
            names = [answer.headers.get(name, "") for name in ("request-id", "x-request-id")]
            assert any(name.startswith("req_") for name in names), (path, answer.status_code)


def test_an_error_about_a_path_is_spelled_as_its_wire_does(local: httpx.Client) -> None:
    assert local.get("/v1/messages", headers={"anthropic-version": ""}).json()["type"] == "error"
    assert isinstance(local.get("/api/chat").json()["error"], str)
    assert local.get("/v1beta/models/m:generateContent").json()["error"]["status"] == "INVALID_ARGUMENT"
    assert local.get("/v1/chat/completions").json()["error"]["type"] == "invalid_request_error"


# --- the file -------------------------------------------------------------------------------------------------------


def test_a_file_says_all_there_is_to_say(tmp_path: Path) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text("""
default = "anthropic/claude-haiku-4-5"
vendors = ["openai"]

[models]
fast = "groq/openai/gpt-oss-20b"
own = { model = "compatible/llama", base_url = "https://llm.example/v1", key_env = "OWN_KEY" }

[tokens]
alice = "ALICE_TOKEN"

[limits]
concurrent = 8
output_tokens = 4000
""")
    own = Upstream(model="compatible/llama", base_url="https://llm.example/v1", key_env="OWN_KEY")
    assert load(path) == Config(
        default="anthropic/claude-haiku-4-5",
        vendors=("openai",),
        models={"fast": "groq/openai/gpt-oss-20b", "own": own},
        tokens={"alice": "ALICE_TOKEN"},
        limits=Limits(concurrent=8, output_tokens=4000),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("models = 5", r"models"),
        ("modles = {}", "modles"),
        ("[limits]\nbody = 'big'", r"limits\.body"),
        ("= 5", "line 1"),
        ("[limits]\nconcurrent = 0", "the limit concurrent is a number above 0, not 0"),
        ("[limits]\nstall = inf", "the limit stall"),
        ("[limits]\ngrace = -1", "the limit grace"),
        ("[limits]\nbody_seconds = nan", "the limit body_seconds"),
        ("[models]\na = { model = 'x/y', api_key = 'sk-1' }", "api_key"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=problem):
        load(path)


RETRIES = [
    ("GET", "/v1/models", "", 401, "false"),
    ("POST", "/v1/messages", "{", 400, "false"),
    ("POST", "/v1/nothing", "{}", 404, "false"),
    ("PUT", "/v1/messages", "{}", 405, "false"),
    ("POST", "/v1/messages", "gzip", 415, "false"),
    ("POST", "/v1/messages", "fail 400", 400, "false"),
    ("POST", "/v1/messages", "fail 404", 404, "false"),
    ("POST", "/v1/messages", "fail 401", 502, "false"),
    ("POST", "/v1/messages", "fail 429", 429, "true"),
    ("POST", "/v1/messages", "fail 429 insufficient_quota", 429, "false"),
    ("POST", "/v1/messages", "fail 503", 503, "true"),
    ("POST", "/v1/messages", "fail 529", 529, "true"),
    ("POST", "/v1/messages", "fail 500", 500, None),
]


@pytest.mark.parametrize(("method", "path", "text", "status", "expected"), RETRIES)
def test_every_error_says_whether_a_retry_helps(
    method: str, path: str, text: str, status: int, expected: str | None
) -> None:
    """Without it Claude Code retries a wrong token for minutes."""
    access = AccessControl(tokens={"alice": ALICE})
    with serve_in_thread() as upstream:
        upstreams = {"m": Upstream(model="simulator/x", base_url=upstream, wire="openai_chat")}
        with serve_in_thread(Gateway(Config(models=upstreams)), access=access) as url:
            _, document = question("anthropic_messages", "m", text)
            headers = {"content-encoding": "gzip"} if text == "gzip" else {}
            headers |= {"x-api-key": "wrong" if status == 401 else ALICE}
            content = json.dumps(document) if text.startswith("fail") else text
            answer = httpx.request(method, url + path, content=content, headers=headers, timeout=60)
    assert (answer.status_code, answer.headers.get("x-should-retry")) == (status, expected), answer.text


def test_the_first_request_of_claude_code_needs_no_token() -> None:
    with serve_in_thread(access=AccessControl(tokens={"alice": ALICE})) as url:
        answer = httpx.head(url + "/")
        assert (answer.status_code, answer.content) == (200, b"")
        assert httpx.get(url + "/").status_code == 401


PAGE = {"origin": "https://app.example"}
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization, content-type"}


@pytest.mark.parametrize("tokens", [{}, {"alice": "ALICE"}])
def test_scripts_of_configured_web_pages_may_call_the_gateway(
    tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preflight has no token; every answer, an error too, can be read by the script."""
    monkeypatch.setenv("ALICE", ALICE)
    with serve_in_thread(Echo()) as upstream:
        models = {"m": Upstream(model="simulator/x", base_url=upstream, wire="openai_chat")}
        config = Config(models=models, tokens=tokens, origins=("https://app.example",))
        with serve_in_thread(Gateway(config), access=access_control(config, "127.0.0.1")) as url:
            path, document = question("openai_chat", "m", "hi")
            preflight = httpx.options(url + path, headers=PAGE | PREFLIGHT)
            assert preflight.status_code == 204
            assert preflight.headers["access-control-allow-origin"] == "https://app.example"
            assert "POST" in preflight.headers["access-control-allow-methods"]
            assert preflight.headers["access-control-allow-headers"] == "authorization, content-type"
            key = {"authorization": f"Bearer {ALICE}"}
            for body in (document, {**document, "stream": True}, {**document, "model": ""}):
                answer = httpx.post(url + path, json=body, headers=PAGE | key, timeout=60)
                assert answer.headers["access-control-allow-origin"] == "https://app.example"
                assert "x-llm-rest-losses" in answer.headers["access-control-expose-headers"]
            other = httpx.options(url + path, headers=PREFLIGHT | {"origin": "https://evil.example"})
            assert "access-control-allow-origin" not in other.headers
            if not tokens:
                refused = httpx.post(url + path, json=document, headers={"origin": "https://evil.example"})
                assert refused.status_code == 403


def test_without_origins_no_web_page_may_call_the_gateway() -> None:
    with serve_in_thread(access=AccessControl(tokens={"alice": ALICE})) as url:
        answer = httpx.options(url + "/v1/models", headers=PAGE | PREFLIGHT)
    assert answer.status_code == 401
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("origin", ["*", "app.example", "https://app.example/", "https://*.example"])
def test_an_origin_is_written_out(origin: str) -> None:
    with pytest.raises(ConfigError, match="is no origin"):
        access_control(Config(origins=(origin,)), "127.0.0.1")
