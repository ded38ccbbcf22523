"""Token counts, both ways.

Responses counts reasoning as output and cached tokens as input. Before changing this file, know that hosts disagree about
what `completion_tokens` includes (a fact of the dialect), that counts may not add up, and that a count nobody gave stays
unset: zeros are not invented. Follows the usage objects of the OpenAI, DeepSeek, xAI and Moonshot references (read
2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.response import InputTokensDetails, OutputTokensDetails, Usage
from ...unknown import Opt, given, or_none, or_unset
from .._left import Rest, absent, copies, notes, nulls, put_back, report_cost, sent
from . import types
from .ordinary import OrdinaryUsage
from .types import WIRE, Json

if TYPE_CHECKING:
    from ...losses import Losses
    from ...vendors.dialects import ChatDialect


CACHED = ("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")
"""Where hosts count cached tokens beside the details."""

_usage = copies(Usage(input_tokens=0, output_tokens=0))
_COUNTED = types.Usage()
_INPUT, _OUTPUT = InputTokensDetails(), OutputTokensDetails()
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_REST = Rest(types.Usage, *_COUNTS, "prompt_tokens_details", "completion_tokens_details")

_PROMPT_REST = Rest(types.PromptDetails, "cached_tokens", "cache_write_tokens")
_COMPLETION_REST = Rest(types.CompletionDetails, "reasoning_tokens")


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_usage(counted: types.Usage, dialect: ChatDialect) -> Usage:
    """The counts as Responses means them."""
    prompt, completion, total = counted.prompt_tokens, counted.completion_tokens, counted.total_tokens
    usage = _usage()
    usage.input_tokens, usage.output_tokens, usage.total_tokens = prompt or 0, completion or 0, total or 0
    held, details = counted.prompt_tokens_details, counted.completion_tokens_details
    ordinary = type(counted) is OrdinaryUsage
    if ordinary and held is details is UNSET and dialect.output_tokens == "completion":
        return usage
    left: Json = {}
    spelling: Json = {}
    if not ordinary:
        left = _REST.of(counted)
        spelling = {name: sent(value) for name in _COUNTS if not given(value := getattr(counted, name))}
    _decode_prompt(held, left, spelling, usage)
    if given(details):
        usage.output_tokens_details = replace(_OUTPUT, reasoning_tokens=or_none(details.reasoning_tokens))
        if rest := _COMPLETION_REST.of(details) | nulls(details, "reasoning_tokens"):
            left["completion_tokens_details"] = rest
    elif details is None:
        left["completion_tokens_details"] = None
    _count_output(usage, dialect, spelling)
    if not given(total):
        usage.total_tokens = usage.input_tokens + usage.output_tokens
    if spelling:
        left[SPELLING] = spelling
    if left:
        usage.leftovers = {WIRE: left}
    return usage


def _decode_prompt(details: Opt[types.PromptDetails], left: Json, spelling: Json, usage: Usage) -> None:
    cached: Opt[int] = UNSET
    if given(details):
        cached, written = details.cached_tokens, details.cache_write_tokens
        usage.input_tokens_details = replace(_INPUT, cached_tokens=or_none(cached), cache_write_tokens=or_none(written))
    beside = None if given(cached) else next((n for n in CACHED if isinstance(left.get(n), int | float)), None)
    if beside is not None:
        usage.input_tokens_details = replace(usage.input_tokens_details or _INPUT, cached_tokens=int(left[beside]))
        spelling["cached"] = beside
    if details is None or (details is not UNSET and beside is not None):
        left["prompt_tokens_details"] = sent(details)
    elif given(details) and (rest := _PROMPT_REST.of(details) | nulls(details, "cached_tokens", "cache_write_tokens")):
        left["prompt_tokens_details"] = rest


def _reasoning(usage: Usage) -> int:
    details = usage.output_tokens_details
    return details.reasoning_tokens or 0 if given(details) else 0


def _count_output(usage: Usage, dialect: ChatDialect, spelling: Json) -> None:
    completion = usage.output_tokens
    match dialect.output_tokens:
        case "completion_and_reasoning":
            usage.output_tokens += _reasoning(usage)
        case "total_minus_prompt":  # without a total, which is 0 here, nothing is taken
            usage.output_tokens = max(completion, usage.total_tokens - usage.input_tokens)
        case _:
            return
    if usage.output_tokens != completion:
        spelling.setdefault("completion_tokens", completion)


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_usage(usage: Usage, dialect: ChatDialect, lost: Losses) -> types.Usage:
    """The counts as the host behind `dialect` would give them."""
    report_cost(usage, lost)
    completion = usage.output_tokens
    if dialect.output_tokens == "completion_and_reasoning":
        completion = max(0, completion - _reasoning(usage))
    prompt, total = usage.input_tokens, usage.total_tokens
    counted = replace(_COUNTED, prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)
    left = own(usage.leftovers, WIRE)
    spelling = notes(left)
    details = usage.input_tokens_details
    if given(details) and "cached" not in spelling:
        counted.prompt_tokens_details = types.PromptDetails(
            cached_tokens=or_unset(details.cached_tokens), cache_write_tokens=or_unset(details.cache_write_tokens)
        )
    if given(details) and details.cache_write_tokens_details:
        lost.dropped("usage.input_tokens_details.cache_write_tokens_details", "cache writes by their lifetime")
    if given(usage.output_tokens_details):
        reasoning = usage.output_tokens_details.reasoning_tokens
        counted.completion_tokens_details = types.CompletionDetails(reasoning_tokens=or_unset(reasoning))
    if usage.leftovers is not None:
        report_foreign(usage.leftovers, WIRE, "usage", lost)
        for name in _COUNTS:
            if name in spelling:
                setattr(counted, name, absent(spelling[name]))
        counted = put_back(counted, left)
    return counted
