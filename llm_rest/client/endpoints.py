"""Further endpoints of a vendor: token counting, compaction, stored responses, model lists, and the check of a key.

Wires define the routes, bodies and decoders of these endpoints; this module calls them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..errors import APITimeoutError, CallCancelledError, ConfigError, LLMError, NotFoundError
from ..responses.request import Request
from ..transport import is_duration
from ..unknown import Decoder, Model, given
from ..wires import Route
from .answer import decode_document
from .generate import decoded, generate, interrupted_reply, raise_if_failed
from .loss_reports import CallSite, report_losses
from .reply import Reply
from .target import OutgoingRequest, build_request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..responses.items import AnyItem
    from ..responses.response import CompactedResponse
    from .call import Caller
    from .hooks import Operation
    from .options import Input, Settings
    from .target import Target

UNFINISHED = ("queued", "in_progress")
"""The statuses of an unfinished response."""

Order = Literal["asc", "desc"]
"""Oldest first (`asc`), or newest first."""


def _functions(target: Target, *names: str) -> tuple[Any, ...]:
    """The functions of the wire for an endpoint. Raises `ConfigError` where it has no such endpoint."""
    try:
        return tuple(getattr(target.wire, name) for name in names)
    except AttributeError:
        raise ConfigError(
            f"{target.vendor} has no such endpoint on the wire {target.endpoint.wire}",
            hint="it has others on another wire" if len(target.endpoint.vendor.wires) > 1 else None,
        ) from None


async def _document(
    caller: Caller, target: Target, settings: Settings, outgoing: OutgoingRequest, decoder: Any, operation: Operation
) -> Any:
    """The document that an endpoint answers with."""
    return await caller.send(target, settings, outgoing, lambda sent: decode_document(target, sent, decoder), operation)


async def count_tokens(caller: Caller, input: Input | None, options: dict[str, Any], site: CallSite) -> int:
    """The number of tokens in this input as counted by the vendor."""
    prepared = caller.prepare(input, options)
    target, settings, request = prepared.target, prepared.settings, prepared.request
    encode, route, decoder = _functions(target, "encode_count", "count_route", "COUNT")
    outgoing, lost = build_request(encode, route, request, target.dialect)
    report_losses(prepared.located(lost), settings.on_loss, site, who=target.vendor)
    counted = await _document(caller, target, settings, replace(outgoing, request=None), decoder, "count_tokens")
    tokens: int = counted.input_tokens
    return tokens


async def compact(caller: Caller, input: Input | None, options: dict[str, Any], site: CallSite) -> CompactedResponse:
    """The items that replace this conversation, to be sent first and unchanged."""
    prepared = caller.prepare(input, options)
    target, settings, request = prepared.target, prepared.settings, prepared.request
    encode, route, decoder, decode = _functions(
        target, "encode_compact", "compact_route", "COMPACTION", "decode_compacted"
    )
    guard = None if target.guard is None else target.check
    outgoing, more = build_request(encode, route, request, target.dialect, guard=guard)
    report_losses(prepared.lost + prepared.located(more), settings.on_loss, site, who=target.vendor)
    compacted: CompactedResponse
    compacted, more = await caller.send(
        target,
        settings,
        outgoing,
        lambda sent: decode(decode_document(target, sent, decoder), dialect=target.dialect),
        "compact",
    )
    report_losses(more, settings.on_loss, site, who=target.vendor, reply=compacted)
    return compacted


# --- stored responses -----------------------------------------------------------------------------------------------


async def stored(
    caller: Caller,
    response_id: str,
    options: dict[str, Any],
    site: CallSite,
    operation: Literal["retrieve", "cancel"] = "retrieve",
    **query: Any,
) -> Reply:
    """A stored response, whatever its status, after this operation on it."""
    target, settings = caller.resolve(options)
    (route,) = _functions(target, f"{operation}_route")
    try:
        found, lost = await caller.send(
            target,
            settings,
            OutgoingRequest(route(response_id, **query, dialect=target.dialect)),
            lambda sent: decoded(target, settings, sent, decode_document(target, sent, target.wire.RESPONSE)),
            operation,
        )
    except CallCancelledError as ended:
        return interrupted_reply(target, ended.attempts)
    if lost:
        report_losses(lost, settings.on_loss, site, who=target.vendor, reply=found)
    return found


async def delete(caller: Caller, response_id: str, options: dict[str, Any]) -> None:
    """Delete a stored response."""
    target, settings = caller.resolve(options)
    route, decoder = _functions(target, "delete_route", "DELETED")
    outgoing = OutgoingRequest(route(response_id, dialect=target.dialect))
    await _document(caller, target, settings, outgoing, decoder, "delete")


async def input_items(
    caller: Caller, response_id: str, options: dict[str, Any], order: Order = "asc", include: Sequence[str] = ()
) -> list[AnyItem]:
    """All input items of a stored response."""
    target, settings = caller.resolve(options)
    route, decoder, decode = _functions(target, "input_items_route", "ITEMS", "decode_input_items")
    items: list[AnyItem] = []
    after: str | None = None
    while True:
        place = {"after": after, "limit": 100, "order": order, "include": tuple(include)}
        outgoing = OutgoingRequest(route(response_id, **place, dialect=target.dialect))
        found = await _document(caller, target, settings, outgoing, decoder, "input_items")
        page, _ = decode(found, dialect=target.dialect)
        items += page.data
        # A page whose cursor does not advance would be requested in an endless loop.
        if not page.has_more or not page.last_id or page.last_id == after:
            return items
        after = page.last_id


async def poll(
    caller: Caller, response: Reply | str, options: dict[str, Any], site: CallSite, interval: float, limit: float | None
) -> Reply:
    """The response once it is finished. Raises the vendor's error where it failed."""
    for name, seconds in (("interval", interval), ("timeout", limit)):
        if seconds is not None and not is_duration(seconds):
            raise ConfigError(f"{name} is a positive number of seconds, not {seconds!r}")
    until = None if limit is None else time.monotonic() + limit
    found = await stored(caller, response, {**options}, site) if isinstance(response, str) else response
    while found.status in UNFINISHED:
        if until is not None and time.monotonic() + interval > until:
            what = f"{found.id} is still {found.status} at the end of {limit:g} s (timeout=); poll again, or allow more time"
            raise APITimeoutError(what, phase="total", partial=found)
        with caller.call() as waiting:
            await caller.transport.sleep(interval)
        if waiting.stopped:
            target, _ = caller.resolve(options)
            return interrupted_reply(target, ())
        found = await stored(caller, found.id, {**options}, site)
    target, _ = caller.resolve(options)
    return raise_if_failed(target, found)


