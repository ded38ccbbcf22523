"""Conversion of the answer, both ways, and errors: one choice with one message here, items in order in Responses.

Before changing this file, know that a streamed answer must give the same result (the chunks are merged to a whole answer,
which `decode_response` reads), that an unknown finish reason never means success, that log probabilities are beside the
message here and inside the text in Responses, that hosts disagree about what `completion_tokens` includes (a fact of the
dialect) and an absent count stays unset, and that `decode_error` also gets answers of status 200 which are no completions.
Follows the chat completion object and the errors of the OpenAI reference, and those of the hosts (read 2026-11-20).
"""

from __future__ import annotations

from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ... import responses as ours
from ...errors import DecodeError
from ...losses import Loss, Losses, not_in
from ...responses.carriers import NEAR, SPELLING, WITHIN, digest, own, report_foreign
from ...unknown import Decoder, Opt, Unknown, as_list, as_object, extras, given, or_none, or_unset, with_extras
from ..errors import error_facts, status_of, type_of
from ..kept import Rules, diff, patch, unknown
from ..leftovers import (
    DETAILS,
    as_plain,
    built,
    is_object,
    item_id,
    known,
    new_answer,
    present,
    report_answer,
    report_item,
    report_thoughts,
    report_unknown,
    report_usage,
    reported_cost,
    set_status,
    wants_summary,
)
from ..tools import restore_tool, sent_name, sent_tools
from . import reasoning, types
from .content import decode_annotations, decode_citations, decode_logprobs, encode_logprobs, texts, unlimited
from .media import EXECUTED, executed, joined_audio, merge_tools
from .messages import AssistantMessage, decode_message, keep_message, message_rules, used_forms
from .request import OPENAI, used_fields, wants_function_call
from .tools import MergedCall, add_call, encode_call
from .types import FUNCTION_CALL, USED, WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...errors import ErrorFacts
    from ...vendors.dialects import ChatDialect

__all__ = ["decode_error", "decode_response", "encode_error", "encode_response"]

CHOICE, OTHERS, MESSAGE = "choices[0]", "choices[1:]", "choices[0].message"
"""The leftovers that are named after a place in the document; all others are its own fields."""

RULES = Rules(defaults={"model": ""})
WITH_CHOICE = replace(RULES, apart=frozenset({"choices"}))

ANOTHER_CHOICE = "one more answer to the same question; a response has one"

_NO_CHOICE, _NO_ANSWER = types.Choice(), types.Answer()


# --- the whole answer: Chat -> Responses ----------------------------------------------------------------------------


def decode_response(
    body: types.Completion,
    *,
    request: ours.Request | None = None,
    dialect: ChatDialect = OPENAI,
    now: float = 0,
    keep: bool = True,
) -> tuple[ours.Response, list[Loss]]:
    """The response for an answer; `request` reverses emulations, `now` dates an answer without a date.

    `keep` preserves data that describes this document and its notation; unknown fields of its message always stay.
    """
    lost = Losses()
    choice = body.choices[0] if body.choices else _NO_CHOICE
    msg = choice.message or _NO_ANSWER
    origin = body.id or f"resp_{digest(msgspec.json.encode(body).decode())}"
    output: list[Any] = decode_message(msg, dialect, origin, MESSAGE, lost, answer=True)
    if wants_summary(request):
        reasoning.summarize(output, dialect)
    if msg.annotations or body.citations or body.search_results or choice.logprobs:
        _decode_about_text(output, msg, body, choice)
    if type(msg) is not types.Answer and not keep:
        keep_message(output, unknown(msg), dialect.issuer)
    status, reason = decode_finish_reason(choice.finish_reason, output, lost)
    created = body.created if type(body.created) is int else int(body.created or now)
    response = new_answer(origin, created, body.model, request)
    response.output = output
    response.service_tier, response.moderation = or_none(body.service_tier), or_none(body.moderation)
    if body.usage:
        response.usage = decode_usage(body.usage, dialect, keep=keep)
    response.status = status
    if status != "completed":
        set_status(response, status, reason, f"the answer ended with {choice.finish_reason or 'no reason'!r}")
    if keep:
        keep_answer(response, body, dialect)
    for i in range(1, 1 if keep else len(body.choices)):
        lost.dropped(f"choices[{i}]", ANOTHER_CHOICE)
    names = sent_tools(request, custom_tools=dialect.custom_tools, naming=sent_name) if request is not None else {}
    for i, item in enumerate(output):
        if names and isinstance(item, ours.FunctionCall | ours.CustomToolCall):
            output[i] = item = restore_tool(item, names, f"output[{i}]", lost)
        item.id, item.status = item_id(item, origin, i), "completed"
    if output and status != "completed":
        output[-1].status = "incomplete"
    return response, lost


