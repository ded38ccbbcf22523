"""What the model said, as items: the parts of a content in the role `model`.

`Reader` turns parts into items one at a time, so that a whole answer and a streamed one give the same items. Before changing
this file, know that a thought signature must return on the very part it came on, and that parts with and without one are
never joined: a thought and a call carry theirs before the item, a text and an image behind it. Follows Google's guide to
thought signatures (read 2026-11-20).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import UNSET

from ...responses.carriers import digest, seal
from ...responses.items import ImageGenerationCall, Message, Reasoning
from ...responses.parts import OutputText, SummaryText
from ...unknown import given
from . import types
from .calls import called_as, decode_call
from .carried import Mark, Shown, Thought, call_ref, carrier, left, rest
from .own_tools import Run, run_items
from .types import WIRE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...responses.items import AnyItem
    from ...responses.parts import ContentPart
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


class Reader:
    """Turns the parts of one content into items: `add` each part, then `close`.

    `origin` begins the ids of calls that came without one. With `answer`, the id of an answer, items get ids and statuses.
    `said` holds the texts among the parts, each with the place of its part, for what grounding says about them.
    """

    __slots__ = (
        "_calls",
        "_issuer",
        "_marks",
        "_named",
        "_origin",
        "_parts",
        "_run",
        "_summary",
        "_thought_marks",
        "answer",
        "items",
        "place",
        "said",
    )

    def __init__(
        self, issuer: str, origin: str, *, answer: str | None = None, named: Mapping[str, Named] | None = None
    ) -> None:
        self.items: list[AnyItem] = []
        self.answer = answer
        self._calls = 0
        self.said: list[tuple[int, OutputText]] = []
        self.place = 0
        self._named = named
        self._issuer = issuer
        self._origin = origin
        self._parts: list[ContentPart] | None = None
        self._marks: list[Mark] = []
        self._summary: list[SummaryText] | None = None
        self._thought_marks: list[Mark] = []
        self._run: list[types.Part] = []

    def add(self, part: types.Part) -> None:
        """Take the next part."""
        text = part.text
        if text is not UNSET and text is not None:
            if part.thought:
                self._think(part, text)
            else:
                self._say(part, text)
        elif given(part.function_call):
            self._close_text()
            self._close_run()
            self._call(part, part.function_call)
        else:
            self._close_text()
            self._close_thoughts()
            blob = part.inline_data
            if given(blob) and not part.thought and given(blob.data) and (blob.mime_type or "").startswith("image/"):
                self._close_run()
                self._image(part, blob, blob.data)
            else:
                self._run.append(part)
        self.place += 1

    def close(self) -> list[AnyItem]:
        """The items of the parts so far."""
        self._close_text()
        self._close_thoughts()
        self._close_run()
        return self.items

    @property
    def thoughts(self) -> list[SummaryText]:
        """The parts of the thought that is open."""
        return self._summary or []

    def id(self, prefix: str) -> Opt[str]:
        """The id of the next item."""
        return UNSET if self.answer is None else f"{prefix}_{self.answer}_{len(self.items)}"

    # --- texts

    def turn(self, *, thought: bool) -> None:
        """A thought or a text comes next: what is neither it nor its continuation is complete."""
        if thought:
            self._close_text()
        elif self._summary is not None:
            self._close_thoughts()
        if self._run:
            self._close_run()

    def _say(self, part: types.Part, text: str) -> None:
        self.turn(thought=False)
        parts = self._parts
        if parts is None:
            parts = self._parts = []
        signature = part.thought_signature
        if given(signature):
            self._marks.append(Mark(len(parts), signature, not text))
            if not text:
                return
        said = OutputText(text=text, annotations=UNSET if self.answer is None else [])
        if not text or part.thought is not UNSET or says_more(part):
            fields = rest(part, ("text", "thoughtSignature"))
            said.leftovers = left(fields, None if text else {"empty": True})
        parts.append(said)
        self.said.append((self.place, said))

    def _close_text(self) -> None:
        """End the message that is open; signatures of its texts follow it."""
        parts = self._parts
        if parts is None:
            return
        self._parts = None
        if parts:
            status = UNSET if self.answer is None else "completed"
            self.items.append(Message(id=self.id("msg"), role="assistant", status=status, content=parts))
        if self._marks:
            seen = "".join(part.text for part in parts if isinstance(part, OutputText))
            self.items.append(carrier(Shown(digest=digest(seen), marks=self._marks), self._issuer, self.id("rs")))
            self._marks = []

    # --- thoughts

    def _think(self, part: types.Part, text: str) -> None:
        self.turn(thought=True)
        if self._summary is None:
            self._summary = []
        signature = part.thought_signature
        if given(signature):
            self._thought_marks.append(Mark(len(self._summary), signature, not text))
            if not text:
                return
        thought = SummaryText(text=text)
        if says_more(part):
            thought.leftovers = left(rest(part, ("text", "thought", "thoughtSignature")))
        self._summary.append(thought)

    def _close_thoughts(self, call: str = "", signature: str = "") -> None:
        """End the thought that is open; it carries the signature of the call that follows, if one does."""
        summary = self._summary
        if summary is None:
            if not signature:
                return
            summary = []
        seen = "".join(part.text for part in summary)
        payload = Thought(digest=digest(seen), marks=self._thought_marks, call=call, signature=signature)
        sealed = seal(WIRE, self._issuer, payload)
        self.items.append(Reasoning(id=self.id("rs"), summary=summary, encrypted_content=sealed))
        self._summary = None
        self._thought_marks = []

    # --- calls

    def _call(self, part: types.Part, call: types.FunctionCall) -> None:
        item = decode_call(part, call, f"{self._origin}_{self._calls}")
        self._calls += 1
        signature = part.thought_signature
        if given(signature) or self._summary is not None:
            ref = call_ref(call.id or None, item.name, item.arguments) if signature else ""
            self._close_thoughts(ref, signature or "")
        item.id = self.id("fc")
        if self.answer is not None:
            item.status = "completed"
        self.items.append(called_as(item, self._named) if self._named else item)

    # --- images and the vendor's tools

    def _image(self, part: types.Part, blob: types.Blob, data: str) -> None:
        kind = blob.mime_type or ""
        item = ImageGenerationCall(id=self.id("ig"), status="completed", result=data)
        fields = rest(part, ("inlineData", "thoughtSignature"))
        more = rest(blob, ("data", "mimeType"))
        if kind in IMAGES_BACK:
            item.output_format = IMAGES_BACK[kind]
        else:
            more["mimeType"] = kind
        if more:
            fields["inlineData"] = more
        item.leftovers = left(fields)
        self.items.append(item)
        if given(part.thought_signature):
            marks = [Mark(0, part.thought_signature)]
            self.items.append(carrier(Shown(digest=digest(data), marks=marks), self._issuer, self.id("rs")))

    def _close_run(self) -> None:
        if self._run:
            self.items += run_items(Run(self._run, self.answer, len(self.items)), self._issuer)
            self._run = []
