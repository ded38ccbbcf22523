"""`Ask` on a local Ray cluster that the test starts and stops; without Ray, `Ask` called as Ray calls it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from llm_rest.bulk.ray import Ask
from tests.bulk.conftest import Vendor

KEY = "sk-ray-0123456789abcdef"
FAULTS = {"errors": 0.03, "resets": 0.005}


def options_of(vendor: Vendor) -> dict[str, Any]:
    return {"model": "compatible/m", **vendor.client, "api_key": KEY, "retry": 6}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_batch_gets_the_columns_of_its_answers_and_nothing_is_raised(
    serve: Callable[..., Vendor], backend: str
) -> None:
    vendor, refused = serve(**FAULTS), f"refuse 400 {KEY}"
    requests = ["one", {"input": "two", "instructions": None, "temperature": 0.5}, refused, {"nonsense": 1}, 7, None]

    async def run() -> Any:
        ask = Ask(**options_of(vendor), full=True)
        async with ask._client:
            return await ask({"id": [*range(6)], "request": requests})

    found = anyio.run(run, backend=backend)
    plain = {name: column.to_pylist() if hasattr(column, "to_pylist") else column for name, column in found.items()}
    assert plain["id"] == [*range(6)]
    assert plain["output"] == ["ONE", "TWO", None, None, None, None]
    kinds = [error and error.partition(":")[0] for error in plain["error"]]
    assert kinds == [None, None, "bad_request", *["config"] * 3]
    assert KEY not in str(plain["error"])
    assert plain["usage"][0] == {"input_tokens": 15, "output_tokens": 5, "total_tokens": 20}
    assert plain["usage"][2] == {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    assert json.loads(plain["response"][0])["object"] == "response"


class Killed(Ask):
    """Kills its process once, in the middle of the job, after some rows of a batch were answered."""

    def __init__(self, mark: str, **options: Any) -> None:
        super().__init__(**options)
        self._mark, self._batches = Path(mark), 0

    async def __call__(self, batch: Any) -> Any:
        found = await super().__call__(batch)
        self._batches += 1
        if self._batches == 3 and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return found


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_thousand_rows_with_a_worker_that_dies(
    serve: Callable[..., Vendor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'llm-rest[ray]'")
    vendor = serve(**FAULTS)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        rows = [{"id": i, "request": f"row {i}"} for i in range(10_000)]
        found = (
            ray.data.from_items(rows, override_num_blocks=40)
            .map_batches(
                Killed,
                fn_constructor_kwargs={"mark": str(tmp_path / "killed"), "actors": 2, **options_of(vendor)},
                compute=ray.data.ActorPoolStrategy(size=2),
                batch_size=250,
                num_cpus=0.5,
            )
            .take_all()
        )
    finally:
        ray.shutdown()
    assert (tmp_path / "killed").exists()
    assert sorted(row["id"] for row in found) == [*range(10_000)]
    assert all(row["output"] == f"ROW {row['id']}" for row in found if row["error"] is None)
    assert sum(row["error"] is not None for row in found) == 0
    # What the dead worker had answered and not handed over is answered again, and nothing else.
    assert len(vendor.asked()) == 10_000
    assert 0 < vendor.asked("stats")["answered"] - 10_000 <= 4 * 250
