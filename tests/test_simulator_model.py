"""The simulated model: its script language, and what it answers to other text. No wire is involved."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_rest.responses import REQUEST, Request
from llm_rest.responses.estimate import estimate_tokens
from llm_rest.server.handler import Refused
from llm_rest.simulator import model
from llm_rest.simulator.script import Break, Call, Cite, Cut, Delay, Fail, Pieces, Refuse, Say, Think, parse

Plain = dict[str, Any]

# --- the script -----------------------------------------------------------------------------------------------------


COMMANDS: dict[str, Any] = {
    "say Hello": Say("Hello"),
    'json {"a": [1, 2]}': Say('{"a":[1,2]}'),
    "cite https://example.com/ An example": Cite("https://example.com/", "An example"),
    "cite https://example.com/": Cite("https://example.com/", "https://example.com/"),
    "reason Let me see.": Think("Let me see."),
    "reason": Think(""),
    'call get_weather {"city": "Oslo"}': Call("get_weather", '{"city": "Oslo"}'),
    "call clock": Call("clock", "{}"),
    'call clock {"broken': Call("clock", '{"broken'),
    "input shell ls -l": Call("shell", "ls -l", custom=True),
    "refuse": Refuse("I cannot help with that."),
    "length": Cut(),
    "fail 529": Fail(529, None, "The script asked for this error."),
    "fail 429 insufficient_quota No credit.": Fail(429, "insufficient_quota", "No credit."),
    "fail 500 Try again": Fail(500, None, "Try again"),
    "say a\nbreak": [Say("a"), Break()],
    "say a\npieces 12": [Say("a"), Pieces(12)],
    "say a\ndelay 0.25": [Say("a"), Delay(0.25)],
    "say a\ndelay 60": [Say("a"), Delay(60)],
}


def test_a_line_is_a_command() -> None:
    steps = {line: [step if isinstance(step, list) else [step]] for line, step in COMMANDS.items()}
    assert {line: parse(line) for line in COMMANDS} == steps


NO_SCRIPT = (
    "", "hi", "say", "Weather in Oslo?", "say yes\nor else", "json {", "call a b", "length of a line", "fail 200", "cite me",
    "input x", "then", "pieces 5\ndelay 1", "say a\nbreak it", "say a\npieces", "say a\npieces 0", "say a\npieces of eight",
    "say a\ndelay", "say a\ndelay -1", "say a\ndelay 61", "say a\ndelay nan",
)  # fmt: skip


def test_other_text_is_no_script() -> None:
    assert [text for text in NO_SCRIPT if parse(text) is not None] == []


def test_consecutive_calls_are_parallel_and_the_rest_follows_their_results() -> None:
    script = "reason Two.\ncall a\ncall b {}\nsay Done.\nthen\nsay Really."
    assert parse(script) == [[Think("Two."), Call("a", "{}"), Call("b", "{}")], [Say("Done.")], [Say("Really.")]]


@given(st.text())
def test_any_text_is_a_script_or_not(text: str) -> None:
    found = parse(text)
    assert found is None or any(found)


# --- one answer -----------------------------------------------------------------------------------------------------


def request(input: Any, **fields: Any) -> Request:
    return REQUEST.decode(msgspec.json.encode({"input": input, **fields}))


def answered(input: Any, **fields: Any) -> Plain:
    return msgspec.to_builtins(model.answer(request(input, **fields)))


def outline(answer: Plain) -> list[str]:
    """What an answer has, a line each: texts, refusals, calls, reasoning, and the status if it is not complete."""
    found: list[str] = []
    for item in answer["output"]:
        match item:
            case {"type": "message", "content": parts}:
                found += [part["text"] if "text" in part else f"refusal {part['refusal']}" for part in parts]
            case {"type": "function_call", "name": name, "arguments": arguments}:
                found.append(f"{name}({arguments})")
            case {"type": "custom_tool_call", "name": name, "input": text}:
                found.append(f"{name}: {text}")
            case {"type": "reasoning", "summary": parts}:
                found.append("reasoning" + "".join(f" {part['text']}" for part in parts))
            case _:
                raise AssertionError(item)
    return found if answer["status"] == "completed" else [*found, answer["status"]]


def said(*content: Any) -> Plain:
    return {"role": "user", "content": [*content]}


def call(name: str, output: str, **fields: Any) -> list[Plain]:
    """A call and its output."""
    return [
        {"type": "function_call", "call_id": name, "name": name, "arguments": "{}"},
        {"type": "function_call_output", "call_id": name, "output": output, **fields},
    ]


def function(name: str, **properties: Any) -> Plain:
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "name": name, "parameters": parameters}


def shape(schema: Any) -> Plain:
    return {"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}}


def choosing(choice: Any) -> Plain:
    return {"tools": TOOLS, "tool_choice": choice}


def allowed(mode: str, *names: str) -> Plain:
    tools = [{"type": "function", "name": name} for name in names]
    return choosing({"type": "allowed_tools", "mode": mode, "tools": tools})


HI = {"type": "input_text", "text": "hi"}
CONTENT = (
    {"type": "input_text", "text": "Look"},
    {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
    {"type": "input_file", "file_data": "data:text/plain;base64,AA==", "filename": "a.txt"},
    {"type": "input_file", "file_url": "https://example.com/"},
)
WEATHER, CLOCK = function("get_weather", city={"type": "string"}), function("clock")
TOOLS = [WEATHER, CLOCK]
EARLIER = [said({"type": "input_text", "text": "call a"}), {"role": "assistant", "content": "ok"}]
YEAR = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}

ANSWERS: list[tuple[Any, Plain, list[str]]] = [
    ("hi", {}, ["hi"]),
    ([said(*CONTENT)], {}, ["Look\n[image]\n[file a.txt]\n[file]"]),
    ([*EARLIER, said(HI)], {}, ["hi"]),
    # scripts
    ("reason Aloud.\nreason\nsay Done.", {}, ["reasoning Aloud.", "reasoning", "Done."]),
    ("refuse Not that.", {}, ["refusal Not that."]),
    ([{"role": "user", "content": "call a\ncall b\nsay Done."}, *call("a", "1"), *call("b", "2")], {}, ["Done."]),
    ('call f {"city": "Oslo"}\nlength', {}, ['f({"city":)', "incomplete"]),
    ("length", {}, ["incomplete"]),
    ("say 12345678901234567890", {"max_output_tokens": 3}, ["123456789012", "incomplete"]),
    ("reason 1234567890\nsay Never said.", {"max_output_tokens": 2}, ["reasoning 12345678", "incomplete"]),
    ("say one two three", {"stop": ["three", "two"]}, ["one "]),
    # tools
    ("hi", choosing("auto"), ['get_weather({"city":"city"})']),
    ("hi", choosing("none"), ["hi"]),
    ("hi", choosing("required"), ['get_weather({"city":"city"})']),
    ("hi", choosing({"type": "function", "name": "clock"}), ["clock({})"]),
    ("hi", choosing({"type": "function", "name": "nowhere"}), ["hi"]),
    ("hi", allowed("required", "clock"), ["clock({})"]),
    ("hi", allowed("auto"), ["hi"]),
    ("ls -l", {"tools": [{"type": "custom", "name": "shell"}]}, ["shell: ls -l"]),
    ([said(HI), *call("f", "no network", is_error=True)], {}, ["f failed: no network"]),
    # formats and reasoning
    ("When?", shape(YEAR), ['{"year":1}']),
    ("json?", {"text": {"format": {"type": "json_object"}}}, ['{"answer":"json?"}']),
    ("hi", {"reasoning": {"effort": "none"}}, ["hi"]),
]


def test_the_answer_to_a_request() -> None:
    """BUGS 28, 31, 38, 45, 87"""
    assert [(input, options, outline(answered(input, **options))) for input, options, _ in ANSWERS] == ANSWERS


def test_reasoning_on_request() -> None:
    output = answered("hi", reasoning={"effort": "low"})["output"]
    assert [item["type"] for item in output] == ["reasoning", "message"]


def cited(text: str, url: str, title: str) -> Plain:
    citation = {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": len(text)}
    return {"type": "output_text", "text": text, "annotations": [citation]}


def test_a_citation_is_an_annotation_of_the_text() -> None:
    script = "say It rains.\ncite https://a.example/ Weather\nrefuse No.\nsay Go.\ncite https://b.example/"
    (message,) = answered(script)["output"]
    assert message["content"] == [
        cited("It rains.", "https://a.example/", "Weather"),
        {"type": "refusal", "refusal": "No."},
        cited("Go.", "https://b.example/", "https://b.example/"),
    ]


@pytest.mark.parametrize(
    ("script", "options", "words"),
    [
        ("say Nothing of this.\nfail 429 rate_limit_exceeded Slow down.", {}, "429 rate_limit_exceeded Slow down."),
        ("hi", shape({"$ref": "#/nowhere"}), "Invalid schema"),
        ("say a\nbreak", {}, "none was requested"),  # which only a stream can do
    ],
)
def test_what_cannot_be_answered_is_refused(script: str, options: Plain, words: str) -> None:
    with pytest.raises(Refused) as caught:
        answered(script, **options)
    facts = caught.value.facts
    assert words in f"{facts.status} {facts.code} {facts.message}"


# --- conversations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("input", "options", "outputs", "expected"),
    [
        (
            'call get_weather {"city": "Oslo"}\nthen\ncall clock\nsay Cold.',
            {"tools": TOOLS},
            [['{"temp": 4}'], ["12:00"]],
            [['get_weather({"city": "Oslo"})'], ["clock({})"], ["Cold."]],
        ),
        ("call a\ncall b", {}, [["1", "2"]], [["a({})", "b({})"], ["a said: 1\nb said: 2"]]),
        (
            "Weather?",
            {"tools": TOOLS},
            [['{"temp": 4}']],
            [['get_weather({"city":"city"})'], ['get_weather said: {"temp": 4}']],
        ),
        ("hi", {"tools": [CLOCK], "tool_choice": "required"}, [["12:00"]], [["clock({})"], ["clock({})"]]),
        ("When?", {"tools": [CLOCK], **shape(YEAR)}, [["4"]], [["clock({})"], ['{"year":1}']]),
    ],
    ids=["a script", "a script that ended", "a tool", "a required call", "a format"],
)
def test_the_outputs_of_calls_are_answered(
    input: str, options: Plain, outputs: list[list[str]], expected: list[list[str]]
) -> None:
    found: list[list[str]] = []
    items: list[Plain] = [{"role": "user", "content": input}]
    for texts in [*outputs, []]:
        answer = answered(items, **options)
        found.append(outline(answer))
        ids = [item["call_id"] for item in answer["output"] if "call_id" in item and texts]
        given = zip(ids, texts, strict=True)
        items += answer["output"] + [{"type": "function_call_output", "call_id": id, "output": o} for id, o in given]
    assert found == expected
    # A new message of the user begins a turn of its own.
    options = {**options, "tools": [CLOCK]}
    assert outline(answered([*items, said(HI)], **options)) == ["clock({})"]


def test_another_request_gets_other_ids() -> None:
    one, other = (answered(text, tools=[CLOCK]) for text in ("hi", "ho"))
    assert one["id"] != other["id"]
    assert one["output"][0]["call_id"] != other["output"][0]["call_id"]


def test_tokens_are_quarters_of_characters() -> None:
    content = [
        {"type": "input_text", "text": "1234"},
        {"type": "input_image", "image_url": "https://example.com/a.png"},
    ]
    tool = {"type": "function", "name": "four", "description": "1234", "parameters": {}}
    whole = request([said(*content), *call("four", "12345")], instructions="12345678", tools=[tool])
    # instructions 2, text and "[image]" 3, image 256, name 1, arguments 1, output 2, tool name 1 and description 1
    assert estimate_tokens(whole) == 2 + 3 + 256 + 1 + 1 + 2 + 1 + 1
    usage = msgspec.to_builtins(model.answer(whole).usage)
    assert (usage["input_tokens"], usage["total_tokens"] - usage["output_tokens"]) == (267, 267)
    usage = answered("reason 1234567890\nsay Never said.", max_output_tokens=2)["usage"]
    assert usage["output_tokens_details"]["reasoning_tokens"] == usage["output_tokens"] == 2
