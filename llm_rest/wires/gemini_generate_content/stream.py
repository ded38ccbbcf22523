"""Streaming on this wire: conversion of chunks to Responses events, and back.

Pieces of a text are joined into the part they belong to, and complete parts go to the reader and the writer of whole
answers, so both give the same items. Before changing this file, know how fields grow: counts are cumulative, so the
last ones are right, grounding comes late and in pieces, log probabilities and citations belong to their chunk; that the
signature of a thought comes with the next part, and the end with the end of the body; and that sent chunks cannot be
changed: a signature that comes after its text is on an empty text after it, as the vendor sends it. Follows the
reference of `streamGenerateContent` (read 2026-11-20).
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Loss, Losses
from ...responses import events as ev
from ...responses.carriers import report_failure
from ...unknown import as_list, extras, given, with_extras
from ...vendors.dialects import GeminiDialect, gemini_model
from .. import stream
from . import types
from .content import Context
from .reasoning import AssistantMessage, Reader, has_other_fields
from .request import DEFAULT
from .response import (
    begin_response,
    decode_failure,
    decode_time,
    encode_failure,
    encode_response,
    encode_time,
    finish_response,
    id_of,
    is_blocked,
    reader_of,
)
from .tools import PartialCall
from .types import Join, encode, merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...losses import Kind
    from ...unknown import Opt
    from .reasoning import Mark, VisibleSignatures

__all__ = ["decode_stream", "encode_stream"]

CONTINUATION = "CONTINUATION"
"""The finish reason of a hop that another one follows."""


class Tail:
    """The parts after the last token of a long answer, which the next hop may repeat: `new_parts` leaves those out."""

    def __init__(self) -> None:
        self.whole = False  # whether a part came that cannot be compared
        self.differs = False  # whether a hop differed from the earlier parts
        self._sent: list[tuple[bool, str]] = []
        self._expected: list[tuple[bool, str]] = []  # the next last

    def mark(self) -> None:
        """Record a token."""
        self.whole, self._sent = False, []

    def replay(self) -> None:
        """Begin the next hop at the token: the parts after it may be repeated."""
        runs = groupby([*self._sent, *reversed(self._expected)], key=itemgetter(0))
        self._expected = [(thought, "".join(text for _, text in run)) for thought, run in runs][::-1]
        self._sent = []

    def new_parts(self, parts: Sequence[types.Part]) -> list[types.Part]:
        """The parts without repeated ones."""
        return [left for part in parts for left in self._new(part)]

    def _new(self, part: types.Part) -> list[types.Part]:
        text, thought = part.text, part.thought is True
        if not given(text):
            self.whole, self._expected = True, []
            return [part]
        self._sent.append((thought, text))
        if not (self._expected and text):
            return [part]
        kind, expected = self._expected.pop()
        if kind is thought and expected.startswith(text):
            self._expected += [(kind, expected[len(text) :])] if len(expected) > len(text) else []
            text = ""
        elif kind is thought and text.startswith(expected):
            text = text[len(expected) :]
        else:
            self.differs, self._expected = True, []
        return [replace(part, text=text)] if text or given(part.thought_signature) else []


class StreamDecoder(stream.StreamDecoder[GeminiDialect]):
    """Converts chunks to Responses events; `close` ends an answer that gave a finish reason."""

    DIALECT = DEFAULT

    def _prepare(self) -> None:
        self._whole = WholeAnswer()
        self._reader = Reader("", "", self.losses)
        self._response: ours.Response | None = None
        self._emitted_count = 0  # the number of the reader's finished items
        self._text_part = types.Part()  # the open text's part, as it began
        self._text_pieces: list[str] | None = None  # its pieces so far
        self._open_call: PartialCall | None = None
        self._last_chunk: types.Response | None = None  # the last chunk
        self._from = ""  # the token that this hop was requested with
        self._has_parts = False  # whether this hop had any part of the answer
        self._after_token: Tail | None = None  # the parts after the last token
        self._continues_after_end = False  # whether more data came after the end

    def _feed(self, event: types.Response) -> None:
        chunk = event
        if self._last_chunk is not None and chunk == self._last_chunk:
            return  # some routers repeat the last chunk
        self._whole.add(chunk)
        if self._response is None:
            self._start(chunk)
        for i, candidate in enumerate(chunk.candidates or ()):
            if candidate.index or (i and candidate.index is UNSET):
                self._report_once("candidates[1]", "only the first of several candidates becomes output", "dropped")
            else:
                self._add_candidate(candidate)
                self._last_chunk = chunk if candidate.finish_reason else self._last_chunk
        if given(chunk.error) and self._response is not None:
            self._ended = True  # no more events follow, and open items stay open
            self._fail(decode_failure(chunk.error), self._whole_response(self._response))

    def _add_candidate(self, candidate: types.Candidate) -> None:
        content, since = candidate.content, self._after_token
        if given(content):
            parts = content.parts or []
            if self._last_chunk is not None and any(part.text != "" for part in parts):
                self._continues_after_end = True  # some hosts write a finish reason into every chunk
                what = "more came behind the end of the answer; it is part of the answer"
                self._report_once("candidates[0].finishReason", what, "changed")
            for part in parts if since is None else since.new_parts(parts):
                self._add(part)
            if since is not None and since.differs:
                what = "the stream broke off behind its last checkpoint, and the answer went on otherwise from there"
                self._report_once("candidates[0].continuationToken", what, "changed")
            self._has_parts = self._has_parts or bool(parts)
            self._whole.add_content(content, parts=self._reader.place > 0 or self._text_pieces is not None)
        self._whole.add_candidate(candidate)
        if candidate.continuation_token:
            self._after_token = since or Tail()
            self._after_token.mark()

    # -- long answers in several hops

    @property
    def finished(self) -> bool:
        """Whether the end of the answer, or of this hop, has arrived: only counts and sources may follow."""
        return self._ended or (self._last_chunk is not None and not self._continues_after_end)

    def checkpoint(self) -> str | None:
        """The token with which to continue if the body ends or breaks off here; `None` where that is impossible."""
        candidate, feedback = self._whole.candidate, self._whole.body.prompt_feedback
        if self._ended or (given(feedback) and feedback.block_reason):
            return None
        token = candidate.continuation_token or ""
        if candidate.finish_reason:
            return token if candidate.finish_reason == CONTINUATION and token != self._from else None
        if token and token != self._from:
            return None if self._after_token is not None and self._after_token.whole else token
        return self._from if self._from and not self._has_parts else None

    def resume(self) -> None:
        """Begin another hop at the last token."""
        token = self._whole.candidate.continuation_token
        self._from = token if given(token) else self._from
        self._has_parts, self._last_chunk = False, None
        if self._after_token is not None:
            self._after_token.replay()
        self._whole.resume()

    def close(self) -> list[ev.AnyEvent]:
        """The events at the end, if there was a finish reason; none if the stream was cut off."""
        candidate, feedback = self._whole.candidate, self._whole.body.prompt_feedback
        ended = candidate.finish_reason or (given(feedback) and feedback.block_reason)
        if self._response is not None and not self._ended and ended:
            self._finish(self._whole_response(self._response))
        return self._emitter.take()

    # -- the response

    def _start(self, chunk: types.Response) -> None:
        response_id = id_of(chunk)
        self._reader = reader_of(response_id, self._request, self._dialect, self.losses)
        self._response = begin_response(self._whole.body, response_id, self._request, self._now)
        self._emitter.start(self._response)

    def _whole_response(self, started: ours.Response) -> ours.Response:
        """The complete response; open items end with their current content, and a call that was cut off is incomplete."""
        self._end_call(cut=True)
        self._end_text()
        self._reader.close()
        self._whole.finish()
        body, candidate = self._whole.body, self._whole.candidate
        if given(candidate.finish_reason) or given(candidate.content):
            body.candidates = [candidate]
        response = replace(started, model=body.model_version or "", created_at=decode_time(body.create_time, self._now))
        finish_response(response, body, candidate, self._reader, self._dialect, keep=self._keep)
        self._emit(response.output)
        return response

    def _report_once(self, path: str, what: str, kind: Kind) -> None:
        if not any(loss.path == path for loss in self.losses):
            self.losses.append(Loss(path, what, kind))

    # -- parts

    def _add(self, part: types.Part) -> None:
        text = part.text
        if given(part.function_call):
            self._end_text()
            self._add_call(part, part.function_call)
            return
        self._end_call()  # which only its own pieces may follow
        if text is UNSET:
            self._end_text()
            self._put(part)
            return
        signed, opened = part.thought_signature is not UNSET, self._open
        if not text and not signed:
            return
        alone = signed or has_other_fields(part)
        kind, shown = (ours.Reasoning, ours.SummaryText) if part.thought is True else (ours.Message, ours.OutputText)
        if alone or self._text_pieces is None or opened is None or opened.kind is not kind:
            self._new_text(part, text, alone=alone)
        else:
            self._text_pieces.append(text)
            opened.add(text, shown)

    def _new_text(self, part: types.Part, text: str, *, alone: bool) -> None:
        """Begin a text part; one with a signature or another field beside its text is `alone`."""
        self._end_text()
        thought = part.thought is True
        if not text:
            self._put(part)  # a signature on its own has no visible content
            return
        self._reader.turn(thought=thought)
        self._emit(self._reader.items)
        if self._open is not None:
            self._open.end_part([*self._open.parts, self._reader.texts[-1]])
        if thought:
            self._append(ours.Reasoning, text, ours.SummaryText)
        else:
            self._append(ours.Message, text)
        self._text_part, self._text_pieces = part, [text]
        if alone:
            self._end_text()

    def _set_id(self, item: Any) -> None:
        item.id = self._reader.id("msg" if isinstance(item, ours.Message) else "rs")

    def _end_text(self) -> None:
        """End the open part."""
        if self._text_pieces is not None:
            part = self._text_part
            part = replace(part, text="".join(self._text_pieces)) if len(self._text_pieces) > 1 else part
            self._text_pieces = None
            self._reader.add(part)

    def _put(self, part: types.Part) -> None:
        """Add a complete part."""
        self._reader.add(part)
        self._emit(self._reader.items)

    def _emit(self, items: Sequence[ours.AnyItem]) -> None:
        """Emit the items that are complete by now."""
        for item in items[self._emitted_count :] if not self._ended else ():
            opened, self._open = self._open, None
            if opened is None:
                self._emit_whole(item)
                continue
            if isinstance(item, ours.Message) and isinstance(last := item.content[-1], ours.OutputText):
                for source in last.annotations or ():
                    opened.item.annotation(source)
                opened.end_part([*opened.parts, last])
            elif isinstance(item, ours.Reasoning) and item.summary:
                opened.end_part([*opened.parts, item.summary[-1]])
            self._emit_done(opened.item, item)
        self._emitted_count = max(self._emitted_count, len(items))

    # -- calls

    def _add_call(self, part: types.Part, call: types.FunctionCall) -> None:
        if given(call.name):
            self._end_call()  # the one before was never ended
        if self._open_call is None and not call.will_continue and call.partial_args is UNSET:
            self._put(part)
            return
        self._open_call = self._open_call or PartialCall()
        if self._open_call.feed(part, call):
            self._end_call()

    def _end_call(self, *, cut: bool = False) -> None:
        if self._open_call is not None:
            part, self._open_call = self._open_call.part(), None
            self._reader.add(part)
            if cut and isinstance(call := self._reader.items[-1], ours.FunctionCall | ours.CustomToolCall):
                call.status = "incomplete"
            self._emit(self._reader.items)


KEEP_FIRST = ("response_id", "create_time")
KEEP_LAST = ("model_version", "prompt_feedback", "model_status", "error")
KEEP_LAST_CANDIDATE = "finish_reason finish_message safety_ratings avg_logprobs token_count continuation_token".split()


class WholeAnswer:
    """Merges chunks; `body` and `candidate` are the fields of the whole answer beside its parts."""

    def __init__(self) -> None:
        self.body = types.Response()
        self.candidate = types.Candidate()
        self._known_citations: set[bytes] = set()
        self._earlier_usage: types.Maybe[types.UsageMetadata] = UNSET  # by earlier hops

    def resume(self) -> None:
        """Begin another hop of a long answer: its counts are added to those so far, and it has a finish reason of its own."""
        self.finish()
        self._earlier_usage, self.body.usage_metadata = self.body.usage_metadata, UNSET
        whole = self.candidate
        whole.finish_reason = whole.finish_message = whole.continuation_token = UNSET

    def finish(self) -> None:
        """End a hop: the counts are those of all hops so far."""
        self.body.usage_metadata, self._earlier_usage = summed(self._earlier_usage, self.body.usage_metadata), UNSET

    def add(self, chunk: types.Response) -> None:
        """Add the fields of a chunk to the answer."""
        body, counted = self.body, chunk.usage_metadata
        _take(body, chunk, KEEP_LAST)
        for name in KEEP_FIRST:
            if getattr(body, name) is UNSET:
                setattr(body, name, getattr(chunk, name))
        if given(counted):
            # A chunk without any count has other data, such as the kind of traffic.
            counts = counted.total_token_count is not UNSET or counted.prompt_token_count is not UNSET
            body.usage_metadata = counted if counts else merge(body.usage_metadata, counted)
        if type(chunk) is not types.Response:
            self.body = with_extras(body, {**extras(body), **extras(chunk)})

    def add_candidate(self, candidate: types.Candidate) -> None:
        """Add the fields of a chunk's candidate."""
        whole = self.candidate
        if candidate.index is not UNSET:
            whole.index = candidate.index
        if candidate == types.Candidate(content=candidate.content, index=candidate.index):
            return
        _take(whole, candidate, KEEP_LAST_CANDIDATE)
        joins: dict[str, Join | None] = {
            "grounding_metadata": None,
            "citation_metadata": self._union,
            "logprobs_result": list[Any].__iadd__,
        }
        for name, join in joins.items():
            if given(new := getattr(candidate, name)):
                setattr(whole, name, merge(getattr(whole, name), new, join))
        if given(new := candidate.url_context_metadata):
            before = whole.url_context_metadata or {}
            whole.url_context_metadata = {**before, **new}
            if pages := as_list(before.get("urlMetadata")):
                more = (page for page in as_list(new.get("urlMetadata")) if page not in pages)
                whole.url_context_metadata["urlMetadata"] = [*pages, *more]
        if type(candidate) is not types.Candidate:
            self.candidate = with_extras(whole, {**extras(whole), **extras(candidate)})

    def _union(self, before: list[Any], after: list[Any]) -> list[Any]:
        """Both lists, the second without what the first has. The first grows in place, which keeps the time linear."""
        if not self._known_citations:
            self._known_citations.update(map(encode, before))
        for entry in after:
            if (written := encode(entry)) not in self._known_citations:
                self._known_citations.add(written)
                before.append(entry)
        return before

    def add_content(self, content: types.Content, *, parts: bool) -> None:
        """Add the fields of a chunk's content, except its parts."""
        before = self.candidate.content
        whole = merge(before, content) if given(before) and type(before) is not type(content) else before or content
        self.candidate.content = replace(
            whole, role=whole.role or content.role, parts=[types.Part()] if parts else UNSET
        )


