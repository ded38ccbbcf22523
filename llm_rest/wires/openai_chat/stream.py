"""Streamed answers: chunks to events. The way back is in `stream_back.py`.

The chunks are put together as they come (`pieces.py`), and the terminal event carries what `decode_response` makes of the
whole, so that a stream and an answer tell the same. Before changing this file, know that reasoning and text are ended as soon
as something else begins, while calls stay open to the end, because their pieces may come in any order. Follows "Streaming"
of the Chat Completions reference and the hosts' own (read 2026-11-20).

Streamed answers: events to chunks. The way from chunks to events is in `stream.py`.

What comes in pieces leaves in pieces; what only the whole answer tells (sources, signed reasoning, counts) leaves with the
end, as the difference between what `encode_response` makes of it and what was sent. Before changing this file, know that calls
are counted from 0 whatever their place in the output, and that hosts which put thoughts into the content get them whole.
Follows "Streaming" of the Chat Completions reference (read 2026-11-20).

Texts of a streamed answer as they are told: part after part, and thoughts between `<think>` tags apart from the text.

Before changing this file, know that a tag may be cut anywhere: what could still become one is held back.
A whole answer from its chunks, put together as the host would have sent it.

Texts are joined, calls are told apart by index and id, counts and facts are the last that came. Before changing this file,
know how hosts differ ("Rules for a robust reader", Chat Completions references, read 2026-11-20): an index may be missing, a
float, always 0 or start at 1; an id may be empty or repeated in every piece; only a value that says something overwrites.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ...errors import DecodeError
from ...losses import Losses
from ...responses import events as ev
from ...responses.carriers import digest
from ...responses.echo import echo
from ...responses.emit import Emitter, OpenItem
from ...responses.events import AnyEvent, StreamError
from ...responses.items import AnyItem, CustomToolCall, FunctionCall, ItemBase, Message, Reasoning
from ...responses.leftovers import own
from ...responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText
from ...responses.response import IncompleteDetails, Response, ResponseError
from ...unknown import Decoder, Model, Opt, Unknown, extras, given, with_extras
from .._left import Rest, as_list, as_object, is_object, notes, put_back, rest
from .._renamed import names_sent, sent_name, undo
from . import types
from .content import decode_annotations
from .messages import Heard
from .reasoning import GAP, TEXT_PLACES, is_foreign, is_ours, is_text, pieces_of, state_behind, streamed_field, text_of
from .response import decode_error, decode_response, encode_response, item_id
from .tools import encode_call, json_text
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...responses.emit import OpenItem
    from ...responses.items import AnyItem
    from ...responses.request import Request
    from ...vendors.dialects import ChatDialect


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


_OF_CHOICE = tuple(
    n for n in types.ChunkChoice.__struct_fields__ if n not in ("index", "delta", "finish_reason", "usage")
)


class _SentCall:
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
        self._calls: dict[int, _SentCall] = {}
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
        call = self._calls[index] = _SentCall(len(self._calls), escaped=escaped)
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

    def _piece(self, call: _SentCall, text: str) -> list[types.Chunk]:
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


Part = OutputText | RefusalPart | ReasoningText | SummaryText

_TELLS: dict[type[Part], str] = {
    OutputText: "text",
    RefusalPart: "refusal",
    ReasoningText: "reasoning",
    SummaryText: "summary",
}
"""What tells a piece of each kind of part."""


def _made(kind: type[Part], text: str) -> Any:
    if kind is RefusalPart:
        return RefusalPart(refusal=text)
    return OutputText(text=text, annotations=[]) if kind is OutputText else ReasoningText(text=text)


class Telling:
    """A thought or a message under way: its open part, which is of one kind, and the parts that were ended."""

    __slots__ = ("_kind", "_pieces", "_tell", "item", "parts")

    def __init__(self, item: OpenItem) -> None:
        self.item = item
        self.parts: list[Any] = []
        self._kind: type[Part] | None = None
        self._pieces: list[str] = []
        self._tell = item.text

    def say(self, text: str, kind: type[Part]) -> None:
        """Tell a piece of text, in a part of this kind."""
        if self._kind is not kind:
            self.end_part()
            self._kind, self._tell = kind, getattr(self.item, _TELLS[kind])
            if kind is SummaryText:
                self.item.summary_part()
            else:
                self.item.part(_made(kind, ""))
        self._pieces.append(text)
        self._tell(text)

    def end_part(self, final: Sequence[Any] = ()) -> None:
        """End the open part, as it stands among the `final` ones if it is there."""
        kind, at, text = self._kind, len(self.parts), "".join(self._pieces)
        if kind is None:
            return
        part = final[at] if at < len(final) and type(final[at]) is kind else _made(kind, text)
        if kind is SummaryText:
            part = SummaryText(text=text)
            self.item.end_summary(part)
        else:
            self.item.end_part(part)
        self.parts.append(part)
        self._kind, self._pieces = None, []


class Repeated:
    """Recognises a text that was told in one field and comes again in another. Line breaks do not count."""

    __slots__ = ("_at", "_pieces", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._at = 0  # how much of it was repeated
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        """Note a piece that was told."""
        self._pieces.append(text.replace("\n", ""))

    def repeats(self, text: str) -> bool:
        """Whether this piece only repeats what was told next. One that does not ends the repetition."""
        if self._pieces:
            self._text, self._at = self._text[self._at :] + "".join(self._pieces), 0
            self._pieces = []
        wanted = text.replace("\n", "")
        if self._at < len(self._text) and self._text.startswith(wanted, self._at):
            self._at += len(wanted)
            return True
        self._text = ""
        return False


OPENING, CLOSING = "<think>", "</think>"


class ThinkTags:
    """`feed` takes pieces of text and gives pairs: whether it is thought, and the text."""

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = "before"
        self._held: str = ""

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """What is certain by now."""
        found: list[tuple[bool, str]] = []
        text, self._held = self._held + text, ""
        if self._state == "before":
            if text.startswith(OPENING):
                self._state, text = "inside", text[len(OPENING) :]
            elif OPENING.startswith(text):
                self._held = text
                return []
            else:
                self._state = "after"
        if self._state == "inside":
            thought, tag, rest = text.partition(CLOSING)
            if not tag:
                kept = next(n for n in range(len(CLOSING) - 1, -1, -1) if text.endswith(CLOSING[:n]))
                thought, self._held = text[: len(text) - kept], text[len(text) - kept :]
            if thought:
                found.append((True, thought))
            if not tag:
                return found
            self._state, text = "gap", rest
        if self._state == "gap":
            # The white space behind the closing tag belongs to neither.
            text = text.lstrip()
            self._state = "after" if text else "gap"
        return [*found, (False, text)] if text else found

    def close(self) -> list[tuple[bool, str]]:
        """What was held back."""
        held, self._held = self._held, ""
        return [(self._state == "inside", held)] if held else []


P = TypeVar("P", types.Text, types.Thinking)

GROWING = ("content", "refusal", "reasoning_content", "reasoning")
"""The fields of a message that come in pieces."""

_BESIDE = Rest(types.Delta, *GROWING, "tool_calls", "function_call", "role", "token_id")
_CHOICE_FIELDS = tuple(
    n for n in types.Choice.__struct_fields__ if n not in ("index", "finish_reason", "message", "logprobs")
)
_OF_DOCUMENT = tuple(n for n in types.Completion.__struct_fields__ if n not in ("choices", "error", "object"))
_USAGE: Decoder[types.Usage] = Decoder(types.Usage)
_JOINED = ("text", "summary", "data")


_TEXT, _THOUGHT = types.Text(text=""), types.Thinking(thinking="")
_BODIES = (types.FunctionBody, types.CustomBody, types.ToolCall)


class CallPieces:
    """A call as far as it has come."""

    __slots__ = ("arguments", "call", "custom", "left", "legacy", "name", "pieces")

    def __init__(self, *, legacy: bool = False) -> None:
        self.call = types.ToolCall()
        self.name = ""
        self.custom = False
        self.legacy = legacy
        self.pieces: list[str] = []
        self.left: Json = {}
        self.arguments: Any = UNSET  # sent whole and not as text

    def add(self, piece: types.ToolCall) -> str:
        """Take a piece; what comes back is the text it adds to the arguments."""
        call = self.call
        for name in ("id", "type", "index", "extra_content"):
            value = getattr(piece, name)
            if given(value) and value != "" and not (name == "index" and given(call.index)):
                setattr(call, name, value)
        self.custom = self.custom or given(piece.custom)
        body = piece.custom if given(piece.custom) else piece.function if given(piece.function) else piece
        # Some hosts send the name in pieces, most repeat it or send an empty one.
        if body.name and body.name != self.name:
            self.name = body.name if not self.name or body.name.startswith(self.name) else self.name + body.name
        if type(piece) is not types.ToolCall:
            self.left.update(extras(piece))
        if type(body) not in _BODIES:
            self.left.setdefault("custom" if self.custom else "function", {}).update(extras(body))
        text = body.input if isinstance(body, types.CustomBody) else body.arguments
        if isinstance(text, str):
            self.pieces.append(text)
            return text
        if given(text):
            self.arguments = text
        return ""

    @property
    def begun(self) -> bool:
        """Whether anything of its arguments came."""
        return any(self.pieces) or self.arguments is not UNSET

    def whole(self) -> types.ToolCall:
        """The call as an answer that is no stream has it."""
        text = "".join(self.pieces) if self.arguments is UNSET else self.arguments
        call = replace(self.call)
        if self.custom:
            call.custom = types.CustomBody(name=self.name, input=text)
        else:
            call.function = types.FunctionBody(name=self.name, arguments=text)
        return put_back(call, self.left) if self.left else call


class Alike:
    """Tells chunks that say nothing but one more piece of the text that is being said, as nearly all do.

    Only the first chunk it gets is looked at field by field; where that is such a one, the others are compared with it.
    """

    __slots__ = ("_like",)

    def __init__(self) -> None:
        self._like: types.Delta | None = None

    def text(self, chunk: types.Chunk) -> str:
        """The piece of text; nothing where the chunk says more, or where that is not known yet."""
        choices = chunk.choices
        if not choices or len(choices) > 1 or chunk.usage or chunk.error or chunk.base_resp:
            return ""
        choice = choices[0]
        if (
            choice.index
            or choice.finish_reason
            or choice.logprobs
            or choice.usage
            or type(choice) is not types.ChunkChoice
        ):
            return ""
        delta, like = choice.delta, self._like
        if not delta:
            return ""
        if like is None:
            more = {name for name in delta.__struct_fields__ if getattr(delta, name)} - {"role", "content", "token_id"}
            self._like = types.Delta() if more else replace(delta)
            return ""
        content = like.content = delta.content
        like.token_id = delta.token_id
        return content if isinstance(content, str) and delta == like else ""


class Pieces:
    """The answer that the chunks make. `calls` are in the order in which they began."""

    def __init__(self) -> None:
        self.body = types.Completion(object="chat.completion", choices=[])
        self.choice = types.Choice(index=0)
        self._said = types.Answer(role="assistant")
        self.calls: list[CallPieces] = []
        self._texts: dict[str, list[str]] = {}
        self._parts: list[Any] = []
        self._details: dict[
            tuple[str, str], tuple[Json, dict[str, list[str]]]
        ] = {}  # and the texts that come in pieces
        self._logprobs: Json = {}
        self._extras: dict[str, Json] = {}
        self._by_index: dict[int, CallPieces] = {}

    # -- taking

    def document(self, chunk: types.Chunk) -> None:
        """Take what the chunk says about the answer as a whole."""
        for name in _OF_DOCUMENT:
            value = getattr(chunk, name)
            if given(value) and value != "":
                setattr(self.body, name, value)
        self._keep("document", chunk)
        if not given(self.body.usage) and is_object(chunk.x_groq) and "usage" in chunk.x_groq:
            with suppress(DecodeError):  # what is no count stays where it came
                self.body.usage = _USAGE.decode(msgspec.json.encode(chunk.x_groq["usage"]))

    def ending(self, choice: types.ChunkChoice) -> None:
        """Take what a chunk says about its choice beside the message."""
        if choice.finish_reason and not self.choice.finish_reason:
            self.choice.finish_reason = choice.finish_reason
        for name in _CHOICE_FIELDS:
            value = getattr(choice, name)
            if value is not UNSET:
                setattr(self.choice, name, value)
        if given(choice.usage):
            self.body.usage = choice.usage
        if is_object(choice.logprobs):
            for name, value in choice.logprobs.items():
                known = self._logprobs.get(name)
                self._logprobs[name] = value if known is None else [*as_list(known), *as_list(value)] or known
        elif choice.logprobs is None and self.choice.logprobs is UNSET:
            self.choice.logprobs = None
        self._keep("choice", choice)

    def text(self, field: str, piece: str) -> None:
        """Take a piece of a text."""
        if field == "content" and self._parts:
            self.parts([types.Text(text=piece)])
        else:
            self._texts.setdefault(field, []).append(piece)

    def parts(self, parts: list[Any]) -> None:
        """Take pieces of a content that is a list; neighbours of one kind are one part."""
        for part in parts:
            last = self._parts[-1] if self._parts else None
            if isinstance(part, types.Text) and isinstance(last, types.Text):
                last.text += part.text
                if part != replace(_TEXT, text=part.text):
                    self._parts[-1] = _followed(last, part, "text")
            elif isinstance(part, types.Thinking) and isinstance(last, types.Thinking):
                last.thinking = _joined(last.thinking, part.thinking)
                if part != replace(_THOUGHT, thinking=part.thinking):
                    self._parts[-1] = _followed(last, part, "thinking")
            else:
                self._parts.append(part)

    def rest(self, delta: types.Delta) -> None:
        """Take what a delta says beside texts and calls."""
        for name, value in _BESIDE.of(delta).items():
            before = getattr(self._said, name, UNSET)
            if name == "reasoning_details" and value:
                self.details(value)
            elif name == "annotations" and value:
                self._said.annotations = [*(before or ()), *value]
            elif name == "audio" and value and before:
                self._said.audio = _joined_audio(before, value)
            elif name not in types.Answer.__struct_fields__:
                self._extras.setdefault("message", {})[name] = value
            elif value is not None or before is UNSET:
                setattr(self._said, name, value)
        for name in GROWING:
            if getattr(delta, name) is None and getattr(self._said, name) is UNSET:
                setattr(self._said, name, None)

    def call(self, piece: types.ToolCall) -> tuple[CallPieces, str]:
        """Take a piece of a call: the call it belongs to, and the text it adds."""
        index = int(piece.index) if given(piece.index) else None
        found = self._by_index.get(index) if index is not None else self.calls[-1] if self.calls else None
        new_id = piece.id if piece.id not in ("", "null") else None
        if found is None or (new_id and found.call.id and new_id != found.call.id):
            # Without an index a second complete call is told by its id or its name alone.
            found = CallPieces()
            self.calls.append(found)
        elif index is None and not new_id and given(piece.function) and piece.function.name and _complete(found):
            found = CallPieces()
            self.calls.append(found)
        if index is not None:
            self._by_index[index] = found
        return found, found.add(piece)

    def legacy(self, piece: types.FunctionBody) -> tuple[CallPieces, str]:
        """Take a piece of a call in the legacy form."""
        if not self.calls:
            self.calls.append(CallPieces(legacy=True))
        return self.calls[-1], self.calls[-1].add(types.ToolCall(function=piece))

    def details(self, details: Iterable[Json]) -> None:
        """Take pieces of structured reasoning, which are told apart by index and type."""
        for detail in details:
            key = str(detail.get("index", len(self._details))), str(detail.get("type"))
            known, texts = self._details.setdefault(key, ({}, {}))
            for name, value in detail.items():
                if name in _JOINED and isinstance(value, str):
                    texts.setdefault(name, []).append(value)
                    known.setdefault(name, "")
                elif value is not None or name not in known:
                    known[name] = value

    def _keep(self, place: str, struct: Model) -> None:
        if unknown := extras(struct):
            self._extras.setdefault(place, {}).update(unknown)

    # -- giving

    def said(self) -> types.Answer:
        """The message as far as it has come."""
        said = replace(self._said)
        for field, pieces in self._texts.items():
            setattr(said, field, "".join(pieces))
        if self._parts:
            said.content = self._parts
        elif said.content is UNSET or said.content == "":
            said.content = None
        if self._details:
            said.reasoning_details = [
                {**known, **{name: "".join(pieces) for name, pieces in texts.items()}}
                for known, texts in self._details.values()
            ]
        for call in self.calls:
            if call.legacy:
                said.function_call = call.whole().function
        if calls := [call.whole() for call in self.calls if not call.legacy]:
            said.tool_calls = calls
        return put_back(said, self._extras.get("message", {}))

    def whole(self) -> types.Completion:
        """The answer as far as it has come, as one document."""
        choice = replace(self.choice, message=self.said())
        if self._logprobs:
            choice.logprobs = self._logprobs
        choice = put_back(choice, self._extras.get("choice", {}))
        body = replace(self.body, choices=[choice])
        return put_back(body, self._extras.get("document", {}))


def _complete(call: CallPieces) -> bool:
    try:
        msgspec.json.decode("".join(call.pieces))
    except msgspec.DecodeError:
        return False
    return True


def _joined(one: str | list[Json], other: str | list[Json]) -> str | list[Json]:
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    pieces = pieces_of(one)
    for piece in pieces_of(other):
        if is_text(piece) and pieces and is_text(pieces[-1]):
            pieces[-1] = {**pieces[-1], **piece, "text": pieces[-1]["text"] + piece["text"]}
        else:
            pieces.append(piece)
    return pieces


def _followed(last: P, part: Model, growing: str) -> P:
    """The part with what the next piece of it says beside its text."""
    said = rest(part, growing)
    declared = {name: said[name] for name in said if name in last.__struct_fields__ and said[name] is not None}
    return put_back(replace(last, **declared), said) if said else last


def _joined_audio(one: Json, other: Json) -> Json:
    joined = {**one, **{name: value for name, value in other.items() if value is not None}}
    for name in ("data", "transcript"):
        if isinstance(one.get(name), str) and isinstance(other.get(name), str):
            joined[name] = one[name] + other[name]
    return joined
