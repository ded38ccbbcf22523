"""`explain`: the HTTP request that `ask` would send, as a curl command; nothing is sent and no key is shown.

A key is replaced by the environment variable that holds it, so the command can be run unchanged.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ..client.target import DEFAULT_HEADERS, build_request, url_of
from ..vendors import models
from ..vendors.auth import Secret, credentials, key_variables
from . import note, write_json
from .ask import client_of
from .question import input_of, model_of, options_of
from .tables import show_losses

if TYPE_CHECKING:
    from argparse import Namespace

    from ..client.target import Target
    from ..losses import Loss
    from ..vendors.models import Problem

SERVED = "http://127.0.0.1:8000"
"""The address of `llm-rest serve --simulate`, used in place of the in-process simulator."""


def run(arguments: Namespace) -> int:
    """Show the request."""
    options = {**options_of(arguments), "invalid_options": "send"}  # what the model does not support is shown below
    with client_of(arguments, model_of(arguments)) as llm:
        prepared = llm._caller.prepare(input_of(arguments), options)  # pyright: ignore[reportPrivateUsage]
    target, request = prepared.target, prepared.request
    outgoing, lost = build_request(target.wire.encode_request, target.wire.route, request, target.dialect)
    losses = prepared.lost + prepared.located(lost)
    base = target.endpoint.base_url
    if base.startswith("inproc:"):
        base = SERVED
        note("the simulator runs inside this process; the command reaches the one of `llm-rest serve --simulate`")
    headers = {**_plain(DEFAULT_HEADERS), **_plain(_authentication(target)), **outgoing.route.headers}
    found = models.check(request, target.known, target.endpoint.wire)
    problems = [replace(problem, path=prepared.indexed(problem.path)) for problem in found]
    url, encoded = url_of(base, outgoing.route), outgoing.body
    if arguments.json:
        facts = {"method": "POST", "url": url, "headers": headers, "body": msgspec.Raw(encoded), "losses": losses}
        write_json({**facts, "problems": [str(problem) for problem in problems]})
    else:
        _curl(url, headers, encoded, losses, problems)
    return 0


def _authentication(target: Target) -> dict[str, Any]:
    """The authentication headers, with variables in place of the secrets."""
    endpoint = target.endpoint
    held = {name: f"${name}" for name in endpoint.vendor.header_env.values() if os.environ.get(name)}
    names = key_variables(endpoint)
    name = next((name for name in names if os.environ.get(name)), names[0] if names else "API_KEY")
    if not names and endpoint.key_optional:
        return dict(credentials(endpoint, environ=held).headers())
    # Put into the "environment", so that the key is sent in the header that its variable requires.
    return dict(
        credentials(endpoint, api_key=None if names else f"${name}", environ={**held, name: f"${name}"}).headers()
    )


def _plain(headers: dict[str, Any]) -> dict[str, str]:
    return {name: value.reveal() if isinstance(value, Secret) else str(value) for name, value in headers.items()}


def _curl(url: str, headers: dict[str, str], body: bytes, losses: list[Loss], problems: list[Problem]) -> None:
    lines = [f"curl --compressed {shlex.quote(url)}"]
    for name, value in headers.items():
        if name == "Accept-Encoding":
            continue  # the header that --compressed sends, and decodes
        # Only values that are a variable need the quotes in which the shell expands it.
        quoted = f'"{name}: {value}"' if "$" in value else shlex.quote(f"{name}: {value}")
        lines.append(f"-H {quoted}")
    lines.append(f"-d {shlex.quote(body.decode())}")
    sys.stdout.write(" \\\n  ".join(lines) + "\n")
    show_losses(losses)
    for problem in problems:
        note(str(problem))
