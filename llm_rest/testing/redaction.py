"""Redaction of cassettes: removes keys, tokens and account names from requests and answers, whole or in pieces.

By construction: of headers only those in `HEADERS` are written, of a query only `QUERY`, fields of a body that are
named like a secret are blank, and what stood in a header that is left out is blank everywhere else too. Before changing
this file, know that an answer may repeat a key anywhere, and that a stream may be cut in the middle of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ..transport.connection import plain

HEADERS = frozenset(
    "accept anthropic-beta anthropic-version content-type openai-beta retry-after retry-after-ms x-should-retry".split()
)
"""The headers that are recorded."""

QUERY = frozenset({"alt", "api-version", "beta"})
"""The query parameters that are recorded."""

_SECRET = re.compile(
    r"authorization|headers|.*(api_?key|token|secret|password|credential)|(organization|project|account)(_id)?|user",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(r"(?<=/projects/)[^/]+|(?<=/accounts/)[^/]+|(?<=/organizations/)[^/]+")
"""The names of accounts in paths."""
BLANK = "[redacted]"


def secrets_in(headers: Mapping[str, Any]) -> list[str]:
    """The values of headers that are not recorded, which may be repeated elsewhere."""
    values = [plain(value) for name, value in headers.items() if name.lower() not in HEADERS]
    found = {word for value in values for word in (value, *value.split()) if len(word) >= 12}
    return sorted(found, key=len, reverse=True)


def _without(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, BLANK)
    return text


def _blank(value: Any, secrets: Sequence[str]) -> Any:
    """JSON without secrets: fields with the name of a secret, and texts that contain a known secret, are redacted."""
    if isinstance(value, dict):
        return {
            name: BLANK if _SECRET.fullmatch(name) and inner else _blank(inner, secrets)
            for name, inner in cast("dict[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [_blank(one, secrets) for one in cast("list[object]", value)]
    return _without(value, secrets) if isinstance(value, str) else value


def redacted_url(url: str, secrets: Sequence[str]) -> str:
    """The URL without account names, and with redacted query values."""
    parts = urlsplit(url)
    path, known = _ACCOUNT.sub(BLANK, parts.path), parse_qsl(parts.query)
    query = urlencode([(name, value if name in QUERY else BLANK) for name, value in known], safe="[]")
    return _without(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, query, "")), secrets)


def redacted_body(body: bytes, secrets: Sequence[str]) -> Any:
    """The redacted body of a request, as JSON if it is JSON."""
    document = _document(body)
    found = body.decode(errors="replace") or None if document is None else document
    return _blank(found, secrets)


def redacted_pieces(pieces: Sequence[bytes], secrets: Sequence[str]) -> list[bytes]:
    """The pieces of an answer without secrets, wherever it was cut: a line that held one is in the piece that it ends in."""
    whole = b"".join(pieces)
    lines = [whole] if _document(whole) is not None else whole.splitlines(keepends=True)
    made, ends, place = [b""] * bool(pieces), [*accumulate(map(len, pieces))], 0
    for line in lines:
        blank, place = _line(line, secrets), place + len(line)
        while len(made) < len(ends) and ends[len(made) - 1] < place:
            head, line = (
                (line[: (cut := len(line) - place + ends[len(made) - 1])], line[cut:]) if blank is None else (b"", line)
            )
            made[-1] += head
            made.append(b"")
        made[-1] += line if blank is None else blank
    return made


def _line(line: bytes, secrets: Sequence[str]) -> bytes | None:
    """A redacted line, or document; `None` where it contains no secret."""
    text = line.removeprefix(b"data:")
    document = _document(text)
    if document is None:
        blank = _without(line.decode("latin-1"), secrets).encode("latin-1")
        return None if blank == line else blank
    redacted, end = _blank(document, secrets), line[len(line.rstrip()) :]
    return None if redacted == document else b"data: " * (text != line) + json.dumps(redacted).encode() + end


def _document(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
