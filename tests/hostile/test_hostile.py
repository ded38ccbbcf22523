"""Every case of the table: faults of documents on every wire, faults below them for sync callers, on asyncio and on trio; the
modes and the wires change from case to case. `LLM_REST_TESTS=whole` runs each case on every wire in every mode.
"""

from __future__ import annotations

import pytest

from tests.hostile.cases import CASES
from tests.hostile.documents import ALL
from tests.hostile.table import Case, run_all
from tests.support import WHOLE

pytestmark = pytest.mark.filterwarnings("ignore::llm_rest.LossWarning")


@pytest.mark.sample(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_fault_comes_to_its_good_end(case: Case) -> None:
    """BUGS 28, 48, 62, 64, 65, 67, 70, 84, 86 and 87"""
    faults = run_all(case, whole=WHOLE)
    assert not faults, f"{case.given}: {faults}"


def test_the_table_names_each_case_once_and_gives_a_reason_for_each_that_cannot_be() -> None:
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))
    wires = {documents.wire for documents in ALL}
    for case in CASES:
        assert set(case.cannot) <= wires
        assert all(len(reason.split()) > 2 for reason in case.cannot.values()), case.id
