"""The items of a conversation: messages, calls and their outputs, reasoning, and the records of built-in tools.

Follows the input and output items of the OpenAI Responses reference (read 2026-11-20), in its order. One struct serves
both directions, so an output array can be sent back as input. Ids and statuses are the server's bookkeeping; `call_id` is
what ties a call to its output.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import field

from ..unknown import Open, ResponsesModel
from .arguments import parsed
from .parts import ComputerScreenshot, ContentPart, Leftovers, ReasoningText, SummaryText
from .tools import AnyTool

ROLES = {"agent": "assistant", "human": "user"}
"""Roles by the words of conversations, and what the format calls them."""

Status = Literal[
    "in_progress", "completed", "incomplete", "searching", "interpreting", "generating", "calling", "failed"
]


class ItemBase(ResponsesModel):
    """What every item has."""

    id: str | None = None
    status: Status | str | None = None
    created_by: str | None = None
    leftovers: Leftovers | None = None


class Direct(ResponsesModel):
    """The model itself made the call."""

    type: ClassVar[Literal["direct"]] = "direct"


class ByProgram(ResponsesModel):
    """A program of the model made the call."""

    type: ClassVar[Literal["program"]] = "program"
    caller_id: str


Caller = Open[Direct | ByProgram]


# --- messages -------------------------------------------------------------------------------------------------------


class Message(ItemBase):
    """What somebody said. `content` is a string or parts; a string stays a string. `agent` and `human` are roles too."""

    type: ClassVar[Literal["message"]] = "message"
    role: Literal["user", "assistant", "system", "developer"] | str
    content: str | list[ContentPart]
    phase: Literal["commentary", "final_answer"] | str | None = None

    def __post_init__(self) -> None:
        if self.role in ROLES:
            self.role = ROLES[self.role]


# --- functions ------------------------------------------------------------------------------------------------------


class FunctionCall(ItemBase):
    """The model asks for a function; `arguments` is JSON text and may be empty or invalid."""

    type: ClassVar[Literal["function_call"]] = "function_call"
    call_id: str
    name: str
    arguments: str
    namespace: str | None = None
    caller: Caller | None = None
    async_: bool | None = field(name="async", default=None)

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """`arguments` as a dict; empty for no text at all. Raises `ToolArgumentsError` where it is no JSON object."""
        return parsed(self.name, self.arguments)


class FunctionCallOutput(ItemBase):
    """What the function gave: text or parts. `is_error` is ours and never sent to a Responses host as a field."""

    type: ClassVar[Literal["function_call_output"]] = "function_call_output"
    call_id: str | None
    output: str | list[ContentPart]
    name: str | None = None
    namespace: str | None = None
    caller: Caller | None = None
    is_error: bool | None = None


class CustomToolCall(ItemBase):
    """A call whose `input` is free text."""

    type: ClassVar[Literal["custom_tool_call"]] = "custom_tool_call"
    call_id: str
    name: str
    input: str
    namespace: str | None = None
    caller: Caller | None = None
    async_: bool | None = field(name="async", default=None)


class CustomToolCallOutput(ItemBase):
    type: ClassVar[Literal["custom_tool_call_output"]] = "custom_tool_call_output"
    call_id: str
    output: str | list[ContentPart]
    caller: Caller | None = None
    is_error: bool | None = None


# --- reasoning and compaction ---------------------------------------------------------------------------------------


class Reasoning(ItemBase):
    """What the model thought: a summary, the raw text, or opaque state that its vendor wants back."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    summary: list[SummaryText] | None = None
    content: list[ReasoningText] | None = None
    encrypted_content: str | None = None


class Compaction(ItemBase):
    """An opaque stand-in for the conversation before it."""

    type: ClassVar[Literal["compaction"]] = "compaction"
    encrypted_content: str


class CompactionTrigger(ItemBase):
    """Asks the server to compact now; the last item of an input."""

    type: ClassVar[Literal["compaction_trigger"]] = "compaction_trigger"


class ItemReference(ItemBase):
    """An item the server already holds, by its id."""

    type: ClassVar[Literal["item_reference"]] = "item_reference"


