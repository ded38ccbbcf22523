"""`Ask` on a local Ray cluster that the test starts and stops; without Ray, `Ask` called as Ray calls it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from llm_rest.bulk.ray import Ask

KEY = "sk-ray-0123456789abcdef"


class Server:
    """A Chat host that answers 2 % of the requests with 500, 1 % with 429, and resets 0.5 % of the connections."""

    _server: asyncio.Server
    url: str

    def __init__(self, *, hostile: bool = True, delay: float = 0.0) -> None:
        self.answered: Counter[str] = Counter()
        self._hostile, self._delay, self._random = hostile, delay, random.Random(7)
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def serve() -> None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=500)
            self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
            ready.set()

        def work() -> None:
            self._loop.run_until_complete(serve())
            self._loop.run_forever()

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()
        ready.wait()

    def stop(self) -> None:
        async def end() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            self._loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self._loop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                if self._delay:
                    await asyncio.sleep(self._delay)
                chance = self._random.random() if self._hostile else 1.0
                if chance < 0.005:
                    writer.transport.abort()
                    return
                writer.write(self._answer(body, chance))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, body: Any, chance: float) -> bytes:
        text = body["messages"][-1]["content"]
        if chance < 0.035:
            status, answer = (
                (500, {"error": {"message": "down"}}) if chance < 0.025 else (429, {"error": {"message": "slow"}})
            )
        elif text == "refused":
            status, answer = 400, {"error": {"message": f"no {KEY}", "type": "invalid_request_error"}}
        else:
            self.answered[text] += 1
            message = {"role": "assistant", "content": f"écho {text}"}
            usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            status, answer = 200, {"id": "c", "model": "m", "choices": [choice], "usage": usage}
        data = json.dumps(answer).encode()
        more = b"retry-after-ms: 50\r\n" if status == 429 else b""
        return b"HTTP/1.1 %d x\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n\r\n%b" % (
            status,
            more,
            len(data),
            data,
        )


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


def options_of(server: Server) -> dict[str, Any]:
    return {"model": "compatible/m", "base_url": server.url, "api_key": KEY, "retry": 6}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_batch_gets_the_columns_of_its_answers_and_nothing_is_raised(server: Server, backend: str) -> None:
    requests = ["one", {"input": "two", "instructions": None, "temperature": 0.5}, "refused", {"nonsense": 1}, 7, None]

    async def run() -> Any:
        ask = Ask(**options_of(server), full=True)
        async with ask._client:
            return await ask({"id": [*range(6)], "request": requests})

    found = anyio.run(run, backend=backend)
    plain = {name: column.to_pylist() if hasattr(column, "to_pylist") else column for name, column in found.items()}
    assert plain["id"] == [*range(6)]
    assert plain["output"] == ["écho one", "écho two", None, None, None, None]
    assert [error and error.partition(":")[0] for error in plain["error"]] == [
        None,
        None,
        "bad_request",
        *["config"] * 3,
    ]
    assert KEY not in str(plain["error"])
    assert plain["usage"][0] == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
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
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'llm-rest[ray]'")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        rows = [{"id": i, "request": f"row {i}"} for i in range(10_000)]
        found = (
            ray.data.from_items(rows, override_num_blocks=40)
            .map_batches(
                Killed,
                fn_constructor_kwargs={"mark": str(tmp_path / "killed"), "actors": 2, **options_of(server)},
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
    assert all(row["output"] == f"écho row {row['id']}" for row in found if row["error"] is None)
    assert sum(row["error"] is not None for row in found) == 0
    # What the dead worker had answered and not handed over is answered again, and nothing else.
    assert len(server.answered) == 10_000
    assert 0 < server.answered.total() - 10_000 <= 4 * 250
