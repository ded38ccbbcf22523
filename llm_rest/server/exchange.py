"""One HTTP request in, one HTTP answer out, whole or streamed, for every wire: a pure function around a handler.

The path says which wire is spoken, and may begin with the name of a vendor, whose dialect is then spoken:
`/v1/chat/completions`, `/chat/completions` and `/groq/chat/completions` all reach the Chat wire. Whatever goes wrong is
answered as that wire spells errors. Before changing this file, know that it listens where our own clients call: the paths
come from each wire's `route`, so a wire that gets listed is served.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import wires
from ..errors import DecodeError, ErrorFacts, LLMError, printable
from ..responses import Request
from ..responses.carriers import digest
from ..streams import StreamWriter
from ..unknown import given
from ..vendors import DIALECTS, VENDORS
from . import listings
from .handler import Context, Refused
from .telling import written

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from ..losses import Loss
    from ..responses import Response
    from ..responses.events import AnyEvent
    from .handler import Handler, Pause

REQUEST_ID = {"anthropic_messages": "request-id"}
"""The header that names a request, by wire; elsewhere `x-request-id`."""

LOSSES = "llm-rest-losses"
"""The header that lists what the server could not carry from the request to the model, or back: a JSON array of strings.

A stream's lists the way to the model alone; it is sent before the way back has begun.
"""

CONTENT_TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}
"""What a stream is called, by the framing of its wire."""

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
    body: Generator[bytes | Pause]


def exchange(method: str, path: str, headers: Mapping[str, str], body: bytes, handler: Handler) -> Answer | Streamed:
    """The answer of `handler` to an HTTP request, streamed where that asks for it, or the error that the caller's wire spells."""
    named = {name.lower(): value for name, value in headers.items()}
    # The path is not understood yet: who is calling can be told from the headers alone.
    wire = listings.caller(named)
    try:
        place = _find(method.upper(), path.partition("?")[0], named)
        wire = place.wire
        context = Context(
            wire=wire, dialect=place.dialect, vendor=place.vendor, model=place.model, headers=named, body=body
        )
        match place.purpose:
            case "answer":
                request, lost = _read(place, body)
                if place.streams or request.stream is True:
                    return _streamed(place, context, handler, request, lost)
                document, lost = _answered(place, context, handler, request, lost)
            case "count":
                request, lost = _read(place, listings.COUNTED[wire].request(body))
                document = listings.COUNTED[wire].answer(handler.count(request, context))
            case "models":
                document, lost = listings.models(wire, handler.models()), []
            case "model":
                document, lost = listings.model(wire, _known(place.model, handler)), []
    except Refused as refusal:
        return refused(wire, refusal.facts, body)
    except LLMError as error:
        return refused(wire, facts_of(error), body)
    return _answer(200, document, wire, body, {LOSSES: _listed(lost)} if lost else {})


def refused(wire: str, facts: ErrorFacts, body: bytes = b"") -> Answer:
    """An error answer as `wire` spells it."""
    if facts.request_id is None:
        facts = replace(facts, request_id=_request_id(body))
    status, document = wires.load(wire).encode_error(facts)
    headers = {} if facts.retry_after is None else {"retry-after": f"{facts.retry_after:g}"}
    return _answer(status, document, wire, body, headers)


def facts_of(error: LLMError) -> ErrorFacts:
    """What an error of ours says, as the facts of an error answer: somebody else's status where there is one."""
    if isinstance(error, DecodeError):
        place = error.path.removeprefix("$").lstrip(".") or None
        return ErrorFacts(status=400, message=error.message, type="invalid_request_error", param=place)
    status = {"invalid_request": 400, "auth_error": 401, "rate_limit": 429, "network_error": 502}.get(error.code, 500)
    return ErrorFacts(
        status=error.status if error.status is not None and error.status >= 400 else status,
        message=error.message,
        type=error.vendor_type,
        code=error.vendor_code,
        retry_after=error.retry_after,
    )


# --- where a request goes -------------------------------------------------------------------------------------------

Purpose = Literal["answer", "count", "models", "model"]


class _Place(Struct, frozen=True):
    """What a path asks for."""

    purpose: Purpose
    wire: str
    dialect: Any
    vendor: str | None = None
    model: str | None = None
    streams: bool = False  # whatever the body says


_MODEL = "MODEL"


@lru_cache(maxsize=128)
def _places(vendor: str | None) -> tuple[tuple[str, Purpose, _Place], ...]:
    """What takes a POST below `/{vendor}`, or below nothing: path, purpose, and where it leads."""
    surfaces: Sequence[tuple[str, Any]] = [(name, DIALECTS[name]()) for name in wires.NAMES if name in DIALECTS]
    if vendor is not None:
        row = VENDORS[vendor]
        spoken = [(s.wire, s.dialect or DIALECTS[s.wire]()) for s in row.surfaces if s.wire in wires.NAMES]
        surfaces = [(wire, replace(dialect, issuer=vendor)) for wire, dialect in spoken]
    found: list[tuple[str, Purpose, _Place]] = []
    for wire, dialect in surfaces:
        asked, route = Request(model=_MODEL, input=""), wires.load(wire).route
        path, streaming = route(asked, dialect=dialect).path, route(asked, dialect=dialect, stream=True).path
        place = _Place("answer", wire, dialect, vendor)
        found.append((path, "answer", place))
        if streaming != path:
            found.append((streaming, "answer", replace(place, streams=True)))
        if wire in listings.COUNTED:
            found.append((listings.COUNTED[wire].beside(path), "count", place))
    return tuple(found)


