"""Streamed answers: chunks to events. The way back is in `stream_back.py`.

Pieces of a text are joined into the part they are of, and complete parts go to the `Reader` that whole answers use, so both give
the same items. Before changing this file, know what comes late: the signature of a thought with the part behind it, sources
with the last chunk, and the end with the end of the body; and that a part with a signature is never joined with another.
Follows the reference of `streamGenerateContent` (read 2026-11-20).
"""

# DOC The chunks of a stream put together: what the answer as a whole would say beside its parts, and calls that come in pieces.
# DOC
# DOC Before changing this file, know how the fields grow: counts are cumulative, so the last ones are right; grounding comes late and
# DOC in pieces; probabilities and citations are of the chunk they came in. And paths into arguments, which only Vertex sends, come
# DOC from outside: a place far beyond the end of a list is the next place. Follows the reference of `streamGenerateContent` and
# DOC Vertex's guide to streaming function call arguments (read 2026-11-20).

# DOC Streamed answers: events to chunks. The way there is in `stream.py`.
# DOC
# DOC A text leaves as it comes; everything else leaves when it is complete, written by the `Writer` that whole answers use. Before
# DOC changing this file, know that chunks cannot be taken back: a signature that comes after its text stands on an empty text of
# DOC its own behind it, as the vendor itself does it, and what a refusal is, is only known at the end. Follows the reference of
# DOC `streamGenerateContent` (read 2026-11-20).

from __future__ import annotations

import re
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import UNSET, Raw
from msgspec.structs import replace

