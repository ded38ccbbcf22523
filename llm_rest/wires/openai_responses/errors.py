"""Error answers of the Responses API: `{"error": {"message", "type", "param", "code"}}` and what hosts send instead.

Follows the error object of the OpenAI reference (read 2026-11-20); what every wire has in common is `wires/_errors.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...errors import ErrorFacts
from ...responses.lenient import WIRE
from ...unknown import Model, with_extras
from .._errors import error_facts

if TYPE_CHECKING:
    from collections.abc import Mapping


class ErrorObject(Model):
    """What went wrong. The type and the code are the vendor's words; `param` names the field of the request."""

    message: str
    type: str | None = None
    param: str | None = None
    code: str | None = None


class ErrorBody(Model):
    """The body of an answer with an error status."""

    error: ErrorObject


TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
"""The type of an error that has none, by status."""


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """What the answer says went wrong, whatever its shape; never raises."""
    return error_facts(WIRE, status, headers, body)


def encode_error(facts: ErrorFacts) -> tuple[int, ErrorBody]:
    """The status and body that tell a client of this API the same."""
    status = facts.status if 400 <= facts.status < 600 else 500
    kind = facts.type or TYPES.get(status) or ("invalid_request_error" if status < 500 else "server_error")
    error = ErrorObject(message=facts.message, type=kind, param=facts.param, code=facts.code)
    rest = dict(cast("dict[str, Any]", facts.leftovers.get(WIRE, {})))
    error = with_extras(error, rest.pop("error", {}))
    return status, with_extras(ErrorBody(error=error), rest)
