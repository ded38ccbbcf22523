"""`llm-rest chat`: in a pipe, and driven in a terminal."""

from __future__ import annotations

import io
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_rest import Conversation, SQLiteConversationStore

ROOT = Path(__file__).parents[2]


def talk(path: Path, lines: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the command prints for these lines."""
    command = [sys.executable, "-m", "llm_rest", "chat", "-m", "simulator/x", "--store", str(path), *arguments]
    return subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, text=True, timeout=60, check=False)


def test_turns_and_commands_are_read_line_by_line(tmp_path: Path) -> None:
    saved = tmp_path / "talk.json"
    lines = f"say Hello\\n/tokens\\n/losses\\n/model simulator/y\\nsay two\\n/history\\n/save {saved}\\n/exit\\nsay never\\n"
    done = talk(tmp_path / "talks.db", lines.replace("\\n", "\n"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Hello\n")
    assert "input_tokens" in done.stdout
    assert "no losses" in done.stdout
    assert "simulator/y" in done.stdout
    assert "user: say Hello\nassistant: Hello\nuser: say two\nassistant: two\n" in done.stdout
    assert len(Conversation.load(saved.read_bytes()).items) == 4


def test_the_last_conversation_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    talk(path, "say one\n")
    done = talk(path, "say two\n/history\n", "-c")
    assert "assistant: one\nuser: say two\nassistant: two\n" in done.stdout
    with SQLiteConversationStore(path) as store:
        assert [entry.items for entry in store.list()] == [4]


def test_a_turn_that_fails_says_why_and_the_conversation_goes_on(tmp_path: Path) -> None:
    done = talk(tmp_path / "talks.db", "fail 500 oh no\n/nonsense\n/model nobody/x\n/save\nsay fine\nexit\nsay never\n")
    assert done.returncode == 0
    assert done.stdout == "fine\n"
    problems = [line.partition(": ")[0] for line in done.stderr.splitlines() if "retrying" not in line]
    assert problems == ["llm-rest"] * 4


def test_without_a_conversation_there_is_nothing_to_continue(tmp_path: Path) -> None:
    done = talk(tmp_path / "talks.db", "", "-c")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no conversation to continue" in done.stderr


def test_a_store_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    path.write_text("no database at all " * 300)
    done = talk(path, "say Hi\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, path: Path, *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "llm_rest", "chat", "-m", "simulator/x", "--store", str(path), *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            close_fds=True,
            env={**os.environ, "TERM": "dumb"},  # without a status line that moves
        )
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


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path / "talks.db")
    yield made
    made.close()


def test_it_is_driven_in_a_terminal(terminal: Terminal, tmp_path: Path) -> None:
    terminal.wait_for("talking to simulator/x")
    terminal.wait_for("> ")
    terminal.type("say Hello there\n")
    terminal.wait_for("\nHello there")
    terminal.wait_for("> ")
    saved = tmp_path / "talk.json"
    commands = {"/tokens": "total_tokens", "/losses": "no losses", "/model simulator/y": "\nsimulator/y"}
    for command, shown in {**commands, f"/save {saved}": "saved to", "/history": "user: say Hello there"}.items():
        terminal.type(f"{command}\n")
        terminal.wait_for(shown)
        terminal.wait_for("> ")
    assert len(Conversation.load(saved.read_bytes()).items) == 2
    terminal.type("\x04")
    assert terminal.process.wait(30) == 0


def test_an_interrupt_cancels_the_answer_and_not_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from llm_rest.cli import ask, main, say

    pieces = iter(["", KeyboardInterrupt()])

    def interrupted(text: str) -> None:
        if isinstance(next(pieces, None), KeyboardInterrupt):
            raise KeyboardInterrupt
        say(text)

    monkeypatch.setattr(ask, "say", interrupted)
    monkeypatch.setattr("sys.stdin", io.StringIO("say a long answer\nsay fine\n"))
    assert main(["chat", "-m", "simulator/x", "--store", str(tmp_path / "talks.db")]) == 0
    found = capsys.readouterr()
    assert found.out == "a lo\nfine\n"
    assert "cancelled" in found.err


def test_a_program_that_is_killed_in_a_turn_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    first = Terminal(path)
    first.wait_for("> ")
    first.type("say one\n")
    first.wait_for("\none")
    first.wait_for("> ")
    first.type("say two\n")
    os.killpg(first.process.pid, signal.SIGKILL)
    first.close()
    done = talk(path, "say three\n/history\n", "-c")
    assert "user: say one\nassistant: one\n" in done.stdout
    assert done.stdout.endswith("user: say three\nassistant: three\n")
