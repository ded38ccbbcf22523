"""The pytest plugin: fixtures `fake_model`, `llm` and `record`, and blocking of the network.

Loaded by every pytest of an environment that has the package, so it imports nothing of it before a fixture is used. Where the ini
option `llm_rest_block_network` is true, connections of this process to other machines fail with `NetworkBlockedError`, except in
tests with the mark `allow_network`.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..client.client import Client
    from .fake import FakeModel

OPTION = "llm_rest_block_network"
MARK = "allow_network"


class NetworkBlockedError(RuntimeError):
    """A test opened a connection to another machine while the network is blocked."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini option."""
    parser.addini(OPTION, "fail connections of tests to other machines, but in tests marked allow_network", type="bool")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and block the network where the ini option is set."""
    config.addinivalue_line("markers", f"{MARK}: may connect to other machines although {OPTION} is true")
    if config.getini(OPTION):
        _Block.install()


def pytest_unconfigure() -> None:
    """Allow the network again."""
    _Block.remove()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Allow the network during a test with the mark."""
    _Block.allowed = item.get_closest_marker(MARK) is not None
    try:
        return (yield)
    finally:
        _Block.allowed = False


class _Block:
    """Replaces the methods of sockets with which every Python client connects."""

    allowed = False
    _real: ClassVar[dict[str, Any]] = {}

    @classmethod
    def install(cls) -> None:
        for name in ("connect", "connect_ex", "sendto"):
            if name not in cls._real:
                cls._real[name] = real = getattr(socket.socket, name)
                setattr(socket.socket, name, cls._checking(real))

    @classmethod
    def remove(cls) -> None:
        while cls._real:
            setattr(socket.socket, *cls._real.popitem())

    @classmethod
    def _checking(cls, real: Callable[..., Any]) -> Callable[..., Any]:
        def checked(self: socket.socket, *arguments: Any) -> Any:
            address = arguments[-1]
            if (
                not cls.allowed
                and isinstance(address, tuple)
                and not _is_local(str(cast("tuple[object, ...]", address)[0]))
            ):
                raise NetworkBlockedError(
                    f"the network is blocked ({OPTION}): a test connects to {address[0]}; use the fixture llm or record, "
                    f"or mark the test with @pytest.mark.{MARK}"
                )
            return real(self, *arguments)

        return checked


def _is_local(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


@pytest.fixture
def fake_model() -> Generator[Callable[..., FakeModel]]:
    """Makes fake models: `fake_model(["Hello", ...])`. At the end of the test every answer must have been used."""
    from llm_rest.testing import FakeModel

    made: list[FakeModel] = []

    def make(script: Any = "Hello.") -> FakeModel:
        made.append(FakeModel(script))
        return made[-1]

    yield make
    for model in made:
        model.check()


@pytest.fixture
def llm(fake_model: Callable[..., FakeModel]) -> Generator[Client]:
    """A client of a fake model that answers "Hello." to everything."""
    with fake_model().client() as client:
        yield client


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Generator[None]:
    """Replays `cassettes/<file>/<test>.jsonl` beside the test, and records the exchanges of the test where there is
    no such file.
    """
    from llm_rest.testing import cassette

    path = Path(request.path).parent / "cassettes" / request.path.stem / f"{_file_name(request.node.name)}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with cassette.replay(path) if path.exists() else cassette.record(path):
        yield


def _file_name(test: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in test)[:120]
