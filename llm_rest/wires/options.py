"""Options that a wire lacks, reported by path from its tables `REFUSED` and `DROPPED`; and shared options.

Before changing this file, know that the texts are here once for all wires: a wire lists paths such as `text.verbosity`,
as the caller writes them; and that an option with every wire's default (false, zero, empty) is no loss.
"""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec.structs import replace

from ..errors import DecodeError
from ..losses import no_such, not_in
from ..responses.carriers import NAMES
from ..responses.request import JsonSchemaFormat
from ..unknown import Model, Unknown, extras, or_none, with_extras
from .leftovers import is_set

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from msgspec import Struct

    from ..losses import Losses
    from ..responses.request import Request, TextOptions

M = TypeVar("M", bound=Model)
Json = dict[str, Any]

LOGPROBS = "message.output_text.logprobs"
"""The value of `include` that requests log probabilities."""
ENCRYPTED = "reasoning.encrypted_content"
"""The value of `include` that requests opaque reasoning, which most wires send anyway."""

INCLUDED = (ENCRYPTED, "web_search_call.action.sources", "code_interpreter_call.outputs")
"""Values of `include` for data that wires with hosted tools always return."""

JSON_ONLY = "Answer with one JSON object and nothing else."
"""The instruction to the model where a wire has no JSON mode."""

STATELESS = "{} keeps nothing between calls; send the conversation itself"
REASONS = {
    "previous_response_id": STATELESS,
    "conversation": STATELESS,
    "prompt": "{} has no stored prompts",
    "background": "{} has no background mode",
    "context_management": "{} does not compact conversations",
    "moderation": "{} does not moderate",
    "truncation": "{} does not shorten a conversation to fit",
}
"""The reason for rejecting a request with an option: without it the answer would be about something else."""

NO_EFFECT = {"truncation": "disabled"}
"""Values that are the default on every wire, beside those that are false, zero or empty."""


def report_missing(
    value: Struct,
    wire: str,
    lost: Losses,
    *,
    refused: tuple[str, ...] = (),
    dropped: tuple[str, ...] = (),
    path: str = "",
) -> None:
    """Report the `refused` and `dropped` options that are set in a request, or in the tool at `path`."""
    read, nothing = _reader(type(value), refused, dropped)
    if read(value) == nothing:  # as in nearly every request
        return
    for name in refused:
        if _is_set(value, name):
            lost.refused(_joined(path, name), REASONS.get(name, no_such("option", "{}")).format(NAMES[wire]))
    for name in dropped:
        if _is_set(value, name):
            lost.dropped(_joined(path, name), no_such("option", NAMES[wire]))


@lru_cache(maxsize=256)
def _reader(
    kind: type[Struct], refused: tuple[str, ...], dropped: tuple[str, ...]
) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[Any, ...]]:
    """A getter for the fields of a struct that the paths begin with, and its result where none is set."""
    names = [name for path in (*refused, *dropped) if (name := path.partition(".")[0]) in kind.__struct_fields__]
    # The class is appended, since a getter of a single name returns no tuple.
    return attrgetter(*names, "__class__"), (*[None] * len(names), kind)


def _is_set(value: Any, path: str) -> bool:
    for name in path.split("."):
        value = getattr(value, name, None)
    return (is_set(value) and NO_EFFECT.get(path) != value) or (path == "max_tool_calls" and value is not None)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name.rstrip('_')}" if path else name


def report_include(request: Request, known: Collection[str], wire: str, lost: Losses) -> None:
    """Report the values of `include`, except those that are `known`."""
    for j, name in enumerate(request.include or ()):
        if name not in known:
            lost.dropped(f"include[{j}]", not_in(repr(name), NAMES[wire]))


# --- options of the same meaning ------------------------------------------------------------------------------------


def encode_same(request: Request, names: Mapping[str, str]) -> dict[str, Any]:
    """The options of a request by their names on a wire; `names` maps those to ours."""
    return {theirs: value for theirs, ours in names.items() if (value := getattr(request, ours)) is not None}


def decode_same(document: Struct, names: Mapping[str, str], request: Request) -> None:
    """Set the options of a request that a document of a wire has under these names."""
    for theirs, ours in names.items():
        setattr(request, ours, or_none(getattr(document, theirs)))


# --- decisions that several wires share ---------------------------------------------------------------------------


def asks_for_logprobs(request: Request, lost: Losses) -> bool:
    """Whether log probabilities are requested; `top_logprobs` alone requests them as well."""
    included = LOGPROBS in (request.include or ())
    if request.top_logprobs and not included:
        lost.emulated("top_logprobs", "log probabilities, which are also requested")
    return included or bool(request.top_logprobs)


def report_format(text: TextOptions, wire: str, lost: Losses) -> None:
    """Report an output format that a wire lacks, and a non-strict schema where every schema is enforced."""
    if isinstance(text.format, JsonSchemaFormat):
        if text.format.strict is False:
            lost.changed("text.format.strict", f"{NAMES[wire]} always enforces a schema")
    elif isinstance(text.format, Unknown):
        lost.refused("text.format", not_in(f"the format {text.format.kind!r}", NAMES[wire]))


def schema_format(schema: Json, *, strict: bool | None = None) -> JsonSchemaFormat:
    """The format for a schema without a name, which Responses requires: its title where that is valid."""
    title = schema.get("title")
    named = isinstance(title, str) and title.isidentifier() and title.isascii() and len(title) <= 64
    return JsonSchemaFormat(name=cast("str", title) if named else "answer", schema=schema, strict=strict)


def with_extra(body: M, extra: Json | None, wire: str, lost: Losses) -> M:
    """The body with the caller's additions for a wire, which take precedence over everything else."""
    if not extra:
        return body
    declared = {name: value for name, value in extra.items() if name in body.__struct_fields__}
    unknown = {name: value for name, value in extra.items() if name not in declared}
    body = replace(body, **declared)
    try:
        return with_extras(body, {**extras(body), **unknown}) if unknown else body
    except DecodeError as problem:
        lost.refused(f"extra.{wire}", problem.message)
        return body
