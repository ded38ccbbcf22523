"""The command line: what each command prints where, and with which exit code it ends."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from select import select
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import httpx
import msgspec
import pytest

from llm_rest import wires
from llm_rest.cli import BROKEN_PIPE, CUT, FAILED, INTERRUPTED, LOST, USAGE, main
from llm_rest.responses import Request
from llm_rest.responses.events import TERMINAL
from llm_rest.simulator import handle_stream
from llm_rest.vendors.rows import DIALECTS, VENDORS, NoAuth
from tests.support.legal import faults
from tests.support.streams import read

SAMPLE = '{"model":"claude-haiku-4-5","max_tokens":50,"messages":[{"role":"user","content":"hi"}]}'
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


ENDED_EARLY = "the stream from inproc:llm_rest.simulator (simulator) ended before its last event; make the call again"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have keys; these tests have none."""
    for vendor in VENDORS.values():
        for surface in vendor.surfaces:
            for way in vendor.ways(surface.wire):
                names = () if isinstance(way, NoAuth) else (way.env,) if isinstance(way.env, str) else way.env
                for name in names:
                    monkeypatch.delenv(name, raising=False)
        for entry in vendor.base_url_env:
            monkeypatch.delenv(entry if isinstance(entry, str) else entry.name, raising=False)


class Console:
    """Runs the command line in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """The exit code, and what went to stdout and stderr."""
        source = SimpleNamespace(buffer=io.BytesIO(stdin.encode()), isatty=lambda: False, read=lambda: stdin)
        self._monkeypatch.setattr(sys, "stdin", source)
        try:
            code = main(arguments)
        except SystemExit as exit:
            code = int(exit.code or 0)
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Console:
    return Console(monkeypatch, capsys)


def shell(command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command in a shell, with `llm-rest` standing for this installation."""
    command = command.replace("llm-rest", f"{sys.executable} -m llm_rest")
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **env}
    )


# --- help -----------------------------------------------------------------------------------------------------------


def test_help_names_every_command(run: Console) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in ("ask", "demo", "serve", "convert", "explain", "vendors", "models"):
        assert command in out


def test_the_version_is_printed(run: Console) -> None:
    from llm_rest import __version__

    assert run("--version")[:2] == (0, f"llm-rest {__version__}\n")


@pytest.mark.parametrize(
    "arguments", [("sing",), ("convert", "--from", "morse"), ("serve",), ("ask", "hi", "-o", "top_p", "1")]
)
def test_wrong_usage_is_said_in_one_line_below_the_usage(run: Console, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (USAGE, "")
    assert "error:" in err.splitlines()[-1]


def test_help_and_conversion_load_neither_rich_nor_the_server() -> None:
    code = (
        "import sys; from llm_rest.cli import main; from llm_rest.cli.parser import parser; parser().format_help(); "
        "main(['vendors', '--json']); "
        "print([m for m in ('rich', 'starlette', 'uvicorn', 'httpx') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


# --- convert --------------------------------------------------------------------------------------------------------


def test_json_lines_come_out_as_json_lines(run: Console) -> None:
    arguments = ("convert", "--from", "anthropic_messages", "--to", "openai_responses", "--lines")
    code, out, _ = run(*arguments, stdin=f"{SAMPLE}\n\n{SAMPLE}\n")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert all(json.loads(line)["model"] == "claude-haiku-4-5" for line in out.splitlines())


def test_losses_go_to_stderr_and_fail_only_under_strict(run: Console) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], "logit_bias": {"1": 5}})
    arguments = ("convert", "--from", "openai_chat", "--to", "openai_responses", "--lines")
    code, out, err = run(*arguments, stdin=body)
    assert code == 0
    assert err.startswith("note: line 1: ")
    assert "logit_bias" in err
    assert run(*arguments, "--strict", stdin=body) == (LOST, out, err)


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
def test_bad_json_is_an_error_that_says_where(run: Console, stdin: str, arguments: tuple[str, ...], where: str) -> None:
    code, _, err = run("convert", "--from", "anthropic_messages", "--to", "openai_chat", *arguments, stdin=stdin)
    assert code == USAGE
    assert err.startswith("llm-rest: ")
    assert where in err
    assert len(err.splitlines()) == 1


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


