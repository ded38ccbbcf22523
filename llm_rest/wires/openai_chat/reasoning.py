"""Conversion of reasoning: readable text, and opaque state that only its issuer can use.

Hosts send the text in `reasoning_content`, `reasoning`, `reasoning_details`, a `thinking` part or `<think>` tags, and
Gemini adds signatures to calls and messages. The visible text becomes a `reasoning` item; invisible state that must be
returned is in its envelope. Before changing this file, know that text is returned only to the host that issued it, and
that signed state is returned only with the text it was made for. Follows the references of DeepSeek, OpenRouter,
Mistral and Google's compatible endpoint (read 2026-11-20).
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from msgspec import UNSET, Struct

from ... import responses as ours
from ...responses.carriers import SEAL, SPELLING, digest, own, seal, unseal
from ...unknown import as_list, as_object, given, or_none, or_unset
from ..kept import patch, unknown
from ..leftovers import as_summary, carrier
from . import types
from .types import USED, WIRE, AnyPart, AssistantFields, Json, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...losses import Losses
    from ...vendors.dialects import ChatDialect

Place = Literal["reasoning_content", "reasoning", "reasoning_details", "thinking", "think"]

TEXT_PLACES: tuple[Place, Place] = ("reasoning_content", "reasoning")
"""The fields of a message that hold reasoning as a bare text."""

OURS = "llm_rest"
"""The format of `reasoning_details` with state of other issuers, which clients send back."""

_SHOWN = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""The readable types of `reasoning_details`, and the field with their text."""

GAP = "\n\n"
"""Separator of two reasoning texts that share a field."""

_TAGS = re.compile(r"<think>(.*?)</think>(\s*)(.*)", re.DOTALL)


# --- payloads of envelopes ------------------------------------------------------------------------------------------


class Thought(Struct, tag="thought", omit_defaults=True):
    """The place of a reasoning item's text in the host's message, and the host's state of it.

    `shown` is the digest of the text. In `details` a visible text is replaced by `true`; a `thinking` part has them if
    its pieces are more than texts, and text that is in none of them is in the field `beside` them. `rest` are the other
    fields of that part, which is `bare` if it held a string; `gap` was between `</think>` and the text.
    """

    place: Place
    shown: str
    details: list[Json] = []
    rest: Json = {}
    bare: bool = False
    gap: str = ""
    beside: str = ""


class CallState(Struct, tag="call"):
    """The host's state of a call."""

    call_id: str
    extra_content: Json


class MessageState(Struct, tag="message", omit_defaults=True):
    """The host's state of a message; `shown` is the digest of its text, empty if it had none."""

    shown: str = ""
    extra_content: Json | None = None
    thought_signature: str | None = None


class SoundState(Struct, tag="sound"):
    """A sound of the host; `shown` is the digest of its message's text. A `transcript` that is that text is `true`."""

    shown: str
    audio: Json


State = Thought | CallState | MessageState | SoundState

_state = attrgetter(*TEXT_PLACES, "reasoning_details", "extra_content", "thought_signature")
_NO_STATE = (UNSET,) * 5


def state_of(item: ours.Reasoning, dialect: ChatDialect) -> State | None:
    """The state from the host of `dialect`; `None` if that host did not issue the item."""
    if given(item.encrypted_content):
        state = cast("State | None", unseal(item.encrypted_content, WIRE, dialect.issuer, State))
        return None if isinstance(state, Thought) and any(map(_is_forged, state.details)) else state
    notes = notes_of(item)
    place = notes.get(USED)
    if place in TEXT_PLACES and notes.get("issuer") == dialect.issuer:
        return Thought(place=place, shown=digest(text_of(item)))
    return None


def _is_forged(detail: Json) -> bool:
    """Whether a detail in an envelope has a readable text, which only the item has, or a type that no host gives one."""
    texts = (detail.get(name) for name in _SHOWN.values())
    return not isinstance(detail.get("type"), str) or any(isinstance(text, str) and text != "" for text in texts)


def notes_of(item: Any) -> Json:
    """The notes on an item about its document's notation."""
    return as_object(own(item.leftovers, WIRE).get(SPELLING)) if item.leftovers else {}


