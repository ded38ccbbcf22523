"""The table of what we write otherwise than it came is short, documented, and each line of it is seen in a recording."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import exchanges
from tests.corpus.canonical import TABLE
from tests.support import WIRES
from tests.support.documents import canonical

DOCS = Path(__file__).parents[2] / "docs" / "wires"
ROW = re.compile(r"^\|\s*`?(\w+\.canonical\.\d+)`?\s*\|", re.MULTILINE)


@pytest.mark.parametrize("name", WIRES)
def test_the_documentation_lists_the_same_rewritings(name: str) -> None:
    assert ROW.findall((DOCS / f"{name}.md").read_text()) == [rule.id for rule in TABLE[name]]


@pytest.mark.parametrize("name", WIRES)
def test_every_rewriting_is_seen_in_a_recording(name: str) -> None:
    unseen = {rule.id: rule for rule in TABLE[name]}
    for exchange in exchanges(name):
        recorded: list[tuple[str, bytes | None]] = [
            ("request", exchange.question),
            ("response", exchange.answer),
            ("error", exchange.error),
            *(("event", data) for data in exchange.events()),
        ]
        for kind, raw in recorded:
            rules = [rule for rule in unseen.values() if raw is not None and kind in rule.kinds]
            document: Any = json.loads(raw) if raw is not None and rules else None
            for rule in rules:
                changed = copy.deepcopy(document)
                rule.rewrite(changed)
                if canonical(changed) != canonical(document):
                    del unseen[rule.id]
    assert sorted(unseen) == []
