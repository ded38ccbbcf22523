"""`MCP`: a remote MCP server whose tools the vendor calls, written once for every vendor.

It becomes the `mcp` tool of the Responses format (OpenAI reference, read 2026-11-20), which the wires carry on. Before
changing this file, know that its headers are secrets which travel in the request's body, where nobody expects them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from .errors import ConfigError, printable
from .responses.tools import McpTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class MCP(Struct, frozen=True):
    """The tools of a remote MCP server, which the vendor calls.

    A bearer token among the `headers` becomes the vendor's authorization field. The vendor calls the tools without approval
    unless `require_approval` says otherwise. Raises `ConfigError` without a name or a URL.
    """

    name: str
    """The label of the server, which the vendor puts on its tools and calls."""
    url: str
    """The URL of the server, as the vendor reaches it."""
    allowed_tools: Sequence[str] | None = None
    """The names of the tools that the model may call; `None` for all."""
    headers: Mapping[str, str] = {}
    """HTTP headers that the vendor sends to the server, such as an access token. Never shown by `repr`."""
    require_approval: str = "never"
    """`never`, or `always`: each call waits for an approval item of the caller, at vendors that support it."""

    def __post_init__(self) -> None:
        if not self.name or not self.url:
            raise ConfigError(
                f"MCP({self.name!r}) needs a name and a url", hint='such as MCP("wiki", "https://host/mcp")'
            )

    def __repr__(self) -> str:
        shown = dict.fromkeys(self.headers, "[redacted]")
        return f"MCP({self.name!r}, {printable(self.url)!r}, allowed_tools={self.allowed_tools!r}, headers={shown!r})"

    def tool(self) -> McpTool:
        """The server as an `mcp` tool of the Responses format."""
        headers, token = dict(self.headers), ""
        for name, value in self.headers.items():
            scheme, _, rest = value.partition(" ")
            if name.lower() == "authorization" and scheme.lower() == "bearer":
                del headers[name]
                token = rest.strip()
        return McpTool(
            server_label=self.name,
            server_url=self.url,
            authorization=token or None,
            headers=headers or None,
            allowed_tools=None if self.allowed_tools is None else list(self.allowed_tools),
            require_approval=self.require_approval,
        )


class _Hidden(dict[str, Any]):
    """An MCP tool as plain JSON, whose repr shows no secret."""

    def __repr__(self) -> str:
        return repr({**self, **{name: "[redacted]" for name in ("authorization", "headers") if name in self}})


def hidden(tool: object) -> object:
    """The tool, so that tracebacks may show it: they are recorded with the local variables of every frame."""
    match tool:
        case {"type": "mcp"}:
            return _Hidden(cast("dict[str, Any]", tool))
        case _:
            return tool
