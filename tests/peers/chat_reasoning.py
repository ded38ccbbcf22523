"""How hosts of the Chat wire give reasoning out, and what they say when it does not come back as it was.

OpenAI itself gives none. Others give text, which they may want back; those that route to vendors with signatures give
`reasoning_details`, signed over their text and over the turn they answer. Follows the references of DeepSeek and OpenRouter
(read 2026-11-20); which host does what is a fact of its dialect.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from llm_rest.responses import CustomToolCall, FunctionCall, Reasoning
from llm_rest.vendors.dialects import REFUSALS

from .plain import Plain, rows
from .seals import mac, mark, opened, seal, wire_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llm_rest.responses import AnyItem, Response
    from llm_rest.server.handler import Context
    from llm_rest.vendors.dialects import ChatDialect

_OUR_CALL = re.compile(r"call_([0-9a-f]{17,18})x([0-9a-f]{4})([0-9a-f]{12})")


def altered(document: Plain, dialect: ChatDialect) -> Iterator[str]:
    """What is wrong with the reasoning in the history."""
    said: list[Plain] = []
    messages = rows(document.get("messages"))
    latest = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=0)
    for i, message in enumerate(messages):
        if message.get("role") != "assistant":
            said.append(message)
            continue
        calls = rows(message.get("tool_calls"))
        if dialect.requires_reasoning and calls and dialect.reasoning_field not in message:
            yield f"The `{dialect.reasoning_field}` in the thinking mode must be passed back to the API."
        if not dialect.empty_details and message.get("reasoning_details") == []:
            yield REFUSALS["empty_details"].says.format(path=f"messages.[{i}]")
        if dialect.reasoning_field == "reasoning_details":
            # In a turn that is over thoughts may be left out.
            going = calls if i > latest else []
            yield from _details(message, going, said, f"messages.[{i}].reasoning_details", dialect.issuer)


def _details(message: Plain, calls: list[Plain], said: list[Plain], path: str, issuer: str) -> Iterator[str]:
    seals: list[str] = []
    for j, detail in enumerate(rows(message.get("reasoning_details"))):
        hidden = detail.get("type") == "reasoning.encrypted"
        sealed = str(detail.get("data" if hidden else "signature"))
        fields = opened(issuer, sealed) or []
        text = fields[2] if hidden and len(fields) == 3 else detail.get("text")
        if not fields or fields[0] != mac("text", text):
            yield f"{path}[{j}]: Invalid `signature` in `thinking` block"
        elif fields[1] != _turn(str(text), said):
            yield f"{path}[{j}]: `thinking` or `redacted_thinking` blocks cannot be modified or moved."
        seals.append(sealed)
    for call in calls:
        ours = _OUR_CALL.fullmatch(str(call.get("id")))
        if ours and ours[2] == mark(issuer, ours[1]) and ours[3] != mac("call", ours[1], seals)[:12]:
            yield f"{path}: the `reasoning_details` of a message with tool calls must be passed back unchanged."


def _turn(text: str, said: list[Plain]) -> str:
    """The mark that ties a thought to what the user said last before it, however that is spelled."""
    return mac("turn", text, [_plain(message) for message in said if message.get("role") == "user"][-1:])


def _plain(message: Plain) -> list[object]:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else rows(content)
    return [message.get("role"), message.get("tool_call_id"), parts]


# --- issuing --------------------------------------------------------------------------------------------------------


def finished(response: Response, document: Plain, context: Context) -> Response:
    """The response with the ids of a Chat host, and its reasoning where that host has a place for it."""
    dialect: ChatDialect = context.dialect
    seeds = response.id.removeprefix("resp_")
    thoughts = [item for item in response.output if isinstance(item, Reasoning)]
    message, seals = _message(thoughts, seeds, document, dialect)
    output: list[AnyItem] = [wire_item("openai_chat", _completion(message), context)] if message else []
    for i, item in enumerate(response.output):
        if isinstance(item, FunctionCall | CustomToolCall):
            output.append(replace(item, call_id=_call_id(f"{seeds}{i}", seals, dialect)))
        elif not isinstance(item, Reasoning):
            output.append(item)
    return replace(response, id=f"chatcmpl-{seeds}", output=output)


def _call_id(name: str, seals: list[str], dialect: ChatDialect) -> str:
    if dialect.exact_call_id:
        return mac("id", name)[: dialect.longest_call_id]
    # As long as the wire allows and no longer.
    return f"call_{name}x{mark(dialect.issuer, name)}{mac('call', name, seals)[:12]}" if seals else f"call_{name}"


def _message(thoughts: list[Reasoning], seeds: str, document: Plain, dialect: ChatDialect) -> tuple[Plain, list[str]]:
    """What a message of this host holds of these thoughts, and their seals."""
    shown = ["\n".join(part.text for part in thought.summary or ()) for thought in thoughts]
    text = "\n".join(filter(None, shown))
    match dialect.reasoning_field:
        case "reasoning_details":
            said = rows(document.get("messages"))
            details = [_detail(text, f"{seeds}{i}", i, said, dialect.issuer) for i, text in enumerate(shown)]
            seals = [str(detail.get("signature", detail.get("data"))) for detail in details]
            return ({"reasoning_details": details, "reasoning": text or None} if details else {}), seals
        case "thinking" if text:
            return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}, []
        case ("reasoning_content" | "reasoning") as field if text:
            return {field: text}, []
        case _:
            return {}, []


def _detail(text: str, hidden: str, index: int, said: list[Plain], issuer: str) -> Plain:
    if text:
        signature = seal(issuer, mac("text", text), _turn(text, said))
        return {"type": "reasoning.text", "text": text, "signature": signature, "format": "simulator", "index": index}
    data = seal(issuer, mac("text", hidden), _turn(hidden, said), hidden)
    return {"type": "reasoning.encrypted", "data": data, "format": "simulator", "index": index}


def _completion(message: Plain) -> Plain:
    """The smallest completion with that message."""
    told = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **message}}
    return {"id": "chatcmpl-", "object": "chat.completion", "created": 0, "model": "", "choices": [told]}
