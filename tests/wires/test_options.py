"""The walker that reports options a wire lacks, and the emulation of tools that wires share."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.losses import Losses
from llm_rest.responses import (
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    ChooseMcp,
    CustomTool,
    CustomToolCall,
    FunctionCall,
    FunctionTool,
    Grammar,
    NamespaceTool,
    Prompt,
    ReasoningOptions,
    Request,
    TextOptions,
)
from llm_rest.unknown import Unknown
from llm_rest.wires.options import REASONS, decode_same, encode_same, report_include, report_missing
from llm_rest.wires.tools import INPUT, as_function, call_arguments, choose, each_tool, report_names

GEMINI = "gemini_generate_content"


def told(lost: Losses) -> set[str]:
    return {f"{loss.path} ({loss.kind})" for loss in lost}


REFUSED = ("previous_response_id", "prompt", "background", "truncation")
DROPPED = ("user", "reasoning.mode", "text.verbosity", "stream_options.include_obfuscation", "metadata")


@pytest.mark.parametrize(
    ("options", "lost"),
    [
        ({}, set()),
        ({"background": False, "metadata": {}, "user": None, "text": TextOptions(), "temperature": 0}, set()),
        ({"truncation": "disabled"}, set()),
        ({"previous_response_id": "r"}, {"previous_response_id (refused)"}),
        ({"prompt": Prompt(id="p"), "user": "u"}, {"prompt (refused)", "user (dropped)"}),
        ({"text": TextOptions(verbosity="low")}, {"text.verbosity (dropped)"}),
        ({"reasoning": ReasoningOptions(mode="pro", effort="low")}, {"reasoning.mode (dropped)"}),
    ],
)
def test_options_that_a_wire_lacks_are_reported_by_their_path(options: dict[str, Any], lost: set[str]) -> None:
    found = Losses()
    report_missing(Request(model="m", **options), GEMINI, found, refused=REFUSED, dropped=DROPPED)
    assert told(found) == lost


def test_a_reason_names_the_format_and_an_option_without_one_says_that_there_is_no_such_option() -> None:
    found = Losses()
    request = Request(model="m", previous_response_id="r", truncation="auto", user="u")
    report_missing(request, GEMINI, found, refused=REFUSED, dropped=DROPPED)
    assert [loss.what for loss in found] == [
        "Gemini keeps nothing between calls; send the conversation itself",
        "Gemini does not shorten a conversation to fit",
        "Gemini has no such option",
    ]
    assert set(REASONS) <= set(Request.__struct_fields__)


@pytest.mark.parametrize("tool", [FunctionTool(name="f", async_=True), CustomTool(name="f", async_=True)])
def test_options_of_a_tool_are_reported_below_the_tool(tool: FunctionTool | CustomTool) -> None:
    found = Losses()
    report_missing(tool, GEMINI, found, dropped=("output_schema", "async_"), path="tools[3]")
    assert told(found) == {"tools[3].async (dropped)"}


def test_what_is_included_and_unknown_is_reported_by_its_place() -> None:
    found = Losses()
    report_include(Request(include=["a", "b"]), ("a",), GEMINI, found)
    assert told(found) == {"include[1] (dropped)"}


def test_options_of_the_same_meaning_go_there_and_back_by_one_table() -> None:
    names = {"temperature": "temperature", "top_logprobs": "seed"}
    request = Request(seed=3)
    assert encode_same(request, names) == {"top_logprobs": 3}
    back = Request()
    decode_same(Request(top_logprobs=3), names, back)
    assert back == request


# --- tools ----------------------------------------------------------------------------------------------------------

TOOLS = ["a", "b", "c"]
MCP = Unknown(type="mcp", server_label="s")
ALLOWED: list[dict[str, Any]] = [{"type": "function", "name": "a"}, {"type": "custom", "name": "c"}, dict(MCP)]


@pytest.mark.parametrize(
    ("choice", "takes", "sent", "tools", "has_note", "lost"),
    [
        (None, (), None, TOOLS, False, set()),
        ("auto", (), None, TOOLS, False, set()),
        ("auto", ("auto",), "auto", TOOLS, False, set()),
        ("none", (), None, [], False, {"tool_choice (emulated)"}),
        ("none", ("none",), "none", TOOLS, False, set()),
        ("required", (), None, TOOLS, True, {"tool_choice (emulated)"}),
        ("strange", (), None, TOOLS, False, {"tool_choice (dropped)"}),
        ("strange", ("auto",), "strange", TOOLS, False, set()),
        (ChooseFunction(name="b"), (), None, ["b"], True, {"tool_choice (emulated)"}),
        (ChooseFunction(name="b"), ("required",), "required", ["b"], False, {"tool_choice (emulated)"}),
        (ChooseFunction(name="b"), ("function",), ChooseFunction(name="b"), TOOLS, False, set()),
        (ChooseCustom(name="b"), ("function",), ChooseCustom(name="b"), TOOLS, False, set()),
        (ChooseCustom(name="b"), ("auto",), None, ["b"], True, {"tool_choice (emulated)"}),
        (
            ChooseAllowed(tools=ALLOWED, mode="required"),
            (),
            None,
            ["a", "c"],
            True,
            {"tool_choice (emulated)", "tool_choice.tools[2] (dropped)"},
        ),
        (
            ChooseAllowed(tools=ALLOWED),
            ("auto",),
            "auto",
            ["a", "c"],
            False,
            {"tool_choice (emulated)", "tool_choice.tools[2] (dropped)"},
        ),
        (
            ChooseAllowed(tools=ALLOWED),
            ("allowed_tools",),
            ChooseAllowed(tools=ALLOWED),
            TOOLS,
            False,
            {"tool_choice.tools[2] (dropped)"},
        ),
        (ChooseMcp(server_label="s"), (), None, TOOLS, False, {"tool_choice (refused)"}),
        (Unknown(type="shell"), ("auto",), None, TOOLS, False, {"tool_choice (refused)"}),
    ],
)
def test_a_choice_that_a_wire_does_not_take_is_fewer_tools_and_a_sentence(
    choice: Any, takes: tuple[str, ...], sent: Any, tools: list[str], has_note: bool, lost: set[str]
) -> None:
    found = Losses()
    chosen = choose(choice, TOOLS, str, GEMINI, found, takes=takes)
    assert (chosen.choice, chosen.tools, bool(chosen.note)) == (sent, tools, has_note)
    assert told(found) == lost


def test_a_chosen_tool_is_found_by_the_name_it_has_on_the_wire() -> None:
    chosen = choose(ChooseFunction(name="a"), ["A", "B"], str, GEMINI, Losses(), naming=str.upper)
    assert chosen.tools == ["A"]
    assert "A" in chosen.note


def test_tools_of_a_namespace_come_one_by_one_with_their_paths() -> None:
    found = Losses()
    inner = [FunctionTool(name="f"), Unknown(type="scent"), CustomTool(name="g")]
    tools = [FunctionTool(name="a"), NamespaceTool(name="n", description="", tools=inner)]
    offered = {f"tools[{i}]": tool for i, tool in enumerate(tools)}
    assert [(getattr(tool, "name", ""), space, path) for tool, space, path in each_tool(offered, found)] == [
        ("a", None, "tools[0]"),
        ("f", "n", "tools[1].tools[0]"),
        ("g", "n", "tools[1].tools[2]"),
    ]
    assert told(found) == {"tools[1] (emulated)", "tools[1].tools[1] (refused)"}


def test_a_custom_tool_and_its_call_become_a_function_with_one_text() -> None:
    found = Losses()
    tool = CustomTool(name="sh", description="Runs.", format=Grammar(definition="a: /x/", syntax="lark"))
    made = as_function(tool, "tools[0]", found)
    assert made.parameters == INPUT
    assert made.description == "Runs.\n\nThe input follows this lark grammar:\na: /x/"
    assert told(found) == {"tools[0] (emulated)", "tools[0].format (changed)"}
    found = Losses()
    assert call_arguments(CustomToolCall(call_id="c", name="sh", input='"'), "input[1]", found) == r'{"input":"\""}'
    assert told(found) == {"input[1] (emulated)"}
    assert call_arguments(FunctionCall(call_id="c", name="f", arguments="{ }"), "", Losses()) == "{ }"


def test_a_second_tool_of_one_name_and_one_without_a_name_are_refused() -> None:
    found = Losses()
    names = ("a", None, "b", None, "a", "")
    report_names({f"tools[{i}]": name for i, name in enumerate(names)}, found)
    assert told(found) == {"tools[4].name (refused)", "tools[5].name (refused)"}
