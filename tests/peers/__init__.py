"""The simulator with the vendors' own formats of signatures, verified as each vendor verifies them.

The simulator that users get seals alike on every wire. Here OpenAI, Anthropic and Google sign what their documentation says that
they sign, and read the plain JSON that comes back: what our converters get wrong in both directions does not hide. The row of a
vendor may name them as its `base_url`: `URL`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from llm_rest import simulator
from llm_rest.errors import ErrorFacts
from llm_rest.simulator import refusals

from . import anthropic_thoughts, gemini_thoughts, openai_state

if TYPE_CHECKING:
    from llm_rest.responses import Response
    from llm_rest.server.handler import Context
    from llm_rest.simulator.plain import Plain

URL = "inproc:tests.peers"
SIGNERS = {
    "openai_responses": openai_state,
    "anthropic_messages": anthropic_thoughts,
    "gemini_generate_content": gemini_thoughts,
}


class Peers(simulator.Simulator):
    """The simulator whose signatures are those of the vendors; hosts of Chat and Ollama are the simulator's own."""

    def problems(self, document: Plain, context: Context) -> Iterator[ErrorFacts]:
        """What the vendor refuses, then what is wrong with opaque state that came back."""
        if context.wire not in SIGNERS:
            return super().problems(document, context)
        wrong = SIGNERS[context.wire].forged(document, context.dialect.issuer)
        return chain(
            refusals.problems(document, context, marks="~"),
            (ErrorFacts(status=400, message=one, type="invalid_request_error") for one in wrong),
        )

    def signed(self, response: Response, document: Plain, context: Context) -> Response:
        """`response` with ids and signatures as the vendor makes them."""
        signer = SIGNERS.get(context.wire)
        return signer.signed(response, document, context) if signer else super().signed(response, document, context)


handle = partial(simulator.handle, simulator=Peers())
handle_stream = partial(simulator.handle_stream, simulator=Peers())
