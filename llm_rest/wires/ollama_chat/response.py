"""The answer, both ways: one message here, items in order in Responses.

What describes this document only (durations, where a model ran, the very time) is a leftover of the response. Before changing
this file, know that a streamed answer has to come out the same: `placed`, `spoken_text` and `settle` serve both. Follows
Ollama's API reference (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from ...dialects import OllamaDialect
from ...losses import Loss, Losses, not_in
from ...responses.echo import echo
from ...responses.items import AnyItem, CustomToolCall, FunctionCall, ItemBase, Message, Reasoning
from ...responses.leftovers import own, report_foreign
from ...responses.parts import Logprob, OutputText
from ...responses.response import IncompleteDetails, Response, ResponseError
from ...unknown import Unknown, extras, given, or_none
from .._left import absent, as_object, leftovers, notes, put_back, report_answer, report_unknown, sent
from .._renamed import Sent, names_sent, undo
from . import types
from .ending import (
    COUNTS,
    ENDINGS,
    check_window,
    decode_usage,
    encode_usage,
    ending_of,
    origin_of,
    reason_for,
    seconds_of,
    stamp_of,
)
from .request import OLLAMA
from .spoken import Turn, decode_spoken, mark, text_of
from .types import WIRE, Json

if TYPE_CHECKING:
    from ...responses.request import Request

PREFIXES: dict[type, str] = {Message: "msg_", FunctionCall: "fc_", CustomToolCall: "ctc_", Reasoning: "rs_"}

LEFT = (
    "remote_model",
    "remote_host",
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
    "debug_info",
)
"""Fields that describe one answer only."""

_left = attrgetter(*LEFT)


# --- Ollama -> Responses --------------------------------------------------------------------------------------------


def decode_response(
    body: types.Answer, *, request: Request | None = None, dialect: OllamaDialect = OLLAMA, now: float = 0
) -> tuple[Response, list[Loss]]:
    """The response for an answer; `request` undoes what encoding it emulated, `now` dates an answer without a date."""
    lost = Losses()
    origin, said = origin_of(body), body.message
    items, left, spelling = decode_spoken(said, dialect.issuer, origin, set(), "message", lost)
    logprobs = list(body.logprobs or ())
    response = begun(body, origin, request, now)
    meant = names_sent(request, custom_tools=False)
    for item in items:
        if isinstance(item, Message) and isinstance(item.content, str):
            item.content = [spoken_text(item.content, logprobs if not said.thinking else [])]
        response.output.append(placed(item, origin, len(response.output), meant, lost))
    settle(response, body, (left, spelling), logprobs, request, lost)
    if body.logprobs is not UNSET and not body.logprobs:
        left_of(response)["logprobs"] = body.logprobs
    return response, lost


def begun(line: types.Line, origin: str, request: Request | None, now: float) -> Response:
    """The response as its first line begins it."""
    seconds = seconds_of(line.created_at)
    return Response(
        id=f"resp_{origin}",
        created_at=int(now) if seconds is None else seconds,
        status="in_progress",
        model=line.model or "",
        output=[],
        leftovers=leftovers(
            WIRE,
            {} if line.model or line.model is UNSET else {"model": line.model},
            {"created_at": sent(line.created_at)},
        ),
        **echo(request),
    )


def left_of(response: Response) -> Json:
    """What is left of the document that a response came from."""
    return own(response.leftovers, WIRE)


def placed(item: AnyItem, origin: str, position: int, meant: dict[str, Sent], lost: Losses) -> AnyItem:
    """The item as the one at this position of the answer, under the name that the request knows."""
    if isinstance(item, FunctionCall) and meant:
        item = undo(item, meant, f"output[{position}]", lost)
    if isinstance(item, ItemBase):
        item.id = f"{PREFIXES.get(type(item), 'item_')}{origin}_{position}"
        item.status = "completed"
    return item


def spoken_text(text: str, logprobs: list[Logprob]) -> OutputText:
    """A text with those of the first tokens that make it up, which are taken out of `logprobs`."""
    part = OutputText(text=text, annotations=[])
    joined = ""
    for count, entry in enumerate(logprobs, 1):
        joined += entry.token
        if joined == text:
            part.logprobs = logprobs[:count]
            del logprobs[:count]
            break
    return part


def settle(
    response: Response,
    line: types.Line,
    said: tuple[Json, Json],
    logprobs: list[Logprob],
    request: Request | None,
    lost: Losses,
) -> None:
    """End the response with its last line; `said` is what its message left, and `logprobs` are those of no text."""
    output, left = response.output, {**left_of(response)}
    spelling = {**notes(left)}
    ending = ending_of(line, bool(output), lost)
    response.status = ending.status
    if ending.status == "incomplete":
        response.incomplete_details = IncompleteDetails(reason=ending.reason)
    elif ending.status == "failed":
        response.error = ResponseError(code=ending.reason, message="the server stopped without an end of the answer")
    # Calls come whole, so that only what is said or thought can have been cut.
    last = output[-1] if output else None
    if ending.status != "completed" and isinstance(last, Message | Reasoning):
        last.status = "incomplete"
    response.usage = or_none(decode_usage(line, bool(output), lost))
    if request is not None and given(response.usage):
        check_window(request, response.usage, lost)
    if line.done_reason != reason_for(ending.status):
        spelling["done_reason"] = sent(line.done_reason)
    if line.done is not (ending.status != "failed"):
        spelling["done"] = sent(line.done)
    left |= {name: value for name, value in zip(LEFT, _left(line), strict=True) if value is not UNSET}
    if response.usage is None:
        left |= dict.fromkeys(name for name in COUNTS if getattr(line, name) is None)
    if logprobs:
        left["logprobs"] = sent(logprobs)
    message = leftovers(WIRE, *said)
    if message:
        left["message"] = message[WIRE]
    if type(line) not in (types.Answer, types.Chunk):
        left |= extras(line)
    response.leftovers = leftovers(WIRE, left, spelling)


# --- Responses -> Ollama --------------------------------------------------------------------------------------------


def encode_response(
    response: Response, *, request: Request | None = None, dialect: OllamaDialect = OLLAMA
) -> tuple[types.Answer, list[Loss]]:
    """The answer as the server gives it."""
    lost = Losses()
    left = left_of(response)
    spelling = notes(left)
    turn = Turn(lost, as_object(left.get("message")))
    for i, item in enumerate(response.output):
        _encode_item(item, turn, f"output[{i}]", dialect, lost)
    body = types.Answer(
        model=response.model or UNSET,
        created_at=stamp_of(response.created_at, response.id),
        message=turn.finish(),
        done=response.status in ("completed", "incomplete"),
        done_reason=_reason(response, spelling, lost),
    )
    if "created_at" in spelling:
        body.created_at = absent(spelling["created_at"])
    if "done" in spelling and response.status in ("completed", "failed"):
        body.done = absent(spelling["done"])
    if given(response.usage):
        encode_usage(response.usage, body, lost)
    body.logprobs = _logprobs(response.output, left, turn, lost)
    _report(response, lost)
    left = {name: value for name, value in left.items() if name not in ("message", "logprobs")}
    return put_back(body, left), lost


def _encode_item(item: AnyItem, turn: Turn, path: str, dialect: OllamaDialect, lost: Losses) -> None:
    if not isinstance(item, Unknown):
        report_unknown(item, path, lost)
    match item:
        case Message():
            turn.keep(item, path)
            turn.say(item, path, keeps=("logprobs",))
        case FunctionCall() | CustomToolCall():
            turn.keep(item, path)
            turn.call(item, path)
        case Reasoning():
            turn.keep(item, path)
            if item.summary:
                what = "a summary beside the thoughts" if item.content else "a summary, shown as what was thought"
                lost.changed(f"{path}.summary", what)
            text = text_of(item)
            if text:
                turn.think(text, path)
            if given(item.encrypted_content) and item.encrypted_content != mark(dialect.issuer):
                place = f"{path}.encrypted_content" if text else path
                lost.dropped(place, "opaque state, which no answer of Ollama holds")
        case Unknown():
            lost.dropped(path, f"an item of type {item.kind!r}")
        case _:
            lost.dropped(path, not_in(f"an item of type {item.__struct_config__.tag!r}", "Ollama"))


def _reason(response: Response, spelling: Json, lost: Losses) -> Any:
    details = response.incomplete_details
    reason = details.reason if given(details) else None
    if "done_reason" in spelling:
        came: Any = absent(spelling["done_reason"])
        status = ENDINGS[came].status if came in ENDINGS else "incomplete" if came else response.status
        # An answer without an end failed, whatever reason it gave.
        if response.status in (status, "failed"):
            return came
    if response.status == "incomplete" and reason != "max_output_tokens":
        lost.changed("incomplete_details.reason", f"{reason!r}, told as length")
    return reason_for(response.status)


def _logprobs(output: list[AnyItem], left: Json, turn: Turn, lost: Losses) -> Any:
    """The log probabilities of the text, where they are those of all that was said, and of what is no text."""
    rest: Any = left.get("logprobs", UNSET)
    found: list[Logprob] = []
    for i, item in enumerate(output):
        parts = item.content if isinstance(item, Message) and isinstance(item.content, list) else ()
        for j, part in enumerate(parts):
            if not isinstance(part, OutputText) or not part.logprobs:
                continue
            tokens = "".join(entry.token for entry in part.logprobs)
            if tokens == part.text == turn.said.content and not turn.said.thinking:
                found = part.logprobs
            else:
                lost.dropped(f"output[{i}].content[{j}].logprobs", "log probabilities of less than all that was said")
    return [*found, *(rest or ())] if found else rest


def _report(response: Response, lost: Losses) -> None:
    if response.error and WIRE not in (response.leftovers or {}):
        lost.dropped("error", "Ollama tells an error instead of an answer")
    if response.status == "failed" and WIRE not in (response.leftovers or {}):
        lost.refused("status", "a failed answer, which Ollama tells as an error")
    elif response.status not in ("completed", "incomplete", "failed"):
        lost.refused("status", not_in(f"an answer that is {response.status}", "Ollama"))
    report_answer(response, lost)
    report_foreign(response.leftovers, WIRE, "", lost)
