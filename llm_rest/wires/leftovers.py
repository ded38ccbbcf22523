"""What the converters of all wires share: plain JSON of any origin, new answers, loss reports by field, and opaque state.

Documents are compared and restored in `kept.py`. Before changing this file, know that the reports for an ordinary
document must cost almost nothing.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct

from ..losses import no_such, not_in, not_taken
from ..responses.carriers import NAMES, SPELLING, report_foreign, seal, sender, unseal
from ..responses.items import Compaction, Reasoning
from ..responses.parts import InputText, SummaryText
from ..responses.response import ECHOED, IncompleteDetails, Response, ResponseError, Usage, echo
from ..responses.tools import ChooseAllowed
from ..unknown import Model, Opt, Unknown, as_object, base, extras, given, or_none, plain_json, with_extras

if TYPE_CHECKING:
    from ..losses import Losses
    from ..responses.items import AnyItem
    from ..responses.request import Request

Json = dict[str, Any]
T = TypeVar("T")
S = TypeVar("S", bound=Model)


UNISSUED = "reasoning that no vendor issued, which no model accepts as its own"


def is_unissued(item: Reasoning) -> bool:
    """Whether no vendor issued the reasoning: nothing in it would return to one."""
    says_more = any(any(fields.values()) for fields in (item.leftovers or {}).values())
    return not (item.encrypted_content or item.id or says_more)


def is_object(value: Any) -> TypeGuard[Json]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def new_answer(id: str, created_at: float | None, model: Opt[str], request: Request | None) -> Response:
    """A response in progress without output, with the fields that repeat its request."""
    response = Response(id=id, status="in_progress", created_at=created_at, model=model or "", output=[])
    if request is not None:
        for name, value in echo(request).items():
            setattr(response, name, value)
    return response


ID_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fc",
    "custom_tool_call": "ctc",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
    "compaction": "cmp",
}
"""The prefix of the ids of each type of item, as Responses hosts expect it. Other types are made by OpenAI alone."""


def item_id(item: Any, origin: str, position: int) -> str:
    """The id of the item at `position` of the answer `origin`, the same every time."""
    return f"{ID_PREFIXES[item.type]}_{origin}_{position}"


def struct_of(value: T) -> type[T]:
    """The struct that declares a value; with unknown fields, its own type is a subclass made for these."""
    kind = type(value)
    return cast("type[T]", kind.__mro__[1]) if getattr(kind, "__extras__", ()) else kind


def kind_of(value: Struct | Unknown) -> str:
    """The `type` of an item, a part or a tool."""
    return value.kind if isinstance(value, Unknown) else str(value.__struct_config__.tag)


def as_plain(value: Any) -> Any:
    """Structs as plain JSON. Arguments that are not text are slices of the document, which only encoding can read."""
    return plain_json(msgspec.json.encode(value))


def present(model: Model, *but: str) -> Json:
    """The fields that a document has, undeclared ones included, except those named."""
    fields = zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True)
    return {name: v for name, field in fields if name not in but and (v := getattr(model, field)) is not UNSET}


def built(kind: type[S], fields: Json) -> S:
    """The document with these fields, declared or not."""
    declared = kind.__struct_fields__
    others = {name: value for name, value in fields.items() if name not in declared}
    return with_extras(kind(**{name: value for name, value in fields.items() if name in declared}), others)


HOSTED = frozenset(
    "web_search_call file_search_call code_interpreter_call image_generation_call mcp_list_tools mcp_call "
    "tool_search_call tool_search_output".split()
)
"""Records of hosted tools; their effect is in the text that follows."""


def report_item(item: AnyItem, path: str, wire: str, lost: Losses, *, history: bool = False) -> None:
    """Report an item that a wire cannot hold. A `history` cannot do without it, unless it is a record or unknown."""
    if not isinstance(item, Unknown):
        report_unknown(item, path, lost)
        if history and item.leftovers is not None:
            report_foreign(item.leftovers, wire, path, lost)
    report = lost.refused if history and item.type not in HOSTED and not isinstance(item, Unknown) else lost.dropped
    report(path, not_in(f"an item of type {kind_of(item)!r}", NAMES[wire]))


def stands_for_another(part: Any, wire: str) -> bool:
    """Whether a part is only the place of another wire's block without text, which some hosts reject as an empty text."""
    left = part.leftovers if type(part) is InputText and not part.text else None
    return left is not None and wire not in left and any(as_object(own).keys() - {SPELLING} for own in left.values())


def known(value: S, path: str, lost: Losses) -> S:
    """The item or part without the fields that its struct does not declare, which are reported."""
    return base(value) if report_unknown(value, path, lost) else value


SETTINGS = (
    *("text", "reasoning", "tool_choice", "stream_options", "prompt_cache_options", "prompt", "context_management"),
    *("conversation", "usage", "incomplete_details", "error"),
)
"""Fields of requests and answers whose values are objects of their own."""

NEWS = (
    *("moderation", "tool_usage", "content_filters", "prompt_cache_diagnostics", "billing", "input_transformations"),
    *("access_programs", "image", "conversation", "service_tier"),
)
"""Fields of an answer, beside those that repeat the request, that few wires have."""


def is_set(value: Any) -> bool:
    """Whether an option of Responses has an effect: false, zero and empty values are the default on every wire."""
    return bool(value) or value == ""


def report_answer(response: Response, lost: Losses, *encoded: str) -> None:
    """Report the fields of an answer that the wire has not `encoded`, and undeclared ones."""
    for name in NEWS:
        if name not in encoded and is_set(getattr(response, name)):
            lost.dropped(name, "only Responses has such a field of an answer")
    report_unknown(response, "", lost)


