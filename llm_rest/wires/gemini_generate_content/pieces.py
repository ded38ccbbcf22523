"""The chunks of a stream put together, except for their parts: what the answer as a whole would say beside them.

Before changing this file, know how the fields grow: counts are cumulative, so the last ones are right; grounding comes late and
in pieces; probabilities and citations are of the chunk they came in. Follows the reference of `streamGenerateContent` (read
2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import UNSET
from msgspec.structs import replace

from ...unknown import base, extras, given, with_extras
from . import types

if TYPE_CHECKING:
    from ...unknown import Model, Opt

S = TypeVar("S", bound="Model")

_LAST = (
    "finish_reason",
    "finish_message",
    "index",
    "safety_ratings",
    "avg_logprobs",
    "token_count",
    "continuation_token",
)
_LAST_OF_BODY = ("model_version", "prompt_feedback", "model_status", "error")


class Pieces:
    """Takes chunks; `body` and `candidate` are what the whole answer says beside its parts."""

    def __init__(self) -> None:
        self.body = types.Response()
        self.candidate = types.Candidate()

    def document(self, chunk: types.Response) -> None:
        """What a chunk says of the answer."""
        body = self.body
        for name in _LAST_OF_BODY:
            value = getattr(chunk, name)
            if value is not UNSET:
                setattr(body, name, value)
        for name in ("response_id", "create_time"):
            if getattr(body, name) is UNSET:
                setattr(body, name, getattr(chunk, name))
        if given(chunk.usage_metadata):
            self._count(chunk.usage_metadata)
        if type(chunk) is not types.Response:
            self.body = with_extras(body, {**extras(body), **extras(chunk)})

    def _count(self, counted: types.UsageMetadata) -> None:
        """Cumulative counts; a chunk without any says something else, such as the kind of traffic."""
        before = self.body.usage_metadata
        if given(before) and counted.total_token_count is counted.prompt_token_count is UNSET:
            counted = _over(before, counted)
        self.body.usage_metadata = counted

    def ending(self, candidate: types.Candidate) -> None:
        """What a chunk says of the candidate."""
        whole = self.candidate
        for name in _LAST:
            value = getattr(candidate, name)
            if value is not UNSET:
                setattr(whole, name, value)
        if given(candidate.grounding_metadata):
            whole.grounding_metadata = _over(whole.grounding_metadata, candidate.grounding_metadata)
        if given(candidate.url_context_metadata):
            whole.url_context_metadata = {**(whole.url_context_metadata or {}), **candidate.url_context_metadata}
        if given(candidate.citation_metadata):
            whole.citation_metadata = _with_lists(whole.citation_metadata, candidate.citation_metadata, again=False)
        if given(candidate.logprobs_result):
            whole.logprobs_result = _with_lists(whole.logprobs_result, candidate.logprobs_result)
        if type(candidate) is not types.Candidate:
            self.candidate = with_extras(whole, {**extras(whole), **extras(candidate)})

    def spoken(self, content: types.Content, *, parts: bool) -> None:
        """What a chunk says of the content around its parts."""
        role = content.role if given(content.role) else UNSET
        told = self.candidate.content
        if given(told) and given(told.role):
            role = told.role
        self.candidate.content = types.Content(role=role, parts=[types.Part()] if parts else UNSET)


def _over(before: Opt[S], after: S) -> S:
    """`after`, with what it leaves out from before."""
    if not given(before):
        return after
    changes = {
        name: getattr(before, name) for name in type(base(after)).__struct_fields__ if getattr(after, name) is UNSET
    }
    return replace(after, **changes)


def _with_lists(before: Opt[S], after: S, *, again: bool = True) -> S:
    """`after` with its lists behind those from before; whether an entry may come `again`, or is then the same."""
    if not given(before):
        return after
    changes: dict[str, Any] = {}
    for name in type(base(after)).__struct_fields__:
        old: Any = getattr(before, name)
        new: Any = getattr(after, name)
        if isinstance(old, list) and isinstance(new, list):
            changes[name] = [*cast("Any", old), *(entry for entry in cast("Any", new) if again or entry not in old)]
        elif new is UNSET:
            changes[name] = old
    return replace(after, **changes)
