"""Runs of the tool loop for clients: makes a `Run` from a request and its tools; its model calls use the client.

Before changing this file, know that a run's state is stored in files: keys, headers and tools, which may hold secrets,
are passed again in every process and are not part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict
from uuid import uuid4

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ..errors import ConfigError
from ..loop import STATE, Limits, RunState
from ..loop.engine import Engine
from ..loop.tasks import AsyncRun, TaskShell
from ..loop.threads import Run, ThreadShell
from ..responses.items import CustomToolCallOutput, FunctionCallOutput
from ..responses.request import Request, StreamOptions, items_of
from ..sync import drive
from ..tools import Toolbox
from ..tools.context import DEPS_HINT
from ..transport import Timeouts
from ..unknown import convert, given
from . import endpoints
from .generate import generate
from .history import History
from .hooks import hooks_of
from .inputs import read_request
from .loss_reports import report_losses
from .options import SETTINGS, Fields, RequestSettings, TurnFields, as_list, check_names, wrap_secrets
from .reply import COUNTS, CallInfo, Reply, metadata, reply, sum_calls
from .stream import AsyncStream, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..conversation.conversation import Conversation
    from ..conversation.limits import HistoryLimits, Window
    from ..conversation.store import ConversationStore
    from ..loop.engine import Approver, EventHook, Shell
    from ..losses import Loss
    from ..responses.items import AnyItem
    from ..responses.response import Response
    from ..tools import ToolExecutor
    from ..wires.foreign import Origins
    from .call import Caller
    from .generator import PromptContext
    from .inputs import Receiver
    from .loss_reports import CallSite
    from .options import Input

    Offers = Iterable[Any] | Callable[..., Any] | ToolExecutor | None
    """The tools of a run: functions, `@tool`s, executors and definitions, several or one; `None` for none."""
    Indexing = Callable[[Engine, Request], Callable[[str], str]]
    Past = tuple[Sequence[AnyItem], Sequence[AnyItem]]
    """The items before the input: those that a chat sends with every turn, and the conversation so far."""


class LoopOptions(TypedDict, total=False):
    """The options of a run beyond those of its requests."""

    on_event: EventHook | Iterable[EventHook] | None
    """Called with every event of the run (`llm_rest.loop.events`)."""
    approve: Approver | None
    """Called with each call that needs approval. Returns `True`, `False`, or `None` to stop the run and decide later."""
    executor: ToolExecutor | None
    """Runs the tools that are given by name or as a definition."""
    max_iterations: int
    """The maximum number of model calls of the run, by default 10. Raises `MaxIterationsError` beyond it."""
    tool_timeout: float | None
    """Seconds for a tool without a `timeout` of its own, by default 30; `None` is no limit."""
    max_tool_threads: int
    """The maximum number of concurrent sync tools, and as many nonblocking ones, by default 32. Further calls wait."""
    timeout: float | Timeouts | None
    """Seconds for the whole run (no limit when not given), or the `Timeouts` of each of its model calls."""
    output: Any
    """A type, or a JSON Schema: the reply's `parsed` is a value of it. Answers are not streamed then."""
    use_previous_response_id: bool
    """Whether the vendor stores the conversation (`store`, `previous_response_id`) and requests hold only new items."""
    limits: HistoryLimits | Window | None
    """History limits: how much of the conversation each request holds; the run itself keeps all of it."""
    deps: Any
    """An object of the program, available to tools as the `deps` of a `ToolContext`. It is not saved with a run."""
    state: RunState | dict[str, Any] | bytes | str | None
    """The saved state of an earlier run to resume, as an object or JSON (text or data); `model=` selects another model."""


class ChatOptions(TurnFields, RequestSettings, LoopOptions, total=False):
    """The options of a turn of a chat: the fields of a request, the settings of its calls, and the options of the run."""

    stream_options: StreamOptions | Mapping[str, Any] | None
    """Options of the stream: `{"include_obfuscation": False}`."""


class NewChat(ChatOptions, total=False):
    """The options of a chat: its own, and the defaults of every turn."""

    system: str | None
    """The system prompt."""
    tools: Offers
    """The tools that every turn runs."""
    conversation: Conversation | str | None
    """A conversation to continue, or its id in `store`."""
    store: ConversationStore | None
    """The store that every turn is written to."""
    context: PromptContext | None
    """Context that is sent before the history."""
    keep_partial: bool
    """Whether failed or cancelled turns are kept."""