def _decode_about_text(
    output: list[ours.AnyItem], msg: types.Answer, body: types.Completion, choice: types.Choice
) -> None:
    """Add the sources and the log probabilities to the last text, which they are about."""
    part = next(reversed(texts(output)), None)
    if part is None:
        return
    cited = decode_citations(body.citations, body.search_results)
    if msg.annotations or cited:
        part.annotations = [*decode_annotations(msg.annotations or ()), *cited]
    if is_object(choice.logprobs):
        part.logprobs = decode_logprobs(choice.logprobs)


def keep_answer(response: ours.Response, body: types.Completion, dialect: ChatDialect) -> None:
    """Store the fields of the answer that our encoding lacks on the response."""
    choice = body.choices[0] if body.choices else _NO_CHOICE
    used = used_forms(choice.message) if choice.message else ""
    made = _encode_answer(response, used, unlimited(dialect), Losses())
    our = made.choices[0]
    left = diff(body, made, WITH_CHOICE if body.choices else RULES)
    first = diff(choice, our, message_rules(choice.message or _NO_ANSWER)) if body.choices else {}
    if len(body.choices) > 1:
        left[OTHERS] = as_plain(body.choices[1:])
    notes = as_object(left.get(SPELLING)) | ({USED: used} if used else {})
    if first:
        left[CHOICE], notes[CHOICE] = first, WITHIN
    if notes:
        left[SPELLING] = notes
    response.leftovers = {WIRE: left}


# --- the whole answer: Responses -> Chat ----------------------------------------------------------------------------


def encode_response(
    response: ours.Response, *, request: ours.Request | None = None, dialect: ChatDialect = OPENAI
) -> tuple[types.Completion, list[Loss]]:
    """The answer in this wire's format; `request` has the form that its client expects."""
    lost = Losses()
    report_answer(response, lost, "moderation", "service_tier")
    report_foreign(response.leftovers, WIRE, "", lost)
    left = own(response.leftovers, WIRE)
    used = FUNCTION_CALL if wants_function_call(request) else " ".join(used_fields(left))
    body = _encode_answer(response, used, dialect, lost)
    first = body.choices[0] = patch(body.choices[0], as_object(left.get(CHOICE)))
    status, details = response.status, response.incomplete_details
    if status == "failed" and WIRE not in (response.leftovers or {}):
        lost.refused("status", "a failed answer, which Chat Completions sends as an error")
        lost.dropped("error", "why it failed, which `encode_error` encodes")
    elif status not in FINISH_REASONS_BACK:
        lost.refused("status", not_in(f"an answer that is {status}", "Chat Completions"))
    reason = details.reason if given(details) else None
    if status == "incomplete" and reason not in REASONS and first.finish_reason == "length":
        lost.changed("incomplete_details.reason", f"{reason!r}, sent as length")
    body = patch(body, {name: value for name, value in left.items() if name not in (CHOICE, OTHERS)})
    body.choices += [cast("Any", other) for other in as_list(left.get(OTHERS)) if isinstance(other, dict)]
    return body, lost


