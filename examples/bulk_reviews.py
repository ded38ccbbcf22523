"""Classify the reviews of a JSONL file, each exactly once: stop it, kill it, run it again, and it goes on where it was.

Usage:
    python examples/bulk_reviews.py reviews.jsonl openai/gpt-5.2   # {"id": ..., "text": ...} per line; writes reviews.jsonl.out
"""

from __future__ import annotations

import sys
from pathlib import Path

from llm_rest import Bulk, BulkStatus, ConfigError, StoreError

SCHEMA = {
    "type": "object",
    "properties": {"mood": {"type": "string", "enum": ["good", "bad", "mixed"]}},
    "required": ["mood"],
    "additionalProperties": False,
}


def show(status: BulkStatus) -> None:
    """Print where the run stands, about twice a second."""
    print(f"{status.done} done, {status.failed} failed, {status.in_flight} in flight", file=sys.stderr)


def main() -> int:
    """Answer all lines; the exit code says whether some failed."""
    reviews, model = Path(sys.argv[1]), sys.argv[2]
    template = {"input": "Classify this review: {{text}}"}
    try:
        with Bulk(model, output_file=f"{reviews}.out", template=template, output=SCHEMA, progress=show) as bulk:
            for row in bulk.run(reviews):
                print(row.id, row.parsed["mood"] if row.parsed else row.error)
    except (ConfigError, StoreError) as problem:  # another input or other options, a second process, a full disk
        print(problem, file=sys.stderr)
        return 2
    return 3 if bulk.status.failed else 0


if __name__ == "__main__":
    sys.exit(main())