# --- key validation -------------------------------------------------------------------------------------------------

_ANSWERS_AT = {
    "openai_responses": "/responses",
    "openai_chat": "/chat/completions",
    "anthropic_messages": "/messages",
    "gemini_generate_content": "/models/{model}",
}
"""The last part of a wire's path, which is replaced for the list of models."""


class Access(Struct, frozen=True):
    """Whether the vendor accepted the key. True where it did, so that `if llm.validate_access():` works."""

    valid: bool
    """Whether the key was accepted. Also false where the check failed: a network failure, or a rate limit."""
    error: LLMError | None = None
    """The error of the check, with its `code` and `suggestions`; `None` where valid."""

    def __bool__(self) -> bool:
        return self.valid


async def validate_access(caller: Caller, options: dict[str, Any], site: CallSite) -> Access:
    """Whether the vendor accepts the key. Lists the models, which costs nothing. Raises `ConfigError` for wrong arguments."""
    target, settings = caller.resolve(options)
    try:
        try:
            listed = OutgoingRequest(_models_route(target))
            await caller.send(target, settings, listed, lambda sent: None, "list_models")
        except NotFoundError:
            # A host without a list of models: the smallest request tests the key as well.
            smallest = {**options, "max_output_tokens": 16, "on_loss": "ignore", "invalid_options": "drop"}
            if (await generate(caller, "Hi", smallest, site)).interrupted:
                raise CallCancelledError("the call was cancelled") from None
    except LLMError as error:
        if isinstance(error, ConfigError) and not error.no_key:
            raise
        return Access(False, error)
    return Access(True)


