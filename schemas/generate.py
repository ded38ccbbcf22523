"""JSON Schema (2020-12) of every wire's documents, written from the structs that decode them.

    python schemas/generate.py            writes the files beside this one
    python schemas/generate.py --check    writes nothing; fails and names the files that differ

Not part of the package. Two things differ from what msgspec writes: unknown fields are allowed, because decoders keep them,
and a union of kinds takes an object of any other kind, because decoders keep those as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from llm_rest import wires  # noqa: E402 - the package beside this directory, installed or not
from llm_rest.losses import Loss  # noqa: E402
from llm_rest.unknown import MOST_IN_ANSWER  # noqa: E402

KINDS = {"request": "REQUEST", "response": "RESPONSE", "event": "EVENT"}


def families() -> dict[str, Any]:
    """The types that have a schema, by the name of its file."""
    found: dict[str, Any] = {"losses": list[Loss]}
    for name in wires.NAMES:
        wire = wires.load(name)
        for kind, decoder in KINDS.items():
            found[f"{name}.{kind}"] = getattr(wire, decoder)._type
    return found


def schema_of(name: str, form: Any) -> str:
    """The schema of a type as the text of its file."""
    (schema,), components = msgspec.json.schema_components([form], ref_template="#/$defs/{name}")
    opened = {title: opened_up(components[title]) for title in sorted(components)}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        **opened_up(schema),
        "$defs": opened,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


OURS = (("additionalProperties", False), ("maxItems", MOST_IN_ANSWER))
"""What the structs say that vendors do not: how unknown fields are told apart, and a bound on what is converted."""


def opened_up(node: Any) -> Any:
    """A piece of schema that takes what the decoders keep."""
    if isinstance(node, list):
        return [opened_up(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    kinds = node.get("discriminator")
    opened = {
        key: opened_up(value) for key, value in node.items() if key != "discriminator" and (key, value) not in OURS
    }
    if isinstance(said := opened.get("description"), str):
        opened["description"] = cleandoc(said)  # which Python 3.13 does by itself
    if {"type": "integer"} in opened.get("anyOf", ()):  # their order differs between versions of Python
        opened["anyOf"].sort(key=lambda one: one != {"type": "number"})
    # A field may itself be named `discriminator`; the keyword always has a mapping.
    if isinstance(kinds, dict) and "mapping" in kinds:
        other = {"not": {"enum": sorted(kinds["mapping"])}}
        opened["anyOf"].append({"type": "object", "properties": {kinds["propertyName"]: other}})
    return opened


def differing(texts: dict[Path, str]) -> list[str]:
    """The files that are not what they should be, or should not be there."""
    stale = [path.name for path, text in texts.items() if not path.exists() or path.read_text() != text]
    return sorted([*stale, *(path.name for path in HERE.glob("*.json") if path not in texts)])


def main() -> int:
    """Write the files or check them, as the command line says."""
    parser = argparse.ArgumentParser(description="JSON Schema of every wire's documents.")
    parser.add_argument("--check", action="store_true", help="fail where a file is not up to date")
    check = parser.parse_args().check
    texts = {HERE / f"{name}.json": schema_of(name, form) for name, form in families().items()}
    if check:
        stale = differing(texts)
        if stale:
            sys.stderr.write(f"out of date: {', '.join(stale)}; run python schemas/generate.py\n")
        return 1 if stale else 0
    for path in HERE.glob("*.json"):
        path.unlink()
    for path, text in texts.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
