"""Tools, the choice among them, and which JSON Schemas can be enforced strictly.

Follows the tools and tool choices of the OpenAI Responses reference and its guide "Structured outputs" (read
2026-11-20). Function tools are flat: `{"type": "function", "name": ..., "parameters": ...}`. Strict means that every
object names all its properties and requires them; requests from vendors that enforce any schema are strict if possible.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, cast

from msgspec import field
from msgspec.structs import replace

from ..unknown import Open, ResponsesModel, given

Schema = dict[str, Any]
"""A JSON Schema."""

AllowedCaller = Literal["direct", "programmatic"] | str
"""Who may call a tool: the model itself (`direct`) or programs that it writes (`programmatic`)."""


class Tool(ResponsesModel, kw_only=True):
    """Base of every tool."""


class FunctionTool(Tool, kw_only=True, tag="function"):
    """A function that the caller runs. Without `strict` a Responses host tries strict decoding and falls back."""

    type: ClassVar[Literal["function"]] = "function"
    name: str
    """Name of the function; OpenAI supports up to 64 letters, digits, underscores and dashes."""
    description: str | None = None
    """What the function does, for the model."""
    parameters: Schema | None = None
    """JSON Schema of the arguments, an object."""
    strict: bool | None = None
    """Whether the arguments must follow `parameters` exactly."""
    defer_loading: bool | None = None
    """Whether the model gets the function only through a tool search."""
    allowed_callers: list[AllowedCaller] | None = None
    """Who may call it: `direct` (the model), `programmatic` (programs it writes)."""
    output_schema: Schema | None = None
    """JSON Schema of the output."""
    async_: bool | None = field(name="async", default=None)
    """`async` in JSON. Whether the model continues before it has the output."""


class TextGrammar(ResponsesModel, kw_only=True, tag="text"):
    """Any text."""

    type: ClassVar[Literal["text"]] = "text"


class Grammar(ResponsesModel, kw_only=True, tag="grammar"):
    """Text that follows a grammar."""

    type: ClassVar[Literal["grammar"]] = "grammar"
    definition: str
    """The grammar itself."""
    syntax: Literal["lark", "regex"] | str
    """Notation of the grammar: `lark` or `regex`."""


class CustomTool(Tool, kw_only=True, tag="custom"):
    """A tool whose input is free text, or text that follows a grammar."""

    type: ClassVar[Literal["custom"]] = "custom"
    name: str
    """Name of the tool."""
    description: str | None = None
    """What the tool does, for the model."""
    format: Open[TextGrammar | Grammar] | None = None
    """Any text, or a grammar that the input follows."""
    defer_loading: bool | None = None
    """Whether the model gets the tool only through a tool search."""
    allowed_callers: list[AllowedCaller] | None = None
    """Who may call it: `direct` (the model), `programmatic` (programs it writes)."""
    async_: bool | None = field(name="async", default=None)
    """`async` in JSON. Whether the model continues before it has the output."""


class NamespaceTool(Tool, kw_only=True, tag="namespace"):
    """A named group of functions and custom tools."""

    type: ClassVar[Literal["namespace"]] = "namespace"
    name: str
    """Name of the group; calls of its tools repeat it in `namespace`."""
    tools: list[Open[FunctionTool | CustomTool]]
    """The functions and custom tools of the group."""
    description: str | None = None
    """What the group is for, for the model."""


class ToolSearchTool(Tool, kw_only=True, tag="tool_search"):
    """Lets the model search for the tools with `defer_loading`."""

    type: ClassVar[Literal["tool_search"]] = "tool_search"
    execution: Literal["server", "client"] | str | None = None
    """`server` if the vendor searches, `client` if the caller does."""
    description: str | None = None
    """What the search does, for the model. Only with `client`."""
    parameters: Schema | None = None
    """JSON Schema of the search's arguments. Only with `client`."""


class ProgrammaticToolCalling(Tool, kw_only=True, tag="programmatic_tool_calling"):
    """Lets the model write programs that call the other tools."""

    type: ClassVar[Literal["programmatic_tool_calling"]] = "programmatic_tool_calling"


