"""Generated answers of Anthropic Messages, with every kind of block, as JSON."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Plain = dict[str, Any]

TEXTS = st.sampled_from(["Hi", "4 °C\n", "雪 \U0001f328", " and ", '\u2028 \\ "']) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12
)
INPUTS = st.sampled_from([{}, {"city": "Oslo", "days": 2}, {"a": [1.5, None, {"b": "\u00e9"}]}])
CALLERS: st.SearchStrategy[Plain] = st.sampled_from([{}, {"caller": {"type": "direct"}}, {"x_new": 1}])
CITATIONS = st.sampled_from(
    [
        {"type": "web_search_result_location", "url": "https://a.b", "title": "A", "encrypted_index": "x", "cited_text": "c"},
        {"type": "char_location", "document_index": 0, "document_title": None, "start_char_index": 0, "end_char_index": 1,
         "cited_text": "c", "file_id": None},
        {"type": "page_location", "document_index": 0, "document_title": "D", "start_page_number": 1, "end_page_number": 2,
         "cited_text": "c", "file_id": "file_1"},
        {"type": "somewhere_new", "cited_text": "c"},
    ]
)  # fmt: skip
FOUND = {"type": "web_search_result", "url": "https://a.b", "title": "t", "encrypted_content": "e", "page_age": None}
FETCHED = {"type": "web_fetch_result", "url": "https://a.b", "retrieved_at": None, "content": {
    "type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}}  # fmt: skip
RAN = {"type": "code_execution_result", "stdout": "2\n", "stderr": "", "return_code": 0, "content": []}


def _error(kind: str) -> Plain:
    return {"type": f"{kind}_error", "error_code": "unavailable"}


TOOLS: dict[str, tuple[str, list[Any]]] = {
    "web_search": ("web_search_tool_result", [[FOUND], [], _error("web_search_tool_result")]),
    "web_fetch": ("web_fetch_tool_result", [FETCHED, _error("web_fetch_tool_result")]),
    "code_execution": ("code_execution_tool_result", [RAN, _error("code_execution_tool_result")]),
    "tool_search_tool_bm25": (
        "tool_search_tool_result",
        [
            {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "f"}],
            },
            _error("tool_search_tool_result"),
        ],
    ),
    "text_editor_code_execution": (
        "text_editor_code_execution_tool_result",
        [{"type": "text_editor_code_execution_create_result", "is_file_update": False}],
    ),
}
"""Tools the vendor runs: the kind of their result, and what it may be."""


@st.composite
def texts(draw: st.DrawFn) -> list[Plain]:
    """Text blocks in a row, some with sources."""
    found: list[Plain] = []
    for text in draw(st.lists(TEXTS, min_size=1, max_size=3)):
        block: Plain = {"type": "text", "text": text}
        if draw(st.integers(0, 2)) == 0:
            block["citations"] = draw(st.lists(CITATIONS, max_size=2) | st.none())
        if draw(st.integers(0, 9)) == 0:
            block["x_new"] = True
        found.append(block)
    return found


@st.composite
def runs(draw: st.DrawFn, ids: list[int]) -> list[Plain]:
    """Tools the vendor runs, and their results: after them all, or after each, or missing."""
    uses: list[Plain] = []
    results: list[Plain] = []
    together = draw(st.booleans())
    for _ in range(draw(st.integers(1, 3))):
        ids.append(len(ids))
        kind = draw(st.sampled_from(["mcp", *TOOLS]))
        if kind == "mcp":
            id = f"mcptoolu_{len(ids)}"
            use = {"type": "mcp_tool_use", "id": id, "name": "ask", "server_name": "wiki", "input": draw(INPUTS)}
            content = draw(st.sampled_from(["found", [{"type": "text", "text": "found"}], []]))
            result = {"type": "mcp_tool_result", "tool_use_id": id, "is_error": draw(st.booleans()), "content": content}
        else:
            id = f"srvtoolu_{len(ids)}"
            use = {"type": "server_tool_use", "id": id, "name": kind, "input": draw(INPUTS), **draw(CALLERS)}
            result = {"type": TOOLS[kind][0], "tool_use_id": id, "content": draw(st.sampled_from(TOOLS[kind][1]))}
        uses.append(use)
        if draw(st.integers(0, 4)):
            (results if together else uses).append(result)
    return uses + results


@st.composite
def blocks(draw: st.DrawFn, ids: list[int]) -> list[Plain]:
    """One thing that a model does."""
    match draw(st.integers(0, 9)):
        case 0 | 1 | 2:
            return draw(texts())
        case 3 | 4:
            return draw(runs(ids))
        case 5 | 6:
            ids.append(len(ids))
            return [
                {"type": "tool_use", "id": f"toolu_{len(ids)}", "name": "f", "input": draw(INPUTS), **draw(CALLERS)}
            ]
        case 7:
            return [{"type": "thinking", "thinking": draw(TEXTS), "signature": draw(st.sampled_from(["sig==", ""]))}]
        case 8:
            return [{"type": "redacted_thinking", "data": "ZGF0YQ=="}]
        case _:
            return [
                draw(
                    st.sampled_from(
                        [
                            {"type": "compaction", "content": "Before.", "encrypted_content": "e"},
                            {"type": "compaction", "content": None},
                            {
                                "type": "fallback",
                                "from": {"model": "m"},
                                "to": {"model": "n"},
                                "trigger": {"type": "refusal"},
                            },
                            {"type": "mcp_tool_listing", "mcp_server_name": "wiki", "tools": [{"name": "ask"}]},
                            {"type": "container_upload", "file_id": "file_9"},
                            {"type": "connector_text", "text": "So:", "signature": "s"},
                            {"type": "something_new", "data": {"a": 1}},
                        ]
                    )
                )
            ]


@st.composite
def answers(draw: st.DrawFn) -> Plain:
    """A whole answer."""
    ids: list[int] = []
    content = [block for _ in range(draw(st.integers(0, 5))) for block in draw(blocks(ids))]
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
