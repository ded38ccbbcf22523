"""The sources of an answer, both ways: nested `annotations`, and the bare `citations` of Perplexity and xAI.

Before changing this file, know that indices count characters in the text of one part, so they move when texts are joined.
Follows the Chat Completions reference and those of Perplexity and OpenRouter (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ...responses.leftovers import SPELLING, own
from ...responses.parts import AnyAnnotation, UrlCitation
from ...unknown import Unknown, convert, given
from .content import FOREIGN
from .left import as_list, is_object, notes
from .types import WIRE, Json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...losses import Losses

_FIELDS = ("url", "title", "start_index", "end_index")


# --- Chat -> Responses ----------------------------------------------------------------------------------------------


def decode_annotations(annotations: Iterable[Any]) -> list[AnyAnnotation]:
    """The annotations, no longer nested; kinds that only this wire knows are marked as such."""
    return [_decode(annotation) for annotation in annotations]


def _decode(annotation: Any) -> AnyAnnotation:
    if is_object(annotation) and annotation.get("type") == "url_citation":
        inner = annotation.get("url_citation")
        if is_object(inner) and annotation.keys() == {"type", "url_citation"}:
            made = _citation(inner)
            if made is not None:
                return made
    kept = annotation if is_object(annotation) else {"value": annotation}
    return Unknown({**kept, "type": f"{FOREIGN}{kept.get('type', '')}"})


def _citation(inner: Json) -> UrlCitation | None:
    rest = {name: value for name, value in inner.items() if name not in _FIELDS}
    try:
        made = convert({name: inner[name] for name in _FIELDS if name in inner}, UrlCitation)
    except msgspec.ValidationError:
        return None
    if rest:
        made.leftovers = {WIRE: rest}
    return made


def decode_citations(citations: Any, search_results: Any) -> list[AnyAnnotation]:
    """Annotations without a place in the text for a bare list of sources."""
    titles = {
        result["url"]: result["title"]
        for result in as_list(search_results)
        if is_object(result) and isinstance(result.get("url"), str) and isinstance(result.get("title"), str)
    }
    # Responses requires a place: the beginning is where a source of the whole text stands.
    return [
        UrlCitation(
            url=url,
            title=titles.get(url, ""),
            start_index=0,
            end_index=0,
            leftovers={WIRE: {SPELLING: {"cited": True}}},
        )
        for url in as_list(citations)
        if isinstance(url, str)
    ]


# --- Responses -> Chat ----------------------------------------------------------------------------------------------


def encode_annotations(annotations: Iterable[AnyAnnotation], offset: int, path: str, lost: Losses) -> list[Json]:
    """The annotations as this wire nests them, moved by `offset`; those of a bare list of sources are left out."""
    encoded: list[Json] = []
    for j, annotation in enumerate(annotations):
        match annotation:
            case Unknown() if annotation.type.startswith(FOREIGN):
                kept = {**annotation, "type": annotation.type.removeprefix(FOREIGN)}
                encoded.append(kept)
            case UrlCitation():
                left = own(annotation.leftovers, WIRE)
                if not notes(left):
                    encoded.append({"type": "url_citation", "url_citation": {**_place(annotation, offset), **left}})
            case _:
                lost.dropped(f"{path}.annotations[{j}]", "a source that this wire has no field for")
    return encoded


def _place(annotation: UrlCitation, offset: int) -> Json:
    made: Json = msgspec.to_builtins(annotation)
    place = {name: made[name] for name in _FIELDS if name in made}
    if offset:
        for name in ("start_index", "end_index"):
            if given(place.get(name)):
                place[name] += offset
    return place
