"""How OpenAI's Responses API encrypts reasoning, and what it says when it comes back otherwise.

Follows the guide to reasoning of the Responses reference (read 2026-11-20). A reasoning item is bound to the item that
followed it, and an item that followed one says so in its id. Nothing is stored, so what is only named is not found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from llm_rest.errors import ErrorFacts
from llm_rest.responses import Message, OutputText, Reasoning
from llm_rest.unknown import Unknown

from .plain import Plain, rows
from .seals import mac, mark, opened, seal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llm_rest.responses import AnyItem, Response
    from llm_rest.server.handler import Context

START = "gAAAA"
"""How the vendor's encrypted content begins."""

_AFTER_REASONING = re.compile(r"(?:fc|ctc|msg)_([0-9a-f]{16})\d+r(\d+)x([0-9a-f]{4})")


def invalid(message: str, param: str | None = None, code: str | None = None) -> ErrorFacts:
    """The facts of a refused request."""
    return ErrorFacts(status=400, message=message, type="invalid_request_error", param=param, code=code)


def kind_of(item: Plain) -> str:
    """The kind of an item, which messages and references may leave out."""
    return item.get("type") or ("message" if "role" in item else "item_reference")


def forgotten(document: Plain, issuer: str) -> Iterator[ErrorFacts]:
    """Nothing is stored here, and reasoning comes back as it was given out."""
    previous = document.get("previous_response_id")
    if previous:
        message = f"Previous response with id '{previous}' not found."
        yield invalid(message, "previous_response_id", "previous_response_not_found")
    if document.get("conversation"):
        yield ErrorFacts(
            status=404, message="Conversation not found.", type="invalid_request_error", param="conversation"
        )
    items = rows(document.get("input"))
    thoughts: set[str] = set()
    for i, item in enumerate(items):
        if kind_of(item) == "item_reference" or (kind_of(item) == "reasoning" and not item.get("encrypted_content")):
            message = (
                f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input."
            )
            yield ErrorFacts(status=404, message=message, type="invalid_request_error", param="input")
        elif kind_of(item) == "reasoning":
            found = _read(item["encrypted_content"], issuer)
            if found is None:
                message = (
                    f"The encrypted content {item['encrypted_content'][:16]}... could not be verified. "
                    "Reason: Encrypted content could not be decrypted or parsed."
                )
                yield invalid(message, code="invalid_encrypted_content")
                continue
            id, following = found
            thoughts.add(id)
            if following != mac("next", id, _following(items[i + 1 :])) and following != mac("next", id, None):
                message = f"Item '{id}' of type 'reasoning' was provided without its required following item."
                yield invalid(message, "input")
        else:
            after = _AFTER_REASONING.fullmatch(str(item.get("id")))
            id = f"rs_{after[1]}{after[2]}" if after else ""
            if after and after[3] == mark(issuer, id) and id not in thoughts:
                yield invalid(
                    f"Item '{item['id']}' of type '{kind_of(item)}' was provided without its required 'reasoning' item: "
                    f"'{id}'.",
                    "input",
                )


def _following(items: list[Plain]) -> Any:
    """What ties a reasoning item to the first item after it that is none."""
    for item in items:
        if kind_of(item) == "reasoning":
            continue
        if "call_id" in item:
            return ["call", item["call_id"]]
        content = item.get("content")
        texts = [part.get("text") for part in cast("list[Plain]", content)] if isinstance(content, list) else [content]
        return [item.get("role"), texts]
    return None


def _read(sealed: str, issuer: str) -> tuple[str, str] | None:
    """The id of a reasoning item and the mark for what follows it; `None` where the content is not ours."""
    fields = opened(issuer, sealed.removeprefix(START))
    return (fields[0], fields[1]) if fields and len(fields) == 2 else None


def finished(response: Response, document: Plain, context: Context) -> Response:
    """The response with its reasoning encrypted."""
    items, issuer = response.output, context.dialect.issuer
    plain = [_sketch(item) for item in items]
    output: list[AnyItem] = []
    thought: str | None = None
    for i, item in enumerate(items):
        if isinstance(item, Reasoning):
            thought = str(item.id)
            following = mac("next", thought, _following(plain[i + 1 :]))
            sealed = START + seal(issuer, thought, following)
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
