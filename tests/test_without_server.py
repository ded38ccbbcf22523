"""What may be deleted from an installation (docs/how-to/small-deployments.md): the rest works then."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import llm_rest

OPTIONAL = ("server", "cli", "simulator", "testing", "policy", "conversation", "bulk")

PROGRAM = """
import asyncio, importlib, json, pkgutil, sys
from pathlib import Path
import msgspec.structs
import llm_rest
from llm_rest import AsyncClient, Client
from llm_rest.vendors.rows import VENDORS

assert Path(llm_rest.__file__).is_relative_to(Path(sys.argv[1])), llm_rest.__file__
modules = [module.name for module in pkgutil.walk_packages(llm_rest.__path__, "llm_rest.")]
for name in modules:
    importlib.import_module(name)
for name in llm_rest.__all__:
    if not llm_rest._HOME.get(name, "").startswith((".policy", ".conversation", ".bulk")):
        getattr(llm_rest, name)

class Answering:
    '''A vendor in this process.'''
    @staticmethod
    def handle(method, path, headers, body):
        request = json.loads(body)
        last = request["messages"][-1]
        message = {"role": "assistant", "content": f"heard: {last['content']}"}
        if "tools" in request and last["role"] == "user":
            function = {"name": "add", "arguments": json.dumps({"a": 2, "b": 3})}
            message = {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
            return 200, {"content-type": "application/json"}, json.dumps(answer).encode()
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        deltas = [{"index": 0, "delta": message, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": "stop"}]
        lines = [f"data: {json.dumps({**chunk, 'choices': [delta]})}" for delta in deltas]
        return 200, {"content-type": "text/event-stream"}, "\\n\\n".join([*lines, "data: [DONE]", ""]).encode() + b"\\n"

sys.modules["answering"] = Answering
vendor = msgspec.structs.replace(VENDORS["compatible"], base_url="inproc:answering", reports_cost=True)

def add(a: int, b: int) -> int:
    '''Add two numbers.'''
    return a + b

with Client("m", vendor=vendor) as llm:
    assert llm.generate("hi").output_text == "heard: hi"
    with llm.stream("hi") as stream:
        assert "".join(stream.text) == "heard: hi"
    assert llm.run("add", tools=[add]).result().output_text == "heard: 5"

async def talk():
    async with AsyncClient("m", vendor=vendor) as llm:
        assert (await llm.generate("hi")).output_text == "heard: hi"

asyncio.run(talk())

for options, words in (
    ({"telemetry": True}, "telemetry needs OpenTelemetry: No module named 'llm_rest.telemetry'"),
    ({}, "inproc:llm_rest.simulator: the module llm_rest.simulator is not installed"),
):
    try:
        Client("simulator/x", **options).generate("hi")
    except llm_rest.ConfigError as error:
        assert words in str(error), error
    else:
        raise AssertionError(options)
print(len(modules))
"""


def test_the_rest_is_imported_calls_models_and_names_in_errors_what_is_not_installed(tmp_path: Path) -> None:
    package = Path(llm_rest.__file__).parent
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__", *OPTIONAL))
    (tmp_path / package.name / "telemetry.py").unlink()
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 50
