"""What a tool returned, as the output of its call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from ..errors import ToolFailed
from ..responses.parts import ContentPart, InputText, Part


def output_of(value: Any) -> str | list[ContentPart]:
    """Text as it is, parts (images, files) as parts, data as compact JSON. Raises `ToolFailed` for anything else."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Part):
        return [cast("ContentPart", value)]
    if isinstance(value, list | tuple):
        pieces = cast("Sequence[Any]", value)
        if any(isinstance(piece, Part) for piece in pieces):
            return [
                cast("ContentPart", piece) if isinstance(piece, Part) else InputText(text=_text(piece))
                for piece in pieces
            ]
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, bytes | bytearray | memoryview):
        raise ToolFailed("the tool returned bytes", hint="return text, or image(data) or file(data)")
    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise ToolFailed(
            f"the tool returned a {type(value).__name__}, which is no JSON: {problem}",
            hint="return text, JSON-able data, or parts such as image(...)",
        ) from None


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise NotImplementedError(f"no JSON is known for {type(value).__name__}")
    return dump(mode="json")