from ...losses import Loss, Losses
from ...responses import events as ev
from ...responses.carriers import digest
from ...responses.emit import Emitter
from ...responses.events import AnyEvent, StreamError
from ...responses.items import CustomToolCall, FunctionCall, Message, Reasoning
from ...responses.parts import OutputText, SummaryText
from ...responses.response import Response
from ...unknown import base, extras, given, or_none, with_extras
from ...vendors.dialects import gemini_model
from . import types
from .content import Context
from .messages import Reader, Writer, hidden, says_more
from .reasoning import encode
from .response import (
    begin,
    decode_failure,
    decode_time,
    encode_failure,
    encode_response,
    encode_time,
    is_blocked,
    reader_of,
    settle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...losses import Kind
    from ...responses.emit import OpenItem
    from ...responses.items import AnyItem
    from ...responses.request import Request
    from ...unknown import Model, Opt
    from ...vendors.dialects import GeminiDialect
    from .reasoning import Mark, Shown

CONTINUATION = "CONTINUATION"
"""The finish reason of a hop that another one follows."""


class Tail:
    """What came behind the last token of a long answer, which the next hop may say again: `unsaid` leaves that out."""

    def __init__(self) -> None:
        self.whole = False  # whether something came that cannot be compared
        self.differs = False  # whether a hop said something else than had come
        self._said: list[tuple[bool, str]] = []
        self._expected: list[tuple[bool, str]] = []  # the next last

    def mark(self) -> None:
        """A token stands here."""
        self.whole, self._said = False, []

    def replay(self) -> None:
        """The next hop begins where the token stands: what came behind it may come once more."""
        runs = groupby([*self._said, *reversed(self._expected)], key=itemgetter(0))
        self._expected = [(thought, "".join(text for _, text in run)) for thought, run in runs][::-1]
        self._said = []

    def unsaid(self, parts: Sequence[types.Part]) -> list[types.Part]:
        """The parts without what was said before."""
        return [left for part in parts for left in self._unsaid(part)]

    def _unsaid(self, part: types.Part) -> list[types.Part]:
        text, thought = part.text, part.thought is True
        if not given(text):
            self.whole, self._expected = True, []
            return [part]
        self._said.append((thought, text))
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


class StreamDecoder:
    """`feed` takes a chunk and gives the events it makes; `close` ends an answer that gave a finish reason."""

    def __init__(self, request: Request | None, dialect: GeminiDialect, now: float) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        self._now = now
        self._to = Emitter()
        self._pieces = Pieces()
        self._reader = Reader("", "")
        self._response: Response | None = None
        self._told = 0  # how many of the reader's items are over
        self._item: OpenItem | None = None  # the item that the open text is in
        self._part = types.Part()  # the open text's part, as it began, and what came of it
        self._text: list[str] | None = None
        self._thought = False
        self._call: PartialCall | None = None
        self._last: types.Response | None = None  # the chunk that told the end
        self._from = ""  # the token that this hop was asked for with
        self._brought = False  # whether this hop brought anything of the answer
        self._since: Tail | None = None  # what came behind the last token
        self._ends_often = False  # whether more came behind the end
        self._silent = False  # nothing is told any more: an error came
        self._over = False

    def feed(self, chunk: types.Response) -> list[AnyEvent]:
        """The events of one chunk."""
        if self._over or (self._last is not None and chunk == self._last):
            return []  # some routers repeat the last chunk
        self._pieces.document(chunk)
        if self._response is None:
            self._begin(chunk)
        ended = self._last is not None
        for i, candidate in enumerate(chunk.candidates or ()):
            if candidate.index or (i and candidate.index is UNSET):
                self._another()
                continue
            content = candidate.content
            if given(content):
                parts = content.parts or []
                if ended and any(part.text != "" for part in parts):
                    self._more_than_told()
                for part in parts if self._since is None else self._unsaid(self._since, parts):
                    self._add(part)
                self._brought = self._brought or bool(parts)
                self._pieces.spoken(content, parts=self._reader.place > 0 or self._text is not None)
            self._pieces.ending(candidate)
            if candidate.continuation_token:
                self._since = self._since or Tail()
                self._since.mark()
            if candidate.finish_reason:
                self._last = chunk
        if given(chunk.error):
            self._fail(chunk.error)
        return self._to.take()

    # -- long answers, which come in hops

    @property
    def finished(self) -> bool:
        """Whether the answer, or this hop of it, told its end: what may follow are counts and sources."""
        return self._over or (self._last is not None and not self._ends_often)

    def checkpoint(self) -> str | None:
        """The token with which the answer goes on if its body ends or breaks off here; `None` where it cannot."""
        candidate, feedback = self._pieces.candidate, self._pieces.body.prompt_feedback
        if self._over or (given(feedback) and feedback.block_reason):
            return None
        token = candidate.continuation_token or ""
        if candidate.finish_reason:
            return token if candidate.finish_reason == CONTINUATION and token != self._from else None
        if token and token != self._from:
            return None if self._since is not None and self._since.whole else token
        return self._from if self._from and not self._brought else None

    def resume(self) -> None:
        """Another hop begins where the last token stands."""
        token = self._pieces.candidate.continuation_token
        self._from = token if given(token) else self._from
        self._brought, self._last = False, None
        if self._since is not None:
            self._since.replay()
        self._pieces.resume()

    def close(self) -> list[AnyEvent]:
        """The end, where the model or the vendor gave a reason to stop; nothing where the stream was cut."""
        feedback = self._pieces.body.prompt_feedback
        ended = self._pieces.candidate.finish_reason or (given(feedback) and feedback.block_reason)
        if self._response is not None and not self._over and ended:
            self._to.finish(self._finish(self._response))
            self._over = True
        return self._to.take()

    # -- the response

    def _begin(self, chunk: types.Response) -> None:
        response_id = chunk.response_id if given(chunk.response_id) else f"resp_{digest(encode(chunk).decode())}"
        self._reader = reader_of(response_id, self._request, self._dialect)
        self._response = begin(self._pieces.body, response_id, self._request, self._now)
        self._to.start(self._response)

    def _finish(self, begun: Response) -> Response:
        """The complete response; what is still open ends with what it says, and a call that was cut is incomplete."""
        self._end_call(cut=True)
        self._end_text()
        self._reader.close()
        self._pieces.settle()
        body, candidate = self._pieces.body, self._pieces.candidate
        spoken = given(candidate.finish_reason) or given(candidate.content)
        if spoken:
            body.candidates = [candidate]
        response = replace(
            begun, model=body.model_version or "", created_at=or_none(decode_time(body.create_time, self._now))
        )
        settle(response, body, candidate, self._reader)
        self._tell(response.output)
        return response

    def _fail(self, error: types.Status) -> None:
        """Say what went wrong, after which nothing comes; what was open stays so."""
        told = decode_failure(error)
        self._to.error(StreamError(code=told.code, message=told.message, type=told.type))
        self._silent = self._over = True
        if self._response is not None:
            self._to.finish(self._finish(self._response))

    def _another(self) -> None:
        self._once("candidates[1]", "only the first of several candidates becomes output", "dropped")

    def _more_than_told(self) -> None:
        """More of the answer comes behind its finish reason, which some hosts write into every chunk."""
        self._ends_often = True
        self._once(
            "candidates[0].finishReason", "more came behind the end of the answer; it is part of the answer", "changed"
        )

    def _unsaid(self, since: Tail, parts: Sequence[types.Part]) -> Sequence[types.Part]:
        left = since.unsaid(parts)
        if since.differs:
            what = "the stream broke off behind its last checkpoint, and the answer went on otherwise from there"
            self._once("candidates[0].continuationToken", what, "changed")
        return left

    def _once(self, path: str, what: str, kind: Kind) -> None:
        if not any(loss.path == path for loss in self.losses):
            self.losses.append(Loss(path, what, kind))

    # -- parts

    def _add(self, part: types.Part) -> None:
        text = part.text
        if given(part.function_call):
            self._end_text()
            self._add_call(part, part.function_call)
            return
        self._end_call()  # which nothing but its own pieces may follow
        if text is UNSET:
            self._end_text()
            self._put(part)
            return
        signed = part.thought_signature is not UNSET
        if not text and not signed:
            return
        if signed or self._text is None or (part.thought is True) is not self._thought or says_more(part):
            self._new_text(part, text, alone=signed or says_more(part))
        else:
            self._text.append(text)
            if self._item is not None:
                self._piece(self._item, text)

    def _piece(self, item: OpenItem, text: str) -> None:
        if self._thought:
            item.summary(text)
        else:
            item.text(text)

    def _new_text(self, part: types.Part, text: str, *, alone: bool) -> None:
        """A part begins; one with a signature or anything else beside its text stands `alone`."""
        self._end_text()
        thought = part.thought is True
        if not text:
            self._put(part)  # a signature on its own shows nothing
            return
        self._reader.turn(thought=thought)
        self._tell(self._reader.items)
        if self._item is None:
            self._item = self._to.add(
                Reasoning(id=or_none(self._reader.id("rs")), status="in_progress", summary=[])
                if thought
                else Message(id=or_none(self._reader.id("msg")), role="assistant", status="in_progress", content=[])
            )
        elif isinstance(last := self._reader.texts[-1], SummaryText):
            self._item.end_summary(last)
        else:
            self._item.end_part(last)
        if thought:
            self._item.summary_part()
        else:
            self._item.part(OutputText(text="", annotations=[]))
        self._thought, self._part, self._text = thought, part, [text]
        self._piece(self._item, text)
        if alone:
            self._end_text()

    def _end_text(self) -> None:
        """The open part is complete."""
        if self._text is not None:
            part = self._part
            part = replace(part, text="".join(self._text)) if len(self._text) > 1 else part
            self._text = None
            self._reader.add(part)

    def _put(self, part: types.Part) -> None:
        """Take a part that came whole."""
        if (what := hidden(part)) is not None:
            self.losses.dropped(f"candidates[0].content.parts[{self._reader.place}]", what)
        self._reader.add(part)
        self._tell(self._reader.items)

    def _tell(self, items: Sequence[AnyItem]) -> None:
        """Tell the items that are over by now."""
        for item in self._in_turn(items[self._told :]) if not self._silent else ():
            if self._item is None:
                self._to.whole(item)
                continue
            if isinstance(item, Message) and isinstance(last := item.content[-1], OutputText):
                for source in last.annotations or ():
                    self._item.annotation(source)
                self._item.end_part(last)
            elif isinstance(item, Reasoning) and item.summary:
                self._item.end_summary(item.summary[-1])
            self._item.done(item)
            self._item = None
        self._told = max(self._told, len(items))

    def _in_turn(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        """The items in the order they are told in: the text that is open before its signature, which came behind it."""
        if self._item is not None and not self._thought and len(items) > 1 and isinstance(items[1], Message):
            return [items[1], items[0], *items[2:]]
        return items

    # -- calls

    def _add_call(self, part: types.Part, call: types.FunctionCall) -> None:
        if self._call is None:
            if not call.will_continue and call.partial_args is UNSET:
                self._put(part)
                return
            self._call = PartialCall()
        elif given(call.name):
            self._end_call()  # the one before was never ended
            self._add_call(part, call)
            return
        if self._call.feed(part, call):
            self._end_call()

    def _end_call(self, *, cut: bool = False) -> None:
        if self._call is not None:
            part, self._call = self._call.part(), None
            self._reader.add(part)
            if cut and isinstance(call := self._reader.items[-1], FunctionCall | CustomToolCall):
                call.status = "incomplete"
            self._tell(self._reader.items)


S = TypeVar("S", bound="Model")

FIRST = ("response_id", "create_time")
LAST = ("model_version", "prompt_feedback", "model_status", "error")
LAST_OF_CANDIDATE = "finish_reason finish_message safety_ratings avg_logprobs token_count continuation_token".split()
_more = attrgetter(*(name for name in types.Candidate.__struct_fields__ if name not in ("content", "index")))
_NO_MORE = _more(types.Candidate())


class Pieces:
    """Takes chunks; `body` and `candidate` are what the whole answer says beside its parts."""

    def __init__(self) -> None:
        self.body = types.Response()
        self.candidate = types.Candidate()
        self._cited: set[bytes] = set()
        self._spent: types.Maybe[types.UsageMetadata] = UNSET  # by the hops before

    def resume(self) -> None:
        """Another hop of a long answer begins: its counts are added to those so far, and it says itself how it ends."""
        self._spent, self.body.usage_metadata = self._usage(), UNSET
        whole = self.candidate
        whole.finish_reason = whole.finish_message = whole.continuation_token = UNSET

    def _usage(self) -> types.Maybe[types.UsageMetadata]:
        return summed(self._spent, self.body.usage_metadata)

    def settle(self) -> None:
        """All chunks are there: the counts are those of all hops."""
        self.body.usage_metadata, self._spent = self._usage(), UNSET

    def document(self, chunk: types.Response) -> None:
        """What a chunk says of the answer."""
        body, counted = self.body, chunk.usage_metadata
        _take(body, chunk, LAST)
        for name in FIRST:
            if getattr(body, name) is UNSET:
                setattr(body, name, getattr(chunk, name))
        if given(counted):
            # A chunk without any count says something else, such as the kind of traffic.
            counts = counted.total_token_count is not UNSET or counted.prompt_token_count is not UNSET
            body.usage_metadata = counted if counts else _over(body.usage_metadata, counted)
        if type(chunk) is not types.Response:
            self.body = with_extras(body, {**extras(body), **extras(chunk)})

    def ending(self, candidate: types.Candidate) -> None:
        """What a chunk says of the candidate."""
        whole = self.candidate
        if candidate.index is not UNSET:
            whole.index = candidate.index
        if _more(candidate) == _NO_MORE and type(candidate) is types.Candidate:
            return
        _take(whole, candidate, LAST_OF_CANDIDATE)
        if given(candidate.grounding_metadata):
            whole.grounding_metadata = _over(whole.grounding_metadata, candidate.grounding_metadata)
        if given(candidate.url_context_metadata):
            whole.url_context_metadata = {**(whole.url_context_metadata or {}), **candidate.url_context_metadata}
        if given(candidate.citation_metadata):
            whole.citation_metadata = _over(whole.citation_metadata, candidate.citation_metadata, self._union)
        if given(candidate.logprobs_result):
            whole.logprobs_result = _over(whole.logprobs_result, candidate.logprobs_result, _longer)
        if type(candidate) is not types.Candidate:
            self.candidate = with_extras(whole, {**extras(whole), **extras(candidate)})

    def _union(self, before: list[Any], after: list[Any]) -> list[Any]:
        """Both lists, the second without what the first has. The first grows in place, which keeps the time linear."""
        if not self._cited:
            self._cited.update(map(encode, before))
        for entry in after:
            if (written := encode(entry)) not in self._cited:
                self._cited.add(written)
                before.append(entry)
        return before

    def spoken(self, content: types.Content, *, parts: bool) -> None:
        """What a chunk says of the content around its parts."""
        told = self.candidate.content or types.Content()
        whole = types.Content(role=told.role or content.role, parts=[types.Part()] if parts else UNSET)
        if type(told) is not type(content):
            whole = with_extras(whole, {**extras(told), **extras(content)})
        self.candidate.content = whole


def _take(whole: Any, chunk: Any, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(chunk, name)
        if value is not UNSET and (value or not getattr(whole, name)):  # some routers send empty fields in every chunk
            setattr(whole, name, value)


def _longer(before: list[Any], after: list[Any]) -> list[Any]:
    before += after
    return before


def _over(before: Opt[S], after: S, join: Callable[[list[Any], list[Any]], list[Any]] | None = None) -> S:
    """`after`, with what it leaves out from before, and its lists joined with those from before."""
    changes: dict[str, Any] = {}
    for name in type(base(after)).__struct_fields__ if given(before) else ():
        old, new = getattr(before, name), getattr(after, name)
        if new is UNSET:
            changes[name] = old
        elif join and isinstance(old, list) and isinstance(new, list):
            changes[name] = join(cast("Any", old), cast("Any", new))
    whole = replace(after, **changes)
    return with_extras(whole, {**extras(before), **extras(after)}) if given(before) and extras(before) else whole


# --- long answers ---------------------------------------------------------------------------------------------------


def summed(before: Opt[types.UsageMetadata], after: Opt[types.UsageMetadata]) -> types.Maybe[types.UsageMetadata]:
    """The counts of two hops of one answer together: each of them is a request that is billed."""
    if not (given(before) and given(after)):
        return before or after or UNSET
    whole = _over(before, after)
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
        tokens = count.get("tokenCount")
        there["tokenCount"] += int(tokens) if isinstance(tokens, int | str) and str(tokens).isdecimal() else 0
    return list(found.values())


# --- calls in pieces ------------------------------------------------------------------------------------------------

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"]([^'\"]*)['\"]\]")
_DEEPEST = 100


class PartialCall:
    """A call whose arguments are still coming: `feed` it, then read `part`.

    The first chunk names the function, the next ones give values, those of texts in fragments, and an empty call ends it.
    """

    def __init__(self) -> None:
        self._part = types.Part()
        self._call = types.FunctionCall()
        self._args: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}

    def feed(self, part: types.Part, call: types.FunctionCall) -> bool:
        """Take the next piece, the call in a part; true where it was the last."""
        self._call = _over(self._call, call)
        if part != types.Part(function_call=call):
            self._part = _over(self._part, part)
        for piece in call.partial_args or ():
            path = piece.json_path or "$"
            if given(piece.string_value):
                self._texts.setdefault(path, []).append(piece.string_value)
                if not piece.will_continue:
                    self._set(path, "".join(self._texts.pop(path)))
            else:
                self._set(path, next((v for v in (piece.number_value, piece.bool_value) if given(v)), None))
        return not call.will_continue

    def part(self) -> types.Part:
        """The part of the whole call, as it would have come in one piece."""
        for path, pieces in self._texts.items():
            self._set(path, "".join(pieces))
        told = self._call.args
        args = Raw(encode(self._args)) if self._args or told is UNSET else told
        whole = replace(self._call, args=args, partial_args=UNSET, will_continue=UNSET)
        return replace(self._part, function_call=whole)

    def _set(self, path: str, value: Any) -> None:
        steps = [int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path)][:_DEEPEST]
        if steps and isinstance(steps[0], str):
            _put(self._args, steps, value)


