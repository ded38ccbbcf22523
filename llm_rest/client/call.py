"""One call, step by step: options -> Request -> checks -> encode -> HTTP request; HTTP answer -> Reply or error.

`Caller` is shared by the sync and async clients: every step is a function, and the sync client drives the coroutine that joins
them to its end at once. A loss that is `refused` always raises; `on_loss` decides about the others. Before changing this file,
know that errors are raised where no local variable holds a secret in the clear: keys are wrapped before they get here and
unwrapped in the transport only.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from msgspec.structs import replace

from ..errors import APITimeoutError, CallCancelledError, ConfigError, LLMError, LossError, RefusalError, TruncatedError
from ..losses import LossWarning
from ..responses.request import Request
from ..responses.response import Response, echo
from ..transport import WHOLE, HTTPAnswer, Timeouts, is_duration, limit, remaining, total_of
from ..transport.deadlines import limit_text
from ..transport.retry import RetryBudget, RetryPolicy, policy_of
from ..unknown import given
from ..vendors import models
from ..vendors.auth import Secret, Signed, checked_headers
from ..wires import long_wire
from .answer import FirstPart, ReceivedAnswer, decode_document, generation_error, partial_reply, with_context
from .content import hidden
from .hooks import active, ended_by, watched
from .options import FIELDS, GATES, SETTINGS, InvalidOptions, OnLoss, as_list, check_names, read_request, to_request
from .reply import CallRecord, Reply, reply
from .send import CANCELLED, Accept, Exchange, send_with_retries
from .target import DEFAULT_HEADERS, build_request, with_headers

if TYPE_CHECKING:
    from ..errors import Attempt
    from ..losses import Loss
    from ..policy.cache import AnswerCache
    from ..policy.fallback import Chain, Trials
    from ..policy.gate import Gates
    from ..policy.prices import Prices, Pricing
    from ..telemetry import Telemetry
    from ..transport import Call, HTTPRequest
    from ..transport.exchange import Incoming, Transport
    from ..wires import Route
    from ..wires.prefix import EncodedPrefix
    from .history import History
    from .hooks import Operation, WatchedCall, Watcher
    from .options import Input
    from .send import RunningAttempt
    from .structured import Strategy
    from .target import OutgoingRequest, Target, Targets


class CallSite:
    """The place in the caller's program that a warning points to. Holds no frame, so nothing is kept alive by it."""

    __slots__ = ("filename", "line", "names")

    def __init__(self, depth: int = 2) -> None:
        frame = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage] - the only way to a caller's line
        self.filename = frame.f_code.co_filename
        self.line = frame.f_lineno
        self.names: dict[str, Any] = frame.f_globals

    def __repr__(self) -> str:
        return f"<{self.filename}:{self.line}>"

    def warn(self, message: str) -> None:
        """Warn as if the caller's own line did: once per place and message, as the filters say."""
        registry = self.names.setdefault("__warningregistry__", {})
        module = self.names.get("__name__", "<unknown>")
        warnings.warn_explicit(message, LossWarning, self.filename, self.line, module, registry)


def report_losses(losses: list[Loss], policy: OnLoss, site: CallSite, *, who: str, reply: Any = None) -> None:
    """Handle losses by the `on_loss` policy. With a `reply` they are of the answer, not of the request."""
    refused = [loss for loss in losses if loss.kind == "refused"]
    if refused:
        raise LossError(f"{who} cannot take this request: {_listed(refused)}", losses=tuple(losses), vendor=who)
    reported = [loss for loss in losses if loss.kind != "withheld"]
    if not reported or policy == "ignore":
        return
    message = f"{who} does not get all of this request" if reply is None else f"not all of {who}'s answer came through"
    if policy == "raise":
        hint = 'on_loss="warn" or "ignore" carries on all the same'
        raise LossError(f"{message}: {_listed(reported)}", losses=tuple(losses), vendor=who, hint=hint, partial=reply)
    # Positions move from turn to turn; without them the same loss at the same line is reported once.
    distinct = dict.fromkeys(re.sub(r"\[\d+\]", "[…]", str(loss)) for loss in reported)
    site.warn(f"{message}: {'; '.join(distinct)}")


