"""`Client` and `AsyncClient`: one call to any vendor, its answer as a `Reply`.

Both are thin: what happens is in `call.py` and `endpoints.py`, written once as coroutines. The sync client drives them over
a transport that never suspends, so no thread and no event loop is involved and it works inside a running loop as well.
Before changing this file, know that every public method takes the caller's place in the program first (`Site`), because a
warning about a loss points there.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar, Unpack, cast, overload

from . import endpoints
from .auth import Secret, Token, TokenProvider
from .call import Caller
from .driving import drive
from .errors import ConfigError, LLMError, printable
from .observers import EventHook, hooks_of
from .on_loss import Site
from .options import (
    FIELDS,
    SETTINGS,
    CallOptions,
    CallSettings,
    Input,
    InvalidOptions,
    OnLoss,
    OutputOptions,
    StreamCallOptions,
)
from .reply import Reply
from .retry import RetryPolicy
from .streaming import AsyncStream, Stream
from .target import Targets
from .transport import Timeouts, Transport

if TYPE_CHECKING:
    from types import TracebackType

    from .loop.tasks import AsyncRun
    from .loop.threads import Run
    from .models import Capabilities
    from .resources import AsyncModels, AsyncResponses, Models, Responses
    from .running import Offers, RunOptions
    from .transport.tls import TLSOption
    from .typed import AsyncJSONStream, JSONStream
    from .vendors import Vendor

T = TypeVar("T")


class Cancelled:
    """Nothing more to wait for."""

    def __await__(self) -> Iterator[None]:
        return iter(())


class _Shared:
    """What both kinds of client have and what involves no waiting."""

    _caller: Caller

    @property
    def vendor(self) -> str:
        """The name of the vendor behind the default model."""
        return self._caller.chosen({})[0].vendor

    @property
    def model(self) -> str:
        """The default model, as the vendor calls it."""
        return self._caller.chosen({})[0].model

    @property
    def endpoint(self) -> str:
        """The URL that requests go below."""
        return self._caller.chosen({})[0].endpoint.base_url

    def capabilities(self, model: str | None = None) -> Capabilities:
        """What is known of the default model, or of `model` as `"vendor/model"`. `None` in it is not known."""
        return self._caller.chosen({"model": model})[0].known

    def with_options(self, **options: Unpack[CallOptions]) -> Self:
        """The same client with these options for every call that does not say otherwise; they share connections."""
        other = object.__new__(type(self))
        other._caller = self._caller.with_options(_plain(options))
        return other

    def cancel(self) -> Cancelled:
        """End every call that is under way, from any thread; the client stays usable. May be awaited.

        A call that gives a `Reply` gives one whose `interrupted` is true, with what had come; the iteration over a stream
        ends and its `response` is that. What cannot say so raises `CallCancelledError`.
        """
        self._caller.cancel()
        return Cancelled()

    def close_idle(self) -> None:
        """Close connections that have waited for another call for a minute, or that the other side has ended.

        The next call does the same: this is for programs that may make none for long.
        """
        self._caller.transport.tidy()

    def __repr__(self) -> str:
        caller = getattr(self, "_caller", None)  # which a client that was refused has not
        name = type(self).__name__
        if caller is None or caller.defaults.get("model") is None:
            return f"<{name} without a model; name one in each call: .generate(..., model='vendor/model')>"
        model, place = printable(caller.defaults["model"], 80), ""
        with suppress(ConfigError):  # the environment may say something else since
            target = caller.targets.find(caller.defaults["model"])
            model = f"{target.vendor}/{target.model}"
            place = f" at {printable(target.endpoint.base_url, 120)} ({target.endpoint.wire})"
        return f"<{name} for {model}{place}; see .generate .stream .run .with_options>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} holds connections and a key; make a new one where it is needed")


def _plain(options: CallOptions | CallSettings | StreamCallOptions | RunOptions) -> dict[str, Any]:
    """The very dict of a method's keywords, so that the token in it is wrapped there too."""
    return cast("dict[str, Any]", options)


def _caller(
    transport: Transport,
    *,
    waits: bool,
    model: str | None,
    api_key: Secret | None,
    base_url: str | None,
    credentials: TokenProvider | None,
    wire: str | None,
    vendor: Vendor | str | None,
    on_event: EventHook | Iterable[EventHook] | None,
    defaults: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
) -> Caller:
    targets = Targets(model, api_key=api_key, base_url=base_url, wire=wire, vendor=vendor, provider=credentials)
    first = {**{name: value for name, value in settings.items() if value is not None}, **(defaults or {})}
    if model is not None:
        first["model"] = model
    return Caller(transport, targets, waits=waits, defaults=first, event_hooks=hooks_of(on_event))


