"""Recorded documents with a field of tomorrow: decoded the same whether or not the decoder has met its shape before."""

from __future__ import annotations

import json
from itertools import islice
from random import Random

from llm_rest import wires
from llm_rest.shapes import Shapes
from tests.corpus.changed import of
from tests.corpus.test_recorded import every_group
from tests.support.documents import at, places, replaced
from tests.test_unknown import new, outcome

MOST = 40
"""Exchanges of one group."""


@every_group
def test_a_field_added_to_recorded_documents_is_decoded_the_same_whatever_came_before(name: str, vendor: str) -> None:
    wire, random = wires.load(name), Random(f"{name} {vendor}")
    both = [
        (new(decoder, Shapes()), new(decoder), kind)
        for decoder, kind in ((wire.REQUEST, "question"), (wire.RESPONSE, "answer"))
    ]
    for exchange in islice(of(name, vendor), MOST):
        for learning, fresh, kind in both:
            raw: bytes = getattr(exchange, kind) or b"null"
            document = json.loads(raw)
            if not isinstance(document, dict):
                continue
            place = random.choice([place for place in places(document) if isinstance(at(document, place), dict)])
            changed = replaced(
                document, place, {**at(document, place), random.choice(["new", "later"]): random.random()}
            )
            for data in (json.dumps(changed).encode(), raw, json.dumps(changed).encode()):
                assert outcome(learning, data) == outcome(fresh, data), (exchange.id, place)
