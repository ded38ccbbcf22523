"""Converts one HTTP request to one HTTP answer, whole or streamed, for every wire: a pure coroutine around a handler.

The route determines the wire; every error is answered in the format of that wire. The coroutine awaits only the
handler, so with a handler that never waits it can run without an event loop.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from .. import wires
from ..client.events import StreamWriter
from ..errors import (
    APIConnectionError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    DecodeError,
    ErrorFacts,
    LLMError,
    MalformedResponseError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    RequestTooLargeError,
    StoreError,
    StreamInterruptedError,
    printable,
)
from ..responses import Response, Usage
from ..responses import events as ev
from ..responses.carriers import digest
from ..responses.estimate import estimate_tokens
from ..responses.items import FunctionCall, McpCall
from ..transport.framing import EntryCounter
from ..unknown import given, or_unset
from ..vendors.models import UNKNOWN
from ..wires import ollama_chat as ollama
from . import routes, stored
from .handler import Context, Refused, invalid_request
from .logs import log_usage
from .seals import SealingWriter
from .streaming import as_array, as_generated, encoded_stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from ..losses import Loss
    from ..responses import Request
    from ..unknown import Opt
    from .access import Limits
    from .handler import Handler, HandlerEvent, Hold, Pause
    from .routes import Route
    from .seals import Seals
    from .stored import Session

T = TypeVar("T")

_log = logging.getLogger(__name__)

REQUEST_ID = {"anthropic_messages": "request-id"}
"""The header with the request id, by wire; elsewhere `x-request-id`."""

LOSSES = "x-llm-rest-losses"
"""The header with the losses of the conversions of the request and of the answer: a JSON array of strings.

For a stream it lists the losses of the request only, because headers are sent first.
"""

CONTENT_TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}
"""The content type of a stream, by the framing of its wire."""

ARRAYS = {"gemini_generate_content": "alt=sse"}
"""The wires that stream one growing JSON array, unless the query has this parameter."""

COUNTED_FIRST = ("anthropic_messages",)
"""The wires whose streams begin with the number of input tokens."""

_MOST_LOSSES = 4096


class Answer(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Streamed(NamedTuple):
    """An HTTP answer that is streamed in pieces, with pauses between them."""

    status: int
    headers: dict[str, str]
    body: AsyncGenerator[bytes | Pause]


class InThread(Protocol):
    """Runs work in a thread that would block the event loop for long."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


async def _directly(work: Callable[[], T], /) -> T:
    """The result of `work`, run at once."""
    return work()


