"""Conversion of the answer, both ways, and errors: one message here, items in order in Responses.

The wire has no id for an answer, so it is made of the model and the creation time, which has nanoseconds. Before
changing this file, know that a streamed answer must give the same result (`finish_response` and `keep_answer` serve
both), that an absent count is not silently 0, that the server does not report when it truncated the conversation to its
window, and that some errors come with the wrong status, so that their text is examined first. Follows Ollama's API
reference and the server's error texts (read 2026-11-20).
"""

from __future__ import annotations

import re
from copy import copy
from datetime import UTC, datetime
from math import floor
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET

from ... import responses as ours
from ...losses import Loss, Losses
from ...responses.carriers import SPELLING, WITHIN, digest, own, sender
from ...unknown import Decoder, Opt, as_object, given
from ...vendors.dialects import OllamaDialect
from ..errors import error_facts, status_of
from ..kept import Rules, diff, keep_message, kept_message, note, own_leftovers, patch, recall
from ..leftovers import (
    as_summary,
    item_id,
    new_answer,
    report_answer,
    report_item,
    report_thoughts,
    report_usage,
    set_status,
    wants_summary,
)
from ..tools import SentTools, restore_tool, sent_tools
from . import types
from .messages import AssistantMessage, decode_message
from .reasoning import encode_thinking
from .request import OLLAMA
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...errors import ErrorFacts

__all__ = ["decode_error", "decode_response", "encode_error", "encode_response", "generated"]

RULES = Rules(apart=frozenset({"message", "created_at"}), together=(("done", "done_reason"),), defaults={"model": ""})
MESSAGE_RULES = Rules(words=frozenset({"role"}))

ENCODED = (ours.Message, ours.FunctionCall, ours.CustomToolCall, ours.Reasoning, ours.ImageGenerationCall)
"""The items that an answer of this wire can hold."""


# --- the whole answer -----------------------------------------------------------------------------------------------


def decode_response(
    body: types.Answer,
    *,
    request: ours.Request | None = None,
    dialect: OllamaDialect = OLLAMA,
    now: float = 0,
    keep: bool = True,
) -> tuple[ours.Response, list[Loss]]:
    """The response for an answer; `request` reverses emulations, `now` dates an answer without a date.

    `keep` preserves data that describes this document and its notation; unknown fields of its message always stay.
    """
    lost = Losses()
    origin = origin_of(body)
    response = begin_response(body, origin, request, now, keep=keep)
    names = sent_tools(request, custom_tools=False) if request is not None else {}
    logprobs: list[ours.Logprob] = [] if body.message.thinking else body.logprobs or []
    items = decode_message(body.message, dialect.issuer, origin, set(), "message", lost, keep=keep)
    for i, item in enumerate(items):
        if isinstance(item, ours.Reasoning) and wants_summary(request):
            as_summary(item)
        if isinstance(item, ours.Message) and isinstance(item.content, str):
            item.content = [text_part(item.content, logprobs)]
        items[i] = placed_item(item, origin, i, names, lost)
    response.output = items
    finish_response(response, body, request, lost)
    if keep:
        keep_answer(response, body, dialect)
    return response, lost


def encode_response(
    response: ours.Response, *, request: ours.Request | None = None, dialect: OllamaDialect = OLLAMA
) -> tuple[types.Answer, list[Loss]]:
    """The answer in the server's format."""
    lost = Losses()
    left, status = own_leftovers(response, WIRE, "", lost), response.status
    summarizes = wants_summary(request)
    made = _encode_answer(response, as_object(left.get("message")), dialect, lost, summarizes=summarizes)
    body = patch(made, {name: value for name, value in left.items() if name != "message"})
    if response.error and not left:
        lost.dropped("error", "Ollama sends an error instead of an answer")
    if status not in FINISH_REASONS_BACK and (status != "failed" or not left):
        lost.refused("status", f"an answer that is {status}, which Ollama sends as an error")
    reason = response.incomplete_details.reason if response.incomplete_details else None
    if status == "incomplete" and reason != "max_output_tokens" and body.done_reason in ("length", "stop"):
        lost.changed("incomplete_details.reason", f"{reason!r}, sent as {body.done_reason}")
        if body.done_reason == "stop":
            lost.changed("status", "an answer that is incomplete, sent as the end")
    report_answer(response, lost)
    return body, lost


