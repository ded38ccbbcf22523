"""Streams to a client: each Responses event as the events of the vendor it makes.

A ninth module, because the two machines of this wire share no more than a table and are 500 lines each. Items come one after
another; those that began while another was open wait for their turn. Before changing this file, know that what was sent cannot
be taken back, so that what turns out otherwise at the end is reported; and that a signature comes last and whole. Follows
Anthropic's guide to streaming (read 2026-11-20).
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Losses
from ...responses import events as ev
from ...responses.carriers import report_failure
from ...unknown import Decoder, Unknown, base, extras, with_extras
from ...vendors.dialects import messages_model
from ..leftovers import as_plain, opened
from ..tool_names import Call
from ..tools import json_value
from . import types
from .content import NOTHING, Context, encode, encode_call, encode_part, kind_of, wire_id
from .messages import AssistantMessage
from .reasoning import GAP, VISIBLE, AnyPayload, Cited, Sealed, guest_thought, returning_blocks
from .response import encode_end, encode_failure, encode_response, encode_usage, model_of
from .stream import CITATION
from .types import WIRE

if TYPE_CHECKING:
    from ...vendors.dialects import MessagesDialect

# --- sending blocks -------------------------------------------------------------------------------------------------


class BlockSender:
    """Collects the events of blocks in `out`: `start` one, send its pieces, and `stop` it; the next one stops it too.

    `block` is the open block as it began, `sent` the number of characters of its text that were sent.
    """

    __slots__ = ("_head", "_thought", "as_it_comes", "block", "index", "model", "out", "part", "sent", "shown")

    def __init__(self) -> None:
        self.out: list[types.AnyEvent] = []
        self.block: types.AnyBlock | None = None
        self.index = -1
        self.sent = 0
        self.part = -1  # of the message that the open text is
        self.model = ""  # that went on with the answer
        self.shown = ""  # what of an item the open thought shows
        self._thought = 0
        self._head: list[str] = []
        self.as_it_comes: bool | None = None

    def start(self, block: types.AnyBlock) -> None:
        """A block begins."""
        self.stop()
        self.index += 1
        self.sent = 0
        self.block = block
        self.out.append(types.ContentBlockStart(index=self.index, content_block=copy(block)))

    def delta(self, delta: types.AnyDelta) -> None:
        """A piece of the open block."""
        self.out.append(types.ContentBlockDelta(index=self.index, delta=delta))

    def stop(self) -> None:
        """The open block, if there is one, is over."""
        if self.block is not None:
            self.block = None
            self.part = -1
            self.out.append(types.ContentBlockStop(index=self.index))

    def take(self) -> list[types.AnyEvent]:
        """The events since the last call."""
        out, self.out = self.out, []
        return out

    def whole(self, *blocks: types.AnyBlock) -> None:
        """Blocks that are known completely."""
        for block in blocks:
            self._whole(block)

    def _whole(self, block: types.AnyBlock) -> None:
        match block:
            case types.Thinking():
                self.start(replace(block, thinking="", signature=""))
                self.think(block.thinking, "", 0)
                self.delta(types.SignatureDelta(signature=block.signature))
            case types.ToolUse() | types.ServerToolUse() | types.McpToolUse():
                self.start(replace(block, input=NOTHING))
                if block.input != NOTHING:
                    self.delta(types.InputJsonDelta(partial_json=bytes(block.input).decode()))
            case types.Compaction():
                content = block.content if block.content is UNSET else None
                self.start(replace(block, content=content, encrypted_content=UNSET))
                self.delta(types.CompactionDelta(content=block.content, encrypted_content=block.encrypted_content))
            case types.Fallback():
                self.model = block.to.model
                self.start(block)
            case _:
                self.start(block)
        self.stop()

    # -- pieces

    def text(self, text: str) -> None:
        """A piece of the open text."""
        if text and self.part >= 0:
            self.sent += len(text)
            self.delta(types.TextDelta(text=text))

    def think(self, text: str, shown: str, part: int) -> None:
        """A piece of a thought, which shows an item's summary or its content; what is not shown is left out."""
        if not isinstance(self.block, types.Thinking):
            self.start(types.Thinking(thinking="", signature=""))
        if not self.sent:
            self.shown, self._thought = shown, part
        if text and shown == self.shown:
            text = text if part == self._thought else GAP + text
            self._thought = part
            self.sent += len(text)
            self.delta(types.ThinkingDelta(thinking=text))

    def call(self, block: types.ToolUse) -> None:
        """A call begins."""
        self.start(replace(block, input=NOTHING))
        self._head, self.as_it_comes = [], None

    def arguments(self, text: str) -> None:
        """A piece of a call's arguments. They are sent as they come if they begin as an object; other ones have to be mended."""
        if self.as_it_comes is None:
            self._head.append(text)
            if not text or text.isspace():
                return
            text = "".join(self._head)
            self.as_it_comes = text.lstrip()[0] == "{"
        if self.as_it_comes and text:
            self.sent += len(text)
            self.delta(types.InputJsonDelta(partial_json=text))

    def input(self, text: str) -> None:
        """A piece of a custom call's free text, which is the one argument of a function."""
        head = "" if self.sent else '{"input":"'
        self.sent += len(text)
        self.delta(types.InputJsonDelta(partial_json=head + encode(text).decode()[1:-1]))


