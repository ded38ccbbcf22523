"""The options and contents of a request on their way to the vendor."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    AudioData,
    CacheBreakpoint,
    CacheOptions,
    CompactionTrigger,
    ContextManagement,
    FunctionTool,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    ItemReference,
    JsonObjectFormat,
    JsonSchemaFormat,
    Message,
    OutputText,
    Prompt,
    ReasoningOptions,
    StreamOptions,
    TextFormat,
    TextOptions,
    UrlCitation,
)
from llm_rest.unknown import Unknown
from llm_rest.vendors.dialects import MessagesDialect, messages_model
from tests.wires.anthropic_messages.steps import NEW, NEWEST, OLD, Plain, kinds, messages, read, sent, text, user

PDF = "data:application/pdf;base64,JVBERi0="
CLOUD = MessagesDialect(path="/models/{model}:rawPredict", body_version="vertex-2023-10-16", url_sources=False)


def part(part: Any, **options: Any) -> tuple[Any, list[tuple[str, str]]]:
    """The blocks of a user's message with one part, and the losses."""
    body, lost = sent(Message(role="user", content=[part]), **options)
    content = body["messages"][0]["content"] if body["messages"] else []
    return content, kinds(
        [loss for loss in lost if loss.what not in ("a message that says nothing", "nothing to answer")]
    )


def test_the_model_is_named_in_the_body_or_in_the_url() -> None:
    """anthropic.request.1"""
    assert sent()[0]["model"] == NEW
    assert "model" not in sent(dialect=CLOUD)[0]
    assert sent(dialect=CLOUD)[0]["anthropic_version"] == "vertex-2023-10-16"


def test_instructions_are_the_system_prompt() -> None:
    """anthropic.request.2"""
    assert sent(instructions="Be brief.")[0]["system"] == "Be brief."
    body, _ = sent(Message(role="developer", content="And kind."), user(), instructions="Be brief.")
    assert body["system"] == [text("Be brief."), text("And kind.")]


def test_a_string_input_is_what_a_user_says() -> None:
    """anthropic.request.3"""
    assert sent()[0]["messages"] == [{"role": "user", "content": "Hi"}]


def test_a_users_message_keeps_its_form() -> None:
    """anthropic.request.4"""
    assert messages(user()) == [{"role": "user", "content": "Hi"}]
    assert messages(Message(role="user", content=[InputText(text="Hi")])) == [{"role": "user", "content": [text("Hi")]}]
    body, lost = sent(Message(role="critic", content="Hm."))
    assert (body["messages"], kinds(lost)) == ([{"role": "user", "content": "Hm."}], [("input[0].role", "changed")])
    assert kinds(sent(user(), Message(role="user", content=[]))[1]) == [("input[1]", "refused")]


def test_everything_the_model_did_in_one_go_is_one_message() -> None:
    """anthropic.request.5"""
    said = Message(role="assistant", content="Hello.")
    assert messages(user(), said, user()) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Hi"},
    ]
    more = Message(role="assistant", content=[OutputText(text="More.")])
    assert messages(user(), said, more, user())[1]["content"] == [text("Hello."), text("More.")]


def test_what_stands_above_the_user_before_the_conversation_is_the_system_prompt() -> None:
    """anthropic.request.6"""
    said = [Message(role="system", content="One."), Message(role="developer", content=[InputText(text="Two.")])]
    body, lost = sent(*said, user())
    assert (body["system"], lost) == ([text("One."), text("Two.")], [])


def test_texts_that_say_nothing_are_not_sent() -> None:
    """anthropic.request.8 and BUGS 47"""
    parts = [InputText(text=""), InputText(text=" \n"), InputText(text="Hi")]
    body, lost = sent(Message(role="user", content=[*parts]))
    assert body["messages"][0]["content"] == [text("Hi")]
    assert kinds(lost) == [("input[0].content[1]", "dropped")]


