"""Typed output: the strategies to request JSON of a type, and the value in the answer.

The strictest strategy that is supported is used; the reply has the same form with each: a message whose
text is the JSON. Before changing this file, know that every value is validated against the caller's own schema, because the
schema sent may be reduced, and a vendor may not enforce it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, MutableSequence, Sequence
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    TypeVar,
    cast,
    get_args,
    get_origin,
)

import msgspec
from msgspec.structs import replace

from ..errors import ConfigError
from ..losses import Loss, Losses
from ..responses.items import AnyItem, FunctionCall, FunctionCallOutput, Message, Reasoning
from ..responses.parts import OutputText
from ..responses.request import JsonObjectFormat, JsonSchemaFormat, Request, TextOptions, items_of
from ..responses.tools import ChooseFunction, FunctionTool
from ..tools.forms import DoesNotFit, convert, schema_of
from ..tools.schema import Schema, checked, malformed, unchecked
from ..unknown import given
from ..wires.schema import NotStrict, strict_form
from .options import Strategy
from .partial import NotJSON, json_in

T = TypeVar("T")

_WRAP = "value"
"""The property that wraps a value which is not an object."""


class Way(NamedTuple):
    """One request of a strategy: the request, the name of the tool whose call is the answer, and the losses."""

    strategy: Strategy
    request: Request
    tool: str | None
    lost: list[Loss]


class Output(Generic[T]):
    """Typed output: the type or JSON Schema of an answer. Raises `ConfigError` for anything else."""

    def __init__(self, form: Any) -> None:
        self._form = form
        self._entry_form: Any = _entry_form(form)
        if isinstance(form, Mapping):
            self.schema: Schema = _plain(cast("Mapping[str, Any]", form))
            name = self.schema.get("title")
            ignored = unchecked(self.schema)
        else:
            self.schema = schema_of(form)
            ignored = []  # the type itself is validated instead of its schema
            name = getattr(form, "__name__", None)
        what = f"the answer is not checked against: {', '.join(ignored)}"
        self._unchecked = [Loss("output", what, "dropped")] if ignored else []
        self.name = re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:64] if isinstance(name, str) and name else "answer"
        self.wraps = self.schema.get("type") != "object" or "anyOf" in self.schema or "oneOf" in self.schema
        self.sent_schema = _wrapped(self.schema) if self.wraps else self.schema

    # --- requests ---------------------------------------------------------------------------------------------------

    def ways(self, request: Request, strategy: Strategy | None = None, *, strict: bool = False) -> Iterator[Way]:
        """The possible requests, best first, or those of one strategy; `strict`: for hosts that enforce the full schema."""
        makers = {"native": self._native, "tool": self._tool, "instructions": self._instructions}
        for one in makers if strategy is None else (strategy,):
            for way in makers[one](request, strict):
                yield way._replace(lost=[*way.lost, *self._unchecked])

    def _native(self, request: Request, strict: bool) -> Iterator[Way]:
        lost = Losses()
        schema, enforced = self.sent_schema, True
        if strict:
            changes = Losses()
            try:
                schema = strict_form(schema, changes, "text.format.schema")
                lost += changes
            except NotStrict as problem:
                enforced = False
                lost.changed("text.format.strict", f"strict is not set, since the host cannot enforce: {problem}")
        format = JsonSchemaFormat(name=self.name, schema=schema, strict=enforced)
        yield Way("native", replace(request, text=_text(request, format)), None, lost)

    def _tool(self, request: Request, strict: bool) -> Iterator[Way]:
        lost = Losses()
        lost.emulated("text.format", "a schema, requested as a tool call")
        others = request.tools or []
        name, taken = "answer", {getattr(tool, "name", None) for tool in others}
        while name in taken:
            name = f"final_{name}"
        tool = FunctionTool(
            name=name,
            description="Gives the answer. Call it once, with the whole answer.",
            parameters=self.sent_schema,
            strict=False,
        )
        # The caller's own tools may be called first, unless none may be called.
        choice = "required" if others and request.tool_choice != "none" else ChooseFunction(name=name)
        yield Way("tool", replace(request, tools=[*others, tool], tool_choice=choice), name, lost)

    def _instructions(self, request: Request, strict: bool) -> Iterator[Way]:
        lost = Losses()
        lost.emulated("text.format", "a schema, which is added to the instructions")
        text = (
            "Answer with one JSON object and nothing else. It has to fit this JSON Schema:\n"
            f"{msgspec.json.encode(self.sent_schema).decode()}"
        )
        # First, so that later items can grow without changing the prefix that was sent before.
        instructed = replace(request, input=[Message(role="system", content=text), *items_of(request)])
        yield Way("instructions", replace(instructed, text=_text(request, JsonObjectFormat())), None, lost)
        yield Way("instructions", instructed, None, lost)

    # --- answers ----------------------------------------------------------------------------------------------------

    def value(self, text: str) -> tuple[T, list[Loss]]:
        """The value in an answer, and the ignored text as losses. Raises `DoesNotFit`."""
        lost = Losses()
        try:
            found, amid_text = json_in(text)
        except NotJSON as problem:
            raise DoesNotFit([str(problem)]) from None
        if amid_text:
            lost.changed("output_text", "text around the JSON, which was ignored")
        plain, wrong = checked(self.sent_schema, found)
        if not wrong:
            return self._converted(plain[_WRAP] if self.wraps else plain), lost
        if self.wraps and not (isinstance(found, dict) and found.keys() == {_WRAP}):
            plain, wrong_too = checked(self.schema, found)
            if not wrong_too:
                lost.changed("output_text", f"the value was not wrapped in the requested object: {_WRAP!r}")
                return self._converted(plain), lost
        raise DoesNotFit(wrong)

    def _converted(self, plain: Any) -> T:
        return cast("T", plain if isinstance(self._form, Mapping) else convert(plain, self._form))

    def partial(self, plain: Any) -> list[Any]:
        """The partial value of an incomplete object: a list of none or one."""
        if not self.wraps:
            return [plain]
        if self.schema.get("type") == "array" and isinstance(plain, list):  # the value without the object that wraps it
            return [cast("Any", plain)]
        return [plain[_WRAP]] if isinstance(plain, dict) and _WRAP in plain else []

    def entries(self, plain: Any) -> list[Any]:
        """The partial list of an incomplete object, not copied."""
        found: Any = next(iter(self.partial(plain)), None)
        return cast("Any", found) if isinstance(found, list) else []

    def entry(self, plain: Any) -> Any:
        """An entry of the list, converted to its type. Raises `DoesNotFit`."""
        one = {word: limit for word, limit in self.schema.items() if word not in _OF_ALL_ENTRIES}
        (converted,), wrong = checked(one, [plain])
        if wrong:
            raise DoesNotFit(wrong)
        return converted if isinstance(self._form, Mapping) else convert(converted, self._entry_form)

    @property
    def is_list(self) -> bool:
        """Whether the answer is a list of any length whose entries are all of one type."""
        return self._entry_form is not None


_OF_ALL_ENTRIES = frozenset({"minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"})
_LISTS = (list, Sequence, MutableSequence, Collection)


def _entry_form(form: Any) -> Any:
    """The type of the entries of a list; `None` for other types, and for a tuple of several types."""
    if isinstance(form, Mapping):
        schema = cast("Mapping[str, Any]", form)
        fixed = "prefixItems" in schema or isinstance(schema.get("items"), list)
        return Any if schema.get("type") == "array" and not fixed else None
    form = getattr(form, "__value__", form)  # a type alias (`type Name = ...`): the aliased type
    origin, args = get_origin(form), get_args(form)
    if origin is Annotated:
        return _entry_form(form.__origin__)
    if form in (tuple, *_LISTS):
        return Any
    if origin is tuple:
        return args[0] if args[1:] == (...,) else None
    return args[0] if origin in _LISTS else None


def as_message(output: list[AnyItem], tool: str) -> list[AnyItem]:
    """The items of an answer, with the answering call converted to a message with its text."""
    made: list[AnyItem] = []
    for item in output:
        if isinstance(item, FunctionCall) and item.name == tool:
            last = made[-1] if made else None
            if isinstance(last, Reasoning) and not last.summary and not last.content:
                made.pop()  # opaque state of a call that is no longer in the answer
            text = OutputText(text=item.arguments, annotations=[])
            item = Message(role="assistant", content=[text], status=item.status)
        made.append(item)
    return made


def corrected(request: Request, output: list[AnyItem], tool: str | None, wrong: list[str]) -> Request:
    """The re-prompt: the request with the answer, and its validation errors as a numbered list."""
    listed = "\n".join(f"{i}. {what}" for i, what in enumerate(wrong, 1))
    text = f"This does not fit what was asked for:\n{listed}\nAnswer again: the whole JSON object, corrected, and nothing else."
    calls = [item for item in output if isinstance(item, FunctionCall) and item.name == tool]
    more: list[AnyItem] = [FunctionCallOutput(call_id=call.call_id, output=text) for call in calls]
    before = [] if given(request.conversation) else [*items_of(request), *output]
    return replace(request, input=[*before, *(more or [Message(role="user", content=text)])])


def _plain(schema: Mapping[str, Any]) -> Schema:
    """A copy of the caller's schema. Raises `ConfigError` for an invalid one."""
    try:
        copy: Schema = msgspec.json.decode(msgspec.json.encode(dict(schema)))
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigError(f"a JSON Schema is JSON data: {problem}") from None
    if found := malformed(copy):
        raise ConfigError(f"this is no JSON Schema: {'; '.join(found)}")
    return copy


def _text(request: Request, format: JsonSchemaFormat | JsonObjectFormat) -> TextOptions:
    return replace(request.text, format=format) if given(request.text) else TextOptions(format=format)


def _wrapped(schema: Schema) -> Schema:
    """The schema of an object that wraps `schema`: vendors require an object at the top level."""
    definitions = {word: schema[word] for word in ("$defs", "definitions") if word in schema}
    inner = {word: value for word, value in schema.items() if word not in definitions}
    made: Schema = {"type": "object", "properties": {_WRAP: inner}, "required": [_WRAP], "additionalProperties": False}
    whole: Schema = _moved({**made, **definitions})
    return whole


def _moved(value: Any) -> Any:
    """A schema with its references to the root adapted to its new place."""
    if isinstance(value, list):
        return [_moved(one) for one in cast("Any", value)]
    if not isinstance(value, dict):
        return value
    made = {name: _moved(one) for name, one in cast("Schema", value).items()}
    reference = made.get("$ref")
    if (
        isinstance(reference, str)
        and reference.startswith("#")
        and not reference.startswith(("#/$defs/", "#/definitions/"))
    ):
        made["$ref"] = f"#/properties/{_WRAP}{reference[1:]}"
    return made
