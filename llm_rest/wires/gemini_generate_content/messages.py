"""Contents of this wire and items of Responses: who spoke when, and what belongs into one content.

Outputs of functions stand together in the user content right after the calls they answer, in the order of the calls; what the
model does in one go is one content, and every message of a user is one. Before changing this file, know that the vendor caches
by prefix: appending items may touch no content but a model's that is still open. Follows Google's guides to function calling
and thought signatures (read 2026-11-20).
"""

# DOC What the model said, as items: the parts of a content in the role `model`.
# DOC
# DOC `Reader` turns parts into items one at a time, so that a whole answer and a streamed one give the same items. Before changing
# DOC this file, know that a thought signature must return on the very part it came on, and that parts with and without one are
# DOC never joined: all of them stand in a reasoning item before the item they are for. Consecutive parts of the vendor's own tools
# DOC are a *run*: it becomes one visible item per use and one carrier with the whole parts behind them, since signatures and results
# DOC in it cannot be rebuilt. Follows Google's guides to thought signatures, code execution and tool
# DOC combination (read 2026-11-20).

# DOC What the model said, as parts: the way back of `reader`, for histories and for answers.
# DOC
# DOC Before changing this file, know that everything is written in its order, so that what was sent is sent again byte for byte: a
# DOC carrier waits for the item it stands before, and one that a stream told behind its text reaches back to it. Follows Google's
# DOC guide to thought signatures and the reference of `Part` (read 2026-11-20).

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import UNSET, Raw
from msgspec.structs import replace

from ...losses import no_such, not_in
from ...responses.carriers import digest, seal
from ...responses.items import (
    AdditionalTools,
    AnyItem,
    CodeInterpreterCall,
    CodeLogs,
    Compaction,
    CompactionTrigger,
    CustomToolCall,
    CustomToolCallOutput,
    FileSearchCall,
    FunctionCall,
    FunctionCallOutput,
    ImageGenerationCall,
    ItemReference,
    Message,
    OpenPage,
    Reasoning,
    Search,
    WebSearchCall,
)
from ...responses.leftovers import SPELLING, own
from ...responses.parts import OutputText, RefusalPart, SummaryText
from ...unknown import Unknown, given, or_none
from .._left import report_unknown
from . import types
from .content import decode_parts, encode_parts
from .reasoning import (
    CONTENT,
    DUMMY,
    EMPTY,
    GROUNDED,
    Mark,
    Shown,
    Thought,
    Whole,
    call_ref,
    carrier,
    document_fields,
    encode,
    left,
    merged,
    opened,
    own_fields,
    rest,
    restored,
    returning_parts,
    spelling,
    text_of,
    unopened,
    unsaid,
)
from .tools import Asked, Call, Output, called_as, decode_call, decode_output, encode_call, encode_output
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...losses import Losses
    from ...responses.items import AnyItem
    from ...unknown import Opt
    from .content import Context
    from .tools import Named

APART, JOINED = "apart", "joined"
"""Where an item stands that begins a content although it could stand in the one before, and one that stands in that."""


# --- items to contents ----------------------------------------------------------------------------------------------


