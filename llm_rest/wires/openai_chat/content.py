"""Conversion of content (text, media, refusals, sources, log probabilities) and of system, user and tool messages.

The parts that a host supports are facts of its dialect (`parts`, `details`, `cache_mark`); unsupported media are
rejected rather than left out, because an answer about an image that was not sent is worthless. Before changing this
file, know that a string stays a string and a list a list, that a tool message holds text only and has no field for
failure, and that indices of sources count characters in the text of one part and move when texts are joined. Follows
the content parts of the Chat Completions reference, Mistral's own, and the sources of Perplexity and OpenRouter (read
2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...losses import Loss, Losses, not_in
from ...responses.carriers import SPELLING, own
from ...responses.parts import SOURCE_FIELDS
from ...unknown import Opt, Unknown, as_list, as_object, base, convert, given, or_none, or_unset
from ..kept import diff, own_leftovers, patch
from ..leftovers import as_plain, is_object, known, stands_for_another
from ..tools import sent_name
from . import types
from .hosts import host_leftovers, is_own, with_host
from .reasoning import decode_thinking_part, split_think, thought
from .tools import json_text
from .types import FUNCTION, USED, WIRE, AnyMessage, AnyPart, AssistantFields, Json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...vendors.dialects import ChatDialect

_KNOWN = frozenset(
    {
        *(ours.InputText, ours.OutputText, ours.RefusalPart, ours.SummaryText, ours.ReasoningText, ours.PlainText),
        *(ours.InputImage, ours.InputFile, ours.InputVideo, ours.InputAudio, ours.ComputerScreenshot),
    }
)
DETAILS = ("auto", "low", "high", "original")
"""The values of `detail` that hosts are known to support, or not to support; any other is sent."""

FOREIGN = f"{WIRE}:"
"""Prefix of the type of a part that only this wire has, so that it differs from those of Responses."""

_EVERYTHING: Json = {
    "lacks": (),
    "formats": ("text", "json_object", "json_schema"),
    "metadata_needs_store": False,
    "search_models": ("",),
    "parts": ("image_url", "image_data", "file_data", "file_id", "file_url", "input_audio", "video_url"),
    "developer_role": True,
    "details": DETAILS,
    "plain_text": (),
    "media_in_outputs": True,
    "images": True,
    "cache_ttls": {},
    "refusals": True,
    "tool_choices": ("none", "auto", "required", "function", "custom", "allowed_tools"),
    "custom_tools": True,
    "strict_tools": True,
    "longest_call_id": 10**9,
    "exact_call_id": False,
    "efforts": {},
    "replay_reasoning": "always",
}


def unlimited(dialect: ChatDialect) -> ChatDialect:
    """The dialect of a host that supports everything, for re-encoding: a document's notation does not depend on the host."""
    return replace(dialect, **_EVERYTHING)


def foreign(value: Any) -> Unknown:
    """A value with a type that only this wire has, or without a type, marked as such."""
    kind = value.get("type") if is_object(value) else None
    return Unknown(
        {**value, "type": FOREIGN + kind} if kind and isinstance(kind, str) else {"type": FOREIGN, "value": value}
    )


def native(kept: Unknown) -> Any:
    """The value marked by `foreign`; `UNSET` for anything else."""
    if not kept.kind.startswith(FOREIGN):
        return UNSET
    kind = kept.kind.removeprefix(FOREIGN)
    return {**kept, "type": kind} if kind else kept.get("value")


# --- parts: Responses -> Chat ---------------------------------------------------------------------------------------


def encode_content(parts: Sequence[ours.ContentPart], dialect: ChatDialect, path: str, lost: Losses) -> list[AnyPart]:
    """The parts in this wire's format, without those that the host does not support."""
    made = [encode_part(part, dialect, f"{path}[{j}]", lost) for j, part in enumerate(parts)]
    return [part for part in made if part is not None]


