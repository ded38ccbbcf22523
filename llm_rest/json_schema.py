"""What is wrong with a value by its JSON Schema, in words a model can act on.

Follows JSON Schema 2020-12 (read 2026-11-20) as far as tools and typed output use it: everything about one value and its
parts, references inside the document, and the formats date, date-time, email, uuid and uri. What it does not look at passes:
other formats, `contains`, `if`, `dependentSchemas`, `unevaluated...`, references to other documents. Before changing this
file, know that schemas and values come from others: a malformed keyword is no keyword, and nothing here may hang.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any, cast
from urllib.parse import unquote

import msgspec

Schema = dict[str, Any]
Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, str]]
"""Problems as they are found: where, and what."""

_TOO_DEEP = "nested too deeply"
_DEPTH = 200
_STEPS = 500_000
_TRIES = 20_000_000

_ONE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def problems(schema: Schema | bool, value: Any, *, limit: int = 20) -> list[str]:
    """What keeps `value`, as plain JSON data, from fitting `schema`, each with its place; none where it fits."""
    return [f"{spelled(path)}: {what}" for path, what in _faults(schema, value, limit)]


def checked(schema: Schema | bool, value: Any) -> tuple[Any, list[str]]:
    """`value` as it was meant, and what is wrong with it still: a null that does not fit was meant as a field left out."""
    nulls = [path for path, _ in _faults(schema, value, 1000) if path and _is_null(value, path)]
    for path in nulls:
        value = _without(value, path)
    return value, problems(schema, value)


def _faults(schema: Schema | bool, value: Any, limit: int) -> list[tuple[Path, str]]:
    try:
        return list(islice(_Check(schema).faults(schema, value, (), 0), limit))
    except RecursionError:
        return [((), _TOO_DEEP)]


def _is_null(value: Any, path: Path) -> bool:
    """Whether a field with the value null stands at `path`."""
    missing: Any = {}
    for step in path[:-1]:
        value = value[step] if isinstance(step, int) else value.get(step, missing)
    return isinstance(path[-1], str) and value.get(path[-1], missing) is None


def _without(value: Any, path: Path) -> Any:
    """A copy of `value` without the field at `path`."""
    first, *rest = path
    copy = value.copy()
    if rest:
        copy[first] = _without(copy[first], tuple(rest))
    else:
        copy.pop(first, None)
    return copy


def walk(schema: Any, name: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema inside `schema`, itself first, with the name of the property or definition that it describes."""
    if not isinstance(schema, dict):
        return
    found = cast("Schema", schema)
    yield name, found
    for key in _ONE:
        yield from walk(found.get(key))
    for key in _MANY:
        for one in _list(found.get(key)):
            yield from walk(one)
    for key in _NAMED:
        for inner, one in _dict(found.get(key)).items():
            yield from walk(one, inner)


