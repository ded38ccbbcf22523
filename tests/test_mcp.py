"""`MCP`: one MCP server, written once for every vendor."""

from __future__ import annotations

import msgspec
import pytest

from llm_rest.client.content import MCP
from llm_rest.errors import ConfigError
from llm_rest.responses.request import REQUEST, Request


def test_a_server_is_a_tool_of_the_responses_format() -> None:
    named = {"type": "mcp", "server_label": "wiki", "server_url": "https://host.example/mcp"}
    made = MCP("wiki", "https://host.example/mcp").tool()
    assert msgspec.to_builtins(made) == {**named, "require_approval": "never"}


@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
def test_a_bearer_token_becomes_the_authorization_and_the_other_headers_stay(name: str) -> None:
    made = MCP("wiki", "https://h/mcp", headers={name: "Bearer t0ken", "X-Team": "blue"}).tool()
    assert (made.authorization, made.headers) == ("t0ken", {"X-Team": "blue"})
    basic = MCP("wiki", "https://h/mcp", ["read"], headers={name: "Basic dTpw"}, require_approval="always").tool()
    assert (basic.authorization, basic.headers) == (None, {name: "Basic dTpw"})
    assert (basic.allowed_tools, basic.require_approval) == (["read"], "always")


def test_the_repr_hides_the_secrets() -> None:
    """BUGS 84"""
    server = MCP(
        "wiki", "https://h/mcp?key=abcdefgh12345678", headers={"Authorization": "Bearer t0ken", "X-Key": "hush"}
    )
    assert repr(server) == (
        "MCP('wiki', 'https://h/mcp?key=[redacted]', allowed_tools=None, "
        "headers={'Authorization': '[redacted]', 'X-Key': '[redacted]'})"
    )


@pytest.mark.parametrize(("name", "url"), [("", "https://h/mcp"), ("wiki", "")])
def test_a_server_has_a_name_and_a_url(name: str, url: str) -> None:
    with pytest.raises(ConfigError, match="needs a name and a url"):
        MCP(name, url)


def test_the_tool_it_becomes_hides_them_too_and_still_sends_them() -> None:
    """BUGS 84"""
    made = MCP("wiki", "https://h/mcp", headers={"Authorization": "Bearer t0ken", "X-Key": "hush"}).tool()
    request = Request(input="hi", tools=[made])
    assert "t0ken" not in repr(request)
    assert "hush" not in repr(request)
    assert "McpTool(server_label='wiki'" in repr(request)
    assert b'"authorization":"t0ken","headers":{"X-Key":"hush"}' in msgspec.json.encode(request)


def test_an_unknown_field_does_not_show_the_secrets() -> None:
    tool = {"type": "mcp", "server_label": "wiki", "authorization": "t0ken", "new": 1}
    request = REQUEST.decode(msgspec.json.encode({"input": "hi", "tools": [tool]}))
    assert "t0ken" not in repr(request)
    assert "'new': 1" in repr(request)
