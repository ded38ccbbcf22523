"""The items of a conversation: messages, calls and their outputs, reasoning, and the records of built-in tools.

Follows the input and output items of the OpenAI Responses reference (read 2026-11-20), in its order. One struct serves
both directions, so an output array can be sent back as input. Ids and statuses are the server's bookkeeping; `call_id`
links an output to its call.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import field

from ..unknown import Open, ResponsesModel
from .parts import (
    ComputerScreenshot,
    ContentPart,
    InputText,
    Leftovers,
    OutputText,
    PlainText,
    ReasoningText,
    SummaryText,
    parsed,
)
from .tools import AnyTool

ROLES = {"agent": "assistant", "human": "user"}
"""Roles that are accepted as aliases, and the role of the format that each becomes."""

Status = Literal[
    "in_progress", "completed", "incomplete", "searching", "interpreting", "generating", "calling", "failed"
]
"""Status of an item. Only items of hosted tools are `searching`, `interpreting`, `generating` or `calling`."""


class ItemBase(ResponsesModel, kw_only=True):
    """Base of every item of a request's input and a response's output."""

    id: str | None = None
    """Id that the vendor gave the item, such as `msg_...`. `call_id`, not this, links an output to its call."""
    status: Status | str | None = None
    """Progress of the item: `in_progress`, `completed`, `incomplete`, `failed` or a step of a hosted tool."""
    created_by: str | None = None
    """Who created the item, by id. Only in responses; left out of requests."""
    leftovers: Leftovers | None = None
    """Data of other wires about the item. Never sent in the Responses format."""


class Direct(ResponsesModel, kw_only=True, tag="direct"):
    """The model made the call directly."""

    type: ClassVar[Literal["direct"]] = "direct"


class ByProgram(ResponsesModel, kw_only=True, tag="program"):
    """A program that the model wrote made the call."""

    type: ClassVar[Literal["program"]] = "program"
    caller_id: str
    """`call_id` of the `Program` item."""


Caller = Open[Direct | ByProgram]
"""What made a call: the model itself, or a program it wrote."""


# --- messages -------------------------------------------------------------------------------------------------------


class Message(ItemBase, kw_only=True, tag="message"):
    """A message of the user, the assistant, the system or the developer.

    The roles `agent` and `human` are accepted and become `assistant` and `user`.
    """

    type: ClassVar[Literal["message"]] = "message"
    role: Literal["user", "assistant", "system", "developer"] | str
    """Author of the message: `user`, `assistant`, `system` or `developer`."""
    content: str | list[ContentPart]
    """The text as a string, or content parts. A string stays a string."""
    phase: Literal["commentary", "final_answer"] | str | None = None
    """Of assistant messages only: `commentary` or `final_answer`. Send it back unchanged."""

    def __post_init__(self) -> None:
        if self.role in ROLES:
            self.role = ROLES[self.role]

    @property
    def text(self) -> str:
        """The text of the message: `content` where that is a string, else the texts among its parts, joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, InputText | OutputText | PlainText))


# --- functions ------------------------------------------------------------------------------------------------------


class FunctionCall(ItemBase, kw_only=True, tag="function_call"):
    """A function call written by the model."""

    type: ClassVar[Literal["function_call"]] = "function_call"
    call_id: str
    """Id that the output of this call repeats."""
    name: str
    """Name of the function."""
    arguments: str
    """The arguments as JSON text; may be empty or invalid. `parsed_arguments` gives a dict."""
    namespace: str | None = None
    """Name of the namespace that the function belongs to."""
    caller: Caller | None = None
    """What made the call: the model itself or a program it wrote."""
    async_: bool | None = field(name="async", default=None)
    """`async` in JSON. Whether the model continues before it has the output."""

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """`arguments` as a dict; empty for empty text. Raises `ToolArgumentsError` where it is not a JSON object."""
        return parsed(self.name, self.arguments)


class FunctionCallOutput(ItemBase, kw_only=True, tag="function_call_output"):
    """The output of a function call."""

    type: ClassVar[Literal["function_call_output"]] = "function_call_output"
    call_id: str | None
    """`call_id` of the call. None if the sender left it out."""
    output: str | list[ContentPart]
    """The result as text, often JSON, or as content parts."""
    name: str | None = None
    """Name of the function."""
    namespace: str | None = None
    """Name of the namespace that the function belongs to."""
    caller: Caller | None = None
    """What made the call: the model itself or a program it wrote."""
    is_error: bool | None = None
    """Whether the tool failed. Not a field of the format: a Responses host gets `Error: ` before the text."""


