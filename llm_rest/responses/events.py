"""The steps of a streamed answer.

Follows the streaming events of the OpenAI Responses reference and the names of the Open Responses core (both read
2026-11-20), in the order of `event:` names there. Before changing this file, know how hosts differ: the ones that do not count
leave `sequence_number` out, some give a new `item_id` in every event (so `output_index` is what ties events together), an
`item`, `part` or `annotation` may be null, and an `error` has two shapes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import field

from ..unknown import MOST_IN_ANSWER, Decoder, Open, ResponsesModel, given
from .items import AnyItem, ShellOutput
from .lenient import lenient_event
from .parts import AnyAnnotation, ContentPart, Logprob, SummaryText
from .response import Response, ResponseError


class Event(ResponsesModel):
    """What every event has. `stream_id` tells the conversations of one WebSocket apart."""

    sequence_number: int | None = None
    stream_id: str | None = None


class OfItem(Event):
    """An event about one entry of the output. A place the sender leaves out is the first."""

    item_id: str | None = None
    output_index: int = field(default_factory=int)


class OfPart(OfItem):
    """An event about one part of an item's content."""

    content_index: int = field(default_factory=int)


class OfSummary(OfItem):
    """An event about one part of a reasoning item's summary."""

    summary_index: int = field(default_factory=int)


# --- the response as a whole ----------------------------------------------------------------------------------------


class OfResponse(Event):
    """An event that carries the response as far as it is known."""

    response: Response


class ResponseCreated(OfResponse):
    """The first event."""

    type: ClassVar[Literal["response.created"]] = "response.created"


class ResponseQueued(OfResponse):
    """The response waits for its turn."""

    type: ClassVar[Literal["response.queued"]] = "response.queued"


class ResponseInProgress(OfResponse):
    """Work has begun."""

    type: ClassVar[Literal["response.in_progress"]] = "response.in_progress"


class ResponseCompleted(OfResponse):
    """The end: everything is there."""

    type: ClassVar[Literal["response.completed"]] = "response.completed"


class ResponseIncomplete(OfResponse):
    """The end: the answer was cut short, and the response says why."""

    type: ClassVar[Literal["response.incomplete"]] = "response.incomplete"


class ResponseFailed(OfResponse):
    """The end: the response carries an error."""

    type: ClassVar[Literal["response.failed"]] = "response.failed"


class StreamError(ResponseError):
    """What went wrong, as the nested shape of an error event tells it."""

    headers: dict[str, str] | None = None


class ErrorEvent(Event):
    """Something went wrong. Half of the senders nest what they say in `error`, half spell it out beside the type.

    `details` reads either shape.
    """

    type: ClassVar[Literal["error"]] = "error"
    error: StreamError | None = None
    code: str | int | None = None
    message: str | None = None
    param: str | None = None
    status: int | None = None

    @property
    def details(self) -> StreamError:
        """What went wrong, whichever shape it came in."""
        if given(self.error):
            return self.error
        return StreamError(code=self.code, message=self.message, param=self.param)


# --- items and parts ------------------------------------------------------------------------------------------------


class OutputItemAdded(Event):
    """An item begins."""

    type: ClassVar[Literal["response.output_item.added"]] = "response.output_item.added"
    output_index: int = field(default_factory=int)
    item: AnyItem | None


class OutputItemDone(Event):
    """An item is complete; it replaces what was collected of it."""

    type: ClassVar[Literal["response.output_item.done"]] = "response.output_item.done"
    output_index: int = field(default_factory=int)
    item: AnyItem | None


class ContentPartAdded(OfPart):
    """A part of an item's content begins."""

    type: ClassVar[Literal["response.content_part.added"]] = "response.content_part.added"
    part: ContentPart | None


class ContentPartDone(OfPart):
    """A part of an item's content is complete."""

    type: ClassVar[Literal["response.content_part.done"]] = "response.content_part.done"
    part: ContentPart | None


class OutputTextDelta(OfPart):
    """A piece of text. `obfuscation` is noise against traffic analysis."""

    type: ClassVar[Literal["response.output_text.delta"]] = "response.output_text.delta"
    delta: str
    logprobs: list[Logprob] | None = None
    obfuscation: str | None = None


