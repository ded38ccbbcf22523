"""The messages of a request, both ways: items in the order of a conversation, messages as templates want them.

The server checks no order, but templates pair outputs with calls by their place and know one system message: so outputs stand
right behind the message with their calls and in the order of the calls, and what is said to the model before anybody speaks
is one message. Before changing this file, know that appending items must not change the messages made of earlier ones: the
server reuses what it computed for the same beginning. Follows Ollama's API reference (read 2026-11-20).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from ...responses import items as it
from ...responses.items import (
    AnyItem,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
)
from ...responses.leftovers import own, report_foreign
from ...responses.repair import derived_call_id
from ...unknown import Opt, Unknown, given, or_none, or_unset
from .._left import leftovers, report_unknown, rest, sent, spell
from .._renamed import qualified
from . import types
from .content import decode_content, encode_content
from .spoken import Turn, decode_spoken, mark, marked, text_of
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...dialects import OllamaDialect
    from ...losses import Losses

Output = FunctionCallOutput | CustomToolCallOutput

HOSTED = (
    it.WebSearchCall
    | it.FileSearchCall
    | it.CodeInterpreterCall
    | it.ImageGenerationCall
    | it.McpListTools
    | it.McpCall
    | it.ToolSearchCall
    | it.ToolSearchOutput
)
"""Records of what a vendor did on its own; their effect is in the text that follows."""

SYSTEM = ("system", "developer")
APART = "apart"
"""Notes that an item began a message of its own, where it would be joined to the one before."""


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def encode_messages(
    instructions: str, items: Sequence[AnyItem], note: str, dialect: OllamaDialect, lost: Losses
) -> list[types.Message]:
    """The messages for the items; the instructions, what system messages say first, and `note` are one message."""
    writer = _Writer(items, dialect, lost)
    first = writer.begin(instructions, note)
    for i in range(first, len(items)):
        writer.add(i, items[i])
    return writer.finish()


class _Writer:
    __slots__ = ("_dialect", "_items", "_lost", "_messages", "_outputs", "_placed", "_turn")

    def __init__(self, items: Sequence[AnyItem], dialect: OllamaDialect, lost: Losses) -> None:
        self._items = items
        self._dialect = dialect
        self._lost = lost
        self._messages: list[types.Message] = []
        self._turn: Turn | None = None
        self._placed: set[int] = set()  # outputs that stand behind their calls already
        self._outputs: dict[str, list[int]] = {}  # where the outputs of a call are, the first one last
        for i in range(len(items) - 1, -1, -1):
            item = items[i]
            if isinstance(item, Output):
                self._outputs.setdefault(item.call_id or "", []).append(i)

    def begin(self, instructions: str, note: str) -> int:
        """Write what is said to the model before anybody speaks; how many items that took."""
        said = {"instructions": instructions} if instructions else {}
        i = 0
        while i < len(self._items):
            path = f"input[{i}]"
            item = self._items[i]
            if not isinstance(item, Message) or item.role not in SYSTEM or marked(item, APART):
                break
            report_unknown(item, path, self._lost)
            text = self._content(item, path).content
            if text:
                said[path] = text
            i += 1
        texts = [*said.values(), note] if note else [*said.values()]
        for path in said if len(texts) > 1 else ():
            self._lost.changed(path, "part of one system message, in which blank lines stand between the parts")
        if texts:
            self._messages.append(types.Message(role="system", content="\n\n".join(texts)))
        return i

    def add(self, i: int, item: AnyItem) -> None:
        path = f"input[{i}]"
        if not isinstance(item, Unknown):
            report_unknown(item, path, self._lost)
        match item:
            case Message(role="assistant"):
                self._say(i, item, path)
            case Message():
                self._close(i)
                message = self._content(item, path)
                if message.content or message.images or own(item.leftovers, WIRE):
                    self._messages.append(message)
            case FunctionCall() | CustomToolCall():
                turn = self._open(i, item, path)
                turn.call(item, path)
            case FunctionCallOutput() | CustomToolCallOutput():
                self._close(i)
                if i not in self._placed:
                    self._lost.refused(path, "an output without a call before it")
                    self._place(item.call_id or "")
                    self._output(i, item, item.name if isinstance(item, FunctionCallOutput) else None)
            case Reasoning():
                self._think(i, item, path)
            case Unknown():
                self._lost.dropped(path, f"an item of type {item.kind!r}")
            case it.AdditionalTools():
                pass  # offered with the other tools
            case _ if isinstance(item, HOSTED):
                self._lost.dropped(path, f"the record {item.__struct_config__.tag!r} of what a vendor did")
            case _:
                self._lost.refused(path, f"an item of type {item.__struct_config__.tag!r}, which only Responses has")

    def finish(self) -> list[types.Message]:
        turn = self._turn
        if turn is not None and not turn.has_text and not turn.calls and not turn.is_noted:
            # A message that ends the conversation is taken for the beginning of the answer.
            for path in turn.thoughts:
                self._lost.dropped(path, "a thought that nothing follows")
            self._turn = None
        self._close(len(self._items))
        return self._messages

    # --- the assistant's turn ---

    def _open(self, i: int, item: AnyItem, path: str) -> Turn:
        """The turn that the item at `i` belongs to."""
        if self._turn is not None and marked(item, APART):
            self._close(i)
        if self._turn is None:
            self._turn = Turn(self._lost)
        self._turn.keep(item, path)
        return self._turn

    def _say(self, i: int, item: Message, path: str) -> None:
        turn = self._turn
        if turn is not None and turn.has_text and not turn.calls:
            self._close(i)
        self._open(i, item, path).say(item, path)

    def _think(self, i: int, item: Reasoning, path: str) -> None:
        text = text_of(item)
        if item.encrypted_content != mark(self._dialect.issuer):
            self._lost.withheld(path, "reasoning of another issuer, which is not given to a model as its own")
        elif text:
            turn = self._turn
            if turn is not None and turn.has_text and not turn.calls:
                self._close(i)
            self._open(i, item, path).think(text, path)

    def _close(self, i: int) -> None:
        """Write the open turn, and the outputs of its calls behind it, before the item at `i`."""
        turn, self._turn = self._turn, None
        if turn is None:
            return
        said = turn.finish()
        if turn.has_text or turn.calls or said.thinking or turn.is_noted:
            self._messages.append(said)
        after: list[str] = []
        for call, path in turn.calls:
            place = self._place(call.call_id)
            if place is None:
                self._lost.refused(path, "a call without an output")
                continue
            if place != i:
                self._lost.emulated(f"input[{place}]", "an output, moved behind its call")
            i = place + 1
            self._placed.add(place)
            after += self._output(place, self._items[place], qualified(call.name, call.namespace))
        if after:
            self._messages.append(types.Message(role="user", content="", images=after))

    def _place(self, call_id: str) -> int | None:
        """Where the next output of a call stands."""
        places = self._outputs.get(call_id)
        return places.pop() if places else None

    def _output(self, i: int, item: Any, name: Any) -> list[str]:
        """Write an output, and give the images that have no place in it."""
        path, lost = f"input[{i}]", self._lost
        text, images = encode_content(item.output, f"{path}.output", lost)
        if item.is_error or item.status == "incomplete":
            lost.changed(f"{path}.{'is_error' if item.is_error else 'status'}", 'a failure, told by the word "Error"')
            text = f"Error: {text}"
        message = types.Message(
            role="tool", content=text, tool_name=or_unset(name), tool_call_id=or_unset(item.call_id)
        )
        if images and self._dialect.tool_images:
            message.images, images = images, []
        elif images:
            lost.changed(f"{path}.output", "images, sent in a user message after the outputs")
        if item.leftovers:
            report_foreign(item.leftovers, WIRE, path, lost)
            message = spell(message, own(item.leftovers, WIRE))
        self._messages.append(message)
        return images

    def _content(self, item: Message, path: str) -> types.Message:
        """The message for an item that is not the assistant's."""
        text, images = encode_content(item.content, f"{path}.content", self._lost)
        message = types.Message(role=item.role, content=text)
        if images:
            message.images = images
        if item.role in SYSTEM:
            message.role = "system"
            if item.role == "developer" and self._messages:
                self._lost.changed(f"{path}.role", "the role developer, sent as system")
            if images:
                self._lost.refused(f"{path}.content", "an image in a system message")
        if item.leftovers:
            report_foreign(item.leftovers, WIRE, path, self._lost)
            message = spell(message, own(item.leftovers, WIRE))
        return message


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def decode_messages(
    messages: Sequence[types.Message], dialect: OllamaDialect, lost: Losses
) -> tuple[str | None, list[AnyItem]]:
    """What a system message says before anybody speaks, and the other messages as items."""
    first = messages[0] if messages else None
    plain = first is not None and first == types.Message(role="system", content=first.content)
    said = first.content if first is not None and plain and first.content else None
    reader = _Reader(dialect, lost)
    for k in range(1 if said else 0, len(messages)):
        reader.add(k, messages[k])
    return said, reader.items


