"""Plays a client that is installed for the occasion against the gateway, in front of a simulated vendor of every wire."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llm_rest import wires
from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Upstream
from llm_rest.server.gateway import Gateway
from llm_rest.server.history import StoredHistory
from llm_rest.simulator import Simulator

TOKEN = "a-token-for-this-client-alone"
EXPECTED: list[dict[str, Any]] = [
    {"text": "Rain in Oslo.", "asked": ["Oslo"]},
    {"text": "Rain in Bergen, too.", "asked": ["Oslo", "Bergen"]},
]
TURNS = {"whole": EXPECTED, "streamed": EXPECTED}
"""What the program of a client prints, by mode."""

Command = Callable[[Path, str, str, str, str], list[str]]


def play(
    about: str,
    providers: tuple[str, ...],
    install: Callable[[Path], str],
    command: Command,
    modes: dict[str, list[dict[str, Any]]] = TURNS,
) -> int:
    """Play every mode with every provider of the client in front of every wire, and print a table; 1 where one failed."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--keep", type=Path, help="where the client is installed; a temporary directory otherwise")
    parser.add_argument("--only", help="one provider")
    options = parser.parse_args()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as scratch, serve_in_thread(Simulator()) as upstream:
        directory = (options.keep or Path(scratch)).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        print(f"installing in {directory} ...", file=sys.stderr)
        version = install(directory)
        models: dict[str, str | Upstream] = {
            wire: Upstream(model="simulator/x", base_url=upstream, wire=wire) for wire in wires.NAMES
        }
        gateway = Gateway(Config(models=models), history=StoredHistory())
        with serve_in_thread(gateway, access=AccessControl(tokens={"client": TOKEN})) as url:
            print(f"{version} -> gateway -> simulated vendor")
            print(f"{'':<18}" + "".join(f"{wire:<26}" for wire in wires.NAMES))
            for provider in providers if options.only is None else (options.only,):
                cells: list[str] = []
                for wire in wires.NAMES:
                    problem = ""
                    for mode, expected in modes.items():
                        made = command(directory, url, provider, wire, mode)
                        problem = problem or _problem(made, directory, expected)
                    cells.append("FAILED" if problem else "two turns")
                    if problem:
                        failures.append(f"{provider} in front of {wire}: {problem}")
                print(f"{provider:<18}" + "".join(f"{cell:<26}" for cell in cells))
    print(*failures, sep="\n")
    return 1 if failures else 0


def _problem(command: list[str], directory: Path, expected: list[dict[str, Any]]) -> str:
    """What went wrong; empty where the program printed what it should."""
    environment = {**os.environ, "LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
    )
    came = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if came == expected:
        return ""
    return f"{command[-1]}: {came[-1:]} {done.stderr.strip()[-1200:]}"
