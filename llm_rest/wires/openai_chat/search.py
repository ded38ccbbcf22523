"""Web search, both ways: an option of the request here, a tool in Responses.

Only some models take it, which is a fact of the dialect. Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from msgspec import UNSET

from ...responses.tools import (
    AnyTool,
    UserLocation,
    WebSearchPreviewTool,
    WebSearchPreviewTool20250311,
    WebSearchTool,
    WebSearchTool20250826,
)
from ...unknown import Opt, given
from . import types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dialects import ChatDialect
    from ...losses import Losses

WEB_SEARCH = WebSearchTool | WebSearchTool20250826 | WebSearchPreviewTool | WebSearchPreviewTool20250311


def encode_search(
    tools: Sequence[AnyTool], model: Opt[str], own_form: bool, dialect: ChatDialect, lost: Losses
) -> Opt[types.WebSearchOptions]:
    """The option that stands for a web search tool, on models that take it; `own_form` says that it came so."""
    options: Opt[types.WebSearchOptions] = UNSET
    for i, tool in enumerate(tools):
        if not is_search(tool):
            continue
        if not own_form and not (model and model.startswith(dialect.search_models)):
            lost.refused(f"tools[{i}]", "web search, which this model cannot be asked for on this wire")
            continue
        for name in ("filters", "external_web_access", "search_content_types"):
            if given(getattr(tool, name)):
                lost.dropped(f"tools[{i}].{name}", "an option of web search that this wire has no field for")
        options = types.WebSearchOptions(search_context_size=tool.search_context_size)
        if given(where := tool.user_location):
            place = types.Location(city=where.city, country=where.country, region=where.region, timezone=where.timezone)
            options.user_location = types.UserLocation(type=where.type, approximate=place)
    return options


def is_search(tool: AnyTool) -> TypeGuard[WebSearchTool]:
    """Whether the tool is the vendor's web search, of whatever version."""
    return isinstance(tool, WEB_SEARCH)


def decode_search(options: types.WebSearchOptions) -> WebSearchTool:
    """The web search tool that the option stands for."""
    tool = WebSearchTool(search_context_size=options.search_context_size)
    if given(options.user_location):
        where = options.user_location.approximate
        tool.user_location = UserLocation(type=options.user_location.type)
        if given(where):
            tool.user_location = UserLocation(
                type=options.user_location.type,
                city=where.city,
                country=where.country,
                region=where.region,
                timezone=where.timezone,
            )
    return tool
