"""Items on their way into messages: content, calls and outputs, and the order this wire demands."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import (
    AudioData,
    CacheBreakpoint,
    CodeInterpreterCall,
    Compaction,
    ComputerScreenshot,
    ContentPart,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    ItemReference,
    LocalShellCall,
    McpApprovalRequest,
    Message,
    OutputText,
    PlainText,
    Reasoning,
    RefusalPart,
    Request,
    UrlCitation,
    WebSearchCall,
)
from llm_rest.responses.items import ByProgram
from llm_rest.unknown import Unknown, with_extras
from llm_rest.vendors.dialects import CHAT_HOSTS, COMPATIBLE
from llm_rest.wires import openai_chat as wire
from llm_rest.wires.openai_chat.tools import fit_call_id
from tests.wires.openai_chat import CALL, HI, OPENAI, messages, plain

PNG = "data:image/png;base64,AAAA"
ASK = FunctionCall(call_id="c1", name="weather", arguments='{"city":"Oslo"}')
TOLD = FunctionCallOutput(call_id="c1", output="Rain")


def user(*parts: ContentPart) -> Message:
    return Message(role="user", content=list(parts))


def assistant(*parts: ContentPart) -> Message:
    return Message(role="assistant", content=list(parts))


def content(*parts: ContentPart, dialect: Any = OPENAI) -> tuple[Any, list[str]]:
    """The content of a user message of these parts, and the losses."""
    found, lost = messages(user(*parts), dialect=dialect)
    return found[0]["content"], lost


# --- messages that are nobody's answer ------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_a_message_keeps_its_role_and_its_string(role: str) -> None:
    """chat.request.4 and BUGS 42"""
    assert messages(Message(role=role, content="Hi")) == ([{"role": role, "content": "Hi"}], [])


def test_a_developer_is_a_system_elsewhere() -> None:
    """chat.request.5"""
    found, lost = messages(Message(role="developer", content="Hi"), dialect=CHAT_HOSTS["groq"])
    assert found == [{"role": "system", "content": "Hi"}]
    assert lost == ["input[0].role (changed)"]


def test_a_system_message_stays_where_it_stands() -> None:
    """BUGS 42"""
    found, _ = messages(Message(role="user", content="Hi"), Message(role="system", content="Be brief."))
    assert [message["role"] for message in found] == ["user", "system"]


def test_text_parts_stay_parts() -> None:
    """chat.request.6"""
    assert content(InputText(text="a"), PlainText(text="b")) == (
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        [],
    )


def test_parts_become_one_string_for_roles_that_take_nothing_else() -> None:
    """chat.request.6"""
    told = Message(role="system", content=[InputText(text="a"), InputText(text="b")])
    found, lost = messages(told, dialect=CHAT_HOSTS["together"])
    assert found == [{"role": "system", "content": "ab"}]
    assert lost == ["input[0].content (changed)"]


def test_empty_texts_are_legal_here_and_stay() -> None:
    """chat.request.59 and BUGS 47"""
    assert messages(user(InputText(text="")), assistant(), Message(role="user", content=""))[0] == [
        {"role": "user", "content": [{"type": "text", "text": ""}]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": ""},
    ]


# --- media ----------------------------------------------------------------------------------------------------------


def test_an_image_is_an_object_with_its_detail() -> None:
    """chat.request.7"""
    assert content(InputImage(image_url="https://a/b.png", detail="original")) == (
        [{"type": "image_url", "image_url": {"url": "https://a/b.png", "detail": "original"}}],
        [],
    )
    found, lost = content(InputImage(image_url=PNG, detail="original"), dialect=COMPATIBLE)
    assert found == [{"type": "image_url", "image_url": {"url": PNG}}]
    assert lost == ["input[0].content[0].detail (dropped)"]


@pytest.mark.parametrize(
    ("part", "host"),
    [
        (InputImage(file_id="file_1"), "openai"),
        (InputImage(image_url="https://a/b.png"), "ollama"),
        (InputImage(image_url=PNG), "cerebras"),
        (InputFile(file_url="https://a/b.pdf"), "openai"),
        (InputFile(file_data=PNG), "groq"),
        (InputFile(file_id="file_1"), "openrouter"),
        (InputAudio(input_audio=AudioData(data="AAAA", format="wav")), "groq"),
        (InputVideo(video_url="https://a/b.mp4"), "openai"),
        (ComputerScreenshot(image_url=PNG), "openai"),
    ],
)
def test_a_medium_that_cannot_be_sent_is_refused_rather_than_left_out(part: ContentPart, host: str) -> None:
    """chat.request.8, chat.request.10 and BUGS 77"""
    assert content(part, dialect=CHAT_HOSTS[host]) == ([], ["input[0].content[0] (refused)"])


@pytest.mark.parametrize(
    ("part", "host", "sent"),
    [
        (InputFile(file_data="data:a", filename="a.pdf"), "openai", {"file_data": "data:a", "filename": "a.pdf"}),
        (InputFile(file_id="file_1"), "openai", {"file_id": "file_1"}),
        (InputFile(file_url="https://a/b.pdf"), "openrouter", {"file_data": "https://a/b.pdf"}),
    ],
)
def test_a_file_is_sent_in_a_form_the_host_takes(part: ContentPart, host: str, sent: dict[str, str]) -> None:
    """chat.request.9 and chat.request.10"""
    assert content(part, dialect=CHAT_HOSTS[host]) == ([{"type": "file", "file": sent}], [])


def test_mistral_takes_documents_by_url_and_sound_as_bare_text() -> None:
    """chat.request.10 and chat.request.49"""
    sound = InputAudio(input_audio=AudioData(data="AAAA", format="wav"))
    assert content(InputFile(file_url="https://a/b.pdf", filename="b"), sound, dialect=CHAT_HOSTS["mistral"])[0] == [
        {"type": "document_url", "document_url": "https://a/b.pdf", "document_name": "b"},
        {"type": "input_audio", "input_audio": "AAAA"},
    ]


def test_sound_and_video_go_where_they_are_taken() -> None:
    """chat.request.49"""
    sound = InputAudio(input_audio=AudioData(data="AAAA", format="wav"))
    found, lost = content(sound, InputVideo(video_url="https://a/b.mp4"), dialect=CHAT_HOSTS["openrouter"])
    assert found == [
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "video_url", "video_url": {"url": "https://a/b.mp4"}},
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("host", "field", "mark"),
    [
        ("openai", "prompt_cache_breakpoint", {"mode": "explicit", "ttl": "30m"}),
        ("openrouter", "cache_control", {"type": "ephemeral", "ttl": "30m"}),
    ],
)
def test_a_cache_mark_stands_in_the_field_the_host_knows(host: str, field: str, mark: dict[str, str]) -> None:
    """chat.request.50"""
    part = InputText(text="a", prompt_cache_breakpoint=CacheBreakpoint(ttl="30m"))
    assert content(part, dialect=CHAT_HOSTS[host]) == ([{"type": "text", "text": "a", field: mark}], [])


def test_a_cache_mark_is_told_where_no_field_knows_it() -> None:
    """chat.request.50"""
    image = InputImage(image_url=PNG, prompt_cache_breakpoint=CacheBreakpoint())
    assert content(image, dialect=COMPATIBLE)[1] == ["input[0].content[0].prompt_cache_breakpoint (dropped)"]


def test_unknown_parts_and_fields_of_a_part_are_told() -> None:
    """chat.request.55"""
    newer = with_extras(InputText(text="a"), {"tone": "calm"})
    found, lost = content(newer, Unknown({"type": "input_smell"}))
    assert found == [{"type": "text", "text": "a"}]
    assert lost == ["input[0].content[0].tone (dropped)", "input[0].content[1] (dropped)"]


# --- what the assistant said ----------------------------------------------------------------------------------------


def test_texts_of_the_assistant_are_one_string() -> None:
    """chat.request.11"""
    cited = OutputText(text="b", annotations=[UrlCitation(url="https://a")])
    found, lost = messages(assistant(OutputText(text="a"), cited))
    assert found == [{"role": "assistant", "content": "ab"}]
    assert lost == ["input[0].content[1].annotations (dropped)", "input[0].content (changed)"]


def test_the_phase_of_a_text_is_told() -> None:
    """chat.request.11"""
    assert messages(Message(role="assistant", content="a", phase="commentary"))[1] == ["input[0].phase (dropped)"]


def test_a_refusal_has_a_field_at_openai_and_is_text_elsewhere() -> None:
    """chat.request.12"""
    no = assistant(RefusalPart(refusal="No."))
    assert messages(no) == ([{"role": "assistant", "content": None, "refusal": "No."}], [])
    assert messages(no, dialect=COMPATIBLE) == (
        [{"role": "assistant", "content": "No."}],
        ["input[0].content[0] (changed)"],
    )


def test_messages_in_a_row_stay_messages() -> None:
    """chat.request.13"""
    assert messages(assistant(OutputText(text="a")), assistant(OutputText(text="b"))) == (
        [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
        [],
    )


def test_messages_in_a_row_are_joined_for_hosts_where_roles_take_turns() -> None:
    """chat.request.58"""
    twice = [Message(role="user", content="a"), Message(role="user", content="b")]
    found, lost = messages(*twice, dialect=CHAT_HOSTS["perplexity"])
    assert found == [{"role": "user", "content": "a\n\nb"}]
    assert lost == ["input (changed)"]


def test_an_image_of_the_assistant_is_refused() -> None:
    assert messages(assistant(InputImage(image_url=PNG)))[1] == ["input[0].content[0] (refused)"]


# --- calls ----------------------------------------------------------------------------------------------------------


def test_calls_join_the_text_before_them() -> None:
    """chat.request.14 and BUGS 31"""
    other = FunctionCall(call_id="c2", name="now", arguments="{}", id="fc_2", status="completed")
    found, lost = messages(
        assistant(OutputText(text="I look.")), ASK, other, FunctionCallOutput(call_id="c2", output="12"), TOLD
    )
    assert found == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [CALL, {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "12", "tool_call_id": "c2"},
        {"role": "tool", "content": "Rain", "tool_call_id": "c1"},
    ]
    assert lost == []


def test_calls_alone_have_null_for_content() -> None:
    """chat.request.14"""
    found, _ = messages(ASK, TOLD)
    assert found[0] == {"role": "assistant", "content": None, "tool_calls": [CALL]}


def test_text_after_a_call_comes_before_it_and_is_told() -> None:
    """chat.request.13"""
    found, lost = messages(assistant(OutputText(text="a")), ASK, assistant(OutputText(text="b")), TOLD)
    assert found[0] == {"role": "assistant", "content": "a\n\nb", "tool_calls": [CALL]}
    assert lost == ["input[0] (changed)", "input[2] (changed)"]
    assert messages(ASK, assistant(OutputText(text="b")), TOLD)[1] == ["input[1] (changed)"]


def test_a_namespace_becomes_the_beginning_of_the_name() -> None:
    """chat.request.15"""
    found, lost = messages(FunctionCall(call_id="c1", name="now", arguments="{}", namespace="crm"), TOLD)
    assert found[0]["tool_calls"][0]["function"]["name"] == "crm__now"
    assert lost == ["input[0].namespace (emulated)"]


def test_what_a_call_says_beyond_this_wire_is_told() -> None:
    call = FunctionCall(call_id="c1", name="now", arguments="{}", caller=ByProgram(caller_id="p"), async_=True)
    assert messages(call, TOLD)[1] == ["input[0].caller (dropped)", "input[0].async (dropped)"]


def test_a_custom_call_is_its_own_kind_at_openai_and_a_function_of_one_text_elsewhere() -> None:
    """chat.request.20 and BUGS 90"""
    items = [
        CustomToolCall(call_id="c1", name="run", input='say "hi"'),
        CustomToolCallOutput(call_id="c1", output="hi"),
    ]
    found, lost = messages(*items)
    assert found[0]["tool_calls"] == [{"id": "c1", "type": "custom", "custom": {"name": "run", "input": 'say "hi"'}}]
    assert found[1] == {"role": "tool", "content": "hi", "tool_call_id": "c1"}
    assert lost == []
    found, lost = messages(*items, dialect=COMPATIBLE)
    assert found[0]["tool_calls"][0]["function"] == {"name": "run", "arguments": '{"input":"say \\"hi\\""}'}
    assert lost == ["input[0] (emulated)"]


@pytest.mark.parametrize("call_id", ["call_x|fc_y" * 7, ""])
def test_an_id_that_openai_does_not_take_is_another_one_every_time_and_on_both_sides(call_id: str) -> None:
    """chat.request.48 and BUGS 34"""
    items = [
        FunctionCall(call_id=call_id, name="now", arguments="{}"),
        FunctionCallOutput(call_id=call_id, output="12"),
    ]
    found, lost = messages(*items)
    assert found[0]["tool_calls"][0]["id"] == found[1]["tool_call_id"] == fit_call_id(call_id, OPENAI)
    assert 0 < len(found[1]["tool_call_id"]) <= 40
    assert lost == ["input[0].call_id (changed)", "input[1].call_id (changed)"]


def test_mistral_takes_nine_letters_and_digits() -> None:
    """chat.request.48 and BUGS 34"""
    mistral = CHAT_HOSTS["mistral"]
    fitted = fit_call_id("call_x|fc_y", mistral)
    assert len(fitted) == 9
    assert fitted.isalnum()
    assert fit_call_id(fitted, mistral) == fitted
    assert fit_call_id("call_x|fc_z", mistral) != fitted


# --- outputs --------------------------------------------------------------------------------------------------------


def test_an_output_is_a_tool_message() -> None:
    """chat.request.16"""
    parts = FunctionCallOutput(call_id="c1", output=[InputText(text="Rain")], name="weather")
    assert messages(ASK, parts)[0][1] == {
        "role": "tool",
        "content": [{"type": "text", "text": "Rain"}],
        "name": "weather",
        "tool_call_id": "c1",
    }


def test_images_of_outputs_follow_the_last_output_in_a_user_message() -> None:
    """chat.request.17"""
    seen = FunctionCallOutput(call_id="c1", output=[InputText(text="A map"), InputImage(image_url=PNG)])
    only = FunctionCallOutput(call_id="c2", output=[InputImage(image_url=PNG)])
    found, lost = messages(
        ASK, FunctionCall(call_id="c2", name="see", arguments="{}"), seen, only, user(InputText(text="?"))
    )
    assert [message["role"] for message in found] == ["assistant", "tool", "tool", "user", "user"]
    assert found[1]["content"] == [{"type": "text", "text": "A map"}]
    assert found[2]["content"] == [{"type": "text", "text": "See the next user message."}]
    assert [part["type"] for part in found[3]["content"]] == ["text", "image_url", "text", "image_url"]
    assert lost == ["input[2].output (changed)", "input[3].output (changed)"]


def test_images_of_outputs_stay_where_a_host_takes_them() -> None:
    """chat.request.17"""
    seen = FunctionCallOutput(call_id="c1", output=[InputText(text="A map"), InputImage(image_url=PNG)])
    found, lost = messages(ASK, seen, dialect=CHAT_HOSTS["openrouter"])
    assert found[1]["content"] == [{"type": "text", "text": "A map"}, {"type": "image_url", "image_url": {"url": PNG}}]
    assert (len(found), lost) == (2, [])


def test_a_failure_is_told_in_words() -> None:
    """chat.request.47 and BUGS 38"""
    failed = FunctionCallOutput(call_id="c1", output="no such city", is_error=True)
    found, lost = messages(ASK, failed)
    assert found[1]["content"] == "Error: no such city"
    assert lost == ["input[1] (changed)"]
    failed = FunctionCallOutput(call_id="c1", output=[InputText(text="no")], is_error=True)
    assert [part["text"] for part in messages(ASK, failed)[0][1]["content"]] == ["Error: ", "no"]


def test_an_output_that_comes_late_is_moved_up_to_its_call() -> None:
    """chat.request.18 and BUGS 31"""
    found, lost = messages(ASK, user(InputText(text="?")), TOLD)
    assert [message["role"] for message in found] == ["assistant", "tool", "user"]
    assert lost == ["input[2] (emulated)"]


def test_calls_one_after_the_other_are_messages_one_after_the_other() -> None:
    """chat.request.18"""
    again = [FunctionCall(call_id="c2", name="now", arguments="{}"), FunctionCallOutput(call_id="c2", output="12")]
    assert [message["role"] for message in messages(ASK, TOLD, *again)[0]] == ["assistant", "tool", "assistant", "tool"]


def test_calls_of_one_id_have_an_output_each() -> None:
    """chat.request.18"""
    found, lost = messages(ASK, ASK, TOLD, TOLD)
    assert ([message["role"] for message in found], lost) == (["assistant", "tool", "tool"], [])
    assert messages(ASK, ASK, TOLD)[1] == ["input[1] (refused)"]


def test_calls_and_outputs_need_each_other() -> None:
    """chat.request.19"""
    assert messages(ASK, user(InputText(text="?")))[1] == ["input[0] (refused)"]
    assert messages(TOLD)[1] == ["input[0] (refused)"]


# --- the rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", [Compaction(encrypted_content="x"), ItemReference(id="msg_1")])
def test_what_only_a_responses_host_understands_is_refused(item: Any) -> None:
    """chat.request.22"""
    assert messages(item) == ([], ["input[0] (refused)"])


@pytest.mark.parametrize("item", [WebSearchCall(), CodeInterpreterCall(code="1")])
def test_records_of_what_a_vendor_did_are_dropped(item: Any) -> None:
    """chat.request.23"""
    assert messages(item) == ([], ["input[0] (dropped)"])


@pytest.mark.parametrize(
    "item", [McpApprovalRequest(server_label="s", name="n", arguments="{}"), LocalShellCall(call_id="c", action={})]
)
def test_what_waits_for_an_answer_of_another_kind_is_refused(item: Any) -> None:
    """chat.request.24"""
    assert messages(item) == ([], ["input[0] (refused)"])


def test_leftovers_of_items_and_parts_come_back_and_those_of_others_are_told() -> None:
    """chat.request.51"""
    part = InputText(text="a", leftovers={"openai_chat": {"tone": "calm"}, "anthropic_messages": {"citations": [1]}})
    item = Message(role="user", content=[part], leftovers={"openai_chat": {"name": "ada"}, "other": {"mood": 1}})
    found, lost = messages(item)
    assert found == [{"role": "user", "name": "ada", "content": [{"type": "text", "text": "a", "tone": "calm"}]}]
    assert lost == [
        "input[0].content[0].citations (dropped)",
        "input[0].mood (dropped)",
    ]


def test_a_name_stays_behind_where_the_host_refuses_it() -> None:
    """chat.request.56"""
    item = Message(role="user", content="Hi", leftovers={"openai_chat": {"name": "ada"}})
    assert messages(item, dialect=CHAT_HOSTS["groq"]) == ([HI], ["input[0].name (dropped)"])


def test_encoding_changes_nothing_it_was_given() -> None:
    request = Request(
        input=[
            Message(role="user", content=[InputText(text="a", prompt_cache_breakpoint=CacheBreakpoint())]),
            Reasoning(summary=[], encrypted_content="gAAA"),
            assistant(OutputText(text="a", annotations=[])),
            ASK,
            TOLD,
        ]
    )
    before = msgspec.json.encode(request)
    for dialect in CHAT_HOSTS.values():
        wire.encode_request(request, dialect=dialect)
    assert msgspec.json.encode(request) == before


def test_the_same_request_is_the_same_bytes() -> None:
    """BUGS 81"""
    request = Request(input=[ASK, TOLD, user(InputText(text="x" * 50))])
    assert plain(wire.encode_request(request)[0]) == plain(wire.encode_request(request)[0])
