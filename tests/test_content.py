"""Texts, images and files as input; images of others, fetched from public addresses only."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import anyio
import pytest
from pytest_httpx import HTTPXMock

from llm_rest.client.content import afetch_image, fetch_image, file, image, user
from llm_rest.errors import ConfigError, LLMError, ProtocolError, ResponseTooLargeError
from llm_rest.responses import InputFile, InputImage, InputText, Message, OutputText
from llm_rest.responses.parts import parse_data_url
from tests.loopback import http, loopback, send

PNG = b"\x89PNG\r\n\x1a\n....."
PDF = b"%PDF-1.7 ..."


def held(url: Any) -> tuple[str, bytes]:
    media = parse_data_url(url)
    assert media is not None
    return media.type, base64.b64decode(media.data)


def test_a_message_is_made_of_its_parts_in_order() -> None:
    message = user("What is this?", image(PNG), "And this?")
    assert isinstance(message, Message)
    assert message.role == "user"
    assert [type(part) for part in message.content] == [InputText, InputImage, InputText]
    assert user("Yes", role="assistant").content == [OutputText(text="Yes")]
    assert user("Rules", role="developer") == Message(role="developer", content=[InputText(text="Rules")])
    with pytest.raises(ConfigError):
        user()


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\n\r\n\nWEBPVP8 ", "image/webp"),
        (b"\0\0\0\x18ftypheic", "image/heic"),
        (b"\0\0\0\x18ftypavif", "image/avif"),
    ],
)
def test_an_image_is_what_its_first_bytes_say(tmp_path: Path, data: bytes, media_type: str) -> None:
    (tmp_path / "photo.txt").write_bytes(data)
    assert held(image(data).image_url) == (media_type, data)
    assert held(image(str(tmp_path / "photo.txt")).image_url) == (media_type, data)
    (tmp_path / "photo.JPG").write_bytes(b"odd")
    assert held(image(tmp_path / "photo.JPG").image_url) == ("image/jpeg", b"odd"), "by its name"


def test_a_url_is_passed_on() -> None:
    assert image("https://host/x.png", detail="low") == InputImage(image_url="https://host/x.png", detail="low")
    assert image("data:image/png;base64,AAAA") == InputImage(image_url="data:image/png;base64,AAAA")
    assert file("https://host/x.pdf") == InputFile(file_url="https://host/x.pdf")
    assert file("data:application/pdf;base64,AAAA", filename="x.pdf").file_data == "data:application/pdf;base64,AAAA"


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("paper.pdf", PDF, "application/pdf"),
        ("paper.bin", PDF, "application/pdf"),
        ("table.csv", b"a,b", "text/csv"),
        ("notes.md", b"# x", "text/markdown"),
        ("main.py", b"print()", "text/plain"),
        ("Makefile", "é".encode(), "text/plain"),
        ("x.docx", b"PK\x03\x04\xff", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ],
)
def test_a_file_has_its_type_and_its_name(tmp_path: Path, name: str, data: bytes, media_type: str) -> None:
    (tmp_path / name).write_bytes(data)
    part = file(tmp_path / name)
    assert held(part.file_data) == (media_type, data)
    assert part.filename == name
    assert file(tmp_path / name, filename="other.pdf").filename == "other.pdf"


def test_bytes_get_a_name_by_their_type() -> None:
    assert file(PDF).filename == "file.pdf"
    assert file(b"plain").filename == "file.txt"
    assert held(file(b"\xff\xfe", filename="x.docx").file_data)[0].endswith("wordprocessingml.document")


@pytest.mark.parametrize(
    ("make", "source", "message"),
    [
        (image, "missing.png", "no file missing.png"),
        (file, "missing.pdf", "no file missing.pdf"),
        (image, ".", "cannot be read"),
        (image, b"", "empty"),
        (image, b"no image", "not a supported image"),
        (image, PDF, "application/pdf"),
        (file, b"\xff\xfe\x00", "has an unknown type"),
        (file, "a\0b", "cannot be read"),
        (image, 5, "got int"),
        (fetch_image, 5, "only https"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, source: Any, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        make(source)


# --- images of others -----------------------------------------------------------------------------------------------


def fetched(way: str, url: str, **options: Any) -> InputImage:
    async def main() -> InputImage:
        return await afetch_image(url, **options)

    return fetch_image(url, **options) if way == "sync" else anyio.run(main, backend=way)


def test_a_fetched_image_is_inlined(way: str, httpx_mock: HTTPXMock) -> None:
    """BUGS 77."""
    httpx_mock.add_response(content=PNG, headers={"content-type": "text/html"})
    part = fetched(way, "https://host.example/x", detail="high")
    assert held(part.image_url) == ("image/png", PNG)
    assert part.detail == "high"
    assert "authorization" not in httpx_mock.get_requests()[0].headers


def test_a_redirect_is_followed_and_looked_at_again(way: str, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(status_code=302, headers={"location": "/y"}, url="https://host.example/x")
    httpx_mock.add_response(content=PNG, url="https://host.example/y")
    assert held(fetched(way, "https://host.example/x").image_url)[1] == PNG


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_a_private_address_is_not_fetched(way: str, host: str) -> None:
    """BUGS 77."""
    with loopback(send(http(PNG))) as server, pytest.raises(ConfigError, match="public"):
        fetched(way, f"http://{host}:{server.port}/x.png")
    assert server.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "/x.png",
        "https://user:pw@host/x.png",
        "https://",
        "https://a b/",
        "http://[::1",
        "ftp://h/x",
    ],
)
def test_only_plain_web_addresses_are_fetched(way: str, httpx_mock: HTTPXMock, url: str) -> None:
    with pytest.raises(ConfigError):
        fetched(way, url)
    if url.startswith(("file:", "https://user", "ftp:")):
        httpx_mock.add_response(status_code=302, headers={"location": url})
        with pytest.raises(ConfigError):
            fetched(way, "https://host.example/x")


@pytest.mark.parametrize(
    ("response", "error", "words"),
    [
        ({"text": "<html>", "headers": {"content-type": "image/png"}}, ConfigError, "not a supported image"),
        ({"status_code": 404}, LLMError, "404"),
        ({"content": PNG + bytes(30)}, ResponseTooLargeError, "30"),
        ({"status_code": 302, "headers": {"location": "/x"}}, ProtocolError, "redirected"),
    ],
)
def test_a_response_that_is_no_image_is_an_error(
    way: str, httpx_mock: HTTPXMock, monkeypatch: pytest.MonkeyPatch, response: Any, error: type[LLMError], words: str
) -> None:
    monkeypatch.setattr("llm_rest.client.content.MAX_IMAGE", 30)
    httpx_mock.add_response(**response, is_reusable=True)
    with pytest.raises(error, match=words):
        fetched(way, "https://host.example/x")
    assert len(httpx_mock.get_requests()) == (6 if words == "redirected" else 1)
