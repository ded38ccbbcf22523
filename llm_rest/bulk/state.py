"""What is known of a row and of all rows: the states, how a row ended, and the sums."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

NEW, SENT, ANSWERED, DONE, FAILED, DUPLICATE = range(6)
"""The states of a row; `ANSWERED` is for batches of a vendor, whose results are there before they are taken."""


class Totals(Struct):
    """Sums over the finished rows of a run, whichever process finished them."""

    done: int = 0
    """Rows that were answered, duplicates included."""
    failed: int = 0
    """Rows that failed, invalid lines included."""
    duplicates: int = 0
    """Those of both that were not sent, because an equal row was (`dedupe`)."""
    repeated: int = 0
    """Rows that were in flight when an earlier process died, and were sent again."""
    attempts: int = 0
    """Requests that were made."""
    input_tokens: int = 0
    """Tokens of all inputs."""
    cached_tokens: int = 0
    """Those of them that the vendors read from a prompt cache."""
    output_tokens: int = 0
    """Tokens of all outputs."""
    cost_nano: int = 0
    """The cost in nano-dollars of the rows whose cost is known."""
    unpriced: int = 0
    """Answered rows whose cost is not known."""


SUMS = ("attempts", "input_tokens", "cached_tokens", "output_tokens", "cost_nano")
"""The fields of `Totals` that are sums of fields of `Finished`."""


class JournalRow(NamedTuple):
    """What the journal knows of one row."""

    n: int
    offset: int
    digest: bytes
    state: int
    original: int | None
    begun: str | None
    """The batch that it is in, or the id of its background response: where the vendor works on it."""


class Finished(NamedTuple):
    """How a row ended, with its line of output."""

    state: int
    line: bytes
    attempts: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_nano: int | None = None
    status: int | None = None
    error: str | None = None
