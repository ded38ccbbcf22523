"""The command line: what each command prints to stdout and stderr, its exit code, pipes, settings, the log and the doctor."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from select import select
from typing import Any
from urllib.parse import urlencode

import httpx
import msgspec
import pytest

from llm_rest import __version__, wires
from llm_rest.cli import BROKEN_PIPE, CUT, FAILED, INTERRUPTED, LOST, USAGE, main
from llm_rest.cli.parser import parser
from llm_rest.cli.question import schema_of
from llm_rest.errors import ConfigError
from llm_rest.responses import Request
from llm_rest.responses.events import TERMINAL
from llm_rest.simulator import handle_stream
from llm_rest.vendors.rows import DIALECTS, VENDORS
from tests.support.legal import faults
from tests.support.streams import read

SAMPLE = '{"model":"claude-haiku-4-5","max_tokens":50,"messages":[{"role":"user","content":"hi"}]}'
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
SIMULATED = ("-m", "simulator/x")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests have no keys and settings of their environment."""
    for name in [*os.environ]:
        if name.startswith("LLM_REST_") or re.search("KEY|TOKEN|BASE_URL|ENDPOINT|HOST", name):
            monkeypatch.delenv(name)


class Shell:
    """Runs commands in this process, in an empty home."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], home: Path) -> None:
        self.home = home
        self._monkeypatch, self._captured = monkeypatch, capfd
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
        monkeypatch.setenv("XDG_STATE_HOME", str(home))

    def __call__(self, *arguments: str, stdin: str | bytes = "") -> tuple[int, str, str]:
        """The exit code, stdout and stderr."""
        path = self.home / "stdin"
        path.write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
        with (path if stdin else Path("/dev/null")).open("rb") as source:
            self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
            try:
                code = main(arguments)
            except SystemExit as exit:
                code = int(exit.code or 0)
        captured = self._captured.readouterr()
        return code, captured.out, captured.err

    def settings(self, text: str) -> None:
        path = self.home / "llm-rest" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    return Shell(monkeypatch, capfd, tmp_path)


def shell(command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command in a shell, with `llm-rest` standing for this installation."""
    command = command.replace("llm-rest", f"{sys.executable} -m llm_rest")
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **env}
    )


# --- help -----------------------------------------------------------------------------------------------------------


