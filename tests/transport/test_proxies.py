"""Which proxy the environment names, and what goes through it: real proxies on this machine, and the rules as a table."""

from __future__ import annotations

import json
import re
import ssl
import traceback
from typing import Any

import pytest
import trustme

from llm_rest.errors import APITimeoutError, ConfigError, LLMError, ProxyError, TLSError
from llm_rest.transport import Timeouts
from llm_rest.transport.address import address_of, proxy_for
from tests.callers import NewClient, answer
from tests.loopback import accepting, http, loopback, send, send_and_stall
from tests.transport.proxy import Proxy, proxying
from tests.transport.support import TEN_SECONDS, NewTransport, exchange, post

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's finds its own proxies"

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def serving(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*(names or ("127.0.0.1",))).configure_cert(context)
    return context


# --- through a proxy -------------------------------------------------------------------------------------------------


async def test_a_plain_request_names_its_whole_url_to_the_proxy(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback(send(http(b"hello"))) as server, proxying(Proxy()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url())
        transport = new_transport()
        for _ in range(2):
            assert (await transport.send(post(f"{server.url}/v1/x?y=z"), TEN_SECONDS)).body == b"hello"
        await transport.close()
    assert proxy.heads[0].startswith(f"POST {server.url}/v1/x?y=z HTTP/1.1\r\n")
    assert f"\r\nHost: 127.0.0.1:{server.port}" in proxy.heads[0]
    assert (len(proxy.heads), server.connections) == (1, 1), "the connection is used again"


async def test_the_proxy_sees_nothing_of_a_tls_connection_but_where_it_goes(
    new_transport: NewTransport, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback(send(http(b"hello")), tls=serving(authority)) as server, proxying(Proxy()) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url())
        transport = new_transport(tls=trusting(authority))
        for _ in range(2):
            assert (await transport.send(post(f"{server.url}/v1"), TEN_SECONDS)).body == b"hello"
        await transport.close()
    assert proxy.heads == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}"]
    assert server.connections == 1


