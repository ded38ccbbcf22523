"""Sources of answers: grounding and citations as annotations, and back."""

from __future__ import annotations

from typing import Any

from tests.wires.gemini_generate_content import answer, contents, read, user, written

PAGES = [{"web": {"uri": "https://a.test", "title": "A"}}, {"web": {"uri": "https://b.test"}}]


def support(text: str, start: int, end: int, *chunks: int, **segment: Any) -> dict[str, Any]:
    """What a stretch of bytes rests on."""
    where = {"startIndex": start} if start else {}
    return {"segment": {**segment, **where, "endIndex": end, "text": text}, "groundingChunkIndices": [*chunks]}


def grounded(*parts: Any, chunks: Any = PAGES, supports: Any = (), **more: Any) -> Any:
    """The response of a grounded answer, which must become that answer again."""
    metadata = {"groundingChunks": chunks, "groundingSupports": [*supports], **more}
    document = answer(*parts, groundingMetadata=metadata)
    response, lost = read(document)
    assert (lost, written(response)) == ([], (document, []))
    return response


def test_sources_of_this_vendor_do_not_return_to_it_and_are_no_loss() -> None:
    """gemini.response.35"""
    response = grounded({"text": "Yo"}, webSearchQueries=["q"], supports=[support("Yo", 0, 2, 0)])
    found, lost = contents(user("Hi"), *response.output, user("So?"))
    assert (found[1]["parts"], lost) == ([{"text": "Yo"}], [])
