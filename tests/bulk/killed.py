"""Kills bulk runs at random moments: `python -m tests.bulk.killed MODE MODEL BASE_URL FOLDER ROWS KILLS SEED`.

Each run is a fork of this process, which has loaded everything, so that a kill comes while rows are answered. After the kills the
run is finished, and what the journal counted is printed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from llm_rest import Bulk, Client
from llm_rest.bulk import batches, vendor_run
from llm_rest.bulk.journal import Journal


def write(folder: Path, rows: int, text: str = "row") -> None:
    (folder / "in.jsonl").write_text("".join(f'{{"input": "{text} {n}"}}\n' for n in range(1, rows + 1)))


def run(mode: Any, model: str, url: str, folder: Path) -> None:
    """One run, to its end."""
    with Client(model, base_url=url, api_key="sk-test") as llm:
        with Bulk(llm, mode=mode, output_file=folder / "out.jsonl", concurrency=8) as bulk:
            for _ in bulk.run(folder / "in.jsonl"):
                pass


def start(*about: Any) -> int:
    """The id of a process that makes a run."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            run(*about)
            code = 0
        finally:
            os._exit(code)
    return pid


def main(mode: str, model: str, url: str, folder: Path, rows: int, kills: int, seed: int) -> None:
    vendor_run.POLL_SECONDS, vendor_run.POLL_MOST_SECONDS, batches.LOOKS = 0.02, 0.02, (0.0, 0.05)
    chance, done = random.Random(seed), 0
    (folder / "warm").mkdir()
    write(folder / "warm", 1, "warm")
    run(mode, model, url, folder / "warm")
    write(folder, rows)
    while done < kills:
        pid = start(mode, model, url, folder)
        time.sleep(chance.random() * 0.4)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):  # it came to its end first
            break
        done += 1
    code = os.waitstatus_to_exitcode(os.waitpid(start(mode, model, url, folder), 0)[1])
    journal = Journal(folder / "out.jsonl.journal", readonly=True)
    print(code, done, journal.at.totals.repeated, journal.at.totals.done)
    journal.close()


if __name__ == "__main__":
    _, mode, model, url, folder, *numbers = sys.argv
    main(mode, model, url, Path(folder), *map(int, numbers))
