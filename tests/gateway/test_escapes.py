"""What a caller writes into a request cannot get around what the gateway allows: its output limit, its models, its tools."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from llm_rest.server.access import Limits
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Upstream
from llm_rest.server.escapes import is_private
from tests.corpus import exchanges
from tests.gateway.upstreams import ALICE, BOB, Echo, gateway, message_of, question
from tests.support import WIRES

Plain = dict[str, Any]
LIMIT = 100
SPELLINGS = (
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict", "NUM_PREDICT"),
    *(
        "Max_Tokens",
        "MAX_TOKENS",
        "maxTokens",
        "maxCompletionTokens",
        "n_predict",
        "max_new_tokens",
        "max_tokens_to_sample",
    ),
)
USUAL = {
    "openai_responses": "max_output_tokens",
    "openai_chat": "max_completion_tokens",
    "anthropic_messages": "max_tokens",
    "ollama_chat": "options.num_predict",
    "gemini_generate_content": "generationConfig.maxOutputTokens",
}


class World:
    """Gateways in front of one vendor for each wire."""

    def __init__(self, vendor: Echo, url: str) -> None:
        self.vendor = vendor
        self.url = url

    def config(self, wire: str, model: str = "simulator/x", **more: Any) -> Config:
        return Config(models={"m": Upstream(model=model, base_url=self.url, wire=wire, urls="pass")}, **more)

    def ask(self, http: httpx.Client, wire: str, fields: Plain, **how: Any) -> httpx.Response:
        path, document = question(wire, "m", "Hi")
        return http.post(path, json={**document, **fields}, **how)


@pytest.fixture(scope="module")
def world() -> Any:
    vendor = Echo()
    with serve_in_thread(vendor) as url:
        yield World(vendor, url)


def integers(value: Any, inside: bool = False) -> list[tuple[str, Any]]:
    """The numbers at each spelling of the output limit, wherever it stands beside the conversation and the tools."""
    found: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        for name, each in value.items():
            plain = name.replace("_", "").lower()
            if plain in {spelling.replace("_", "").lower() for spelling in SPELLINGS}:
                found.append((name, each))
            elif plain not in ("messages", "input", "contents", "tools", "systeminstruction", "instructions", "text"):
                found += integers(each)
    elif isinstance(value, list):
        found = [pair for each in value for pair in integers(each)]
    return found


def fields_at(path: str, value: Any) -> Plain:
    head, _, rest = path.partition(".")
    return {head: fields_at(rest, value) if rest else value}


def hostile(wire: str) -> list[Plain]:
    """Documents with a second spelling of the limit."""
    usual = USUAL[wire]
    holder = usual.partition(".")[0] if "." in usual else ""
    documents: list[Plain] = []
    for small in (50, None):
        first = {} if small is None else fields_at(usual, small)
        for name in SPELLINGS:
            documents.append({**first, name: 99999} if name != usual else first)
            if holder:
                documents.append(
                    {**first, holder: {**first.get(holder, {}), name: 99999}} if holder + "." + name != usual else first
                )
            documents += [
                {**first, box: {name: 99999}} for box in ("extra_body", "parameters", "generation_config", "Options")
            ]
            documents.append({**first, "extra_body": {"google": {"deep": [{name: 99999}]}}})
    return documents


@pytest.mark.parametrize("wire", WIRES)
def test_one_spelling_of_the_output_limit_leaves_and_none_above_the_limit(world: World, wire: str) -> None:
    with gateway(world.config(wire, limits=Limits(output_tokens=LIMIT))) as http:
        for fields in hostile(wire):
            answer = world.ask(http, wire, fields)
            assert answer.status_code == 200, (fields, answer.text)
            found = integers(world.vendor.body)
            assert len(found) == 1, (fields, world.vendor.body)
            assert 0 < found[0][1] <= LIMIT, (fields, world.vendor.body)


@pytest.mark.parametrize("vendor", ["openrouter", "groq", "compatible"])
@pytest.mark.parametrize("usual", ["max_tokens", "max_completion_tokens"])
def test_hosts_with_another_usual_name_get_one_spelling_too(
    world: World, vendor: str, usual: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "a-key-of-some-length")
    upstream = Upstream(model=f"{vendor}/x", base_url=world.url + "/v1", wire="openai_chat", key_env="A_KEY")
    other = {"max_tokens", "max_completion_tokens"} - {usual}
    with gateway(Config(models={"m": upstream}, limits=Limits(output_tokens=LIMIT))) as http:
        assert world.ask(http, "openai_chat", {usual: 50, other.pop(): 99999}).status_code == 200
    assert [value for _, value in integers(world.vendor.body)] in ([50], [100])


@pytest.mark.parametrize("wire", WIRES)
def test_without_a_limit_one_spelling_leaves_all_the_same(world: World, wire: str) -> None:
    with gateway(Config(vendors=("simulator",), models=world.config(wire).models)) as http:
        for fields in hostile(wire):
            assert world.ask(http, wire, fields).status_code == 200
            assert len(integers(world.vendor.body)) <= 1, (fields, world.vendor.body)


DOUBLED = {
    "openai_responses": '"max_output_tokens": 50, "max_output_tokens": 99999',
    "openai_chat": '"max_tokens": 50, "max_tokens": 99999',
    "anthropic_messages": '"max_tokens": 50, "max_tokens": 99999',
    "ollama_chat": '"options": {"num_predict": 50}, "options": {"num_predict": 50, "num_predict": 99999}',
    "gemini_generate_content": '"generationConfig": {}, "generationConfig": {"maxOutputTokens": 5, "maxOutputTokens": 99999}',
}


@pytest.mark.parametrize("wire", WIRES)
def test_a_repeated_key_is_decided_once(world: World, wire: str) -> None:
    with gateway(world.config(wire, limits=Limits(output_tokens=LIMIT))) as http:
        path, document = question(wire, "m", "Hi")
        for name in ("max_tokens", "max_output_tokens", "options", "generationConfig"):
            document.pop(name, None)
        body = json.dumps(document)[:-1] + ", " + DOUBLED[wire] + "}"
        assert http.post(path, content=body, headers={"content-type": "application/json"}).status_code == 200
        assert [value for _, value in integers(world.vendor.body)] == [LIMIT]
        sent = world.vendor.contexts[-1].body.decode()
        assert "99999" not in sent


REFUSED: dict[str, tuple[tuple[str, Any], ...]] = {
    "openai_chat": (
        *(
            ("n", 50),
            ("best_of", 2),
            ("models", ["expensive/x"]),
            ("route", "fallback"),
            ("provider", {"order": ["x"]}),
        ),
        *(("plugins", [{"id": "web"}]), ("preset", "x"), ("service_tier", "priority")),
    ),
    "openai_responses": (("n", 2), ("prompt", {"id": "pmpt_1"}), ("service_tier", "priority"), ("models", ["x"])),
    "anthropic_messages": (("inference_geo", "us"), ("speed", "fast"), ("fallbacks", [{"model": "x"}]), ("n", 3)),
    "gemini_generate_content": (
        *(("generationConfig.candidateCount", 8), ("generationConfig.candidate_count", 8), ("serviceTier", "priority")),
        *(("service_tier", "PRIORITY"), ("generationConfig.modelSelectionConfig", {"featureSelectionPreference": "X"})),
    ),
    "ollama_chat": (("n", 4), ("models", ["x"]), ("options.n", 2)),
}
ROWS = [(wire, path, value) for wire, rows in REFUSED.items() for path, value in rows]


LEAVES = {"models", "route", "preset", "prompt", "fallbacks", "modelSelectionConfig"}
"""Fields that choose another model."""


@pytest.mark.parametrize(("wire", "path", "value"), ROWS)
@pytest.mark.parametrize("limited", [True, False])
def test_a_field_that_multiplies_the_answer_or_leaves_the_model_is_refused(
    world: World, wire: str, path: str, value: Any, limited: bool
) -> None:
    """Without an output limit only the configured models are restricted, so that prices and several answers are free."""
    asked = len(world.vendor.asked)
    with gateway(world.config(wire, limits=Limits(output_tokens=LIMIT if limited else None))) as http:
        answer = world.ask(http, wire, fields_at(path, value))
    if not limited and path.rpartition(".")[2] not in LEAVES:
        assert "unsupported_parameter" not in answer.text
        assert "operator" not in answer.text
        return
    assert answer.status_code == 400, (answer.text, world.vendor.body)
    assert len(world.vendor.asked) == asked, "no vendor was asked"
    named = path.rpartition(".")[2].replace("_", "").lower()
    assert named in message_of(answer).replace("_", "").lower()
    if wire in ("openai_chat", "openai_responses"):
        error = answer.json()["error"]
        assert error["code"] == "unsupported_parameter"
        assert named in error["param"].replace("_", "").lower()


@pytest.mark.parametrize(("wire", "path", "value"), ROWS)
def test_the_operator_can_allow_a_field(world: World, wire: str, path: str, value: Any) -> None:
    with gateway(world.config(wire, allow=(path.rpartition(".")[2],))) as http:
        answer = world.ask(http, wire, fields_at(path, value))
    assert "operator" not in answer.text
    assert "not served" not in answer.text


@pytest.mark.parametrize(
    "fields", [{"N": 50}, {"Models": ["x"]}, {"MODEL": "x"}, {"Stream": True}, {"serviceTier": "priority"}]
)
def test_another_spelling_of_a_field_is_dropped_and_reported(world: World, fields: Plain) -> None:
    """Go's JSON reads names in any case, Google's in snake_case too."""
    with gateway(world.config("openai_chat")) as http:
        answer = world.ask(http, "openai_chat", fields)
    (name,) = fields
    assert name not in world.vendor.body
    assert f"{name}:" in answer.headers["x-llm-rest-losses"]


@pytest.mark.parametrize("value", [0, -1, -2, "99999", 7e4, 10**30])
def test_no_value_means_no_limit(world: World, value: Any) -> None:
    """Hosts read 0 and -1 as none."""
    for wire in ("openai_chat", "ollama_chat", "gemini_generate_content"):
        with gateway(world.config(wire, limits=Limits(output_tokens=LIMIT))) as http:
            answer = world.ask(http, wire, fields_at(USUAL[wire], value))
        if answer.status_code == 200:
            assert [number for _, number in integers(world.vendor.body)] == [LIMIT]


HARMLESS: dict[str, Plain] = {
    "openai_chat": {"n": 1, "service_tier": "auto", "models": None, "plugins": []},
    "openai_responses": {"service_tier": "flex", "background": False, "prompt": None},
    "anthropic_messages": {"service_tier": "standard_only", "speed": "standard"},
    "gemini_generate_content": {"generationConfig": {"candidateCount": 1}},
    "ollama_chat": {"options": {"temperature": 0}},
}


@pytest.mark.parametrize("wire", WIRES)
def test_harmless_values_pass(world: World, wire: str) -> None:
    with gateway(world.config(wire, limits=Limits(output_tokens=LIMIT))) as http:
        answer = world.ask(http, wire, HARMLESS[wire])
    assert answer.status_code == 200, answer.text


FILES: dict[str, list[Plain]] = {
    "openai_responses": [
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}]},
        {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]},
        {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]},
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file_1"]}}]},
    ],
    "anthropic_messages": [
        {"container": "container_1"},
        {
            "messages": [
                {"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "file_1"}}]}
            ]
        },
    ],
    "gemini_generate_content": [
        {"cachedContent": "cachedContents/1"},
        {"cached_content": "cachedContents/1"},
        {
            "contents": [
                {
                    "role": "user",
                    "parts": [{"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/1"}}],
                }
            ]
        },
    ],
}


@pytest.mark.parametrize(("wire", "fields"), [(wire, fields) for wire, rows in FILES.items() for fields in rows])
def test_callers_who_share_a_key_get_no_files_of_each_other(
    world: World, wire: str, fields: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALICE", ALICE)
    monkeypatch.setenv("BOB", BOB)
    headers = {"authorization": f"Bearer {ALICE}"}
    with gateway(world.config(wire, tokens={"alice": "ALICE", "bob": "BOB"})) as http:
        refused = world.ask(http, wire, fields, headers=headers)
        assert refused.status_code == 400, refused.text
        assert "several callers" in message_of(refused)
    with gateway(world.config(wire, tokens={"alice": "ALICE"})) as http:
        assert "several callers" not in world.ask(http, wire, fields, headers=headers).text


TOOLS: dict[str, Plain] = {
    "openai_responses": {"tools": [{"type": "mcp", "server_label": "x", "server_url": "http://10.0.0.1/"}]},
    "openai_chat": {"web_search_options": {}},
    "anthropic_messages": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "gemini_generate_content": {
        "tools": [{"googleSearch": {"timeRangeFilter": {"startTime": "2026-01-01T00:00:00Z"}}}]
    },
}


@pytest.mark.parametrize("wire", TOOLS)
def test_hosted_tools_can_be_switched_off(world: World, wire: str) -> None:
    with gateway(world.config(wire, hosted_tools=False)) as http:
        refused = world.ask(http, wire, TOOLS[wire])
        assert refused.status_code == 400, world.vendor.body
        assert "served here" in message_of(refused)


def test_unknown_fields_are_dropped_and_reported_where_answers_are_limited(world: World) -> None:
    unknown = {"guided_json": {"type": "object"}}
    rows: list[tuple[Plain, int, bool | None]] = [
        ({}, 200, True),
        ({"limits": Limits(output_tokens=LIMIT)}, 200, False),
        ({"limits": Limits(output_tokens=LIMIT), "unknown": "pass"}, 200, True),
        ({"limits": Limits(output_tokens=LIMIT), "allow": ("guided_json",)}, 200, True),
        ({"unknown": "drop"}, 200, False),
        ({"unknown": "refuse"}, 400, None),
    ]
    for more, status, passes in rows:
        with gateway(world.config("openai_chat", **more)) as http:
            answer = world.ask(http, "openai_chat", unknown)
        assert answer.status_code == status, answer.text
        if passes is not None:
            assert ("guided_json" in world.vendor.body) is passes, more
            assert ("guided_json" in answer.headers.get("x-llm-rest-losses", "")) is not passes


@pytest.mark.sample(4)
@pytest.mark.parametrize("wire", WIRES)
def test_no_recorded_request_gets_an_integer_above_the_limit_through(world: World, wire: str) -> None:
    with gateway(world.config(wire, limits=Limits(output_tokens=LIMIT))) as http:
        path, _ = question(wire, "m", "Hi")
        passed = 0
        for exchange in exchanges(wire)[:400]:
            if exchange.question is None:
                continue
            document = json.loads(exchange.question)
            if not isinstance(document, dict):
                continue
            document.pop("stream", None)
            if wire != "gemini_generate_content":
                document["model"] = "m"
            before = len(world.vendor.contexts)
            answer = http.post(path, json=document)
            if answer.status_code == 200 and len(world.vendor.contexts) > before:
                passed += 1
                for name, value in integers(world.vendor.body):
                    assert isinstance(value, int), name
                    assert value <= LIMIT, (name, value, exchange.question)
                for name in ("n", "candidateCount", "candidate_count", "best_of"):
                    assert json.dumps(world.vendor.body.get(name, 1)) in ("1", "null")
        assert passed > 0


URL = "http://10.0.0.1/admin.png"
PARTS: dict[str, list[Plain]] = {
    "openai_responses": [
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": URL}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": URL}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_video", "video_url": URL}]}]},
        {
            "input": [
                {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": URL}]}
            ]
        },
    ],
    "openai_chat": [
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}
            ]
        },
        {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": URL}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "audio_url", "audio_url": {"url": URL}}]}]},
    ],
    "anthropic_messages": [
        {"messages": [{"role": "user", "content": [{"type": kind, "source": {"type": "url", "url": URL}}]}]}
        for kind in ("image", "document")
    ],
    "gemini_generate_content": [
        {"contents": [{"role": "user", "parts": [{"fileData": {"fileUri": URL, **more}}]}]}
        for more in ({}, {"mimeType": "image/png"}, {"mimeType": "application/pdf"}, {"mimeType": "video/mp4"})
    ],
}
FETCHED = [(wire, fields) for wire, rows in PARTS.items() for fields in rows]


@pytest.mark.parametrize(("wire", "fields"), FETCHED)
def test_an_upstream_in_a_private_network_is_sent_no_urls(world: World, wire: str, fields: Plain) -> None:
    """It would fetch them inside of that network: the data is sent itself."""
    upstream = Upstream(model="simulator/x", base_url=world.url, wire=wire)
    asked = len(world.vendor.asked)
    with gateway(Config(models={"m": upstream})) as http:
        answer = world.ask(http, wire, fields)
    assert answer.status_code == 400, world.vendor.body
    assert "send the data itself" in message_of(answer)
    assert "127.0.0.1" not in answer.text
    assert len(world.vendor.asked) == asked


@pytest.mark.parametrize(("wire", "fields"), [row for row in FETCHED if "image_url" in str(row)])
def test_the_operator_decides_whether_urls_are_sent(world: World, wire: str, fields: Plain) -> None:
    with gateway(world.config(wire)) as http:
        assert "send the data itself" not in world.ask(http, wire, fields).text


def test_text_with_urls_and_data_are_sent_everywhere(world: World) -> None:
    picture = "data:image/png;base64,iVBORw0KGgo="
    said = [
        {
            "role": "user",
            "content": [{"type": "text", "text": URL}, {"type": "image_url", "image_url": {"url": picture}}],
        },
        {"role": "assistant", "content": URL},
        {"role": "user", "content": "And?"},
    ]
    upstream = Upstream(model="simulator/x", base_url=world.url, wire="openai_chat")
    with gateway(Config(models={"m": upstream})) as http:
        assert world.ask(http, "openai_chat", {"messages": said}).status_code == 200
    assert picture in json.dumps(world.vendor.body)


@pytest.mark.parametrize(
    ("url", "private"),
    [
        *(
            (f"http://{host}:8000/v1", True)
            for host in ("localhost", "127.0.0.1", "10.1.2.3", "192.168.0.2", "172.20.0.1")
        ),
        *(
            (f"http://{host}/v1", True)
            for host in ("[::1]", "[fd00::1]", "169.254.1.1", "vllm", "gpu.internal", "100.64.0.1")
        ),
        *((f"https://{host}/v1", False) for host in ("api.openai.com", "8.8.8.8", "generativelanguage.googleapis.com")),
    ],
)
def test_private_addresses_are_known(url: str, private: bool) -> None:
    assert is_private(url) is private
