"""PromptContext and generators: what was sent once is sent again unchanged, and everything new comes after it."""

from __future__ import annotations

import json
from itertools import count, pairwise
from typing import Any

import msgspec
import pytest

from llm_rest.client.client import AsyncClient, Client
from llm_rest.client.generator import AsyncContentGenerator, ContentGenerator, PromptContext
from llm_rest.errors import ConfigError, OutputError, SchemaMismatchError
from llm_rest.responses import FunctionCallOutput, Message
from tests.conversation.support import RECORDED, done, sent
from tests.laws.harness import every_wire

pytestmark = pytest.mark.anyio

GROWS = {
    "openai_responses": "input",
    "openai_chat": "messages",
    "anthropic_messages": "messages",
    "ollama_chat": "messages",
}


class Person(msgspec.Struct):
    name: str


def said(items: Any) -> list[tuple[str, Any]]:
    return [(item.role, item.content) for item in items]


# --- context --------------------------------------------------------------------------------------------------------


def test_entries_have_roles_of_the_format_and_of_conversations() -> None:
    words = ("system", "human", "assistant", "agent", "user", "developer")
    roles = [role for role, _ in said(PromptContext([(word, "Hi") for word in words]).items)]
    assert roles == ["system", "user", "assistant", "assistant", "user", "developer"]


def test_a_provider_gives_a_text_an_entry_an_item_several_or_nothing() -> None:
    item = Message(role="user", content="d")
    given: list[Any] = ["a", ("agent", "b"), [("human", "c"), item], None, "", []]
    context = PromptContext(providers=[lambda one=one: one for one in given])
    assert said(context.provided()) == [("user", "a"), ("assistant", "b"), ("user", "c"), ("user", "d")]


@pytest.mark.parametrize(
    "options",
    [
        *[{"entries": [entry]} for entry in (("narrator", "Hi"), ("system",), ["system", 3], (1, "Hi"))],
        {"entries": "It rains."},
        {"providers": ["It rains."]},
    ],
    ids=str,
)
def test_invalid_context_is_refused_when_it_is_made(options: Any) -> None:
    with pytest.raises(ConfigError):
        PromptContext(**options)


async def test_async_providers_need_an_async_caller_and_keep_their_place() -> None:
    async def late() -> str:
        return "first"

    with pytest.raises(ConfigError, match="AsyncContentGenerator"):
        PromptContext(providers=[late]).provided()
    found = await PromptContext(providers=[late, lambda: "second"]).aprovided()
    assert said(found) == [("user", "first"), ("user", "second")]


# --- generators -----------------------------------------------------------------------------------------------------


def bodies() -> list[Any]:
    """What the last client sent, as plain JSON."""
    return [json.loads(body) for body in sent]


@every_wire
@pytest.mark.parametrize("strategy", ["native", "tool", "instructions", None])
def test_every_request_begins_with_the_one_before_it(name: str, strategy: Any) -> None:
    """BUGS 81"""
    sent.clear()
    ticks = count(1)
    entries = [("system", "Be brief."), ("human", "Are you there?"), ("agent", "Yes.")]
    context = PromptContext(entries, [lambda: f"Tick {next(ticks)}."])
    prompt = 'call answer {"name": "Ada"}' if strategy == "tool" else 'json {"name": "Ada"}'
    with Client("simulator", vendor=RECORDED, wire=name, on_loss="ignore") as llm:
        form: Any = str if strategy is None else Person
        generator = ContentGenerator(llm, prompt, form, context=context, strategy=strategy)
        values = [generator.generate()[0] for _ in range(3)]
    assert values == ['{"name":"Ada"}' if strategy is None else Person("Ada")] * 3
    grows = GROWS.get(name, "contents")
    for before, after in pairwise(bodies()):
        assert after[grows][: len(before[grows])] == before[grows]
        assert len(after[grows]) > len(before[grows])
        assert {**after, grows: None} == {**before, grows: None}
    assert [("Tick 1." in str(body), "Tick 3." in str(body)) for body in bodies()] == [
        (True, False),
        (True, False),
        (True, True),
    ]


def test_what_providers_say_stands_before_the_question_and_stays_there() -> None:
    ticks = count(1)
    with Client("simulator/simulator", wire="openai_responses") as llm:
        generator = ContentGenerator(
            llm, "say Yes.", str, context=PromptContext(providers=[lambda: f"Tick {next(ticks)}."])
        )
        assert generator.generate()[0] == "Yes."
        value, metadata = generator.generate("say No.")
    assert (value, metadata["provider"], metadata["api_calls"]) == ("No.", "simulator", "1")
    texts = [content if isinstance(content, str) else content[0].text for _, content in said(generator.history)]
    assert texts == ["Tick 1.", "say Yes.", "Yes.", "Tick 2.", "say No.", "No."]


