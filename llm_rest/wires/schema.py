"""JSON Schema for structured output and tools, reduced to what each host supports; one row per host.

Supported keywords are sent unchanged, a few are rewritten, and unsupported ones are added to the description for the
model; every change is a loss with its path. Before changing this file, know that the caller's schema is never touched, and
that the same schema gives the same bytes, since tools are part of what vendors cache. Follows the guides to structured output
of OpenAI, Anthropic and Google, Google's references of `Schema` and `responseJsonSchema`, and Ollama's own types (read
2026-11-20).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

import msgspec
from msgspec import Struct

from ..losses import Losses

Schema = dict[str, Any]
Check = Callable[[Any], bool]

DEFINITIONS = ("$defs", "definitions")
NAMED = ("properties", *DEFINITIONS)
"""Keywords whose values hold a schema for each name."""

_encode = msgspec.json.Encoder(order="deterministic").encode


# --- supported keywords---------------------------------------------------------------------------------------------


class Host(Struct, frozen=True):
    """What a host supports of JSON Schema. All other keywords are added to the description."""

    name: str
    kept: Mapping[str, Check | None] | None
    """Keywords that are sent unchanged, where the check of their value passes. None: all but `described`."""
    described: frozenset[str] = frozenset()
    """Keywords that the host ignores, where it supports all others."""
    dropped: frozenset[str] = frozenset()
    """Annotations without effect on validation, which are left out."""
    refused: frozenset[str] = frozenset()
    """Keywords that the host rejects."""
    schemas: tuple[str, ...] = ("items",)
    """Keywords that hold one schema."""
    lists: Mapping[str, str] = MappingProxyType({"anyOf": "anyOf", "oneOf": "anyOf"})
    """Keywords that hold a list of schemas, and the names under which they are sent."""
    definitions: Mapping[str, str] = MappingProxyType(dict(zip(DEFINITIONS, DEFINITIONS, strict=True)))
    """The host's name for definitions."""
    reference: str = ".*"
    """The pattern of references that the host resolves."""
    beside: frozenset[str] = frozenset()
    """Keywords that may be in one schema with a reference."""
    inlined: int = 0
    """The most references, and `allOf` of one schema, that are inlined, since the host resolves none."""
    rewrites: bool = False
    """`const` is sent as `enum`, `allOf` as one schema and an open bound of whole numbers as the closed one."""
    closed: bool = False
    """Every object allows only the properties it lists."""
    strict: bool = False
    """Every object requires all its properties, and every schema describes a type of value."""
    recursive: bool = True
    """A schema may refer to itself."""
    max_depth: int = 200


