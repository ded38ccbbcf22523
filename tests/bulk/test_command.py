"""`llm-rest batch`: files, stdin, exit codes, signals, and the journal's commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm_rest.cli import main
from tests.bulk.conftest import Vendor

SIMULATED = ["-m", "simulator/demo"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*rows: Any) -> None:
    Path("in.jsonl").write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))


def batch(*options: str) -> int:
    return main(["batch", "in.jsonl", "-o", "out.jsonl", *SIMULATED, *options])


def lines() -> list[Any]:
    return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]


def test_a_file_becomes_a_file_and_the_same_command_again_sends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write({"text": "one"}, {"text": "two"})
    options = ["--template", '{"input": "tell {{text}}"}', "--system", "Be brief.", "--option", "temperature=0"]
    assert batch(*options, "--limit", "1") == 0
    assert batch(*options) == 0
    assert [line["output_text"] for line in lines()] == ["tell one", "tell two"]
    assert "1 done, 0 failed" in capsys.readouterr().err
    assert batch(*options) == 0
    assert "2 done, 0 failed" in capsys.readouterr().err
    assert batch("--system", "Be long.") == 2
    assert 'instructions is "Be long.", and was "Be brief."' in capsys.readouterr().err


def test_some_failed_rows_are_exit_code_3_and_all_of_the_first_are_4(capsys: pytest.CaptureFixture[str]) -> None:
    write({"input": "a"}, "no json", {"input": "b"})
    assert batch("--json") == 3
    assert json.loads(capsys.readouterr().err.splitlines()[0])["failed"] == 1
    write(*({"inptu": "a"} for _ in range(100)))
    assert batch("--fresh") == 4
    said = capsys.readouterr().err
    assert "stopped: line 20: expected an OpenAI batch line" in said
    assert "to go on: llm-rest" in said


def test_status_and_export_read_a_journal(capsys: pytest.CaptureFixture[str]) -> None:
    write({"input": "a"}, {"input": "b"})
    assert batch("--keep-outputs") == 0
    capsys.readouterr()
    assert main(["batch", "status", "out.jsonl"]) == main(["batch", "status", "out.jsonl.journal"]) == 0
    assert "2 done, 0 failed, in 2 out 2 tokens; 0 in flight; not running" in capsys.readouterr().out
    assert main(["batch", "status", "out.jsonl.journal", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] == 2
    assert main(["batch", "export", "out.jsonl.journal", "-o", "again.jsonl"]) == 0
    assert Path("again.jsonl").read_bytes() == Path("out.jsonl").read_bytes()
    assert main(["batch", "export", "out.jsonl.journal", "-o", "again.jsonl"]) == 2
    assert main(["batch", "status", "none.journal"]) == 1
    assert main(["batch", "status"]) == 2
    assert main(["batch", "in.jsonl"]) == 2


def test_a_dry_run_counts_and_sends_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    row = {"input": "equal", "top_k": 3}
    write(row, row, "no json", {"input": "other"})
    options = ["-m", "openai/gpt-4o", "--dry-run"]
    assert main(["batch", "in.jsonl", *options]) == 3
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "4 rows, 1 invalid, 1 duplicates, about 6 input and 0 output tokens",
        "cost not known: no price file is named (--option prices=FILE), or it has no price for a model",
        "time not known: no rate limit is given (--rpm, --tpm) or was learned yet (run some rows with --limit)",
        "nothing was sent",
    ]
    assert "line 3: is not JSON" in told.err
    assert "2 x top_k" in told.err
    assert not Path("out.jsonl").exists()


PRICES = {
    "id": "openai",
    "models": [{"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": 1e6, "output_mtok": 2e6}}],
}
MOST = ["--option", "max_output_tokens=10"]
DRY_RUNS = {
    "the input alone": ([], "about $30.00 for the input alone", "time not known"),
    "the most that the rows allow": (MOST, "about $230.00", "time not known"),
    "batches": ([*MOST, "--mode", "vendor"], "about $115.00", "24 h 0 min or less in batches"),
    "a window": (["--mode", "background", "--completion-window", "2h"], "about $21.00 for", "time not"),
    "a limit of requests": (["--rpm", "2"], "about $30.00 for", "5 min or more at 2 requests per minute"),
    "a limit of tokens": (["--rpm", "2", "--tpm", "0.1"], "about", "5 h 0 min or more at 0.1 tokens per minute"),
    "no duplicates": (["-o", "o", "--dedupe", "--rpm", "1"], "about $3.00 for", "1 min or more at 1 requests"),
}


@pytest.mark.parametrize("kind", DRY_RUNS)
def test_a_dry_run_shows_cost_and_time(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    Path("prices.json").write_text(json.dumps({"providers": [PRICES]}))
    write(*[{"input": "three tokens"}] * 10)
    options, cost, took = DRY_RUNS[kind]
    assert main(["batch", "in.jsonl", "-m", "openai/m", "--dry-run", "--option", "prices=prices.json", *options]) == 0
    found = capsys.readouterr().out.splitlines()
    assert found[1].startswith(cost)
    assert found[2].startswith(took)


def test_a_dry_run_knows_what_the_rows_so_far_took_and_their_limits(
    serve: Callable[..., Vendor], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPATIBLE_API_KEY", "x")
    vendor = serve(rpm=600, tpm=6000)
    write(*({"input": f"row {n}"} for n in range(100)))
    command = ["batch", "in.jsonl", "-o", "out.jsonl", "-m", "compatible/m", "--base-url", vendor.client["base_url"]]
    assert main([*command, "--limit", "2"]) == 0
    capsys.readouterr()
    assert main([*command, "--dry-run"]) == 0
    found = capsys.readouterr().out.splitlines()
    assert found[0] == "100 rows, 0 invalid, 0 duplicates, about 200 input and 500 output tokens"
    assert found[2] == "10 s or more at 600 requests per minute"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--template", "{no"], "--template is not JSON"),
        (["--template", "none.json"], "--template none.json"),
        (["--template", '{"input": "x"}'], "no {{field}}"),
        (["--max-failures", "some"], "neither a number nor a percentage"),
        (["--option", "temprature=1"], "temprature"),
    ],
)
def test_wrong_arguments_are_exit_code_2(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    write({"input": "a"})
    assert batch(*options) == 2
    assert said in capsys.readouterr().err
    assert not Path("out.jsonl").exists()


def command(vendor: Vendor, source: str = "in.jsonl", **more: Any) -> subprocess.Popen[str]:
    model = ["-m", "compatible/m", "--base-url", vendor.client["base_url"], "--concurrency", "4"]
    whole = [sys.executable, "-m", "llm_rest", "batch", source, "-o", "out.jsonl", *model]
    environment = {**os.environ, "COMPATIBLE_API_KEY": "x"}
    return subprocess.Popen(whole, stderr=subprocess.PIPE, text=True, env=environment, **more)


def until_some(vendor: Vendor, count: int) -> None:
    end = time.monotonic() + 60
    while len(vendor.asked()) < count and time.monotonic() < end:
        time.sleep(0.05)


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_in_order_and_it_goes_on(number: int, code: int, serve: Callable[..., Vendor]) -> None:
    vendor = serve(latency=0.1)
    write(*({"input": f"row {n}"} for n in range(60)))
    with command(vendor) as process:
        until_some(vendor, 8)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert "to go on: llm-rest batch in.jsonl" in said
    assert 8 <= len(lines()) < 60
    with command(vendor) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "in flight" not in said, "the rows in flight were answered"
    assert [line["output_text"] for line in lines()] == [f"ROW {n}" for n in range(60)]
    assert set(vendor.asked().values()) == {1}


@pytest.mark.slow
def test_stdin_is_kept_so_that_a_killed_run_goes_on_without_it(serve: Callable[..., Vendor]) -> None:
    vendor = serve(latency=0.1)
    rows = "".join(json.dumps({"input": f"row {n}"}) + "\n" for n in range(40))
    with command(vendor, source="-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(rows)
        process.stdin.close()
        until_some(vendor, 8)
        process.kill()
    with command(vendor, source="-", stdin=subprocess.DEVNULL) as process:
        _, said = process.communicate()
    assert process.returncode == 0, said
    assert "rows were in flight when the last run ended; sent again" in said
    assert [line["output_text"] for line in lines()] == [f"ROW {n}" for n in range(40)]
