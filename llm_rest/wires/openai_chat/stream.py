"""Streaming, both ways: chunks to events, and events to chunks.

The chunks are merged to the whole answer as they arrive, and the terminal event carries the result of `decode_response`, so
that a streamed and a whole answer are the same. In encoding, incremental data is sent in pieces; data that only the whole
answer has (sources, signed reasoning, token usage) is sent at the end, as the difference between the result of
`encode_response` and the sent chunks. Before changing this file, know that reasoning and text end as soon as another item
begins, while calls stay open to the end, because their pieces may come in any order, and how hosts differ ("Rules for a robust
reader"): an index may be missing, a float, always 0 or start at 1; an id may be empty or repeated in every piece; only a value
with content overwrites. Follows "Streaming" of the Chat Completions reference and the hosts' own (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Losses
from ...responses import events as ev
from ...responses.carriers import digest, report_error, report_failure
from ...unknown import Unknown, as_list, as_object, given, with_extras
from ...vendors.dialects import ChatDialect
from .. import stream
from ..leftovers import built, item_id, new_answer, present, wants_summary
from ..stream import unsent
from ..tools import ONE_CALL, restore_tool, sent_name, sent_tools
from . import reasoning, types
from .content import decode_annotations
from .media import decode_executed, decode_images, executed
from .messages import decode_message
from .request import OPENAI, wants_function_call, wants_usage
from .response import ANOTHER_CHOICE, GROWING, MergedAnswer, decode_error, decode_response, encode_response
from .tools import MergedCall, call_state, decode_call, encode_call
from .types import WIRE

if TYPE_CHECKING:
    from ...responses.emit import OpenItem
    from ..stream import OpenParts, Part
    from .types import Json

__all__ = ["decode_stream", "encode_stream"]

_PLAIN_FIELDS = ("role", "content", "token_id")
_other_fields = attrgetter(*(name for name in types.Delta.__struct_fields__ if name not in _PLAIN_FIELDS))
_NO_OTHER_FIELDS = (UNSET,) * (len(types.Delta.__struct_fields__) - len(_PLAIN_FIELDS))


# --- chunks -> events -----------------------------------------------------------------------------------------------


class _Call(NamedTuple):
    """A call that was announced."""

    opened: OpenItem
    merged: MergedCall
    custom: bool


class StreamDecoder(stream.StreamDecoder[ChatDialect]):
    """Converts chunks to Responses events; `end` ends the answer, `close` ends it if it was marked as complete."""

    DIALECT = OPENAI

    def _prepare(self) -> None:
        dialect = self._dialect
        self._merged = MergedAnswer()
        self._tags = reasoning.ThinkTags() if dialect.think_tags else None
        self._names = sent_tools(self._request, custom_tools=dialect.custom_tools, naming=sent_name)
        self._origin = ""
        self._item_ids: list[str] = []  # of the items that began, with their types and positions
        self._final_output: list[ours.AnyItem] = []  # the output of the whole answer, once it is complete
        self._open_thought = MergedAnswer()  # the reasoning of the open item alone
        self._sent_thoughts: dict[str, reasoning.Repeated] = {}  # the text of each field with reasoning
        self._thought_start = self._thought_end = 0  # where the bare text of the open item begins, and its length
        self._calls: dict[int, _Call] = {}
        self._thought_part: type[Part] = ours.SummaryText if wants_summary(self._request) else ours.ReasoningText
        self._has_text = False
        self._has_objects = False  # pieces of text that were objects
        self._has_one_call = False  # a call in place of the list
        self._sent_tools = self._sent_images = 0  # the number of those sent
        self._other_choices: set[int] = set()  # further choices that came
        self._has_final_usage = False  # the last chunk had token usage and no content, as hosts send it at the end

    def feed(self, event: types.Chunk) -> list[ev.AnyEvent]:
        """The events of one chunk."""
        if self._ended:
            return []
        chunk = event
        choices = chunk.choices or ()
        if not self._origin or len(choices) != 1 or choices[0].finish_reason or given(chunk.usage):
            self._merged.add_document(chunk)
        if chunk.error or (chunk.base_resp and chunk.base_resp.get("status_code")):
            self._end_with_error(chunk)
            return self._emitter.take()
        if not self._origin and (chunk.id or choices):
            self._start(chunk)
        has_content = False
        for choice in choices:
            delta = choice.delta
            if choice.index:
                self._other_choices.add(choice.index)  # which have no place in one response
                has_content = has_content or bool(delta and not _is_empty(delta))
                continue
            if delta:
                content = delta.content
                if type(content) is str and type(delta) is types.Delta and _other_fields(delta) == _NO_OTHER_FIELDS:
                    has_content = has_content or bool(content)
                    self._add_content(content)
                else:
                    has_content = has_content or not _is_empty(delta)
                    self._add_delta(delta)
            if choice.finish_reason or choice.logprobs or given(choice.usage) or type(choice) is not types.ChunkChoice:
                self._merged.add_choice(choice)
        self._has_final_usage = not has_content and (self._has_final_usage or given(chunk.usage))
        return self._emitter.take()

    def close(self) -> list[ev.AnyEvent]:
        """The events at the end, after a finish reason or the final usage; none if the stream was cut off."""
        if self._has_final_usage or self._merged.choice.get("finish_reason"):
            return self.end()
        return self._emitter.take()

    def end(self) -> list[ev.AnyEvent]:
        """The events at the end that the host marked as such. Some hosts send no finish reason."""
        if self._origin and not self._ended:
            self._end()
        return self._emitter.take()

    # -- the response

    def _start(self, chunk: types.Chunk) -> None:
        self._origin = chunk.id or f"resp_{digest(msgspec.json.encode(chunk).decode())}"
        created = int(self._merged.document.get("created") or self._now)
        self._emitter.start(new_answer(self._origin, created, chunk.model, self._request))

    def _whole(self) -> ours.Response:
        self._merged.document["id"] = self._origin  # by which it was announced, whatever later chunks have
        body, dialect = self._merged.whole(), self._dialect
        response, lost = decode_response(body, request=self._request, dialect=dialect, now=self._now, keep=self._keep)
        self.losses[:] = lost
        for index in sorted(self._other_choices):
            self.losses.dropped(f"choices[{index}]", ANOTHER_CHOICE)
        if self._has_one_call:
            self.losses.changed("choices[0].message.tool_calls[0]", ONE_CALL)
        if self._has_objects:
            self.losses.dropped("choices[0].delta.content", "an object in place of a piece of text")
        for path in self._merged.replaced if self._keep else ():
            self.losses.changed(path, "several values; the last one is used")
        return response

    def _end(self) -> None:
        if self._tags is not None:
            self._add_text_with_tags(self._tags.close())
        if self._open is not None and self._open.kind is ours.Reasoning:
            self._end_open()
        response = self._whole()
        if not self._merged.choice.get("finish_reason") and not all(call.has_arguments for call in self._merged.calls):
            # Without a finish reason, a call that was announced and has no arguments yet is not one without arguments.
            response = replace(response, status="incomplete", incomplete_details=ours.IncompleteDetails(reason=None))
            if not isinstance(last := response.output[-1], Unknown):
                last.status = "incomplete"
        final = response.output
        late: list[Any] = []  # state of calls, images and executed tools, which some hosts send after other items
        if self._item_ids != [getattr(item, "id", None) for item in final[: len(self._item_ids)]]:
            sent = {getattr(item, "encrypted_content", None) for item in self._output}
            late = [one for one in final if type(one) is ours.Reasoning and one.encrypted_content not in sent]
            late = [one for one in late if not (one.summary or one.content)]
            late += [one for one in final if executed(one)][self._sent_tools :]
            late += [one for one in final if isinstance(one, ours.ImageGenerationCall)][self._sent_images :]
            final = []  # streamed in an order that a message cannot express: the streamed order is kept
        self._final_output = final
        self._end_open()
        for call in self._calls.values():
            self._end_call(call, final[call.opened.index] if final else None)
        for item in final[len(self._output) :]:
            self._emitter.whole(item)
        for item in late:
            self._emit_whole(item)
        if not final:
            response = replace(response, output=[item for item in self._output if item is not None])
        self._ended = True
        self._emitter.finish(response)

    def _end_with_error(self, chunk: types.Chunk) -> None:
        if not self._origin:
            self._start(chunk)
        facts = decode_error(200, {}, msgspec.json.encode(chunk))
        code = facts.code or (str(facts.status) if facts.status != 200 else None)
        about: Json = {"message": facts.message, "param": facts.param, "type": facts.type}
        error = ours.ResponseError(code=code or facts.type or "server_error", **about)
        failed = replace(self._whole(), status="failed", error=error, incomplete_details=None)
        report_error(facts, WIRE, self.losses)
        for item, ended in zip(failed.output, self._output, strict=False):
            if ended is None and not isinstance(item, Unknown):
                item.status = "incomplete"
        self._fail(ours.ResponseError(code=code, **about), failed)

    # -- deltas

    def _add_delta(self, delta: types.Delta) -> None:
        content = delta.content
        if isinstance(content, dict):
            content, self._has_objects = None, True
        self._merged.add_fields(delta)
        if delta.reasoning_details or delta.reasoning_content or delta.reasoning:
            self._add_reasoning(delta)
        if isinstance(content, str):
            self._add_content(content)
        elif content:
            self._add_parts(content)
        if delta.audio and not self._has_text and isinstance(text := delta.audio.get("transcript"), str) and text:
            self._append(ours.Message, text)
        if delta.refusal:
            self._merged.add_text("refusal", delta.refusal)
            self._append(ours.Message, delta.refusal, ours.RefusalPart)
        self._has_one_call = self._has_one_call or isinstance(delta.tool_calls, types.ToolCall)
        for piece in delta.calls:
            self._add_call(*self._merged.add_call(piece))
        if given(delta.function_call):
            self._add_call(*self._merged.add_legacy(delta.function_call))
        if delta.annotations and self._open is not None and self._open.kind is ours.Message:
            for annotation in decode_annotations(delta.annotations):
                self._open.item.annotation(annotation)

    def _add_content(self, content: str) -> None:
        if content:
            self._has_text = True
            self._merged.add_text("content", content)
            if self._tags is None:
                self._append(ours.Message, content)
            else:
                self._add_text_with_tags(self._tags.feed(content))

    def _set_id(self, item: Any) -> None:
        item.id = item_id(item, self._origin, len(self._output))
        self._item_ids.append(item.id)

    def _emit_whole(self, item: Any) -> None:
        self._set_id(item)
        item.status = "completed"
        super()._emit_whole(item)

    def _emit_done(self, opened: OpenItem, item: Any) -> None:
        super()._emit_done(opened, item if given(item.status) else replace(item, id=opened.id, status="completed"))

    def _end_open(self) -> None:
        opened, self._open = self._open, None
        if opened is None:
            return
        if opened.kind is ours.Reasoning:
            self._end_thought(opened)
            return
        item = self._final_output[opened.item.index] if self._final_output else None
        opened.end_part(as_list(item.content) if isinstance(item, ours.Message) else ())
        self._emit_done(opened.item, item or ours.Message(role="assistant", content=opened.parts))

    # -- images, and tools that the host ran

    def _begin(self, kind: type[ours.Message | ours.Reasoning]) -> OpenParts:
        if kind is ours.Message:
            self._emit_tools()
        return super()._begin(kind)

    def _emit_tools(self) -> None:
        if self._merged.tools:
            items = decode_executed([*self._merged.tools.values()], "", self._dialect.issuer, Losses())
            self._sent_tools += self._emit_all(items[self._sent_tools :])

    def _emit_images(self) -> None:
        if self._merged.images:
            items = decode_images(self._merged.images, "", Losses())
            self._sent_images += self._emit_all(items[self._sent_images :])

    def _emit_all(self, items: list[ours.AnyItem]) -> int:
        if items:
            self._end_open()
        for item in items:
            self._emit_whole(item)
        return len(items)

    # -- reasoning

    def _add_reasoning(self, delta: types.Delta) -> None:
        bare = {field: text for field in reasoning.TEXT_PLACES if (text := getattr(delta, field))}
        details = delta.reasoning_details or ()
        for field, text in bare.items():
            self._merged.add_text(field, text)
        kinds: tuple[tuple[str, type[Part]], ...] = (("summary", ours.SummaryText), ("text", self._thought_part))
        shown = [(str(detail[name]), kind) for detail in details for name, kind in kinds if detail.get(name)]
        texts = shown or [(text, self._thought_part) for text in list(bare.values())[:1]]
        if texts and not (bare and shown):
            # A host may send a thought in one field and then repeat it in the other.
            field = "reasoning_details" if shown else next(iter(bare))
            others = [self._sent_thoughts[name] for name in self._sent_thoughts if name != field]
            texts = [(text, kind) for text, kind in texts if not any(other.repeats(text) for other in others)]
            for text, _ in texts:
                self._sent_thoughts.setdefault(field, reasoning.Repeated()).add(text)
            if not texts and not self._is_thinking:
                return
        if not self._is_thinking:
            gap = (
                len(reasoning.GAP)
                if bare and not shown and self._thought_end and texts[0][0].startswith(reasoning.GAP)
                else 0
            )
            texts = [(text[gap:], kind) for text, kind in texts]
            bare = {field: text[gap:] for field, text in bare.items()}
            self._thought_start = self._thought_end = self._thought_end + gap
            if not texts:
                self._begin(ours.Reasoning)
        self._thought_end += len(next(iter(bare.values()), ""))
        for field, text in bare.items():
            self._open_thought.add_text(field, text)
        self._open_thought.add_details(details)
        for text, kind in texts:
            if text or not self._is_thinking:
                self._append(ours.Reasoning, text, kind)
        if any(reasoning.is_ours(detail) and detail.get("type") == "reasoning.encrypted" for detail in details):
            self._end_open()

    @property
    def _is_thinking(self) -> bool:
        return self._open is not None and self._open.kind is ours.Reasoning

    def _end_thought(self, thinking: OpenParts) -> None:
        thinking.end_part()
        msg, self._open_thought = self._open_thought.msg(), MergedAnswer()
        if isinstance(msg.content, str):
            msg.content = f"<think>{msg.content}</think>"
        items = decode_message(msg, self._dialect, self._origin, "", Losses(), answer=True)
        if self._thought_part is ours.SummaryText:
            reasoning.summarize(items, self._dialect)
        first, *others = items or [ours.Reasoning(summary=[])]
        self._emit_done(thinking.item, first)
        for item in others:
            self._emit_whole(item)

    # -- text

    def _add_text_with_tags(self, pieces: list[tuple[bool, str]]) -> None:
        """Add text that may hold a thought between tags."""
        for is_thought, text in pieces:
            if is_thought:
                self._open_thought.add_text("content", text)
                self._append(ours.Reasoning, text, self._thought_part)
            else:
                self._append(ours.Message, text)

    def _add_parts(self, content: list[types.AnyPart]) -> None:
        """Add content in parts, as Mistral sends it: thoughts and texts."""
        for part in content:
            if isinstance(part, types.Thinking):
                self._open_thought.add_parts([replace(part)])
                pieces = [piece["text"] for piece in reasoning.pieces_of(part.thinking) if reasoning.is_text(piece)]
                self._append(ours.Reasoning, "".join(pieces), self._thought_part)
            elif isinstance(part, types.Text) and part.text:
                self._append(ours.Message, part.text)
        self._merged.add_parts(content)

    # -- calls

    def _add_call(self, merged: MergedCall, text: str) -> None:
        call = self._calls.get(id(merged))
        if call is not None:
            if not call.custom:
                call.opened.grow(ours.FunctionCall, text)
            elif merged.custom:  # free text inside JSON is emitted when it is complete
                call.opened.grow(ours.CustomToolCall, text)
            return
        # A call is announced by its name, which may come later than its first piece.
        if not merged.name:
            return
        self._end_open()
        self._emit_tools()
        self._emit_images()
        item = self._call_item(merged)
        self._calls[id(merged)] = _Call(self._emit_added(item), merged, isinstance(item, ours.CustomToolCall))
        self._add_call(merged, "".join(merged.pieces))

    def _call_item(self, merged: MergedCall) -> ours.FunctionCall | ours.CustomToolCall:
        """The call as its item begins; the host's state is in a carrier before it."""
        whole, position = merged.whole(), self._merged.calls.index(merged)
        call = decode_call(whole, self._dialect, self._origin, position, "", Losses())
        for state in call_state(whole, call.call_id, self._dialect):
            self._emit_whole(state)
        if self._names:
            call = restore_tool(call, self._names, "", Losses())
        no_text: Json = {"input" if isinstance(call, ours.CustomToolCall) else "arguments": ""}
        return replace(call, status="in_progress", call_id=merged.id or call.call_id, **no_text)

    def _end_call(self, call: _Call, final: ours.AnyItem | None) -> None:
        text = "".join(call.merged.pieces)
        if isinstance(final, ours.FunctionCall | ours.CustomToolCall):
            streamed = call.merged.custom if isinstance(final, ours.CustomToolCall) else bool(text)
            call.opened.end_input(final, streamed=streamed)
        item = final or ours.FunctionCall(call_id=call.merged.id or "", name=call.merged.name, arguments=text or "{}")
        self._emit_done(call.opened, item)