def _listed(losses: list[Loss]) -> str:
    return "; ".join(map(str, losses))


T = TypeVar("T")


class Settings(NamedTuple):
    """The settings of one call."""

    timeouts: Timeouts
    stream_timeouts: Timeouts
    retry: RetryPolicy
    on_loss: OnLoss
    invalid_options: InvalidOptions
    headers: Mapping[str, str | Secret]
    account: str | None
    user_token: Secret | None
    strategy: Strategy | None
    max_repairs: int
    indexed: Callable[[str], str] = str
    """Converts a path in the request to one in the caller's input."""
    prefix: EncodedPrefix | None = None
    """The encoded prefix of the conversation."""
    gates: Gates | None = None
    """The gates of its requests: rate limits and budgets."""
    cache: AnswerCache | None = None
    """The answer cache."""
    prices: Prices | None = None
    """The price table, where the vendor does not report costs."""

    def pricing(self, target: Target, request: Request | None) -> Pricing | None:
        """The prices of a target for a request; `None` where they are unknown."""
        if self.prices is None and not target.endpoint.vendor.reports_cost:
            return None
        from ..policy.prices import Pricing  # which most calls do not need

        return Pricing(self.prices, target, request)

    def located(self, losses: list[Loss]) -> list[Loss]:
        """Losses of the request with paths in the caller's input."""
        return losses and [replace(loss, path=self.indexed(loss.path)) for loss in losses]


def timeouts_of(value: object) -> Timeouts:
    """The value of `timeout=` as `Timeouts`: seconds are for the whole call."""
    if value is None:
        return Timeouts()
    if isinstance(value, Timeouts):
        return value
    if not isinstance(value, int | float) or not is_duration(value):
        hint = "such as timeout=30, or timeout=Timeouts(connect=5, total=60)"
        raise ConfigError(f"timeout is a positive number of seconds or Timeouts(...), not {value!r}", hint=hint)
    return Timeouts(connect=min(10.0, value), total=value)


def stream_timeouts_of(value: object) -> Timeouts:
    """The same for a stream: seconds are for each wait, not for the whole."""
    timeouts = timeouts_of(value)
    if not isinstance(value, int | float):
        return timeouts
    return Timeouts(connect=timeouts.connect, first_byte=value, read=value, stall=value)


def wrap_secrets(options: dict[str, Any]) -> None:
    """Wrap what is secret among the options, in place: tracebacks are recorded with the local variables of every frame."""
    if options.get("user_token") is not None:
        options["user_token"] = _secret(options.pop("user_token"))
    if options.get("extra_headers") is not None:
        more: Any = options["extra_headers"]
        if not isinstance(more, Mapping):
            raise ConfigError(f"extra_headers: expected names and values, got {type(more).__name__}")
        options["extra_headers"] = {name: _secret(value) for name, value in cast("Mapping[str, Any]", more).items()}
    if options.get("tools") is not None:
        options["tools"] = [hidden(tool) for tool in as_list(options["tools"])]


def _secret(value: Any) -> Any:
    return Secret(value) if isinstance(value, str) else value


def settings_of(options: Mapping[str, Any]) -> Settings:
    """The settings among the options of a call."""
    return Settings(
        timeouts=timeouts_of(options.get("timeout")),
        stream_timeouts=stream_timeouts_of(options.get("timeout")),
        retry=policy_of(options.get("retry")),
        on_loss=options.get("on_loss") or "warn",
        invalid_options=options.get("invalid_options") or "raise",
        headers=checked_headers(options["extra_headers"]) if options.get("extra_headers") else {},
        account=options.get("account"),
        user_token=options.get("user_token"),
        strategy=options.get("strategy"),
        max_repairs=1 if options.get("max_repairs") is None else options["max_repairs"],
        gates=None if GATES.isdisjoint(options) else gates_of(options),
        cache=None if options.get("cache") is None else cache_of(options["cache"]),
        prices=options.get("prices"),
    )


