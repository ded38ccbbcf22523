"""`FakeModel`: a fake model in this process that answers from a script and records the requests.

Everything but the network runs as it does with a vendor: encoding, retries, streaming, the tool loop, on any wire. An
error of the script is raised in the place of an answer, as the very object. Before changing this file, know that one
model may serve several threads: an entry of the script is used once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from inspect import isfunction, ismethod
from itertools import count
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import wires
from ..errors import ConfigError, LLMError
from ..responses import Request, Response
from ..server.streaming import Pace, stream_events
from ..simulator import Simulator
from ..simulator import handle as answer_whole
from ..simulator import handle_stream as answer_streamed
from ..simulator import script as steps
from ..simulator.model import Playback, play
from ..vendors.rows import VENDORS, NoAuth, Surface, Vendor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ..client.client import AsyncClient, Client
    from ..server.exchange import Answer
    from ..server.handler import Context, HandlerEvent

MODEL = "fake/model"
"""The model of the clients that a fake model makes."""


class ToolCall(Struct, frozen=True):
    """A function call of the model. Several in a list are parallel calls."""

    name: str
    """The name of the function."""
    arguments: dict[str, Any] | str = {}
    """The arguments, or JSON text that is sent unchanged, even if invalid."""


class Thinking(Struct, frozen=True):
    """Reasoning of the model before its answer; without text it is hidden, as by some vendors."""

    text: str = ""
    """The visible text of the reasoning."""


class Refusal(Struct, frozen=True):
    """A refusal of the model."""

    text: str = "I cannot help with that."
    """The text of the refusal."""


class Broken(Struct, frozen=True):
    """An interrupted answer: at the token limit, or a stream without its end."""

    at: str = "limit"
    """`limit`: the answer is incomplete, at the token limit. `connection`: the stream is cut."""

    def __post_init__(self) -> None:
        if self.at not in ("limit", "connection"):
            raise ConfigError(f"Broken: at is limit or connection, not {self.at!r}")


class Streamed(Struct, frozen=True):
    """An answer with its streaming options; a call without streaming receives it whole."""

    answer: Any
    """The answer: any other entry of a script except errors and functions."""
    size: int = 4
    """Characters in each piece of text."""
    delay: float = 0.0
    """Seconds before each piece."""
    error: LLMError | None = None
    """An error that is raised after the last piece."""


Entry = Any
"""An answer of the script: text; `ToolCall`, `Thinking`, `Refusal`, `Broken`, or a list of them and of
texts; a struct, dataclass, pydantic model or dict, which is written as JSON; a whole `Response`; an error to raise;
`Streamed`; or a function of the `Request` that returns one of these."""


class FakeModel:
    """A fake model for tests: answers each request from a script, and records the requests.

        with FakeModel(["Hello", RateLimitError("slow down"), ToolCall("get_weather", {"city": "Oslo"})]) as model:
            llm = model.client()

    A single text or function, instead of a list, answers every request. At the end of the `with` block an
    `AssertionError` names the answers that were not used, and a request beyond the last answer raises `ConfigError`.
    """

    def __init__(self, script: Sequence[Entry] | str | Callable[[Request], Entry] = "Hello.") -> None:
        self._endless = isinstance(script, str) or not isinstance(script, Sequence)
        self._script: list[Any] = [script] if self._endless else [*cast("Sequence[Any]", script)]
        self.requests: list[Request] = []
        """The requests so far, decoded by their wire; each attempt of a retry is a request of its own."""
        self._lock = Lock()
        self._place = _place()
        self.name = f"{next(_NUMBERS)}"
        """The first part of this model's paths in the in-process server."""
        _MODELS[self.name] = self

    def __repr__(self) -> str:
        left = "without end" if self._endless else f"{self.unused} answers left"
        return f"<FakeModel: {len(self.requests)} requests, {left}>"

    def vendor(self, name: str = "fake") -> Vendor:
        """The row of a vendor whose answers come from here, for `Client(vendor=...)`; of a known name it is that vendor."""
        known = VENDORS.get(name)
        base_url = f"inproc:{__name__}/{self.name}"
        if known is None:
            first, *others = map(Surface, wires.NAMES)
            return Vendor(name=name, wire=first.wire, base_url=base_url, other_wires=tuple(others))
        others = [replace(surface, auth=NoAuth()) for surface in known.other_wires]
        return replace(
            known,
            base_url=f"{base_url}/{name}",
            auth=NoAuth(),
            other_wires=tuple(others),
            header_env={},
            base_url_env=(),
        )

    @property
    def unused(self) -> int:
        """The number of answers of the script that were not used yet."""
        return 0 if self._endless else len(self._script) - min(len(self.requests), len(self._script))

    def client(self, model: str = MODEL, **options: Any) -> Client:
        """A `Client` of this model; takes what `Client` takes. A model such as `openai/gpt-5.2` has the wire and dialect of that
        vendor, and needs no key.
        """
        from ..client.client import Client

        made = Client(model, vendor=self.vendor(model.partition("/")[0]), **options)
        _OF_TRANSPORTS[made._caller.transport] = self  # pyright: ignore[reportPrivateUsage]  (runs share it)
        return made

    def async_client(self, model: str = MODEL, **options: Any) -> AsyncClient:
        """An `AsyncClient` of this model."""
        from ..client.client import AsyncClient

        made = AsyncClient(model, vendor=self.vendor(model.partition("/")[0]), **options)
        _OF_TRANSPORTS[made._caller.transport] = self  # pyright: ignore[reportPrivateUsage]  (runs share it)
        return made

    def check(self) -> None:
        """Return if every answer was used. Raises `AssertionError` with those that were not."""
        if self.unused:
            left = ", ".join(_shown(entry) for entry in self._script[-self.unused :])
            raise AssertionError(
                f"{self.unused} of {len(self._script)} answers of the fake model made at {self._place} were not used: {left}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if problem is None:
            self.check()

    def take(self, request: Request) -> Entry:
        """Record the request; the entry of the script for it. Raises an entry that is an error."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        if not self._endless and number >= len(self._script):
            raise ConfigError(
                f"the fake model made at {self._place} has no answer for request {number + 1}: "
                f"its script has {len(self._script)}",
                hint="add an answer to the script, or give one text or function for all requests",
            )
        entry: Any = self._script[0 if self._endless else number]
        if isfunction(entry) or ismethod(entry):
            entry = entry(request)
        if isinstance(entry, LLMError):
            raise entry
        return entry


class _Turn(Simulator):
    """Answers one request, as the handler of a simulated server, and stores the error to be raised instead."""

    def __init__(self, model: FakeModel) -> None:
        self._model = model
        self.error: LLMError | None = None

    async def answer(self, request: Request, context: Context) -> Response:
        return self._next(request)[0].response

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        played, streamed = self._next(request)
        cut = played.end is not None or streamed.error is not None
        for event in stream_events(played.response, Pace(streamed.size, streamed.delay), unfinished=cut):
            yield event
        self.error = streamed.error

    def _next(self, request: Request) -> tuple[Playback, Streamed]:
        """The next answer, and how it is streamed."""
        try:
            entry = self._model.take(request)
            streamed = entry if isinstance(entry, Streamed) else Streamed(entry)
            return _playback(streamed.answer, request), streamed
        except LLMError as error:
            self.error = error  # a server would convert it to an error answer
            raise


_NUMBERS = count(1)
_MODELS: WeakValueDictionary[str, FakeModel] = WeakValueDictionary()
_OF_TRANSPORTS: WeakKeyDictionary[Any, FakeModel] = WeakKeyDictionary()


def handle(method: str, path: str, headers: Any, body: bytes) -> Answer:
    """The in-process server: the answer of the model that the path begins with."""
    answer: Answer = _played(answer_whole, method, path, headers, body)[0]
    return answer


def handle_stream(
    method: str, path: str, headers: Any, body: bytes
) -> tuple[int, dict[str, str], Iterator[bytes | float]]:
    """The in-process server: the same answer as a stream."""
    (status, answered, pieces), turn = _played(answer_streamed, method, path, headers, body)
    return status, answered, _until_error(pieces, turn)


def _played(answer: Callable[..., Any], method: str, path: str, headers: Any, body: bytes) -> tuple[Any, _Turn]:
    name, _, rest = path.lstrip("/").partition("/")
    if (model := _MODELS.get(name)) is None:
        raise ConfigError("this fake model is gone", hint="keep the FakeModel as long as its clients")
    turn = _Turn(model)
    found = answer(method, f"/{rest}", headers, body, turn)
    if turn.error is not None:
        raise turn.error
    return found, turn


def _until_error(pieces: Iterator[bytes | float], turn: _Turn) -> Generator[bytes | float]:
    with closing(cast("Any", pieces)):
        yield from pieces
        if turn.error is not None:
            raise turn.error


def _playback(entry: Entry, request: Request) -> Playback:
    """The answer to a request that an entry of the script describes."""
    if isinstance(entry, Response):
        return Playback(entry, Pace(), None)
    return play(request, [_step(one) for one in (cast("list[object]", entry) if isinstance(entry, list) else [entry])])


def _step(entry: Any) -> steps.Step:
    match entry:
        case str():
            return steps.Say(entry)
        case ToolCall(arguments=arguments):
            return steps.Call(entry.name, arguments if isinstance(arguments, str) else json.dumps(arguments))
        case Thinking():
            return steps.Think(entry.text)
        case Refusal():
            return steps.Refuse(entry.text)
        case Broken():
            return steps.Cut() if entry.at == "limit" else steps.Break()
        case _ if hasattr(entry, "model_dump_json"):
            return steps.Say(str(entry.model_dump_json()))
        case _:
            try:
                return steps.Say(msgspec.json.encode(entry).decode())
            except (TypeError, msgspec.MsgspecError):
                raise ConfigError(
                    f"the fake model cannot answer with {_shown(entry)}",
                    hint="give text, ToolCall(...), a value that can be written as JSON, or an error",
                ) from None


def _place() -> str:
    """The file and line of the program that makes the fake model."""
    frame: Any = sys._getframe(2)  # pyright: ignore[reportPrivateUsage] - the only way to a caller's line
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("llm_rest.testing"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _shown(entry: Any) -> str:
    text = repr(entry)
    return text if len(text) <= 80 else f"{text[:77]}..."
