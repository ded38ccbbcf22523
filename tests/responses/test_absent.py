"""What is absent in the Responses format is `None`, and every struct of several kinds says which it is."""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from llm_rest.errors import DecodeError
from llm_rest.responses import REQUEST, RESPONSE, Usage, events, items, parts, request, response, tools
from llm_rest.unknown import ResponsesModel, Unknown

STRUCTS: list[type[ResponsesModel]] = [
    value
    for module in (items, parts, tools, request, response, events)
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, ResponsesModel) and value.__module__ == module.__name__
]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_no_field_is_unset(struct: type[ResponsesModel]) -> None:
    """FINDINGS D1"""
    assert UNSET not in struct.__struct_defaults__
    hints: dict[str, Any] = get_type_hints(struct)
    assert [name for name in struct.__struct_fields__ if UnsetType in getattr(hints[name], "__args__", ())] == []


@pytest.mark.parametrize(
    "struct", [one for one in STRUCTS if one.__struct_config__.tag is not None], ids=lambda struct: struct.__name__
)
def test_the_type_of_a_struct_is_its_tag(struct: Any) -> None:
    assert struct.type == struct.__struct_config__.tag
    assert "type" not in struct.__struct_fields__


def test_nearly_every_struct_that_comes_in_kinds_was_looked_at() -> None:
    assert sum(struct.__struct_config__.tag is not None for struct in STRUCTS) > 130


def test_an_unknown_kind_says_that_it_is_unknown_and_what_it_was_called() -> None:
    answer = RESPONSE.decode(b'{"id":"r","status":"completed","output":[{"type":"later","x":1}]}')
    (item,) = answer.output
    assert isinstance(item, Unknown)
    assert (item.type, item.kind, item["type"]) == ("unknown", "later", "later")


def test_null_is_absent() -> None:
    """responses.canonical.2"""
    raw = b'{"model":null,"input":[{"type":"message","role":"user","content":"Hi","phase":null}],"store":null}'
    assert REQUEST.decode(raw) == REQUEST.decode(b'{"input":[{"type":"message","role":"user","content":"Hi"}]}')
    answer = RESPONSE.decode(b'{"id":"r","status":"completed","output":[],"model":null,"usage":null,"error":null}')
    assert (answer.model, answer.usage, answer.error) == ("", None, None)
    assert msgspec.to_builtins(answer).keys() == {"id", "object", "status", "output"}


def test_null_where_a_value_is_required_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"\$\.status"):
        RESPONSE.decode(b'{"id":"r","status":null,"output":[]}')


@pytest.mark.parametrize(
    ("counts", "total"), [({}, 7), ({"total_tokens": 0}, 0), ({"total_tokens": 9}, 9), ({"total_tokens": 8}, 8)]
)
def test_a_total_that_is_not_given_is_the_sum(counts: Any, total: int) -> None:
    usage = Usage(input_tokens=3, output_tokens=4, **counts)
    assert (usage.total_tokens, msgspec.to_builtins(usage)["total_tokens"]) == (total, total)


def test_whole_numbers_written_as_fractions_are_integers() -> None:
    usage = '{"input_tokens":3.0,"output_tokens":4e0,"input_tokens_details":{"cached_tokens":2.0}}'
    answer = RESPONSE.decode(f'{{"id":"r","status":"completed","output":[],"usage":{usage}}}')
    assert answer.usage
    assert answer.usage.input_tokens_details
    counts = (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.input_tokens_details.cached_tokens)
    assert counts == (3, 4, 2)
    assert {type(count) for count in counts} == {int}
    assert type(REQUEST.decode(b'{"max_output_tokens":100.0}').max_output_tokens) is int
