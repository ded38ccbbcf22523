"""`citations` and `images`: the sources and the pictures of an answer in one shape, whatever wire it came on."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from llm_rest import Citation, wires
from llm_rest.responses import (
    ContainerFileCitation,
    FileCitation,
    FilePath,
    FileSearchCall,
    FileSearchResult,
    ImageGenerationCall,
    Message,
    OpenPage,
    OutputText,
    Response,
    Search,
    UrlCitation,
    UrlSource,
    WebSearchCall,
)
from llm_rest.responses.stream import Assembler
from llm_rest.unknown import Unknown
from tests.callers import NewClient
from tests.loopback import loopback

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def answer(*output: Any) -> Response:
    return Response(id="r", status="completed", output=list(output))


def said(text: str, *annotations: Any) -> OutputText:
    return OutputText(text=text, annotations=list(annotations))


def message(*parts: OutputText) -> Message:
    return Message(role="assistant", content=[*parts])


def test_spans_count_the_characters_of_the_whole_text() -> None:
    page = UrlCitation(url="https://a", title="A", start_index=1, end_index=3)
    document = FileCitation(file_id="", filename="D", index=4, start_index=0, end_index=4, cited_text="c")
    response = answer(message(said("12345"), said("abc", page)), message(said("text", document)))
    assert response.citations == [
        Citation(url="https://a", title="A", output_start=6, output_end=8),
        Citation(title="D", cited_text="c", output_start=8, output_end=12),
    ]
    text = response.output_text
    assert [text[one.output_start : one.output_end] for one in response.citations] == ["bc", "text"]


def test_every_annotation_of_the_format_is_a_citation() -> None:
    notes = [
        UrlCitation(url="https://whole", start_index=0, end_index=0),
        FileCitation(file_id="f1", filename="a.pdf", index=2),
        ContainerFileCitation(container_id="c", file_id="f2", filename="plot.png", start_index=0, end_index=2),
        FilePath(file_id="f3", index=0),
        Unknown(type="vendor:note", title="New", place=7),
        Unknown(type="vendor:empty"),
    ]
    assert answer(message(said("Hi", *notes))).citations == [
        Citation(url="https://whole"),
        Citation(file_id="f1", title="a.pdf", output_end=2),
        Citation(file_id="f2", title="plot.png", output_start=0, output_end=2),
        Citation(file_id="f3"),
        Citation(title="New"),
    ]


def test_sources_of_searches_come_last_and_only_those_that_no_text_cites() -> None:
    sources: list[Any] = [UrlSource(url="https://a"), UrlSource(url="https://b"), UrlSource(url="https://b")]
    results = [FileSearchResult(file_id="f", filename="a.pdf", text=text) for text in ("one", "two")]
    response = answer(
        WebSearchCall(status="completed", action=Search(query="q", sources=sources)),
        WebSearchCall(status="completed", action=OpenPage(url="https://c")),
        WebSearchCall(status="failed", action=OpenPage(url="https://d")),
        FileSearchCall(queries=["q"], results=results),
        message(said("Hi", UrlCitation(url="https://a", start_index=0, end_index=2))),
    )
    assert response.citations == [
        Citation(url="https://a", output_start=0, output_end=2),
        Citation(url="https://b"),
        Citation(url="https://c"),
        Citation(file_id="f", title="a.pdf", cited_text="one"),
        Citation(file_id="f", title="a.pdf", cited_text="two"),
    ]
    assert answer().citations == []


def replying(kind: str, body: str) -> Any:
    """A server's answer with this body."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body.encode())}\r\n\r\n"

    def act(connection: Any, _: Any) -> bool:
        connection.sendall((head + body).encode())
        return True

    return act


# --- documents at Anthropic ------------------------------------------------------------------------------------------