def test_an_image_in_a_data_url_is_sent_as_its_data() -> None:
    """anthropic.request.9"""
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert part(InputImage(image_url="data:image/png;base64,AAAA")) == ([{"type": "image", "source": source}], [])
    assert part(InputImage(image_url="data:image/bmp;base64,AAAA"))[1] == [("input[0].content[0]", "refused")]
    assert part(InputImage(image_url="data:image/png,raw"))[1] == [("input[0].content[0]", "refused")]
    assert part(InputImage())[1] == [("input[0].content[0]", "refused")]


def test_an_image_by_url_goes_to_hosts_that_fetch() -> None:
    """anthropic.request.10"""
    image = InputImage(image_url="https://example.com/a.png")
    assert part(image) == ([{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}], [])
    assert part(image, dialect=CLOUD)[1] == [("input[0].content[0]", "refused")]


def test_only_this_vendors_file_ids_are_sent() -> None:
    """anthropic.request.11"""
    source = {"type": "file", "file_id": "file_011C"}
    assert part(InputImage(file_id="file_011C")) == ([{"type": "image", "source": source}], [])
    assert part(InputFile(file_id="file_011C")) == ([{"type": "document", "source": source}], [])
    assert part(InputFile(file_id="file-abc"))[1] == [("input[0].content[0]", "refused")]


def test_the_detail_of_an_image_is_not_on_this_wire() -> None:
    """anthropic.request.12"""
    assert part(InputImage(file_id="file_1", detail="low"))[1] == [("input[0].content[0].detail", "dropped")]
    assert part(InputImage(file_id="file_1", detail="auto"))[1] == []
    assert part(InputFile(file_id="file_1", detail="low"))[1] == [("input[0].content[0].detail", "dropped")]


def test_pdf_and_text_files_are_documents() -> None:
    """anthropic.request.13"""
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    document = {"type": "document", "source": source, "title": "a.pdf"}
    assert part(InputFile(file_data=PDF, filename="a.pdf")) == ([document], [])
    blocks, lost = part(InputFile(file_data="data:text/plain;base64,SGk="))
    assert blocks[0]["source"] == {"type": "text", "media_type": "text/plain", "data": "Hi"}
    assert lost == []
    assert part(InputFile(file_data="data:text/csv;base64,YSxi"))[1] == [("input[0].content[0]", "changed")]


def test_a_file_without_a_type_is_taken_for_what_it_looks_like() -> None:
    """anthropic.request.13"""
    place = [("input[0].content[0].file_data", "changed")]
    assert part(InputFile(file_data="JVBERi0="))[1] == place
    blocks, lost = part(InputFile(file_data="SGk=", filename="notes.md"))
    assert (blocks[0]["source"]["data"], lost) == ("Hi", place)


@pytest.mark.parametrize(
    "file",
    [
        InputFile(file_data="data:application/zip;base64,AAAA"),
        InputFile(file_data="AAAA"),
        InputFile(file_data="data:text/plain;base64,gA=="),
        InputFile(filename="a.pdf"),
    ],
)
def test_other_files_are_refused(file: InputFile) -> None:
    """anthropic.request.13"""
    assert ("input[0].content[0]", "refused") in part(file)[1]


def test_a_file_by_url_is_a_document_by_url() -> None:
    """anthropic.request.14"""
    file = InputFile(file_url="https://example.com/a.pdf")
    source = {"type": "url", "url": "https://example.com/a.pdf"}
    assert part(file) == ([{"type": "document", "source": source}], [])
    assert part(file, dialect=CLOUD)[1] == [("input[0].content[0]", "refused")]


