"""JSON Schema validation, with problems as text for a model.

Follows JSON Schema 2020-12 (read 2026-11-20) as far as tools and typed output use it: everything about one value and its
parts, references inside the document, and the formats date, date-time, email, uuid and uri. Unsupported keywords are ignored,
and `unchecked` lists them: other formats, `contains`, `if`, `dependentSchemas`, `unevaluated...`, references to other documents.
docs/typed-output.md has the same list. Before changing this file, know that schemas and values are untrusted: a malformed
keyword is ignored, and validation must terminate quickly.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache, reduce
from importlib import import_module
from itertools import islice
from typing import Any, cast
from urllib.parse import unquote

import msgspec

from ..unknown import as_list, as_object

Schema = dict[str, Any]
Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, str]]
"""A problem: its path, and its description."""

_TOO_DEEP = "nested too deeply"
_DEPTH = 200
_STEPS = 200_000
_TRIES = 20_000_000

_ONE = (
    *("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def problems(schema: Schema | bool, value: Any, root: Schema | bool | None = None) -> list[str]:
    """The problems of `value`, plain JSON data, by `schema`, a part of `root` or the whole document, each with its path."""
    return [f"{path_text(path)}: {what}" for path, what in _faults(schema, value, root)[:20]]


def malformed(schema: Schema) -> list[str]:
    """The malformed parts of `schema`, each with its path."""
    return problems(_META, schema)


UNCHECKED = frozenset(
    "contains minContains maxContains if then else dependentSchemas dependencies unevaluatedItems unevaluatedProperties "
    "$dynamicRef $recursiveRef contentEncoding contentMediaType contentSchema".split()
)
"""Keywords that restrict a value and are not checked."""


def unchecked(schema: Schema) -> list[str]:
    """The keywords in `schema` that values are not checked against, each once; formats and references as they are written."""
    found: dict[str, None] = {}
    for _, one in walk(schema):
        found |= dict.fromkeys(name for name in one if name in UNCHECKED)
        named, reference = one.get("format"), one.get("$ref")
        if isinstance(named, str) and named not in _FORMATS:
            found[f"format {named}"] = None
        if isinstance(reference, str) and not reference.startswith("#"):
            found[f"$ref {reference}"] = None
    return list(found)


def checked(schema: Schema | bool, value: Any) -> tuple[Any, list[str]]:
    """`value` without invalid nulls, which count as omitted fields, and its remaining problems."""
    faults = _faults(schema, value)
    if not faults:
        return value, []
    plain = msgspec.json.decode(msgspec.json.encode(value))
    for path, _ in faults:
        if (holder := _holder(plain, path)) is not None:
            del holder[path[-1]]
    return plain, problems(schema, plain)


def _faults(schema: Schema | bool, value: Any, root: Schema | bool | None = None) -> list[tuple[Path, str]]:
    try:
        return list(islice(_Check(schema if root is None else root).faults(schema, value, (), 0), 1000))
    except RecursionError:
        return [((), _TOO_DEEP)]


def _holder(value: Any, path: Path) -> dict[Any, Any] | None:
    """The object with a null at `path`; nothing where there is no null."""
    parent: Any = reduce(operator.getitem, path[:-1], value) if path else None
    return as_object(parent) if path and as_object(parent).get(cast("str", path[-1]), 0) is None else None


def walk(schema: Any, name: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema inside `schema`, itself first, with the name of the property or definition that it describes."""
    if not isinstance(schema, dict):
        return
    found = cast("Schema", schema)
    yield name, found
    for key in _ONE:
        yield from walk(found.get(key))
    for key in _MANY:
        for one in as_list(found.get(key)):
            yield from walk(one)
    for key in _NAMED:
        for inner, one in as_object(found.get(key)).items():
            yield from walk(one, inner)