class CustomToolCall(ItemBase, kw_only=True, tag="custom_tool_call"):
    """A call of a custom tool, whose input is free text."""

    type: ClassVar[Literal["custom_tool_call"]] = "custom_tool_call"
    call_id: str
    """Id that the output of this call repeats."""
    name: str
    """Name of the tool."""
    input: str
    """The input as text, following the tool's grammar if it has one. Not JSON."""
    namespace: str | None = None
    """Name of the namespace that the tool belongs to."""
    caller: Caller | None = None
    """What made the call: the model itself or a program it wrote."""
    async_: bool | None = field(name="async", default=None)
    """`async` in JSON. Whether the model continues before it has the output."""


class CustomToolCallOutput(ItemBase, kw_only=True, tag="custom_tool_call_output"):
    """The output of a custom tool call."""

    type: ClassVar[Literal["custom_tool_call_output"]] = "custom_tool_call_output"
    call_id: str
    """`call_id` of the call."""
    output: str | list[ContentPart]
    """The result as text or as content parts."""
    caller: Caller | None = None
    """What made the call: the model itself or a program it wrote."""
    is_error: bool | None = None
    """Whether the tool failed. Not a field of the format: a Responses host gets `Error: ` before the text."""


# --- reasoning and compaction ---------------------------------------------------------------------------------------


