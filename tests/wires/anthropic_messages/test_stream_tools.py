"""Tools the vendor runs inside a streamed answer: what they do is told step by step, and their blocks behind it."""

from __future__ import annotations

import msgspec
import pytest

from llm_rest.wires import anthropic_messages as wire
from tests.support.facts import plain
from tests.wires.anthropic_messages.steps import Plain
from tests.wires.anthropic_messages.streamed import (
    assembled,
    between,
    block,
    call,
    decoded,
    ended,
    ends,
    outline,
    output,
    result,
    started,
    text,
    told,
    tool,
)

CITED = {
    "type": "char_location",
    "cited_text": "c",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
}
FOUND = {"type": "web_search_result", "url": "https://r.org", "title": "R", "encrypted_content": "e"}
RAN = {"type": "code_execution_result", "stdout": "2", "stderr": "", "return_code": 0, "content": []}
TOOLS = [{"type": "tool_reference", "tool_name": "f"}]


def test_a_search_is_told_step_by_step_and_its_blocks_behind_it() -> None:
    """anthropic.stream.16"""
    search = tool(0, "web_search", '{"query"', ':"rivers"}')
    events = told(search, result(1, "web_search_tool_result", 0, [FOUND]), text(2, "R"))
    assert between(events)[:7] == [
        "output_item.added web_search_call",
        "web_search_call.in_progress",
        "web_search_call.searching",
        "web_search_call.completed",
        "output_item.done web_search_call",
        "output_item.added reasoning",
        "output_item.done reasoning",
    ]
    found = ends(events)[0]
    assert (found.action.query, found.action.sources[0].url) == ("rivers", "https://r.org")


def test_the_first_of_two_searches_is_over_when_the_second_begins() -> None:
    """anthropic.stream.6 and anthropic.stream.16"""
    first = [tool(0, "web_fetch", '{"url":"u"}'), result(1, "web_fetch_tool_result", 0, ERROR)]
    steps = between(told(*first, tool(2, "web_search"), result(3, "web_search_tool_result", 2, [])))
    assert steps[4:6] == ["output_item.done web_search_call", "output_item.added web_search_call"]


ERROR = {"type": "web_fetch_tool_result_error", "error_code": "unavailable"}


def after(*blocks: list[Plain]) -> list[tuple[str, list[str]]]:
    """Each event of the vendor for these blocks, by its type and its block, and what is told after it and before the next."""
    machine = wire.decode_stream()
    found: list[tuple[str, list[str]]] = []
    for event in [started(), *(event for one in blocks for event in one)]:
        made = machine.feed(wire.EVENT.decode(msgspec.json.encode(event)))
        found.append(
            (f"{event['type'].removeprefix('content_block_')} {event.get('index', '')}".strip(), outline(made))
        )
    return found[1:]


def test_a_tool_is_told_while_it_runs() -> None:
    """After which event of the vendor each event appears: nothing waits for the end of the run, or of the answer."""
    assert after(tool(0, "web_search", '{"query":"a"}'), result(1, "web_search_tool_result", 0, [FOUND])) == [
        ("start 0", ["output_item.added web_search_call", "web_search_call.in_progress"]),
        ("delta 0", []),
        ("stop 0", ["web_search_call.searching"]),
        ("start 1", []),
        ("stop 1", ["web_search_call.completed"]),
    ]
    assert after(tool(0, "code_execution", '{"code":"1"}'), result(1, "code_execution_tool_result", 0, RAN)) == [
        ("start 0", ["output_item.added code_interpreter_call", "code_interpreter_call.in_progress"]),
        ("delta 0", []),
        (
            "stop 0",
            [
                "code_interpreter_call_code.delta '1'",
                "code_interpreter_call_code.done '1'",
                "code_interpreter_call.interpreting",
            ],
        ),
        ("start 1", []),
        ("stop 1", ["code_interpreter_call.completed"]),
    ]
    ask = tool(0, "ask", '{"a"', ":1}", kind="mcp_tool_use", server_name="wiki")
    assert after(ask, result(1, "mcp_tool_result", 0, "found", is_error=False)) == [
        ("start 0", ["output_item.added mcp_call", "mcp_call.in_progress"]),
        ("delta 0", ["mcp_call_arguments.delta '{\"a\"'"]),
        ("delta 0", ["mcp_call_arguments.delta ':1}'"]),
        ("stop 0", ["mcp_call_arguments.done '{\"a\":1}'"]),
        ("start 1", []),
        ("stop 1", ["mcp_call.completed"]),
    ]
    listing = block(0, "mcp_tool_listing", mcp_server_name="wiki", tools=[])
    assert [name for name, made in after(listing) if "mcp_list_tools.completed" in made] == ["start 0"]


def test_the_next_tool_of_a_run_begins_while_the_run_goes_on() -> None:
    """The item of a search is done when another tool begins, not when the run is over."""
    first = [tool(0, "web_search", '{"query":"a"}'), result(1, "web_search_tool_result", 0, [FOUND])]
    begun = dict(after(*first, tool(2, "web_search", '{"query":"b"}')))
    assert begun["start 2"] == [
        "output_item.done web_search_call",
        "output_item.added web_search_call",
        "web_search_call.in_progress",
    ]