def is_foreign(item: ours.Reasoning, dialect: ChatDialect) -> bool:
    """Whether the item holds state of another issuer, or state of this one that a client would return as ours."""
    if not item.encrypted_content:
        return False
    state = state_of(item, dialect)
    if SEAL in item.encrypted_content and isinstance(state, Thought) and any(map(is_ours, state.details)):
        return True
    return state is None


def streamed_field(dialect: ChatDialect) -> str:
    """The field in which this host streams reasoning text; empty if the text is sent whole."""
    field = dialect.reasoning_field or TEXT_PLACES[0]
    return field if field in TEXT_PLACES and not dialect.think_tags else ""


def texts(item: ours.Reasoning) -> list[str]:
    """All readable texts of the item."""
    return [*_texts(item.summary), *_texts(item.content)]


def _texts(parts: list[ours.SummaryText] | list[ours.ReasoningText] | None) -> Iterator[str]:
    return (part.text for part in parts) if parts else iter(())


def text_of(item: ours.Reasoning) -> str:
    """The readable texts of the item, as one text."""
    return GAP.join(texts(item))


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_thinking(msg: AssistantFields, dialect: ChatDialect, *, answer: bool) -> list[ours.Reasoning]:
    """The reasoning in the fields of a message. A text that repeats another field is left out."""
    items: list[ours.Reasoning] = []
    if msg.reasoning_details:
        place: Place = "reasoning_content" if msg.reasoning_content else "reasoning"
        items += _from_details(msg.reasoning_details, place, getattr(msg, place) or "", dialect, answer=answer)
    for place in TEXT_PLACES:
        text: str | None | Any = getattr(msg, place)
        if text and not any(map(text_of, items)):
            items.append(thought(text, place, dialect, answer=answer))
    return items


def has_state(msg: AssistantFields) -> bool:
    """Whether a message has reasoning, or state of its host."""
    values: tuple[Any, ...] = _state(msg)
    return values != _NO_STATE


def message_state(msg: AssistantFields, texts: Sequence[str], dialect: ChatDialect) -> list[ours.Reasoning]:
    """A carrier of the host's state of a message with these texts, if there is any."""
    state = MessageState(extra_content=or_none(msg.extra_content), thought_signature=or_none(msg.thought_signature))
    if state == MessageState():
        return []
    state.shown = digest(texts[-1]) if texts else ""
    return [carrier(state, WIRE, dialect.issuer)]


def readable_text(details: Sequence[Json]) -> str:
    """The readable text of `reasoning_details` without line breaks, to compare it with another field."""
    texts = (detail.get(_SHOWN.get(str(detail.get("type")), "")) for detail in details)
    return "".join(text for text in texts if isinstance(text, str)).replace("\n", "")


def thought(text: str, place: Place, dialect: ChatDialect, gap: str = "", *, answer: bool = True) -> ours.Reasoning:
    """A reasoning item for a bare text.

    It is marked as the host's own if the host requires it back; elsewhere a request notes which field it was in.
    """
    item = ours.Reasoning(summary=[], content=[ours.ReasoningText(text=text)])
    if dialect.replay_reasoning != "never":
        item.encrypted_content = seal(WIRE, dialect.issuer, Thought(place=place, shown=digest(text), gap=gap))
    elif not answer:
        item.leftovers = {WIRE: {SPELLING: {USED: place, "issuer": dialect.issuer}}}
    return item


def decode_thinking_part(part: Thinking, dialect: ChatDialect) -> ours.Reasoning:
    """The reasoning item for a `thinking` part."""
    pieces = pieces_of(part.thinking)
    details = [{**piece, "text": True} if is_text(piece) else piece for piece in pieces]
    item = ours.Reasoning(
        summary=[], content=[ours.ReasoningText(text=piece["text"]) for piece in pieces if is_text(piece)]
    )
    state = Thought(place="thinking", shown=digest(text_of(item)), rest=unknown(part, *_OTHER_FIELDS))
    state.bare = isinstance(part.thinking, str)
    if any(detail != _PIECE for detail in details):
        state.details = details
    item.encrypted_content = seal(WIRE, dialect.issuer, state)
    return item


_OTHER_FIELDS = tuple(name for name in Thinking.__struct_fields__ if name != "thinking")
_PIECE: Json = {"type": "text", "text": True}
"""A piece of a thought with only its text, which is visible."""


