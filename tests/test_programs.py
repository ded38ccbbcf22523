"""The programs in `tests/typing/programs/`, written as users write them, run against the simulator and print what they say.

`make check` runs pyright and mypy in strict mode over them.
"""

from __future__ import annotations

import ast
import inspect
import re
import runpy
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "typing" / "programs").glob("*.py"))


def promised(program: Path) -> str:
    """What a program prints, as its docstring says."""
    docstring = ast.get_docstring(ast.parse(program.read_text())) or ""
    _, marked, output = docstring.partition("\n\nPrints:\n\n")
    assert marked, f"{program.name}: the docstring says what the program shows, then what it prints"
    return inspect.cleandoc(output).strip() + "\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program_prints_what_its_docstring_says(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(program), run_name="__main__")
    assert capsys.readouterr().out == promised(program)


def test_no_program_needs_a_cast_or_an_ignored_error() -> None:
    assert len(PROGRAMS) >= 20
    found = [p.name for p in PROGRAMS if re.search(r"\bcast\b|type: *ignore|pyright: *ignore|noqa", p.read_text())]
    assert found == []