async def test_a_proxy_may_speak_tls_itself(
    new_transport: NewTransport, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with (
        loopback(send(http(b"x" * 100_000)), tls=serving(authority)) as server,
        loopback(send(http(b"plain"))) as plain,
        proxying(Proxy(tls=serving(authority))) as proxy,
    ):
        monkeypatch.setenv("ALL_PROXY", proxy.url())
        assert len((await exchange(new_transport, server.url)).body) == 100_000
        assert (await exchange(new_transport, plain.url)).body == b"plain"
    assert [head.split(" ")[0] for head in proxy.heads] == ["CONNECT", "POST"]


async def test_a_proxy_that_speaks_tls_is_trusted_as_tls_says(
    new_transport: NewTransport, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        loopback(send(http(b"sealed")), tls=serving(authority)) as server,
        loopback(send(http(b"plain"))) as plain,
        proxying(Proxy(tls=serving(authority))) as proxy,
    ):
        monkeypatch.setenv("ALL_PROXY", proxy.url())
        assert (await exchange(new_transport, server.url, tls=trusting(authority))).body == b"sealed"
        assert (await exchange(new_transport, plain.url, tls=trusting(authority))).body == b"plain"
        with pytest.raises(TLSError):
            await exchange(new_transport, plain.url)
    assert [head.split(" ")[0] for head in proxy.heads] == ["CONNECT", "POST"]


async def test_the_certificate_is_that_of_the_server_and_not_of_the_proxy(
    new_transport: NewTransport, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = serving(authority, "proxy.example")
    with loopback(send(http(b"hello")), tls=wrong) as server, proxying(Proxy()) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url())
        with pytest.raises(TLSError):
            await exchange(new_transport, server.url, tls=trusting(authority))
    assert server.heads == []


@pytest.mark.parametrize("secure", [True, False], ids=["tunnel", "forward"])
async def test_bytes_behind_an_answer_are_not_the_next_answer(
    new_transport: NewTransport, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
    tls = serving(authority) if secure else None
    with loopback(send(http(b"1") + http(b"forged")), send(http(b"2")), tls=tls) as server, proxying(Proxy()) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url())
        transport = new_transport(tls=trusting(authority))
        assert [(await transport.send(post(server.url), TEN_SECONDS)).body for _ in range(2)] == [b"1", b"2"]
        await transport.close()


# --- passwords --------------------------------------------------------------------------------------------------------

PASSWORD = "p%40ss%2Fword-9876"  # percent-encoded, as a URL holds it
PLAIN = "p@ss/word-9876"


@pytest.mark.parametrize("secure", [True, False], ids=["tunnel", "forward"])
async def test_the_password_goes_to_the_proxy_and_nowhere_else(
    new_transport: NewTransport, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
    tls = serving(authority) if secure else None
    with loopback(send(http(b"hello")), tls=tls) as server, proxying(Proxy("ada", PLAIN)) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url(password=PASSWORD))
        assert (await exchange(new_transport, server.url, tls=trusting(authority))).body == b"hello"
    assert b"proxy-authorization" not in server.heads[0].lower()
    assert ("Authorization: Bearer" in proxy.heads[0]) is not secure, "the key goes to the server alone"


# Of a plain request nobody can tell whether the proxy or the server answered, unless it is about the proxy itself.
@pytest.mark.parametrize(
    ("secure", "status", "again"), [(True, 407, False), (True, 403, False), (True, 502, True), (False, 407, False)]
)
async def test_a_proxy_that_refuses_is_an_error_that_names_the_variable(
    new_transport: NewTransport,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    secure: bool,
    status: int,
    again: bool,
) -> None:
    who = Proxy("ada", PLAIN) if status == 407 else Proxy(status=status)
    with loopback(send(http(b"hello")), tls=serving(authority) if secure else None) as server, proxying(who) as proxy:
        monkeypatch.setenv("all_proxy", proxy.url(password="wrong-secret"))
        said = f"the proxy http://127.0.0.1:{proxy.port} (all_proxy) for {server.url} refused with status {status}"
        with pytest.raises(ProxyError, match=re.escape(said)) as caught:
            await exchange(new_transport, server.url, tls=trusting(authority))
    assert (caught.value.status, caught.value.retryable) == (status, again)
    assert server.heads == []
    if status == 407:
        assert caught.value.hint == "look at the user and password in all_proxy"
        assert "wrong-secret" not in everything_of(caught.value)


def everything_of(error: LLMError) -> str:
    """The error as it is shown and logged, with the variables of every frame."""
    walked = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [repr(frame.f_locals) for frame in walked if "llm_rest" in frame.f_globals["__name__"]]
    return "".join([repr(error), str(error.to_dict()), *traceback.format_exception(error), *ours])


@pytest.mark.parametrize(
    "answered", [b"HTTP/1.1 200 OK\r\ncontent-le", b"", b"SSH-2.0\r\n", b"HTTP/1.1 101 Other\r\n\r\n"]
)
async def test_a_proxy_that_fails_is_an_error_to_try_again(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch, answered: bytes
) -> None:
    def act(connection: Any) -> None:
        connection.recv(65536)
        connection.sendall(answered)

    with accepting(act) as url:
        monkeypatch.setenv("HTTPS_PROXY", url)
        with pytest.raises(ProxyError, match="HTTPS_PROXY") as caught:
            await exchange(new_transport, "https://vendor.example")
    assert caught.value.retryable


async def test_a_proxy_that_is_not_there_is_an_error_to_try_again(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with accepting(lambda connection: None) as url:
        pass
    monkeypatch.setenv("HTTPS_PROXY", url)
    async with new_client() as llm:
        with pytest.raises(ProxyError, match="cannot connect") as caught:
            await llm.generate("Hi")
    assert caught.value.retryable


async def test_a_call_goes_through_a_proxy(new_client: NewClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(send(http(json.dumps(answer("Hello")).encode()))) as server, proxying(Proxy("ada", PLAIN)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url(password=PASSWORD))
        async with new_client(base_url=f"{server.url}/v1") as llm:
            assert (await llm.generate("Hi")).output_text == "Hello"
    assert len(proxy.heads) == 1


async def test_deadlines_hold_through_a_proxy(new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(send_and_stall(b"")) as silent:
        monkeypatch.setenv("HTTPS_PROXY", silent.url)
        with pytest.raises(APITimeoutError) as caught:
            await exchange(new_transport, "https://vendor.example", Timeouts(connect=0.2, total=10))
    assert caught.value.phase == "connect"


# --- the rules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "url", "port"),
    [
        ({"HTTP_PROXY": "http://p:1"}, "http://a.example", 1),
        ({"HTTP_PROXY": "http://p:1"}, "https://a.example", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://a.example", 1),
        ({"ALL_PROXY": "http://p:1"}, "https://a.example", 1),
        ({"ALL_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2"}, "https://a.example", 2),
        ({"https_proxy": "http://p:1", "HTTPS_PROXY": "http://p:2"}, "https://a.example", 1),
        ({"https_proxy": "", "HTTPS_PROXY": "http://p:2"}, "https://a.example", None),
        ({"HTTPS_PROXY": "  "}, "https://a.example", None),
        ({"HTTPS_PROXY": "p:1"}, "https://a.example", 1),
        ({"HTTPS_PROXY": "http://p"}, "https://a.example", 80),
        ({"HTTPS_PROXY": "https://p"}, "https://a.example", 443),
        ({"HTTPS_PROXY": "http://[::1]:8/"}, "https://a.example", 8),
        ({"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, "http://a.example", None),
        ({"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, "http://a.example", 1),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.example"}, "https://a.example", None),
    ],
)
def test_the_variables_name_a_proxy(
    variables: dict[str, str], url: str, port: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = proxy_for(address_of(url))
    assert (found and found.port) == port


EXCEPTED = """
*                          https://a.example
a.example                  https://a.example
A.Example                  https://a.example
a.example                  https://x.a.example
.a.example                 https://x.a.example
.a.example                 https://a.example
*.a.example                https://x.a.example
a.example.                 https://a.example
a.example:443              https://a.example
a.example:8443             https://x.a.example:8443
b.example,a.example        https://a.example
b.example a.example        https://a.example
127.0.0.1                  http://127.0.0.1:8000
127.0.0.1:8000             http://127.0.0.1:8000
10.0.0.0/8                 http://10.1.2.3
10.1.2.3/8                 http://10.1.2.3
::1                        http://[::1]:8000
[::1]                      http://[::1]:8000
[::1]:8000                 http://[::1]:8000
0:0:0:0:0:0:0:1            http://[::1]
fd00::/8                   http://[fd00::5]
localhost                  http://localhost:11434
https://localhost          https://localhost
http://localhost:11434/    http://localhost:11434
https://a.example/v1       https://x.a.example
https://[::1]              https://[::1]
10.0.0.0/99,a.example      https://a.example
"""
INCLUDED = """
a.example                  https://ba.example
a.example                  https://a.example.org
a.example:8443             https://a.example
127.0.0.1                  http://127.0.0.2
127.0.0.1:1                http://127.0.0.1
10.0.0.0/8                 http://11.0.0.1
10.0.0.0/8                 http://a.example
fd00::/8                   http://10.0.0.1
0.0.1                      http://127.0.0.1
b.example,,                https://a.example
https://a.example          http://a.example
https://a.example:8443     https://a.example
ftp://a.example            https://a.example
://                        https://a.example
https://                   https://a.example
10.0.0.0/99                http://10.0.0.1
a.example:port             https://a.example
[::1                       http://[::1]
a/b                        https://a
:80                        http://a.example
1::2::3                    https://a.example
*.                         https://a.example
"""


@pytest.mark.parametrize("line", EXCEPTED.strip().splitlines() + INCLUDED.strip().splitlines())
def test_no_proxy_names_who_is_reached_without(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entries, _, url = line.rpartition(" ")
    monkeypatch.setenv("ALL_PROXY", "http://p:1")
    monkeypatch.setenv("NO_PROXY", entries.strip())
    assert (proxy_for(address_of(url)) is None) is (line in EXCEPTED)


@pytest.mark.parametrize(
    "value",
    "http://[:::::garbage http:// http://p:port http://p:99999 socks5://p:1 ftp://p http://p:secret-12345@ http://a<b".split(),
)
async def test_a_proxy_that_makes_no_sense_is_named_by_its_variable_alone(
    new_transport: NewTransport, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case T41."""
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(ConfigError, match="HTTPS_PROXY is not the URL") as caught:
        await exchange(new_transport, "https://vendor.example")
    assert "secret-12345" not in everything_of(caught.value)
