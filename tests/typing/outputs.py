"""What a type checker sees of typed output. Checked by `make check`, never run."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, assert_type

import msgspec

from llm_rest import AsyncClient, AsyncContentGenerator, Client, ContentGenerator, Message, PromptContext


class Person(msgspec.Struct):
    name: str


class Place(TypedDict):
    city: str


def a_type_gives_its_value(llm: Client) -> None:
    assert_type(llm.generate_json("Ada", Place, max_repairs=2, strategy="tool"), Place)
    assert_type(llm.generate_json("Ada", list[Person]), list[Person])
    assert_type(llm.generate_json("Ada", {"type": "object"}), Any)
    assert_type(llm.generate("Ada", output=Person).parsed, Any)


async def an_async_client_is_awaited(llm: AsyncClient) -> None:
    assert_type(await llm.generate_json("Ada", Person), Person)
    assert_type((await llm.generate("Ada", output=Literal["a"])).parsed, Any)


def the_elements_of_a_streamed_list_are_typed(llm: Client) -> None:
    with llm.stream_json("Count", tuple[int, ...]) as numbers:
        assert_type(list(numbers.elements()), list[int])
    with llm.stream_json("Count", {"type": "array"}) as plain:
        for one in plain.elements():
            assert_type(one, Any)
    llm.stream_json("Ada", Person).elements()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def a_generator_gives_a_value_and_metadata(llm: Client) -> None:
    question = [Message(role="user", content="Who?")]
    assert_type(ContentGenerator(llm, question, str).generate(question), tuple[str, dict[str, str]])
    assert_type(ContentGenerator(llm, "Who?", Person, tools=[len]).generate(), tuple[Person, dict[str, str]])


async def an_async_generator_is_awaited(llm: AsyncClient) -> None:
    async def now() -> str:
        return "It is noon."

    context = PromptContext([("system", "Be brief."), ("agent", "Yes?")], [now, lambda: ("human", "Hello")])
    assert_type(
        await AsyncContentGenerator(llm, "Who?", Person, context=context).generate(), tuple[Person, dict[str, str]]
    )
