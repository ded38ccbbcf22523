"""Conversion of messages, both ways: items in the order of a conversation, messages in the order that prompt templates need.

An assistant message holds thoughts, one text and calls in this order. The server checks no order, but templates pair outputs
with calls by position and support one system message: so outputs are right after the message with their calls and in the order
of the calls, and the instructions before the conversation are one message. Before changing this file, know that appending
items must not change the messages made of earlier ones: the server reuses its cache for the same prefix. Follows Ollama's API
reference (read 2026-11-20).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import UNSET

from ... import responses as ours
from ...losses import Losses
from ...responses.carriers import report_foreign
from ...responses.lenient import derived_call_id
from ...unknown import or_none
from ..call_ids import PlacedOutputs, UnansweredCalls
from ..images import image_data
from ..kept import Json, diff, keep_message, kept_message, own_leftovers, patch, unknown
from ..leftovers import UNISSUED, is_unissued, report_item, report_unknown, struct_of
from ..tools import ONE_CALL, Call, qualified
from . import types
from .content import decode_content, decode_images, encode_content, is_from
from .reasoning import decode_thinking, encode_thinking, issuer_seal
from .tools import decode_call, encode_call
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...vendors.dialects import OllamaDialect

Output = ours.FunctionCallOutput | ours.CustomToolCallOutput

SYSTEM = ("system", "developer")

TEXT_FIELDS = ("annotations", "logprobs")
"""The additional fields of a text part."""


# --- one assistant message ------------------------------------------------------------------------------------------


Texts = list[tuple[str, int]]
"""Texts, each with the position of its item."""


class AssistantMessage:
    """One assistant message after another, built from items; `finish` returns it."""

    __slots__ = ("_field", "_lost", "begins", "calls", "images", "left", "texts", "thoughts")

    def __init__(self, lost: Losses, field: str = "input") -> None:
        self._field = field
        self._lost = lost
        self._clear()

    def _clear(self) -> None:
        self.left: Json | None = None
        self.begins = -1  # the position of the item it begins with; -1 if there is no message
        self.calls: list[tuple[Call, int]] = []  # each with its position
        self.thoughts: Texts = []
        self.texts: Texts = []
        self.images: list[str] = []

    def _changed(self, i: int, what: str) -> None:
        self._lost.changed(f"{self._field}[{i}]", what)

    def add_thinking(self, text: str, i: int) -> None:
        """Add a thought, of the item at position `i`."""
        if self.texts or self.calls:
            self._changed(i, "a thought after a text or call, put before them")
        self.thoughts.append((text, i))

    def add_text(self, item: ours.Message, i: int, text_fields: Sequence[str] = TEXT_FIELDS) -> None:
        """Add the text of a message; an empty one adds nothing. The `text_fields` of its parts are lost."""
        text, lost = item.content, self._lost
        if not isinstance(text, str):
            path = f"{self._field}[{i}]"
            for j, part in enumerate(text):
                for name in text_fields if isinstance(part, ours.OutputText) else ():
                    if getattr(part, name):
                        lost.dropped(f"{path}.content[{j}].{name}", "fields beside a text, which Ollama lacks")
            text, images = encode_content(text, f"{path}.content", lost, between="")
            if images:
                lost.refused(f"{path}.content", "something other than text in a message of the assistant")
        if item.phase is not None:
            lost.dropped(f"{self._field}[{i}].phase", f"that the text is {item.phase}")
        if not text:
            return
        if self.calls:
            self._changed(i, "a text after a call, put before it")
        self.texts.append((text, i))

    def add_image(self, item: ours.ImageGenerationCall, i: int) -> None:
        """Add an image."""
        data = image_data(item, f"{self._field}[{i}]", WIRE, self._lost)
        if data is not None:
            self.images.append(data)

    def finish(self) -> types.Message:
        """The message; the next item begins another."""
        texts, left = self.texts, self.left
        text = self._joined(texts) if texts else ""
        msg = types.Message(role="assistant", content=text)
        if self.thoughts:
            msg.thinking = self._joined(self.thoughts)
        if self.images:
            msg.images = self.images
        if self.calls:
            msg.tool_calls = [encode_call(item, self._field, i, self._lost) for item, i in self.calls]
            if text.isspace():
                self._changed(texts[0][1], "nothing but space beside calls, which is read as no message")
        self._clear()
        return patch(msg, left) if left else msg

    def _joined(self, texts: Texts) -> str:
        if len(texts) == 1:
            return texts[0][0]
        for _, i in texts:
            self._changed(i, "joined with its neighbour to one text, with a blank line between them")
        return "\n\n".join(text for text, _ in texts)


def decode_message(
    msg: types.Message, issuer: str, origin: str, taken: set[str], path: str, lost: Losses, *, keep: bool
) -> list[ours.AnyItem]:
    """The items of an assistant message. `origin` names it and `taken` are the ids of earlier calls."""
    items: list[ours.AnyItem] = []
    if msg.thinking:
        items.append(decode_thinking(msg.thinking, issuer))
    if msg.content and not (msg.tool_calls and msg.content.isspace()):  # that some models write before their calls
        items.append(ours.Message(role="assistant", content=msg.content))
    if msg.images:
        items += decode_images(msg.images, issuer, path, lost)
    if isinstance(msg.tool_calls, types.ToolCall):
        lost.changed(f"{path}.tool_calls[0]", ONE_CALL)
    for position, call in enumerate(msg.calls):
        items.append(decode_call(call, origin, position, taken, path, lost, keep=keep))
    if items and not keep and type(msg) is not types.Message:
        keep_message(items[0], WIRE, unknown(msg))
    return items


# --- Responses -> Ollama --------------------------------------------------------------------------------------------

CALLS, OUTPUTS = (ours.FunctionCall, ours.CustomToolCall), (ours.FunctionCallOutput, ours.CustomToolCallOutput)


class MessageWriter:
    """Writes the items as messages; the instructions, the first system messages, and `note` are one message."""

    state = changing = None  # a turn needs no state of those before it

    def __init__(
        self, instructions: str, items: Sequence[ours.AnyItem], note: str, dialect: OllamaDialect, lost: Losses
    ) -> None:
        self.messages: list[types.Message] = []
        self.begins: dict[int, types.Message] = {}
        """The messages by the positions of the items that they begin with."""
        self._has_prefix = False  # whether there are messages of an earlier request
        self._items = items
        self._dialect = dialect
        self._lost = lost
        self._assistant = AssistantMessage(lost)
        self._outputs = PlacedOutputs(items)
        self._preamble = instructions, note

    def write(self, start: int, end: int) -> None:
        """Write the items from `start` up to `end`."""
        self._has_prefix = start > 0
        handlers, other = self.HANDLERS, MessageWriter._add_other
        start = start or self._begin(end)
        for i, item in enumerate(islice(self._items, start, end), start):
            add = handlers.get(type(item))
            if add is None or item.leftovers is not None:
                add = handlers.get(struct_of(item), other)
                if add is not other:
                    own_leftovers(item, WIRE, f"input[{i}]", self._lost)
            add(self, i, item)

    def settled(self, end: int) -> bool:
        """End the turn before the item at `end`; returns whether later items can no longer change it."""
        self._close(end)
        return max(self._outputs.places, default=0) < end

    def finish(self) -> None:
        """End the conversation."""
        last = self._assistant
        if not (last.texts or last.calls or last.images) and last.left is None:
            # The server treats a message that ends the conversation as the beginning of the answer.
            for _, i in last.thoughts:
                self._lost.dropped(f"input[{i}]", "a thought that nothing follows")
            last.thoughts = []
        self._close(len(self._items))

    def _begin(self, end: int) -> int:
        """Write the system message before the conversation; returns the number of items used."""
        instructions, note = self._preamble
        msg = {"instructions": instructions} if instructions else {}
        i = 0
        while i < end:
            path = f"input[{i}]"
            item = self._items[i]
            if not isinstance(item, ours.Message) or item.role not in SYSTEM or kept_message(item, WIRE) is not None:
                break
            own_leftovers(item, WIRE, path, self._lost)
            text = self._plain(item, i).content
            if text:
                msg[path] = text
            i += 1
        texts = [*msg.values(), note] if note else [*msg.values()]
        for path in msg if len(texts) > 1 else ():
            self._lost.changed(path, "part of one system message, joined by blank lines")
        if texts:
            self._put(types.Message(role="system", content="\n\n".join(texts)))
        return i

    def _put(self, message: types.Message, i: int = -1) -> None:
        self.messages.append(message)
        self.begins[i] = message

    def _add_message(self, i: int, item: ours.Message) -> None:
        if item.role == "assistant":
            self._continue(i, item).add_text(item, i)
            return
        if self._assistant.begins >= 0:
            self._close(i)
        message = self._plain(item, i)
        left = kept_message(item, WIRE) if item.leftovers is not None else None
        if message.content or message.images or left is not None:
            self._put(patch(message, left) if left else message, i)

    def _add_output(self, i: int, item: Output) -> None:
        if self._assistant.begins >= 0:
            self._close(i)
        if i not in self._outputs.places:
            self._lost.refused(f"input[{i}]", "an output without a call before it")
            self._output(i, item, item.name if isinstance(item, ours.FunctionCallOutput) else None)

    def _add_other(self, i: int, item: ours.AnyItem) -> None:
        path = f"input[{i}]"
        match item:
            case ours.Reasoning() if item.encrypted_content == issuer_seal(self._dialect.issuer):
                if text := encode_thinking(item):
                    own_leftovers(item, WIRE, path, self._lost)
                    self._continue(i, item).add_thinking(text, i)
            case ours.Reasoning():
                report_unknown(item, path, self._lost)
                report_foreign(item.leftovers, WIRE, path, self._lost)
                if is_unissued(item):
                    self._lost.dropped(path, UNISSUED)
                    return
                self._lost.withheld(path, "reasoning of another issuer, which is not given to a model as its own")
            case ours.ImageGenerationCall() if is_from(item, self._dialect.issuer):
                own_leftovers(item, WIRE, path, self._lost)
                self._continue(i, item).add_image(item, i)
            case ours.AdditionalTools():
                pass  # offered with the other tools
            case _:
                report_item(item, path, WIRE, self._lost, history=True)

    def _continue(self, i: int, item: ours.AnyItem) -> AssistantMessage:
        """The message for an item of the assistant; a text or thought after a text begins another."""
        msg = self._assistant
        left = kept_message(item, WIRE) if item.leftovers is not None else None
        if left is not None or (
            msg.texts and not msg.calls and struct_of(item) not in (*CALLS, ours.ImageGenerationCall)
        ):
            self._close(i)
            msg.left = left
        if msg.begins < 0:
            msg.begins = i
        return msg

    def _close(self, i: int) -> None:
        """Write the assistant's message, and the outputs of its calls after it, before the item at `i`."""
        msg = self._assistant
        calls, begins = msg.calls, msg.begins
        if msg.texts or calls or msg.thoughts or msg.images or msg.left is not None:
            self._put(msg.finish(), begins)
        msg.begins = -1
        if calls:
            self._place_outputs(calls, i)

    def _place_outputs(self, calls: list[tuple[Call, int]], i: int) -> None:
        after: list[str] = []
        start = i
        for call, k in calls:
            place = self._outputs.take(call.call_id, start, i)
            if place is None:
                self._lost.refused(f"input[{k}]", "a call without an output")
                continue
            if place != i:
                self._lost.emulated(f"input[{place}]", "an output, moved after its call")
            i = place + 1
            name = call.name if call.namespace is None else qualified(call.name, call.namespace)
            after += self._output(place, self._items[place], name)
        if after:
            self._put(types.Message(role="user", content="", images=after))

    def _output(self, i: int, item: Any, name: Any) -> list[str]:
        """Write an output, and return the images that it cannot hold."""
        text, lost = item.output, self._lost
        images: list[str] = []
        if not isinstance(text, str):
            text, images = encode_content(text, f"input[{i}].output", lost)
        if item.is_error or item.status == "incomplete":
            lost.changed(f"input[{i}].{'is_error' if item.is_error else 'status'}", 'a failure, marked by "Error: "')
            text = f"Error: {text}"
        if isinstance(item, ours.FunctionCallOutput) and item.name not in (None, name):
            lost.dropped(f"input[{i}].name", "another name than that of the call")
        id = UNSET if item.call_id is None else item.call_id
        message = types.Message(role="tool", content=text, tool_name=UNSET if name is None else name, tool_call_id=id)
        if images and self._dialect.tool_images:
            message.images, images = images, []
        elif images:
            lost.changed(f"input[{i}].output", "images, sent in a user message after the outputs")
        self._put(patch(message, kept_message(item, WIRE)) if item.leftovers else message, i)
        return images

    def _plain(self, item: ours.Message, i: int) -> types.Message:
        """The message for an item that is not the assistant's."""
        text: Any = item.content
        message = types.Message(role=item.role, content=text)
        if type(text) is not str:
            message.content, images = encode_content(text, f"input[{i}].content", self._lost)
            message.images = images or UNSET
        if item.role in SYSTEM:
            path = f"input[{i}]"
            message.role = "system"
            if item.role == "developer" and (self._has_prefix or self.messages):
                self._lost.changed(f"{path}.role", "the role developer, sent as system")
            if message.images:
                self._lost.refused(f"{path}.content", "an image in a system message")
        return message

    HANDLERS: ClassVar[dict[type, Callable[[MessageWriter, int, Any], None]]] = {
        ours.Message: _add_message,
        **dict.fromkeys(CALLS, lambda writer, i, item: writer._continue(i, item).calls.append((item, i))),
        **dict.fromkeys(OUTPUTS, _add_output),
    }
    """The writer of each item, by type."""


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def decode_messages(
    messages: Sequence[types.Message], dialect: OllamaDialect, lost: Losses, *, keep: bool
) -> tuple[str | None, list[ours.AnyItem]]:
    """The system prompt before the conversation, and the other messages as items."""
    first = messages[0] if messages else None
    msg = first.content if first is not None and first == types.Message(role="system", content=first.content) else None
    reader = _Reader(dialect, lost, keep)
    for k in range(1 if msg else 0, len(messages)):
        reader.add(k, messages[k])
    if keep:
        writer = MessageWriter("", reader.items, "", dialect, Losses())
        writer.write(0, len(reader.items))
        writer.finish()
        for i, made in writer.begins.items():
            if i in reader.begins and (left := diff(reader.begins[i], made)):
                keep_message(reader.items[i], WIRE, left)
    return msg or None, reader.items


