"""Opaque state comes back to the turn it belongs to, when a client returns that turn without it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from llm_rest.responses import Request, Response
from llm_rest.responses.items import AnyItem, FunctionCall, FunctionCallOutput, Message, Reasoning
from llm_rest.responses.parts import ReasoningText
from llm_rest.server.history import Restored, with_neutral_ids
from llm_rest.server.store import MemoryStore
from llm_rest.sync import drive

THOUGHT = Reasoning(summary=[], encrypted_content="llm_rest.1.anthropic_messages.anthropic.e30")
USER = Message(role="user", content="Weather?")
ASKED = Request(model="m", input=[USER])


def call(name: str, call_id: str = "c1", arguments: str = '{"city":"Oslo"}') -> FunctionCall:
    return FunctionCall(call_id=call_id, name=name, arguments=arguments)


def output(call_id: str = "c1") -> FunctionCallOutput:
    return FunctionCallOutput(call_id=call_id, output="sunny")


def kept(*items: AnyItem, scope: str = "s") -> Restored:
    restored = Restored(MemoryStore())
    drive(restored.remember(ASKED, ASKED, Response(id="r", status="completed", output=list(items)), scope))
    return restored


def returned(restored: Restored, *items: AnyItem, scope: str = "s") -> list[AnyItem]:
    request = drive(restored.restored(Request(model="m", input=list(items)), scope))
    assert isinstance(request.input, list)
    return request.input


ITEMS: dict[str, AnyItem] = {
    "user": USER,
    "other-user": Message(role="user", content="And in Oslo?"),
    "text": Message(role="assistant", content="Sunny."),
    "added": Message(role="assistant", content="Let me see."),
    "thought": THOUGHT,
    "whole-thought": replace(THOUGHT, content=[ReasoningText(text="Hm.")]),
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


def test_calls_without_state_are_with_neutral_ids_under_the_same_names_every_time() -> None:
    sent = Request(model="m", input=[USER, call("a"), output(), THOUGHT, call("b", "c2"), output("c2")])
    first, again = (with_neutral_ids(sent, "anthropic_messages").input for _ in range(2))
    assert isinstance(first, list)
    assert first == again
    name = first[1].call_id if isinstance(first[1], FunctionCall) else ""
    assert name not in ("", "c1")
    assert first == [USER, call("a", name), output(name), THOUGHT, call("b", "c2"), output("c2")]
    elsewhere = with_neutral_ids(sent, "gemini_generate_content").input
    assert isinstance(elsewhere, list)
    assert call("b", "c2") not in elsewhere, "a thought of another vendor's is nothing there"


def test_a_turn_that_every_client_returns_whole_is_not_kept() -> None:
    store = MemoryStore()
    answered = Response(id="r", status="completed", output=[call("weather")])
    drive(Restored(store).remember(ASKED, ASKED, answered, "s"))
    assert drive(store.get("s", "call:m:c1")) is None


GEMINIS = Reasoning(summary=[], encrypted_content="llm_rest.1.gemini_generate_content.google.e30")


@pytest.mark.parametrize("whole", [False, True], ids=["plain", "whole"])
@pytest.mark.parametrize(("thought", "bound"), [(THOUGHT, True), (GEMINIS, False)])
def test_a_thought_is_left_out_where_what_it_is_bound_to_has_changed(
    thought: Reasoning, bound: bool, whole: bool
) -> None:
    restored = kept(thought, call("weather"))
    turn = [*([thought] if whole else []), call("weather"), output()]
    without, complete = [call("weather"), output()], [thought, call("weather"), output()]
    changed = Message(role="user", content="Weather, please?")
    assert returned(restored, changed, *turn) == [changed, *without], "it answers something else"
    told = Message(role="system", content="It is three o'clock.")
    assert returned(restored, told, USER, *turn) == [told, USER, *(without if bound else complete)]
    instructed = Request(model="m", instructions="Now be brief.", input=[USER, *turn])
    assert drive(restored.restored(instructed, "s")).input == [USER, *(without if bound else complete)]


def test_a_thought_is_left_out_after_one_that_was_forgotten() -> None:
    store = MemoryStore()
    restored = Restored(store)
    first = [USER, THOUGHT, call("a"), output(), USER]
    second = Reasoning(summary=[], encrypted_content=THOUGHT.encrypted_content)
    for sent, items in ((ASKED, first[1:3]), (Request(model="m", input=[*first]), [second, call("b", "c2")])):
        drive(restored.remember(ASKED, sent, Response(id="r", status="completed", output=items), "s"))
    plain = (USER, call("a"), output(), USER, call("b", "c2"), output("c2"))
    assert returned(restored, *plain) == [*first, second, call("b", "c2"), output("c2")]
    for name in ("call:m:c1", next(key for _, key in store._kept if key.startswith("turn:"))):
        drive(store.delete("s", name))
    assert returned(restored, *plain) == [*plain]


def test_a_client_on_the_wire_of_a_vendor_whose_thoughts_are_bound_has_to_know() -> None:
    restored = kept(THOUGHT, call("weather"))
    sent = [Message(role="user", content="Changed."), THOUGHT, call("weather"), output()]
    assert drive(restored.restored(Request(model="m", input=[*sent]), "s", "anthropic_messages")).input == sent


def test_two_models_that_answer_one_caller_the_same_keep_their_own_thoughts() -> None:
    restored = Restored(MemoryStore())
    thoughts = {
        "google/a": GEMINIS,
        "google/b": Reasoning(summary=[], encrypted_content="llm_rest.1.gemini_generate_content.google.e31"),
    }
    for model, thought in thoughts.items():
        answered = Response(id="r", status="completed", output=[thought, call("weather", "call_0")])
        drive(restored.remember(ASKED, Request(model=model, input=[USER]), answered, "s"))
    for model, thought in thoughts.items():
        for call_id in ("call_0", "call_made_up"):
            sent = Request(model=model, input=[USER, call("weather", call_id), output(call_id)])
            found = drive(restored.restored(sent, "s")).input
            assert found == [USER, thought, call("weather", "call_0"), output("call_0")]
