"""Sixteen threads that use the library for the first time at once, in a process of their own: msgspec itself would crash it."""

from __future__ import annotations

import subprocess
import sys

import pytest

THREADS = """
import sys, threading
from llm_rest import Client
from llm_rest.wires import load

sys.setswitchinterval(1e-6)
gate = threading.Barrier(16)
said = []


def work():
    gate.wait()
    {what}


threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(said) == 16, said
"""

CLIENTS = """
    with Client("simulator/demo") as llm:
        said.append(llm.generate("Hi").output_text)
"""
CONVERTERS = """
    wire = load("{wire}")
    for decoder in (wire.REQUEST, wire.RESPONSE, wire.EVENT):
        try:
            decoder.decode(b'{{"model": 1}}')
        except ValueError:
            pass
    said.append("Hi")
"""
WIRES = ("openai_responses", "openai_chat", "anthropic_messages", "gemini_generate_content", "ollama_chat")


@pytest.mark.parametrize("what", [CLIENTS, *(CONVERTERS.format(wire=wire) for wire in WIRES)], ids=["client", *WIRES])
def test_the_first_use_may_be_in_many_threads_at_once(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", THREADS.replace("{what}", what.strip())], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
