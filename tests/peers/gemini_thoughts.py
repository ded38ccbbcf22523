"""How the Gemini API signs what its models say, and notices signatures that come back elsewhere, or not at all.

Follows the guide to thought signatures (read 2026-11-20). The first call of an answer is signed, else an empty text that ends
it. A signature covers the call (the guide does not name its arguments), or the text before it, and the user's words that were
answered. That the first call of a step needs its signature is a rule of the simulator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from llm_rest.responses import CustomToolCall, FunctionCall, Message, OutputText, Reasoning
from llm_rest.simulator.plain import Plain
from llm_rest.simulator.signatures import mac, opened, seal
from llm_rest.simulator.turns import DUMMIES, Turn
from llm_rest.unknown import as_object
from llm_rest.vendors.dialects import gemini_model

from .seals import turns_of, wire_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llm_rest.responses import AnyItem, Response
    from llm_rest.server.handler import Context

WIRE = "gemini_generate_content"


def forged(document: Plain, issuer: str) -> Iterator[str]:
    """What is wrong with the signatures that came back."""
    groups = turns_of(document, WIRE)
    for i, group in enumerate(groups):
        said = ""
        for path, part in group.blocks:
            signature = part.get("thoughtSignature")
            if part.get("text") and not part.get("thought"):
                said += part["text"]
            if not signature or ("functionCall" in part and signature in DUMMIES):
                continue
            fields = opened(issuer, signature)
            if fields is None or fields[0] != mac(*_covered(part, said, fields)):
                yield f"{path}: Corrupted thought signature."
            elif fields[1] != _turn(groups[:i]):
                yield f"{path}: Thought signature is not valid in this turn."


def _covered(part: Plain, said: str, fields: list[str]) -> tuple[Any, ...]:
    call = part.get("functionCall")
    if call is not None:
        return "call", call.get("id"), call.get("name")
    long = int(fields[2]) if len(fields) == 3 else len(said)
    return "text", said[len(said) - long :], part.get("text")


def _turn(groups: list[Turn]) -> str:
    """The mark of the user's last words that are answered; results of functions are none."""
    users = [part for group in groups if group.role == "user" for _, part in group.blocks]
    return mac("turn", [part for part in users if "functionResponse" not in part][-1:])


# --- issuing --------------------------------------------------------------------------------------------------------


def signed(response: Response, document: Plain, context: Context) -> Response:
    """The response with an id as the vendor makes them, signed, its thoughts shown where the request asks for them."""
    seeds, issuer = response.id.removeprefix("resp_"), context.dialect.issuer
    signs, turn = gemini_model(context.model or "").signs_calls, _turn(turns_of(document, WIRE))
    shows = as_object(as_object(document.get("generationConfig")).get("thinkingConfig")).get("includeThoughts") is True
    thoughts: list[Plain] = []
    output: list[AnyItem] = []
    called, said = False, ""

    def add(*parts: Plain) -> None:
        output.extend([_item([*thoughts, *parts], context)] if thoughts or parts else [])
        thoughts.clear()

    for i, item in enumerate(response.output):
        if isinstance(item, Reasoning):
            thoughts += [{"text": part.text, "thought": True} for part in item.summary or () if shows]
        elif isinstance(item, FunctionCall | CustomToolCall):
            part = _call(item, mac("id", seeds, i)[:8] if signs else None)
            if signs and not called:
                call = part["functionCall"]
                covered = mac("call", call.get("id"), call["name"])
                add({**part, "thoughtSignature": seal(issuer, covered, turn)})
            else:
                add()
            made: Any = _item([part], context)
            output.append(replace(item, call_id=made.call_id, leftovers=made.leftovers))
            called = True
        else:
            add()
            said += _text(item)
            output.append(item)
    add()
    if signs and said and not called:
        signature = seal(issuer, mac("text", said, ""), turn, str(len(said)))
        add({"text": "", "thoughtSignature": signature})
    return replace(response, id=seeds, output=output)


def _call(item: FunctionCall | CustomToolCall, id: str | None) -> Plain:
    args: Any = {"input": item.input} if isinstance(item, CustomToolCall) else _args(item.arguments)
    return {"functionCall": {**({"id": id} if id else {}), "name": item.name, "args": args}}


def _args(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments, type=Plain)
    except msgspec.MsgspecError:
        return {"arguments": arguments}


def _text(item: AnyItem) -> str:
    content = item.content if isinstance(item, Message) else ()
    return "".join(part.text for part in content if isinstance(part, OutputText))


def _item(parts: list[Plain], context: Context) -> AnyItem:
    """The first item in the smallest answer with these parts."""
    told = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return wire_item(WIRE, {"responseId": "", "candidates": [told]}, context)
