"""A row of a bulk run over loopback against `AsyncClient.generate` with the same prompts, and how fast a large journal opens.

`python -m benchmarks.bulk ROWS` answers so many rows of a generator by the simulator, without a network, and prints its memory.
"""

from __future__ import annotations

import asyncio
import resource
import sys
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
            journal.add(n, None, offset=n * 100, digest=b"12345678", state=DONE)
            if n % 10_000 == 0:
                journal._do("UPDATE row SET finished=1 WHERE finished IS NULL", ())
                journal.commit()
        journal._do("UPDATE row SET finished=1 WHERE finished IS NULL", ())
        journal.add(JOURNAL_ROWS, None, offset=0, digest=b"12345678", state=NEW)
        journal.commit()
        journal.close()
        began = time.perf_counter()
        again = Journal(path)
        assert [row.n for row in again.rows(0, unfinished=True)] == [JOURNAL_ROWS]
        took = time.perf_counter() - began
        again.close()
        return took


def memory(rows: int) -> None:
    """Answer the rows of a generator; print what the process holds now and then, and the time of a row."""
    began, cpu = time.monotonic(), time.process_time()

    def prompts() -> Iterator[str]:
        for n in range(rows):
            if n % (rows // 10) == 0:
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                print(f"{n:,} rows read: {pages * resource.getpagesize() >> 20} MiB", flush=True)
            yield f"What is {n} times {n}?"

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with AsyncBulk("simulator/demo", output_file=f"{folder}/out") as bulk:
                async for _ in bulk.run(prompts()):
                    pass
                assert bulk.status.done == rows

    anyio.run(run)
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    print(f"{rows:,} rows in {seconds:,.0f} s, {cpu / rows * 1e6:.0f} us of CPU time a row")


if __name__ == "__main__":
    memory(int(sys.argv[1]))
