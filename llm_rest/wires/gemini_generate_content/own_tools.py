"""Tools the vendor runs inside an answer: what Responses shows of them, and how their parts come back.

Consecutive parts of such tools form a *run*. It becomes one visible item per use (a search, a run of code), followed by one
carrier with the whole parts, since signatures and results in it cannot be rebuilt. Before changing this file, know that
`fingerprint` ties the carrier to its items: what it leaves out can be edited unnoticed. Follows Google's guides to code
execution, grounding and tool combination (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import UNSET, Raw

from ...responses.carriers import digest
from ...responses.items import (
    CodeInterpreterCall,
    CodeLogs,
    FileSearchCall,
    Item,
    OpenPage,
    Search,
    WebSearchCall,
)
from ...unknown import given
from . import types
from .carried import Whole, carrier, encode

if TYPE_CHECKING:
    from ...responses.items import AnyItem

VISIBLE = (WebSearchCall, FileSearchCall, CodeInterpreterCall)
"""The items that show what a run did."""

PREFIX: dict[type[Item], str] = {WebSearchCall: "ws", FileSearchCall: "fs", CodeInterpreterCall: "ci"}
"""How ids of items begin, as Responses hosts expect it."""

OUTCOMES = {"OUTCOME_OK": "completed", "OUTCOME_FAILED": "completed", "OUTCOME_DEADLINE_EXCEEDED": "incomplete"}
"""How a run of code ended, theirs on the left; code that failed ran to its end."""


class Run(NamedTuple):
    """Consecutive parts of the vendor's tools. `answer` is the id of the answer they are in, and `first` their place there."""

    parts: list[types.Part]
    answer: str | None
    first: int


def run_items(run: Run, issuer: str) -> list[AnyItem]:
    """The visible items of a run, and its carrier."""
    items = _visible(run.parts)
    if run.answer is not None:
        for i, item in enumerate(items, run.first):
            item.id = f"{PREFIX[type(item)]}_{run.answer}_{i}"
    shown = cast("list[AnyItem]", items)
    sealed = Whole(digest=fingerprint(shown), parts=Raw(encode(run.parts)))
    id = UNSET if run.answer is None else f"rs_{run.answer}_{run.first + len(items)}"
    return [*shown, carrier(sealed, issuer, id)]


def fingerprint(items: list[AnyItem]) -> str:
    """A digest of what items show of a run; ids and statuses do not count, since clients rewrite them."""
    return digest("\n".join(f"{type(item).__name__} {_shown(item)}" for item in items))


def _shown(item: AnyItem) -> str:
    match item:
        case CodeInterpreterCall():
            return "\n".join((item.code or "", *(out.logs for out in item.outputs or () if isinstance(out, CodeLogs))))
        case WebSearchCall(action=Search(queries=queries)):
            return "\n".join(queries or ())
        case WebSearchCall(action=OpenPage(url=url)):
            return url or ""
        case FileSearchCall(queries=queries):
            return "\n".join(queries)
        case _:
            return ""


def _visible(parts: list[types.Part]) -> list[Item]:
    items: list[Item] = []
    code: CodeInterpreterCall | None = None
    answered = {part.tool_response.id for part in parts if given(part.tool_response)}
    for part in parts:
        if given(part.executable_code):
            code = CodeInterpreterCall(status="incomplete", code=part.executable_code.code or "", outputs=None)
            items.append(code)
        elif given(part.code_execution_result):
            if code is None:
                code = CodeInterpreterCall(code="")
                items.append(code)
            _ran(code, part.code_execution_result)
            code = None
        elif given(part.tool_call):
            status = "completed" if part.tool_call.id in answered else "in_progress"
            items += _used(part.tool_call, status)
    return items


def _ran(code: CodeInterpreterCall, result: types.CodeExecutionResult) -> None:
    outcome = result.outcome
    code.status = OUTCOMES.get(outcome, "incomplete") if given(outcome) else "completed"
    code.outputs = [CodeLogs(logs=result.output)] if given(result.output) else []


def _used(call: types.ToolCall, status: str) -> list[Item]:
    args: types.Json = call.args or {}
    match call.tool_type:
        case "GOOGLE_SEARCH_WEB" | "GOOGLE_SEARCH_IMAGE":
            return [WebSearchCall(status=status, action=Search(queries=_texts(args.get("queries"))))]
        case "URL_CONTEXT":
            urls = _texts(args.get("urls")) or _texts([args.get("url")])
            return [WebSearchCall(status=status, action=OpenPage(url=url)) for url in urls]
        case "FILE_SEARCH":
            return [FileSearchCall(status=status, queries=_texts(args.get("queries")))]
        case _:
            return []


def _texts(value: Any) -> list[str]:
    return [text for text in cast("Any", value) if isinstance(text, str)] if isinstance(value, list) else []
