"""Streamed answers, both ways: chunks to events, and events to chunks.

The chunks are merged to the whole answer as they come, and the terminal event carries what `decode_response` makes of it, so
that a stream and an answer say the same. On the way back, what comes in pieces leaves in pieces; what only the whole answer has
(sources, signed reasoning, counts) leaves with the end, as the difference between what `encode_response` makes and what was
sent. Before changing this file, know that reasoning and text end as soon as something else begins, while calls stay open to
the end, because their pieces may come in any order, and how hosts differ ("Rules for a robust reader"): an index may be
missing, a float, always 0 or start at 1; an id may be empty or repeated in every piece; only a value that says something
overwrites. Follows "Streaming" of the Chat Completions reference and the hosts' own (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ...losses import Losses
from ...responses import events as ev
from ...responses.carriers import digest, report_error, report_failure
from ...responses.emit import Emitter, OpenItem
from ...responses.items import AnyItem, CustomToolCall, FunctionCall, ItemBase, Message, Reasoning
from ...responses.parts import OutputText, ReasoningText, RefusalPart, SummaryText
from ...responses.response import IncompleteDetails, Response, ResponseError, echo
from ...unknown import Unknown, given, with_extras
from ..leftovers import as_list, as_object
from ..stream import OpenParts, Part, built, present
from ..tool_names import names_sent, sent_name, undo
from . import reasoning, types
from .content import decode_annotations
from .messages import call_state, decode_message
from .request import is_legacy, wants_usage
from .response import GROWING, MergedAnswer, decode_error, decode_response, encode_response, item_id
from .tools import MergedCall, decode_call, encode_call, json_text
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...responses.request import Request
    from ...vendors.dialects import ChatDialect
    from .types import Json

_APART = ("role", "content", "token_id")
_beside = attrgetter(*(name for name in types.Delta.__struct_fields__ if name not in _APART))
_NOTHING_BESIDE = (UNSET,) * (len(types.Delta.__struct_fields__) - len(_APART))


# --- chunks -> events -----------------------------------------------------------------------------------------------


class _Call(NamedTuple):
    """A call that was announced."""

    opened: OpenItem
    merged: MergedCall
    custom: bool


class StreamDecoder:
    """`feed` takes a chunk and gives the events it makes; `end` ends the answer, `close` one that said that it was complete."""

    def __init__(self, request: Request | None, dialect: ChatDialect, now: float, keep: bool) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        self._now = now
        self._keep = keep
        self._to = Emitter()
        self._merged = MergedAnswer()
        self._tags = reasoning.ThinkTags() if dialect.think_tags else None
        self._meant = names_sent(request, custom_tools=dialect.custom_tools, naming=sent_name)
        self._origin = ""
        self._output: list[AnyItem | None] = []  # what was ended, by place; `None` where it is still open
        self._thinking: OpenParts | None = None
        self._thought = MergedAnswer()  # the reasoning of the open item alone
        self._shown: dict[str, reasoning.Repeated] = {}  # what each field with reasoning told
        self._begun = self._reached = 0  # where the bare text of the open item begins, and how far such text has come
        self._text: OpenParts | None = None
        self._calls: dict[int, _Call] = {}
        self._others: set[int] = set()  # further choices that came
        self._counted = False  # the last thing that came were counts without text or calls, which hosts send at the end
        self._over = False

    def feed(self, chunk: types.Chunk) -> list[ev.AnyEvent]:
        """The events of one chunk."""
        if self._over:
            return []
        choices = chunk.choices or ()
        if not self._origin or len(choices) != 1 or choices[0].finish_reason or given(chunk.usage):
            self._merged.add_document(chunk)
        if chunk.error or (chunk.base_resp and chunk.base_resp.get("status_code")):
            self._fail(chunk)
            return self._to.take()
        if not self._origin and (chunk.id or choices):
            self._start(chunk)
        says_something = False
        for choice in choices:
            delta = choice.delta
            if choice.index:
                self._others.add(choice.index)  # which have no place in one response
                says_something = says_something or bool(delta and not _is_empty(delta))
                continue
            if delta:
                content = delta.content
                if type(content) is str and type(delta) is types.Delta and _beside(delta) == _NOTHING_BESIDE:
                    says_something = says_something or bool(content)
                    self._add_content(content)
                else:
                    says_something = says_something or not _is_empty(delta)
                    self._add_delta(delta)
            if choice.finish_reason or choice.logprobs or given(choice.usage) or type(choice) is not types.ChunkChoice:
                self._merged.add_choice(choice)
        self._counted = not says_something and (self._counted or given(chunk.usage))
        return self._to.take()

    def close(self) -> list[ev.AnyEvent]:
        """The end, where a finish reason or the final counts came; nothing where the stream was cut."""
        if self._counted or self._merged.choice.get("finish_reason"):
            return self.end()
        return self._to.take()

    def end(self) -> list[ev.AnyEvent]:
        """The end, which the host marked as such. Some hosts give no reason for it."""
        if self._origin and not self._over:
            self._finish()
        return self._to.take()

    # -- the response

    def _start(self, chunk: types.Chunk) -> None:
        self._origin = chunk.id or f"resp_{digest(msgspec.json.encode(chunk).decode())}"
        created = int(self._merged.document.get("created") or self._now)
        about: Json = {"status": "in_progress", "model": chunk.model or "", "output": [], **echo(self._request)}
        self._to.start(Response(id=self._origin, created_at=created, **about))

    def _whole(self) -> Response:
        self._merged.document["id"] = self._origin  # by which it was announced, whatever later chunks say
        body, dialect = self._merged.whole(), self._dialect
        response, lost = decode_response(body, request=self._request, dialect=dialect, now=self._now, keep=self._keep)
        self.losses[:] = lost
        for index in sorted(self._others):
            self.losses.dropped(f"choices[{index}]", "one more answer to the same question; a response has one")
        for path in self._merged.replaced if self._keep else ():
            self.losses.changed(path, "several values, of which the last one is kept")
        return response

    def _finish(self) -> None:
        if self._tags is not None:
            self._add_tagged(self._tags.close())
        self._end_thought()
        response = self._whole()
        if not self._merged.choice.get("finish_reason") and not all(call.has_arguments for call in self._merged.calls):
            # Without a reason to end, a call that was announced and has no arguments yet is not one without arguments.
            response = replace(response, status="incomplete", incomplete_details=IncompleteDetails(reason=None))
            if not isinstance(last := response.output[-1], Unknown):
                last.status = "incomplete"
        final = response.output
        if len(final) < len(self._output) or any(
            item is not None and type(item) is not type(made) for item, made in zip(self._output, final, strict=False)
        ):
            final = []  # told in another order than a message has room for: what was told stands
        self._end_text(final)
        for call in self._calls.values():
            self._end_call(call, final[call.opened.index] if final else None)
        for item in final[len(self._output) :]:
            self._to.whole(item)
        if not final:
            response = replace(response, output=[item for item in self._output if item is not None])
        self._to.finish(response)
        self._over = True

    def _fail(self, chunk: types.Chunk) -> None:
        if not self._origin:
            self._start(chunk)
        facts = decode_error(200, {}, msgspec.json.encode(chunk))
        code = facts.code or (str(facts.status) if facts.status != 200 else None)
        about: Json = {"message": facts.message, "param": facts.param, "type": facts.type}
        self._to.error(ev.StreamError(code=code, **about))
        told = ResponseError(code=code or facts.type or "server_error", **about)
        failed = replace(self._whole(), status="failed", error=told, incomplete_details=None)
        report_error(facts, WIRE, self.losses)
        for item, ended in zip(failed.output, self._output, strict=False):
            if ended is None and not isinstance(item, Unknown):
                item.status = "incomplete"
        self._to.finish(failed)
        self._over = True

    # -- what a delta says

    def _add_delta(self, delta: types.Delta) -> None:
        content = json_text(delta.content) if isinstance(delta.content, dict) else delta.content
        if delta.reasoning_details or delta.reasoning_content or delta.reasoning:
            self._add_reasoning(delta)
        if isinstance(content, str):
            self._add_content(content)
        elif content:
            self._add_parts(content)
        if delta.refusal:
            self._merged.add_text("refusal", delta.refusal)
            self._add_text(delta.refusal, RefusalPart)
        for piece in delta.tool_calls or ():
            self._add_call(*self._merged.add_call(piece))
        if given(delta.function_call):
            self._add_call(*self._merged.add_legacy(delta.function_call))
        self._merged.add_beside(delta)
        if delta.annotations and self._text is not None:
            for annotation in decode_annotations(delta.annotations):
                self._text.item.annotation(annotation)

    def _add_content(self, content: str) -> None:
        if content:
            self._merged.add_text("content", content)
            if self._tags is None:
                self._add_text(content)
            else:
                self._add_tagged(self._tags.feed(content))

    def _open(self, item: ItemBase) -> OpenItem:
        item.id = item_id(cast("AnyItem", item), self._origin, len(self._output))
        self._output.append(None)
        return self._to.add(cast("AnyItem", item))

    def _add_whole(self, item: Any) -> None:
        """Begin and end an item at once."""
        item.id = item_id(item, self._origin, len(self._output))
        item.status = "completed"
        self._output.append(item)
        self._to.whole(item)

    def _done(self, opened: OpenItem, item: Any) -> None:
        if not given(item.status):
            item = replace(item, id=opened.id, status="completed")
        self._output[opened.index] = item
        opened.done(item)

    # -- thoughts

    def _add_reasoning(self, delta: types.Delta) -> None:
        bare = {field: text for field in reasoning.TEXT_PLACES if (text := getattr(delta, field))}
        details = delta.reasoning_details or ()
        for field, text in bare.items():
            self._merged.add_text(field, text)
        kinds: tuple[tuple[str, type[Part]], ...] = (("summary", SummaryText), ("text", ReasoningText))
        shown = [(str(detail[name]), kind) for detail in details for name, kind in kinds if detail.get(name)]
        told = shown or [(text, ReasoningText) for text in list(bare.values())[:1]]
        if told and not (bare and shown):
            # A host may tell a thought in one field and then once more in the other.
            field = "reasoning_details" if shown else next(iter(bare))
            others = [self._shown[name] for name in self._shown if name != field]
            told = [(text, kind) for text, kind in told if not any(other.repeats(text) for other in others)]
            for text, _ in told:
                self._shown.setdefault(field, reasoning.Repeated()).add(text)
            if not told and self._thinking is None:
                return
        if self._thinking is None:
            gap = (
                len(reasoning.GAP)
                if bare and not shown and self._reached and told[0][0].startswith(reasoning.GAP)
                else 0
            )
            told = [(text[gap:], kind) for text, kind in told]
            bare = {field: text[gap:] for field, text in bare.items()}
            self._begun = self._reached = self._reached + gap
            if not told:
                self._add_thought("")
        self._reached += len(next(iter(bare.values()), ""))
        for field, text in bare.items():
            self._thought.add_text(field, text)
        self._thought.add_details(details)
        for text, kind in told:
            self._add_thought(text, kind)
        if any(reasoning.is_ours(detail) and detail.get("type") == "reasoning.encrypted" for detail in details):
            self._end_thought()

    def _add_thought(self, text: str, kind: type[Part] = ReasoningText) -> None:
        self._end_text()
        if self._thinking is None:
            self._thinking = OpenParts(self._open(Reasoning(status="in_progress", summary=[])))
        if text:
            self._thinking.add(text, kind)

    def _end_thought(self) -> None:
        thinking, self._thinking = self._thinking, None
        if thinking is None:
            return
        thinking.end_part()
        said, self._thought = self._thought.said(), MergedAnswer()
        for detail in said.reasoning_details or ():
            if reasoning.is_ours(detail) and type(start := detail.get("start")) is int:
                detail["start"] = start - self._begun  # counted in the text of all thoughts, of which this is one
        if isinstance(said.content, str):
            said.content = f"<think>{said.content}</think>"
        items = decode_message(said, self._dialect, self._origin, "", Losses(), answer=True)
        first, *others = items or [Reasoning(summary=[])]
        self._done(thinking.item, first)
        for item in others:
            self._add_whole(item)

    # -- text

    def _add_tagged(self, pieces: list[tuple[bool, str]]) -> None:
        """Text that may hold a thought between tags."""
        for is_thought, text in pieces:
            if is_thought:
                self._thought.add_text("content", text)
                self._add_thought(text)
            else:
                self._add_text(text)

    def _add_parts(self, content: list[types.AnyPart]) -> None:
        """Content in parts, as Mistral sends it: thoughts and texts."""
        for part in content:
            if isinstance(part, types.Thinking):
                self._thought.add_parts([replace(part)])
                self._add_thought(
                    "".join([piece["text"] for piece in reasoning.pieces_of(part.thinking) if reasoning.is_text(piece)])
                )
            elif isinstance(part, types.Text) and part.text:
                self._add_text(part.text)
        self._merged.add_parts(content)

    def _add_text(self, text: str, kind: type[Part] = OutputText) -> None:
        if self._text is None:
            self._end_thought()
            self._text = OpenParts(self._open(Message(status="in_progress", role="assistant", content=[])))
        self._text.add(text, kind)

    def _end_text(self, final: Sequence[AnyItem] = ()) -> None:
        opened, self._text = self._text, None
        if opened is not None:
            item = final[opened.item.index] if final else None
            message = item if isinstance(item, Message) else None
            opened.end_part(as_list(message.content) if message is not None else ())
            self._done(opened.item, message or Message(role="assistant", content=opened.parts))

    # -- calls

    def _add_call(self, merged: MergedCall, text: str) -> None:
        call = self._calls.get(id(merged))
        if call is not None:
            if not call.custom:
                call.opened.arguments(text)
            elif merged.custom:  # free text inside JSON is handed on when it is complete
                call.opened.input(text)
            return
        # A call is announced by its name, which may come later than its first piece.
        if not merged.name:
            return
        self._end_thought()
        self._end_text()
        item = self._announced(merged)
        self._calls[id(merged)] = _Call(self._open(item), merged, isinstance(item, CustomToolCall))
        self._add_call(merged, "".join(merged.pieces))

    def _announced(self, merged: MergedCall) -> FunctionCall | CustomToolCall:
        """The call as its item begins; what its host attached stands in a carrier before it."""
        whole, position = merged.whole(), self._merged.calls.index(merged)
        call = decode_call(whole, self._dialect, self._origin, position, "", Losses())
        for state in call_state(whole, call.call_id, self._dialect):
            self._add_whole(state)
        if self._meant:
            call = undo(call, self._meant, "", Losses())
        call_id = merged.id or call.call_id
        if isinstance(call, CustomToolCall):
            return replace(call, status="in_progress", call_id=call_id, input="")
        return replace(call, status="in_progress", call_id=call_id, arguments="")

    def _end_call(self, call: _Call, final: AnyItem | None) -> None:
        text = "".join(call.merged.pieces)
        if isinstance(final, CustomToolCall):
            if not call.merged.custom:
                call.opened.input(final.input)
            call.opened.end_input(final.input)
        elif isinstance(final, FunctionCall):
            if not text:
                call.opened.arguments(final.arguments)
            call.opened.end_arguments(final.arguments)
        item = final or FunctionCall(call_id=call.merged.id or "", name=call.merged.name, arguments=text or "{}")
        self._done(call.opened, item)


def _is_empty(delta: types.Delta) -> bool:
    """Whether a delta says nothing about the answer itself."""
    return not (any(getattr(delta, name) for name in GROWING) or delta.tool_calls or delta.function_call or delta.audio)


# --- events -> chunks -----------------------------------------------------------------------------------------------


class _SentCall(NamedTuple):
    """A call in progress: its number, and how much of its text left."""

    number: int
    escaped: bool  # free text that leaves as the one string of a JSON object
    sent: list[str]


class StreamEncoder:
    """`feed` takes an event and gives the chunks it makes. Calls are counted from 0 whatever their place in the output."""

    def __init__(self, request: Request | None, dialect: ChatDialect) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        self._legacy = is_legacy(request)
        self._counts = wants_usage(request)
        self._thoughts = reasoning.streamed_field(
            dialect
        )  # empty on hosts that put thoughts into the content, which get them whole
        self._head: Json = {}
        self._sent: dict[str, list[str]] = {}
        self._calls: dict[int, _SentCall] = {}
        self._details = self._parts = 0  # how many of them left
        self._begun = self._reached = 0  # where the text of the open thought begins, and how far such text has come
        self._gap = ""  # what stands between the text before and the next one

    def feed(self, event: ev.AnyEvent) -> list[types.Chunk]:
        """The chunks that leave for this event."""
        match event:
            case ev.OutputTextDelta():
                return self._add_text("content", event.delta)
            case ev.FunctionCallArgumentsDelta() | ev.CustomToolCallInputDelta():
                return self._add_arguments(event.output_index, event.delta)
            case ev.ReasoningTextDelta() | ev.ReasoningDelta() | ev.ReasoningSummaryTextDelta():
                return self._add_text(self._thoughts, event.delta) if self._thoughts else []
            case ev.RefusalDelta():
                return self._add_text("refusal", event.delta)
            case ev.ResponseCreated():
                return self._begin(event.response)
            case ev.OutputItemAdded():
                return self._begin_item(event.output_index, event.item)
            case ev.OutputItemDone():
                return self._end_item(event.output_index, event.item)
            case ev.ReasoningSummaryPartAdded() | ev.ContentPartAdded(part=ReasoningText()):
                self._gap = reasoning.GAP if self._sent.get(self._thoughts) else ""
                return []
            case ev.ResponseCompleted() | ev.ResponseIncomplete():
                return self._end(event.response)
            case ev.ResponseFailed():
                return self._fail(event.response)
            case _:
                return []

    def close(self) -> list[types.Chunk]:
        """Nothing is held back."""
        return []

    def _chunk(self, **said: Any) -> types.Chunk:
        choice = types.ChunkChoice(index=0, delta=types.Delta(**said), finish_reason=None)
        return types.Chunk(**self._head, choices=[choice])

    def _begin(self, response: Response) -> list[types.Chunk]:
        self._head = {
            "id": response.id,
            "object": "chat.completion.chunk",
            "created": int(response.created_at) if given(response.created_at) else 0,
            "model": response.model,
        }
        return [self._chunk(role="assistant", content="")]

    # -- pieces

    def _add_text(self, field: str, text: str) -> list[types.Chunk]:
        if not text:
            return []
        if self._gap:
            text, self._gap = self._gap + text, ""
        self._sent.setdefault(field, []).append(text)
        if field == self._thoughts:
            self._reached += len(text)
        return [self._chunk(**{field: text})]

    def _begin_item(self, index: int, item: AnyItem | None) -> list[types.Chunk]:
        if isinstance(item, Message):
            self._gap = reasoning.GAP if self._sent.get("content") else ""
        elif isinstance(item, Reasoning):
            self._gap = reasoning.GAP if self._thoughts and self._sent.get(self._thoughts) else ""
            self._begun = self._reached + len(self._gap)
        elif isinstance(item, FunctionCall | CustomToolCall):
            return self._begin_call(index, item)
        return []

    def _begin_call(self, index: int, item: FunctionCall | CustomToolCall) -> list[types.Chunk]:
        escaped = isinstance(item, CustomToolCall) and not self._dialect.custom_tools
        call = self._calls[index] = _SentCall(len(self._calls), escaped, [])
        made = encode_call(item, self._dialect, "", Losses(), answer=True)
        if given(made.custom):
            made.custom.input = ""
        elif given(made.function):
            made.function.arguments = ""
            if self._legacy:
                return [self._chunk(function_call=made.function)]
        made.index = call.number
        chunks = [self._chunk(tool_calls=[made])]
        return chunks + self._add_piece(call, '{"input":"') if escaped else chunks

    def _add_arguments(self, index: int, text: str) -> list[types.Chunk]:
        call = self._calls.get(index)
        if call is None or not text:
            return []
        return self._add_piece(call, msgspec.json.encode(text).decode()[1:-1] if call.escaped else text)

    def _add_piece(self, call: _SentCall, text: str) -> list[types.Chunk]:
        call.sent.append(text)
        body = types.FunctionBody(arguments=text)
        if self._legacy:
            return [self._chunk(function_call=body)]
        return [self._chunk(tool_calls=[types.ToolCall(index=call.number, function=body)])]

    def _end_item(self, index: int, item: AnyItem | None) -> list[types.Chunk]:
        if isinstance(item, Reasoning):
            return self._end_thought(item)
        call = self._calls.get(index)
        if call is None or not isinstance(item, FunctionCall | CustomToolCall):
            return []
        if call.escaped:
            return self._add_piece(call, '"}')
        text = item.input if isinstance(item, CustomToolCall) else item.arguments
        sent = "".join(call.sent)
        return self._add_piece(call, text[len(sent) :]) if text.startswith(sent) and text != sent else []

    def _end_thought(self, item: Reasoning) -> list[types.Chunk]:
        """What is left to tell of a thought: the state of another issuer, behind its text.

        On a host that shows a thought with its state, or inside the content, that is all of it.
        """
        if self._thoughts:
            chunks = [] if self._reached > self._begun else self._add_text(self._thoughts, reasoning.text_of(item))
            if not reasoning.is_foreign(item, self._dialect):
                return chunks
            if self._reached - self._begun != len(
                reasoning.text_of(item)
            ):  # the state is not that of the text that was told
                item = Reasoning(summary=[], encrypted_content=item.encrypted_content)
            behind = reasoning.state_behind(item, self._details, self._begun)
            self._details += 1
            return [*chunks, self._chunk(reasoning_details=[behind])]
        alone = Response(id="", status="completed", output=[item])
        whole, _ = encode_response(alone, request=self._request, dialect=self._dialect)
        said = whole.choices[0].message or types.Answer()
        delta: Json = {}
        if said.reasoning_details:
            delta["reasoning_details"] = [
                {**detail, "id": str(self._details), "index": i} if reasoning.is_ours(detail) else detail
                for i, detail in enumerate(said.reasoning_details, self._details)
            ]
            self._details += len(said.reasoning_details)
        if isinstance(said.content, list):
            delta["content"] = said.content
            self._parts += len(said.content)
        elif isinstance(said.content, str):
            return self._add_text("content", said.content)
        return [self._chunk(**delta)] if delta else []

    # -- the end

    def _end(self, response: Response) -> list[types.Chunk]:
        whole, lost = encode_response(response, request=self._request, dialect=self._dialect)
        self.losses += lost
        choice = whole.choices[0] if whole.choices else types.Choice()
        chunks: list[types.Chunk] = []
        # Leftovers may say anything, where a message and calls belong too.
        rest = self._unsent(choice.message) if isinstance(choice.message, types.Answer) else {}
        if rest:
            delta = built(types.Delta, rest)
            chunks.append(
                types.Chunk(**self._head, choices=[types.ChunkChoice(index=0, delta=delta, finish_reason=None)])
            )
        last = built(types.ChunkChoice, {**present(choice, "message"), "index": 0, "delta": types.Delta()})
        beside = present(whole, "choices", "usage", "object", "error", *self._head)
        chunks.append(built(types.Chunk, {**self._head, **beside, "choices": [last]}))
        if self._counts and given(whole.usage):
            chunks.append(types.Chunk(**self._head, choices=[], usage=whole.usage))
        return chunks

    def _unsent(self, said: types.Answer) -> Json:
        """What the whole message says beyond what was sent."""
        rest: Json = {}
        for name, value in present(said, "role", "function_call").items():
            if name in reasoning.TEXT_PLACES and name != self._thoughts and (self._reached or self._details):
                continue  # the same thought in a second field
            if name in GROWING:
                value = self._unsent_text(name, value)
            elif name == "tool_calls":
                value = self._unsent_calls(value)
            elif name == "reasoning_details" and self._thoughts:  # what is shown as text left with its item
                value = [detail for detail in as_list(value) if not reasoning.is_ours(as_object(detail))]
            elif name == "reasoning_details":
                value = as_list(value)[self._details :]
            if name not in types.Answer.__struct_fields__ or (given(value) and value != []):
                rest[name] = value
        return rest

    def _unsent_text(self, field: str, whole: Any) -> Any:
        sent = "".join(self._sent.get(field, ()))
        if not isinstance(whole, str):
            # Content in parts: all of it where nothing was sent, else what was sent has to do.
            return None if sent or self._parts else whole
        return whole[len(sent) :] or None if whole.startswith(sent) else None

    def _unsent_calls(self, calls: Any) -> list[types.ToolCall]:
        """What the whole calls say beyond what was sent of them: what the host attached, and fields no struct declares."""
        rest: list[types.ToolCall] = []
        for number, call in enumerate(as_list(calls)):
            said = present(call, *(name for name in types.ToolCall.__struct_fields__ if name != "extra_content"))
            if given(body := call.function) and (inner := present(body, *types.FunctionBody.__struct_fields__)):
                said["function"] = with_extras(types.FunctionBody(), inner)
            if said := {name: value for name, value in said.items() if name != "extra_content" or value}:
                rest.append(built(types.ToolCall, {"index": number, **said}))
        return rest

    def _fail(self, response: Response) -> list[types.Chunk]:
        _, lost = encode_response(response, request=self._request, dialect=self._dialect)
        told = response.error if given(response.error) else ResponseError()
        report_failure(response, lost, self.losses, told.code, told.type, told.param)
        error = {
            "message": told.message or "the answer failed",
            "type": told.type or "server_error",
            "param": told.param or None,
            "code": told.code or None,
        }
        return [types.Chunk(error=error)]  # alone: clients look for it in place of `choices`, not beside them
