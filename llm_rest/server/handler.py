"""The handler interface of the server: methods that answer requests, and the exception for errors.

Handlers are coroutines, so that they may wait for I/O. A handler that never waits, such as the simulator, can also run
without an event loop (`sync.drive`).
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
    from .access import Limits
    from .stored import Session

Hold = Callable[[int], None]
"""Counts so many more bytes against `Limits.bodies`. Raises `Refused` beyond that limit."""


class Context(Struct, frozen=True, kw_only=True):
    """The context of a request to a handler: wire, dialect, headers, body, caller. A handler may add to the last three fields."""

    wire: str
    """The wire format of the request, such as `openai_chat`."""
    dialect: Any
    """The dialect of that wire, for decoding the request and encoding the answer."""
    vendor: str | None
    """The vendor in the path (`/groq/chat/completions`); `None` without one."""
    model: str | None = None
    """The model in the path (`/v1beta/models/m:generateContent`); `None` without one."""
    headers: Mapping[str, str]
    """The HTTP headers of the request, with names in lower case."""
    body: bytes
    """The unchanged body of the request, in bytes."""
    scope: str = ""
    """The name of the caller's access token; empty where no token is needed. Data of one scope is not visible to another.
    """
    request_id: str = ""
    """The id of the request, in the answer's `x-request-id` header and in the log."""
    session: Session | None = None
    """The stored turns of this WebSocket connection; `None` for other requests."""
    hold: Hold | None = None
    """Counts more bytes against `Limits.bodies` until the request is answered; raises `Refused`. `None` where nothing counts."""
    limits: Limits | None = None
    """The limits of the server; `None` without any."""
    losses: Losses = field(default_factory=Losses)
    """Conversion losses, added by the handler; sent in a header and logged."""
    late: Losses = field(default_factory=Losses)
    """Conversion losses of a streamed answer, whose header has been sent already; logged only."""
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """Further fields of the log line by name, added by the handler (`llm_rest.server.logs.FIELDS`)."""


class Refused(Exception):
    """Raised by a handler to answer with an error, in the format of the request's wire.

    `retry_after` of the facts becomes the header of that name.
    """

    def __init__(self, facts: ErrorFacts) -> None:
        super().__init__(facts.message)
        self.facts = facts
        """The error that the client receives: status, message, code and so on."""


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
    (`None` for the wire's default); `capabilities(model)`, its capabilities; `seals`, the seals on the opaque state that its
    clients get (`llm_rest.server.seals`); and, where it stores responses, the coroutines `turn(id, context)`,
    `forget(id, context)`, `compact(request, context)` and `without_output(request, context)`, as `Gateway` has them.
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
        """Whether there is a model of this name; the route of one model (`/models/{name}`) answers 404 otherwise."""
        ...
