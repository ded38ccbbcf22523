"""The vendor of `server.py`, started for a test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.request import urlopen

import pytest


class Vendor:
    def __init__(self, port: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.client: dict[str, Any] = {"base_url": f"{self.url}/v1", "api_key": "sk-test"}

    def asked(self, what: str = "log") -> dict[str, Any]:
        with urlopen(f"{self.url}/{what}") as answer:
            return json.load(answer)


@contextmanager
def vendor_process(**settings: float) -> Iterator[Vendor]:
    options = [f"--{name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "tests.bulk.server", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Vendor(process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.fixture
def serve() -> Iterator[Callable[..., Vendor]]:
    """Start a vendor with these settings."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(vendor_process(**settings))
