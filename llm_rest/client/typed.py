"""Typed output through a client: the choice of a strategy, re-prompting, and partial values from a stream.

Requests and validation are in `structured.py`, which is pure. Before changing this file, know that a strategy is chosen
by trial: the first whose request the model's capabilities allow and the wire can encode without loss.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from msgspec.structs import replace

from ..errors import ConfigError, OutputError, SchemaMismatchError
from ..losses import Loss
from ..responses import events as ev
from ..responses.items import CustomToolCall, FunctionCall
from ..responses.request import items_of
from ..tools.forms import DoesNotFit
from ..unknown import given
from ..vendors import models
from .generate import complete_text, send_call
from .options import with_time_left
from .partial import PartialJSON, json_in
from .reply import CallInfo, Reply, sum_calls
from .stream import AsyncStream, Stream
from .structured import Output, Way, as_message, corrected

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from types import TracebackType

    from ..responses.events import AnyEvent
    from ..responses.items import AnyItem
    from ..responses.request import Request
    from .call import Caller, PreparedCall
    from .loss_reports import CallSite
    from .options import Input
    from .target import Target

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
E = TypeVar("E")


async def generate(caller: Caller, input: Input | None, options: dict[str, Any], site: CallSite, form: Any) -> Reply:
    """The reply with a valid value in `parsed`, or with calls of the caller's tools, which come first.

    Raises an `OutputError` where there is none after all re-prompts.
    """
    if options.get("background"):
        raise ConfigError("typed output waits for the answer", hint="poll, and read the text of the reply")
    if caller.fallback is not None:
        return await caller.fallback.call(
            caller, input, options, lambda one, how: generate(one, input, how, site, form)
        )
    output: Output[Any] = Output(form)
    plain = caller.prepare(input, options)
    way = choose_way(output, plain)
    prepared, settings, calls, notes = shaped(plain, way), plain.settings, list[CallInfo](), list[Loss]()
    began = monotonic()
    while True:
        sent = prepared.request
        left = with_time_left(settings, began) if calls else settings
        found = await send_call(caller, prepared._replace(settings=left), site)
        calls.append(found.info)
        if found.interrupted:
            return found
        received = found.output
        vars(found)["info"] = replace(sum_calls(calls), losses=[*calls[-1].losses, *notes])
        try:
            if not read_value(output, way, found):
                # The conversation continues from the calls, so the earlier items are included.
                found.output[:0] = _repair_messages(way.request, sent)
            return found
        except SchemaMismatchError as problem:
            if (forget := vars(found).get("forget")) is not None:  # a cached answer that is invalid every time
                await caller.transport.waiter.in_thread(forget)
            if len(calls) > settings.max_repairs:
                raise
            notes.append(Loss("output_text", f"re-prompted: {problem.message}", "changed"))
            prepared = prepared._replace(request=corrected(sent, received, way.tool, problem.problems))


def _repair_messages(first: Request, last: Request) -> list[AnyItem]:
    """The messages between the first and the last request of one answer: invalid answers and re-prompts."""
    items = last.input if isinstance(last.input, list) and last is not first else []
    return items if given(last.conversation) else items[len(items_of(first)) :]


async def generate_json(caller: Caller, input: Input | None, options: dict[str, Any], site: CallSite, form: Any) -> Any:
    """The value alone. Raises where the model calls a tool instead."""
    return require_value(await generate(caller, input, options, site, form))


def require_value(found: Reply) -> Any:
    """The value in a reply. Raises where there is none."""
    complete_text(found)
    if has_calls(found):
        names = ", ".join(call.name for call in found.function_calls)
        raise OutputError(
            f"the model calls {names} first", partial=found, hint="generate(..., output=...) returns the calls"
        )
    return found.parsed


def has_calls(found: Reply) -> bool:
    """Whether the model calls a tool of the caller."""
    return any(isinstance(item, FunctionCall | CustomToolCall) for item in found.output)


def choose_way(output: Output[Any], prepared: PreparedCall) -> Way:
    """The first strategy that the model and the wire support. Raises `CapabilityError` where the caller set another."""
    target, request, settings = prepared.target, prepared.request, prepared.settings
    strict = getattr(target.dialect, "strict_schemas", False)
    *ways, last = output.ways(request, settings.strategy, strict=strict)
    wire = target.endpoint.wire
    # The items were validated before, and are checked only where the strategy adds some.
    short = replace(request, input="?")
    before = {problem.path for problem in models.check(short, target.known, wire)}

    def request_for(way: Way) -> Request:
        return replace(way.request, input="?") if way.request.input is request.input else way.request

    def problems(way: Way) -> list[models.Problem]:
        return [one for one in models.check(request_for(way), target.known, wire) if one.path not in before]

    way = next((way for way in ways if not problems(way) and _is_expressible(way, request_for(way), target)), last)
    if settings.invalid_options != "send" and (found := problems(way)):
        raise models.capability_error(found, model=target.model, vendor=target.vendor)
    return way


def _is_expressible(way: Way, request: Request, target: Target) -> bool:
    """Whether the wire can encode the essential part of the request."""
    _, lost = target.wire.encode_request(request, dialect=target.dialect)
    return not any(
        loss.kind == "refused"
        or (loss.path == "text.format" and loss.kind == "emulated")
        or (loss.path == "tool_choice" and way.tool is not None)
        for loss in lost
    )


def shaped(plain: PreparedCall, way: Way) -> PreparedCall:
    """The call that requests the value by this strategy. Its losses are not reported: the answer is validated."""
    own = "text.format", "tool_choice", f"tools[{len(way.request.tools or ()) - 1}]"
    paths = own[:1] if way.tool is None else own

    def recovers(_: Request, loss: Loss) -> bool:
        return loss.path.startswith(paths)

    return plain._replace(request=way.request, lost=[*plain.lost, *way.lost], recovers=recovers)


def read_value(output: Output[Any], way: Way, found: Reply) -> bool:
    """Set the value in a reply as its `parsed`; false where the model calls a tool of the caller first.

    Raises an `OutputError` for an answer without a valid value.
    """
    calls = [call for call in found.function_calls if call.name == way.tool]
    if calls and way.tool is not None:
        found.output = as_message(found.output, way.tool)
    text = complete_text(found, calls[0].arguments if calls else None)
    if has_calls(found):
        return False
    try:
        value, notes = output.value(text)
    except DoesNotFit as problem:
        raise mismatch_error(problem, text, found) from None
    known = found.info
    vars(found)["info"] = replace(known, parsed=value, losses=[*known.losses, *notes])
    return True


def mismatch_error(problem: DoesNotFit, text: str, found: Reply) -> SchemaMismatchError:
    """The error for an invalid answer."""
    known = found.info
    return SchemaMismatchError(
        f"the answer does not match: {problem}",
        raw=text,
        problems=problem.problems,
        vendor=known.metadata["provider"],
        model=known.metadata["model"],
        attempts=known.attempts,
        partial=found,
    )


# --- streams --------------------------------------------------------------------------------------------------------


class _JSONStreaming(Generic[T_co]):
    """The shared part of `JSONStream` and `AsyncJSONStream`."""

    _stream: ClassVar[type[Stream] | type[AsyncStream]]
    _inner: Any

    def __init__(self, caller: Caller, input: Input | None, options: dict[str, Any], site: CallSite, form: Any) -> None:
        self._output: Output[T_co] = Output(form)
        self._way: Way | None = None
        self._partial = PartialJSON()
        self._output_index: int | None = None  # the item of the output that holds the answer
        self._ready: list[Any] = []
        self._reply: Reply | None = None  # the whole reply, whose value was read
        self._inner = self._stream(caller, input, options, site, self._shape)

    def __repr__(self) -> str:
        made = vars(self).get("_inner")
        inner = repr(made).partition(" ")[2] if made is not None else "of a request that was refused>"
        return f"<{type(self).__name__} {inner.replace('for events or over .text', 'for the value so far')}"

    @property
    def value(self) -> T_co:
        """The validated value. Raises an `OutputError` where the answer is invalid, and `ConfigError` before the stream's end."""
        return cast("T_co", require_value(self._finished()))

    @property
    def response(self) -> Reply:
        """The reply from the events so far; at the end with the value in `parsed`."""
        found: Reply = self._inner.response
        return found

    def _shape(self, plain: PreparedCall) -> PreparedCall:
        """The call of the stream."""
        self._way = choose_way(self._output, plain)
        return shaped(plain, self._way)

    def _feed(self, event: AnyEvent) -> None:
        assert self._way is not None
        piece = ""
        match event:
            case ev.OutputItemAdded(item=FunctionCall(name=name)) if (
                name == self._way.tool and self._output_index is None
            ):
                self._output_index = event.output_index
            case ev.FunctionCallArgumentsDelta() if event.output_index == self._output_index:
                piece = event.delta
            case ev.OutputTextDelta() if self._way.tool is None:
                piece = event.delta
            case _:
                pass
        self._show(self._partial.feed(piece))

    def _show(self, snapshots: list[Any]) -> None:
        self._ready = [shown for snapshot in snapshots for shown in self._output.partial(snapshot)] or self._ready

    def _ended(self) -> bool:
        """Whether the stream has ended with nothing left to yield. Raises where the answer is invalid."""
        self._show(self._partial.close())
        if not self._ready:
            self._finished()
        return not self._ready

    def _finished(self) -> Reply:
        if self._reply is None:
            if not self._inner.ended and not self._inner.response.interrupted:
                raise ConfigError("read it after the end of the stream", hint="iterate to its end first")
            assert self._way is not None
            found = self.response
            read_value(self._output, self._way, found)
            self._reply = found
        return self._reply


