"""JSON documents in tests: compared exactly, walked, and damaged."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET, Struct

Place = tuple[Any, ...]
"""The place of a value in a document: the keys and positions that lead to it."""


def canonical(document: Any) -> str:
    """A text that is equal for equal JSON and nothing else: `1`, `1.0` and `true` differ, the order of keys does not."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False)


def differences(one: Any, other: Any, place: str = "$") -> Iterator[str]:
    """Each place where two documents differ, with both sides shortened."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            if name not in one:
                yield f"{place}.{name}: absent -> {_short(other[name])}"
            elif name not in other:
                yield f"{place}.{name}: {_short(one[name])} -> absent"
            else:
                yield from differences(one[name], other[name], f"{place}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{place}[{i}]")
    elif canonical(one) != canonical(other):
        yield f"{place}: {_short(one)} -> {_short(other)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def unset(value: Any, place: str = "$") -> Iterator[str]:
    """Each field of a Responses document that is `UNSET`, where absent is `None`."""
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from unset(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from unset(inner, f"{place}[{i}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from unset(inner, f"{place}.{name}")
    elif value is UNSET:
        yield f"{place} is UNSET"


def places(document: Any, place: Place = ()) -> Iterator[Place]:
    """Every place in a document, the whole first."""
    yield place
    if isinstance(document, dict):
        for name, value in document.items():
            yield from places(value, (*place, name))
    elif isinstance(document, list):
        for i, value in enumerate(document):
            yield from places(value, (*place, i))


def at(document: Any, place: Place) -> Any:
    """The value at a place."""
    for step in place:
        document = document[step]
    return document


def replaced(document: Any, place: Place, value: Any) -> Any:
    """The document with another value at a place; everything beside the way there is shared with the old one."""
    if not place:
        return value
    first, *rest = place
    changed = copy.copy(document)
    changed[first] = replaced(document[first], tuple(rest), value) if rest else value
    return changed


def without(document: Any, place: Place) -> Any:
    """The document without the field at a place, sharing the rest as `replaced` does."""
    less = dict(at(document, place[:-1]))
    del less[place[-1]]
    return replaced(document, place[:-1], less)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters='"\\'), max_size=12)
"""Names of fields that JSON writes without escapes."""

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
"""Any JSON value, rather small."""


@st.composite
def damaged(draw: st.DrawFn, documents: st.SearchStrategy[Any], most: int = 3) -> Any:
    """A document with a few random places dropped, replaced, doubled, renamed or swapped for another of its places."""
    document = copy.deepcopy(draw(documents))
    for _ in range(draw(st.integers(1, most))):
        found = list(places(document))
        place = found[draw(st.integers(0, len(found) - 1))]
        if not place:
            continue
        parent, step = at(document, place[:-1]), place[-1]
        match draw(st.sampled_from(["drop", "value", "near", "other", "double", "rename"])):
            case "drop":
                del parent[step]
            case "value":
                parent[step] = draw(VALUES)
            case "near":  # almost right: similar to the value at this place
                parent[step] = draw(st.sampled_from([None, "", [], {}, 0, -1, 1.5, [parent[step]], str(parent[step])]))
            case "other":
                parent[step] = copy.deepcopy(at(document, found[draw(st.integers(0, len(found) - 1))]))
            case "double" if isinstance(parent, list):
                parent.insert(int(step), copy.deepcopy(parent[step]))
            case _ if isinstance(parent, dict):
                parent[draw(NAMES)] = parent.pop(step)
    return document


def garbage(documents: list[bytes]) -> st.SearchStrategy[bytes]:
    """Bytes that are hardly ever a document: noise, cut and spliced documents, other JSON, and the usual traps."""
    whole = st.sampled_from(documents)
    cut = st.tuples(whole, st.integers(0, 4000)).map(lambda pair: pair[0][: pair[1] % (len(pair[0]) + 1)])
    pieces = st.binary(min_size=1, max_size=3) | st.just(b"\xff")
    spliced = st.tuples(whole, pieces, st.integers(0, 4000)).map(_splice)
    json_values = VALUES.map(lambda value: json.dumps(value).encode())
    return st.one_of(st.binary(max_size=60), cut, spliced, json_values, st.sampled_from(TRAPS))


def _splice(parts: tuple[bytes, bytes, int]) -> bytes:
    document, piece, where = parts
    where %= len(document) + 1
    return document[:where] + piece + document[where + len(piece) :]


TRAPS = [
    b"",
    b" ",
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"NaN",
    b"-",
    b"\x00",
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf",
    b'{"a":NaN}',
    b'{"a":1e999}',
    b'{"a":' + b"9" * 5000 + b"}",
    b'{"a":"\xff"}',
    b'{"a":"\\ud800"}',
    b'{"a":"\\udc00\\ud800"}',
    b'{"a":1,}',
    b"{'a':1}",
    b'{"a":1}{"b":2}',
    b"<html><body>502 Bad Gateway</body></html>",
    b"[" * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b'[{"a":' * 700 + b"1" + b"}]" * 700,
]
"""Inputs that have broken other readers of JSON."""
