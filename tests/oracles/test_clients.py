"""Requests we write fit the request types of the vendors' own clients, and their clients read the answers we write."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest import wires
from llm_rest.responses import REQUEST, Message, Request
from llm_rest.unknown import Unknown, base
from tests.corpus import exchanges
from tests.corpus.canonical import objects
from tests.laws.harness import every_wire
from tests.laws.rows import ROWS, thoughts
from tests.laws.strategies import requests, responses
from tests.oracles.peers import PEERS, Peer
from tests.support import WIRES
from tests.support.documents import differences
from tests.support.facts import plain

DOCS = Path(__file__).parents[2] / "docs" / "wires"

OLDER_ANTHROPIC = {"temperature", "top_p", "top_k"}
"""Options of version 2023-06-01 of the Messages API, which the client of the newer version no longer lists."""

ABSENT = ".outputs: missing"
"""The outputs of a code interpreter call, which the client wants as null: on the Responses wire null and absent are the same."""

INVENTED = {"effort": {"extreme", "default"}, "tool_choice": {"sometimes"}, "service_tier": {"default", "on_demand"}}
"""Words of some other vendor, or of one to come, by their fields."""
SLUGS = ("vendor:", "openrouter:")
"""How kinds begin that one vendor alone has."""


def known(request: Request) -> Request:
    """The request without kinds, fields and words that no client knows: they are passed on, which is not the question here."""
    return REQUEST.decode(json.dumps(_known(plain(request))).encode())


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            n: _known(v)
            for n, v in value.items()
            if not (n.startswith("x_") or _is_of_one_vendor(v) or (isinstance(v, str) and v in INVENTED.get(n, ())))
        }
    if isinstance(value, list):
        return [_known(v) for v in value if not _is_of_one_vendor(v)]
    return value


def _is_of_one_vendor(value: Any) -> bool:
    return isinstance(value, dict) and str(value.get("type")).startswith(SLUGS)


def complaints(name: str, peer: Peer, request: Request) -> list[str]:
    """What the client's types say against the request we write; nothing where we refuse to send it."""
    wire = wires.load(name)
    body, lost = wire.encode_request(request, dialect=peer.dialect)
    if any(loss.kind == "refused" for loss in lost):
        return []
    document = plain(body)
    found = peer.complaints(document)
    older = wire.route(request, dialect=peer.dialect).headers.get("anthropic-version") == "2023-06-01"
    forgiven = {f"$.{option}" for option in OLDER_ANTHROPIC} if older else set()
    found = [p for p in found if p.partition(":")[0] not in forgiven and not p.endswith(ABSENT)]
    return found + [f"$.{header}: travels in a header" for header in peer.not_in_body & document.keys()]


@every_wire
@pytest.mark.parametrize("rich", [False, True])
@given(data=st.data())
def test_a_request_fits_the_types_of_the_vendors_client(name: str, rich: bool, data: st.DataObject) -> None:
    peer = PEERS[name]()
    request = data.draw(requests(ROWS[name].models, thoughts(name, peer.dialect.issuer), rich=rich))
    request.background_options = None  # the pinned client, 3.51.0, does not know it; 3.54.0 does
    assert complaints(name, peer, known(request) if rich else request) == []


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("source", "target"), [(a, b) for a in WIRES for b in WIRES if not a == b == "openai_responses"]
)
def test_a_recorded_request_fits_the_types_of_the_vendors_client(source: str, target: str) -> None:
    """As if it had been written for Responses: without what only its own wire said."""
    peer = PEERS[target]()
    found: list[str] = []
    for exchange in exchanges(source):
        if exchange.question is None:
            continue
        wire = wires.load(source)
        request, _ = wire.decode_request(
            wire.REQUEST.decode(exchange.question), dialect=exchange.dialect, model=exchange.model
        )
        document = plain(request)
        for each in objects(document):
            each.pop("leftovers", None)
        request = REQUEST.decode(json.dumps(document))
        request.model = request.model if source == target else ROWS[target].models[0]
        found += [f"{exchange.id}: {problem}" for problem in complaints(target, peer, known(request))]
    assert found == []


@every_wire
@given(data=st.data())
def test_the_vendors_client_reads_the_answers_we_write(name: str, data: st.DataObject) -> None:
    peer = PEERS[name]()
    wire = wires.load(name)
    request = data.draw(requests(ROWS[name].models))
    response = data.draw(responses(ROWS[name].models, thoughts(name, peer.dialect.issuer)))
    body, _ = wire.encode_response(response, request=request, dialect=peer.dialect)
    document = plain(body)
    read = peer.answer.model_validate(document).model_dump(mode="json", exclude_unset=True, by_alias=True)
    assert document == read or list(differences(document, read)) == []


@every_wire
def test_the_documentation_names_the_version_of_the_client_we_compared_with(name: str) -> None:
    peer = PEERS[name]()
    text = (DOCS / f"{name}.md").read_text()
    found = re.findall(rf"`?{peer.distribution}`? (\d+\.\d+)", text)
    assert found, f"docs/wires/{name}.md names no version of {peer.distribution}; installed is {peer.version}"
    assert set(found) == {peer.version}


def test_inventions_are_taken_out_and_nothing_else() -> None:
    message = Message(role="user", content="a")
    request = Request(input=[Unknown({"type": "vendor:item"}), message], tools=[Unknown({"type": "vendor:tool"})])
    assert known(request) == Request(input=[base(message)], tools=[])
