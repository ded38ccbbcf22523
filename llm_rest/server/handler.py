"""What stands behind the server: something that answers requests, and how it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from ..errors import ErrorFacts
    from ..responses import Request, Response
    from ..responses.events import AnyEvent


class Context(Struct, frozen=True, kw_only=True):
    """How a request came: over which wire, in whose dialect, and the very bytes.

    `vendor` and `model` are those the path names (`/groq/chat/completions`, `/v1beta/models/m:generateContent`), if any. Names in
    `headers` are lower case.
    """

    wire: str
    dialect: Any
    vendor: str | None
    model: str | None = None
    headers: Mapping[str, str]
    body: bytes


class Refused(Exception):
    """The request gets an error instead of an answer: these facts, spelled as the wire spells errors.

    `retry_after` in the facts becomes the header of that name.
    """

    def __init__(self, facts: ErrorFacts) -> None:
        super().__init__(facts.message)
        self.facts = facts


class Pause(Struct, frozen=True):
    """A moment in a stream in which nothing comes; whoever reads on has waited."""

    seconds: float


class Handler(Protocol):
    """Answers requests. Each method may raise `Refused`, or any `LLMError`."""

    def answer(self, request: Request, context: Context) -> Response:
        """The response to `request`."""
        ...

    def stream(self, request: Request, context: Context) -> Generator[AnyEvent | Pause]:
        """The events that tell the response, in legal order.

        What it raises before the first event is an error instead of a stream, later an error in it. Without a last event the
        stream is cut. It is closed where the caller goes away.
        """
        ...

    def count(self, request: Request, context: Context) -> int:
        """How many tokens the input of `request` has."""
        ...

    def models(self) -> Sequence[str]:
        """The names of the models there are."""
        ...

    def has_model(self, name: str) -> bool:
        """Whether a model of this name answers."""
        ...
