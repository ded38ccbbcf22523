"""What the model may call, and how it is told to choose.

Follows the tools and tool choices of the OpenAI Responses reference (read 2026-11-20). Function tools are flat here:
`{"type": "function", "name": ..., "parameters": ...}`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, field
from msgspec.structs import replace

from ..unknown import Model, Open, Opt, given

Schema = dict[str, Any]
"""A JSON Schema."""

AllowedCaller = Literal["direct", "programmatic"] | str


class Tool(Model, tag_field="type"):
    """What every tool is: tagged by `type`, keeping the fields it does not know."""


class FunctionTool(Tool, tag="function"):
    """A function the caller runs. Without `strict` a Responses host tries strict decoding and falls back."""

    name: str
    description: Opt[str] = UNSET
    parameters: Opt[Schema] = UNSET
    strict: Opt[bool] = UNSET
    defer_loading: Opt[bool] = UNSET
    allowed_callers: Opt[list[AllowedCaller]] = UNSET
    output_schema: Opt[Schema] = UNSET
    async_: Opt[bool] = field(name="async", default=UNSET)


class TextGrammar(Model, tag_field="type", tag="text"):
    """Any text."""


class Grammar(Model, tag_field="type", tag="grammar"):
    """Text that follows a grammar."""

    definition: str
    syntax: Literal["lark", "regex"] | str


class CustomTool(Tool, tag="custom"):
    """A tool whose input is free text, or text of a grammar."""

    name: str
    description: Opt[str] = UNSET
    format: Opt[Open[TextGrammar | Grammar]] = UNSET
    defer_loading: Opt[bool] = UNSET
    allowed_callers: Opt[list[AllowedCaller]] = UNSET
    async_: Opt[bool] = field(name="async", default=UNSET)


class NamespaceTool(Tool, tag="namespace"):
    """A named group of functions and custom tools."""

    name: str
    tools: list[Open[FunctionTool | CustomTool]]
    description: Opt[str] = UNSET


class ToolSearchTool(Tool, tag="tool_search"):
    execution: Opt[Literal["server", "client"] | str] = UNSET
    description: Opt[str] = UNSET
    parameters: Opt[Schema] = UNSET


class ProgrammaticToolCalling(Tool, tag="programmatic_tool_calling"):
    """Lets the model write programs that call the other tools."""


class SearchFilters(Model):
    allowed_domains: Opt[list[str]] = UNSET
    blocked_domains: Opt[list[str]] = UNSET


class UserLocation(Model):
    type: Opt[Literal["approximate"] | str] = UNSET
    city: Opt[str] = UNSET
    country: Opt[str] = UNSET
    region: Opt[str] = UNSET
    timezone: Opt[str] = UNSET


class _WebSearch(Tool):
    filters: Opt[SearchFilters] = UNSET
    search_context_size: Opt[Literal["low", "medium", "high"] | str] = UNSET
    user_location: Opt[UserLocation] = UNSET
    external_web_access: Opt[bool] = UNSET
    search_content_types: Opt[list[Literal["text", "image"] | str]] = UNSET
    return_token_budget: Opt[Any] = UNSET


class WebSearchTool(_WebSearch, tag="web_search"):
    """The vendor's web search."""


class WebSearchTool20250826(_WebSearch, tag="web_search_2025_08_26"):
    """The same, pinned to a version."""


class WebSearchPreviewTool(_WebSearch, tag="web_search_preview"):
    """The older web search."""


class WebSearchPreviewTool20250311(_WebSearch, tag="web_search_preview_2025_03_11"):
    """The older web search, pinned to a version."""


class FileSearchTool(Tool, tag="file_search"):
    vector_store_ids: list[str]
    filters: Opt[dict[str, Any]] = UNSET
    max_num_results: Opt[int] = UNSET
    ranking_options: Opt[dict[str, Any]] = UNSET


class CodeInterpreterTool(Tool, tag="code_interpreter"):
    """`container` is an id, or `{"type": "auto", ...}`."""

    container: Opt[str | dict[str, Any]] = UNSET
    allowed_callers: Opt[list[AllowedCaller]] = UNSET