@lru_cache(maxsize=256)
def _pattern(path: str) -> re.Pattern[str]:
    """A path with or without the version that base URLs may hold, the model in it as a group."""
    plain = re.escape(re.sub("^/v1(beta1?)?/", "/", path))
    return re.compile(_VERSION + plain.replace(_MODEL, "(?P<model>[^?]+?)"))


_VERSION = "(?:/v1(?:beta1?)?)?"
_MODELS = re.compile(_VERSION + "/models(?:/(?P<model>.+))?")


def _find(method: str, path: str, headers: Mapping[str, str]) -> _Place:
    """The place that `path` names. Raises `Refused` for an unknown path or the wrong method."""
    path = "/" + path.strip("/")
    first, _, rest = path[1:].partition("/")
    vendor = first if first in VENDORS else None
    below = f"/{rest}" if vendor else path
    allowed: list[str] = []
    for served, purpose, place in _places(vendor):
        found = _pattern(served).fullmatch(below)
        if found and method == "POST":
            model = found.groupdict().get("model")
            return replace(place, purpose=purpose, model=unquote(model) if model else None)
        allowed += ["POST"] if found else []
    listed, own = _MODELS.fullmatch(below), listings.LISTED.get(below)
    if listed and method == "GET":
        wire = listings.caller(headers)
        return _Place("model" if listed["model"] else "models", wire, DIALECTS[wire](), vendor, listed["model"])
    if own and method == "GET":
        return _Place("models", own, DIALECTS[own](), vendor)
    if allowed or listed or own:
        raise Refused(
            ErrorFacts(
                status=405,
                message=f"Not allowed to {method} on {printable(path)}; use {', '.join(allowed) or 'GET'}.",
                type="invalid_request_error",
            )
        )
    message = f"Invalid URL ({method} {printable(path, 200)}); there is {', '.join(_served(vendor))}."
    raise Refused(ErrorFacts(status=404, message=message, type=_not_found(headers)))


def _not_found(headers: Mapping[str, str]) -> str:
    return "not_found_error" if listings.caller(headers) == "anthropic_messages" else "invalid_request_error"


def _served(vendor: str | None) -> list[str]:
    prefix = f"/{vendor}" if vendor else ""
    paths = [path.replace(_MODEL, "{model}") for path, *_ in _places(vendor)]
    return [prefix + (path if path.startswith(("/v1", "/api")) else f"/v1{path}") for path in (*paths, "/v1/models")]


def _known(model: str | None, handler: Handler) -> str:
    if model is None or not handler.has_model(model):
        raise Refused(ErrorFacts(status=404, message=f"The model '{model}' does not exist.", code="model_not_found"))
    return model


# --- one answer -----------------------------------------------------------------------------------------------------


def _answered(
    place: _Place, context: Context, handler: Handler, request: Request, lost: list[Loss]
) -> tuple[Any, list[Loss]]:
    response = handler.answer(request, context)
    if response.status == "failed" and place.wire != "openai_responses":
        # Only the Responses wire has words for a failed answer; elsewhere it is an error of the server.
        raise Refused(_failure(response))
    document, unsaid = wires.load(place.wire).encode_response(response, request=request, dialect=place.dialect)
    _stop_at_refusal(unsaid, 500)
    return document, [*lost, *unsaid]


def _streamed(place: _Place, context: Context, handler: Handler, request: Request, lost: list[Loss]) -> Streamed:
    wire = wires.load(place.wire)
    events = handler.stream(request, context)
    # As long as nothing has been sent, an error is an answer of its own.
    first = next(events, None)
    writer = StreamWriter(wire, dialect=place.dialect, request=request)
    headers = {
        "content-type": CONTENT_TYPES[wire.FRAMING],
        "cache-control": "no-store",
        REQUEST_ID.get(place.wire, "x-request-id"): _request_id(context.body),
        **({LOSSES: _listed(lost)} if lost else {}),
    }
    return Streamed(200, headers, written(_again(first, events), writer, place.wire, facts_of))


def _again(first: AnyEvent | Pause | None, events: Generator[AnyEvent | Pause]) -> Generator[AnyEvent | Pause]:
    """The events with the one that was taken out."""
    try:
        if first is not None:
            yield first
        yield from events
    finally:
        events.close()


def _read(place: _Place, body: bytes) -> tuple[Request, list[Loss]]:
    """The request in the body."""
    wire = wires.load(place.wire)
    request, lost = wire.decode_request(wire.REQUEST.decode(body), dialect=place.dialect, model=place.model)
    _stop_at_refusal(lost, 400)
    return request, lost


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


def _answer(status: int, document: Any, wire: str, body: bytes, headers: dict[str, str]) -> Answer:
    name = REQUEST_ID.get(wire, "x-request-id")
    content = msgspec.json.encode(document)
    return Answer(status, {"content-type": "application/json", name: _request_id(body), **headers}, content)


def _request_id(body: bytes) -> str:
    """A name for the request, the same for the same body."""
    return f"req_{digest(body.decode('utf-8', 'replace'))}"


def _listed(lost: list[Loss]) -> str:
    """The losses as a JSON array in ASCII, short enough for a header."""
    shown: list[str] = []
    for loss in lost:
        if len(json.dumps([*shown, str(loss)])) > _MOST_LOSSES:
            shown.append("...")
            break
        shown.append(str(loss))
    return json.dumps(shown)
