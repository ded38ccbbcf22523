"""Requests of `POST /v1/responses`, which is the format in the middle itself: only what differs between hosts is done here.

Before changing this file, know that a request which needs nothing done comes back as the same object. Follows the parameters
of the OpenAI Responses reference and its hosts' own (read 2026-11-20).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote

from msgspec.structs import replace

from ...errors import ConfigError, DecodeError
from ...losses import Loss, Losses
from ...responses import CustomTool, FunctionTool, Request
from ...responses.leftovers import report_foreign
from ...responses.lenient import WIRE
from ...unknown import Unknown, extras, given, with_extras
from ...vendors.dialects import ResponsesDialect
from .. import Route
from .._pairing import paired
from .content import kind_of
from .messages import decode_items, encode_items
from .tools import with_wire_names

OPENAI = ResponsesDialect()

TIES = ("previous_response_id", "conversation")
"""What ties a request to something a server kept."""

ASKED_OF_NOBODY = {"store": False, "background": False, "truncation": "disabled"}
"""Values that ask for what a host without the field does anyway."""

ENCRYPTED = "reasoning.encrypted_content"


def encode_request(request: Request, *, dialect: ResponsesDialect = OPENAI) -> tuple[Request, list[Loss]]:
    """The request as this host takes it, and what it could not take."""
    lost = Losses()
    changes: dict[str, Any] = {}
    if dialect.asks_to_keep_nothing:
        _keep_nothing(request, dialect, changes)
    _options(request, dialect, changes, lost)
    if isinstance(request.input, list):
        store = changes.get("store", request.store)
        items = encode_items(
            paired(request.input, lost), dialect, lost, kept=not dialect.stateless and store is not False
        )
        if items is not request.input:
            changes["input"] = items
    if given(request.tools):
        _tools(request.tools, dialect, changes, lost)
    if dialect.efforts and given(request.reasoning) and request.reasoning.effort in dialect.efforts:
        nearest = dialect.efforts[str(request.reasoning.effort)]
        lost.changed("reasoning.effort", f"the host does not know {request.reasoning.effort}; {nearest} was asked for")
        changes["reasoning"] = replace(request.reasoning, effort=nearest)
    if request.leftovers is not None:
        report_foreign(request.leftovers, WIRE, "", lost, request)
        changes["leftovers"] = None
    if request.extra is not None:
        changes["extra"] = None
    sent = with_wire_names(replace(request, **changes) if changes else request, lost)
    own = request.extra.get(WIRE) if request.extra is not None else None
    return _with_own(sent, own, lost) if own else sent, lost


def decode_request(
    body: Request, *, dialect: ResponsesDialect = OPENAI, model: str | None = None
) -> tuple[Request, list[Loss]]:
    """The request itself; the host's opaque state in it is wrapped so that it returns to this host only."""
    lost = Losses()
    changes: dict[str, Any] = {}
    if model is not None and not given(body.model):
        changes["model"] = model
    if isinstance(body.input, list):
        items = decode_items(body.input, "input", dialect, lost)
        if items is not body.input:
            changes["input"] = items
    return replace(body, **changes) if changes else body, lost


def _keep_nothing(request: Request, dialect: ResponsesDialect, changes: dict[str, Any]) -> None:
    """Asks for encrypted reasoning instead of a stored response, unless the request ties itself to a server.

    A model that does not reason refuses to be asked for it; an empty `include` of the caller switches it off.
    """
    if request.store is not None or request.background is True or any(given(getattr(request, tie)) for tie in TIES):
        return
    changes["store"] = False
    reasons = given(request.reasoning) if dialect.model_reasons is None else dialect.model_reasons
    if not reasons or request.include == [] or "include" in dialect.lacks:
        return
    wanted = list(request.include or [])
    if ENCRYPTED not in wanted:
        changes["include"] = [*wanted, ENCRYPTED]


def _options(request: Request, dialect: ResponsesDialect, changes: dict[str, Any], lost: Losses) -> None:
    """Takes out what the host lacks."""
    for name in dialect.lacks:
        value = changes.get(name, getattr(request, name, None))
        if value is None:
            continue
        changes[name] = None
        if value is None or ASKED_OF_NOBODY.get(name) == value:
            continue
        if name == "prompt":
            lost.refused(name, "the host has no stored prompts")
        else:
            lost.dropped(name, "the host has no such option")
    for name, value in dialect.only.items():
        asked = changes.get(name, getattr(request, name, None))
        if given(asked) and asked != value:
            changes[name] = None
            lost.dropped(name, f"the host takes {value!r} only")
    if dialect.stateless:
        for name in TIES:
            if given(getattr(request, name)):
                changes[name] = None
                lost.refused(name, "the host keeps nothing between calls; send the whole conversation as input")


