"""`Bulk` and `AsyncBulk`: every row ends once, whatever it holds and whatever happens."""

from __future__ import annotations

import errno
import json
import os
import socket
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from llm_rest import (
    AsyncBulk,
    AuthenticationError,
    BudgetError,
    Bulk,
    BulkRow,
    CallCancelledError,
    Client,
    ConfigError,
    StoreError,
)
from llm_rest.bulk import engine
from llm_rest.bulk import journal as journals
from llm_rest.bulk.journal import SENT, Journal
from llm_rest.testing import FakeModel
from tests.bulk.conftest import Vendor, vendor_process

MODEL = "simulator/demo"


@pytest.fixture(scope="module")
def vendor() -> Iterator[Vendor]:
    with vendor_process() as found:
        yield found


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def answered(source: Any, model: Any = MODEL, **options: Any) -> list[BulkRow]:
    with Bulk(model, **options) as bulk:
        return sorted(bulk.run(source), key=lambda row: row.n)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- what a line may hold

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
CLAUDE = {"model": "c", "max_tokens": 99, **CHAT}
GEMINI = {"contents": [{"parts": [{"text": "hi"}]}]}
ROWS: dict[str, Any] = {
    "a batch line of Chat": {"custom_id": "a", "url": "/v1/chat/completions", "body": {"model": "g", **CHAT}},
    "a batch line of Responses": {"custom_id": "a", "url": "/v1/responses", "body": {"model": "g", "input": "hi"}},
    "a batch line of Anthropic": {"custom_id": "a", "method": "POST", "url": "/v1/messages", "body": CLAUDE},
    "Anthropic's own batch line": {"custom_id": "a", "params": CLAUDE},
    "a batch line of Ollama": {"custom_id": "a", "url": "/api/chat", "body": {"model": "q", **CHAT}},
    "a batch line of Gemini": {"custom_id": "a", "url": "/v1beta/models/g:generateContent", "body": GEMINI},
    "Gemini's own batch line": {"key": "a", "request": GEMINI},
    "a batch line without a url": {"custom_id": "a", "body": CHAT},
    "a batch line of a stream": {"custom_id": "a", "body": {**CHAT, "stream": True}},
    "a request": {"custom_id": "a", "input": "hi", "temperature": 0},
    "a request with items and a model": {"id": "a", "model": "simulator/x", "input": CHAT["messages"]},
}


@pytest.mark.parametrize("kind", ROWS)
def test_a_line_is_recognized_by_its_fields(kind: str, tmp_path: Path) -> None:
    (row,) = answered(write(tmp_path / "in", ROWS[kind]))
    assert (row.id, row.output_text, row.error) == ("a", "hi", None)


@pytest.mark.parametrize(
    ("line", "template", "text"),
    [
        ({"text": "hi", "more": [1]}, "tell {{text}} {{ more }}", "tell hi [1]"),
        ({"ask": CHAT["messages"]}, "{{ask}}", "hi"),
    ],
)
def test_a_template_makes_a_request_of_an_object(line: Any, template: str, text: str, tmp_path: Path) -> None:
    (row,) = answered(write(tmp_path / "in", line), template={"input": template})
    assert (row.id, row.output_text) == ("row-1", text)


