"""`python -m tests.gateway.attacks [id ...]`: makes the attacks and prints what came of each."""

from __future__ import annotations

import sys
import time

from tests.gateway.attacks.cases import CASES
from tests.gateway.attacks.table import groups, run
from tests.gateway.attacks.world import attacked


def main(wanted: list[str]) -> int:
    runs = failed = 0
    began = time.monotonic()
    with attacked() as world:
        chosen = [a for a in CASES if not wanted or any(a.id.startswith(name) for name in wanted)]
        for on, group in groups(chosen):
            started, before = time.monotonic(), world.peak()
            faults = run(group, world.places[on])
            runs, failed = runs + len(group), failed + bool(faults)
            took, grown = time.monotonic() - started, world.peak() - before
            for each in group:
                outcome = "FAILED" if faults else "ok"
                print(f"{each.id} {on:9} {took:5.1f} s {grown:4} MiB  {outcome:6} {each.given}")
            for fault in faults:
                print(f"      {fault[:400]}")
        for attack in chosen:
            for on, reason in attack.cannot.items():
                print(f"{attack.id} {on:9}                  -      {reason}")
        print(f"{world.files()} files open")
    print(f"{len(chosen)} attacks, {runs} times made, {failed} failed, {time.monotonic() - began:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
