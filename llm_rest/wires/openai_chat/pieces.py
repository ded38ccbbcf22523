"""A whole answer from its chunks, put together as the host would have sent it.

Texts are joined, calls are told apart by index and id, counts and facts are the last that came. Before changing this file,
know how hosts differ ("Rules for a robust reader", Chat Completions references, read 2026-11-20): an index may be missing, a
float, always 0 or start at 1; an id may be empty or repeated in every piece; only a value that says something overwrites.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ...errors import DecodeError
from ...unknown import Decoder, Model, extras, given
from .._left import Rest, as_list, is_object, put_back, rest
from . import types
from .reasoning import is_text, pieces_of
from .types import Json

if TYPE_CHECKING:
    from collections.abc import Iterable

P = TypeVar("P", types.Text, types.Thinking)

GROWING = ("content", "refusal", "reasoning_content", "reasoning")
"""The fields of a message that come in pieces."""

_BESIDE = Rest(types.Delta, *GROWING, "tool_calls", "function_call", "role", "token_id")
_OF_CHOICE = tuple(
    n for n in types.Choice.__struct_fields__ if n not in ("index", "finish_reason", "message", "logprobs")
)
_OF_DOCUMENT = tuple(n for n in types.Completion.__struct_fields__ if n not in ("choices", "error", "object"))
_USAGE: Decoder[types.Usage] = Decoder(types.Usage)
_JOINED = ("text", "summary", "data")


_TEXT, _THOUGHT = types.Text(text=""), types.Thinking(thinking="")
_BODIES = (types.FunctionBody, types.CustomBody, types.ToolCall)


class CallPieces:
    """A call as far as it has come."""

    __slots__ = ("arguments", "call", "custom", "left", "legacy", "name", "pieces")

    def __init__(self, *, legacy: bool = False) -> None:
        self.call = types.ToolCall()
        self.name = ""
        self.custom = False
        self.legacy = legacy
        self.pieces: list[str] = []
        self.left: Json = {}
        self.arguments: Any = UNSET  # sent whole and not as text

    def add(self, piece: types.ToolCall) -> str:
        """Take a piece; what comes back is the text it adds to the arguments."""
        call = self.call
        for name in ("id", "type", "index", "extra_content"):
            value = getattr(piece, name)
            if given(value) and value != "" and not (name == "index" and given(call.index)):
                setattr(call, name, value)
        self.custom = self.custom or given(piece.custom)
        body = piece.custom if given(piece.custom) else piece.function if given(piece.function) else piece
        # Some hosts send the name in pieces, most repeat it or send an empty one.
        if body.name and body.name != self.name:
            self.name = body.name if not self.name or body.name.startswith(self.name) else self.name + body.name
        if type(piece) is not types.ToolCall:
            self.left.update(extras(piece))
        if type(body) not in _BODIES:
            self.left.setdefault("custom" if self.custom else "function", {}).update(extras(body))
        text = body.input if isinstance(body, types.CustomBody) else body.arguments
        if isinstance(text, str):
            self.pieces.append(text)
            return text
        if given(text):
            self.arguments = text
        return ""

    @property
    def begun(self) -> bool:
        """Whether anything of its arguments came."""
        return any(self.pieces) or self.arguments is not UNSET

    def whole(self) -> types.ToolCall:
        """The call as an answer that is no stream has it."""
        text = "".join(self.pieces) if self.arguments is UNSET else self.arguments
        call = replace(self.call)
        if self.custom:
            call.custom = types.CustomBody(name=self.name, input=text)
        else:
            call.function = types.FunctionBody(name=self.name, arguments=text)
        return put_back(call, self.left) if self.left else call


class Alike:
    """Tells chunks that say nothing but one more piece of the text that is being said, as nearly all do.

    Only the first chunk it gets is looked at field by field; where that is such a one, the others are compared with it.
    """

    __slots__ = ("_like",)

    def __init__(self) -> None:
        self._like: types.Delta | None = None

    def text(self, chunk: types.Chunk) -> str:
        """The piece of text; nothing where the chunk says more, or where that is not known yet."""
        choices = chunk.choices
        if not choices or len(choices) > 1 or chunk.usage or chunk.error or chunk.base_resp:
            return ""
        choice = choices[0]
        if (
            choice.index
            or choice.finish_reason
            or choice.logprobs
            or choice.usage
            or type(choice) is not types.ChunkChoice
        ):
            return ""
        delta, like = choice.delta, self._like
        if not delta:
            return ""
        if like is None:
            more = {name for name in delta.__struct_fields__ if getattr(delta, name)} - {"role", "content", "token_id"}
            self._like = types.Delta() if more else replace(delta)
            return ""
        content = like.content = delta.content
        like.token_id = delta.token_id
        return content if isinstance(content, str) and delta == like else ""


class Pieces:
    """The answer that the chunks make. `calls` are in the order in which they began."""

    def __init__(self) -> None:
        self.body = types.Completion(object="chat.completion", choices=[])
        self.choice = types.Choice(index=0)
        self._said = types.Answer(role="assistant")
        self.calls: list[CallPieces] = []
        self._texts: dict[str, list[str]] = {}
        self._parts: list[Any] = []
        self._details: dict[
            tuple[str, str], tuple[Json, dict[str, list[str]]]
        ] = {}  # and the texts that come in pieces
        self._logprobs: Json = {}
        self._extras: dict[str, Json] = {}
        self._by_index: dict[int, CallPieces] = {}

    # -- taking

    def document(self, chunk: types.Chunk) -> None:
        """Take what the chunk says about the answer as a whole."""
        for name in _OF_DOCUMENT:
            value = getattr(chunk, name)
            if given(value) and value != "":
                setattr(self.body, name, value)
        self._keep("document", chunk)
        if not given(self.body.usage) and is_object(chunk.x_groq) and "usage" in chunk.x_groq:
            with suppress(DecodeError):  # what is no count stays where it came
                self.body.usage = _USAGE.decode(msgspec.json.encode(chunk.x_groq["usage"]))

    def ending(self, choice: types.ChunkChoice) -> None:
        """Take what a chunk says about its choice beside the message."""
        if choice.finish_reason and not self.choice.finish_reason:
            self.choice.finish_reason = choice.finish_reason
        for name in _OF_CHOICE:
            value = getattr(choice, name)
            if value is not UNSET:
                setattr(self.choice, name, value)
        if given(choice.usage):
            self.body.usage = choice.usage
        if is_object(choice.logprobs):
            for name, value in choice.logprobs.items():
                known = self._logprobs.get(name)
                self._logprobs[name] = value if known is None else [*as_list(known), *as_list(value)] or known
        elif choice.logprobs is None and self.choice.logprobs is UNSET:
            self.choice.logprobs = None
        self._keep("choice", choice)

    def text(self, field: str, piece: str) -> None:
        """Take a piece of a text."""
        if field == "content" and self._parts:
            self.parts([types.Text(text=piece)])
        else:
            self._texts.setdefault(field, []).append(piece)

    def parts(self, parts: list[Any]) -> None:
        """Take pieces of a content that is a list; neighbours of one kind are one part."""
        for part in parts:
            last = self._parts[-1] if self._parts else None
            if isinstance(part, types.Text) and isinstance(last, types.Text):
                last.text += part.text
                if part != replace(_TEXT, text=part.text):
                    self._parts[-1] = _followed(last, part, "text")
            elif isinstance(part, types.Thinking) and isinstance(last, types.Thinking):
                last.thinking = _joined(last.thinking, part.thinking)
                if part != replace(_THOUGHT, thinking=part.thinking):
                    self._parts[-1] = _followed(last, part, "thinking")
            else:
                self._parts.append(part)

    def rest(self, delta: types.Delta) -> None:
        """Take what a delta says beside texts and calls."""
        for name, value in _BESIDE.of(delta).items():
            before = getattr(self._said, name, UNSET)
            if name == "reasoning_details" and value:
                self.details(value)
            elif name == "annotations" and value:
                self._said.annotations = [*(before or ()), *value]
            elif name == "audio" and value and before:
                self._said.audio = _joined_audio(before, value)
            elif name not in types.Answer.__struct_fields__:
                self._extras.setdefault("message", {})[name] = value
            elif value is not None or before is UNSET:
                setattr(self._said, name, value)
        for name in GROWING:
            if getattr(delta, name) is None and getattr(self._said, name) is UNSET:
                setattr(self._said, name, None)

    def call(self, piece: types.ToolCall) -> tuple[CallPieces, str]:
        """Take a piece of a call: the call it belongs to, and the text it adds."""
        index = int(piece.index) if given(piece.index) else None
        found = self._by_index.get(index) if index is not None else self.calls[-1] if self.calls else None
        new_id = piece.id if piece.id not in ("", "null") else None
        if found is None or (new_id and found.call.id and new_id != found.call.id):
            # Without an index a second complete call is told by its id or its name alone.
            found = CallPieces()
            self.calls.append(found)
        elif index is None and not new_id and given(piece.function) and piece.function.name and _complete(found):
            found = CallPieces()
            self.calls.append(found)
        if index is not None:
            self._by_index[index] = found
        return found, found.add(piece)

    def legacy(self, piece: types.FunctionBody) -> tuple[CallPieces, str]:
        """Take a piece of a call in the legacy form."""
        if not self.calls:
            self.calls.append(CallPieces(legacy=True))
        return self.calls[-1], self.calls[-1].add(types.ToolCall(function=piece))

    def details(self, details: Iterable[Json]) -> None:
        """Take pieces of structured reasoning, which are told apart by index and type."""
        for detail in details:
            key = str(detail.get("index", len(self._details))), str(detail.get("type"))
            known, texts = self._details.setdefault(key, ({}, {}))
            for name, value in detail.items():
                if name in _JOINED and isinstance(value, str):
                    texts.setdefault(name, []).append(value)
                    known.setdefault(name, "")
                elif value is not None or name not in known:
                    known[name] = value

    def _keep(self, place: str, struct: Model) -> None:
        if unknown := extras(struct):
            self._extras.setdefault(place, {}).update(unknown)

    # -- giving

    def said(self) -> types.Answer:
        """The message as far as it has come."""
        said = replace(self._said)
        for field, pieces in self._texts.items():
            setattr(said, field, "".join(pieces))
        if self._parts:
            said.content = self._parts
        elif said.content is UNSET or said.content == "":
            said.content = None
        if self._details:
            said.reasoning_details = [
                {**known, **{name: "".join(pieces) for name, pieces in texts.items()}}
                for known, texts in self._details.values()
            ]
        for call in self.calls:
            if call.legacy:
                said.function_call = call.whole().function
        if calls := [call.whole() for call in self.calls if not call.legacy]:
            said.tool_calls = calls
        return put_back(said, self._extras.get("message", {}))

    def whole(self) -> types.Completion:
        """The answer as far as it has come, as one document."""
        choice = replace(self.choice, message=self.said())
        if self._logprobs:
            choice.logprobs = self._logprobs
        choice = put_back(choice, self._extras.get("choice", {}))
        body = replace(self.body, choices=[choice])
        return put_back(body, self._extras.get("document", {}))


def _complete(call: CallPieces) -> bool:
    try:
        msgspec.json.decode("".join(call.pieces))
    except msgspec.DecodeError:
        return False
    return True


def _joined(one: str | list[Json], other: str | list[Json]) -> str | list[Json]:
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    pieces = pieces_of(one)
    for piece in pieces_of(other):
        if is_text(piece) and pieces and is_text(pieces[-1]):
            pieces[-1] = {**pieces[-1], **piece, "text": pieces[-1]["text"] + piece["text"]}
        else:
            pieces.append(piece)
    return pieces


def _followed(last: P, part: Model, growing: str) -> P:
    """The part with what the next piece of it says beside its text."""
    said = rest(part, growing)
    declared = {name: said[name] for name in said if name in last.__struct_fields__ and said[name] is not None}
    return put_back(replace(last, **declared), said) if said else last


def _joined_audio(one: Json, other: Json) -> Json:
    joined = {**one, **{name: value for name, value in other.items() if value is not None}}
    for name in ("data", "transcript"):
        if isinstance(one.get(name), str) and isinstance(other.get(name), str):
            joined[name] = one[name] + other[name]
    return joined