class _Reader:
    __slots__ = ("_answers", "_dialect", "_leading", "_lost", "_spoke", "_taken", "items")

    def __init__(self, dialect: OllamaDialect, lost: Losses) -> None:
        self.items: list[AnyItem] = []
        self._dialect = dialect
        self._lost = lost
        self._leading = True  # nobody has spoken yet
        self._spoke = False  # the message before was the assistant's
        self._taken: set[str] = set()
        self._answers = _Unanswered()

    def add(self, k: int, message: types.Message) -> None:
        role = message.role.lower()
        self._leading = self._leading and role == "system"
        if role == "assistant":
            self._assistant(k, message)
        elif role == "tool":
            self.items.append(self._output(k, message))
        else:
            self.items.append(self._plain(role, message))
        self._spoke = role == "assistant"

    def _assistant(self, k: int, message: types.Message) -> None:
        path = f"messages[{k}]"
        items, left, spelling = decode_spoken(message, self._dialect.issuer, path, self._taken, path, self._lost)
        if not items:
            items = [Message(role="assistant", content="")]
            spelling.setdefault("content", "")
        if self._spoke:
            spelling[APART] = True
        first = items[0]
        if (left or spelling) and isinstance(first, Message | Reasoning | FunctionCall):
            first.leftovers = leftovers(WIRE, {**own(first.leftovers, WIRE), **left}, spelling)
        calls = [item for item in items if isinstance(item, FunctionCall)]
        for item, call in zip(calls, message.tool_calls or (), strict=True):
            self._answers.add(item, call.id)
        self.items += items

    def _output(self, k: int, message: types.Message) -> FunctionCallOutput:
        id = message.tool_call_id
        call = self._answers.take(id, message.tool_name)
        item = FunctionCallOutput(
            call_id=call.call_id if call else id or derived_call_id(f"messages[{k}]", 0),
            output=decode_content(message.content or "", message.images or None),
            name=None if call else or_none(message.tool_name),
        )
        spelling: Json = {} if message.role == "tool" else {"role": message.role}
        if not given(message.content):
            spelling["content"] = sent(message.content)
        if message.images is not UNSET and not message.images:
            spelling["images"] = message.images
        if id != item.call_id:
            spelling["tool_call_id"] = sent(id)
        if call and message.tool_name != call.name:
            spelling["tool_name"] = sent(message.tool_name)
        left = rest(message, "role", "content", "images", "tool_name", "tool_call_id")
        item.leftovers = leftovers(WIRE, left, spelling)
        return item

    def _plain(self, role: str, message: types.Message) -> Message:
        item = Message(role=role, content=decode_content(message.content or "", message.images or None))
        spelling: Json = {} if message.role == role else {"role": message.role}
        if not message.content:
            spelling["content"] = sent(message.content)
        if message.images is not UNSET and not message.images:
            spelling["images"] = message.images
        if self._leading:
            spelling[APART] = True
        item.leftovers = leftovers(WIRE, rest(message, "role", "content", "images"), spelling)
        return item


class _Unanswered:
    """The calls without an output yet, found by the id they came with, by their name, and in their order."""

    __slots__ = ("_answered", "_by_id", "_by_name", "_calls", "_in_order")

    def __init__(self) -> None:
        self._calls: list[FunctionCall] = []
        self._answered: set[int] = set()
        self._by_id: dict[str, deque[int]] = {}
        self._by_name: dict[str, deque[int]] = {}
        self._in_order: deque[int] = deque()

    def add(self, call: FunctionCall, id: Opt[str]) -> None:
        """A call that came with `id`."""
        place = len(self._calls)
        self._calls.append(call)
        self._in_order.append(place)
        self._by_name.setdefault(call.name, deque()).append(place)
        if id:
            self._by_id.setdefault(id, deque()).append(place)

    def take(self, id: Opt[str], name: Opt[str]) -> FunctionCall | None:
        """The call that a tool message is about: of its id, else the next of its name, else the next.

        The server looks at no id, and there are clients that make up one for a call that came without.
        """
        for places in (self._by_id.get(id or ""), self._by_name.get(name or ""), self._in_order):
            while places:
                place = places.popleft()
                if place not in self._answered:
                    self._answered.add(place)
                    return self._calls[place]
        return None
