"""Who spoke when: calls and their results, system messages in the middle, and what a longer conversation leaves alone."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.responses import (
    REQUEST,
    AdditionalTools,
    ByProgram,
    ComputerScreenshot,
    CustomToolCall,
    CustomToolCallOutput,
    Direct,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    InputFile,
    InputImage,
    InputText,
    Message,
    OutputText,
    Reasoning,
    RefusalPart,
    Request,
    SummaryText,
)
from llm_rest.simulator import handle
from llm_rest.unknown import Unknown
from llm_rest.wires import anthropic_messages as wire
from tests.support.facts import plain
from tests.wires.anthropic_messages.steps import (
    ADAPTIVE,
    NEW,
    OLD,
    answered,
    heard,
    kinds,
    messages,
    read,
    sent,
    text,
    user,
)


def call(id: str, arguments: str = "{}", **more: Any) -> FunctionCall:
    return FunctionCall(call_id=id, name="f", arguments=arguments, **more)


def output(id: str, said: Any = "4", **more: Any) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=id, output=said, **more)


def use(id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "f", "input": {}, **more}


def result(id: str, content: Any = "4", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


# --- calls and results ----------------------------------------------------------------------------------------------


def test_results_are_grouped_into_the_turn_that_follows_the_calls() -> None:
    """anthropic.request.17, anthropic.request.18, BUGS 31 and 35"""
    assert messages(user(), call("a"), call("b"), output("b", "5"), output("a"), user("And?")) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [use("a"), use("b")]},
        {"role": "user", "content": [result("b", "5"), result("a"), text("And?")]},
    ]


def test_text_and_calls_of_one_turn_are_one_message() -> None:
    said = Message(role="assistant", content=[OutputText(text="I look.")])
    assert messages(user(), said, call("a"), output("a"))[1]["content"] == [text("I look."), use("a")]
    said = Message(role="assistant", content="I look.")
    assert messages(user(), call("a"), said, output("a"))[1]["content"] == [use("a"), text("I look.")]


def test_calls_after_one_another_are_turns_after_one_another() -> None:
    roles = [message["role"] for message in messages(user(), call("a"), output("a"), call("b"), output("b"))]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


def test_a_result_that_comes_late_moves_up_to_its_call() -> None:
    """anthropic.request.18"""
    body, lost = sent(
        user(), call("a"), call("b"), output("a"), Message(role="assistant", content="Hm."), output("b"), user()
    )
    assert body["messages"][2]["content"] == [result("a"), result("b")]
    assert kinds(lost) == [("input[5]", "changed")]
    body, lost = sent(user(), call("a"), user("Wait."), output("a"))
    assert body["messages"][2]["content"] == [result("a"), text("Wait.")]
    assert kinds(lost) == [("input[3]", "changed")]


def test_a_call_without_a_result_and_a_result_without_a_call_are_refused() -> None:
    """anthropic.request.18 and anthropic.hard.4"""
    assert kinds(sent(user(), call("a"), user())[1]) == [("input[1]", "refused")]
    assert kinds(sent(user(), call("a"))[1]) == [("input[1]", "refused")]
    assert kinds(sent(user(), output("a"))[1]) == [("input[1]", "refused")]
    assert kinds(sent(user(), call("a"), output("a"), output("a"))[1]) == [("input[3]", "refused")]


def test_an_empty_output_has_no_content_and_an_error_is_marked() -> None:
    """anthropic.request.18 and BUGS 38"""
    found = messages(user(), call("a"), call("b"), output("a", ""), output("b", "no", is_error=True))[2]["content"]
    assert found == [{"type": "tool_result", "tool_use_id": "a"}, result("b", "no", is_error=True)]


def test_images_and_files_in_outputs_are_blocks_of_the_result() -> None:
    """anthropic.hard.11"""
    parts = [InputText(text="See:"), InputImage(file_id="file_1"), InputFile(file_url="https://example.com/a.pdf")]
    found = messages(user(), call("a"), output("a", [*parts]))[2]["content"][0]["content"]
    assert [block["type"] for block in found] == ["text", "image", "document"]


def test_an_output_of_blank_texts_is_empty() -> None:
    """BUGS 47"""
    assert messages(user(), call("a"), output("a", [InputText(text="")]))[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a"}
    ]
    body, lost = sent(user(), call("a"), output("a", [InputText(text=""), InputText(text="x")]))
    assert body["messages"][2]["content"] == [result("a", [text("x")])]
    assert kinds(lost) == [("input[2].output[0]", "dropped")]


@pytest.mark.parametrize("arguments", ['{"b": 1.0, "a": [1e3], "c": 12345678901234567890}', '{ "a" : 1 }', ' {"a":1}'])
def test_the_text_of_arguments_is_sent_as_it_is(arguments: str) -> None:
    """anthropic.request.17 and anthropic.hard.6"""
    body, lost = wire.encode_request(Request(model=NEW, input=[user(), call("a", arguments), output("a")]))
    assert (arguments.strip().encode() in msgspec.json.encode(body), lost) == (True, [])


def test_the_text_of_arguments_comes_back_as_it_was() -> None:
    """anthropic.hard.6"""
    data = b'{"type":"tool_use","id":"a","name":"f","input":{"b": 1.0,"a":1e3}}'
    document = b'{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[' + data + b"]}]}"
    request, _ = wire.decode_request(wire.REQUEST.decode(document))
    assert isinstance(request.input, list)
    (item,) = request.input
    assert isinstance(item, FunctionCall)
    assert item.arguments == '{"b": 1.0,"a":1e3}'


@pytest.mark.parametrize("arguments", ["{", '{"a": }', "[1]", '"x"', "{} {}", "\ud800"])
def test_arguments_that_are_no_object_are_sent_as_text(arguments: str) -> None:
    """anthropic.request.17"""
    body, lost = sent(user(), call("a", arguments), output("a"))
    assert body["messages"][1]["content"][0]["input"] == {"INVALID_JSON": arguments.replace("\ud800", "?")}
    assert kinds(lost) == [("input[1].arguments", "changed")]


def test_a_call_without_arguments_has_an_empty_object() -> None:
    """anthropic.request.17"""
    assert messages(user(), call("a", ""), output("a"))[1]["content"] == [use("a")]


def test_a_call_that_was_cut_short_is_sent_only_with_its_answer() -> None:
    """anthropic.hard.7 and BUGS 45"""
    cut = call("a", '{"ci', status="incomplete")
    body, lost = sent(user(), Message(role="assistant", content="I look."), cut, user())
    assert body["messages"][1] == {"role": "assistant", "content": "I look."}
    assert kinds(lost) == [("input[2]", "dropped")]
    body, lost = sent(user(), cut, output("a", "cut short", is_error=True))
    assert [len(message["content"]) for message in body["messages"]] == [2, 1, 1]
    assert kinds(lost) == [("input[1].arguments", "changed")]


def test_a_custom_call_goes_as_a_function_with_one_text() -> None:
    """anthropic.request.19"""
    items = CustomToolCall(call_id="a", name="sql", input="select 1"), CustomToolCallOutput(call_id="a", output="1")
    body, lost = sent(user(), *items)
    assert body["messages"][1]["content"] == [use("a", name="sql", input={"input": "select 1"})]
    assert body["messages"][2]["content"] == [result("a", "1")]
    assert kinds(lost) == [("input[1]", "emulated")]


def test_who_made_a_call_is_told_where_the_vendor_knows_them() -> None:
    """anthropic.request.58"""
    callers = Direct(), ByProgram(caller_id="srvtoolu_1"), ByProgram(caller_id="prog_1")
    body, lost = sent(user(), *(call(str(n), caller=caller) for n, caller in enumerate(callers)), *map(output, "012"))
    found = [block.get("caller") for block in body["messages"][1]["content"]]
    assert found == [{"type": "direct"}, {"type": "code_execution_20260521", "tool_id": "srvtoolu_1"}, None]
    assert kinds(lost) == [("input[3].caller", "dropped")]


def test_a_toolset_is_a_namespace_and_its_result_names_it() -> None:
    """anthropic.request.58"""
    found = messages(user(), call("a", namespace="computer"), output("a"))
    assert found[1]["content"] == [use("a", toolset_name="computer")]
    assert found[2]["content"] == [result("a", toolset_name="computer")]
    body, lost = sent(user(), call("a", namespace="files"), output("a"))
    assert (body["messages"][1]["content"][0]["name"], kinds(lost)) == (
        "files__f",
        [("input[1].namespace", "emulated")],
    )


def test_an_assistants_turn_without_anything_to_say_ends_the_turn_before() -> None:
    """anthropic.hard.1 and BUGS 47"""
    silent = Message(role="assistant", content=[OutputText(text="")])
    assert messages(user(), call("a"), output("a"), silent, user("Well?"))[2:] == [
        {"role": "user", "content": [result("a")]},
        {"role": "user", "content": "Well?"},
    ]


def test_a_turn_of_thoughts_alone_is_sent() -> None:
    """BUGS 6"""
    (thought,) = heard({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, role="assistant")
    assert messages(user(), thought, user())[1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    ]


def test_a_refusal_goes_back_as_text() -> None:
    """anthropic.request.5"""
    body, lost = sent(user(), Message(role="assistant", content=[RefusalPart(refusal="No.")]), user())
    assert body["messages"][1]["content"] == [text("No.")]
    assert kinds(lost) == [("input[1].content[0]", "changed")]


def test_another_vendors_reasoning_is_never_shown_to_the_model() -> None:
    """anthropic.request.16, BUGS 3 and 4"""
    opaque = Reasoning(summary=[SummaryText(text="secret")], encrypted_content="gAAAA")
    spoken = Reasoning(summary=[SummaryText(text="secret")])
    body, lost = sent(user(), opaque, spoken, Message(role="assistant", content="Hello."), user())
    assert "secret" not in json.dumps(body)
    assert kinds(lost) == [("input[1]", "withheld"), ("input[2]", "dropped")]


# --- system messages in the middle ----------------------------------------------------------------------------------

INSTRUCTION = Message(role="developer", content="Be brief.")


def test_a_system_message_stands_behind_the_users_turn() -> None:
    """anthropic.request.7 and BUGS 42"""
    system = {"role": "system", "content": "Be brief."}
    assert messages(user(), INSTRUCTION)[1:] == [system]
    said = Message(role="assistant", content="Hello.")
    assert messages(user(), INSTRUCTION, said, user())[1] == system


def test_a_system_message_that_stands_elsewhere_moves_behind_the_next_users_turn() -> None:
    """anthropic.request.7"""
    said = Message(role="assistant", content="Hello.")
    body, lost = sent(user(), said, INSTRUCTION, user("And?"))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user", "system"]
    assert kinds(lost) == [("input[2]", "changed")]
    body, lost = sent(user(), INSTRUCTION, user("And?"), said, user())
    assert [m["role"] for m in body["messages"]] == ["user", "user", "system", "assistant", "user"]
    assert kinds(lost) == [("input[1]", "changed")]


def test_models_without_system_messages_read_it_from_the_user() -> None:
    """anthropic.request.7, anthropic.hard.2 and BUGS 42"""
    said = Message(role="assistant", content="Hello.")
    told = text("<system>\nBe brief.\n</system>")
    body, lost = sent(user(), said, INSTRUCTION, user("And?"), model=OLD)
    assert body["messages"][2]["content"] == [told, text("And?")]
    assert "system" not in body
    assert kinds(lost) == [("input[2]", "changed")]
    assert sent(user(), INSTRUCTION, said, user(), model=OLD)[0]["messages"][0]["content"] == [text("Hi"), told]


def test_a_system_message_between_a_call_and_its_result_moves_behind_it() -> None:
    """anthropic.hard.3"""
    found, _ = sent(user(), call("a"), INSTRUCTION, output("a"))
    assert [m["role"] for m in found["messages"]] == ["user", "assistant", "user", "system"]
    found, _ = sent(user(), call("a"), INSTRUCTION, output("a"), model=OLD)
    assert found["messages"][2]["content"] == [result("a"), text("<system>\nBe brief.\n</system>")]


def test_tools_can_be_added_in_the_middle() -> None:
    """anthropic.request.56"""
    offered = FunctionTool(name="f", defer_loading=True)
    added = AdditionalTools(role="developer", tools=[offered, FunctionTool(name="g")])
    body, lost = sent(user(), added, tools=[offered])
    by_name, whole = body["messages"][1]["content"]
    assert by_name == {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}
    assert (whole["tool"]["type"], whole["tool"]["definition"]["name"]) == ("tool_definition", "g")
    assert kinds(lost) == [("input[1].tools[1]", "emulated")]
    assert ("input[1]", "dropped") in kinds(sent(user(), added, model=OLD)[1])


# --- how a conversation ends, grows, and repeats --------------------------------------------------------------------


def test_models_that_do_not_go_on_with_an_answer_refuse_to() -> None:
    said = Message(role="assistant", content="The answer is ")
    assert kinds(sent(user(), said, model=NEW)[1]) == [("input", "refused")]
    body, lost = sent(user(), said, model=OLD)
    assert (body["messages"][1]["content"], kinds(lost)) == ("The answer is", [("input", "changed")])
    said = Message(role="assistant", content=[OutputText(text="The answer is ")])
    assert sent(user(), said, model=OLD)[0]["messages"][1]["content"] == [text("The answer is")]


def test_a_call_id_used_twice_is_told_apart_and_read_back() -> None:
    """anthropic.hard.5"""
    found = messages(user(), call("x"), output("x"), call("x"), output("x", "5"))
    first, second = found[1]["content"][0]["id"], found[3]["content"][0]["id"]
    assert (first, found[2]["content"][0]["tool_use_id"]) == ("x", "x")
    assert second != "x"
    assert found[4]["content"][0]["tool_use_id"] == second
    request, _ = wire.decode_request(
        wire.REQUEST.decode(json.dumps({"model": NEW, "max_tokens": 1, "messages": found}).encode())
    )
    assert [item.call_id for item in request.input if isinstance(item, FunctionCall)] == ["x", "x"]  # type: ignore[union-attr]


def test_two_calls_of_one_id_in_one_turn_get_their_results_in_order() -> None:
    """anthropic.hard.5"""
    found = messages(user(), call("x"), call("x"), output("x", "1"), output("x", "2"))
    ids = [block["id"] for block in found[1]["content"]]
    assert [(block["tool_use_id"], block["content"]) for block in found[2]["content"]] == [(ids[0], "1"), (ids[1], "2")]


def test_a_longer_conversation_leaves_the_earlier_bytes_as_they_are() -> None:
    """anthropic.hard.14 and BUGS 81"""
    items = [user(), INSTRUCTION, call("a|b"), output("a|b"), Message(role="assistant", content="Four."), user("And?")]
    for model in (OLD, ADAPTIVE, NEW):
        short, long = (
            [
                msgspec.json.encode(m)
                for m in wire.encode_request(Request(model=model, input=[*items, *more]))[0].messages
            ]
            for more in ([], [Message(role="assistant", content="Five."), user("Thanks.")])
        )
        assert long[: len(short)] == short


def test_messages_of_one_role_in_a_row_stay_apart() -> None:
    read(messages=[{"role": "user", "content": "a"}, {"role": "user", "content": [text("b")]}])
    read(
        messages=[
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [text("b")]},
            {"role": "assistant", "content": [use("1")]},
            {"role": "user", "content": [result("1")]},
            {"role": "user", "content": [text("c")]},
        ]
    )
    read(
        messages=[
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [use("1"), use("2")]},
            {"role": "user", "content": [result("1")]},
            {"role": "user", "content": [result("2")]},
        ]
    )


def test_instructions_at_the_very_end_of_an_answer_are_the_users() -> None:
    """anthropic.request.7"""
    body, lost = sent(user(), Message(role="assistant", content="Hello."), INSTRUCTION)
    assert body["messages"][2] == {"role": "user", "content": [text("<system>\nBe brief.\n</system>")]}
    assert kinds(lost) == [("input[2]", "changed"), ("input[2]", "changed")]


def test_an_assistant_cannot_have_said_an_image() -> None:
    body, lost = sent(user(), Message(role="assistant", content=[InputImage(file_id="file_1")]), user())
    assert [message["role"] for message in body["messages"]] == ["user", "user"]
    assert kinds(lost) == [("input[1].content[0]", "dropped")]


def test_fields_nobody_declared_are_reported() -> None:
    odd = REQUEST.decode(
        b'{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi","x":1}],"y":2},'
        b'{"type":"function_call","call_id":"a","name":"f","arguments":"","z":3,"async":true},'
        b'{"type":"function_call_output","call_id":"a","output":"4","w":4},{"type":"shiny"},'
        b'{"type":"message","role":"assistant","content":"Hello.","v":5},{"type":"message","role":"user","content":"?"}],'
        b'"u":6}'
    )
    body, lost = wire.encode_request(odd)
    assert [message["role"] for message in plain(body)["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert sorted(kinds(lost)) == [
        ("input[0].content[0].x", "dropped"),
        ("input[0].y", "dropped"),
        ("input[1].async", "dropped"),
        ("input[1].z", "dropped"),
        ("input[2].w", "dropped"),
        ("input[3]", "dropped"),
        ("input[4].v", "dropped"),
        ("u", "dropped"),
    ]


def test_parts_of_every_kind_are_sent_or_reported() -> None:
    parts = [
        ComputerScreenshot(image_url="https://a.b/c.png"),
        SummaryText(text="s"),
        RefusalPart(refusal="r"),
        Unknown({"type": "shiny"}),
    ]
    body, lost = sent(Message(role="user", content=[*parts]))
    assert [block["type"] for block in body["messages"][0]["content"]] == ["image", "text", "text"]
    assert kinds(lost) == [("input[0].content[3]", "dropped")]


def test_a_call_keeps_the_cache_mark_it_had() -> None:
    marked = use("a", cache_control={"type": "ephemeral"}, new=1)
    request = read(
        messages=[
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [marked]},
            {"role": "user", "content": [result("a")]},
        ]
    )
    assert isinstance(request.input, list)
    assert isinstance(request.input[1], FunctionCall)


def test_an_unanswered_call_behind_a_handover_is_refused_and_one_before_it_is_left_out() -> None:
    fallback = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    response = answered(use("a"), use("b"), fallback, use("c"), stop_reason="tool_use")
    body, lost = sent(user(), *response.output, output("b"))
    assert [block.get("id") for block in body["messages"][1]["content"]] == ["b", None, "c"]
    assert kinds(lost) == [("input", "withheld"), ("input[4]", "refused")]


def test_results_behind_other_blocks_are_read_where_they_stand() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [use("a")]}]
    document = {
        "model": NEW,
        "max_tokens": 1,
        "messages": [*messages, {"role": "user", "content": [text("x"), result("a")]}],
    }
    request, _ = wire.decode_request(wire.REQUEST.decode(json.dumps(document).encode()))
    assert isinstance(request.input, list)
    assert [type(item).__name__ for item in request.input[2:]] == ["Message", "FunctionCallOutput"]
    body, _ = wire.encode_request(request)
    assert [block["type"] for block in plain(body)["messages"][2]["content"]] == ["tool_result", "text"]


def test_a_conversation_that_the_assistant_begins_has_a_user_put_before_it() -> None:
    """anthropic.request.61"""
    request = Request(
        model=NEW, input=[Message(role="assistant", content="Hello!"), Message(role="user", content="Hi")]
    )
    body, lost = wire.encode_request(request)
    assert [(message.role, message.content) for message in body.messages] == [
        ("user", "..."),
        ("assistant", "Hello!"),
        ("user", "Hi"),
    ]
    assert [(loss.path, loss.kind) for loss in lost] == [("input[0]", "emulated")]


def test_a_recorded_conversation_that_the_assistant_begins_goes_back_as_it_came() -> None:
    """anthropic.request.61"""
    recorded = (
        b'{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"assistant","content":"Hello!"},'
        b'{"role":"user","content":"Hi"}]}'
    )
    request, _ = wire.decode_request(wire.REQUEST.decode(recorded))
    body, lost = wire.encode_request(request)
    assert (msgspec.json.decode(msgspec.json.encode(body)), lost) == (msgspec.json.decode(recorded), [])


def test_blank_text_of_the_model_beside_its_call_goes_back() -> None:
    """Recorded requests with it were accepted; elsewhere it is refused."""
    call, output = FunctionCall(call_id="c1", name="f", arguments="{}"), FunctionCallOutput(call_id="c1", output="4")
    blank = Message(role="assistant", content=[OutputText(text="\n\n", annotations=[])])
    user = Message(role="user", content="Hi")
    body, lost = wire.encode_request(Request(model="claude-opus-4-8", input=[user, blank, call, output]))
    said = plain(body)["messages"][1]["content"]
    assert [block["type"] for block in said] == ["text", "tool_use"]
    assert said[0]["text"] == "\n\n"
    assert lost == []
    body, lost = wire.encode_request(Request(model="claude-opus-4-8", input=[user, blank, user, call, output]))
    assert [(loss.path, loss.kind) for loss in lost] == [("input[1].content[0]", "dropped")]
    simulated = handle("POST", "/v1/messages", {"x-api-key": "k", "anthropic-version": "2023-06-01"}, json.dumps({
        "model": "claude-opus-4-8", "max_tokens": 99, "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": said},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "4"}]}],
    }).encode())  # fmt: skip
    assert simulated.status == 200, simulated.body
