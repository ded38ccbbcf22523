"""What the model may call, and how it is told to choose.

Follows the tools and tool choices of the OpenAI Responses reference (read 2026-11-20). Function tools are flat here:
`{"type": "function", "name": ..., "parameters": ...}`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import field
from msgspec.structs import replace

from ..unknown import Open, ResponsesModel, given

Schema = dict[str, Any]
"""A JSON Schema."""

AllowedCaller = Literal["direct", "programmatic"] | str


class Tool(ResponsesModel):
    """What every tool is: tagged by `type`, keeping the fields it does not know."""


class FunctionTool(Tool):
    """A function the caller runs. Without `strict` a Responses host tries strict decoding and falls back."""

    type: ClassVar[Literal["function"]] = "function"
    name: str
    description: str | None = None
    parameters: Schema | None = None
    strict: bool | None = None
    defer_loading: bool | None = None
    allowed_callers: list[AllowedCaller] | None = None
    output_schema: Schema | None = None
    async_: bool | None = field(name="async", default=None)


class TextGrammar(ResponsesModel):
    """Any text."""

    type: ClassVar[Literal["text"]] = "text"


class Grammar(ResponsesModel):
    """Text that follows a grammar."""

    type: ClassVar[Literal["grammar"]] = "grammar"
    definition: str
    syntax: Literal["lark", "regex"] | str


class CustomTool(Tool):
    """A tool whose input is free text, or text of a grammar."""

    type: ClassVar[Literal["custom"]] = "custom"
    name: str
    description: str | None = None
    format: Open[TextGrammar | Grammar] | None = None
    defer_loading: bool | None = None
    allowed_callers: list[AllowedCaller] | None = None
    async_: bool | None = field(name="async", default=None)


class NamespaceTool(Tool):
    """A named group of functions and custom tools."""

    type: ClassVar[Literal["namespace"]] = "namespace"
    name: str
    tools: list[Open[FunctionTool | CustomTool]]
    description: str | None = None


class ToolSearchTool(Tool):
    type: ClassVar[Literal["tool_search"]] = "tool_search"
    execution: Literal["server", "client"] | str | None = None
    description: str | None = None
    parameters: Schema | None = None


class ProgrammaticToolCalling(Tool):
    """Lets the model write programs that call the other tools."""

    type: ClassVar[Literal["programmatic_tool_calling"]] = "programmatic_tool_calling"


class SearchFilters(ResponsesModel):
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


class UserLocation(ResponsesModel):
    type: Literal["approximate"] | str | None = None
    city: str | None = None
    country: str | None = None
    region: str | None = None
    timezone: str | None = None


class _WebSearch(Tool):
    filters: SearchFilters | None = None
    search_context_size: Literal["low", "medium", "high"] | str | None = None
    user_location: UserLocation | None = None
    external_web_access: bool | None = None
    search_content_types: list[Literal["text", "image"] | str] | None = None
    return_token_budget: Any | None = None


class WebSearchTool(_WebSearch):
    """The vendor's web search."""

    type: ClassVar[Literal["web_search"]] = "web_search"


class WebSearchTool20250826(_WebSearch):
    """The same, pinned to a version."""

    type: ClassVar[Literal["web_search_2025_08_26"]] = "web_search_2025_08_26"


class WebSearchPreviewTool(_WebSearch):
    """The older web search."""

    type: ClassVar[Literal["web_search_preview"]] = "web_search_preview"


class WebSearchPreviewTool20250311(_WebSearch):
    """The older web search, pinned to a version."""

    type: ClassVar[Literal["web_search_preview_2025_03_11"]] = "web_search_preview_2025_03_11"


class FileSearchTool(Tool):
    type: ClassVar[Literal["file_search"]] = "file_search"
    vector_store_ids: list[str]
    filters: dict[str, Any] | None = None
    max_num_results: int | None = None
    ranking_options: dict[str, Any] | None = None


