"""What an error answer of this wire says, and an error as this wire tells it.

Most hosts write `{"error": {"message", "type", "param", "code"}}`; others a text, a list, a flat object, or `base_resp`
inside status 200. Before changing this file, know that `decode_error` is also asked about answers of status 200 which are
no completions. Follows the error sections of the hosts' references (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .._errors import error_facts
from .._left import as_object
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...errors import ErrorFacts

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}
"""The type OpenAI gives an error of that status; any other is a `server_error`."""


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """What an error answer says. A status of its own inside the body wins over an HTTP 200."""
    facts = error_facts(WIRE, status, headers, body)
    left = facts.leftovers.get(WIRE, {})
    result = left.get("base_resp")
    if isinstance(result, dict) and not facts.message:
        # MiniMax: errors come with status 200, and the code is a number of its own.
        found = cast("Json", result)
        facts.message = str(found.get("status_msg") or "")
        facts.code = facts.code or str(found.get("status_code") or "") or None
    if status < 400:
        facts.retry_after = None  # some hosts send the header with every answer
        told = _status(left, facts.code)
        if told is not None:
            facts.status = told
    return facts


def _status(left: Json, code: str | None) -> int | None:
    """The HTTP status that an error inside an answer of status 200 tells."""
    inner: Any = left.get("error")
    told: Any = left.get("status_code", cast("Json", inner).get("status_code") if isinstance(inner, dict) else None)
    for value in (told, int(code) if code is not None and code.isdecimal() and len(code) == 3 else None):
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    return None


def encode_error(facts: ErrorFacts) -> tuple[int, Json]:
    """The status and the body that tell an error to a client of this wire."""
    status = facts.status if 400 <= facts.status <= 599 else 502
    error: Json = {
        "message": facts.message,
        "type": facts.type or TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error"),
        "param": facts.param,
        "code": facts.code,
    }
    left = dict(facts.leftovers.get(WIRE, {}))
    return status, {"error": {**as_object(left.pop("error", None)), **error}, **left}
