"""What a type checker sees in Responses documents. Checked by `make check`, never run."""

from __future__ import annotations

from typing import Any, assert_never, assert_type

from msgspec import UnsetType

from llm_rest.responses.events import AnyEvent, OutputTextDelta
from llm_rest.responses.items import AnyItem, FunctionCall, FunctionCallOutput, Item, Message, Reasoning
from llm_rest.responses.parts import OutputText
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


def the_type_of_an_item_tells_its_class(items: list[Item], events: list[AnyEvent]) -> None:
    for item in items:
        if item.type == "message":
            assert_type(item, Message)
            assert_type(item.text, str)
            if not isinstance(item.content, str):
                for part in item.content:
                    if part.type == "output_text":
                        assert_type(part, OutputText)
                    elif part.type == "unknown":
                        assert_type(part, Unknown)
        elif item.type == "function_call":
            assert_type(item, FunctionCall)
            assert_type(item.arguments, str)
        elif item.type == "unknown":
            assert_type(item, Unknown)
            assert_type(item.kind, str)
    for event in events:
        if event.type == "response.output_text.delta":
            assert_type(event, OutputTextDelta)


def what_is_always_there_is_never_none(response: Response) -> None:
    assert_type(response.model, str)
    assert_type(response.output_text, str)
    assert_type(response.function_calls, list[FunctionCall])
    if response.usage:
        assert_type(response.usage.total_tokens, int)


def inputs_are_sequences() -> None:
    said = [Message(role="user", content="Hi")]
    tools = [FunctionTool(name="f")]
    stop = ["END"]
    Request(input=said, tools=tools, stop=stop)
    history: list[Item] = [*said]
    history.append(FunctionCallOutput(call_id="c", output="4"))
    Request(input=history, tools=(*tools,))


def the_items_of_an_answer_are_matched_by_type(items: list[AnyItem]) -> None:
    for item in items:
        if isinstance(item, Reasoning):
            assert_type(item.encrypted_content, str | None)


def a_request_is_written_with_keywords() -> None:
    Request(model="claude-haiku-4-5", input="Hi", temperature=0.5, stop=["END"])
    Request(model="claude-haiku-4-5", input=[Message(role="user", content="Hi")])
    Request("claude-haiku-4-5")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Request(temprature=0.5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
