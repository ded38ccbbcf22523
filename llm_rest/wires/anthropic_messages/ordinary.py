"""The short road: what nearly every answer and every conversation is made of, plain texts, calls and their results.

It does what `BlockReader` (of `assistant`) and `Turns` (of `turns`) do with them, and leaves everything else to these. Before
changing this file, know that its loops are the hot path of the converters: a change comes with numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from ... import responses as ours
from . import types
from .assistant import BlockWriter
from .calls import decode_call, raw_json, wire_id, wire_name
from .content import Context
from .usage import TIERS, decode_usage

Content = str | list[types.AnyBlock]

InputMessage, Text, ToolUse, ToolResult = types.InputMessage, types.Text, types.ToolUse, types.ToolResult
Response, Message, OutputText = ours.Response, ours.Message, ours.OutputText
FunctionCall, FunctionCallOutput = ours.FunctionCall, ours.FunctionCallOutput


def plain_answer(body: types.Message, now: float) -> ours.Response | None:
    """The Response for an answer of plain texts and calls that ended as answers do; `None` for any other."""
    if type(body) is not types.Message or body.stop_sequence is not None or body.role != "assistant":
        return None
    if not (body.stop_details is body.container is body.diagnostics is body.context_management is UNSET):
        return None
    id, ended = body.id, "end_turn"
    output: list[ours.AnyItem] = []
    parts: list[ours.ContentPart] | None = None
    for i, block in enumerate(body.content):
        if type(block) is Text and block.citations is block.cache_control is UNSET:
            if parts is None:
                parts = []
                output.append(Message(id=f"msg_{id}_{i}", role="assistant", status="completed", content=parts))
            parts.append(OutputText(text=block.text, annotations=[]))
        elif type(block) is ToolUse:
            output.append(decode_call(block, f"fc_{id}_{i}", "completed"))
            parts, ended = None, "tool_use"
        else:
            return None
    if body.stop_reason != ended or body.input_transformations is not UNSET:
        return None
    usage, tier = decode_usage(body.usage), body.usage.service_tier
    response = Response(id=id, created_at=now, status="completed", model=body.model, output=output, usage=usage)
    if tier is not UNSET and tier is not None:
        response.service_tier = TIERS.get(tier, tier)
    return response


class OpenTurn:
    """The messages of a request so far, of which the last is open."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.messages: list[types.InputMessage] = []
        self._writer = BlockWriter(context)
        self._role = ""  # of the open message
        self._results = 0  # how many results it begins with
        self._joins = False  # whether what a user says next belongs to it
        self._closed = False  # whether the next item begins a message in any case
        self._waiting: dict[str, list[tuple[types.ToolUse, int]]] = {}  # calls without a result yet
        self._ids: set[str] = set()
        self._held: list[tuple[types.InputMessage, str]] = []  # system messages that wait for a legal place

    def _ordinary(self, items: Sequence[ours.AnyItem], start: int) -> int:
        """Take the plain texts, calls and results that nearly every conversation is made of, up to the place returned.

        It does what the rest of this class does with them, as long as nothing waits that could make a difference.
        """
        if self._held or self._closed or self._writer.waits:
            return start
        messages, waiting, ids = self.messages, self._waiting, self._ids
        role, results, joins = self._role, self._results, self._joins
        i = start
        for i in range(start, len(items)):
            item = items[i]
            if type(item) is Message:
                said, text = item.role, item.content
                if type(text) is not str or not text or waiting or item.leftovers is not UNSET:
                    break
                if (joins or said != "user") and (role != "user" or said != "assistant"):
                    break
                if item.phase is not UNSET or text.isspace():
                    break
                messages.append(InputMessage(said, text))
                role, results, joins = said, 0, False
            elif type(item) is FunctionCall:
                call = _call_of(item)
                if call is None or call.id in ids or role != ("assistant" if waiting else "user"):
                    break
                if waiting:
                    self._blocks().append(call)
                else:
                    messages.append(InputMessage("assistant", [call]))
                    role, joins = "assistant", False
                ids.add(call.id)
                waiting[call.id] = [(call, i)]
            elif type(item) is FunctionCallOutput:
                output, waits = item.output, waiting.get(item.call_id or "")
                if waits is None or type(output) is not str or len(waits) > 1:
                    break
                call = waits[0][0]
                if not (item.leftovers is item.namespace is item.is_error is call.toolset_name is UNSET):
                    break
                del waiting[item.call_id or ""]
                result = ToolResult(call.id, output or UNSET)
                if role == "user":
                    self._blocks().insert(results, result)
                    results += 1
                else:
                    messages.append(InputMessage("user", [result]))
                    role, results, joins = "user", 1, True
            else:
                break
        else:
            i = len(items)
        self._role, self._results, self._joins = role, results, joins
        return i

    def _blocks(self) -> list[types.AnyBlock]:
        """The blocks of the open message."""
        message = self.messages[-1]
        message.content = found = as_blocks(message.content or "")
        return found


def as_blocks(content: Content) -> list[types.AnyBlock]:
    """A message's content as blocks."""
    return [types.Text(text=content)] if isinstance(content, str) else content


def _call_of(item: ours.FunctionCall) -> types.ToolUse | None:
    """The block of a call that nothing hangs on, as nearly all are: its id is legal and its arguments are an object."""
    id, text = item.call_id, item.arguments
    if text[:1] != "{" or item.status == "incomplete":
        return None
    if not (item.caller is item.namespace is item.leftovers is item.async_ is UNSET):
        return None
    if not (id.isidentifier() and id.isascii()) and wire_id(id) != id:
        return None
    try:
        return ToolUse(id, wire_name(item.name), raw_json(text))
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None
