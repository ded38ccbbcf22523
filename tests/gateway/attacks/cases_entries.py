"""`E` bodies of very many entries: what they cost the process, and how long others wait meanwhile."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from llm_rest import wires
from tests.gateway.attacks.raw import http, one
from tests.gateway.attacks.table import Attack, Does
from tests.gateway.attacks.world import Place
from tests.gateway.upstreams import question

MiB = 1024 * 1024
MILLION = 1_000_000
CPU = 1.0
"""The most seconds of CPU that one body may cost the process."""
TIMES = 6
"""How many times its size a body may cost of memory, beside `SLACK` MiB for the interpreter."""
SLACK = 24

Plain = dict[str, Any]
TURNS = {"openai_responses": "input", "gemini_generate_content": "contents"}


def turns(wire: str, said: list[Any], **more: Any) -> Plain:
    """A request of those turns."""
    document = question(wire, "@", "")[1]
    return {**document, TURNS.get(wire, "messages"): said, **more}


# --- shapes: each is a request of about n of something --------------------------------------------------------------


def parts(wire: str, those: list[Any]) -> Plain:
    """One turn of those parts."""
    return turns(wire, [{"role": "user", "parts" if wire == "gemini_generate_content" else "content": those}])


def schema(wire: str, many: Any) -> Plain:
    """A tool whose schema has that in it."""
    said = {"type": "object", "properties": {}, "x-many": many}
    tool = {"name": "f", "input_schema": said, "parameters": said, "function": {"name": "f", "parameters": said}}
    if wire == "gemini_generate_content":
        tool = {"functionDeclarations": [{"name": "f", "parametersJsonSchema": said}]}
    elif wire != "anthropic_messages":
        tool["type"] = "function"
    return {**question(wire, "@", "hi")[1], "tools": [tool]}


def _call(wire: str, name: str, n: int) -> Any:
    match wire:
        case "openai_responses":
            return {"type": "function_call", "call_id": name, "name": f"f{n}", "arguments": "{}"}
        case "anthropic_messages":
            return {"type": "tool_use", "id": name, "name": f"f{n}", "input": {}}
        case "gemini_generate_content":
            return {"functionCall": {"id": name, "name": f"f{n}", "args": {}}}
        case "ollama_chat":
            return {"id": name, "function": {"name": f"f{n}", "arguments": {}}}
        case _:
            return {"id": name, "type": "function", "function": {"name": f"f{n}", "arguments": "{}"}}


def _result(wire: str, name: str, n: int) -> Any:
    match wire:
        case "openai_responses":
            return {"type": "function_call_output", "call_id": name, "output": "1"}
        case "anthropic_messages":
            return {"type": "tool_result", "tool_use_id": name, "content": "1"}
        case "gemini_generate_content":
            return {"functionResponse": {"id": name, "name": f"f{n}", "response": {"output": "1"}}}
        case "ollama_chat":
            return {"role": "tool", "tool_name": f"f{n}", "tool_call_id": name, "content": "1"}
        case _:
            return {"role": "tool", "tool_call_id": name, "content": "1"}


def _rounds(wire: str, calls: list[Any], results: list[Any]) -> list[Any]:
    """The turns in which these are called, and answered."""
    match wire:
        case "openai_responses":
            return [*calls, *results]
        case "anthropic_messages":
            return [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
        case "gemini_generate_content":
            return [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
        case _:
            return [{"role": "assistant", "content": "", "tool_calls": calls}, *results]


USER: dict[str, Any] = {"role": "user", "content": "hi"}


def _user(wire: str) -> Any:
    return {"role": "user", "parts": [{"text": "hi"}]} if wire == "gemini_generate_content" else USER


def parallel(wire: str, n: int, *, reverse: bool = False) -> Plain:
    """n calls in one turn and their results."""
    numbers = range(n)
    results = [_result(wire, f"call_{i}", i) for i in numbers]
    calls = [_call(wire, f"call_{i}", i) for i in numbers]
    return turns(wire, [_user(wire), *_rounds(wire, calls, results[::-1] if reverse else results)])


def equal_ids(wire: str, n: int) -> Plain:
    """n turns of one call, all under one id."""
    rounds = _rounds(wire, [_call(wire, "call_0", 0)], [_result(wire, "call_0", 0)])
    return turns(wire, [_user(wire), *(rounds * n)])


def talk(wire: str, n: int) -> Plain:
    """n turns of one word."""
    said = {"role": "user", "parts": [{"text": ""}]} if wire == "gemini_generate_content" else {"role": "user", "content": ""}
    return turns(wire, [said] * n)


def _nested(depth: int) -> Any:
    found: Any = {}
    for _ in range(depth):
        found = [found]
    return found


SHAPES: dict[str, Callable[[str, int], Plain]] = {
    "empty objects as turns": lambda wire, n: turns(wire, [{}] * n),
    "empty lists as turns": lambda wire, n: turns(wire, [[]] * n),
    "numbers as turns": lambda wire, n: turns(wire, [9] * n),
    "turns of an unknown kind": lambda wire, n: turns(wire, [{"type": "x"}] * n),
    "turns of an unknown role": lambda wire, n: turns(wire, [{"role": "x", "content": "", "parts": []}] * n),
    "empty objects as parts": lambda wire, n: parts(wire, [{}] * n),
    "parts of an unknown kind": lambda wire, n: parts(wire, [{"type": "x"}] * n),
    "texts": lambda wire, n: parts(wire, [{"text": ""} if wire == "gemini_generate_content" else {"type": "text", "text": ""}] * n),
    "numbers in a schema": lambda wire, n: schema(wire, [9] * n),
    "empty objects in a schema": lambda wire, n: schema(wire, [{}] * n),
    "deep and wide in a schema": lambda wire, n: schema(wire, [_nested(300)] * (n // 300)),
    "empty objects as tools": lambda wire, n: turns(wire, [_user(wire)], tools=[{}] * n),
    "unknown fields": lambda wire, n: turns(wire, [_user(wire)], **{f"x{i}": {} for i in range(n)}),
    "another unknown field on each turn": lambda wire, n: turns(wire, [{**_user(wire), f"x{i}": i} for i in range(n)]),
    "one unknown field on each turn": lambda wire, n: turns(wire, [{**_user(wire), "x": i} for i in range(n)]),
    "turns of one word": talk,
    "turns whose calls share an id": equal_ids,
    "parallel calls": parallel,
    "parallel calls, answered in reverse": lambda wire, n: parallel(wire, n, reverse=True),
    "metadata": lambda wire, n: turns(wire, [_user(wire)], metadata={f"x{i}": "" for i in range(n)}),
}  # fmt: skip