class CodeInterpreterTool(Tool):
    """`container` is an id, or `{"type": "auto", ...}`."""

    type: ClassVar[Literal["code_interpreter"]] = "code_interpreter"
    container: str | dict[str, Any] | None = None
    allowed_callers: list[AllowedCaller] | None = None


class ImageGenerationTool(Tool):
    type: ClassVar[Literal["image_generation"]] = "image_generation"
    action: str | None = None
    model: str | None = None
    size: str | None = None
    quality: str | None = None
    background: str | None = None
    output_format: str | None = None
    output_compression: int | None = None
    partial_images: int | None = None
    input_fidelity: str | None = None
    input_image_mask: dict[str, Any] | None = None
    moderation: str | None = None
    complexity: str | None = None
    frame_count: int | None = None
    frame_duration_ms: int | None = None
    svg: dict[str, Any] | None = None
    n: int | None = None


class McpToolFilter(ResponsesModel):
    tool_names: list[str] | None = None
    read_only: bool | None = None


class McpApproval(ResponsesModel):
    always: McpToolFilter | None = None
    never: McpToolFilter | None = None


class McpTool(Tool):
    """A remote MCP server that the vendor calls. `authorization` and `headers` are secrets."""

    type: ClassVar[Literal["mcp"]] = "mcp"
    server_label: str
    server_url: str | None = None
    connector_id: str | None = None
    tunnel_id: str | None = None
    authorization: str | None = None
    headers: dict[str, str] | None = None
    allowed_tools: list[str] | McpToolFilter | None = None
    require_approval: str | McpApproval | None = None
    server_description: str | None = None
    defer_loading: bool | None = None
    allowed_callers: list[AllowedCaller] | None = None

    def __repr__(self) -> str:
        token = "[redacted]" if given(self.authorization) else self.authorization
        headers = dict.fromkeys(self.headers, "[redacted]") if given(self.headers) else self.headers
        return super(McpTool, replace(self, authorization=token, headers=headers)).__repr__()


class ComputerTool(Tool):
    """Control of a computer through screenshots."""

    type: ClassVar[Literal["computer"]] = "computer"


class ComputerUsePreviewTool(Tool):
    type: ClassVar[Literal["computer_use_preview"]] = "computer_use_preview"
    display_width: int
    display_height: int
    environment: Literal["windows", "mac", "linux", "ubuntu", "browser"] | str


class ShellTool(Tool):
    type: ClassVar[Literal["shell"]] = "shell"
    environment: dict[str, Any] | None = None
    allowed_callers: list[AllowedCaller] | None = None


class LocalShellTool(Tool):
    """A shell the caller runs."""

    type: ClassVar[Literal["local_shell"]] = "local_shell"


class ApplyPatchTool(Tool):
    type: ClassVar[Literal["apply_patch"]] = "apply_patch"
    allowed_callers: list[AllowedCaller] | None = None


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


class ChooseFunction(ResponsesModel):
    type: ClassVar[Literal["function"]] = "function"
    name: str


class ChooseCustom(ResponsesModel):
    type: ClassVar[Literal["custom"]] = "custom"
    name: str


class ChooseMcp(ResponsesModel):
    type: ClassVar[Literal["mcp"]] = "mcp"
    server_label: str
    name: str | None = None


class ChooseAllowed(ResponsesModel):
    """The model may use these of the tools, and must use one where `mode` is `required`."""

    type: ClassVar[Literal["allowed_tools"]] = "allowed_tools"
    tools: list[dict[str, Any]]
    mode: Literal["auto", "required", "none"] | str | None = None


ToolChoice = Literal["none", "auto", "required"] | str | Open[ChooseFunction | ChooseCustom | ChooseMcp | ChooseAllowed]
"""A word, a named tool, a set of tools, or a hosted tool by its type (which stays an `Unknown` such as `{"type": "shell"}`)."""