@pytest.mark.parametrize(
    "media", [InputAudio(input_audio=AudioData(data="AA", format="wav")), InputVideo(video_url="https://a.b/c")]
)
def test_audio_and_video_are_refused(media: InputAudio | InputVideo) -> None:
    """anthropic.request.15"""
    assert part(media)[1] == [("input[0].content[0]", "refused")]


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"background": True}, "background"),
        ({"prompt": Prompt(id="p")}, "prompt"),
        ({"moderation": {"model": "m"}}, "moderation"),
    ],
)
def test_what_needs_the_server_to_remember_or_wait_is_refused(options: dict[str, Any], path: str) -> None:
    """anthropic.request.22 and anthropic.request.49"""
    assert kinds(sent(**options)[1]) == [(path, "refused")]


def test_an_item_by_its_id_is_refused_and_keeping_is_dropped() -> None:
    """anthropic.request.22"""
    assert kinds(sent(user(), ItemReference(id="msg_1"))[1]) == [("input[1]", "refused")]
    assert kinds(sent(store=True)[1]) == [("store", "dropped")]
    assert sent(store=False)[1] == []


@pytest.mark.parametrize(
    ("model", "most"),
    [(NEW, 32_000), ("claude-3-5-haiku-latest", 8192), ("claude-opus-4-1", 32_000), ("kimi-k3", 32_000)],
)
def test_an_answer_may_be_as_long_as_the_model_gives_by_default(model: str, most: int) -> None:
    """anthropic.request.23"""
    assert sent(model=model)[0]["max_tokens"] == most
    assert sent(model=model, max_output_tokens=5)[0]["max_tokens"] == 5


def test_sampling_options_go_to_models_that_take_them() -> None:
    """anthropic.request.24 and anthropic.request.53"""
    body, lost = sent(model=OLD, temperature=0.5, top_k=4)
    assert (body["temperature"], body["top_k"], lost) == (0.5, 4, [])
    body, lost = sent(model=NEW, temperature=0.5, top_p=0.9, top_k=4)
    assert not body.keys() & {"temperature", "top_p", "top_k"}
    assert kinds(lost) == [("temperature", "dropped"), ("top_p", "dropped"), ("top_k", "dropped")]
    body, lost = sent(model=OLD, temperature=1.7)
    assert (body["temperature"], kinds(lost)) == (1, [("temperature", "changed")])


def test_models_of_one_sampling_option_get_the_temperature() -> None:
    """anthropic.request.24"""
    body, lost = sent(model=OLD, temperature=0.5, top_p=0.5)
    assert (body["temperature"], body.get("top_p"), kinds(lost)) == (0.5, None, [("top_p", "dropped")])
    assert sent(model="claude-sonnet-4-0", temperature=0.5, top_p=0.5)[1] == []


def test_log_probabilities_are_not_on_this_wire_and_reasoning_is_always_included() -> None:
    """anthropic.request.25"""
    wanted = ["reasoning.encrypted_content", "message.output_text.logprobs"]
    _, lost = sent(top_logprobs=2, include=wanted)
    assert sorted(kinds(lost)) == [("include[1]", "dropped"), ("top_logprobs", "dropped")]


def test_a_schema_is_the_format_of_the_answer() -> None:
    """anthropic.request.26"""
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    asked = JsonSchemaFormat(name="a", schema=schema, description="d", strict=False)
    body, lost = sent(text=TextOptions(format=asked))
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert sorted(kinds(lost)) == [("text.format.description", "dropped"), ("text.format.strict", "changed")]


def test_a_json_object_is_asked_for_in_words() -> None:
    """anthropic.request.27"""
    asked = TextOptions(format=JsonObjectFormat())
    body, lost = sent(text=asked, instructions="Be brief.")
    assert body["system"] == "Be brief.\n\nAnswer with one JSON object and nothing else."
    assert kinds(lost) == [("text.format", "emulated")]
    assert sent(Message(role="developer", content="X"), user(), text=asked)[0]["system"][1]["text"].startswith("Answer")


def test_verbosity_is_not_on_this_wire() -> None:
    """anthropic.request.28"""
    assert kinds(sent(text=TextOptions(verbosity="low"))[1]) == [("text.verbosity", "dropped")]


