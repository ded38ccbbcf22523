"""Which proxy the environment names, and what goes through it: real proxies on this machine, and the rules as a table."""

from __future__ import annotations

import json
import re
import traceback
from typing import Any

import pytest

from llm_rest.errors import ConfigError, LLMError, ProxyError, TLSError
from llm_rest.transport.address import address_of, proxy_for
from tests.callers import NewClient, answer
from tests.hostile.table import locals_of
from tests.loopback import http, loopback, send, send_and_close
from tests.transport.certificates import authority, serving, trusting
from tests.transport.proxy import proxying
from tests.transport.support import TEN_SECONDS, NewTransport, exchange, post

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's finds its own proxies"

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD")
TUNNEL_OR_FORWARD = pytest.mark.parametrize("secure", [True, False], ids=["tunnel", "forward"])


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


# --- through a proxy -------------------------------------------------------------------------------------------------


@TUNNEL_OR_FORWARD
async def test_requests_reuse_their_connection_through_the_proxy_which_sees_no_more_than_it_must(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
    """Of a plain request the whole URL, of a TLS connection the name and port of its server."""
    with loopback(send(http(b"hello")), tls=serving() if secure else None) as server, loopback(proxying()) as proxy:
        monkeypatch.setenv("HTTPS_PROXY" if secure else "HTTP_PROXY", proxy.url)
        transport = new_transport(tls=trusting())
        for _ in range(2):
            assert (await transport.send(post(f"{server.url}/v1/x?y=z"), TEN_SECONDS)).body == b"hello"
        await transport.close()
    (head,) = proxy.heads
    if secure:
        assert head.decode() == f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}"
    else:
        assert head.decode().startswith(f"POST {server.url}/v1/x?y=z HTTP/1.1\r\n")
        assert f"\r\nHost: 127.0.0.1:{server.port}" in head.decode()
    assert server.connections == 1


@pytest.mark.parametrize("said_by", ["SSL_CERT_FILE", "tls="])
async def test_a_proxy_may_speak_tls_itself(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, said_by: str
) -> None:
    options: dict[str, Any] = {"tls": trusting()} if said_by == "tls=" else {}
    with (
        loopback(send(http(b"x" * 100_000)), tls=serving()) as server,
        loopback(send(http(b"plain"))) as plain,
        loopback(proxying(), tls=serving()) as proxy,
    ):
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        with pytest.raises(TLSError):
            await exchange(new_transport, plain.url)
        if not options:
            authority().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert len((await exchange(new_transport, server.url, **options)).body) == 100_000
        assert (await exchange(new_transport, plain.url, **options)).body == b"plain"
    assert [head.split(b" ")[0] for head in proxy.heads] == [b"CONNECT", b"POST"]


async def test_the_certificate_is_that_of_the_server_and_not_of_the_proxy(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback(send(http(b"hello")), tls=serving("proxy.example")) as server, loopback(proxying()) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(TLSError):
            await exchange(new_transport, server.url, tls=trusting())
    assert server.heads == []


# --- passwords --------------------------------------------------------------------------------------------------------

PASSWORD = "p%40ss%2Fword-9876"  # percent-encoded, as a URL holds it
PLAIN = "p@ss/word-9876"


@TUNNEL_OR_FORWARD
async def test_the_password_goes_to_the_proxy_and_nowhere_else(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
    good, tls = send(http(json.dumps(answer("Hello")).encode())), serving() if secure else None
    with loopback(good, tls=tls) as server, loopback(proxying("ada", PLAIN)) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url.replace("//", f"//ada:{PASSWORD}@"))
        async with new_client(base_url=server.url, tls=trusting()) as llm:
            assert (await llm.generate("Hi")).output_text == "Hello"
    assert b"proxy-authorization" not in server.heads[0].lower()
    (head,) = proxy.heads
    assert (b"Authorization: Bearer" in head) is not secure, "the key goes to the server alone"


# Of a plain request nobody can tell whether the proxy or the server answered, unless it is about the proxy itself.
@pytest.mark.parametrize(
    ("secure", "status", "again"), [(True, 407, False), (True, 403, False), (True, 502, True), (False, 407, False)]
)
async def test_a_proxy_that_refuses_is_an_error_that_names_the_variable(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch, secure: bool, status: int, again: bool
) -> None:
    refuses = proxying("ada", PLAIN) if status == 407 else proxying(status=status)
    with loopback(send(http(b"hello")), tls=serving() if secure else None) as server, loopback(refuses) as proxy:
        monkeypatch.setenv("all_proxy", proxy.url.replace("//", "//ada:wrong-secret@"))
        said = f"the proxy http://127.0.0.1:{proxy.port} (all_proxy) for {server.url} refused with status {status}"
        with pytest.raises(ProxyError, match=re.escape(said)) as caught:
            await exchange(new_transport, server.url, tls=trusting())
    assert (caught.value.status, caught.value.retryable) == (status, again)
    assert server.heads == []
    if status == 407:
        assert caught.value.hint == "look at the user and password in all_proxy"
        assert "wrong-secret" not in everything_of(caught.value)


def everything_of(error: LLMError) -> str:
    """The error as it is shown and logged, with the variables of every frame."""
    return "".join([repr(error), str(error.to_dict()), *traceback.format_exception(error), *locals_of(error)])


@pytest.mark.parametrize(
    "answered", [b"HTTP/1.1 200 OK\r\ncontent-le", b"", b"SSH-2.0\r\n", b"HTTP/1.1 101 Other\r\n\r\n"]
)
async def test_a_proxy_that_fails_is_an_error_to_try_again(
    new_transport: NewTransport, monkeypatch: pytest.MonkeyPatch, answered: bytes
) -> None:
    with loopback(send_and_close(answered)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(ProxyError, match="HTTPS_PROXY") as caught:
            await exchange(new_transport, "https://vendor.example")
    assert caught.value.retryable


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