def _encode_answer(
    response: ours.Response, left: Json, dialect: OllamaDialect, lost: Losses, *, summarizes: bool = False
) -> types.Answer:
    """The answer in our encoding; `left` are the leftovers of a message without items."""
    message = AssistantMessage(lost, "output")
    message.left = left
    for i, item in enumerate(response.output):
        _encode_item(item, message, i, dialect, lost, summarizes=summarizes)
    body = types.Answer(
        model=response.model or UNSET,
        created_at=created_at(response),
        message=message.finish(),
        done=response.status in FINISH_REASONS_BACK,
        done_reason=encode_finish_reason(response),
    )
    if given(response.usage):
        encode_usage(response.usage, body, lost)
    _encode_logprobs(response.output, body, lost)
    return body


def begin_response(
    line: types.Line, origin: str, request: ours.Request | None, now: float, *, keep: bool
) -> ours.Response:
    """The response at the first line."""
    seconds = seconds_of(line.created_at)
    created = int(now) if seconds is None else seconds
    response = new_answer(f"resp_{origin}", created, line.model, request)
    if keep:
        response.leftovers = {WIRE: {SPELLING: {"created_at": note(line.created_at, created)}}}
    return response


def finish_response(response: ours.Response, line: types.Line, request: ours.Request | None, lost: Losses) -> None:
    """End the response with its last line."""
    output = response.output
    status, reason = decode_finish_reason(line, bool(output), lost)
    set_status(response, status, reason, "the server stopped without an end of the answer")
    # Calls are sent whole, so only text or thinking can have been cut off.
    last = output[-1] if output else None
    if response.status != "completed" and isinstance(last, ours.Message | ours.Reasoning):
        last.status = "incomplete"
    response.usage = decode_usage(line, bool(output), lost)
    if request is not None and given(response.usage):
        check_window(request, response.usage, lost)


def keep_answer(response: ours.Response, body: types.Answer, dialect: OllamaDialect) -> None:
    """Store the fields of the answer that our encoding lacks on the response and on the first item of its message."""
    notes = own(response.leftovers, WIRE)[SPELLING]
    made = _encode_answer(response, {}, dialect, Losses())
    original, our = body.logprobs or [], cast("list[Any]", made.logprobs or [])
    our += [None] * (len(original) - len(our)) if our else []  # log probabilities without text
    left, msg = diff(body, made, RULES), diff(body.message, made.message, MESSAGE_RULES)
    if msg and response.output:
        response.output[0] = copy(response.output[0])  # which a stream has already emitted
        keep_message(response.output[0], WIRE, msg)
    elif msg:
        left["message"], notes["message"] = msg, WITHIN
    response.leftovers = {WIRE: {**left, SPELLING: {**notes, **left.get(SPELLING, {})}}}


def placed_item(item: Any, origin: str, position: int, names: SentTools, lost: Losses) -> Any:
    """The item for this position of the answer, with the tool name of the request."""
    if names and isinstance(item, ours.FunctionCall):
        item = restore_tool(item, names, f"output[{position}]", lost)
    item.id, item.status = item_id(item, origin, position), "completed"
    return item


def _encode_item(
    item: ours.AnyItem,
    message: AssistantMessage,
    i: int,
    dialect: OllamaDialect,
    lost: Losses,
    *,
    summarizes: bool = False,
) -> None:
    path = f"output[{i}]"
    if isinstance(item, ENCODED):
        own_leftovers(item, WIRE, path, lost)
        message.left = message.left or kept_message(item, WIRE)
    match item:
        case ours.Message():
            message.add_text(item, i, ("annotations",))
        case ours.FunctionCall() | ours.CustomToolCall():
            message.calls.append((item, i))
        case ours.Reasoning():
            report_thoughts(item, WIRE, path, lost)
            state = item.encrypted_content
            is_own = given(state) and sender(state) == (WIRE, dialect.issuer)
            if item.summary and (item.content or not (summarizes or is_own)):
                what = "a summary beside the thoughts" if item.content else "a summary, shown as what was thought"
                lost.changed(f"{path}.summary", what)
            text = encode_thinking(item)
            if text:
                message.add_thinking(text, i)
            if given(state) and not is_own:
                place = f"{path}.encrypted_content" if text else path
                lost.dropped(place, "opaque state, which answers of Ollama cannot hold")
        case ours.ImageGenerationCall():
            message.add_image(item, i)
        case _:
            report_item(item, path, WIRE, lost)


# --- log probabilities ----------------------------------------------------------------------------------------------