class SearchFilters(ResponsesModel, kw_only=True):
    """Domains that a web search is limited to, or leaves out."""

    allowed_domains: list[str] | None = None
    """Domains to search, such as `example.org`. None means all."""
    blocked_domains: list[str] | None = None
    """Domains to leave out. Anthropic and Gemini support it; it is not in OpenAI's reference."""


class UserLocation(ResponsesModel, kw_only=True):
    """Where the user is, for search results nearby."""

    type: Literal["approximate"] | str | None = None
    """Kind of location; only `approximate` exists."""
    city: str | None = None
    """City, as free text."""
    country: str | None = None
    """Two-letter country code of ISO 3166-1, such as `NO`."""
    region: str | None = None
    """Region or state, as free text."""
    timezone: str | None = None
    """Time zone by its IANA name, such as `Europe/Oslo`."""


class _WebSearch(Tool, kw_only=True):
    """Options of every web search tool."""

    filters: SearchFilters | None = None
    """Domains that the search is limited to, or leaves out."""
    search_context_size: Literal["low", "medium", "high"] | str | None = None
    """How much context the results may take: `low`, `medium` (the default) or `high`."""
    user_location: UserLocation | None = None
    """Where the user is, for results nearby."""
    external_web_access: bool | None = None
    """Whether pages may be fetched live. If false, only cached pages are used."""
    search_content_types: list[Literal["text", "image"] | str] | None = None
    """Kinds of results: `text`, `image`."""
    return_token_budget: Any | None = None
    """Limit on the tokens that the search returns: `default` or `unlimited`."""


class WebSearchTool(_WebSearch, kw_only=True, tag="web_search"):
    """Web search that the vendor runs."""

    type: ClassVar[Literal["web_search"]] = "web_search"


class WebSearchTool20250826(_WebSearch, kw_only=True, tag="web_search_2025_08_26"):
    """Web search that the vendor runs, pinned to the version of 2025-08-26."""

    type: ClassVar[Literal["web_search_2025_08_26"]] = "web_search_2025_08_26"


class WebSearchPreviewTool(_WebSearch, kw_only=True, tag="web_search_preview"):
    """The older web search that the vendor runs."""

    type: ClassVar[Literal["web_search_preview"]] = "web_search_preview"


class WebSearchPreviewTool20250311(_WebSearch, kw_only=True, tag="web_search_preview_2025_03_11"):
    """The older web search that the vendor runs, pinned to the version of 2025-03-11."""

    type: ClassVar[Literal["web_search_preview_2025_03_11"]] = "web_search_preview_2025_03_11"


class FileSearchTool(Tool, kw_only=True, tag="file_search"):
    """Search in files that are stored with the vendor."""

    type: ClassVar[Literal["file_search"]] = "file_search"
    vector_store_ids: list[str]
    """Ids of the vector stores to search."""
    filters: dict[str, Any] | None = None
    """Condition on file attributes: `type` (`eq`, `gt`, `in`, `and`, `or` ...) with `key` and `value`, or `filters`."""
    max_num_results: int | None = None
    """Most results to return, 1 to 50."""
    ranking_options: dict[str, Any] | None = None
    """Options of the ranking: `ranker`, `score_threshold` (0 to 1), `hybrid_search`."""


class CodeInterpreterTool(Tool, kw_only=True, tag="code_interpreter"):
    """Lets the model run Python code in a container of the vendor."""

    type: ClassVar[Literal["code_interpreter"]] = "code_interpreter"
    container: str | dict[str, Any] | None = None
    """Id of a container, or `{"type": "auto"}` with optional `file_ids`, `memory_limit`, `network_policy`."""
    allowed_callers: list[AllowedCaller] | None = None
    """Who may call it: `direct` (the model), `programmatic` (programs it writes)."""


