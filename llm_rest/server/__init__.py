"""One HTTP server for every wire, around a handler: a gateway to real vendors, a simulated vendor, or your own.

`create_app` returns the ASGI application of a handler, `serve` and `serve_in_thread` run it (extra `server`). The names
load on first use: the simulator runs in process without the dependencies of the server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..simulator import Simulator as Simulator
    from .access import AccessControl as AccessControl, Limits as Limits
    from .app import create_app as create_app, serve as serve, serve_in_thread as serve_in_thread
    from .config import (
        Config as Config,
        Keep as Keep,
        Seal as Seal,
        Upstream as Upstream,
        access_control as access_control,
        load as load,
    )
    from .gateway import Gateway as Gateway
    from .handler import Context as Context, Handler as Handler, Pause as Pause, Refused as Refused
    from .history import StoredHistory as StoredHistory
    from .logs import JSONLines as JSONLines
    from .store import MemoryStore as MemoryStore, SQLiteStore as SQLiteStore

_HOME = {
    name: module
    for module, names in {
        ".access": "AccessControl Limits",
        ".app": "create_app serve_in_thread serve",
        ".config": "Config Keep Seal Upstream access_control load",
        ".gateway": "Gateway",
        ".handler": "Context Handler Pause Refused",
        ".history": "StoredHistory",
        ".logs": "JSONLines",
        "..simulator": "Simulator",
        ".store": "MemoryStore SQLiteStore",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home, __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
