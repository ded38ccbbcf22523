"""What the model said, as parts: the way back of `reader`, for histories and for answers.

Before changing this file, know that everything is written in its order, so that what was sent is sent again byte for byte: a
carrier waits for the item it stands before, and one that a stream told behind its text reaches back to it. Follows Google's
guide to thought signatures and the reference of `Part` (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from ...losses import no_such, not_in
from ...responses.carriers import digest
from ...responses.items import (
    AnyItem,
    CodeInterpreterCall,
    Compaction,
    CustomToolCall,
    FileSearchCall,
    FunctionCall,
    ImageGenerationCall,
    Message,
    Reasoning,
    WebSearchCall,
)
from ...responses.leftovers import own
from ...responses.parts import OutputText, RefusalPart
from ...unknown import Unknown, given
from .._left import report_unknown
from . import types
from .calls import Call, encode_call
from .carried import (
    DUMMY,
    EMPTY,
    Mark,
    Shown,
    Thought,
    Whole,
    call_ref,
    document_fields,
    merged,
    opened,
    own_fields,
    returning_parts,
    spelling,
    text_of,
    unopened,
)
from .media import encode_parts
from .reader import IMAGES, VisibleItem, fingerprint
from .types import WIRE

if TYPE_CHECKING:
    from .media import Context

GROUNDED = "grounded"
"""Spelling of sources and searches that grounding told of: they describe an answer, and the vendor takes none back."""


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
