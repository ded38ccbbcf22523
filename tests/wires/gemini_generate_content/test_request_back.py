"""Requests from a client of this wire: what they are in Responses, and that they go back as they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from llm_rest.responses import (
    AdditionalTools,
    AudioData,
    ChooseAllowed,
    ChooseFunction,
    CodeInterpreterTool,
    FileSearchTool,
    FunctionTool,
    ImageGenerationTool,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    JsonObjectFormat,
    JsonSchemaFormat,
    McpTool,
    Message,
    OutputText,
    ReasoningOptions,
    SearchFilters,
    TextFormat,
    TextOptions,
    WebSearchTool,
)
from llm_rest.unknown import extras
from llm_rest.vendors.dialects import VERTEX
from llm_rest.wires import gemini_generate_content as wire
from llm_rest.wires.gemini_generate_content.request import BUDGETS
from tests.support.facts import plain
from tests.wires.gemini_generate_content import (
    BUDGETED,
    OLD,
    SCHEMA,
    SIGNATURE,
    THREE,
    abroad,
    asked,
    back,
    called,
    decoded,
    gave,
    kinds,
    model,
    theirs,
)

GEMINI = "gemini_generate_content"
HI = {"contents": [theirs("Hi")]}


def both(body: Any, name: str = BUDGETED, **options: Any) -> Any:
    """The request that a body is, which must become that body again."""
    request = asked(body, model=name, **options)
    options.pop("lost", None)
    assert back(request, **options) == body
    return request


def configured(name: str = BUDGETED, lost: Sequence[str] = (), **config: Any) -> Any:
    return both({**HI, "generationConfig": config}, name, lost=lost)


BUDGET_LOST = "generationConfig.thinkingConfig.thinkingBudget (changed)"


# --- what is said ---------------------------------------------------------------------------------------------------


def test_the_model_comes_from_the_url_or_from_a_count() -> None:
    """gemini.request_back.1"""
    assert asked(HI, model="models/gemini-3-flash").model == "gemini-3-flash"
    assert asked({**HI, "model": "models/x"}).model == "x"


def test_what_is_said_first_is_the_instructions() -> None:
    """gemini.request_back.2"""
    request = both({**HI, "systemInstruction": {"parts": [{"text": "a"}, {"text": "b"}]}})
    assert request.instructions == "a"
    assert request.input[0] == Message(role="developer", content=[InputText(text="b")])
    assert both({**HI, "systemInstruction": {"role": "system", "parts": [{"text": "a"}]}}).instructions == "a"
    both({**HI, "systemInstruction": {"parts": [{"text": "a", "partMetadata": {"b": 1}}, {"text": "c", "new": 2}]}})


@pytest.mark.parametrize(
    "part",
    [called("c1", thoughtSignature="c2ln"), {"text": "a", "thoughtSignature": "c2ln"}, {"text": "t", "thought": True}],
)
def test_what_a_content_says_around_signed_parts_is_kept(part: Any) -> None:
    """gemini.request_back.3"""
    after = gave("c1", {"output": "4"}) if "functionCall" in part else {"text": "So?"}
    both({"contents": [theirs("Hi"), {**model(part), "later": 1}, theirs(after)]}, THREE)


def test_contents_are_messages_of_their_sides() -> None:
    """gemini.request_back.3"""
    request = both({"contents": [theirs("Hi"), model({"text": "Yo"}), {"parts": [{"text": "So?"}]}]})
    assert [item.role for item in request.input] == ["user", "assistant", "user"]
    assert request.input[0].content == [InputText(text="Hi")]
    assert request.input[1].content == [OutputText(text="Yo")]


@pytest.mark.parametrize(
    "contents",
    [
        [theirs("a"), theirs("b")],
        [theirs("a"), model({"text": "b"}), model({"text": "c"}), theirs("d")],
        [theirs("a", "")],
        [theirs("Hi"), {"role": "function", "parts": [{"text": "x"}]}],
        [
            {**theirs("Hi"), "mood": "glad"},
            {**model({"functionCall": {"name": "f"}}), "mood": "glad"},
            {"parts": [gave(None, {"output": "4"})], "mood": "glad"},
        ],
    ],
)
def test_contents_come_back_as_they_were_cut(contents: Any) -> None:
    """gemini.request_back.4"""
    both({"contents": contents})


@pytest.mark.parametrize(
    ("part", "ours"),
    [
        (
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            InputImage(image_url="data:image/png;base64,AAAA"),
        ),
        (
            {
                "inlineData": {"mimeType": "image/png", "data": "AAAA"},
                "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"},
            },
            InputImage(image_url="data:image/png;base64,AAAA", detail="high"),
        ),
        (
            {"inlineData": {"mimeType": "audio/mpeg", "data": "AAAA"}},
            InputAudio(input_audio=AudioData(data="AAAA", format="mp3")),
        ),
        (
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
            InputFile(file_data="data:application/pdf;base64,AAAA"),
        ),
        (
            {"fileData": {"mimeType": "image/png", "fileUri": "https://x.test/a.png"}},
            InputImage(image_url="https://x.test/a.png"),
        ),
        ({"fileData": {"mimeType": "image/png", "fileUri": "gs://b/a.png"}}, InputImage(file_id="gs://b/a.png")),
        (
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://x.test/a.pdf"}},
            InputFile(file_url="https://x.test/a.pdf"),
        ),
    ],
)
def test_media_are_parts_of_their_kind(part: Any, ours: Any) -> None:
    """gemini.request_back.6"""
    assert both({"contents": [theirs(part)]}, THREE).input[0].content == [ours]


def test_base64_for_urls_as_googles_own_clients_write_it_is_written_so_that_others_take_it() -> None:
    """gemini.request_back.6"""
    part = {"inlineData": {"mimeType": "application/pdf", "data": "_-A"}}
    (message,) = asked({"contents": [theirs(part)]}).input
    assert message.content == [InputFile(file_data="data:application/pdf;base64,/+A=")]


@pytest.mark.parametrize(
    "part",
    [
        {"text": "a", "partMetadata": {"k": 1}},
        {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}, "videoMetadata": {"fps": 1, "startOffset": "1s"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA", "displayName": "a"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://x.test/a"}},
        {"fileData": {"fileUri": "gs://b/a"}},
        {"text": "a", "mood": "glad"},
        {"hologram": {"depth": 3}},
    ],
)
def test_what_a_part_says_beyond_ours_waits_in_leftovers(part: Any) -> None:
    """gemini.request_back.7"""
    request = both({"contents": [theirs(part)]}, THREE)
    assert request.input[0].content[0].leftovers[GEMINI]


def test_what_the_model_said_is_read_as_in_an_answer() -> None:
    """gemini.request_back.8"""
    request = both(
        {
            "contents": [
                theirs("Hi"),
                model({"text": "Hm.", "thought": True}, {"text": "Yo"}, called("c1")),
                theirs(gave("c1", {"output": "4"})),
            ]
        },
    )
    assert kinds(request.input) == ["message", "reasoning", "message", "function_call", "function_call_output"]


# --- outputs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "ours", "failed"),
    [
        ({"output": "4"}, "4", False),
        ({"error": "no"}, "no", True),
        ({"output": [1, 2]}, "[1,2]", False),
        ({"error": {"code": 1}}, '{"code":1}', True),
        ({"city": "Oslo"}, '{"city":"Oslo"}', False),
        ({"output": 1, "more": 2}, '{"output":1,"more":2}', False),
        ({}, [], False),
    ],
)
def test_an_output_is_its_text_or_the_text_of_its_object(response: Any, ours: Any, failed: bool) -> None:
    """gemini.request_back.9, gemini.hard.5"""
    request = both({"contents": [theirs("Hi"), model(called("c1")), theirs(gave("c1", response))]})
    found = request.input[-1]
    assert (found.output, found.is_error or False, found.call_id) == (ours, failed, "c1")


def test_outputs_without_ids_find_their_calls_by_name_and_order() -> None:
    """gemini.request_back.10: the same function twice, and another"""
    request = both(
        {
            "contents": [
                theirs("Hi"),
                model(called(None, "f"), called(None, "g"), called(None, "f")),
                theirs(
                    gave(None, {"output": "1"}, "f"), gave(None, {"output": "2"}, "g"), gave(None, {"output": "3"}, "f")
                ),
            ]
        },
        OLD,
    )
    calls, outputs = request.input[1:4], request.input[4:]
    assert [item.call_id for item in calls] == [item.call_id for item in outputs]
    assert len({item.call_id for item in calls}) == 3


def test_an_output_with_an_id_finds_its_call_wherever_it_stands() -> None:
    """gemini.request_back.10, BUGS 31"""
    talk = [
        theirs("Hi"),
        model(called("a", "f"), called("b", "f")),
        theirs(gave("b", {"output": "2"}), gave("a", {"output": "1"})),
    ]
    request = asked({"contents": talk}, model=OLD)
    assert [(item.call_id, item.output) for item in request.input[3:]] == [("b", "2"), ("a", "1")]
    assert back(request)["contents"][2] == theirs(gave("a", {"output": "1"}), gave("b", {"output": "2"}))


def test_media_in_an_output_are_parts_of_it() -> None:
    """gemini.request_back.11"""
    media = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    part = gave("c1", {"output": "4"})
    part["functionResponse"]["parts"] = [media]
    signed = called("c1", thoughtSignature="c2ln")
    request = both({"contents": [theirs("Hi"), model(signed), theirs(part)]}, THREE)
    assert request.input[-1].output == [InputText(text="4"), InputImage(image_url="data:image/png;base64,AAAA")]


def test_a_part_of_an_output_that_this_wire_has_for_contents_alone_is_read_all_the_same() -> None:
    """gemini.request_back.11"""
    part = gave("c1", {"output": "4"})
    part["functionResponse"]["parts"] = [{"text": "and more"}, {"newKind": {"a": 1}}]
    request = asked({"contents": [theirs("Hi"), model(called("c1")), theirs(part)]}, model=THREE)
    assert [one.text for one in request.input[-1].output] == ["4", "and more", ""]


def test_a_call_keeps_that_it_had_no_id_or_no_arguments() -> None:
    """gemini.request_back.12"""
    bare = {"functionCall": {"name": "f"}}
    request = both({"contents": [theirs("Hi"), model(bare), theirs(gave(None, {"output": "4"}))]})
    assert (request.input[1].call_id, request.input[1].arguments) == ("call_1_0", "{}")


# --- options --------------------------------------------------------------------------------------------------------


def test_numbers_are_options() -> None:
    """gemini.request_back.13"""
    request = configured(
        OLD,
        temperature=0.5,
        topP=0.9,
        topK=40.0,
        maxOutputTokens=9,
        seed=7,
        presencePenalty=0.5,
        frequencyPenalty=0,
        stopSequences=["END"],
        responseLogprobs=True,
        logprobs=2,
    )
    assert (request.temperature, request.top_p, request.top_k, request.max_output_tokens) == (0.5, 0.9, 40, 9)
    assert (request.seed, request.presence_penalty, request.frequency_penalty, request.stop) == (7, 0.5, 0, ["END"])
    assert (request.include, request.top_logprobs) == (["message.output_text.logprobs"], 2)


@pytest.mark.parametrize(
    ("name", "config", "ours"),
    [
        (THREE, {"thinkingLevel": "LOW"}, ReasoningOptions(effort="low")),
        (THREE, {"thinkingLevel": "high", "includeThoughts": True}, ReasoningOptions(effort="high", summary="auto")),
        (BUDGETED, {"thinkingBudget": 0}, ReasoningOptions(effort="none")),
        (BUDGETED, {"thinkingBudget": -1}, ReasoningOptions(effort="medium")),
        (BUDGETED, {"thinkingBudget": 600}, ReasoningOptions(effort="low")),
        (BUDGETED, {"thinkingBudget": 99999}, ReasoningOptions(effort="max")),
        (THREE, {"includeThoughts": False}, None),
        (THREE, {}, None),
    ],
)
def test_thinking_is_an_effort_and_keeps_its_own_spelling(name: str, config: Any, ours: Any) -> None:
    """gemini.request_back.14"""
    lost = [] if config.get("thinkingBudget", 0) == 0 else [BUDGET_LOST]
    assert configured(name, thinkingConfig=config, lost=lost).reasoning == ours


@pytest.mark.parametrize("effort", BUDGETS)
def test_a_budget_that_is_an_effort_is_no_loss(effort: str) -> None:
    """gemini.request_back.14"""
    request = configured("gemini-2.5-pro", thinkingConfig={"thinkingBudget": BUDGETS[effort]})
    assert request.reasoning.effort == effort


def test_a_spelling_gives_way_to_what_was_asked_since() -> None:
    """gemini.request_back.15"""
    request = configured(BUDGETED, thinkingConfig={"thinkingBudget": 600}, lost=[BUDGET_LOST])
    request.reasoning.effort = "high"
    assert back(request)["generationConfig"] == {"thinkingConfig": {"thinkingBudget": 24576}}


@pytest.mark.parametrize(
    ("config", "ours"),
    [
        (
            {
                "responseMimeType": "application/json",
                "responseJsonSchema": {**SCHEMA, "additionalProperties": False, "title": "Place"},
            },
            JsonSchemaFormat(
                name="Place", schema={**SCHEMA, "additionalProperties": False, "title": "Place"}, strict=True
            ),
        ),
        (
            {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
            JsonSchemaFormat(name="answer", schema=SCHEMA),
        ),
        (
            {"responseMimeType": "application/json", "responseSchema": {"type": "STRING", "nullable": True}},
            JsonSchemaFormat(name="answer", schema={"type": ["string", "null"]}),
        ),
        (
            {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["a", "b"]}},
            JsonSchemaFormat(name="answer", schema={"type": "string", "enum": ["a", "b"]}),
        ),
        ({"responseMimeType": "application/json"}, JsonObjectFormat()),
        ({"responseMimeType": "text/plain"}, TextFormat()),
    ],
)
def test_the_form_of_the_answer(config: Any, ours: Any) -> None:
    """gemini.request_back.16"""
    assert configured(**config).text == TextOptions(format=ours)


def test_pictures_are_a_tool() -> None:
    """gemini.request_back.17"""
    request = configured("gemini-2.5-flash-image", responseModalities=["TEXT", "IMAGE"])
    assert request.tools == [ImageGenerationTool()]
    assert configured(responseModalities=["TEXT"]).tools is None


@pytest.mark.parametrize(
    "fields",
    [
        {"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]},
        {"cachedContent": "cachedContents/1"},
        {"continuationToken": "AAAA"},
        {"serviceTier": "unspecified"},
        {"generationConfig": {"candidateCount": 2, "speechConfig": {"languageCode": "de"}, "mood": "glad"}},
        {"generationConfig": {"responseLogprobs": False}},
        {"generationConfig": {}},
        {"toolConfig": {"retrievalConfig": {"languageCode": "de"}}},
        {"toolConfig": {}},
        {"mood": "glad"},
    ],
)
def test_what_responses_has_no_field_for_waits_in_leftovers(fields: Any) -> None:
    """gemini.request_back.18, gemini.hard.12, gemini.hard.15"""
    assert both({**HI, **fields}).leftovers[GEMINI]


@pytest.mark.parametrize(
    ("kind", "about"),
    [
        ("application/pdf", {"documentMetadata": {"startPage": 2, "endPage": 3, "contentLayers": ["PAGE_TEXT"]}}),
        ("text/csv", {"spreadsheetMetadata": {"visibleCells": "A1:D10", "sheetIndex": 1, "contentLayers": ["DATA"]}}),
        ("audio/wav", {"audioMetadata": {"startOffset": "1s", "endOffset": "2s"}}),
        ("video/mp4", {"videoMetadata": {"startOffset": "1s", "contentLayers": ["FRAMES", "TRANSCRIPT"]}}),
        ("video/mp4", {"mediaProcessing": "AGENTIC", "speechMetadata": {"speaker": "Ada"}}),
    ],
)
def test_what_is_said_about_the_pages_cells_and_seconds_of_a_medium_returns(kind: str, about: Any) -> None:
    """gemini.request_back.7: fields of google-genai 3.4.0, also on the parts of an output"""
    inside = [{"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}, **about}]
    medium = {"inlineData": {"mimeType": kind, "data": "AAAA"}, **about}
    given = {"functionResponse": {"id": "c", "name": "f", "response": {"output": "4"}, "parts": inside}}
    body = {
        "contents": [theirs("Hi", medium), model(called("c", thoughtSignature=SIGNATURE)), theirs(given), theirs("So?")]
    }
    assert back(asked(body, model=THREE)) == body
    part = decoded(body).contents[0].parts[1]
    assert extras(part) == extras(part.video_metadata or part) == {}


def test_labels_and_tiers() -> None:
    """gemini.request_back.19"""
    assert both({**HI, "labels": {"a": "b"}}, dialect=VERTEX).metadata == {"a": "b"}
    assert both({**HI, "serviceTier": "standard"}).service_tier == "default"


@pytest.mark.parametrize("value", [True, False, None])
def test_what_is_stored_is_the_same_on_both_sides(value: Any) -> None:
    """gemini.request_back.20: a request that says nothing leaves it to the vendor, here as there"""
    assert asked(HI if value is None else {**HI, "store": value}).store is value


# --- tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "ours"),
    [
        (
            {"name": "f", "description": "d", "parametersJsonSchema": SCHEMA},
            FunctionTool(name="f", description="d", parameters=SCHEMA, strict=False),
        ),
        (
            {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}}},
            FunctionTool(
                name="f",
                parameters={"type": "object", "properties": {"a": {"type": "integer"}}},
                strict=False,
            ),
        ),
        (
            {"name": "f", "responseJsonSchema": SCHEMA, "behavior": "BLOCKING", "mood": 1},
            FunctionTool(name="f", output_schema=SCHEMA, strict=False),
        ),
        ({"name": "f", "behavior": "NON_BLOCKING"}, FunctionTool(name="f", strict=False, async_=True)),
        ({"name": "f"}, FunctionTool(name="f", strict=False)),
    ],
)
def test_functions(declared: Any, ours: FunctionTool) -> None:
    """gemini.request_back.21"""
    assert both({**HI, "tools": [{"functionDeclarations": [declared]}]}, THREE).tools == [ours]


@pytest.mark.parametrize(
    ("tool", "ours"),
    [
        ({"googleSearch": {}}, WebSearchTool()),
        ({"codeExecution": {}}, CodeInterpreterTool(container={"type": "auto"})),
        (
            {"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/a"], "topK": 2}},
            FileSearchTool(vector_store_ids=["fileSearchStores/a"], max_num_results=2),
        ),
        (
            {
                "mcpServers": [
                    {
                        "name": "s",
                        "streamableHttpTransport": {"url": "https://m.test", "headers": {"A": "1"}, "timeout": "5s"},
                    }
                ]
            },
            McpTool(server_label="s", server_url="https://m.test", headers={"A": "1"}, require_approval="never"),
        ),
    ],
)
def test_the_vendors_tools(tool: Any, ours: Any) -> None:
    """gemini.request_back.22"""
    assert both({**HI, "tools": [tool]}, THREE).tools == [ours]


def test_a_search_that_leaves_sites_out() -> None:
    """gemini.request_back.22"""
    request = both({**HI, "tools": [{"googleSearch": {"excludeDomains": ["a.test"]}}]}, THREE, dialect=VERTEX)
    assert request.tools == [WebSearchTool(filters=SearchFilters(blocked_domains=["a.test"]))]


def test_tools_responses_has_no_name_for_wait_in_leftovers() -> None:
    """gemini.request_back.23"""
    tools = [{"urlContext": {}}, {"googleSearch": {"timeRangeFilter": {"startTime": "x"}}}]
    request = both({**HI, "tools": tools}, THREE)
    assert request.tools == []
    assert {"tools[0]", "tools[1]"} <= abroad(request)


def test_secrets_of_a_server_stand_on_its_tool_and_nowhere_else() -> None:
    """gemini.request_back.24"""
    server = {"name": "s", "streamableHttpTransport": {"url": "https://m.test", "headers": {"A": "hush"}}}
    request = asked({**HI, "tools": [{"mcpServers": [server], "googleSearch": {}}]}, model=THREE)
    assert "hush" in str(plain(request.tools))
    assert "hush" not in str(request.leftovers)


@pytest.mark.parametrize(
    ("config", "ours", "strict"),
    [
        ({"mode": "AUTO"}, "auto", False),
        ({"mode": "ANY"}, "required", False),
        ({"mode": "NONE"}, "none", False),
        ({"mode": "VALIDATED"}, None, True),
        ({"mode": "ANY", "allowedFunctionNames": ["f"]}, ChooseFunction(name="f"), False),
        (
            {"mode": "VALIDATED", "allowedFunctionNames": ["f"]},
            ChooseAllowed(mode="auto", tools=[{"type": "function", "name": "f"}]),
            True,
        ),
        ({"mode": "any", "streamFunctionCallArguments": True}, "required", False),
    ],
)
def test_the_choice_among_the_tools(config: Any, ours: Any, strict: bool) -> None:
    """gemini.request_back.25"""
    tools = [{"functionDeclarations": [{"name": "f"}]}]
    request = both({**HI, "tools": tools, "toolConfig": {"functionCallingConfig": config}}, THREE)
    assert (request.tool_choice, request.tools[0].strict) == (ours, strict)


# --- other spellings ------------------------------------------------------------------------------------------------


def test_snake_case_is_read_and_answered_in_camel_case() -> None:
    """gemini.request_back.26, gemini.canonical.1: what a caller chose himself is left alone"""
    snake = {
        "contents": [
            theirs("Hi"),
            {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a_b": 1}}}]},
            {"parts": [{"function_response": {"name": "f", "response": {"c_d": 2}}}]},
        ],
        "system_instruction": {"parts": [{"text": "a"}]},
        "generation_config": {"max_output_tokens": 9, "thinking_config": {"thinking_budget": "0"}},
        "tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"x_y": {}}}]}],
    }
    body = plain(decoded(snake))
    assert body["contents"][1]["parts"][0] == {"functionCall": {"name": "f", "args": {"a_b": 1}}}
    assert body["contents"][2]["parts"][0] == {"functionResponse": {"name": "f", "response": {"c_d": 2}}}
    assert body["systemInstruction"] == {"parts": [{"text": "a"}]}
    assert body["generationConfig"] == {"maxOutputTokens": 9, "thinkingConfig": {"thinkingBudget": 0}}
    assert body["tools"] == [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"x_y": {}}}]}]


def test_words_may_be_their_numbers() -> None:
    """gemini.request_back.27"""
    clip = {
        "inlineData": {"mimeType": "video/mp4", "data": "AAAA"},
        "mediaProcessing": 2,
        "videoMetadata": {"contentLayers": [0, 1]},
    }
    function = {"name": "f", "behavior": 2}
    odd = plain(decoded({"contents": [theirs(clip)], "tools": [{"functionDeclarations": [function]}]}))
    assert odd["contents"][0]["parts"][0]["mediaProcessing"] == "2"
    assert odd["contents"][0]["parts"][0]["videoMetadata"] == {"contentLayers": ["CONTENT_LAYER_UNSPECIFIED", "1"]}
    assert odd["tools"][0]["functionDeclarations"][0]["behavior"] == "2"
    body = plain(
        decoded(
            {
                **HI,
                "toolConfig": {"functionCallingConfig": {"mode": 2}},
                "generationConfig": {"responseModalities": [1, 2], "thinkingConfig": {"thinkingLevel": 3}},
            }
        )
    )
    assert body["toolConfig"]["functionCallingConfig"] == {"mode": "ANY"}
    assert body["generationConfig"] == {
        "responseModalities": ["TEXT", "IMAGE"],
        "thinkingConfig": {"thinkingLevel": "HIGH"},
    }
    request = asked({**HI, "toolConfig": {"functionCallingConfig": {"mode": 99}}})
    assert request.tool_choice == "auto"


def test_one_may_stand_for_a_list_of_one() -> None:
    """gemini.request_back.28, gemini.canonical.2"""
    one = {"contents": {"parts": {"text": "Hi"}}, "tools": {"functionDeclarations": {"name": "f"}}}
    assert plain(decoded(one)) == {
        "contents": [{"parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
    }


def test_a_prompt_that_nobody_wrote_comes_back_as_nothing() -> None:
    """gemini.request_back.5"""
    request = asked({"contents": []}, model=THREE)
    assert request.input == []
    assert [loss.path for loss in wire.encode_request(request)[1]] == ["input"]


def test_a_spelling_is_for_the_model_it_was_meant_for() -> None:
    """gemini.request_back.15"""
    request = configured(BUDGETED, thinkingConfig={"thinkingBudget": 600}, lost=[BUDGET_LOST])
    request.model = THREE
    assert back(request)["generationConfig"] == {"thinkingConfig": {"thinkingLevel": "LOW"}}


def test_tools_that_are_added_join_those_of_the_document() -> None:
    """gemini.request_back.15"""
    request = both({**HI, "tools": [{"functionDeclarations": [{"name": "f", "behavior": "BLOCKING"}]}]})
    request.input.append(AdditionalTools(role="developer", tools=[FunctionTool(name="g")]))
    body, _ = wire.encode_request(request)
    assert plain(body)["tools"] == [{"functionDeclarations": [{"name": "f", "behavior": "BLOCKING"}, {"name": "g"}]}]
