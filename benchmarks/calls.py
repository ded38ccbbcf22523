"""One call over loopback against plain `httpx` plus a typed `msgspec` decode. The server is another process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import msgspec

from llm_rest import AsyncClient, Client
from llm_rest.wires import load

from . import documents
from .floors import ChatAnswer
from .measure import Case

IN_A_ROW = 10
"""Calls of one run of the loop, so that starting it does not count."""

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
        Client("compatible/some-model", base_url=f"{url}/v1", api_key="sk-bench", telemetry=True) as traced,
        Client("compatible/some-model", base_url=f"{url}/v1", api_key="sk-bench", on_event=lambda event: None) as heard,
        asyncio.Runner() as runner,
    ):
        later, llm_later = (
            httpx.AsyncClient(),
            AsyncClient("compatible/some-model", base_url=f"{url}/v1", api_key="sk-bench"),
        )
        headers = {"authorization": "Bearer sk-bench", "content-type": "application/json"}
        question = "Why is the sea salt?"
        short = {"model": "some-model", "messages": [{"role": "user", "content": question}]}
        request = documents.conversation(text=documents.LONG)
        chat, _ = load("openai_chat").encode_request(request)
        long = msgspec.to_builtins(chat)

        def floor(body: object) -> ChatAnswer:
            sent = msgspec.json.encode(body)
            return _decoder.decode(plain.post(f"{url}/v1/chat/completions", content=sent, headers=headers).content)

        async def floors() -> ChatAnswer:
            asked = [
                await later.post(f"{url}/v1/chat/completions", content=msgspec.json.encode(short), headers=headers)
                for _ in range(IN_A_ROW)
            ]
            return [_decoder.decode(answer.content) for answer in asked][-1]

        async def ours() -> str:
            return [(await llm_later.generate(question)).output_text for _ in range(IN_A_ROW)][-1]

        yield [
            Case(
                "One call, sync, 1 kB answer",
                lambda: floor(short),
                lambda: llm.generate(question).output_text,
                target=0.6,
            ),
            Case(
                "One call, async, 1 kB answer",
                lambda: runner.run(floors()),
                lambda: runner.run(ours()),
                target=0.65,
                per=IN_A_ROW,
            ),
            Case(
                "The same with a request of 201 items, 500 kB",
                lambda: floor(long),
                lambda: llm.generate(request, model="compatible/some-model").output_text,
                target=0.85,
            ),
            Case(
                "One call with telemetry, the API of OpenTelemetry without its SDK, against one without telemetry",
                lambda: llm.generate(question).output_text,
                lambda: traced.generate(question).output_text,
                target=1.01,
            ),
            Case(
                "One call with an event hook, against one without",
                lambda: llm.generate(question).output_text,
                lambda: heard.generate(question).output_text,
            ),
        ]
        runner.run(later.aclose())
        runner.run(llm_later.aclose())