def test_code_is_over_when_the_answer_names_its_container() -> None:
    """anthropic.stream.17"""
    code = tool(0, "code_execution", '{"code":"1+1"}')
    ran = result(1, "code_execution_tool_result", 0, RAN)
    events = told(code, ran, text(2, "2"), end=ended(container={"id": "c_1", "expires_at": "later"}))
    steps = between(events)
    assert steps[:6] == [
        "output_item.added code_interpreter_call",
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta '1+1'",
        "code_interpreter_call_code.done '1+1'",
        "code_interpreter_call.interpreting",
        "code_interpreter_call.completed",
    ]
    assert sorted(steps[-2:]) == ["output_item.done code_interpreter_call", "output_item.done message"]
    assert output(events)[0].container_id == "c_1"


@pytest.mark.parametrize(("is_error", "outcome"), [(False, "completed"), (True, "failed")])
def test_an_mcp_call_is_told_with_its_arguments(is_error: bool, outcome: str) -> None:
    """anthropic.stream.18"""
    ask = tool(0, "ask", '{"a"', ":1}", kind="mcp_tool_use", server_name="wiki")
    found = result(1, "mcp_tool_result", 0, "found", is_error=is_error)
    assert between(told(ask, found, text(2, "a")))[:7] == [
        "output_item.added mcp_call",
        "mcp_call.in_progress",
        "mcp_call_arguments.delta '{\"a\"'",
        "mcp_call_arguments.delta ':1}'",
        "mcp_call_arguments.done '{\"a\":1}'",
        f"mcp_call.{outcome}",
        "output_item.done mcp_call",
    ]


def test_what_a_search_over_tools_found_stands_behind_it() -> None:
    """anthropic.stream.19"""
    search = tool(0, "tool_search_tool_bm25", '{"query":"q"}')
    other = tool(1, "web_search", '{"query":"q"}')
    found = result(
        2, "tool_search_tool_result", 0, {"type": "tool_search_tool_search_result", "tool_references": TOOLS}
    )
    events = told(search, other, found, result(3, "web_search_tool_result", 1, []), text(4, "a"))
    added = [step.split()[1] for step in between(events) if step.startswith("output_item.added")]
    assert added == ["tool_search_call", "tool_search_output", "web_search_call", "reasoning", "message"]


def test_what_responses_cannot_show_is_carried_whole() -> None:
    """BUGS 61. anthropic.stream.20"""
    narrated = block(0, "connector_text", {"text": "S"}, {"text": "o"}, {"signature": "s"}, text="")
    new = block(1, "something_new", {"partial_json": '{"a"'}, {"partial_json": ":1}"}, {"citation": CITED}, input={})
    events = told(narrated, new, block(2, "container_upload", file_id="file_1"))
    assert between(events) == ["output_item.added reasoning", "output_item.done reasoning"]
    message, lost = wire.encode_response(assembled(events))
    assert plain(message)["content"] == [
        {"type": "connector_text", "text": "So", "signature": "s"},
        {"type": "something_new", "input": {"a": 1}, "citations": [CITED]},
        {"type": "container_upload", "file_id": "file_1"},
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("stop", "status"), [("pause_turn", "in_progress"), ("tool_use", "in_progress"), ("end_turn", "incomplete")]
)
def test_a_tool_without_its_result_goes_on_where_the_vendor_does(stop: str, status: str) -> None:
    """anthropic.stream.21"""
    events = told(tool(0, "web_search", '{"query":"q"}'), call(1), end=ended(stop))
    assert ends(events)[0].status == status
    last = [event.output_index for event in events[-3:-1]]
    assert 0 in last


def test_a_compaction_comes_in_one_piece() -> None:
    """anthropic.stream.22"""
    events = told(block(0, "compaction", {"content": "Before.", "encrypted_content": "e"}, content=None))
    assert between(events) == ["output_item.added compaction", "compaction.compacting", "output_item.done compaction"]
    message, _ = wire.encode_response(assembled(events))
    assert plain(message)["content"] == [{"type": "compaction", "content": "Before.", "encrypted_content": "e"}]


def test_another_model_that_goes_on_is_the_one_that_answered() -> None:
    """anthropic.stream.23"""
    switch = block(1, "fallback", **{"from": {"model": "m"}, "to": {"model": "n"}})
    events = told(text(0, "a"), switch, text(2, "b"))
    assert [events[0].response.model, events[-1].response.model] == ["m", "n"]


def test_a_tool_of_the_vendor_that_was_cut_keeps_what_there_is() -> None:
    """anthropic.stream.26"""
    found, machine = decoded([started(), *tool(0, "web_search", '{"que'), *ended("max_tokens")])
    message, lost = wire.encode_response(assembled(found))
    assert plain(message)["content"][0]["input"] == {"INVALID_JSON": '{"que'}
    assert [(loss.path, loss.kind) for loss in machine.losses] == [("content[0].input", "changed")]
    assert lost == []
