"""A connection as an exchange needs it, whatever is behind it, and where idle ones wait for the next.

Before changing this file, know that threads share what waits here: whoever takes a connection off a list is the only one who
has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from . import HTTPRequest
    from .deadlines import Deadline

RawHeaders = Iterable[tuple[bytes, bytes]]


class Connection(Protocol):
    """A way to one origin that holds one exchange at a time.

    `prompt` says whether a read ends by the deadline of the moment, also where that moved after the exchange began.
    """

    origin: str
    prompt: bool

    def usable(self) -> bool:
        """Whether an idle connection is still good for another exchange."""
        ...

    async def open(self, request: HTTPRequest, deadline: Deadline) -> tuple[int, RawHeaders]:
        """Send the request and wait for the head of the answer: its status and headers."""
        ...

    async def read(self) -> bytes | None:
        """The next bytes of the body; `None` at its end."""
        ...

    async def finish(self) -> Connection | None:
        """End the exchange; what can be used for another one, if anything."""
        ...

    async def close(self) -> None:
        """Close it, whatever its state; never raises."""
        ...

    def drop(self) -> None:
        """The same from anywhere, as far as it goes without waiting."""
        ...


class Home:
    """Where the connections of one process and event loop live: the idle ones by origin, and how many may be in use."""

    __slots__ = ("idle", "loop", "slots")

    def __init__(self, slots: Any, loop: object = None) -> None:
        self.slots = slots
        """A semaphore of threads or of tasks."""
        self.loop = loop
        self.idle: dict[str, list[Connection]] = {}

    def take(self, origin: str) -> Connection | None:
        """An idle connection, which is idle no more. Another thread may take the last one at the same time."""
        try:
            return self.idle[origin].pop()
        except LookupError:
            return None

    def tidy(self) -> None:
        """Close the idle connections that are of no use any more: too old, or ended by the other side."""
        for connections in [*self.idle.values()]:
            for connection in [one for one in connections if not one.usable()]:
                with suppress(ValueError):  # another thread uses it now, which is why it is not quiet
                    connections.remove(connection)
                    connection.drop()

    def shed(self, origin: str) -> None:
        """Close those there that have waited longest and are of no use any more: the next exchange takes the latest."""
        with suppress(LookupError, ValueError):  # another thread takes one meanwhile
            while len(self.idle[origin]) > 1 and not (oldest := self.idle[origin][0]).usable():
                self.idle[origin].remove(oldest)
                oldest.drop()

    def drop(self) -> None:
        """Close the idle connections."""
        for origin in [*self.idle]:
            while (connection := self.take(origin)) is not None:
                connection.drop()


class Place(ABC):
    """The right to one exchange in a home, with the connection that the exchange has."""

    __slots__ = ("__weakref__", "connection", "home")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.connection: Connection | None = None

    @abstractmethod
    def release(self) -> None:
        """Let another exchange have it."""
