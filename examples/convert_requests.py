"""Converters alone: Anthropic requests on stdin, one a line, become Chat Completions requests on stdout; losses on stderr.

    python examples/convert_requests.py < anthropic.jsonl > chat.jsonl

No network code is imported. `llm-rest convert` does the same for any two wires, for answers and for streams.
"""

from __future__ import annotations

import sys

import msgspec

from llm_rest import DecodeError
from llm_rest.wires import load


def main() -> int:
    """Convert each line; 1 if a line is not a request."""
    anthropic, chat = load("anthropic_messages"), load("openai_chat")
    bad = 0
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            request, lost = anthropic.decode_request(anthropic.REQUEST.decode(line))
        except DecodeError as error:
            print(f"line {number}: {error}", file=sys.stderr)
            bad = 1
            continue
        document, lost_too = chat.encode_request(request)
        print(msgspec.json.encode(document).decode())
        for loss in (*lost, *lost_too):
            print(f"line {number}: {loss}", file=sys.stderr)
    return bad


if __name__ == "__main__":
    sys.exit(main())