def test_a_turn_that_failed_leaves_no_trace() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}
    with Client("simulator/simulator", wire="openai_responses") as llm:
        context = PromptContext([("system", "Be brief.")])
        generator = ContentGenerator(llm, "refuse No.", Person, context=context, max_repairs=0, tools=[tool])
        for input, error, words in [
            (None, OutputError, "refused"),
            ('json {"name": 3}', SchemaMismatchError, "name"),
            ("call f", OutputError, "the model called f, but no implementation was given"),
        ]:
            with pytest.raises(error, match=words):
                generator.generate(input)
        assert said(generator.history) == [("system", "Be brief.")]
        assert generator.generate('json {"name": "Ada"}')[0] == Person("Ada")


@every_wire
@pytest.mark.parametrize("form", [str, Person])
async def test_tools_run_before_the_answer_and_stay_in_the_history(name: str, way: str, form: Any) -> None:
    def find(name: str) -> str:
        """Find somebody."""
        return f"{name} is here."

    options: Any = {"wire": name, "on_loss": "ignore"}
    prompt = 'call find {"name": "Ada"}\njson {"name": "Ada"}'
    kinds: Any = (ContentGenerator, Client) if way == "sync" else (AsyncContentGenerator, AsyncClient)
    kind, client = kinds
    generator = kind(client("simulator/simulator", **options), prompt, form, tools=[find], max_iterations=3)
    (first, metadata), (second, _) = [
        await done(generator.generate(*input)) for input in ([], ['json {"name": "Bob"}'])
    ]
    assert [first, second] == (
        [Person("Ada"), Person("Bob")] if form is Person else ['{"name":"Ada"}', '{"name":"Bob"}']
    )
    assert (metadata["api_calls"], metadata["tool_rounds"]) == ("2", "1")
    outputs = [item.output for item in generator.history if isinstance(item, FunctionCallOutput)]
    assert outputs == ["Ada is here."]
    assert sum(getattr(item, "role", "") == "user" for item in generator.history) == 2


@pytest.mark.parametrize("prompt", ["", " \n", []])
def test_an_empty_prompt_is_refused(prompt: Any) -> None:
    with Client("simulator/simulator") as llm:
        with pytest.raises(ConfigError, match="prompt is empty"):
            ContentGenerator(llm, prompt, str)
        generator = ContentGenerator(llm, "say Yes.", str)
        with pytest.raises(ConfigError, match="input is empty"):
            generator.generate(prompt)
        generator.prompt = prompt
        with pytest.raises(ConfigError, match="prompt is empty"):
            generator.generate()


async def test_context_that_is_added_later_is_sent_with_the_next_turn_and_stays_there() -> None:
    context = PromptContext([("system", "Be brief.")])
    async with AsyncClient("simulator/simulator", wire="openai_chat") as llm:
        generator = AsyncContentGenerator(llm, "say Yes.", str, context=context)
        await generator.generate()
        generator.add_context("It rains.", ("agent", "I know."), Message(role="user", content="So?"))
        generator.add_context_provider(lambda: "It is noon.")
        context.items.append(Message(role="user", content="Well?"))
        await generator.generate()
    texts = [content if isinstance(content, str) else content[0].text for _, content in said(generator.history)]
    added = ["It rains.", "I know.", "So?", "Well?", "It is noon."]
    assert texts == ["Be brief.", "say Yes.", "Yes.", *added, "say Yes.", "Yes."]
    with pytest.raises(ConfigError, match="role"):
        generator.add_context(("narrator", "Hi"))
    with pytest.raises(ConfigError, match="context provider is a function"):
        generator.add_context_provider("It rains.")  # type: ignore[arg-type]


def test_repairs_are_no_part_of_what_was_said() -> None:
    sent.clear()
    with Client("simulator", vendor=RECORDED, wire="openai_responses") as llm:
        generator = ContentGenerator(llm, 'json {"name": 3}', Person)
        _, metadata = generator.generate()
    assert metadata["api_calls"] == "2"
    assert len(bodies()[1]["input"]) == 3
    assert [role for role, _ in said(generator.history)] == ["user", "assistant"]
