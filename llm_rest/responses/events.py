"""The events of a streamed answer.

Follows the streaming events of the OpenAI Responses reference and the names of the Open Responses core (both read
2026-11-20), in the order of `event:` names there. Before changing this file, know how hosts differ: some leave
`sequence_number` out, some send a new `item_id` in every event (so `output_index` identifies the item of an event), an
`item`, `part` or `annotation` may be null, and an `error` has two shapes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import field

from ..unknown import MOST_IN_ANSWER, Decoder, Open, ResponsesModel, given
from .items import AnyItem, ShellOutput
from .lenient import UNDECLARED, lenient_event
from .parts import AnyAnnotation, ContentPart, Logprob, SummaryText
from .response import Response, ResponseError


class Event(ResponsesModel, kw_only=True):
    """Base of every event of a stream."""

    sequence_number: int | None = None
    """Position of the event in the stream, from 0. None from hosts that do not send it."""
    stream_id: str | None = None
    """The conversation that the event belongs to, if one WebSocket carries several."""


class OfItem(Event, kw_only=True):
    """Base of the events about one item of the output."""

    item_id: str | None = None
    """Id of the item. Some hosts change it from event to event: use `output_index`."""
    output_index: int = field(default_factory=int)
    """Position of the item in `Response.output`, from 0; 0 if the sender leaves it out."""


class OfPart(OfItem, kw_only=True):
    """Base of the events about one part of an item's content."""

    content_index: int = field(default_factory=int)
    """Position of the part in the item's content, from 0; 0 if the sender leaves it out."""


class OfSummary(OfItem, kw_only=True):
    """Base of the events about one part of a reasoning item's summary."""

    summary_index: int = field(default_factory=int)
    """Position of the part in the summary, from 0; 0 if the sender leaves it out."""


# --- the response as a whole ----------------------------------------------------------------------------------------


class OfResponse(Event, kw_only=True):
    """Base of the events that carry the response."""

    response: Response
    """The response as far as it is known; complete in the last event."""


class ResponseCreated(OfResponse, kw_only=True, tag="response.created"):
    """Sent first, when the response is created."""

    type: ClassVar[Literal["response.created"]] = "response.created"


class ResponseQueued(OfResponse, kw_only=True, tag="response.queued"):
    """Sent when the response waits to be processed."""

    type: ClassVar[Literal["response.queued"]] = "response.queued"


class ResponseInProgress(OfResponse, kw_only=True, tag="response.in_progress"):
    """Sent when processing begins."""

    type: ClassVar[Literal["response.in_progress"]] = "response.in_progress"


class ResponseCompleted(OfResponse, kw_only=True, tag="response.completed"):
    """Sent last, when the response is complete."""

    type: ClassVar[Literal["response.completed"]] = "response.completed"


class ResponseIncomplete(OfResponse, kw_only=True, tag="response.incomplete"):
    """Sent last, when the response was cut short; `response.incomplete_details` has the reason."""

    type: ClassVar[Literal["response.incomplete"]] = "response.incomplete"


class ResponseFailed(OfResponse, kw_only=True, tag="response.failed"):
    """Sent last, when the response failed; `response.error` has the reason."""

    type: ClassVar[Literal["response.failed"]] = "response.failed"


class StreamError(ResponseError, kw_only=True):
    """The error that an error event carries."""

    headers: dict[str, str] | None = None
    """HTTP headers that belong to the error, such as `retry-after`."""


class ErrorEvent(Event, kw_only=True, tag="error"):
    """Sent when an error occurs; `ResponseFailed` may follow.

    Some hosts put the error in `error`, others beside `type`; `details` reads both.
    """

    type: ClassVar[Literal["error"]] = "error"
    error: StreamError | None = None
    """The error, from hosts that nest it."""
    code: str | int | None = None
    """The vendor's error code, from hosts that do not nest it."""
    message: str | None = None
    """The error message, from hosts that do not nest it."""
    param: str | None = None
    """Name of the invalid request field, from hosts that do not nest it."""
    status: int | None = None
    """HTTP status of the error, on a WebSocket."""

    @property
    def details(self) -> StreamError:
        """The error, from either shape of the event."""
        if given(self.error):
            return self.error
        return StreamError(code=self.code, message=self.message, param=self.param)