class Reasoning(ItemBase, kw_only=True, tag="reasoning"):
    """The model's reasoning: a summary, the raw text, or opaque state to send back to the same vendor."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    summary: list[SummaryText] | None = None
    """The summary in parts; empty if none was requested or made."""
    content: list[ReasoningText] | None = None
    """The raw reasoning text in parts, from models that reveal it."""
    encrypted_content: str | None = None
    """Opaque state that only its issuer can read. Send it back unchanged."""


class Compaction(ItemBase, kw_only=True, tag="compaction"):
    """Opaque state that replaces the conversation before it."""

    type: ClassVar[Literal["compaction"]] = "compaction"
    encrypted_content: str
    """Opaque state that only its issuer can read. Send it back unchanged."""


class CompactionTrigger(ItemBase, kw_only=True, tag="compaction_trigger"):
    """A request to compact the conversation now. Must be the last item of the input."""

    type: ClassVar[Literal["compaction_trigger"]] = "compaction_trigger"


class ItemReference(ItemBase, kw_only=True, tag="item_reference"):
    """Refers by `id` to an item that the vendor has stored."""

    type: ClassVar[Literal["item_reference"]] = "item_reference"


# --- built-in tools -------------------------------------------------------------------------------------------------


class UrlSource(ResponsesModel, kw_only=True, tag="url"):
    """A web page that a search used."""

    type: ClassVar[Literal["url"]] = "url"
    url: str
    """URL of the page."""
    title: str | None = None
    """Title of the page, from vendors other than OpenAI. Not sent to hosts."""


class ApiSource(ResponsesModel, kw_only=True, tag="api"):
    """A data API that a search used."""

    type: ClassVar[Literal["api"]] = "api"
    name: str
    """Name of the API."""


class Search(ResponsesModel, kw_only=True, tag="search"):
    """A web search action: one or more search queries."""

    type: ClassVar[Literal["search"]] = "search"
    query: str | None = None
    """The search query."""
    queries: list[str] | None = None
    """The search queries, from vendors that run several in one action."""
    sources: list[Open[UrlSource | ApiSource]] | None = None
    """The pages and APIs used, given if `include` has `web_search_call.action.sources`."""


class OpenPage(ResponsesModel, kw_only=True, tag="open_page"):
    """A web search action: opening a page."""

    type: ClassVar[Literal["open_page"]] = "open_page"
    url: str | None = None
    """URL of the page."""


class FindInPage(ResponsesModel, kw_only=True, tag="find_in_page"):
    """A web search action: finding text in a page."""

    type: ClassVar[Literal["find_in_page"]] = "find_in_page"
    pattern: str
    """The text to find."""
    url: str
    """URL of the page."""


class WebSearchCall(ItemBase, kw_only=True, tag="web_search_call"):
    """A web search that the vendor ran."""

    type: ClassVar[Literal["web_search_call"]] = "web_search_call"
    action: Open[Search | OpenPage | FindInPage] | None = None
    """The action: a search, opening a page or finding text. Some hosts leave it out."""
    rendered_content: str | None = None
    """HTML with search suggestions, from Google, which requires apps to display it with the answer. Not sent to hosts."""
    name: str | None = None
    """Name of the search tool, from hosts without `action`."""
    arguments: str | None = None
    """Arguments of the search as JSON text, from hosts without `action`."""
    call_id: str | None = None
    """Id of the call, from hosts without `action`; may be empty."""


class FileSearchResult(ResponsesModel, kw_only=True):
    """A passage found by a file search."""

    file_id: str | None = None
    """Id of the file."""
    filename: str | None = None
    """Name of the file."""
    score: float | int | None = None
    """Relevance, from 0 to 1."""
    text: str | None = None
    """The passage."""
    attributes: dict[str, Any] | None = None
    """Metadata stored with the file, by key."""
    vector_store_id: str | None = None
    """Id of the vector store that has the file."""


class FileSearchCall(ItemBase, kw_only=True, tag="file_search_call"):
    """A file search that the vendor ran."""

    type: ClassVar[Literal["file_search_call"]] = "file_search_call"
    queries: list[str]
    """The search queries."""
    results: list[FileSearchResult] | None = None
    """The passages found, given if `include` has `file_search_call.results`."""


class CodeLogs(ResponsesModel, kw_only=True, tag="logs"):
    """Text printed by code in the code interpreter."""

    type: ClassVar[Literal["logs"]] = "logs"
    logs: str
    """The text."""


class CodeImage(ResponsesModel, kw_only=True, tag="image"):
    """An image made by code in the code interpreter."""

    type: ClassVar[Literal["image"]] = "image"
    url: str
    """URL of the image."""


class CodeInterpreterCall(ItemBase, kw_only=True, tag="code_interpreter_call"):
    """Code that the vendor ran."""

    type: ClassVar[Literal["code_interpreter_call"]] = "code_interpreter_call"
    code: str | None = None
    """The source code. None until it is written."""
    container_id: str | None = None
    """Id of the container that ran it."""
    outputs: list[Open[CodeLogs | CodeImage]] | None = None
    """Logs and images, given if `include` has `code_interpreter_call.outputs`."""


class ImageGenerationCall(ItemBase, kw_only=True, tag="image_generation_call"):
    """An image that the vendor generated."""

    type: ClassVar[Literal["image_generation_call"]] = "image_generation_call"
    result: str | None = None
    """The image as base64. None until it is generated, or if that failed."""
    action: str | None = None
    """Whether the call was to `generate` or to `edit` an image."""
    background: str | None = None
    """Background of the image: `transparent`, `opaque` or `auto`."""
    output_format: str | None = None
    """File format of the image: `png`, `webp`, `jpeg`, `gif` or `svg`."""
    quality: str | None = None
    """Quality of the image: `low`, `medium`, `high`, `xhigh`, `max` or `auto`."""
    revised_prompt: str | None = None
    """The prompt that generated the image, as the model rewrote it."""
    size: str | None = None
    """Size of the image: width and height in pixels, such as `1024x1536`, or `auto`."""
    error: dict[str, Any] | None = None
    """Error of a failed generation: `type`, `message`, and optionally `code`, `param`, `moderation_details`."""
    svg_usage: dict[str, Any] | None = None
    """Token counts of the model that wrote an SVG, and its name (`model`)."""


class SafetyCheck(ResponsesModel, kw_only=True):
    """A safety check that a computer call must pass before it runs."""

    id: str
    """Id of the check."""
    code: str | None = None
    """The vendor's code for the kind of check."""
    message: str | None = None
    """What the check is about, for the user."""


class ComputerCall(ItemBase, kw_only=True, tag="computer_call"):
    """Actions for the caller to perform on a computer, such as clicks, scrolling and keypresses."""

    type: ClassVar[Literal["computer_call"]] = "computer_call"
    call_id: str
    """Id that the output of this call repeats."""
    action: dict[str, Any] | None = None
    """The older form: one action with its `type` (`click`, `drag`, `keypress`, `screenshot` ...)."""
    actions: list[dict[str, Any]] | None = None
    """The newer form: several such actions, in order."""
    pending_safety_checks: list[SafetyCheck] | None = None
    """Checks that the output must acknowledge."""


