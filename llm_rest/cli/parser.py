"""The command-line parser and its help texts."""

from __future__ import annotations

import argparse
from typing import Any

from .. import __version__
from ..wires import NAMES

_EXAMPLES = """\
examples:
  llm-rest demo
  llm-rest ask "Why is the sky blue?" -m openai/gpt-5.2
  llm-rest ask "What is this?" --file photo.png -m anthropic/claude-haiku-4-5
  git diff | llm-rest ask "Review this change" -o temperature=0
  llm-rest ask "Invent a dog" --schema "name, age int, tricks str[]"
  llm-rest chat -m openai/gpt-5.2
  llm-rest batch in.jsonl -o out.jsonl --template '{"input": "Sort: {{text}}"}'
  llm-rest explain "hi" -m groq/openai/gpt-oss-120b
  llm-rest convert --from anthropic_messages --to openai_chat < body.json
  llm-rest conform http://127.0.0.1:8000/v1 --wire openai_chat
  llm-rest serve --simulate
  llm-rest serve -m anthropic/claude-haiku-4-5 --alias fast=groq/llama-3

A model is written vendor/model; `llm-rest vendors` lists the vendors and the
variables that hold their keys. The default model is LLM_REST_MODEL, or
model = "vendor/model" in ~/.config/llm-rest/config.toml.
exit codes: 0 done, 1 the call failed, 2 wrong usage or input, 3 losses under
--strict or failed rows, 4 the stream on stdin was cut or `batch` stopped early,
130 interrupted, 141 output closed
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; its result names the module that runs the command."""
    whole = argparse.ArgumentParser(
        prog="llm-rest",
        description="One typed format, OpenAI Responses, in front of every LLM vendor.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"llm-rest {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="command", title="commands")
    ask = _add(commands, "ask", "ask a model and print its answer")
    _add_question(ask)
    ask.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        help="stream the answer (default: on a terminal)",
    )
    ask.add_argument(
        "--log",
        action=argparse.BooleanOptionalAction,
        help="store prompt and answer for `logs` (default: as in the settings)",
    )
    _stored(ask)
    _chat(_add(commands, "chat", "talk to a model, turn by turn; /help lists the commands"))
    _explain(_add(commands, "explain", "show the HTTP request that `ask` would send, as a curl command; sends nothing"))
    _batch(
        _add(
            commands, "batch", "answer every line of a file, each exactly once; the same command again resumes the run"
        )
    )
    _add(commands, "demo", "run a conversation with a tool through every wire, against a simulated vendor")
    _serve(_add(commands, "serve", "serve every wire over HTTP"))
    _convert(
        _add(commands, "convert", "turn a request, an answer or a stream of one wire into another's, stdin to stdout")
    )
    _logs(_add(commands, "logs", "list the stored conversations, or show one"))
    vendors = _add(commands, "vendors", "list the vendors, or show what is known of one")
    vendors.add_argument("name", nargs="?", help="show the details of this vendor")
    _listing(vendors)
    doctor = _add(commands, "doctor", "check the installation, settings, keys, proxies and certificates")
    doctor.add_argument("-m", "--model", metavar="VENDOR/MODEL", help="make one small call to this model as well")
    _conform(_add(commands, "conform", "check a server of any wire against the laws of this library"))
    models = _add(commands, "models", "list what is known about models")
    models.add_argument("prefix", nargs="?", default="", help="only models whose names begin so")
    _listing(models)
    return whole


def _add(commands: Any, name: str, what: str) -> argparse.ArgumentParser:  # argparse has no public name for its type
    added: argparse.ArgumentParser = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
    return added


def _batch(command: argparse.ArgumentParser) -> None:
    command.add_argument("input", help="a file of JSON lines, - for stdin; or `status`, `cancel` or `export` of a run")
    command.add_argument(
        "journal_file", nargs="?", metavar="JOURNAL", help="for these: the output of the run, or its journal"
    )
    command.add_argument("-o", "--output", metavar="FILE", help="the file for the output; its journal is FILE.journal")
    _model(command)
    command.add_argument(
        "--template", metavar="JSON", help="a request with {{field}} where the fields of a line go; or its file"
    )
    _request(command, "--option")
    command.add_argument(
        "--mode",
        choices=("live", "vendor", "auto", "background"),
        help="a call for each row (default), or the vendors' batch APIs; auto: these for more than 1,000 rows",
    )
    command.add_argument("--completion-window", choices=("2h", "8h"), help="for --mode background (default: 8h)")
    command.add_argument(
        "--concurrency", metavar="N", type=int, default=64, help="requests at a time (default: %(default)s)"
    )
    command.add_argument(
        "--rpm", metavar="N", type=float, help="requests per minute (default: learned from the answers)"
    )
    command.add_argument("--tpm", metavar="N", type=float, help="tokens per minute (default: learned from the answers)")
    command.add_argument("--timeout", metavar="S", type=float, help="seconds for a row with all its attempts")
    command.add_argument("--attempts", metavar="N", type=int, help="the most requests for a row (default: 5)")
    command.add_argument("--limit", metavar="N", type=int, help="only the first N lines; without it the run continues")
    command.add_argument(
        "--order", choices=("input", "arrival"), default="input", help="the order of the output (default: %(default)s)"
    )
    for name, what in (
        ("dry-run", "count rows, duplicates, tokens and losses; send nothing"),
        ("dedupe", "send equal rows once"),
        ("group-by-prefix", "send rows that begin alike one after the other, for the vendor's prompt cache"),
        ("full", "write the whole response of each row"),
        ("openai-lines", "write lines in the format of OpenAI's batch output"),
        ("keep-outputs", "keep in the journal what is in the output, for `export`"),
        ("at-most-once", "rows that were in flight when a run was killed fail instead of being sent again"),
        ("retry-failed", "send the rows again that failed"),
        ("fresh", "start over: replace the journal and the output"),
        ("json", "print the state as JSON on stderr, every 5 seconds"),
    ):
        command.add_argument(f"--{name}", action="store_true", help=what)
    command.add_argument(
        "--max-failures", metavar="N", help="stop after so many failed rows, or at a part of all, such as 5%%"
    )
    command.add_argument("--max-cost", metavar="USD", type=float, help="stop when the replies have cost so much")