def _encode_answer(response: ours.Response, used: str, dialect: ChatDialect, lost: Losses) -> types.Completion:
    """The answer in our encoding, with the nulls that OpenAI sends; `used` are the forms its document used."""
    message = AssistantMessage(types.Answer(role="assistant", content=None), dialect, lost, answer=True)
    message.used = used
    _encode_output(response.output, message, dialect, lost)
    msg = message.finish()
    msg.refusal = None if msg.refusal is UNSET else msg.refusal
    msg.annotations = [] if msg.annotations is UNSET else msg.annotations
    choice = types.Choice(
        index=0,
        message=msg,
        finish_reason=encode_finish_reason(response, msg),
        logprobs=encode_logprobs(texts(response.output)),
    )
    return types.Completion(
        id=response.id,
        object="chat.completion",
        created=int(response.created_at) if given(response.created_at) else 0,
        model=response.model or UNSET,
        choices=[choice],
        service_tier=or_unset(response.service_tier),
        usage=encode_usage(response.usage, dialect, lost) if given(response.usage) else UNSET,
        moderation=or_unset(response.moderation),
    )


def _encode_output(
    output: list[ours.AnyItem], message: AssistantMessage[types.Answer], dialect: ChatDialect, lost: Losses
) -> None:
    attached: dict[str, Json] = {}
    opaque = any(isinstance(item, ours.Reasoning) and reasoning.is_foreign(item, dialect) for item in output)
    for i, item in enumerate(output):
        path = f"output[{i}]"
        if not isinstance(item, Unknown) and extras(item):
            item = known(item, path, lost)
        match item:
            case ours.Message():
                message.add_text(item, path)
            case ours.FunctionCall() | ours.CustomToolCall():
                call = encode_call(item, dialect, i, lost, "output")
                add_call(message.msg, item, call, attached, {}, legacy=message.is_legacy)
                if message.msg.function_call and message.msg.tool_calls:
                    lost.changed(path, "one more call than `function_call` can hold, sent in `tool_calls`")
            case ours.Reasoning():
                report_unknown(item, path, lost)
                report_thoughts(item, WIRE, path, lost)
                state = reasoning.state_of(item, dialect)
                if isinstance(state, reasoning.CallState):
                    attached[state.call_id] = state.extra_content
                elif isinstance(state, reasoning.MessageState | reasoning.SoundState):
                    message.attach(state, path)
                else:
                    state = None if reasoning.is_foreign(item, dialect) else state
                    _encode_thinking(message, item, state, path, opaque, dialect, lost)
            case ours.ImageGenerationCall():
                message.add_image(item, path)
            case _ if notes := executed(item):
                message.msg.executed_tools = [*(message.msg.executed_tools or ()), notes[EXECUTED]]
            case _:
                report_item(item, path, WIRE, lost)
        if not isinstance(item, Unknown):
            report_foreign(item.leftovers, WIRE, path, lost)


def _encode_thinking(
    message: AssistantMessage[types.Answer],
    item: ours.Reasoning,
    state: reasoning.Thought | None,
    path: str,
    opaque: bool,
    dialect: ChatDialect,
    lost: Losses,
) -> None:
    """Add the reasoning, in the host's field, or in that of most hosts."""
    text, place = reasoning.text_of(item), ""
    if (message.has_text or message.msg.tool_calls) and text and "parts" not in message.used:
        lost.changed(path, "reasoning between texts or calls, shown before them")
    if state is None and opaque:
        # Some of it is opaque: all of it is sent in the form that clients send back whole.
        reasoning.encode_foreign_thinking(message.msg, item)
        place = reasoning.TEXT_PLACES[0] if reasoning.streamed_field(dialect) else ""
    elif state is None and dialect.reasoning_field in ("reasoning_details", "thinking"):
        state = reasoning.Thought(place=dialect.reasoning_field, shown="")
    elif state is None and text:
        place = dialect.reasoning_field or reasoning.TEXT_PLACES[0]
        if item.summary or len(reasoning.texts(item)) > 1:
            lost.changed(path, "shown as one text, whether it was thought or summarised")
    if state is not None or text:
        message.add_thinking(item, state, place, path)


