"""What an answer says beside its text, both ways: why it ended, its sources, log probabilities and moderation.

Before changing this file, know that an unknown finish reason is never taken for success, that indices of sources count
characters in the text of one part and move when texts are joined, and that this wire tells probabilities beside the message
and Responses inside the text. Follows the Chat Completions reference and those of Perplexity, OpenRouter and other hosts
(read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ...losses import not_in
from ...responses.items import AnyItem, FunctionCall, Message
from ...responses.leftovers import SPELLING, own
from ...responses.parts import AnyAnnotation, Logprob, OutputText, UrlCitation
from ...unknown import Opt, Unknown, convert, given
from .._left import absent, as_list, as_object, is_object, notes, sent
from .content import foreign, native
from .ordinary import CHOICE
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...losses import Losses
    from ...responses.response import Response


# --- why it ended ---------------------------------------------------------------------------------------------------


class Ending(NamedTuple):
    """How an answer ended, as Responses says it; `reason` says why it is incomplete or what failed."""

    status: str
    reason: str | None = None


_DONE, _FAILED = Ending("completed"), Ending("failed", "server_error")
_OPEN = Ending("incomplete")
_CUT, _FILTERED = Ending("incomplete", "max_output_tokens"), Ending("incomplete", "content_filter")
ENDINGS = {
    **dict.fromkeys(("stop", "tool_calls", "function_call", "eos"), _DONE),
    **dict.fromkeys(("length", "model_length"), _CUT),
    **dict.fromkeys(("content_filter", "sensitive"), _FILTERED),
    **dict.fromkeys(("error", "insufficient_system_resource", "network_error"), _FAILED),
}
"""What the finish reasons mean. Where several mean the same, the way back takes OpenAI's own (`finish_of`)."""

_whole = msgspec.json.Decoder(Raw).decode

REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def status_of(finish_reason: Opt[str], output: list[AnyItem]) -> Ending:
    """How an answer with this finish reason ended. An unknown reason is kept, and nothing of the answer may be relied on."""
    if not finish_reason:
        return _OPEN if any(map(_is_open, output)) else _DONE if output else _FAILED
    return ENDINGS.get(finish_reason) or Ending("incomplete", finish_reason)


def _is_open(item: AnyItem) -> bool:
    """Whether the item is a call whose arguments did not come to their end."""
    if not isinstance(item, FunctionCall):
        return False
    try:
        _whole(item.arguments)
    except msgspec.DecodeError:
        return True
    return False


def keep_finish(finish_reason: Opt[str], ending: Ending, left: Json, lost: Losses) -> None:
    """Keep a finish reason that the way back would not give by itself."""
    left.setdefault(CHOICE, {})["finish_reason"] = sent(finish_reason)
    if finish_reason and finish_reason not in ENDINGS:
        lost.changed(f"{CHOICE}.finish_reason", f"the unknown reason {finish_reason!r}, taken for {ending.status}")
    elif not finish_reason and ending.status == "failed":
        lost.changed(f"{CHOICE}.finish_reason", "no reason and no output, taken for a failure")
    elif not finish_reason and ending.status == "incomplete":
        lost.changed(f"{CHOICE}.finish_reason", "no reason, and a call whose arguments were cut, taken for incomplete")


def finish_of(status: str, reason: str | None, calls: bool) -> str:
    """The finish reason that OpenAI would give."""
    if status == "incomplete":
        return REASONS.get(reason or "", "length")
    if status == "failed":
        return "error"
    return "tool_calls" if calls else "stop"


def encode_finish(response: Response, left: Json, calls: bool, lost: Losses) -> Opt[str]:
    """The finish reason of a response: the one it came with, unless its status has changed since."""
    status, details = response.status, response.incomplete_details
    if status == "failed" and WIRE not in (response.leftovers or {}):
        lost.refused("status", "a failed answer, which Chat Completions tells as an error")
        lost.dropped("error", "why it failed, which `encode_error` tells")
    elif status not in ("completed", "incomplete", "failed"):
        lost.refused("status", not_in(f"an answer that is {status}", "Chat Completions"))
    kept = as_object(left.get(CHOICE))
    if "finish_reason" in kept:
        came = absent(kept["finish_reason"])
        if isinstance(came, str | None | UnsetType) and status_of(came, response.output).status == status:
            return came
    reason = details.reason if given(details) and given(details.reason) else None
    if status == "incomplete" and reason not in REASONS:
        lost.changed("incomplete_details.reason", f"{reason!r}, told as length")
    return finish_of(status, reason, calls)


# --- its sources ----------------------------------------------------------------------------------------------------

_FIELDS = ("url", "title", "start_index", "end_index")


def texts(output: list[AnyItem]) -> list[OutputText]:
    """The texts of an answer."""
    messages = [item.content for item in output if isinstance(item, Message) and isinstance(item.content, list)]
    return [part for content in messages for part in content if isinstance(part, OutputText)]