class RunOptions(Fields, ChatOptions, total=False):
    """The fields of a request, the settings of its calls, and the options of the run."""


_LOOP = frozenset(LoopOptions.__annotations__)
_LIMITS = frozenset(Limits.__struct_fields__)


def run_of(
    caller: Caller,
    input: Input | None,
    tools: Offers,
    options: dict[str, Any],
    site: CallSite,
    past: Past = ((), ()),
) -> Run[Reply]:
    """A run that has not started, with the model of this client. Raises `ConfigError` for invalid arguments."""
    calls = ModelCalls(caller, site, past)
    engine = calls.engine(ThreadShell(), lambda request: drive(calls.answer(request)), Stream, input, tools, options)
    return Run(engine, calls.final_reply)


def async_run_of(
    caller: Caller,
    input: Input | None,
    tools: Offers,
    options: dict[str, Any],
    site: CallSite,
    past: Past = ((), ()),
) -> AsyncRun[Reply]:
    """A run for async callers that has not started."""
    calls = ModelCalls(caller, site, past)
    engine = calls.engine(TaskShell(), calls.answer, AsyncStream, input, tools, options)
    return AsyncRun(engine, calls.final_reply)


def _state(
    input: Input | None, fields: dict[str, Any], how: dict[str, Any], receiver: Receiver, past: Past
) -> tuple[RunState, list[Loss], Indexing]:
    limits = {name: how[name] for name in _LIMITS & how.keys()}
    saved = how.get("state")
    if saved is not None:
        if input is not None or fields:
            raise ConfigError(
                "state= brings its own input and options",
                hint="give state= or an input; with state= only model= may change",
            )
        if isinstance(saved, dict):  # JSON from a database column
            saved = msgspec.json.encode(saved)
        state = STATE.decode(saved) if isinstance(saved, bytes | str) else saved
        if not isinstance(state, RunState):
            raise ConfigError(f"state= takes a RunState or its JSON, not a {type(state).__name__}")
        return replace(state, limits=_limits(state.limits, limits)), [], partial(_indexed, 0, range(0), None)
    request, lost, origins = read_request(input, fields, receiver)
    before = len(past[0]) + len(past[1])
    items = [*past[0], *past[1], *items_of(request)]
    if limits.get("use_previous_response_id") and request.store is None:
        request = replace(request, store=True)
    request = replace(request, input=None, tools=None)
    state = RunState(id=f"run_{uuid4().hex[:12]}", request=request, items=items, limits=_limits(Limits(), limits))
    return state, lost, partial(_indexed, len(past[0]), range(before, len(items)), origins)


_ITEM = re.compile(r"input\[(\d+)\]")


def _indexed(
    context: int, given: range, origins: Origins | None, run: Engine, request: Request
) -> Callable[[str], str]:
    """Converts a path in a request of the run to one in the caller's input.

    `input[i]` is in the input that was given, `items[i]` in the items of the run or of a chat's conversation, and `context[i]` in
    the context of a chat.
    """
    sent: Any = request.input
    places: dict[int, int] = {}

    def indexed(path: str) -> str:
        found = _ITEM.match(path)
        if found is None or int(found[1]) >= len(sent):
            return path
        if not places:
            places.update((id(item), i) for i, item in enumerate(run.state.items))
        i, rest = places.get(id(sent[int(found[1])])), path[found.end() :]
        if i is None:
            return "compacted.items"  # the single item that is sent instead of several
        if i not in given:
            return f"context[{i}]{rest}" if i < context else f"items[{i - context}]{rest}"
        path = f"input[{i - given.start}]{rest}"
        return path if origins is None else origins.path(path)

    return indexed


def _limits(known: Limits, given: dict[str, Any]) -> Limits:
    try:
        return convert({**msgspec.structs.asdict(known), **given}, Limits)
    except msgspec.ValidationError as problem:
        what, _, name = str(problem).partition(" - at `$.")
        raise ConfigError(f"{name.rstrip('`')}: {what}") from None


