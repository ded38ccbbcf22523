"""What the tests of this wire share: short ways to write its documents and to read what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from llm_rest.losses import Loss
from llm_rest.responses import (
    FunctionCall,
    FunctionCallOutput,
    InputText,
    Message,
    OutputText,
    Request,
    Response,
)
from llm_rest.responses.carriers import unseal
from llm_rest.vendors.dialects import GeminiDialect
from llm_rest.wires import gemini_generate_content as wire
from llm_rest.wires import ollama_chat
from llm_rest.wires.gemini_generate_content.reasoning import AnyPayload
from tests.support.facts import plain

DEVELOPER = GeminiDialect()
OLD, BUDGETED, THREE, NEWEST = "gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-flash-preview", "gemini-3.8-flash"
"""Models: one that does not think, one with budgets, one that signs its calls, one that takes no sampling."""

SIGNATURE, OTHER = "c2ln+/==", "bW9yZQ"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

Json = dict[str, Any]


def named(lost: Sequence[Loss]) -> list[str]:
    """Losses as `path (kind)`."""
    return [f"{loss.path} ({loss.kind})" for loss in lost]


# --- requests -------------------------------------------------------------------------------------------------------


def sent(request: Request, dialect: GeminiDialect = DEVELOPER) -> tuple[Json, list[str]]:
    """The body of a request, and every loss as `path (kind)`."""
    body, lost = wire.encode_request(request, dialect=dialect)
    return plain(body), named(lost)


def option(model: str = BUDGETED, *, dialect: GeminiDialect = DEVELOPER, **options: Any) -> tuple[Json, list[str]]:
    """What stands beside the contents for some options of a request that says `Hi`."""
    body, lost = sent(Request(model=model, input="Hi", **options), dialect)
    assert body.pop("contents") == [{"role": "user", "parts": [{"text": "Hi"}]}]
    return body, lost


def config(model: str = BUDGETED, **options: Any) -> tuple[Json, list[str]]:
    """The `generationConfig` for some options."""
    body, lost = option(model, **options)
    return body.get("generationConfig", {}), lost


def contents(*items: Any, model: str = BUDGETED, dialect: GeminiDialect = DEVELOPER) -> tuple[list[Json], list[str]]:
    """The contents of a conversation."""
    body, lost = sent(Request(model=model, input=list(items)), dialect)
    return body["contents"], lost


def shown(*parts: Any, model: str = THREE, dialect: GeminiDialect = DEVELOPER) -> tuple[list[Json], list[str]]:
    """The parts of what a user shows before saying something else."""
    found, lost = contents(user(*parts), user("So?"), model=model, dialect=dialect)
    return found[0]["parts"] if len(found) > 1 else [], lost


def user(*parts: Any) -> Message:
    return Message(role="user", content=[InputText(text=part) if isinstance(part, str) else part for part in parts])


def said(text: str) -> Message:
    return Message(role="assistant", content=[OutputText(text=text, annotations=[])])


def call(call_id: str, name: str = "f", arguments: str = "{}") -> FunctionCall:
    return FunctionCall(call_id=call_id, name=name, arguments=arguments)


def output(call_id: str, text: Any = "4", **more: Any) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=call_id, output=text, **more)


def theirs(*parts: Any) -> Json:
    """A content of the user on this wire."""
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts: Json) -> Json:
    """A content of the model."""
    return {"role": "model", "parts": list(parts)}


def called(id: str | None, name: str = "f", args: Any = None, **more: Any) -> Json:
    """A part with a call."""
    return {"functionCall": ({"id": id} if id else {}) | {"name": name, "args": args or {}}, **more}


def gave(id: str | None, response: Any, name: str = "f") -> Json:
    """A part with the output of a call."""
    return {"functionResponse": ({"id": id} if id else {}) | {"name": name, "response": response}}


def asked(body: Json, dialect: GeminiDialect = DEVELOPER, model: str | None = None, lost: Sequence[str] = ()) -> Any:
    """The request that a body is; it must come back as the body it was."""
    request, found = wire.decode_request(decoded(body), dialect=dialect, model=model)
    assert named(found) == [*lost]
    return request


def decoded(body: Json) -> Any:
    return wire.REQUEST.decode(msgspec.json.encode(body))


def back(request: Request, dialect: GeminiDialect = DEVELOPER) -> Json:
    """The body that a decoded request becomes again; nothing may be lost."""
    body, lost = sent(request, dialect)
    assert lost == []
    return body


def abroad(document: Any) -> set[str]:
    """What another wire reports of a request or a response."""
    encode: Any = ollama_chat.encode_request if isinstance(document, Request) else ollama_chat.encode_response
    return {loss.path for loss in encode(document)[1]}


# --- answers --------------------------------------------------------------------------------------------------------


def answer(*parts: Json, **candidate: Any) -> Json:
    """An answer with these parts. Fields of the candidate that are `None` are left out."""
    fields = {"content": model(*parts), "finishReason": "STOP", "index": 0, **candidate}
    kept = {name: value for name, value in fields.items() if value is not None}
    return {"candidates": [kept], "modelVersion": "m", "responseId": "r"}


def read(document: Json, **options: Any) -> tuple[Any, list[str]]:
    """The response that an answer is, with the losses."""
    response, lost = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)), **options)
    return response, named(lost)


def written(response: Response, **options: Any) -> tuple[Json, list[str]]:
    """The answer that a response becomes, with the losses."""
    body, lost = wire.encode_response(response, **options)
    return plain(body), named(lost)


def items(*parts: Json, lost: Sequence[str] = (), **options: Any) -> list[Any]:
    """The output that the parts of an answer become, which must go back without a loss."""
    document = answer(*parts)
    response, found = read(document, **options)
    assert (found, written(response)) == ([*lost], (document, []))
    return response.output


def kinds(output: Sequence[Any]) -> list[str]:
    return [item.__struct_config__.tag for item in output]


def sealed(item: Any, issuer: str = "google") -> Any:
    """What is in the envelope of a reasoning item."""
    return unseal(item.encrypted_content, "gemini_generate_content", issuer, AnyPayload)


def answered(*output: Any, **fields: Any) -> Response:
    """A completed response."""
    return Response(**{"id": "r", "model": "m", "status": "completed", "output": list(output), **fields})


def parts_of(document: Json) -> list[Json]:
    return document["candidates"][0]["content"].get("parts", [])


# --- streams --------------------------------------------------------------------------------------------------------


def chunk(*parts: Json, **candidate: Any) -> Json:
    """A chunk with these parts."""
    found = {"content": model(*parts), "index": 0, **candidate}
    kept = {name: value for name, value in found.items() if value is not None}
    return {"candidates": [kept], "modelVersion": "m", "responseId": "r"}


END = chunk(content=None, finishReason="STOP")


def told(*chunks: Json, **options: Any) -> list[Any]:
    """The events of a whole stream."""
    machine = wire.decode_stream(**options)
    events = [event for each in chunks for event in machine.feed(wire.EVENT.decode(msgspec.json.encode(each)))]
    return events + machine.close()
