"""A loss has a path, a text and a kind; only the client decides what to do about one."""

from __future__ import annotations

import pickle
import re
from typing import get_args

import msgspec
import pytest

from llm_rest import wires
from llm_rest.losses import Kind, Loss, Losses, no_such
from llm_rest.responses import REQUEST, Compaction, Message, Reasoning, Request, Response
from llm_rest.responses.carriers import seal


def test_a_loss_is_a_value() -> None:
    loss = Loss("a", "b", "withheld")
    losses = Losses()
    for kind in get_args(Kind):
        getattr(losses, kind)("a", "b")
    assert [str(loss) for loss in losses] == [f"a: b ({kind})" for kind in get_args(Kind)]
    assert {loss, Loss("a", "b", "withheld")} == {loss}
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert msgspec.json.decode(msgspec.json.encode(loss), type=Loss) == loss
    with pytest.raises(AttributeError):
        loss.path = "c"  # type: ignore[misc]


# --- the texts of losses -------------------------------------------------------------------------------------------------

CALLED = {
    "openai_chat": "Chat Completions",
    "anthropic_messages": "Anthropic",
    "gemini_generate_content": "Gemini",
    "ollama_chat": "Ollama",
}
EVERYTHING = REQUEST.decode(
    b"""{
    "model": "m",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}, {"type": "scent"}]},
        {"role": "assistant", "content": "Yo", "phase": "commentary"},
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "item_reference", "id": "msg_1"},
        {"role": "user", "content": "So?"}
    ],
    "tools": [{"type": "function", "name": "f", "defer_loading": true, "output_schema": {}}, {"type": "juggling"}],
    "prompt_cache_key": "x", "safety_identifier": "x", "user": "x", "service_tier": "x", "background": true,
    "presence_penalty": 0.5, "frequency_penalty": 0.5, "seed": 3, "top_k": 3, "max_tool_calls": 3, "store": true,
    "truncation": "auto", "include": ["web_search_call.results"], "text": {"verbosity": "low"},
    "reasoning": {"effort": "low", "summary": "detailed"}, "prompt_cache_options": {"mode": "implicit"}
    }"""
)


@pytest.mark.parametrize("wire", CALLED)
def test_a_loss_names_the_format_and_never_the_inside(wire: str) -> None:
    _, lost = wires.load(wire).encode_request(EVERYTHING)
    assert len(lost) > 5
    for loss in lost:
        assert not re.search(r"this wire|leftovers|a document of|nobody", f"{loss.path} {loss.what}"), loss
    assert any(CALLED[wire] in loss.what for loss in lost)


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ("anthropic_messages", "seed"),
        ("gemini_generate_content", "text.verbosity"),
        ("ollama_chat", "prompt_cache_key"),
    ],
)
def test_an_option_that_a_format_does_not_have_has_one_sentence(wire: str, path: str) -> None:
    _, lost = wires.load(wire).encode_request(EVERYTHING)
    (loss,) = [loss for loss in lost if loss.path == path]
    assert (loss.what, loss.kind) == (no_such("option", CALLED[wire]), "dropped")


@pytest.mark.parametrize("wire", ["gemini_generate_content", "ollama_chat"])
def test_opaque_state_that_an_answer_cannot_hold_is_dropped(wire: str) -> None:
    thought = Reasoning(summary=[], encrypted_content=seal("anthropic_messages", "anthropic", {"type": "thinking"}))
    answer = Response(id="r", status="completed", model="m", output=[thought, Compaction(encrypted_content="x")])
    _, lost = wires.load(wire).encode_response(answer)
    assert [(loss.path, loss.kind) for loss in lost] == [("output[0]", "dropped"), ("output[1]", "dropped")]
    request = Request(model="m", input=[thought, Message(role="user", content="Hi")])
    _, lost = wires.load(wire).encode_request(request)
    assert [(loss.path, loss.kind) for loss in lost] == [("input[0]", "withheld")]
