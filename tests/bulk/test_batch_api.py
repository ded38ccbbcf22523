"""Batches of vendors, the pure part: lines, limits, states and results; `test_vendor_mode.py` has the requests around them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import MsgspecError
from msgspec.structs import replace

from llm_rest.bulk import batch_api as api
from llm_rest.bulk.batch_api import BatchBuilder, BatchGroup, BatchResult
from llm_rest.bulk.dialects import DIALECTS
from llm_rest.errors import RequestTooLargeError
from llm_rest.wires import Route

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
GEMINI = "/v1beta/models/gemini-x:generateContent"
ENDPOINTS = {"anthropic": MESSAGES, "google": GEMINI}


def group(vendor: str) -> BatchGroup:
    return BatchGroup(vendor, "https://host", "c", ENDPOINTS.get(vendor, CHAT), "m")


# --- lines and limits


@pytest.mark.parametrize("vendor", DIALECTS)
@given(body=st.dictionaries(st.text(), st.text() | st.integers()), data=st.data())
def test_a_body_stands_in_its_line_byte_for_byte(vendor: str, body: dict[str, Any], data: st.DataObject) -> None:
    indent = data.draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    encoded = json.dumps(body, ensure_ascii=data.draw(st.booleans()), separators=indent).encode()
    line = api.line(group(vendor), "r1", encoded)
    assert encoded in line
    assert b"\n" not in line
    read = json.loads(line)
    field = DIALECTS[vendor].api.body
    assert read.pop(field) == body
    assert read in (
        {"custom_id": "r1"},
        {"key": "r1"},
        {"custom_id": "r1", "method": "POST", "url": CHAT},
    )


@pytest.mark.parametrize("vendor", DIALECTS)
def test_a_batch_is_full_exactly_at_its_limits(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lines(size: int, requests: int) -> int:
        monkeypatch.setitem(DIALECTS, vendor, replace(dialect, max_bytes=size, max_requests=requests))
        builder = BatchBuilder(group(vendor))
        while builder.add(f"r{len(builder.lines)}", b'{"x":1}'):
            pass
        assert len(builder.content()) <= size
        return len(builder.lines)

    dialect = DIALECTS[vendor]
    three = BatchBuilder(group(vendor))
    for i in range(3):
        assert three.add(f"r{i}", b'{"x":1}')
    size = len(three.content())
    assert [lines(size, 9), lines(size - 1, 9), lines(size + 1, 9), lines(10**6, 4)] == [3, 2, 3, 4]
    with pytest.raises(RequestTooLargeError, match="takes 9 bytes"):
        lines(9, 1)


@pytest.mark.parametrize(
    ("vendor", "body", "path"),
    [
        ("openai", {"stream": True}, "stream"),
        ("openai", {"background": True}, "background"),
        ("anthropic", {"max_tokens": 0}, "prompt_cache_options.prewarm"),
        ("anthropic", {"speed": "fast"}, "service_tier"),
        ("openrouter", {"messages": [{"content": [{"type": "image_url"}]}]}, "input"),
        ("openrouter", {"messages": [{"content": '{"type":"image_url"}'}]}, None),
        ("openai", {"messages": [{"content": [{"type": "image_url"}]}], "max_tokens": 0, "stream": False}, None),
    ],
)
def test_requests_that_no_batch_takes_are_refused_with_the_field(vendor: str, body: object, path: str | None) -> None:
    found = api.refusals(DIALECTS[vendor], json.dumps(body, separators=(",", ":")).encode())
    assert [(loss.path, loss.kind) for loss in found] == ([(path, "refused")] if path else [])


def test_what_creates_a_batch() -> None:
    made = {vendor: json.loads(api.create(group(vendor), "file-1", "mark")[1]) for vendor in DIALECTS}
    file = {"input_file_id": "file-1", "endpoint": CHAT, "completion_window": "24h"}
    assert made["openai"] == file | {"metadata": {"llm_rest": "mark"}}
    assert made["together"] == file
    assert made["xai"] == {"name": "mark", "input_file_id": "file-1"}
    assert made["google"] == {"batch": {"displayName": "mark", "inputConfig": {"fileName": "file-1"}}}
    assert made["mistral"] == {
        "endpoint": CHAT,
        "input_files": ["file-1"],
        "timeout_hours": 24,
        "metadata": {"llm_rest": "mark"},
    }
    builder = BatchBuilder(group("openrouter"))
    builder.add("r1", b"{}")
    assert builder.content().startswith(
        b'{"endpoint":"/v1/chat/completions","model":"m","completion_window":"24h","requests":[{'
    )
    builder = BatchBuilder(group("anthropic"))
    builder.add("r1", b"{}")
    assert builder.content() == b'{"requests":[{"custom_id":"r1","params":{}}]}'


# --- jobs

STATES: list[tuple[str, str, str, str]] = [
    ("openai", "validating in_progress finalizing new", "running", "completed"),
    ("openai", "cancelling", "cancelling", "completed"),
    *(("openai", word, "ended", word) for word in ("completed", "failed", "expired", "cancelled")),
    ("together", "EXPIRED", "ended", "expired"),
    ("openrouter", "validating", "running", "completed"),
    ("anthropic", "in_progress", "running", "completed"),
    ("anthropic", "canceling", "cancelling", "completed"),
    ("anthropic", "ended", "ended", "completed"),
    ("google", "BATCH_STATE_PENDING JOB_STATE_PENDING", "running", "completed"),
    ("google", "BATCH_STATE_CANCELLING", "cancelling", "completed"),
    ("google", "BATCH_STATE_SUCCEEDED JOB_STATE_PARTIALLY_SUCCEEDED", "ended", "completed"),
    ("google", "BATCH_STATE_EXPIRED", "ended", "expired"),
    ("google", "JOB_STATE_FAILED", "ended", "failed"),
    ("mistral", "QUEUED", "running", "completed"),
    ("mistral", "CANCELLATION_REQUESTED", "cancelling", "completed"),
    ("mistral", "TIMEOUT_EXCEEDED", "ended", "expired"),
]
"""Vendors, the words for a state, the state, and the outcome of the batch."""


def document(vendor: str, state: str) -> dict[str, Any]:
    if vendor == "google":
        return {"name": "b", "metadata": {"state": state}}
    return {"id": "b", "processing_status" if vendor == "anthropic" else "status": state}


JOBS: list[tuple[str, dict[str, Any], tuple[str, str]]] = [
    *((vendor, document(vendor, word), (state, as_)) for vendor, words, state, as_ in STATES for word in words.split()),
    ("google", {"name": "b", "done": True}, ("ended", "completed")),
    ("google", {"name": "b", "done": True, "error": {"code": 8, "message": "x"}}, ("ended", "failed")),
    ("xai", {"batch_id": "b", "state": {"num_requests": 0}}, ("running", "completed")),
    ("xai", {"batch_id": "b", "state": {"num_requests": 2, "num_pending": 1}}, ("running", "completed")),
    ("xai", {"batch_id": "b", "state": {"num_requests": 2, "num_pending": 0}}, ("ended", "completed")),
    ("xai", {"batch_id": "b", "state": {}, "cancel_time": "2026"}, ("ended", "cancelled")),
    ("xai", {"batch_id": "b", "cancel_time": "2026", "cancel_by_xai_message": "no"}, ("ended", "failed")),
]


@pytest.mark.parametrize(("vendor", "document", "expected"), JOBS)
def test_the_state_of_a_job(vendor: str, document: dict[str, Any], expected: tuple[str, str]) -> None:
    found = api.job(group(vendor), document)
    assert (found.id, found.status, found.ended_as) == ("b", *expected)


def test_pages_of_a_list_that_are_counted() -> None:
    mine = group("mistral")
    entries, following = api.page(mine, {"data": [{"id": "b"}] * 100}, Route("/jobs", {"page_size": "100"}))
    assert (len(entries), following and following.query) == (100, {"page_size": "100", "page": "1"})
    assert api.page(mine, {"data": [{"id": "b"}], "total": 1}, Route("/jobs"))[1] is None


# --- results

ANSWER = b'{"id":"x","text":"h\xc3\xa9 \xf0\x9f\x98\x80"}'
BAD = {"status_code": 429, "body": {"error": {"message": "m", "type": "invalid_request_error"}}}
GRPC = {3: 400, 4: 504, 7: 403, 8: 429, 13: 500, 14: 503, 16: 401, 99: 500, 400: 400}
KINDS = {"invalid_request_error": 400, "authentication_error": 401, "timeout_error": 504, "new_error": 500}


def openai(**fields: Any) -> dict[str, Any]:
    return {"id": "batch_req_1", "custom_id": "r1", "response": None, "error": None, **fields}


def anthropic(kind: str) -> dict[str, Any]:
    error = {"type": "error", "error": {"type": kind, "message": "m"}}
    return {"custom_id": "r1", "result": {"type": "errored", "error": error}}


RESULTS: list[tuple[str, dict[str, Any], str, int]] = [
    ("openai", openai(error={"code": "batch_cancelled"}), "cancelled", 200),
    ("openai", openai(error={"code": "odd", "message": "m"}), "errored", 500),
    ("openai", openai(response=BAD, error={"code": "rate", "message": "m"}), "errored", 429),
    ("openai", openai(), "missing", 200),
    ("mistral", openai(response={"body": {"id": "x"}}), "succeeded", 200),
    *(("anthropic", anthropic(kind), "errored", status) for kind, status in KINDS.items()),
    ("google", {"metadata": {"key": "r1"}, "response": {"id": "x"}}, "succeeded", 200),
    *(("google", {"key": "r1", "error": {"code": n, "message": "m"}}, "errored", to) for n, to in GRPC.items()),
    ("google", {"key": "r1", "error": {"code": 1, "message": "m"}}, "cancelled", 200),
    ("xai", {"batch_request_id": "r1", "batch_result": {"error": {"code": 8, "message": "m"}}}, "errored", 429),
    ("xai", {"batch_request_id": "r1"}, "missing", 200),
]
"""Results beside those of the vendor in `batch_vendor.py`."""


@pytest.mark.parametrize(("vendor", "document", "outcome", "status"), RESULTS)
def test_the_outcome_of_a_request(vendor: str, document: dict[str, Any], outcome: str, status: int) -> None:
    found = api.result(group(vendor), json.dumps(document).encode())
    assert (found.custom_id, found.outcome, found.status) == ("r1", outcome, status)
    if outcome == "succeeded":
        assert json.loads(found.body) == {"id": "x"}
    if outcome == "errored":
        assert json.loads(found.body)["error"]["message"] == "m"


def test_a_successful_body_comes_out_byte_for_byte() -> None:
    lines = {
        "openai": b'{"custom_id":"r1","response":{"status_code":200,"body": %b }}',
        "anthropic": b'{"custom_id":"r1","result":{"type":"succeeded","message": %b}}',
        "google": b'{"key":"r1","response":%b}',
        "xai": b'{"batch_request_id":"r1","batch_result":{"response":{"chat_get_completion":%b}}}',
    }
    for vendor, line in lines.items():
        assert api.result(group(vendor), line % ANSWER) == BatchResult("r1", "succeeded", 200, ANSWER)


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"nothing", b'{"custom_id":1}', b'{"custom_id":"\xff"}', b'{"response":{"body":1']
)
@pytest.mark.parametrize("vendor", DIALECTS)
def test_a_line_that_is_no_result_is_an_error_of_the_decoder_and_no_other(vendor: str, line: bytes) -> None:
    with pytest.raises((MsgspecError, UnicodeDecodeError)):
        api.result(group(vendor), line)


def test_a_page_of_results_that_leads_to_itself_is_the_last() -> None:
    found, after = api.entries(b'{"results":[{"a":1},{"b":2}],"pagination_token":"t"}', Route("/x", {"limit": "2"}))
    assert [bytes(each) for each in found] == [b'{"a":1}', b'{"b":2}']
    assert after is not None
    assert after.query == {"limit": "2", "pagination_token": "t"}
    assert api.entries(b'{"results":[],"pagination_token":"t"}', after) == ([], None)
