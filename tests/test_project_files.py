"""The project's files agree: the sdist is the same bytes each time, the version is one, the classifiers claim what was run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import llm_rest
from tests.mutations import MUTATIONS
from tests.test_packaging import PROJECT, ROOT


def built(source: Path, out: Path) -> dict[str, bytes]:
    """The sdist and the wheel of a checkout, by name."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.mark.installs
def test_sdist_and_wheel_are_the_same_bytes_wherever_and_whenever_they_are_built(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    kept = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT).decode().split("\0")
    for name in filter(None, kept):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)  # without its time of change
    first, again = built(ROOT, tmp_path / "first"), built(copy, tmp_path / "again")
    assert sorted(name.rpartition(".")[2] for name in first) == ["gz", "whl"]
    assert first == again


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert PROJECT["version"] == llm_rest.__version__ == cited[1]


def test_the_classifiers_claim_the_interpreters_that_were_run() -> None:
    claimed = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)}
    (run,) = re.findall(
        r"were run with, on Linux: CPython (.+?)\. Not run", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL
    )
    assert claimed == set(re.findall(r"\b(3\.\d+)\.\d+", run))
    systems = {one for one in PROJECT["classifiers"] if one.startswith("Operating System")}
    assert systems == {"Operating System :: POSIX :: Linux"}


def test_every_command_of_the_makefile_is_explained_to_contributors() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert [name for name in targets if f"`make {name}`" not in page and name not in ("help", "clean")] == []


def test_every_mutation_has_its_place_in_the_code() -> None:
    lost = [name for name, one in MUTATIONS.items() if (ROOT / "llm_rest" / one.file).read_text().count(one.old) != 1]
    assert lost == []
