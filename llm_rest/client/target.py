"""The target of a call (vendor, wire, dialect, credentials, capabilities of the model) and its HTTP request as data.

Before changing this file, know that a body is encoded once and sent again byte for byte on a retry, and that its
secrets are listed separately for redaction, because an answer may repeat them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import wires
from ..errors import ConfigError
from ..losses import Loss
from ..responses.request import Request
from ..responses.tools import McpTool
from ..vendors import models
from ..vendors.auth import Credentials, Secret, TokenProvider, credentials, key_variables
from ..vendors.dialects import REFUSALS, GeminiDialect, ResponsesDialect
from ..vendors.models import ENCRYPTED
from ..vendors.rows import VENDORS, Endpoint, Vendor, is_loopback, resolve, url_variables
from ..wires import Route, Wire
from .inputs import surrogates_in
from .reply import AnswerSource

if TYPE_CHECKING:
    from ..errors import LLMError
    from ..wires.prefix import EncodedPrefix


Guard = Callable[[Any, Request, Any, str, "list[Loss]"], Any]
"""The body to send instead of an encoded one, by its request, dialect and wire; losses are added to the list."""


class Target(Struct):
    """The properties of a vendor and model that are the same for every call."""

    endpoint: Endpoint
    wire: Wire[Any, Any, Any]
    dialect: Any
    credentials: Credentials
    known: models.Capabilities
    keep: bool = False
    """Whether answers keep the description of their documents, for a gateway that encodes them again."""
    headers: dict[str, str | Secret] | None = None
    """The headers of every request; `None` until they are constant."""
    guard: Guard | None = None
    """Checks and changes the body of every request, for a gateway."""

    @property
    def vendor(self) -> str:
        """The vendor's name."""
        return self.endpoint.vendor.name

    def check(self, body: Any, request: Request, lost: list[Loss]) -> Any:
        """The body that a gateway's `guard` lets through."""
        return body if self.guard is None else self.guard(body, request, self.dialect, self.endpoint.wire, lost)

    def decoding(self, request: Request | None) -> dict[str, Any]:
        """The options of the wire's decoders for the answer to a request that is decoded now."""
        return {"request": request, "now": int(time.time()), "dialect": self.dialect, "keep": self.keep}

    def source(self, frames: tuple[bytes, ...] = (), earlier: tuple[bytes, ...] = ()) -> AnswerSource:
        """What the leftovers of an answer are read with."""
        return AnswerSource(self.endpoint.wire, self.dialect, frames, earlier)

    @property
    def model(self) -> str:
        """The model as the vendor calls it."""
        return self.endpoint.model

    def facts(self) -> dict[str, Any]:
        """The facts for the suggestions of an error."""
        endpoint = self.endpoint
        row, url = endpoint.vendor, urlsplit(endpoint.base_url)
        origin = f"{url.scheme}://{url.netloc}" if url.netloc else None
        local = is_loopback(url.hostname or "")
        facts = {
            "endpoint": origin,
            "local": origin if local else None,
            "start": row.start if local else None,
            "base_url_env": " or ".join(url_variables(row)),
            "key_env": " or ".join(key_variables(endpoint)),
            "provider": "credentials=" if self.credentials.renewable else None,
            "context_window": self.known.context_window,
            "max_output": self.known.max_output,
        }
        return {name: fact for name, fact in facts.items() if fact}


class Targets:
    """Finds the target of a model. Arguments for one vendor, such as its key, are used for no other."""

    def __init__(
        self,
        model: str | None,
        *,
        api_key: Secret | None,
        base_url: str | None,
        wire: str | None,
        vendor: Vendor | str | None,
        provider: TokenProvider | None,
    ) -> None:
        self._key = api_key
        self._base_url = base_url
        self._wire = wire
        self._vendor = _row(vendor)
        self._provider = provider
        self._home = self._vendor.name if self._vendor else (model or "").partition("/")[0]
        self._found: dict[str | None, Target] = {}
        self._keep = False
        self._guard: Guard | None = None
        if not self._home and (api_key or base_url):
            raise ConfigError("api_key= and base_url= belong to one vendor", hint="give model= or vendor= with them")

    def keep_documents(self, guard: Guard | None = None) -> None:
        """Configure answers to keep the description of their documents, and requests to be checked by `guard`."""
        self._keep, self._guard = True, guard
        self._found.clear()

    def find(self, model: str | None) -> Target:
        """The target of `model`. Raises `ConfigError` for an unknown vendor."""
        found = self._found.get(model)
        if found is None:
            if len(self._found) > 100:
                self._found.clear()  # the names come from clients of a gateway
            found = self._found[model] = self._make(model)
        return found

    def _make(self, model: str | None) -> Target:
        is_own = self._vendor is not None or not self._home or (model or "").partition("/")[0] == self._home
        endpoint = resolve(
            model,
            vendor=self._vendor,
            wire=self._wire if is_own else None,
            base_url=self._base_url if is_own else None,
        )
        dialect: Any = endpoint.dialect
        known = models.capabilities(endpoint.model, endpoint.vendor.name)
        if isinstance(dialect, ResponsesDialect):
            reasons = None if known.reasoning is None else bool(known.reasoning)
            dialect = replace(dialect, stores_nothing=True, model_reasons=reasons)
        elif isinstance(dialect, GeminiDialect):
            dialect = replace(dialect, stores_nothing=True)
        return Target(
            endpoint=endpoint,
            wire=wires.load(endpoint.wire),
            dialect=dialect,
            credentials=credentials(endpoint, api_key=self._key if is_own else None, provider=self._provider),
            known=known,
            keep=self._keep,
            guard=self._guard,
        )