# --- merging of streamed chunks ---------------------------------------------------------------------------------------

GROWING = ("content", "refusal", "reasoning_content", "reasoning")
"""The fields of a message that are streamed in pieces."""

_USAGE: Decoder[types.Usage] = Decoder(types.Usage)
_JOINED = ("text", "summary", "data")


class MergedAnswer:
    """The merged answer of the chunks. `calls` are in the order in which they began, `tools` those that the host executed."""

    def __init__(self) -> None:
        self.document: Json = {}
        self.choice: Json = {}
        self.calls: list[MergedCall] = []
        self._other_fields: Json = {}  # fields of the message that do not come in pieces
        self.images: list[Any] = []
        self._sound: list[Json] = []
        self.tools: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._parts: list[Any] = []
        self._details: dict[tuple[str, str], tuple[Json, dict[str, list[str]]]] = {}  # and texts that come in pieces
        self._by_index: dict[int, MergedCall] = {}
        self.replaced: dict[str, None] = {}  # the paths of fields that came with several values

    # -- adding

    def _take(self, into: Json, name: str, value: Any, path: str) -> None:
        """Set a field that is not streamed in pieces: the last value with content is used."""
        before = into.get(name)
        if value is not None or before is None:
            into[name] = value
            if before is not None and before != value:
                self.replaced[f"{path}.{name}" if path else name] = None

    def add_document(self, chunk: types.Chunk) -> None:
        """Add the fields of a chunk about the answer as a whole."""
        for name, value in present(chunk, "choices", "error", "object", "obfuscation", "status_code").items():
            if name not in types.Chunk.__struct_fields__:
                self._take(self.document, name, value, "")
            elif given(value) and value != "":
                self.document[name] = value
        if "usage" not in self.document and is_object(chunk.x_groq) and "usage" in chunk.x_groq:
            with suppress(DecodeError):  # a value that is no count stays in its own place
                self.document["usage"] = _USAGE.decode(msgspec.json.encode(chunk.x_groq["usage"]))

    def add_choice(self, choice: types.ChunkChoice) -> None:
        """Add the fields of a chunk's choice beside the message."""
        for name, value in present(choice, "index", "delta").items():
            before = self.choice.get(name)
            if name == "usage":
                if given(value):
                    self.document[name] = value
            elif name == "finish_reason":
                self.choice[name] = before or value
            elif name == "logprobs" and is_object(value):
                known = before if is_object(before) else {}
                merged = {each: [*as_list(known.get(each)), *as_list(value[each])] or value[each] for each in value}
                self.choice[name] = {**known, **merged}
            elif name != "logprobs" or before is None:
                self._take(self.choice, name, value, CHOICE)

    def add_text(self, field: str, piece: str) -> None:
        """Add a piece of a text."""
        if field == "content" and self._parts:
            self.add_parts([types.Text(text=piece)])
        else:
            self._texts.setdefault(field, []).append(piece)

    def add_parts(self, parts: list[Any]) -> None:
        """Add pieces of a content list; neighbours of one type are one part."""
        for part in parts:
            last = self._parts[-1] if self._parts else None
            if isinstance(part, types.Text) and isinstance(last, types.Text):
                self._parts[-1] = _followed(last, part, text=last.text + part.text)
            elif isinstance(part, types.Thinking) and isinstance(last, types.Thinking):
                self._parts[-1] = _followed(last, part, thinking=_joined(last.thinking, part.thinking))
            else:
                self._parts.append(part)

    def add_fields(self, delta: types.Delta) -> None:
        """Add the fields of a delta beside texts and calls."""
        for name, value in present(delta, "tool_calls", "function_call", "role", "token_id").items():
            before = self._other_fields.get(name)
            if name in GROWING:
                if value is None:
                    self._other_fields.setdefault(name, None)
            elif name == "reasoning_details" and value:
                self.add_details(value)
            elif name == "annotations" and value:
                self._other_fields[name] = [*(before or ()), *value]
            elif name == "images" and isinstance(value, list):
                images, found = self.images, as_list(value)
                images += found[len(images) :] if found[: len(images)] == images else found  # some hosts repeat them
            elif name == "executed_tools" and isinstance(value, list):
                merge_tools(self.tools, as_list(value))
            elif name == "audio" and is_object(value):
                self._sound.append(value)
            else:
                self._take(self._other_fields, name, value, f"{CHOICE}.delta")

    def add_call(self, piece: types.ToolCall) -> tuple[MergedCall, str]:
        """Add a piece of a call; returns the call it belongs to, and the text it adds."""
        index = int(piece.index) if given(piece.index) else None
        found = self._by_index.get(index) if index is not None else self.calls[-1] if self.calls else None
        new_id = str(piece.id) if given(piece.id) and piece.id not in ("", "null") else None
        # Without an index a second complete call is recognized by its id or its name alone.
        named = index is None and not new_id and given(piece.function) and piece.function.name
        if found is None or (new_id and found.id and new_id != found.id) or (named and found.is_complete):
            found = MergedCall()
            self.calls.append(found)
        if index is not None:
            self._by_index[index] = found
        return found, found.add(piece)

    def add_legacy(self, piece: types.FunctionBody) -> tuple[MergedCall, str]:
        """Add a piece of a call in the legacy form."""
        found = next((call for call in self.calls if call.legacy), None)
        if found is None:
            self.calls.append(found := MergedCall(legacy=True))
        return found, found.add(types.ToolCall(function=piece))

    def add_details(self, details: Iterable[Json]) -> None:
        """Add pieces of structured reasoning, which belong together by index and type."""
        for i, detail in enumerate(details):
            key = str(detail.get("index", len(self._details))), str(detail.get("type"))
            known, texts = self._details.setdefault(key, ({}, {}))
            for name, value in detail.items():
                if name in _JOINED and isinstance(value, str):
                    texts.setdefault(name, []).append(value)
                    known.setdefault(name, "")
                else:
                    self._take(known, name, value, f"{CHOICE}.delta.reasoning_details[{i}]")

    # -- results

    def msg(self) -> types.Answer:
        """The message so far."""
        msg = {
            "role": "assistant",
            **self._other_fields,
            **{field: "".join(each) for field, each in self._texts.items()},
        }
        if self._parts:
            msg["content"] = self._parts
        else:
            msg["content"] = msg.get("content") or None
        if self._details:
            msg["reasoning_details"] = [
                {**known, **{name: "".join(pieces) for name, pieces in texts.items()}}
                for known, texts in self._details.values()
            ]
        if self.images:
            msg["images"] = self.images
        if self.tools:
            msg["executed_tools"] = [*self.tools.values()]
        if self._sound:
            msg["audio"] = joined_audio(self._sound)
        for call in self.calls:
            if call.legacy:
                msg["function_call"] = call.whole().function
        if calls := [call.whole() for call in self.calls if not call.legacy]:
            msg["tool_calls"] = calls
        return built(types.Answer, msg)

    def whole(self) -> types.Completion:
        """The answer so far, as one document."""
        choice = built(types.Choice, {"index": 0, **self.choice, "message": self.msg()})
        return built(types.Completion, {"object": "chat.completion", **self.document, "choices": [choice]})