def _put(place: Any, steps: list[str | int], value: Any) -> None:
    """Put a value where the steps lead, making objects and lists on the way."""
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        new: Any = value if following is None else [] if isinstance(following, int) else {}
        kind = list if isinstance(step, int) else dict
        if type(place) is not kind:
            return
        there = cast("Any", place)
        if isinstance(step, int) and step >= len(there):
            step = len(there)
            there.append(new)
        elif following is None or type(there[step] if kind is list else there.get(step)) is not type(new):
            there[step] = new
        place = there[step]


class _LateWriter(Writer):
    """Writes items whose texts have left already: `done` gives what has not."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, blocked=True)
        self.late = False  # whether a signature came too late for its part
        self.more = False  # whether a part that has left says more than its text

    def done(self, item: AnyItem, streamed: set[int]) -> list[types.Part]:
        """The parts of a complete item but for its texts at the places `streamed`."""
        self.parts = []
        self.said = []
        self.write(item, "")
        if not streamed:
            return self.parts
        if isinstance(item, Message) and not isinstance(item.content, str):
            texts = {j: part for j, part in enumerate(item.content) if isinstance(part, OutputText)}
            if streamed <= texts.keys():
                told = [texts[j] for j in streamed]
            else:
                told = [*texts.values()][: len(streamed)]  # some hosts number the parts from 1
            these = {id(one) for one in told}
            left = [part for part, text, _ in self.said if id(text) in these]
        else:
            left = [part for part in self.parts if part.text][: len(streamed)]
        self.more = self.more or any(map(says_more, left))
        gone = set(map(id, left))
        return [part for part in self.parts if id(part) not in gone]

    def _sign(self, payload: Shown, path: str) -> None:
        # A stream of this wire tells a text before its signature.
        behind = payload.before and payload.digest == self._seen
        super()._sign(replace(payload, before=False) if behind else payload, path)

    def mark(self, marks: list[Mark], *, thought: bool = False) -> None:
        """Put signatures behind what they are for."""
        for mark in marks:
            self.late = self.late or not mark.hidden
            flag = True if thought else UNSET
            self.parts.append(types.Part(text="", thought_signature=mark.signature, thought=flag))


class StreamEncoder:
    """`feed` takes an event and gives the chunks it makes; the end of the answer is the end of the body."""

    def __init__(self, request: Request | None, dialect: GeminiDialect) -> None:
        self.losses = Losses()
        self._request = request
        self._dialect = dialect
        self._id: types.Maybe[str] = UNSET
        self._model: types.Maybe[str] = UNSET
        self._created: types.Maybe[str] = UNSET
        self._writer = _LateWriter(Context(Losses(), dialect, gemini_model(""), replay=False))
        self._streamed: dict[int, set[int]] = {}  # the texts of open items that left, by item and place
        self._joined = False  # whether texts that were apart have left side by side
        self._spoken = False
        self._at = 0  # the item that is told now
        self._later: dict[int, list[ev.AnyEvent]] = {}  # events of items after it
        self._error: ev.StreamError | None = None
        self._over = False

    def feed(self, event: ev.AnyEvent) -> list[types.Response]:
        """The chunks of one event."""
        if self._over:
            return []
        match event:
            case ev.OutputTextDelta() | ev.ReasoningSummaryTextDelta() | ev.OutputItemDone():
                return self._in_turn(event, event.output_index)
            case ev.ResponseCreated() | ev.ResponseInProgress() | ev.ResponseQueued():
                self._begin(event.response)
            case ev.ResponseCompleted() | ev.ResponseIncomplete() | ev.ResponseFailed():
                return self._end(event.response)
            case ev.ErrorEvent():
                self._error = event.details  # the failed response that follows says more
            case _:
                pass
        return []

    def close(self) -> list[types.Response]:
        """The error that no failed response followed; else nothing, since the body just ends."""
        if self._over or self._error is None:
            return []
        self._over = True
        return [types.Response(error=encode_failure(self._error))]

    def _begin(self, response: Response) -> None:
        named = response.model or (self._request.model if self._request is not None else None)
        self._id = response.id
        self._model = named or UNSET
        self._created = encode_time(response.created_at) or UNSET

    def _in_turn(self, event: ev.AnyEvent, index: int) -> list[types.Response]:
        """The chunks of an event; what comes before its turn waits, since parts have no numbers."""
        if index > self._at:
            self._later.setdefault(index, []).append(event)
            return []
        chunks = self._told(event)
        while isinstance(event, ev.OutputItemDone) and event.output_index == self._at:
            self._at += 1
            for event in self._later.pop(self._at, ()):
                chunks += self._told(event)
        return chunks

    def _told(self, event: ev.AnyEvent) -> list[types.Response]:
        match event:
            case ev.OutputTextDelta(delta=delta):
                self._leave(event.output_index, event.content_index)
                return self._chunks([types.Part(text=delta)])
            case ev.ReasoningSummaryTextDelta(delta=delta):
                self._leave(event.output_index, event.summary_index)
                return self._chunks([types.Part(text=delta, thought=True)])
            case ev.OutputItemDone(item=item) if item is not None:
                return self._chunks(self._writer.done(item, self._streamed.pop(event.output_index, set())))
            case _:
                return []

    def _leave(self, item: int, place: int) -> None:
        streamed = self._streamed.setdefault(item, set())
        self._joined = self._joined or bool(streamed and place not in streamed)
        streamed.add(place)

    def _chunks(self, parts: list[types.Part]) -> list[types.Response]:
        """The parts in a chunk; before them refusals that turn out to be texts, since something follows them."""
        if not parts:
            return []
        self._spoken = True
        parts = [*self._refusals(), *parts]
        candidate = types.Candidate(content=types.Content(role="model", parts=parts), index=0)
        return [
            types.Response(
                candidates=[candidate],
                model_version=self._model,
                response_id=self._id,
                create_time=self._created,
            )
        ]

    def _refusals(self) -> list[types.Part]:
        said, self._writer.refusals = self._writer.refusals, []
        return [types.Part(text=text) for text in said]

    def _end(self, response: Response) -> list[types.Response]:
        """The last chunk: how the answer ended, what it took, and what else describes it."""
        self._over = True
        self._begin(response)
        body, lost = encode_response(response, request=self._request, dialect=self._dialect)
        self.losses[:] = lost
        if self._writer.late:
            self.losses.changed("output", "signatures that came after their texts stand behind them")
        if self._writer.more:
            self.losses.dropped("output", "what parts say beside their texts, which had left by then")
        if self._joined:
            self.losses.changed("output", "texts side by side arrive as one in a stream of Gemini")
        waiting = [event for index in sorted(self._later) for event in self._later[index]]
        before = [chunk for event in waiting for chunk in self._told(event)]
        if not is_blocked(response):
            before += self._chunks(self._refusals())
        if body.candidates and self._spoken and (content := body.candidates[0].content):
            body.candidates[0].content = replace(content, parts=UNSET) if extras(content) else UNSET
        return [*before, body]
