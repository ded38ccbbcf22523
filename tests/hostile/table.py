"""What a case is, what may come of it, and how one is run on one wire in one mode.

Whatever is expected, every run is also held to what is promised of all: nothing but an `LLMError` is raised, complete and with
the right kind; it lists as many attempts as requests were made; no key is in anything it shows; no connection is open once the
client is closed.
"""

from __future__ import annotations

import copy
import os
import pickle
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from ssl import SSLContext
from typing import Any

import anyio
import anyio._backends._asyncio
import anyio._backends._trio  # both here, because threads that load one at once get in each other's way

from llm_rest import AsyncClient, Client, LLMError
from llm_rest.responses import OutputTextDelta
from llm_rest.sync import drive
from tests.callers import Awaited
from tests.hostile.documents import ALL, Documents
from tests.loopback import Act, Loopback, loopback
from tests.transport.support import nobody

MODES = ("sync", "asyncio", "trio")
KEY = "hostile0123456789abcdef0123456789"
"""Of no known shape, so that what hides it must know it."""

BELOW_DOCUMENTS = "TPMRC"
"""The letters of cases that are the same on every wire: connections, HTTP, misuse, exhaustion, cancellation."""

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
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class Expected:
    """A whole answer, or an error of one of these kinds where there are any; or what one of `others` expects instead."""

    kinds: tuple[str, ...] = ()
    attempts: Attempts = 1
    text: str | None = None
    partial: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Attributes of the error."""
    then: Callable[[Seen], bool] | None = None
    others: tuple[Expected, ...] = ()

    def faults(self, seen: Seen) -> list[str]:
        found = self._faults(seen)
        others = [other.faults(seen) for other in self.others]
        return [] if not all([found, *others]) else [*found, *(fault for faults in others for fault in faults)]

    def _faults(self, seen: Seen) -> list[str]:
        error, reply = seen.error, seen.reply
        if bool(self.kinds) != (error is not None):
            return [f"raised {error!r}" if error is not None else f"returned {reply and reply.output_text[:80]!r}"]
        if error is not None and not isinstance(error, LLMError):
            return []  # reported as a broken promise
        found: list[str] = []
        low, high = (self.attempts, self.attempts) if isinstance(self.attempts, int) else self.attempts
        if not low <= seen.requests <= high:
            found.append(f"{seen.requests} requests")
        if error is not None:
            facts = {name: (value, getattr(error, name, None)) for name, value in self.facts.items()}
            if self.partial is not None:
                facts["partial"] = self.partial, getattr(error.partial, "output_text", None)
            found += [f"{name} is {value!r}" for name, (expected, value) in facts.items() if value != expected]
            if error.kind not in self.kinds:
                found.append(f"{error.kind}: {error}")
            if error.partial is not None and error.partial.status == "completed":
                found.append("partial looks complete")
        elif self.text is not None and (reply is None or (reply.output_text, reply.status) != (self.text, "completed")):
            found.append(f"is {reply and (reply.status, reply.output_text[:80])}")
        if self.then is not None and not self.then(seen):
            found.append(f"is not what was promised: waits {seen.waits}, {error}")
        return found


Check = Callable[[Seen], bool] | None


def good(attempts: Attempts = 1, text: str | None = "Hello", then: Check = None) -> Expected:
    return Expected(attempts=attempts, text=text, then=then)


def bad(*kinds: str, attempts: Attempts = 1, partial: str | None = None, then: Check = None, **facts: Any) -> Expected:
    return Expected(kinds, attempts, partial=partial, facts=facts, then=then)


def either(first: Expected, *others: Expected) -> Expected:
    return replace(first, others=(*first.others, *others))


@dataclass
class World:
    """What a run has to do with: a wire, a mode, a server, and clients that it closes in the end."""

    documents: Documents
    mode: str
    server: Loopback
    seen: Seen
    options: Mapping[str, Any]
    clients: list[Any] = field(default_factory=list)

    def client(self, *, really: bool = False, **options: Any) -> Any:
        """A client of this mode whose waits between attempts are noted and not waited, unless `really`."""
        given = {"api_key": KEY, "base_url": self.server.url, **self.documents.options, **self.options, **options}
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


async def to_nobody(world: World) -> Any:
    return await world.client(base_url=nobody()).generate("Hi")


async def failed(work: Awaitable[Any]) -> Any:
    """The error of a call, or its value."""
    try:
        return await work
    except LLMError as problem:
        return problem


@dataclass(frozen=True)
class Case:
    """One fault: what the server does or the caller gives, and what must come of it."""

    id: str
    given: str
    does: Callable[[Documents], Sequence[Act]]
    expected: Expected | Callable[[Documents], Expected]
    ask: Ask = whole
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    before: Act | None = None
    tls: Callable[[], SSLContext] | None = None
    slow: bool = False
    """Waits for something; every wire and mode of it runs at the same time."""
    modes: tuple[str, ...] = MODES
    cannot: Mapping[Any, str] = field(default_factory=dict[Any, str])
    """Wires on which there is no such case, and why."""
    counted: bool = True
    """Whether the attempts listed are the requests that were received."""
    lingers: bool = False
    """Whether a connection may stay open for a moment, because nobody closes it."""

    def runs(self, *, whole: bool) -> list[tuple[Documents, str]]:
        """The wires and modes it is made on: with `whole` in every mode on every wire, else faults below the documents in every
        mode on one wire, others on every wire in one mode; which one it is changes from case to case."""
        found = [documents for documents in ALL if documents.wire not in self.cannot]
        number = int(self.id[1:])
        if whole:
            return [(documents, mode) for documents in found for mode in self.modes]
        if self.id[0] in BELOW_DOCUMENTS:
            return [(found[number % len(found)], mode) for mode in self.modes]
        return [(documents, self.modes[(number + i) % len(self.modes)]) for i, documents in enumerate(found)]


def run(case: Case, documents: Documents, mode: str) -> list[str]:
    """What is wrong with what comes of a case."""
    seen = Seen()
    with loopback(*case.does(documents), before=case.before, tls=case.tls and case.tls()) as server:
        world = World(documents, mode, server, seen, case.options)

        async def body() -> None:
            try:
                found = await case.ask(world)
                seen.reply = found if found is not None else seen.reply
            except (LLMError, Exception) as problem:
                seen.error = problem
            finally:
                await world.close()

        if mode == "sync":
            drive(body())
        else:
            anyio.run(body, backend=mode)
        left = 0 if case.lingers else server.wait_closed()
    seen.heads, seen.bodies, seen.connections = server.heads, server.bodies, server.connections
    seen.requests = max(len(server.heads), server.connections if case.before else 0)
    faults = promised(case, seen, documents)
    if left:
        faults.append(f"{left} connections stay open")
    expected = case.expected if isinstance(case.expected, Expected) else case.expected(documents)
    return faults + expected.faults(seen)


def run_all(case: Case, *, whole: bool) -> dict[tuple[str, str], list[str]]:
    """What is wrong with a case, for each wire and mode in which something is."""
    runs = case.runs(whole=whole)
    if not case.slow:
        found = [run(case, *each) for each in runs]
    else:
        with ThreadPoolExecutor(len(runs)) as pool:
            found = list(pool.map(lambda each: run(case, *each), runs))
    return {(documents.wire, mode): faults for (documents, mode), faults in zip(runs, found, strict=True) if faults}


# --- what is promised of every run ----------------------------------------------------------------------------------


def promised(case: Case, seen: Seen, documents: Documents) -> list[str]:
    """What is broken of that which is promised whatever comes of a case."""
    found: list[str] = []
    if seen.error is None:
        if case.counted and seen.reply is not None and len(seen.reply.info.attempts) not in (seen.requests, 1):
            found.append(f"{len(seen.reply.info.attempts)} attempts listed, {seen.requests} requests made")
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
        found.append(f"{len(error.attempts)} attempts listed, {seen.requests} requests made")
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
