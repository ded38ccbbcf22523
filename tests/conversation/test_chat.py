"""Chats: turns that are kept or leave no trace, waiting for the user, the end of a conversation, stores, limits."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import anyio
import httpx
import pytest
from pytest_httpx import HTTPXMock

from llm_rest import (
    AgentMessage,
    Conversation,
    FunctionCall,
    FunctionCallOutput,
    HistoryLimits,
    MemoryConversationStore,
    Message,
    PromptContext,
    SQLiteConversationStore,
    end_conversation_tool,
    errors,
    get_conversation_tool,
    send_message_tool,
    tool,
)
from llm_rest.conversation.limits import SUMMARY, SUMMARY_PROMPT
from llm_rest.responses import AnyItem
from llm_rest.responses.request import items_of
from llm_rest.testing import Broken, Streamed, ToolCall
from tests.callers import NewClient, answer
from tests.conversation.support import Host, asked, client, counted, done, pieces, texts_of

pytestmark = pytest.mark.anyio


FAILURE, TOO_LONG = errors.InternalServerError("no"), errors.ContextLengthError("too long")
OSLO = ToolCall("weather", {"city": "Oslo"})
QUESTION = ToolCall("send_message", {"message": "Which?", "is_question": True})
END = ToolCall("end_conversation", {"reason": "all done"})


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"4 degrees in {city}"


@tool(needs_approval=True)
def delete(name: str) -> str:
    """Delete a file."""
    return f"{name} is gone"


def texts(talk: Conversation | list[AnyItem]) -> list[str]:
    return texts_of(talk.items if isinstance(talk, Conversation) else talk)


async def ran(chat: Any, *arguments: Any) -> Any:
    """A turn as a run."""
    return await done((await done(chat.run(*arguments))).result())


async def reply_of(turn: Any, chat: Any, *arguments: Any) -> Any:
    found = await turn(chat, *arguments)
    return found[1].reply if isinstance(found, tuple) else found


def parameters(host: Host) -> dict[str, set[str]]:
    """The parameters that the model sees, by tool."""
    return {one.name: set(one.parameters["properties"]) for one in cast("Any", host.requests[0].tools)}


# --- turns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [asked, pieces, ran])
async def test_every_turn_is_sent_with_the_turns_and_calls_before_it(way: str, turn: Any) -> None:
    host = Host("one", OSLO, "It is cold.", "three")
    chat = client(way, host).chat(system="Be brief.", tools=[weather])
    assert (await reply_of(turn, chat, "first")).output_text == "one"
    assert (await reply_of(turn, chat, [Message(role="user", content="second")])).output_text == "It is cold."
    await turn(chat, "third")
    before = ["first", "one", "second", "weather", "4 degrees in Oslo", "It is cold.", "third"]
    assert host.texts == before
    assert host.requests[-1].instructions == "Be brief."
    assert texts(chat.conversation) == [*before, "three"]


async def test_a_run_of_a_turn_is_watched_and_approved(way: str) -> None:
    host = Host(ToolCall("delete", {"name": "a"}), "Done.")
    chat = client(way, host).chat(tools=[delete])
    run = await done(chat.run("delete a"))
    assert (await done(run.result())).function_calls
    assert chat.conversation.items == []
    run.approve(run.pending_calls[0].call_id)
    assert (await done(run.result())).output_text == "Done."
    await done(run.result())
    assert texts(chat.conversation) == ["delete a", "delete", "a is gone", "Done."]


async def test_a_turn_that_waits_for_an_approval_is_an_error_with_its_run(way: str) -> None:
    chat = client(way, Host(*[ToolCall("delete", {"name": "a"})] * 2)).chat(tools=[delete])
    for turn in (asked, pieces):
        with pytest.raises(errors.ToolError, match="delete") as caught:
            await turn(chat, "delete a")
        assert caught.value.run.pending_calls[0].name == "delete"
        assert chat.conversation.items == []


CALLED = ["FunctionCall", "FunctionCallOutput"]
BROKEN_OFF: dict[str, tuple[list[Any], type[errors.LLMError], list[str]]] = {
    "an error": ([OSLO, FAILURE], errors.APIStatusError, CALLED),
    "too many rounds": ([OSLO], errors.MaxIterationsError, CALLED),
    "cancelled": ([ToolCall("stop", {})], errors.CallCancelledError, CALLED),
    "a question and an error": ([QUESTION, FAILURE], errors.APIStatusError, CALLED),
    "a broken stream": ([["half an answer", Broken("connection")]], errors.StreamInterruptedError, ["Message"]),
}
"""Answers of a turn that fails, the error, and what `keep_partial` keeps of it."""


@pytest.mark.parametrize("turn", [asked, pieces, ran])
@pytest.mark.parametrize("kind", BROKEN_OFF)
async def test_a_turn_that_fails_leaves_no_trace_or_its_finished_rounds(way: str, turn: Any, kind: str) -> None:
    if kind == "a broken stream" and turn is not pieces:
        pytest.skip("is not streamed")
    answers, error, kept = BROKEN_OFF[kind]

    @tool
    def stop() -> str:
        """Cancel everything."""
        llm.cancel()
        return "stopped"

    store, llm = MemoryConversationStore(), client(way, Host("one", *answers, *answers, "two"))
    tools = [weather, stop, send_message_tool(lambda message: None)]
    chat = llm.chat(tools=tools, store=store, max_iterations=1 if kind == "too many rounds" else 5)
    await asked(chat, "first")
    before = chat.conversation.save()
    with pytest.raises(error):
        await turn(chat, "second")
    assert store.get(chat.conversation.id).save() == chat.conversation.save() == before
    chat.keep_partial = True
    with pytest.raises(error):
        await turn(chat, "second")
    assert texts(chat.conversation)[:3] == ["first", "one", "second"]
    assert [type(item).__name__ for item in chat.conversation.items[3:]] == kept
    assert "half an answer" in texts(chat.conversation)[-1] or kept is CALLED
    assert chat.conversation.is_waiting_for_response is (answers[0] is QUESTION), "which was sent"
    await turn(chat, "third")
    assert texts(store.get(chat.conversation.id))[-2:] == ["third", "two"]


async def test_a_stream_that_is_left_cancels_the_turn_and_keeps_its_text_if_that_is_wanted(way: str) -> None:
    chat = client(way, Host("a b c d e f", "a b c d e f")).chat()
    await pieces(chat, "first", most=2)
    assert chat.conversation.items == []
    chat.keep_partial = True
    found, _ = await pieces(chat, "first", most=2)
    assert texts(chat.conversation) == ["first", "".join(found)]


async def test_a_cancelled_task_leaves_the_conversation_as_it_was(way: str) -> None:
    if way == "sync":
        pytest.skip("nothing cancels a thread")

    @tool
    async def wait() -> str:
        """Wait for a long time."""
        waiting.set()
        await anyio.sleep(60)
        return "never"

    store = MemoryConversationStore()
    answers = ["one", ToolCall("wait", {}), ToolCall("wait", {})]
    chat = client(way, Host(*answers)).chat(tools=[wait], store=store)
    await asked(chat, "first")
    before = chat.conversation.save()
    for keep in (False, True):
        chat.keep_partial = keep
        waiting = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(asked, chat, "second")
            await waiting.wait()
            group.cancel_scope.cancel()
        assert (chat.conversation.save() == before) is not keep
        assert len(store.get(chat.conversation.id).items) == (5 if keep else 2)


async def test_a_stream_that_is_not_entered_starts_nothing(way: str) -> None:
    host = Host("one")
    stream = client(way, host).chat().stream("first")
    with pytest.raises(errors.ConfigError):
        await done(next(stream) if way == "sync" else stream.__anext__())
    with pytest.raises(errors.ConfigError):
        _ = stream.reply
    assert host.requests == []


@pytest.mark.parametrize("input", ["", " ", [], [""], None])
async def test_an_empty_turn_is_refused(way: str, input: Any) -> None:
    chat = client(way, Host()).chat(conversation=Conversation(items=[Message(role="user", content="Hi")]))
    with pytest.raises(errors.ConfigError):
        await asked(chat, input)


@pytest.mark.parametrize("options", [{"temprature": 1}, {"limits": 20}, {"conversation": "conv_1"}])
async def test_wrong_options_are_refused_when_the_chat_is_made(way: str, options: Any) -> None:
    with pytest.raises(errors.ConfigError):
        client(way, Host()).chat(**options)


async def test_a_conversation_that_changed_during_a_turn_is_not_overwritten(way: str) -> None:
    def changes(request: Any) -> Any:
        chat.conversation.add("from elsewhere")
        return "late"

    chat = client(way, Host(changes)).chat()
    with pytest.raises(errors.ConfigError, match="changed"):
        await asked(chat, "first")
    assert texts(chat.conversation) == ["from elsewhere"]


# --- context --------------------------------------------------------------------------------------------------------


async def test_context_comes_before_the_history_and_providers_before_each_question(way: str) -> None:
    count = iter(range(10))
    context = PromptContext([("developer", "fixed in the chat")], [lambda: ("user", f"provided {next(count)}")])
    if way != "sync":

        async def later() -> str:
            return "awaited"

        context.add_provider(later)
    more = [] if way == "sync" else ["awaited"]
    host = Host("one", "two")
    chat = client(way, host).chat(system="Be brief.", context=context)
    chat.conversation.set_context([("developer", "fixed in the conversation")])
    await asked(chat, "first")
    await asked(chat, "second")
    assert host.texts == [
        *("fixed in the conversation", "fixed in the chat"),
        *("provided 0", *more, "first", "one"),
        *("provided 1", *more, "second"),
    ]
    assert texts(chat.conversation)[0] == "provided 0"


# --- waiting for the user -------------------------------------------------------------------------------------------


async def test_a_question_waits_for_the_users_next_turn(way: str) -> None:
    sent: list[AgentMessage] = []

    async def deliver_later(message: AgentMessage) -> None:
        sent.append(message)

    deliver: Any = sent.append if way == "sync" else deliver_later
    tools = [weather, send_message_tool(deliver, source="desk", priority="high")]
    host = Host(
        OSLO,
        ToolCall("send_message", {"message": "Cold.", "is_question": False}),
        ToolCall("send_message", {"message": "Which city next?", "is_question": True}),
        "I wait.",
        "Rome it is.",
    )
    store = MemoryConversationStore()
    chat = client(way, host).chat(tools=tools, store=store)
    await asked(chat, "Oslo?", message_id="msg-7")
    assert sent == [
        AgentMessage(message="Cold.", is_question=False, source="desk", priority="high"),
        AgentMessage(message="Which city next?", is_question=True, source="desk", priority="high"),
    ]
    assert parameters(host) == {"weather": {"city"}, "send_message": {"message", "is_question"}}
    assert chat.conversation.is_waiting_for_response
    pending = store.get(chat.conversation.id).pending_context
    assert pending is not None
    assert pending == chat.conversation.pending_context
    assert pending.original_message_id == "msg-7"
    assert pending.tool_calls_completed == ["weather", "send_message", "send_message"]
    assert pending.last_agent_message == "Which city next?"
    await asked(chat, "Rome")
    assert not chat.conversation.is_waiting_for_response
    assert not store.get(chat.conversation.id).is_waiting_for_response


# --- the end of a conversation --------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [asked, pieces])
async def test_the_model_ends_a_conversation_and_a_new_one_begins_with_the_summary(way: str, turn: Any) -> None:
    store = MemoryConversationStore()
    host = Host(END, "Goodbye.", "They said hello.", "Hello again.")
    end = end_conversation_tool(model="openai/gpt-4o-mini")
    chat = client(way, host).chat(system="Be brief.", tools=[end], store=store)
    ended = chat.conversation
    await turn(chat, "Hi")
    assert host.texts[-1] == SUMMARY_PROMPT
    assert parameters(host) == {"end_conversation": {"reason"}}
    assert [request.model for request in host.requests] == ["gpt-4o", "gpt-4o", "gpt-4o-mini"]
    stored = store.get(ended.id)
    assert (stored.state.reason, stored.state.summary) == ("all done", "They said hello.")
    assert stored.state.completed_at is not None
    assert ended.state.completed_at is not None
    assert len(stored.items) == 4
    assert chat.conversation.id != ended.id
    assert texts(chat.conversation) == [SUMMARY + "They said hello."]
    await turn(chat, "And now?")
    assert host.texts == [SUMMARY + "They said hello.", "And now?"]
    assert host.requests[-1].instructions == "Be brief."
    assert len(store.get(chat.conversation.id).items) == 3
    assert [entry.id for entry in store.list(completed=True)] == [ended.id]


async def test_a_conversation_whose_summary_fails_stays_open(way: str) -> None:
    store = MemoryConversationStore()
    host = Host(END, "Bye.", FAILURE, "Still here.")
    chat = client(way, host).chat(tools=[end_conversation_tool()], store=store)
    talk = chat.conversation
    assert (await asked(chat, "Hi")).output_text == "Bye."
    assert isinstance(chat.end_error, errors.APIStatusError)
    assert chat.conversation is talk
    assert store.get(talk.id).state.completed_at is None
    assert (await asked(chat, "Hello?")).output_text == "Still here."
    assert len(store.get(talk.id).items) == 6


async def test_the_model_reads_completed_conversations_only(way: str) -> None:
    store = MemoryConversationStore()
    talks = [Conversation(items=[Message(role="user", content=f"About {i}")]) for i in range(12)]
    for talk in talks:
        store.create(talk)
    for talk in talks[:11]:
        store.complete(talk.id, summary=f"sum of {talk.id}")
    calls: list[dict[str, Any]] = [
        *({}, {"list_recent": 3}, {"conversation_id": talks[2].id}),
        *({"conversation_id": talks[11].id}, {"conversation_id": "conv_none"}),
    ]
    host = Host([ToolCall("get_conversation", one) for one in calls], "fine")
    await asked(client(way, host).chat(tools=[get_conversation_tool(store)]), "What did we say?")
    assert parameters(host) == {"get_conversation": {"conversation_id", "list_recent"}}
    outputs: list[Any] = [item.output for item in items_of(host.requests[-1]) if isinstance(item, FunctionCallOutput)]
    assert [len(json.loads(output)) for output in outputs[:2]] == [10, 3]
    assert talks[11].id not in outputs[0]
    found = json.loads(outputs[2])
    assert found["messages"] == [{"role": "user", "content": "About 2"}]
    assert found["summary"] == f"sum of {talks[2].id}"
    assert "no completed conversation" in outputs[3]
    assert "no completed conversation" in outputs[4]


# --- stores ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SQLiteConversationStore]:
    with SQLiteConversationStore(tmp_path / "talks.db", timeout=0.05) as store:
        yield store


async def test_another_process_goes_on_with_a_stored_conversation(way: str, file: SQLiteConversationStore) -> None:
    chat = client(way, Host("one")).chat(system="Be brief.", store=file)
    await asked(chat, "first")
    host = Host("two", "three")
    with SQLiteConversationStore(file.path) as other:
        again = client(way, host).chat(conversation=chat.conversation.id, store=other)
        await asked(again, "second")
    assert host.texts == ["first", "one", "second"]
    assert host.requests[0].instructions == "Be brief."
    loaded = file.get(chat.conversation.id)
    loaded.add("a note")
    await asked(client(way, host).chat(conversation=loaded, store=file), "third")
    assert texts(file.get(chat.conversation.id)) == ["first", "one", "second", "two", "a note", "third", "three"]


async def asked_elsewhere(chat: Any, way: str, file: Any) -> None:
    await asked(client(way, Host("elsewhere")).chat(conversation=chat.conversation.id, store=file), "second")


async def item_deleted(chat: Any, way: str, file: Any) -> None:
    del chat.conversation.items[1]


async def item_changed(chat: Any, way: str, file: Any) -> None:
    chat.conversation.items[1].content[0].text = "changed"
    with pytest.raises(errors.StoreError):
        await asked(client(way, Host("four")).chat(conversation=chat.conversation, store=file), "third")


@pytest.mark.parametrize("change", [asked_elsewhere, item_deleted, item_changed])
async def test_a_conversation_that_is_not_the_stored_one_any_more_is_a_conflict(
    way: str, file: SQLiteConversationStore, change: Any
) -> None:
    chat = client(way, Host("one", "two", "three", "four")).chat(store=file)
    await asked(chat, "first")
    await change(chat, way, file)
    mine, stored = [*chat.conversation.items], file.get(chat.conversation.id)
    with pytest.raises(errors.StoreError) as caught:
        await asked(chat, "third")
    assert caught.value.reason == "conflict"
    assert chat.conversation.items == mine
    assert file.get(chat.conversation.id) == stored
    chat.conversation = chat.conversation.fork()
    await asked(chat, "fourth")
    assert file.get(chat.conversation.id).items == [*mine, *chat.conversation.items[len(mine) :]]


BROKEN = {
    "locked": ("BEGIN IMMEDIATE", "ROLLBACK"),
    "full": ("PRAGMA max_page_count=8", "PRAGMA max_page_count=100000"),
    "read_only": ("PRAGMA query_only=ON", "PRAGMA query_only=OFF"),
    "damaged": ("UPDATE conversations SET head='{'||head", "UPDATE conversations SET head=substr(head, 2)"),
    "not_found": ("UPDATE conversations SET id='x'||id", "UPDATE conversations SET id=substr(id, 2)"),
}
"""What makes a store refuse a turn, by the reason that it gives, and what mends it."""


@pytest.mark.parametrize("turn", [asked, pieces])
@pytest.mark.parametrize("reason", BROKEN)
async def test_a_turn_that_cannot_be_stored_is_not_kept(
    way: str, file: SQLiteConversationStore, turn: Any, reason: str
) -> None:
    chat = client(way, Host("one", Streamed("tw" + "o" * 20_000, size=5000), "three")).chat(store=file)
    await asked(chat, "first")
    before, stored = chat.conversation.save(), file.get(chat.conversation.id)
    breaks, mends = BROKEN[reason]
    mine: Any = file._db  # pyright: ignore[reportPrivateUsage]  (what a disk or another program does to it)
    with closing(sqlite3.connect(file.path, isolation_level=None)) as another:
        other = another if reason == "locked" else mine
        other.execute(breaks)
        with pytest.raises(errors.StoreError) as caught:
            await turn(chat, "second")
        assert (caught.value.reason, file.path in str(caught.value)) == (reason, True)
        assert caught.value.retryable is (reason == "locked")
        assert chat.conversation.save() == before
        other.execute(mends)
    assert file.get(chat.conversation.id) == stored
    await turn(chat, "second")
    assert texts(file.get(chat.conversation.id)) == ["first", "one", "second", "three"]


# --- limits ---------------------------------------------------------------------------------------------------------


async def test_a_chat_sends_whole_turns_within_its_limits_and_keeps_all(way: str) -> None:
    host = Host("one", "two", "three", "four")
    context = PromptContext([("user", "fixed")])
    chat = client(way, host).chat(system="Be brief.", limits=HistoryLimits(max_items=4), context=context)
    for text in ("first", "second", "third"):
        await asked(chat, text)
    assert host.texts == ["fixed", "second", "two", "third"]
    assert host.requests[-1].instructions == "Be brief."
    await pieces(chat, "fourth")
    assert host.texts == ["fixed", "third", "three", "fourth"]
    assert len(chat.conversation.items) == 8


@pytest.mark.parametrize(
    ("answers", "limits", "sizes"),
    [
        # The vendor reports 100 tokens for each of the estimate.
        ([counted("x" * 40, 1000)] * 3, HistoryLimits(max_tokens=1500), [1, 1, 1]),
        (["x" * 40] * 3, HistoryLimits(max_tokens=1500), [1, 3, 5]),
        (["x" * 40] * 3, HistoryLimits(max_tokens=3, count=len), [1, 3, 3]),
    ],
)
async def test_tokens_are_counted_by_an_estimate_that_the_vendors_count_corrects_or_by_a_function(
    way: str, answers: list[Any], limits: HistoryLimits, sizes: list[int]
) -> None:
    host = Host(*answers)
    chat = client(way, host).chat(limits=limits)
    for text in ("a" * 40, "b" * 40, "c" * 40):
        await asked(chat, text)
    assert host.sizes == sizes


async def test_tokens_are_counted_by_the_vendor(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    def answers(request: httpx.Request) -> httpx.Response:
        items = json.loads(request.content)["input"]
        counts = {"object": "response.input_tokens", "input_tokens": len(items) if isinstance(items, list) else 1}
        return httpx.Response(200, json=counts if request.url.path.endswith("/input_tokens") else answer("fine"))

    httpx_mock.add_callback(answers, is_reusable=True)
    chat = await done(new_client().chat(limits=HistoryLimits(max_tokens=3, count="vendor")))
    for text in ("aaaa", "bbbb", "cccc"):
        await asked(chat, text)
    sent = httpx_mock.get_requests()
    assert [request.url.path.rsplit("/", 1)[-1] for request in sent] == [
        *("input_tokens", "responses", "input_tokens", "responses", "input_tokens", "input_tokens", "responses")
    ]
    assert len(json.loads(sent[-1].content)["input"]) == 3


async def test_a_summary_replaces_what_is_left_out_and_is_kept_with_the_conversation(way: str) -> None:
    store = MemoryConversationStore()
    host = Host("one", "two", "the summary", "three", "four")
    chat = client(way, host).chat(limits=HistoryLimits(max_items=4, compact="summary"), store=store)
    for text in ("first", "second", "third"):
        reply = await asked(chat, text)
    assert host.texts == [SUMMARY + "the summary", "third"]
    assert len(reply.info.attempts) == 2
    assert len(chat.conversation.items) == 6
    again = client(way, host).chat(conversation=chat.conversation.id, store=store)
    await asked(again, "fourth")
    assert host.texts == [SUMMARY + "the summary", "third", "three", "fourth"]


@pytest.mark.parametrize("turn", [asked, pieces])
async def test_a_request_that_is_too_long_is_compacted_once_and_seen_as_an_attempt(way: str, turn: Any) -> None:
    host = Host("one", "two", TOO_LONG, "the summary", "three")
    chat = client(way, host).chat(limits=HistoryLimits(compact="summary"))
    await turn(chat, "first")
    await turn(chat, "second")
    reply = await reply_of(turn, chat, "third")
    assert [attempt.outcome for attempt in reply.info.attempts] == ["context_length", "200", "200"]
    assert host.texts[0] == SUMMARY + "the summary"
    assert host.texts[-1] == "third"
    assert texts(chat.conversation) == ["first", "one", "second", "two", "third", "three"]


@pytest.mark.parametrize(
    ("limits", "answers"),
    [
        (None, [TOO_LONG]),
        (HistoryLimits(max_items=20), [TOO_LONG]),
        (HistoryLimits(compact="summary"), [TOO_LONG, "the summary", TOO_LONG]),
    ],
)
async def test_a_request_that_is_or_stays_too_long_is_an_error(way: str, limits: Any, answers: list[Any]) -> None:
    chat = client(way, Host("one", *answers)).chat(limits=limits)
    await asked(chat, "first")
    before = chat.conversation.save()
    with pytest.raises(errors.ContextLengthError):
        await asked(chat, "second")
    assert chat.conversation.save() == before


async def test_the_vendors_own_compaction_replaces_what_is_left_out(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    compacted = {
        "id": "cmp_1",
        "object": "response.compaction",
        "created_at": 1,
        "output": [{"type": "compaction", "id": "cmp_2", "encrypted_content": "opaque"}],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    }
    for body in (answer("one"), answer("two"), compacted, answer("three")):
        httpx_mock.add_response(json=body)
    chat = await done(new_client().chat(limits=HistoryLimits(max_items=4, compact="vendor")))
    for text in ("first", "second", "third"):
        await asked(chat, text)
    sent = httpx_mock.get_requests()
    assert sent[2].url.path.endswith("/compact")
    assert [item["type"] for item in json.loads(sent[-1].content)["input"]] == ["compaction", "message"]
    assert chat.conversation.without_carriers().compacted is None


async def test_a_long_run_shortens_itself(way: str) -> None:
    calls = [ToolCall("weather", {"city": f"town {i}"}) for i in range(8)]
    host = Host(*calls, "Cold everywhere.")
    llm = client(way, host)
    run = llm.run("Everywhere?", [weather], limits=HistoryLimits(max_items=5, rounds=True))
    reply = await done(run.result())
    assert reply.output_text == "Cold everywhere."
    assert max(host.sizes) <= 6
    assert host.texts[0] == "Everywhere?"
    assert len(run.state.items) == 18
    for request in host.requests:
        items = items_of(request)
        made = [item.call_id for item in items if isinstance(item, FunctionCall)]
        assert made == [item.call_id for item in items if isinstance(item, FunctionCallOutput)]


@pytest.mark.parametrize("turn", [asked, pieces])
async def test_tokens_of_summaries_are_counted_in_the_reply(way: str, turn: Any) -> None:
    host = Host("one", "two", counted("the summary", 100), counted("three", 7))
    chat = client(way, host).chat(limits=HistoryLimits(max_items=4, compact="summary"))
    for text in ("first", "second", "third"):
        reply = await reply_of(turn, chat, text)
    assert (reply.info.metadata["input_tokens"], reply.info.metadata["api_calls"]) == ("107", "2")
    end = FunctionCall(call_id="c", name="end_conversation", arguments='{"reason": "all done"}')
    host = Host(counted(end, 7), counted("Bye.", 7), counted("short", 100))
    chat = client(way, host).chat(tools=[end_conversation_tool()])
    reply = await reply_of(turn, chat, "Hi")
    assert (reply.info.metadata["input_tokens"], reply.info.metadata["api_calls"]) == ("114", "3")


async def test_the_store_of_a_run_is_written_outside_the_event_loop(way: str, tmp_path: Path) -> None:
    threads: list[int] = []

    class Watched(SQLiteConversationStore):
        def create(self, conversation: Conversation) -> None:
            threads.append(threading.get_ident())
            super().create(conversation)

    with Watched(tmp_path / "talks.db") as store:
        chat = client(way, Host("one")).chat(store=store)
        await ran(chat, "first")
        assert (threads == [threading.get_ident()]) is (way == "sync")
        assert len(store.get(chat.conversation.id).items) == 2


async def test_later_changes_of_what_went_in_and_came_out_change_nothing(
    way: str, file: SQLiteConversationStore
) -> None:
    host, heard = Host("one", "two"), list[Any]()
    said_now, note = Message(role="user", content="first"), Message(role="user", content="now")
    context = PromptContext([("system", "Monday")], providers=[lambda: note])
    chat = client(way, host).chat(store=file, context=context, on_event=heard.append)
    found = await asked(chat, [said_now])
    kept, saved = [*texts(chat.conversation)], chat.conversation.save()
    said_now.content = note.content = "changed"
    for reply in (found, *(event.response for event in heard if hasattr(event, "response"))):
        reply.output[-1].content[0].text = "changed"
    assert (texts(chat.conversation), chat.conversation.save()) == (kept, saved) == (["now", "first", "one"], saved)
    await asked(chat, "second")
    assert host.texts == ["Monday", "now", "first", "one", "changed", "second"]
    assert file.get(chat.conversation.id) == chat.conversation
