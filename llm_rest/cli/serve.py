"""`serve`: the simulated vendor over HTTP, until interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..server import app
from . import note

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Serve until Ctrl-C."""
    app.serve(
        arguments.host, arguments.port, ready=lambda url: note(f"simulating every vendor at {url}; end with Ctrl-C")
    )
    return 0