def encode_part(part: ours.ContentPart, dialect: ChatDialect, path: str, lost: Losses) -> AnyPart | None:
    """The part in this wire's format; `None` if the host does not support it."""
    if isinstance(part, Unknown):
        if is_object(original := native(part)):
            return Unknown(original)
        lost.dropped(path, f"a part of type {part.kind!r}")
        return None
    if stands_for_another(part, WIRE):
        own_leftovers(part, WIRE, path, lost)
        return None
    if type(part) not in _KNOWN:
        part = known(part, path, lost)
    made = _encode_known(part, dialect, path, lost)
    if made is None:
        return None
    if isinstance(part, ours.InputText | ours.InputImage | ours.InputFile) and given(
        mark := part.prompt_cache_breakpoint
    ):
        if dialect.cache_mark:
            ttl = fit_lifetime(or_unset(mark.ttl), dialect, f"{path}.prompt_cache_breakpoint.ttl", lost)
            setattr(made, dialect.cache_mark, _encode_mark(replace(mark, ttl=or_none(ttl)), dialect))
        else:
            lost.dropped(f"{path}.prompt_cache_breakpoint", "a cache mark, which this host does not support")
    if part.leftovers is None:
        return made
    return patch(made, host_leftovers(own_leftovers(part, WIRE, path, lost), dialect.issuer, path, lost))


def _encode_known(part: Any, dialect: ChatDialect, path: str, lost: Losses) -> types.KnownPart | None:
    takes = dialect.parts
    match part:
        case ours.InputText(text=text) | ours.OutputText(text=text) | ours.PlainText(text=text):
            return types.Text(text=text)
        case ours.SummaryText(text=text) | ours.ReasoningText(text=text) | ours.RefusalPart(refusal=text):
            lost.changed(path, f"{part.__struct_config__.tag} sent as plain text")
            return types.Text(text=text)
        case ours.InputImage():
            return _encode_image(part, dialect, path, lost)
        case ours.InputFile():
            return _encode_file(part, dialect, path, lost)
        case ours.InputAudio(input_audio=sound) if "input_audio" in takes:
            return types.Audio(input_audio=sound if sound.format else sound.data)
        case ours.InputAudio():
            lost.refused(path, "sound, which this host does not support")
        case ours.InputVideo(video_url=url) if "video_url" in takes:
            return types.Video(video_url=types.VideoUrl(url=url))
        case ours.InputVideo():
            lost.refused(path, "a video, which this host does not support")
        case _:
            lost.refused(path, not_in("a screenshot", "Chat Completions"))
    return None


def _encode_image(part: ours.InputImage, dialect: ChatDialect, path: str, lost: Losses) -> types.Image | None:
    url = part.image_url
    if not given(url):
        lost.refused(path, not_in("an image given by file id", "Chat Completions"))
        return None
    kind, how = ("image_data", "as data") if url.startswith("data:") else ("image_url", "by URL")
    if kind not in dialect.parts:
        lost.refused(path, f"an image {how}, which this host does not support")
        return None
    image = types.ImageUrl(url=url, detail=or_unset(part.detail))
    if given(part.detail) and part.detail in DETAILS and part.detail not in dialect.details:
        lost.dropped(f"{path}.detail", f"the detail {part.detail!r}, which this host does not support")
        image.detail = UNSET
    return types.Image(image_url=image)


def _encode_file(
    part: ours.InputFile, dialect: ChatDialect, path: str, lost: Losses
) -> types.File | types.Document | None:
    takes, name = dialect.parts, or_unset(part.filename)
    if given(part.detail):
        lost.dropped(f"{path}.detail", "how closely to look at a file")
    if given(part.file_data) and "file_data" in takes:
        return types.File(file=types.FileData(file_data=part.file_data, filename=name))
    if given(part.file_id) and "file_id" in takes:
        return types.File(file=types.FileData(file_id=part.file_id, filename=name))
    if given(part.file_url) and "file_url" in takes:
        if dialect.documents_by_url:
            return types.Document(document_url=part.file_url, document_name=name)
        return types.File(file=types.FileData(file_data=part.file_url, filename=name))
    lost.refused(path, "a file, in a form this host does not support")
    return None


def fit_lifetime(ttl: Opt[str], dialect: ChatDialect, path: str, lost: Losses) -> Opt[str]:
    """The cache lifetime that the host supports."""
    nearest = dialect.cache_ttls.get(ttl) if given(ttl) else None
    if nearest is None:
        return ttl
    lost.changed(path, f"a lifetime of {ttl}, which this host does not support, sent as {nearest}")
    return nearest