class Turns:
    """The contents of a request: `write` the items, then read `system` and `contents`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.lost = context.lost
        self.system: list[types.Part] = []
        self.contents: list[types.Content] = []
        self._writer = Writer(context)
        self._items: Sequence[AnyItem] = ()
        self._open = False  # whether the last content is the model's and takes more
        self._waiting: list[tuple[int, Call]] = []  # calls without an output yet
        self._outputs: dict[str, deque[tuple[int, Output]]] = {}  # by call id, in their order
        self._taken: set[int] = set()

    def write(self, items: Sequence[AnyItem]) -> None:
        """Take the whole input."""
        self._items = items
        for i, item in enumerate(items):
            if isinstance(item, Output):
                self._outputs.setdefault(item.call_id or "", deque()).append((i, item))
        around: types.Json | None = None  # what the content that begins next says around its parts
        for i, item in enumerate(items):
            kept = {} if isinstance(item, Unknown) else own(item.leftovers, WIRE)
            stands = spelling(kept).get("stands") if kept else None
            begun = len(self.contents)
            if stands == APART:
                self._close()
            match item:
                case Message() if item.role != "assistant":
                    self._heard(item, i, joined=stands == JOINED)
                case FunctionCallOutput() | CustomToolCallOutput():
                    self._leave(i)
                    if i not in self._taken:
                        self.lost.refused(f"input[{i}]", "an output without a call before it")
                        self._hear([encode_output(item, None, f"input[{i}]", self.context)[0]])
                case ItemReference() | CompactionTrigger():
                    self.lost.refused(f"input[{i}]", "what only a server that keeps conversations knows")
                case AdditionalTools():
                    pass  # offered with the other tools
                case _:
                    self._said(item, i)
            around = kept.get(CONTENT, around)
            if around is not None and len(self.contents) > begun:
                told = restored(types.Content, around) or self.contents[-1]
                told.parts = self.contents[-1].parts
                self.contents[-1], around = told, None
            elif not isinstance(item, Reasoning | VisibleItem):  # which may wait for their part, and begin no content
                around = None
        self._leave(len(items))
        if self.contents and self.contents[-1].role == "model" and not self.context.model.prefill:
            self.lost.refused("input", "this model does not continue an answer; the conversation ends with the user")
        first = self.contents[0] if self.contents else types.Content()
        if first.role == "model" and any(given(part.function_call) for part in first.parts or ()):
            self.lost.refused("input", "a conversation cannot begin with a call")

    def _close(self) -> None:
        self._writer.close()
        self._writer.begin()
        self._open = False

    # --- the model

    def _said(self, item: AnyItem, i: int) -> None:
        writer = self._writer
        writer.write(item, f"input[{i}]")
        if isinstance(item, Call):
            self._waiting.append((i, item))
        if writer.parts and not self._open:
            self.contents.append(types.Content(role="model", parts=writer.parts))
            self._open = True

    def _leave(self, i: int) -> None:
        """What follows at `i` is not the model's: its content is complete, and its calls need their outputs now."""
        self._close()
        if self._waiting:
            self._answer(i)

    def _answer(self, i: int) -> None:
        outputs: list[types.Part] = []
        beside: list[types.Part] = []
        there = i  # up to here the outputs already stand behind their calls
        while there < len(self._items) and isinstance(self._items[there], Output):
            there += 1
        for k, call in self._waiting:
            later = self._outputs.get(call.call_id, deque())
            while later and later[0][0] < k:
                later.popleft()  # it stands before the call, and before every later one
            if not later:
                self.lost.refused(f"input[{k}]", "a call without an output")
                continue
            n, found = later.popleft()
            if n > there:
                self.lost.emulated(f"input[{n}]", "an output, moved up to its call")
            self._taken.add(n)
            part, more = encode_output(found, call, f"input[{n}]", self.context)
            outputs.append(part)
            beside += more
        self._waiting = []
        self._hear([*outputs, *beside])

    # --- everybody else

    def _heard(self, item: Message, i: int, *, joined: bool) -> None:
        path = f"input[{i}]"
        self._leave(i)
        report_unknown(item, path, self.lost)
        own_fields(item.leftovers, path, self.lost)
        parts = encode_parts(item.content, f"{path}.content", self.context)
        if item.role not in ("system", "developer"):
            if item.role != "user":
                self.lost.changed(f"{path}.role", f"{item.role!r} is sent as a user")
            self._hear(parts, joined=joined)
            return
        texts = [part for part in parts if part.inline_data is part.file_data is UNSET]
        if len(texts) < len(parts):
            self.lost.dropped(path, "instructions are text at Gemini")
        if not self.contents:
            self.system += texts
        else:
            self.lost.changed(path, "no instructions can stand here; they are sent as the user's, in <system> tags")
            tagged = ({"text": f"<system>\n{part.text}\n</system>"} if given(part.text) else {} for part in texts)
            self._hear([replace(part, **changes) for part, changes in zip(texts, tagged, strict=True)])

    def _hear(self, parts: list[types.Part], *, joined: bool = False) -> None:
        last = self.contents[-1] if joined and self.contents else types.Content()
        if parts and last.role == "user" and given(last.parts):
            last.parts.extend(parts)
        elif parts:
            self.contents.append(types.Content(role="user", parts=parts))


