"""What every test shares: how hard Hypothesis tries, and clients of every kind (`callers.py`).

By default each run tries the same examples, so that a change is judged by the change. `LLM_REST_EXAMPLES=1000` tries that
many new ones per law; a failing one is kept in `.hypothesis` and tried first from then on.
"""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

from tests.callers import anyio_backend, new_client, new_transport, way

__all__ = ["anyio_backend", "new_client", "new_transport", "way"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As a job in the background of a shell has it: tests that press Ctrl-C, in processes of their own too, need it heard.
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXAMPLES = os.environ.get("LLM_REST_EXAMPLES")

settings.register_profile(
    "llm_rest",
    max_examples=int(EXAMPLES or 50),
    derandomize=EXAMPLES is None,
    # Nothing here is judged by the clock: machines are shared.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    print_blob=True,
)
settings.load_profile("llm_rest")
