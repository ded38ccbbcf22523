"""The key is in no error, log record, pickle, repr or variable of a frame, and the prompt in no log record."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import pickle
import signal
import socket
import threading
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

import anyio
import pytest

from llm_rest import AsyncClient, Client, RetryPolicy
from llm_rest.errors import ConfigError, ConnectError, LLMError
from llm_rest.sync import drive
from tests.callers import Awaited, NewClient, answer
from tests.loopback import (
    STREAM,
    Loopback,
    accepting,
    chunks,
    drip,
    http,
    loopback,
    reset,
    send,
    send_and_close,
    send_and_stall,
)
from tests.transport.support import KEY, NewTransport, exchange, nobody
from tests.transport.test_sharing import GOOD

pytestmark = pytest.mark.anyio

PROMPT = "what nobody may log 4711"
SECRETS = (KEY, KEY.encode())
LOGGERS = ("", "httpx", "httpcore", "httpx2", "httpcore2", "h11", "anyio", "asyncio", "trio", "llm_rest")


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and all that led to it."""
    seen: list[BaseException | None] = [error]
    while seen:
        found = seen.pop()
        if found is not None:
            yield found
            seen += [found.__cause__, found.__context__, *getattr(found, "exceptions", ())]


def frames(error: BaseException) -> Iterator[FrameType]:
    """Every frame of the error and of all that led to it, but those of the tests."""
    for each in chain(error):
        for frame, _ in traceback.walk_tb(each.__traceback__):
            if "/tests/" not in frame.f_code.co_filename:
                yield frame


def inside(value: object, depth: int = 0) -> Iterator[object]:
    """A value and what it holds, as a reporter of errors would look at it."""
    yield value
    if depth < 4:
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, list | tuple | set | frozenset):
            for each in value:
                yield from inside(each, depth + 1)


def shows(value: object) -> bool:
    """Whether the key can be read in a value."""
    for each in inside(value):
        if isinstance(each, bytes | bytearray) and SECRETS[1] in each:
            return True
        if KEY in (each if isinstance(each, str) else repr(each)):
            return True
    return False


def leaks(error: BaseException) -> list[str]:
    """Where the key can be read in an error."""
    found: list[str] = []
    for frame in frames(error):
        where = frame.f_code.co_qualname
        found += [f"{where}: {name}" for name, value in frame.f_locals.items() if shows(value)]
    for each in chain(error):
        found += [f"{type(each).__name__}.{name}" for name, value in vars(each).items() if shows(value)]
        found += [how for how in ("repr", "str") if KEY in {"repr": repr, "str": str}[how](each)]
    if isinstance(error, LLMError):
        for how, text in {
            "pickle": pickle.dumps(error),
            "copy": repr(copy.deepcopy(error)),
            "to_dict": error.to_dict(),
            "to_response": error.to_response(),
            "traceback": "".join(traceback.format_exception(error)),
        }.items():
            found += [how] if shows(text) else []
    return found