@pytest.mark.sample(4)
@pytest.mark.parametrize(("source", "target"), [*pairwise([*wires.NAMES, wires.NAMES[0]])])
def test_the_first_of_a_converted_stream_comes_out_before_the_last_went_in(source: str, target: str) -> None:
    """BUGS 26"""
    command = [sys.executable, "-m", "llm_rest", *streamed(source, target)]
    pieces = frames(source)
    first = next(i for i, piece in enumerate(pieces) if b'"Hel"' in piece) + 1
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"".join(pieces[:first]))
        begun = b""
        while b'"Hel"' not in begun:
            assert select([process.stdout], [], [], 30)[0], begun
            came = os.read(process.stdout.fileno(), 65536)
            assert came, begun
            begun += came
        assert b"lo." not in begun
        process.stdin.write(b"".join(pieces[first:]))
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(30) == 0
    assert faults(read(target, [begun + rest])) == []


@pytest.mark.parametrize("wire", wires.NAMES)
def test_a_stream_that_was_cut_is_printed_so_far_and_has_an_exit_code_of_its_own(run: Console, wire: str) -> None:
    sent = frames(wire)
    last = max(i for i, piece in enumerate(sent) if b"lo." in piece and b"Hello" not in piece) + 1
    code, out, err = run(*streamed(wire, wire), stdin=b"".join(sent[:last]).decode())
    assert code == CUT
    assert "lo." in out
    assert err.splitlines()[-1] == "llm-rest: the stream ended before its last event"
    assert not any(isinstance(event, TERMINAL) for event in read(wire, [out.encode()]))


def test_an_empty_stream_was_cut(run: Console) -> None:
    assert run(*streamed("openai_chat", "openai_responses"))[:2] == (CUT, "")


@pytest.mark.parametrize(
    ("frame", "where"),
    [
        ("data: {\n\n", "line 7: "),
        ('data: {"type": "response.output_text.delta"}\n\n', "line 7: "),
        ("data: {", "line 7: "),
    ],
    ids=["no JSON", "no event", "no end"],
)
def test_what_is_no_event_is_named_by_its_line_after_what_came_before_it(run: Console, frame: str, where: str) -> None:
    good = b"".join(frames("openai_responses")[:2]).decode()
    assert good.count("\n") == 6
    code, out, err = run(*streamed("openai_responses", "openai_chat"), stdin=good + frame)
    assert code == USAGE
    assert "chat.completion.chunk" in out
    assert where in err
    assert len(err.splitlines()) == 1


def test_losses_of_a_stream_are_told_at_its_end_and_fail_only_under_strict(run: Console) -> None:
    stdin = b"".join(frames("openai_responses", "cite https://a.example A")).decode()
    arguments = streamed("openai_responses", "anthropic_messages")
    code, out, err = run(*arguments, stdin=stdin)
    assert code == 0
    assert err.startswith("note: ")
    assert run(*arguments, "--strict", stdin=stdin) == (LOST, out, err)


def test_an_error_in_a_stream_is_converted_like_anything_else(run: Console) -> None:
    stdin = b"".join(frames("openai_responses", "say Half.\nfail 503 Busy.")).decode()
    code, out, _ = run(*streamed("openai_responses", "anthropic_messages"), stdin=stdin)
    assert code == 0
    assert "event: error" in out
    assert "Busy." in out


def test_a_stream_is_not_lines(run: Console) -> None:
    code, _, err = run(*streamed("openai_chat", "openai_chat"), "--lines")
    assert code == USAGE
    assert "--lines" in err


# --- vendors and models ---------------------------------------------------------------------------------------------


