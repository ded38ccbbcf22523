"""One HTTP request in, one HTTP answer out, whole or streamed, for every wire: a pure coroutine around a handler.

`routes.py` says which wire is spoken. Whatever goes wrong is answered as that wire spells errors. It waits for nothing but
the handler, so around one that never waits it can be driven without an event loop.
"""

from __future__ import annotations

import json
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
    StreamInterruptedError,
    printable,
)
from ..responses.carriers import digest
from ..responses.estimate import estimate_tokens
from ..unknown import given, or_unset
from ..vendors.models import UNKNOWN, Capabilities
from ..wires import ollama_chat as ollama
from . import listings, routes, stored
from .handler import Context, Refused
from .logs import counted
from .public import public
from .streaming import as_array, as_generated, written

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from ..losses import Loss
    from ..responses import Request, Response
    from ..unknown import Opt
    from .handler import Handler, Hold, Pause
    from .routes import Place
    from .stored import Session

T = TypeVar("T")

REQUEST_ID = {"anthropic_messages": "request-id"}
"""The header that names a request, by wire; elsewhere `x-request-id`."""

LOSSES = "x-llm-rest-losses"
"""The header that lists what the server could not carry from the request to the model, or back: a JSON array of strings.

A stream's lists the way to the model alone; it is sent before the way back has begun.
"""

CONTENT_TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}
"""What a stream is called, by the framing of its wire."""

ARRAYS = {"gemini_generate_content": "alt=sse"}
"""Where a stream is one growing JSON array unless the query asks for events, by wire."""

COUNTED_FIRST = ("anthropic_messages",)
"""The wires whose streams begin with the number of input tokens, which their clients show."""

_MOST_LOSSES = 4096


