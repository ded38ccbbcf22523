"""Event hooks: callbacks that a client calls for every request, with typed events that hold no prompt, answer or key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, cast

from msgspec import Struct

from ..errors import ConfigError
from ..unknown import ModelMeta


class RequestStart(Struct, metaclass=ModelMeta, frozen=True, kw_only=True):
    """A request is about to be sent."""

    type: ClassVar[Literal["request:start"]] = "request:start"
    vendor: str
    """The name of the vendor."""
    model: str
    """The model, as the vendor calls it."""
    wire: str
    """The wire format, such as `openai_responses`."""
    method: str
    """The HTTP method."""
    url: str
    """The full URL."""


class RequestEnd(Struct, metaclass=ModelMeta, frozen=True, kw_only=True):
    """A request has ended, with an answer or with an error. A stream ends with its last event, or when it is closed."""

    type: ClassVar[Literal["request:end"]] = "request:end"
    vendor: str
    """The name of the vendor."""
    model: str
    """The model, as the vendor calls it."""
    wire: str
    """The wire format, such as `openai_responses`."""
    seconds: float
    """Seconds from sending the request to its end."""
    status: int | None = None
    """The HTTP status of the answer; `None` where no answer came."""
    error: str | None = None
    """The `kind` of the error, such as `rate_limit`; `None` where the request succeeded."""
    first_event: float | None = None
    """Seconds until the first event of a stream; `None` for other answers and where no event came."""


class RequestRetry(Struct, metaclass=ModelMeta, frozen=True, kw_only=True):
    """A request failed and is retried after `wait` seconds."""

    type: ClassVar[Literal["request:retry"]] = "request:retry"
    vendor: str
    """The name of the vendor."""
    model: str
    """The model, as the vendor calls it."""
    wire: str
    """The wire format, such as `openai_responses`."""
    attempt: int
    """The number of the attempt that failed, from 1."""
    wait: float
    """Seconds until the next attempt."""
    reason: str
    """The `kind` of the attempt's error, such as `rate_limit`."""


class RequestCancelled(Struct, metaclass=ModelMeta, frozen=True, kw_only=True):
    """A request, or the wait before its retry, was cancelled. No `RequestEnd` follows."""

    type: ClassVar[Literal["request:cancelled"]] = "request:cancelled"
    vendor: str
    """The name of the vendor."""
    model: str
    """The model, as the vendor calls it."""
    wire: str
    """The wire format, such as `openai_responses`."""
    seconds: float
    """Seconds from sending the request to its cancellation."""


RequestEvent = RequestStart | RequestEnd | RequestRetry | RequestCancelled
"""What an event hook of a client gets, told apart by its class or its `type`."""

EventHook = Callable[[Any], object]
"""A callback that takes a `RequestEvent`; what it returns is ignored. Later versions may pass other events."""


def hooks_of(on_event: EventHook | Iterable[EventHook] | None) -> tuple[EventHook, ...]:
    """The event hooks as a tuple. Raises `ConfigError` for what cannot be called, or would have to be awaited."""
    if on_event is None:
        return ()
    from inspect import iscoroutinefunction  # not loaded by those who have no event hooks

    found = tuple(cast("Any", on_event)) if isinstance(on_event, Iterable) else (on_event,)
    for hook in found:
        if not callable(hook):
            raise ConfigError(f"on_event= takes a function or several, not a {type(hook).__name__}")
        if iscoroutinefunction(hook):
            hint = "put the event into a queue, or iterate over run.events()"
            raise ConfigError("on_event= takes functions that are not async: event hooks are not awaited", hint=hint)
    return found


def notify(event_hooks: tuple[EventHook, ...], event: RequestEvent) -> None:
    """Call every event hook; one that raises is logged and breaks nothing."""
    for hook in event_hooks:
        try:
            hook(event)
        except Exception:
            import logging  # costs more than the rest of this module, and is hardly ever needed

            logging.getLogger("llm_rest").exception("an event hook failed on %s", type(event).__name__)