@contextlib.contextmanager
def recording() -> Iterator[list[str]]:
    """Everything that is logged, at any level: messages and what they were made of."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.getMessage()} {vars(record)!r}")

    handler = Kept(level=0)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    loggers[0].addHandler(handler)
    try:
        yield lines
    finally:
        loggers[0].removeHandler(handler)
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


# --- the transport ----------------------------------------------------------------------------------------------------------


async def test_an_error_keeps_nothing_of_the_http_client(new_transport: NewTransport) -> None:
    """BUGS 84."""
    with pytest.raises(ConnectError) as caught:
        await exchange(new_transport, nobody())
    assert [*chain(caught.value)] == [caught.value]
    assert not [f for f in frames(caught.value) if "httpcore" in f.f_code.co_filename]
    assert leaks(caught.value) == []


# --- calls ------------------------------------------------------------------------------------------------------------------

ECHO = json.dumps(
    {"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY, "type": f"bad {KEY}"}}
).encode()

FAILURES: dict[str, Any] = {
    "401-echo": send(http(ECHO, "HTTP/1.1 401 No", f"x-request-id: {KEY}")),
    "400-page": send(http(f"<html>{KEY}</html>".encode(), "HTTP/1.1 400 No", "content-type: text/html")),
    "503-echo": send(http(ECHO, "HTTP/1.1 503 No")),
    "200-error": send(http(ECHO)),
    "200-not-json": send(http(f"{{{KEY}".encode())),
    "redirect": send(http(b"", "HTTP/1.1 302 Go", f"location: https://elsewhere.example/?{KEY}")),
    "closed": send_and_close(b""),
    "reset": reset,
    "not-http": send_and_close(f"SSH-2.0-{KEY}\r\n".encode()),
    "header": send_and_close(f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode()),
    "silent": send_and_stall(b""),
    "slow": drip(b"x" * 99, first=b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n"),
    "coded": send(http(b"x", "HTTP/1.1 200 OK", f"content-encoding: {KEY}")),
    "stream-error": send(STREAM + chunks(b"event: error\ndata: " + ECHO + b"\n\n") + b"0\r\n\r\n"),
    "stream-cut": send_and_close(STREAM + chunks(b": ping\n\n")),
}


async def ask(llm: Any, prompt: str, *, stream: bool) -> None:
    """A call to its end."""
    if not stream:
        await llm.generate(prompt)
        return
    async with llm.stream(prompt) as events:
        async for _ in events:
            pass


@pytest.mark.sample(4)
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("vendor", ["openai", "anthropic", "google"])
async def test_no_failure_shows_the_key_or_logs_the_prompt(new_client: NewClient, vendor: str, failure: str) -> None:
    """Cases K03, K05, K07, K09: in whatever header the key travels, and whatever the server repeats of it."""
    retry = RetryPolicy(attempts=2, base_delay=0.001)
    with recording() as lines, loopback(FAILURES[failure]) as server:
        async with new_client(f"{vendor}/model", base_url=server.url, api_key=KEY, retry=retry, timeout=0.1) as llm:
            for asked in ("generate", "stream"):
                with pytest.raises(LLMError) as caught:
                    await ask(llm, PROMPT, stream=asked == "stream")
                assert leaks(caught.value) == []
    assert not [line for line in lines if KEY in line or PROMPT in line]
    for head in server.heads:
        target, _, headers = head.partition(b"\r\n")
        assert KEY.encode() not in target
        assert headers.count(KEY.encode()) == 1


async def test_a_call_that_succeeds_logs_neither_key_nor_prompt(new_client: NewClient) -> None:
    """Case K07."""
    repeated = http(json.dumps(answer(PROMPT)).encode())
    with recording() as lines, loopback(send(repeated)) as server:
        async with new_client(base_url=f"{server.url}/v1", api_key=KEY) as llm:
            reply = await llm.generate(PROMPT)
    assert not [line for line in lines if KEY in line or PROMPT in line]
    assert not shows([repr(reply), pickle.dumps(reply), reply.info.metadata])


def unread(connection: socket.socket, server: Loopback) -> bool:
    """Answer nothing, and read nothing more."""
    return not server.stopped.wait(20)


STUCK: dict[str, Any] = {
    "head": unread,
    "body": send_and_stall(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"),
    "back-off": send(http(b"{}", "HTTP/1.1 503 No", "retry-after: 20")),
    "stream": send_and_stall(STREAM + chunks(b": ping\n\n")),
}


@pytest.mark.parametrize("place", ["upload", *STUCK])
@pytest.mark.parametrize("backend", ["asyncio", "trio", "thread"])
def test_a_call_that_is_cancelled_or_interrupted_does_not_show_the_key(backend: str, place: str) -> None:
    """A reporter of errors may look at these as well."""
    seen: list[BaseException] = []
    stopped = threading.Event()
    options: dict[str, Any] = {"api_key": KEY, "max_connections": 1}
    text = "x" * 9_000_000 if place == "upload" else "x"  # which does not go out at once

    async def call(llm: AsyncClient) -> None:
        try:
            await ask(llm, text, stream=place == "stream")
        except BaseException as error:
            seen.append(error)
            raise

    async def main() -> None:
        async with AsyncClient("openai/gpt-4o", base_url=url, **options) as llm, anyio.create_task_group() as tasks:
            tasks.start_soon(call, llm)
            await anyio.sleep(0.1)
            tasks.cancel_scope.cancel()

    with contextlib.ExitStack() as at_the_end:
        if place == "upload":
            url = at_the_end.enter_context(accepting(lambda connection: stopped.wait(20)))
        else:
            url = at_the_end.enter_context(loopback(STUCK[place])).url
        if backend == "thread":
            interrupt = threading.Timer(0.1, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
            interrupt.start()
            with Client("openai/gpt-4o", base_url=url, **options) as llm:
                with pytest.raises(KeyboardInterrupt) as caught:
                    drive(ask(Awaited(llm), text, stream=place == "stream"))
            seen.append(caught.value)
        else:
            anyio.run(main, backend=backend)
        stopped.set()
    assert len(seen) == 1
    assert leaks(seen[0]) == []


# --- clients ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_shows_no_key_and_is_not_pickled(kind: Any) -> None:
    """Case K01."""
    llm = kind("openai/gpt-4o", api_key=KEY, defaults={"extra_headers": {"x-more": KEY}})
    assert not shows([repr(llm), str(llm), f"{llm}", repr(llm.with_options(user_token=KEY))])
    for how in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            how(llm)


@pytest.mark.parametrize("wrong", [f"{KEY}\r\nx-more: y", f"{KEY}\u2713", f"{KEY}\0"])
async def test_a_key_that_cannot_be_sent_is_not_shown_either(new_client: NewClient, wrong: str) -> None:
    """Cases H01 and H03."""
    with recording() as lines, loopback(send(http(GOOD))) as server:
        with pytest.raises(ConfigError) as caught:
            async with new_client(base_url=f"{server.url}/v1", api_key=wrong) as llm:
                await llm.generate("Hi")
    assert leaks(caught.value) == []
    assert (server.heads, [line for line in lines if KEY in line]) == ([], [])
