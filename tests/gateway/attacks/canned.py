"""A vendor on every wire that reads nothing of what it is asked, and notes how large it was: its answer is short, one of a
thousand calls below `/calls`, or one of 300 kB below `/large`."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from llm_rest import wires
from llm_rest.client.events import StreamWriter
from llm_rest.responses import AnyItem, FunctionCall, Message, OutputText, Request, Response, Usage
from llm_rest.responses.stream import disassemble

CALLS = 1000
LARGE = 300_000

sizes: list[int] = []
"""The bytes of each request."""

_WIRES = {
    "responses": "openai_responses",
    "completions": "openai_chat",
    "messages": "anthropic_messages",
    "chat": "ollama_chat",
}
_TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}


@cache
def answer(wire: str, *, calls: bool, streamed: bool, large: bool = False) -> tuple[str, bytes]:
    """The content type and the body of an answer."""
    module = wires.load(wire)
    text = "x" * LARGE if large else "Fine."
    output: list[AnyItem] = [
        Message(id="msg_1", role="assistant", status="completed", content=[OutputText(text=text, annotations=[])])
    ]
    if calls:
        output = [FunctionCall(id=f"fc_{n}", call_id=f"call_{n}", name="f", arguments='{"n":1}') for n in range(CALLS)]
    usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
    response = Response(id="resp_1", created_at=1, status="completed", model="x", output=output, usage=usage)
    if not streamed:
        return "application/json", msgspec.json.encode(module.encode_response(response, request=Request())[0])
    writer = StreamWriter(module, request=Request())
    return _TYPES[module.FRAMING], b"".join(map(writer.feed, disassemble(response))) + writer.close()


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65_536

    def do_POST(self) -> None:
        left, head, tail = int(self.headers["content-length"]), b"", b""
        sizes.append(left)
        while left:
            piece = self.rfile.read(min(left, 1 << 20))
            left -= len(piece)
            head, tail = (head or piece[:1000]), piece[-1000:]
        path = self.path.partition("?")[0]
        wire = _WIRES.get(path.rpartition("/")[2], "gemini_generate_content")
        streamed = "stream" in path or any(b'"stream":true' in end for end in (head, tail))
        kind, body = answer(wire, calls=path.startswith("/calls"), streamed=streamed, large=path.startswith("/large"))
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def canned() -> Generator[str]:
    """Its URL, for as long as the block lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
