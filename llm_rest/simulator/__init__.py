"""A simulated vendor in this process: no key, no network, and the same answer every time.

A socket server or an in-process transport calls `handle` and `handle_stream`. The simulated model is `model.py`, its
script language `script.py`; the requests it rejects on each wire are in `refusals.txt`, its signatures in
`signatures.py`. Two reserved words cause errors: the model `missing` does not exist and the key `invalid` is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ..conversation.prompt_cache import PromptCache
from ..errors import ErrorFacts
from ..responses import InputTokensDetails
from ..responses.estimate import estimate_tokens
from ..server.access import key
from ..server.exchange import Answer, Streamed, exchange
from ..server.handler import Pause, Refused
from ..server.streaming import stream_events
from ..sync import drive
from ..unknown import given
from ..vendors import models
from ..vendors.dialects import REFUSALS
from . import model, refusals, signatures
from .plain import Plain
from .script import Fail

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator, Sequence

    from ..responses import Request, Response
    from ..server.handler import Context, HandlerEvent

MODELS = ("simulator",)
"""The models in the model list; any other name except `MISSING` is accepted as well."""
MISSING = "missing"
INVALID_KEY = "invalid"
CACHE = PromptCache()
"""The prompt cache of all simulated vendors."""


class Simulator:
    """The handler of the simulated vendor: a simulated model, and validation of requests as the vendor does it."""

    async def answer(self, request: Request, context: Context) -> Response:
        """The model's response, signed like the vendor's. Raises `Refused` where the wire's vendor answers with an error."""
        document = self._checked(request, context, whole=True)
        return self._cached(self.signed(model.answer(request), document, context), document, context)

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        """The model's response as a stream, with the pauses, errors and cuts of a script in the input."""
        document = self._checked(request, context)
        played = model.playback(request)
        response = self._cached(self.signed(played.response, document, context), document, context)
        for event in stream_events(response, played.pace, unfinished=played.end is not None):
            yield event
        if isinstance(played.end, Fail):
            raise Refused(played.end.facts)

    async def count(self, request: Request, context: Context) -> int:
        """The number of input tokens of `request`, as counted by the simulator."""
        self._checked(request, context)
        return estimate_tokens(request)

    def models(self) -> Sequence[str]:
        """The names in the model list."""
        return MODELS

    def has_model(self, name: str) -> bool:
        """Whether there is a model of this name: any but `missing`."""
        return name != MISSING

    def problems(self, document: Plain, context: Context) -> Iterator[ErrorFacts]:
        """The validation errors of the vendor for a request's JSON."""
        return refusals.problems(document, context, marks="~*")

    def signed(self, response: Response, document: Plain, context: Context) -> Response:
        """`response` with ids and signatures in the vendor's format."""
        return signatures.signed(response, document, context)

    def _cached(self, response: Response, document: Plain, context: Context) -> Response:
        """`response` with the tokens read from the prompt cache; Anthropic's has marked prompts only, Ollama reports none."""
        usage, mark = response.usage, b'"cache_control"' if context.wire == "anthropic_messages" else b""
        if usage and context.wire != "ollama_chat" and len(context.body) > 4096 and mark in context.body:
            found = CACHE.take(document, context.wire, context.vendor, response.model)
            usage.input_tokens_details = InputTokensDetails(cached_tokens=found)
        return response

    def _checked(self, request: Request, context: Context, *, whole: bool = False) -> Plain:
        """The request's plain JSON. Raises `Refused` for a request that the vendor rejects."""
        wire = context.wire
        if key(context.headers) == INVALID_KEY:
            raise Refused(refusals.reserved(wire, "key", INVALID_KEY))
        if request.model == MISSING:
            raise Refused(refusals.reserved(wire, "model", MISSING))
        document = refusals.canonical(msgspec.json.decode(context.body.removeprefix(b"\xef\xbb\xbf")), wire)
        facts = next(self.problems(document, context), None) or _unfit(request, document, context, whole=whole)
        if facts is not None:
            raise Refused(facts)
        return document


MAKERS = {"azure_openai": "openai"}
"""The maker of the models at a vendor that has no rows of its own in the model table."""


def _unfit(request: Request, document: dict[str, Any], context: Context, *, whole: bool) -> ErrorFacts | None:
    """The reason why the model, by the model table, rejects this request; `whole` where no stream was requested."""
    name, vendor = request.model or "", context.dialect.issuer
    invalid = partial(ErrorFacts, status=400, type="invalid_request_error")
    known = models.capabilities(name, MAKERS.get(vendor, vendor))
    limit, requested = known.whole_output, request.max_output_tokens
    if whole and limit and given(requested) and requested > limit and not document.get("continuationToken"):
        return invalid(message=REFUSALS["whole_output"].message.format(limit=limit), param="max_output_tokens")
    for problem in models.check(request, known, context.wire):
        words = REFUSALS.get(problem.fact)
        return invalid(message=words.message.format(model=name) if words else str(problem), param=problem.path)
    return None


Headers = Iterable[tuple[str, str]] | Mapping[str, str]


def handle(method: str, path: str, headers: Headers, body: bytes, simulator: Simulator | None = None) -> Answer:
    """The simulator's answer to an HTTP request: status, headers, body; a stream in one piece, without its pauses."""
    status, named, pieces = handle_stream(method, path, headers, body, simulator)
    return Answer(status, named, b"".join(piece for piece in pieces if isinstance(piece, bytes)))


def handle_stream(
    method: str, path: str, headers: Headers, body: bytes, simulator: Simulator | None = None
) -> tuple[int, dict[str, str], Iterator[bytes | float]]:
    """The simulator's answer as a stream: the body in pieces, where a number is a pause in seconds."""
    answer = drive(exchange(method, path, dict(headers), body, simulator or Simulator()))
    if not isinstance(answer, Streamed):
        return answer.status, answer.headers, iter([answer.body])
    pieces = _pieces(answer.body)
    next(pieces)  # a generator that was not started runs no cleanup when it is closed
    return answer.status, answer.headers, pieces


def _pieces(body: AsyncGenerator[bytes | Pause]) -> Generator[bytes | float]:
    async def following() -> bytes | Pause | None:
        return await anext(body, None)

    try:
        yield b""
        while (piece := drive(following())) is not None:
            yield piece.seconds if isinstance(piece, Pause) else piece
    finally:
        drive(body.aclose())
