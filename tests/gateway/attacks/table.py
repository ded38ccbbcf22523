"""What an attack is and how it is made. Whatever it is, afterwards the server serves, has told nothing and holds nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.gateway.attacks.raw import Line, one
from tests.gateway.attacks.world import ALICE, NEVER, SAID, Place, eventually

BOTH = ("gateway", "simulator")
CLOSED = 0
"""In place of a status: the connection was closed without a word."""

Does = Callable[[Place], list[str]]
"""Attacks, and says what went wrong with the defence."""


@dataclass(frozen=True)
class Attack:
    """One attack: what is done, and on which servers; `mib` is how much memory it may cost."""

    id: str
    given: str
    does: Does
    on: tuple[str, ...] = BOTH
    mib: int = 64
    slow: bool = False
    """Waits for something and costs little memory; all of these are made at the same time, within the memory of one."""
    whole: bool = False
    """Takes long or hundreds of MiB: made by `make test-whole` alone."""


def sent(raw: bytes, *expected: int, closes: bool = True, after: tuple[int, ...] = ()) -> Does:
    """Send that, and get one answer of those, and the end of the connection unless it was a good request.

    `after` are the answers that may come to what follows in the same bytes.
    """

    def does(place: Place) -> list[str]:
        line = place.line(raw).hear((lambda line: False) if closes else one)
        return judged(line, expected, closes=closes, after=after)

    return does


def judged(line: Line, expected: tuple[int, ...], *, closes: bool, after: tuple[int, ...] = ()) -> list[str]:
    """What is wrong with the answers on a connection."""
    found: list[str] = []
    statuses = [status for status in line.statuses if status >= 200]
    if len(statuses) > 1 and statuses[1:] == [*after]:
        statuses = statuses[:1]
    if not statuses and not (CLOSED in expected and line.closed):
        found.append(f"no answer, {'closed' if line.closed else 'open'}: {bytes(line.heard[:80])!r}")
    if statuses and (len(statuses) > 1 or statuses[0] not in expected):
        found.append(f"answered {statuses}")
    if closes and not line.closed:
        found.append("stays open")
    return found


def answers(
    place: Place, requests: Iterable[tuple[str, bytes]], *expected: int, closes: bool = False, never: bytes = b"\0\0"
) -> list[str]:
    """What is wrong with the answers to these, each on a connection of its own; none of them says `never`."""
    found: list[str] = []
    for name, raw in requests:
        line = place.line(raw).hear((lambda line: False) if closes else one)
        found += [f"{name:.80} {fault}" for fault in judged(line, expected, closes=closes)]
        found += [f"{name:.80} says {never!r}"] if never in line.heard else []
        line.close()
    return found


def each(*variants: tuple[str, Does]) -> Does:
    """All of them, one after the other."""
    return lambda place: [f"{name}: {fault}" for name, does in variants for fault in does(place)]


def groups(attacks: Sequence[Attack]) -> list[tuple[str, list[Attack]]]:
    """What is made one after the other, on which server: an attack, or all those that wait."""
    alone = [(on, [attack]) for attack in attacks if not attack.slow for on in attack.on]
    slow = [(on, [attack for attack in attacks if attack.slow and on in attack.on]) for on in BOTH]
    return [*alone, *((on, group) for on, group in slow if group)]


def run(group: Sequence[Attack], place: Place) -> list[str]:
    """What is wrong after an attack, or several at once."""
    world = place.world
    world.logged()
    world.vendor.contexts.clear()
    calls, before = world.trap.connections, world.peak(forget=True)
    place.lines.clear()
    try:
        if len(group) == 1:
            found = group[0].does(place)
        else:
            with ThreadPoolExecutor(len(group)) as pool:
                made = [(attack.id, pool.submit(attack.does, place)) for attack in group]
                found = [f"{name}: {fault}" for name, does in made for fault in does.result()]
    finally:
        for line in place.lines:
            line.close()
    heard = b"".join(bytes(line.heard) for line in place.lines)
    asked = place.question("openai_chat", "say Fine.", token=ALICE if place.name == "guarded" else "")
    answer = place.ask(asked)
    place.lines[-1].close()
    if answer is None or answer.status != 200 or b"Fine." not in answer.body:
        found.append(f"a normal request is answered {answer}")
    grown = world.peak() - before
    if grown > max(attack.mib for attack in group):
        found.append(f"grew by {grown} MiB")
    if not eventually(lambda: world.connections(place) == 0):
        found.append(f"{world.connections(place)} connections stay open")
    if world.trap.connections > calls:
        found.append("somebody was called who is not to be called")
    log = world.logged()
    found += [f"tells {secret!r}" for secret in NEVER if secret in heard]
    found += [f"logs {secret!r}" for secret in (*NEVER, SAID.encode()) if secret in log]
    found += [f"logs {line['message']}" for line in map(json.loads, log.splitlines()) if "exception" in line]
    found += [f"answered {status}" for line in place.lines for status in line.statuses if status == 500]
    return found