PLACES: list[Any] = [
    {"type": "char_location", "document_index": 0, "document_title": None, "start_char_index": 0, "end_char_index": 4},
    {"type": "page_location", "document_index": 1, "document_title": "D", "start_page_number": 3, "end_page_number": 5},
    {
        "type": "content_block_location",
        "document_index": 2,
        "document_title": "E",
        "start_block_index": 0,
        "end_block_index": 1,
    },
]
CITED = [{"cited_text": "12 h", **place} for place in PLACES]
BLOCKS: list[Any] = [
    {"type": "text", "text": "Lunch is "},
    {"type": "text", "text": "at twelve", "citations": CITED},
    {"type": "text", "text": "."},
]
DOCUMENT = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": BLOCKS,
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 5},
}
FOUND = [
    Citation(document_index=0, cited_text="12 h", unit="characters", start=0, end=4, output_start=9, output_end=18),
    Citation(
        title="D", document_index=1, cited_text="12 h", unit="pages", start=3, end=5, output_start=9, output_end=18
    ),
    Citation(
        title="E", document_index=2, cited_text="12 h", unit="blocks", start=0, end=1, output_start=9, output_end=18
    ),
]


def events() -> list[Any]:
    """The same answer as a stream, its citations one by one."""
    sent: list[Any] = [{"type": "message_start", "message": {**DOCUMENT, "content": [], "stop_reason": None}}]
    for index, block in enumerate(BLOCKS):
        sent.append({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
        deltas = [{"type": "citations_delta", "citation": one} for one in block.get("citations", ())]
        deltas.insert(1, {"type": "text_delta", "text": block["text"]})
        sent += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        sent.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    return [*sent, {"type": "message_delta", "delta": ended, "usage": DOCUMENT["usage"]}, {"type": "message_stop"}]


async def test_cited_documents_arrive_whole_and_streamed_and_return_as_they_came(new_client: NewClient) -> None:
    frames = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events())
    whole, stream = replying("application/json", json.dumps(DOCUMENT)), replying("text/event-stream", frames)
    with loopback(whole, stream, whole) as server:
        options = {"base_url": server.url, "on_loss": "raise"}
        async with new_client("anthropic/claude-sonnet-5", **options) as llm:
            reply = await llm.generate("When?")
            seen: list[Any] = []
            async with llm.stream("When?") as streamed:
                async for event in streamed:
                    if event.type == "response.output_text.annotation.added":
                        seen.append(event.annotation)
            await llm.generate(
                [{"role": "user", "content": "When?"}, *reply.output, {"role": "user", "content": "Sure?"}]
            )
        assert reply.citations == streamed.response.citations == FOUND
        assert [one.output_text for one in (reply, streamed.response)] == ["Lunch is at twelve."] * 2
        assert seen == reply.output[0].content[1].annotations
        assert json.loads(server.bodies[-1])["messages"][1] == {"role": "assistant", "content": BLOCKS}


def test_another_wire_is_told_of_what_it_cannot_say_about_a_document() -> None:
    anthropic: Any = wires.load("anthropic_messages")
    response, lost = anthropic.decode_response(anthropic.RESPONSE.decode(msgspec.json.encode(DOCUMENT)))
    assert lost == []
    for name in ("openai_chat", "gemini_generate_content", "ollama_chat"):
        document, lost = wires.load(name).encode_response(response)
        shown = msgspec.json.encode(document).decode().count("12 h")
        told = [loss for loss in lost if loss.path.startswith("output[0].content[1].annotations")]
        assert shown == 3 or told, name
    document, lost = wires.load("openai_responses").encode_response(response)
    plain = json.loads(msgspec.json.encode(document))
    assert [one["cited_text"] for one in plain["output"][0]["content"][1]["annotations"]] == ["12 h"] * 3


def test_a_saved_stream_has_the_same_citations() -> None:
    anthropic: Any = wires.load("anthropic_messages")
    machine, seen = anthropic.decode_stream(), Assembler()
    for event in events():
        for ours in machine.feed(anthropic.EVENT.decode(json.dumps(event).encode())):
            seen.feed(ours)
    assert seen.response.citations == FOUND


# --- searches and passages at Gemini ---------------------------------------------------------------------------------

GROUNDED: Any = {
    "index": 0,
    "finishReason": "STOP",
    "groundingMetadata": {
        "webSearchQueries": ["lunch"],
        "searchEntryPoint": {"renderedContent": "<div>lunch</div>"},
        "groundingChunks": [
            {"web": {"uri": "https://a", "title": "A"}},
            {"web": {"uri": "https://b", "title": "B"}},
            {"retrievedContext": {"title": "c.pdf", "text": "At 12.", "documentName": "docs/c", "pageNumber": 2}},
            {"retrievedContext": {"text": "Or later.", "documentName": "docs/d"}},
        ],
        "groundingSupports": [
            {"segment": {"startIndex": 3, "endIndex": 7, "text": "zwö"}, "groundingChunkIndices": [0, 2]}
        ],
    },
    "urlContextMetadata": {
        "urlMetadata": [{"retrievedUrl": "https://u", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"}]
    },
}
SAID = {"role": "model", "parts": [{"text": "Um zwölf."}]}


async def test_grounding_is_shown_and_cited_whole_and_streamed(new_client: NewClient) -> None:
    document = {"candidates": [{"content": SAID, **GROUNDED}], "modelVersion": "gemini-3-flash", "responseId": "r1"}
    chunks: list[Any] = [{"candidates": [{"content": SAID, "index": 0}]}, {"candidates": [GROUNDED]}]
    frames = "".join(
        f"data: {json.dumps({**one, 'responseId': 'r1', 'modelVersion': 'gemini-3-flash'})}\n\n" for one in chunks
    )
    whole, stream = replying("application/json", json.dumps(document)), replying("text/event-stream", frames)
    with loopback(whole, stream) as server:
        async with new_client("google/gemini-3-flash", base_url=server.url, on_loss="raise") as llm:
            reply = await llm.generate("Wann?")
            async with llm.stream("Wann?") as streamed:
                async for _ in streamed:
                    pass
    span: Any = {"output_start": 3, "output_end": 6}
    for each in (reply, streamed.response):
        assert each.citations == [
            Citation(url="https://a", title="A", **span),
            Citation(file_id="docs/c", title="c.pdf", cited_text="At 12.", unit="pages", start=2, end=3, **span),
            Citation(url="https://u"),
            Citation(url="https://b", title="B"),
            Citation(file_id="docs/d", cited_text="Or later."),
        ]
        searches = [item for item in each.output if item.type == "web_search_call"]
        assert [search.rendered_content for search in searches] == [None, "<div>lunch</div>"]
    assert reply.output == streamed.response.output
    gemini: Any = wires.load("gemini_generate_content")
    kept, lost = gemini.decode_response(gemini.RESPONSE.decode(json.dumps(document).encode()))
    back, more = gemini.encode_response(kept)
    assert (json.loads(msgspec.json.encode(back)), [*lost, *more]) == (document, [])


# --- images ----------------------------------------------------------------------------------------------------------


def drawn(result: str | None, **fields: Any) -> ImageGenerationCall:
    return ImageGenerationCall(status="completed", result=result, **fields)


def test_images_have_their_bytes_and_their_media_type(tmp_path: Path) -> None:
    png, svg = (base64.b64encode(data).decode() for data in (PNG, b"<svg/>"))
    response = answer(
        drawn(png, output_format="jpeg"),
        drawn(svg, output_format="svg"),
        drawn(f"data:image/x-new;base64,{svg}"),
        drawn(svg),
        drawn(base64.urlsafe_b64encode(b"\xff\xd8\xff\xfb\xef").decode()),
        drawn(None),
        drawn("https://example.com/a.png"),
        message(said("Hi")),
    )
    assert [(image.media_type, image.data) for image in response.images] == [
        ("image/png", PNG),
        ("image/svg+xml", b"<svg/>"),
        ("image/x-new", b"<svg/>"),
        ("application/octet-stream", b"<svg/>"),
        ("image/jpeg", b"\xff\xd8\xff\xfb\xef"),
    ]
    response.images[0].save(tmp_path / "sky.png")
    assert (tmp_path / "sky.png").read_bytes() == PNG
    assert repr(response.images[0]) == "<Image: image/png, 16 bytes; see .data .save(path)>"
