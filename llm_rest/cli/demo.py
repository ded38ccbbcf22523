"""`demo`: a conversation with a tool through every wire, over HTTP on this machine, against the simulated vendor.

Each row is the same steps with the real client: call the model, run the tool that it calls, send the result back, and stream the
last answer once more. Without the extra `server` the simulator runs inside this process.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from .. import wires
from ..client.client import Client
from ..errors import ConfigError, LLMError
from ..responses import FunctionCallOutput, FunctionTool, Message
from . import FAILED, note
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
            replies, pieces = _conversation(llm)
        except LLMError as problem:
            return wire, problem.kind, "", "", "", "", str(problem)
    milliseconds = (time.perf_counter() - started) * 1000
    calls = sum(len(reply.function_calls) for reply in replies)
    tokens = sum(int(reply.info.metadata["total_tokens"]) for reply in replies)
    last = replies[-1]
    status = last.status if "".join(pieces) == last.output_text else "stream differs"
    return wire, status, str(calls), str(tokens), str(len(pieces)), f"{milliseconds:.0f}", last.output_text


def _conversation(llm: Client) -> tuple[list[Reply], list[str]]:
    """Call until the model calls no more tools, and send their results. The answers, and the last one's text streamed."""
    items: list[AnyItem] = [Message(role="user", content=QUESTION)]
    sent: list[AnyItem] = []
    replies: list[Reply] = []
    while not replies or (replies[-1].function_calls and len(replies) < MOST_ROUNDS):
        sent = list(items)
        reply = llm.generate(sent, tools=[WEATHER])
        outputs = [
            FunctionCallOutput(call_id=call.call_id, output=get_weather(call.arguments))
            for call in reply.function_calls
        ]
        items += [*reply.output, *outputs]
        replies.append(reply)
    with llm.stream(sent, tools=[WEATHER]) as events:
        return replies, list(events.text)
