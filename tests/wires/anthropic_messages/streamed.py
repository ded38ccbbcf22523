"""Streams of the Anthropic wire in tests: answers cut into events, put together again, and held to the vendor's order.

Written against Anthropic's guide to streaming and the client of its SDK (read 2026-11-20), knowing nothing of the converters.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Raw

from llm_rest.responses import events as ev
from llm_rest.wires import anthropic_messages as wire
from tests.corpus import Exchange, exchanges, file_of

Plain = dict[str, Any]

GROWS = {"text_delta": "text", "thinking_delta": "thinking"}
FITS = {
    "text": {"text_delta", "citations_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "tool_use": {"input_json_delta"},
    "server_tool_use": {"input_json_delta"},
    "mcp_tool_use": {"input_json_delta"},
    "compaction": {"compaction_delta"},
}
BESIDE = ("context_management", "input_transformations")
ENDING = ("stop_reason", "stop_sequence", "stop_details", "container")


# --- events put together --------------------------------------------------------------------------------------------


def accumulated(events: Iterable[Plain]) -> Plain:
    """The whole message that a stream's events tell. A later null says nothing that was not known."""
    message: Plain = {}
    inputs: dict[int, str] = {}
    for event in copy.deepcopy(list(events)):
        kind = event["type"]
        if kind == "message_start":
            message = event["message"]
        elif kind == "content_block_start":
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
            message["content"][index]["input"] = _input(text)
    return message


def _input(text: str) -> Any:
    """What the model wrote, as it wrote it; no JSON is told as it is where answers are told whole."""
    try:
        json.loads(text)
    except ValueError:
        return {"INVALID_JSON": text}
    return Raw(text.encode())


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


def whole(events: Iterable[Plain]) -> Any:
    """The same as a document of the wire."""
    return wire.RESPONSE.decode(msgspec.json.encode(accumulated(events)))


# --- the vendor's order ---------------------------------------------------------------------------------------------


def unlawful(events: Iterable[Plain]) -> Iterator[str]:
    """What is wrong with the order of a whole stream."""
    at, begun, kind = -1, False, ""
    ended: list[str] = []
    for position, event in enumerate(events):
        name, where = event["type"], f"{position} {event['type']}"
        if (position == 0) != (name == "message_start") and not (position == 0 and name == "error"):
            yield f"{where}: out of place"
        if "message_stop" in ended or "error" in ended:
            yield f"{where}: after the end"
        if name == "content_block_start":
            if begun or event["index"] != at + 1:
                yield f"{where}: block {event['index']} begins after {at}, which is {'open' if begun else 'over'}"
            at, begun, kind = event["index"], True, event["content_block"].get("type")
        elif name in ("content_block_delta", "content_block_stop"):
            if not begun or event["index"] != at:
                yield f"{where}: block {event['index']} is not open"
            begun = name == "content_block_delta"
            if begun and event["delta"]["type"] not in FITS.get(kind, ()):
                yield f"{where}: {event['delta']['type']} in {kind}"
        elif name in ("message_delta", "message_stop"):
            if begun or (name == "message_stop" and ended != ["message_delta"]):
                yield f"{where}: out of place"
            ended.append(name)
        elif name == "error":
            ended.append(name)
    if not ended or ended[-1] == "message_delta":
        yield "the stream has no end"


# --- answers cut into events ----------------------------------------------------------------------------------------


def pieces(draw: st.DrawFn, text: str) -> list[str]:
    """A text in a few pieces, some of them empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def streams(draw: st.DrawFn, message: Plain) -> list[Plain]:
    """The events that tell a message, cut at random, with pings in between."""
    events: list[Plain] = [{"type": "message_start", "message": _start(message)}]
    for index, block in enumerate(message["content"]):
        start, deltas = _cut_block(draw, block)
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    counts = {name: message["usage"][name] for name in message["usage"] if name not in ("service_tier",)}
    delta = {name: message[name] for name in ENDING if name in message}
    beside = {name: message[name] for name in BESIDE if name in message}
    if draw(st.booleans()):
        events.append({"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 1}})
    events.append({"type": "message_delta", "delta": delta, "usage": counts, **beside})
    events.append({"type": "message_stop"})
    for place in sorted(draw(st.lists(st.integers(1, len(events)), max_size=3)), reverse=True):
        events.insert(place, {"type": "ping"})
    return events


def _start(message: Plain) -> Plain:
    later = ("stop_sequence", "stop_details", "container", *BESIDE)
    start = {name: value for name, value in message.items() if name not in later}
    usage = {name: value for name, value in message["usage"].items() if name in ("input_tokens", "service_tier")}
    switched = [block["from"]["model"] for block in message["content"] if block["type"] == "fallback"]
    model = (switched or [message["model"]])[0]
    stopped = {"stop_reason": None, "stop_sequence": None}
    return {**start, "content": [], "model": model, **stopped, "usage": {**usage, "output_tokens": 1}}


def _cut_block(draw: st.DrawFn, block: Plain) -> tuple[Plain, list[Plain]]:
    start = copy.deepcopy(block)
    match block["type"]:
        case "text":
            start["text"] = ""
            deltas: list[Plain] = [{"type": "text_delta", "text": piece} for piece in pieces(draw, block["text"])]
            for citation in reversed(block.get("citations") or ()):
                start["citations"] = []
                deltas.insert(0, {"type": "citations_delta", "citation": citation})
        case "thinking":
            start |= {"thinking": "", "signature": ""}
            thought = pieces(draw, block["thinking"]) if block["thinking"] else []
            deltas = [{"type": "thinking_delta", "thinking": piece, "estimated_tokens": 9} for piece in thought]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            start["input"] = {}
            written = "" if block["input"] == {} else json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(draw, written)]]
        case "compaction":
            start = {"type": "compaction", "content": None}
            deltas = [{"type": "compaction_delta", **{k: v for k, v in block.items() if k != "type"}}]
        case "connector_text":
            start["text"] = ""
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(draw, block["text"])]
        case _:
            deltas = []
    return start, deltas


# --- through the machines -------------------------------------------------------------------------------------------


def decoded(events: Iterable[Plain], **options: Any) -> tuple[list[Any], Any]:
    """The Responses events that events of the wire make, and the machine."""
    machine = wire.decode_stream(**options)
    found = [told for event in events for told in machine.feed(wire.EVENT.decode(msgspec.json.encode(event)))]
    return found + machine.close(), machine


def encoded(events: Iterable[Any], **options: Any) -> tuple[list[Plain], Any]:
    """The events of the wire that Responses events make, as JSON, and the machine."""
    machine = wire.encode_stream(**options)
    sent = [out for event in events for out in machine.feed(event)] + machine.close()
    return [json.loads(msgspec.json.encode(event)) for event in sent], machine


def ends(events: Iterable[Any]) -> dict[int, Any]:
    """The items as their ends told them, by their places."""
    found = {event.output_index: event.item for event in events if isinstance(event, ev.OutputItemDone)}
    return dict(sorted(found.items()))


def recorded_streams() -> list[Exchange]:
    """The recorded streams, where they are there."""
    name = "anthropic_messages"
    return [exchange for exchange in exchanges(name) if exchange.streaming] if file_of(name).exists() else []
