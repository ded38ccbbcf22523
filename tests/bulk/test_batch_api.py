"""Batches of vendors, the pure part: lines, limits, groups, jobs and results of every format."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import MsgspecError
from msgspec.structs import replace

from llm_rest.bulk import batch_api as api
from llm_rest.bulk.batch_api import BatchBuilder, BatchGroup, BatchResult
from llm_rest.bulk.dialects import DIALECTS, BatchDialect
from llm_rest.errors import RequestTooLargeError
from llm_rest.transport.framing import NDJSON
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
        while builder.add(f"r{len(builder.ids)}", b'{"x":1}'):
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


def test_sixty_thousand_rows_are_two_batches() -> None:
    builders = [BatchBuilder(group("openai"))]
    for i in range(60_000):
        if not builders[-1].add(f"r{i}", b"{}"):
            builders.append(BatchBuilder(group("openai")))
            assert builders[-1].add(f"r{i}", b"{}")
    assert [len(each.ids) for each in builders] == [50_000, 10_000]


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


# --- the requests around a batch


@pytest.mark.parametrize(
    ("vendor", "create", "poll", "cancel", "results"),
    [
        ("openai", "/batches", "/batches/b%2F1", "/batches/b%2F1/cancel", "/files/f/content"),
        ("openrouter", "/batches", "/batches/b%2F1", "", "/batches/b%2F1"),
        ("xai", "/batches", "/batches/b%2F1", "/batches/b%2F1:cancel", "/batches/b%2F1/results"),
        ("mistral", "/batch/jobs", "/batch/jobs/b%2F1", "/batch/jobs/b%2F1/cancel", "/files/f/content"),
        (
            "anthropic",
            "/v1/messages/batches",
            "/v1/messages/batches/b%2F1",
            "/v1/messages/batches/b%2F1/cancel",
            "/v1/messages/batches/b%2F1/results",
        ),
        (
            "google",
            "/v1beta/models/gemini-x:batchGenerateContent",
            "/v1beta/b/1",
            "/v1beta/b/1:cancel",
            "/download/v1beta/f:download",
        ),
    ],
)
def test_paths(vendor: str, create: str, poll: str, cancel: str, results: str) -> None:
    mine = group(vendor)
    format = mine.dialect.api
    made = [api.route(mine, each, id="b/1", file="f").path for each in (format.poll, format.cancel, format.results)]
    assert [api.create(mine, "f", "mark")[0].path, *made] == [create, poll, cancel if cancel else "", results]


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


@pytest.mark.parametrize(("vendor", "purpose"), [("openai", True), ("mistral", True), ("xai", False)])
def test_an_upload_is_a_form_with_the_file(vendor: str, purpose: bool) -> None:
    route, body = api.upload(group(vendor), b'{"x":1}\n{"x":2}\n', "mark")
    assert route.headers == {"Content-Type": "multipart/form-data; boundary=mark"}
    assert (b'name="purpose"\r\n\r\nbatch\r\n--mark\r\n' in body) is purpose
    head, _, rest = body.partition(b'name="file"; filename="mark.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n')
    assert head.startswith(b"--mark\r\n")
    assert rest == b'{"x":1}\n{"x":2}\n\r\n--mark--\r\n'


# --- jobs

JOBS: list[tuple[str, dict[str, Any], tuple[str, str]]] = [
    *(
        ("openai", {"id": "b", "status": word}, ("running", "completed"))
        for word in ("validating", "in_progress", "finalizing", "new")
    ),
    ("openai", {"id": "b", "status": "cancelling"}, ("cancelling", "completed")),
    *(
        ("openai", {"id": "b", "status": word}, ("ended", word))
        for word in ("completed", "failed", "expired", "cancelled")
    ),
    (
        "together",
        {"id": "b", "status": "EXPIRED", "error": "late", "created_at": "2026-01-01T00:00:00Z"},
        ("ended", "expired"),
    ),
    ("openrouter", {"id": "b", "status": "validating"}, ("running", "completed")),
    ("anthropic", {"id": "b", "processing_status": "in_progress"}, ("running", "completed")),
    ("anthropic", {"id": "b", "processing_status": "canceling"}, ("cancelling", "completed")),
    ("anthropic", {"id": "b", "processing_status": "ended"}, ("ended", "completed")),
    *(
        ("google", {"name": "b", "metadata": {"state": f"{kind}_STATE_{state}"}}, expected)
        for kind in ("BATCH", "JOB")
        for state, expected in {
            "PENDING": ("running", "completed"),
            "CANCELLING": ("cancelling", "completed"),
            "SUCCEEDED": ("ended", "completed"),
            "PARTIALLY_SUCCEEDED": ("ended", "completed"),
            "EXPIRED": ("ended", "expired"),
            "FAILED": ("ended", "failed"),
        }.items()
    ),
    ("google", {"name": "b", "done": True}, ("ended", "completed")),
    ("google", {"name": "b", "done": True, "error": {"code": 8, "message": "x"}}, ("ended", "failed")),
    ("mistral", {"id": "b", "status": "QUEUED"}, ("running", "completed")),
    ("mistral", {"id": "b", "status": "CANCELLATION_REQUESTED"}, ("cancelling", "completed")),
    (
        "mistral",
        {"id": "b", "status": "TIMEOUT_EXCEEDED", "errors": [{"message": "m", "count": 2}]},
        ("ended", "expired"),
    ),
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


def test_what_a_job_says() -> None:
    document = {
        "id": "batch_1",
        "status": "failed",
        "created_at": 1700000000,
        "metadata": {"llm_rest": "mark"},
        "input_file_id": "in",
        "output_file_id": "out",
        "error_file_id": None,
        "request_counts": {"total": 3, "completed": 1},
        "errors": {"object": "list", "data": [{"code": "bad", "line": 2, "message": "x"}, {"message": "all"}]},
    }
    found = api.job(group("openai"), document)
    assert (found.marker, found.inputs, found.outputs, found.created_at) == ("mark", ("in",), ("out",), 1700000000)
    assert [(error.line, error.message) for error in found.errors] == [(2, "x"), (None, "all")]
    assert found.counts == {"total": 3, "completed": 1}
    operation = {"name": "batches/1", "metadata": {"displayName": "mark", "batchStats": {"requestCount": "3"}}}
    found = api.job(group("google"), operation | {"response": {"responsesFile": "files/1"}})
    assert (found.marker, found.outputs, found.counts) == ("mark", ("files/1",), {"requestCount": 3})


@pytest.mark.parametrize(
    ("vendor", "document", "following"),
    [
        ("openai", {"data": [{"id": "b"}], "has_more": True, "last_id": "b"}, {"limit": "100", "after": "b"}),
        ("openai", {"data": [{"id": "b"}], "has_more": False, "last_id": "b"}, None),
        ("anthropic", {"data": [{"id": "b"}], "has_more": True, "last_id": "b"}, {"limit": "100", "after_id": "b"}),
        ("google", {"operations": [{"name": "b"}], "nextPageToken": "t"}, {"pageSize": "100", "pageToken": "t"}),
        ("google", {"operations": [{"name": "b"}]}, None),
        ("xai", {"batches": [{"batch_id": "b"}], "pagination_token": "t"}, {"limit": "100", "pagination_token": "t"}),
        ("mistral", {"data": [{"id": "b"}] * 100}, {"page_size": "100", "page": "1"}),
        ("mistral", {"data": [{"id": "b"}], "total": 1}, None),
    ],
)
def test_pages_of_a_list(vendor: str, document: dict[str, Any], following: dict[str, str] | None) -> None:
    mine = group(vendor)
    asked = api.route(mine, f"{mine.dialect.api.batches}?{mine.dialect.api.page}")
    entries, after = api.page(mine, document, asked)
    assert {api.job(mine, entry).id for entry in entries} == {"b"}
    assert (after and after.query) == following


# --- results

ANSWER = b'{"id":"x","text":"h\xc3\xa9 \xf0\x9f\x98\x80"}'


def openai(**fields: Any) -> dict[str, Any]:
    return {"id": "batch_req_1", "custom_id": "r1", "response": None, "error": None, **fields}


BAD = {"error": {"message": "bad", "type": "invalid_request_error"}}
RESULTS: list[tuple[str, dict[str, Any], str, int]] = [
    ("openai", openai(response={"status_code": 200, "body": {"id": "x"}}), "succeeded", 200),
    ("openai", openai(response={"status_code": 400, "body": BAD}), "errored", 400),
    ("openai", openai(error={"code": "batch_expired", "message": "late"}), "expired", 200),
    ("openai", openai(error={"code": "batch_cancelled"}), "cancelled", 200),
    ("openai", openai(error={"code": "odd", "message": "m"}), "errored", 500),
    (
        "openai",
        openai(response={"status_code": 429, "body": BAD}, error={"code": "rate", "message": "m"}),
        "errored",
        429,
    ),
    ("openai", openai(), "missing", 200),
    ("mistral", openai(response={"body": {"id": "x"}}), "succeeded", 200),
    ("openrouter", openai(response={"status_code": 200, "body": {"id": "x"}}), "succeeded", 200),
    ("anthropic", {"custom_id": "r1", "result": {"type": "succeeded", "message": {"id": "x"}}}, "succeeded", 200),
    ("anthropic", {"custom_id": "r1", "result": {"type": "expired"}}, "expired", 200),
    ("anthropic", {"custom_id": "r1", "result": {"type": "canceled"}}, "cancelled", 200),
    *(
        (
            "anthropic",
            {
                "custom_id": "r1",
                "result": {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": "m"}}},
            },
            "errored",
            status,
        )
        for kind, status in (*api.STATUSES.items(), ("new_error", 500))
    ),
    ("google", {"key": "r1", "response": {"id": "x"}}, "succeeded", 200),
    ("google", {"metadata": {"key": "r1"}, "response": {"id": "x"}}, "succeeded", 200),
    *(
        (
            "google",
            {"key": "r1", "error": {"code": code, "message": "m"}},
            "cancelled" if code == 1 else "errored",
            status,
        )
        for code, status in (
            (3, 400),
            (4, 504),
            (7, 403),
            (8, 429),
            (13, 500),
            (14, 503),
            (16, 401),
            (99, 500),
            (400, 400),
        )
    ),
    ("google", {"key": "r1", "error": {"code": 1, "message": "m"}}, "cancelled", 200),
    ("xai", {"batch_request_id": "r1", "batch_result": {"response": {"responses": {"id": "x"}}}}, "succeeded", 200),
    ("xai", {"batch_request_id": "r1", "batch_result": {"error": {"code": 8, "message": "m"}}}, "errored", 429),
    ("xai", {"batch_request_id": "r1"}, "missing", 200),
]


@pytest.mark.parametrize(("vendor", "document", "outcome", "status"), RESULTS)
def test_the_outcome_of_a_request(vendor: str, document: dict[str, Any], outcome: str, status: int) -> None:
    found = api.result(group(vendor), json.dumps(document).encode())
    assert (found.custom_id, found.outcome, found.status) == ("r1", outcome, status)
    if outcome == "succeeded":
        assert json.loads(found.body) == {"id": "x"}
    if outcome == "errored":
        message = json.loads(found.body)["error"]
        assert message.get("message") in ("m", "bad")


def test_a_successful_body_comes_out_byte_for_byte() -> None:
    lines = {
        "openai": b'{"custom_id":"r1","response":{"status_code":200,"body": %b }}',
        "anthropic": b'{"custom_id":"r1","result":{"type":"succeeded","message": %b}}',
        "google": b'{"key":"r1","response":%b}',
        "xai": b'{"batch_request_id":"r1","batch_result":{"response":{"chat_get_completion":%b}}}',
    }
    for vendor, line in lines.items():
        assert api.result(group(vendor), line % ANSWER) == BatchResult("r1", "succeeded", 200, ANSWER)


@given(seed=st.integers(), cuts=st.lists(st.integers(0, 5_000), max_size=30))
def test_results_are_the_same_wherever_their_bytes_are_cut(seed: int, cuts: list[int]) -> None:
    lines = [b'{"custom_id":"r%d","response":{"status_code":200,"body":%b}}' % (i, ANSWER) for i in range(20)]
    random.Random(seed).shuffle(lines)
    data, machine = b"\n".join(lines), NDJSON()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    frames = [f for a, b in pairwise(places) for f in machine.feed(data[a:b])] + machine.close()
    found = [api.result(group("openai"), frame.data) for frame in frames]
    assert sorted(each.custom_id for each in found) == sorted(f"r{i}" for i in range(20))
    assert {each.body for each in found} == {ANSWER}


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"nothing", b'{"custom_id":1}', b'{"custom_id":"\xff"}', b'{"response":{"body":1']
)
@pytest.mark.parametrize("vendor", DIALECTS)
def test_a_line_that_is_no_result_is_an_error_of_the_decoder_and_no_other(vendor: str, line: bytes) -> None:
    with pytest.raises((MsgspecError, UnicodeDecodeError)):
        api.result(group(vendor), line)


def test_results_in_pages() -> None:
    asked = Route("/x", {"limit": "2"}, method="GET")
    found, after = api.entries(b'{"results":[{"a":1},{"b":2}],"pagination_token":"t"}', asked)
    assert [bytes(each) for each in found] == [b'{"a":1}', b'{"b":2}']
    assert after is not None
    assert after.query == {"limit": "2", "pagination_token": "t"}
    assert api.entries(b'{"results":[],"pagination_token":"t"}', after) == ([], None)  # a page that leads to itself
    assert api.entries(b"{}", asked) == ([], None)


def test_every_dialect_names_a_format() -> None:
    assert all(
        isinstance(dialect, BatchDialect) and dialect.api and 0 < dialect.cost_factor < 1
        for dialect in DIALECTS.values()
    )