def message_delta(begun: types.Message, body: types.Message) -> types.MessageDelta:
    """What became known of an answer after it had begun."""
    ending = types.Ending(
        stop_reason=body.stop_reason,
        stop_sequence=body.stop_sequence,
        stop_details=body.stop_details,
        container=body.container,
    )
    more = extras(body) | ({} if body.diagnostics is UNSET else {"diagnostics": as_plain(body.diagnostics)})
    if body.role != begun.role:
        more["role"] = body.role
    counts = body.usage or types.Usage()
    usage, news = types.Usage(output_tokens=counts.output_tokens), base(counts)
    for name in types.Usage.__struct_fields__:
        if name == "input_tokens" or getattr(news, name) != getattr(begun.usage, name):
            setattr(usage, name, getattr(news, name))
    return types.MessageDelta(
        delta=with_extras(ending, more),
        usage=with_extras(usage, extras(counts)),
        context_management=body.context_management,
        input_transformations=body.input_transformations,
    )


# --- the encoder -----------------------------------------------------------------------------------------------------

_citation: Decoder[types.AnyCitation] = Decoder(types.AnyCitation)


class StreamEncoder:
    """`feed` takes an event and gives the events of this wire that it makes; `close` ends a stream that has no end."""

    def __init__(self, request: ours.Request | None, dialect: MessagesDialect) -> None:
        self.losses = Losses()
        self._request = request
        self._context = Context(self.losses, dialect, messages_model(""), replay=False)
        self._writer = AssistantMessage(self._context)
        self._to = BlockSender()
        self._message: types.Message | None = None  # as it began
        self._error: ev.StreamError | None = None
        self._over = False
        # The item whose turn it is: its place, and itself as it was announced.
        self._at = 0
        self._item: ours.AnyItem | None = None
        self._later: dict[int, list[Any]] = {}
        # The texts of the last message as they were sent, and as they turned out to be.
        self._texts: list[types.Text] = []
        self._meant: list[types.Text] = []

    def feed(self, event: ev.AnyEvent) -> list[types.AnyEvent]:
        """What is sent for `event`."""
        to = self._to
        if type(event) is ev.OutputTextDelta and event.output_index == self._at and event.content_index == to.part:
            to.sent += len(event.delta)
            return [types.ContentBlockDelta(index=to.index, delta=types.TextDelta(text=event.delta))]
        if not self._over:
            self._feed(event)
        return to.take()

    def close(self) -> list[types.AnyEvent]:
        """What ends the stream of an answer that broke off: an error."""
        if not self._over and (self._message is not None or self._error is not None):
            broke_off = self._error or ours.ResponseError(message="the answer broke off", code="server_error")
            self._fail(ours.Response(id="", status="failed", error=broke_off, output=[]))
        return self._to.take()

    def _feed(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.OfItem() | ev.OutputItemAdded() | ev.OutputItemDone():
                self._of_item(event, event.output_index)
            case ev.ResponseCompleted() | ev.ResponseIncomplete():
                self._end(event.response)
            case ev.ResponseFailed():
                self._fail(event.response)
            case ev.ErrorEvent():
                self._error = event.details  # the failed response that follows says more
            case ev.OfResponse():
                self._begin(event.response)
            case Unknown() if event.kind == CITATION and isinstance(event.get("output_index"), int):
                self._of_item(event, event["output_index"])
            case _:
                self.losses.dropped(kind_of(event), "an event Anthropic does not have")

    # -- the message

    def _begin(self, response: ours.Response) -> types.Message:
        if self._message is None:
            self._to.model = model = model_of(response, self._request)
            self._context.model = messages_model(model)
            usage = encode_usage(response, Losses())
            self._message = types.Message(
                id=response.id, model=model, content=[], stop_reason=None, stop_sequence=None, usage=usage
            )
            self._to.out.append(types.MessageStart(message=self._message))
        return self._message

    def _end(self, response: ours.Response) -> None:
        begun = self._begin(response)
        if self._later and max(self._later) >= len(response.output):
            self._at = min(self._later)  # the host numbers its items otherwise: all of them are waiting
            self._catch_up()
        while self._at < len(response.output):
            self._done(response.output[self._at])
            self._catch_up()
        for at in sorted(self._later):
            self._at = max(self._at, at)
            self._catch_up()
        self._to.stop()
        self._to.whole(*self._writer.close())
        body = encode_end(response, self._to.model, [], self.losses)
        if begun.id != response.id:
            self.losses.changed("id", "not known when the answer began")
        if self._to.model != model_of(response, self._request):
            self.losses.changed("model", "not known when the answer began")
        self._to.out += [message_delta(begun, body), types.MessageStop()]
        self._over = True

    def _fail(self, response: ours.Response) -> None:
        if not response.error and self._error is not None:
            response = replace(response, error=self._error)
        if response.usage:
            self.losses.dropped("usage", "a failed answer is an error at Anthropic and nothing else")
        _, lost = encode_response(replace(response, status="completed"), request=self._request)
        failure = encode_failure(response, self._request, self.losses)
        report_failure(response, lost, self.losses, response.error and response.error.code, failure.error.type)
        self._to.out.append(failure)
        self._over = True
        self._to.part = -1

    # -- items, one after another

    @property
    def _path(self) -> str:
        return f"output[{self._at}]"

    def _of_item(self, event: Any, index: int) -> None:
        self._begin(ours.Response(id="", status="in_progress", output=[]))
        if index == self._at:
            self._play(event)
        elif index > self._at:
            self._later.setdefault(index, []).append(event)
            if isinstance(event, ev.OutputItemDone) and isinstance(event.item, ours.Reasoning):
                self._overtake(event.item, index)
        self._catch_up()

    def _catch_up(self) -> None:
        while self._at in self._later:
            for event in self._later.pop(self._at):
                self._play(event)

    def _overtake(self, item: ours.Reasoning, index: int) -> None:
        """A run whose blocks are there needs no end of the items that show it, which may take as long as the answer."""
        payload: AnyPayload | None = opened(item, WIRE, self._context.dialect.issuer, AnyPayload)
        blocks = returning_blocks(payload.blocks) if isinstance(payload, Sealed) else None
        if blocks is None or not isinstance(self._item, VISIBLE):
            return
        between = (self._later.get(k, ()) for k in range(self._at + 1, index))
        if all(any(isinstance(getattr(event, "item", None), VISIBLE) for event in events) for events in between):
            for k in range(self._at, index + 1):
                self._later.pop(k, None)
            self._writer.forget()
            self._at = index
            self._to.whole(*blocks)
            self._next()

    def _play(self, event: Any) -> None:
        match event:
            case ev.OutputItemAdded(item=item):
                self._announce(item)
            case ev.ContentPartAdded(part=part):
                self._open_part(part, event.content_index)
            case ev.OutputTextDelta(delta=delta):
                if self._to.part != event.content_index:
                    self._open_part(ours.OutputText(text=""), event.content_index)
                self._to.text(delta)
            case ev.ContentPartDone(part=part):
                self._end_part(part, event.content_index)
            case Unknown():
                self._cite(event)
            case ev.ReasoningSummaryTextDelta(delta=delta):
                self._think(delta, "summary", event.summary_index)
            case ev.ReasoningTextDelta(delta=delta):
                self._think(delta, "content", event.content_index)
            case ev.FunctionCallArgumentsDelta(delta=delta) if isinstance(self._to.block, types.ToolUse):
                self._to.arguments(delta)
            case ev.CustomToolCallInputDelta(delta=delta) if isinstance(self._to.block, types.ToolUse):
                self._to.input(delta)
            case ev.OutputItemDone(item=item):
                self._done(item)
            case _:
                pass  # the end of the item says the same

    def _announce(self, item: ours.AnyItem | None) -> None:
        self._item = item
        if item is None or isinstance(item, ours.Reasoning):
            return  # which may belong to what stands before it
        self._to.stop()
        self._texts = []
        if isinstance(item, VISIBLE):
            return
        self._to.whole(*self._writer.settle())
        if isinstance(item, Call):
            self._call(item)

    def _done(self, item: ours.AnyItem | None) -> None:
        match item:
            case None:
                pass
            case ours.Message():
                self._end_message(item)
            case ours.FunctionCall() | ours.CustomToolCall():
                self._end_call(item)
            case ours.Reasoning():
                self._end_reasoning(item)
            case _:
                self._send_all(item)
        self._next()

    def _next(self) -> None:
        self._at += 1
        self._item = None
        self._to.part = -1

    def _send_all(self, item: ours.AnyItem) -> None:
        self._to.whole(*self._writer.write(item, self._path))

    def _comparing(self) -> Context:
        """For what is encoded before it is complete: its losses are reported when it is."""
        return Context(Losses(), self._context.dialect, self._context.model, replay=False)

    # -- messages

    def _open_part(self, part: ours.ContentPart | None, index: int) -> None:
        if self._item is None:
            self._announce(ours.Message(role="assistant", content=[]))
        if part is None or not isinstance(self._item, ours.Message) or not isinstance(getattr(part, "text", None), str):
            return
        block = encode_part(part, self._path, self._comparing())
        if isinstance(block, types.Text):
            block.text = ""
            self._texts.append(block)
            self._to.start(block)
            block.citations = [*block.citations] if block.citations else block.citations  # what was sent stays as it is
            self._to.part = index

    def _end_part(self, part: ours.ContentPart | None, index: int) -> None:
        text = getattr(part, "text", None)
        if isinstance(text, str):
            if self._to.part != index:
                self._open_part(part, index)
            self._to.text(text[self._to.sent :])

    def _cite(self, event: Unknown) -> None:
        try:
            citation = _citation.decode(encode(event.get("citation")))
        except DecodeError:
            return
        if self._texts and self._to.block is self._texts[-1]:
            self._send_citation(self._texts[-1], citation)

    def _send_citation(self, text: types.Text, citation: types.AnyCitation) -> None:
        if text.citations:
            text.citations.append(citation)
        else:
            text.citations = [citation]
        self._to.delta(types.CitationsDelta(citation=citation))

    def _end_message(self, item: ours.Message) -> None:
        parts = [ours.OutputText(text=item.content)] if isinstance(item.content, str) else item.content
        if self._item is None:
            self._announce(item)
        for index in range(max(self._to.part, 0), len(parts)):
            self._end_part(parts[index], index)
        self._meant = [block for block in self._writer.write(item, self._path) if isinstance(block, types.Text)]
        for sent, meant in zip(self._texts, self._meant, strict=False):
            self._compare(replace(sent, citations=UNSET), replace(meant, text="", citations=UNSET))

    def _compare(self, sent: types.AnyBlock, meant: types.AnyBlock) -> None:
        if sent != meant:
            self.losses.changed(self._path, "what became known of it after it had begun")

    # -- reasoning, and what it carries

    def _think(self, text: str, shown: str, part: int) -> None:
        if text and not isinstance(self._to.block, types.Thinking):
            self._to.whole(*self._writer.settle())
        if text:
            self._to.think(text, shown, part)

    def _end_reasoning(self, item: ours.Reasoning) -> None:
        if isinstance(self._to.block, types.Thinking):
            self._sign(item, self._to.block)
        elif isinstance(opened(item, WIRE, self._context.dialect.issuer, AnyPayload), Cited):
            self._writer.write(item, self._path)
            self._cite_late()
        else:
            self._send_all(item)

    def _sign(self, item: ours.Reasoning, sent: types.Thinking) -> None:
        """End a thought with its vendor's signature; one of another vendor, or that does not hold, goes as a guest."""
        text = GAP.join(part.text for part in getattr(item, self._to.shown) or ())
        blocks = self._writer.write(item, self._path)
        told = (block for block in blocks if isinstance(block, types.Thinking) and block.thinking == text)
        block = next(told, None) or guest_thought(item, self._to.shown)
        if text[self._to.sent :]:
            self._to.delta(types.ThinkingDelta(thinking=text[self._to.sent :]))
        self._to.delta(types.SignatureDelta(signature=block.signature))
        self._compare(sent, replace(block, thinking="", signature=""))
        self._to.stop()

    def _cite_late(self) -> None:
        """Citations that did not come with their texts reach the last one, which is still open."""
        for sent, meant in zip(self._texts, self._meant, strict=False):
            for citation in (meant.citations or [])[len(sent.citations or ()) :]:
                if sent is self._to.block:
                    self._send_citation(sent, citation)
                else:
                    self.losses.dropped(self._path, "a citation that came when its text was over")

    # -- calls

    def _call(self, item: Call) -> None:
        empty = replace(item, arguments="{}") if isinstance(item, ours.FunctionCall) else replace(item, input="")
        self._to.call(encode_call(empty, wire_id(item.call_id), self._path, self._comparing()))

    def _end_call(self, item: Call) -> None:
        if not isinstance(self._to.block, types.ToolUse):
            self._announce(item)
        sent: Any = self._to.block
        meant: Call = item
        if isinstance(item, ours.CustomToolCall):
            if item.input[self._to.sent :] or not self._to.sent:
                self._to.input(item.input[self._to.sent :])
            self._to.delta(types.InputJsonDelta(partial_json='"}'))
        else:
            self._to.arguments(item.arguments[self._to.sent :] if self._to.as_it_comes else item.arguments)
            if self._to.as_it_comes:
                meant = replace(item, arguments="{}")
                if json_value(item.arguments) is None:
                    self.losses.changed(f"{self._path}.arguments", "not a JSON object; streamed as it came")
        block: Any = self._writer.write(meant, self._path)[-1]
        if isinstance(item, ours.FunctionCall) and block.input != NOTHING:
            self._to.delta(types.InputJsonDelta(partial_json=bytes(block.input).decode()))
        self._compare(sent, replace(block, input=NOTHING))
        self._to.stop()
