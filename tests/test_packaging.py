"""What a user gets from the index: the wheel, and a clean environment with nothing else installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.test_imports import MODULES, PACKAGE, ROOT, WATCH

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
pytestmark = pytest.mark.slow

RUNTIME = {"anyio", "certifi", "h11", "httpcore", "httpx", "msgspec"}


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    """pip of this environment, with the index this machine is set up for."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without an index: the build backend is one of the test requirements."""
    out = tmp_path_factory.mktemp("wheel")
    built = pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(ROOT))
    assert built.returncode == 0, built.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a clean environment that holds the wheel and what it brings."""
    probe = pip("download", "--no-deps", "--quiet", "--dest", str(tmp_path_factory.mktemp("probe")), "msgspec")
    if probe.returncode != 0:
        pytest.skip(f"the package index cannot be reached: {probe.stderr.strip().splitlines()[-1]}")
    home = tmp_path_factory.mktemp("clean")
    venv.create(home, with_pip=False)
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = pip("--python", str(python), "install", "--no-compile", str(wheel))
    assert done.returncode == 0, done.stderr
    return python


def run(python: Path, code: str) -> str:
    """What `code` prints in the clean environment, away from our sources."""
    done = subprocess.run([python, "-B", "-c", code], capture_output=True, text=True, check=False, cwd=python.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_base_install_declares_httpx_msgspec_anyio_and_what_is_imported_of_theirs() -> None:
    assert {requirement.partition(">=")[0] for requirement in PROJECT["dependencies"]} == RUNTIME


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """BUGS 85"""
    ours = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    ours = {name for name in ours if "__pycache__" not in name}
    held = {
        name for name in zipfile.ZipFile(wheel).namelist() if not name.split("/")[0].endswith((".dist-info", ".data"))
    }
    assert held == ours
    assert "llm_rest/py.typed" in held
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.xfail(reason="672 kB on 2026-11-20; the goal stands", strict=True)
def test_the_wheel_has_less_than_250_kilobytes(wheel: Path) -> None:
    assert wheel.stat().st_size < 250_000


def test_the_metadata_of_the_wheel_is_that_of_the_project_file(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = HeaderParser().parsestr(archive.read(name).decode())
    assert metadata["Name"] == "llm-rest"
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["Requires-Python"] == ">=3.11"
    base = [r for r in metadata.get_all("Requires-Dist") or [] if "extra ==" not in r]
    assert {re.split("[<>=]", r)[0] for r in base} == RUNTIME
    entry = archive.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert "llm-rest = llm_rest.cli:main" in entry


def test_building_twice_gives_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    again = pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT))
    assert again.returncode == 0, again.stderr
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_a_clean_environment_holds_at_most_nine_distributions(installed: Path) -> None:
    listed = pip("--python", str(installed), "list", "--format=json")
    names = {entry["name"].lower() for entry in json.loads(listed.stdout)} - {"pip", "setuptools"}
    assert {"llm-rest", *RUNTIME} <= names
    assert len(names) <= 9, names


@pytest.mark.xfail(
    reason="4.5 MB on 2026-11-20, 2.55 of it the three dependencies and theirs; the goal stands", strict=True
)
def test_a_clean_environment_has_less_than_four_megabytes(installed: Path) -> None:
    site = Path(run(installed, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    sizes = {
        path: path.stat().st_size for path in site.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    assert sum(sizes.values()) < 4_000_000


def test_nothing_of_ours_runs_when_python_starts(installed: Path) -> None:
    """BUGS 85"""
    site = Path(run(installed, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    assert list(site.glob("*.pth")) == []
    assert run(installed, "import sys; print([m for m in sys.modules if m.startswith('llm_rest')])") == "[]"


def test_every_module_imports_in_the_base_install_and_touches_nothing(installed: Path) -> None:
    # What pytest imports, and what needs packages that are not in the base install.
    others = ("llm_rest.testing.plugin", "llm_rest.testing.strategies", "llm_rest.telemetry")
    modules = [name for name in MODULES if not name.startswith(others)]
    seen = run(installed, f"{WATCH}\nimport {', '.join(modules)}\nprint(*touched, sep='\\n')")
    assert seen == ""


def test_a_call_works_in_the_base_install_which_offers_every_public_name(installed: Path) -> None:
    code = (
        "from llm_rest import *; import llm_rest\nwith Client('simulator/demo') as llm: print(llm.generate_text('Hi'))"
    )
    assert run(installed, f"{code}\nprint(llm_rest.__version__)").split() == ["Hi", PROJECT["version"]]


def test_the_wheel_holds_completion_files_of_every_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        found = {name.rpartition("/data/")[2]: name for name in archive.namelist() if "/data/" in name}
        assert set(found) == {"share/bash-completion/completions/llm-rest", "share/zsh/site-functions/_llm-rest"}
        for name in found.values():
            text = archive.read(name).decode()
            assert "--max-output-tokens" in text
            assert "doctor" in text
