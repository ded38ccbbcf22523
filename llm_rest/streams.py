"""A wire's stream as bytes, from and to Responses events: frames, documents and machines put together.

Sans-IO: `feed` bytes or events, `close` at the end. Before changing this file, know that it stacks what exists (`framing`, a
wire's `EVENT` decoder, its stream machines) and knows no wire; what a vendor's stream means is in `wires/<name>/stream.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .framing import LIMIT, NDJSON, SSE

if TYPE_CHECKING:
    from .losses import Loss
    from .responses.events import AnyEvent
    from .responses.request import Request
    from .wires import Wire

_encode = msgspec.json.Encoder().encode


class StreamReader:
    """Turns the bytes of a vendor's stream into Responses events, as they come.

    `feed` raises `DecodeError` for a frame that is not a document of the wire, and `ResponseTooLarge` for one beyond `limit`
    bytes. A stream that ends before its last event gives no terminal event.
    """

    def __init__(
        self,
        wire: Wire[Any, Any, Any],
        *,
        dialect: Any = None,
        request: Request | None = None,
        now: float = 0,
        limit: int = LIMIT,
    ) -> None:
        self._frames = NDJSON(limit=limit) if wire.FRAMING == "ndjson" else SSE(limit=limit)
        self._decode = wire.EVENT.decode
        self._end = wire.END
        # Without a dialect the wire's own vendor is meant, which only the wire knows.
        known = {} if dialect is None else {"dialect": dialect}
        self._machine = wire.decode_stream(request=request, now=now, **known)

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far."""
        return self._machine.losses

    def feed(self, chunk: bytes) -> list[AnyEvent]:
        """The events that `chunk` completes."""
        return self._events([frame.data for frame in self._frames.feed(chunk)])

    def close(self) -> list[AnyEvent]:
        """The events that only the end of the stream completes."""
        return self._events([frame.data for frame in self._frames.close()]) + self._machine.close()

    def _events(self, documents: list[bytes]) -> list[AnyEvent]:
        events: list[AnyEvent] = []
        for data in documents:
            # Hosts put blanks around the end mark, send it where the wire has none, and send events without data.
            if len(data) < 16 and data.strip() in (b"", b"[DONE]", self._end):
                continue
            events += self._machine.feed(self._decode(data))
        return events


class StreamWriter:
    """Turns Responses events into the bytes of a wire's stream, as they come."""

    def __init__(self, wire: Wire[Any, Any, Any], *, dialect: Any = None, request: Request | None = None) -> None:
        self._frame = NDJSON.encode if wire.FRAMING == "ndjson" else SSE.encode
        self._named = wire.NAMED_EVENTS
        self._end = wire.END
        known = {} if dialect is None else {"dialect": dialect}
        self._machine = wire.encode_stream(request=request, **known)

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far."""
        return self._machine.losses

    def feed(self, event: AnyEvent) -> bytes:
        """What goes out for `event`; empty where nothing does yet."""
        return self._bytes(self._machine.feed(event))

    def close(self) -> bytes:
        """What ends the stream, its end mark included."""
        rest = self._bytes(self._machine.close())
        return rest if self._end is None else rest + self._frame(self._end)

    def _bytes(self, documents: list[Any]) -> bytes:
        if not self._named:
            return b"".join([self._frame(_encode(document)) for document in documents])
        return b"".join([self._frame(_encode(document), kind_of(document)) for document in documents])


def kind_of(document: Any) -> str:
    """The `type` of a wire's event: its struct's tag, or what an unknown one says."""
    if isinstance(document, dict):
        return str(document.get("type", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return str(document.__struct_config__.tag or "")