# --- contents to items ----------------------------------------------------------------------------------------------


def decode_contents(contents: Sequence[types.Content], issuer: str, lost: Losses) -> list[AnyItem]:
    """The items that `contents` are in Responses."""
    items: list[AnyItem] = []
    asked = Asked()
    before = ""
    for k, content in enumerate(contents):
        role = "model" if content.role == "model" else "user"
        parts = content.parts or []
        if role == "model":
            reader = Reader(issuer, f"call_{k}")
            for part in parts:
                reader.add(part)
            found = reader.close()
            # Parallel calls may stand in contents of their own; anything else the model says ends their turn.
            for item in found:
                if isinstance(item, FunctionCall):
                    asked.add(item)
        else:
            found = _heard(parts, asked, f"call_{k}")
        if found:
            told = rest(content, ("parts",))
            fields = {CONTENT: told} if told != {"role": role} else {}
            _note(found[0], fields, APART if role == before == "model" else "")
            items += found
            before = role
        else:
            lost.dropped(f"contents[{k}]", "a content without parts, which the vendor does not take")
    return items


def _note(item: AnyItem, fields: types.Json, stands: str) -> None:
    if isinstance(item, Unknown) or not (fields or stands):
        return
    kept = own(item.leftovers, WIRE)
    if stands:
        fields = {**fields, SPELLING: {**spelling(kept), "stands": stands}}
    item.leftovers = {WIRE: {**kept, **fields}}


def _heard(parts: Sequence[types.Part], asked: Asked, origin: str) -> list[AnyItem]:
    items: list[AnyItem] = []
    said: list[types.Part] = []

    def close() -> None:
        if said:
            items.append(Message(role="user", content=decode_parts(said)))
            _note(items[-1], {}, JOINED if len(items) > 1 else "")
            said.clear()

    for part in parts:
        if given(part.function_response):
            close()
            items.append(decode_output(part, part.function_response, asked, f"{origin}_{len(items)}"))
        else:
            said.append(part)
    close()
    return items


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


class Awaiting(NamedTuple):
    """Signatures that wait for the item they are for."""

    payload: Shown
    path: str


