"""What every test shares: how hard Hypothesis tries, and clients of every kind (`callers.py`).

By default each run tries the same examples, so that a change is judged by the change. `LLM_REST_EXAMPLES=1000` tries that
many new ones per law; a failing one is kept in `.hypothesis` and tried first from then on. `LLM_REST_TESTS=quick` runs one
case of each parametrized test, `LLM_REST_TESTS=whole` also what an ordinary run takes samples of.
"""

from __future__ import annotations

import os
import signal
import zlib

import pytest
from hypothesis import HealthCheck, settings

from tests.callers import anyio_backend, new_client, new_transport, way
from tests.support import QUICK, WHOLE

__all__ = ["anyio_backend", "new_client", "new_transport", "way"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As a job in the background of a shell has it: tests that press Ctrl-C, in processes of their own too, need it heard.
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXAMPLES = os.environ.get("LLM_REST_EXAMPLES")

settings.register_profile(
    "llm_rest",
    max_examples=int(EXAMPLES or (10 if QUICK else 100 if WHOLE else 20)),
    derandomize=EXAMPLES is None,
    # Nothing here is judged by the clock: machines are shared.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    print_blob=True,
)
settings.load_profile("llm_rest")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of each test the same one case in each quick run, another one of each test; and none that takes long."""
    if not QUICK:
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen = [of[zlib.crc32(name.encode()) % len(of)] for name, of in cases.items()]
    chosen = [item for item in chosen if item.get_closest_marker("slow") is None]
    config.hook.pytest_deselected(items=[item for item in items if item not in {*chosen}])
    items[:] = chosen
