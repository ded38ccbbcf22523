"""Conversion of model output in one content, both ways: texts, thoughts, images, calls, and their thought signatures.

A thought signature belongs to one part and must be returned on that part. An envelope in a reasoning item identifies it: a
call by its id, a text or an image by a digest of its visible content, so that an edit is noticed. Before changing this file,
know that envelopes may be forged: their payloads are the tagged structs below, and whole parts are restored only if a client
could not have written their content; that parts with and without a signature are never joined; that an envelope waits for the
item that follows it, and one that a stream sent after its text refers back to it; and that consecutive parts of hosted tools
are a *run*: one visible item per use and one envelope with the whole parts after them, since signatures and results in it
cannot be rebuilt. Follows Google's guides to thinking, thought signatures and tool combination (read 2026-11-20).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct

from ... import responses as ours
from ...errors import DecodeError
from ...losses import no_such
from ...responses.carriers import digest, own
from ...unknown import extras, given
from ..images import FORMATS_BACK, image_data, image_type
from ..kept import diff, own_leftovers, patch
from ..leftovers import ID_PREFIXES, carrier, opened, report_item, report_unopened
from ..tools import Call, SentTools, restore_tool
from . import types
from .content import (
    SIGNED,
    VISIBLE,
    VisibleItem,
    encode_content,
    fingerprint,
    is_grounded,
    visible_items,
)
from .tools import decode_call, encode_call
from .types import WIRE, ProtoDecoder, encode, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...losses import Losses
    from .content import Context

DUMMY = "skip_thought_signature_validator"
"""Placeholder for the signature of a call that this vendor's models did not make; the vendor accepts it for any."""


# --- payloads -------------------------------------------------------------------------------------------------------


class Payload(Struct, tag_field="kind", omit_defaults=True, kw_only=True):
    """The payload of an envelope of this wire."""


class Mark(Struct, array_like=True):
    """A signature on the visible part number `at`; where `hidden`, on an empty text that was before it."""

    at: int
    signature: str
    hidden: bool = False


class Thought(Payload, tag="thought"):
    """This vendor's own thought: the digest of its text, signatures on it, and the signature of the `call` that follows."""

    digest: str = ""
    marks: list[Mark] = []
    call: str = ""
    signature: str = ""
    tool: str = ""
    """The key of a call without an id, which stays the same when the arguments are repaired."""


class VisibleSignatures(Payload, tag="shown"):
    """Signatures on a message or an image: the one that follows the envelope where `before`, else the one before it."""

    digest: str
    marks: list[Mark]
    before: bool = False


class Whole(Payload, tag="parts"):
    """Parts that Responses lacks, wholly or partly; `digest` names the items before the envelope that show some.

    Where none is visible, it is that of the parts: an empty text proves nothing.
    """

    digest: str
    parts: Raw


AnyPayload = Thought | VisibleSignatures | Whole

EMPTY = "e4a6a0577479b2b4"  # digest("")

_parts: ProtoDecoder[list[types.Part]] = ProtoDecoder(list[types.Part])

_plain = msgspec.json.Decoder()
_sorted = msgspec.json.Encoder(order="sorted")


def call_ref(call_id: str | None, name: str, arguments: str) -> str:
    """The reference of an envelope to a call: its id on the wire, else a digest of the call without its JSON formatting."""
    if call_id is not None:
        return call_id
    with suppress(msgspec.MsgspecError):  # invalid JSON counts as it is
        arguments = _sorted.encode(_plain.decode(arguments)).decode()
    return f"#{digest(f'{name} {arguments}')}"


def _digest_of(shown: list[VisibleItem], parts: Raw) -> str:
    """The digest of parts by the items that show them, or by themselves where none does."""
    return fingerprint(shown) if shown else digest(bytes(parts).decode("utf-8", "replace"))