class ComputerCallOutput(ItemBase, kw_only=True, tag="computer_call_output"):
    """The screen after a computer call."""

    type: ClassVar[Literal["computer_call_output"]] = "computer_call_output"
    call_id: str
    """`call_id` of the call."""
    output: ComputerScreenshot
    """The screenshot."""
    acknowledged_safety_checks: list[SafetyCheck] | None = None
    """The checks of the call that the caller acknowledges."""


class LocalShellCall(ItemBase, kw_only=True, tag="local_shell_call"):
    """A command for the caller to run, written by the tool `local_shell`."""

    type: ClassVar[Literal["local_shell_call"]] = "local_shell_call"
    call_id: str
    """Id that the output of this call repeats."""
    action: dict[str, Any]
    """`type` (`exec`), `command` (a list) and `env`; optionally `timeout_ms`, `user`, `working_directory`."""


class LocalShellCallOutput(ItemBase, kw_only=True, tag="local_shell_call_output"):
    """The output of a local shell call."""

    type: ClassVar[Literal["local_shell_call_output"]] = "local_shell_call_output"
    output: str
    """The result as JSON text."""
    call_id: str | None = None
    """`call_id` of the call. None from senders that name the call in `id`."""


class ShellCall(ItemBase, kw_only=True, tag="shell_call"):
    """Commands to run, written by the tool `shell`."""

    type: ClassVar[Literal["shell_call"]] = "shell_call"
    call_id: str
    """Id that the output of this call repeats."""
    action: dict[str, Any]
    """`commands` (a list); optionally `timeout_ms` and `max_output_length` (characters)."""
    environment: dict[str, Any] | None = None
    """Where the commands run, by `type`: `local`, or `container_reference` with a `container_id`."""
    caller: Caller | None = None
    """What made the call: the model itself or a program it wrote."""


class Exited(ResponsesModel, kw_only=True, tag="exit"):
    """The command ended by itself."""

    type: ClassVar[Literal["exit"]] = "exit"
    exit_code: int
    """Exit code of the command; 0 is success."""


class TimedOut(ResponsesModel, kw_only=True, tag="timeout"):
    """The command was stopped because it took too long."""

    type: ClassVar[Literal["timeout"]] = "timeout"


class ShellOutput(ResponsesModel, kw_only=True):
    """The output of one command, and how it ended."""

    stdout: str
    """Text on standard output."""
    stderr: str
    """Text on standard error."""
    outcome: Open[Exited | TimedOut]
    """Exit or timeout."""
    created_by: str | None = None
    """Who created the output, by id. Only in responses."""


class ShellCallOutput(ItemBase, kw_only=True, tag="shell_call_output"):
    """The outputs of a shell call."""

    type: ClassVar[Literal["shell_call_output"]] = "shell_call_output"
    call_id: str
    """`call_id` of the call."""
    output: list[ShellOutput]
    """One output per command, in the order of the commands."""
    max_output_length: int | None = None
    """The limit in characters that the call set. Repeat it."""
    caller: Caller | None = None
    """What made the call: the model itself or a program it wrote."""


class ApplyPatchCall(ItemBase, kw_only=True, tag="apply_patch_call"):
    """A change of one file, for the caller to apply."""

    type: ClassVar[Literal["apply_patch_call"]] = "apply_patch_call"
    call_id: str
    """Id that the output of this call repeats."""
    operation: dict[str, Any]
    """`type` (`create_file`, `update_file` or `delete_file`) and `path`; `diff` unless deleting."""
    caller: Caller | None = None
    """What made the call: the model itself or a program it wrote."""


class ApplyPatchCallOutput(ItemBase, kw_only=True, tag="apply_patch_call_output"):
    """The result of a patch: the `status` is `completed` or `failed`."""

    type: ClassVar[Literal["apply_patch_call_output"]] = "apply_patch_call_output"
    call_id: str
    """`call_id` of the call."""
    output: str | None = None
    """Text for the model, such as an error message."""
    caller: Caller | None = None
    """What made the call: the model itself or a program it wrote."""


class McpToolInfo(ResponsesModel, kw_only=True):
    """A tool of a remote MCP server."""

    name: str
    """Name of the tool."""
    input_schema: Any
    """JSON Schema of the arguments."""
    description: str | None = None
    """Description of the tool."""
    annotations: Any | None = None
    """The tool's annotations, as the MCP server sent them."""


