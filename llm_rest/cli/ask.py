"""`ask`: one prompt to a model; the answer on stdout, everything about it on stderr."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from ..client.client import Client
from ..unknown import given
from . import FAILED, complain, note, write
from .question import input_of, model_of, options_of
from .settings import settings
from .tables import markdown, waiting

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from ..client.hooks import ClientEvent
    from ..client.reply import Reply


def run(arguments: Namespace) -> int:
    """Make the call and print the answer, whole or streamed."""
    model, prompt, options = model_of(arguments), input_of(arguments), options_of(arguments)
    stored = arguments.continues or (settings().log if arguments.log is None else arguments.log)
    streams = sys.stdout.isatty() and not arguments.schema if arguments.stream is None else arguments.stream
    if arguments.schema and not streams:
        # So the answer is validated, and the schema is sent to models without native structured output.
        options["output"] = options.pop("text")["format"]["schema"]
    with ExitStack() as stack:
        llm = stack.enter_context(client_of(arguments, model))
        generate: Callable[..., Reply] = llm.generate
        stream: Any = llm.stream
        if stored:
            from .chat import open_chat  # a slow import that a plain `ask` does not need

            options.pop("instructions", None)  # the conversation has them
            chat = stack.enter_context(open_chat(llm, arguments))
            generate, stream = chat.ask, chat.stream
        if streams:
            answer = print_text(model, stream(prompt, **options))
            reply: Reply = answer.reply if stored else answer.response
        else:
            with waiting(model):
                reply = generate(prompt, **options)
    for loss in reply.losses:
        note(str(loss))
    text = reply.output_text
    if not report(reply):
        return FAILED
    if not text:
        complain("the answer holds no text")
        return FAILED
    if arguments.schema and not streams:
        try:
            text = msgspec.json.format(text)
        except msgspec.DecodeError:
            note("the answer is not JSON")
    if not streams and (arguments.schema or not markdown(text)):
        sys.stdout.write(text + "\n")
    return 0


def client_of(arguments: Namespace, model: str) -> Client:
    """The client that the command line describes, which notes its retries on the standard error."""
    return Client(model, wire=arguments.wire, base_url=arguments.base_url, on_loss="ignore", on_event=_note_retry)


def _note_retry(event: ClientEvent) -> None:
    if event.type == "request:retry":
        note(f"attempt {event.attempt} failed ({event.reason}); retrying in {event.wait:.1f} s")


def print_text(model: str, stream: Any) -> Any:
    """Print the text of a stream of a client or a chat during streaming, with a line break at its end; returns the stream."""
    with waiting(model) as arrived, stream as events:
        printed = False
        try:
            for piece in events.text:
                arrived()
                write(piece)
                printed = True
        finally:
            if printed:
                write("\n")
    return events


def report(reply: Reply) -> bool:
    """Print on stderr how an incomplete answer ended; whether there is an answer without a refusal."""
    if reply.refusal is not None:
        complain(f"the model refused: {reply.refusal}")
        return False
    if reply.status != "completed":
        details = reply.incomplete_details
        reason = details.reason if given(details) and given(details.reason) else reply.status
        note(f"the answer is incomplete: {reason}")
    return True