def _joined(one: str | list[Json], other: str | list[Json]) -> str | list[Json]:
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    pieces = reasoning.pieces_of(one)
    for piece in reasoning.pieces_of(other):
        if reasoning.is_text(piece) and pieces and reasoning.is_text(pieces[-1]):
            pieces[-1] = {**pieces[-1], **piece, "text": pieces[-1]["text"] + piece["text"]}
        else:
            pieces.append(piece)
    return pieces


def _followed(last: Any, part: Any, **grown: Any) -> Any:
    """The part with its next piece, and the piece's fields beside the text."""
    msg = {name: value for name, value in present(part).items() if value is not None}
    return built(types.Text if isinstance(last, types.Text) else types.Thinking, {**present(last), **msg, **grown})


# --- finish reason --------------------------------------------------------------------------------------------------

FINISH_REASONS: dict[str, tuple[str, str | None]] = {
    **dict.fromkeys(("stop", "tool_calls", "function_call", "eos"), ("completed", None)),
    **dict.fromkeys(("length", "model_length"), ("incomplete", "max_output_tokens")),
    **dict.fromkeys(("content_filter", "sensitive"), ("incomplete", "content_filter")),
    **dict.fromkeys(("error", "insufficient_system_resource", "network_error"), ("failed", "server_error")),
}
"""Finish reasons: the status, and the incomplete reason or the error code."""
FINISH_REASONS_BACK = {"completed": "stop", "incomplete": "length", "failed": "error"}
REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}

