"""Signatures of the simulator: reasoning in a request must be unchanged and in its place.

Real vendors sign or encrypt a model's reasoning and reject altered reasoning. So does the simulator, with one signature
format (seal) for all wires and a published key. A seal covers the visible text of the reasoning and the last text of
the user, on the Messages wire everything before it; the id of the item after a thought is derived from the thought's
seal. `refusals.txt` lists the fields with seals on each wire.
"""

from __future__ import annotations

import binascii
import hmac
import re
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from .. import wires
from ..responses import CustomToolCall, FunctionCall, Message, OutputText, Reasoning, ReasoningText
from ..unknown import Unknown, as_object
from ..vendors.dialects import gemini_model
from .plain import Plain, rows

if TYPE_CHECKING:
    from ..responses import AnyItem, Response
    from ..server.handler import Context

KEY = b"llm_rest simulator: this key is public"
START = "gAAAA"
"""The prefix of a seal, as in OpenAI's encrypted content; `_HEAD` are its first bytes."""
_HEAD = b"\x80\0\0\0\0\0"

_CANONICAL = msgspec.json.Encoder(order="sorted")


def mac(*covered: Any) -> str:
    """A message authentication code (16 hexadecimal digits) of the plain values `covered`, in their order."""
    return hmac.digest(KEY, _CANONICAL.encode(covered), "sha256")[:8].hex()


def seal(issuer: str, *fields: str) -> str:
    """`fields` in an opaque string that only `issuer` can open. A field must not contain a colon."""
    whole = ":".join((*fields, mac("seal", issuer, *fields)))
    return binascii.b2a_base64(_HEAD + whole.encode(), newline=False).decode()


def opened(issuer: str, sealed: object) -> list[str] | None:
    """The fields in a seal of `issuer`; `None` for anything else, and for an altered seal."""
    try:
        text = binascii.a2b_base64(str(sealed).encode(), strict_mode=True).removeprefix(_HEAD).decode()
        *fields, whole = text.split(":")
    except (binascii.Error, UnicodeError):
        return None
    return fields if whole == mac("seal", issuer, *fields) else None


def last_user_text(document: Plain, path: str = "") -> str:
    """The last text of the user before the place at `path`."""
    listed: Any = next((document[name] for name in ("input", "messages", "contents") if name in document), None)
    index = re.match(r"\w+\.?\[?(\d+)", path)
    for message in reversed(rows(listed)[: int(index[1]) if index else None]):
        if message.get("role", "user") == "user":
            content: Any = message.get("content", message.get("parts"))
            text = content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in rows(content))
            if text:
                return text
    return listed if isinstance(listed, str) else ""


def prefix_mac(document: Plain, path: str = "") -> str:
    """The mac of everything before the message at `path`, to which newer models on the Messages wire bind a thought."""
    index = re.match(r"messages\.(\d+)", path)
    turns: list[tuple[Any, list[Any]]] = []
    for message in rows(document.get("messages"))[: int(index[1]) if index else None]:
        if not turns or turns[-1][0] != message.get("role"):
            turns.append((message.get("role"), []))
        turns[-1][1].extend(_blocks(message.get("content")))
    if index and turns and turns[-1][0] == "assistant":  # the beginning of the same answer
        turns.pop()
    return mac("prefix", _blocks(document.get("system")), _unmarked(document.get("tools") or []), turns)


def _blocks(content: Any) -> Any:
    return _unmarked([{"type": "text", "text": content}] if isinstance(content, str) else content or [])


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(inner) for name, inner in as_object(value).items() if name != "cache_control"}
    return [_unmarked(inner) for inner in cast("Any", value)] if isinstance(value, list) else value


def id_of_thoughts(issuer: str, name: str, seals: list[str]) -> str:
    """An id derived from `name` for the item after the thoughts with these seals."""
    return f"{name}x{mac('name', issuer, name)[:4]}{mac('call', name, seals)[:12]}"


_WITH_THOUGHTS = re.compile(r"(.+)x[0-9a-f]{16}")


