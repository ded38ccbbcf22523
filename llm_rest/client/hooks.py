"""Event hooks: callbacks for every call and request of a client, with typed events that hold no prompt, answer or key.

A call is one method call of a client: all its requests, retries included. `WatchedCall` notifies the watchers of a
call: callbacks of the program, the log (`logs.py`) and telemetry get its events in one way. Before
changing this file, know that a call without watchers has no `WatchedCall`, and that a watched one ends exactly once: with its
result, with an error, or as `closed` when its stream is closed or garbage-collected before its last event.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

from msgspec import Struct

from ..errors import CallCancelledError, ConfigError, LLMError
from ..unknown import given
from ..wires.errors import header_facts
from .logs import is_logging, log_event

if TYPE_CHECKING:
    from ..responses.request import Request
    from ..telemetry import Telemetry
    from .call import Caller
    from .target import Target

T = TypeVar("T")

Operation = Literal["generate", "retrieve", "cancel", "delete", "input_items", "compact", "count_tokens", "list_models"]
"""The operation of a call: `generate` is a reply of the model, whole or streamed; the others are names of methods."""

Outcome = str
"""How a call ended: the status of its response, such as `completed` or `incomplete`, or else `failed`, `cancelled`, `closed`."""


class ClientCallEvent(Struct, frozen=True, kw_only=True):
    """The fields that every event of a client has."""

    call: str
    """The id of the call, the same in all its events and unique."""
    vendor: str
    """The name of the vendor."""
    model: str
    """The model, as the vendor calls it."""
    wire: str
    """The wire format, such as `openai_responses`."""


class ClientCallStart(ClientCallEvent, frozen=True, kw_only=True, tag="call:start"):
    """A call of the client begins. Exactly one `ClientCallEnd` with the same `call` follows."""

    type: ClassVar[Literal["call:start"]] = "call:start"
    operation: Operation
    """What the call is for: `generate`, or the method's name for calls beside that."""
    stream: bool = False
    """Whether the reply is streamed."""
    run: str | None = None
    """The id of the run of the tool loop that makes the call; `None` outside of runs."""
    conversation: str | None = None
    """The id of the conversation that the call continues; `None` where it has none."""
    fallback_of: str | None = None
    """The `call` that failed before, where a `Fallback` continues with this model; `None` for the first model."""


class ClientCallEnd(ClientCallEvent, frozen=True, kw_only=True, tag="call:end"):
    """A call has ended: with its result or an error; a stream with its last event, or when it is closed or garbage-collected."""

    type: ClassVar[Literal["call:end"]] = "call:end"
    operation: Operation
    """What the call was for, as in its `ClientCallStart`."""
    outcome: Outcome
    """The status of the response (`completed`, `incomplete`, ...), `failed`, `cancelled`, or `closed` (early, of a stream)."""
    seconds: float
    """Seconds from the start of the call to its end, with retries and the waits between them."""
    attempts: int
    """How many requests were sent."""
    error: str | None = None
    """The `kind` of the error, such as `rate_limit`; `None` where the call did not fail."""
    status: int | None = None
    """The HTTP status of the last answer; `None` where no answer arrived."""
    request_id: str | None = None
    """The vendor's id of the last request, for its support; `None` where the vendor gave none."""
    response_id: str | None = None
    """The id of the response; `None` where there is none."""
    first_event: float | None = None
    """Seconds from the start of the call to the first event of a stream; `None` for other answers and where no event arrived."""
    input_tokens: int | None = None
    """The input tokens that the vendor counted, cached ones included; `None` where it sent none."""
    output_tokens: int | None = None
    """The output tokens that the vendor counted, those of reasoning included; `None` where it sent none."""
    cached_input_tokens: int | None = None
    """How many of the input tokens were read from the vendor's cache; `None` where it sent none."""
    reasoning_tokens: int | None = None
    """How many of the output tokens were reasoning; `None` where the vendor sent none."""
    losses: int = 0
    """How many losses there were, of the request and of the answer."""
    loss_kinds: tuple[str, ...] = ()
    """The kinds of the losses, without duplicates, such as `dropped`."""
    cost: int | None = None
    """The cost of the call in nano-dollars (10 ** -9 US dollars); `None` where it is unknown."""


