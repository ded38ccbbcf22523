"""What came back: the document in an answer, or the error it is.

An answer may be an error whatever its status says, and may be no document at all. Before changing this file, know that
what a server wrote is shown on errors: it is cut, made printable, and freed of the secrets that were sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from .auth import Secret, bytes_without_secrets, text_without_secrets, without_secrets
from .errors import (
    APIStatusError,
    Attempt,
    DecodeError,
    ErrorFacts,
    LLMError,
    MalformedResponseError,
    ProtocolError,
    ResponseTooLargeError,
    api_error,
    error_class,
)
from .framing import check_entries
from .reply import Reply, reply
from .responses.response import RESPONSE, ResponseError
from .streams import Halves
from .transport import HTTPAnswer
from .unknown import check_depth, extras, given

if TYPE_CHECKING:
    from .losses import Loss
    from .responses.response import Response
    from .target import Target
    from .unknown import Decoder

D = TypeVar("D")


class Sent(NamedTuple):
    """An answer that is no error, and how it came."""

    answer: HTTPAnswer
    secrets: Mapping[str, str | Secret]
    """What was sent that an answer must not show: the headers, and the tokens in the body."""
    attempts: tuple[Attempt, ...]
    losses: Sequence[Loss] = ()
    """What was left out because the vendor refused it in an earlier attempt."""


class Begun(NamedTuple):
    """A document that is one part of a long answer, and how it came."""

    document: Any
    sent: Sent


class _Verdict(Struct):
    """What a vendor says in each of its answers about how the request went."""

    status_code: int | str = 0


_encode = msgspec.json.Encoder().encode
_peek = msgspec.json.Decoder(dict[str, Raw])
_verdict = msgspec.json.Decoder(_Verdict)
_SHALLOW = 16_384
"""A document up to this size cannot nest so deep that decoding it exhausts a thread's stack."""

_EMPTY = b"{}"

_STATUS = re.compile("[45][0-9]{2}")
_NO_ERROR = (b"null", b"false", b'""', b"{}", b"[]", b"0")


def refusal(target: Target, answer: HTTPAnswer, sent: Mapping[str, str | Secret]) -> LLMError:
    """The error that an answer with an error in it is."""
    facts = target.wire.decode_error(answer.status, answer.headers, answer.body)
    facts = without_secrets(facts, sent)
    if answer.status < 400 and facts.code is not None and _STATUS.fullmatch(facts.code):
        # Routers answer 200 and put the status of the vendor behind them into the body.
        facts = replace(facts, status=int(facts.code))
    return api_error(facts, vendor=target.vendor, model=target.model, rules=target.endpoint.vendor.errors)


def redirect(answer: HTTPAnswer) -> LLMError:
    """The error for an answer that points elsewhere; keys go to one host and are not taken to another."""
    try:
        host = urlsplit(answer.headers.get("location", "")).hostname
    except ValueError:
        host = None
    where = f"to {host}" if host else "elsewhere"
    return ProtocolError(f"the server redirects {where}, which is not followed", retryable=False, hint="check base_url")


def document_of(target: Target, sent: Sent, decoder: Decoder[D]) -> D:
    """The document in an answer, as the wire's struct. Raises the vendor's error where it holds one instead."""
    try:
        if len(sent.answer.body) > _SHALLOW:
            check_entries(sent.answer.body)
            check_depth(sent.answer.body)
        document = _decoded(sent.answer.body, decoder)
        # An empty one beside a good answer is how some hosts say that there was none.
        if not ("error" in getattr(type(document), "__extras__", ()) and extras(cast("Struct", document))["error"]):
            return document
        problem, limited = "it holds an error", False
    except ResponseTooLargeError as fault:
        fault.status = sent.answer.status
        raise told(fault, target, sent.attempts) from None
    except DecodeError as fault:
        problem, limited = fault.message, fault.limited
    failed = _is_error(sent.answer.body, target.endpoint.vendor.errors.verdict)
    error = refusal(target, sent.answer, sent.secrets) if failed else malformed(target, sent, problem)
    if limited:
        error.retryable = False  # a limit of ours, which the next one passes as well
    raise told(error, target, sent.attempts)


def _decoded(body: bytes, decoder: Decoder[D]) -> D:
    if len(body) < len(_EMPTY) + 16 and body.strip() == _EMPTY:
        raise DecodeError("it is empty")  # which fits a wire where everything may be left out
    try:
        return decoder.decode(body)
    except DecodeError:
        whole = Halves().joined(body)
        if whole == body:
            raise
    return decoder.decode(whole)


def _is_error(raw: bytes, verdict: str) -> bool:
    try:
        check_depth(raw)
        fields = _peek.decode(raw)
        said = _verdict.decode(fields[verdict]) if verdict in fields else _Verdict()
    except (msgspec.MsgspecError, DecodeError, UnicodeDecodeError):
        return False
    return said.status_code != 0 or bytes(fields.get("error", b"null")) not in _NO_ERROR


def malformed(target: Target, sent: Sent, problem: str) -> MalformedResponseError:
    """The error for an answer that is not what it should be, with the start of what it is."""
    answer = sent.answer
    kind = answer.headers.get("content-type", "no content type")
    facts = target.wire.decode_error(answer.status, answer.headers, answer.body)
    what = f"an answer of {kind}" if answer.body else "an empty answer"
    message = f"{what} instead of a document of {target.endpoint.wire} ({problem}): {facts.message}"
    facts = without_secrets(replace(facts, message=message.removesuffix(": ")), sent.secrets)
    return MalformedResponseError(facts.message, status=answer.status, request_id=facts.request_id, body=facts.body)


def hushed(error: LLMError, sent: Mapping[str, str | Secret]) -> LLMError:
    """The error without the secrets that were sent, which a server may have repeated in whatever it is about."""
    error.message = text_without_secrets(error.message, sent)
    error.args = (error.message,)
    return error


def told(error: LLMError, target: Target, attempts: tuple[Attempt, ...]) -> LLMError:
    """The error with what the call knows about it."""
    error.vendor = error.vendor or target.vendor
    error.model = error.model or target.model
    error.attempts = attempts
    error.facts = target.facts()
    return error


def failure(target: Target, response: Response, sent: Mapping[str, str | Secret]) -> LLMError:
    """The error that a failed generation is; HTTP says 200 for these."""
    error = response.error if given(response.error) else ResponseError()
    facts = ErrorFacts(
        status=200,
        message=error.message or "the generation failed",
        code=None if not given(error.code) else str(error.code),
        type=error.type or None,
    )
    # Without a telling code it is the vendor's fault.
    rules = target.endpoint.vendor.errors
    facts = facts if error_class(facts, rules) is not APIStatusError else replace(facts, status=500)
    facts = without_secrets(facts, sent)
    made = api_error(facts, vendor=target.vendor, model=target.model, rules=rules)
    made.status = 200
    return made


def partial_of(found: Reply, error: LLMError, sent: Mapping[str, str | Secret]) -> Reply:
    """What an error leaves of a reply. What the vendor said about a failure is shown as the error shows it."""
    if given(found.error):
        found.error = replace(found.error, message=error.message)
    if found.status != "failed":
        return found
    how, document = found.info, _encode(found)
    how.raw, safe = bytes_without_secrets(how.raw, sent), bytes_without_secrets(document, sent)
    return found if safe == document else reply(RESPONSE.decode(safe), how)