class ImageGenerationTool(Tool, kw_only=True, tag="image_generation"):
    """Lets the model generate and edit images."""

    type: ClassVar[Literal["image_generation"]] = "image_generation"
    action: str | None = None
    """Whether to `generate` or `edit` an image; `auto` (the default) leaves it to the model."""
    model: str | None = None
    """Name of the image model."""
    size: str | None = None
    """Size of the image: width and height in pixels, such as `1024x1536`, or `auto`."""
    quality: str | None = None
    """Quality of the image: `low`, `medium`, `high`, `xhigh`, `max` or `auto` (the default)."""
    background: str | None = None
    """Background of the image: `transparent`, `opaque` or `auto` (the default)."""
    output_format: str | None = None
    """File format of the image: `png` (the default), `webp`, `jpeg`, `gif` or `svg`."""
    output_compression: int | None = None
    """Compression level of the image, 0 to 100 (the default)."""
    partial_images: int | None = None
    """Number of unfinished images to stream before the final one, 0 (the default) to 3."""
    input_fidelity: str | None = None
    """How closely the image follows the details of input images: `low` or `high`."""
    input_image_mask: dict[str, Any] | None = None
    """The area to edit, as an image: `image_url` (base64) or `file_id`."""
    moderation: str | None = None
    """Strictness of moderation: `auto` (the default) or `low`."""
    complexity: str | None = None
    """How much computation goes into planning the image: `low`, `medium` or `high`."""
    frame_count: int | None = None
    """Number of frames of a GIF."""
    frame_duration_ms: int | None = None
    """Milliseconds that each frame of a GIF is shown."""
    svg: dict[str, Any] | None = None
    """Settings of the model that writes an SVG: `model`, `reasoning` with `effort`."""
    n: int | None = None
    """Number of images. Not in OpenAI's reference."""


class McpToolFilter(ResponsesModel, kw_only=True):
    """Selects tools of a remote MCP server."""

    tool_names: list[str] | None = None
    """Names of the tools."""
    read_only: bool | None = None
    """Whether the tools must be marked as only reading data (`readOnlyHint`)."""


class McpApproval(ResponsesModel, kw_only=True):
    """Which tools of a remote MCP server need approval before a call."""

    always: McpToolFilter | None = None
    """Tools whose calls need approval."""
    never: McpToolFilter | None = None
    """Tools whose calls need none."""


class McpTool(Tool, kw_only=True, tag="mcp"):
    """A remote MCP server that the vendor calls. `authorization` and `headers` are secrets."""

    type: ClassVar[Literal["mcp"]] = "mcp"
    server_label: str
    """Name for the server, repeated in its calls."""
    server_url: str | None = None
    """URL of the server. One of this, `connector_id` and `tunnel_id`."""
    connector_id: str | None = None
    """Id of a connector of the vendor, such as `connector_gmail`."""
    tunnel_id: str | None = None
    """Id of a Secure MCP Tunnel that leads to the server, in place of a URL."""
    authorization: str | None = None
    """OAuth access token for the server, a secret; `repr` shows `[redacted]`."""
    headers: dict[str, str] | None = None
    """HTTP headers for the server, whose values are secrets; `repr` shows `[redacted]`."""
    allowed_tools: list[str] | McpToolFilter | None = None
    """Names of the tools that may be called, or a filter. None means all."""
    require_approval: str | McpApproval | None = None
    """`always` (the default), `never`, or which tools need approval."""
    server_description: str | None = None
    """What the server offers, for the model."""
    defer_loading: bool | None = None
    """Whether the model gets the tools only through a tool search."""
    allowed_callers: list[AllowedCaller] | None = None
    """Who may call them: `direct` (the model), `programmatic` (programs it writes)."""

    def __repr__(self) -> str:
        token = "[redacted]" if given(self.authorization) else self.authorization
        headers = dict.fromkeys(self.headers, "[redacted]") if given(self.headers) else self.headers
        return super(McpTool, replace(self, authorization=token, headers=headers)).__repr__()


class ComputerTool(Tool, kw_only=True, tag="computer"):
    """Control of a computer through screenshots, clicks and keypresses that the caller performs."""

    type: ClassVar[Literal["computer"]] = "computer"


class ComputerUsePreviewTool(Tool, kw_only=True, tag="computer_use_preview"):
    """The older tool to control a computer, which needs the size of the display."""

    type: ClassVar[Literal["computer_use_preview"]] = "computer_use_preview"
    display_width: int
    """Width in pixels."""
    display_height: int
    """Height in pixels."""
    environment: Literal["windows", "mac", "linux", "ubuntu", "browser"] | str
    """Kind of computer: `windows`, `mac`, `linux`, `ubuntu` or `browser`."""


