"""Requests of `POST /v1/responses` and of related endpoints: the format itself, without options that a host lacks.

Before changing this file, know that a request with nothing to change is returned as the same object. Follows the parameters of
the OpenAI Responses reference, `POST /responses/compact` of Open Responses, and the hosts' own references (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from ...errors import ConfigError
from ...losses import Loss, Losses
from ...responses import Request
from ...responses.carriers import report_foreign
from ...unknown import extras, given, with_extras
from ...vendors.dialects import ResponsesDialect
from .. import Route, path_segment
from ..call_ids import paired
from ..options import ENCRYPTED, with_extra
from ..prefix import EncodedPrefix, encoded_turns
from .content import report_repairs
from .messages import MessageWriter, decode_messages
from .reasoning import encode_effort
from .tools import encode_tools, with_wire_names
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "OPENAI",
    "cancel_route",
    "compact_route",
    "count_route",
    "decode_request",
    "delete_route",
    "encode_compact",
    "encode_count",
    "encode_request",
    "input_items_route",
    "retrieve_route",
    "route",
]

OPENAI = ResponsesDialect()

STATE = ("previous_response_id", "conversation")
"""Options that continue stored server-side state."""

NO_EFFECT = {"store": False, "background": False, "truncation": "disabled"}
"""Values that are the default of a host without the option."""


# --- the request ----------------------------------------------------------------------------------------------------


def encode_request(
    request: Request, *, dialect: ResponsesDialect = OPENAI, prefix: EncodedPrefix | None = None
) -> tuple[Request, list[Loss]]:
    """The request for this host, and the losses."""
    lost = Losses()
    changes: dict[str, Any] = {}
    if dialect.stores_nothing:
        _store_nothing(request, dialect, changes)
    _encode_options(request, dialect, changes, lost)
    if isinstance(request.input, list):
        stored = not dialect.stateless and changes.get("store", request.store) is not False
        turns = encoded_turns(prefix, request, dialect, WIRE)
        items = paired(request.input, lost, turns.count)
        writer = MessageWriter(items, dialect, lost, stored=stored, reasons=_reasons(request, dialect))
        made = turns.encode(items, writer, lost)
        changes["input"] = made if turns.count or writer.changed else items
    if request.tools is not None:
        changes["tools"] = encode_tools(request.tools, dialect, lost)
    if request.reasoning is not None:
        changes["reasoning"] = encode_effort(request.reasoning, dialect, lost)
    if request.leftovers is not None:
        report_foreign(request.leftovers, WIRE, "", lost, request)
        changes["leftovers"] = None
    extra = request.extra.get(WIRE) if request.extra is not None else None
    sent = with_wire_names(_changed(request, {**changes, "extra": None}), lost)
    return with_extra(sent, extra, WIRE, lost), lost


def decode_request(
    body: Request, *, dialect: ResponsesDialect = OPENAI, model: str | None = None, keep: bool = True
) -> tuple[Request, list[Loss]]:
    """The request itself; the host's opaque state in it is sealed so that it is returned to this host only."""
    lost = Losses()
    changes: dict[str, Any] = {}
    if not given(body.model):
        changes["model"] = model
    if isinstance(body.input, list):
        changes["input"] = decode_messages(body.input, "input", dialect, lost, answer=False)
    if body.leftovers is not None:
        changes["leftovers"] = report_repairs(body.leftovers, "", lost)
    return _changed(body, changes), lost


def route(
    request: Request, *, dialect: ResponsesDialect = OPENAI, stream: bool = False, prefix: EncodedPrefix | None = None
) -> Route:
    """The route of a request."""
    return Route(dialect.path)


def _changed(request: Request, changes: dict[str, Any]) -> Request:
    """The request with these values, the same object if it has them already."""
    changes = {name: value for name, value in changes.items() if value is not getattr(request, name)}
    return replace(request, **changes) if changes else request


# --- options --------------------------------------------------------------------------------------------------------


def _store_nothing(request: Request, dialect: ResponsesDialect, changes: dict[str, Any]) -> None:
    """Request encrypted reasoning instead of a stored response, unless the request continues a stored one.

    A model that does not reason rejects that value; an empty `include` of the caller disables it.
    """
    if request.store is not None or request.background is True or any(given(getattr(request, name)) for name in STATE):
        return
    changes["store"] = False
    if (
        _reasons(request, dialect)
        and request.include != []
        and "include" not in dialect.lacks
        and ENCRYPTED not in (request.include or ())
    ):
        changes["include"] = [*(request.include or ()), ENCRYPTED]


