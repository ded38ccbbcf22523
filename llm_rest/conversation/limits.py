"""History limits of requests: truncation by items and by tokens, and compaction.

Whole turns are removed from the front, and a call never without its output (`cut_points`); the conversation or run itself is
not changed. Before changing this file, know that a cut changes the beginning of the request, which vendors' prompt caches
depend on: with compaction the cut is made once, at half of the limit, and stays where it is until the limit is reached again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice, takewhile
from math import ceil, inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..client.reply import CallInfo, Reply, reply, sum_calls
from ..errors import ConfigError, ContextLengthError
from ..loop.calls import DELIVERY, answers
from ..responses.estimate import estimate_tokens, item_tokens
from ..responses.items import (
    AdditionalTools,
    AnyItem,
    ConfigurationUpdate,
    FunctionCallOutput,
    McpApprovalRequest,
    Message,
    ProgramOutput,
)
from ..responses.parts import InputFile, InputImage
from ..responses.request import Request, items_of
from .conversation import Compacted

if TYPE_CHECKING:
    from ..client.run import ModelCalls
    from ..responses.response import Response

T = TypeVar("T")

SUMMARY_PROMPT = (
    "Summarise the conversation above so that it can continue from the summary alone: what is wanted, what was decided, "
    "names and numbers, results of tools, open questions. Answer with the summary and nothing else."
)
"""The message that asks a model for a summary."""

SUMMARY = "Summary of the conversation so far:\n\n"
"""The beginning of the message with a summary."""

_SETTINGS = (AdditionalTools, ConfigurationUpdate)
"""Items with settings for everything after them, which are therefore kept."""


class HistoryLimits(Struct, frozen=True, kw_only=True):
    """History limits (truncation and compaction) of requests. Raises `ConfigError` for an invalid limit.

    Whole turns are omitted from the front; instructions, fixed context and the turn in progress are always sent.
    """

    max_items: int | None = None
    """The maximum number of items of the history that are sent; `None` for no limit."""
    max_tokens: int | None = None
    """The maximum number of input tokens, those of instructions and tools included; `None` for no limit."""
    count: Literal["estimate", "vendor"] | Callable[[Sequence[AnyItem]], int] = "estimate"
    """How tokens are counted: an estimate that is corrected by the vendor's usage, the vendor's own count (a request
    before each call), or a function of the items."""
    rounds: bool = False
    """Whether the oldest rounds of tool calls in the turn in progress may be omitted too; its question is always sent."""
    compact: Literal["summary", "vendor"] | None = None
    """What replaces the omitted turns: a summary of the model, or the vendor's own compaction; `None` for nothing.
    It also replaces the older half once where the vendor answers with a `ContextLengthError`."""
    compact_model: str | None = None
    """The model that summarises, as `"vendor/model"`; `None` for the one of the conversation."""

    def __post_init__(self) -> None:
        for name in ("max_items", "max_tokens"):
            value: Any = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ConfigError(f"{name} is a number from 1, not {value!r}", hint="leave it out for no limit")
        if self.count not in ("estimate", "vendor") and not callable(self.count):
            raise ConfigError(f'count is "estimate", "vendor" or a function of the items, not {self.count!r}')
        if self.compact not in (None, "summary", "vendor"):
            raise ConfigError(f'compact is "summary" or "vendor", not {self.compact!r}')


# --- cut points -----------------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """The rest of a conversation: `front`, and the items from `start` on."""

    front: list[AnyItem]
    start: int


class CutPoints:
    """The positions where a growing conversation may be truncated: at turns that do not separate a call from its output.

    `grow` visits new items only.
    """

    def __init__(self, items: Sequence[AnyItem] = ()) -> None:
        self.turns: list[int] = []
        """The positions where a turn begins."""
        self.rounds: list[int] = []
        """The same, and where the model speaks again after the outputs of calls, once there is a turn."""
        self.tokens = [0]
        """The estimated tokens of all items before each position, and of all items at the end."""
        self._items: list[AnyItem] = []
        self._settings: list[int] = []
        self._prompts: int | None = None  # where the messages began that may begin a turn
        self._has_turn = False  # whether there was a turn, even one that cannot be removed
        self._waiting: dict[str, list[int]] = {}  # calls without an output
        self._last: dict[str, int] = {}
        self._orphans: dict[str, list[int]] = {}  # outputs without a call
        self.grow(items)

    def begins(self, items: Sequence[AnyItem]) -> bool:
        """Whether the items so far are a prefix of these."""
        return self._items == items[: len(self._items)]

    def grow(self, items: Sequence[AnyItem]) -> None:
        """Process the new items of the whole conversation, whose prefix are the items so far."""
        for item in islice(items, len(self._items), None):
            self._add(item)

    def _add(self, item: AnyItem) -> None:
        i = len(self._items)
        self._items.append(item)
        self.tokens.append(self.tokens[-1] + item_tokens(item))
        if isinstance(item, _SETTINGS):
            self._settings.append(i)
        tied = self._tie(item, i)
        if _is_prompt(item):
            if i == 0 or not _is_prompt(self._items[i - 1]):
                self._prompts = i
            # The first message of a group with content of the user: some wires must begin with a user message.
            if self._prompts is not None and _has_user_content(item):
                self.turns.append(self._prompts)
                self.rounds.append(self._prompts)
                self._prompts, self._has_turn = None, True
            return
        self._prompts = None
        if self._has_turn and not tied and answers([self._items[i - 1]]) and not answers([item]):
            self.rounds.append(i)

    def _tie(self, item: AnyItem, i: int) -> bool:
        """Exclude the positions between a call and its output; whether `i` is one of them."""
        found = False
        for name, closes in _names(item):
            first = i
            if not closes:
                first = min(self._orphans.pop(name, [i]))
                self._waiting.setdefault(name, []).append(i)
                self._last[name] = i
            elif self._waiting.get(name):
                first = self._waiting[name].pop(0)
            elif name in self._last:  # once more
                first = self._last[name]
            else:
                self._orphans.setdefault(name, []).append(i)
            found |= first < i
            for points in (self.turns, self.rounds):
                while points and points[-1] > first:
                    points.pop()
        return found

    def cut(self, start: int, begin: int = 0) -> Cut:
        """The conversation from `start` on, with the question of its turn, and the settings since `begin`, which stay valid."""
        settings = [self._items[i] for i in self._settings if begin <= i < start]
        turn = _last_until(self.turns, start, start)
        if turn == start and not settings:
            return Cut([], start)
        prompts = list(takewhile(_is_prompt, islice(self._items, turn, None)))
        # Settings are not first: some wires interpret the first item as instructions.
        return Cut([*prompts, *settings], start if turn < start else start + len(prompts))

    def shorten(self, *, max_items: float = inf, max_tokens: float = inf, rounds: bool = False, least: int = 0) -> int:
        """The number of items to omit in front, so that the rest is within the limits, or as near as possible.

        Tokens are estimated. At least `least` items are omitted, where possible.
        """
        points, found = self.rounds if rounds else self.turns, 0
        for i in range(bisect_left(points, least), len(points)):
            found = points[i]
            if len(self._items) - found <= max_items and self.tokens[-1] - self.tokens[found] <= max_tokens:
                break
        return found


def _last_until(points: list[int], most: int, default: int) -> int:
    """The last of these points not above `most`."""
    i = bisect_right(points, most)
    return points[i - 1] if i else default


def _is_prompt(item: AnyItem) -> bool:
    """Whether it is a message to the model, by the user or the program; a late result belongs to the turn of its call."""
    if not isinstance(item, Message) or item.role not in ("user", "system", "developer"):
        return False
    return not item.text.startswith(f'{{"type":"{DELIVERY}"')


def _has_user_content(item: AnyItem) -> bool:
    """Whether it has content of the user that every wire supports."""
    if not isinstance(item, Message) or item.role != "user":
        return False
    parts = () if isinstance(item.content, str) else item.content
    return bool(item.text.strip()) or any(isinstance(part, InputImage | InputFile) for part in parts)


def _names(item: AnyItem) -> list[tuple[str, bool]]:
    """The ids of the calls that an item makes, and of those that it answers or belongs to."""
    of = getattr(getattr(item, "caller", None), "caller_id", None), getattr(item, "approval_request_id", None)
    made = item.id if isinstance(item, McpApprovalRequest) else getattr(item, "call_id", None)
    closes = isinstance(item, ProgramOutput | FunctionCallOutput) or bool(answers([item]))
    return [(name, True) for name in of if isinstance(name, str)] + ([(made, closes)] if made is not None else [])


# --- requests -------------------------------------------------------------------------------------------------------


class Window:
    """Limits the requests of a run, or of all turns of a chat: the part of the history that is sent, and its compaction.

    A cut does not move until the limit is reached again, so that most requests extend the previous one (prompt caching).
    """

    def __init__(self, limits: HistoryLimits) -> None:
        self.limits = limits
        """The limits of every request."""
        self.compacted: Compacted | None = None
        """The compaction that replaces the first items after the fixed ones."""
        self.fixed: int | None = None
        """The number of items in front that are always sent; `None` for the instructions that a run begins with."""
        self._earlier: list[CallInfo] = []
        """The calls made for the next reply besides its own: a request that was too long, and summaries."""
        self._factor = 1.0  # the reported tokens for each estimated one
        self._sent = 0
        self._points = CutPoints()
        self._start = 0

    async def ask(self, request: Request, model: ModelCalls, send: Callable[[Request], Awaitable[T]]) -> T:
        """What `send` gives for the request within the limits, compacted once where the vendor finds it too long."""
        self._earlier = []
        if request.previous_response_id is not None:  # the conversation is stored at the vendor
            return await send(request)
        fixed, items = self._split(request)
        if not self._points.begins(items):
            self._points, self._start = CutPoints(), 0
        self._points.grow(items)
        self._start = _last_until(self._points.rounds, self._start, 0)  # a late output belongs to its call
        try:
            return await send(await self._fit(request, fixed, items, model))
        except ContextLengthError as problem:
            half = (self._points.tokens[-1] - self._points.tokens[self._begin]) / 2
            start = self._points.shorten(max_tokens=half, rounds=True, least=self._begin + 1)
            if not self.limits.compact or start <= self._begin:
                raise
            await self._compact(request, fixed, items, start, model)
            self._earlier.insert(0, CallInfo(attempts=problem.attempts))
            return await send(self._cut(request, fixed, items)[0])

    def received(self, found: Reply) -> Reply:
        """The reply, with all requests that were made for it; its usage corrects the estimate."""
        reported = 0 if found.usage is None else found.usage.input_tokens
        if reported and self._sent:
            self._factor = reported / self._sent
        return reply(found, sum_calls([*self._earlier, found.info])) if self._earlier else found

    def _split(self, request: Request) -> tuple[list[AnyItem], list[AnyItem]]:
        """The fixed items, and the others."""
        items = items_of(request)
        fixed = self.fixed
        if fixed is None:
            begins = (i for i, one in enumerate(items) if not (isinstance(one, Message) and one.role in _INSTRUCTING))
            fixed = next(begins, len(items))
        return items[:fixed], items[fixed:]

    @property
    def _begin(self) -> int:
        """The number of items that the compaction replaces."""
        return min(self.compacted.count, len(self._points.tokens) - 1) if self.compacted else 0

    def _cut(self, request: Request, fixed: list[AnyItem], items: list[AnyItem]) -> tuple[Request, int]:
        """The truncated request, and the estimated tokens of the parts that are not the remaining items."""
        before = self.compacted.items if self.compacted else []
        cut = self._points.cut(self._start, self._begin) if self._start > self._begin else Cut([], self._begin)
        first = [*fixed, *before, *cut.front]
        other = 0
        if self.limits.max_tokens is not None:
            other = estimate_tokens(replace(request, input=first))
            self._sent = other + self._points.tokens[-1] - self._points.tokens[cut.start]
        return replace(request, input=[*first, *items[cut.start :]]), other

    async def _fit(self, request: Request, fixed: list[AnyItem], items: list[AnyItem], model: ModelCalls) -> Request:
        limits, goal = self.limits, _GOAL_OF_COMPACTION if self.limits.compact else _GOAL
        max_items, max_tokens = limits.max_items or inf, limits.max_tokens or inf
        while True:
            found, other = self._cut(request, fixed, items)
            tokens = 0 if limits.max_tokens is None else await self._tokens(found, model)
            start = max(self._start, self._begin)
            if tokens <= max_tokens and len(items) - start <= max_items:
                return found
            further = self._points.shorten(
                max_items=ceil(max_items * goal) if limits.max_items else inf,
                max_tokens=ceil(max_tokens * goal) * self._sent / max(1, tokens) - other if limits.max_tokens else inf,
                rounds=limits.rounds,
                least=start + 1,
            )
            if further <= start:
                return found
            if limits.compact:
                await self._compact(request, fixed, items, further, model)
                return self._cut(request, fixed, items)[0]
            self._start = further

    async def _tokens(self, request: Request, model: ModelCalls) -> int:
        if self.limits.count == "vendor":
            return await model.count(request)
        if callable(self.limits.count):
            return self.limits.count(items_of(request))
        return round(self._factor * self._sent)

    async def _compact(
        self, request: Request, fixed: list[AnyItem], items: list[AnyItem], start: int, model: ModelCalls
    ) -> None:
        """Replace the first items by a summary, or by the vendor's compaction."""
        before = self.compacted.items if self.compacted else []
        removed = replace(request, input=[*fixed, *before, *items[self._begin : start]], stream=None)
        if self.limits.compact == "vendor":
            made = await model.compact(removed)
        else:
            found = await summary_of(removed, model.send, self.limits.compact_model)
            self._earlier.append(found.info)
            made = [summary_message(found)]
        cut = self._points.cut(start, self._begin)
        self.compacted = Compacted(count=cut.start, items=[*made, *cut.front])


