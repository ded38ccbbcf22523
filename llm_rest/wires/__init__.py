"""The wires: each a package of pure functions between one API format and the Responses format.

`load("anthropic_messages")` gives the package as a `Wire`. Nothing here uses a clock, a socket or the environment.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from msgspec import Struct

from ..errors import ConfigError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..errors import ErrorFacts
    from ..losses import Loss
    from ..responses.events import AnyEvent
    from ..responses.request import Request
    from ..responses.response import Response
    from ..unknown import Decoder
    from .prefix import EncodedPrefix

NAMES = ("openai_responses", "openai_chat", "anthropic_messages", "ollama_chat", "gemini_generate_content")
"""The names of the wires, which are the names of their packages."""


Framing = Literal["sse", "ndjson"]
"""How a stream is framed: server-sent events, or one JSON document per line."""


class Route(Struct, frozen=True):
    """The HTTP route of a request: method, path, query and headers."""

    path: str
    """The path below the vendor's base URL, beginning with a slash."""
    query: dict[str, str | tuple[str, ...]] = {}
    """The query parameters by name; a tuple is a parameter that is repeated, once for each value."""
    headers: dict[str, str] = {}
    """The headers that the request itself needs, without those of authentication."""
    method: Literal["POST", "GET", "DELETE"] = "POST"
    """The HTTP method."""


def with_model(path: str, request: Request) -> str:
    """The path of a route with the model in it, where the host has it there."""
    if "{model}" not in path:
        return path
    return path.replace("{model}", path_segment(request.model or ""))


def path_segment(name: str, *, safe: str = "") -> str:
    """A name as one segment of a path. Raises `ConfigError` for one that leads to another path, escaped or not."""
    from urllib.parse import quote, unquote  # slow to load

    plain = name
    while (decoded := unquote(plain)) != plain:
        plain = decoded
    if any(part.strip() in (".", "..") for part in plain.replace("\\", "/").split("/")) or not plain.isprintable():
        raise ConfigError(f"{printable(name, 100)!r} is not a name: it leads to another path of the host")
    return quote(name, safe=safe)


class StreamDecoder(Protocol):
    """Converts a wire's stream events to Responses events: a state machine that raises nothing for vendor data."""

    losses: list[Loss]
    """The losses so far; complete after `close`."""

    def feed(self, event: Any) -> list[AnyEvent]:
        """The Responses events for one event of the wire; may be empty. Raises nothing for data from a vendor."""
        ...

    def close(self) -> list[AnyEvent]:
        """The remaining Responses events at the end of the stream; may be empty."""
        ...


class LongStreamDecoder(StreamDecoder, Protocol):
    """The same for a wire whose long answers come in several hops, each the answer to a request of its own.

    `finished` is whether the last event of the hop has arrived, so that only details may follow. `checkpoint` gives the
    token to continue with if the body ends or breaks off now, and `resume` begins the next hop.
    """

    @property
    def finished(self) -> bool: ...
    def checkpoint(self) -> str | None: ...
    def resume(self) -> None: ...


class StreamEncoder(Protocol):
    """Converts Responses events to a wire's stream events: a state machine."""

    losses: list[Loss]
    """The losses so far; complete after `close`."""

    def feed(self, event: AnyEvent) -> list[Any]:
        """The wire's events for one Responses event; may be empty."""
        ...

    def close(self) -> list[Any]:
        """The remaining events of the wire at the end of the stream."""
        ...


D = TypeVar("D", contravariant=True)
Q = TypeVar("Q")
A = TypeVar("A")


class LongWire(Protocol):
    """The additional interface of a wire whose long answers come in several hops."""

    def goes_on(self, body: Any) -> bool: ...
    def continued(self, body: bytes, token: str) -> bytes: ...
    def decode_stream(
        self, *, request: Request | None = None, dialect: Any = ..., now: float = 0, keep: bool = True
    ) -> LongStreamDecoder: ...


