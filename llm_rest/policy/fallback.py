"""`Fallback` (failover): several models for one client; where one fails, the next one is tried.

A call is prepared anew for each model: options, validation, encoding, retries. Before changing this file, know that no other
model is tried for an error of the caller, that a stream changes its model only before its first event was yielded (except with
`midstream`), and that calls with state at one vendor (`previous_response_id` and the like) use the first model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

from msgspec.structs import replace

from .. import errors
from ..client.options import CallOptions, check_names, stream_timeouts_of, timeouts_of, wrap_secrets
from ..client.reply import with_earlier
from ..client.target import Targets
from ..errors import ConfigError, LLMError, printable
from ..responses.request import Request
from ..transport import WHOLE, limit
from ..unknown import given
from ..vendors.auth import Secret

if TYPE_CHECKING:
    from ..client.call import Caller
    from ..client.hooks import WatchedCall
    from ..client.options import Input
    from ..client.reply import Reply
    from ..errors import Attempt
    from ..transport import Timeouts
    from ..vendors.auth import Token, TokenProvider
    from ..vendors.rows import Vendor
    from .midstream import Trail

_HELPED: dict[type[LLMError], tuple[bool, bool]] = {
    errors.APIConnectionError: (True, True),
    errors.ConnectError: (False, True),
    errors.APITimeoutError: (False, True),
    errors.ProtocolError: (False, True),
    errors.RateLimitError: (True, True),
    errors.QuotaError: (False, True),
    errors.InternalServerError: (True, True),
    errors.OverloadedError: (False, True),
    errors.ServerTimeoutError: (False, True),
    errors.MalformedResponseError: (True, True),
    errors.ContextLengthError: (True, False),
    errors.CapabilityError: (True, False),
    errors.AuthenticationError: (False, True),
    errors.PermissionDeniedError: (False, True),
    errors.NotFoundError: (False, True),
    errors.RequestTooLargeError: (False, False),
    errors.ContentFilterError: (False, False),
    errors.SchemaMismatchError: (False, False),
}
"""Errors that `on=` may name; the others are the caller's, and the same everywhere. Each with whether it is in `DEFAULT`, and
whether the model is paused: it is not where the error is about this request."""
KINDS = {kind.kind: kind for kind in _HELPED}
DEFAULT = tuple(kind.kind for kind, (usual, _) in _HELPED.items() if usual)
"""The default of `on=`: the errors after which the next model is tried."""
_ABOUT_REQUEST = tuple(kind for kind, (_, pauses) in _HELPED.items() if not pauses)

_STATE = ("previous_response_id", "conversation", "background", "prompt")
"""Options that refer to state stored at one vendor."""
_OF_CALLS = (*_STATE, "tools", "tool_choice", "model")
"""Options that cannot be set for a single model."""


class FallbackModel:
    """A model of a `Fallback`, as `"vendor/model"`, with its own key, base URL, wire, vendor, and call options.

    Options of the call take precedence. Raises `ConfigError` for options that no call has.
    """

    def __init__(
        self,
        model: str,
        /,
        *,
        api_key: Token | None = None,
        base_url: str | None = None,
        wire: str | None = None,
        vendor: Vendor | str | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        api_key = Secret(api_key) if isinstance(api_key, str) else api_key
        if not isinstance(cast("object", model), str) or not model:
            raise ConfigError(f'a model of a Fallback is a text such as "openai/gpt-5", not {model!r}')
        own: dict[str, Any] = {**options}
        wrap_secrets(own)
        check_names(own)
        if misplaced := [name for name in _OF_CALLS if own.get(name) is not None]:
            raise ConfigError(f"{misplaced[0]} is no option of one model of a Fallback", hint="give it with the call")
        self.model = model
        """The model as `"vendor/model"`."""
        self._options = {name: value for name, value in own.items() if value is not None}
        self._place = {"api_key": api_key, "base_url": base_url, "wire": wire, "vendor": vendor}

    def __repr__(self) -> str:
        return f"<FallbackModel {self.model!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FallbackModel) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Fallback:
    """Failover between models, tried in order; a list of models as `Client([...])` is short for `Client(Fallback([...]))`.

    `on` are the errors after which the next one is tried, by `kind` or class, each with its subclasses. A model that failed is
    not tried for `pause` seconds while another one answers. `midstream` lets the next model continue a text whose stream broke
    off. `clock` returns seconds. Raises `ConfigError` for an empty list, for a model that is there twice, and for errors that
    are the caller's.
    """

    def __init__(
        self,
        models: Sequence[str | FallbackModel],
        *,
        on: Iterable[str | type[LLMError]] | str = DEFAULT,
        pause: float = 60.0,
        midstream: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        several: Any = models
        if isinstance(several, str | Mapping) or not isinstance(several, Iterable) or not several:
            raise ConfigError("a Fallback takes a list of models", hint='such as ["anthropic/...", "openai/..."]')
        self.models = [one if isinstance(one, FallbackModel) else FallbackModel(one) for one in models]
        """The models, in the order in which they are tried."""
        for i, one in enumerate(self.models):
            if one in self.models[:i]:
                raise ConfigError(f"{one.model} is in the Fallback twice")
        self.on = tuple(_kind(one) for one in ([on] if isinstance(on, str | type) else on))
        """The classes of errors after which the next model is tried."""
        if isinstance(pause, bool) or not isinstance(cast("object", pause), int | float) or not 0 <= pause < math.inf:
            raise ConfigError(f"pause is a number of seconds, not {pause!r}")
        self.pause = pause
        """Seconds for which a model that failed is not tried."""
        self.midstream = midstream
        """Whether another model continues a text whose stream broke off."""
        self.clock = clock
        """The clock: a function that returns seconds."""

    def __repr__(self) -> str:
        return f"<Fallback {' -> '.join(one.model for one in self.models)}>"


def _kind(named: object) -> type[LLMError]:
    kind = KINDS.get(named) if isinstance(named, str) else named
    if kind not in KINDS.values():
        what = named if isinstance(named, str) else getattr(named, "__name__", named)
        raise ConfigError(
            f"on= has no error {what!r} that another model could help with", hint=f"there are {', '.join(KINDS)}"
        )
    return cast("type[LLMError]", kind)


class Entry(NamedTuple):
    """A model of a chain: the target of its calls, and its own options."""

    model: str
    targets: Targets
    options: dict[str, Any]


class Chain:
    """The models of one client, and which of them are paused."""

    def __init__(self, fallback: Fallback, provider: TokenProvider | None) -> None:
        self.fallback = fallback
        self.entries = [
            Entry(one.model, Targets(one.model, provider=provider, **cast("Any", one._place)), one._options)  # pyright: ignore[reportPrivateUsage]
            for one in fallback.models
        ]
        for entry in self.entries:
            entry.targets.find(entry.model)
        self.until = [0.0] * len(self.entries)
        """The time until which each model is paused."""

    def single(self, caller: Caller, model: str | None) -> Caller:
        """The caller for a single model: the named one, or else the first."""
        entry = self.entries[0]
        if model is not None:
            vendor = model.partition("/")[0]
            near = [one for one in self.entries if one.model.partition("/")[0] == vendor]
            found = next((one for one in self.entries if one.model == model), None)
            entry = found or (near or self.entries)[0]._replace(options={}, model=model)
        return caller.for_model(entry.model, entry.targets, entry.options)

    def trials(self, caller: Caller, input: Input | None, options: dict[str, Any], *, stream: bool = False) -> Trials:
        """The attempts of one call with these models."""
        wrap_secrets(options)
        request = input if isinstance(input, Request) else Request()
        named = options.get("model") or request.model or None
        tied = any(options.get(name) or given(getattr(request, name)) or caller.defaults.get(name) for name in _STATE)
        return Trials(self, caller, options, named, alone=named is not None or tied, stream=stream)

    async def call(
        self,
        caller: Caller,
        input: Input | None,
        options: dict[str, Any],
        work: Callable[[Caller, dict[str, Any]], Awaitable[Reply]],
    ) -> Reply:
        """The reply of `work` with the first model that answers. Raises the most relevant error where none does."""
        trials = self.trials(caller, input, options)
        while True:
            try:
                found = await work(*trials.next())
            except LLMError as problem:
                error = trials.failed(problem)
                if error is None:
                    continue
            else:
                trials.answered()
                with_earlier(found, trials.attempts)
                return found
            raise error


class Trials:
    """The attempts of one call with one model after the other; `attempts` are the requests to models that failed."""

    def __init__(
        self, chain: Chain, caller: Caller, options: dict[str, Any], named: str | None, *, alone: bool, stream: bool
    ) -> None:
        self.attempts: tuple[Attempt, ...] = ()
        self.latest_call: WatchedCall | None = None
        """The latest call, if it has watchers."""
        self.failed_call: WatchedCall | None = None
        """The call to the previous model, if it has watchers."""
        self._chain, self._caller, self._options, self._named = chain, caller, options, named
        now, until = chain.fallback.clock(), chain.until
        # Paused models come last, ordered by the end of their pause.
        order = sorted(range(len(until)), key=lambda i: max(until[i] - now, 0.0))
        self._left: list[int | None] = [None] if alone else [*order]
        self._tried: list[tuple[str, LLMError]] = []
        self._model: int | None = None
        self._stream = stream
        self._started = time.monotonic()
        self._total = self._limits(self._option("timeout"))[1]

    def trail(self) -> Trail | None:
        """The state of a stream that another model may continue, else `None`."""
        if not self._chain.fallback.midstream:
            return None
        from .midstream import Trail

        return Trail()

    def next(self) -> tuple[Caller, dict[str, Any]]:
        """The caller for the next model, and the options of the call."""
        self._model = i = self._left.pop(0)
        if i is None:
            return self._chain.single(self._caller, self._named), {**self._options}
        entry, how = self._chain.entries[i], {**self._options}
        if self._tried or "timeout" in entry.options:
            own = entry.options.get("timeout")
            limits, total = self._limits(self._option("timeout") if own is None else own)
            seconds = min((one for one in (total, self._time_left()) if one is not None), default=None)
            how["timeout"] = replace(limits, total="none" if seconds is None else max(seconds, 0.001))
        caller = self._caller.for_model(entry.model, entry.targets, entry.options)
        caller.trials, self.failed_call = self, self.latest_call
        return caller, how

    def answered(self) -> None:
        """The model answered: end its pause."""
        if self._model is not None:
            self._chain.until[self._model] = 0.0

    def failed(self, error: LLMError) -> LLMError | None:
        """The error to raise, or `None` where the next model is tried."""
        i, fallback = self._model, self._chain.fallback
        if i is None:
            return error
        self.attempts = (*self.attempts, *error.attempts)
        self._tried.append((self._chain.entries[i].model, error))
        fits = isinstance(error, fallback.on)
        if fits and not isinstance(error, _ABOUT_REQUEST):
            self._chain.until[i] = fallback.clock() + fallback.pause
        left = self._time_left()
        if fits and self._left and (left is None or left > 0):
            return None
        if fits:
            error = max((one for _, one in reversed(self._tried)), key=_relevance)
        if len(self._tried) > 1:
            tried = ", ".join(f"{model} ({one.kind})" for model, one in self._tried)
            error.facts["said"] = error.message  # without the names of the models, for clients of a gateway
            error.message = printable(f"tried {tried}: {error.message}")
            error.args = (error.message,)
        error.attempts = self.attempts
        return error

    def _option(self, name: str) -> Any:
        """The option of the call, or else of the client."""
        value = self._options.get(name)
        return self._caller.defaults.get(name) if value is None else value

    def _limits(self, timeout: Any) -> tuple[Timeouts, float | None]:
        """The timeouts that an option means, and the seconds for a whole call."""
        found = (stream_timeouts_of if self._stream else timeouts_of)(timeout)
        return found, limit(found.total, None if self._stream else WHOLE)

    def _time_left(self) -> float | None:
        return None if self._total is None else self._total - (time.monotonic() - self._started)


def _relevance(error: LLMError) -> int:
    """An error response is raised before a failed connection, and both before a request that a model does not support."""
    return 0 if isinstance(error, _ABOUT_REQUEST) else 1 if isinstance(error, errors.APIConnectionError) else 2


def chain_of(models: object, misplaced: Mapping[str, Any], provider: TokenProvider | None) -> Chain:
    """The chain of a client. Raises `ConfigError` for arguments of a single model."""
    if given := [name for name, value in misplaced.items() if value is not None]:
        raise ConfigError(
            f"{given[0]}= belongs to one model", hint=f'Fallback([FallbackModel("vendor/model", {given[0]}=...), ...])'
        )
    return Chain(models if isinstance(models, Fallback) else Fallback(cast("Any", models)), provider)