def returning_parts(raw: Raw) -> list[types.Part] | None:
    """The parts in an envelope, or `None` if it has another or a forged payload."""
    try:
        parts = _parts.decode(bytes(raw))
    except DecodeError:
        return None
    # Texts, calls and outputs are items of their own; an envelope with one was not made here.
    forged = any(part.text or given(part.function_call) or given(part.function_response) for part in parts)
    return None if forged else parts


# --- Responses -> Gemini --------------------------------------------------------------------------------------------


KEEP_PENDING = VISIBLE | {ours.Reasoning.type}
"""Items that do not end a run of the vendor's tools."""
KEEP_AWAITING = frozenset({ours.Reasoning.type, ours.Message.type, ours.ImageGenerationCall.type})
"""Items that a waiting signature may be for, and reasoning, which handles that itself."""


class Shown(NamedTuple):
    """The latest text or image, and its parts; none after a thought or call."""

    item: ours.Message | ours.ImageGenerationCall | None
    parts: list[types.Part]

    def has(self, payload: VisibleSignatures) -> bool:
        """Whether signatures are of this item."""
        match self.item:
            case None:
                return False
            case ours.ImageGenerationCall(result=result):
                return payload.digest == digest(result or "")
            case ours.Message(content=str(text)):
                return payload.digest == digest(text)
            case ours.Message(content=parts):
                return payload.digest == digest("".join(p.text for p in parts if isinstance(p, ours.OutputText)))


NOTHING = Shown(None, [])


