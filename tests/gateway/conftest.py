"""A gateway in front of the simulated vendor of every wire, for each module that asks it."""

from __future__ import annotations

from collections.abc import Generator

import httpx
import pytest

from llm_rest.server.app import serve_in_thread
from tests.gateway.upstreams import everything, gateway


@pytest.fixture(scope="module")
def upstream() -> Generator[str]:
    with serve_in_thread() as url:
        yield url


@pytest.fixture(scope="module")
def http(upstream: str) -> Generator[httpx.Client]:
    with gateway(everything(upstream)) as client:
        yield client
