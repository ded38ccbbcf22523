"""The history of a gateway, stored between requests: conversations by id, opaque state by turn, summaries in items.

Before changing this file, know the order: a conversation is put together first, summaries in it are opened, and only then does
each turn get its opaque state back, which is found by the turn as its client knows it.
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
"""The wire on which a request may continue a stored response, and asks for storing with `store`."""


class StoredHistory:
    """A history in a store, separate for each scope. Where the store is full, what was used longest ago is deleted."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store or MemoryStore()
        self._kept = Kept(self._store)
        self._restored = Restored(self._store)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def keeps(self, request: Request, context: Context) -> bool:
        """Whether the response is stored for later requests: on `openai_responses`, unless the request has `store: false`."""
        return context.wire == KEEPS and request.store is not False

    async def before(self, request: Request, context: Context) -> Request:
        """The request with the conversation that it continues. Raises `Refused` where that is not stored."""
        request = await self._kept.continued(request, context.scope, context.session, context.hold)
        return await self._restored.restored(compaction.opened(request), context.scope, context.wire)

    async def after(self, request: Request, sent: Request, response: Response, context: Context) -> None:
        """Store the answer. A failure of the store is logged and not raised."""
        try:
            await self._restored.remember(request, sent, response, context.scope)
            if self.keeps(request, context):
                await self._kept.keep(request, response, context.scope)
            elif context.session is not None:
                await context.session.keep(request, response, context.scope)
        except Exception:
            _log.exception("an answer could not be kept")

    async def turn(self, response_id: str, context: Context) -> Turn | None:
        """A stored response with its input; `None` where there is none of this id."""
        return await self._kept.turn(response_id, context.scope, context.hold)

    async def forget(self, response_id: str, context: Context) -> bool:
        """Delete a stored response, so that nothing can continue from it; whether there was one."""
        return await self._kept.forget(response_id, context.scope)
