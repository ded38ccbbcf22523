"""`Client` and `AsyncClient`: calls to any vendor, which return a `Reply`.

Both are thin: the work is in `call.py`, `generate.py` and `endpoints.py`, written once as coroutines. The sync client
drives them over a transport that never suspends, so it uses no thread and no event loop and works inside a running loop
as well. Before changing this file, know that every public method takes the caller's place in the program first
(`CallSite`), because a warning about a loss points there.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload

from ..sync import drive
from . import endpoints
from .base import BaseClient
from .generate import generate, generate_text, try_generate
from .loss_reports import CallSite
from .options import CallOptions, CallSettings, Input, OutputOptions, StreamCallOptions, plain
from .reply import Reply
from .stream import AsyncStream, Stream

if TYPE_CHECKING:
    from types import TracebackType

    from ..conversation.chat import AsyncChat, Chat
    from ..errors import Failure
    from ..loop.tasks import AsyncRun
    from ..loop.threads import Run
    from ..transport.exchange import Transport
    from .endpoints import Access
    from .resources import AsyncModels, AsyncResponses, Models, Responses
    from .run import NewChat, Offers, RunOptions
    from .target import Guard
    from .typed import AsyncJSONStream, JSONStream

T = TypeVar("T")


class Client(BaseClient):
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
        return drive(try_generate(self._caller, input, plain(options), CallSite()))

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


class AsyncClient(BaseClient):
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
        return try_generate(self._caller, input, plain(options), CallSite())

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


def for_gateway(client: AsyncClient, *, largest: int, guard: Guard | None = None) -> AsyncClient:
    """The client, for a gateway that encodes its answers again: they keep the description of their documents in `leftovers`.

    A request body of more than `largest` bytes is not sent; the call raises `RequestTooLargeError`. `guard` checks the
    body of each request that asks for an answer.
    """
    caller = client._caller  # pyright: ignore[reportPrivateUsage]  (of its base class)
    for targets in [caller.targets, *(entry.targets for entry in (caller.fallback.entries if caller.fallback else ()))]:
        targets.keep_documents(guard)
    caller.limit_bodies(largest)
    return client
