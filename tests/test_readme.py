"""Every example in the README and the documentation runs and prints what the page shows.

A ```python block is executed, sharing its names with the blocks before it on the page; a ```text block right after it is what
it prints. In a ```console block each line after `$ ` runs in a shell (only commands with `llm-rest` in them), and the lines up
to the next `$ ` are what it prints; `...` stands for anything. A comment `<!-- not run: reason -->` before a block skips it.
Where a block has no output given, it only has to succeed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llm_rest
from llm_rest.vendors.rows import VENDORS
from llm_rest.wires import NAMES
from tests.examples import PAGES, ROOT, Example, examples, module


def commands(body: str) -> Iterator[tuple[str, str | None]]:
    """The commands of a console block, each with the output shown below it."""
    for chunk in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        # A backslash at the end of a line continues the command, as in the shell.
        lines = chunk.splitlines(keepends=True)
        n = next(i for i, line in enumerate(lines) if not line.rstrip("\n").endswith("\\")) + 1
        yield "".join(lines[:n]).strip(), "".join(lines[n:]) or None


def same(promised: str, printed: str) -> bool:
    """Whether the output is as promised, where `...` matches anything and trailing blanks do not count."""
    tidy = ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (promised, printed)]
    pattern = ".*".join(re.escape(piece) for piece in tidy[0].split("..."))
    return re.fullmatch(pattern, tidy[1], re.DOTALL) is not None


def check(promised: str | None, printed: str, name: str) -> None:
    """Fail with both texts where they differ."""
    if promised is not None and not same(promised, printed):
        pytest.fail(f"{name} promises\n{promised}\nand prints\n{printed}", pytrace=False)


def run_python(example: Example, names: dict[str, Any]) -> None:
    """Execute a block with the names of the page so far."""
    printed = io.StringIO()
    # The empty lines make line numbers in a traceback those of the page.
    code = compile("\n" * example.line + example.body, str(example.page), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    check(example.output, printed.getvalue(), example.name)


def run_console(example: Example, folder: Path) -> None:
    """Run the `llm-rest` commands of a block in a folder of their own, as a user without keys, settings and conversations."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = ("_API_KEY", "_TOKEN", "LLM_REST_STORE", "LLM_REST_MODEL", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    keyless = {name: value for name, value in os.environ.items() if not name.endswith(own)}
    for command, promised in commands(example.body):
        if "llm-rest" not in command:
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            timeout=120,
            env={**keyless, "HOME": str(folder), "PATH": path, "COLUMNS": "120", "NO_COLOR": "1"},
        )
        assert done.returncode == 0 or promised is not None, done.stderr
        check(promised, done.stdout + done.stderr, f"{example.name}: {command}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run_and_print_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for example in examples(page, page.read_text()):
        if example.kind == "python":
            run_python(example, names)
        else:
            run_console(example, tmp_path)


def test_a_newcomer_is_shown_both_commands() -> None:
    shown = [command for block in examples(PAGES[0], PAGES[0].read_text()) for command, _ in commands(block.body)]
    assert {"make demo", "make test"} <= {command.partition("#")[0].strip() for command in shown}


def test_no_block_of_commands_is_empty() -> None:
    blocks = [example for page in PAGES for example in examples(page, page.read_text())]
    assert [example.name for example in blocks if not example.body.strip()] == []


def test_links_to_other_files_lead_somewhere() -> None:
    made = ROOT / "docs" / "reference"  # generated pages, whose links `make docs` checks
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]
        paths = [(page.parent / link).resolve() for link in links if link]
        assert [path for path in paths if not path.exists() and not path.is_relative_to(made)] == [], page


def test_every_vendor_is_in_the_readme_below_the_wire_it_prefers() -> None:
    rows = re.findall(r"^\| \[`(\w+)`\].*\| (.+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    shown = {wire: sorted(re.findall(r"`(\w+)`", names)) for wire, names in rows}
    assert shown == {wire: sorted(v.name for v in VENDORS.values() if v.wire == wire) for wire in NAMES}


def test_every_error_is_in_the_table_of_errors() -> None:
    page = (ROOT / "docs/errors.md").read_text()
    assert [name for name in llm_rest.__all__ if is_error(name) and f"`{name}`" not in page] == []


def is_error(name: str) -> bool:
    """Whether a public name is an exception class."""
    value = getattr(llm_rest, name)
    return isinstance(value, type) and issubclass(value, llm_rest.LLMError)


def test_an_example_with_another_output_is_noticed(tmp_path: Path) -> None:
    page = "```python\nx = 1\n```\n\n```python\nprint(x + 1)\n```\n\n```text\n3\n```\n"
    one, two = examples(tmp_path, page)
    assert (one.output, two.output) == (None, "3\n")
    names: dict[str, Any] = {}
    run_python(one, names)
    with pytest.raises(pytest.fail.Exception, match="promises"):
        run_python(two, names)


def test_a_block_marked_as_not_run_is_left_out(tmp_path: Path) -> None:
    left_out = "<!-- not run: needs a key -->\n```python\nraise SystemExit\n```\n\n"
    page = left_out + "```console\n$ llm-rest a \\\n  b\nout\n$ llm-rest c\n```\n"
    (console,) = examples(tmp_path, page)
    assert list(commands(console.body)) == [("llm-rest a \\\n  b", "out\n"), ("llm-rest c", None)]


def test_a_type_checker_gets_the_lines_of_a_page_where_they_stand(tmp_path: Path) -> None:
    page = "# Title\n\n```python\nx = 1\n```\n\n```text\n1\n```\n\n<!-- not run: needs a key -->\n\n```python\ny = x\n```\n"
    code = module(tmp_path, page).splitlines()
    assert code[0] == "# pyright: strict"
    for line in ("x = 1", "y = x"):
        assert code.index(line) == page.splitlines().index(line)
    assert module(tmp_path, "# Title\n\n```text\nx\n```\n") == ""


def test_dots_match_anything() -> None:
    assert same("a ... d\n", "a b\nc d   \n")
    assert not same("a ... d\n", "a b c\n")
