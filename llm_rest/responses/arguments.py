"""The arguments of a function call as data: the JSON object in the text that a model wrote."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from ..errors import DecodeError, ToolArgumentsError
from ..unknown import check_depth


def parsed(name: str, arguments: str) -> dict[str, Any]:
    """The arguments as a dict; no text at all, or null, is what some models write for none.

    Raises `ToolArgumentsError` for any other text that is no JSON object.
    """
    try:
        return json_object(arguments)
    except ValueError as problem:
        raise ToolArgumentsError(f"{name}: {problem}", hint="call.arguments has the text as it came") from None


def json_object(arguments: str) -> dict[str, Any]:
    """The same, raising a `ValueError` in words for the model."""
    try:
        check_depth(arguments.encode())
        value: Any = msgspec.json.decode(arguments) if arguments.strip() else None
    except (msgspec.MsgspecError, DecodeError, UnicodeError) as problem:
        raise ValueError(f"the arguments are no valid JSON: {_where(str(problem), arguments)}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be a JSON object, not {arguments[:80]}")
    return cast("dict[str, Any]", value)


def _where(problem: str, text: str) -> str:
    """The problem with the text around it, as far as the decoder says where that is."""
    found = re.search(r"^(.*) \(byte (\d+)\)$", problem.removeprefix("JSON is malformed: "))
    if not found:
        return f"they end too early, after {text[-30:]!r}" if "truncated" in problem else problem
    raw, at = text.encode(errors="replace"), int(found[2])
    before, after = raw[max(0, at - 20) : at].decode(errors="ignore"), raw[at : at + 20].decode(errors="ignore")
    return f"{found[1]} at byte {at}, between {before!r} and {after!r}"
