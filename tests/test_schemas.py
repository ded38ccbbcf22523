"""The JSON Schemas in `schemas/` are up to date, and say what the decoders take."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from llm_rest import wires
from llm_rest.losses import Losses
from tests.corpus import exchanges
from tests.support import WHOLE

SCHEMAS = Path(__file__).parents[1] / "schemas"


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text())
    return found


def faults(name: str, document: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema(name)).iter_errors(document)]


def test_the_files_are_what_the_structs_say() -> None:
    command = [sys.executable, str(SCHEMAS / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.sample(4)
@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_each_file_is_a_schema_whose_references_lead_somewhere(path: Path) -> None:
    found = schema(path.stem)
    if WHOLE or path.stat().st_size < 60_000:  # which takes a second for each of the large ones
        Draft202012Validator.check_schema(found)
    text = path.read_text()
    named = {part.partition('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert named <= set(found["$defs"])


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", ["request", "response", "event"])
@pytest.mark.parametrize("wire", wires.NAMES)
def test_every_recorded_document_fits_its_schema(wire: str, kind: str) -> None:
    decoder = getattr(wires.load(wire), kind.upper())
    validator = Draft202012Validator(schema(f"{wire}.{kind}"))
    raws: set[bytes] = set()
    for exchange in exchanges(wire):
        found = {"request": [exchange.question], "response": [exchange.answer], "event": exchange.events()}[kind]
        raws.update(raw for raw in found if raw)
    # A stream repeats itself; one event of each kind and length says all that a schema could object to.
    if kind == "event":
        raws = set({raw[:80]: raw for raw in raws}.values())
    assert raws
    for raw in sorted(raws)[:: 1 if WHOLE else 4]:
        # As it is written, so in the one spelling that the schema describes.
        document = msgspec.json.decode(msgspec.json.encode(decoder.decode(raw)))
        assert next(validator.iter_errors(document), None) is None, document


def test_unknown_kinds_and_fields_fit() -> None:
    assert faults("openai_responses.request", {"input": [{"type": "acme:item", "x": 1}], "x": 1}) == []


@pytest.mark.parametrize(
    "document",
    [
        {"input": 5},
        {"input": [{"type": "message", "role": "user"}]},
        {"temperature": "warm"},
        {"tools": [{"type": "function"}]},
    ],
)
def test_what_a_decoder_refuses_does_not_fit(document: Any) -> None:
    assert faults("openai_responses.request", document) != []


def test_losses_fit() -> None:
    lost = Losses()
    lost.dropped("stop", "the host has no such option")
    assert faults("losses", msgspec.json.decode(msgspec.json.encode(lost))) == []
    assert faults("losses", [{"path": "stop", "what": "gone", "kind": "vanished"}]) != []
