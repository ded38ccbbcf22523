"""Unknown kinds and fields are kept, and bytes that are not a document raise `DecodeError` alone."""

from __future__ import annotations

import ast
import copy
import gc
import json
import pickle
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw, Struct, UnsetType

from llm_rest import unknown
from llm_rest.errors import DecodeError
from llm_rest.responses import (
    EVENT,
    REQUEST,
    RESPONSE,
    FunctionTool,
    InputText,
    Message,
    OutputText,
    lenient,
    normalize,
)
from llm_rest.shapes import MOST_COUNTED, MOST_FORMS, Shapes
from llm_rest.unknown import Decoder, Model, Open, Opt, Unknown, base, check_depth, extras, with_extras
from llm_rest.wires import load
from tests.laws.rows import row
from tests.support import WHOLE, WIRES
from tests.support.documents import NAMES, TRAPS, VALUES, at, canonical, places, replaced

ROW = row("openai_responses")
"""Documents without unknown fields."""
REQUEST_DOCUMENT = {**ROW.requests[0], "tools": ROW.requests[0]["tools"][:1]}
del REQUEST_DOCUMENT["metadata"]  # texts by names that the caller chooses
RESPONSE_DOCUMENT = {name: value for name, value in ROW.answers[0].items() if value is not None}
DOCUMENTS: list[tuple[Decoder[Any], dict[str, Any]]] = [(REQUEST, REQUEST_DOCUMENT), (RESPONSE, RESPONSE_DOCUMENT)]
both_documents = pytest.mark.parametrize(("decoder", "document"), DOCUMENTS, ids=["request", "response"])

MESSAGE = {"type": "message", "role": "assistant"}
OUTPUT = {"type": "function_call_output", "call_id": "c"}
SEARCH = {"type": "web_search_call"}
HERE = "the unknown kind"
OPEN: dict[str, tuple[Decoder[Any], dict[str, Any]]] = {
    "item": (REQUEST, {"input": [HERE]}),
    "part": (REQUEST, {"input": [{**MESSAGE, "content": [HERE]}]}),
    "part of an output": (REQUEST, {"input": [{**OUTPUT, "output": [HERE]}]}),
    "action": (REQUEST, {"input": [{**SEARCH, "action": HERE}]}),
    "source": (REQUEST, {"input": [{**SEARCH, "action": {"type": "search", "sources": [HERE]}}]}),
    "tool": (REQUEST, {"tools": [HERE]}),
    "format of a tool": (REQUEST, {"tools": [{"type": "custom", "name": "c", "format": HERE}]}),
    "choice": (REQUEST, {"tool_choice": HERE}),
    "format": (REQUEST, {"text": {"format": HERE}}),
    "item of an answer": (RESPONSE, {**RESPONSE_DOCUMENT, "output": [HERE]}),
    "part of an answer": (RESPONSE, {**RESPONSE_DOCUMENT, "output": [{**MESSAGE, "content": [HERE]}]}),
    "annotation": (RESPONSE, {**RESPONSE_DOCUMENT, "output": [{**MESSAGE, "content": [
        {"type": "output_text", "text": "4", "annotations": [HERE]}
    ]}]}),
    "result": (RESPONSE, {**RESPONSE_DOCUMENT, "output": [{"type": "code_interpreter_call", "outputs": [HERE]}]}),
}  # fmt: skip
"""The places that are open to unknown kinds."""


class Call(Model, tag_field="type", tag="call"):
    input: Raw
    meta: Raw | UnsetType = UNSET
    count: Opt[int] = UNSET


class Note(Model, tag_field="type", tag="note"):
    text: str
    inner: Opt[Open[Call | Note]] = UNSET


class Document(Model):
    items: list[Open[Call | Note]]
    closed: Opt[Call] = UNSET
    by_name: Opt[dict[str, Open[Call | Note]]] = UNSET


READER: Decoder[Document] = Decoder(Document)


def encoded(model: Any) -> Any:
    return json.loads(msgspec.json.encode(model))


# --- what is kept ---------------------------------------------------------------------------------------------------


