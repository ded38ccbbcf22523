"""What a server of Ollama refuses, which is little: it checks types, images and a few values, and no order of messages.

Follows the server's own decoding and error texts (read 2026-11-20). Before changing this file, know that it must accept whatever
a real server accepted: `tests/test_simulator_peers.py` feeds it every recorded request.
"""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from ...errors import ErrorFacts
from ...responses import CustomToolCall, FunctionCall, Reasoning
from ..signatures import mac, wire_item
from .plain import Plain, rows, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...responses import AnyItem, Response
    from ...server.handler import Context

NUMBERS = set(
    """
    num_predict num_ctx temperature top_p top_k min_p typical_p repeat_penalty repeat_last_n presence_penalty
    frequency_penalty seed num_keep num_batch num_gpu main_gpu num_thread draft_num_predict
    """.split()
)
"""Options that are numbers."""

LEVELS = ("high", "medium", "low", "max")


def _invalid(message: str) -> ErrorFacts:
    return ErrorFacts(status=400, message=message)


def unknown_model(model: str) -> ErrorFacts:
    """The error for a model that does not exist."""
    return ErrorFacts(status=404, message=f"model '{model}' not found")


def wrong_key(key: str) -> ErrorFacts:
    """The error for a key that is not valid, as the cloud gives it."""
    return ErrorFacts(status=401, message="unauthorized")


def refusal(document: Plain, context: Context) -> ErrorFacts | None:
    """Why the server would refuse this request."""
    return next(problems(document, context), None)


def problems(document: Plain, context: Context) -> Iterator[ErrorFacts]:
    """Everything wrong with a request."""
    if not document.get("model"):
        yield _invalid("model is required")
    think = document.get("think")
    if think is not None and not isinstance(think, bool) and think not in LEVELS:
        yield _invalid(f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)')
    asked = document.get("format")
    if asked not in (None, "", "json") and not isinstance(asked, dict):
        yield _invalid(f'invalid format: "{asked}"; expected "json" or a valid JSON Schema object')
    count = document.get("top_logprobs")
    if isinstance(count, int) and not 0 <= count <= 20:
        yield _invalid("top_logprobs must be between 0 and 20")
    for name, value in table(document.get("options")).items():
        wrong = _option(name, value)
        if wrong:
            yield ErrorFacts(status=500, message=f'option "{name}" must be of type {wrong}')
    for tool in rows(document.get("tools")):
        yield from _schema(table(tool.get("function")).get("parameters"), "ChatRequest.tools.function.parameters")
    for message in rows(document.get("messages")):
        yield from _message(message)


def _option(name: str, value: Any) -> str:
    """The type an option should have, where it has another."""
    if value is None:
        return ""
    if name == "stop":
        fits = isinstance(value, list) and all(isinstance(word, str) for word in cast("Any", value))
        return "" if fits else "array"
    if name in NUMBERS:
        return "" if isinstance(value, int | float) and not isinstance(value, bool) else "number"
    return ""


def _unread(value: Any, path: str, wanted: str) -> ErrorFacts:
    """A value of the wrong type, as the server's JSON decoder complains about it."""
    kinds: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "bool"}
    kind = kinds.get(cast("Any", type(value)), "number")
    return _invalid(f"json: cannot unmarshal {kind} into Go struct field {path} of type {wanted}")


def _schema(schema: Any, path: str) -> Iterator[ErrorFacts]:
    """Types that the server cannot read into its own structure of a schema."""
    if schema is not None and not isinstance(schema, dict):
        yield _unread(schema, path, "api.ToolFunctionParameters")
    found = table(schema)
    for name, kinds in (("required", list), ("enum", list), ("properties", dict), ("type", (str, list))):
        value = found.get(name)
        if value is not None and not isinstance(value, kinds):
            yield _unread(value, f"{path}.{name}", "[]string" if kinds is list else "api.PropertyType")
    for inner in table(found.get("properties")).values():
        yield from _schema(inner, f"{path}.properties")
    for inner in rows(found.get("anyOf")):
        yield from _schema(inner, f"{path}.anyOf")


def _message(message: Plain) -> Iterator[ErrorFacts]:
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        yield _unread(content, "ChatRequest.messages.content", "string")
    for image in cast("Any", message.get("images")) or ():
        try:
            binascii.a2b_base64(image, strict_mode=True)
        except (binascii.Error, ValueError, TypeError):
            yield _invalid("illegal base64 data at input byte 0")
    for call in rows(message.get("tool_calls")):
        arguments = table(call.get("function")).get("arguments")
        if arguments is not None and not isinstance(arguments, dict):
            yield _unread(arguments, "ChatRequest.messages.tool_calls.function.arguments", "map[string]interface {}")


# --- issuing --------------------------------------------------------------------------------------------------------


def finished(response: Response, document: Plain, context: Context) -> Response:
    """The response with short ids of calls, and with what was thought in the model's own words."""
    output: list[AnyItem] = []
    for i, item in enumerate(response.output):
        if isinstance(item, FunctionCall | CustomToolCall):
            output.append(replace(item, call_id=f"call_{mac('call', response.id, i)[:8]}"))
        elif not isinstance(item, Reasoning):
            output.append(item)
        elif text := "\n".join(part.text for part in item.summary or ()):
            message = {"role": "assistant", "content": "", "thinking": text}
            output.append(wire_item("ollama_chat", {"message": message, "done": True, "done_reason": "stop"}, context))
    return replace(response, output=output)
