"""`Client` and `AsyncClient`: calls to any vendor, which return a `Reply`.

Both are thin: the work is in `call.py`, `generate.py` and `endpoints.py`, written once as coroutines. The sync client
drives them over a transport that never suspends, so it uses no thread and no event loop and works inside a running loop
as well. Before changing this file, know that every public method takes the caller's place in the program first
(`CallSite`), because a warning about a loss points there.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never, Self, TypeVar, Unpack, overload

from ..errors import ConfigError, Failure, LLMError, printable
from ..sync import drive
from ..transport import Timeouts
from ..transport.retry import RetryPolicy
from ..vendors.auth import Secret, Token, TokenProvider
from . import endpoints
from .call import Caller
from .generate import generate, generate_text
from .hooks import EventHook, hooks_of, telemetry_of, watcher_of
from .logs import log_by_environment
from .loss_reports import CallSite
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
    plain,
)
from .reply import Reply
from .stream import AsyncStream, Stream
from .target import Targets

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType

    from ..conversation.chat import AsyncChat, Chat
    from ..loop.tasks import AsyncRun
    from ..loop.threads import Run
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
    from .endpoints import Access
    from .resources import AsyncModels, AsyncResponses, Models, Responses
    from .run import NewChat, Offers, RunOptions
    from .typed import AsyncJSONStream, JSONStream

    ModelChoice = str | Fallback | Sequence[str | FallbackModel]
    """A model as `"vendor/model"`, or several for fallback: where one fails, the next one is tried."""

T = TypeVar("T")


class Cancelled:
    """The result of `cancel()`, which may be awaited and does not wait."""

    def __await__(self) -> Iterator[None]:
        return iter(())


class _Shared:
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
        return endpoints.estimated_tokens(self._caller, input, plain(options))

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


def keeping(client: AsyncClient) -> AsyncClient:
    """The client, whose answers keep the description of their documents in `leftovers`, for a gateway that encodes them again."""
    caller = client._caller  # pyright: ignore[reportPrivateUsage]  (of this module)
    for targets in [caller.targets, *(entry.targets for entry in (caller.fallback.entries if caller.fallback else ()))]:
        targets.keep_documents()
    return client


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


class Client(_Shared):
    """The client for the model `"vendor/model"`, for synchronous callers; may be used from many threads.

    With several models (a list or a `Fallback`), the next one is tried where one fails. `api_key` and `base_url` are
    for that model's vendor only. Without a key the vendor's environment variables are read, or `credentials`, a
    function `(vendor, account) -> token`, is called for every request. `timeout` is seconds for the whole call or
    `Timeouts`, `retry` the number of requests per call or a `RetryPolicy`. `http` is an `httpx.Client` to send through
    instead of connections of its own, `tls` their TLS configuration: a path of certificate authorities, `TLS(...)` or
    an `ssl.SSLContext`. `defaults` are options for every call. `on_event` is called for every call and request,
    `telemetry` records them with OpenTelemetry, `rate_limit` makes requests wait for rate limits, `cache` stores
    answers for identical requests, `budget` limits what calls spend, and `prices` is a file for `reply.cost`. Raises
    `ConfigError` for invalid arguments.
    """

    _waits = False

    def _transport(self, **options: Any) -> Transport:
        from ..transport.blocking import SyncTransport  # loads the HTTP client

        return SyncTransport(**options)

    def generate(self, input: Input | None = None, **options: Unpack[OutputOptions]) -> Reply:
        """Send a request; the model's reply. `input` is a text, items, or a whole `Request`; its fields are keywords too.

        With `output`, a type or a JSON Schema, the reply's `parsed` is a value of it; `OutputError` is raised where the answer
        does not match. Raises `ConfigError`, `CapabilityError` or `LossError`
        before anything is sent, and an `APIError` where the call fails.
        """
        return drive(generate(self._caller, input, plain(options), CallSite()))

    def generate_text(self, input: Input | None = None, **options: Unpack[CallOptions]) -> str:
        """The text of the model's reply. Arguments and errors as of `generate`.

        Raises `RefusalError` where the model refuses, and `TruncatedError` where the answer is incomplete.
        """
        return drive(generate_text(self._caller, input, plain(options), CallSite()))

    @overload
    def generate_json(self, input: Input | None, type: type[T], **options: Unpack[CallOptions]) -> T: ...
    @overload
    def generate_json(self, input: Input | None, type: object, **options: Unpack[CallOptions]) -> Any: ...
    def generate_json(self, input: Input | None, type: object, **options: Unpack[CallOptions]) -> Any:
        """Typed output: the answer as a value of `type`: a class, any type of JSON data, or a JSON Schema.

        The model is re-prompted with the validation errors, `max_repairs` times. Raises `SchemaMismatchError`,
        `RefusalError` or `TruncatedError`.
        """
        from .typed import generate_json

        return drive(generate_json(self._caller, input, plain(options), CallSite(), type))

    def try_generate(self, input: Input | None = None, **options: Unpack[OutputOptions]) -> Reply | Failure:
        """The reply, or the error as a value: a `Failure`, which is false, with `description`, `suggestions` and `error`."""
        return drive(_or_failure(generate(self._caller, input, plain(options), CallSite())))

    def map(
        self,
        prompts: Iterable[Input],
        *,
        concurrency: int = 16,
        progress: Callable[[int, int | None], object] | None = None,
        **options: Unpack[OutputOptions],
    ) -> list[Reply | Failure]:
        """The replies to many prompts, in their order, `concurrency` at a time; a `Failure`, which is false, where one failed.

        With `output` each reply's `parsed` is a value of it. `progress` is called with how many are answered, and of how many.
        `Bulk` is for runs that survive a crash. Raises `ConfigError` for wrong options, `CallCancelledError` after `cancel()`.
        """
        from ..bulk.run import Map

        return Map(self._caller, plain(options), concurrency, progress, CallSite()).in_threads(prompts)

    def stream(self, input: Input | None = None, **options: Unpack[StreamCallOptions]) -> Stream:
        """Streaming: iterate over the events of the reply, or over its `.text`, in a `with`. Arguments as of `generate`.

        Raises `ConfigError`, `CapabilityError` or `LossError` at once, and the errors of the call in the `with`.
        """
        return Stream(self._caller, input, plain(options), CallSite())

    @overload
    def stream_json(
        self, input: Input | None, type: type[T], **options: Unpack[StreamCallOptions]
    ) -> JSONStream[T]: ...
    @overload
    def stream_json(
        self, input: Input | None, type: object, **options: Unpack[StreamCallOptions]
    ) -> JSONStream[Any]: ...
    def stream_json(self, input: Input | None, type: object, **options: Unpack[StreamCallOptions]) -> JSONStream[Any]:
        """Streaming of `generate_json`, in a `with`; `.value` is the validated value at the end.

        Iterating yields snapshots of the value so far, as plain JSON data. Of a `list[T]`,
        `.elements()` yields each element as a `T` as soon as it is complete. Raises `SchemaMismatchError`, `RefusalError` or
        `TruncatedError` at the end of the iteration; the model is not re-prompted.
        """
        from .typed import JSONStream

        return JSONStream(self._caller, input, plain(options), CallSite(), type)

    def run(self, input: Input | None = None, tools: Offers = None, **options: Unpack[RunOptions]) -> Run[Reply]:
        """A run of the tool loop: `result()`, or `events()` or `stream()` to watch it. Arguments as of `generate`.

        `tools` are functions, `@tool`s, executors and definitions, several or one. `on_event` is called for every event of the
        run, `approve` for every call that needs approval. `max_iterations`, `tool_timeout` (seconds), `timeout` (seconds) and
        `max_tool_threads` are limits, `deps` is what tools get as `ToolContext.deps`, and `state` resumes an earlier run. Nothing
        is sent before the run is started. Raises `ConfigError` for tools that need `deps` without any.
        """
        from .run import run_of

        return run_of(self._caller, input, tools, plain(options), CallSite())

    def generate_with_tools(
        self, input: Input | None = None, tools: Offers = None, **options: Unpack[RunOptions]
    ) -> Reply:
        """The model's last reply, after all tool calls: `run(...).result()`, with its errors."""
        from .run import run_of

        return run_of(self._caller, input, tools, plain(options), CallSite()).result()

    def chat(self, **options: Unpack[NewChat]) -> Chat:
        """A conversation with the model, turn by turn: `chat.ask(...)`, `chat.stream(...)`, `chat.run(...)`.

        `system` is the system prompt, `tools` are run as `run` does, `conversation` is one to continue, or its id in `store`,
        where every turn is written. `context` is sent before the history, `keep_partial` keeps turns that fail or are cancelled.
        The other options are those of `run`, among them `limits`, for every turn. Raises `ConfigError`, and `StoreError`.
        """
        from ..conversation.chat import Chat

        return Chat(self._caller, plain(options))

    @property
    def responses(self) -> Responses:
        """Stored responses (server-side state): `retrieve`, `cancel`, `delete`, `input_items`, `compact`, `poll`."""
        from .resources import Responses

        return Responses(self._caller)

    @property
    def models(self) -> Models:
        """The models of the vendor: `models.list()`."""
        from .resources import Models

        return Models(self._caller)

    def count_tokens(self, input: Input | None = None, **options: Unpack[CallOptions]) -> int:
        """The number of input tokens as counted by the vendor, tools and instructions included.

        Raises `ConfigError` where the wire has no endpoint for that.
        """
        return drive(endpoints.count_tokens(self._caller, input, plain(options), CallSite()))

    def validate_access(self, **options: Unpack[CallSettings]) -> Access:
        """Whether the vendor accepts the key: an `Access`, true where it does, with the `error` where it does not.

        It lists the models, which costs no tokens, or makes the smallest request where a host has no list. Raises
        `ConfigError` for wrong arguments only, and `ClientClosedError`.
        """
        return drive(endpoints.validate_access(self._caller, plain(options), CallSite()))

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

    _waits = True

    def _transport(self, **options: Any) -> Transport:
        from ..transport.asynchronous import AsyncTransport  # loads the HTTP client

        return AsyncTransport(**options)

    # Not `async def`: the caller's line is available when the method is called, not when a task awaits it.

    def generate(self, input: Input | None = None, **options: Unpack[OutputOptions]) -> Coroutine[Any, Any, Reply]:
        """Send a request; the model's reply. `input` is a text, items, or a whole `Request`; its fields are keywords too.

        With `output`, a type or a JSON Schema, the reply's `parsed` is a value of it; `OutputError` is raised where the answer
        does not match. Raises `ConfigError`, `CapabilityError` or `LossError`
        before anything is sent, and an `APIError` where the call fails.
        """
        return generate(self._caller, input, plain(options), CallSite())

    def generate_text(self, input: Input | None = None, **options: Unpack[CallOptions]) -> Coroutine[Any, Any, str]:
        """The text of the model's reply. Arguments and errors as of `generate`.

        Raises `RefusalError` where the model refuses, and `TruncatedError` where the answer is incomplete.
        """
        return generate_text(self._caller, input, plain(options), CallSite())

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
        """Typed output: the answer as a value of `type`: a class, any type of JSON data, or a JSON Schema.

        The model is re-prompted with the validation errors, `max_repairs` times. Raises `SchemaMismatchError`,
        `RefusalError` or `TruncatedError`.
        """
        from .typed import generate_json

        return generate_json(self._caller, input, plain(options), CallSite(), type)

    def try_generate(
        self, input: Input | None = None, **options: Unpack[OutputOptions]
    ) -> Coroutine[Any, Any, Reply | Failure]:
        """The reply, or the error as a value: a `Failure`, which is false, with `description`, `suggestions` and `error`."""
        return _or_failure(generate(self._caller, input, plain(options), CallSite()))

    def map(
        self,
        prompts: Iterable[Input],
        *,
        concurrency: int = 16,
        progress: Callable[[int, int | None], object] | None = None,
        **options: Unpack[OutputOptions],
    ) -> Coroutine[Any, Any, list[Reply | Failure]]:
        """The replies to many prompts, in their order, `concurrency` at a time; a `Failure`, which is false, where one failed.

        With `output` each reply's `parsed` is a value of it. `progress` is called with how many are answered, and of how many.
        `Bulk` is for runs that survive a crash. Raises `ConfigError` for wrong options, `CallCancelledError` after `cancel()`.
        """
        from ..bulk.run import Map

        return Map(self._caller, plain(options), concurrency, progress, CallSite()).in_tasks(prompts)

    def stream(self, input: Input | None = None, **options: Unpack[StreamCallOptions]) -> AsyncStream:
        """Streaming: iterate over the events of the reply, or over its `.text`, in an `async with`. Arguments as of `generate`.

        Raises `ConfigError`, `CapabilityError` or `LossError` at once, and the errors of the call in the `async with`.
        """
        return AsyncStream(self._caller, input, plain(options), CallSite())

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
        """`Client.stream_json` for async callers: `async with` and `async for`."""
        from .typed import AsyncJSONStream

        return AsyncJSONStream(self._caller, input, plain(options), CallSite(), type)

    def run(self, input: Input | None = None, tools: Offers = None, **options: Unpack[RunOptions]) -> AsyncRun[Reply]:
        """A run of the tool loop: `await result()`, or `events()` or `stream()` to watch it.

        Takes and raises what `Client.run` does; `approve` and tools may be async.
        """
        from .run import async_run_of

        return async_run_of(self._caller, input, tools, plain(options), CallSite())

    def generate_with_tools(
        self, input: Input | None = None, tools: Offers = None, **options: Unpack[RunOptions]
    ) -> Coroutine[Any, Any, Reply]:
        """The model's last reply, after all tool calls: `run(...).result()`, with its errors."""
        from .run import async_run_of

        return async_run_of(self._caller, input, tools, plain(options), CallSite()).result()

    def chat(self, **options: Unpack[NewChat]) -> AsyncChat:
        """`Client.chat` for async callers."""
        from ..conversation.chat import AsyncChat

        return AsyncChat(self._caller, plain(options))

    @property
    def responses(self) -> AsyncResponses:
        """Stored responses (server-side state): `retrieve`, `cancel`, `delete`, `input_items`, `compact`, `poll`."""
        from .resources import AsyncResponses

        return AsyncResponses(self._caller)

    @property
    def models(self) -> AsyncModels:
        """The models of the vendor: `models.list()`."""
        from .resources import AsyncModels

        return AsyncModels(self._caller)

    def count_tokens(self, input: Input | None = None, **options: Unpack[CallOptions]) -> Coroutine[Any, Any, int]:
        """The number of input tokens as counted by the vendor, tools and instructions included.

        Raises `ConfigError` where the wire has no endpoint for that.
        """
        return endpoints.count_tokens(self._caller, input, plain(options), CallSite())

    def validate_access(self, **options: Unpack[CallSettings]) -> Coroutine[Any, Any, Access]:
        """Whether the vendor accepts the key: an `Access`, true where it does, with the `error` where it does not.

        It lists the models, which costs no tokens, or makes the smallest request where a host has no list. Raises
        `ConfigError` for wrong arguments only, and `ClientClosedError`.
        """
        return endpoints.validate_access(self._caller, plain(options), CallSite())

    async def aclose(self) -> None:
        """Close the connections. Later calls raise `ClientClosedError`."""
        await self._caller.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


async def _or_failure(work: Coroutine[Any, Any, Reply]) -> Reply | Failure:
    try:
        return await work
    except LLMError as error:
        return Failure(error.message, error.suggestions, error)
