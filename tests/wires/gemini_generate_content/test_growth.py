"""Conversions whose cost grows with the size of what is converted and not with its square: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from llm_rest.responses import FunctionTool, Message, OutputText, Request, UrlCitation
from llm_rest.wires import gemini_generate_content as wire
from tests.support.counting import steps
from tests.wires.gemini_generate_content import (
    SIGNATURE,
    THREE,
    answer,
    answered,
    call,
    called,
    chunk,
    decoded,
    gave,
    model,
    output,
    read,
    theirs,
    told,
    user,
    written,
)

N = 60


def encoding(items: list[Any], **options: Any) -> Callable[[], object]:
    request = Request(model=THREE, input=[user("Hi"), *items], **options)
    return lambda: wire.encode_request(request)


def decoding(*contents: Any) -> Callable[[], object]:
    document = decoded({"contents": [theirs("Hi"), *contents]})
    return lambda: wire.decode_request(document)


def calls(n: int) -> list[Any]:
    return [call(f"c{i}") for i in range(n)]


def outputs(n: int) -> list[Any]:
    return [output(f"c{i}") for i in range(n)]


def parallel(n: int) -> Callable[[], object]:
    return encoding([*calls(n), *outputs(n)])


def answered_in_reverse(n: int) -> Callable[[], object]:
    return encoding([*calls(n), *reversed(outputs(n))])


def answered_behind_words(n: int) -> Callable[[], object]:
    return encoding([*calls(n), *[user("And?")] * n, *outputs(n)])


def of_one_id(n: int) -> Callable[[], object]:
    return encoding([item for _ in range(n) for item in (call("c"), output("c"))])


def parallel_of_one_id(n: int) -> Callable[[], object]:
    return encoding([*[call("c")] * n, *[output("c")] * n])


def many_tools(n: int) -> Callable[[], object]:
    return encoding([], tools=[FunctionTool(name=f"f{i}") for i in range(n)])


def back_in_reverse(n: int) -> Callable[[], object]:
    asked = [called(f"c{i}") for i in range(n)]
    return decoding(model(*asked), theirs(*[gave(f"c{i}", {"output": "4"}) for i in reversed(range(n))]))


def back_without_ids(n: int) -> Callable[[], object]:
    asked = [called(None, f"f{i}") for i in range(n)]
    return decoding(model(*asked), theirs(*[gave(None, {"output": "4"}, f"f{i}") for i in reversed(range(n))]))


def back_of_other_names(n: int) -> Callable[[], object]:
    return decoding(model(*[called(None, "f")] * n), theirs(*[gave(None, {"output": "4"}, "g")] * n))


def hidden_signatures(n: int) -> Callable[[], object]:
    parts = [part for i in range(n) for part in ({"text": f"{i}"}, {"text": "", "thoughtSignature": SIGNATURE})]
    response, _ = read(answer(*parts))
    return lambda: written(response)


def streamed_citations(n: int) -> Callable[[], object]:
    cited = [
        chunk({"text": f"{i}"}, citationMetadata={"citationSources": [{"uri": f"https://a.test/{i}"}]})
        for i in range(n)
    ]
    return lambda: told(*cited, chunk(content=None, finishReason="STOP"))


@pytest.mark.parametrize(
    "shape",
    [
        parallel,
        answered_in_reverse,
        answered_behind_words,
        of_one_id,
        parallel_of_one_id,
        many_tools,
        back_in_reverse,
        back_without_ids,
        back_of_other_names,
        hidden_signatures,
        streamed_citations,
    ],
    ids=lambda shape: shape.__name__,
)
def test_the_cost_of_a_conversion_grows_with_its_size(shape: Callable[[int], Callable[[], object]]) -> None:
    shape(N)()  # what is looked up once
    few, many = steps(shape(N)), steps(shape(4 * N))
    assert many < 5 * few


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
    body: Any
    body, lost = wire.encode_response(answered(said))
    supports = body.candidates[0].grounding_metadata.grounding_supports
    assert lost == []
    assert {(support.segment.start_index, support.segment.end_index) for support in supports} == {(2, 400_000)}
    assert supports[0].segment.text == text[1:]
    assert sum(len(support.segment.text or "") for support in supports) < 10 * len(text)
