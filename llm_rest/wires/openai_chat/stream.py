"""Streamed answers: chunks to events. The way back is in `stream_back.py`.

The chunks are put together as they come (`pieces.py`), and the terminal event carries what `decode_response` makes of the
whole, so that a stream and an answer tell the same. Before changing this file, know that reasoning and text are ended as soon
as something else begins, while calls stay open to the end, because their pieces may come in any order. Follows "Streaming"
of the Chat Completions reference and the hosts' own (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from ...losses import Losses
from ...responses.carriers import digest
from ...responses.echo import echo
from ...responses.emit import Emitter, OpenItem
from ...responses.events import AnyEvent, StreamError
from ...responses.items import AnyItem, CustomToolCall, FunctionCall, ItemBase, Message, Reasoning
from ...responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText
from ...responses.response import IncompleteDetails, Response, ResponseError
from ...unknown import Unknown, given
from ...vendors.dialects import ChatDialect
from .._renamed import names_sent, sent_name, undo
from . import types
from .about import decode_annotations
from .calls import json_text
from .errors import decode_error
from .pieces import GROWING, Alike, CallPieces, Pieces
from .reasoning import GAP, TEXT_PLACES, is_ours, is_text, pieces_of
from .response import decode_response, item_id
from .spoken import Heard
from .telling import Part, Repeated, Telling, ThinkTags

if TYPE_CHECKING:
    from ...responses.request import Request


class _Call(NamedTuple):
    """A call that was announced."""

    opened: OpenItem
    pieces: CallPieces
    custom: bool


class StreamDecoder:
    """`feed` takes a chunk and gives the events it makes; `end` ends the answer, `close` one that said that it was complete."""

    def __init__(self, request: Request | None, dialect: ChatDialect, now: float) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        self._now = now
        self._to = Emitter()
        self._pieces = Pieces()
        self._tags = ThinkTags() if dialect.think_tags else None
        self._meant = names_sent(request, custom_tools=dialect.custom_tools, naming=sent_name)
        self._origin = ""
        self._output: list[AnyItem | None] = []  # what was ended, by place; `None` where it is still open
        self._thinking: Telling | None = None
        self._thought = Pieces()  # the reasoning of the open item alone
        self._told: dict[str, Repeated] = {}  # what each field with reasoning told
        self._begun = self._reached = 0  # where the bare text of the open item begins, and how far such text has come
        self._speaking: Telling | None = None
        self._alike = Alike()
        self._calls: dict[int, _Call] = {}
        self._others: set[int] = set()  # further choices that came
        self._counted = False  # the last thing that came were counts without text or calls, which hosts send at the end
        self._over = False

    def feed(self, chunk: types.Chunk) -> list[AnyEvent]:
        """The events of one chunk."""
        if self._over:
            return []
        speaking = self._speaking
        if speaking is not None and self._tags is None and (text := self._alike.text(chunk)):
            self._pieces.text("content", text)
            speaking.say(text, OutputText)
            self._counted = False
            return self._to.take()
        choices = chunk.choices or ()
        if all(not choice.delta or _is_empty(choice.delta) for choice in choices):
            self._counted = self._counted or given(chunk.usage)
        else:
            self._counted = False
        if not self._origin or len(choices) != 1 or choices[0].finish_reason or given(chunk.usage):
            self._pieces.document(chunk)
        if chunk.error or (chunk.base_resp and chunk.base_resp.get("status_code")):
            self._fail(chunk)
            return self._to.take()
        if not self._origin and (chunk.id or choices):
            self._start(chunk)
        for choice in choices:
            if choice.index:
                self._others.add(choice.index)  # which have no place in one response
                continue
            if given(choice.delta):
                self._delta(choice.delta)
            if choice.finish_reason or choice.logprobs or given(choice.usage) or type(choice) is not types.ChunkChoice:
                self._pieces.ending(choice)
        return self._to.take()

    def close(self) -> list[AnyEvent]:
        """The end, where a finish reason or the final counts came; nothing where the stream was cut."""
        if self._counted or self._pieces.choice.finish_reason:
            return self.end()
        return self._to.take()

    def end(self) -> list[AnyEvent]:
        """The end, which the host marked as such. Some hosts give no reason for it."""
        if self._origin and not self._over:
            self._finish()
        return self._to.take()

    # -- the response

    def _start(self, chunk: types.Chunk) -> None:
        self._origin = chunk.id or f"resp_{digest(msgspec.json.encode(chunk).decode())}"
        created = self._pieces.body.created
        self._to.start(
            Response(
                id=self._origin,
                created_at=int(created or self._now),
                status="in_progress",
                model=chunk.model or "",
                output=[],
                **echo(self._request),
            )
        )

    def _whole(self) -> Response:
        self._pieces.body.id = self._origin  # by which it was announced, whatever later chunks say
        response, lost = decode_response(
            self._pieces.whole(), request=self._request, dialect=self._dialect, now=self._now
        )
        self.losses[:] = lost
        for index in sorted(self._others):
            self.losses.dropped(f"choices[{index}]", "one more answer to the same question; a response has one")
        return response

    def _finish(self) -> None:
        if self._tags is not None:
            self._heard(self._tags.close())
        self._end_thought()
        response = self._whole()
        if not self._pieces.choice.finish_reason and any(not call.begun for call in self._pieces.calls):
            # Without a reason to end, a call that was announced and has no arguments yet is not one without arguments.
            response = replace(response, status="incomplete", incomplete_details=IncompleteDetails(reason=None))
            if not isinstance(last := response.output[-1], Unknown):
                last.status = "incomplete"
        kinds = [type(item) for item in response.output]
        if len(kinds) >= len(self._output) and all(
            item is None or type(item) is kind for item, kind in zip(self._output, kinds, strict=False)
        ):
            self._end_open(response.output)
        else:
            # Told in another order than a message has room for: what was told stands.
            self._end_open([])
            told = [item for item in self._output if item is not None]
            response = replace(response, output=told)
        self._to.finish(response)
        self._over = True

    def _end_open(self, final: list[AnyItem]) -> None:
        if self._speaking is not None:
            item = final[self._speaking.item.index] if final else None
            self._end_speech(item if isinstance(item, Message) else None)
        for call in self._calls.values():
            self._end_call(call, final[call.opened.index] if final else None)
        for item in final[len(self._output) :]:
            self._to.whole(item)

    def _fail(self, chunk: types.Chunk) -> None:
        if not self._origin:
            self._start(chunk)
        facts = decode_error(200, {}, msgspec.json.encode(chunk))
        code = facts.code or (str(facts.status) if facts.status != 200 else None)
        error = StreamError(code=code, message=facts.message, param=facts.param, type=facts.type)
        self._to.error(error)
        told = ResponseError(
            code=code or facts.type or "server_error", message=facts.message, param=facts.param, type=facts.type
        )
        failed = replace(self._whole(), status="failed", error=told, incomplete_details=None)
        for item, ended in zip(failed.output, self._output, strict=False):
            if ended is None and not isinstance(item, Unknown):
                item.status = "incomplete"
        self._to.finish(failed)
        self._over = True

    # -- what a delta says

    def _delta(self, delta: types.Delta) -> None:
        content = json_text(delta.content) if isinstance(delta.content, dict) else delta.content
        if delta.reasoning_details or delta.reasoning_content or delta.reasoning:
            self._think(delta)
        if isinstance(content, str):
            if content:
                self._pieces.text("content", content)
                if self._tags is None:
                    self._say(content)
                else:
                    self._heard(self._tags.feed(content))
        elif content:
            self._take_parts(content)
        if delta.refusal:
            self._pieces.text("refusal", delta.refusal)
            self._say(delta.refusal, RefusalPart)
        if delta.tool_calls:
            for piece in delta.tool_calls:
                self._called(*self._pieces.call(piece))
        if given(delta.function_call):
            self._called(*self._pieces.legacy(delta.function_call))
        if delta.annotations or delta.refusal is None or content is None or _has_more(delta):
            self._pieces.rest(delta)
            if delta.annotations and self._speaking is not None:
                for annotation in decode_annotations(delta.annotations):
                    self._speaking.item.annotation(annotation)

    def _open(self, item: ItemBase) -> OpenItem:
        item.id = item_id(cast("AnyItem", item), self._origin, len(self._output))
        self._output.append(None)
        return self._to.add(cast("AnyItem", item))

    def _tell(self, item: Any) -> None:
        """Begin and end an item at once."""
        item.id = item_id(item, self._origin, len(self._output))
        item.status = "completed"
        self._output.append(item)
        self._to.whole(item)

    # -- thoughts

    def _think(self, delta: types.Delta) -> None:
        bare = {field: text for field in TEXT_PLACES if (text := getattr(delta, field))}
        details = delta.reasoning_details or ()
        for field, text in bare.items():
            self._pieces.text(field, text)
        kinds: tuple[tuple[str, type[Part]], ...] = (("summary", SummaryText), ("text", ReasoningText))
        shown: list[tuple[str, type[Part]]] = [
            (str(detail[name]), kind) for detail in details for name, kind in kinds if detail.get(name)
        ]
        told = shown or [(text, ReasoningText) for text in list(bare.values())[:1]]
        if told and not (bare and shown):
            # A host may tell a thought in one field and then once more in the other.
            field = "reasoning_details" if shown else next(iter(bare))
            others = [self._told[name] for name in self._told if name != field]
            told = [(text, kind) for text, kind in told if not any(other.repeats(text) for other in others)]
            for text, _ in told:
                self._told.setdefault(field, Repeated()).add(text)
            if not told and self._thinking is None:
                return
        if self._thinking is None:
            gap = len(GAP) if bare and not shown and self._reached and told[0][0].startswith(GAP) else 0
            told = [(text[gap:], kind) for text, kind in told]
            bare = {field: text[gap:] for field, text in bare.items()}
            self._begun, self._reached = self._reached + gap, self._reached + gap
            if not told:
                self._thinks("")
        self._reached += len(next(iter(bare.values()), ""))
        for field, text in bare.items():
            self._thought.text(field, text)
        self._thought.details(details)
        for text, kind in told:
            self._thinks(text, kind)
        if any(is_ours(detail) and detail.get("type") == "reasoning.encrypted" for detail in details):
            self._end_thought()

    def _thinks(self, text: str, kind: type[Part] = ReasoningText) -> None:
        if self._speaking is not None:
            self._end_speech(None)
        if self._thinking is None:
            self._thinking = Telling(self._open(Reasoning(status="in_progress", summary=[])))
        if text:
            self._thinking.say(text, kind)

    def _end_thought(self) -> None:
        thinking, self._thinking = self._thinking, None
        if thinking is None:
            return
        thinking.end_part()
        said, self._thought = self._thought.said(), Pieces()
        for detail in said.reasoning_details or ():
            if is_ours(detail) and type(start := detail.get("start")) is int:
                detail["start"] = start - self._begun  # counted in the text of all thoughts, of which this is one
        if isinstance(said.content, str):
            said.content = f"<think>{said.content}</think>"
        items = Heard(said, self._dialect, self._origin, "", Losses(), answer=True).items
        first, *others = items or [Reasoning(summary=[])]
        self._done(thinking.item, first)
        for item in others:
            self._tell(item)

    def _done(self, opened: OpenItem, item: Any) -> None:
        if not given(item.status):
            item = replace(item, id=opened.id, status="completed")
        self._output[opened.index] = item
        opened.done(item)

    # -- text

    def _heard(self, pieces: list[tuple[bool, str]]) -> None:
        """Text that may hold a thought between tags."""
        for thought, text in pieces:
            if thought:
                self._thought.text("content", text)
                self._thinks(text)
            else:
                self._say(text)

    def _take_parts(self, content: list[types.AnyPart]) -> None:
        """Content in parts, as Mistral sends it: thoughts and texts."""
        for part in content:
            if isinstance(part, types.Thinking):
                self._thought.parts([replace(part)])
                self._thinks("".join([piece["text"] for piece in pieces_of(part.thinking) if is_text(piece)]))
            elif isinstance(part, types.Text) and part.text:
                self._say(part.text)
        self._pieces.parts(content)

    def _say(self, text: str, kind: type[Part] = OutputText) -> None:
        speaking = self._speaking
        if speaking is None:
            self._end_thought()
            self._alike = Alike()
            item = Message(status="in_progress", role="assistant", content=[])
            speaking = self._speaking = Telling(self._open(item))
        speaking.say(text, kind)

    def _end_speech(self, final: Message | None) -> None:
        speaking, self._speaking = self._speaking, None
        if speaking is not None:
            speaking.end_part(final.content if final is not None and not isinstance(final.content, str) else ())
            self._done(speaking.item, final or Message(role="assistant", content=speaking.parts))

    # -- calls

    def _called(self, pieces: CallPieces, text: str) -> None:
        call = self._calls.get(id(pieces))
        if call is not None:
            if not call.custom:
                call.opened.arguments(text)
            elif pieces.custom:  # free text inside JSON is handed on when it is complete
                call.opened.input(text)
            return
        # A call is announced by its name, which may come later than its first piece.
        if not pieces.name:
            return
        self._end_thought()
        if self._speaking is not None:
            self._end_speech(None)
        item = self._announced(pieces)
        custom = isinstance(item, CustomToolCall)
        call = self._calls[id(pieces)] = _Call(self._open(item), pieces, custom)
        self._called(pieces, "".join(pieces.pieces))

    def _announced(self, pieces: CallPieces) -> FunctionCall | CustomToolCall:
        """The call as its item begins; what its host attached stands in a carrier before it."""
        whole = pieces.whole()
        said = types.Answer(role="assistant", tool_calls=[replace(whole, index=len(self._pieces.calls) - 1)])
        *carriers, last = Heard(said, self._dialect, self._origin, "", Losses(), answer=True).items
        for carrier in carriers:
            self._tell(carrier)
        call = cast("FunctionCall | CustomToolCall", last)
        if self._meant:
            call = undo(call, self._meant, "", Losses())
        call_id = whole.id if given(whole.id) else call.call_id
        if isinstance(call, CustomToolCall):
            return replace(call, status="in_progress", call_id=call_id, input="")
        return replace(call, status="in_progress", call_id=call_id, arguments="")

    def _end_call(self, call: _Call, final: AnyItem | None) -> None:
        text = "".join(call.pieces.pieces)
        if isinstance(final, CustomToolCall):
            if not call.pieces.custom:
                call.opened.input(final.input)
            call.opened.end_input(final.input)
        elif isinstance(final, FunctionCall):
            if not text:
                call.opened.arguments(final.arguments)
            call.opened.end_arguments(final.arguments)
        item = final or FunctionCall(call_id=call.pieces.call.id or "", name=call.pieces.name, arguments=text or "{}")
        self._done(call.opened, item)


def _is_empty(delta: types.Delta) -> bool:
    """Whether a delta says nothing about the answer itself."""
    return not (any(getattr(delta, name) for name in GROWING) or delta.tool_calls or delta.function_call or delta.audio)


def _has_more(delta: types.Delta) -> bool:
    """Whether a delta says something beside texts and calls."""
    return bool(
        delta.audio
        or delta.reasoning_details
        or delta.extra_content
        or delta.thought_signature
        or delta.images
        or delta.executed_tools
        or delta.channel
        or type(delta) is not types.Delta
    )