# --- items and parts ------------------------------------------------------------------------------------------------


class OutputItemAdded(Event, kw_only=True, tag="response.output_item.added"):
    """Sent when an item begins."""

    type: ClassVar[Literal["response.output_item.added"]] = "response.output_item.added"
    output_index: int = field(default_factory=int)
    """Position of the item in `Response.output`, from 0; 0 if the sender leaves it out."""
    item: AnyItem | None
    """The item as far as it is known. None from hosts that send null."""


class OutputItemDone(Event, kw_only=True, tag="response.output_item.done"):
    """Sent when an item is complete."""

    type: ClassVar[Literal["response.output_item.done"]] = "response.output_item.done"
    output_index: int = field(default_factory=int)
    """Position of the item in `Response.output`, from 0; 0 if the sender leaves it out."""
    item: AnyItem | None
    """The whole item, which replaces its state from earlier events. None from hosts that send null."""


class ContentPartAdded(OfPart, kw_only=True, tag="response.content_part.added"):
    """Sent when a part of an item's content begins."""

    type: ClassVar[Literal["response.content_part.added"]] = "response.content_part.added"
    part: ContentPart | None
    """The part, usually empty. None from hosts that send null."""


class ContentPartDone(OfPart, kw_only=True, tag="response.content_part.done"):
    """Sent when a part of an item's content is complete."""

    type: ClassVar[Literal["response.content_part.done"]] = "response.content_part.done"
    part: ContentPart | None
    """The whole part. None from hosts that send null."""


class OutputTextDelta(OfPart, kw_only=True, tag="response.output_text.delta"):
    """Sent for each piece of text."""

    type: ClassVar[Literal["response.output_text.delta"]] = "response.output_text.delta"
    delta: str
    """The piece to append to the part's text."""
    logprobs: list[Logprob] | None = None
    """Log probabilities of the piece's tokens, without their bytes."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class OutputTextDone(OfPart, kw_only=True, tag="response.output_text.done"):
    """Sent when the text of a part is complete."""

    type: ClassVar[Literal["response.output_text.done"]] = "response.output_text.done"
    text: str
    """The whole text."""
    logprobs: list[Logprob] | None = None
    """Log probabilities of the tokens, without their bytes."""


class OutputTextAnnotationAdded(OfPart, kw_only=True, tag="response.output_text.annotation.added"):
    """Sent when the text gets a citation or a file reference."""

    type: ClassVar[Literal["response.output_text.annotation.added"]] = "response.output_text.annotation.added"
    annotation_index: int = field(default_factory=int)
    """Position in the part's annotations, from 0; 0 if the sender leaves it out."""
    annotation: AnyAnnotation | None
    """The annotation. None from hosts that send null."""


class RefusalDelta(OfPart, kw_only=True, tag="response.refusal.delta"):
    """Sent for each piece of a refusal."""

    type: ClassVar[Literal["response.refusal.delta"]] = "response.refusal.delta"
    delta: str
    """The piece to append to the refusal."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class RefusalDone(OfPart, kw_only=True, tag="response.refusal.done"):
    """Sent when a refusal is complete."""

    type: ClassVar[Literal["response.refusal.done"]] = "response.refusal.done"
    refusal: str
    """The whole refusal."""


# --- calls ----------------------------------------------------------------------------------------------------------


class FunctionCallArgumentsDelta(OfItem, kw_only=True, tag="response.function_call_arguments.delta"):
    """Sent for each piece of the arguments of a function call."""

    type: ClassVar[Literal["response.function_call_arguments.delta"]] = "response.function_call_arguments.delta"
    delta: str
    """The piece to append to the JSON text."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class FunctionCallArgumentsDone(OfItem, kw_only=True, tag="response.function_call_arguments.done"):
    """Sent when the arguments of a function call are complete."""

    type: ClassVar[Literal["response.function_call_arguments.done"]] = "response.function_call_arguments.done"
    arguments: str
    """The whole JSON text."""
    name: str | None = None
    """Name of the function, from older senders."""


