"""The command line in a shell: pipes, options, settings, schemas as fields, the log, and the doctor."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from llm_rest.cli import FAILED, LOST, USAGE, main
from llm_rest.cli.parser import parser
from llm_rest.cli.question import schema_of
from llm_rest.errors import ConfigError
from llm_rest.vendors.rows import VENDORS

MODEL = ("-m", "simulator/x")


class Shell:
    """Runs commands in this process, in an empty home."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], home: Path) -> None:
        self.home = home
        self._monkeypatch, self._captured = monkeypatch, capfd
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
        monkeypatch.setenv("XDG_STATE_HOME", str(home))
        for name in ("LLM_REST_MODEL", "LLM_REST_STORE", "LLM_REST_CONFIG", "OPENAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)

    def __call__(self, *arguments: str, piped: bytes | None = None) -> tuple[int, str, str]:
        """The exit code, stdout and stderr; `piped` is what a pipe gives to stdin."""
        path = self.home / "stdin"
        path.write_bytes(piped or b"")
        with (Path("/dev/null") if piped is None else path).open("rb") as source:
            self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
            code = main(arguments)
        captured = self._captured.readouterr()
        return code, captured.out, captured.err

    def settings(self, text: str) -> None:
        path = self.home / "llm-rest" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    return Shell(monkeypatch, capfd, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "piped", "answer"),
    [
        (("say B",), None, "B\n"),
        (("ends the prompt",), b"a file\n", "a file\n\nends the prompt\n"),
        ((), b"say A", "A\n"),
        (("-",), b"say A", "A\n"),
        (("say B",), b"", "B\n"),
    ],
)
def test_piped_text_stands_before_the_prompt(
    run: Shell, arguments: tuple[str, ...], piped: bytes | None, answer: str
) -> None:
    assert run("ask", *arguments, *MODEL, piped=piped)[:2] == (0, answer)


