"""The steps of a streamed answer.

Follows the streaming events of the OpenAI Responses reference and the names of the Open Responses core (both read
2026-11-20), in the order of `event:` names there. Before changing this file, know how hosts differ: the ones that do not count
leave `sequence_number` out, some give a new `item_id` in every event (so `output_index` is what ties events together), an
`item`, `part` or `annotation` may be null, and an `error` has two shapes.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET

from ..unknown import MOST_IN_ANSWER, Decoder, Model, Open, Opt, given
from .items import AnyItem, ShellOutput
from .lenient import lenient_event
from .parts import AnyAnnotation, ContentPart, Logprob, SummaryText
from .response import Response, ResponseError


class Event(Model, tag_field="type"):
    """What every event has. `stream_id` tells the conversations of one WebSocket apart."""

    sequence_number: Opt[int] = UNSET
    stream_id: Opt[str] = UNSET

    @property
    def type(self) -> str:
        """Its kind, as it is written in the document."""
        return str(type(self).__struct_config__.tag)


class OfItem(Event):
    """An event about one entry of the output. A place the sender leaves out is the first."""

    item_id: Opt[str] = UNSET
    output_index: int = 0


class OfPart(OfItem):
    """An event about one part of an item's content."""

    content_index: int = 0


class OfSummary(OfItem):
    """An event about one part of a reasoning item's summary."""

    summary_index: int = 0


# --- the response as a whole ----------------------------------------------------------------------------------------


class OfResponse(Event):
    """An event that carries the response as far as it is known."""

    response: Response


class ResponseCreated(OfResponse, tag="response.created"):
    """The first event."""


class ResponseQueued(OfResponse, tag="response.queued"):
    """The response waits for its turn."""


class ResponseInProgress(OfResponse, tag="response.in_progress"):
    """Work has begun."""


class ResponseCompleted(OfResponse, tag="response.completed"):
    """The end: everything is there."""


class ResponseIncomplete(OfResponse, tag="response.incomplete"):
    """The end: the answer was cut short, and the response says why."""


class ResponseFailed(OfResponse, tag="response.failed"):
    """The end: the response carries an error."""


class StreamError(ResponseError):
    """What went wrong, as the nested shape of an error event tells it."""

    headers: Opt[dict[str, str]] = UNSET


class ErrorEvent(Event, tag="error"):
    """Something went wrong. Half of the senders nest what they say in `error`, half spell it out beside the type.

    `details` reads either shape.
    """

    error: Opt[StreamError] = UNSET
    code: Opt[str | int] = UNSET
    message: Opt[str] = UNSET
    param: Opt[str] = UNSET
    status: Opt[int] = UNSET

    @property
    def details(self) -> StreamError:
        """What went wrong, whichever shape it came in."""
        if given(self.error):
            return self.error
        return StreamError(code=self.code, message=self.message, param=self.param)


# --- items and parts ------------------------------------------------------------------------------------------------


class OutputItemAdded(Event, tag="response.output_item.added"):
    """An item begins."""

    output_index: int = 0
    item: AnyItem | None


class OutputItemDone(Event, tag="response.output_item.done"):
    """An item is complete; it replaces what was collected of it."""

    output_index: int = 0
    item: AnyItem | None


class ContentPartAdded(OfPart, tag="response.content_part.added"):
    """A part of an item's content begins."""

    part: ContentPart | None


class ContentPartDone(OfPart, tag="response.content_part.done"):
    """A part of an item's content is complete."""

    part: ContentPart | None


class OutputTextDelta(OfPart, tag="response.output_text.delta"):
    """A piece of text. `obfuscation` is noise against traffic analysis."""

    delta: str
    logprobs: Opt[list[Logprob]] = UNSET
    obfuscation: Opt[str] = UNSET


class OutputTextDone(OfPart, tag="response.output_text.done"):
    """A text is complete."""

    text: str
    logprobs: Opt[list[Logprob]] = UNSET


class OutputTextAnnotationAdded(OfPart, tag="response.output_text.annotation.added"):
    """A source of the text."""

    annotation_index: int = 0
    annotation: AnyAnnotation | None


class RefusalDelta(OfPart, tag="response.refusal.delta"):
    """A piece of a refusal."""

    delta: str
    obfuscation: Opt[str] = UNSET


