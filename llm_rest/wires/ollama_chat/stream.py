"""Streaming on this wire: conversion of the server's lines to Responses events, and back.

A line holds a piece of thinking, a piece of text, whole calls, or several of these; the last one has the finish reason
and may hold calls too. The lines are merged to the whole answer, whose end `response.py` decodes and encodes. Before
changing this file, know that white space before a call is no message, so it is held back until something follows.
Follows Ollama's page on streaming (read 2026-11-20).
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Losses
from ...responses import events as ev
from ...responses.carriers import report_error, report_failure
from ...unknown import Opt, Unknown, extras, given, or_unset, with_extras
from ...vendors.dialects import OllamaDialect
from .. import stream
from ..kept import diff, keep_message, patch, unknown
from ..leftovers import as_summary, wants_summary
from ..stream import unsent
from ..tools import ONE_CALL, sent_tools
from . import types
from .content import decode_images
from .reasoning import decode_thinking
from .request import OLLAMA
from .response import (
    begin_response,
    created_at,
    encode_response,
    finish_response,
    keep_answer,
    line_error,
    origin_of,
    placed_item,
    stamp_of,
    text_part,
)
from .tools import decode_call, encode_call
from .types import WIRE, Json

if TYPE_CHECKING:
    from ..stream import OpenParts, Part

__all__ = ["decode_stream", "encode_stream"]


class StreamDecoder(stream.StreamDecoder[OllamaDialect]):
    """Converts the server's lines to Responses events."""

    DIALECT = OLLAMA

    def _prepare(self) -> None:
        self._names = sent_tools(self._request, custom_tools=False)
        self._thought_part: type[Part] = ours.SummaryText if wants_summary(self._request) else ours.ReasoningText
        self._first_line: types.Chunk | None = None
        self._origin = ""
        self._response = ours.Response(id="", status="in_progress", output=[])
        self._held_space: list[str] = []  # which no text has followed yet
        self._call_ids: set[str] = set()  # ids of calls
        # The whole answer.
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._images: list[str] = []
        self._sent_images = 0
        self._calls: list[types.ToolCall] = []
        self._logprobs: list[ours.Logprob] = []
        self._message_fields: Json = {}  # fields of messages beside these
        self._role = "assistant"
        self._unknown_fields: Json = {}  # fields of lines

    def _feed(self, event: types.Chunk) -> None:
        line = event
        if line.error:
            self._end_with_error(line)
            return
        if self._first_line is None:
            self._start(line)
            self._first_line = line
            self._emitter.start(self._response)
        if line.logprobs:
            self._logprobs += line.logprobs
        msg = line.message
        if msg:
            if msg.thinking:
                self._thinking.append(msg.thinking)
                self._append(ours.Reasoning, msg.thinking, self._thought_part)
            if msg.content:
                self._content.append(msg.content)
                self._add_text(msg.content, line.logprobs or None)
            if msg.images:
                self._images += msg.images
            if msg.tool_calls:
                self._add_calls(msg)
            if type(msg) is not types.Message:
                merged = {name: getattr(msg, name) for name in ("role", "content", "thinking", "images", "tool_calls")}
                self._message_fields |= diff(msg, types.Message(**merged))
            self._role = msg.role or self._role
        if type(line) is not types.Chunk:
            self._add_unknown(line)
        if line.done:
            self._end(line)

    def _start(self, line: types.Chunk) -> None:
        self._origin = origin_of(line)
        self._response = begin_response(line, self._origin, self._request, self._now, keep=self._keep)

    def _add_unknown(self, line: types.Chunk) -> None:
        """Add a line with undeclared fields: of the answer, or of another document."""
        if given(line.message) or line.done:
            self._unknown_fields |= extras(line)
        else:
            self._emitter.send(Unknown({**diff(line, types.Chunk()), "sequence_number": self._emitter.number()}))

    def _end(self, line: types.Chunk) -> None:
        response = self._response
        if self._held_space and not self._calls:
            self._append(ours.Message, "".join(self._held_space))
        elif self._held_space and any(isinstance(item, ours.Message) for item in self._output):
            self.losses.dropped("message.content", "space after a call")
        self._add_images()
        self._end_open()
        output = response.output = cast("list[ours.AnyItem]", self._output)
        finish_response(response, line, self._request, self.losses)
        answer = self._answer(line)
        if self._keep:
            keep_answer(response, answer, self._dialect)
        elif output and (left := unknown(answer.message)):
            output[0] = copy(output[0])
            keep_message(output[0], WIRE, left)
        self._finish(response)

    def _answer(self, line: types.Chunk) -> types.Answer:
        """The whole answer of the lines so far."""
        fields = {name: getattr(line, name) for name in types.Line.__struct_fields__}
        fields["created_at"] = self._first_line.created_at if self._first_line is not None else UNSET
        fields["logprobs"] = self._logprobs or UNSET
        msg = types.Message(
            role=self._role,
            content="".join(self._content),
            thinking="".join(self._thinking) or UNSET,
            images=self._images or UNSET,
            tool_calls=self._calls or UNSET,
        )
        return with_extras(types.Answer(**fields, message=patch(msg, self._message_fields)), self._unknown_fields)

    def _end_with_error(self, line: types.Chunk) -> None:
        """End the stream with an error: the open item is incomplete, finished items stay."""
        if self._first_line is None:
            self._start(line)
        facts = line_error(line.error)
        if self._open is not None:
            self._output[-1] = replace(self._finished_item(self._open), status="incomplete")
        self._response.output = cast("list[ours.AnyItem]", self._output)
        self._response.status = "failed"
        self._response.error = ours.ResponseError(code=facts.code, message=facts.message)
        report_error(facts, WIRE, self.losses)
        for name in extras(line):
            self.losses.dropped(name, "only Ollama has such a field of an error")
        if self._keep:
            keep_answer(self._response, self._answer(line), self._dialect)
        self._fail(facts, self._response)

    # -- items

    def _set_id(self, item: Any) -> None:
        placed_item(item, self._origin, len(self._output), self._names, self.losses)
        item.status = "in_progress"

    def _finished_item(self, opened: OpenParts) -> Any:
        item: ours.Message | ours.Reasoning
        if opened.kind is ours.Message:
            part = text_part(opened.text, [] if self._thinking else self._logprobs)
            item = ours.Message(role="assistant", content=[part])
        else:
            item = decode_thinking(opened.text, self._dialect.issuer)
            if self._thought_part is ours.SummaryText:
                as_summary(item)
        return placed_item(item, self._origin, opened.item.index, self._names, self.losses)

    def _add_text(self, text: str, logprobs: list[ours.Logprob] | None) -> None:
        if self._open is None or self._open.kind is not ours.Message:
            if text.isspace():
                self._held_space.append(text)
                return
            text = "".join([*self._held_space, text])
            self._held_space = []
        self._append(ours.Message, text, ours.OutputText, None if self._thinking else logprobs)

    def _add_images(self) -> None:
        """The images so far, which are behind the text of their message and before its calls."""
        images, self._sent_images = self._images[self._sent_images :], len(self._images)
        if images:
            self._end_open()
        for item in decode_images(images, self._dialect.issuer, "message", self.losses):
            self._emit_whole(placed_item(item, self._origin, len(self._output), self._names, self.losses))

    def _add_calls(self, msg: types.Message) -> None:
        self._add_images()
        self._end_open()
        if isinstance(msg.tool_calls, types.ToolCall):
            self.losses.changed(f"message.tool_calls[{len(self._calls)}]", ONE_CALL)
        for call in msg.calls:
            position = len(self._calls)
            item = decode_call(call, self._origin, position, self._call_ids, "message", self.losses, keep=self._keep)
            self._calls.append(call)
            self._emit_whole(placed_item(item, self._origin, len(self._output), self._names, self.losses))


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


