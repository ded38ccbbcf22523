"""Documents of `POST /v1/responses` and the endpoints beside it that are not the format itself, and facts about its structs.

`REQUIRED_NULLABLE` is written by `schemas/required_nullable.py`. Follows the OpenAI Responses reference and Open Responses (read
2026-11-20).
"""

from __future__ import annotations

from typing import Any, Literal, cast

from msgspec import UNSET

from ...responses import (
    AnyItem,
    CodeInterpreterCall,
    CompactedResponse,
    Compaction,
    CustomToolCall,
    FileSearchCall,
    FunctionCall,
    FunctionCallOutput,
    ImageGenerationCall,
    ItemBase,
    McpApprovalRequest,
    McpCall,
    McpListTools,
    Message,
    Reasoning,
    ToolSearchCall,
    ToolSearchOutput,
    WebSearchCall,
)
from ...unknown import Decoder, Model, Opt

ID_PREFIX: dict[type[ItemBase], str] = {
    Message: "msg_",
    Reasoning: "rs_",
    FunctionCall: "fc_",
    FunctionCallOutput: "fc_",
    CustomToolCall: "ctc_",
    WebSearchCall: "ws_",
    FileSearchCall: "fs_",
    CodeInterpreterCall: "ci_",
    ImageGenerationCall: "ig_",
    McpCall: "mcp_",
    McpListTools: "mcpl_",
    McpApprovalRequest: "mcpr_",
    ToolSearchCall: "tsc_",
    ToolSearchOutput: "tso_",
    Compaction: "cmp_",
}
"""How the ids of each kind begin. Kinds that are not listed are made by this wire's own vendor alone."""


def id_prefix(item: ItemBase) -> str:
    """How an id of this kind of item begins; empty where nobody checks."""
    # An item with unknown fields is of a subclass made for them.
    return ID_PREFIX.get(type(item)) or ID_PREFIX.get(cast("Any", type(item).__base__), "")


class ErrorObject(Model):
    """What went wrong. The type and the code are the vendor's words; `param` names the field of the request."""

    message: str
    type: str | None = None
    param: str | None = None
    code: str | None = None


class ErrorBody(Model):
    """The body of an answer with an error status."""

    error: ErrorObject


class InputTokens(Model):
    """How large an input is."""

    object: Literal["response.input_tokens"] | str = "response.input_tokens"
    input_tokens: int


COUNT: Decoder[InputTokens] = Decoder(InputTokens)
"""Decodes the answer to a count."""


COMPACTION: Decoder[CompactedResponse] = Decoder(CompactedResponse)
"""Decodes the answer to a compaction."""


class Deleted(Model):
    """A response that is gone."""

    id: Opt[str] = UNSET
    object: Opt[str] = UNSET
    deleted: Opt[bool] = UNSET


class ItemPage(Model):
    """Some of the items a response was given. While `has_more`, the next page comes after `last_id`."""

    object: Literal["list"] | str = "list"
    data: list[AnyItem]
    first_id: Opt[str] = UNSET
    last_id: Opt[str] = UNSET
    has_more: Opt[bool] = UNSET


DELETED: Decoder[Deleted] = Decoder(Deleted)
"""Decodes the answer to a deletion."""


ITEMS: Decoder[ItemPage] = Decoder(ItemPage)
"""Decodes a page of input items."""

REQUIRED_NULLABLE: dict[str, tuple[str, ...]] = {
    "InputImage": ("image_url",),
    "FunctionTool": (
        "description",
        "parameters",
        "strict",
    ),
    "JsonSchemaFormat": (
        "description",
        "schema",
    ),
    "ReasoningOptions": (
        "effort",
        "summary",
    ),
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
    "StreamError": (
        "code",
        "param",
    ),
}
"""Required nullable keys, by struct."""