class CustomToolCallInputDelta(OfItem, kw_only=True, tag="response.custom_tool_call_input.delta"):
    """Sent for each piece of the input of a custom tool call."""

    type: ClassVar[Literal["response.custom_tool_call_input.delta"]] = "response.custom_tool_call_input.delta"
    delta: str
    """The piece to append to the input."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class CustomToolCallInputDone(OfItem, kw_only=True, tag="response.custom_tool_call_input.done"):
    """Sent when the input of a custom tool call is complete."""

    type: ClassVar[Literal["response.custom_tool_call_input.done"]] = "response.custom_tool_call_input.done"
    input: str
    """The whole input."""


# --- reasoning ------------------------------------------------------------------------------------------------------


class ReasoningSummaryPartAdded(OfSummary, kw_only=True, tag="response.reasoning_summary_part.added"):
    """Sent when a part of a reasoning summary begins."""

    type: ClassVar[Literal["response.reasoning_summary_part.added"]] = "response.reasoning_summary_part.added"
    part: Open[SummaryText] | None
    """The part, usually empty. None from hosts that send null."""


class ReasoningSummaryPartDone(OfSummary, kw_only=True, tag="response.reasoning_summary_part.done"):
    """Sent when a part of a reasoning summary ends."""

    type: ClassVar[Literal["response.reasoning_summary_part.done"]] = "response.reasoning_summary_part.done"
    part: Open[SummaryText] | None
    """The whole part. None from hosts that send null."""
    status: Literal["incomplete"] | str | None = None
    """`incomplete` if the part was cut short."""


class ReasoningSummaryTextDelta(OfSummary, kw_only=True, tag="response.reasoning_summary_text.delta"):
    """Sent for each piece of a reasoning summary."""

    type: ClassVar[Literal["response.reasoning_summary_text.delta"]] = "response.reasoning_summary_text.delta"
    delta: str
    """The piece to append to the part's text."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class ReasoningSummaryTextDone(OfSummary, kw_only=True, tag="response.reasoning_summary_text.done"):
    """Sent when the text of a summary's part is complete."""

    type: ClassVar[Literal["response.reasoning_summary_text.done"]] = "response.reasoning_summary_text.done"
    text: str
    """The whole text of the part."""


class ReasoningTextDelta(OfPart, kw_only=True, tag="response.reasoning_text.delta"):
    """Sent for each piece of raw reasoning text."""

    type: ClassVar[Literal["response.reasoning_text.delta"]] = "response.reasoning_text.delta"
    delta: str
    """The piece to append to the part's text."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class ReasoningTextDone(OfPart, kw_only=True, tag="response.reasoning_text.done"):
    """Sent when a part of raw reasoning text is complete."""

    type: ClassVar[Literal["response.reasoning_text.done"]] = "response.reasoning_text.done"
    text: str
    """The whole text of the part."""


class ReasoningDelta(OfPart, kw_only=True, tag="response.reasoning.delta"):
    """Sent for each piece of raw reasoning text by hosts that use the names of the Open Responses core."""

    type: ClassVar[Literal["response.reasoning.delta"]] = "response.reasoning.delta"
    delta: str
    """The piece to append to the part's text."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class ReasoningDone(OfPart, kw_only=True, tag="response.reasoning.done"):
    """Sent when a part of raw reasoning text is complete, by hosts that use the core's names."""

    type: ClassVar[Literal["response.reasoning.done"]] = "response.reasoning.done"
    text: str
    """The whole text of the part."""


