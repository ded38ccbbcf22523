"""Requests on their way to a host of the Chat wire: options, tools and formats. Messages are in test_messages.py."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    AdditionalTools,
    CacheBreakpoint,
    CacheOptions,
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    ChooseMcp,
    CodeInterpreterTool,
    ContextManagement,
    CustomTool,
    FunctionTool,
    Grammar,
    InputText,
    JsonObjectFormat,
    JsonSchemaFormat,
    McpTool,
    Message,
    NamespaceTool,
    Prompt,
    ReasoningOptions,
    Request,
    StreamOptions,
    TextFormat,
    TextOptions,
    UserLocation,
    WebSearchTool,
)
from llm_rest.unknown import Unknown, with_extras
from llm_rest.vendors.dialects import CHAT_HOSTS, COMPATIBLE, ChatDialect
from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import HI, OPENAI, messages, plain, sent

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = FunctionTool(name="weather", parameters=SCHEMA, strict=False)
NOW = FunctionTool(name="now", strict=False)


def option(dialect: ChatDialect = OPENAI, /, **fields: Any) -> tuple[dict[str, Any], list[str]]:
    """What a request with these fields adds to the body, and the losses."""
    body, lost = sent(Request(**fields), dialect)
    body.pop("messages")
    return body, lost


# --- the conversation -----------------------------------------------------------------------------------------------


def test_the_model_is_the_model() -> None:
    """chat.request.1"""
    assert option(model="gpt-5") == ({"model": "gpt-5"}, [])


def test_an_input_that_is_a_string_is_what_the_user_says() -> None:
    """chat.request.2"""
    assert sent(Request(input="Hi")) == ({"messages": [HI]}, [])


@pytest.mark.parametrize(("host", "role"), [("openai", "developer"), ("azure_openai", "developer"), ("groq", "system")])
def test_instructions_come_first_in_the_hosts_role(host: str, role: str) -> None:
    """chat.request.3"""
    body, lost = sent(Request(input="Hi", instructions="Be brief."), CHAT_HOSTS[host])
    assert body["messages"] == [{"role": role, "content": "Be brief."}, HI]
    assert lost == []


def test_messages_come_last_in_the_body_so_that_a_longer_conversation_begins_with_the_same_bytes() -> None:
    """BUGS 81"""
    body, _ = sent(Request(model="m", input="Hi", tools=[WEATHER], temperature=0.5, max_output_tokens=9))
    assert list(body)[-1] == "messages"


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["temperature", "top_p", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "user"],
)
def test_options_of_the_same_name_are_sent_as_they_are(name: str) -> None:
    """chat.request.37"""
    value = 0.5 if name in ("temperature", "top_p") else "auto"
    assert option(**{name: value}) == ({name: value}, [])


def test_penalties_are_sent_as_they_are() -> None:
    """chat.request.38"""
    both = {"presence_penalty": 0.5, "frequency_penalty": -0.5}
    assert option(**both) == (both, [])


def test_an_option_that_is_none_is_left_out() -> None:
    assert option(temperature=None) == ({}, [])


@pytest.mark.parametrize(("host", "field"), [("openai", "max_completion_tokens"), ("deepseek", "max_tokens")])
def test_the_token_limit_has_the_name_the_host_knows(host: str, field: str) -> None:
    """chat.request.35"""
    assert option(CHAT_HOSTS[host], max_output_tokens=100) == ({field: 100}, [])


def test_stop_and_seed_are_options_of_this_wire_and_top_k_of_some_hosts() -> None:
    """chat.request.46 and BUGS 87"""
    assert option(stop=["END"], seed=7) == ({"stop": ["END"], "seed": 7}, [])
    assert option(CHAT_HOSTS["mistral"], seed=7, top_k=5) == ({"random_seed": 7, "top_k": 5}, [])
    assert option(top_k=5) == ({}, ["top_k (dropped)"])


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"user": "ada"}, ["user (dropped)"]),
        ({"text": TextOptions(verbosity="low")}, ["text.verbosity (dropped)"]),
        ({"service_tier": "flex", "prompt_cache_key": "k"}, ["prompt_cache_key (dropped)", "service_tier (dropped)"]),
        ({"user": None}, []),
    ],
)
def test_what_a_host_does_not_take_stays_behind_and_is_told_by_its_own_name(
    fields: dict[str, Any], lost: list[str]
) -> None:
    """chat.request.56"""
    assert option(COMPATIBLE, **fields) == ({}, lost)


def test_verbosity_is_an_option_of_openai() -> None:
    """chat.request.32"""
    assert option(text=TextOptions(verbosity="low")) == ({"verbosity": "low"}, [])


def test_cache_options_are_sent_but_for_those_of_responses_alone() -> None:
    given = CacheOptions(mode="explicit", ttl="30m", prewarm=True)
    assert option(prompt_cache_options=given) == (
        {"prompt_cache_options": {"mode": "explicit", "ttl": "30m"}},
        ["prompt_cache_options.prewarm (dropped)"],
    )


def test_metadata_is_for_stored_answers_at_openai_and_for_all_elsewhere() -> None:
    """chat.request.39"""
    assert option(metadata={"a": "b"}) == ({}, ["metadata (dropped)"])
    assert option(CHAT_HOSTS["openrouter"], metadata={"a": "b"}) == ({"metadata": {"a": "b"}}, [])


@pytest.mark.parametrize(("store", "lost"), [(True, ["store (dropped)"]), (False, [])])
def test_store_means_something_else_here_and_is_not_sent(store: bool, lost: list[str]) -> None:
    """chat.request.40"""
    assert option(store=store) == ({}, lost)


def test_a_stream_is_asked_for_with_its_token_counts() -> None:
    """chat.request.41"""
    usage = {"include_usage": True}
    assert option(stream=True) == ({"stream": True, "stream_options": usage}, [])
    quiet = StreamOptions(include_obfuscation=False)
    assert option(stream=True, stream_options=quiet)[0]["stream_options"] == {**usage, "include_obfuscation": False}
    assert option(CHAT_HOSTS["mistral"], stream=True) == ({"stream": True}, [])
    padded = StreamOptions(include_obfuscation=True)
    assert option(CHAT_HOSTS["groq"], stream=True, stream_options=padded) == (
        {"stream": True, "stream_options": usage},
        ["stream_options.include_obfuscation (dropped)"],
    )


def test_log_probabilities_are_a_switch_and_a_number() -> None:
    """chat.request.36"""
    wanted = ["message.output_text.logprobs"]
    assert option(include=wanted, top_logprobs=2) == ({"logprobs": True, "top_logprobs": 2}, [])
    assert option(include=wanted) == ({"logprobs": True}, [])
    assert option(top_logprobs=2) == ({"logprobs": True, "top_logprobs": 2}, ["top_logprobs (emulated)"])
    assert option(CHAT_HOSTS["together"], include=wanted, top_logprobs=2) == ({"logprobs": 2}, [])


def test_nothing_is_cut_unless_it_is_asked_for_and_then_it_cannot_be_sent() -> None:
    """chat.request.42 and chat.request.43"""
    assert option(truncation="disabled") == ({}, [])
    assert option(truncation="auto") == ({}, ["truncation (refused)"])
    assert option(context_management=[ContextManagement()]) == ({}, ["context_management (refused)"])


@pytest.mark.parametrize(
    "fields",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": Prompt(id="pmpt_1")},
        {"background": True},
    ],
)
def test_what_the_vendor_would_have_to_keep_is_refused(fields: dict[str, Any]) -> None:
    """chat.request.44 and chat.request.45"""
    assert option(**fields) == ({}, [f"{next(iter(fields))} (refused)"])


def test_limits_and_inclusions_of_responses_alone_are_dropped() -> None:
    """chat.request.45"""
    assert option(max_tool_calls=3, include=["file_search_call.results", "reasoning.encrypted_content"]) == (
        {},
        ["include[0] (dropped)", "max_tool_calls (dropped)"],
    )


def test_moderation_is_asked_for_alike() -> None:
    """chat.request.45"""
    assert option(moderation={"model": "omni-moderation-latest"}) == (
        {"moderation": {"model": "omni-moderation-latest"}},
        [],
    )


# --- reasoning ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "effort", "body", "lost"),
    [
        ("openai", "low", {"reasoning_effort": "low"}, []),
        ("openai", "none", {"reasoning_effort": "none"}, []),
        ("deepseek", "medium", {"reasoning_effort": "high"}, ["reasoning.effort (changed)"]),
        ("deepseek", "none", {"thinking": {"type": "disabled"}}, []),
        ("openrouter", "low", {"reasoning": {"effort": "low"}}, []),
        ("vllm", "none", {"chat_template_kwargs": {"enable_thinking": False}}, []),
        ("alibaba", "none", {"enable_thinking": False}, []),
    ],
)
def test_the_effort_is_asked_for_as_the_host_wants_it(
    host: str, effort: str, body: dict[str, Any], lost: list[str]
) -> None:
    """chat.request.33 and BUGS 13"""
    assert option(CHAT_HOSTS[host], reasoning=ReasoningOptions(effort=effort)) == (body, lost)


def test_other_options_of_reasoning_have_no_field_except_the_summary_at_openrouter() -> None:
    """chat.request.34"""
    asked = ReasoningOptions(effort="low", summary="auto", context="all_turns", mode="pro")
    told = ["reasoning.summary (dropped)", "reasoning.context (dropped)", "reasoning.mode (dropped)"]
    assert option(reasoning=asked) == ({"reasoning_effort": "low"}, told)
    assert option(CHAT_HOSTS["openrouter"], reasoning=asked) == (
        {"reasoning": {"effort": "low", "summary": "auto"}},
        told[1:],
    )


# --- formats --------------------------------------------------------------------------------------------------------


def test_a_schema_is_nested() -> None:
    """chat.request.30"""
    asked = JsonSchemaFormat(name="place", schema=SCHEMA, description="A place.", strict=True)
    inner = {"name": "place", "schema": SCHEMA, "description": "A place.", "strict": True}
    assert option(text=TextOptions(format=asked)) == (
        {"response_format": {"type": "json_schema", "json_schema": inner}},
        [],
    )
    assert option(text=TextOptions(format=JsonSchemaFormat(schema=SCHEMA)))[0] == {
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    }


@pytest.mark.parametrize("kind", ["text", "json_object"])
def test_plain_text_and_any_object_are_named_alike(kind: str) -> None:
    """chat.request.31"""
    asked = TextFormat() if kind == "text" else JsonObjectFormat()
    assert option(text=TextOptions(format=asked)) == ({"response_format": {"type": kind}}, [])


def test_a_host_that_refuses_the_format_text_is_not_asked_for_it() -> None:
    """chat.request.31"""
    assert option(CHAT_HOSTS["sambanova"], text=TextOptions(format=TextFormat())) == ({}, [])


def test_a_host_without_schemas_is_told_the_schema_in_words() -> None:
    """chat.request.57"""
    request = Request(input="Hi", instructions="Be brief.", text=TextOptions(format=JsonSchemaFormat(schema=SCHEMA)))
    body, lost = sent(request, CHAT_HOSTS["deepseek"])
    assert body["response_format"] == {"type": "json_object"}
    assert [message["role"] for message in body["messages"]] == ["system", "system", "user"]
    assert '"city"' in body["messages"][1]["content"]
    assert lost == ["text.format (emulated)"]


def test_a_host_without_json_mode_is_asked_for_a_schema_of_any_object() -> None:
    """chat.request.57"""
    body, lost = option(CHAT_HOSTS["lmstudio"], text=TextOptions(format=JsonObjectFormat()))
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert lost == ["text.format (emulated)"]


def test_an_unknown_format_is_refused() -> None:
    assert option(text=TextOptions(format=Unknown({"type": "later"}))) == ({}, ["text.format (refused)"])


# --- tools ----------------------------------------------------------------------------------------------------------


def tools(*given: Any, dialect: ChatDialect = OPENAI, **options: Any) -> tuple[list[Any], list[str]]:
    body, lost = sent(Request(tools=list(given), **options), dialect)
    return body.get("tools", []), lost


def test_a_function_is_nested() -> None:
    """chat.request.25"""
    given = FunctionTool(name="weather", description="The weather.", parameters=SCHEMA, strict=True)
    function = {"name": "weather", "description": "The weather.", "parameters": SCHEMA, "strict": True}
    assert tools(given) == ([{"type": "function", "function": function}], [])


OPEN: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
PARTLY: dict[str, Any] = {**SCHEMA, "required": []}
INSIDE: dict[str, Any] = {**SCHEMA, "$defs": {"place": OPEN}}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [(SCHEMA, True), (OPEN, None), (PARTLY, None), (INSIDE, None), ({**SCHEMA, "properties": {}}, True)],
)
def test_strictness_that_was_left_open_is_decided_as_a_responses_host_would(
    schema: dict[str, Any], strict: bool | None
) -> None:
    """chat.request.25 and BUGS 52"""
    before = str(schema)
    found, lost = tools(FunctionTool(name="weather", parameters=schema))
    assert found[0]["function"].get("strict") == strict
    assert lost == []
    assert str(schema) == before


def test_strictness_that_cannot_be_decided_is_off_and_told() -> None:
    """chat.request.25"""
    schema = {**SCHEMA, "properties": {"city": {"oneOf": [{"type": "string"}]}}}
    assert tools(FunctionTool(name="weather", parameters=schema))[1] == ["tools[0].strict (changed)"]


def test_strictness_is_dropped_where_the_host_does_not_promise_it() -> None:
    """chat.request.25"""
    given = FunctionTool(name="weather", parameters=SCHEMA, strict=True)
    found, lost = tools(given, dialect=COMPATIBLE)
    assert found == [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
    assert lost == ["tools[0].strict (dropped)"]


def test_a_function_without_parameters_has_none() -> None:
    """chat.request.26"""
    for given in (NOW, FunctionTool(name="now", strict=False, parameters=None, description=None)):
        assert tools(given) == ([{"type": "function", "function": {"name": "now"}}], [])
    assert tools(NOW, dialect=CHAT_HOSTS["mistral"])[0][0]["function"]["parameters"] == {
        "type": "object",
        "properties": {},
    }


def test_options_of_a_tool_that_this_wire_lacks_are_told() -> None:
    given = with_extras(FunctionTool(name="now", strict=False, defer_loading=True, async_=True), {"later": 1})
    assert set(tools(given)[1]) == {
        "tools[0].defer_loading (dropped)",
        "tools[0].async (dropped)",
        "tools[0].later (dropped)",
    }


def test_a_custom_tool_and_its_grammar_are_nested() -> None:
    """chat.request.20"""
    given = CustomTool(name="run", format=Grammar(definition="start: /a/", syntax="lark"))
    grammar = {"type": "grammar", "grammar": {"definition": "start: /a/", "syntax": "lark"}}
    assert tools(given) == ([{"type": "custom", "custom": {"name": "run", "format": grammar}}], [])


def test_a_custom_tool_is_a_function_of_one_text_where_the_host_has_none() -> None:
    """chat.request.20 and BUGS 90"""
    given = CustomTool(name="run", description="Runs it.", format=Grammar(definition="start: /a/", syntax="lark"))
    found, lost = tools(given, dialect=CHAT_HOSTS["groq"])
    assert found[0]["function"]["parameters"]["required"] == ["input"]
    assert "start: /a/" in found[0]["function"]["description"]
    assert lost == ["tools[0] (emulated)", "tools[0].format (changed)"]


def test_a_namespace_becomes_the_beginning_of_the_names() -> None:
    """chat.request.15 and BUGS 90"""
    given = NamespaceTool(name="crm", description="Customers.", tools=[NOW])
    assert tools(given) == ([{"type": "function", "function": {"name": "crm__now"}}], ["tools[0] (emulated)"])


def test_tools_that_only_a_responses_host_runs_are_refused() -> None:
    """chat.request.27"""
    assert tools(CodeInterpreterTool(container="c"), McpTool(server_label="s")) == (
        [],
        ["tools[0] (refused)", "tools[1] (refused)"],
    )


def test_web_search_is_an_option_of_search_models_alone() -> None:
    """chat.request.27"""
    search = WebSearchTool(search_context_size="low", user_location=UserLocation(type="approximate", city="Oslo"))
    place = {"type": "approximate", "approximate": {"city": "Oslo"}}
    body, lost = option(model="gpt-4o-search-preview", tools=[search])
    assert body == {
        "model": "gpt-4o-search-preview",
        "web_search_options": {"search_context_size": "low", "user_location": place},
    }
    assert lost == []
    assert option(model="gpt-5", tools=[search]) == ({"model": "gpt-5"}, ["tools[0] (refused)"])
    anywhere, lost = option(CHAT_HOSTS["openrouter"], model="openai/gpt-5", tools=[search])
    assert (anywhere["web_search_options"], lost) == (body["web_search_options"], [])


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        (ChooseFunction(name="now"), {"type": "function", "function": {"name": "now"}}),
    ],
)
def test_deepseek_takes_a_choice_that_forces_a_call(choice: Any, sent: Any) -> None:
    """chat.request.28"""
    body, lost = option(CHAT_HOSTS["deepseek"], tools=[FunctionTool(name="now", strict=False)], tool_choice=choice)
    assert (body["tool_choice"], lost) == (sent, [])


def test_a_tool_of_the_host_is_named_as_the_host_names_it() -> None:
    """chat.request.55"""
    own = Unknown({"type": "openrouter:web_search", "parameters": {"max_results": 3}})
    assert tools(own, dialect=CHAT_HOSTS["openrouter"]) == ([dict(own)], [])


@pytest.mark.parametrize("names", [("now", "now"), ("now.then", "now.then"), ("",)])
def test_names_that_no_host_takes_are_refused_before_anything_is_sent(names: tuple[str, ...]) -> None:
    """chat.request.53 and BUGS 41"""
    _, lost = tools(*(FunctionTool(name=name, strict=False) for name in names))
    assert [loss for loss in lost if "refused" in loss] == [f"tools[{len(names) - 1}].name (refused)"]


def test_tools_added_later_are_offered_from_the_beginning() -> None:
    """chat.request.54"""
    body, lost = sent(Request(input=[AdditionalTools(role="developer", tools=[NOW])]))
    assert body["tools"] == [{"type": "function", "function": {"name": "now"}}]
    assert lost == ["input[0] (emulated)"]


# --- tool choice ----------------------------------------------------------------------------------------------------


def choice(given: Any, dialect: ChatDialect = OPENAI, **options: Any) -> tuple[Any, list[str], list[str]]:
    """The choice, the names of the tools offered, and the losses."""
    body, lost = sent(Request(tools=[WEATHER, NOW], tool_choice=given, **options), dialect)
    return body.get("tool_choice"), [tool["function"]["name"] for tool in body.get("tools", [])], lost


BOTH = ["weather", "now"]
ALLOWED = ChooseAllowed(tools=[{"type": "function", "name": "now"}], mode="required")


def test_words_and_named_tools_are_chosen_alike_but_nested() -> None:
    """chat.request.28 and BUGS 90"""
    assert choice("required") == ("required", BOTH, [])
    assert choice(ChooseFunction(name="now")) == ({"type": "function", "function": {"name": "now"}}, BOTH, [])
    assert choice(ChooseCustom(name="now"))[0] == {"type": "custom", "custom": {"name": "now"}}
    entry = {"type": "function", "function": {"name": "now"}}
    assert choice(ALLOWED)[0] == {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [entry]}}


def test_where_a_host_lacks_a_way_of_choosing_only_the_chosen_tools_are_offered() -> None:
    """chat.request.28 and BUGS 90"""
    assert choice(ALLOWED, COMPATIBLE) == ("required", ["now"], ["tool_choice (emulated)"])
    llamacpp = CHAT_HOSTS["llamacpp"]
    assert choice(ChooseFunction(name="now"), llamacpp) == ("required", ["now"], ["tool_choice (emulated)"])
    assert choice("none", CHAT_HOSTS["meta"]) == (None, [], ["tool_choice (emulated)"])
    assert choice("required", CHAT_HOSTS["meta"]) == (None, BOTH, ["tool_choice (emulated)"])


def test_a_choice_of_a_vendors_tool_is_refused() -> None:
    """chat.request.29"""
    assert choice(ChooseMcp(server_label="s")) == (None, BOTH, ["tool_choice (refused)"])
    assert choice(Unknown({"type": "shell"})) == (None, BOTH, ["tool_choice (refused)"])


def test_words_about_calls_need_tools() -> None:
    """chat.request.28"""
    assert option(tool_choice="required", parallel_tool_calls=False) == (
        {},
        ["tool_choice (dropped)", "parallel_tool_calls (dropped)"],
    )
    assert option(tools=[NOW], parallel_tool_calls=False)[0]["parallel_tool_calls"] is False


# --- the caller's own -----------------------------------------------------------------------------------------------


def test_extra_is_merged_last_and_wins() -> None:
    """chat.request.52"""
    extra = {
        "openai_chat": {"temperature": 0.1, "logit_bias": {"1": 2}, "later": [1]},
        "anthropic_messages": {"top_k": 1},
    }
    assert option(temperature=0.9, extra=extra) == ({"temperature": 0.1, "logit_bias": {"1": 2}, "later": [1]}, [])


def test_an_extra_that_json_cannot_spell_plainly_is_refused() -> None:
    """chat.request.52"""
    assert option(extra={"openai_chat": {'a"b': 1}}) == ({}, ["extra.openai_chat (refused)"])


def test_leftovers_of_this_wire_come_back_and_those_of_others_are_told() -> None:
    """chat.request.51"""
    left = {"openai_chat": {"logit_bias": {"1": 2}}, "anthropic_messages": {"container": "c"}}
    assert option(leftovers=left) == ({"logit_bias": {"1": 2}}, ["container (dropped)"])


def test_a_leftover_that_the_host_does_not_take_stays_behind_too() -> None:
    """chat.request.56"""
    left = {"openai_chat": {"logit_bias": {"1": 2}}}
    assert option(CHAT_HOSTS["groq"], leftovers=left) == ({}, ["logit_bias (dropped)"])


@pytest.mark.parametrize(
    "left",
    [
        {"spelling": 5, "tools": 5, "messages": 5, "reasoning": 5, "stream_options": 5},
        {"spelling": {"tool_choice": 5, "stream_options": 5, "max_output_tokens": 5, "seed": [], "effort": 5}},
        {"tools": {"now": 5}, 'a"b': 1},
    ],
)
def test_leftovers_from_anywhere_cannot_break_a_conversion(left: dict[str, Any]) -> None:
    request = Request(
        input="Hi",
        tools=[NOW],
        tool_choice="auto",
        max_output_tokens=5,
        seed=5,
        stream=True,
        leftovers={"openai_chat": left},
    )
    body, _ = wire.encode_request(request)
    assert plain(body)["messages"] == [HI]


def test_unknown_fields_are_not_leaked_to_this_wire() -> None:
    """chat.request.55"""
    request = with_extras(Request(input="Hi"), {"later": 1})
    assert sent(request) == ({"messages": [HI]}, ["later (dropped)"])
    assert messages(Unknown({"type": "later"})) == ([], ["input[0] (dropped)"])


@pytest.mark.parametrize(
    ("dialect", "path"),
    [
        (OPENAI, "/chat/completions"),
        (CHAT_HOSTS["ollama"], "/v1/chat/completions"),
        (ChatDialect(path="/d/{model}"), "/d/a%2Fb"),
    ],
)
def test_the_route_is_a_fact_of_the_host(dialect: ChatDialect, path: str) -> None:
    assert wire.route(Request(model="a/b"), dialect=dialect, stream=True).path == path


@pytest.mark.parametrize(("asked", "sent_as"), [("1h", "30m"), ("5m", "30m"), ("30m", "30m"), ("24h", "24h")])
def test_a_cache_lifetime_that_a_host_does_not_know_is_changed(asked: str, sent_as: str) -> None:
    """chat.request.50"""
    part = InputText(text="a", prompt_cache_breakpoint=CacheBreakpoint(mode="explicit", ttl=asked))
    body, lost = sent(
        Request(input=[Message(role="user", content=[part])], prompt_cache_options=CacheOptions(ttl=asked))
    )
    assert body["prompt_cache_options"] == {"ttl": sent_as}
    assert body["messages"][0]["content"][0]["prompt_cache_breakpoint"]["ttl"] == sent_as
    places = ["prompt_cache_options.ttl", "input[0].content[0].prompt_cache_breakpoint.ttl"]
    assert lost == [f"{place} (changed)" for place in places if asked != sent_as]
