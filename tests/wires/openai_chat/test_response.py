"""Answers of the Chat wire: what the rows of the mapping tables do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import InputText, Message, Request
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.wires import openai_chat as wire
from tests.corpus import Answer, Exchange
from tests.corpus.test_changed import changes, walked
from tests.support.facts import plain
from tests.support.streams import assembled
from tests.wires.openai_chat import CALL, Plain, answered, said


@pytest.mark.parametrize("before", [b"\n\n", b": keep-alive\n\n: OPENROUTER PROCESSING\n\n", b"\xef\xbb\xbf"])
def test_keep_alives_before_the_document_are_skipped(before: bytes) -> None:
    """chat.reader.7"""
    document = said(content="a: b\n: c")
    assert plain(wire.RESPONSE.decode(before + json.dumps(document).encode())) == document


def test_the_head_of_a_document_may_be_missing() -> None:
    """chat.reader.18"""
    response = answered({"choices": [{"message": {"content": "a"}}]})
    assert (response.id[:5], response.status) == ("resp_", "completed")


@pytest.mark.parametrize("document", [b"{}", b'{"error":{"message":"no"}}', b'{"choices":null}', b"<html>", b"", b"[]"])
def test_a_document_without_choices_is_no_answer(document: bytes) -> None:
    """BUGS 48"""
    with pytest.raises(DecodeError):
        wire.RESPONSE.decode(document)


def test_an_error_beside_choices_is_an_error() -> None:
    """chat.reader.17"""
    with pytest.raises(DecodeError, match=r"\$\.error"):
        wire.RESPONSE.decode(json.dumps({**said(content=""), "error": {"code": 502, "message": "no"}}))
    assert answered({**said(content="a"), "error": None}).status == "completed"


# --- documents with one thing changed -------------------------------------------------------------------------------

STATE: Plain = {"google": {"thought_signature": "s"}}
CITED: Plain = {"url": "https://a", "title": "A", "start_index": 0, "end_index": 1}
THOUGHT: Plain = {"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "signature": "s", "closed": True}
DETAILS: list[Plain] = [
    {"type": "reasoning.text", "text": "a", "signature": "s", "index": 0},
    {"type": "reasoning.encrypted", "data": "d", "index": 1},
]
JUDGED = {"type": "moderation_result", "model": "o", "flagged": False}
ANSWERS: list[tuple[str, Plain]] = [
    ("openai", said(content="a", refusal=None, annotations=[{"type": "url_citation", "url_citation": CITED}])),
    ("openai", said(content="a", annotations=[{"type": "file", "file": {"a": 1}}, {"type": "file_citation", "a": 1}])),
    ("openai", said(finish_reason="tool_calls", content=None, tool_calls=[CALL, {**CALL, "id": "c2"}])),
    ("openai", said(content=None, tool_calls=[{"id": "c1", "type": "custom", "custom": {"name": "c", "input": "a"}}])),
    ("openai", said(content=None, refusal="no", audio={"id": "a", "transcript": "b"})),
    (
        "openai",
        said(content="a")
        | {"moderation": {"input": {"type": "moderation_results", "model": "o", "results": [JUDGED]}}},
    ),
    (
        "deepseek",
        {
            **said(content="a", reasoning_content="b"),
            "usage": {
                "prompt_tokens": 1,
                "completion_tokens": 2,
                "total_tokens": 3,
                "prompt_cache_hit_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 1},
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
        },
    ),
    (
        "google",
        said(content="a", extra_content=STATE, thought_signature="s", tool_calls=[{**CALL, "extra_content": STATE}]),
    ),
    ("mistral", said(content=[THOUGHT, {"type": "text", "text": "b"}, {"type": "reference", "reference_ids": [1]}])),
    ("openrouter", {**said(content="a", reasoning="a", reasoning_details=DETAILS), "provider": "p"}),
    ("perplexity", said(content="a") | {"citations": ["https://a"], "search_results": [CITED]}),
    ("together", said(content="<think>a</think>\n\nb", tool_calls=[])),
    ("ollama", said(content="", reasoning="a", tool_calls=[{"id": "", "name": "f", "arguments": {"a": 1.50}}])),
]


@pytest.mark.parametrize(("host", "document"), ANSWERS)
def test_a_change_of_an_answer_is_not_lost_silently(host: str, document: Plain) -> None:
    """chat.response.17 and BUGS 87"""
    exchange = Exchange(host, host, "openai_chat", False, Answer(200, {}))
    found = [walked(exchange, "response", each) for each in (document, *(each for _, _, each in changes(document)))]
    assert [problem for problems in found for problem in problems] == []


def test_a_forged_note_takes_away_nothing_that_is_required() -> None:
    """chat.request.51"""
    forgeries: list[Any] = [5, None, {"absent": True}, {}, [], "other"]
    for forged in forgeries:
        left = {"openai_chat": {"spelling": {"instead": {"text": [forged, "a"], "content": forged, "no": [1, 2]}}}}
        request = Request(input=[Message(role="user", content=[InputText(text="a", leftovers=left)], leftovers=left)])
        body, _ = wire.encode_request(request, dialect=CHAT_HOSTS["perplexity"])
        assert plain(body)["messages"] == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]


def test_unknown_fields_of_chunks_are_in_the_answer_and_in_its_chunks() -> None:
    """chat.stream.14 and chat.stream_back.8"""
    call = {"index": 0, **CALL, "new_call": 1, "function": {**CALL["function"], "new_function": 2}}
    logprobs = {"content": [], "refusal": [{"token": "no", "logprob": -1}], "new_logprobs": 3}
    thoughts = [{"type": "thinking", "thinking": text, "new_part": 4} for text in ("a", "b")]
    deltas: list[Plain] = [{"content": thoughts[:1]}, {"content": thoughts[1:]}, {"tool_calls": [call], "new_delta": 5}]
    choices: list[Plain] = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls", "logprobs": logprobs, "new_choice": 6})
    about = {"id": "c", "created": 1, "model": "m", "new_chunk": 7}
    decoder, encoder = wire.decode_stream(), wire.encode_stream()
    chunks = [wire.EVENT.decode(json.dumps({**about, "choices": [choice]})) for choice in choices]
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
    content = [{**thoughts[0], "thinking": "ab"}]
    whole = said(finish_reason="tool_calls", content=content, tool_calls=[call], new_delta=5)
    whole["choices"][0].update(logprobs=logprobs, new_choice=6)
    assert plain(wire.encode_response(assembled(events))[0]) == {**whole, **about}
    told = json.dumps([plain(chunk) for event in events for chunk in encoder.feed(event)])
    kinds = ("call", "function", "logprobs", "part", "delta", "choice", "chunk")
    assert [kind for kind in kinds if f'"new_{kind}"' not in told] == []