# --- built-in tools -------------------------------------------------------------------------------------------------


class UrlSource(ResponsesModel):
    type: ClassVar[Literal["url"]] = "url"
    url: str


class ApiSource(ResponsesModel):
    type: ClassVar[Literal["api"]] = "api"
    name: str


class Search(ResponsesModel):
    type: ClassVar[Literal["search"]] = "search"
    query: str | None = None
    queries: list[str] | None = None
    sources: list[Open[UrlSource | ApiSource]] | None = None


class OpenPage(ResponsesModel):
    type: ClassVar[Literal["open_page"]] = "open_page"
    url: str | None = None


class FindInPage(ResponsesModel):
    type: ClassVar[Literal["find_in_page"]] = "find_in_page"
    pattern: str
    url: str


class WebSearchCall(ItemBase):
    type: ClassVar[Literal["web_search_call"]] = "web_search_call"
    action: Open[Search | OpenPage | FindInPage] | None = None
    name: str | None = None
    arguments: str | None = None
    call_id: str | None = None


class FileSearchResult(ResponsesModel):
    file_id: str | None = None
    filename: str | None = None
    score: float | int | None = None
    text: str | None = None
    attributes: dict[str, Any] | None = None
    vector_store_id: str | None = None


class FileSearchCall(ItemBase):
    type: ClassVar[Literal["file_search_call"]] = "file_search_call"
    queries: list[str]
    results: list[FileSearchResult] | None = None


class CodeLogs(ResponsesModel):
    type: ClassVar[Literal["logs"]] = "logs"
    logs: str


class CodeImage(ResponsesModel):
    type: ClassVar[Literal["image"]] = "image"
    url: str


class CodeInterpreterCall(ItemBase):
    type: ClassVar[Literal["code_interpreter_call"]] = "code_interpreter_call"
    code: str | None = None
    container_id: str | None = None
    outputs: list[Open[CodeLogs | CodeImage]] | None = None


class ImageGenerationCall(ItemBase):
    """`result` is the image as base64."""

    type: ClassVar[Literal["image_generation_call"]] = "image_generation_call"
    result: str | None = None
    action: str | None = None
    background: str | None = None
    output_format: str | None = None
    quality: str | None = None
    revised_prompt: str | None = None
    size: str | None = None
    error: dict[str, Any] | None = None
    svg_usage: dict[str, Any] | None = None


class SafetyCheck(ResponsesModel):
    id: str
    code: str | None = None
    message: str | None = None


class ComputerCall(ItemBase):
    """`action` is the older, `actions` the newer form; each is a click, scroll, keypress and so on."""

    type: ClassVar[Literal["computer_call"]] = "computer_call"
    call_id: str
    action: dict[str, Any] | None = None
    actions: list[dict[str, Any]] | None = None
    pending_safety_checks: list[SafetyCheck] | None = None


class ComputerCallOutput(ItemBase):
    type: ClassVar[Literal["computer_call_output"]] = "computer_call_output"
    call_id: str
    output: ComputerScreenshot
    acknowledged_safety_checks: list[SafetyCheck] | None = None


class LocalShellCall(ItemBase):
    type: ClassVar[Literal["local_shell_call"]] = "local_shell_call"
    call_id: str
    action: dict[str, Any]


class LocalShellCallOutput(ItemBase):
    type: ClassVar[Literal["local_shell_call_output"]] = "local_shell_call_output"
    output: str
    call_id: str | None = None


class ShellCall(ItemBase):
    type: ClassVar[Literal["shell_call"]] = "shell_call"
    call_id: str
    action: dict[str, Any]
    environment: dict[str, Any] | None = None
    caller: Caller | None = None


class Exited(ResponsesModel):
    """The command ended by itself."""

    type: ClassVar[Literal["exit"]] = "exit"
    exit_code: int


class TimedOut(ResponsesModel):
    """The command was stopped because it took too long."""

    type: ClassVar[Literal["timeout"]] = "timeout"


class ShellOutput(ResponsesModel):
    """What one command printed, and how it ended."""

    stdout: str
    stderr: str
    outcome: Open[Exited | TimedOut]
    created_by: str | None = None


