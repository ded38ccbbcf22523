"""A run against a hostile vendor: `python -m tests.bulk.hostile [ROWS [RPM]]` prints a table of what came of it.

The vendor has hidden limits, told in headers, 2 % of 500s, 1 % of requests that hang and 0.5 % of connections that are reset.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec

from llm_rest import AsyncBulk, AsyncClient, RetryPolicy, Timeouts
from tests.bulk.conftest import vendor_process
from tests.bulk.server import TOKENS

FAULTS = {"errors": 0.02, "hangs": 0.01, "resets": 0.005}


def run(rows: int, rpm: float, folder: Path, *, latency: float = 0.1, timeout: float = 3.0) -> dict[str, Any]:
    """Answer so many rows, which a generator makes; what came of it."""
    memory: list[int] = []

    def asked() -> Iterator[str]:
        for n in range(1, rows + 1):
            if n % 1000 == 1:
                memory.append(resident())
            yield f"row {n}"

    async def answer(client: dict[str, Any]) -> Any:
        retry = RetryPolicy(attempts=8, base_delay=0.2, max_delay=1.0)
        limits = Timeouts(first_byte=timeout)
        concurrency = 128
        async with AsyncClient(
            "compatible/m", **client, max_connections=concurrency, retry=retry, timeout=limits, rate_limit="learn"
        ) as llm:
            async with AsyncBulk(llm, output_file=folder / "out.jsonl", concurrency=concurrency) as bulk:
                async for _ in bulk.run(asked()):
                    pass
                return bulk.status

    with vendor_process(rpm=rpm, tpm=rpm * TOKENS * 2, latency=latency, **FAULTS) as vendor:
        cpu, began = time.process_time(), time.monotonic()
        status = anyio.run(answer, vendor.client)
        seconds, cpu = time.monotonic() - began, time.process_time() - cpu
        stats, log = vendor.asked("stats"), vendor.asked()
    with (folder / "out.jsonl").open("rb") as lines:
        found = [line["custom_id"] for line in map(msgspec.json.decode, lines) if line["status"] == "completed"]
    taken = stats["requests"] - stats.get("429", 0)
    return {
        "rows": rows,
        "each once, in order": found == [f"row-{n}" for n in range(1, rows + 1)],
        "failed": status.failed,
        "requests": stats["requests"],
        "429s": stats.get("429", 0) / stats["requests"],
        "faults": sum(stats.get(name, 0) for name in FAULTS),
        "of the limit": taken / (rpm / 60 * (stats["seconds"] + 1)),
        "seconds": seconds,
        "CPU per row (us)": cpu / rows * 1e6,
        "prompts asked": len(log),
        "memory at 10 % (MiB)": memory[len(memory) // 10],
        "memory at the end (MiB)": memory[-1],
    }


def resident() -> int:
    """The MiB of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 2**20


if __name__ == "__main__":
    rows, rpm = (*sys.argv[1:], *("100000", "18000")[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        for name, value in run(int(rows), float(rpm), Path(folder)).items():
            print(f"| {name} | {value:.3f} |" if isinstance(value, float) else f"| {name} | {value} |", flush=True)
