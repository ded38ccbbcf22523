"""What stands behind the server: something that answers requests, and how it refuses.

A handler is written as coroutines, so that it may wait for somebody else. One that never waits, such as the simulator, is
also driven to its end in one go, by callers that have no event loop (`driving.drive`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from ..losses import Losses
from ..responses.events import AnyEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from ..errors import ErrorFacts
    from ..responses import Request, Response
    from .kept import Session

Hold = Callable[[int], None]


class Context(Struct, frozen=True, kw_only=True):
    """How a request came: over which wire, in whose dialect, from whom, and the very bytes.

    `vendor` and `model` are those the path names (`/groq/chat/completions`, `/v1beta/models/m:generateContent`), if any. Names in
    `headers` are lower case. `scope` says whose request it is: the name of the access token it came with, empty where nobody
    needs one; what is kept for one scope is never shown to another. `session` keeps what is kept for this connection only.
    `hold` takes room for so many bytes more than those of the body, until the request is answered; it may be `Refused`.

    A handler adds to the last three: `losses` is what it could not carry (told in a header and in the log), `late` the same of
    the answer that a stream tells, whose header is gone by then, and `facts` what else the log should say.
    """

    wire: str
    dialect: Any
    vendor: str | None
    model: str | None = None
    headers: Mapping[str, str]
    body: bytes
    scope: str = ""
    request_id: str = ""
    session: Session | None = None
    hold: Hold | None = None
    losses: Losses = field(default_factory=Losses)
    late: Losses = field(default_factory=Losses)
    facts: dict[str, Any] = field(default_factory=dict[str, Any])


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


Told = AnyEvent | list[AnyEvent] | Pause
"""What a handler's stream gives: an event, several that came together, or a pause."""


class Handler(Protocol):
    """Answers requests. Each method may raise `Refused`, or any `LLMError`.

    It may also have `aclose()`, called when the server ends, `tidy()`, called now and then, `door(host)`, which says who may
    ask where nobody else does, `dialect(wire, model)`, which says in which dialect a caller of that wire speaks about that
    model, `None` for its plain one, and `capabilities(model)`, which says what is known of that model.
    """

    async def answer(self, request: Request, context: Context) -> Response:
        """The response to `request`."""
        ...

    def stream(self, request: Request, context: Context) -> AsyncGenerator[Told]:
        """The events that tell the response, in legal order.

        What it raises before the first event is an error instead of a stream, later an error in it. Without a last event the
        stream is cut. It is closed where the caller goes away.
        """
        ...

    async def count(self, request: Request, context: Context) -> int:
        """How many tokens the input of `request` has."""
        ...

    def models(self) -> Sequence[str]:
        """The names of the models there are."""
        ...

    def has_model(self, name: str) -> bool:
        """Whether a model of this name answers."""
        ...
