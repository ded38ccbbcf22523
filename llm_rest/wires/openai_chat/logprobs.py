"""Log probabilities, both ways: asked for in a request, and told in an answer.

Before changing this file, know that this wire tells them beside the message and Responses inside the text they belong to.
Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from ...responses.items import AnyItem, Message
from ...responses.parts import Logprob, OutputText
from ...unknown import convert
from .left import as_list, is_object
from .ordinary import CHOICE
from .types import Json

if TYPE_CHECKING:
    from ...dialects import ChatDialect
    from ...losses import Losses
    from ...responses.request import Request
    from . import types

LOGPROBS = "message.output_text.logprobs"
ENCRYPTED = "reasoning.encrypted_content"


# --- asked for ------------------------------------------------------------------------------------------------------


def encode_asked(request: Request, body: types.Request, dialect: ChatDialect, lost: Losses) -> None:
    """Ask for log probabilities where the request does."""
    include = request.include or ()
    asked, count = LOGPROBS in include, request.top_logprobs
    if count and not asked:
        lost.emulated("top_logprobs", "log probabilities, which are also asked for")
    if dialect.counts_logprobs:
        body.logprobs = (count or 1) if asked or count else UNSET
    else:
        body.logprobs = True if asked or count else UNSET
        body.top_logprobs = count
    for j, name in enumerate(include):
        # Opaque reasoning comes in envelopes here, asked for or not.
        if name not in (LOGPROBS, ENCRYPTED):
            lost.dropped(f"include[{j}]", f"{name!r}, which this wire cannot include")


def decode_asked(body: types.Request, request: Request, left: Json, dialect: ChatDialect) -> None:
    """Read whether log probabilities are asked for; what makes no sense is a leftover."""
    asked, count = body.logprobs, body.top_logprobs
    if dialect.counts_logprobs and isinstance(asked, int) and not isinstance(asked, bool):
        request.include, request.top_logprobs = [LOGPROBS], asked
        return
    if asked is True:
        request.include = [LOGPROBS]
    elif asked is not UNSET:
        left["logprobs"] = asked
    if asked is True:
        request.top_logprobs = count
    elif count is not UNSET:
        left["top_logprobs"] = count


# --- told -----------------------------------------------------------------------------------------------------------


def last_text(output: list[AnyItem]) -> OutputText | None:
    """The last text of an answer."""
    for item in reversed(output):
        if isinstance(item, Message) and isinstance(item.content, list):
            for part in reversed(item.content):
                if isinstance(part, OutputText):
                    return part
    return None


def decode_logprobs(logprobs: Any, output: list[AnyItem], left: Json) -> None:
    """Hang log probabilities of the text on it, where they have the form that OpenAI gives them."""
    part = last_text(output)
    if part is None or not is_object(logprobs):
        return
    content = as_list(logprobs.get("content"))
    try:
        part.logprobs = [_filled(convert(entry, Logprob)) for entry in content] or UNSET
    except msgspec.ValidationError:
        return
    if encode_logprobs(part) == logprobs:
        del left[CHOICE]["logprobs"]


def _filled(entry: Logprob) -> Logprob:
    # Responses requires the bytes, which some hosts leave out.
    for each in (entry, *(entry.top_logprobs or ())):
        if each.bytes is None:
            each.bytes = []
    return entry


def encode_logprobs(part: OutputText) -> Json | None:
    """The log probabilities of a text as the choice tells them."""
    return {"content": msgspec.to_builtins(part.logprobs), "refusal": None} if part.logprobs else None