# --- tools run by the vendor ----------------------------------------------------------------------------------------


class WebSearchInProgress(OfItem, kw_only=True, tag="response.web_search_call.in_progress"):
    """Sent when a web search call begins."""

    type: ClassVar[Literal["response.web_search_call.in_progress"]] = "response.web_search_call.in_progress"


class WebSearchSearching(OfItem, kw_only=True, tag="response.web_search_call.searching"):
    """Sent while a web search runs."""

    type: ClassVar[Literal["response.web_search_call.searching"]] = "response.web_search_call.searching"


class WebSearchCompleted(OfItem, kw_only=True, tag="response.web_search_call.completed"):
    """Sent when a web search ends."""

    type: ClassVar[Literal["response.web_search_call.completed"]] = "response.web_search_call.completed"


class FileSearchInProgress(OfItem, kw_only=True, tag="response.file_search_call.in_progress"):
    """Sent when a file search call begins."""

    type: ClassVar[Literal["response.file_search_call.in_progress"]] = "response.file_search_call.in_progress"


class FileSearchSearching(OfItem, kw_only=True, tag="response.file_search_call.searching"):
    """Sent while a file search runs."""

    type: ClassVar[Literal["response.file_search_call.searching"]] = "response.file_search_call.searching"


class FileSearchCompleted(OfItem, kw_only=True, tag="response.file_search_call.completed"):
    """Sent when a file search ends."""

    type: ClassVar[Literal["response.file_search_call.completed"]] = "response.file_search_call.completed"


class CodeInterpreterInProgress(OfItem, kw_only=True, tag="response.code_interpreter_call.in_progress"):
    """Sent when a code interpreter call begins, before its code."""

    type: ClassVar[Literal["response.code_interpreter_call.in_progress"]] = "response.code_interpreter_call.in_progress"


class CodeInterpreterInterpreting(OfItem, kw_only=True, tag="response.code_interpreter_call.interpreting"):
    """Sent when the code starts to run."""

    type: ClassVar[Literal["response.code_interpreter_call.interpreting"]] = (
        "response.code_interpreter_call.interpreting"
    )


class CodeInterpreterCompleted(OfItem, kw_only=True, tag="response.code_interpreter_call.completed"):
    """Sent when the code has run."""

    type: ClassVar[Literal["response.code_interpreter_call.completed"]] = "response.code_interpreter_call.completed"


