"""`conform`: conformance of a server to its wire. Runs the laws of `testing/conformance.py` and prints the results."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from ..errors import ConfigError, ConnectError
from ..testing.conformance import conform
from ..vendors.auth import Secret
from . import FAILED, USAGE, complain, write_document
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace

    from ..testing.conformance import Verdict

_MARKS = {"holds": "ok", "fails": "FAILED", "skipped": "-"}
_SHOWN = 2_000


def run(arguments: Namespace) -> int:
    """Print a verdict on each law; 1 where one fails, 2 where the server could not be tested."""
    key = None
    if arguments.key_env is not None:
        key = Secret(os.environ.get(arguments.key_env, "").strip())
        if not key:
            raise ConfigError(f"{arguments.key_env} holds no key", hint=f"set {arguments.key_env}")
    try:
        found = [*conform(arguments.wire, arguments.url, arguments.model, key, tuple(arguments.law))]
    except ConnectError as problem:
        complain(str(problem))
        return USAGE
    if arguments.json:
        write_document(msgspec.json.encode(found) + b"\n")
    else:
        show(("law", "", "what it says"), [(one.law, _MARKS[one.state], _text(one)) for one in found])
        for one in found:
            for exchange in one.exchanges:
                shown = msgspec.json.format(msgspec.json.encode(exchange)).decode()
                sys.stdout.write(f"\n{one.law}: {exchange['method']} {exchange['url']}\n{shown[:_SHOWN]}\n")
    return FAILED if any(one.state == "fails" for one in found) else 0


def _text(verdict: Verdict) -> str:
    return f"{verdict.title}: {verdict.detail}" if verdict.detail else verdict.title
