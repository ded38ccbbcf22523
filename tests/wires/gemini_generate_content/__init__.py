"""What the tests of this wire share: short ways to write its documents and to read what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from llm_rest.losses import Loss
from llm_rest.responses import FunctionCall, FunctionCallOutput, InputText, Message, Request, Response
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain

THREE = "gemini-3-flash-preview"
"""A model that signs its calls."""

SIGNATURE, OTHER = "c2ln+/==", "bW9yZQ"

Json = dict[str, Any]


def named(lost: Sequence[Loss]) -> list[str]:
    """Losses as `path (kind)`."""
    return [f"{loss.path} ({loss.kind})" for loss in lost]


# --- requests -------------------------------------------------------------------------------------------------------


def contents(*items: Any, model: str = THREE) -> tuple[list[Json], list[str]]:
    """The contents of a conversation, and every loss."""
    body, lost = wire.encode_request(Request(model=model, input=list(items)))
    return plain(body)["contents"], named(lost)


def user(text: str) -> Message:
    return Message(role="user", content=[InputText(text=text)])


def output(call: FunctionCall) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=call.call_id, output="4")


def theirs(*parts: Any) -> Json:
    """A content of the user on this wire."""
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def called(id: str | None, name: str = "f", args: Any = None, **more: Any) -> Json:
    """A part with a call."""
    return {"functionCall": ({"id": id} if id else {}) | {"name": name, "args": args or {}}, **more}


def decoded(body: Json) -> Any:
    return wire.REQUEST.decode(msgspec.json.encode(body))


# --- answers and streams --------------------------------------------------------------------------------------------


def answer(*parts: Json, **candidate: Any) -> Json:
    """An answer with these parts. Fields of the candidate that are `None` are left out."""
    fields = {"content": {"role": "model", "parts": [*parts]}, "finishReason": "STOP", "index": 0, **candidate}
    kept = {name: value for name, value in fields.items() if value is not None}
    return {"candidates": [kept], "modelVersion": "m", "responseId": "r"}


def chunk(*parts: Json, **candidate: Any) -> Json:
    """A chunk with these parts."""
    return answer(*parts, **{"finishReason": None, **candidate})


END = chunk(content=None, finishReason="STOP")


def read(document: Json, **options: Any) -> tuple[Response, list[str]]:
    """The response that an answer is, with the losses."""
    response, lost = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(document)), **options)
    return response, named(lost)


def written(response: Response) -> tuple[Json, list[str]]:
    """The answer that a response becomes, with the losses."""
    body, lost = wire.encode_response(response)
    return plain(body), named(lost)


def told(*chunks: Json) -> list[Any]:
    """The events of a whole stream."""
    machine = wire.decode_stream()
    events = [event for each in chunks for event in machine.feed(wire.EVENT.decode(msgspec.json.encode(each)))]
    return events + machine.close()