_whole = msgspec.json.Decoder(Raw).decode


def decode_finish_reason(finish_reason: Opt[str], output: list[ours.AnyItem], lost: Losses) -> tuple[str, str | None]:
    """The status of an answer with this finish reason, and the incomplete reason or the error."""
    if found := FINISH_REASONS.get(finish_reason or ""):
        return found
    place = f"{CHOICE}.finish_reason"
    if finish_reason:
        lost.changed(place, f"the unknown reason {finish_reason!r}, treated as incomplete")
        return "incomplete", finish_reason
    if not output:
        lost.changed(place, "no reason and no output, treated as failed")
        return "failed", "server_error"
    if any(map(_is_open, output)):
        lost.changed(place, "no reason, and a call whose arguments were cut, treated as incomplete")
        return "incomplete", None
    return "completed", None


def _is_open(item: ours.AnyItem) -> bool:
    """Whether the item is a call whose arguments were cut off."""
    if not isinstance(item, ours.FunctionCall):
        return False
    try:
        _whole(item.arguments)
    except msgspec.DecodeError:
        return True
    return False


def encode_finish_reason(response: ours.Response, msg: types.Answer) -> str:
    """The finish reason as OpenAI sends it."""
    if response.status == "incomplete" and given(details := response.incomplete_details):
        return REASONS.get(details.reason or "", "length")
    if response.status == "completed" and (msg.tool_calls or msg.function_call):
        return FUNCTION_CALL if msg.function_call else "tool_calls"
    return FINISH_REASONS_BACK.get(response.status, "stop")


# --- token counts ---------------------------------------------------------------------------------------------------

COUNTS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}
"""The token counts, those of Chat on the left."""

CACHED = ("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")
"""Fields in which hosts count cached tokens beside the details."""
_cached, _NOT_CACHED = attrgetter(*CACHED), (UNSET,) * len(CACHED)
MEDIA = ("audio_tokens", "image_tokens", "video_tokens")
"""Counts in the details of tokens that may have prices of their own."""
_media, _NO_MEDIA = attrgetter(*MEDIA), (UNSET,) * len(MEDIA)