async def exchange(
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    handler: Handler,
    *,
    scope: str = "",
    request_id: str | None = None,
    facts: dict[str, Any] | None = None,
    session: Session | None = None,
    generate: bool = True,
    hold: Hold | None = None,
    limits: Limits | None = None,
    in_thread: InThread = _directly,
) -> Answer | Streamed:
    """The answer of `handler` to an HTTP request, streamed on request, or an error in the format of its wire.

    `scope` is the caller, `session` has the stored turns of its connection; without `generate` no model answers. The fields
    of the log line are added to `facts`. `hold` counts bytes besides those of the body; `limits` apply to what the request
    contains and continues. `in_thread` runs the decoding of the body. The default `request_id` is a digest of the body.
    """
    named = {name.lower(): value for name, value in headers.items()}
    request_id = request_id or f"req_{digest(body.decode('utf-8', 'replace'))}"
    facts = {} if facts is None else facts
    path, _, query = path.partition("?")
    found = routes.find(path, named)
    wire = facts["wire"] = found[0].wire if found else routes.wire_of_unknown_path(path, named)
    if found:  # other paths, and queries, may contain keys
        facts["path"] = printable(path, 200)
    try:
        route = next((route for route in found if method.upper() in route.methods), None)
        if route is None:
            return _not_allowed(method, path, found, wire, request_id)
        wire = facts["wire"] = route.wire
        wire_request = await in_thread(partial(_decoded, route, body))
        if route.purpose == "generate":
            body = msgspec.json.encode(wire_request)
        model = route.model or getattr(wire_request, "model", None)
        facts["model"] = printable(model, 200) if given(model) else None
        route = _with_dialect_of_model(route, wire_request, or_unset(model), handler)
        context = Context(
            wire=wire,
            dialect=route.dialect,
            vendor=route.vendor,
            model=route.model,
            headers=named,
            body=body,
            scope=scope,
            request_id=request_id,
            session=session,
            hold=hold,
            limits=limits,
            facts=facts,
        )
        facts["lost"] = context.losses, context.late
        match route.purpose:
            case "generate" if not wire_request.messages:
                document = routes.loaded(_existing(model, handler))
            case "answer" | "generate":
                request = await in_thread(partial(_request, route, context, wire_request, handler))
                if not generate or route.streams or request.stream is True:
                    events = (handler.stream if generate else partial(_without_output, handler))(request, context)
                    return await _streamed(route, context, events, request, query, _seals(handler))
                document = await _answered(route, context, handler, request)
                if route.purpose == "generate":
                    document = ollama.generated(msgspec.json.decode(msgspec.json.encode(document)))
            case "count":
                request = await in_thread(partial(_request, route, context, wire_request, handler))
                document = routes.COUNT_TOKENS[wire].answer(await handler.count(request, context))
            case "models":
                document = routes.models(wire, handler.models())
            case "running":
                document = routes.running(handler.models())
            case "version":
                document = {"version": routes.VERSION}
            case "show":
                if (about := getattr(handler, "capabilities", None)) is None:
                    _existing(wire_request.model, handler)
                document = routes.shown(about(wire_request.model) if about else UNKNOWN)
            case "model":
                document = routes.model(wire, _existing(route.model, handler))
            case "compact":
                _check_stores(handler, path, wire)
                request = await in_thread(partial(_request, route, context, wire_request, handler))
                document = await stored.compacted(handler, request, context)
            case "stored" | "items" | "cancel":
                _check_stores(handler, path, wire)
                document = await stored.answer(route.purpose, method.upper(), handler, context, query)
        answer = _answer(200, document, wire, request_id, _losses(context))
        if hold is not None:
            hold(len(answer.body))
    except Refused as refusal:
        return error_answer(wire, refusal.facts, request_id)
    except LLMError as error:
        facts["error"] = error.kind
        if isinstance(error, StoreError):
            _log.error("the store failed: %s", error, extra={"request_id": request_id})
        return error_answer(wire, facts_of(error), request_id)
    return answer


def error_answer(wire: str, facts: ErrorFacts, request_id: str, *, close: bool = False) -> Answer:
    """An error answer in the format of `wire`; with `close` it is the last on its connection."""
    if facts.request_id is None:
        facts = replace(facts, request_id=request_id)
    status, document = wires.load(wire).encode_error(facts)
    headers = {"connection": "close"} if close else {}
    if facts.retry_after is not None:
        headers["retry-after"] = f"{facts.retry_after:g}"
    should_retry = SHOULD_RETRY.get(facts.status) if facts.should_retry is None else facts.should_retry
    if should_retry and facts.code in NO_MORE:
        should_retry = False
    if should_retry is not None:
        headers["x-should-retry"] = str(should_retry).lower()
    return _answer(status, document, wire, request_id, headers)


SHOULD_RETRY = {**dict.fromkeys((400, 401, 403, 404, 405, 413, 415), False), **dict.fromkeys((429, 503, 529), True)}
"""Whether a client should retry, by the status of an error (`x-should-retry`); without it some retry a wrong token."""

NO_MORE = ("insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low")
"""Codes of errors that last although their status is that of a rate limit."""


def facts_of(error: LLMError) -> ErrorFacts:
    """The facts of an error answer for an error of this library, with the vendor's status where it has one.

    A rejected vendor key of this server is not the caller's error, and a retry does not help.
    """
    if isinstance(error, DecodeError):
        param = error.path.removeprefix("$").lstrip(".") or None
        return ErrorFacts(status=400, message=error.message, type="invalid_request_error", param=param)
    if isinstance(error, AuthenticationError | PermissionDeniedError):
        message = f"This server's own access to {error.vendor or 'the model'} was refused."
        return ErrorFacts(status=502, message=message, should_retry=False)
    status, text = next(((status, text) for kind, status, text in ERRORS if isinstance(error, kind)), (None, None))
    if error.status is not None and error.status >= 400:
        status = error.status
    return ErrorFacts(
        status=status or _BY_CODE.get(error.code, 500),
        message=error.facts.get("said", error.message) if text is None else text.format(error.vendor or "The model"),
        code=error.vendor_code,
        retry_after=error.retry_after,
        should_retry=error.retryable if SHOULD_RETRY.get(status or 0) else None,
    )