class ModelCalls:
    """The model calls of a run in this process."""

    def __init__(self, caller: Caller, site: CallSite, past: Past) -> None:
        self._client, self._caller = caller, caller.scoped()
        self._history = self._caller.history = caller.history or History()
        self._caller.recovers = _is_failure
        self._site = site
        self._past = past
        self._lost: list[Loss] = []
        self._settings: dict[str, Any] = {}
        self._form: Any = None
        self._window: Window | None = None

    def engine(
        self,
        shell: Shell,
        answer: Callable[[Request], Any],
        stream: type[Stream] | type[AsyncStream],
        input: Input | None,
        tools: Offers,
        options: dict[str, Any],
    ) -> Callable[[Any], Engine]:
        """Makes the engine of the run, once the run exists."""
        wrap_secrets(options)
        how = {name: options.pop(name) for name in _LOOP & options.keys()}
        if isinstance(how.get("timeout"), Timeouts):
            options["timeout"] = how.pop("timeout")
        check_names(options, stream=True)
        self._form = how.get("output")
        if (limits := how.get("limits")) is not None:
            from ..conversation.limits import window_of  # not needed by most runs

            self._window = window_of(limits)
        self._settings = {name: options.pop(name) for name in SETTINGS & options.keys()}
        given_request = input if isinstance(input, Request) else Request()
        defaults = self._caller.defaults
        # Tools are added to the run now; it may remove them later.
        self._caller.defaults = {
            name: value for name, value in defaults.items() if name not in ("tools", "tool_choice")
        }
        executor = how.get("executor")
        if tools is None:  # not given; an empty list means none
            tools = given_request.tools if given(given_request.tools) else defaults.get("tools") or executor
        toolbox = Toolbox(as_list(tools), executor)
        if how.get("deps") is None and (needing := toolbox.needs_deps):
            raise ConfigError(f"the tool {needing[0]!r} needs deps, and this run has none", hint=DEPS_HINT)
        ours = {} if how.get("state") is not None else defaults
        repairs = self._settings.get("max_repairs", ours.get("max_repairs"))
        if repairs is not None:
            how["max_repairs"] = repairs
        if ours.get("tool_choice") is not None and not given(given_request.tool_choice):
            options.setdefault("tool_choice", ours["tool_choice"])
        if how.get("approve") is not None and not callable(how["approve"]):
            raise ConfigError("approve= takes a function of a call that returns True, False or None")
        model = options.pop("model", None) if how.get("state") is not None else None
        chosen = {"model": options.get("model") or given_request.model or defaults.get("model")}
        state, lost, indexing = _state(input, options, how, lambda: self._caller.destination(chosen), self._past)
        self._lost = lost
        known = self._history.known_answered(state.items)
        if lost:
            target, settings = self._caller.resolve({**self._settings, **chosen})
            report_losses(lost, settings.on_loss, self._site, who=target.vendor)
        if model is not None:
            state = self._with_model(state, model)
        if state.limits.use_previous_response_id:
            self._check_chaining(state.request)
            self._caller = self._caller.single({"model": state.request.model})
        telemetry, hooks = self._caller.telemetry, hooks_of(how.get("on_event"))
        tracing = None
        if telemetry is not None and telemetry.is_active():
            tracing = telemetry.trace_run(self._caller, state, toolbox)
        make = partial(
            Engine,
            shell,
            state,
            toolbox,
            answer,
            partial(self.stream, stream) if self._form is None else None,
            hooks if tracing is None else (tracing.on_event, *hooks),
            how.get("approve"),
            self._caller.cancel,
            deps=UNSET if how.get("deps") is None else how["deps"],
        )

        def made(run: Any) -> Engine:
            engine = make(run)
            engine.turn.settled, engine.scope = known, None if tracing is None else tracing.scope
            self._client.ends_with_cancel(engine)
            self._caller.indexing, self._caller.run_id = partial(indexing, engine), state.id
            return engine

        return made

    def _with_model(self, state: RunState, model: str) -> RunState:
        """The saved run for another model. Raises `ConfigError` where the conversation is stored at another vendor."""
        before, after = (
            self._caller.resolve({**self._settings, "model": name or None})[0] for name in (state.request.model, model)
        )
        if state.limits.use_previous_response_id and state.response is not None and before.vendor != after.vendor:
            hint = "with use_previous_response_id=False the whole conversation is sent"
            raise ConfigError(f"model={model!r}: the conversation of this run is stored at {before.vendor}", hint=hint)
        return replace(state, request=replace(state.request, model=model))

    def _check_chaining(self, request: Request) -> None:
        """Raises `ConfigError` for a wire without `previous_response_id`, before tools have run."""
        target, _ = self._caller.resolve({**self._settings, "model": request.model or None})
        probe = replace(request, previous_response_id="resp", input="?")
        _, lost = target.wire.encode_request(probe, dialect=target.dialect)
        for loss in lost:
            if loss.path == "previous_response_id" and loss.kind == "refused":
                raise ConfigError(
                    f"use_previous_response_id=True: {loss.what}",
                    hint="without it, every request holds the conversation",
                )

    async def answer(self, request: Request) -> Reply:
        """The model's reply; a background response is polled."""
        if self._window is None:
            return await self._answer(request)
        return self._window.received(await self._window.ask(request, self, self._answer))

    async def _answer(self, request: Request) -> Reply:
        found = await generate(self._caller, request, {**self._settings, "output": self._form}, self._site)
        if found.status in endpoints.UNFINISHED:
            found = await endpoints.poll(self._caller, found, {**self._settings}, self._site, 2.0, None)
        return found

    async def send(self, request: Request) -> Reply:
        """The reply to one request."""
        return await generate(self._caller, request, {**self._settings}, self._site)

    async def count(self, request: Request) -> int:
        """The vendor's token count of a request."""
        return await endpoints.count_tokens(self._caller, request, {**self._settings}, self._site)

    async def compact(self, request: Request) -> list[AnyItem]:
        """The vendor's compaction of the conversation in a request, to be sent instead of it."""
        return (await endpoints.compact(self._caller, request, {**self._settings}, self._site)).output

    def stream(self, kind: type[Stream] | type[AsyncStream], request: Request) -> Any:
        """The model's reply as a stream."""
        made = partial(kind, self._caller, options={**self._settings}, site=self._site)
        return made(request) if self._window is None else _LimitedStream(self._window, self, made, request)

    def final_reply(self, state: RunState, answers: list[Response]) -> Reply:
        """The last answer as a reply with the record of the whole run in this process."""
        response = state.response
        if response is None:
            raise ConfigError("the model has not answered yet", hint="result() waits for it")
        made = [one.info for one in answers if isinstance(one, Reply)]
        if made:
            known = sum_calls(made)
        else:
            target, _ = self._caller.resolve({**self._settings, "model": state.request.model or None})
            named = metadata(response, vendor=target.vendor, model=target.model, seconds=0)
            known = CallInfo(metadata=named)
        # The state also covers other processes; the calls of this one include re-prompts of typed output.
        counted = {
            name: str(max(int(known.metadata[name]), getattr(state.totals, name)))
            for name in (*COUNTS, "api_calls", "tool_rounds")
        }
        took = str(round(state.totals.seconds * 1000))
        losses = [*dict.fromkeys([*self._lost, *(loss for one in made for loss in one.losses)])]
        named = {**known.metadata, **counted, "latency_ms": took}
        summed = replace(known, losses=losses, duration=state.totals.seconds, metadata=named, cost=state.totals.cost)
        return reply(replace(response), summed)


