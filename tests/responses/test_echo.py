"""What a server repeats of a request."""

from __future__ import annotations

from llm_rest.responses import FunctionTool, McpTool, Request
from llm_rest.responses.response import echo


def test_what_the_request_set_is_repeated_and_nothing_else() -> None:
    request = Request(model="m", temperature=0, tools=[FunctionTool(name="f")], stop="x", truncation=None)
    assert echo(request) == {"temperature": 0, "tools": request.tools}
    assert echo(None) == {}


def test_secrets_of_mcp_servers_are_not_repeated() -> None:
    tool = McpTool(server_label="s", server_url="https://a.b:8/k/mcp?k=1", authorization="k", headers={"a": "k"})
    (found,) = echo(Request(tools=[tool]))["tools"]
    assert (found.server_url, found.authorization, found.headers) == (
        "https://a.b:8/<redacted>",
        "REDACTED",
        {"a": "<redacted>"},
    )
    plain = McpTool(server_label="s", server_url="https://a.b", headers=None)
    assert echo(Request(tools=[plain]))["tools"] == [plain]
