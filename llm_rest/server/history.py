"""What a gateway remembers from one request to the next: conversations by id, opaque state by turn, summaries in items.

Before changing this file, know the order: a conversation is put together first, summaries in it are opened, and only then does
each turn get its opaque state back, which is told by the turn as its client knows it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from . import compaction
from .kept import Kept
from .restored import Restored
from .store import MemoryStore

if TYPE_CHECKING:
    from ..responses import Request, Response
    from .handler import Context
    from .kept import Turn
    from .store import Store

_log = logging.getLogger(__name__)

KEEPS = "openai_responses"
"""The wire on which a request may go on from a response that was kept, and asks for it with `store`."""


class StoredHistory:
    """The history in a store, each scope's for itself. What there is no room for is forgotten, oldest first."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store or MemoryStore()
        self._kept = Kept(self._store)
        self._restored = Restored(self._store)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def keeps(self, request: Request, context: Context) -> bool:
        """Whether the caller may come back to the response."""
        return context.wire == KEEPS and request.store is not False

    async def before(self, request: Request, context: Context) -> Request:
        """The request with what it goes on from. Raises `Refused` where that is not there."""
        request = await self._kept.continued(request, context.scope, context.session, context.hold)
        return await self._restored.restored(compaction.opened(request), context.scope, context.wire)

    async def after(self, request: Request, sent: Request, response: Response, context: Context) -> None:
        """Record the answer. That a store fails is no reason to withhold an answer; it is logged."""
        try:
            await self._restored.remember(request, sent, response, context.scope)
            if self.keeps(request, context):
                await self._kept.keep(request, response, context.scope)
            elif context.session is not None:
                await context.session.keep(request, response, context.scope)
        except Exception:
            _log.exception("an answer could not be kept")

    async def turn(self, response_id: str, context: Context) -> Turn | None:
        """A kept response with its input."""
        return await self._kept.turn(response_id, context.scope, context.hold)

    async def forget(self, response_id: str, context: Context) -> bool:
        """Delete a kept response, and with it what goes on from it."""
        return await self._kept.forget(response_id, context.scope)
