"""What an answer cost: token counts and the tier it was given in.

Before changing this file, know that this wire counts input without what the cache gave and took, and Responses with it.
Follows the Messages reference of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ... import responses as ours
from ...losses import Losses
from ...responses.leftovers import SPELLING
from ...unknown import Opt, extras, given
from . import types
from .carried import WIRE, merged, own_fields, rest

TIERS = {"standard": "default", "priority": "priority", "batch": "default"}
"""The tier an answer was given in, theirs on the left; the way back prefers the first."""
TIERS_BACK = {"default": "standard", "priority": "priority"}


def decode_tier(used: types.Usage) -> Opt[str]:
    """The tier an answer was given in, as Responses names it."""
    tier = used.service_tier
    return TIERS.get(tier, tier) if given(tier) else UNSET


def decode_usage(used: types.Usage) -> ours.Usage:
    """Token counts as Responses counts them: input with what the cache gave and took."""
    input, output = used.input_tokens, used.output_tokens
    usage = ours.Usage(input_tokens=input, output_tokens=output, total_tokens=input + output)
    fields: dict[str, Any] = {}
    read, written = used.cache_read_input_tokens, used.cache_creation_input_tokens
    if read is not UNSET or written is not UNSET:
        usage.input_tokens_details = ours.InputTokensDetails(cached_tokens=read or 0, cache_write_tokens=written or 0)
        usage.input_tokens += (read or 0) + (written or 0)
        usage.total_tokens = usage.input_tokens + output
        if not given(read) or not given(written):
            fields[SPELLING] = rest(used, ("cache_read_input_tokens", "cache_creation_input_tokens"))
    thought = used.output_tokens_details
    if thought is not UNSET:
        thinking = thought.get("thinking_tokens") if thought else None
        if thinking is not None:
            usage.output_tokens_details = ours.OutputTokensDetails(reasoning_tokens=thinking)
        if thought is None or thinking is None or len(thought) > 1:
            fields["output_tokens_details"] = thought
    if used.cache_creation is not UNSET:
        fields["cache_creation"] = used.cache_creation
    if used.server_tool_use is not UNSET:
        fields["server_tool_use"] = used.server_tool_use
    if used.inference_geo is not UNSET:
        fields["inference_geo"] = used.inference_geo
    if used.speed is not UNSET:
        fields["speed"] = used.speed
    if used.iterations is not UNSET:
        fields["iterations"] = used.iterations
    if used.service_tier is not UNSET and used.service_tier not in TIERS_BACK.values():
        fields["service_tier"] = used.service_tier
    if type(used) is not types.Usage:
        fields |= extras(used)
    if fields:
        usage.leftovers = {WIRE: fields}
    return usage


def encode_usage(response: ours.Response, lost: Losses) -> types.Usage:
    """Token counts of this wire: input without what the cache gave and took."""
    used = response.usage
    if not given(used):
        body = types.Usage(input_tokens=0, output_tokens=0)
        _encode_tier(response, body, lost)
        return body
    input, body = int(used.input_tokens), types.Usage(input_tokens=0, output_tokens=int(used.output_tokens))
    cached = used.input_tokens_details
    if given(cached):
        body.cache_read_input_tokens = int(cached.cached_tokens or 0)
        body.cache_creation_input_tokens = int(cached.cache_write_tokens or 0)
        input -= body.cache_read_input_tokens + body.cache_creation_input_tokens
    body.input_tokens = max(input, 0)
    if given(used.output_tokens_details) and given(used.output_tokens_details.reasoning_tokens):
        body.output_tokens_details = {"thinking_tokens": int(used.output_tokens_details.reasoning_tokens)}
    kept = own_fields(used.leftovers, "usage", lost)
    if response.service_tier != kept.get("service_tier", UNSET):
        _encode_tier(response, body, lost)
    fields = {name: value for name, value in kept.items() if name != SPELLING}
    spelled: dict[str, Any] | None = kept.get(SPELLING)
    if spelled is not None:
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens"):
            if not getattr(body, name):
                setattr(body, name, spelled.get(name, UNSET))
    return merged(body, fields, "usage.leftovers", lost) if fields else body


def _encode_tier(response: ours.Response, body: types.Usage, lost: Losses) -> None:
    tier = response.service_tier
    if given(tier):
        if tier in TIERS_BACK:
            body.service_tier = TIERS_BACK[tier]
        else:
            lost.dropped("service_tier", f"this wire has no tier {tier!r}")
