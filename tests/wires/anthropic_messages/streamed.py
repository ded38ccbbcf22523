"""Streams of the Anthropic wire in tests: answers cut into events, and events put together as the vendor's client does it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from llm_rest.wires import anthropic_messages as wire

Plain = dict[str, Any]

GROWS = {"text_delta": "text", "thinking_delta": "thinking"}
COUNTS_AT_THE_END = ("output_tokens_details", "server_tool_use", "iterations")
ENDING = ("stop_reason", "stop_sequence", "stop_details", "container")
BESIDE = ("context_management", "input_transformations")


def accumulated(events: Iterable[Plain]) -> Plain:
    """The whole message that a stream's events tell. A later null says nothing that was not known."""
    message: Plain = {}
    inputs: dict[int, str] = {}
    for event in copy.deepcopy(list(events)):
        kind = event["type"]
        if kind == "message_start":
            message = event["message"]
        elif kind == "content_block_start":
            assert event["index"] == len(message["content"])
            message["content"].append(event["content_block"])
            if event["content_block"]["type"] == "fallback":
                message["model"] = event["content_block"]["to"]["model"]
        elif kind == "content_block_delta":
            _grow(message["content"][event["index"]], event["delta"], inputs, event["index"])
        elif kind == "message_delta":
            _overwrite(message, event["delta"])
            _overwrite(message, {name: event[name] for name in BESIDE if name in event})
            _overwrite(message["usage"], event.get("usage", {}))
    for index, text in inputs.items():
        if text:
            message["content"][index]["input"] = Raw(text.encode())  # as the model wrote it
    return message


def whole(events: Iterable[Plain]) -> Any:
    """The same as a document of the wire."""
    return wire.RESPONSE.decode(msgspec.json.encode(accumulated(events)))


def _grow(block: Plain, delta: Plain, inputs: dict[int, str], index: int) -> None:
    kind = delta["type"]
    if kind in GROWS:
        block[GROWS[kind]] = block.get(GROWS[kind], "") + delta[GROWS[kind]]
    elif kind == "signature_delta":
        block["signature"] = delta["signature"]
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
    elif kind == "compaction_delta":
        block |= {name: value for name, value in delta.items() if name != "type"}
    elif kind == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta["partial_json"]


def _overwrite(known: Plain, news: Plain) -> None:
    known |= {name: value for name, value in news.items() if value is not None or name not in known}
