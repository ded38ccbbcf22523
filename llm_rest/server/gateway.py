"""The gateway handler: maps a caller's model name to a vendor's model, sends the request there, and answers under that name.

Before changing this file, know the permissions. A caller controls the content of a request; keys, URLs and state stored at a
vendor are the operator's, so references to such state are resolved by the `StoredHistory` or rejected. Conversion losses are
reported and not fatal; `facts_of` maps upstream errors.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec.structs import replace

from ..client.client import AsyncClient, for_gateway
from ..conversation.limits import summary_request
from ..errors import ConfigError, ErrorFacts, LLMError, NotFoundError, printable
from ..responses import Response
from ..responses import events as ev
from ..responses.estimate import estimate_tokens
from ..transport import Timeouts
from ..unknown import Unknown, base, extras, given, with_extras
from ..vendors.auth import Secret, credentials
from ..vendors.dialects import OPENAI
from ..vendors.models import Capabilities, capabilities
from ..vendors.rows import MESSAGES, VENDORS, Endpoint, resolve
from .config import Config, Upstream, Upstreams, access_control
from .escapes import Guard, is_private, urls_of
from .exchange import empty_response
from .handler import Refused, invalid_request
from .history import StoredHistory, compacted_by_summary
from .seals import Seals
from .stored import OwnIds

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Generator, Sequence

    from ..client.reply import CallInfo, Reply
    from ..responses import AnyItem, Request
    from ..responses.response import CompactedResponse
    from ..unknown import Opt
    from .access import AccessControl
    from .handler import Context, HandlerEvent
    from .stored import Turn

T = TypeVar("T")

_WHOLE = (ev.ResponseCreated, ev.ResponseQueued, ev.ResponseInProgress, *ev.TERMINAL)
"""The events that contain a response."""


class _Target(NamedTuple):
    """The target of a name: the client, the model there as `vendor/model`, and the model name in the answer."""

    client: AsyncClient
    endpoint: Endpoint
    model: str
    shown: str
    several: bool = False
    refuses_urls: bool = False

    def request(self, prepared: Request) -> Request:
        """The upstream request; the client itself chooses among several models."""
        return replace(prepared, model=None) if self.several else prepared


class Gateway:
    """The gateway handler: forwards requests to the vendors of the models in `config`.

    API keys are read from the environment: the vendor's own variables, or `Upstream.key_env`. Raises `ConfigError` for
    an unknown vendor and for a missing key. Close it with `aclose`.
    """

    def __init__(self, config: Config, *, history: StoredHistory | None = None) -> None:
        self._history = history or config.keep.history()
        self.seals = Seals(config.seal.keys(), self._history.secret())
        """The seals on the opaque state that clients get."""
        self._config = config
        self._limits = config.limits
        self._guard = Guard(config)
        self._shared = self._client()
        self._named = {name: self._target(named, name) for name, named in config.models.items()}
        self._default: _Target | None = None
        if config.default is not None:
            first = _upstreams(config.default)[0].model
            self._default = self._named[first] = self._target(config.default, first)
        vendors = {target.endpoint.vendor.name for target in self._named.values()}
        self._vendor_targets: dict[str, _Target] = {}
        self._vendors = set(VENDORS) if "*" in config.vendors else vendors | {*config.vendors}
        if unknown := self._vendors - VENDORS.keys():
            raise ConfigError(f"there is no vendor {min(unknown)!r}", hint=f"there are {', '.join(VENDORS)}")

    def _client(self, **where: Any) -> AsyncClient:
        seconds = self._limits.seconds
        client = AsyncClient(
            **where,
            timeout=None if seconds is None else Timeouts(total=seconds),
            max_connections=self._limits.upstream,
            on_loss="ignore",
            invalid_options="drop",
        )
        return for_gateway(client, largest=self._limits.body, guard=self._guard)

    def _target(self, named: Upstreams, shown: str) -> _Target:
        places = [(upstream, _key(upstream, shown)) for upstream in _upstreams(named)]
        endpoints = [resolve(upstream.model, wire=upstream.wire, base_url=upstream.base_url) for upstream, _ in places]
        for endpoint, (_, key) in zip(endpoints, places, strict=True):
            credentials(endpoint, api_key=key).headers()
        refuses = any(
            _refuses_urls(endpoint, upstream) for endpoint, (upstream, _) in zip(endpoints, places, strict=True)
        )
        if isinstance(named, tuple):
            from ..policy.fallback import Fallback, FallbackModel

            chain = Fallback(
                [FallbackModel(one.model, api_key=key, wire=one.wire, base_url=one.base_url) for one, key in places]
            )
            return _Target(self._client(model=chain), endpoints[0], places[0][0].model, shown, True, refuses)
        ((upstream, key),) = places
        if key is None and upstream.wire is None and upstream.base_url is None:
            return _Target(self._shared, endpoints[0], upstream.model, shown, refuses_urls=refuses)
        own = self._client(model=upstream.model, api_key=key, wire=upstream.wire, base_url=upstream.base_url)
        return _Target(own, endpoints[0], upstream.model, shown, refuses_urls=refuses)

    # Methods of a handler.

    async def answer(self, request: Request, context: Context) -> Response:
        """The model's response. Raises the vendor's `LLMError`, and `Refused` where the request cannot be served."""
        target, prepared = await self._prepared(request, context)
        reply = await _generate(target, target.request(prepared), context)
        self._as_requested(reply, request, target, context)
        await self._history.after(request, prepared, reply, context, self._history.ids(request, context))
        return reply

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        """The model's response as a stream: batches of events, as they arrive from the vendor."""
        target, prepared = await self._prepared(request, context)
        ids = self._history.ids(request, context)
        with _noting_errors(context):
            # Computed before the first event, or the header would depend on how much of the answer arrives at once.
            context.losses.extend(sent := (events := target.client.stream(target.request(prepared))).losses)
            try:
                async with events:
                    while batch := await events.batch():
                        for event in batch:
                            if isinstance(event, _WHOLE):
                                self._as_requested(event.response, request, target, context)
                                if isinstance(event, ev.TERMINAL):
                                    await self._history.after(request, prepared, event.response, context, ids)
                                elif ids is not None:
                                    ids.name(event.response)
                            elif ids is not None:
                                ids.name_event(event)
                        yield batch
            finally:
                how = events.response.info
                context.late.extend(how.losses[len(sent) :])
                _note_vendor(context, how)

    async def without_output(self, request: Request, context: Context) -> Response:
        """A response without output, for which no vendor is asked; stored, so that the next request can continue it."""
        target, prepared = await self._prepared(request, context)
        del context.facts["vendor"], context.facts["upstream_model"]
        response = empty_response(f"resp_{context.request_id}", target.shown, time.time())
        self._as_requested(response, request, target, context)
        await self._history.after(request, prepared, response, context, self._history.ids(request, context))
        return response

    async def count(self, request: Request, context: Context) -> int:
        """The number of input tokens by the vendor's count; an estimate where the vendor has no endpoint for that."""
        target, prepared = await self._prepared(request, context)
        counted = await _by_vendor(target.client.count_tokens(prepared), context)
        if counted is not None:
            return counted
        context.losses.changed("input_tokens", "estimated, since the vendor does not count")
        return estimate_tokens(prepared)

    async def turn(self, response_id: str, context: Context) -> Turn | None:
        """A stored response with its input; `None` where there is none of this id."""
        return await self._history.turn(response_id, context)

    async def forget(self, response_id: str, context: Context) -> bool:
        """Delete a stored response; whether there was one."""
        return await self._history.forget(response_id, context)

    async def compact(self, request: Request, context: Context) -> CompactedResponse:
        """A compacted conversation from the vendor, or a summary by the model where the vendor has no such endpoint."""
        target, prepared = await self._prepared(request, context)
        compacted = await _by_vendor(target.client.responses.compact(prepared), context)
        if compacted is None:
            compacted = compacted_by_summary(prepared, await _generate(target, summary_request(prepared), context))
        return replace(compacted, id=OwnIds().id)

    def models(self) -> Sequence[str]:
        """The names of the configured models."""
        return [*self._named]

    def has_model(self, name: str) -> bool:
        """Whether the name is configured, or is `vendor/model` of a vendor that is served."""
        return name in self._named or name.partition("/")[0] in self._vendors

    def capabilities(self, name: str) -> Capabilities:
        """The capabilities of the model of this name. Raises `Refused` (404) where there is none."""
        endpoint = self._found(name).endpoint
        return capabilities(endpoint.model, endpoint.vendor.name)

    def dialect(self, wire: str, model: Opt[str]) -> Any:
        """The vendor's dialect where the caller uses its wire, so that only the model's name changes; else `None`."""
        endpoint = self._found(model or "").endpoint
        return endpoint.dialect if endpoint.wire == wire else None

    def access_control(self, host: str | None) -> AccessControl:
        """The access control that the configuration describes. Raises `ConfigError` as `llm_rest.server.access_control` does."""
        return access_control(self._config, host)

    def tidy(self) -> None:
        """Close idle connections to vendors: those unused for a minute, and those closed by the vendor."""
        for client in self._clients():
            client.close_idle()

    async def aclose(self) -> None:
        """Close the connections to all vendors, and the store of the history."""
        for client in self._clients():
            await client.aclose()
        self._history.close()

    def _clients(self) -> set[AsyncClient]:
        return {self._shared, *(target.client for target in self._named.values())}

    def _as_requested(self, response: Response, request: Request, target: _Target, context: Context) -> None:
        """Set the fields of the answer that depend on the caller's request."""
        response.model = target.shown
        response.previous_response_id = request.previous_response_id if given(request.previous_response_id) else None
        response.store = self._history.keeps(request, context)

    # Preparing requests.

    async def _prepared(self, request: Request, context: Context) -> tuple[_Target, Request]:
        """The target of the request, and the request for the vendor."""
        target = self._found(request.model or "")
        context.facts["vendor"] = target.endpoint.vendor.name
        context.facts["upstream_model"] = printable(target.endpoint.model, 200)
        if request.background is True:
            raise invalid_request("This server answers at once and has no background responses.", "background")
        if given(request.conversation):
            raise invalid_request("This server has no conversations; it has previous_response_id.", "conversation")
        if given(request.leftovers) and request.leftovers.get(MESSAGES, {}).get("thread"):
            message = "This server has no threads; send the whole conversation as messages."
            raise invalid_request(message, "thread", code="thread_unsupported_request")  # the SDK then does so
        prepared = await self._history.before(replace(request, model=target.model), target.endpoint.wire, context)
        if target.refuses_urls and (path := next(urls_of(prepared), None)) is not None:
            message = f"{path}: this server passes no URLs to this model; send the data itself, as base64"
            raise invalid_request(message, path, code="unsupported_parameter")
        if target.several or target.endpoint.base_url != VENDORS[OPENAI].base_url:
            prepared = _without_private_fields(prepared, context)
        most, limit = self._limits.output_tokens, request.max_output_tokens
        if most is not None and not (given(limit) and limit <= most):
            if given(limit):
                context.losses.changed("max_output_tokens", f"the server allows {most}")
            limit = most
        if given(prepared.background_options):
            context.losses.dropped("background_options", "this server answers at once")
        return target, replace(
            prepared,
            model=target.model,
            max_output_tokens=limit,
            store=None,
            background=None,
            background_options=None,
            previous_response_id=None,
            conversation=None,
            extra=_betas(context),
        )

    def _found(self, name: str) -> _Target:
        target = self._named.get(name) or self._vendor_targets.get(name)
        if target is not None:
            return target
        vendor, slash, model = name.partition("/")
        if slash and model and vendor in self._vendors:
            if len(self._vendor_targets) >= 1000:
                self._vendor_targets.clear()  # bounded, because callers choose the names
            target = self._vendor_targets[name] = self._of_vendor(name)
            return target
        if self._default is not None and not (slash and vendor in VENDORS):
            return self._default
        if not name:
            raise invalid_request("You must name a model.", "model")
        known = ", ".join(self._named)
        message = f"The model '{printable(name, 100)}' does not exist here; there is {known}."
        raise Refused(ErrorFacts(status=404, message=message, code="model_not_found", param="model"))

    def _of_vendor(self, name: str) -> _Target:
        try:
            endpoint = resolve(name)
        except ConfigError as problem:
            raise Refused(ErrorFacts(status=404, message=problem.message, code="model_not_found")) from None
        try:
            credentials(endpoint).headers()
        except ConfigError:
            message = f"This server has no access to {endpoint.vendor.name}."
            raise Refused(ErrorFacts(status=502, message=message, should_retry=False)) from None
        return _Target(self._shared, endpoint, name, name, refuses_urls=_refuses_urls(endpoint, Upstream(model=name)))