class RequestStart(ClientCallEvent, frozen=True, kw_only=True, tag="request:start"):
    """A request is about to be sent. A `RequestEnd` or a `RequestCancelled` with the same `call` and `attempt` follows."""

    type: ClassVar[Literal["request:start"]] = "request:start"
    attempt: int
    """The number of the request within the call, from 1."""
    method: str
    """The HTTP method."""
    url: str
    """The full URL."""


class RequestEnd(ClientCallEvent, frozen=True, kw_only=True, tag="request:end"):
    """A request has ended, with an answer or with an error. A stream ends with its last event, or when it is closed."""

    type: ClassVar[Literal["request:end"]] = "request:end"
    attempt: int
    """The number of the request within the call, from 1."""
    seconds: float
    """Seconds from sending the request to its end."""
    status: int | None = None
    """The HTTP status of the answer; `None` where no answer arrived."""
    error: str | None = None
    """The `kind` of the error, such as `rate_limit`; `None` where the request succeeded."""
    request_id: str | None = None
    """The vendor's id of the request, for its support; `None` where the vendor gave none."""
    first_event: float | None = None
    """Seconds until the first event of a stream; `None` for other answers and where no event came."""


class RequestRetry(ClientCallEvent, frozen=True, kw_only=True, tag="request:retry"):
    """A request failed and is retried after `wait` seconds."""

    type: ClassVar[Literal["request:retry"]] = "request:retry"
    attempt: int
    """The number of the request that failed, within the call, from 1."""
    wait: float
    """Seconds until the next attempt."""
    reason: str
    """The `kind` of the attempt's error, such as `rate_limit`."""


class RequestCancelled(ClientCallEvent, frozen=True, kw_only=True, tag="request:cancelled"):
    """A request, or the wait before its retry, was cancelled. No `RequestEnd` follows."""

    type: ClassVar[Literal["request:cancelled"]] = "request:cancelled"
    attempt: int
    """The number of the request within the call, from 1."""
    seconds: float
    """Seconds from sending the request to its cancellation."""


class RateLimitWait(ClientCallEvent, frozen=True, kw_only=True, tag="rate_limit:wait"):
    """A request waits for a rate limit (`rate_limit=`) before it is sent."""

    type: ClassVar[Literal["rate_limit:wait"]] = "rate_limit:wait"
    wait: float
    """Seconds until it is sent, as far as is known; 0 where that depends on the end of another request."""
    reason: str
    """The rate limit that delays the request, such as `500 requests per minute`."""


ClientEvent = (
    ClientCallStart | ClientCallEnd | RequestStart | RequestEnd | RequestRetry | RequestCancelled | RateLimitWait
)
"""The events passed to the event hooks of a client; `type`, or the class, identifies the event."""

EventHook = Callable[[Any], object]
"""A callback that takes a `ClientEvent`; its return value is ignored. Later versions may pass other events."""

Watcher = Callable[["WatchedCall", type[ClientCallEvent], Mapping[str, Any]], object]
"""Receives the events of a call: the call, the event class, and the fields that the class adds to `ClientCallEvent`."""


