"""The hosts of the table in the documentation, as their rows describe them."""

from __future__ import annotations

from typing import Any

import msgspec

from llm_rest.responses import (
    Message,
    Request,
)
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.vendors.rows import resolve
from llm_rest.wires import openai_responses as wire


def dialect(vendor: str) -> ResponsesDialect:
    found = resolve(f"{vendor}/m", wire="openai_responses", base_url="https://a.b/v1", environ={}).dialect
    assert isinstance(found, ResponsesDialect)
    return found


def sent(vendor: str, **fields: Any) -> tuple[dict[str, Any], list[str]]:
    body, lost = wire.encode_request(Request(**fields), dialect=dialect(vendor))
    return msgspec.json.decode(msgspec.json.encode(body)), [f"{loss.path} ({loss.kind})" for loss in lost]


def test_ollama_keeps_nothing_below_another_path() -> None:
    """responses.request.33"""
    assert wire.route(Request(), dialect=dialect("ollama")).path == "/v1/responses"
    assert sent("ollama", input=[Message(id="x", role="user", content="Hi")])[0]["input"][0]["id"] == "x"


def test_a_stream_of_ours_ends_as_the_core_asks() -> None:
    """responses.response_back.13"""
    assert (wire.FRAMING, wire.END) == ("sse", b"[DONE]")
