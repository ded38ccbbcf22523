"""What every test shares: how hard Hypothesis tries, and clients of every kind (`callers.py`).

By default each run tries the same examples, so that a change is judged by the change. `LLM_REST_EXAMPLES=1000` tries that
many new ones per law; a failing one is kept in `.hypothesis` and tried first from then on.

`LLM_REST_TESTS=sample` (`make test`) leaves out tests marked `slow`, and of a test marked `sample(n)` all cases but one in n;
`rest` runs what that leaves out, and the laws with more examples; `quick` runs one case of each test; `whole` runs products
of tables whole, of which all others take a part.
"""

from __future__ import annotations

import os
import signal
import zlib

import pytest
from hypothesis import HealthCheck, settings

from tests.callers import anyio_backend, new_client, new_transport, way
from tests.support import QUICK, REST, SAMPLE, WHOLE

__all__ = ["anyio_backend", "new_client", "new_transport", "way"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As a job in the background of a shell has it: tests that press Ctrl-C need the signal, in processes of their own too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXAMPLES = os.environ.get("LLM_REST_EXAMPLES")

settings.register_profile(
    "llm_rest",
    max_examples=int(EXAMPLES or (100 if WHOLE else 30 if REST else 4 if QUICK else 10 if SAMPLE else 20)),
    derandomize=EXAMPLES is None,
    # Nothing here is judged by the clock: machines are shared.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    print_blob=True,
)
settings.load_profile("llm_rest")


@pytest.hookimpl(trylast=True)  # when Hypothesis has marked its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this kind of run leaves out; of each test the same cases in each run, other ones of each test."""
    if not (QUICK or SAMPLE or REST):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen: set[pytest.Item] = set()
    for name, of in cases.items():
        first = zlib.crc32(name.encode())
        sample = of[0].get_closest_marker("sample")
        of = [
            case
            for i, case in enumerate(of)
            if not case.get_closest_marker("slow")
            and (sample is None or (i + first) % min(sample.args[0], len(of)) == 0)
        ]
        chosen.update(of[first % len(of) :][:1] if QUICK and of else of)
    if REST:
        laws = {item for item in items if item.get_closest_marker("hypothesis")}
        chosen = {item for item in items if item not in chosen or item in laws}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]