def is_text(piece: Json) -> bool:
    """Whether a piece of a thought is a text."""
    return piece.get("type") == "text" and isinstance(piece.get("text"), str)


def pieces_of(thinking: str | list[Json]) -> list[Json]:
    """The pieces of a thought, as a new list."""
    return [{"type": "text", "text": thinking}] if isinstance(thinking, str) else list(thinking)


def split_think(text: str) -> tuple[str, str, str] | None:
    """The thought, the gap and the text of an answer that begins with `<think>`; `None` for any other."""
    found = _TAGS.fullmatch(text)
    return (found[1], found[2], found[3]) if found else None


def is_ours(detail: Json) -> bool:
    """Whether a detail holds state of another issuer, as encoded here."""
    return detail.get("format") == OURS


def _from_details(
    details: list[Json], place: Place, bare: str, dialect: ChatDialect, *, answer: bool
) -> list[ours.Reasoning]:
    """One item for the host's own details, and one for each foreign item that a client sends back.

    Streamed details have the range of their part of the `bare` text; a range without a detail is a thought of its own. In
    an `answer` all details are the host's own: another gateway encodes state for its clients as we do.
    """
    items: dict[str, ours.Reasoning] = {}
    hidden: list[Json] = []
    read = 0
    for detail in details:
        kind, our = detail.get("type"), not answer and is_ours(detail)
        name = str(detail.get("id", detail.get("index"))) if our else ""
        claimed = _claimed(detail, bare, read) if our else None
        if claimed is not None:
            if before := bare[read : claimed.start].removesuffix(GAP):
                items[f"before {name}"] = thought(before, TEXT_PLACES[0], dialect)
            items[name] = claimed.item
            read = claimed.end + len(GAP)
        item = items.setdefault(name, ours.Reasoning(summary=[]))
        name = _SHOWN.get(kind, "") if isinstance(kind, str) else ""
        text = detail.get(name)
        if isinstance(text, str) and text:
            _show(item, kind, text)
            detail = {**detail, name: True}
        sealed = detail.get("data")
        if our and kind == "reasoning.encrypted" and isinstance(sealed, str):
            item.encrypted_content = sealed
        elif not our:
            hidden.append(detail)
    if hidden:
        own, beside = items[""], ""
        if answer and not text_of(own) and any(map(is_ours, hidden)):
            own.content, beside = [ours.ReasoningText(text=bare)] if bare else None, place if bare else ""
        state = Thought(place="reasoning_details", shown=digest(text_of(own)), details=hidden, beside=beside)
        own.encrypted_content = seal(WIRE, dialect.issuer, state)
    if read and (behind := bare[read:]):
        items["behind"] = thought(behind, TEXT_PLACES[0], dialect)
    return list(items.values())


class _Claimed(NamedTuple):
    """The item with the texts in this range of a bare text."""

    item: ours.Reasoning
    start: int
    end: int


def _claimed(detail: Json, bare: str, read: int) -> _Claimed | None:
    """The range of the bare text, after position `read`, for a detail; `None` if its range is not in the text."""
    start, lengths = detail.get("start"), as_object(detail.get("lengths"))
    kinds = [(kind, as_list(lengths.get(name))) for kind, name in _SHOWN.items()]
    counts: list[Any] = [start, *(length for _, each in kinds for length in each)]
    if len(counts) < 2 or not all(type(count) is int and count >= 0 for count in counts):
        return None
    end = sum(counts) + len(GAP) * (len(counts) - 2)
    if counts[0] < read or end > len(bare):
        return None
    shown: dict[str, list[str]] = {}
    at = counts[0]
    for kind, each in kinds:
        for length in each:
            shown.setdefault(kind, []).append(bare[at : at + length])
            at += length + len(GAP)
    item = ours.Reasoning(summary=[ours.SummaryText(text=text) for text in shown.get("reasoning.summary", ())])
    if texts := shown.get("reasoning.text"):
        item.content = [ours.ReasoningText(text=text) for text in texts]
    return _Claimed(item, counts[0], end)


def _show(item: ours.Reasoning, kind: Any, text: str) -> None:
    if kind == "reasoning.summary":
        item.summary = item.summary or []
        item.summary.append(ours.SummaryText(text=text))
    else:
        item.content = item.content or []
        item.content.append(ours.ReasoningText(text=text))