class CodeInterpreterCodeDelta(OfItem, kw_only=True, tag="response.code_interpreter_call_code.delta"):
    """Sent for each piece of the code."""

    type: ClassVar[Literal["response.code_interpreter_call_code.delta"]] = "response.code_interpreter_call_code.delta"
    delta: str
    """The piece to append to the code."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class CodeInterpreterCodeDone(OfItem, kw_only=True, tag="response.code_interpreter_call_code.done"):
    """Sent when the code is complete, before it runs."""

    type: ClassVar[Literal["response.code_interpreter_call_code.done"]] = "response.code_interpreter_call_code.done"
    code: str
    """The whole code."""


class ImageGenerationInProgress(OfItem, kw_only=True, tag="response.image_generation_call.in_progress"):
    """Sent when an image generation call begins."""

    type: ClassVar[Literal["response.image_generation_call.in_progress"]] = "response.image_generation_call.in_progress"


class ImageGenerationGenerating(OfItem, kw_only=True, tag="response.image_generation_call.generating"):
    """Sent when the image is being generated."""

    type: ClassVar[Literal["response.image_generation_call.generating"]] = "response.image_generation_call.generating"


class ImageGenerationPartialImage(OfItem, kw_only=True, tag="response.image_generation_call.partial_image"):
    """Sent for each unfinished image, if `partial_images` of the tool requests some."""

    type: ClassVar[Literal["response.image_generation_call.partial_image"]] = (
        "response.image_generation_call.partial_image"
    )
    partial_image_b64: str
    """The image as base64."""
    partial_image_index: int = field(default_factory=int)
    """Number of the unfinished image, from 0; 0 if the sender leaves it out."""
    background: str | None = None
    """Background of the image: `transparent`, `opaque` or `auto`."""
    output_format: str | None = None
    """File format of the image: `png`, `webp`, `jpeg`, `gif` or `svg`."""
    quality: str | None = None
    """Quality of the image: `low`, `medium`, `high`, `xhigh`, `max` or `auto`."""
    size: str | None = None
    """Size of the image: width and height in pixels, such as `1024x1536`, or `auto`."""


class ImageGenerationCompleted(OfItem, kw_only=True, tag="response.image_generation_call.completed"):
    """Sent when the final image is generated."""

    type: ClassVar[Literal["response.image_generation_call.completed"]] = "response.image_generation_call.completed"


class McpListToolsInProgress(OfItem, kw_only=True, tag="response.mcp_list_tools.in_progress"):
    """Sent when the vendor begins to list the tools of a remote MCP server."""

    type: ClassVar[Literal["response.mcp_list_tools.in_progress"]] = "response.mcp_list_tools.in_progress"


class McpListToolsCompleted(OfItem, kw_only=True, tag="response.mcp_list_tools.completed"):
    """Sent when the tools of a remote MCP server are listed."""

    type: ClassVar[Literal["response.mcp_list_tools.completed"]] = "response.mcp_list_tools.completed"


class McpListToolsFailed(OfItem, kw_only=True, tag="response.mcp_list_tools.failed"):
    """Sent when the tools of a remote MCP server could not be listed."""

    type: ClassVar[Literal["response.mcp_list_tools.failed"]] = "response.mcp_list_tools.failed"


class McpCallInProgress(OfItem, kw_only=True, tag="response.mcp_call.in_progress"):
    """Sent when a call of a remote MCP tool begins."""

    type: ClassVar[Literal["response.mcp_call.in_progress"]] = "response.mcp_call.in_progress"


class McpCallCompleted(OfItem, kw_only=True, tag="response.mcp_call.completed"):
    """Sent when a call of a remote MCP tool has succeeded."""

    type: ClassVar[Literal["response.mcp_call.completed"]] = "response.mcp_call.completed"


class McpCallFailed(OfItem, kw_only=True, tag="response.mcp_call.failed"):
    """Sent when a call of a remote MCP tool has failed."""

    type: ClassVar[Literal["response.mcp_call.failed"]] = "response.mcp_call.failed"


class McpCallArgumentsDelta(OfItem, kw_only=True, tag="response.mcp_call_arguments.delta"):
    """Sent for each piece of the arguments of a remote MCP call."""

    type: ClassVar[Literal["response.mcp_call_arguments.delta"]] = "response.mcp_call_arguments.delta"
    delta: str
    """The piece to append to the JSON text."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class McpCallArgumentsDone(OfItem, kw_only=True, tag="response.mcp_call_arguments.done"):
    """Sent when the arguments of a remote MCP call are complete."""

    type: ClassVar[Literal["response.mcp_call_arguments.done"]] = "response.mcp_call_arguments.done"
    arguments: str
    """The whole JSON text."""


# --- shell and patches ----------------------------------------------------------------------------------------------


class ShellCommandAdded(OfItem, kw_only=True, tag="response.shell_call_command.added"):
    """Sent when a command of a shell call begins."""

    type: ClassVar[Literal["response.shell_call_command.added"]] = "response.shell_call_command.added"
    command_index: int = field(default_factory=int)
    """Position of the command in the call, from 0; 0 if the sender leaves it out."""
    command: str
    """The command as far as it is known."""


