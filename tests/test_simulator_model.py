"""The simulated model: its script language, and what it does on its own. No wire is involved."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.responses import (
    ChooseAllowed,
    ChooseFunction,
    CustomTool,
    CustomToolCall,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    InputFile,
    InputImage,
    InputText,
    JsonObjectFormat,
    JsonSchemaFormat,
    Message,
    OutputText,
    Reasoning,
    ReasoningOptions,
    RefusalPart,
    Request,
    Response,
    TextOptions,
)
from llm_rest.responses.estimate import estimate_tokens
from llm_rest.responses.request import items_of
from llm_rest.server.handler import Refused
from llm_rest.simulator import model
from llm_rest.simulator.script import Call, Cite, Cut, Fail, Refuse, Say, Think, parse

WEATHER = FunctionTool(
    name="get_weather",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CLOCK = FunctionTool(name="clock", parameters={"type": "object", "properties": {}})


def text(response: Response) -> str:
    parts = [p for item in response.output if isinstance(item, Message) for p in item.content]
    return "".join(part.text for part in parts if isinstance(part, OutputText))


def calls(response: Response) -> list[tuple[str, str]]:
    return [(item.name, item.arguments) for item in response.output if isinstance(item, FunctionCall)]


def after(request: Request, response: Response, *outputs: str) -> Request:
    """The request that sends the outputs of the calls of `response`."""
    made = [item for item in response.output if isinstance(item, FunctionCall)]
    answers = [FunctionCallOutput(call_id=call.call_id, output=out) for call, out in zip(made, outputs, strict=True)]
    return msgspec.structs.replace(request, input=[*items_of(request), *response.output, *answers])


# --- the script -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("say Hello", Say("Hello")),
        ('json {"a": [1, 2]}', Say('{"a":[1,2]}')),
        ("cite https://example.com/ An example", Cite("https://example.com/", "An example")),
        ("cite https://example.com/", Cite("https://example.com/", "https://example.com/")),
        ("reason Let me see.", Think("Let me see.")),
        ("reason", Think("")),
        ('call get_weather {"city": "Oslo"}', Call("get_weather", '{"city": "Oslo"}')),
        ("call clock", Call("clock", "{}")),
        ('call clock {"broken', Call("clock", '{"broken')),
        ("input shell ls -l", Call("shell", "ls -l", custom=True)),
        ("refuse", Refuse("I cannot help with that.")),
        ("length", Cut()),
        ("fail 529", Fail(529, None, "The script asked for this error.")),
        ("fail 429 insufficient_quota No credit.", Fail(429, "insufficient_quota", "No credit.")),
        ("fail 500 Try again", Fail(500, None, "Try again")),
    ],
)
def test_a_line_is_a_command(line: str, step: object) -> None:
    assert parse(line) == [[step]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hi",
        "say",
        "Weather in Oslo?",
        "say yes\nor else",
        "json {",
        "call a b",
        "length of a line",
        "fail 200",
        "cite me",
        "input x",
        "then",
    ],
)
def test_other_text_is_no_script(text: str) -> None:
    assert parse(text) is None


def test_calls_in_a_row_go_out_together_and_the_rest_waits_for_their_results() -> None:
    script = "reason Two.\ncall a\ncall b {}\nsay Done.\nthen\nsay Really."
    assert parse(script) == [[Think("Two."), Call("a", "{}"), Call("b", "{}")], [Say("Done.")], [Say("Really.")]]


@given(st.text())
def test_any_text_is_a_script_or_ordinary(text: str) -> None:
    found = parse(text)
    assert found is None or any(found)


# --- a scripted conversation ----------------------------------------------------------------------------------------


def test_a_script_runs_through_a_whole_tool_conversation() -> None:
    request = Request(
        input='call get_weather {"city": "Oslo"}\nthen\ncall clock\nsay Cold at noon.', tools=[WEATHER, CLOCK]
    )
    first = model.answer(request)
    assert calls(first) == [("get_weather", '{"city": "Oslo"}')]
    request = after(request, first, '{"temp": 4}')
    second = model.answer(request)
    assert calls(second) == [("clock", "{}")]
    request = after(request, second, "12:00")
    assert text(model.answer(request)) == "Cold at noon."


def test_a_used_up_script_ends_in_what_the_tools_gave() -> None:
    request = Request(input="call a\ncall b")
    request = after(request, model.answer(request), "1", "2")
    assert text(model.answer(request)) == "a said: 1\nb said: 2"


def test_parallel_calls_are_counted_even_where_their_outputs_interleave() -> None:
    """BUGS 31"""
    said = Message(role="user", content="call a\ncall b\nsay Done.")
    pairs = [
        item
        for n in "ab"
        for item in (FunctionCall(call_id=n, name=n, arguments="{}"), FunctionCallOutput(call_id=n, output=n))
    ]
    assert text(model.answer(Request(input=[said, *pairs]))) == "Done."


def test_only_the_last_user_message_is_a_script() -> None:
    earlier = [Message(role="user", content="call a"), Message(role="assistant", content="ok")]
    assert text(model.answer(Request(input=[*earlier, Message(role="user", content="hi")]))) == "hi"


def test_text_and_citation_share_a_message() -> None:
    response = model.answer(Request(input="say It rains.\ncite https://example.com/ Weather"))
    (message,) = response.output
    assert isinstance(message, Message)
    assert msgspec.to_builtins(message.content) == [
        {
            "type": "output_text",
            "text": "It rains.",
            "annotations": [
                {
                    "type": "url_citation",
                    "url": "https://example.com/",
                    "title": "Weather",
                    "start_index": 0,
                    "end_index": 9,
                }
            ],
        }
    ]


def test_a_thought_without_words_is_hidden() -> None:
    shown, hidden, said = model.answer(Request(input="reason Aloud.\nreason\nsay Done.")).output
    assert isinstance(shown, Reasoning)
    assert isinstance(hidden, Reasoning)
    assert [part.text for part in shown.summary or []] == ["Aloud."]
    assert hidden.summary == []
    assert isinstance(said, Message)


def test_a_refusal_is_a_part_of_its_own() -> None:
    (message,) = model.answer(Request(input="refuse Not that.")).output
    assert isinstance(message, Message)
    assert message.content == [RefusalPart(refusal="Not that.")]


def test_a_scripted_error_carries_status_code_and_text() -> None:
    with pytest.raises(Refused) as caught:
        model.answer(Request(input="say Nothing of this.\nfail 429 rate_limit_exceeded Slow down."))
    facts = caught.value.facts
    assert (facts.status, facts.code, facts.message) == (429, "rate_limit_exceeded", "Slow down.")


def test_length_breaks_off_inside_the_call_before_it() -> None:
    """BUGS 28"""
    response = model.answer(Request(input='call f {"city": "Oslo"}\nlength'))
    (call,) = response.output
    assert isinstance(call, FunctionCall)
    assert (call.arguments, call.status) == ('{"city":', "incomplete")
    assert response.status == "incomplete"


def test_length_alone_is_an_answer_without_output() -> None:
    """BUGS 45"""
    response = model.answer(Request(input="length"))
    assert response.output == []
    assert response.incomplete_details
    assert response.incomplete_details.reason == "max_output_tokens"


# --- on its own -----------------------------------------------------------------------------------------------------


def test_it_repeats_what_it_was_told() -> None:
    assert text(model.answer(Request(input="hi"))) == "hi"


def test_images_and_files_are_named() -> None:
    content: list[Any] = [
        InputText(text="Look"),
        InputImage(image_url="data:image/png;base64,AA=="),
        InputFile(file_data="data:text/plain;base64,AA==", filename="a.txt"),
        InputFile(file_url="https://example.com/"),
    ]
    assert (
        text(model.answer(Request(input=[Message(role="user", content=content)])))
        == "Look\n[image]\n[file a.txt]\n[file]"
    )


def test_an_offered_tool_is_called_once_and_its_result_told() -> None:
    request = Request(input="Weather?", tools=[WEATHER, CLOCK])
    first = model.answer(request)
    assert calls(first) == [("get_weather", '{"city":"city"}')]
    second = model.answer(after(request, first, '{"temp": 4}'))
    assert calls(second) == []
    assert text(second) == 'get_weather said: {"temp": 4}'


def test_a_failed_tool_is_told_as_failed() -> None:
    """BUGS 38"""
    request = Request(
        input=[
            Message(role="user", content="hi"),
            FunctionCall(call_id="c", name="f", arguments="{}"),
            FunctionCallOutput(call_id="c", output="no network", is_error=True),
        ]
    )
    assert text(model.answer(request)) == "f failed: no network"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", ["get_weather"]),
        ("none", []),
        ("required", ["get_weather"]),
        (ChooseFunction(name="clock"), ["clock"]),
        (ChooseFunction(name="nowhere"), []),
        (ChooseAllowed(tools=[{"type": "function", "name": "clock"}], mode="required"), ["clock"]),
        (ChooseAllowed(tools=[], mode="auto"), []),
    ],
)
def test_the_tool_choice_is_obeyed(choice: Any, expected: list[str]) -> None:
    response = model.answer(Request(input="hi", tools=[WEATHER, CLOCK], tool_choice=choice))
    assert [name for name, _ in calls(response)] == expected


def test_a_required_call_is_made_again_after_its_result() -> None:
    request = Request(input="hi", tools=[CLOCK], tool_choice="required")
    assert len(calls(model.answer(after(request, model.answer(request), "12:00")))) == 1


def test_a_new_user_message_begins_a_turn_with_a_call_of_its_own() -> None:
    request = Request(input="hi", tools=[CLOCK])
    request = after(request, model.answer(request), "12:00")
    assert isinstance(request.input, list)
    request = msgspec.structs.replace(request, input=[*request.input, Message(role="user", content="again")])
    assert len(calls(model.answer(request))) == 1


def test_a_custom_tool_gets_what_was_said() -> None:
    (call,) = model.answer(Request(input="ls -l", tools=[CustomTool(name="shell")])).output
    assert isinstance(call, CustomToolCall)
    assert (call.name, call.input) == ("shell", "ls -l")


def test_it_answers_in_the_shape_that_was_asked_for() -> None:
    schema = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}
    format = JsonSchemaFormat(name="y", schema=schema)
    assert text(model.answer(Request(input="When?", text=TextOptions(format=format)))) == '{"year":1}'
    assert (
        text(model.answer(Request(input="json?", text=TextOptions(format=JsonObjectFormat())))) == '{"answer":"json?"}'
    )


def test_a_tool_is_called_before_the_answer_takes_its_shape() -> None:
    format = JsonSchemaFormat(name="n", schema={"type": "object", "properties": {"n": {"const": 4}}})
    request = Request(input="How many?", tools=[CLOCK], text=TextOptions(format=format))
    first = model.answer(request)
    assert calls(first) == [("clock", "{}")]
    assert text(model.answer(after(request, first, "4"))) == '{"n":4}'


def test_a_schema_that_nothing_fits_is_refused() -> None:
    format = JsonSchemaFormat(name="n", schema={"$ref": "#/nowhere"})
    with pytest.raises(Refused, match="Invalid schema"):
        model.answer(Request(input="hi", text=TextOptions(format=format)))


def test_it_thinks_only_where_asked_to() -> None:
    def kinds(effort: str) -> list[type]:
        return [
            type(item) for item in model.answer(Request(input="hi", reasoning=ReasoningOptions(effort=effort))).output
        ]

    assert kinds("low") == [Reasoning, Message]
    assert kinds("none") == [Message]


# --- limits, ids and counts -----------------------------------------------------------------------------------------


def test_the_token_limit_cuts_the_text() -> None:
    response = model.answer(Request(input="say 12345678901234567890", max_output_tokens=3))
    assert text(response) == "123456789012"
    assert response.status == "incomplete"
    assert response.usage
    assert response.usage.output_tokens == 3


def test_the_token_limit_may_be_spent_on_thinking() -> None:
    """BUGS 45"""
    response = model.answer(Request(input="reason 1234567890\nsay Never said.", max_output_tokens=2))
    assert [type(item) for item in response.output] == [Reasoning]
    assert response.usage
    assert response.usage.output_tokens_details
    assert response.usage.output_tokens_details.reasoning_tokens == 2


def test_a_stop_sequence_ends_the_text_before_it() -> None:
    """BUGS 87"""
    response = model.answer(Request(input="say one two three", stop=["three", "two"]))
    assert (text(response), response.status) == ("one ", "completed")


def test_the_same_request_gets_the_same_answer_and_another_one_other_ids() -> None:
    """BUGS 81"""
    one, same, other = (model.answer(Request(input=said, tools=[CLOCK])) for said in ("hi", "hi", "ho"))
    assert msgspec.json.encode(one) == msgspec.json.encode(same)
    assert one.id != other.id
    assert isinstance(one.output[0], FunctionCall)
    assert isinstance(other.output[0], FunctionCall)
    assert one.output[0].call_id != other.output[0].call_id


def test_tokens_are_quarters_of_characters() -> None:
    content: list[Any] = [InputText(text="1234"), InputImage(image_url="https://example.com/a.png")]
    request = Request(
        input=[
            Message(role="user", content=content),
            FunctionCall(call_id="c", name="four", arguments="{}"),
            FunctionCallOutput(call_id="c", output="12345"),
        ],
        instructions="12345678",
        tools=[FunctionTool(name="four", description="1234", parameters={})],
    )
    # instructions 2, text and "[image]" 3, image 256, name 1, arguments 1, output 2, tool name 1 and description 1
    assert estimate_tokens(request) == 2 + 3 + 256 + 1 + 1 + 2 + 1 + 1
    usage = model.answer(request).usage
    assert usage
    assert usage.input_tokens == estimate_tokens(request)
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
