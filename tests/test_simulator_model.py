"""The simulated model: its script language, and what it answers to other text. No wire is involved."""

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
from llm_rest.simulator.script import Break, Call, Cite, Cut, Delay, Fail, Pieces, Refuse, Say, Think, parse

WEATHER = FunctionTool(
    name="get_weather",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CLOCK = FunctionTool(name="clock", parameters={"type": "object", "properties": {}})


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
        ("say a\nbreak", [Say("a"), Break()]),
        ("say a\npieces 12", [Say("a"), Pieces(12)]),
        ("say a\ndelay 0.25", [Say("a"), Delay(0.25)]),
        ("say a\ndelay 60", [Say("a"), Delay(60)]),
    ],
)
def test_a_line_is_a_command(line: str, step: object) -> None:
    assert parse(line) == [step if isinstance(step, list) else [step]]


NO_SCRIPT = (
    "", "hi", "say", "Weather in Oslo?", "say yes\nor else", "json {", "call a b", "length of a line", "fail 200", "cite me",
    "input x", "then", "pieces 5\ndelay 1", "say a\nbreak it", "say a\npieces", "say a\npieces 0", "say a\npieces of eight",
    "say a\ndelay", "say a\ndelay -1", "say a\ndelay 61", "say a\ndelay nan",
)  # fmt: skip


@pytest.mark.parametrize("text", NO_SCRIPT)
def test_other_text_is_no_script(text: str) -> None:
    assert parse(text) is None


def test_consecutive_calls_are_parallel_and_the_rest_follows_their_results() -> None:
    script = "reason Two.\ncall a\ncall b {}\nsay Done.\nthen\nsay Really."
    assert parse(script) == [[Think("Two."), Call("a", "{}"), Call("b", "{}")], [Say("Done.")], [Say("Really.")]]


@given(st.text())
def test_any_text_is_a_script_or_not(text: str) -> None:
    found = parse(text)
    assert found is None or any(found)


# --- one answer -----------------------------------------------------------------------------------------------------


def outline(response: Response) -> list[str]:
    """What an answer has, a line each: texts, refusals, calls, reasoning, and the status if it is not complete."""
    found: list[str] = []
    for item in response.output:
        match item:
            case Message():
                for part in item.content:
                    found.append(
                        part.text if isinstance(part, OutputText) else f"refusal {getattr(part, 'refusal', '')}"
                    )
            case FunctionCall():
                found.append(f"{item.name}({item.arguments})")
            case CustomToolCall():
                found.append(f"{item.name}: {item.input}")
            case Reasoning():
                found.append("reasoning" + "".join(f" {part.text}" for part in item.summary or []))
            case _:
                raise AssertionError(item)
    return found if response.status == "completed" else [*found, response.status]


def shape(schema: Any) -> dict[str, Any]:
    return {"text": TextOptions(format=JsonSchemaFormat(name="n", schema=schema))}


def choosing(choice: Any) -> dict[str, Any]:
    return {"tools": [WEATHER, CLOCK], "tool_choice": choice}


def said(*content: Any) -> list[Any]:
    return [Message(role="user", content=[*content])]


CALLED: list[Any] = [
    Message(role="user", content="call a\ncall b\nsay Done."),
    *(
        item
        for n in "ab"
        for item in (FunctionCall(call_id=n, name=n, arguments="{}"), FunctionCallOutput(call_id=n, output=n))
    ),
]
FAILED: list[Any] = [
    *said(InputText(text="hi")),
    FunctionCall(call_id="c", name="f", arguments="{}"),
    FunctionCallOutput(call_id="c", output="no network", is_error=True),
]
EARLIER: list[Any] = [Message(role="user", content="call a"), Message(role="assistant", content="ok")]
PICTURE = InputImage(image_url="data:image/png;base64,AA==")
FILES = (
    InputFile(file_data="data:text/plain;base64,AA==", filename="a.txt"),
    InputFile(file_url="https://example.com/"),
)
YEAR = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}

ANSWERS: list[tuple[Any, dict[str, Any], list[str]]] = [
    ("hi", {}, ["hi"]),
    (said(InputText(text="Look"), PICTURE, *FILES), {}, ["Look\n[image]\n[file a.txt]\n[file]"]),
    ([*EARLIER, Message(role="user", content="hi")], {}, ["hi"]),
    # scripts
    ("reason Aloud.\nreason\nsay Done.", {}, ["reasoning Aloud.", "reasoning", "Done."]),
    ("refuse Not that.", {}, ["refusal Not that."]),
    (CALLED, {}, ["Done."]),
    ('call f {"city": "Oslo"}\nlength', {}, ['f({"city":)', "incomplete"]),
    ("length", {}, ["incomplete"]),
    ("say 12345678901234567890", {"max_output_tokens": 3}, ["123456789012", "incomplete"]),
    ("reason 1234567890\nsay Never said.", {"max_output_tokens": 2}, ["reasoning 12345678", "incomplete"]),
    ("say one two three", {"stop": ["three", "two"]}, ["one "]),
    # tools
    ("hi", choosing("auto"), ['get_weather({"city":"city"})']),
    ("hi", choosing("none"), ["hi"]),
    ("hi", choosing("required"), ['get_weather({"city":"city"})']),
    ("hi", choosing(ChooseFunction(name="clock")), ["clock({})"]),
    ("hi", choosing(ChooseFunction(name="nowhere")), ["hi"]),
    ("hi", choosing(ChooseAllowed(tools=[{"type": "function", "name": "clock"}], mode="required")), ["clock({})"]),
    ("hi", choosing(ChooseAllowed(tools=[], mode="auto")), ["hi"]),
    ("ls -l", {"tools": [CustomTool(name="shell")]}, ["shell: ls -l"]),
    (FAILED, {}, ["f failed: no network"]),
    # formats and reasoning
    ("When?", shape(YEAR), ['{"year":1}']),
    ("json?", {"text": TextOptions(format=JsonObjectFormat())}, ['{"answer":"json?"}']),
    ("hi", {"reasoning": ReasoningOptions(effort="none")}, ["hi"]),
]


