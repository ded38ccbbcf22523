"""The chunks of a stream put together: what the answer as a whole would say beside its parts, and calls that come in pieces.

Before changing this file, know how the fields grow: counts are cumulative, so the last ones are right; grounding comes late and
in pieces; probabilities and citations are of the chunk they came in. And paths into arguments, which only Vertex sends, come
from outside: a place far beyond the end of a list is the next place. Follows the reference of `streamGenerateContent` and
Vertex's guide to streaming function call arguments (read 2026-11-20).
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import UNSET, Raw
from msgspec.structs import replace

from ...unknown import base, extras, given, with_extras
from . import types
from .carried import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...unknown import Model, Opt

S = TypeVar("S", bound="Model")

FIRST = ("response_id", "create_time")
LAST = ("model_version", "prompt_feedback", "model_status", "error")
LAST_OF_CANDIDATE = "finish_reason finish_message safety_ratings avg_logprobs token_count continuation_token".split()
_more = attrgetter(*(name for name in types.Candidate.__struct_fields__ if name not in ("content", "index")))
_NO_MORE = _more(types.Candidate())


class Pieces:
    """Takes chunks; `body` and `candidate` are what the whole answer says beside its parts."""

    def __init__(self) -> None:
        self.body = types.Response()
        self.candidate = types.Candidate()
        self._cited: set[bytes] = set()
        self._spent: types.Maybe[types.UsageMetadata] = UNSET  # by the hops before

    def resume(self) -> None:
        """Another hop of a long answer begins: its counts are added to those so far, and it says itself how it ends."""
        self._spent, self.body.usage_metadata = self._usage(), UNSET
        whole = self.candidate
        whole.finish_reason = whole.finish_message = whole.continuation_token = UNSET

    def _usage(self) -> types.Maybe[types.UsageMetadata]:
        return summed(self._spent, self.body.usage_metadata)

    def settle(self) -> None:
        """All chunks are there: the counts are those of all hops."""
        self.body.usage_metadata, self._spent = self._usage(), UNSET

    def document(self, chunk: types.Response) -> None:
        """What a chunk says of the answer."""
        body, counted = self.body, chunk.usage_metadata
        _take(body, chunk, LAST)
        for name in FIRST:
            if getattr(body, name) is UNSET:
                setattr(body, name, getattr(chunk, name))
        if given(counted):
            # A chunk without any count says something else, such as the kind of traffic.
            counts = counted.total_token_count is not UNSET or counted.prompt_token_count is not UNSET
            body.usage_metadata = counted if counts else _over(body.usage_metadata, counted)
        if type(chunk) is not types.Response:
            self.body = with_extras(body, {**extras(body), **extras(chunk)})

    def ending(self, candidate: types.Candidate) -> None:
        """What a chunk says of the candidate."""
        whole = self.candidate
        if candidate.index is not UNSET:
            whole.index = candidate.index
        if _more(candidate) == _NO_MORE and type(candidate) is types.Candidate:
            return
        _take(whole, candidate, LAST_OF_CANDIDATE)
        if given(candidate.grounding_metadata):
            whole.grounding_metadata = _over(whole.grounding_metadata, candidate.grounding_metadata)
        if given(candidate.url_context_metadata):
            whole.url_context_metadata = {**(whole.url_context_metadata or {}), **candidate.url_context_metadata}
        if given(candidate.citation_metadata):
            whole.citation_metadata = _over(whole.citation_metadata, candidate.citation_metadata, self._union)
        if given(candidate.logprobs_result):
            whole.logprobs_result = _over(whole.logprobs_result, candidate.logprobs_result, _longer)
        if type(candidate) is not types.Candidate:
            self.candidate = with_extras(whole, {**extras(whole), **extras(candidate)})

    def _union(self, before: list[Any], after: list[Any]) -> list[Any]:
        """Both lists, the second without what the first has. The first grows in place, which keeps the time linear."""
        if not self._cited:
            self._cited.update(map(encode, before))
        for entry in after:
            if (written := encode(entry)) not in self._cited:
                self._cited.add(written)
                before.append(entry)
        return before

    def spoken(self, content: types.Content, *, parts: bool) -> None:
        """What a chunk says of the content around its parts."""
        told = self.candidate.content or types.Content()
        whole = types.Content(role=told.role or content.role, parts=[types.Part()] if parts else UNSET)
        if type(told) is not type(content):
            whole = with_extras(whole, {**extras(told), **extras(content)})
        self.candidate.content = whole


def _take(whole: Any, chunk: Any, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(chunk, name)
        if value is not UNSET and (value or not getattr(whole, name)):  # some routers send empty fields in every chunk
            setattr(whole, name, value)


def _longer(before: list[Any], after: list[Any]) -> list[Any]:
    before += after
    return before


def _over(before: Opt[S], after: S, join: Callable[[list[Any], list[Any]], list[Any]] | None = None) -> S:
    """`after`, with what it leaves out from before, and its lists joined with those from before."""
    changes: dict[str, Any] = {}
    for name in type(base(after)).__struct_fields__ if given(before) else ():
        old, new = getattr(before, name), getattr(after, name)
        if new is UNSET:
            changes[name] = old
        elif join and isinstance(old, list) and isinstance(new, list):
            changes[name] = join(cast("Any", old), cast("Any", new))
    whole = replace(after, **changes)
    return with_extras(whole, {**extras(before), **extras(after)}) if given(before) and extras(before) else whole


# --- long answers ---------------------------------------------------------------------------------------------------


def summed(before: Opt[types.UsageMetadata], after: Opt[types.UsageMetadata]) -> types.Maybe[types.UsageMetadata]:
    """The counts of two hops of one answer together: each of them is a request that is billed."""
    if not (given(before) and given(after)):
        return before or after or UNSET
    whole = _over(before, after)
    for name in whole.__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if name == "initial_prompt_token_count":
            setattr(whole, name, old if given(old) else new)
        elif isinstance(old, int) and isinstance(new, int):
            setattr(whole, name, old + new)
        elif isinstance(old, list) and isinstance(new, list):
            setattr(whole, name, _by_modality(cast("Any", [*old, *new])))
    return whole


def _by_modality(counts: list[types.Json]) -> list[types.Json]:
    """Entries of one modality as one, with the sum of their tokens."""
    found: dict[Any, types.Json] = {}
    for count in counts:
        there = found.setdefault(count.get("modality"), {**count, "tokenCount": 0})
        tokens = count.get("tokenCount")
        there["tokenCount"] += int(tokens) if isinstance(tokens, int | str) and str(tokens).isdecimal() else 0
    return list(found.values())


# --- calls in pieces ------------------------------------------------------------------------------------------------

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"]([^'\"]*)['\"]\]")
_DEEPEST = 100


class PartialCall:
    """A call whose arguments are still coming: `feed` it, then read `part`.

    The first chunk names the function, the next ones give values, those of texts in fragments, and an empty call ends it.
    """

    def __init__(self) -> None:
        self._part = types.Part()
        self._call = types.FunctionCall()
        self._args: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}

    def feed(self, part: types.Part, call: types.FunctionCall) -> bool:
        """Take the next piece, the call in a part; true where it was the last."""
        self._call = _over(self._call, call)
        if part != types.Part(function_call=call):
            self._part = _over(self._part, part)
        for piece in call.partial_args or ():
            path = piece.json_path or "$"
            if given(piece.string_value):
                self._texts.setdefault(path, []).append(piece.string_value)
                if not piece.will_continue:
                    self._set(path, "".join(self._texts.pop(path)))
            else:
                self._set(path, next((v for v in (piece.number_value, piece.bool_value) if given(v)), None))
        return not call.will_continue

    def part(self) -> types.Part:
        """The part of the whole call, as it would have come in one piece."""
        for path, pieces in self._texts.items():
            self._set(path, "".join(pieces))
        told = self._call.args
        args = Raw(encode(self._args)) if self._args or told is UNSET else told
        whole = replace(self._call, args=args, partial_args=UNSET, will_continue=UNSET)
        return replace(self._part, function_call=whole)

    def _set(self, path: str, value: Any) -> None:
        steps = [int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path)][:_DEEPEST]
        if steps and isinstance(steps[0], str):
            _put(self._args, steps, value)


def _put(place: Any, steps: list[str | int], value: Any) -> None:
    """Put a value where the steps lead, making objects and lists on the way."""
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        new: Any = value if following is None else [] if isinstance(following, int) else {}
        kind = list if isinstance(step, int) else dict
        if type(place) is not kind:
            return
        there = cast("Any", place)
        if isinstance(step, int) and step >= len(there):
            step = len(there)
            there.append(new)
        elif following is None or type(there[step] if kind is list else there.get(step)) is not type(new):
            there[step] = new
        place = there[step]
