"""The keys of served documents that must be there and may be null, read from the Open Responses specification.

    python schemas/required_nullable.py path/to/openapi.json            writes llm_rest/wires/openai_responses/types.py
    python schemas/required_nullable.py path/to/openapi.json --check    writes nothing; fails where the file differs

Not part of the package. Structs leave out a field that is `None`; the encoder of served answers writes these.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from llm_rest import responses  # noqa: E402 - the package beside this directory, installed or not

TARGET = HERE.parent / "llm_rest/wires/openai_responses/types.py"

STRUCTS = {
    "InputImageContent": "InputImage",
    "FunctionTool": "FunctionTool",
    "JsonSchemaResponseFormat": "JsonSchemaFormat",
    "Reasoning": "ReasoningOptions",
    "ResponseResource": "Response",
    "ErrorPayload": "StreamError",
    "ResponseOutputItemAddedStreamingEvent": "OutputItemAdded",
    "ResponseOutputItemDoneStreamingEvent": "OutputItemDone",
    "ResponseOutputTextAnnotationAddedStreamingEvent": "OutputTextAnnotationAdded",
}
"""The struct of each schema that has such keys."""


def is_nullable(schema: dict[str, Any]) -> bool:
    """Whether a property may be null."""
    kinds = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return any(kind.get("type") == "null" or "null" in (kind.get("type") or ()) for kind in kinds)


def table(specification: dict[str, Any]) -> dict[str, list[str]]:
    """The keys by the name of the struct; without those that a struct always writes."""
    found: dict[str, list[str]] = {}
    for name, schema in specification["components"]["schemas"].items():
        properties = schema.get("properties", {})
        keys = [key for key in schema.get("required", ()) if is_nullable(properties.get(key, {}))]
        if not keys:
            continue
        if name not in STRUCTS:
            raise SystemExit(f"{name} has required nullable keys ({', '.join(keys)}); add its struct to STRUCTS")
        struct = getattr(responses, STRUCTS[name])
        optional = {field.encode_name for field in msgspec.structs.fields(struct) if not field.required}
        if kept := [key for key in keys if key in optional]:
            found[STRUCTS[name]] = kept
    return found


def row(name: str, keys: list[str]) -> str:
    """The keys of one struct, as the formatter writes them."""
    quoted = [f'"{key}"' for key in keys]
    line = f'    "{name}": ({", ".join(quoted)}{"," if len(keys) == 1 else ""}),\n'
    lines = f'    "{name}": (\n' + "".join(f"        {key},\n" for key in quoted) + "    ),\n"
    return line if len(line) <= 120 else lines


def written(module: str, found: dict[str, list[str]]) -> str:
    """The text of the module with the table in it."""
    rows = "".join(row(name, keys) for name, keys in found.items())
    before, head, after = module.partition("REQUIRED_NULLABLE: dict[str, tuple[str, ...]] = {\n")
    return f"{before}{head}{rows}}}\n{after.partition(chr(10) + '}' + chr(10))[2]}"


def main() -> None:
    """Write or check the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specification", type=Path)
    parser.add_argument("--check", action="store_true")
    told = parser.parse_args()
    module = TARGET.read_text()
    made = written(module, table(json.loads(told.specification.read_text())))
    if not told.check:
        TARGET.write_text(made)
    elif made != module:
        raise SystemExit(f"{TARGET} differs from the specification; run this without --check")


if __name__ == "__main__":
    main()
