"""The gateway in front of a model: a client of OpenAI, Anthropic, Google or Ollama gets answers from any vendor's model.

    python examples/any_client.py                              # the simulator behind it
    python examples/any_client.py anthropic/claude-haiku-4-5   # a real model

Requests are sent by plain HTTP here, as the vendors' own SDKs send them: point such an SDK at the same URL.
"""

from __future__ import annotations

import sys
from typing import Any

import httpx

from llm_rest.server import Config, Gateway, serve_in_thread

MESSAGES = [{"role": "user", "content": "Good morning!"}]
CALLS: dict[str, dict[str, Any]] = {
    "/v1/responses": {"model": "any", "input": MESSAGES},
    "/v1/chat/completions": {"model": "any", "messages": MESSAGES},
    "/v1/messages": {"model": "any", "messages": MESSAGES, "max_tokens": 100},
    "/api/chat": {"model": "any", "messages": MESSAGES, "stream": False},
    "/v1beta/models/any:generateContent": {"contents": [{"parts": [{"text": "Good morning!"}]}]},
}


def main() -> None:
    """Start a gateway, and send one request in the format of each API."""
    model = sys.argv[1] if len(sys.argv) > 1 else "simulator/demo"
    with serve_in_thread(Gateway(Config(default=model))) as url, httpx.Client(base_url=url) as http:
        for path, body in CALLS.items():
            answer = http.post(path, json=body, headers={"anthropic-version": "2023-06-01"}, timeout=60)
            print(answer.status_code, path, list(answer.json())[:4])


if __name__ == "__main__":
    main()
