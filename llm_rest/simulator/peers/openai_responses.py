"""What OpenAI's Responses API refuses.

Follows the Responses reference (read 2026-11-20); what it says about reasoning that comes back is in `openai_state.py`.
Before changing this file, know that it must accept whatever the real API accepted: `tests/test_simulator_peers.py` feeds it
every recorded request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from ...errors import ErrorFacts
from ...responses import Request
from ...responses.items import ItemBase
from ...responses.parts import Part
from ...vendors.dialects import OPENAI, REFUSALS
from . import schemas
from .openai_state import finished, forgotten, invalid, kind_of
from .plain import Plain, rows, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...server.handler import Context
    from ...vendors.dialects import ResponsesDialect

__all__ = ["finished", "problems", "refusal", "unknown_model", "wrong_key"]

_OWN = {"leftovers", "is_error"}

PARAMETERS = {*Request.__struct_encode_fields__, "client_metadata"} - {"extra", "leftovers"}
"""The parameters of the API, those included that some hosts lack; `client_metadata` is what the vendor's own tools send."""

ITEMS = {
    str(kind.__struct_config__.tag): set(kind.__struct_encode_fields__) - _OWN for kind in ItemBase.__subclasses__()
}
PARTS = {str(kind.__struct_config__.tag): set(kind.__struct_encode_fields__) - _OWN for kind in Part.__subclasses__()}
"""The fields of each kind of item and part."""

PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr",
    "compaction": "cmp",
}
"""How the ids of a kind begin."""

SAID_BY = {
    "assistant": ("output_text", "refusal"),
    "user": ("input_text", "input_image", "input_file"),
    "system": ("input_text", "input_image", "input_file"),
    "developer": ("input_text", "input_image", "input_file"),
}
"""The parts a message of a role may hold."""

CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _unknown(param: str) -> ErrorFacts:
    return invalid(f"Unknown parameter: '{param}'.", param, "unknown_parameter")


def unknown_model(model: str) -> ErrorFacts:
    """The error for a model that does not exist."""
    return invalid(f"The requested model '{model}' does not exist.", "model", "model_not_found")


def wrong_key(key: str) -> ErrorFacts:
    """The error for a key that is not valid."""
    message = f"Incorrect API key provided: {key}."
    return ErrorFacts(status=401, message=message, type="invalid_request_error", code="invalid_api_key")


def refusal(document: Plain, context: Context) -> ErrorFacts | None:
    """Why the API would refuse this request."""
    return next(problems(document, context), None) or next(forgotten(document, context.dialect.issuer), None)


def problems(document: Plain, context: Context) -> Iterator[ErrorFacts]:
    """Everything wrong with a request, leaving aside what the server would have to remember."""
    for name in document:
        if name in context.dialect.lacks or (name not in PARAMETERS and context.dialect.issuer == OPENAI):
            yield _unknown(name)
    yield from _options(document)
    yield from _tools(document)
    items = rows(document.get("input"))
    for i, item in enumerate(items):
        yield from _item(item, f"input[{i}]", context.dialect)
    if not (document.get("previous_response_id") or document.get("conversation")):
        yield from _pairs(items)


# --- options and tools ----------------------------------------------------------------------------------------------