DETAILS = ("cached_tokens", "cache_write_tokens", "reasoning_tokens")
"""The counts in the details of a usage that most wires have."""


def set_status(response: Response, status: str, reason: str | None, message: str) -> None:
    """Set the status of an answer: the reason if it is incomplete, or the code and message if it failed."""
    response.status = status
    if status == "incomplete":
        response.incomplete_details = IncompleteDetails(reason=reason)
    elif status == "failed":
        response.error = ResponseError(code=reason, message=message)


def report_usage(usage: Usage, wire: str, lost: Losses, *encoded: str) -> None:
    """Report token counts and costs of an answer that the wire has not `encoded`; absent totals mean the sum."""
    if "total_tokens" not in encoded and usage.total_tokens != usage.input_tokens + usage.output_tokens:
        lost.dropped("usage.total_tokens", "a total that is not the sum")
    for name in ("input_tokens_details", "output_tokens_details"):
        details = getattr(usage, name)
        for count in details.__struct_fields__ if given(details) else ():
            if count not in encoded and getattr(details, count):
                lost.dropped(f"usage.{name}.{count}", no_such("count", NAMES[wire]))
    for name in ("cost", "cost_details", "is_byok"):
        if given(getattr(usage, name)):
            lost.dropped(f"usage.{name}", "only Responses has the cost of an answer")


def reported_cost(cost: Any, ticks: Any) -> float | None:
    """The cost of an answer in the host's unit: a number, the total of several, or xAI's ticks of 10 ** -10 dollars."""
    found: Any = ticks / 10_000_000_000 if isinstance(ticks, int) else as_object(cost).get("total_cost", cost)
    return found if isinstance(found, int | float) else None


def report_thoughts(item: Reasoning, wire: str, path: str, lost: Losses) -> None:
    """Report other wires' leftovers of the parts of a reasoning item."""
    for field in ("summary", "content"):
        for i, part in enumerate(getattr(item, field) or ()):
            report_foreign(part.leftovers, wire, f"{path}.{field}[{i}]", lost)


def report_unknown(value: Struct, path: str, lost: Losses) -> bool:
    """Report the undeclared fields of an item or part, or of a whole document; returns whether there are any."""
    unknown, kind = extras(value), struct_of(value)
    for name in unknown:
        lost.dropped(f"{path}.{name}" if path else name, "only Responses has such a field")
    if path:
        for field in ("summary", "content") if kind is Reasoning else ():
            for i, part in enumerate(getattr(value, field) or ()):
                report_unknown(part, f"{path}.{field}[{i}]", lost)
    else:
        for name in _settings(kind):
            if (inner := getattr(value, name)) is None:
                continue
            _report_below(inner, name, lost)
            for i, entry in enumerate(inner.tools if isinstance(inner, ChooseAllowed) else ()):
                for other in sorted(entry.keys() - {"type", "name", "server_label"}):
                    lost.dropped(f"{name}.tools[{i}].{other}", "only Responses has such a field")
    return bool(unknown)


@cache
def _settings(kind: type[Struct]) -> list[str]:
    """The fields of a document whose values are objects of their own, and do not repeat the request."""
    repeated = ECHOED if kind is Response else ()
    return [name for name in SETTINGS if name in kind.__struct_fields__ and name not in repeated]


def _report_below(value: Any, path: str, lost: Losses) -> None:
    """Report the unknown fields of an object and of the objects in it."""
    if isinstance(value, list):
        for i, entry in enumerate(cast("Any", value)):
            _report_below(entry, f"{path}[{i}]", lost)
    elif isinstance(value, Struct):
        report_unknown(value, path, lost)
        for name in value.__struct_fields__:
            if isinstance(inner := getattr(value, name), Struct):
                _report_below(inner, f"{path}.{name}", lost)


def wants_summary(request: Request | None) -> bool:
    """Whether a caller asked for a summary of the reasoning, and so looks for thoughts there."""
    return request is not None and request.reasoning is not None and request.reasoning.summary is not None


def as_summary(item: Reasoning) -> None:
    """Move raw thoughts to the summary; the text of the item stays the same."""
    if item.content:
        item.summary = [*(item.summary or ()), *(SummaryText(text=part.text) for part in item.content)]
        item.content = None


# --- opaque state ---------------------------------------------------------------------------------------------------


def opened(item: Reasoning, wire: str, issuer: str, payload: Any) -> Any:
    """The payload that `issuer` sealed in a reasoning item on a wire: one of the structs of `payload`, or `None`."""
    text = item.encrypted_content
    return unseal(text, wire, issuer, payload) if given(text) else None


def report_unopened(item: Reasoning | Compaction, wire: str, issuer: str, path: str, lost: Losses) -> None:
    """Report a reasoning item, or a compaction, with nothing that this issuer could use."""
    text = item.encrypted_content
    if not given(text):
        if isinstance(item, Reasoning) and (item.summary or item.content):
            lost.dropped(path, not_taken("reasoning without a signature of its own", NAMES[wire]))
    elif sender(text) == (wire, issuer):
        lost.dropped(path, "opaque state that was damaged on the way")
    else:
        lost.withheld(path, "opaque state of another vendor")


def carrier(payload: Struct, wire: str, issuer: str, id: Opt[str] = None) -> Reasoning:
    """A carrier: a reasoning item without visible text that holds `payload`."""
    return Reasoning(id=or_none(id), summary=[], encrypted_content=seal(wire, issuer, payload))