class _Reader:
    __slots__ = ("_after_assistant", "_calls", "_dialect", "_keep", "_leading", "_lost", "_taken", "begins", "items")

    def __init__(self, dialect: OllamaDialect, lost: Losses, keep: bool) -> None:
        self.items: list[ours.AnyItem] = []
        self.begins: dict[int, types.Message] = {}  # by the place of their first item
        self._dialect = dialect
        self._lost = lost
        self._keep = keep
        self._leading = True  # no message yet
        self._after_assistant = False  # the message before was the assistant's
        self._taken: set[str] = set()
        self._calls = UnansweredCalls()

    def add(self, k: int, message: types.Message) -> None:
        role, path = message.role.lower(), f"messages[{k}]"
        self._leading = self._leading and role == "system"
        found: list[ours.AnyItem] = []
        begins = False
        if role == "assistant":
            found += self._assistant(message, path)
            begins = self._after_assistant or not (message.content or message.tool_calls or message.images)
        elif role == "tool":
            found.append(self._output(message, path))
        else:
            content = decode_content(message.content or "", message.images or None)
            found.append(ours.Message(role=role, content=content))
            begins = self._leading or not content
        if begins and self._keep and kept_message(found[0], WIRE) is None:
            keep_message(found[0], WIRE, {})
        self.begins[len(self.items)] = message
        self.items += found
        self._after_assistant = role == "assistant"

    def _assistant(self, message: types.Message, path: str) -> list[ours.AnyItem]:
        issuer = self._dialect.issuer
        items = decode_message(message, issuer, path, self._taken, path, self._lost, keep=self._keep)
        calls = [item for item in items if isinstance(item, ours.FunctionCall)]
        for item, call in zip(calls, message.calls, strict=True):
            self._calls.add(item, str(call.id or ""))
        return items or [ours.Message(role="assistant", content="")]

    def _output(self, message: types.Message, path: str) -> ours.FunctionCallOutput:
        call = self._calls.take(message.tool_call_id, message.tool_name)
        return ours.FunctionCallOutput(
            call_id=call.call_id if call else message.tool_call_id or derived_call_id(path, 0),
            output=decode_content(message.content or "", message.images or None),
            name=None if call else or_none(message.tool_name),
        )
