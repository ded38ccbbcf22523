"""`python -m tests.gateway.attacks [ID ...]`: every attack of the table, or those, on each server that it is meant for."""

from __future__ import annotations

import sys
import time

from tests.gateway.attacks.cases import CASES
from tests.gateway.attacks.table import groups, run
from tests.gateway.attacks.world import attacked


def main(ids: list[str]) -> int:
    """Make the attacks, print each with its time and its faults; how many have faults."""
    failed = 0
    made = groups([attack for attack in CASES if not ids or attack.id in ids])
    with attacked() as world:
        for on, group in made:
            began = time.monotonic()
            faults = run(group, world.places[on])
            failed += bool(faults)
            names = "+".join(attack.id for attack in group)
            print(
                f"{'FAULT' if faults else 'ok':5} {on:9} {time.monotonic() - began:6.1f} s  {names}  {group[0].given}",
                flush=True,
            )
            for fault in faults:
                print(f"      {fault}", flush=True)
    print(f"{len(made)} attacks, {failed} with faults")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
