"""Every vendor on every wire it speaks: one request as its API expects it, one answer and one error as it spells them.

`fixtures/vendors/<vendor>.json` has an entry for each wire: what a caller asks (`model`, `ask`), where that goes and with
which headers and body (`url`, `headers`, `sent`, and `lost` for what stays behind), what comes back (`answer`) and what the
caller reads (`read`). `back` is what the next request adds for that answer and its tool's output, `21`. `stream` is an answer
in pieces, with `streamed` or, where it breaks, `broken` for what a caller gets. `error` is a refusal and `raised` what a caller
catches. All facts are the vendor's: its reference, or recorded traffic.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_httpx import HTTPXMock

from llm_rest import errors
from llm_rest.client.client import Client
from llm_rest.client.reply import Reply
from llm_rest.responses import FunctionCall, FunctionCallOutput, Message
from llm_rest.unknown import given
from llm_rest.vendors.rows import VENDORS
from tests.support.legal import faults

FOLDER = Path(__file__).parents[2] / "fixtures" / "vendors"
IN_PROCESS = {"simulator"}
"""Vendors without a URL: `tests/test_simulator*.py` have them answer."""

KEY = "key-0123456789abcdef"
HISTORY = {
    "openai_responses": "input",
    "openai_chat": "messages",
    "anthropic_messages": "messages",
    "ollama_chat": "messages",
    "gemini_generate_content": "contents",
}
"""Where a request of each wire has the conversation."""

Entry = dict[str, Any]

ENTRIES: dict[tuple[str, str], Entry] = {
    (path.stem, wire): {**entry, "key": found.get("key"), "base_url": found.get("base_url")}
    for path in sorted(FOLDER.glob("*.json"))
    for found in [json.loads(path.read_text())]
    for wire, entry in found.items()
    if wire in HISTORY
}
SURFACES = [(row.name, wire) for row in VENDORS.values() if row.name not in IN_PROCESS for wire in row.wires]

each_surface = pytest.mark.parametrize(
    ("vendor", "wire"), [pytest.param(*surface, id="-".join(surface)) for surface in SURFACES if surface in ENTRIES]
)


def test_every_vendor_has_an_entry_for_every_wire_it_speaks() -> None:
    assert sorted(SURFACES) == sorted(ENTRIES)


def client(vendor: str, wire: str, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of the vendor; the key is where its row looks for it."""
    entry = ENTRIES[vendor, wire]
    options: dict[str, Any] = {"wire": wire, "retry": 1, "on_loss": "ignore"}
    if entry["base_url"]:
        options["base_url"] = entry["base_url"]
    if entry["key"]:
        monkeypatch.setenv(entry["key"], KEY)
    return Client(f"{vendor}/{entry['model']}", **options)


def asked(llm: Client, **options: Any) -> tuple[Reply, list[str]]:
    """The reply, and the paths of what the vendor did not get."""
    found = llm.generate(**options)
    return found, [loss.path for loss in found.info.losses]


def read(reply: Reply) -> Entry:
    """What a caller reads from a reply, without what is not there."""
    counts = reply.info.metadata
    usage = [int(counts[n]) for n in ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")]
    calls = [[call.name, json.loads(call.arguments)] for call in reply.function_calls]
    parts = [part for item in reply.output if isinstance(item, Message) for part in item.content]
    cited = [note.url for part in parts for note in getattr(part, "annotations", None) or [] if hasattr(note, "url")]
    found: Entry = {
        "text": reply.output_text,
        "reasoning": reply.reasoning_text,
        "calls": calls,
        "citations": cited,
        "refusal": reply.refusal,
        "stop": reply.stop_reason,
        "usage": usage if given(reply.usage) else None,
    }
    return {name: value for name, value in found.items() if value}


def told(error: errors.LLMError) -> Entry:
    """What a caller learns from an error."""
    return {
        "class": type(error).__name__,
        "code": error.vendor_code,
        "type": error.vendor_type,
        "request_id": error.request_id,
        "retry_after": error.retry_after,
        "retryable": error.retryable,
    }


def facts(said: Entry) -> Entry:
    """The same from an entry, which leaves out what is not there."""
    return {"code": None, "type": None, "request_id": None, "retry_after": None, **said}


@each_surface
def test_a_request_goes_where_the_vendor_expects_it_and_its_answer_is_read(
    vendor: str, wire: str, httpx_mock: HTTPXMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = ENTRIES[vendor, wire]
    ask: Entry = {"input": "How warm is it in Oslo?", **entry.get("ask", {})}
    httpx_mock.add_response(json=entry["answer"], is_reusable="back" in entry)
    with client(vendor, wire, monkeypatch) as llm:
        reply, lost = asked(llm, **ask)
        sent = httpx_mock.get_requests()[-1]
        assert (sent.method, str(sent.url)) == ("POST", entry["url"])
        headers = {name: sent.headers.get(name, "").replace(KEY, "KEY") for name in entry["headers"]}
        assert headers == entry["headers"]
        assert [name for name, value in sent.headers.items() if KEY in value and name not in entry["headers"]] == []
        assert "authorization" in entry["headers"] or "authorization" not in sent.headers
        body = json.loads(sent.content)
        assert body == entry["sent"]
        assert lost == entry.get("lost", [])
        assert read(reply) == entry["read"]
        if "back" not in entry:
            return

        outputs = [
            FunctionCallOutput(call_id=item.call_id, output="21")
            for item in reply.output
            if isinstance(item, FunctionCall)
        ]
        before = ask["input"] if isinstance(ask["input"], list) else [Message(role="user", content=ask["input"])]
        asked(llm, **{**ask, "input": [*before, *reply.output, *outputs]})
        history = json.loads(httpx_mock.get_requests()[-1].content)[HISTORY[wire]]
        added = len(body[HISTORY[wire]]) if isinstance(body[HISTORY[wire]], list) else 1
        assert history[added:] == entry["back"]


@pytest.mark.parametrize(
    ("vendor", "wire"), [pytest.param(*key, id="-".join(key)) for key, entry in ENTRIES.items() if "stream" in entry]
)
def test_a_stream_with_the_vendors_habits_is_read(
    vendor: str, wire: str, httpx_mock: HTTPXMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = ENTRIES[vendor, wire]
    lines = [piece if isinstance(piece, str) else f"data: {json.dumps(piece)}" for piece in entry["stream"]]
    sent = "\n\n".join([*lines, "data: [DONE]", ""])
    httpx_mock.add_response(content=sent.encode(), headers={"content-type": "text/event-stream"})
    with client(vendor, wire, monkeypatch) as llm, llm.stream("How warm is it in Oslo?") as stream:
        if "broken" in entry:
            with pytest.raises(errors.LLMError) as caught:
                list(stream)
            assert told(caught.value) == facts(entry["broken"])
            return
        assert faults(list(stream)) == []
        assert read(stream.response) == entry["streamed"]


@each_surface
def test_a_refusal_in_the_vendors_spelling_is_a_typed_error(
    vendor: str, wire: str, httpx_mock: HTTPXMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = ENTRIES[vendor, wire]
    error, raised = entry["error"], entry["raised"]
    httpx_mock.add_response(
        status_code=error["status"], headers=error.get("headers", {}), content=json.dumps(error["body"]).encode()
    )
    with client(vendor, wire, monkeypatch) as llm, pytest.raises(errors.LLMError) as caught:
        llm.generate("Hi")
    found = caught.value
    assert told(found) == facts(raised)
    assert (found.vendor, found.model) == (vendor, entry["model"])
    assert found.message
    assert KEY not in f"{found!r} {found.body}"