class WatchedCall:
    """A call with watchers, from its start to its end."""

    def __init__(
        self,
        watchers: tuple[Watcher, ...],
        target: Target,
        operation: Operation,
        request: Request | None = None,
        *,
        stream: bool = False,
        run: str | None = None,
        conversation: str | None = None,
        fallback_of: WatchedCall | None = None,
    ) -> None:
        self._watchers = watchers
        self._id: str | None = None
        self._in_flight: tuple[float, float | None] | None = None  # when a request was sent, and its first event came
        self.target, self.operation, self.request = target, operation, request
        self.stream, self.run, self.conversation = stream, run, conversation
        self.fallback_of = fallback_of
        """The call to another model that failed before, in a `Fallback`; `None` after the end."""
        self.reply: Any = None
        """The result of the call, possibly partial; `None` before there is one."""
        self.error: BaseException | None = None
        self.outcome: Outcome | None = None
        """The outcome; `None` until the call has ended."""
        self.attempts = 0
        self.seconds = 0.0
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.first_event: float | None = None
        self.span: Any = None
        """The span of the call, set by telemetry."""
        self.activate: Callable[[], AbstractContextManager[object]] | None = None
        """Makes the call's span the current one for instrumented libraries below it; set by telemetry."""
        self.on_chunk: Callable[[], object] | None = None
        """Called whenever more of a streamed answer arrives; set by telemetry."""
        before = None if fallback_of is None else fallback_of.id
        started: dict[str, Any] = {"run": run, "conversation": conversation, "fallback_of": before}
        self.notify(ClientCallStart, operation=operation, stream=stream, **started)
        self._clock = perf_counter()  # after the start of its span, which is no shorter than anything measured here

    @property
    def id(self) -> str:
        """The id of the call in its events."""
        if self._id is None:
            self._id = os.urandom(8).hex()
        return self._id

    @property
    def request_id(self) -> str | None:
        """The vendor's id of the last request."""
        return getattr(self.error, "request_id", None) or header_facts(self.headers)["request_id"]

    @property
    def error_kind(self) -> str | None:
        """The `kind` of the error that ended the call, or the name of its class."""
        if self.error is None or self.outcome == "cancelled":
            return None
        return self.error.kind if isinstance(self.error, LLMError) else type(self.error).__qualname__

    def notify(self, event: type[ClientCallEvent], **fields: Any) -> None:
        """Call every watcher; an exception in one is logged and does not affect the call."""
        for watcher in self._watchers:
            try:
                watcher(self, event, fields)
            except Exception:
                import logging  # slower to load than the rest of this module, and rarely needed

                logging.getLogger("llm_rest").exception("an event hook failed on %s", event.__name__)

    def event(self, kind: type[ClientCallEvent], fields: Mapping[str, Any]) -> ClientCallEvent:
        """The event with all its fields."""
        target = self.target
        common: dict[str, Any] = {"call": self.id, "vendor": target.vendor, "model": target.model}
        if kind is RequestEnd:
            common["request_id"] = self.request_id
        elif kind is ClientCallEnd:
            common |= self._summary()
        return kind(wire=target.endpoint.wire, **common, **fields)

    def _summary(self) -> dict[str, Any]:
        reply = self.reply
        lost, usage = getattr(reply, "losses", ()), getattr(reply, "usage", None)
        tokens: dict[str, int | None] = {}
        if given(usage):
            inside, outside = usage.input_tokens_details, usage.output_tokens_details
            tokens = {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_input_tokens": inside.cached_tokens if given(inside) else None,
                "reasoning_tokens": outside.reasoning_tokens if given(outside) else None,
            }
        return {
            "operation": self.operation,
            "outcome": self.outcome,
            "seconds": self.seconds,
            "attempts": self.attempts,
            "error": self.error_kind,
            "status": self.status,
            "request_id": self.request_id,
            "response_id": getattr(reply, "id", None) or None,
            "first_event": self.first_event,
            "losses": len(lost),
            "loss_kinds": tuple(dict.fromkeys(loss.kind for loss in lost)),
            "cost": getattr(reply, "cost", None),
            **tokens,
        }

    # --- requests

    def request_started(self, method: str, url: str) -> None:
        """A request is about to be sent."""
        self.attempts += 1
        self.status, self.headers = None, {}
        self.notify(RequestStart, attempt=self.attempts, method=method, url=url)
        self._in_flight = perf_counter(), None

    def events_received(self) -> None:
        """More events of a streamed answer arrived."""
        if self.on_chunk is not None:
            self.on_chunk()
        if self._in_flight is not None and self._in_flight[1] is not None:
            return
        now = perf_counter()
        if self._in_flight is not None:
            self._in_flight = self._in_flight[0], now - self._in_flight[0]
        if self.first_event is None:
            self.first_event = now - self._clock

    def request_ended(self, status: int | None, error: str | None) -> None:
        """The request has ended, with an answer or with the `kind` of an error."""
        if self._in_flight is not None:
            (sent, first), self._in_flight = self._in_flight, None
            self.status = status
            fields = {"seconds": perf_counter() - sent, "status": status, "error": error, "first_event": first}
            self.notify(RequestEnd, attempt=self.attempts, **fields)

    def retrying(self, error: LLMError, wait: float) -> None:
        """The request failed and is retried after `wait` seconds."""
        self.first_event = None  # of an answer that was not yielded
        self.notify(RequestRetry, attempt=self.attempts, wait=wait, reason=error.kind)

    def request_cancelled(self, seconds: float) -> None:
        """The request, or the wait after it, was cancelled."""
        self._in_flight = None
        self.notify(RequestCancelled, attempt=self.attempts, seconds=seconds)

    # --- end of the call

    def end(self, reply: Any = None, error: BaseException | None = None, outcome: Outcome | None = None) -> None:
        """The call has ended, with a reply, an error, or neither. Only the first end counts."""
        if self.outcome is not None:
            return
        if self._in_flight is not None:
            self.request_ended(self.status, None)
        self.seconds = perf_counter() - self._clock
        self.reply, self.error = reply if error is None else getattr(error, "partial", None), error
        if error is not None:
            stopped = isinstance(error, CallCancelledError) or not isinstance(error, Exception)
            outcome = "cancelled" if stopped else "failed"
        self.outcome = outcome or getattr(reply, "status", None) or "completed"
        self.notify(ClientCallEnd)
        self.request = self.activate = self.on_chunk = self.fallback_of = None

    def __del__(self) -> None:
        if not sys.is_finalizing() and getattr(self, "outcome", "") is None:
            self.end(outcome="closed")