def test_vendors_are_listed_with_the_variables_of_their_keys(run: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_secret_value")
    code, out, _ = run("vendors")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert set(VENDORS) <= set(lines)
    assert "GROQ_API_KEY" in lines["groq"]
    assert lines["groq"].endswith(" yes")
    assert not lines["openai"].endswith(" yes")
    assert "secret" not in out


def test_vendors_as_json(run: Console) -> None:
    rows = json.loads(run("vendors", "--json")[1])
    assert [row["name"] for row in rows] == list(VENDORS)
    assert rows[0]["wires"][0] == "openai_responses"


def test_models_are_listed_by_the_beginning_of_their_names(run: Console) -> None:
    out = run("models", "claude-")[1]
    assert out.splitlines()[0].startswith("model")
    assert all(line.startswith("claude-") for line in out.splitlines()[1:])
    rows = json.loads(run("models", "--json")[1])
    assert {"prefix", "at", "tools", "source"} <= set(rows[0])


# --- explain --------------------------------------------------------------------------------------------------------


def test_explain_shows_a_command_that_runs_and_no_key(run: Console, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_explain_names_the_variables_of_other_headers_too(run: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret-value")
    out = run("explain", "hi", "-m", "openai/gpt-5.2")[1]
    assert '"OpenAI-Organization: $OPENAI_ORG_ID"' in out
    assert "secret" not in out


def test_explain_needs_no_key_and_reports_losses_and_checks(run: Console) -> None:
    code, out, err = run("explain", "hi", "-m", "openai/gpt-4o", "--wire", "openai_chat", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["url"] == "https://api.openai.com/v1/chat/completions"
    assert facts["headers"]["Authorization"] == "Bearer $OPENAI_API_KEY"
    assert facts["body"]["messages"] == [{"role": "user", "content": "hi"}]
    assert facts["problems"] == []


def test_explain_checks_images_against_the_model(run: Console, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    code, out, err = run("explain", "hi", "-m", "deepseek/deepseek-chat", "--image", str(picture))
    assert code == 0
    assert "curl" in out
    assert "note: " in err


def test_explain_shows_the_simulator_as_the_server_that_stands_for_it(run: Console) -> None:
    code, out, err = run("explain", "hi", "-m", "simulator/x")
    assert code == 0
    assert "http://127.0.0.1:8000/responses" in out
    assert "llm-rest serve --simulate" in err


# --- ask ------------------------------------------------------------------------------------------------------------


def test_ask_without_a_model_and_without_keys_asks_the_simulator_and_says_so(run: Console) -> None:
    code, out, err = run("ask", "hi")
    assert (code, out) == (0, "hi\n")
    assert "the simulator answers" in err


def test_ask_with_a_key_but_no_model_names_who_could_be_asked(run: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_secret_value")
    code, out, err = run("ask", "hi")
    assert (code, out) == (USAGE, "")
    assert "groq" in err
    assert "-m groq/<model>" in err
    assert "secret" not in err


@pytest.mark.parametrize("wire", wires.NAMES)
def test_ask_speaks_every_wire(run: Console, wire: str) -> None:
    assert run("ask", "say Hello.", "-m", "simulator/x", "--wire", wire) == (0, "Hello.\n", "")


def test_ask_reads_the_question_from_stdin(run: Console) -> None:
    assert run("ask", "-", "-m", "simulator/x", stdin="say Hello.\n")[:2] == (0, "Hello.\n")


def test_ask_shows_images(run: Console, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    assert run("ask", "Look", "-m", "simulator/x", "--image", str(picture))[:2] == (0, "Look\n[image]\n")


def test_ask_for_a_shape(run: Console, tmp_path: Path) -> None:
    schema = tmp_path / "when it was.json"
    schema.write_text(
        '{"type": "object", "properties": {"year": {"const": 1815}}, "required": ["year"], "additionalProperties": false}'
    )
    code, out, _ = run("ask", "When?", "-m", "simulator/x", "--schema", str(schema))
    assert (code, json.loads(out)) == (0, {"year": 1815})


def test_an_answer_that_does_not_fit_the_schema_is_asked_for_again(run: Console, tmp_path: Path) -> None:
    schema = tmp_path / "born.json"
    born = {"type": "integer", "minimum": 1800}
    schema.write_text(json.dumps({"type": "object", "properties": {"born": born}, "required": ["born"]}))
    code, out, _ = run("ask", 'json {"born": 5}', "-m", "simulator/x", "--schema", str(schema))
    assert (code, json.loads(out)) == (0, {"born": 1800})
    code, out, _ = run("ask", "say Nineteen hundred.\nlength", "-m", "simulator/x", "--schema", str(schema))
    assert (code, out) == (1, "")


@pytest.mark.parametrize(
    ("content", "message"), [(None, "No such file"), ("{", "is not JSON"), ("[]", "is not a JSON Schema")]
)
def test_a_bad_schema_file_is_named(run: Console, tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "s.json"
    if content is not None:
        path.write_text(content)
    code, _, err = run("ask", "hi", "-m", "simulator/x", "--schema", str(path))
    assert code == USAGE
    assert str(path) in err
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-m", "openai/gpt-5.2"), USAGE, "OPENAI_API_KEY"),
        (("-m", "gpt-5.2"), USAGE, "names no vendor"),
        (("-m", "oppenai/gpt-5.2"), USAGE, "openai"),
        (("-m", "simulator/missing"), FAILED, "does not exist"),
        (("-m", "simulator/x", "--image", "nowhere.png"), USAGE, "nowhere.png"),
        (("-m", "compatible/x", "--base-url", "http://127.0.0.1:9/v1"), FAILED, "cannot connect"),
    ],
)
def test_a_call_that_fails_says_why_in_one_line(
    run: Console, arguments: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = run("ask", "hi", *arguments)
    assert (found, out) == (code, "")
    assert message in err
    *retries, last = err.splitlines()
    assert last.startswith("llm-rest: ")
    assert [line.partition(" failed")[0] for line in retries] == ["note: attempt 1", "note: attempt 2"][: len(retries)]


def test_a_refusal_and_an_answer_without_text_are_failures(run: Console) -> None:
    assert run("ask", "refuse No.", "-m", "simulator/x") == (FAILED, "", "llm-rest: the model refused: No.\n")
    code, out, err = run("ask", "length", "-m", "simulator/x")
    assert (code, out) == (FAILED, "")
    assert err.splitlines() == [
        "note: the answer is incomplete: max_output_tokens",
        "llm-rest: the answer holds no text",
    ]


def test_a_cut_answer_is_printed_with_a_note(run: Console) -> None:
    code, out, err = run("ask", "say " + "x" * 99, "-m", "simulator/x", "--max-output-tokens", "16")
    assert (code, out) == (0, "x" * 64 + "\n")
    assert err == "note: the answer is incomplete: max_output_tokens\n"


@pytest.mark.parametrize("wire", wires.NAMES)
def test_ask_prints_the_answer_as_it_comes(monkeypatch: pytest.MonkeyPatch, wire: str) -> None:
    shown: list[str] = []

    class Watched(io.StringIO):
        def flush(self) -> None:
            shown.append(self.getvalue())

    monkeypatch.setattr(sys, "stdout", Watched())
    assert main(["ask", "pieces 3\nsay Hello.", "-m", "simulator/x", "--wire", wire, "--stream"]) == 0
    assert shown[:3] == ["Hel", "Hello.", "Hello.\n"]


@pytest.mark.parametrize(
    ("script", "code", "out", "err"),
    [
        ("say Half\nfail 503 Busy.", FAILED, "Half\n", "llm-rest: Busy.\n"),
        ("say Half\nbreak", FAILED, "Half\n", f"llm-rest: {ENDED_EARLY}\n"),
        ("fail 503 Busy.", FAILED, "", "llm-rest: simulator answered 503: Busy.\n"),
        ("refuse No.", FAILED, "", "llm-rest: the model refused: No.\n"),
        ("say Half\nlength", 0, "Half\n", "note: the answer is incomplete: max_output_tokens\n"),
    ],
)
def test_a_streamed_answer_that_does_not_end_well_says_so_on_stderr(
    run: Console, script: str, code: int, out: str, err: str
) -> None:
    found = run("ask", script, "-m", "simulator/x", "--stream")
    assert found[:2] == (code, out)
    assert [line for line in found[2].splitlines(keepends=True) if "retrying" not in line] == [err]


# --- demo, serve and the ends of a process --------------------------------------------------------------------------


def test_the_demo_talks_through_every_wire(run: Console) -> None:
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


def test_the_demo_fails_where_a_conversation_fails(run: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    from llm_rest.cli import demo

    monkeypatch.setattr(demo, "QUESTION", "fail 400 Not today.")
    code, out, _ = run("demo")
    assert code == FAILED
    assert "Not today." in out


@pytest.mark.parametrize("missing", ["starlette.applications", "uvicorn"])
def test_without_the_extra_serve_names_it_and_the_demo_runs_in_this_process(
    run: Console, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    code, out, err = run("serve", "--simulate", "--port", "0")
    assert (code, out) == (USAGE, "")
    assert 'pip install "llm-rest[server]"' in err
    code, out, err = run("demo")
    assert (code, out.splitlines()[-1]) == (0, "5 of 5 conversations ended with an answer")
    assert 'pip install "llm-rest[server]"' in err


def test_a_taken_port_is_named(run: Console) -> None:
    from llm_rest.server.app import serve_in_thread

    with serve_in_thread() as url:
        code, _, err = run("serve", "--simulate", "--port", url.rpartition(":")[2])
    assert code == USAGE
    assert "cannot listen on 127.0.0.1" in err


WRITES = {
    "ask": ["ask", "say Tromsø 東京 \N{SNOWMAN}", "-m", "simulator/x"],
    "ask-stream": ["ask", "--stream", "say Tromsø 東京 \N{SNOWMAN}", "-m", "simulator/x"],
    "explain": ["explain", "Tromsø 東京 \N{SNOWMAN}", "-m", "simulator/x"],
    "explain-json": ["explain", "--json", "Tromsø 東京 \N{SNOWMAN}", "-m", "simulator/x"],
    "convert": ["convert", "--from", "openai_responses", "--to", "openai_chat"],
}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("command", "encoding"), [("ask", "utf-8"), ("convert", "ascii"), *((command, "cp1252") for command in WRITES)]
)
def test_an_output_encoding_without_a_character_loses_no_answer(command: str, encoding: str) -> None:
    """Characters that the terminal's encoding lacks are escaped; documents are always UTF-8."""
    done = subprocess.run(
        [sys.executable, "-m", "llm_rest", *WRITES[command]],
        input='{"model": "m", "input": "Tromsø 東京 \N{SNOWMAN}"}'.encode(),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode()
    said = done.stdout.decode("utf-8" if command in ("convert", "explain-json") else encoding)
    assert "東京 \N{SNOWMAN}" in said.replace("\\u6771\\u4eac", "東京").replace("\\u2603", "\N{SNOWMAN}")


def test_serving_ends_with_an_interrupt() -> None:
    command = [sys.executable, "-m", "llm_rest", "serve", "--simulate", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        said = server.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        answer = httpx.post(f"{found[0]}/v1/responses", json={"model": "m", "input": "hi"})
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0
        assert server.stderr.read() == ""
    assert answer.status_code == 200


def test_an_interrupt_is_no_traceback(run: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    from llm_rest.cli import convert

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(convert, "convert", interrupted)
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


def test_models_that_nothing_is_known_of_are_named(run: Console) -> None:
    code, _, err = run("models", "nobody-knows")
    assert (code, "nobody-knows" in err) == (0, True)
