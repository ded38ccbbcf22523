"""An agent whose dangerous tool calls wait for approval, over HTTP; the run is saved between the requests.

    uvicorn examples.approval_over_http:app
    curl localhost:8000/runs -d 'Delete the old logs.'                     # {"id": ..., "pending": [...], "text": ""}
    curl localhost:8000/runs/ID -d '{"approve": ["CALL"], "deny": {}}'     # {"id": ..., "pending": [], "text": "..."}

`RUNS` stands for a database; it holds JSON without keys, which any process with the same tools can resume.
"""

import os
from uuid import uuid4

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from llm_rest import AsyncClient, AsyncRun, Reply, tool

llm = AsyncClient(os.environ.get("MODEL", "simulator/demo"))
RUNS: dict[str, bytes] = {}


@tool(needs_approval=True)
def delete_file(path: str) -> str:
    """Delete a file."""
    return f"{path} was deleted"


class Decision(msgspec.Struct):
    approve: list[str] = []  # call ids
    deny: dict[str, str] = {}  # call ids, and the reason that the model reads


async def proceed(id: str, run: AsyncRun[Reply]) -> JSONResponse:
    """Run until the model has answered or a call needs approval; save the run and report."""
    reply = await run.result()
    RUNS[id] = msgspec.json.encode(run.state)
    pending = [{"id": c.call_id, "tool": c.name, "arguments": c.parsed_arguments} for c in run.pending_calls]
    return JSONResponse({"id": id, "pending": pending, "text": reply.output_text})


async def start(request: Request) -> JSONResponse:
    """Start a run with the text of the body as its prompt."""
    return await proceed(uuid4().hex, llm.run((await request.body()).decode(), [delete_file]))


async def decide(request: Request) -> JSONResponse:
    """Resume a saved run with a person's decisions."""
    id, decision = request.path_params["id"], msgspec.json.decode(await request.body(), type=Decision)
    run = llm.run(state=RUNS[id], tools=[delete_file])
    for call in decision.approve:
        run.approve(call)
    for call, reason in decision.deny.items():
        run.deny(call, reason)
    return await proceed(id, run)


app = Starlette(routes=[Route("/runs", start, methods=["POST"]), Route("/runs/{id}", decide, methods=["POST"])])
