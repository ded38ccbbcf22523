"""`serve`: the simulated vendor over HTTP, until interrupted."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ..server import app
from . import note

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Serve until Ctrl-C, which is how it is meant to end."""
    with suppress(KeyboardInterrupt):
        app.serve(arguments.host, arguments.port, ready=_told)
    return 0


def _told(url: str) -> None:
    note(f"simulating every vendor at {url}; end with Ctrl-C")