def _refuse(kind: str, unknown: dict[str, Never]) -> Never:
    """Raise `ConfigError` for keywords that no client has."""
    from .keywords import refuse_constructor  # only for this message

    refuse_constructor(kind, unknown, FIELDS | SETTINGS)


def keeping(client: AsyncClient) -> AsyncClient:
    """The client, whose answers keep in `leftovers` what describes their documents, for a gateway that writes them again."""
    client._caller.targets.keep_documents()  # pyright: ignore[reportPrivateUsage]  (of this module)
    return client


def _check(http: object, max_connections: object, defaults: object, credentials: object, *, waits: bool) -> None:
    """Return if these are what they are called; `http` is told by what it can do, as `httpx` and `httpx2` can."""
    if defaults is not None and not isinstance(defaults, Mapping):
        raise ConfigError(f"defaults= takes options by name, not a {type(defaults).__name__}")
    if credentials is not None and not callable(credentials):
        raise ConfigError(f"credentials= takes a function (vendor, account), not a {type(credentials).__name__}")
    if not isinstance(max_connections, int) or max_connections < 1:
        raise ConfigError(f"max_connections is a number from 1, not {max_connections!r}")
    kind, closes = ("AsyncClient", "aclose") if waits else ("Client", "close")
    if http is not None and not all(hasattr(http, name) for name in ("build_request", "send", closes)):
        raise ConfigError(f"http= takes an httpx.{kind}, not a {type(http).__name__}")