def _encode_mark(mark: ours.CacheBreakpoint, dialect: ChatDialect) -> Json:
    """A cache breakpoint in the host's format."""
    if dialect.cache_mark == "cache_control":
        return {"type": "ephemeral", **({"ttl": mark.ttl} if given(mark.ttl) else {})}
    plain: Json = as_plain(mark)
    return plain


# --- parts: Chat -> Responses ---------------------------------------------------------------------------------------


def decode_content(
    parts: Sequence[AnyPart], dialect: ChatDialect, *, from_assistant: bool = False
) -> list[ours.ContentPart]:
    """The parts in the Responses format; `from_assistant`: they are from an assistant message."""
    return [_decode_part(part, dialect, from_assistant) for part in parts]


def _decode_part(part: AnyPart, dialect: ChatDialect, from_assistant: bool) -> ours.ContentPart:
    if isinstance(part, Unknown):
        return foreign(part)
    made = _decode_known(part, dialect, from_assistant)
    if isinstance(made, Unknown):
        return made
    mark: Any = getattr(part, dialect.cache_mark) if dialect.cache_mark else None
    words = mark and all(isinstance(word, str) for word in mark.values())
    if words and isinstance(made, ours.InputText | ours.InputImage | ours.InputFile):
        found = ours.CacheBreakpoint(mode=mark.get("mode", "explicit"), ttl=mark.get("ttl"))
        if _encode_mark(found, dialect) == mark:
            made.prompt_cache_breakpoint = found
    if isinstance(made, ours.RefusalPart):
        written: AnyPart | None = types.Refusal(refusal=made.refusal)
    else:
        written = encode_part(made, unlimited(dialect), "", Losses())
    if isinstance(written, types.Part) and (left := diff(part, written)):
        made.leftovers = {WIRE: with_host(left, dialect.issuer)}
    return made


def _decode_known(part: types.KnownPart, dialect: ChatDialect, from_assistant: bool) -> ours.ContentPart:
    match part:
        case types.Text(text=text):
            return ours.OutputText(text=text) if from_assistant else ours.InputText(text=text)
        case types.Image(image_url=str(url)):
            return ours.InputImage(image_url=url)
        case types.Image(image_url=types.ImageUrl() as image):
            return ours.InputImage(image_url=image.url, detail=or_none(image.detail))
        case types.File(file=file):
            by_url = "file_url" in dialect.parts and not dialect.documents_by_url
            data = "file_url" if by_url and given(file.file_data) and file.file_data.startswith("http") else "file_data"
            found: Json = {data: or_none(file.file_data)}
            return ours.InputFile(file_id=or_none(file.file_id), filename=or_none(file.filename), **found)
        case types.Audio(input_audio=str(sound)):
            return ours.InputAudio(input_audio=ours.AudioData(data=sound, format=""))
        case types.Audio(input_audio=ours.AudioData() as sound):
            return ours.InputAudio(input_audio=base(sound))
        case types.Refusal(refusal=refusal):
            return ours.RefusalPart(refusal=refusal)
        case types.Document(document_url=url) if dialect.documents_by_url:
            return ours.InputFile(file_url=url, filename=or_none(part.document_name))
        case types.Video(video_url=types.VideoUrl(url=url)) if "video_url" in dialect.parts:
            return ours.InputVideo(video_url=url)
        case _:
            return foreign(as_plain(part))


def decode_text(
    items: list[ours.AnyItem], msg: AssistantFields, dialect: ChatDialect, path: str, lost: Losses, *, answer: bool
) -> None:
    """Add the items for the content and the refusal of an assistant message; thinking parts become items of their own."""
    content, refusal = msg.content, msg.refusal
    if isinstance(content, list):
        # The parts between two thinking parts become a message.
        kept: list[AnyPart] = []
        for part in [*content, None]:
            if part is not None and not isinstance(part, types.Thinking):
                kept.append(part)
                continue
            if kept:
                items.append(ours.Message(role="assistant", content=decode_content(kept, dialect, from_assistant=True)))
                kept = []
            if part is not None:
                items.append(decode_thinking_part(part, dialect))
        if refusal:
            items.append(ours.Message(role="assistant", content=[ours.RefusalPart(refusal=refusal)]))
        return
    if isinstance(content, dict):
        content = _object_text(content, path, lost)
    text = content or ""
    if text and dialect.think_tags and answer and (found := split_think(text)):
        shown, gap, text = found
        items.append(thought(shown, "think", dialect, gap))
    parts: list[ours.ContentPart] = [ours.OutputText(text=text, annotations=[])] if text else []
    if refusal:
        parts.append(ours.RefusalPart(refusal=refusal))
    if parts or not answer:
        items.append(ours.Message(role="assistant", content=parts if answer or refusal else text))


