"""Streamed answers: events to chunks. The way from chunks to events is in `stream.py`.

What comes in pieces leaves in pieces; what only the whole answer tells (sources, signed reasoning, counts) leaves with the
end, as the difference between what `encode_response` makes of it and what was sent. Before changing this file, know that calls
are counted from 0 whatever their place in the output, and that hosts which put thoughts into the content get them whole.
Follows "Streaming" of the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from ...losses import Losses
from ...responses import events as ev
from ...responses.items import CustomToolCall, FunctionCall, Message, Reasoning
from ...responses.leftovers import own
from ...responses.parts import ReasoningText
from ...responses.response import Response, ResponseError
from ...unknown import Opt, extras, given, with_extras
from ...vendors.dialects import ChatDialect
from .._left import as_list, as_object, notes
from . import types
from .calls import encode_call
from .pieces import GROWING
from .reasoning import GAP, TEXT_PLACES, is_foreign, is_ours, state_behind, streamed_field, text_of
from .response import encode_response
from .types import WIRE, Json

if TYPE_CHECKING:
    from ...responses.items import AnyItem
    from ...responses.request import Request


_OF_CHOICE = tuple(
    n for n in types.ChunkChoice.__struct_fields__ if n not in ("index", "delta", "finish_reason", "usage")
)


class _Call:
    """A call under way: its number, and how much of its text left."""

    __slots__ = ("escaped", "number", "sent")

    def __init__(self, number: int, *, escaped: bool) -> None:
        self.number = number
        self.escaped = escaped  # free text that leaves as the one string of a JSON object
        self.sent: list[str] = []


class StreamEncoder:
    """`feed` takes an event and gives the chunks it makes."""

    def __init__(self, request: Request | None, dialect: ChatDialect) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        left = own(request.leftovers, WIRE) if request is not None else {}
        self._legacy = "functions" in notes(left)
        # Without a request nobody said that counts are not wanted.
        self._counts = request is None or _wants_counts(left)
        self._thoughts = streamed_field(dialect)
        self._head: dict[str, Any] = {}
        self._sent: dict[str, list[str]] = {}
        self._calls: dict[int, _Call] = {}
        self._details = self._parts = 0  # how many of them left
        self._begun = self._reached = (
            0  # where the text of the thought under way begins, and how far such text has come
        )
        self._gap = ""  # what stands between the text before and the next one

    def feed(self, event: ev.AnyEvent) -> list[types.Chunk]:
        """The chunks that leave for this event."""
        match event:
            case ev.OutputTextDelta():
                return self._text("content", event.delta)
            case ev.FunctionCallArgumentsDelta() | ev.CustomToolCallInputDelta():
                return self._arguments(event.output_index, event.delta)
            case ev.ReasoningTextDelta() | ev.ReasoningDelta() | ev.ReasoningSummaryTextDelta():
                return self._text(self._thoughts, event.delta) if self._thoughts else []
            case ev.RefusalDelta():
                return self._text("refusal", event.delta)
            case ev.ResponseCreated():
                return self._begin(event.response)
            case ev.OutputItemAdded():
                return self._added(event.output_index, event.item)
            case ev.OutputItemDone():
                return self._done(event.output_index, event.item)
            case ev.ReasoningSummaryPartAdded() | ev.ContentPartAdded(part=ReasoningText()):
                self._gap = GAP if self._sent.get(self._thoughts) else ""
                return []
            case ev.ResponseCompleted() | ev.ResponseIncomplete():
                return self._end(event.response)
            case ev.ResponseFailed():
                return self._failed(event.response)
            case _:
                return []

    def close(self) -> list[types.Chunk]:
        """Nothing is held back."""
        return []

    def _chunk(self, delta: types.Delta, finish: Any = None) -> types.Chunk:
        choice = types.ChunkChoice(index=0, delta=delta, finish_reason=finish)
        return types.Chunk(**self._head, choices=[choice])

    def _begin(self, response: Response) -> list[types.Chunk]:
        self._head = {
            "id": response.id,
            "object": "chat.completion.chunk",
            "created": int(response.created_at) if given(response.created_at) else 0,
            "model": response.model,
        }
        return [self._chunk(types.Delta(role="assistant", content=""))]

    # -- pieces

    def _text(self, field: str, text: str) -> list[types.Chunk]:
        if not text:
            return []
        if self._gap:
            text, self._gap = self._gap + text, ""
        sent = self._sent.get(field)
        if sent is None:
            sent = self._sent[field] = []
        sent.append(text)
        if field == self._thoughts:
            self._reached += len(text)
        delta = types.Delta()
        setattr(delta, field, text)
        return [self._chunk(delta)]

    def _added(self, index: int, item: AnyItem | None) -> list[types.Chunk]:
        if isinstance(item, Message):
            self._gap = GAP if self._sent.get("content") else ""
        elif isinstance(item, Reasoning):
            self._gap = GAP if self._thoughts and self._sent.get(self._thoughts) else ""
            self._begun = self._reached + len(self._gap)
        elif isinstance(item, FunctionCall | CustomToolCall):
            return self._begin_call(index, item)
        return []

    def _begin_call(self, index: int, item: FunctionCall | CustomToolCall) -> list[types.Chunk]:
        escaped = isinstance(item, CustomToolCall) and not self._dialect.custom_tools
        call = self._calls[index] = _Call(len(self._calls), escaped=escaped)
        made = encode_call(item, self._dialect, index, Losses(), answer=True)
        body: types.FunctionBody | types.CustomBody = (
            made.custom if given(made.custom) else made.function or types.FunctionBody()
        )
        if isinstance(body, types.CustomBody):
            body.input = ""
        else:
            body.arguments = ""
        if self._legacy and given(made.function):
            return [self._chunk(types.Delta(function_call=made.function))]
        made.index = call.number
        chunks = [self._chunk(types.Delta(tool_calls=[made]))]
        return chunks + self._piece(call, '{"input":"') if escaped else chunks

    def _arguments(self, index: int, text: str) -> list[types.Chunk]:
        call = self._calls.get(index)
        if call is None or not text:
            return []
        return self._piece(call, msgspec.json.encode(text).decode()[1:-1] if call.escaped else text)

    def _piece(self, call: _Call, text: str) -> list[types.Chunk]:
        call.sent.append(text)
        if self._legacy:
            return [self._chunk(types.Delta(function_call=types.FunctionBody(arguments=text)))]
        piece = types.ToolCall(index=call.number)
        piece.function = types.FunctionBody(arguments=text)
        return [self._chunk(types.Delta(tool_calls=[piece]))]

    def _done(self, index: int, item: AnyItem | None) -> list[types.Chunk]:
        if isinstance(item, Reasoning):
            return self._thought(item)
        call = self._calls.get(index)
        if call is None or not isinstance(item, FunctionCall | CustomToolCall):
            return []
        if call.escaped:
            return self._piece(call, '"}')
        text = item.input if isinstance(item, CustomToolCall) else item.arguments
        sent = "".join(call.sent)
        return self._piece(call, text[len(sent) :]) if text.startswith(sent) and text != sent else []

    def _thought(self, item: Reasoning) -> list[types.Chunk]:
        """What is left to tell of a thought: the state of another issuer, behind its text.

        On a host that shows a thought with its state, or inside the content, that is all of it.
        """
        if self._thoughts:
            chunks = [] if self._reached > self._begun else self._text(self._thoughts, text_of(item))
            if not is_foreign(item, self._dialect):
                return chunks
            if self._reached - self._begun != len(text_of(item)):  # the state is not that of the text that was told
                item = Reasoning(summary=[], encrypted_content=item.encrypted_content)
            behind = state_behind(item, self._details, self._begun)
            self._details += 1
            return [*chunks, self._chunk(types.Delta(reasoning_details=[behind]))]
        alone = Response(id="", status="completed", output=[item])
        whole, _ = encode_response(alone, request=self._request, dialect=self._dialect)
        said = whole.choices[0].message or types.Answer()
        delta = types.Delta()
        if said.reasoning_details:
            delta.reasoning_details = [
                {**detail, "id": str(self._details), "index": i} if is_ours(detail) else detail
                for i, detail in enumerate(said.reasoning_details, self._details)
            ]
            self._details += len(said.reasoning_details)
        if isinstance(said.content, list):
            delta.content = said.content
            self._parts += len(said.content)
        elif isinstance(said.content, str):
            return self._text("content", said.content)
        return [self._chunk(delta)] if delta.reasoning_details or delta.content else []

    # -- the end

    def _end(self, response: Response) -> list[types.Chunk]:
        whole, lost = encode_response(response, request=self._request, dialect=self._dialect)
        self.losses += lost
        choice = whole.choices[0] if whole.choices else types.Choice()
        chunks: list[types.Chunk] = []
        # Leftovers may say anything, where a message and calls belong too.
        rest = self._unsent(choice.message) if isinstance(choice.message, types.Answer) else types.Delta()
        if rest != types.Delta():
            chunks.append(self._chunk(rest))
        ended = types.ChunkChoice(index=0, delta=types.Delta(), finish_reason=choice.finish_reason)
        for name in _OF_CHOICE:
            setattr(ended, name, getattr(choice, name))
        last = types.Chunk(**self._head, choices=[with_extras(ended, extras(choice))])
        for name in types.Completion.__struct_fields__:
            if name not in ("choices", "usage", "object", "error") and name not in self._head:
                setattr(last, name, getattr(whole, name))
        chunks.append(with_extras(last, extras(whole)))
        if self._counts and given(whole.usage):
            chunks.append(types.Chunk(**self._head, choices=[], usage=whole.usage))
        return chunks

    def _unsent(self, said: types.Answer) -> types.Delta:
        """What the whole message says beyond what was sent."""
        rest = types.Delta()
        for name in types.Answer.__struct_fields__:
            value = getattr(said, name)
            if name in TEXT_PLACES and name != self._thoughts and (self._reached or self._details):
                continue  # the same thought in a second field
            if name in GROWING:
                value = self._unsent_text(name, value)
            elif name in ("role", "function_call") or (name == "refusal" and value is None):
                continue
            elif name == "tool_calls":
                value = self._unsent_calls(value)
            elif name == "reasoning_details" and value:
                value = self._unsent_details(as_list(value))
            if value is not UNSET and value is not None and value != []:
                setattr(rest, name, value)
        return with_extras(rest, extras(said))

    def _unsent_text(self, field: str, whole: Any) -> Any:
        sent = "".join(self._sent.get(field, ()))
        if not isinstance(whole, str):
            # Content in parts: all of it where nothing was sent, else what was sent has to do.
            return UNSET if sent or self._parts else whole
        return whole[len(sent) :] or UNSET if whole.startswith(sent) else UNSET

    def _unsent_details(self, details: list[Any]) -> list[Any]:
        if self._thoughts:  # what is shown as text left with its item
            return [detail for detail in details if not is_ours(as_object(detail))]
        return details[self._details :]

    def _unsent_calls(self, calls: Any) -> Opt[list[types.ToolCall]]:
        rest: list[types.ToolCall] = []
        for number, call in enumerate(as_list(calls)):
            if isinstance(call, types.ToolCall):
                piece = types.ToolCall(index=number, extra_content=call.extra_content or UNSET)
                if given(body := call.function) and extras(body):
                    piece.function = with_extras(types.FunctionBody(), extras(body))
                rest.append(with_extras(piece, extras(call)))
        return [piece for piece in rest if piece != types.ToolCall(index=piece.index)] or UNSET

    def _failed(self, response: Response) -> list[types.Chunk]:
        told = response.error if given(response.error) else ResponseError()
        error = {
            "message": told.message or "the answer failed",
            "type": told.type or "server_error",
            "param": told.param or None,
            "code": told.code or None,
        }
        return [types.Chunk(error=error)]  # alone: clients look for it in place of `choices`, not beside them


def _wants_counts(left: Json) -> bool:
    """Whether the client of a request asked for counts, which this wire sends to those alone."""
    asked = notes(left).get("stream_options", {"include_usage": True})
    return bool(as_object(asked).get("include_usage"))
