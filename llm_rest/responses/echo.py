"""What a Responses server repeats of the request in its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

if TYPE_CHECKING:
    from .request import Request

ECHOED = (
    "background",
    "frequency_penalty",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
)


def echo(request: Request | None) -> dict[str, Any]:
    """The fields of a `Response` that repeat what `request` set; nothing without a request."""
    if request is None:
        return {}
    values = ((name, getattr(request, name)) for name in ECHOED)
    return {name: value for name, value in values if value is not UNSET}