TEMPLATE = {"template": {"input": "{{custom_id}} {{metadata}}"}}
NO_MODEL = {"llm": None}
HEADERS = {"input": "x", "extra_headers": {"a": "b"}}
BAD: list[tuple[Any, dict[str, Any], str]] = [
    ('{"input": "x"', {}, "line 2: is not JSON"),
    ('{"input": "\\ud800"}', {}, "line 2: is not JSON"),
    ([1], {}, "line 2: expected an OpenAI batch line"),
    ({"text": "x"}, {}, "line 2: expected an OpenAI batch line (custom_id, method, url, body) or"),
    ({"id": 7, "prompt": "x"}, {}, 'such as {"input": "Classify: {{text}}"}'),
    ({"custom_id": "first", "input": "x"}, {}, "line 2: custom_id: 'first' is the id of line 1 already"),
    ({"input": "x", "temprature": 0}, {}, "line 2: there is no option temprature (did you mean"),
    (HEADERS, {}, "line 2: there is no option extra_headers"),
    ({"input": "x", "temperature": "hot"}, {}, "line 2: temperature: "),
    ({"input": " "}, {}, "line 2: input is empty"),
    ({"url": "/v1/embeddings", "body": {"input": "x"}}, {}, "line 2: url: '/v1/embeddings'"),
    ({"body": {"messages": 5}}, {}, "line 2: body.messages: "),
    ({"body": {"x": 1}}, {}, "line 2: body: expected one of contents, input, messages, got x"),
    ({"custom_id": "b", "other": "x"}, TEMPLATE, "'metadata', and the row has custom_id, other"),
    ({"input": "x"}, NO_MODEL, "line 2: model: no model is given"),
    ({"input": "x", "model": "gpt"}, NO_MODEL, "line 2: model: 'gpt' names no vendor"),
]


@pytest.mark.parametrize(("bad", "options", "said"), BAD)
@pytest.mark.parametrize("openai", [False, True])
def test_a_bad_line_fails_with_its_line_and_field_and_the_others_are_answered(
    bad: Any, options: dict[str, Any], said: str, openai: bool, tmp_path: Path
) -> None:
    good = {"custom_id": "first", "input": "good", "metadata": {}, "model": MODEL}
    source, out = write(tmp_path / "in", good, bad, "", {**good, "custom_id": "last"}), tmp_path / "out"
    options = {"model": MODEL, "output_file": out, "openai_lines": openai, **options}
    first, failed, last = answered(source, options.pop("llm", options.pop("model")), **options)
    assert (bool(first), bool(failed), bool(last), failed.n) == (True, False, True, 2)
    assert said in str(failed.error)
    assert len(lines(out)) == 3


SEARCH = {"type": "file_search", "vector_store_ids": ["v"]}


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"input": "x", "previous_response_id": "r"}, "previous_response_id"),
        ({"input": "x", "tools": [SEARCH]}, "tools[0]"),
    ],
)
def test_a_row_that_the_vendor_cannot_take_is_refused_before_it_is_sent(line: Any, field: str, tmp_path: Path) -> None:
    with Client("anthropic/claude-haiku-4-5", api_key="k") as llm:
        (row,) = answered(write(tmp_path / "in", line), llm)
    assert isinstance(row.error, ConfigError)
    assert f"line 1: this request cannot be sent to anthropic: {field}: " in str(row.error)
    assert row.attempts == 0


# --- output


def test_the_output_has_one_line_per_row_in_the_order_of_the_input(tmp_path: Path) -> None:
    source = write(tmp_path / "in", *({"custom_id": f"c{n}", "input": f"q{n}"} for n in range(300)))
    for order in ("input", "arrival"):
        out = tmp_path / order
        answered(source, output_file=out, order=order)
        found = [line["custom_id"] for line in lines(out)]
        assert sorted(found, key=lambda name: int(name[1:])) == [f"c{n}" for n in range(300)]
        assert order == "arrival" or found == [f"c{n}" for n in range(300)]
    assert lines(out)[0].keys() == {"custom_id", "status", "output_text", "usage", "attempts"}