class AssistantMessage:
    """Turns items of the model into parts: `add` each item, then `close`, which gives the parts of the content.

    `outputs` holds the texts with their parts, for the sources of an answer, and `calls` the calls with theirs. With `blocked`,
    refusals are collected in `refusals`, since a blocked answer has its reason beside its parts; elsewhere they are plain text.
    """

    def __init__(self, context: Context, *, blocked: bool = False) -> None:
        self.context = context
        self.blocked = blocked
        self.refusals: list[str] = []
        self.outputs: list[tuple[types.Part, ours.OutputText, str]] = []
        self.reported: list[VisibleItem] = []  # searches that the grounding of an answer reported
        self.parts: list[types.Part] = []
        self.calls: list[tuple[Call, types.Part, str]] = []
        self.lost = context.lost
        self._stands_in = context.replay and context.model.signs_calls
        self._called = False
        self._shown = NOTHING
        self.waits = False  # whether the fields below have any value
        self._signatures: dict[str, tuple[str, str]] = {}  # of calls that follow, each with its path
        self._next = ("", "")  # the reference to the call right after it, and its tool
        self._pending: list[tuple[str, ours.AnyItem]] = []
        self._awaiting: tuple[VisibleSignatures, str] | None = None  # signatures of the next item, and their path

    def close(self) -> list[types.Part]:
        """End the content; report signatures and thoughts that still wait for their carrier, or their call."""
        if self.waits:
            self._drop_pending()
            self._drop_awaiting()
            for path, _ in self._signatures.values():
                self.lost.dropped(path, "the signature of a call that is gone")
            self._signatures, self.waits = {}, False
        parts, self.parts = self.parts, []
        self._called, self._shown = False, NOTHING
        return parts

    def add(self, item: ours.AnyItem, path: str) -> None:
        """Add the parts of one item, at `path`."""
        if self.waits:
            self.drop_waiting(item)
        self.HANDLERS.get(item.type, AssistantMessage.add_other)(self, item, path)

    def drop_waiting(self, item: ours.AnyItem) -> None:
        """Report signatures that waited for another item than the next one."""
        if item.type not in KEEP_PENDING:
            self._drop_pending()
        if item.type not in KEEP_AWAITING:
            self._drop_awaiting()

    def _run_item(self, item: VisibleItem, path: str) -> None:
        own_leftovers(item, WIRE, path, self.lost)
        if not is_grounded(item.leftovers):
            self._pending.append((path, item))
            self.waits = True
        else:
            self.reported.append(item)

    def add_other(self, item: ours.AnyItem, path: str) -> None:
        """Report an item that this wire has no equivalent for."""
        if isinstance(item, ours.Compaction) and self.context.replay:
            own_leftovers(item, WIRE, path, self.lost)
            self.lost.withheld(path, "the compaction of another vendor")
        else:
            report_item(item, path, WIRE, self.lost)

    def _drop_pending(self) -> None:
        for path, item in self._pending:
            self.lost.dropped(path, f"an item of type {item.type!r} without the parts it was made from")
        self._pending = []

    # --- texts

    def _assistant_message(self, item: ours.Message, path: str) -> None:
        if item.leftovers is not None or type(item) is not ours.Message:
            own_leftovers(item, WIRE, path, self.lost)
        if item.phase is not None:
            self.lost.dropped(f"{path}.phase", no_such("field", "Gemini"))
        if isinstance(item.content, str):
            self._show(item, [types.Part(text=item.content)] if item.content else [])
            return
        parts: list[types.Part] = []
        for j, part in enumerate(item.content):
            at = f"{path}.content[{j}]"
            if isinstance(part, ours.RefusalPart):
                if self.blocked:
                    self.refusals.append(part.refusal)
                    continue
                self.lost.changed(at, "a refusal is plain text at Gemini")
            found = encode_content([part], f"{path}.content", self.context, j)
            if isinstance(part, ours.OutputText):
                if self.context.replay:
                    self._drop_sources(part, at)
                elif found:
                    self.outputs.append((found[0], part, at))
            parts += found
        self._show(item, parts)

    def _drop_sources(self, part: ours.OutputText, path: str) -> None:
        if part.annotations and not is_grounded(part.leftovers):
            self.lost.dropped(f"{path}.annotations", "sources of an earlier answer, which Gemini does not accept")
        if part.logprobs:
            self.lost.dropped(f"{path}.logprobs", "probabilities of an earlier answer")

    def _show(self, item: ours.Message | ours.ImageGenerationCall, parts: list[types.Part]) -> None:
        before, self._shown = self._shown, Shown(item, parts)
        self.parts += parts
        if self._awaiting is not None:
            waiting, self._awaiting = self._awaiting, None
            # Streams send some texts before their signatures.
            self._mark(self._shown if self._shown.has(waiting[0]) else before, *waiting)

    def _image(self, item: ours.ImageGenerationCall, path: str) -> None:
        left = own_leftovers(item, WIRE, path, self.lost)
        data = image_data(item, path, WIRE, self.lost)
        if data is None:
            return
        self._show(item, [patch(encode_image(item, data), left)])

    # --- thoughts and carriers

    def _reasoning(self, item: ours.Reasoning, path: str) -> None:
        payload: AnyPayload | None = opened(item, WIRE, self.context.dialect.issuer, AnyPayload)
        self.waits = True
        if not isinstance(payload, Whole):
            self._drop_pending()
        self._drop_awaiting()
        own_leftovers(item, WIRE, path, self.lost)
        match payload:
            case Thought():
                self._thought(item, payload, path)
            case VisibleSignatures():
                self._add_signatures(payload, path)
            case Whole():
                self._restore(payload, path)
            case None if self.context.replay:
                report_unopened(item, WIRE, self.context.dialect.issuer, path, self.lost)
            case None:
                self._encode_foreign_thinking(item, path)

    def _thought(self, item: ours.Reasoning, payload: Thought, path: str) -> None:
        summary = item.summary or ()
        if payload.call:
            self._signatures[payload.call] = path, payload.signature
            self._next = payload.call, payload.tool
        if digest("".join(part.text for part in summary)) != payload.digest:
            self.lost.dropped(f"{path}.summary", "a thought whose text was changed")
            return
        parts = [patch(types.Part(text=part.text, thought=True), own(part.leftovers, WIRE)) for part in summary]
        self.parts += parts
        self._shown = NOTHING
        self.mark(payload.marks, parts, thought=True)

    def _encode_foreign_thinking(self, item: ours.Reasoning, path: str) -> None:
        """Encode thinking of another vendor's model for a client."""
        if item.content or (self.parts and self.parts[-1].thought):
            self.lost.changed(path, "reasoning, sent as one summary")
        for part in (*(item.summary or ()), *(item.content or ())):
            if part.text:
                self.parts.append(types.Part(text=part.text, thought=True))
        if given(item.encrypted_content):
            place = f"{path}.encrypted_content" if item.summary or item.content else path
            self.lost.dropped(place, "opaque state, which answers of Gemini cannot hold")

    def _add_signatures(self, payload: VisibleSignatures, path: str) -> None:
        if payload.before:
            self._awaiting = payload, path
            return
        self._mark(self._shown, payload, path)

    def _drop_awaiting(self) -> None:
        """Drop what waited for the next item only."""
        if self._awaiting is not None:
            waiting, self._awaiting = self._awaiting, None
            self._mark(self._shown, *waiting)

    def _mark(self, shown: Shown, payload: VisibleSignatures, path: str) -> None:
        if shown.has(payload):
            self.mark(payload.marks, shown.parts)
        elif payload.digest == EMPTY and not payload.before:
            self.mark(payload.marks, [])
        else:
            self.lost.dropped(path, "the signature of a text or image that was changed or is gone")

    def mark(self, marks: list[Mark], shown: list[types.Part], *, thought: bool = False) -> None:
        """Put signatures on the parts of one item, and between them."""
        between: dict[int, list[types.Part]] = {}
        for mark in marks:
            if not mark.hidden and shown:
                shown[min(mark.at, len(shown) - 1)].thought_signature = mark.signature
                continue
            hidden = types.Part(text="", thought_signature=mark.signature, thought=True if thought else UNSET)
            before = id(shown[mark.at]) if mark.at < len(shown) else 0
            between.setdefault(before, []).append(hidden)
        if between:
            self.parts = [one for part in self.parts for one in (*between.get(id(part), ()), part)]
            self.parts += between.get(0, ())

    def _restore(self, payload: Whole, path: str) -> None:
        parts = returning_parts(payload.parts)
        shown = visible_items(parts or [])
        # What the parts did is visible, and was not changed.
        same = _digest_of(shown, payload.parts) == payload.digest
        if parts is not None and same and fingerprint(shown) == fingerprint([item for _, item in self._pending]):
            self.parts += parts
            self._pending = []
        else:
            self._drop_pending()
            self.lost.dropped(path, "parts of tools whose items were changed or are gone")

    # --- calls

    def _call(self, item: Call, path: str) -> None:
        part = encode_call(item, path, self.lost)
        if self._signatures and (signature := self._signature(item, part.function_call or types.FunctionCall())):
            part.thought_signature = signature
        elif self._stands_in and not self._called:
            part.thought_signature = DUMMY
            self.lost.emulated(path, "a call without this vendor's signature, which the documented stand-in replaces")
        self._called = True
        self._shown = NOTHING
        self.parts.append(part)
        self.calls.append((item, part, path))

    def _signature(self, item: Call, call: types.FunctionCall) -> str:
        """The signature in the carrier of a call."""
        found = self._signatures.pop(item.call_id, None)
        if found is None:
            arguments = text_of(call.args) if call.args is not UNSET else "{}"
            found = self._signatures.pop(call_ref(None, call.name or "", arguments), None)
        (ref, tool), self._next = self._next, ("", "")
        if found is None and tool and tool == call.name:
            found = self._signatures.pop(ref, None)
        return found[1] if found is not None else ""

    HANDLERS: ClassVar[dict[str, Callable[[Any, Any, str], None]]] = {
        "message": _assistant_message,
        "reasoning": _reasoning,
        "function_call": _call,
        "custom_tool_call": _call,
        "image_generation_call": _image,
        **dict.fromkeys(VISIBLE, _run_item),
    }
    """The writer of each item, by type."""


