"""What the model said, as items: the parts of a content in the role `model`.

`Reader` turns parts into items one at a time, so that a whole answer and a streamed one give the same items. Before changing
this file, know that a thought signature must return on the very part it came on, and that parts with and without one are
never joined: all of them stand in a reasoning item before the item they are for. Consecutive parts of the vendor's own tools
are a *run*: it becomes one visible item per use and one carrier with the whole parts behind them, since signatures and results
in it cannot be rebuilt. Follows Google's guides to thought signatures, code execution and tool
combination (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET, Raw

from ...responses.carriers import digest, seal
from ...responses.items import (
    CodeInterpreterCall,
    CodeLogs,
    FileSearchCall,
    ImageGenerationCall,
    Message,
    OpenPage,
    Reasoning,
    Search,
    WebSearchCall,
)
from ...responses.parts import OutputText, SummaryText
from ...unknown import given, or_none
from . import types
from .calls import called_as, decode_call
from .carried import Mark, Shown, Thought, Whole, call_ref, carrier, encode, left, rest, unsaid
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...responses.items import AnyItem
    from ...unknown import Opt
    from .calls import Named

IMAGES = {"png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp", "gif": "image/gif"}
"""Formats of generated images, ours on the left."""
IMAGES_BACK = {theirs: ours for ours, theirs in IMAGES.items()}

_TEXT = ("text", "thought", "thought_signature")
_more = attrgetter(*(name for name in types.Part.__struct_fields__ if name not in _TEXT))
_NO_MORE = _more(types.Part())


def says_more(part: types.Part) -> bool:
    """Whether a part with a text says anything beside it."""
    return _more(part) != _NO_MORE or type(part) is not types.Part


def hidden(part: types.Part) -> str | None:
    """What of the answer itself no item shows: a part with it is in a carrier alone."""
    blob, file = part.inline_data, part.file_data
    if part.thought or not (given(blob) or given(file)):
        return None
    named = blob.mime_type if given(blob) else file.mime_type if given(file) else UNSET
    kind = named or "an unknown type"
    if given(blob) and blob.data and kind.startswith("image/"):
        return None
    return f"media of {kind}, for which the output has no item; it stays in a reasoning item, and goes back with it"


class Reader:
    """Turns the parts of one content into items: `add` each part, then `close`.

    `origin` begins the ids of calls that came without one. With `answer`, the id of an answer, items get ids and statuses.
    `said` holds the texts among the parts, each with the place of its part, for what grounding says about them, and `texts`
    those of the item that is open.
    """

    def __init__(
        self, issuer: str, origin: str, *, answer: str | None = None, named: Mapping[str, Named] | None = None
    ) -> None:
        self.items: list[AnyItem] = []
        self.answer = answer
        self.said: list[tuple[int, OutputText]] = []
        self.place = 0
        self.texts: list[OutputText | SummaryText] = []
        self._named = named
        self._issuer = issuer
        self._origin = origin
        self._status: Opt[str] = UNSET if answer is None else "completed"
        self._calls = 0
        self._open: bool | None = None  # whether the texts are a thought, where an item is open
        self._marks: list[Mark] = []
        self._run: list[types.Part] = []

    def add(self, part: types.Part) -> None:
        """Take the next part."""
        text, blob = part.text, part.inline_data
        if text is not UNSET:
            self._say(part, text, thought=bool(part.thought))
        elif given(part.function_call):
            if self._open is False:
                self._close_texts()
            self._close_run()
            self._call(part, part.function_call)
        else:
            self._close_texts()
            if given(blob) and not part.thought and given(blob.data) and (blob.mime_type or "").startswith("image/"):
                self._close_run()
                self._image(part, blob, blob.data)
            else:
                self._run.append(part)
        self.place += 1

    def close(self) -> list[AnyItem]:
        """The items of the parts so far."""
        self._close_texts()
        self._close_run()
        return self.items

    def id(self, prefix: str) -> Opt[str]:
        """The id of the next item."""
        return UNSET if self.answer is None else f"{prefix}_{self.answer}_{len(self.items)}"

    # --- texts and thoughts

    def turn(self, *, thought: bool) -> None:
        """A thought or a text comes next: what is neither it nor its continuation is complete."""
        if self._open is not None and self._open is not thought:
            self._close_texts()
        if self._run:
            self._close_run()

    def _say(self, part: types.Part, text: str, *, thought: bool) -> None:
        self.turn(thought=thought)
        self._open = thought
        signature = part.thought_signature
        if given(signature):
            hidden = not text and not says_more(part)
            self._marks.append(Mark(len(self.texts), signature, hidden))
            if hidden:
                return
        said: OutputText | SummaryText
        if thought:
            said = SummaryText(text=text)
            if says_more(part):
                said.leftovers = left(rest(part, ("text", "thought", "thoughtSignature")))
        else:
            said = OutputText(text=text, annotations=None if self.answer is None else [])
            if not text or part.thought is not UNSET or says_more(part):
                said.leftovers = left(rest(part, ("text", "thoughtSignature")), unsaid(part, ("text",)))
            self.said.append((self.place, said))
        self.texts.append(said)

    def _close_texts(self, call: str = "", signature: str = "", tool: str = "") -> None:
        """End the item that is open. Signatures of texts go before it; a thought carries its own and that of the next call."""
        thought, texts, marks = self._open, self.texts, self._marks
        if thought is None and not signature:
            return
        self._open, self.texts, self._marks = None, [], []
        if thought is False:
            seen = "".join(part.text for part in texts)
            if texts:
                content = cast("Any", texts)
                item = Message(
                    id=or_none(self.id("msg")), role="assistant", status=or_none(self._status), content=content
                )
                self._signed(item, seen, marks)
            elif marks:
                self.items.append(carrier(Shown(digest=digest(seen), marks=marks), self._issuer, self.id("rs")))
            return
        seen = digest("".join(part.text for part in texts))
        held = Thought(digest=seen, marks=marks, call=call, signature=signature, tool=tool)
        sealed = seal(WIRE, self._issuer, held)
        self.items.append(Reasoning(id=or_none(self.id("rs")), summary=cast("Any", texts), encrypted_content=sealed))

    def _signed(self, item: AnyItem, seen: str, marks: list[Mark]) -> None:
        """Add an item, and before it its signatures, so that what the model said is last. It is named before they are known."""
        self.items.append(item)
        if marks:
            sealed = Shown(digest=digest(seen), marks=marks, before=True)
            self.items.insert(-1, carrier(sealed, self._issuer, self.id("rs")))

    # --- calls and images

    def _call(self, part: types.Part, call: types.FunctionCall) -> None:
        item = decode_call(part, call, f"{self._origin}_{self._calls}")
        self._calls += 1
        signature = part.thought_signature
        if given(signature) or self._open is not None:
            ref = call_ref(call.id or None, item.name, item.arguments) if signature else ""
            self._close_texts(ref, signature or "", item.name if ref and not call.id else "")
        item.id, item.status = or_none(self.id("fc")), or_none(self._status)
        self.items.append(called_as(item, self._named) if self._named else item)

    def _image(self, part: types.Part, blob: types.Blob, data: str) -> None:
        kind = blob.mime_type or ""
        item = ImageGenerationCall(id=or_none(self.id("ig")), status="completed", result=data)
        fields, more = rest(part, ("inlineData", "thoughtSignature")), rest(blob, ("data", "mimeType"))
        if kind in IMAGES_BACK:
            item.output_format = IMAGES_BACK[kind]
        else:
            more["mimeType"] = kind
        item.leftovers = left({**fields, "inlineData": more} if more else fields)
        self._signed(item, data, [Mark(0, part.thought_signature)] if given(part.thought_signature) else [])

    # --- the vendor's tools

    def _close_run(self) -> None:
        """End the run that is open: its visible items, and its carrier."""
        if not self._run:
            return
        run, self._run = self._run, []
        shown = _visible(run)
        for item in shown:
            item.id = or_none(self.id(PREFIX[type(item)]))
            self.items.append(item)
        sealed = Whole(digest=fingerprint(shown), parts=Raw(encode(run)))
        self.items.append(carrier(sealed, self._issuer, self.id("rs")))


# --- the vendor's tools ---------------------------------------------------------------------------------------------

VisibleItem = WebSearchCall | FileSearchCall | CodeInterpreterCall
"""The items that show what a run did."""

PREFIX: dict[type[VisibleItem], str] = {WebSearchCall: "ws", FileSearchCall: "fs", CodeInterpreterCall: "ci"}
"""How ids of items begin, as Responses hosts expect it."""

OUTCOMES = {"OUTCOME_OK": "completed", "OUTCOME_FAILED": "completed", "OUTCOME_DEADLINE_EXCEEDED": "incomplete"}
"""How a run of code ended, theirs on the left; code that failed ran to its end."""


def fingerprint(items: Sequence[AnyItem]) -> str:
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


def _visible(parts: list[types.Part]) -> list[VisibleItem]:
    items: list[VisibleItem] = []
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


def _used(call: types.ToolCall, status: str) -> list[VisibleItem]:
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