@both_documents
def test_a_document_without_unknown_fields_is_decoded_in_one_pass(
    decoder: Decoder[Any], document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    entries: list[bytes] = []
    slow = Decoder._decode_open
    monkeypatch.setattr(Decoder, "_decode_open", lambda self, data: entries.append(data) or slow(self, data))
    data, fresh = json.dumps(document).encode(), new(decoder)
    assert canonical(encoded(fresh.decode(data))) == canonical(document)
    assert entries == []
    fresh.decode(json.dumps({**document, "brand_new": 1}).encode())
    assert len(entries) == 1, "the count itself is alive"


@pytest.mark.parametrize(("decoder", "document"), OPEN.values(), ids=OPEN)
@given(unknown=st.dictionaries(NAMES, VALUES, max_size=3), kind=st.text(min_size=1, max_size=8).map("new:{}".format))
def test_an_unknown_kind_is_kept_wherever_a_union_is_open(
    decoder: Decoder[Any], document: dict[str, Any], unknown: dict[str, Any], kind: str
) -> None:
    """BUGS 61"""
    (place,) = [place for place in places(document) if at(document, place) == HERE]
    changed = replaced(document, place, {**unknown, "type": kind})
    assert canonical(encoded(decoder.decode(json.dumps(changed).encode()))) == canonical(changed)


@both_documents
@given(data=st.data())
def test_an_unknown_field_is_kept_on_any_object_of_a_document(
    decoder: Decoder[Any], document: dict[str, Any], data: st.DataObject
) -> None:
    """BUGS 61"""
    changed: Any = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        objects = [place for place in places(changed) if isinstance(at(changed, place), dict)]
        place = objects[data.draw(st.integers(0, len(objects) - 1))]
        name = "x_" + data.draw(NAMES)
        changed = replaced(changed, place, {**at(changed, place), name: data.draw(VALUES)})
    assert canonical(encoded(decoder.decode(json.dumps(changed).encode()))) == canonical(changed)


def test_an_unknown_kind_is_a_dict_with_its_type() -> None:
    (item,) = READER.decode(b'{"items":[{"type":"later","n":1}]}').items
    assert isinstance(item, Unknown)
    assert isinstance(item, dict)
    assert (item.kind, item["n"]) == ("later", 1)
    assert pickle.loads(pickle.dumps(item)) == copy.copy(item) == copy.deepcopy(item) == item
    assert type(copy.deepcopy(item)) is Unknown
    for tag in ("7", "null", "[]", "{}", "true", '""'):
        (item,) = READER.decode(f'{{"items":[{{"type":{tag}}}]}}').items
        assert isinstance(item, Unknown)
        assert item.kind == ""


def test_unknown_kinds_and_fields_are_kept_inside_known_ones_and_in_dictionaries() -> None:
    document = {
        "items": [
            {"type": "note", "text": "a", "inner": {"type": "note", "text": "b", "inner": {"type": "x"}}},
            {"type": "n\u006fte", "text": "t", "new": 1},
        ],
        "by_name": {"k": {"type": "y", "z": [1]}, "l": {"type": "note", "text": "t", "w": 1}},
    }
    data = json.dumps(document).encode()
    assert encoded(READER.decode(data)) == encoded(READER.decode(b"\xef\xbb\xbf" + data)) == document
    (item,) = READER.decode(rb'{"items":[{"type":"n\u006fte","text":"t","new":1}]}').items
    assert isinstance(item, Note)


def test_tool_arguments_keep_their_bytes_also_beside_unknown_fields() -> None:
    spelled = b'{"z": 1.0,  "a": 1e2, "n": 10000000000000000000000}'
    for extra in (b"", b',"new":1', b',"closed":{"type":"call","input":0,"later":null}'):
        document = READER.decode(b'{"items":[{"type":"call","input":' + spelled + b"}]" + extra + b"}")
        (call,) = document.items
        assert isinstance(call, Call)
        assert bytes(call.input) == spelled


def test_a_repair_gets_only_what_does_not_fit_and_the_rest_keeps_its_bytes() -> None:
    seen: list[Any] = []
    decoder: Decoder[Document] = Decoder(Document, repair=lambda plain: seen.append(plain) or {"items": [], **plain})
    data = b'{"items":[{"type":"call","input":1.50}],"new":1}'
    assert msgspec.json.encode(decoder.decode(data)) == data
    assert len(seen) == 1
    decoder.decode(b'{"items":[{"type":"note","text":"t"}]}')
    assert len(seen) == 1
    assert decoder.decode(b'{"entries":[]}').items == []


# --- extended structs behave as structs -----------------------------------------------------------------------------


@given(st.dictionaries(NAMES.filter(lambda name: name not in ("type", "text")), VALUES, max_size=4))
def test_a_struct_with_unknown_fields_is_still_that_struct(fields: dict[str, Any]) -> None:
    plain = InputText(text="hi")
    part = with_extras(plain, fields)
    assert isinstance(part, InputText)
    assert (part.text, extras(part), base(part)) == ("hi", fields, plain)
    assert canonical(encoded(part)) == canonical({"type": "input_text", "text": "hi", **fields})
    for twin in (copy.copy(part), copy.deepcopy(part), pickle.loads(pickle.dumps(part)), with_extras(plain, fields)):
        assert twin == part
        assert extras(twin) == fields
        assert canonical(encoded(twin)) == canonical(encoded(part))
    assert (part == plain, plain == part) == (not fields, not fields)
    assert msgspec.structs.replace(part, text="new") == with_extras(InputText(text="new"), fields)


def test_equality_compares_kind_fields_and_unknown_fields() -> None:
    part = with_extras(InputText(text="a"), {"n": 1, "m": 2})
    assert part == with_extras(InputText(text="a"), {"m": 2, "n": 1})
    assert part != with_extras(InputText(text="b"), {"n": 1, "m": 2})
    assert part != with_extras(InputText(text="a"), {"n": 1, "m": 3})
    assert part != with_extras(OutputText(text="a"), {"n": 1, "m": 2})
    assert part != "a"
    assert Message(role="user", content=[part]) != Message(role="user", content=[base(part)])


def test_unknown_fields_can_be_replaced_and_removed_and_a_deep_copy_shares_nothing() -> None:
    part = with_extras(with_extras(InputText(text="a"), {"n": 1}), {"m": [2]})
    extras(copy.deepcopy(part))["m"].append(3)
    assert extras(part) == {"m": [2]}
    assert type(base(part)) is type(with_extras(InputText(text="a"), {})) is InputText


def test_a_struct_with_unknown_fields_has_a_repr_matches_its_class_and_renames_its_fields() -> None:
    assert repr(with_extras(InputText(text="a"), {"n": 1})) == "InputText(text='a')+{'n': 1}"
    match with_extras(FunctionTool(name="f", async_=True), {"n": 1}):
        case FunctionTool(name="f") as tool:
            assert encoded(tool) == {"type": "function", "name": "f", "async": True, "n": 1}
        case _:
            raise AssertionError("no match")


def test_a_field_name_that_needs_an_escape_in_json_is_an_error() -> None:
    for name in ('a"b', "a\\b", "a\x00b", "a\nb"):
        with pytest.raises(DecodeError, match=r"^\$\.items\[0\]: Note: an invalid field name"):
            READER.decode(json.dumps({"items": [{"type": "note", "text": "t", name: 1}]}).encode())


# --- what it costs --------------------------------------------------------------------------------------------------


def test_an_instance_outlives_the_class_cache() -> None:
    (note,) = READER.decode(b'{"items":[{"type":"note","text":"t","kept":1}]}').items
    unknown._extended.cache_clear()
    assert encoded(note) == {"type": "note", "text": "t", "kept": 1}
    assert pickle.loads(pickle.dumps(note)) == note
    assert READER.decode(b'{"items":[{"type":"note","text":"t","kept":1}]}').items == [note]


@pytest.mark.parametrize(
    "items",
    [
        [{"type": "note", "text": "t", **{f"f{i}": i for i in range(1000)}}],
        [{"type": "note", "text": "t", f"f{i}": i} for i in range(2000)],
    ],
    ids=["on one object", "in one document"],
)
def test_the_number_of_unknown_fields_is_limited(items: list[Any]) -> None:
    with pytest.raises(DecodeError, match="too many unknown fields on Note"):
        READER.decode(json.dumps({"items": items}).encode())
    items = [{"type": "note", "text": "t", "new": i} for i in range(5000)]
    assert encoded(READER.decode(json.dumps({"items": items}).encode())) == {"items": items}


# --- errors ---------------------------------------------------------------------------------------------------------


ERRORS: list[tuple[bytes | str, str, list[str]]] = [
    (b'{"items":[{"type":"note","text":5}]}', "$.items[0].text", ["Expected `str`", "got `int`"]),
    (b'{"items":[{"type":"note"}]}', "$.items[0]", ["Note", "required", "text"]),
    (b'{"items":[{"type":"note","text":"t","new":1},{"type":"note","text":null}]}', "$.items[1].text", ["null"]),
    (b'{"items":{}}', "$.items", ["Expected `array`", "got `object`"]),
    (b'{"items":[7]}', "$.items[0]", ["Expected `object`", "got `int`"]),
    (b'{"by_name":{"a":1},"items":[]}', "$.by_name.a", ["Expected", "got `int`"]),
    (b'{"items":[],"closed":{"type":"note","text":"t"}}', "$.closed.type", ["Invalid value 'note'"]),
    (b"[]", "$", ["Expected `object`", "got `array`"]),
    (b"null", "$", ["Expected `object`", "got `null`"]),
    (b"{}", "$", ["Document", "required", "items"]),
    (b'{"items":[', "$", ["not valid JSON", "truncated"]),
    (b'{"items":[]}}', "$", ["not valid JSON", "trailing"]),
    (b'{"items":[{"type":"note","text":NaN}]}', "$", ["not valid JSON"]),
    (b'{"items":[{"type":"note","text":"\xff"}]}', "$", ["not valid UTF-8"]),
    (b'{"items":[{"type":"note","text":"\\ud800"}]}', "$", ["not valid JSON"]),
    (b'{"items":' + b"[" * 500, "$", ["nested deeper than 400 levels"]),
    ('{"items":[{"type":"note","text":"\ud800"}]}', "$", ["not valid UTF-8"]),
    ("", "$", ["not valid JSON"]),
]
"""Documents, the place of the error, and what its message has."""


def test_an_error_names_the_place_what_was_expected_and_what_came() -> None:
    for data, path, words in ERRORS:
        with pytest.raises(DecodeError) as caught:
            READER.decode(data)
        error = caught.value
        assert (error.path, str(error).partition(": ")[0]) == (path, path), data
        assert [word for word in words if word not in str(error)] == [], data
        assert error.__cause__ is None, "another library's exception is not shown"
        assert error.__suppress_context__ or error.__context__ is None, data


def test_a_trap_inside_a_document_is_an_error_or_kept_as_it_is() -> None:
    for trap in TRAPS:
        data = b'{"items":[{"type":"call","input":' + trap + b',"new":1}]}'
        with suppress(DecodeError):
            assert msgspec.json.encode(READER.decode(data)) == data


NESTED = st.recursive(
    st.sampled_from(['"["', '"\\"[{"', '"\\\\"', "1", "null", '"é]}"']),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda pieces: f"[{','.join(pieces)}]")
        | st.lists(inner, max_size=3).map(
            lambda pieces: "{" + ",".join(f'"[k{i}":{p}' for i, p in enumerate(pieces)) + "}"
        )
    ),
    max_leaves=12,
)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@given(NESTED, st.integers(0, 6))
def test_depth_is_counted_outside_strings(text: str, limit: int) -> None:
    raw = text.encode()
    if depth(json.loads(text)) > limit:
        with pytest.raises(DecodeError, match=f"deeper than {limit}"):
            check_depth(raw, limit)
    else:
        check_depth(raw, limit)


