"""Opaque state comes back to the turn it belongs to, when a client returns that turn without it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from llm_rest.responses import Request, Response
from llm_rest.responses.items import (
    AnyItem,
    Compaction,
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
    Search,
    WebSearchCall,
)
from llm_rest.responses.parts import ReasoningText
from llm_rest.server.handler import Context
from llm_rest.server.history import StoredHistory
from llm_rest.server.store import MemoryStore
from llm_rest.sync import drive

THOUGHT = Reasoning(summary=[], encrypted_content="llm_rest.1.anthropic_messages.anthropic.e30")
USER = Message(role="user", content="Weather?")
ASKED = Request(model="m", input=[USER])


def call(name: str, call_id: str = "c1", arguments: str = '{"city":"Oslo"}') -> FunctionCall:
    return FunctionCall(call_id=call_id, name=name, arguments=arguments)


def output(call_id: str = "c1") -> FunctionCallOutput:
    return FunctionCallOutput(call_id=call_id, output="sunny")


def caller(wire: str) -> Context:
    return Context(wire=wire, dialect=None, vendor=None, headers={}, body=b"", scope="s")


def keep(history: StoredHistory, sent: Request, *items: AnyItem) -> None:
    answered = Response(id="r", status="completed", output=list(items))
    drive(history.after(sent, sent, answered, caller("ollama_chat")))


def kept(*items: AnyItem) -> StoredHistory:
    history = StoredHistory()
    keep(history, ASKED, *items)
    return history


def returned(
    history: StoredHistory, *items: AnyItem, model: str = "m", wire: str = "ollama_chat", vendor: str = "ollama_chat"
) -> list[AnyItem]:
    request = drive(history.before(Request(model=model, input=list(items)), vendor, caller(wire)))
    assert isinstance(request.input, list)
    return request.input


ITEMS: dict[str, AnyItem] = {
    "user": USER,
    "other-user": Message(role="user", content="And in Oslo?"),
    "text": Message(role="assistant", content="Sunny."),
    "added": Message(role="assistant", content="Let me see."),
    "thought": THOUGHT,
    "whole-thought": replace(THOUGHT, content=[ReasoningText(text="Hm.")]),
    "search": WebSearchCall(id="ws_1", action=Search(query="Oslo")),
    "compacted": Compaction(encrypted_content="of the vendor"),
    "forged": Reasoning(summary=[], encrypted_content="another"),
    "call": call("weather", arguments='{"city":"Oslo","n":1}'),
    "call-spaced": call("weather", arguments='{ "n": 1, "city": "Oslo" }'),
    "call-rome": call("weather", arguments='{"city":"Rome"}'),
    "call-time": call("time"),
    "call-own": call("weather", "toolu_1"),
    "call-new": call("weather", "call_made_up"),
    "output": output(),
    "output-own": output("toolu_1"),
    "output-new": output("call_made_up"),
}
TURNS = """
a thought is put before its call      | thought call       | user call output               | user thought call output
arguments may be spelled otherwise    | thought call       | user call-spaced output        | user thought call output
other arguments are another call      | thought call       | user call-rome output          | user call-rome output
another name is another call          | thought call       | user call-time output          | user call-time output
a client may make up the ids of calls | thought call-own   | user call-new output-new       | user thought call-own output-own
a text names its turn                 | thought text       | user text user                 | user thought text user
what a turn brings stays              | thought call       | user thought call output       | user thought call output
a thought gets the text that it lost  | whole-thought call | user thought call output       | user whole-thought call output
a search of the vendor is in its turn | thought search text | user thought search text user  | user thought search text user
a search comes back with its turn     | thought search text | user text user                 | user thought search text user
a compaction is in its turn, once     | compacted thought text | user compacted thought text | user compacted thought text
an edited turn loses what it brings   | thought call       | user thought added call output | user added call output
forged state is replaced              | thought call       | user forged call output        | user thought call output
the same text elsewhere is another    | thought text       | other-user text user           | other-user text user
the same call elsewhere is another    | thought call-own   | other-user call-new output-new | other-user call-new output-new
"""
"""What is to be seen; what the vendor answered; what the client sends; what the vendor gets."""


@pytest.mark.parametrize("row", TURNS.strip().splitlines())
def test_a_turn_gets_its_opaque_state_again_where_it_is_the_same_turn(row: str) -> None:
    answered, sent, expected = ([ITEMS[name] for name in part.split()] for part in row.split("|")[1:])
    assert returned(kept(*answered), *sent) == expected


def test_calls_without_state_have_generated_ids_that_are_always_the_same() -> None:
    sent = [USER, call("a"), output(), THOUGHT, call("b", "c2"), output("c2")]
    first, again = (returned(StoredHistory(), *sent, vendor="anthropic_messages") for _ in range(2))
    assert first == again
    name = first[1].call_id if isinstance(first[1], FunctionCall) else ""
    assert name not in ("", "c1")
    assert first == [USER, call("a", name), output(name), THOUGHT, call("b", "c2"), output("c2")]
    elsewhere = returned(StoredHistory(), *sent, vendor="gemini_generate_content")
    assert call("b", "c2") not in elsewhere, "a thought of another vendor's is nothing there"
    assert returned(StoredHistory(), *sent) == sent, "a vendor on the caller's wire gets the caller's ids"


def test_a_turn_that_every_client_returns_whole_is_not_kept() -> None:
    store = MemoryStore()
    keep(StoredHistory(store), ASKED, call("weather"))
    assert drive(store.get("s", "call:m:c1")) is None


GEMINIS = Reasoning(summary=[], encrypted_content="llm_rest.1.gemini_generate_content.google.e30")


@pytest.mark.parametrize("whole", [False, True], ids=["plain", "whole"])
@pytest.mark.parametrize("thought", [THOUGHT, GEMINIS])
def test_a_thought_is_left_out_where_the_question_has_changed(thought: Reasoning, whole: bool) -> None:
    history = kept(thought, call("weather"))
    turn = [*([thought] if whole else []), call("weather"), output()]
    changed = Message(role="user", content="Weather, please?")
    assert returned(history, changed, *turn) == [changed, call("weather"), output()], "it answers something else"
    told = Message(role="system", content="It is three o'clock.")
    assert returned(history, told, USER, *turn) == [told, USER, thought, call("weather"), output()]


def test_a_client_on_the_wire_of_a_vendor_whose_thoughts_are_bound_has_to_know() -> None:
    sent = [Message(role="user", content="Changed."), THOUGHT, call("weather"), output()]
    wire = "anthropic_messages"
    assert returned(kept(THOUGHT, call("weather")), *sent, wire=wire, vendor=wire) == sent


def test_two_models_that_answer_one_caller_the_same_keep_their_own_thoughts() -> None:
    history = StoredHistory()
    thoughts = {
        "google/a": GEMINIS,
        "google/b": Reasoning(summary=[], encrypted_content="llm_rest.1.gemini_generate_content.google.e31"),
    }
    for model, thought in thoughts.items():
        keep(history, Request(model=model, input=[USER]), thought, call("weather", "call_0"))
    for model, thought in thoughts.items():
        for call_id in ("call_0", "call_made_up"):
            found = returned(history, USER, call("weather", call_id), output(call_id), model=model)
            assert found == [USER, thought, call("weather", "call_0"), output("call_0")]


def test_equal_calls_in_two_conversations_keep_their_own_thoughts() -> None:
    history, turn = StoredHistory(), [call("weather"), output()]
    answers = {
        "My PIN is 1111.": replace(GEMINIS, content=[ReasoningText(text="The PIN is 1111.")]),
        "My PIN is 2222.": replace(GEMINIS, content=[ReasoningText(text="The PIN is 2222.")]),
    }
    for text, thought in answers.items():
        keep(history, Request(model="m", input=[Message(role="user", content=text), USER]), thought, call("weather"))
    for text, thought in answers.items():
        before = Message(role="user", content=text)
        assert returned(history, before, USER, *turn) == [before, USER, thought, *turn]
    edited = Message(role="user", content="Something else.")
    assert returned(history, edited, USER, *turn) == [edited, USER, *turn], "it may be of either"