class Elements(Generic[E]):
    """One iteration over the elements of a streamed list, with `for` or `async for`.

    An element that does not match is not yielded, nor are later ones: the validation of the whole answer decides, once.
    Raises `ConfigError` where the answer is no list.
    """

    def __init__(
        self,
        output: Output[Any],
        partial: PartialJSON,
        events: Any,
        feed: Callable[[AnyEvent], None],
        finished: Callable[[], Reply],
    ) -> None:
        self._output, self._partial, self._events = output, partial, events
        self._feed, self._finished = feed, finished
        if not output.is_list:
            hint = "iterate over the stream itself for snapshots of any other type"
            raise ConfigError("elements() needs a list: list[T], Sequence[T] or tuple[T, ...]", hint=hint)
        self._count = 0
        self._unfit = False
        self._value: Sequence[Any] | None = None  # the validated list, at the end of the answer

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> E:
        while not (found := self._complete()) and self._value is None:
            self._read(next(self._events, None))
        if not found:
            raise StopIteration
        return found[0]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        while not (found := self._complete()) and self._value is None:
            self._read(await anext(self._events, None))
        if not found:
            raise StopAsyncIteration
        return found[0]

    def _complete(self) -> list[E]:
        """The next complete element: a list of none or one."""
        found: list[Any] = []
        if self._value is not None:
            found = [*self._value[self._count : self._count + 1]]
        elif not self._unfit:
            entries = self._output.entries(self._partial.root)
            try:
                if self._partial.complete(entries) > self._count:
                    found = [self._output.entry(entries[self._count])]
            except DoesNotFit:
                self._unfit = True
        self._count += len(found)
        return found

    def _read(self, event: AnyEvent | None) -> None:
        """Read an event, or the end of the answer. Raises where the elements that were yielded are not of its value."""
        if event is not None:
            self._feed(event)
            return
        reply = self._finished()
        self._value = require_value(reply)
        yielded = self._output.entries(self._partial.root)[: self._count]
        if yielded and yielded != self._output.entries(json_in(reply.output_text).value)[: self._count]:
            problem = DoesNotFit(["the elements that were handed out are not those of the answer"])
            raise mismatch_error(problem, reply.output_text, reply)


