"""The documentation is complete: every error is raised on a page, every page in the navigation, every name in the reference."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import llm_rest
from llm_rest import errors
from tests.examples import ROOT

DOCS = ROOT / "docs"


def tool(name: str) -> ModuleType:
    """A script of `docs/_tools`, as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_tools_{name}", DOCS / "_tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_error_class_is_raised_by_a_program_of_its_page() -> None:
    """The outputs are compared with what the programs print by `tests/test_readme.py`."""
    page = (DOCS / "every-error.md").read_text()
    shown, _, never = page.partition("## Classes that are not raised themselves")
    raised = set(re.findall(r"^(?:[^:\n]*\|)?(\w+Error): ", shown, re.MULTILINE))
    public = {name for name in dir(errors) if name.endswith("Error") and name in llm_rest.__all__} | {"LLMError"}
    assert public - raised == set(re.findall(r"`(\w+Error)`", never)) - {"NetworkBlockedError", "RuntimeError"}, (
        "show it raised, or say why it is not"
    )


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"([\w./-]+\.md)", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]))
    generated = {path for path, _ in tool("pages").generated()}
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} | generated
    assert listed == pages


def test_the_reference_shows_every_public_name() -> None:
    shown = "".join(text for path, text in tool("pages").generated() if path.startswith("reference/api/"))
    names = set(llm_rest.__all__) - {"__version__"}
    assert {name for name in names if f"::: llm_rest.{name}\n" not in shown} == set()


def test_diagrams_are_what_their_source_draws() -> None:
    diagrams = tool("diagrams")
    for name, (title, boxes, arrows) in diagrams.DIAGRAMS.items():
        assert (DOCS / "assets" / name).read_text() == diagrams.draw(title, boxes, arrows), "run make docs"


def test_a_page_that_loads_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="https://x.example">x</a><script src="a.js"></script>')
    (tmp_path / "b.html").write_text('<script src="https://cdn.example/a.js"></script>')
    (tmp_path / "c.css").write_text('@import url("https://fonts.example/a.css");')
    assert [Path(one).name for one in tool("pages").from_elsewhere(tmp_path)] == ["b.html", "c.css"]