# --- streamed reasoning ---------------------------------------------------------------------------------------------

OPENING, CLOSING = "<think>", "</think>"


class ThinkTags:
    """Splits streamed text at `<think>` tags: `feed` returns pairs of whether it is thought, and the text."""

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = "before"
        self._held: str = ""

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """The pairs that are certain so far."""
        found: list[tuple[bool, str]] = []
        text, self._held = self._held + text, ""
        if self._state == "before":
            if text.startswith(OPENING):
                self._state, text = "inside", text[len(OPENING) :]
            elif OPENING.startswith(text):
                self._held = text
                return []
            else:
                self._state = "after"
        if self._state == "inside":
            thought, tag, rest = text.partition(CLOSING)
            if not tag:
                kept = next(n for n in range(len(CLOSING) - 1, -1, -1) if text.endswith(CLOSING[:n]))
                thought, self._held = text[: len(text) - kept], text[len(text) - kept :]
            if thought:
                found.append((True, thought))
            if not tag:
                return found
            self._state, text = "gap", rest
        if self._state == "gap":
            # White space after the closing tag belongs to neither.
            text = text.lstrip()
            self._state = "after" if text else "gap"
        return [*found, (False, text)] if text else found

    def close(self) -> list[tuple[bool, str]]:
        """The text that was held back."""
        held, self._held = self._held, ""
        return [(self._state == "inside", held)] if held else []