def _add_question(command: argparse.ArgumentParser) -> None:
    command.add_argument("text", nargs="?", help="the prompt; piped text is put before it")
    _model(command)
    command.add_argument(
        "--file",
        "--image",
        metavar="FILE",
        action="append",
        default=[],
        help="an image, PDF, document or text file, its URL, or - for stdin; may be repeated",
    )
    _request(command, "-o", "--option")


def _request(command: argparse.ArgumentParser, *option: str) -> None:
    command.add_argument("--system", metavar="TEXT", help="the system prompt")
    command.add_argument(
        "--schema",
        metavar="SCHEMA",
        help="a JSON Schema for the answer: a file, JSON, or fields such as 'name, age int, tags str[]'",
    )
    command.add_argument(
        *option,
        type=_pair,
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="any option of the request, as JSON or text, such as temperature=0.2 or reasoning.effort=low; may be repeated",
    )
    command.add_argument("--max-output-tokens", metavar="N", type=int, help="the most tokens of the answer")


def _pair(text: str) -> str:
    if not text.partition("=")[1] or text.startswith("="):
        raise argparse.ArgumentTypeError(f"{text} has no value; write {text.strip('=') or 'name'}=value")
    return text


def _model(command: argparse.ArgumentParser) -> None:
    command.add_argument("-m", "--model", metavar="VENDOR/MODEL", help="the model, such as openai/gpt-5.2")
    _wire(command, "--wire", "the wire format, where the vendor has several")
    command.add_argument("--base-url", metavar="URL", help="another base URL than the vendor's own")


def _store(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--store",
        metavar="FILE",
        help="the SQLite file of conversations (default: $LLM_REST_STORE, else llm-rest/conversations.db in the user's state)",
    )


def _wire(command: argparse.ArgumentParser, name: str, what: str, **options: Any) -> None:
    command.add_argument(name, metavar="WIRE", choices=NAMES, help=f"{what}: {', '.join(NAMES)}", **options)


def _stored(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-c", "--continue", dest="continues", action="store_true", help="continue the last conversation"
    )
    _store(command)


def _chat(command: argparse.ArgumentParser) -> None:
    _model(command)
    command.add_argument("--system", metavar="TEXT", help="the system prompt")
    _stored(command)
    command.add_argument("--max-items", metavar="N", type=int, help="the most items of the history that are sent")


def _logs(command: argparse.ArgumentParser) -> None:
    command.add_argument("id", nargs="?", help="the conversation to show; its first letters are enough")
    command.add_argument("-n", "--limit", metavar="N", type=int, default=10, help="how many (default: %(default)s)")
    command.add_argument("--search", metavar="TEXT", help="only those that contain this text")
    _store(command)
    _listing(command)


def _explain(command: argparse.ArgumentParser) -> None:
    _add_question(command)
    command.add_argument("--json", action="store_true", help="print the facts as JSON")


def _serve(command: argparse.ArgumentParser) -> None:
    answers = command.add_mutually_exclusive_group(required=True)
    answers.add_argument("--simulate", action="store_true", help="answer with the simulated vendor")
    answers.add_argument(
        "-m",
        "--model",
        metavar="VENDOR/MODEL",
        action="append",
        default=[],
        help="a model to serve; the first one is the default for other names",
    )
    answers.add_argument("--config", metavar="FILE", help="a TOML file with models, callers and limits")
    command.add_argument(
        "--alias", metavar="NAME=VENDOR/MODEL", action="append", default=[], help="another name for a model"
    )
    command.add_argument("--keep", metavar="FILE", help="store conversations in this SQLite file instead of in memory")
    command.add_argument(
        "--token-env",
        metavar="NAME",
        action="append",
        default=[],
        help="a variable that holds an access token; needed off this machine",
    )
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    command.add_argument("--port", type=int, default=8000, help="the port to listen on (default: %(default)s)")


def _conform(command: argparse.ArgumentParser) -> None:
    command.add_argument("url", metavar="URL", help="the server's base URL, as for base_url=")
    _wire(command, "--wire", "the wire it speaks", required=True)
    command.add_argument("-m", "--model", default="any", help="the name of the model there (default: %(default)s)")
    command.add_argument(
        "--key-env", metavar="NAME", help="the variable that holds the API key; none is sent without it"
    )
    command.add_argument("--law", metavar="NAME", action="append", default=[], help="only this law; may be repeated")
    _listing(command)


def _convert(command: argparse.ArgumentParser) -> None:
    _wire(command, "--from", "the wire of the document on stdin", dest="source", required=True)
    _wire(command, "--to", "the wire to convert to; may be the same", dest="target", required=True)
    command.add_argument(
        "--kind", choices=("request", "response", "stream"), default="request", help="what it is (default: %(default)s)"
    )
    command.add_argument("--lines", action="store_true", help="JSON lines: one document per line, in and out")
    command.add_argument("--report", action="store_true", help="print a table of all losses at the end, on stderr")
    command.add_argument("--strict", action="store_true", help="exit with 3 where something was lost")


def _listing(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")
