"""Answers of `POST /v1/responses` and of related endpoints, which are the format itself; and errors.

`encode_response(response)` is the identity; with the request it makes the answer of a server, in which every key is
present, as strict clients expect: absent and null values are filled from the request and from the defaults of the
format. Follows the Response and error objects of the OpenAI reference (read 2026-11-20), and `ResponseResource` of Open
Responses 2026-04-24, which requires 31 keys, and numbers where hosts send null.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

from msgspec import StructMeta
from msgspec.json import encode
from msgspec.structs import replace

from ... import responses as rs
from ...errors import ErrorFacts
from ...losses import Loss, Losses
from ...responses.carriers import digest, report_foreign
from ...responses.response import echoed_tools
from ...unknown import Model, Unknown, extras, given, with_extras
from ...vendors.dialects import ResponsesDialect
from ..errors import error_facts, status_of, type_of
from ..leftovers import ID_PREFIXES, struct_of
from .content import report_repairs
from .messages import decode_messages, encode_item
from .request import OPENAI
from .tools import names_of, with_original_names
from .types import REQUIRED_NULLABLE, WIRE, ErrorBody, ErrorObject, ItemPage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "complete_items",
    "decode_compacted",
    "decode_error",
    "decode_input_items",
    "decode_response",
    "encode_compacted",
    "encode_error",
    "encode_response",
]

M = TypeVar("M", bound=Model)


# --- the response ---------------------------------------------------------------------------------------------------


def decode_response(
    body: rs.Response,
    *,
    request: rs.Request | None = None,
    dialect: ResponsesDialect = OPENAI,
    now: float = 0,
    keep: bool = True,
) -> tuple[rs.Response, list[Loss]]:
    """The response itself; the host's opaque state in it is sealed so that it is returned to this host only."""
    lost = Losses()
    changes: dict[str, Any] = {}
    output = decode_messages(body.output, "output", dialect, lost, answer=True)
    if output is not body.output:
        changes["output"] = output
    if not body.id:
        changes["id"] = f"resp_{digest(encode(body.output).decode())}"
        lost.changed("id", "it was missing; one was made from the output")
    if body.leftovers is not None:
        changes["leftovers"] = report_repairs(body.leftovers, "", lost, "id")
    if given(body.usage) and body.usage.leftovers is not None:
        changes["usage"] = replace(body.usage, leftovers=report_repairs(body.usage.leftovers, "usage", lost))
    response = replace(body, **changes) if changes else body
    if request is not None and (names := names_of(request)):
        response = with_original_names(response, request, names)
    return response, lost


def encode_response(
    response: rs.Response, *, request: rs.Request | None = None, dialect: ResponsesDialect = OPENAI
) -> tuple[rs.Response, list[Loss]]:
    """The response without leftovers; complete as a server sends it if the request is given."""
    lost = Losses()
    changes: dict[str, Any] = {}
    output = [encode_item(item, i, dialect, lost) for i, item in enumerate(response.output)]
    if any(new is not old for new, old in zip(output, response.output, strict=True)):
        changes["output"] = output
    if response.leftovers is not None:
        report_foreign(response.leftovers, WIRE, "", lost)
        changes["leftovers"] = None
    if given(response.usage) and response.usage.leftovers is not None:
        report_foreign(response.usage.leftovers, WIRE, "usage", lost)
        changes["usage"] = replace(response.usage, leftovers=None)
    if changes:
        response = replace(response, **changes)
    return response if request is None else complete(response, request), lost


# --- every key of the format ----------------------------------------------------------------------------------------

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
    # A converter stores no responses; a server that does sets it in the response.
    "store": False,
    "model": "",
}
"""Keys that are required and not nullable, and their values for a request without them."""


