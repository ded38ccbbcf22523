"""The leaves of a document, so that those that a conversion did not return can be compared with its losses.

Two documents of the same kind are compared as bags of leaves: a leaf is its path without positions, and its value. A leaf
that is missing on the other side must be below (or above) the path of some loss.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from llm_rest.losses import Loss
from tests.support.documents import canonical

Steps = tuple[str, ...]


class Leaf(NamedTuple):
    """A value without values of its own: its path, the same without positions, and its JSON text."""

    steps: Steps
    kind: str
    value: str


SAME_KIND = {"instructions": "input.[].content.[].text"}
"""Leaves with the same meaning in different places of a request."""


def plain(model: Any) -> Any:
    """A struct as the JSON it encodes to."""
    return json.loads(msgspec.json.encode(model))  # which takes numbers beyond floats, unlike msgspec


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
        yield Leaf(steps, SAME_KIND.get(kind, kind), canonical(document))


def steps_of(path: str) -> Steps:
    """The steps of a path as losses write them: `input[2].content[0]`."""
    return tuple(step for step in re.split(r"[.\[\]]+", path) if step)


def related(one: Steps, other: Steps) -> bool:
    """Whether one path leads through the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def places_of(loss: Loss) -> list[Steps]:
    """Under which steps a loss explains what is missing."""
    steps = steps_of(loss.path)
    match loss.kind:
        case "withheld" if len(steps) > 1:  # opaque state that waits keeps its whole item waiting
            return [steps[:-1]]
        case "emulated" if steps == ("tool_choice",):  # a choice among some of the tools: the others are not offered
            return [steps, ("tools",)]
        case "emulated":  # what was reached another way shows in a neighbor, or in the instructions
            return [steps, steps[:-1] or steps, ("instructions",)]
        case "changed" if steps == ("tool_choice", "tools"):  # a choice among all tools is its mode alone
            return [steps[:1]]
        case _ if steps[-1:] == ("is_error",):  # a flag the wire lacks is written into the text beside it
            return [steps, (*steps[:-1], "output")]
        case _:
            return [steps]


def sent_steps(leaf: Leaf) -> Steps:
    """The steps of a leaf in the document that it came in: what is kept of a wire's document is not below `leftovers` there."""
    steps = leaf.steps
    if "leftovers" in steps:
        at = steps.index("leftovers")
        return (*steps[:at], *steps[at + 2 :]) if len(steps) > at + 2 else steps
    return steps


def unaccounted(before: Any, after: Any, losses: Iterable[Loss]) -> list[str]:
    """The leaves of `before` that `after` lacks and that no loss names."""
    named = [steps for loss in losses for steps in places_of(loss)]
    returned = Counter((leaf.kind, leaf.value) for leaf in leaves(after))
    sent: dict[tuple[str, str], list[Leaf]] = defaultdict(list)
    for leaf in leaves(before):
        # An empty entry was taken out by an equivalence; its position stays, because losses name positions.
        if leaf.value != "null" or not leaf.kind.endswith("[]"):
            sent[leaf.kind, leaf.value].append(leaf)
    missing: list[str] = []
    for key, group in sent.items():
        short = len(group) - returned[key]
        silent = [leaf for leaf in group if not any(related(sent_steps(leaf), steps) for steps in named)]
        # Which of equal leaves is missing is unknown: those that a loss names are counted first.
        named_ones = len(group) - len(silent)
        missing += [f"{'.'.join(leaf.steps)}: {leaf.value[:120]}" for leaf in silent[: max(0, short - named_ones)]]
    return missing
