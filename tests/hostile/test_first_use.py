"""Sixteen threads that use the library for the first time at once, in a process of their own: msgspec itself would crash it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.sample(4)
@pytest.mark.parametrize("what", [CLIENTS, *(CONVERTERS.format(wire=wire) for wire in WIRES)], ids=["client", *WIRES])
def test_the_first_use_may_be_in_many_threads_at_once(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", THREADS.replace("{what}", what.strip())], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


PACKAGE = Path(__file__).parents[2] / "llm_rest"
ALONE = ("unknown.py", "shapes.py", "tools/forms.py")
"""Where msgspec is shown a type, one thread at a time."""


def test_types_are_shown_to_msgspec_by_one_thread_at_a_time() -> None:
    shows = re.compile(r"\bmsgspec\.convert\(|\bmsgspec\.json\.decode\([^=]*\btype=(?!Plain\b)")
    files = {file.relative_to(PACKAGE).as_posix(): file.read_text() for file in PACKAGE.rglob("*.py")}
    found = {name for name, source in files.items() if shows.search(source)}
    assert found <= {*ALONE}, "use unknown.convert and unknown.decoder_of"