def text_part(text: str, logprobs: list[ours.Logprob]) -> ours.OutputText:
    """A text part with the log probabilities of its tokens, from the first ones."""
    part = ours.OutputText(text=text, annotations=[])
    joined = ""
    for count, entry in enumerate(logprobs, 1) if logprobs else ():
        joined += entry.token
        if joined == text:
            part.logprobs = logprobs[:count]
            break
    return part


def _encode_logprobs(output: list[ours.AnyItem], body: types.Answer, lost: Losses) -> None:
    """Set the log probabilities, if they cover the whole text of the message."""
    for i, item in enumerate(output):
        parts = item.content if isinstance(item, ours.Message) and isinstance(item.content, list) else ()
        for j, part in enumerate(parts):
            if not isinstance(part, ours.OutputText) or not part.logprobs:
                continue
            tokens = "".join(entry.token for entry in part.logprobs)
            if tokens == part.text == body.message.content and not body.message.thinking:
                body.logprobs = list(part.logprobs)
            else:
                lost.dropped(f"output[{i}].content[{j}].logprobs", "log probabilities of a part of the text")


# --- finish reason --------------------------------------------------------------------------------------------------

FINISH_REASONS = {"stop": "completed", "length": "incomplete", "load": "completed", "unload": "completed"}
"""Finish reasons and their status in Responses."""
FINISH_REASONS_BACK = {"completed": "stop", "incomplete": "length"}


def decode_finish_reason(line: types.Line, has_output: bool, lost: Losses) -> tuple[str, str | None]:
    """The status of an answer with this last line, and its incomplete reason or error."""
    reason = line.done_reason
    if not line.done:
        # The server stops with this reason when a model repeats itself.
        lost.changed("done", "an answer without an end, treated as failed")
        return "failed", "server_error"
    if not reason:
        lost.changed("done_reason", "no reason, treated as " + ("the end" if has_output else "a failure"))
        return ("completed", None) if has_output else ("failed", "server_error")
    if reason not in FINISH_REASONS:
        lost.changed("done_reason", f"the unknown reason {reason!r}, treated as incomplete")
        return "incomplete", reason
    return FINISH_REASONS[reason], "max_output_tokens" if reason == "length" else None


def encode_finish_reason(response: ours.Response) -> Opt[str]:
    """The finish reason of an answer. A refusal ends it; only a limit cuts it off."""
    details = response.incomplete_details
    if response.status == "incomplete" and given(details) and details.reason == "content_filter":
        return "stop"
    return FINISH_REASONS_BACK.get(response.status, UNSET)


# --- creation time --------------------------------------------------------------------------------------------------

_LATEST = 253_402_300_800


def seconds_of(stamp: Opt[str]) -> int | None:
    """The time of a timestamp in seconds; `None` if it is invalid."""
    if not stamp:
        return None
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return floor(moment.timestamp())


def stamp_of(seconds: int | float | None, origin: str) -> str:
    """A time as the server writes it. Its nanoseconds encode the id, which the wire has no field for."""
    whole = int(seconds) if given(seconds) and 0 <= seconds < _LATEST else 0
    return f"{datetime.fromtimestamp(whole, UTC).isoformat()[:19]}.{int(digest(origin), 16) % 10**9:09}Z"


_STAMP: Decoder[Any] = Decoder(str | None)


def created_at(response: ours.Response) -> Opt[str]:
    """The creation time of a response, as in its document, or as the server would write it."""
    kept = as_object(own(response.leftovers, WIRE).get(SPELLING)).get("created_at")
    original = recall(kept, response.created_at, _STAMP)
    return stamp_of(response.created_at, response.id) if original is response.created_at else original


def origin_of(line: types.Line) -> str:
    """The source of the ids of an answer, from its first line."""
    return digest(f"{line.model or ''}/{line.created_at}" if line.created_at else msgspec.json.encode(line).decode())


# --- token usage ----------------------------------------------------------------------------------------------------


def decode_usage(line: types.Line, has_output: bool, lost: Losses) -> ours.Usage | None:
    """The token counts of the last line; `None` where it has none."""
    read, made = line.prompt_eval_count, line.eval_count
    if not (read and made) and not (given(read) or given(made)):
        return None
    if not (read and made) and (not given(read) or (not given(made) and has_output)):
        name = "output_tokens" if given(read) else "input_tokens"
        lost.changed(f"usage.{name}", "a missing count, which older servers omit for cached input")
    read, made = read or 0, made or 0
    return ours.Usage(input_tokens=read, output_tokens=made, total_tokens=read + made)


