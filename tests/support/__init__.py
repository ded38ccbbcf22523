"""Helpers that several areas of the tests share; nothing here is a test."""

import os

from llm_rest import wires

WIRES = wires.NAMES
"""Every wire there is: each is held to the same laws."""

HOW_MUCH = os.environ.get("LLM_REST_TESTS", "")
WHOLE = HOW_MUCH == "whole"
"""Whether products of tables are run whole and what costs too much for every run is run, too (`make test-whole`)."""
QUICK = HOW_MUCH == "quick"
"""Whether one case of each table is enough (`make test-quick`)."""
SAMPLE = HOW_MUCH == "sample"
"""Whether slow tests, and all but a sample of the cases of some others, are left out (`make test`)."""
REST = HOW_MUCH == "rest"
"""Whether only those are run, and Hypothesis with more examples (`make test-rest`)."""

if HOW_MUCH not in ("", "quick", "sample", "rest", "whole"):
    raise ValueError(f"LLM_REST_TESTS is quick, sample, rest, whole or not set, and not {HOW_MUCH!r}")
