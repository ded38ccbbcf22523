"""`python -m tests.hostile [-f] [id ...]`: runs the table and prints what came of each case on each wire in each mode; with `-f`
only those that fail."""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter

from tests.hostile.cases import CASES
from tests.hostile.server import Server
from tests.hostile.table import MODES, WIRES, run_all


def main(wanted: list[str]) -> int:
    brief = "-f" in wanted
    wanted = [name for name in wanted if name != "-f"]
    warnings.simplefilter("ignore")
    server, totals, began = Server(), Counter[tuple[str, str]](), time.monotonic()
    print(f"{'case':11} " + "".join(f"{wire[:24]:<28}" for wire in WIRES))
    for case in CASES:
        if wanted and not any(case.id == name or (len(name) == 1 and case.id.startswith(name)) for name in wanted):
            continue
        started = time.monotonic()
        found = run_all(case, server)
        tier = "best" if case.best else "must"
        cells = []
        for wire in WIRES:
            of = [found[wire, mode] for mode in MODES if (wire, mode) in found]
            says = sorted({f"{'' if not faults else 'FAIL '}{seen}" for seen, faults in of})
            cells.append(" | ".join(says) or "-")
        failed = [(key, faults) for key, (_, faults) in found.items() if faults]
        totals[tier, "cases"] += 1
        totals[tier, "cases failed"] += bool(failed)
        totals[tier, "runs"] += len(found)
        totals[tier, "runs failed"] += len(failed)
        if brief and not failed:
            continue
        columns = "".join(f"{cell:<28}" for cell in cells)
        print(f"{case.id:5} {tier:5} {columns}{time.monotonic() - started:5.1f} s  {case.given}")
        told: dict[str, list[str]] = {}
        for (wire, mode), faults in failed:
            told.setdefault("; ".join(faults), []).append(f"{wire} {mode}")
        for faults, where in told.items():
            print(f"      {', '.join(where) if len(where) < 15 else 'everywhere'}: {faults}")
    for tier in ("must", "best"):
        print(tier, {what: totals[tier, what] for what in ("cases", "cases failed", "runs", "runs failed")})
    print(f"{time.monotonic() - began:.0f} s")
    return int(any(totals[tier, "runs failed"] for tier in ("must", "best")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