class Writer:
    """Turns items of the model into parts: `begin` a content, `write` each item, `close`.

    `said` holds the texts with their parts, for the sources of an answer. With `blocked`, refusals are kept in `refusals`,
    since an answer that was held back says why beside its parts; elsewhere they are plain text.
    """

    def __init__(self, context: Context, *, blocked: bool = False) -> None:
        self.context = context
        self.blocked = blocked
        self.refusals: list[str] = []
        self.said: list[tuple[types.Part, OutputText, str]] = []
        self._lost = context.lost
        self.begin()

    def begin(self) -> None:
        """Begin a content."""
        self.parts: list[types.Part] = []
        self._called = False
        self._seen = EMPTY  # the digest of what was shown last, and its parts
        self._shown: list[types.Part] = []
        self._signatures: dict[str, tuple[str, str]] = {}
        self._next = ("", "")  # how an envelope names the call right behind it, and the tool it calls
        self._pending: list[tuple[str, AnyItem]] = []
        self._awaiting: Awaiting | None = None

    def close(self) -> None:
        """The content ends here; report what was still waiting for its carrier, or its call."""
        if self._pending:
            self._drop_pending()
        self._settle()
        for path, _ in self._signatures.values():
            self._lost.dropped(path, "the signature of a call that is gone")
        self._signatures = {}

    def write(self, item: AnyItem, path: str) -> None:
        """Add the parts of one item, which stands at `path`."""
        if isinstance(item, Reasoning):
            self._reasoning(item, path)
            return
        if self._pending and not isinstance(item, VisibleItem):
            self._drop_pending()
        if not isinstance(item, Message | ImageGenerationCall):
            self._settle()
        if not isinstance(item, Unknown):
            report_unknown(item, path, self._lost)
        match item:
            case Message():
                self._message(item, path)
            case FunctionCall() | CustomToolCall():
                self._call(item, path)
            case ImageGenerationCall():
                self._image(item, path)
            case Compaction():
                report = self._lost.withheld if self.context.replay else self._lost.dropped
                report(path, "the compaction of another vendor")
            case Unknown():
                self._lost.dropped(path, not_in(f"an item of type {item.kind!r}", "Gemini"))
            case WebSearchCall() | FileSearchCall() | CodeInterpreterCall():
                if not spelling(own_fields(item.leftovers, path, self._lost)).get(GROUNDED):
                    self._pending.append((path, item))
            case _:
                self._lost.dropped(path, f"an item of type {item.__struct_config__.tag!r}, which Gemini cannot rebuild")

    def _drop_pending(self) -> None:
        for path, item in self._pending:
            kind = item.kind if isinstance(item, Unknown) else item.__struct_config__.tag
            self._lost.dropped(path, f"an item of type {kind!r} without the parts it was made from")
        self._pending = []

    # --- texts

    def _message(self, item: Message, path: str) -> None:
        own_fields(item.leftovers, path, self._lost)
        if given(item.phase):
            self._lost.dropped(f"{path}.phase", no_such("field", "Gemini"))
        if isinstance(item.content, str):
            self._show([types.Part(text=item.content)] if item.content else [], item.content)
            return
        parts: list[types.Part] = []
        seen: list[str] = []
        for j, part in enumerate(item.content):
            at = f"{path}.content[{j}]"
            if isinstance(part, RefusalPart):
                if self.blocked:
                    self.refusals.append(part.refusal)
                    continue
                self._lost.changed(at, "a refusal is plain text at Gemini")
            found = encode_parts([part], f"{path}.content", self.context, j)
            if isinstance(part, OutputText):
                seen.append(part.text)
                if self.context.replay:
                    self._drop_sources(part, at)
                elif found:
                    self.said.append((found[0], part, at))
            parts += found
        self._show(parts, "".join(seen))

    def _drop_sources(self, part: OutputText, path: str) -> None:
        if part.annotations and not spelling(own(part.leftovers, WIRE)).get(GROUNDED):
            self._lost.dropped(f"{path}.annotations", "sources of an earlier answer, which Gemini does not take back")
        if part.logprobs:
            self._lost.dropped(f"{path}.logprobs", "probabilities of an earlier answer")

    def _show(self, parts: list[types.Part], seen: str) -> None:
        before = self._shown, self._seen
        self.parts += parts
        self._shown, self._seen = parts, digest(seen)
        waiting = self._awaiting
        if waiting is not None and waiting.payload.digest == self._seen:
            self._awaiting = None
            self.mark(waiting.payload.marks)
        self._settle(*before)

    def _image(self, item: ImageGenerationCall, path: str) -> None:
        own = own_fields(item.leftovers, path, self._lost)
        for name in ("action", "background", "quality", "revised_prompt", "size", "error", "svg_usage"):
            if given(getattr(item, name)):
                self._lost.dropped(f"{path}.{name}", no_such("field", "Gemini"))
        if not given(item.result):
            self._lost.dropped(path, "an image without its data")
            return
        kind = IMAGES.get(item.output_format or "png", f"image/{item.output_format}")
        part = types.Part(inline_data=types.Blob(mime_type=kind, data=item.result))
        part = merged(part, document_fields(own), path, self._lost)
        self._show([part], item.result)

    # --- thoughts and carriers

    def _reasoning(self, item: Reasoning, path: str) -> None:
        payload = opened(item, self.context.dialect.issuer)
        if not isinstance(payload, Whole) and self._pending:
            self._drop_pending()
        self._settle()
        report_unknown(item, path, self._lost)
        own_fields(item.leftovers, path, self._lost)
        match payload:
            case Thought():
                self._thought(item, payload, path)
            case Shown():
                self._sign(payload, path)
            case Whole():
                self._restore(payload, path)
            case None if self.context.replay:
                unopened(item, self.context.dialect.issuer, path, self._lost)
            case None:
                self._tell(item, path)

    def _thought(self, item: Reasoning, payload: Thought, path: str) -> None:
        summary = item.summary or ()
        if payload.call:
            self._signatures[payload.call] = path, payload.signature
            self._next = payload.call, payload.tool
        if digest("".join(part.text for part in summary)) != payload.digest:
            self._lost.dropped(f"{path}.summary", "a thought whose text was changed")
            return
        parts = [
            merged(types.Part(text=part.text, thought=True), own(part.leftovers, WIRE), path, self._lost)
            for part in summary
        ]
        self.parts += parts
        self._shown, self._seen = parts, ""  # nothing behind a thought belongs to it
        self.mark(payload.marks, thought=True)

    def _tell(self, item: Reasoning, path: str) -> None:
        """Show a client what another vendor's model thought."""
        if item.content or (self.parts and self.parts[-1].thought):
            self._lost.changed(path, "what the model thought is shown as one summary")
        for part in (*(item.summary or ()), *(item.content or ())):
            if part.text:
                self.parts.append(types.Part(text=part.text, thought=True))
        if given(item.encrypted_content):
            self._lost.dropped(path, "opaque state, which no answer of Gemini holds")

    def _sign(self, payload: Shown, path: str) -> None:
        if payload.before:
            self._awaiting = Awaiting(payload, path)
            return
        if payload.digest != self._seen and payload.digest != EMPTY:
            self._lost.dropped(path, "the signature of a text or image that was changed or is gone")
            return
        if payload.digest != self._seen:
            self._shown = []
        self.mark(payload.marks)

    def _settle(self, shown: list[types.Part] | None = None, seen: str | None = None) -> None:
        """What waited for the next item does not wait for longer: streams show some texts first and their signatures then."""
        waiting, self._awaiting = self._awaiting, None
        if waiting is None:
            return
        now = self._shown, self._seen
        if shown is not None and seen is not None:
            self._shown, self._seen = shown, seen
        if waiting.payload.digest == self._seen:
            self.mark(waiting.payload.marks)
        else:
            self._lost.dropped(waiting.path, "the signature of a text or image that was changed or is gone")
        self._shown, self._seen = now

    def mark(self, marks: list[Mark], *, thought: bool = False) -> None:
        """Put signatures on the parts that were shown last, and between them."""
        shown = self._shown
        between: dict[int, list[types.Part]] = {}
        for mark in marks:
            if not mark.hidden and shown:
                shown[min(mark.at, len(shown) - 1)].thought_signature = mark.signature
                continue
            hidden = types.Part(text="", thought_signature=mark.signature, thought=True if thought else UNSET)
            before = id(shown[mark.at]) if mark.at < len(shown) else 0
            between.setdefault(before, []).append(hidden)
        if between:
            # In place, since the content holds this very list.
            self.parts[:] = [one for part in self.parts for one in (*between.get(id(part), ()), part)] + between.get(
                0, []
            )

    def _restore(self, payload: Whole, path: str) -> None:
        pending, self._pending = self._pending, []
        parts = returning_parts(payload.parts)
        if parts is not None and payload.digest == fingerprint([item for _, item in pending]):
            self.parts += parts
            return
        self._pending = pending
        self._drop_pending()
        self._lost.dropped(path, "parts of tools whose items were changed or are gone")

    # --- calls

    def _call(self, item: Call, path: str) -> None:
        part = encode_call(item, path, self.context)
        signature = self._signature(item, part.function_call or types.FunctionCall()) if self._signatures else ""
        if signature:
            part.thought_signature = signature
        elif not self._called and self.context.replay and self.context.model.signs_calls:
            part.thought_signature = DUMMY
            self._lost.emulated(path, "a call without this vendor's signature, which the documented stand-in replaces")
        self._called = True
        self._next = "", ""
        self._shown, self._seen = [], ""
        self.parts.append(part)

    def _signature(self, item: Call, call: types.FunctionCall) -> str:
        """The signature that was carried to a call."""
        found = self._signatures.pop(item.call_id, None)
        if found is None:
            arguments = text_of(call.args) if call.args is not UNSET else "{}"
            found = self._signatures.pop(call_ref(None, call.name or "", arguments), None)
        ref, tool = self._next
        if found is None and tool and tool == call.name:
            found = self._signatures.pop(ref, None)
        return found[1] if found is not None else ""
