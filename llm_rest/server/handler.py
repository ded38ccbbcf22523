"""The handler interface of the server: what answers requests, and how it returns an error.

A handler is written as coroutines, so that it may wait for others. One that never waits, such as the simulator, is
also run by callers that have no event loop (`sync.drive`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from ..errors import ErrorFacts
from ..losses import Losses
from ..responses.events import AnyEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from ..responses import Request, Response
    from .stored import Session

Hold = Callable[[int], None]
"""Counts so many more bytes against `Limits.bodies`. Raises `Refused` where they would exceed it."""


class Context(Struct, frozen=True, kw_only=True):
    """The context of a request to a handler: wire, dialect, headers, body, caller. A handler may add to the last three fields."""

    wire: str
    """The wire format of the request, such as `openai_chat`."""
    dialect: Any
    """The dialect of that wire in which the request is read and answered."""
    vendor: str | None
    """The vendor that the path names (`/groq/chat/completions`); `None` where it names none."""
    model: str | None = None
    """The model that the path names (`/v1beta/models/m:generateContent`); `None` where it names none."""
    headers: Mapping[str, str]
    """The HTTP headers of the request, with names in lower case."""
    body: bytes
    """The body of the request as it came, in bytes."""
    scope: str = ""
    """The name of the caller's access token; empty where no token is needed. What is stored for one scope is never shown to
    another."""
    request_id: str = ""
    """The id of the request, which the answer's `x-request-id` header and the log have."""
    session: Session | None = None
    """What is stored for this WebSocket connection only; `None` for other requests."""
    hold: Hold | None = None
    """Counts more bytes against `Limits.bodies` until the request is answered; raises `Refused`. `None` where nothing counts."""
    losses: Losses = field(default_factory=Losses)
    """For the handler to add what it could not convert; sent in a header and logged."""
    late: Losses = field(default_factory=Losses)
    """The same for the answer of a stream, whose header has been sent already; logged only."""
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """For the handler to add more fields of the log line, by name (`llm_rest.server.logs.FIELDS`)."""


class Refused(Exception):
    """Raised by a handler to answer with an error, which is written as the request's wire writes errors.

    `retry_after` of the facts becomes the header of that name.
    """

    def __init__(self, facts: ErrorFacts) -> None:
        super().__init__(facts.message)
        self.facts = facts
        """The error that the client gets: status, message, code and so on."""


def invalid_request(message: str, param: str | None = None, *, status: int = 400, code: str | None = None) -> Refused:
    """A `Refused` for a request that is invalid, or that this server does not support."""
    return Refused(ErrorFacts(status=status, message=message, type="invalid_request_error", param=param, code=code))


class Pause(Struct, frozen=True):
    """A pause in a stream, before the next event is sent."""

    seconds: float
    """How long the pause lasts, in seconds."""


HandlerEvent = AnyEvent | list[AnyEvent] | Pause
"""What a handler's stream yields: an event, several to be sent together, or a pause."""


class Handler(Protocol):
    """Answers the requests of a server. Each method may raise `Refused`, or any `LLMError`.

    Optional methods: `aclose()`, called when the server stops; `tidy()`, called every few seconds; `access_control(host)`, for
    `serve` and `create_app` without `access=`; `dialect(wire, model)`, the dialect of requests on that wire for that model
    (`None` for the wire's default); `capabilities(model)`, what is known of that model; and, where it stores responses, the
    coroutines `turn(id, context)`, `forget(id, context)` and `compact(request, context)`, as `Gateway` has them.
    """

    async def answer(self, request: Request, context: Context) -> Response:
        """The response to `request`."""
        ...

    def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        """The events of the response, in the order of the Responses format.

        An error raised before the first event becomes an error answer, a later one an error event. Without a terminal event
        the stream is cut off. The generator is closed where the client disconnects.
        """
        ...

    async def count(self, request: Request, context: Context) -> int:
        """The number of input tokens of `request`."""
        ...

    def models(self) -> Sequence[str]:
        """The names in the list of models."""
        ...

    def has_model(self, name: str) -> bool:
        """Whether there is a model of this name; the route of one model (`/models/{name}`) answers 404 where there is none."""
        ...