class OutputTextDone(OfPart):
    """A text is complete."""

    type: ClassVar[Literal["response.output_text.done"]] = "response.output_text.done"
    text: str
    logprobs: list[Logprob] | None = None


class OutputTextAnnotationAdded(OfPart):
    """A source of the text."""

    type: ClassVar[Literal["response.output_text.annotation.added"]] = "response.output_text.annotation.added"
    annotation_index: int = field(default_factory=int)
    annotation: AnyAnnotation | None


class RefusalDelta(OfPart):
    """A piece of a refusal."""

    type: ClassVar[Literal["response.refusal.delta"]] = "response.refusal.delta"
    delta: str
    obfuscation: str | None = None


class RefusalDone(OfPart):
    """A refusal is complete."""

    type: ClassVar[Literal["response.refusal.done"]] = "response.refusal.done"
    refusal: str


# --- calls ----------------------------------------------------------------------------------------------------------


class FunctionCallArgumentsDelta(OfItem):
    """A piece of the JSON text of a call's arguments."""

    type: ClassVar[Literal["response.function_call_arguments.delta"]] = "response.function_call_arguments.delta"
    delta: str
    obfuscation: str | None = None


class FunctionCallArgumentsDone(OfItem):
    """The arguments of a call are complete. Older senders repeat its name."""

    type: ClassVar[Literal["response.function_call_arguments.done"]] = "response.function_call_arguments.done"
    arguments: str
    name: str | None = None


class CustomToolCallInputDelta(OfItem):
    """A piece of a custom call's input."""

    type: ClassVar[Literal["response.custom_tool_call_input.delta"]] = "response.custom_tool_call_input.delta"
    delta: str
    obfuscation: str | None = None


class CustomToolCallInputDone(OfItem):
    """The input of a custom call is complete."""

    type: ClassVar[Literal["response.custom_tool_call_input.done"]] = "response.custom_tool_call_input.done"
    input: str


# --- reasoning ------------------------------------------------------------------------------------------------------


class ReasoningSummaryPartAdded(OfSummary):
    """A part of a summary begins."""

    type: ClassVar[Literal["response.reasoning_summary_part.added"]] = "response.reasoning_summary_part.added"
    part: Open[SummaryText] | None


class ReasoningSummaryPartDone(OfSummary):
    """A part of a summary is complete, or was cut short."""

    type: ClassVar[Literal["response.reasoning_summary_part.done"]] = "response.reasoning_summary_part.done"
    part: Open[SummaryText] | None
    status: Literal["incomplete"] | str | None = None


class ReasoningSummaryTextDelta(OfSummary):
    """A piece of a summary."""

    type: ClassVar[Literal["response.reasoning_summary_text.delta"]] = "response.reasoning_summary_text.delta"
    delta: str
    obfuscation: str | None = None


class ReasoningSummaryTextDone(OfSummary):
    """The text of a summary's part is complete."""

    type: ClassVar[Literal["response.reasoning_summary_text.done"]] = "response.reasoning_summary_text.done"
    text: str


class ReasoningTextDelta(OfPart):
    """A piece of raw reasoning."""

    type: ClassVar[Literal["response.reasoning_text.delta"]] = "response.reasoning_text.delta"
    delta: str
    obfuscation: str | None = None


class ReasoningTextDone(OfPart):
    """Raw reasoning is complete."""

    type: ClassVar[Literal["response.reasoning_text.done"]] = "response.reasoning_text.done"
    text: str


class ReasoningDelta(OfPart):
    """A piece of raw reasoning, by the name the Open Responses core gives it."""

    type: ClassVar[Literal["response.reasoning.delta"]] = "response.reasoning.delta"
    delta: str
    obfuscation: str | None = None


class ReasoningDone(OfPart):
    """Raw reasoning is complete, by the name the Open Responses core gives it."""

    type: ClassVar[Literal["response.reasoning.done"]] = "response.reasoning.done"
    text: str


# --- tools the vendor runs ------------------------------------------------------------------------------------------


class WebSearchInProgress(OfItem):
    """A web search begins."""

    type: ClassVar[Literal["response.web_search_call.in_progress"]] = "response.web_search_call.in_progress"


class WebSearchSearching(OfItem):
    """A web search is under way."""

    type: ClassVar[Literal["response.web_search_call.searching"]] = "response.web_search_call.searching"