# --- Gemini -> Responses --------------------------------------------------------------------------------------------


def has_other_fields(part: types.Part) -> bool:
    """Whether a part with text has another field."""
    return part != types.Part(text=part.text, thought=part.thought, thought_signature=part.thought_signature)


def encode_image(item: ours.ImageGenerationCall, data: str) -> types.Part:
    """The part of an image that the model generated."""
    return types.Part(inline_data=types.Blob(mime_type=image_type(item), data=data))


PAYLOADS = ("function_response", "executable_code", "code_execution_result", "tool_call", "tool_response")
"""The payloads of a part that are state, or that hosted tools' items show."""


class Reader:
    """Turns the parts of one content into items: `add` each part, then `close`.

    `origin` is in the ids of calls that came without one. Items of an answer (`is_answer`) have ids, with `origin` in them,
    and statuses. `outputs` holds the texts among the parts, each with the place of its part, for the grounding, and `texts`
    those of the open item.
    """

    __slots__ = (
        *(
            "items",
            "is_answer",
            "outputs",
            "place",
            "texts",
            "_named",
            "_lost",
            "_issuer",
            "_origin",
            "_calls",
            "_open",
        ),
        *("_marks", "_run"),
    )

    def __init__(
        self, issuer: str, origin: str, lost: Losses, is_answer: bool = False, named: SentTools | None = None
    ) -> None:
        self.items: list[ours.AnyItem] = []
        self.is_answer = is_answer
        self.outputs: list[tuple[int, ours.OutputText]] = []
        self.place = 0
        self.texts: list[Any] = []
        self._named = named
        self._lost = lost
        self._issuer = issuer
        self._origin = origin
        self._calls = 0
        self._open: bool | None = None  # whether the texts are a thought, if an item is open
        self._marks: list[Mark] = []
        self._run: list[types.Part] = []

    def add(self, part: types.Part) -> None:
        """Add the next part."""
        text, blob = part.text, part.inline_data
        if text is not UNSET:
            self._add_text(part, text, thought=part.thought is True)
        elif (call := part.function_call) is not UNSET:
            if self._open is False:
                self._close_texts()
            if self._run:
                self._close_run()
            self._call(part, call)
        else:
            self._close_texts()
            if given(blob) and not part.thought and given(blob.data) and (blob.mime_type or "").startswith("image/"):
                self._close_run()
                self._image(part, blob, blob.data)
            else:
                self._run.append(part)
                if self.is_answer and not part.thought:
                    self._report_unshown(part)
        self.place += 1

    def _report_unshown(self, part: types.Part) -> None:
        """Report media, and a payload of an unknown kind, which stay in a carrier."""
        media: types.Blob | types.FileData | None = part.inline_data or part.file_data or None
        if media is not None:
            what = f"media of {media.mime_type or 'an unknown type'}"
        elif extras(part) and not any(given(getattr(part, name)) for name in PAYLOADS):
            what = f"a part of an unknown kind, {', '.join(extras(part))}"
        else:
            return
        what += ", for which the output has no item; it stays in a reasoning item, and goes back with it"
        self._lost.dropped(f"candidates[0].content.parts[{self.place}]", what)

    def close(self) -> list[ours.AnyItem]:
        """The items of the parts so far."""
        self._close_texts()
        self._close_run()
        return self.items

    def id(self, prefix: str) -> str | None:
        """The id of the next item; `None` outside of an answer."""
        return f"{prefix}_{self._origin}_{len(self.items)}" if self.is_answer else None

    # --- texts and thoughts

    def turn(self, *, thought: bool) -> None:
        """Begin a thought or a text, and end the open item if it is of the other type."""
        if self._open is not None and self._open is not thought:
            self._close_texts()
        if self._run:
            self._close_run()

    def _add_text(self, part: types.Part, text: str, *, thought: bool) -> None:
        if self._run or self._open is not thought:
            if self._run or self._open is not None:
                self.turn(thought=thought)
            self._open = thought
        signature, more = part.thought_signature, has_other_fields(part)
        if signature is not UNSET:
            hidden = not text and not more
            self._marks.append(Mark(len(self.texts), signature, hidden))
            if hidden:
                return
        outputs: ours.OutputText | ours.SummaryText
        if thought:
            outputs = ours.SummaryText(text=text)
        else:
            outputs = ours.OutputText(text=text, annotations=[] if self.is_answer else None)
            self.outputs.append((self.place, outputs))
        if more or part.thought is False or not (text or thought):
            left = diff(part, types.Part(text=text, thought=True if thought else UNSET), SIGNED)
            outputs.leftovers = {WIRE: left}
        self.texts.append(outputs)

    def _close_texts(self, call: str = "", signature: str = "", tool: str = "") -> None:
        """End the open item. Signatures of texts go behind it; a thought carries its own and that of the next call."""
        thought, texts, marks = self._open, self.texts, self._marks
        if thought is None and not signature:
            return
        self._open, self.texts, self._marks = None, [], []
        if thought is False:
            if texts:
                id, status = self.id("msg"), "completed" if self.is_answer else None
                self.items.append(ours.Message(id=id, role="assistant", status=status, content=texts))
            if marks:
                # Behind the message: a stream has sent the text before it can know of a signature.
                sealed = VisibleSignatures(digest=digest("".join(part.text for part in texts)), marks=marks)
                self.items.append(carrier(sealed, WIRE, self._issuer, self.id("rs")))
            return
        visible = digest("".join(part.text for part in texts))
        held = Thought(digest=visible, marks=marks, call=call, signature=signature, tool=tool)
        reasoning = carrier(held, WIRE, self._issuer, self.id("rs"))
        reasoning.summary = texts
        self.items.append(reasoning)

    # --- calls and images

    def _call(self, part: types.Part, call: types.FunctionCall) -> None:
        item = decode_call(part, call, call.id or f"call_{self._origin}_{self._calls}")
        self._calls += 1
        signature = part.thought_signature
        if signature is not UNSET or self._open is not None:
            ref = call_ref(call.id or None, item.name, item.arguments) if signature else ""
            self._close_texts(ref, signature or "", item.name if ref and not call.id else "")
        item.id, item.status = self.id("fc"), "completed" if self.is_answer else None
        self.items.append(
            restore_tool(item, self._named, f"output[{len(self.items)}]", self._lost) if self._named else item
        )

    def _image(self, part: types.Part, blob: types.Blob, data: str) -> None:
        kind = blob.mime_type or ""
        item = ours.ImageGenerationCall(id=self.id("ig"), status="completed", result=data)
        item.output_format = FORMATS_BACK.get(kind)
        if left := diff(part, encode_image(item, data), SIGNED):
            item.leftovers = {WIRE: left}
        if given(part.thought_signature):
            sealed = VisibleSignatures(digest=digest(data), marks=[Mark(0, part.thought_signature)], before=True)
            self.items.append(carrier(sealed, WIRE, self._issuer, self.id("rs")))
        self.items.append(item)

    # --- hosted tools

    def _close_run(self) -> None:
        """End the open run: its visible items, and its carrier."""
        if not self._run:
            return
        run, self._run = self._run, []
        shown = visible_items(run)
        for item in shown:
            item.id = self.id(ID_PREFIXES[item.type])
            self.items.append(item)
        parts = Raw(encode(run))
        sealed = Whole(digest=_digest_of(shown, parts), parts=parts)
        self.items.append(carrier(sealed, WIRE, self._issuer, self.id("rs")))