def test_lines_in_openais_format_hold_the_answer_in_the_format_of_the_row(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in",
        {"custom_id": "a", "url": "/v1/chat/completions", "body": CHAT},
        {"custom_id": "b", "input": "hi"},
        {"custom_id": "c", "input": "fail 400 no"},
    )
    out = tmp_path / "out"
    answered(source, output_file=out, openai_lines=True)
    chat, responses, failed = lines(out)
    assert chat["response"]["body"]["choices"][0]["message"]["content"] == "hi"
    assert responses["response"]["body"]["output"][0]["content"][0]["text"] == "hi"
    assert (failed["response"]["status_code"], failed["error"]) == (400, None)
    assert [line["custom_id"] for line in (chat, responses, failed)] == ["a", "b", "c"]


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def test_typed_output_is_in_the_line_and_in_the_row_also_after_a_resume(tmp_path: Path) -> None:
    for _ in range(2):
        (row,) = answered(['{"a": 7}'], output=SCHEMA, journal=tmp_path / "j")
        assert row.parsed == {"a": 1}, "as the simulator makes it"
        assert row.usage is not None
    answered(write(tmp_path / "in", {"input": '{"a": 8}'}), output=SCHEMA, output_file=tmp_path / "out", full=True)
    (line,) = lines(tmp_path / "out")
    assert (line["parsed"], line["response"]["status"]) == ({"a": 1}, "completed")


def test_equal_rows_are_sent_once(vendor: Vendor, tmp_path: Path) -> None:
    asked = [{"custom_id": f"c{n}", "input": f"equal {n % 3}"} for n in range(12)]
    with Client("compatible/m", **vendor.client) as llm:
        found = answered(write(tmp_path / "in", *asked), llm, dedupe=True, output_file=tmp_path / "out")
    assert [row.duplicate_of for row in found] == [None] * 3 + [f"c{n % 3}" for n in range(3, 12)]
    assert {name: count for name, count in vendor.asked().items() if "equal" in name} == {
        f"equal {n}": 1 for n in range(3)
    }
    assert [line["output_text"] for line in lines(tmp_path / "out")] == [f"EQUAL {n % 3}" for n in range(12)]


@pytest.mark.parametrize("openai", [False, True])
def test_duplicates_of_a_failed_row_fail_and_a_row_that_cannot_be_sent_stops_no_other(
    openai: bool, tmp_path: Path
) -> None:
    asked = [*[{"input": "fail 400 no"}] * 2, {"input": "x", "previous_response_id": "r"}, {"input": "y"}]
    found = answered(write(tmp_path / "in", *asked), dedupe=True, output_file=tmp_path / "out", openai_lines=openai)
    assert [bool(row) for row in found] == [False, False, False, True]
    assert found[1].duplicate_of == "row-1"


@pytest.mark.parametrize(("concurrency", "rows"), [(1, 4), (4, 8)])
def test_rows_with_a_common_prefix_are_sent_together_after_the_first_of_them(
    concurrency: int, rows: int, serve: Callable[..., Vendor], tmp_path: Path
) -> None:
    vendor = serve(latency=0.05)
    asked = [f"{'xy'[n % 2] * 5000} {n}" for n in range(rows)]
    with Client("compatible/m", **vendor.client) as llm:
        found = answered(asked, llm, group_by_prefix=True, concurrency=concurrency, journal=tmp_path / "j")
    assert [row.output_text for row in found] == [text.upper() for text in asked]
    sent = [text[0] + text.split()[1] for text in vendor.asked()]
    if concurrency == 1:
        assert sent in (["x0", "x2", "y1", "y3"], ["y1", "y3", "x0", "x2"]), "a group is sent before the next one"
    else:
        assert {*sent[:2]} == {"x0", "y1"}, "the others wait until the first of their group is answered"


# --- the journal


def test_the_same_run_again_sends_nothing_and_goes_on_where_a_limit_ended_it(vendor: Vendor, tmp_path: Path) -> None:
    source = write(tmp_path / "in", *({"input": f"once {n}"} for n in range(20)))
    out = tmp_path / "out"
    with Client("compatible/m", **vendor.client) as llm:
        for limit, expected in ((5, 5), (5, 0), (None, 15), (None, 0)):
            assert len(answered(source, llm, output_file=out, limit=limit)) == expected
        with source.open("a") as more:
            more.write('{"input": "once more"}\n')
        assert len(answered(source, llm, output_file=out)) == 1, "a file that grew has new rows"
    assert {count for name, count in vendor.asked().items() if name.startswith("once")} == {1}
    assert len(lines(out)) == 21


