"""What errors of connections and limits say: host, vendor, the limit with its seconds, and what to try.

Over connections of our own and through clients of `httpx` and `httpx2`, for threads, asyncio and trio.
"""

from __future__ import annotations

import contextlib
import errno
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import httpx
import pytest
import trustme

from llm_rest import Client, Timeouts
from llm_rest.errors import (
    APIConnectionError,
    APITimeoutError,
    ConnectError,
    LLMError,
    ProtocolError,
    ProxyError,
    StreamInterruptedError,
    TLSError,
)
from llm_rest.transport import HTTPRequest
from llm_rest.transport.deadlines import Deadline, map_error
from tests.callers import BEGIN, NewClient, delta
from tests.hostile.table import causes, locals_of
from tests.loopback import (
    END,
    STREAM,
    Act,
    chunks,
    drip,
    each_byte,
    http,
    loopback,
    reset,
    send,
    send_and_close,
    send_and_stall,
)
from tests.transport.certificates import serving
from tests.transport.support import NewTransport, nobody, ours, rest

pytestmark = pytest.mark.anyio

KEY = "sk-test-0123456789"
PART = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"

Opened = Callable[..., Any]


@pytest.fixture
def opened(new_client: NewClient, way: str, through: str, request: pytest.FixtureRequest) -> Opened:
    """Opens a client of this way, for an `async with`, through connections of its own or an HTTP client."""
    kept_for, reason = getattr(request.function, "ours", ("", ""))
    if through != "own" and kept_for == way:
        pytest.skip(reason)

    @contextlib.asynccontextmanager
    async def opening(model: str = "openai/gpt-4o", **options: Any) -> AsyncIterator[Any]:
        async with contextlib.AsyncExitStack() as at_the_end:
            if through != "own" and way == "sync":
                options["http"] = at_the_end.enter_context(import_module(through).Client())
            elif through != "own":
                options["http"] = await at_the_end.enter_async_context(import_module(through).AsyncClient())
            yield await at_the_end.enter_async_context(new_client(model, **options))

    return opening


async def read(llm: Any) -> None:
    """Read all of a stream."""
    async with llm.stream("Hi") as events:
        async for _ in events:
            pass


async def failing(llm: Any, *, stream: bool = False) -> Any:
    """The error of a call, which shows no key and keeps nothing of the HTTP client."""
    with pytest.raises(LLMError) as caught:
        await (read(llm) if stream else llm.generate("Hi"))
    error = caught.value
    assert KEY not in f"{error!r}{error}{error.suggestions}"
    assert not [text for text in locals_of(error) if KEY in text]
    assert causes(error) == []
    assert not [entry for entry in caught.traceback if "httpcore" in str(entry.path)]
    return error


def said(error: Any) -> str:
    """The text of an error without its last part, which is what to try."""
    text, _, advice = str(error).rpartition("; ")
    assert advice
    return text


# --- connecting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refused_connection_names_the_host_the_vendor_and_what_to_try(opened: Opened, stream: bool) -> None:
    url = nobody()
    async with opened("ollama/qwen3:8b", base_url=f"{url}/secret-path") as llm:
        error = await failing(llm, stream=stream)
    assert str(error) == f"cannot connect to {url} (ollama): connection refused; is it running?"
    assert (type(error), error.reason) == (ConnectError, "refused")
    assert error.suggestions[0] == "start the server: ollama serve"
    assert "OLLAMA_HOST" in error.suggestions[1]


@ours("HTTP clients look names up by themselves")
async def test_a_name_that_is_not_found_says_so(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    async with opened(base_url="https://api.example.invalid/v1") as llm:
        error = await failing(llm)
    where = "https://api.example.invalid (openai)"
    assert str(error) == f"cannot connect to {where}: name or service not known; check the name of the host"
    assert (error.reason, error.retryable) == ("name", True)


PROXIES = "the proxy of an HTTP client is its own business"


@ours(PROXIES)
@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("http://{}", "the proxy http://{} (HTTPS_PROXY)"),
        ("http://ada:pass-word-0123@{}", "the proxy http://{} (HTTPS_PROXY)"),
        ("http://{}/word@127.0.0.1:1", "the proxy of HTTPS_PROXY"),  # a password with a slash, perhaps
    ],
)
async def test_a_proxy_that_is_not_there_is_named_without_a_password(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, value: str, named: str
) -> None:
    proxy = nobody().removeprefix("http://")
    monkeypatch.setenv("HTTPS_PROXY", value.format(proxy))
    async with opened() as llm:
        error = await failing(llm)
    where = f"{named.format(proxy)} for https://api.openai.com (openai)"
    assert str(error) == f"cannot connect to {where}: connection refused; is it running?"
    assert (type(error), error.retryable) == (ProxyError, True)