def test_help_is_printed_without_a_command_and_has_80_columns(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    whole = parser()
    (commands,) = (one.choices for one in whole._actions if isinstance(one.choices, dict))
    for command in (whole, *commands.values()):
        assert [line for line in command.format_help().splitlines() if len(line) > 80] == []
    code, out, _ = run()
    assert (code, out) == (0, whole.format_help())
    assert [name for name in commands if name not in out] == []
    assert run("--version")[:2] == (0, f"llm-rest {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("sing",),
        ("convert", "--from", "morse"),
        ("serve",),
        ("ask", "hi", "-o", "top_p", "1"),
        ("convert", "--kind", "stream", "--from", "openai_chat", "--to", "openai_chat", "--lines"),
    ],
)
def test_wrong_usage_is_one_line_below_the_usage(run: Shell, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (USAGE, "")
    assert "error:" in err.splitlines()[-1] or err.startswith("llm-rest: --lines")


def test_help_and_conversion_load_neither_rich_nor_the_server() -> None:
    code = (
        "import sys; from llm_rest.cli import main; from llm_rest.cli.parser import parser; parser().format_help(); "
        "main(['vendors', '--json']); "
        "print([m for m in ('rich', 'starlette', 'uvicorn', 'httpx') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


# --- convert --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stdin", "arguments", "where"),
    [
        ("", (), "$"),
        ("{", (), "$"),
        ("[]", (), "$"),
        ('{"model": 5}', (), "$.model"),
        (f"{SAMPLE}\n{{", ("--lines",), "line 2"),
        (SAMPLE.replace('"hi"', "5"), (), "$.messages[0].content"),
    ],
)
def test_an_error_in_the_input_names_its_place(run: Shell, stdin: str, arguments: tuple[str, ...], where: str) -> None:
    code, _, err = run("convert", "--from", "anthropic_messages", "--to", "openai_chat", *arguments, stdin=stdin)
    assert code == USAGE
    assert err.startswith("llm-rest: ")
    assert where in err
    assert len(err.splitlines()) == 1


def test_losses_are_a_table(run: Shell) -> None:
    document = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    lines = "\n\n".join(json.dumps({**document, "top_k": k}) for k in (5, 6))
    arguments = ("convert", "--from", "anthropic_messages", "--to", "openai_responses", "--lines")
    code, out, err = run(*arguments, stdin=lines)
    assert (code, len(out.splitlines()), err[:21]) == (0, 2, "note: line 1: top_k: ")
    code, out, err = run(*arguments, "--report", "--strict", stdin=lines)
    assert (code, len(out.splitlines())) == (LOST, 2)
    table = err.splitlines()
    assert table[0].split() == ["lost", "at", "how", "what", "times"]
    assert (table[1].split()[:2], table[1].split()[-1], len(table)) == (["top_k", "dropped"], "2", 2)


# --- convert a stream -----------------------------------------------------------------------------------------------


def frames(name: str, script: str = "pieces 3\nsay Hello.") -> list[bytes]:
    """What the simulator streams on a wire, event by event."""
    wire, dialect = wires.load(name), DIALECTS[name]()
    request = Request(model="m", input=script, max_output_tokens=99, stream=True)
    body, _ = wire.encode_request(request, dialect=dialect)
    route = wire.route(request, dialect=dialect, stream=True)
    path = f"{route.path}?{urlencode(route.query)}"
    status, _, pieces = handle_stream("POST", path, route.headers, msgspec.json.encode(body))
    assert status == 200
    return [piece for piece in pieces if isinstance(piece, bytes)]


def streamed(source: str, target: str) -> tuple[str, ...]:
    return ("convert", "--kind", "stream", "--from", source, "--to", target)


@pytest.mark.parametrize(("source", "target"), [*pairwise([*wires.NAMES, wires.NAMES[0]])])
def test_a_stream_is_converted_while_it_is_read(monkeypatch: pytest.MonkeyPatch, source: str, target: str) -> None:
    """BUGS 26"""
    pieces = frames(source)
    first = next(i for i, piece in enumerate(pieces) if b'"Hel"' in piece) + 1
    (theirs, our_end), (ours, their_end) = os.pipe(), os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(theirs))
    monkeypatch.setattr(sys, "stdout", os.fdopen(their_end, "w"))
    with (
        ThreadPoolExecutor(1) as pool,
        os.fdopen(our_end, "wb", 0) as stdin,
        sys.stdin,
        os.fdopen(ours, "rb", 0) as out,
    ):
        code = pool.submit(main, streamed(source, target))
        stdin.write(b"".join(pieces[:first]))
        begun = b""
        while b'"Hel"' not in begun:
            assert select([out], [], [], 30)[0], begun
            begun += out.read(65536)
        assert b"lo." not in begun
        stdin.write(b"".join(pieces[first:]))
        stdin.close()
        assert code.result(30) == 0
        sys.stdout.close()
        assert faults(read(target, [begun + out.read()])) == []


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_truncated_stream_is_converted_so_far_and_has_an_exit_code_of_its_own(run: Shell, wire: str) -> None:
    sent = frames(wire)
    last = max(i for i, piece in enumerate(sent) if b"lo." in piece and b"Hello" not in piece) + 1
    code, out, err = run(*streamed(wire, wire), stdin=b"".join(sent[:last]))
    assert code == CUT
    assert "lo." in out
    assert err.splitlines()[-1] == "llm-rest: the stream ended before its last event"
    assert not any(isinstance(event, TERMINAL) for event in read(wire, [out.encode()]))
    assert run(*streamed(wire, "openai_responses"))[:2] == (CUT, "")


@pytest.mark.parametrize("frame", ["data: {\n\n", 'data: {"type": "response.output_text.delta"}\n\n', "data: {"])
def test_a_malformed_event_is_named_by_its_line_after_the_output_before_it(run: Shell, frame: str) -> None:
    good = b"".join(frames("openai_responses")[:2]).decode()
    assert good.count("\n") == 6
    code, out, err = run(*streamed("openai_responses", "openai_chat"), stdin=good + frame)
    assert (code, "chat.completion.chunk" in out, "line 7: " in err) == (USAGE, True, True)
    assert len(err.splitlines()) == 1


def test_losses_of_a_stream_are_reported_at_its_end_and_fail_with_strict(run: Shell) -> None:
    stdin = b"".join(frames("openai_responses", "cite https://a.example A"))
    arguments = streamed("openai_responses", "anthropic_messages")
    code, out, err = run(*arguments, stdin=stdin)
    assert code == 0
    assert err.startswith("note: ")
    assert run(*arguments, "--strict", stdin=stdin) == (LOST, out, err)


