"""The endpoints beside `POST /responses`: counting, compaction, and what a server kept.

For each a route, and where there is a body, the functions that make or read it. Follows the OpenAI Responses reference and
`POST /responses/compact` of Open Responses (both read 2026-11-20). Hosts that keep nothing have the first two at most.
"""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote

from msgspec import UNSET
from msgspec.structs import replace

from ...errors import ConfigError
from ...losses import Loss, Losses
from ...responses import AnyItem, CompactedResponse, Request, Usage
from ...unknown import Decoder, Model, Opt, Unknown, extras, given, with_extras
from ...vendors.dialects import ResponsesDialect
from .. import Route
from .complete import complete_items, complete_usage
from .content import strip
from .items import decode_items, unsealed
from .request import OPENAI, encode_request

# --- counting -------------------------------------------------------------------------------------------------------

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


class InputTokens(Model):
    """How large an input is."""

    object: Literal["response.input_tokens"] | str = "response.input_tokens"
    input_tokens: int


COUNT: Decoder[InputTokens] = Decoder(InputTokens)
"""Decodes the answer to a count."""


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

COMPACTION: Decoder[CompactedResponse] = Decoder(CompactedResponse)
"""Decodes the answer to a compaction."""


def compact_route(request: Request | None = None, *, dialect: ResponsesDialect = OPENAI) -> Route:
    """Where a conversation is compacted, whatever the request."""
    return Route(f"{dialect.path}/compact")


def encode_compact(request: Request, *, dialect: ResponsesDialect = OPENAI) -> tuple[Request, list[Loss]]:
    """The request for a shorter conversation that stands for this one."""
    part, lost = _only(*encode_request(request, dialect=dialect), COMPACTED)
    if not given(part.model):
        lost.append(Loss("model", "a compaction needs a model", "refused"))
    return part, lost


def decode_compacted(
    body: CompactedResponse, *, dialect: ResponsesDialect = OPENAI
) -> tuple[CompactedResponse, list[Loss]]:
    """The items to send instead of the conversation before, unchanged and first."""
    lost = Losses()
    output = decode_items(body.output, "output", dialect, lost)
    return body if output is body.output else replace(body, output=output), lost


def encode_compacted(
    body: CompactedResponse, *, dialect: ResponsesDialect = OPENAI
) -> tuple[CompactedResponse, list[Loss]]:
    """The answer as a server gives it: every field there, and none of ours."""
    lost = Losses()
    output: list[AnyItem] = [
        item if isinstance(item, Unknown) else strip(unsealed(item, dialect), "output", i, lost)
        for i, item in enumerate(body.output)
    ]
    usage = body.usage if given(body.usage) else Usage(input_tokens=0, output_tokens=0)
    return replace(
        body,
        output=complete_items(output, body.id, "completed"),
        created_at=int(body.created_at or 0),
        usage=complete_usage(replace(usage, leftovers=None)),
    ), lost


# --- what a server kept ---------------------------------------------------------------------------------------------


class Deleted(Model):
    """A response that is gone."""

    id: Opt[str] = UNSET
    object: Opt[str] = UNSET
    deleted: Opt[bool] = UNSET


class ItemPage(Model):
    """Some of the items a response was given. While `has_more`, the next page comes after `last_id`."""

    object: Literal["list"] | str = "list"
    data: list[AnyItem]
    first_id: Opt[str] = UNSET
    last_id: Opt[str] = UNSET
    has_more: Opt[bool] = UNSET


DELETED: Decoder[Deleted] = Decoder(Deleted)
"""Decodes the answer to a deletion."""

ITEMS: Decoder[ItemPage] = Decoder(ItemPage)
"""Decodes a page of input items."""


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


def decode_input_items(body: ItemPage, *, dialect: ResponsesDialect = OPENAI) -> tuple[ItemPage, list[Loss]]:
    """The page, with the host's opaque state wrapped so that it returns to this host only."""
    lost = Losses()
    data = decode_items(body.data, "data", dialect, lost)
    return body if data is body.data else replace(body, data=data), lost


def _path(response_id: str, dialect: ResponsesDialect) -> str:
    # Dots are not escaped, and an empty name is the path of all responses.
    if not response_id.strip("."):
        raise ConfigError(f"{response_id!r} is not the id of a response")
    return f"{dialect.path}/{quote(response_id, safe='')}"
