"""Streamed answers: chunks to events. The way back is in `stream_back.py`.

Pieces of a text are joined into the part they are of, and complete parts go to the `Reader` that whole answers use, so both give
the same items. Before changing this file, know what comes late: the signature of a thought with the part behind it, sources
with the last chunk, and the end with the end of the body; and that a part with a signature is never joined with another.
Follows the reference of `streamGenerateContent` (read 2026-11-20).
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from ...losses import Loss, Losses
from ...responses.carriers import digest
from ...responses.emit import Emitter
from ...responses.events import AnyEvent, StreamError
from ...responses.items import CustomToolCall, FunctionCall, Message, Reasoning
from ...responses.parts import OutputText, SummaryText
from ...responses.response import Response
from ...unknown import given, or_none
from . import types
from .carried import encode
from .counts import decode_time
from .errors import decode_failure
from .pieces import PartialCall, Pieces
from .reader import Reader, hidden, says_more
from .response import begin, reader_of, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...losses import Kind
    from ...responses.emit import OpenItem
    from ...responses.items import AnyItem
    from ...responses.request import Request
    from ...vendors.dialects import GeminiDialect


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
