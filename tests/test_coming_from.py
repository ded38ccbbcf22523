"""The tables "you write / here it is" of `docs/how-to/coming-from.md`: the right side of each row runs against the simulator."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import llm_rest
from llm_rest.cli import main

PAGE = Path(__file__).parents[1] / "docs/how-to/coming-from.md"
CELL = re.compile(r"^\| (?P<theirs>.*\S) \| `(?P<ours>[^`]+)` \|$")
ROWS = [
    (line_number, found["ours"])
    for line_number, line in enumerate(PAGE.read_text().splitlines(), 1)
    if (found := CELL.match(line))
]


class Person(Struct):
    """A type for typed output."""

    name: str


def weather(city: str) -> str:
    """The weather in a city."""
    return f"4 degrees in {city}"


def names(llm: llm_rest.Client) -> dict[str, Any]:
    """What the rows may use."""
    return {
        "llm": llm,
        "Client": llm_rest.Client,
        "AsyncClient": llm_rest.AsyncClient,
        "tool": llm_rest.tool,
        "weather": llm_rest.tool(weather),
        "weather_function": weather,
        "messages": [{"role": "user", "content": "Hi"}],
        "Person": Person,
        "Path": Path,
        "asyncio": asyncio,
    }


def command_line(*arguments: str) -> str:
    """What a command prints, which must succeed, with "Hi" on its standard input."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Hi\n")))
        try:
            code: object = main(arguments)
        except SystemExit as end:  # such as after --help
            code = end.code
        assert code == 0
    return printed.getvalue()


@pytest.mark.parametrize(("line", "ours"), ROWS, ids=[f"line {line}" for line, _ in ROWS])
def test_the_right_side_of_a_row_runs(line: int, ours: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LLM_REST_STORE", "chat.db")
    Path("photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    Path("schema.json").write_text(
        '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'
    )
    if ours.startswith("llm-rest "):
        if " -c" in ours or "logs" in ours:
            command_line("chat", "-m", "simulator/demo")
        assert command_line(*shlex.split(ours)[1:])
        return
    with llm_rest.Client("simulator/demo") as llm:
        exec(compile(ours, f"coming-from.md:{line}", "exec"), names(llm))


def test_each_library_has_a_table() -> None:
    libraries = re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE)
    assert len(libraries) == 8
    assert len(ROWS) >= 80
