"""What a call sends, as data: its headers, its URL, its bytes, and the secrets among them.

Before changing this file, know that a body is encoded once and sent again byte for byte, and that what is secret in it is known
apart, because an answer may repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .auth import Secret
from .dialects import REFUSALS
from .losses import Loss
from .models import ENCRYPTED
from .options import surrogates_in
from .responses.tools import McpTool
from .wires import Route

if TYPE_CHECKING:
    from .errors import LLMError
    from .responses.request import Request
    from .target import Target

_encoder = msgspec.json.Encoder()

SENT_ALWAYS: dict[str, str | Secret] = {
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": "llm_rest",
}
"""The headers of every request, unless the vendor or the caller says otherwise."""

SENT_FOR_STREAMS = {"Accept-Encoding": "identity"}
"""A server that compresses may hold events back until they fill a block."""


def with_headers(sent: dict[str, str | Secret], given: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """The headers with those of the caller, which win whatever their case."""
    if not given:
        return sent
    names = {name.lower() for name in given}
    return {name: value for name, value in sent.items() if name.lower() not in names} | dict(given)


def url_of(base_url: str, route: Route) -> str:
    """Where a route leads below a base URL."""
    return f"{base_url}{route.path}?{urlencode(route.query, doseq=True)}" if route.query else base_url + route.path


class Outgoing(Struct, frozen=True):
    """A document on its way: its bytes, where they go, and the secrets in them. Its repr shows no content."""

    route: Route
    body: bytes = b""
    secrets: dict[str, Secret] = {}
    stream: bool = False

    def url(self, target: Target) -> str:
        """Where it goes."""
        return url_of(target.endpoint.base_url, self.route)

    def __repr__(self) -> str:
        return f"<{self.route.method} {self.route.path}, {len(self.body)} bytes>"


def encoded(
    encode: Callable[..., tuple[Any, list[Loss]]], route: Callable[..., Route], request: Request, dialect: Any
) -> tuple[Outgoing, list[Loss]]:
    """The request as a wire sends it, and what the wire could not carry. Raises `ConfigError` for what is no character."""
    try:
        body, lost = encode(request, dialect=dialect)
        where = route(request, dialect=dialect)
        if request.stream is True:
            where = replace(where, headers={**SENT_FOR_STREAMS, **where.headers})
        return Outgoing(where, _encoder.encode(body), _secrets_in(request), request.stream is True), lost
    except UnicodeEncodeError:
        pass
    raise surrogates_in(request)


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def without_refused(outgoing: Outgoing, error: LLMError) -> tuple[Outgoing, Loss] | None:
    """The request without the encrypted reasoning that the vendor refused to give for this model, and the loss that this is.

    `None` where the error is about something else. The other fields stay byte for byte.
    """
    if (
        error.status != 400
        or not outgoing.body
        or REFUSALS["encrypted_reasoning"].says.rstrip(".") not in error.message
    ):
        return None
    fields = _fields.decode(outgoing.body)
    included: Any = msgspec.json.decode(fields.pop("include", b"[]"))
    if not isinstance(included, list) or ENCRYPTED not in included:
        return None
    if others := [name for name in cast("Any", included) if name != ENCRYPTED]:
        fields["include"] = msgspec.Raw(_encoder.encode(others))
    what = f"{ENCRYPTED} is refused by this model; the request was sent again without it"
    return replace(outgoing, body=_encoder.encode(fields)), Loss("include", what, "dropped")


def _secrets_in(request: Request) -> dict[str, Secret]:
    """The tokens that travel in the body: those for MCP servers."""
    found: dict[str, Secret] = {}
    for i, tool in enumerate(request.tools or ()):
        if isinstance(tool, McpTool):
            inside = {**(tool.headers or {}), "authorization": tool.authorization or ""}
            found |= {f"tools[{i}].{name}": Secret(value) for name, value in inside.items()}
    return found