def gates_of(options: Mapping[str, Any]) -> Gates | None:
    """The gates that these options name."""
    if all(options.get(name) is None for name in GATES):
        return None
    from ..policy.gate import Gates  # which most calls do not need

    return Gates(options)


def cache_of(value: object) -> AnswerCache | None:
    """The value of `cache=`."""
    from ..policy.cache import cache_of  # which most calls do not need

    return cache_of(value)


Recovered = Callable[[], tuple[str, ...]]
"""Returns the paths of losses that the caller recovers."""
Shape = Callable[["Target", Settings, Request], tuple[Request, "list[Loss]", Recovered]]
"""Changes a request: returns it with its losses, and the paths of losses that the caller recovers."""


class PreparedCall(NamedTuple):
    """A validated call, before its request is encoded."""

    target: Target
    """The vendor, wire and model."""
    settings: Settings
    """How the call is made: timeouts, retries, losses."""
    request: Request
    """The request in the Responses format."""
    lost: list[Loss]
    """The losses of its preparation."""
    recovered: Recovered = tuple
    """The paths of losses that are recorded and not reported, because the caller gets their values back."""

    def encode(self, site: CallSite, *, stream: bool = False) -> tuple[OutgoingRequest, list[Loss]]:
        """The HTTP request, and all losses, which are reported by `on_loss`."""
        target, settings = self.target, self.settings
        route = partial(target.wire.route, stream=True) if stream else target.wire.route
        outgoing, more = build_request(target.wire.encode_request, route, self.request, target.dialect, settings.prefix)
        lost = self.lost + settings.located(more)
        if lost:
            report_losses(without_recovered(lost, self.recovered), settings.on_loss, site, who=target.vendor)
        return outgoing, lost


def without_recovered(lost: list[Loss], recovered: Recovered) -> list[Loss]:
    """The losses without those at the paths that the caller recovers. `refused` is never recovered."""
    paths = recovered()
    return [loss for loss in lost if loss.kind == "refused" or not loss.path.startswith(paths)]


