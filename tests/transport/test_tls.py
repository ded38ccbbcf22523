"""Whom connections trust: certificates that are right and wrong, over real TLS. Wrong ones of servers are cases T31 to T34."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import serialization

from llm_rest import TLS, AsyncClient, Client
from llm_rest.errors import ConfigError
from llm_rest.transport.tls import context_of, default_context
from tests.loopback import END, STREAM, chunks, http, loopback, send
from tests.transport.certificates import authority, requiring_certificates, serving
from tests.transport.support import TEN_SECONDS, NewTransport, exchange, post, rest

pytestmark = pytest.mark.anyio

OURS = "a client of the caller's has its own TLS"
HELLO = send(http(b"hello"))


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file to trust the authority by."""
    file = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority().cert_pem.write_to_path(str(file))
    return file


@pytest.fixture
def mine(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of a client, and its key."""
    found = authority().issue_cert("client.example")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(b"".join(blob.bytes() for blob in found.cert_chain_pems))
    found.private_key_pem.write_to_path(str(key))
    return cert, key


@pytest.fixture
def folder(ca: Path, tmp_path: Path) -> Path:
    """A folder in which OpenSSL finds the authority."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed, which names the files of such a folder")
    command = [openssl, "x509", "-noout", "-hash", "-in", str(ca)]
    name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    (tmp_path / f"{name}.0").write_bytes(ca.read_bytes())
    return tmp_path


FORMS: dict[str, Callable[[Path], Any]] = {
    "path": lambda place: place,
    "text": str,
    "struct": lambda place: TLS(ca=place),
    "context": lambda place: ssl.create_default_context(cafile=place),
    "folder": lambda place: place,
}


@pytest.mark.parametrize("form", [*FORMS, "SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_an_authority_of_the_callers_is_trusted(
    new_transport: NewTransport, form: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    place = request.getfixturevalue("folder" if form in ("folder", "SSL_CERT_DIR") else "ca")
    options = {"tls": FORMS[form](place)} if form in FORMS else {}
    if form not in FORMS:
        monkeypatch.setenv(form, str(place))
    with loopback(HELLO, tls=serving()) as server:
        assert (await exchange(new_transport, server.url, **options)).body == b"hello"


async def test_connections_are_reused_and_streams_arrive(new_transport: NewTransport, ca: Path) -> None:
    long = b"x" * 300_000
    with loopback(send(STREAM + chunks(b"one", long) + END), HELLO, tls=serving()) as server:
        transport = new_transport(tls=ca)
        assert await rest(await transport.open(post(server.url, long, stream=True), TEN_SECONDS)) == b"one" + long
        assert (await transport.send(post(server.url), TEN_SECONDS)).body == b"hello"
        await transport.close()
    assert (server.connections, server.bodies[0]) == (1, long)


async def test_a_server_that_requires_one_gets_the_certificate_of_the_client(
    new_transport: NewTransport, ca: Path, mine: tuple[Path, Path]
) -> None:
    cert, key = mine
    together = cert.with_name("both.pem")
    together.write_bytes(key.read_bytes() + cert.read_bytes())
    with loopback(HELLO, tls=requiring_certificates()) as server:
        for tls in (TLS(ca=ca, cert=cert, key=key), TLS(ca=ca, cert=together)):
            assert (await exchange(new_transport, server.url, tls=tls)).body == b"hello"


# --- what tls= takes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_is_wrong_with_tls_is_said_when_the_client_is_made(
    kind: Any, ca: Path, mine: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = mine
    empty = tmp_path / "empty.pem"
    empty.touch()
    locked = tmp_path / "locked.pem"
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    found = serialization.load_pem_private_key(key.read_bytes(), None)
    locked.write_bytes(found.private_bytes(pem, form, serialization.BestAvailableEncryption(b"secret")))
    for wrong, said in [
        ("/nowhere/ca.pem", "tls ca names '/nowhere/ca.pem', .*No such file"),
        (empty, "tls ca names .*empty.pem"),
        (TLS(cert="/nowhere/cert.pem"), "tls cert names '/nowhere/cert.pem', .*No such file"),
        (TLS(ca=ca, cert=cert), "tls cert"),
        (TLS(ca=ca, cert=cert, key=locked), "password takes an ssl.SSLContext"),
        (
            TLS(cert=cert, key="/nowhere/key.pem"),
            "tls key names '/nowhere/key.pem', which cannot be used .No such file",
        ),
        (TLS(key=key), "a key goes with a certificate"),
        (False, "not a bool"),
    ]:
        with pytest.raises(ConfigError, match=said):
            kind("openai/gpt-5", api_key="sk-0123456789", tls=wrong)


def test_a_client_of_the_callers_has_its_own_tls() -> None:
    with httpx.Client() as mine, pytest.raises(ConfigError, match="has its own TLS"):
        Client("openai/gpt-5", api_key="sk-0123456789", http=mine, tls=ssl.create_default_context())


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_variable_that_leads_nowhere_is_named(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "/nowhere")
    with pytest.raises(ConfigError, match=f"{variable} names '/nowhere', which cannot be used .No such file"):
        default_context()


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
        default_context() if tls is None else context_of(tls)
    said = rf"{variable} names '{file}', which cannot be used \((NO_CERTIFICATE_OR_CRL_FOUND|.*PEM lib.*)\)"
    assert re.fullmatch(said, caught.value.message)


def test_a_configuration_is_made_once_and_again_when_its_files_change(
    ca: Path, mine: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = mine
    config = TLS(ca=ca, cert=cert, key=key)
    first = context_of(config)
    assert context_of(TLS(ca=str(ca), cert=str(cert), key=str(key))) is first
    assert context_of(ca) is not first
    os.utime(cert, ns=(0, 0))
    assert context_of(config) is not first
    assert default_context() is default_context()
    usual = default_context()
    monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    assert default_context() is not usual
    assert context_of(TLS(cert=cert, key=key)) is not default_context(), "a certificate is shown to those it is for"
    assert context_of(usual) is usual, "a context of the caller is used as it is"
