"""The bridge between threads and event loops: `drive` runs a coroutine for callers without a loop, and
`from_any_thread` calls a function in a loop from another thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


def drive(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends: its waits are those of the thread."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("a synchronous call tried to wait for an event loop")


def from_any_thread(loop: Any) -> Callable[[Callable[[], object]], Any]:
    """A caller of functions in an event loop, by anyio's token or the loop itself. It raises `RuntimeError` once
    the loop has ended.
    """
    loop = getattr(loop, "native_token", loop)  # what it is since anyio 4.11
    call: Callable[[Callable[[], object]], Any] = getattr(loop, "run_sync_soon", None) or loop.call_soon_threadsafe
    return call
