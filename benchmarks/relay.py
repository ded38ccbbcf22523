"""A server in front of the answer server, as a process of its own: `python -m benchmarks.relay passing|gateway URL`.

`passing` is what a gateway costs at least: Starlette hands every piece on as it comes, unread. Prints its port and the path of
the vendor's wire is kept; our gateway's models are named after the wires.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from llm_rest.server.app import create_app
from llm_rest.server.config import Config, Upstream
from llm_rest.server.gateway import Gateway
from llm_rest.server.history import StoredHistory
from llm_rest.wires import NAMES


def passing(url: str) -> Starlette:
    """The floor: bytes in, bytes out."""
    upstream = httpx.AsyncClient(limits=httpx.Limits(max_connections=200), timeout=60)

    async def pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
        try:
            async for piece in answer.aiter_raw():
                yield piece
        finally:
            await answer.aclose()

    async def endpoint(request: Request) -> StreamingResponse:
        asked = upstream.build_request("POST", url + request.url.path, content=await request.body())
        answer = await upstream.send(asked, stream=True)
        return StreamingResponse(pieces(answer), answer.status_code, {"content-type": answer.headers["content-type"]})

    return Starlette(routes=[Route("/{path:path}", endpoint, methods=["POST"])])


def gateway(url: str) -> Any:
    """Ours: every wire in front, and each wire's model behind it; `whole` answers without streaming."""
    models: dict[str, str | Upstream] = {
        name: Upstream(model="simulator/some-model", base_url=f"{url}/paced/{name}", wire=name) for name in NAMES
    }
    models["whole"] = Upstream(model="simulator/some-model", base_url=f"{url}/whole", wire="openai_chat")
    return create_app(Gateway(Config(models=models), history=StoredHistory()))


def main() -> None:
    """Serve until killed."""
    kind, url = sys.argv[1:]
    app = {"passing": passing, "gateway": gateway}[kind](url)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as bound:
        print(bound.getsockname()[1], flush=True)
        config = uvicorn.Config(app, log_level="error", access_log=False)
        asyncio.run(uvicorn.Server(config).serve(sockets=[bound]))


if __name__ == "__main__":
    main()