def complete(response: rs.Response, request: rs.Request) -> rs.Response:
    """`response` with every key of the format, as the answer to `request`; existing values are never changed."""
    required = REQUIRED_NULLABLE["Response"]
    values: dict[str, Any] = {}
    for name in required:
        if getattr(response, name) is None:
            value = getattr(request, name, None)
            values[name] = value if given(value) else None
    for name, default in DEFAULTS.items():
        if getattr(response, name) in (None, ""):
            value = getattr(request, name)
            values[name] = default if value is None else value
    if not given(response.service_tier):
        values["service_tier"] = "default"
    values["metadata"] = response.metadata or request.metadata or {}
    values["created_at"] = int(response.created_at) if given(response.created_at) else 0
    if given(response.completed_at):
        values["completed_at"] = int(response.completed_at)
    values["text"] = _complete_text(response.text if given(response.text) else request.text)
    tools = response.tools or echoed_tools(request.tools or [])
    values["tools"] = [with_required(tool) if isinstance(tool, rs.FunctionTool) else tool for tool in tools]
    values["output"] = complete_items(response.output, response.id, response.status)
    if given(response.usage):
        values["usage"] = complete_usage(response.usage)
    if given(error := response.error):
        code, message = error.code or "server_error", error.message or ""
        values["error"] = replace(error, code=str(code), message=message)
    if given(response.incomplete_details) and not given(response.incomplete_details.reason):
        values["incomplete_details"] = rs.IncompleteDetails(reason="unknown")
    reasoning = values.get("reasoning", response.reasoning)
    if isinstance(reasoning, rs.ReasoningOptions):
        values["reasoning"] = with_required(reasoning)
    choice = values.get("tool_choice", response.tool_choice)
    if isinstance(choice, rs.ChooseAllowed):
        values["tool_choice"] = _filled(choice, mode="auto")
    # An empty model is left out otherwise.
    return writing(response, (*required, "model"), rs.Response, **values)


def _filled(model: M, **defaults: Any) -> M:
    """`model` with the `defaults` that it lacks."""
    missing = {name: value for name, value in defaults.items() if getattr(model, name) is None}
    return replace(model, **missing) if missing else model


@cache
def _struct_writing(model: type[M], names: tuple[str, ...]) -> tuple[type[M], Callable[[Any], tuple[Any, ...]]]:
    """A subclass of `model` that writes these fields, null too: a field without a default is always written."""
    hints = get_type_hints(model, include_extras=True)
    namespace = {"__annotations__": {name: hints[name] for name in names}, "__module__": model.__module__}
    config = model.__struct_config__
    made = StructMeta(model.__name__, (model,), namespace, kw_only=True, tag_field=config.tag_field, tag=config.tag)
    return cast("type[M]", made), attrgetter(*model.__struct_fields__)


def writing(model: M, names: tuple[str, ...], kind: type[M] | None = None, /, **changes: Any) -> M:
    """`model`, as a `kind` and with `changes`, with these fields written, null too."""
    kind = cast("type[M]", kind or struct_of(model))
    made, values = _struct_writing(kind, names)
    fields = dict(zip(kind.__struct_fields__, values(model), strict=True))
    written: M = with_extras(made(**{**fields, **changes}), extras(model))
    return written


def with_required(model: M) -> M:
    """`model` with the keys written that are required and nullable."""
    names = REQUIRED_NULLABLE.get(struct_of(model).__name__)
    return writing(model, names) if names else model


def _complete_text(text: rs.TextOptions | None) -> rs.TextOptions:
    options = text if given(text) else rs.TextOptions()
    if not given(options.format):
        return replace(options, format=rs.TextFormat())
    if isinstance(options.format, rs.JsonSchemaFormat):
        filled = _filled(options.format, name="response")
        return replace(options, format=with_required(replace(filled, strict=filled.strict is True)))
    return options


def complete_usage(usage: rs.Usage) -> rs.Usage:
    """Token counts with both details and the total."""
    read = usage.input_tokens_details if given(usage.input_tokens_details) else rs.InputTokensDetails()
    made = usage.output_tokens_details if given(usage.output_tokens_details) else rs.OutputTokensDetails()
    return replace(
        usage,
        # Not in the core, but the vendor's own client requires it.
        input_tokens_details=_filled(read, cached_tokens=0, cache_write_tokens=0),
        output_tokens_details=_filled(made, reasoning_tokens=0),
    )


# --- its items ------------------------------------------------------------------------------------------------------