class RefusalDone(OfPart, tag="response.refusal.done"):
    """A refusal is complete."""

    refusal: str


# --- calls ----------------------------------------------------------------------------------------------------------


class FunctionCallArgumentsDelta(OfItem, tag="response.function_call_arguments.delta"):
    """A piece of the JSON text of a call's arguments."""

    delta: str
    obfuscation: Opt[str] = UNSET


class FunctionCallArgumentsDone(OfItem, tag="response.function_call_arguments.done"):
    """The arguments of a call are complete. Older senders repeat its name."""

    arguments: str
    name: Opt[str] = UNSET


class CustomToolCallInputDelta(OfItem, tag="response.custom_tool_call_input.delta"):
    """A piece of a custom call's input."""

    delta: str
    obfuscation: Opt[str] = UNSET


class CustomToolCallInputDone(OfItem, tag="response.custom_tool_call_input.done"):
    """The input of a custom call is complete."""

    input: str


# --- reasoning ------------------------------------------------------------------------------------------------------


class ReasoningSummaryPartAdded(OfSummary, tag="response.reasoning_summary_part.added"):
    """A part of a summary begins."""

    part: Open[SummaryText] | None


class ReasoningSummaryPartDone(OfSummary, tag="response.reasoning_summary_part.done"):
    """A part of a summary is complete, or was cut short."""

    part: Open[SummaryText] | None
    status: Opt[Literal["incomplete"] | str] = UNSET


class ReasoningSummaryTextDelta(OfSummary, tag="response.reasoning_summary_text.delta"):
    """A piece of a summary."""

    delta: str
    obfuscation: Opt[str] = UNSET


class ReasoningSummaryTextDone(OfSummary, tag="response.reasoning_summary_text.done"):
    """The text of a summary's part is complete."""

    text: str


class ReasoningTextDelta(OfPart, tag="response.reasoning_text.delta"):
    """A piece of raw reasoning."""

    delta: str
    obfuscation: Opt[str] = UNSET


class ReasoningTextDone(OfPart, tag="response.reasoning_text.done"):
    """Raw reasoning is complete."""

    text: str


class ReasoningDelta(OfPart, tag="response.reasoning.delta"):
    """A piece of raw reasoning, by the name the Open Responses core gives it."""

    delta: str
    obfuscation: Opt[str] = UNSET


class ReasoningDone(OfPart, tag="response.reasoning.done"):
    """Raw reasoning is complete, by the name the Open Responses core gives it."""

    text: str


# --- tools the vendor runs ------------------------------------------------------------------------------------------


class WebSearchInProgress(OfItem, tag="response.web_search_call.in_progress"):
    """A web search begins."""


class WebSearchSearching(OfItem, tag="response.web_search_call.searching"):
    """A web search is under way."""


class WebSearchCompleted(OfItem, tag="response.web_search_call.completed"):
    """A web search is over."""


class FileSearchInProgress(OfItem, tag="response.file_search_call.in_progress"):
    """A file search begins."""


class FileSearchSearching(OfItem, tag="response.file_search_call.searching"):
    """A file search is under way."""


class FileSearchCompleted(OfItem, tag="response.file_search_call.completed"):
    """A file search is over."""


class CodeInterpreterInProgress(OfItem, tag="response.code_interpreter_call.in_progress"):
    """Code is being written."""


class CodeInterpreterInterpreting(OfItem, tag="response.code_interpreter_call.interpreting"):
    """Code is running."""


class CodeInterpreterCompleted(OfItem, tag="response.code_interpreter_call.completed"):
    """Code has run."""


class CodeInterpreterCodeDelta(OfItem, tag="response.code_interpreter_call_code.delta"):
    """A piece of code."""

    delta: str
    obfuscation: Opt[str] = UNSET


class CodeInterpreterCodeDone(OfItem, tag="response.code_interpreter_call_code.done"):
    """The code is complete."""

    code: str


class ImageGenerationInProgress(OfItem, tag="response.image_generation_call.in_progress"):
    """An image is asked for."""


class ImageGenerationGenerating(OfItem, tag="response.image_generation_call.generating"):
    """An image is being made."""


