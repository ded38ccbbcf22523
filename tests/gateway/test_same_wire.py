"""The same wire on both sides of a gateway: nothing changes on the way but the name of the model."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from llm_rest import Client, wires
from llm_rest.responses import FunctionCallOutput, FunctionTool, Message, Reasoning
from llm_rest.server.access import Limits
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Upstream
from tests.gateway.upstreams import VERSION, Echo, Plain, gateway, post

WEATHER = FunctionTool(
    name="get_weather",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
FUNCTION = {"name": "get_weather", "parameters": WEATHER.parameters}
DECLARED = {"name": "get_weather", "parametersJsonSchema": WEATHER.parameters}
OFFERED: dict[str, Plain] = {
    "openai_responses": {"type": "function", **FUNCTION},
    "openai_chat": {"type": "function", "function": FUNCTION},
    "anthropic_messages": {"name": "get_weather", "input_schema": WEATHER.parameters},
    "gemini_generate_content": {"functionDeclarations": [DECLARED]},
    "ollama_chat": {"type": "function", "function": FUNCTION},
}

SCRIPTS = (
    "say Hello, world.",
    "reason Hm.\nsay One.\ncite https://example.com/ Page",
    'reason Hm.\ncall get_weather {"city": "Oslo"}\ncall get_weather {"city": "Bergen"}',
    "reason\nsay Hidden thoughts.",
    "refuse Not that.",
    "say Cut here\nlength",
)


def plain(body: str, wire: str) -> list[Any]:
    """The documents in an answer, without what names the model and the settings that only a gateway adds."""
    lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith(("data: ", "{"))]
    found: list[Any] = [json.loads(line) if line.startswith("{") else line for line in lines]
    for document in found:
        for inner in (document, document.get("message"), document.get("response")) if document != "[DONE]" else ():
            for name in ("model", "modelVersion", "store", "include") if inner else ():
                inner.pop(name, None)
    return found


@pytest.mark.sample(4)
@pytest.mark.parametrize("wire", wires.NAMES)
@pytest.mark.parametrize("script", SCRIPTS)
def test_an_answer_is_the_vendors_own_but_for_the_name(
    upstream: str, http: httpx.Client, wire: str, script: str
) -> None:
    fields: Plain = {"tools": [OFFERED[wire]]} if "call" in script else {}
    if wire == "openai_responses":
        # What the client of a gateway would have to ask for to get what a gateway asks for.
        fields = {**fields, "store": False, "include": ["reasoning.encrypted_content"]}
    elif wire == "gemini_generate_content":
        fields = {**fields, "store": False}
    with httpx.Client(base_url=upstream, headers=VERSION) as direct:
        for stream in (False, True):
            own, through = (
                post(to, wire, m, script, stream=stream, **fields) for to, m in ((direct, "x"), (http, wire))
            )
            assert own.status_code == through.status_code == 200
            assert plain(through.text, wire) == plain(own.text, wire) != []
            assert "x-llm-rest-losses" not in through.headers


@pytest.mark.parametrize(
    ("vendor", "wire", "below"),
    [
        ("openai", "openai_responses", "/v1"),
        ("anthropic", "anthropic_messages", ""),
        ("google", "gemini_generate_content", ""),
        ("deepseek", "openai_chat", "/v1"),
        ("openrouter", "openai_chat", "/v1"),
        ("xai", "openai_responses", "/v1"),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_opaque_state_comes_back_to_a_vendor_that_checks_it(
    upstream: str, monkeypatch: pytest.MonkeyPatch, vendor: str, wire: str, below: str, stream: bool
) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "any-key-of-ours")
    prefix = "" if vendor in ("openai", "anthropic", "google") else f"/{vendor}"
    way = Upstream(
        model=f"{vendor}/some-model", base_url=f"{upstream}{prefix}{below}", wire=wire, key_env="UPSTREAM_KEY"
    )
    script = 'reason Two steps.\ncall get_weather {"city": "Oslo"}\nreason Easy.\nsay Four degrees.'
    with gateway(Config(models={"m": way})) as client:
        url = str(client.base_url).rstrip("/") + below
        with Client(f"{vendor}/m", wire=wire, base_url=url, api_key="any", on_loss="raise") as llm:

            def answered(said: list[Any]) -> Any:
                if not stream:
                    return llm.generate(said, tools=[WEATHER], max_output_tokens=5000)
                with llm.stream(said, tools=[WEATHER], max_output_tokens=5000) as events:
                    list(events)
                    return events.response

            said: list[Any] = [Message(role="user", content=script)]
            first = answered(said)
            (call,) = first.function_calls
            assert any(isinstance(item, Reasoning) and item.encrypted_content for item in first.output)
            said += [*first.output, FunctionCallOutput(call_id=call.call_id, output="4")]
            assert answered(said).output_text == "Four degrees."


def test_the_betas_that_a_client_of_anthropic_names_reach_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "any-key-of-ours")
    echo = Echo()
    with serve_in_thread(echo) as url:
        models: dict[str, str | Upstream] = {
            "claude": Upstream(model="anthropic/claude-haiku-4-5", base_url=url, key_env="UPSTREAM_KEY"),
            "gpt": Upstream(model="openai/gpt-5.2", base_url=f"{url}/v1", key_env="UPSTREAM_KEY"),
        }
        with gateway(Config(models=models)) as client:
            for model in models:
                headers = {"anthropic-beta": "context-1m-2025-08-07, fine-grained"}
                assert post(client, "anthropic_messages", model, "hi", headers=headers).status_code == 200
    assert echo.contexts[0].headers["anthropic-beta"] == "context-1m-2025-08-07,fine-grained"
    assert "anthropic-beta" not in echo.contexts[1].headers
    assert "betas" not in echo.contexts[1].body.decode()


ASKED = [{"role": "user", "content": "hi"}]
CODE = {"type": "code_execution_20260521", "name": "code_execution"}
SAID = [{"role": "user", "parts": [{"text": "hi"}]}]


@pytest.mark.parametrize("limit", [None, 32_000])
@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("claude-haiku-4-5", {"thinking": {"type": "enabled", "budget_tokens": 31_999}, "tools": [CODE]}),
        ("claude-haiku-4-5", {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        ("claude-sonnet-4-6", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        (
            "claude-opus-5-5",
            {
                "thinking": {
                    "type": "adaptive",
                    "display": "updates",
                    "block_binding": {"prefix_mismatch_behavior": "error"},
                }
            },
        ),
    ],
)
def test_a_configured_name_changes_no_thinking_and_no_tool_version_of_anthropic(
    monkeypatch: pytest.MonkeyPatch, model: str, fields: Plain, limit: int | None
) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "any-key-of-ours")
    echo = Echo()
    with serve_in_thread(echo) as url:
        models = {"fast": Upstream(model=f"anthropic/{model}", base_url=url, key_env="UPSTREAM_KEY")}
        with gateway(Config(models=models, limits=Limits(output_tokens=limit))) as client:
            body = {"model": "fast", "max_tokens": 40_000, "messages": ASKED, **fields}
            answer = client.post("/v1/messages", json=body, headers=VERSION)
            assert answer.status_code == 200, answer.text
    assert echo.body == {**body, "model": model, "max_tokens": limit or 40_000}
    assert ("x-llm-rest-losses" in answer.headers) is (limit is not None)


@pytest.mark.parametrize("thinking", [{"thinkingBudget": 3200}, {"thinkingBudget": -1, "includeThoughts": True}])
def test_a_configured_name_changes_no_thinking_of_gemini(monkeypatch: pytest.MonkeyPatch, thinking: Plain) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "any-key-of-ours")
    echo = Echo()
    with serve_in_thread(echo) as url:
        models = {"g": Upstream(model="google/gemini-2.5-flash", base_url=url, key_env="UPSTREAM_KEY")}
        with gateway(Config(models=models)) as client:
            body = {"contents": SAID, "generationConfig": {"thinkingConfig": thinking}, "store": False}
            answer = client.post("/v1beta/models/g:generateContent", json=body)
            assert answer.status_code == 200, answer.text
    assert echo.body == body
    assert "x-llm-rest-losses" not in answer.headers
