"""Whom connections trust: certificates that are right and wrong, over real TLS."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from llm_rest import TLS, AsyncClient, Client
from llm_rest.errors import ConfigError, TLSError
from llm_rest.transport.tls import context_of, usual_context
from tests.loopback import END, STREAM, chunks, http, loopback, send
from tests.transport.support import TEN_SECONDS, NewTransport, exchange, post, rest

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's has its own TLS"


@dataclass(frozen=True)
class Authority:
    """Who signs, the file to trust it by, and what it signed."""

    ca: trustme.CA
    file: Path

    def server(self, *names: str, asks: bool = False, **how: Any) -> ssl.SSLContext:
        """The TLS of a server that these names are signed for, and whether it asks for a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(*names, **how).configure_cert(context)
        if asks:
            self.ca.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    ca = trustme.CA()
    file = tmp_path_factory.mktemp("tls") / "ca.pem"
    ca.cert_pem.write_to_path(str(file))
    return Authority(ca, file)


@pytest.fixture
def mine(authority: Authority, tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of a client, and its key."""
    found = authority.ca.issue_cert("client.example")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(b"".join(blob.bytes() for blob in found.cert_chain_pems))
    found.private_key_pem.write_to_path(str(key))
    return cert, key


def hello() -> Any:
    return send(http(b"hello"))


# --- servers that are trusted --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["path", "text", "struct", "context", "folder"])
async def test_an_authority_of_the_callers_is_trusted(
    new_transport: NewTransport, authority: Authority, form: str, tmp_path: Path
) -> None:
    forms: dict[str, Callable[[], Any]] = {
        "path": lambda: authority.file,
        "text": lambda: str(authority.file),
        "struct": lambda: TLS(ca=authority.file),
        "context": lambda: ssl.create_default_context(cafile=authority.file),
        "folder": lambda: in_a_folder(authority.file, tmp_path),
    }
    with loopback(hello(), tls=authority.server("127.0.0.1")) as server:
        assert (await exchange(new_transport, server.url, tls=forms[form]())).body == b"hello"


def in_a_folder(file: Path, folder: Path) -> Path:
    """A folder in which OpenSSL finds the authority."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed, which names the files of such a folder")
    command = [openssl, "x509", "-noout", "-hash", "-in", str(file)]
    name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    (folder / f"{name}.0").write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_the_environment_names_authorities(
    new_transport: NewTransport,
    authority: Authority,
    variable: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = in_a_folder(authority.file, tmp_path) if variable == "SSL_CERT_DIR" else authority.file
    monkeypatch.setenv(variable, str(found))
    with loopback(hello(), tls=authority.server("127.0.0.1")) as server:
        assert (await exchange(new_transport, server.url)).body == b"hello"


async def test_connections_are_used_again_and_streams_come_through(
    new_transport: NewTransport, authority: Authority
) -> None:
    long = b"x" * 300_000
    with loopback(send(STREAM + chunks(b"one", long) + END), hello(), tls=authority.server("127.0.0.1")) as server:
        transport = new_transport(tls=authority.file)
        assert await rest(await transport.open(post(server.url, long, stream=True), TEN_SECONDS)) == b"one" + long
        assert (await transport.send(post(server.url), TEN_SECONDS)).body == b"hello"
        await transport.close()
    assert (server.connections, server.bodies[0]) == (1, long)


# --- servers that are not ------------------------------------------------------------------------------------------


async def test_a_name_is_verified_also_where_it_leads_to_a_trusted_server(
    new_transport: NewTransport, authority: Authority
) -> None:
    with loopback(hello(), tls=authority.server("127.0.0.1")) as server, pytest.raises(TLSError, match="localhost"):
        await exchange(new_transport, server.url.replace("127.0.0.1", "localhost"), tls=authority.file)


# --- who the client is ----------------------------------------------------------------------------------------------


async def test_a_server_that_asks_gets_the_certificate_of_the_client(
    new_transport: NewTransport, authority: Authority, mine: tuple[Path, Path]
) -> None:
    cert, key = mine
    together = cert.with_name("both.pem")
    together.write_bytes(key.read_bytes() + cert.read_bytes())
    with loopback(hello(), tls=authority.server("127.0.0.1", asks=True)) as server:
        for tls in (TLS(ca=authority.file, cert=cert, key=key), TLS(ca=authority.file, cert=together)):
            assert (await exchange(new_transport, server.url, tls=tls)).body == b"hello"


# --- what tls= takes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_is_wrong_with_tls_is_said_when_the_client_is_made(
    kind: Any, authority: Authority, mine: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = mine
    empty = tmp_path / "empty.pem"
    empty.touch()
    locked = tmp_path / "locked.pem"
    locked.write_bytes(with_password(key.read_bytes()))
    for wrong, said in [
        ("/nowhere/ca.pem", "tls ca names '/nowhere/ca.pem', .*No such file"),
        (empty, "tls ca names .*empty.pem"),
        (TLS(cert="/nowhere/cert.pem"), "tls cert names '/nowhere/cert.pem', .*No such file"),
        (TLS(ca=authority.file, cert=cert), "tls cert"),
        (TLS(ca=authority.file, cert=cert, key=locked), "password takes an ssl.SSLContext"),
        (TLS(key=key), "a key goes with a certificate"),
        (False, "not a bool"),
    ]:
        with pytest.raises(ConfigError, match=said):
            kind("openai/gpt-5", api_key="sk-0123456789", tls=wrong)


def with_password(key: bytes) -> bytes:
    """The same key, locked."""
    found = serialization.load_pem_private_key(key, None)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return found.private_bytes(encoding, form, serialization.BestAvailableEncryption(b"secret"))


def test_a_client_of_the_callers_has_its_own_tls() -> None:
    with httpx.Client() as mine, pytest.raises(ConfigError, match="has its own TLS"):
        Client("openai/gpt-5", api_key="sk-0123456789", http=mine, tls=ssl.create_default_context())


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_variable_that_leads_nowhere_is_named(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "/nowhere")
    with pytest.raises(ConfigError, match=f"{variable} names '/nowhere', which cannot be used .No such file"):
        usual_context()


@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "api-key", "my-key.pem"])
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "tls ca", "tls cert"])
def test_a_file_that_holds_no_certificate_is_named_with_the_reason(
    variable: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / name
    file.write_text("junk")
    if variable == "SSL_CERT_FILE":
        monkeypatch.setenv(variable, str(file))
    tls = {"tls ca": TLS(ca=file), "tls cert": TLS(cert=file)}.get(variable)
    with pytest.raises(ConfigError) as caught:
        usual_context() if tls is None else context_of(tls)
    said = rf"{variable} names '{file}', which cannot be used \((NO_CERTIFICATE_OR_CRL_FOUND|.*PEM lib.*)\)"
    assert re.fullmatch(said, caught.value.message)


def test_a_key_that_is_not_there_is_named(tmp_path: Path, mine: tuple[Path, Path]) -> None:
    missing = tmp_path / "client.key"
    with pytest.raises(ConfigError, match=f"tls key names '{missing}', which cannot be used .No such file"):
        context_of(TLS(cert=mine[0], key=missing))


def test_a_configuration_is_made_once_and_again_when_its_files_change(
    authority: Authority, mine: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = mine
    config = TLS(ca=authority.file, cert=cert, key=key)
    first = context_of(config)
    assert context_of(TLS(ca=str(authority.file), cert=str(cert), key=str(key))) is first
    assert context_of(authority.file) is not first
    os.utime(cert, ns=(0, 0))
    assert context_of(config) is not first
    assert usual_context() is usual_context()
    usual = usual_context()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert usual_context() is not usual
    assert context_of(TLS(cert=cert, key=key)) is not usual_context(), "a certificate is shown to those it is for"


def test_a_context_of_the_callers_is_used_as_it_is() -> None:
    context = ssl.create_default_context()
    assert context_of(context) is context
