"""The neighbours of `/v1/messages`: counting tokens, and the list of models.

Follows Anthropic's references of token counting and of the models API (read 2026-11-20).
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from ...losses import Loss
from ...responses import Request
from ...unknown import MOST_UNKNOWN, Decoder, Model, Opt
from ...vendors.dialects import MessagesDialect
from .. import Route
from . import types
from .betas import route
from .leftovers import DEFAULT
from .request import decode_request, encode_request

# --- counting -------------------------------------------------------------------------------------------------------


class CountRequest(Model):
    """`POST /v1/messages/count_tokens`: a request without what only matters for generating."""

    model: Opt[str] = UNSET
    messages: list[types.InputMessage]
    system: Opt[str | list[types.Text]] = UNSET
    tools: Opt[list[types.Tool]] = UNSET
    tool_choice: Opt[types.ToolChoice] = UNSET
    thinking: Opt[types.ThinkingConfig] = UNSET
    output_config: Opt[types.OutputConfig] = UNSET
    cache_control: Opt[types.CacheControl] = UNSET
    speed: Opt[str] = UNSET
    mcp_servers: Opt[list[types.McpServer]] = UNSET
    context_management: Opt[types.ContextManagement] = UNSET


class ContextCount(Model):
    original_input_tokens: int


class Count(Model):
    """An estimate; `context_management` says what it was before editing."""

    input_tokens: int
    context_management: Opt[ContextCount] = UNSET


COUNT_REQUEST: Decoder[CountRequest] = Decoder(CountRequest, most_unknown=MOST_UNKNOWN)
COUNT: Decoder[Count] = Decoder(Count)


def encode_count(request: Request, *, dialect: MessagesDialect = DEFAULT) -> tuple[CountRequest, list[Loss]]:
    """The body that asks how many tokens a request has."""
    body, lost = encode_request(request, dialect=dialect)
    return CountRequest(**{name: getattr(body, name) for name in CountRequest.__struct_fields__}), lost


def decode_count(body: CountRequest, *, dialect: MessagesDialect = DEFAULT) -> tuple[Request, list[Loss]]:
    """The request whose tokens are to be counted."""
    fields = {name: getattr(body, name) for name in CountRequest.__struct_fields__}
    request, lost = decode_request(types.Request(max_tokens=1, **fields), dialect=dialect)
    request.max_output_tokens = None
    return request, lost


def count_route(request: Request, *, dialect: MessagesDialect = DEFAULT) -> Route:
    """Where counting is asked for."""
    there = route(request, dialect=dialect)
    return Route(f"{there.path}/count_tokens", headers=there.headers)


# --- models ---------------------------------------------------------------------------------------------------------


class ModelInfo(Model):
    """One model. `capabilities` is a tree whose leaves are `{"supported": ...}`."""

    id: str
    type: Literal["model"] | str = "model"
    display_name: Opt[str] = UNSET
    created_at: Opt[str] = UNSET
    max_input_tokens: Opt[int] = UNSET
    max_tokens: Opt[int] = UNSET
    lifecycle: Opt[Literal["active", "deprecated", "retired"] | str] = UNSET
    deprecated_at: Opt[str] = UNSET
    retires_at: Opt[str] = UNSET
    line: Opt[str] = UNSET
    capabilities: Opt[types.Plain] = UNSET


class ModelList(Model):
    """One page of `GET /v1/models`; the next one starts with `after_id=last_id`."""

    data: list[ModelInfo]
    first_id: Opt[str] = UNSET
    last_id: Opt[str] = UNSET
    has_more: bool = False


MODELS: Decoder[ModelList] = Decoder(ModelList)
MODEL: Decoder[ModelInfo] = Decoder(ModelInfo)
