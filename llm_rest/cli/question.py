"""What `ask` and `explain` have in common: whom to ask, and what."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..client.content import image, user
from ..errors import ConfigError
from ..vendors.rows import VENDORS
from . import note
from .vendors import set_keys

if TYPE_CHECKING:
    from argparse import Namespace

    from ..responses import Message

SIMULATOR = "simulator/simulator"


def model_of(arguments: Namespace) -> str:
    """The model that was named; the simulator where none was and nobody else could be asked.

    Raises `ConfigError` where keys are set and no model is named: which vendor gets the question, its author says.
    """
    if arguments.model:
        return str(arguments.model)
    ready = [name for name, vendor in VENDORS.items() if set_keys(vendor)]
    if ready:
        raise ConfigError(
            "no model was given", hint=f"there are keys for {', '.join(ready)}: add -m {ready[0]}/<model>"
        )
    note("no -m was given and no key is set: the simulator answers; `llm-rest vendors` lists who else could")
    return SIMULATOR


def input_of(arguments: Namespace) -> str | Message:
    """The question: a text, or a message with images."""
    text: str = sys.stdin.read() if arguments.text == "-" else arguments.text
    return user(text, *(image(path) for path in arguments.image)) if arguments.image else text


def options_of(arguments: Namespace) -> dict[str, Any]:
    """The fields of the request besides its input."""
    options: dict[str, Any] = {}
    if arguments.system:
        options["instructions"] = arguments.system
    if arguments.max_output_tokens is not None:
        options["max_output_tokens"] = arguments.max_output_tokens
    if arguments.schema:
        options["text"] = {"format": _format(Path(arguments.schema))}
    return options


def _format(path: Path) -> dict[str, Any]:
    try:
        schema = msgspec.json.decode(path.read_bytes())
    except OSError as problem:
        raise ConfigError(f"{path}: {problem.strerror}", hint="--schema names a file with a JSON Schema") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} is not JSON: {problem}", hint="--schema names a file with a JSON Schema") from None
    if not isinstance(schema, dict):
        raise ConfigError(f"{path} holds no JSON Schema", hint='such as {"type": "object", "properties": {...}}')
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", path.stem)[:64] or "answer"
    return {"type": "json_schema", "name": name, "schema": schema}