@pytest.mark.parametrize(("input", "options", "expected"), ANSWERS)
def test_the_answer_to_a_request(input: Any, options: dict[str, Any], expected: list[str]) -> None:
    """BUGS 28, 31, 38, 45, 87"""
    assert outline(model.answer(Request(input=input, **options))) == expected


def test_reasoning_on_request() -> None:
    thought, text = model.answer(Request(input="hi", reasoning=ReasoningOptions(effort="low"))).output
    assert isinstance(thought, Reasoning)
    assert isinstance(text, Message)


def test_a_citation_is_an_annotation_of_the_text() -> None:
    (message,) = model.answer(Request(input="say It rains.\ncite https://example.com/ Weather\nrefuse No.")).output
    assert isinstance(message, Message)
    part, refusal = message.content
    assert refusal == RefusalPart(refusal="No.")
    cited = {"url": "https://example.com/", "title": "Weather", "start_index": 0, "end_index": 9}
    assert msgspec.to_builtins(part) == {
        "type": "output_text",
        "text": "It rains.",
        "annotations": [{"type": "url_citation", **cited}],
    }


def test_what_cannot_be_answered_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        model.answer(Request(input="say Nothing of this.\nfail 429 rate_limit_exceeded Slow down."))
    facts = caught.value.facts
    assert (facts.status, facts.code, facts.message) == (429, "rate_limit_exceeded", "Slow down.")
    with pytest.raises(Refused, match="Invalid schema"):
        model.answer(Request(input="hi", **shape({"$ref": "#/nowhere"})))
    with pytest.raises(Refused, match="none was requested"):  # which only a stream can do
        model.answer(Request(input="say a\nbreak"))


# --- conversations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "outputs", "expected"),
    [
        (
            Request(input='call get_weather {"city": "Oslo"}\nthen\ncall clock\nsay Cold.', tools=[WEATHER, CLOCK]),
            [['{"temp": 4}'], ["12:00"]],
            [['get_weather({"city": "Oslo"})'], ["clock({})"], ["Cold."]],
        ),
        (Request(input="call a\ncall b"), [["1", "2"]], [["a({})", "b({})"], ["a said: 1\nb said: 2"]]),
        (
            Request(input="Weather?", tools=[WEATHER, CLOCK]),
            [['{"temp": 4}']],
            [['get_weather({"city":"city"})'], ['get_weather said: {"temp": 4}']],
        ),
        (Request(input="hi", tools=[CLOCK], tool_choice="required"), [["12:00"]], [["clock({})"], ["clock({})"]]),
        (
            Request(input="How many?", tools=[CLOCK], **shape({"type": "object", "properties": {"n": {"const": 4}}})),
            [["4"]],
            [["clock({})"], ['{"n":4}']],
        ),
    ],
    ids=["a script", "a script that ended", "a tool", "a required call", "a format"],
)
def test_the_outputs_of_calls_are_answered(
    request_: Request, outputs: list[list[str]], expected: list[list[str]]
) -> None:
    found: list[list[str]] = []
    for texts in [*outputs, []]:
        response = model.answer(request_)
        found.append(outline(response))
        made = [item for item in response.output if isinstance(item, FunctionCall)] if texts else []
        given = [FunctionCallOutput(call_id=call.call_id, output=o) for call, o in zip(made, texts, strict=True)]
        request_ = msgspec.structs.replace(request_, input=[*items_of(request_), *response.output, *given])
    assert found == expected
    # A new message of the user begins a turn of its own.
    again = [*items_of(request_), Message(role="user", content="hi")]
    assert outline(model.answer(msgspec.structs.replace(request_, input=again, tools=[CLOCK]))) == ["clock({})"]


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
    assert (usage.input_tokens, usage.total_tokens) == (
        estimate_tokens(request),
        usage.input_tokens + usage.output_tokens,
    )
    usage = model.answer(Request(input="reason 1234567890\nsay Never said.", max_output_tokens=2)).usage
    assert usage
    assert usage.output_tokens_details
    assert usage.output_tokens_details.reasoning_tokens == usage.output_tokens == 2
