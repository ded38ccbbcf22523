"""Kills bulk runs at random moments: `python -m tests.bulk.killed BASE_URL FOLDER ROWS KILLS SEED`.

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

from llm_rest import Bulk, Client
from llm_rest.bulk.journal import Journal


def write(folder: Path, rows: int) -> None:
    (folder / "in.jsonl").write_text("".join(f'{{"input": "row {n}"}}\n' for n in range(1, rows + 1)))


def run(url: str, folder: Path) -> None:
    """One run, to its end."""
    with Client("compatible/m", base_url=url, api_key="sk-test") as llm:
        with Bulk(llm, output_file=folder / "out.jsonl", concurrency=8) as bulk:
            for _ in bulk.run(folder / "in.jsonl"):
                pass


def start(url: str, folder: Path) -> int:
    """The id of a process that makes a run."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            run(url, folder)
            code = 0
        finally:
            os._exit(code)
    return pid


def main(url: str, folder: Path, rows: int, kills: int, seed: int) -> None:
    chance, done = random.Random(seed), 0
    (folder / "warm").mkdir()
    write(folder / "warm", 1)
    run(url, folder / "warm")
    write(folder, rows)
    while done < kills:
        pid = start(url, folder)
        time.sleep(chance.random() * 0.4)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):  # it came to its end first
            break
        done += 1
    code = os.waitstatus_to_exitcode(os.waitpid(start(url, folder), 0)[1])
    journal = Journal(folder / "out.jsonl.journal", readonly=True)
    print(code, done, journal.at.totals.repeated, journal.at.totals.done)
    journal.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