_GOAL_OF_COMPACTION, _GOAL = 0.5, 0.75
"""The fraction of the limits that a cut leaves, so that it is valid for some turns."""
_INSTRUCTING = ("system", "developer")


def window_of(limits: Any) -> Window:
    """The window of a run. Raises `ConfigError` for anything but limits."""
    if not isinstance(limits, HistoryLimits | Window):
        raise ConfigError(f"limits= takes HistoryLimits(...), not a {type(limits).__name__}")
    return limits if isinstance(limits, Window) else Window(limits)


def summary_request(request: Request, model: str | None = None) -> Request:
    """The request for a summary of the conversation in `request`, by its model or another one."""
    items = [*items_of(request), Message(role="user", content=SUMMARY_PROMPT)]
    # Vendors require the definitions of tools that were called earlier; none may be called now.
    choice = "none" if request.tools else None
    return replace(
        request, model=model or request.model, input=items, tool_choice=choice, text=None, stream=None, store=False
    )


def summary_message(found: Response) -> Message:
    """The message with the summary in this reply."""
    return Message(role="user", content=SUMMARY + (found.output_text or ""))


async def summary_of(request: Request, send: Callable[[Request], Awaitable[Response]], model: str | None = None) -> Any:
    """The model's reply with a summary of the conversation in `request`. Raises an `LLMError` where there is none."""
    from ..client.generate import complete_text

    found: Any = await send(summary_request(request, model))
    complete_text(found)
    return found
