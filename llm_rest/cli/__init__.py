"""The command line: `llm-rest`, or `python -m llm_rest`.

`main` parses the arguments, runs one command and returns its exit code. Every command is a module with one
function that takes the parsed arguments; it is imported when it is called, so that `--help` stays fast. Answers are written to
the standard output, notes and errors to the standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the call failed: the vendor's answer, the network, a part of `demo`, `doctor`, `conform`; or the output cannot be written |
| 2 | nothing was done: wrong arguments, a missing key, bad JSON |
| 3 | `convert --strict`: something could not be carried; `batch`: some rows failed |
| 4 | `convert --kind stream`: the stream on stdin was cut before its end; `batch`: stopped before the end of the input |
| 130 | interrupted |
| 143 | `batch`: ended by SIGTERM |
| 141 | the reader of the output went away |
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..errors import LLMError

FAILED, USAGE, LOST, CUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; argparse's own exits (help, version, wrong usage) are raised."""
    from ..errors import ConfigError, DecodeError, LLMError
    from .parser import parser

    known = parser()
    arguments = known.parse_args(argv)
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # which the shell closed
        sys.stdout = io.TextIOWrapper(io.BytesIO(), "utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that the encoding lacks are escaped
            stream.reconfigure(errors="backslashreplace")
    if arguments.command is None:
        known.print_help()
        return 0
    try:
        code: int = import_module(f".{arguments.command}", __name__).run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Flushing the rest of the buffer at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as problem:
        complain(f"the answer cannot be written: {problem.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except (ConfigError, DecodeError) as problem:
        complain(str(problem))
        return USAGE
    except LLMError as problem:
        complain_of(problem)
        return FAILED
    return code


def complain(what: str) -> None:
    """Print an error as one line on the standard error."""
    sys.stderr.write(f"llm-rest: {what}\n")


def complain_of(problem: LLMError) -> None:
    """Print on stderr why a call failed, and the vendor where its answer is the cause."""
    answered = problem.status not in (None, 200) and problem.vendor
    complain(f"{problem.vendor} answered {problem.status}: {problem}" if answered else str(problem))


def note(what: str) -> None:
    """Print a note as one line on the standard error."""
    sys.stderr.write(f"note: {what}\n")


def write(text: str) -> None:
    """Print a piece of the answer without buffering."""
    sys.stdout.write(text)
    sys.stdout.flush()


def write_json(facts: Any) -> None:
    """Print data as a JSON document for other programs."""
    write_document(msgspec.json.format(msgspec.json.encode(facts)) + b"\n")


def write_document(document: bytes) -> None:
    """Write a document for other programs to the standard output now: as UTF-8, whatever the encoding of the terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(document)
    sys.stdout.buffer.flush()
