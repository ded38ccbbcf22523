"""`demo`: a conversation with a tool through every wire, over HTTP on this machine, against the simulated vendor.

Each row is the same steps with the real client: ask, run the tool that the model calls, send its result back, and have the
last answer once more as a stream.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import msgspec

from .. import wires
from ..client.client import Client
from ..errors import LLMError
from ..responses import FunctionCallOutput, FunctionTool, Message, Request
from ..server.app import serve_in_thread
from . import FAILED
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace

    from ..client.reply import Reply
    from ..responses import AnyItem

MOST_ROUNDS = 3
QUESTION = "What is the weather in Oslo?"

WEATHER = FunctionTool(
    name="get_weather",
    description="The weather in a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Oslo", "Bergen", "Tromsø"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


def get_weather(arguments: str) -> str:
    """What the tool gives for arguments as JSON text."""
    return f"4 °C and light rain in {msgspec.json.decode(arguments)['city']}"


def run(arguments: Namespace) -> int:
    """Show the table; 1 if any conversation failed."""
    with serve_in_thread() as url:
        rows = [converse(wire, url) for wire in wires.NAMES]
    show(("vendor", "wire", "path", "status", "tool calls", "tokens", "streamed", "ms", "answer"), rows)
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
            replies, pieces = _conversation(llm)
        except LLMError as problem:
            return "simulator", wire, path, problem.kind, "", "", "", "", str(problem)
    milliseconds = (time.perf_counter() - started) * 1000
    calls = sum(len(reply.function_calls) for reply in replies)
    tokens = sum(int(reply.info.metadata["total_tokens"]) for reply in replies)
    last = replies[-1]
    status = last.status if "".join(pieces) == last.output_text else "streamed otherwise"
    came = f"in {len(pieces)} pieces"
    return "simulator", wire, path, status, str(calls), str(tokens), came, f"{milliseconds:.0f}", last.output_text


def _conversation(llm: Client) -> tuple[list[Reply], list[str]]:
    """Ask; as long as the model calls tools, send what they give. The answers, and the last one's text as it is streamed."""
    said: list[AnyItem] = [Message(role="user", content=QUESTION)]
    asked: list[AnyItem] = []
    replies: list[Reply] = []
    while not replies or (replies[-1].function_calls and len(replies) < MOST_ROUNDS):
        asked = list(said)
        reply = llm.generate(asked, tools=[WEATHER])
        outputs = [
            FunctionCallOutput(call_id=call.call_id, output=get_weather(call.arguments))
            for call in reply.function_calls
        ]
        said += [*reply.output, *outputs]
        replies.append(reply)
    with llm.stream(asked, tools=[WEATHER]) as events:
        return replies, list(events.text)