def encode_usage(usage: ours.Usage, body: types.Line, lost: Losses) -> None:
    """Set the counts."""
    body.prompt_eval_count, body.eval_count = usage.input_tokens, usage.output_tokens
    report_usage(usage, WIRE, lost)
    own_leftovers(usage, WIRE, "usage", lost)


# --- the context window ---------------------------------------------------------------------------------------------

LEAST = 8000
"""A shorter conversation, in characters, fits every window."""
CHARACTERS = 8
"""More characters than one token has in any language: a lower token count means that the input was truncated."""


def check_window(request: ours.Request, usage: ours.Usage, lost: Losses) -> None:
    """Report if the server seems to have truncated the conversation, which it does silently."""
    read, window = usage.input_tokens, _window(request)
    input, full = request.input or "", window is not None and read >= window - 1
    if not full and read * CHARACTERS >= len(msgspec.json.encode([input, request.instructions])):
        return  # without examining each item
    size = len(request.instructions or "") + (len(input) if isinstance(input, str) else sum(map(_size, input)))
    if read and (full or (size > LEAST and read * CHARACTERS < size)):
        cut = f"about {size // 4} tokens, of which the server read {int(read)}: it cuts what does not fit its window"
        lost.changed("input", f'{cut}; raise it with extra={{"{WIRE}": {{"options": {{"num_ctx": ...}}}}}}')


def _window(request: ours.Request) -> int | None:
    """The size of the context window, if the request sets it."""
    extra = as_object(request.extra.get(WIRE)) if request.extra else {}
    left = as_object(own(request.leftovers, WIRE).get("options"))
    size = as_object(extra.get("options")).get("num_ctx", left.get("num_ctx"))
    return size if isinstance(size, int) else None


def _size(item: ours.AnyItem) -> int:
    """The number of characters in an item."""
    match item:
        case (
            ours.Message(content=content)
            | ours.FunctionCallOutput(output=content)
            | ours.CustomToolCallOutput(output=content)
        ):
            return len(content) if isinstance(content, str) else sum(len(getattr(part, "text", "")) for part in content)
        case ours.FunctionCall(arguments=text):
            return len(text)
        case _:
            return 0


# --- errors ---------------------------------------------------------------------------------------------------------

CODES = (
    (r"model .*not found|try pulling it first", "model_not_found"),
    (r"context length", "context_length_exceeded"),
    (r"server busy|maximum pending requests", "overloaded"),
    (r"unauthorized|not signed in", "unauthenticated"),
    (r"does not support|invalid think value|top_logprobs must|invalid format|model is required", "invalid_argument"),
)
"""The error code of other wires for a text."""

STATUSES = {
    "model_not_found": 404,
    "context_length_exceeded": 400,
    "overloaded": 503,
    "unauthenticated": 401,
    "invalid_argument": 400,
}
"""The status for a code, if there is only that of a stream that began with 200."""


def code_of(text: str) -> str | None:
    """The error code for an error's text."""
    return next((code for pattern, code in CODES if re.search(pattern, text, re.IGNORECASE)), None)


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorFacts:
    """The facts of an error answer. A status in the cloud's body takes precedence over an HTTP 200."""
    facts = error_facts(WIRE, status, headers, body)
    code = facts.leftovers.get(WIRE, {}).get("StatusCode")
    if status < 400 and type(code) is int and 400 <= code <= 599:
        facts.status = code
    facts.code = facts.code or code_of(facts.message)
    return facts


def encode_error(facts: ErrorFacts) -> tuple[int, Json]:
    """The status and the body of an error, for a client of this wire."""
    status = status_of(facts, 502, STATUSES)
    left = dict(facts.leftovers.get(WIRE, {}))
    inner = left.pop("error", None)
    return status, {"error": {**inner, "message": facts.message} if inner else facts.message, **left}


def line_error(error: Any) -> ErrorFacts:
    """The facts of an error in a line of a stream; message and code are always there."""
    facts = error_facts(WIRE, 200, {}, msgspec.json.encode({"error": error}))
    facts.message = facts.message or "the server ended the stream with an error"
    facts.code = code_of(facts.message) or facts.code or "server_error"
    return facts


# --- other endpoints -------------------------------------------------------------


def generated(answer: Json) -> Json:
    """The answer, or a stream line, of `/api/generate` for one of `/api/chat`."""
    msg = as_object(answer.get("message"))
    if not msg:
        return answer
    line: Json = {name: value for name, value in answer.items() if name != "message"}
    line["response"] = msg.get("content") or ""
    if msg.get("thinking"):
        line["thinking"] = msg["thinking"]
    return line