# --- models ---------------------------------------------------------------------------------------------------------


class ModelInfo(Struct, frozen=True, kw_only=True):
    """A model in the vendor's list of models. Values that the list does not have are `None`."""

    id: str
    """Its id: the part after the slash in `"vendor/model"`."""
    display_name: str | None = None
    """Its display name."""
    max_input_tokens: int | None = None
    """The maximum number of input tokens."""
    max_output_tokens: int | None = None
    """The maximum number of output tokens of one answer."""
    lifecycle: str | None = None
    """The lifecycle state as the vendor names it, such as `active`, `deprecated` or `retired`."""
    deprecated_at: str | None = None
    """When the vendor deprecated it, as the vendor writes the date."""
    retires_at: str | None = None
    """When the vendor shuts it down, as the vendor writes the date."""
    raw: dict[str, Any] = {}
    """The entry of the list as plain data, with all its fields."""


_FACTS = {
    "id": ("id", "model", "name"),
    "display_name": ("display_name",),
    "max_input_tokens": ("max_input_tokens", "input_token_limit"),
    "max_output_tokens": ("max_tokens", "output_token_limit"),
    "lifecycle": ("lifecycle",),
    "deprecated_at": ("deprecated_at",),
    "retires_at": ("retires_at",),
}
"""The fields of `ModelInfo`, and their names in the lists of the wires."""


class _Model(Model, kw_only=True):
    id: str


class _ModelList(Model, kw_only=True):
    """The list of OpenAI and compatible hosts."""

    data: list[_Model]


_MODELS: Decoder[_ModelList] = Decoder(_ModelList)


async def list_models(caller: Caller, options: dict[str, Any]) -> list[ModelInfo]:
    """All models that the vendor lists."""
    target, settings = caller.resolve(options)
    decoder = getattr(target.wire, "MODELS", _MODELS)
    route = _models_route(target)
    found: list[ModelInfo] = []
    while True:
        page = await _document(caller, target, settings, OutgoingRequest(route), decoder, "list_models")
        found += [_model_info(target, entry) for entry in (page.data if hasattr(page, "data") else page.models or ())]
        after = _next_page(page)
        # A list whose cursor does not advance would be requested in an endless loop.
        if not after or after.items() <= route.query.items():
            return found
        route = replace(route, query={**route.query, **after})


def _next_page(page: Any) -> dict[str, str]:
    """The query for the page after this one; empty where it is the last."""
    if getattr(page, "has_more", False) and page.last_id:
        return {"after_id": page.last_id}
    token = getattr(page, "next_page_token", None)
    return {"pageToken": token} if token else {}


def _model_info(target: Target, entry: Any) -> ModelInfo:
    facts: dict[str, Any] = {}
    for field, names in _FACTS.items():
        known = [value for name in names if given(value := getattr(entry, name, UNSET))]
        if known:
            facts[field] = known[0]
    # Google names a model with its collection: `models/gemini-...`.
    facts["id"] = facts["id"].removeprefix(f"{getattr(target.dialect, 'collection', '')}/")
    return ModelInfo(raw=msgspec.to_builtins(entry), **facts)


def _models_route(target: Target) -> Route:
    """The route of the vendor's model list: that of the wire, else beside its generating endpoint."""
    listed: Callable[..., Route] | None = getattr(target.wire, "models_route", None)
    if listed is not None:
        return listed(dialect=target.dialect)
    beside = target.dialect.path.removesuffix(_ANSWERS_AT.get(target.endpoint.wire, ""))
    headers = target.wire.route(Request(model=target.model, input="Hi"), dialect=target.dialect).headers
    return Route(f"{beside}/models", headers=dict(headers), method="GET")
