"""A call that is under way, and how it is ended from outside: what `client.cancel()` does.

Before changing this file, know why no end is missed: `stop` first says that the call is over and then wakes it, while every
wait first says how to wake it and then asks whether the call is over. Native cancellation passes through all of this untouched.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from ..errors import LLMError
from ..sync import from_any_thread

if TYPE_CHECKING:
    from types import TracebackType


class Stopped(BaseException):
    """Ends the waits of a thread whose call was stopped. Nobody outside this package and `Call` sees it."""


class Call(ABC):
    """Use it in a `with` around every wait of the call, as often as it takes. What `stop` broke off ends there quietly."""

    __slots__ = ("__weakref__", "stopped", "trial")

    def __init__(self) -> None:
        self.stopped = False
        self.trial: Any = None
        """The request that is under way, as whoever makes the call knows it."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> bool: ...

    @abstractmethod
    def stop(self) -> None:
        """End it, from any thread."""

    def _ended_by(self, problem: BaseException | None) -> bool:
        # Waking it may close its connection, which is an error like any other.
        return self.stopped and isinstance(problem, Stopped | LLMError)


# --- threads --------------------------------------------------------------------------------------------------------

_here = threading.local()


def about_to_wait(wake: Callable[[], Any]) -> None:
    """Say how the wait that follows is ended. Raises `Stopped` where the call of this thread was stopped already."""
    call: ThreadCall | None = getattr(_here, "call", None)
    if call is not None:
        call.wake = wake
        if call.stopped:
            raise Stopped


class ThreadCall(Call):
    """A call of the thread that is inside its `with`."""

    __slots__ = ("_around", "wake")

    def __init__(self) -> None:
        super().__init__()
        self.wake: Callable[[], Any] | None = None
        self._around: ThreadCall | None = None

    def __enter__(self) -> Self:
        self._around, _here.call = getattr(_here, "call", None), self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        _here.call, self._around = self._around, None
        return self._ended_by(value)

    def stop(self) -> None:
        self.stopped = True
        if self.wake is not None:
            with suppress(OSError):
                self.wake()


# --- tasks ----------------------------------------------------------------------------------------------------------


class TaskCall(Call):
    """A call of the task that is inside its `with`, on asyncio or trio."""

    __slots__ = ("_loop", "_scope")

    def __init__(self) -> None:
        super().__init__()
        self._scope: Any = None
        self._loop: Any = None

    def __enter__(self) -> Self:
        from anyio import CancelScope

        if self._loop is None:
            from anyio.lowlevel import current_token

            self._loop = current_token()
        self._scope = CancelScope()
        self._scope.__enter__()
        if self.stopped:
            self._scope.cancel()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        scope, self._scope = self._scope, None
        return bool(scope.__exit__(kind, value, traceback)) or self._ended_by(value)

    def stop(self) -> None:
        self.stopped = True
        if self._scope is not None:
            with suppress(RuntimeError):  # its loop has ended
                soon(self._loop, self._cancel)

    def _cancel(self) -> None:
        if self._scope is not None:
            self._scope.cancel()


def soon(loop: Any, work: Callable[[], Any]) -> None:
    """Let an event loop run `work`: at once where this is its thread, else as soon as it comes to it."""
    from anyio.lowlevel import current_token

    with suppress(Exception):  # there is no loop in this thread
        if current_token() == loop:
            work()
            return
    from_any_thread(loop)(work)
