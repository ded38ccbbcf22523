"""What a moderation model found, both ways: this wire has one more level around the results.

Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any

from .left import as_list, is_object


def decode_moderation(moderation: Any) -> Any:
    """Moderation without the level that this wire puts around the results."""
    if not is_object(moderation):
        return moderation
    return {side: _decode_results(value) for side, value in moderation.items()}


def _decode_results(value: Any) -> Any:
    if is_object(value) and value.keys() == {"type", "model", "results"} and value["type"] == "moderation_results":
        results = as_list(value["results"])
        if results and all(is_object(result) and result.get("model") == value["model"] for result in results):
            return results[0] if len(results) == 1 else results
    return value


def encode_moderation(moderation: Any) -> Any:
    """Moderation with the level that this wire puts around the results."""
    if not is_object(moderation):
        return moderation
    return {side: _encode_results(value) for side, value in moderation.items()}


def _encode_results(value: Any) -> Any:
    results: list[Any] = as_list(value) or [value]
    if all(is_object(result) and result.get("type") == "moderation_result" for result in results):
        return {"type": "moderation_results", "model": results[0].get("model"), "results": results}
    return value
