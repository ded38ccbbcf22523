"""`llm-rest chat`: in a pipe, and driven in a terminal."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from llm_rest import Conversation

ROOT = Path(__file__).parents[2]


def chat(path: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "llm_rest", "chat", "-m", "simulator/x", "--store", str(path), *arguments]


def talk(path: Path, lines: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the command prints for these lines."""
    command = chat(path, *arguments)
    return subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, text=True, timeout=60, check=False)


def test_turns_and_commands_are_read_line_by_line(tmp_path: Path) -> None:
    path, saved = tmp_path / "talks.db", tmp_path / "talk.json"
    lines = ["say Hello", "/tokens", "/losses", "/model simulator/y", "say two", f"/save {saved}", "/exit", "say never"]
    done = talk(path, "\n".join(lines))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Hello\n")
    assert [word for word in ("input_tokens", "no losses", "simulator/y") if word not in done.stdout] == []
    assert len(Conversation.load(saved.read_bytes()).items) == 4
    failing = "fail 500 oh no\n/nonsense\n/model nobody/x\n/save\nsay three\n/history\nexit\nsay never\n"
    done = talk(path, failing, "-c")
    assert done.returncode == 0
    said = ["user: say Hello", "assistant: Hello", "user: say two", "assistant: two", "user: say three"]
    assert done.stdout.splitlines() == ["three", *said, "assistant: three"]
    problems = [line.partition(": ")[0] for line in done.stderr.splitlines() if "retrying" not in line]
    assert problems == ["note", *["llm-rest"] * 4]


def test_without_a_conversation_or_a_store_that_can_be_used_the_command_fails(tmp_path: Path) -> None:
    done = talk(tmp_path / "talks.db", "", "-c")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no conversation to continue" in done.stderr
    path = tmp_path / "other.db"
    path.write_text("no database at all " * 300)
    done = talk(path, "say Hi\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, path: Path) -> None:
        self.ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "dumb"}  # without a status line that moves
        ends: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        self.process = subprocess.Popen(chat(path), cwd=ROOT, start_new_session=True, env=environment, **ends)
        os.close(theirs)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def wait_for(self, text: str, seconds: float = 30.0) -> str:
        """Read until this was printed; what was printed up to then, and is forgotten."""
        until = time.monotonic() + seconds
        while text not in self.seen:
            if not select.select([self.ours], [], [], max(0.0, until - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} did not come, but {self.seen!r}")
            self.seen += os.read(self.ours, 4096).decode()
        before, _, self.seen = self.seen.partition(text)
        return before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


def test_a_conversation_in_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "talks.db")
    try:
        terminal.wait_for("talking to simulator/x")
        for text, shown in (("say Hello there", "\nHello there"), ("/history", "user: say Hello there")):
            terminal.wait_for("> ")
            terminal.type(f"{text}\n")
            terminal.wait_for(shown)
        terminal.wait_for("> ")
        terminal.type("\x04")
        assert terminal.process.wait(30) == 0
    finally:
        terminal.close()


def test_an_interrupt_cancels_the_answer_and_not_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from llm_rest.cli import ask, main, write

    pieces = iter(["", KeyboardInterrupt()])

    def interrupted(text: str) -> None:
        if isinstance(next(pieces, None), KeyboardInterrupt):
            raise KeyboardInterrupt
        write(text)

    monkeypatch.setattr(ask, "write", interrupted)
    monkeypatch.setattr("sys.stdin", io.StringIO("say a long answer\nsay fine\n"))
    assert main(["chat", "-m", "simulator/x", "--store", str(tmp_path / "talks.db")]) == 0
    found = capsys.readouterr()
    assert found.out == "a lo\nfine\n"
    assert "cancelled" in found.err
