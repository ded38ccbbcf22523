"""`ask`: one prompt to a model; the answer on stdout, everything about it on stderr."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec

from ..client.client import Client
from ..responses.items import Message
from ..unknown import given
from . import FAILED, complain, note, say
from .question import input_of, model_of, options_of
from .settings import settings, store_file
from .tables import markdown, waiting

if TYPE_CHECKING:
    from argparse import Namespace

    from ..client.hooks import ClientEvent
    from ..client.reply import Reply


def run(arguments: Namespace) -> int:
    """Make the call and print the answer, whole or streamed."""
    model, prompt, options = model_of(arguments), input_of(arguments), options_of(arguments)
    log = settings().log if arguments.log is None else arguments.log
    streams = sys.stdout.isatty() and not arguments.schema if arguments.stream is None else arguments.stream
    if arguments.schema and not streams:
        # So the answer is validated, and the schema reaches models that take none in another way.
        options["output"] = options.pop("text")["format"]["schema"]
    with Client(model, wire=arguments.wire, base_url=arguments.base_url, on_loss="ignore", on_event=note_retry) as llm:
        if streams:
            reply = _streamed(llm, model, prompt, options)
        else:
            with waiting(model):
                reply = llm.generate(prompt, **options)
    if log:
        _store(arguments, prompt, reply)
    for loss in reply.losses:
        note(str(loss))
    if reply.refusal is not None:
        complain(f"the model refused: {reply.refusal}")
        return FAILED
    text = reply.output_text
    if text and not streams:
        if arguments.schema:
            try:
                text = msgspec.json.format(text)
            except msgspec.DecodeError:
                note("the answer is not JSON")
        if arguments.schema or not markdown(text):
            sys.stdout.write(text + "\n")
    return _ended(reply, text)


def note_retry(event: ClientEvent) -> None:
    """An event hook: a note for every wait before a retry."""
    if event.type == "request:retry":
        note(f"attempt {event.attempt} failed ({event.reason}); retrying in {event.wait:.1f} s")


def _streamed(llm: Client, model: str, prompt: str | Message, options: dict[str, Any]) -> Reply:
    """Print the text of the answer while it comes, its last line ended whatever ends it."""
    with waiting(model) as arrived, llm.stream(prompt, **options) as events:
        printed = False
        try:
            for piece in events.text:
                arrived()
                say(piece)
                printed = True
        finally:
            if printed:
                say("\n")
        return events.response


def _store(arguments: Namespace, prompt: str | Message, reply: Reply) -> None:
    from ..conversation.conversation import Conversation
    from ..conversation.store import SQLiteConversationStore

    conversation = Conversation()
    conversation.set_system_prompt(arguments.system)
    conversation.add(prompt, *reply.output)
    with closing(SQLiteConversationStore(store_file(arguments.store))) as store:
        store.create(conversation)


def _ended(reply: Reply, text: str) -> int:
    """Report how the answer ended where it did not end well; the exit code."""
    if reply.status != "completed":
        details = reply.incomplete_details
        reason = details.reason if given(details) and given(details.reason) else reply.status
        note(f"the answer is incomplete: {reason}")
    if text:
        return 0
    complain("the answer holds no text")
    return FAILED
