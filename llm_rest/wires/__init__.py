"""The wires: each a package of pure functions between one JSON dialect family and the Responses format.

`load("anthropic_messages")` gives the package as a `Wire`. Nothing here touches a clock, a socket or the environment.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..errors import ErrorFacts
    from ..losses import Loss
    from ..responses.events import AnyEvent
    from ..responses.request import Request
    from ..responses.response import Response
    from ..unknown import Decoder

NAMES = ("openai_responses", "openai_chat", "anthropic_messages", "ollama_chat", "gemini_generate_content")
"""The wires there are, by the names of their packages."""


KEEPING = frozenset({"ollama_chat"})
"""The wires whose decoders take `keep=False`: leave out what describes a document and how it was written."""


class Route(Struct, frozen=True):
    """Where a request goes: a path below the vendor's base URL, the query, and the headers the request itself asks for.

    A tuple in the query is a field that is repeated, once for each value.
    """

    path: str
    query: dict[str, str | tuple[str, ...]] = {}
    headers: dict[str, str] = {}
    method: Literal["POST", "GET", "DELETE"] = "POST"


class StreamDecoder(Protocol):
    """A machine from a wire's events to Responses events. It raises for nothing a vendor sends."""

    losses: list[Loss]

    def feed(self, event: Any) -> list[AnyEvent]: ...
    def close(self) -> list[AnyEvent]: ...


class LongStreamDecoder(StreamDecoder, Protocol):
    """The same for a wire whose long answers come in several hops, each the answer to a request of its own.

    `finished` is whether the hop told its end, so that only details may follow. `checkpoint` gives the token to continue with
    where the body ends or breaks off now, and `resume` begins the next hop.
    """

    @property
    def finished(self) -> bool: ...
    def checkpoint(self) -> str | None: ...
    def resume(self) -> None: ...


class StreamEncoder(Protocol):
    """A machine from Responses events to a wire's events."""

    losses: list[Loss]

    def feed(self, event: AnyEvent) -> list[Any]: ...
    def close(self) -> list[Any]: ...


D = TypeVar("D", contravariant=True)
Q = TypeVar("Q")
A = TypeVar("A")


class LongWire(Protocol):
    """What a wire offers beside the rest where its long answers come in several hops."""

    def goes_on(self, body: Any) -> bool: ...
    def continued(self, body: bytes, token: str) -> bytes: ...
    def decode_stream(
        self, *, request: Request | None = None, dialect: Any = ..., now: float = 0
    ) -> LongStreamDecoder: ...


class Wire(Protocol[D, Q, A]):
    """What every wire package offers: generic over its dialect, its request and its response documents.

    Converters never raise for valid structs; they return what they could not carry. `DecodeError` comes only from the
    decoders, for bytes that are not the document they should be. An error that a host sends with status 200 is such a
    document: `RESPONSE` refuses it, and `decode_error` reads it.
    """

    REQUEST: Decoder[Q]
    RESPONSE: Decoder[A]
    EVENT: Decoder[Any]
    FRAMING: Literal["sse", "ndjson"]
    END: bytes | None
    NAMED_EVENTS: bool

    def encode_request(self, request: Request, *, dialect: D = ...) -> tuple[Q, list[Loss]]: ...
    def decode_request(self, body: Q, *, dialect: D = ..., model: str | None = None) -> tuple[Request, list[Loss]]: ...
    def decode_response(
        self, body: A, *, request: Request | None = None, dialect: D = ..., now: float = 0
    ) -> tuple[Response, list[Loss]]: ...
    def encode_response(
        self, response: Response, *, request: Request | None = None, dialect: D = ...
    ) -> tuple[A, list[Loss]]: ...
    def decode_stream(self, *, request: Request | None = None, dialect: D = ..., now: float = 0) -> StreamDecoder: ...
    def encode_stream(self, *, request: Request | None = None, dialect: D = ...) -> StreamEncoder: ...
    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts: ...
    def encode_error(self, facts: ErrorFacts) -> tuple[int, Any]: ...
    def route(self, request: Request, *, dialect: D = ..., stream: bool = False) -> Route: ...


def long_wire(wire: Wire[Any, Any, Any]) -> LongWire | None:
    """The wire as one whose long answers come in several hops; `None` for the others."""
    return cast("LongWire", wire) if hasattr(wire, "continued") else None


def load(name: str) -> Wire[Any, Any, Any]:
    """The wire of that name, imported on first use. Raises `KeyError` naming the wires there are."""
    if name not in NAMES:
        raise KeyError(f"no wire {name!r}; there are {', '.join(NAMES)}")
    return cast("Wire[Any, Any, Any]", import_module(f".{name}", __name__))