class Repeated:
    """Detects a text that was sent in one field and is repeated in another. Line breaks are ignored."""

    __slots__ = ("_at", "_pieces", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._at = 0  # the length of the repeated part
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        """Record a piece that was sent."""
        self._pieces.append(text.replace("\n", ""))

    def repeats(self, text: str) -> bool:
        """Whether this piece repeats the next recorded text. One that does not ends the repetition."""
        if self._pieces:
            self._text, self._at = self._text[self._at :] + "".join(self._pieces), 0
            self._pieces = []
        line = text.replace("\n", "")
        if self._at < len(self._text) and self._text.startswith(line, self._at):
            self._at += len(line)
            return True
        self._text = ""
        return False


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def put_thought(msg: AssistantFields, item: ours.Reasoning, state: Thought, path: str, lost: Losses) -> None:
    """Restore the host's own thought at its place in its message."""
    text = text_of(item)
    if digest(text) != state.shown:
        if not text:
            lost.dropped(path, "reasoning that returned without its text")
            return
        if state.details or state.rest:
            lost.dropped(f"{path}.encrypted_content", "signed reasoning, whose text was edited")
        state = Thought(place=state.place, shown="", gap=state.gap)
    match state.place:
        case "reasoning_content" | "reasoning":
            if len(texts(item)) > 1:
                lost.changed(path, "several texts, sent as one")
            put_text(msg, state.place, text)
        case "reasoning_details":
            # Thoughts that were moved to the summary, since the caller asked for one, are behind the summaries.
            place = sum(detail.get("summary") is True for detail in state.details)
            shown = {"summary": iter(texts(item)[:place]), "text": iter(texts(item)[place:])}
            details = [_with_text(detail, shown) for detail in state.details] or plain_details(item)
            if msg.reasoning_details:
                msg.reasoning_details += details
            else:
                msg.reasoning_details = details
            if state.beside in TEXT_PLACES and text:
                put_text(msg, state.beside, text)
        case "thinking":
            add_part(msg, _thinking(item, state))
        case "think":
            put_tags(msg, text, state.gap)


def put_text(msg: AssistantFields, place: str, text: str) -> None:
    """Add a text to a reasoning field."""
    before = getattr(msg, place)
    setattr(msg, place, f"{before}{GAP}{text}" if before else text)


def put_tags(msg: AssistantFields, text: str, gap: str) -> None:
    """Put a thought before the text, between tags."""
    tagged = f"<think>{text}</think>{gap}"
    if isinstance(msg.content, list):
        msg.content.insert(0, Text(text=tagged))
    else:
        msg.content = tagged + (msg.content if isinstance(msg.content, str) else "")


def add_part(msg: AssistantFields, part: AnyPart) -> None:
    """Add a part to the content, which becomes a list."""
    if isinstance(msg.content, list):
        msg.content.append(part)
    else:
        msg.content = [Text(text=msg.content), part] if isinstance(msg.content, str) and msg.content else [part]


def _with_text(detail: Json, shown: dict[str, Iterator[str]]) -> Json:
    """A detail with its text restored."""
    for name, following in shown.items():
        if detail.get(name) is True:
            return {**detail, name: next(following, "")}
    return detail


def plain_details(item: ours.Reasoning) -> list[Json]:
    """The readable texts of an item, as `reasoning_details`."""
    return [
        *({"type": "reasoning.summary", "summary": text} for text in _texts(item.summary)),
        *({"type": "reasoning.text", "text": text} for text in _texts(item.content)),
    ]


def summarize(items: list[ours.AnyItem], dialect: ChatDialect) -> None:
    """Show the host's thoughts as summaries, for a caller who asked for one; state of other issuers stays as it is."""
    for item in items:
        if isinstance(item, ours.Reasoning) and not is_foreign(item, dialect):
            as_summary(item)


def encode_foreign_thinking(msg: AssistantFields, item: ours.Reasoning) -> None:
    """Encode reasoning with the state of another issuer for a client, in a form that is sent back with the message."""
    before = msg.reasoning_details or []
    details = plain_details(item)
    if given(item.encrypted_content):
        details.append({"type": "reasoning.encrypted", "data": item.encrypted_content})
    # Clients merge streamed details by `index`, so each has its own; `id` is the same for those of one item.
    about = {"format": OURS, "id": str(len(before))}
    numbered = [{**detail, **about, "index": i} for i, detail in enumerate(details, len(before))]
    before += numbered
    msg.reasoning_details = before


def trailing_state(item: ours.Reasoning, number: int, start: int) -> Json:
    """The state of another issuer, after a text that was streamed from position `start` of its field on."""
    detail: Json = {"type": "reasoning.encrypted", "data": item.encrypted_content}
    lengths = {
        "summary": [*map(len, _texts(item.summary))],
        "text": [*map(len, _texts(item.content))],
    }
    if any(lengths.values()):
        detail |= {"start": start, "lengths": lengths}
    return {**detail, "format": OURS, "id": str(number), "index": number}


def _thinking(item: ours.Reasoning, state: Thought) -> Thinking:
    shown = {"text": iter(texts(item))}
    pieces = [_with_text(piece, shown) for piece in state.details or [_PIECE] * len(texts(item))]
    return patch(Thinking(thinking=text_of(item) if state.bare else pieces), state.rest)


# --- reasoning effort -----------------------------------------------------------------------------------------------


def encode_effort(
    options: ours.ReasoningOptions, body: types.Request, used: Sequence[str], dialect: ChatDialect, lost: Losses
) -> None:
    """Set the reasoning effort, in the field that the host reads."""
    effort = options.effort
    off = dialect.effort_none if effort == "none" else {}
    for name, value in off.items():
        setattr(body, name, value)
    if given(effort) and effort in dialect.efforts:
        lost.changed("reasoning.effort", f"{effort!r}, sent as {dialect.efforts[effort]!r}")
        effort = dialect.efforts[effort]
    effort = None if off else effort
    field = next((name for name in ("reasoning", "reasoning_effort") if name in used), dialect.effort_field)
    if field == "reasoning":
        if effort is not None or options.summary is not None:
            body.reasoning = types.Reasoning(effort=or_unset(effort), summary=or_unset(options.summary))
    else:
        body.reasoning_effort = or_unset(effort)
        if given(options.summary):
            lost.dropped("reasoning.summary", "a summary of the reasoning")


def decode_effort(body: types.Request, dialect: ChatDialect) -> tuple[ours.ReasoningOptions | None, str]:
    """The reasoning effort, from any of its fields, and the name of that field."""
    reasoning = body.reasoning if given(body.reasoning) else types.Reasoning()
    effort, field = (
        (reasoning.effort, "reasoning")
        if body.reasoning_effort is UNSET
        else (body.reasoning_effort, "reasoning_effort")
    )
    off = dialect.effort_none
    if off and effort is UNSET and all(getattr(body, name) == value for name, value in off.items()):
        effort, field = "none", dialect.effort_field
    if not given(effort) and not given(reasoning.summary):
        return None, ""
    return ours.ReasoningOptions(effort=or_none(effort), summary=or_none(reasoning.summary)), field
