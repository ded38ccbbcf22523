"""What names stand for, with an end to the wait: the system's own look-up blocks, and nobody can interrupt it.

So it runs in a thread of its own, which is left behind when nobody waits any more. Before changing this file, know that the
threads are daemons on purpose: those of an event loop's pool keep the loop, and the program, from ending before the system
has answered.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

AddressInfo = list[tuple[Any, ...]]
"""What `getaddrinfo` gives."""

MOST = 64
"""Look-ups that were given up and go on: where no name is answered for, their threads would pile up."""


class LookUp:
    """A question to the system, which all ask together who want its answer at the same time."""

    __slots__ = ("found", "over", "problem", "wakes")

    def __init__(self) -> None:
        self.over = False
        self.found: AddressInfo = []
        self.problem: Exception | None = None
        self.wakes: list[Callable[[], object]] = []

    def answer(self) -> AddressInfo:
        """What it came to. Raises what the system raised."""
        if self.problem is not None:
            raise self.problem
        return self.found


class Names:
    """The look-ups of this process that are under way."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: in a forked process the threads are gone, and a lock may be held for ever."""
        self._lock = threading.Lock()
        self._joined: dict[tuple[str, int], LookUp] = {}
        self._left = 0

    @contextmanager
    def asking(self, host: str, port: int, wake: Callable[[], object]) -> Generator[LookUp]:
        """A look-up that calls `wake`, from its thread, when it is over. Whoever leaves earlier has given it up: the next
        who asks the same does so anew, because the system may have been answered meanwhile.
        """
        where = (host, port)
        with self._lock:
            look_up = self._joined.get(where)
            mine = look_up is None
            if look_up is None:
                if self._left >= MOST:
                    raise OSError(f"{MOST} look-ups of names are still without an answer")
                look_up = self._joined[where] = LookUp()
            look_up.wakes.append(wake)
        if mine:
            self._start(where, look_up)
        try:
            yield look_up
        finally:
            with self._lock:
                if not look_up.over:
                    look_up.wakes.remove(wake)
                    self._left += not look_up.wakes
                    self._part(where, look_up)

    def _start(self, where: tuple[str, int], look_up: LookUp) -> None:
        try:
            threading.Thread(target=self._ask, args=(where, look_up), name="llm_rest name", daemon=True).start()
        except RuntimeError:
            # There are no more threads, or the interpreter ends: then it takes as long as it takes.
            self._ask(where, look_up)

    def _ask(self, where: tuple[str, int], look_up: LookUp) -> None:
        try:
            look_up.found = [*socket.getaddrinfo(*where, type=socket.SOCK_STREAM)]
        except Exception as problem:
            look_up.problem = problem.with_traceback(None)
        finally:
            with self._lock:
                look_up.over = True
                self._left -= not look_up.wakes
                self._part(where, look_up)
            for wake in look_up.wakes:
                with suppress(RuntimeError):  # the loop of who waited has ended
                    wake()

    def _part(self, where: tuple[str, int], look_up: LookUp) -> None:
        """Let nobody join it any more."""
        if self._joined.get(where) is look_up:
            del self._joined[where]


NAMES = Names()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=NAMES.forget)


def as_number(host: str, port: int) -> AddressInfo | None:
    """The address that the host is already, which takes no look-up."""
    for family, more in ((socket.AF_INET, ()), (socket.AF_INET6, (0, 0))):
        with suppress(OSError):
            socket.inet_pton(family, host)
            return [(family, socket.SOCK_STREAM, 0, "", (host, port, *more))]
    return None
