"""Limits on slow clients, below the ASGI application: request heads that never end, and answers that are never read.

Everything else about a slow or greedy client is decided above, in `access.py`. Before changing this file, know that these are
uvicorn's own protocols with as little added as will do, and that nothing here runs for each request or piece of a stream.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING, Any

from uvicorn import Server
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from .websocket import RESTART

if TYPE_CHECKING:
    import socket

    from .access import Door

_log = logging.getLogger(__name__)

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

QUIET = 60.0
"""How many seconds nothing more is logged after a line about connections that could not be accepted."""


class PatientServer(Server):
    """A server that stays up, and quiet, when it has no file descriptors left for connections.

    asyncio reports each connection that it cannot accept, thousands of times a second. Here connections on which nothing is being
    asked are closed instead, so that those who ask get theirs.
    """

    _quiet_until = 0.0
    _closed_at = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await super().startup(sockets=sockets)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if "socket" not in context or not isinstance(problem, OSError) or problem.errno not in _EXHAUSTED:
            loop.default_exception_handler(context)
            return
        now = loop.time()
        if now >= self._closed_at + 1:
            self._closed_at = now
            idle = [line for line in self.server_state.connections if isinstance(line, HTTP) and not line.busy]
            for line in idle:
                line.transport.close()
            if now >= self._quiet_until:
                self._quiet_until = now + QUIET
                _log.warning("cannot accept connections: %s; %d idle ones are closed", problem.strerror, len(idle))


class HTTP(H11Protocol):
    """HTTP on connections that are closed where nobody asks anything in time."""

    door: Door

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._idle_at: object = None  # the request after which nothing had been asked at the last look
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting, and hold nothing of the connection any more."""
        self._looking.cancel()
        super().connection_lost(exc)

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Leave the connection to the WebSocket protocol, which is not told the version of HTTP."""
        if event.http_version == b"1.1":
            super().handle_websocket_upgrade(event)
        else:
            self.send_400_response("A WebSocket needs HTTP/1.1.")

    def _look_later(self) -> None:
        self._looking = self.loop.call_later(self.door.limits.head_seconds, self._look)

    def _look(self) -> None:
        """Close the connection if it is as idle as the last time, whatever crumbs came in between."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        busy = self.busy
        if not busy and self.cycle is self._idle_at:
            self.transport.close()
            return
        self._idle_at = self if busy else self.cycle
        self._look_later()


class WebSocket(WebSocketsSansIOProtocol):
    """WebSockets whose unfinished messages count among all bodies, and whose clients must read to be answered."""

    door: Door
    _fragments = 0
    _unfinished = 0

    def shutdown(self) -> None:
        """Leave it to the application to close, once the turn that runs has come to its end."""
        if self.close_sent or not self.handshake_complete:
            super().shutdown()
        else:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": RESTART})

    def data_received(self, data: bytes) -> None:
        """Take in a piece; there is no place for a message without end."""
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # Nobody else answers a handshake that could not be read, or ends its connection.
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()
        self._hold(self._fragments + len(self.conn.reader.buffer))
        if self._unfinished and self.door.held > self.door.limits.bodies:
            self.transport.abort()

    def handle_text(self, event: Any) -> None:
        """Leave a text as bytes: who reads the JSON in it says what is wrong."""
        self.handle_bytes(event)

    def handle_bytes(self, event: Any) -> None:
        """Take in a message, or the first part of one."""
        self._fragments = len(event.data)
        super().handle_bytes(event)

    def handle_cont(self, event: Any) -> None:
        """Take in another part."""
        self._fragments += len(event.data)
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Hand on a message, which the application counts from now on."""
        self._fragments = 0
        self._hold(0)
        super().send_receive_event_to_app()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what came of a message."""
        self._hold(0)
        super().connection_lost(exc)

    def handle_pong(self, event: Any) -> None:
        """Note that the client is there."""
        self._whole()
        super().handle_pong(event)

    def handle_ping(self) -> None:
        """Answer, unless the answers before this one are still waiting to be read: RFC 6455 asks for the latest only."""
        self._whole()
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def _whole(self) -> None:
        """A frame came to its end that is none of a message: unless one is under way, what follows it has only begun."""
        if not self._fragments:
            self._hold(0)

    def _hold(self, size: int) -> None:
        self.door.held += size - self._unfinished
        if size and not self._unfinished:
            self._wait()
        elif self._unfinished and not size:
            self._late.cancel()
        self._unfinished = size

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.door.limits.body_seconds, self._give_up)

    def _give_up(self) -> None:
        """End the connection of a message that does not come, unless it is us who do not listen."""
        if self.read_paused:
            self._wait()
        else:
            self.transport.abort()


def protocols(door: Door) -> tuple[type[HTTP], type[WebSocket]]:
    """The protocols of a server with that door."""
    return type("HTTP", (HTTP,), {"door": door}), type("WebSocket", (WebSocket,), {"door": door})