class Answer(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Streamed(NamedTuple):
    """An HTTP answer that comes in pieces, with pauses between them."""

    status: int
    headers: dict[str, str]
    body: AsyncGenerator[bytes | Pause]


class Aside(Protocol):
    """Runs what takes long without waiting for anything where others need not wait for it: in a thread."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


async def _here(work: Callable[[], T], /) -> T:
    """What `work` gives, without an event loop."""
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
    hold: Hold | None = None,
    aside: Aside = _here,
) -> Answer | Streamed:
    """The answer of `handler` to an HTTP request, streamed where that asks for it, or the error that the caller's wire spells.

    `scope` says who asks, `session` on which connection, where that matters. What the log should say of the request is put into
    `facts`. `hold` is told of what is held besides the body, `aside` converts a large body. A request without a name is named
    after its body.
    """
    named = {name.lower(): value for name, value in headers.items()}
    request_id = request_id or f"req_{digest(body.decode('utf-8', 'replace'))}"
    facts = {} if facts is None else facts
    path, _, query = path.partition("?")
    places = routes.find(path, named)
    wire = facts["wire"] = places[0].wire if places else listings.missed(path, named)
    if places:  # in a path to nowhere, and in queries, stand keys
        facts["path"] = printable(path, 200)
    try:
        place = next((place for place in places if method.upper() in place.methods), None)
        if place is None:
            return _misled(method, path, places, wire, request_id)
        wire = facts["wire"] = place.wire
        asked = await aside(partial(_asked, place, body))
        if place.purpose == "generate":
            body = msgspec.json.encode(asked)
        model = place.model or getattr(asked, "model", None)
        facts["model"] = printable(model, 200) if given(model) else None
        place = _as_spoken(place, asked, or_unset(model), handler)
        context = Context(
            wire=wire,
            dialect=place.dialect,
            vendor=place.vendor,
            model=place.model,
            headers=named,
            body=body,
            scope=scope,
            request_id=request_id,
            session=session,
            hold=hold,
            facts=facts,
        )
        facts["lost"] = context.losses, context.late
        match place.purpose:
            case "generate" if not asked.messages:
                document = listings.loaded(_known(model, handler))
            case "answer" | "generate":
                request = await aside(partial(_read, place, context, asked))
                if place.streams or request.stream is True:
                    return await _streamed(place, context, handler, request, query)
                document = await _answered(place, context, handler, request)
                if place.purpose == "generate":
                    document = ollama.generated(msgspec.json.decode(msgspec.json.encode(document)))
            case "count":
                request = await aside(partial(_read, place, context, asked))
                document = listings.COUNTED[wire].answer(await handler.count(request, context))
            case "models":
                document = listings.models(wire, handler.models())
            case "running":
                document = listings.running(handler.models())
            case "version":
                document = {"version": listings.VERSION}
            case "show":
                known = getattr(handler, "capabilities", None)
                document = listings.shown(known(asked.model) if known else _unknown(asked.model, handler))
            case "model":
                document = listings.model(wire, _known(place.model, handler))
            case "compact":
                _check_stores(handler, path, wire)
                request = await aside(partial(_read, place, context, asked))
                document = await stored.compacted(handler, request, context)
            case "kept" | "items" | "cancel":
                _check_stores(handler, path, wire)
                document = await stored.answer(place.purpose, method.upper(), handler, context, query)
        answer = _answer(200, document, wire, request_id, _losses(context))
        if hold is not None:
            hold(len(answer.body))
    except Refused as refusal:
        return refused(wire, refusal.facts, request_id)
    except LLMError as error:
        facts["error"] = error.kind
        return refused(wire, facts_of(error), request_id)
    return answer


def refused(wire: str, facts: ErrorFacts, request_id: str, *, close: bool = False) -> Answer:
    """An error answer as `wire` spells it; with `close` it is the last on its connection."""
    if facts.request_id is None:
        facts = replace(facts, request_id=request_id)
    status, document = wires.load(wire).encode_error(facts)
    headers = {"connection": "close"} if close else {}
    if facts.retry_after is not None:
        headers["retry-after"] = f"{facts.retry_after:g}"
    if facts.should_retry is not None:
        headers["x-should-retry"] = str(facts.should_retry).lower()
    return _answer(status, document, wire, request_id, headers)


def facts_of(error: LLMError) -> ErrorFacts:
    """What an error of ours says, as the facts of an error answer: somebody else's status where there is one.

    A key of ours that was refused is no fault of the caller, whose key is another; nor does it help to ask again.
    """
    if isinstance(error, DecodeError):
        place = error.path.removeprefix("$").lstrip(".") or None
        return ErrorFacts(status=400, message=error.message, type="invalid_request_error", param=place)
    if isinstance(error, AuthenticationError | PermissionDeniedError):
        message = f"This server's own access to {error.vendor or 'the model'} was refused."
        return ErrorFacts(status=502, message=message, should_retry=False)
    known = error.status is not None and error.status >= 400
    unseen = next((what for kind, what in UNSEEN if isinstance(error, kind)), None)
    return ErrorFacts(
        status=error.status if known and error.status is not None else _status(error),
        message=error.facts.get("said", error.message)
        if unseen is None
        else unseen.format(error.vendor or "The model"),
        code=error.vendor_code,
        retry_after=error.retry_after,
    )


UNSEEN: tuple[tuple[type[LLMError], str], ...] = (
    (APITimeoutError, "{} took too long to answer."),
    (StreamInterruptedError, "The answer of {} broke off."),
    (APIConnectionError, "{} could not be reached."),
    (MalformedResponseError, "{} gave no answer that could be read."),
)
"""What is told of an error whose own words show where a server's requests go, or what came back from there."""


STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (OverloadedError, 529),
    (NotFoundError, 404),
    (RequestTooLargeError, 413),
    (BadRequestError, 400),
    (TimeoutError, 504),
)
"""The status of an error that came without one: by its class, else by its code."""

_BY_CODE = {"invalid_request": 400, "rate_limit": 429, "network_error": 502}


def _status(error: LLMError) -> int:
    return next((status for kind, status in STATUSES if isinstance(error, kind)), _BY_CODE.get(error.code, 500))


def _misled(method: str, path: str, places: list[Place], wire: str, request_id: str) -> Answer:
    """The answer to a method that is not there: which ones are, where that is what is asked."""
    if not places:
        return refused(wire, routes.nowhere(method, path, wire), request_id)
    allow = {"allow": ", ".join([*(method for place in places for method in place.methods), "OPTIONS"])}
    if method.upper() == "OPTIONS":
        return Answer(204, {**allow, REQUEST_ID.get(wire, "x-request-id"): request_id}, b"")
    message = f"Not allowed to {printable(method, 20)} on {printable(path, 200)}; use {allow['allow']}."
    answer = refused(wire, ErrorFacts(status=405, message=message, type="invalid_request_error"), request_id)
    return answer._replace(headers={**answer.headers, **allow})