def test_rows_without_an_output_file_come_again_from_the_journal(tmp_path: Path) -> None:
    def asked() -> Iterator[str]:
        yield from ["a", "fail 400 no", "b"]

    first = answered(asked(), journal=tmp_path / "j")
    again = answered(asked(), journal=tmp_path / "j")
    assert [(row.id, row.output_text, row.usage) for row in again] == [(r.id, r.output_text, r.usage) for r in first]
    assert type(again[1].error) is type(first[1].error)
    assert str(again[1].error) == str(first[1].error)


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"temperature": 0.5}, "temperature is 0.5, and was not given"),
    ({"order": "arrival"}, 'order is "arrival", and was "input"'),
    ({"template": {"input": "{{input}}!"}}, "template is"),
    ({"llm": "simulator/other"}, 'model is "simulator/other", and was "simulator/demo"'),
]


@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_other_options_are_refused_with_the_difference(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    source, out = write(tmp_path / "in", {"input": "x"}), tmp_path / "out"
    answered(source, output_file=out)
    model, change = change.get("llm", MODEL), {k: v for k, v in change.items() if k != "llm"}
    with pytest.raises(ConfigError, match="belongs to another run") as raised:
        answered(source, model, output_file=out, **change)
    assert said in str(raised.value)
    assert answered(source, model, output_file=out, fresh=True, **change)
    assert len(lines(out)) == 1


def test_another_input_is_refused(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in", {"input": "x"}, {"input": "y"}), tmp_path / "out"
    answered(source, output_file=out)
    write(source, {"input": "x"}, {"input": "z"})
    with pytest.raises(ConfigError, match="digest is"):
        answered(source, output_file=out)
    write(source, {"input": "x"})
    with pytest.raises(ConfigError, match="size is"):
        answered(source, output_file=out)
    answered(["x", "y"], journal=tmp_path / "j")
    with pytest.raises(ConfigError, match="row 2 of the input is not what it was"):
        answered(["x", "z"], journal=tmp_path / "j")
    with pytest.raises(ConfigError, match="fewer entries than"):
        answered(["x"], journal=tmp_path / "j")


def test_an_output_that_belongs_to_another_run_stays_as_it_is(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in", {"input": "x"}), tmp_path / "out"
    out.write_text("mine\n")
    with pytest.raises(ConfigError, match=f"the output {out} is not empty and belongs to no run of this journal"):
        answered(source, output_file=out)
    assert out.read_text() == "mine\n"


def test_an_output_is_cut_to_what_was_recorded_and_rebuilt_where_it_is_shorter(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in", {"input": "x"}, {"input": "y"}), tmp_path / "out"
    answered(source, output_file=out, keep_outputs=True)
    written = out.read_bytes()
    out.write_bytes(written + b'{"custom_id": "half a li')
    answered(source, output_file=out, keep_outputs=True)
    assert out.read_bytes() == written
    out.write_bytes(written[:10])
    with pytest.raises(StoreError, match="put the file back or start over") as raised:
        answered(source, output_file=out, keep_outputs=True)
    assert raised.value.reason == "damaged"
    with closing(Journal(f"{out}.journal", readonly=True)) as journal:
        assert b"".join(line + b"\n" for line in journal.lines()) == written


def test_a_second_process_is_refused_and_a_dead_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j"
    with closing(Journal(path)):
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()}") as raised:
            Journal(path)
        assert raised.value.reason == "locked"
        with pytest.raises(StoreError):
            Journal(path, fresh=True)
        monkeypatch.setattr(journals, "_PROCESS", "a container of one process, started again")
        with closing(Journal(path)) as second:
            assert second.in_use()


def test_a_fresh_run_replaces_a_journal_and_never_another_database(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with closing(Journal(path)), closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM run")  # as a kill leaves it that comes before the first row
    assert answered(["a"], journal=path, fresh=True)
    other = tmp_path / "other"
    with closing(sqlite3.connect(other)) as db, db:
        db.execute("CREATE TABLE mine (x)")
    with pytest.raises(StoreError, match="another program"):
        answered(["a"], journal=other, fresh=True)
    assert other.exists()


def test_a_process_whose_lease_was_taken_writes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Journal(tmp_path / "j")
    monkeypatch.setattr(journals, "LEASE_SECONDS", -1.0)
    second = Journal(tmp_path / "j")
    first.add(1, None, offset=0, digest=b"x", state=SENT)
    with pytest.raises(StoreError, match="taken over"):
        first.commit()
    first.close()
    assert [*second.rows(0, unfinished=False)] == []
    second.close()


def test_a_run_renews_its_lease_while_it_waits_for_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(journals, "_RENEW_SECONDS", 0.05)
    leases: set[float] = set()

    def slow(_: object) -> str:
        until = time.monotonic() + 10
        while len(leases) < 3 and time.monotonic() < until:
            with closing(sqlite3.connect(tmp_path / "j")) as db:
                leases.update(*db.execute("SELECT lease_time FROM run"))
        return "late"

    with FakeModel(slow).client() as llm:
        (row,) = answered(["a"], llm, journal=tmp_path / "j")
    assert (row.output_text, len(leases)) == ("late", 3)


def killed(source: Path, out: Path, rows: int) -> None:
    """Leave a run as a kill leaves it whose last rows were in flight."""
    with Bulk(MODEL, output_file=out, limit=rows) as bulk:
        list(bulk.run(source))
    with closing(sqlite3.connect(f"{out}.journal")) as db, db:
        db.execute("UPDATE row SET state=?, finished=NULL WHERE n > ?", (SENT, rows - 2))
        db.execute("UPDATE run SET position=json_set(position, '$.written', 0, '$.next', 1, '$.totals', json('{}'))")
        db.execute("UPDATE row SET output=NULL")
        db.execute("DELETE FROM row WHERE n <= ?", (rows - 2,))
    out.write_text("")


@pytest.mark.parametrize("once", [False, True])
def test_rows_in_flight_at_a_crash_are_sent_again_or_fail(once: bool, tmp_path: Path) -> None:
    source, out = write(tmp_path / "in", *({"input": f"q{n}"} for n in range(5))), tmp_path / "out"
    killed(source, out, 5)
    with Bulk(MODEL, output_file=out, at_most_once=once) as bulk:
        found = list(bulk.run(source))
        assert bulk.status.repeated == (0 if once else 2)
    assert [bool(row) for row in found] == [not once] * 2
    if once:
        assert all(isinstance(row.error, CallCancelledError) for row in found)


def test_failed_rows_are_sent_again_on_demand_and_take_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for order in ("input", "arrival"):
        source = write(tmp_path / "in", {"input": "a"}, {"input": "fail 500 x"}, {"input": "b"}, {"input": "c"})
        out = tmp_path / order
        answered(source, output_file=out, order=order, retry=1)
        assert [line["status"] for line in lines(out)].count("failed") == 1
        failed = answered(source, output_file=out, order=order, retry=1, retry_failed=True)
        assert [row.n for row in failed] == [2]
        found = lines(out)
        assert sorted(line["custom_id"] for line in found) == [f"row-{n}" for n in range(1, 5)]
        assert order == "arrival" or [line["custom_id"] for line in found] == [f"row-{n}" for n in range(1, 5)]


@pytest.mark.parametrize(
    ("call", "code", "reason"), [("pwrite", errno.ENOSPC, "full"), ("open", errno.EACCES, "read_only")]
)
def test_a_run_that_the_disk_ends_goes_on_later(
    call: str, code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = write(tmp_path / "in", *({"input": f"q{n}"} for n in range(40))), tmp_path / "out"

    def fails(*_: Any) -> int:
        raise OSError(code, "as an operating system says it", str(out))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fails)
        with pytest.raises(StoreError) as raised:
            answered(source, output_file=out)
    assert raised.value.reason == reason
    answered(source, output_file=out)
    assert [line["output_text"] for line in lines(out)] == [f"q{n}" for n in range(40)]


# --- when a run stops


GOOD = [f"good {n}" for n in range(10)]


def test_rows_that_fail_alike_from_the_first_or_a_key_that_is_refused_stop_the_run(
    vendor: Vendor, tmp_path: Path
) -> None:
    with Client("compatible/m", **vendor.client, retry=1) as llm:
        refused = [f"refuse 401 {n}" for n in range(1000)]
        with Bulk(llm, journal=tmp_path / "j", concurrency=4) as bulk:
            with pytest.raises(AuthenticationError, match="20 rows in succession") as raised:
                list(bulk.run(refused))
        assert "retry_failed" in str(raised.value)
        assert bulk.status.failed < 30
        with Bulk(llm, concurrency=1) as bulk, pytest.raises(AuthenticationError):
            list(bulk.run([*GOOD, *refused]))
        asked = [*GOOD, *(f"refuse 400 {n}" for n in range(50)), "last"]
        with Bulk(llm, concurrency=1) as bulk:
            assert len(list(bulk.run(asked))) == 61, "bad rows stop nothing after good ones"


@pytest.mark.parametrize("most", [3, 0.05])
def test_too_many_failures_stop_the_run(most: float, vendor: Vendor) -> None:
    asked = [f"refuse 400 {n}" if n % 4 == 0 else f"fine {n}" for n in range(2000)]
    with Client("compatible/m", **vendor.client, retry=1) as llm:
        with Bulk(llm, concurrency=2, max_failures=most) as bulk, pytest.raises(Exception, match="max_failures"):
            list(bulk.run(asked))
        assert bulk.status.failed < 30


def test_an_input_that_raises_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield from ["a", "b"]
        raise LookupError("gone")

    with pytest.raises(LookupError):
        answered(broken(), journal=tmp_path / "j")
    assert [row.output_text for row in answered(["a", "b", "c"], journal=tmp_path / "j")] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"order": "none"}, "order"),
        ({"template": {"input": "x"}}, "no {{field}}"),
        ({"dedupe": True}, "dedupe needs a journal"),
        ({"temprature": 1}, "temprature"),
        ({"temperature": "hot"}, "temperature"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_read(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said), Bulk(MODEL, **options) as bulk:
        list(bulk.run([]))
    with pytest.raises(ConfigError, match="cannot read"), Bulk(MODEL) as bulk:
        bulk.run(Path("there-is-none"))


# --- threads and tasks, with and without a journal


async def gathered(rows: AsyncIterator[BulkRow], most: int) -> list[str | None]:
    found: list[BulkRow] = []
    async for row in rows:
        found.append(row)
        if len(found) == most:
            break
    return [row.output_text for row in sorted(found, key=lambda row: row.n)]


@pytest.mark.parametrize("backend", ["asyncio", "trio", None])
def test_leaving_a_run_early_keeps_what_is_finished(backend: str | None, tmp_path: Path) -> None:
    asked, options = [f"q{n}" for n in range(200)], {"journal": tmp_path / "j", "concurrency": 4}

    async def main() -> None:
        for most in (20, 1000):
            async with AsyncBulk(MODEL, **options) as bulk:
                found = await gathered(bulk.run(asked), most)
        assert found == asked
        with pytest.raises(ConfigError, match="async with"):
            await gathered(AsyncBulk(MODEL).run(asked), 1)

    if backend:
        anyio.run(main, backend=backend)
        return
    with Bulk(MODEL, **options) as bulk:
        for row in bulk.run(asked):
            if row.n == 20:
                break
    assert [row.output_text for row in answered(asked, journal=tmp_path / "j")] == asked


@pytest.mark.anyio
async def test_map_keeps_the_order_and_puts_errors_in_their_places(new_client: Callable[..., Any]) -> None:
    async with new_client(MODEL) as llm:
        seen: list[Any] = []
        found = await llm.map(["a", "fail 400 no", "", "d"], progress=lambda *counts: seen.append(counts))
        assert [one.output_text if one else one.error.kind for one in found] == ["a", "bad_request", "config", "d"]
        assert seen[-1] == (4, 4)
        assert "row 3: input is empty" in found[2].description
        found = await llm.map(iter(['{"a": 1}', '{"a": 2}']), output=SCHEMA, concurrency=1)
        assert [one.parsed.keys() for one in found] == [{"a"}] * 2
        with pytest.raises(ConfigError):
            await llm.map(["a"], temprature=1)
        with pytest.raises(ConfigError, match="put it into a list"):
            await llm.map("one prompt")


@pytest.mark.anyio
async def test_map_raises_what_its_prompts_and_its_progress_raise(new_client: Callable[..., Any]) -> None:
    def prompts() -> Iterator[str]:
        yield "say a"
        raise ValueError("no more prompts")

    def progress(done: int, total: int | None) -> None:
        raise ValueError("no progress")

    async with new_client(MODEL) as llm:
        with pytest.raises(ValueError, match="no more prompts"):
            await llm.map(prompts(), concurrency=2)
        with pytest.raises(ValueError, match="no progress"):
            await llm.map(["a", "b", "c"], progress=progress)
        assert [one.output_text for one in await llm.map(["say still here"])] == ["still here"]


@pytest.mark.anyio
async def test_map_raises_where_its_rows_in_flight_are_cancelled(new_client: Callable[..., Any]) -> None:
    def prompts() -> Iterator[str]:
        yield "first"
        raise ValueError("no more prompts")

    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = {"base_url": f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "api_key": "k"}
        async with new_client("compatible/m", **options) as llm:
            with pytest.raises(ValueError, match="no more prompts"):
                await llm.map(prompts(), concurrency=2)
            timer = threading.Timer(0.2, getattr(llm, "_inner", llm).cancel)
            timer.start()
            with pytest.raises(CallCancelledError):
                await llm.map(["say a"] * 3)
            timer.join()


@pytest.mark.parametrize("journal", [False, True])
def test_max_cost_stops_a_run_and_every_row_is_counted(journal: bool, tmp_path: Path) -> None:
    price = {"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": 1000, "output_mtok": 1000}}
    (tmp_path / "prices.json").write_text(json.dumps([{"id": "simulator", "models": [price]}]))
    options: dict[str, Any] = {"journal": tmp_path / "j"} if journal else {}
    rows: list[BulkRow] = []
    with (
        Client("simulator/m", prices=str(tmp_path / "prices.json")) as llm,
        Bulk(llm, max_cost=0.01, concurrency=1, **options) as bulk,
    ):
        with pytest.raises(BudgetError, match=r"max_cost: the run has cost \$0\.01") as stopped:
            rows.extend(bulk.run(f"say row {i}" for i in range(50)))
        assert bulk.status.cost_nano == sum(row.cost or 0 for row in rows) == stopped.value.spent
        assert (bulk.status.attempts, stopped.value.limit_name, stopped.value.limit) == (len(rows), "usd", 10_000_000)
        usage = [row.usage for row in rows if row.usage is not None]
        assert bulk.status.input_tokens == sum(one.input_tokens for one in usage) > 0
        assert bulk.status.output_tokens == sum(one.output_tokens for one in usage) > 0
    assert 1 <= len(rows) < 5