@ours(PROXIES)
async def test_a_slow_proxy_is_named_with_the_limit(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(SILENT) as silent:
        monkeypatch.setenv("HTTPS_PROXY", silent.url)
        async with opened(timeout=Timeouts(connect=0.2)) as llm:
            error = await failing(llm)
    where = f"the proxy {silent.url} (HTTPS_PROXY) for https://api.openai.com (openai)"
    assert said(error) == f"no connection to {where} after 0.2 s (Timeouts.connect)"
    assert error.phase == "connect"


# --- limits ----------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """What a server does, and the text of the error without its last part, with the server and the vendor at `{}`."""

    act: Any
    text: str
    timeout: Timeouts | float | None = None
    stream: bool = False
    ours: str = ""
    """`all` or a way of calling where an HTTP client of the caller's has limits of its own."""
    kind: type[LLMError] = LLMError
    https: bool = False
    before: Act | None = None
    ca: trustme.CA | None = None
    """Who signed the certificate of the server."""


TOTAL = "no complete answer from {} after 0.3 s (Timeouts.total)"
FIRST_BYTE = "no answer from {} after 0.2 s (Timeouts.first_byte)"
READ = "no bytes for 0.2 s (Timeouts.read) from {}"
HEL = STREAM + chunks(BEGIN, delta("Hel"))
SILENT = send_and_stall(b"")
ALIVE = drip(chunks(b": alive\n\n"), first=HEL, again=True)

NAMED = {
    "connecting": Row(SILENT, "no connection to {} after 0.2 s (Timeouts.connect)", Timeouts(connect=0.2), https=True),
    "plain HTTP at a port for TLS": Row(
        SILENT, "TLS with {} failed: ", kind=TLSError, https=True, before=send_and_close(b"HTTP/1.1 400 No\r\n\r\n")
    ),
    "an unknown certificate": Row(SILENT, "TLS with {} failed: ", kind=TLSError, https=True, ca=trustme.CA()),
    "the whole call": Row(SILENT, TOTAL, Timeouts(total=0.3), ours="sync"),
    "the whole call, while bytes come": Row(
        drip(*each_byte(http(b" " * 100))), TOTAL, Timeouts(total=0.3), ours="sync"
    ),
    "the first byte": Row(SILENT, FIRST_BYTE, Timeouts(first_byte=0.2)),
    "the first byte of a stream": Row(SILENT, FIRST_BYTE, Timeouts(first_byte=0.2), stream=True),
    "seconds alone": Row(SILENT, FIRST_BYTE, 0.2, stream=True),
    "between bytes": Row(send_and_stall(PART), READ, Timeouts(read=0.2), ours="all"),
    "between bytes of a stream": Row(send_and_stall(HEL), READ, Timeouts(read=0.2), True, "sync"),
    "without content": Row(
        ALIVE, "no content for 0.3 s (Timeouts.stall) from {}, keep-alives at most", Timeouts(read=5, stall=0.3), True
    ),
    "a broken connection": Row(reset(), "the connection to {} broke: ", kind=APIConnectionError),
    "no answer": Row(send_and_close(b""), "no complete HTTP answer from {}: ", kind=ProtocolError),
    "a stream that breaks off": Row(send_and_close(HEL), "from {}", stream=True, kind=StreamInterruptedError),
    "a stream that ends early": Row(send_and_close(HEL + END), "from {}", stream=True, kind=StreamInterruptedError),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("row", NAMED.values(), ids=NAMED)
async def test_an_error_names_the_host_and_the_limit(opened: Opened, row: Row, through: str, way: str) -> None:
    if through != "own" and row.ours in ("all", way):
        pytest.skip("an HTTP client of the caller's waits in its own way there")
    tls = serving(ca=row.ca) if row.ca else None
    with loopback(row.act, before=row.before, tls=tls) as server:
        url = server.url.replace("http:", "https:") if row.https else server.url
        async with opened(base_url=url, timeout=row.timeout) as llm:
            error = await failing(llm, stream=row.stream)
    text = row.text.format(f"{url} (openai)")
    assert said(error) == text if "Timeouts." in text else text in str(error)
    assert isinstance(error, row.kind)
    if limit := re.search(r"Timeouts\.(\w+)", text):
        assert isinstance(error, APITimeoutError)
        assert error.phase == limit[1]
    if row.ca:
        assert "certificate verify failed" in str(error)
        assert "tls=" in error.suggestions[0]


@pytest.mark.sample(3)
async def test_the_limit_of_the_whole_call_is_named_in_full_at_a_later_attempt(opened: Opened) -> None:
    with loopback(send(http(b"{}", "503 Not now", "retry-after: 0.1")), SILENT) as server:
        async with opened(base_url=server.url, timeout=Timeouts(total=1.5), retry=2) as llm:
            error = await failing(llm)
    assert said(error).partition(" (the time of the call")[0] == (
        f"no complete answer from {server.url} (openai) after 1.5 s (Timeouts.total)"
    )
    assert len(error.attempts) == 2


@ours("an HTTP client has a pool of its own")
async def test_a_wait_for_a_free_connection_names_the_limit(opened: Opened) -> None:
    with loopback(send_and_stall(STREAM + chunks(BEGIN, delta("Hel")))) as server:
        async with opened(base_url=server.url, timeout=Timeouts(total=0.3), max_connections=1) as llm:
            async with llm.stream("Hi") as events:
                await anext(aiter(events))
                error = await failing(llm)
    assert said(error) == f"no connection became free for {server.url} (openai) after 0.3 s (Timeouts.total)"
    assert error.phase == "pool"
    assert "max_connections" in error.suggestions[0]


def test_a_limit_of_an_http_client_is_not_taken_for_one_of_ours() -> None:
    def late(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("The read operation timed out", request=request)

    with httpx.Client(transport=httpx.MockTransport(late)) as mine:
        llm = Client("openai/gpt-4o", api_key=KEY, http=mine, retry=1)
        with pytest.raises(APITimeoutError, match="the HTTP client stopped waiting for") as caught:
            llm.generate("Hi")
    assert "Timeouts." not in str(caught.value)


@pytest.mark.parametrize("connecting", [True, False])
def test_a_timeout_of_the_system_is_a_broken_connection_and_no_limit(connecting: bool) -> None:
    deadline = Deadline(Timeouts(), "http://a.example (vllm)")
    if connecting:
        deadline.connect()
    error = map_error(OSError(errno.ETIMEDOUT, "Connection timed out"), deadline)
    assert type(error) is ConnectError
    assert "http://a.example (vllm)" in str(error)
    assert "connection timed out; check" in str(error)


def handle_stream(method: str, path: str, headers: Any, body: bytes) -> tuple[int, Any, Iterator[float]]:
    """This module is a server in this process as well, which takes its time."""
    return 200, {}, iter([5.0])


@pytest.mark.parametrize(
    ("timeouts", "text"),
    [
        (Timeouts(first_byte=0.05), "no answer from {} after 0.05 s (Timeouts.first_byte)"),
        (Timeouts(total=0.05), "no complete answer from {} after 0.05 s (Timeouts.total)"),
    ],
)
@ours("a server in this process is never asked through an HTTP client")
async def test_a_server_in_this_process_is_named_too(
    new_transport: NewTransport, timeouts: Timeouts, text: str
) -> None:
    url = f"inproc:{__name__}"
    transport = new_transport()
    incoming = await transport.open(HTTPRequest("POST", f"{url}/x", {}, b"", True, "simulator"), timeouts)
    with pytest.raises(APITimeoutError) as caught:
        await rest(incoming)
    await transport.close()
    assert said(caught.value) == text.format(f"{url} (simulator)")