class StreamEncoder(stream.StreamEncoder[OllamaDialect, types.Chunk]):
    """Converts Responses events to lines of this wire."""

    DIALECT = OLLAMA
    breaks_off = True

    def _prepare(self) -> None:
        self._model = self._request.model if self._request is not None else None
        self._stamp: Opt[str] = stamp_of(None, "")
        self._text: list[str] = []
        self._thought: list[str] = []
        self._calls = 0
        self._place: tuple[int, ...] = ()  # of the last piece

    def _begin(self, response: ours.Response) -> None:
        self._model = response.model or self._model
        self._stamp = created_at(response)

    def _end(self, response: ours.Response) -> None:
        self._begin(response)
        answer, lost = encode_response(response, request=self._request, dialect=self._dialect)
        self.losses += lost
        msg = answer.message
        # The whole answer has any data that the events lack.
        msg.content = unsent(msg.content or "", self._text)
        msg.thinking = unsent(msg.thinking or "", self._thought) or UNSET
        msg.tool_calls = msg.calls[self._calls :] or UNSET
        answer.model = or_unset(answer.model or self._model)
        fields = {name: getattr(answer, name) for name in types.Line.__struct_fields__}
        self._out.append(with_extras(types.Chunk(**fields, message=msg), extras(answer)))

    def _fail(self, response: ours.Response) -> None:
        if given(response.usage):
            self.losses.dropped("usage", "the counts of a failed answer, which Ollama sends as an error")
        report_failure(response, encode_response(response, dialect=self._dialect)[1], self.losses)
        message = response.error.message if given(response.error) else None
        self._out.append(types.Chunk(error=message or "the answer failed"))

    # -- items

    def _encode(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.OutputTextDelta(delta=delta) | ev.RefusalDelta(delta=delta):
                index = event.output_index
                gap = "\n\n" if self._text and self._place[:1] != (index,) else ""
                self._place = (index,)
                self._text.append(gap + delta)
                self._send(types.Message(role="assistant", content=gap + delta))
            case ev.ReasoningTextDelta() | ev.ReasoningDelta():
                self._add_thinking(event.delta, event.output_index, 0, event.content_index)
            case ev.ReasoningSummaryTextDelta():
                self._add_thinking(event.delta, event.output_index, 1, event.summary_index)
            case ev.OutputItemDone(item=ours.FunctionCall() | ours.CustomToolCall() as call):
                self._calls += 1
                # Its losses are reported at the end, with everything else.
                self._send(
                    types.Message(
                        role="assistant",
                        content="",
                        tool_calls=[encode_call(call, "output", event.output_index, Losses())],
                    )
                )
            case _:
                pass

    def _add_thinking(self, delta: str, index: int, kind: int, part: int) -> None:
        place = (index, kind, part)
        if self._place[:1] == (index,) and self._place[1] != kind:
            return  # a summary beside the raw text, or the other way round: one of them is enough
        gap = "\n\n" if self._thought and self._place != place else ""
        self._place = place
        self._thought.append(gap + delta)
        self._send(types.Message(role="assistant", content="", thinking=gap + delta))

    def _send(self, msg: types.Message) -> None:
        self._out.append(types.Chunk(model=or_unset(self._model), created_at=self._stamp, message=msg, done=False))


decode_stream = StreamDecoder
encode_stream = StreamEncoder
