"""A call up to its request: options -> settings and target -> `PreparedCall` -> HTTP request -> `send_with_retries`.

`Caller` is shared by the sync and async clients: the sync client drives each coroutine to its end at once. Answers are
processed in `generate.py` and `stream.py`. Before changing this file, know that errors are raised where no local
variable holds a secret in the clear: keys are wrapped before they get here and unwrapped in the transport only.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from msgspec.structs import replace

from ..errors import APITimeoutError, CallCancelledError, LLMError, RequestTooLargeError
from ..responses.request import Request
from ..transport import WHOLE, HTTPAnswer, Timeouts, limit, total_of
from ..transport.deadlines import limit_text
from ..transport.retry import RetryBudget
from ..vendors import models
from ..vendors.auth import Secret, Signed
from .answer import ReceivedAnswer, with_context
from .hooks import active, ended_by, watched
from .inputs import read_request, to_request
from .loss_reports import report_losses
from .options import FIELDS, SETTINGS, Settings, check_names, settings_of, wrap_secrets
from .send import Accept, Exchange, send_with_retries
from .target import DEFAULT_HEADERS, build_request, with_headers

if TYPE_CHECKING:
    from ..losses import Loss
    from ..policy.fallback import Chain, Trials
    from ..telemetry import Telemetry
    from ..transport import Call, HTTPRequest
    from ..transport.exchange import Incoming, Transport
    from ..wires import Route
    from .history import History
    from .hooks import Operation, WatchedCall, Watcher
    from .loss_reports import CallSite
    from .options import Input
    from .send import RunningAttempt
    from .target import OutgoingRequest, Target, Targets


T = TypeVar("T")
Losses = Callable[[], "list[Loss]"]
"""Returns the losses of a request, with paths in the caller's input; computed on each access."""
Recovers = Callable[[Request, "Loss"], bool]
"""Whether the caller gets the value back that a loss of this request is about: it is recorded and not reported."""


class PreparedCall(NamedTuple):
    """A validated call, before its request is encoded."""

    target: Target
    """The vendor, wire and model."""
    settings: Settings
    """How the call is made: timeouts, retries, losses."""
    request: Request
    """The request in the Responses format."""
    lost: list[Loss]
    """The losses of preparing the call."""
    indexed: Callable[[str], str] = str
    """Converts a path in the request to one in the caller's input."""
    history: History | None = None
    """The conversation that the call continues."""
    recovers: Recovers | None = None
    """Finds the losses that are not reported; `None`: all are."""

    def located(self, losses: list[Loss]) -> list[Loss]:
        """Losses of the request with paths in the caller's input."""
        return losses and [replace(loss, path=self.indexed(loss.path)) for loss in losses]

    def encode(self, site: CallSite, *, stream: bool = False) -> tuple[OutgoingRequest, Losses]:
        """The HTTP request, and its losses, which are reported by `on_loss`, each once in a conversation."""
        target, history, policy = self.target, self.history, self.settings.on_loss
        route = partial(target.wire.route, stream=True) if stream else target.wire.route
        prefix = None if history is None else history.encoded
        guard = None if target.guard is None else target.check
        outgoing, found = build_request(target.wire.encode_request, route, self.request, target.dialect, prefix, guard)
        new = found if history is None else history.unreported(found, (policy, target.vendor))
        if new or self.lost:
            reported = self._reported(self.lost) + self.located(self._reported(new))
            report_losses(reported, policy, site, who=target.vendor)
            if history is not None:
                history.reported(new)
        return outgoing, lambda: self.lost + self.located(found)

    def _reported(self, losses: list[Loss]) -> list[Loss]:
        recovers = self.recovers
        if recovers is None:
            return losses
        return [one for one in losses if one.kind == "refused" or not recovers(self.request, one)]


class Stoppable(Protocol):
    """An operation that `Caller.cancel` ends."""

    def stop(self) -> None: ...