class McpListTools(ItemBase, kw_only=True, tag="mcp_list_tools"):
    """The tools that a remote MCP server offers."""

    type: ClassVar[Literal["mcp_list_tools"]] = "mcp_list_tools"
    server_label: str
    """`server_label` of the `McpTool`."""
    tools: list[McpToolInfo]
    """The tools."""
    error: Any | None = None
    """Error message if the tools could not be listed; None if they could."""


class McpApprovalRequest(ItemBase, kw_only=True, tag="mcp_approval_request"):
    """A call of a remote MCP tool that waits for approval."""

    type: ClassVar[Literal["mcp_approval_request"]] = "mcp_approval_request"
    server_label: str
    """`server_label` of the `McpTool`."""
    name: str
    """Name of the tool."""
    arguments: str
    """The arguments as JSON text."""


class McpApprovalResponse(ItemBase, kw_only=True, tag="mcp_approval_response"):
    """The decision on an `McpApprovalRequest`."""

    type: ClassVar[Literal["mcp_approval_response"]] = "mcp_approval_response"
    approval_request_id: str
    """`id` of the request."""
    approve: bool
    """Whether the call may run."""
    reason: str | None = None
    """Reason for the decision."""


class McpCall(ItemBase, kw_only=True, tag="mcp_call"):
    """A call of a remote MCP tool that the vendor made."""

    type: ClassVar[Literal["mcp_call"]] = "mcp_call"
    server_label: str
    """`server_label` of the `McpTool`."""
    name: str
    """Name of the tool."""
    arguments: str
    """The arguments as JSON text."""
    output: str | None = None
    """The result as text."""
    error: Any | None = None
    """An object with `type`, or a string from older servers. None if the call succeeded."""
    approval_request_id: str | None = None
    """`id` of the `McpApprovalRequest` that preceded the call."""


class ToolSearchCall(ItemBase, kw_only=True, tag="tool_search_call"):
    """A search for tools that are loaded on demand."""

    type: ClassVar[Literal["tool_search_call"]] = "tool_search_call"
    arguments: Any
    """The arguments as an object, not as JSON text."""
    execution: Literal["server", "client"] | str | None = None
    """`server` if the vendor searches, `client` if the caller does."""
    call_id: str | None = None
    """Id that the output of this call repeats. May be None if the vendor searches."""


class ToolSearchOutput(ItemBase, kw_only=True, tag="tool_search_output"):
    """The tools that a tool search found."""

    type: ClassVar[Literal["tool_search_output"]] = "tool_search_output"
    tools: list[AnyTool]
    """Full definitions of the tools."""
    execution: Literal["server", "client"] | str | None = None
    """`server` if the vendor searched, `client` if the caller did."""
    call_id: str | None = None
    """`call_id` of the search. May be None if the vendor searched."""


class AdditionalTools(ItemBase, kw_only=True, tag="additional_tools"):
    """Tools offered to the model from this item on."""

    type: ClassVar[Literal["additional_tools"]] = "additional_tools"
    role: str
    """Role that added the tools: `developer` in requests, also others in responses."""
    tools: list[AnyTool]
    """Definitions of the tools."""


class ConfigurationUpdate(ItemBase, kw_only=True, tag="configuration_update"):
    """Changes reasoning or text settings for the responses that follow."""

    type: ClassVar[Literal["configuration_update"]] = "configuration_update"
    reasoning: dict[str, Any] | None = None
    """The new reasoning settings: `effort`."""
    text: dict[str, Any] | None = None
    """The new text settings: `format`."""


class Program(ItemBase, kw_only=True, tag="program"):
    """JavaScript that the model wrote to call tools."""

    type: ClassVar[Literal["program"]] = "program"
    call_id: str
    """Id that the output and the calls of the program repeat."""
    code: str
    """The JavaScript source."""
    fingerprint: str | None = None
    """Opaque state. Send it back unchanged."""


class ProgramOutput(ItemBase, kw_only=True, tag="program_output"):
    """The result of a program."""

    type: ClassVar[Literal["program_output"]] = "program_output"
    call_id: str
    """`call_id` of the program."""
    result: str
    """The result as text."""


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
"""Any item of a request's input or a response's output."""

Item = AnyItem
"""Short name of `AnyItem` for annotations: `items: list[Item] = [...]`."""