def _is_listed(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_primitive(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _all(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, cast("Any", value)))


def _one_of(*values: Any) -> Check:
    return lambda value: not isinstance(value, dict | list) and value in values


GEMINI = Host(
    "Gemini",
    {
        **dict.fromkeys(
            """
            $id $anchor type format title description default items minItems maxItems minimum maximum required
            additionalProperties propertyOrdering pattern minLength maxLength minProperties maxProperties uniqueItems
            """.split()
        ),
        "enum": _all(_is_listed),
    },
    dropped=frozenset("$schema $comment examples discriminator readOnly writeOnly deprecated strict".split()),
    schemas=("items", "additionalProperties"),
    lists={"anyOf": "anyOf", "oneOf": "oneOf", "prefixItems": "prefixItems", "items": "prefixItems"},
    definitions=dict.fromkeys(DEFINITIONS, "$defs"),
    reference=r"(?s)#(/\$defs/.*)?",
    beside=frozenset({*DEFINITIONS, "$id", "$anchor", "title"}),
    rewrites=True,
)
"""The last six of the supported keywords are not enforced."""

ANTHROPIC = Host(
    "Anthropic",
    {
        **dict.fromkeys(("type", "title", "description", "required", "default")),
        "enum": _all(_is_primitive),
        "const": _is_primitive,
        "format": _one_of(*"date-time time date duration email hostname uri ipv4 ipv6 uuid".split()),
        "pattern": lambda value: isinstance(value, str) and not re.search(r"\(\?(?:[=!]|<[=!])|\\[1-9bB]", value),
        "minItems": _one_of(0, 1),
    },
    lists={"anyOf": "anyOf", "allOf": "allOf", "oneOf": "anyOf"},
    reference="(?s)#.*",
    beside=frozenset(DEFINITIONS),
    closed=True,
    recursive=False,
    max_depth=64,
)

STRICT = Host(
    "a strict schema",
    {
        **dict.fromkeys(
            """
            type title description enum const required pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
            minItems maxItems
            """.split()
        ),
        "format": _one_of(*"date-time time date duration email hostname ipv4 ipv6 uuid".split()),
    },
    refused=frozenset(
        """
        allOf not if then else dependentRequired dependentSchemas patternProperties prefixItems unevaluatedProperties
        """.split()
    ),
    closed=True,
    strict=True,
)
"""Hosts of OpenAI's formats, where they enforce every keyword."""

OLLAMA = Host(
    "Ollama",
    None,
    described=frozenset(
        """
        minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format contentEncoding
        contentMediaType minItems maxItems uniqueItems prefixItems contains minProperties maxProperties patternProperties
        propertyNames dependentRequired dependentSchemas if then else not default allOf oneOf $ref
        """.split()
    ),
    schemas=(),
    inlined=500,
    rewrites=True,
)
"""The server writes into the prompt, of a tool's property, only `type description enum items anyOf properties required`."""


# --- the walk -------------------------------------------------------------------------------------------------------


def fitted(schema: Schema, host: Host, lost: Losses, path: str) -> Schema:
    """`schema`, at `path`, as this host supports it; the same object where nothing has to change."""
    found = Losses()
    if not host.recursive and _recursive(schema):
        found.refused(path, f"a schema that refers to itself, which {host.name} cannot enforce")
    fit = _Walk(host, schema, found).schema(schema, path)
    lost += found
    return fit if found else schema


def fitted_parameters(schema: Schema, host: Host, lost: Losses, path: str) -> Schema:
    """The parameters of a tool, for a host that reads only the properties."""
    walk = _Walk(host, schema, lost)
    top, seen = walk.put_in_place(schema, path, frozenset())
    properties = top.get("properties")
    for word in top:
        if word in _UNREAD:
            lost.dropped(f"{path}.{word}", f"a keyword that {host.name} forgets")
    # Some templates fail without properties.
    named = (
        walk.named(cast("Schema", properties), f"{path}.properties", 0, seen) if isinstance(properties, dict) else {}
    )
    return {"type": "object", **top, "properties": named}


_UNREAD = {"anyOf", "oneOf", "not", "patternProperties", "propertyNames", "minProperties", "maxProperties"}
"""Keywords without effect at the top of a tool's parameters, which have no description to add them to."""


class NotStrict(Exception):
    """A schema that strict mode cannot express."""


def strict_form(schema: Schema, lost: Losses, path: str) -> Schema:
    """The object schema `schema`, at `path`, in strict form. Raises `NotStrict` where there is none."""
    found = Losses()
    if "anyOf" in schema or "oneOf" in schema:
        found.refused(path, "alternatives at the top")
    made = fitted(schema, STRICT, found, path)
    for loss in found:
        if loss.kind == "refused":
            raise NotStrict(f"{loss.path}: {loss.what}")
    lost += found
    return made


class _Walk:
    """One pass over a schema."""

    def __init__(self, host: Host, root: Schema, lost: Losses) -> None:
        self.host = host
        self.lost = lost
        self._root = root
        self._left = host.inlined

    def any(self, value: Any, path: str, depth: int, seen: frozenset[str] = frozenset()) -> Any:
        """Any schema value: a schema, or true and false."""
        if isinstance(value, dict):
            return self.schema(cast("Schema", value), path, depth + 1, seen)
        if self.host.strict:
            self.lost.refused(path, f"{value!r} in place of a schema")
        return value

    def schema(self, schema: Schema, path: str, depth: int = 0, seen: frozenset[str] = frozenset()) -> Schema:
        """Convert the schema at `path`; `seen` are the references that led there."""
        host, lost = self.host, self.lost
        if depth > host.max_depth:
            lost.refused(path, f"a schema nested deeper than {host.max_depth} levels")
            return {}
        if host.inlined:
            schema, seen = self.put_in_place(schema, path, seen)
        refers = "$ref" in schema and not host.inlined
        fit: Schema = {}
        described: list[str] = []
        for word, value in schema.items():
            here = f"{path}.{word}"
            if refers and word == "$ref":
                fit = {word: self._reference(value, here), **fit}
            elif word in NAMED and isinstance(value, dict) and (not refers or word in host.beside):
                name = host.definitions.get(word, word)
                if name != word:
                    lost.changed(here, f"{word} is called {name} at {host.name}")
                fit[name] = {**fit.get(name, {}), **self.named(cast("Schema", value), here, depth, seen)}
            elif refers and (word in NAMED or word not in host.beside):
                lost.dropped(here, f"{host.name} allows no keyword beside a reference")
            elif word in host.schemas and isinstance(value, dict):
                fit[word] = self.any(value, here, depth, seen)
            elif (
                word in host.lists
                and isinstance(value, list)
                and (host.lists[word] == word or host.lists[word] not in schema)
            ):
                fit |= self._list(word, cast("Any", value), here, depth, seen)
            elif word in host.refused:
                lost.refused(here, f"a keyword that {host.name} does not support")
            elif self._takes(word, value):
                fit.setdefault(word, value)
            elif host.rewrites and (name := self._rewritten(word, value, schema, fit, here, depth)):
                lost.changed(here, f"sent as {name}")
            elif word in host.dropped:
                lost.dropped(here, f"a keyword {host.name} does not support, without effect on validation")
            elif not (host.closed and word == "additionalProperties"):
                described.append(f"{word}: {_encode(value).decode()}")
                lost.changed(here, f"not enforced at {host.name}; added to the description instead")
        if host.closed and not refers:
            self._close(schema, fit, path)
        if described:
            description = fit.get("description") or ""
            before = description if isinstance(description, str) else _encode(description).decode()
            fit["description"] = "\n\n".join(filter(None, (before, f"({', '.join(described)})")))
        return fit

    def named(self, schemas: Schema, path: str, depth: int, seen: frozenset[str]) -> Schema:
        """Convert the schemas at `path`, a dict by name."""
        return {key: self.any(one, f"{path}.{key}", depth, seen) for key, one in schemas.items()}

    def _takes(self, word: str, value: Any) -> bool:
        if self.host.kept is None:
            return word not in self.host.described and not (
                word in ("const", "additionalProperties") and (word == "const" or isinstance(value, dict))
            )
        check = self.host.kept.get(word)
        return word in self.host.kept and (check is None or check(value))

    def _list(self, word: str, values: list[Any], path: str, depth: int, seen: frozenset[str]) -> Schema:
        name = self.host.lists[word]
        if name != word:
            self.lost.changed(path, f"{word} is sent as {name}{': more than one may fit' * (word == 'oneOf')}")
        found = [self.any(one, f"{path}[{i}]", depth, seen) for i, one in enumerate(values)]
        if word == "allOf" and any("$ref" in one for one in found if isinstance(one, dict)):
            if len(found) == 1:
                self.lost.changed(path, "allOf of one reference is sent as the reference")
                return cast("Schema", found[0])
            self.lost.refused(path, f"allOf with references, which {self.host.name} cannot enforce")
        return {name: found}

    def _reference(self, target: Any, path: str) -> Any:
        if isinstance(target, str) and target.startswith("#/definitions/"):
            name = self.host.definitions["definitions"]
            if name != "definitions":
                target = f"#/{name}/{target[14:]}"
                self.lost.changed(path, f"definitions is called {name} at {self.host.name}")
        if not isinstance(target, str) or not re.fullmatch(self.host.reference, target):
            self.lost.refused(path, "a reference outside the definitions of the schema")
        return target

    # --- rewriting of keywords

    def _rewritten(self, word: str, value: Any, schema: Schema, fit: Schema, path: str, depth: int) -> str:
        """Rewrite a keyword with others, and return their names; empty where that is impossible."""
        if word == "const" and "enum" not in schema and self._takes("enum", [value]):
            fit["enum"] = [value]
            return "an enum of one"
        counts = schema.get("type") in ("integer", ["integer", "null"]) and type(value) is int
        if word in ("exclusiveMinimum", "exclusiveMaximum") and counts and not self.host.inlined:
            step = 1 if word == "exclusiveMinimum" else -1
            fit["minimum" if step > 0 else "maximum"] = cast("int", value) + step
            return "the closed bound beside it"
        if word == "allOf" and isinstance(value, list) and not self.host.inlined:
            self._join(cast("Any", value), fit, path, depth)
            return "one schema with everything in it"
        return ""

    def _join(self, schemas: list[Any], fit: Schema, path: str, depth: int) -> None:
        """One schema with the constraints of all; where two conflict, the later one is used."""
        for i, one in enumerate(schemas):
            found: Schema = self.any(one, f"{path}[{i}]", depth) if isinstance(one, dict) else {}
            if "$ref" in found and (fit or len(schemas) > 1):
                self.lost.refused(f"{path}[{i}]", "a reference in allOf beside other schemas")
            for name, value in found.items():
                there = fit.get(name)
                if isinstance(there, dict) and isinstance(value, dict):
                    fit[name] = {**cast("Schema", there), **cast("Schema", value)}
                elif name == "required" and isinstance(there, list) and isinstance(value, list):
                    fit[name] = [*cast("Any", there), *(one for one in cast("Any", value) if one not in there)]
                else:
                    fit[name] = value

    def put_in_place(self, schema: Schema, path: str, seen: frozenset[str]) -> tuple[Schema, frozenset[str]]:
        """A schema with its reference inlined, and the references that led there."""
        while True:
            ref, parts = schema.get("$ref"), schema.get("allOf")
            word, found = "", None
            if isinstance(ref, str) and ref not in seen and self._left:
                word, found, seen = "$ref", self._target(ref), seen | {ref}
            elif isinstance(parts, list) and len(cast("Any", parts)) == 1:
                word, found = "allOf", cast("Any", parts)[0]
            if not isinstance(found, dict):
                return schema, seen
            self._left -= 1
            self.lost.changed(f"{path}.{word}", "put in place of the reference")
            schema = {**found, **{name: inner for name, inner in schema.items() if name != word}}

    def _target(self, ref: str) -> Any:
        """The target of a reference within the schema."""
        found: Any = self._root
        for step in ref.removeprefix("#/").split("/") if ref.startswith("#/") else ("",):
            found = cast("Schema", found).get(step) if isinstance(found, dict) else None
        return found

    # --- closed objects ---------------------------------------------------------------------------------------------

    def _close(self, schema: Schema, fit: Schema, path: str) -> None:
        host, lost, here = self.host, self.lost, f"{path}.additionalProperties"
        listed, more = isinstance(schema.get("properties"), dict), schema.get("additionalProperties")
        if host.strict:
            self._require(schema, fit, path)
        elif _open_places(schema) > 1:
            lost.refused(
                path, f"an object described in several places, each of which {host.name} closes for the others"
            )
        if not _is(schema, "object") and not listed:
            if "additionalProperties" in schema:
                lost.changed(here, f"not enforced at {host.name}")
            return
        fit["additionalProperties"] = False
        empty = not listed if host.strict else not schema.get("properties")
        if more is not False and (empty or isinstance(more, dict) or (host.strict and more is not None)):
            lost.refused(here, f"an object with properties of any name, which {host.name} cannot enforce")
        elif more is not False:
            lost.changed(here, f"an object is closed at {host.name}")

    def _require(self, schema: Schema, fit: Schema, path: str) -> None:
        """Make all properties of an object required: optional ones may be null."""
        lost, arms = self.lost, [word for word in self.host.lists if word in schema]
        if len(arms) > 1 or (arms and ("properties" in schema or "items" in schema)):
            lost.refused(f"{path}.{arms[0]}", "alternatives beside other demands")
        if not arms and not schema.keys() & {"type", "enum", "const"}:
            lost.refused(path, "a value of any type")
        if _is(schema, "array") and "items" not in schema:
            lost.refused(path, "items of any type")
        if not _is(schema, "object"):
            if "properties" in schema:
                lost.refused(path, "properties of a type other than object")
            return
        required: list[str] = schema.get("required", [])
        properties: Schema = fit.setdefault("properties", {})
        for name, one in properties.items():
            if name not in required:
                here = f"{path}.properties.{name}"
                lost.changed(here, "not required, sent in a strict schema as required and nullable")
                if not _takes_null(schema["properties"][name]):
                    properties[name] = {"anyOf": [one, {"type": "null"}]}
        if unknown := [name for name in required if name not in properties]:
            lost.refused(path, f"{unknown[0]!r} is required and not described")
        fit["required"] = list(properties)


def _is(schema: Schema, kind: str) -> bool:
    """Whether a schema has this type, alone or among others."""
    kinds: Any = schema.get("type")
    return kinds == kind or (isinstance(kinds, list) and kind in kinds)


def _takes_null(schema: Any) -> bool:
    """Whether a schema allows null, as far as is known without its definitions."""
    if not isinstance(schema, dict) or "$ref" in schema:
        return False
    found = cast("Schema", schema)
    arms: list[Any] = [found[word] for word in ("anyOf", "oneOf") if isinstance(found.get(word), list)]
    return (
        (_is(found, "null") or "type" not in found)
        and None in found.get("enum", (None,))
        and found.get("const") is None
        and all(any(map(_takes_null, each)) for each in arms)
    )


def _open_places(schema: Schema) -> int:
    """The number of schemas that describe the properties of one object; 0 where all of them close it."""

    def described(*words: str) -> list[Schema]:
        lists: list[Any] = [schema[word] for word in words if isinstance(schema.get(word), list)]
        arms: list[Any] = [one for arms in lists for one in arms if isinstance(one, dict)]
        return [one for one in arms if "properties" in one or "$ref" in one]

    if schema.keys().isdisjoint(("allOf", "anyOf", "oneOf")):
        return 1
    both, either = described("allOf"), described("anyOf", "oneOf")
    both += [schema] if "properties" in schema else []
    closed = all(one.get("additionalProperties") is False for one in (*both, *either))
    return 0 if closed else len(both) + bool(either)


def _recursive(schema: Schema) -> bool:
    """Whether following references can return to the same definition."""
    definitions = {"#": set(_references({name: one for name, one in schema.items() if name not in DEFINITIONS}))}
    for group in DEFINITIONS:
        inner: Any = schema.get(group)
        for name, one in cast("Schema", inner).items() if isinstance(inner, dict) else ():
            definitions[f"#/{group}/{name}"] = set(_references(one))
    settled: set[str] = set()
    # A definition is settled once all its references are; those that never settle are part of a cycle.
    while True:
        now = {n for n, targets in definitions.items() if n not in settled and targets & definitions.keys() <= settled}
        if not now:
            return len(settled) < len(definitions)
        settled |= now


def _references(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(target := cast("Schema", value).get("$ref"), str):
                yield target
            waiting += cast("Schema", value).values()
        elif isinstance(value, list):
            waiting += cast("Any", value)