def complete_items(items: list[rs.AnyItem], origin: str, status: str) -> list[rs.AnyItem]:
    """Items with every key of the format; missing ids are made from `origin`, the id of the answer."""
    # Only the last item of an answer that was cut off can be incomplete.
    last = (
        "in_progress" if status in ("in_progress", "queued") else "completed" if status == "completed" else "incomplete"
    )
    return [
        _complete_item(item, f"{origin.removeprefix('resp_')}_{i}", last if i == len(items) - 1 else "completed")
        for i, item in enumerate(items)
    ]


def _complete_item(item: rs.AnyItem, name: str, status: str) -> rs.AnyItem:
    if isinstance(item, Unknown):
        return item
    prefix = ID_PREFIXES.get(item.type)
    if prefix and not given(item.id):
        item = replace(item, id=f"{prefix}_{name}")
    match item:
        case rs.Message():
            parts = [rs.OutputText(text=item.content)] if isinstance(item.content, str) else item.content
            return replace(item, status=item.status or status, content=[_complete_part(part) for part in parts])
        case rs.FunctionCall() | rs.FunctionCallOutput():
            return replace(item, status=item.status or status)
        case rs.Reasoning():
            return replace(item, summary=item.summary or [])
        case _:
            return item


def _complete_part(part: Any) -> Any:
    if isinstance(part, rs.InputImage):
        return with_required(part)
    if not isinstance(part, rs.OutputText):
        return part
    annotations = [
        _filled(note, title="", start_index=0, end_index=0) if isinstance(note, rs.UrlCitation) else note
        for note in (part.annotations or [])
    ]
    logprobs = None if not given(part.logprobs) else [_complete_logprob(entry) for entry in part.logprobs]
    return replace(part, annotations=annotations, logprobs=logprobs)


def _complete_logprob(entry: rs.Logprob) -> rs.Logprob:
    tops: list[rs.TopLogprob] = [replace(top, bytes=top.bytes or []) for top in (entry.top_logprobs or [])]
    return replace(entry, bytes=entry.bytes or [], top_logprobs=tops)


# --- the other endpoints --------------------------------------------------------------------------------------------


def decode_compacted(
    body: rs.CompactedResponse, *, dialect: ResponsesDialect = OPENAI
) -> tuple[rs.CompactedResponse, list[Loss]]:
    """The items to send instead of the earlier conversation, unchanged and first."""
    lost = Losses()
    output = decode_messages(body.output, "output", dialect, lost, answer=True)
    return body if output is body.output else replace(body, output=output), lost


def encode_compacted(
    body: rs.CompactedResponse, *, dialect: ResponsesDialect = OPENAI
) -> tuple[rs.CompactedResponse, list[Loss]]:
    """The answer as a server sends it: with every field, and without leftovers."""
    lost = Losses()
    output = [encode_item(item, i, dialect, lost) for i, item in enumerate(body.output)]
    usage = body.usage if given(body.usage) else rs.Usage(input_tokens=0, output_tokens=0)
    return replace(
        body,
        output=complete_items(output, body.id, "completed"),
        created_at=int(body.created_at or 0),
        usage=complete_usage(replace(usage, leftovers=None)),
    ), lost


def decode_input_items(body: ItemPage, *, dialect: ResponsesDialect = OPENAI) -> tuple[ItemPage, list[Loss]]:
    """The page, with the host's opaque state sealed so that it is returned to this host only."""
    lost = Losses()
    data = decode_messages(body.data, "data", dialect, lost, answer=True)
    return body if data is body.data else replace(body, data=data), lost


# --- errors ---------------------------------------------------------------------------------------------------------


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """The facts of an error answer of any shape; never raises."""
    return error_facts(WIRE, status, headers, body)


def encode_error(facts: ErrorFacts) -> tuple[int, ErrorBody]:
    """The status and body of an error for a client of this API."""
    status = status_of(facts, 500)
    error = ErrorObject(message=facts.message, type=type_of(facts, status), param=facts.param, code=facts.code)
    rest = dict(cast("dict[str, Any]", facts.leftovers.get(WIRE, {})))
    error = with_extras(error, rest.pop("error", {}))
    return status, with_extras(ErrorBody(error=error), rest)