def decode_usage(counted: types.Usage, dialect: ChatDialect, *, keep: bool = True) -> ours.Usage:
    """Token counts of Responses."""
    prompt, completion, total = counted.prompt_tokens or 0, counted.completion_tokens or 0, counted.total_tokens
    usage = ours.Usage(input_tokens=prompt, output_tokens=completion, total_tokens=0)
    if held := counted.prompt_tokens_details:
        usage.input_tokens_details = ours.InputTokensDetails(
            cached_tokens=or_none(held.cached_tokens), cache_write_tokens=or_none(held.cache_write_tokens)
        )
        usage.input_tokens_details = _with_media(usage.input_tokens_details, held, keep=keep)
    if _cached(counted) != _NOT_CACHED and not (held and given(held.cached_tokens)):
        for cached in _cached(counted):
            if isinstance(cached, int | float):
                details = usage.input_tokens_details or ours.InputTokensDetails()
                usage.input_tokens_details = replace(details, cached_tokens=int(cached))
                break
    if made := counted.completion_tokens_details:
        tokens = ours.OutputTokensDetails(reasoning_tokens=or_none(made.reasoning_tokens))
        usage.output_tokens_details = _with_media(tokens, made, keep=keep)
    if dialect.output_tokens == "completion_and_reasoning":
        usage.output_tokens += _reasoning_tokens(usage)
    elif dialect.output_tokens == "total_minus_prompt":  # without a total nothing is subtracted
        usage.output_tokens = max(completion, (total or 0) - prompt)
    usage.total_tokens = total if given(total) else usage.input_tokens + usage.output_tokens
    if not keep and not (counted.cost is counted.cost_in_usd_ticks is UNSET):  # else already in the leftovers
        usage.cost = reported_cost(counted.cost, counted.cost_in_usd_ticks)
    if keep and (left := diff(counted, encode_usage(usage, dialect, Losses()))):
        if "completion_tokens" in (notes := as_object(left.get(SPELLING))):  # those of the visible text alone
            notes[NEAR] = {"completion_tokens": None}
        usage.leftovers = {WIRE: left}
    return usage


def _with_media(details: Any, counts: Any, *, keep: bool) -> Any:
    """The details with the tokens of audio, images and video, which may have prices of their own; `keep` has them already."""
    if keep or (counted := _media(counts)) == _NO_MEDIA:
        return details
    return with_extras(details, {name: count for name, count in zip(MEDIA, counted, strict=True) if count})


def _reasoning_tokens(usage: ours.Usage) -> int:
    details = usage.output_tokens_details
    return details.reasoning_tokens or 0 if given(details) else 0


def encode_usage(usage: ours.Usage, dialect: ChatDialect, lost: Losses) -> types.Usage:
    """Token counts as the host of `dialect` sends them."""
    details, made = usage.input_tokens_details, usage.output_tokens_details
    report_usage(usage, WIRE, lost, "total_tokens", *DETAILS)
    counted = types.Usage(**{theirs: getattr(usage, our) for theirs, our in COUNTS.items()})
    if dialect.output_tokens == "completion_and_reasoning":
        counted.completion_tokens = max(0, usage.output_tokens - _reasoning_tokens(usage))
    if given(details):
        counted.prompt_tokens_details = types.PromptDetails(
            cached_tokens=or_unset(details.cached_tokens), cache_write_tokens=or_unset(details.cache_write_tokens)
        )
    if given(made):
        tokens = or_unset(made.reasoning_tokens)
        counted.completion_tokens_details = types.CompletionDetails(reasoning_tokens=tokens)
    report_foreign(usage.leftovers, WIRE, "usage", lost)
    return patch(counted, own(usage.leftovers, WIRE))


# --- errors ---------------------------------------------------------------------------------------------------------


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """The facts of an error answer. A status inside the body takes precedence over an HTTP 200."""
    facts = error_facts(WIRE, status, headers, body)
    left = facts.leftovers.get(WIRE, {})
    if (result := as_object(left.get("base_resp"))) and not facts.message:
        # MiniMax: errors come with status 200, and the code is a number of its own.
        facts.message = str(result.get("status_msg") or "")
        facts.code = facts.code or str(result.get("status_code") or "") or None
    if status < 400:
        facts.retry_after = None  # some hosts send the header with every answer
        code = facts.code or ""
        inner = left.get("status_code", as_object(left.get("error")).get("status_code"))
        for value in (inner, int(code) if code.isdecimal() and len(code) == 3 else None):
            if isinstance(value, int) and 400 <= value <= 599:
                facts.status = value
                break
    return facts


def encode_error(facts: ErrorFacts) -> tuple[int, Json]:
    """The status and the body of an error for a client of this wire."""
    status = status_of(facts, 502)
    error: Json = {"message": facts.message, "type": type_of(facts, status), "param": facts.param, "code": facts.code}
    left = dict(facts.leftovers.get(WIRE, {}))
    return status, {"error": {**as_object(left.pop("error", None)), **error}, **left}
