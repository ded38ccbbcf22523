"""Threads for blocking functions: each is a daemon, so that an abandoned one does not keep the program from ending.

Before changing this file, know that anyio's own worker threads are no daemons on asyncio: a tool that sleeps for an hour
would hold up the end of the program for an hour.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

from ..sync import from_any_thread

T = TypeVar("T")


def start(name: str, work: Callable[[], object]) -> None:
    """Run the work in a new thread, with the caller's context variables."""
    context = copy_context()
    if "sniffio" in sys.modules:
        # The caller may stand inside an event loop; the thread does not, whatever the caller's context says.
        context.run(sys.modules["sniffio"].current_async_library_cvar.set, None)
    threading.Thread(target=context.run, args=(work,), name=f"llm_rest {name}", daemon=True).start()


async def result_of(name: str, function: Callable[[], T]) -> T:
    """The result of the function in a new thread, which is abandoned on cancellation."""
    from anyio import Event
    from anyio.lowlevel import current_token

    done, call = Event(), from_any_thread(current_token())
    results: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as problem:
            failed.append(problem)
        with suppress(RuntimeError):  # the event loop is closed
            call(done.set)

    start(name, work)
    await done.wait()
    if failed:
        raise failed[0]
    return results[0]
