"""Keys that must be there and may be null: the generated table, and the documents that are written by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.wires.openai_responses.core import SPEC

GENERATOR = Path(__file__).parents[3] / "schemas/required_nullable.py"


def test_the_table_is_what_the_specification_says() -> None:
    if not SPEC.exists():
        pytest.skip(f"the Open Responses document is not here: {SPEC} (set LLM_REST_OPEN_RESPONSES to its path)")
    command = [sys.executable, str(GENERATOR), str(SPEC), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
