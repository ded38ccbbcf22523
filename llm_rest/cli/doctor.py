"""`doctor`: diagnostics: versions, settings, keys, proxies, certificates, the store; one call on request.

No key is printed, and nothing is sent without `-m`.
"""

from __future__ import annotations

import platform
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .. import __version__
from ..client.client import Client
from ..conversation.store import SQLiteConversationStore
from ..errors import LLMError
from ..transport.address import address_of, proxy_for
from ..transport.tls import default_context
from ..vendors.rows import VENDORS
from . import FAILED
from .settings import settings, settings_file, store_file
from .tables import show
from .vendors import set_keys

if TYPE_CHECKING:
    from argparse import Namespace

EXTRAS = {"server": "starlette", "cli": "rich", "otel": "opentelemetry"}
"""A module of each extra."""

_FAILED = "FAILED"


def run(arguments: Namespace) -> int:
    """Print a table of checks; 1 where one of them failed."""
    checks: dict[str, Callable[[], str]] = {
        "python": lambda: f"{platform.python_version()} on {platform.system()}, {ssl.OPENSSL_VERSION}",
        "packages": _packages,
        "settings": _settings,
        "keys": _keys,
        "proxy": _proxy,
        "certificates": _certificates,
        "store": _store,
    }
    if arguments.model:
        checks["call"] = lambda: _call(arguments.model)
    rows = [(name, *_checked(check)) for name, check in checks.items()]
    show(("check", "", "found"), rows)
    return FAILED if any(state == _FAILED for _, state, _ in rows) else 0


def _checked(check: Callable[[], str]) -> tuple[str, str]:
    try:
        return "ok", check()
    except LLMError as problem:
        return _FAILED, str(problem)


def _packages() -> str:
    found = (f"{name} {metadata.version(name)}" for name in ("httpx", "msgspec", "anyio"))
    extras = (f"extra {name} {'installed' if find_spec(module) else 'missing'}" for name, module in EXTRAS.items())
    return f"llm_rest {__version__}, {', '.join([*found, *extras])}"


def _settings() -> str:
    path, found = settings_file(), settings()
    return f"{path}{'' if path.exists() else ' (none)'}; default model {found.model or 'none'}"


def _keys() -> str:
    ready = [name for name, vendor in VENDORS.items() if set_keys(vendor)]
    return f"set for {', '.join(ready)}" if ready else "none is set: the simulator and local vendors can be called"


def _proxy() -> str:
    proxy = proxy_for(address_of("https://api.openai.com"))
    return "none" if proxy is None else f"{proxy.host}:{proxy.port}"


def _certificates() -> str:
    return f"{len(default_context().get_ca_certs())} authorities"


def _store() -> str:
    path = store_file()
    if not path.exists():
        return f"{path} (none yet)"
    with closing(SQLiteConversationStore(path)) as store:
        return f"{path}, {len(store.list(limit=1_000_000))} conversations, journal mode {store.journal_mode}"


def _call(model: str) -> str:
    started = time.perf_counter()
    with Client(model, on_loss="ignore", retry=1) as llm:
        reply = llm.generate("Say OK.")
    return f"{model} answered in {time.perf_counter() - started:.1f} s, {reply.status}"