def _take(whole: Any, chunk: Any, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(chunk, name)
        if value is not UNSET and (value or not getattr(whole, name)):  # some routers send empty fields in every chunk
            setattr(whole, name, value)


def summed(before: Opt[types.UsageMetadata], after: Opt[types.UsageMetadata]) -> types.Maybe[types.UsageMetadata]:
    """The sum of the counts of two hops of one answer: each of them is a request that is billed."""
    if not (given(before) and given(after)):
        return before or after or UNSET
    whole = merge(before, after)
    for name in whole.__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if name == "initial_prompt_token_count":
            setattr(whole, name, old if given(old) else new)
        elif isinstance(old, int) and isinstance(new, int):
            setattr(whole, name, old + new)
        elif isinstance(old, list) and isinstance(new, list):
            setattr(whole, name, _by_modality(cast("Any", [*old, *new])))
    return whole


def _by_modality(counts: list[types.Json]) -> list[types.Json]:
    """Entries of one modality as one, with the sum of their tokens."""
    found: dict[Any, types.Json] = {}
    for count in counts:
        there = found.setdefault(count.get("modality"), {**count, "tokenCount": 0})
        there["tokenCount"] += int(tokens) if (tokens := str(count.get("tokenCount"))).isdecimal() else 0
    return list(found.values())


class _LateMessage(AssistantMessage):
    """Writes items whose texts were already sent: `done` gives the rest."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, blocked=True)
        self.late = False  # whether a signature came too late for its part
        self.more = False  # whether a part that was sent has more fields than its text

    def done(self, item: ours.AnyItem, streamed: set[int]) -> list[types.Part]:
        """The parts of a complete item without its texts at the places `streamed`."""
        self.parts = []
        self.outputs = []
        self.add(item, "")
        if not streamed:
            return self.parts
        if isinstance(item, ours.Message) and not isinstance(item.content, str):
            texts = {j: part for j, part in enumerate(item.content) if isinstance(part, ours.OutputText)}
            # Some hosts number the parts from 1.
            places = streamed if streamed <= texts.keys() else [*texts][: len(streamed)]
            sent = {id(texts[j]) for j in places}
            left = [part for part, text, _ in self.outputs if id(text) in sent]
        else:
            left = [part for part in self.parts if part.text][: len(streamed)]
        self.more = self.more or any(map(has_other_fields, left))
        removed = set(map(id, left))
        return [part for part in self.parts if id(part) not in removed]

    def _add_signatures(self, payload: VisibleSignatures, path: str) -> None:
        # A stream of this wire sends a text before its signature.
        behind = payload.before and self._shown.has(payload)
        super()._add_signatures(replace(payload, before=False) if behind else payload, path)

    def mark(self, marks: list[Mark], shown: list[types.Part], *, thought: bool = False) -> None:
        """Put signatures after their texts."""
        for mark in marks:
            self.late = self.late or not mark.hidden
            flag = True if thought else UNSET
            self.parts.append(types.Part(text="", thought_signature=mark.signature, thought=flag))


class StreamEncoder(stream.StreamEncoder[GeminiDialect, types.Response]):
    """Converts Responses events to chunks; the end of the answer is the end of the body."""

    DIALECT = DEFAULT

    def _prepare(self) -> None:
        self._head = types.Response()  # the fields of the answer that every chunk repeats
        self._writer = _LateMessage(Context(Losses(), self._dialect, gemini_model(""), replay=False))
        self._sent_texts: dict[int, dict[int, list[str]]] = {}  # the sent texts of open items, by item and place
        self._has_adjacent_texts = False  # whether separate texts were sent next to each other
        self._has_sent_parts = False

    def _begin(self, response: ours.Response) -> None:
        named = response.model or (self._request.model if self._request is not None else None)
        created = encode_time(response.created_at) or UNSET
        self._head = types.Response(response_id=response.id, model_version=named or UNSET, create_time=created)

    def _encode(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.OutputTextDelta(delta=delta):
                self._add_text(types.Part(text=delta), event.output_index, event.content_index)
            case ev.ReasoningSummaryTextDelta(delta=delta):
                self._add_text(types.Part(text=delta, thought=True), event.output_index, event.summary_index)
            case ev.OutputItemDone(item=item) if item is not None:
                self._send_rest(item, event.output_index)
                self._send(self._writer.done(item, set(self._sent_texts.pop(event.output_index, ()))))
            case _:
                pass

    def _add_text(self, part: types.Part, item: int, place: int) -> None:
        streamed = self._sent_texts.setdefault(item, {})
        self._has_adjacent_texts = self._has_adjacent_texts or bool(streamed and place not in streamed)
        streamed.setdefault(place, []).append(part.text or "")
        self._send([part])

    def _send_rest(self, item: ours.AnyItem, index: int) -> None:
        """Send what the complete texts of an item have beyond their deltas."""
        texts = as_list(getattr(item, "summary" if isinstance(item, ours.Reasoning) else "content", None))
        for place, sent in list(self._sent_texts.get(index, {}).items()):
            whole = texts[place] if place < len(texts) else None
            if rest := stream.unsent(getattr(whole, "text", ""), sent):
                part = types.Part(text=rest, thought=True if isinstance(item, ours.Reasoning) else UNSET)
                self._add_text(part, index, place)

    def _send(self, parts: list[types.Part]) -> None:
        """The parts in a chunk; before them refusals that are sent as texts, since another part follows them."""
        if parts:
            self._has_sent_parts = True
            parts = [*self._refusals(), *parts]
            candidate = types.Candidate(content=types.Content(role="model", parts=parts), index=0)
            self._out.append(replace(self._head, candidates=[candidate]))

    def _refusals(self) -> list[types.Part]:
        outputs, self._writer.refusals = self._writer.refusals, []
        return [types.Part(text=text) for text in outputs]

    def _end(self, response: ours.Response) -> None:
        """The last chunk: finish reason, token usage, and the other fields of the answer."""
        self._begin(response)
        body, lost = encode_response(response, request=self._request, dialect=self._dialect)
        self.losses[:] = lost
        if given(response.error):
            report_failure(response, (), self.losses, response.error.code)
        if self._writer.late:
            self.losses.changed("output", "signatures that arrived after their texts, sent after them")
        if self._writer.more:
            self.losses.dropped("output", "fields of parts that arrived after their texts were sent")
        if self._has_adjacent_texts:
            self.losses.changed("output", "texts side by side arrive as one in a stream of Gemini")
        self._encode_late()
        if not is_blocked(response):
            self._send(self._refusals())
        if body.candidates and self._has_sent_parts and (content := body.candidates[0].content):
            body.candidates[0].content = replace(content, parts=UNSET) if extras(content) else UNSET
        self._out.append(body)

    _fail = _end

    def _break_off(self, error: Any) -> None:
        self._out.append(types.Response(error=encode_failure(error)))


decode_stream = StreamDecoder
encode_stream = StreamEncoder
