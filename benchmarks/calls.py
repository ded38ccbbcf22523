"""One call over loopback against plain `httpx` plus a typed `msgspec` decode. The server is another process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import msgspec

from llm_rest import Client
from llm_rest.wires import load

from . import documents
from .floors import ChatAnswer
from .measure import Case

_decoder = msgspec.json.Decoder(ChatAnswer)


@contextmanager
def server() -> Iterator[str]:
    """The base URL of a running answer server."""
    with subprocess.Popen([sys.executable, "-m", "benchmarks.server"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


@contextmanager
def cases() -> Iterator[list[Case]]:
    """The call cases, while their server runs."""
    with (
        server() as url,
        httpx.Client() as plain,
        Client("compatible/some-model", base_url=f"{url}/v1", api_key="sk-bench") as llm,
    ):
        headers = {"authorization": "Bearer sk-bench"}
        question = "Why is the sea salt?"
        short = {"model": "some-model", "messages": [{"role": "user", "content": question}]}
        request = documents.conversation(text=documents.LONG)
        chat, _ = load("openai_chat").encode_request(request)
        long = msgspec.to_builtins(chat)

        def floor(body: object) -> ChatAnswer:
            return _decoder.decode(plain.post(f"{url}/v1/chat/completions", json=body, headers=headers).content)

        yield [
            Case(
                "One call, sync, 1 kB answer",
                lambda: floor(short),
                lambda: llm.generate(question).output_text,
                target=0.6,
            ),
            Case(
                "The same with a request of 200 items, 500 kB",
                lambda: floor(long),
                lambda: llm.generate(request, model="compatible/some-model").output_text,
                target=0.85,
            ),
        ]