class WebSearchCompleted(OfItem):
    """A web search is over."""

    type: ClassVar[Literal["response.web_search_call.completed"]] = "response.web_search_call.completed"


class FileSearchInProgress(OfItem):
    """A file search begins."""

    type: ClassVar[Literal["response.file_search_call.in_progress"]] = "response.file_search_call.in_progress"


class FileSearchSearching(OfItem):
    """A file search is under way."""

    type: ClassVar[Literal["response.file_search_call.searching"]] = "response.file_search_call.searching"


class FileSearchCompleted(OfItem):
    """A file search is over."""

    type: ClassVar[Literal["response.file_search_call.completed"]] = "response.file_search_call.completed"


class CodeInterpreterInProgress(OfItem):
    """Code is being written."""

    type: ClassVar[Literal["response.code_interpreter_call.in_progress"]] = "response.code_interpreter_call.in_progress"


class CodeInterpreterInterpreting(OfItem):
    """Code is running."""

    type: ClassVar[Literal["response.code_interpreter_call.interpreting"]] = (
        "response.code_interpreter_call.interpreting"
    )


class CodeInterpreterCompleted(OfItem):
    """Code has run."""

    type: ClassVar[Literal["response.code_interpreter_call.completed"]] = "response.code_interpreter_call.completed"


class CodeInterpreterCodeDelta(OfItem):
    """A piece of code."""

    type: ClassVar[Literal["response.code_interpreter_call_code.delta"]] = "response.code_interpreter_call_code.delta"
    delta: str
    obfuscation: str | None = None


class CodeInterpreterCodeDone(OfItem):
    """The code is complete."""

    type: ClassVar[Literal["response.code_interpreter_call_code.done"]] = "response.code_interpreter_call_code.done"
    code: str


class ImageGenerationInProgress(OfItem):
    """An image is asked for."""

    type: ClassVar[Literal["response.image_generation_call.in_progress"]] = "response.image_generation_call.in_progress"


class ImageGenerationGenerating(OfItem):
    """An image is being made."""

    type: ClassVar[Literal["response.image_generation_call.generating"]] = "response.image_generation_call.generating"


class ImageGenerationPartialImage(OfItem):
    """An image as far as it is made, as base64."""

    type: ClassVar[Literal["response.image_generation_call.partial_image"]] = (
        "response.image_generation_call.partial_image"
    )
    partial_image_b64: str
    partial_image_index: int = field(default_factory=int)
    background: str | None = None
    output_format: str | None = None
    quality: str | None = None
    size: str | None = None


class ImageGenerationCompleted(OfItem):
    """An image is made."""

    type: ClassVar[Literal["response.image_generation_call.completed"]] = "response.image_generation_call.completed"


class McpListToolsInProgress(OfItem):
    """A remote server is asked for its tools."""

    type: ClassVar[Literal["response.mcp_list_tools.in_progress"]] = "response.mcp_list_tools.in_progress"


class McpListToolsCompleted(OfItem):
    """A remote server named its tools."""

    type: ClassVar[Literal["response.mcp_list_tools.completed"]] = "response.mcp_list_tools.completed"


class McpListToolsFailed(OfItem):
    """A remote server did not name its tools."""

    type: ClassVar[Literal["response.mcp_list_tools.failed"]] = "response.mcp_list_tools.failed"


class McpCallInProgress(OfItem):
    """A remote tool runs."""

    type: ClassVar[Literal["response.mcp_call.in_progress"]] = "response.mcp_call.in_progress"


class McpCallCompleted(OfItem):
    """A remote tool has run."""

    type: ClassVar[Literal["response.mcp_call.completed"]] = "response.mcp_call.completed"


class McpCallFailed(OfItem):
    """A remote tool failed."""

    type: ClassVar[Literal["response.mcp_call.failed"]] = "response.mcp_call.failed"


class McpCallArgumentsDelta(OfItem):
    """A piece of the JSON text of a remote call's arguments."""

    type: ClassVar[Literal["response.mcp_call_arguments.delta"]] = "response.mcp_call_arguments.delta"
    delta: str
    obfuscation: str | None = None


class McpCallArgumentsDone(OfItem):
    """The arguments of a remote call are complete."""

    type: ClassVar[Literal["response.mcp_call_arguments.done"]] = "response.mcp_call_arguments.done"
    arguments: str


