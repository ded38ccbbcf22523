"""Tools the vendor runs inside an answer: what Responses shows of them, and how their blocks come back.

Consecutive blocks of such tools form a *run*. It becomes one visible item per use (a search, a run of code, an MCP call),
followed by one carrier with the whole blocks, since a result holds encrypted text that nothing else could rebuild. Before
changing this file, know that `fingerprint` ties the carrier to its items: what it leaves out can be edited unnoticed. Follows
the web search, web fetch, code execution, tool search and MCP connector guides of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import UNSET

from ... import responses as ours
from ...responses.carriers import digest
from ...unknown import Opt, Unknown, given
from . import types

VISIBLE = (
    ours.WebSearchCall,
    ours.CodeInterpreterCall,
    ours.McpCall,
    ours.McpListTools,
    ours.ToolSearchCall,
    ours.ToolSearchOutput,
)
"""The items that show what a run did."""

PREFIX: dict[type[ours.Item], str] = {
    ours.WebSearchCall: "ws",
    ours.CodeInterpreterCall: "ci",
    ours.McpCall: "mcp",
    ours.McpListTools: "mcpl",
    ours.ToolSearchCall: "tsc",
    ours.ToolSearchOutput: "tso",
}
"""How ids of items begin, as Responses hosts expect it."""

_sorted = msgspec.json.Encoder(order="deterministic").encode

Results = dict[str, types.ServerToolResult]
Use = types.ServerToolUse | types.McpToolUse


# --- blocks to items ------------------------------------------------------------------------------------------------


def run_items(run: list[tuple[int, types.AnyBlock]], message_id: str | None) -> list[ours.AnyItem]:
    """The visible items of a run, in the order of its uses."""
    results: Results = {block.tool_use_id: block for _, block in run if isinstance(block, types.ServerToolResult)}
    return [item for i, block in run for item in shown(i, block, results, message_id)]


def shown(i: int, block: types.AnyBlock, results: Results, message_id: str | None) -> list[ours.AnyItem]:
    """The visible items of the block at position `i`; a use whose result is not among `results` is in progress."""
    items = _visible(block, results)
    for item in items:
        if message_id is not None:
            item.id = f"{PREFIX[type(item)]}_{message_id}_{i}"
        if (
            isinstance(item, ours.WebSearchCall | ours.CodeInterpreterCall | ours.McpCall | ours.ToolSearchCall)
            and not item.status
        ):
            item.status = "in_progress"
    return cast("list[ours.AnyItem]", items)


def conclude(hosted: list[ours.AnyItem], going_on: bool, container: Opt[str]) -> None:
    """Set what only the end of an answer tells: where its code ran, and whether a use without result still goes on."""
    for item in hosted:
        if isinstance(item, ours.CodeInterpreterCall):
            item.container_id = container
        if not isinstance(item, Unknown) and item.status == "in_progress" and not going_on:
            item.status = "incomplete"


def _visible(block: types.AnyBlock, results: Results) -> list[ours.Item]:
    match block:
        case types.ServerToolUse(name="web_search"):
            return [_search(block, results.get(block.id))]
        case types.ServerToolUse(name="web_fetch"):
            return [_fetch(block, results.get(block.id))]
        case types.ServerToolUse(name="code_execution" | "bash_code_execution"):
            return [_code(block, results.get(block.id))]
        case types.ServerToolUse(name="tool_search_tool_regex" | "tool_search_tool_bm25"):
            return _tool_search(block, results.get(block.id))
        case types.McpToolUse():
            return [_mcp_call(block, results.get(block.id))]
        case types.McpToolListing():
            tools = [
                ours.McpToolInfo(name=t.name, input_schema=t.input_schema, description=t.description)
                for t in block.tools
            ]
            return [ours.McpListTools(server_label=block.mcp_server_name, tools=tools)]
        case _:
            return []


def arguments_of(block: Use) -> dict[str, Any]:
    """The input of a use as plain values; empty where it is no object."""
    try:
        found = msgspec.json.decode(block.input)
    except msgspec.MsgspecError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _text(arguments: dict[str, Any], name: str) -> Opt[str]:
    found = arguments.get(name)
    return found if isinstance(found, str) else UNSET


def _search(use: types.ServerToolUse, result: types.ServerToolResult | None) -> ours.WebSearchCall:
    query = _text(arguments_of(use), "query")
    action = ours.Search(query=query, queries=[query] if given(query) else UNSET)
    call = ours.WebSearchCall(action=action)
    if isinstance(result, types.WebSearchToolResult):
        if isinstance(result.content, list):
            action.sources = [ours.UrlSource(url=r.url) for r in result.content if isinstance(r, types.WebSearchResult)]
            call.status = "completed"
        else:
            call.status = "failed"
    return call


def _fetch(use: types.ServerToolUse, result: types.ServerToolResult | None) -> ours.WebSearchCall:
    call = ours.WebSearchCall(action=ours.OpenPage(url=_text(arguments_of(use), "url")))
    if isinstance(result, types.WebFetchToolResult):
        call.status = "completed" if isinstance(result.content, types.WebFetchResult) else "failed"
    return call


def _code(use: types.ServerToolUse, result: types.ServerToolResult | None) -> ours.CodeInterpreterCall:
    arguments = arguments_of(use)
    code = _text(arguments, "code") or _text(arguments, "command")
    call = ours.CodeInterpreterCall(code=code)
    if isinstance(result, types.CodeExecutionToolResult | types.BashCodeExecutionToolResult):
        match result.content:
            case types.CodeResult(stdout=out, stderr=err) | types.BashResult(stdout=out, stderr=err):
                call.outputs = [ours.CodeLogs(logs=logs) for logs in (out, err) if logs]
            case types.EncryptedCodeResult(stderr=err):
                call.outputs = [ours.CodeLogs(logs=err)] if err else []
            case _:
                call.status = "failed"
                return call
        call.status = "completed"
    return call


def _tool_search(use: types.ServerToolUse, result: types.ServerToolResult | None) -> list[ours.Item]:
    call = ours.ToolSearchCall(arguments=arguments_of(use), execution="server", call_id=use.id)
    if not isinstance(result, types.ToolSearchToolResult):
        return [call]
    if not isinstance(result.content, types.ToolsFound):
        call.status = "incomplete"
        return [call]
    call.status = "completed"
    tools = [ours.FunctionTool(name=found.tool_name) for found in result.content.tool_references]
    return [call, ours.ToolSearchOutput(tools=[*tools], execution="server", call_id=use.id, status="completed")]


def _mcp_call(use: types.McpToolUse, result: types.ServerToolResult | None) -> ours.McpCall:
    call = ours.McpCall(
        server_label=use.server_name, name=use.name, arguments=bytes(use.input).decode("utf-8", "replace")
    )
    if isinstance(result, types.McpToolResult):
        content = result.content
        if isinstance(content, list):
            content = "".join(piece.text for piece in content if isinstance(piece, types.Text))
        text = content if given(content) else ""
        if result.is_error:
            call.error = {"type": "mcp_tool_execution_error", "content": text}
            call.status = "failed"
        else:
            call.output = text
            call.status = "completed"
    return call


# --- items to blocks ------------------------------------------------------------------------------------------------


def fingerprint(items: list[ours.AnyItem]) -> str:
    """A digest of what the visible items of a run say; ids and statuses do not count."""
    return digest("\x1e".join(_says(item) for item in items))


def _says(item: ours.AnyItem) -> str:
    match item:
        case ours.WebSearchCall(action=ours.Search(query=query, sources=sources)):
            urls = [source.url for source in sources or () if isinstance(source, ours.UrlSource)]
            said: list[Any] = ["search", query or "", *urls]
        case ours.WebSearchCall(action=ours.OpenPage(url=url)):
            said = ["open", url or ""]
        case ours.CodeInterpreterCall():
            logs = [output.logs for output in item.outputs or () if isinstance(output, ours.CodeLogs)]
            said = ["code", item.code or "", *logs]
        case ours.McpCall():
            error: Any = item.error or None
            said = ["mcp", item.server_label, item.name, item.arguments, item.output or "", error]
        case ours.McpListTools():
            said = ["tools", item.server_label, *(tool.name for tool in item.tools)]
        case ours.ToolSearchCall():
            said = ["tool search", item.arguments]
        case ours.ToolSearchOutput():
            said = ["found", *(tool.name for tool in item.tools if isinstance(tool, ours.FunctionTool))]
        case Unknown():
            said = ["unknown", dict(item)]
        case _:
            said = [type(item).__name__]
    return _sorted(said).decode()