def test_the_number_of_objects_with_unknown_kinds_or_fields_is_limited() -> None:
    few: Decoder[Any] = Decoder(Document, most_unknown=10)
    for new in ({"type": "new"}, {"type": "note", "text": "t", "new": 1}):
        items = [{"type": "note", "text": "t"}] * 50 + [new] * 10
        assert len(few.decode(json.dumps({"items": items}).encode()).items) == 60
        with pytest.raises(DecodeError, match=r"\$\.items\[60\]: too many objects of unknown kinds") as caught:
            few.decode(json.dumps({"items": [*items, new]}).encode())
        assert caught.value.path == "$.items[60]"


# --- remembered shapes ----------------------------------------------------------------------------------------------


class Forgetful(Shapes):
    """Remembers no shapes."""

    def due(self, seen: set[Any]) -> Iterator[Any]:
        return iter(())


def new(decoder: Decoder[Any], shapes: Shapes | None = None) -> Decoder[Any]:
    """A new decoder of the same documents, which remembers no shapes unless it is given a place for them."""
    made = copy.copy(getattr(decoder, "inner", decoder))  # of documents that came over a line, too
    made._shapes, made._first = Forgetful() if shapes is None else shapes, None
    return made


def outcome(decoder: Decoder[Any], data: bytes) -> Any:
    """All that can be seen of what a decoder makes of a document: classes, JSON, repr; or the error with its place."""
    try:
        found = decoder.decode(data)
    except DecodeError as problem:
        return str(problem), problem.path, problem.limited
    return classes(found), msgspec.json.encode(found), re.sub(" at 0x[0-9a-f]+", "", repr(found))  # of a `Raw`


