"""`ask`: one question to a model; the answer on stdout, what happened to it on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from ..client.client import Client
from ..unknown import given
from . import FAILED, complain, note, say
from .question import input_of, model_of, options_of

if TYPE_CHECKING:
    from argparse import Namespace

    from ..client.reply import Reply
    from ..responses import Message


def run(arguments: Namespace) -> int:
    """Ask and print, at once or as it comes."""
    model, asked, options = model_of(arguments), input_of(arguments), options_of(arguments)
    if arguments.schema and not arguments.stream:
        # So the answer is checked, and asked for in another way where the model takes no schema.
        options["output"] = options.pop("text")["format"]["schema"]
    with Client(model, wire=arguments.wire, base_url=arguments.base_url, on_loss="ignore") as llm:
        reply = _streamed(llm, asked, options) if arguments.stream else llm.generate(asked, **options)
    for loss in reply.losses:
        note(str(loss))
    if reply.refusal is not None:
        complain(f"the model refused: {reply.refusal}")
        return FAILED
    text = reply.output_text
    if not arguments.stream:
        text = _pretty(text) if arguments.schema else text
        sys.stdout.write(text + "\n" if text else "")
    return _ended(reply, text)


def _streamed(llm: Client, asked: str | Message, options: dict[str, Any]) -> Reply:
    """Print the answer's text as it comes, its last line ended whatever ends it."""
    with llm.stream(asked, **options) as events:
        printed = False
        try:
            for piece in events.text:
                say(piece)
                printed = True
        finally:
            if printed:
                say("\n")
        return events.response


def _pretty(text: str) -> str:
    """JSON indented; other text as it is."""
    try:
        return msgspec.json.format(text)
    except msgspec.DecodeError:
        note("the answer is not JSON")
        return text


def _ended(reply: Reply, text: str) -> int:
    """Say how the answer ended where it did not end well; the exit code."""
    if reply.status != "completed":
        details = reply.incomplete_details
        reason = details.reason if given(details) and given(details.reason) else reply.status
        note(f"the answer is incomplete: {reason}")
    if text:
        return 0
    complain("the answer holds no text")
    return FAILED
