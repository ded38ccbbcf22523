"""Runs through batches, at a vendor of each format that loses, delays, reorders, expires and repeats."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from llm_rest import AsyncClient, Client, errors
from llm_rest.bulk import batches, modes, vendor_run
from llm_rest.bulk.dialects import DIALECTS
from llm_rest.bulk.run import AsyncBulk, Bulk
from llm_rest.cli import main

from .batch_vendor import Faults, Vendor
from .test_faults import kill

MODELS = {
    "openai": "openai/gpt-x",
    "openrouter": "openrouter/a/b",
    "anthropic": "anthropic/claude-x",
    "google": "google/gemini-x",
    "mistral": "mistral/m-x",
    "xai": "xai/grok-x",
    "together": "together/t-x",
}
NAMES = [*MODELS]
ROWS = 60
KEY = "sk-secret-0123456789"


def vendor_of(name: str, faults: Faults | None = None) -> Vendor:
    return Vendor("openai" if name == "together" else name, faults)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor_run, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(vendor_run, "POLL_MOST_SECONDS", 0.05)
    monkeypatch.setattr(batches, "LOOKS", (0.0, 0.01, 0.02))


def rows_in(path: Path, count: int = ROWS) -> Path:
    path.write_text("".join(json.dumps({"custom_id": f"id-{i}", "input": f"row {i} é😀"}) + "\n" for i in range(count)))
    return path


def run(
    name: str, vendor: Vendor, folder: Path, *, sync: bool = True, most: int | None = None, **options: Any
) -> list[Any]:
    """The rows of a run, or the first of them: then it is left, as by a process that dies."""
    source = rows_in(folder / "in.jsonl")
    options = {"mode": "vendor", "output_file": folder / "out.jsonl", "retry": 1, **options}
    keys: dict[str, Any] = {"base_url": vendor.url, "api_key": KEY}
    found: list[Any] = []
    if sync:
        with Client(MODELS[name], **keys) as client, Bulk(client, **options) as bulk:
            for row in bulk.run(source):
                found.append(row)
                if len(found) == most:
                    break
        return found

    async def work() -> None:
        async with AsyncClient(MODELS[name], **keys) as client, AsyncBulk(client, **options) as bulk:
            async for row in bulk.run(source):
                found.append(row)

    anyio.run(work)
    return found


def output(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def fate(text: str, times: int) -> str:
    """What a request of a hostile vendor comes to: two in three have a first end that is not the last."""
    number = int(text.split()[1])
    if number % 11 == 5:
        return "400"
    return ("missing", "expired", "429", "500", "succeeded", "succeeded")[number % 6] if times == 1 else "succeeded"


def texts(folder: Path) -> list[str]:
    return [each["output_text"] for each in output(folder)]


ANSWERS = [f"row {i} é😀" for i in range(ROWS)]
HOSTILE = {"upload_lost": 1, "create_lost": 1, "lists_behind": 1, "polls": 2, "results_cut": 1, "chatter": True}
FAULTS: dict[str, dict[str, int]] = {
    "sync": HOSTILE,
    "async": HOSTILE,
    "created with an error": {"create_broken": 1},
    "created with an error and listed late": {"create_broken": 1, "lists_behind": 2},
    "not created at first": {"create_failed": 1},
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_answered_once(name: str, kind: str, tmp_path: Path) -> None:
    faults: Any = FAULTS[kind]
    with vendor_of(name, Faults(fate=fate, **faults)) as vendor:
        run(name, vendor, tmp_path, sync=kind != "async")
        found = output(tmp_path)
        assert [each["custom_id"] for each in found] == [f"id-{i}" for i in range(ROWS)]
        for i, each in enumerate(found):
            if i % 11 == 5:
                assert (each["error"]["kind"], each["error"]["status"]) == ("bad_request", 400)
            else:
                assert (each["status"], each["output_text"]) == ("completed", ANSWERS[i])
        assert set(vendor.answered.values()) == {1}
        assert max(vendor.came.values()) == 2
        assert len(vendor.batches) == 2
        assert not [file for file in vendor.files if "out" not in file], "input files are deleted"
        assert len(vendor.names) in (0, 2), "none is uploaded twice"
        # The key travels in its header, and nowhere else.
        assert all(KEY in str(headers) for headers in vendor.headers)
        assert KEY.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("fault", ["create_refused", "create_limited", "create_failed"])
@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_batch_that_cannot_be_created_is_created_later_or_ends_the_run(name: str, fault: str, tmp_path: Path) -> None:
    faults: dict[str, Any] = {fault: 4}
    with vendor_of(name, Faults(**faults)) as vendor:
        if fault == "create_refused":
            with pytest.raises(errors.BadRequestError):
                run(name, vendor, tmp_path)
        else:
            run(name, vendor, tmp_path)
            assert texts(tmp_path) == ANSWERS
        tries = [line for line in vendor.log if line.startswith("POST") and line.endswith("batches")]
        assert (len(tries), len(vendor.batches)) == ((1, 0) if fault == "create_refused" else (5, 1))


def test_the_key_goes_to_no_other_origin(tmp_path: Path) -> None:
    with vendor_of("google", Faults(upload_elsewhere=9)) as vendor:
        with pytest.raises(errors.ProtocolError, match=r"wants the upload at elsewhere\.example"):
            run("google", vendor, tmp_path)
        assert "batchGenerateContent" not in str(vendor.log)


@pytest.mark.parametrize("name", ["openai", "anthropic", "google"])
def test_rows_are_split_at_the_limits(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DIALECTS, name, replace(DIALECTS[name], max_requests=25))
    with vendor_of(name) as vendor:
        run(name, vendor, tmp_path)
        assert sorted(len(batch.requests) for batch in vendor.batches) == [10, 25, 25]
        assert all(each["status"] == "completed" for each in output(tmp_path))


@pytest.mark.parametrize(
    ("variants", "per_million"), [([], 2), ([{"when": {"processing": "batch"}, "prices": {"input_mtok": 1}}], 1)]
)
def test_a_row_costs_the_batch_price(variants: list[Any], per_million: int, tmp_path: Path) -> None:
    """Half the usual price where the price file has no batch prices."""
    usual = {"input_mtok": 4, "output_mtok": 0}
    model = {"id": "gpt-x", "match": {"equals": "gpt-x"}, "prices": usual, "price_variants": variants}
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"date": "2026-11-01", "providers": [{"id": "openai", "models": [model]}]}))
    with vendor_of("openai") as vendor:
        run("openai", vendor, tmp_path, prices=str(prices))
    for each in output(tmp_path):
        assert each["cost"] == each["usage"]["input_tokens"] * per_million * 1000 > 0


@pytest.mark.parametrize("ended_as", ["expired", "failed", "cancelled"])
def test_batches_that_end_otherwise(ended_as: str, tmp_path: Path) -> None:
    """What an expired batch did not run goes into another one; so does what a failed one does not name; a cancelled one ends."""
    faults = Faults(ended_as=lambda number: ended_as if number == 1 else "completed", line_errors=(2, 40))
    with vendor_of("openai", faults) as vendor:
        run("openai", vendor, tmp_path)
        found = output(tmp_path)
        kinds = Counter(each.get("error", {}).get("kind") for each in found)
        if ended_as == "expired":
            assert kinds == {None: ROWS}
            assert 0 < len(vendor.batches[1].requests) < ROWS
        elif ended_as == "failed":
            assert kinds == {None: ROWS - 2, "bad_request": 2}
            assert [i for i, each in enumerate(found) if each.get("error")] == [1, 39]
            assert "bad line" in found[1]["error"]["message"]
        else:
            assert set(kinds) == {None, "call_cancelled"}
        assert set(vendor.answered.values()) == {1}


def test_a_row_is_submitted_three_times_and_no_more(tmp_path: Path) -> None:
    with vendor_of(
        "openai", Faults(fate=lambda text, _: "missing" if text.startswith("row 7 ") else "succeeded")
    ) as vendor:
        run("openai", vendor, tmp_path)
        assert [len(batch.requests) for batch in vendor.batches] == [ROWS, 1, 1]
        assert output(tmp_path)[7]["error"]["message"] == "the batch batch/3 has no result for the request"


def test_requests_that_no_batch_takes_fail_alone(tmp_path: Path) -> None:
    source = rows_in(tmp_path / "in.jsonl", 3)
    with source.open("a") as file:
        file.write('{"custom_id":"fast","input":"x","service_tier":"fast"}\n')
    with vendor_of("anthropic") as vendor, Client("anthropic/claude-x", base_url=vendor.url, api_key="k") as client:
        with Bulk(client, mode="vendor", output_file=tmp_path / "out.jsonl") as bulk:
            found = {row.id: row for row in bulk.run(source)}
        assert found["fast"].error is not None
        assert "service_tier" in str(found["fast"].error)
        assert len(vendor.batches[0].requests) == 3


class Stop(Exception):
    """The process dies here."""


DEATHS: dict[str, tuple[str, bool]] = {
    "before the upload": ("upload", False),
    "after the upload": ("upload", True),
    "before the batch is created": ("create", False),
    "after the batch was created": ("create", True),
    "running": ("poll", True),
    "in the results": ("", False),
}
"""The request where a process dies, and whether that is after it."""


@pytest.mark.sample(4)
@pytest.mark.parametrize("at", DEATHS)
@pytest.mark.parametrize("name", ["openai", "anthropic", "google", "xai"])
def test_another_process_continues(name: str, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, after = DEATHS[at]
    if name == "anthropic" and method == "upload":
        pytest.skip("requests are in the body that creates a batch")
    real: Any = getattr(vendor_run.VendorBatches, method, None)

    async def dies(*arguments: Any) -> Any:
        if after:
            await real(*arguments)
        raise Stop

    faults = Faults(polls=2, fate=lambda text, times: "500" if times == 1 and "3" in text else "succeeded")
    with vendor_of(name, faults) as vendor:
        if not method:
            assert len(run(name, vendor, tmp_path, most=5)) == 5
        else:
            with monkeypatch.context() as patch:
                patch.setattr(vendor_run.VendorBatches, method, dies)
                with pytest.raises(Stop):
                    run(name, vendor, tmp_path)
        run(name, vendor, tmp_path)
        assert texts(tmp_path) == ANSWERS
        assert set(vendor.answered.values()) == {1}
        assert len(vendor.batches) == 2
        assert len(vendor.names) == (0 if name == "anthropic" else 2), "none is uploaded twice"


def test_the_mode_of_a_run_with_batches_is_not_changed_and_neither_is_the_key(tmp_path: Path) -> None:
    with vendor_of("openai", Faults(polls=10**6)) as vendor:
        source = rows_in(tmp_path / "in.jsonl")

        def begin(mode: Any, key: str) -> None:
            options: dict[str, Any] = {"output_file": tmp_path / "out.jsonl", "progress": lambda _: stop(bulk, vendor)}
            with (
                Client("openai/gpt-x", base_url=vendor.url, api_key=key) as llm,
                Bulk(llm, mode=mode, **options) as bulk,
            ):
                list(bulk.run(source))

        begin("vendor", "sk-one")
        with pytest.raises(errors.ConfigError, match="1 batches of this run are at their vendor"):
            begin("live", "sk-one")
        with pytest.raises(errors.ConfigError, match="created with other credentials"):
            begin("vendor", "sk-two")
        assert len(vendor.batches) == 1
        assert b"sk-one" not in (tmp_path / "out.jsonl.journal").read_bytes()


def stop(bulk: Bulk, vendor: Vendor) -> None:
    """Leave the run as soon as the vendor works on it."""
    if vendor.batches or vendor.background:
        bulk.stop()


def test_a_wrong_key_stops_the_run_before_a_row_is_lost(tmp_path: Path) -> None:
    with vendor_of("openai", Faults(create_refused=0)) as vendor:
        vendor.unauthorized = True
        with pytest.raises(errors.LLMError, match="wrong key"):
            run("openai", vendor, tmp_path)
        assert output(tmp_path) == []
        vendor.unauthorized = False
        rows = run("openai", vendor, tmp_path, at_most_once=True)
        assert all(row.error is None for row in rows)
        assert len(output(tmp_path)) == ROWS


@pytest.mark.parametrize(("rows", "mode"), [(1_001, "vendor"), (1_000, "live")])
def test_auto_goes_through_batches_above_a_thousand_rows(rows: int, mode: str, tmp_path: Path) -> None:
    with vendor_of("openai") as vendor, Client("openai/gpt-x", base_url=vendor.url, api_key="k", retry=1) as client:
        source = rows_in(tmp_path / "in.jsonl", rows)
        with Bulk(client, mode="auto", output_file=tmp_path / "out.jsonl", limit=20) as bulk:
            try:
                list(bulk.run(source))
            except errors.LLMError:
                assert mode == "live"
        assert bool(vendor.batches) is (mode == "vendor")


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_background_responses_in_progress_are_polled_by_another_process_and_not_created_again(
    sync: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modes, "POLL_SECONDS", 0.01)
    with vendor_of("openai") as vendor:
        options: dict[str, Any] = {"mode": "background", "concurrency": 8, "completion_window": "2h"}
        monkeypatch.setattr(vendor, "completes", False)
        with Client(MODELS["openai"], base_url=vendor.url, api_key="k") as client:
            bulk = Bulk(client, output_file=tmp_path / "out.jsonl", progress=lambda _: stop(bulk, vendor), **options)
            assert list(bulk.run(rows_in(tmp_path / "in.jsonl"))) == []
        assert 8 <= len(vendor.background) < ROWS
        with pytest.raises(
            errors.ConfigError, match=r"line \d+ is the background response resp_\d+, which is in progress"
        ):
            run("openai", vendor, tmp_path)
        vendor.completes = True
        run("openai", vendor, tmp_path, sync=sync, at_most_once=True, **options)
        assert texts(tmp_path) == ANSWERS
        assert len(vendor.background) == ROWS
        assert {str(body["background_options"]) for body in vendor.background} == {"{'completion_window': '2h'}"}


WINDOW = {"completion_window": "3h"}


@pytest.mark.parametrize(
    ("model", "mode", "options", "message"),
    [
        (["simulator/a", "simulator/b"], "vendor", {}, "a fallback is for mode='live'"),
        ("simulator/a", "batch", {}, "mode is live, background, vendor or auto, not 'batch'"),
        ("simulator/a", "vendor", {}, "simulator has no batch API that this library uses"),
        ("openai/a", "background", WINDOW, "completion_window is 2h or 8h, not '3h'"),
        ("anthropic/a", "background", {}, "anthropic has no completion windows"),
    ],
)
def test_modes_that_a_model_does_not_have_are_refused(
    model: Any, mode: Any, options: Any, message: str, tmp_path: Path
) -> None:
    key: dict[str, Any] = {} if "simulator" in str(model) else {"api_key": "k"}
    with Client(model, **key) as llm:
        with Bulk(llm, mode=mode, journal=tmp_path / "journal", max_failures=0, **options) as bulk:
            with pytest.raises(errors.ConfigError, match=message):
                list(bulk.run(["a"]))


@pytest.mark.parametrize("name", ["openai", "anthropic", "google", "mistral", "xai", "openrouter"])
def test_the_command_cancels_batches_and_collects_what_ran(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"{name.replace('google', 'gemini').upper()}_API_KEY", KEY)
    source, out, can = rows_in(tmp_path / "in.jsonl"), tmp_path / "out.jsonl", name != "openrouter"

    async def refused(self: Any, batch: Any) -> Any:
        raise errors.PermissionDeniedError("no more")

    with vendor_of(name, Faults(polls=10**6 if can else 1)) as vendor:
        at = ["--base-url", vendor.url]
        command = ["batch", str(source), "-o", str(out), "-m", MODELS[name], "--mode", "vendor", *at]
        with monkeypatch.context() as patch:
            patch.setattr(vendor_run.VendorBatches, "poll", refused)
            assert main(command) == 1
        assert main(["batch", "cancel", f"{out}.journal", *at]) == (0 if can else 1)
        assert f"{int(can)} of 1 batches cancelled" in capsys.readouterr().out
        assert main(command) == (3 if can else 0)
        kinds = {each.get("error", {}).get("kind") for each in output(tmp_path)}
        assert kinds == ({None, "call_cancelled"} if can else {None})
        assert set(vendor.answered.values()) == {1}


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_killed_process_repeats_nothing(name: str, tmp_path: Path) -> None:
    """Whenever it was killed, the requests of all batches together are those of an undisturbed run."""
    faults = Faults(polls=12, fate=lambda text, times: "500" if times == 1 and "3" in text else "succeeded")
    with vendor_of(name, faults) as vendor:
        vendor.delay = 0.02
        code, killed, _, finished = kill("vendor", MODELS[name], vendor.url, tmp_path, ROWS, 6)
        assert (code, finished, killed > 0) == (0, ROWS, True)
        assert texts(tmp_path) == [f"row {n}" for n in range(1, ROWS + 1)]
        assert set(vendor.answered.values()) == {1}
        assert len(vendor.batches) == 3, "of the first run, and two"


def test_typed_output_is_read_from_results(tmp_path: Path) -> None:
    with vendor_of("openai") as vendor:
        found = run("openai", vendor, tmp_path, output=list[int])
        assert all(isinstance(row.parsed, list) for row in found)
        assert vendor.batches[0].requests[0][1]["text"]["format"]["type"] == "json_schema"
