"""What of a conversation a request holds: limits by items and by tokens, and compaction.

The front goes in whole turns, and a call never without its output (`cut_points`); what is kept in a conversation or a run is
not touched. Before changing this file, know that a cut changes the beginning of the request, which vendors' prompt caches live
from: with compaction the cut is made once, at half of the limit, and stays where it is until the limit is reached again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import accumulate, islice, takewhile
from math import inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

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
    from ..responses.response import Response

T = TypeVar("T")

SUMMARY_PROMPT = (
    "Summarise the conversation above so that it can continue from the summary alone: what is wanted, what was decided, "
    "names and numbers, results of tools, open questions. Answer with the summary and nothing else."
)
"""The message that asks a model for a summary."""

SUMMARY = "Summary of the conversation so far:\n\n"
"""The beginning of the message that stands for what was summarised."""

_SETTINGS = (AdditionalTools, ConfigurationUpdate)
"""Items that hold for everything after them, and so are kept."""


class HistoryLimits(Struct, frozen=True, kw_only=True):
    """How much of a conversation is sent. Raises `ConfigError` for what is no limit.

    Whole turns are left out from the front; instructions, fixed context and the turn in progress are always sent.
    """

    max_items: int | None = None
    """The most items of the history that are sent; `None` for no limit."""
    max_tokens: int | None = None
    """The most input tokens, those of instructions and tools included; `None` for no limit."""
    count: Literal["estimate", "vendor"] | Callable[[Sequence[AnyItem]], int] = "estimate"
    """How tokens are counted: an estimate that is corrected by what the vendor reported, the vendor's own count (a request
    before each call), or a function of the items."""
    rounds: bool = False
    """Whether the oldest rounds of tool calls in the turn in progress may be left out too; its question is always sent."""
    compact: Literal["summary", "vendor"] | None = None
    """What replaces the turns that are left out: a summary of the model, or the vendor's own compaction; `None` for nothing.
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


# --- where the front may be cut -------------------------------------------------------------------------------------


def cut_points(items: Sequence[AnyItem], *, rounds: bool = False, begun: bool = False) -> list[int]:
    """The positions where a conversation may begin: where a turn begins, and no call before it has its output behind it.

    With `rounds` also where the model speaks again in a turn whose question is there, or that has `begun` before the items.
    """
    tied, found = _find_ties(items), list[int]()
    for i in range(len(items)):
        if _begins_turn(items, i):
            begun = True
        elif not (rounds and begun and i > 0 and _begins_round(items, i)):
            continue
        if not tied[i]:
            found.append(i)
    return found


def _is_prompt(item: AnyItem) -> bool:
    """Whether it is said to the model, by the user or the program; a late result belongs to the turn of its call."""
    if not isinstance(item, Message) or item.role not in ("user", "system", "developer"):
        return False
    return not item.text.startswith(f'{{"type":"{DELIVERY}"')


def _begins_turn(items: Sequence[AnyItem], i: int) -> bool:
    if not _is_prompt(items[i]) or (i > 0 and _is_prompt(items[i - 1])):
        return False
    # The first of what is said to the model, with something of the user among it: some wires begin with the user alone.
    return any(_has_user_content(item) for item in takewhile(_is_prompt, islice(items, i, None)))


def _has_user_content(item: AnyItem) -> bool:
    """Whether the user says something that every wire has a word for."""
    if not isinstance(item, Message) or item.role != "user":
        return False
    parts = () if isinstance(item.content, str) else item.content
    return bool(item.text.strip()) or any(isinstance(part, InputImage | InputFile) for part in parts)


def _begins_round(items: Sequence[AnyItem], i: int) -> bool:
    """Whether the model speaks again after the outputs of calls."""
    return bool(answers([items[i - 1]])) and not answers([items[i]]) and not _is_prompt(items[i])


def _find_ties(items: Sequence[AnyItem]) -> list[bool]:
    """For each position whether a call before it belongs to an output at or behind it, or the other way round."""
    steps = [0] * (len(items) + 1)
    waiting: dict[str, list[int]] = {}
    last: dict[str, int] = {}
    orphans: dict[str, list[int]] = {}
    for i, item in enumerate(items):
        for name, closes in _names(item):
            tied: list[int] = []
            if not closes:
                tied = orphans.pop(name, [])
                waiting.setdefault(name, []).append(i)
                last[name] = i
            elif waiting.get(name):
                tied = [waiting[name].pop(0)]
            elif name in last:  # once more
                tied = [last[name]]
            else:
                orphans.setdefault(name, []).append(i)
            for first in tied:
                steps[first + 1] += 1
                steps[i + 1] -= 1
    return [total > 0 for total in accumulate(steps[:-1])]