class ImageGenerationTool(Tool, tag="image_generation"):
    action: Opt[str] = UNSET
    model: Opt[str] = UNSET
    size: Opt[str] = UNSET
    quality: Opt[str] = UNSET
    background: Opt[str] = UNSET
    output_format: Opt[str] = UNSET
    output_compression: Opt[int] = UNSET
    partial_images: Opt[int] = UNSET
    input_fidelity: Opt[str] = UNSET
    input_image_mask: Opt[dict[str, Any]] = UNSET
    moderation: Opt[str] = UNSET
    complexity: Opt[str] = UNSET
    frame_count: Opt[int] = UNSET
    frame_duration_ms: Opt[int] = UNSET
    svg: Opt[dict[str, Any]] = UNSET
    n: Opt[int] = UNSET


class McpToolFilter(Model):
    tool_names: Opt[list[str]] = UNSET
    read_only: Opt[bool] = UNSET


class McpApproval(Model):
    always: Opt[McpToolFilter] = UNSET
    never: Opt[McpToolFilter] = UNSET


class McpTool(Tool, tag="mcp"):
    """A remote MCP server that the vendor calls. `authorization` and `headers` are secrets."""

    server_label: str
    server_url: Opt[str] = UNSET
    connector_id: Opt[str] = UNSET
    tunnel_id: Opt[str] = UNSET
    authorization: Opt[str] = UNSET
    headers: Opt[dict[str, str]] = UNSET
    allowed_tools: Opt[list[str] | McpToolFilter] = UNSET
    require_approval: Opt[str | McpApproval] = UNSET
    server_description: Opt[str] = UNSET
    defer_loading: Opt[bool] = UNSET
    allowed_callers: Opt[list[AllowedCaller]] = UNSET

    def __repr__(self) -> str:
        token = "[redacted]" if given(self.authorization) else self.authorization
        headers = dict.fromkeys(self.headers, "[redacted]") if given(self.headers) else self.headers
        return super(McpTool, replace(self, authorization=token, headers=headers)).__repr__()


class ComputerTool(Tool, tag="computer"):
    """Control of a computer through screenshots."""


class ComputerUsePreviewTool(Tool, tag="computer_use_preview"):
    display_width: int
    display_height: int
    environment: Literal["windows", "mac", "linux", "ubuntu", "browser"] | str


class ShellTool(Tool, tag="shell"):
    environment: Opt[dict[str, Any]] = UNSET
    allowed_callers: Opt[list[AllowedCaller]] = UNSET


class LocalShellTool(Tool, tag="local_shell"):
    """A shell the caller runs."""


class ApplyPatchTool(Tool, tag="apply_patch"):
    allowed_callers: Opt[list[AllowedCaller]] = UNSET


AnyTool = Open[
    FunctionTool
    | CustomTool
    | NamespaceTool
    | ToolSearchTool
    | ProgrammaticToolCalling
    | WebSearchTool
    | WebSearchTool20250826
    | WebSearchPreviewTool
    | WebSearchPreviewTool20250311
    | FileSearchTool
    | CodeInterpreterTool
    | ImageGenerationTool
    | McpTool
    | ComputerTool
    | ComputerUsePreviewTool
    | ShellTool
    | LocalShellTool
    | ApplyPatchTool
]


# --- tool choice ----------------------------------------------------------------------------------------------------


class ChooseFunction(Model, tag_field="type", tag="function"):
    name: str


class ChooseCustom(Model, tag_field="type", tag="custom"):
    name: str


class ChooseMcp(Model, tag_field="type", tag="mcp"):
    server_label: str
    name: Opt[str] = UNSET


class ChooseAllowed(Model, tag_field="type", tag="allowed_tools"):
    """The model may use these of the tools, and must use one where `mode` is `required`."""

    tools: list[dict[str, Any]]
    mode: Opt[Literal["auto", "required", "none"] | str] = UNSET


ToolChoice = Literal["none", "auto", "required"] | str | Open[ChooseFunction | ChooseCustom | ChooseMcp | ChooseAllowed]
"""A word, a named tool, a set of tools, or a hosted tool by its type (which stays an `Unknown` such as `{"type": "shell"}`)."""
