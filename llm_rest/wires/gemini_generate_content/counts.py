"""Numbers of an answer, both ways: how many tokens it took, how probable they were, and when it was made.

Before changing this file, know that a count of 0 is left out, that thoughts are not among the tokens of the candidates, and
that what the vendor's own tools found is not among those of the prompt. Follows the references of `UsageMetadata` and
`LogprobsResult` (read 2026-11-20).
"""

from __future__ import annotations

from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import UNSET

from ...responses.leftovers import SPELLING
from ...responses.parts import Logprob, TopLogprob
from ...responses.response import InputTokensDetails, OutputTokensDetails, Response, Usage
from ...unknown import given
from . import types
from .carried import ABSENT, document_fields, merged, own_fields, rest, spelling
from .options import TIERS, TIERS_BACK
from .types import WIRE

if TYPE_CHECKING:
    from ...losses import Losses
    from ...unknown import Opt


# --- when it was made -----------------------------------------------------------------------------------------------


def decode_time(told: Opt[str], now: float) -> Opt[int | float]:
    """When an answer was made, in seconds; `now` where it does not say."""
    if not given(told):
        return now or UNSET
    try:
        found = datetime.fromisoformat(told).timestamp()
    except (ValueError, OverflowError):
        return now or UNSET
    return int(found) if found.is_integer() else found


def encode_time(created: Opt[int | float]) -> str | None:
    """A time as this wire writes it."""
    if not given(created):
        return None
    try:
        found = datetime.fromtimestamp(created, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    text = found.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{found.microsecond:06d}Z" if found.microsecond else f"{text}Z"


# --- how probable it was --------------------------------------------------------------------------------------------


def decode_logprobs(result: types.LogprobsResult) -> list[Logprob]:
    """The probabilities of the tokens of a text."""
    tops = result.top_candidates or []
    found: list[Logprob] = []
    for i, chosen in enumerate(result.chosen_candidates or ()):
        others = (tops[i].candidates or ()) if i < len(tops) else ()
        token, logprob, data = _scored(chosen)
        top = [TopLogprob(token=t, logprob=p, bytes=b) for t, p, b in map(_scored, others)]
        found.append(Logprob(token=token, logprob=logprob, bytes=data, top_logprobs=top))
    return found


def _scored(token: types.ScoredToken) -> tuple[str, float, list[int]]:
    text = token.token if given(token.token) else ""
    return text, token.log_probability or 0, list(text.encode("utf-8", "surrogatepass"))


def encode_logprobs(logprobs: list[Logprob]) -> types.LogprobsResult:
    """The probabilities as this wire lists them."""
    chosen = [types.ScoredToken(token=one.token, log_probability=one.logprob) for one in logprobs]
    tops = [
        types.TopCandidates(
            candidates=[
                types.ScoredToken(token=other.token, log_probability=other.logprob) for other in one.top_logprobs or ()
            ]
        )
        for one in logprobs
    ]
    return types.LogprobsResult(chosen_candidates=chosen, top_candidates=tops)


# --- what it took ---------------------------------------------------------------------------------------------------

_COUNTS = (
    "prompt_token_count",
    "cached_content_token_count",
    "candidates_token_count",
    "thoughts_token_count",
    "total_token_count",
)
_counts = attrgetter(*_COUNTS)
_USAGE_REST = (
    "promptTokenCount cachedContentTokenCount candidatesTokenCount thoughtsTokenCount totalTokenCount serviceTier"
).split()


def decode_usage(counted: types.UsageMetadata) -> Opt[Usage]:
    """Token counts as Responses counts them: input with what tools gave, output with thoughts."""
    prompt, cached, spoken, thought, total = _counts(counted)
    tools = counted.tool_use_prompt_token_count
    into, out = (prompt or 0) + (tools or 0), (spoken or 0) + (thought or 0)
    usage = Usage(
        input_tokens=into,
        output_tokens=out,
        total_tokens=total if given(total) else into + out,
        input_tokens_details=InputTokensDetails(cached_tokens=cached or 0, cache_write_tokens=0),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=thought or 0),
    )
    left = rest(counted, _USAGE_REST)
    spelled: types.Json = {}
    # Counts of 0 are left out.
    for name, value in zip(_COUNTS, (prompt, cached, spoken, thought, total), strict=True):
        if value == 0:
            spelled[name] = 0
    if not given(total):
        spelled["total_token_count"] = ABSENT
    if given(counted.service_tier) and counted.service_tier not in TIERS_BACK:
        left["serviceTier"] = counted.service_tier
    if spelled:
        left[SPELLING] = spelled
    if left:
        usage.leftovers = {WIRE: left}
    return usage


def encode_usage(response: Response, lost: Losses) -> Opt[types.UsageMetadata]:
    """Token counts of this wire: thoughts outside the candidates, tool results outside the prompt."""
    used, tier = response.usage, response.service_tier
    counted = types.UsageMetadata()
    if given(used):
        kept = own_fields(used.leftovers, "usage", lost)
        spelled = spelling(kept)
        tools = kept.get("toolUsePromptTokenCount")
        cached, reasoned = used.input_tokens_details, used.output_tokens_details
        thought = int(reasoned.reasoning_tokens or 0) if given(reasoned) else 0
        if thought > used.output_tokens:
            lost.changed("usage.output_tokens_details", "more tokens of reasoning than of output")
            thought = int(used.output_tokens)
        counts = (
            max(int(used.input_tokens) - (tools if isinstance(tools, int) else 0), 0),
            int(cached.cached_tokens or 0) if given(cached) else 0,
            max(int(used.output_tokens) - thought, 0),
            thought,
            int(used.total_tokens) if given(used.total_tokens) else int(used.input_tokens + used.output_tokens),
        )
        for name, value in zip(_COUNTS, counts, strict=True):
            if value or name in spelled:
                setattr(counted, name, value)
        if spelled.get("total_token_count") == ABSENT:
            counted.total_token_count = UNSET
        if given(cached) and cached.cache_write_tokens:
            lost.dropped("usage.input_tokens_details", "tokens written to a cache, which this wire does not count")
        for name in ("cost", "cost_details", "is_byok"):
            if given(getattr(used, name)):
                lost.dropped(f"usage.{name}", "this wire does not tell what an answer cost")
        counted = merged(counted, document_fields(kept), "usage.leftovers", lost)
    if given(tier):
        if tier in TIERS:
            counted.service_tier = TIERS[tier]
        elif counted.service_tier is UNSET:
            lost.dropped("service_tier", f"this wire has no tier {tier!r}")
    return counted if given(used) or counted != types.UsageMetadata() else UNSET
