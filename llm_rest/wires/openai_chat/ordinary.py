"""The ordinary answer, which is nearly every answer: read in one go, because its decoder has checked everything.

`RESPONSE` tries a struct that takes only what OpenAI itself answers with a text or calls of functions. Where that fits, nothing
has to be looked for any more; every other answer is a plain `Completion` and goes the long way in `response.py`. Before
changing this file, know that both ways have to give the same response (`tests/wires/openai_chat/test_response.py`).
"""

from __future__ import annotations

import re
from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from ...responses.items import AnyItem, FunctionCall, Message
from ...responses.leftovers import SPELLING
from ...responses.parts import OutputText
from ...unknown import MOST_IN_ANSWER, Decoder, Model, ModelMeta, decoder_of
from . import types

CHOICE = "choices[0]"
MESSAGE = "choices[0].message"


def _only(kind: type[Model], /, **fields: Any) -> Any:
    """A `kind` that has just these fields, of just these types; those that may be absent say so."""
    forms = {name: fields.get(name, UnsetType) for name in kind.__struct_fields__}
    optional = {name: UNSET for name, form in forms.items() if form is UnsetType or UnsetType in _arms(form)}
    namespace = {"__annotations__": forms, "__module__": __name__, **optional}
    return ModelMeta(kind.__name__, (kind,), namespace)


def _arms(form: Any) -> tuple[Any, ...]:
    return getattr(form, "__args__", ())


_Name = Annotated[str, Meta(min_length=1)]
_Call = _only(
    types.ToolCall, id=_Name, type=Literal["function"], function=_only(types.FunctionBody, name=_Name, arguments=_Name)
)
_Answer = _only(
    types.Answer,
    role=Literal["assistant"],
    content=str | None,
    refusal=None | UnsetType,
    tool_calls=GenericAlias(list, (_Call,)) | UnsetType,
    annotations=Annotated[list[Any], Meta(max_length=0)] | UnsetType,
)
_Count = Annotated[int, Meta(gt=0)]
OrdinaryUsage = _only(
    types.Usage,
    prompt_tokens=_Count,
    completion_tokens=_Count,
    total_tokens=_Count,
    prompt_tokens_details=types.PromptDetails | UnsetType,
    completion_tokens_details=types.CompletionDetails | UnsetType,
)
"""Counts that need nothing but other names, where they come without details."""

_Choice = _only(
    types.Choice,
    index=Literal[0],
    finish_reason=Literal["stop", "length", "tool_calls", "content_filter"],
    logprobs=None | UnsetType,
    message=_Answer,
)
Ordinary: type[types.Completion] = _only(
    types.Completion,
    id=_Name,
    object=Literal["chat.completion"],
    created=int,
    model=str,
    choices=GenericAlias(list, (_Choice,)),
    usage=OrdinaryUsage | UnsetType,
    service_tier=str | None | UnsetType,
    system_fingerprint=str | None | UnsetType,
)
"""A completion with nothing unusual about it."""


_COMMENTS = re.compile(rb"\A(?:\s*:[^\n]*\n)+")
"""Keep-alives that hosts send while they think, which may precede an answer that is no stream."""


class _OrdinaryFirst(Decoder[types.Completion]):
    __slots__ = ("_ordinary",)

    def __init__(self) -> None:
        super().__init__(types.Completion, most_unknown=MOST_IN_ANSWER)
        self._ordinary: msgspec.json.Decoder[types.Completion] | None = None

    def decode(self, data: bytes | bytearray | str) -> types.Completion:
        if self._ordinary is None:
            self._ordinary = decoder_of(Ordinary)
        try:
            return self._ordinary.decode(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            pass  # what is raised below shall not show msgspec's error as its context
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
        return super().decode(_COMMENTS.sub(b"", raw, count=1))


RESPONSE: Decoder[types.Completion] = _OrdinaryFirst()


# A copy with other values costs a third of what making a struct costs.
_MESSAGE = Message(status="completed", role="assistant", content=[])
_TEXT = OutputText(text="", annotations=[])
_CALL = FunctionCall(status="completed", call_id="", name="", arguments="")


def read(body: types.Completion) -> tuple[list[AnyItem], types.Json] | None:
    """The items of an ordinary answer, complete, and what it leaves; `None` for any other."""
    if type(body) is not Ordinary or len(body.choices) != 1:
        return None
    # Everything below has been checked by the decoder, which a type checker cannot know.
    choice = body.choices[0]
    said: Any = choice.message
    output: list[AnyItem] = []
    if said.content:
        part = replace(_TEXT, text=said.content, annotations=[])
        output.append(replace(_MESSAGE, id=f"msg_{body.id}_0", content=[part]))
    if said.tool_calls:
        seen = {"null"}
        for call in said.tool_calls:
            call_id: str = call.id
            function = call.function
            if call_id in seen or function.arguments == "null":
                return None
            seen.add(call_id)
            item_id = f"fc_{body.id}_{len(output)}"
            name, arguments = function.name, function.arguments
            output.append(replace(_CALL, id=item_id, call_id=call_id, name=name, arguments=arguments))
    return output, _left(body, choice, said)


def _left(body: types.Completion, choice: types.Choice, said: types.Answer) -> types.Json:
    left: types.Json = {}
    if body.system_fingerprint is not UNSET:
        left["system_fingerprint"] = body.system_fingerprint
    if choice.logprobs is None:
        left[CHOICE] = {"logprobs": None}
    message: types.Json = {}
    if said.annotations is not UNSET:
        message["annotations"] = said.annotations
    if said.refusal is None:
        message["refusal"] = None
    if said.content == "":
        message[SPELLING] = {"content": ""}
    if said.tool_calls is not UNSET and not said.tool_calls:
        message["tool_calls"] = []
    if message:
        left[MESSAGE] = message
    return left
