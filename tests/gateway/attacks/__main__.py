"""`python -m tests.gateway.attacks [id ...]`: makes the attacks and prints what came of each."""

from __future__ import annotations

import sys
import time

from tests.gateway.attacks.cases import CASES
from tests.gateway.attacks.table import run
from tests.gateway.attacks.world import attacked


def main(wanted: list[str]) -> int:
    runs = failed = 0
    began = time.monotonic()
    with attacked() as world:
        for attack in CASES:
            if wanted and not any(attack.id.startswith(name) for name in wanted):
                continue
            for on in attack.on:
                started, before = time.monotonic(), world.peak()
                faults = run(attack, world.places[on])
                runs, failed = runs + 1, failed + bool(faults)
                took, grown = time.monotonic() - started, world.peak() - before
                print(
                    f"{attack.id} {on:9} {took:5.1f} s {grown:4} MiB  {'FAILED' if faults else 'ok':6} {attack.given}"
                )
                for fault in faults:
                    print(f"      {fault[:400]}")
            for on, reason in attack.cannot.items():
                print(f"{attack.id} {on:9}                   -      {reason}")
        print(f"{world.files()} files open")
    print(f"{runs} attacks on {len(CASES)} lines, {failed} failed, {time.monotonic() - began:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
