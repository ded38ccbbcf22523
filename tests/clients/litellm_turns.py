"""Two turns with a tool through one provider of LiteLLM, whole or streamed. Prints one JSON line per turn.

python litellm_turns.py URL TOKEN PROVIDER MODEL whole|streamed, by an interpreter that has LiteLLM and nothing of ours.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import json
import sys
from typing import Any

import litellm

url, token, provider, model, mode = sys.argv[1:]
BASES = {"openai": "/v1", "openai/responses": "/v1", "gemini": "/v1beta"}
TURNS = (
    'reason Oslo first.\ncall get_weather {"city": "Oslo"}\nthen\nsay Rain in Oslo.',
    'reason Now Bergen.\ncall get_weather {"city": "Bergen"}\nthen\nsay Rain in Bergen, too.',
)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
if provider == "openai/responses":
    # LiteLLM requests no stream of a model that it does not know: it imitates one, with the arguments of calls twice.
    litellm.register_model({model: {"litellm_provider": "openai", "mode": "chat", "supports_native_streaming": True}})
FUNCTION = {"name": "get_weather", "description": "The weather in a city.", "parameters": PARAMETERS}


def complete(messages: list[Any]) -> Any:
    """The message that answers these."""
    options: dict[str, Any] = {
        "model": f"{provider}/{model}",
        "api_base": url + BASES.get(provider, ""),
        "api_key": token,
        "messages": messages,
        "tools": [{"type": "function", "function": FUNCTION}],
        "num_retries": 0,
    }
    if mode == "whole":
        return litellm.completion(**options).choices[0].message
    chunks = list(litellm.completion(**options, stream=True))
    built: Any = litellm.stream_chunk_builder(chunks, messages=messages)
    return built.choices[0].message


asked: list[str] = []
messages: list[Any] = []
for content in TURNS:
    messages.append({"role": "user", "content": content})
    message = complete(messages)
    messages.append(message)
    while message.tool_calls:
        for call in message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            asked.append(city)
            result = f"4 degrees in {city}"
            messages.append({"role": "tool", "tool_call_id": call.id, "name": "get_weather", "content": result})
        message = complete(messages)
        messages.append(message)
    print(json.dumps({"text": message.content, "asked": asked}), flush=True)
