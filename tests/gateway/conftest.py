"""A gateway in front of the simulated vendor of every wire, for each module that asks it."""

from __future__ import annotations

from collections.abc import Generator

import httpx
import pytest

from llm_rest.server.access import AccessControl
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import access_control
from llm_rest.server.gateway import Gateway
from llm_rest.server.history import StoredHistory
from tests.gateway.upstreams import ALICE, BOB, everything, gateway


@pytest.fixture(scope="module")
def upstream() -> Generator[str]:
    with serve_in_thread() as url:
        yield url


@pytest.fixture(scope="module")
def http(upstream: str) -> Generator[httpx.Client]:
    with gateway(everything(upstream)) as client:
        yield client


@pytest.fixture(scope="module")
def storing(upstream: str) -> Generator[str]:
    """The URL of a gateway without tokens that stores responses."""
    config = everything(upstream)
    with serve_in_thread(Gateway(config, history=StoredHistory()), access=access_control(config, "127.0.0.1")) as url:
        yield url


@pytest.fixture(scope="module")
def guarded(upstream: str) -> Generator[str]:
    """The URL of a gateway that stores responses of Alice and Bob."""
    access = AccessControl(tokens={"alice": ALICE, "bob": BOB})
    with serve_in_thread(Gateway(everything(upstream), history=StoredHistory()), access=access) as url:
        yield url