def classes(value: Any) -> Any:
    """The class of each struct in a document, and its unknown fields."""
    if isinstance(value, Struct):
        names = value.__struct_fields__
        declared = type(value).__base__ if extras(value) else type(value)
        return declared, tuple(extras(value).items()), [classes(getattr(value, name)) for name in names]
    if isinstance(value, list | tuple):
        return [type(value), *map(classes, value)]
    return [type(value), *map(classes, value.values())] if isinstance(value, dict) else type(value)


def with_field(document: Any, name: str, value: Any, place: tuple[str | int, ...]) -> bytes:
    return json.dumps(replaced(document, place, {**at(document, place), name: value})).encode()


def objects_of(document: Any) -> list[tuple[Any, ...]]:
    return [place for place in places(document) if isinstance(at(document, place), dict)]


DELTAS = {wire: row(wire).events[2 if wire in ("openai_responses", "anthropic_messages") else 0] for wire in WIRES}
FRAMES = [
    pytest.param(load(wire).EVENT, document, place, id=f"{wire}:{'.'.join(map(str, place))}")
    for wire, document in DELTAS.items()
    for place in objects_of(document)
]


@pytest.fixture
def slow_way(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The documents that were taken apart."""
    entries: list[bytes] = []
    value = unknown._Descent.value

    def counted(self: Any, raw: Any, form: Any, path: str) -> Any:
        if path == "$":
            entries.append(bytes(raw))
        return value(self, raw, form, path)

    monkeypatch.setattr(unknown._Descent, "value", counted)
    return entries


@pytest.mark.parametrize(("decoder", "document", "place"), FRAMES)
def test_an_unknown_field_that_was_received_twice_is_decoded_in_one_pass_with_the_same_result(
    decoder: Decoder[Any], document: dict[str, Any], place: tuple[Any, ...], slow_way: list[bytes]
) -> None:
    learning = new(decoder, Shapes())
    frames = [with_field(document, "brand_new", i, place) for i in range(8)]
    expected = [outcome(new(decoder), data) for data in frames]
    slow_way.clear()
    assert [outcome(learning, data) for data in frames] == expected
    assert len(slow_way) == 2
    found = learning.decode(frames[7])
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found == new(decoder).decode(frames[7])
    known = json.dumps(document).encode()
    assert outcome(learning, known) == outcome(new(decoder), known)


@pytest.mark.parametrize(
    ("decoder", "document"),
    DOCUMENTS + [(load(wire).EVENT, delta) for wire, delta in DELTAS.items()],
    ids=["request", "response", *DELTAS],
)
@settings(max_examples=25 if WHOLE else 10)
@given(data=st.data())
def test_the_result_does_not_depend_on_earlier_documents(
    decoder: Decoder[Any], document: dict[str, Any], data: st.DataObject
) -> None:
    learning, fresh = new(decoder, Shapes()), new(decoder)
    found = objects_of(document)
    changed = [
        with_field(document, name, value, place)
        for place in data.draw(st.lists(st.sampled_from(found), min_size=1, max_size=3))
        for name in data.draw(st.lists(st.sampled_from(["new", "later", "x_y"]), min_size=1, max_size=2))
        for value in data.draw(st.lists(VALUES, min_size=1, max_size=3))
    ]
    kind = {"type": "brand_new", "new": 1}
    other = [json.dumps(replaced(document, place, kind)).encode() for place in found[1:3]]
    broken = [changed[0][:-1], changed[0].replace(b'"new"', b'"\\n"'), b"\xef\xbb\xbf" + changed[0], *other]
    order = data.draw(st.lists(st.sampled_from([*changed, *broken, json.dumps(document).encode()]), max_size=12))
    for one in [*changed * 2, *order]:
        assert outcome(learning, one) == outcome(fresh, one)


WORDS = sorted(
    {
        node.value
        for module in (lenient, normalize)
        for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
    }
)


FAILED_EVENT = {"type": "response.failed", "sequence_number": 1, "response": ROW.answers[1]}
ERROR_EVENT = {"type": "error", "message": "m", "sequence_number": 1}


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("decoder", "document"),
    [*DOCUMENTS, (EVENT, FAILED_EVENT), (EVENT, ERROR_EVENT)],
    ids=["request", "response", "failed", "error"],
)
def test_a_field_that_a_repair_reads_is_repaired_also_after_it_was_an_unknown_one(
    decoder: Decoder[Any], document: dict[str, Any]
) -> None:
    for (i, name), (n, place) in product(enumerate(WORDS), enumerate(objects_of(document))):
        if name not in at(document, place) and (WHOLE or (i + n) % 8 == 0):
            learning, fresh = new(decoder, Shapes()), new(decoder)
            with suppress(DecodeError):
                for _ in range(2):
                    learning.decode(with_field(document, name, 5, place))
            values: list[Any] = ["x", None, {"name": "n", "type": "function"}, [{"type": "x"}]]
            for value in values if learning._shapes.decoders else ():
                data = with_field(document, name, value, place)
                assert outcome(learning, data) == outcome(fresh, data), (name, place, value)


def test_the_alias_of_a_declared_field_is_never_remembered() -> None:
    decoder = load("gemini_generate_content").EVENT
    learning = new(decoder, Shapes())
    for _ in range(4):
        learning.decode(b'{"responseId":"a","response_id":"b"}')
    data = b'{"response_id":"b"}'
    assert outcome(learning, data) == outcome(new(decoder), data)


def test_limits_hold_for_remembered_shapes_too() -> None:
    few: Decoder[Any] = Decoder(Document, most_unknown=10)
    reader: Decoder[Any] = Decoder(Document)
    new = {"type": "note", "text": "t", "new": 1}
    for _ in range(4):
        few.decode(json.dumps({"items": [new] * 3}).encode())
        reader.decode(b'{"items":[{"type":"call","input":1,"new":1}]}')
    assert few._first is not None, "the shape was remembered"
    with pytest.raises(DecodeError, match=r"\$\.items\[10\]: too many objects of unknown kinds"):
        few.decode(json.dumps({"items": [new] * 11}).encode())
    for value, words in ((b"[" * 500 + b"]" * 500, "nested deeper"), (b'"\xff"', "not valid UTF-8")):
        with pytest.raises(DecodeError, match=words):
            reader.decode(b'{"items":[{"type":"call","new":1,"input":' + value + b"}]}")


def test_new_names_in_every_document_cost_no_memory_beyond_a_bound_and_hardly_time(slow_way: list[bytes]) -> None:
    learning, fresh = new(READER, Shapes()), new(READER)

    def spent(decoder: Decoder[Any], start: int) -> int:
        began = time.process_time_ns()
        for i in range(start, start + 500):
            data = b'{"items":[{"type":"note","text":"t","field_%d":1}]}' % (i // 2)
            decoder.decode(data)
        return time.process_time_ns() - began

    taken = [(spent(learning, start), spent(fresh, start + 2000)) for start in range(10_000, 22_000, 4000)]
    assert min(mine / least for mine, least in taken) < 2
    memory = learning._shapes
    assert memory._made < 14, "each needs twice as many documents as the one before"
    assert len(memory.decoders) <= MOST_FORMS
    assert len(memory._counted) <= MOST_COUNTED
    gc.collect()
    limit = unknown._extended.cache_info().maxsize
    assert len(Note.__subclasses__()) <= (limit or 0) + 10


@pytest.mark.parametrize("names", [["n" * 2000], [f"n{i}" for i in range(17)]], ids=["long", "many"])
def test_shapes_with_many_or_long_names_are_not_remembered(names: list[str], slow_way: list[bytes]) -> None:
    learning = new(READER, Shapes())
    data = json.dumps({"items": [{"type": "note", "text": "t", **dict.fromkeys(names, 1)}]}).encode()
    for _ in range(5):
        learning.decode(data)
    assert len(slow_way) == 5


def test_two_hosts_with_fields_of_their_own_are_both_remembered(slow_way: list[bytes]) -> None:
    learning = new(READER, Shapes())
    hosts = [b'{"items":[{"type":"note","text":"t","%s":1}]}' % name for name in (b"one", b"two", b"three")]
    for data in hosts * 10:
        learning.decode(data)
    slow_way.clear()
    for data in hosts * 10:
        learning.decode(data)
    assert slow_way == []


def test_unknown_fields_have_the_order_of_their_names_whatever_order_they_came_in() -> None:
    learning = new(READER, Shapes())
    for fields in (b'"b":1,"a":2', b'"a":2,"b":1') * 4:
        (note,) = learning.decode(b'{"items":[{"type":"note","text":"t",' + fields + b"}]}").items
        assert msgspec.json.encode(note) == b'{"type":"note","text":"t","a":2,"b":1}'


def test_threads_share_a_decoder() -> None:
    learning = new(REQUEST, Shapes())
    names = [f"new_{i % 3}" for i in range(6)]
    frames = [with_field(REQUEST_DOCUMENT, name, 1, place) for place in objects_of(REQUEST_DOCUMENT) for name in names]
    expected = [msgspec.json.encode(new(REQUEST).decode(data)) for data in frames]

    def work(_: int) -> list[bytes]:
        return [msgspec.json.encode(learning.decode(data)) for data in frames]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(8))) == [expected] * 8


HUGE = {
    "openai_chat": '{"model":"m","messages":[{"role":"user","content":"hi","new":1e400}],"new":{"x":[-1e999,1]}}',
    "anthropic_messages": '{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":5,"safety":{"x":1e400}}',
    "gemini_generate_content": '{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"safetySettings":[{"x":1e400}]}',
    "ollama_chat": '{"model":"m","messages":[{"role":"user","content":"hi"}],"options":{"new":1e400}}',
    "openai_responses": '{"model":"m","input":"hi","new":1e400}',
}


@pytest.mark.parametrize("name", HUGE)
def test_a_number_beyond_floats_goes_back_as_it_came_in_any_unknown_field(name: str) -> None:
    wire = load(name)
    request, _ = wire.decode_request(wire.REQUEST.decode(HUGE[name].encode()))
    body, lost = wire.encode_request(request)
    assert (msgspec.json.encode(body).decode(), lost) == (HUGE[name], [])


@pytest.mark.parametrize("name", HUGE)
def test_a_number_beyond_floats_in_a_schema_reaches_every_wire(name: str) -> None:
    properties = '{"a":{"type":"number","maximum":1e400}}'
    parameters = f'{{"type":"object","properties":{properties}}}'
    raw = f'{{"model":"m","input":"hi","tools":[{{"type":"function","name":"f","parameters":{parameters}}}]}}'
    request, _ = load("openai_responses").decode_request(load("openai_responses").REQUEST.decode(raw.encode()))
    assert b"maximum" in (body := msgspec.json.encode(load(name).encode_request(request)[0]))
    assert b"1e400" in body
