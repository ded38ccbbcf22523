"""A response as a server answers it: every field there, as strict clients expect.

Fills what is missing or null from the request and from the defaults of the format, and never changes what is there. Follows
`ResponseResource` of Open Responses 2026-04-24, which requires 31 keys and numbers in the places where hosts send null.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, cast, get_type_hints

from msgspec.structs import replace

from ...responses import (
    AnyItem,
    ChooseAllowed,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    IncompleteDetails,
    InputImage,
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
from ...unknown import Model, ModelMeta, Unknown, base, extras, given, with_extras
from .items import id_prefix
from .required import REQUIRED_NULLABLE

M = TypeVar("M", bound=Model)

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


_RESPONSE_KEYS = (*REQUIRED_NULLABLE["Response"], "model")  # an empty model is left out otherwise


def complete(response: Response, request: Request) -> Response:
    """`response` with every key of the format, as the answer to `request`."""
    values: dict[str, Any] = {}
    for name in REQUIRED_NULLABLE["Response"]:
        if getattr(response, name) is None:
            asked = getattr(request, name, None)
            values[name] = asked if given(asked) else None
    for name, default in DEFAULTS.items():
        if getattr(response, name) in (None, ""):
            asked = getattr(request, name)
            values[name] = default if asked is None else asked
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
    return _written(response, Response, _RESPONSE_KEYS, values)


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
        values["reasoning"] = with_required(reasoning)
    choice = values.get("tool_choice", response.tool_choice)
    if isinstance(choice, ChooseAllowed):
        values["tool_choice"] = _filled(choice, mode="auto")


def _filled(model: M, **defaults: Any) -> M:
    """`model` with those of `defaults` that it does not have."""
    missing = {name: value for name, value in defaults.items() if getattr(model, name) is None}
    return replace(model, **missing) if missing else model


@cache
def _writing(model: type[M], names: tuple[str, ...]) -> tuple[type[M], Callable[[Any], tuple[Any, ...]]]:
    """A subclass of `model` that writes these fields, null too: a field without a default is always written."""
    hints = get_type_hints(model, include_extras=True)
    namespace = {"__annotations__": {name: hints[name] for name in names}, "__module__": model.__module__}
    config = model.__struct_config__
    made = ModelMeta(model.__name__, (model,), namespace, tag_field=config.tag_field, tag=config.tag)
    return cast("type[M]", made), attrgetter(*model.__struct_fields__)


def writing(model: M, *names: str) -> M:
    """`model` with these fields written, null too."""
    return _written(model, type(base(model)), names, {})


def _written(model: M, kind: type[M], names: tuple[str, ...], changes: dict[str, Any]) -> M:
    made, values = _writing(kind, names)
    fields = dict(zip(kind.__struct_fields__, values(model), strict=True))
    fields.update(changes)
    written: M = with_extras(made(**fields), extras(model))
    return written


def with_required(model: M) -> M:
    """`model` with the keys written that must be there and may be null."""
    names = REQUIRED_NULLABLE.get(type(base(model)).__name__, ())
    return writing(model, *names) if names else model


def complete_usage(usage: Usage) -> Usage:
    """Token counts with both details and the total."""
    inside = usage.input_tokens_details if given(usage.input_tokens_details) else InputTokensDetails()
    outside = usage.output_tokens_details if given(usage.output_tokens_details) else OutputTokensDetails()
    return replace(
        usage,
        # Not in the core, but the vendor's own client requires it.
        input_tokens_details=replace(
            inside, cached_tokens=inside.cached_tokens or 0, cache_write_tokens=inside.cache_write_tokens or 0
        ),
        output_tokens_details=replace(outside, reasoning_tokens=outside.reasoning_tokens or 0),
    )


def _error(error: ResponseError) -> ResponseError:
    code = str(error.code) if given(error.code) else "server_error"
    return replace(error, code=code, message=error.message if given(error.message) else "")


def _text(text: TextOptions | None) -> TextOptions:
    options = text if given(text) else TextOptions()
    if not given(options.format):
        return replace(options, format=TextFormat())
    if isinstance(options.format, JsonSchemaFormat):
        filled = _filled(options.format, name="response")
        return replace(options, format=with_required(replace(filled, strict=filled.strict is True)))
    return options


def _tool(tool: Any) -> Any:
    return with_required(tool) if isinstance(tool, FunctionTool) else tool


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
            return replace(item, status=item.status or status, content=[_part(part) for part in parts])
        case FunctionCall() | FunctionCallOutput():
            return replace(item, status=item.status or status)
        case Reasoning():
            return replace(item, summary=item.summary or [])
        case _:
            return item


def _part(part: Any) -> Any:
    if isinstance(part, InputImage):
        return with_required(part)
    if not isinstance(part, OutputText):
        return part
    annotations = [
        _filled(note, title="", start_index=0, end_index=0) if isinstance(note, UrlCitation) else note
        for note in (part.annotations or [])
    ]
    logprobs = None if not given(part.logprobs) else [_logprob(entry) for entry in part.logprobs]
    return replace(part, annotations=annotations, logprobs=logprobs)


def _logprob(entry: Logprob) -> Logprob:
    tops: list[TopLogprob] = [replace(top, bytes=top.bytes or []) for top in (entry.top_logprobs or [])]
    return replace(entry, bytes=entry.bytes or [], top_logprobs=tops)