def test_labels_of_a_request_stay_with_the_caller() -> None:
    """anthropic.request.41"""
    body, lost = sent(metadata={"a": "b"})
    assert ("metadata" in body, kinds(lost)) == (False, [("metadata", "dropped")])


def test_the_users_identifier_is_sent() -> None:
    """anthropic.request.42"""
    assert sent(safety_identifier="u")[0]["metadata"] == sent(user="u")[0]["metadata"] == {"user_id": "u"}
    body, lost = sent(safety_identifier="u", user="v")
    assert (body["metadata"], kinds(lost)) == ({"user_id": "u"}, [("user", "dropped")])


@pytest.mark.parametrize(
    ("tier", "body", "lost"),
    [
        ("auto", {"service_tier": "auto"}, []),
        ("default", {"service_tier": "standard_only"}, []),
        ("priority", {"service_tier": "auto"}, [("service_tier", "changed")]),
        ("fast", {"speed": "fast"}, []),
        ("ultrafast", {"speed": "fast"}, [("service_tier", "changed")]),
        ("flex", {}, [("service_tier", "dropped")]),
    ],
)
def test_service_tiers(tier: str, body: dict[str, str], lost: list[tuple[str, str]]) -> None:
    """anthropic.request.43"""
    document, found = sent(service_tier=tier)
    assert {name: document[name] for name in ("service_tier", "speed") if name in document} == body
    assert kinds(found) == lost


def test_hints_for_other_caches_are_not_on_this_wire() -> None:
    """anthropic.request.44"""
    _, lost = sent(prompt_cache_key="k", prompt_cache_retention="24h")
    assert kinds(lost) == [("prompt_cache_key", "dropped"), ("prompt_cache_retention", "dropped")]


@pytest.mark.parametrize(
    ("ttl", "mark", "lost"),
    [
        (None, {"type": "ephemeral"}, []),
        ("30m", {"type": "ephemeral", "ttl": "1h"}, []),
        ("12h", {"type": "ephemeral", "ttl": "1h"}, [("input[0].content[0].prompt_cache_breakpoint.ttl", "changed")]),
        ("5m", {"type": "ephemeral", "ttl": "5m"}, []),
    ],
)
def test_a_breakpoint_is_a_cache_mark_on_its_block(ttl: Any, mark: dict[str, str], lost: list[tuple[str, str]]) -> None:
    """anthropic.request.45"""
    blocks, found = part(InputText(text="Hi", prompt_cache_breakpoint=CacheBreakpoint(ttl=ttl)))
    assert (blocks, found) == ([text("Hi", cache_control=mark)], lost)


def test_of_many_cache_marks_the_first_three_and_the_newest_stay() -> None:
    """anthropic.request.45"""
    marked = [InputText(text=str(n), prompt_cache_breakpoint=CacheBreakpoint()) for n in range(7)]
    body, lost = sent(Message(role="user", content=[*marked]))
    assert [b["text"] for b in body["messages"][0]["content"] if "cache_control" in b] == ["0", "1", "2", "6"]
    assert kinds(lost) == [(f"input[0].content[{n}]", "dropped") for n in (3, 4, 5)]
    body, _ = sent(Message(role="user", content=[*marked]), prompt_cache_options=CacheOptions(mode="implicit"))
    assert [b["text"] for b in body["messages"][0]["content"] if "cache_control" in b] == ["0", "1", "6"]


def test_options_of_the_cache() -> None:
    """anthropic.request.46"""
    body, lost = sent(prompt_cache_options=CacheOptions(mode="implicit", ttl="30m", comparison_response_id="msg_0"))
    assert (body["cache_control"], lost) == ({"type": "ephemeral", "ttl": "1h"}, [])
    assert body["diagnostics"] == {"previous_message_id": "msg_0"}
    assert sent(prompt_cache_options=CacheOptions(prewarm=True))[0]["max_tokens"] == 0
    assert kinds(sent(prompt_cache_options=CacheOptions(ttl="30m"))[1]) == [("prompt_cache_options.ttl", "dropped")]
    lost = sent(prompt_cache_options=CacheOptions(mode="implicit", ttl="12h"))[1]
    assert kinds(lost) == [("prompt_cache_options.ttl", "changed")]