def _known(model: str | None, handler: Handler) -> str:
    if model is None or not handler.has_model(model):
        raise Refused(ErrorFacts(status=404, message=f"The model '{model}' does not exist.", code="model_not_found"))
    return model


def _unknown(model: str, handler: Handler) -> Capabilities:
    _known(model, handler)
    return UNKNOWN


def _check_stores(handler: Handler, path: str, wire: str) -> None:
    """Return if the handler stores responses. Raises `Refused` (404) otherwise."""
    if not hasattr(handler, "turn"):
        raise Refused(routes.nowhere("GET", path, wire))


# --- one answer -----------------------------------------------------------------------------------------------------


async def _answered(place: Place, context: Context, handler: Handler, request: Request) -> Any:
    response = await handler.answer(request, context)
    if response.status == "failed" and place.wire != "openai_responses":
        # Only the Responses wire has words for a failed answer; elsewhere it is an error of the server.
        raise Refused(_failure(response))
    counted(context.facts, response.usage)
    document, unsaid = wires.load(place.wire).encode_response(response, request=request, dialect=place.dialect)
    _stop_at_refusal(unsaid, 500)
    context.losses.extend(unsaid)
    return document


async def _streamed(place: Place, context: Context, handler: Handler, request: Request, query: str) -> Streamed:
    wire = wires.load(place.wire)
    writer = StreamWriter(wire, dialect=place.dialect, request=request)
    input_tokens = partial(estimate_tokens, request) if place.wire in COUNTED_FIRST else None
    body = written(handler.stream(request, context), writer, context, facts_of, input_tokens)
    content_type = CONTENT_TYPES[wire.FRAMING]
    if place.wire in ARRAYS and ARRAYS[place.wire] not in query.split("&"):
        body, content_type = as_array(body), "application/json"
    if place.purpose == "generate":
        body = as_generated(body)
    # As long as nothing has been sent, an error is an answer of its own.
    await anext(body)
    headers = {
        "content-type": content_type,
        "cache-control": "no-store",
        REQUEST_ID.get(place.wire, "x-request-id"): context.request_id,
        **_losses(context),
    }
    return Streamed(200, headers, body)


def _asked(place: Place, body: bytes) -> Any:
    """The document in the body, as the wire's struct; `None` where a path needs none."""
    if place.purpose == "show":
        return ollama.SHOW.decode(body)
    if place.purpose == "generate":
        prompted = ollama.GENERATE.decode(body)
        for name in UNPROMPTED:
            if getattr(prompted, name):
                raise Refused(ErrorFacts(status=400, message=f"{name}: not served; use prompt and system", param=name))
        return ollama.chat_request(prompted)
    if place.purpose not in ("answer", "count", "compact"):
        return None
    document = listings.COUNTED[place.wire].request(body) if place.purpose == "count" else body
    asked = wires.load(place.wire).REQUEST.decode(document)
    return public(asked, body) if place.wire == "openai_responses" else asked


UNPROMPTED = ("suffix", "template", "context")
"""Fields of Ollama's `/api/generate` that only a server with the model itself can take."""


def _as_spoken(place: Place, asked: Any, model: Opt[str], handler: Handler) -> Place:
    """The place, with the dialect that is spoken about the model that is asked, where the path names none."""
    about = getattr(handler, "dialect", None)
    if about is None or asked is None or place.vendor is not None:
        return place
    return replace(place, dialect=about(place.wire, model) or place.dialect)


def _read(place: Place, context: Context, asked: Any) -> Request:
    """The request in a wire's document."""
    request, lost = wires.load(place.wire).decode_request(asked, dialect=place.dialect, model=place.model)
    _stop_at_refusal(lost, 400)
    context.losses.extend(lost)
    return request


def _stop_at_refusal(lost: list[Loss], status: int) -> None:
    """Raise `Refused` where something cannot be said on this wire at all."""
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
    """The header that lists the losses: a JSON array in ASCII, short enough for one."""
    shown: list[str] = []
    for loss in context.losses:
        if len(json.dumps([*shown, str(loss)])) > _MOST_LOSSES:
            shown.append("...")
            break
        shown.append(str(loss))
    return {LOSSES: json.dumps(shown)} if shown else {}
