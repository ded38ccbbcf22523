"""What a type checker sees in Responses documents. Checked by `make check`, never run."""

from __future__ import annotations

from typing import Any, assert_never, assert_type

from msgspec import UnsetType

from llm_rest.responses.items import AnyItem, FunctionCall, FunctionCallOutput, Item, Message
from llm_rest.responses.request import REQUEST, Request
from llm_rest.responses.response import RESPONSE, Response, Usage
from llm_rest.responses.tools import FunctionTool
from llm_rest.unknown import Opt, Unknown, given

assert_type(REQUEST.decode(b"{}"), Request)
response = RESPONSE.decode(b"{}")
assert_type(response, Response)
assert_type(response.output, list[AnyItem])


def an_optional_field_is_absent_null_or_a_value(usage: Opt[Usage]) -> None:
    assert_type(usage, Usage | None | UnsetType)
    if given(usage):
        assert_type(usage, Usage)
    if usage:
        assert_type(usage, Usage)


def an_open_union_has_an_arm_for_what_nobody_knows(item: Message | FunctionCall | Unknown) -> str:
    match item:
        case Message(role=role):
            return role
        case FunctionCall(arguments=arguments):
            return arguments
        case Unknown():
            assert_type(item["anything"], Any)
            return item.kind
        case _:
            assert_never(item)


def inputs_are_sequences() -> None:
    said = [Message(role="user", content="Hi")]
    tools = [FunctionTool(name="f")]
    stop = ["END"]
    Request(input=said, tools=tools, stop=stop)
    history: list[Item] = [*said]
    history.append(FunctionCallOutput(call_id="c", output="4"))
    Request(input=history, tools=(*tools,))


def a_request_is_written_with_keywords() -> None:
    Request(model="claude-haiku-4-5", input="Hi", temperature=0.5, stop=["END"])
    Request(model="claude-haiku-4-5", input=[Message(role="user", content="Hi")])
    Request("claude-haiku-4-5")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Request(temprature=0.5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