def watched(
    caller: Caller, target: Target, operation: Operation, request: Request | None = None, *, stream: bool = False
) -> WatchedCall | None:
    """A watched call that starts now; `None` without watchers."""
    watchers, telemetry = caller.watchers, caller.telemetry
    if telemetry is not None and telemetry.is_active():
        watchers = (*watchers, telemetry)
    if is_logging():
        watchers = (*watchers, log_event)
    if not watchers:
        return None
    more: dict[str, Any] = {"run": caller.run_id, "conversation": caller.conversation_id}
    trials = caller.trials
    failed = None if trials is None else trials.failed_call
    made = WatchedCall(watchers, target, operation, request, stream=stream, fallback_of=failed, **more)
    if trials is not None:
        trials.latest_call = made
    return made


async def ended_by(watch: WatchedCall | None, work: Awaitable[T]) -> T:
    """The result of a call; ends the watched call."""
    if watch is None:
        return await work
    try:
        found = await work
        result: Any = found
    except BaseException as problem:
        watch.end(error=problem)
        raise
    watch.end(result[0] if isinstance(result, tuple) else result)
    return found


def active(watch: WatchedCall | None) -> AbstractContextManager[object]:
    """A context manager in which the call is current, for sending its requests."""
    return nullcontext() if watch is None or watch.activate is None else watch.activate()


def hooks_of(on_event: EventHook | Iterable[EventHook] | None) -> tuple[EventHook, ...]:
    """The event hooks as a tuple. Raises `ConfigError` for an object that is not callable, or an async function."""
    if on_event is None:
        return ()
    from inspect import iscoroutinefunction  # not loaded without event hooks

    found: tuple[EventHook, ...] = tuple(cast("Any", on_event)) if isinstance(on_event, Iterable) else (on_event,)
    for hook in found:
        if not callable(hook):
            raise ConfigError(f"on_event= takes a function or several, not a {type(hook).__name__}")
        if iscoroutinefunction(hook):
            hint = "put the event into a queue, or iterate over run.events()"
            raise ConfigError("on_event= takes functions that are not async: event hooks are not awaited", hint=hint)
    return found


def watcher_of(hook: EventHook) -> Watcher:
    """A watcher for an event hook."""
    return lambda call, event, fields: hook(call.event(event, fields))


def telemetry_of(option: Any) -> Telemetry | None:
    """The telemetry of `telemetry=`. For `None`, `LLM_REST_TELEMETRY` decides, or else whether the program has set up tracing.

    Raises `ConfigError` for other values, and where OpenTelemetry is wanted and not installed.
    """
    setting = os.environ.get("LLM_REST_TELEMETRY", "").lower() if option is None else ""
    if setting not in ("", "true", "1", "false", "0"):
        raise ConfigError(f"LLM_REST_TELEMETRY={setting!r} is unknown", hint="use true or false")
    if setting:
        option = setting in ("true", "1")
    found = vars(sys.modules.get("opentelemetry.trace", sys)).get("_TRACER_PROVIDER") is not None
    if option is False or (option is None and not found):
        return None
    try:
        from ..telemetry import Telemetry
    except ImportError as problem:
        if option is None:
            return None
        raise ConfigError(f"telemetry needs OpenTelemetry: {problem}", hint="pip install 'llm_rest[otel]'") from None
    if option not in (None, True) and not isinstance(option, Telemetry):
        raise ConfigError(f"telemetry= takes True, False or a Telemetry, not a {type(option).__name__}")
    return option if isinstance(option, Telemetry) else Telemetry()