def _names(item: AnyItem) -> list[tuple[str, bool]]:
    """The calls that an item makes, and those that it answers or belongs to."""
    of = getattr(getattr(item, "caller", None), "caller_id", None), getattr(item, "approval_request_id", None)
    made = item.id if isinstance(item, McpApprovalRequest) else getattr(item, "call_id", None)
    closes = isinstance(item, ProgramOutput | FunctionCallOutput) or bool(answers([item]))
    return [(name, True) for name in of if isinstance(name, str)] + ([(made, closes)] if made is not None else [])


class Cut(NamedTuple):
    """What is left of a conversation: `front`, and the items from `start` on."""

    front: list[AnyItem]
    start: int


def cut_at(items: Sequence[AnyItem], start: int) -> Cut:
    """The conversation from `start` on, with the question of the turn in progress, and what holds for all that follows."""
    settings: list[AnyItem] = [item for item in items[:start] if isinstance(item, _SETTINGS)]
    turn = max(cut_points(items[: start + 1]), default=start)
    if turn == start and not settings:
        return Cut([], start)
    asked = list(takewhile(_is_prompt, items[turn:]))
    # Settings do not come first: some wires take what stands there as instructions.
    return Cut([*asked, *settings], start if turn < start else start + len(asked))


def shortened(
    items: Sequence[AnyItem],
    *,
    max_items: float = inf,
    max_tokens: float = inf,
    rounds: bool = False,
    begun: bool = False,
    least: int = 0,
) -> int:
    """How many items to leave out in front, so that the rest is within the limits, or as near as can be.

    Tokens are those of the estimate. At least `least` items are left out, where that is possible.
    """
    points = cut_points(items, rounds=rounds, begun=begun)
    sizes = [0, *accumulate(map(item_tokens, items))]
    found = 0
    for found in points:
        if found >= least and len(items) - found <= max_items and sizes[-1] - sizes[found] <= max_tokens:
            break
    return found


# --- requests -------------------------------------------------------------------------------------------------------


class Model(Protocol):
    """Who answers: what limits need of the client of a run."""

    async def send(self, request: Request, /) -> Response:
        """The reply to a request."""
        ...

    async def count(self, request: Request, /) -> int:
        """How many tokens the vendor counts in it."""
        ...

    async def compact(self, request: Request, /) -> list[AnyItem]:
        """What the vendor makes of its conversation."""
        ...


