"""The content of messages: text, images, files and sound, both ways.

One arm per kind and direction. What a host does not take is a fact of its dialect (`parts`, `details`, `cache_mark`);
a medium that cannot be sent is refused rather than left out, because an answer about an image nobody saw helps nobody.
Before changing this file, know that a string stays a string and a list a list. Follows the content parts of the Chat
Completions reference and Mistral's own (read 2026-11-20).

What an answer says beside its text, both ways: why it ended, its sources, log probabilities and moderation.

Before changing this file, know that an unknown finish reason is never taken for success, that indices of sources count
characters in the text of one part and move when texts are joined, and that this wire tells probabilities beside the message
and Responses inside the text. Follows the Chat Completions reference and those of Perplexity, OpenRouter and other hosts
(read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from ...losses import not_in
from ...responses import parts as rp
from ...responses.items import AnyItem, FunctionCall, Message
from ...responses.leftovers import SPELLING, own, report_foreign
from ...responses.parts import AnyAnnotation, Logprob, OutputText, UrlCitation
from ...unknown import Model, Opt, Unknown, base, convert, extras, given, or_none, or_unset
from .._left import absent, as_list, as_object, is_object, known, notes, nulls, put_back, sent
from . import types
from .types import CHOICE, WIRE, AnyPart, Json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...losses import Losses
    from ...responses.response import Response
    from ...vendors.dialects import ChatDialect

_TEXTS = (rp.InputText, rp.OutputText, rp.RefusalPart, rp.SummaryText, rp.ReasoningText, rp.PlainText)
_MEDIA = (rp.InputImage, rp.InputFile, rp.InputVideo, rp.InputAudio, rp.ComputerScreenshot)
DETAILS = ("auto", "low", "high", "original")
"""The details that hosts are known to take, or not to take; of any other word it is left to them."""
KNOWN = frozenset({*_TEXTS, *_MEDIA})

FOREIGN = f"{WIRE}:"
"""Stands before the kind of a part that only this wire knows, so that it is not taken for one of Responses."""


def foreign(value: Any) -> Unknown:
    """A value of a kind that only this wire knows, or of no kind at all, marked as such."""
    kind = value.get("type") if is_object(value) else None
    return Unknown(
        {**value, "type": FOREIGN + kind} if kind and isinstance(kind, str) else {"type": FOREIGN, "value": value}
    )


def native(kept: Unknown) -> Any:
    """The value that `foreign` marked; `UNSET` for anything else."""
    if not kept.kind.startswith(FOREIGN):
        return UNSET
    kind = kept.kind.removeprefix(FOREIGN)
    return {**kept, "type": kind} if kind else kept.get("value")


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_parts(parts: Sequence[rp.ContentPart], dialect: ChatDialect, path: str, lost: Losses) -> list[AnyPart]:
    """The parts as this wire spells them, without those the host cannot take."""
    made = [encode_part(part, dialect, f"{path}[{j}]", lost) for j, part in enumerate(parts)]
    return [part for part in made if part is not None]


def encode_part(part: rp.ContentPart, dialect: ChatDialect, path: str, lost: Losses) -> AnyPart | None:
    """The part as this wire spells it; `None` where the host cannot take it."""
    if isinstance(part, Unknown):
        if is_object(came := native(part)):
            return Unknown(came)
        lost.dropped(path, f"a part of type {part.kind!r}")
        return None
    if type(part) not in KNOWN:
        part = known(part, path, lost)
    made = _encode_known(part, dialect, path, lost)
    if made is None:
        return None
    if isinstance(part, rp.InputText | rp.InputImage | rp.InputFile) and given(part.prompt_cache_breakpoint):
        if dialect.cache_mark:
            mark = part.prompt_cache_breakpoint
            ttl = fit_lifetime(or_unset(mark.ttl), dialect, f"{path}.prompt_cache_breakpoint.ttl", lost)
            setattr(made, dialect.cache_mark, _mark(replace(mark, ttl=or_none(ttl)), dialect))
        else:
            lost.dropped(f"{path}.prompt_cache_breakpoint", "a cache mark, which this host does not take")
    if part.leftovers is not None:
        report_foreign(part.leftovers, WIRE, path, lost)
        left = own(part.leftovers, WIRE)
        match made:  # which some hosts take as a bare string
            case types.Image(image_url=types.ImageUrl(url=url)) if SPELLING in left:
                made.image_url = url
            case types.Audio(input_audio=rp.AudioData(data=data)) if SPELLING in left:
                made.input_audio = data
            case _:
                pass
        made = put_back(made, left)
    return made


def _encode_known(part: Any, dialect: ChatDialect, path: str, lost: Losses) -> types.KnownPart | None:
    takes = dialect.parts
    match part:
        case rp.InputText(text=text) | rp.OutputText(text=text) | rp.PlainText(text=text):
            return types.Text(text=text)
        case rp.SummaryText(text=text) | rp.ReasoningText(text=text) | rp.RefusalPart(refusal=text):
            lost.changed(path, f"{part.__struct_config__.tag} sent as plain text")
            return types.Text(text=text)
        case rp.InputImage():
            return _encode_image(part, dialect, path, lost)
        case rp.InputFile():
            return _encode_file(part, dialect, path, lost)
        case rp.InputAudio(input_audio=sound) if "input_audio" in takes:
            return types.Audio(input_audio=sound)
        case rp.InputAudio(input_audio=sound) if "audio_text" in takes:
            if sound.format:
                lost.dropped(f"{path}.input_audio.format", "the format of a sound, which this host finds out itself")
            return types.Audio(input_audio=sound.data)
        case rp.InputAudio():
            lost.refused(path, "sound, which this host does not take")
        case rp.InputVideo(video_url=url) if "video_url" in takes:
            return types.Video(video_url=types.VideoUrl(url=url))
        case rp.InputVideo():
            lost.refused(path, "a video, which this host does not take")
        case _:
            lost.refused(path, not_in("a screenshot", "Chat Completions"))
    return None


def _encode_image(part: rp.InputImage, dialect: ChatDialect, path: str, lost: Losses) -> types.Image | None:
    url = part.image_url
    if not given(url):
        lost.refused(path, not_in("an image given by file id", "Chat Completions"))
        return None
    kind, how = ("image_data", "as data") if url.startswith("data:") else ("image_url", "by URL")
    if kind not in dialect.parts:
        lost.refused(path, f"an image {how}, which this host does not take")
        return None
    image = types.ImageUrl(url=url, detail=or_unset(part.detail))
    if given(part.detail) and part.detail in DETAILS and part.detail not in dialect.details:
        lost.dropped(f"{path}.detail", f"the detail {part.detail!r}, which this host does not know")
        image.detail = UNSET
    return types.Image(image_url=image)


def _encode_file(
    part: rp.InputFile, dialect: ChatDialect, path: str, lost: Losses
) -> types.File | types.Document | None:
    takes = dialect.parts
    if given(part.detail):
        lost.dropped(f"{path}.detail", "how closely to look at a file")
    if given(part.file_data) and "file_data" in takes:
        return types.File(file=types.FileData(file_data=part.file_data, filename=or_unset(part.filename)))
    if given(part.file_id) and "file_id" in takes:
        return types.File(file=types.FileData(file_id=part.file_id, filename=or_unset(part.filename)))
    if given(part.file_url) and "file_url" in takes:
        if dialect.documents_by_url:
            return types.Document(document_url=part.file_url, document_name=or_unset(part.filename))
        return types.File(file=types.FileData(file_data=part.file_url, filename=or_unset(part.filename)))
    lost.refused(path, "a file, in a form this host does not take")
    return None


def fit_lifetime(ttl: Opt[str], dialect: ChatDialect, path: str, lost: Losses) -> Opt[str]:
    """The lifetime of what is cached as the host knows it."""
    nearest = dialect.cache_ttls.get(ttl) if given(ttl) else None
    if nearest is None:
        return ttl
    lost.changed(path, f"a lifetime of {ttl}, which this host does not know, sent as {nearest}")
    return nearest


def _mark(mark: rp.CacheBreakpoint, dialect: ChatDialect) -> Json:
    """A cache mark as the host spells it."""
    if dialect.cache_mark == "cache_control":
        return {"type": "ephemeral", **({"ttl": mark.ttl} if given(mark.ttl) else {})}
    spelled: Json = msgspec.to_builtins(mark)
    return spelled


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_parts(parts: Sequence[AnyPart], dialect: ChatDialect, *, spoken: bool = False) -> list[rp.ContentPart]:
    """The parts as Responses spells them; `spoken` tells whether the assistant said them."""
    return [_decode_part(part, dialect, spoken) for part in parts]


def _decode_part(part: AnyPart, dialect: ChatDialect, spoken: bool) -> rp.ContentPart:
    if isinstance(part, Unknown):
        return foreign(part)
    left: Json = {}
    made = _decode_known(part, dialect, spoken, left)
    if isinstance(made, Unknown):
        return made
    if part.prompt_cache_breakpoint is not UNSET or part.cache_control is not UNSET:
        _decode_mark(part, made, dialect, left)
    left.update(extras(part))
    # The object of a part, where it has one, is called as its kind is.
    name = str(part.__struct_config__.tag)
    if isinstance(inner := getattr(part, name, None), Model) and (unknown := extras(inner) | nulls(base(inner))):
        left[name] = unknown
    if left:
        made.leftovers = {WIRE: left}
    return made


def _decode_known(part: types.KnownPart, dialect: ChatDialect, spoken: bool, left: Json) -> rp.ContentPart:
    """The part without its cache mark; what has no place in it goes to `left`."""
    match part:
        case types.Text(text=text):
            if part.image_url is not UNSET:
                left["image_url"] = part.image_url
            return rp.OutputText(text=text) if spoken else rp.InputText(text=text)
        case types.Image(image_url=image):
            if part.text is not UNSET:
                left["text"] = part.text
            if isinstance(image, str):
                left[SPELLING] = {"bare": True}
                return rp.InputImage(image_url=image)
            return rp.InputImage(image_url=image.url, detail=or_none(image.detail))
        case types.File(file=file):
            by_url = "file_url" in dialect.parts and not dialect.documents_by_url
            data = "file_url" if by_url and given(file.file_data) and file.file_data.startswith("http") else "file_data"
            found: Json = {data: or_none(file.file_data)}
            return rp.InputFile(file_id=or_none(file.file_id), filename=or_none(file.filename), **found)
        case types.Audio(input_audio=sound):
            if isinstance(sound, str):
                left[SPELLING] = {"bare": True}
                return rp.InputAudio(input_audio=rp.AudioData(data=sound, format=""))
            return rp.InputAudio(input_audio=base(sound))
        case types.Refusal(refusal=refusal):
            return rp.RefusalPart(refusal=refusal)
        case types.Document(document_url=url) if dialect.documents_by_url:
            left |= nulls(part, "document_name")
            return rp.InputFile(file_url=url, filename=or_none(part.document_name))
        case types.Video(video_url=types.VideoUrl(url=url)) if "video_url" in dialect.parts:
            return rp.InputVideo(video_url=url)
        case _:
            return foreign(msgspec.to_builtins(part))


def _decode_mark(part: types.Part, made: rp.ContentPart, dialect: ChatDialect, left: Json) -> None:
    for name in ("prompt_cache_breakpoint", "cache_control"):
        mark: Any = getattr(part, name)
        if mark is UNSET:
            continue
        left[name] = mark
        words = mark and all(isinstance(word, str) for word in mark.values())
        if words and name == dialect.cache_mark and isinstance(made, rp.InputText | rp.InputImage | rp.InputFile):
            found = rp.CacheBreakpoint(mode=mark.get("mode", "explicit"), ttl=mark.get("ttl"))
            if _mark(found, dialect) == left[name]:
                made.prompt_cache_breakpoint = found
                del left[name]


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