@pytest.mark.parametrize(
    ("arguments", "piped", "message"),
    [
        ((), None, "there is no prompt"),
        (("hi",), b"\xff\xfe", "stdin is not UTF-8 text"),
        (("hi", "-o", "temprature=1"), None, "temperature"),
        (("hi", "--file", "nowhere.pdf"), None, "nowhere.pdf"),
        (("hi", "--schema", "nowhere.json"), None, "nowhere.json"),
        (("hi", "--schema", "age years"), None, "there is no type 'years'"),
        (("hi", "--schema", "{nonsense"), None, "--schema is not JSON"),
    ],
)
def test_what_cannot_be_asked_is_named(
    run: Shell, arguments: tuple[str, ...], piped: bytes | None, message: str
) -> None:
    code, out, err = run("ask", *arguments, *MODEL, piped=piped)
    assert (code, out) == (USAGE, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_any_option_of_a_request_is_given_as_name_and_value(run: Shell) -> None:
    options = ("temperature=0.2", "reasoning.effort=low", 'metadata={"team":"a"}')
    code, out, _ = run(
        "explain", "hi", "-m", "openai/gpt-5.2", *(word for one in options for word in ("-o", one)), "--json"
    )
    body = json.loads(out)["body"]
    assert code == 0
    assert (body["temperature"], body["reasoning"]["effort"], body["metadata"]) == (0.2, "low", {"team": "a"})


def test_files_of_any_kind_are_attached(run: Shell) -> None:
    (run.home / "a.txt").write_text("notes")
    (run.home / "b.png").write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d49484452"))
    files = ("--file", str(run.home / "a.txt"), "--file", str(run.home / "b.png"))
    _, out, _ = run("explain", "hi", "-m", "openai/gpt-5.2", *files, "--json")
    assert [part["type"] for part in json.loads(out)["body"]["input"][0]["content"]] == [
        "input_text",
        "input_file",
        "input_image",
    ]
    files = ("--file", "https://example.com/a.PNG?size=1", "--file", "https://example.com/report", "--file", "-")
    _, out, _ = run("explain", "hi", "-m", "openai/gpt-5.2", *files, "--json", piped=b"%PDF-1.7")
    text, picture, report, pdf = json.loads(out)["body"]["input"][0]["content"]
    assert (text["text"], picture["image_url"], report["file_url"]) == ("hi", files[1], files[3])
    assert pdf["file_data"].startswith("data:application/pdf;")


def test_a_failed_call_names_the_vendor_and_the_status(run: Shell) -> None:
    code, _, err = run("ask", "fail 401 No such key.", *MODEL)
    assert (code, err.partition(" (")[0]) == (FAILED, "llm-rest: simulator answered 401: No such key.")


@pytest.mark.parametrize("how", [(), ("--stream",), ("--schema", "name")])
def test_ask_continues_the_last_conversation(run: Shell, how: tuple[str, ...]) -> None:
    code, _, err = run("ask", "hi", "-c", *MODEL)
    assert (code, "no conversation to continue" in err) == (USAGE, True)
    assert run("ask", "say One.", "--log", "--system", "Be brief.", *MODEL)[0] == 0
    assert run("ask", 'json {"name":"Two"}', "-c", *how, *MODEL)[0] == 0
    stored = json.loads(run("logs", run("logs")[1].splitlines()[1].split()[0], "--json")[1])
    assert (stored["instructions"], len(stored["items"])) == ("Be brief.", 4)


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("name", {"name": {"type": "string"}}),
        ("name, age int", {"name": {"type": "string"}, "age": {"type": "integer"}}),
        ("tags str[]", {"tags": {"type": "array", "items": {"type": "string"}}}),
        ("ok bool: whether, or not", None),
        ("ok bool: whether or not", {"ok": {"type": "boolean", "description": "whether or not"}}),
        (
            "score float: from 0, to 1\nwhy",
            {"score": {"type": "number", "description": "from 0, to 1"}, "why": {"type": "string"}},
        ),
    ],
)
def test_a_schema_can_be_a_list_of_fields(text: str, properties: dict[str, object] | None) -> None:
    if properties is None:  # a comma begins the next field, "or not", and there is no type "not"
        with pytest.raises(ConfigError, match="no type 'not'"):
            schema_of(text)
        return
    assert schema_of(text)[1] == {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def test_an_answer_fits_the_fields(run: Shell) -> None:
    code, out, _ = run("ask", "a dog", "--schema", "name, age int", *MODEL)
    assert code == 0
    assert {name: type(value) for name, value in json.loads(out).items()} == {"name": str, "age": int}


def test_the_default_model_is_of_the_environment_before_the_settings(
    run: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.settings('model = "simulator/missing"')
    code, _, err = run("ask", "hi")
    assert (code, "missing" in err) == (FAILED, True)
    monkeypatch.setenv("LLM_REST_MODEL", "simulator/x")
    assert run("ask", "say Hi") == (0, "Hi\n", "")


@pytest.mark.parametrize("text", ["modell = 'a/b'", "model = 7", "= nonsense"])
def test_bad_settings_name_the_file(run: Shell, text: str) -> None:
    run.settings(text)
    code, _, err = run("ask", "hi")
    assert code == USAGE
    assert str(run.home / "llm-rest" / "config.toml") in err
    assert "model, log, store" in err


def test_what_was_asked_is_logged_where_that_is_switched_on(run: Shell) -> None:
    assert run("ask", "say one", *MODEL)[0] == 0
    code, _, err = run("logs")
    assert (code, "there is no file" in err) == (USAGE, True)
    run.settings("log = true")
    assert run("ask", "say two", *MODEL)[0] == 0
    assert run("ask", "say three", *MODEL, "--no-log")[0] == 0
    assert run("ask", "say four", *MODEL, "--system", "Be brief.")[0] == 0
    lines = run("logs")[1].splitlines()
    assert [line.split("  ")[-1].strip() for line in lines[1:]] == ["say four", "say two"]
    assert run("logs", "-n", "1")[1].splitlines()[1:] == lines[1:2]
    assert run("logs", "--search", "two")[1].splitlines()[1:] == lines[2:]
    shown = run("logs", lines[2].split()[0])[1]
    assert shown.splitlines()[1:] == ["", "user: say two", "", "assistant: two"]
    stored = json.loads(run("logs", lines[1].split()[0], "--json")[1])
    assert stored["instructions"] == "Be brief."
    code, _, err = run("logs", "conv_")
    assert (code, "beginning of 2 ids" in err) == (USAGE, True)
    code, _, err = run("logs", "nonsense")
    assert (code, "nonsense" in err) == (FAILED, True)


def test_one_vendor_is_shown_without_its_key(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_secret_value")
    code, out, _ = run("vendors", "groq")
    assert code == 0
    assert "https://api.groq.com/openai/v1" in out
    assert "secret" not in out
    assert json.loads(run("vendors", "groq", "--json")[1])["key_set"] is True
    code, _, err = run("vendors", "gorq")
    assert (code, "groq" in err) == (USAGE, True)


def test_the_doctor_finds_what_is_wrong(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("doctor", *MODEL)
    assert code == 0
    assert "FAILED" not in out
    assert "completed" in out
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:secret@localhost")
    run.settings("modell = 1")
    code, out, _ = run("doctor", "-m", "simulator/missing")
    found = {line.split()[0]: line for line in out.splitlines() if "FAILED" in line}
    assert (code, [*found]) == (FAILED, ["settings", "proxy", "store", "call"])
    assert "secret" not in out


def test_without_a_command_the_help_is_shown(run: Shell) -> None:
    code, out, _ = run()
    assert code == 0
    assert out == parser().format_help()


@pytest.mark.parametrize(
    "command", [("vendors",), ("vendors", "openrouter"), ("demo",), ("doctor",), ("models", "gpt")]
)
def test_tables_fit_80_columns(run: Shell, command: tuple[str, ...]) -> None:
    widest = max(run(*command)[1].splitlines(), key=len)
    assert len(widest) <= 80 or len(max(widest.split(), key=len)) > 30


def test_help_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    whole = parser()
    (commands,) = (one.choices for one in whole._actions if isinstance(one.choices, dict))
    for command in (whole, *commands.values()):
        assert [line for line in command.format_help().splitlines() if len(line) > 80] == []


def test_every_vendor_can_be_shown(run: Shell) -> None:
    assert [name for name in VENDORS if run("vendors", name)[0] != 0] == []


def test_losses_are_a_table(run: Shell) -> None:
    out, err = run("explain", "hi", "-m", "openai/gpt-4.1", "-o", "seed=5")[1:]
    assert out.startswith("curl")
    assert [line.split()[:2] for line in err.splitlines()] == [["lost", "at"], ["seed", "dropped"]]
    lines = b"\n".join(
        json.dumps(
            {"model": "m", "max_tokens": 9, "top_k": k, "messages": [{"role": "user", "content": "hi"}]}
        ).encode()
        for k in (5, 6)
    )
    wires = ("--from", "anthropic_messages", "--to", "openai_responses")
    code, out, err = run("convert", *wires, "--lines", "--report", "--strict", piped=lines)
    assert (code, len(out.splitlines())) == (LOST, 2)
    table = err.splitlines()
    assert table[0].split() == ["lost", "at", "how", "what", "times"]
    assert (table[1].split()[:2], table[1].split()[-1], len(table)) == (["top_k", "dropped"], "2", 2)
