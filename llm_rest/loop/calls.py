"""Which items are tool calls for the caller, and the items with their outputs.

One table of kinds, both directions: how a call is read (`call_request`) and the item of its output (`answer`). Calls that the
vendor runs itself are not listed and get no output here. Before changing this file, know that the texts sent to the model are
part of stored conversations: the same call always gets the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..responses.items import (
    AnyItem,
    ApplyPatchCall,
    ApplyPatchCallOutput,
    ComputerCall,
    ComputerCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    Exited,
    FunctionCall,
    FunctionCallOutput,
    LocalShellCall,
    LocalShellCallOutput,
    McpApprovalRequest,
    McpApprovalResponse,
    Message,
    ShellCall,
    ShellCallOutput,
    ShellOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from ..responses.parts import ComputerScreenshot, ContentPart, InputImage, InputText, OutputText, PlainText
from ..unknown import given

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .state import Output, ToolCall

PENDING = "This call has not ended yet. Its result will come in a later message that names this call."
"""The output of a call that has not ended when the model is called again."""

DELIVERY = "tool_result"
"""The type of the JSON object in which a result is delivered later, as a user message."""

# What a model is shown where there is no screen: one transparent pixel.
_BLANK = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


class CallRequest(NamedTuple):
    """A call as id, tool name and arguments; the arguments of a custom tool are free text, all others JSON."""

    call_id: str
    name: str
    arguments: str


def call_request(item: AnyItem) -> CallRequest | None:
    """The call in an item; `None` for an item that is no call, or a call that the vendor runs."""
    match item:
        case FunctionCall():
            return CallRequest(item.call_id, item.name, item.arguments)
        case CustomToolCall():
            return CallRequest(item.call_id, item.name, item.input)
        case ComputerCall():
            actions = item.actions if given(item.actions) else [item.action] if given(item.action) else []
            return CallRequest(item.call_id, "computer", _json({"actions": actions}))
        case LocalShellCall():
            return CallRequest(item.call_id, "local_shell", _json(item.action))
        case ShellCall():
            return CallRequest(item.call_id, "shell", _json(item.action))
        case ApplyPatchCall():
            return CallRequest(item.call_id, "apply_patch", _json(item.operation))
        case ToolSearchCall(execution="client", call_id=str(call_id)):
            return CallRequest(call_id, "tool_search", _json(item.arguments))
        case McpApprovalRequest(id=str(name)):
            return CallRequest(name, f"{item.server_label}.{item.name}", item.arguments)
        case _:
            return None


def answer(item: AnyItem, output: Output, *, failed: bool = False) -> AnyItem:
    """The output item of the call `item`, with this output, or with the error where it `failed`."""
    text = text_of(output)
    match item:
        case FunctionCall():
            return FunctionCallOutput(
                call_id=item.call_id, output=output, caller=item.caller, is_error=True if failed else None
            )
        case CustomToolCall():
            return CustomToolCallOutput(
                call_id=item.call_id, output=output, caller=item.caller, is_error=True if failed else None
            )
        case ComputerCall():
            return ComputerCallOutput(call_id=item.call_id, output=_screen(output))
        case LocalShellCall():
            return LocalShellCallOutput(call_id=item.call_id, output=text)
        case ShellCall():
            streams = {"stdout": "", "stderr": text} if failed else {"stdout": text, "stderr": ""}
            shown = ShellOutput(**streams, outcome=Exited(exit_code=int(failed)))
            return ShellCallOutput(call_id=item.call_id, output=[shown], caller=item.caller)
        case ApplyPatchCall():
            status = "failed" if failed else "completed"
            return ApplyPatchCallOutput(call_id=item.call_id, output=text, status=status, caller=item.caller)
        case ToolSearchCall():
            return ToolSearchOutput(call_id=item.call_id, execution="client", tools=[])
        case McpApprovalRequest():
            reason = text if failed and text else None
            return McpApprovalResponse(approval_request_id=item.id or "", approve=not failed, reason=reason)
        case _:
            raise TypeError(f"a {type(item).__name__} is no call")


def answers(items: Iterable[AnyItem]) -> set[str]:
    """The ids of all calls that these items answer."""
    found = (
        item.approval_request_id if isinstance(item, McpApprovalResponse) else item.call_id
        for item in items
        if isinstance(item, _ANSWERS)
    )
    return {call_id for call_id in found if isinstance(call_id, str)}


def delivery(call: ToolCall) -> Message:
    """The user message with the result of a call that was reported as pending before.

    Its text is a JSON object of fixed form. Its `output` is text of the tool and not of the user: the author of
    what the tool reads wrote it.
    """
    output = call.output or ""
    words = {"type": DELIVERY, "call_id": call.call_id, "name": call.name, "status": call.state}
    text = _json({**words, "output": text_of(output)})
    shown = [part for part in output if not isinstance(part, _TEXTS)] if isinstance(output, list) else []
    parts: list[ContentPart] = [InputText(text=text), *shown]
    return Message(role="user", content=parts)


def feedback(problems: list[str]) -> str:
    """The output of a call that could not be run: its problems, numbered."""
    listed = "\n".join(f"{i}. {problem}" for i, problem in enumerate(problems, 1))
    return f"The call was not run:\n{listed}"


def text_of(output: Output) -> str:
    """The text of an output, without its images and files."""
    if isinstance(output, str):
        return output
    return "\n".join(part.text for part in output if isinstance(part, _TEXTS))


def _screen(output: Output) -> ComputerScreenshot:
    for part in output if isinstance(output, list) else ():
        if isinstance(part, ComputerScreenshot):
            return part
        if isinstance(part, InputImage):
            return ComputerScreenshot(image_url=part.image_url, file_id=part.file_id)
    return ComputerScreenshot(image_url=_BLANK)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_TEXTS = (InputText, OutputText, PlainText)

_ANSWERS = (
    McpApprovalResponse,
    FunctionCallOutput,
    CustomToolCallOutput,
    ComputerCallOutput,
    LocalShellCallOutput,
    ShellCallOutput,
    ApplyPatchCallOutput,
    ToolSearchOutput,
)
