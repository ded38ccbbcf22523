"""`client.responses` and `client.models`: stored responses and the vendor's list of models.

The methods have the names of the `openai` package. Before changing this file, know that every public method makes its `CallSite`
itself, because a warning about a loss points to the line that called it.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from ..errors import ConfigError
from ..sync import drive
from . import endpoints
from .endpoints import ModelInfo
from .loss_reports import CallSite
from .options import CallOptions, CallSettings, Input, RequestSettings, plain

if TYPE_CHECKING:
    from ..responses.items import AnyItem
    from ..responses.response import CompactedResponse
    from .call import Caller
    from .reply import Reply


class _Resource:
    """A group of a client's methods."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller.defaults.get('model') or 'a client'}>"


class _Elsewhere(_Resource):
    """Methods of the `openai` package whose equivalents here are methods of the client."""

    def create(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises `ConfigError`: use `client.generate`, and `client.stream` instead of `stream=True`."""
        raise _not_here("create", "generate(input, ...), or stream(input, ...) instead of stream=True")

    def parse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises `ConfigError`: use `client.generate_json`."""
        raise _not_here("parse", "generate_json(input, type), or generate(input, output=type) for a whole Reply")

    def stream(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises `ConfigError`: use `client.stream`."""
        raise _not_here("stream", "stream(input, ...)")


def _not_here(name: str, method: str) -> ConfigError:
    return ConfigError(f"client.responses has no method {name}", hint=f"use client.{method}")


class Responses(_Elsewhere):
    """Stored responses (server-side state) at vendors that store them: retrieve, cancel, delete, poll, compact.

    Every method raises `ConfigError` where the wire has no such endpoint, and the vendor's error, such as `NotFoundError`.
    """

    def retrieve(self, response_id: str, *, include: Sequence[str] = (), **options: Unpack[CallSettings]) -> Reply:
        """A stored response as a `Reply`, whatever its status. `include` names further output to include."""
        return drive(endpoints.stored(self._caller, response_id, plain(options), CallSite(), include=tuple(include)))

    def cancel(self, response_id: str, **options: Unpack[CallSettings]) -> Reply:
        """Cancel a response that is generated in the background (`background=True`); the response with its new status."""
        return drive(endpoints.stored(self._caller, response_id, plain(options), CallSite(), "cancel"))

    def delete(self, response_id: str, **options: Unpack[CallSettings]) -> None:
        """Delete a stored response. Raises `NotFoundError` where there is none."""
        drive(endpoints.delete(self._caller, response_id, plain(options)))

    def input_items(
        self,
        response_id: str,
        *,
        order: endpoints.Order = "asc",
        include: Sequence[str] = (),
        **options: Unpack[CallSettings],
    ) -> list[AnyItem]:
        """All input items of a stored response, oldest first unless `order="desc"`."""
        return drive(endpoints.input_items(self._caller, response_id, plain(options), order, include))

    def compact(self, input: Input | None = None, **options: Unpack[CallOptions]) -> CompactedResponse:
        """Compact a conversation: the `output` of the result replaces it as the beginning of the next input, unchanged."""
        return drive(endpoints.compact(self._caller, input, plain(options), CallSite()))

    def poll(
        self,
        response: Reply | str,
        *,
        interval: float = 2.0,
        timeout: float | None = None,
        **options: Unpack[RequestSettings],
    ) -> Reply:
        """Wait for a background response (`background=True`): retrieve it every `interval` seconds until it is finished.

        Raises `APITimeoutError` when it is not finished after `timeout` seconds, and the vendor's error where it failed.
        """
        return drive(endpoints.poll(self._caller, response, plain(options), CallSite(), interval, timeout))


class AsyncResponses(_Elsewhere):
    """`Responses` for async callers."""

    # Not `async def`: the caller's line is available when the method is called, not when a task awaits it.

    def retrieve(
        self, response_id: str, *, include: Sequence[str] = (), **options: Unpack[CallSettings]
    ) -> Coroutine[Any, Any, Reply]:
        """A stored response as a `Reply`, whatever its status. `include` names further output to include."""
        return endpoints.stored(self._caller, response_id, plain(options), CallSite(), include=tuple(include))

    def cancel(self, response_id: str, **options: Unpack[CallSettings]) -> Coroutine[Any, Any, Reply]:
        """Cancel a response that is generated in the background (`background=True`); the response with its new status."""
        return endpoints.stored(self._caller, response_id, plain(options), CallSite(), "cancel")

    def delete(self, response_id: str, **options: Unpack[CallSettings]) -> Coroutine[Any, Any, None]:
        """Delete a stored response. Raises `NotFoundError` where there is none."""
        return endpoints.delete(self._caller, response_id, plain(options))

    def input_items(
        self,
        response_id: str,
        *,
        order: endpoints.Order = "asc",
        include: Sequence[str] = (),
        **options: Unpack[CallSettings],
    ) -> Coroutine[Any, Any, list[AnyItem]]:
        """All input items of a stored response, oldest first unless `order="desc"`."""
        return endpoints.input_items(self._caller, response_id, plain(options), order, include)

    def compact(
        self, input: Input | None = None, **options: Unpack[CallOptions]
    ) -> Coroutine[Any, Any, CompactedResponse]:
        """Compact a conversation: the `output` of the result replaces it as the beginning of the next input, unchanged."""
        return endpoints.compact(self._caller, input, plain(options), CallSite())

    def poll(
        self,
        response: Reply | str,
        *,
        interval: float = 2.0,
        timeout: float | None = None,
        **options: Unpack[RequestSettings],
    ) -> Coroutine[Any, Any, Reply]:
        """Wait for a background response (`background=True`): retrieve it every `interval` seconds until it is finished.

        Raises `APITimeoutError` when it is not finished after `timeout` seconds, and the vendor's error where it failed.
        """
        return endpoints.poll(self._caller, response, plain(options), CallSite(), interval, timeout)


class Models(_Resource):
    """The models of the client's vendor."""

    def list(self, **options: Unpack[CallSettings]) -> list[ModelInfo]:
        """The models that the vendor lists, in its order; one request for each page of the list.

        Raises the vendor's error. `client.capabilities()` describes a model without a request.
        """
        return drive(endpoints.list_models(self._caller, plain(options)))


class AsyncModels(_Resource):
    """`Models` for async callers."""

    def list(self, **options: Unpack[CallSettings]) -> Coroutine[Any, Any, list[ModelInfo]]:
        """The models that the vendor lists, in its order; one request for each page of the list.

        Raises the vendor's error. `client.capabilities()` describes a model without a request.
        """
        return endpoints.list_models(self._caller, plain(options))
