"""Conversion of a conversation's contents, both ways: roles, grouping into contents, and outputs of functions.

Outputs of functions are together in the user content right after their calls, in the order of the calls; consecutive
model output is one content, and every message of a user is one. Outputs are objects: a text is encoded as
`{"output": text}`, a failure as `{"error": text}`, and any other object is decoded as its JSON text. Before changing this file,
know that an output finds its call by id, else by name, else by order, and that the vendor caches by prefix: appending
items may change no content but a model's that is still open. Follows Google's guide to function calling and the
reference of `FunctionResponse` (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Losses
from ...responses.carriers import SPELLING
from ...unknown import as_object, given
from ..call_ids import TOOL_OUTPUTS, PlacedOutputs, UnansweredCalls
from ..kept import Rules, diff, keep_message, kept_message, own_leftovers, patch
from ..tools import json_value
from . import types
from .content import comparing, decode_content, encode_content
from .reasoning import AssistantMessage, Reader
from .tools import Output, encode_call
from .types import WIRE, Json, encode, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .content import Context

RULES = Rules(apart=frozenset({"parts"}), words=frozenset({"role"}))

SAME_CONTENT = "joined"
"""Key of the note on a message that is in the content before it, behind the outputs there."""


# --- Responses -> Gemini --------------------------------------------------------------------------------------------


class MessageWriter(AssistantMessage):
    """Writes the contents of a request: its `messages`, and its instructions in `system`.

    `state` are the instructions of the turns that were encoded before; `None` where there are no such turns.
    """

    def __init__(self, items: Sequence[ours.AnyItem], context: Context, state: list[types.Part] | None = None) -> None:
        super().__init__(context)
        self.system = [*(state or ())]
        self.messages: list[types.Content] = []
        self.state, self.changing = state, None
        self._items = items
        self._at = 0  # the item that is being written
        self._left: Json | None = None  # leftovers of the content that is open, or begins next
        self._outputs = PlacedOutputs(items)

    def write(self, start: int, end: int) -> None:
        """Write the items from `start` up to `end`."""
        items, handlers, other = self._items, self.HANDLERS, AssistantMessage.add_other
        for i in range(start, end):
            item = items[i]
            if item.leftovers is not None and (left := kept_message(item, WIRE)) is not None:
                if self.parts or self.waits:
                    self._add_content("model", self.close())
                self._left = left
            if self.waits:
                self.drop_waiting(item)
            self._at = i
            handlers.get(item.type, other)(self, item, f"input[{i}]")

    def settled(self, end: int) -> bool:
        """End the turn before the item at `end`; returns whether later items can no longer change it."""
        self._close_turn(end)
        if max(self._outputs.places, default=0) >= end or self._left is not None:
            return False
        self._check_first()
        self.state = [*self.system]
        return True

    def finish(self) -> None:
        """End the conversation."""
        self._close_turn(len(self._items))
        if self.messages and self.messages[-1].role == "model" and not self.context.model.prefill:
            self.lost.refused("input", "this model does not continue an answer; the conversation ends with the user")
        self._check_first()

    def _check_first(self) -> None:
        first = self.messages[0] if self.messages and self.state is None else types.Content()
        if first.role == "model" and any(given(part.function_call) for part in first.parts or ()):
            self.lost.refused("input", "a conversation cannot begin with a call")

    def _add_content(self, role: str, parts: list[types.Part]) -> None:
        content = types.Content(role=role, parts=parts)
        if self._left is not None:
            content = patch(content, self._left)
            content.parts, self._left = parts, None
        if parts:
            self.messages.append(content)

    def _close_turn(self, i: int) -> None:
        """End the model content before the item at `i`: it is complete, and its calls need their outputs now."""
        if self.parts or self.waits:
            self._add_content("model", self.close())
        if not self.calls:
            return
        items: Any = self._items
        outputs: list[types.Part] = []
        beside: list[types.Part] = []
        near = behind = i  # the first output that may be next, and the first item that is not an output
        for call, part, path in self.calls:
            n = self._outputs.take(call.call_id, i, near)
            if n is None:
                self.lost.refused(path, "a call without an output")
                continue
            near += n == near
            while behind <= n and items[behind].type in TOOL_OUTPUTS:
                behind += 1
            if n >= behind:
                self.lost.emulated(f"input[{n}]", "an output, moved up to its call")
            outputs.append(encode_output(items[n], part.function_call or None, f"input[{n}]", self.context, beside))
        self.calls = []
        if outputs:
            self._add_content("user", outputs + beside)

    def _add_output(self, item: Output, path: str) -> None:
        if self.parts or self.calls or self.waits:
            self._close_turn(self._at)
        if self._at not in self._outputs.places:
            self.lost.refused(path, "an output without a call before it")
            self._add_content("user", [encode_output(item, None, path, self.context, [])])

    def _refuse(self, _: ours.AnyItem, path: str) -> None:
        self.lost.refused(path, "what only a server that keeps conversations knows")

    def _message(self, item: ours.Message, path: str) -> None:
        if item.role == "assistant":
            self._assistant_message(item, path)
            return
        if self.parts or self.calls or self.waits:
            self._close_turn(self._at)
        bare = item.leftovers is None and type(item) is ours.Message
        left: Json = {} if bare else own_leftovers(item, WIRE, path, self.lost)
        if isinstance(item.content, str):
            parts = [types.Part(text=item.content)] if item.content else []
        else:
            parts = encode_content(item.content, f"{path}.content", self.context)
        if item.role in ("system", "developer"):
            texts = [part for part in parts if part.inline_data is part.file_data is UNSET]
            if len(texts) < len(parts):
                self.lost.dropped(path, "instructions are text at Gemini")
            if not self.messages and self.state is None:
                self.system += texts
                return
            self.lost.changed(path, "no instructions are possible here; sent as a user message, in <system> tags")
            parts = [
                replace(part, text=f"<system>\n{part.text}\n</system>") if given(part.text) else part for part in texts
            ]
        elif item.role != "user":
            self.lost.changed(f"{path}.role", f"{item.role!r} is sent as a user")
        last = self.messages[-1] if left and self.messages else None
        if last and last.parts and last.role == "user" and as_object(left.get(SPELLING)).get(SAME_CONTENT):
            last.parts.extend(parts)
        else:
            self._add_content("user", parts)

    HANDLERS: ClassVar[dict[str, Callable[[Any, Any, str], None]]] = {
        **AssistantMessage.HANDLERS,
        "message": _message,
        **dict.fromkeys(TOOL_OUTPUTS, _add_output),
        "item_reference": _refuse,
        "compaction_trigger": _refuse,
        "additional_tools": lambda writer, item, path: None,  # offered with the other tools
    }


# --- outputs --------------------------------------------------------------------------------------------------------

FORM = "response"
"""Key of the note on an output object that is more than its text: the `whole` is the text, or the `value` of its only key."""


def encode_output(
    item: Output, call: types.FunctionCall | None, path: str, context: Context, beside: list[types.Part]
) -> types.Part:
    """The part with the output of `call`; media that it cannot hold are added to `beside`."""
    lost = context.lost
    bare = item.leftovers is None and type(item) is ours.FunctionCallOutput
    left: Json = {} if bare else own_leftovers(item, WIRE, path, lost)
    inside: list[types.Part] = []
    text = item.output if isinstance(item.output, str) else _encode_output(item.output, path, context, inside, beside)
    if text is None and item.is_error:
        lost.changed(f"{path}.output", "an error without a text, sent as an empty text")
        text = ""
    form = as_object(left.get(SPELLING)).get(FORM) if left else None
    value = Raw(b"{}") if text is None else _object_of(text, form, item.is_error)
    id = item.call_id or ""
    made = types.FunctionResponse(
        id=call.id if call else id, name=call.name if call else id, response=value, parts=inside or UNSET
    )
    if item.caller is not None and not isinstance(item.caller, ours.Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    part = types.Part(function_response=made)
    if left:
        part = patch(part, left)
    if isinstance(item, ours.CustomToolCallOutput):
        lost.emulated(path, "a custom tool's output is sent as a function's")
    elif item.name is not None and part.function_response:
        part.function_response.name = item.name
    return part


def _encode_output(
    output: Sequence[ours.ContentPart],
    path: str,
    context: Context,
    inside: list[types.Part],
    beside: list[types.Part],
) -> str | None:
    """The text of an output, `None` where it has none; its media are added to `inside` and `beside`."""
    lost = context.lost
    texts: list[str] = []
    before = len(beside)
    for j, our in enumerate(output):
        for part in encode_content([our], f"{path}.output", context, j):
            media = part.inline_data or part.file_data
            if given(part.text):
                texts.append(part.text)
            elif isinstance(our, ours.InputText):
                inside.append(part)  # which came as a part of an output, and has no known field
            elif media and media.mime_type in context.model.media_in_outputs:
                if given(part.media_resolution):
                    lost.dropped(f"{path}.output", "how closely a function's image is looked at")
                    part = replace(part, media_resolution=UNSET)
                inside.append(part)
            else:
                lost.changed(f"{path}.output", "media that this model does not support in an output, sent beside it")
                beside.append(part)
    if len(texts) > 1:
        lost.changed(f"{path}.output", "texts of an output, sent as one")
    has_text = texts or len(beside) > before or (output and not inside)
    return "\n".join(texts) if has_text else None


def _object_of(text: str, form: Any, failed: Any) -> Raw:
    """`response`: in its original form, where the text still fits it, else the text under its usual key."""
    key = "error" if failed else "output"
    if form not in ("whole", "value"):
        return Raw(encode({key: text}))
    value = json_value(text)
    if value is not None and form == "value":
        return Raw(encode({key: value}))
    return value if value is not None and bytes(value)[:1] == b"{" else Raw(encode({key: text}))


# --- Gemini -> Responses --------------------------------------------------------------------------------------------


def decode_messages(contents: Sequence[types.Content], issuer: str, lost: Losses) -> list[ours.AnyItem]:
    """The items for `contents`."""
    items: list[ours.AnyItem] = []
    calls = UnansweredCalls()
    before = ""
    for k, content in enumerate(contents):
        role = "model" if content.role == "model" else "user"
        if role == "model":
            reader = Reader(issuer, str(k), lost)
            for part in content.parts or ():
                reader.add(part)
            found = reader.close()
            # Parallel calls may be in contents of their own; any other model output ends their turn.
            for item in found:
                if isinstance(item, ours.FunctionCall):
                    calls.add(item, item.call_id)
        else:
            found = _decode_user(content.parts or (), calls, f"call_{k}")
        if not found:
            lost.dropped(f"contents[{k}]", "a content without parts, which the vendor rejects")
            continue
        left = {}
        if content.role != role or type(content) is not types.Content:
            left = diff(content, types.Content(role=role, parts=content.parts), RULES)
        if left or role == before == "model":
            keep_message(found[0], WIRE, left)
        items += found
        before = role
    return items


def _decode_user(parts: Sequence[types.Part], calls: UnansweredCalls, origin: str) -> list[ours.AnyItem]:
    items: list[ours.AnyItem] = []
    plain: list[types.Part] = []

    def close() -> None:
        if plain:
            joined = {WIRE: {SPELLING: {SAME_CONTENT: True}}} if items else None
            items.append(ours.Message(role="user", content=decode_content(plain), leftovers=joined))
            plain.clear()

    for part in parts:
        if given(part.function_response):
            close()
            items.append(decode_output(part, part.function_response, calls, f"{origin}_{len(items)}"))
        else:
            plain.append(part)
    close()
    return items


def decode_output(
    part: types.Part, response: types.FunctionResponse, calls: UnansweredCalls, fallback: str
) -> ours.FunctionCallOutput:
    """The output in a part, for its call among `calls`."""
    found = calls.take(response.id, response.name, exact=True)
    item = ours.FunctionCallOutput(call_id=found.call_id if found else response.id or fallback, output="")
    if response.name and response.name != (found.name if found else item.call_id):
        item.name = response.name
    text, form = _decode_output(item, response)
    item.output = [] if text is None else text
    if response.parts:
        texts: list[ours.ContentPart] = [] if text is None else [ours.InputText(text=text)]
        item.output = [*texts, *decode_content(response.parts)]
    notes = {FORM: form} if form else {}
    item.leftovers = {WIRE: {SPELLING: notes}} if notes else None
    call = encode_call(found, "", Losses()).function_call if found else None
    made = encode_output(item, call or None, "", comparing(), [])
    if made.function_response and given(response.response):
        made.function_response.response = response.response  # which the text and its form have
    if made.function_response and response.parts:
        made.function_response.parts = response.parts
    left = diff(part, made)
    if notes or left:
        item.leftovers = {WIRE: {**left, SPELLING: {**left.get(SPELLING, {}), **notes}}}
    return item


def _decode_output(item: ours.FunctionCallOutput, response: types.FunctionResponse) -> tuple[str | None, str]:
    """The text in `response`, `None` if it is empty, and its form."""
    if response.response is UNSET:
        return None, ""
    try:
        found = _object.decode(response.response)
    except (msgspec.MsgspecError, UnicodeError):
        return text_of(response.response), "whole"
    match [*found]:
        case []:
            return None, ""
        case ["output" | "error" as key]:
            item.is_error = key == "error" or item.is_error
            if bytes(found[key])[:1] == b'"':
                return str(msgspec.json.decode(found[key])), ""
            return text_of(found[key]), "value"
        case _:
            return text_of(response.response), "whole"


_object = msgspec.json.Decoder(dict[str, Raw])
