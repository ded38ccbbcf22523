"""Sources of answers: grounding and citations as annotations, and back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.responses import FileCitation, Message, OutputText, Search, UrlCitation, UrlSource, WebSearchCall
from tests.wires.gemini_generate_content import abroad, answer, answered, contents, read, user, written

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


def sources(response: Any) -> list[Any]:
    """The annotations of each text."""
    messages: list[Any] = [item for item in response.output if isinstance(item, Message)]
    return [part.annotations for message in messages for part in message.content]


def test_stretches_in_bytes_are_annotations_in_characters() -> None:
    """gemini.response.30, BUGS 89"""
    text = "Größe: 3 µm. Ünd."
    said = support("3 µm.", len("Größe: ".encode()), len("Größe: 3 µm.".encode()), 0, 1)
    assert sources(grounded({"text": text}, supports=[said])) == [
        [
            UrlCitation(url="https://a.test", title="A", start_index=7, end_index=12),
            UrlCitation(url="https://b.test", start_index=7, end_index=12),
        ]
    ]
    assert text[7:12] == "3 µm."


def test_a_stretch_is_found_by_its_text_where_the_count_of_parts_is_off() -> None:
    """gemini.response.31: thoughts count or do not"""
    parts = [{"text": "Hm.", "thought": True}, {"text": "One."}, {"text": "Two."}]
    assert sources(grounded(*parts, supports=[support("Two.", 0, 4, 0, partIndex=1)])) == [
        [],
        [UrlCitation(url="https://a.test", title="A", start_index=0, end_index=4)],
    ]
    named = grounded({"text": "a"}, {"text": "a"}, supports=[support("a", 0, 1, 0, partIndex=1)])
    assert [len(found) for found in sources(named)] == [0, 1]


def test_a_stretch_nobody_finds_is_a_source_of_the_whole_text() -> None:
    """gemini.response.31"""
    assert sources(grounded({"text": "Yo"}, supports=[support("gone", 90, 94, 0)])) == [
        [UrlCitation(url="https://a.test", title="A")]
    ]


def test_a_source_that_is_not_listed_is_no_source() -> None:
    """gemini.response.31"""
    assert sources(grounded({"text": "Yo"}, supports=[support("Yo", 0, 2, 7, -1)])) == [[]]


def test_the_search_it_tells_of_stands_behind_the_text() -> None:
    """gemini.response.32"""
    response = grounded({"text": "Yo"}, webSearchQueries=["q"], supports=[support("Yo", 0, 2, 0)])
    search = response.output[1]
    assert isinstance(search, WebSearchCall)
    assert (search.id, search.status) == ("ws_r_1", "completed")
    pages: Any = [UrlSource(url="https://a.test"), UrlSource(url="https://b.test")]
    assert search.action == Search(queries=["q"], sources=pages)


def test_a_search_that_was_seen_is_not_told_again() -> None:
    """gemini.response.32"""
    used = {"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}}
    response = grounded(used, {"text": "Yo"}, webSearchQueries=["q"])
    assert sum(isinstance(item, WebSearchCall) for item in response.output) == 1


@pytest.mark.parametrize(
    ("chunk", "source"),
    [
        (
            {"retrievedContext": {"documentName": "fileSearchStores/a/documents/b", "title": "b.pdf"}},
            FileCitation(file_id="fileSearchStores/a/documents/b", filename="b.pdf", index=2),
        ),
        (
            {"retrievedContext": {"uri": "gs://b/a.pdf", "title": "a.pdf"}},
            UrlCitation(url="gs://b/a.pdf", title="a.pdf", start_index=0, end_index=2),
        ),
        (
            {"maps": {"uri": "https://maps.test/1", "title": "Café"}},
            UrlCitation(url="https://maps.test/1", title="Café", start_index=0, end_index=2),
        ),
        (
            {"image": {"sourceUri": "https://i.test/1"}},
            UrlCitation(url="https://i.test/1", start_index=0, end_index=2),
        ),
    ],
)
def test_files_places_and_images_are_sources_too(chunk: Any, source: Any) -> None:
    """gemini.response.33"""
    assert sources(grounded({"text": "Yo"}, chunks=[chunk], supports=[support("Yo", 0, 2, 0)])) == [[source]]


@pytest.mark.parametrize("name", ["citationSources", "citations"])
def test_texts_that_are_recited_are_sources(name: str) -> None:
    """gemini.response.34: the second name is Vertex's"""
    cited = {name: [{"startIndex": 1, "endIndex": 2, "uri": "https://a.test", "license": "mit"}, {"endIndex": 1}]}
    document = answer({"text": "Yo"}, citationMetadata=cited)
    response, _ = read(document)
    assert sources(response) == [
        [UrlCitation(url="https://a.test", title="https://a.test", start_index=1, end_index=2)]
    ]
    assert written(response) == (document, [])


def test_sources_of_this_vendor_do_not_return_to_it_and_are_no_loss() -> None:
    """gemini.response.35"""
    response = grounded({"text": "Yo"}, webSearchQueries=["q"], supports=[support("Yo", 0, 2, 0)])
    found, lost = contents(user("Hi"), *response.output, user("So?"))
    assert (found[1]["parts"], lost) == ([{"text": "Yo"}], [])


def cited(*annotations: Any, text: str = "Größe") -> Any:
    message = Message(role="assistant", content=[OutputText(text=text, annotations=[*annotations])])
    document, lost = written(answered(message))
    return document["candidates"][0].get("groundingMetadata", msgspec.UNSET), lost


def test_sources_of_other_vendors_are_told_as_grounding() -> None:
    """gemini.response_back.20"""
    assert cited(UrlCitation(url="https://a.test", title="A", start_index=2, end_index=4)) == (
        {
            "groundingChunks": [{"web": {"uri": "https://a.test", "title": "A"}}],
            "groundingSupports": [
                {"segment": {"startIndex": 2, "endIndex": 6, "text": "öß"}, "groundingChunkIndices": [0]}
            ],
        },
        [],
    )
    assert cited(FileCitation(file_id="f", index=0)) == (
        msgspec.UNSET,
        ["output[0].content[0].annotations[0] (dropped)"],
    )
    beyond, lost = cited(UrlCitation(url="https://a.test", start_index=2, end_index=99))
    assert beyond["groundingSupports"][0]["segment"]["text"] == "öße"
    assert lost == ["output[0].content[0].annotations[0] (changed)"]


def test_grounding_gives_way_to_sources_that_were_changed() -> None:
    """gemini.response_back.20"""
    response = grounded({"text": "Yo"}, supports=[support("Yo", 0, 2, 0)])
    response.output[0].content[0].annotations.pop()
    assert "groundingMetadata" not in written(response)[0]["candidates"][0]


def test_sources_that_are_annotations_are_no_loss_elsewhere() -> None:
    """gemini.response_back.20: only what no annotation and no search says is"""
    grounding = {
        "webSearchQueries": ["q"],
        "searchEntryPoint": {"renderedContent": "<b>"},
        "groundingChunks": [{"web": {"uri": "https://a.test", "title": "A"}}],
        "groundingSupports": [{"segment": {"endIndex": 2, "text": "Yo"}, "groundingChunkIndices": [0]}],
    }
    document = answer({"text": "Yo"}, groundingMetadata=grounding)
    response, _ = read(document)
    assert written(response) == (document, [])
    about = {path for path in abroad(response) if path.startswith("candidates")}
    assert about == {"candidates[0].groundingMetadata.searchEntryPoint"}