class ShellCallOutput(ItemBase):
    type: ClassVar[Literal["shell_call_output"]] = "shell_call_output"
    call_id: str
    output: list[ShellOutput]
    max_output_length: int | None = None
    caller: Caller | None = None


class ApplyPatchCall(ItemBase):
    type: ClassVar[Literal["apply_patch_call"]] = "apply_patch_call"
    call_id: str
    operation: dict[str, Any]
    caller: Caller | None = None


class ApplyPatchCallOutput(ItemBase):
    type: ClassVar[Literal["apply_patch_call_output"]] = "apply_patch_call_output"
    call_id: str
    output: str | None = None
    caller: Caller | None = None


class McpToolInfo(ResponsesModel):
    name: str
    input_schema: Any
    description: str | None = None
    annotations: Any | None = None


class McpListTools(ItemBase):
    type: ClassVar[Literal["mcp_list_tools"]] = "mcp_list_tools"
    server_label: str
    tools: list[McpToolInfo]
    error: Any | None = None


class McpApprovalRequest(ItemBase):
    type: ClassVar[Literal["mcp_approval_request"]] = "mcp_approval_request"
    server_label: str
    name: str
    arguments: str


class McpApprovalResponse(ItemBase):
    type: ClassVar[Literal["mcp_approval_response"]] = "mcp_approval_response"
    approval_request_id: str
    approve: bool
    reason: str | None = None


class McpCall(ItemBase):
    """A call to a remote MCP tool that the vendor made; `error` is an object, a plain string, or null."""

    type: ClassVar[Literal["mcp_call"]] = "mcp_call"
    server_label: str
    name: str
    arguments: str
    output: str | None = None
    error: Any | None = None
    approval_request_id: str | None = None


class ToolSearchCall(ItemBase):
    """`arguments` is an object here, not text."""

    type: ClassVar[Literal["tool_search_call"]] = "tool_search_call"
    arguments: Any
    execution: Literal["server", "client"] | str | None = None
    call_id: str | None = None


class ToolSearchOutput(ItemBase):
    type: ClassVar[Literal["tool_search_output"]] = "tool_search_output"
    tools: list[AnyTool]
    execution: Literal["server", "client"] | str | None = None
    call_id: str | None = None


class AdditionalTools(ItemBase):
    type: ClassVar[Literal["additional_tools"]] = "additional_tools"
    role: str
    tools: list[AnyTool]


class ConfigurationUpdate(ItemBase):
    """Changes reasoning or text settings for the responses that follow."""

    type: ClassVar[Literal["configuration_update"]] = "configuration_update"
    reasoning: dict[str, Any] | None = None
    text: dict[str, Any] | None = None


class Program(ItemBase):
    """JavaScript the model runs to call tools; `fingerprint` goes back unchanged."""

    type: ClassVar[Literal["program"]] = "program"
    call_id: str
    code: str
    fingerprint: str | None = None


class ProgramOutput(ItemBase):
    type: ClassVar[Literal["program_output"]] = "program_output"
    call_id: str
    result: str


AnyItem = Open[
    Message
    | FunctionCall
    | FunctionCallOutput
    | CustomToolCall
    | CustomToolCallOutput
    | Reasoning
    | Compaction
    | CompactionTrigger
    | ItemReference
    | WebSearchCall
    | FileSearchCall
    | CodeInterpreterCall
    | ImageGenerationCall
    | ComputerCall
    | ComputerCallOutput
    | LocalShellCall
    | LocalShellCallOutput
    | ShellCall
    | ShellCallOutput
    | ApplyPatchCall
    | ApplyPatchCallOutput
    | McpListTools
    | McpApprovalRequest
    | McpApprovalResponse
    | McpCall
    | ToolSearchCall
    | ToolSearchOutput
    | AdditionalTools
    | ConfigurationUpdate
    | Program
    | ProgramOutput
]
"""Any entry of a request's input or a response's output."""

Item = AnyItem
"""The same, for annotations: `items: list[Item] = [...]`."""
