"""Generated answers of Anthropic Messages, with every kind of block, as JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Plain = dict[str, Any]

TEXTS = st.sampled_from(["Hi", "4 °C\n", "雪 \U0001f328", " and ", '\u2028 \\ "']) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12
)
INPUTS = st.sampled_from([{}, {"city": "Oslo", "days": 2}, {"a": [1.5, None, {"b": "\u00e9"}]}])
CITED = [
    {"type": "web_search_result_location", "url": "https://a.b", "title": "A", "encrypted_index": "x", "cited_text": "c"},
    {"type": "char_location", "document_index": 0, "document_title": None, "start_char_index": 0, "end_char_index": 1,
     "cited_text": "c", "file_id": None},
    {"type": "page_location", "document_index": 0, "document_title": "D", "start_page_number": 1, "end_page_number": 2,
     "cited_text": "c", "file_id": "file_1"},
    {"type": "somewhere_new", "cited_text": "c"},
]  # fmt: skip
FOUND = {"type": "web_search_result", "url": "https://a.b", "title": "t", "encrypted_content": "e", "page_age": None}
FETCHED = {"type": "web_fetch_result", "url": "https://a.b", "retrieved_at": None, "content": {
    "type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}}  # fmt: skip
RAN = {"type": "code_execution_result", "stdout": "2\n", "stderr": "", "return_code": 0, "content": []}
TOOLS = {
    "type": "tool_search_tool_search_result",
    "tool_references": [{"type": "tool_reference", "tool_name": "f"}],
}
MADE = {"type": "text_editor_code_execution_create_result", "is_file_update": False}


def hosted(name: str, result: str, content: Any, **more: Any) -> list[Plain]:
    """A tool the vendor runs, and its result."""
    use = {"type": "server_tool_use", "id": "srvtoolu_#", "name": name, "input": {}, **more}
    return [use, {"type": f"{result}_tool_result", "tool_use_id": "srvtoolu_#", "content": content}]


def failed(name: str, result: str) -> list[Plain]:
    return hosted(name, result, {"type": f"{result}_tool_result_error", "error_code": "unavailable"})


def mcp(content: Any, *, is_error: bool = False) -> list[Plain]:
    use = {"type": "mcp_tool_use", "id": "mcptoolu_#", "name": "ask", "server_name": "wiki", "input": {}}
    return [use, {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_#", "is_error": is_error, "content": content}]


RUNS = [
    hosted("web_search", "web_search", [FOUND]),
    hosted("web_search", "web_search", [], caller={"type": "direct"}),
    failed("web_search", "web_search"),
    hosted("web_fetch", "web_fetch", FETCHED, x_new=1),
    failed("web_fetch", "web_fetch"),
    hosted("code_execution", "code_execution", RAN),
    failed("code_execution", "code_execution"),
    hosted("tool_search_tool_bm25", "tool_search", TOOLS),
    failed("tool_search_tool_bm25", "tool_search"),
    hosted("text_editor_code_execution", "text_editor_code_execution", MADE),
    mcp("found"),
    mcp([{"type": "text", "text": "found"}], is_error=True),
    mcp([]),
]
"""Tools the vendor runs, each with its result."""

CALL = {"type": "tool_use", "id": "toolu_#", "name": "f", "input": {}}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "sig=="}
THINGS: list[list[Plain]] = [
    *([[{"type": "text", "text": ""}]] * 6),
    *([{"type": "text", "text": "", "citations": cited}] for cited in (None, [], CITED[:1], CITED[1:3], CITED[3:])),
    [{"type": "text", "text": "", "x_new": True}],
    *[[CALL], [CALL], [{**CALL, "caller": {"type": "direct"}}], [{**CALL, "x_new": 1}]],
    *[[THOUGHT], [{**THOUGHT, "signature": ""}], [{"type": "redacted_thinking", "data": "ZGF0YQ=="}]],
    [{"type": "compaction", "content": "Before.", "encrypted_content": "e"}],
    [{"type": "compaction", "content": None}],
    [{"type": "fallback", "from": {"model": "m"}, "to": {"model": "n"}, "trigger": {"type": "refusal"}}],
    [{"type": "mcp_tool_listing", "mcp_server_name": "wiki", "tools": [{"name": "ask"}]}],
    [{"type": "container_upload", "file_id": "file_9"}],
    [{"type": "connector_text", "text": "So:", "signature": "s"}],
    [{"type": "something_new", "data": {"a": 1}}],
]
"""What a model does beside them, in blocks."""


@st.composite
def blocks(draw: st.DrawFn, number: int) -> list[Plain]:
    """One thing that a model does, or tools that it runs: their results after them all, or after each, or missing."""
    if draw(st.integers(0, 3)):
        found = draw(st.sampled_from(THINGS))
    else:
        runs = draw(st.lists(st.sampled_from(RUNS), min_size=1, max_size=3))
        runs = [json.loads(json.dumps(run).replace("#", f"{number}_{i}")) for i, run in enumerate(runs)]
        found = [block for run in runs for block in (run if draw(st.integers(0, 4)) else run[:1])]
        if draw(st.booleans()):
            found.sort(key=lambda block: block["type"].endswith("_result"))
    made = json.loads(json.dumps(found).replace("#", str(number)))
    for block in made:
        for name in {"text", "thinking"} & block.keys():
            block[name] = block[name] or draw(TEXTS)
        if block.get("input") == {}:
            block["input"] = draw(INPUTS)
    return made


@st.composite
def answers(draw: st.DrawFn) -> Plain:
    """A whole answer."""
    content = [block for i in range(draw(st.integers(0, 7))) for block in draw(blocks(i))]
    switched = [block["to"]["model"] for block in content if block["type"] == "fallback"]
    stop = draw(
        st.sampled_from(
            ["end_turn", "tool_use", "max_tokens", "pause_turn", "refusal", "stop_sequence", "compaction", "new"]
        )
    )
    message: Plain = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": (switched or ["m"])[-1],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": "END" if stop == "stop_sequence" else None,
        "usage": draw(
            st.sampled_from(
                [
                    {"input_tokens": 3, "output_tokens": 4},
                    {"input_tokens": 3, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 0, "output_tokens": 4,
                     "output_tokens_details": {"thinking_tokens": 2}, "service_tier": "standard"},
                    {"input_tokens": 0, "cache_read_input_tokens": None, "output_tokens": 4, "x_new": 1,
                     "server_tool_use": {"web_search_requests": 1}, "iterations": [{"type": "message", "output_tokens": 4}]},
                ]
            )
        ),
    }  # fmt: skip
    if stop == "refusal":
        message["stop_details"] = {
            "type": "refusal",
            "category": None,
            "explanation": draw(st.sampled_from(["No.", None])),
        }
    for name, value in (("container", {"id": "c_1", "expires_at": "later"}), ("context_management", {"applied_edits": []}),
                        ("input_transformations", [{"type": "thinking_dropped", "path": "p", "reason": "r"}]),
                        ("diagnostics", {"a": 1}), ("x_new", [1])):  # fmt: skip
        if draw(st.integers(0, 4)) == 0:
            message[name] = value
    return message