class ShellTool(Tool, kw_only=True, tag="shell"):
    """Lets the model run commands in a shell."""

    type: ClassVar[Literal["shell"]] = "shell"
    environment: dict[str, Any] | None = None
    """Where the commands run, by `type`: `container_auto`, `container_reference` or `local` (the caller)."""
    allowed_callers: list[AllowedCaller] | None = None
    """Who may call it: `direct` (the model), `programmatic` (programs it writes)."""


class LocalShellTool(Tool, kw_only=True, tag="local_shell"):
    """The older shell tool, whose commands the caller runs."""

    type: ClassVar[Literal["local_shell"]] = "local_shell"


class ApplyPatchTool(Tool, kw_only=True, tag="apply_patch"):
    """Lets the model create, change and delete files by patches that the caller applies."""

    type: ClassVar[Literal["apply_patch"]] = "apply_patch"
    allowed_callers: list[AllowedCaller] | None = None
    """Who may call it: `direct` (the model), `programmatic` (programs it writes)."""


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
"""Any tool of a request."""


# --- tool choice ----------------------------------------------------------------------------------------------------


class ChooseFunction(ResponsesModel, kw_only=True, tag="function"):
    """The model must call this function."""

    type: ClassVar[Literal["function"]] = "function"
    name: str
    """Name of the function."""


class ChooseCustom(ResponsesModel, kw_only=True, tag="custom"):
    """The model must call this custom tool."""

    type: ClassVar[Literal["custom"]] = "custom"
    name: str
    """Name of the tool."""


class ChooseMcp(ResponsesModel, kw_only=True, tag="mcp"):
    """The model must call a tool of this remote MCP server."""

    type: ClassVar[Literal["mcp"]] = "mcp"
    server_label: str
    """`server_label` of the `McpTool`."""
    name: str | None = None
    """Name of the tool. None leaves the choice among the server's tools to the model."""


class ChooseAllowed(ResponsesModel, kw_only=True, tag="allowed_tools"):
    """The model may call only some of the tools."""

    type: ClassVar[Literal["allowed_tools"]] = "allowed_tools"
    tools: list[dict[str, Any]]
    """The tools as dicts of `type` and name: `{"type": "function", "name": "weather"}`."""
    mode: Literal["auto", "required", "none"] | str | None = None
    """`auto`: the model may call one; `required`: it must; `none` (Open Responses only): it may not."""


ToolChoice = Literal["none", "auto", "required"] | str | Open[ChooseFunction | ChooseCustom | ChooseMcp | ChooseAllowed]
"""A string, a named tool, a set of tools, or a hosted tool by its type (an `Unknown` such as `{"type": "shell"}`)."""

_DOUBTFUL = frozenset({"allOf", "not", "if", "then", "else", "oneOf", "patternProperties", "dependentRequired"})
_VALUES = frozenset({"default", "enum", "const", "examples"})


def strict_if_possible(schema: Schema) -> bool | None:
    """The value of `strict` for a schema that its own vendor enforces."""
    return True if schema.get("type") == "object" and is_closed(schema) and not doubtful(schema) else None


def is_closed(schema: Any) -> bool:
    """Whether every object of the schema is closed."""
    return all(map(_closed, _nodes(schema)))


def doubtful(schema: Any) -> list[str]:
    """The keywords in the schema for which support of strict decoding is uncertain."""
    return sorted({name for node in _nodes(schema) for name in _DOUBTFUL & node.keys()})


def _nodes(schema: Any) -> list[Schema]:
    """Every object of the schema, itself included, without the values in its `enum` and similar lists."""
    found: list[Schema] = []
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found.append(cast("Schema", node))
            waiting += [value for name, value in cast("Schema", node).items() if name not in _VALUES]
        elif isinstance(node, list):
            waiting += cast("Any", node)
    return found


def _closed(node: Schema) -> bool:
    properties = node.get("properties")
    if node.get("type") != "object" and not isinstance(properties, dict):
        return True
    required: Any = node.get("required")
    names = cast("Schema", properties).keys() if isinstance(properties, dict) else ()
    return node.get("additionalProperties") is False and (
        all(name in required for name in names) if isinstance(required, list) else not names
    )
