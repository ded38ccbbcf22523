"""What a document says, leaf by leaf, so that what a conversion did not bring back can be held against its losses.

Two documents of the same kind are compared as bags of leaves: a leaf is its path without positions, and its value. A leaf
that is missing on the other side must stand under (or over) the path of some loss.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from llm_rest.losses import Loss
from tests.support.documents import canonical

Steps = tuple[str, ...]


class Leaf(NamedTuple):
    """A value without values of its own: where it stands, the same without positions, and its JSON text."""

    steps: Steps
    kind: str
    value: str


def plain(model: Any) -> Any:
    """A struct as the JSON it encodes to."""
    return msgspec.json.decode(msgspec.json.encode(model))


def leaves(document: Any, steps: Steps = ()) -> Iterator[Leaf]:
    """Every leaf of a document; an empty list or object is one too."""
    if isinstance(document, dict) and document:
        for name, value in document.items():
            yield from leaves(value, (*steps, name))
    elif isinstance(document, list) and document:
        for i, value in enumerate(document):
            yield from leaves(value, (*steps, str(i)))
    else:
        kind = ".".join("[]" if step.isdigit() else step for step in steps)
        yield Leaf(steps, kind, canonical(document))


def steps_of(path: str) -> Steps:
    """The steps of a path as losses write them: `input[2].content[0]`."""
    return tuple(step for step in re.split(r"[.\[\]]+", path) if step)


def related(one: Steps, other: Steps) -> bool:
    """Whether one path leads through the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def place_of(loss: Loss) -> Steps:
    """Under which steps a loss explains what is missing."""
    steps = steps_of(loss.path)
    # What was reached another way shows in a neighbour (an error flag in the text of the output), and opaque state that
    # waits keeps its whole item waiting.
    return steps[:-1] if loss.kind in ("emulated", "withheld") and len(steps) > 1 else steps


def unaccounted(before: Any, after: Any, losses: Iterable[Loss]) -> list[str]:
    """The leaves of `before` that `after` lacks and that no loss names."""
    named = [place_of(loss) for loss in losses]
    returned = Counter((leaf.kind, leaf.value) for leaf in leaves(after))
    sent: dict[tuple[str, str], list[Leaf]] = defaultdict(list)
    for leaf in leaves(before):
        sent[leaf.kind, leaf.value].append(leaf)
    missing: list[str] = []
    for key, group in sent.items():
        short = len(group) - returned[key]
        silent = [leaf for leaf in group if not any(related(leaf.steps, steps) for steps in named)]
        # Of equal leaves it cannot be told which one is missing: those that a loss names are given the blame first.
        for leaf in silent[: short - (len(group) - len(silent))] if short > len(group) - len(silent) else []:
            missing.append(f"{'.'.join(leaf.steps)}: {leaf.value[:120]}")
    return missing