class _Check:
    """One value against one schema, which references point into."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = _STEPS

    def fits(self, schema: Any, value: Any, path: Path, depth: int) -> bool:
        return next(self.faults(schema, value, path, depth), None) is None

    def faults(self, schema: Any, value: Any, path: Path, depth: int) -> Found:
        """The problems of the value at `path`. An endless or too expensive schema is not followed further."""
        self._left -= 1
        if schema is False:
            yield path, "nothing is allowed here"
        if not isinstance(schema, dict) or self._left < 0:
            return
        if depth > _DEPTH:
            if isinstance(value, dict | list):
                yield path, _TOO_DEEP
            return
        found = cast("Schema", schema)
        mismatch = _type_fault(found, value)
        if mismatch is not None:
            yield path, mismatch
            return  # what else there is to say would repeat it
        for what in _own_faults(found, value):
            yield path, what
        if isinstance(value, list):
            yield from self._array(found, cast("Any", value), path, depth + 1)
        elif isinstance(value, dict):
            yield from self._object(found, cast("Any", value), path, depth + 1)
        yield from self._combined(found, value, path, depth + 1)

    def _array(self, schema: Schema, value: list[Any], path: Path, depth: int) -> Found:
        if schema.get("uniqueItems") is True and len({_key(item) for item in value}) < len(value):
            yield path, "its items must differ from each other"
        items = schema.get("items", True)
        prefix = as_list(items) if isinstance(items, list) else as_list(schema.get("prefixItems"))
        rest = schema.get("additionalItems", True) if isinstance(items, list) else items
        for i, item in enumerate(value):
            yield from self.faults(prefix[i] if i < len(prefix) else rest, item, (*path, i), depth)

    def _object(self, schema: Schema, value: Schema, path: Path, depth: int) -> Found:
        properties = as_object(schema.get("properties"))
        beside = as_object(schema.get("dependentRequired"))
        required = [*as_list(schema.get("required")), *(other for name in value for other in as_list(beside.get(name)))]
        for name in required:
            if isinstance(name, str) and name not in value:
                yield (*path, name), "missing, and required"
        patterns, rest = as_object(schema.get("patternProperties")), schema.get("additionalProperties", True)
        for name, item in value.items():
            schemas = [properties[name]] if name in properties else []
            schemas += [one for pattern, one in patterns.items() if _matches(pattern, name)]
            if not schemas and rest is False:
                yield (*path, name), f"not a property here; {instead(name, properties)}"
            for one in schemas or ([] if rest is False else [rest]):
                yield from self.faults(one, item, (*path, name), depth)
            if "propertyNames" in schema:
                for _, what in self.faults(schema["propertyNames"], name, path, depth):
                    yield (*path, name), f"as a name: {what}"

    def _combined(self, schema: Schema, value: Any, path: Path, depth: int) -> Found:
        if isinstance(reference := schema.get("$ref"), str):
            yield from self.faults(target(self._root, reference), value, path, depth)
        for one in as_list(schema.get("allOf")):
            yield from self.faults(one, value, path, depth)
        if arms := as_list(schema.get("anyOf")):
            yield from self._none_of(arms, value, path, depth)
        if arms := as_list(schema.get("oneOf")):
            fitting = [i for i, arm in enumerate(arms, 1) if self.fits(arm, value, path, depth)]
            if len(fitting) > 1:
                yield path, f"fits alternatives {' and '.join(map(str, fitting))}, and may fit one only"
            elif not fitting:
                yield from self._none_of(arms, value, path, depth)
        if "not" in schema and self.fits(schema["not"], value, path, depth):
            yield path, f"{_shown(value)} is not allowed here"

    def _none_of(self, arms: list[Any], value: Any, path: Path, depth: int) -> Found:
        """Nothing if one of the alternatives matches; else the problems of the intended one, or of each."""
        found: list[list[tuple[Path, str]]] = []
        for arm in arms:
            faults = list(islice(self.faults(arm, value, path, depth), 1000))
            if not faults:
                return
            found.append(faults)
        # An arm that only nulls keep it from fitting was meant; else, of those that take this kind of value, the nearest.
        for faults in found:
            if all(_holder(value, at[len(path) :]) is not None for at, _ in faults):
                yield from faults
                return
        likely = [faults for faults in found if faults[0][0] != path] or found
        best = min(map(len, likely))
        if sum(len(faults) == best for faults in likely) == 1:
            yield from next(faults for faults in likely if len(faults) == best)
        else:
            descriptions = (
                what if at == path else f"{path_text(at)}: {what}" for at, what in (each[0] for each in found)
            )
            yield path, f"fits no alternative: {'; '.join(dict.fromkeys(descriptions))}"


def target(root: Any, reference: str) -> Any:
    """The schema that a reference inside the document `root` means; an unresolved reference allows everything."""
    if not reference.startswith("#"):
        return True
    found = root
    for step in unquote(reference[1:]).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        items = as_list(found)
        found = items[int(name)] if name.isdecimal() and int(name) < len(items) else as_object(found).get(name, True)
    return found


# --- one value ------------------------------------------------------------------------------------------------------

_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "string": ("a string", lambda value: isinstance(value, str)),
    "integer": (
        "an integer",
        lambda value: (
            not isinstance(value, bool)
            and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
        ),
    ),
    "number": ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "null": ("null", lambda value: value is None),
    "array": ("an array", lambda value: isinstance(value, list)),
    "object": ("an object", lambda value: isinstance(value, dict)),
}


_SELF: Schema = {"$ref": "#"}
_SEVERAL: Schema = {"type": "array", "items": _SELF}
_BY_NAME: Schema = {"type": "object", "additionalProperties": _SELF}
_KIND: Schema = {"enum": list(_TYPES)}
_META: Schema = {
    "type": ["object", "boolean"],
    "properties": {
        **dict.fromkeys(_ONE, _SELF),
        **dict.fromkeys(_MANY, _SEVERAL),
        **dict.fromkeys(_NAMED, _BY_NAME),
        "items": {"anyOf": [_SELF, _SEVERAL]},
        "type": {"anyOf": [_KIND, {"type": "array", "items": _KIND}]},
        "required": {"type": "array", "items": {"type": "string"}},
        "enum": {"type": "array"},
        "$ref": {"type": "string"},
    },
}
"""The shape of schemas, as far as it is walked here and by wires."""

_LIMITS: dict[str, tuple[str, Callable[[float, float], bool], str, str]] = {
    "minimum": ("number", operator.ge, "at least", ""),
    "exclusiveMinimum": ("number", operator.gt, "more than", ""),
    "maximum": ("number", operator.le, "at most", ""),
    "exclusiveMaximum": ("number", operator.lt, "less than", ""),
    "minLength": ("string", operator.ge, "at least", " characters"),
    "maxLength": ("string", operator.le, "at most", " characters"),
    "minItems": ("array", operator.ge, "at least", " items"),
    "maxItems": ("array", operator.le, "at most", " items"),
    "minProperties": ("object", operator.ge, "at least", " properties"),
    "maxProperties": ("object", operator.le, "at most", " properties"),
}


_NO_LIMIT = ("", operator.ge, "", "")


def _type_fault(schema: Schema, value: Any) -> str | None:
    expected = schema.get("type")
    if expected is None:
        return None
    kinds = [kind for kind in (as_list(expected) or [expected]) if isinstance(kind, str) and kind in _TYPES]
    if not kinds or any(_TYPES[kind][1](value) for kind in kinds):
        return None
    return f"expected {' or '.join(_TYPES[kind][0] for kind in kinds)}, got {_shown(value)}"


def _own_faults(schema: Schema, value: Any) -> Iterator[str]:
    """The problems of a value of the right type, apart from its parts."""
    for choices in (schema.get("enum"), [schema["const"]] if "const" in schema else None):
        if isinstance(choices, list) and _key(value) not in {_key(choice) for choice in as_list(choices)}:
            words = [_shown(choice) for choice in as_list(choices)[:50]]
            yield f"expected {'one of ' * (len(words) > 1)}{', '.join(words)}, got {_shown(value)}"
    for key, limit in schema.items():
        kind, holds, words, unit = _LIMITS.get(key, _NO_LIMIT)
        if kind and _TYPES[kind][1](value) and _TYPES["number"][1](limit):
            size = value if kind == "number" else len(value)
            if not holds(size, limit):
                yield f"expected {words} {limit}{unit}, got {size}"
    step = schema.get("multipleOf")
    # By their decimal spelling, in which 0.3 is three times 0.1.
    if step and _finite(step) and _finite(value) and _exact(value) % _exact(step):
        yield f"expected a multiple of {step}, got {_shown(value)}"
    if isinstance(value, str):
        pattern, named = schema.get("pattern"), schema.get("format")
        if isinstance(pattern, str) and not _matches(pattern, value, unless=True):
            yield f"expected text matching the pattern {pattern}, got {_shown(value)}"
        if isinstance(named, str) and named in _FORMATS and not _FORMATS[named][1](value):
            yield f"expected {_FORMATS[named][0]}, got {_shown(value)}"


def _finite(value: Any) -> bool:
    return _TYPES["number"][1](value) and value - value == 0


def _exact(number: float) -> Fraction:
    return Fraction(number if isinstance(number, int) else str(number))


# --- formats and patterns -------------------------------------------------------------------------------------------


def _parses(pattern: str, parse: Callable[[str], Any] = str) -> Callable[[str], bool]:
    """A check that the whole text matches and can be parsed."""

    def check(value: str) -> bool:
        try:
            return re.fullmatch(pattern, value, re.ASCII) is not None and parse(value) is not None
        except ValueError:
            return False

    return check


_FORMATS = {
    "date": ("a date such as 2026-01-02", _parses(r"\d{4}-\d\d-\d\d", date.fromisoformat)),
    "date-time": (
        "a date and time such as 2026-01-02T03:04:05Z",
        _parses(
            r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)",
            lambda text: datetime.fromisoformat(text.upper()),
        ),
    ),
    "email": ("an email address", _parses(r"[^@\s]+@[^@\s]+")),
    "uuid": ("a UUID", _parses(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    "uri": ("a URI with its scheme", _parses(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")),
}


def _matches(pattern: str, text: str, *, unless: bool = False) -> bool:
    """Whether the pattern is found in the text; `unless` where trying could take too long, or the pattern is invalid."""
    compiled, tree = _compiled(pattern)
    if compiled is None:
        return unless
    starts = 1 if pattern.startswith("^") else len(text) + 1
    if _ways(tree, len(text)) * starts > _TRIES:
        return unless
    return compiled.search(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, Any]:
    # Python's own parser is the only place that says how a pattern repeats and branches.
    try:
        return re.compile(pattern), import_module("re._parser").parse(pattern)
    except (re.error, ValueError, RecursionError, OverflowError, Warning):
        return None, ()


def _ways(tree: Any, length: int) -> float:
    """An upper bound of the backtracking paths through a text of this length."""
    ways = 1.0
    for op, argument in tree:
        match str(op), argument:
            case (("MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT"), (least, most, body)):
                inner = _ways(body, length)
                rounds = min(int(most), max(length, int(least)))
                ways *= (rounds - least + 1) if inner == 1 else min(inner, 1e9) ** min(rounds, 40)
            case "BRANCH", (_, arms):
                each = [_ways(arm, length) for arm in arms]
                starts = {str(arm[0][1]) for arm in arms if len(arm) and str(arm[0][0]) == "LITERAL"}
                # Arms that begin differently exclude each other.
                ways *= max(each) if len(starts) == len(each) else sum(each)
            case "SUBPATTERN", (*_, body):
                ways *= _ways(body, length)
            case (("ASSERT" | "ASSERT_NOT"), (_, body)):
                ways *= _ways(body, length)
            case "ATOMIC_GROUP", body:
                ways *= _ways(body, length)
            case "GROUPREF_EXISTS", (_, yes, no):
                ways *= _ways(yes, length) + _ways(no or (), length)
            case _:
                pass
    return ways


# --- small things ---------------------------------------------------------------------------------------------------


def _key(value: Any) -> Any:
    """Equal for values that are equal as JSON: 1 and 1.0 are, 1 and true are not."""
    match value:
        case bool():
            return ("bool", value)
        case list():
            return ("list", *(_key(item) for item in as_list(value)))
        case dict():
            return frozenset((name, _key(item)) for name, item in as_object(value).items())
        case _:
            return value


def path_text(path: Path) -> str:
    """A path in a document as text: `$.items[2].name`."""
    steps = (f"[{_shown(step)}]" if isinstance(step, int) or not step.isidentifier() else f".{step}" for step in path)
    return "$" + "".join(steps)


def _shown(value: Any) -> str:
    """The value as JSON, cut short."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:79]}…"


def instead(name: str, known: Iterable[str]) -> str:
    """Suggestions for an unknown name: the closest one, and all names."""
    names = list(known)
    close = get_close_matches(name, names, 1)
    suggestion = f"did you mean {close[0]}? " if close else ""
    return f"{suggestion}there are {', '.join(names[:50]) or 'none'}"
