"""A JSON-RPC server: methods `ai.llm.*`, any vendor by `providerId`. Run it with `uvicorn examples.rpc:app`."""

from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from llm_rest import AsyncClient, LLMError, tool


@tool
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


class Params(msgspec.Struct, rename="camel"):
    provider_id: str
    model: str
    prompt: str = ""
    schema: dict[str, Any] = {}
    options: dict[str, Any] = {}  # any option of `Client.generate`


async def call(method: str, p: Params) -> Any:
    """The result of a method."""
    async with AsyncClient(f"{p.provider_id}/{p.model}", defaults={"timeout": 60}) as llm:
        if method == "ai.llm.generateText":
            return {"text": await llm.generate_text(p.prompt, **p.options)}
        if method == "ai.llm.generateJSON":
            return await llm.generate_json(p.prompt, p.schema, **p.options)
        if method == "ai.llm.generateWithTools":
            return (await llm.generate_with_tools(p.prompt, [add], **p.options)).to_dict()
        if method == "ai.llm.generate":
            return (await llm.generate(p.prompt, **p.options)).to_dict()
        if method == "ai.llm.validateAccess":
            return {"valid": bool(await llm.validate_access())}
        if method == "ai.llm.capabilities":
            return llm.capabilities()
    raise ValueError(f"there is no method {method}")


async def serve(request: Request) -> Response:
    """Decode a call, make it, and encode its result or error."""
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": None}
    try:
        body = msgspec.json.decode(await request.body())
        answer["id"], params = body["id"], msgspec.convert(body["params"], Params)
        answer["result"] = await call(body["method"], params)
    except (LLMError, ValueError, KeyError, TypeError) as error:
        more = error.to_response() if isinstance(error, LLMError) else None
        answer["error"] = {"code": -32000, "message": str(error), "data": more}
    return Response(msgspec.json.encode(answer), media_type="application/json")


app = Starlette(routes=[Route("/", serve, methods=["POST"])])
