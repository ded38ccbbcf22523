"""`KeyboardInterrupt` in a thread, at every point of the transport: no place among the connections is lost."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import llm_rest.transport
from llm_rest.errors import APITimeoutError
from llm_rest.sync import drive
from llm_rest.transport import Timeouts
from llm_rest.transport.blocking import SyncTransport
from tests.loopback import END, STREAM, chunks, http, loopback, send
from tests.transport.support import post, rest

FOLDER = str(Path(llm_rest.transport.__file__).parent)
POOL = ("exchange.py", "blocking.py")
"""The code that keeps places and connections."""
FIVE_SECONDS = Timeouts(total=5)
IN_PROCESS = f"inproc:{post.__module__}"


class Interrupt:
    """Raises `KeyboardInterrupt` at the n-th opcode, or line, of these files."""

    def __init__(self, at: int, event: str, files: tuple[str, ...]) -> None:
        self.left = at
        self.event = event
        self.files = files

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(FOLDER) or not path.endswith(self.files):
            return None
        frame.f_trace_opcodes = self.event == "opcode"
        return self.within

    def within(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == self.event:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return self.within


def interrupted_everywhere(work: Callable[[], object], event: str, files: tuple[str, ...]) -> Iterator[None]:
    """Runs `work` again and again, interrupted at one point after the other, until it comes to its end."""
    for at in itertools.count():
        before = sys.gettrace()
        sys._getframe().f_trace_opcodes = event == "opcode"  # where no frame has it, Python 3.12 traces no opcodes
        sys.settrace(Interrupt(at, event, files))
        try:
            work()
            return
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        yield


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An interrupt in a destructor, or of a coroutine that was not begun, is told and goes no further."""
    monkeypatch.setattr(sys, "unraisablehook", lambda told: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        gc.collect()


async def whole(transport: SyncTransport, url: str) -> None:
    assert (await transport.send(post(url), FIVE_SECONDS)).status == 200


async def streamed(transport: SyncTransport, url: str) -> None:
    incoming: Any = await transport.open(post(url), FIVE_SECONDS)
    assert await rest(incoming)


async def left(transport: SyncTransport, url: str) -> None:
    incoming: Any = await transport.open(post(url), FIVE_SECONDS)
    await incoming.read()
    await incoming.close()


@pytest.mark.usefixtures("unraisable")
@pytest.mark.parametrize("ask", [whole, streamed, left])
def test_an_interrupt_at_any_opcode_costs_no_place(ask: Callable[..., Any]) -> None:
    transport = SyncTransport(max_connections=1)
    points = 0
    for _ in interrupted_everywhere(lambda: drive(ask(transport, IN_PROCESS)), "opcode", POOL):
        drive(whole(transport, IN_PROCESS))
        points += 1
    assert points > 200  # Python 3.13 makes 223 of what are 300 opcodes in 3.11
    drive(transport.close())


@pytest.mark.usefixtures("unraisable")
@pytest.mark.parametrize("ask", [whole, left])
def test_an_interrupt_at_any_line_of_the_transport_costs_no_place(ask: Callable[..., Any]) -> None:
    answer = send(http(b"good")) if ask is whole else send(STREAM + chunks(b"go", b"od") + END)
    with loopback(answer) as server:
        transport = SyncTransport(max_connections=1)
        points = 0
        for _ in interrupted_everywhere(lambda: drive(ask(transport, server.url)), "line", (".py",)):
            drive(whole(transport, server.url))
            points += 1
        drive(transport.close())
    assert points > 100


@pytest.mark.usefixtures("unraisable")
def test_an_interrupt_while_a_thread_waits_for_a_place_costs_none() -> None:
    transport = SyncTransport(max_connections=1)
    holds: Any = drive(transport.open(post(IN_PROCESS), FIVE_SECONDS))
    soon = Timeouts(total=0.01)

    def waits() -> None:
        with pytest.raises(APITimeoutError):
            drive(transport.send(post(IN_PROCESS), soon))

    for _ in interrupted_everywhere(waits, "opcode", ("blocking.py",)):
        pass
    drive(holds.close())
    drive(whole(transport, IN_PROCESS))


def test_places_are_handed_on_at_once_and_in_order() -> None:
    transport = SyncTransport(max_connections=1)
    holds: Any = drive(transport.open(post(IN_PROCESS), FIVE_SECONDS))
    order: list[int] = []
    slots = transport._pool.slots

    def work(number: int) -> None:
        async def one() -> None:
            incoming: Any = await transport.open(post(IN_PROCESS), FIVE_SECONDS)
            order.append(number)
            await incoming.close()

        drive(one())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for number, thread in enumerate(threads):
        thread.start()
        while len(slots._waiting) <= number:
            pass
    drive(holds.close())
    for thread in threads:
        thread.join(5)
    assert order == list(range(20))
