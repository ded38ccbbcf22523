"""What stands behind the server: something that answers requests, and how it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..errors import ErrorFacts
    from ..responses import Request, Response


class Context(Struct, frozen=True, kw_only=True):
    """How a request came: over which wire, in whose dialect, and the very bytes.

    `vendor` is the vendor the path names (`/groq/chat/completions`), if any. Names in `headers` are lower case.
    """

    wire: str
    dialect: Any
    vendor: str | None
    headers: Mapping[str, str]
    body: bytes


class Refused(Exception):
    """The request gets an error instead of an answer: these facts, spelled as the wire spells errors.

    `retry_after` in the facts becomes the header of that name.
    """

    def __init__(self, facts: ErrorFacts) -> None:
        super().__init__(facts.message)
        self.facts = facts


class Handler(Protocol):
    """Answers requests. Each method may raise `Refused`, or any `LLMError`."""

    def answer(self, request: Request, context: Context) -> Response:
        """The response to `request`."""
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
