"""How the Gemini API signs what its models say, and notices signatures that come back elsewhere, or not at all.

Follows the guide to thought signatures (read 2026-11-20). The first call of an answer is signed, else an empty text that ends
it. A signature covers the call (the guide does not name its arguments), or the text before it, and the user's words that were
answered. The call that opens a step needs its signature as long as the turn goes on; for calls of other vendors there is a word
that is taken instead. Models before Gemini 3 sign nothing here and give calls no ids.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from llm_rest.responses import CustomToolCall, FunctionCall, Message, OutputText, Reasoning

from .plain import Plain, table
from .seals import mac, opened, seal, wire_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llm_rest.responses import AnyItem, Response
    from llm_rest.server.handler import Context

    from .gemini_turns import Group

WIRE = "gemini_generate_content"

UNSIGNED = re.compile(r"(.*/)?gemini-(1|2)\b")
"""Models that ask for no signatures; an unknown one is taken for the newest."""

DUMMIES = (
    "skip_thought_signature_validator",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "context_engineering_is_the_way_to_go",
)
"""Taken for the signature of any call."""


def missing(groups: list[Group], model: str) -> Iterator[str]:
    """The calls of the turn that goes on which came back without their signature."""
    if UNSIGNED.match(model):
        return
    spoken = [i for i, group in enumerate(groups) if group.ordinary]
    for i, group in enumerate(groups[spoken[-1] :] if spoken else groups):
        nothing: tuple[str, Plain] = ("", {})
        path, part = next(((path, part) for path, part in group.parts if "functionCall" in part), nothing)
        if part and not part.get("thoughtSignature"):
            name = table(part["functionCall"]).get("name")
            yield f"Function call `{name}` in the {i + 1}. content block is missing a `thought_signature` ({path})."


def altered(groups: list[Group], issuer: str) -> Iterator[str]:
    """What is wrong with the signatures that came back."""
    for i, group in enumerate(groups):
        said = ""
        for path, part in group.parts:
            signature = part.get("thoughtSignature")
            if part.get("text") and not part.get("thought"):
                said += part["text"]
            if not signature or ("functionCall" in part and signature in DUMMIES):
                continue
            fields = opened(issuer, str(signature))
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


def _turn(groups: list[Group]) -> str:
    """The mark of the user's last words that are answered."""
    words = [part for group in groups for part in group.ordinary]
    return mac("turn", words[-1:])


# --- issuing --------------------------------------------------------------------------------------------------------


def finished(response: Response, groups: list[Group], config: Plain, context: Context) -> Response:
    """The response with an id as the vendor makes them, signed, its thoughts shown where the request asks for them."""
    seeds = response.id.removeprefix("resp_")
    signs = not UNSIGNED.match(context.model or "")
    shows = table(config.get("thinkingConfig")).get("includeThoughts") is True
    turn, issuer = _turn(groups), context.dialect.issuer
    thoughts: list[Plain] = []
    output: list[AnyItem] = []
    called = False
    said = ""
    for i, item in enumerate(response.output):
        if isinstance(item, Reasoning):
            thoughts += [{"text": part.text, "thought": True} for part in item.summary or () if shows]
            continue
        if isinstance(item, FunctionCall | CustomToolCall):
            part = _call(item, mac("id", seeds, i)[:8] if signs else None)
            if signs and not called:
                call = part["functionCall"]
                covered = mac("call", call.get("id"), call["name"])
                signed = {**part, "thoughtSignature": seal(issuer, covered, turn)}
                output.append(wire_item(WIRE, _answer([*thoughts, signed]), context))
            elif thoughts:
                output.append(wire_item(WIRE, _answer(thoughts), context))
            made: Any = wire_item(WIRE, _answer([part]), context)
            output.append(replace(item, call_id=made.call_id, leftovers=made.leftovers))
            called = True
        else:
            if thoughts:
                output.append(wire_item(WIRE, _answer(thoughts), context))
            said += _text(item)
            output.append(item)
        thoughts = []
    if thoughts:
        output.append(wire_item(WIRE, _answer(thoughts), context))
    if signs and said and not called:
        signature = seal(issuer, mac("text", said, ""), turn, str(len(said)))
        output.append(wire_item(WIRE, _answer([{"text": "", "thoughtSignature": signature}]), context))
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


def _answer(parts: list[Plain]) -> Plain:
    """The smallest answer with these parts."""
    return {"responseId": "", "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