def test_a_long_context_is_compacted_where_it_is_asked_for() -> None:
    """anthropic.request.47"""
    body, lost = sent(context_management=[ContextManagement(compact_threshold=60_000)])
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 60_000}}
    assert (body["context_management"], lost) == ({"edits": [edit]}, [])
    body, lost = sent(context_management=[ContextManagement(compact_threshold=10), ContextManagement(type="other")])
    assert body["context_management"]["edits"][0]["trigger"]["value"] == 50_000
    assert kinds(lost) == [
        ("context_management[0].compact_threshold", "changed"),
        ("context_management[1]", "dropped"),
    ]


def test_nothing_is_cut_off_by_itself() -> None:
    """anthropic.request.48"""
    assert kinds(sent(truncation="auto")[1]) == [("truncation", "dropped")]
    assert sent(truncation="disabled")[1] == []


def test_streaming_is_asked_for_in_the_body() -> None:
    """anthropic.request.50"""
    assert sent(stream=True)[0]["stream"] is True
    assert "stream" not in sent()[0]
    assert "stream" not in sent(stream=True, dialect=MessagesDialect(stream_in_body=False))[0]


def test_stop_sequences() -> None:
    """anthropic.request.51"""
    assert sent(stop="END")[0]["stop_sequences"] == ["END"]
    body, lost = sent(stop=["END", " "])
    assert (body["stop_sequences"], kinds(lost)) == (["END"], [("stop", "dropped")])


def test_options_of_other_vendors_are_reported() -> None:
    """anthropic.request.52, anthropic.hard.12"""
    _, lost = sent(
        seed=0, presence_penalty=0.5, frequency_penalty=0, stream_options=StreamOptions(include_obfuscation=True)
    )
    assert sorted(kinds(lost)) == [
        ("presence_penalty", "dropped"),
        ("seed", "dropped"),
        ("stream_options.include_obfuscation", "dropped"),
    ]


def test_a_trigger_asks_for_a_compaction() -> None:
    """anthropic.request.57"""
    assert sent(user(), CompactionTrigger())[0]["compaction"] == {"type": "summarize"}


def test_sources_of_another_vendor_stay_behind() -> None:
    """anthropic.request.59 and BUGS 89"""
    cited = OutputText(text="A.", annotations=[UrlCitation(url="https://a.b", title="t")])
    body, lost = sent(user(), Message(role="assistant", content=[cited]), user())
    assert body["messages"][1]["content"] == [text("A.")]
    assert kinds(lost) == [("input[1].content[0].annotations", "dropped")]


def test_the_callers_own_fields_come_last() -> None:
    """anthropic.request.60"""
    own = {"anthropic_messages": {"max_tokens": 7, "inference_geo": "eu", "new": [1.0], "betas": ["b"]}}
    body, lost = sent(extra={**own, "openai_chat": {"n": 2}}, max_output_tokens=9)
    assert (body["max_tokens"], body["inference_geo"], body["new"], lost) == (7, "eu", [1.0], [])
    assert "betas" not in body
    assert "n" not in body
    assert kinds(sent(extra={"anthropic_messages": {"messages": 7}})[1]) == [("extra.anthropic_messages", "dropped")]


def test_a_request_that_asks_nothing_is_refused() -> None:
    assert ("input", "refused") in kinds(sent(Message(role="developer", content="X"))[1])


