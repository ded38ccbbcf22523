"""Encoding of Responses events to the vendor's stream for a client.

A ninth module, because the decoder and the encoder of this wire share no more than a table. Before changing this file,
know that sent events cannot be changed, so that a different value at the end is reported; and that a signature comes
last and whole. Follows Anthropic's guide to streaming (read 2026-11-20).
"""

from __future__ import annotations

from copy import copy
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses
from ...responses import events as ev
from ...responses.carriers import report_failure
from ...unknown import Decoder, Unknown
from ...vendors.dialects import MessagesDialect, messages_model
from .. import stream
from ..leftovers import kind_of, opened
from ..tools import Call, json_value
from . import types
from .content import ANTHROPIC, NOTHING, Context, encode, encode_call, encode_part, wire_id
from .reasoning import (
    GAP,
    AnyPayload,
    AssistantMessage,
    Blocks,
    Citations,
    encode_foreign_thinking,
    returning_blocks,
)
from .request import asks_thinking
from .response import encode_end, encode_failure, encode_response, encode_usage, message_delta, model_of
from .stream import CITATION, Delta, Start, Stop
from .tools import VISIBLE
from .types import WIRE

_citation: Decoder[types.AnyCitation] = Decoder(types.AnyCitation)


class StreamEncoder(stream.StreamEncoder[MessagesDialect, types.AnyEvent]):
    """Converts Responses events to events of this wire."""

    DIALECT = ANTHROPIC

    def _prepare(self) -> None:
        self._context = Context(self.losses, self._dialect, messages_model(""), replay=False)
        wants_thinking = None if self._request is None else asks_thinking(self._request)
        self._writer = AssistantMessage(self._context, wants_thinking=wants_thinking)
        self._message: types.Message | None = None  # as it began
        self._model = ""  # that continued the answer
        self._item: ours.AnyItem | None = None  # the current item, as it was announced
        # The open block as it began, its number, how many characters of its text were sent, and the part or thought it shows.
        self._block: types.AnyBlock | None = None
        self._index = -1
        self._sent_length = 0
        self._part = -1
        self._thought_field, self._thought_part = "", 0
        self._held_arguments = ""  # the beginning of arguments that may be no object
        # The texts of the last message as they were sent, and their final values.
        self._sent_texts: list[types.Text] = []
        self._final_texts: list[types.Text] = []

    def feed(self, event: ev.AnyEvent) -> list[types.AnyEvent]:
        """The events to send for `event`."""
        if type(event) is ev.OutputTextDelta and event.output_index == self._at and event.content_index == self._part:
            self._sent_length += len(event.delta)
            return [Delta(index=self._index, delta=types.TextDelta(text=event.delta))]
        return super().feed(event)

    def _other(self, event: ev.AnyEvent) -> None:
        if isinstance(event, Unknown) and event.kind == CITATION and isinstance(event.get("output_index"), int):
            self._in_order(event, event["output_index"])
        else:
            self.losses.dropped(kind_of(event), "an event Anthropic does not have")

    # -- the message

    def _begin(self, response: ours.Response) -> None:
        if self._message is None:
            self._model = model = model_of(response, self._request)
            self._context.model = messages_model(model)
            self._message = types.Message(id=response.id, model=model, content=[], stop_reason=None, stop_sequence=None)
            self._message.usage = encode_usage(response, Losses())
            self._out.append(types.MessageStart(message=self._message))
            self.breaks_off = True

    def _end(self, response: ours.Response) -> None:
        self._begin(response)
        if not self._later or max(self._later) < len(response.output):  # else the host numbers its items otherwise
            while self._at < len(response.output):
                self._end_item(response.output[self._at])
                self._advance()
        self._encode_late()
        self._stop()
        self._send_whole(self._writer.close())
        body = encode_end(response, self._model, [], self.losses)
        if self._message is not None:
            if self._message.id != response.id:
                self.losses.changed("id", "not known when the answer began")
            if self._model != model_of(response, self._request):
                self.losses.changed("model", "not known when the answer began")
            self._out += [message_delta(self._message, body), types.MessageStop()]
        self._part = -1

    def _fail(self, response: ours.Response) -> None:
        if response.usage:
            self.losses.dropped("usage", "a failed answer, which is sent as an error at Anthropic")
        _, lost = encode_response(replace(response, status="completed"), request=self._request)
        failure = encode_failure(response, self._request, self.losses)
        report_failure(response, lost, self.losses, response.error and response.error.code, failure.error.type)
        self._out.append(failure)
        self._part = -1

    # -- items, one after another

    @property
    def _path(self) -> str:
        return f"output[{self._at}]"

    def _in_order(self, event: Any, index: int) -> None:
        self._begin(ours.Response(id="", status="in_progress", output=[]))
        if index >= self._at:
            super()._in_order(event, index)
        if index > self._at and isinstance(event, ev.OutputItemDone) and isinstance(event.item, ours.Reasoning):
            self._send_early(event.item, index)

    def _send_early(self, item: ours.Reasoning, index: int) -> None:
        """Send a run whose blocks are complete without the end of its visible items, which may take until the answer's end."""
        payload = opened(item, WIRE, self._dialect.issuer, AnyPayload)
        blocks = returning_blocks(payload.blocks) if isinstance(payload, Blocks) else None
        if blocks is None or not isinstance(self._item, VISIBLE):
            return
        between = (self._later.get(k, ()) for k in range(self._at + 1, index))
        if all(any(isinstance(getattr(event, "item", None), VISIBLE) for event in events) for events in between):
            for k in range(self._at, index + 1):
                self._later.pop(k, None)
            self._writer.pending = []
            self._at = index
            self._send_whole(blocks)
            self._end_item_turn()
            self._advance()

    def _encode(self, event: Any) -> None:
        match event:
            case ev.OutputItemAdded(item=item):
                self._begin_item(item)
            case ev.ContentPartAdded(part=part):
                self._begin_part(part, event.content_index)
            case ev.OutputTextDelta(delta=delta):
                self._add_text(delta, event.content_index)
            case ev.ContentPartDone(part=part):
                self._end_part(part, event.content_index)
            case Unknown():
                self._add_citation(event)
            case ev.ReasoningSummaryTextDelta(delta=delta) if delta:
                self._add_thinking(delta, "summary", event.summary_index)
            case ev.ReasoningTextDelta(delta=delta) if delta:
                self._add_thinking(delta, "content", event.content_index)
            case ev.FunctionCallArgumentsDelta(delta=delta) if isinstance(self._block, types.ToolUse):
                self._add_arguments(delta)
            case ev.CustomToolCallInputDelta(delta=delta) if delta and isinstance(self._block, types.ToolUse):
                self._add_input(delta)
            case ev.OutputItemDone(item=item):
                self._end_item(item)
            case _:
                pass  # the end of the item has the same

    def _begin_item(self, item: ours.AnyItem | None) -> None:
        self._item = item
        if item is None or isinstance(item, ours.Reasoning):
            return  # which may belong to what is before it
        self._stop()
        self._sent_texts = []
        if isinstance(item, VISIBLE):
            return
        self._send_whole(self._writer.flush())
        if isinstance(item, Call):
            empty = replace(item, arguments="{}") if isinstance(item, ours.FunctionCall) else replace(item, input="")
            call = encode_call(empty, wire_id(item.call_id), self._at, self._comparing())
            self._start(replace(call, input=NOTHING))
            self._held_arguments = ""

    def _end_item(self, item: ours.AnyItem | None) -> None:
        match item:
            case None:
                pass
            case ours.Message():
                self._end_message(item)
            case ours.FunctionCall() | ours.CustomToolCall():
                self._end_call(item)
            case ours.Reasoning() if isinstance(self._block, types.Thinking):
                self._end_thinking(item, self._block)
            case ours.Reasoning() if isinstance(opened(item, WIRE, self._dialect.issuer, AnyPayload), Citations):
                self._writer.write(item, self._at)
                self._add_late_citations()
            case _:
                self._send_whole(self._writer.write(item, self._at))
        self._end_item_turn()

    def _end_item_turn(self) -> None:
        self._item = None
        self._part = -1

    def _comparing(self) -> Context:
        """A context for encoding before the item is complete: its losses are reported when it is."""
        return Context(Losses(), self._dialect, self._context.model, replay=False)

    def _compare(self, sent: types.AnyBlock, expected: types.AnyBlock) -> None:
        if sent != expected:
            self.losses.changed(self._path, "fields that arrived after its beginning was sent")

    # -- blocks

    def _start(self, block: types.AnyBlock) -> None:
        """Begin a block, and end the one before."""
        self._stop()
        self._index += 1
        self._sent_length = 0
        self._block = block
        self._out.append(Start(index=self._index, content_block=copy(block)))

    def _send(self, delta: types.AnyDelta, sent: int = 0) -> None:
        """Send a piece of the open block."""
        self._sent_length += sent
        self._out.append(Delta(index=self._index, delta=delta))

    def _stop(self) -> None:
        """End the open block, if there is one."""
        if self._block is not None:
            self._block = None
            self._part = -1
            self._out.append(Stop(index=self._index))

    def _send_whole(self, blocks: list[Any]) -> None:
        """Send complete blocks."""
        for block in blocks:
            match block:
                case types.Thinking(thinking=text):
                    self._start(replace(block, thinking="", signature=""))
                    if text:
                        self._send(types.ThinkingDelta(thinking=text))
                    self._send(types.SignatureDelta(signature=block.signature))
                case types.ToolUse() | types.ServerToolUse() | types.McpToolUse():
                    self._start(replace(block, input=NOTHING))
                    self._send_input(block)
                case types.Compaction(content=content, encrypted_content=sealed):
                    empty = content if content is UNSET else None
                    self._start(replace(block, content=empty, encrypted_content=UNSET))
                    self._send(types.CompactionDelta(content=content, encrypted_content=sealed))
                case _:
                    self._start(block)
            if isinstance(block, types.Fallback):
                self._model = block.to.model
            self._stop()

    def _send_input(self, block: Any) -> None:
        if block.input != NOTHING:
            self._send(types.InputJsonDelta(partial_json=bytes(block.input).decode()))

    # -- messages

    def _begin_part(self, part: ours.ContentPart | None, index: int) -> None:
        if self._item is None:
            self._begin_item(ours.Message(role="assistant", content=[]))
        if part is None or not isinstance(self._item, ours.Message) or not isinstance(getattr(part, "text", None), str):
            return
        block = encode_part(part, self._path, self._comparing())
        if isinstance(block, types.Text):
            block.text = ""
            self._sent_texts.append(block)
            self._start(block)
            block.citations = [*block.citations] if block.citations else block.citations  # sent text cannot be changed
            self._part = index

    def _add_text(self, text: str, index: int) -> None:
        if self._part != index:
            self._begin_part(ours.OutputText(text=""), index)
        if text and self._part >= 0:
            self._send(types.TextDelta(text=text), len(text))

    def _end_part(self, part: ours.ContentPart | None, index: int) -> None:
        text = getattr(part, "text", None)
        if isinstance(text, str):
            if self._part != index:
                self._begin_part(part, index)
            self._add_text(text[self._sent_length :], self._part)

    def _add_citation(self, event: Unknown) -> None:
        try:
            citation = _citation.decode(encode(event.get("citation")))
        except DecodeError:
            return
        if self._sent_texts and self._block is self._sent_texts[-1]:
            self._send_citation(self._sent_texts[-1], citation)

    def _send_citation(self, text: types.Text, citation: types.AnyCitation) -> None:
        text.citations = text.citations or []
        text.citations.append(citation)
        self._send(types.CitationsDelta(citation=citation))

    def _add_late_citations(self) -> None:
        """Send citations that did not come with their texts with the last text, which is still open."""
        for sent, expected in zip(self._sent_texts, self._final_texts, strict=False):
            for citation in (expected.citations or [])[len(sent.citations or ()) :]:
                if sent is self._block:
                    self._send_citation(sent, citation)
                else:
                    self.losses.dropped(self._path, "a citation that arrived after the end of its text")

    def _end_message(self, item: ours.Message) -> None:
        parts = [ours.OutputText(text=item.content)] if isinstance(item.content, str) else item.content
        if self._item is None:
            self._begin_item(item)
        for index in range(max(self._part, 0), len(parts)):
            self._end_part(parts[index], index)
        self._final_texts = [block for block in self._writer.write(item, self._at) if isinstance(block, types.Text)]
        for sent, expected in zip(self._sent_texts, self._final_texts, strict=False):
            self._compare(replace(sent, citations=UNSET), replace(expected, text="", citations=UNSET))

    # -- thinking

    def _add_thinking(self, text: str, shown: str, part: int) -> None:
        """Send a piece of thinking, from an item's summary or its content; only one of the two is sent."""
        if self._writer.wants_thinking is False:
            return  # the end of the item says whose it is: the vendor's own is sent then
        if not isinstance(self._block, types.Thinking):
            self._send_whole(self._writer.flush())
            self._start(types.Thinking(thinking="", signature=""))
        if not self._sent_length:
            self._thought_field, self._thought_part = shown, part
        if shown == self._thought_field:
            text = text if part == self._thought_part else GAP + text
            self._thought_part = part
            self._send(types.ThinkingDelta(thinking=text), len(text))

    def _end_thinking(self, item: ours.Reasoning, sent: types.Thinking) -> None:
        """End thinking with its vendor's signature; without a valid one, as for other vendors, with an envelope."""
        text = GAP.join(part.text for part in getattr(item, self._thought_field) or ())
        blocks = self._writer.write(item, self._at)
        own = (block for block in blocks if isinstance(block, types.Thinking) and block.thinking == text)
        block = next(own, None) or encode_foreign_thinking(item, self._thought_field)
        if text[self._sent_length :]:
            self._send(types.ThinkingDelta(thinking=text[self._sent_length :]))
        self._send(types.SignatureDelta(signature=block.signature))
        self._compare(sent, replace(block, thinking="", signature=""))
        self._stop()

    # -- calls

    def _add_arguments(self, text: str) -> None:
        """Send a piece of arguments, at once if they begin as an object; others are converted when complete."""
        if not self._sent_length:
            text = self._held_arguments = self._held_arguments + text
        if text and (self._sent_length or text.lstrip()[:1] == "{"):
            self._send(types.InputJsonDelta(partial_json=text), len(text))

    def _add_input(self, text: str) -> None:
        """Send a piece of a custom call's free text, which is the one argument of a function."""
        head = "" if self._sent_length else '{"input":"'
        self._send(types.InputJsonDelta(partial_json=head + encode(text).decode()[1:-1]), len(text))

    def _end_call(self, item: Call) -> None:
        if not isinstance(self._block, types.ToolUse):
            self._begin_item(item)
        sent: Any = self._block
        expected: Call = item
        if isinstance(item, ours.CustomToolCall):
            if not self._sent_length or item.input[self._sent_length :]:
                self._add_input(item.input[self._sent_length :])
            self._send(types.InputJsonDelta(partial_json='"}'))
        elif self._sent_length or item.arguments.lstrip()[:1] == "{":
            self._held_arguments = ""
            self._add_arguments(item.arguments[self._sent_length :])
            expected = replace(item, arguments="{}")
            if json_value(item.arguments) is None:
                self.losses.changed(f"{self._path}.arguments", "not a JSON object; streamed unchanged")
        block: Any = self._writer.write(expected, self._at)[-1]
        if isinstance(item, ours.FunctionCall):
            self._send_input(block)
        self._compare(sent, replace(block, input=NOTHING))
        self._stop()
