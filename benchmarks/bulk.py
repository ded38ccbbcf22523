"""A row of a bulk run over loopback against `AsyncClient.generate` with the same prompts, and how fast a large journal opens."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from llm_rest import AsyncBulk, AsyncClient
from llm_rest.bulk.journal import DONE, NEW, Journal

from .calls import server
from .measure import Case

ROWS, CONCURRENCY, JOURNAL_ROWS = 500, 64, 1_000_000


@contextmanager
def cases() -> Iterator[list[Case]]:
    """The case of a row, while its server runs."""
    with server() as url, tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        source = Path(folder) / "in.jsonl"
        source.write_text("".join(f'{{"input": "Why is the sea salt? {n}"}}\n' for n in range(ROWS)))
        llm = AsyncClient(
            "compatible/some-model", base_url=f"{url}/v1", api_key="sk-bench", max_connections=CONCURRENCY
        )

        async def floor() -> int:
            prompts = iter(range(ROWS))

            async def ask() -> None:
                for n in prompts:
                    await llm.generate(f"Why is the sea salt? {n}")

            async with anyio.create_task_group() as group:
                for _ in range(CONCURRENCY):
                    group.start_soon(ask)
            return ROWS

        async def ours() -> int:
            async with AsyncBulk(llm, output_file=f"{folder}/out", fresh=True, concurrency=CONCURRENCY) as bulk:
                return len([row async for row in bulk.run(source)])

        name = f"One row of a bulk run, {CONCURRENCY} at a time; floor: AsyncClient.generate"
        yield [Case(name, lambda: runner.run(floor()), lambda: runner.run(ours()), target=1.3, per=ROWS)]
        runner.run(llm.aclose())


def opening() -> float:
    """Seconds to open a journal of a million rows and find the one that is open."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        journal = Journal(path)
        for n in range(1, JOURNAL_ROWS):
            journal.add(n, custom_id=None, offset=n * 100, digest=b"12345678", state=DONE)
            if n % 10_000 == 0:
                journal._do("UPDATE row SET finished=1 WHERE finished IS NULL", ())
                journal.commit()
        journal._do("UPDATE row SET finished=1 WHERE finished IS NULL", ())
        journal.add(JOURNAL_ROWS, custom_id=None, offset=0, digest=b"12345678", state=NEW)
        journal.commit()
        journal.close()
        began = time.perf_counter()
        again = Journal(path)
        assert [row.n for row in again.rows(0, unfinished=True)] == [JOURNAL_ROWS]
        took = time.perf_counter() - began
        again.close()
        return took