def _refuses_urls(endpoint: Endpoint, upstream: Upstream) -> bool:
    """Whether no URL is sent there: an upstream in a private network would fetch it inside of that network."""
    return upstream.urls == "refuse" or (upstream.urls is None and is_private(endpoint.base_url))


def _upstreams(named: Upstreams) -> list[Upstream]:
    several = named if isinstance(named, tuple) else (named,)
    return [one if isinstance(one, Upstream) else Upstream(model=one) for one in several]


def _key(upstream: Upstream, shown: str) -> Secret | None:
    """The API key in the upstream's own variable. Raises `ConfigError` where that is empty."""
    if upstream.key_env is None:
        return None
    key = Secret(os.environ.get(upstream.key_env, "").strip())
    if not key:
        raise ConfigError(f"no key for {shown}", hint=f"set {upstream.key_env}")
    return key


PRIVATE = "internal_chat_message_metadata_passthrough"
"""A field in the items of Codex that is for OpenAI's own host: other hosts reject it, and need not read it."""


def _without_private_fields(request: Request, context: Context) -> Request:
    """The request without the fields of its items that only OpenAI's own host takes."""
    items = request.input if isinstance(request.input, list) else []
    if not any(PRIVATE in item if isinstance(item, Unknown) else PRIVATE in extras(item) for item in items):
        return request
    context.losses.dropped(f"input[].{PRIVATE}", "sent to OpenAI's own host only")
    return replace(request, input=[_without(item, PRIVATE) for item in items])


