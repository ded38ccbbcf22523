"""What stands beside the answers of Ollama's servers: lists of models, the client's errors, and the simulated server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_httpx import HTTPXMock

from llm_rest import Client, errors
from llm_rest.errors import MalformedResponseError, NotFoundError
from llm_rest.responses import Request
from llm_rest.server.handler import Context
from llm_rest.simulator.refusals import problems
from llm_rest.vendor_errors import api_error
from llm_rest.vendors.dialects import OllamaDialect
from llm_rest.wires import ollama_chat as wire
from tests.corpus import exchanges
from tests.support.facts import plain


def test_models_are_listed_and_shown() -> None:
    listed = wire.MODELS.decode(
        b'{"models":[{"name":"a:latest","model":"a:latest","size":5,"details":{"family":"llama","new":1},"new":2}]}'
    )
    assert listed.models[0].name == "a:latest"
    shown = wire.SHOWN.decode(
        b'{"capabilities":["tools","dreams"],"model_info":{"general.architecture":"llama","llama.context_length":8192}}'
    )
    assert (shown.capabilities, shown.context_length) == (["tools", "dreams"], 8192)
    assert wire.SHOWN.decode(b"{}").context_length is None
    assert (wire.models_route().method, wire.models_route().path) == ("GET", "/api/tags")
    dialect = OllamaDialect(path="/ollama/api/chat")
    assert wire.show_route(dialect=dialect).path == "/ollama/api/show"
    assert plain(wire.ShowRequest(model="m")) == {"model": "m"}
    assert wire.route(Request(model="m"), dialect=dialect, stream=True).path == "/ollama/api/chat"


# --- errors ---------------------------------------------------------------------------------------------------------

FIXTURES = Path(__file__).parents[3] / "fixtures" / "ollama_chat"
KINDS = {
    "model_not_found": errors.NotFoundError,
    "not_pulled": errors.NotFoundError,
    "no_tools": errors.BadRequestError,
    "no_thinking": errors.BadRequestError,
    "too_long": errors.ContextLengthError,
    "busy": errors.OverloadedError,
    "signed_out": errors.AuthenticationError,
    "cloud_limit": errors.RateLimitError,
    "crashed": errors.InternalServerError,
}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.error.json")), ids=lambda path: path.stem)
def test_an_error_is_typed_and_the_same_after_a_walk_through_its_facts(path: Path) -> None:
    """ollama.response.16, ollama.response_back.12. BUGS 48"""
    name, status, *_ = path.name.split(".")
    facts = wire.decode_error(int(status), {}, path.read_bytes())
    assert type(api_error(facts)) is KINDS[name]
    assert wire.encode_error(facts) == (int(status), json.loads(path.read_bytes()))


# --- through our client ---------------------------------------------------------------------------------------------


def test_an_error_inside_a_good_answer_is_raised(httpx_mock: HTTPXMock) -> None:
    """BUGS 48"""
    httpx_mock.add_response(json={"error": "model 'x' not found"})
    httpx_mock.add_response(json={"model": "m"}, is_reusable=True)
    with Client("ollama/x") as llm:
        with pytest.raises(NotFoundError, match="model 'x' not found"):
            llm.generate("Hi")
        with pytest.raises(MalformedResponseError):
            llm.generate("Hi")


# --- the simulated server -------------------------------------------------------------------------------------------

CONTEXT = Context(wire="ollama_chat", dialect=OllamaDialect(), vendor=None, headers={}, body=b"")


def chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **fields}


def offered(**function: Any) -> dict[str, Any]:
    return chat(tools=[{"function": function}])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"messages": []}, "model is required"),
        (chat(think="extreme"), 'invalid think value: "extreme"'),
        (chat(format="xml"), 'invalid format: "xml"'),
        (chat(top_logprobs=21), "between 0 and 20"),
        (chat(options={"stop": "END"}), 'option "stop" must be of type array'),
        (chat(options={"temperature": "hot"}), 'option "temperature" must be of type number'),
        (chat({"role": "user", "content": [{"type": "text"}]}), "cannot unmarshal array"),
        (chat({"role": "user", "images": ["data:image/png;base64,AAAA"]}), "illegal base64 data"),
        (chat({"role": "user", "images": ["https://a.b/c.png"]}), "illegal base64 data"),
        (
            chat({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}),
            "unmarshal string",
        ),
        (offered(name="f", parameters=[]), "cannot unmarshal array"),
        (offered(name="f", parameters={"required": "a"}), "parameters.required"),
        (offered(parameters={"properties": {"a": {"type": 5}}}), "properties.type"),
        (offered(parameters={"anyOf": [{"enum": 5}]}), "anyOf.enum"),
    ],
)
def test_the_simulator_refuses_what_the_server_would(document: dict[str, Any], message: str) -> None:
    assert message in next(problems(document, CONTEXT)).message


def test_the_simulator_accepts_every_recorded_request() -> None:
    accepted = [one for one in exchanges("ollama_chat") if one.question and one.response.status == 200]
    assert len(accepted) >= 5
    usual = chat(options={"num_ctx": None, "stop": ["a"], "new": 1}, format="", think="max", top_logprobs=0)
    for document in (usual, *(plain(wire.REQUEST.decode(one.question or b"")) for one in accepted)):
        assert list(problems(document, CONTEXT)) == []
