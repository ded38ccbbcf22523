"""What an answer cost: token counts, and the tier it was given in.

Before changing this file, know that this wire counts input without what the cache gave and took, and Responses with it.
Follows the Messages reference of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...losses import Losses
from ...responses.leftovers import SPELLING
from ...unknown import given
from .._left import copies, report_cost, sent
from . import types
from .leftovers import left, own_fields, rest, returned

TIERS = {"standard": "default", "priority": "priority", "batch": "default"}
"""The tier an answer was given in, theirs on the left; the way back prefers the first."""
TIERS_BACK = {"default": "standard", "priority": "priority"}
EXACT = frozenset(TIERS_BACK.values())
"""Tiers that come back as they were."""
ABOUT = ("cache_creation", "server_tool_use", "inference_geo", "speed", "iterations")
"""Fields that describe one answer, and wait in leftovers."""
CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
COUNTS = ("input_tokens", "output_tokens", *CACHED)

_usage = copies(ours.Usage(input_tokens=0, output_tokens=0, total_tokens=0))


def decode_usage(used: types.Usage) -> ours.Usage:
    """Token counts as Responses counts them: input with what the cache gave and took."""
    input, output, thought = used.input_tokens or 0, used.output_tokens or 0, used.output_tokens_details
    read, written = used.cache_read_input_tokens, used.cache_creation_input_tokens
    if read is not UNSET or written is not UNSET:
        input += (read or 0) + (written or 0)
    usage = _usage()
    usage.input_tokens, usage.output_tokens, usage.total_tokens = input, output, input + output
    if (
        read is written is thought is used.service_tier is used.speed is UNSET
        and used.cache_creation is used.server_tool_use is used.inference_geo is used.iterations is UNSET
        and type(used) is types.Usage
        and input
        and output
    ):
        return usage
    fields = rest(used, ABOUT)
    if read is not UNSET or written is not UNSET:
        usage.input_tokens_details = ours.InputTokensDetails(cached_tokens=read or 0, cache_write_tokens=written or 0)
    counted = COUNTS if given(usage.input_tokens_details) else COUNTS[:2]
    complete = input and output and type(read) is type(written) is int
    if not complete and (odd := {name: sent(value) for name in counted if not given(value := getattr(used, name))}):
        fields[SPELLING] = odd
    if thought is not UNSET:
        thinking = thought.get("thinking_tokens") if thought else None
        if thinking is not None:
            usage.output_tokens_details = ours.OutputTokensDetails(reasoning_tokens=thinking)
        if thought is None or thinking is None or len(thought) > 1:
            fields["output_tokens_details"] = thought
    if used.service_tier is not UNSET and used.service_tier not in EXACT:
        fields["service_tier"] = used.service_tier
    usage.leftovers = left(fields)
    return usage


def encode_usage(response: ours.Response, lost: Losses) -> types.Usage:
    """Token counts of this wire: input without what the cache gave and took."""
    used, body = response.usage, types.Usage(input_tokens=0, output_tokens=0)
    kept: dict[str, Any] = own_fields(used.leftovers, "usage", lost) if given(used) else {}
    tier = response.service_tier
    if given(tier) and tier != kept.get("service_tier", UNSET):
        if tier in TIERS_BACK:
            body.service_tier = TIERS_BACK[tier]
        else:
            lost.dropped("service_tier", f"Anthropic has no tier {tier!r}")
    if not given(used):
        return body
    report_cost(used, lost)
    input, body.output_tokens = used.input_tokens, used.output_tokens
    cached = used.input_tokens_details
    if given(cached):
        body.cache_read_input_tokens = int(cached.cached_tokens or 0)
        body.cache_creation_input_tokens = int(cached.cache_write_tokens or 0)
        input -= body.cache_read_input_tokens + body.cache_creation_input_tokens
    body.input_tokens = max(input, 0)
    if input < 0:
        lost.changed(
            "usage.input_tokens", "less than what of it came from the cache; it is said to be none beside that"
        )
    if used.total_tokens != used.input_tokens + used.output_tokens:
        lost.dropped("usage.total_tokens", "a total that is not the sum of input and output")
    if given(used.output_tokens_details) and given(used.output_tokens_details.reasoning_tokens):
        body.output_tokens_details = {"thinking_tokens": int(used.output_tokens_details.reasoning_tokens)}
    return returned(body, kept, "usage.leftovers", lost)
