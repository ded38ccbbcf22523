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
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import pairwise
from pathlib import Path

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
    "test_a",
    "test_f",
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


def run(files: list[str], options: list[str], running: list[subprocess.Popen[bytes]]) -> tuple[int, str]:
    """The exit code of a pytest with these files, and what it prints; `running` has its process until it ends."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment.setdefault("PYTHONPYCACHEPREFIX", str(HERE.parent / ".pytest_cache" / "bytecode"))
    if not options:
        environment.setdefault("LLM_REST_TESTS", "sample")
    command = [sys.executable, "-m", "pytest", "--quiet", *files, *options]
    with tempfile.TemporaryFile() as output:  # no pipe: processes that a test leaves behind would keep it open
        process = subprocess.Popen(
            command, cwd=HERE.parent, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        running.append(process)
        process.wait()
        running.remove(process)
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace")


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


def stop(running: list[subprocess.Popen[bytes]]) -> None:
    """End them as Ctrl-C does, so that they end what they started."""
    for process in [*running]:
        process.send_signal(signal.SIGINT)
    began = time.monotonic()
    while running and time.monotonic() < began + 20:
        time.sleep(0.1)
    for process in [*running]:
        process.kill()


def main(options: list[str]) -> int:
    values = [value for name, value in pairwise(["", *options]) if name not in ("-k", "-m")]
    if any((HERE.parent / value.partition("::")[0]).exists() for value in values):
        return subprocess.call([sys.executable, "-m", "pytest", *options], cwd=HERE.parent)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended, too
    running, outcomes, failed, most, began = (
        list[subprocess.Popen[bytes]](),
        Counter[str](),
        list[str](),
        0,
        time.monotonic(),
    )
    pool = ThreadPoolExecutor(int(os.environ.get("LLM_REST_JOBS") or 3))
    try:
        waiting = {pool.submit(run, files, options, running): part for part, files in parts().items()}
        while waiting:
            done, _ = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
            most = max(most, resident({os.getpid()}))
            for part, (code, text) in [(waiting.pop(one), one.result()) for one in done]:
                last = next((line for line in reversed(text.splitlines()) if SUMMARY.search(line)), "no summary")
                outcomes.update({what: int(count) for count, what in OUTCOMES.findall(last)})
                if code not in (0, NOTHING_SELECTED):
                    print(text)
                    lines = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
                    failed += lines or [f"{part} ended with {code}"]
                print(f"{part}: {last}", flush=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
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
