"""`python -m tests [options of pytest]`: all tests in several processes, three at a time (or as `LLM_REST_JOBS` says), because
some wait for what takes time.

Each process collects its own files alone and gives its memory back when they are done; what it printed is shown when a test
failed. Compiled modules are kept in `.pytest_cache/bytecode`: the tests start hundreds of interpreters that import them. Without
options a sample of the cases of large tables is run (`conftest.py`). Options that name files or folders are given to one pytest,
as they are.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent
PARTS = (
    "",
    "hostile/",
    "transport/",
    "bulk/",
    "laws/",
    "gateway/attacks/",
    "conversation/",
    "wires/",
    "gateway/",
    "clients/",
    "corpus/",
    "loop/",
    "structured/",
    "test_r",
    "oracles/",
    "test_simulator",
    "test_client",
)
"""How the paths of the files in each part begin; a file is in the part with the longest. The slow parts come first."""

NOTHING_SELECTED = 5
SUMMARY = re.compile(r"(passed|failed|errors?|skipped|deselected|no tests ran)\b.* in [\d.]+s")
OUTCOMES = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b")


def parts() -> dict[str, list[str]]:
    """The files of tests in each part."""
    found: dict[str, list[str]] = {part: [] for part in PARTS}
    for path in sorted(HERE.rglob("test_*.py")):
        name = path.relative_to(HERE).as_posix()
        found[max((part for part in PARTS if name.startswith(part)), key=len)].append(f"{HERE.name}/{name}")
    return {f"{HERE.name}/{part}*": files for part, files in found.items() if files}


@dataclass
class Run:
    """A pytest with the files of one part."""

    part: str
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    began: float

    def text(self) -> str:
        self.output.seek(0)
        return self.output.read().decode(errors="replace")


def begin(part: str, files: list[str], options: list[str]) -> Run:
    output = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process has ended
    command = [sys.executable, "-m", "pytest", "--quiet", *files, *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment.setdefault("PYTHONPYCACHEPREFIX", str(HERE.parent / ".pytest_cache" / "bytecode"))
    if not options:
        environment.setdefault("LLM_REST_TESTS", "sample")
    process = subprocess.Popen(
        command, cwd=HERE.parent, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
    )
    return Run(part, process, output, time.monotonic())


def resident(pids: set[int]) -> int:
    """The MiB of these processes and of all that they started, where the system tells it."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    while more := {pid for pid, parent in parents.items() if parent in pids and pid not in pids}:
        pids = pids | more
    pages = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def ended(running: list[Run]) -> Iterator[Run]:
    """Those that have ended, which are running no more."""
    for run in [run for run in running if run.process.poll() is not None]:
        running.remove(run)
        yield run


def stop(running: list[Run]) -> None:
    """End them as Ctrl-C does, so that they end what they started."""
    for run in running:
        run.process.send_signal(signal.SIGINT)
    for run in running:
        try:
            run.process.wait(20)
        except subprocess.TimeoutExpired:
            run.process.kill()
            run.process.wait()


def main(options: list[str]) -> int:
    values = [value for name, value in pairwise(["", *options]) if name not in ("-k", "-m")]
    if any((HERE.parent / value.partition("::")[0]).exists() for value in values):
        return subprocess.call([sys.executable, "-m", "pytest", *options], cwd=HERE.parent)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended, too
    waiting, running = [*parts().items()], list[Run]()
    jobs = int(os.environ.get("LLM_REST_JOBS") or 3)
    outcomes, failed, most, began = Counter[str](), list[str](), 0, time.monotonic()
    looked = began
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                part, files = waiting.pop(0)
                running.append(begin(part, files, options))
            time.sleep(0.1)
            if time.monotonic() > looked + 1:
                looked, most = time.monotonic(), max(most, resident({os.getpid()}))
            for run in ended(running):
                text = run.text()
                last = next((line for line in reversed(text.splitlines()) if SUMMARY.search(line)), "no summary")
                outcomes.update({what: int(count) for count, what in OUTCOMES.findall(last)})
                if run.process.returncode not in (0, NOTHING_SELECTED):
                    print(text)
                    lines = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
                    failed += lines or [f"{run.part} ended with {run.process.returncode}"]
                print(f"{run.part}: {last}", flush=True)
    finally:
        stop(running)
    usage = os.times()
    print(
        f"{', '.join(f'{count} {what}' for what, count in outcomes.items()) or 'no tests'}"
        f" in {time.monotonic() - began:.0f} s, {usage.children_user + usage.children_system:.0f} s of CPU"
        + (f", at most {most} MiB" if most else "")
    )
    print(*failed, sep="\n", end="\n" if failed else "")
    return int(bool(failed) or not outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
