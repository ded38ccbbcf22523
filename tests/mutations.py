"""`python -m tests.mutations [NAME ...]`: ten faults, one for each area of the code, and whether the tests find them.

Each fault replaces one piece of text in a copy of the project, and runs the tests of that area there: it is found when they
fail. One that is not found shows that the tests lost strength in its area. Takes about five minutes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COPIED = ("llm_rest", "tests", "fixtures", "schemas", "benchmarks", "docs", "examples", "pyproject.toml", "README.md")


class Mutation(NamedTuple):
    """In `file` below the package, `old` becomes `new`; `tests` are those that must fail."""

    file: str
    old: str
    new: str
    tests: str


MUTATIONS = {
    "unknown fields": Mutation("unknown.py", "unknown[name] = plain_json(piece)", "pass", "tests/test_unknown.py"),
    "kept": Mutation(
        "wires/kept.py",
        "return _is_note(kept) and kept[1] == _mark(encoded)",
        "return _is_note(kept)",
        "tests/laws/test_kept.py",
    ),
    "losses": Mutation(
        "wires/ollama_chat/request.py",
        "report_missing(request, WIRE, lost, refused=REFUSED, dropped=DROPPED)",
        "pass",
        "tests/wires/test_rows.py",
    ),
    "provider state": Mutation(
        "responses/carriers.py",
        "if sender(text) != (wire, issuer) or len(text) > MAX_SIZE:",
        "if len(text) > MAX_SIZE:",
        "tests/test_carriers.py",
    ),
    "retries": Mutation(
        "transport/retry.py",
        "return min(policy.base_delay * factor, policy.max_delay)",
        "return policy.base_delay * factor",
        "tests/test_retry.py",
    ),
    "connections": Mutation(
        "transport/connection.py",
        "return self._ended and self._keep_alive and not self._buffer",
        "return self._ended and self._keep_alive",
        "tests/transport/test_reused.py",
    ),
    "loop": Mutation(
        "loop/step.py",
        'self.end(call, "cancelled", input.reason or',
        'self.end(call, "completed", input.reason or',
        "tests/loop/test_runs.py",
    ),
    "history limits": Mutation(
        "conversation/limits.py",
        "while points and points[-1] > first:",
        "while points and points[-1] > i:",
        "tests/conversation/test_limits.py",
    ),
    "access": Mutation(
        "server/access.py",
        "hmac.compare_digest(known, given)",
        "hmac.compare_digest(known[:8], known[:8])",
        "tests/gateway/test_access.py",
    ),
    "secrets": Mutation(
        "client/answer.py",
        "    facts = without_secrets(facts, sent)\n    if answer.status < 400",
        "    if answer.status < 400",
        "tests/test_client_errors.py",
    ),
}


def is_found(mutation: Mutation) -> bool:
    """Whether the tests fail with this fault. Raises `ValueError` where the code has no such text, or the tests do not run."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        copy.mkdir()
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, copy / name)
        file = copy / "llm_rest" / mutation.file
        text = file.read_text()
        if text.count(mutation.old) != 1:
            raise ValueError(f"{mutation.file} has {mutation.old!r} {text.count(mutation.old)} times, not once")
        file.write_text(text.replace(mutation.old, mutation.new))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutation.tests.split()]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise ValueError(f"pytest ended with {done.returncode}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        return done.returncode == 1


def main(names: list[str]) -> int:
    missed = 0
    for name in names or MUTATIONS:
        mutation = MUTATIONS[name]
        found = is_found(mutation)
        missed += not found
        print(f"{name} ({mutation.file}): {'found' if found else 'NOT FOUND'} by {mutation.tests}", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
