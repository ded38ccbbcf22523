"""The shared part of `ask`, `chat` and `explain`: the model, the prompt, the options and the schema."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..client.content import attachment, user
from ..errors import ConfigError
from ..vendors.rows import VENDORS
from . import note
from .settings import settings, settings_file
from .vendors import set_keys

if TYPE_CHECKING:
    from argparse import Namespace

    from ..responses import Message

SIMULATOR = "simulator/simulator"

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_FIELD = re.compile(r"\s*([A-Za-z_]\w*)(?:\s+(\w+)(\[\])?)?\s*(?::\s*(.*\S)\s*)?")
_SCHEMA_HINT = (
    "--schema takes a file with a JSON Schema, the schema itself, or fields such as 'name, age int, tags str[]'"
)


def model_of(arguments: Namespace) -> str:
    """The model: `-m`, `LLM_REST_MODEL`, or the settings file; the simulator where no vendor's key is set either.

    Raises `ConfigError` where keys are set and no model is named: the user must choose the vendor that gets the prompt.
    """
    named = arguments.model or settings().model
    if named:
        return str(named)
    ready = [name for name, vendor in VENDORS.items() if set_keys(vendor)]
    if ready:
        raise ConfigError(
            "no model was given",
            hint=f"there are keys for {', '.join(ready)}: add -m {ready[0]}/<model>, "
            f'or make it the default: LLM_REST_MODEL, or model = "{ready[0]}/<model>" in {settings_file()}',
        )
    note("no -m was given and no key is set: the simulator answers; `llm-rest vendors` lists the others")
    return SIMULATOR


def input_of(arguments: Namespace) -> str | Message:
    """The prompt: piped input, the text of the command line, and files. Raises `ConfigError` where there is none."""
    text = "" if arguments.text in (None, "-") else arguments.text
    if arguments.text == "-" or ("-" not in arguments.file and _piped()):
        text = "\n\n".join(filter(None, (_stdin().rstrip("\n"), text)))
    sources = [sys.stdin.buffer.read() if source == "-" else source for source in arguments.file]
    files = [part for source in sources if not isinstance(part := attachment(source), bytes)]
    if not text and not files:
        raise ConfigError("there is no prompt", hint='write llm-rest ask "...", or pipe text into it')
    return user(*([text] if text else []), *files) if files else text


def _piped() -> bool:
    """Whether stdin is a pipe or a file, and not a terminal, a device, or closed."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as problem:
        raise ConfigError(f"stdin is not UTF-8 text: {problem}", hint="--file attaches other files") from None


def options_of(arguments: Namespace) -> dict[str, Any]:
    """The fields of the request besides its input. Raises `ConfigError` for a bad schema."""
    options: dict[str, Any] = {}
    for pair in arguments.option:
        name, _, value = pair.partition("=")
        *outer, name = name.split(".")
        inner = options
        for one in outer:
            inner = inner.setdefault(one, {})
        inner[name] = _value(value)
    if arguments.system:
        options["instructions"] = arguments.system
    if arguments.max_output_tokens is not None:
        options["max_output_tokens"] = arguments.max_output_tokens
    if arguments.schema:
        name, schema = schema_of(arguments.schema)
        options["text"] = {"format": {"type": "json_schema", "name": name, "schema": schema}}
    return options


def _value(text: str) -> Any:
    """A value of `-o`: parsed as JSON if it is JSON, else the text itself."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text


def schema_of(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the JSON Schema in `--schema`: a file, JSON, or a list of fields (`name, age int, bio: one line`)."""
    if text.lstrip().startswith("{"):
        return "answer", json_object(text, "--schema", _SCHEMA_HINT)
    fields = [_FIELD.fullmatch(field) for field in re.split(r"\n" if "\n" in text else ",", text.strip())]
    if all(fields) and not Path(text).is_file():
        return "answer", _object([cast("re.Match[str]", field) for field in fields], text)
    path = Path(text)
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"{path}: {problem.strerror}", hint=_SCHEMA_HINT) from None
    return re.sub(r"[^a-zA-Z0-9_-]", "_", path.stem)[:64] or "answer", json_object(data, text, _SCHEMA_HINT)


def json_object(data: str | bytes, where: str, hint: str) -> dict[str, Any]:
    """The JSON object in an argument or its file. Raises `ConfigError` for anything else."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{where} is not JSON: {problem}", hint=hint) from None
    if not isinstance(found, dict):
        raise ConfigError(f"{where} is not a JSON object", hint=hint)
    return cast("dict[str, Any]", found)


def _object(fields: list[re.Match[str]], text: str) -> dict[str, Any]:
    """An object with these fields, each `name [type[]] [: description]`, all of them required."""
    properties: dict[str, Any] = {}
    for field in fields:
        name, kind, several, description = field.groups()
        if kind and kind not in _TYPES:
            raise ConfigError(f"--schema {text!r}: there is no type {kind!r}", hint=f"types are {', '.join(_TYPES)}")
        schema: dict[str, Any] = {"type": _TYPES[kind or "str"]}
        if several:
            schema = {"type": "array", "items": schema}
        properties[name] = {**schema, "description": description} if description else schema
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
