"""Parsing of error responses, shared by all wires: the headers, and a body of any form.

A wire's `decode_error` calls `error_facts` and corrects the differences of its vendor. Before changing this file, know
that the bytes come from servers, proxies and captive portals alike: nothing here may raise, take more than linear time,
or let a secret that a server repeats pass into a message. Header facts follow the vendors' client libraries (read
2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypedDict, cast

import msgspec

from ..errors import DecodeError, ErrorFacts, printable
from ..unknown import as_object, check_depth

if TYPE_CHECKING:
    from collections.abc import Mapping

Plain = dict[str, Any]


class HeaderFacts(TypedDict):
    """The facts in the headers of an error response, by the names of `ErrorFacts`."""

    retry_after: float | None
    should_retry: bool | None
    request_id: str | None


REQUEST_ID = ("x-request-id", "request-id", "apim-request-id", "x-ms-request-id", "x-amzn-requestid", "cf-ray")
"""Headers with the request id for the vendor's support, the most specific first."""

SHOULD_RETRY = {"true": True, "false": False}

_LONGEST = 366 * 86400.0


def header_facts(headers: Mapping[str, str]) -> HeaderFacts:
    """The server's retry delay, whether it allows a retry, and its request id."""
    named = {name.lower(): value for name, value in headers.items()}
    return {
        "retry_after": retry_after(named),
        "should_retry": SHOULD_RETRY.get(named.get("x-should-retry", "").strip().lower()),
        "request_id": next((printable(named[name], 200) for name in REQUEST_ID if named.get(name)), None),
    }


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the headers (by lower-case names): `retry-after-ms`, a number of seconds or a date.

    A date counts from the answer's own `date`, so no clock is read. A value that is not positive, not a number, or
    longer than a year is ignored.
    """
    exact = _seconds(headers.get("retry-after-ms", ""), 1000)
    if exact is not None:
        return exact
    header = headers.get("retry-after", "")
    return _seconds(header, 1) or _seconds_until(header, headers.get("date", ""))


def _seconds(text: str, divisor: int) -> float | None:
    text = text.strip()
    return _sane(float(text) / divisor) if re.fullmatch(r"[0-9]{1,20}(?:\.[0-9]{0,20})?", text) else None


def _seconds_until(then: str, now: str) -> float | None:
    if not then or not now:
        return None
    from datetime import UTC
    from email.utils import parsedate_to_datetime  # loads sockets, which a converter's import must not

    try:
        dates = map(parsedate_to_datetime, (now, then))
        start, end = (date if date.tzinfo else date.replace(tzinfo=UTC) for date in dates)
        return _sane((end - start).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _sane(seconds: float) -> float | None:
    return seconds if 0 < seconds <= _LONGEST else None


# --- the body -------------------------------------------------------------------------------------------------------

_LARGEST = 64 * 1024
_EXCERPT = 4096
_BOM = b"\xef\xbb\xbf"
_HALF = rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
"""Lone surrogates, which are not valid text."""
_FRAMED = rb"(?m)^data:(.+)"
"""The data of an event: an error of a streamed request may be framed as a stream."""
_SECRET_NAME = r"(?i)authorization|api[-_]?key|secret|password|access[-_]?token"


def parsed(body: bytes) -> Any:
    """The JSON value in `body`; `None` if it is not JSON, too large or nested too deeply."""
    if len(body) > _LARGEST:
        return None
    body = body.removeprefix(_BOM)
    for text in (body, re.sub(_HALF, rb"\\ufffd", body), *re.findall(_FRAMED, body[:_EXCERPT])[:1]):
        try:
            check_depth(text)
            return msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, DecodeError):
            continue
    return None


def excerpt(body: bytes) -> str:
    """The start of `body` as one printable line; of an HTML page its title, else its text."""
    text = body[:_EXCERPT].removeprefix(_BOM).decode("utf-8", "replace")
    if text.lstrip()[:1] == "<":
        title = re.search(r"(?i)<title[^<>]*>([^<]*)", text)
        text = title[1] if title else re.sub(r"<[^<>]*>?", " ", text)
    return printable(" ".join(text.split()), _EXCERPT)


def redacted(value: Any, depth: int = 32) -> Any:
    """`value` with everything that looks like a secret replaced, to store on an error."""
    if isinstance(value, str):
        return printable(value, _EXCERPT)
    if depth == 0:
        return "…"
    if isinstance(value, list):
        return [redacted(entry, depth - 1) for entry in cast("Any", value)]
    if isinstance(value, dict):
        return {
            printable(name): "[redacted]" if re.search(_SECRET_NAME, name) else redacted(entry, depth - 1)
            for name, entry in cast("Plain", value).items()
        }
    return value


# --- the status and the type of an error to encode --------------------------------------------------------------------

TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""The type that OpenAI gives an error of that status."""


def status_of(facts: ErrorFacts, default: int, statuses: Mapping[str, int] = {}) -> int:
    """The status of an error; without one, as in a stream that began with 200, the status of its type or code."""
    if 400 <= facts.status <= 599:
        return facts.status
    return statuses.get(facts.type or "") or statuses.get(facts.code or "") or default


def type_of(facts: ErrorFacts, status: int) -> str:
    """The error type in OpenAI's format."""
    return facts.type or TYPES.get(status) or ("invalid_request_error" if status < 500 else "server_error")


# --- both together --------------------------------------------------------------------------------------------------

_MESSAGE = ("message", "detail", "error_description", "msg", "title")
_NAMED = frozenset({"error", "type", "code", "param", *_MESSAGE})


def error_facts(wire: str, status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """The facts of an error response of any shape; `leftovers[wire]` has the fields that are no fact.

    Supports `{"error": {...}}`, `{"error": "text"}`, `{"message": ...}`, `{"detail": ...}`, a list of any of them, a
    bare string, and bodies that are not JSON.
    """
    value = parsed(body)
    document = _document(value)
    inner = _document(document.get("error"))
    fields = inner if _text(inner) else document
    rest = {name: entry for name, entry in document.items() if name not in _NAMED}
    odd = [name for name in ("type", "code", "param") if inner.get(name) is not None and _word(inner[name]) is None]
    within = {name: entry for name, entry in inner.items() if name not in _NAMED or name in odd}
    if within:
        rest["error"] = within
    headed = header_facts(headers)
    headed["request_id"] = headed["request_id"] or _word(document.get("request_id"))
    return ErrorFacts(
        status=status,
        message=_text(fields) or (excerpt(body) if value is None else ""),
        type=_word(inner.get("type")) or _word(document.get("type")),
        code=_word(inner.get("code")) or _word(document.get("code")),
        param=_word(inner.get("param")) or _word(document.get("param")),
        body=excerpt(body) or None if value is None else redacted(value),
        leftovers={wire: rest} if rest else {},
        **headed,
    )


def _document(value: Any) -> Plain:
    """The object that describes the error: `value` itself, the first entry of a list, or a text as a message."""
    if isinstance(value, list):
        value = next(iter(cast("Any", value)), None)
    if isinstance(value, str):
        return {"message": value}
    return as_object(value)


def _text(fields: Plain) -> str:
    for name in _MESSAGE:
        found = fields.get(name)
        if isinstance(found, list | dict) and found:
            found = _text(_document(found)) or msgspec.json.encode(found).decode()
        if isinstance(found, str) and found:
            return found
    return ""


def _word(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)
