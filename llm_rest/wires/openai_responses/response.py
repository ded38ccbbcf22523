"""Answers of `POST /v1/responses`, which are the format in the middle itself.

`encode_response(response)` is the identity; with the request it makes the answer a server gives, where every field is there
(`complete.py`). Follows the Response object of the OpenAI reference and of Open Responses (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec.json import encode
from msgspec.structs import replace

from ...losses import Loss, Losses
from ...responses import AnyItem, Request, Response
from ...responses.carriers import digest
from ...responses.leftovers import report_foreign
from ...responses.lenient import WIRE
from ...unknown import Unknown, given
from ...vendors.dialects import ResponsesDialect
from .complete import complete
from .content import report_repairs, strip
from .items import decode_items, unsealed
from .names import names_of, with_original_names
from .request import OPENAI


def decode_response(
    body: Response, *, request: Request | None = None, dialect: ResponsesDialect = OPENAI, now: float = 0
) -> tuple[Response, list[Loss]]:
    """The response itself; the host's opaque state in it is wrapped so that it returns to this host only."""
    lost = Losses()
    changes: dict[str, Any] = {}
    output = decode_items(body.output, "output", dialect, lost)
    if output is not body.output:
        changes["output"] = output
    if not body.id:
        changes["id"] = f"resp_{digest(encode(body.output).decode())}"
        lost.changed("id", "it was missing; one was made from the output")
    if body.leftovers is not None:
        changes["leftovers"] = report_repairs(body.leftovers, "id", lost)
    if given(body.usage) and body.usage.leftovers is not None:
        changes["usage"] = replace(body.usage, leftovers=report_repairs(body.usage.leftovers, "usage", lost))
    response = replace(body, **changes) if changes else body
    if request is not None and (names := names_of(request)):
        response = with_original_names(response, request, names)
    return response, lost


def encode_response(
    response: Response, *, request: Request | None = None, dialect: ResponsesDialect = OPENAI
) -> tuple[Response, list[Loss]]:
    """The response without the fields of ours; complete as a server answers it where the request is known."""
    lost = Losses()
    changes: dict[str, Any] = {}
    output = [encode_item(item, i, dialect, lost) for i, item in enumerate(response.output)]
    if any(new is not old for new, old in zip(output, response.output, strict=True)):
        changes["output"] = output
    if response.leftovers is not None:
        report_foreign(response.leftovers, WIRE, "", lost)
        changes["leftovers"] = None
    if given(response.usage) and response.usage.leftovers is not None:
        report_foreign(response.usage.leftovers, WIRE, "usage", lost)
        changes["usage"] = replace(response.usage, leftovers=None)
    if changes:
        response = replace(response, **changes)
    return response if request is None else complete(response, request), lost


def encode_item(item: AnyItem, i: int, dialect: ResponsesDialect, lost: Losses) -> AnyItem:
    """One item of an answer, without the fields of ours."""
    if isinstance(item, Unknown):
        return item
    return strip(unsealed(item, dialect), "output", i, lost)
