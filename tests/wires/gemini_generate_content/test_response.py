"""Answers of this wire: what the rows of the mapping tables do not show."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from llm_rest.errors import DecodeError
from llm_rest.responses import Message, OutputText, Response, UrlCitation
from llm_rest.wires import gemini_generate_content as wire
from tests.support.facts import plain
from tests.wires.gemini_generate_content import answer, contents, read, user, written


def test_a_number_may_be_a_text() -> None:
    """gemini.response.22: as protobuf writes large ones"""
    body = msgspec.json.encode({**answer(), "usageMetadata": {"promptTokenCount": "10", "totalTokenCount": "10"}})
    assert plain(wire.RESPONSE.decode(body))["usageMetadata"] == {"promptTokenCount": 10, "totalTokenCount": 10}


def test_an_answer_with_a_null_for_its_candidates_is_one_only_where_it_says_why() -> None:
    with pytest.raises(DecodeError, match="candidates"):
        wire.RESPONSE.decode(b'{"candidates":null,"modelVersion":"m"}')
    blocked = wire.RESPONSE.decode(b'{"candidates":null,"promptFeedback":{"blockReason":"SAFETY"}}')
    assert wire.decode_response(blocked)[0].status == "incomplete"
    wire.EVENT.decode(b'{"candidates":null,"usageMetadata":{"totalTokenCount":3}}')


# --- sources --------------------------------------------------------------------------------------------------------


def test_sources_of_this_vendor_do_not_return_to_it_and_are_no_loss() -> None:
    """gemini.response.35"""
    chunks = [{"web": {"uri": "https://a.test", "title": "A"}}, {"web": {"uri": "https://b.test"}}]
    supports = [{"segment": {"endIndex": 2, "text": "Yo"}, "groundingChunkIndices": [0]}]
    grounding = {"groundingChunks": chunks, "groundingSupports": supports, "webSearchQueries": ["q"]}
    document = answer({"text": "Yo"}, groundingMetadata=grounding)
    response, lost = read(document)
    assert (lost, written(response)) == ([], (document, []))
    found, lost = contents(user("Hi"), *response.output, user("So?"))
    assert (found[1]["parts"], lost) == ([{"text": "Yo"}], [])


class Counted(str):
    """A text that counts the characters that are read of it."""

    read = 0

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        Counted.read += len(self)
        return str(self).encode(encoding, errors)

    def find(self, *what: Any) -> int:
        Counted.read += len(self)
        return str(self).find(*what)

    def __getitem__(self, at: Any) -> str:
        found = Counted(str(self)[at])
        Counted.read += len(found)
        return found


@pytest.mark.parametrize("said", [None, "nowhere"], ids=["by its place", "by its text"])
def test_many_sources_of_a_long_text_read_it_a_few_times(said: str | None) -> None:
    text = Counted("aé" * 200_000)
    segment = {"startIndex": 300_000, "endIndex": 300_003, **({"text": said} if said else {})}
    support = {"segment": segment, "groundingChunkIndices": [0]}
    grounding = {"groundingChunks": [{"web": {"uri": "https://a.b"}}], "groundingSupports": [support] * 1000}
    body: Any = wire.RESPONSE.decode(msgspec.json.encode(answer({"text": ""}, groundingMetadata=grounding)))
    body.candidates[0].content.parts[0].text = text
    Counted.read = 0
    response: Any = wire.decode_response(body, keep=False)[0]
    assert Counted.read < 20 * len(text)
    sources = response.output[0].content[0].annotations
    assert len(sources) == 1000
    assert (sources[0].start_index, sources[0].end_index) == (200_000, 200_002)


def test_the_segments_of_an_answer_repeat_its_text_a_few_times() -> None:
    text = "é" * 200_000
    source = UrlCitation(url="https://a.b", title="t", start_index=1, end_index=len(text))
    said = Message(role="assistant", content=[OutputText(text=text, annotations=[*[source] * 1000])])
    body, lost = written(Response(id="r", model="m", status="completed", output=[said]))
    supports = body["candidates"][0]["groundingMetadata"]["groundingSupports"]
    assert lost == []
    assert {(one["segment"]["startIndex"], one["segment"]["endIndex"]) for one in supports} == {(2, 400_000)}
    assert supports[0]["segment"]["text"] == text[1:]
    assert sum(len(one["segment"].get("text", "")) for one in supports) < 10 * len(text)
