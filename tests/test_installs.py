"""What the metadata allows works: the wheel with the oldest and the newest dependencies, and bounds for each of them.

The installs need a package index; `python -m pytest -m installs` runs them, and so does `.ci/run`.
"""

from __future__ import annotations

import re
import subprocess
import venv
from pathlib import Path

import pytest

from tests.test_packaging import PROJECT, pip, wheel

__all__ = ["wheel"]

REQUIREMENTS = [
    *PROJECT["dependencies"],
    *(one for name, extra in PROJECT["optional-dependencies"].items() if name != "ray" for one in extra),
]
"""Without Ray, which is 600 MB and which nothing imports."""


def test_every_dependency_has_a_lower_bound() -> None:
    assert [one for one in REQUIREMENTS if ">=" not in one] == []


def installed(wheel: Path, home: Path, *options: str) -> Path:
    """The interpreter of a clean environment with the wheel, its extras and what pip chooses with these options."""
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    done = pip("--python", str(python), "install", "--no-compile", "--quiet", f"{wheel}[server,cli]", *options)
    assert done.returncode == 0, done.stderr
    return python


def demo(python: Path) -> str:
    """What the demo prints there: a conversation with a tool on every wire, whole and streamed, through a real server."""
    command = [python, "-B", "-m", "llm_rest", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=python.parent, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.installs
def test_the_oldest_dependencies_that_the_metadata_allows_work(wheel: Path, tmp_path: Path) -> None:
    oldest = [re.sub(r">=([^,]+).*", r"==\1", one) for one in REQUIREMENTS]
    python = installed(wheel, tmp_path / "oldest", *oldest)
    assert "5 of 5 conversations ended with an answer" in demo(python)


@pytest.mark.installs
@pytest.mark.parametrize("options", [(), ("--pre",)], ids=["released", "pre-releases"])
def test_the_newest_dependencies_that_the_metadata_allows_work(
    wheel: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    python = installed(wheel, tmp_path / "newest", "--upgrade", *options)
    assert "5 of 5 conversations ended with an answer" in demo(python)
