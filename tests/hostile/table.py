"""What a case is, what may come of it, and how one is run on one wire in one mode.

Whatever is expected, every run is also held to what is promised of all: nothing but an `LLMError`, told apart and complete;
as many attempts told as requests were made; no key in anything it shows; no connection open once the client is closed.
"""

from __future__ import annotations

import copy
import os
import pickle
import re
import socket
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio._backends._asyncio
import anyio._backends._trio  # both here, because threads that load one at once get in each other's way

from llm_rest import AsyncClient, Client, LLMError
from llm_rest.responses import OutputTextDelta
from tests.callers import Awaited
from tests.hostile.documents import ALL, Documents
from tests.hostile.server import Act, Script, Server

MODES = ("sync", "asyncio", "trio")
KEY = "hostile0123456789abcdef0123456789"
"""Of no known shape, so that what hides it must know it."""
WIRES = tuple(documents.wire for documents in ALL)

BELOW_DOCUMENTS = "TPRC"
"""The letters of cases of which no wire knows: connections, HTTP, exhaustion, cancellation."""

CODES = {"auth_error", "rate_limit", "network_error", "invalid_request", "unknown"}
FOREIGN = set("httpx httpcore httpx2 httpcore2 h11 msgspec ssl anyio trio json zlib socket".split())


Attempts = int | tuple[int, int]
"""How many requests are made, or between which numbers."""


@dataclass
class Seen:
    """What came of one run."""

    requests: int = 0
    connections: int = 0
    texts: list[str] = field(default_factory=list)
    reply: Any = None
    error: Any = None
    waits: list[float] = field(default_factory=list)
    seconds: float = 0.0
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def __str__(self) -> str:
        if self.error is None:
            return f"ok {self.requests}"
        kind = self.error.kind if isinstance(self.error, LLMError) else f"!{type(self.error).__name__}"
        return f"{kind} {self.requests}"


@dataclass(frozen=True)
class Good:
    """A whole answer, after so many requests."""

    attempts: Attempts = 1
    text: str | None = "Hello"
    then: Callable[[Seen], bool] | None = None

    def faults(self, seen: Seen, documents: Documents) -> list[str]:
        if seen.error is not None:
            return [f"raised {seen.error!r}"]
        found = within(seen, self.attempts)
        if self.text is not None and (seen.reply is None or seen.reply.output_text != self.text):
            found.append(f"says {seen.reply and seen.reply.output_text[:80]!r}")
        if seen.reply is not None and seen.reply.status != "completed" and self.text is not None:
            found.append(f"is {seen.reply.status}")
        if self.then is not None and not self.then(seen):
            found.append(f"is not what was promised: waits {seen.waits}")
        return found


@dataclass(frozen=True)
class Bad:
    """An error of one of these kinds, after so many requests; attributes as `facts` say."""

    kinds: tuple[str, ...]
    attempts: Attempts = 1
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    partial: str | None = None
    then: Callable[[Seen], bool] | None = None

    def faults(self, seen: Seen, documents: Documents) -> list[str]:
        error = seen.error
        if error is None:
            return [f"gave {seen.reply and seen.reply.output_text[:80]!r}"]
        if not isinstance(error, LLMError):
            return []  # said already
        found = within(seen, self.attempts)
        if error.kind not in self.kinds:
            found.append(f"{error.kind}: {error}")
        for name, value in self.facts.items():
            if getattr(error, name, None) != value:
                found.append(f"{name} is {getattr(error, name, None)!r}")
        if self.partial is not None and getattr(error.partial, "output_text", None) != self.partial:
            found.append(f"partial is {getattr(error.partial, 'output_text', None)!r}")
        if error.partial is not None and error.partial.status == "completed":
            found.append("partial looks complete")
        if self.then is not None and not self.then(seen):
            found.append(f"is not what was promised: waits {seen.waits}, {error}")
        return found


@dataclass(frozen=True)
class Either:
    """Any of several."""

    arms: tuple[Good | Bad | Either, ...]

    def faults(self, seen: Seen, documents: Documents) -> list[str]:
        found = [arm.faults(seen, documents) for arm in self.arms]
        return [] if any(not faults for faults in found) else [" / ".join("; ".join(faults) for faults in found)]


Expected = Good | Bad | Either