def _reasons(request: Request, dialect: ResponsesDialect) -> bool:
    return request.reasoning is not None if dialect.model_reasons is None else dialect.model_reasons


def _encode_options(request: Request, dialect: ResponsesDialect, changes: dict[str, Any], lost: Losses) -> None:
    """Remove the options that the host lacks."""
    for name in dialect.lacks:
        value = changes.get(name, getattr(request, name, None))
        if value is None:
            continue
        changes[name] = None
        if name == "prompt":
            lost.refused(name, "the host has no stored prompts")
        elif NO_EFFECT.get(name) != value:
            lost.dropped(name, "the host has no such option")
    for name, value in dialect.only.items():
        requested = changes.get(name, getattr(request, name, None))
        if given(requested) and requested != value:
            changes[name] = None
            lost.dropped(name, f"the host supports {value!r} only")
    for name in STATE if dialect.stateless else ():
        if given(getattr(request, name)):
            changes[name] = None
            lost.refused(name, "the host stores nothing between calls; send the whole conversation as input")


# --- counting and compaction ----------------------------------------------------------------------------------------

COUNTED = (
    "model input instructions conversation previous_response_id parallel_tool_calls reasoning text tool_choice tools truncation"
).split()
"""The options that affect the size of the input."""

COMPACTED = (
    "model input instructions previous_response_id prompt_cache_key prompt_cache_options prompt_cache_retention "
    "service_tier image"
).split()
"""The options of a compaction of the conversation."""


def count_route(request: Request | None = None, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """The route of token counting, for any request."""
    return Route(f"{dialect.path}/input_tokens")


def encode_count(request: Request, *, dialect: ResponsesDialect = OPENAI) -> tuple[Request, list[Loss]]:
    """The part of the request that is counted; options without a size are not reported here."""
    sent, lost = encode_request(request, dialect=dialect)
    unknown = {name: value for name, value in extras(sent).items() if name == "personality"}
    return with_extras(_only(sent, COUNTED), unknown), [loss for loss in lost if _field(loss) in COUNTED]


def compact_route(request: Request | None = None, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """The route of compaction, for any request."""
    return Route(f"{dialect.path}/compact")


def encode_compact(request: Request, *, dialect: ResponsesDialect = OPENAI) -> tuple[Request, list[Loss]]:
    """The request for a compacted conversation in place of this one."""
    sent, lost = encode_request(request, dialect=dialect)
    lost = [loss for loss in lost if _field(loss) in COMPACTED]
    if not given(sent.model):
        lost.append(Loss("model", "a compaction needs a model", "refused"))
    return _only(sent, COMPACTED), lost


def _only(request: Request, fields: Sequence[str]) -> Request:
    return Request(**{name: getattr(request, name) for name in fields})


def _field(loss: Loss) -> str:
    return loss.path.partition("[")[0].partition(".")[0]


# --- stored responses -----------------------------------------------------------------------------------------------


def retrieve_route(
    response_id: str,
    *,
    include: tuple[str, ...] = (),
    stream: bool = False,
    starting_after: int | None = None,
    include_obfuscation: bool | None = None,
    dialect: ResponsesDialect = OPENAI,
) -> Route:
    """The route of a stored response, or of its events after the one numbered `starting_after`."""
    query: dict[str, Any] = {"stream": "true"} if stream else {}
    if include:
        query["include[]"] = include
    if starting_after is not None:
        query["starting_after"] = str(starting_after)
    if include_obfuscation is not None:
        query["include_obfuscation"] = str(include_obfuscation).lower()
    return Route(_path(response_id, dialect), query, method="GET")


def cancel_route(response_id: str, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """The route to cancel a background response; the answer is the response."""
    return Route(f"{_path(response_id, dialect)}/cancel")


def delete_route(response_id: str, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """The route to delete a stored response."""
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
    """The route of the input items of a stored response; the newest first unless `order` is set."""
    query: dict[str, Any] = {"after": after, "limit": limit and str(limit), "order": order, "include[]": include}
    return Route(
        f"{_path(response_id, dialect)}/input_items",
        {name: value for name, value in query.items() if value},
        method="GET",
    )


def _path(response_id: str, dialect: ResponsesDialect) -> str:
    if not response_id.strip("."):  # an empty name is the path of all responses
        raise ConfigError(f"{response_id!r} is not the id of a response")
    return f"{dialect.path}/{path_segment(response_id)}"
