"""Event hooks: callbacks that a client calls for every request, with typed events that hold no prompt, answer or key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from msgspec import Struct

from .errors import ConfigError


class RequestStart(Struct, frozen=True, kw_only=True, tag_field="type", tag="request:start"):
    """A request is about to be sent."""

    vendor: str
    model: str
    wire: str
    method: str
    url: str


class RequestEnd(Struct, frozen=True, kw_only=True, tag_field="type", tag="request:end"):
    """A request has ended after `seconds`: with an answer of `status`, or with an `error` (the `kind` of one of ours).

    A stream ends with its last event, or when it is left; `first_event` is how many seconds its first one took.
    """

    vendor: str
    model: str
    wire: str
    seconds: float
    status: int | None = None
    error: str | None = None
    first_event: float | None = None


class RequestRetry(Struct, frozen=True, kw_only=True, tag_field="type", tag="request:retry"):
    """A request is made again after `wait` seconds: attempt number `attempt` failed; `reason` is the `kind` of its error."""

    vendor: str
    model: str
    wire: str
    attempt: int
    wait: float
    reason: str


class RequestCancelled(Struct, frozen=True, kw_only=True, tag_field="type", tag="request:cancelled"):
    """A request, or the wait before the next one, was cancelled after `seconds`: it has no end."""

    vendor: str
    model: str
    wire: str
    seconds: float


RequestEvent = RequestStart | RequestEnd | RequestRetry | RequestCancelled
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