def _object_text(content: types.JsonValue, path: str, lost: Losses) -> str:
    """The text of an answer in JSON that a host sent as an object; none for an empty one."""
    if not content:
        lost.dropped(f"{path}.content", "an empty object in place of text")
        return ""
    lost.changed(f"{path}.content", "an object in place of text, read as its JSON text")
    return json_text(content)


# --- messages of the system, the user and tools ---------------------------------------------------------------------

PlainMessage = types.SystemMessage | types.DeveloperMessage | types.UserMessage
Output = ours.FunctionCallOutput | ours.CustomToolCallOutput

KINDS: dict[str, type[PlainMessage]] = {
    "system": types.SystemMessage,
    "developer": types.DeveloperMessage,
    "user": types.UserMessage,
}
"""The message of each role."""


def encode_plain_message(item: ours.Message, dialect: ChatDialect, i: int, lost: Losses) -> AnyMessage | None:
    """The message for the item at index `i`, which is neither the assistant's nor a tool's; `None` if nothing is left."""
    role: str = item.role
    content: Any = item.content
    if role == "developer" and not dialect.developer_role:
        lost.changed(f"input[{i}].role", "the role developer, sent as system")
        role = "system"
    if not isinstance(content, str):
        path = f"input[{i}].content"
        content = encode_content(content, dialect, path, lost)
        if not content and item.content and all(stands_for_another(part, WIRE) for part in item.content):
            lost.dropped(f"input[{i}]", "a message of which nothing is left")
            return None
        if role in dialect.plain_text:
            content = _joined(content, path, lost)
    kind = KINDS.get(role)
    if kind is None:
        return Unknown({"role": role, "content": as_plain(content)})
    message = kind(content=content)
    if item.leftovers:
        left = own_leftovers(item, WIRE, f"input[{i}]", lost)
        message = patch(message, host_leftovers(left, dialect.issuer, f"input[{i}]", lost))
        if message.name is not UNSET and "name" in dialect.lacks:
            lost.dropped(f"input[{i}].name", "the name of a message, which this host does not support")
            message.name = UNSET
    return message


def encode_output(
    item: Output, call_id: str, after: list[AnyPart], dialect: ChatDialect, i: int, lost: Losses
) -> types.ToolMessage | types.FunctionMessage:
    """The message for the output at index `i`. Parts that it cannot hold go to `after`, for a user message that follows."""
    content = item.output if isinstance(item.output, str) else _output_parts(item, after, dialect, i, lost)
    message: types.ToolMessage | types.FunctionMessage = types.ToolMessage(content=content, tool_call_id=call_id)
    left = own(item.leftovers, WIRE) if item.leftovers else {}
    if as_object(left.get(SPELLING)).get(USED) == FUNCTION and is_own(left, dialect.issuer):
        message = types.FunctionMessage(content=content)
    if isinstance(item, ours.FunctionCallOutput) and item.name is not None:
        message.name = sent_name(item.name)
    if item.is_error:
        lost.changed(f"input[{i}]", 'a failure, marked by "Error: "')
        message.content = f"Error: {content}" if isinstance(content, str) else [types.Text(text="Error: "), *content]
    if not item.leftovers:
        return message
    left = own_leftovers(item, WIRE, f"input[{i}]", lost)
    return patch(message, host_leftovers(left, dialect.issuer, f"input[{i}]", lost))


def _output_parts(item: Output, after: list[AnyPart], dialect: ChatDialect, i: int, lost: Losses) -> types.Content:
    path = f"input[{i}].output"
    parts = encode_content(cast("list[ours.ContentPart]", item.output), dialect, path, lost)
    if dialect.media_in_outputs:
        return parts
    texts: list[AnyPart] = [part for part in parts if isinstance(part, types.Text)]
    others: list[AnyPart] = [part for part in parts if not isinstance(part, types.Text)]
    if others:
        lost.changed(path, "images and files, sent in a user message after the outputs")
        after += [types.Text(text=f"From the tool call {item.call_id}:"), *others]
        texts = texts or [types.Text(text="See the next user message.")]
    return _joined(texts, path, lost) if "tool" in dialect.plain_text else texts


