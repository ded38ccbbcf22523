"""How the vendor behind each wire behaves beyond its format: what it refuses, and what it signs.

One module per wire, named like it. Each reads the request's plain JSON as it arrived and not through our own converters, so
that a mistake they make in both directions does not hide. A wire without a module refuses and signs nothing.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...errors import ErrorFacts
    from ...responses import Response
    from ...server.handler import Context

Plain = dict[str, Any]


class Peer(Protocol):
    """The vendor's own habits on one wire."""

    def refusal(self, document: Plain, context: Context) -> ErrorFacts | None:
        """Why the vendor would answer this request with an error; `None` where it would not."""
        ...

    def problems(self, document: Plain, context: Context) -> Iterator[ErrorFacts]:
        """Everything that is wrong with the request in itself, leaving aside opaque state that came back."""
        ...

    def finished(self, response: Response, document: Plain, context: Context) -> Response:
        """`response` with ids as the vendor makes them, and with its signatures."""
        ...

    def unknown_model(self, model: str) -> ErrorFacts:
        """The error for a model that does not exist."""
        ...

    def wrong_key(self, key: str) -> ErrorFacts:
        """The error for a key that is not valid."""
        ...


@lru_cache(maxsize=32)
def of(wire: str) -> Peer | None:
    """The peer of that wire; `None` where nothing is known of its vendor."""
    name = f"{__name__}.{wire}"
    return cast("Peer", import_module(name)) if find_spec(name) else None