def has_its_thoughts(issuer: str, id: str, runs: list[list[str]]) -> bool:
    """Whether the thoughts that an id was derived from are among these runs of seals; true for any other id."""
    ours = _WITH_THOUGHTS.fullmatch(id)
    if ours is None or not id.startswith(id_of_thoughts(issuer, ours[1], [])[:-12]):
        return True
    return any(id_of_thoughts(issuer, ours[1], seals) == id for seals in runs)


# --- creating signatures ----------------------------------------------------------------------------------------------

_ANSWERS = {"openai_responses": "resp_", "openai_chat": "chatcmpl-", "anthropic_messages": "msg_"}
_CALLS = {"anthropic_messages": "toolu_"}
"""The prefixes of the ids of answers and of calls."""


def signed(response: Response, document: Plain, context: Context) -> Response:
    """`response` with ids in the vendor's format, its thoughts sealed where the wire and the host have a field for that."""
    wire, seeds = context.wire, response.id.removeprefix("resp_")
    signer = Signer(document, context, seeds)
    output: list[AnyItem] = []
    items = response.output
    if wire == "openai_chat":  # a message has one field for all its thoughts
        items = sorted(items, key=lambda item: not isinstance(item, Reasoning))
    for i, item in enumerate(items):
        match item:
            case Reasoning():
                followed = any(not isinstance(one, Reasoning) for one in items[i + 1 :])
                output += signer.thought(item, f"{seeds}{i}", followed=followed)
            case FunctionCall() | CustomToolCall():
                output += signer.call(item, f"{seeds}{i}")
            case _:
                output += [*signer.flush(), signer.named(item)]
    output += signer.close()
    return replace(response, id=_ANSWERS.get(wire, "") + seeds, output=output)