def _row(vendor: Vendor | str | None) -> Vendor | None:
    if not isinstance(vendor, str):
        return vendor
    if vendor not in VENDORS:
        raise ConfigError(
            f"there is no vendor {vendor!r}", hint=f"there are {', '.join(VENDORS)}; or pass a Vendor(...)"
        )
    return VENDORS[vendor]


_encoder = msgspec.json.Encoder()

DEFAULT_HEADERS: dict[str, str | Secret] = {
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": "llm_rest",
}
"""The default headers of every request."""

STREAM_HEADERS = {"Accept-Encoding": "identity"}
"""No compression, since a server may delay events until they fill a block."""


def with_headers(sent: dict[str, str | Secret], given: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """The headers with those of the caller, which override them regardless of case."""
    if not given:
        return sent
    names = {name.lower() for name in given}
    return {name: value for name, value in sent.items() if name.lower() not in names} | dict(given)


def url_of(base_url: str, route: Route) -> str:
    """The URL of a route below a base URL."""
    return f"{base_url}{route.path}?{urlencode(route.query, doseq=True)}" if route.query else base_url + route.path


class OutgoingRequest(Struct, frozen=True):
    """An outgoing HTTP request: its bytes, route, and the secrets in them. Its repr shows no content."""

    route: Route
    """Its method, path and headers."""
    body: bytes = b""
    """The encoded document."""
    secrets: dict[str, Secret] = {}
    """The secrets in the body, which are redacted in errors."""
    stream: bool = False
    """Whether a streaming response is requested."""
    request: Request | None = None
    """The model request for rate limits and budgets; `None` for requests that these do not count."""

    def url(self, target: Target) -> str:
        """Its URL."""
        return url_of(target.endpoint.base_url, self.route)

    def __repr__(self) -> str:
        return f"<{self.route.method} {self.route.path}, {len(self.body)} bytes>"


def build_request(
    encode: Callable[..., tuple[Any, list[Loss]]],
    route: Callable[..., Route],
    request: Request,
    dialect: Any,
    prefix: EncodedPrefix | None = None,
    guard: Callable[[Any, Request, list[Loss]], Any] | None = None,
) -> tuple[OutgoingRequest, list[Loss]]:
    """The request in the wire's format, and its losses. Raises `ConfigError` for invalid characters."""
    earlier = {} if prefix is None else {"prefix": prefix}
    try:
        body, lost = encode(request, dialect=dialect, **earlier)
        if guard is not None:
            body = guard(body, request, lost)
        where = route(request, dialect=dialect, **earlier)
        if request.stream is True:
            where = replace(where, headers={**STREAM_HEADERS, **where.headers})
        stream = request.stream is True
        return OutgoingRequest(where, _encoder.encode(body), _secrets_in(request), stream, request), lost
    except UnicodeEncodeError:
        pass
    raise surrogates_in(request)


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def without_rejected(outgoing: OutgoingRequest, error: LLMError) -> tuple[OutgoingRequest, Loss] | None:
    """The request without the encrypted reasoning that the vendor rejected for this model, and the loss.

    `None` where the error has another cause. The other fields stay byte for byte.
    """
    if (
        error.status != 400
        or not outgoing.body
        or REFUSALS["encrypted_reasoning"].message.rstrip(".") not in error.message
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
    """The tokens in the body: those of MCP servers."""
    found: dict[str, Secret] = {}
    for i, tool in enumerate(request.tools or ()):
        if isinstance(tool, McpTool):
            inside = {**(tool.headers or {}), "authorization": tool.authorization or ""}
            found |= {f"tools[{i}].{name}": Secret(value) for name, value in inside.items()}
    return found
