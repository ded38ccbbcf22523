"""What is said in a request: contents, media, calls and their outputs, on their way to the vendor."""

from __future__ import annotations

import pytest

from llm_rest.responses import (
    Request,
)
from llm_rest.vendors.dialects import VERTEX
from llm_rest.wires import gemini_generate_content as wire
from tests.wires.gemini_generate_content import (
    sent,
)

# --- where it goes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "there", "on_vertex"),
    [
        ("gemini-3-flash", "/v1beta/models/gemini-3-flash", "/publishers/google/models/gemini-3-flash"),
        ("models/gemini-3-flash", "/v1beta/models/gemini-3-flash", "/publishers/google/models/gemini-3-flash"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine", "/tunedModels/mine"),
        ("publishers/meta/models/x", "/v1beta/publishers/meta/models/x", "/publishers/meta/models/x"),
        ("../a b?", "/v1beta/%2E%2E/a%20b%3F", "/%2E%2E/a%20b%3F"),
    ],
)
def test_the_model_stands_in_the_url(name: str, there: str, on_vertex: str) -> None:
    """gemini.request.1"""
    request = Request(model=name, input="Hi")
    assert wire.route(request).path == f"{there}:generateContent"
    assert wire.route(request, dialect=VERTEX).path == f"{on_vertex}:generateContent"
    assert "model" not in sent(request)[0]


def test_streaming_is_asked_for_in_the_url() -> None:
    """gemini.request.2"""
    there = wire.route(Request(model="m", input="Hi", stream=True), stream=True)
    assert (there.path, there.query) == ("/v1beta/models/m:streamGenerateContent", {"alt": "sse"})
    assert sent(Request(model="m", input="Hi", stream=True)) == sent(Request(model="m", input="Hi"))
