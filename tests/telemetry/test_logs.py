"""The log of calls: which lines there are at each level, what they hold, and how `LLM_REST_LOG` switches them on."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

import pytest

from llm_rest import Client, ConfigError
from tests.callers import NewClient
from tests.telemetry.test_hooks import CASES, heard_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO, logging.DEBUG])
@pytest.mark.parametrize("case", ["whole", "streamed", "retried", "failed", "stream closed", "cancelled by the client"])
async def test_a_call_is_a_line_and_each_of_its_requests_one_at_debug(
    new_client: NewClient, caplog: pytest.LogCaptureFixture, case: str, level: int
) -> None:
    caplog.set_level(level, "llm_rest")
    await heard_of(new_client, CASES[case])
    records: list[Any] = [record for record in caplog.records if record.name == "llm_rest.client"]
    ends = [word for word in CASES[case].events.split() if word in ("request:end", "request:cancelled")]
    requests = ends if level == logging.DEBUG else []
    expected = [] if level == logging.WARNING else [*requests, "call:end"]
    assert [record.getMessage().split()[0] for record in records] == expected
    for record in records:
        assert record.getMessage().split()[1] == "openai/gpt-4o"
        assert "secret" not in repr(vars(record))
        assert "sk-test" not in repr(vars(record))
    if records:
        end, line = CASES[case].end, records[-1].getMessage()
        assert all(f"{name}={end[name]}" in line for name in ("outcome", "error", "request_id") if end.get(name))
        assert records[-1].outcome == end["outcome"]


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=variables, check=False)


ONE_CALL = "from llm_rest import Client\nwith Client('simulator/demo') as llm:\n    llm.generate('Hi')\n"


@pytest.mark.sample(2)
@pytest.mark.parametrize(("level", "lines"), [("", 0), ("error", 0), ("INFO", 1), ("debug", 2)])
def test_the_environment_switches_the_log_on(level: str, lines: int) -> None:
    done = run(ONE_CALL, LLM_REST_LOG=level)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == lines


def test_a_program_with_a_handler_keeps_it() -> None:
    program = "import logging, sys\nlogging.basicConfig(stream=sys.stdout, format='mine %(message)s')\n" + ONE_CALL
    done = run(program, LLM_REST_LOG="info")
    assert done.stdout.startswith("mine call:end simulator/demo ")
    assert done.stderr == ""


def test_a_level_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_REST_LOG", "loud")
    with pytest.raises(ConfigError, match="LLM_REST_LOG='loud' is no level of the log"):
        Client("simulator/demo")
