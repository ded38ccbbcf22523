"""The shared part of `Client` and `AsyncClient`: the constructor, and the methods without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never, Self, Unpack

from ..errors import ConfigError, printable
from ..responses.estimate import estimate_tokens
from ..transport import Timeouts
from ..transport.retry import RetryPolicy
from ..vendors.auth import Secret, Token, TokenProvider
from .call import Caller
from .hooks import EventHook, hooks_of, telemetry_of, watcher_of
from .logs import log_by_environment
from .options import FIELDS, SETTINGS, CallOptions, Input, InvalidOptions, OnLoss, plain
from .target import Targets

if TYPE_CHECKING:
    from os import PathLike

    from ..policy.budget import Budget
    from ..policy.cache import AnswerCache
    from ..policy.fallback import Fallback, FallbackModel
    from ..policy.prices import Prices
    from ..policy.rate_limit import RateLimit
    from ..telemetry import Telemetry
    from ..transport.exchange import Transport
    from ..transport.tls import TLSOption
    from ..vendors.models import Capabilities
    from ..vendors.rows import Vendor

    ModelChoice = str | Fallback | Sequence[str | FallbackModel]
    """A model as `"vendor/model"`, or several for fallback: where one fails, the next one is tried."""


class Cancelled:
    """The result of `cancel()`, which may be awaited and does not wait."""

    def __await__(self) -> Iterator[None]:
        return iter(())


class BaseClient:
    """The shared part of `Client` and `AsyncClient`, without I/O."""

    _caller: Caller

    _waits: ClassVar[bool]

    def __init__(
        self,
        model: ModelChoice | None = None,
        *,
        api_key: Token | None = None,
        base_url: str | None = None,
        timeout: float | Timeouts | None = None,
        retry: RetryPolicy | int | None = None,
        max_connections: int = 100,
        http: Any = None,
        tls: TLSOption | None = None,
        credentials: TokenProvider | None = None,
        on_loss: OnLoss = "warn",
        invalid_options: InvalidOptions = "raise",
        defaults: CallOptions | None = None,
        wire: str | None = None,
        vendor: Vendor | str | None = None,
        on_event: EventHook | Iterable[EventHook] | None = None,
        rate_limit: RateLimit | Literal["learn"] | None = None,
        cache: AnswerCache | None = None,
        telemetry: bool | Telemetry | None = None,
        budget: Budget | None = None,
        prices: Prices | str | PathLike[str] | None = None,
        **unknown: Never,
    ) -> None:
        api_key = Secret(api_key) if isinstance(api_key, str) else api_key
        if unknown:
            from .keywords import refuse_constructor  # only for this message

            refuse_constructor(type(self).__name__, unknown, FIELDS | SETTINGS)
        _check(http, max_connections, defaults, credentials, waits=self._waits)
        transport = self._transport(max_connections=max_connections, http=http, tls=tls)
        place: Any = {"api_key": api_key, "base_url": base_url, "wire": wire, "vendor": vendor}
        fallback = None
        if model is None or isinstance(model, str):
            targets = Targets(model, **place, provider=credentials)
        else:
            from ..policy.fallback import chain_of

            fallback = chain_of(model, place, credentials)
            model, targets = fallback.entries[0].model, fallback.entries[0].targets
        settings: Any = {"timeout": timeout, "retry": retry, "on_loss": on_loss, "invalid_options": invalid_options}
        settings |= {"rate_limit": rate_limit, "cache": cache, "budget": budget, "prices": prices}
        first = {**{name: value for name, value in settings.items() if value is not None}, **(defaults or {})}
        if model is not None:
            first["model"] = model
        log_by_environment()
        self._caller = Caller(
            transport,
            targets,
            waits=self._waits,
            defaults=first,
            watchers=tuple(watcher_of(hook) for hook in hooks_of(on_event)),
            fallback=fallback,
            telemetry=telemetry_of(telemetry),
        )

    def _transport(self, **options: Any) -> Transport:
        raise NotImplementedError

    @property
    def vendor(self) -> str:
        """The name of the vendor behind the default model."""
        return self._caller.resolve({})[0].vendor

    @property
    def model(self) -> str:
        """The default model, as the vendor calls it."""
        return self._caller.resolve({})[0].model

    @property
    def endpoint(self) -> str:
        """The base URL of requests."""
        return self._caller.resolve({})[0].endpoint.base_url

    def capabilities(self, model: str | None = None) -> Capabilities:
        """The capabilities of the default model, or of `model` (`"vendor/model"`), from a table. `None`: unknown.

        Raises `ConfigError` for an unknown vendor, and without any model.
        """
        return self._caller.resolve({"model": model})[0].known

    def estimate_tokens(self, input: Input | None = None, **options: Unpack[CallOptions]) -> int:
        """About how many tokens this input has, with its tools and instructions: a quarter of its characters, and 256 for
        each image or file. Nothing is sent; `count_tokens` is the vendor's count.
        """
        return estimate_tokens(self._caller.prepare(input, plain(options)).request)

    def with_options(self, **options: Unpack[CallOptions]) -> Self:
        """A client with these options as defaults for every call; it shares the connections. Raises `ConfigError`."""
        other = object.__new__(type(self))
        other._caller = self._caller.with_options(plain(options))
        return other

    def cancel(self) -> Cancelled:
        """Cancel every call in flight, from any thread; the client stays usable. May be awaited.

        A call that returns a `Reply` returns one with `interrupted` set and the output so far; the iteration over a stream
        ends, and its `response` is such a reply. Other calls raise `CallCancelledError`.
        """
        self._caller.cancel()
        return Cancelled()

    def close_idle(self) -> None:
        """Close connections that have been idle for a minute, or that the server has closed.

        Every call does the same: this is for programs that make no call for a long time.
        """
        self._caller.transport.tidy()

    def __repr__(self) -> str:
        caller = getattr(self, "_caller", None)  # a client whose arguments were rejected has no caller
        name = type(self).__name__
        if caller is None or caller.defaults.get("model") is None:
            return f"<{name} without a model; name one in each call: .generate(..., model='vendor/model')>"
        model, place = printable(caller.defaults["model"], 80), ""
        with suppress(ConfigError):  # environment variables may have changed since
            target = caller.targets.find(caller.defaults["model"])
            model = f"{target.vendor}/{target.model}"
            place = f" at {printable(target.endpoint.base_url, 120)} ({target.endpoint.wire})"
        return f"<{name} for {model}{place}; see .generate .stream .run .with_options>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} holds connections and a key; make a new one where it is needed")


def _check(http: object, max_connections: object, defaults: object, credentials: object, *, waits: bool) -> None:
    """Check the types of these; `http` by its methods, since it may be of `httpx` or `httpx2`."""
    if defaults is not None and not isinstance(defaults, Mapping):
        raise ConfigError(f"defaults= takes options by name, not a {type(defaults).__name__}")
    if credentials is not None and not callable(credentials):
        raise ConfigError(f"credentials= takes a function (vendor, account), not a {type(credentials).__name__}")
    if not isinstance(max_connections, int) or max_connections < 1:
        raise ConfigError(f"max_connections is a number from 1, not {max_connections!r}")
    kind, closes = ("AsyncClient", "aclose") if waits else ("Client", "close")
    if http is not None and not all(hasattr(http, name) for name in ("build_request", "send", closes)):
        raise ConfigError(f"http= takes an httpx.{kind}, not a {type(http).__name__}")
