"""The items of a conversation: messages, calls and their outputs, reasoning, and the records of built-in tools.

Follows the input and output items of the OpenAI Responses reference (read 2026-11-20), in its order. One struct serves
both directions, so an output array can be sent back as input. Ids and statuses are the server's bookkeeping; `call_id` is
what ties a call to its output.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from ..unknown import Model, Open, Opt
from .arguments import parsed
from .parts import ComputerScreenshot, ContentPart, Leftovers, ReasoningText, SummaryText
from .tools import AnyTool

ROLES = {"agent": "assistant", "human": "user"}
"""Roles by the words of conversations, and what the format calls them."""

Status = Literal[
    "in_progress", "completed", "incomplete", "searching", "interpreting", "generating", "calling", "failed"
]


class Item(Model, tag_field="type"):
    """What every item has."""

    id: Opt[str] = UNSET
    status: Opt[Status | str] = UNSET
    created_by: Opt[str] = UNSET
    leftovers: Leftovers | UnsetType = UNSET


class Direct(Model, tag_field="type", tag="direct"):
    """The model itself made the call."""


class ByProgram(Model, tag_field="type", tag="program"):
    """A program of the model made the call."""

    caller_id: str


Caller = Open[Direct | ByProgram]


# --- messages -------------------------------------------------------------------------------------------------------


class Message(Item, tag="message"):
    """What somebody said. `content` is a string or parts; a string stays a string. `agent` and `human` are roles too."""

    role: Literal["user", "assistant", "system", "developer"] | str
    content: str | list[ContentPart]
    phase: Opt[Literal["commentary", "final_answer"] | str] = UNSET

    def __post_init__(self) -> None:
        if self.role in ROLES:
            self.role = ROLES[self.role]


# --- functions ------------------------------------------------------------------------------------------------------


class FunctionCall(Item, tag="function_call"):
    """The model asks for a function; `arguments` is JSON text and may be empty or invalid."""

    call_id: str
    name: str
    arguments: str
    namespace: Opt[str] = UNSET
    caller: Opt[Caller] = UNSET
    async_: Opt[bool] = field(name="async", default=UNSET)

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """`arguments` as a dict; empty for no text at all. Raises `ToolArgumentsError` where it is no JSON object."""
        return parsed(self.name, self.arguments)


class FunctionCallOutput(Item, tag="function_call_output"):
    """What the function gave: text or parts. `is_error` is ours and never sent to a Responses host as a field."""

    call_id: str | None
    output: str | list[ContentPart]
    name: Opt[str] = UNSET
    namespace: Opt[str] = UNSET
    caller: Opt[Caller] = UNSET
    is_error: bool | UnsetType = UNSET


class CustomToolCall(Item, tag="custom_tool_call"):
    """A call whose `input` is free text."""

    call_id: str
    name: str
    input: str
    namespace: Opt[str] = UNSET
    caller: Opt[Caller] = UNSET
    async_: Opt[bool] = field(name="async", default=UNSET)


class CustomToolCallOutput(Item, tag="custom_tool_call_output"):
    call_id: str
    output: str | list[ContentPart]
    caller: Opt[Caller] = UNSET
    is_error: bool | UnsetType = UNSET


# --- reasoning and compaction ---------------------------------------------------------------------------------------


class Reasoning(Item, tag="reasoning"):
    """What the model thought: a summary, the raw text, or opaque state that its vendor wants back."""

    summary: Opt[list[SummaryText]] = UNSET
    content: Opt[list[ReasoningText]] = UNSET
    encrypted_content: Opt[str] = UNSET


class Compaction(Item, tag="compaction"):
    """An opaque stand-in for the conversation before it."""

    encrypted_content: str


class CompactionTrigger(Item, tag="compaction_trigger"):
    """Asks the server to compact now; the last item of an input."""


class ItemReference(Item, tag="item_reference"):
    """An item the server already holds, by its id."""


# --- built-in tools -------------------------------------------------------------------------------------------------


class UrlSource(Model, tag_field="type", tag="url"):
    url: str


class ApiSource(Model, tag_field="type", tag="api"):
    name: str


class Search(Model, tag_field="type", tag="search"):
    query: Opt[str] = UNSET
    queries: Opt[list[str]] = UNSET
    sources: Opt[list[Open[UrlSource | ApiSource]]] = UNSET


class OpenPage(Model, tag_field="type", tag="open_page"):
    url: Opt[str] = UNSET


class FindInPage(Model, tag_field="type", tag="find_in_page"):
    pattern: str
    url: str


class WebSearchCall(Item, tag="web_search_call"):
    action: Opt[Open[Search | OpenPage | FindInPage]] = UNSET
    name: Opt[str] = UNSET
    arguments: Opt[str] = UNSET
    call_id: Opt[str] = UNSET


class FileSearchResult(Model):
    file_id: Opt[str] = UNSET
    filename: Opt[str] = UNSET
    score: Opt[float | int] = UNSET
    text: Opt[str] = UNSET
    attributes: Opt[dict[str, Any]] = UNSET
    vector_store_id: Opt[str] = UNSET


class FileSearchCall(Item, tag="file_search_call"):
    queries: list[str]
    results: Opt[list[FileSearchResult]] = UNSET


class CodeLogs(Model, tag_field="type", tag="logs"):
    logs: str


class CodeImage(Model, tag_field="type", tag="image"):
    url: str


class CodeInterpreterCall(Item, tag="code_interpreter_call"):
    code: Opt[str] = UNSET
    container_id: Opt[str] = UNSET
    outputs: Opt[list[Open[CodeLogs | CodeImage]]] = UNSET


class ImageGenerationCall(Item, tag="image_generation_call"):
    """`result` is the image as base64."""

    result: Opt[str] = UNSET
    action: Opt[str] = UNSET
    background: Opt[str] = UNSET
    output_format: Opt[str] = UNSET
    quality: Opt[str] = UNSET
    revised_prompt: Opt[str] = UNSET
    size: Opt[str] = UNSET
    error: Opt[dict[str, Any]] = UNSET
    svg_usage: Opt[dict[str, Any]] = UNSET


class SafetyCheck(Model):
    id: str
    code: Opt[str] = UNSET
    message: Opt[str] = UNSET


class ComputerCall(Item, tag="computer_call"):
    """`action` is the older, `actions` the newer form; each is a click, scroll, keypress and so on."""

    call_id: str
    action: Opt[dict[str, Any]] = UNSET
    actions: Opt[list[dict[str, Any]]] = UNSET
    pending_safety_checks: Opt[list[SafetyCheck]] = UNSET


class ComputerCallOutput(Item, tag="computer_call_output"):
    call_id: str
    output: ComputerScreenshot
    acknowledged_safety_checks: Opt[list[SafetyCheck]] = UNSET


class LocalShellCall(Item, tag="local_shell_call"):
    call_id: str
    action: dict[str, Any]


class LocalShellCallOutput(Item, tag="local_shell_call_output"):
    output: str
    call_id: Opt[str] = UNSET


class ShellCall(Item, tag="shell_call"):
    call_id: str
    action: dict[str, Any]
    environment: Opt[dict[str, Any]] = UNSET
    caller: Opt[Caller] = UNSET


class Exited(Model, tag_field="type", tag="exit"):
    """The command ended by itself."""

    exit_code: int


class TimedOut(Model, tag_field="type", tag="timeout"):
    """The command was stopped because it took too long."""


class ShellOutput(Model):
    """What one command printed, and how it ended."""

    stdout: str
    stderr: str
    outcome: Open[Exited | TimedOut]
    created_by: Opt[str] = UNSET


class ShellCallOutput(Item, tag="shell_call_output"):
    call_id: str
    output: list[ShellOutput]
    max_output_length: Opt[int] = UNSET
    caller: Opt[Caller] = UNSET


class ApplyPatchCall(Item, tag="apply_patch_call"):
    call_id: str
    operation: dict[str, Any]
    caller: Opt[Caller] = UNSET


class ApplyPatchCallOutput(Item, tag="apply_patch_call_output"):
    call_id: str
    output: Opt[str] = UNSET
    caller: Opt[Caller] = UNSET


class McpToolInfo(Model):
    name: str
    input_schema: Any
    description: Opt[str] = UNSET
    annotations: Opt[Any] = UNSET


class McpListTools(Item, tag="mcp_list_tools"):
    server_label: str
    tools: list[McpToolInfo]
    error: Opt[Any] = UNSET


class McpApprovalRequest(Item, tag="mcp_approval_request"):
    server_label: str
    name: str
    arguments: str


class McpApprovalResponse(Item, tag="mcp_approval_response"):
    approval_request_id: str
    approve: bool
    reason: Opt[str] = UNSET


class McpCall(Item, tag="mcp_call"):
    """A call to a remote MCP tool that the vendor made; `error` is an object, a plain string, or null."""

    server_label: str
    name: str
    arguments: str
    output: Opt[str] = UNSET
    error: Opt[Any] = UNSET
    approval_request_id: Opt[str] = UNSET


class ToolSearchCall(Item, tag="tool_search_call"):
    """`arguments` is an object here, not text."""

    arguments: Any
    execution: Opt[Literal["server", "client"] | str] = UNSET
    call_id: Opt[str] = UNSET


class ToolSearchOutput(Item, tag="tool_search_output"):
    tools: list[AnyTool]
    execution: Opt[Literal["server", "client"] | str] = UNSET
    call_id: Opt[str] = UNSET


class AdditionalTools(Item, tag="additional_tools"):
    role: str
    tools: list[AnyTool]


class ConfigurationUpdate(Item, tag="configuration_update"):
    """Changes reasoning or text settings for the responses that follow."""

    reasoning: Opt[dict[str, Any]] = UNSET
    text: Opt[dict[str, Any]] = UNSET


class Program(Item, tag="program"):
    """JavaScript the model runs to call tools; `fingerprint` goes back unchanged."""

    call_id: str
    code: str
    fingerprint: Opt[str] = UNSET


class ProgramOutput(Item, tag="program_output"):
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
