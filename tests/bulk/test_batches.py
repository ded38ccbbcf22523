"""Batches over HTTP against a vendor of each format, which fails at every step."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast

import anyio
import pytest

from llm_rest import AsyncClient, Client
from llm_rest.bulk import batch_api, batches
from llm_rest.bulk.batch_api import BatchBuilder, BatchResult
from llm_rest.bulk.batches import Batch, VendorBatches
from llm_rest.client.target import build_request
from llm_rest.errors import (
    APIConnectionError,
    BadRequestError,
    InternalServerError,
    LLMError,
    ProtocolError,
    RateLimitError,
)
from llm_rest.sync import drive
from llm_rest.wires import Route

from .batch_vendor import Faults, Vendor

MODELS = {
    "openai": "openai/gpt-x",
    "openrouter": "openrouter/a/b",
    "anthropic": "anthropic/claude-x",
    "google": "google/gemini-x",
    "mistral": "mistral/m-x",
    "xai": "xai/grok-x",
    "together": "together/t-x",
}
NAMES = [*MODELS]
T = TypeVar("T")


class World:
    """A vendor, and its batch API through a client."""

    def __init__(self, name: str, vendor: Vendor, *, sync: bool = True, texts: int = 20) -> None:
        self.vendor, self.waits = vendor, list[float]()
        kind = Client if sync else AsyncClient
        self.client: Any = kind(MODELS[name], base_url=vendor.url, api_key="sk-secret-0123456789", retry=1)
        self.sync = sync
        if sync:
            vendor.closing.append(self.client.close)
        caller = self.client._caller
        target, settings = caller.resolve({})
        self.batches = VendorBatches(caller, target, settings, self._sleep)
        self.builder: BatchBuilder | None = None
        for i in range(texts):
            request = caller.prepare(f"row {i} é😀", {}).request
            outgoing, _ = build_request(target.wire.encode_request, target.wire.route, request, target.dialect)
            if self.builder is None:
                self.builder = BatchBuilder(batch_api.group_of(target, outgoing.route, "who"))
            assert self.builder.add(f"r{i}", outgoing.body)
        assert self.builder is not None
        self.batch = Batch(name="llm-rest-1", group=self.builder.group, count=texts, created=0)
        self.known: frozenset[str] = frozenset()

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async def closing() -> T:
            async with self.client:
                return await work()

        return drive(work()) if self.sync else anyio.run(closing)

    async def create(self) -> None:
        assert self.builder is not None
        content = self.builder.content()
        if not self.batch.group.dialect.api.inline:
            self.batch.file = await self.batches.upload(self.batch, content)
            content = b""
        self.batch.job = await self.batches.create(self.batch, content, self.known)

    async def finish(self) -> list[BatchResult]:
        for _ in range(10):
            self.batch.job = await self.batches.poll(self.batch)
            if self.batch.job.status == "ended":
                break
        found: list[BatchResult] = []
        for _ in range(3):  # a broken download is read again from its beginning
            results, found = self.batches.results(self.batch), []
            with suppress(APIConnectionError):
                while (more := await results.more()) is not None:
                    found += more
                break
        await self.batches.delete_file(self.batch)
        return found

    async def whole(self) -> list[BatchResult]:
        await self.create()
        return await self.finish()


def vendor_of(name: str, faults: Faults | None = None) -> Vendor:
    return Vendor("openai" if name == "together" else name, faults)


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("name", NAMES)
def test_a_batch_from_upload_to_results(name: str, sync: bool) -> None:
    with vendor_of(name, Faults(polls=2, results_cut=2, chatter=True)) as vendor:
        world = World(name, vendor, sync=sync)
        found = world.run(world.whole)
        good = {each.custom_id: each for each in found if each.custom_id != "stranger"}
        assert set(good) == {f"r{i}" for i in range(20)}
        assert {each.outcome for each in found} == {"succeeded"}
        decoded = world.client._caller.resolve({})[0].wire.RESPONSE.decode(good["r3"].body)
        assert "row 3 é😀" in str(decoded)
        assert len(vendor.batches) == 1
        assert not [file for file in vendor.files if "out" not in file]
        # The key travels in its header, and nowhere else.
        assert all("sk-secret-0123456789" in str(headers) for headers in vendor.headers)
        assert "sk-secret" not in repr(world.batch)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "faults",
    [
        {"create_lost": 1},
        {"create_broken": 1},
        {"create_broken": 1, "lists_behind": 2},
        {"create_failed": 1},
    ],
    ids=lambda faults: "+".join(faults),
)
def test_a_batch_is_created_once_whatever_the_answer_was(name: str, faults: dict[str, int]) -> None:
    with vendor_of(name) as vendor:
        before = World(name, vendor, texts=20)
        before.batch.name, before.batch.group = "llm-rest-0", before.batch.group
        before.run(before.create)
        assert before.batch.job is not None
        vendor.faults = Faults(**cast("Any", faults))
        world = World(name, vendor)
        world.known = frozenset({before.batch.job.id})
        found = world.run(world.whole)
        assert len(vendor.batches) == 2
        assert {each.custom_id for each in found} == {f"r{i}" for i in range(20)}
        assert set(world.waits) <= {*batches.LOOKS}


@pytest.mark.parametrize(
    ("faults", "error"),
    [
        (Faults(create_refused=1), BadRequestError),
        (Faults(create_limited=1), RateLimitError),
        (Faults(create_failed=9), InternalServerError),
    ],
)
@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_batch_that_was_not_created_is_an_error(name: str, faults: Faults, error: type[LLMError]) -> None:
    with vendor_of(name, Faults(**vars(faults))) as vendor:
        world = World(name, vendor)
        with pytest.raises(error):
            world.run(world.create)
        tries = [line for line in vendor.log if line.startswith("POST") and line.endswith("batches")]
        assert len(tries) == (batches.CREATIONS if error is InternalServerError else 1)
        assert not vendor.batches


@pytest.mark.parametrize("name", [name for name in NAMES if name != "openrouter"])
def test_a_cancelled_batch_keeps_the_results_that_are_there(name: str) -> None:
    with vendor_of(name, Faults(polls=99)) as vendor:
        world = World(name, vendor)
        world.run(world.create)
        job = world.run(lambda: world.batches.cancel(world.batch))
        assert job is not None
        assert job.status == "ended"
        found = world.run(world.finish)
        assert 0 < len(found) < 20


def test_openrouter_cannot_cancel() -> None:
    with vendor_of("openrouter") as vendor:
        world = World("openrouter", vendor)
        world.run(world.create)
        assert world.run(lambda: world.batches.cancel(world.batch)) is None


def test_the_key_goes_to_no_other_origin() -> None:
    with vendor_of("google") as vendor:
        world = World("google", vendor)
        with pytest.raises(ProtocolError, match=r"wants the upload at elsewhere\.example"):
            world.run(lambda: world.batches.send(Route("https://elsewhere.example/upload"), b"x"))
        assert vendor.log == []
