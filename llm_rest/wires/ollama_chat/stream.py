"""Streams of this wire: lines of the server as Responses events, and back.

A line holds a piece of thought, a piece of text, whole calls, or several of these; the last one says why it ended and may hold
calls too. The lines are put together to the whole answer, whose end `response.py` reads and writes. Before changing this file,
know that a space before a call is no message, so that space waits for what follows. Follows Ollama's page on streaming (read
2026-11-20).
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from ...losses import Losses
from ...responses import events as ev
from ...responses.carriers import report_error, report_failure
from ...responses.emit import Emitter
from ...responses.items import AnyItem, CustomToolCall, FunctionCall, Message, Reasoning
from ...responses.parts import OutputText, ReasoningText
from ...responses.response import Response, ResponseError
from ...unknown import Opt, Unknown, extras, given, or_unset, with_extras
from ..kept import diff, patch, unknown
from ..leftovers import as_list
from ..stream import OpenParts
from ..tool_names import names_sent
from . import types
from .messages import keep_message
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
    from ...responses.parts import Logprob
    from ...responses.request import Request
    from ...vendors.dialects import OllamaDialect

__all__ = ["decode_stream", "encode_stream"]


class StreamDecoder:
    """Converts the server's lines to Responses events; after the terminal one there are none.

    `request` undoes what encoding it emulated and is echoed, `now` dates an answer without a date.
    """

    def __init__(
        self,
        *,
        request: Request | None = None,
        dialect: OllamaDialect = OLLAMA,
        now: float = 0,
        keep: bool = True,
    ) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        self._now = now
        self._keep = keep
        self._to = Emitter()
        self._meant = names_sent(request, custom_tools=False)
        self._over = False
        self._first: types.Chunk | None = None
        self._origin = ""
        self._response = Response(id="", status="in_progress", output=[])
        self._kind: type[Message | Reasoning] | None = None  # of what is open
        self._open: OpenParts | None = None
        self._space: list[str] = []  # that has not been followed by a text
        self._taken: set[str] = set()  # ids of calls
        # The whole answer.
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[types.ToolCall] = []
        self._logprobs: list[Logprob] = []
        self._said: Json = {}  # fields of messages beside these
        self._role = "assistant"
        self._unknown: Json = {}  # fields of lines

    def feed(self, line: types.Chunk) -> list[ev.AnyEvent]:
        """The events that this line makes."""
        if self._over:
            return []
        if line.error:
            self._fail(line)
            return self._to.take()
        if self._first is None:
            self._begin(line)
            self._to.start(self._response)
        if line.logprobs:
            self._logprobs += line.logprobs
        said = line.message
        if said:
            if said.thinking:
                self._thinking.append(said.thinking)
                self._grow(Reasoning, said.thinking)
            if said.content:
                self._content.append(said.content)
                self._say(said.content, line.logprobs or None)
            if said.tool_calls:
                self._call(said.tool_calls)
            if type(said) is not types.Message or said.images is not UNSET:
                merged = {name: getattr(said, name) for name in ("role", "content", "thinking", "tool_calls")}
                self._said |= diff(said, types.Message(**merged))
            self._role = said.role or self._role
        if type(line) is not types.Chunk:
            self._unusual(line)
        if line.done:
            self._end(line)
        return self._to.take()

    def close(self) -> list[ev.AnyEvent]:
        """Nothing: an answer that did not tell its end was cut."""
        return []

    def _begin(self, line: types.Chunk) -> None:
        self._first, self._origin = line, origin_of(line)
        self._response = begin_response(line, self._origin, self._request, self._now, keep=self._keep)

    def _unusual(self, line: types.Chunk) -> None:
        """A line with fields we do not know: of the answer, or of something else."""
        if given(line.message) or line.done:
            self._unknown |= extras(line)
        else:
            self._to.send(Unknown({**diff(line, types.Chunk()), "sequence_number": self._to.number()}))

    def _end(self, line: types.Chunk) -> None:
        output = self._response.output
        if self._space and not self._calls:
            self._grow(Message, "".join(self._space))
        elif self._space and any(isinstance(item, Message) for item in output):
            self.losses.dropped("message.content", "space after a call")
        self._close()
        self._over = True
        finish_response(self._response, line, self._request, self.losses)
        answer = self._answer(line)
        if self._keep:
            keep_answer(self._response, answer, self._dialect)
        elif output and (left := unknown(answer.message)):
            output[0] = copy(output[0])
            keep_message(output[0], left)
        self._to.finish(self._response)

    def _answer(self, line: types.Chunk) -> types.Answer:
        """The whole answer that the lines make up."""
        fields = {name: getattr(line, name) for name in types.Line.__struct_fields__}
        fields["created_at"] = self._first.created_at if self._first is not None else UNSET
        fields["logprobs"] = self._logprobs or UNSET
        said = types.Message(
            role=self._role,
            content="".join(self._content),
            thinking="".join(self._thinking) or UNSET,
            tool_calls=self._calls or UNSET,
        )
        return with_extras(types.Answer(**fields, message=patch(said, self._said)), self._unknown)

    def _fail(self, line: types.Chunk) -> None:
        """End with the server's error. What was open is cut, what was done stays."""
        self._over = True
        told = line_error(line.error)
        if self._first is None:
            self._begin(line)
        if self._open is not None:
            self._response.output.append(replace(self._made(self._open.text), status="incomplete"))
        self._response.status = "failed"
        self._response.error = ResponseError(code=told.code, message=told.message)
        report_error(told, WIRE, self.losses)
        for name in extras(line):
            self.losses.dropped(name, "only Ollama has such a field of an error")
        if self._keep:
            keep_answer(self._response, self._answer(line), self._dialect)
        self._to.error(ev.StreamError(code=told.code, message=told.message, type=told.type))
        self._to.finish(self._response)

    # -- items

    def _place(self, item: AnyItem) -> AnyItem:
        return placed_item(item, self._origin, len(self._response.output), self._meant, self.losses)

    def _say(self, text: str, logprobs: list[Logprob] | None) -> None:
        if self._kind is not Message:
            if text.isspace():
                self._space.append(text)
                return
            text = "".join([*self._space, text])
            self._space = []
        self._grow(Message, text, None if self._thinking else logprobs)

    def _grow(self, kind: type[Message | Reasoning], text: str, logprobs: list[Logprob] | None = None) -> None:
        """One more piece of a text or thought, which begins with it where it is not open."""
        if self._kind is not kind or self._open is None:
            self._close()
            empty = Message(role="assistant", content=[]) if kind is Message else Reasoning(summary=[], content=[])
            self._place(empty)
            empty.status = "in_progress"
            self._kind, self._open = kind, OpenParts(self._to.add(empty))
        self._open.add(text, OutputText if kind is Message else ReasoningText, logprobs)

    def _made(self, text: str) -> Message | Reasoning:
        """What is open, as the whole answer would have it."""
        item: Message | Reasoning
        if self._kind is Message:
            part = text_part(text, [] if self._thinking else self._logprobs)
            item = Message(role="assistant", content=[part])
        else:
            item = decode_thinking(text, self._dialect.issuer)
        self._place(item)
        return item

    def _close(self) -> None:
        if self._open is None:
            return
        item = self._made(self._open.text)
        self._open.end_part(as_list(item.content))
        self._open.item.done(item)
        self._response.output.append(item)
        self._kind, self._open = None, None

    def _call(self, calls: list[types.ToolCall]) -> None:
        self._close()
        for call in calls:
            position = len(self._calls)
            path = f"message.tool_calls[{position}]"
            found = decode_call(call, self._origin, position, self._taken, path, self.losses, keep=self._keep)
            item = self._place(found)
            self._calls.append(call)
            self._to.whole(item)
            self._response.output.append(item)


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


