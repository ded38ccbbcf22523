"""What a Responses server repeats of the request in its answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..unknown import given
from .tools import McpTool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .request import Request
    from .tools import AnyTool

ECHOED = (
    "background",
    "frequency_penalty",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
)


def echo(request: Request | None) -> dict[str, Any]:
    """The fields of a `Response` that repeat what `request` set; nothing without a request."""
    if request is None:
        return {}
    values = {name: getattr(request, name) for name in ECHOED}
    if request.tools:
        values["tools"] = echoed_tools(request.tools)
    return {name: value for name, value in values.items() if value is not None}


_PATH = re.compile(r"(?<=[^/:])/.+", re.DOTALL)


def echoed_tools(tools: Sequence[AnyTool]) -> list[AnyTool]:
    """The tools as a server repeats them: with the secrets of MCP servers blotted out, which a path may hold too."""
    return [_blotted(tool) if isinstance(tool, McpTool) else tool for tool in tools]


def _blotted(tool: McpTool) -> McpTool:
    changes: dict[str, Any] = {}
    if given(tool.authorization):
        changes["authorization"] = "REDACTED"
    if given(tool.headers):
        changes["headers"] = dict.fromkeys(tool.headers, "<redacted>")
    if given(tool.server_url):
        changes["server_url"] = _PATH.sub("/<redacted>", tool.server_url, count=1)
    return replace(tool, **changes)
