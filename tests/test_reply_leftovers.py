"""`reply.info.leftovers`: the fields of an answer that its reply does not show, of whole and streamed answers.

The law behind it, over all recorded answers, is `tests/laws/answers.py`.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from pytest_httpx import HTTPXMock

from llm_rest import AnswerCache, Client, Reply
from llm_rest.errors import LLMError, LossError
from tests.callers import NewClient
from tests.loopback import END, STREAM, chunks, http, loopback, send

pytestmark = pytest.mark.anyio

CHAT: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "system_fingerprint": "fp_1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hello", "mood": {"name": "calm"}},
            "rating": 0,
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "joules": 4.5},
}
LEFT = {
    "system_fingerprint": "fp_1",
    "choices": [{"message": {"mood": {"name": "calm"}}, "rating": 0}],
    "usage": {"joules": 4.5},
}
URL = "https://api.groq.com/openai/v1/chat/completions"


def chunk(delta: Any = None, **fields: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": fields.pop("finish", None)}]
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return b"data: " + json.dumps({**head, **fields}).encode() + b"\n\n"


def streamed(*between: bytes) -> list[bytes]:
    return [
        chunk({"role": "assistant", "content": ""}, region="eu"),
        chunk({"content": "Hel", "mood": "calm"}),
        *between,
        chunk({"content": "lo"}, load=1),
        chunk({}, finish="stop", load=2),
        b"data: [DONE]\n\n",
    ]


STREAMED_LEFT = {"region": "eu", "choices": [{"delta": {"mood": "calm"}}], "load": 2}


async def read(stream: Any) -> Reply:
    async with stream:
        async for _ in stream:
            pass
        found: Reply = stream.response
    return found


async def test_leftovers_have_what_the_reply_shows_nowhere(new_client: NewClient) -> None:
    with loopback(send(http(json.dumps(CHAT).encode()))) as server:
        async with new_client("groq/llama-3.3-70b-versatile", base_url=server.url) as llm:
            reply = await llm.generate("Hi")
    assert reply.info.leftovers == LEFT
    json.dumps(reply.info.leftovers)
    assert "leftovers" not in json.dumps(reply.to_dict()["output"][0]["content"])


async def test_leftovers_of_a_stream_have_the_last_value_of_each_field(new_client: NewClient) -> None:
    with loopback(send(STREAM + chunks(*streamed()) + END)) as server:
        async with new_client("groq/llama-3.3-70b-versatile", base_url=server.url) as llm:
            reply = await read(llm.stream("Hi"))
    assert reply.output_text == "Hello"
    assert reply.info.leftovers == STREAMED_LEFT


async def test_a_field_in_the_middle_of_a_long_stream_is_kept_and_the_memory_for_it_is_bounded(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    words = [chunk({"content": f"word {i} "}) for i in range(2_000)]
    words[900] = chunk({"content": "strange ", "stray": "yes"})
    words[1_000] = chunk({"content": "long ", "blob": "x" * 100_000, "beside": 1})
    httpx_mock.add_response(content=b"".join(streamed(*words)), headers={"content-type": "text/event-stream"})
    async with new_client("groq/llama-3.3-70b-versatile") as llm:
        reply = await read(llm.stream("Hi"))
    assert reply.info.source is not None
    assert sum(map(len, reply.info.source.frames)) <= 64 * 1024
    expected = {"delta": {"mood": "calm", "stray": "yes", "beside": 1}}
    assert reply.info.leftovers == {**STREAMED_LEFT, "choices": [expected]}


async def test_events_with_a_type_keep_their_leftovers_by_type(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 0, "inference_geo": "eu"},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "mood": "calm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "stop_sequence", "stop_sequence": "END"},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    body = b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)
    httpx_mock.add_response(content=body, headers={"content-type": "text/event-stream"})
    async with new_client("anthropic/claude-sonnet-4-5") as llm:
        left = (await read(llm.stream("Hi"))).info.leftovers
    assert left["message_start"] == {"message": {"usage": {"inference_geo": "eu"}}}
    assert left["content_block_start"] == {"content_block": {"mood": "calm"}}
    assert left["message_delta"]["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "END"}


async def test_signatures_count_as_not_shown(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCgIYAhIk"}
    httpx_mock.add_response(
        json={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [thought, {"type": "text", "text": "Hi"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    async with new_client("anthropic/claude-sonnet-4-5") as llm:
        left = (await llm.generate("Hi")).info.leftovers
    assert left["content"][0]["signature"] == "EqQBCgIYAhIk"
    assert "thinking" not in left["content"][0]
    assert len(left["content"]) == 1


async def test_copies_and_pickles_of_a_reply_have_its_leftovers(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=CHAT)
    httpx_mock.add_response(content=b"".join(streamed()), headers={"content-type": "text/event-stream"})
    async with new_client("groq/llama-3.3-70b-versatile") as llm:
        whole, stream = await llm.generate("Hi"), await read(llm.stream("Hi"))
    for reply, left in ((whole, LEFT), (stream, STREAMED_LEFT)):
        for same in (copy.copy(reply), copy.deepcopy(reply), pickle.loads(pickle.dumps(reply))):
            assert same.info.leftovers == left


async def test_an_answer_from_the_cache_has_its_leftovers(
    new_client: NewClient, httpx_mock: HTTPXMock, tmp_path: Path
) -> None:
    httpx_mock.add_response(json=CHAT)
    httpx_mock.add_response(content=b"".join(streamed()), headers={"content-type": "text/event-stream"})
    with AnswerCache(tmp_path / "cache") as cache:
        async with new_client("groq/llama-3.3-70b-versatile", cache=cache) as llm:
            await llm.generate("Hi")
            await read(llm.stream("Hi"))
            whole, stream = await llm.generate("Hi"), await read(llm.stream("Hi"))
    assert whole.info.cached
    assert stream.info.cached
    assert (whole.info.leftovers, stream.info.leftovers) == (LEFT, STREAMED_LEFT)


async def test_typed_output_has_the_leftovers_of_its_answer(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    message = {"role": "assistant", "content": '{"city": "Paris"}', "mood": "calm"}
    httpx_mock.add_response(json={**CHAT, "choices": [{"index": 0, "finish_reason": "stop", "message": message}]})
    async with new_client("groq/llama-3.3-70b-versatile") as llm:
        reply = await llm.generate("Hi", output=dict[str, str])
    assert reply.parsed == {"city": "Paris"}
    assert reply.info.leftovers["choices"] == [{"message": {"mood": "calm"}}]


async def test_a_document_instead_of_a_stream_has_its_leftovers(new_client: NewClient, httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(json=CHAT)
    async with new_client("groq/llama-3.3-70b-versatile") as llm:
        reply = await read(llm.stream("Hi"))
    assert reply.info.leftovers == LEFT


async def test_the_partial_reply_of_a_failed_stream_has_its_leftovers_without_secrets(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    key = "sk-live-0123456789abcdef"
    failed = b"".join([*streamed()[:2], chunk(note=f"key {key}"), b'data: {"error": {"message": "overloaded"}}\n\n'])
    httpx_mock.add_response(content=failed, headers={"content-type": "text/event-stream"})
    async with new_client("groq/llama-3.3-70b-versatile", api_key=key) as llm:
        with pytest.raises(LLMError) as failure:
            await read(llm.stream("Hi"))
    partial = failure.value.partial
    assert isinstance(partial, Reply)
    left = partial.info.leftovers
    assert (left["region"], left["note"]) == ("eu", "key [redacted]")


@pytest.mark.parametrize("number", ["1e400", "9" * 5_000, "-0.0", "12345678901234567890123"])
async def test_leftovers_are_plain_data_whatever_number_an_answer_has(
    new_client: NewClient, httpx_mock: HTTPXMock, number: str
) -> None:
    body = json.dumps({**CHAT, "odd": 0}).replace('"odd": 0', f'"odd": {number}')
    httpx_mock.add_response(content=body.encode())
    async with new_client("groq/llama-3.3-70b-versatile") as llm:
        try:
            left = (await llm.generate("Hi")).info.leftovers
        except LLMError:
            return  # refused as a whole
    assert json.loads(json.dumps(left, allow_nan=False))["odd"] is not None


async def test_an_entry_that_the_reply_leaves_out_does_not_move_the_others(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    second = {"index": 1, "finish_reason": "stop", "message": {"role": "assistant", "content": "Bye"}}
    httpx_mock.add_response(json={**CHAT, "choices": [*CHAT["choices"], second]})
    async with new_client("groq/llama-3.3-70b-versatile", on_loss="ignore") as llm:
        left = (await llm.generate("Hi")).info.leftovers
    assert left["choices"] == [LEFT["choices"][0], second]


# --- content that has no item -------------------------------------------------------------------------------------

CLAUDE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Hi"}, {"type": "hologram", "data": "x"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
GEMINI: dict[str, Any] = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "Hi"}, {"hologram": {"data": "x"}}]}, "finishReason": "STOP"}
    ]
}
TWO = {
    **CHAT,
    "choices": [
        *CHAT["choices"],
        {"index": 1, "finish_reason": "stop", "message": {"role": "assistant", "content": "Bye"}},
    ],
}


def claude_events() -> list[dict[str, Any]]:
    text, other = CLAUDE["content"]
    return [
        {"type": "message_start", "message": {**CLAUDE, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {**text, "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": other},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def chat_chunks() -> list[dict[str, Any]]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return [
        {**head, "choices": [{"index": i, "delta": {"content": text}, "finish_reason": None}]}
        for i, text in enumerate(("Hello", "Bye"))
    ] + [{**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


UNSHOWN = {
    "anthropic/claude-sonnet-4-5": ("content[1]", CLAUDE, claude_events()),
    "google/gemini-2.5-flash": ("candidates[0].content.parts[1]", GEMINI, [GEMINI]),
    "groq/llama-3.3-70b-versatile": ("choices[1]", TWO, chat_chunks()),
}


@pytest.mark.parametrize("model", UNSHOWN)
async def test_content_that_the_reply_cannot_show_is_a_loss_and_an_error_where_losses_are_errors(
    new_client: NewClient, httpx_mock: HTTPXMock, model: str
) -> None:
    path, whole, events = UNSHOWN[model]
    body = b"".join(f"data: {json.dumps(one)}\n\n".encode() for one in events)
    for _ in range(2):
        httpx_mock.add_response(json=whole)
        httpx_mock.add_response(content=body, headers={"content-type": "text/event-stream"})
    async with new_client(model, on_loss="ignore") as llm:
        reply, streamed_reply = await llm.generate("Hi"), await read(llm.stream("Hi"))
    assert [loss.path for loss in reply.losses] == [loss.path for loss in streamed_reply.losses] == [path]
    async with new_client(model, on_loss="raise") as llm:
        with pytest.raises(LossError, match=re.escape(path)):
            await llm.generate("Hi")
        with pytest.raises(LossError, match=re.escape(path)):
            await read(llm.stream("Hi"))


def test_the_replies_of_a_run_and_of_many_prompts_have_their_leftovers(httpx_mock: HTTPXMock) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "double", "arguments": '{"n": 2}'}, "note": 7}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    httpx_mock.add_response(json={**CHAT, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})
    httpx_mock.add_response(json=CHAT)
    httpx_mock.add_response(json=CHAT)

    def double(n: int) -> int:
        """Twice a number."""
        return 2 * n

    with Client("groq/llama-3.3-70b-versatile", api_key="sk-test-0123456789") as llm:
        assert llm.run("Hi", tools=[double]).result().info.leftovers == LEFT
        (row,) = llm.map(["Hi"])
        assert isinstance(row, Reply)
        assert row.info.leftovers == LEFT


def test_entries_of_a_list_with_the_same_index_are_not_mixed(httpx_mock: HTTPXMock) -> None:
    details = [
        {"type": "reasoning.summary", "summary": "Hm.", "format": "one-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "abc", "format": "two-v1", "index": 0},
    ]
    answer = json.loads(json.dumps(CHAT))
    answer["choices"][0]["message"]["reasoning_details"] = details
    httpx_mock.add_response(json=answer)
    with Client("openrouter/m", api_key="sk-test-0123456789") as llm:
        left = llm.generate("Hi").info.leftovers["choices"][0]["message"]["reasoning_details"]
    assert [entry["format"] for entry in left] == ["one-v1", "two-v1"]
