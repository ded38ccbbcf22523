"""A whole reply: encode, look up in the cache, send, decode; also answers in several parts, or as a stream only.

Before changing this file, know that a cached answer is decoded like a new one, and that a failed generation is an error
although its HTTP status is 200.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import CallCancelledError, ConfigError, Failure, LLMError, RefusalError, TruncatedError
from ..responses.response import Response, echo
from ..responses.stream import Assembler
from ..transport import HTTPAnswer
from ..unknown import given
from ..wires import long_wire
from .answer import FirstPart, ReceivedAnswer, decode_document, generation_error, partial_reply, with_context
from .events import StreamReader
from .hooks import ended_by, watched
from .loss_reports import report_losses
from .options import with_time_left
from .reply import CallRecord, Reply, reply
from .send import CANCELLED, Hops

if TYPE_CHECKING:
    from ..errors import Attempt
    from ..losses import Loss
    from ..responses.events import AnyEvent
    from ..responses.request import Request
    from ..transport import Call
    from ..vendors.auth import Secret
    from .call import Caller, Losses, PreparedCall
    from .hooks import WatchedCall
    from .loss_reports import CallSite
    from .options import Input, Settings
    from .target import OutgoingRequest, Target


async def generate(caller: Caller, input: Input | None, options: dict[str, Any], site: CallSite) -> Reply:
    """The reply of the model. Raises an `LLMError` where the call fails."""
    if "output" in options and (form := options.pop("output")) is not None:
        from . import typed  # not needed by most calls

        return await typed.generate(caller, input, options, site, form)
    if caller.fallback is not None:
        return await caller.fallback.call(caller, input, options, lambda one, how: generate(one, input, how, site))
    return await send_call(caller, caller.prepare(input, options), site)


async def generate_text(caller: Caller, input: Input | None, options: dict[str, Any], site: CallSite) -> str:
    """The text of the reply. Raises where the answer was truncated or refused."""
    if options.get("background"):
        raise ConfigError("generate_text waits for the answer", hint="use generate(..., background=True) and poll")
    return complete_text(await generate(caller, input, options, site))


async def try_generate(caller: Caller, input: Input | None, options: dict[str, Any], site: CallSite) -> Reply | Failure:
    """The reply, or the error as a value."""
    try:
        return await generate(caller, input, options, site)
    except LLMError as error:
        return Failure(error.message, error.suggestions, error)


async def send_call(caller: Caller, prepared: PreparedCall, site: CallSite) -> Reply:
    """The reply to a prepared call."""
    watch = watched(caller, prepared.target, "generate", prepared.request)
    limit, most = prepared.target.known.whole_output, prepared.request.max_output_tokens
    streams = limit is not None and given(most) and most > limit and not prepared.request.background
    return await ended_by(watch, (_from_stream if streams else _send)(caller, prepared, site, watch))


async def _send(caller: Caller, prepared: PreparedCall, site: CallSite, watch: WatchedCall | None) -> Reply:
    target, settings, request = prepared.target, prepared.settings, prepared.request
    started = time.monotonic()
    outgoing, lost = prepared.encode(site)
    secrets: Mapping[str, str | Secret] = {}

    def read(sent: ReceivedAnswer) -> tuple[Reply, list[Loss]] | FirstPart:
        nonlocal secrets
        secrets = sent.secrets
        document = decode_document(target, sent, target.wire.RESPONSE)
        if long is not None and long.goes_on(document):
            return FirstPart(document, sent)
        found, more = decoded(target, settings, sent, document, request, lost)
        return raise_if_failed(target, found, sent.secrets), more

    long, call = long_wire(target.wire), caller.call(watch)
    key, pieces = await caller.cached(prepared, outgoing)
    received = None if pieces is None else read(ReceivedAnswer(HTTPAnswer(200, {}, b"".join(pieces)), {}, ()))
    try:
        if received is None:
            received = await caller.send(target, settings, outgoing, read, call)
        if isinstance(received, FirstPart):
            left = prepared._replace(settings=with_time_left(settings, started))
            received = await _in_hops(caller, left, outgoing, lost, received, call)
            key = None
        found, more = received
    except CallCancelledError as ended:
        return interrupted_reply(target, ended.attempts, request, lost)
    if settings.cache is not None and key is not None:
        how: CallRecord = vars(found)["info"]
        vars(found)["forget"] = partial(settings.cache.delete, key)
        if pieces is not None:
            vars(found)["info"] = how._replace(cached=True, calls=0)
        elif found.status == "completed":
            await caller.transport.waiter.in_thread(partial(settings.cache.put, key, [how.raw], secrets))
    if more:
        report_losses(more, settings.on_loss, site, who=target.vendor, reply=found)
    return found


async def _from_stream(caller: Caller, prepared: PreparedCall, site: CallSite, watch: WatchedCall | None) -> Reply:
    """The reply to a request for which the vendor requires streaming."""
    from .stream import AsyncStream  # not needed by most calls

    timeouts = with_time_left(prepared.settings, time.monotonic()).timeouts
    prepared = prepared._replace(settings=prepared.settings._replace(stream_timeouts=timeouts))
    async with AsyncStream.prepared(caller, prepared, site, watch) as stream:
        while await stream.batch():
            pass
    return stream.response


async def _in_hops(
    caller: Caller,
    prepared: PreparedCall,
    outgoing: OutgoingRequest,
    lost: Losses,
    received: FirstPart,
    call: Call,
) -> tuple[Reply, list[Loss]]:
    """The reply of an answer in several hops, of which the first was received."""
    target, settings = prepared.target, prepared.settings
    hops, seen = Hops(target, settings.timeouts, outgoing), Assembler()
    reader = StreamReader(target.wire, **target.decoding(prepared.request))

    def add(events: list[AnyEvent]) -> None:
        for event in events:
            seen.feed(event)

    def read(sent: ReceivedAnswer) -> FirstPart:
        return FirstPart(decode_document(target, sent, target.wire.RESPONSE), sent)

    def found() -> Reply:
        add(reader.close())
        body, attempts = received.sent.answer.body, received.sent.attempts
        facts: Any = {"calls": hops.count, "pricing": settings.pricing(target, prepared.request)}
        facts["source"] = partial(target.source, earlier=tuple(bodies))
        how = CallRecord(lambda: lost() + reader.losses, attempts, body, target.vendor, target.model, **facts)
        return reply(seen.response, how)

    bodies: list[bytes] = []
    add(reader.document(received.document))
    while (hop := hops.next(reader.checkpoint())) is not None:
        next_request, timeouts = hop
        before = received.sent.answer.body
        try:
            received = await caller.send(target, settings._replace(timeouts=timeouts), next_request, read, call)
        except LLMError as problem:
            problem.partial = partial_reply(found(), problem, received.sent.secrets)
            raise
        bodies.append(before)
        reader.resume()
        add(reader.document(received.document))
    return raise_if_failed(target, found(), received.sent.secrets), reader.losses


# --- replies --------------------------------------------------------------------------------------------------------


def decoded(
    target: Target,
    settings: Settings,
    sent: ReceivedAnswer,
    document: Any,
    request: Request | None = None,
    lost: Losses = list,
) -> tuple[Reply, list[Loss]]:
    """The reply in the document of an answer, and its losses; also of a failed generation."""
    response, more = target.wire.decode_response(document, **target.decoding(request))
    late = [*sent.losses, *more]
    body, pricing, source = sent.answer.body, settings.pricing(target, request), target.source
    how = CallRecord(
        lambda: lost() + late, sent.attempts, body, target.vendor, target.model, pricing=pricing, source=source
    )
    return reply(response, how), late


def raise_if_failed(target: Target, found: Reply, secrets: Mapping[str, str | Secret] = {}) -> Reply:
    """The reply. Raises the vendor's error where the generation failed."""
    if found.status == "completed" and found.error:
        found.status = "failed"  # some hosts send the status completed for a failed generation
    if found.status != "failed":
        return found
    error = generation_error(target, found, secrets)
    error.partial = partial_reply(found, error, secrets)
    raise with_context(error, target, found.info.attempts)


def interrupted_reply(
    target: Target, attempts: tuple[Attempt, ...], request: Request | None = None, lost: Losses = list
) -> Reply:
    """The reply of a call that was cancelled before an answer arrived."""
    now = int(time.time())
    nothing = Response(id="", created_at=now, model=target.model, status=CANCELLED, output=[], **echo(request))
    return reply(nothing, CallRecord(lost, attempts, b"", target.vendor, target.model, interrupted=True))


def complete_text(found: Reply, text: str | None = None) -> str:
    """The text of a reply, or of its tool call. Raises where the answer was truncated, refused or cancelled."""
    text = found.output_text if text is None else text
    if found.refusal is None and found.status != "incomplete" and not found.interrupted:
        return text
    known = found.info
    facts: dict[str, Any] = {
        "vendor": known.metadata["provider"],
        "model": known.metadata["model"],
        "attempts": known.attempts,
        "partial": found,
    }
    if found.interrupted:
        raise CallCancelledError("the call was cancelled", **facts)
    if found.refusal is not None:
        raise RefusalError(f"the model refused: {found.refusal}", raw=text, **facts)
    raise TruncatedError(f"the answer was cut: {found.stop_reason}", raw=text, **facts)
