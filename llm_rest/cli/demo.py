"""`demo`: a conversation with a tool through every wire, over HTTP on this machine, against the simulated vendor.

Each row is a run of the real client: it calls the model, runs the tool that the model calls, sends the result back, and streams
the answers. Without the extra `server` the simulator runs inside this process.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

from .. import wires
from ..client.client import Client
from ..errors import ConfigError, LLMError
from . import FAILED, note
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace

QUESTION = "What is the weather in Oslo?"


def get_weather(city: Literal["Oslo", "Tromsø"]) -> str:
    """The weather in a city."""
    return f"4 °C and light rain in {city}"


def run(arguments: Namespace) -> int:
    """Show the table; 1 if any conversation failed."""
    with ExitStack() as stack:
        try:
            from ..server.app import serve_in_thread

            url = stack.enter_context(serve_in_thread())
        except (ConfigError, ImportError):
            url = None
            note('over HTTP with the extra server (pip install "llm-rest[server]"); without it, inside this process')
        results = [converse(wire, url) for wire in wires.NAMES]
    show(("wire", "status", "tool calls", "tokens", "pieces", "ms"), [result[:-1] for result in results])
    for answer in dict.fromkeys(result[-1] for result in results):
        sys.stdout.write(f"\n{answer}\n")
    done = sum(result[1] == "completed" for result in results)
    sys.stdout.write(f"{done} of {len(results)} conversations ended with an answer\n")
    return 0 if done == len(results) else FAILED


def converse(wire: str, url: str | None) -> tuple[str, ...]:
    """One conversation, as a row of the table with the answer at its end."""
    started = time.perf_counter()
    with Client("simulator/simulator", wire=wire, base_url=url) as llm:
        try:
            conversation = llm.run(QUESTION, tools=[get_weather])
            with conversation.stream() as events:
                pieces = list(events.text)
            reply = conversation.result()
        except LLMError as problem:
            return wire, problem.kind, "", "", "", "", str(problem)
    milliseconds = (time.perf_counter() - started) * 1000
    calls, tokens = conversation.state.statistics.total, reply.info.metadata["total_tokens"]
    status = reply.status if "".join(pieces) == reply.output_text else "stream differs"
    return wire, status, str(calls), tokens, str(len(pieces)), f"{milliseconds:.0f}", reply.output_text
