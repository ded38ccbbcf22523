"""Normalization of older and common notations to the Responses format.

Applied only to a document that did not decode as it is. Accepts messages without `type`, and the notations of earlier
designs: `input_image_url` parts, `tool_use` and `tool_result` parts inside messages, nested function tools and choices,
`response_format`, summaries that are one string; then malformed documents of hosts (`lenient.py`). Works on plain
values, returns new ones and never changes its input. The roles `agent` and `human` decode as they are; `Message` itself
maps them to the roles of the format.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from .lenient import lenient_items

Plain = dict[str, Any]


def normalize(document: Any) -> Any:
    """`document` with every older notation rewritten; anything else is unchanged."""
    if not isinstance(document, dict):
        return document
    request = dict(cast("Plain", document))
    if isinstance(request.get("input"), list):
        request["input"] = lenient_items(normalize_items(cast("list[Any]", request["input"])), "input")
    if isinstance(request.get("tools"), list):
        request["tools"] = [flat_function(tool) for tool in cast("list[Any]", request["tools"])]
    if isinstance(request.get("tool_choice"), dict):
        request["tool_choice"] = flat_function(request["tool_choice"])
    _text_format(request)
    return request


def normalize_items(items: list[Any]) -> list[Any]:
    """Input items with every older notation rewritten."""
    rewritten: list[Any] = []
    for item in items:
        rewritten.extend(_item(cast("Plain", item)) if isinstance(item, dict) else [item])
    return rewritten


def _item(item: Plain) -> list[Plain]:
    if "type" not in item:
        kind = "message" if "role" in item else "item_reference" if set(item) == {"id"} else None
        if kind is None:
            return [item]
        item = {"type": kind, **item}
    match item["type"]:
        case "message":
            return _message(item)
        case "reasoning":
            return [_reasoning(item)]
        case "function_call_output" | "custom_tool_call_output" if item.get("output") is not None:
            output = json_text(item["output"])
            return [{**item, "output": [_part(part) for part in output] if isinstance(output, list) else output}]
        case "compaction" if "encrypted_content" not in item and isinstance(item.get("summary"), str):
            # The format's own compaction is opaque; a readable one is text that replaces the earlier turns.
            return [{"type": "message", "role": "user", "content": item["summary"]}]
        case _:
            return [item]


def _message(item: Plain) -> list[Plain]:
    content = item.get("content")
    if not isinstance(content, list):
        return [item]
    return _split(item, [_part(part, item.get("role")) for part in cast("Any", content)])


def _reasoning(item: Plain) -> Plain:
    """A reasoning item whose summary is a list, without the effort that belongs to a request."""
    summary = item.get("summary")
    if isinstance(summary, str):
        item = {**item, "summary": [{"type": "summary_text", "text": summary}] if summary else []}
    if "effort" in item:
        item = {name: value for name, value in item.items() if name != "effort"}
    return item


def _split(message: Plain, parts: list[Any]) -> list[Plain]:
    """The message split at its `tool_use` and `tool_result` parts, which become items of their own."""
    items: list[Plain] = []
    kept: list[Any] = []

    def close() -> None:
        if kept:
            items.append({**message, "content": kept.copy()})
            kept.clear()

    for part in parts:
        kind = cast("Plain", part).get("type") if isinstance(part, dict) else None
        if kind == "tool_use":
            close()
            items.append(_call(cast("Plain", part)))
        elif kind == "tool_result":
            close()
            items.append(_output(cast("Plain", part)))
        else:
            kept.append(part)
    close()
    return items or [{**message, "content": []}]


def _part(part: Any, role: object = "user") -> Any:
    if isinstance(part, str):
        return {"type": "output_text" if role in ("assistant", "agent") else "input_text", "text": part}
    if not isinstance(part, dict):
        return part
    found = cast("Plain", part)
    image = found.get("image_url")
    if found.get("type") not in ("input_image_url", "input_image") or isinstance(image, str):
        return found if found.get("type") != "input_image_url" else {**found, "type": "input_image"}
    if not isinstance(image, dict):
        return found
    nested = cast("Plain", image)
    rest = {name: value for name, value in found.items() if name not in ("type", "image_url")}
    detail = {"detail": nested["detail"]} if "detail" in nested else {}
    return {"type": "input_image", "image_url": nested.get("url"), **detail, **rest}


def _call(part: Plain) -> Plain:
    arguments = part.get("arguments", part.get("input", "{}"))
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return {
        "type": "function_call",
        "call_id": part.get("id", part.get("call_id", "")),
        "name": part.get("name", ""),
        "arguments": arguments,
    }


def json_text(value: Any) -> str | list[Any]:
    """The output of a tool: text and parts unchanged, any other value as its JSON text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        pieces: list[Any] = cast("Any", value)
        if not pieces or any(isinstance(piece, dict) and "type" in piece for piece in pieces):
            return pieces
    return msgspec.json.encode(value).decode()


def _output(part: Plain) -> Plain:
    content = part.get("content", part.get("output", ""))
    if isinstance(content, list):
        content = [_part(piece) for piece in cast("Any", content)]
    elif not isinstance(content, str):
        content = msgspec.json.encode(content).decode()
    output: Plain = {
        "type": "function_call_output",
        "call_id": part.get("tool_use_id", part.get("call_id", "")),
        "output": content,
    }
    if part.get("is_error"):
        output["is_error"] = True
    return output


def flat_function(tool: Any) -> Any:
    """`{"type": "function", "function": {...}}` without its nesting."""
    if not isinstance(tool, dict):
        return tool
    found = cast("Plain", tool)
    inner = found.get("function")
    if found.get("type") != "function" or not isinstance(inner, dict):
        return found
    rest = {name: value for name, value in found.items() if name != "function"}
    return {**rest, **cast("Plain", inner)}


def _text_format(request: Plain) -> None:
    """Move the requested output format to its place: flat, below `text`."""
    text = request.get("text")
    options = dict(cast("Plain", text)) if isinstance(text, dict) else {}
    format = request.get("response_format")
    if isinstance(format, dict) and "format" not in options and "type" not in options:
        del request["response_format"]
        options["format"] = format
    elif "type" in options:
        options = {"format": options}
    if isinstance(options.get("format"), dict):
        options["format"] = _flat_format(cast("Plain", options["format"]))
    if options:
        request["text"] = options


def _flat_format(format: Plain) -> Plain:
    inner = format.get("json_schema")
    if not isinstance(inner, dict):
        return format
    return {"type": format.get("type", "json_schema"), **cast("Plain", inner)}
