"""Losses name the entry of the caller's own input, or of the history that the caller can look at, in runs and chats too."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

import msgspec
import pytest

from llm_rest import AsyncClient, Client, ConfigError, HistoryLimits, LossError, Message, PromptContext, tool
from llm_rest.responses import AnyItem

pytestmark = pytest.mark.anyio

CALLS: list[Any] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in "ab"],
    },
    {"role": "tool", "tool_call_id": "a", "content": "1"},
    {"role": "tool", "tool_call_id": "b", "content": "2"},
]
"""Messages of Chat Completions, of which the first becomes two items."""

FINAL = Message(role="assistant", content="Fine.", phase="final_answer")
"""A message that this wire loses something of."""

Opened = Callable[..., Any]


@tool
def f() -> str:
    """Fails, which this wire has no mark for."""
    raise ValueError("broken")


@pytest.fixture
def opened(way: str) -> Opened:
    """Makes a client of this way, on a wire that has neither a `phase` nor a mark for failed calls."""
    kind = Client if way == "sync" else AsyncClient
    return lambda **options: kind("simulator/x", wire="openai_chat", **{"on_loss": "ignore", **options})


async def settled(found: Any) -> Any:
    return await found if isawaitable(found) else found


def paths(reply: Any) -> list[str]:
    return [loss.path for loss in reply.losses]


def question(text: str) -> Message:
    return Message(role="user", content=text)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_run_names_entries_of_its_input_and_behind_them_its_own_items(
    opened: Opened, way: str, streamed: bool
) -> None:
    run = opened().run([*CALLS, FINAL, question("call f {}\nsay Done")], tools=[f])
    if streamed and way == "sync":
        with run.stream() as events:
            assert [*events]
    elif streamed:
        async with run.stream() as events:
            assert [event async for event in events]
    assert paths(await settled(run.result())) == ["input[3].phase", "items[7]"]
    assert run.state.items[7].type == "function_call_output"


async def test_a_resumed_run_was_given_no_input(opened: Opened) -> None:
    llm = opened()
    items: list[AnyItem] = [question("Hi"), FINAL, question("say Done")]
    state = msgspec.json.encode(llm.run(items, tools=[f]).state)
    assert paths(await settled(llm.run(state=state, tools=[f]).result())) == ["items[1].phase"]


async def test_a_turn_of_a_chat_names_its_input_the_conversation_and_the_context(opened: Opened) -> None:
    chat = opened().chat(context=PromptContext([FINAL]))
    first = await settled(chat.ask([*CALLS, FINAL, question("say one")]))
    assert paths(first) == ["context[0].phase", "input[3].phase"]
    second = await settled(chat.ask([FINAL, question("say two")]))
    assert paths(second) == ["context[0].phase", "items[4].phase", "input[0].phase"]
    assert chat.conversation.items[4] == FINAL


async def test_a_shortened_history_changes_no_place(opened: Opened) -> None:
    chat = opened().chat(limits=HistoryLimits(max_items=3))
    await settled(chat.ask([question("Hi"), FINAL, question("say one")]))
    await settled(chat.ask("say two"))
    assert paths(await settled(chat.ask([question("say three"), FINAL]))) == ["input[1].phase"]


async def test_a_chat_refuses_an_entry_by_its_place_in_the_turn(opened: Opened) -> None:
    chat = opened().chat()
    await settled(chat.ask("say one"))
    with pytest.raises(ConfigError, match=r"input\[1\]"):
        await settled(chat.ask([question("Hi"), {"role": "user", "contents": 5}]))
    with pytest.raises(LossError, match=r"input\[1\]"):
        await settled(chat.ask([question("Hi"), {"type": "function_call_output", "call_id": "none", "output": "1"}]))
