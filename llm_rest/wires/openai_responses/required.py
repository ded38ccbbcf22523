"""Required nullable keys, by struct. Written by `schemas/required_nullable.py`."""

from __future__ import annotations

REQUIRED_NULLABLE: dict[str, tuple[str, ...]] = {
    "InputImage": ("image_url",),
    "FunctionTool": (
        "description",
        "parameters",
        "strict",
    ),
    "JsonSchemaFormat": (
        "description",
        "schema",
    ),
    "ReasoningOptions": (
        "effort",
        "summary",
    ),
    "Response": (
        "completed_at",
        "incomplete_details",
        "previous_response_id",
        "instructions",
        "error",
        "reasoning",
        "usage",
        "max_output_tokens",
        "max_tool_calls",
        "safety_identifier",
        "prompt_cache_key",
    ),
    "StreamError": (
        "code",
        "param",
    ),
}
