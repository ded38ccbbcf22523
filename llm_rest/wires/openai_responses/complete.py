"""A response as a server answers it: every field there, as strict clients expect.

Fills what is missing or null from the request and from the defaults of the format, and never changes what is there. Follows
`ResponseResource` of Open Responses 2026-04-24, which requires 31 keys and numbers in the places where hosts send null.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from ...responses import (
    AnyItem,
    ChooseAllowed,
    Compaction,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    IncompleteDetails,
    InputTokensDetails,
    JsonSchemaFormat,
    Logprob,
    Message,
    OutputText,
    OutputTokensDetails,
    Reasoning,
    ReasoningOptions,
    Request,
    Response,
    ResponseError,
    TextFormat,
    TextOptions,
    TopLogprob,
    UrlCitation,
    Usage,
)
from ...responses.echo import echoed_tools
from ...unknown import Model, Opt, Unknown, given
from .items import id_prefix

M = TypeVar("M", bound=Model)

NULLABLE = (
    "completed_at",
    "incomplete_details",
    "previous_response_id",
    "instructions",
    "error",
    "reasoning",
    "usage",
    "max_output_tokens",
    "max_tool_calls",
    "safety_identifier",
    "prompt_cache_key",
)
"""Keys that must be there and may be null."""

DEFAULTS: dict[str, Any] = {
    "tool_choice": "auto",
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "top_p": 1.0,
    "temperature": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "background": False,
    # Nobody who converts an answer keeps it; a server that does says so in the response.
    "store": False,
    "model": "",
}
"""Keys that must be there and must not be null, and what stands for a request that says nothing."""


def complete(response: Response, request: Request) -> Response:
    """`response` with every key of the format, as the answer to `request`."""
    values: dict[str, Any] = {}
    for name in NULLABLE:
        if getattr(response, name) is UNSET:
            asked = getattr(request, name, None)
            values[name] = asked if given(asked) else None
    for name, default in DEFAULTS.items():
        if not given(getattr(response, name)):
            asked = getattr(request, name)
            values[name] = asked if given(asked) else default
    if not given(response.service_tier):
        values["service_tier"] = "default"
    values["metadata"] = response.metadata or request.metadata or {}
    values["created_at"] = int(response.created_at) if given(response.created_at) else 0
    if given(response.completed_at):
        values["completed_at"] = int(response.completed_at)
    values["text"] = _text(response.text if given(response.text) else request.text)
    values["tools"] = [_tool(tool) for tool in (response.tools or echoed_tools(request.tools or []))]
    values["output"] = complete_items(response.output, response.id, response.status)
    _shapes(response, values)
    return replace(response, **values)


def _shapes(response: Response, values: dict[str, Any]) -> None:
    """Completes the objects inside."""
    if given(response.usage):
        values["usage"] = complete_usage(response.usage)
    if given(response.error):
        values["error"] = _error(response.error)
    if given(response.incomplete_details) and not given(response.incomplete_details.reason):
        values["incomplete_details"] = IncompleteDetails(reason="unknown")
    reasoning = values.get("reasoning", response.reasoning)
    if isinstance(reasoning, ReasoningOptions):
        values["reasoning"] = _filled(reasoning, effort=None, summary=None)
    choice = values.get("tool_choice", response.tool_choice)
    if isinstance(choice, ChooseAllowed):
        values["tool_choice"] = _filled(choice, mode="auto")


def _filled(model: M, **defaults: Any) -> M:
    """`model` with those of `defaults` that it does not have."""
    missing = {name: value for name, value in defaults.items() if getattr(model, name) is UNSET}
    return replace(model, **missing) if missing else model


def _without_null(model: M, *names: str) -> M:
    """`model` without those of `names` that are null, where the format knows them as absent or given."""
    null = {name: UNSET for name in names if getattr(model, name) is None}
    return replace(model, **null) if null else model


def complete_usage(usage: Usage) -> Usage:
    """Token counts with both details and the total."""
    inside = usage.input_tokens_details if given(usage.input_tokens_details) else InputTokensDetails()
    outside = usage.output_tokens_details if given(usage.output_tokens_details) else OutputTokensDetails()
    total = usage.total_tokens if given(usage.total_tokens) else usage.input_tokens + usage.output_tokens
    return replace(
        usage,
        total_tokens=total,
        # Not in the core, but the vendor's own client requires it.
        input_tokens_details=replace(
            inside, cached_tokens=inside.cached_tokens or 0, cache_write_tokens=inside.cache_write_tokens or 0
        ),
        output_tokens_details=replace(outside, reasoning_tokens=outside.reasoning_tokens or 0),
    )


def _error(error: ResponseError) -> ResponseError:
    code = str(error.code) if given(error.code) else "server_error"
    return replace(error, code=code, message=error.message if given(error.message) else "")


def _text(text: Opt[TextOptions]) -> TextOptions:
    options = _without_null(text, "verbosity") if given(text) else TextOptions()
    if not given(options.format):
        return replace(options, format=TextFormat())
    if isinstance(options.format, JsonSchemaFormat):
        filled = _filled(options.format, name="response", description=None, schema=None)
        return replace(options, format=replace(filled, strict=filled.strict is True))
    return options


def _tool(tool: Any) -> Any:
    return _filled(tool, description=None, parameters=None, strict=None) if isinstance(tool, FunctionTool) else tool


# --- items ----------------------------------------------------------------------------------------------------------


def complete_items(items: list[AnyItem], origin: str, status: str) -> list[AnyItem]:
    """Items with every key of the format; ids that are missing are made from `origin`, the id of the answer."""
    # Only the last item of an answer that was cut can be the one that was cut.
    last = (
        "in_progress" if status in ("in_progress", "queued") else "completed" if status == "completed" else "incomplete"
    )
    return [
        _item(item, f"{origin.removeprefix('resp_')}_{i}", last if i == len(items) - 1 else "completed")
        for i, item in enumerate(items)
    ]


def _item(item: AnyItem, name: str, status: str) -> AnyItem:
    if isinstance(item, Unknown):
        return item
    prefix = id_prefix(item)
    if prefix and not given(item.id):
        item = replace(item, id=prefix + name)
    match item:
        case Message():
            parts = [OutputText(text=item.content)] if isinstance(item.content, str) else item.content
            item = _without_null(item, "phase")
            return replace(item, status=item.status or status, content=[_part(part) for part in parts])
        case FunctionCall() | FunctionCallOutput():
            return replace(item, status=item.status or status)
        case Reasoning():
            return replace(_without_null(item, "content", "encrypted_content"), summary=item.summary or [])
        case Compaction():
            return _without_null(item, "created_by")
        case _:
            return item


def _part(part: Any) -> Any:
    if not isinstance(part, OutputText):
        return part
    annotations = [
        _filled(note, title="", start_index=0, end_index=0) if isinstance(note, UrlCitation) else note
        for note in (part.annotations or [])
    ]
    logprobs = UNSET if not given(part.logprobs) else [_logprob(entry) for entry in part.logprobs]
    return replace(part, annotations=annotations, logprobs=logprobs)


def _logprob(entry: Logprob) -> Logprob:
    tops: list[TopLogprob] = [replace(top, bytes=top.bytes or []) for top in (entry.top_logprobs or [])]
    return replace(entry, bytes=entry.bytes or [], top_logprobs=tops)