class StreamEncoder:
    """Converts Responses events to lines of this wire; items come one after another, in their order.

    `request` names the model where the response does not.
    """

    def __init__(self, *, request: Request | None = None, dialect: OllamaDialect = OLLAMA) -> None:
        self.losses = Losses()
        self._dialect = dialect
        self._model = request.model if request is not None else None
        self._stamp: Opt[str] = stamp_of(None, "")
        self._over = False
        self._at = 0  # the item that is told now
        self._later: dict[int, list[ev.AnyEvent]] = {}  # events of items after it
        self._text: list[str] = []
        self._thought: list[str] = []
        self._calls = 0
        self._place: tuple[int, ...] = ()  # of the last piece

    def feed(self, event: ev.AnyEvent) -> list[types.Chunk]:
        """The lines that this event makes."""
        if isinstance(event, ev.ResponseFailed):
            return self._failed(event.response)
        if self._over:
            return []
        match event:
            case ev.ResponseCompleted() | ev.ResponseIncomplete():
                return self._end(event.response)
            case ev.OfResponse():
                self._begin(event.response)
                return []
            case ev.ErrorEvent():
                return self._fail(event.details.message)
            case ev.OfItem() | ev.OutputItemAdded() | ev.OutputItemDone():
                return self._in_turn(event, event.output_index)
            case _:
                return []

    def close(self) -> list[types.Chunk]:
        """The end of a stream that broke off."""
        return [] if self._over else self._fail("the answer broke off")

    def _begin(self, response: Response) -> None:
        self._model = response.model or self._model
        self._stamp = created_at(response)

    def _end(self, response: Response) -> list[types.Chunk]:
        self._over = True
        self._begin(response)
        answer, lost = encode_response(response, dialect=self._dialect)
        self.losses += lost
        said = answer.message
        # Whatever the events did not tell, the whole answer does.
        said.content = _untold(said.content or "", self._text)
        said.thinking = _untold(said.thinking or "", self._thought) or UNSET
        said.tool_calls = (said.tool_calls or [])[self._calls :] or UNSET
        answer.model = or_unset(answer.model or self._model)
        fields = {name: getattr(answer, name) for name in types.Line.__struct_fields__}
        return [with_extras(types.Chunk(**fields, message=said), extras(answer))]

    def _failed(self, response: Response) -> list[types.Chunk]:
        if given(response.usage):
            self.losses.dropped("usage", "the counts of an answer that failed, which Ollama tells as an error")
        report_failure(response, encode_response(response, dialect=self._dialect)[1], self.losses)
        return [] if self._over else self._fail(response.error.message if given(response.error) else None)

    def _fail(self, message: Any) -> list[types.Chunk]:
        self._over = True
        return [types.Chunk(error=message or "the answer failed")]

    # -- items

    def _in_turn(self, event: ev.AnyEvent, index: int) -> list[types.Chunk]:
        if index > self._at:
            self._later.setdefault(index, []).append(event)
            return []
        lines = self._told(event)
        while isinstance(event, ev.OutputItemDone) and event.output_index == self._at:
            self._at += 1
            for event in self._later.pop(self._at, ()):
                lines += self._told(event)
        return lines

    def _told(self, event: ev.AnyEvent) -> list[types.Chunk]:
        match event:
            case ev.OutputTextDelta() | ev.RefusalDelta():
                return self._said(event.delta, event.output_index)
            case ev.ReasoningTextDelta() | ev.ReasoningDelta():
                return self._thinks(event.delta, event.output_index, 0, event.content_index)
            case ev.ReasoningSummaryTextDelta():
                return self._thinks(event.delta, event.output_index, 1, event.summary_index)
            case ev.OutputItemDone(item=FunctionCall() | CustomToolCall() as call):
                self._calls += 1
                # What this loses is told at the end, with everything else.
                made = encode_call(call, "", Losses())
                return [self._line(types.Message(role="assistant", content="", tool_calls=[made]))]
            case _:
                return []

    def _said(self, delta: str, index: int) -> list[types.Chunk]:
        if self._text and self._place[:1] != (index,):
            delta = f"\n\n{delta}"
        self._place = (index,)
        self._text.append(delta)
        return [self._line(types.Message(role="assistant", content=delta))]

    def _thinks(self, delta: str, index: int, kind: int, part: int) -> list[types.Chunk]:
        place = (index, kind, part)
        if self._place[:1] == (index,) and self._place[1] != kind:
            return []  # a summary beside the words, or the other way round: one of them is enough
        if self._thought and self._place != place:
            delta = f"\n\n{delta}"
        self._place = place
        self._thought.append(delta)
        return [self._line(types.Message(role="assistant", content="", thinking=delta))]

    def _line(self, said: types.Message) -> types.Chunk:
        return types.Chunk(model=or_unset(self._model), created_at=self._stamp, message=said, done=False)


def _untold(whole: str, told: list[str]) -> str:
    """The rest of a text of which this was told."""
    before = "".join(told)
    return whole[len(before) :] if whole.startswith(before) else ""


decode_stream = StreamDecoder
encode_stream = StreamEncoder
