"""What people write, and what the Responses format makes of it."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import REQUEST, Message, Request
from llm_rest.responses.normalize import normalize
from llm_rest.responses.request import items_of
from llm_rest.unknown import Unknown, extras


def read(document: Any) -> Any:
    """The document as it is understood, as plain values."""
    before = copy.deepcopy(document)
    found = msgspec.json.decode(msgspec.json.encode(REQUEST.decode(json.dumps(document))))
    normalize(document)
    assert document == before, "the document itself was changed"
    return found


def message(content: Any, role: str = "user") -> Any:
    return {"type": "message", "role": role, "content": content}


def repaired(*faults: str) -> Any:
    return {"leftovers": {"openai_responses": {"repaired": [*faults]}}}


OSLO = {"call_id": "c", "name": "weather", "arguments": '{"city":"Oslo"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "4"}
TEXT = {"type": "output_text", "text": "Let me see.", "annotations": []}
USE = {"type": "tool_use", "id": "c", "name": "weather"}
RESULT = {"type": "tool_result", "tool_use_id": "c1"}
STRANGE = {"type": "acme:item", "x": 1}

ITEMS: list[tuple[str, list[Any], list[Any]]] = [
    ("1", [{"role": "user", "content": "Hi"}], [message("Hi")]),
    ("1 roles", [{"role": "critic", "content": "Hi"}], [message("Hi", "critic")]),
    ("3", [{"id": "msg_1"}], [{"type": "item_reference", "id": "msg_1"}]),
    ("4", [{"role": "agent", "content": "Hi"}, message("Hi", "agent")], [message("Hi", "assistant")] * 2),
    ("4 human", [{"role": "human", "content": "Hi"}, message("Hi", "human")], [message("Hi")] * 2),
    *[
        (
            f"5 {kind}",
            [{"role": "user", "content": [{"type": kind, **image}]}],
            [message([{"type": "input_image", "image_url": "u", **detail}])],
        )
        for kind in ("input_image_url", "input_image")
        for image, detail in (
            ({"image_url": {"url": "u", "detail": "low"}}, {"detail": "low"}),
            ({"image_url": {"url": "u"}}, {}),
            ({"image_url": "u"}, {}),
            ({"image_url": {"url": "u"}, "detail": "high"}, {"detail": "high"}),
        )
    ],
    *[
        (
            "6 parts around the call are messages",
            [{"role": "assistant", "content": [TEXT, {**USE, field: value}, TEXT]}],
            [message([TEXT], "assistant"), {"type": "function_call", **OSLO}, message([TEXT], "assistant")],
        )
        for field in ("arguments", "input")
        for value in (OSLO["arguments"], {"city": "Oslo"})
    ],
    *[
        ("7", [{"role": "user", "content": [{**RESULT, "content": content}]}], [{**OUTPUT, "output": output}])
        for content, output in (
            ("4", "4"),
            ({"c": 4}, '{"c":4}'),
            ([{"type": "input_text", "text": "4"}], [{"type": "input_text", "text": "4"}]),
            (["4"], [{"type": "input_text", "text": "4"}]),
        )
    ],
    (
        "7 failed",
        [{"role": "user", "content": [{**RESULT, "content": "no", "is_error": True}]}],
        [{**OUTPUT, "output": "no", "is_error": True}],
    ),
    *[
        (
            "12",
            [{"type": "reasoning", "id": "rs_1", "summary": written, "effort": "low"}],
            [{"type": "reasoning", "id": "rs_1", "summary": summary}],
        )
        for written, summary in (("Hm.", [{"type": "summary_text", "text": "Hm."}]), ("", []))
    ],
    ("13", [{"type": "compaction", "summary": "They spoke of Oslo."}], [message("They spoke of Oslo.")]),
    ("14", [{"role": "user", "content": ["Hi"]}], [message([{"type": "input_text", "text": "Hi"}])]),
    (
        "14 agent",
        [{"role": "agent", "content": ["Hi"]}],
        [message([{"type": "output_text", "text": "Hi"}], "assistant")],
    ),
    ("16", [{"role": "user", "content": "Hi"}, STRANGE], [message("Hi"), STRANGE]),
    ("16 of a call", [{"type": "function_call", **OSLO, "x": 1}], [{"type": "function_call", **OSLO, "x": 1}]),
    ("19 empty", [{"role": "user", "content": []}], [message([])]),
    (
        "19 content",
        [{"role": "assistant", "content": None}],
        [message([], "assistant") | repaired("its content was null")],
    ),
    (
        "19 call_id",
        [{"type": "function_call_output", "output": "4"}],
        [{**OUTPUT, "call_id": None} | repaired("it had no call_id")],
    ),
]
"""Items as people write them, and as they are understood; named after the row of `docs/wires/openai_responses.md`."""


@pytest.mark.parametrize(("row", "written", "understood"), ITEMS, ids=[row for row, *_ in ITEMS])
def test_items_are_understood_as_people_write_them(row: str, written: list[Any], understood: list[Any]) -> None:
    """responses.request_back.1, responses.request_back.3, responses.request_back.4, responses.request_back.5,
    responses.request_back.6, responses.request_back.7, responses.request_back.12, responses.request_back.13,
    responses.request_back.14, responses.request_back.16, responses.request_back.19
    """
    assert read({"input": written}) == {"input": understood}


SCHEMA = {"name": "w", "schema": {"type": "object"}, "strict": True}
FLAT = {"type": "json_schema", **SCHEMA}
NESTED = {"type": "json_schema", "json_schema": SCHEMA}
FUNCTION = {"name": "f", "parameters": {"type": "object"}}
TWO_FORMATS = {"response_format": {"type": "json_object"}, "text": {"format": {"type": "text"}}}


@pytest.mark.parametrize(
    ("written", "understood"),
    [
        ({"input": "Hi"}, {"input": "Hi"}),
        ({"tools": [{"type": "function", "function": FUNCTION}]}, {"tools": [{"type": "function", **FUNCTION}]}),
        ({"tools": [{"type": "function", "name": "g"}]}, {"tools": [{"type": "function", "name": "g"}]}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "f"}}},
            {"tool_choice": {"type": "function", "name": "f"}},
        ),
        ({"response_format": NESTED}, {"text": {"format": FLAT}}),
        ({"response_format": FLAT}, {"text": {"format": FLAT}}),
        ({"response_format": {"type": "json_object"}}, {"text": {"format": {"type": "json_object"}}}),
        ({"response_format": NESTED, "text": {"verbosity": "low"}}, {"text": {"format": FLAT, "verbosity": "low"}}),
        ({"text": NESTED}, {"text": {"format": FLAT}}),
        ({"text": FLAT}, {"text": {"format": FLAT}}),
        ({"text": {"format": NESTED}}, {"text": {"format": FLAT}}),
        (TWO_FORMATS, TWO_FORMATS),
    ],
)
def test_options_are_understood_in_older_spellings(written: Any, understood: Any) -> None:
    """responses.request_back.8, responses.request_back.9, responses.request_back.10, responses.request_back.11"""
    assert read(written) == understood


@pytest.mark.parametrize(
    "document",
    [
        "[]",
        "null",
        '"Hi"',
        '{"input":5}',
        '{"input":[5]}',
        '{"input":[{"role":5}]}',
        '{"tools":[5]}',
        '{"text":5}',
    ],
)
def test_what_means_nothing_is_refused(document: str) -> None:
    with pytest.raises(DecodeError):
        REQUEST.decode(document)


# --- messages without a type ----------------------------------------------------------------------------------------

CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
PARTS = [
    {"type": "input_text", "text": "What is this?"},
    {"type": "input_image", "image_url": "https://a.example/b.png"},
]


@pytest.mark.parametrize(
    "kinds", [("user",), ("user", "assistant"), ("user", "call", "output", "user"), ("call", "output")]
)
@pytest.mark.parametrize("untyped", [(), (0,), (0, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("content", ["Hi", PARTS])
def test_messages_without_a_type_are_read_as_with_it(
    kinds: tuple[str, ...], untyped: tuple[int, ...], content: Any
) -> None:
    entries = [{"call": CALL, "output": OUTPUT}.get(kind) or {"role": kind, "content": content} for kind in kinds]
    typed = [{"type": "message", **item} for item in entries]
    sent = [item if i in untyped else typed[i] for i, item in enumerate(entries)]
    fields = {"model": "m", "temperature": 0.5, "tools": [{"type": "function", "name": "f", "parameters": {}}]}
    read, expected = (REQUEST.decode(msgspec.json.encode({**fields, "input": each})) for each in (sent, typed))
    assert type(read) is Request
    assert read == expected


def test_unknown_fields_and_kinds_beside_messages_without_a_type_are_kept() -> None:
    entries = [
        {"role": "user", "content": "Hi", "mood": "good"},
        {"type": "new_kind", "a": 1},
        {"role": "user", "content": "Bye"},
    ]
    found = items_of(REQUEST.decode(msgspec.json.encode({"input": entries, "new_field": 1})))
    assert [extras(found[0]) if isinstance(found[0], Message) else None, found[1]] == [
        {"mood": "good"},
        Unknown(entries[1]),
    ]
    assert isinstance(found[2], Message)