@pytest.mark.parametrize(
    ("model", "facts"),
    [
        ("claude-sonnet-4-20250514", messages_model("claude-sonnet-4")),
        ("us.anthropic.claude-haiku-4-5-v1:0", messages_model("claude-haiku-4-5")),
        ("anthropic/claude-opus-4.6", messages_model("claude-opus-4-6")),
        ("claude-opus-4-6@20260101", messages_model("claude-opus-4-6")),
        ("claude-aria-7", messages_model(NEWEST.replace("opus-5-5", "fable-5-2"))),
    ],
)
def test_a_model_is_known_by_the_longest_prefix_of_its_name(model: str, facts: object) -> None:
    assert messages_model(model) == facts


def test_other_models_on_this_wire_take_what_they_are_asked() -> None:
    _, lost = sent(model="minimax-m3", temperature=0.3, top_p=0.5, top_k=3, tool_choice="auto")
    assert lost == []


def test_a_leftover_that_does_not_fit_is_left_out() -> None:
    body, lost = sent(leftovers={"anthropic_messages": {"service_tier": 7}, "openai_chat": {"logit_bias": {"1": 2}}})
    assert "service_tier" not in body
    assert kinds(lost) == [("logit_bias", "dropped")]


def test_a_document_of_this_wire_keeps_options_that_responses_has_no_word_for() -> None:
    request = read(inference_geo="eu", service_tier="auto", speed="standard", metadata={"user_id": None}, top_p=None)
    assert request.service_tier == "auto"
    assert request.safety_identifier is None


@pytest.mark.parametrize(
    "left",
    [
        {"tools": []},
        {"other_tools": {"a": 1}},
        {"spelling": 7},
        {"other_tools": [[2**63, {"type": "memory_20250818", "name": "memory"}]]},
        {"spelling": {"empty": [7], "reasoning": []}},
        {"spelling": {"messages": [[2**63, {"content": []}]]}},
        {"tools": {"f": {"spelling": {"allowed_callers": 7}}}},
        {"output_config": 7},
        {"message": 7},
        {"stop_details": []},
        {"block": 7, "spelling": {"asked": [7, 7], "lost": 7, "alone": [7], "empty": {"": 7}, "format": 7}},
        {"block": ["7", ""], "spelling": {"asked": ["7", ""], "lost": {"paths": 7}, "alone": {"servers": 7}}},
        {"messages": {"": [[0, 7], 7]}, "spelling": {"messages": "entries"}},
        {"model": 7, "messages": 7, "max_tokens": "x", "spelling": {"model": [None, ""], "max_tokens": ["7", ""]}},
    ],
)
def test_leftovers_that_this_wire_cannot_have_written_change_nothing_that_is_said(left: Plain) -> None:
    leftovers = {"anthropic_messages": left}
    options: Any = {"tools": [FunctionTool(name="f")], "reasoning": ReasoningOptions(effort="low")}
    body, lost = sent(Message(role="user", content=[InputText(text="Hi")]), **options)
    said = Message(role="user", content=[InputText(text="Hi", leftovers=leftovers)], leftovers=leftovers)
    forged, more = sent(said, **options, leftovers=leftovers)
    assert {name: forged[name] for name in body.keys() - {"messages"}} == {
        name: value for name, value in body.items() if name != "messages"
    }
    ((message,), (text,)) = forged["messages"], forged["messages"][0]["content"]
    assert (message["role"], text["type"], text["text"]) == ("user", "text", "Hi")
    assert {*kinds(lost)} <= {*kinds(more)}


def test_a_format_without_a_schema_or_of_another_kind_is_refused() -> None:
    """anthropic.request.26"""
    for asked in (JsonSchemaFormat(name="a"), Unknown({"type": "grammar"})):
        assert kinds(sent(text=TextOptions(format=asked))[1]) == [("text.format", "refused")]
    assert sent(text=TextOptions(format=TextFormat()))[1] == []


def test_blank_instructions_are_reported() -> None:
    """anthropic.request.2"""
    body, lost = sent(instructions=" ")
    assert ("system" in body, kinds(lost)) == (False, [("instructions", "dropped")])
