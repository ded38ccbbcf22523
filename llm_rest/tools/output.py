"""Encoding of a tool's return value as the output of its call."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any, cast

import msgspec

from ..errors import ToolFailedError
from ..responses.parts import ContentPart, InputText, Part


def output_of(value: Any) -> str | list[ContentPart]:
    """Text unchanged, images and files as parts, data as compact JSON. Raises `ToolFailedError` for anything else."""
    pieces = cast("list[Any]", [value] if isinstance(value, Part) else value if isinstance(value, list | tuple) else [])
    if any(isinstance(piece, Part) for piece in pieces):
        return [cast("Any", piece) if isinstance(piece, Part) else InputText(text=_text(piece)) for piece in pieces]
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise ToolFailedError("the tool returned bytes", hint="return text, or image(data), or file(data)")
    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=_plain, str_keys=True)
        return _whole(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise ToolFailedError(
            f"the tool returned a {type(value).__name__}, which cannot be sent: {problem}",
            hint="return text, JSON data, or parts such as image(...)",
        ) from None


def _whole(text: str) -> str:
    """The text without lone surrogates, which file names may have and JSON may not."""
    return text.encode(errors="replace").decode()


def _plain(value: Any) -> Any:
    """A pydantic model or a path as data."""
    if isinstance(value, PurePath):
        return str(value)
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        raise TypeError(f"a {type(value).__name__} is no JSON")
    return cast("Any", dump)(mode="json")