def _joined(parts: Sequence[AnyPart], path: str, lost: Losses) -> str:
    """The joined texts of the parts, for hosts that support only a string."""
    texts = [part.text for part in parts if isinstance(part, types.Text)]
    if len(texts) < len(parts):
        lost.dropped(path, "all but the text; this host supports only text here")
    elif len(parts) != 1:
        lost.changed(path, "several texts, sent as one")
    return "".join(texts)


def alternating(messages: list[AnyMessage], dialect: ChatDialect, lost: Losses) -> list[AnyMessage]:
    """The messages with neighbours of one role joined, for hosts that require alternating roles; no two turns are joined."""
    if not dialect.alternates:
        return messages
    kept: list[AnyMessage] = []
    for message in messages:
        before = kept[-1] if kept else None
        if isinstance(message, types.UserMessage) and isinstance(before, types.UserMessage):
            kept[-1] = types.UserMessage(content=_both(before.content, message.content))
        elif isinstance(message, types.AssistantMessage) and _is_only_text(before):
            kept[-1] = replace(message, content=_both(before.content, message.content))
        else:
            kept.append(message)
    joined = Loss("input", "messages of one role side by side, joined to one", "changed")
    lost += [joined] if len(kept) < len(messages) and joined not in lost else []
    return kept


def _is_only_text(message: AnyMessage | None) -> TypeGuard[types.AssistantMessage]:
    """Whether an assistant message has text and nothing else, such as calls or thoughts."""
    return isinstance(message, types.AssistantMessage) and message == types.AssistantMessage(content=message.content)


def _both(one: Any, other: Any) -> types.Content:
    if not one or not other:
        return one or other or ""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    parts = [[types.Text(text=each)] if isinstance(each, str) else each for each in (one, other)]
    return [*parts[0], *parts[1]]


def decode_plain_message(message: PlainMessage, dialect: ChatDialect) -> ours.Message:
    """The item for a message that is neither the assistant's nor a tool's."""
    content = message.content or _empty(message.content)
    item = ours.Message(role=str(message.__struct_config__.tag), content=_decode_either(content, dialect))
    made = KINDS[item.role](content=content)
    if message != made and (left := diff(message, made)):
        item.leftovers = {WIRE: with_host(left, dialect.issuer)}
    return item


def decode_output(
    message: types.ToolMessage | types.FunctionMessage, call_id: str, custom: bool, dialect: ChatDialect
) -> Output:
    """The output in a message, for the call `call_id`, which may be a custom tool's."""
    content = message.content or _empty(message.content)
    output = _decode_either(content, dialect)
    made: types.ToolMessage | types.FunctionMessage = types.ToolMessage(content=content, tool_call_id=call_id)
    if isinstance(message, types.FunctionMessage):
        made = types.FunctionMessage(content=content)
    item: Output = ours.CustomToolCallOutput(call_id=call_id, output=output)
    if not custom:
        item = ours.FunctionCallOutput(call_id=call_id, output=output, name=or_none(message.name))
        made.name = or_unset(item.name)
    left = diff(message, made) if message != made else {}
    if isinstance(message, types.FunctionMessage):
        left[SPELLING] = {**as_object(left.get(SPELLING)), USED: FUNCTION}
    if left:
        item.leftovers = {WIRE: with_host(left, dialect.issuer)}
    return item


def _empty(content: Opt[types.Content]) -> types.Content:
    return [] if isinstance(content, list) else ""


def _decode_either(content: types.Content, dialect: ChatDialect) -> str | list[ours.ContentPart]:
    return content if isinstance(content, str) else decode_content(content, dialect)


# --- the sources of a text ------------------------------------------------------------------------------------------

_FIELDS = {
    "url": "url",
    "title": "title",
    "start_index": "start_index",
    "end_index": "end_index",
    "content": "cited_text",
}
"""The fields of a source, ours on the right. OpenRouter has the cited text."""
CITED: Json = {SPELLING: {"cited": True}}
"""Key in the leftovers of a source that was in a bare list, beside the message."""


