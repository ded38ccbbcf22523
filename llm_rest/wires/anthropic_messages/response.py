"""An answer of this wire as a Response, and back.

Blocks and items are in `assistant`, what it cost in `usage`; here is what stands around them: how the answer ended, and what
describes this one answer only and stays in leftovers. Before changing this file, know that streams end here too: everything
behind the blocks is settled from the message around them and what their reader noted. Follows the Messages reference and the
guide to stop reasons of Anthropic (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from ... import responses as ours
from ...dialects import MessagesDialect, messages_model
from ...losses import Loss, Losses
from ...responses.echo import echo
from ...responses.leftovers import SPELLING
from ...unknown import Opt, Unknown, extras, given
from . import types
from .assistant import BlockReader, BlockWriter
from .carried import DEFAULT, WIRE, merged, own_fields, report_extras
from .content import Context
from .errors import decode_failure, encode_failure
from .names import renamed
from .server_tools import conclude
from .usage import decode_tier, decode_usage, encode_usage

STOPS: dict[str, tuple[ours.ResponseStatus, str | None]] = {
    "end_turn": ("completed", None),
    "stop_sequence": ("completed", None),
    "tool_use": ("completed", None),
    "compaction": ("completed", None),
    "max_tokens": ("incomplete", "max_output_tokens"),
    "model_context_window_exceeded": ("incomplete", "max_output_tokens"),
    "pause_turn": ("incomplete", "pause_turn"),
    "refusal": ("incomplete", "content_filter"),
}
"""How an answer ended, theirs on the left. An unknown reason is incomplete, for that reason."""
REASONS = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    "max_messages": "max_tokens",
    "steered": "end_turn",
}
"""Reasons of an incomplete answer, ours on the left, the likelier of several; any other is a stop reason of this wire."""
INEXACT = ("max_messages", "steered")

TRANSFORMATIONS = {
    "model_binding_mismatch": "model_mismatch",
    "prefix_binding_mismatch": "prefix_mismatch",
    "organization_binding_mismatch": "organization_mismatch",
    "end_user_binding_mismatch": "end_user_mismatch",
}
"""Why thinking that was sent along did not count, theirs on the left."""

UNTOLD = ("moderation", "tool_usage", "content_filters", "prompt_cache_diagnostics", "billing")
"""Fields of a Response that this wire has no word for."""


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_response(
    body: types.Message | types.Error,
    *,
    request: ours.Request | None = None,
    dialect: MessagesDialect = DEFAULT,
    now: float = 0,
) -> tuple[ours.Response, list[Loss]]:
    """The Response that an answer is. `request` undoes what sending it renamed, and is echoed; `now` is when it was made."""
    if isinstance(body, types.Error):
        return decode_failure(body, request, now), []
    reader = BlockReader(dialect.issuer, body.id, renamed(request.tools) if request and request.tools else None)
    for i, block in enumerate(body.content):
        reader.add(i, block)
    reader.close()
    response = begin(body, request, now)
    end(response, body, reader, len(body.content))
    return response, []


def begin(body: types.Message, request: ours.Request | None, now: float) -> ours.Response:
    """An answer before anything was said."""
    return ours.Response(
        id=body.id,
        created_at=now,
        status="in_progress",
        model=body.model,
        output=[],
        service_tier=decode_tier(body.usage),
        **(echo(request) if request else {}),
    )


def end(response: ours.Response, ending: types.Message, reader: BlockReader, blocks: int) -> None:
    """Add what `reader` read from so many blocks, how the answer ended, what it cost, and what describes only it."""
    response.status = "completed"
    response.output = reader.items
    response.usage = decode_usage(ending.usage)
    stop = ending.stop_reason
    if reader.hosted:
        container = ending.container.get("id") if ending.container else None
        going_on = stop in ("pause_turn", "tool_use")
        conclude(reader.hosted, going_on, container if isinstance(container, str) else UNSET)
    if stop != "end_turn" and stop != "tool_use":
        _end_early(response, ending, reader, blocks)
    spelled: dict[str, Any] = {}
    if stop != _stop_reason(response):
        spelled["stop_reason"] = "absent" if stop is UNSET else stop
    if ending.stop_sequence is UNSET:
        spelled["stop_sequence"] = "absent"
    fields: dict[str, Any] = {SPELLING: spelled} if spelled else {}
    if ending.stop_sequence:
        fields["stop_sequence"] = ending.stop_sequence
    if ending.stop_details is not UNSET:
        fields["stop_details"] = ending.stop_details
    if ending.container is not UNSET:
        fields["container"] = ending.container
    if ending.context_management is not UNSET:
        fields["context_management"] = ending.context_management
    if ending.diagnostics is not UNSET:
        fields["diagnostics"] = ending.diagnostics
    if ending.input_transformations is not UNSET:
        fields["input_transformations"] = ending.input_transformations
        response.input_transformations = [_transformation(said) for said in ending.input_transformations or ()]
    if type(ending) is not types.Message:
        fields |= extras(ending)
    if ending.role != "assistant":
        fields["role"] = ending.role
    if fields:
        response.leftovers = {WIRE: fields}


def _end_early(response: ours.Response, ending: types.Message, reader: BlockReader, blocks: int) -> None:
    stop, output = ending.stop_reason, response.output
    if not given(stop):
        response.status = "in_progress"
        return
    response.status, reason = STOPS.get(stop, ("incomplete", stop))
    if reason is None:
        return
    response.incomplete_details = ours.IncompleteDetails(reason=reason)
    if stop == "refusal":
        # A stream has told some of them already, and what was told stays as it was.
        output[:] = [item if isinstance(item, Unknown) else replace(item, status="incomplete") for item in output]
        details = ending.stop_details or {}
        explanation = details.get("explanation")
        if isinstance(explanation, str) and explanation:
            said = [ours.RefusalPart(refusal=explanation)]
            id = f"msg_{ending.id}_{blocks}"
            output.append(ours.Message(id=id, role="assistant", status="incomplete", content=[*said]))
    elif reason == "max_output_tokens":
        _cut(output, reader)


def _cut(output: list[ours.AnyItem], reader: BlockReader) -> None:
    """The last thing the model did was cut short; a carrier behind it is not that thing."""
    for item in reversed(output):
        if not any(item is carrier for carrier in reader.carriers):
            if not isinstance(item, Unknown):
                item.status = "incomplete"
            return


def _transformation(said: dict[str, Any]) -> dict[str, Any]:
    reason = said.get("reason", "")
    action = "removed" if said.get("type") == "thinking_dropped" else "kept"
    return {
        "type": "reasoning",
        "action": action,
        "reason": TRANSFORMATIONS.get(reason, reason),
        "path": said.get("path", ""),
    }


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_response(
    response: ours.Response, *, request: ours.Request | None = None, dialect: MessagesDialect = DEFAULT
) -> tuple[types.Message | types.Error, list[Loss]]:
    """The answer of this wire for a Response; a failed one is an error body. `request` names the model where it does not."""
    lost = Losses()
    if response.status == "failed":
        own_fields(response.leftovers, "", lost)
        for name in ("output", "usage", "service_tier"):
            if getattr(response, name):
                lost.dropped(name, "a failed answer is an error on this wire and nothing else")
        return encode_failure(response), lost
    model = model_of(response, request)
    writer = BlockWriter(Context(lost, dialect, messages_model(model), replay=False))
    content = [block for i, item in enumerate(response.output) for block in writer.write(item, f"output[{i}]")]
    content += writer.close()
    return encode_end(response, model, content, writer.refusals, lost), lost


def model_of(response: ours.Response, request: ours.Request | None) -> str:
    """The model that answered, which an answer of this wire has to name."""
    named = response.model if given(response.model) else request.model if request else ""
    return named if given(named) else ""


def encode_end(
    response: ours.Response, model: str, content: list[types.AnyBlock], refusals: list[tuple[str, str]], lost: Losses
) -> types.Message:
    """The answer around its content: how it ended, with the `refusals` among its items, and what it cost."""
    kept = own_fields(response.leftovers, "", lost)
    if type(response) is not ours.Response:
        report_extras(response, "", lost)
    for name in UNTOLD:
        if getattr(response, name):
            lost.dropped(name, "this wire has no such field of an answer")
    body = types.Message(
        id=response.id,
        model=model,
        content=content,
        stop_reason=_encode_stop(response, kept, lost),
        stop_sequence=None,
        usage=encode_usage(response, lost),
    )
    if refusals:
        if body.stop_reason != "refusal":
            body.stop_reason = "refusal"
            ended = "status" if response.status == "completed" else "incomplete_details.reason"
            lost.changed(ended, "an answer that refuses ends with that on this wire")
        said = "\n".join(text for _, text in refusals)
        for path, _ in refusals if len(refusals) > 1 else ():
            lost.changed(path, "an answer refuses once on this wire; its refusals become one")
        details: dict[str, Any] = kept.get("stop_details") or {}
        if details.get("explanation") != said:
            kept = {**kept, "stop_details": {"type": "refusal", "category": None, "explanation": said}}
    fields = {name: value for name, value in kept.items() if name != SPELLING}
    if "stop_sequence" in kept.get(SPELLING, {}):
        body.stop_sequence = UNSET
    return merged(body, fields, "leftovers", lost) if fields else body


def _encode_stop(response: ours.Response, kept: dict[str, Any], lost: Losses) -> Opt[str]:
    """The stop reason: as it was spelled, where that still means what the response says."""
    spelled: dict[str, Any] = kept.get(SPELLING, {})
    if "stop_reason" in spelled:
        said: str | None = spelled["stop_reason"]
        if said == "absent" and response.status == "in_progress":
            return UNSET
        status, reason = STOPS.get(said, ("incomplete", said)) if given(said) else ("in_progress", None)
        details = response.incomplete_details
        if status == response.status and reason == (details.reason if details else None):
            return said
    details = response.incomplete_details
    if details and details.reason in INEXACT:
        lost.changed("incomplete_details.reason", f"this wire has no reason {details.reason!r}; the nearest is given")
    elif response.status == "incomplete" and not (details and details.reason):
        lost.changed("status", "an incomplete answer has a reason on this wire; it is said to be too long")
    elif response.status not in ("completed", "incomplete", "in_progress"):
        lost.changed("status", f"this wire has no answer that is {response.status}")
    return _stop_reason(response)


def _stop_reason(response: ours.Response) -> str | None:
    """The stop reason that a response has if nothing else is known."""
    if response.status == "completed":
        for item in response.output:
            if isinstance(item, ours.FunctionCall | ours.CustomToolCall):
                return "tool_use"
        return "end_turn"
    if response.status != "incomplete":
        return None
    details = response.incomplete_details
    reason = details.reason if details else UNSET
    return REASONS.get(reason, reason) if given(reason) else "max_tokens"
