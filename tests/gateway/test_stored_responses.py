"""Responses that a gateway stores are continued, read, listed, deleted and compacted, whatever vendor answered them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from openai import OpenAI

from llm_rest import wires
from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Keep
from llm_rest.server.gateway import Gateway
from llm_rest.simulator import Simulator
from tests.gateway.upstreams import ALICE, Plain, everything


@pytest.fixture(scope="module")
def http(guarded: str) -> Generator[httpx.Client]:
    with httpx.Client(base_url=guarded + "/v1", headers={"authorization": f"Bearer {ALICE}"}, timeout=60) as client:
        yield client


def created(http: httpx.Client, text: Any, *, model: str = "anthropic_messages", **fields: Any) -> Plain:
    answer = http.post("/responses", json={"model": model, "input": text, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["message"]


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_conversation_goes_on_by_the_id_of_the_response_before(http: httpx.Client, wire: str) -> None:
    first = created(http, "say one", model=wire, instructions="Be brief.")
    assert first["store"] is True
    second = created(http, "count the messages", model=wire, previous_response_id=first["id"])
    assert second["previous_response_id"] == first["id"]
    assert second["instructions"] is None
    kept = http.get(f"/responses/{second['id']}").json()
    assert {**kept, "output": second["output"]} == second
    # The model was given all three: the question before, its answer, and the question now.
    alone = created(http, "count the messages", model=wire)
    assert second["usage"]["input_tokens"] > alone["usage"]["input_tokens"]


def test_what_is_not_to_be_stored_is_not_kept(http: httpx.Client) -> None:
    name = created(http, "say one", store=False)["id"]
    assert http.get(f"/responses/{name}").status_code == 404
    answer = http.post("/responses", json={"model": "openai_chat", "input": "b", "previous_response_id": name})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "previous_response_not_found")


def test_a_response_is_deleted_once_and_neither_cancelled_nor_streamed(http: httpx.Client) -> None:
    name = created(http, "say one")["id"]
    assert refused(http.post(f"/responses/{name}/cancel")) == (400, "Cannot cancel a synchronous response.")
    assert refused(http.get(f"/responses/{name}?stream=true"))[0] == 400
    assert http.get(f"/responses/{name}?stream=false").json()["id"] == name
    assert http.delete(f"/responses/{name}").json() == {"id": name, "object": "response", "deleted": True}
    assert refused(http.delete(f"/responses/{name}")) == (404, f"Response with id '{name}' not found.")


def test_the_input_is_listed_in_pages(http: httpx.Client) -> None:
    said = [{"role": "user", "content": str(i)} for i in range(5)]
    name = created(http, said)["id"]
    page = http.get(f"/responses/{name}/input_items", params={"order": "asc", "limit": 3}).json()
    assert [item["content"][0]["text"] for item in page["data"]] == ["0", "1", "2"]
    assert (page["object"], page["has_more"]) == ("list", True)
    rest = http.get(f"/responses/{name}/input_items", params={"order": "asc", "after": page["last_id"]}).json()
    assert [item["content"][0]["text"] for item in rest["data"]] == ["3", "4"]
    newest = http.get(f"/responses/{name}/input_items").json()["data"][0]
    assert newest["content"][0]["text"] == "4"
    for query in ({"limit": "0"}, {"limit": "many"}, {"after": "nobody"}):
        assert http.get(f"/responses/{name}/input_items", params=query).status_code == 400


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_conversation_is_compacted_and_goes_on(http: httpx.Client, wire: str) -> None:
    said = [{"role": "user", "content": "The code word is slate."}, {"role": "user", "content": "say A summary."}]
    answer = http.post("/responses/compact", json={"model": wire, "input": said})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["object"] == "response.compaction"
    *users, last = found["output"]
    assert [item["content"][0]["text"] for item in users] == ["The code word is slate.", "say A summary."]
    assert last["type"] == "compaction"
    assert "summary" not in last["encrypted_content"]
    again = created(http, [*found["output"], {"role": "user", "content": "say on"}], model=wire)
    assert [item["content"][0]["text"] for item in again["output"] if item["type"] == "message"] == ["on"]


@pytest.mark.parametrize("body", [{}, {"model": "openai_chat"}, {"model": "nobody/knows", "input": "a"}])
def test_a_compaction_without_a_conversation_or_a_model_is_refused(http: httpx.Client, body: Plain) -> None:
    answer = http.post("/responses/compact", json=body)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["message"]


def test_the_vendors_own_client_reads_what_is_kept(http: httpx.Client) -> None:
    client = OpenAI(base_url=str(http.base_url), api_key=ALICE, max_retries=0)
    first = client.responses.create(model="gemini_generate_content", input="say one")
    again = client.responses.retrieve(first.id)
    assert again.output_text == "one"
    assert [item.type for item in client.responses.input_items.list(first.id)] == ["message"]
    client.responses.delete(first.id)
    client.close()


def test_a_simulated_vendor_keeps_nothing() -> None:
    with serve_in_thread(Simulator()) as url:
        assert httpx.get(f"{url}/v1/responses/resp_1").status_code == 404
        assert httpx.post(f"{url}/v1/responses/compact", json={}).status_code == 404


def test_what_is_kept_in_a_file_outlives_the_gateway(tmp_path: Path) -> None:
    with serve_in_thread(Simulator()) as upstream:
        config = replace(everything(upstream), keep=Keep(path=str(tmp_path / "kept.sqlite")))
        names: list[str] = []
        for text in ("say one", "say two"):
            with serve_in_thread(Gateway(config, history=config.keep.history()), access=AccessControl()) as url:
                with httpx.Client(base_url=url + "/v1", timeout=60) as client:
                    before = {"previous_response_id": names[-1]} if names else {}
                    names.append(created(client, text, **before)["id"])
    assert len(set(names)) == 2