class Signer:
    """Writes the items of one answer as documents of the wire and decodes them, so that seals are in the wire's own carriers."""

    def __init__(self, document: Plain, context: Context, seeds: str) -> None:
        self._context, self._wire, self._dialect = context, context.wire, context.dialect
        self._issuer: str = context.dialect.issuer
        self._turn = mac("turn", last_user_text(document))
        self._document = document
        config = as_object(document.get("generationConfig"))
        self._shows = as_object(config.get("thinkingConfig")).get("includeThoughts") is True
        self._omits = as_object(document.get("thinking")).get("display") == "omitted"
        self._details = getattr(self._dialect, "reasoning_field", "") == "reasoning_details"
        self._signs = "gemini" not in self._wire or gemini_model(context.model or "").signs_calls
        self._seeds, self._called, self._has_text = seeds, False, False
        self._held: list[Plain] = []
        self._seals: list[str] = []

    def thought(self, item: Reasoning, name: str, *, followed: bool) -> list[AnyItem]:
        """The thought in the format of this wire."""
        text = "\n".join(part.text for part in item.summary or ())
        match self._wire:
            case "openai_responses":
                self._seals = [self._seal([], name, str(int(followed)))]
                return [replace(item, encrypted_content=self._seals[0], status=None)]
            case "anthropic_messages" if item.summary:
                text = "" if self._omits else text
                self._seals.append(self._seal([text], prefix_mac(self._document), name))
                return [self._read({"type": "thinking", "thinking": text, "signature": self._seals[-1]})]
            case "anthropic_messages":
                self._seals.append(self._seal([], prefix_mac(self._document), name))
                return [self._read({"type": "redacted_thinking", "data": self._seals[-1]})]
            case "openai_chat" if self._details:
                kind, shown = ("text", {"text": text}) if text else ("encrypted", {})
                self._seals.append(self._seal([*shown.values()], name))
                sealed = {"signature" if text else "data": self._seals[-1]}
                about = {"format": "simulator", "index": len(self._held)}
                self._held.append({"type": f"reasoning.{kind}", **shown, **sealed, **about})
            case "gemini_generate_content" if self._shows and text:
                self._held.append({"text": text, "thought": True})
            case "ollama_chat" | "openai_chat" if text and getattr(self._dialect, "reasoning_field", "thinking"):
                self._held.append({"text": text})
            case _:
                pass
        return []

    def flush(self) -> list[AnyItem]:
        """The thoughts that this wire has in one item."""
        held, self._held = self._held, []
        if not held:
            return []
        if self._details:
            texts = [part["text"] for part in held if "text" in part]
            return [self._read({"reasoning_details": held, "reasoning": "\n".join(texts) or None})]
        if "gemini" in self._wire:
            return [self._read(held)]
        return [Reasoning(summary=[], content=[ReasoningText(text="\n".join(part["text"] for part in held))])]

    def call(self, item: FunctionCall | CustomToolCall, name: str) -> list[AnyItem]:
        """The call with an id in this vendor's format, after the thoughts before it."""
        exact = getattr(self._dialect, "exact_call_id", False) and self._dialect.longest_call_id
        id = (
            mac("id", name)[: exact or 8] if exact or "ollama" in self._wire else _CALLS.get(self._wire, "call_") + name
        )
        if "gemini" in self._wire:
            return self._gemini_call(item, mac("id", name)[:8])
        binds = self._seals and self._wire != "openai_responses"
        made = replace(item, call_id=id_of_thoughts(self._issuer, id, self._seals) if binds else id)
        return [*self.flush(), self.named(made)]

    def named(self, item: AnyItem) -> AnyItem:
        """The item; on the Responses API an item that follows a thought gets an id derived from its seal."""
        if isinstance(item, Message):
            self._has_text = self._has_text or any(isinstance(part, OutputText) and part.text for part in item.content)
        if self._wire != "openai_responses" or not self._seals or isinstance(item, Unknown):
            return item
        seals, self._seals = self._seals, []
        return replace(item, id=id_of_thoughts(self._issuer, str(item.id), seals))

    def close(self) -> list[AnyItem]:
        """The end of the answer: on Gemini a signed empty text, where there was no call."""
        rest = self.flush()
        if "gemini" in self._wire and self._signs and self._has_text and not self._called:
            rest.append(self._read([{"text": "", "thoughtSignature": self._seal([None], self._seeds)}]))
        return rest

    def _gemini_call(self, item: FunctionCall | CustomToolCall, id: str) -> list[AnyItem]:
        text = item.arguments if isinstance(item, FunctionCall) else msgspec.json.encode({"input": item.input})
        try:
            args = msgspec.json.decode(text, type=Plain)
        except msgspec.MsgspecError:
            args = {"arguments": text}
        call = {**({"id": id} if self._signs else {}), "name": item.name, "args": args}
        before: list[AnyItem] = []
        if self._signs and not self._called:
            # Not over the arguments: the guide binds a signature to its part, and a call that was put right keeps it.
            sealed = self._seal([{**call, "args": None}], self._seeds)
            before = [self._read([*self._held, {"functionCall": call, "thoughtSignature": sealed}])]
            self._held = []
        made = self._read([{"functionCall": call}])
        self._called = True
        return [*before, *self.flush(), replace(item, call_id=made.call_id, leftovers=made.leftovers)]

    def _seal(self, shown: list[Any], *more: str) -> str:
        return seal(self._issuer, mac("shown", shown), self._turn, *more)

    def _read(self, native: Any) -> Any:
        """The first item decoded from an answer with this thought or these parts."""
        document: Plain = {"id": "msg_", "model": "", "role": "assistant"}
        match self._wire:
            case "anthropic_messages":
                usage = {"input_tokens": 0, "output_tokens": 0}
                document |= {"type": "message", "content": [native], "stop_reason": "end_turn", "usage": usage}
            case "openai_chat":
                message = {"role": "assistant", "content": None, **native}
                document |= {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
            case _:
                document = {"candidates": [{"content": {"role": "model", "parts": native}, "finishReason": "STOP"}]}
        module = wires.load(self._wire)
        answer = module.RESPONSE.decode(msgspec.json.encode(document))
        return module.decode_response(answer, dialect=self._dialect)[0].output[0]
