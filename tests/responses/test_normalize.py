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


def items(*written: Any) -> Any:
    return read({"input": list(written)})["input"]


def message(content: Any, role: str = "user") -> Any:
    return {"type": "message", "role": role, "content": content}


def test_a_plain_string_is_the_input() -> None:
    assert read({"input": "Hi"}) == {"input": "Hi"}


def test_a_message_needs_no_type() -> None:
    """responses.request_back.1"""
    assert items({"role": "user", "content": "Hi"}) == [message("Hi")]


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer", "critic"])
def test_a_role_of_the_format_stays(role: str) -> None:
    assert items({"role": role, "content": "Hi"}) == [message("Hi", role)]


@pytest.mark.parametrize(("written", "role"), [("agent", "assistant"), ("human", "user")])
@pytest.mark.parametrize("kind", [{}, {"type": "message"}])
def test_roles_in_the_words_of_conversations_are_understood(written: str, role: str, kind: Any) -> None:
    """responses.request_back.4"""
    assert items({**kind, "role": written, "content": "Hi"}) == [message("Hi", role)]
    assert Message(role=written, content="Hi") == Message(role=role, content="Hi")


def test_an_id_alone_refers_to_an_item() -> None:
    """responses.request_back.3"""
    assert items({"id": "msg_1"}) == [{"type": "item_reference", "id": "msg_1"}]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({"image_url": {"url": "u", "detail": "low"}}, {"image_url": "u", "detail": "low"}),
        ({"image_url": {"url": "u"}}, {"image_url": "u"}),
        ({"image_url": "u"}, {"image_url": "u"}),
        ({"image_url": {"url": "u"}, "detail": "high"}, {"image_url": "u", "detail": "high"}),
    ],
)
@pytest.mark.parametrize("kind", ["input_image_url", "input_image"])
def test_an_image_may_be_nested(kind: str, image: Any, expected: Any) -> None:
    """responses.request_back.5"""
    assert items({"role": "user", "content": [{"type": kind, **image}]}) == [
        message([{"type": "input_image", **expected}])
    ]


@pytest.mark.parametrize("field", ["arguments", "input"])
@pytest.mark.parametrize("value", ['{"city":"Oslo"}', {"city": "Oslo"}])
def test_a_call_inside_a_message_is_an_item(field: str, value: Any) -> None:
    """responses.request_back.6"""
    text = {"type": "output_text", "text": "Let me see.", "annotations": []}
    use = {"type": "tool_use", "id": "c", "name": "weather", field: value}
    assert items({"role": "assistant", "content": [text, use, text]}) == [
        message([text], "assistant"),
        {"type": "function_call", "call_id": "c", "name": "weather", "arguments": '{"city":"Oslo"}'},
        message([text], "assistant"),
    ]


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("4", "4"),
        ({"c": 4}, '{"c":4}'),
        ([{"type": "input_text", "text": "4"}], [{"type": "input_text", "text": "4"}]),
        (["4"], [{"type": "input_text", "text": "4"}]),
    ],
)
def test_a_result_inside_a_message_is_an_item(content: Any, output: Any) -> None:
    """responses.request_back.7"""
    result = {"type": "tool_result", "tool_use_id": "c", "content": content}
    assert items({"role": "user", "content": [result]}) == [
        {"type": "function_call_output", "call_id": "c", "output": output}
    ]


def test_a_failed_result_says_so() -> None:
    """responses.request_back.7"""
    result = {"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}
    assert items({"role": "user", "content": [result]})[0]["is_error"] is True


def test_a_nested_function_tool_is_flat() -> None:
    """responses.request_back.8"""
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    assert read({"tools": [tool, {"type": "function", "name": "g"}]})["tools"] == [
        {"type": "function", "name": "f", "parameters": {"type": "object"}},
        {"type": "function", "name": "g"},
    ]


def test_a_nested_choice_is_flat() -> None:
    """responses.request_back.9"""
    assert read({"tool_choice": {"type": "function", "function": {"name": "f"}}})["tool_choice"] == {
        "type": "function",
        "name": "f",
    }


SCHEMA = {"name": "w", "schema": {"type": "object"}, "strict": True}
FLAT = {"type": "json_schema", **SCHEMA}
NESTED = {"type": "json_schema", "json_schema": SCHEMA}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ({"response_format": NESTED}, {"format": FLAT}),
        ({"response_format": FLAT}, {"format": FLAT}),
        ({"response_format": {"type": "json_object"}}, {"format": {"type": "json_object"}}),
        ({"response_format": NESTED, "text": {"verbosity": "low"}}, {"format": FLAT, "verbosity": "low"}),
        ({"text": NESTED}, {"format": FLAT}),
        ({"text": FLAT}, {"format": FLAT}),
        ({"text": {"format": NESTED}}, {"format": FLAT}),
    ],
)
def test_the_format_that_was_asked_for_stands_below_text(written: Any, text: Any) -> None:
    """responses.request_back.10, responses.request_back.11"""
    assert read(written) == {"text": text}


def test_two_formats_are_not_guessed_between() -> None:
    both = {"response_format": {"type": "json_object"}, "text": {"format": {"type": "text"}}}
    assert read(both) == both


@pytest.mark.parametrize(("written", "summary"), [("Hm.", [{"type": "summary_text", "text": "Hm."}]), ("", [])])
def test_a_summary_may_be_one_string(written: str, summary: Any) -> None:
    """responses.request_back.12"""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": written, "effort": "low"}
    assert items(reasoning) == [{"type": "reasoning", "id": "rs_1", "summary": summary}]


def test_a_readable_compaction_is_what_the_user_said() -> None:
    """responses.request_back.13"""
    assert items({"type": "compaction", "summary": "They spoke of Oslo."}) == [message("They spoke of Oslo.")]


def test_a_bare_string_is_a_part_in_the_voice_of_its_role() -> None:
    """responses.request_back.14"""
    assert items({"role": "user", "content": ["Hi"]}, {"role": "agent", "content": ["Hi"]}) == [
        message([{"type": "input_text", "text": "Hi"}]),
        message([{"type": "output_text", "text": "Hi"}], "assistant"),
    ]


def repaired(*faults: str) -> Any:
    return {"leftovers": {"openai_responses": {"repaired": [*faults]}}}


def test_an_empty_message_stays_a_message() -> None:
    assert items({"role": "user", "content": []}, {"role": "assistant", "content": None}) == [
        message([]),
        message([], "assistant") | repaired("its content was null"),
    ]


def test_an_output_without_a_call_id_has_none() -> None:
    """responses.request_back.19"""
    assert items({"type": "function_call_output", "output": "4"}) == [
        {"type": "function_call_output", "call_id": None, "output": "4"} | repaired("it had no call_id")
    ]


@pytest.mark.parametrize(
    "item",
    [{"type": "acme:item", "x": 1}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "", "x": 1}],
)
def test_what_is_not_recognised_stays_as_it_is(item: Any) -> None:
    """responses.request_back.16"""
    assert items({"role": "user", "content": "Hi"}, item)[1] == item


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


def test_the_older_spelling_and_the_new_one_are_the_same_request() -> None:
    older = {
        "input": [
            {"role": "agent", "content": [{"type": "tool_use", "id": "c", "name": "f", "arguments": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "4"}]},
        ],
        "response_format": NESTED,
    }
    newer = {
        "input": [
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "4"},
        ],
        "text": {"format": FLAT},
    }
    decoded: Request = REQUEST.decode(json.dumps(older))
    assert decoded == REQUEST.decode(json.dumps(newer))


# --- messages without a type ----------------------------------------------------------------------------------------

CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "4"}
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
