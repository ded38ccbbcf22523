"""Facts about the structs of `POST /v1/responses`, and the documents of the endpoints beside it.

The documents of the endpoint itself are those of `llm_rest.responses`. Before changing this file, know that
`schemas/required_nullable.py` writes `REQUIRED_NULLABLE`. Follows the OpenAI Responses reference and Open Responses (read
2026-11-20).
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from ... import responses as rs
from ...responses.lenient import WIRE
from ...responses.received import OURS, ReceivedDecoder
from ...unknown import Decoder, Model, Opt

__all__ = ["COMPACTION", "COUNT", "DELETED", "ITEMS", "REQUEST", "RESPONSE", "WIRE", "Deleted", "ItemPage"]

REQUEST: Decoder[rs.Request] = ReceivedDecoder(rs.REQUEST, OURS)
"""Decodes a request as it is, or in the notations of `responses/normalize.py`."""
RESPONSE: Decoder[rs.Response] = ReceivedDecoder(rs.RESPONSE)
"""Decodes a response object as a Responses host sends it."""

REQUIRED_NULLABLE: dict[str, tuple[str, ...]] = {
    "InputImage": ("image_url",),
    "FunctionTool": ("description", "parameters", "strict"),
    "JsonSchemaFormat": ("description", "schema"),
    "ReasoningOptions": ("effort", "summary"),
    "Response": (
        "completed_at",
        "incomplete_details",
        "previous_response_id",
        "instructions",
        "error",
        "reasoning",
        "usage",
        "max_output_tokens",
        "max_tool_calls",
        "safety_identifier",
        "prompt_cache_key",
    ),
    "StreamError": ("code", "param"),
}
"""Keys that must be there and may be null, by struct."""


# --- the other endpoints --------------------------------------------------------------------------------------------


class InputTokens(Model, kw_only=True):
    """The number of tokens of an input."""

    object: Literal["response.input_tokens"] | str = "response.input_tokens"
    input_tokens: int


class Deleted(Model, kw_only=True):
    """The answer to a deletion."""

    id: Opt[str] = UNSET
    object: Opt[str] = UNSET
    deleted: Opt[bool] = UNSET


class ItemPage(Model, kw_only=True):
    """A page of the input items of a stored response. While `has_more`, the next page comes after `last_id`."""

    object: Literal["list"] | str = "list"
    data: list[rs.AnyItem]
    first_id: Opt[str] = UNSET
    last_id: Opt[str] = UNSET
    has_more: Opt[bool] = UNSET


COUNT: Decoder[InputTokens] = Decoder(InputTokens)
"""Decodes the answer to a count."""
COMPACTION: Decoder[rs.CompactedResponse] = ReceivedDecoder(Decoder(rs.CompactedResponse), notes=False)
"""Decodes the answer to a compaction."""
DELETED: Decoder[Deleted] = Decoder(Deleted)
"""Decodes the answer to a deletion."""
ITEMS: Decoder[ItemPage] = ReceivedDecoder(Decoder(ItemPage), notes=False)
"""Decodes a page of input items."""


class ErrorObject(Model, kw_only=True):
    """An error. The type and the code are the vendor's; `param` names the field of the request."""

    message: str
    type: str | None = None
    param: str | None = None
    code: str | None = None


class ErrorBody(Model, kw_only=True):
    """The body of an answer with an error status."""

    error: ErrorObject