# --- shell and patches ----------------------------------------------------------------------------------------------


class ShellCommandAdded(OfItem):
    """One command of a shell call begins."""

    type: ClassVar[Literal["response.shell_call_command.added"]] = "response.shell_call_command.added"
    command_index: int = field(default_factory=int)
    command: str


class ShellCommandDelta(OfItem):
    """A piece of a command."""

    type: ClassVar[Literal["response.shell_call_command.delta"]] = "response.shell_call_command.delta"
    command_index: int = field(default_factory=int)
    delta: str
    obfuscation: str | None = None


class ShellCommandDone(OfItem):
    """A command is complete."""

    type: ClassVar[Literal["response.shell_call_command.done"]] = "response.shell_call_command.done"
    command_index: int = field(default_factory=int)
    command: str


class ShellPiece(ResponsesModel):
    """What a command printed since the last piece."""

    stdout: str | None = None
    stderr: str | None = None


class ShellOutputDelta(OfItem):
    """A piece of what a command printed."""

    type: ClassVar[Literal["response.shell_call_output_content.delta"]] = "response.shell_call_output_content.delta"
    command_index: int = field(default_factory=int)
    delta: ShellPiece


class ShellOutputDone(OfItem):
    """What a command printed, and how it ended."""

    type: ClassVar[Literal["response.shell_call_output_content.done"]] = "response.shell_call_output_content.done"
    command_index: int = field(default_factory=int)
    output: list[ShellOutput]


class ApplyPatchDiffDelta(OfItem):
    """A piece of a patch."""

    type: ClassVar[Literal["response.apply_patch_call_operation_diff.delta"]] = (
        "response.apply_patch_call_operation_diff.delta"
    )
    delta: str
    obfuscation: str | None = None


class ApplyPatchDiffDone(OfItem):
    """A patch is complete."""

    type: ClassVar[Literal["response.apply_patch_call_operation_diff.done"]] = (
        "response.apply_patch_call_operation_diff.done"
    )
    diff: str


class CompactionCompacting(OfItem):
    """The server compacts the conversation."""

    type: ClassVar[Literal["response.compaction.compacting"]] = "response.compaction.compacting"


# --- sound ----------------------------------------------------------------------------------------------------------


class AudioDelta(Event):
    """A piece of sound as base64."""

    type: ClassVar[Literal["response.audio.delta"]] = "response.audio.delta"
    delta: str


class AudioDone(Event):
    """The sound is complete."""

    type: ClassVar[Literal["response.audio.done"]] = "response.audio.done"


class AudioTranscriptDelta(Event):
    """A piece of what the sound says."""

    type: ClassVar[Literal["response.audio.transcript.delta"]] = "response.audio.transcript.delta"
    delta: str


class AudioTranscriptDone(Event):
    """The transcript is complete."""

    type: ClassVar[Literal["response.audio.transcript.done"]] = "response.audio.transcript.done"


# --- a WebSocket only -----------------------------------------------------------------------------------------------


class Steer(ResponsesModel):
    """Input that was added to a running response."""

    id: str | None = None
    previous_response_id: str | None = None


class SteerAccepted(Event):
    """The added input takes effect."""

    type: ClassVar[Literal["response.steer.accepted"]] = "response.steer.accepted"
    steer: Steer | None = None


class SteerPending(Event):
    """The added input waits for what `required_input` names: tool outputs or approvals."""

    type: ClassVar[Literal["response.steer.pending"]] = "response.steer.pending"
    steer: Steer | None = None
    reason: Literal["waiting_for_required_input"] | str | None = None
    required_input: list[Any] | None = None


class SteerFailed(Event):
    """The added input was refused."""

    type: ClassVar[Literal["response.steer.failed"]] = "response.steer.failed"
    steer: Steer | None = None
    error: StreamError | None = None


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
"""Any step of a streamed answer."""

TERMINAL = (ResponseCompleted, ResponseIncomplete, ResponseFailed)
"""The events that end a stream; an `error` may come before or instead of one."""


EVENT: Decoder[AnyEvent] = Decoder(AnyEvent, repair=lenient_event, most_unknown=MOST_IN_ANSWER)
"""Decodes one event of a stream."""