def _is_empty(delta: types.Delta) -> bool:
    """Whether a delta has no content of the answer."""
    return not (any(getattr(delta, name) for name in GROWING) or delta.tool_calls or delta.function_call or delta.audio)


# --- events -> chunks -----------------------------------------------------------------------------------------------


class _SentCall(NamedTuple):
    """A call in progress: its number, and the length of its sent text."""

    number: int
    escaped: bool  # free text that is sent as the one string of a JSON object
    sent: list[str]


class StreamEncoder(stream.StreamEncoder[ChatDialect, types.Chunk]):
    """Converts Responses events to chunks. Calls are counted from 0 whatever their position in the output."""

    DIALECT = OPENAI

    def _prepare(self) -> None:
        self._wants_function_call = wants_function_call(self._request)
        self._wants_usage = wants_usage(self._request)
        self._thought_field = reasoning.streamed_field(self._dialect)  # "" if thoughts are in the content, whole
        self._head: Json = {}
        self._sent_texts: dict[str, list[str]] = {}
        self._calls: dict[int, _SentCall] = {}
        self._call_state: dict[str, Json] = {}  # the host's state of calls that have not begun
        self._calls_with_state: set[int] = set()  # the calls that were sent with it, by number
        self._sent_details = self._sent_parts = 0  # the number of those sent
        self._thought_start = self._thought_end = 0  # where the text of the open thought begins, and its length so far
        self._separator = ""  # the separator of the text before and the next one

    def _in_order(self, event: Any, index: int) -> None:
        self._encode(event)  # parallel calls stay parallel, since their pieces are numbered

    def _encode(self, event: Any) -> None:
        match event:
            case ev.OutputTextDelta():
                self._add_text("content", event.delta)
            case ev.FunctionCallArgumentsDelta() | ev.CustomToolCallInputDelta():
                self._add_arguments(event.output_index, event.delta)
            case ev.ReasoningTextDelta() | ev.ReasoningDelta() | ev.ReasoningSummaryTextDelta() if self._thought_field:
                self._add_text(self._thought_field, event.delta)
            case ev.RefusalDelta():
                self._add_text("refusal", event.delta)
            case ev.OutputItemAdded():
                self._begin_item(event.output_index, event.item)
            case ev.OutputItemDone():
                self._end_item(event.output_index, event.item)
            case ev.ReasoningSummaryPartAdded() | ev.ContentPartAdded(part=ours.ReasoningText()):
                self._separator = reasoning.GAP if self._sent_texts.get(self._thought_field) else ""
            case _:
                pass

    def _send(self, delta: types.Delta) -> None:
        choice = types.ChunkChoice(index=0, delta=delta, finish_reason=None)
        self._out.append(types.Chunk(**self._head, choices=[choice]))

    def _begin(self, response: ours.Response) -> None:
        if self._head:
            return
        created = int(response.created_at) if given(response.created_at) else 0
        self._head = {"id": response.id, "object": "chat.completion.chunk", "created": created, "model": response.model}
        self._send(types.Delta(role="assistant", content=""))

    # -- pieces

    def _add_text(self, field: str, text: str) -> None:
        if not text:
            return
        if self._separator:
            text, self._separator = self._separator + text, ""
        self._sent_texts.setdefault(field, []).append(text)
        if field == self._thought_field:
            self._thought_end += len(text)
        piece: Json = {field: text}
        self._send(types.Delta(**piece))

    def _begin_item(self, index: int, item: ours.AnyItem | None) -> None:
        if isinstance(item, ours.Message):
            self._separator = reasoning.GAP if self._sent_texts.get("content") else ""
        elif isinstance(item, ours.Reasoning):
            self._separator = reasoning.GAP if self._thought_field and self._sent_texts.get(self._thought_field) else ""
            self._thought_start = self._thought_end + len(self._separator)
        elif isinstance(item, ours.FunctionCall | ours.CustomToolCall):
            self._begin_call(index, item)

    def _begin_call(self, index: int, item: ours.FunctionCall | ours.CustomToolCall) -> None:
        escaped = isinstance(item, ours.CustomToolCall) and not self._dialect.custom_tools
        call = self._calls[index] = _SentCall(len(self._calls), escaped, [])
        made = encode_call(item, self._dialect, index, Losses(), "output")
        if given(made.custom):
            made.custom.input = ""
        elif given(made.function):
            made.function.arguments = ""
        made.index = call.number
        if item.call_id in self._call_state:
            made.extra_content = self._call_state.pop(item.call_id)
            self._calls_with_state.add(call.number)
        self._send_call(call, made)
        if escaped:
            self._add_piece(call, '{"input":"')

    def _add_arguments(self, index: int, text: str) -> None:
        call = self._calls.get(index)
        if call is not None:
            self._add_piece(call, msgspec.json.encode(text).decode()[1:-1] if call.escaped else text)

    def _add_piece(self, call: _SentCall, text: str) -> None:
        if not text:
            return
        call.sent.append(text)
        self._send_call(call, types.ToolCall(index=call.number, function=types.FunctionBody(arguments=text)))

    def _send_call(self, call: _SentCall, piece: types.ToolCall) -> None:
        if self._wants_function_call and not call.number and given(piece.function):
            self._send(types.Delta(function_call=piece.function))
        else:
            self._send(types.Delta(tool_calls=[piece]))

    def _end_item(self, index: int, item: ours.AnyItem | None) -> None:
        call = self._calls.get(index)
        if isinstance(item, ours.Reasoning):
            self._end_thought(item)
        elif call is not None and isinstance(item, ours.FunctionCall | ours.CustomToolCall):
            text = item.input if isinstance(item, ours.CustomToolCall) else item.arguments
            self._add_piece(call, '"}' if call.escaped else unsent(text, call.sent))

    def _end_thought(self, item: ours.Reasoning) -> None:
        """The rest of a thought: the state of another issuer, after its text.

        On a host that sends a thought with its state, or inside the content, that is the whole thought.
        """
        if isinstance(state := reasoning.state_of(item, self._dialect), reasoning.CallState):
            self._call_state[state.call_id] = state.extra_content
            return
        if self._thought_field:
            text = reasoning.text_of(item)
            if self._thought_end == self._thought_start:
                self._add_text(self._thought_field, text)
            if not reasoning.is_foreign(item, self._dialect):
                return
            if self._thought_end - self._thought_start != len(text):  # the state belongs to a text that was not sent
                item = ours.Reasoning(summary=[], encrypted_content=item.encrypted_content)
            behind = reasoning.trailing_state(item, self._sent_details, self._thought_start)
            self._sent_details += 1
            self._send(types.Delta(reasoning_details=[behind]))
            return
        alone = ours.Response(id="", status="completed", output=[item])
        whole, _ = encode_response(alone, request=self._request, dialect=self._dialect)
        msg = whole.choices[0].message or types.Answer()
        delta = types.Delta()
        if msg.reasoning_details:
            delta.reasoning_details = [
                {**detail, "id": str(self._sent_details), "index": i} if reasoning.is_ours(detail) else detail
                for i, detail in enumerate(msg.reasoning_details, self._sent_details)
            ]
            self._sent_details += len(msg.reasoning_details)
        if isinstance(msg.content, list):
            delta.content = msg.content
            self._sent_parts += len(msg.content)
        elif isinstance(msg.content, str):
            self._add_text("content", msg.content)
            return
        if delta != types.Delta():
            self._send(delta)

    # -- the end

    def _end(self, response: ours.Response) -> None:
        whole, lost = encode_response(response, request=self._request, dialect=self._dialect)
        self.losses += lost
        choice = whole.choices[0] if whole.choices else types.Choice()
        # Leftovers may hold any JSON, also in place of a message and calls.
        if isinstance(choice.message, types.Answer) and (rest := self._unsent(choice.message)):
            self._send(built(types.Delta, rest))
        last = built(types.ChunkChoice, {**present(choice, "message"), "index": 0, "delta": types.Delta()})
        beside = present(whole, "choices", "usage", "object", "error", *self._head)
        self._out.append(built(types.Chunk, {**self._head, **beside, "choices": [last]}))
        if self._wants_usage and given(whole.usage):
            self._out.append(types.Chunk(**self._head, choices=[], usage=whole.usage))

    def _unsent(self, msg: types.Answer) -> Json:
        """The difference between the whole message and the sent pieces."""
        rest: Json = {}
        for name, value in present(msg, "role", "function_call").items():
            if (
                name in reasoning.TEXT_PLACES
                and name != self._thought_field
                and (self._thought_end or self._sent_details)
            ):
                continue  # the same thought in a second field
            if name in GROWING:
                value = self._unsent_text(name, value)
            elif name == "tool_calls":
                value = self._unsent_calls(value, 1 if msg.function_call else 0)
            elif name == "reasoning_details" and self._thought_field:  # reasoning sent as text was sent with its item
                value = [detail for detail in as_list(value) if not reasoning.is_ours(as_object(detail))]
            elif name == "reasoning_details":
                value = as_list(value)[self._sent_details :]
            if name not in types.Answer.__struct_fields__ or (given(value) and value != []):
                rest[name] = value
        return rest

    def _unsent_text(self, field: str, whole: Any) -> Any:
        sent = self._sent_texts.get(field, [])
        if not isinstance(whole, str):
            # Content in parts: all of it if nothing was sent; otherwise the sent text has to do.
            return None if sent or self._sent_parts else whole
        return unsent(whole, sent) or None

    def _unsent_calls(self, calls: Any, start: int) -> list[types.ToolCall]:
        """The difference between the whole calls and the sent pieces: the host's state, and undeclared fields."""
        rest: list[types.ToolCall] = []
        for number, call in enumerate(as_list(calls), start):
            left = () if number in self._calls_with_state else ("extra_content",)
            msg = present(call, *(name for name in types.ToolCall.__struct_fields__ if name not in left))
            if given(body := call.function) and (inner := present(body, *types.FunctionBody.__struct_fields__)):
                msg["function"] = with_extras(types.FunctionBody(), inner)
            if msg := {name: value for name, value in msg.items() if name != "extra_content" or value}:
                rest.append(built(types.ToolCall, {"index": number, **msg}))
        return rest

    def _fail(self, response: ours.Response) -> None:
        _, lost = encode_response(response, request=self._request, dialect=self._dialect)
        failure = response.error if given(response.error) else ours.ResponseError()
        report_failure(response, lost, self.losses, failure.code, failure.type, failure.param)
        error: Json = {"message": failure.message or "the answer failed", "type": failure.type or "server_error"}
        error |= {"param": failure.param or None, "code": failure.code or None}
        self._out.append(types.Chunk(error=error))  # alone: clients look for it in place of `choices`, not beside them


decode_stream = StreamDecoder
encode_stream = StreamEncoder
