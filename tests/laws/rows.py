"""One row of data per wire: all that the laws need to know about it.

A row is written in the vendor's own JSON, so that it also shows what the wire looks like. Everything that is asked of a wire
stands in the laws; a new wire needs its row here and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from llm_rest import wires
from llm_rest.responses import AnyItem
from llm_rest.vendors.dialects import GeminiDialect, MessagesDialect, OllamaDialect, ResponsesDialect
from llm_rest.vendors.rows import DIALECTS, VENDORS
from tests.support.hosts import facts

Plain = dict[str, Any]


@dataclass(frozen=True)
class Thinking:
    """An answer with opaque state: `opaque` are the strings that its vendor wants back as they are."""

    dialect: Any
    answer: Plain
    opaque: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A wire in the laws: models to ask, small documents of its own, and answers whose opaque state must return."""

    models: tuple[str, ...]
    history: str
    """The field of a request that grows from turn to turn."""
    replay: Callable[[Plain], list[Any]]
    """What a client adds to the history for an answer it got."""
    requests: tuple[Plain, ...]
    answers: tuple[Plain, ...]
    events: tuple[Plain, ...]
    thinking: tuple[Thinking, ...]


def said(**message: Any) -> Plain:
    """An answer of the Chat wire."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def call(name: str) -> Plain:
    """A call of the Chat wire."""
    return {"id": name, "type": "function", "function": {"name": "search", "arguments": "{}"}}


def answered_by_gemini(*parts: Plain) -> Plain:
    """An answer of the Gemini wire."""
    candidate = {"content": {"role": "model", "parts": [*parts]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r1"}


FUNCTION = {"name": "get_weather", "description": "d", "parameters": {"type": "object", "properties": {}}}

ROWS: dict[str, Row] = {
    "openai_responses": Row(
        models=("gpt-5.2", "gpt-4.1"),
        history="input",
        replay=lambda answer: answer["output"],
        requests=(
            {
                "model": "gpt-5.2",
                "instructions": "Be brief.",
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [
                            {"type": "input_text", "text": "Weather?"},
                            {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
                        ],
                    },
                    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
                    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "get_weather", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c1", "output": "4"},
                    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
                ],
                "tools": [
                    {"type": "function", "strict": True, **FUNCTION},
                    {"type": "mcp", "server_label": "s", "server_url": "https://example.com", "headers": {"a": "b"}},
                ],
                "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
                "text": {"format": {"type": "json_schema", "name": "w", "schema": {"type": "object"}, "strict": True}},
                "reasoning": {"effort": "low", "summary": "auto"},
                "include": ["reasoning.encrypted_content"],
                "store": False,
                "metadata": {"a": "b"},
            },
            {"model": "gpt-4.1", "input": "Hi", "temperature": 0.5, "previous_response_id": "resp_0"},
        ),
        answers=(
            {
                "id": "resp_1",
                "object": "response",
                "created_at": 1,
                "status": "completed",
                "model": "gpt-5.2",
                "output": [
                    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
                    {
                        "type": "message",
                        "id": "msg_1",
                        "status": "completed",
                        "role": "assistant",
                        "content": [
                            {
                                "type": "output_text",
                                "text": "4 degrees",
                                "annotations": [
                                    {
                                        "type": "url_citation",
                                        "url": "https://a.b",
                                        "title": "t",
                                        "start_index": 0,
                                        "end_index": 1,
                                    }
                                ],
                                "logprobs": [],
                            }
                        ],
                    },
                    {
                        "type": "function_call",
                        "id": "fc_1",
                        "call_id": "c1",
                        "name": "f",
                        "arguments": '{"a":1}',
                        "status": "completed",
                    },
                ],
                "usage": {
                    "input_tokens": 3,
                    "input_tokens_details": {"cached_tokens": 1},
                    "output_tokens": 4,
                    "output_tokens_details": {"reasoning_tokens": 2},
                    "total_tokens": 7,
                },
                "error": None,
                "incomplete_details": None,
                "tools": [],
                "tool_choice": "auto",
            },
            {
                "id": "r",
                "object": "response",
                "status": "failed",
                "output": [],
                "error": {"code": "server_error", "message": "m"},
            },
        ),
        events=(
            {
                "type": "response.created",
                "sequence_number": 0,
                "response": {"id": "r", "object": "response", "status": "in_progress", "output": []},
            },
            {
                "type": "response.output_item.added",
                "sequence_number": 1,
                "output_index": 0,
                "item": {"type": "message", "id": "m", "role": "assistant", "content": []},
            },
            {
                "type": "response.output_text.delta",
                "sequence_number": 2,
                "item_id": "m",
                "output_index": 0,
                "content_index": 0,
                "delta": "Hi",
                "logprobs": [],
            },
            {
                "type": "error",
                "sequence_number": 3,
                "error": {"type": "t", "code": None, "message": "m", "param": None},
            },
        ),
        thinking=(
            Thinking(
                ResponsesDialect(),
                {
                    "id": "resp_1",
                    "status": "completed",
                    "output": [
                        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA-opaque-1=="},
                        {
                            "type": "function_call",
                            "id": "fc_1",
                            "call_id": "call_t1",
                            "name": "search",
                            "arguments": "{}",
                            "status": "completed",
                        },
                    ],
                },
                ("gAAAA-opaque-1==",),
            ),
            Thinking(
                facts("xai", "openai_responses"),
                {
                    "id": "resp_2",
                    "status": "completed",
                    "output": [
                        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "opaque-2=="},
                        {
                            "type": "message",
                            "id": "msg_2",
                            "role": "assistant",
                            "status": "completed",
                            "content": [{"type": "output_text", "text": "Found.", "annotations": []}],
                        },
                    ],
                },
                ("opaque-2==",),
            ),
        ),
    ),
    "openai_chat": Row(
        models=("gpt-5.2", "gpt-4.1"),
        history="messages",
        replay=lambda answer: [answer["choices"][0]["message"]],
        requests=(
            {
                "model": "gpt-5.2",
                "messages": [
                    {"role": "developer", "content": "Be brief."},
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "Weather?"},
                            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
                            {
                                "type": "file",
                                "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a"},
                            },
                        ],
                    },
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}},
                            {"id": "c2", "type": "custom", "custom": {"name": "x", "input": "text"}},
                        ],
                    },
                    {"role": "tool", "tool_call_id": "c1", "content": "4"},
                    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "5"}]},
                ],
                "tools": [
                    {"type": "function", "function": FUNCTION},
                    {"type": "custom", "custom": {"name": "x", "format": {"type": "text"}}},
                ],
                "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
                "response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": {"type": "object"}}},
                "max_completion_tokens": 100,
                "stop": ["END"],
                "logit_bias": {"5": 1},
                "stream": True,
                "stream_options": {"include_usage": True},
            },
            {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi", "name": "ada"}], "n": 1, "seed": 1},
        ),
        answers=(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "gpt-5.2",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "tool_calls",
                        "logprobs": None,
                        "message": {
                            "role": "assistant",
                            "content": "Let me see.",
                            "refusal": None,
                            "annotations": [],
                            "reasoning_content": "Hm.",
                            "tool_calls": [
                                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
                            ],
                        },
                    }
                ],
                "usage": {
                    "prompt_tokens": 3,
                    "completion_tokens": 4,
                    "total_tokens": 7,
                    "prompt_tokens_details": {"cached_tokens": 1, "audio_tokens": 0},
                    "completion_tokens_details": {"reasoning_tokens": 2},
                },
                "system_fingerprint": "fp_1",
            },
            {
                "id": "chatcmpl-2",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [
                    {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "cut"}}
                ],
            },
        ),
        events=(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
            },
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [
                    {
                        "index": 0,
                        "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]},
                    }
                ],
                "usage": None,
            },
            {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []},
        ),
        thinking=(
            Thinking(
                facts("openrouter", "openai_chat"),
                said(
                    content=None,
                    reasoning="Hm.",
                    reasoning_details=[
                        {"type": "reasoning.text", "text": "Hm.", "signature": "opaque-3==", "index": 0},
                        {"type": "reasoning.encrypted", "data": "opaque-4==", "format": "x", "index": 1},
                    ],
                    tool_calls=[call("call_t3")],
                ),
                ("opaque-3==", "opaque-4=="),
            ),
            Thinking(
                facts("google", "openai_chat"),
                said(
                    content=None,
                    tool_calls=[
                        {**call("call_t8"), "extra_content": {"google": {"thought_signature": "opaque-8=="}}},
                        call("call_t9"),
                    ],
                ),
                ("opaque-8==",),
            ),
            Thinking(
                facts("mistral", "openai_chat"),
                said(
                    content=[
                        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "signature": "opaque-10=="},
                        {"type": "text", "text": "Found."},
                    ]
                ),
                ("opaque-10==",),
            ),
            Thinking(
                facts("deepseek", "openai_chat"),
                said(content="", reasoning_content="thought-11", tool_calls=[call("call_t11")]),
                ("thought-11",),
            ),
        ),
    ),
    "anthropic_messages": Row(
        models=("claude-sonnet-4-5", "claude-opus-4-8", "claude-sonnet-5-5", "claude-haiku-4-5"),
        history="messages",
        replay=lambda answer: [{"role": "assistant", "content": answer["content"]}],
        requests=(
            {
                "model": "claude-sonnet-4-5",
                "max_tokens": 1000,
                "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "Weather?"},
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                            },
                            {
                                "type": "document",
                                "source": {"type": "text", "media_type": "text/plain", "data": "x"},
                                "citations": {"enabled": True},
                            },
                        ],
                    },
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                            {
                                "type": "tool_use",
                                "id": "toolu_1",
                                "name": "get_weather",
                                "input": {"city": "Oslo in Norway"},
                            },
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4", "is_error": True},
                            {"type": "text", "text": "go on"},
                        ],
                    },
                ],
                "tools": [
                    {"name": "get_weather", "input_schema": {"type": "object", "properties": {}}},
                    {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
                ],
                "tool_choice": {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True},
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "stop_sequences": ["END"],
                "metadata": {"user_id": "u"},
            },
            {"model": "claude-opus-4-8", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]},
        ),
        answers=(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": [
                    {
                        "type": "text",
                        "text": "4 degrees",
                        "citations": [
                            {
                                "type": "web_search_result_location",
                                "url": "https://a.b",
                                "title": "t",
                                "encrypted_index": "x",
                                "cited_text": "c",
                            }
                        ],
                    },
                    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"city": "Oslo in Norway"}},
                ],
                "stop_reason": "tool_use",
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 3,
                    "cache_creation_input_tokens": 2,
                    "cache_read_input_tokens": 1,
                    "output_tokens": 4,
                    "service_tier": "standard",
                },
            },
            {
                "id": "msg_2",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "stop_reason": "refusal",
                "stop_sequence": None,
                "stop_details": {"type": "refusal", "category": None, "explanation": "no"},
                "usage": {"input_tokens": 1, "output_tokens": 0},
            },
        ),
        events=(
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
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                },
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{"}},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 5},
            },
            {"type": "message_stop"},
            {"type": "ping"},
            {"type": "error", "error": {"type": "overloaded_error", "message": "m"}},
        ),
        thinking=(
            Thinking(
                MessagesDialect(),
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "opaque-5=="},
                        {"type": "redacted_thinking", "data": "opaque-6=="},
                        {"type": "text", "text": "Let me see."},
                        {"type": "tool_use", "id": "toolu_t5", "name": "search", "input": {}},
                    ],
                    "stop_reason": "tool_use",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                },
                ("opaque-5==", "opaque-6=="),
            ),
            Thinking(
                MessagesDialect(),
                {
                    "id": "msg_2",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5",
                    "content": [
                        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
                        {
                            "type": "web_search_tool_result",
                            "tool_use_id": "srvtoolu_1",
                            "content": [
                                {
                                    "type": "web_search_result",
                                    "url": "https://a.b",
                                    "title": "t",
                                    "encrypted_content": "opaque-7==",
                                    "page_age": None,
                                }
                            ],
                        },
                        {"type": "text", "text": "Found."},
                    ],
                    "stop_reason": "end_turn",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                },
                ("opaque-7==",),
            ),
        ),
    ),
    "ollama_chat": Row(
        models=("qwen3:8b", "gpt-oss:20b"),
        history="messages",
        replay=lambda answer: [answer["message"]],
        requests=(
            {
                "model": "qwen3:8b",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "Weather?", "images": ["iVBORw0KGgo="]},
                    {
                        "role": "assistant",
                        "content": "Let me see.",
                        "thinking": "Hm.",
                        "tool_calls": [
                            {"id": "c1", "function": {"index": 0, "name": "get_weather", "arguments": {"a": 1.0}}},
                            {"function": {"name": "get_weather", "arguments": {}}},
                        ],
                    },
                    {"role": "tool", "content": "4", "tool_name": "get_weather", "tool_call_id": "c1"},
                    {"role": "tool", "content": "5", "tool_name": "get_weather"},
                ],
                "tools": [{"type": "function", "function": FUNCTION}],
                "format": {"type": "object", "properties": {"c": {"type": "integer"}}},
                "options": {"num_predict": 100, "num_ctx": 8192, "stop": ["END"], "temperature": 0},
                "think": "low",
                "keep_alive": "10m",
                "stream": False,
            },
            {"model": "gpt-oss:20b", "messages": [{"role": "user", "content": "Hi"}], "truncate": True, "think": True},
        ),
        answers=(
            {
                "model": "qwen3:8b",
                "created_at": "2026-09-21T14:13:20.123456789Z",
                "message": {
                    "role": "assistant",
                    "content": "Let me see.",
                    "thinking": "Hm.",
                    "tool_calls": [{"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}}],
                },
                "done": True,
                "done_reason": "stop",
                "total_duration": 5,
                "prompt_eval_count": 3,
                "eval_count": 4,
            },
            {
                "model": "m",
                "created_at": "2026-09-21T14:13:20Z",
                "message": {"role": "assistant", "content": "cut"},
                "done": True,
                "done_reason": "length",
            },
        ),
        events=(
            {
                "model": "m",
                "created_at": "2026-09-21T14:13:20Z",
                "message": {"role": "assistant", "content": "Hi", "thinking": "Hm."},
                "done": False,
            },
            {
                "model": "m",
                "created_at": "2026-09-21T14:13:21Z",
                "message": {"role": "assistant", "content": ""},
                "done": True,
                "done_reason": "stop",
                "eval_count": 4,
            },
            {"error": "the model runner has stopped"},
        ),
        thinking=(
            # Nothing here is opaque; yet what a model thought is given back to models of its own issuer alone.
            Thinking(
                OllamaDialect(),
                {
                    "model": "qwen3:8b",
                    "created_at": "2026-09-21T14:13:20Z",
                    "message": {
                        "role": "assistant",
                        "content": "Let me see.",
                        "thinking": "only-mine-1",
                        "tool_calls": [{"id": "call_t7", "function": {"name": "search", "arguments": {}}}],
                    },
                    "done": True,
                    "done_reason": "stop",
                },
                ("only-mine-1",),
            ),
        ),
    ),
    "gemini_generate_content": Row(
        models=("gemini-2.5-flash", "gemini-3-flash-preview", "gemini-3.8-flash", "gemini-2.0-flash"),
        history="contents",
        replay=lambda answer: [answer["candidates"][0]["content"]],
        requests=(
            {
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "contents": [
                    {
                        "role": "user",
                        "parts": [
                            {"text": "Weather?"},
                            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
                            {"fileData": {"fileUri": "gs://b/a.pdf", "mimeType": "application/pdf"}},
                        ],
                    },
                    {
                        "role": "model",
                        "parts": [
                            {"text": "Hm.", "thought": True},
                            {
                                "functionCall": {"id": "c1", "name": "get_weather", "args": {"a": 1}},
                                "thoughtSignature": "c2ln",
                            },
                            {"functionCall": {"id": "c2", "name": "get_weather", "args": {}}},
                        ],
                    },
                    {
                        "role": "user",
                        "parts": [
                            {"functionResponse": {"id": "c1", "name": "get_weather", "response": {"output": "4"}}},
                            {"functionResponse": {"id": "c2", "name": "get_weather", "response": {"error": "no"}}},
                            {"text": "go on"},
                        ],
                    },
                ],
                "tools": [
                    {
                        "functionDeclarations": [
                            {
                                "name": "get_weather",
                                "description": "d",
                                "parametersJsonSchema": {"type": "object", "properties": {}},
                            }
                        ]
                    },
                    {"googleSearch": {}},
                ],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}},
                "generationConfig": {
                    "maxOutputTokens": 100,
                    "stopSequences": ["END"],
                    "responseMimeType": "application/json",
                    "responseJsonSchema": {"type": "object"},
                    "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True},
                },
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
            },
            {"contents": [{"parts": [{"text": "Hi"}]}], "generationConfig": {"temperature": 0.5}},
        ),
        answers=(
            {
                "candidates": [
                    {
                        "content": {
                            "role": "model",
                            "parts": [
                                {"text": "Let me see, 雪."},
                                {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}},
                            ],
                        },
                        "finishReason": "STOP",
                        "index": 0,
                        "groundingMetadata": {
                            "groundingChunks": [{"web": {"uri": "https://a.b", "title": "t"}}],
                            "groundingSupports": [
                                {
                                    "segment": {"startIndex": 12, "endIndex": 15, "text": "雪"},
                                    "groundingChunkIndices": [0],
                                }
                            ],
                        },
                    }
                ],
                "usageMetadata": {
                    "promptTokenCount": 3,
                    "cachedContentTokenCount": 1,
                    "candidatesTokenCount": 4,
                    "thoughtsTokenCount": 2,
                    "totalTokenCount": 9,
                    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 3}],
                },
                "modelVersion": "gemini-3-flash-preview",
                "responseId": "r1",
            },
            {
                "promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"},
                "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1},
                "modelVersion": "m",
                "responseId": "r2",
            },
        ),
        events=(
            {
                "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "index": 0}],
                "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1},
                "modelVersion": "m",
                "responseId": "r1",
            },
            {
                "candidates": [
                    {
                        "content": {"role": "model", "parts": [{"text": "", "thoughtSignature": "c2ln"}]},
                        "finishReason": "STOP",
                    }
                ],
                "modelVersion": "m",
                "responseId": "r1",
            },
            {"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}},
        ),
        thinking=(
            Thinking(
                GeminiDialect(),
                answered_by_gemini(
                    {"text": "Hm.", "thought": True},
                    {"functionCall": {"name": "search", "args": {}}, "thoughtSignature": "b3BhcXVlLTg="},
                    {"functionCall": {"name": "search", "args": {"n": 2}}},
                ),
                ("b3BhcXVlLTg=",),
            ),
            Thinking(
                GeminiDialect(),
                answered_by_gemini(
                    {
                        "toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}},
                        "thoughtSignature": "b3BhcXVlLTk=",
                    },
                    {
                        "toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}},
                        "thoughtSignature": "b3BhcXVlLTEw",
                    },
                    {"text": "Let me see."},
                    {"text": "", "thoughtSignature": "b3BhcXVlLTEx"},
                    {
                        "functionCall": {"id": "call_t9", "name": "search", "args": {}},
                        "thoughtSignature": "b3BhcXVlLTEz",
                    },
                ),
                ("b3BhcXVlLTk=", "b3BhcXVlLTEw", "b3BhcXVlLTEx", "b3BhcXVlLTEz"),
            ),
        ),
    ),
}


@cache
def dialects(wire: str) -> dict[str, Any]:
    """The facts of every vendor that speaks a wire, by the name of the first vendor that has them."""
    unique: dict[str, Any] = {"default": DIALECTS[wire]()}
    for vendor in VENDORS.values():
        if wire in vendor.wires and facts(vendor.name, wire) not in unique.values():
            unique[vendor.name] = facts(vendor.name, wire)
    return unique


def vendors(wire: str) -> st.SearchStrategy[str]:
    """The names under which `dialects` has facts; a failing example shows one of them."""
    return st.sampled_from(list(dialects(wire)))


@cache
def thoughts(wire: str, issuer: str | None = None) -> tuple[tuple[AnyItem, ...], ...]:
    """What the wire decodes from its own answers with opaque state; only those of one issuer, where it is named."""
    module = wires.load(wire)
    decoded: list[tuple[AnyItem, ...]] = []
    for case in ROWS[wire].thinking:
        if issuer in (None, case.dialect.issuer):
            answer = module.RESPONSE.decode(json.dumps(case.answer).encode())
            response, _ = module.decode_response(answer, dialect=case.dialect)
            decoded.append(tuple(response.output))
    return tuple(decoded)
