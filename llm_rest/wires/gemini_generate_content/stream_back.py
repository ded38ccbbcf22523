"""Streamed answers: events to chunks. The way there is in `stream.py`.

A text leaves as it comes; everything else leaves when it is complete, written by the `Writer` that whole answers use. Before
changing this file, know that chunks cannot be taken back: a signature that comes after its text stands on an empty text of
its own behind it, as the vendor itself does it, and what a refusal is, is only known at the end. Follows the reference of
`streamGenerateContent` (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from ...losses import Losses
from ...responses import events as ev
from ...responses.items import Message
from ...responses.parts import OutputText
from ...responses.response import Response
from ...unknown import extras
from ...vendors.dialects import gemini_model
from . import types
from .counts import encode_time
from .ends import is_blocked
from .errors import encode_failure
from .media import Context
from .reader import says_more
from .response import encode_response
from .writer import Writer

if TYPE_CHECKING:
    from ...responses.items import AnyItem
    from ...responses.request import Request
    from ...vendors.dialects import GeminiDialect
    from .carried import Mark, Shown


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
