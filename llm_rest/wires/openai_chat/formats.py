"""The form an answer has to take, both ways: `response_format` here, `text.format` in Responses.

Where a host lacks a form, the nearest it has is asked for and the model is told the rest in words: that is reported as
emulated. Follows the Chat Completions reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from ...responses.request import JsonObjectFormat, JsonSchemaFormat, TextFormat
from ...unknown import Open, Opt, Unknown, extras, given
from . import types
from .content import FOREIGN
from .left import put_back
from .types import Json

if TYPE_CHECKING:
    from ...dialects import ChatDialect
    from ...losses import Losses

Format = Open[TextFormat | JsonSchemaFormat | JsonObjectFormat]

ANY_NAME = "answer"
"""The name of a schema without one, which this wire requires."""


def encode_format(asked: Opt[Format], dialect: ChatDialect, lost: Losses) -> tuple[Opt[types.ResponseFormat], str]:
    """The format as the host takes it, and what the model has to be told where it does not."""
    match asked:
        case None | UnsetType():
            return asked, ""
        case TextFormat():
            return (types.ResponseFormat(type="text") if "text" in dialect.formats else UNSET), ""
        case JsonSchemaFormat():
            return _encode_schema(asked, dialect, lost)
        case JsonObjectFormat():
            return _encode_object(dialect, lost)
        case Unknown():
            if asked.type.startswith(FOREIGN):
                kept = {**asked, "type": asked.type.removeprefix(FOREIGN)}
                return put_back(types.ResponseFormat(type=kept["type"]), kept), ""
            lost.refused("text.format", f"the format {asked.type!r}")
            return UNSET, ""


def _encode_schema(
    asked: JsonSchemaFormat, dialect: ChatDialect, lost: Losses
) -> tuple[Opt[types.ResponseFormat], str]:
    if "json_schema" in dialect.formats:
        schema = types.JsonSchema(
            name=asked.name if given(asked.name) else ANY_NAME,
            schema=UNSET if asked.schema is None else asked.schema,
            description=UNSET if asked.description is None else asked.description,
            strict=asked.strict,
        )
        return types.ResponseFormat(type="json_schema", json_schema=schema), ""
    lost.emulated("text.format", "a schema, which the model is told in words")
    made = types.ResponseFormat(type="json_object") if "json_object" in dialect.formats else UNSET
    schema_text = msgspec.json.encode(asked.schema or {}).decode()
    return made, f"Answer with one JSON object and nothing else. It has to fit this JSON Schema:\n{schema_text}"


def _encode_object(dialect: ChatDialect, lost: Losses) -> tuple[Opt[types.ResponseFormat], str]:
    if "json_object" in dialect.formats:
        return types.ResponseFormat(type="json_object"), ""
    lost.emulated("text.format", "any JSON object, asked for in another way")
    if "json_schema" in dialect.formats:
        schema = types.JsonSchema(name=ANY_NAME, schema={"type": "object"})
        return types.ResponseFormat(type="json_schema", json_schema=schema), ""
    return UNSET, "Answer with one JSON object and nothing else."


def decode_format(asked: types.ResponseFormat, left: Json) -> Format:
    """The format as Responses spells it; what it has no field for goes to `left`."""
    schema = asked.json_schema
    rest: Json = extras(asked)
    made: Format
    if asked.type == "text":
        made = TextFormat()
    elif asked.type == "json_object":
        made = JsonObjectFormat()
    elif asked.type == "json_schema" and given(schema):
        made = JsonSchemaFormat(
            name=schema.name, schema=schema.schema, description=schema.description, strict=schema.strict
        )
        nulls = {name: None for name in ("schema", "description") if getattr(schema, name) is None}
        if unknown := {**nulls, **extras(schema)}:
            rest["json_schema"] = unknown
    else:
        plain: Json = msgspec.to_builtins(asked)
        return Unknown({**plain, "type": FOREIGN + asked.type})
    if rest:
        left["response_format"] = rest
    return made