ERRORS: tuple[tuple[type[Exception], int, str | None], ...] = (
    (APITimeoutError, 504, "{} took too long to answer."),
    (StreamInterruptedError, 502, "The answer of {} broke off."),
    (APIConnectionError, 502, "{} could not be reached."),
    (MalformedResponseError, 502, "{} gave no answer that could be read."),
    (OverloadedError, 529, None),
    (NotFoundError, 404, None),
    (RequestTooLargeError, 413, None),
    (BadRequestError, 400, None),
    (TimeoutError, 504, None),
    (StoreError, 500, "The stored conversations of this server cannot be used now."),
)
"""The HTTP status of an error without one, by class; and a text where its own message reveals upstream hosts."""

_BY_CODE = {"invalid_request": 400, "rate_limit": 429, "network_error": 502}


def _not_allowed(method: str, path: str, found: list[Route], wire: str, request_id: str) -> Answer:
    """The answer to a method that the path does not support; for OPTIONS the supported methods."""
    if not found:
        return error_answer(wire, routes.not_found(method, path, wire), request_id)
    allow = {"allow": ", ".join([*(method for route in found for method in route.methods), "OPTIONS"])}
    if method.upper() == "OPTIONS":
        return Answer(204, {**allow, REQUEST_ID.get(wire, "x-request-id"): request_id}, b"")
    message = f"Not allowed to {printable(method, 20)} on {printable(path, 200)}; use {allow['allow']}."
    answer = error_answer(wire, ErrorFacts(status=405, message=message, type="invalid_request_error"), request_id)
    return answer._replace(headers={**answer.headers, **allow})


def _existing(model: str | None, handler: Handler) -> str:
    if model is None or not handler.has_model(model):
        raise Refused(ErrorFacts(status=404, message=f"The model '{model}' does not exist.", code="model_not_found"))
    return model


def _check_stores(handler: Handler, path: str, wire: str) -> None:
    """Return if the handler stores responses. Raises `Refused` (404) otherwise."""
    if not hasattr(handler, "turn"):
        raise Refused(routes.not_found("GET", path, wire))


# --- one answer -----------------------------------------------------------------------------------------------------


async def _answered(route: Route, context: Context, handler: Handler, request: Request) -> Any:
    response = await handler.answer(request, context)
    if response.status == "failed" and route.wire != "openai_responses":
        # Only the Responses wire has failed answers; on other wires this is a server error.
        raise Refused(_failure(response))
    log_usage(context.facts, response.usage)
    if (seals := _seals(handler)) is not None:
        response = seals.response(response, context.scope)
    document, unsaid = wires.load(route.wire).encode_response(response, request=request, dialect=route.dialect)
    _stop_at_refusal(unsaid, 500)
    context.losses.extend(unsaid)
    return document