def _tools(tools: Sequence[Any], dialect: ResponsesDialect, changes: dict[str, Any], lost: Losses) -> None:
    """Takes out kinds of tools the host lacks, and refuses two of one name."""
    names: set[str] = set()
    taken: list[Any] = []
    for i, tool in enumerate(tools):
        kind = tool.kind if isinstance(tool, Unknown) else kind_of(tool)
        if dialect.tools is not None and kind not in dialect.tools:
            lost.dropped(f"tools[{i}]", f"a tool of kind {kind}, which the host does not have")
            continue
        taken.append(tool)
        if isinstance(tool, FunctionTool | CustomTool):
            if tool.name in names:
                lost.refused(f"tools[{i}].name", f"a second tool named {tool.name}")
            if not tool.name:
                lost.refused(f"tools[{i}].name", "a tool without a name")
            names.add(tool.name)
    if len(taken) < len(tools):
        changes["tools"] = taken


def _with_own(request: Request, fields: dict[str, Any], lost: Losses) -> Request:
    """The request with what its caller gives this wire in the wire's own words, which wins over everything else."""
    declared = {name: value for name, value in fields.items() if name in Request.__struct_fields__}
    others = {name: value for name, value in fields.items() if name not in declared}
    request = replace(request, **declared)
    try:
        return with_extras(request, {**extras(request), **others})
    except DecodeError:
        lost.refused(f"extra.{WIRE}", "a field name that JSON cannot spell plainly")
        return request


COUNTED = (
    "model",
    "input",
    "instructions",
    "conversation",
    "previous_response_id",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "tool_choice",
    "tools",
    "truncation",
)
"""What of a request has to do with the size of its input."""


def count_route(request: Request | None = None, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """Where input is counted, whatever the request; on other wires it has a say in that."""
    return Route(f"{dialect.path}/input_tokens")


def encode_count(request: Request, *, dialect: ResponsesDialect = OPENAI) -> tuple[Request, list[Loss]]:
    """The part of the request that is counted; what has no size is no loss here."""
    return _only(*encode_request(request, dialect=dialect), COUNTED, ("personality",))


def _only(
    request: Request, lost: list[Loss], fields: tuple[str, ...], others: tuple[str, ...] = ()
) -> tuple[Request, list[Loss]]:
    """The request with `fields` only, and of those it does not declare with `others`; the losses of these alone."""
    part = Request(**{name: getattr(request, name) for name in fields})
    named = {name: value for name, value in extras(request).items() if name in others}
    return with_extras(part, named), [loss for loss in lost if loss.path.partition("[")[0].partition(".")[0] in fields]


# --- compaction -----------------------------------------------------------------------------------------------------


COMPACTED = (
    "model",
    "input",
    "instructions",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "service_tier",
    "image",
)
"""What of a request the compaction of its conversation takes."""


def compact_route(request: Request | None = None, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """Where a conversation is compacted, whatever the request."""
    return Route(f"{dialect.path}/compact")


def encode_compact(request: Request, *, dialect: ResponsesDialect = OPENAI) -> tuple[Request, list[Loss]]:
    """The request for a shorter conversation that stands for this one."""
    part, lost = _only(*encode_request(request, dialect=dialect), COMPACTED)
    if not given(part.model):
        lost.append(Loss("model", "a compaction needs a model", "refused"))
    return part, lost


def retrieve_route(
    response_id: str,
    *,
    include: tuple[str, ...] = (),
    stream: bool = False,
    starting_after: int | None = None,
    include_obfuscation: bool | None = None,
    dialect: ResponsesDialect = OPENAI,
) -> Route:
    """Where a kept response is, or its events after the one numbered `starting_after`."""
    query: dict[str, Any] = {"stream": "true"} if stream else {}
    if include:
        query["include[]"] = include
    if starting_after is not None:
        query["starting_after"] = str(starting_after)
    if include_obfuscation is not None:
        query["include_obfuscation"] = str(include_obfuscation).lower()
    return Route(_path(response_id, dialect), query, method="GET")


def cancel_route(response_id: str, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """Where a response in the background is cancelled; answered with the response."""
    return Route(f"{_path(response_id, dialect)}/cancel")


def delete_route(response_id: str, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """Where a kept response is deleted."""
    return Route(_path(response_id, dialect), method="DELETE")


def input_items_route(
    response_id: str,
    *,
    after: str | None = None,
    limit: int | None = None,
    order: Literal["asc", "desc"] | None = None,
    include: tuple[str, ...] = (),
    dialect: ResponsesDialect = OPENAI,
) -> Route:
    """Where the items a response was given are listed; the newest first unless `order` says otherwise."""
    query: dict[str, Any] = {"after": after, "limit": limit and str(limit), "order": order, "include[]": include}
    return Route(
        f"{_path(response_id, dialect)}/input_items",
        {name: value for name, value in query.items() if value},
        method="GET",
    )


def _path(response_id: str, dialect: ResponsesDialect) -> str:
    # Dots are not escaped, and an empty name is the path of all responses.
    if not response_id.strip("."):
        raise ConfigError(f"{response_id!r} is not the id of a response")
    return f"{dialect.path}/{quote(response_id, safe='')}"
