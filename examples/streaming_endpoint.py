"""A web endpoint that streams answers as server-sent events (SSE), with Starlette; FastAPI takes the same `answer`.

    uvicorn examples.streaming_endpoint:app
    curl -N localhost:8000/ask -d '{"question": "Good morning!"}'

One client for all requests shares its connections. When the browser goes away, Starlette cancels `events`, which closes the
connection to the vendor, so that no tokens are paid for an answer without a reader.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from llm_rest import AsyncClient, LLMError

llm = AsyncClient(os.environ.get("MODEL", "simulator/demo"), timeout=60)


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request."""

    question: str


async def events(question: str) -> AsyncGenerator[str, None]:
    """The answer as server-sent events: `delta` for each piece of text, `error` or `done` at the end."""
    try:
        async with llm.stream(question) as stream:
            async for text in stream.text:
                yield f"event: delta\ndata: {msgspec.json.encode(text).decode()}\n\n"
        yield "event: done\ndata: {}\n\n"
    except LLMError as error:  # its text holds no key
        yield f"event: error\ndata: {msgspec.json.encode(error.to_response()).decode()}\n\n"


async def answer(request: Request) -> Response:
    """Validate the body, then stream."""
    try:
        body = msgspec.json.decode(await request.body(), type=Question)
    except msgspec.DecodeError as error:
        return JSONResponse({"error": str(error)}, 400)
    return StreamingResponse(events(body.question), media_type="text/event-stream")


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
    """Close the client when the server stops."""
    async with llm:
        yield


app = Starlette(routes=[Route("/ask", answer, methods=["POST"])], lifespan=lifespan)
