"""The one door that options come in by: checked whole against the structs, refused by name."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.client.inputs import surrogates_in, to_request
from llm_rest.client.options import FIELDS, SETTINGS, Options
from llm_rest.errors import ConfigError
from llm_rest.responses import FunctionTool, Message, Request
from llm_rest.responses.request import REQUEST
from llm_rest.transport import Timeouts


def test_the_keywords_are_the_fields_of_a_request() -> None:
    assert set(Options.__annotations__) == FIELDS
    assert set() == FIELDS & SETTINGS


def test_the_request_shares_nothing_with_what_was_given() -> None:
    schema: dict[str, Any] = {"type": "object"}
    message = Message(role="user", content="Hi")
    request = to_request([message], {"tools": [FunctionTool(name="f", parameters=schema)]})
    schema["type"], message.content = "array", "Bye"
    assert request.tools == [FunctionTool(name="f", parameters={"type": "object"})]
    assert request.input == [Message(role="user", content="Hi")]


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(plain, st.dictionaries(st.sampled_from(sorted(FIELDS)), plain, max_size=3))
def test_anything_makes_a_request_that_can_be_sent_or_a_configuration_error(
    input: Any, options: dict[str, Any]
) -> None:
    with contextlib.suppress(ConfigError):
        request = to_request(input, options)
        try:
            assert REQUEST.decode(msgspec.json.encode(request)) == request
        except UnicodeEncodeError:
            assert "surrogate" in surrogates_in(request).message


def test_none_is_left_out_unless_it_is_in_a_whole_request() -> None:
    assert to_request("Hi", {"temperature": None, "tools": None}) == Request(input="Hi")
    assert to_request(Request(input="Hi", temperature=None), {}).temperature is None
    assert not to_request(None, {"prompt": {"id": "pmpt_1"}}).input


@pytest.mark.parametrize("name", ["connect", "first_byte", "read", "stall", "total"])
def test_every_limit_is_seconds_or_no_limit_in_words(name: str) -> None:
    def made(value: Any) -> Timeouts:
        return Timeouts(**{name: value})

    assert getattr(made("none"), name) == "none"
    assert getattr(made(1.5), name) == 1.5
    assert made(None) == Timeouts()
    for wrong in (0, -1, float("inf"), float("nan"), True, "never", [1]):
        with pytest.raises(ConfigError, match=f'timeout {name} must be a positive number of seconds or "none"'):
            made(wrong)