class Wire(Protocol[D, Q, A]):
    """The interface of every wire package: generic over its dialect, its request and its response documents.

    Converters never raise for valid structs; they return the losses. Decoders have `keep=False`, which omits what only
    describes a document and its notation, data that a gateway needs to write it again. `DecodeError` is raised only by
    the decoders of bytes, for bytes that are not the expected document. An error that a host sends with status 200 is
    not: `RESPONSE` raises for it, and `decode_error` reads it.
    """

    REQUEST: Decoder[Q]
    """Decodes a request's JSON (`bytes`) to the wire's struct. Raises `DecodeError`."""
    RESPONSE: Decoder[A]
    """Decodes a whole answer's JSON (`bytes`) to the wire's struct. Raises `DecodeError`, also for an error document."""
    EVENT: Decoder[Any]
    """Decodes the JSON of one stream event to the wire's struct. Raises `DecodeError`."""
    FRAMING: Framing
    """How a stream is framed."""
    END: bytes | None
    """The data of the event that ends a stream, such as `[DONE]`; `None` where the wire has none."""
    NAMED_EVENTS: bool
    """Whether server-sent events carry their type in the `event` field as well."""

    def encode_request(
        self, request: Request, *, dialect: D = ..., prefix: EncodedPrefix | None = None
    ) -> tuple[Q, list[Loss]]:
        """A Responses request as the wire's request, and the losses.

        With a `prefix` the messages of earlier turns are one `msgspec.Raw` in the list of messages.
        """
        ...

    def decode_request(
        self, body: Q, *, dialect: D = ..., model: str | None = None, keep: bool = True
    ) -> tuple[Request, list[Loss]]:
        """A wire's request as a Responses request, and the losses. `model` is for wires with it in the path."""
        ...

    def decode_response(
        self, body: A, *, request: Request | None = None, dialect: D = ..., now: float = 0, keep: bool = True
    ) -> tuple[Response, list[Loss]]:
        """A wire's answer as a Responses response, and the losses. `now` is seconds since 1970, for `created_at`."""
        ...

    def encode_response(
        self, response: Response, *, request: Request | None = None, dialect: D = ...
    ) -> tuple[A, list[Loss]]:
        """A Responses response as the wire's answer, and the losses."""
        ...

    def decode_stream(
        self, *, request: Request | None = None, dialect: D = ..., now: float = 0, keep: bool = True
    ) -> StreamDecoder:
        """A decoder for one stream of the wire. `now` is seconds since 1970, for `created_at`."""
        ...

    def encode_stream(self, *, request: Request | None = None, dialect: D = ...) -> StreamEncoder:
        """An encoder for one stream of the wire."""
        ...

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
        """The facts of an error answer, for any status and any body. Never raises."""
        ...

    def encode_error(self, facts: ErrorFacts) -> tuple[int, Any]:
        """The HTTP status and the body of an error in the wire's format."""
        ...

    def route(
        self, request: Request, *, dialect: D = ..., stream: bool = False, prefix: EncodedPrefix | None = None
    ) -> Route:
        """The route of a request: path, query and headers. `prefix` as `encode_request` left it."""
        ...


def long_wire(wire: Wire[Any, Any, Any]) -> LongWire | None:
    """The wire as one whose long answers come in several hops; `None` for the others."""
    return cast("LongWire", wire) if hasattr(wire, "continued") else None


def load(name: str) -> Wire[Any, Any, Any]:
    """The wire of that name, imported on first use. Raises `KeyError` naming the existing wires."""
    if name not in NAMES:
        raise KeyError(f"no wire {name!r}; there are {', '.join(NAMES)}")
    return cast("Wire[Any, Any, Any]", import_module(f".{name}", __name__))


def lazy_streams(package: str, *others: str) -> Callable[[str], Any]:
    """The `__getattr__` of a wire's package, which imports `stream.py` on first use; `others` are more names from it.

    The structs of the events would be most of the cost of importing a converter.
    """
    names = ("decode_stream", "encode_stream", *others)

    def load_stream(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        stream = import_module(f"{package}.stream")
        found = vars(sys.modules[package])
        found.update({each: getattr(stream, each) for each in names})
        return found[name]

    return load_stream