async def _without_output(handler: Handler, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
    """The events of an answer without output: the client only announces its next request (`generate: false` of Codex)."""
    if (prepare := getattr(handler, "without_output", None)) is not None:
        response: Response = await prepare(request, context)
    else:
        response = empty_response(f"resp_{context.request_id}", _existing(request.model, handler))
    started = replace(response, status="in_progress", completed_at=None, usage=None)
    yield [
        ev.ResponseCreated(sequence_number=0, response=started),
        ev.ResponseCompleted(sequence_number=1, response=response),
    ]


def empty_response(id: str, model: str, now: float = 0) -> Response:
    """A complete response without output, for which no model was asked."""
    usage = Usage(input_tokens=0, output_tokens=0, total_tokens=0)
    return Response(
        id=id, created_at=int(now), completed_at=int(now), status="completed", model=model, output=[], usage=usage
    )


async def _streamed(
    route: Route,
    context: Context,
    events: AsyncGenerator[HandlerEvent],
    request: Request,
    query: str,
    seals: Seals | None,
) -> Streamed:
    wire = wires.load(route.wire)
    plain = StreamWriter(wire, dialect=route.dialect, request=request)
    writer = plain if seals is None else SealingWriter(plain, seals, context.scope)
    input_tokens = partial(estimate_tokens, request) if route.wire in COUNTED_FIRST else None
    body = encoded_stream(events, writer, context, facts_of, input_tokens)
    content_type = CONTENT_TYPES[wire.FRAMING]
    if route.wire in ARRAYS and ARRAYS[route.wire] not in query.split("&"):
        body, content_type = as_array(body), "application/json"
    if route.purpose == "generate":
        body = as_generated(body)
    # An error before the first piece is an error answer with its own status.
    await anext(body)
    headers = {
        "content-type": content_type,
        "cache-control": "no-store",
        REQUEST_ID.get(route.wire, "x-request-id"): context.request_id,
        **_losses(context),
    }
    return Streamed(200, headers, body)


def _decoded(route: Route, body: bytes) -> Any:
    """The decoded body, as the wire's struct; `None` for a route without a body."""
    if route.purpose == "show":
        return ollama.SHOW.decode(body)
    if route.purpose == "generate":
        prompted = ollama.GENERATE.decode(body)
        for name in UNSUPPORTED:
            if getattr(prompted, name):
                raise Refused(ErrorFacts(status=400, message=f"{name}: not served; use prompt and system", param=name))
        return ollama.chat_request(prompted)
    if route.purpose not in ("answer", "count", "compact"):
        return None
    document = routes.COUNT_TOKENS[route.wire].request(body) if route.purpose == "count" else body
    return wires.load(route.wire).REQUEST.decode(document)


UNSUPPORTED = ("suffix", "template", "context")
"""Fields of Ollama's `/api/generate` that only a server that runs the model itself can support."""


def _with_dialect_of_model(route: Route, wire_request: Any, model: Opt[str], handler: Handler) -> Route:
    """The route with the handler's dialect for the model, where the path names no vendor."""
    about = getattr(handler, "dialect", None)
    if about is None or wire_request is None or route.vendor is not None:
        return route
    return replace(route, dialect=about(route.wire, model) or route.dialect)


def _request(route: Route, context: Context, wire_request: Any, handler: Handler) -> Request:
    """The request in a wire's document, with the opaque state that has a valid seal of the handler."""
    request, lost = wires.load(route.wire).decode_request(wire_request, dialect=route.dialect, model=route.model)
    _stop_at_refusal(lost, 400)
    context.losses.extend(lost)
    if context.limits is not None:
        check_arguments(request, context.limits.entries)
    seals = _seals(handler)
    return request if seals is None else seals.opened(request, context, wire_request)


def _seals(handler: Handler) -> Seals | None:
    """The seals of a handler that gives clients opaque state of several vendors."""
    found: Seals | None = getattr(handler, "seals", None)
    return found


def check_arguments(request: Request, most: int) -> None:
    """Raise `Refused` (400) where the arguments of calls, which are JSON in strings, have more than `most` entries together."""
    if not isinstance(request.input, list):
        return
    entries = 0
    for item in request.input:
        if isinstance(item, FunctionCall | McpCall) and len(item.arguments) > 2 and item.arguments.lstrip()[:1] in "{[":
            entries += EntryCounter().feed(item.arguments.encode("utf-8", "replace"))
            if entries > most:
                raise invalid_request(
                    f"The arguments of the calls have more than {most:,} JSON objects, lists and entries of them "
                    "(the limit `entries` of this server); send fewer or smaller calls."
                )


def _stop_at_refusal(lost: list[Loss], status: int) -> None:
    """Raise `Refused` where something cannot be converted at all."""
    for loss in lost:
        if loss.kind == "refused":
            raise Refused(ErrorFacts(status=status, message=f"{loss.path}: {loss.what}", param=loss.path))


def _failure(response: Response) -> ErrorFacts:
    error = response.error
    if not given(error):
        return ErrorFacts(status=500, message="The model failed.")
    code = str(error.code) if given(error.code) else None
    return ErrorFacts(status=500, message=error.message if given(error.message) else "The model failed.", code=code)


def _answer(status: int, document: Any, wire: str, request_id: str, headers: dict[str, str]) -> Answer:
    name = REQUEST_ID.get(wire, "x-request-id")
    return Answer(
        status,
        {"content-type": "application/json", name: request_id, **headers},
        msgspec.json.encode(document),
    )


def _losses(context: Context) -> dict[str, str]:
    """The header with the losses: a JSON array in ASCII, short enough for a header."""
    shown: list[str] = []
    for loss in context.losses:
        if len(json.dumps([*shown, str(loss)])) > _MOST_LOSSES:
            shown.append("...")
            break
        shown.append(str(loss))
    return {LOSSES: json.dumps(shown)} if shown else {}
