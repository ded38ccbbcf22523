"""Tools and the choice among them, on their way to the vendor."""

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
    FileSearchTool,
    FunctionTool,
    Grammar,
    ImageGenerationTool,
    LocalShellTool,
    McpTool,
    NamespaceTool,
    SearchFilters,
    WebSearchPreviewTool,
    WebSearchTool,
)
from llm_rest.unknown import Unknown
from llm_rest.vendors.dialects import VERTEX
from tests.wires.gemini_generate_content import BUDGETED, SCHEMA, THREE, option

F = FunctionTool(name="f", description="d", parameters=SCHEMA)


def offered(*tools: Any, **options: Any) -> tuple[list[Any], list[str]]:
    """The tools of the body."""
    body, lost = option(options.pop("model", THREE), tools=list(tools), **options)
    return body.get("tools", []), lost


def chosen(choice: Any, *tools: Any) -> tuple[Any, list[str]]:
    """How the model is told to choose."""
    body, lost = option(THREE, tools=list(tools or (F,)), tool_choice=choice)
    return body.get("toolConfig", {}).get("functionCallingConfig"), lost


# --- functions ------------------------------------------------------------------------------------------------------


def test_functions_are_one_list_with_their_json_schemas() -> None:
    """gemini.request.70"""
    assert offered(F, FunctionTool(name="g", parameters={})) == (
        [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": SCHEMA}, {"name": "g"}]}],
        [],
    )


def test_what_a_function_gives_is_described_and_how_it_runs_is_not() -> None:
    """gemini.request.71"""
    tool = FunctionTool(name="f", output_schema=SCHEMA, async_=True, defer_loading=True, allowed_callers=["direct"])
    assert offered(tool) == (
        [{"functionDeclarations": [{"name": "f", "responseJsonSchema": SCHEMA}]}],
        ["tools[0].defer_loading (dropped)", "tools[0].allowed_callers (dropped)", "tools[0].async (dropped)"],
    )


def test_a_function_held_to_its_schema_holds_all_of_them() -> None:
    """gemini.request.72"""
    body, lost = option(THREE, tools=[FunctionTool(name="f", strict=True), FunctionTool(name="g", strict=False)])
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
    assert lost == ["tools[1].strict (changed)"]


def test_a_name_the_vendor_does_not_take_becomes_one_it_takes() -> None:
    """gemini.request.73, gemini.hard.14, BUGS 34"""
    long, other = "look up " * 20, "look up " * 20 + "!"
    tools, lost = offered(FunctionTool(name=long), FunctionTool(name=other), FunctionTool(name="a.b:c-d"))
    names = [tool["name"] for tool in tools[0]["functionDeclarations"]]
    assert names[2] == "a.b:c-d"
    assert len(set(names)) == 3
    assert all(len(name) <= 64 and name.startswith("look_up_look_up_") for name in names[:2])
    assert lost == ["tools[0].name (emulated)", "tools[1].name (emulated)"]


def test_two_functions_of_one_name_are_refused() -> None:
    """gemini.request.74, BUGS 41"""
    assert offered(FunctionTool(name="f"), FunctionTool(name="f"))[1] == ["tools[1].name (refused)"]


def test_custom_tools_and_namespaces_are_offered_as_functions() -> None:
    """gemini.request.75, BUGS 90"""
    inner = NamespaceTool(name="crm", description="d", tools=[FunctionTool(name="find"), CustomTool(name="sql")])
    tools, lost = offered(CustomTool(name="sh", format=Grammar(syntax="lark", definition="x")), inner)
    sh, find, sql = tools[0]["functionDeclarations"]
    assert (sh["name"], find["name"], sql["name"]) == ("sh", "crm__find", "crm__sql")
    assert sh["parametersJsonSchema"]["required"] == sql["parametersJsonSchema"]["required"] == ["input"]
    assert lost == [
        "tools[0] (emulated)",
        "tools[0].format (changed)",
        "tools[1] (emulated)",
        "tools[1].tools[1] (emulated)",
    ]


def test_a_namespace_may_hold_what_nobody_knows() -> None:
    """gemini.request.82"""
    tool = NamespaceTool(name="crm", description="d", tools=[Unknown({"type": "telescope"})])
    assert offered(tool) == ([], ["tools[0] (emulated)", "tools[0].tools[0] (refused)"])


# --- the vendor's own -----------------------------------------------------------------------------------------------


def test_a_web_search_is_googles() -> None:
    """gemini.request.76"""
    filters = SearchFilters(allowed_domains=["a.test"], blocked_domains=["b.test"])
    tool = WebSearchTool(filters=filters, search_context_size="low")
    assert offered(tool) == (
        [{"googleSearch": {}}],
        [
            "tools[0].filters.allowed_domains (dropped)",
            "tools[0].filters.blocked_domains (dropped)",
            "tools[0].search_context_size (dropped)",
        ],
    )
    assert offered(tool, dialect=VERTEX)[0] == [{"googleSearch": {"excludeDomains": ["b.test"]}}]
    assert offered(WebSearchPreviewTool())[1] == ["tools[0].type (changed)"]
    assert offered(WebSearchTool(external_web_access=False))[1] == ["tools[0].external_web_access (refused)"]


def test_code_runs_where_the_vendor_wants() -> None:
    """gemini.request.77"""
    assert offered(CodeInterpreterTool(container={"type": "auto"})) == ([{"codeExecution": {}}], [])
    assert offered(CodeInterpreterTool(container="cntr_1"))[1] == ["tools[0].container (dropped)"]


def test_file_search_works_on_the_vendors_stores() -> None:
    """gemini.request.78"""
    store = ["fileSearchStores/a"]
    tool = FileSearchTool(vector_store_ids=store, max_num_results=3)
    assert offered(tool) == ([{"fileSearch": {"fileSearchStoreNames": store, "topK": 3}}], [])
    assert offered(tool, dialect=VERTEX) == ([], ["tools[0] (refused)"])
    assert offered(FileSearchTool(vector_store_ids=["vs_1"])) == ([], ["tools[0] (refused)"])


def test_an_mcp_server_is_called_by_the_vendor_without_asking() -> None:
    """gemini.request.79"""
    tool: Any = {"server_label": "s", "server_url": "https://m.test"}
    kept = McpTool(**tool, require_approval="never", authorization="tok", headers={"X-A": "1"})
    headers = {"X-A": "1", "Authorization": "Bearer tok"}
    server = {"name": "s", "streamableHttpTransport": {"url": "https://m.test", "headers": headers}}
    assert offered(kept) == ([{"mcpServers": [server]}], [])
    assert offered(kept, dialect=VERTEX) == ([], ["tools[0] (refused)"])
    assert offered(McpTool(**tool, allowed_tools=["a"]))[1] == [
        "tools[0].require_approval (refused)",
        "tools[0].allowed_tools (refused)",
    ]


def test_images_are_drawn_by_the_models_that_draw() -> None:
    """gemini.request.80"""
    for name in ("gemini-2.5-flash-image", "gemini-3.1-flash-lite-image", "gemini-9-pro-image-preview"):
        assert option(name, tools=[ImageGenerationTool()])[1] == []
    body, lost = option("gemini-3-pro-image", tools=[ImageGenerationTool(size="1x1")])
    assert body == {"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}
    assert lost == ["tools[0].size (dropped)"]
    assert option(THREE, tools=[ImageGenerationTool()]) == ({}, ["tools[0] (refused)"])


def test_other_tools_of_the_vendor_are_asked_for_by_their_names() -> None:
    """gemini.request.81"""
    url, maps = Unknown({"type": "google:url_context"}), Unknown({"type": "google:google_maps", "enableWidget": True})
    assert offered(url, maps) == ([{"urlContext": {}}, {"googleMaps": {"enableWidget": True}}], [])
    nonsense = Unknown({"type": "google:google_search", "excludeDomains": 1})
    assert offered(nonsense) == ([], ["tools[0] (refused)"])


def test_tools_nobody_here_has_are_refused() -> None:
    """gemini.request.82"""
    assert offered(LocalShellTool(), Unknown({"type": "telescope"})) == (
        [],
        ["tools[0] (refused)", "tools[1] (refused)"],
    )


def test_the_vendors_tools_beside_functions_show_their_steps() -> None:
    """gemini.request.83"""
    body, lost = option(THREE, tools=[F, WebSearchTool()])
    assert (body["toolConfig"], lost) == ({"includeServerSideToolInvocations": True}, [])
    assert "toolConfig" not in option(THREE, tools=[F, WebSearchTool()], dialect=VERTEX)[0]
    assert option(BUDGETED, tools=[F, WebSearchTool()])[1] == ["tools (refused)"]


# --- the choice -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("choice", "mode"), [("auto", "AUTO"), ("required", "ANY"), ("none", "NONE")])
def test_words_of_the_choice(choice: str, mode: str) -> None:
    """gemini.request.84"""
    assert chosen(choice) == ({"mode": mode}, [])


@pytest.mark.parametrize(
    ("choice", "config", "lost"),
    [
        (ChooseFunction(name="f"), {"mode": "ANY", "allowedFunctionNames": ["f"]}, []),
        (ChooseCustom(name="sh"), {"mode": "ANY", "allowedFunctionNames": ["sh"]}, ["tool_choice (emulated)"]),
        (
            ChooseAllowed(mode="auto", tools=[{"type": "function", "name": "f"}]),
            {"mode": "VALIDATED", "allowedFunctionNames": ["f"]},
            [],
        ),
        (
            ChooseAllowed(
                mode="required",
                tools=[
                    {"type": "function", "name": "f"},
                    {"type": "function", "name": "g"},
                    {"type": "web_search"},
                ],
            ),
            {"mode": "ANY", "allowedFunctionNames": ["f", "g"]},
            ["tool_choice.tools[2] (dropped)"],
        ),
        (
            ChooseAllowed(mode="required", tools=[{"type": "function", "name": "f"}]),
            {"mode": "ANY", "allowedFunctionNames": ["f"]},
            ["tool_choice (changed)"],
        ),
    ],
)
def test_functions_are_chosen_by_name(choice: Any, config: Any, lost: list[str]) -> None:
    """gemini.request.85"""
    assert chosen(choice) == (config, lost)


def test_other_choices_are_the_models() -> None:
    """gemini.request.86"""
    assert chosen(ChooseMcp(server_label="s")) == (None, ["tool_choice (dropped)"])
    assert chosen("required", WebSearchTool()) == (None, ["tool_choice (dropped)"])
    allowed = ChooseAllowed(mode="auto", tools=[{"type": "web_search"}])
    assert chosen(allowed)[1] == ["tool_choice.tools[0] (dropped)", "tool_choice.tools (refused)"]


def test_nothing_keeps_a_model_from_calling_twice() -> None:
    """gemini.request.87"""
    assert option(THREE, tools=[F], parallel_tool_calls=False)[1] == ["parallel_tool_calls (dropped)"]