def decode_annotations(annotations: Iterable[Any]) -> list[ours.AnyAnnotation]:
    """The annotations, no longer nested; types that only this wire has are marked as such."""
    return [_citation(annotation) or foreign(annotation) for annotation in annotations]


def _citation(annotation: Any) -> ours.UrlCitation | None:
    inner = annotation.get("url_citation") if is_object(annotation) and len(annotation) == 2 else None
    if not is_object(inner) or annotation.get("type") != "url_citation":
        return None
    names = [name for name in _FIELDS if name in inner and (name != "content" or isinstance(inner[name], str))]
    try:
        made = convert({_FIELDS[name]: inner[name] for name in names}, ours.UrlCitation)
    except msgspec.ValidationError:
        return None
    if rest := {name: value for name, value in inner.items() if name not in names or value is None}:
        made.leftovers = {WIRE: rest}
    return made


def decode_citations(citations: Any, search_results: Any) -> list[ours.AnyAnnotation]:
    """Annotations without a position in the text for a bare list of sources, as Perplexity and xAI send it."""
    found = [result for result in as_list(search_results) if is_object(result)]
    titles = {str(each.get("url")): title if isinstance(title := each.get("title"), str) else "" for each in found}
    passages = {str(each.get("url")): text for each in found if isinstance(text := each.get("snippet"), str)}
    # Responses requires a position: a source of the whole text is at its beginning.
    about: Json = {"start_index": 0, "end_index": 0, "leftovers": {WIRE: CITED}}
    urls = [url for url in as_list(citations) if isinstance(url, str)] or [
        url for url in titles if url.startswith("http")
    ]
    return [
        ours.UrlCitation(url=url, title=titles.get(url, ""), cited_text=passages.get(url) or None, **about)
        for url in urls
    ]


def encode_annotations(part: ours.OutputText, offset: int, path: str, lost: Losses) -> list[Json]:
    """The annotations, nested as in this wire, moved by `offset`; those of a bare list of sources are left out."""
    encoded: list[Json] = []
    for j, annotation in enumerate(part.annotations or ()):
        place = f"{path}.annotations[{j}]"
        match annotation:
            case Unknown() if (original := native(annotation)) is not UNSET:
                encoded.append(original)
            case ours.UrlCitation():
                annotation = known(annotation, place, lost)
                if SPELLING not in own(annotation.leftovers, WIRE):
                    for name in SOURCE_FIELDS:
                        if name != "cited_text" and getattr(annotation, name) is not None:
                            what = not_in("the place of a citation in its source", "Chat Completions")
                            lost.dropped(f"{place}.{name}", what)
                    left = own_leftovers(annotation, WIRE, place, lost)
                    encoded.append({"type": "url_citation", "url_citation": {**left, **_moved(annotation, offset)}})
            case _:
                lost.dropped(place, "a source that Chat Completions has no field for")
    return encoded


def _moved(annotation: ours.UrlCitation, offset: int) -> Json:
    made: Json = as_plain(annotation)
    place = {name: made[our] for name, our in _FIELDS.items() if our in made}
    for name in ("start_index", "end_index"):
        if given(place.get(name)):
            place[name] += offset
    return place


# --- the log probabilities of a text ---------------------------------------------------------------------------------


def texts(output: list[ours.AnyItem]) -> list[ours.OutputText]:
    """The texts of an answer."""
    messages = [item.content for item in output if isinstance(item, ours.Message) and isinstance(item.content, list)]
    return [part for content in messages for part in content if isinstance(part, ours.OutputText)]


def decode_logprobs(logprobs: Json) -> list[ours.Logprob] | None:
    """The log probabilities of the text, if they have OpenAI's form."""
    try:
        entries = [convert(entry, ours.Logprob) for entry in as_list(logprobs.get("content"))]
    except msgspec.ValidationError:
        return None
    for each in [inner for entry in entries for inner in (entry, *(entry.top_logprobs or ()))]:
        if each.bytes is None:
            each.bytes = []  # Responses requires them, and some hosts leave them out
    return entries or None


def encode_logprobs(parts: list[ours.OutputText]) -> Json | None:
    """The log probabilities of all texts in the form of a choice."""
    entries = [entry for part in parts for entry in part.logprobs or ()]
    return {"content": as_plain(entries), "refusal": None} if entries else None