def within(seen: Seen, attempts: Attempts) -> list[str]:
    low, high = (attempts, attempts) if isinstance(attempts, int) else attempts
    return [] if low <= seen.requests <= high else [f"{seen.requests} requests"]


good = Good


def bad(
    *kinds: str,
    attempts: Attempts = 1,
    partial: str | None = None,
    then: Callable[[Seen], bool] | None = None,
    **facts: Any,
) -> Bad:
    return Bad(kinds, attempts, facts, partial, then)


def either(*arms: Expected) -> Either:
    return Either(arms)


@dataclass
class World:
    """What a run has to do with: a wire, a mode, a script that answers, and clients that it closes in the end."""

    documents: Documents
    mode: str
    script: Script
    server: Server
    seen: Seen
    options: Mapping[str, Any]
    clients: list[Any] = field(default_factory=list)

    def client(self, *, really: bool = False, **options: Any) -> Any:
        """A client of this mode whose waits between attempts are noted and not waited, unless `really`."""
        given = {"api_key": KEY, "base_url": self.script.url, **self.documents.options, **self.options, **options}
        model = given.pop("model", self.documents.model)
        real = (Client if self.mode == "sync" else AsyncClient)(
            model, **{name: value for name, value in given.items() if value is not LEFT_OUT}
        )
        self.clients.append(real)

        async def sleep(seconds: float) -> None:
            self.seen.waits.append(seconds)

        if not really:
            real._caller.transport.sleep = sleep  # type: ignore[method-assign]
        return Awaited(real) if self.mode == "sync" else real

    async def close(self) -> None:
        for client in self.clients:
            if self.mode == "sync":
                client.close()
            else:
                await client.aclose()

    async def read(self, stream: Any) -> Any:
        """Read a stream to its end; what it said is seen."""
        try:
            async with stream:
                async for event in stream:
                    if isinstance(event, OutputTextDelta):
                        self.seen.texts.append(event.delta)
        finally:
            self.seen.reply = stream.response
        return stream.response


LEFT_OUT = object()

Ask = Callable[[World], Awaitable[Any]]


async def whole(world: World) -> Any:
    return await world.client().generate("Hi")


async def streamed(world: World) -> Any:
    return await world.read(world.client().stream("Hi"))


async def twice(world: World) -> Any:
    llm = world.client()
    await llm.generate("Hi")
    return await llm.generate("Hi")


@dataclass(frozen=True)
class Case:
    """One fault: what the server does or the caller gives, and what must come of it."""

    id: str
    given: str
    does: Callable[[Documents], Sequence[Act]]
    expected: Expected | Callable[[Documents], Expected]
    ask: Ask = whole
    best: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    before: Callable[[Documents], Act] | None = None
    early: bool = False
    tls: Any = None
    refused: bool = False
    """Nobody listens at the port."""
    own: bool = False
    https: bool = False
    """The URL says https, whatever the server speaks."""
    slow: bool = False
    """Waits for something; every wire and mode of it runs at the same time."""
    modes: tuple[str, ...] = MODES
    cannot: Mapping[Any, str] = field(default_factory=dict[Any, str])
    """Wires on which there is no such case, and why."""
    counted: bool = True
    """Whether the attempts told are the requests that were heard."""
    lingers: bool = False
    """Whether a connection may stay open for a moment, because nobody closes it."""

    def runs(self, *, whole: bool = True) -> list[tuple[Documents, str]]:
        """The wires and modes it is made on: with `whole` in every mode on every wire, else faults below the documents in every
        mode on one wire, others on every wire in one mode; which one it is changes from case to case."""
        found = [documents for documents in ALL if documents.wire not in self.cannot]
        number = int(self.id[1:])
        if whole:
            return [(documents, mode) for documents in found for mode in self.modes]
        if self.id[0] in BELOW_DOCUMENTS:
            return [(found[number % len(found)], mode) for mode in self.modes]
        return [(documents, self.modes[(number + i) % len(self.modes)]) for i, documents in enumerate(found)]


