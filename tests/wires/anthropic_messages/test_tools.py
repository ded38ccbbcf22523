"""Tools, and the choice among them, on their way to the vendor and back."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    ChooseAllowed,
    ChooseCustom,
    ChooseFunction,
    ChooseMcp,
    CodeInterpreterTool,
    CustomTool,
    CustomToolCall,
    FileSearchTool,
    FunctionCall,
    FunctionTool,
    Grammar,
    ImageGenerationTool,
    LocalShellTool,
    McpTool,
    McpToolFilter,
    NamespaceTool,
    Request,
    SearchFilters,
    ToolSearchTool,
    UserLocation,
    WebSearchPreviewTool,
    WebSearchTool,
)
from llm_rest.unknown import Unknown
from tests.wires.anthropic_messages.steps import NEW, NEWEST, OLD, Plain, answered, kinds, read, sent

F = FunctionTool(name="f")
NOTHING = {"type": "object", "properties": {}}
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def offered(*tools: Any, **options: Any) -> tuple[list[Plain], list[tuple[str, str]]]:
    body, lost = sent(tools=[*tools], **options)
    return body.get("tools", []), kinds(lost)


def test_a_function_is_a_tool() -> None:
    """anthropic.request.31"""
    tool = FunctionTool(name="f", description="d", parameters=CLOSED, strict=True, defer_loading=True)
    assert offered(tool) == (
        [{"name": "f", "description": "d", "input_schema": CLOSED, "strict": True, "defer_loading": True}],
        [],
    )
    assert offered(F, FunctionTool(name="g", parameters=None)) == (
        [{"name": "f", "input_schema": NOTHING}, {"name": "g", "input_schema": NOTHING}],
        [],
    )


def test_what_a_tool_of_this_wire_cannot_be_is_reported() -> None:
    """anthropic.request.31"""
    tool = FunctionTool(name="f", parameters={"properties": {}}, output_schema={"type": "string"}, async_=True)
    tools, lost = offered(tool)
    assert tools[0]["input_schema"] == NOTHING
    assert set(lost) == {
        ("tools[0].parameters.type", "changed"),
        ("tools[0].output_schema", "dropped"),
        ("tools[0].async", "dropped"),
    }


def test_a_tool_is_strict_only_where_its_schema_can_be_enforced() -> None:
    """anthropic.request.31, BUGS 51 and 52"""
    loose = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    tools, lost = offered(FunctionTool(name="f", parameters=loose, strict=True))
    assert (tools, lost) == ([{"name": "f", "input_schema": loose}], [("tools[0].strict", "changed")])


def test_a_name_the_vendor_does_not_take_is_made_legal_and_read_back() -> None:
    """anthropic.request.32 and BUGS 41"""
    tool = FunctionTool(name="files.read")
    (encoded,), lost = offered(tool)
    assert encoded["name"].startswith("files_read_")
    assert lost == [("tools[0].name", "emulated")]
    request = Request(tools=[tool, FunctionTool(name="x" * 70)])
    block = {"type": "tool_use", "id": "a", "name": encoded["name"], "input": {}}
    (item,) = answered(block, request=request, stop_reason="tool_use").output
    assert isinstance(item, FunctionCall)
    assert item.name == "files.read"


def test_two_tools_of_one_name_are_refused() -> None:
    """anthropic.request.32 and BUGS 41"""
    assert offered(F, F)[1] == [("tools[1]", "refused")]


@pytest.mark.parametrize(("model", "type"), [(NEW, "web_search_20260318"), (OLD, "web_search_20250305")])
def test_a_web_search_is_the_newest_the_model_has(model: str, type: str) -> None:
    """anthropic.request.33"""
    search = WebSearchTool(
        filters=SearchFilters(allowed_domains=["a.b"]), user_location=UserLocation(city="Oslo", country="NO")
    )
    tools, lost = offered(search, model=model)
    there = {"type": "approximate", "city": "Oslo", "country": "NO"}
    assert tools == [{"type": type, "name": "web_search", "allowed_domains": ["a.b"], "user_location": there}]
    assert lost == []


def test_what_a_web_search_cannot_do_is_reported() -> None:
    """anthropic.request.33"""
    assert offered(WebSearchTool(search_context_size="low"))[1] == [("tools[0].search_context_size", "dropped")]
    assert offered(WebSearchTool(external_web_access=False))[1] == [("tools[0].external_web_access", "refused")]
    assert offered(WebSearchPreviewTool(search_content_types=["text"]))[1] == [
        ("tools[0].search_content_types", "dropped")
    ]


def test_a_code_interpreter_is_the_newest_code_execution() -> None:
    """anthropic.request.34"""
    body, lost = sent(tools=[CodeInterpreterTool(container="container_1", allowed_callers=["direct"])])
    assert body["tools"] == [
        {"type": "code_execution_20260521", "name": "code_execution", "allowed_callers": ["direct"]}
    ]
    assert (body["container"], lost) == ("container_1", [])
    assert offered(CodeInterpreterTool(container={"type": "auto"}))[1] == []
    assert offered(CodeInterpreterTool(container={"type": "auto", "file_ids": ["f"]}))[1] == [
        ("tools[0].container", "dropped")
    ]


def mcp(**more: Any) -> McpTool:
    fields: dict[str, Any] = {"server_label": "wiki", "server_url": "https://w.org", "require_approval": "never"} | more
    return McpTool(**fields)


def test_an_mcp_server_has_a_toolset() -> None:
    """anthropic.request.35"""
    body, lost = sent(tools=[mcp(authorization="t", allowed_tools=["ask"], defer_loading=True)])
    assert body["mcp_servers"] == [{"type": "url", "url": "https://w.org", "name": "wiki", "authorization_token": "t"}]
    config = {"enabled": False, "defer_loading": True}
    assert body["tools"] == [
        {
            "type": "mcp_toolset",
            "mcp_server_name": "wiki",
            "default_config": config,
            "configs": {"ask": {"enabled": True}},
        }
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("tool", "lost"),
    [
        (mcp(headers={"Authorization": "Bearer t"}), []),
        (mcp(headers={"X-Team": "a"}), [("tools[0].headers", "refused")]),
        (mcp(require_approval="always"), [("tools[0].require_approval", "refused")]),
        (mcp(require_approval=None), [("tools[0].require_approval", "refused")]),
        (mcp(server_url=None, connector_id="c"), [("tools[0]", "refused")]),
        (mcp(allowed_tools=McpToolFilter(read_only=True)), [("tools[0].allowed_tools.read_only", "refused")]),
        (mcp(allowed_tools=McpToolFilter(tool_names=["a"])), []),
        (mcp(server_description="d"), [("tools[0].server_description", "dropped")]),
    ],
)
def test_what_an_mcp_server_cannot_have_is_reported(tool: McpTool, lost: list[tuple[str, str]]) -> None:
    """anthropic.request.35"""
    body, found = sent(tools=[tool])
    assert kinds(found) == lost
    if tool.headers and not lost:
        assert body["mcp_servers"][0]["authorization_token"] == "t"


@pytest.mark.parametrize(
    "tool",
    [
        FileSearchTool(vector_store_ids=["v"]),
        ImageGenerationTool(),
        LocalShellTool(),
        Unknown({"type": "shiny"}),
        Unknown({"type": "memory_20250818", "name": 7}),
    ],
)
def test_tools_of_other_vendors_are_refused(tool: Any) -> None:
    """anthropic.request.36"""
    assert offered(tool) == ([], [("tools[0]", "refused")])


def test_a_tool_of_this_vendor_can_be_written_as_it_writes_it() -> None:
    """anthropic.request.36"""
    tool = {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    assert offered(Unknown(tool)) == ([tool], [])


@pytest.mark.parametrize(
    ("choice", "encoded", "lost"),
    [
        (None, None, []),
        ("auto", {"type": "auto"}, []),
        ("none", {"type": "none"}, []),
        ("required", {"type": "any"}, []),
        (ChooseFunction(name="f"), {"type": "tool", "name": "f"}, []),
        (ChooseCustom(name="f"), {"type": "tool", "name": "f"}, [("tool_choice", "emulated")]),
        (Unknown({"type": "web_search_preview"}), {"type": "tool", "name": "web_search"}, []),
        (ChooseAllowed(tools=[{"name": "f"}], mode="required"), {"type": "any"}, [("tool_choice.tools", "changed")]),
        (ChooseAllowed(tools=[{"name": "f"}]), {"type": "auto"}, [("tool_choice.tools", "changed")]),
        (ChooseMcp(server_label="w"), {"type": "auto"}, [("tool_choice", "changed")]),
        ("sometimes", {"type": "auto"}, [("tool_choice", "changed")]),
    ],
)
def test_tool_choices(choice: Any, encoded: Any, lost: list[tuple[str, str]]) -> None:
    """anthropic.request.37, anthropic.request.38 and BUGS 90"""
    body, found = sent(tools=[F], tool_choice=choice)
    assert (body.get("tool_choice"), kinds(found)) == (encoded, lost)


def test_some_models_cannot_be_made_to_call_a_tool() -> None:
    """anthropic.request.38"""
    body, lost = sent(model=NEWEST, tools=[F], tool_choice="required")
    assert (body["tool_choice"], kinds(lost)) == ({"type": "auto"}, [("tool_choice", "changed")])


def test_a_choice_among_no_tools_is_not_sent() -> None:
    assert "tool_choice" not in sent(tool_choice="auto")[0]
    assert sent(tool_choice="auto")[1] == []
    assert kinds(sent(tool_choice="none")[1]) == [("tool_choice", "dropped")]
    assert kinds(sent(tool_choice="required")[1]) == [("tool_choice", "refused")]


def test_calls_one_at_a_time() -> None:
    """anthropic.request.39"""
    assert sent(tools=[F], parallel_tool_calls=False)[0]["tool_choice"] == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }
    assert sent(tools=[F], parallel_tool_calls=True)[0].get("tool_choice") is None
    assert kinds(sent(tools=[F], parallel_tool_calls=False, tool_choice="none")[1]) == [
        ("parallel_tool_calls", "dropped")
    ]
    assert kinds(sent(parallel_tool_calls=False)[1]) == [("parallel_tool_calls", "dropped")]


def test_a_limit_of_tool_calls_limits_searches() -> None:
    """anthropic.request.40"""
    body, lost = sent(tools=[WebSearchTool()], max_tool_calls=3)
    assert (body["tools"][0]["max_uses"], kinds(lost)) == (3, [("max_tool_calls", "changed")])
    assert kinds(sent(tools=[F], max_tool_calls=3)[1]) == [("max_tool_calls", "dropped")]


def test_a_custom_tool_is_a_function_with_one_text() -> None:
    """anthropic.request.54"""
    tool = CustomTool(name="sql", format=Grammar(definition="x", syntax="lark"))
    (encoded,), lost = offered(tool)
    assert encoded["input_schema"]["required"] == ["input"]
    assert lost == [("tools[0]", "emulated"), ("tools[0].format", "changed")]
    block = {"type": "tool_use", "id": "a", "name": "sql", "input": {"input": "select 1"}}
    (item,) = answered(block, request=Request(tools=[tool]), stop_reason="tool_use").output
    assert isinstance(item, CustomToolCall)
    assert (item.call_id, item.name, item.input) == ("a", "sql", "select 1")
    (item,) = answered({**block, "input": {"x": 1}}, request=Request(tools=[tool]), stop_reason="tool_use").output
    assert isinstance(item, CustomToolCall)
    assert item.input == '{"x":1}'


def test_the_tools_of_a_namespace_go_under_both_names() -> None:
    """anthropic.request.54"""
    tool = NamespaceTool(name="files", tools=[F, CustomTool(name="grep"), Unknown({"type": "shiny"})])
    tools, lost = offered(tool)
    assert [encoded["name"] for encoded in tools] == ["files__f", "files__grep"]
    assert lost == [("tools[0]", "emulated"), ("tools[0].tools[1]", "emulated"), ("tools[0].tools[2]", "refused")]
    block = {"type": "tool_use", "id": "a", "name": "files__f", "input": {}}
    (item,) = answered(block, request=Request(tools=[tool]), stop_reason="tool_use").output
    assert isinstance(item, FunctionCall)
    assert (item.namespace, item.name) == ("files", "f")


def test_a_search_over_tools_is_run_by_the_vendor() -> None:
    """anthropic.request.55"""
    assert offered(ToolSearchTool()) == (
        [{"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}],
        [],
    )
    assert offered(ToolSearchTool(execution="client"))[1] == [("tools[0]", "refused")]
    assert offered(ToolSearchTool(description="d"))[1] == [("tools[0].description", "dropped")]


# --- back -----------------------------------------------------------------------------------------------------------


def back(*tools: Plain, **fields: Any) -> Request:
    return read(tools=[*tools], **fields)


def test_the_tools_of_a_document_come_back_with_all_their_fields() -> None:
    """anthropic.request_back.13"""
    request = back(
        {
            "name": "f",
            "input_schema": NOTHING,
            "type": "custom",
            "cache_control": {"type": "ephemeral"},
            "strict": False,
        },
        {"name": "g", "input_schema": CLOSED, "strict": True, "input_examples": [{"a": "x"}], "new_field": 1},
        {"type": "memory_20250818", "name": "memory"},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3, "allowed_domains": None},
        {"type": "web_fetch_20260318", "name": "web_fetch"},
        {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
        {"type": "code_execution_20250825", "name": "code_execution", "allowed_callers": ["code_execution_20260120"]},
        container="container_1",
        tool_choice={"type": "tool", "name": "web_search", "disable_parallel_tool_use": False},
    )
    kinds = [type(tool).__name__ for tool in request.tools or ()]
    assert kinds == ["FunctionTool", "FunctionTool", "WebSearchTool", "ToolSearchTool", "CodeInterpreterTool"]
    assert request.tool_choice == Unknown({"type": "web_search_preview"})


def test_mcp_servers_of_a_document_come_back_with_their_toolsets() -> None:
    server = {"type": "url", "url": "https://w.org", "name": "wiki", "authorization_token": "t", "new": 1}
    toolset = {"type": "mcp_toolset", "mcp_server_name": "wiki", "configs": {"a": {"defer_loading": True}}}
    request = back(toolset, mcp_servers=[server])
    assert isinstance(request.tools, list)
    (tool,) = request.tools
    assert isinstance(tool, McpTool)
    assert (tool.server_label, tool.authorization, tool.require_approval) == ("wiki", "t", "never")
    allowed = {**toolset, "default_config": {"enabled": False}, "configs": {"ask": {"enabled": True}}}
    request = back(allowed, mcp_servers=[server])
    assert isinstance(request.tools, list)
    assert isinstance(request.tools[0], McpTool)
    assert request.tools[0].allowed_tools == ["ask"]


def test_mcp_servers_without_toolsets_stay_without() -> None:
    server = {"type": "url", "url": "https://w.org", "name": "wiki"}
    chosen = {"enabled": True, "allowed_tools": ["ask"]}
    read(mcp_servers=[server])
    request = read(mcp_servers=[{**server, "tool_configuration": chosen}])
    assert isinstance(request.tools, list)
    assert isinstance(request.tools[0], McpTool)
    assert request.tools[0].allowed_tools == ["ask"]


@pytest.mark.parametrize(
    ("choice", "ours", "parallel"),
    [
        ({"type": "auto"}, "auto", None),
        ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
        ({"type": "none"}, "none", None),
        ({"type": "tool", "name": "f"}, ChooseFunction(name="f"), None),
        ({"type": "later", "x": 1}, None, None),
    ],
)
def test_tool_choices_of_a_document(choice: Plain, ours: Any, parallel: Any) -> None:
    request = back({"name": "f", "input_schema": NOTHING}, tool_choice=choice)
    assert (request.tool_choice, request.parallel_tool_calls) == (ours, parallel)


def test_a_tool_that_was_changed_since_says_what_it_says_now() -> None:
    request = back({"name": "f", "input_schema": CLOSED, "strict": False})
    assert isinstance(request.tools, list)
    assert isinstance(request.tools[0], FunctionTool)
    request.tools[0].strict = True
    body, _ = sent(tools=request.tools, leftovers=request.leftovers)
    assert body["tools"][0]["strict"] is True