def _without(item: AnyItem, name: str) -> AnyItem:
    fields = {key: value for key, value in (item if isinstance(item, Unknown) else extras(item)).items() if key != name}
    return Unknown(fields) if isinstance(item, Unknown) else with_extras(base(item), fields)


def _betas(context: Context) -> dict[str, dict[str, Any]] | None:
    """The betas in the header of a client of Anthropic's wire, for a vendor on that wire."""
    named = context.headers.get("anthropic-beta") if context.wire == MESSAGES else None
    return {MESSAGES: {"betas": re.findall(r"[\w.-]+", named)}} if named else None


async def _by_vendor(call: Awaitable[T], context: Context) -> T | None:
    """The vendor's answer; `None` where the vendor has no such endpoint."""
    try:
        with _noting_errors(context):
            return await call
    except (ConfigError, NotFoundError) as problem:
        if type(problem) not in (ConfigError, NotFoundError):
            raise
        return None


async def _generate(target: _Target, prepared: Request, context: Context) -> Reply:
    """The vendor's whole answer; its losses and attempts are added to the log line."""
    with _noting_errors(context):
        reply = await target.client.generate(prepared)
    context.losses.extend(reply.info.losses)
    _note_vendor(context, reply.info)
    return reply


def _note_vendor(context: Context, how: CallInfo) -> None:
    """Add the vendor and the model that answered, and the attempts, to the log line."""
    named = {"vendor": how.metadata["provider"], "upstream_model": printable(how.metadata["model"], 200)}
    context.facts.update(named, attempts=len(how.attempts))


@contextmanager
def _noting_errors(context: Context) -> Generator[None]:
    """Add the vendor's request id and the attempts of an error to the log line."""
    try:
        yield
    except LLMError as error:
        context.facts["upstream_request_id"], context.facts["attempts"] = error.request_id, len(error.attempts)
        raise