class _Check:
    """One value against one schema, which references point into."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = _STEPS

    def fits(self, schema: Any, value: Any, path: Path, depth: int) -> bool:
        return next(self.faults(schema, value, path, depth), None) is None

    def faults(self, schema: Any, value: Any, path: Path, depth: int) -> Found:
        """What is wrong with the value at `path`. A schema that turns in circles, or asks for too much, is left there."""
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
        for what in _choice_faults(found, value):
            yield path, what
        match value:
            case str():
                yield from ((path, what) for what in _string_faults(found, value))
            case bool() | None:
                pass
            case int() | float():
                yield from ((path, what) for what in _number_faults(found, value))
            case list():
                yield from self._array(found, cast("Any", value), path, depth + 1)
            case dict():
                yield from self._object(found, cast("Schema", value), path, depth + 1)
            case _:
                pass
        yield from self._combined(found, value, path, depth + 1)

    def _array(self, schema: Schema, value: list[Any], path: Path, depth: int) -> Found:
        yield from _size_faults(schema, len(value), "Items", "items", path)
        if schema.get("uniqueItems") is True and len({_key(item) for item in value}) < len(value):
            yield path, "its items must differ from each other"
        items = schema.get("items", True)
        prefix = _list(items) if isinstance(items, list) else _list(schema.get("prefixItems"))
        rest = schema.get("additionalItems", True) if isinstance(items, list) else items
        for i, item in enumerate(value):
            yield from self.faults(prefix[i] if i < len(prefix) else rest, item, (*path, i), depth)

    def _object(self, schema: Schema, value: Schema, path: Path, depth: int) -> Found:
        yield from _size_faults(schema, len(value), "Properties", "properties", path)
        properties = _dict(schema.get("properties"))
        for name in _list(schema.get("required")):
            if isinstance(name, str) and name not in value:
                yield (*path, name), "missing, and required"
        for name, others in _dict(schema.get("dependentRequired")).items():
            if name in value:
                for other in _list(others):
                    if other not in value:
                        yield (*path, str(other)), f"missing, and required beside {name}"
        patterns, rest = _dict(schema.get("patternProperties")), schema.get("additionalProperties", True)
        for name, item in value.items():
            asked = [properties[name]] if name in properties else []
            asked += [one for pattern, one in patterns.items() if _matches(pattern, name)]
            if not asked and rest is False:
                yield (*path, name), f"not a property here{_instead(name, properties)}"
            for one in asked or ([] if rest is False else [rest]):
                yield from self.faults(one, item, (*path, name), depth)
            if "propertyNames" in schema:
                for _, what in self.faults(schema["propertyNames"], name, path, depth):
                    yield (*path, name), f"as a name: {what}"

    def _combined(self, schema: Schema, value: Any, path: Path, depth: int) -> Found:
        if isinstance(reference := schema.get("$ref"), str):
            yield from self.faults(self._target(reference), value, path, depth)
        for one in _list(schema.get("allOf")):
            yield from self.faults(one, value, path, depth)
        if arms := _list(schema.get("anyOf")):
            yield from self._none_of(arms, value, path, depth)
        if arms := _list(schema.get("oneOf")):
            fitting = [i for i, arm in enumerate(arms, 1) if self.fits(arm, value, path, depth)]
            if len(fitting) > 1:
                yield path, f"fits alternatives {' and '.join(map(str, fitting))}, and may fit one only"
            elif not fitting:
                yield from self._none_of(arms, value, path, depth)
        if "not" in schema and self.fits(schema["not"], value, path, depth):
            yield path, f"{_shown(value)} is not allowed here"

    def _none_of(self, arms: list[Any], value: Any, path: Path, depth: int) -> Found:
        """Nothing if one of the arms fits; else what is wrong with the one that was meant, or with each."""
        found: list[list[tuple[Path, str]]] = []
        for arm in arms:
            faults = list(islice(self.faults(arm, value, path, depth), 20))
            if not faults:
                return
            found.append(faults)
        # Of the arms that take this kind of value at all, the one it fits best was meant.
        meant = [faults for faults in found if faults[0][0] != path] or found
        best = min(map(len, meant))
        if sum(len(faults) == best for faults in meant) == 1:
            yield from next(faults for faults in meant if len(faults) == best)
        else:
            said = (what if at == path else f"{spelled(at)}: {what}" for at, what in (each[0] for each in found))
            yield path, f"fits no alternative: {'; '.join(dict.fromkeys(said))}"

    def _target(self, reference: str) -> Any:
        """The schema that a reference inside the document means; what it cannot find allows everything."""
        if not reference.startswith("#"):
            return True
        found: Any = self._root
        for step in unquote(reference[1:]).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            items = _list(found)
            found = items[int(name)] if name.isdecimal() and int(name) < len(items) else _dict(found).get(name, True)
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


_LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "minimum": ("at least", operator.ge),
    "exclusiveMinimum": ("more than", operator.gt),
    "maximum": ("at most", operator.le),
    "exclusiveMaximum": ("less than", operator.lt),
}


def _type_fault(schema: Schema, value: Any) -> str | None:
    asked = schema.get("type")
    if asked is None:
        return None
    kinds = [kind for kind in (_list(asked) or [asked]) if isinstance(kind, str) and kind in _TYPES]
    if not kinds or any(_TYPES[kind][1](value) for kind in kinds):
        return None
    return f"expected {' or '.join(_TYPES[kind][0] for kind in kinds)}, got {_shown(value)}"


def _choice_faults(schema: Schema, value: Any) -> Iterator[str]:
    if "const" in schema and _key(schema["const"]) != _key(value):
        yield f"expected {_shown(schema['const'])}, got {_shown(value)}"
    choices = schema.get("enum")
    if isinstance(choices, list):
        words = [_shown(choice) for choice in _list(choices)[:50]]
        if _key(value) not in {_key(choice) for choice in _list(choices)}:
            yield f"expected one of {', '.join(words)}, got {_shown(value)}"


def _number_faults(schema: Schema, value: float) -> Iterator[str]:
    for key, (words, fits) in _LIMITS.items():
        limit = _number(schema, key)
        if limit is not None and not fits(value, limit):
            yield f"expected {words} {limit}, got {_shown(value)}"
    step = _number(schema, "multipleOf")
    # By their decimal spelling, in which 0.3 is three times 0.1.
    if step and math.isfinite(step) and math.isfinite(value) and Fraction(str(value)) % Fraction(str(step)):
        yield f"expected a multiple of {step}, got {_shown(value)}"


def _string_faults(schema: Schema, value: str) -> Iterator[str]:
    least, most = _number(schema, "minLength"), _number(schema, "maxLength")
    if least is not None and len(value) < least:
        yield f"expected at least {least} characters, got {_shown(value)}"
    if most is not None and len(value) > most:
        yield f"expected at most {most} characters, got {len(value)}"
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not _matches(pattern, value, unless=True):
        yield f"expected text matching the pattern {pattern}, got {_shown(value)}"
    asked = schema.get("format")
    words, fits = _FORMATS.get(asked, _ANY) if isinstance(asked, str) else _ANY
    if not fits(value):
        yield f"expected {words}, got {_shown(value)}"


def _size_faults(schema: Schema, size: int, key: str, words: str, path: Path) -> Found:
    least, most = _number(schema, f"min{key}"), _number(schema, f"max{key}")
    if least is not None and size < least:
        yield path, f"expected at least {least} {words}, got {size}"
    if most is not None and size > most:
        yield path, f"expected at most {most} {words}, got {size}"


# --- formats and patterns -------------------------------------------------------------------------------------------


def _parses(pattern: str, parse: Callable[[str], Any] = str) -> Callable[[str], bool]:
    """A check that the whole text matches and can be parsed."""

    def check(value: str) -> bool:
        try:
            return re.fullmatch(pattern, value, re.ASCII) is not None and parse(value) is not None
        except ValueError:
            return False

    return check


_ANY = ("", _parses(r"(?s).*"))
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
    """Whether the pattern is found in the text; `unless` where trying could take too long, or the pattern is no pattern."""
    wanted, tree = _compiled(pattern)
    if wanted is None:
        return unless
    starts = 1 if pattern.startswith("^") else len(text) + 1
    if _ways(tree, len(text)) * starts > _TRIES:
        return unless
    return wanted.search(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, Any]:
    # Python's own parser is the only place that says how a pattern repeats and branches.
    try:
        return re.compile(pattern), import_module("re._parser").parse(pattern)
    except (re.error, ValueError, RecursionError, OverflowError, Warning):
        return None, ()


def _ways(tree: Any, length: int) -> float:
    """How many ways backtracking may go through a text of this length: a bound, never less than there are."""
    ways = 1.0
    for op, argument in tree:
        match str(op), argument:
            case (("MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT"), (least, most, body)):
                inner = _ways(body, length)
                rounds = min(int(most), max(length, int(least)))
                ways *= (rounds - least + 1) if inner == 1 else min(inner, 1e9) ** min(rounds, 40)
            case "BRANCH", (_, arms):
                ways *= sum(_ways(arm, length) for arm in arms)
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


def _list(value: Any) -> list[Any]:
    return cast("Any", value) if isinstance(value, list) else []


def _dict(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _number(schema: Schema, key: str) -> int | float | None:
    value = schema.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value == value else None


def _key(value: Any) -> Any:
    """Equal for values that are equal as JSON: 1 and 1.0 are, 1 and true are not."""
    match value:
        case bool():
            return ("bool", value)
        case list():
            return ("list", *(_key(item) for item in _list(value)))
        case dict():
            return frozenset((name, _key(item)) for name, item in _dict(value).items())
        case _:
            return value


def spelled(path: Path) -> str:
    """A place in a document as its reader would write it: `$.items[2].name`."""
    steps = (f"[{_shown(step)}]" if isinstance(step, int) or not step.isidentifier() else f".{step}" for step in path)
    return "$" + "".join(steps)


def _shown(value: Any) -> str:
    """The value as JSON, cut short."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:79]}…"


def _instead(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = get_close_matches(name, names, 1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there are {', '.join(names[:30])}" if names else ""
