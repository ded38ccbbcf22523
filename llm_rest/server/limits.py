"""Limits on slow clients, below the ASGI application: incomplete request heads and WebSocket messages (slow loris), and
bodies and messages in very many small pieces.

All other limits are in `access.py`. Before changing this file, know that these are subclasses of uvicorn's protocols
with few additions, and that no code here runs for each piece of a stream to a client.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING, Any

import h11
from uvicorn import Server
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from .access import FEW_PIECES, MEAN_PIECE, TOO_MANY_CHUNKS, most_pieces
from .websocket import RESTART

if TYPE_CHECKING:
    import socket

    from .access import AccessControl

_log = logging.getLogger(__name__)

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

LOG_INTERVAL = 60.0
"""The minimum time between two log lines about connections that could not be accepted, in seconds."""


class PatientServer(Server):
    """A server that keeps running when it has no file descriptors left for connections.

    asyncio logs each connection that it cannot accept, thousands of times a second. Here idle connections are closed instead, so
    that new ones can be accepted.
    """

    _quiet_until = 0.0
    _closed_at = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
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
            idle = [one for one in self.server_state.connections if isinstance(one, HTTP) and not one.busy]
            for connection in idle:
                connection.transport.close()
            if now >= self._quiet_until:
                self._quiet_until = now + LOG_INTERVAL
                _log.warning("cannot accept connections: %s; %d idle ones are closed", problem.strerror, len(idle))


class _Connection(h11.Connection):
    """A connection that counts the chunks of a body, and stops reading one that has too many."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(h11.SERVER, **limits)
        self.too_many_chunks = False
        self._chunks = self._size = 0

    def next_event(self) -> Any:
        """The next event of the client."""
        if self.too_many_chunks:
            return h11.NEED_DATA
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._chunks += event.chunk_start
            self._size += len(event.data)
            self.too_many_chunks = self._chunks > most_pieces(self._size)
        elif isinstance(event, h11.Request):
            self._chunks = self._size = 0
        return event


class HTTP(H11Protocol):
    """HTTP connections that are closed where no complete request head arrives in time, and whose chunks are counted."""

    access: AccessControl
    conn: _Connection

    def __init__(self, config: Any, *args: Any, **more: Any) -> None:
        super().__init__(config, *args, **more)
        longest = config.h11_max_incomplete_event_size
        self.conn = _Connection(**({} if longest is None else {"max_incomplete_event_size": longest}))

    def data_received(self, data: bytes) -> None:
        """Receive data; the rest of a body with too many chunks is ignored, and the application refuses it."""
        if not self.conn.too_many_chunks:
            super().data_received(data)
            self._check_chunks()

    def _check_chunks(self) -> None:
        if self.conn.too_many_chunks:
            state: dict[str, Any] = self.scope.setdefault("state", {})
            state[TOO_MANY_CHUNKS] = True
            self.cycle.message_event.set()

    def connection_made(self, transport: Any) -> None:
        """Start the timer of idle connections."""
        super().connection_made(transport)
        self._idle_at: object = None  # the last request at the previous check
        self._check_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._timer.cancel()
        super().connection_lost(exc)

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Pass the connection to the WebSocket protocol, which does not check the version of HTTP."""
        if event.http_version == b"1.1":
            super().handle_websocket_upgrade(event)
        else:
            self.send_400_response("A WebSocket needs HTTP/1.1.")

    def _check_later(self) -> None:
        self._timer = self.loop.call_later(self.access.limits.head_seconds, self._check_idle)

    def _check_idle(self) -> None:
        """Close the connection if there was no request since the last check, even if parts of a head arrived."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        busy = self.busy
        if not busy and self.cycle is self._idle_at:
            self.transport.close()
            return
        self._idle_at = self if busy else self.cycle
        self._check_later()


class WebSocket(WebSocketsSansIOProtocol):
    """WebSockets whose unfinished messages count against `Limits.bodies`, and whose clients must read their answers."""

    access: AccessControl
    _fragments = 0
    _count = 0
    _unfinished = 0

    def shutdown(self) -> None:
        """Let the application close the connection, after the end of the turn that runs."""
        if self.close_sent or not self.handshake_complete:
            super().shutdown()
        else:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": RESTART})

    def data_received(self, data: bytes) -> None:
        """Receive data, and limit the memory of an incomplete message."""
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # uvicorn neither answers an invalid handshake nor closes its connection.
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()
        self._hold(self._fragments + len(self.conn.reader.buffer))
        if self._unfinished and self.access.held > self.access.limits.bodies:
            self.transport.abort()

    def handle_text(self, event: Any) -> None:
        """Handle a text message as bytes: the JSON decoder checks its encoding."""
        self.handle_bytes(event)

    def handle_bytes(self, event: Any) -> None:
        """Receive a message, or the first part of one."""
        self._fragments, self._count = len(event.data), 1
        super().handle_bytes(event)

    def handle_cont(self, event: Any) -> None:
        """Receive another part of a message. The connection is closed (1008) where there are too many small ones."""
        if self.close_sent:
            return
        self._fragments += len(event.data)
        self._count += 1
        if self._count > most_pieces(self._fragments):
            self.conn.fail(1008, f"more than {FEW_PIECES:,} fragments with fewer than {MEAN_PIECE} bytes on average")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.queue.put_nowait({"type": "websocket.disconnect", "code": 1008})
            self.frames, self.close_sent = [], True
            self.close_timer = self.loop.call_later(1, self.transport.close)
            return
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Pass a message to the application, which counts its memory from now on."""
        self._fragments = 0
        self._hold(0)
        super().send_receive_event_to_app()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the memory of an incomplete message."""
        self._hold(0)
        super().connection_lost(exc)

    def handle_pong(self, event: Any) -> None:
        """Receive a pong."""
        self._whole()
        super().handle_pong(event)

    def handle_ping(self) -> None:
        """Answer a ping, unless earlier pongs are still unread: RFC 6455 requires an answer to the latest ping only."""
        self._whole()
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def _whole(self) -> None:
        """Handle the end of a control frame: outside of a message, the data after it begins a new message."""
        if not self._fragments:
            self._hold(0)

    def _hold(self, size: int) -> None:
        self.access.held += size - self._unfinished
        if size and not self._unfinished:
            self._wait()
        elif self._unfinished and not size:
            self._late.cancel()
        self._unfinished = size

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.access.limits.body_seconds, self._give_up)

    def _give_up(self) -> None:
        """Close the connection of a message that is too slow, unless this side paused reading."""
        if self.read_paused:
            self._wait()
        else:
            self.transport.abort()


def protocols(access: AccessControl) -> tuple[type[HTTP], type[WebSocket]]:
    """The protocols of a server with that access control."""
    return type("HTTP", (HTTP,), {"access": access}), type("WebSocket", (WebSocket,), {"access": access})