class Client(_Shared):
    """Talks to the model named `"vendor/model"`, for synchronous callers; usable from many threads.

    `api_key` and `base_url` are for that model's vendor only. Without a key the vendor's environment variables are read, or
    `credentials`, a function `(vendor, account) -> token`, is asked for every request. `timeout` is seconds for the whole
    call or `Timeouts`, `retry` how many requests a call may make in all or a `RetryPolicy`. `http` is an `httpx.Client` to
    send through instead of connections of its own, `tls` whom those trust: a path, `TLS(...)` or an `ssl.SSLContext`.
    `defaults` are options for every call. `on_event` is told of every request.
    """

    def __init__(
        self,
        model: str | None = None,
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
        **unknown: Never,
    ) -> None:
        api_key = Secret(api_key) if isinstance(api_key, str) else api_key
        if unknown:
            _refuse(type(self).__name__, unknown)
        from .transport.blocking import SyncTransport  # loads the HTTP client

        _check(http, max_connections, defaults, credentials, waits=False)
        self._caller = _caller(
            SyncTransport(max_connections=max_connections, http=http, tls=tls),
            waits=False,
            model=model,
            api_key=api_key,
            base_url=base_url,
            credentials=credentials,
            wire=wire,
            vendor=vendor,
            on_event=on_event,
            defaults=defaults,
            settings={"timeout": timeout, "retry": retry, "on_loss": on_loss, "invalid_options": invalid_options},
        )

    def generate(self, input: Input | None = None, **options: Unpack[OutputOptions]) -> Reply:
        """The model's reply. `input` is a text, items, or a whole `Request`; every field of a request is a keyword.

        With `output`, a type or a JSON Schema, the reply's `parsed` is a value of it.
        """
        return drive(self._caller.generate(input, _plain(options), Site()))

    def generate_text(self, input: Input | None = None, **options: Unpack[CallOptions]) -> str:
        """The text of the reply. Raises `RefusalError` or `TruncatedError` where there is no whole answer."""
        return drive(self._caller.generate_text(input, _plain(options), Site()))

    @overload
    def generate_json(self, input: Input | None, type: type[T], **options: Unpack[CallOptions]) -> T: ...
    @overload
    def generate_json(self, input: Input | None, type: object, **options: Unpack[CallOptions]) -> Any: ...
    def generate_json(self, input: Input | None, type: object, **options: Unpack[CallOptions]) -> Any:
        """The answer as a value of `type`: a class, any type of JSON data, or a JSON Schema.

        The model is re-prompted with what does not fit, `max_repairs` times. Raises `SchemaMismatchError`, `RefusalError` or
        `TruncatedError`.
        """
        from .typed import generate_json

        return drive(generate_json(self._caller, input, _plain(options), Site(), type))

    def try_generate(self, input: Input | None = None, **options: Unpack[OutputOptions]) -> Reply | dict[str, Any]:
        """The reply, or the error as a value: `{"error": True, "description": ..., "suggestions": [...]}`."""
        try:
            return drive(self._caller.generate(input, _plain(options), Site()))
        except LLMError as error:
            return error.to_response()

    def stream(self, input: Input | None = None, **options: Unpack[StreamCallOptions]) -> Stream:
        """The model's reply as it comes: iterate over events or over `.text`, in a `with`. Takes what `generate` takes."""
        return Stream(self._caller, input, _plain(options), Site())

    @overload
    def stream_json(
        self, input: Input | None, type: type[T], **options: Unpack[StreamCallOptions]
    ) -> JSONStream[T]: ...
    @overload
    def stream_json(
        self, input: Input | None, type: object, **options: Unpack[StreamCallOptions]
    ) -> JSONStream[Any]: ...
    def stream_json(self, input: Input | None, type: object, **options: Unpack[StreamCallOptions]) -> JSONStream[Any]:
        """The value of `generate_json` while it is being written, in a `with`; `.value` is the checked value at the end.

        Iterating gives snapshots of what there is so far, as plain JSON data, each a value of its own. Of a `list[T]`,
        `.elements()` gives each element as a `T` as soon as all of it came. Raises `SchemaMismatchError`, `RefusalError` or
        `TruncatedError` at the end of the iteration; the model is not asked again.
        """
        from .typed import JSONStream

        return JSONStream(self._caller, input, _plain(options), Site(), type)

    def run(self, input: Input | None = None, tools: Offers = None, **options: Unpack[RunOptions]) -> Run[Reply]:
        """A run of the tool loop: `result()`, or `events()` or `stream()` to watch it. Takes what `generate` takes.

        `tools` are functions, `@tool`s, executors and definitions, several or one. `on_event` hears what happens, `approve` is
        asked where a tool needs it, `max_iterations`, `tool_timeout` (seconds), `timeout` (seconds) and `max_tool_threads` are
        limits, `deps` is what tools find as `ToolContext.deps`, and `state` resumes an earlier run. Raises `ConfigError` for
        tools that need `deps` without any.
        """
        from .running import run_of

        return run_of(self._caller, input, tools, _plain(options), Site())

    def generate_with_tools(
        self, input: Input | None = None, tools: Offers = None, **options: Unpack[RunOptions]
    ) -> Reply:
        """The model's reply once it has called these tools as often as it liked: `run(...).result()`."""
        from .running import run_of

        return run_of(self._caller, input, tools, _plain(options), Site()).result()

    @property
    def responses(self) -> Responses:
        """Stored responses: `retrieve`, `cancel`, `delete`, `input_items`, `compact`, `poll`."""
        from .resources import Responses

        return Responses(self._caller)

    @property
    def models(self) -> Models:
        """`models.list()` asks the vendor which models there are."""
        from .resources import Models

        return Models(self._caller)

    def count_tokens(self, input: Input | None = None, **options: Unpack[CallOptions]) -> int:
        """How many tokens the vendor counts in this input, with its tools and instructions."""
        return drive(endpoints.count_tokens(self._caller, input, _plain(options), Site()))

    def estimate_tokens(self, input: Input | None = None, **options: Unpack[CallOptions]) -> int:
        """About how many tokens this input has, with its tools and instructions: a quarter of its characters, and 256 for
        each image or file. Nothing is sent; `count_tokens` asks the vendor.
        """
        return endpoints.estimated_tokens(self._caller, input, _plain(options))

    def validate_access(self, **options: Unpack[CallSettings]) -> None:
        """Return if the vendor accepts the key, else raise its error. Costs no tokens where models can be listed."""
        drive(endpoints.validate_access(self._caller, _plain(options), Site()))

    def close(self) -> None:
        """Close the connections. Later calls raise `ClientClosedError`."""
        drive(self._caller.transport.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Shared):
    """`Client` for async callers, on asyncio and trio. `http` is an `httpx.AsyncClient`, `credentials` may be async."""

    def __init__(
        self,
        model: str | None = None,
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
        **unknown: Never,
    ) -> None:
        api_key = Secret(api_key) if isinstance(api_key, str) else api_key
        if unknown:
            _refuse(type(self).__name__, unknown)
        from .transport.asynchronous import AsyncTransport  # loads the HTTP client

        _check(http, max_connections, defaults, credentials, waits=True)
        self._caller = _caller(
            AsyncTransport(max_connections=max_connections, http=http, tls=tls),
            waits=True,
            model=model,
            api_key=api_key,
            base_url=base_url,
            credentials=credentials,
            wire=wire,
            vendor=vendor,
            on_event=on_event,
            defaults=defaults,
            settings={"timeout": timeout, "retry": retry, "on_loss": on_loss, "invalid_options": invalid_options},
        )

    # Not `async def`: the caller's place is known when the method is called, and no longer when a task awaits it.

    def generate(self, input: Input | None = None, **options: Unpack[OutputOptions]) -> Coroutine[Any, Any, Reply]:
        """The model's reply. `input` is a text, items, or a whole `Request`; every field of a request is a keyword.

        With `output`, a type or a JSON Schema, the reply's `parsed` is a value of it.
        """
        return self._caller.generate(input, _plain(options), Site())

    def generate_text(self, input: Input | None = None, **options: Unpack[CallOptions]) -> Coroutine[Any, Any, str]:
        """The text of the reply. Raises `RefusalError` or `TruncatedError` where there is no whole answer."""
        return self._caller.generate_text(input, _plain(options), Site())

    @overload
    def generate_json(
        self, input: Input | None, type: type[T], **options: Unpack[CallOptions]
    ) -> Coroutine[Any, Any, T]: ...
    @overload
    def generate_json(
        self, input: Input | None, type: object, **options: Unpack[CallOptions]
    ) -> Coroutine[Any, Any, Any]: ...
    def generate_json(
        self, input: Input | None, type: object, **options: Unpack[CallOptions]
    ) -> Coroutine[Any, Any, Any]:
        """The answer as a value of `type`: a class, any type of JSON data, or a JSON Schema.

        The model is re-prompted with what does not fit, `max_repairs` times. Raises `SchemaMismatchError`, `RefusalError` or
        `TruncatedError`.
        """
        from .typed import generate_json

        return generate_json(self._caller, input, _plain(options), Site(), type)

    def try_generate(
        self, input: Input | None = None, **options: Unpack[OutputOptions]
    ) -> Coroutine[Any, Any, Reply | dict[str, Any]]:
        """The reply, or the error as a value: `{"error": True, "description": ..., "suggestions": [...]}`."""
        return _or_error(self._caller.generate(input, _plain(options), Site()))

    def stream(self, input: Input | None = None, **options: Unpack[StreamCallOptions]) -> AsyncStream:
        """The model's reply as it comes: iterate over events or over `.text`, in an `async with`. Takes what `generate` takes."""
        return AsyncStream(self._caller, input, _plain(options), Site())

    @overload
    def stream_json(
        self, input: Input | None, type: type[T], **options: Unpack[StreamCallOptions]
    ) -> AsyncJSONStream[T]: ...
    @overload
    def stream_json(
        self, input: Input | None, type: object, **options: Unpack[StreamCallOptions]
    ) -> AsyncJSONStream[Any]: ...
    def stream_json(
        self, input: Input | None, type: object, **options: Unpack[StreamCallOptions]
    ) -> AsyncJSONStream[Any]:
        """What `Client.stream_json` gives, for `async with` and `async for`."""
        from .typed import AsyncJSONStream

        return AsyncJSONStream(self._caller, input, _plain(options), Site(), type)

    def run(self, input: Input | None = None, tools: Offers = None, **options: Unpack[RunOptions]) -> AsyncRun[Reply]:
        """A run of the tool loop: `await result()`, or `events()` or `stream()` to watch it. Takes what `generate` takes."""
        from .running import async_run_of

        return async_run_of(self._caller, input, tools, _plain(options), Site())

    def generate_with_tools(
        self, input: Input | None = None, tools: Offers = None, **options: Unpack[RunOptions]
    ) -> Coroutine[Any, Any, Reply]:
        """The model's reply once it has called these tools as often as it liked: `run(...).result()`."""
        from .running import async_run_of

        return async_run_of(self._caller, input, tools, _plain(options), Site()).result()

    @property
    def responses(self) -> AsyncResponses:
        """Stored responses: `retrieve`, `cancel`, `delete`, `input_items`, `compact`, `poll`."""
        from .resources import AsyncResponses

        return AsyncResponses(self._caller)

    @property
    def models(self) -> AsyncModels:
        """`models.list()` asks the vendor which models there are."""
        from .resources import AsyncModels

        return AsyncModels(self._caller)

    def count_tokens(self, input: Input | None = None, **options: Unpack[CallOptions]) -> Coroutine[Any, Any, int]:
        """How many tokens the vendor counts in this input, with its tools and instructions."""
        return endpoints.count_tokens(self._caller, input, _plain(options), Site())

    def estimate_tokens(self, input: Input | None = None, **options: Unpack[CallOptions]) -> int:
        """About how many tokens this input has, with its tools and instructions: a quarter of its characters, and 256 for
        each image or file. Nothing is sent; `count_tokens` asks the vendor.
        """
        return endpoints.estimated_tokens(self._caller, input, _plain(options))

    def validate_access(self, **options: Unpack[CallSettings]) -> Coroutine[Any, Any, None]:
        """Return if the vendor accepts the key, else raise its error. Costs no tokens where models can be listed."""
        return endpoints.validate_access(self._caller, _plain(options), Site())

    async def aclose(self) -> None:
        """Close the connections. Later calls raise `ClientClosedError`."""
        await self._caller.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


async def _or_error(work: Coroutine[Any, Any, Reply]) -> Reply | dict[str, Any]:
    try:
        return await work
    except LLMError as error:
        return error.to_response()
