"""An answer of the vendor as a Response: blocks, how it ended, what it cost; and what returns with the next turn."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import (
    CodeInterpreterCall,
    CodeLogs,
    Compaction,
    Direct,
    FileCitation,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    IncompleteDetails,
    InputTokensDetails,
    McpCall,
    McpListTools,
    Message,
    OpenPage,
    OutputText,
    OutputTokensDetails,
    Reasoning,
    RefusalPart,
    Request,
    Search,
    ToolSearchCall,
    ToolSearchOutput,
    UrlCitation,
    UrlSource,
    Usage,
    WebSearchCall,
)
from llm_rest.responses.carriers import digest, seal
from llm_rest.wires import anthropic_messages as wire
from tests.wires.anthropic_messages.steps import NEW, Plain, answered, kinds, replayed, sent, text, user

USE = {"type": "server_tool_use", "id": "srvtoolu_1"}
SEARCH = {**USE, "name": "web_search", "input": {"query": "rivers"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "https://r.org", "title": "R", "encrypted_content": "e=="}],
}
CITED = {
    "type": "web_search_result_location",
    "url": "https://r.org",
    "title": "R",
    "encrypted_index": "i==",
    "cited_text": "c",
}


def error(kind: str) -> Plain:
    return {"type": f"{kind}_error", "error_code": "unavailable"}


def result(kind: str, content: Any) -> Plain:
    return {"type": kind, "tool_use_id": "srvtoolu_1", "content": content}


def test_ids_and_model_of_an_answer() -> None:
    """anthropic.response.1 and anthropic.response.2"""
    response = answered(text("a"), {"type": "tool_use", "id": "t", "name": "f", "input": {}}, stop_reason="tool_use")
    assert (response.id, response.model) == ("msg_1", NEW)
    assert [getattr(item, "id", None) for item in response.output] == ["msg_msg_1_0", "fc_msg_1_1"]
    again = answered(text("a"), {"type": "tool_use", "id": "t", "name": "f", "input": {}}, stop_reason="tool_use")
    assert again == response


def test_texts_in_a_row_are_one_message_with_a_part_each() -> None:
    """anthropic.response.3"""
    (item,) = answered(text("a"), text("b")).output
    assert isinstance(item, Message)
    assert item.content == [OutputText(text="a", annotations=[]), OutputText(text="b", annotations=[])]


def test_citations_are_annotations_and_return_whole() -> None:
    """anthropic.response.4, anthropic.request.59 and BUGS 89"""
    page = {"type": "page_location", "document_index": 0, "document_title": "D", "start_page_number": 1}
    page |= {"end_page_number": 2, "cited_text": "c", "file_id": "file_1"}
    found = {"type": "search_result_location", "search_result_index": 0, "source": "https://s.org", "title": None}
    found |= {"start_block_index": 0, "end_block_index": 1, "cited_text": "c"}
    blocks = [text("By sea. "), text("Rivers.", citations=[CITED, page, found]), text("Plain.", citations=[])]
    response = answered(*blocks)
    message, carrier = response.output
    assert isinstance(message, Message)
    assert isinstance(carrier, Reasoning)
    cited = message.content[1]
    assert isinstance(cited, OutputText)
    assert cited.annotations == [
        UrlCitation(url="https://r.org", title="R", start_index=0, end_index=7),
        FileCitation(file_id="file_1", filename="D", index=7),
        UrlCitation(url="https://s.org", title=None, start_index=0, end_index=7),
    ]
    # Sent back, the name of the file is refused.
    blocks[1]["citations"][1].pop("file_id")
    assert replayed(response, user()) == blocks


def test_citations_of_a_text_that_was_edited_stay_behind() -> None:
    response = answered(text("Rivers.", citations=[CITED]))
    message = response.output[0]
    assert isinstance(message, Message)
    message.content = [OutputText(text="Lakes.")]
    body, lost = sent(user(), *response.output, user())
    assert body["messages"][1]["content"] == [text("Lakes.")]
    assert kinds(lost) == [("input[2]", "dropped")]


def test_a_call_keeps_its_arguments_its_caller_and_its_toolset() -> None:
    """anthropic.response.7"""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"b": 1, "a": [2.0]}}
    (item,) = answered({**call, "caller": {"type": "direct"}}, stop_reason="tool_use").output
    assert isinstance(item, FunctionCall)
    assert (item.call_id, item.arguments, item.caller) == ("t", '{"b":1,"a":[2.0]}', Direct())
    made = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    (item,) = answered({**call, "caller": made, "toolset_name": "browser", "new": 1}, stop_reason="tool_use").output
    assert isinstance(item, FunctionCall)
    assert item.namespace == "browser"


def test_a_web_search_shows_its_query_and_sources() -> None:
    """anthropic.response.8"""
    call, _ = answered(SEARCH, FOUND).output
    assert isinstance(call, WebSearchCall)
    assert call.action == Search(query="rivers", queries=["rivers"], sources=[UrlSource(url="https://r.org")])
    assert (call.status, call.id) == ("completed", "ws_msg_1_0")
    failed = result("web_search_tool_result", error("web_search_tool_result"))
    call, _ = answered(SEARCH, failed).output
    assert isinstance(call, WebSearchCall)
    assert call.status == "failed"


def test_a_fetched_page_is_opened() -> None:
    """anthropic.response.9"""
    use = {**USE, "name": "web_fetch", "input": {"url": "https://a.b"}}
    page = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, "title": "t"}
    fetched = {"type": "web_fetch_result", "url": "https://a.b", "content": page, "retrieved_at": "2026-11-20"}
    call, _ = answered(use, result("web_fetch_tool_result", fetched)).output
    assert isinstance(call, WebSearchCall)
    assert (call.action, call.status) == (OpenPage(url="https://a.b"), "completed")


@pytest.mark.parametrize(("name", "argument"), [("code_execution", "code"), ("bash_code_execution", "command")])
def test_a_run_of_code_shows_what_it_printed(name: str, argument: str) -> None:
    """anthropic.response.10 and anthropic.response.20"""
    use = {**USE, "name": name, "input": {argument: "1+1"}}
    ran = {"type": f"{name}_result", "stdout": "2", "stderr": "!", "return_code": 0, "content": []}
    call, _ = answered(use, result(f"{name}_tool_result", ran), container={"id": "c1", "expires_at": "x"}).output
    assert isinstance(call, CodeInterpreterCall)
    assert (call.code, call.container_id) == ("1+1", "c1")
    assert call.outputs == [CodeLogs(logs="2"), CodeLogs(logs="!")]
    call, _ = answered(use, result(f"{name}_tool_result", error(f"{name}_tool_result"))).output
    assert isinstance(call, CodeInterpreterCall)
    assert (call.status, call.outputs) == ("failed", None)


def test_what_code_printed_may_be_sealed() -> None:
    """anthropic.response.10"""
    use = {**USE, "name": "code_execution", "input": {"code": "1"}}
    ran = {"type": "encrypted_code_execution_result", "encrypted_stdout": "e", "stderr": "", "return_code": 0}
    call, _ = answered(use, result("code_execution_tool_result", {**ran, "content": []})).output
    assert isinstance(call, CodeInterpreterCall)
    assert call.outputs == []


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "connector_text", "text": "and then"}],
        [{"type": "container_upload", "file_id": "file_1"}],
        [{"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": {"type": "refusal"}}],
        [
            {**USE, "name": "advisor", "input": {}},
            result("advisor_tool_result", {"type": "advisor_redacted_result", "encrypted_content": "e"}),
        ],
        [
            {**USE, "name": "text_editor_code_execution", "input": {"command": "view"}},
            result(
                "text_editor_code_execution_tool_result",
                {"type": "text_editor_code_execution_create_result", "is_file_update": True, "new": 1.0},
            ),
        ],
    ],
)
def test_blocks_without_an_item_of_their_own_return_whole(blocks: list[Plain]) -> None:
    """anthropic.response.11"""
    response = answered(text("a"), *blocks, text("b"))
    assert [type(item).__name__ for item in response.output] == ["Message", "Reasoning", "Message"]
    assert replayed(response, user()) == [text("a"), *blocks, text("b")]


def test_a_search_over_tools_names_what_it_found() -> None:
    """anthropic.response.12"""
    use = {**USE, "name": "tool_search_tool_bm25", "input": {"query": "refund"}}
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "f"}],
    }
    call, output, _ = answered(use, result("tool_search_tool_result", found)).output
    assert isinstance(call, ToolSearchCall)
    assert isinstance(output, ToolSearchOutput)
    assert (call.arguments, output.tools) == ({"query": "refund"}, [FunctionTool(name="f")])
    failed = result("tool_search_tool_result", error("tool_search_tool_result"))
    call, _ = answered(use, failed).output
    assert isinstance(call, ToolSearchCall)
    assert call.status == "incomplete"


def test_an_mcp_call_has_an_output_or_an_error() -> None:
    """anthropic.response.13"""
    use = {"type": "mcp_tool_use", "id": "srvtoolu_1", "name": "ask", "server_name": "wiki", "input": {"q": 1}}
    call, _ = answered(use, {**result("mcp_tool_result", [text("4")]), "is_error": False}).output
    assert isinstance(call, McpCall)
    assert (call.server_label, call.name, call.arguments, call.output) == ("wiki", "ask", '{"q":1}', "4")
    call, _ = answered(use, {**result("mcp_tool_result", "no"), "is_error": True}).output
    assert isinstance(call, McpCall)
    assert call.error == {"type": "mcp_tool_execution_error", "content": "no"}
    assert call.status == "failed"


def test_the_tools_of_an_mcp_server_are_listed() -> None:
    """anthropic.response.14"""
    listing = {"type": "mcp_tool_listing", "mcp_server_name": "wiki"}
    listed, _ = answered({**listing, "tools": [{"name": "ask", "input_schema": {"type": "object"}}]}).output
    assert isinstance(listed, McpListTools)
    assert (listed.server_label, [tool.name for tool in listed.tools]) == ("wiki", ["ask"])


def test_a_compaction_returns_first() -> None:
    """anthropic.response.15, anthropic.request.21"""
    block = {"type": "compaction", "content": "So far.", "encrypted_content": "e", "signature": "s"}
    response = answered(block, text("Hello."))
    compaction = response.output[0]
    assert isinstance(compaction, Compaction)
    body, lost = sent(*response.output, user())
    assert (body["messages"][0]["content"], lost) == ([block, text("Hello.")], [])
    assert kinds(sent(Compaction(encrypted_content="gAAA"), user())[1]) == [("input[0]", "withheld")]
    damaged = Compaction(encrypted_content=f"{compaction.encrypted_content}AAAA")
    assert kinds(sent(damaged, user())[1]) == [("input[0]", "dropped")]


@pytest.mark.parametrize(
    ("stop", "status"), [("pause_turn", "in_progress"), ("tool_use", "in_progress"), ("end_turn", "incomplete")]
)
def test_a_tool_of_the_vendor_may_still_run(stop: str, status: str) -> None:
    """anthropic.response.16"""
    call, _ = answered(SEARCH, stop_reason=stop).output
    assert isinstance(call, WebSearchCall)
    assert call.status == status


def test_a_paused_answer_goes_back_as_the_last_message() -> None:
    """anthropic.hard.8 and BUGS 37"""
    response = answered(text("I search."), SEARCH, stop_reason="pause_turn")
    body, lost = sent(user(), *response.output)
    assert (body["messages"][-1]["content"], lost) == ([text("I search."), SEARCH], [])


def test_a_result_that_comes_with_the_next_answer_returns_in_its_place() -> None:
    """anthropic.hard.9"""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    first, then = answered(SEARCH, call, stop_reason="tool_use"), answered(FOUND, text("Done."))
    items = [*first.output, FunctionCallOutput(call_id="t", output="4"), *then.output, user()]
    body, lost = sent(user(), *items)
    assert [message["content"] for message in body["messages"][1:4:2]] == [[SEARCH, call], [FOUND, text("Done.")]]
    assert lost == []


def test_interleaved_runs_of_tools_return_in_their_order() -> None:
    """anthropic.request.20"""
    second, found = {**SEARCH, "id": "srvtoolu_2"}, {**FOUND, "tool_use_id": "srvtoolu_2"}
    blocks = [SEARCH, second, found, FOUND, text("a"), SEARCH, text("b"), FOUND]
    response = answered(*blocks)
    assert replayed(response, user()) == blocks


@pytest.mark.parametrize("edit", ["query", "sources", "missing"])
def test_a_search_that_was_edited_stays_behind(edit: str) -> None:
    """anthropic.request.20"""
    response = answered(SEARCH, FOUND, text("a"))
    call = response.output[0]
    assert isinstance(call, WebSearchCall)
    assert isinstance(call.action, Search)
    if edit == "missing":
        del response.output[0]
    elif edit == "query":
        call.action.query = "lakes"
    else:
        call.action.sources = []
    body, lost = sent(user(), *response.output, user())
    assert body["messages"][1]["content"] == [text("a")]
    assert {kind for _, kind in kinds(lost)} == {"dropped"}


def test_a_search_of_another_vendor_cannot_be_rebuilt_and_leaves_ours_alone() -> None:
    """anthropic.request.20"""
    foreign = WebSearchCall(action=Search(query="x"))
    body, lost = sent(user(), foreign, *answered(SEARCH, FOUND, text("a")).output, user())
    assert body["messages"][1]["content"] == [SEARCH, FOUND, text("a")]
    assert kinds(lost) == [("input[1]", "dropped")]


def test_a_forged_carrier_brings_no_blocks_of_other_kinds() -> None:
    forged = {"kind": "blocks", "digest": digest(""), "blocks": [{"type": "tool_result", "tool_use_id": "x"}]}
    item = Reasoning(summary=[], encrypted_content=seal("anthropic_messages", "anthropic", forged))
    body, lost = sent(user(), item, user())
    assert ([m["role"] for m in body["messages"]], kinds(lost)) == (["user", "user"], [("input[1]", "dropped")])


def test_after_a_handover_the_declined_thoughts_do_not_return() -> None:
    fallback = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    response = answered(thought, text("a"), SEARCH, fallback, thought, text("b"))
    body, lost = sent(user(), *response.output, user())
    assert body["messages"][1]["content"] == [text("a"), fallback, thought, text("b")]
    assert kinds(lost) == [("input", "withheld")]


# --- what it cost and how it ended ----------------------------------------------------------------------------------


def test_input_tokens_include_what_the_cache_gave_and_took() -> None:
    """anthropic.response.17, anthropic.response.21 and BUGS 78"""
    used = {"input_tokens": 3, "cache_creation_input_tokens": 12304, "cache_read_input_tokens": 10, "output_tokens": 7}
    used |= {"output_tokens_details": {"thinking_tokens": 5}, "inference_geo": "eu", "iterations": [], "speed": "fast"}
    used |= {"cache_creation": {"ephemeral_5m_input_tokens": 12304, "ephemeral_1h_input_tokens": 0}, "new": 1}
    used |= {"server_tool_use": {"web_search_requests": 1}}
    usage = answered(text("a"), usage=used).usage
    assert isinstance(usage, Usage)
    usage.leftovers = None
    assert usage == Usage(
        input_tokens=12317,
        output_tokens=7,
        total_tokens=12324,
        input_tokens_details=InputTokensDetails(cached_tokens=10, cache_write_tokens=12304),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=5),
    )


@pytest.mark.parametrize(
    "used",
    [
        {"cache_creation_input_tokens": None, "cache_read_input_tokens": 4},
        {"cache_read_input_tokens": None},
        {"output_tokens_details": None},
        {"output_tokens_details": {}},
        {"output_tokens_details": {"thinking_tokens": 0, "more": 1}},
        {"service_tier": None},
    ],
)
def test_token_counts_come_back_as_they_were(used: Plain) -> None:
    """anthropic.response.17"""
    answered(text("a"), usage={"input_tokens": 3, "output_tokens": 2, **used})


def test_thoughts_that_did_not_count_are_told() -> None:
    """anthropic.response.18"""
    said = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    response = answered(text("a"), input_transformations=[said, {**said, "type": "thinking_mismatch_allowed"}])
    assert isinstance(response.input_transformations, list)
    assert [(s["action"], s["reason"]) for s in response.input_transformations] == [
        ("removed", "prefix_mismatch"),
        ("kept", "prefix_mismatch"),
    ]


@pytest.mark.parametrize(
    ("tier", "ours"), [("standard", "default"), ("priority", "priority"), ("batch", "default"), ("later", "later")]
)
def test_the_tier_of_an_answer(tier: str, ours: str) -> None:
    """anthropic.response.19"""
    response = answered(text("a"), usage={"input_tokens": 3, "output_tokens": 2, "service_tier": tier})
    assert response.service_tier == ours


def test_what_describes_only_this_answer_comes_back() -> None:
    """anthropic.response.21"""
    answered(
        text("a"),
        stop_details=None,
        container=None,
        diagnostics={"cache_miss": 1},
        context_management={"applied_edits": []},
        new_field=[1.0],
    )


@pytest.mark.parametrize(
    ("stop", "status", "reason"),
    [
        pytest.param("end_turn", "completed", None, id="anthropic.stop.1"),
        pytest.param("stop_sequence", "completed", None, id="anthropic.stop.2"),
        pytest.param("tool_use", "completed", None, id="anthropic.stop.3"),
        pytest.param("max_tokens", "incomplete", "max_output_tokens", id="anthropic.stop.4"),
        pytest.param("model_context_window_exceeded", "incomplete", "max_output_tokens", id="anthropic.stop.5"),
        pytest.param("pause_turn", "incomplete", "pause_turn", id="anthropic.stop.6"),
        pytest.param("refusal", "incomplete", "content_filter", id="anthropic.stop.7"),
        pytest.param("compaction", "completed", None, id="anthropic.stop.8"),
        pytest.param(None, "in_progress", None, id="anthropic.stop.9"),
        pytest.param("brand_new", "incomplete", "brand_new", id="anthropic.stop.10"),
    ],
)
def test_how_an_answer_ended(stop: Any, status: str, reason: str | None) -> None:
    """BUGS 44"""
    response = answered(text("a"), stop_reason=stop, stop_sequence="END" if stop == "stop_sequence" else None)
    details = IncompleteDetails(reason=reason) if reason else None
    assert (response.status, response.incomplete_details) == (status, details)


def test_a_cut_answer_marks_what_was_cut() -> None:
    """anthropic.hard.7, BUGS 45"""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    message, cut = answered(text("a"), call, stop_reason="max_tokens").output
    assert isinstance(message, Message)
    assert isinstance(cut, FunctionCall)
    assert (message.status, cut.status) == ("completed", "incomplete")
    message, _ = answered(text("a", citations=[CITED]), stop_reason="max_tokens").output
    assert isinstance(message, Message)
    assert message.status == "incomplete"
    (thought,) = answered({"type": "thinking", "thinking": "Hm", "signature": ""}, stop_reason="max_tokens").output
    assert isinstance(thought, Reasoning)
    assert thought.status == "incomplete"
    assert answered(stop_reason="max_tokens").output == []


def test_a_refusal_leaves_nothing_that_counts() -> None:
    """anthropic.hard.10"""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    details = {"type": "refusal", "category": "cyber", "explanation": "I cannot."}
    message, made, refusal = answered(text("a"), call, stop_reason="refusal", stop_details=details).output
    assert isinstance(message, Message)
    assert isinstance(made, FunctionCall)
    assert isinstance(refusal, Message)
    assert (message.status, made.status) == ("incomplete", "incomplete")
    assert refusal.content == [RefusalPart(refusal="I cannot.")]
    assert answered(stop_reason="refusal", stop_details={**details, "explanation": None}).output == []


def test_an_empty_answer_is_complete() -> None:
    assert answered().output == []


def test_an_answer_repeats_what_was_asked() -> None:
    request = Request(instructions="Be brief.", metadata={"a": "b"})
    response = answered(text("a"), request=request)
    assert (response.instructions, response.metadata, response.temperature) == ("Be brief.", {"a": "b"}, None)


def test_an_error_in_the_place_of_an_answer_is_a_failed_response() -> None:
    """anthropic.response.22 and BUGS 48"""
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Busy.","details":null},"request_id":"req_1"}'
    response, lost = wire.decode_response(wire.RESPONSE.decode(body), now=7)
    assert response.error
    assert (response.status, response.error.code, response.error.message) == ("failed", "server_overloaded", "Busy.")
    assert (response.id, response.created_at, lost) == ("req_1", 7, [])


def test_an_answer_without_a_type_is_an_answer() -> None:
    """Some hosts leave it out, and the answer is paid for."""
    said = {"id": "msg_1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Hi"}]}
    document = {**said, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
    response, lost = wire.decode_response(wire.RESPONSE.decode(json.dumps(document).encode()))
    assert (response.status, lost) == ("completed", [])
    (message,) = response.output
    assert isinstance(message, Message)
    assert isinstance(message.content[0], OutputText)
    assert message.content[0].text == "Hi"
    with pytest.raises(DecodeError):
        wire.RESPONSE.decode(b'{"id": "msg_1"}')


def test_fields_that_nobody_knows_go_back_also_without_what_describes_the_document() -> None:
    """What a client keeps of an answer is content: an invented field on every block returns on the next turn."""
    more: Plain = {"new": {"a": [1, 2.50]}}
    content: list[Plain] = [
        {"type": "thinking", "thinking": "t", "signature": "s", **more},
        {"type": "text", "text": "a", **more},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}, **more},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [], **more},
        {"type": "hologram", "shape": "s", **more},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}, **more},
    ]
    body = {"id": "m", "type": "message", "role": "assistant", "model": NEW, "content": content, **more}
    body |= {"stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1, **more}}
    response, lost = wire.decode_response(wire.RESPONSE.decode(msgspec.json.encode(body)), keep=False)
    assert (lost, response.leftovers, response.usage and response.usage.leftovers) == ([], None, None)
    output = FunctionCallOutput(call_id="toolu_1", output="1")
    sent_back, lost = wire.encode_request(Request(model=NEW, input=[user("Hi"), *response.output, output]))
    assert lost == []
    assert json.loads(msgspec.json.encode(sent_back.messages[1]))["content"] == content
