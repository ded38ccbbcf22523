"""How an answer ended, both ways: finish reasons and block reasons, and our status.

Before changing this file, know that the HTTP status is 200 for all of these, that calls end with `STOP` like a text does, and
that a call the model got wrong never counts as completed. Follows the references of `FinishReason` and `BlockReason` (read
2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ...responses.items import Message, Reasoning
from ...responses.parts import RefusalPart
from ...responses.response import IncompleteDetails, Response, ResponseError, ResponseStatus
from ...unknown import given, or_unset
from . import types
from .errors import decode_failure, encode_failure

if TYPE_CHECKING:
    from ...losses import Losses
    from ...responses.parts import ContentPart
    from ...unknown import Opt

FILTERED = "content_filter"
SERVER_ERROR = "server_error"

ENDS: dict[str, tuple[ResponseStatus, str | None]] = {
    "STOP": ("completed", None),
    "MAX_TOKENS": ("incomplete", "max_output_tokens"),
    "CONTINUATION": ("incomplete", "max_output_tokens"),
    "SAFETY": ("incomplete", FILTERED),
    "RECITATION": ("incomplete", FILTERED),
    "BLOCKLIST": ("incomplete", FILTERED),
    "PROHIBITED_CONTENT": ("incomplete", FILTERED),
    "SPII": ("incomplete", FILTERED),
    "MODEL_ARMOR": ("incomplete", FILTERED),
    "LANGUAGE": ("incomplete", FILTERED),
    "ESCALATION": ("incomplete", FILTERED),
    "PUP_LIMITED_DISABLED": ("incomplete", FILTERED),
    "IMAGE_SAFETY": ("incomplete", FILTERED),
    "IMAGE_PROHIBITED_CONTENT": ("incomplete", FILTERED),
    "IMAGE_RECITATION": ("incomplete", FILTERED),
    "MALFORMED_FUNCTION_CALL": ("failed", SERVER_ERROR),
    "UNEXPECTED_TOOL_CALL": ("failed", SERVER_ERROR),
    "MALFORMED_RESPONSE": ("failed", SERVER_ERROR),
    "TOO_MANY_TOOL_CALLS": ("failed", SERVER_ERROR),
    "MISSING_THOUGHT_SIGNATURE": ("failed", "invalid_encrypted_content"),
}
"""How an answer ended, theirs on the left: our status, and the reason or the code of the error."""
EMPTY_ENDS = ("OTHER", "IMAGE_OTHER", "NO_IMAGE", "FINISH_REASON_UNSPECIFIED")
"""Reasons that mean a failure where nothing was said; after something was said they are an end like any unknown one."""
REASONS = {"max_output_tokens": "MAX_TOKENS", FILTERED: "SAFETY"}
"""Reasons of an incomplete answer, ours on the left, the likelier of several."""


class End(NamedTuple):
    """A status, the reason or the code of the error, and what the vendor says about it."""

    status: ResponseStatus | str
    why: str | None
    message: Opt[str] = UNSET


def told_end(body: types.Response, candidate: types.Candidate, *, spoken: bool) -> End:
    """How an answer of this wire ended, in our words; `spoken` is whether anything was said."""
    finish, feedback = candidate.finish_reason, body.prompt_feedback
    if given(body.error):
        error = decode_failure(body.error)
        return End("failed", str(error.code), or_unset(error.message))
    if not body.candidates:
        if given(feedback) and feedback.block_reason:
            return End("incomplete", FILTERED, feedback.block_reason_message)
        return End("failed", SERVER_ERROR, "the vendor gave no answer")
    # Somebody who is asked to stop says so; an answer that just ends was cut.
    if not finish or (finish in EMPTY_ENDS and not spoken):
        return End("failed", SERVER_ERROR, candidate.finish_message)
    return End(*ENDS.get(finish, ("incomplete", finish)), candidate.finish_message)


def end_of(response: Response) -> tuple[str, str | None]:
    """How a response ended: its status, and the reason or the code of its error."""
    details, error = response.incomplete_details, response.error
    if response.status == "incomplete" and given(details):
        return response.status, details.reason or None
    if response.status == "failed" and given(error):
        return response.status, str(error.code) if given(error.code) else None
    return response.status, None


def decode_end(response: Response, body: types.Response, candidate: types.Candidate) -> None:
    """Set the status, and why it is not a better one."""
    if candidate.finish_reason == "STOP" and not given(body.error):
        response.status = "completed"
        return
    response.status, why, message = told_end(body, candidate, spoken=bool(response.output))
    if given(body.error):
        response.error = decode_failure(body.error)
        _cut(response)
    elif response.status == "failed":
        said = message if given(message) else f"the model stopped: {candidate.finish_reason or 'without a word'}"
        response.error = ResponseError(code=why or None, message=said)
    elif response.status == "incomplete":
        response.incomplete_details = IncompleteDetails(reason=why)
        _cut(response)
        if why == FILTERED and given(message):
            parts: list[ContentPart] = [RefusalPart(refusal=message)]
            id = f"msg_{response.id}_{len(response.output)}"
            refusal = Message(id=id, role="assistant", status="incomplete", content=parts)
            response.output = [*response.output, refusal]


def _cut(response: Response) -> None:
    """Mark the message that was cut short, which is the last thing that was said; a signature alone may stand behind it."""
    output = response.output
    last = len(output) - 1
    if last > 0 and isinstance(carrier := output[last], Reasoning) and not carrier.summary:
        last -= 1
    if last >= 0 and isinstance(message := output[last], Message):
        response.output = [*output[:last], replace(message, status="incomplete"), *output[last + 1 :]]


def is_blocked(response: Response) -> bool:
    """Whether the answer was held back, so that a refusal in it is what the vendor said about that."""
    return end_of(response) == ("incomplete", FILTERED)


def finish_reason(response: Response) -> str | None:
    """The finish reason that says how a response ended, where one does."""
    status, why = end_of(response)
    finish = "STOP" if status == "completed" else REASONS.get(why or "", why)
    return finish if finish and ENDS.get(finish, ("incomplete", why)) == (status, why) else None


def encode_end(response: Response, body: types.Response, lost: Losses) -> types.Maybe[str]:
    """The finish reason of a response; a failure is an error instead."""
    finish = finish_reason(response)
    if finish is not None:
        return finish
    if response.status != "failed":
        lost.changed("status", f"Gemini has no answer that is {response.status}; it is said to have ended so")
        return response.status.upper()
    error = response.error or ResponseError()
    body.error = encode_failure(error)
    if given(error.code) and decode_failure(body.error).code != error.code:
        lost.changed("error.code", f"Gemini has no such word; {body.error.status} is the nearest")
    if given(error.param) or given(error.misalignment):
        lost.dropped("error", "Gemini has a word and a message for a failure")
    return UNSET
