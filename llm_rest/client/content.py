"""Input of text, images and files, `user("What is this?", image("photo.png"), file("paper.pdf"))`, and remote MCP servers.

The media type is detected from the first bytes, else from the file name. Only `fetch_image` downloads, from
public addresses. `MCP` becomes the `mcp` tool of the Responses format (OpenAI reference, read 2026-11-20). Before changing
this file, know that the headers of an MCP server are secrets inside the body of the request.
"""

from __future__ import annotations

import re
from base64 import b64encode
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from ..errors import ConfigError, ProtocolError, printable
from ..responses.items import Message
from ..responses.parts import InputFile, InputImage, InputText, OutputText, data_url, type_by_bytes
from ..responses.tools import McpTool
from ..sync import drive
from ..transport import HTTPRequest, Timeouts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..responses.parts import ContentPart
    from ..transport.exchange import Transport

Source = str | bytes | PathLike[str]
"""A path, the bytes themselves, or a URL (`https:`, `http:` or `data:`)."""

Detail = Literal["low", "high", "auto", "original"] | str
"""The resolution of an image for the model, as the `detail` of an image part."""

IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
}
"""Images by file extension, where the first bytes are ambiguous."""

_OFFICE = "application/vnd.openxmlformats-officedocument"
FILES = {
    ".pdf": "application/pdf",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".rtf": "application/rtf",
    ".epub": "application/epub+zip",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".html": "text/html",
    ".htm": "text/html",
    ".md": "text/markdown",
    ".xml": "application/xml",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
"""Files by file extension; any other text is `text/plain`."""


def user(*parts: str | ContentPart, role: Literal["user", "system", "developer", "assistant"] = "user") -> Message:
    """A message of texts, images and files, in order. Raises `ConfigError` without any part."""
    if not parts:
        raise ConfigError("a message needs at least one part", hint='user("text", image("photo.png"))')
    part_type = OutputText if role == "assistant" else InputText
    return Message(role=role, content=[part_type(text=part) if isinstance(part, str) else part for part in parts])


def image(source: Source, *, detail: Detail | None = None) -> InputImage:
    """An image part from a path, bytes or a URL. A URL is passed on, and the vendor fetches it.

    `detail` is the resolution for the model: `low`, `high`, `auto` or `original`; `None` leaves it to the vendor. Raises
    `ConfigError` where the file cannot be read or has an unknown image format.
    """
    if isinstance(source, str) and _is_url(source):
        url = source
    else:
        data, name = _read(source, "image")
        url = _image_url(data, name)
    return InputImage(image_url=url, detail=detail)


def file(source: Source, *, filename: str | None = None) -> InputFile:
    """A file part from a path, bytes or a URL; `filename` is the name that the model sees, by default the file's own.

    A URL is passed on, and the vendor fetches it. Raises `ConfigError` where the file cannot be read, is empty, or has an
    unknown type.
    """
    if isinstance(source, str) and _is_url(source):
        if source.startswith("data:"):
            return InputFile(file_data=source, filename=filename)
        return InputFile(file_url=source, filename=filename)
    data, name = _read(source, "file")
    media_type = _type_of_file(data, filename or name)
    ending = next((ending for ending, known in FILES.items() if known == media_type), ".txt")
    url = data_url(media_type, b64encode(data).decode())
    return InputFile(file_data=url, filename=filename or name or f"file{ending}")


def attachment(source: Source, *, data: bool = False) -> InputImage | InputFile | bytes:
    """The content part for a path, bytes or a URL: an image (a URL: by its ending), else a file. `data`: as bytes."""
    is_url = isinstance(source, str) and _is_url(source)
    found, name = (b"", urlsplit(str(source)).path) if is_url else _read(source, "file")
    if data:
        return found
    kind = type_by_bytes(found) or IMAGES.get(Path(name).suffix.lower()) or ""
    return image(source) if kind.startswith("image/") else file(source)


def _is_url(source: str) -> bool:
    return source.startswith(("https://", "http://", "data:"))


def _read(source: Source, what: str) -> tuple[bytes, str]:
    """The bytes of a source and the name of its file."""
    if isinstance(source, bytes):
        data, name = source, ""
    else:
        try:
            path = Path(source)
        except TypeError:
            raise ConfigError(f"{what}: expected a path, bytes or a URL, got {type(source).__name__}") from None
        name = path.name
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise ConfigError(f"{what}: there is no file {path}") from None
        except (OSError, ValueError) as problem:
            raise ConfigError(f"{what}: {path} cannot be read: {type(problem).__name__}") from None
    if not data:
        raise ConfigError(f"{what}: {name or 'the given bytes'} is empty")
    return data, name


def _image_url(data: bytes, name: str) -> str:
    found = type_by_bytes(data) or IMAGES.get(Path(name).suffix.lower())
    if found is None or not found.startswith("image/"):
        raise ConfigError(
            f"image: {name or 'what was given'} is not a supported image format{f' but {found}' if found else ''}",
            hint=f"known are {', '.join(sorted({kind.removeprefix('image/') for kind in IMAGES.values()}))}",
        )
    return data_url(found, b64encode(data).decode())


def _type_of_file(data: bytes, name: str) -> str:
    found = type_by_bytes(data) or FILES.get(Path(name).suffix.lower())
    if found is None:
        try:
            data.decode()
        except UnicodeDecodeError:
            raise ConfigError(
                f"file: {name or 'what was given'} has an unknown type: not an image, PDF, office document or text",
                hint="pass filename= with an extension, or a data: URL",
            ) from None
        found = "text/plain"
    return found


# --- fetching images from URLs --------------------------------------------------------------------------------------

MAX_IMAGE = 20 * 1024 * 1024
"""The maximum size of an image that is fetched, in bytes."""

_REDIRECTS = 5


def fetch_image(url: str, *, detail: Detail | None = None, timeout: float = 20.0) -> InputImage:
    """Download the image at a URL to an image part with its bytes, for vendors that do not fetch URLs.

    Only public addresses are reached, redirects included. `timeout` is seconds for the whole download, and the image may
    have at most `MAX_IMAGE` (20 MiB) bytes. Raises `ConfigError` for other addresses and other media types,
    `ResponseTooLargeError`, `ProtocolError` for another status than 200, and other `APIConnectionError`s.
    """
    from ..transport.blocking import SyncTransport

    async def fetch() -> InputImage:
        transport = SyncTransport(public_only=True, max_body=MAX_IMAGE)
        try:
            return await _fetched(transport, url, detail, Timeouts(total=timeout))
        finally:
            await transport.close()

    return drive(fetch())


async def afetch_image(url: str, *, detail: Detail | None = None, timeout: float = 20.0) -> InputImage:  # noqa: ASYNC109
    """`fetch_image` for async callers."""
    from ..transport.asynchronous import AsyncTransport

    transport = AsyncTransport(public_only=True, max_body=MAX_IMAGE)
    try:
        return await _fetched(transport, url, detail, Timeouts(total=timeout))
    finally:
        await transport.close()


async def _fetched(transport: Transport, url: str, detail: Detail | None, timeouts: Timeouts) -> InputImage:
    headers = {"accept": "image/*", "user-agent": "llm_rest"}
    for _ in range(_REDIRECTS + 1):
        answer = await transport.send(HTTPRequest("GET", _fetchable(url), {**headers}), timeouts)
        if 300 <= answer.status < 400 and "location" in answer.headers:
            url = urljoin(url, answer.headers["location"])
            continue
        if answer.status != 200:
            raise ProtocolError(
                f"the image was answered with status {answer.status}", status=answer.status, retryable=False
            )
        # The server's content type is ignored: pages are served as images and images with any type.
        return InputImage(image_url=_image_url(answer.body, ""), detail=detail)
    raise ProtocolError(f"the image was redirected more than {_REDIRECTS} times", retryable=False)


def _fetchable(url: str) -> str:
    try:
        parts = urlsplit(str(url))
        whole = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.username is None
    except ValueError:
        whole = False
    if not whole or re.search(r"[\x00-\x20\x7f]", url):
        raise ConfigError("only https: and http: URLs without a user name are fetched")
    return url


class MCP(Struct, frozen=True):
    """The tools of a remote MCP server, which the vendor calls.

    A bearer token among the `headers` becomes the vendor's authorization field. The vendor calls the tools without approval
    unless `require_approval` says otherwise. Raises `ConfigError` without a name or a URL.
    """

    name: str
    """The label of the server, which the vendor puts on its tools and calls."""
    url: str
    """The URL of the server, as the vendor reaches it."""
    allowed_tools: Sequence[str] | None = None
    """The names of the tools that the model may call; `None` for all."""
    headers: Mapping[str, str] = {}
    """HTTP headers that the vendor sends to the server, such as an access token. Never shown by `repr`."""
    require_approval: str = "never"
    """`never`, or `always`: each call waits for an approval item of the caller, at vendors that support it."""

    def __post_init__(self) -> None:
        if not self.name or not self.url:
            raise ConfigError(
                f"MCP({self.name!r}) needs a name and a url", hint='such as MCP("wiki", "https://host/mcp")'
            )

    def __repr__(self) -> str:
        shown = dict.fromkeys(self.headers, "[redacted]")
        return f"MCP({self.name!r}, {printable(self.url)!r}, allowed_tools={self.allowed_tools!r}, headers={shown!r})"

    def tool(self) -> McpTool:
        """The server as an `mcp` tool of the Responses format."""
        headers, token = dict(self.headers), ""
        for name, value in self.headers.items():
            scheme, _, rest = value.partition(" ")
            if name.lower() == "authorization" and scheme.lower() == "bearer":
                del headers[name]
                token = rest.strip()
        return McpTool(
            server_label=self.name,
            server_url=self.url,
            authorization=token or None,
            headers=headers or None,
            allowed_tools=None if self.allowed_tools is None else list(self.allowed_tools),
            require_approval=self.require_approval,
        )


class _Hidden(dict[str, Any]):
    """An MCP tool as plain JSON, whose repr shows no secret."""

    def __repr__(self) -> str:
        return repr({**self, **{name: "[redacted]" for name in ("authorization", "headers") if name in self}})


def hidden(tool: object) -> object:
    """The tool without secrets in its repr, since tracebacks may be recorded with local variables."""
    match tool:
        case {"type": "mcp"}:
            return _Hidden(cast("dict[str, Any]", tool))
        case _:
            return tool
