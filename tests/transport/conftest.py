"""Every test of the transport runs over connections of our own and through clients of `httpx` and `httpx2`.

Where a promise is kept by our own connections only, the test says so and why: `@ours("...")`, or
`@ours("...", "sync")` where that is so for threads; `OURS = "..."` says it of a whole file.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "through" in metafunc.fixturenames:
        alone = hasattr(metafunc.module, "OURS") or getattr(metafunc.function, "ours", ("",))[0] == "all"
        metafunc.parametrize("through", ["own"] if alone else ["own", "httpx", "httpx2"])


@pytest.fixture
def new_transport(way: str, through: str, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Makes a transport of this way. It closes a client that was made for it."""
    from llm_rest.transport.asynchronous import AsyncTransport
    from llm_rest.transport.blocking import SyncTransport
    from llm_rest.transport.tls import default_context

    kind: Any = SyncTransport if way == "sync" else AsyncTransport
    if through == "own":
        return kind
    kept_for, reason = getattr(request.function, "ours", ("", ""))
    if kept_for == way:
        pytest.skip(reason)

    def make(**options: Any) -> Any:
        module = import_module(through)
        http = (module.Client if way == "sync" else module.AsyncClient)(verify=default_context())
        transport = kind(http=http, **options)

        async def close() -> None:
            await kind.close(transport)
            http.close() if way == "sync" else await http.aclose()

        vars(transport)["close"] = close
        return transport

    return make
