"""What an error of the server says, and an error as the server tells it: `{"error": "text"}`, whatever happened.

There is no type and no code: what went wrong is read from the text, in the words other wires use for it. The same object is the
last line of a stream that broke, under status 200. Before changing this file, know that some errors come with the wrong
status (a prompt that is too long, with 500), so that the text is looked at first. Follows the server's error texts
(read 2026-11-20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from .._errors import error_facts
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...errors import ErrorFacts

CODES = (
    (r"model .*not found|try pulling it first", "model_not_found"),
    (r"context length", "context_length_exceeded"),
    (r"server busy|maximum pending requests", "overloaded"),
    (r"unauthorized|not signed in", "unauthenticated"),
    (r"does not support|invalid think value|top_logprobs must|invalid format|model is required", "invalid_argument"),
)
"""What a text says, in the words that other wires have for it."""

STATUSES = {
    "model_not_found": 404,
    "context_length_exceeded": 400,
    "overloaded": 503,
    "unauthenticated": 401,
    "invalid_argument": 400,
}
"""The status that belongs to a code, where there is none but that of a stream that began well."""


def code_of(text: str) -> str | None:
    """What an error's text says, as a word."""
    return next((code for pattern, code in CODES if re.search(pattern, text, re.IGNORECASE)), None)


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """What an error answer says. A status that the cloud put into the body wins over an HTTP 200."""
    facts = error_facts(WIRE, status, headers, body)
    told = facts.leftovers.get(WIRE, {}).get("StatusCode")
    if status < 400 and type(told) is int and 400 <= told <= 599:
        facts.status = told
    facts.code = facts.code or code_of(facts.message)
    return facts


def encode_error(facts: ErrorFacts) -> tuple[int, Json]:
    """The status and the body that tell an error to a client of this wire."""
    status = facts.status if 400 <= facts.status <= 599 else STATUSES.get(facts.code or "", 502)
    left = dict(facts.leftovers.get(WIRE, {}))
    inner = left.pop("error", None)
    return status, {"error": {**inner, "message": facts.message} if inner else facts.message, **left}


def line_error(told: Any) -> ErrorFacts:
    """What the line of a stream says that ended it; message and code are always there."""
    facts = error_facts(WIRE, 200, {}, msgspec.json.encode({"error": told}))
    facts.message = facts.message or "the server ended the stream with an error"
    facts.code = code_of(facts.message) or facts.code or "server_error"
    return facts