class ShellCommandDelta(OfItem, kw_only=True, tag="response.shell_call_command.delta"):
    """Sent for each piece of a command."""

    type: ClassVar[Literal["response.shell_call_command.delta"]] = "response.shell_call_command.delta"
    command_index: int = field(default_factory=int)
    """Position of the command in the call, from 0; 0 if the sender leaves it out."""
    delta: str
    """The piece to append to the command."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class ShellCommandDone(OfItem, kw_only=True, tag="response.shell_call_command.done"):
    """Sent when a command is complete."""

    type: ClassVar[Literal["response.shell_call_command.done"]] = "response.shell_call_command.done"
    command_index: int = field(default_factory=int)
    """Position of the command in the call, from 0; 0 if the sender leaves it out."""
    command: str
    """The whole command."""


class ShellPiece(ResponsesModel, kw_only=True):
    """A piece of a command's output."""

    stdout: str | None = None
    """Text to append to standard output."""
    stderr: str | None = None
    """Text to append to standard error."""


class ShellOutputDelta(OfItem, kw_only=True, tag="response.shell_call_output_content.delta"):
    """Sent for each piece of a command's output."""

    type: ClassVar[Literal["response.shell_call_output_content.delta"]] = "response.shell_call_output_content.delta"
    command_index: int = field(default_factory=int)
    """Position of the command in the call, from 0; 0 if the sender leaves it out."""
    delta: ShellPiece
    """The piece to append to the output."""


class ShellOutputDone(OfItem, kw_only=True, tag="response.shell_call_output_content.done"):
    """Sent when a command has ended."""

    type: ClassVar[Literal["response.shell_call_output_content.done"]] = "response.shell_call_output_content.done"
    command_index: int = field(default_factory=int)
    """Position of the command in the call, from 0; 0 if the sender leaves it out."""
    output: list[ShellOutput]
    """The output of the command and how it ended."""


class ApplyPatchDiffDelta(OfItem, kw_only=True, tag="response.apply_patch_call_operation_diff.delta"):
    """Sent for each piece of a patch."""

    type: ClassVar[Literal["response.apply_patch_call_operation_diff.delta"]] = (
        "response.apply_patch_call_operation_diff.delta"
    )
    delta: str
    """The piece to append to the diff."""
    obfuscation: str | None = None
    """Random padding against traffic analysis. Ignore it."""


class ApplyPatchDiffDone(OfItem, kw_only=True, tag="response.apply_patch_call_operation_diff.done"):
    """Sent when a patch is complete."""

    type: ClassVar[Literal["response.apply_patch_call_operation_diff.done"]] = (
        "response.apply_patch_call_operation_diff.done"
    )
    diff: str
    """The whole diff."""


class CompactionCompacting(OfItem, kw_only=True, tag="response.compaction.compacting"):
    """Sent when the server compacts the conversation."""

    type: ClassVar[Literal["response.compaction.compacting"]] = "response.compaction.compacting"


# --- audio ----------------------------------------------------------------------------------------------------------


class AudioDelta(Event, kw_only=True, tag="response.audio.delta"):
    """Sent for each piece of audio."""

    type: ClassVar[Literal["response.audio.delta"]] = "response.audio.delta"
    delta: str
    """The piece as base64."""


class AudioDone(Event, kw_only=True, tag="response.audio.done"):
    """Sent when the audio is complete."""

    type: ClassVar[Literal["response.audio.done"]] = "response.audio.done"


class AudioTranscriptDelta(Event, kw_only=True, tag="response.audio.transcript.delta"):
    """Sent for each piece of the transcript of the audio."""

    type: ClassVar[Literal["response.audio.transcript.delta"]] = "response.audio.transcript.delta"
    delta: str
    """The piece to append to the transcript."""


class AudioTranscriptDone(Event, kw_only=True, tag="response.audio.transcript.done"):
    """Sent when the transcript is complete."""

    type: ClassVar[Literal["response.audio.transcript.done"]] = "response.audio.transcript.done"


# --- a WebSocket only -----------------------------------------------------------------------------------------------


