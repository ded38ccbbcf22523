"""A vendor that runs in this process: no key, no network, and the same answer every time.

`handle` is what a socket server or an in-process transport calls. The simulated model is `model.py`, its script language
`script.py`; what it refuses and signs on each wire is in `peers/`. Two words are reserved, so that errors can be had:
the model `missing` does not exist and the key `invalid` is not accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from . import model, peers
from .exchange import Answer, exchange
from .handler import Refused
from .reading import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..responses import Request, Response
    from .handler import Context

MODELS = ("simulator",)
"""The models it lists; it answers to any other name but `MISSING` as well."""

MISSING = "missing"
INVALID_KEY = "invalid"


class Simulator:
    """The handler that answers with the simulated model, as strictly as the vendor of the wire it is spoken to on."""

    def answer(self, request: Request, context: Context) -> Response:
        """The model's answer, signed as the wire's vendor signs. Raises `Refused` where that vendor would refuse."""
        peer = peers.of(context.wire)
        if peer is None:
            return model.answer(request)
        document = self._checked(request, peer, context)
        return peer.finished(model.answer(request), document, context)

    def count(self, request: Request, context: Context) -> int:
        """How many tokens the input of `request` has."""
        peer = peers.of(context.wire)
        if peer is not None:
            self._checked(request, peer, context)
        return count(request)

    def models(self) -> Sequence[str]:
        """The names it lists."""
        return MODELS

    def has_model(self, name: str) -> bool:
        """Whether it answers to `name`."""
        return name != MISSING

    def _checked(self, request: Request, peer: peers.Peer, context: Context) -> dict[str, Any]:
        """The request's plain JSON, once nothing is wrong with it."""
        if key(context.headers) == INVALID_KEY:
            raise Refused(peer.wrong_key(INVALID_KEY))
        if request.model == MISSING:
            raise Refused(peer.unknown_model(MISSING))
        document: dict[str, Any] = msgspec.json.decode(context.body)
        facts = peer.refusal(document, context)
        if facts is not None:
            raise Refused(facts)
        return document


def key(headers: Mapping[str, str]) -> str | None:
    """The key a request carries, in whichever header vendors look for it."""
    for name in ("x-api-key", "x-goog-api-key", "api-key"):
        if name in headers:
            return headers[name]
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def handle(method: str, path: str, headers: Iterable[tuple[str, str]] | Mapping[str, str], body: bytes) -> Answer:
    """The simulator's answer to an HTTP request: status, headers, body."""
    return exchange(method, path, dict(headers), body, Simulator())
