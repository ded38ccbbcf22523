"""`demo`: a conversation with a tool through every wire, over HTTP on this machine, against the simulated vendor.

Each row is the same three steps with the real client: ask, run the tool that the model calls, send its result back.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import msgspec

from .. import wires
from ..client import Client
from ..errors import LLMError
from ..responses import FunctionCallOutput, FunctionTool, Message, Request
from ..server.app import running
from . import FAILED
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace

    from ..reply import Reply
    from ..responses import AnyItem

MOST_ROUNDS = 3
QUESTION = "What is the weather in Oslo?"

WEATHER = FunctionTool(
    name="get_weather",
    description="The weather in a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "examples": ["Oslo"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


def get_weather(arguments: str) -> str:
    """What the tool gives for arguments as JSON text."""
    return f"4 °C and light rain in {msgspec.json.decode(arguments)['city']}"


def run(arguments: Namespace) -> int:
    """Show the table; 1 if any conversation failed."""
    with running() as url:
        rows = [converse(wire, url) for wire in wires.NAMES]
    show(("vendor", "wire", "path", "status", "tool calls", "tokens", "ms", "answer"), rows)
    if all(row[3] == "completed" for row in rows):
        sys.stdout.write(f"\n{len(rows)} of {len(rows)} conversations ended with an answer\n")
        return 0
    return FAILED


def converse(wire: str, url: str) -> tuple[str, ...]:
    """One conversation, as a row of the table."""
    path = wires.load(wire).route(Request(model="simulator", input=QUESTION)).path
    started = time.perf_counter()
    with Client("simulator/simulator", wire=wire, base_url=url) as llm:
        try:
            replies = _conversation(llm)
        except LLMError as problem:
            return "simulator", wire, path, problem.kind, "", "", "", str(problem)
    milliseconds = (time.perf_counter() - started) * 1000
    calls = sum(len(reply.function_calls) for reply in replies)
    tokens = sum(int(reply.generation.metadata["total_tokens"]) for reply in replies)
    last = replies[-1]
    return "simulator", wire, path, last.status, str(calls), str(tokens), f"{milliseconds:.0f}", last.output_text


def _conversation(llm: Client) -> list[Reply]:
    """Ask; as long as the model calls tools, send what they give."""
    said: list[AnyItem] = [Message(role="user", content=QUESTION)]
    replies: list[Reply] = []
    while not replies or (replies[-1].function_calls and len(replies) < MOST_ROUNDS):
        reply = llm.generate(said, tools=[WEATHER])
        outputs = [
            FunctionCallOutput(call_id=call.call_id, output=get_weather(call.arguments))
            for call in reply.function_calls
        ]
        said += [*reply.output, *outputs]
        replies.append(reply)
    return replies
