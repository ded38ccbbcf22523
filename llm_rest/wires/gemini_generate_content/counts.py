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

from ...losses import no_such
from ...responses.leftovers import SPELLING
from ...responses.parts import Logprob, TopLogprob
from ...responses.response import InputTokensDetails, OutputTokensDetails, Response, Usage
from ...unknown import given
from .._left import report_cost
from . import types
from .carried import document_fields, merged, own_fields, rest, spelling
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
        time = datetime.fromisoformat(told)
        found = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return now or UNSET
    return int(found) if found.is_integer() else found


def encode_time(created: int | float | None) -> str | None:
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
    return types.LogprobsResult(
        chosen_candidates=[_score(one) for one in logprobs],
        top_candidates=[
            types.TopCandidates(candidates=[_score(other) for other in one.top_logprobs or ()]) for one in logprobs
        ],
    )


def _score(one: Logprob | TopLogprob) -> types.ScoredToken:
    return types.ScoredToken(token=one.token, log_probability=one.logprob)


# --- what it took ---------------------------------------------------------------------------------------------------

COUNTS = {
    "prompt_token_count": "promptTokenCount",
    "cached_content_token_count": "cachedContentTokenCount",
    "candidates_token_count": "candidatesTokenCount",
    "thoughts_token_count": "thoughtsTokenCount",
    "total_token_count": "totalTokenCount",
}
"""Counts that fields of ours tell, by our spelling of theirs; the others are kept."""
TOTAL = "total_token_count"
"""The count that is always told: a document without any counts nothing."""
_counts = attrgetter(*COUNTS)


def counts_anything(counted: types.UsageMetadata) -> bool:
    """Whether a document counts tokens, and does not only say how the request was served."""
    return any(given(count) for count in (*_counts(counted), counted.tool_use_prompt_token_count))


def decode_usage(counted: types.UsageMetadata) -> Usage:
    """Token counts as Responses counts them: input with what tools gave, output with thoughts."""
    told = _counts(counted)
    prompt, cached, spoken, thought, total = (value or 0 for value in told)
    into, out = prompt + (counted.tool_use_prompt_token_count or 0), spoken + thought
    usage = Usage(
        input_tokens=into,
        output_tokens=out,
        total_tokens=total if given(counted.total_token_count) else into + out,
        input_tokens_details=InputTokensDetails(cached_tokens=cached, cache_write_tokens=0),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=thought),
    )
    left = rest(counted, (*COUNTS.values(), "serviceTier"))
    counts = prompt, cached, spoken, thought, usage.total_tokens
    # Counts of 0 are left out, and there is a total.
    spelled = {
        name: given(was)
        for name, was, now in zip(COUNTS, told, counts, strict=True)
        if given(was) != (bool(now) or name == TOTAL)
    }
    if given(counted.service_tier) and counted.service_tier not in TIERS_BACK:
        left["serviceTier"] = counted.service_tier
    if spelled:
        left[SPELLING] = spelled
    if left:
        usage.leftovers = {WIRE: left}
    return usage


def encode_usage(response: Response, lost: Losses) -> types.Maybe[types.UsageMetadata]:
    """Token counts of this wire: thoughts outside the candidates, tool results outside the prompt."""
    used, tier = response.usage, response.service_tier
    counted = _encode_usage(used, lost) if given(used) else types.UsageMetadata()
    if given(tier) and tier in TIERS:
        counted.service_tier = TIERS[tier]
    elif given(tier) and counted.service_tier is UNSET:
        lost.dropped("service_tier", f"Gemini has no tier {tier!r}")
    return counted if given(used) or counted != types.UsageMetadata() else UNSET


def _encode_usage(used: Usage, lost: Losses) -> types.UsageMetadata:
    kept = own_fields(used.leftovers, "usage", lost)
    spelled, tools = spelling(kept), kept.get("toolUsePromptTokenCount")
    cached, reasoned = used.input_tokens_details, used.output_tokens_details
    thought = int(reasoned.reasoning_tokens or 0) if given(reasoned) else 0
    if thought > used.output_tokens:
        lost.changed("usage.output_tokens_details", "more tokens of reasoning than of output")
        thought = int(used.output_tokens)
    counts = (
        max(used.input_tokens - (tools if isinstance(tools, int) else 0), 0),
        int(cached.cached_tokens or 0) if given(cached) else 0,
        max(used.output_tokens - thought, 0),
        thought,
        used.total_tokens,
    )
    counted = types.UsageMetadata()
    for name, value in zip(COUNTS, counts, strict=True):
        if spelled.get(name, bool(value) or name == TOTAL):
            setattr(counted, name, value)
    if given(cached) and cached.cache_write_tokens:
        lost.dropped("usage.input_tokens_details.cache_write_tokens", no_such("count", "Gemini"))
    report_cost(used, lost)
    return merged(counted, document_fields(kept), "usage.leftovers", lost)
