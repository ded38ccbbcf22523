"""Prints a table of ratios: `python -m benchmarks [imports] [conversions] [calls] [streams] [bulk] [gateway] [--rounds N]`.

A new case goes into the module of its group; its floor does the same work by hand and is checked against ours by
`tests/test_benchmarks.py`.
"""

from __future__ import annotations

import argparse
import os
import platform

from .measure import Result, compare, table

GROUPS = ("imports", "conversions", "calls", "streams", "bulk", "gateway")
MINUTES = ("bulk", "gateway")
"""The groups that take minutes: they are measured when they are named."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="CPU time as ratios to a floor of this run."
    )
    parser.add_argument(
        "group", nargs="*", help=f"what to measure, of {', '.join(GROUPS)}; all but the last two when left out"
    )
    parser.add_argument("--rounds", type=int, default=25, help="batches per side (default 25)")
    options = parser.parse_args()
    wanted: list[str] = options.group or [group for group in GROUPS if group not in MINUTES]
    if unknown := set(wanted) - set(GROUPS):
        parser.error(f"there is no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    results: list[Result] = []
    if "imports" in wanted:
        from . import imports

        results += imports.results(max(3, options.rounds // 3))
    if "conversions" in wanted:
        from . import conversions

        results += [compare(case, options.rounds) for case in conversions.cases()]
    if "calls" in wanted:
        from . import calls

        with calls.cases() as cases:
            results += [compare(case, options.rounds) for case in cases]
    if "streams" in wanted:
        from . import streams

        results += [compare(case, options.rounds) for case in (*streams.pure(), *streams.unknown_fields())]
        with streams.cases() as cases:
            results += [compare(case, options.rounds) for case in cases]
    if "bulk" in wanted:
        from . import bulk

        with bulk.cases() as cases:
            results += [compare(case, max(3, options.rounds // 5)) for case in cases]
        print(f"a journal of {bulk.JOURNAL_ROWS:,} rows opens in {bulk.opening():.3f} s\n")
    if "gateway" in wanted:
        from . import gateway

        results += gateway.results(max(2, options.rounds // 8))
    print(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores\n")
    print(table(results))


if __name__ == "__main__":
    main()
