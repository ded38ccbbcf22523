"""Where a request goes, in which version of the API, and with which betas.

Before changing this file, know that a beta a request does not need may be refused, and one it needs and lacks is refused
always: the tables say what in a request asks for which. Follows Anthropic's pages on versions and beta headers (read
2026-11-20).
"""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote

from ... import responses as ours
from ...responses.leftovers import SPELLING
from ...unknown import Unknown
from ...vendors.dialects import MessagesDialect, messages_model
from .. import Route
from .leftovers import DEFAULT, WIRE, own
from .options import SPEEDS
from .thinking import samples
from .tools import servers_alone

NEWEST = "2026-10-21"
OLDER = "2023-06-01"
"""The version that still takes sampling options."""

MCP = "mcp-client-2025-11-20"
FIRST_MCP = "mcp-client-2025-04-04"
"""For servers that choose their tools themselves, without a toolset."""
EDITS = "context-management-2025-06-27"
COMPACT_EDIT = "compact-2026-01-12"
COMPACT = "compact-2026-09-04"
FAST = "fast-mode-2026-02-01"
TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"
INLINE_TOOLS = "inline-tools-2026-09-15"

FIELDS = {
    "compaction": COMPACT,
    "fallbacks": "server-side-fallback-2026-07-01",
    "fallback_credit_token": "fallback-credit-2026-07-01",
    "mcp_servers": MCP,
    "thread": "message-threads-2026-08-12",
    "task_budget": "task-budgets-2026-03-13",
    "block_binding": "thinking-binding-controls-2026-08-01",
    "clear_at": "mid-conversation-system-clear-at-2026-08-21",
    "skills": "skills-2025-10-02",
}
"""Fields of this wire that need a beta, wherever they stand."""

VALUES = {
    "advisor_20260301": "advisor-tool-2026-03-01",
    "clear_tool_uses_20250919": EDITS,
    "clear_thinking_20251015": EDITS,
    "compact_20260112": COMPACT_EDIT,
    "mcp_toolset": MCP,
    "tool_addition": TOOL_CHANGES,
    "tool_removal": TOOL_CHANGES,
    "tool_definition": INLINE_TOOLS,
    "updates": "thinking-display-updates-2026-08-18",
    "fast": FAST,
}
"""Values of `type`, `display` and `speed` that need one."""

_FREE = frozenset({"input_schema", "input_examples", "schema", "metadata"})
"""Fields that hold the caller's own JSON."""


def route(request: ours.Request, *, dialect: MessagesDialect = DEFAULT, stream: bool = False) -> Route:
    """Where the request goes, and the headers it asks for itself."""
    path = dialect.stream_path if stream and dialect.stream_path is not None else dialect.path
    headers: dict[str, str] = {}
    if dialect.body_version is None:
        sampled = samples(request) and messages_model(request.model or "").sampling != "no"
        sampled = sampled or not {"temperature", "top_p", "top_k"}.isdisjoint(_additions(request))
        headers["anthropic-version"] = OLDER if sampled else NEWEST
    found = betas(request)
    if found and not dialect.betas_in_body:
        headers["anthropic-beta"] = ",".join(found)
    return Route(path.replace("{model}", quote(request.model or "", safe="")), headers=headers)


def _additions(request: ours.Request) -> dict[str, Any]:
    """What the caller adds to the body."""
    return request.extra.get(WIRE, {}) if request.extra else {}


def betas(request: ours.Request) -> list[str]:
    """The betas that a request needs on this wire, and those the caller names; sorted."""
    found: set[str] = set()
    kept, more = own(request.leftovers), _additions(request)
    if request.context_management:
        found.add(COMPACT_EDIT)
    if request.service_tier in SPEEDS:
        found.add(FAST)
    for tool in request.tools or ():
        if isinstance(tool, ours.McpTool):
            found.add(FIRST_MCP if tool.server_label in servers_alone(kept) else MCP)
        elif isinstance(tool, Unknown):
            _search(dict(tool), found)
    for item in request.input if isinstance(request.input, list) else ():
        _search_item(item, request, found)
    _search({name: value for name, value in kept.items() if name not in (SPELLING, "mcp_servers")}, found)
    _search(more, found)
    named: Any = more.get("betas", ())
    return sorted(found | {name for name in named if isinstance(name, str)})


def _search_item(item: ours.AnyItem, request: ours.Request, found: set[str]) -> None:
    match item:
        case ours.Message():
            _search(own(item.leftovers), found)
            for part in item.content if isinstance(item.content, list) else ():
                if not isinstance(part, Unknown) and part.leftovers:
                    _search(own(part.leftovers), found)
        case ours.Compaction():
            found.add(COMPACT_EDIT)
        case ours.CompactionTrigger():
            found.add(COMPACT)
        case ours.AdditionalTools():
            found.add(TOOL_CHANGES)
            offered = {tool.name for tool in request.tools or () if isinstance(tool, ours.FunctionTool)}
            if any(not isinstance(tool, ours.FunctionTool) or tool.name not in offered for tool in item.tools):
                found.add(INLINE_TOOLS)
        case _:
            pass


def _search(value: Any, found: set[str]) -> None:
    """Add what plain values of this wire need."""
    if isinstance(value, list | tuple):
        for one in cast("list[Any]", value):
            _search(one, found)
    for name, one in cast("dict[str, Any]", value).items() if isinstance(value, dict) else ():
        if name in FIELDS and one:
            found.add(FIELDS[name])
        if name in ("type", "display", "speed") and isinstance(one, str) and one in VALUES:
            found.add(VALUES[one])
        if name not in _FREE:
            _search(one, found)
