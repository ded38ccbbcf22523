"""Converters without the network: a request of one wire becomes one of another, and its answer comes back.

Prints:

    {"model":"m","max_completion_tokens":9,"messages":[{"role":"user","content":"?"}]}
    top_k: top_k, which this host does not support (dropped)
    Minerals. stop
    $.choices
"""

from __future__ import annotations

from typing import assert_type

import msgspec

from llm_rest import DecodeError, Loss, Request, Response
from llm_rest.wires import load

ANSWER = b"""{
  "id": "chatcmpl-1", "object": "chat.completion", "created": 1790000000, "model": "m",
  "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Minerals."}}],
  "usage": {"prompt_tokens": 12, "completion_tokens": 2, "total_tokens": 14}
}"""


def to_chat(body: bytes) -> tuple[bytes, list[Loss]]:
    anthropic, chat = load("anthropic_messages"), load("openai_chat")
    request, lost = anthropic.decode_request(anthropic.REQUEST.decode(body))
    assert_type(request, Request)
    document, more = chat.encode_request(request)
    return msgspec.json.encode(document), [*lost, *more]


def from_chat(body: bytes) -> Response:
    chat = load("openai_chat")
    response, _ = chat.decode_response(chat.RESPONSE.decode(body))
    return response


def main() -> None:
    body, losses = to_chat(
        b'{"model": "m", "max_tokens": 9, "top_k": 5, "messages": [{"role": "user", "content": "?"}]}'
    )
    print(body.decode(), *losses, sep="\n")
    response = from_chat(ANSWER)
    print(response.output_text, response.stop_reason)
    try:
        from_chat(b'{"choices": 5}')
    except DecodeError as error:
        print(error.path)


if __name__ == "__main__":
    main()