def with_time_left(settings: Settings, started: float) -> Settings:
    """The settings with the remaining time for a whole answer that was requested at `started`."""
    timeouts = settings.timeouts
    return settings._replace(timeouts=remaining(timeouts, limit(timeouts.total, WHOLE), started))


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
        defaults: Mapping[str, Any],
        watchers: tuple[Watcher, ...] = (),
        fallback: Chain | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.transport = transport
        self.targets = targets
        self.fallback = fallback
        """The models that calls are tried with; `None` where there is one."""
        self.trials: Trials | None = None
        """The tries of a fallback that the calls are one of."""
        self._own: Mapping[str, Any] = {}  # the options of this model, in a fallback
        self.watchers = watchers
        """What gets the events of every call: event hooks."""
        self.telemetry = telemetry
        self.retry_budget = RetryBudget()
        self._in_flight: WeakValueDictionary[int, Stoppable] = WeakValueDictionary()
        self.indexing: Callable[[Request], Callable[[str], str]] | None = None
        """Gives `Settings.indexed` for a request of a run; `None` outside of runs."""
        self.run_id: str | None = None
        """Of the run that makes the calls; `None` outside of runs."""
        self.conversation_id: str | None = None
        """Of the conversation that the calls continue; `None` where it has none."""
        self._above: Caller | None = None
        self._kept: dict[Any, Any] = {}  # shared by copies
        self._waits = waits
        self.defaults: dict[str, Any] = {}
        self._take(defaults)

    def with_options(self, options: dict[str, Any]) -> Caller:
        """The same caller, with these options as defaults of every call."""
        wrap_secrets(options)
        check_names(options)
        other = copy(self if self.fallback is None or not options.get("model") else self.single(options))
        other._take(options)
        return other

    def for_model(self, model: str, targets: Targets, options: Mapping[str, Any]) -> Caller:
        """The same caller for one model of a fallback, with the options of that."""
        other = copy(self)
        other.fallback, other.targets, other._own = None, targets, {**options, "model": model}
        other.settings = settings_of(other._merged({}))
        return other

    def single(self, options: Mapping[str, Any], input: object = None) -> Caller:
        """The caller for one model alone where there is a fallback: the named one, or else the first."""
        if self.fallback is None:
            return self
        named = options.get("model") or (input.model if isinstance(input, Request) else None)
        return self.fallback.single(self, named or None)

    def _take(self, options: Mapping[str, Any]) -> None:
        options = {**options}
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
        # An option that is None is not given, so that it does not undo a default; but `retry=None` is no retries.
        said = {name: value for name, value in options.items() if value is not None or name == "retry"}
        merged = {**self.defaults, **self._own, **said}
        if merged.get("rate_limit") == "learn":
            merged["rate_limit"] = self._shared("learn")
        if merged.get("prices") is not None:
            merged["prices"] = self._shared(merged["prices"])
        if options.get("extra_headers") and self.defaults.get("extra_headers"):
            merged["extra_headers"] = with_headers(self.defaults["extra_headers"], options["extra_headers"])
        return merged

    def _shared(self, given: Any) -> Any:
        """What this client and those made of it share: the rate limit that they learn, and the prices in a file."""
        from ..policy.gate import made

        return made(given, self._kept)

    def resolve(self, options: dict[str, Any]) -> tuple[Target, Settings]:
        """The target and the settings of a call with these options."""
        wrap_secrets(options)
        check_names(options)
        caller = self.single(options)
        merged = caller._merged(options)
        return caller.targets.find(merged.get("model")), settings_of(merged)

    def prepare(
        self, input: Input | None, options: dict[str, Any], *, stream: bool = False, history: History | None = None
    ) -> tuple[Target, Settings, Request, list[Loss]]:
        """The first steps, which are pure: whom to ask, how, and what, once everything is checked.

        Of the items of a `history` only those are looked at that are new.
        """
        if self.fallback is not None:
            return self.single(options, input).prepare(input, options, stream=stream, history=history)
        wrap_secrets(options)
        check_names(options, stream=stream)
        if isinstance(input, Request):
            # What the request says is said by the call: it comes before the defaults.
            said = {name: getattr(input, name) for name in FIELDS if getattr(input, name) is not None}
            options = {**said, **options}
        merged = self._merged(options)
        settings = self.settings if SETTINGS.isdisjoint(options) else settings_of(merged)
        whole, allowed = input, 0
        given = input.input if isinstance(input, Request) else None
        known = history.known(given) if history is not None and isinstance(given, list) else 0
        if known and isinstance(given, list):
            input = replace(cast("Request", input), input=given[known:])
        request, lost, origins = read_request(input, merged, lambda: self.destination(merged))
        if self.indexing is not None and isinstance(whole, Request):
            settings = settings._replace(indexed=self.indexing(whole))
        elif origins is not None:
            settings = settings._replace(indexed=origins.path)
        target = self.targets.find(request.model or None)
        if history is not None and isinstance(given, list) and isinstance(request.input, list):
            request.input = [*history.checked[:known], *request.input]
            history.keep(given, request.input, known)
            settings, allowed = settings._replace(prefix=history.encoded), history.allowed(target.known)
        more = request.stream_options if stream else None
        request = replace(request, model=target.model, stream=stream or None, stream_options=more)
        capabilities, wire = target.known, target.endpoint.wire
        problems = [] if settings.invalid_options == "send" else models.check(request, capabilities, wire, allowed)
        if not problems:
            if history is not None and settings.invalid_options != "send":
                history.allow(target.known)
            return target, settings, request, lost
        if settings.invalid_options == "raise":
            problems = [replace(problem, path=settings.indexed(problem.path)) for problem in problems]
            raise models.capability_error(problems, model=target.model, vendor=target.vendor)
        request, dropped = models.without(request, problems)
        return target, settings, request, lost + settings.located(dropped)

    def destination(self, options: Mapping[str, Any]) -> tuple[str, Any]:
        """The wire and the dialect of the target of a call with these options."""
        target = self.single(options).targets.find(options.get("model"))
        return target.endpoint.wire, target.dialect

    def call(self, watch: WatchedCall | None = None) -> Call:
        """A call that `cancel` ends."""
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
        operation: Operation | WatchedCall | None,
    ) -> T:
        """The result of `read` for a successful answer. Raises an `LLMError` otherwise.

        `operation` names a call of its own, or is the watched call that this request belongs to.
        """
        if isinstance(operation, str):
            watch = watched(self, target, operation)
            return await ended_by(watch, self.send(target, settings, outgoing, read, watch))

        async def accept(answer: HTTPAnswer, trial: RunningAttempt) -> tuple[T, None]:
            found = read(ReceivedAnswer(answer, trial.secrets, trial.end(answer.status), trial.losses))
            if trial.passed is not None:
                result: Any = found
                trial.passed.close(result[0] if isinstance(result, tuple) else result, None)
            return found, None

        total = limit(settings.timeouts.total, WHOLE)
        return await self._send(self.call(operation), target, settings, outgoing, self.transport.send, accept, total)

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

        A token provider is called for a replacement of a `refused` token, at most `until` then.
        """
        found = await self._headers(target, settings, refused, until)
        if route.headers or settings.headers:
            found = with_headers({**found, **route.headers}, settings.headers)
        return found

    async def _headers(
        self, target: Target, settings: Settings, refused: Signed | None, until: float | None
    ) -> dict[str, str | Secret]:
        """The fixed headers and the credentials of a request."""
        send_with_retries, (account, token) = target.credentials, (settings.account, settings.user_token)
        if account is None and token is None and not send_with_retries.renewable:
            if target.headers is None:
                target.headers = {**DEFAULT_HEADERS, **send_with_retries.headers()}
            return target.headers
        if not self._waits:
            return {**DEFAULT_HEADERS, **send_with_retries.headers(account=account, user_token=token, refused=refused)}
        try:
            with self.transport.waiter.within(None if until is None else until - time.monotonic()):
                found = await send_with_retries.headers_async(account=account, user_token=token, refused=refused)
                return {**DEFAULT_HEADERS, **found}
        except TimeoutError:
            if until is None or time.monotonic() < until:
                raise  # the provider's own
        limit = limit_text("total", total_of(settings.timeouts, WHOLE))
        what = f"no token from the token provider for {target.vendor} after {limit}; allow more time, or return a kept token"
        raise with_context(APITimeoutError(what), target, ())

    def replied(
        self,
        target: Target,
        settings: Settings,
        sent: ReceivedAnswer,
        request: Request | None,
        lost: list[Loss],
        document: Any = None,
    ) -> tuple[Reply, list[Loss]]:
        """The reply in an answer, and its losses; also of a failed generation."""
        if document is None:
            document = decode_document(target, sent, target.wire.RESPONSE)
        response, more = target.wire.decode_response(document, request=request, now=int(time.time()), **target.decoding)
        more = [*sent.losses, *more]
        body, pricing = sent.answer.body, settings.pricing(target, request)
        how = CallRecord(lost + more, sent.attempts, body, target.vendor, target.model, pricing=pricing)
        return reply(response, how), more

    def shaped(
        self,
        input: Input | None,
        options: dict[str, Any],
        shape: Shape | None,
        history: History | None,
        *,
        stream: bool = False,
    ) -> PreparedCall:
        """The prepared call, changed by `shape`."""
        target, settings, request, lost = self.prepare(input, options, stream=stream, history=history)
        if shape is None:
            return PreparedCall(target, settings, request, lost)
        request, changed, recovered = shape(target, settings, request)
        return PreparedCall(target, settings, request, lost + changed, recovered)

    async def generate(
        self,
        input: Input | None,
        options: dict[str, Any],
        site: CallSite,
        shape: Shape | None = None,
        history: History | None = None,
    ) -> Reply:
        """The reply of the model. Raises an `LLMError` where the call fails."""
        if "output" in options and (form := options.pop("output")) is not None:
            from .typed import generate  # which most calls do not need

            return (await generate(self, input, options, site, form)).reply
        if self.fallback is not None:
            return await self.fallback.call(
                self, input, options, lambda one, how: one.generate(input, how, site, shape, history)
            )
        return await self.ask(self.shaped(input, options, shape, history), site)

    async def ask(self, prepared: PreparedCall, site: CallSite) -> Reply:
        """The reply to a request."""
        watch = watched(self, prepared.target, "generate", prepared.request)
        return await ended_by(watch, self._ask(prepared, site, watch))

    async def _ask(self, prepared: PreparedCall, site: CallSite, watch: WatchedCall | None) -> Reply:
        target, settings, request, _, _ = prepared
        limit, most = target.known.whole_output, request.max_output_tokens
        if limit is not None and given(most) and most > limit and not request.background:
            return await self._from_stream(prepared, site, watch)
        started = time.monotonic()
        outgoing, lost = prepared.encode(site)
        secrets: Mapping[str, str | Secret] = {}

        def read(sent: ReceivedAnswer) -> tuple[Reply, list[Loss]] | FirstPart:
            nonlocal secrets
            secrets = sent.secrets
            document = decode_document(target, sent, target.wire.RESPONSE)
            if long is not None and long.goes_on(document):
                return FirstPart(document, sent)
            found, more = self.replied(target, settings, sent, request, lost, document)
            return self.raise_if_failed(target, found, sent.secrets), more

        long = long_wire(target.wire)
        key, pieces = await self.cached(target, settings, request, outgoing)
        came = None if pieces is None else read(ReceivedAnswer(HTTPAnswer(200, {}, b"".join(pieces)), {}, ()))
        try:
            if came is None:
                came = await self.send(target, settings, outgoing, read, watch)
            if isinstance(came, FirstPart):
                left = with_time_left(settings, started)
                came = await self._in_hops(target, left, outgoing, request, lost, came, watch)
                key = None
            found, more = came
        except CallCancelledError as ended:
            return interrupted_reply(target, request, lost, ended.attempts)
        if settings.cache is not None and key is not None:
            how: CallRecord = vars(found)["info"]
            vars(found)["forget"] = partial(settings.cache.delete, key)
            if pieces is not None:
                vars(found)["info"] = how._replace(cached=True, calls=0)
            elif found.status == "completed":
                await self.transport.waiter.in_thread(partial(settings.cache.put, key, [how.raw], secrets))
        if more:
            report_losses(more, settings.on_loss, site, who=target.vendor, reply=found)
        return found

    async def cached(
        self, target: Target, settings: Settings, request: Request, outgoing: OutgoingRequest
    ) -> tuple[bytes | None, list[bytes] | None]:
        """The key of a request in the cache, and its cached answer; `None` where it has none."""
        cache = settings.cache
        key = None if cache is None else cache.key(target, settings, request, outgoing)
        if cache is None or key is None:
            return None, None
        return key, await self.transport.waiter.in_thread(partial(cache.get, key))

    async def _from_stream(self, prepared: PreparedCall, site: CallSite, watch: WatchedCall | None) -> Reply:
        """The reply to a request for which the vendor requires streaming."""
        from .stream import AsyncStream  # which most calls do not need

        timeouts = with_time_left(prepared.settings, time.monotonic()).timeouts
        prepared = prepared._replace(settings=prepared.settings._replace(stream_timeouts=timeouts))
        async with AsyncStream.prepared(self, prepared, site, watch) as stream:
            while await stream.batch():
                pass
        return stream.response

    async def _in_hops(
        self,
        target: Target,
        settings: Settings,
        outgoing: OutgoingRequest,
        request: Request,
        lost: list[Loss],
        begun: FirstPart,
        watch: WatchedCall | None,
    ) -> tuple[Reply, list[Loss]]:
        """The reply in an answer that comes in several hops, of which the first is there."""
        from .continuation import Hops, Parts

        def read(sent: ReceivedAnswer) -> FirstPart:
            return FirstPart(decode_document(target, sent, target.wire.RESPONSE), sent)

        def found() -> Reply:
            body = came.sent.answer.body
            facts: Any = {"calls": calls, "pricing": settings.pricing(target, request)}
            how = CallRecord(lost + parts.losses, attempts, body, target.vendor, target.model, **facts)
            return reply(parts.response(), how)

        hops, parts, came = Hops(target, settings.timeouts, outgoing), Parts(target, request), begun
        attempts, calls = begun.sent.attempts, 1
        token = parts.add(begun.document)
        while (hop := hops.next(token)) is not None:
            try:
                came = await self.send(target, settings._replace(timeouts=hop.timeouts), hop.outgoing, read, watch)
            except LLMError as problem:
                problem.partial = partial_reply(found(), problem, came.sent.secrets)
                raise with_context(problem, target, (*attempts, *problem.attempts)) from None
            attempts, calls = (*attempts, *came.sent.attempts), calls + 1
            token = parts.add(came.document)
        return self.raise_if_failed(target, found(), came.sent.secrets), parts.losses

    def raise_if_failed(self, target: Target, found: Reply, secrets: Mapping[str, str | Secret] = {}) -> Reply:
        """The reply. Raises the vendor's error where the generation failed."""
        if found.status == "completed" and found.error:
            found.status = "failed"  # some hosts say completed all the same
        if found.status != "failed":
            return found
        error = generation_error(target, found, secrets)
        error.partial = partial_reply(found, error, secrets)
        raise with_context(error, target, found.info.attempts)

    async def generate_text(self, input: Input | None, options: dict[str, Any], site: CallSite) -> str:
        """The text of the reply. Raises where the answer was truncated or refused."""
        if options.get("background"):
            raise ConfigError("generate_text waits for the answer", hint="use generate(..., background=True) and poll")
        return complete_text(await self.generate(input, options, site))


def interrupted_reply(
    target: Target, request: Request | None, lost: list[Loss], attempts: tuple[Attempt, ...]
) -> Reply:
    """The reply of a call that was cancelled before an answer arrived."""
    now = int(time.time())
    nothing = Response(id="", created_at=now, model=target.model, status=CANCELLED, output=[], **echo(request))
    return reply(nothing, CallRecord(lost, attempts, b"", target.vendor, target.model, interrupted=True))


def complete_text(found: Reply, text: str | None = None) -> str:
    """The text of a reply, or of its tool call. Raises where the answer was truncated, refused or cancelled."""
    text = found.output_text if text is None else text
    if found.refusal is None and found.status != "incomplete" and not found.interrupted:
        return text
    known = found.info
    facts: dict[str, Any] = {
        "vendor": known.metadata["provider"],
        "model": known.metadata["model"],
        "attempts": known.attempts,
        "partial": found,
    }
    if found.interrupted:
        raise CallCancelledError("the call was cancelled", **facts)
    if found.refusal is not None:
        raise RefusalError(f"the model refused: {found.refusal}", raw=text, **facts)
    raise TruncatedError(f"the answer was cut: {found.stop_reason}", raw=text, **facts)
