"""Bulk requests on a Ray cluster: a callable class for `map_batches` of Ray Data, which is installed with the extra `ray`.

    dataset.map_batches(
        Ask,
        fn_constructor_kwargs={"model": "openai/gpt-5-mini", "actors": 4, "rpm": 4_000},
        compute=ray.data.ActorPoolStrategy(size=4),
        batch_size=500,
        num_cpus=0.5,
    )

Before changing this file, know that a row that raises would fail the whole job, and that Ray runs a block again when its worker
died: a row is in the output once, and may be billed twice.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import anyio
import msgspec

from ..client.client import AsyncClient
from ..errors import ConfigError, LLMError, printable

if TYPE_CHECKING:
    from ..client.reply import Reply

COUNTS = ("input_tokens", "output_tokens", "total_tokens")
"""The fields of the column `usage`."""


class Ask:
    """Answers the column `request` of each batch: a prompt, or a request as plain data (`{"input": ..., "instructions": ...}`).

    A batch gets the columns `output` (the text), `error` (what went wrong, null where nothing did), `usage` (tokens) and, with
    `full=True`, `response` (the whole response as JSON); nothing that happens to a row is raised. Each actor makes `concurrency`
    requests at a time. The limits `rpm` and `tpm` (requests and tokens per minute), and those that vendors name in their headers,
    are divided by the number of `actors`. Other options are those of `AsyncClient` and of a request.
    """

    def __init__(
        self,
        model: str,
        *,
        column: str = "request",
        actors: int = 1,
        concurrency: int = 64,
        rpm: float | None = None,
        tpm: float | None = None,
        full: bool = False,
        api_key: str | None = None,
        base_url: str | None = None,
        retry: int | None = None,
        **options: Any,
    ) -> None:
        from ..policy.rate_limit import RateLimit

        limit = RateLimit(rpm=rpm, tpm=tpm).divided(actors)
        self._client = AsyncClient(
            model,
            api_key=api_key,
            base_url=base_url,
            retry=retry,
            rate_limit=limit,
            max_connections=concurrency,
            on_loss="ignore",
            defaults=cast("Any", options),
        )
        self._column, self._full = column, full
        self._free = anyio.Semaphore(concurrency)

    async def __call__(self, batch: Any) -> Any:
        """The batch with the columns of the answers; a dict of arrays or a table of Arrow, as it came."""
        if self._column not in (batch.column_names if hasattr(batch, "column_names") else batch):
            raise ConfigError(f"the dataset has no column {self._column!r}", hint="name it with column=")
        requests: list[Any] = list(
            batch[self._column].to_pylist() if hasattr(batch, "column_names") else batch[self._column]
        )
        answers: list[tuple[Reply | None, str | None]] = [(None, None)] * len(requests)

        async def ask(i: int) -> None:
            async with self._free:
                answers[i] = await self._answer(requests[i])

        async with anyio.create_task_group() as group:
            for i in range(len(requests)):
                group.start_soon(ask, i)
        columns: dict[str, list[Any]] = {
            "output": [reply and reply.output_text for reply, _ in answers],
            "error": [error for _, error in answers],
            "usage": [_usage(reply) for reply, _ in answers],
        }
        if self._full:
            columns["response"] = [reply and msgspec.json.encode(reply.to_dict()).decode() for reply, _ in answers]
        return _extended(batch, columns)

    async def _answer(self, request: Any) -> tuple[Reply | None, str | None]:
        try:
            given: Any = request.tolist() if hasattr(request, "tolist") else request
            options: dict[str, Any] = {}
            if isinstance(given, dict):  # Arrow gives every row the fields of all rows
                fields = cast("dict[str, Any]", given)
                options = {name: value for name, value in fields.items() if value is not None}
                given = options.pop("input", None)
            return await self._client.generate(given, **cast("Any", options)), None
        except LLMError as error:
            return None, f"{error.kind}: {error}"
        except Exception as error:  # whatever it is, the other rows of the job go on
            return None, printable(f"{type(error).__name__}: {error}")


def _usage(reply: Reply | None) -> dict[str, int]:
    found = None if reply is None else reply.usage
    return {name: 0 if found is None else getattr(found, name) or 0 for name in COUNTS}


def _extended(batch: Any, columns: dict[str, list[Any]]) -> Any:
    with suppress(ImportError):
        arrow: Any = import_module("pyarrow")
        # Types are said, because a column may hold nothing but nulls in one batch and text in the next.
        counts, text = arrow.struct([(name, arrow.int64()) for name in COUNTS]), arrow.string()
        kinds = {name: counts if name == "usage" else text for name in columns}
        columns = {name: arrow.array(values, kinds[name]) for name, values in columns.items()}
    if not hasattr(batch, "append_column"):
        return {**batch, **columns}
    for name, values in columns.items():
        batch = batch.append_column(name, values)
    return batch
