"""One gateway for all tests of clients: starting servers and SDKs costs more than asking them."""

from __future__ import annotations

from collections.abc import Generator

import pytest

pytest.register_assert_rewrite("tests.clients.cases")

from .world import Spy, World, world  # noqa: E402


@pytest.fixture(scope="package")
def gateway() -> Generator[World]:
    with world() as found:
        yield found


@pytest.fixture
def spy(gateway: World) -> Spy:
    gateway.spy.forget()
    return gateway.spy
