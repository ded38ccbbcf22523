"""A text and two turns with a tool through Anthropic's Python SDK, whole or streamed. Prints one JSON line per turn.

python anthropic_turns.py URL TOKEN MODEL whole|streamed, by an interpreter that has the SDK and nothing of ours. The text is read
as every example of the SDK reads it: `content[0].text`.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import json
import sys
from typing import Any

import anthropic

url, token, model, mode = sys.argv[1:]
TURNS = (
    "say Hello.",
    'call get_weather {"city": "Oslo"}\nthen\nsay Rain in Oslo.',
    'call get_weather {"city": "Bergen"}\nthen\nsay Rain in Bergen, too.',
)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL: Any = {"name": "get_weather", "description": "The weather in a city.", "input_schema": SCHEMA}
client = anthropic.Anthropic(base_url=url, api_key=token, max_retries=0)


def complete(messages: list[Any]) -> Any:
    """The message that answers these."""
    options: dict[str, Any] = {"model": model, "max_tokens": 999, "messages": messages, "tools": [TOOL]}
    if mode == "whole":
        return client.messages.create(**options)
    with client.messages.stream(**options) as stream:
        return stream.get_final_message()


asked: list[str] = []
messages: list[Any] = []
for text in TURNS:
    messages.append({"role": "user", "content": text})
    message = complete(messages)
    messages.append({"role": "assistant", "content": message.content})
    while message.stop_reason == "tool_use":
        call = message.content[0]
        asked.append(call.input["city"])
        result = {"type": "tool_result", "tool_use_id": call.id, "content": f"4 degrees in {asked[-1]}"}
        messages.append({"role": "user", "content": [result]})
        message = complete(messages)
        messages.append({"role": "assistant", "content": message.content})
    print(json.dumps({"text": message.content[0].text, "asked": asked}), flush=True)
