"""The simulator with the vendors' own formats of signatures, verified as each vendor verifies them.

The simulator that users get seals alike on every wire. Here each vendor signs what its documentation says that it signs, and
reads the plain JSON that comes back: what our converters get wrong in both directions does not hide. The row of a vendor may
name them as its `base_url`: `URL`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from llm_rest import simulator
from llm_rest.errors import ErrorFacts
from llm_rest.simulator import refusals

from . import anthropic_thoughts, chat_reasoning, gemini_thoughts, ollama_chat, openai_state
from .gemini_turns import camel, groups_of
from .openai_state import forgotten
from .plain import Plain, table

if TYPE_CHECKING:
    from llm_rest.responses import Response
    from llm_rest.server.handler import Context

URL = "inproc:tests.peers"


class Peers(simulator.Simulator):
    """The simulator whose signatures are those of the vendors."""

    def problems(self, document: Plain, context: Context) -> Iterator[ErrorFacts]:
        """What the vendor refuses, then what is wrong with opaque state that came back."""
        return chain(refusals.problems(document, context, marks="~"), _forged(document, context))

    def signed(self, response: Response, document: Plain, context: Context) -> Response:
        """`response` with ids and signatures as the vendor makes them."""
        match context.wire:
            case "openai_responses":
                return openai_state.finished(response, document, context)
            case "openai_chat":
                return chat_reasoning.finished(response, document, context)
            case "anthropic_messages":
                return anthropic_thoughts.finished(response, document, context)
            case "gemini_generate_content":
                asked = gemini_asked(document)
                config = table(asked.get("generationConfig"))
                return gemini_thoughts.finished(response, groups_of(asked), config, context)
            case _:
                return ollama_chat.finished(response, document, context)


def gemini_asked(document: Plain) -> Plain:
    """The request in its usual spelling. A request to count may hold it whole."""
    whole: Plain = camel(document)
    return table(whole.get("generateContentRequest")) or whole


def _invalid(message: str) -> ErrorFacts:
    return ErrorFacts(status=400, message=message, type="invalid_request_error")


def _forged(document: Plain, context: Context) -> Iterator[ErrorFacts]:
    issuer = context.dialect.issuer
    match context.wire:
        case "openai_responses":
            yield from forgotten(document, issuer)
        case "openai_chat":
            yield from map(_invalid, chat_reasoning.altered(document, context.dialect))
        case "anthropic_messages":
            yield from map(_invalid, anthropic_thoughts.forged(document, issuer))
        case "gemini_generate_content":
            groups = groups_of(gemini_asked(document))
            yield from map(_invalid, gemini_thoughts.missing(groups, context.model or ""))
            yield from map(_invalid, gemini_thoughts.altered(groups, issuer))
        case _:
            pass


handle = partial(simulator.handle, simulator=Peers())
handle_stream = partial(simulator.handle_stream, simulator=Peers())
