"""A simulated vendor for programs that add text to what the user says: the script is what stands between `@@` marks."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

from msgspec.structs import replace

from llm_rest.responses import Message, Request, Response
from llm_rest.server.handler import Context, HandlerEvent
from llm_rest.simulator import Simulator

_SCRIPT = re.compile(r"@@(.*?)@@", re.DOTALL)


class Marked(Simulator):
    """The model reads the scripts alone; what it rejects and signs is the whole request."""

    async def answer(self, request: Request, context: Context) -> Response:
        return await super().answer(_scripts(request), context)

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        async for event in super().stream(_scripts(request), context):
            yield event


def _scripts(request: Request) -> Request:
    """The request with the scripts of the user's messages, and without those that have none; as it is where none has one."""
    found = [(item, _script(item)) for item in request.input] if isinstance(request.input, list) else []
    if not any(script for _, script in found):
        return request
    return replace(request, input=[_said(item, script) for item, script in found if script != ""])


def _script(item: object) -> str | None:
    """The last script in a user's message, empty where it has none; `None` for any other item."""
    if not isinstance(item, Message) or item.role != "user":
        return None
    texts = (
        [item.content] if isinstance(item.content, str) else [str(getattr(part, "text", "")) for part in item.content]
    )
    return next(reversed(_SCRIPT.findall("\n".join(texts))), "")


def _said(item: object, script: str | None) -> object:
    return replace(item, content=script) if isinstance(item, Message) and script else item
