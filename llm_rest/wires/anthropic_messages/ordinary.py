"""The short road: what nearly every answer and every conversation is made of, plain texts, calls and their results.

It does what `BlockReader` (of `assistant`) and `Turns` (of `turns`) do with them, and leaves everything else to these. Before
changing this file, know that its loops are the hot path of the converters: a change comes with numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec import UNSET

from ... import responses as ours
from .._left import copies
from . import types
from .assistant import BlockWriter
from .calls import decode_call, plain_call
from .content import Context
from .leftovers import left, rest
from .usage import TIERS, decode_usage

Content = str | list[types.AnyBlock]

ABOUT = ("stop_details", "container", "context_management", "diagnostics", "input_transformations")
"""Fields that describe one answer, and wait in leftovers."""

Answer = types.Message
InputMessage, Text, ToolUse, ToolResult = types.InputMessage, types.Text, types.ToolUse, types.ToolResult
Message, OutputText = ours.Message, ours.OutputText
FunctionCall, FunctionCallOutput = ours.FunctionCall, ours.FunctionCallOutput

_message = copies(Message(role="assistant", status="completed", content=[]))
_response = copies(ours.Response(id="", status="completed", output=[]))
_text = copies(OutputText(text=""))


def plain_answer(body: types.Message | types.Error, now: float) -> ours.Response | None:
    """The Response for an answer of plain texts and calls that ended as answers do; `None` for any other."""
    if type(body) is not Answer or body.stop_sequence is not None or body.role != "assistant":
        return None
    id, model, used, ended = body.id, body.model, body.usage, "end_turn"
    if type(id) is not str or type(model) is not str or not used or body.input_transformations is not UNSET:
        return None
    bare = body.stop_details is body.container is body.diagnostics is body.context_management is UNSET
    about = {} if bare else rest(body, ABOUT)
    if about and any(about.values()):
        return None
    output: list[ours.AnyItem] = []
    parts: list[ours.ContentPart] | None = None
    for i, block in enumerate(body.content):
        if type(block) is Text and block.citations is block.cache_control is UNSET:
            if parts is None:
                message, parts = _message(), []
                message.id, message.content = f"msg_{id}_{i}", parts
                output.append(message)
            part = _text()
            part.text, part.annotations = block.text, []
            parts.append(part)
        elif type(block) is ToolUse:
            output.append(decode_call(block, f"fc_{id}_{i}", "completed"))
            parts, ended = None, "tool_use"
        else:
            return None
    if body.stop_reason != ended:
        return None
    response, tier = _response(), used.service_tier
    response.id, response.created_at, response.model = id, now, model
    response.output, response.usage = output, decode_usage(used)
    if about:
        response.leftovers = left(about)
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
        self._waiting: dict[str, deque[tuple[types.ToolUse, int]]] = {}  # calls without a result yet
        self._ids: set[str] = set()
        self._taken: set[int] = set()  # results that moved up
        self._held: list[tuple[types.InputMessage, str]] = []  # system messages that wait for a legal place

    def _ordinary(self, items: Sequence[ours.AnyItem], start: int) -> int:
        """Take the plain texts, calls and results that nearly every conversation is made of, up to the place returned.

        It does what the rest of this class does with them, as long as nothing waits that could make a difference.
        """
        if self._held or self._closed or self._taken or self._writer.waits:
            return start
        messages, waiting, ids = self.messages, self._waiting, self._ids
        role, results, joins = self._role, self._results, self._joins
        i = start
        for i in range(start, len(items)):
            item = items[i]
            if type(item) is Message:
                said, text = item.role, item.content
                if waiting or item.leftovers is not None or item.phase is not None:
                    break
                if (joins or said != "user") and (role != "user" or said != "assistant"):
                    break
                if type(text) is str:
                    if not text or text.isspace():
                        break
                    messages.append(InputMessage(said, text))
                else:
                    texts = None if said == "user" or _may_carry(items, i + 1) else _plain_texts(text)
                    if not texts:
                        break
                    messages.append(InputMessage(said, texts))
                role, results, joins = said, 0, False
            elif type(item) is FunctionCall:
                call = plain_call(item)
                if call is None or call.id in ids:
                    break
                if role == "assistant":
                    self._blocks().append(call)
                elif role == "user" and not waiting:
                    messages.append(InputMessage("assistant", [call]))
                    role, joins = "assistant", False
                else:
                    break
                ids.add(call.id)
                waiting[call.id] = deque(((call, i),))
            elif type(item) is FunctionCallOutput:
                output, waits = item.output, waiting.get(item.call_id or "")
                if waits is None or type(output) is not str or len(waits) > 1:
                    break
                call = waits[0][0]
                bare = item.leftovers is None and item.namespace is None and item.is_error is None
                if not bare or call.toolset_name is not UNSET:
                    break
                del waiting[item.call_id or ""]
                result = ToolResult(call.id, output or UNSET)
                if role == "user":
                    self._blocks().append(result)
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


def _may_carry(items: Sequence[ours.AnyItem], i: int) -> bool:
    """Whether the item at `i` may hold citations of the message before it."""
    return i < len(items) and isinstance(items[i], ours.Reasoning)


def _plain_texts(parts: str | list[ours.ContentPart]) -> list[types.AnyBlock] | None:
    """The blocks of what a model said, where nothing hangs on its texts."""
    blocks: list[types.AnyBlock] = []
    for part in parts:
        if type(part) is not OutputText or part.annotations or part.logprobs or part.leftovers is not None:
            return None
        if not part.text or part.text.isspace():
            return None
        blocks.append(Text(part.text))
    return blocks