class JSONStream(_JSONStreaming[T_co]):
    """Streaming of typed output. Use it in a `with`.

    Iterate over it for snapshots of the value so far (plain JSON data; snapshots share what is complete, so do not modify
    them), or over `elements()` for the complete elements of a list. Then read `value`, which is validated at the end. An
    `OutputError` is raised where it does not match the type; the model is not re-prompted.
    """

    _stream = Stream
    _inner: Stream

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._inner.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        while not self._ready:
            try:
                self._feed(next(self._inner))
            except StopIteration:
                if self._ended():
                    raise
        return self._ready.pop()

    def elements(self: JSONStream[Sequence[E]]) -> Iterator[E]:
        """Yields the elements of a `list[T]` (or `Sequence[T]`, `tuple[T, ...]`), each as a `T` as soon as it is complete.

        Together they are the elements of `value`. After an element that does not match, none follows, and the end of the
        answer raises `SchemaMismatchError`. Raises `ConfigError` at once where the type is no such list.
        """
        return Elements(self._output, self._partial, self._inner, self._feed, self._finished)

    def close(self) -> None:
        """Close the stream and its connection."""
        self._inner.close()


class AsyncJSONStream(_JSONStreaming[T_co]):
    """`JSONStream` for async callers: `async with`, `async for`, and `aclose`."""

    _stream = AsyncStream
    _inner: AsyncStream

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while not self._ready:
            try:
                self._feed(await self._inner.__anext__())
            except StopAsyncIteration:
                if self._ended():
                    raise
        return self._ready.pop()

    def elements(self: AsyncJSONStream[Sequence[E]]) -> AsyncIterator[E]:
        """`JSONStream.elements()` for `async for`."""
        return Elements(self._output, self._partial, self._inner, self._feed, self._finished)

    async def aclose(self) -> None:
        """Close the stream and its connection."""
        await self._inner.aclose()
