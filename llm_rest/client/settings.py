"""`Settings`: how one call is made, read from its options.

Before changing this file, know that secrets are wrapped (`wrap_secrets`) before any other code reads the options:
tracebacks are recorded with the local variables of every frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..errors import ConfigError
from ..transport import WHOLE, Timeouts, is_duration, limit, remaining
from ..transport.retry import RetryPolicy, policy_of
from ..vendors.auth import Secret, checked_headers
from .content import hidden
from .options import GATES, InvalidOptions, OnLoss, as_list

if TYPE_CHECKING:
    from ..policy.cache import AnswerCache
    from ..policy.gate import Gates
    from ..policy.prices import Prices, Pricing
    from ..responses.request import Request
    from .structured import Strategy
    from .target import Target


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
        from ..policy.prices import Pricing  # not needed by most calls

        return Pricing(self.prices, target, request)


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
    """The value of `timeout=` of a stream as `Timeouts`: seconds are for each wait, not for the whole call."""
    timeouts = timeouts_of(value)
    if not isinstance(value, int | float):
        return timeouts
    return Timeouts(connect=timeouts.connect, first_byte=value, read=value, stall=value)


def wrap_secrets(options: dict[str, Any]) -> None:
    """Wrap the secrets among the options, in place: tracebacks are recorded with the local variables of every frame."""
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
    gates: Gates | None = None
    if any(options.get(name) is not None for name in GATES):
        from ..policy.gate import Gates  # not needed by most calls

        gates = Gates(options)
    cache: AnswerCache | None = options.get("cache")
    if cache is not None:
        from ..policy.cache import cache_of  # not needed by most calls

        cache = cache_of(cache)
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
        gates=gates,
        cache=cache,
        prices=options.get("prices"),
    )


def with_time_left(settings: Settings, started: float) -> Settings:
    """The settings with the time that is left for a whole answer requested at `started`."""
    timeouts = settings.timeouts
    return settings._replace(timeouts=remaining(timeouts, limit(timeouts.total, WHOLE), started))
