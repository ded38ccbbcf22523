"""`python -m tests [options of pytest]`: all tests in several processes, three at a time (or as `LLM_REST_JOBS` says), because
some wait for what takes time.

The packages that tests need are imported once; the process of each part is a fork of the one that has them, collects its own
files alone and gives its memory back when they are done. What it printed is shown when a test failed. Compiled modules are kept
in `.pytest_cache/bytecode`: the tests start hundreds of interpreters that import them. Without options a sample of the cases of
large tables is run (`conftest.py`). Options that name files or folders are given to one pytest, as they are.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import IO

import pytest

HERE = Path(__file__).parent
PARTS = (
    "",
    "gateway/",
    "hostile/",
    "transport/",
    "bulk/",
    "laws/",
    "gateway/attacks/",
    "conversation/",
    "wires/",
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

SHARED = """
    hypothesis trio pydantic jsonschema trustme vcr openai anthropic google.genai ollama
    llm_rest.client.client llm_rest.server.app llm_rest.simulator llm_rest.cli
"""
"""What many tests import and takes long: imported before the first fork, where it is installed."""

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


def import_shared() -> None:
    """Import what the parts share, and keep the garbage collector away from it, so that its memory stays shared."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(HERE.parent / ".pytest_cache" / "bytecode"))
    for name in SHARED.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def start(files: list[str], options: list[str], running: dict[int, IO[bytes]]) -> int:
    """Start a pytest with these files in a process of its own, whose output is in `running` by its id, which is returned."""
    # No pipe: processes that a test leaves behind would keep it open.
    output = tempfile.TemporaryFile()  # noqa: SIM115  `ended` closes it
    pid = os.fork()
    if pid:
        running[pid] = output
        return pid
    running.clear()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    # Packages of plugins are imported already, and pytest cannot rewrite their assertions any more.
    sys.exit(pytest.main(["--quiet", "-W", "ignore::pytest.PytestAssertRewriteWarning", *files, *options]))


def ended(running: dict[int, IO[bytes]]) -> tuple[int, int, float, str] | None:
    """A process that has ended, its exit code, its seconds of CPU and what it printed; it is no longer in `running`."""
    pid, status, used = os.wait4(-1, os.WNOHANG)
    if not pid:
        return None
    with running.pop(pid) as output:
        output.seek(0)
        text = output.read().decode(errors="replace")
    return pid, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, text


def memory(pids: set[int]) -> int:
    """The MiB of these processes and of all that they started, shared memory counted once, where the system reports it."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    while more := {pid for pid, parent in parents.items() if parent in pids and pid not in pids}:
        pids = pids | more
    kibibytes = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            kibibytes += sum(map(int, re.findall(r"\nPss: *(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())))
    return kibibytes // 1024


def stop(running: dict[int, IO[bytes]]) -> None:
    """End them as Ctrl-C does, so that they end what they started."""
    for pid in running:
        os.kill(pid, signal.SIGINT)
    began = time.monotonic()
    while running and time.monotonic() < began + 20:
        time.sleep(0.1)
        ended(running)
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def main(options: list[str]) -> int:
    values = [value for name, value in pairwise(["", *options]) if name not in ("-k", "-m")]
    if any((HERE.parent / value.partition("::")[0]).exists() for value in values) or not hasattr(os, "fork"):
        return subprocess.call([sys.executable, "-m", "pytest", *options], cwd=HERE.parent)
    os.chdir(HERE.parent)
    if not options:
        os.environ.setdefault("LLM_REST_TESTS", "sample")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended, too
    began = measured = time.monotonic()
    import_shared()
    jobs, waiting, names = int(os.environ.get("LLM_REST_JOBS") or 3), [*parts().items()], dict[int, str]()
    running, outcomes, failed, most = dict[int, IO[bytes]](), Counter[str](), list[str](), 0
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                part, files = waiting.pop(0)
                names[start(files, options, running)] = part
            time.sleep(0.1)
            if time.monotonic() > measured + 1:
                most, measured = max(most, memory({os.getpid()})), time.monotonic()
            if done := ended(running):
                pid, code, cpu, text = done
                last = next((line for line in reversed(text.splitlines()) if SUMMARY.search(line)), "no summary")
                outcomes.update({what: int(count) for count, what in OUTCOMES.findall(last)})
                if code not in (0, NOTHING_SELECTED):
                    print(text)
                    lines = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
                    failed += lines or [f"{names[pid]} ended with {code}"]
                print(f"{names[pid]}: {last}, {cpu:.1f} s of CPU", flush=True)
    finally:
        stop(running)
    print(
        f"{', '.join(f'{count} {what}' for what, count in outcomes.items()) or 'no tests'}"
        f" in {time.monotonic() - began:.0f} s, {sum(os.times()[:4]):.0f} s of CPU"
        + (f", at most {most} MiB" if most else "")
    )
    print(*failed, sep="\n", end="\n" if failed else "")
    return int(bool(failed) or not outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