def _options(document: Plain) -> Iterator[ErrorFacts]:
    if not (document.get("model") or document.get("prompt")):
        yield invalid("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    if not any(document.get(name) for name in ("input", "previous_response_id", "prompt", "conversation")):
        names = '"input" or "previous_response_id" or "prompt" or "conversation"'
        yield invalid(f"One of {names} must be provided.", "input", "missing_required_parameter")
    limit = document.get("max_output_tokens")
    if limit is not None and limit < 16:
        yield invalid(
            "Invalid 'max_output_tokens': integer below minimum value. "
            f"Expected a value >= 16, but got {limit} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    for name, low, high in (("temperature", 0, 2), ("top_p", 0, 1), ("top_logprobs", 0, 20)):
        value = document.get(name)
        if value is not None and not low <= value <= high:
            side, edge = ("below minimum", f">= {low}") if value < low else ("above maximum", f"<= {high}")
            code = f"decimal_{'below_min' if value < low else 'above_max'}_value"
            message = f"Invalid '{name}': decimal {side} value. Expected a value {edge}, but got {value} instead."
            yield invalid(message, name, code)
    metadata = table(document.get("metadata"))
    if len(metadata) > 16 or any(len(k) > 64 or len(str(v)) > 512 for k, v in metadata.items()):
        yield invalid("Invalid 'metadata': too many or too long entries.", "metadata", "invalid_value")
    yield from _format(table(table(document.get("text")).get("format")), document)


def _format(format: Plain, document: Plain) -> Iterator[ErrorFacts]:
    if format.get("type") == "json_schema":
        if not _NAME.fullmatch(format.get("name") or ""):
            yield invalid(
                "Missing required parameter: 'text.format.name'.", "text.format.name", "missing_required_parameter"
            )
        if format.get("strict"):
            for wrong in schemas.openai(format.get("schema")):
                message = f"Invalid schema for response_format '{format.get('name')}': {wrong}"
                yield invalid(message, "text.format.schema", "invalid_json_schema")
    elif (
        format.get("type") == "json_object"
        and "json" not in str([document.get("input"), document.get("instructions")]).lower()
    ):
        yield invalid(
            "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
            "input",
        )


def _tools(document: Plain) -> Iterator[ErrorFacts]:
    names: set[str] = set()
    for i, tool in enumerate(rows(document.get("tools"))):
        if tool.get("type") not in ("function", "custom"):
            continue
        name = tool.get("name")
        if not name:
            yield invalid(
                f"Missing required parameter: 'tools[{i}].name'.", f"tools[{i}].name", "missing_required_parameter"
            )
            continue
        if not _NAME.fullmatch(name):
            message = f"Invalid 'tools[{i}].name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'."
            yield invalid(message, f"tools[{i}].name", "invalid_value")
        if name in names:
            yield invalid(f"Duplicate tool name: '{name}'.", "tools", "invalid_value")
        names.add(name)
        if tool.get("strict"):
            for wrong in schemas.openai(tool.get("parameters")):
                message = f"Invalid schema for function '{name}': {wrong}"
                yield invalid(message, f"tools[{i}].parameters", "invalid_function_parameters")
    choice = table(document.get("tool_choice"))
    if "function" in choice:
        yield _unknown("tool_choice.function")
    elif choice.get("type") in ("function", "custom") and choice.get("name") not in names:
        yield invalid(f"Tool choice '{choice.get('name')}' not found in 'tools' parameter.", "tool_choice")
    elif document.get("tool_choice") == "required" and not document.get("tools"):
        yield invalid("Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice")


# --- items ----------------------------------------------------------------------------------------------------------


def _item(item: Plain, path: str, dialect: ResponsesDialect) -> Iterator[ErrorFacts]:
    kind = kind_of(item)
    if kind not in ITEMS:
        yield invalid(f"Invalid value: '{kind}'.", path, "invalid_value")
        return
    for name in item:
        if name not in ITEMS[kind] and name != "type":
            yield _unknown(f"{path}.{name}")
    prefix, id = PREFIXES.get(kind) if dialect.checks_ids else None, item.get("id")
    if prefix and isinstance(id, str) and not id.startswith(prefix):
        message = f"Invalid '{path}.id': '{id}'. Expected an ID that begins with '{prefix}'."
        yield invalid(message, f"{path}.id", "invalid_value")
    if kind == "message":
        yield from _message(item, path)
    elif kind == "reasoning":
        yield from _reasoning(item, path, dialect)
    elif kind.endswith("_output") and isinstance(item.get("output"), list):
        yield from _parts(rows(item["output"]), f"{path}.output", SAID_BY["user"])


def _reasoning(item: Plain, path: str, dialect: ResponsesDialect) -> Iterator[ErrorFacts]:
    """What is given out with reasoning and refused when it comes back."""
    lacks, content = dialect.reasoning_lacks, item.get("content")
    if "status" in lacks and "status" in item:
        yield invalid(REFUSALS["reasoning_status"].says.format(path=path), f"{path}.status", "unknown_parameter")
    if "content" in lacks and isinstance(content, list) and content:
        says = REFUSALS["reasoning_content"].says.format(path=path, length=len(cast("Plain", content)))
        yield invalid(says, f"{path}.content", "array_above_max_length")


def _message(item: Plain, path: str) -> Iterator[ErrorFacts]:
    role = item.get("role")
    if role not in SAID_BY:
        roles = ", ".join(f"'{name}'" for name in SAID_BY)
        yield invalid(f"Invalid value: '{role}'. Supported values are: {roles}.", f"{path}.role", "invalid_value")
    elif isinstance(item.get("content"), list):
        yield from _parts(rows(item["content"]), f"{path}.content", SAID_BY[role])


def _parts(parts: list[Plain], path: str, allowed: tuple[str, ...]) -> Iterator[ErrorFacts]:
    for j, part in enumerate(parts):
        kind = part.get("type")
        if kind not in allowed:
            named = " and ".join(filter(None, (", ".join(f"'{one}'" for one in allowed[:-1]), f"'{allowed[-1]}'")))
            message = f"Invalid value: '{kind}'. Supported values are: {named}."
            yield invalid(message, f"{path}[{j}]", "invalid_value")
            continue
        for name in part:
            if name not in PARTS[kind] and name not in ("type", "parsed"):
                yield _unknown(f"{path}[{j}].{name}")
        if kind == "input_image" and not (part.get("image_url") or part.get("file_id")):
            yield invalid(
                f"Missing required parameter: '{path}[{j}].image_url'.", f"{path}[{j}]", "missing_required_parameter"
            )
        if kind == "input_image" and isinstance(part.get("image_url"), dict):
            yield invalid(
                f"Invalid type for '{path}[{j}].image_url': expected an image URL, but got an object instead."
            )


def _pairs(items: list[Plain]) -> Iterator[ErrorFacts]:
    """Every output has its call before it and every call its output."""
    said = {"function_call": "function call", "custom_tool_call": "custom tool call"}
    for call, output in CALLS.items():
        open_calls: set[str] = set()
        made: set[str] = set()
        for item in items:
            id = str(item.get("call_id"))
            if kind_of(item) == output:
                if id not in made:
                    yield invalid(f"No tool call found for {said[call]} output with call_id {id}.", "input")
                open_calls.discard(id)
            elif "call_id" in item and not kind_of(item).endswith("_output"):
                # The output of a hosted call, such as a tool search, may come as a function's.
                made.add(id)
                open_calls |= {id} if kind_of(item) == call else set()
        for id in sorted(open_calls):
            yield invalid(f"No tool output found for {said[call]} {id}.", "input")