class Caller:
    """The shared part of both clients. `waits`: whether a token provider may be async."""

    def __init__(
        self,
        transport: Transport,
        targets: Targets,
        *,
        waits: bool,
        defaults: dict[str, Any],
        watchers: tuple[Watcher, ...] = (),
        fallback: Chain | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.transport = transport
        self.targets = targets
        self.fallback = fallback
        """The models for calls, tried in order; `None` where there is one model."""
        self.trials: Trials | None = None
        """The attempts of the fallback that the calls belong to."""
        self._own: Mapping[str, Any] = {}  # the options of this model in a fallback
        self.watchers = watchers
        """Callbacks for the events of every call: event hooks, the log and telemetry."""
        self.telemetry = telemetry
        self.retry_budget = RetryBudget()
        self._in_flight: WeakValueDictionary[int, Stoppable] = WeakValueDictionary()
        self.indexing: Callable[[Request], Callable[[str], str]] | None = None
        """Returns `PreparedCall.indexed` for a request of a run; `None` outside of runs."""
        self.run_id: str | None = None
        """The id of the run that makes the calls; `None` outside of runs."""
        self.conversation_id: str | None = None
        """The id of the conversation that the calls continue; `None` without one."""
        self.history: History | None = None
        """The items of that conversation or run which were validated and encoded before; `None` outside of runs."""
        self.recovers: Recovers | None = None
        """`PreparedCall.recovers` for the requests of a run; `None` outside of runs."""
        self._largest: int | None = None  # the size of a request body in bytes
        self._above: Caller | None = None
        self._kept: dict[Any, Any] = {}  # shared by copies
        self._waits = waits
        self.defaults: dict[str, Any] = {}
        self._take(defaults)

    def limit_bodies(self, largest: int) -> None:
        """Send no request body of more than `largest` bytes; the call raises `RequestTooLargeError`."""
        self._largest = largest

    def with_options(self, options: dict[str, Any]) -> Caller:
        """The same caller, with these options as defaults of every call."""
        other = copy(self.single(options) if options.get("model") else self)
        other._take(options)
        return other

    def for_model(self, model: str, targets: Targets, options: Mapping[str, Any]) -> Caller:
        """The same caller for one model of a fallback, with that model's options."""
        other = copy(self)
        other.fallback, other.targets, other._own = None, targets, {**options, "model": model}
        other.settings = settings_of(other._merged({}))
        return other

    def single(self, options: Mapping[str, Any], input: object = None) -> Caller:
        """The caller for a single model of a fallback: the one in the options, or else the first."""
        if self.fallback is None:
            return self
        named = options.get("model") or (input.model if isinstance(input, Request) else None)
        return self.fallback.single(self, named or None)

    def _take(self, options: dict[str, Any]) -> None:
        wrap_secrets(options)
        check_names(options)
        merged = self._merged(options)
        to_request("checked", merged)
        if merged.get("model") is not None:
            self.targets.find(merged["model"])
        self.settings = settings_of(merged)
        self.defaults = merged
        self._own = {}

    def _merged(self, options: Mapping[str, Any]) -> dict[str, Any]:
        # An option of None counts as not given and overrides no default; but `retry=None` means no retries.
        own = {name: value for name, value in options.items() if value is not None or name == "retry"}
        merged = {**self.defaults, **self._own, **own}
        if merged.get("rate_limit") == "learn":
            merged["rate_limit"] = self._shared("learn")
        if merged.get("prices") is not None:
            merged["prices"] = self._shared(merged["prices"])
        if options.get("extra_headers") and self.defaults.get("extra_headers"):
            merged["extra_headers"] = with_headers(self.defaults["extra_headers"], options["extra_headers"])
        return merged

    def _shared(self, given: Any) -> Any:
        """Objects shared by this client and its copies: learned rate limits, and the prices in a file."""
        from ..policy.gate import made

        return made(given, self._kept)

    def resolve(self, options: dict[str, Any]) -> tuple[Target, Settings]:
        """The target and the settings of a call with these options."""
        wrap_secrets(options)
        check_names(options)
        caller = self.single(options)
        merged = caller._merged(options)
        return caller.targets.find(merged.get("model")), settings_of(merged)

    def prepare(self, input: Input | None, options: dict[str, Any], *, stream: bool = False) -> PreparedCall:
        """The validated call (target, settings and request); pure, without I/O.

        Only new items of the `history` are validated.
        """
        if self.fallback is not None:
            return self.single(options, input).prepare(input, options, stream=stream)
        wrap_secrets(options)
        check_names(options, stream=stream)
        if isinstance(input, Request):
            # Fields of the request itself override the defaults.
            own = {name: getattr(input, name) for name in FIELDS if getattr(input, name) is not None}
            options = {**own, **options}
        merged = self._merged(options)
        settings = self.settings if SETTINGS.isdisjoint(options) else settings_of(merged)
        whole, allowed, history = input, 0, self.history
        given = input.input if isinstance(input, Request) else None
        known = history.known(given) if history is not None and isinstance(given, list) else 0
        if known and isinstance(given, list):
            input = replace(cast("Request", input), input=given[known:])
        request, lost, origins = read_request(input, merged, lambda: self.destination(merged))
        indexed: Callable[[str], str] = str if origins is None else origins.path
        if self.indexing is not None and isinstance(whole, Request):
            indexed = self.indexing(whole)
        target = self.targets.find(request.model or None)
        if history is not None and isinstance(given, list) and isinstance(request.input, list):
            request.input = [*history.checked[:known], *request.input]
            history.keep(given, request.input, known)
            allowed = history.allowed(target.known)
        else:
            history = None
        more = request.stream_options if stream else None
        request = replace(request, model=target.model, stream=stream or None, stream_options=more)
        capabilities, wire = target.known, target.endpoint.wire
        problems = [] if settings.invalid_options == "send" else models.check(request, capabilities, wire, allowed)
        made = PreparedCall(target, settings, request, lost, indexed, history, self.recovers)
        if problems and settings.invalid_options == "raise":
            problems = [replace(problem, path=indexed(problem.path)) for problem in problems]
            raise models.capability_error(problems, model=target.model, vendor=target.vendor)
        if problems:
            request, dropped = models.without(request, problems)
            made = made._replace(request=request, lost=lost + made.located(dropped))
        elif history is not None and settings.invalid_options != "send":
            history.allow(target.known)
        return made

    def destination(self, options: Mapping[str, Any]) -> tuple[str, Any]:
        """The wire and the dialect of the target of a call with these options."""
        target = self.single(options).targets.find(options.get("model"))
        return target.endpoint.wire, target.dialect

    def call(self, watch: WatchedCall | None = None) -> Call:
        """A cancellable call: `cancel` ends it."""
        call = self.transport.call() if self._above is None else self._above.call()
        self._in_flight[id(call)] = call
        call.watch = watch
        return call

    def scoped(self) -> Caller:
        """The same caller with a cancellation scope of its own, nested in that of this one."""
        other = copy(self)
        other._above, other._in_flight = self, WeakValueDictionary()
        return other

    def ends_with_cancel(self, work: Stoppable) -> None:
        """Register an operation that `cancel` ends."""
        self._in_flight[id(work)] = work

    def cancel(self) -> None:
        """Cancel every call in flight."""
        for known in self._in_flight.valuerefs():
            call = known()
            if call is not None:
                call.stop()

    async def send(
        self,
        target: Target,
        settings: Settings,
        outgoing: OutgoingRequest,
        read: Callable[[ReceivedAnswer], T],
        call: Operation | Call | None,
    ) -> T:
        """The result of `read` for a successful answer. Raises an `LLMError` otherwise.

        `call` is the call that the request belongs to, or the operation of a new one; `None` is a call without watchers.
        """
        if isinstance(call, str):
            watch = watched(self, target, call)
            return await ended_by(watch, self.send(target, settings, outgoing, read, self.call(watch)))

        async def accept(answer: HTTPAnswer, trial: RunningAttempt) -> tuple[T, None]:
            found = read(ReceivedAnswer(answer, trial.secrets, trial.end(answer.status), trial.losses))
            if trial.passed is not None:
                result: Any = found
                trial.passed.close(result[0] if isinstance(result, tuple) else result, None)
            return found, None

        total = limit(settings.timeouts.total, WHOLE)
        return await self._send(call or self.call(), target, settings, outgoing, self.transport.send, accept, total)

    async def open(
        self,
        call: Call,
        target: Target,
        settings: Settings,
        outgoing: OutgoingRequest,
        begin: Callable[[Incoming, RunningAttempt], Awaitable[tuple[T, LLMError | None]]],
        exchange: Exchange[Any] | None = None,
    ) -> T:
        """The result of `begin` for the beginning of a successful answer. Raises an `LLMError` otherwise."""
        timeouts = settings.stream_timeouts
        if timeouts.first_byte is None:
            timeouts = replace(timeouts, first_byte=target.endpoint.vendor.first_byte)
        settings = settings._replace(timeouts=timeouts)
        total = limit(timeouts.total, None)
        return await self._send(call, target, settings, outgoing, exchange or self.transport.open, begin, total)

    async def _send(
        self,
        call: Call,
        target: Target,
        settings: Settings,
        outgoing: OutgoingRequest,
        exchange: Callable[[HTTPRequest, Timeouts], Awaitable[Any]],
        accept: Accept[T],
        total: float | None,
    ) -> T:
        """The result of `send_with_retries`, which can be cancelled. Raises `CallCancelledError` where `cancel` did that."""
        if self._largest is not None and len(outgoing.body) > self._largest:
            what = f"In the format of {target.vendor} the request has {len(outgoing.body):,} bytes, more than {self._largest:,}"
            raise with_context(RequestTooLargeError(f"{what} (the limit `body` of this server)."), target, ())
        try:
            with active(call.watch), call:
                return await send_with_retries(self, call, target, settings, outgoing, exchange, accept, total)
        except BaseException as problem:
            if not isinstance(problem, Exception) and call.trial is not None:
                call.trial.cancel()
            raise
        attempts = () if call.trial is None else call.trial.cancel()
        raise with_context(CallCancelledError("the call was cancelled"), target, attempts)

    async def headers(
        self, target: Target, settings: Settings, route: Route, refused: Signed | None, until: float | None
    ) -> Mapping[str, str | Secret]:
        """The headers of a request: fixed headers, credentials, the route's and the caller's.

        A token provider is called again to replace a `refused` token, until the time `until` at most.
        """
        found = await self._headers(target, settings, refused, until)
        if route.headers or settings.headers:
            found = with_headers({**found, **route.headers}, settings.headers)
        return found

    async def _headers(
        self, target: Target, settings: Settings, refused: Signed | None, until: float | None
    ) -> dict[str, str | Secret]:
        """The fixed headers and the credentials of a request."""
        credentials, account, token = target.credentials, settings.account, settings.user_token
        if account is None and token is None and not credentials.renewable:
            if target.headers is None:
                target.headers = {**DEFAULT_HEADERS, **credentials.headers()}
            return target.headers
        if not self._waits:
            return {**DEFAULT_HEADERS, **credentials.headers(account=account, user_token=token, refused=refused)}
        try:
            with self.transport.waiter.within(None if until is None else until - time.monotonic()):
                found = await credentials.headers_async(account=account, user_token=token, refused=refused)
                return {**DEFAULT_HEADERS, **found}
        except TimeoutError:
            if until is None or time.monotonic() < until:
                raise  # raised by the token provider itself
        limit = limit_text("total", total_of(settings.timeouts, WHOLE))
        what = f"no token from the token provider for {target.vendor} after {limit}; allow more time, or return a kept token"
        raise with_context(APITimeoutError(what), target, ())

    async def cached(
        self, prepared: PreparedCall, outgoing: OutgoingRequest
    ) -> tuple[bytes | None, list[bytes] | None]:
        """The key of a request in the cache, and its cached answer; `None` where it has none."""
        cache = prepared.settings.cache
        key = None if cache is None else cache.key(prepared.target, prepared.settings, prepared.request, outgoing)
        if cache is None or key is None:
            return None, None
        return key, await self.transport.waiter.in_thread(partial(cache.get, key))