# --- vendors and models ---------------------------------------------------------------------------------------------


def test_vendors_are_listed_with_the_variables_of_their_keys(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_secret_value")
    code, out, _ = run("vendors")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert (code, set(VENDORS) <= set(lines)) == (0, True)
    assert "GROQ_API_KEY" in lines["groq"]
    assert lines["groq"].endswith(" yes")
    assert not lines["openai"].endswith(" yes")
    rows = json.loads(run("vendors", "--json")[1])
    assert [(row["name"], row["wires"]) for row in rows] == [(row.name, list(row.wires)) for row in VENDORS.values()]
    one = run("vendors", "groq")[1]
    assert "https://api.groq.com/openai/v1" in one
    assert json.loads(run("vendors", "groq", "--json")[1])["key_set"] is True
    assert "secret" not in out + one
    code, _, err = run("vendors", "gorq")
    assert (code, "groq" in err) == (USAGE, True)
    assert [name for name in VENDORS if run("vendors", name)[0] != 0] == []


def test_models_are_listed_by_the_beginning_of_their_names(run: Shell) -> None:
    head, *rows = run("models", "claude-")[1].splitlines()
    assert head.startswith("model")
    assert all(row.startswith("claude-") for row in rows)
    assert {"prefix", "at", "tools", "source"} <= set(json.loads(run("models", "--json")[1])[0])
    code, _, err = run("models", "nobody-knows")
    assert (code, "nobody-knows" in err) == (0, True)


@pytest.mark.parametrize(
    "command", [("vendors",), ("vendors", "openrouter"), ("demo",), ("doctor",), ("models", "gpt")]
)
def test_tables_fit_80_columns(run: Shell, command: tuple[str, ...]) -> None:
    widest = max(run(*command)[1].splitlines(), key=len)
    assert len(widest) <= 80 or len(max(widest.split(), key=len)) > 30


# --- explain --------------------------------------------------------------------------------------------------------


def test_explain_shows_a_command_that_runs_and_no_key(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-value")
    code, out, err = run("explain", 'It\'s "hi"', "-m", "anthropic/claude-haiku-4-5", "--system", "Be brief.")
    assert (code, err) == (0, "")
    assert "secret" not in out
    assert '"x-api-key: $ANTHROPIC_API_KEY"' in out
    command = out.replace("curl", "printf '%s\\n'", 1)
    printed = shell(command, ANTHROPIC_API_KEY="found").stdout.splitlines()
    assert "https://api.anthropic.com/v1/messages" in printed
    assert "x-api-key: found" in printed
    body = json.loads(printed[-1])
    assert body["messages"][0]["content"] == 'It\'s "hi"'
    assert body["system"] == "Be brief."


def test_explain_shows_variables_checks_and_losses(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret-value")
    code, out, err = run("explain", "hi", "-m", "openai/gpt-4o", "--wire", "openai_chat", "--json")
    facts = json.loads(out)
    assert (code, err, facts["problems"]) == (0, "", [])
    assert facts["url"] == "https://api.openai.com/v1/chat/completions"
    assert facts["headers"]["Authorization"] == "Bearer $OPENAI_API_KEY"
    assert facts["body"]["messages"] == [{"role": "user", "content": "hi"}]
    out, err = run("explain", "hi", "-m", "openai/gpt-4.1", "-o", "seed=5")[1:]
    assert '"OpenAI-Organization: $OPENAI_ORG_ID"' in out
    assert "secret" not in out
    assert [line.split()[:2] for line in err.splitlines()] == [["lost", "at"], ["seed", "dropped"]]
    (run.home / "a.png").write_bytes(PNG)
    code, out, err = run("explain", "hi", "-m", "deepseek/deepseek-chat", "--image", str(run.home / "a.png"))
    assert (code, "curl" in out, "note: " in err) == (0, True, True), "the model does not take images"
    code, out, err = run("explain", "hi", *SIMULATED)
    assert (code, "http://127.0.0.1:8000/responses" in out, "llm-rest serve --simulate" in err) == (0, True, True)


# --- ask ------------------------------------------------------------------------------------------------------------


def test_ask_without_a_model_names_vendors_with_keys_or_asks_the_simulator(
    run: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run("ask", "hi")
    assert (code, out, "the simulator answers" in err) == (0, "hi\n", True)
    monkeypatch.setenv("GROQ_API_KEY", "gsk_secret_value")
    code, out, err = run("ask", "hi")
    assert (code, out) == (USAGE, "")
    assert "groq" in err
    assert "-m groq/<model>" in err
    assert "secret" not in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("hi", "-m", "openai/gpt-5.2"), USAGE, "OPENAI_API_KEY"),
        (("hi", "-m", "gpt-5.2"), USAGE, "names no vendor"),
        (("hi", "-m", "oppenai/gpt-5.2"), USAGE, "openai"),
        (("hi", "-m", "simulator/missing"), FAILED, "does not exist"),
        (("hi", "-m", "compatible/x", "--base-url", "http://127.0.0.1:9/v1"), FAILED, "cannot connect"),
        (SIMULATED, USAGE, "there is no prompt"),
        (("hi", *SIMULATED, "-o", "temprature=1"), USAGE, "temperature"),
        (("hi", *SIMULATED, "--image", "nowhere.png"), USAGE, "nowhere.png"),
        (("hi", *SIMULATED, "--file", "nowhere.pdf"), USAGE, "nowhere.pdf"),
        (("hi", *SIMULATED, "--schema", "nowhere.json"), USAGE, "nowhere.json"),
        (("hi", *SIMULATED, "--schema", "/dev/null"), USAGE, "/dev/null is not JSON"),
        (("hi", *SIMULATED, "--schema", "age years"), USAGE, "there is no type 'years'"),
        (("hi", *SIMULATED, "--schema", "{nonsense"), USAGE, "--schema is not JSON"),
        (("fail 401 No such key.", *SIMULATED), FAILED, "simulator answered 401: No such key."),
        (("refuse No.", *SIMULATED), FAILED, "the model refused: No."),
        (("length", *SIMULATED), FAILED, "the answer holds no text"),
        (("fail 503 Busy.", *SIMULATED, "--stream"), FAILED, "simulator answered 503: Busy."),
        (("refuse No.", *SIMULATED, "--stream"), FAILED, "the model refused: No."),
        (("say Half\nfail 503 Busy.", *SIMULATED, "--stream"), FAILED, "llm-rest: Busy."),
        (("say Half\nbreak", *SIMULATED, "--stream"), FAILED, "ended before its last event; make the call again"),
    ],
)
def test_a_call_that_fails_names_the_reason_in_one_line_after_what_was_streamed(
    run: Shell, arguments: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = run("ask", *arguments)
    assert (found, out) == (code, "Half\n" if arguments[0].startswith("say Half") else "")
    *notes, last = err.splitlines()
    assert last.startswith("llm-rest: ")
    assert message in last
    assert all(re.match("note: (attempt [12] failed|the answer is incomplete)", note) for note in notes)


def test_a_prompt_that_is_not_text_is_refused(run: Shell) -> None:
    code, out, err = run("ask", "hi", *SIMULATED, stdin=b"\xff\xfe")
    assert (code, out, err.startswith("llm-rest: stdin is not UTF-8 text: ")) == (USAGE, "", True)


@pytest.mark.parametrize(
    ("arguments", "stdin", "answer"),
    [
        (("say B",), "", "B\n"),
        (("ends the prompt",), "a file\n", "a file\n\nends the prompt\n"),
        ((), "say A", "A\n"),
        (("-",), "say A", "A\n"),
        (("say " + "x" * 99, "--max-output-tokens", "16"), "", "x" * 64 + "\n"),
        (("say x\nlength", "--stream"), "", "x\n"),
    ],
)
def test_piped_text_is_before_the_prompt(run: Shell, arguments: tuple[str, ...], stdin: str, answer: str) -> None:
    code, out, err = run("ask", *arguments, *SIMULATED, stdin=stdin)
    assert (code, out) == (0, answer)
    assert err == ("note: the answer is incomplete: max_output_tokens\n" if "x" in answer else "")


@pytest.mark.parametrize("wire", wires.NAMES)
def test_ask_prints_the_answer_while_it_is_streamed(monkeypatch: pytest.MonkeyPatch, wire: str) -> None:
    shown: list[str] = []

    class Watched(io.StringIO):
        def flush(self) -> None:
            shown.append(self.getvalue())

    monkeypatch.setattr(sys, "stdout", Watched())
    assert main(["ask", "pieces 3\nsay Hello.", "-m", "simulator/x", "--wire", wire, "--stream"]) == 0
    assert shown[:3] == ["Hel", "Hello.", "Hello.\n"]


def body(run: Shell, *arguments: str, stdin: bytes = b"") -> Any:
    """What would be sent."""
    return json.loads(run("explain", "hi", "-m", "openai/gpt-5.2", *arguments, "--json", stdin=stdin)[1])["body"]


def test_any_option_of_a_request_is_given_as_name_and_value(run: Shell) -> None:
    options = ("temperature=0.2", "reasoning.effort=low", 'metadata={"team":"a"}')
    sent = body(run, *(word for one in options for word in ("-o", one)))
    assert (sent["temperature"], sent["reasoning"]["effort"], sent["metadata"]) == (0.2, "low", {"team": "a"})


def test_files_of_any_kind_are_attached(run: Shell) -> None:
    (run.home / "a.txt").write_text("notes")
    (run.home / "b.png").write_bytes(PNG)
    urls = ("https://example.com/a.PNG?size=1", "https://example.com/report")
    files = (str(run.home / "a.txt"), str(run.home / "b.png"), *urls, "-")
    sent = body(run, *(word for one in files for word in ("--file", one)), stdin=b"%PDF-1.7")
    text, notes, png, picture, report, pdf = sent["input"][0]["content"]
    assert [part["type"] for part in (text, notes, png)] == ["input_text", "input_file", "input_image"]
    assert (text["text"], picture["image_url"], report["file_url"]) == ("hi", *urls)
    assert pdf["file_data"].startswith("data:application/pdf;")


@pytest.mark.parametrize("how", [(), ("--stream",), ("--schema", "name")])
def test_ask_continues_the_last_conversation(run: Shell, how: tuple[str, ...]) -> None:
    code, _, err = run("ask", "hi", "-c", *SIMULATED)
    assert (code, "no conversation to continue" in err) == (USAGE, True)
    assert run("ask", "say One.", "--log", "--system", "Be brief.", *SIMULATED)[0] == 0
    assert run("ask", 'json {"name":"Two"}', "-c", *how, *SIMULATED)[0] == 0
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


def test_an_answer_fits_the_fields_or_the_schema_or_is_requested_again(run: Shell) -> None:
    code, out, _ = run("ask", "a dog", "--schema", "name, age int", *SIMULATED)
    assert (code, {name: type(value) for name, value in json.loads(out).items()}) == (0, {"name": str, "age": int})
    schema = run.home / "when born.json"
    born = {"type": "integer", "minimum": 1800}
    schema.write_text(json.dumps({"type": "object", "properties": {"born": born}, "required": ["born"]}))
    code, out, _ = run("ask", 'json {"born": 5}', *SIMULATED, "--schema", str(schema))
    assert (code, json.loads(out)) == (0, {"born": 1800})
    assert run("ask", "say Nineteen hundred.\nlength", *SIMULATED, "--schema", str(schema))[:2] == (1, "")


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
    assert run("ask", "say one", *SIMULATED)[0] == 0
    code, _, err = run("logs")
    assert (code, "there is no file" in err) == (USAGE, True)
    run.settings("log = true")
    assert run("ask", "say two", *SIMULATED)[0] == 0
    assert run("ask", "say three", *SIMULATED, "--no-log")[0] == 0
    assert run("ask", "say four", *SIMULATED, "--system", "Be brief.")[0] == 0
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


def test_the_doctor_finds_what_is_wrong(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("doctor", *SIMULATED)
    assert code == 0
    assert "FAILED" not in out
    assert "completed" in out
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:secret@localhost")
    run.settings("modell = 1")
    code, out, _ = run("doctor", "-m", "simulator/missing")
    found = {line.split()[0]: line for line in out.splitlines() if "FAILED" in line}
    assert (code, [*found]) == (FAILED, ["settings", "proxy", "store", "call"])
    assert "secret" not in out


# --- demo, serve and the ends of a process --------------------------------------------------------------------------


def test_the_demo_talks_through_every_wire(run: Shell) -> None:
    code, out, _ = run("demo")
    assert code == 0, out
    rows = [line.split() for line in out.splitlines()[1:6]]
    assert [row[:3] for row in rows] == [[wire, "completed", "1"] for wire in wires.NAMES]
    assert {row[4] for row in rows} == {"12"}
    assert out.splitlines()[6:] == [
        "",
        "get_weather said: 4 °C and light rain in Oslo",
        "5 of 5 conversations ended with an answer",
    ]


def test_the_demo_fails_where_a_conversation_fails(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_rest.cli.demo.QUESTION", "fail 400 Not today.")
    code, out, _ = run("demo")
    assert code == FAILED
    assert "Not today." in out


@pytest.mark.parametrize("missing", ["starlette.applications", "uvicorn"])
def test_without_the_extra_serve_names_it_and_the_demo_runs_in_this_process(
    run: Shell, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    code, out, err = run("serve", "--simulate", "--port", "0")
    assert (code, out) == (USAGE, "")
    assert 'pip install "llm-rest[server]"' in err
    code, out, err = run("demo")
    assert (code, out.splitlines()[-1]) == (0, "5 of 5 conversations ended with an answer")
    assert 'pip install "llm-rest[server]"' in err


def test_a_taken_port_is_named(run: Shell) -> None:
    from llm_rest.server.app import serve_in_thread

    with serve_in_thread() as url:
        code, _, err = run("serve", "--simulate", "--port", url.rpartition(":")[2])
    assert code == USAGE
    assert "cannot listen on 127.0.0.1" in err


WRITES = {
    "ask": ["ask", "say Tromsø 東京 \N{SNOWMAN}", *SIMULATED],
    "ask-stream": ["ask", "--stream", "say Tromsø 東京 \N{SNOWMAN}", *SIMULATED],
    "explain": ["explain", "Tromsø 東京 \N{SNOWMAN}", *SIMULATED],
    "explain-json": ["explain", "--json", "Tromsø 東京 \N{SNOWMAN}", *SIMULATED],
    "convert": ["convert", "--from", "openai_responses", "--to", "openai_chat"],
}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
@pytest.mark.parametrize("command", WRITES)
def test_an_output_encoding_without_a_character_loses_no_answer(
    monkeypatch: pytest.MonkeyPatch, command: str, encoding: str
) -> None:
    """Characters that the terminal's encoding lacks are escaped; documents are always UTF-8."""
    document = '{"model": "m", "input": "Tromsø 東京 \N{SNOWMAN}"}'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(document.encode() if command == "convert" else b"")))
    monkeypatch.setattr(sys, "stdout", printed := io.TextIOWrapper(io.BytesIO(), encoding))
    assert main(WRITES[command]) == 0
    printed.flush()
    said = printed.buffer.getvalue().decode("utf-8" if command in ("convert", "explain-json") else encoding)  # type: ignore[attr-defined]
    assert "東京 \N{SNOWMAN}" in said.replace("\\u6771\\u4eac", "東京").replace("\\u2603", "\N{SNOWMAN}")


def test_serving_ends_with_an_interrupt() -> None:
    command = [sys.executable, "-m", "llm_rest", "serve", "--simulate", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        said = server.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        assert httpx.post(f"{found[0]}/v1/responses", json={"model": "m", "input": "hi"}).status_code == 200
        server.send_signal(signal.SIGINT)
        assert (server.wait(20), server.stderr.read()) == (0, "")


def test_an_interrupt_is_no_traceback(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("llm_rest.cli.convert.convert", interrupted)
    code, _, err = run("convert", "--from", "openai_chat", "--to", "openai_chat", stdin="{}")
    assert (code, err) == (INTERRUPTED, "llm-rest: interrupted\n")


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    done = shell(f"for i in $(seq 3000); do echo '{SAMPLE}'; done | {{ llm-rest convert --from anthropic_messages "
                 "--to openai_chat --lines; echo code $? >&2; } | head -n 1")  # fmt: skip
    assert done.stderr.strip() == f"code {BROKEN_PIPE}"
    assert len(done.stdout.splitlines()) == 1


def test_an_output_that_takes_nothing_is_no_traceback() -> None:
    full, closed = shell("llm-rest models > /dev/full"), shell("llm-rest models >&-")
    assert (full.returncode, full.stderr) == (1, "llm-rest: the answer cannot be written: No space left on device\n")
    assert (closed.returncode, closed.stderr) == (0, "")


def test_tables_are_plain_in_a_pipe_and_pretty_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from llm_rest.cli import tables

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def shown(stream: io.StringIO) -> str:
        monkeypatch.setattr(sys, "stdout", stream)
        tables.show(("a", "b"), [("1", "[red]2"), ("333", "4")])
        return stream.getvalue()

    plain = "a    b\n1    [red]2\n333  4\n"
    assert shown(io.StringIO()) == plain
    assert "[red]2" in shown(Terminal())
    assert shown(Terminal()) != plain
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert shown(Terminal()) == plain
