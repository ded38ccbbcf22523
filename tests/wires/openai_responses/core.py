"""The published schema of Open Responses, where it is beside the project."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SPEC = Path(
    os.environ.get("LLM_REST_OPEN_RESPONSES") or Path(__file__).parents[4] / "shared/open-responses/openapi.json"
)


@cache
def core_schema(name: str) -> dict[str, Any]:
    """One schema of the document, with everything it refers to."""
    if not SPEC.exists():
        pytest.skip(f"the Open Responses document is not here: {SPEC} (set LLM_REST_OPEN_RESPONSES to its path)")
    text = SPEC.read_text().replace("#/components/schemas/", "#/$defs/")
    schemas = json.loads(text)["components"]["schemas"]
    # Servers repeat the schema they were asked for, where this document has null only.
    schemas["JsonSchemaResponseFormat"]["properties"]["schema"] = {}
    return {"$defs": schemas, "$ref": f"#/$defs/{name}"}