class ImageGenerationPartialImage(OfItem, tag="response.image_generation_call.partial_image"):
    """An image as far as it is made, as base64."""

    partial_image_b64: str
    partial_image_index: int = 0
    background: Opt[str] = UNSET
    output_format: Opt[str] = UNSET
    quality: Opt[str] = UNSET
    size: Opt[str] = UNSET


class ImageGenerationCompleted(OfItem, tag="response.image_generation_call.completed"):
    """An image is made."""


class McpListToolsInProgress(OfItem, tag="response.mcp_list_tools.in_progress"):
    """A remote server is asked for its tools."""


class McpListToolsCompleted(OfItem, tag="response.mcp_list_tools.completed"):
    """A remote server named its tools."""


class McpListToolsFailed(OfItem, tag="response.mcp_list_tools.failed"):
    """A remote server did not name its tools."""


class McpCallInProgress(OfItem, tag="response.mcp_call.in_progress"):
    """A remote tool runs."""


class McpCallCompleted(OfItem, tag="response.mcp_call.completed"):
    """A remote tool has run."""


class McpCallFailed(OfItem, tag="response.mcp_call.failed"):
    """A remote tool failed."""


class McpCallArgumentsDelta(OfItem, tag="response.mcp_call_arguments.delta"):
    """A piece of the JSON text of a remote call's arguments."""

    delta: str
    obfuscation: Opt[str] = UNSET


class McpCallArgumentsDone(OfItem, tag="response.mcp_call_arguments.done"):
    """The arguments of a remote call are complete."""

    arguments: str


# --- shell and patches ----------------------------------------------------------------------------------------------


class ShellCommandAdded(OfItem, tag="response.shell_call_command.added"):
    """One command of a shell call begins."""

    command_index: int = 0
    command: str


class ShellCommandDelta(OfItem, tag="response.shell_call_command.delta"):
    """A piece of a command."""

    command_index: int = 0
    delta: str
    obfuscation: Opt[str] = UNSET


class ShellCommandDone(OfItem, tag="response.shell_call_command.done"):
    """A command is complete."""

    command_index: int = 0
    command: str


class ShellPiece(Model):
    """What a command printed since the last piece."""

    stdout: Opt[str] = UNSET
    stderr: Opt[str] = UNSET


class ShellOutputDelta(OfItem, tag="response.shell_call_output_content.delta"):
    """A piece of what a command printed."""

    command_index: int = 0
    delta: ShellPiece


class ShellOutputDone(OfItem, tag="response.shell_call_output_content.done"):
    """What a command printed, and how it ended."""

    command_index: int = 0
    output: list[ShellOutput]


class ApplyPatchDiffDelta(OfItem, tag="response.apply_patch_call_operation_diff.delta"):
    """A piece of a patch."""

    delta: str
    obfuscation: Opt[str] = UNSET


class ApplyPatchDiffDone(OfItem, tag="response.apply_patch_call_operation_diff.done"):
    """A patch is complete."""

    diff: str


class CompactionCompacting(OfItem, tag="response.compaction.compacting"):
    """The server compacts the conversation."""


# --- sound ----------------------------------------------------------------------------------------------------------


class AudioDelta(Event, tag="response.audio.delta"):
    """A piece of sound as base64."""

    delta: str


class AudioDone(Event, tag="response.audio.done"):
    """The sound is complete."""


class AudioTranscriptDelta(Event, tag="response.audio.transcript.delta"):
    """A piece of what the sound says."""

    delta: str


class AudioTranscriptDone(Event, tag="response.audio.transcript.done"):
    """The transcript is complete."""


# --- a WebSocket only -----------------------------------------------------------------------------------------------


class Steer(Model):
    """Input that was added to a running response."""

    id: Opt[str] = UNSET
    previous_response_id: Opt[str] = UNSET


class SteerAccepted(Event, tag="response.steer.accepted"):
    """The added input takes effect."""

    steer: Opt[Steer] = UNSET


class SteerPending(Event, tag="response.steer.pending"):
    """The added input waits for what `required_input` names: tool outputs or approvals."""

    steer: Opt[Steer] = UNSET
    reason: Opt[Literal["waiting_for_required_input"] | str] = UNSET
    required_input: Opt[list[Any]] = UNSET


class SteerFailed(Event, tag="response.steer.failed"):
    """The added input was refused."""

    steer: Opt[Steer] = UNSET
    error: Opt[StreamError] = UNSET


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
