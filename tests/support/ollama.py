"""Answers of a server of Ollama, for tests that need them as items."""

from __future__ import annotations

import json

from msgspec.structs import replace

from llm_rest.responses import Reasoning
from llm_rest.vendors.dialects import OllamaDialect
from llm_rest.wires import ollama_chat as wire


def thought(text: str, issuer: str = "ollama") -> Reasoning:
    """What a model of that issuer thought."""
    message = {"role": "assistant", "content": "", "thinking": text}
    answer = wire.RESPONSE.decode(json.dumps({"message": message, "done": True, "done_reason": "stop"}).encode())
    (item,) = wire.decode_response(answer, dialect=OllamaDialect(issuer=issuer), keep=False)[0].output
    assert isinstance(item, Reasoning)
    return replace(item, id=None, status=None)
