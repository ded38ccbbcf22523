"""The first call of a process: what takes long is done before it or beside it, so that others in the loop go on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from llm_rest.server.app import serve_in_thread

CALL = """
import sys
import {loop}
import threading

from llm_rest import AsyncClient
from llm_rest.errors import APIConnectionError
from llm_rest.transport import tls

made = tls.default_context
elsewhere = []


def watched():
    elsewhere.append(threading.current_thread() is not threading.main_thread())
    return made()


async def main(url):
    async with AsyncClient("anthropic/m", api_key="k", base_url=url) as llm:
        before = set(sys.modules)
        assert (await llm.generate("say Hi")).output_text == "Hi"
        print(*sorted(set(sys.modules) - before))
    tls.default_context = watched
    async with AsyncClient("anthropic/m", api_key="k", base_url="https://127.0.0.1:9", retry=1) as llm:
        for _ in range(2):
            try:
                await llm.generate("Hi")
            except APIConnectionError:
                pass
    print(elsewhere)


{run}
"""
RUNS = {"asyncio": "asyncio.run(main(sys.argv[1]))", "trio": "trio.run(main, sys.argv[1])"}


@pytest.mark.parametrize("loop", RUNS)
def test_a_first_call_loads_nothing_and_makes_its_tls_configuration_in_a_thread(loop: str) -> None:
    """BUGS 76"""
    code = CALL.replace("{loop}", loop).replace("{run}", RUNS[loop])
    with serve_in_thread() as url:
        command = [sys.executable, "-c", code, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, done.stdout.splitlines()) == ("", ["", "[True, False]"])