class Window:
    """The requests of one run within limits: what is sent of each, and what stands for the rest."""

    def __init__(
        self,
        limits: HistoryLimits,
        *,
        fixed: int | None = None,
        compacted: Compacted | None = None,
        factor: float = 1.0,
    ) -> None:
        self.limits = limits
        """The limits of every request."""
        self.compacted = compacted
        """What stands for the first items behind the fixed ones."""
        self._earlier: list[CallInfo] = []
        """What was requested for the next reply beside its own answer: one that was too long, and summaries."""
        self.factor = factor
        """How many tokens the vendor reports for one of the estimate."""
        self._fixed = fixed
        self._sent = 0

    async def ask(self, request: Request, model: Model, send: Callable[[Request], Awaitable[T]]) -> T:
        """What `send` gives for the request within the limits, compacted once where the vendor finds it too long."""
        self._earlier = []
        if request.previous_response_id is not None:  # the vendor holds the conversation
            return await send(request)
        fitting = await self._fit(request, model)
        try:
            return await send(self._with_estimate(fitting))
        except ContextLengthError as problem:
            shorter = await self._compact_half(request, model) if self.limits.compact else None
            if shorter is None:
                raise
            self._earlier.insert(0, CallInfo(attempts=problem.attempts))
            return await send(self._with_estimate(shorter))

    def received(self, found: Reply) -> Reply:
        """The reply, by which the estimate is corrected, with all requests that were made for it."""
        reported = 0 if found.usage is None else found.usage.input_tokens
        if reported and self._sent:
            self.factor = reported / self._sent
        return reply(found, sum_calls([*self._earlier, found.info])) if self._earlier else found

    def _with_estimate(self, request: Request) -> Request:
        if self.limits.max_tokens is not None:
            self._sent = estimate_tokens(request)
        return request

    def _parts(self, request: Request) -> tuple[list[AnyItem], list[AnyItem], list[AnyItem]]:
        """The fixed items, what stands for the first ones behind them, and the rest."""
        items = items_of(request)
        fixed = self._fixed
        if fixed is None:
            begins = (i for i, one in enumerate(items) if not (isinstance(one, Message) and one.role in _INSTRUCTING))
            fixed = next(begins, len(items))
        done = self.compacted
        return items[:fixed], [] if done is None else done.items, items[fixed + (done.count if done else 0) :]

    async def _fit(self, request: Request, model: Model) -> Request:
        fixed, before, rest = self._parts(request)
        limits, goal = self.limits, 0.5 if self.limits.compact else 1.0
        max_items, max_tokens = limits.max_items or inf, limits.max_tokens or inf
        start = 0
        while True:
            cut = cut_at(rest, start) if start else Cut([], 0)
            found = replace(request, input=[*fixed, *before, *cut.front, *rest[cut.start :]])
            tokens = 0 if limits.max_tokens is None else await self._tokens(found, model)
            if tokens <= max_tokens and len(rest) - start <= max_items:
                return found
            estimated = estimate_tokens(found)
            other = estimated - sum(map(item_tokens, rest[start:]))  # instructions, tools, what is fixed
            further = shortened(
                rest,
                max_items=max_items * goal,
                max_tokens=max_tokens * goal * estimated / max(1, tokens) - other,
                rounds=limits.rounds,
                begun=bool(before),
                least=start + 1,
            )
            if further <= start:
                return found
            start = further
            if limits.compact:
                return await self._replace_front(request, model, start)

    async def _tokens(self, request: Request, model: Model) -> int:
        if self.limits.count == "vendor":
            return await model.count(request)
        if callable(self.limits.count):
            return self.limits.count(items_of(request))
        return round(self.factor * estimate_tokens(request))

    async def _compact_half(self, request: Request, model: Model) -> Request | None:
        """The request with its first half replaced; `None` where there is nothing to replace."""
        _, before, rest = self._parts(request)
        half = sum(map(item_tokens, rest)) / 2
        start = shortened(rest, max_tokens=half, rounds=True, begun=bool(before), least=1)
        return await self._replace_front(request, model, start) if start else None

    async def _replace_front(self, request: Request, model: Model, start: int) -> Request:
        """The request with a summary, or the vendor's compaction, instead of the first items of the rest."""
        fixed, before, rest = self._parts(request)
        gone = replace(request, input=[*fixed, *before, *rest[:start]], stream=None)
        if self.limits.compact == "vendor":
            made = await model.compact(gone)
        else:
            found = await summary_of(gone, model.send, self.limits.compact_model)
            self._earlier.append(found.info)
            made = [summary_message(found)]
        cut = cut_at(rest, start)
        count = cut.start + (self.compacted.count if self.compacted else 0)
        self.compacted = Compacted(count=count, items=[*made, *cut.front])
        return replace(request, input=[*fixed, *self.compacted.items, *rest[cut.start :]])


_INSTRUCTING = ("system", "developer")


def window_of(limits: Any) -> Window:
    """The window that a run uses. Raises `ConfigError` for what is no limit."""
    if not isinstance(limits, HistoryLimits | Window):
        raise ConfigError(f"limits= takes HistoryLimits(...), not a {type(limits).__name__}")
    return limits if isinstance(limits, Window) else Window(limits)


def summary_request(request: Request, model: str | None = None) -> Request:
    """The request for a summary of the conversation in `request`, by its model or another one."""
    asked = [*items_of(request), Message(role="user", content=SUMMARY_PROMPT)]
    # Vendors want the tools of earlier calls described, and none called now.
    choice = "none" if request.tools else None
    return replace(
        request, model=model or request.model, input=asked, tool_choice=choice, text=None, stream=None, store=False
    )


def summary_message(found: Response) -> Message:
    """The message that stands for what this reply summarises."""
    return Message(role="user", content=SUMMARY + (found.output_text or ""))


async def summary_of(request: Request, send: Callable[[Request], Awaitable[Response]], model: str | None = None) -> Any:
    """The model's reply with a summary of the conversation in `request`. Raises an `LLMError` where there is none."""
    from ..client.call import complete_text

    found: Any = await send(summary_request(request, model))
    complete_text(found)
    return found
