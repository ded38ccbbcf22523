"""How OpenAI's Responses API encrypts reasoning, and what it says when it comes back otherwise.

Follows the guide to reasoning of the Responses reference (read 2026-11-20). A reasoning item is bound to the item that
followed it, and an item that followed one says so in its id.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from llm_rest.responses import Message, OutputText, Reasoning
from llm_rest.simulator.plain import Plain, rows
from llm_rest.simulator.signatures import mac, opened, seal
from llm_rest.unknown import Unknown

from .seals import mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llm_rest.responses import AnyItem, Response
    from llm_rest.server.handler import Context

_AFTER_REASONING = re.compile(r"(?:fc|ctc|msg)_([0-9a-f]{16})\d+r(\d+)x([0-9a-f]{4})")


def forged(document: Plain, issuer: str) -> Iterator[str]:
    """What is wrong with the reasoning that came back, and items without theirs."""
    items = rows(document.get("input"))
    thoughts: set[str] = set()
    for i, item in enumerate(items):
        if item["type"] == "reasoning":
            fields = opened(issuer, item.get("encrypted_content"))
            if fields is None or len(fields) != 2:
                yield (
                    f"The encrypted content {str(item.get('encrypted_content'))[:16]}... could not be verified. "
                    "Reason: Encrypted content could not be decrypted or parsed."
                )
                continue
            id, following = fields
            thoughts.add(id)
            if following not in (mac("next", id, _following(items[i + 1 :])), mac("next", id, None)):
                yield f"Item '{id}' of type 'reasoning' was provided without its required following item."
        elif after := _AFTER_REASONING.fullmatch(str(item.get("id"))):
            id = f"rs_{after[1]}{after[2]}"
            if after[3] == mark(issuer, id) and id not in thoughts:
                lacking = f"was provided without its required 'reasoning' item: '{id}'."
                yield f"Item '{item['id']}' of type '{item['type']}' {lacking}"


def _following(items: list[Plain]) -> Any:
    """What ties a reasoning item to the first item after it that is none."""
    for item in items:
        if item.get("type") == "reasoning":
            continue
        if "call_id" in item:
            return ["call", item["call_id"]]
        content = item.get("content")
        texts = [part.get("text") for part in cast("list[Plain]", content)] if isinstance(content, list) else [content]
        return [item.get("role"), texts]
    return None


def signed(response: Response, document: Plain, context: Context) -> Response:
    """The response with its reasoning encrypted."""
    items, issuer = response.output, context.dialect.issuer
    plain = [_sketch(item) for item in items]
    output: list[AnyItem] = []
    thought: str | None = None
    for i, item in enumerate(items):
        if isinstance(item, Reasoning):
            thought = str(item.id)
            following = mac("next", thought, _following(plain[i + 1 :]))
            sealed = seal(issuer, thought, following)
            output.append(replace(item, encrypted_content=sealed, status=None))
        elif thought is not None and not isinstance(item, Unknown):
            output.append(replace(item, id=f"{item.id}r{thought[19:]}x{mark(issuer, thought)}"))
            thought = None
        else:
            output.append(item)
    return replace(response, output=output)


def _sketch(item: AnyItem) -> Plain:
    """As much of an item as binds a reasoning item to it."""
    match item:
        case Reasoning():
            return {"type": "reasoning"}
        case Message(role=role, content=content):
            texts = [
                {"text": part.text if isinstance(part, OutputText) else None}
                for part in content
                if not isinstance(part, str)
            ]
            return {"type": "message", "role": role, "content": texts}
        case _:
            return {"call_id": getattr(item, "call_id", None)}
