"""What answers cost: reported by the vendor, or by a price file; integers of nano-dollars, and `None` instead of a guess."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from llm_rest import Client, ClientCallEnd, ConfigError, Message, NoAuth, Prices, Request, Vendor
from llm_rest.responses import InputAudio
from llm_rest.responses.parts import AudioData
from llm_rest.responses.response import InputTokensDetails, OutputTokensDetails, Usage
from llm_rest.unknown import with_extras
from tests.callers import NewClient, answer, completed
from tests.loopback import END, STREAM, chunks, http, loopback, send

pytestmark = pytest.mark.anyio

FILE = Path(__file__).parents[2] / "fixtures/prices/prices.json"
NOON, NIGHT = datetime(2026, 11, 2, 12, tzinfo=UTC), datetime(2026, 11, 2, 23, tzinfo=UTC)


SPOKEN = Request(input=[Message(role="user", content=[InputAudio(input_audio=AudioData(data="AAAA", format="wav"))])])


def used(
    input: int, output: int, cached: int = 0, written: int = 0, hour: int = 0, reasoning: int = 0, **media: int
) -> Usage:
    lifetimes = {"ttl_1h_tokens": hour} if hour else None
    inside = InputTokensDetails(cached_tokens=cached, cache_write_tokens=written, cache_write_tokens_details=lifetimes)
    outside = OutputTokensDetails(reasoning_tokens=reasoning)
    counts = {"audio_tokens": media.get("audio"), "cached_audio_tokens": media.get("read")}
    inside = with_extras(inside, {name: count for name, count in counts.items() if count is not None})
    outside = with_extras(outside, {"audio_tokens": media["spoken"]} if media.get("spoken") else {})
    return Usage(input_tokens=input, output_tokens=output, input_tokens_details=inside, output_tokens_details=outside)


@pytest.mark.parametrize(
    ("model", "usage", "options", "expected"),
    [
        ("acme/acme-large", used(1000, 100), {}, 1000 * 3000 + 100 * 15000),
        ("acme/acme-large", used(1000, 100, reasoning=60), {}, 1000 * 3000 + 100 * 15000),
        ("acme/ACME-large-20260101", used(1, 0), {}, 3000),
        ("acme/acme-large", used(200000, 0), {}, 200000 * 3000),
        ("acme/acme-large", used(200001, 2, cached=1), {}, 200000 * 6000 + 600 + 2 * 22500),
        (
            "acme/acme-large",
            used(1000, 0, cached=400, written=300, hour=100),
            {},
            300 * 3000 + 400 * 300 + 200 * 3750 + 100 * 6000,
        ),
        ("acme/acme-voice", used(100, 50, audio=40, spoken=30), {}, 60 * 1000 + 40 * 20000 + 20 * 4000 + 30 * 80000),
        (
            "acme/acme-voice",
            used(100, 0, cached=60, audio=40, read=10),
            {},
            10 * 1000 + 50 * 100 + 30 * 20000 + 10 * 400,
        ),
        ("acme/acme-voice", used(100, 0, cached=60, audio=40), {}, None),  # which of them are cached is not told
        ("acme/acme-voice", used(100, 0), {"request": SPOKEN}, None),
        ("acme/acme-voice", used(100, 0, audio=0), {"request": SPOKEN}, 100 * 1000),
        ("acme/acme-voice", used(100, 0), {"request": Request(input="Hi")}, 100 * 1000),
        ("acme/acme-large", used(100, 0), {"request": SPOKEN}, 100 * 3000),  # the file has one price for all input
        ("acme/acme-large", used(10, 10), {"batch": True}, 10 * 1500 + 10 * 7500),
        ("acme/acme-large", used(10, 10), {"service_tier": "priority"}, 10 * 3000 + 10 * 30000),
        ("acme/acme-large", used(10, 0), {"calls": {"web_search_call": 3}}, 10 * 3000 + 3 * 10_000_000),
        ("acme/acme-large", used(10, 0), {"calls": {"code_interpreter_call": 1}}, None),
        ("acme/acme-large", used(10, 0), {"calls": {"image_generation_call": 1}}, None),
        ("acme/acme-dated", used(10, 10), {"at": NOON}, 10 * 1000 + 10 * 4000),
        ("acme/acme-dated", used(10, 10), {"at": NIGHT}, 10 * 500 + 10 * 2000),
        ("acme/acme-dated", used(10, 10), {"at": NOON.replace(month=5)}, 10 * 2000 + 10 * 8000),
        ("acme/acme-dated", used(10, 10), {"at": NOON, "batch": True}, None),
        ("acme/text-embedding", used(3, 0), {}, 30),
        ("acme/text-embedding", used(3, 1), {}, None),
        ("acme/unknown", used(3, 0), {}, None),
        ("nobody/acme-large", used(3, 0), {}, None),
        ("nobody/acme-large", used(3, 0), {"base_url": "https://api.acme.example/v1"}, 9000),
        ("reseller/acme-large", used(3, 0), {}, 9000),
    ],
)
def test_usage_is_priced_by_the_file(model: str, usage: Usage, options: dict[str, Any], expected: int | None) -> None:
    assert Prices(FILE).cost(usage, model, **options) == expected


def document(**prices: Any) -> str:
    return json.dumps([{"id": "acme", "models": [{"id": "large", "match": {"equals": "large"}, "prices": prices}]}])


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ('[{"id": "acme",\n "models": [,]}]', {}, r"is no JSON \(line 2\)"),
        ('{"models": []}', {}, "line 1, the document: .*missing required field `providers`"),
        (
            '[{"id": "acme", "models": [{"id": "large", "prices": {}}]}]',
            {},
            "prices.json, line 1, acme/large: .*missing required field `match`",
        ),
        (document(input_mtok="much"), {}, "acme/large: .*"),
        (
            document(input_mtok=-1).replace(", ", ",\n"),
            {},
            "line 2, acme/large: input_mtok is a price in US dollars, not -1",
        ),
        (document(input_mtok={"base": 1, "tiers": [{"start": 1, "price": -2.5}]}), {}, "not -2.5"),
        ('{"date": "2020-01-01", "providers": []}', {"max_age": 30}, r"are of 2020-01-01, \d+ days ago, .* max_age=30"),
        ('{"date": "soon", "providers": []}', {}, "the document: "),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_that_names_the_place(
    tmp_path: Path, text: str, options: dict[str, Any], expected: str
) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=expected) as caught:
        Prices(path, **options)
    assert "prices.json" in caught.value.message


# --- replies --------------------------------------------------------------------------------------------------------

PRICED = 7 * 2500 + 3 * 10000


async def test_replies_streams_runs_and_events_tell_the_cost(new_client: NewClient) -> None:
    events: list[Any] = []
    good, streamed = send(http(json.dumps(answer()).encode())), send(STREAM + chunks(completed()) + END)
    with loopback(good, streamed, good, good) as server:
        async with new_client(base_url=server.url, prices=FILE, on_event=events.append) as llm:
            assert (await llm.generate("Hi")).cost == PRICED
            async with llm.stream("Hi") as stream:
                async for _ in stream:
                    pass
            assert stream.response.cost == stream.response.info.cost == PRICED
            assert (await llm.generate_with_tools("Hi")).cost == PRICED
            assert (await llm.generate("Hi", model="openai/o1")).cost is None  # which is not in the file
    assert [event.cost for event in events if isinstance(event, ClientCallEnd)] == [PRICED] * 3 + [None]


def test_a_chat_has_the_totals_of_its_turns() -> None:
    with Client("simulator/demo", prices=FILE, retry=1) as llm:
        chat = llm.chat()
        replies = [chat.ask("one")]
        with chat.stream("two") as stream:
            list(stream)
        replies.append(stream.reply)
        assert chat.totals.cost == sum(reply.cost or 0 for reply in replies) > 0
        assert chat.totals.total_tokens == sum(int(reply.info.metadata["total_tokens"]) for reply in replies)
        assert (chat.totals.api_calls, llm.chat().totals.cost) == (2, 0)
        chat.ask("three", model="simulator/another")
        assert (chat.totals.api_calls, chat.totals.cost) == (3, None)


CHAT = {"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
COUNTED = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


RESPONSES = answer()["usage"]


@pytest.mark.parametrize(
    ("model", "usage", "expected"),
    [
        ("xai/grok", {**RESPONSES, "cost_in_usd_ticks": 37756000}, 3_775_600),
        ("openrouter/x", {"cost": 0.0021}, 2_100_000),
        ("openrouter/x", {}, None),
        ("xai/grok", {"cost_in_usd_ticks": 37756000}, 3_775_600),
        ("perplexity/sonar", {"cost": {"input_tokens_cost": 0.001, "total_cost": 0.0061}}, 6_100_000),
        ("groq/x", {"cost": 0.5}, None),  # nothing says what its unit is
    ],
)
async def test_a_cost_that_the_vendor_reports_counts(
    new_client: NewClient, model: str, usage: dict[str, Any], expected: int | None
) -> None:
    wire = "openai_responses" if "input_tokens" in usage else "openai_chat"
    body = answer(usage=usage) if "input_tokens" in usage else {**CHAT, "usage": {**COUNTED, **usage}}
    with loopback(send(http(json.dumps(body).encode()))) as server:
        async with new_client(model, base_url=server.url, wire=wire) as llm:
            assert (await llm.generate("Hi")).cost == expected


AUDIO = {"prompt_tokens_details": {"audio_tokens": 5}, "completion_tokens_details": {"audio_tokens": 3}}
MEDIA: dict[str, dict[str, Any]] = {
    "openai_chat": {**CHAT, "usage": {**COUNTED, **AUDIO}},
    "gemini_generate_content": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 7,
            "candidatesTokenCount": 3,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2}, {"modality": "AUDIO", "tokenCount": 5}],
            "candidatesTokensDetails": [{"modality": "AUDIO", "tokenCount": 3}],
        },
    },
}


@pytest.mark.parametrize("wire", MEDIA)
async def test_audio_has_its_own_price_where_the_vendor_counts_it(new_client: NewClient, wire: str) -> None:
    vendor = Vendor(name="acme", wire=wire, base_url="https://api.acme.example", auth=NoAuth())
    with loopback(send(http(json.dumps(MEDIA[wire]).encode()))) as server:
        async with new_client("acme/acme-voice", base_url=server.url, vendor=vendor, prices=FILE, api_key=None) as llm:
            assert (await llm.generate("Hi")).cost == 2 * 1000 + 5 * 20000 + 3 * 80000
