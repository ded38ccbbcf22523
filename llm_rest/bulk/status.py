"""The progress of a bulk run: its totals, as the journal stores them, and its status in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from .output import BulkRow


class Totals(Struct):
    """The totals of the finished rows of a run, whichever process finished them."""

    done: int = 0
    """The number of answered rows, duplicates included."""
    failed: int = 0
    """The number of failed rows, invalid lines included."""
    duplicates: int = 0
    """The number of answered and failed rows that were not sent, because an equal row was (`dedupe`)."""
    repeated: int = 0
    """The number of rows that were in flight when an earlier process died, and were sent again."""
    attempts: int = 0
    """The number of requests that were made."""
    input_tokens: int = 0
    """The input tokens of all rows."""
    cached_tokens: int = 0
    """The input tokens that the vendors read from a prompt cache."""
    output_tokens: int = 0
    """The output tokens of all rows."""
    cost_nano: int = 0
    """The cost in nano-dollars of the rows whose cost is known."""
    unpriced: int = 0
    """The number of answered rows whose cost is unknown."""
    limits: dict[str, dict[str, float]] = {}
    """The rate limits of each `"vendor/model"` per minute: `requests`, `tokens`, `input` and `output` tokens."""

    def add(self, row: BulkRow) -> None:
        """Count a finished row; a copy of another row's output made no request of its own."""
        copied = row.duplicate_of is not None
        self.done += bool(row)
        self.failed += not row
        self.duplicates += copied
        self.attempts += row.attempts
        self.cost_nano += row.cost or 0
        self.unpriced += bool(row) and not copied and row.cost is None
        if (usage := row.usage) is not None and not copied:
            details = usage.input_tokens_details
            self.input_tokens += usage.input_tokens
            self.cached_tokens += (details.cached_tokens or 0) if details else 0
            self.output_tokens += usage.output_tokens


class BulkStatus(Totals):
    """The progress of a bulk run."""

    in_flight: int = 0
    """Rows in flight."""
    total: int | None = None
    """The estimated number of rows, from the size of a file; `None` where that is unknown."""
    seconds: float = 0.0
    """The time that this process has worked on the run, in seconds."""
    finished: int = 0
    """The number of rows that this process has finished."""

    @property
    def remaining_seconds(self) -> float | None:
        """The estimated remaining time in seconds, at the rate so far."""
        if not self.total or not self.finished:
            return None
        return max(self.total - self.done - self.failed, 0) * self.seconds / self.finished
