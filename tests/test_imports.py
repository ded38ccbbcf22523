"""What importing costs: which modules get loaded, and that nothing outside the process is touched.

Each case runs in a fresh interpreter, because this one has everything loaded already.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

from llm_rest.wires import NAMES as WIRES
from llm_rest.wires import Wire, load

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "llm_rest"
SERVED = {"llm_rest.server.limits", "llm_rest.testing.strategies"}
"""Modules that begin with classes of an extra and are loaded by `serve` alone, or with those of Hypothesis."""
MODULES = sorted(
    {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in PACKAGE.rglob("*.py")}
    - SERVED
)
NETWORK = ("httpx", "httpcore", "anyio", "asyncio", "socket", "ssl", "http.client")

WATCH = """
import os, sys
touched = []
def watch(event, args):
    if event == "open":
        path, mode, flags = args
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC):
            touched.append(f"opened {path} for writing")
    elif event in EVENTS:
        touched.append(f"{event} {args}")
EVENTS = {"socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname",
          "subprocess.Popen", "os.system", "os.posix_spawn", "os.fork", "os.mkdir", "os.rename", "os.remove", "os.rmdir",
          "os.chmod", "os.truncate", "os.putenv", "shutil.copyfile", "tempfile.mkstemp", "tempfile.mkdtemp", "sqlite3.connect"}
sys.addaudithook(watch)
"""


def fresh(code: str) -> str:
    """What `code` prints in an interpreter of its own that writes no bytecode."""
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loaded(statement: str, names: tuple[str, ...]) -> str:
    """Those of `names` that are loaded after `statement`."""
    return fresh(f"import sys\n{statement}\nprint(*[name for name in {names!r} if name in sys.modules])")


@pytest.mark.parametrize("wire", WIRES)
def test_a_converter_loads_neither_network_nor_other_wires_and_its_streams_on_first_use(wire: str) -> None:
    """gemini.stream.21"""
    streams = f"llm_rest.wires.{wire}.stream"
    others = tuple(f"llm_rest.wires.{other}" for other in WIRES if other != wire)
    load = f"from llm_rest import wires\nwire = wires.load({wire!r})\n"
    early = f"early = {{*sys.modules}} & {{*{(*NETWORK, *others, streams, 'llm_rest.responses.events')!r}}}\n"
    assert fresh(f"import sys\n{load}{early}wire.decode_stream()\nprint(*early, {streams!r} in sys.modules)") == "True"


@pytest.mark.parametrize("wire", WIRES)
def test_a_wire_has_every_name_of_the_interface_and_no_more_by_accident(wire: str) -> None:
    module = load(wire)
    names = [*Wire.__annotations__, *(name for name, value in vars(Wire).items() if isinstance(value, FunctionType))]
    assert [name for name in names if name[0] != "_" and not hasattr(module, name)] == []
    with pytest.raises(AttributeError, match=rf"llm_rest\.wires\.{wire}.* has no attribute 'nonsense'"):
        module.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_loads_nothing_but_itself_and_the_client_no_network() -> None:
    assert loaded("import llm_rest", (*NETWORK, "msgspec")) == ""
    assert loaded("import llm_rest.client.client", ("httpx", "anyio", "asyncio", "ssl")) == ""
    assert fresh("import sys, llm_rest\nprint(*[name for name in sys.modules if name.startswith('llm_rest.')])") == ""


def test_a_public_name_loads_its_own_module_only() -> None:
    assert loaded("from llm_rest import Loss", (*NETWORK, "llm_rest.errors", "llm_rest.responses")) == ""


def test_importing_every_module_opens_no_socket_and_writes_no_file() -> None:
    # trio is not part of the base install; where it is there, httpcore imports it, and it looks for a system library.
    hidden = "sys.modules['trio'] = None\n"
    code = f"{hidden}for name in MODULES:\n    __import__(name)\n    touched and print(name, touched.pop())"
    assert fresh(f"{WATCH}\nMODULES = {MODULES}\n{code}") == ""


def test_the_watch_sees_a_socket_and_a_file(tmp_path: Path) -> None:
    code = f"import socket, pathlib\nsocket.socket().close()\npathlib.Path({str(tmp_path / 'x')!r}).write_text('')"
    seen = fresh(f"{WATCH}\n{code}\nprint(*touched, sep='\\n')")
    assert "socket.__new__" in seen
    assert "for writing" in seen