def run(case: Case, documents: Documents, mode: str, server: Server) -> tuple[Seen, list[str]]:
    """What came of a case, and what is wrong with that."""
    script = Script(list(case.does(documents)), before=case.before and case.before(documents), early=case.early)
    script.tls = case.tls() if case.tls else None
    seen = Seen()
    with server.script(script, own=case.own) as script:
        if case.refused:
            script.url = f"http://127.0.0.1:{free_port()}"
        if case.https:
            script.url = script.url.replace("http:", "https:")
        world = World(documents, mode, script, server, seen, case.options)

        async def body() -> None:
            try:
                found = await case.ask(world)
                seen.reply = found if found is not None else seen.reply
            except (LLMError, Exception) as problem:
                seen.error = problem
            finally:
                await world.close()

        began = time.monotonic()
        if mode == "sync":
            drive(body())
        else:
            anyio.run(body, backend=mode)
        seen.seconds = time.monotonic() - began
        left = 0 if case.lingers else script.wait_closed()
        seen.requests = len(script.heads)
        seen.connections = script.connections
        seen.heads, seen.bodies = script.heads, script.bodies
        if case.before:
            seen.requests = max(seen.requests, seen.connections)
    faults = promised(case, seen, documents)
    if left:
        faults.append(f"{left} connections stay open")
    expected = case.expected if isinstance(case.expected, Good | Bad | Either) else case.expected(documents)
    return seen, faults + expected.faults(seen, documents)


def drive(work: Any) -> None:
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("a synchronous call waited for an event loop")


def run_all(case: Case, server: Server, *, whole: bool = True) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """What came of a case on every wire in every mode, as a line, and what is wrong with that."""

    def told(documents: Documents, mode: str) -> tuple[str, list[str]]:
        seen, faults = run(case, documents, mode, server)
        return str(seen), faults

    runs = case.runs(whole=whole)
    if not case.slow:
        return {(documents.wire, mode): told(documents, mode) for documents, mode in runs}
    with ThreadPoolExecutor(len(runs)) as pool:
        futures = {(d.wire, mode): pool.submit(told, d, mode) for d, mode in runs}
    return {key: future.result() for key, future in futures.items()}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


# --- what is promised of every run ----------------------------------------------------------------------------------


def promised(case: Case, seen: Seen, documents: Documents) -> list[str]:
    found: list[str] = []
    if seen.error is None:
        if case.counted and seen.reply is not None and len(seen.reply.info.attempts) not in (seen.requests, 1):
            found.append(f"{len(seen.reply.info.attempts)} attempts told, {seen.requests} requests made")
        return found
    error = seen.error
    if not isinstance(error, LLMError):
        return ["".join(traceback.format_exception(error))[-1500:]]
    if error.code not in CODES or not re.fullmatch(r"[a-z]+(_[a-z]+)*", error.kind):
        found.append(f"code {error.code}, kind {error.kind}")
    if len(str(error.message)) > 500 or not error.message.isprintable() or not error.message.strip():
        found.append(f"message {error.message!r}")
    if seen.requests and (error.vendor, error.model) != tuple(documents.model.split("/", 1)):
        found.append(f"from {error.vendor}/{error.model}")
    if case.counted and len(error.attempts) != seen.requests:
        found.append(f"{len(error.attempts)} attempts told, {seen.requests} requests made")
    found += [f"shows {kind} behind it" for kind in causes(error)]
    shown = [repr(error), str(error), repr(error.to_dict()), repr(error.body), repr(error.__dict__), *locals_of(error)]
    if any(KEY in text for text in shown):
        found.append("shows the key")
    stored = pickle.dumps(error)
    if KEY.encode() in stored:
        found.append("pickles the key")
    other = pickle.loads(stored)
    if (type(other), other.to_dict()) != (type(error), error.to_dict()):
        found.append("pickles as something else")
    copy.copy(error)
    return found


def causes(error: BaseException) -> list[str]:
    """The libraries whose exceptions hang on an error."""
    found: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        if type(seen).__module__.partition(".")[0] in FOREIGN:
            found.append(f"{type(seen).__module__}.{type(seen).__name__}")
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return found


def locals_of(error: BaseException) -> list[str]:
    """The local variables of every frame but those of the tests, as an error reporter records them."""
    return [
        _repr(value)
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if f"{os.sep}tests{os.sep}" not in frame.f_code.co_filename
        for value in frame.f_locals.values()
    ]


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except RecursionError:
        return ""  # somebody's own input