class _LimitedStream:
    """A stream whose request is shortened by history limits when it is opened, which may make further calls."""

    def __init__(
        self, window: Window, calls: ModelCalls, made: Callable[..., Stream | AsyncStream], request: Request
    ) -> None:
        self._window, self._send, self._made, self._request = window, calls, made, request
        self._stream: Any = None

    async def _open(self) -> Any:
        async def send(request: Request) -> Any:
            stream = self._made(request)
            return stream.__enter__() if isinstance(stream, Stream) else await stream.__aenter__()

        self._stream = await self._window.ask(self._request, self._send, send)
        self._stream.after(self._window.received)
        return self._stream

    def __enter__(self) -> Any:
        return drive(self._open())

    def __exit__(self, *failure: Any) -> None:
        self._stream.__exit__(*failure)

    async def __aenter__(self) -> Any:
        return await self._open()

    async def __aexit__(self, *failure: Any) -> None:
        await self._stream.__aexit__(*failure)


def _is_failure(request: Request, loss: Loss) -> bool:
    """Whether it is of a failed call: its output has the error as text, so that a wire without a mark for it loses nothing."""
    found = _ITEM.match(loss.path)
    items: list[Any] = items_of(request)[int(found[1]) :] if found else []
    call_id = getattr(items[0], "call_id", None) if items else None
    return any(isinstance(one, _MARKED) and one.call_id == call_id and one.is_error is True for one in items)


_MARKED = (FunctionCallOutput, CustomToolCallOutput)