class Steer(ResponsesModel, kw_only=True):
    """Input that was added to a running response."""

    id: str | None = None
    """Id of the added input. None if it was rejected before it got one."""
    previous_response_id: str | None = None
    """Id of the running response."""


class SteerAccepted(Event, kw_only=True, tag="response.steer.accepted"):
    """Sent on a WebSocket when added input is accepted and queued."""

    type: ClassVar[Literal["response.steer.accepted"]] = "response.steer.accepted"
    steer: Steer | None = None
    """The added input."""


class SteerPending(Event, kw_only=True, tag="response.steer.pending"):
    """Sent on a WebSocket when added input waits for tool outputs or approvals."""

    type: ClassVar[Literal["response.steer.pending"]] = "response.steer.pending"
    steer: Steer | None = None
    """The added input."""
    reason: Literal["waiting_for_required_input"] | str | None = None
    """`waiting_for_required_input`, or another value of the vendor."""
    required_input: list[Any] | None = None
    """The missing tool outputs and approvals: items without their results."""


class SteerFailed(Event, kw_only=True, tag="response.steer.failed"):
    """Sent on a WebSocket when added input is rejected or could not be used."""

    type: ClassVar[Literal["response.steer.failed"]] = "response.steer.failed"
    steer: Steer | None = None
    """The added input."""
    error: StreamError | None = None
    """Reason, with a `code` such as `response_not_active`."""


AnyEvent = Open[
    ResponseCreated
    | ResponseQueued
    | ResponseInProgress
    | ResponseCompleted
    | ResponseIncomplete
    | ResponseFailed
    | ErrorEvent
    | OutputItemAdded
    | OutputItemDone
    | ContentPartAdded
    | ContentPartDone
    | OutputTextDelta
    | OutputTextDone
    | OutputTextAnnotationAdded
    | RefusalDelta
    | RefusalDone
    | FunctionCallArgumentsDelta
    | FunctionCallArgumentsDone
    | CustomToolCallInputDelta
    | CustomToolCallInputDone
    | ReasoningSummaryPartAdded
    | ReasoningSummaryPartDone
    | ReasoningSummaryTextDelta
    | ReasoningSummaryTextDone
    | ReasoningTextDelta
    | ReasoningTextDone
    | ReasoningDelta
    | ReasoningDone
    | WebSearchInProgress
    | WebSearchSearching
    | WebSearchCompleted
    | FileSearchInProgress
    | FileSearchSearching
    | FileSearchCompleted
    | CodeInterpreterInProgress
    | CodeInterpreterInterpreting
    | CodeInterpreterCompleted
    | CodeInterpreterCodeDelta
    | CodeInterpreterCodeDone
    | ImageGenerationInProgress
    | ImageGenerationGenerating
    | ImageGenerationPartialImage
    | ImageGenerationCompleted
    | McpListToolsInProgress
    | McpListToolsCompleted
    | McpListToolsFailed
    | McpCallInProgress
    | McpCallCompleted
    | McpCallFailed
    | McpCallArgumentsDelta
    | McpCallArgumentsDone
    | ShellCommandAdded
    | ShellCommandDelta
    | ShellCommandDone
    | ShellOutputDelta
    | ShellOutputDone
    | ApplyPatchDiffDelta
    | ApplyPatchDiffDone
    | CompactionCompacting
    | AudioDelta
    | AudioDone
    | AudioTranscriptDelta
    | AudioTranscriptDone
    | SteerAccepted
    | SteerPending
    | SteerFailed
]
"""Any event of a stream."""

TERMINAL = (ResponseCompleted, ResponseIncomplete, ResponseFailed)
"""The events that end a stream. An `ErrorEvent` may precede or replace one."""


EVENT: Decoder[AnyEvent] = Decoder(AnyEvent, repair=lenient_event, repaired=UNDECLARED, most_unknown=MOST_IN_ANSWER)
"""Decodes one event of a stream."""
