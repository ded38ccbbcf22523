"""Bodies of the Chat wire on their way into requests; every one of them also comes back as it came."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest import wires
from llm_rest.losses import Losses
from llm_rest.responses import (
    AudioData,
    CacheBreakpoint,
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    CustomTool,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    Grammar,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    JsonObjectFormat,
    JsonSchemaFormat,
    Message,
    OutputText,
    ReasoningOptions,
    RefusalPart,
    StreamOptions,
    TextFormat,
    TextOptions,
    UserLocation,
    WebSearchTool,
)
from llm_rest.responses.carriers import report_foreign
from llm_rest.unknown import Unknown
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import CALL, HI, OPENAI, asked, told

TOOL: dict[str, Any] = {"type": "function", "function": {"name": "now"}}
NOW = FunctionTool(name="now", strict=False)


def heard(*messages: dict[str, Any], dialect: Any = OPENAI) -> Any:
    """The items for these messages."""
    request, _ = asked(dialect, messages=list(messages))
    return request.input


def left(request: Any) -> dict[str, Any]:
    return request.leftovers["openai_chat"] if request.leftovers else {}


def reported(request: Any) -> list[str]:
    """What a request loses on another wire."""
    lost = Losses()
    report_foreign(request.leftovers, "ollama_chat", "", lost, request)
    return told(lost)


# --- messages -------------------------------------------------------------------------------------------------------


def test_messages_are_items_in_the_same_order() -> None:
    """chat.request_back.1"""
    assert heard(HI, {"role": "assistant", "content": "Yes?"}, {"role": "system", "content": "Be brief."}) == [
        Message(role="user", content="Hi"),
        Message(role="assistant", content="Yes?"),
        Message(role="system", content="Be brief."),
    ]


def test_the_first_and_only_word_to_the_model_is_the_instructions() -> None:
    """chat.request_back.1"""
    request, _ = asked(messages=[{"role": "developer", "content": "Be brief."}, HI])
    assert request.instructions == "Be brief."
    assert request.input == [Message(role="user", content="Hi")]
    twice = [{"role": "developer", "content": "Be brief."}, {"role": "developer", "content": "Be kind."}]
    assert len(heard(*twice)) == 2
    assert heard({"role": "system", "content": "Be brief."}) == [Message(role="system", content="Be brief.")]


def test_the_name_of_a_speaker_is_kept_for_this_wire() -> None:
    """chat.request_back.2"""
    (item,) = heard({**HI, "name": "ada"})
    assert item.leftovers == {"openai_chat": {"name": "ada"}}


def test_text_images_and_files_are_parts() -> None:
    """chat.request_back.3"""
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "https://a/b.png", "detail": "low"}},
        {"type": "file", "file": {"file_data": "data:a", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_id": "file_1"}},
    ]
    (item,) = heard({"role": "user", "content": parts})
    assert item.content == [
        InputText(text="a"),
        InputImage(image_url="https://a/b.png", detail="low"),
        InputFile(file_data="data:a", filename="a.pdf"),
        InputFile(file_id="file_1"),
    ]


@pytest.mark.parametrize(
    ("host", "part", "item"),
    [
        (
            "openai",
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            AudioData(data="AAAA", format="wav"),
        ),
        ("mistral", {"type": "input_audio", "input_audio": "AAAA"}, AudioData(data="AAAA", format="")),
    ],
)
def test_sound_is_kept_as_sound(host: str, part: dict[str, Any], item: AudioData) -> None:
    """chat.request_back.4"""
    (message,) = heard({"role": "user", "content": [part]}, dialect=CHAT_HOSTS[host])
    (found,) = message.content
    assert isinstance(found, InputAudio)
    assert found.input_audio == item


@pytest.mark.parametrize(
    ("host", "part", "item"),
    [
        ("mistral", {"type": "document_url", "document_url": "https://a"}, InputFile(file_url="https://a")),
        ("openrouter", {"type": "video_url", "video_url": {"url": "https://a"}}, InputVideo(video_url="https://a")),
        ("openrouter", {"type": "file", "file": {"file_data": "https://a"}}, InputFile(file_url="https://a")),
        (
            "openrouter",
            {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            InputText(text="a", prompt_cache_breakpoint=CacheBreakpoint(ttl="1h")),
        ),
        (
            "openai",
            {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
            InputText(text="a", prompt_cache_breakpoint=CacheBreakpoint()),
        ),
    ],
)
def test_parts_of_a_host_are_read_with_its_facts(host: str, part: dict[str, Any], item: Any) -> None:
    """chat.request_back.3 and chat.request_back.31"""
    (message,) = heard({"role": "user", "content": [part]}, dialect=CHAT_HOSTS[host])
    assert message.content == [item]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "document_url", "document_url": "https://a"},
        {"type": "audio_content", "audio_content": {"content": "AAAA"}},
        {"type": "video_url", "video_url": "https://a"},
    ],
)
def test_parts_that_only_a_host_knows_keep_their_form(part: dict[str, Any]) -> None:
    """chat.request_back.26"""
    (message,) = heard({"role": "user", "content": [part]})
    (found,) = message.content
    assert isinstance(found, Unknown)
    assert found.kind == f"openai_chat:{part['type']}"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "a", "cache_control": {"type": "other"}},
        {"type": "text", "text": "a", "tone": "calm"},
        {"type": "image_url", "image_url": "https://a"},
        {"type": "image_url", "image_url": {"url": "https://a", "crop": 1}},
    ],
)
def test_what_a_part_says_beyond_responses_is_kept(part: dict[str, Any]) -> None:
    """chat.request_back.26 and chat.request_back.31"""
    (message,) = heard({"role": "user", "content": [part]})
    assert message.content[0].leftovers


@pytest.mark.parametrize("ttl", [5, None, ["1h"]])
def test_a_cache_mark_for_no_time_is_kept_for_its_host(ttl: Any) -> None:
    """chat.request_back.31"""
    part = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": ttl}}
    request, _ = asked(CHAT_HOSTS["openrouter"], messages=[{"role": "user", "content": [part]}])
    said: Any = request.input
    assert said[0].content[0].prompt_cache_breakpoint is None


def test_what_the_assistant_said_is_a_string_or_parts() -> None:
    """chat.request_back.5"""
    items = heard(
        {"role": "assistant", "content": "a"}, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}
    )
    assert items[0] == Message(role="assistant", content="a")
    assert items[1].content == [OutputText(text="b")]


def test_a_refusal_is_a_part() -> None:
    """chat.request_back.6"""
    (item,) = heard({"role": "assistant", "content": None, "refusal": "No."})
    assert item.content == [RefusalPart(refusal="No.")]
    (item,) = heard({"role": "assistant", "content": "Well.", "refusal": "No."})
    assert item.content == [OutputText(text="Well.", annotations=[]), RefusalPart(refusal="No.")]


def test_calls_follow_the_text_as_items_of_their_own() -> None:
    """chat.request_back.7"""
    custom = {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}
    items = heard(
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL, custom]},
        {"role": "tool", "tool_call_id": "c2", "content": "1"},
        {"role": "tool", "tool_call_id": "c1", "content": "Rain"},
    )
    assert items == [
        Message(role="assistant", content="I look."),
        FunctionCall(call_id="c1", name="weather", arguments='{"city":"Oslo"}'),
        CustomToolCall(call_id="c2", name="run", input="print(1)"),
        CustomToolCallOutput(call_id="c2", output="1"),
        FunctionCallOutput(call_id="c1", output="Rain"),
    ]


def test_calls_without_an_id_get_one_and_their_outputs_the_same() -> None:
    """chat.request_back.7 and BUGS 31"""
    call = {"type": "function", "function": {"name": "now", "arguments": "{}"}}
    request, lost = asked(
        messages=[
            {"role": "assistant", "content": None, "tool_calls": [{**call, "id": ""}, {**call, "id": ""}]},
            {"role": "tool", "tool_call_id": "", "content": "12"},
            {"role": "tool", "tool_call_id": "", "content": "13"},
        ]
    )
    ids = [item.call_id for item in request.input]  # type: ignore[union-attr]
    assert ids[0] != ids[1]
    assert ids[:2] == ids[2:]
    assert lost == ["messages[0].tool_calls[0] (changed)", "messages[0].tool_calls[1] (changed)"]


def test_calls_of_the_same_id_are_told_apart_by_their_order() -> None:
    """chat.request_back.7"""
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    request, lost = asked(
        messages=[
            {"role": "assistant", "content": None, "tool_calls": [call, call]},
            {"role": "tool", "tool_call_id": "c1", "content": "12"},
            {"role": "tool", "tool_call_id": "c1", "content": "13"},
        ]
    )
    ids = [item.call_id for item in request.input]  # type: ignore[union-attr]
    assert ids[0] != ids[1]
    assert ids[:2] == ids[2:]
    assert lost == ["messages[0].tool_calls[1] (changed)"]


def test_messages_of_the_assistant_in_a_row_stay_apart() -> None:
    """chat.request_back.30"""
    heard({"role": "assistant", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [CALL]})
    heard({"role": "assistant", "content": None, "tool_calls": [CALL]}, {"role": "assistant", "content": "a"})


def test_the_sound_of_an_answer_is_named_again() -> None:
    """chat.request_back.9"""
    (item,) = heard({"role": "assistant", "audio": {"id": "audio_1"}})
    assert item.leftovers["openai_chat"]["audio"] == {"id": "audio_1"}


def test_a_tool_message_is_an_output() -> None:
    """chat.request_back.10"""
    parts = [{"type": "text", "text": "Rain"}]
    items = heard(
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": parts},
    )
    assert items[1] == FunctionCallOutput(call_id="c1", name="weather", output=[InputText(text="Rain")])


def test_legacy_functions_are_calls_with_an_id_of_their_own() -> None:
    """chat.request_back.11"""
    request, lost = asked(
        messages=[
            {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": "{}"}},
            {"role": "function", "name": "now", "content": "12"},
        ]
    )
    assert isinstance(request.input, list)
    call, result = request.input
    assert isinstance(call, FunctionCall)
    assert isinstance(result, FunctionCallOutput)
    assert call.call_id == result.call_id != ""
    assert lost == ["messages[0].function_call (changed)"]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": None},
        {"role": "user"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None},
        {"role": "assistant"},
        {"role": "assistant", "content": [], "prefix": True},
        {"role": "assistant", "content": "a", "tool_calls": None, "refusal": None, "annotations": [], "name": None},
        {"role": "assistant", "content": "a", "tool_calls": []},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "tool", "tool_call_id": "c9"},
        {"role": "ipython", "content": "1"},
        {"role": "user", "content": "a", "mood": {"calm": 1}},
        {"role": "assistant", "content": "a", "mood": {"calm": 1}},
        {"role": "assistant", "content": "", "tool_calls": [{**CALL, "index": 0, "mood": 1}]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "now", "arguments": {"a": 1.50}}}]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "now", "arguments": ""}]},
        {"role": "assistant", "tool_calls": [{"id": None, "type": "function", "function": {"name": "now"}}]},
    ],
)
def test_unusual_messages_come_back_as_they_came(message: dict[str, Any]) -> None:
    """chat.request_back.26 and chat.request_back.27"""
    heard(message)


# --- tools ----------------------------------------------------------------------------------------------------------


def test_a_tool_that_says_nothing_about_strictness_is_not_strict() -> None:
    """chat.request_back.12"""
    named = {"type": "function", "function": {"name": "weather", "parameters": {}, "strict": True}}
    request, lost = asked(tools=[TOOL, named])
    assert request.tools == [NOW, FunctionTool(name="weather", parameters={}, strict=True)]
    assert lost == []


def test_a_custom_tool_loses_its_nesting() -> None:
    """chat.request_back.12"""
    grammar = {"type": "grammar", "grammar": {"definition": "start: /a/", "syntax": "lark"}}
    request, _ = asked(tools=[{"type": "custom", "custom": {"name": "run", "format": grammar}}])
    assert request.tools == [CustomTool(name="run", format=Grammar(definition="start: /a/", syntax="lark"))]


@pytest.mark.parametrize(
    "tool",
    [
        {"function": {"name": "now"}},
        {"type": "function", "function": {"name": "now", "strict": False}},
        {"type": "function", "function": {"name": "now", "strict": None, "examples": [1]}},
        {**TOOL, "cache_control": {"type": "ephemeral"}, "later": 1},
        {"type": "openrouter:web_search", "parameters": {"max_results": 1}},
        {"type": "custom", "custom": {"name": "run", "format": {"type": "text"}, "later": 1}},
    ],
)
def test_unusual_tools_come_back_as_they_came(tool: dict[str, Any]) -> None:
    """chat.request_back.26"""
    asked(tools=[tool])


@pytest.mark.parametrize(
    ("sent", "choice"),
    [
        ("required", "required"),
        ("any", "required"),
        ({"type": "function", "function": {"name": "now"}}, ChooseFunction(name="now")),
        ({"function": {"name": "now"}}, ChooseFunction(name="now")),
        ({"type": "custom", "custom": {"name": "now"}}, ChooseCustom(name="now")),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}},
            ChooseAllowed(tools=[{"type": "function", "name": "now"}], mode="auto"),
        ),
    ],
)
def test_a_tool_choice_loses_its_nesting(sent: Any, choice: Any) -> None:
    """chat.request_back.12"""
    assert asked(tools=[TOOL], tool_choice=sent)[0].tool_choice == choice


def test_legacy_functions_are_tools() -> None:
    """chat.request_back.13"""
    request, lost = asked(functions=[{"name": "now"}], function_call={"name": "now"})
    assert request.tools == [NOW]
    assert request.tool_choice == ChooseFunction(name="now")
    assert lost == ["functions (emulated)"]
    asked(functions=[{"name": "now"}], function_call="auto")


def test_words_about_tools_without_tools_are_kept_for_this_wire() -> None:
    request, _ = asked(tools=[], tool_choice="auto", parallel_tool_calls=True)
    assert not request.tools
    assert not request.tool_choice


def test_web_search_is_a_tool() -> None:
    """chat.request_back.23"""
    place = {"type": "approximate", "approximate": {"city": "Oslo", "country": "NO"}}
    request, _ = asked(web_search_options={"search_context_size": "low", "user_location": place})
    where = UserLocation(type="approximate", city="Oslo", country="NO")
    assert request.tools == [WebSearchTool(search_context_size="low", user_location=where)]


def test_what_options_say_beyond_what_is_known_is_kept_and_told_to_other_wires() -> None:
    """chat.request_back.23 and chat.request_back.26"""
    search = {"later": 1, "user_location": {"type": "approximate", "approximate": {"city": "Oslo", "planet": "Mars"}}}
    choice = {"type": "function", "function": {"name": "now", "soon": True}}
    streamed = {"include_usage": True, "later": 1}
    sound = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav", "later": 1}}
    request, lost = asked(
        messages=[{"role": "user", "content": [sound]}],
        tools=[TOOL],
        tool_choice=choice,
        web_search_options=search,
        stream=True,
        stream_options=streamed,
    )
    assert lost == []
    _, lost = wires.load("gemini_generate_content").encode_request(request)
    assert {
        "input[0].content[0].input_audio.later (dropped)",
        "web_search_options.later (dropped)",
        "web_search_options.user_location.approximate.planet (dropped)",
        "tool_choice.function.soon (dropped)",
        "stream_options.later (dropped)",
    } <= set(told(lost))


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "asked_for"),
    [
        ({"type": "text"}, TextFormat()),
        ({"type": "json_object"}, JsonObjectFormat()),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}},
            JsonSchemaFormat(name="n", schema={}, strict=True),
        ),
        ({"type": "json_schema", "json_schema": {"name": "n", "later": 1}}, JsonSchemaFormat(name="n")),
        ({"type": "grammar", "grammar": "x"}, Unknown({"type": "openai_chat:grammar", "grammar": "x"})),
    ],
)
def test_the_format_loses_its_nesting(sent: dict[str, Any], asked_for: Any) -> None:
    """chat.request_back.14"""
    text = asked(response_format=sent)[0].text
    assert isinstance(text, TextOptions)
    assert text.format == asked_for


@pytest.mark.parametrize("name", ["max_completion_tokens", "max_tokens"])
def test_both_names_of_the_token_limit_are_read(name: str) -> None:
    """chat.request_back.15"""
    assert asked(**{name: 100})[0].max_output_tokens == 100


def test_of_two_token_limits_the_hosts_own_counts() -> None:
    """chat.request_back.15"""
    both = {"max_completion_tokens": 100, "max_tokens": 50}
    assert asked(**both)[0].max_output_tokens == 100
    assert asked(CHAT_HOSTS["groq"], **both)[0].max_output_tokens == 100
    assert asked(CHAT_HOSTS["fireworks"], **both)[0].max_output_tokens == 50


def test_several_answers_are_asked_for_on_this_wire_only() -> None:
    """chat.request_back.16"""
    assert left(asked(n=2)[0]) == {"n": 2}
    assert reported(asked(n=2)[0]) == ["n (dropped)"]
    assert reported(asked(n=1)[0]) == [], "which says what every other wire does"


def test_stop_and_seed_are_options_of_ours() -> None:
    """chat.request_back.17 and chat.request_back.18"""
    request, _ = asked(stop="END", seed=7, logit_bias={"1": 2}, prediction={"type": "content", "content": "x"})
    assert (request.stop, request.seed) == ("END", 7)
    assert left(request) == {"logit_bias": {"1": 2}, "prediction": {"type": "content", "content": "x"}}
    assert asked(CHAT_HOSTS["mistral"], random_seed=7)[0].seed == 7
    assert asked(random_seed=7)[0].seed == 7


def test_penalties_are_the_same() -> None:
    """chat.request_back.19"""
    request, _ = asked(presence_penalty=0.5, frequency_penalty=None)
    assert (request.presence_penalty, request.frequency_penalty) == (0.5, None)


def test_log_probabilities_are_included() -> None:
    """chat.request_back.20"""
    request, _ = asked(logprobs=True, top_logprobs=2)
    assert (request.include, request.top_logprobs) == (["message.output_text.logprobs"], 2)
    request, _ = asked(CHAT_HOSTS["together"], logprobs=2)
    assert (request.include, request.top_logprobs) == (["message.output_text.logprobs"], 2)
    assert not asked(logprobs=False)[0].include


def test_effort_and_verbosity_have_their_places() -> None:
    """chat.request_back.21"""
    request, _ = asked(reasoning_effort="low", verbosity="high")
    assert request.reasoning == ReasoningOptions(effort="low")
    assert request.text == TextOptions(verbosity="high")
    openrouter = CHAT_HOSTS["openrouter"]
    assert asked(openrouter, reasoning={"effort": "low"})[0].reasoning == ReasoningOptions(effort="low")
    assert asked(openrouter, reasoning={"effort": "low", "max_tokens": 5})[0].leftovers
    assert asked(reasoning={"enabled": True})[0].leftovers
    assert asked(CHAT_HOSTS["zai"], thinking={"type": "disabled"})[0].reasoning == ReasoningOptions(effort="none")


def test_spoken_answers_are_asked_for_on_this_wire_only() -> None:
    """chat.request_back.22"""
    wanted = {"modalities": ["text", "audio"], "audio": {"format": "mp3", "voice": "alloy"}}
    assert left(asked(**wanted)[0]) == wanted


@pytest.mark.parametrize(("body", "kept"), [({}, {}), ({"store": True}, {"store": True})])
def test_nothing_is_kept_unless_somebody_asks(body: dict[str, Any], kept: dict[str, Any]) -> None:
    """chat.request_back.24"""
    request, _ = asked(**body)
    assert request.store is False
    assert left(request) == kept


def test_metadata_is_the_same() -> None:
    request, _ = asked(metadata={"a": "b"})
    assert request.metadata == {"a": "b"}


@pytest.mark.parametrize("options", [{"include_usage": True}, {"include_usage": False}, {}, None])
def test_token_counts_of_a_stream_are_always_there(options: Any) -> None:
    """chat.request_back.25"""
    assert asked(stream=True, stream_options=options)[0].stream is True
    assert asked(stream=True)[0].stream is True
    quiet, _ = asked(stream=True, stream_options={"include_usage": True, "include_obfuscation": False})
    assert quiet.stream_options == StreamOptions(include_obfuscation=False)


def test_options_of_hosts_are_kept_for_this_wire() -> None:
    """chat.request_back.26"""
    own = {"provider": {"only": ["x"]}, "models": ["a"], "later": 1, "thinking": {"type": "enabled"}}
    request, lost = asked(**own)
    assert left(request) == own
    assert lost == []


def test_a_service_tier_of_a_host_is_kept_for_this_wire() -> None:
    """chat.request_back.29"""
    assert asked(service_tier="flex")[0].service_tier == "flex"
    request, _ = asked(service_tier="on_demand")
    assert not request.service_tier
    assert left(request) == {"service_tier": "on_demand"}


def test_the_model_may_come_from_elsewhere() -> None:
    """chat.request_back.28"""
    body = wire.REQUEST.decode(json.dumps({"messages": [HI]}))
    assert wire.decode_request(body, model="m")[0].model == "m"
    body = wire.REQUEST.decode(json.dumps({"model": "own", "messages": [HI]}))
    assert wire.decode_request(body, model="m")[0].model == "own"