def last_text(output: list[AnyItem]) -> OutputText | None:
    """The last text of an answer, which everything beside it is about."""
    return next(reversed(texts(output)), None)


def decode_annotations(annotations: Iterable[Any]) -> list[AnyAnnotation]:
    """The annotations, no longer nested; kinds that only this wire knows are marked as such."""
    return [_citation(annotation) or foreign(annotation) for annotation in annotations]


def _citation(annotation: Any) -> UrlCitation | None:
    if not is_object(annotation) or annotation.get("type") != "url_citation" or len(annotation) != 2:
        return None
    inner = annotation.get("url_citation")
    if not is_object(inner):
        return None
    try:
        made = convert({name: inner[name] for name in _FIELDS if name in inner}, UrlCitation)
    except msgspec.ValidationError:
        return None
    if rest := {name: value for name, value in inner.items() if name not in _FIELDS or value is None}:
        made.leftovers = {WIRE: rest}
    return made


def decode_citations(citations: Any, search_results: Any) -> list[AnyAnnotation]:
    """Annotations without a place in the text for a bare list of sources, as Perplexity and xAI send it."""
    found = [result for result in as_list(search_results) if is_object(result)]
    titles = {str(result.get("url")): result["title"] for result in found if isinstance(result.get("title"), str)}
    # Responses requires a place: the beginning is where a source of the whole text stands.
    about: Json = {"start_index": 0, "end_index": 0, "leftovers": {WIRE: {SPELLING: {"cited": True}}}}
    urls = [url for url in as_list(citations) if isinstance(url, str)]
    return [UrlCitation(url=url, title=titles.get(url, ""), **about) for url in urls]


def encode_annotations(annotations: Iterable[AnyAnnotation], offset: int, path: str, lost: Losses) -> list[Json]:
    """The annotations as this wire nests them, moved by `offset`; those of a bare list of sources are left out."""
    encoded: list[Json] = []
    for j, annotation in enumerate(annotations):
        match annotation:
            case Unknown() if (came := native(annotation)) is not UNSET:
                encoded.append(came)
            case UrlCitation():
                left = own(annotation.leftovers, WIRE)
                if not notes(left):
                    encoded.append({"type": "url_citation", "url_citation": {**left, **_place(annotation, offset)}})
            case _:
                lost.dropped(f"{path}.annotations[{j}]", "a source that Chat Completions has no field for")
    return encoded


def _place(annotation: UrlCitation, offset: int) -> Json:
    made: Json = msgspec.to_builtins(annotation)
    place = {name: made[name] for name in _FIELDS if name in made}
    for name in ("start_index", "end_index"):
        if given(place.get(name)):
            place[name] += offset
    return place


# --- log probabilities ----------------------------------------------------------------------------------------------


def decode_logprobs(logprobs: Any, output: list[AnyItem], left: Json) -> None:
    """Hang log probabilities of the text on it, where they have the form that OpenAI gives them."""
    part = last_text(output)
    if part is None or not is_object(logprobs):
        return
    try:
        entries = [convert(entry, Logprob) for entry in as_list(logprobs.get("content"))]
    except msgspec.ValidationError:
        return
    for each in [inner for entry in entries for inner in (entry, *(entry.top_logprobs or ()))]:
        if each.bytes is None:
            each.bytes = []  # Responses requires them, and some hosts leave them out
    part.logprobs = entries or None
    if encode_logprobs([part]) == logprobs:
        del left[CHOICE]["logprobs"]


def encode_logprobs(parts: Iterable[OutputText]) -> Json | None:
    """The log probabilities of all texts as the choice tells them."""
    entries = [entry for part in parts for entry in part.logprobs or ()]
    return {"content": msgspec.to_builtins(entries), "refusal": None} if entries else None


# --- moderation -----------------------------------------------------------------------------------------------------


def decode_moderation(moderation: Any) -> Any:
    """Moderation without the level that this wire puts around the results."""
    return {side: _unwrapped(value) for side, value in moderation.items()} if is_object(moderation) else moderation


def _unwrapped(value: Any) -> Any:
    if is_object(value) and value.keys() == {"type", "model", "results"} and value["type"] == "moderation_results":
        results = as_list(value["results"])
        found = results[0] if len(results) == 1 else results
        if _wrapped(found) == value:
            return found
    return value


def encode_moderation(moderation: Any) -> Any:
    """Moderation with the level that this wire puts around the results."""
    return {side: _wrapped(value) for side, value in moderation.items()} if is_object(moderation) else moderation


def _wrapped(value: Any) -> Any:
    results: list[Any] = as_list(value) or [value]
    if all(is_object(result) and result.get("type") == "moderation_result" for result in results):
        return {"type": "moderation_results", "model": results[0].get("model"), "results": results}
    return value
